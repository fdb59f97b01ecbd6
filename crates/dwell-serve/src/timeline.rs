//! The timeline: what every location did when.
//!
//! The index beside the archive answers ([`dwell_timeline`]). If there is none, it is made from the dependency log by a thread
//! of its own, while the page asks how far that is. Times are nanoseconds after the first event, rows are numbers of
//! locations.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use dwell_analyze::log::DependencyLog;
use dwell_model::operation::Operation;
use dwell_model::waits::Wait;
use dwell_report::{Class, CnodeId, LocationId};
use dwell_timeline::{
    CallPath, DIRECTORY, Index, Location, MOST_INSTANCES, Operations, Sharpness, Slice, Span, Time,
    Trace,
};

use crate::progress::{Slot, State};
use crate::question::{Answer, Fault, Parameters, json};
use crate::run::{Run, Selection};
use crate::types::{
    TimelineAbout, TimelineAt, TimelineCollective, TimelineCritical, TimelineDoing,
    TimelineInstance, TimelineInstances, TimelineNode, TimelineOperation, TimelineOperations,
    TimelineRow, TimelineRows, TimelineSlices, TimelineTotal, TimelineTotals, TimelineWait,
    TimelineWaits,
};

/// Greatest number of rows in an answer.
const MOST_ROWS: u32 = 128;

/// Greatest number of columns of a tile.
const MOST_COLUMNS: u32 = 4096;

/// Greatest number of slices of a row that are listed one by one.
const MOST_SLICES: usize = 3000;

/// Greatest number of waits in an answer.
const MOST_WAITS: u32 = 2000;

/// Greatest number of instances in an answer.
const LISTED_INSTANCES: usize = 200;

/// Greatest number of steps of the critical path in an answer.
const MOST_STEPS: usize = 4000;

/// Greatest number of arrows of operations, and of members of collectives, in an answer.
const MOST_ARROWS: usize = 2000;
const MOST_MEMBERS: usize = 20_000;

/// Greatest numbers of events and of locations that are read for an answer.
const MOST_READ: u64 = 1_000_000;
const MOST_READERS: usize = 2048;

/// Number of files of the trace that are kept open.
const OPEN_FILES: usize = 128;

/// Number of operations that are listed for a call.
const LISTED_OPERATIONS: usize = 12;

/// Greatest number of slices that are added up by call path.
const MOST_ADDED: usize = 2_000_000;

type Result<T> = std::result::Result<T, Fault>;

impl From<dwell_timeline::Error> for Fault {
    fn from(error: dwell_timeline::Error) -> Self {
        Self::Timeline(error.to_string())
    }
}

/// Returns the state of the index of a run. The first call opens it or begins to make it.
fn state(run: &Run) -> State {
    let mut slot = run.timeline.lock().unwrap_or_else(PoisonError::into_inner);
    if matches!(*slot, State::Unknown) {
        *slot = begin(run);
    }
    slot.clone()
}

/// Returns the index of a run, if it is there.
pub(crate) fn index(run: &Run) -> Option<Arc<Index>> {
    match state(run) {
        State::Ready(index) => Some(index),
        _ => None,
    }
}

