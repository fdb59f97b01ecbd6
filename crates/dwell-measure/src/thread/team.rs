//! Teams of threads that a runtime such as OpenMP's runs the code of a program on.
//!
//! The call that forks a team is a region of the thread that makes it, and so it is on every other thread of the team, with
//! the same call site, so that the same work has the same call path everywhere. Inside are the function that the team runs
//! and the barrier at its end.
//!
//! A runtime does not say when it lets its threads go on behind that barrier: they stay inside it until the next team
//! begins. The thread that forked the team knows when, because its call returns. So the others leave the barrier open, as
//! something to be written before their next event, and the first thread stores the time for them. From then on they are
//! idle until they run something again, or end.
//!
//! Tasks run inside the barrier. They are functions of the program, as the one that the team runs is.
//!
//! Every barrier of a team has a number, which its leave events have: from the number of the team, how many barriers the thread
//! has left before, and how many threads there are. They are known then, because all have arrived. Idle threads wait in a
//! barrier with the number 0.
#![allow(unsafe_code)] // The threads of a team share the record of the team, and reach the states of each other.

use std::cell::Cell;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use dwell_model::archive::TEAM_SIZE;
use dwell_unify::definitions::attribute;
use otf2::event::Leave;
use otf2::id::RegionRef;

use super::enter::enter;
use super::{Busy, Call, DEPTH, Frame, NO_FRAME, Thread, take};
use crate::entry::{self, words};
use crate::guard::{self, guarded, guarded_option};
use crate::hook::Hook;

/// Marks the time at which a team was forked, as the number of the team, where other times say when it was released.
const RUNS: u64 = 1 << 63;

/// Largest depth at which a function of the program is entered. The remaining frames are for calls.
const MOST: usize = DEPTH - 32;

/// The regions of a runtime that are no calls of the program.
#[derive(Clone, Copy)]
pub struct Regions {
    /// The barrier at the end of the work of a team.
    pub barrier: &'static Hook,
    /// A thread that waits for the next team.
    pub idle: &'static Hook,
}

/// A team, from before it is forked until it is joined. It lies in a place that its threads know.
pub struct Team {
    regions: Regions,
    fork: Cell<Option<Fork>>,
    /// The threads that have joined so far, but for the first one.
    members: AtomicPtr<Member>,
    /// Number of threads that have joined, with the first one.
    size: AtomicU64,
    /// Number of barriers that the first thread had left when it arrived at the end.
    barriers: Cell<u64>,
}

// SAFETY: `fork` is set before the runtime starts the other threads, and only read from then on. The first thread alone uses
// `barriers`.
unsafe impl Sync for Team {}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Team").finish_non_exhaustive()
    }
}

/// The call that forked a team.
#[derive(Clone, Copy)]
struct Fork {
    region: u32,
    site: usize,
    /// Address of the words of the thread that made it.
    first: usize,
    /// Number of the team: [`RUNS`] and the time of the call.
    number: u64,
}

/// A thread that waits at the end of a team, as its location knows it and the first thread of the team finds it.
#[derive(Debug, Default)]
pub(super) struct Member {
    next: AtomicPtr<Member>,
    /// Number of the team while it runs, then the time at which its threads were released.
    released: AtomicU64,
    /// Number of threads of the team, once they are released.
    size: AtomicU64,
}

/// What a thread knows of the team that it is a member of.
#[derive(Clone, Copy)]
pub(super) struct Membership {
    member: &'static Member,
    number: u64,
    /// The barrier at the end, as soon as the thread has arrived there, and the number of barriers before.
    waits: Option<(Regions, u64)>,
}

/// The innermost team whose function a thread runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    team: *const Team,
    number: u64,
    /// Number of barriers that the thread has left.
    barriers: u64,
}

/// A function that a thread of a team runs.
#[derive(Debug)]
#[must_use]
pub struct Running {
    call: Call,
    around: Option<Current>,
}

/// Returns the number of a barrier of a team.
fn barrier_number(team: u64, before: u64, size: u64) -> u64 {
    let mixed = team.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(before);
    mixed.wrapping_mul(TEAM_SIZE) | size.min(TEAM_SIZE - 1)
}

/// Begins a call of a runtime.
fn begin(hook: &'static Hook) -> Option<Busy> {
    let (mut thread, held) = enter(hook, || 0)?;
    if held.is_some() {
        let time = thread.time();
        thread.write_held(time);
    }
    Some(thread)
}

/// Begins a call that is a barrier of a team. Returns `None` if it is not recorded; otherwise the result must be passed to
/// [`end_barrier`].
pub fn begin_barrier(hook: &'static Hook) -> Option<Call> {
    guarded_option(guard::Entry::Before, || Some(begin(hook)?.entered()))
}

