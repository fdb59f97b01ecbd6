//! Aggregation of calls that find nothing again and again: consecutive ones are one region.
//!
//! A program may poll a million times a second: it tests a flag or a request, or it reads a word of another process until
//! the word has changed. The end of a call that found nothing is not written at once: if the next thing that the thread
//! records is the same call from the same place about the same [`Word`], the region continues. Calls that only test, and
//! return no value, continue it whatever they test. The call that finds
//! something is its last. Everything else ends the region at the time at which its last call ended. Its leave event states
//! the number of calls.
//!
//! A call that reads a word has found nothing if the word is what it was, so the first one does not know. It is written
//! like any other call unless its place has polled before, and so is the second one, up to its end.
//!
//! Between two calls of a region the program hardly computes. What counts is the processor time of the thread: it may
//! have slept, or lost its core to another thread or an interrupt. Reading that time is slow, so it is read when a region
//! begins to be aggregated, every [`RENEWED`] of it, and when a call comes later than [`FREE`] after the one before. At a
//! place that has polled before, or came late ([`Thread::slow_polls`]), it is read after the first call.
//!
//! Calls of a layer over MPI contain calls of MPI, which are recorded in the first call of a region and
//! [counted](super::inner) in all others.
//!
//! An aggregated region stays the innermost frame between its calls, with its end in [`AggregatedPolls::until`]. So every
//! other user of the thread settles it first.
#![allow(unsafe_code)] // Reads the processor time of the thread.

use dwell_model::archive::POLLS_WORDS;
use dwell_model::layer::Layer;
use dwell_model::operation::Operation;
use dwell_unify::definitions::attribute;
use otf2::event::RmaWaitChange;
use otf2::id::{RegionRef, RmaWinRef};
use otf2::{Attribute, AttributeValue, List};

use super::aggregate_tries::Tries;
use super::user::Number;
use super::{
    Busy, Call, Flags, Frame, Location, NOT_RECORDED, Opened, Thread, missed, place_of,
    take_as_it_is,
};
use crate::arch;
use crate::entry::{self, Words, words};
use crate::hook::Hook;
use crate::modulo::Modulo;
use crate::processor_time;
use crate::word::{Seen, Word};

/// Processor time between two calls, in nanoseconds, that is no computing: the loop itself takes some.
const FREE: u64 = 5_000;
/// Processor time between two calls that is no computing if the thread was off its core for most of the time: going to
/// sleep and waking up takes some. A single gap with more than this ends the region.
pub(super) const SLEPT: u64 = 100_000;
/// Time between two calls that ends the region, whatever the thread did: who comes back so rarely does not poll. A thread
/// that has lost its core comes back sooner.
pub(super) const APART: u64 = 20_000_000;
/// Processor time between all calls of a region that does not end it.
const LEAST: u64 = 30_000;
/// Part of a region, as a divisor, in which its thread may have computed between its calls: 2 %.
const PART: u64 = 50;
/// Time in nanoseconds after which the processor time is read again.
const RENEWED: u64 = 100_000;

/// The region that the next call may continue.
#[derive(Clone, Copy, Debug)]
pub(super) struct AggregatedPolls {
    /// Time and processor time of the thread when they were read last, in nanoseconds.
    pub(super) read: (u64, u64),
    /// End of its last call, if the region is open although the call is over; otherwise 0.
    pub(super) until: u64,
    /// Processor time between calls.
    own: u64,
    /// Number of calls in the region.
    pub(super) count: u64,
    /// Number of calls that the thread has recorded, this region included.
    pub(super) calls: u64,
    /// Number of calls that are open with it.
    pub(super) depth: usize,
    pub(super) word: Word,
    /// The read before its first call, in which calls of another layer may read as well.
    last: LastRead,
    /// Value of the word, if its calls return one.
    value: Option<u64>,
    /// State of tries of two calls, if the region has such.
    pub(super) tries: Option<Tries>,
}

impl AggregatedPolls {
    pub(super) const NONE: Self = Self {
        read: (0, 0),
        until: 0,
        own: 0,
        count: 0,
        calls: 0,
        depth: 0,
        word: Word::NONE,
        last: LastRead { return_address: 0, word: Word::NONE, value: 0, calls: 0 },
        value: None,
        tries: None,
    };

