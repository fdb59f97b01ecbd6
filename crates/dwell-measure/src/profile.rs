//! The profile of a thread: rows for call paths and partners, in file-backed memory.
//!
//! [`dwell_model::profile`] says what is in the file. What an event says of bytes and operations is added
//! to the row of the call that is open when it is written, or would be: so the profile and the trace of a
//! run cannot differ.
#![allow(unsafe_code)] // Records are words in mapped memory.

use std::ffi::CString;
use std::io;

use dwell_model::profile::{
    FIRST_COUNT, MAGIC, NUMBERS, RECORD, Setting, VALUES, Words, counter_key, is_path,
    parameter_key, partner_key, path_key,
};
use otf2::enums::Type;
use otf2::event::{
    Enter, Leave, MeasurementOnOff, Metric, MpiCollectiveBegin, MpiCollectiveEnd, MpiIrecv,
    MpiIrecvRequest, MpiIsend, MpiIsendComplete, MpiRecv, MpiRequestCancelled, MpiSend,
    NonBlockingCollectiveComplete, NonBlockingCollectiveRequest, ParameterInt, ParameterString,
    ParameterUnsignedInt, RmaAcquireLock, RmaAtomic, RmaCollectiveBegin, RmaCollectiveEnd, RmaGet,
    RmaGroupSync, RmaOpCompleteBlocking, RmaOpCompleteNonBlocking, RmaOpCompleteRemote, RmaPut,
    RmaReleaseLock, RmaRequestLock, RmaSync, RmaTryLock, RmaWaitChange, RmaWinCreate,
    RmaWinDestroy,
};

use otf2::id::{Rank, RmaWinRef};
use otf2::value::MetricValue;

use crate::hook::Bytes;
use crate::memory::{self, Memory};
use crate::modulo::Modulo;
use crate::sites;

/// Bytes that a file grows by.
pub(crate) const BLOCK: usize = 256 * 1024;
const PER_BLOCK: usize = BLOCK / RECORD;
/// Blocks of a thread, at most; what has no row then is counted.
const BLOCKS: usize = 16;
const MOST: usize = BLOCKS * PER_BLOCK;
// No parameter or counter of the recorder has a number that rows have no room for.
const _: () = assert!(sites::MOST <= NUMBERS);
/// Places of the index.
const PLACES: usize = 2 * MOST;
/// Partners that are found at once.
const RECENT: usize = 16;
/// Bytes of the index.
pub(crate) const INDEX: usize = PLACES * size_of::<u32>();

/// Contribution of an event to the sums of the profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    /// Place of the count of operations, and of bytes, in the words of a path.
    operations: usize,
    first: (usize, u64),
    second: (usize, u64),
    /// Kind, window or communicator, and rank of the partner. Kind 0 is none, 1 a put.
    partner: (u32, u32, u32),
}

/// Kind of the value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// The value is a number.
    Number,
    /// The value is the id of a text.
    Text,
}

/// A put or a get, as far as the profile counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// Set for a put; otherwise it is a get.
    pub(crate) is_put: bool,
    pub(crate) window: RmaWinRef,
    pub(crate) target: Rank,
    pub(crate) bytes: Bytes,
}

impl Amount {
    /// Returns the put or get that the event describes, if it does.
    pub(crate) fn access(&self) -> Option<Access> {
        let (kind, window, rank) = self.partner;
        matches!(kind, 1 | 2).then_some(Access {
            is_put: kind == 1,
            window: RmaWinRef(window),
            target: Rank(rank),
            bytes: Bytes(self.first.1),
        })
    }
}

impl From<Access> for Amount {
    fn from(it: Access) -> Self {
        let (operations, bytes, kind) =
            if it.is_put { (PUTS, BYTES_PUT, 1) } else { (GETS, BYTES_GET, 2) };
        let partner = (kind, it.window.0, it.target.0);
        Self { operations, first: (bytes, it.bytes.0), partner, ..NONE }
    }
}

