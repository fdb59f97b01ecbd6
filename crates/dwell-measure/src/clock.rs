//! The clock of a measured process: nanoseconds in a few instructions.
//!
//! Where the time stamp counter is invariant, ticks are turned into nanoseconds by one
//! multiplication, with a rate found between the loading of the library and the start of recording.
//! That rate is off by parts in a million, which is why pairs of both clocks are [sampled](sample)
//! again and again and stored: the archive corrects times by them, so that processes of a node agree
//! however long they run. Elsewhere the clock is `CLOCK_MONOTONIC`.
#![allow(unsafe_code)] // The system's clock is read by a system call.

use std::sync::OnceLock;

use crate::arch::{self, counter, counter_in_order};

/// Conversion from ticks of a counter to nanoseconds. The value is small and is copied to every thread, so that reading
/// the time needs no shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    source: Source,
    /// Ticks at which the recorder's time equals the system's.
    ticks: u64,
    /// The system's time then.
    nanos: u64,
    /// Nanoseconds a tick, times 2^32.
    rate: u64,
}

/// Clock from which the recorder reads time: a counter of the processor or the clock of the system. Users choose it
/// with the setting `clock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The time stamp counter of the processor, which takes a few instructions to read.
    Counter,
    /// `CLOCK_MONOTONIC` of the operating system, which works everywhere and takes longer to read.
    System,
}

impl Source {
    /// Returns the best source on this machine: the counter if the processor guarantees a constant rate, and otherwise
    /// the clock of the system, which takes longer to read.
    pub fn best() -> Self {
        if invariant() { Self::Counter } else { Self::System }
    }
}

/// A reading of both clocks, as nearly at the same moment as possible. The archive has pairs of them as clock offsets,
/// by which readers correct the times of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Reading of the processor's time stamp counter, in ticks: the mean of one reading before and one after that of
    /// the system clock.
    pub ticks: u64,
    /// Reading of `CLOCK_MONOTONIC`, in nanoseconds.
    pub monotonic: u64,
    /// Largest possible distance between the two readings, in nanoseconds: half of the time that the reading took.
    pub doubt: u64,
}

/// Least distance between the samples that a rate is computed from, in nanoseconds.
const SHORTEST_BASE: u64 = 10_000_000;

/// First sample of this process, taken when the library is loaded.
static FIRST: OnceLock<Sample> = OnceLock::new();

/// Takes the first sample of both clocks, from which the rate of the counter is computed later. The library calls it
/// when it is loaded; a second call changes nothing.
pub fn prepare() {
    FIRST.get_or_init(sample);
}

impl Clock {
    /// Makes the clock of this process. If the library was loaded only just before, this takes up to 10 ms, because the
    /// rate of the counter needs two samples at a distance.
    pub fn start(source: Source) -> Self {
        if source == Source::System {
            return Self::system();
        }
        let first = *FIRST.get_or_init(sample);
        let mut now = sample();
        while now.monotonic - first.monotonic < SHORTEST_BASE {
            std::thread::sleep(std::time::Duration::from_nanos(SHORTEST_BASE));
            now = sample();
        }
        Self::between(first, now)
    }

    /// Makes a clock that reads `CLOCK_MONOTONIC` and uses no counter. It needs no rate, so it is ready at once and
    /// never drifts.
    pub fn system() -> Self {
        Self { source: Source::System, ticks: 0, nanos: 0, rate: 1 << 32 }
    }

    /// Makes the clock whose rate is that between two samples. It agrees with the system at the later sample.
    fn between(first: Sample, last: Sample) -> Self {
        let ticks = last.ticks.wrapping_sub(first.ticks);
        let nanos = last.monotonic - first.monotonic;
        match ((u128::from(nanos) << 32) / u128::from(ticks.max(1))).try_into() {
            // A counter slower than 1 MHz is too coarse to measure with.
            Ok(rate) if ticks > nanos / 1000 => {
                Self { source: Source::Counter, ticks: last.ticks, nanos: last.monotonic, rate }
            }
            _ => Self::system(),
        }
    }

    /// Reads the time, in nanoseconds. It is on the scale of `CLOCK_MONOTONIC`, but drifts from it with the error of
    /// the rate.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        match self.source {
            Source::Counter => {
                let ticks = counter();
                let since = ticks.wrapping_sub(self.ticks);
                // Readings before the reference are rare, and cost a signed product of 128 bits.
                if since.cast_signed() < 0 {
                    return self.at_cold(ticks);
                }
                let nanos = (u128::from(since) * u128::from(self.rate)) >> 32;
                self.nanos.wrapping_add(nanos as u64)
            }
            Source::System => monotonic(),
        }
    }

    /// Returns the nanoseconds at a reading of the counter. Readings before the reference are possible: the difference
    /// is signed.
    #[inline(always)]
    fn at(&self, ticks: u64) -> u64 {
        let since = i128::from(ticks.wrapping_sub(self.ticks).cast_signed());
        let nanos = (since * i128::from(self.rate)) >> 32;
        self.nanos.wrapping_add(nanos as u64)
    }

    #[cold]
    #[inline(never)]
    fn at_cold(&self, ticks: u64) -> u64 {
        self.at(ticks)
    }

    /// Returns the time that this clock showed at the moment of a sample, in nanoseconds. The sample may be older than
    /// the clock itself.
    pub fn of(&self, sample: Sample) -> u64 {
        match self.source {
            Source::Counter => self.at(sample.ticks),
            Source::System => sample.monotonic,
        }
    }

    /// Returns the name of the clock in words, which the archive states as a property of the run.
    pub fn describe(&self) -> &'static str {
        match self.source {
            Source::Counter => "time stamp counter",
            Source::System => "CLOCK_MONOTONIC",
        }
    }
}

