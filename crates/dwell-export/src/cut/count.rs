//! The first pass: finds the messages and collectives of a location in the span.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use dwell_trace::channels::{Channel, Numbers};
use dwell_trace::ids::LocationNumber;
use dwell_trace::record::{Gathering, Record};
use otf2::read::{EventRecord, Visitor};

use super::Source;
use super::calls::Calls;
use crate::error::Result;

/// Messages and collectives of a location in the span.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Sequence numbers of the messages of each channel, as ascending ranges. A channel that was used only before the
    /// span has an empty list.
    pub(super) messages: HashMap<Channel, Vec<Range<u64>>>,
    /// Collectives in the order in which they begin. `None` for a collective whose sequence number is in the archive,
    /// and for one that does not end.
    pub(super) collectives: Vec<Option<(Gathering, u64)>>,
    /// Sequence numbers of the collectives of each communicator and window in the span.
    pub(super) gatherings: HashMap<Gathering, Range<u64>>,
}

pub(super) fn count(source: &Source<'_>, location: LocationNumber) -> Result<Seen> {
    let Some(id) = source.layout.id(location) else { return Ok(Seen::default()) };
    let mut reader = source.archive.events(id)?;
    let mut counting = Counting {
        source,
        me: location,
        calls: Calls::default(),
        has_begun: false,
        begun: Vec::new(),
        numbers: HashMap::new(),
        sent_or_received: Numbers::default(),
        seen: Seen::default(),
        events: 0,
    };
    if let Err(error) = reader.visit_dyn(&mut counting) {
        source.damage.add(location, &error);
    }
    (source.progress)(counting.events);
    Ok(counting.seen)
}

struct Counting<'a> {
    source: &'a Source<'a>,
    me: LocationNumber,
    calls: Calls,
    has_begun: bool,
    /// Open collectives: whether the cut keeps each, and its index in [`Seen::collectives`] if it is in the span.
    begun: Vec<(bool, Option<usize>)>,
    /// Sequence number of the next collective of each communicator and window.
    numbers: HashMap<Gathering, u64>,
    /// Sequence number of the next message of each channel.
    sent_or_received: Numbers,
    seen: Seen,
    events: u64,
}

impl Counting<'_> {
    /// Begins the span. Collectives that are open at this time belong to it.
    fn begin(&mut self) {
        self.has_begun = true;
        for (_, place) in self.begun.iter_mut().filter(|it| it.0) {
            *place = Some(self.seen.collectives.len());
            self.seen.collectives.push(None);
        }
        let own = self.numbers.iter().map(|(of, next)| (*of, *next..*next));
        self.seen.gatherings = own.collect();
    }

    fn end_collective(&mut self, of: Gathering, is_numbered: bool) {
        let Some((true, place)) = self.begun.pop() else { return };
        if is_numbered {
            return;
        }
        let next = self.numbers.entry(of).or_default();
        let number = *next;
        *next += 1;
        if let Some(place) = place {
            if let Some(it) = self.seen.collectives.get_mut(place) {
                *it = Some((of, number));
            }
            self.seen.gatherings.entry(of).or_insert(number..number).end = number + 1;
        }
    }
}

impl Visitor for Counting<'_> {
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        let Source { layout, span, chosen, .. } = self.source;
        self.events += 1;
        if !self.has_begun && record.time >= span.from {
            self.begin();
        }
        let is_after = record.time >= span.to;
        if is_after && self.begun.is_empty() {
            return ControlFlow::Break(());
        }
        match Record::of(&record.event) {
            Record::Enter(region) => {
                self.calls.enter(chosen, region, otf2::List::default());
            }
            Record::Leave => {
                self.calls.leave();
            }
            Record::CollectiveBegin => {
                let is_kept = self.calls.is_kept(chosen);
                let is_inside = is_kept && self.has_begun && !is_after;
                let place = is_inside.then_some(self.seen.collectives.len());
                if is_inside {
                    self.seen.collectives.push(None);
                }
                self.begun.push((is_kept, place));
            }
            Record::CollectiveEnd(it) => {
                let is_numbered = layout.sequence(it.of, record.attributes).is_some();
                self.end_collective(it.of, is_numbered);
            }
            other if !is_after => {
                if let Some((channel, _)) = Channel::of(layout, &other, self.me) {
                    let skipped = layout.skipped(record.attributes);
                    let number = self.sent_or_received.next(channel, skipped);
                    let list = self.seen.messages.entry(channel).or_default();
                    if self.has_begun && self.calls.is_kept(chosen) {
                        match list.last_mut().filter(|it| it.end == number) {
                            Some(last) => last.end = number + 1,
                            None => list.push(number..number + 1),
                        }
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