const PUTS: usize = FIRST_COUNT;
const GETS: usize = FIRST_COUNT + 1;
const ATOMICS: usize = FIRST_COUNT + 2;
const BYTES_PUT: usize = FIRST_COUNT + 3;
const BYTES_GET: usize = FIRST_COUNT + 4;
const SENDS: usize = FIRST_COUNT + 5;
const RECEIVES: usize = FIRST_COUNT + 6;
const BYTES_SENT: usize = FIRST_COUNT + 7;
const BYTES_RECEIVED: usize = FIRST_COUNT + 8;
const COLLECTIVES: usize = FIRST_COUNT + 9;

/// An event that may count for something.
pub(crate) trait Counted {
    /// Returns the contribution of the event, or `None` if it has none.
    #[inline(always)]
    fn amount(&self) -> Option<Amount> {
        None
    }
}

macro_rules! counts_nothing {
    ($($event:ty),* $(,)?) => { $( impl Counted for $event {} )* };
}

counts_nothing! {
    Enter, Leave, MeasurementOnOff, MpiCollectiveBegin, MpiIrecvRequest, MpiIsendComplete,
    Metric<'_>, MpiRequestCancelled, NonBlockingCollectiveRequest, ParameterInt, ParameterString,
    ParameterUnsignedInt, RmaAcquireLock, RmaCollectiveBegin,
    RmaGroupSync, RmaOpCompleteBlocking, RmaOpCompleteNonBlocking, RmaOpCompleteRemote,
    RmaReleaseLock, RmaRequestLock, RmaSync, RmaTryLock, RmaWaitChange, RmaWinCreate, RmaWinDestroy,
}

macro_rules! counts {
    ($($event:ty: $it:ident => $amount:expr;)*) => { $(
        impl Counted for $event {
            #[inline(always)]
            fn amount(&self) -> Option<Amount> {
                let $it = self;
                Some($amount)
            }
        }
    )* };
}

const NONE: Amount = Amount { operations: 0, first: (0, 0), second: (0, 0), partner: (0, 0, 0) };

counts! {
    RmaPut: it => Amount {
        operations: PUTS,
        first: (BYTES_PUT, it.bytes),
        partner: (1, it.win.0, it.remote.0),
        ..NONE
    };
    RmaGet: it => Amount {
        operations: GETS,
        first: (BYTES_GET, it.bytes),
        partner: (2, it.win.0, it.remote.0),
        ..NONE
    };
    RmaAtomic: it => Amount {
        operations: ATOMICS,
        first: (BYTES_PUT, it.bytes_sent),
        second: (BYTES_GET, it.bytes_received),
        partner: (3, it.win.0, it.remote.0),
    };
    MpiSend: it => Amount {
        operations: SENDS,
        first: (BYTES_SENT, it.msg_length),
        partner: (4, it.communicator.0, it.receiver.0),
        ..NONE
    };
    MpiIsend: it => Amount {
        operations: SENDS,
        first: (BYTES_SENT, it.msg_length),
        partner: (4, it.communicator.0, it.receiver.0),
        ..NONE
    };
    MpiRecv: it => Amount { operations: RECEIVES, first: (BYTES_RECEIVED, it.msg_length), ..NONE };
    MpiIrecv: it => Amount { operations: RECEIVES, first: (BYTES_RECEIVED, it.msg_length), ..NONE };
    MpiCollectiveEnd: _it => Amount { operations: COLLECTIVES, ..NONE };
    RmaCollectiveEnd: _it => Amount { operations: COLLECTIVES, ..NONE };
    NonBlockingCollectiveComplete: _it => Amount { operations: COLLECTIVES, ..NONE };
}

/// The profile of a thread.
#[derive(Debug)]
pub(crate) struct Profile {
    path: CString,
    blocks: [Option<Memory>; BLOCKS],
    /// The first of these, which has nearly all records.
    first: *mut Words,
    /// Partners that were there last: what they are known by, and their records.
    recent: [(u64, u64, u32); RECENT],
    /// Records that are in use, the header among them.
    count: usize,
    /// Numbers of records, by what they are known by.
    index: Memory,
    /// The row of the program; 0 before the first call.
    program: u32,
    /// Rows of values of parameters.
    values: usize,
}