    /// Returns `true` if the open call, the last of this many, is part of the region.
    fn count_calls_at(&self, depth: usize) -> bool {
        self.count > 0 && self.until == 0 && self.depth == depth
    }

    /// Returns `true` if a call at `time` continues the polling region that began at `begin`: since its last call, this
    /// thread has hardly computed. `None` if the processor time would say so, and was not read before.
    #[inline]
    fn is_followed_at(&mut self, time: u64, begin: u64) -> Option<bool> {
        let gap = time - self.until;
        if gap < FREE && time - self.read.0 < RENEWED {
            return Some(true);
        }
        if gap > APART {
            return Some(false);
        }
        let (before, used_before) = self.read;
        if before == 0 && gap >= FREE {
            return None;
        }
        let used = processor_time::of_this_thread();
        self.read = (time, used);
        // Time since the last reading that the thread was not on a core.
        let off = (time - before).saturating_sub(used.saturating_sub(used_before));
        let off = if before > 0 { off } else { 0 };
        let own = gap.saturating_sub(off);
        let own = if own < FREE || own < SLEPT && own <= gap / 4 { 0 } else { own };
        self.own += own;
        Some(own <= SLEPT && (self.own <= LEAST || self.own <= (time - begin) / PART))
    }

    /// Returns the time that the thread was not on a core since that was last known, and 0 if it was not.
    #[cold]
    pub(super) fn time_off_core(&mut self, time: u64) -> u64 {
        let (before, used_before) = self.read;
        if before == 0 {
            return 0;
        }
        let used = processor_time::of_this_thread();
        self.read = (time, used);
        (time - before).saturating_sub(used.saturating_sub(used_before))
    }

    /// Returns `true` if a call about `word` may continue the region. Calls that move no bytes and return no value only test:
    /// a program that tests several things in turn waits for any of them, unless it asks for all of them each time.
    fn may_be_about(&self, word: Word, asks_for_all: bool) -> bool {
        let only_tests = self.value.is_none() && self.tries.is_none() && !asks_for_all;
        self.word == word || only_tests && (self.word.bytes, word.bytes) == (0, 0)
    }

    /// Returns `true` if the call that ends now, the last of the region, has found nothing.
    #[inline]
    fn fails(&mut self, seen: Seen) -> bool {
        match seen {
            Seen::Nothing => true,
            Seen::Something => false,
            Seen::Value(value) if self.count == 1 => {
                self.value = Some(value);
                true
            }
            Seen::Value(value) => self.value == Some(value),
        }
    }
}

/// The last call that read a word and was not part of a region of several calls.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastRead {
    pub(super) return_address: usize,
    pub(super) word: Word,
    pub(super) value: u64,
    /// Number of calls that the thread had recorded.
    pub(super) calls: u64,
}

/// What calls from one place have found, without any other call in between.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FoundWords {
    return_address: usize,
    words: [Word; 16],
    count: usize,
    /// Number of calls that the thread had recorded when the last of them was entered.
    calls: u64,
}

/// Enters a call that may find nothing again: continues the region of the last call, if that found nothing. The thread is
/// busy until what is returned is released. `None` if the call is not to be recorded, or is only counted inside another one.
#[inline]
pub(crate) fn enter_again(hook: &'static Hook, word: Word) -> Option<Busy> {
    let words = words();
    let Some(mut thread) = take_as_it_is(words) else { return missed() };
    if thread.depth != 0 && hook.is_countable() && thread.counts_inside(hook, words, || 0) {
        thread.release();
        return None;
    }
    if thread.flags.unsettled {
        if thread.goes_on(hook, words, word) {
            return Some(thread);
        }
        thread.settle();
    }
    if thread.enter(hook, words, Thread::now, false) == Opened::No {
        thread.release();
        return None;
    }
    thread.begin_polls_unless_inside(word);
    Some(thread)
}

