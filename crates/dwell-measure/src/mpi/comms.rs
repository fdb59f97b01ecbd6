//! Communicators and windows behind handles.
//!
//! # Identity
//! At the end of a run the communicators of all processes are compared, and those that are the same must look the same.
//! Members alone do not suffice: a duplicate has the same ones. So each has an identity, which all members compute from
//! what all of them saw, without a message:
//!
//! * most are made by all members of a parent together: the identity of the parent, and a sequence number among the
//!   communicators made from it;
//! * some are made by their own members only: the identity of the parent, these members, the tag, and a sequence number
//!   among the communicators with these.
//!
//! Of handles that were never seen being made only the members are known. All such handles with the same members are
//! taken for one communicator, so that its collectives are counted on.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{OnceLock, RwLock};

use dwell_model::layer::Layer;
use dwell_unify::unify::Group;
use otf2::enums::Paradigm;
use otf2::id::RmaWinRef;

use super::map::Map;
use crate::lock::Lock;
use crate::modulo::Modulo;
use crate::process::Process;

/// A communicator that the program uses. It is never freed, because events and other threads may refer to it after the
/// program has freed its handle.
#[derive(Debug)]
pub struct Comm {
    /// Id of the communicator in events.
    pub(crate) number: u32,
    /// Number of processes that ranks can name: the size of the group, or of the remote group of an inter-communicator.
    pub size: u32,
    /// Rank of this process in the communicator, or in its own group of an inter-communicator.
    pub rank: u32,
    /// Set for an inter-communicator, which connects two groups.
    pub inter: bool,
    identity: u64,
    /// Number of collective operations that this process began on the communicator and on its windows.
    collectives: AtomicU64,
    /// Number of communicators that were made from this one in a call of all its members.
    made: AtomicU64,
    windows: AtomicU64,
    /// Windows of the layers over MPI on this communicator, each made when its layer first needs it.
    pub(super) over_mpi: ByLayer<&'static Window>,
    /// Ranks of the members in `MPI_COMM_WORLD`, by rank in this communicator; `None` if both ranks are equal for all
    /// members.
    ranks: Option<Box<[u64]>>,
    /// Number of pieces of memory that layers over MPI have allocated on it.
    memory: AtomicU64,
    /// Neighbours of this process in the topology, after they were first asked for.
    neighbours: OnceLock<Neighbours>,
}

/// Stands for the rank of a neighbour that is missing at the border of a grid, where MPI has `MPI_PROC_NULL`. No
/// message goes to such a neighbour or comes from it.
pub const NOBODY: u32 = u32::MAX;

/// Neighbours of this process in the topology of a communicator. A neighbourhood collective waits for them and for no
/// other member.
#[derive(Clone, Copy, Debug)]
pub struct Neighbours {
    /// Number of neighbours that send to this process.
    pub sources: u32,
    /// Number of neighbours that receive from this process.
    pub targets: u32,
    /// Id of the group of this process and those that send to it.
    pub(super) group: Option<u32>,
}

/// One value for each layer, made when it is first asked for. Layers never share a value.
#[derive(Debug)]
pub(super) struct ByLayer<T>([OnceLock<T>; Layer::ALL.len()]);

impl<T: Copy> ByLayer<T> {
    const fn new() -> Self {
        Self([const { OnceLock::new() }; Layer::ALL.len()])
    }

    /// Returns the value of a layer, and makes it first if the layer has none.
    pub(super) fn get_or_make(&self, layer: Layer, make: impl FnOnce() -> T) -> T {
        *self.0.modulo(layer as usize).get_or_init(make)
    }
}

impl Comm {
    /// Returns the rank in the world of the member with this rank. Returns `u64::MAX` for a rank that the communicator
    /// does not have.
    pub fn in_world(&self, rank: u32) -> u64 {
        match &self.ranks {
            Some(ranks) => ranks.get(rank as usize).copied().unwrap_or(u64::MAX),
            None => rank.into(),
        }
    }

