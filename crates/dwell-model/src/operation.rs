//! Generic operations: one vocabulary for the calls of every runtime.
//!
//! The recorder, the analysis and the views know these operations and no function names. So `shmem_int_get`, `MPI_Get`
//! and `_gfortran_caf_get` are all [`Operation::Get`], and a pattern that is written once serves every runtime.
//!
//! Three kinds of completion must not be mixed. [`Order`](Operation::Order) completes nothing: it only promises a
//! sequence. [`CompleteLocal`](Operation::CompleteLocal) says that buffers of the origin may be used again.
//! [`CompleteRemote`](Operation::CompleteRemote) says that the data are at the target. Only the last waits for a
//! target.

use core::fmt;

/// The generic operation that a call performs.
///
/// An operation says what a call does, and nothing of its size, its target or its group: those are in the
/// [places](crate::table::Places) of the function's row. The enum is `non_exhaustive`, since a new runtime may bring an
/// operation that no other has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Writes to memory of a target (`shmem_put`, `MPI_Put`). A put that has a [signal](crate::table::Signal) in its
    /// places also notifies the target, in the same call.
    Put,
    /// Reads from memory of a target (`shmem_get`, `MPI_Get`). A blocking get returns when the data have arrived, so it
    /// waits for the target or for the network.
    Get,
    /// Reads or changes memory of a target in one indivisible step (`shmem_atomic_add`, `MPI_Accumulate`). [`Atomic`]
    /// says which change it is.
    Atomic(Atomic),
    /// Notifies a target and moves no data, such as `event post` of coarrays. A put with a signal is a
    /// [`Put`](Self::Put).
    Signal,
    /// Sends an active message: a function of the target runs there with its arguments and data, as soon as the target
    /// polls (`gex_AM_RequestShort`, `gex_AM_ReplyMedium`). The call does not wait for that.
    ActiveMessage,
    /// Runs the handlers of active messages that have arrived, once (`gasnet_AMPoll`) or until a condition of the program
    /// holds (`GASNET_BLOCKUNTIL`). The runtime cannot say which message such a call waits for.
    Poll,
    /// Promises that earlier operations take effect before later ones (`shmem_fence`, `MPI_Win_sync`). The call
    /// completes no operation and need not wait.
    Order,
    /// Completes earlier operations at the origin, so that their buffers may be used again (`MPI_Win_flush_local`,
    /// `ARMCI_WaitAll`). The data need not be at the target yet.
    CompleteLocal,
    /// Completes earlier operations at their targets (`shmem_quiet`, `MPI_Win_flush`, `ARMCI_Fence`). The call waits
    /// for every target that still has an operation outstanding.
    CompleteRemote,
    /// Waits until operations that are named by a request or handle are complete (`MPI_Wait`, `ARMCI_Wait`).
    WaitHandle,
    /// Asks whether operations that are named by a request or handle are complete, and returns at once (`MPI_Test`,
    /// `ARMCI_Test`).
    TestHandle,
    /// Starts operations that an earlier call described as [persistent](Mode::Persistent) (`MPI_Start`,
    /// `MPI_Startall`).
    StartHandle,
    /// Releases a request without waiting for its operation (`MPI_Request_free`). The operation still completes, but no
    /// call reports when.
    FreeHandle,
    /// Sends a message, which the target receives by a call of its own (`MPI_Send`, `MPI_Isend`).
    Send,
    /// Receives a message, or posts the receive if the call is non-blocking (`MPI_Recv`, `MPI_Irecv`).
    Receive,
    /// Sends one message and receives another in the same call (`MPI_Sendrecv`). The two partners may be different
    /// processes.
    Exchange,
    /// Waits until a message can be received, and does not receive it (`MPI_Probe`, `MPI_Mprobe`).
    Probe,
    /// Asks whether a message can be received, and returns at once (`MPI_Iprobe`, `MPI_Improbe`).
    TestProbe,
    /// Takes part in a collective operation of a group of processes. [`Collective`] says which one it is, and its
    /// [shape](Collective::shape) which members wait for which.
    Collective(Collective),
    /// Synchronises with a list of processes, each of which waits for the caller in turn (`sync images` of coarrays).
    Meet,
    /// Requests a lock. `shmem_set_lock` and `ARMCI_Lock` return when the caller holds the lock; `MPI_Win_lock` may
    /// return before the target has granted it.
    Lock,
    /// Releases a lock. `MPI_Win_unlock` also completes the operations of the epoch at the target, so it may wait for
    /// the target and for the lock itself.
    Unlock,
    /// Takes a lock if it is free, and returns at once in either case (`shmem_test_lock`).
    /// [`Success`](crate::table::Success) says what the returned value means.
    TryLock,
    /// Waits until another process has changed memory of the caller (`shmem_wait_until`, `event wait` of coarrays).
    WaitChange,
    /// Asks whether another process has changed memory of the caller, and returns at once (`shmem_test`,
    /// `event_query`).
    TestChange,
    /// Opens an access epoch on windows of other processes (`MPI_Win_start`). The call may wait for the targets to post
    /// their exposure epochs.
    StartEpoch,
    /// Closes an access epoch (`MPI_Win_complete`). MPI promises that the operations of the epoch are then complete at
    /// the origin; the targets learn of their completion in [`WaitEpoch`](Self::WaitEpoch).
    CompleteEpoch,
    /// Opens an exposure epoch, which lets a group of processes access the caller's window (`MPI_Win_post`).
    PostEpoch,
    /// Waits until every process of the exposure epoch has closed its access epoch (`MPI_Win_wait`).
    WaitEpoch,
    /// Asks whether every process of the exposure epoch has closed its access epoch, and closes the exposure if so
    /// (`MPI_Win_test`).
    TestEpoch,
    /// Allocates memory that other processes can reach, or creates a window over it (`shmem_malloc`,
    /// `MPI_Win_allocate`, `ARMCI_Malloc`). Sets of mutexes count as memory as well.
    Allocate,
    /// Releases memory that other processes can reach, or frees a window (`shmem_free`, `MPI_Win_free`).
    Deallocate,
    /// Changes the size of memory that other processes can reach, and perhaps its address (`shmem_realloc`).
    Reallocate,
    /// Starts the runtime (`shmem_init`, `MPI_Init`, `ARMCI_Init`). Other calls of the runtime are allowed after it.
    Initialise,
    /// Shuts the runtime down (`shmem_finalize`, `MPI_Finalize`). The hook of such a call finishes the recording of the
    /// process before it calls the runtime.
    Finalise,
    /// Ends the program from any process, without returning to the caller (`shmem_global_exit`, `MPI_Abort`, `error
    /// stop`).
    Exit,
    /// Asks the runtime for something that it knows without communication, such as a rank (`shmem_my_pe`).
    Query,
    /// Creates a communication context, whose operations are ordered and completed apart from those of other contexts
    /// (`shmem_ctx_create`).
    CreateContext,
    /// Destroys a communication context (`shmem_ctx_destroy`). Operations that are outstanding on the context are
    /// complete on return.
    DestroyContext,
    /// Creates a group of processes: a communicator of MPI, a team of OpenSHMEM or Fortran, a group of ARMCI.
    CreateGroup,
    /// Destroys a group of processes, such as a communicator or a team (`MPI_Comm_free`, `shmem_team_destroy`).
    DestroyGroup,
    /// Addresses a tool and not the runtime (`shmem_pcontrol`, `MPI_Pcontrol`). A program can pause and resume
    /// recording with it.
    Control,
    /// Any other function. Dwell records its region, and no pattern looks at it.
    Other,
}