/// Continues the region of the last call, as [`enter_again`] does. `None` if this is another call, which has to be begun in
/// the ordinary way.
#[inline(always)]
pub(crate) fn go_on(hook: &'static Hook, word: impl FnOnce() -> Word) -> Option<Call> {
    let words = words();
    let location = words.location.get();
    if location.addr() <= NOT_RECORDED.addr() {
        return None;
    }
    // SAFETY: a pointer in the words of this thread is to its own location, which is never unmapped. It is only read.
    let is_open = unsafe { (*Location::of(location).thread.get()).polls.until != 0 };
    if !is_open {
        return None;
    }
    go_on_polling(hook, words, word())
}

#[cold]
#[inline(never)]
fn go_on_polling(hook: &'static Hook, words: &Words, word: Word) -> Option<Call> {
    let mut thread = take_as_it_is(words)?;
    if thread.goes_on(hook, words, word) {
        return Some(thread.entered());
    }
    thread.release();
    None
}

impl Busy {
    /// Leaves a call that [`enter_again`] entered, at `time`. If the call found nothing, the next one may continue its region.
    #[inline]
    pub(crate) fn leave_again(mut self, time: u64, seen: Seen) {
        if !self.polls.count_calls_at(self.depth) {
            return self.leave(time);
        }
        self.keep_open(time, seen);
        self.release();
    }

    /// Ends a call that read a word, if it is part of a region of several calls or may be the first of one. `None` if it
    /// is, and otherwise the thread, for ending the call in the ordinary way. `finish` writes the records of a call that
    /// may be the first, or of the call that found something.
    #[inline(always)]
    pub(crate) fn end_read(
        mut self,
        depth: usize,
        (word, seen): (Word, Seen),
        finish: impl FnOnce(&mut Thread, u64, Found),
    ) -> Option<Self> {
        if self.polls.count > 1 && self.polls.until == 0 && self.polls.depth == depth + 1 {
            self.end_repeated(seen, finish);
            return None;
        }
        if !self.may_repeat(depth, word, seen) {
            return Some(self);
        }
        let time = self.now();
        finish(&mut self, time, Found::Unknown);
        self.begin_polls(word);
        self.keep_open(time, seen);
        self.release();
        None
    }

    #[cold]
    #[inline(never)]
    fn end_repeated(mut self, seen: Seen, finish: impl FnOnce(&mut Thread, u64, Found)) {
        let time = self.now();
        if !self.polls.fails(seen) {
            finish(&mut self, time, Found::Change);
        }
        self.keep_open(time, seen);
        self.release();
    }
}

/// What a call that read a word has found, for the records of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is the first that reads the word.
    Unknown,
    /// A change since the call before.
    Change,
}

/// Counts an operation of this kind that is not recorded by itself. The counts are written before the next event of the
/// thread, as values of counters. Returns `false` if the thread is not recorded now.
pub fn count_only(kind: Counted, bytes: u64) -> bool {
    let Some(mut thread) = take_as_it_is(words()) else { return false };
    let is_on = thread.encoder.is_some() && !thread.flags.off;
    if is_on && let Some((count, sum)) = thread.counted.get_mut(kind as usize) {
        *count += 1;
        *sum += bytes;
        thread.flags.unsettled = true;
    }
    thread.release();
    is_on
}

/// Kinds of operations that [`count_only`] counts, each by a counter of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Puts through shared memory, contiguous or not.
    Puts,
    /// Gets through shared memory, contiguous or not.
    Gets,
    /// Atomic operations through shared memory.
    Atomics,
}

/// Names of the counters of each kind: operations, and bytes.
const COUNTERS: [[&str; 2]; 3] = [
    ["shared_memory_puts", "shared_memory_bytes_put"],
    ["shared_memory_gets", "shared_memory_bytes_got"],
    ["shared_memory_atomics", "shared_memory_atomic_bytes"],
];

impl Thread {
    /// Writes the events that were deferred: leaves the region that is open although its call is over, and writes the values
    /// of operations that were only counted.
    #[cold]
    #[inline(never)]
    pub(super) fn settle(&mut self) {
        self.flags.unsettled = false;
        self.computing.is_mixed();
        self.end_inner();
        if self.polls.until != 0 {
            self.end_polls();
        }
        self.end_stretch();
        self.settle_membership();
        for (counted, [operations, bytes]) in
            std::mem::take(&mut self.counted).into_iter().zip(COUNTERS)
        {
            let (count, sum) = counted;
            for (name, unit, value) in [(operations, "#", count), (bytes, "bytes", sum)] {
                if count > 0 {
                    self.count_value(name, unit, Number::Int(value.cast_signed()));
                }
            }
        }
    }

