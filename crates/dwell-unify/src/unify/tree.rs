//! Unification of a living run, over the communication that its program uses anyway.
//!
//! In round *k* = 0, 1, 2 … every process that still takes part and whose bit *k* is set sends
//! all definitions that it has gathered to the process 2^*k* below, and waits. After ⌈log2 P⌉ rounds rank 0 has
//! everything. The answers return along the same edges, the last one first.
//!
//! ```text
//! round 0    0 ← 1   2 ← 3   4 ← 5   6
//! round 1    0 ←———— 2       4 ←———— 6
//! round 2    0 ←———————————— 4
//! ```
//!
//! A process gathers definitions of consecutive ranks, so joining rows keeps them in order, and a parent
//! knows the number of locations before each child: the prefix sum needs no message of its own. A parent
//! remembers the new ids of the definitions of each child and sends only these back. The unified
//! definitions themselves are not broadcast.
//!
//! # When something fails
//! Every process does all its sends and receives, whatever happens, for the others would wait forever.
//! A child whose definitions do not arrive, or arrive damaged, is left out with all ranks behind it and
//! notified; they get an error, the rest of the run is unified without them, and
//! [`Global::missing`] names them.

use std::io;

use otf2::id::LocationRef;

use crate::deadline::Deadline;

use super::process::{Global, Process, Rows};
use super::shared::{Counts, Maps, Shared};
use super::wire::{Damaged, Input, put, put_bytes};

/// Communication between the processes of a run, as unification, collation and the comparison of clocks need it. The
/// recorder implements it for each runtime; tests implement it with threads.
///
/// Messages have any length: an implementation cuts them up if its runtime has a limit. Messages between two processes
/// must arrive in order. At any time a process waits for one message from one process that it names.
pub trait Upcalls {
    /// Returns the rank of this process, counted from 0.
    fn rank(&self) -> u64;

    /// Returns the number of processes that take part.
    fn size(&self) -> u64;

    /// Sends bytes to the process of rank `to`. May return before they have arrived, and must not wait for anything but
    /// the receiver, because the caller counts on the order of the tree to avoid a deadlock.
    ///
    /// # Errors
    /// If the communication layer fails.
    fn send(&mut self, to: u64, bytes: &[u8]) -> io::Result<()>;

    /// Waits for the next message from the process of rank `from` and returns its bytes.
    ///
    /// # Errors
    /// If the communication layer fails, or if the deadline of [`set_deadline`](Self::set_deadline) passes.
    fn receive(&mut self, from: u64) -> io::Result<Vec<u8>>;

    /// Sends a number to the process of rank `to` as a single message. The comparison of clocks measures round trips
    /// with these, so an implementation should make them as fast as it can. May return before the number has arrived;
    /// the next number between the same two processes goes the other way.
    ///
    /// # Errors
    /// If the communication layer fails.
    fn tell(&mut self, to: u64, number: u64) -> io::Result<()> {
        self.send(to, &number.to_le_bytes())
    }

    /// Waits for the number that the process of rank `from` sends with [`tell`](Self::tell).
    ///
    /// # Errors
    /// If the communication layer fails, or if the message is not a number.
    fn hear(&mut self, from: u64) -> io::Result<u64> {
        let bytes = self.receive(from)?;
        let number =
            bytes.try_into().map_err(|_| io::Error::other("a message that is no number"))?;
        Ok(u64::from_le_bytes(number))
    }

    /// Sets the step that the following messages belong to, and the deadline until which this process waits for them. A
    /// message of another step must never be received. Implementations without deadlines may ignore the call.
    fn set_deadline(&mut self, _: Deadline) {}

    /// Tells the neighbours of this process in the tree that it takes part in no further step, so that they stop
    /// waiting for it. Implementations that cannot tell them may ignore the call.
    fn leave(&mut self) {}
}

