//! The figures of the paper on Co-Array Fortran, instrumented. `DWELL_UPDATE_GOLDEN=1` writes the results anew.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use dwell_fortran::kind::{Control, Kind, Procedure, pieces};
use dwell_fortran::scan::Form;
use dwell_fortran::{Options, Report, apply, instrument, remove};

/// Instruments a figure and holds the result against the file beside it.
fn figure(name: &str) -> (String, Report) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/figures");
    let file = format!("{name}.f90");
    let source = fs::read(folder.join(&file)).unwrap();
    let it = instrument(&source, Form::Free, &file, &Options::default());
    let text = apply(&source, &it.insertions);
    assert!(remove(&text, &it.insertions) == source);
    let golden = folder.join(format!("{name}.instrumented"));
    if std::env::var_os("DWELL_UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &text).unwrap();
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    assert_eq!(text, fs::read_to_string(golden).unwrap(), "{name}");
    (text, it.report)
}

/// Returns the inserted calls, without kinds of numbers.
fn calls(text: &str) -> Vec<String> {
    let joined = text.replace("&\n     &", "").replace("_dwell_k", "");
    let is_call = |line: &&str| line.starts_with("call dwell_co_");
    joined.lines().map(str::trim).filter(is_call).map(str::to_owned).collect()
}

#[test]
fn figure_2_has_its_write_and_its_barrier() {
    let (text, report) = figure("figure_2");
    assert_eq!((report.seen, report.separated, report.refused.len()), (2, 2, 0));
    let calls = calls(&text);
    let [_, _, begin, end] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!((&**begin, &**end), ("call dwell_co_enter(2,0,0)", "call dwell_co_end(2,1)"));
}

#[test]
fn figure_3_has_all_eight_synchronisations() {
    let (_, report) = figure("figure_3");
    assert_eq!((report.seen, report.separated, report.refused.len()), (9, 9, 0));
}

/// Returns the number of statements of a source that get calls.
fn separated(source: &str) -> usize {
    instrument(source.as_bytes(), Form::Free, "x.f90", &Options::default()).report.separated
}

#[test]
fn procedures_of_the_program_are_left_alone() {
    let coarray = "integer :: a(4)[*]\ncall sync_all()\n";
    assert_eq!(separated(coarray), 1);
    for defined in [
        "contains\nsubroutine sync_all()\nend subroutine\n",
        "contains\nPURE SUBROUTINE SYNC_ALL\nend subroutine\n",
        "interface sync_all\nmodule procedure mine\nend interface\n",
        "use mine, only: other, sync_all => barrier\n",
    ] {
        assert_eq!(separated(&format!("{coarray}{defined}")), 0, "{defined}");
    }
    assert_eq!(separated(&format!("{coarray}use mine, only: sync_memory\n")), 1);
    // Another library may have a procedure of this name.
    assert_eq!(separated("integer :: a(4)\ncall sync_all()\n"), 0);
    assert_eq!(separated("integer :: a(4)[*]\ncall x%sync_all()\ncall sync_all_of(a)\n"), 0);
    assert_eq!(separated("if (this_image() == 1) call sync_memory\n"), 1);
}

#[test]
fn what_cannot_be_evaluated_twice_is_reported() {
    let source = b"integer :: a(4)[*]\ncall sync_all(partners(1))\ncall sync_team()\n";
    let report = instrument(source, Form::Free, "x.f90", &Options::default()).report;
    let refused: Vec<_> = report.refused.iter().map(|it| (it.line, it.reason)).collect();
    let twice = "an argument may call a function, which would be called twice";
    assert_eq!(refused, [(2, twice), (3, "it names no team")]);
}

#[test]
fn the_kind_of_a_call_needs_the_whole_source() {
    assert_eq!(pieces(b"callsync_all()").first().unwrap().kind, Kind::Call);
    assert_eq!(Procedure::named(b"sync_all"), Some(Procedure::SyncAll));
    assert_ne!(Control::SyncAll, Control::Procedure(Procedure::SyncAll));
}
