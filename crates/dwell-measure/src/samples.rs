//! Samples: where each thread computes, taken on its processor clock.
//!
//! Every thread that is recorded has a timer on the clock of its own processor time. Each interval is drawn at random from
//! half of the mean to one and a half, because a fixed one shows a program of the same period where it is not. When it
//! ends, a signal interrupts the thread, and its handler writes one event: the call path, and the processor time since the
//! sample before. That time, and not the interval, is the weight of the sample, since the system ends intervals at its own
//! ticks.
//!
//! # What the handler may do
//! It is entered between two instructions of the program, on a stack of the recorder's own. It does nothing if the thread
//! is busy, so it takes no lock that its thread holds: locks are held by busy threads only. It allocates
//! nothing, and finds the tables of a function without the lock of the loader (`modules::find`). A clock
//! of processor time does not run while the thread waits in the system, so no system call is interrupted.
//!
//! # The signal
//! SIGURG, which is ignored unless a program handles it. So a signal that comes after the program has reset its handlers
//! ends nothing. If the program handles SIGURG itself, before the recording or later, nothing is sampled ([`give_up`]).
//!
//! # Limits
//! Needs glibc 2.35. Kernels before 5.9 may end a system call early at the end of an interval. A thread whose signal stack
//! the program has set, and that has no room for the handler, is not sampled.
#![allow(unsafe_code)] // Timers, signals and stacks are those of the system.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use crate::arch;
use crate::entry;
use crate::guard::{Entry, guarded};
use crate::modules::{self, Range};
use crate::process;
use crate::report;
use crate::thread;

/// Frames of a sample, at most.
pub(crate) const DEPTH: usize = 24;

/// Size of the stack of the handler, in bytes.
const STACK: usize = 256 << 10;

/// Bytes below that stack that nobody may touch. A multiple of every page size.
const GUARD: usize = 64 << 10;

/// Room that the handler needs on a stack of the program, beyond what the kernel stores there.
const NEEDED: usize = 64 << 10;

/// The signal that timers send.
const SIGNAL: c_int = libc::SIGURG;

/// Its address marks signals of our timers.
static MARK: u8 = 0;

/// Mean interval in nanoseconds; not set in runs without samples.
static INTERVAL: OnceLock<u64> = OnceLock::new();

/// Set once nothing is sampled any more: the program handles the signal, or the recording has ended.
static GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// Addresses of this library, whose work is not sampled.
static OWN: OnceLock<Range> = OnceLock::new();

/// Number of threads that could not be sampled.
static UNSAMPLED: AtomicU32 = AtomicU32::new(0);

/// Number of a timer that does not exist.
const NO_TIMER: u32 = u32::MAX;

/// Timer of a thread. Any thread may stop it.
#[derive(Debug)]
pub(crate) struct Timer {
    number: AtomicU32,
    /// Mapping with the stack of the handler; null if the thread has one of its own.
    mapping: AtomicPtr<c_void>,
}