/// Waits until the index of a run is there or cannot be made: a file that is written once has no later answer.
pub(crate) fn complete(run: &Run) {
    while matches!(state(run), State::Making(..)) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Opens the index, or begins to make it.
fn begin(run: &Run) -> State {
    let directory = run.path.parent().filter(|it| !it.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let missing = "This run has no index for a timeline.";
    if run.path.file_name().is_none_or(|name| name != "trace.cubex") {
        let why = "A timeline needs the trace: this report is not one of `dwell analyze`.";
        return State::Missing(why.into());
    }
    let Ok(print) = dwell_timeline::fingerprint(&run.path) else {
        return State::Missing(missing.into());
    };
    let place = directory.join(DIRECTORY);
    match Index::open(&place, print) {
        Ok(index) => return State::Ready(Arc::new(index)),
        Err(dwell_timeline::Error::Io(..) | dwell_timeline::Error::Stale(_)) => {}
        Err(error) => return State::Missing(error.to_string()),
    }
    let log = match DependencyLog::open(directory.join("dwell-dependencies")) {
        Ok(log) if log.locations() as usize == run.query.meta().locations().len() => log,
        _ => {
            let at = directory.display();
            return State::Missing(format!("{missing} Make it with: dwell timeline {at}"));
        }
    };
    let (done, all) = (Arc::new(AtomicU64::new(0)), u64::from(log.locations()));
    let work = Work { log, place, print, done: done.clone(), slot: run.timeline.clone() };
    let classes = run.query.call_classes();
    std::thread::spawn(move || work.make(&classes));
    State::Making(done, all)
}

/// The making of an index.
struct Work {
    log: DependencyLog,
    place: PathBuf,
    print: dwell_timeline::Fingerprint,
    done: Arc<AtomicU64>,
    slot: Slot,
}

impl Work {
    fn make(&self, classes: &[Class]) {
        let progress = |count| {
            self.done.fetch_add(count, Ordering::Relaxed);
        };
        let made = dwell_timeline::build(&self.log, classes, self.print, &self.place, &progress);
        let state = match made {
            Ok(index) => State::Ready(Arc::new(index)),
            Err(error) => State::Missing(error.to_string()),
        };
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

/// Answers a question about the timeline of a run.
pub(crate) fn answer(run: &Run, question: &str, parameters: &Parameters<'_>) -> Result<Answer> {
    if question == "about" {
        return json(&about(run));
    }
    let State::Ready(index) = state(run) else {
        return Err(Fault::Bad("there is no timeline of this run yet".into()));
    };
    let view = View { run, index: &index, parameters };
    match question {
        "rows" => json(&view.rows()?),
        "tile" => view.tile(),
        "slices" => json(&view.slices()?),
        "waits" => json(&view.waits()?),
        "at" => json(&view.at()?),
        "instances" => json(&view.instances()?),
        "critical" => json(&view.critical()?),
        "totals" => json(&view.totals()?),
        "operations" => json(&view.operations()?),
        _ => Err(Fault::Unknown),
    }
}

fn about(run: &Run) -> TimelineAbout {
    let mut about = TimelineAbout {
        state: "missing".into(),
        why: String::new(),
        done: 0.0,
        locations: 0,
        length: 0.0,
        slices: 0.0,
        started: 0.0,
        classes: Class::ALL.iter().map(|it| it.name().to_owned()).collect(),
        waits: Wait::ALL.iter().map(|it| it.about().title.to_owned()).collect(),
        nodes: Vec::new(),
    };
    match state(run) {
        State::Ready(index) => {
            about.state = "ready".into();
            about.locations = index.locations();
            about.length = index.span().length() as f64;
            about.slices = index.count() as f64;
            about.nodes = nodes(run);
            about.started = started(run, &index);
        }
        State::Making(done, all) => {
            about.state = "making".into();
            about.done = done.load(Ordering::Relaxed) as f64 / all.max(1) as f64;
        }
        State::Missing(why) => about.why = why,
        State::Unknown => {}
    }
    about
}

/// Number of locations, and of slices of each, in which the end of start-up is looked for.
const LOOKED_AT: (u32, usize) = (256, 64);

/// Returns the time after the first event at which the last location has started its runtime, or 0 if none is seen to do so.
fn started(run: &Run, index: &Index) -> f64 {
    let is_start = |path: CallPath| {
        let row = dwell_model::registry::find(&run.query.call_name(CnodeId(path.0)));
        row.is_some_and(|(_, row)| row.operation == Operation::Initialise)
    };
    let begin = index.span().from;
    let mut last = begin;
    for location in (0..index.locations().min(LOOKED_AT.0)).map(Location) {
        let mut at = index.begin(location).unwrap_or(begin);
        for _ in 0..LOOKED_AT.1 {
            let Ok(Some(slice)) = index.at(location, at) else { break };
            if slice.path.is_some_and(is_start) {
                last = last.max(slice.span.to);
            }
            at = slice.span.to;
        }
    }
    (last.0 - begin.0) as f64
}

/// Returns the nodes, each with the consecutive locations that it has. A node may occur several times.
fn nodes(run: &Run) -> Vec<TimelineNode> {
    let meta = run.query.meta();
    let mut list: Vec<TimelineNode> = Vec::new();
    let mut last = None;
    for location in meta.locations() {
        let node = meta.group_of_location(location).and_then(|it| meta.node_of_group(it));
        match list.last_mut() {
            Some(known) if last == Some(node) => known.count += 1,
            _ => {
                let name = node.and_then(|it| meta.system_node(it)).map_or("?", |it| it.name);
                list.push(TimelineNode { name: name.into(), first: location.0, count: 1 });
            }
        }
        last = Some(node);
    }
    list.truncate(4096);
    list
}

struct View<'a> {
    run: &'a Run,
    index: &'a Index,
    parameters: &'a Parameters<'a>,
}

impl View<'_> {
    /// Returns a time after the first event as a time of the trace.
    fn time(&self, name: &'static str, default: Time) -> Result<Time> {
        let begin = self.index.span().from.0;
        let Some(text) = self.parameters.get(name) else { return Ok(default) };
        let parse = || Fault::Bad(format!("`{name}` must be a number of nanoseconds").into());
        let number: u64 = text.parse().map_err(|_| parse())?;
        Ok(Time(begin.saturating_add(number)))
    }

    fn span(&self) -> Result<Span> {
        let whole = self.index.span();
        let span = Span { from: self.time("from", whole.from)?, to: self.time("to", whole.to)? };
        match span.length() {
            0 => Err(Fault::Bad("the span of time is empty".into())),
            _ => Ok(span),
        }
    }

    /// Returns a time of the trace as a time after the first event.
    fn after(&self, time: Time) -> f64 {
        time.0.saturating_sub(self.index.span().from.0) as f64
    }

    /// Returns the rows of the view, as ranges of locations: either those that `rows` lists, such as `7.0-64`, or consecutive ones
    /// from `first` to before `end`, with `band` locations each.
    fn ranges(&self) -> Result<Vec<std::ops::Range<u32>>> {
        let all = self.index.locations();
        if let Some(list) = self.parameters.get("rows") {
            let one = |text: &str| {
                let (first, end) = match text.split_once('-') {
                    Some((first, end)) => (first.parse().ok()?, end.parse().ok()?),
                    None => {
                        let first: u32 = text.parse().ok()?;
                        (first, first.checked_add(1)?)
                    }
                };
                (first < end && end <= all).then_some(first..end)
            };
            let ranges: Option<Vec<_>> = list.split('.').map(one).collect();
            let wrong = Fault::Bad("`rows` must be numbers of locations".into());
            let mut ranges = ranges.ok_or(wrong)?;
            ranges.truncate(MOST_ROWS as usize);
            return Ok(ranges);
        }
        let first = self.parameters.number("first")?.unwrap_or(0).min(all);
        let end = self.parameters.number("end")?.unwrap_or(all).clamp(first, all);
        let least = (end - first).div_ceil(MOST_ROWS).max(1);
        let band = self.parameters.number("band")?.unwrap_or(1).max(least);
        let from = (first..end).step_by(band as usize);
        Ok(from.map(|it| it..it.saturating_add(band).min(end)).collect())
    }

    fn location(&self, name: &'static str) -> Result<Location> {
        let number = self.parameters.number(name)?.filter(|it| *it < self.index.locations());
        number.map(Location).ok_or(Fault::Bad(format!("`{name}` must be a location").into()))
    }

    fn name(&self, location: Location) -> String {
        self.run.query.location_name(LocationId(location.0))
    }

    /// Returns rows in the order that `sort` names: `wait`, `blame`, `node` or `call`, which are single locations, those with most first.
    /// With `fold=node` each node is a row. `only` is a call path: locations that have not called it have no row.
    fn arranged(&self) -> Result<Vec<std::ops::Range<u32>>> {
        let sort = self.parameters.get("sort").unwrap_or("number");
        if self.parameters.get("fold") == Some("node") {
            let nodes = nodes(self.run);
            let each = nodes.len().div_ceil(PAGE_ROWS as usize).max(1);
            let some = nodes.chunks(each).filter_map(|it| it.first().zip(it.last()));
            return Ok(some.map(|(first, last)| first.first..last.first + last.count).collect());
        }
        let only = self.parameters.number("only")?;
        if sort == "number" && only.is_none() {
            return self.ranges();
        }
        let calls = match only.map(CnodeId) {
            Some(cnode) if self.run.query.meta().cnode(cnode).is_some() => {
                let metric = self.run.query.meta().metrics().find(|it| {
                    self.run.query.meta().metric(*it).is_some_and(|it| it.uniq_name == "time")
                });
                let metric = metric.ok_or(Fault::Bad("the report has no time".into()))?;
                let call = dwell_report::Call::Path(cnode, dwell_report::Flavour::Inclusive);
                Some(self.run.row(Selection { metric, own: false, call })?)
            }
            Some(_) => return Err(Fault::Bad("there is no such call path".into())),
            None => None,
        };
        let called = |it: u32| {
            let row = calls.as_ref().and_then(|calls| calls.locations.get(it as usize));
            row.map_or(0, |seconds| (seconds * 1e9) as u64)
        };
        let meta = self.run.query.meta();
        let key = |it: u32| {
            let totals = self.index.totals(Location(it));
            let value = totals.map_or(0, |(sums, blame)| match sort {
                "blame" => blame,
                "wait" => sums.get(Class::Wait as usize).copied().unwrap_or(0),
                "call" => called(it),
                _ => 0,
            });
            let group = meta.group_of_location(LocationId(it)).filter(|_| sort == "node");
            let node = group.and_then(|it| meta.node_of_group(it)).map_or(0, |it| it.0);
            (std::cmp::Reverse(value), node, it)
        };
        let all = 0..self.index.locations();
        let mut numbers: Vec<u32> = all.filter(|it| calls.is_none() || called(*it) > 0).collect();
        numbers.sort_by_cached_key(|it| key(*it));
        numbers.truncate(PAGE_ROWS as usize);
        Ok(numbers.into_iter().map(|it| it..it + 1).collect())
    }

    fn rows(&self) -> Result<TimelineRows> {
        let ranges = match self.parameters.get("rows") {
            Some(_) => self.ranges()?,
            None => self.arranged()?,
        };
        let row = |range: std::ops::Range<u32>| {
            let (mut wait, mut blame, mut time) = (0, 0, 0_u64);
            for location in range.clone() {
                if let Some((sums, blamed)) = self.index.totals(Location(location)) {
                    wait += sums.get(Class::Wait as usize).copied().unwrap_or(0);
                    time += sums.iter().sum::<u64>();
                    blame += blamed;
                }
            }
            let is_node = self.parameters.get("fold") == Some("node");
            let name = match range.len() {
                _ if is_node => self.node_names(&range),
                1 => self.name(Location(range.start)),
                _ => {
                    let last = Location(range.end.saturating_sub(1));
                    between(&self.name(Location(range.start)), &self.name(last))
                }
            };
            TimelineRow {
                first: range.start,
                end: range.end,
                name,
                seconds: time as f64 / 1e9,
                wait: wait as f64 / 1e9,
                blame: blame as f64 / 1e9,
            }
        };
        Ok(TimelineRows { rows: ranges.into_iter().map(row).collect() })
    }

    /// Returns the name of the node of a range of locations, or those of the first and the last.
    fn node_names(&self, range: &std::ops::Range<u32>) -> String {
        let meta = self.run.query.meta();
        let name = |it: u32| {
            let group = meta.group_of_location(LocationId(it));
            let node = group.and_then(|it| meta.node_of_group(it));
            node.and_then(|it| meta.system_node(it)).map_or("?", |it| it.name)
        };
        let (first, last) = (name(range.start), name(range.end.saturating_sub(1)));
        if first == last { first.to_owned() } else { between(first, last) }
    }

    /// Returns shares as bytes: for each row and column one for each class, as a part of 255.
    fn tile(&self) -> Result<Answer> {
        let span = self.span()?;
        let columns = self.parameters.number("columns")?.unwrap_or(1024).clamp(1, MOST_COLUMNS);
        let sharpness = match self.parameters.get("sharp") {
            Some("1") => Sharpness::Exact,
            _ => Sharpness::Coarse,
        };
        let mut bytes = Vec::new();
        let mut ranges = self.ranges()?.into_iter().peekable();
        while let Some(first) = ranges.next() {
            // Consecutive rows of one size are one tile, whose rows are computed at the same time.
            let band = first.end - first.start;
            let mut end = first.end;
            while let Some(next) = ranges.next_if(|it| {
                it.start == end
                    && it.end - it.start <= band
                    && (end - first.start).is_multiple_of(band)
            }) {
                end = next.end;
            }
            let range = Location(first.start)..Location(end);
            bytes.extend(self.index.tile(range, band, span, columns as usize, sharpness)?.shares);
        }
        Ok(Answer::Bytes(bytes))
    }

    fn slices(&self) -> Result<TimelineSlices> {
        let span = self.span()?;
        let mut list = TimelineSlices::default();
        for (row, range) in (0..).zip(self.ranges()?) {
            if range.len() != 1 {
                continue;
            }
            let slices = self.index.slices(Location(range.start), span, MOST_SLICES)?;
            for slice in slices.into_iter().flatten() {
                list.row.push(row);
                list.from.push(self.after(slice.span.from));
                list.to.push(self.after(slice.span.to));
                list.call.push(slice.path.map_or(-1, |it| i64::from(it.0)) as i32);
                list.class.push(self.index.class(&slice) as u32);
                list.wait.push(slice.wait.map_or(-1, |it| it.what as i32));
                list.culprit.push(slice.wait.map_or(-1, |it| i64::from(it.culprit.0)) as i32);
            }
        }
        Ok(list)
    }

    fn wait(&self, location: Location, slice: &Slice) -> Option<TimelineWait> {
        let waiting = slice.wait?;
        Some(TimelineWait {
            location: location.0,
            from: self.after(slice.span.from),
            to: self.after(slice.span.to),
            call: slice.path.map(|it| it.0),
            title: waiting.what.about().title.into(),
            culprit: waiting.culprit.0,
        })
    }

    /// Returns the finding that the parameters name: a call path and the id of a wait.
    fn finding(&self) -> Result<Option<(CallPath, Wait)>> {
        let (Some(call), Some(pattern)) =
            (self.parameters.number("call")?, self.parameters.get("pattern"))
        else {
            return Ok(None);
        };
        let what = Wait::ALL.iter().find(|it| it.about().id == pattern);
        let what = what.ok_or(Fault::Bad("there is no such wait".into()))?;
        Ok(Some((CallPath(call), *what)))
    }

    fn waits(&self) -> Result<TimelineWaits> {
        let span = self.span()?;
        let most = self.parameters.number("most")?.unwrap_or(MOST_WAITS).min(MOST_WAITS) as usize;
        let finding = self.finding()?;
        let wanted = |slice: &Slice| {
            finding.is_none_or(|(path, what)| {
                slice.path == Some(path) && slice.wait.is_some_and(|it| it.what == what)
            })
        };
        let mut list: Vec<(Location, Slice)> = Vec::new();
        let mut ranges = self.ranges()?;
        ranges.sort_by_key(|it| it.start);
        // Consecutive rows are searched together.
        ranges.dedup_by(|next, before| {
            let joins = next.start == before.end;
            if joins {
                before.end = next.end;
            }
            joins
        });
        for range in ranges {
            let range = Location(range.start)..Location(range.end);
            list.extend(self.index.worst_waits(range, span, most, &wanted)?);
        }
        list.sort_by_key(|(location, it)| {
            (std::cmp::Reverse(it.span.length()), it.span.from, *location)
        });
        list.dedup();
        list.truncate(most);
        let waits = list.iter().filter_map(|(location, slice)| self.wait(*location, slice));
        Ok(TimelineWaits { waits: waits.collect() })
    }

    fn at(&self) -> Result<TimelineAt> {
        let location = self.location("location")?;
        let time = self.time("time", self.index.span().from)?;
        let slice = self.index.at(location, time)?;
        let name = self.name(location);
        let mut at = TimelineAt {
            location: location.0,
            name,
            from: self.after(time),
            to: self.after(time),
            call: None,
            class: "none".into(),
            wait: None,
            meaning: None,
            culprit_name: None,
            meanwhile: Vec::new(),
            operations: Vec::new(),
            operations_count: 0,
        };
        let Some(slice) = slice else { return Ok(at) };
        (at.from, at.to) = (self.after(slice.span.from), self.after(slice.span.to));
        at.call = slice.path.map(|it| it.0);
        at.class = self.index.class(&slice).name().into();
        at.wait = self.wait(location, &slice);
        if let Some(waiting) = slice.wait {
            at.meaning = Some(waiting.what.about().meaning.into());
            at.culprit_name = Some(self.name(waiting.culprit));
            let doing = self.index.meanwhile(waiting.culprit, slice.span)?;
            at.meanwhile = doing
                .into_iter()
                .take(12)
                .map(|it| TimelineDoing {
                    call: it.path.map(|it| it.0),
                    class: it.class.name().into(),
                    count: it.count as f64,
                    seconds: it.nanoseconds as f64 / 1e9,
                })
                .collect();
        }
        if slice.wait.is_some() || at.class != "compute" {
            let call = Span { from: self.index.since(location, slice.span.from)?, ..slice.span };
            let own = location..Location(location.0 + 1);
            let found = self.read(&[own], call)?.unwrap_or_default();
            let mut list = found.list;
            list.retain(|it| it.origin == location && it.span.from >= call.from);
            at.operations_count = list.len() as u32;
            list.sort_by_key(|it| (std::cmp::Reverse(it.span.length()), *it));
            list.truncate(LISTED_OPERATIONS);
            let one = |it: dwell_timeline::Operation| TimelineOperation {
                kind: it.kind.name().into(),
                partner: it.partner.0,
                partner_name: self.name(it.partner),
                from: self.after(it.span.from),
                to: self.after(it.span.to),
                bytes: it.bytes as f64,
            };
            at.operations = list.into_iter().map(one).collect();
        }
        Ok(at)
    }

    /// Reads operations from the trace, or returns `None` if there is none that fits.
    fn read(&self, ranges: &[std::ops::Range<Location>], span: Span) -> Result<Option<Operations>> {
        let trace = self.run.trace.get_or_init(|| {
            let directory = self.run.path.parent().filter(|it| !it.as_os_str().is_empty());
            let trace = Trace::open(directory.unwrap_or(Path::new(".")), OPEN_FILES).ok()?;
            (trace.locations() == self.index.locations()).then_some(trace)
        });
        let Some(trace) = trace else { return Ok(None) };
        let begin = |it: Location| self.index.since(it, span.from).unwrap_or(span.from);
        Ok(Some(trace.operations(ranges, span, &begin, MOST_READ)?))
    }

    /// Returns arrows of operations between the rows, whether anybody waited for them or not.
    fn operations(&self) -> Result<TimelineOperations> {
        let span = self.span()?;
        let ranges = self.ranges()?;
        let mut answer = TimelineOperations::default();
        if ranges.iter().map(ExactSizeIterator::len).sum::<usize>() > MOST_READERS {
            answer.missing = "Operations of so many processes are not read at once.".into();
            return Ok(answer);
        }
        let mut rows: std::collections::HashMap<Location, usize> = std::collections::HashMap::new();
        for (row, range) in ranges.iter().enumerate() {
            for location in range.clone() {
                rows.entry(Location(location)).or_insert(row);
            }
        }
        let wanted: Vec<_> = ranges.iter().map(|it| Location(it.start)..Location(it.end)).collect();
        let Some(found) = self.read(&wanted, span)? else {
            answer.missing = "The trace is not there any more.".into();
            return Ok(answer);
        };
        if found.too_many {
            answer.missing = "There are too many operations here: zoom in to see them.".into();
            return Ok(answer);
        }
        if found.uncounted {
            answer.missing = "Messages and collectives so far into the run are not joined.".into();
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

    fn instances(&self) -> Result<TimelineInstances> {
        let none = TimelineInstances { count: 0.0, most: MOST_INSTANCES as u32, worst: Vec::new() };
        let Some((path, what)) = self.finding()? else { return Ok(none) };
        let Some(instances) = self.index.instances(path, what) else { return Ok(none) };
        let one = |it: &dwell_timeline::Instance| TimelineInstance {
            location: it.location.0,
            culprit: it.culprit.0,
            call_from: self.after(it.call.from),
            call_to: self.after(it.call.to),
            from: self.after(it.span.from),
            to: self.after(it.span.to),
            seconds: it.nanoseconds as f64 / 1e9,
        };
        let worst = instances.worst.iter().take(LISTED_INSTANCES).map(one).collect();
        Ok(TimelineInstances { count: instances.count as f64, worst, ..none })
    }

    fn critical(&self) -> Result<TimelineCritical> {
        let span = self.span()?;
        let steps = self.index.critical_path();
        let first = steps.partition_point(|it| it.span.to <= span.from);
        let end = steps.partition_point(|it| it.span.from < span.to);
        let steps = steps.get(first..end).unwrap_or_default();
        let mut list = TimelineCritical { omitted: 0, ..TimelineCritical::default() };
        if steps.len() > MOST_STEPS {
            list.omitted = steps.len() as u32;
            return Ok(list);
        }
        for step in steps {
            list.location.push(step.location.0);
            list.from.push(self.after(step.span.from));
            list.to.push(self.after(step.span.to));
        }
        Ok(list)
    }

    /// Adds up what the rows did in the span, by call path and class.
    fn totals(&self) -> Result<TimelineTotals> {
        let span = self.span()?;
        let mut sums: std::collections::BTreeMap<(Option<CallPath>, u32), (u64, u64)> =
            std::collections::BTreeMap::new();
        let mut room = MOST_ADDED;
        for location in self.ranges()?.into_iter().flatten() {
            let location = Location(location);
            // Slices are few where time is short; a long span of a long run is in the other views.
            let Some(slices) = self.index.slices(location, span, room)? else {
                return Ok(TimelineTotals { too_many: true, totals: Vec::new() });
            };
            room -= slices.len();
            for slice in slices {
                let sum = sums.entry((slice.path, self.index.class(&slice) as u32)).or_default();
                sum.0 += 1;
                sum.1 += slice.span.common(span).length();
            }
        }
        let one = |((path, class), (count, nanoseconds)): ((Option<CallPath>, u32), (u64, u64))| {
            TimelineTotal {
                call: path
                    .map(|it| it.0)
                    .filter(|it| self.run.query.meta().cnode(CnodeId(*it)).is_some()),
                class,
                count: count as f64,
                seconds: nanoseconds as f64 / 1e9,
            }
        };
        let mut totals: Vec<TimelineTotal> = sums.into_iter().map(one).collect();
        totals.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        totals.truncate(50);
        Ok(TimelineTotals { too_many: false, totals })
    }
}

/// Names a range by its first and its last name. What both begin with is said once.
fn between(first: &str, last: &str) -> String {
    let same = |(a, b): &(char, char)| a == b && !a.is_ascii_digit();
    let common = first.chars().zip(last.chars()).take_while(same).count();
    format!("{first}–{}", last.chars().skip(common).collect::<String>())
}

/// Number of instances whose timelines an exported file has.
const EXPORTED_INSTANCES: usize = 100;

/// Number of columns of tiles in an exported file, which the page knows too.
const EXPORTED_COLUMNS: usize = 1024;

/// Greatest numbers of rows and of arrows of the page.
const PAGE_ROWS: u32 = 64;
const PAGE_ARROWS: (u32, u32) = (60, 2000);

/// Returns the questions that the page asks for the whole run and, if they are wanted, for the worst instances of its findings, in the form
/// in which it asks them: an exported file has the answers.
pub(crate) fn questions(run: &Run, instances: bool) -> Vec<(&'static str, String)> {
    let mut list = Vec::new();
    let State::Ready(index) = state(run) else { return list };
    let locations = index.locations();
    let (begin, length) = (index.span().from.0, index.span().length());
    let mut band = 1;
    while locations.div_ceil(band) > PAGE_ROWS {
        band *= 2;
    }
    let rows = format!("band={band}&end={locations}&first=0");
    list.push(("timeline/rows", rows.clone()));
    let tile = |rows: &str, from: u64, to: u64| {
        let columns = EXPORTED_COLUMNS;
        sorted(&format!("{rows}&columns={columns}&from={from}&sharp=1&to={to}"))
    };
    let whole = format!("band={locations}&end={locations}&first=0");
    list.push(("timeline/tile", tile(&whole, 0, length)));
    let mut view = |rows: &str, from: u64, to: u64, finding: &str, most: u32| {
        let span = format!("from={from}&to={to}");
        list.push(("timeline/tile", tile(rows, from, to)));
        list.push(("timeline/critical", span.clone()));
        list.push(("timeline/waits", sorted(&format!("{rows}&{span}&most={most}{finding}"))));
        list.push(("timeline/slices", sorted(&format!("{rows}&{span}"))));
    };
    view(&rows, 0, length, "", PAGE_ARROWS.0);
    let findings = run.findings.iter().flat_map(|it| &it.findings);
    let known = findings.filter_map(|it| {
        let what = *Wait::ALL.iter().find(|wait| wait.about().id == it.pattern)?;
        let instances = index.instances(CallPath(it.call_path), what)?;
        Some((format!("&call={}&pattern={}", it.call_path, it.pattern), instances))
    });
    let known: Vec<_> = known.take(if instances { EXPORTED_INSTANCES } else { 0 }).collect();
    let each = EXPORTED_INSTANCES / known.len().max(1);
    let mut more: Vec<(&'static str, String)> = Vec::new();
    for (finding, instances) in known {
        let named = finding.trim_start_matches('&').to_owned();
        more.push(("timeline/instances", named));
        for it in instances.worst.iter().take(each) {
            let (from, to) = (it.call.from.0 - begin, it.call.to.0 - begin);
            let by = (to - from) / 2 + 1;
            let (from, to) = (from.saturating_sub(by), (to + by).min(length));
            let mut rows = rows.clone();
            if locations > PAGE_ROWS {
                let (own, other) = (it.location.0, it.culprit.0);
                more.push(("timeline/rows", format!("rows={own}.{other}")));
                let bands = (0..locations).step_by(band as usize);
                let bands = bands.map(|it| format!("{it}-{}", (it + band).min(locations)));
                let bands: Vec<String> = bands.collect();
                let top = if own == other { own.to_string() } else { format!("{own}.{other}") };
                rows = format!("rows={top}.{}", bands.join("."));
            }
            view(&rows, from, to, &finding, PAGE_ARROWS.1);
            let middle = (it.span.from.0 - begin).midpoint(it.span.to.0 - begin);
            more.push(("timeline/at", format!("location={}&time={middle}", it.location.0)));
        }
    }
    list.extend(more);
    list
}

/// Returns parameters in the order in which the page writes them: by name.
fn sorted(query: &str) -> String {
    let mut parts: Vec<&str> = query.split('&').collect();
    parts.sort_unstable();
    parts.join("&")
}
