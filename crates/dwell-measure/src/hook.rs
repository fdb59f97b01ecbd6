//! What a hook tells the recorder: which function it stands for, and what this call is about.
#![allow(unsafe_code)] // Memory of the program is read where it said that it is.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use dwell_model::archive::Meaning;
use dwell_model::layer::Layer;
use dwell_model::operation::{Atomic, Collective, Operation, Shape};
use dwell_model::table::{Row, Table};
use otf2::enums::{CollectiveOp, Paradigm, RegionRole, RmaAtomicType};

use crate::filter::Decision;

const FOLLOWED: u8 = 1;
const SAMPLED: u8 = 2;

/// One hooked function: its row, and the number that events know it by.
#[repr(C)] // Stubs in assembly look at the first byte.
#[derive(Debug)]
pub struct Hook {
    /// Not 0 if calls go past the hook.
    bypass: AtomicU8,
    /// Not 0 if calls are recorded in part, or followed only.
    partial: AtomicU8,
    /// The layer of its table.
    pub layer: Layer,
    /// What is known about it.
    pub row: &'static Row,
    pub(crate) meaning: Meaning,
    /// The number of its region plus one; 0 before its first recorded call.
    region: AtomicU32,
}

impl Hook {
    /// The hook for a function of a table.
    pub const fn new(table: &Table, row: &'static Row) -> Self {
        let meaning = Meaning::of(table, row);
        Self {
            bypass: AtomicU8::new(0),
            partial: AtomicU8::new(0),
            layer: table.layer,
            row,
            meaning,
            region: AtomicU32::new(0),
        }
    }

    /// Where in a hook the byte is that lets stubs go past it.
    pub const BYPASS: usize = std::mem::offset_of!(Self, bypass);

    /// Settles what is done with calls. Once, before the region has a number.
    pub(crate) fn settle(&self, decision: Decision) {
        let partial = match decision {
            Decision::Record => 0,
            Decision::Sample => SAMPLED,
            Decision::Follow | Decision::Bypass => FOLLOWED,
        };
        self.partial.store(partial, Ordering::Relaxed);
        self.bypass.store(u8::from(decision == Decision::Bypass), Ordering::Relaxed);
    }

    /// Whether not all calls are recorded.
    #[inline(always)]
    pub(crate) fn is_partial(&self) -> bool {
        self.partial.load(Ordering::Relaxed) != 0
    }

    /// Whether some calls are recorded, and others not.
    pub(crate) fn is_sampled(&self) -> bool {
        self.partial.load(Ordering::Relaxed) == SAMPLED
    }

    /// Whether calls go past it.
    pub(crate) fn is_bypassed(&self) -> bool {
        self.bypass.load(Ordering::Relaxed) != 0
    }

    /// The number of its region, if it has been called before.
    #[inline(always)]
    pub(crate) fn region(&self) -> Option<u32> {
        self.region.load(Ordering::Acquire).checked_sub(1)
    }

    pub(crate) fn set_region(&self, number: u32) {
        self.region.store(number + 1, Ordering::Release);
    }