impl Timer {
    /// Makes a timer that does not exist yet.
    pub(crate) fn none() -> Self {
        Self { number: AtomicU32::new(NO_TIMER), mapping: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Makes the timer of the calling thread, and starts it.
    pub(crate) fn start(&self) {
        let Some(interval) = INTERVAL.get().filter(|_| !GIVEN_UP.load(Ordering::Relaxed)) else {
            return;
        };
        let made = if self.prepare_stack() { create() } else { None };
        match made {
            Some(number) => {
                self.number.store(number, Ordering::Relaxed);
                begin_interval(number, *interval);
            }
            None => {
                UNSAMPLED.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Begins another interval, if there is a timer. Its number in a signal would not do: emulators state their own.
    pub(crate) fn go_on(&self) {
        let number = self.number.load(Ordering::Relaxed);
        if let Some(mean) = INTERVAL.get().filter(|_| number != NO_TIMER) {
            begin_interval(number, *mean);
        }
    }

    /// Deletes the timer, if there is one.
    pub(crate) fn stop(&self) {
        let number = self.number.swap(NO_TIMER, Ordering::Relaxed);
        if number != NO_TIMER {
            // SAFETY: a system call on a number of ours.
            unsafe { libc::syscall(libc::SYS_timer_delete, number as c_int) };
        }
    }

    /// Deletes the timer of the calling thread, which ends, and gives the stack of the handler back.
    pub(crate) fn end(&self) {
        self.stop();
        let mapping = self.mapping.swap(ptr::null_mut(), Ordering::Relaxed);
        if mapping.is_null() {
            return;
        }
        // A signal that the timer sent before it was deleted must find the stack. It ends with the thread.
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the set is emptied before it is used.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), SIGNAL);
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut());
        }
        let is_ours = |stack: &libc::stack_t| stack.ss_sp == mapping.wrapping_byte_add(GUARD);
        if let Some(stack) = signal_stack().filter(is_ours) {
            let none = libc::stack_t { ss_flags: libc::SS_DISABLE, ..stack };
            if !set_signal_stack(&none) {
                return;
            }
        }
        // SAFETY: it was mapped with this size, and is no signal stack any more.
        unsafe { libc::munmap(mapping, GUARD + STACK) };
    }

    /// Makes sure that the handler has a stack in the calling thread. Returns `false` if that of the program is too small.
    fn prepare_stack(&self) -> bool {
        let Some(stack) = signal_stack() else { return false };
        if stack.ss_flags & libc::SS_DISABLE == 0 {
            return stack.ss_size >= least_stack();
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_NORESERVE;
        // SAFETY: a new mapping; pages that are not used cost nothing.
        let mapping =
            unsafe { libc::mmap(ptr::null_mut(), GUARD + STACK, libc::PROT_NONE, flags, -1, 0) };
        if mapping == libc::MAP_FAILED {
            return false;
        }
        let at = mapping.wrapping_byte_add(GUARD);
        let stack = libc::stack_t { ss_sp: at, ss_flags: 0, ss_size: STACK };
        // SAFETY: the end of the mapping, which nobody else knows.
        let is_open = unsafe { libc::mprotect(at, STACK, libc::PROT_READ | libc::PROT_WRITE) } == 0;
        if is_open && set_signal_stack(&stack) {
            self.mapping.store(mapping, Ordering::Relaxed);
            return true;
        }
        // SAFETY: it is not used.
        unsafe { libc::munmap(mapping, GUARD + STACK) };
        false
    }
}

/// Prepares sampling of all threads, `rate` times a second of processor time, and returns the mean interval in
/// nanoseconds. Called before the recording begins.
///
/// # Errors
/// Says why nothing can be sampled.
pub(crate) fn prepare(rate: u32) -> Result<u64, &'static str> {
    if !modules::can_find() {
        return Err("nothing is sampled: the C library is older than glibc 2.35");
    }
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: there is room for the action.
    if unsafe { libc::sigaction(SIGNAL, ptr::null(), before.as_mut_ptr()) } != 0
        // SAFETY: it was filled in, and zeros are an action, too.
        || unsafe { before.assume_init() }.sa_sigaction != libc::SIG_DFL
    {
        return Err("nothing is sampled: the program handles SIGURG");
    }
    // SAFETY: zeros are an action with an empty mask.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = interrupted;
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: the set is a part of the action, and the handler has the type that the flags say.
    let set = unsafe {
        libc::sigfillset(&raw mut action.sa_mask);
        libc::sigaction(SIGNAL, &raw const action, ptr::null_mut())
    };
    if set != 0 {
        return Err("nothing is sampled: SIGURG cannot be handled");
    }
    modules::find(prepare as *const () as usize, |module| {
        let _ = OWN.set(module.whole());
    });
    Ok(*INTERVAL.get_or_init(|| 1_000_000_000 / u64::from(rate.max(1))))
}

/// Returns `true` if threads are sampled.
pub(crate) fn are_taken() -> bool {
    INTERVAL.get().is_some() && !GIVEN_UP.load(Ordering::Relaxed)
}

/// Stops all timers at the end of a recording.
pub(crate) fn end() {
    if INTERVAL.get().is_some() {
        GIVEN_UP.store(true, Ordering::Relaxed);
        thread::stop_timers();
        let threads = UNSAMPLED.load(Ordering::Relaxed);
        if threads > 0 {
            report::say(&format!(
                "threads without samples: {threads}; their signal stacks have no room, or there were no more timers"
            ));
        }
    }
}

/// Stops sampling if the program is about to handle the signal that it uses.
pub fn give_up(signal: c_int) {
    let was_on = signal == SIGNAL
        && INTERVAL.get().is_some()
        && process::current().is_some_and(process::Process::is_this)
        && !GIVEN_UP.swap(true, Ordering::Relaxed);
    if was_on {
        thread::stop_timers();
        report::say("samples end here: the program handles SIGURG itself");
    }
}

/// Stops sampling of the calling thread if the handler has no room on the signal stack that it is about to get.
pub fn check_stack(bytes: usize, is_disabled: bool) {
    if INTERVAL.get().is_some() && (is_disabled || bytes < least_stack()) && thread::stop_timer() {
        UNSAMPLED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns the signal stack of the calling thread.
fn signal_stack() -> Option<libc::stack_t> {
    let mut stack = MaybeUninit::<libc::stack_t>::zeroed();
    let none = ptr::null::<libc::stack_t>();
    // SAFETY: there is room for the description. The function of the C library is hooked.
    let result = unsafe { libc::syscall(libc::SYS_sigaltstack, none, stack.as_mut_ptr()) };
    // SAFETY: it was filled in.
    (result == 0).then(|| unsafe { stack.assume_init() })
}

/// Sets the signal stack of the calling thread, and returns `true` if that worked.
fn set_signal_stack(stack: &libc::stack_t) -> bool {
    let none = ptr::null_mut::<libc::stack_t>();
    // SAFETY: memory of the size that is said, for this alone, or none.
    unsafe { libc::syscall(libc::SYS_sigaltstack, ptr::from_ref(stack), none) == 0 }
}

/// Returns the size of the smallest stack on which the handler has room, in bytes.
fn least_stack() -> usize {
    const AT_MINSIGSTKSZ: libc::c_ulong = 51;
    // SAFETY: reads a number.
    let of_kernel = unsafe { libc::getauxval(AT_MINSIGSTKSZ) } as usize;
    of_kernel.max(libc::MINSIGSTKSZ) + NEEDED
}

/// Creates a timer on the processor clock of the calling thread, which sends the signal to it.
fn create() -> Option<u32> {
    // SAFETY: zeros are a description; the fields that matter are filled in.
    let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = SIGNAL;
    event.sigev_value = libc::sigval { sival_ptr: (&raw const MARK).cast_mut().cast() };
    // SAFETY: a system call without arguments.
    event.sigev_notify_thread_id = unsafe { libc::syscall(libc::SYS_gettid) } as c_int;
    let mut number: c_int = 0;
    let clock = libc::CLOCK_THREAD_CPUTIME_ID;
    // The function of the C library is in another library before glibc 2.34.
    // SAFETY: the description is valid, and there is room for the number.
    let result =
        unsafe { libc::syscall(libc::SYS_timer_create, clock, &raw const event, &raw mut number) };
    (result == 0).then_some(number as u32)
}

/// Begins an interval of a timer, of about `mean` nanoseconds.
fn begin_interval(number: u32, mean: u64) {
    if GIVEN_UP.load(Ordering::Relaxed) {
        return;
    }
    // The low bits of a counter of cycles are as good as random at the end of an interval.
    let random = arch::counter().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let nanoseconds = mean / 2 + ((mean * random) >> 32);
    let value = libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
    };
    let times =
        libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
    let none = ptr::null_mut::<libc::itimerspec>();
    // SAFETY: valid times, and a number of ours or of a timer that is gone, which is no other's yet.
    unsafe { libc::syscall(libc::SYS_timer_settime, number as c_int, 0, &raw const times, none) };
}

/// What the kernel says of a signal that a timer sends.
#[repr(C)]
struct FromTimer {
    number: c_int,
    error: c_int,
    code: c_int,
    _padding: c_int,
    _timer: c_int,
    _overrun: c_int,
    value: libc::sigval,
}

/// Handler of the signal.
extern "C" fn interrupted(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes it, as the flags of the handler ask for. It is as large for every signal.
    let info = unsafe { &*info.cast::<FromTimer>() };
    let is_own =
        info.code == libc::SI_TIMER && info.value.sival_ptr.addr() == (&raw const MARK).addr();
    if !is_own || !entry::is_on() {
        return;
    }
    let errno = entry::errno();
    guarded(Entry::Tick, || {
        // SAFETY: the kernel passes the registers of the interrupted thread.
        let place = unsafe { arch::interrupted(context.cast()) };
        let place = Some(place).filter(|it| !OWN.get().is_some_and(|own| own.contains(it.address)));
        thread::tick(place);
        // Also if nothing was written: the thread communicates for the recorder, say.
        thread::begin_interval();
    });
    entry::set_errno(errno);
}
