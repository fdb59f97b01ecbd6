//! The roles of arguments in functions of MPI.
//!
//! A function is written down as the list of the roles of its arguments. The role gives the type and the place of an
//! argument at once, so that the two cannot differ. The function for large counts has the same list with wider counts.

use crate::operation::{Atomic, Collective, Mode, Operation};
use crate::table::{
    Absent, Arg, Bytes, CType, Duty, Fortran, Group, Members, Places, Ready, Requests, Row, Shape,
    Symbol, Watch,
};

/// The role of an argument: what the function uses it for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A buffer, text, array or place for a result that the recorder does not read.
    Pointer,
    /// A number that the recorder does not read.
    Int,
    Aint,
    /// Place in a window, in its units.
    Displacement,
    /// Address at which the call stores the word that it reads.
    Former,
    /// Reduction by which an operation combines its value with that at the target.
    Reduction,
    Offset,
    /// A handle that the recorder does not read.
    Handle,
    /// Number of elements that the call sends, or receives if it only receives.
    Count,
    Datatype,
    Counts,
    Datatypes,
    /// Number of elements that a call receives which also sends.
    ReceiveCount,
    ReceiveDatatype,
    ReceiveCounts,
    ReceiveDatatypes,
    /// Number of elements at the other side, which are as many bytes as on this one.
    OtherCount,
    /// Number of partitions of a partitioned message. `LongCount` is the number of elements in each.
    Partitions,
    LongCount,
    /// Numbers of partitions that are ready: the first and the last, or how many an array has. `ReadyRequest` is the
    /// request of their message, passed by value.
    FirstPartition,
    LastPartition,
    PartitionCount,
    ReadyRequest,
    /// Unit of displacements of a window, which is wider in functions for large counts.
    Unit,
    Target,
    Source,
    Tag,
    ReceiveTag,
    Root,
    Comm,
    Win,
    /// A group of processes, whose members take part.
    Group,
    /// Address of a request. `Requests` is the address of an array of `Length` requests.
    Request,
    Requests,
    Length,
    Status,
    Statuses,
    /// Address for the result of a test or wait: whether requests are complete (`Flag`), which one is (`Index`), how
    /// many are (`Done`), and which ones (`Indices`).
    Flag,
    Index,
    Done,
    Indices,
    Message,
    NewComm,
    /// Address for the handle of a communicator that has the members of the one that it is made from.
    SameComm,
    NewWin,
    /// A file, and addresses of the handle of one that is opened and of one that is closed.
    File,
    NewFile,
    ClosedFile,
    NewSession,
    FreedComm,
    FreedWin,
    FreedSession,
    /// Address for the address of memory that the call allocates.
    NewMemory,
    /// A text, whose length Fortran passes as a further argument.
    Text,
    /// An argument of `main`, which Fortran programs do not pass.
    MainArgument,
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
            | Self::FirstPartition
            | Self::LastPartition
            | Self::PartitionCount
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
            Self::Aint | Self::Displacement => CType::Aint,
            Self::Offset => CType::Offset,
            Self::Handle
            | Self::Reduction
            | Self::Datatype
            | Self::ReceiveDatatype
            | Self::Comm
            | Self::Win
            | Self::File
            | Self::ReadyRequest
            | Self::Group => CType::Handle,
            _ => CType::Pointer,
        }
    }
}

/// Creates the row of a function from the roles of its arguments.
pub(super) const fn function(symbol: Symbol, operation: Operation, roles: &[Role]) -> Row {
    made(symbol, operation, roles, false)
}

/// Creates the row of the function for large counts, whose counts have type `MPI_Count`, from the same roles.
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
    row.large_counts = large;
    row.fortran = Fortran {
        exists: true,
        omitted: count(roles, Role::MainArgument),
        texts: find(roles, Role::Text).is_some(),
        memory: find(roles, Role::NewMemory).is_some(),
    };
    // Anything but MPI_SUCCESS: a program without a runtime must not believe that it has one.
    row.absent = Absent::MinusOne;
    row
}