/// Result of [`unify`] at one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unified {
    /// Maps from the ids of this process to those of the run.
    pub maps: Maps,
    /// Id of the first location of this process. The ids of its other threads follow.
    pub first_location: LocationRef,
    /// Number of locations of the whole run.
    pub locations: u64,
    /// Number of shared definitions of the run, of all kinds together. No single process has more.
    pub definitions: u64,
    /// Number of rounds of the tree, ⌈log2 P⌉ for P processes.
    pub rounds: u32,
    /// Bytes that this process exchanged, for each round in which it took part.
    pub traffic: Vec<Round>,
    /// The definitions of the run; `Some` at rank 0 only.
    pub global: Option<Global>,
}

/// Bytes that one process exchanged with a peer in one round of a tree, on the way up and on the way down. Measurements
/// of the cost of unification and collation use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Rank of the process at the other end.
    pub peer: u64,
    /// Bytes that this process sent to the peer; 0 if sending failed.
    pub sent: u64,
    /// Bytes that this process received from the peer; 0 if nothing arrived.
    pub received: u64,
}

/// Returns the number of rounds of a tree over `size` processes, ⌈log2 size⌉. It is 0 for one process, and for none.
pub fn rounds(size: u64) -> u32 {
    size.max(1).next_power_of_two().trailing_zeros()
}

/// Returns the parent of a process in the tree: its rank with the lowest set bit cleared. Rank 0 is the root and has
/// none.
pub fn parent(rank: u64) -> Option<u64> {
    rank.checked_sub(1).map(|less| rank & less)
}

/// Returns the children of a process in the tree of `size` processes, the nearest first. This is the order in which
/// they send their definitions; answers go out in reverse.
pub fn below(rank: u64, size: u64) -> impl DoubleEndedIterator<Item = u64> {
    let levels = if rank == 0 { rounds(size) } else { rank.trailing_zeros() };
    let child = move |level: u32| rank.checked_add(1_u64 << level).filter(|child| *child < size);
    (0..levels).filter_map(child)
}

/// Unifies the definitions of all processes of a run. All processes must call it. One that recorded nothing passes an
/// empty [`Shared`] and a [`Process`] without threads.
///
/// `process.host` is an id of `shared`. `process.rank` is replaced by the rank that `up` states.
///
/// # Errors
/// If the message to or from the parent in the tree fails, or if the parent refuses the definitions of this process
/// because they arrived damaged or not at all. Rank 0 always has a result unless `up` states a rank that is not below
/// the size.
pub fn unify(up: &mut impl Upcalls, shared: Shared, process: Process) -> io::Result<Unified> {
    let (rank, size) = (up.rank(), up.size());
    if rank >= size {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("process {rank} of {size} processes"),
        ));
    }
    let (mut node, local) = Node::leaf(shared, Process { rank, ..process });
    let mut traffic = Vec::new();
    let mut children = Vec::new();
    let parent = parent(rank);
    for peer in below(rank, size) {
        let end = peer.saturating_add(peer - rank).min(size);
        let message = up.receive(peer);
        let received = message.as_ref().map_or(0, |bytes| bytes.len() as u64);
        traffic.push(Round { peer, sent: 0, received });
        children.push(match message {
            Ok(bytes) => Node::decode(&bytes, peer, end).ok().map(|child| node.take(child)),
            Err(_) => None,
        });
    }

    let (answer, global) = match parent {
        None => {
            let (answer, global) = node.finish(size);
            (Ok(answer), Some(global))
        }
        Some(peer) => {
            let (answer, round) = ask(up, peer, &node);
            traffic.push(round);
            (answer, None)
        }
    };

    // The child of the last round has the most to pass on.
    for (child, round) in children.iter().zip(&mut traffic).rev() {
        let bytes = match (child, &answer) {
            (Some(child), Ok(answer)) => answer.of_child(child).encode(),
            _ => Answer::refusal(),
        };
        // A child that cannot be reached gets no message, which does not affect this process.
        if up.send(round.peer, &bytes).is_ok() {
            round.sent = bytes.len() as u64;
        }
    }

    let answer = answer?;
    Ok(Unified {
        maps: local.then(&answer.maps),
        first_location: LocationRef(answer.first_location),
        locations: answer.locations,
        definitions: answer.definitions,
        rounds: rounds(size),
        traffic,
        global,
    })
}