/// Ends a call that [`begin_barrier`] began.
#[allow(clippy::needless_pass_by_value)] // A call is used up by its end.
pub fn end_barrier(call: Call) {
    guarded(guard::Entry::After, || {
        let Some(mut thread) = call.returned() else { return };
        let time = thread.now();
        let number = thread.current_team.as_mut().map(|current| {
            let before = current.barriers;
            current.barriers += 1;
            // SAFETY: the thread runs the function of the team, until whose end it lies where it was.
            let size = unsafe { &*current.team }.size.load(Ordering::Relaxed);
            barrier_number(current.number, before, size)
        });
        thread.leave_barrier(time, number);
        thread.release();
    });
}

impl Team {
    /// Makes a team that is not recorded yet.
    pub const fn new(regions: Regions) -> Self {
        Self {
            regions,
            fork: Cell::new(None),
            members: AtomicPtr::new(ptr::null_mut()),
            size: AtomicU64::new(1),
            barriers: Cell::new(0),
        }
    }

    /// Returns `true` if the call that forks the team is recorded.
    pub fn is_recorded(&self) -> bool {
        self.fork.get().is_some()
    }

    /// Begins the call that forks the team. Returns `None` if it is not recorded; otherwise the result must be passed to
    /// [`join`](Self::join) after the real function has returned.
    pub fn fork(&self, hook: &'static Hook) -> Option<Call> {
        guarded_option(guard::Entry::Before, || {
            let mut thread = begin(hook)?;
            let time = thread.time();
            let Frame { region, site, muted, .. } = *thread.frame();
            if !muted {
                let (first, number) = (ptr::from_ref(words()).addr(), RUNS | time);
                self.fork.set(Some(Fork { region, site, first, number }));
            }
            Some(thread.entered())
        })
    }

    /// Ends the call that forked the team, whose threads have all arrived at the barrier.
    #[allow(clippy::needless_pass_by_value)] // A call is used up by its end.
    pub fn join(&self, call: Call) {
        guarded(guard::Entry::After, || {
            let Some(mut thread) = call.retaken() else { return };
            let number = self.fork.get().map_or(0, |fork| fork.number);
            let size = self.size.load(Ordering::Relaxed);
            if entry::is_on() && thread.depth == call.depth() + 2 {
                if thread.flags.unsettled {
                    thread.settle();
                }
                let time = thread.now();
                let barrier = barrier_number(number, self.barriers.get(), size);
                thread.leave_barrier(time, Some(barrier));
            }
            let Some(thread) = call.resumed(thread) else { return };
            let time = thread.time();
            let mut next = self.members.load(Ordering::Acquire).cast_const();
            // SAFETY: members are parts of locations, which are never unmapped.
            while let Some(member) = unsafe { next.as_ref() } {
                // A thread that has ended does not wait any more, and its location may be that of another.
                next = member.next.load(Ordering::Relaxed);
                member.size.store(size, Ordering::Relaxed);
                let (order, failed) = (Ordering::Release, Ordering::Relaxed);
                let _ = member.released.compare_exchange(number, time, order, failed);
            }
            thread.leave(time);
        });
    }

    /// Begins the function at `address` on a thread of the team. `stack` is a place in the stack frame of the caller, which
    /// has to pass the result to [`arrive`](Self::arrive).
    pub fn begin(&self, address: usize, stack: usize) -> Option<Running> {
        guarded_option(guard::Entry::User, || {
            let (fork, words) = (self.fork.get()?, words());
            let mut thread = take(words)?;
            if ptr::from_ref(words).addr() != fork.first {
                // What the thread did for another team is over.
                thread.leave_team();
                let time = thread.now();
                thread.turn_if_due(time);
                let Fork { region, site, number, .. } = fork;
                let layer = self.regions.barrier.layer_bit;
                let frame = Frame { site, region, layer, ..thread.outermost() };
                if !thread.open(time, frame) {
                    thread.release();
                    return None;
                }
                let member = &thread.location.member;
                member.released.store(number, Ordering::Relaxed);
                self.size.fetch_add(1, Ordering::Relaxed);
                self.add(member);
                thread.membership = Some(Membership { member, number, waits: None });
            }
            if thread.begin_function(address, stack, self.regions.barrier.layer_bit) {
                let current = Current { team: self, number: fork.number, barriers: 0 };
                let around = thread.current_team.replace(current);
                return Some(Running { call: thread.entered(), around });
            }
            thread.release();
            None
        })
    }

