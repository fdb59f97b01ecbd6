//! Reads the arguments of a call at the places that its row points out.

use core::ffi::c_int;

use dwell_measure::hook::{self, Hook, Passed};
use dwell_measure::mpi::{Comm, Rank};
use dwell_measure::word::Seen;
use dwell_model::archive::SMALL;
use dwell_model::layer::Layer;
use dwell_model::operation::{Atomic, Operation};
use dwell_model::table::{Arg, Bytes, CType, Group, Places, Row};

use super::{Runtime, Words, layout};

/// Arguments of one call, together with the row of the function.
pub(crate) struct Arguments<'a> {
    pub(crate) places: &'static Places,
    pub(super) row: &'static Row,
    pub(crate) runtime: &'static Runtime,
    pub(super) layer: Layer,
    words: Words<'a>,
}

impl<'a> Arguments<'a> {
    pub(crate) fn of(runtime: &'static Runtime, hook: &Hook, words: Words<'a>) -> Self {
        Self { places: &hook.row.places, row: hook.row, runtime, layer: hook.layer, words }
    }

    /// Returns an argument as the program passed it.
    pub(crate) fn word(&self, at: Arg) -> usize {
        self.words.get(at.index())
    }

    /// Returns an argument that is an address in the program.
    pub(crate) fn passed(&self, at: Arg) -> Passed {
        self.words.passed(at.index())
    }

    fn int(&self, at: Arg) -> c_int {
        self.word(at) as c_int
    }

    /// Returns a count; a negative one becomes 0.
    fn count(&self, at: Arg) -> u64 {
        match self.row.arguments.types().get(at.index()) {
            Some(CType::Int) => u64::try_from(self.int(at)).unwrap_or(0),
            Some(CType::Long) => u64::try_from(self.word(at).cast_signed()).unwrap_or(0),
            _ => self.word(at) as u64,
        }
    }

    /// Returns a rank in a communicator, or `None` if it is out of range. Where ranks count from 1, rank 0 means the
    /// calling process.
    fn rank(&self, at: Arg, comm: &Comm) -> Option<Rank> {
        if self.places.first_rank > 0 && self.int(at) == 0 {
            return Some(Rank(comm.rank));
        }
        let rank = self.int(at).checked_sub(self.places.first_rank.into())?;
        u32::try_from(rank).ok().filter(|rank| *rank < comm.size).map(Rank)
    }

    /// Returns the rank of the target of an operation.
    pub(crate) fn target(&self, comm: &Comm) -> Option<Rank> {
        self.rank(self.places.target?, comm)
    }

    /// Returns the rank from which data are fetched, for calls that put them to another process.
    pub(crate) fn source(&self, comm: &Comm) -> Option<Rank> {
        self.rank(self.places.source?, comm)
    }

    /// Returns the root of a collective, or `None` if it has none. Image numbers start at 1, so image 0 means no root.
    pub(crate) fn root(&self) -> Option<u32> {
        let root = self.int(self.places.root?).checked_sub(self.places.first_rank.into())?;
        u32::try_from(root).ok()
    }

    /// Returns the handle by which a later call completes the operation, or 0 if there is none.
    pub(crate) fn handle(&self) -> usize {
        self.places.handle.map_or(0, |at| self.word(at))
    }

    /// Returns the operation of the call. An atomic operation that may fetch does so if the program passes an address
    /// for the former value.
    pub(crate) fn operation(&self) -> Operation {
        let fetches = self.places.former.is_none_or(|at| self.word(at) != 0);
        super::said(self.row.operation, fetches)
    }

    /// Returns `true` if the number of bytes is known only after the call.
    pub(crate) fn is_known_late(&self) -> bool {
        super::is_late(self.row.operation, self.places.bytes)
    }

    /// Returns `true` if the arguments make a call local that is collective for other arguments.
    pub(crate) fn is_alone(&self) -> bool {
        let memory = matches!(self.row.operation, Operation::Allocate | Operation::Deallocate);
        memory && (self.runtime.is_alone)(self.row.operation, self.words)
    }

    /// Returns a number for the memory that the call accesses. All processes have the same number for the same memory.
    pub(crate) fn place(&self) -> Option<u64> {
        let remote = self.word(self.places.remote?);
        self.number(remote)
    }

    /// Returns the place in memory that an operation changes, for operations that are small enough to be what another process
    /// waits for.
    pub(super) fn changed(&self) -> Option<u64> {
        let reads = match self.operation() {
            Operation::Get | Operation::Atomic(Atomic::Fetch) => true,
            _ => self.added() == Some(0),
        };
        if reads || self.bytes() > SMALL { None } else { self.place() }
    }

