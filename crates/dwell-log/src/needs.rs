//! Needs of the calls of a location, whether they waited for them or not: the members of collectives, the targets of
//! operations, and locks.
//!
//! Waits show what delayed a call in the recorded run. A prediction of another run must know as well what would have
//! delayed it otherwise. Messages, signals and other events that are matched like messages are [edges](crate::edge::Kind::Early),
//! because their other end is known to the analysis alone.

use std::io;
use std::sync::Arc;

use dwell_model::varint::{fold, take, unfold};
use dwell_trace::ids::{ContextNumber, Ordinal, ProcessNumber};
use dwell_trace::locks::{LockKey, LockMode, LockOwner};
use dwell_trace::shape::CollectiveShape;
use dwell_trace::time::Duration;
use otf2::id::RmaWinRef;

use crate::blocks::Blocks;
use crate::class::Class;
use crate::scratch::Scratch;

/// Something that a call needed from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The members of a collective, or its root.
    Collective {
        /// Group of processes that the collective belongs to.
        context: ContextNumber,
        /// Sequence number in the context, by which the members are matched.
        sequence: u64,
        /// Shape, which says which members the call waits for.
        shape: CollectiveShape,
        /// Root, if the collective has one and its process is known.
        root: Option<ProcessNumber>,
    },
    /// The target of an operation that the call completed. `age` is how long before the enter of the call the operation
    /// began. `bytes` are those that the operation moved; more than 4 GiB count as 4 GiB.
    Target {
        /// Process that the operation acts on.
        process: ProcessNumber,
        /// Class by which the progress of the operation is judged.
        class: Class,
        /// Bytes that the operation moved, at most 4 GiB.
        bytes: u32,
        /// Time from the begin of the operation to the enter of the call; 0 if it began in the call.
        age: Duration,
    },
    /// A lock that the call acquired.
    Acquire {
        /// Window, owner and number of the lock.
        key: LockKey,
        /// Mode in which the process holds the lock from then on.
        mode: LockMode,
    },
    /// A lock that the call released, which others need.
    Release {
        /// Window, owner and number of the lock.
        key: LockKey,
    },
}

/// A need, and the place of its call among the judged calls of the location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeedOfCall {
    /// Place of the call among the judged calls of the location, counted from 0.
    pub call: u64,
    /// Members, target or lock that the call needed.
    pub need: Need,
}

/// Number of kinds of needs. The number of a kind is that of its place in [`Need`]; the mode of a lock makes two of one.
const KINDS: u64 = 5;
const COLLECTIVE: u64 = 0;
const TARGET: u64 = 1;
const SHARED: u64 = 2;
const EXCLUSIVE: u64 = 3;
const RELEASE: u64 = 4;

/// Needs of a location while its events are read.
#[derive(Debug)]
pub struct Needs {
    blocks: Blocks,
    /// Call of the last need in the block.
    call: u64,
    /// Classes with numbers of bytes, and locks in the block, in the order of their first occurrence.
    classes: Vec<(Class, u32)>,
    locks: Vec<LockKey>,
}

impl Needs {
    /// Creates an empty list. Full blocks go to the scratch file.
    pub fn new(scratch: Arc<Scratch>) -> Self {
        let (classes, locks) = (Vec::new(), Vec::new());
        Self { blocks: Blocks::new(scratch), call: 0, classes, locks }
    }

    /// Adds something that a call of a process needed.
    #[inline(never)]
    pub fn add(&mut self, call: u64, me: ProcessNumber, need: Need) {
        if self.blocks.is_closed() {
            self.blocks.open();
            self.call = 0;
            self.classes.clear();
            self.locks.clear();
        }
        self.blocks.put(call - self.call);
        self.call = call;
        let process = |it: ProcessNumber| fold(i64::from(it.0) - i64::from(me.0));
        match need {
            Need::Collective { context, sequence, shape, root } => {
                self.blocks.put(COLLECTIVE + KINDS * shape as u64);
                self.blocks.put(context.0.into());
                self.blocks.put(sequence);
                self.blocks.put(root.map_or(0, |it| process(it) + 1));
            }
            Need::Target { process: target, class, bytes, age } => {
                let (place, is_new) = place(&mut self.classes, (class, bytes));
                self.blocks.put(TARGET + KINDS * place);
                if is_new {
                    self.blocks.put(class.0.into());
                    self.blocks.put(bytes.into());
                }
                self.blocks.put(process(target));
                self.blocks.put(age.0);
            }
            Need::Acquire { key, mode } => {
                let kind = if mode == LockMode::Shared { SHARED } else { EXCLUSIVE };
                self.lock(kind, key);
            }
            Need::Release { key } => self.lock(RELEASE, key),
        }
        self.blocks.end_record();
    }

    fn lock(&mut self, kind: u64, key: LockKey) {
        let (place, is_new) = place(&mut self.locks, key);
        self.blocks.put(kind + KINDS * place);
        if is_new {
            self.blocks.put(key.window.0.into());
            self.blocks.put(match key.owner {
                LockOwner::All => 0,
                LockOwner::Process(it) => u64::from(it.0) + 1,
            });
            self.blocks.put(key.lock);
        }
    }

    /// Closes the last block, and returns the size of all blocks in bytes.
    pub fn finish(&mut self) -> u64 {
        self.blocks.finish()
    }

