//! The places of arguments: where in a call the recorder finds the target, the size, the group and everything else.

use super::bytes::{Bytes, Strides};
use super::ctype::CType;
use super::shape::Ready;

/// The position of an argument in a call, counted from 0. A function whose target is `Arg(3)` has it as its fourth
/// argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arg(pub u8);

impl Arg {
    /// Returns the position as an index into a list of arguments.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    pub(super) const fn later(self) -> Self {
        Self(self.0 + 1)
    }

    pub(super) const fn all_later(place: Option<Self>) -> Option<Self> {
        match place {
            Some(at) => Some(at.later()),
            None => None,
        }
    }
}

/// The group of processes that take part in a call, or in which its ranks count.
///
/// A point-to-point call of MPI has its communicator here as well, because ranks of its partners count in it. The
/// [operation](crate::operation::Operation) of the row says whether a call is collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// The calling process alone: the call is not collective.
    Caller,
    /// Every process of the program. For coarrays, every image of the current team.
    World,
    /// An active set of OpenSHMEM: the members are `start + i · 2^log_stride` for each i below `size`.
    ActiveSet {
        /// Rank of the first member.
        start: Arg,
        /// Logarithm to base 2 of the distance between members.
        log_stride: Arg,
        /// Number of members.
        size: Arg,
    },
    /// The members of the team or communicator that this argument names.
    Team(Arg),
    /// The caller and the ranks in an array. A negative number of ranks stands for all processes (`sync images(*)`).
    Listed {
        /// Number of ranks in the array.
        count: Arg,
        /// Address of the array of ranks.
        list: Arg,
    },
}

impl Group {
    /// Returns `true` if the places name a group beyond the caller. This alone does not make a call collective: sends
    /// and receives of MPI name a communicator too.
    pub const fn is_collective(self) -> bool {
        !matches!(self, Self::Caller)
    }

    const fn later(self) -> Self {
        match self {
            Self::Caller | Self::World => self,
            Self::ActiveSet { start, log_stride, size } => Self::ActiveSet {
                start: start.later(),
                log_stride: log_stride.later(),
                size: size.later(),
            },
            Self::Team(team) => Self::Team(team.later()),
            Self::Listed { count, list } => {
                Self::Listed { count: count.later(), list: list.later() }
            }
        }
    }
}

/// The members of a group that a call creates, as ranks of the group that it is created from. Also the processes of an
/// epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Members {
    /// The members are `start + i · stride` for each i below `size` (`shmem_team_split_strided`).
    Strided {
        /// Rank of the first member.
        start: Arg,
        /// Distance between members.
        stride: Arg,
        /// Number of members.
        size: Arg,
    },
    /// A grid of rows with `width` members each. The call creates two groups for each process: its row, and its column
    /// (`shmem_team_split_2d`).
    Grid {
        /// Number of members in a row.
        width: Arg,
    },
    /// The processes of the MPI group that this argument names (`MPI_Comm_create`, `MPI_Win_start`).
    Group(Arg),
    /// All members of the group that it is created from, in the same order (`MPI_Comm_dup`).
    Same,
}

impl Members {
    const fn later(self) -> Self {
        match self {
            Self::Strided { start, stride, size } => {
                Self::Strided { start: start.later(), stride: stride.later(), size: size.later() }
            }
            Self::Grid { width } => Self::Grid { width: width.later() },
            Self::Group(at) => Self::Group(at.later()),
            Self::Same => Self::Same,
        }
    }
}

/// The number of watched values that must fulfil a condition, or of requests that must be complete, before the call
/// returns or reports success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Watch {
    /// The call watches a single value or request.
    One,
    /// All of several values or requests must qualify (`shmem_wait_until_all`, `MPI_Waitall`).
    All,
    /// One of several values or requests must qualify, and the call reports which one (`shmem_wait_until_any`,
    /// `MPI_Waitany`).
    Any,
    /// At least one of several values or requests must qualify, and the call reports all that do
    /// (`shmem_wait_until_some`, `MPI_Waitsome`).
    Some,
}

