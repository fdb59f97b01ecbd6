//! Comparison of the clocks of different nodes while the program runs.
//!
//! A clock does not drift evenly for hours, so it has to be compared now and then. All processes must do so together,
//! and no message can tell them when: a process that computes does not listen. But they all make the same barriers and
//! other collectives over all processes, in the same order. They count these, and at each meeting rank 0 says at which
//! count the next one is.
//!
//! # Cost
//! Rank 0 learns how long the slowest process took. The next comparison comes when a hundred times as long has passed,
//! or the period that was asked for if that is longer: comparing clocks costs at most 1 % of the run.
//!
//! # Processes that cannot reach a comparison are not waited for
//! * Only calls of the runtime that began the recording count, on a group that is all processes by its handle, which
//!   cannot return at one process before all have entered. So a process that waits at a meeting waits for processes
//!   that are inside the same call, or past it and at the meeting.
//! * Hooks count these calls, whatever is recorded: with a filter, outside the time window, paused, without room, by a
//!   thread that is not recorded, and after the recording has failed.
//! * A call inside such a call, such as the C function inside the Fortran one, counts instead of it.
//! * Processes agree at the beginning that they meet. If one cannot record, none does. On one node there is one clock,
//!   and nothing is counted.
//! * A process that waits longer than the deadline for another one takes part in no further comparison.

use std::io;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use dwell_model::archive::COMPARES_CLOCKS;
use dwell_model::layer::Layer;
use dwell_unify::deadline::{Deadline, Step};
use dwell_unify::unify::Upcalls;

use crate::clock::monotonic;
use crate::entry;
use crate::guard::{Entry, guarded};
use crate::process;
use crate::recorder_collectives::{broadcast, numbers, reduce};
use crate::report;
use crate::silence::Silent;
use crate::stack;
use crate::sync;
use crate::thread::as_region;

/// Number of barriers and other collectives over all processes so far.
static COUNT: AtomicU64 = AtomicU64::new(0);
/// Count at which the next meeting is.
static DUE: AtomicU64 = AtomicU64::new(NEVER);
/// Layer whose calls are counted.
static LAYER: AtomicU8 = AtomicU8::new(0);
/// Schedule of meetings, at rank 0.
static SCHEDULE: Mutex<Option<Schedule>> = Mutex::new(None);
/// Text that identifies the clock of this process.
static NODE: OnceLock<String> = OnceLock::new();
/// Nanoseconds that this process waits for others.
static TIMEOUT: AtomicU64 = AtomicU64::new(0);

const NEVER: u64 = u64::MAX;

/// Returns `true` if the processes of this run compare their clocks while the program runs, so that hooks must count
/// collectives over all processes.
pub fn is_on() -> bool {
    entry::is_counting()
}

/// Must be called before a barrier or another collective over all processes. Returns `None` if calls of this layer are
/// not counted; otherwise the caller passes the result to [`after`] when the call has returned.
#[inline(always)]
pub fn before(layer: Layer) -> Option<u64> {
    if !entry::is_counting() || LAYER.load(Ordering::Relaxed) != layer as u8 {
        return None;
    }
    Some(COUNT.load(Ordering::Relaxed))
}

/// Counts a collective over all processes that has returned, and compares clocks if a meeting is due. `before` is the
/// result of [`before`], and `open` makes the communication with the other processes within a deadline.
pub fn after<U: Upcalls>(layer: Layer, before: u64, open: impl FnOnce(Deadline) -> io::Result<U>) {
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
        let deadline = Deadline::from_now(Step::CompareClocks, TIMEOUT.load(Ordering::Relaxed));
        let met = || meet(&mut Silent::open(|| open(deadline))?, count);
        let met = as_region(COMPARES_CLOCKS, layer, || stack::apart(stack::FOR_A_RUNTIME, met));
        if let Err(error) = met {
            entry::count(false);
            if process::current().is_some_and(|process| process.rank() == 0) {
                report::say(&format!("clocks are not compared any more: {error}"));
            }
        }
    });
}

/// Contribution of a process to the agreement on comparisons of clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prospect {
    /// Set if this process asked another node for the time.
    pub(crate) apart: bool,
    /// Set if this process can record.
    pub(crate) able: bool,
    /// Wanted nanoseconds between two comparisons, of which the value of rank 0 counts; 0 for never.
    pub(crate) period: u64,
    /// Nanoseconds that the first comparison, at the start of the recording, took this process.
    pub(crate) cost: u64,
    /// Nanoseconds that this process waits for others.
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

/// Ends the counting of calls, after which there are no more meetings.
pub(crate) fn end() {
    entry::count(false);
}

/// Holds one meeting.
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

/// Message of rank 0 at a meeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Next {
    /// The count of the next meeting.
    due: u64,
    /// Nanoseconds that the comparison at this meeting should take at most; 0 if there is none.
    budget: u64,
}

/// Schedule of rank 0, which finds the next meeting from the frequency of calls lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Schedule {
    /// Wanted nanoseconds between comparisons.
    period: u64,
    /// Nanoseconds that the last comparison took the slowest process.
    cost: u64,
    /// Time of the last comparison.
    compared: u64,
    /// Count and time of the last meeting.
    met: (u64, u64),
    /// Number of calls between the last two meetings.
    step: u64,
}

/// Number of meetings in a period. At most of them rank 0 only announces the next one, with one message for each
/// process, so that a program whose calls become rarer is noticed early.
const LOOKS: u64 = 4;

/// A comparison takes at most one part in this number of the time since the last one.
const PART: u64 = 100;

impl Schedule {
    fn new(period: u64, cost: u64, now: u64) -> Self {
        Self { period, cost, compared: now, met: (0, now), step: 1 }
    }

    /// Returns the message of rank 0 to all processes at a meeting.
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

    /// Runs a program of calls where every comparison takes all processes `cost` nanoseconds.
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
