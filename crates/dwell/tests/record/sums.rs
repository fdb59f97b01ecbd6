//! Sums that hold for every recorded run.

use std::path::Path;

use dwell_analyze::{Options, Profile};
use dwell_unify::experiment::PROFILE;
use otf2::Archive;

#[path = "../../../dwell-analyze/tests/all/support/sums.rs"]
mod parts;

/// Checks that waits, transfer and unexplained time of every call path add up to its time, and that no wait is longer than
/// its call.
pub(crate) fn hold(experiment: &Path) {
    parts::analyze(&Archive::open(experiment).unwrap(), &Options::default());
}

/// Checks the same as [`hold`], and that the time of all calls is that of the profile, for a run that ended regularly.
pub(crate) fn hold_with_profile(experiment: &Path) {
    let archive = Archive::open(experiment).unwrap();
    let analysis = parts::analyze(&archive, &Options::default());
    let rows = experiment.join(PROFILE);
    if !rows.is_dir() {
        return;
    }
    let mut time = 0;
    let profile = Profile::read(&archive, &rows).unwrap();
    assert!(profile.notes().is_empty(), "{:?}", profile.notes());
    profile.calls(|calls| time += calls.iter().map(|it| it.nanoseconds).sum::<u64>()).unwrap();
    assert_eq!(analysis.time(), time, "the trace and the profile disagree");
}