impl Profile {
    /// Begins a profile in a new file.
    pub(crate) fn create(path: CString) -> io::Result<Self> {
        let mut first = Memory::of_file(&memory::open(&path, true)?, 0, BLOCK)?;
        let at = first.as_mut_ptr().cast();
        let index = Memory::anonymous(INDEX)?;
        let mut blocks = [const { None }; BLOCKS];
        blocks[0] = Some(first);
        let recent = [(0, 0, 0); RECENT];
        let mut profile =
            Self { path, blocks, first: at, recent, count: 1, index, program: 0, values: 0 };
        profile.record(0)[0] = MAGIC;
        Ok(profile)
    }

    #[inline(always)]
    fn record(&mut self, number: u32) -> &mut Words {
        let at = match number as usize {
            at if at < PER_BLOCK => self.first.wrapping_add(at),
            at => self.far(at),
        };
        // SAFETY: the first block is mapped as long as the profile lives, and has that many records; it is
        // aligned to a page, any bits are words, and it is borrowed exclusively.
        unsafe { &mut *at }
    }

    /// Returns the position of a record that is not in the first block. Numbers are results of `find`, so it exists.
    #[cold]
    #[inline(never)]
    fn far(&mut self, number: usize) -> *mut Words {
        match self.blocks.get_mut(number / PER_BLOCK) {
            Some(Some(memory)) => {
                memory.as_mut_ptr().cast::<Words>().wrapping_add(number % PER_BLOCK)
            }
            _ => self.first,
        }
    }

    /// The record that two words are known by, made if it is not there; 0 if there is no room.
    #[cold]
    #[inline(never)]
    fn find(&mut self, key: (u64, u64)) -> u32 {
        self.look(key).unwrap_or_else(|place| self.make(key, place))
    }