    /// Returns a number for memory that the members of the communicator have allocated together. All members get the
    /// same number, if they ask in the same order.
    pub fn memory(&self) -> u64 {
        let number = self.memory.fetch_add(1, Ordering::Relaxed);
        // Twelve bits for whose it is, so that those of teams are not mixed up; the rest counts.
        (self.identity & 0xfff) << 15 | number & 0x7fff
    }

    /// Counts a collective operation and returns its sequence number, from 0 on. Collectives on windows that were made
    /// from the communicator count too.
    pub fn collective(&self) -> u64 {
        self.collectives.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the origin of a communicator that all members are making together. Every member must call it for each
    /// such communicator, in the same order.
    pub fn child(&self) -> Origin {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        Origin(mixed(&[self.identity, number]))
    }

    /// Returns the origin of a communicator that only its own members are making, as with `MPI_Comm_create_group`.
    /// `members` are ranks in the world, and `tag` is that of the call.
    pub fn child_of_group(&self, tag: u64, members: &[u64]) -> Origin {
        Origin::of_group(mixed(&[self.identity, tag]), members)
    }

    /// Returns the neighbours of this process in the topology. `ask` is called the first time: it returns the ranks of
    /// those that send to this process, and the number of those that receive from it.
    pub fn neighbours(
        &self,
        process: &Process,
        ask: impl FnOnce() -> (Vec<u32>, u32),
    ) -> Neighbours {
        *self.neighbours.get_or_init(|| {
            let (sources, targets) = ask();
            let known = sources.iter().filter(|rank| **rank < self.size);
            let mut members: Vec<u64> = known.map(|rank| self.in_world(*rank)).collect();
            // A group that contains this process only means that no process sends to it.
            members.push(process.rank().into());
            members.sort_unstable();
            members.dedup();
            let group = process.listed_group(&members);
            Neighbours { sources: sources.len() as u32, targets, group }
        })
    }
}

/// The way in which a communicator was made, as a number that all its members compute alike. It distinguishes duplicates,
/// which have the same members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin(u64);

impl Origin {
    /// Origin of a communicator that existed from the beginning, like `MPI_COMM_WORLD` and `MPI_COMM_SELF`.
    pub const BEGINNING: Self = Self(0);
    /// Origin of a communicator that the recorder did not see being made. Its identity follows from its members alone.
    pub const UNKNOWN: Self = Self(1);

    /// Returns the origin of the next communicator that these members make with this mark. All members must make such
    /// communicators in the same order. Ranks are those of the world.
    pub fn of_group(mark: u64, members: &[u64]) -> Self {
        static COUNTED: Lock<Map<u64>> = Lock::new(Map::new());
        let key = mixed(&[mark, mixed(members)]);
        let number = COUNTED.with(|counted| {
            let number = counted.get(key as usize).unwrap_or(0);
            counted.set(key as usize, number + 1);
            number
        });
        Self(mixed(&[key, number]))
    }

