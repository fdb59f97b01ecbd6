//! The protocol between a thread that records and the thread that ends the recording.
//!
//! The state of a thread has one user at a time: its own thread, or, after recording has been switched off, the thread
//! that closes its files. A flag identifies the user ([`Flag`]), a byte states whether calls are recorded ([`Switch`]). The
//! thread announces itself in the flag and then looks at the switch; the other one turns the switch off and then looks
//! at the flag. So one of the two sees the other, if neither look can be made before the store that precedes it. The
//! recording thread must not pay for that at every call, so the other one pays for both, with a barrier that the kernel
//! makes on all processors.
//!
//! Atomics come from the parent module. In the library these are the processor's; `tests/all/models.rs` compiles this very
//! file with those of `loom`, which tries every order that the memory model allows.

use super::atomics::{AtomicBool, AtomicU8, AtomicUsize, Ordering, announce, cheap_barrier};

/// The byte that says whether calls are recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Switch<'s>(pub(crate) &'s AtomicU8);

impl Switch<'_> {
    /// Returns whether calls are recorded.
    #[inline(always)]
    pub(crate) fn is_on(self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Turns recording on or off. Threads see that at their next calls.
    pub(crate) fn turn(self, on: bool) {
        self.0.store(u8::from(on), Ordering::Release);
    }

    /// Turns recording off for good. `barrier` must order what comes before it and what comes after it on the
    /// processors of all threads.
    pub(crate) fn end(self, barrier: impl FnOnce()) {
        self.turn(false);
        barrier();
    }
}

/// Result of an attempt to use the state of a thread for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The state is in use by the caller, until [`Flag::release`].
    Yes,
    /// The state was in use already.
    Busy,
    /// Recording is off, and the state is not in use by the caller.
    Off,
}

/// Identifies the user of the state of a thread: the stack pointer of the user, or 0.
#[derive(Debug)]
pub(crate) struct Flag(AtomicUsize);

impl Flag {
    /// Makes the flag of a state that is not in use.
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Begins to use the state; returns `false` if it is in use. Only one thread at a time may try: the thread that the
    /// state belongs to, or the one that [closes](Self::take_from_owner) it.
    #[inline(always)]
    pub(crate) fn take(&self) -> bool {
        // One thread writes the flag, so the two steps need not be one. Only a signal handler of the same thread can
        // come between them, and that has ended when the second is done.
        if self.0.load(Ordering::Relaxed) != 0 {
            return false;
        }
        announce(&self.0);
        true
    }

    /// Begins to use the state for a call of its thread, if recording is on.
    #[inline(always)]
    pub(crate) fn take_to_record(&self, switch: Switch<'_>) -> Taken {
        if !self.take() {
            return Taken::Busy;
        }
        // The thread that ends the recording orders the look at the switch behind the announcement on this processor, too:
        // see `Switch::end`. Here only the compiler must keep to the order.
        cheap_barrier();
        if !switch.is_on() {
            self.release();
            return Taken::Off;
        }
        Taken::Yes
    }

    /// Begins to use the state of another thread, after the [end](Switch::end) of the recording. Returns `false` if the
    /// thread still uses it.
    pub(crate) fn take_from_owner(&self) -> bool {
        // Everything that the thread wrote before it released the state is visible here.
        self.0.load(Ordering::Acquire) == 0 && self.take()
    }

    /// Ends the use of the state.
    #[inline(always)]
    pub(crate) fn release(&self) {
        // A thread that sees that the state is not in use also sees everything that was written to it. Signal handlers of
        // this thread see the stores in the same order.
        self.0.store(0, Ordering::Release);
    }

    /// Returns the stack pointer of the user, or 0. For the thread that the state belongs to.
    pub(crate) fn user(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Says whether a lock is held.
#[derive(Debug)]
pub(crate) struct Held(AtomicBool);

impl Held {
    /// Makes the flag of a lock from an atomic that is `false`.
    pub(crate) const fn of(free: AtomicBool) -> Self {
        Self(free)
    }

    /// Takes the lock, unless it is held. An attempt that fails stores nothing.
    pub(crate) fn take(&self) -> bool {
        self.0.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Gives the lock back. Only for its holder.
    pub(crate) fn give_back(&self) {
        self.0.store(false, Ordering::Release);
    }
}
