//! Operations of the timeline, read from the trace when they are shown.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use dwell_timeline::{Location, Operations, Span, Time, Trace};

use crate::types::{TimelineCollective, TimelineOperations};

use super::rows::Row;
use super::{Result, View};

/// Greatest number of arrows of operations, and of members of collectives, in an answer.
const MOST_ARROWS: usize = 2000;
const MOST_MEMBERS: usize = 20_000;

/// Greatest numbers of events and of locations that are read for an answer.
pub(super) const MOST_READ: u64 = 1_000_000;
const MOST_READERS: usize = 2048;

/// Greatest number of operations among which those of some calls are looked for.
const MOST_TOLD_APART: usize = 100_000;

/// Number of files of the trace that are kept open.
const OPEN_FILES: usize = 128;

impl View<'_> {
    /// Returns the trace beside the report, if it is there and fits. It is opened once.
    pub(super) fn trace(&self) -> Option<&Trace> {
        let trace = self.run.trace.get_or_init(|| {
            let directory = self.run.path.parent().filter(|it| !it.as_os_str().is_empty());
            let trace = Trace::open(directory.unwrap_or(Path::new(".")), OPEN_FILES).ok()?;
            (trace.locations() == self.index.locations()).then_some(trace)
        });
        trace.as_ref()
    }

    /// Reads operations from the trace, or returns `None` if there is none that fits.
    pub(super) fn read(
        &self,
        ranges: &[Range<Location>],
        span: Span,
    ) -> Result<Option<Operations>> {
        let Some(trace) = self.trace() else { return Ok(None) };
        let begin = |it: Location| self.index.since(it, span.from).unwrap_or(span.from);
        Ok(Some(trace.operations(ranges, span, &begin, MOST_READ)?))
    }

    /// Returns `true` if so many slices are known in the span that their events are too many, if there are as many for each as in
    /// the whole trace. Reading as many as are allowed, only to find that there are more, would take longer than any other answer.
    fn has_many_events(&self, ranges: &[Range<Location>], span: Span) -> Result<bool> {
        let (events, slices) = (self.trace().map_or(0, Trace::events), self.index.count());
        let here = self.index.least_slices(ranges, span)?;
        let about = u128::from(here) * u128::from(events) / u128::from(slices.max(1));
        Ok(about > u128::from(MOST_READ))
    }

    /// Returns arrows of operations between the rows, whether a process waited for them or not.
    pub(super) fn operations(&self) -> Result<TimelineOperations> {
        let span = self.span()?;
        let asked = self.asked()?;
        let ranges = self.locations()?;
        let mut answer = TimelineOperations::default();
        if ranges.iter().map(ExactSizeIterator::len).sum::<usize>() > MOST_READERS {
            answer.missing = "Operations of so many processes are not read at once.".into();
            return Ok(answer);
        }
        let mut rows: HashMap<Location, usize> = HashMap::new();
        // Of several rows with a location that with the fewest is meant: the process and not its node.
        let mut order: Vec<(u32, usize)> = asked.iter().map(Row::count).zip(0..).collect();
        order.sort_unstable();
        for (_, number) in order {
            let parts = asked.get(number).map_or(&[][..], |it| it.parts.as_slice());
            for location in parts.iter().cloned().flatten() {
                rows.entry(Location(location)).or_insert(number);
            }
        }
        let wanted: Vec<_> = ranges.iter().map(|it| Location(it.start)..Location(it.end)).collect();
        let too_many = "There are too many operations here: zoom in to see them.";
        if self.has_many_events(&wanted, span)? {
            answer.missing = too_many.into();
            return Ok(answer);
        }
        let Some(mut found) = self.read(&wanted, span)? else {
            answer.missing = "The trace is not there any more.".into();
            return Ok(answer);
        };
        if found.too_many {
            answer.missing = too_many.into();
            return Ok(answer);
        }
        if found.uncounted {
            answer.missing = "Messages and collectives so far into the run are not joined.".into();
        }
        if let Some(only) = self.only()? {
            if found.list.len() > MOST_TOLD_APART {
                answer.missing =
                    "There are too many operations here to tell those of a call: zoom in.".into();
                return Ok(answer);
            }
            let is_inside = |location: Location, time: Time| {
                let path = self.index.at(location, time).ok().flatten().and_then(|it| it.path);
                path.and_then(|it| only.get(it.0 as usize)).copied().unwrap_or(false)
            };
            found.list.retain(|it| is_inside(it.origin, it.span.from));
            found.joined.retain(|it| it.members.iter().any(|(at, it)| is_inside(*at, it.from)));
        }
        let row = |it: Location| rows.get(&it).copied();
        let most = self.parameters.number("most")?.unwrap_or(u32::MAX) as usize;
        let (arrows, count) = found.arrows(&row, span, most.min(MOST_ARROWS));
        answer.count = count as f64;
        for arrow in arrows {
            let it = arrow.operation;
            answer.kind.push(it.kind.name().into());
            answer.origin.push(it.origin.0);
            answer.partner.push(it.partner.0);
            answer.from.push(self.after(it.span.from));
            answer.to.push(self.after(it.span.to));
            answer.bytes.push(arrow.bytes as f64);
            answer.counts.push(arrow.count as f64);
        }
        for it in found.held.iter().filter(|it| row(it.location).is_some()).take(MOST_MEMBERS) {
            answer.held.location.push(it.location.0);
            answer.held.from.push(self.after(it.span.from));
            answer.held.to.push(self.after(it.span.to));
        }
        let mut room = MOST_MEMBERS;
        for it in &found.joined {
            let members: Vec<_> = it.members.iter().filter(|it| row(it.0).is_some()).collect();
            let Some(left) = room.checked_sub(members.len()) else {
                answer.missing = "There are more collectives here than are joined: zoom in.".into();
                break;
            };
            room = left;
            answer.collectives.push(TimelineCollective {
                location: members.iter().map(|it| it.0.0).collect(),
                from: members.iter().map(|it| self.after(it.1.from)).collect(),
                to: members.iter().map(|it| self.after(it.1.to)).collect(),
            });
        }
        Ok(answer)
    }
}