    /// Turns a text, such as the string tag of a communicator from a group, into a mark for
    /// [`of_group`](Self::of_group).
    pub fn mark(text: &[u8]) -> u64 {
        text.iter().fold(17, |mark, byte| mixed(&[mark, u64::from(*byte)]))
    }
}

/// The members of a communicator, as ranks in the world. A hook asks the library for them once, when the communicator
/// is made or first seen.
#[derive(Clone, Debug)]
pub struct Members {
    /// Members of the group of this process, in the order of their ranks.
    pub local: Vec<u64>,
    /// Members of the remote group of an inter-communicator; `None` for all others.
    pub remote: Option<Vec<u64>>,
    /// Rank of this process in its group.
    pub rank: u32,
}

impl Members {
    /// Returns a number that all members compute alike, also on the two sides of an inter-communicator.
    fn identity(&self) -> u64 {
        match &self.remote {
            None => mixed(&[2, mixed(&self.local)]),
            Some(remote) => {
                let (first, second) = (mixed(&self.local), mixed(remote));
                mixed(&[4, first.min(second), first.max(second)])
            }
        }
    }
}

/// Mixes numbers into one.
fn mixed(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0x243f_6a88_85a3_08d3, |mixed, number| {
        let mut next = mixed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        next = (next ^ (next >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        next = (next ^ (next >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        next ^ (next >> 31)
    })
}

/// Origin of the memory of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowMemory {
    /// The call that makes the window allocates it.
    Allocated,
    /// The program passes it, or attaches it later.
    Passed,
}

/// A window of one-sided operations: one that the program made from a communicator, or one of a layer over MPI.
#[derive(Debug)]
pub struct Window {
    /// Id of the window in events.
    pub number: RmaWinRef,
    /// The communicator that the window was made from.
    pub comm: &'static Comm,
    /// Set if the call that made the window also allocated its memory.
    pub allocates: bool,
    /// Unit of displacements in the memory of this process, in bytes. Programs pass the same at all processes.
    pub unit: u64,
    /// Ids of the groups of the open epochs, plus one: the access epoch, and the exposure epoch.
    pub(super) epochs: [AtomicU32; 2],
}

impl Window {
    /// Opens an epoch with a group.
    pub(crate) fn open(&self, exposure: bool, group: u32) {
        self.epochs.modulo(usize::from(exposure)).store(group + 1, Ordering::Relaxed);
    }

    /// Returns the group of the open epoch, and closes the epoch if `end` is set.
    pub(crate) fn group(&self, exposure: bool, end: bool) -> Option<u32> {
        let epoch = self.epochs.modulo(usize::from(exposure));
        let group =
            if end { epoch.swap(0, Ordering::Relaxed) } else { epoch.load(Ordering::Relaxed) };
        group.checked_sub(1)
    }
}

/// Communicators or windows by handle, for all threads.
#[derive(Debug)]
struct Known<T: 'static> {
    map: RwLock<Map<&'static T>>,
    /// Counter that increases when a handle changes its meaning, so that threads can cache what they looked up.
    edition: AtomicU32,
}

impl<T> Known<T> {
    const fn new() -> Self {
        Self { map: RwLock::new(Map::new()), edition: AtomicU32::new(1) }
    }

    fn find(&self, handle: usize) -> Option<&'static T> {
        self.map.read().ok()?.get(handle)
    }

    fn remember(&self, handle: usize, thing: &'static T) {
        if let Ok(mut map) = self.map.write() {
            map.set(handle, thing);
        }
        self.edition.fetch_add(1, Ordering::Release);
    }

    fn forget(&self, handle: usize) -> Option<&'static T> {
        let taken = self.map.write().ok()?.take(handle);
        self.edition.fetch_add(1, Ordering::Release);
        taken
    }
}

static COMMS: Known<Comm> = Known::new();
/// The handle that was remembered last.
static LAST: AtomicUsize = AtomicUsize::new(0);
/// The communicator of all processes, if there is one from the beginning.
static EVERYONE: OnceLock<&'static Comm> = OnceLock::new();
/// Communicators that the recorder did not see being made, by their identity.
static ADOPTED: Lock<Map<&'static Comm>> = Lock::new(Map::new());
static WINDOWS: Known<Window> = Known::new();
/// Communicators that opened files, by the handles of the files.
static FILES: Known<Comm> = Known::new();
/// Numbers of groups, by a hash of their members.
static GROUPS: Lock<Map<u32>> = Lock::new(Map::new());

/// Returns the handle of the communicator that was made last. A layer over MPI that makes a group through MPI finds
/// its communicator here.
pub fn last_made() -> usize {
    LAST.load(Ordering::Relaxed)
}

/// Returns the communicator of all processes, if there is one from the beginning.
pub(super) fn everyone() -> Option<&'static Comm> {
    EVERYONE.get().copied()
}