    pub(crate) fn role(&self) -> RegionRole {
        match self.row.operation {
            Operation::Put
            | Operation::Get
            | Operation::Signal
            | Operation::Order
            | Operation::CompleteLocal
            | Operation::CompleteRemote
            | Operation::Lock
            | Operation::Unlock
                if self.layer == Layer::Mpi =>
            {
                RegionRole::Rma
            }
            Operation::Put
            | Operation::Get
            | Operation::Signal
            | Operation::Order
            | Operation::CompleteLocal
            | Operation::CompleteRemote
            | Operation::Meet => RegionRole::Rma,
            Operation::WaitHandle | Operation::TestHandle if self.layer == Layer::Mpi => {
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

/// The paradigm that OTF2 has for a layer, or comes nearest.
pub fn paradigm(layer: Layer) -> Paradigm {
    match layer {
        Layer::Shmem => Paradigm::Shmem,
        Layer::Mpi => Paradigm::Mpi,
        Layer::Upc => Paradigm::Upc,
        _ => Paradigm::User,
    }
}

/// What one call is about. A hook fills in what its row has places for.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Rank acted on.
    pub target: u32,
    /// Bytes moved or allocated.
    pub bytes: u64,
    /// Address at the target, of the watched value, or of the lock.
    pub address: usize,
    /// Address of the signal that a put has.
    pub signal: usize,
    /// The context; 0 is the default one.
    pub context: usize,
    /// Who takes part.
    pub who: Who,
    /// Root of a collective, as a rank of its group.
    pub root: u32,
    /// Where handles of what was made are stored, and who is in the groups that are made.
    pub made: [Made; 2],
}

/// The members of a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The caller alone.
    Caller,
    /// Everyone.
    World,
    /// Ranks `start + i · 2^log_stride`.
    ActiveSet {
        /// The first.
        start: u32,
        /// Logarithm of the distance.
        log_stride: u32,
        /// How many.
        size: u32,
    },
    /// What a handle stands for.
    Handle(usize),
}

/// The address of memory that the program passed to a call, for the real function to read or to fill. It is made
/// where the address comes in; from there on it can be read without further ado.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed(usize);

impl Passed {
    /// No address.
    pub const NULL: Self = Self(0);

    /// An address that the program passed.
    ///
    /// # Safety
    /// It is null, or the standard says that the program passes the address of such memory to the function that it
    /// has called. What the function fills is read only after it has returned and said that it succeeded.
    #[inline(always)]
    pub const unsafe fn new(address: usize) -> Self {
        Self(address)
    }

    /// The address itself.
    #[inline(always)]
    pub const fn address(self) -> usize {
        self.0
    }

    /// A value in a list of those, or the only one. `None` if the address is null.
    #[inline(always)]
    pub fn read<T: Plain>(self, index: usize) -> Option<T> {
        let list = self.0 as *const T;
        // SAFETY: as promised by who made this; any bits are a value.
        (!list.is_null()).then(|| unsafe { list.wrapping_add(index).read_unaligned() })
    }
}

/// Numbers, which any bits are.
///
/// # Safety
/// Any bits are a value.
pub unsafe trait Plain: Copy {}

// SAFETY: numbers.
unsafe impl Plain for i32 {}
// SAFETY: numbers.
unsafe impl Plain for i64 {}
// SAFETY: numbers.
unsafe impl Plain for usize {}

/// Something that a call makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// Nothing.
    Nothing,
    /// A context, whose handle is stored at this address.
    Context {
        /// Where the handle is.
        handle: Passed,
    },
    /// A group of every `stride`-th member of the one that takes part.
    Strided {
        /// Where the handle is.
        handle: Passed,
        /// First member.
        start: u32,
        /// Distance.
        stride: u32,
        /// Number of members.
        size: u32,
    },
    /// The row of a grid that the caller is in.
    GridRow {
        /// Where the handle is.
        handle: Passed,
        /// Length of a row.
        width: u32,
    },
    /// The column of a grid that the caller is in.
    GridColumn {
        /// Where the handle is.
        handle: Passed,
        /// Length of a row.
        width: u32,
    },
}

impl Facts {
    /// Nothing is known.
    pub const NONE: Self = Self {
        target: u32::MAX,
        bytes: 0,
        address: 0,
        signal: 0,
        context: 0,
        who: Who::Caller,
        root: u32::MAX,
        made: [Made::Nothing; 2],
    };
}

/// What OTF2 calls an atomic operation.
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

/// What OTF2 calls a collective operation, and the bytes that one process sends and receives in it.
pub(crate) fn collective(
    which: Collective,
    bytes: u64,
    size: u64,
    is_root: bool,
) -> (CollectiveOp, u64, u64) {
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
