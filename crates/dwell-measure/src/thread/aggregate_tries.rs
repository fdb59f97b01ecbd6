//! Aggregation of tries of two calls: an operation of MPI that reads a word of another process, and the call that completes
//! it. A program that spins on such a word makes both again and again until the word has changed.
//!
//! This extends [`aggregate_polls`](super::aggregate_polls), whose rules say what continues a loop. What differs is that the
//! word is known only when the second call returns: until then its buffer belongs to MPI and is not read. So a place is known
//! to poll only after a try has found what the one before it found. From then on, its operations begin a region: that
//! stays open over the completing calls, and continues as long as tries of the same two calls follow one another.
//!
//! A region of several tries is written as one call of each function, with the number of calls: the operation from the
//! beginning of its first call to the end of its last, then the last completing call. All operations of the region have
//! one number, which that call completes, as operations have that are outstanding together.
#![allow(unsafe_code)] // Looks at the state of the thread.

use dwell_model::layer::Layer;
use dwell_unify::definitions::attribute;
use otf2::event::Leave;
use otf2::id::{Rank, RegionRef, RmaWinRef};
use otf2::{Attribute, AttributeValue, List};

use super::aggregate_polls::{AggregatedPolls, LastRead};
use super::frame::{Frame, NO_FRAME};
use super::{Busy, Call, Flags, Location, NOT_RECORDED, Thread, place_of, take_as_it_is};
use crate::entry::{self, Words, words};
use crate::hook::{Bytes, Hook, Passed};
use crate::modulo::Modulo;
use crate::mpi::Completion;
use crate::processor_time;
use crate::word::{Seen, Word};

/// Time in a completing call, in nanoseconds, that is a wait of its own: such a try waits until its target serves it. If
/// one in [so many](FEW) tries does, they are calls and no loop that polls. A thread that was off its core for [most](OFF)
/// of the call may not have waited.
const BLOCKS: u64 = 1_000_000;
/// Part of such a call, in quarters, off the core.
const OFF: u64 = 3;
/// On a machine with other work some tries of every loop are long, because their targets have no core.
const FEW: u64 = 4;

/// An operation that reads a word of a window.
#[derive(Clone, Copy, Debug)]
pub struct Try {
    /// The word, by which tries are compared. Its address tells the windows of the process apart as well.
    pub word: Word,
    /// Window of the word.
    pub window: RmaWinRef,
    /// Place of the word in the window of the target, in bytes.
    pub offset: u64,
    /// Buffer in which the value is found once the operation is complete, and the length of the value.
    pub result: (Passed, Bytes),
}

/// The last operation that read a word, until the next call completes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tried {
    it: Try,
    return_address: usize,
    site: usize,
    /// Number of calls that the thread had recorded.
    calls: u64,
}

/// The part of a try that a region of several tries has got to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The operation is not complete.
    Begun,
    /// The program is in the call that completes it.
    Completing,
    /// The completing call is over.
    Complete,
}

/// What a region of tries has in addition to other regions of polls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tries {
    stage: Stage,
    it: Try,
    /// End of the last operation, and the beginning of the last completing call.
    left: u64,
    entered: u64,
    completing: Option<Completing>,
    /// Set if the last try found another value.
    found: bool,
    /// Number of tries that waited for their target.
    blocked: u64,
}

/// The call that completes the operations of a region.
#[derive(Clone, Copy, Debug)]
struct Completing {
    region: u32,
    layer: Layer,
    return_address: usize,
    /// Key of its call site, which is that of its callers if these are recorded.
    site: usize,
    target: Option<Rank>,
    how: Completion,
}

impl Tries {
    /// Returns `true` if an operation may follow: the one before it is complete.
    pub(super) fn are_complete(&self) -> bool {
        self.stage == Stage::Complete
    }
}

/// Continues the region of tries of this thread with the call that completes its operation. `None` if there is no such
/// region, or this is another call, which has to be begun in the ordinary way.
#[inline(always)]
pub(crate) fn go_on_completing(
    hook: &'static Hook,
    window: usize,
    target: Option<Rank>,
    how: Completion,
) -> Option<Call> {
    let words = words();
    let location = words.location.get();
    if location.addr() <= NOT_RECORDED.addr() {
        return None;
    }
    // SAFETY: a pointer in the words of this thread is to its own location, which is never unmapped. It is only read.
    let polls = unsafe { &(*Location::of(location).thread.get()).polls };
    if polls.until == 0 || polls.tries.is_none() {
        return None;
    }
    complete_try(hook, words, window, (target, how))
}

