//! Which metrics are wait states, and what they mean.
//!
//! The names are those of Scalasca where it has them; other layers have the same names behind their
//! own prefix (`shmem_…`, `armci_…`), so a name is recognised by its end.

/// A kind of wait state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// End of the metric's name.
    pub name: &'static str,
    /// Id of the pattern in findings.
    pub pattern: &'static str,
    /// What happened.
    pub meaning: &'static str,
    /// What can be done about it.
    pub remedy: &'static str,
}

/// The wait state that a metric is, if it is one.
pub fn wait(uniq_name: &str) -> Option<&'static Wait> {
    // What caused a wait, and waits sorted by cause, are other views of the same time.
    if uniq_name.starts_with("delay_") || uniq_name.contains("direct_") {
        return None;
    }
    // The longest end decides: `latesender_wo` is not `latesender`.
    WAITS
        .iter()
        .filter(|wait| {
            let rest = uniq_name.strip_suffix(wait.name);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
        })
        .max_by_key(|wait| wait.name.len())
}

/// The wait state that a pattern looks for.
pub fn pattern(id: &str) -> Option<&'static Wait> {
    WAITS.iter().find(|wait| wait.pattern == id)
}

macro_rules! waits {
    ($( $name:literal $( = $pattern:literal )?: $meaning:literal; $remedy:literal; )*) => {
        &[$( Wait {
            name: $name,
            pattern: waits!(@ $name $( $pattern )?),
            meaning: $meaning,
            remedy: $remedy,
        }, )*]
    };
    (@ $name:literal) => { $name };
    (@ $name:literal $pattern:literal) => { $pattern };
}

/// Names of metrics, ids of patterns where they differ, what happened, and what to do about it in general.
const WAITS: &[Wait] = waits! {
    "latesender" = "late_sender": "a receive was posted before the message was sent";
        "Let the sender send earlier, or give the receiver other work first.";
    "latesender_wo" = "late_sender_wrong_order": "a message was waited for while another one was already there";
        "Receive messages in the order in which they arrive.";
    "latereceiver" = "late_receiver": "a send waited until the receive was posted";
        "Post the receive earlier, or send without blocking.";
    "barrier_wait": "a barrier waited for the last to arrive";
        "Balance the work before it, or synchronise fewer processes.";
    "barrier_completion": "a process left a barrier later than the first did";
        "Often the network, or other work on the node: give each process a core of its own.";
    "nxn_completion": "a process left an all-to-all operation later than the first did, after all had come";
        "Not the work of others: give each process a core of its own; move less data, or less often.";
    "wait_nxn" = "nxn_wait": "an all-to-all operation (reduction to all, gather to all) waited for the last to arrive";
        "Balance the work before it; do it less often, or join several small ones; or begin it early without blocking.";
    "latebroadcast" = "late_broadcast": "a broadcast waited for its root";
        "Let the root broadcast earlier.";
    "earlyreduce" = "early_reduce": "the root of a reduction waited for the others";
        "Give the root other work before it, or balance the others.";
    "earlyscan" = "early_scan": "a scan waited for the ranks before";
        "Balance the work of the lower ranks.";
    "wait_at_fence": "a fence waited for the last to arrive";
        "Balance the work between fences, or synchronise with single partners.";
    "early_fence": "a fence was entered while others still acted on the window";
        "Start the operations earlier in the epoch, or give this process other work before the fence.";
    "late_post": "an access epoch waited until its target exposed the window";
        "Let the target post earlier.";
    "early_wait": "the end of an exposure epoch waited for the origins";
        "Give the target other work before it waits.";
    "late_complete": "an exposure epoch lasted until its origin completed, though nothing was left to transfer";
        "Complete the access epoch right after the last operation.";
    "lock_competition" = "lock_contention": "a lock was held by another process";
        "Hold locks for a shorter time, or use several locks.";
    "lock_contention": "a lock was held by another process";
        "Hold locks for a shorter time, or use several locks.";
    "wait_for_progress": "an operation waited until its target entered a call that serves others";
        "Let the target make calls that progress (a get, an atomic, a barrier), or use a progress thread.";
    "wait_for_progress_multi": "a call completed operations on several targets, and waited until they had entered calls that serve others";
        "Let the targets make calls that progress (a get, an atomic, a barrier); complete less at once, on a context of its own.";
    "late_signal": "a flag was waited for before it was raised";
        "Raise the flag earlier, or give the waiting process other work.";
    "late_partner": "a synchronisation waited for its last partner";
        "Balance the work of the partners.";
    "wait_at_create": "making a window, symmetric memory or a group waited for the last to arrive";
        "Make it once, outside of loops, and use it again; if it is made but once, balance the start of the program.";
    "wait_at_free": "freeing a window, symmetric memory or a group waited for the last to arrive";
        "Free it once, at the end, and outside of loops; if it is freed but once, balance the work before it.";
    "nonblocking_wait" = "nonblocking_collective_wait": "a collective that does not block was waited for before the last had begun it";
        "Begin it earlier where it is begun last, or do more work before waiting for it.";
};

#[cfg(test)]
mod tests {
    use super::wait;

    #[test]
    fn names_are_recognised_by_their_end() {
        assert_eq!(wait("mpi_latesender").map(|w| w.name), Some("latesender"));
        assert_eq!(wait("mpi_latesender_wo").map(|w| w.name), Some("latesender_wo"));
        let progress = wait("shmem_rma_comm_wait_for_progress");
        assert_eq!(progress.map(|w| w.name), Some("wait_for_progress"));
        assert_eq!(wait("barrier_wait").map(|w| w.name), Some("barrier_wait"));
        assert_eq!(wait("time"), None);
        assert_eq!(wait("delay_latesender"), None);
        assert_eq!(wait("mpi_wait_indirect_latesender"), None);
        assert_eq!(wait("isolatesender"), None);
    }
}
