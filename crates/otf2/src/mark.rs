//! The commit mark: the only unsafe code of this crate.
//!
//! An event becomes part of a chunk when its first byte stops being zero, because a zero byte means
//! *end of chunk*. Everything else of the event must be in memory before that byte, or a process
//! killed at the wrong instruction would leave half an event behind. Plain stores may be reordered by
//! the compiler and, seen from another process that maps the file, by the processor. A release
//! store may not, and the standard library makes an atomic from a plain byte only by an unsafe
//! function.
#![allow(unsafe_code)]

use core::sync::atomic::AtomicU8;

use crate::commit;

/// Stores `value` so that it is visible only after all earlier stores.
#[inline(always)]
pub(crate) fn publish(place: &mut u8, value: u8) {
    // SAFETY: the pointer comes from a live exclusive reference, so it is valid and aligned for the
    // duration of the borrow, and nothing else can access the byte through Rust meanwhile.
    let place = unsafe { AtomicU8::from_ptr(place) };
    commit::store(place, value);
}