    /// The record that two words are known by, or the place of the index where it would be.
    fn look(&mut self, (first, second): (u64, u64)) -> Result<u32, usize> {
        const { assert!(PLACES.is_power_of_two()) }
        let mixed = (first ^ second.rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut place = (mixed >> 40) as usize % PLACES;
        loop {
            let number = self.indexed(place);
            if number == 0 {
                return Err(place);
            }
            let record = self.record(number);
            if record[0] == first && record[1] == second {
                return Ok(number);
            }
            place = (place + 1) % PLACES;
        }
    }

    fn make(&mut self, (first, second): (u64, u64), place: usize) -> u32 {
        let number = self.count;
        if number >= MOST || self.make_room(number).is_err() {
            return self.no_row();
        }
        self.count += 1;
        let record = self.record(number as u32);
        // No visit of a path has ended yet, so any visit is shorter.
        (record[1], record[4]) = (second, if is_path(first) { u64::MAX } else { 0 });
        // It is there for a reader when the first word is. Readers come when the process has ended, and then all that
        // it stored is there on every processor, however weakly that orders stores: a kill interrupts a thread between
        // two instructions, and the stores before are complete when the kernel has ended the thread. So only the order
        // that the compiler chooses matters.
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
        record[0] = first;
        self.set_indexed(place, number as u32);
        number as u32
    }

    /// Counts a call or value that has no row.
    fn no_row(&mut self) -> u32 {
        self.record(0)[3] += 1;
        0
    }

    fn make_room(&mut self, number: usize) -> io::Result<()> {
        let block = number / PER_BLOCK;
        if let Some(place @ None) = self.blocks.get_mut(block) {
            let file = memory::open(&self.path, false)?;
            *place = Some(Memory::of_file(&file, (block * BLOCK) as u64, BLOCK)?);
        }
        Ok(())
    }

    fn indexed(&self, place: usize) -> u32 {
        // SAFETY: the memory has that many numbers, and zeros are numbers.
        unsafe { *self.index.as_ptr().cast::<u32>().wrapping_add(place) }
    }

    fn set_indexed(&mut self, place: usize, number: u32) {
        // SAFETY: as above, borrowed exclusively.
        unsafe { *self.index.as_mut_ptr().cast::<u32>().wrapping_add(place) = number };
    }

    /// The row of the program, which begins with its first call.
    #[inline(always)]
    pub(crate) fn program(&mut self, time: u64, region: u32) -> u32 {
        if self.program == 0 {
            self.program = self.find(path_key(0, region, None));
            let number = self.program;
            self.record(number)[2] = 1;
            self.record(0)[1] = time;
            self.record(0)[2] = time;
        }
        self.program
    }

    /// The row of a path.
    pub(crate) fn path(&mut self, parent: u32, region: u32, site: Option<u32>) -> u32 {
        self.find(path_key(parent, region, site))
    }

    /// The row of a parameter that has a value. If too many values have rows, others have one together.
    pub(crate) fn parameter(
        &mut self,
        parent: u32,
        parameter: u32,
        value: u64,
        kind: ValueKind,
    ) -> u32 {
        let is_text = kind == ValueKind::Text;
        let setting = Setting { parameter, value: Some(value), is_text };
        let others = Setting { value: None, ..setting };
        let keys = parameter_key(parent, setting).zip(parameter_key(parent, others));
        let Some((key, others)) = keys else { return self.no_row() };
        match self.look(key) {
            Ok(row) => row,
            Err(place) if self.values < VALUES => {
                self.values += 1;
                self.make(key, place)
            }
            Err(_) => self.find(others),
        }
    }

    /// Adds a value of a counter to those on a path.
    pub(crate) fn value(&mut self, row: u32, counter: u32, value: MetricValue) {
        let row = match counter_key(row, counter) {
            Some(key) => self.find(key),
            None => self.no_row(),
        };
        if row == 0 {
            return;
        }
        let record = self.record(row);
        let bits = value.bits;
        let [_, _, values, sum, least, largest, ..] = *record;
        let (is_less, is_more, sum) = match value.value_type {
            Type::Double => {
                let number = f64::from_bits;
                let (value, sum) = (number(bits), number(sum) + number(bits));
                (value < number(least), value > number(largest), sum.to_bits())
            }
            _ => {
                let number = u64::cast_signed;
                let value = number(bits);
                (value < number(least), value > number(largest), sum.wrapping_add(bits))
            }
        };
        (record[2], record[3]) = (values + 1, sum);
        if is_less || values == 0 {
            record[4] = bits;
        }
        if is_more || values == 0 {
            record[5] = bits;
        }
    }

    /// The row of a partner, which is often one of the last.
    #[inline(always)]
    fn partner(&mut self, key: (u64, u64)) -> u32 {
        let place = (key.1 >> 32) as usize ^ (key.0 >> 32) as usize;
        let (first, second, row) = *self.recent.modulo(place);
        if (first, second) == key {
            return row;
        }
        let row = self.find(key);
        *self.recent.modulo_mut(place) = (key.0, key.1, row);
        row
    }

    /// Adds what an event counts for. Returns the row of the partner, if it has one.
    #[inline(always)]
    pub(crate) fn add(&mut self, row: u32, amount: &Amount) -> u32 {
        let record = self.record(row);
        if row != 0 {
            *record.modulo_mut(amount.operations) += 1;
            *record.modulo_mut(amount.first.0) += amount.first.1;
            // Place 0 of an amount is none: nothing is added to the first word.
            *record.modulo_mut(amount.second.0) += amount.second.1;
        }
        let (kind, context, rank) = amount.partner;
        if kind == 0 {
            return 0;
        }
        let partner = self.partner(partner_key(kind - 1, context, rank));
        if partner != 0 {
            let record = self.record(partner);
            record[2] += 1;
            record[3] += amount.first.1 + amount.second.1;
        }
        partner
    }

    /// A call ends: how long it took by itself, and all of it for its partner.
    #[inline(always)]
    pub(crate) fn leave(&mut self, row: u32, own: u64, partner: u32, length: u64, time: u64) {
        if row != 0 {
            let record = self.record(row);
            record[2] += 1;
            record[3] += own;
            record[4] = record[4].min(own);
            record[5] = record[5].max(own);
        }
        if partner != 0 {
            self.record(partner)[4] += length;
        }
        self.record(0)[2] = time;
    }

    /// Adds calls to a row that are part of the last one, whose time is counted there.
    pub(crate) fn repeat(&mut self, row: u32, calls: u64) {
        if row != 0 {
            self.record(row)[2] += calls;
        }
    }

    /// Ends the profile at a time: cuts the file to what it holds, and writes what is not there.
    pub(crate) fn close(mut self, time: u64) -> io::Result<()> {
        if self.program != 0 {
            self.record(0)[2] = time;
        }
        let file = memory::open(&self.path, false)?;
        for block in self.blocks.iter().flatten() {
            block.save(&file, BLOCK)?;
        }
        file.set_len((self.count * RECORD) as u64)
    }
}

#[cfg(test)]
mod tests {
    use dwell_model::profile::{Row, header, rows};
    use otf2::id::{MatchingId, Rank, RmaWinRef};

