//! Generic operations: what a call of any runtime is, in words that fit them all.
//!
//! The recorder, the analysis and the views know these and no function names. So `shmem_int_get`,
//! `MPI_Get` and `_gfortran_caf_get` are all [`Operation::Get`], and a pattern written once serves
//! every runtime.
//!
//! Three kinds of completion must not be mixed. [`Order`](Operation::Order) completes nothing: it
//! only promises a sequence. [`CompleteLocal`](Operation::CompleteLocal) says that buffers of the
//! origin may be used again. [`CompleteRemote`](Operation::CompleteRemote) says that the data are at
//! the target. Only the last waits for a target.

use core::fmt;

/// What a call is.
///
/// How much it moves, where to and with whom is not said here but in the
/// [places](crate::table::Places) of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Writes to memory of a target. With a [signal](crate::table::Signal) in its places, the target
    /// is told as well, in the same call.
    Put,
    /// Reads from memory of a target.
    Get,
    /// Changes or reads memory of a target in one indivisible step.
    Atomic(Atomic),
    /// Tells a target something, and moves no data.
    Signal,
    /// Earlier operations take effect before later ones. Nothing completes (`shmem_fence`).
    Order,
    /// Earlier operations are complete at the origin (`MPI_Win_flush_local`).
    CompleteLocal,
    /// Earlier operations are complete at their targets (`shmem_quiet`, `ARMCI_Fence`).
    CompleteRemote,
    /// Waits for operations that have a handle.
    WaitHandle,
    /// Asks whether operations that have a handle are complete.
    TestHandle,
    /// Starts operations that have a handle and were described before (`MPI_Start`).
    StartHandle,
    /// Gives a handle back, whatever becomes of its operation.
    FreeHandle,
    /// Sends a message, which the target receives by a call of its own.
    Send,
    /// Receives a message.
    Receive,
    /// Sends a message and receives another.
    Exchange,
    /// Waits until a message can be received.
    Probe,
    /// Asks whether a message can be received.
    TestProbe,
    /// A group acts together.
    Collective(Collective),
    /// Waits for some others, each of which waits for the caller (`sync images`).
    Meet,
    /// Takes a lock, and waits until it has it.
    Lock,
    /// Gives a lock back.
    Unlock,
    /// Takes a lock if it is free.
    TryLock,
    /// Waits until memory of the own process was changed by another.
    WaitChange,
    /// Asks whether memory of the own process was changed by another.
    TestChange,
    /// Begins to act on windows of others (`MPI_Win_start`).
    StartEpoch,
    /// Ends that: operations are complete at their targets.
    CompleteEpoch,
    /// Lets others act on the own window (`MPI_Win_post`).
    PostEpoch,
    /// Waits until they have ended.
    WaitEpoch,
    /// Asks whether they have ended.
    TestEpoch,
    /// Obtains memory that others can reach.
    Allocate,
    /// Gives such memory back.
    Deallocate,
    /// Changes the size of such memory.
    Reallocate,
    /// Starts the runtime.
    Initialise,
    /// Ends the runtime.
    Finalise,
    /// Ends the program, from any process, without returning.
    Exit,
    /// Asks the runtime for something that it knows by itself.
    Query,
    /// Makes a context: a stream of operations that is ordered and completed by itself.
    CreateContext,
    /// Ends a context.
    DestroyContext,
    /// Makes a group of processes.
    CreateGroup,
    /// Ends a group of processes.
    DestroyGroup,
    /// Speaks to a tool, not to the runtime (`shmem_pcontrol`).
    Control,
    /// Anything else. It is a region and nothing more.
    Other,
}

