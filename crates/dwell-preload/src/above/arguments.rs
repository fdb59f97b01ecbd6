//! What the arguments of a call say, from where its row says they are.

use core::ffi::c_int;

use dwell_measure::hook::{Hook, Passed};
use dwell_measure::mpi::Comm;
use dwell_model::layer::Layer;
use dwell_model::operation::Operation;
use dwell_model::table::{Arg, Bytes, CType, Group, Places, Row};

use super::{Words, caf, layout};

/// The arguments of one call.
pub(super) struct Arguments<'a> {
    pub(super) places: &'static Places,
    row: &'static Row,
    layer: Layer,
    words: Words<'a>,
}

impl<'a> Arguments<'a> {
    pub(super) fn of(hook: &Hook, words: Words<'a>) -> Self {
        Self { places: &hook.row.places, row: hook.row, layer: hook.layer, words }
    }

    /// An argument as it came.
    pub(super) fn word(&self, at: Arg) -> usize {
        self.words.get(at.index())
    }

    /// An argument that is an address.
    pub(super) fn passed(&self, at: Arg) -> Passed {
        self.words.passed(at.index())
    }

    fn int(&self, at: Arg) -> c_int {
        self.word(at) as c_int
    }

    /// A number of things; a negative one is none.
    fn count(&self, at: Arg) -> u64 {
        match self.row.arguments.types().get(at.index()) {
            Some(CType::Int) => u64::try_from(self.int(at)).unwrap_or(0),
            Some(CType::Long) => u64::try_from(self.word(at).cast_signed()).unwrap_or(0),
            _ => self.word(at) as u64,
        }
    }

    /// A rank of a communicator. Image 0 is the caller itself.
    fn rank(&self, at: Arg, comm: &Comm) -> Option<u32> {
        if self.layer == Layer::Caf && self.int(at) == 0 {
            return Some(comm.rank);
        }
        let rank = self.int(at).checked_sub(self.places.first_rank.into())?;
        u32::try_from(rank).ok().filter(|rank| *rank < comm.size)
    }

    /// The process that is acted on.
    pub(super) fn target(&self, comm: &Comm) -> Option<u32> {
        self.rank(self.places.target?, comm)
    }

    /// The process that data come from, if they go to another.
    pub(super) fn source(&self, comm: &Comm) -> Option<u32> {
        self.rank(self.places.source?, comm)
    }

    /// The root of a collective, if this one has any: no image has number 0.
    pub(super) fn root(&self) -> Option<u32> {
        let root = self.int(self.places.root?).checked_sub(self.places.first_rank.into())?;
        u32::try_from(root).ok()
    }

    /// What a later call completes an operation by.
    pub(super) fn handle(&self) -> usize {
        self.places.handle.map_or(0, |at| self.word(at))
    }

    /// What the call does, where that is said at run time.
    pub(super) fn operation(&self) -> Operation {
        // An atomic operation of coarrays fetches if there is a place to store to.
        let stores = self.words.get(5) != 0;
        super::said(self.row.operation, stores || self.layer != Layer::Caf)
    }

    /// Whether bytes are known only after the call.
    pub(super) fn is_known_late(&self) -> bool {
        super::is_late(self.row.operation, self.places.bytes)
    }

    /// Whether a call that is collective for most is not for these arguments.
    pub(super) fn is_alone(&self) -> bool {
        let memory = matches!(self.row.operation, Operation::Allocate | Operation::Deallocate);
        memory && self.layer == Layer::Caf && caf::is_component(self.row.operation, self.words)
    }

    /// Where in memory it acts: a number that all processes have for the same place.
    pub(super) fn place(&self) -> Option<u64> {
        let remote = self.word(self.places.remote?);
        self.number(remote)
    }

    fn number(&self, memory: usize) -> Option<u64> {
        let within = self.places.within.map_or(0, |at| self.word(at) as u64);
        match self.layer {
            Layer::Caf => caf::place(memory, within),
            _ => Some(memory as u64),
        }
    }

    /// Where in memory of the target a put tells it.
    pub(super) fn signal(&self) -> Option<u64> {
        self.places.signal.map(|signal| self.word(signal.address) as u64)
    }

    /// The number of a lock.
    pub(super) fn lock(&self) -> Option<u64> {
        let lock = self.word(self.places.lock?);
        self.number(lock)
    }

    /// Whether a lock was obtained, once the call has returned.
    pub(super) fn obtained(&self) -> bool {
        let obtained = self.places.obtained.and_then(|at| self.passed(at).read::<c_int>(0));
        obtained != Some(0)
    }

    /// Gives the partners of a call, as ranks of the world.
    pub(super) fn partners(&self, comm: &Comm, use_them: impl FnOnce(&[u64])) {
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

    /// How many bytes it moves or allocates.
    pub(super) fn bytes(&self) -> u64 {
        // SAFETY: addresses are of descriptors, references and lists as the table says, promised who made the words.
        unsafe {
            match self.places.bytes {
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
