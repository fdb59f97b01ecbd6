//! Writes a part of an archive as a new archive: a span of time, some locations, some calls.
//!
//! The new archive has all definitions, and events of the chosen locations only. Calls that are open when the span begins are entered at its
//! begin, and those that are open at its end are left there, so that enters and leaves are balanced. So are other things that
//! have a begin and an end: collectives, requests, held locks.
//!
//! Messages and collectives are matched by their order, by other tools too: the third send with the third receive. If the span
//! has a send but not its receive, all later messages would be matched wrongly. So events are read twice. The
//! first time counts messages and collectives ([`count`]), and the second time copies ([`copy`]) messages of which the span has both ends, and
//! collectives that it has at all locations. Calls of others stay, without their other records.
//!
//! Threads of a process have no common order of messages. Those of processes with several threads are copied as they are.

mod calls;
mod copy;
mod count;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

use dwell_model::archive::DAMAGED;
use dwell_trace::channels::Channel;
use dwell_trace::ids::LocationNumber;
use dwell_trace::layout::Layout;
use dwell_trace::record::Gathering;
use otf2::anchor::Anchor;
use otf2::id::{LocationRef, Time};
use otf2::read::Definitions;
use otf2::write::{ArchiveWriter, Options};
use otf2::{Archive, Definition};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::error::{Error, Result};
use crate::run::Damage;
use calls::Chosen;
use count::Seen;

/// Largest number of damaged locations that the copy lists; further ones are counted.
const LISTED: usize = 8;

/// Selection of events to copy from an archive. The default is everything.
#[derive(Clone, Debug, Default)]
pub struct Cut {
    /// Nanoseconds after the first event of the run at which the span begins; its events belong to the cut.
    pub from: Option<u64>,
    /// Nanoseconds after the first event of the run at which the span ends; its events do not belong to the cut.
    pub to: Option<u64>,
    /// Locations by their numbers in the report, or none for all of them.
    pub locations: Vec<Range<u32>>,
    /// Pattern of the names of regions to keep, with everything that they call, in which `*` matches any characters and `?`
    /// for one. Without it, all calls are kept.
    pub calls: Option<String>,
}

/// Contents of a cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Number of locations with events.
    pub locations: u64,
    /// Number of events, among them the enters and leaves at the ends of the span.
    pub events: u64,
    /// Number of messages at one end and of collectives at one location that the span cuts, whose records are left out.
    pub left_out: u64,
    /// Damage of the archive, by location. The events of a damaged location are copied up to the damage.
    pub damage: Vec<String>,
}

/// Writes a part of an archive to a directory, which must not contain an archive. `progress` is told the number of events that were
/// read since it was called last, from any thread; all events are read twice.
///
/// # Errors
/// If the archive cannot be read, if nothing is left of it, or if the new one cannot be written.
pub fn cut(
    archive: &Archive,
    cut: &Cut,
    directory: &Path,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Copied> {
    let definitions = archive.definitions()?;
    let layout = Layout::of(&definitions);
    let wanted: Vec<LocationNumber> = (0..layout.locations())
        .filter(|it| cut.locations.is_empty() || cut.locations.iter().any(|all| all.contains(it)))
        .map(LocationNumber::new)
        .collect();
    let span = span(archive, &definitions, &layout, cut)?;
    let chosen = Chosen::of(&definitions, cut);
    let source = Source { archive, layout, span, chosen, damage: Damage::default(), progress };
    let seen = wanted.par_iter().map(|it| Ok((*it, count::count(&source, *it)?)));
    let seen = seen.collect::<Result<Vec<_>>>()?;
    let whole = Whole::of(&source, &seen);
    let anchor = archive.anchor();
    let mut damage: Vec<String> =
        definitions.warning().map(ToString::to_string).into_iter().collect();
    damage.extend(source.damage.list());
    let options = Options {
        events_chunk: anchor.events_chunk,
        defs_chunk: anchor.defs_chunk,
        machine: anchor.machine.clone(),
        creator: anchor.creator.clone(),
        description: anchor.description.clone(),
        properties: properties(anchor, &damage),
        trace_id: anchor.trace_id,
        local_definitions: true,
        ..Options::default()
    };
    let writer = ArchiveWriter::create(directory, "traces", options)?;
    let copied = seen.par_iter().map(|(location, seen)| {
        let Some(id) = source.layout.id(*location) else { return Ok(None) };
        copy::copy(&source, (*location, id), seen, &whole, &writer).map(|it| Some((id, it)))
    });
    let copied: BTreeMap<LocationRef, (u64, u64)> =
        copied.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    for location in definitions.locations().filter(|it| !copied.contains_key(&it.id)) {
        writer.events(location.id)?.finish()?;
        writer.local_definitions(location.id)?.finish()?;
    }
    write_definitions(archive, span, &copied, &writer)?;
    writer.finish()?;
    Ok(Copied {
        locations: copied.values().filter(|it| it.0 > 0).count() as u64,
        events: copied.values().map(|it| it.0).sum(),
        left_out: copied.values().map(|it| it.1).sum(),
        damage,
    })
}

/// Returns the properties of the copy: those of the archive, and the damage of the archive as that of the copy, whose
/// files are sound and would hide it.
fn properties(anchor: &Anchor, damage: &[String]) -> Vec<(String, String)> {
    let mut properties = anchor.properties.clone();
    if damage.is_empty() {
        return properties;
    }
    let mut text = damage.iter().take(LISTED).cloned().collect::<Vec<_>>().join("; ");
    if damage.len() > LISTED {
        text += &format!("; {} more", damage.len() - LISTED);
    }
    match properties.iter_mut().find(|it| it.0 == DAMAGED) {
        Some((_, known)) => *known = format!("{known}; {text}"),
        None => properties.push((DAMAGED.into(), text)),
    }
    properties
}

/// Data that both readings need.
struct Source<'a> {
    archive: &'a Archive,
    layout: Layout,
    span: Span,
    chosen: Chosen,
    damage: Damage,
    progress: &'a (dyn Fn(u64) + Sync),
}