    /// Returns what an `ARMCI_Rmw` adds: operations 0 and 1 add the fourth argument. `None` if it swaps, and for other calls.
    fn added(&self) -> Option<c_int> {
        match self.places.bytes {
            Bytes::IntOrLong(which) if self.int(which) < 2 => Some(self.int(Arg(which.0 + 3))),
            _ => None,
        }
    }

    /// Returns `true` for an `ARMCI_Rmw` that does not only read.
    pub(super) fn adds_something(&self) -> bool {
        self.added().is_some_and(|number| number != 0)
    }

    fn number(&self, memory: usize) -> Option<u64> {
        let within = self.places.within.map_or(0, |at| self.word(at) as u64);
        // Locks and events are counted. Each takes a word at most.
        let unit = match self.row.operation {
            Operation::Put | Operation::Get | Operation::Atomic(_) => 1,
            _ => 8,
        };
        (self.runtime.place)(memory, within.saturating_mul(unit))
    }

    /// Returns the value that the call has stored in the argument `at`: at its address, or in the array whose descriptor is
    /// there.
    pub(super) fn received(&self, at: Arg) -> Seen {
        let stored = self.passed(at);
        if !matches!(self.places.bytes, Bytes::Section { .. }) {
            return stored.word(hook::Bytes(self.bytes()));
        }
        // SAFETY: the argument is a descriptor, as the bytes of the call are those of another one.
        let bytes = unsafe { layout::section(stored.address(), 0) };
        let array = stored.read::<usize>(0).unwrap_or(0);
        // SAFETY: a descriptor begins with the address of its array, into which the call has fetched.
        unsafe { Passed::new(array) }.word(hook::Bytes(bytes))
    }

    /// Returns the address of the signal that a put sets at its target.
    pub(crate) fn signal(&self) -> Option<u64> {
        self.places.signal.map(|signal| self.word(signal.address) as u64)
    }

    /// Returns the number of the lock, which is the same on all processes.
    pub(crate) fn lock(&self) -> Option<u64> {
        let lock = self.word(self.places.lock?);
        self.number(lock)
    }

    /// Returns `true` if the lock was obtained. The call must have returned.
    pub(crate) fn obtained(&self) -> bool {
        let obtained = self.places.obtained.and_then(|at| self.passed(at).read::<c_int>(0));
        obtained != Some(0)
    }

    /// Passes the ranks in the world of the listed partners of a call to `use_them`, in ascending order. A negative
    /// count means all members of the communicator.
    pub(crate) fn partners(&self, comm: &Comm, use_them: impl FnOnce(&[u64])) {
        let Group::Listed { count, list } = self.places.group else { return };
        let (count, list) = (self.int(count), self.passed(list));
        if count < 0 {
            let all: Vec<u64> = (0..comm.size).map(|rank| comm.in_world(rank)).collect();
            return use_them(&all);
        }
        let count = usize::try_from(count).unwrap_or(0).min(comm.size as usize);
        if count == 0 || list == Passed::NULL {
            return;
        }
        let first = c_int::from(self.places.first_rank);
        let mut members: Vec<u64> = (0..count)
            .filter_map(|at| list.read::<c_int>(at)?.checked_sub(first))
            .filter_map(|rank| u32::try_from(rank).ok())
            .map(|rank| comm.in_world(rank))
            .collect();
        // Sets are the same group, whatever their order.
        members.sort_unstable();
        members.dedup();
        use_them(&members);
    }

    /// Returns the number of bytes that the call transfers or allocates.
    pub(crate) fn bytes(&self) -> u64 {
        self.size(self.places.bytes)
    }

    /// Returns the number of bytes that the call fetches from one process and puts to another, in the type that they have
    /// at the first.
    pub(crate) fn fetched(&self) -> u64 {
        match self.places.received {
            Bytes::None => self.bytes(),
            bytes => self.size(bytes),
        }
    }

    fn size(&self, bytes: Bytes) -> u64 {
        // SAFETY: addresses point to descriptors, references and lists as the table says: `Words::new` requires it.
        unsafe {
            match bytes {
                Bytes::Section { descriptor, vector } => {
                    let vector = vector.map_or(0, |at| self.word(at));
                    layout::section(self.word(descriptor), vector)
                }
                Bytes::Reference { chain, descriptor } => {
                    layout::referenced(self.word(chain), descriptor.map_or(0, |at| self.word(at)))
                }
                Bytes::Block { counts, levels } => {
                    layout::block(self.word(counts), self.int(levels))
                }
                Bytes::Vectors { list, length } => {
                    layout::vectors(self.word(list), self.int(length))
                }
                bytes => bytes.of(|at| self.count(at)),
            }
        }
    }
}
