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

/// Reasons of [`RULES_TO_COME`].
const ASKS_FOR_ALL: &str =
    "a loop that tests again what it has found is not one region, and computes between its calls";
const BLOCKED_TRIES: &str =
    "tries that block until their target serves them are too few to be a loop";
const FEW_OF_CLASS: &str =
    "an atomic without a result is judged by its class, of which the program makes few calls";
const ONE_CORE: &str =
    "on one core a process loses it between the program's clock and the call that waits";
const LAST_PART: &str =
    "of a loop of polls that the recorder wrote in parts, only the last part waits for the message";
const SEVERAL: &str = "a loop that reads or tests several things in turn is not one region";
const HANDS: &str = "who held the lock between two tries is not seen if it changed hands twice";
const BLOCKS: &str =
    "a read that blocks until its target serves it is a wait too, which the program does not count";
const HELD: &str = "on a busy machine a call ends too late after the process that held it came";
const FEW: &str = "a loop that sleeps long between its calls makes too few of them to be one";
const PLAIN_LOADS: &str = "a process that spins on plain loads counts as computing";
const READS: &str = "reads of a flag by others count as what ended the wait for it";

/// Rows that wait for rules of the analysis: loops over one-sided calls, calls that complete puts, and causes that
/// cannot be known. Whoever adds a rule deletes the rows that it makes pass.
#[rustfmt::skip]
const RULES_TO_COME: &[Known] = &[
    // Loops over one-sided calls.
    at_times("shmem-sm", "lock_by_swap spin", HANDS),
    at_times("shmem-tcp", "lock_by_swap spin", HANDS),
    at_times("armci-sm", "lock_by_swap spin", HANDS),
    at_times("armci-pt2pt", "lock_by_swap spin", BLOCKED_TRIES),
    at_times("armci-pt2pt", "lock_by_swap efficiency", BLOCKED_TRIES),
    at_times("", "test_and_set spin", HANDS),
    at_times("shmem-sm", "readers_writer spin", SEVERAL),
    at_times("", "poll_two_tests polling", SEVERAL),
    at_times("", "consensus polling", SEVERAL),
    at_times("shmem-tcp", "sense_barrier spin", BLOCKS),
    at_times("openmpi-pt2pt", "ticket_lock spin", BLOCKS),
    at_times("openmpi-pt2pt", "ticket_lock root", BLOCKS),
    at_times("", "ticket_back_off spin", FEW),
    at_times("", "ticket_back_off root", FEW),
    at_times("shmem-sm", "sense_barrier late_signal", READS),
    at_times("shmem-tcp", "mcs_lock wait_for_progress", FEW_OF_CLASS),
    at_times("mpich", "pipeline late_sender", ONE_CORE),
    at_times("openmpi-pt2pt", "ring_by_fetch spin", BLOCKS),
    at_times("mpich", "ring_by_fetch spin", BLOCKS),
    always("shmem-sm", "consumer efficiency", ASKS_FOR_ALL),
    at_times("", "flag_by_message spin", LAST_PART),
    at_times("gasnet-udp", "flag_by_message efficiency", LAST_PART),
    at_times("gasnet-udp", "flag_by_message root", LAST_PART),
    at_times("gasnet-udp", "flag_by_message:balanced spin", LAST_PART),
    always("", "flag_by_slow_poll spin", LAST_PART),
    // Loops without calls.
    at_times("", "mcs_by_loads root", PLAIN_LOADS),
    always("", "plain_store root", PLAIN_LOADS),
    // Calls that complete puts.
    at_times("shmem-tcp", "halo wait_for_progress", HELD),
    at_times("shmem-tcp", "halo root", HELD),
    at_times("shmem-tcp", "two_late wait_for_progress", HELD),
    at_times("shmem-tcp", "flags wait_for_progress", HELD),
    at_times("shmem-tcp", "flags root", HELD),
    at_times("shmem-tcp", "sense_barrier:balanced spin", BLOCKS),
    always("coarrays", "four_kinds wait_for_progress", "event post is not known to wait for its target"),
    // Others.
    at_times("", "crowd root", "processes without a core are blamed"),
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
    KNOWN.iter().chain(RULES_TO_COME).find(known).filter(|_| could_fail)
}
