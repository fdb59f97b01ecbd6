//! The profile of a thread: rows for call paths and partners, in file-backed memory.
//!
//! [`dwell_model::profile`] says what is in the file. What an event says of bytes and operations is added
//! to the row of the call that is open when it is written, or would be: so the profile and the trace of a
//! run cannot differ.
#![allow(unsafe_code)] // Records are words in mapped memory.

use std::ffi::CString;
use std::io;

use dwell_model::profile::check::{
    self, ANNOUNCED, CHANGING, CONFIRMED, OTHERS, RECORDS, of_record, weight,
};
use dwell_model::profile::{
    FIRST_COUNT, MAGIC, NUMBERS, RECORD, Setting, VALUES, Words, counter_key, is_path,
    parameter_key, partner_key, path_key,
};
use otf2::enums::Type;
use otf2::event::{
    CallingContextSample, Enter, Leave, MeasurementOnOff, Metric, MpiCollectiveBegin,
    MpiCollectiveEnd, MpiIrecv, MpiIrecvRequest, MpiIsend, MpiIsendComplete, MpiRecv,
    MpiRequestCancelled, MpiSend, NonBlockingCollectiveComplete, NonBlockingCollectiveRequest,
    ParameterInt, ParameterString, ParameterUnsignedInt, RmaAcquireLock, RmaAtomic,
    RmaCollectiveBegin, RmaCollectiveEnd, RmaGet, RmaGroupSync, RmaOpCompleteBlocking,
    RmaOpCompleteNonBlocking, RmaOpCompleteRemote, RmaOpTest, RmaPut, RmaReleaseLock,
    RmaRequestLock, RmaSync, RmaTryLock, RmaWaitChange, RmaWinCreate, RmaWinDestroy,
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
    CallingContextSample, Enter, Leave, MeasurementOnOff, MpiCollectiveBegin, MpiIrecvRequest, MpiIsendComplete,
    Metric<'_>, MpiRequestCancelled, NonBlockingCollectiveRequest, ParameterInt, ParameterString,
    ParameterUnsignedInt, RmaAcquireLock, RmaCollectiveBegin,
    RmaGroupSync, RmaOpCompleteBlocking, RmaOpCompleteNonBlocking, RmaOpCompleteRemote, RmaOpTest,
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
        let header = profile.record(0);
        header[RECORDS] = 1;
        in_order();
        header[0] = MAGIC;
        Ok(profile)
    }

    /// Announces in the header that the sum over the file grows by `by`; [`check`] says what for. Returns the new sum,
    /// which has to be [confirmed](Self::confirm) after the change.
    #[inline(always)]
    fn announce(&mut self, by: u64) -> u64 {
        let header = self.record(0);
        let sum = header[CONFIRMED].wrapping_add(by);
        header[ANNOUNCED] = sum;
        in_order();
        sum
    }

    /// Confirms in the header that what was announced has been done.
    #[inline(always)]
    fn confirm(&mut self, sum: u64) {
        in_order();
        self.record(0)[CONFIRMED] = sum;
    }

    /// Changes records such that the sum over the file grows by `by`.
    #[inline(always)]
    fn grow(&mut self, by: u64, change: impl FnOnce(&mut Self)) {
        let sum = self.announce(by);
        change(self);
        self.confirm(sum);
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
        self.grow(check::key(number as u32, first, second), |profile| {
            profile.record(0)[RECORDS] = number as u64 + 1;
            in_order();
            let record = profile.record(number as u32);
            // No visit of a path has ended yet, so any visit is shorter.
            (record[1], record[4]) = (second, if is_path(first) { u64::MAX } else { 0 });
            in_order();
            record[0] = first;
        });
        self.set_indexed(place, number as u32);
        number as u32
    }

    /// Counts a call or value that has no row.
    fn no_row(&mut self) -> u32 {
        self.grow(weight(0, 3), |profile| profile.record(0)[3] += 1);
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
            self.begin(time);
        }
        self.program
    }

    /// Begins the visit of the program.
    #[cold]
    fn begin(&mut self, time: u64) {
        let number = self.program;
        let times = time.wrapping_mul(weight(0, 1) + weight(0, 2));
        let visit = if number == 0 { 0 } else { weight(number, 2) };
        self.grow(times.wrapping_add(visit), |profile| {
            if number != 0 {
                profile.record(number)[2] = 1;
            }
            profile.record(0)[1] = time;
            profile.record(0)[2] = time;
        });
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
        let mut changed = *record;
        (changed[2], changed[3]) = (values + 1, sum);
        if is_less || values == 0 {
            changed[4] = bits;
        }
        if is_more || values == 0 {
            changed[5] = bits;
        }
        let before = check::values(row, record);
        let header = self.record(0);
        let others = header[CONFIRMED].wrapping_sub(before);
        header[OTHERS] = others;
        in_order();
        header[CHANGING] = row.into();
        in_order();
        *self.record(row) = changed;
        let header = self.record(0);
        let sum = others.wrapping_add(check::values(row, &changed));
        (header[CONFIRMED], header[ANNOUNCED]) = (sum, sum);
        in_order();
        header[CHANGING] = 0;
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
        let (kind, context, rank) = amount.partner;
        let partner = match kind {
            0 => 0,
            _ => self.partner(partner_key(kind - 1, context, rank)),
        };
        let Amount { operations, first, second, .. } = *amount;
        let bytes = first.1 + second.1;
        let mut by = 0_u64;
        if row != 0 {
            by = of_record(row).wrapping_mul(bytes.wrapping_add(1));
        }
        if partner != 0 {
            let counted = bytes.wrapping_mul(weight(0, 3)).wrapping_add(weight(0, 2));
            by = by.wrapping_add(of_record(partner).wrapping_mul(counted));
        }
        // No closure: the compiler would not inline it.
        let sum = self.announce(by);
        if row != 0 {
            let record = self.record(row);
            *record.modulo_mut(operations) += 1;
            *record.modulo_mut(first.0) += first.1;
            // Place 0 of an amount is none: nothing is added to the first word.
            *record.modulo_mut(second.0) += second.1;
        }
        if partner != 0 {
            let record = self.record(partner);
            record[2] += 1;
            record[3] += bytes;
        }
        self.confirm(sum);
        partner
    }

    /// A call ends: how long it took by itself, and all of it for its partner.
    #[inline(always)]
    pub(crate) fn leave(&mut self, row: u32, own: u64, partner: u32, length: u64, time: u64) {
        let mut by = time.wrapping_sub(self.record(0)[2]).wrapping_mul(weight(0, 2));
        if row != 0 {
            let counted = own.wrapping_mul(weight(0, 3)).wrapping_add(weight(0, 2));
            by = by.wrapping_add(of_record(row).wrapping_mul(counted));
        }
        if partner != 0 {
            let counted = length.wrapping_mul(weight(0, 4));
            by = by.wrapping_add(of_record(partner).wrapping_mul(counted));
        }
        let sum = self.announce(by);
        if row != 0 {
            let record = self.record(row);
            record[2] += 1;
            record[3] += own;
        }
        if partner != 0 {
            self.record(partner)[4] += length;
        }
        self.record(0)[2] = time;
        self.confirm(sum);
        let record = self.record(row);
        if row != 0 && (own < record[4] || own > record[5]) {
            self.extreme(row, own);
        }
    }

    /// Notes a visit that is shorter or longer than all before.
    #[cold]
    #[inline(never)]
    fn extreme(&mut self, row: u32, own: u64) {
        let [_, _, _, _, shortest, longest, ..] = *self.record(row);
        // One word at a time: a step of one word is never seen half done, so its sum may wrap around.
        if own < shortest {
            let by = (shortest - own).wrapping_mul(weight(row, 4));
            self.grow(by, |profile| profile.record(row)[4] = own);
        }
        if own > longest {
            let by = (own - longest).wrapping_mul(weight(row, 5));
            self.grow(by, |profile| profile.record(row)[5] = own);
        }
    }

    /// Adds calls to a row that are part of the last one, whose time is counted there.
    pub(crate) fn repeat(&mut self, row: u32, calls: u64) {
        if row != 0 {
            let by = calls.wrapping_mul(weight(row, 2));
            self.grow(by, |profile| profile.record(row)[2] += calls);
        }
    }

    /// Ends the profile at a time: cuts the file to what it holds, and writes what is not there.
    pub(crate) fn close(mut self, time: u64) -> io::Result<()> {
        if self.program != 0 {
            let by = time.wrapping_sub(self.record(0)[2]).wrapping_mul(weight(0, 2));
            self.grow(by, |profile| profile.record(0)[2] = time);
        }
        let file = memory::open(&self.path, false)?;
        for block in self.blocks.iter().flatten() {
            block.save(&file, BLOCK)?;
        }
        file.set_len((self.count * RECORD) as u64)
    }
}

/// Keeps the compiler from moving stores across this place.
///
/// Readers come when the process has ended, and then all that it stored is there on every processor, however weakly that
/// orders stores: a kill interrupts a thread between two instructions, and the stores before are complete when the
/// kernel has ended the thread. So only the order that the compiler chooses matters.
#[inline(always)]
fn in_order() {
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}

#[cfg(test)]
mod tests;