/// Handles that a thread used lately.
#[derive(Debug)]
pub(super) struct Near<T: 'static> {
    places: [(usize, u32, Option<&'static T>); 16],
}

impl<T> Near<T> {
    pub(super) const fn new() -> Self {
        Self { places: [const { (0, 0, None) }; 16] }
    }

    #[inline(always)]
    fn find(&mut self, all: &Known<T>, handle: usize) -> Option<&'static T> {
        let edition = all.edition.load(Ordering::Acquire);
        let place = self.places.modulo_mut(handle ^ handle >> 4 ^ handle >> 9);
        if place.0 == handle && place.1 == edition {
            return place.2;
        }
        Self::find_again(place, all, handle, edition)
    }

    #[cold]
    #[inline(never)]
    fn find_again(
        place: &mut (usize, u32, Option<&'static T>),
        all: &Known<T>,
        handle: usize,
        edition: u32,
    ) -> Option<&'static T> {
        let found = all.find(handle)?;
        *place = (handle, edition, Some(found));
        Some(found)
    }
}

impl super::thread_state::ThreadState {
    /// Returns the communicator of a handle, or `None` if it is not known.
    #[inline(always)]
    pub(super) fn comm(&mut self, handle: usize) -> Option<&'static Comm> {
        self.comms.find(&COMMS, handle)
    }

    /// Returns the window of a handle, or `None` if it is not known.
    #[inline(always)]
    pub(crate) fn window(&mut self, handle: usize) -> Option<&'static Window> {
        self.windows.find(&WINDOWS, handle)
    }
}