/// The span in ticks of the archive, without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    from: Time,
    to: Time,
    /// Time of the last event of the run, if the span has no end.
    last: Time,
}

/// Returns the span of a cut.
fn span(archive: &Archive, definitions: &Definitions, layout: &Layout, cut: &Cut) -> Result<Span> {
    let all: Vec<LocationRef> =
        (0..layout.locations()).filter_map(|it| layout.id(LocationNumber::new(it))).collect();
    let first = |id: &LocationRef| match archive.events(*id).and_then(|mut it| it.peek_time()) {
        // The copy states the damage.
        Err(error) if error.is_damage() => Ok(None),
        first => first.map_err(Error::from),
    };
    let first = all.par_iter().map(first).collect::<Result<Vec<_>>>()?;
    let first = first.into_iter().flatten().min().unwrap_or(Time(0));
    let clock = definitions.clock();
    let resolution = clock.map_or(1_000_000_000, |it| it.timer_resolution);
    let ticks = |nanoseconds: u64| {
        let exact = u128::from(nanoseconds) * u128::from(resolution) / 1_000_000_000;
        Time(first.0.saturating_add(u64::try_from(exact).unwrap_or(u64::MAX)))
    };
    let end = clock.map_or(u64::MAX, |it| it.global_offset.saturating_add(it.trace_length));
    let from = ticks(cut.from.unwrap_or(0));
    let to = cut.to.map_or(Time(u64::MAX), ticks);
    if from >= to || from.0 > end {
        return Err(Error::Empty);
    }
    Ok(Span { from, to, last: Time(end) })
}

/// Messages and collectives of all locations in the span.
#[derive(Debug, Default)]
struct Whole {
    /// Numbers of the messages of each channel that the span has at this end, as ranges that rise.
    messages: HashMap<Channel, Vec<Range<u64>>>,
    /// First locations of the processes whose messages are counted: those with one thread.
    counted: HashSet<LocationNumber>,
    /// Numbers of the collectives that the span has at all locations.
    collectives: HashMap<Gathering, Range<u64>>,
}

impl Whole {
    fn of(source: &Source<'_>, seen: &[(LocationNumber, Seen)]) -> Self {
        let mut whole = Self::default();
        for (location, seen) in seen {
            if source.layout.is_alone(*location) {
                whole.counted.insert(*location);
                let messages = seen.messages.iter();
                whole.messages.extend(messages.map(|(channel, it)| (*channel, it.clone())));
            }
            for (of, own) in &seen.gatherings {
                let all = whole.collectives.entry(*of).or_insert(0..u64::MAX);
                *all = all.start.max(own.start)..all.end.min(own.end);
            }
        }
        whole
    }

    /// Returns `true` if the span has the other end of a message, or if that is not known.
    fn has_other_end(&self, channel: Channel, number: u64) -> bool {
        let other = if channel.is_send { channel.receiver } else { channel.sender };
        let own = if channel.is_send { channel.sender } else { channel.receiver };
        if !self.counted.contains(&other) || !self.counted.contains(&own) {
            return true;
        }
        // Messages that the other process never records, such as receives inside a runtime, cannot be matched wrongly.
        let Some(list) = self.messages.get(&channel.other_end()) else { return true };
        let after = list.partition_point(|it| it.end <= number);
        list.get(after).is_some_and(|it| it.contains(&number))
    }
}

/// Copies the global definitions, with the new numbers of events and the length of the span.
fn write_definitions(
    archive: &Archive,
    span: Span,
    copied: &BTreeMap<LocationRef, (u64, u64)>,
    writer: &ArchiveWriter,
) -> Result<()> {
    let mut output = writer.global_definitions()?;
    let mut reader = archive.global_definitions()?;
    loop {
        let definition = match reader.next() {
            Ok(Some(definition)) => definition,
            Ok(None) => break,
            // The copy states the damage and has the definitions before it.
            Err(error) if error.is_damage() => break,
            Err(error) => return Err(error.into()),
        };
        match definition {
            // The writer has no fields of records of later versions.
            Definition::Unknown(_) => {}
            Definition::Location(mut it) => {
                it.number_of_events = copied.get(&it.id).map_or(0, |it| it.0);
                output.write(it)?;
            }
            Definition::ClockProperties(mut it) => {
                let later = span.from.0.saturating_sub(it.global_offset);
                if it.realtime_timestamp != u64::MAX {
                    let nanoseconds =
                        u128::from(later) * 1_000_000_000 / u128::from(it.timer_resolution.max(1));
                    let nanoseconds = u64::try_from(nanoseconds).unwrap_or(0);
                    it.realtime_timestamp = it.realtime_timestamp.saturating_add(nanoseconds);
                }
                it.global_offset = span.from.0;
                it.trace_length = span.to.min(span.last).0.saturating_sub(span.from.0);
                output.write(it)?;
            }
            other => output.write(other)?,
        }
    }
    output.finish()?;
    Ok(())
}
