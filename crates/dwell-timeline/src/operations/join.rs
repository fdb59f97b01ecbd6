//! Records of several locations that belong together: messages with their receipts, members of collectives, holders of locks.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use dwell_trace::channels::Channel;
use dwell_trace::record::Gathering;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::read::{Counts, Found, Lock, Note, NoteKind};
use super::{Held, Joined, Operation, OperationKind, Operations, Trace};
use crate::error::Result;
use crate::ids::Location;
use crate::span::{Span, Time};

/// Greatest number of events that are counted before a span.
const MOST_BEFORE: u64 = 50_000_000;

impl Trace {
    /// Joins messages with their receipts, and the members of collectives.
    pub(super) fn join(&self, found: &[(Location, Found)], result: &mut Operations) -> Result<()> {
        let is_counted = |it: &Note| match it.kind {
            NoteKind::Message { .. } => it.is_shown,
            NoteKind::Collective { number, .. } => it.is_shown && number.is_none(),
            _ => false,
        };
        let mut counts: HashMap<Location, Arc<Counts>> = HashMap::new();
        let must = found.iter().any(|it| it.1.notes.iter().any(is_counted));
        if must {
            let all: u64 = found.iter().map(|(at, it)| self.to_count(*at, it.start)).sum();
            result.uncounted = all > MOST_BEFORE;
            if !result.uncounted {
                counts = found
                    .par_iter()
                    .map(|(at, it)| Ok((*at, self.count(*at, it.start)?)))
                    .collect::<Result<_>>()?;
            }
        }
        self.join_collectives(found, &counts, result);
        if must && !result.uncounted {
            self.join_messages(found, &counts, result);
        }
        Ok(())
    }

    fn join_messages(
        &self,
        found: &[(Location, Found)],
        counts: &HashMap<Location, Arc<Counts>>,
        result: &mut Operations,
    ) {
        // All messages of a channel in the order of time, and how many were before them at any thread.
        type Message = (Time, Location, u64, u64, bool);
        let mut before: HashMap<Channel, u64> = HashMap::new();
        let mut messages: BTreeMap<Channel, Vec<Message>> = BTreeMap::new();
        for (location, it) in found {
            for (channel, count) in
                counts.get(location).into_iter().flat_map(|it| it.messages.iter())
            {
                *before.entry(channel).or_default() += count;
            }
            for note in &it.notes {
                if let NoteKind::Message { channel, bytes, skipped } = note.kind {
                    let message = (note.time, *location, bytes, skipped, note.is_shown);
                    messages.entry(channel).or_default().push(message);
                }
            }
        }
        let mut sent: HashMap<(Channel, u64), Message> = HashMap::new();
        let mut received: Vec<((Channel, u64), Message)> = Vec::new();
        for (channel, mut list) in messages {
            list.sort_by_key(|it| (it.0, it.1));
            let mut number = before.get(&channel).copied().unwrap_or(0);
            for message in list {
                number += message.3;
                let key = (Channel { is_send: true, ..channel }, number);
                match channel.is_send {
                    true => drop(sent.insert(key, message)),
                    false => received.push((key, message)),
                }
                number += 1;
            }
        }
        for (key, (to, partner, ..)) in received {
            let Some((from, origin, bytes, _, true)) = sent.get(&key).copied() else { continue };
            let (kind, span) = (OperationKind::Message, Span { from, to });
            if from <= to {
                result.list.push(Operation { kind, origin, partner, span, bytes });
            }
        }
    }

    fn join_collectives(
        &self,
        found: &[(Location, Found)],
        counts: &HashMap<Location, Arc<Counts>>,
        result: &mut Operations,
    ) {
        let mut joined: BTreeMap<(Gathering, bool, u64), (Joined, bool)> = BTreeMap::new();
        for (location, it) in found {
            let mut next: HashMap<Gathering, u64> = HashMap::new();
            for note in &it.notes {
                let NoteKind::Collective { of, number, begin, is_together } = note.kind else {
                    continue;
                };
                let counted = number.is_none().then(|| {
                    let before = counts.get(location)?.collectives.get(&of).copied().unwrap_or(0);
                    let place = next.entry(of).or_default();
                    *place += 1;
                    Some(before + *place - 1)
                });
                let known = match counted {
                    Some(counted) => counted.map(|it| (false, it)),
                    None => number.map(|it| (true, it)),
                };
                if let Some((is_stated, number)) = known
                    && note.is_shown
                {
                    let entry = joined
                        .entry((of, is_stated, number))
                        .or_insert_with(|| (Joined { members: Vec::new() }, is_together));
                    entry.0.members.push((*location, Span { from: begin, to: note.time }));
                }
            }
        }
        // No member leaves a barrier before all have entered it. If one did, calls are missing in the trace.
        let holds = |it: &(Joined, bool)| {
            let spans = || it.0.members.iter().map(|it| it.1);
            let (last, first) = (spans().map(|it| it.from).max(), spans().map(|it| it.to).min());
            it.0.members.len() > 1 && (!it.1 || last <= first)
        };
        result.joined.extend(joined.into_values().filter(holds).map(|it| it.0));
    }
}

/// Joins releases of locks in a span with the next acquisition, if that is at another location.
pub(super) fn join_locks(found: &[(Location, Found)], span: Span, list: &mut Vec<Operation>) {
    let mut locks: BTreeMap<Lock, Vec<(Time, bool, Location, bool)>> = BTreeMap::new();
    for (location, it) in found {
        // Before the span not all locations were read.
        for note in it.notes.iter().filter(|it| it.is_shown && it.time >= span.from) {
            match note.kind {
                NoteKind::Acquired(lock, is_shared) => {
                    let all = locks.entry(lock).or_default();
                    all.push((note.time, true, *location, is_shared));
                }
                NoteKind::Released(lock) => {
                    locks.entry(lock).or_default().push((note.time, false, *location, false));
                }
                _ => {}
            }
        }
    }
    for mut all in locks.into_values() {
        // A lock is released before it is acquired at the same time.
        all.sort_unstable();
        let mut released: Option<(Time, Location)> = None;
        for (time, is_acquired, location, is_shared) in all {
            if !is_acquired {
                released = Some((time, location));
                continue;
            }
            if let Some((from, origin)) = released.take()
                && origin != location
                && !is_shared
            {
                let (kind, span) = (OperationKind::Lock, Span { from, to: time });
                list.push(Operation { kind, origin, partner: location, span, bytes: 0 });
            }
        }
    }
}

/// Returns the exclusive locks that locations hold. A lock that is acquired before what was read is held from the begin of the
/// span, and one that is not released in it until its end.
pub(super) fn held(found: &[(Location, Found)], span: Span) -> Vec<Held> {
    let mut list = Vec::new();
    for (location, it) in found {
        let mut acquired: HashMap<Lock, (Time, bool)> = HashMap::new();
        let mut add = |from: Time, to: Time| {
            list.push(Held { location: *location, span: Span { from, to } });
        };
        for note in it.notes.iter().filter(|it| it.is_shown) {
            match note.kind {
                NoteKind::Acquired(lock, is_shared) => {
                    acquired.insert(lock, (note.time, is_shared));
                }
                NoteKind::Released(lock) => match acquired.remove(&lock) {
                    Some((from, false)) => add(from, note.time),
                    Some((_, true)) => {}
                    None => add(span.from.min(note.time), note.time),
                },
                _ => {}
            }
        }
        acquired.into_values().filter(|it| !it.1).for_each(|it| add(it.0, span.to));
    }
    list.retain(|it| it.span.from < span.to && it.span.to >= span.from);
    list.sort_by_key(|it| (it.span, it.location));
    list
}