/// The condition that a call waits for or tests: values in memory of the calling process, which other processes write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    /// Address of the watched value, or of the first of several adjacent ones. For events of coarrays it is the token
    /// of the event.
    pub address: Arg,
    /// Size of one watched value in bytes.
    pub size: u8,
    /// The number of watched values that must fulfil the condition.
    pub watch: Watch,
    /// Number of watched values. `None` if the function watches exactly one.
    pub count: Option<Arg>,
    /// Address of an array of flags that exclude single values, or null at run time. `None` if the function has no such
    /// argument.
    pub mask: Option<Arg>,
    /// The comparison, in the constants of the runtime (`SHMEM_CMP_EQ`). `None` if the function has no such argument:
    /// the value must differ from `operand`.
    pub comparison: Option<Arg>,
    /// The value that memory is compared with. `None` if the call only reads, and leaves the comparison to the program.
    pub operand: Option<Operand>,
}

impl Condition {
    /// Creates the condition on one value of `size` bytes at `address`, without comparison or operand.
    pub const fn one(address: Arg, size: u8) -> Self {
        Self {
            address,
            size,
            watch: Watch::One,
            count: None,
            mask: None,
            comparison: None,
            operand: None,
        }
    }

    const fn later(self) -> Self {
        Self {
            address: self.address.later(),
            size: self.size,
            watch: self.watch,
            count: Arg::all_later(self.count),
            mask: Arg::all_later(self.mask),
            comparison: Arg::all_later(self.comparison),
            operand: match self.operand {
                Some(Operand::Value(at)) => Some(Operand::Value(at.later())),
                Some(Operand::Array(at)) => Some(Operand::Array(at.later())),
                None => None,
            },
        }
    }
}

/// The other side of a comparison with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The argument holds the value, the same for all that are watched.
    Value(Arg),
    /// The argument is the address of an array, which has one value for each that is watched
    /// (`shmem_wait_until_all_vector`).
    Array(Arg),
}

/// The requests that a call completes, tests, starts or releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Requests {
    /// The number of requests that must be complete before the call returns or reports success.
    pub watch: Watch,
    /// Address of the request, or of an array of requests.
    pub at: Arg,
    /// Number of requests in the array. `None` if the function takes exactly one request.
    pub count: Option<Arg>,
    /// Address at which the call stores whether the requests were complete. `None` if they are always complete on
    /// return.
    pub flag: Option<Arg>,
    /// Address at which the call stores the index of the one request that was complete.
    pub index: Option<Arg>,
    /// Address at which the call stores the number of complete requests.
    pub done: Option<Arg>,
    /// Address at which the call stores the indices of the complete requests.
    pub indices: Option<Arg>,
}

impl Requests {
    /// Creates the description of a call that takes one request, whose address is the argument `at`.
    pub const fn one(at: Arg) -> Self {
        Self {
            watch: Watch::One,
            at,
            count: None,
            flag: None,
            index: None,
            done: None,
            indices: None,
        }
    }

    const fn later(self) -> Self {
        Self {
            watch: self.watch,
            at: self.at.later(),
            count: Arg::all_later(self.count),
            flag: Arg::all_later(self.flag),
            index: Arg::all_later(self.index),
            done: Arg::all_later(self.done),
            indices: Arg::all_later(self.indices),
        }
    }
}

/// The signal of a put: a word at the target that the call changes after the data have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signal {
    /// Address of the signal in memory of the target.
    pub address: Arg,
    /// Size of the signal in bytes.
    pub size: u8,
    /// The value that the call stores into the signal or adds to it.
    pub value: Arg,
    /// The change that the call makes to the signal, in the constants of the runtime (`SHMEM_SIGNAL_SET`). ARMCI always
    /// stores: its rows repeat `value` here.
    pub action: Arg,
}

impl Signal {
    const fn later(self) -> Self {
        Self {
            address: self.address.later(),
            size: self.size,
            value: self.value.later(),
            action: self.action.later(),
        }
    }
}

