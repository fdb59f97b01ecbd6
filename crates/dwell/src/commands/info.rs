//! `dwell info`: contents and soundness of an archive, from reading all of it.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dwell_model::archive::{self, DAMAGED};
use otf2::event::{Enter, Leave};
use otf2::id::{AttributeRef, LocationRef, RegionRef};
use otf2::read::{Definitions, EventReader, EventRecord, Visitor, WINDOW};
use otf2::store::FileKind;
use otf2::{Archive, AttributeValue, Definition, ErrorKind, Event};
use rayon::prelude::*;
use serde::Serialize;

use crate::format::{self, grouped, percent};
use crate::progress;
use crate::runs;
use crate::sites;
use crate::terminal::{self, visible};

/// Arguments of `dwell info`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 if the archive is sound, 1 if it is damaged or was damaged when it was recovered, 2 if it cannot \
    be read at all.\n\nExample: dwell info run/traces.otf2 --json | jq .events"
)]
pub(crate) struct Args {
    /// The archive: its directory, or its `.otf2` file. Without it, the newest run here.
    archive: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Number of threads; as many as there are cores by default.
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    threads: usize,
}

/// All information about an archive that is printed.
#[derive(Debug, Serialize)]
struct Info {
    archive: PathBuf,
    creator: String,
    machine: String,
    description: String,
    otf2_version: String,
    trace_id: String,
    properties: BTreeMap<String, String>,
    /// Functions that were called and not recorded, or not always.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_all_recorded: Vec<String>,
    events_chunk_bytes: u64,
    definitions_chunk_bytes: u64,
    clock: Option<Clock>,
    locations: u64,
    location_groups: u64,
    system_tree_nodes: u64,
    events: u64,
    events_with_attributes: u64,
    unknown_records: u64,
    /// Times of the first and the last event in ticks, after clock correction.
    first_time: Option<u64>,
    last_time: Option<u64>,
    span_seconds: Option<f64>,
    records: BTreeMap<&'static str, u64>,
    definitions: BTreeMap<&'static str, u64>,
    snapshots: u32,
    markers: u64,
    thumbnails: u32,
    bytes: Bytes,
    /// Functions with the most calls, if recording took more of the time than was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Calls>,
    damage: Vec<String>,
    damage_count: u64,
}

/// Calls of a function.
#[derive(Debug, Serialize)]
struct Calls {
    function: String,
    /// Number of calls that have records of their own.
    recorded: u64,
    /// Number of calls that were summed up because they were short.
    summed_up: u64,
}

#[derive(Debug, Serialize)]
struct Clock {
    ticks_per_second: u64,
    global_offset: u64,
    length_ticks: u64,
    /// Real time of the global offset, in nanoseconds since 1970 UTC.
    realtime_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Bytes {
    events: u64,
    definitions: u64,
    total: u64,
}

/// Largest number of functions that are listed with their calls.
const LISTED_FUNCTIONS: usize = 10;

/// Largest number of damages that are listed. The rest is only counted.
const LISTED_DAMAGE: usize = 20;

/// Counts of some locations.
struct Tally {
    /// Number of records, by their record id.
    records: [u64; 256],
    with_attributes: u64,
    times: Option<(u64, u64)>,
    bytes: Bytes,
    /// Number of regions that were entered, and of calls that were summed up, by region.
    calls: BTreeMap<RegionRef, (u64, u64)>,
    damage: Vec<String>,
    damage_count: u64,
    /// True if the reader of the location has reported a wrong number of events.
    is_counted: bool,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            records: [0; 256],
            with_attributes: 0,
            times: None,
            bytes: Bytes::default(),
            calls: BTreeMap::new(),
            damage: Vec::new(),
            damage_count: 0,
            is_counted: false,
        }
    }
}

impl Visitor for Tally {
    #[inline(always)]
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        self.records[usize::from(record.event.id())] += 1;
        self.with_attributes += u64::from(!record.attributes.is_empty());
        let time = record.time.0;
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
        ControlFlow::Continue(())
    }
}

/// Counts of some locations, with the calls of each function.
struct WithCalls {
    tally: Tally,
    /// Attribute that says how many calls a region stands for.
    count: Option<AttributeRef>,
}

impl Visitor for WithCalls {
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        match record.event {
            Event::Enter(Enter { region }) => self.tally.calls.entry(region).or_default().0 += 1,
            Event::Leave(Leave { region }) if !record.attributes.is_empty() => {
                let mut attributes = record.attributes.iter();
                let count = attributes.find(|it| Some(it.attribute) == self.count);
                if let Some(AttributeValue::Uint64(count)) = count.map(|it| it.value) {
                    // The region itself is not a call.
                    let calls = self.tally.calls.entry(region).or_default();
                    calls.0 = calls.0.saturating_sub(1);
                    calls.1 = calls.1.saturating_add(count);
                }
            }
            _ => {}
        }
        self.tally.event(record)
    }
}

