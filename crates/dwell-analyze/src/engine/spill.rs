//! Operations in flight that do not fit into memory, in a temporary file.
//!
//! A program may issue any number of operations before it completes the first. Those whose answer is known already wait
//! for their completion only, so they can be in a file until then: in runs sorted by location, window and number, found
//! by bisection and marked when taken. The file has no name, so nothing is left behind whatever happens.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use dwell_log::class::Class;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::time::Time;
use otf2::id::RmaWinRef;

use crate::engine::outstanding::{Known, Op};
use crate::engine::regions::Span;

/// An operation with what is known about the region that served it.
pub(crate) type Stored = (Op, Known);

/// Size of an operation in the file, in bytes.
const SIZE: usize = 80;
/// Number of operations that are read at once when all are wanted.
const BLOCK: usize = 1024;

/// A file with operations in flight.
#[derive(Debug, Default)]
pub(crate) struct Spill {
    file: Option<File>,
    end: u64,
    runs: Vec<Run>,
}

/// Operations that were written together, sorted by [`key`].
#[derive(Debug)]
struct Run {
    offset: u64,
    count: usize,
    /// Number of operations that are still in flight.
    left: usize,
    /// One bit for each operation that has been taken.
    taken: Vec<u64>,
}

impl Run {
    fn is_taken(&self, index: usize) -> bool {
        self.taken.get(index / 64).is_some_and(|bits| bits & (1 << (index % 64)) != 0)
    }

    fn take(&mut self, index: usize) {
        if let Some(bits) = self.taken.get_mut(index / 64) {
            *bits |= 1 << (index % 64);
            self.left -= 1;
        }
    }
}

impl Spill {
    /// Returns `true` if the file has no operation.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the memory in bytes that the tables take.
    pub(crate) fn bytes(&self) -> usize {
        self.runs.iter().map(|run| run.taken.len() * 8 + size_of::<Run>()).sum()
    }

