//! When all processes are together anyway: clocks of different nodes are compared.
//!
//! A clock does not drift evenly for hours, so it has to be looked at now and then. All processes must do so
//! together, and no message can tell them when: one that computes does not listen. But they all make the same
//! calls at which everyone meets, a barrier for instance, in the same order. They count these, and at each
//! meeting rank 0 says at which count the next one is.
//!
//! # Nobody is waited for who does not come
//! * Only calls of the runtime that began the recording count, of a group that is all processes by its handle,
//!   which cannot return at one process before all have come. So whoever waits at a meeting waits for
//!   processes that are inside the same call, or past it and at the meeting.
//! * They are counted by their hooks, whatever is recorded: with a filter, out of the window, paused, without
//!   room, by a thread that is not recorded, and after the recording has failed.
//! * A call inside such a call, one of C in one of Fortran, counts instead of it.
//! * Processes agree at the beginning that they meet. If one cannot record, none does. On one node there is one
//!   clock, and nothing is counted.

use std::io;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use dwell_model::layer::Layer;

use crate::agree::broadcast;
use crate::clock::monotonic;
use crate::entry;
use crate::process;
use crate::sync::{self, numbers};
use crate::thread::as_region;
use crate::unify::{Upcalls, above, below};

/// Calls at which all were together.
static COUNT: AtomicU64 = AtomicU64::new(0);
/// At which of them they meet.
static DUE: AtomicU64 = AtomicU64::new(NEVER);
/// Of which layer.
static LAYER: AtomicU8 = AtomicU8::new(0);
/// What rank 0 goes by.
static SCHEDULE: Mutex<Option<Schedule>> = Mutex::new(None);
/// What tells the clock of this process from others.
static NODE: OnceLock<String> = OnceLock::new();

const NEVER: u64 = u64::MAX;

/// Whether processes meet now and then.
pub fn is_on() -> bool {
    entry::is_counting()
}

/// Before a call at which all processes are together. `None` if it does not matter.
#[inline(always)]
pub fn before(layer: Layer) -> Option<u64> {
    if !entry::is_counting() || LAYER.load(Ordering::Relaxed) != layer as u8 {
        return None;
    }
    Some(COUNT.load(Ordering::Relaxed))
}

/// After it, with what [`before`] said. `open` is how processes of the layer talk.
pub fn after<U: Upcalls>(layer: Layer, before: u64, open: impl FnOnce() -> io::Result<U>) {
    // One inside of it has counted.
    if COUNT.load(Ordering::Relaxed) != before {
        return;
    }
    let count = before + 1;
    COUNT.store(count, Ordering::Relaxed);
    if count != DUE.load(Ordering::Relaxed) {
        return;
    }
    entry::keeping_errno(|| {
        // Until all have left it, since it serves others.
        let met = as_region(REGION, layer, || open().and_then(|mut up| meet(&mut up, count)));
        if met.is_err() {
            entry::count(false);
        }
    });
}

/// Agrees whether to meet. All processes do so together: `apart` is whether this one asked another node for
/// the time, `able` whether it can record. Rank 0 says how many nanoseconds should be between two meetings.
///
/// # Errors
/// If the communication fails.
pub(crate) fn begin(
    up: &mut impl Upcalls,
    layer: Layer,
    node: String,
    (apart, able): (bool, bool),
    period: u64,
) -> io::Result<()> {
    let (apart, able) = reduce(up, (apart, able))?;
    let mine = (up.rank() == 0).then(|| {
        let meets = apart && able && period > 0;
        vec![u8::from(meets)]
    });
    if broadcast(up, mine)? != [1] {
        return Ok(());
    }
    if up.rank() == 0
        && let Ok(mut schedule) = SCHEDULE.lock()
    {
        *schedule = Some(Schedule::new(period, monotonic()));
    }
    let _ = NODE.set(node);
    LAYER.store(layer as u8, Ordering::Relaxed);
    DUE.store(1, Ordering::Relaxed);
    entry::count(true);
    Ok(())
}

/// The last meeting was.
pub(crate) fn end() {
    entry::count(false);
}

/// Whether any process is apart, and all are able: known to rank 0 afterwards.
fn reduce(up: &mut impl Upcalls, own: (bool, bool)) -> io::Result<(bool, bool)> {
    let (rank, size) = (up.rank(), up.size());
    let (mut apart, mut able) = own;
    for child in below(rank, size) {
        let told = up.receive(child)?;
        let [theirs_apart, theirs_able] = told[..] else {
            return Err(io::Error::other("a message about meetings was damaged"));
        };
        (apart, able) = (apart || theirs_apart != 0, able && theirs_able != 0);
    }
    if let Some(above) = above(rank) {
        up.send(above, &[u8::from(apart), u8::from(able)])?;
    }
    Ok((apart, able))
}

