//! Operations of a thread that may be outstanding, and the windows on which they act.

use std::sync::atomic::Ordering;

use dwell_model::operation::Mode;
use otf2::id::{MatchingId, RmaWinRef};

use super::Thread;
use crate::hook::{Address, Context};

/// State of an operation at its target when its call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtTarget {
    /// The operation is complete.
    Complete,
    /// A later call completes the operation.
    Outstanding,
}

impl Thread {
    /// Starts an operation on a window and returns its id.
    #[inline(always)]
    pub(crate) fn operation(
        &mut self,
        window: RmaWinRef,
        mode: Mode,
        at_target: AtTarget,
    ) -> MatchingId {
        let id = MatchingId(self.next_id);
        self.next_id += 1;
        if let Some(pending) = self.pending.get_mut(window.0 as usize) {
            self.was_outstanding = pending.1;
            *pending = (id, pending.1 | (at_target == AtTarget::Outstanding));
        }
        let frame = self.frame();
        (frame.window, frame.id, frame.blocking) = (window, id, mode == Mode::Blocking);
        id
    }

    /// Returns the last operation of this location on a window, or `None` if no operations can be outstanding there.
    /// None is outstanding afterwards.
    pub(crate) fn complete(&mut self, window: RmaWinRef) -> Option<MatchingId> {
        match self.pending.get_mut(window.0 as usize) {
            Some(pending) => {
                let (last, outstanding) = *pending;
                pending.1 = false;
                (outstanding || self.process.has_threads()).then_some(last)
            }
            None => Some(MatchingId(self.next_id.saturating_sub(1))),
        }
    }

    /// Returns the window of a context.
    #[inline(always)]
    pub(crate) fn window(&mut self, context: Context) -> RmaWinRef {
        if context == Context::DEFAULT {
            return RmaWinRef(0);
        }
        let edition = self.process.windows.edition();
        let (known, window, of) = self.context;
        if known == context && of == edition {
            return window;
        }
        let window = self.process.windows.of_handle(context.0);
        self.context = (context, window, edition);
        window
    }

    /// Returns the window of an operation on memory at an address: that of static data, or that of the symmetric heap.
    #[inline(always)]
    pub(crate) fn window_at(&mut self, window: RmaWinRef, address: Address) -> RmaWinRef {
        let is_static = self.process.symmetric.is_static(address.0);
        if is_static { self.static_window(window) } else { window }
    }

    /// Returns the window of the static data that belongs to a window.
    #[inline(never)]
    pub(crate) fn static_window(&mut self, window: RmaWinRef) -> RmaWinRef {
        match self.statics {
            Some((of, number)) if of == window => number,
            _ => {
                let Some(of) = self.process.windows.get(window) else { return window };
                let number = self.process.window(of.of_static_data());
                self.process.has_static_windows.store(true, Ordering::Relaxed);
                self.statics = Some((window, number));
                number
            }
        }
    }

    /// Returns the window of the static data that belongs to a window, if any thread has used it.
    #[inline]
    pub(crate) fn known_static_window(&self, window: RmaWinRef) -> Option<RmaWinRef> {
        if !self.process.has_static_windows.load(Ordering::Relaxed) {
            return None;
        }
        match self.statics {
            Some((of, number)) if of == window => Some(number),
            _ => self.process.windows.find(self.process.windows.get(window)?.of_static_data()),
        }
    }
}