/// Sends everything gathered to the parent and waits for its answer.
fn ask(up: &mut impl Upcalls, peer: u64, node: &Node) -> (io::Result<Answer>, Round) {
    let bytes = node.encode();
    let sent = up.send(peer, &bytes);
    // Even if it could not be sent: the process above will answer, that nothing came.
    let received = up.receive(peer);
    let round = Round {
        peer,
        sent: if sent.is_ok() { bytes.len() as u64 } else { 0 },
        received: received.as_ref().map_or(0, |bytes| bytes.len() as u64),
    };
    let answer = sent.and(received).and_then(|bytes| Answer::decode(&bytes, &node.counts()));
    (answer, round)
}

/// Definitions that a process has gathered from consecutive ranks, of which its own is the first.
#[derive(Clone, Debug, Default)]
pub struct Node {
    shared: Shared,
    rows: Rows,
}

/// A parent's record of one child: where the definitions of the child went, and where its locations begin. The parent
/// needs it to make the answer to the child.
#[derive(Clone, Debug)]
pub struct Child {
    maps: Maps,
    /// Number of locations between the first location of the parent and the first of the child.
    before: u64,
}

/// First four bytes of every message of the tree. Messages that begin with others are damaged.
pub const MAGIC: [u8; 4] = *b"dwun";
/// Version of the messages that are written, and the only one that is read. It must be raised when the layout changes.
pub const VERSION: u8 = 5;

/// Kinds of messages, in the byte after the version: the parent refuses the definitions of a subtree, the parent
/// accepts them, or a subtree sends its definitions.
const REFUSED: u8 = 0;
const ACCEPTED: u8 = 1;
const GATHERED: u8 = 2;

/// The beginning of a message: magic number, version and kind.
fn head(kind: u8) -> Vec<u8> {
    [MAGIC.as_slice(), &[VERSION, kind]].concat()
}

/// Reads what [`head`] wrote and returns the kind.
fn read_head(input: &mut Input<'_>) -> Result<u8, Damaged> {
    for (offset, wanted) in MAGIC.into_iter().enumerate() {
        if input.byte("magic number")? != wanted {
            return Err(Damaged { what: "magic number", offset });
        }
    }
    if input.byte("version")? != VERSION {
        return Err(Damaged { what: "known version", offset: MAGIC.len() });
    }
    input.byte("kind of message")
}

impl Node {
    pub(super) fn new(shared: Shared, rows: Rows) -> Self {
        Self { shared, rows }
    }

    /// Makes the node of a process before the first round, and the maps from its ids to those of the node. The
    /// definitions are sorted once here, so that neighbours have them in the same order and differences in messages
    /// stay small.
    pub fn leaf(shared: Shared, mut process: Process) -> (Self, Maps) {
        let (shared, maps) = shared.canonical();
        process.host = maps.hosts.apply(process.host);
        (Self { shared, rows: Rows::of(&process) }, maps)
    }

    /// Merges the node of the ranks that follow, and returns the record from which [`Answer::of_child`] makes the
    /// answer to the process that sent it.
    pub fn take(&mut self, mut next: Self) -> Child {
        let maps = self.shared.merge(&next.shared);
        let before = self.rows.locations();
        next.rows.relink(&maps.hosts);
        self.rows.append(&next.rows);
        Child { maps, before }
    }

