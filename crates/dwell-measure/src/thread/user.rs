//! Events of the program's own code: functions that the compiler instrumented, regions and phases that the program
//! names, parameters that it sets, and counters whose values it reports.
//!
//! These regions have no meaning for the analysis of waits; they contain the calls of runtimes. A function that
//! was left by `longjmp` or never returned is left when a call shows that the stack has been used again, or when a
//! region around it is left. A region that the program names ends when the program says so, or with the region around
//! it: the function that ends it need not be the one that began it.
//!
//! A parameter that is set is kept among the open calls, as a step of the call path. It ends with the region that it
//! was set in, or when it is set again there, which also ends those that were set after it.

use dwell_model::archive::{INSTANCE, PHASE, STARTS_RECORDING};
use dwell_model::layer::Layer;
use dwell_model::operation::Operation;
use dwell_unify::definitions::attribute;
use otf2::List;
use otf2::enums::{ParameterType, RmaSyncType};
use otf2::event::{Metric, ParameterInt, ParameterString, ParameterUnsignedInt, RmaSync};
use otf2::id::{MetricRef, ParameterRef, Rank, StringRef};
use otf2::value::MetricValue;

use super::{DEPTH, Frame, NO_FRAME, Thread, take};
use crate::clock::Sample;
use crate::entry::{self, words};
use crate::guard::{self, guarded};
use crate::mpi::Window;
use crate::process::Process;
use crate::profile::ValueKind;

/// Records that a function of the program begins at `address`. `site` is its return address, and `stack` the stack
/// pointer at the time of the call: the function counts as left once the stack above that has been used again.
pub fn enter_function(address: usize, site: usize, stack: usize) {
    enter(|process| process.function(address), site, stack, |_| stack, |_| ());
}

/// Records that the function of the program at `address` ends. Functions inside it that never returned end with it.
/// Does nothing if the function is not open, because it began before the recording did.
pub fn leave_function(address: usize) {
    leave(|process| process.function(address));
}

/// Records that a handler of the program at `address` begins, which a call of `layer` runs. Calls of that layer inside it
/// are recorded, because the program makes them. `stack` is the stack pointer in the function that calls the handler. The
/// handler has received an active message from the process `source` of the window, with this checksum; `None` if nothing
/// is known of it.
pub fn enter_handler(
    address: usize,
    stack: usize,
    layer: Layer,
    message: Option<(&Window, u32, u64)>,
) {
    enter(
        |process| process.function(address),
        0,
        stack,
        |_| stack,
        |thread| {
            let hidden = thread.layers & 1 << layer as u32;
            thread.layers &= !hidden;
            thread.frame().hidden = hidden;
            let Some((window, source, checksum)) = message else { return };
            let (win, remote) = (window.number, Rank(source));
            let event = RmaSync { win, remote, sync_type: RmaSyncType::NotifyIn };
            let time = thread.time();
            thread.write_with(time, attribute::ACTIVE_MESSAGE, checksum, event);
        },
    );
}

/// Records that a handler begins, as [`enter_handler`] does, by a region of no length. Calls of the layer that the handler
/// makes are recorded in the call that runs it. Returns `true` if the caller must call [`set_inside`] with `true` at the end of
/// the handler.
pub fn handler_event(
    address: usize,
    stack: usize,
    layer: Layer,
    message: Option<(&Window, u32, u64)>,
) -> bool {
    enter_handler(address, stack, layer, message);
    leave_function(address);
    set_inside(layer, false)
}

/// Sets whether the calling thread counts as being inside a call of a layer. Calls of the layer are recorded outside of such a
/// call, and are part of it inside. Returns what held before.
pub fn set_inside(layer: Layer, inside: bool) -> bool {
    let (bit, mut before) = (1 << layer as u32, inside);
    guarded(guard::Entry::User, || {
        let Some(mut thread) = take(words()) else { return };
        before = thread.layers & bit != 0;
        thread.layers = if inside { thread.layers | bit } else { thread.layers & !bit };
        thread.release();
    });
    before
}

/// Records that a region begins that the program names. `site` and `stack` are the return address and the stack pointer
/// of the call that says so.
pub fn enter_named(name: &str, site: usize, stack: usize) {
    enter(|process| process.named_region(name, ""), site, stack, Thread::stack_around, |_| ());
}

/// Records that the innermost open region of this name ends, with everything that is open inside it. Does nothing if no
/// region of this name is open.
pub fn leave_named(name: &str) {
    leave(|process| process.named_region(name, ""));
}