    use super::*;

    #[test]
    fn rows_survive_without_being_closed() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("0.0.rows");
        let name = CString::new(path.to_str().unwrap()).unwrap();
        let mut profile = Profile::create(name)?;
        let program = profile.program(100, 0);
        // More than a block, each from another place.
        for site in 0..2000 {
            let row = profile.path(program, 7, Some(site));
            let event = RmaGet {
                win: RmaWinRef(0),
                remote: Rank(site % 3),
                bytes: 8,
                matching_id: MatchingId(0),
            };
            let partner = profile.add(row, &event.amount().unwrap());
            profile.leave(row, 10, partner, 10, 100 + u64::from(site));
            assert_eq!(profile.path(program, 7, Some(site)), row);
        }
        let bytes = std::fs::read(&path)?;
        let head = header(&bytes).unwrap();
        assert_eq!((head.first, head.last, head.dropped), (100, 2099, 0));
        let (mut visits, mut partners) = (0, Vec::new());
        for (_, row) in rows(&bytes) {
            match row {
                Row::Path(row) if row.parent == program => {
                    assert_eq!(
                        (row.region, row.visits, row.counts[1], row.counts[4]),
                        (7, 1, 1, 8)
                    );
                    assert_eq!((row.time, row.shortest, row.longest), (10, 10, 10));
                    visits += row.visits;
                }
                Row::Path(row) => assert_eq!((row.region, row.visits), (0, 1)),
                Row::Counter(row) => panic!("{row:?}"),
                Row::Partner(row) => partners.push((row.rank, row.operations, row.bytes, row.time)),
            }
        }
        assert_eq!(visits, 2000);
        partners.sort_unstable();
        assert_eq!(partners, [(0, 667, 5336, 6670), (1, 667, 5336, 6670), (2, 666, 5328, 6660)]);
        profile.close(5000)?;
        let bytes = std::fs::read(&path)?;
        assert_eq!(header(&bytes).map(|head| head.last), Some(5000));
        assert_eq!(bytes.len(), (1 + 1 + 2000 + 3) * RECORD);
        Ok(())
    }

