//! Operations of a thread that may be outstanding, and the windows on which they act.

use std::sync::atomic::Ordering;

use super::Thread;

impl Thread {
    /// Starts an operation on a window and returns its id.
    #[inline(always)]
    pub(crate) fn operation(&mut self, window: u32, blocking: bool, outstanding: bool) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        if let Some(pending) = self.pending.get_mut(window as usize) {
            self.was_outstanding = pending.1;
            *pending = (id, pending.1 | outstanding);
        }
        let frame = self.frame();
        (frame.window, frame.id, frame.blocking) = (window, id, blocking);
        id
    }

    /// Returns the last operation of this location on a window, or `None` if no operations can be outstanding there.
    /// None is outstanding afterwards.
    pub(crate) fn complete(&mut self, window: u32) -> Option<u64> {
        match self.pending.get_mut(window as usize) {
            Some(pending) => {
                let (last, outstanding) = *pending;
                pending.1 = false;
                (outstanding || self.process.has_threads()).then_some(last)
            }
            None => Some(self.next_id.saturating_sub(1)),
        }
    }

    /// Returns the window of a context.
    #[inline(always)]
    pub(crate) fn window(&mut self, context: usize) -> u32 {
        if context == 0 {
            return 0;
        }
        let edition = self.process.windows.edition();
        let (known, window, of) = self.context;
        if known == context && of == edition {
            return window;
        }
        let window = self.process.windows.of_handle(context);
        self.context = (context, window, edition);
        window
    }

    /// Returns the window of an operation on memory at an address: that of static data, or that of the symmetric heap.
    #[inline(always)]
    pub(crate) fn window_at(&mut self, window: u32, address: usize) -> u32 {
        let is_static = self.process.symmetric.is_static(address);
        if is_static { self.static_window(window) } else { window }
    }

    /// Returns the window of the static data that belongs to a window.
    #[inline(never)]
    pub(crate) fn static_window(&mut self, window: u32) -> u32 {
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
    pub(crate) fn known_static_window(&self, window: u32) -> Option<u32> {
        if !self.process.has_static_windows.load(Ordering::Relaxed) {
            return None;
        }
        match self.statics {
            Some((of, number)) if of == window => Some(number),
            _ => self.process.windows.find(self.process.windows.get(window)?.of_static_data()),
        }
    }
}
