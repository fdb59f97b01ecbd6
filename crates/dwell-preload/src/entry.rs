//! Entries: the data that belong to one hooked function.

use core::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use dwell_measure::call::end_transfer;
use dwell_measure::hook::Hook;
use dwell_measure::thread::Call;
use dwell_model::table::{Row, Table};

use crate::real;

/// A hooked function: the target of its stub while nothing is recorded, the real function, and its row.
///
/// Assembly relies on the layout: stubs jump to the address in the first word.
#[repr(C)]
pub(crate) struct Entry {
    /// Address of the real function, or that of the hook until the real one was found.
    jump: AtomicPtr<()>,
    /// Address of the real function; null until it was found.
    pub(crate) real: AtomicPtr<()>,
    pub(crate) hook: Hook,
    /// Symbol of the function, by which the loader finds it.
    symbol: &'static CStr,
}

impl Entry {
    /// Offset in an entry of the byte that makes stubs bypass the hook.
    pub(crate) const BYPASS: usize = core::mem::offset_of!(Self, hook) + Hook::BYPASS;

    /// Creates the entry for a row of a table. `hook` is the address of its hook.
    pub(crate) const fn new(table: &'static Table, index: usize, hook: *mut ()) -> Self {
        Self {
            jump: AtomicPtr::new(hook),
            real: AtomicPtr::new(core::ptr::null_mut()),
            hook: Hook::new(table, row(table, index)),
            symbol: row(table, index).symbol.c_str(),
        }
    }

    /// Creates an entry for a row under another symbol, by which another language calls the function.
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

    /// Returns the real function, or `None` if no loaded library has it. The first call looks it up.
    #[inline(always)]
    pub(crate) fn real(&self) -> Option<*mut ()> {
        let real = self.real.load(Ordering::Acquire);
        if real.is_null() { self.find() } else { Some(real) }
    }

    /// Returns the symbol of the function.
    pub(crate) fn symbol(&self) -> &'static CStr {
        self.symbol
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

/// Returns a row of a table. It is used in constants only, so an index out of range does not compile.
#[allow(clippy::indexing_slicing)]
pub(crate) const fn row(table: &Table, index: usize) -> &'static Row {
    &table.rows[index]
}

/// Turns a recorded call into a word that a hook in assembly can keep; null if the call is not recorded.
pub(crate) fn park(call: Option<Call>) -> *mut c_void {
    call.map_or(core::ptr::null_mut(), Call::into_word)
}

/// Records the end of a call for hooks in assembly. `word` comes from [`park`].
pub(crate) extern "C-unwind" fn after_long_double(word: *mut c_void) {
    // SAFETY: what comes back from assembly is what `park` gave it, once.
    if let Some(call) = unsafe { Call::from_word(word) } {
        end_transfer(call);
    }
}