/// Returns the position of the first argument of this role.
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

const fn count(roles: &[Role], role: Role) -> u8 {
    let (mut index, mut count) = (0, 0);
    while index < roles.len() {
        if roles[index] as u8 == role as u8 {
            count += 1;
        }
        index += 1;
    }
    count
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
    // A reduction has one datatype for both sides, and counts of the received elements.
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
        context: first(find(roles, Role::Win), find(roles, Role::File)),
        group: match find(roles, Role::Comm) {
            Some(at) => Group::Team(at),
            None => Group::Caller,
        },
        root: find(roles, Role::Root),
        lock_kind: find(roles, Role::LockKind),
        members: match (find(roles, Role::Group), find(roles, Role::SameComm)) {
            (Some(at), _) => Some(Members::Group(at)),
            (None, Some(_)) => Some(Members::Same),
            (None, None) => None,
        },
        created: first(
            first(find(roles, Role::NewComm), find(roles, Role::SameComm)),
            first(
                find(roles, Role::NewWin),
                first(find(roles, Role::NewFile), find(roles, Role::NewSession)),
            ),
        ),
        ended: first(
            first(find(roles, Role::FreedComm), find(roles, Role::FreedWin)),
            first(find(roles, Role::ClosedFile), find(roles, Role::FreedSession)),
        ),
        former: find(roles, Role::Former),
        displacement: find(roles, Role::Displacement),
        unit: find(roles, Role::Unit),
        reduction: find(roles, Role::Reduction),
        allocated: find(roles, Role::NewMemory),
        ready: match find(roles, Role::ReadyRequest) {
            Some(request) => Some(Ready {
                request,
                first: find(roles, Role::FirstPartition),
                until: first(find(roles, Role::LastPartition), find(roles, Role::PartitionCount)),
            }),
            None => None,
        },
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
        // The caller pairs them with the datatype of the other side.
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

/// Completes the row of an atomic operation that returns the former value: it receives as many bytes as it sends, if
/// the call has no count of its own for that.
pub(super) const fn fetching(mut row: Row) -> Row {
    if let (Operation::Atomic(which), Bytes::None) = (row.operation, row.places.received)
        && matches!(which, Atomic::FetchAccumulate | Atomic::CompareSwap)
    {
        row.places.received = row.places.bytes;
    }
    row
}

/// Chooses the shape and the duty of a row whose mode and places are complete.
pub(super) const fn shaped(mut row: Row) -> Row {
    let places = &row.places;
    let blocking = matches!(row.mode, Mode::Blocking);
    row.shape = match row.operation {
        Operation::Initialise => Shape::Initialise,
        Operation::Finalise => Shape::Finalise,
        Operation::Control => Shape::Control,
        Operation::Send if blocking => Shape::Send,
        Operation::Receive | Operation::Exchange if blocking => Shape::Receive,
        Operation::Send | Operation::Receive | Operation::Exchange => Shape::StartMessage,
        Operation::Probe | Operation::TestProbe if places.message.is_some() => Shape::MatchedProbe,
        Operation::WaitHandle | Operation::TestHandle => Shape::CompleteRequests,
        Operation::StartHandle | Operation::FreeHandle => Shape::StartRequests,
        Operation::Collective(Collective::File) => Shape::File,
        Operation::Collective(_) if places.context.is_some() => Shape::Fence,
        Operation::Collective(_) if blocking => Shape::Collective,
        Operation::Collective(_) => Shape::StartCollective,
        Operation::Put | Operation::Get | Operation::Atomic(_) => Shape::Transfer,
        Operation::CompleteLocal | Operation::CompleteRemote => Shape::Flush,
        Operation::Lock | Operation::Unlock => Shape::WindowLock,
        Operation::StartEpoch
        | Operation::CompleteEpoch
        | Operation::PostEpoch
        | Operation::WaitEpoch
        | Operation::TestEpoch => Shape::Epoch,
        Operation::Allocate if places.created.is_some() => Shape::CreateWindow,
        Operation::Deallocate if places.ended.is_some() => Shape::FreeWindow,
        Operation::CreateGroup => Shape::CreateComm,
        Operation::DestroyGroup => Shape::FreeComm,
        _ if places.ready.is_some() => Shape::ReadyPartitions,
        _ => Shape::Region,
    };
    row.duty = match (row.shape, row.operation, places.members) {
        (Shape::Initialise, ..) => Duty::Start,
        (
            Shape::Collective,
            Operation::Collective(
                Collective::Sync
                | Collective::AllReduce
                | Collective::AllGather
                | Collective::AllToAll,
            ),
            _,
        ) => Duty::Meet,
        (Shape::CreateComm, _, Some(Members::Same)) if blocking => Duty::Duplicate,
        (Shape::CreateComm, _, Some(Members::Group(group)))
            if matches!(places.group, Group::Caller) =>
        {
            Duty::Join(group)
        }
        (Shape::FreeComm, ..) => Duty::Free,
        _ => Duty::None,
    };
    row
}

/// Functions without a version for large counts; see the [module](super) for the layout.
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

/// Functions that have a version for large counts, whose name is the same with `_c` appended.
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

/// Functions that complete the rows of whole families: whether the call returns before its operation is complete, and
/// whether it serves requests of others meanwhile.
pub(super) mod make {
    use crate::operation::Progress;
    use crate::table::{Absent, Arg, Fortran, Row};

    /// Leaves progress conditional, because it is unknown or depends on circumstances.
    pub(in crate::mpi) const fn plain(row: Row) -> Row {
        row
    }

    /// Assumes that the call serves requests of others, since it waits for them.
    pub(in crate::mpi) const fn always(row: Row) -> Row {
        row.assumed(Progress::Always)
    }

    /// Assumes that the call serves no requests, since it answers from local state.
    pub(in crate::mpi) const fn never(row: Row) -> Row {
        row.assumed(Progress::Never)
    }

    /// States that the call serves requests of others, as was measured.
    pub(in crate::mpi) const fn served(row: Row) -> Row {
        row.measured(Progress::Always)
    }

    /// Marks a call that only starts an operation.
    pub(in crate::mpi) const fn started(row: Row) -> Row {
        super::fetching(row.non_blocking())
    }

    /// Marks a call that only starts an operation and serves no requests of others, as was measured.
    pub(in crate::mpi) const fn started_quietly(row: Row) -> Row {
        row.non_blocking().measured(Progress::Never)
    }

    /// Marks a call that only describes an operation, for later calls to start.
    pub(in crate::mpi) const fn persistent(row: Row) -> Row {
        row.persistent().assumed(Progress::Never)
    }

    /// Marks a function that one library has under a name of its own, for C only. The call only describes an operation.
    pub(in crate::mpi) const fn extension(row: Row) -> Row {
        Row { fortran: Fortran::NONE, ..persistent(row) }
    }

    /// Marks a call that completes operations at their targets, and is assumed to serve requests of others meanwhile.
    pub(in crate::mpi) const fn completing(row: Row) -> Row {
        row.completes_remote().assumed(Progress::Always)
    }

    /// Marks a call that completes operations at their targets and serves requests of others, as was measured.
    pub(in crate::mpi) const fn flush(row: Row) -> Row {
        row.completes_remote().measured(Progress::Always)
    }

    /// States that progress differs between runtimes, as was measured.
    pub(in crate::mpi) const fn depends(row: Row) -> Row {
        row.measured(Progress::Conditional)
    }

    /// Marks a call that does not return. If MPI is absent, its hook exits with the second argument as the code.
    pub(in crate::mpi) const fn exit(row: Row) -> Row {
        row.assumed(Progress::Never).absent(Absent::Exit(Arg(1)))
    }

    /// Marks a call that addresses tools, and takes any number of further arguments.
    pub(in crate::mpi) const fn control(row: Row) -> Row {
        row.variadic().assumed(Progress::Never)
    }
}

pub(super) use {rows, twins};
