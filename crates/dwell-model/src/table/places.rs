//! Where a function keeps what the recorder wants to know.

use super::ctype::CType;

/// The position of an argument, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arg(pub u8);

impl Arg {
    /// The position as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    const fn later(self) -> Self {
        Self(self.0 + 1)
    }

    const fn all_later(place: Option<Self>) -> Option<Self> {
        match place {
            Some(at) => Some(at.later()),
            None => None,
        }
    }
}

/// What one element is: a type of C, or so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Element {
    /// Its type, `Void` if the function says only how large it is.
    pub ctype: CType,
    /// Its size in bytes.
    pub size: u8,
}

impl Element {
    /// An element of this type.
    pub const fn of(ctype: CType) -> Self {
        Self { ctype, size: ctype.size() }
    }

    /// An element of so many bytes.
    pub const fn bytes(size: u8) -> Self {
        Self { ctype: CType::Void, size }
    }
}

/// How many bytes a call moves, or allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bytes {
    /// None, or nobody can tell from the arguments.
    None,
    /// Always so many.
    Fixed(u8),
    /// An argument counts elements of so many bytes.
    Counted {
        /// Number of elements.
        count: Arg,
        /// Size of each.
        size: u8,
    },
    /// Two arguments are multiplied.
    Product {
        /// Number of elements.
        count: Arg,
        /// Size of each.
        size: Arg,
    },
    /// An argument counts elements of a type that the runtime knows the size of.
    Typed {
        /// Number of elements.
        count: Arg,
        /// Their type.
        datatype: Arg,
    },
    /// One element of such a type.
    Item(Arg),
    /// As many of such elements in each of several parts.
    Parts {
        /// Number of parts.
        parts: Arg,
        /// Number of elements in each.
        count: Arg,
        /// Their type.
        datatype: Arg,
    },
    /// A list has a number of elements for each member of the group.
    Listed {
        /// The list of numbers.
        counts: Arg,
        /// The type of all.
        datatype: Arg,
    },
    /// Two lists have a number of elements and their type for each member of the group.
    ListedTypes {
        /// The list of numbers.
        counts: Arg,
        /// The list of types.
        datatypes: Arg,
    },
    /// A section of an array, as gfortran describes it.
    Section {
        /// Its descriptor.
        descriptor: Arg,
        /// Subscripts that are lists, or a null pointer.
        vector: Option<Arg>,
    },
    /// What a chain of gfortran's references leads to at the target.
    Reference {
        /// The chain.
        chain: Arg,
        /// The descriptor of the other side, which has as many elements.
        descriptor: Option<Arg>,
    },
    /// A block of several dimensions: the product of a list, whose first number counts bytes.
    Block {
        /// The list of numbers.
        counts: Arg,
        /// How many there are, less one.
        levels: Arg,
    },
    /// Four, or eight if this argument, which says what is done, is odd.
    IntOrLong(Arg),
    /// A list of vectors of ARMCI.
    Vectors {
        /// The list.
        list: Arg,
        /// How many there are.
        length: Arg,
    },
}

impl Bytes {
    /// The bytes of one call, whose arguments `argument` gives.
    ///
    /// What does not fit is the largest number. A count in C may be a signed type: give 0 for a
    /// negative one. Where the size is known to the runtime alone, or stands in memory, it is 0.
    #[inline]
    pub fn of(self, argument: impl Fn(Arg) -> u64) -> u64 {
        match self {
            Self::None
            | Self::Typed { .. }
            | Self::Item(_)
            | Self::Parts { .. }
            | Self::Listed { .. }
            | Self::ListedTypes { .. }
            | Self::Section { .. }
            | Self::Reference { .. }
            | Self::Block { .. }
            | Self::Vectors { .. } => 0,
            Self::Fixed(bytes) => u64::from(bytes),
            Self::Counted { count, size } => argument(count).saturating_mul(u64::from(size)),
            Self::IntOrLong(which) => 4 + 4 * (argument(which) & 1),
            Self::Product { count, size } => argument(count).saturating_mul(argument(size)),
        }
    }