/// Records that a region begins which a language runtime reports. `meaning` is its description, and `stack` the stack pointer
/// of the call that reports it.
pub fn enter_reported(name: &str, meaning: &str, stack: usize) {
    let region = |process: &Process| process.reported_region(name, meaning);
    enter(region, 0, stack, Thread::stack_around, |_| ());
}

/// Records that the innermost open region of this name and description ends, with everything that is open inside it. Does
/// nothing if no such region is open.
pub fn leave_reported(name: &str, meaning: &str) {
    leave(|process| process.reported_region(name, meaning));
}

/// Records that a phase begins, such as an iteration, and sets its number as a parameter. `site` and `stack` are the
/// return address and the stack pointer of the call that says so.
pub fn enter_phase(name: &str, number: i64, site: usize, stack: usize) {
    let region = |process: &Process| process.named_region(name, PHASE);
    enter(region, site, stack, Thread::stack_around, |thread| {
        thread.set(INSTANCE, ParameterValue::Int(number));
    });
}

/// Records that the innermost open phase of this name ends, with everything that is open inside it. Does nothing if no
/// phase of this name is open.
pub fn leave_phase(name: &str) {
    leave(|process| process.named_region(name, PHASE));
}

/// The value of a parameter that the program sets, with its type in the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterValue<'a> {
    /// A signed integer, as `OTF2_PARAMETER_TYPE_INT64`.
    Int(i64),
    /// An unsigned integer, as `OTF2_PARAMETER_TYPE_UINT64`.
    Unsigned(u64),
    /// A text, which becomes a string definition.
    Text(&'a str),
}

/// A value of a counter that the program reports, with its type in the archive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A signed integer of 64 bits.
    Int(i64),
    /// A floating-point number of double precision.
    Real(f64),
}

/// Records that a parameter has a value from now on, until the region around the call ends or the parameter is set
/// again there. `stack` is the stack pointer of the call.
pub fn set(name: &str, setting: ParameterValue<'_>, stack: usize) {
    beside(stack, |thread| thread.set(name, setting));
}

/// Records the value of a counter at this moment. `unit` may be empty; counters of the same name and different units
/// are different counters. `stack` is the stack pointer of the call.
pub fn count(name: &str, unit: &str, number: Number, stack: usize) {
    beside(stack, |thread| thread.count_value(name, unit, number));
}

fn beside(stack: usize, action: impl FnOnce(&mut Thread)) {
    guarded(guard::Entry::User, || {
        let Some(mut thread) = take(words()) else { return };
        if thread.nest(stack, 0) {
            action(&mut thread);
        }
        thread.release();
    });
}

/// Runs `action`, in which the recorder communicates through a runtime, inside a region of this name, so that the time
/// is not taken for that of the program.
pub(crate) fn as_region<T>(name: &str, layer: Layer, action: impl FnOnce() -> T) -> T {
    if !entry::is_on() {
        return action();
    }
    let here = 0_usize;
    let stack = std::ptr::from_ref(&here).addr();
    let region = |process: &Process| process.talking_region(name, layer, Operation::Other);
    enter(region, 0, stack, |_| stack, |_| ());
    let result = action();
    leave(region);
    result
}

/// Records the start of the recording as a region, from `since` until now: a time at which the thread could not record yet,
/// and which is not the program's. It is not counted as a call.
pub(crate) fn start_region(layer: Layer, since: Sample) {
    guarded(guard::Entry::User, || {
        let Some(mut thread) = take(words()) else { return };
        let here = 0_usize;
        let stack = std::ptr::from_ref(&here).addr();
        let time = thread.process.clock.of(since).max(thread.time);
        let region = thread.process.talking_region(STARTS_RECORDING, layer, Operation::Initialise);
        let region = region.filter(|_| !thread.flags.off);
        let frame = |region| Frame { stack, region, own_code: true, ..NO_FRAME };
        if region.is_some_and(|region| thread.open(time, frame(region))) {
            thread.calls -= 1;
            let now = thread.now();
            thread.leave(now);
        } else {
            thread.release();
        }
    });
}

/// Largest depth of functions of the program. The remaining frames are for calls of runtimes, which are recorded at any
/// depth.
const MOST: usize = DEPTH - 32;