/// The meaning of the returned value: whether the call succeeded, took the lock, or found its condition fulfilled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Success {
    /// The returned value says nothing: a call that returns has succeeded.
    Unsaid,
    /// The value 0 means success, as `MPI_SUCCESS` does in functions of MPI.
    Zero,
    /// Any value but 0 means success, as for `shmem_test`.
    NotZero,
    /// Any value but the largest means success, as for `shmem_test_any`, which returns an index.
    NotMax,
}

/// The places of a function's arguments: where the recorder finds what it writes into records.
///
/// An address is called `remote` if it is looked up at the target, as symmetric addresses of OpenSHMEM are: the
/// recorder converts them to offsets in symmetric memory. A place is `None` if the function has no such argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Places {
    /// Rank of the process that the call acts on: in the whole program, in the team of the context, or in the group of
    /// the window or communicator.
    pub target: Option<Arg>,
    /// The bytes that the call moves or allocates. For a call that sends and receives, the bytes that it sends.
    pub bytes: Bytes,
    /// The bytes that come back in a call that also sends: an exchange of messages, a collective, or an atomic
    /// operation of MPI that fetches. `Bytes::None` for all other calls.
    pub received: Bytes,
    /// Rank of the process that the call receives from. For a coarray operation between two other images, the image
    /// that the data come from.
    pub source: Option<Arg>,
    /// Tag of a message that the call sends. For a call that only receives, the tag that the message must have.
    pub tag: Option<Arg>,
    /// Tag that a received message must have. A call that sends as well may give it a tag of its own.
    pub receive_tag: Option<Arg>,
    /// Address of the handle of a message that a matched probe found (`MPI_Mprobe`, `MPI_Mrecv`).
    pub message: Option<Arg>,
    /// Address at which the runtime stores the status of the received message, or an array of statuses for several.
    pub status: Option<Arg>,
    /// The requests that the call completes, tests, starts or releases. `None` for all other calls.
    pub requests: Option<Requests>,
    /// Address at the target, or the handle by which all processes name the memory, such as the token of a coarray.
    pub remote: Option<Arg>,
    /// Position inside the memory that `remote` names: an offset in bytes, or the index of a lock or event.
    pub within: Option<Arg>,
    /// Distances between elements. `None` means that elements are adjacent.
    pub strides: Option<Strides>,
    /// The communication context or window of the operation. `None` means the default context.
    pub context: Option<Arg>,
    /// The request or handle by which a later call completes the operation. For MPI, the address of the request.
    pub handle: Option<Arg>,
    /// The number of the first rank: 0, or 1 for coarrays, which count images from 1.
    pub first_rank: u8,
    /// The group of processes that take part in the call.
    pub group: Group,
    /// Rank of the root of a collective operation, in its group.
    pub root: Option<Arg>,
    /// The lock that the call takes or releases: an address, or a number for mutexes of ARMCI.
    pub lock: Option<Arg>,
    /// The type of the lock, shared or exclusive, in the constants of the runtime (`MPI_LOCK_SHARED`). `None` if the
    /// function has one type only.
    pub lock_kind: Option<Arg>,
    /// The condition that the call waits for or tests, in memory of the calling process.
    pub condition: Option<Condition>,
    /// The signal by which a put notifies its target.
    pub signal: Option<Signal>,
    /// Address or token of the memory that the call releases or resizes.
    pub memory: Option<Arg>,
    /// Address at which the call stores the address of memory that it has allocated (`MPI_Win_allocate`).
    pub allocated: Option<Arg>,
    /// The partitions of a message that the call marks as ready to be sent.
    pub ready: Option<Ready>,
    /// Address at which the call stores the handle of what it has created: a context, a group, a window, or the token
    /// of a coarray.
    pub created: Option<Arg>,
    /// Address at which the call stores the handle of the second group that it has created (`shmem_team_split_2d`).
    pub also_created: Option<Arg>,
    /// Address of the handle of the communicator or window that the call frees.
    pub ended: Option<Arg>,
    /// The members of the group that the call creates, or the processes of the epoch that it opens.
    pub members: Option<Members>,
    /// The meaning of the returned value.
    pub success: Success,
    /// Address at which a call stores the value that it reads: a one-sided operation, or one that tests a word. For a get of
    /// coarrays, the descriptor of the array that it fills. The program of a coarray may pass null to an atomic operation,
    /// which then fetches nothing.
    pub former: Option<Arg>,
    /// Place in a window that the operation acts on, in units of the window at the target (`MPI_Put`).
    pub displacement: Option<Arg>,
    /// Unit of displacements of the window that the call creates, in bytes.
    pub unit: Option<Arg>,
    /// The reduction by which an operation combines its value with that at the target (`MPI_Fetch_and_op`).
    pub reduction: Option<Arg>,
    /// Address at which the call stores whether it obtained a lock. The program may pass null, and the call then waits
    /// until it has the lock.
    pub obtained: Option<Arg>,
}

