//! Time that recording takes, measured where it is spent.
//!
//! Of every [`EVERY`] passes through a guard that belongs to a call of the program one is timed, in the middle of the
//! program, with whatever its caches contain. So the overhead that the end of a run reports is that of this program and
//! not of a benchmark. Chunks that are full are rare and take long, so the time for each of them is added.
//!
//! A pass that takes longer than [`LONG`] nanoseconds lost its core, or waited for the disk, which is timed by itself. It counts as
//! one of mean length: multiplied by the number of passes that it stands for, a single one would decide the result.
//!
//! The few instructions before and after a guard cannot be timed this way. They count for [`AROUND`].
//!
//! The result is a lower bound of what recording adds to a run: where processes wait for each other in turn, each also
//! waits while the other records.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::arch::counter;
use crate::clock;
use crate::entry::words;

/// Number of passes of which one is timed. Loops of few calls have lengths that it is no multiple of.
const EVERY: u32 = 61;
/// Length in nanoseconds from which a pass is not believed.
const LONG: f64 = 20_000.0;
/// Nanoseconds that the entry stub and the hook take around a guard, and that the code after it takes longer.
const AROUND: f64 = 5.0;
/// Number of timed passes from which their mean says something.
const ENOUGH: u64 = 16;

/// Times of the passes of a process, in ticks of the counter.
#[derive(Debug)]
struct Passes {
    timed: AtomicU64,
    believed: AtomicU64,
    in_believed: AtomicU64,
    /// Ticks of [`LONG`]; 0 before the first timed pass.
    long: AtomicU64,
    in_chunks: AtomicU64,
}

static PASSES: Passes = Passes::new();

/// Begins a pass. Returns the time if it is to be timed, and otherwise 0; [`end`] takes it.
#[inline(always)]
pub(crate) fn begin() -> u64 {
    let untimed = &words().untimed;
    match untimed.get() {
        0 => begin_timed(),
        left => {
            untimed.set(left - 1);
            0
        }
    }
}

#[cold]
#[inline(never)]
fn begin_timed() -> u64 {
    words().untimed.set(EVERY - 1);
    counter()
}

/// Ends a pass that [`begin`] began.
#[inline(always)]
pub(crate) fn end(began: u64) {
    if began != 0 {
        end_timed(began);
    }
}

#[cold]
#[inline(never)]
fn end_timed(began: u64) {
    PASSES.add(counter().saturating_sub(began));
}

/// Runs `action`, which begins another chunk, and adds the time that it takes.
pub(crate) fn in_chunk(action: impl FnOnce()) {
    let began = counter();
    action();
    PASSES.in_chunks.fetch_add(counter().saturating_sub(began), Ordering::Relaxed);
}

/// Returns the nanoseconds that recording has taken in this process; `None` if too few calls were made to say.
pub(crate) fn total() -> Option<u64> {
    PASSES.total(clock::tick(), reading())
}

/// Returns the ticks between two readings of the counter, one directly after the other: the part of a timed pass that is
/// due to timing it.
fn reading() -> f64 {
    const TIMES: u32 = 1000;
    let from = counter();
    let last = (0..TIMES).fold(from, |_, _| counter());
    last.saturating_sub(from) as f64 / f64::from(TIMES)
}

impl Passes {
    const fn new() -> Self {
        Self {
            timed: AtomicU64::new(0),
            believed: AtomicU64::new(0),
            in_believed: AtomicU64::new(0),
            long: AtomicU64::new(0),
            in_chunks: AtomicU64::new(0),
        }
    }

    /// Adds a pass that took so many ticks.
    fn add(&self, length: u64) {
        let long = match self.long.load(Ordering::Relaxed) {
            0 => {
                let long = (LONG / clock::tick()) as u64;
                self.long.store(long, Ordering::Relaxed);
                long
            }
            long => long,
        };
        self.timed.fetch_add(1, Ordering::Relaxed);
        if length < long {
            self.believed.fetch_add(1, Ordering::Relaxed);
            self.in_believed.fetch_add(length, Ordering::Relaxed);
        }
    }

    /// Returns the nanoseconds of all passes, with a tick of this length and so many ticks for each reading of the
    /// counter.
    fn total(&self, tick: f64, reading: f64) -> Option<u64> {
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed) as f64;
        let believed = load(&self.believed);
        if believed < ENOUGH as f64 {
            return None;
        }
        let pass = (load(&self.in_believed) / believed - reading).max(0.0) * tick + AROUND;
        let passes = load(&self.timed) * f64::from(EVERY);
        Some((pass * passes + load(&self.in_chunks) * tick) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_that_were_interrupted_are_of_mean_length() {
        let passes = Passes::new();
        passes.long.store(1000, Ordering::Relaxed);
        for _ in 0..15 {
            passes.add(110);
        }
        assert_eq!(passes.total(0.5, 10.0), None, "15 passes are few");
        passes.add(110);
        passes.add(1_000_000);
        passes.in_chunks.store(2000, Ordering::Relaxed);
        // 17 of 61 passes each, 50 ns and 5 ns around them, and 1,000 ns for chunks.
        assert_eq!(passes.total(0.5, 10.0), Some(17 * 61 * 55 + 1000));
    }

    #[test]
    fn one_pass_in_61_is_timed() {
        words().untimed.set(0);
        let timed = (0..610).filter(|_| begin() != 0).count();
        assert_eq!(timed, 10);
    }
}
