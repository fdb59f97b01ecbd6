//! The catalogue of waits: everything that Dwell knows about each wait state, apart from how it is found.
//!
//! [`Wait`] names the waits, and [`Wait::about`] gives the row of a wait. The analysis takes ids, classes and rules of
//! confidence from here, the report its tree of metrics ([`TREE`]), the terminal and the page their texts, and the book
//! its reference. A new wait is a row here, the file of its pattern in the analysis, and tests.
//!
//! Names of metrics are Scalasca's where it has them. In a report a metric is called `LAYER_NAME`, for instance
//! `shmem_barrier_wait`: see [`Wait::of_metric`].

mod tree;

pub use tree::{Group, TREE};

/// The class of a call of a runtime: the kind of activity that its time is spent on. The report groups time and waits
/// by these classes, as [`TREE`] arranges them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Calls that start or end a runtime, or allocate, create or free something, and all other calls that belong to no
    /// other class.
    Management,
    /// Barriers, and other collectives that move no data, such as `shmem_sync` and `MPI_Barrier`.
    Barrier,
    /// Calls that complete or order one-sided operations, take locks, wait for flags, or open and close epochs.
    RmaSync,
    /// One-sided operations: put, get and atomic operations, blocking and non-blocking.
    Rma,
    /// Calls that send, receive or probe for messages, or complete requests of MPI.
    Message,
    /// Collectives that move data, such as a broadcast or an all-reduce.
    Collective,
}

impl Class {
    /// Every class, in the order in which the report lists them.
    pub const ALL: &'static [Self] = &[
        Self::Management,
        Self::Barrier,
        Self::RmaSync,
        Self::Rma,
        Self::Message,
        Self::Collective,
    ];
}

/// The rule that decides how certain the severity of a wait is. The analysis derives the confidence of each finding
/// from it and from the facts of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// The severity follows from the records of the processes that take part, so it is exact.
    Records,
    /// The severity is exact if all members of the collective are in the archive, and a lower bound otherwise.
    Members,
    /// The analysis may have to infer which flag a call waited for, or when it obtained a lock. The severity is then
    /// marked as inferred.
    Inference,
    /// It may be unknown which call of the target served an operation, so the severity may lie between two bounds.
    Visits,
}

/// A metric of the report that holds a wait on call paths of some classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the metric, without the layer in front: `barrier_wait` for `shmem_barrier_wait`.
    pub metric: &'static str,
    /// The title of the metric, without the layer in front. The report writes the layer before it.
    pub title: &'static str,
    /// The classes of the call paths whose waits the metric holds. A wait may have one metric in each class. The first
    /// class decides the group of [`TREE`] that contains the metric.
    pub classes: &'static [Class],
}

/// The row of a wait in the catalogue: its names, its place in the report, and the texts that explain it to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The id of the wait in `findings.json`, in the terminal and in the book. It must not change, since scripts and
    /// older files use it.
    pub id: &'static str,
    /// The name of the wait as a title, such as "Late Sender".
    pub title: &'static str,
    /// The class to which a call path with this wait belongs, where that is the same for every call. Some calls do
    /// several things, and a wait tells which of them took the time.
    pub class: Option<Class>,
    /// The wait that this one is a part of. Parts are metrics below their whole, and never findings of their own.
    pub part_of: Option<Wait>,
    /// The rule that decides how certain the severity is.
    pub certainty: Certainty,
    /// The metrics of the report that hold the wait, at least one. [`Wait::place`] chooses among them by class.
    pub places: &'static [Place],
    /// Names that other tools, such as Scalasca, give to the metric, without the layer in front. [`Wait::of_metric`]
    /// recognises them.
    pub aliases: &'static [&'static str],
    /// A formula of the severity, in which the waiting call is entered at *e* and left at *x*. The book's reference
    /// prints it.
    pub measured: &'static str,
    /// A clause that says what happened, for the terminal and the page: "a barrier waited for the last to arrive".
    pub meaning: &'static str,
    /// General advice against the wait, in full sentences. The analysis prefers advice from the facts of a run where it
    /// has some.
    pub remedy: &'static str,
    /// The anchor of the section of `docs/design/waits.md` that has the rule of the wait.
    pub section: &'static str,
}

