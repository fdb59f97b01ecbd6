//! Rows that are known to fail, and why.

use super::judge::{Row, Verdict};
use super::programs::Run;

/// A row that fails.
struct Known {
    /// The runtime, or nothing for all.
    runtime: &'static str,
    /// What the name of the row begins with: the mode, and perhaps the pattern.
    row: &'static str,
    /// One line, for the table.
    reason: &'static str,
    /// Whether it passes now and then, so that a pass says nothing.
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
];

/// Why a row is known to fail; `None` if it has to pass.
pub(super) fn reason(run: &Run, row: &Row) -> Option<&'static str> {
    find(run, row).map(|it| it.reason)
}

/// Whether it says nothing that a row that is known to fail passes.
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