    fn add(&self, member: &'static Member) {
        let mut first = self.members.load(Ordering::Relaxed);
        loop {
            member.next.store(first, Ordering::Relaxed);
            let new = ptr::from_ref(member).cast_mut();
            match self.members.compare_exchange(first, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }

    /// Ends the function on a thread of the team, which arrives at the barrier.
    #[allow(clippy::needless_pass_by_value)] // A call is used up by its end.
    pub fn arrive(&self, running: Running) {
        guarded(guard::Entry::User, || {
            let Some(mut thread) = running.call.returned() else { return };
            let time = thread.end_function();
            let current = std::mem::replace(&mut thread.current_team, running.around);
            let barriers = current.map_or(0, |current| current.barriers);
            let site = self.fork.get().map_or(0, |fork| fork.site);
            thread.open_region(time, self.regions.barrier, site);
            if let Some(membership) = &mut thread.membership {
                membership.waits = Some((self.regions, barriers));
                thread.flags.unsettled = true;
            } else {
                self.barriers.set(barriers);
            }
            thread.release();
        });
    }
}

/// Begins a function of the program that the runtime runs as a task. `hook` is that of the call that made the task, and
/// `stack` a place in the stack frame of the caller, which has to pass the result to [`end_task`].
pub fn begin_task(hook: &'static Hook, address: usize, stack: usize) -> Option<Call> {
    guarded_option(guard::Entry::User, || {
        let mut thread = take(words())?;
        if thread.begin_function(address, stack, hook.layer_bit) {
            return Some(thread.entered());
        }
        thread.release();
        None
    })
}

/// Ends a function that [`begin_task`] began.
#[allow(clippy::needless_pass_by_value)] // A call is used up by its end.
pub fn end_task(call: Call) {
    guarded(guard::Entry::User, || {
        let Some(mut thread) = call.returned() else { return };
        thread.end_function();
        thread.release();
    });
}

impl Thread {
    /// Enters a function of the program, in which calls of the layer are those of the program.
    fn begin_function(&mut self, address: usize, stack: usize, layer: u32) -> bool {
        if !self.nest(stack, 0) || self.depth >= MOST {
            return false;
        }
        let Some(region) = self.process.function(address) else { return false };
        let time = self.now();
        self.turn_if_due(time);
        let hidden = self.layers & layer;
        let frame = Frame { stack, region, hidden, ..self.outermost() };
        if !self.open(time, frame) {
            return false;
        }
        self.layers &= !hidden;
        if self.flags.samples && self.layers == 0 {
            self.computing.begins(time);
        }
        true
    }

    /// Leaves the function that was entered last. Returns the time.
    fn end_function(&mut self) -> u64 {
        let time = self.now();
        if self.flags.samples {
            self.ends_computing(time);
        }
        self.leave_last(time);
        time
    }

    /// Enters a region of the runtime that is no call: it ends with what is around it.
    fn open_region(&mut self, time: u64, hook: &'static Hook, site: usize) {
        let layer = hook.layer_bit;
        let region = hook.region().unwrap_or_else(|| self.process.define_region(hook));
        let stack = self.stack_around();
        self.open(time, Frame { stack, region, layer, site, ..self.outermost() });
    }

    /// Leaves the barrier that is the open region. `number` is that of the barrier, if it is one of a team.
    fn leave_barrier(&mut self, time: u64, number: Option<u64>) {
        let Frame { region, layer, muted, hidden, .. } = *self.frame();
        let Some(number) = number.filter(|_| !muted) else {
            self.leave_last(time);
            return;
        };
        if self.flags.muted {
            self.set_muted(false);
        }
        if self.flags.are_aside() && self.leave_aside(time) {
            return;
        }
        let leave = Leave { region: RegionRef(region) };
        if !self.write_with(time, attribute::SEQUENCE, number, leave) {
            return;
        }
        self.depth -= 1;
        self.layers = self.layers & !layer | hidden;
    }

    /// Leaves everything that the thread did for a team.
    pub(super) fn leave_team(&mut self) {
        if self.flags.unsettled {
            self.settle();
        }
        self.leave_idle();
        // It settles what could not be settled a moment ago.
        self.leave_all();
        (self.is_idle, self.membership, self.current_team) = (false, None, None);
    }

    /// Ends the time in which the thread was idle, if it is.
    pub(super) fn leave_idle(&mut self) {
        if std::mem::take(&mut self.is_idle) {
            let time = self.now();
            self.leave_barrier(time, Some(0));
        }
    }

    /// Returns a frame of the program's own that is open until it is left, and written unless recording is paused.
    fn outermost(&self) -> Frame {
        Frame { stack: usize::MAX, own_code: true, muted: self.flags.off, ..NO_FRAME }
    }

    /// Leaves the barrier at the end of a team, if the team was released, and the team with it. From then on the thread is
    /// idle. Before, the thread runs tasks inside the barrier.
    pub(super) fn settle_membership(&mut self) {
        let Some(Membership { member, number, waits: Some((regions, barriers)) }) = self.membership
        else {
            return;
        };
        let released = member.released.load(Ordering::Acquire);
        if released == number {
            self.flags.unsettled = true;
            return;
        }
        self.membership = None;
        let time = self.time.max(released);
        self.time = time;
        let size = member.size.load(Ordering::Relaxed);
        self.leave_barrier(time, Some(barrier_number(number, barriers, size)));
        while self.depth > 0 && self.leave_last(time) {}
        if self.depth == 0 {
            self.open_region(time, regions.idle, 0);
            self.is_idle = self.depth == 1;
        }
    }
}
