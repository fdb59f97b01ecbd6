//! One hooked function.

use core::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use dwell_measure::call::end_transfer;
use dwell_measure::hook::Hook;
use dwell_measure::thread::Call;
use dwell_model::table::{Row, Table};

use crate::real;

/// A function: where stubs go when nothing is recorded, the real one, and what is known about it.
///
/// The layout is known to assembly: the first word is jumped to.
#[repr(C)]
pub(crate) struct Entry {
    /// The real function once it was found, the hook until then.
    jump: AtomicPtr<()>,
    /// The real function; null until it was found.
    pub(crate) real: AtomicPtr<()>,
    pub(crate) hook: Hook,
    /// The name that linkers know it by.
    symbol: &'static CStr,
}

impl Entry {
    /// Where in an entry the byte is that lets stubs go past the hook.
    pub(crate) const BYPASS: usize = core::mem::offset_of!(Self, hook) + Hook::BYPASS;

    /// The entry for a row of a table. `hook` is the address of its hook.
    pub(crate) const fn new(table: &'static Table, index: usize, hook: *mut ()) -> Self {
        Self {
            jump: AtomicPtr::new(hook),
            real: AtomicPtr::new(core::ptr::null_mut()),
            hook: Hook::new(table, row(table, index)),
            symbol: row(table, index).symbol.c_str(),
        }
    }

    /// The same under another name: the function as another language calls it.
    pub(crate) const fn named(
        table: &'static Table,
        index: usize,
        hook: *mut (),
        symbol: &'static CStr,
    ) -> Self {
        let jump = AtomicPtr::new(hook);
        let real = AtomicPtr::new(core::ptr::null_mut());
        Self { jump, real, hook: Hook::new(table, row(table, index)), symbol }
    }

    /// The real function, if there is one.
    #[inline(always)]
    pub(crate) fn real(&self) -> Option<*mut ()> {
        let real = self.real.load(Ordering::Acquire);
        if real.is_null() { self.find() } else { Some(real) }
    }

    #[cold]
    #[inline(never)]
    fn find(&self) -> Option<*mut ()> {
        let real = real::find(self.symbol)?;
        self.real.store(real, Ordering::Release);
        self.jump.store(real, Ordering::Release);
        Some(real)
    }
}

/// A row of a table. Only for constants: one that is not there does not compile.
#[allow(clippy::indexing_slicing)]
pub(crate) const fn row(table: &Table, index: usize) -> &'static Row {
    &table.rows[index]
}

/// Makes a word of a call, for hooks in assembly.
pub(crate) fn park(call: Option<Call>) -> *mut c_void {
    call.map_or(core::ptr::null_mut(), Call::into_word)
}

/// The second half of the recorder, for hooks in assembly.
pub(crate) extern "C-unwind" fn after_long_double(word: *mut c_void) {
    // SAFETY: what comes back from assembly is what `park` gave it, once.
    if let Some(call) = unsafe { Call::from_word(word) } {
        end_transfer(call);
    }
}
