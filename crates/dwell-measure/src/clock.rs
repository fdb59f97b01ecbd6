//! The clock of a measured process: nanoseconds in a few instructions.
//!
//! Where the time stamp counter is invariant, ticks are turned into nanoseconds by one
//! multiplication, with a rate found between the loading of the library and the start of recording.
//! That rate is off by parts in a million, which is why pairs of both clocks are [sampled](sample)
//! again and again and stored: the archive corrects times by them, so that processes of a node agree
//! however long they run. Elsewhere the clock is `CLOCK_MONOTONIC`.
#![allow(unsafe_code)] // The counter is read by an instruction, the system's clock by a system call.

use std::sync::OnceLock;

/// How ticks become nanoseconds. Plain numbers, copied to every thread.
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

/// What time is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The processor's time stamp counter.
    Counter,
    /// `CLOCK_MONOTONIC`.
    System,
}

impl Source {
    /// The counter, if it can be relied on.
    pub fn best() -> Self {
        if invariant() { Self::Counter } else { Self::System }
    }
}

/// Both clocks, read as nearly at once as possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Of the counter.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub monotonic: u64,
    /// How far apart the two readings may be, nanoseconds.
    pub doubt: u64,
}

/// A rate is not taken from samples closer than this.
const SHORTEST_BASE: u64 = 10_000_000;

/// The first sample of this process: at the loading of the library.
static FIRST: OnceLock<Sample> = OnceLock::new();

/// Takes the first sample. A later call changes nothing.
pub fn prepare() {
    FIRST.get_or_init(sample);
}

impl Clock {
    /// The clock of this process. Takes up to 10 ms, if the library was loaded only just now.
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

    /// The clock of the system, without a counter.
    pub fn system() -> Self {
        Self { source: Source::System, ticks: 0, nanos: 0, rate: 1 << 32 }
    }

    /// The clock whose rate is that between two samples. It agrees with the system at the later.
    fn between(first: Sample, last: Sample) -> Self {
        let ticks = last.ticks.wrapping_sub(first.ticks);
        let nanos = last.monotonic - first.monotonic;
        match ((u128::from(nanos) << 32) / u128::from(ticks.max(1))).try_into() {
            // A counter slower than 1 MHz is none to measure with.
            Ok(rate) if ticks > nanos / 1000 => {
                Self { source: Source::Counter, ticks: last.ticks, nanos: last.monotonic, rate }
            }
            _ => Self::system(),
        }
    }

    /// Nanoseconds, now.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        match self.source {
            Source::Counter => self.at(counter()),
            Source::System => monotonic(),
        }
    }

    /// Nanoseconds at a reading of the counter. Readings before the reference are possible: the
    /// difference is signed.
    #[inline(always)]
    fn at(&self, ticks: u64) -> u64 {
        let since = i128::from(ticks.wrapping_sub(self.ticks).cast_signed());
        let nanos = (since * i128::from(self.rate)) >> 32;
        self.nanos.wrapping_add(nanos as u64)
    }

    /// What this clock says at the moment of a sample.
    pub fn of(&self, sample: Sample) -> u64 {
        match self.source {
            Source::Counter => self.at(sample.ticks),
            Source::System => sample.monotonic,
        }
    }

    /// What it is, in words.
    pub fn describe(&self) -> &'static str {
        match self.source {
            Source::Counter => "time stamp counter",
            Source::System => "CLOCK_MONOTONIC",
        }
    }
}

/// Reads both clocks. Of several readings it keeps the one with the least doubt.
pub fn sample() -> Sample {
    let once = || {
        let before = counter();
        let monotonic = monotonic();
        let after = counter();
        (after.wrapping_sub(before), Sample { ticks: before, monotonic, doubt: 0 })
    };
    let (width, best) = (0..5).map(|_| once()).min_by_key(|(width, _)| *width).unwrap_or_else(once);
    // The system's clock was read half-way, give or take as much. Ticks are at least as short as
    // nanoseconds on every counter that is used.
    Sample { ticks: best.ticks.wrapping_add(width / 2), doubt: width / 2, ..best }
}

/// Whether the counter runs at one rate, whatever the processor does, and never stops.
pub fn invariant() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::__cpuid;
        __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
    }
    #[cfg(target_arch = "aarch64")]
    true
}

#[inline(always)]
fn counter() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, and it reads a register only.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: Linux lets every process read this register.
        unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        ticks
    }
}

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn monotonic() -> u64 {
    skewed(read(libc::CLOCK_MONOTONIC))
}

/// A clock that is made wrong, to see whether that is put right.
static SKEW: OnceLock<Skew> = OnceLock::new();

/// How wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Skew {
    /// By how many nanoseconds.
    pub(crate) offset: i64,
    /// By how many parts in a thousand million of the time that it shows.
    pub(crate) drift: i64,
    /// Whether it gains and loses in turn: so many nanoseconds each; 0 is always the same.
    pub(crate) turn: u64,
}

impl Skew {
    /// Times as large.
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

/// Makes the clock of this process wrong from now on. Once, and only with the clock of the system.
pub(crate) fn skew(by: Skew) {
    let _ = SKEW.set(by);
}

/// Whether it was.
pub(crate) fn is_skewed() -> bool {
    SKEW.get().is_some()
}

/// A time, as the clock shows it that was made wrong.
fn skewed(time: u64) -> u64 {
    SKEW.get().map_or(time, |skew| skew.at(time))
}

impl Sample {
    /// The same, by the clock that was made wrong since.
    pub(crate) fn skewed(self) -> Self {
        Self { monotonic: skewed(self.monotonic), ..self }
    }
}

/// Nanoseconds since 1970, UTC.
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