impl Operation {
    /// The name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Get => "get",
            Self::Atomic(_) => "atomic",
            Self::Signal => "signal",
            Self::Order => "order",
            Self::CompleteLocal => "complete local",
            Self::CompleteRemote => "complete remote",
            Self::WaitHandle => "wait for handle",
            Self::TestHandle => "test handle",
            Self::StartHandle => "start handle",
            Self::FreeHandle => "free handle",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Exchange => "exchange",
            Self::Probe => "probe",
            Self::TestProbe => "test for message",
            Self::Collective(which) => which.name(),
            Self::Meet => "meet",
            Self::Lock => "lock",
            Self::Unlock => "unlock",
            Self::TryLock => "try lock",
            Self::WaitChange => "wait for change",
            Self::TestChange => "test for change",
            Self::StartEpoch => "start epoch",
            Self::CompleteEpoch => "complete epoch",
            Self::PostEpoch => "post epoch",
            Self::WaitEpoch => "wait for epoch",
            Self::TestEpoch => "test epoch",
            Self::Allocate => "allocate",
            Self::Deallocate => "deallocate",
            Self::Reallocate => "reallocate",
            Self::Initialise => "initialise",
            Self::Finalise => "finalise",
            Self::Exit => "exit",
            Self::Query => "query",
            Self::CreateContext => "create context",
            Self::DestroyContext => "destroy context",
            Self::CreateGroup => "create group",
            Self::DestroyGroup => "destroy group",
            Self::Control => "control",
            Self::Other => "other",
        }
    }

    /// The word for it in the description of a region, see [`crate::archive`].
    pub fn token(self) -> &'static str {
        TOKENS.iter().find(|row| row.1 == self).map_or("other", |row| row.0)
    }

    /// The operation of such a word.
    pub fn from_token(token: &str) -> Option<Self> {
        TOKENS.iter().find(|row| row.0 == token).map(|row| row.1)
    }

    /// Whether the call moves data between its process and one target, on its own account.
    pub const fn is_one_sided(self) -> bool {
        matches!(self, Self::Put | Self::Get | Self::Atomic(_) | Self::Signal)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What an atomic operation does to the memory of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Atomic {
    /// Stores a value.
    Set,
    /// Reads the value.
    Fetch,
    /// Stores a value and returns the former one.
    Swap,
    /// Stores a value if the former one equals another; returns the former one.
    CompareSwap,
    /// Adds a value.
    Add,
    /// Adds one.
    Increment,
    /// Adds a value and returns the former one.
    FetchAdd,
    /// Adds one and returns the former value.
    FetchIncrement,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Bitwise and; returns the former value.
    FetchAnd,
    /// Bitwise or; returns the former value.
    FetchOr,
    /// Bitwise exclusive or; returns the former value.
    FetchXor,
    /// Combines with a value, by an operation that the call is given (`MPI_Accumulate`).
    Accumulate,
    /// The same; returns the former value.
    FetchAccumulate,
}

impl Atomic {
    /// Whether a value travels back, so that the origin waits for the target.
    pub const fn fetches(self) -> bool {
        match self {
            Self::Fetch
            | Self::Swap
            | Self::CompareSwap
            | Self::FetchAdd
            | Self::FetchIncrement
            | Self::FetchAnd
            | Self::FetchOr
            | Self::FetchXor
            | Self::FetchAccumulate => true,
            Self::Set
            | Self::Add
            | Self::Increment
            | Self::And
            | Self::Or
            | Self::Xor
            | Self::Accumulate => false,
        }
    }

    /// Number of values that travel to the target: bytes sent are this times the element size.
    pub const fn operands(self) -> u8 {
        match self {
            Self::Fetch | Self::Increment | Self::FetchIncrement => 0,
            Self::CompareSwap => 2,
            _ => 1,
        }
    }
}

/// Which collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Collective {
    /// All arrive before any leaves, and earlier operations are complete (`shmem_barrier`).
    Barrier,
    /// All arrive before any leaves; nothing is promised about memory (`shmem_sync`).
    Sync,
    /// The root's data go to all.
    Broadcast,
    /// Everyone's data go to all, each contributing as much as it likes (`shmem_collect`).
    AllGatherVarying,
    /// Everyone's data go to all, each contributing the same amount (`shmem_fcollect`).
    AllGather,
    /// Everyone has a different block for everyone.
    AllToAll,
    /// Everyone's data are combined, and the result goes to all (`shmem_int_sum_to_all`).
    AllReduce,
    /// Everyone's data are combined, and the result goes to the root.
    Reduce,
    /// Everyone's data go to the root.
    Gather,
    /// The root has a different block for everyone.
    Scatter,
    /// Everyone gets what those before it have, combined.
    Scan,
    /// As `Gather`, each contributing as much as it likes.
    GatherVarying,
    /// As `Scatter`, in blocks of different sizes.
    ScatterVarying,
    /// As `AllToAll`, in blocks of different sizes.
    AllToAllVarying,
    /// As `AllToAll`, in blocks of different sizes and types.
    AllToAllTyped,
    /// Everyone's data are combined, and each gets a part of the result, as large as it likes.
    ReduceScatter,
    /// Everyone's data are combined, and each gets an equal part of the result.
    ReduceScatterBlock,
    /// As `Scan`, without the own data.
    ExclusiveScan,
    /// As `AllGather`, among neighbours of a topology.
    NeighbourAllGather,
    /// As `AllGatherVarying`, among neighbours of a topology.
    NeighbourAllGatherVarying,
    /// As `AllToAll`, among neighbours of a topology.
    NeighbourAllToAll,
    /// As `AllToAllVarying`, among neighbours of a topology.
    NeighbourAllToAllVarying,
    /// As `AllToAllTyped`, among neighbours of a topology.
    NeighbourAllToAllTyped,
}