    /// Begins a region that later calls may continue, unless the call that has been entered is inside a call of such a
    /// region, which stays the one to be continued.
    fn begin_polls_unless_inside(&mut self, word: Word) {
        let is_inside = self.polls.count > 0 && self.polls.depth < self.depth;
        if !is_inside {
            self.begin_polls(word);
        }
    }

    /// Begins a region that later calls may continue. Its first call has been entered.
    pub(super) fn begin_polls(&mut self, word: Word) {
        let (calls, depth, last) = (self.calls, self.depth, self.last_read);
        self.polls =
            AggregatedPolls { count: 1, calls, depth, word, last, ..AggregatedPolls::NONE };
    }

    /// Returns `true` if the open call continues the region of an earlier one, whose operation has a record.
    pub(crate) fn is_repeated(&self) -> bool {
        self.polls.count > 1 && self.polls.count_calls_at(self.depth)
    }

    /// Makes the open call one that no later call continues, if calls are added to a profile one by one, or if nothing is
    /// written about it for now.
    pub(crate) fn stays_single_if_aside(&mut self) {
        if self.flags.aside | self.flags.muted && !self.is_repeated() {
            self.polls = AggregatedPolls::NONE;
        }
    }

    /// Returns `true` if the open call, the first of its region, may be followed by the same: it found what the call before it
    /// found, or a loop was at its place before. Otherwise it is a call by itself.
    pub(crate) fn may_be_followed(&mut self, seen: Seen) -> bool {
        let AggregatedPolls { last, calls, word, .. } = self.polls;
        let is_it = self.polls.count_calls_at(self.depth);
        if is_it && self.repeats(self.depth.wrapping_sub(1), (last, calls), word, seen) {
            return true;
        }
        if self.polls.depth == self.depth {
            self.polls = AggregatedPolls::NONE;
        }
        false
    }

    /// States that calls which were recorded inside the open one do not mean that it has found something.
    pub(crate) fn overlooks_inner_calls(&mut self) {
        self.polls.calls = self.calls;
    }

    /// Returns `true` if the call that ends now, the last of the open region, has found something.
    pub(crate) fn finds(&mut self, seen: Seen) -> bool {
        !self.polls.fails(seen)
    }

    /// Writes that the calls of a loop waited for a change of a word of another process, at this offset of its memory.
    pub(crate) fn write_change(
        &mut self,
        time: u64,
        (layer, win): (Layer, RmaWinRef),
        (owner, offset): (u32, u64),
    ) {
        // The archive says that words of other processes were polled.
        if !self.polls_words {
            self.polls_words = true;
            self.process.talking_region(POLLS_WORDS, layer, Operation::WaitChange);
        }
        let number =
            |attribute, number| Attribute { attribute, value: AttributeValue::Uint64(number) };
        let attributes =
            [number(attribute::SYMMETRIC_OFFSET, offset), number(attribute::OWNER, owner.into())];
        self.write_event(time, List::from(attributes.as_slice()), RmaWaitChange { win });
    }

    /// Leaves the open call at `time`, without writing it if the next one may continue its region.
    #[inline]
    fn keep_open(&mut self, time: u64, seen: Seen) {
        let fails = self.polls.fails(seen);
        self.polls.until = time;
        self.flags.unsettled = true;
        let recorded_inside = self.polls.calls != self.calls;
        if !fails || recorded_inside || self.flags.muted || time == 0 {
            if seen == Seen::Something && self.polls.tries.is_none() {
                self.note_found();
            }
            self.settle();
            return;
        }
        if self.polls.count == 1 {
            let Frame { return_address, site, .. } = *self.frame();
            if self.sites.modulo(place_of(site)).polls || return_address == self.slow_polls {
                self.polls.read = (time, processor_time::of_this_thread());
            }
        }
    }

