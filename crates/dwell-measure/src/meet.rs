//! When all processes are together anyway: clocks of different nodes are compared.
//!
//! A clock does not drift evenly for hours, so it has to be looked at now and then. All processes must do so
//! together, and no message can tell them when: one that computes does not listen. But they all make the same
//! calls at which everyone meets, a barrier for instance, in the same order. They count these, and at each
//! meeting rank 0 says at which count the next one is.
//!
//! # What it costs
//! Rank 0 learns how long the slowest process took. The next comparison comes when a hundred times as long has
//! passed, or the period that was asked for if that is longer: comparing clocks costs at most 1 % of the run.
//!
//! # Processes that cannot reach a comparison are not waited for
//! * Only calls of the runtime that began the recording count, of a group that is all processes by its handle,
//!   which cannot return at one process before all have come. So whoever waits at a meeting waits for
//!   processes that are inside the same call, or past it and at the meeting.
//! * They are counted by their hooks, whatever is recorded: with a filter, out of the window, paused, without
//!   room, by a thread that is not recorded, and after the recording has failed.
//! * A call inside such a call, one of C in one of Fortran, counts instead of it.
//! * Processes agree at the beginning that they meet. If one cannot record, none does. On one node there is one
//!   clock, and nothing is counted.
//! * A process that waits longer than the deadline for another one takes part in no further comparison.

use std::io;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use dwell_model::layer::Layer;
use dwell_unify::patience::{Patience, Step};
use dwell_unify::unify::Upcalls;

use crate::clock::monotonic;
use crate::entry;
use crate::guard::{Entry, guarded};
use crate::process;
use crate::report;
use crate::stack;
use crate::sync;
use crate::thread::as_region;
use crate::together::{broadcast, numbers, reduce};

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
/// How many nanoseconds the other processes are waited for.
static TIMEOUT: AtomicU64 = AtomicU64::new(0);

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
pub fn after<U: Upcalls>(layer: Layer, before: u64, open: impl FnOnce(Patience) -> io::Result<U>) {
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
        let patience = Patience::from_now(Step::CompareClocks, TIMEOUT.load(Ordering::Relaxed));
        let met = || meet(&mut open(patience)?, count);
        let met = as_region(REGION, layer, || stack::apart(stack::FOR_A_RUNTIME, met));
        if let Err(error) = met {
            entry::count(false);
            if process::current().is_some_and(|process| process.rank() == 0) {
                report::say(&format!("clocks are not compared any more: {error}"));
            }
        }
    });
}

/// What a process knows when processes agree whether to compare clocks while the program runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prospect {
    /// Whether this process asked another node for the time.
    pub(crate) apart: bool,
    /// Whether this process can record.
    pub(crate) able: bool,
    /// How many nanoseconds should lie between two comparisons; the value of rank 0 counts, and 0 is never.
    pub(crate) period: u64,
    /// How many nanoseconds the first comparison, at the start of the recording, took this process.
    pub(crate) cost: u64,
    /// How many nanoseconds other processes are waited for.
    pub(crate) timeout: u64,
}

/// Agrees with all other processes, which call this too, whether to compare clocks while the program runs.
///
/// # Errors
/// If the communication fails.
pub(crate) fn begin(
    up: &mut impl Upcalls,
    layer: Layer,
    node: String,
    it: Prospect,
) -> io::Result<()> {
    let own = [u64::from(it.apart), u64::from(!it.able), it.cost];
    let [apart, unable, cost] = reduce(up, own, u64::max)?;
    let mine = (up.rank() == 0).then(|| {
        let meets = apart != 0 && unable == 0 && it.period > 0;
        vec![u8::from(meets)]
    });
    if broadcast(up, mine)? != [1] {
        return Ok(());
    }
    if up.rank() == 0
        && let Ok(mut schedule) = SCHEDULE.lock()
    {
        *schedule = Some(Schedule::new(it.period, cost, monotonic()));
    }
    TIMEOUT.store(it.timeout, Ordering::Relaxed);
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

/// One meeting.
fn meet(up: &mut impl Upcalls, count: u64) -> io::Result<()> {
    let began = monotonic();
    let mine = (up.rank() == 0).then(|| {
        let schedule = SCHEDULE.lock().ok().and_then(|mut schedule| {
            schedule.as_mut().map(|schedule| schedule.next(count, monotonic()))
        });
        let Next { due, budget } = schedule.unwrap_or(Next { due: NEVER, budget: 0 });
        [due, budget].map(u64::to_le_bytes).concat()
    });
    let [due, budget] = numbers(&broadcast(up, mine)?)?;
    DUE.store(due, Ordering::Relaxed);
    if budget == 0 {
        return Ok(());
    }
    let node = NODE.get().map_or("", String::as_str);
    let distance = sync::measure(up, node, budget)?;
    if let Some(process) = process::current() {
        guarded(Entry::Sample, || process.sample_distance(&distance));
    }
    let [cost] = reduce(up, [monotonic().saturating_sub(began)], u64::max)?;
    if let Ok(mut schedule) = SCHEDULE.lock()
        && let Some(schedule) = schedule.as_mut()
    {
        schedule.cost = cost;
    }
    Ok(())
}

/// What time that is taken from the program for this is called in the archive.
const REGION: &str = "Dwell compares clocks";

/// What rank 0 says at a meeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Next {
    /// The count of the next meeting.
    due: u64,
    /// How many nanoseconds the comparison at this meeting should take at most; 0 if there is none.
    budget: u64,
}

