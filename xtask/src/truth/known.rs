//! Rows that are known to fail, with reasons.

use super::judge::{Row, Verdict};
use super::programs::Run;

/// A row that is known to fail.
struct Known {
    /// Name of the runtime, or an empty string for all.
    runtime: &'static str,
    /// Beginning of the name of the row: the mode, and possibly the pattern.
    row: &'static str,
    /// Reason in one line, for the table.
    reason: &'static str,
    /// Set if the row passes now and then, so that a pass proves nothing.
    at_times: bool,
}

const fn always(runtime: &'static str, row: &'static str, reason: &'static str) -> Known {
    Known { runtime, row, reason, at_times: false }
}

const fn at_times(runtime: &'static str, row: &'static str, reason: &'static str) -> Known {
    Known { at_times: true, ..always(runtime, row, reason) }
}

#[rustfmt::skip]
const KNOWN: &[Known] = &[
    always("", "flag_in_put", "the archive has no address of a put of 1 KiB, which would take a sixth more room"),
    at_times("mpich", "lock_queue lock_contention", "a lock counts as held until MPI_Win_unlock ends, and is given back in it"),
    at_times("mpich", "lock_holder cause", "a lock counts as held until MPI_Win_unlock ends, and is given back in it"),
];

/// Returns why a row is known to fail, or `None` if it must pass.
pub(super) fn reason(run: &Run, row: &Row) -> Option<&'static str> {
    find(run, row).map(|it| it.reason)
}

/// Returns `true` for a row that is known to fail but may pass now and then.
pub(super) fn may_pass(run: &Run, row: &Row) -> bool {
    find(run, row).is_some_and(|it| it.at_times)
}

fn find(run: &Run, row: &Row) -> Option<&'static Known> {
    let name = row.key.name();
    let known = |it: &&Known| {
        (it.runtime.is_empty() || it.runtime == run.runtime.name()) && name.starts_with(it.row)
    };
    // Where nothing waited there is nothing to fail.
    let could_fail = row.waits() || row.verdict != Verdict::Passes;
    KNOWN.iter().find(known).filter(|_| could_fail)
}
