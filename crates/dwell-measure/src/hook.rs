//! Data that a hook passes to the recorder: the function that it replaces, and the arguments of a call.
#![allow(unsafe_code)] // Memory of the program is read where it said that it is.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use dwell_model::archive::Meaning;
use dwell_model::layer::Layer;
use dwell_model::operation::{Atomic, Collective, Operation, Shape};
use dwell_model::table::{self, Row, Table};
use otf2::enums::{CollectiveOp, Paradigm, RegionRole, RmaAtomicType};
pub use otf2::id::Rank;

use crate::filter::Decision;
use crate::word::Seen;

const FOLLOWED: u8 = 1;
const AGGREGATED: u8 = 2;

/// A hooked function: its row in the table of its runtime, and the region that events know it by. Hooks are static; the
/// recorder changes them only through atomics.
#[repr(C)] // Stubs in assembly look at the first byte.
#[derive(Debug)]
pub struct Hook {
    /// Not 0 if calls bypass the hook.
    bypass: AtomicU8,
    /// Not 0 if no call is recorded and all are followed, or short ones are aggregated.
    partial: AtomicU8,
    /// Layer of the table that the function is in.
    pub layer: Layer,
    /// Bit of the layer in a set of layers.
    pub(crate) layer_bit: u32,
    /// Row of the table, which describes the function and its arguments.
    pub row: &'static Row,
    pub(crate) meaning: Meaning,
    /// Set if calls may be counted inside calls of other layers.
    countable: bool,
    /// Id of its region plus one; 0 before its first recorded call.
    region: AtomicU32,
}

impl Hook {
    /// Makes the hook for a function of a table, with every call recorded. It can be evaluated at compile time, so that
    /// hooks are statics.
    pub const fn new(table: &Table, row: &'static Row) -> Self {
        let meaning = Meaning::of(table, row);
        Self {
            bypass: AtomicU8::new(0),
            partial: AtomicU8::new(0),
            layer: table.layer,
            layer_bit: 1 << table.layer as u32,
            row,
            meaning,
            countable: is_countable(table.layer, row),
            region: AtomicU32::new(0),
        }
    }

    /// Offset in bytes of the byte that makes entry stubs bypass the hook. Stubs are written in assembly and read it
    /// directly.
    pub const BYPASS: usize = std::mem::offset_of!(Self, bypass);

    /// Applies the decision about the calls of the function. Called once, before the region has an id.
    pub(crate) fn settle(&self, decision: Decision) {
        let partial = match decision {
            Decision::Record => 0,
            Decision::Aggregate => AGGREGATED,
            Decision::Follow | Decision::Bypass => FOLLOWED,
        };
        self.partial.store(partial, Ordering::Relaxed);
        self.bypass.store(u8::from(decision == Decision::Bypass), Ordering::Relaxed);
    }

    /// Returns `true` if some calls, or all, are not recorded by themselves.
    #[inline(always)]
    pub(crate) fn is_partial(&self) -> bool {
        self.partial.load(Ordering::Relaxed) != 0
    }

    /// Returns `true` if no call is recorded, and calls are only followed.
    pub(crate) fn is_followed(&self) -> bool {
        self.partial.load(Ordering::Relaxed) == FOLLOWED
    }

    /// Returns `true` if a call inside a call of another layer changes nothing that the recorder has to follow, so that
    /// it may be counted.
    #[inline(always)]
    pub(crate) fn is_countable(&self) -> bool {
        self.countable
    }

    /// Returns `true` if calls are aggregated when they are short.
    pub(crate) fn is_aggregated(&self) -> bool {
        self.partial.load(Ordering::Relaxed) == AGGREGATED
    }

    /// Returns `true` if calls bypass the hook.
    pub(crate) fn is_bypassed(&self) -> bool {
        self.bypass.load(Ordering::Relaxed) != 0
    }

    /// Returns the id of its region; `None` before its first recorded call.
    #[inline(always)]
    pub(crate) fn region(&self) -> Option<u32> {
        self.region.load(Ordering::Acquire).checked_sub(1)
    }

    pub(crate) fn set_region(&self, number: u32) {
        self.region.store(number + 1, Ordering::Release);
    }