impl Places {
    /// The places of a function of which nothing is known: every place is `None`, and the group is the caller alone.
    pub const NOWHERE: Self = Self {
        target: None,
        bytes: Bytes::None,
        received: Bytes::None,
        source: None,
        tag: None,
        receive_tag: None,
        message: None,
        status: None,
        requests: None,
        remote: None,
        within: None,
        strides: None,
        context: None,
        handle: None,
        first_rank: 0,
        group: Group::Caller,
        root: None,
        lock: None,
        lock_kind: None,
        condition: None,
        signal: None,
        memory: None,
        allocated: None,
        ready: None,
        created: None,
        also_created: None,
        ended: None,
        members: None,
        success: Success::Unsaid,
        former: None,
        displacement: None,
        unit: None,
        reduction: None,
        obtained: None,
    };

    /// Moves every place one argument back, for a function that has one more argument in front.
    pub(super) const fn later(self) -> Self {
        Self {
            target: Arg::all_later(self.target),
            bytes: self.bytes.later(),
            received: self.received.later(),
            source: Arg::all_later(self.source),
            tag: Arg::all_later(self.tag),
            receive_tag: Arg::all_later(self.receive_tag),
            message: Arg::all_later(self.message),
            status: Arg::all_later(self.status),
            requests: match self.requests {
                Some(requests) => Some(requests.later()),
                None => None,
            },
            remote: Arg::all_later(self.remote),
            within: Arg::all_later(self.within),
            strides: match self.strides {
                Some(Strides { destination, source }) => {
                    Some(Strides { destination: destination.later(), source: source.later() })
                }
                None => None,
            },
            context: Arg::all_later(self.context),
            handle: Arg::all_later(self.handle),
            first_rank: self.first_rank,
            group: self.group.later(),
            root: Arg::all_later(self.root),
            lock: Arg::all_later(self.lock),
            lock_kind: Arg::all_later(self.lock_kind),
            condition: match self.condition {
                Some(condition) => Some(condition.later()),
                None => None,
            },
            signal: match self.signal {
                Some(signal) => Some(signal.later()),
                None => None,
            },
            memory: Arg::all_later(self.memory),
            allocated: Arg::all_later(self.allocated),
            ready: match self.ready {
                Some(ready) => Some(ready.later()),
                None => None,
            },
            created: Arg::all_later(self.created),
            also_created: Arg::all_later(self.also_created),
            ended: Arg::all_later(self.ended),
            members: match self.members {
                Some(members) => Some(members.later()),
                None => None,
            },
            success: self.success,
            former: Arg::all_later(self.former),
            displacement: Arg::all_later(self.displacement),
            unit: Arg::all_later(self.unit),
            reduction: Arg::all_later(self.reduction),
            obtained: Arg::all_later(self.obtained),
        }
    }