    const fn later(self) -> Self {
        match self {
            Self::None | Self::Fixed(_) => self,
            Self::Counted { count, size } => Self::Counted { count: count.later(), size },
            Self::Product { count, size } => {
                Self::Product { count: count.later(), size: size.later() }
            }
            Self::Typed { count, datatype } => {
                Self::Typed { count: count.later(), datatype: datatype.later() }
            }
            Self::Item(datatype) => Self::Item(datatype.later()),
            Self::IntOrLong(which) => Self::IntOrLong(which.later()),
            Self::Parts { parts, count, datatype } => Self::Parts {
                parts: parts.later(),
                count: count.later(),
                datatype: datatype.later(),
            },
            Self::Listed { counts, datatype } => {
                Self::Listed { counts: counts.later(), datatype: datatype.later() }
            }
            Self::ListedTypes { counts, datatypes } => {
                Self::ListedTypes { counts: counts.later(), datatypes: datatypes.later() }
            }
            Self::Section { descriptor, vector } => {
                Self::Section { descriptor: descriptor.later(), vector: Arg::all_later(vector) }
            }
            Self::Reference { chain, descriptor } => {
                Self::Reference { chain: chain.later(), descriptor: Arg::all_later(descriptor) }
            }
            Self::Block { counts, levels } => {
                Self::Block { counts: counts.later(), levels: levels.later() }
            }
            Self::Vectors { list, length } => {
                Self::Vectors { list: list.later(), length: length.later() }
            }
        }
    }
}

/// Distances between elements, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Strides {
    /// At the destination.
    pub destination: Arg,
    /// At the source.
    pub source: Arg,
}

/// Who takes part in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// The caller alone: the call is not collective.
    Caller,
    /// Every process.
    World,
    /// `start + i · 2^log_stride` for i below `size`.
    ActiveSet {
        /// First member.
        start: Arg,
        /// Logarithm to base 2 of the distance between members.
        log_stride: Arg,
        /// Number of members.
        size: Arg,
    },
    /// The members of a team or communicator.
    Team(Arg),
    /// The caller and the ranks in a list; a negative number of them is everyone.
    Listed {
        /// How many.
        count: Arg,
        /// The list.
        list: Arg,
    },
}

impl Group {
    /// Whether others take part.
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

/// Who will be in a group that a call makes, as ranks of the group it is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Members {
    /// `start + i · stride` for i below `size`.
    Strided {
        /// First member.
        start: Arg,
        /// Distance between members.
        stride: Arg,
        /// Number of members.
        size: Arg,
    },
    /// Rows of `width` members, and the columns across them: two groups.
    Grid {
        /// Length of a row.
        width: Arg,
    },
    /// Those of a group of MPI.
    Group(Arg),
}

impl Members {
    const fn later(self) -> Self {
        match self {
            Self::Strided { start, stride, size } => {
                Self::Strided { start: start.later(), stride: stride.later(), size: size.later() }
            }
            Self::Grid { width } => Self::Grid { width: width.later() },
            Self::Group(at) => Self::Group(at.later()),
        }
    }
}

/// How many of the watched values must have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Watch {
    /// There is one.
    One,
    /// All of several.
    All,
    /// One of several.
    Any,
    /// At least one of several, and all that have are reported.
    Some,
}

/// What a call waits for, or asks about: memory of its own process that others write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    /// The address that is watched: of one value, or the first of several.
    pub address: Arg,
    /// Size of one value in bytes.
    pub size: u8,
    /// How many of them must fulfil it.
    pub watch: Watch,
    /// Number of values, if there may be several.
    pub count: Option<Arg>,
    /// An array of flags that takes single values out, or a null pointer.
    pub mask: Option<Arg>,
    /// The comparison, in the runtime's own numbers. `None`: the value must differ from `operand`.
    pub comparison: Option<Arg>,
    /// What the value is compared with; `None` if the call only reads.
    pub operand: Option<Operand>,
}

impl Condition {
    /// One value of so many bytes.
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

/// What is compared with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The argument itself.
    Value(Arg),
    /// An array, with one value for each that is watched.
    Array(Arg),
}

/// Requests that a call completes, asks about or starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Requests {
    /// How many of them must be complete.
    pub watch: Watch,
    /// The address of the request, or of an array of them.
    pub at: Arg,
    /// How many there are. `None`: one.
    pub count: Option<Arg>,
    /// Where it is stored whether they were complete. `None`: they are.
    pub flag: Option<Arg>,
    /// Where it is stored which one was.
    pub index: Option<Arg>,
    /// Where it is stored how many were.
    pub done: Option<Arg>,
    /// Where it is stored which ones were.
    pub indices: Option<Arg>,
}