impl Collective {
    /// The name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Sync => "sync",
            Self::Broadcast => "broadcast",
            Self::AllGatherVarying => "all-gather, varying",
            Self::AllGather => "all-gather",
            Self::AllToAll => "all-to-all",
            Self::AllReduce => "all-reduce",
            Self::Reduce => "reduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Scan => "scan",
            Self::GatherVarying => "gather, varying",
            Self::ScatterVarying => "scatter, varying",
            Self::AllToAllVarying => "all-to-all, varying",
            Self::AllToAllTyped => "all-to-all, typed",
            Self::ReduceScatter => "reduce-scatter",
            Self::ReduceScatterBlock => "reduce-scatter, block",
            Self::ExclusiveScan => "scan, exclusive",
            Self::NeighbourAllGather => "all-gather, neighbours",
            Self::NeighbourAllGatherVarying => "all-gather, varying, neighbours",
            Self::NeighbourAllToAll => "all-to-all, neighbours",
            Self::NeighbourAllToAllVarying => "all-to-all, varying, neighbours",
            Self::NeighbourAllToAllTyped => "all-to-all, typed, neighbours",
        }
    }

    /// Who must wait for whom, which decides the pattern that applies.
    pub const fn shape(self) -> Shape {
        match self {
            Self::Barrier | Self::Sync => Shape::Barrier,
            Self::Broadcast | Self::Scatter | Self::ScatterVarying => Shape::OneToAll,
            Self::Reduce | Self::Gather | Self::GatherVarying => Shape::AllToOne,
            Self::Scan | Self::ExclusiveScan => Shape::Prefix,
            Self::AllGatherVarying
            | Self::AllGather
            | Self::AllToAll
            | Self::AllToAllVarying
            | Self::AllToAllTyped
            | Self::AllReduce
            | Self::ReduceScatter
            | Self::ReduceScatterBlock => Shape::AllToAll,
            Self::NeighbourAllGather
            | Self::NeighbourAllGatherVarying
            | Self::NeighbourAllToAll
            | Self::NeighbourAllToAllVarying
            | Self::NeighbourAllToAllTyped => Shape::Neighbours,
        }
    }
}

/// Who waits for whom in a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Shape {
    /// Everyone waits for the last to arrive; no data.
    Barrier,
    /// Everyone waits for the root.
    OneToAll,
    /// The root waits for everyone.
    AllToOne,
    /// Everyone waits for everyone, since it has something from each.
    AllToAll,
    /// Everyone waits for those of a lower rank.
    Prefix,
    /// Everyone waits for its neighbours in a topology, which the call does not name.
    Neighbours,
}

