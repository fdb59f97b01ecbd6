//! Unification of a living run, over the communication that its program uses anyway.
//!
//! In round *k* = 0, 1, 2 … every process that is still in the game and whose bit *k* is set hands
//! all that it has gathered to the process 2^*k* below, and waits. After ⌈log2 P⌉ rounds rank 0 has
//! everything. The answers return along the same edges, the last one first.
//!
//! ```text
//! round 0    0 ← 1   2 ← 3   4 ← 5   6
//! round 1    0 ←———— 2       4 ←———— 6
//! round 2    0 ←———————————— 4
//! ```
//!
//! What a process has gathered is of consecutive ranks, so joining rows keeps them in order, and how
//! many locations stand before a child is known to its parent: the prefix sum needs no message of its
//! own. A parent remembers where the definitions of each child went and sends only that back. The
//! unified definitions themselves are not broadcast.
//!
//! # When something fails
//! Every process does all its sends and receives, whatever happens, for the others would wait forever.
//! A child whose definitions do not arrive, or arrive damaged, is left out with all ranks behind it and
//! is told so; they get an error, the rest of the run is unified without them, and
//! [`Global::missing`] names them.

use std::io;

use otf2::id::LocationRef;

use crate::patience::Patience;

use super::process::{Global, Process, Rows};
use super::shared::{Counts, Maps, Shared};
use super::wire::{Damaged, Input, put, put_bytes};

/// What unification needs from the communication layer of the program.
///
/// Messages have any length; who implements this cuts them up if a layer has a limit. Messages between
/// two processes must arrive in order. At any time a process waits for one message of one process that
/// it names.
pub trait Upcalls {
    /// The number of this process.
    fn rank(&self) -> u64;

    /// The number of processes.
    fn size(&self) -> u64;

    /// Sends bytes to another process. May return before they have arrived, and must not wait for
    /// anything but the receiver.
    ///
    /// # Errors
    /// If the communication layer fails.
    fn send(&mut self, to: u64, bytes: &[u8]) -> io::Result<()>;

    /// Waits for the next message of another process.
    ///
    /// # Errors
    /// If the communication layer fails.
    fn receive(&mut self, from: u64) -> io::Result<Vec<u8>>;

    /// Tells another process a number, as a single message: how long messages take is measured with these. May
    /// return before it has arrived; the next one between the same two goes the other way.
    ///
    /// # Errors
    /// If the communication layer fails.
    fn tell(&mut self, to: u64, number: u64) -> io::Result<()> {
        self.send(to, &number.to_le_bytes())
    }

    /// Waits for the number that another process tells.
    ///
    /// # Errors
    /// If the communication layer fails.
    fn hear(&mut self, from: u64) -> io::Result<u64> {
        let bytes = self.receive(from)?;
        let number =
            bytes.try_into().map_err(|_| io::Error::other("a message that is no number"))?;
        Ok(u64::from_le_bytes(number))
    }

    /// Sets the step that the following messages belong to, and until when they are waited for. A message of another
    /// step is never received. Those who have no deadlines may ignore it.
    fn set_patience(&mut self, _: Patience) {}

    /// Tells the neighbours of this process in the tree that it takes part in nothing any more, so that they stop
    /// waiting for it. Those who have no way to say so may ignore it.
    fn leave(&mut self) {}
}

/// What a process has in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unified {
    /// From the ids of this process to those of the run.
    pub maps: Maps,
    /// The id of its first location. Those of its other threads follow.
    pub first_location: LocationRef,
    /// How many locations the run has.
    pub locations: u64,
    /// How many shared definitions the run has, of all kinds together. No process has more.
    pub definitions: u64,
    /// How many rounds the tree had: ⌈log2 P⌉.
    pub rounds: u32,
    /// What this process did in each of the rounds that it took part in.
    pub traffic: Vec<Round>,
    /// The definitions of the run, at rank 0.
    pub global: Option<Global>,
}

/// One round of one process: bytes on the way up and on the way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Who was at the other end.
    pub peer: u64,
    /// Bytes that this process sent to it.
    pub sent: u64,
    /// Bytes that it received from it.
    pub received: u64,
}

/// How many rounds a tree of so many processes has: ⌈log2 size⌉.
pub fn rounds(size: u64) -> u32 {
    size.max(1).next_power_of_two().trailing_zeros()
}

/// The process above one in the tree; rank 0 has none.
pub fn above(rank: u64) -> Option<u64> {
    rank.checked_sub(1).map(|less| rank & less)
}

