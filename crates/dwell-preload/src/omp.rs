//! OpenMP: functions of the program that the runtime calls, on the threads of a team and as tasks.
//!
//! The compiler puts the body of a directive into a function, and passes it to the runtime with the address of its data. The
//! hook passes a function of its own, with data of its own that say which function of the program to call.
//!
//! Data of a team stay on the stack of the thread that forks it. Those of a task are copied by the runtime, into memory
//! of the size that it is told, so the copy is larger:
//!
//! | from the copy | contents |
//! |---|---|
//! | 0 | for the runtime, which stores the first and the last iteration of a task loop here, and reads a third word |
//! | 24 | address of the function of the program |
//! | 32 | address of the hook of the call that made the task |
//! | 40 | bytes to the data of the program; all of these are multiples of their alignment |
//! | 48 | whether the first two words are those of the data, too |
//!
//! Tasks with the clause `detach` are not recorded: the runtime stores an event in their data. They run inside the call in
//! which their thread waits, as if that took longer.

use core::ffi::c_void;
use core::mem::size_of;
use core::ptr;

use dwell_measure::hook::Hook;
use dwell_measure::thread::{self, Call, Regions, begin_task, end_task};
use dwell_model::omp::{IDLE, IMPLICIT_BARRIER, TABLE};

static BARRIER_HOOK: Hook = Hook::new(&TABLE, &IMPLICIT_BARRIER);
static IDLE_HOOK: Hook = Hook::new(&TABLE, &IDLE);

/// A function of the program with the body of a directive.
type Body = unsafe extern "C-unwind" fn(*mut c_void);

/// A function that copies the data of a task, if it takes more than copying bytes.
type Copy = unsafe extern "C-unwind" fn(*mut c_void, *const c_void);

/// Flags of a task (`gomp-constants.h`).
const REDUCTION: usize = 1 << 12;
const DETACH: usize = 1 << 13;

/// The first two arguments of a call that runs a function on the threads of a team.
#[repr(C)]
pub(crate) struct Team {
    /// The first word of the data, where the runtime reads it.
    first: usize,
    body: usize,
    data: usize,
    team: thread::Team,
}

impl Team {
    /// Keeps a function and its data. With `reads`, the runtime reads the first word of the data.
    ///
    /// # Safety
    /// The program passed `body` and `data` to the runtime.
    pub(crate) unsafe fn new(body: usize, data: usize, reads: bool) -> Self {
        // SAFETY: the runtime would read it as well.
        let first = if reads { unsafe { *(data as *const usize) } } else { 0 };
        let regions = Regions { barrier: &BARRIER_HOOK, idle: &IDLE_HOOK };
        Self { first, body, data, team: thread::Team::new(regions) }
    }

    pub(crate) fn fork(&self, hook: &'static Hook) -> Option<Call> {
        self.team.fork(hook)
    }

    pub(crate) fn join(&self, call: Call) {
        self.team.join(call);
    }

    /// Returns the function for the runtime.
    pub(crate) fn function(&self) -> usize {
        if self.team.is_recorded() { member as *const () as usize } else { self.body }
    }

    /// Returns the data for the runtime.
    pub(crate) fn data(&self) -> usize {
        if self.team.is_recorded() { ptr::from_ref(self).expose_provenance() } else { self.data }
    }
}

/// Runs the function of the program on a thread of a team.
unsafe extern "C-unwind" fn member(team: *const Team) {
    // SAFETY: the runtime passes the data of the hook, which stay where they are until all threads have arrived at the
    // barrier behind this function.
    let team = unsafe { &*team };
    // SAFETY: the program passed a function of this type, says the table.
    let body = unsafe { core::mem::transmute::<usize, Body>(team.body) };
    let here = 0_usize;
    let call = team.team.begin(team.body, ptr::from_ref(&here).addr());
    // SAFETY: these are its data.
    unsafe { body(ptr::with_exposed_provenance_mut(team.data)) };
    if let Some(call) = call {
        team.team.arrive(call);
    }
}

/// The kinds of calls that make tasks.
#[derive(Clone, core::marker::Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One task.
    Task,
    /// Tasks for parts of a loop.
    Loop,
}

/// Beginning of the data of a task.
#[repr(C)]
struct Copied {
    runtime: [usize; 3],
    body: usize,
    hook: *const Hook,
    offset: usize,
    is_loop: bool,
}