    /// Writes operations to the file.
    ///
    /// # Errors
    /// Returns an error if there is no room for them; nothing is written then.
    pub(crate) fn write(&mut self, ops: &mut [Stored]) -> io::Result<()> {
        if ops.is_empty() {
            return Ok(());
        }
        ops.sort_by_key(|(op, _)| (key(op), op.serial));
        let bytes: Vec<u8> = ops.iter().flat_map(encode).collect();
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        file.write_all_at(&bytes, self.end)?;
        let count = ops.len();
        let taken = vec![0; count.div_ceil(64)];
        self.runs.push(Run { offset: self.end, count, left: count, taken });
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Removes and returns an operation by its number, the oldest first.
    #[inline]
    pub(crate) fn take(
        &mut self,
        location: LocationNumber,
        window: RmaWinRef,
        id: u64,
    ) -> Option<Stored> {
        // Usually there is no file, and nothing to look for.
        self.file.as_ref()?;
        self.search(location, window, id)
    }

    #[inline(never)]
    fn search(&mut self, location: LocationNumber, window: RmaWinRef, id: u64) -> Option<Stored> {
        let file = self.file.as_ref()?;
        let wanted = (location, window, id);
        for at in 0..self.runs.len() {
            let run = self.runs.get_mut(at)?;
            let (mut low, mut high) = (0, run.count);
            while low < high {
                let middle = low + (high - low) / 2;
                let (op, _) = one(file, run, middle)?;
                if key(&op) < wanted { low = middle + 1 } else { high = middle }
            }
            // Other tools may give the same number to many operations.
            while low < run.count {
                let stored = one(file, run, low)?;
                if key(&stored.0) != wanted {
                    break;
                }
                if !run.is_taken(low) {
                    run.take(low);
                    if run.left == 0 {
                        self.runs.remove(at);
                    }
                    return Some(stored);
                }
                low += 1;
            }
        }
        None
    }

    /// Removes all operations of a window, or of all windows. Of those to one target it returns only the last, which is
    /// the one that decides.
    pub(crate) fn take_all(&mut self, window: Option<RmaWinRef>) -> Vec<Stored> {
        let mut last: BTreeMap<(RmaWinRef, ProcessNumber), Stored> = BTreeMap::new();
        let Some(file) = self.file.as_ref() else { return Vec::new() };
        for run in &mut self.runs {
            let mut from = 0;
            while from < run.count {
                let Some(block) = several(file, run, from, BLOCK.min(run.count - from)) else {
                    break;
                };
                for (index, stored) in (from..).zip(block) {
                    let (op, _) = stored;
                    if run.is_taken(index) || window.is_some_and(|window| window != op.window) {
                        continue;
                    }
                    run.take(index);
                    let key = (op.window, op.target);
                    let known = last.entry(key).or_insert(stored);
                    if (known.0.start, known.0.serial) <= (op.start, op.serial) {
                        *known = stored;
                    }
                }
                from += BLOCK;
            }
        }
        self.runs.retain(|run| run.left > 0);
        if self.runs.is_empty() {
            self.end = 0;
        }
        last.into_values().collect()
    }
}

/// Returns the key by which operations are sorted and found.
fn key(op: &Op) -> (LocationNumber, RmaWinRef, u64) {
    (op.location, op.window, op.id)
}

fn one(file: &File, run: &Run, index: usize) -> Option<Stored> {
    let mut bytes = [0; SIZE];
    file.read_exact_at(&mut bytes, run.offset + (index * SIZE) as u64).ok()?;
    Some(decode(&bytes))
}

fn several(file: &File, run: &Run, from: usize, count: usize) -> Option<Vec<Stored>> {
    let mut bytes = vec![0; count * SIZE];
    file.read_exact_at(&mut bytes, run.offset + (from * SIZE) as u64).ok()?;
    Some(bytes.as_chunks().0.iter().map(decode).collect())
}

/// Encodes an operation as ten numbers of eight bytes.
fn encode((op, known): &Stored) -> [u8; SIZE] {
    let span = |span: Option<Span>| span.map_or((u64::MAX, 0), |span| (span.begin.0, span.end.0));
    let (certain, possible) = (span(known.certain), span(known.possible));
    let flags = u64::from(op.class.0) | u64::from(op.returns) << 32;
    let places = u64::from(op.window.0) | u64::from(op.target.0) << 32;
    let words = [
        op.serial,
        op.id,
        places,
        op.start.0,
        flags,
        certain.0,
        certain.1,
        possible.0,
        possible.1,
        u64::from(op.location.0) | u64::from(op.bytes) << 32,
    ];
    let mut bytes = [0; SIZE];
    for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
    bytes
}

fn decode(bytes: &[u8; SIZE]) -> Stored {
    let mut words = [0_u64; SIZE / 8];
    for (word, place) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*place);
    }
    let [
        serial,
        id,
        places,
        start,
        flags,
        certain_begin,
        certain_end,
        possible_begin,
        possible_end,
        location,
    ] = words;
    // A region never ends before it begins, so such a pair encodes `None`.
    let span = |begin, end| (begin <= end).then_some(Span { begin: Time(begin), end: Time(end) });
    let known = Known {
        certain: span(certain_begin, certain_end),
        possible: span(possible_begin, possible_end),
    };
    let op = Op {
        serial,
        id,
        location: LocationNumber(location as u32),
        window: RmaWinRef(places as u32),
        target: ProcessNumber((places >> 32) as u32),
        start: Time(start),
        class: Class(flags as u32),
        bytes: (location >> 32) as u32,
        returns: flags & 1 << 32 != 0,
        learned: false,
    };
    (op, known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_trace::time::Duration;

    const HERE: LocationNumber = LocationNumber(5);
    const ONE: RmaWinRef = RmaWinRef(1);
    const OTHER: RmaWinRef = RmaWinRef(2);

    fn op(serial: u64, window: RmaWinRef, target: u32) -> Stored {
        let (id, start) = (serial * 7 % 101, Time(serial * 10));
        let op = Op {
            serial,
            id,
            location: HERE,
            window,
            target: ProcessNumber(target),
            start,
            class: Class(0x1_0209),
            bytes: serial as u32 * 1000,
            returns: serial.is_multiple_of(2),
            learned: false,
        };
        let span = Span { begin: start, end: start + Duration(5) };
        (
            op,
            Known { certain: Some(span), possible: serial.is_multiple_of(3).then_some(Span::NONE) },
        )
    }

    #[test]
    fn operations_come_back_as_they_were() {
        for serial in 0..20 {
            let stored = op(serial, RmaWinRef(3), 70_000);
            let (back, known) = decode(&encode(&stored));
            assert_eq!(format!("{back:?}"), format!("{:?}", stored.0));
            assert_eq!(known, stored.1);
        }
    }

    #[test]
    fn each_is_taken_once() {
        let mut spill = Spill::default();
        for run in 0..3 {
            let mut ops: Vec<_> =
                (run * 30..run * 30 + 30).map(|it| op(it, ONE, it as u32 % 4)).collect();
            spill.write(&mut ops).unwrap();
        }
        for serial in (0..90).rev() {
            let (wanted, _) = op(serial, ONE, serial as u32 % 4);
            let (found, known) = spill.take(HERE, ONE, wanted.id).unwrap();
            assert_eq!((found.serial, known), (serial, op(serial, ONE, 0).1));
            assert!(spill.take(HERE, ONE, wanted.id).is_none());
            assert!(spill.take(HERE, OTHER, wanted.id).is_none());
            assert!(spill.take(LocationNumber(4), ONE, wanted.id).is_none());
        }
        assert_eq!(spill.bytes(), 0);
    }

    #[test]
    fn of_all_the_last_for_each_target_decides() {
        let mut spill = Spill::default();
        let mut ops: Vec<_> = (0..50).map(|it| op(it, ONE, it as u32 % 4)).collect();
        spill.write(&mut ops).unwrap();
        let mut ops: Vec<_> = (50..60).map(|it| op(it, OTHER, 0)).collect();
        spill.write(&mut ops).unwrap();
        spill.take(HERE, ONE, op(49, ONE, 0).0.id).unwrap();
        let serials = |ops: Vec<Stored>| ops.iter().map(|(op, _)| op.serial).collect::<Vec<_>>();
        assert_eq!(serials(spill.take_all(Some(ONE))), [48, 45, 46, 47]);
        assert_eq!(serials(spill.take_all(None)), [59]);
        assert_eq!(spill.bytes(), 0);
    }
}