    pub(crate) fn role(&self) -> RegionRole {
        match self.row.operation {
            _ if self.row.shape == table::Shape::Team => RegionRole::Parallel,
            Operation::Lock | Operation::Unlock if self.layer.runs_program() => {
                RegionRole::Function
            }
            Operation::Put
            | Operation::Get
            | Operation::Signal
            | Operation::Order
            | Operation::CompleteLocal
            | Operation::CompleteRemote
            | Operation::Lock
            | Operation::Unlock
                if self.layer.has_messages() =>
            {
                RegionRole::Rma
            }
            Operation::Put
            | Operation::Get
            | Operation::Signal
            | Operation::Order
            | Operation::CompleteLocal
            | Operation::CompleteRemote
            | Operation::ActiveMessage
            | Operation::Poll
            | Operation::Meet => RegionRole::Rma,
            Operation::WaitHandle | Operation::TestHandle if self.layer.has_messages() => {
                RegionRole::Point2point
            }
            Operation::WaitHandle | Operation::TestHandle => RegionRole::Rma,
            Operation::Atomic(_) => RegionRole::Atomic,
            Operation::Send
            | Operation::Receive
            | Operation::Exchange
            | Operation::Probe
            | Operation::TestProbe
            | Operation::StartHandle
            | Operation::FreeHandle => RegionRole::Point2point,
            Operation::StartEpoch
            | Operation::CompleteEpoch
            | Operation::PostEpoch
            | Operation::WaitEpoch
            | Operation::TestEpoch => RegionRole::Rma,
            Operation::Collective(which) => match which.shape() {
                Shape::Barrier => RegionRole::Barrier,
                Shape::OneToAll => RegionRole::CollOne2all,
                Shape::AllToOne => RegionRole::CollAll2one,
                Shape::AllToAll => RegionRole::CollAll2all,
                _ => RegionRole::CollOther,
            },
            Operation::Allocate => RegionRole::Allocate,
            Operation::Deallocate => RegionRole::Deallocate,
            Operation::Reallocate => RegionRole::Reallocate,
            _ => RegionRole::Function,
        }
    }
}

/// Returns `true` for one-sided operations of MPI without a request, for calls that complete, order or lock, and for calls
/// of which nothing but a region is recorded (`MPI_Group_free`). An operation that fetches another number of bytes than it
/// sends is not countable: there is one count of bytes.
const fn is_countable(layer: Layer, row: &Row) -> bool {
    let alone = matches!(
        row.operation,
        Operation::Put
            | Operation::Get
            | Operation::Atomic(_)
            | Operation::Order
            | Operation::CompleteLocal
            | Operation::CompleteRemote
            | Operation::Lock
            | Operation::Unlock
            | Operation::Query
    );
    let is_region = matches!((row.operation, row.shape), (Operation::Other, table::Shape::Region));
    let one_count = !matches!(row.places.received, table::Bytes::Typed { .. });
    layer.has_messages() && (alone || is_region) && one_count && row.places.handle.is_none()
}

/// Returns the paradigm of OTF2 for a layer, or [`Paradigm::User`] for layers that OTF2 has no paradigm for, such as
/// ARMCI.
pub fn paradigm(layer: Layer) -> Paradigm {
    match layer {
        Layer::Shmem => Paradigm::Shmem,
        Layer::Mpi => Paradigm::Mpi,
        Layer::Upc => Paradigm::Upc,
        Layer::Omp => Paradigm::Openmp,
        _ => Paradigm::User,
    }
}

/// Number of bytes that a call moves or allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Bytes(pub u64);

/// Address in the memory of the program, which the recorder compares and never follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Address(pub usize);

impl Address {
    /// The null address, for calls that have no such argument.
    pub const NULL: Self = Self(0);
}

/// Handle of an OpenSHMEM context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Context(pub usize);

impl Context {
    /// The default context, which calls use that do not name one.
    pub const DEFAULT: Self = Self(0);
}

/// A put, get or atomic operation of OpenSHMEM, as the arguments of its call describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Rank of the process that the operation acts on.
    pub target: Rank,
    /// Number of bytes that a put sends or a get fetches, or size of the value that an atomic operation acts on.
    pub bytes: Bytes,
    /// Address at the target.
    pub address: Address,
    /// Context of the operation.
    pub context: Context,
}