/// Returns the length of a tick of the counter in nanoseconds, from its readings since the library was loaded.
pub(crate) fn tick() -> f64 {
    let (first, now) = (*FIRST.get_or_init(sample), sample());
    let ticks = now.ticks.saturating_sub(first.ticks).max(1) as f64;
    now.monotonic.saturating_sub(first.monotonic).max(1) as f64 / ticks
}

/// Reads both clocks several times and returns the reading with the least distance between them. An interruption by the
/// system between the two readings would make a single attempt useless.
pub fn sample() -> Sample {
    let once = || {
        let before = counter_in_order();
        let monotonic = monotonic();
        let after = counter_in_order();
        (after.wrapping_sub(before), Sample { ticks: before, monotonic, doubt: 0 })
    };
    let (width, best) = (0..5).map(|_| once()).min_by_key(|(width, _)| *width).unwrap_or_else(once);
    // The system's clock was read half-way, give or take as much.
    Sample { ticks: best.ticks.wrapping_add(width / 2), doubt: doubt(width), ..best }
}

/// Returns the largest possible distance in nanoseconds between two readings, one of which lies half-way in a stretch of
/// `ticks` ticks. A tick that is longer than a nanosecond adds what it may hide.
fn doubt(ticks: u64) -> u64 {
    match arch::tick() {
        1 => ticks / 2,
        tick => (ticks + 1).saturating_mul(tick) / 2 + tick,
    }
}

/// Returns `true` if the processor guarantees that the counter runs at a constant rate in all power states and never
/// stops. An x86-64 processor states it; on AArch64 it is always so.
pub fn invariant() -> bool {
    arch::is_invariant()
}

/// Reads `CLOCK_MONOTONIC`, in nanoseconds. All processes of a node share this clock. Tests can add an error to it, to
/// play a node with another clock.
pub fn monotonic() -> u64 {
    skewed(read(libc::CLOCK_MONOTONIC))
}

/// Error that tests add to the clock of the process, to see whether it is corrected.
static SKEW: OnceLock<Skew> = OnceLock::new();

/// Error of a clock: an offset and a drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Skew {
    /// Offset in nanoseconds.
    pub(crate) offset: i64,
    /// Drift in nanoseconds for each second.
    pub(crate) drift: i64,
    /// Nanoseconds after which the drift changes its sign; 0 for a constant drift.
    pub(crate) turn: u64,
}

impl Skew {
    /// Multiplies offset and drift by a factor.
    pub(crate) fn times(self, factor: i64) -> Self {
        Self { offset: self.offset * factor, drift: self.drift * factor, ..self }
    }

    fn at(&self, time: u64) -> u64 {
        let since = match self.turn {
            0 => time,
            turn => match time % (2 * turn) {
                gaining if gaining < turn => gaining,
                losing => 2 * turn - losing,
            },
        };
        let wrong =
            i128::from(self.offset) + i128::from(since) * i128::from(self.drift) / 1_000_000_000;
        time.wrapping_add_signed(wrong as i64)
    }
}

/// Adds an error to the clock of this process from now on. Can be called once, and works only with the clock of the
/// system.
pub(crate) fn skew(by: Skew) {
    let _ = SKEW.set(by);
}

/// Returns `true` if the clock of this process has an artificial error.
pub(crate) fn is_skewed() -> bool {
    SKEW.get().is_some()
}

/// Returns a time with the artificial error added.
fn skewed(time: u64) -> u64 {
    SKEW.get().map_or(time, |skew| skew.at(time))
}

impl Sample {
    /// Returns the sample as the clock with the artificial error would have shown it.
    pub(crate) fn skewed(self) -> Self {
        Self { monotonic: skewed(self.monotonic), ..self }
    }
}

/// Reads the time of day: nanoseconds since 1970 in UTC. It may jump, so it serves for names and for the date of a run,
/// never for events.
pub fn realtime() -> u64 {
    read(libc::CLOCK_REALTIME)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing; both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_system() {
        prepare();
        let clock = Clock::start(Source::best());
        for _ in 0..3 {
            let sample = sample();
            let off = clock.of(sample).abs_diff(sample.monotonic);
            assert!(off < 100_000 + sample.doubt, "{off} ns off: {clock:?}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let (before, after) = (clock.now(), clock.now());
        assert!(before <= after);
    }

    #[test]
    fn rates_and_readings_before_the_reference() {
        let first = Sample { ticks: 1_000, monotonic: 5_000_000, doubt: 0 };
        let last = Sample { ticks: 25_001_000, monotonic: 15_000_000, doubt: 0 };
        let clock = Clock::between(first, last);
        // Rounding of the rate moves readings by less than a nanosecond in ten milliseconds.
        for (ticks, nanos) in
            [(1_000, 5_000_000), (25_001_000, 15_000_000), (50_001_000, 25_000_000)]
        {
            assert!(clock.at(ticks).abs_diff(nanos) <= 1, "{ticks}: {}", clock.at(ticks));
        }
    }

    #[test]
    fn a_counter_that_stands_still_is_not_used() {
        let first = Sample { ticks: 7, monotonic: 0, doubt: 0 };
        let last = Sample { ticks: 8, monotonic: 20_000_000, doubt: 0 };
        assert_eq!(Clock::between(first, last), Clock::system());
    }
}