impl Requests {
    /// One request.
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

/// How a put tells its target that the data are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signal {
    /// Address at the target.
    pub address: Arg,
    /// Size of the signal in bytes.
    pub size: u8,
    /// The value that is stored or added.
    pub value: Arg,
    /// What is done with it, in the runtime's own numbers.
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

/// What a returned value says of success: a lock that was taken, a condition that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Success {
    /// Nothing: whoever returns has succeeded.
    Unsaid,
    /// 0 is success.
    Zero,
    /// Anything but 0 is success.
    NotZero,
    /// Anything but the largest number is success.
    NotMax,
}

/// Where a function keeps what the recorder wants to know.
///
/// Addresses are called `remote` when they are looked up at the target, as symmetric addresses of
/// OpenSHMEM are: the recorder turns them into offsets in the symmetric memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Places {
    /// The process acted on: its rank in the whole program, or in the team of the context.
    pub target: Option<Arg>,
    /// How much is moved or allocated; of a call that sends and receives, how much is sent.
    pub bytes: Bytes,
    /// How much is received by a call that sends as well, or by a collective.
    pub received: Bytes,
    /// The process that is received from.
    pub source: Option<Arg>,
    /// What a message is marked with.
    pub tag: Option<Arg>,
    /// What a message that is received by a call that sends as well is marked with.
    pub receive_tag: Option<Arg>,
    /// A message that was found and is to be received by its handle.
    pub message: Option<Arg>,
    /// Where the runtime says what was received: of one message, or of each of several.
    pub status: Option<Arg>,
    /// Requests that are completed, asked about or started.
    pub requests: Option<Requests>,
    /// The address at the target, or the handle of memory that all have.
    pub remote: Option<Arg>,
    /// Where in such memory: an offset in bytes, or the index of a lock or event.
    pub within: Option<Arg>,
    /// Distances between elements. `None`: they are adjacent.
    pub strides: Option<Strides>,
    /// The context of the operation. `None`: the default one.
    pub context: Option<Arg>,
    /// What a later call completes it by.
    pub handle: Option<Arg>,
    /// The number of the first rank: images of coarrays are counted from 1.
    pub first_rank: u8,
    /// Who takes part.
    pub group: Group,
    /// The root of a collective operation, as a rank of its group.
    pub root: Option<Arg>,
    /// The lock.
    pub lock: Option<Arg>,
    /// Whether a lock is shared, in the runtime's own numbers. `None`: as the function has it.
    pub lock_kind: Option<Arg>,
    /// What is waited for or tested.
    pub condition: Option<Condition>,
    /// How the target of a put is told.
    pub signal: Option<Signal>,
    /// Memory that is given back or changes its size.
    pub memory: Option<Arg>,
    /// Where the handle of what was made is stored.
    pub created: Option<Arg>,
    /// Where the handle of the second thing made is stored.
    pub also_created: Option<Arg>,
    /// Where the handle of what ends is.
    pub ended: Option<Arg>,
    /// Who will be in the group that is made, or is in an epoch.
    pub members: Option<Members>,
    /// What the returned value says.
    pub success: Success,
    /// Where it is stored whether a lock was obtained; a null pointer if it always is.
    pub obtained: Option<Arg>,
}

impl Places {
    /// Nothing is anywhere.
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
        created: None,
        also_created: None,
        ended: None,
        members: None,
        success: Success::Unsaid,
        obtained: None,
    };

    /// Everything one argument later, since one was put before the first.
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
            created: Arg::all_later(self.created),
            also_created: Arg::all_later(self.also_created),
            ended: Arg::all_later(self.ended),
            members: match self.members {
                Some(members) => Some(members.later()),
                None => None,
            },
            success: self.success,
            obtained: Arg::all_later(self.obtained),
        }
    }

    /// Calls `visit` with every position named here, and the types that may stand there.
    ///
    /// A table's own test uses it: a position that does not exist, or a count that is a pointer, is
    /// a mistake in the table.
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
        see("memory", self.memory, Kind::Pointer);
        see("created", self.created, Kind::Pointer);
        see("also created", self.also_created, Kind::Pointer);
        see("ended", self.ended, Kind::Pointer);
        match self.members {
            None => {}
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

/// What sort of argument a place wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Any integer.
    Integer,
    /// A pointer.
    Pointer,
    /// A pointer or an integer: runtimes differ.
    Handle,
}

impl Kind {
    /// Whether an argument of this type can be of this sort.
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