#[cold]
#[inline(never)]
fn complete_try(
    hook: &'static Hook,
    words: &Words,
    window: usize,
    (target, how): (Option<Rank>, Completion),
) -> Option<Call> {
    let mut thread = take_as_it_is(words)?;
    let return_address = words.return_address.get();
    let window = thread.mpi.window(window).map(|window| window.number);
    if let Some(region) = hook.region() {
        let (layer, site) = (hook.meaning.layer, return_address);
        let call = Completing { region, layer, return_address, site, target, how };
        if thread.completes(window, call, words) {
            return Some(thread.entered());
        }
    }
    thread.release();
    None
}

impl Busy {
    /// Ends an operation that reads a word, if it is part of a region of tries or begins one. `None` if it is, and otherwise
    /// the thread, for ending the call in the ordinary way.
    #[inline(always)]
    pub(crate) fn end_operation(mut self, depth: usize) -> Option<Self> {
        let AggregatedPolls { ref tries, until, depth: of_region, .. } = self.polls;
        let continues = tries.is_some() && until == 0 && of_region == depth + 1;
        if !continues && !self.begins_tries(depth) {
            return Some(self);
        }
        self.keep_begun();
        self.release();
        None
    }

    /// Ends the call that completes the operation of a region of tries, with success or not. `None` if it is one, and otherwise
    /// the thread, for ending the call in the ordinary way.
    #[inline(always)]
    pub(crate) fn end_completing(mut self, depth: usize, succeeded: bool) -> Option<Self> {
        if self.polls.tries.is_none() || self.polls.until != 0 || self.polls.depth != depth + 1 {
            return Some(self);
        }
        self.keep_complete(succeeded);
        self.release();
        None
    }
}

impl Thread {
    /// Notes that the open call is an operation that reads a word.
    #[inline(always)]
    pub(crate) fn tries(&mut self, it: Try) {
        let Frame { return_address, site, .. } = *self.frame();
        self.tried = Some(Tried { it, return_address, site, calls: self.calls });
    }

    /// Returns `true` if the operation that ends now begins a region of tries: its place has polled before.
    #[inline(always)]
    fn begins_tries(&mut self, depth: usize) -> bool {
        let Flags { muted, off, aside, .. } = self.flags;
        let Some(Tried { ref it, calls, .. }) = self.tried else { return false };
        if muted | off | aside | self.aggregated || self.depth != depth + 1 || calls != self.calls {
            return false;
        }
        let site = self.frames.modulo(depth).site;
        let place = self.sites.modulo(place_of(site));
        if !place.polls || place.return_address != site || self.polls.count != 0 {
            return false;
        }
        let (it, stage, left, entered, completing) = (*it, Stage::Begun, 0, 0, None);
        self.begin_polls(it.word);
        self.polls.tries =
            Some(Tries { stage, it, left, entered, completing, found: false, blocked: 0 });
        true
    }

    /// Keeps the region open after an operation.
    #[cold]
    #[inline(never)]
    fn keep_begun(&mut self) {
        let time = self.now();
        let recorded_inside = self.polls.calls != self.calls;
        let Some(tries) = &mut self.polls.tries else { return };
        (tries.stage, tries.left) = (Stage::Begun, time);
        self.polls.until = time;
        self.flags.unsettled = true;
        if recorded_inside || self.flags.muted {
            self.settle();
        }
    }

    /// Returns `true` if a call completes the operation of the open region, and begins that part of the try.
    fn completes(
        &mut self,
        window: Option<RmaWinRef>,
        mut call: Completing,
        words: &Words,
    ) -> bool {
        let time = self.now();
        let Some(tries) = &self.polls.tries else { return false };
        let place = |it: &Completing| (it.region, it.return_address);
        let before = tries.completing.as_ref();
        let same = before.is_none_or(|before| place(before) == place(&call));
        let of_word = Some(tries.it.window) == window
            && call.target.is_none_or(|target| target.0 == tries.it.word.target);
        let in_time = time < self.turns_at && entry::is_quiet() == self.flags.off;
        if tries.stage != Stage::Begun || !same || !of_word || !in_time {
            return false;
        }
        if before.is_none() && self.flags.unwinds && self.depth == 1 {
            call.site = self.caller(call.return_address, words.stack.get(), words.frame.get());
        }
        if let Some(tries) = &mut self.polls.tries {
            (tries.stage, tries.entered) = (Stage::Completing, time);
            tries.completing.get_or_insert(call);
        }
        self.polls.until = 0;
        true
    }