    /// Copies all blocks in their order.
    ///
    /// # Errors
    /// Returns an error if they cannot be read or written.
    pub fn copy(&self, to: &mut impl io::Write) -> io::Result<()> {
        self.blocks.copy(to)
    }

    /// Returns the memory in bytes that the open block takes.
    pub fn bytes(&self) -> usize {
        let lists = self.classes.capacity() * size_of::<(Class, u32)>();
        self.blocks.bytes() + lists + self.locks.capacity() * size_of::<LockKey>()
    }
}

/// Number of elements of a block that are compared with a new one. Older ones are written again.
const RECENT: usize = 64;

/// Returns the place of an element in a list of the elements of a block, and whether it is new.
fn place<T: PartialEq>(list: &mut Vec<T>, element: T) -> (u64, bool) {
    let older = list.len().saturating_sub(RECENT);
    let recent = list.get(older..).unwrap_or_default();
    if let Some(place) = recent.iter().position(|it| *it == element) {
        return ((older + place) as u64, false);
    }
    list.push(element);
    (list.len() as u64 - 1, true)
}

/// Takes all needs of a block. Returns `None` if its numbers make no sense.
pub fn take_block(bytes: &mut &[u8], me: ProcessNumber, list: &mut Vec<NeedOfCall>) -> Option<()> {
    let (mut call, mut classes, mut locks) = (0_u64, Vec::new(), Vec::new());
    while !bytes.is_empty() {
        call = call.checked_add(take(bytes)?)?;
        let head = take(bytes)?;
        let place = usize::try_from(head / KINDS).ok()?;
        let process = |number: u64| {
            let process = i64::from(me.0).checked_add(unfold(number))?;
            Some(ProcessNumber(u32::try_from(process).ok()?))
        };
        let need = match head % KINDS {
            COLLECTIVE => {
                let shape = *CollectiveShape::ALL.get(place)?;
                let context = ContextNumber(u32::try_from(take(bytes)?).ok()?);
                let sequence = take(bytes)?;
                let root = match take(bytes)? {
                    0 => None,
                    some => Some(process(some - 1)?),
                };
                Need::Collective { context, sequence, shape, root }
            }
            TARGET => {
                if place == classes.len() {
                    let class = Class(u32::try_from(take(bytes)?).ok()?);
                    classes.push((class, u32::try_from(take(bytes)?).ok()?));
                }
                let (class, moved) = *classes.get(place)?;
                let process = process(take(bytes)?)?;
                Need::Target { process, class, bytes: moved, age: Duration(take(bytes)?) }
            }
            kind => {
                if place == locks.len() {
                    let window = RmaWinRef(u32::try_from(take(bytes)?).ok()?);
                    let owner = match take(bytes)? {
                        0 => LockOwner::All,
                        some => LockOwner::Process(Ordinal::of(u32::try_from(some - 1).ok()?)),
                    };
                    locks.push(LockKey { window, owner, lock: take(bytes)? });
                }
                let key = *locks.get(place)?;
                match kind {
                    SHARED => Need::Acquire { key, mode: LockMode::Shared },
                    EXCLUSIVE => Need::Acquire { key, mode: LockMode::Exclusive },
                    _ => Need::Release { key },
                }
            }
        };
        list.push(NeedOfCall { call, need });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block;

    #[test]
    fn needs_come_back_as_they_were() {
        let directory = tempfile::tempdir().unwrap();
        let scratch = Arc::new(Scratch::new(directory.path()).unwrap());
        let me = ProcessNumber(5);
        let key = |lock, owner| LockKey { window: RmaWinRef(3), owner, lock };
        let of_one = key(7, LockOwner::Process(ProcessNumber(2)));
        let of_all = key(9, LockOwner::All);
        let kinds = |number: u64| match number % 6 {
            0 => Need::Collective {
                context: ContextNumber(number as u32),
                sequence: number * 3,
                shape: *CollectiveShape::ALL
                    .get(number as usize % CollectiveShape::ALL.len())
                    .unwrap(),
                root: number.is_multiple_of(4).then_some(ProcessNumber(number as u32)),
            },
            1 | 2 => Need::Target {
                process: ProcessNumber(number as u32 / 2),
                class: Class(number as u32 % 8 + 70_000),
                bytes: number as u32 % 100 * 1_000_000,
                age: Duration(number % 3 * 1000),
            },
            3 => Need::Acquire { key: of_one, mode: LockMode::Shared },
            4 => Need::Acquire { key: of_all, mode: LockMode::Exclusive },
            _ => Need::Release { key: if number.is_multiple_of(2) { of_one } else { of_all } },
        };
        let written: Vec<NeedOfCall> = (0..2000)
            .map(|number| NeedOfCall { call: number * number / 7, need: kinds(number) })
            .collect();
        let mut needs = Needs::new(scratch);
        written.iter().for_each(|it| needs.add(it.call, me, it.need));
        let size = needs.finish();
        let mut bytes = Vec::new();
        needs.copy(&mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, size);
        let mut blocks = Vec::new();
        let mut end = bytes.len();
        while end > 0 {
            let tail = bytes[end - block::TAIL..end].try_into().unwrap();
            let begin = end - block::TAIL - block::tail(tail).0 as usize;
            blocks.push(&bytes[begin..end - block::TAIL]);
            end = begin;
        }
        assert!(blocks.len() > 2);
        let mut found = Vec::new();
        for mut block in blocks.into_iter().rev() {
            take_block(&mut block, me, &mut found).unwrap();
        }
        assert_eq!(found, written);
    }
}