    #[test]
    fn too_many_values_are_one() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("0.0.rows");
        let mut profile = Profile::create(CString::new(path.to_str().unwrap()).unwrap())?;
        let program = profile.program(0, 0);
        let rows: Vec<u32> = (0..VALUES as u64 + 10)
            .map(|value| profile.parameter(program, 3, value, ValueKind::Number))
            .collect();
        let (apart, together) = rows.split_at(VALUES);
        assert!(apart.is_sorted_by(|a, b| a < b));
        assert!(together.iter().all(|row| *row == together[0] && *row > apart[VALUES - 1]));
        // Those that are known stay, and another parameter has a rest of its own.
        assert_eq!(profile.parameter(program, 3, 0, ValueKind::Number), apart[0]);
        assert_ne!(profile.parameter(program, 4, 0, ValueKind::Number), together[0]);
        Ok(())
    }

    /// Rows have 24 bits for the numbers of parameters and counters. One with a larger number gets no row, and is not
    /// mistaken for another with the same lower bits.
    #[test]
    fn numbers_beyond_those_that_rows_have_room_for_are_counted() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("0.0.rows");
        let mut profile = Profile::create(CString::new(path.to_str().unwrap()).unwrap())?;
        let program = profile.program(0, 0);
        let last = (1 << 24) - 1;
        let number = profile.parameter(program, last, 0, ValueKind::Number);
        assert_ne!(number, 0);
        assert_ne!(profile.parameter(program, 0, 0, ValueKind::Number), 0);
        for beyond in [1 << 24, 1 << 25 | last, u32::MAX] {
            assert_eq!(profile.parameter(program, beyond, 0, ValueKind::Number), 0);
            assert_eq!(profile.parameter(program, beyond, 0, ValueKind::Text), 0);
        }
        profile.value(number, last, MetricValue::signed(3));
        profile.value(number, 1 << 24 | last, MetricValue::signed(1000));
        profile.close(10)?;
        let bytes = std::fs::read(&path)?;
        assert_eq!(header(&bytes).map(|it| it.dropped), Some(7));
        let found: Vec<_> = rows(&bytes)
            .filter_map(|(_, row)| match row {
                Row::Path(it) => it.parameter.map(|it| (it.parameter, 0, 0)),
                Row::Counter(it) => Some((it.counter, it.values, it.sum)),
                Row::Partner(_) => None,
            })
            .collect();
        assert_eq!(found, [(last, 0, 0), (0, 0, 0), (last, 1, 3)]);
        Ok(())
    }

    /// A path for a text is treated like one of a call or a number.
    #[test]
    fn every_kind_of_path_knows_its_shortest_visit() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("0.0.rows");
        let mut profile = Profile::create(CString::new(path.to_str().unwrap()).unwrap())?;
        let program = profile.program(0, 0);
        let mut paths = vec![
            profile.path(program, 7, None),
            profile.parameter(program, 3, 0, ValueKind::Text),
            profile.parameter(program, 4, 0, ValueKind::Number),
        ];
        for value in 2..VALUES as u64 {
            profile.parameter(program, 4, value, ValueKind::Number);
        }
        paths.push(profile.parameter(program, 4, u64::MAX, ValueKind::Number));
        let extremes = || -> io::Result<Vec<(u64, u64)>> {
            let bytes = std::fs::read(&path)?;
            let found = rows(&bytes).filter_map(|(number, row)| match row {
                Row::Path(it) => paths.contains(&number).then_some((it.shortest, it.longest)),
                _ => None,
            });
            Ok(found.collect())
        };
        assert_eq!(extremes()?, [(u64::MAX, 0); 4]);
        for (row, own) in paths.iter().flat_map(|row| [(*row, 30), (*row, 20)]) {
            profile.leave(row, own, 0, own, 100);
        }
        assert_eq!(extremes()?, [(20, 30); 4]);
        Ok(())
    }

    #[test]
    fn the_file_is_as_version_1_says() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("0.0.rows");
        let mut profile = Profile::create(CString::new(path.to_str().unwrap()).unwrap())?;
        let program = profile.program(1_000, 0);
        let get =
            RmaGet { win: RmaWinRef(2), remote: Rank(3), bytes: 4096, matching_id: MatchingId(0) };
        for own in [70, 20, 300] {
            let row = profile.path(program, 7, Some(11));
            let partner = profile.add(row, &get.amount().unwrap());
            profile.leave(row, own, partner, own + 5, 2_000 + own);
        }
        let number = profile.parameter(program, 1, 64, ValueKind::Number);
        let inner = profile.path(number, 9, None);
        profile.leave(inner, 40, 0, 40, 3_000);
        let text = profile.parameter(program, 2, 5, ValueKind::Text);
        for bits in [3.5, -1.0] {
            let value = MetricValue { value_type: Type::Double, bits: f64::to_bits(bits) };
            profile.value(text, 4, value);
        }
        profile.close(5_000)?;
        crate::golden::hold("rows-1.rows", &std::fs::read(&path)?);
        Ok(())
    }
}