impl Process {
    /// Returns the communicator of a handle, or `None` if the recorder does not know the handle. Hooks that are
    /// recording a call use the faster `comm` of the recorder.
    pub fn comm(&self, handle: usize) -> Option<&'static Comm> {
        COMMS.find(handle)
    }

    /// Returns the MPI window of a handle, or `None` if the recorder does not know the handle.
    pub fn mpi_window(&self, handle: usize) -> Option<&'static Window> {
        WINDOWS.find(handle)
    }

    /// Registers a communicator under its handle and defines it in the archive. `origin` states how it was made, so that
    /// all members give it the same identity.
    pub fn add_comm(
        &self,
        handle: usize,
        origin: Origin,
        members: &Members,
        name: &str,
    ) -> Option<&'static Comm> {
        let alone = members.local.len() == 1 && members.remote.is_none();
        let identity = match origin {
            Origin::UNKNOWN => members.identity(),
            Origin(identity) if alone => mixed(&[3, identity]),
            Origin(identity) => identity,
        };
        if origin == Origin::UNKNOWN
            && let Some(known) = ADOPTED.with(|adopted| adopted.get(identity as usize))
        {
            COMMS.remember(handle, known);
            return Some(known);
        }
        // Each side of one that connects two groups is named by both, so "itself" would not do.
        let (group, remote) = match &members.remote {
            Some(remote) => (self.listed_group(&members.local)?, Some(self.listed_group(remote)?)),
            None => (self.group_number(&members.local)?, None),
        };
        // The two sides of one that connects two groups say the same.
        let (first, second) = match remote {
            Some(remote) if members.remote < Some(members.local.clone()) => (remote, Some(group)),
            remote => (group, remote),
        };
        let comm = Comm {
            number: self.define_comm(first, second, identity, name)?,
            size: members.remote.as_ref().unwrap_or(&members.local).len() as u32,
            rank: members.rank,
            inter: remote.is_some(),
            identity,
            collectives: AtomicU64::new(0),
            made: AtomicU64::new(0),
            windows: AtomicU64::new(0),
            over_mpi: ByLayer::new(),
            ranks: {
                let same = (0..).zip(&members.local).all(|(at, rank): (u64, _)| at == *rank);
                (!same).then(|| members.local.clone().into_boxed_slice())
            },
            memory: AtomicU64::new(0),
            neighbours: OnceLock::new(),
        };
        let comm: &'static Comm = Box::leak(Box::new(comm));
        COMMS.remember(handle, comm);
        LAST.store(handle, Ordering::Relaxed);
        if origin == Origin::UNKNOWN {
            ADOPTED.with(|adopted| adopted.set(identity as usize, comm));
        }
        if origin == Origin::BEGINNING && !alone {
            let _ = EVERYONE.set(comm);
        }
        Some(comm)
    }

    /// Forgets the handle of a communicator that the program frees. The runtime may give the same handle to another
    /// one.
    pub fn forget_comm(&self, handle: usize) {
        COMMS.forget(handle);
    }

    /// Registers a window under its handle and defines it in the archive. All members of `comm` make their windows in
    /// the same order, which gives a window the same number at each of them.
    pub fn add_window(
        &self,
        handle: usize,
        comm: &'static Comm,
        name: &str,
        memory: WindowMemory,
        unit: u64,
    ) -> &'static Window {
        let number = comm.windows.fetch_add(1, Ordering::Relaxed);
        let window: &'static Window = Box::leak(Box::new(Window {
            number: self.define_comm_window(comm.number, number, name),
            comm,
            allocates: memory == WindowMemory::Allocated,
            unit,
            epochs: [const { AtomicU32::new(0) }; 2],
        }));
        WINDOWS.remember(handle, window);
        window
    }

    /// Forgets the handle of a window that the program frees, and returns the window for the records of the call.
    pub fn forget_window(&self, handle: usize) -> Option<&'static Window> {
        WINDOWS.forget(handle)
    }

    /// Registers a file that the members of a communicator have opened, under its handle.
    pub fn add_file(&self, handle: usize, comm: &'static Comm) {
        FILES.remember(handle, comm);
    }

    /// Returns the communicator that opened a file, or `None` if the recorder does not know the handle.
    pub fn file(&self, handle: usize) -> Option<&'static Comm> {
        FILES.find(handle)
    }

    /// Forgets the handle of a file that the program closes, and returns the communicator that opened it.
    pub fn forget_file(&self, handle: usize) -> Option<&'static Comm> {
        FILES.forget(handle)
    }

    /// Returns the id of the group of these members, and defines it if it is new. Members are ranks in the world.
    /// Returns `None` if there is no space to define it.
    pub fn group_number(&self, members: &[u64]) -> Option<u32> {
        if members != [u64::from(self.rank())] {
            return self.listed_group(members);
        }
        self.number_of(&[u64::MAX], || Group::itself(Paradigm::Mpi.into()))
    }

    /// Returns the id of a group by its members, even if this process is the only one.
    fn listed_group(&self, members: &[u64]) -> Option<u32> {
        self.number_of(members, || Group::from_members(Paradigm::Mpi.into(), members))
    }

    fn number_of(&self, key: &[u64], group: impl FnOnce() -> Group) -> Option<u32> {
        let key = mixed(key) as usize;
        if let Some(known) = GROUPS.with(|groups| groups.get(key)) {
            return Some(known);
        }
        let number = self.define_group(&group())?;
        GROUPS.with(|groups| groups.set(key, number));
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_has_a_value_of_its_own() {
        let values = ByLayer::new();
        for round in 0..2 {
            for (number, layer) in (0..).zip(Layer::ALL) {
                let value = values.get_or_make(*layer, || 100 * round + number);
                assert_eq!(value, number, "{layer}");
            }
        }
    }

    #[test]
    fn origins_agree_and_differ() {
        let of = |mark| Origin::of_group(mark, &[1, 2, 3]);
        assert_ne!(of(5), of(5));
        assert_ne!(of(6), of(7));
        assert_ne!(mixed(&[1, 2]), mixed(&[2, 1]));
        assert_ne!(Origin::mark(b"a"), Origin::mark(b"b"));
    }
}
