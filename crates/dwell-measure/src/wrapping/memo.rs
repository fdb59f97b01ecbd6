//! Words of the stack by which a thread knows a call that it has walked the stack for before.
//!
//! A walk begins with a return address, the stack pointer and perhaps the frame pointer, and depends on nothing else but
//! the words that it reads: if these are the same, it ends where it ended before. So an entry has them, and the result.
//! Frame pointers that no rule counts from are left out, since compilers use the register for other things.
#![allow(unsafe_code)] // Entries are in memory of a mapping, which is made with the first of them.

use crate::arch::Place;
use crate::memory::Memory;
use crate::unwind::Stack;

/// Words of the stack that an entry has room for. What took more is walked every time.
const WORDS: usize = 8;

/// Entries with the same number, which are looked at one after the other.
const WAYS: usize = 4;
const SETS: usize = 16;

/// Words of the stack that a walk has read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    words: [Word; WORDS],
    count: usize,
    /// Set if the frame pointer mattered.
    by_frame: bool,
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Word {
    at: usize,
    value: usize,
    /// Set if it is a frame pointer, which matters only if some rule counts from one.
    is_frame: bool,
}

impl Seen {
    /// Notes a word that was read: of each frame the return address first.
    pub(crate) fn add(&mut self, at: usize, value: usize, is_frame: bool) {
        if let Some(place) = self.words.get_mut(self.count) {
            *place = Word { at, value, is_frame };
        }
        self.count += 1;
    }

    /// Notes that the frame pointer mattered.
    pub(crate) fn by_frame(&mut self) {
        self.by_frame = true;
    }
}

/// All zeros are an entry that nothing finds.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Entry {
    from: Place,
    seen: Seen,
    result: usize,
}

/// Entries of a thread.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    memory: Option<Memory>,
    next: usize,
}

impl Memo {
    /// Returns the result of a walk from the same place of the same stack.
    #[inline]
    pub(crate) fn find(&self, from: Place, stack: &Stack) -> Option<usize> {
        let is_same = |entry: &&Entry| {
            entry.from.address == from.address
                && entry.from.stack == from.stack
                && (!entry.seen.by_frame || entry.from.frame == from.frame)
                && entry.seen.words.iter().take(entry.seen.count).all(|word| {
                    word.is_frame && !entry.seen.by_frame || stack.word(word.at) == Some(word.value)
                })
        };
        self.set(from)?.iter().find(is_same).map(|entry| entry.result)
    }

    /// Keeps the result of a walk.
    pub(crate) fn keep(&mut self, from: Place, seen: &Seen, result: usize) {
        if seen.count > WORDS {
            return;
        }
        if self.memory.is_none() {
            self.memory = Memory::anonymous(SETS * WAYS * size_of::<Entry>()).ok();
        }
        self.next = self.next.wrapping_add(1);
        let way = self.next % WAYS;
        let entry = Entry { from, seen: *seen, result };
        if let Some(place) = self.set_mut(from).and_then(|set| set.get_mut(way)) {
            *place = entry;
        }
    }

    /// Forgets everything: another thread may have a stack in the same place.
    pub(crate) fn clear(&mut self) {
        if let Some(memory) = &mut self.memory {
            memory.fill(0);
        }
    }

    fn set(&self, from: Place) -> Option<&[Entry]> {
        entries(self.memory.as_ref()?).chunks_exact(WAYS).nth(number(from))
    }

    fn set_mut(&mut self, from: Place) -> Option<&mut [Entry]> {
        entries_mut(self.memory.as_mut()?).chunks_exact_mut(WAYS).nth(number(from))
    }
}

/// Returns the number of the set that has the entries for a place.
fn number(from: Place) -> usize {
    let mixed = (from.address ^ from.stack << 16).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> (usize::BITS - 4)) % SETS
}

fn entries(memory: &Memory) -> &[Entry] {
    // SAFETY: the memory is as long as that and aligned to a page, all bits zero are an entry, and it is only ever used as
    // this.
    unsafe { std::slice::from_raw_parts(memory.start().cast(), SETS * WAYS) }
}

fn entries_mut(memory: &mut Memory) -> &mut [Entry] {
    // SAFETY: as above, and it is borrowed exclusively.
    unsafe { std::slice::from_raw_parts_mut(memory.start().cast(), SETS * WAYS) }
}