/// One meeting.
fn meet(up: &mut impl Upcalls, count: u64) -> io::Result<()> {
    let mine = (up.rank() == 0).then(|| {
        let schedule = SCHEDULE.lock().ok().and_then(|mut schedule| {
            schedule.as_mut().map(|schedule| schedule.next(count, monotonic()))
        });
        let (due, compare) = schedule.unwrap_or((NEVER, false));
        [due, u64::from(compare)].map(u64::to_le_bytes).concat()
    });
    let [due, compare] = numbers(&broadcast(up, mine)?)?;
    DUE.store(due, Ordering::Relaxed);
    if compare == 0 {
        return Ok(());
    }
    let node = NODE.get().map_or("", String::as_str);
    let distance = sync::measure(up, node)?;
    if let Some(process) = process::current() {
        process.sample_distance(&distance);
    }
    Ok(())
}

/// What time that is taken from the program for this is called in the archive.
const REGION: &str = "Dwell compares clocks";

/// How rank 0 finds the next meeting: by how often there were calls lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Schedule {
    /// Nanoseconds that should be between comparisons.
    period: u64,
    /// When the last comparison was.
    compared: u64,
    /// The last meeting: its count, and when it was.
    met: (u64, u64),
    /// Calls before that since the one before.
    step: u64,
}

/// Meetings in a period. At most of them rank 0 says no more than when the next one is: a message for each
/// process, so that a program whose calls become rarer is noticed early.
const LOOKS: u64 = 4;

impl Schedule {
    fn new(period: u64, now: u64) -> Self {
        Self { period, compared: now, met: (0, now), step: 1 }
    }

    /// At a meeting: the count of the next one, and whether clocks are compared at this one.
    fn next(&mut self, count: u64, now: u64) -> (u64, bool) {
        // A little early is better than late by a whole step.
        let compare = now.saturating_sub(self.compared) >= self.period - self.period / (2 * LOOKS);
        if compare {
            self.compared = now;
        }
        let (calls, time) = (count - self.met.0, now.saturating_sub(self.met.1).max(1));
        let wanted = u128::from(calls) * u128::from(self.period / LOOKS) / u128::from(time);
        // Calls may come in a burst. So steps grow slowly: after one the next meeting is late by an eighth of
        // its calls at most.
        let most = self.step + self.step / 8 + 1;
        self.step = u64::try_from(wanted).unwrap_or(most).clamp(1, most);
        self.met = (count, now);
        (count + self.step, compare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a program of calls with times between them, and returns when there were comparisons, and how
    /// many meetings.
    fn run(period: u64, gaps: impl Iterator<Item = u64>) -> (Vec<u64>, u64) {
        let mut schedule = Schedule::new(period, 0);
        let (mut now, mut due, mut meetings, mut compared) = (0, 1, 0, Vec::new());
        for (count, gap) in (1..).zip(gaps) {
            now += gap;
            if count == due {
                let (next, compare) = schedule.next(count, now);
                assert!(next > count);
                (due, meetings) = (next, meetings + 1);
                if compare {
                    compared.push(now);
                }
            }
        }
        (compared, meetings)
    }

    fn gaps_between(times: &[u64]) -> Vec<u64> {
        times.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    #[test]
    fn comparisons_are_a_period_apart() {
        for gap in [1_000, 10_000, 70_000] {
            let calls = usize::try_from(20_000_000 / gap).unwrap_or(0);
            let (compared, meetings) = run(1_000_000, std::iter::repeat_n(gap, calls));
            assert!((17..=24).contains(&compared.len()), "{gap}: {compared:?}");
            assert!(meetings < 120, "{gap}: {meetings}");
            for apart in gaps_between(&compared) {
                assert!((800_000..=1_300_000).contains(&apart), "{gap}: {compared:?}");
            }
        }
        // Calls that are rarer than that: at each of them.
        let (compared, meetings) = run(1_000_000, std::iter::repeat_n(3_000_000, 10));
        assert_eq!((compared.len(), meetings), (10, 10));
    }

    #[test]
    fn a_burst_of_calls_is_not_taken_for_the_rule() {
        let burst = std::iter::repeat_n(10, 20_000).chain(std::iter::repeat_n(10_000, 10_000));
        let (compared, meetings) = run(1_000_000, burst);
        let apart = gaps_between(&compared);
        assert!(compared.len() >= 60 && meetings < 600, "{meetings}: {compared:?}");
        assert!(compared[0] < 27_000_000, "{compared:?}");
        assert!(apart.iter().all(|apart| *apart < 3_000_000), "{apart:?}");
    }
}