/// Arguments of one call, as far as the recorder needs them. A hook fills in the fields for which the row of its
/// function has places, and takes the others from [`CallArgs::NONE`].
#[derive(Clone, Copy, Debug)]
pub struct CallArgs {
    /// Rank of the process that the call acts on, or [`Rank::UNDEFINED`] if there is none.
    pub target: Rank,
    /// Number of bytes that the call moves or allocates.
    pub bytes: Bytes,
    /// Address at the target, of the value that the call waits for, or of the lock.
    pub address: Address,
    /// Address of the signal of a put with signal; null for other calls.
    pub signal: Address,
    /// Context of the call.
    pub context: Context,
    /// Processes that take part in a collective operation, and [`Who::Caller`] for calls that are not collective.
    pub who: Who,
    /// Root of a collective operation, as a rank of its group, or [`Rank::UNDEFINED`] if it has none.
    pub root: Rank,
    /// Contexts and groups that the call creates, with the addresses at which it stores their handles.
    pub made: [Made; 2],
}

/// The members of a collective operation, in the terms of OpenSHMEM: an active set, a team, or all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Only the calling process: the operation is not collective.
    Caller,
    /// All processes of the run.
    World,
    /// An active set: the ranks `start + i · 2^log_stride` for `i` below `size`.
    ActiveSet {
        /// Rank of the first member.
        start: u32,
        /// Logarithm to the base 2 of the distance between members.
        log_stride: u32,
        /// Number of members of the set.
        size: u32,
    },
    /// The team or context that a handle of the runtime stands for.
    Handle(usize),
}

/// The address of memory that the program passed to a call, for the real function to read or to fill. Making one is
/// unsafe; reading it afterwards is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed(usize);

impl Passed {
    /// The null address, which stands for an argument that the program did not pass. Reading it gives `None`.
    pub const NULL: Self = Self(0);

    /// Wraps an address that the program passed to the hooked function.
    ///
    /// # Safety
    /// The address is null, or the standard says that the program passes the address of such memory to the function
    /// that it has called. Memory that the function fills is read only after the function has returned and reported
    /// success.
    #[inline(always)]
    pub const unsafe fn new(address: usize) -> Self {
        Self(address)
    }

    /// Returns the address as a number, for looking it up or comparing it with others. Nothing is read.
    #[inline(always)]
    pub const fn address(self) -> usize {
        self.0
    }

    /// Reads a word of this many bytes. More are not one word, and always something new.
    #[inline]
    pub fn word(self, Bytes(bytes): Bytes) -> Seen {
        let value = match bytes {
            1 => self.read::<i8>(0).map(i64::from),
            2 => self.read::<i16>(0).map(i64::from),
            4 => self.read::<i32>(0).map(i64::from),
            8 => self.read::<i64>(0),
            _ => None,
        };
        value.map_or(Seen::Something, |value| Seen::Value(value.cast_unsigned()))
    }

    /// Reads the value at position `index` of a list at this address; a single value has index 0. Returns `None` if the
    /// address is null. The address need not be aligned.
    #[inline(always)]
    pub fn read<T: Plain>(self, index: usize) -> Option<T> {
        let list = self.0 as *const T;
        // SAFETY: as promised to `Passed::new`; any bits are a value.
        (!list.is_null()).then(|| unsafe { list.wrapping_add(index).read_unaligned() })
    }
}

/// Number types that can be read from memory of the program.
///
/// # Safety
/// Every bit pattern of the type's size must be a valid value.
pub unsafe trait Plain: Copy {}

// SAFETY: numbers.
unsafe impl Plain for i8 {}
// SAFETY: numbers.
unsafe impl Plain for i16 {}
// SAFETY: numbers.
unsafe impl Plain for i32 {}
// SAFETY: numbers.
unsafe impl Plain for i64 {}
// SAFETY: numbers.
unsafe impl Plain for usize {}

