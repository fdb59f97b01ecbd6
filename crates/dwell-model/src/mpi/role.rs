//! What the arguments of MPI's functions are.
//!
//! A function is written down as the list of its arguments, each by what it is. That says its type and
//! its place at once, so that the two cannot differ, and makes the twin for large counts: the same list
//! with wider counts.

use crate::operation::{Atomic, Operation};
use crate::table::{
    Absent, Arg, Bytes, CType, Group, Members, Places, Requests, Row, Symbol, Watch,
};

/// What an argument is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A buffer, text, list or place for a result that the recorder does not look at.
    Pointer,
    /// A number that the recorder does not look at.
    Int,
    Aint,
    Offset,
    /// A handle that the recorder does not look at.
    Handle,
    /// Elements that are sent, or received if the function does nothing else.
    Count,
    Datatype,
    Counts,
    Datatypes,
    /// Elements that are received by a function that sends as well.
    ReceiveCount,
    ReceiveDatatype,
    ReceiveCounts,
    ReceiveDatatypes,
    /// Elements at the other side: as many bytes as on this one.
    OtherCount,
    /// Parts of a partitioned message, and the elements in each.
    Partitions,
    LongCount,
    /// Unit of displacements, which is wider for large counts.
    Unit,
    Target,
    Source,
    Tag,
    ReceiveTag,
    Root,
    Comm,
    Win,
    /// A group of processes.
    Group,
    /// Where a request is, or an array of `Length` requests.
    Request,
    Requests,
    Length,
    Status,
    Statuses,
    /// Whether something is complete; which; how many; which ones.
    Flag,
    Index,
    Done,
    Indices,
    Message,
    NewComm,
    NewWin,
    FreedComm,
    FreedWin,
    LockKind,
}

impl Role {
    const fn ctype(self, large: bool) -> CType {
        match self {
            Self::Int
            | Self::Partitions
            | Self::Target
            | Self::Source
            | Self::Tag
            | Self::ReceiveTag
            | Self::Root
            | Self::Length
            | Self::LockKind => CType::Int,
            Self::Count | Self::ReceiveCount | Self::OtherCount => {
                if large {
                    CType::Count
                } else {
                    CType::Int
                }
            }
            Self::Unit => {
                if large {
                    CType::Aint
                } else {
                    CType::Int
                }
            }
            Self::LongCount => CType::Count,
            Self::Aint => CType::Aint,
            Self::Offset => CType::Offset,
            Self::Handle
            | Self::Datatype
            | Self::ReceiveDatatype
            | Self::Comm
            | Self::Win
            | Self::Group => CType::Handle,
            _ => CType::Pointer,
        }
    }
}

/// The function of these arguments.
pub(super) const fn function(symbol: Symbol, operation: Operation, roles: &[Role]) -> Row {
    made(symbol, operation, roles, false)
}

/// Its twin for large counts.
pub(super) const fn large(symbol: Symbol, operation: Operation, roles: &[Role]) -> Row {
    made(symbol, operation, roles, true)
}

const fn made(symbol: Symbol, operation: Operation, roles: &[Role], large: bool) -> Row {
    let mut types = [CType::Void; crate::table::MAX_ARGUMENTS];
    let mut index = 0;
    while index < roles.len() {
        types[index] = roles[index].ctype(large);
        index += 1;
    }
    let mut row = Row::new(symbol, operation, CType::Int, types.split_at(roles.len()).0);
    row.places = places(operation, roles);
    // Whatever is not MPI_SUCCESS: a program that finds no runtime must not think that it has one.
    row.absent = Absent::MinusOne;
    row
}

/// Where the first argument of this role is.
const fn find(roles: &[Role], role: Role) -> Option<Arg> {
    let mut index = 0;
    while index < roles.len() {
        if roles[index] as u8 == role as u8 {
            return Some(Arg(index as u8));
        }
        index += 1;
    }
    None
}

const fn first(one: Option<Arg>, other: Option<Arg>) -> Option<Arg> {
    if one.is_some() { one } else { other }
}

const fn places(operation: Operation, roles: &[Role]) -> Places {
    let sent = bytes(
        find(roles, Role::Count),
        find(roles, Role::Datatype),
        find(roles, Role::Counts),
        find(roles, Role::Datatypes),
    );
    let received = bytes(
        find(roles, Role::ReceiveCount),
        find(roles, Role::ReceiveDatatype),
        find(roles, Role::ReceiveCounts),
        find(roles, Role::ReceiveDatatypes),
    );
    let sent = match (find(roles, Role::Partitions), find(roles, Role::LongCount), sent) {
        (Some(parts), Some(count), Bytes::Item(datatype)) => {
            Bytes::Parts { parts, count, datatype }
        }
        _ => sent,
    };
    // A reduction has one type for both sides, and counts of what is received.
    let received = match (find(roles, Role::Datatype), received) {
        (Some(datatype), Bytes::ListedTypes { counts, .. }) if counts.0 < datatype.0 => {
            Bytes::Listed { counts, datatype }
        }
        (Some(datatype), Bytes::None) => match find(roles, Role::ReceiveCount) {
            Some(count) => Bytes::Typed { count, datatype },
            None => Bytes::None,
        },
        _ => received,
    };
    Places {
        target: find(roles, Role::Target),
        source: find(roles, Role::Source),
        bytes: sent,
        received,
        tag: find(roles, Role::Tag),
        receive_tag: first(find(roles, Role::ReceiveTag), find(roles, Role::Tag)),
        message: find(roles, Role::Message),
        status: first(find(roles, Role::Status), find(roles, Role::Statuses)),
        requests: requests(operation, roles),
        handle: find(roles, Role::Request),
        context: find(roles, Role::Win),
        group: match find(roles, Role::Comm) {
            Some(at) => Group::Team(at),
            None => Group::Caller,
        },
        root: find(roles, Role::Root),
        lock_kind: find(roles, Role::LockKind),
        members: match find(roles, Role::Group) {
            Some(at) => Some(Members::Group(at)),
            None => None,
        },
        created: first(find(roles, Role::NewComm), find(roles, Role::NewWin)),
        ended: first(find(roles, Role::FreedComm), find(roles, Role::FreedWin)),
        success: crate::table::Success::Zero,
        ..Places::NOWHERE
    }
}