impl Operation {
    /// Returns the name of the operation in lower case, for people. Names of several words contain blanks;
    /// [`token`](Self::token) is the form for files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Get => "get",
            Self::Atomic(_) => "atomic",
            Self::Signal => "signal",
            Self::ActiveMessage => "active message",
            Self::Poll => "poll",
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

    /// Returns the word that stands for the operation in the description of a region, see [`crate::archive`].
    ///
    /// Tokens contain no blanks and differ for every kind of atomic and collective operation.
    /// [`from_token`](Self::from_token) is the inverse. An operation that the list of tokens lacks becomes `other`.
    ///
    /// ```
    /// use dwell_model::operation::{Atomic, Operation};
    ///
    /// let operation = Operation::Atomic(Atomic::FetchAdd);
    /// assert_eq!(operation.token(), "atomic_fetch_add");
    /// assert_eq!(Operation::from_token("atomic_fetch_add"), Some(operation));
    /// ```
    pub fn token(self) -> &'static str {
        TOKENS.iter().find(|row| row.1 == self).map_or("other", |row| row.0)
    }

    /// Returns the operation that a token stands for, or `None` if this version of Dwell does not know the token.
    /// Archives of later versions may contain such tokens.
    pub fn from_token(token: &str) -> Option<Self> {
        TOKENS.iter().find(|row| row.0 == token).map(|row| row.1)
    }

    /// Returns `true` for operations that access memory of one target without a call of the target: put, get, atomic
    /// operations and signals.
    pub const fn is_one_sided(self) -> bool {
        matches!(self, Self::Put | Self::Get | Self::Atomic(_) | Self::Signal)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The kind of an atomic operation: the change that it makes to memory of the target, and whether it returns the former
/// value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Atomic {
    /// Stores a value and returns nothing (`shmem_atomic_set`).
    Set,
    /// Returns the value and changes nothing (`shmem_atomic_fetch`).
    Fetch,
    /// Stores a value and returns the former one (`shmem_atomic_swap`).
    Swap,
    /// Stores a value if the former one equals a second value, and returns the former one in either case
    /// (`shmem_atomic_compare_swap`).
    CompareSwap,
    /// Adds a value and returns nothing (`shmem_atomic_add`).
    Add,
    /// Adds one and returns nothing (`shmem_atomic_inc`).
    Increment,
    /// Adds a value and returns the former one (`shmem_atomic_fetch_add`).
    FetchAdd,
    /// Adds one and returns the former value (`shmem_atomic_fetch_inc`).
    FetchIncrement,
    /// Combines with a value by bitwise AND and returns nothing (`shmem_atomic_and`).
    And,
    /// Combines with a value by bitwise OR and returns nothing (`shmem_atomic_or`).
    Or,
    /// Combines with a value by bitwise exclusive OR and returns nothing (`shmem_atomic_xor`).
    Xor,
    /// Combines with a value by bitwise AND and returns the former value (`shmem_atomic_fetch_and`).
    FetchAnd,
    /// Combines with a value by bitwise OR and returns the former value (`shmem_atomic_fetch_or`).
    FetchOr,
    /// Combines with a value by bitwise exclusive OR and returns the former value (`shmem_atomic_fetch_xor`).
    FetchXor,
    /// Combines with values by an operation that an argument names, and returns nothing (`MPI_Accumulate`,
    /// `ARMCI_Acc`).
    Accumulate,
    /// Combines with values by an operation that an argument names, and returns the former values
    /// (`MPI_Get_accumulate`, `MPI_Fetch_and_op`).
    FetchAccumulate,
}