/// Defines the enum, the list of its variants and the rows from one table.
macro_rules! waits {
    ($( $(#[$doc:meta])* $wait:ident { $( $field:ident: $value:expr, )* } )*) => {
        /// A wait state: a way in which a process loses time waiting for another. [`about`](Self::about) has its names,
        /// formula and texts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum Wait {
            $( $(#[$doc])* $wait, )*
        }

        impl Wait {
            /// Every wait, in the order of the catalogue, in which reports and the book list them.
            pub const ALL: &'static [Self] = &[$( Self::$wait, )*];

            /// Returns the row of the wait in the catalogue.
            pub const fn about(self) -> &'static About {
                match self {
                    $( Self::$wait => &About { $( $field: $value, )* }, )*
                }
            }
        }
    };
}

use Certainty::{Inference, Members, Records, Visits};
use Class::{Barrier, Collective, Management, Message, Rma, RmaSync};

/// The only metric of a wait that occurs in calls of one class.
macro_rules! only {
    ($metric:literal, $title:literal, $class:ident) => {
        &[Place { metric: $metric, title: $title, classes: &[$class] }]
    };
}

waits! {
    /// A process makes a window, symmetric memory or a group, and waits for the last member to enter the call.
    WaitAtCreate {
        id: "wait_at_create",
        title: "Wait at Create",
        class: Some(Management),
        part_of: None,
        certainty: Members,
        places: only!("rma_wait_at_create", "Wait at Create", Management),
        aliases: &[],
        measured: "last enter of the group - e",
        meaning: "making a window, symmetric memory or a group waited for the last to arrive",
        remedy: "Make it once, outside of loops, and use it again; if it is made but once, balance the start of the program.",
        section: "wait-at-create-wait-at-free",
    }
    /// A process frees a window, symmetric memory or a group, and waits for the last member to enter the call.
    WaitAtFree {
        id: "wait_at_free",
        title: "Wait at Free",
        class: Some(Management),
        part_of: None,
        certainty: Members,
        places: only!("rma_wait_at_free", "Wait at Free", Management),
        aliases: &[],
        measured: "last enter of the group - e",
        meaning: "freeing a window, symmetric memory or a group waited for the last to arrive",
        remedy: "Free it once, at the end, and outside of loops; if it is freed but once, balance the work before it.",
        section: "wait-at-create-wait-at-free",
    }
    /// A process enters a barrier and waits for the last member to enter it.
    BarrierWait {
        id: "barrier_wait",
        title: "Wait at Barrier",
        class: Some(Barrier),
        part_of: None,
        certainty: Members,
        places: only!("barrier_wait", "Wait at Barrier", Barrier),
        aliases: &[],
        measured: "last enter of the group - e",
        meaning: "a barrier waited for the last to arrive",
        remedy: "Balance the work before it, or synchronise fewer processes.",
        section: "wait-at-a-barrier-and-its-completion",
    }
    /// The part of a wait at a barrier by which the last member to arrive has computed longer than this process.
    BarrierImbalance {
        id: "barrier_imbalance",
        title: "Imbalance before Barrier",
        class: None,
        part_of: Some(Wait::BarrierWait),
        certainty: Members,
        places: only!("barrier_imbalance", "Imbalance before Barrier", Barrier),
        aliases: &[],
        measured: "computing of the last member to enter since the previous barrier - own computing since then, at most the wait",
        meaning: "the last process to arrive at a barrier had computed longer than the others",
        remedy: "Distribute the work of the phase before the barrier more evenly. The rest of the wait has another cause, such as communication of the last process.",
        section: "wait-at-a-barrier-and-its-completion",
    }
    /// A process leaves a barrier later than the first member does, although all have entered it.
    BarrierCompletion {
        id: "barrier_completion",
        title: "Barrier Completion",
        class: Some(Barrier),
        part_of: None,
        certainty: Members,
        places: only!("barrier_completion", "Barrier Completion", Barrier),
        aliases: &[],
        measured: "end of the barrier - first end in the group",
        meaning: "a process left a barrier later than the first did",
        remedy: "Often the network, or other work on the node: give each process a core of its own.",
        section: "wait-at-a-barrier-and-its-completion",
    }
    /// An access epoch begins before its target exposes the window, and waits for that.
    LatePost {
        id: "late_post",
        title: "Late Post",
        class: Some(RmaSync),
        part_of: None,
        certainty: Records,
        places: only!("rma_sync_late_post", "Late Post", RmaSync),
        aliases: &["late_post", "rma_comm_late_post"],
        measured: "enter of the last post - e",
        meaning: "an access epoch waited until its target exposed the window",
        remedy: "Let the target post earlier.",
        section: "late-post",
    }
    /// The end of an exposure epoch (`MPI_Win_wait`) waits until all origins have completed their access epochs.
    EarlyWait {
        id: "early_wait",
        title: "Early Wait",
        class: Some(RmaSync),
        part_of: None,
        certainty: Records,
        places: only!("rma_early_wait", "Early Wait", RmaSync),
        aliases: &["early_wait"],
        measured: "enter of the last complete - e, at most x - e",
        meaning: "the end of an exposure epoch waited for the origins",
        remedy: "Give the target other work before it waits.",
        section: "early-wait",
    }
    /// The part of an early wait after the last operation of the origin that completes last.
    LateComplete {
        id: "late_complete",
        title: "Late Complete",
        class: None,
        part_of: Some(Wait::EarlyWait),
        certainty: Records,
        places: only!("rma_late_complete", "Late Complete", RmaSync),
        aliases: &["late_complete"],
        measured: "enter of the last complete - the later of e and the leave of that origin's last operation on the target",
        meaning: "an exposure epoch lasted until its origin completed, though nothing was left to transfer",
        remedy: "Complete the access epoch right after the last operation.",
        section: "late-complete",
    }
    /// A process enters a fence of a window and waits for the last member to enter it.
    WaitAtFence {
        id: "wait_at_fence",
        title: "Wait at Fence",
        class: Some(RmaSync),
        part_of: None,
        certainty: Members,
        places: only!("rma_wait_at_fence", "Wait at Fence", RmaSync),
        aliases: &["wait_at_fence"],
        measured: "last enter of the group - e",
        meaning: "a fence waited for the last to arrive",
        remedy: "Balance the work between fences, or synchronise with single partners.",
        section: "wait-at-a-fence",
    }
    /// The part of a wait at a fence during which other processes still act on the window of this one.
    EarlyFence {
        id: "early_fence",
        title: "Early Fence",
        class: None,
        part_of: Some(Wait::WaitAtFence),
        certainty: Members,
        places: only!("rma_early_fence", "Early Fence", RmaSync),
        aliases: &["early_fence"],
        measured: "leave of the last operation of another process on this one before its fence - e",
        meaning: "a fence was entered while others still acted on the window",
        remedy: "Start the operations earlier in the epoch, or give this process other work before the fence.",
        section: "early-fence",
    }
    /// A process waits for a lock that other processes hold.
    LockContention {
        id: "lock_contention",
        title: "Lock Contention",
        class: None,
        part_of: None,
        certainty: Inference,
        places: &[
            Place { metric: "rma_sync_lock_competition", title: "Lock Contention", classes: &[RmaSync] },
            Place { metric: "rma_comm_lock_competition", title: "Lock Contention (Communication)", classes: &[Rma] },
        ],
        aliases: &["lock_competition", "lock_contention"],
        measured: "the part of [e, x] during which others hold the lock so that it cannot be had",
        meaning: "a lock was held by another process",
        remedy: "Hold locks for a shorter time, or use several locks.",
        section: "lock-contention",
    }
    /// A process waits for a flag that another process raises later.
    LateSignal {
        id: "late_signal",
        title: "Late Signal",
        class: Some(RmaSync),
        part_of: None,
        certainty: Inference,
        places: only!("rma_sync_late_signal", "Late Signal", RmaSync),
        aliases: &["late_signal"],
        measured: "begin of the operation that raised the flag - e",
        meaning: "a flag was waited for before it was raised",
        remedy: "Raise the flag earlier, or give the waiting process other work.",
        section: "late-signal",
    }
    /// A process synchronises with some others and waits for the last of them.
    LatePartner {
        id: "late_partner",
        title: "Late Partner",
        class: Some(RmaSync),
        part_of: None,
        certainty: Records,
        places: only!("rma_sync_late_partner", "Late Partner", RmaSync),
        aliases: &["late_partner"],
        measured: "last enter of the partners - e",
        meaning: "a synchronisation waited for its last partner",
        remedy: "Balance the work of the partners.",
        section: "late-partner",
    }
    /// A receive begins before the message is sent, and waits for it.
    LateSender {
        id: "late_sender",
        title: "Late Sender",
        class: Some(Message),
        part_of: None,
        certainty: Records,
        places: only!("latesender", "Late Sender", Message),
        aliases: &[],
        measured: "enter of the last send - e, at most x - e",
        meaning: "a receive was posted before the message was sent",
        remedy: "Let the sender send earlier, or give the receiver other work first.",
        section: "late-sender",
    }
    /// The part of late sender during which another message to this process is there already.
    LateSenderWrongOrder {
        id: "late_sender_wrong_order",
        title: "Late Sender, Wrong Order",
        class: Some(Message),
        part_of: Some(Wait::LateSender),
        certainty: Records,
        places: only!("latesender_wo", "Late Sender, Wrong Order", Message),
        aliases: &[],
        measured: "waits for a late sender during which an earlier message to this process was not yet received",
        meaning: "a message was waited for while another one was already there",
        remedy: "Receive messages in the order in which they arrive.",
        section: "late-sender-wrong-order",
    }
    /// A send, or the call that completes it, waits until the receive is posted.
    LateReceiver {
        id: "late_receiver",
        title: "Late Receiver",
        class: Some(Message),
        part_of: None,
        certainty: Records,
        places: only!("latereceiver", "Late Receiver", Message),
        aliases: &[],
        measured: "posting of the receive - e, if the call had not ended by then",
        meaning: "a send waited until the receive was posted",
        remedy: "Post the receive earlier, or send without blocking.",
        section: "late-receiver",
    }
    /// The root of a collective from all to one waits for the last of the others.
    EarlyReduce {
        id: "early_reduce",
        title: "Early Reduce",
        class: Some(Collective),
        part_of: None,
        certainty: Members,
        places: only!("earlyreduce", "Early Reduce", Collective),
        aliases: &[],
        measured: "at the root: last enter of the others - e",
        meaning: "the root of a reduction waited for the others",
        remedy: "Give the root other work before it, or balance the others.",
        section: "early-reduce",
    }
    /// A prefix reduction waits for the last process of lower rank.
    EarlyScan {
        id: "early_scan",
        title: "Early Scan",
        class: Some(Collective),
        part_of: None,
        certainty: Members,
        places: only!("earlyscan", "Early Scan", Collective),
        aliases: &[],
        measured: "last enter of those of lower rank - e",
        meaning: "a scan waited for the ranks before",
        remedy: "Balance the work of the lower ranks.",
        section: "early-scan",
    }
    /// A collective from one to all waits for its root.
    LateBroadcast {
        id: "late_broadcast",
        title: "Late Broadcast",
        class: Some(Collective),
        part_of: None,
        certainty: Members,
        places: only!("latebroadcast", "Late Broadcast", Collective),
        aliases: &[],
        measured: "enter of the root - e, except at the root",
        meaning: "a broadcast waited for its root",
        remedy: "Let the root broadcast earlier.",
        section: "late-broadcast",
    }
    /// A collective from all to all waits for the last member to enter it.
    NxnWait {
        id: "nxn_wait",
        title: "Wait at N x N",
        class: Some(Collective),
        part_of: None,
        certainty: Members,
        places: only!("wait_nxn", "Wait at N x N", Collective),
        aliases: &[],
        measured: "last enter of the group - e; of the neighbours that send to this process in a neighbourhood collective",
        meaning: "an all-to-all operation (reduction to all, gather to all, access to a file) waited for the last to arrive",
        remedy: "Balance the work before it; do it less often, or join several small ones; or begin it early without blocking.",
        section: "wait-at-an-all-to-all-operation-and-its-completion",
    }
    /// A process leaves a collective from all to all later than the first member does.
    NxnCompletion {
        id: "nxn_completion",
        title: "N x N Completion",
        class: Some(Collective),
        part_of: None,
        certainty: Members,
        places: only!("nxn_completion", "N x N Completion", Collective),
        aliases: &[],
        measured: "end of the collective - first end in the group",
        meaning: "a process left an all-to-all operation later than the first did, after all had come",
        remedy: "Not the work of others: give each process a core of its own; move less data, or less often.",
        section: "wait-at-an-all-to-all-operation-and-its-completion",
    }
    /// The call that completes a non-blocking collective waits until the last member has begun it.
    NonBlockingWait {
        id: "nonblocking_collective_wait",
        title: "Wait at Non-blocking Collective",
        // Where messages are waited for as well, the call path is theirs.
        class: Some(Collective),
        part_of: None,
        certainty: Members,
        places: &[
            Place {
                metric: "point2point_nonblocking_wait",
                title: "Wait at Non-blocking Collective (with Messages)",
                classes: &[Message],
            },
            Place { metric: "nonblocking_wait", title: "Wait at Non-blocking Collective", classes: &[Collective] },
        ],
        aliases: &[],
        measured: "last initiation - e of the call that completes it",
        meaning: "a collective that does not block was waited for before the last had begun it",
        remedy: "Begin it earlier where it is begun last, or do more work before waiting for it.",
        section: "wait-at-a-collective-that-does-not-block",
    }
    /// An operation waits until its target enters a call that serves other processes.
    WaitForProgress {
        id: "wait_for_progress",
        title: "Wait for Progress",
        class: None,
        part_of: None,
        certainty: Visits,
        places: &[
            Place {
                metric: "management_wait_for_progress",
                title: "Wait for Progress (Management)",
                classes: &[Management],
            },
            Place {
                metric: "sync_collective_wait_for_progress",
                title: "Wait for Progress (Collective Synchronization)",
                classes: &[Barrier],
            },
            Place {
                metric: "rma_sync_wait_for_progress",
                title: "Wait for Progress (Synchronization)",
                classes: &[RmaSync],
            },
            Place {
                metric: "collective_wait_for_progress",
                title: "Wait for Progress (Collective Communication)",
                classes: &[Collective],
            },
            Place {
                metric: "rma_comm_wait_for_progress",
                title: "Wait for Progress (Communication)",
                classes: &[Rma, Message],
            },
        ],
        aliases: &["wait_for_progress"],
        measured: "at least the time from e to the target's first visit, at most the time until its last visit during which \
                   it was away",
        meaning: "an operation or a large message waited until its target or partner entered a call that serves others",
        remedy: "Let the target make calls that progress (a get, an atomic, a barrier), or use a progress thread.",
        section: "wait-for-progress",
    }
    /// A call completes operations on several targets, and waits until each has entered a call that serves others.
    WaitForProgressMulti {
        id: "wait_for_progress_multi",
        title: "Wait for Progress of Several Targets",
        class: None,
        part_of: None,
        certainty: Visits,
        places: &[
            Place {
                metric: "management_wait_for_progress_multi",
                title: "Wait for Progress of Several Targets (Management)",
                classes: &[Management],
            },
            Place {
                metric: "sync_collective_wait_for_progress_multi",
                title: "Wait for Progress of Several Targets (Collective Synchronization)",
                classes: &[Barrier],
            },
            Place {
                metric: "rma_sync_wait_for_progress_multi",
                title: "Wait for Progress of Several Targets (Synchronization)",
                classes: &[RmaSync],
            },
            Place {
                metric: "collective_wait_for_progress_multi",
                title: "Wait for Progress of Several Targets (Collective Communication)",
                classes: &[Collective],
            },
            Place {
                metric: "rma_comm_wait_for_progress_multi",
                title: "Wait for Progress of Several Targets (Communication)",
                classes: &[Rma, Message],
            },
        ],
        aliases: &["wait_for_progress_multi"],
        measured: "the part of the time from e until the last target came during which no target was there",
        meaning: "a call completed operations on several targets, and waited until they had entered calls that serve others",
        remedy: "Let the targets make calls that progress (a get, an atomic, a barrier); complete less at once, on a context \
                 of its own.",
        section: "wait-for-progress-of-several-targets",
    }
    /// A process polls until a handler has run that another process's reply calls, and the reply is sent later.
    LateReply {
        id: "late_reply",
        title: "Late Reply",
        class: Some(RmaSync),
        part_of: None,
        certainty: Inference,
        places: only!("rma_sync_late_reply", "Late Reply", RmaSync),
        aliases: &["late_reply"],
        measured: "send of the reply whose handler ran last in the call - e, less the time of handlers that ran in the call before",
        meaning: "a process polled until a request of it was answered",
        remedy: "Let the target poll more often, or keep handlers short and do long work outside of them; or give the waiting \
                 process other work.",
        section: "late-reply-and-handler-delay",
    }
    /// The part of a late reply during which the handler of the request has not begun at the target.
    HandlerDelay {
        id: "handler_delay",
        title: "Handler Delay",
        class: None,
        part_of: Some(Wait::LateReply),
        certainty: Inference,
        places: only!("rma_sync_handler_delay", "Handler Delay", RmaSync),
        aliases: &["handler_delay"],
        measured: "begin of the request's handler at the target - e, at most the wait for the reply",
        meaning: "the handler of a request began late, because its target did not poll",
        remedy: "Let the target call gasnet_AMPoll, or another call that polls, now and then while it computes, or let a \
                 thread of it do so.",
        section: "late-reply-and-handler-delay",
    }
    /// A process tests again and again whether an operation is complete, with calls that cannot complete it.
    TestWithoutPoll {
        id: "test_without_poll",
        title: "Test without Poll",
        class: Some(RmaSync),
        part_of: None,
        certainty: Records,
        places: only!("rma_sync_test_without_poll", "Test without Poll", RmaSync),
        aliases: &["test_without_poll"],
        measured: "x - e of a loop over tests that never poll and that all fail, while nothing in the process polls",
        meaning: "a loop tested operations that could not complete, because nothing polled",
        remedy: "Call gasnet_AMPoll in the loop, or wait with gex_Event_Wait, which polls.",
        section: "test-without-poll",
    }
    /// A process tests or reads something again and again, until another process has changed it.
    Polling {
        id: "polling",
        title: "Polling",
        class: None,
        part_of: None,
        certainty: Records,
        places: &[
            Place { metric: "sync_polling", title: "Polling (Synchronization)", classes: &[RmaSync, Management, Barrier] },
            Place { metric: "p2p_polling", title: "Polling (Messages)", classes: &[Message, Collective] },
            Place { metric: "rma_polling", title: "Polling (Communication)", classes: &[Rma] },
        ],
        aliases: &["polling_wait"],
        measured: "begin of the operation or message that ended the loop - e of its first call, as far as it was spent in its calls",
        meaning: "a process asked again and again, until another process had done what it was waiting for",
        remedy: "Find out why that process is late; a call that blocks, such as shmem_wait_until or MPI_Wait, waits without \
                 loading the network or a core.",
        section: "polling",
    }
}

impl Wait {
    /// Returns the wait with this id, or `None` if the catalogue has none. Files of later versions may contain ids that
    /// this version does not know.
    pub fn of_id(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|wait| wait.about().id == id)
    }

    /// Returns the wait that has a metric and findings of its own: the whole of which this wait is a part, or this wait itself
    /// if it is not part of another.
    #[must_use]
    pub fn whole(self) -> Self {
        let mut whole = self;
        while let Some(above) = whole.about().part_of {
            whole = above;
        }
        whole
    }

    /// Returns the wait that a metric of a report holds, by the name of the metric: that of the catalogue or of another
    /// tool, alone or behind the name of a layer (`mpi_latesender`). Returns `None` for all other metrics. Metrics that
    /// sort the same time by its cause, such as `delay_latesender` of Scalasca, are not waits.
    pub fn of_metric(name: &str) -> Option<Self> {
        let is = |wait: &Self, name: &str| {
            let about = wait.about();
            about.places.iter().any(|place| place.metric == name) || about.aliases.contains(&name)
        };
        let find = |name: &str| Self::ALL.iter().copied().find(|wait| is(wait, name));
        let behind = name.split_once('_').filter(|(layer, _)| *layer != "delay");
        find(name).or_else(|| behind.and_then(|(_, rest)| find(rest)))
    }

    /// Returns the metric that holds the wait on call paths of a class. Where the wait has no metric for the class, the
    /// first of its metrics is taken.
    pub fn place(self, class: Class) -> &'static Place {
        let places = self.about().places;
        let exact = places.iter().find(|place| place.classes.contains(&class));
        match (exact, places) {
            (Some(place), _) | (None, [place, ..]) => place,
            (None, []) => &NOWHERE,
        }
    }
}

/// Stands for the metric of a wait that has none. No row of the catalogue is so, which a test checks.
const NOWHERE: Place = Place { metric: "", title: "", classes: &[] };

#[cfg(test)]
mod tests;