const fn bytes(
    count: Option<Arg>,
    datatype: Option<Arg>,
    counts: Option<Arg>,
    datatypes: Option<Arg>,
) -> Bytes {
    match (count, datatype, counts, datatypes) {
        (Some(count), Some(datatype), ..) => Bytes::Typed { count, datatype },
        (_, Some(datatype), Some(counts), _) => Bytes::Listed { counts, datatype },
        (.., Some(counts), Some(datatypes)) => Bytes::ListedTypes { counts, datatypes },
        // To be paired with the type of the other side.
        (.., Some(counts), None) => Bytes::ListedTypes { counts, datatypes: counts },
        (None, Some(datatype), None, _) => Bytes::Item(datatype),
        _ => Bytes::None,
    }
}

const fn requests(operation: Operation, roles: &[Role]) -> Option<Requests> {
    if !matches!(
        operation,
        Operation::WaitHandle
            | Operation::TestHandle
            | Operation::StartHandle
            | Operation::FreeHandle
    ) {
        return None;
    }
    if let Some(at) = find(roles, Role::Request) {
        return Some(Requests { flag: find(roles, Role::Flag), ..Requests::one(at) });
    }
    let Some(at) = find(roles, Role::Requests) else { return None };
    let (index, done) = (find(roles, Role::Index), find(roles, Role::Done));
    Some(Requests {
        watch: match (index, done) {
            (Some(_), _) => Watch::Any,
            (_, Some(_)) => Watch::Some,
            _ => Watch::All,
        },
        at,
        count: find(roles, Role::Length),
        flag: find(roles, Role::Flag),
        index,
        done,
        indices: find(roles, Role::Indices),
    })
}

/// An atomic operation gets as many bytes as it sends, if the call does not say how many.
pub(super) const fn fetching(mut row: Row) -> Row {
    if let (Operation::Atomic(which), Bytes::None) = (row.operation, row.places.received)
        && matches!(which, Atomic::FetchAccumulate | Atomic::CompareSwap)
    {
        row.places.received = row.places.bytes;
    }
    row
}

/// Functions without a twin; see the [module](super) for the layout.
macro_rules! rows {
    ($make:ident, $operation:expr; $( $name:literal: $($role:ident)*; )*) => {
        &[$(
            $make($crate::mpi::role::function(
                $crate::table::symbol!($name),
                $operation,
                &[$($crate::mpi::role::Role::$role),*],
            )),
        )*]
    };
}

/// Functions that have a twin for large counts, of the same name and `_c`.
macro_rules! twins {
    ($make:ident, $operation:expr; $( $name:literal: $($role:ident)*; )*) => {
        &[$(
            $make($crate::mpi::role::function(
                $crate::table::symbol!($name),
                $operation,
                &[$($crate::mpi::role::Role::$role),*],
            )),
            $make($crate::mpi::role::large(
                $crate::table::Symbol::terminated(concat!($name, "_c\0")),
                $operation,
                &[$($crate::mpi::role::Role::$role),*],
            )),
        )*]
    };
}

/// What is the same for whole families: whether they return before they are done, and whether they serve
/// others meanwhile.
pub(super) mod make {
    use crate::operation::Progress;
    use crate::table::{Absent, Arg, Row};

    /// Nothing is known, or it depends.
    pub(in crate::mpi) const fn plain(row: Row) -> Row {
        row
    }

    /// It serves others: it waits for them.
    pub(in crate::mpi) const fn always(row: Row) -> Row {
        row.assumed(Progress::Always)
    }

    /// It serves nobody: the answer is at hand.
    pub(in crate::mpi) const fn never(row: Row) -> Row {
        row.assumed(Progress::Never)
    }

    /// It serves others, as was measured.
    pub(in crate::mpi) const fn served(row: Row) -> Row {
        row.measured(Progress::Always)
    }

    /// It only starts something.
    pub(in crate::mpi) const fn started(row: Row) -> Row {
        super::fetching(row.non_blocking())
    }

    /// It only starts something, and serves nobody, as was measured.
    pub(in crate::mpi) const fn started_quietly(row: Row) -> Row {
        row.non_blocking().measured(Progress::Never)
    }

    /// It only describes something.
    pub(in crate::mpi) const fn persistent(row: Row) -> Row {
        row.persistent().assumed(Progress::Never)
    }

    /// It completes at the target.
    pub(in crate::mpi) const fn completing(row: Row) -> Row {
        row.completes_remote().assumed(Progress::Always)
    }

    /// It completes at the target, and serves others, as was measured.
    pub(in crate::mpi) const fn flush(row: Row) -> Row {
        row.completes_remote().measured(Progress::Always)
    }

    /// It depends on the runtime, as was measured.
    pub(in crate::mpi) const fn depends(row: Row) -> Row {
        row.measured(Progress::Conditional)
    }

    /// It does not return.
    pub(in crate::mpi) const fn exit(row: Row) -> Row {
        row.assumed(Progress::Never).absent(Absent::Exit(Arg(1)))
    }

    /// It speaks to tools, in any number of words.
    pub(in crate::mpi) const fn control(row: Row) -> Row {
        row.variadic().assumed(Progress::Never)
    }
}

pub(super) use {rows, twins};