/// The first five arguments of a call that makes tasks, and the beginning of their data.
#[repr(C)]
pub(crate) struct Task {
    copied: Copied,
    data: usize,
    copy: usize,
    size: usize,
    align: usize,
    can_record: bool,
}

impl Task {
    /// Keeps a function and its data, function to copy them, size and alignment.
    ///
    /// # Safety
    /// The program passed these to the runtime.
    pub(crate) unsafe fn new(given: [usize; 5], flags: usize, kind: Kind) -> Self {
        let [body, data, copy, size, align] = given;
        let mut runtime = [0; 3];
        if kind == Kind::Loop && flags & REDUCTION != 0 {
            // SAFETY: the runtime would read it as well.
            runtime[2] = unsafe { *(data as *const usize).add(2) };
        }
        let offset = size_of::<Copied>().next_multiple_of(align.max(1));
        let is_loop = kind == Kind::Loop;
        let can_record = is_loop || flags & DETACH == 0;
        let copied = Copied { runtime, body, hook: ptr::null(), offset, is_loop };
        Self { copied, data, copy, size, align, can_record }
    }

    /// Notes the hook of the call, if it is recorded.
    pub(crate) fn record<T>(&mut self, hook: &'static Hook, state: Option<T>) -> Option<T> {
        if state.is_some() && self.can_record {
            self.copied.hook = hook;
        }
        state
    }

    fn is_recorded(&self) -> bool {
        !self.copied.hook.is_null()
    }

    /// Returns the function for the runtime.
    pub(crate) fn function(&self) -> usize {
        if self.is_recorded() { run as *const () as usize } else { self.copied.body }
    }

    /// Returns the data for the runtime.
    pub(crate) fn data(&self) -> usize {
        if self.is_recorded() { ptr::from_ref(self).expose_provenance() } else { self.data }
    }

    /// Returns the function that copies the data for the runtime.
    pub(crate) fn copy(&self) -> usize {
        if self.is_recorded() { copy as *const () as usize } else { self.copy }
    }

    /// Returns the size of the copied data for the runtime.
    pub(crate) fn size(&self) -> usize {
        let whole = || (self.copied.offset + self.size).next_multiple_of(self.align());
        if self.is_recorded() { whole() } else { self.size }
    }

    /// Returns the alignment of the copied data for the runtime.
    pub(crate) fn align(&self) -> usize {
        if self.is_recorded() { self.align.max(align_of::<Copied>()) } else { self.align }
    }
}

/// Copies the data of a task, those of the hook and of the program.
unsafe extern "C-unwind" fn copy(to: *mut Copied, task: *const Task) {
    // SAFETY: the runtime passes memory of the size and alignment that it was told, and the data of the hook, which are on the
    // stack of the thread that is in the call that makes the task.
    unsafe {
        let task = &*task;
        ptr::copy_nonoverlapping(&raw const task.copied, to, 1);
        let data = to.byte_add(task.copied.offset).cast::<c_void>();
        let from = ptr::with_exposed_provenance::<c_void>(task.data);
        if task.copy == 0 {
            ptr::copy_nonoverlapping(from.cast::<u8>(), data.cast::<u8>(), task.size);
        } else {
            core::mem::transmute::<usize, Copy>(task.copy)(data, from);
        }
    }
}

/// Runs a task.
unsafe extern "C-unwind" fn run(copied: *mut Copied) {
    // SAFETY: the runtime passes what `copy` has filled. Hooks are statics.
    let (it, data, hook) = unsafe {
        let it = &*copied;
        (it, copied.byte_add(it.offset).cast::<c_void>(), &*it.hook)
    };
    if it.is_loop {
        let [first, last, _] = it.runtime;
        // SAFETY: the data of a loop begin with these, as the runtime would store them there.
        unsafe { data.cast::<[usize; 2]>().write([first, last]) };
    }
    // SAFETY: the program passed a function of this type, says the table.
    let body = unsafe { core::mem::transmute::<usize, Body>(it.body) };
    let here = 0_usize;
    let call = begin_task(hook, it.body, ptr::from_ref(&here).addr());
    // SAFETY: these are its data.
    unsafe { body(data) };
    if let Some(call) = call {
        end_task(call);
    }
}