    /// Ends the tree at rank 0: sorts the definitions by content, and returns the answer for rank 0 itself and the
    /// definitions of the run. `size` is the number of processes of the run, those whose definitions are missing
    /// included.
    pub fn finish(self, size: u64) -> (Answer, Global) {
        let Self { shared, mut rows } = self;
        let (shared, maps) = shared.canonical();
        rows.relink(&maps.hosts);
        let definitions = shared.counts().total() as u64;
        let answer = Answer { first_location: 0, locations: rows.locations(), definitions, maps };
        (answer, Global { shared, rows, size })
    }

    /// Returns the number of definitions of each kind that the node has gathered.
    pub fn counts(&self) -> Counts {
        self.shared.counts()
    }

    /// Encodes the message to the parent: its head; the definitions, after their length; the numbers of processes, of
    /// locations and of runs of hosts; the runs; the rows. The [module](super) has the layout as a table.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = head(GATHERED);
        put_bytes(&mut out, &self.shared.encode());
        self.rows.encode(&mut out);
        out
    }

    /// Reads a message that [`encode`](Self::encode) wrote. The ranks in it must ascend within `from .. to`, the
    /// subtree of the sender.
    ///
    /// # Errors
    /// If the bytes are not such a message, or contain ranks outside the subtree.
    pub fn decode(bytes: &[u8], from: u64, to: u64) -> Result<Self, Damaged> {
        let mut input = Input::new(bytes);
        if read_head(&mut input)? != GATHERED {
            return Err(Damaged { what: "definitions of a subtree", offset: MAGIC.len() + 1 });
        }
        let shared = Shared::decode(input.bytes("definitions")?)?;
        let rows = Rows::decode(&mut input, shared.hosts().len())?;
        rows.check(from, to)?;
        Ok(Self { shared, rows })
    }
}

/// The answer that a process gets from its parent in the tree: the place of its definitions and locations in the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    first_location: u64,
    locations: u64,
    definitions: u64,
    maps: Maps,
}

impl Answer {
    /// Returns the maps from the definitions of the node that got this answer to those of the run.
    pub fn maps(&self) -> &Maps {
        &self.maps
    }

    /// Returns the first location of the process that got this answer.
    pub fn first_location(&self) -> LocationRef {
        LocationRef(self.first_location)
    }

    /// Makes the answer that a process sends to one of its children, from the answer that the process got itself and
    /// its record of the child.
    #[must_use]
    pub fn of_child(&self, child: &Child) -> Self {
        Self {
            first_location: self.first_location.saturating_add(child.before),
            locations: self.locations,
            definitions: self.definitions,
            maps: child.maps.then(&self.maps),
        }
    }

    /// Encodes the message to a child: its head, the first location, the numbers of locations and of definitions, and
    /// the maps.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = head(ACCEPTED);
        put(&mut out, self.first_location);
        put(&mut out, self.locations);
        put(&mut out, self.definitions);
        self.maps.encode_into(&mut out);
        out
    }

    /// Makes the message to a child whose definitions were left out: a head and nothing else.
    pub fn refusal() -> Vec<u8> {
        head(REFUSED)
    }

    /// Reads a message that [`encode`](Self::encode) wrote for a process with `counts` definitions.
    ///
    /// # Errors
    /// If the message is a refusal, or if the bytes are not an answer for that number of definitions.
    pub fn decode(bytes: &[u8], counts: &Counts) -> io::Result<Self> {
        let mut input = Input::new(bytes);
        match read_head(&mut input)? {
            ACCEPTED => {}
            REFUSED if bytes.len() == MAGIC.len() + 2 => {
                return Err(io::Error::other(
                    "the definitions of this process did not get through",
                ));
            }
            _ => return Err(Damaged { what: "answer", offset: MAGIC.len() + 1 }.into()),
        }
        let first_location = input.number("first location")?;
        let locations = input.number("number of locations")?;
        let definitions = input.number("number of definitions")?;
        let maps = Maps::decode_from(&mut input, counts)?;
        input.end()?;
        Ok(Self { first_location, locations, definitions, maps })
    }
}