    /// Ends a try, and keeps its region open if the word has not changed.
    #[cold]
    #[inline(never)]
    fn keep_complete(&mut self, succeeded: bool) {
        let time = self.now();
        let recorded_inside = self.polls.calls != self.calls;
        let Some(tries) = &self.polls.tries else { return };
        let (result, bytes) = tries.it.result;
        let length = time.saturating_sub(tries.entered);
        let seen = if succeeded { result.word(bytes) } else { Seen::Something };
        let fails = !self.finds(seen);
        let waited = length >= BLOCKS && self.polls.time_off_core(time) < length / 4 * OFF;
        let Some(tries) = &mut self.polls.tries else { return };
        (tries.stage, tries.found) = (Stage::Complete, succeeded && !fails);
        tries.blocked += u64::from(waited);
        let blocks = tries.blocked * FEW > self.polls.count;
        if recorded_inside {
            // Nothing may be written at an earlier time.
            (tries.left, tries.entered) = (time, time);
        }
        self.polls.until = time;
        self.flags.unsettled = true;
        if !fails || blocks || recorded_inside || self.flags.muted {
            self.settle();
        } else if self.polls.count == 1 {
            self.polls.read = (time, processor_time::of_this_thread());
        }
    }

    /// Notes that the open call completes operations on a window. If it completes an operation that has read a word, and the
    /// one before it found the same value there, then its place polls.
    #[inline(always)]
    pub(crate) fn completes_tried(&mut self, window: RmaWinRef, target: Option<Rank>) {
        if self.tried.is_some() {
            self.compare_tried(window, target);
        }
    }

    #[inline(never)]
    fn compare_tried(&mut self, window: RmaWinRef, target: Option<Rank>) {
        let Some(tried) = &self.tried else { return };
        let Tried { it: Try { word, window: of, result: (buffer, bytes), .. }, .. } = *tried;
        let Tried { return_address, site, calls, .. } = *tried;
        self.tried = None;
        let of_word = target.is_none_or(|target| target.0 == word.target);
        if calls + 1 != self.calls || of != window || !of_word {
            return;
        }
        let Seen::Value(value) = buffer.word(bytes) else { return };
        let last = self.last_read;
        self.last_read = LastRead { return_address, word, value, calls: self.calls };
        let same =
            last.return_address == return_address && (last.word, last.value) == (word, value);
        if same && last.calls + 2 == self.calls {
            let place = self.sites.modulo_mut(place_of(site));
            place.polls |= place.return_address == site;
        }
    }

    /// Writes what was deferred of a region of tries, which is over.
    pub(super) fn end_tries(&mut self, polls: &AggregatedPolls, tries: &Tries) {
        let AggregatedPolls { until, count, word, .. } = *polls;
        let Frame { region, layer, .. } = *self.frame();
        let Tries { stage, it, left, entered, completing, found, .. } = *tries;
        // The operation of the first call has a record.
        let bytes = u64::from(word.bytes) * (count - 1);
        if !self.leave_several(left, RegionRef(region), count, bytes) {
            return;
        }
        let (entered, completed) = match stage {
            Stage::Begun => (until, count - 1),
            Stage::Completing | Stage::Complete => (entered, count),
        };
        let Some(Completing { region, layer: of, return_address, site, target, how }) =
            completing.filter(|_| completed > 0)
        else {
            return;
        };
        if !self.open(entered, Frame { return_address, site, region, layer, ..NO_FRAME }) {
            return;
        }
        if stage == Stage::Complete {
            self.write_completions(until, it.window, target, how);
        }
        if found {
            self.write_change(until, (of, it.window), (word.target, it.offset));
        }
        self.leave_several(until, RegionRef(region), completed, 0);
    }

    /// Leaves the innermost call, which stands for several. Returns `false` if there was no room.
    pub(super) fn leave_several(
        &mut self,
        time: u64,
        region: RegionRef,
        count: u64,
        bytes: u64,
    ) -> bool {
        if count <= 1 {
            return self.leave_last(time);
        }
        let number = |attribute, number| {
            let value = AttributeValue::Uint64(number);
            Attribute { attribute, value }
        };
        let Frame { layer, hidden, .. } = *self.frame();
        let calls = number(attribute::CALLS, count);
        let written = if bytes == 0 {
            self.write_tagged(time, calls, Leave { region })
        } else {
            let tags = [calls, number(attribute::BYTES_IN_CALLS, bytes)];
            self.write_event(time, List::from(tags.as_slice()), Leave { region })
        };
        if !written && !self.leaves_later(region) {
            return false;
        }
        self.depth -= 1;
        self.layers = self.layers & !layer | hidden;
        true
    }
}