/// An object that a call creates: a context, or a group of processes. The recorder reads its handle after the call has
/// succeeded, and knows from then on what the handle stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// The call creates no such object.
    Nothing,
    /// A context, whose handle the call stores at an address.
    Context {
        /// Address of the new handle.
        handle: Passed,
    },
    /// A group of every `stride`-th member of the group that takes part.
    Strided {
        /// Address of the new handle.
        handle: Passed,
        /// Rank of the first member in the parent group.
        start: u32,
        /// Distance between members in the parent group.
        stride: u32,
        /// Number of members of the new group.
        size: u32,
    },
    /// The row of a two-dimensional grid that the caller is in.
    GridRow {
        /// Address of the new handle.
        handle: Passed,
        /// Number of members of a row of the grid.
        width: u32,
    },
    /// The column of a two-dimensional grid that the caller is in.
    GridColumn {
        /// Address of the new handle.
        handle: Passed,
        /// Number of members of a row of the grid.
        width: u32,
    },
}

impl CallArgs {
    /// Returns the transfer that the call makes.
    #[inline(always)]
    pub(crate) const fn transfer(&self) -> Transfer {
        let Self { target, bytes, address, context, .. } = *self;
        Transfer { target, bytes, address, context }
    }

    /// Arguments of a call of which nothing is known: no target, no bytes, no addresses, the default context. Hooks use it
    /// to fill the fields that they do not set.
    pub const NONE: Self = Self {
        target: Rank::UNDEFINED,
        bytes: Bytes(0),
        address: Address::NULL,
        signal: Address::NULL,
        context: Context::DEFAULT,
        who: Who::Caller,
        root: Rank::UNDEFINED,
        made: [Made::Nothing; 2],
    };
}

/// Returns the name of OTF2 for an atomic operation.
#[inline]
pub(crate) fn atomic_type(which: Atomic) -> RmaAtomicType {
    match which {
        Atomic::Swap => RmaAtomicType::Swap,
        Atomic::CompareSwap => RmaAtomicType::CompareAndSwap,
        Atomic::Increment => RmaAtomicType::Increment,
        Atomic::FetchAdd => RmaAtomicType::FetchAndAdd,
        Atomic::FetchIncrement => RmaAtomicType::FetchAndIncrement,
        Atomic::Fetch
        | Atomic::FetchAnd
        | Atomic::FetchOr
        | Atomic::FetchXor
        | Atomic::FetchAccumulate => RmaAtomicType::FetchAndAccumulate,
        _ => RmaAtomicType::Accumulate,
    }
}

/// Role of a process in a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The process is the root of the operation.
    Root,
    /// Another process is the root, or the operation has none.
    Member,
}

impl Role {
    /// Returns the role of the process `rank` in an operation with this root.
    #[inline]
    pub fn of(rank: u32, root: Option<u32>) -> Self {
        if root == Some(rank) { Self::Root } else { Self::Member }
    }
}

/// Returns the name of OTF2 for a collective operation, and the bytes that one process sends and receives in it.
pub fn collective(
    which: Collective,
    bytes: u64,
    size: u64,
    role: Role,
) -> (CollectiveOp, u64, u64) {
    let is_root = role == Role::Root;
    let others = bytes.saturating_mul(size.saturating_sub(1));
    let root = |here: u64| if is_root { here } else { 0 };
    let rest = |here: u64| if is_root { 0 } else { here };
    match which {
        Collective::Broadcast => (CollectiveOp::Bcast, root(others), rest(bytes)),
        Collective::AllGather => (CollectiveOp::Allgather, others, others),
        Collective::AllGatherVarying => (CollectiveOp::Allgatherv, others, others),
        Collective::AllToAll => (CollectiveOp::Alltoall, others, others),
        Collective::AllReduce => (CollectiveOp::Allreduce, others, others),
        Collective::Reduce => (CollectiveOp::Reduce, rest(bytes), root(others)),
        Collective::Gather => (CollectiveOp::Gather, rest(bytes), root(others)),
        Collective::Scatter => (CollectiveOp::Scatter, root(others), rest(bytes)),
        Collective::Scan => (CollectiveOp::Scan, bytes, bytes),
        _ => (CollectiveOp::Barrier, 0, 0),
    }
}