/// How rank 0 finds the next meeting: by how often there were calls lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Schedule {
    /// Nanoseconds that should be between comparisons.
    period: u64,
    /// Nanoseconds that the last comparison took the process that it took longest.
    cost: u64,
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

/// A comparison takes at most one part in so many of the time since the last one.
const PART: u64 = 100;

impl Schedule {
    fn new(period: u64, cost: u64, now: u64) -> Self {
        Self { period, cost, compared: now, met: (0, now), step: 1 }
    }

    /// At a meeting: what rank 0 says to all processes.
    fn next(&mut self, count: u64, now: u64) -> Next {
        let affordable = self.cost.saturating_mul(PART);
        let period = self.period.max(affordable);
        let since = now.saturating_sub(self.compared);
        // A little early is better than late by a whole step, unless the comparison would cost too much.
        let compare = since >= affordable.max(self.period - self.period / (2 * LOOKS));
        let budget = if compare { (since / PART).max(1) } else { 0 };
        if compare {
            self.compared = now;
        }
        let (calls, time) = (count - self.met.0, now.saturating_sub(self.met.1).max(1));
        let wanted = u128::from(calls) * u128::from(period / LOOKS) / u128::from(time);
        // Calls may come in a burst. So steps grow slowly: after one the next meeting is late by an eighth of
        // its calls at most.
        let most = self.step + self.step / 8 + 1;
        self.step = u64::try_from(wanted).unwrap_or(most).clamp(1, most);
        self.met = (count, now);
        Next { due: count + self.step, budget }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a program of calls with times between them, and returns when there were comparisons, and how
    /// many meetings.
    fn run(period: u64, gaps: impl Iterator<Item = u64>) -> (Vec<u64>, u64) {
        run_at_cost(0, period, gaps)
    }

    /// The same, where every comparison takes all processes this long.
    fn run_at_cost(cost: u64, period: u64, gaps: impl Iterator<Item = u64>) -> (Vec<u64>, u64) {
        let mut schedule = Schedule::new(period, cost, 0);
        let (mut now, mut due, mut meetings, mut compared) = (0, 1, 0, Vec::new());
        for (count, gap) in (1..).zip(gaps) {
            now += gap;
            if count == due {
                let next = schedule.next(count, now);
                assert!(next.due > count);
                (due, meetings) = (next.due, meetings + 1);
                if next.budget > 0 {
                    compared.push(now);
                    now += cost;
                    schedule.cost = cost;
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
    fn comparisons_take_at_most_a_hundredth_of_the_time() {
        for cost in [10_000, 30_000, 1_000_000] {
            let (compared, _) = run_at_cost(cost, 1_000_000, std::iter::repeat_n(10_000, 100_000));
            let apart = gaps_between(&compared);
            assert!(apart.iter().all(|apart| *apart >= 100 * cost), "{cost}: {apart:?}");
            assert!(
                apart.iter().skip(8).all(|apart| *apart < 150 * cost.max(10_000)),
                "{cost}: {apart:?}"
            );
            assert!(compared.len() >= 8, "{cost}: {compared:?}");
        }
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
