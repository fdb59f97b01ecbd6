//! Models of the lock-free parts of the recorder: `loom` tries every order of steps and every value that the memory
//! model allows a load to have.
//!
//! The models compile the recorder's own source with loom's atomics. Two things are not the same. What the recorder does
//! in assembly, storing its stack pointer, is a relaxed store here. And the barrier that the kernel makes on all
//! processors (`membarrier`), for which loom has no name, is a sequentially consistent fence on both sides: that is what
//! it amounts to for two threads, one of which keeps the order of its own instructions.
#![allow(unsafe_code)] // Loom hands out cells as pointers.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// Loom's atomics, and the announcement of a user.
mod atomics {
    pub(crate) use loom::sync::atomic::{
        AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering, fence,
    };

    pub(crate) fn announce(flag: &AtomicUsize) {
        flag.store(1, Ordering::Relaxed);
    }

    pub(crate) fn cheap_barrier() {
        barrier();
    }

    pub(crate) fn barrier() {
        fence(Ordering::SeqCst);
    }
}

#[allow(dead_code)] // Models do without what only panics need.
#[path = "../../src/reentrancy.rs"]
mod reentrancy;

#[path = "../../src/slot.rs"]
mod slot;

use atomics::{AtomicBool, AtomicU8, AtomicUsize, Ordering, barrier};
use reentrancy::{Flag, Held, Switch, Taken};
use slot::Slot;

/// A state with the flag that says who uses it. Loom fails a model in which two threads use a cell at a time, or one
/// does without seeing what the other wrote.
struct State {
    switch: AtomicU8,
    flag: Flag,
    events: UnsafeCell<u32>,
}

impl State {
    fn new() -> Arc<Self> {
        let (switch, flag) = (AtomicU8::new(1), Flag::new());
        Arc::new(Self { switch, flag, events: UnsafeCell::new(0) })
    }

    fn switch(&self) -> Switch<'_> {
        Switch(&self.switch)
    }

    /// Records a call, if recording is on.
    fn record(&self) -> Taken {
        let taken = self.flag.take_to_record(self.switch());
        if taken == Taken::Yes {
            // SAFETY: loom checks what the flag promises: that nobody else uses the cell.
            self.events.with_mut(|events| unsafe { *events += 1 });
            self.flag.release();
        }
        taken
    }

    /// Closes the state, if its thread does not use it. Returns the number of events.
    fn close(&self) -> Option<u32> {
        if !self.flag.take_from_owner() {
            return None;
        }
        // SAFETY: as above.
        let events = self.events.with_mut(|events| unsafe {
            *events += 100;
            *events - 100
        });
        self.flag.release();
        Some(events)
    }
}

/// A thread records calls while another one ends the recording and closes its state.
#[test]
fn a_state_has_one_user_at_a_time() {
    loom::model(|| {
        let state = State::new();
        let recorder = thread::spawn({
            let state = Arc::clone(&state);
            move || [(); 2].map(|()| state.record())
        });
        state.switch().end(barrier);
        let closed = state.close().or_else(|| state.close());
        let taken = recorder.join().unwrap();
        let recorded = taken.iter().filter(|it| **it == Taken::Yes).count() as u32;
        // A closed state has all calls that were recorded: none comes after it.
        assert!(closed.is_none_or(|events| events == recorded), "{closed:?} of {recorded}");
        // Once the thread is gone nothing keeps the state from being closed.
        assert!(closed.is_some() || state.close() == Some(recorded));
    });
}

/// A thread that finds recording off leaves the state as it is, and free.
#[test]
fn nothing_is_recorded_after_the_end() {
    loom::model(|| {
        let state = State::new();
        state.switch().end(barrier);
        let recorder = thread::spawn({
            let state = Arc::clone(&state);
            move || state.record()
        });
        assert_eq!(recorder.join().unwrap(), Taken::Off);
        assert_eq!(state.close(), Some(0));
    });
}

/// A thread makes its first recorded call while another one ends the recording: either its state is in the list that the
/// other one goes through, or nothing is recorded in it. The list is the one of `locations.rs`: a count, and a place that
/// is filled with release ordering.
#[test]
fn a_state_that_nobody_closes_has_no_events() {
    loom::model(|| {
        let state = State::new();
        let list = Arc::new((AtomicUsize::new(0), AtomicBool::new(false)));
        let recorder = thread::spawn({
            let (state, list) = (Arc::clone(&state), Arc::clone(&list));
            move || {
                list.0.fetch_add(1, Ordering::Relaxed);
                list.1.store(true, Ordering::Release);
                state.record()
            }
        });
        state.switch().end(barrier);
        let listed = list.0.load(Ordering::Acquire) > 0 && list.1.load(Ordering::Acquire);
        // A thread that is in the middle of a call is waited for, which a model cannot show: its events are not lost.
        let closed = listed && state.close().is_some();
        let in_use = listed && !closed;
        let taken = recorder.join().unwrap();
        assert!(closed || in_use || taken == Taken::Off, "not listed, and {taken:?}");
    });
}

/// Whoever finds an address in a table finds its number.
#[test]
fn an_address_has_its_number() {
    loom::model(|| {
        let table: Arc<[Slot; 2]> = Arc::new([Slot::empty(), Slot::empty()]);
        let writer = thread::spawn({
            let table = Arc::clone(&table);
            move || {
                table[0].fill(4096, 1);
                table[1].fill(8192, 2);
            }
        });
        for (place, address, number) in [(1, 8192, 2), (0, 4096, 1)] {
            let found = table[place].number_of(address);
            assert!(found.is_none_or(|found| found == number), "{found:?} for {address}");
        }
        // Places are filled in order.
        assert!(table[1].address() == 0 || table[0].number_of(4096) == Some(1));
        writer.join().unwrap();
        assert_eq!(table[1].number_of(8192), Some(2));
    });
}

/// Two threads use a value behind a lock.
#[test]
fn a_lock_has_one_holder_at_a_time() {
    loom::model(|| {
        let lock = Arc::new((Held::of(AtomicBool::new(false)), UnsafeCell::new(0)));
        let add = |lock: &(Held, UnsafeCell<u32>)| {
            let taken = lock.0.take();
            if taken {
                // SAFETY: loom checks what the lock promises: that nobody else uses the cell.
                lock.1.with_mut(|sum| unsafe { *sum += 1 });
                lock.0.give_back();
            }
            u32::from(taken)
        };
        let other = thread::spawn({
            let lock = Arc::clone(&lock);
            move || add(&lock) + add(&lock)
        });
        let added = add(&lock) + other.join().unwrap();
        assert!(lock.0.take());
        // SAFETY: the lock is held.
        assert_eq!(lock.1.with(|sum| unsafe { *sum }), added);
    });
}
