//! The program's own code: functions that the compiler instrumented, and regions that the program names.
//!
//! They are regions without a meaning, around the calls of runtimes. A function that was left by `longjmp`
//! or never returned is left when a call shows that the stack has been used again, or when one around it is
//! left.

use otf2::enums::RegionRole;

use super::{DEPTH, Frame, NO_FRAME, take};
use crate::entry;
use crate::process::Process;

/// A function of the program begins. `site` is where it returns to; `stack` is where on the stack it was when
/// it said so.
pub fn enter_function(address: usize, site: usize, stack: usize) {
    enter(|process| process.function(address), site, stack);
}

/// A function of the program ends.
pub fn leave_function(address: usize) {
    leave(|process| process.function(address));
}

/// A region that the program names begins.
pub fn enter_named(name: &str, site: usize, stack: usize) {
    enter(|process| process.named_region(name, RegionRole::Code), site, stack);
}

/// A region that the program names ends.
pub fn leave_named(name: &str) {
    leave(|process| process.named_region(name, RegionRole::Code));
}

/// Runs something that the recorder does on time of the program, as a region that says so.
pub(crate) fn as_region<T>(name: &str, action: impl FnOnce() -> T) -> T {
    if !entry::is_on() {
        return action();
    }
    let here = 0_usize;
    let role = RegionRole::Artificial;
    enter(|process| process.named_region(name, role), 0, std::ptr::from_ref(&here).addr());
    let result = action();
    leave(|process| process.named_region(name, role));
    result
}

/// Functions inside functions that are kept apart. The rest of the places is for calls of runtimes, which
/// are recorded at any depth.
const MOST: usize = DEPTH - 32;

fn enter(region: impl FnOnce(&'static Process) -> Option<u32>, site: usize, stack: usize) {
    let Some(thread) = take() else { return };
    if thread.nest(stack, 0) {
        if thread.depth >= MOST {
            thread.skipped += 1;
        } else if let Some(region) = region(thread.process) {
            let time = thread.now();
            thread.turn_if_due(time);
            let (return_address, own_code, muted) = (site, true, thread.off);
            let frame = Frame { stack, return_address, region, own_code, muted, ..NO_FRAME };
            thread.open(time, frame);
        }
    }
    thread.release();
}

fn leave(region: impl FnOnce(&'static Process) -> Option<u32>) {
    let Some(thread) = take() else { return };
    if thread.skipped > 0 {
        thread.skipped -= 1;
        return thread.release();
    }
    if let Some(region) = region(thread.process) {
        let open = thread.frames.get(..thread.depth).unwrap_or_default();
        let is = |frame: &Frame| frame.own_code && frame.region == region;
        // Functions that began before the recording did were never entered.
        if let Some(at) = open.iter().rposition(is) {
            while thread.depth > at {
                let time = thread.now();
                if !thread.leave_last(time) {
                    break;
                }
            }
        }
    }
    thread.release();
}