    /// Notes that the open call has found something. If it is what a call of the same loop has found before, the loop asks for
    /// everything until all is there. Then only calls about one thing are merged at its place: the others may find what has
    /// long been found, which ends no wait.
    #[cold]
    #[inline(never)]
    fn note_found(&mut self) {
        let AggregatedPolls { word, calls, .. } = self.polls;
        let Frame { return_address, site, .. } = *self.frame();
        let found = &mut self.found;
        if found.return_address != return_address || calls > found.calls + 2 {
            *found = FoundWords { return_address, ..FoundWords::default() };
        }
        found.calls = calls;
        if found.words.iter().take(found.count).any(|it| *it == word) {
            let place = self.sites.modulo_mut(place_of(site));
            place.asks_for_all |= place.return_address == site;
        } else if let Some(next) = found.words.get_mut(found.count) {
            *next = word;
            found.count += 1;
        }
    }

    /// Returns `true` if the call that ends now read a word and may be followed by the same: it found what the call before it
    /// found, or a loop was at its place before.
    #[inline(always)]
    fn may_repeat(&mut self, depth: usize, word: Word, seen: Seen) -> bool {
        let Flags { muted, off, aside, .. } = self.flags;
        if muted | off | aside || self.depth != depth + 1 || self.polls.count != 0 {
            return false;
        }
        self.repeats(depth, (self.last_read, self.calls), word, seen)
    }

    /// Returns `true` if the call at this depth found what the `last` one found, or a loop was at its place before. It was the
    /// call number `entered` of the thread.
    #[inline(always)]
    fn repeats(
        &mut self,
        depth: usize,
        (last, entered): (LastRead, u64),
        word: Word,
        seen: Seen,
    ) -> bool {
        let Frame { return_address, site, .. } = *self.frames.modulo(depth);
        let value = match seen {
            Seen::Value(value) => value,
            Seen::Nothing => return true,
            Seen::Something => return false,
        };
        self.last_read = LastRead { return_address, word, value, calls: self.calls };
        let place = self.sites.modulo_mut(place_of(site));
        let repeats = last.return_address == return_address
            && (last.word, last.value) == (word, value)
            && last.calls + 1 == entered;
        place.polls |= repeats;
        place.polls && place.return_address == site
    }

    /// Returns `true` if a call continues the region that is open although its call is over.
    #[inline]
    fn goes_on(&mut self, hook: &Hook, words: &Words, word: Word) -> bool {
        let is_complete = self.polls.tries.as_ref().is_none_or(Tries::are_complete);
        if self.polls.until == 0 || !is_complete {
            return false;
        }
        let Frame { stack, return_address, site, region, enter, .. } = *self.frame();
        let place = self.sites.modulo(place_of(site));
        let asks_for_all = place.asks_for_all && place.return_address == site;
        let same = hook.region() == Some(region)
            && self.polls.may_be_about(word, asks_for_all)
            && return_address == words.return_address.get()
            && stack == arch::return_place(words.stack.get(), return_address)
            && (!self.flags.unwinds || self.is_from(site, words));
        let time = self.now();
        if !same || time >= self.turns_at || entry::is_quiet() != self.flags.off {
            return false;
        }
        match self.polls.is_followed_at(time, enter) {
            Some(true) => {}
            Some(false) => return false,
            None => {
                self.slow_polls = return_address;
                return false;
            }
        }
        (self.polls.until, self.polls.word) = (0, word);
        self.polls.count += 1;
        if self.polls.count == 2 {
            self.sites.modulo_mut(place_of(site)).polls = true;
        }
        true
    }

    /// Leaves the region that is open although its call is over, at the time at which the call ended.
    fn end_polls(&mut self) {
        let polls = std::mem::replace(&mut self.polls, AggregatedPolls::NONE);
        if let Some(tries) = polls.tries {
            return self.end_tries(&polls, &tries);
        }
        let AggregatedPolls { until, count, word, .. } = polls;
        let Frame { region, muted, row, .. } = *self.frame();
        if count <= 1 || muted {
            self.leave_last(until);
            return;
        }
        if let Some(profile) = &mut self.profile {
            profile.repeat(row, count - 1);
        }
        if self.flags.aside {
            let _ = self.leave_aside(until);
        }
        // The operation of the first call has a record.
        let bytes = u64::from(word.bytes) * (count - 1);
        self.leave_several(until, RegionRef(region), count, bytes);
    }
}