impl Atomic {
    /// Returns `true` if the former value travels back to the origin. A blocking call of such a kind cannot return
    /// before the target or its network adapter has answered.
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

    /// Returns the number of values that travel to the target: the bytes sent are this number times the size of an
    /// element. A compare-and-swap sends two, an increment none.
    pub const fn operands(self) -> u8 {
        match self {
            Self::Fetch | Self::Increment | Self::FetchIncrement => 0,
            Self::CompareSwap => 2,
            _ => 1,
        }
    }
}

/// The kind of a collective operation. The names follow MPI; OpenSHMEM, ARMCI and coarrays have a part of them under
/// names of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Collective {
    /// All members arrive before any leaves, and earlier operations of all members are complete at their targets
    /// (`shmem_barrier`, `MPI_Win_fence`, `sync all`).
    Barrier,
    /// All members arrive before any leaves, without a promise about outstanding operations (`shmem_sync`,
    /// `MPI_Barrier`).
    Sync,
    /// The root sends the same data to all members (`shmem_broadcast`, `MPI_Bcast`).
    Broadcast,
    /// Every member receives the data of all, and each may contribute a different amount (`shmem_collect`,
    /// `MPI_Allgatherv`).
    AllGatherVarying,
    /// Every member receives the data of all, and each contributes the same amount (`shmem_fcollect`, `MPI_Allgather`).
    AllGather,
    /// Every member sends a block of its own to every member (`shmem_alltoall`, `MPI_Alltoall`).
    AllToAll,
    /// A reduction combines the data of all members, and every member receives the result (`shmem_int_sum_to_all`,
    /// `MPI_Allreduce`).
    AllReduce,
    /// A reduction combines the data of all members, and the root receives the result (`MPI_Reduce`).
    Reduce,
    /// The root receives the data of all members, the same amount from each (`MPI_Gather`).
    Gather,
    /// The root sends a block of its own to every member, all of the same size (`MPI_Scatter`).
    Scatter,
    /// Every member receives the reduction over the members of lower rank and itself (`MPI_Scan`).
    Scan,
    /// The root receives the data of all members, and each may contribute a different amount (`MPI_Gatherv`).
    GatherVarying,
    /// The root sends a block of its own to every member, and the blocks may differ in size (`MPI_Scatterv`).
    ScatterVarying,
    /// Every member sends a block to every member, and the blocks may differ in size (`MPI_Alltoallv`).
    AllToAllVarying,
    /// Every member sends a block to every member, and the blocks may differ in size and datatype (`MPI_Alltoallw`).
    AllToAllTyped,
    /// A reduction combines the data of all members, and each member receives a part of the result, of a size of its
    /// own (`MPI_Reduce_scatter`).
    ReduceScatter,
    /// A reduction combines the data of all members, and each member receives an equal part of the result
    /// (`MPI_Reduce_scatter_block`).
    ReduceScatterBlock,
    /// Every member receives the reduction over the members of lower rank, without its own data (`MPI_Exscan`).
    ExclusiveScan,
    /// Every process receives the data of its neighbours in a topology, the same amount from each
    /// (`MPI_Neighbor_allgather`).
    NeighbourAllGather,
    /// Every process receives the data of its neighbours in a topology, and each may contribute a different amount
    /// (`MPI_Neighbor_allgatherv`).
    NeighbourAllGatherVarying,
    /// Every process sends a block of its own to each neighbour in a topology (`MPI_Neighbor_alltoall`).
    NeighbourAllToAll,
    /// Every process sends a block to each neighbour in a topology, and the blocks may differ in size
    /// (`MPI_Neighbor_alltoallv`).
    NeighbourAllToAllVarying,
    /// Every process sends a block to each neighbour in a topology, and the blocks may differ in size and datatype
    /// (`MPI_Neighbor_alltoallw`).
    NeighbourAllToAllTyped,
    /// Members open, access or close a file together (`MPI_File_open`, `MPI_File_write_all`).
    File,
}

