//! The shape of a call: how its hook records it, what the hook does if it is not recorded, and how Fortran calls it.
//!
//! Hooks are generated from these values. No code outside the tables decides anything by the name of a function.

use super::places::Arg;

/// The way in which calls of a function are recorded. Each adapter chooses one for each row, from the operation, the
/// mode and the places of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A region, without any other record.
    Region,
    /// Whatever the operation and the places of the row say: the general case of OpenSHMEM and of layers over MPI.
    Operation,
    /// The call starts the runtime, and the recording with it.
    Initialise,
    /// The call ends the runtime, and the recording before it.
    Finalise,
    /// The program pauses or resumes the recording by the first argument.
    Control,
    /// A put, get or atomic operation of which everything is known before the call. Programs make millions of these, so
    /// their hooks are short.
    Transfer,
    /// Completes outstanding operations of a window, as `MPI_Win_flush` does.
    Flush,
    /// Requests or releases a lock of a window.
    WindowLock,
    /// Opens, closes or tests an epoch of general active target synchronisation.
    Epoch,
    /// A collective that completes all operations of a window: `MPI_Win_fence`.
    Fence,
    /// Creates a window collectively, with or without memory of its own.
    CreateWindow,
    /// Frees a window collectively, which completes all operations on it.
    FreeWindow,
    /// A blocking send, whose message is recorded before the call.
    Send,
    /// A blocking receive, a matched receive, or a combined send and receive.
    Receive,
    /// A message that is started or described, and has a request.
    StartMessage,
    /// A probe that returns a handle for the message which it found.
    MatchedProbe,
    /// Waits for requests or tests them.
    CompleteRequests,
    /// Starts persistent requests again, or frees requests.
    StartRequests,
    /// Marks partitions of a message as ready to be sent.
    ReadyPartitions,
    /// A blocking collective on a communicator, recorded at its beginning and end.
    Collective,
    /// A collective that is started or described, and has a request.
    StartCollective,
    /// A blocking collective on a file, which belongs to the communicator that opened it.
    File,
    /// Creates a communicator, whose handle is known after the call or, for a non-blocking one, after its request.
    CreateComm,
    /// Frees a communicator, whose handle may mean another one after the call.
    FreeComm,
    /// Runs a function of the program on each thread of a team: the first argument, with the second as its argument. A
    /// function that returns a value reads a word of the second argument.
    Team,
    /// A barrier of the threads of a team, in which they may run tasks.
    TeamBarrier,
    /// Makes a task of a function of the program, which some thread runs now or later. The first five arguments are the function,
    /// its data, a function that copies them or null, and their size and alignment; the seventh has flags.
    Task,
    /// As [`Task`](Self::Task), for a loop of which each task has some iterations: the runtime stores the first and the last in
    /// the data. The sixth argument has the flags.
    TaskLoop,
}

impl Shape {
    /// Returns `true` for calls so short and frequent that the recording code is compiled into each of their hooks.
    pub const fn is_hot(self) -> bool {
        matches!(
            self,
            Self::Transfer | Self::Flush | Self::Send | Self::Receive | Self::StartMessage
        )
    }
}

/// Work of a hook that does not depend on whether the call is recorded, because all processes must agree on it or later
/// calls need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Duty {
    /// None: a call that is not recorded goes straight to the real function.
    None,
    /// The call starts the runtime, before anything is recorded.
    Start,
    /// The call is a blocking collective that may include all processes. Clocks are compared there.
    Meet,
    /// The call duplicates a communicator, possibly the one of all processes.
    Duplicate,
    /// The call frees a communicator, possibly the one of all processes.
    Free,
    /// The call creates a communicator from the group in this argument (`MPI_Comm_create_from_group`). In programs that
    /// do not initialise `MPI_COMM_WORLD`, processes first synchronise there.
    Join(Arg),
    /// The call creates memory or a group that later calls use. Some of these are created before the recording begins.
    Remember,
}

/// The way in which Fortran programs call a function of MPI: by other names, with each argument passed by address, and
/// with the error code as a further argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fortran {
    /// `true` if the library has the function for Fortran programs.
    pub exists: bool,
    /// Number of leading arguments that only the C function has, such as `argc` and `argv` of `MPI_Init`.
    pub omitted: u8,
    /// `true` if the function takes character strings. Fortran passes the length of each string after all other
    /// arguments.
    pub texts: bool,
    /// `true` if the function returns the address of memory. The library then has a further name for programs that pass
    /// a variable of type `C_PTR`.
    pub memory: bool,
}

impl Fortran {
    /// The value for functions that Fortran programs do not call, and for all functions outside of MPI.
    pub const NONE: Self = Self { exists: false, omitted: 0, texts: false, memory: false };
}

/// The partitions of a message that a call marks as ready to be sent: one of them, all from a first to a last one, or
/// as many as an argument says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ready {
    /// Request of the message, passed by value.
    pub request: Arg,
    /// Number of the first partition, if the call marks all from there to `until`.
    pub first: Option<Arg>,
    /// Number of the last partition or, without `first`, the number of partitions. `None` for a single partition.
    pub until: Option<Arg>,
}

impl Ready {
    pub(super) const fn later(self) -> Self {
        let (first, until) = (Arg::all_later(self.first), Arg::all_later(self.until));
        Self { request: self.request.later(), first, until }
    }
}
