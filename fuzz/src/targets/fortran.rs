//! Any bytes as Fortran, in both forms: removing what was inserted gives back the source, and every statement that was
//! found is counted once.

use dwell_fortran::scan::Form;
use dwell_fortran::{apply, instrument, remove};

pub(crate) fn run(data: &[u8]) {
    for form in [Form::Free, Form::Fixed] {
        let it = instrument(data, form, "x.f90", &Default::default());
        let text = apply(data, &it.insertions);
        assert_eq!(remove(&text, &it.insertions), data);
        let offsets = it.insertions.iter().map(|it| it.at);
        assert!(offsets.clone().is_sorted() && offsets.max().is_none_or(|at| at <= data.len()));
        let report = it.report;
        assert_eq!(report.seen, report.separated + report.single + report.refused.len());
    }
}