impl Collective {
    /// Returns the name of the collective in lower case, for people. Some names contain commas and blanks;
    /// [`Operation::token`] is the form for files.
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
            Self::File => "file",
        }
    }

    /// Returns which members of the group must wait for which others. The analysis chooses its pattern of waiting by
    /// this value.
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
            Self::File => Shape::File,
        }
    }
}

/// The dependence between members of a collective operation: which of them cannot leave before which others have
/// arrived.
///
/// The shape is the weakest dependence that the standard implies. A runtime may wait for more: some broadcasts return
/// only when all members have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Shape {
    /// Every member waits for the last one to arrive. The operation moves no data.
    Barrier,
    /// Every member waits for the root, whose data it receives. The root itself need not wait for any member.
    OneToAll,
    /// The root waits for every other member, whose data it receives. The others need not wait for any member.
    AllToOne,
    /// Every member waits for every other, since it receives something from each.
    AllToAll,
    /// Every member waits for the members of lower rank. The member of rank 0 does not wait.
    Prefix,
    /// Every process waits for its neighbours in a topology. The call does not name them: they belong to the
    /// communicator.
    Neighbours,
    /// Every member may wait for every other, as far as the runtime needs it to access a file.
    File,
}

/// The state of an operation when its call returns: complete at the origin, started, or only described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// The operation is complete at the origin on return: the program may use its buffers again. The data of a put need
    /// not be at the target yet.
    Blocking,
    /// The operation has been started on return. The program must not touch its buffers until a later call completes
    /// the operation.
    NonBlocking,
    /// The operation has been described on return, and nothing moves yet. Later calls start and complete the operation,
    /// any number of times (`MPI_Send_init`).
    Persistent,
}

/// Tells whether a process inside this call serves the requests of other processes.
///
/// Where communication progresses in software, a get waits until its target enters the library. But not every call
/// helps: `shmem_my_pe` returns a number and looks at no network. For a [`Conditional`](Self::Conditional) call the
/// analysis reports a wait between two bounds: as if the call had served requests, and as if it had not.
///
/// The value describes a runtime and not the standard, so every table says where it was measured, and its rows say by
/// [`Row::measured`](crate::table::Row::measured) and [`Row::assumed`](crate::table::Row::assumed) which of them were.
/// An unknown value is `Conditional`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Progress {
    /// Requests of other processes wait until the call has returned.
    Never,
    /// The call serves requests of other processes sometimes, depending on what is outstanding, on the size, or on
    /// whether the call had to wait. An unknown value is conditional as well.
    Conditional,
    /// The call serves requests of other processes while it lasts, if it acts on another process. On the process itself
    /// it is a copy in memory and serves none, as a measurement with a get showed.
    Always,
}

/// The token of each operation. [`Operation::token`] and [`Operation::from_token`] look them up here; archives contain
/// them, so existing tokens must not change.
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
    ("active_message", Operation::ActiveMessage),
    ("poll", Operation::Poll),
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
    ("file", Operation::Collective(Collective::File)),
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
    fn a_broadcast_waits_for_its_root() {
        assert_eq!(Collective::Broadcast.shape(), Shape::OneToAll);
        assert_eq!(Collective::AllReduce.shape(), Shape::AllToAll);
        assert_eq!(Operation::Collective(Collective::Sync).name(), "sync");
    }
}