    /// Calls `visit` with every position that is named here, and the kind of argument that may be there.
    ///
    /// The tests of each table use it: a position that does not exist, or a count that is a pointer, is a mistake in
    /// the table.
    pub fn each(&self, mut visit: impl FnMut(&'static str, Arg, Kind)) {
        let mut see = |name, place: Option<Arg>, kind| {
            if let Some(at) = place {
                visit(name, at, kind);
            }
        };
        see("target", self.target, Kind::Integer);
        for bytes in [self.bytes, self.received] {
            match bytes {
                Bytes::None | Bytes::Fixed(_) => {}
                Bytes::Counted { count, .. } => see("count", Some(count), Kind::Integer),
                Bytes::Product { count, size } => {
                    see("count", Some(count), Kind::Integer);
                    see("size", Some(size), Kind::Integer);
                }
                Bytes::Typed { count, datatype } => {
                    see("count", Some(count), Kind::Integer);
                    see("datatype", Some(datatype), Kind::Handle);
                }
                Bytes::Item(datatype) => see("datatype", Some(datatype), Kind::Handle),
                Bytes::IntOrLong(which) => see("operation", Some(which), Kind::Integer),
                Bytes::Parts { parts, count, datatype } => {
                    see("parts", Some(parts), Kind::Integer);
                    see("count", Some(count), Kind::Integer);
                    see("datatype", Some(datatype), Kind::Handle);
                }
                Bytes::Listed { counts, datatype } => {
                    see("counts", Some(counts), Kind::Pointer);
                    see("datatype", Some(datatype), Kind::Handle);
                }
                Bytes::ListedTypes { counts, datatypes } => {
                    see("counts", Some(counts), Kind::Pointer);
                    see("datatypes", Some(datatypes), Kind::Pointer);
                }
                Bytes::Section { descriptor, vector } => {
                    see("descriptor", Some(descriptor), Kind::Pointer);
                    see("vector", vector, Kind::Pointer);
                }
                Bytes::Reference { chain, descriptor } => {
                    see("references", Some(chain), Kind::Pointer);
                    see("descriptor", descriptor, Kind::Pointer);
                }
                Bytes::Block { counts, levels } => {
                    see("counts", Some(counts), Kind::Pointer);
                    see("levels", Some(levels), Kind::Integer);
                }
                Bytes::Vectors { list, length } => {
                    see("vectors", Some(list), Kind::Pointer);
                    see("number of vectors", Some(length), Kind::Integer);
                }
            }
        }
        see("source", self.source, Kind::Integer);
        see("tag", self.tag, Kind::Integer);
        see("tag received", self.receive_tag, Kind::Integer);
        see("message", self.message, Kind::Pointer);
        see("status", self.status, Kind::Pointer);
        if let Some(requests) = self.requests {
            see("requests", Some(requests.at), Kind::Pointer);
            see("number of requests", requests.count, Kind::Integer);
            see("flag", requests.flag, Kind::Pointer);
            see("index", requests.index, Kind::Pointer);
            see("number complete", requests.done, Kind::Pointer);
            see("indices", requests.indices, Kind::Pointer);
        }
        see("remote", self.remote, Kind::Pointer);
        see("within", self.within, Kind::Integer);
        see("former value", self.former, Kind::Pointer);
        see("obtained", self.obtained, Kind::Pointer);
        if let Some(strides) = self.strides {
            see("destination stride", Some(strides.destination), Kind::Integer);
            see("source stride", Some(strides.source), Kind::Integer);
        }
        see("context", self.context, Kind::Handle);
        see("handle", self.handle, Kind::Handle);
        match self.group {
            Group::Caller | Group::World => {}
            Group::ActiveSet { start, log_stride, size } => {
                see("set start", Some(start), Kind::Integer);
                see("set stride", Some(log_stride), Kind::Integer);
                see("set size", Some(size), Kind::Integer);
            }
            Group::Team(team) => see("team", Some(team), Kind::Handle),
            Group::Listed { count, list } => {
                see("number of ranks", Some(count), Kind::Integer);
                see("ranks", Some(list), Kind::Pointer);
            }
        }
        see("root", self.root, Kind::Integer);
        see("lock", self.lock, Kind::Handle);
        see("kind of lock", self.lock_kind, Kind::Integer);
        if let Some(condition) = self.condition {
            see("watched address", Some(condition.address), Kind::Pointer);
            see("watched count", condition.count, Kind::Integer);
            see("mask", condition.mask, Kind::Pointer);
            see("comparison", condition.comparison, Kind::Integer);
            match condition.operand {
                None => {}
                Some(Operand::Value(at)) => see("operand", Some(at), Kind::Integer),
                Some(Operand::Array(at)) => see("operands", Some(at), Kind::Pointer),
            }
        }
        if let Some(signal) = self.signal {
            see("signal address", Some(signal.address), Kind::Pointer);
            see("signal value", Some(signal.value), Kind::Integer);
            see("signal action", Some(signal.action), Kind::Integer);
        }
        see("displacement", self.displacement, Kind::Integer);
        see("unit", self.unit, Kind::Integer);
        see("reduction", self.reduction, Kind::Handle);
        see("memory", self.memory, Kind::Pointer);
        see("allocated", self.allocated, Kind::Pointer);
        if let Some(ready) = self.ready {
            see("request of partitions", Some(ready.request), Kind::Handle);
            see("first partition", ready.first, Kind::Integer);
            see("number or last of partitions", ready.until, Kind::Integer);
        }
        see("created", self.created, Kind::Pointer);
        see("also created", self.also_created, Kind::Pointer);
        see("ended", self.ended, Kind::Pointer);
        match self.members {
            None | Some(Members::Same) => {}
            Some(Members::Strided { start, stride, size }) => {
                see("first member", Some(start), Kind::Integer);
                see("member stride", Some(stride), Kind::Integer);
                see("member count", Some(size), Kind::Integer);
            }
            Some(Members::Grid { width }) => see("grid width", Some(width), Kind::Integer),
            Some(Members::Group(at)) => see("members", Some(at), Kind::Handle),
        }
    }
}

/// The kind of argument that a place requires. The tests of the tables check that each function has one there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An integer of any size: a rank, a count, a tag.
    Integer,
    /// A pointer: an address in memory, or a place to store a result.
    Pointer,
    /// A pointer, an integer or a handle of MPI: runtimes differ in the type of their handles, contexts and locks.
    Handle,
}