/// The processes below one in the tree, the nearest first, as far as there are so many.
pub fn below(rank: u64, size: u64) -> impl DoubleEndedIterator<Item = u64> {
    let levels = if rank == 0 { rounds(size) } else { rank.trailing_zeros() };
    let child = move |level: u32| rank.checked_add(1_u64 << level).filter(|child| *child < size);
    (0..levels).filter_map(child)
}

/// Unifies the definitions of all processes. All must call it, those that recorded nothing too: they
/// give an empty [`Shared`] and a [`Process`] without threads.
///
/// `process.host` is an id of `shared`. `process.rank` is set to the rank that `up` states.
///
/// # Errors
/// If the message to or from the process above fails, or the definitions of this process did not get
/// through. Rank 0 always has a result unless `up` states an impossible rank.
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
    let parent = above(rank);
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
        // A child that cannot be reached is told nothing; this process is none the worse for it.
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

/// Hands everything to the process above and waits for its answer.
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

/// What a process has gathered from consecutive ranks, its own the first of them.
#[derive(Clone, Debug, Default)]
pub struct Node {
    shared: Shared,
    rows: Rows,
}

/// Where the definitions of a child went.
#[derive(Clone, Debug)]
pub struct Child {
    maps: Maps,
    /// How many locations stand before those of the child, counted from the first of its parent.
    before: u64,
}

/// First bytes of every message.
pub const MAGIC: [u8; 4] = *b"dwun";
/// The version of messages that is written, and the only one that is read.
pub const VERSION: u8 = 2;

/// What a message is, in the byte behind the version: the answer that the definitions of a subtree are refused, the
/// answer that they are accepted, or what a subtree has gathered.
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

    /// A process before the first round, and where its definitions went. They are sorted once here, so
    /// that neighbours have them in the same order and differences stay small on the way.
    pub fn leaf(shared: Shared, mut process: Process) -> (Self, Maps) {
        let (shared, maps) = shared.canonical();
        process.host = maps.hosts.apply(process.host);
        (Self { shared, rows: Rows::of(&process) }, maps)
    }

    /// Takes in what the ranks that follow have gathered.
    pub fn take(&mut self, mut next: Self) -> Child {
        let maps = self.shared.merge(&next.shared);
        let before = self.rows.locations();
        next.rows.relink(&maps.hosts);
        self.rows.append(&next.rows);
        Child { maps, before }
    }

    /// The end of the tree: definitions in the order of their content, and the answer to rank 0.
    pub fn finish(self, size: u64) -> (Answer, Global) {
        let Self { shared, mut rows } = self;
        let (shared, maps) = shared.canonical();
        rows.relink(&maps.hosts);
        let definitions = shared.counts().total() as u64;
        let answer = Answer { first_location: 0, locations: rows.locations(), definitions, maps };
        (answer, Global { shared, rows, size })
    }

    /// What it has of each kind.
    pub fn counts(&self) -> Counts {
        self.shared.counts()
    }

    /// The message up the tree: its head; the definitions, with their length; number of processes; of
    /// locations; of runs of hosts, and the runs; the rows.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = head(GATHERED);
        put_bytes(&mut out, &self.shared.encode());
        self.rows.encode(&mut out);
        out
    }

    /// Reads what [`encode`](Self::encode) wrote. The ranks must be in `from .. to`.
    ///
    /// # Errors
    /// Bytes that are something else.
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

/// What comes back down the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    first_location: u64,
    locations: u64,
    definitions: u64,
    maps: Maps,
}

impl Answer {
    /// Where the definitions of the process that got this answer went.
    pub fn maps(&self) -> &Maps {
        &self.maps
    }

    /// The first location of the process that got this answer.
    pub fn first_location(&self) -> LocationRef {
        LocationRef(self.first_location)
    }

    /// What a process that got this answer tells a child.
    #[must_use]
    pub fn of_child(&self, child: &Child) -> Self {
        Self {
            first_location: self.first_location.saturating_add(child.before),
            locations: self.locations,
            definitions: self.definitions,
            maps: child.maps.then(&self.maps),
        }
    }

    /// The message down the tree: its head; first location; number of locations; of definitions; the maps.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = head(ACCEPTED);
        put(&mut out, self.first_location);
        put(&mut out, self.locations);
        put(&mut out, self.definitions);
        self.maps.encode_into(&mut out);
        out
    }

    /// The message to a child that was left out: a head and nothing else.
    pub fn refusal() -> Vec<u8> {
        head(REFUSED)
    }

    /// Reads what [`encode`](Self::encode) wrote for a process with that many definitions.
    ///
    /// # Errors
    /// Bytes that are something else, and a refusal.
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