impl Tally {
    fn events(&self) -> u64 {
        self.records.iter().sum()
    }

    fn report(&mut self, problem: &dyn Display) {
        self.damage_count += 1;
        if self.damage.len() < LISTED_DAMAGE {
            self.damage.push(problem.to_string());
        }
    }

    /// Adds the counts of other, later locations.
    fn join(mut self, other: Self) -> Self {
        self.records.iter_mut().zip(other.records).for_each(|(sum, part)| *sum += part);
        self.with_attributes += other.with_attributes;
        self.times = match (self.times, other.times) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        for (region, (recorded, summed)) in other.calls {
            let calls = self.calls.entry(region).or_default();
            calls.0 += recorded;
            calls.1 = calls.1.saturating_add(summed);
        }
        self.bytes.events += other.bytes.events;
        self.bytes.definitions += other.bytes.definitions;
        let room = LISTED_DAMAGE.saturating_sub(self.damage.len());
        self.damage.extend(other.damage.into_iter().take(room));
        self.damage_count += other.damage_count;
        self
    }
}

/// Reads all events of a location. After damage it continues with the next chunk.
fn read<V: Visitor>(reader: &mut EventReader, visitor: &mut V, tally: fn(&mut V) -> &mut Tally) {
    loop {
        match reader.visit(visitor) {
            Ok(_) => return,
            Err(error) => {
                let tally = tally(visitor);
                tally.is_counted |= matches!(error.kind(), ErrorKind::Count { .. });
                tally.report(&error);
            }
        }
        loop {
            match reader.skip_chunk() {
                Ok(true) => break,
                Ok(false) => return,
                Err(error) => tally(visitor).report(&error),
            }
        }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let path = runs::ended_or_latest(args.archive.as_deref())?;
    Archive::open(&path)?;
    sites::resolve(&path);
    let archive = Archive::open(&path)?;
    let definitions = archive.definitions()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads).build()?;
    let counted = overhead(&archive).is_some_and(|(reached, asked)| reached > asked);
    let tally = pool.install(|| read_locations(&archive, &definitions, counted));
    let info = summarise(&path, &archive, &definitions, tally)?;

    if args.json {
        terminal::print_json(&info)?;
    } else {
        let mut text = Vec::new();
        print(&info, &mut text)?;
        terminal::print(String::from_utf8_lossy(&text))?;
    }
    Ok(if info.damage_count == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Returns the share of the time that recording took and the one that was asked for at most, in percent.
fn overhead(archive: &Archive) -> Option<(f64, f64)> {
    let percent = |name| archive.anchor().property(name)?.parse().ok();
    percent(archive::OVERHEAD).zip(percent(archive::OVERHEAD_ASKED))
}

/// Reads all locations. With `counted` the calls of each function are counted too.
fn read_locations(archive: &Archive, definitions: &Definitions, counted: bool) -> Tally {
    let count = definitions.iter().find_map(|definition| match definition {
        Definition::Attribute(it)
            if definitions.string(it.name).and_then(otf2::Str::to_str) == Some(archive::CALLS) =>
        {
            Some(it.id)
        }
        _ => None,
    });
    let locations: Vec<_> = definitions.locations().collect();
    let bar = progress::bar(locations.len() as u64, "locations");
    let tally = locations
        .par_iter()
        .map(|location| {
            let tally = read_location(
                archive,
                location.id,
                location.number_of_events,
                counted.then_some(count),
            );
            bar.inc(1);
            tally
        })
        .reduce(Tally::default, Tally::join);
    bar.finish_and_clear();
    tally
}

/// Reads a location, whose definition states a number of events. With `counted` the calls of each function are counted too;
/// it is the attribute that says how many calls a region stands for.
fn read_location(
    archive: &Archive,
    location: LocationRef,
    stated: u64,
    counted: Option<Option<AttributeRef>>,
) -> Tally {
    let mut tally = Tally::default();
    let size = |file| archive.size(file).ok().flatten().unwrap_or(0);
    tally.bytes.events = size(FileKind::Events(location));
    tally.bytes.definitions = size(FileKind::LocalDefs(location));
    let tables = archive.local_tables(location);
    for warning in &tables.warnings {
        tally.report(warning);
    }
    match archive.events_with(location, &tables, WINDOW) {
        Ok(mut reader) => match counted {
            None => read(&mut reader, &mut tally, |tally| tally),
            Some(count) => {
                let mut with_calls = WithCalls { tally, count };
                read(&mut reader, &mut with_calls, |it| &mut it.tally);
                tally = with_calls.tally;
            }
        },
        // The archive beside a profile: a location without events needs no file.
        Err(error) if stated == 0 && matches!(error.kind(), ErrorKind::Missing) => {}
        Err(error) => tally.report(&error),
    }
    // The reader reports a wrong number if it reads the file to its end.
    let events = tally.events();
    if stated != u64::MAX && stated != events && !tally.is_counted {
        tally.report(&format_args!(
            "location {location}: its definition states {stated} events, its file holds {events}"
        ));
    }
    tally
}

fn summarise(
    path: &Path,
    archive: &Archive,
    definitions: &Definitions,
    mut tally: Tally,
) -> anyhow::Result<Info> {
    if let Some(warning) = definitions.warning() {
        tally.report(warning);
    }
    if let Some(damaged) = archive.anchor().property(DAMAGED) {
        tally.report(&format_args!("recovered from damaged files: {damaged}"));
    }
    let mut kinds = BTreeMap::<&'static str, u64>::new();
    for definition in definitions.iter() {
        *kinds.entry(definition.name()).or_default() += 1;
    }
    let count = |name| kinds.get(name).copied().unwrap_or(0);
    let (location_groups, system_tree_nodes) = (count("LocationGroup"), count("SystemTreeNode"));

    let anchor = archive.anchor();
    for (what, stated, found) in [
        ("locations", anchor.locations, definitions.locations().len() as u64),
        ("definitions", anchor.definitions, definitions.len() as u64),
    ] {
        if stated != found {
            tally.report(&format_args!("the anchor states {stated} {what}, there are {found}"));
        }
    }
    let markers = count_markers(archive, &mut tally);
    let mut bytes = tally.bytes;
    bytes.definitions += archive.size(FileKind::GlobalDefs)?.unwrap_or(0);
    bytes.total = bytes.events
        + bytes.definitions
        + archive.size(FileKind::Anchor)?.unwrap_or(0)
        + archive.size(FileKind::Markers)?.unwrap_or(0);

    let mut records: BTreeMap<_, _> = Event::KINDS
        .iter()
        .map(|&(id, name)| (name, tally.records[usize::from(id)]))
        .filter(|&(_, count)| count > 0)
        .collect();
    let unknown = tally.events() - records.values().sum::<u64>();
    if unknown > 0 {
        records.insert("Unknown", unknown);
    }
    let clock = definitions.clock();
    let span_seconds = clock
        .zip(tally.times)
        .map(|(clock, (first, last))| (last - first) as f64 / clock.timer_resolution.max(1) as f64);
    let (major, minor, bugfix) = anchor.version;
    Ok(Info {
        archive: path.to_owned(),
        creator: anchor.creator.clone(),
        machine: anchor.machine.clone(),
        description: anchor.description.clone(),
        otf2_version: format!("{major}.{minor}.{bugfix}"),
        trace_id: format!("{:016x}", anchor.trace_id),
        properties: anchor.properties.iter().cloned().collect(),
        not_all_recorded: left_out(definitions),
        events_chunk_bytes: anchor.events_chunk,
        definitions_chunk_bytes: anchor.defs_chunk,
        clock: clock.map(|clock| Clock {
            ticks_per_second: clock.timer_resolution,
            global_offset: clock.global_offset,
            length_ticks: clock.trace_length,
            realtime_ns: Some(clock.realtime_timestamp).filter(|&time| time != u64::MAX),
        }),
        locations: definitions.locations().len() as u64,
        location_groups,
        system_tree_nodes,
        events: tally.events(),
        events_with_attributes: tally.with_attributes,
        unknown_records: unknown + definitions.unknown(),
        first_time: tally.times.map(|times| times.0),
        last_time: tally.times.map(|times| times.1),
        span_seconds,
        records,
        definitions: kinds,
        snapshots: anchor.snapshots,
        markers,
        thumbnails: anchor.thumbnails,
        bytes,
        calls: most_called(definitions, tally.calls),
        damage: tally.damage,
        damage_count: tally.damage_count,
    })
}

/// Returns the functions whose calls cost most to record. A call that is summed up costs about half of one that is recorded.
fn most_called(definitions: &Definitions, calls: BTreeMap<RegionRef, (u64, u64)>) -> Vec<Calls> {
    let name = |region| {
        let region = definitions.region(region)?;
        definitions.string(region.name).map(|text| text.to_string())
    };
    let calls = calls.into_iter().map(|(region, (recorded, summed_up))| {
        let function = name(region).unwrap_or_else(|| region.to_string());
        Calls { function, recorded, summed_up }
    });
    let mut calls: Vec<Calls> = calls.collect();
    calls.sort_by_key(|it| {
        std::cmp::Reverse(it.recorded.saturating_mul(2).saturating_add(it.summed_up))
    });
    calls.truncate(LISTED_FUNCTIONS);
    calls
}

/// Returns the functions that were called and not recorded, or not always, as the descriptions of their regions say.
fn left_out(definitions: &Definitions) -> Vec<String> {
    let text = |id| definitions.string(id).map(|text| text.to_string()).unwrap_or_default();
    let regions = definitions.iter().filter_map(|definition| match definition {
        Definition::Region(region) => Some(region),
        _ => None,
    });
    let partial = regions.filter(|region| {
        let description = text(region.description);
        [archive::LEFT_OUT, archive::SAMPLED].iter().any(|words| description.ends_with(words))
    });
    let mut names: Vec<String> = partial.map(|region| text(region.name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn count_markers(archive: &Archive, tally: &mut Tally) -> u64 {
    let mut count = 0;
    let mut read = || -> otf2::Result<()> {
        if let Some(mut markers) = archive.markers()? {
            while markers.next()?.is_some() {
                count += 1;
            }
        }
        Ok(())
    };
    if let Err(error) = read() {
        tally.report(&error);
    }
    count
}

/// Prints the information as text.
fn print(info: &Info, output: &mut impl Write) -> io::Result<()> {
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    let mut row = |name: &str, value: String| writeln!(output, "{name:<14} {}", visible(&value));
    row("archive", info.archive.display().to_string())?;
    row("written by", format!("{} (OTF2 {})", or_dash(&info.creator), info.otf2_version))?;
    row("machine", or_dash(&info.machine))?;
    if !info.description.is_empty() {
        row("description", info.description.clone())?;
    }
    if !info.not_all_recorded.is_empty() {
        row("not recorded", format!("as was asked: {}", info.not_all_recorded.join(", ")))?;
    }
    match &info.clock {
        Some(clock) => row("clock", format!("{} ticks a second", grouped(clock.ticks_per_second)))?,
        None => row("clock", "not defined".into())?,
    }
    match info.span_seconds {
        Some(seconds) => row("time span", format!("{seconds:.6} s"))?,
        None => row("time span", "no events".into())?,
    }
    row(
        "locations",
        format!(
            "{} in {} groups on {} system nodes",
            grouped(info.locations),
            grouped(info.location_groups),
            grouped(info.system_tree_nodes)
        ),
    )?;
    let each = info.bytes.events as f64 / info.events.max(1) as f64;
    row(
        "events",
        format!(
            "{} in {} ({each:.1} bytes each)",
            grouped(info.events),
            format::bytes(info.bytes.events as f64)
        ),
    )?;
    row(
        "definitions",
        format!(
            "{} in {}",
            grouped(info.definitions.values().sum()),
            format::bytes(info.bytes.definitions as f64)
        ),
    )?;
    for (name, count) in
        [("markers", info.markers), ("with attributes", info.events_with_attributes)]
    {
        if count > 0 {
            row(name, grouped(count))?;
        }
    }

    writeln!(output, "\nrecords")?;
    let mut records: Vec<_> = info.records.iter().collect();
    records.sort_by_key(|&(name, &count)| (std::cmp::Reverse(count), *name));
    for (name, &count) in records {
        let share = percent(count as f64 / info.events.max(1) as f64);
        writeln!(output, "  {name:<30} {:>20} {share:>8}", grouped(count))?;
    }
    if !info.calls.is_empty() {
        let percent = |name| info.properties.get(name).map_or("?", String::as_str);
        let (reached, asked) = (percent(archive::OVERHEAD), percent(archive::OVERHEAD_ASKED));
        writeln!(
            output,
            "\nrecording took about {reached} % of the time, more than the {asked} % asked for, by these calls"
        )?;
        writeln!(output, "  {:<30} {:>20} {:>20}", "", "recorded", "summed up")?;
        for Calls { function, recorded, summed_up } in &info.calls {
            let (recorded, summed_up) = (grouped(*recorded), grouped(*summed_up));
            writeln!(output, "  {:<30} {recorded:>20} {summed_up:>20}", visible(function))?;
        }
    }
    if !info.properties.is_empty() {
        writeln!(output, "\nproperties")?;
    }
    for (name, value) in &info.properties {
        writeln!(output, "  {} = {}", visible(name), visible(value))?;
    }
    if info.damage_count == 0 {
        return writeln!(output, "\nsound: every record could be read");
    }
    writeln!(output, "\n{} problems:", grouped(info.damage_count))?;
    for problem in &info.damage {
        writeln!(output, "  {}", visible(problem))?;
    }
    if info.damage_count > info.damage.len() as u64 {
        writeln!(output, "  … and {} more", grouped(info.damage_count - info.damage.len() as u64))?;
    }
    Ok(())
}