/// Enters a region that is open as long as the stack at the result of `lives` is in use, and then runs `then`.
fn enter(
    region: impl FnOnce(&'static Process) -> Option<u32>,
    site: usize,
    stack: usize,
    lives: impl FnOnce(&Thread) -> usize,
    then: impl FnOnce(&mut Thread),
) {
    guarded(guard::Entry::User, || {
        let Some(mut thread) = take(words()) else { return };
        if thread.nest(stack, 0) {
            if thread.depth >= MOST {
                thread.skipped += 1;
            } else if let Some(region) = region(thread.process) {
                let (time, return_address) = (thread.now(), site);
                thread.turn_if_due(time);
                let (stack, own_code, muted) = (lives(&thread), true, thread.flags.off);
                let frame =
                    Frame { stack, return_address, site, region, own_code, muted, ..NO_FRAME };
                if thread.open(time, frame) {
                    then(&mut thread);
                }
            }
        }
        thread.release();
    });
}

fn leave(region: impl FnOnce(&'static Process) -> Option<u32>) {
    guarded(guard::Entry::User, || {
        let Some(mut thread) = take(words()) else { return };
        if thread.skipped > 0 {
            thread.skipped -= 1;
        } else if let Some(region) = region(thread.process) {
            let open = thread.frames.get(..thread.depth).unwrap_or_default();
            let is =
                |frame: &Frame| frame.own_code && frame.region == region && frame.parameter == 0;
            // Functions that began before the recording did were never entered.
            if let Some(at) = open.iter().rposition(is) {
                thread.leave_to(at);
            }
        }
        thread.release();
    });
}

impl Thread {
    /// Returns the stack pointer that decides when a named region ends by itself: that of the call around it.
    pub(super) fn stack_around(&self) -> usize {
        let open = self.frames.get(..self.depth).unwrap_or_default();
        open.last().map_or(usize::MAX, |frame| frame.stack)
    }

    fn set(&mut self, name: &str, setting: ParameterValue<'_>) {
        let known = match setting {
            ParameterValue::Int(value) => Some((ParameterType::Int64, value.cast_unsigned())),
            ParameterValue::Unsigned(value) => Some((ParameterType::Uint64, value)),
            ParameterValue::Text(text) => {
                self.process.text(text).map(|text| (ParameterType::String, u64::from(text)))
            }
        };
        let Some((kind, value)) = known else { return };
        let Some(number) = self.process.parameter(name, kind) else { return };
        let open = self.frames.get(..self.depth).unwrap_or_default();
        // Inside a call of a runtime there is nothing to split.
        if open.last().is_some_and(|frame| !frame.own_code) || self.depth >= MOST {
            return;
        }
        let set = open.iter().rev().take_while(|frame| frame.parameter != 0);
        let again = set.clone().position(|frame| frame.parameter == number + 1);
        let time = match again {
            // At the time at which it is set again, as the trace will say.
            Some(above) => {
                self.leave_to(self.depth - 1 - above);
                self.time
            }
            None => self.now(),
        };
        self.turn_if_due(time);
        let muted = self.flags.off;
        let mut row = 0;
        if !muted {
            self.enter_program(time);
            let parameter = ParameterRef(number);
            let written = match kind {
                ParameterType::Int64 => {
                    self.write(time, ParameterInt { parameter, value: value.cast_signed() })
                }
                ParameterType::Uint64 => {
                    self.write(time, ParameterUnsignedInt { parameter, value })
                }
                _ => {
                    let string = StringRef(value as u32);
                    self.write(time, ParameterString { parameter, string })
                }
            };
            if !written {
                self.process.head.loses_call();
                return;
            }
            let parent = self.row_or_program(time);
            if let Some(profile) = &mut self.profile
                && parent != 0
            {
                row = entry::keeping_errno(|| {
                    let kind = match kind {
                        ParameterType::String => ValueKind::Text,
                        _ => ValueKind::Number,
                    };
                    profile.parameter(parent, number, value, kind)
                });
            }
        }
        let (stack, own_code, parameter) = (self.stack_around(), true, number + 1);
        if let Some(place) = self.frames.get_mut(self.depth) {
            *place = Frame { stack, own_code, parameter, muted, row, enter: time, ..NO_FRAME };
            self.depth += 1;
        }
    }

    pub(super) fn count_value(&mut self, name: &str, unit: &str, number: Number) {
        let value = match number {
            Number::Int(value) => MetricValue::signed(value),
            Number::Real(value) => MetricValue::real(value),
        };
        let Some(counter) = self.process.counter(name, unit, value.value_type) else { return };
        let time = self.now();
        self.turn_if_due(time);
        if self.flags.off {
            return;
        }
        self.enter_program(time);
        let (metric, values) = (MetricRef(counter), [value]);
        self.write(time, Metric { metric, values: List::from(values.as_slice()) });
        let row = self.row_or_program(time);
        if let Some(profile) = &mut self.profile
            && row != 0
        {
            entry::keeping_errno(|| profile.value(row, counter, value));
        }
    }

    /// Returns the row of the innermost open call, or that of the program.
    fn row_or_program(&mut self, time: u64) -> u32 {
        match self.profile {
            Some(_) => self.row_around(time),
            None => 0,
        }
    }
}