/// Whether the buffers of a call may be used again when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// On return the operation is complete at the origin.
    Blocking,
    /// On return the operation has been started; a later call completes it.
    NonBlocking,
    /// On return the operation has been described; later calls start and complete it, time and again.
    Persistent,
}

/// Whether a process inside this call serves the requests of others.
///
/// Where communication progresses in software, a get waits until its target enters the library.
/// But not every call helps: `shmem_my_pe` returns a number and looks at no network. The analysis
/// reports a wait between two bounds where a call is [`Conditional`](Self::Conditional): as if it had
/// served, and as if it had not.
///
/// The value is the runtime's, not the standard's, so every row has an [`Evidence`] beside it and
/// every table says [where it was measured](crate::table::Table::measured_on). What nobody knows is
/// `Conditional`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Progress {
    /// Requests of others wait until the call is over.
    Never,
    /// It depends: on what is outstanding, on the size, on whether the call had to wait. Or nobody
    /// knows.
    Conditional,
    /// Requests of others are served while the call lasts, if it acts on another process.
    Always,
}

impl Progress {
    /// What holds for one call, when its target is known.
    ///
    /// An operation of a process on itself is a copy in memory: measured with a get from itself, it
    /// serves nobody.
    #[must_use]
    pub const fn towards(self, target: Whom) -> Self {
        match target {
            Whom::Itself => Self::Never,
            Whom::Another => self,
        }
    }
}

/// The target of one call, seen from its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Whom {
    /// The process that calls.
    Itself,
    /// Any other.
    Another,
}

/// How a value of [`Progress`] is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// A process looped over a call of this family while a request of another was pending.
    Measured,
    /// It follows from what the call must do, or nothing is known and the value is `Conditional`.
    Assumed,
}