impl Kind {
    /// Returns `true` if an argument of this type can be of this kind. No kind accepts floating-point types or `void`.
    pub const fn accepts(self, ctype: CType) -> bool {
        let pointer = matches!(ctype, CType::Pointer);
        let handle = matches!(ctype, CType::Handle);
        let integer = !pointer
            && !handle
            && !matches!(
                ctype,
                CType::Void
                    | CType::Float
                    | CType::Double
                    | CType::LongDouble
                    | CType::ComplexFloat
                    | CType::ComplexDouble
            );
        match self {
            Self::Integer => integer,
            Self::Pointer => pointer,
            Self::Handle => pointer || integer || handle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_and_never_wrap() {
        let arguments = [0, 3, u64::MAX];
        let argument = |at: Arg| arguments[at.index()];
        assert_eq!(Bytes::None.of(argument), 0);
        assert_eq!(Bytes::Fixed(8).of(argument), 8);
        assert_eq!(Bytes::Counted { count: Arg(1), size: 4 }.of(argument), 12);
        assert_eq!(Bytes::Counted { count: Arg(2), size: 4 }.of(argument), u64::MAX);
        assert_eq!(Bytes::Product { count: Arg(1), size: Arg(1) }.of(argument), 9);
    }

    #[test]
    fn everything_moves_by_one() {
        let mut all = Places::NOWHERE;
        all.target = Some(Arg(0));
        all.bytes = Bytes::Counted { count: Arg(1), size: 4 };
        all.strides = Some(Strides { destination: Arg(2), source: Arg(3) });
        all.condition = Some(Condition {
            comparison: Some(Arg(5)),
            operand: Some(Operand::Value(Arg(6))),
            ..Condition::one(Arg(4), 4)
        });
        all.group = Group::Team(Arg(7));
        let (mut before, mut after) = ([None; 8], [None; 8]);
        let mut next = 0;
        all.each(|name, at, _| {
            before[next] = Some((name, at.0 + 1));
            next += 1;
        });
        next = 0;
        all.later().each(|name, at, _| {
            after[next] = Some((name, at.0));
            next += 1;
        });
        assert_eq!(next, 8);
        assert_eq!(before, after);
    }
}
