//! The critical path, by the rules of `dwell analyze`: see its chapter in the book.
//!
//! It is followed backwards through the waits of the dependency log. It stays at a location until the end of a wait
//! there, and continues at the culprit of that wait at the same time. Every log is read once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::iter::Peekable;

use dwell_log::piece::Piece;
use dwell_log::read::{DependencyLog, LogError};
use dwell_model::varint::{put, take};
use dwell_trace::ids::LocationNumber;

use crate::error::Result;
use crate::ids::Location;
use crate::span::{Span, Time};

/// Greatest number of steps that are kept: the last ones.
const MOST_STEPS: usize = 100_000;

/// A stretch of the critical path at one location. The steps of the path follow each other without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Location that determined the length of the run.
    pub location: Location,
    /// Span of time in which it did.
    pub span: Span,
}

/// Returns how the time of each column of a span divides over the locations of the path, as parts of 255: column, location and share, in
/// the order of columns and locations. Where hops are closer than anybody can see, this is what is left of the path.
pub fn dense(steps: &[Step], span: Span, columns: usize) -> Vec<(usize, Location, u8)> {
    let mut sums: BTreeMap<(usize, Location), u64> = BTreeMap::new();
    for step in steps {
        let part = step.span.common(span);
        let mut column = span.column_of(part.from, columns);
        while column < columns && span.column(column, columns) < part.to {
            let own =
                Span { from: span.column(column, columns), to: span.column(column + 1, columns) };
            *sums.entry((column, step.location)).or_default() += own.common(part).length();
            column += 1;
        }
    }
    let share = |((column, location), time): ((usize, Location), u64)| {
        let whole =
            span.column(column + 1, columns).0.saturating_sub(span.column(column, columns).0);
        (column, location, (time.saturating_mul(255) / whole.max(1)).min(255) as u8)
    };
    sums.into_iter().map(share).filter(|it| it.2 > 0).collect()
}

type Waits = Peekable<Box<dyn Iterator<Item = std::result::Result<Piece, LogError>>>>;

/// Follows the critical path, and returns its last steps in the order of time.
pub(crate) fn find(log: &DependencyLog, begin: Time, end: Time) -> Result<Vec<Step>> {
    let mut waits: HashMap<Location, Waits> = HashMap::new();
    let mut steps: Vec<Step> = Vec::new();
    let mut at = None;
    for number in 0..log.locations() {
        let location = log.location(LocationNumber::new(number))?;
        let last = location.and_then(|it| it.segments().next()).transpose()?;
        if last.is_some_and(|it| it.end.nanoseconds() == end.0) {
            at = Some(Location(number));
            break;
        }
    }
    let (mut time, mut before) = (end, Time(u64::MAX));
    while let Some(location) = at {
        let waits = match waits.entry(location) {
            std::collections::hash_map::Entry::Occupied(it) => it.into_mut(),
            std::collections::hash_map::Entry::Vacant(it) => {
                let Some(log) = log.location(LocationNumber::new(location.0))? else { break };
                let list: Box<dyn Iterator<Item = _>> = Box::new(log.waits());
                it.insert(list.peekable())
            }
        };
        let wait = last_wait(waits, before)?.filter(|it| it.to.nanoseconds() > begin.0);
        let from = wait.map_or(begin, |it| Time(it.to.nanoseconds()));
        add(&mut steps, Step { location, span: Span { from, to: time } });
        if steps.len() > MOST_STEPS {
            steps.truncate(MOST_STEPS);
            break;
        }
        (time, before) = (from, from);
        at = wait.map(|it| Location(it.culprit.place()));
    }
    steps.reverse();
    Ok(steps)
}

/// Adds a step, and joins it with the one after it if that is at the same location.
fn add(steps: &mut Vec<Step>, step: Step) {
    if step.span.length() == 0 {
        return;
    }
    match steps.last_mut() {
        Some(last) if last.location == step.location => last.span.from = step.span.from,
        _ => steps.push(step),
    }
}

/// Returns the last wait that ended before a time and counts. Of several that ended together, the one with the greatest
/// lower bound, and then the one with the lowest culprit.
fn last_wait(waits: &mut Waits, before: Time) -> Result<Option<Piece>> {
    let order = |it: &Piece| (it.low, Reverse(it.culprit));
    let mut last: Option<Piece> = None;
    while let Some(wait) = waits.next_if(|it| match (it, &last) {
        (Ok(wait), Some(last)) => wait.to >= last.to,
        _ => true,
    }) {
        let wait = wait?;
        let counts = wait.to.nanoseconds() < before.0 && wait.low.nanoseconds() > 0;
        if counts && last.is_none_or(|it| order(&wait) > order(&it)) {
            last = Some(wait);
        }
    }
    Ok(last)
}

/// Appends the steps.
pub(crate) fn encode(steps: &[Step], to: &mut Vec<u8>) {
    put(to, steps.len() as u64);
    for step in steps {
        put(to, step.location.0.into());
        put(to, step.span.from.0);
        put(to, step.span.to.0);
    }
}

/// Reads the steps. Returns `None` if they are damaged.
pub(crate) fn decode(bytes: &mut &[u8]) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    for _ in 0..take(bytes)? {
        let location = Location(u32::try_from(take(bytes)?).ok()?);
        let span = Span { from: Time(take(bytes)?), to: Time(take(bytes)?) };
        steps.push(Step { location, span });
    }
    Some(steps)
}