/// One word for each operation.
const TOKENS: &[(&str, Operation)] = &[
    ("put", Operation::Put),
    ("get", Operation::Get),
    ("atomic_set", Operation::Atomic(Atomic::Set)),
    ("atomic_fetch", Operation::Atomic(Atomic::Fetch)),
    ("atomic_swap", Operation::Atomic(Atomic::Swap)),
    ("atomic_compare_swap", Operation::Atomic(Atomic::CompareSwap)),
    ("atomic_add", Operation::Atomic(Atomic::Add)),
    ("atomic_increment", Operation::Atomic(Atomic::Increment)),
    ("atomic_fetch_add", Operation::Atomic(Atomic::FetchAdd)),
    ("atomic_fetch_increment", Operation::Atomic(Atomic::FetchIncrement)),
    ("atomic_and", Operation::Atomic(Atomic::And)),
    ("atomic_or", Operation::Atomic(Atomic::Or)),
    ("atomic_xor", Operation::Atomic(Atomic::Xor)),
    ("atomic_fetch_and", Operation::Atomic(Atomic::FetchAnd)),
    ("atomic_fetch_or", Operation::Atomic(Atomic::FetchOr)),
    ("atomic_fetch_xor", Operation::Atomic(Atomic::FetchXor)),
    ("atomic_accumulate", Operation::Atomic(Atomic::Accumulate)),
    ("atomic_fetch_accumulate", Operation::Atomic(Atomic::FetchAccumulate)),
    ("signal", Operation::Signal),
    ("order", Operation::Order),
    ("complete_local", Operation::CompleteLocal),
    ("complete_remote", Operation::CompleteRemote),
    ("wait", Operation::WaitHandle),
    ("test", Operation::TestHandle),
    ("barrier", Operation::Collective(Collective::Barrier)),
    ("sync", Operation::Collective(Collective::Sync)),
    ("broadcast", Operation::Collective(Collective::Broadcast)),
    ("all_gather_varying", Operation::Collective(Collective::AllGatherVarying)),
    ("all_gather", Operation::Collective(Collective::AllGather)),
    ("all_to_all", Operation::Collective(Collective::AllToAll)),
    ("all_reduce", Operation::Collective(Collective::AllReduce)),
    ("reduce", Operation::Collective(Collective::Reduce)),
    ("gather", Operation::Collective(Collective::Gather)),
    ("scatter", Operation::Collective(Collective::Scatter)),
    ("scan", Operation::Collective(Collective::Scan)),
    ("gather_varying", Operation::Collective(Collective::GatherVarying)),
    ("scatter_varying", Operation::Collective(Collective::ScatterVarying)),
    ("all_to_all_varying", Operation::Collective(Collective::AllToAllVarying)),
    ("all_to_all_typed", Operation::Collective(Collective::AllToAllTyped)),
    ("reduce_scatter", Operation::Collective(Collective::ReduceScatter)),
    ("reduce_scatter_block", Operation::Collective(Collective::ReduceScatterBlock)),
    ("exclusive_scan", Operation::Collective(Collective::ExclusiveScan)),
    ("neighbour_all_gather", Operation::Collective(Collective::NeighbourAllGather)),
    ("neighbour_all_gather_varying", Operation::Collective(Collective::NeighbourAllGatherVarying)),
    ("neighbour_all_to_all", Operation::Collective(Collective::NeighbourAllToAll)),
    ("neighbour_all_to_all_varying", Operation::Collective(Collective::NeighbourAllToAllVarying)),
    ("neighbour_all_to_all_typed", Operation::Collective(Collective::NeighbourAllToAllTyped)),
    ("start", Operation::StartHandle),
    ("free", Operation::FreeHandle),
    ("send", Operation::Send),
    ("receive", Operation::Receive),
    ("exchange", Operation::Exchange),
    ("probe", Operation::Probe),
    ("test_probe", Operation::TestProbe),
    ("start_epoch", Operation::StartEpoch),
    ("complete_epoch", Operation::CompleteEpoch),
    ("post_epoch", Operation::PostEpoch),
    ("wait_epoch", Operation::WaitEpoch),
    ("test_epoch", Operation::TestEpoch),
    ("meet", Operation::Meet),
    ("lock", Operation::Lock),
    ("unlock", Operation::Unlock),
    ("try_lock", Operation::TryLock),
    ("wait_change", Operation::WaitChange),
    ("test_change", Operation::TestChange),
    ("allocate", Operation::Allocate),
    ("deallocate", Operation::Deallocate),
    ("reallocate", Operation::Reallocate),
    ("initialise", Operation::Initialise),
    ("finalise", Operation::Finalise),
    ("exit", Operation::Exit),
    ("query", Operation::Query),
    ("create_context", Operation::CreateContext),
    ("destroy_context", Operation::DestroyContext),
    ("create_group", Operation::CreateGroup),
    ("destroy_group", Operation::DestroyGroup),
    ("control", Operation::Control),
    ("other", Operation::Other),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomics_send_and_receive() {
        // As the records of other tools count them: (kind, values sent, values received).
        let cases = [
            (Atomic::Swap, 1, true),
            (Atomic::CompareSwap, 2, true),
            (Atomic::FetchAdd, 1, true),
            (Atomic::FetchIncrement, 0, true),
            (Atomic::Add, 1, false),
            (Atomic::Increment, 0, false),
            (Atomic::Set, 1, false),
            (Atomic::Fetch, 0, true),
            (Atomic::FetchXor, 1, true),
            (Atomic::Or, 1, false),
        ];
        for (kind, sent, fetches) in cases {
            assert_eq!((kind.operands(), kind.fetches()), (sent, fetches), "{kind:?}");
        }
    }

    #[test]
    fn nobody_is_served_by_a_copy_in_memory() {
        assert_eq!(Progress::Always.towards(Whom::Itself), Progress::Never);
        assert_eq!(Progress::Always.towards(Whom::Another), Progress::Always);
    }

    #[test]
    fn a_broadcast_waits_for_its_root() {
        assert_eq!(Collective::Broadcast.shape(), Shape::OneToAll);
        assert_eq!(Collective::AllReduce.shape(), Shape::AllToAll);
        assert_eq!(Operation::Collective(Collective::Sync).name(), "sync");
    }
}
