//! Time that this process and its threads spend on cores, and ready to run but without one.
//!
//! The system counts both for every thread. Those of the process are read when recording begins and when it ends, so they
//! cost the program nothing. Processes that share cores wait for each other without any call that says so; only these numbers
//! tell such a run from one that waits for messages.
//!
//! Threads that end before the recording lose the time that they were ready; their time on cores is kept.
#![allow(unsafe_code)] // Reads clocks of the system.

use std::fs::{self, File};
use std::io::Read;
use std::sync::OnceLock;

use crate::entry::keeping_errno;

/// Greatest number of threads whose time is read.
const MOST_THREADS: usize = 1024;

/// Times of a process, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessorTime {
    /// Time on cores.
    pub(crate) on_core: u64,
    /// Time in which threads were ready to run but had no core. `None` if the system does not count it.
    pub(crate) ready: Option<u64>,
}

/// Times when recording began, and from then until it ended.
static BEGAN: OnceLock<ProcessorTime> = OnceLock::new();
static SPENT: OnceLock<ProcessorTime> = OnceLock::new();

/// Notes that recording begins.
pub(crate) fn begin() {
    let _ = BEGAN.set(now());
}

/// Notes that recording ends.
pub(crate) fn end() {
    if let Some(began) = BEGAN.get() {
        let _ = SPENT.set(since(*began, now()));
    }
}

/// Returns the times from the beginning of the recording to its end, or `None` before the end.
pub(crate) fn spent() -> Option<ProcessorTime> {
    SPENT.get().copied()
}

fn since(began: ProcessorTime, now: ProcessorTime) -> ProcessorTime {
    ProcessorTime {
        on_core: now.on_core.saturating_sub(began.on_core),
        ready: now.ready.zip(began.ready).map(|(now, began)| now.saturating_sub(began)),
    }
}

fn now() -> ProcessorTime {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of = |thread: fs::DirEntry| {
        ready(&fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default())
    };
    // A system that does not count these times has no file, or zeros.
    let known: Vec<u64> = threads.take(MOST_THREADS).filter_map(of).collect();
    ProcessorTime { on_core: on_core(), ready: (!known.is_empty()).then(|| known.iter().sum()) }
}

/// Returns the time on cores of all threads of this process, also of those that have ended.
fn on_core() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Returns the time on cores of the calling thread.
#[cold]
pub(crate) fn of_this_thread() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Returns the time in which the calling thread was ready but had no core, or `None` if the system does not count it. Does
/// not allocate, and keeps no file open: programs count their descriptors and close those they do not know.
#[cold]
pub(crate) fn ready_of_this_thread() -> Option<u64> {
    keeping_errno(|| {
        let mut line = [0; 80];
        let count = File::open("/proc/thread-self/schedstat").ok()?.read(&mut line).ok()?;
        ready(str::from_utf8(line.get(..count)?).ok()?)
    })
}

/// Returns the time of a clock, or 0 if the system does not have it.
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the function writes to the structure that the pointer names, and keeps no pointer.
    let code = unsafe { libc::clock_gettime(clock, &raw mut time) };
    match code {
        0 => (time.tv_sec as u64).wrapping_mul(1_000_000_000) + time.tv_nsec as u64,
        _ => 0,
    }
}

/// Reads the time that a thread was ready from the line that the system has about it: time on a core, time ready, and
/// number of turns.
fn ready(line: &str) -> Option<u64> {
    let mut numbers = line.split_ascii_whitespace().map(str::parse::<u64>);
    let (on_core, ready) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (on_core > 0).then_some(ready)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_system() {
        assert_eq!(ready("902501 81896 2\n"), Some(81_896));
        assert_eq!(ready("0 0 0\n"), None);
        assert_eq!(ready(""), None);
        assert_eq!(ready("5"), None);
    }

    #[test]
    fn a_loop_takes_time_on_a_core() {
        let began = now();
        let mut sum = 0_u64;
        while now().on_core < began.on_core + 2_000_000 {
            sum = std::hint::black_box(sum + 1);
        }
        let spent = since(began, now());
        assert!(spent.on_core >= 2_000_000, "{spent:?}");
    }
}
