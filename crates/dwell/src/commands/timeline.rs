//! `dwell timeline`: what every process did when, as a picture in the terminal or in a file.

mod png;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use dwell_model::units::parse_duration;
use dwell_model::waits::Wait;
use dwell_report::findings::Findings;
use dwell_report::{CnodeId, LocationId, Query};
use dwell_timeline::picture::{self, Names, Row, Scene};
use dwell_timeline::{CallPath, DIRECTORY, Index, Instance, Location, Span, Time, Trace, is_start};
use otf2::Archive;

use crate::damage;
use crate::dependencies::{self, directory};
use crate::format::{seconds, wrap};
use crate::listing;
use crate::output;
use crate::progress;
use crate::ready;
use crate::runs;
use crate::terminal::visible;

/// Arguments of `dwell timeline`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each character stands for a span of time of a process, or of several that behave alike if there are more than 64: \
# waits, . computes, letters are calls. Below the picture are the longest waits that it shows, and what the \
process that was waited for did meanwhile.

The first call analyses the run if that was not done yet, and makes an index in DIR/dwell-timeline, from which all later ones answer at once. It can be \
deleted. The picture is as wide as the terminal, or as COLUMNS says. Times count from the first event: 1.5, 1.5s, 1500ms, 20us.

Examples:
  dwell timeline run                     the run after its start-up; --from 0 shows all
  dwell timeline run --finding 1         the worst instance of the first finding of `dwell analyze`
  dwell timeline run --from 1.2 --to 1.3 a tenth of a second
  dwell timeline run -o run.svg          a picture for a paper; run.png for slides")]
pub(crate) struct Args {
    /// The archive: its directory. Without it, the newest run here.
    archive: Option<PathBuf>,
    /// Show the worst instance of a finding or of what a cause makes others wait, by its id in the list of `dwell analyze`;
    /// 1:2 is the second longest instance of finding 1.
    #[arg(long, value_name = "ID[:N]", value_parser = instance)]
    finding: Option<(String, usize)>,
    /// Begin of the span to show.
    #[arg(long, value_parser = time, value_name = "TIME")]
    from: Option<u64>,
    /// End of the span to show.
    #[arg(long, value_parser = time, value_name = "TIME")]
    to: Option<u64>,
    /// Show these locations only, such as 0-15,32: numbers in the order of the report.
    #[arg(long, value_delimiter = ',', value_parser = numbers, value_name = "LIST")]
    locations: Vec<Range<u32>>,
    /// Number of waits to explain below the picture.
    #[arg(long, default_value_t = 3, value_name = "N")]
    top: usize,
    /// Write the picture to this file, .svg or .png, and print nothing.
    #[arg(short, long, value_name = "FILE", value_parser = picture_file)]
    output: Option<PathBuf>,
}

/// Parses the id of a finding, and the number of one of its instances from 1 on.
fn instance(text: &str) -> Result<(String, usize), String> {
    let (id, number) = text.split_once(':').unwrap_or((text, "1"));
    match number.parse() {
        Ok(number) if number > 0 => Ok((id.to_owned(), number)),
        _ => Err("the id of a finding is wanted, such as 1, or 1:2 for its second instance".into()),
    }
}

fn picture_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(|it| it.to_str()) {
        Some("svg" | "png") => Ok(path),
        _ => Err("pictures are .svg or .png files".into()),
    }
}

/// Parses a time after the first event.
pub(crate) fn time(text: &str) -> Result<u64, String> {
    parse_duration(text).ok_or_else(|| "a time such as 1.5s or 20ms is wanted".into())
}

/// Parses a range of numbers.
pub(crate) fn numbers(text: &str) -> Result<Range<u32>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse::<u32>()) {
        (Ok(first), Ok(last)) if first <= last && last < u32::MAX => Ok(first..last + 1),
        _ => Err("two numbers such as 0-15 are wanted".into()),
    }
}

/// Number of columns of an SVG picture.
const SVG_COLUMNS: usize = 960;

/// Greatest number of waits that a picture of characters looks for.
const TEXT_WAITS: usize = 200;

/// Greatest number of arrows in an SVG picture.
const SVG_WAITS: usize = 200;

impl Args {
    /// Returns arguments for a span of a run, or for the worst instance of a finding or cause, if one is named.
    pub(super) fn of(finding: Option<&str>, span: [Option<u64>; 2]) -> Result<Self, String> {
        let [from, to] = span;
        let finding = finding.map(instance).transpose()?;
        Ok(Self { archive: None, finding, from, to, locations: Vec::new(), top: 3, output: None })
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let path = runs::ended_or_latest(args.archive.as_deref())?;
    let Some(file) = &args.output else {
        let width = listing::terminal_width().unwrap_or(80).clamp(60, 200);
        crate::terminal::print(text(args, &path, width)?)?;
        return Ok(ExitCode::SUCCESS);
    };
    let Shown { index, query, scene, .. } = shown(args, &path, None)?;
    // Operations come from the events, everything else from the analysis.
    damage::report_events(&Archive::open(directory(&path))?);
    let names = ReportNames { query: &query };
    let text = picture::svg(&with_operations(scene, &path, &index), &names);
    output::check(file)?;
    let bytes = match file.extension().is_some_and(|it| it == "png") {
        true => png::from_svg(&text)?,
        false => text.into_bytes(),
    };
    dwell_files::write(file, bytes).with_context(|| output::cannot(file))?;
    Ok(ExitCode::SUCCESS)
}

/// What a picture shows, and where it comes from.
struct Shown {
    index: Index,
    query: Query,
    found: Option<Found>,
    scene: Scene,
}

/// Returns what arguments ask for: for a picture of characters of this width, or for one of pixels.
fn shown(args: &Args, path: &Path, width: Option<usize>) -> anyhow::Result<Shown> {
    let (index, query) = open(path)?;
    let names = ReportNames { query: &query };
    let begin = index.span().from.0;
    let found =
        args.finding.as_ref().map(|(id, number)| find(path, &index, id, *number)).transpose()?;
    let near = found.as_ref().map(|it| around(&index, it.instance.call));
    let starts = |it: CallPath| is_start(&query.call_name(CnodeId(it.0)));
    let opened = index.opened(index.started(&starts));
    let whole = if args.to.is_some() { index.span() } else { opened };
    let span = near.unwrap_or(whole);
    let from = args.from.map_or(span.from, |it| Time(begin.saturating_add(it)));
    let to = args.to.map_or(span.to, |it| Time(begin.saturating_add(it)));
    let span = Span { from, to: to.min(index.span().to) };
    if span.length() == 0 {
        let end = seconds(index.span().length() as f64 / 1e9);
        bail!("the span is empty; the run ends at {end}");
    }
    let rows = chosen_rows(args, &index, opened, found.as_ref())?;
    let (columns, waits) = match width {
        None => (SVG_COLUMNS, SVG_WAITS),
        Some(width) => (picture::columns(width, &rows, &names), TEXT_WAITS),
    };
    let finding = found.as_ref().map(|it| (it.path, it.what));
    let scene = Scene::of(&index, rows, span, columns, finding, waits)?;
    Ok(Shown { index, query, found, scene })
}

/// Returns a picture of characters, with the longest waits in words.
pub(super) fn text(args: &Args, path: &Path, width: usize) -> anyhow::Result<String> {
    let Shown { index, query, found, scene } = shown(args, path, Some(width))?;
    let names = ReportNames { query: &query };
    let mut text = String::new();
    if let Some((found, (id, number))) = found.as_ref().zip(args.finding.as_ref()) {
        let instance = format!("instance {number} of {}", found.count);
        let (title, call) = (found.what.about().title, names.call(found.path));
        let head = format!("{id}. {title} at {call}: {instance}");
        wrap(&head, width).iter().for_each(|part| text += &format!("{part}\n"));
    }
    text += &picture::text(&scene, &names);
    let top = scene.waits.get(..args.top.min(scene.waits.len())).unwrap_or_default();
    for wait in picture::explained(&index, &names, top)? {
        for (at, part) in wrap(&wait, width.saturating_sub(2)).iter().enumerate() {
            text += &format!("{}{part}\n", if at == 0 { "- " } else { "  " });
        }
    }
    Ok(text)
}

/// Greatest numbers of arrows of operations, and of events that are read for them.
const ARROWS: usize = 400;
const READ: u64 = 5_000_000;

/// Adds the operations of a scene, if the trace is there and has not too many of them, and rows are single locations: arrows between many
/// hide what these do.
fn with_operations(scene: Scene, path: &Path, index: &Index) -> Scene {
    if scene.rows.iter().any(|it| it.count() > 1) {
        return scene;
    }
    let parts = scene.rows.iter().flat_map(|it| &it.parts);
    let rows: Vec<_> = parts.map(|it| Location(it.start)..Location(it.end)).collect();
    let Ok(trace) = Trace::open(directory(path), 64) else { return scene };
    if trace.locations() != index.locations() {
        return scene;
    }
    let begin = |it: Location| index.since(it, scene.span.from).unwrap_or(scene.span.from);
    match trace.operations(&rows, scene.span, &begin, READ) {
        Ok(operations) => scene.with_operations(&operations, ARROWS),
        // A picture without operations is better than none.
        Err(error) => {
            damage::report([error.to_string()]);
            scene
        }
    }
}

/// Returns the rows to show: those that were asked for, or all. If there are more processes than rows, the two of a
/// finding come first, each by itself.
fn chosen_rows(
    args: &Args,
    index: &Index,
    opened: Span,
    found: Option<&Found>,
) -> anyhow::Result<Vec<Row>> {
    if !args.locations.is_empty() {
        let known = |it: &Range<u32>| it.start..it.end.min(index.locations());
        let count: u32 = args.locations.iter().map(|it| known(it).len() as u32).sum();
        let size = count.div_ceil(picture::MOST_ROWS).max(1);
        let parts = args.locations.iter().map(known).flat_map(|range| {
            let from = range.clone().step_by(size as usize);
            from.map(move |it| (it..(it + size).min(range.end)).into())
        });
        return Ok(parts.collect());
    }
    let mut rows = picture::rows(index, opened)?;
    if let Some(Found { instance, .. }) = found
        && index.locations() > picture::MOST_ROWS
    {
        let one = |it: Location| Row::from(it.0..it.0 + 1);
        let partners = [one(instance.location), one(instance.culprit)];
        rows.retain(|row| !partners.contains(row));
        rows.splice(0..0, partners);
    }
    Ok(rows)
}

/// Returns a span around a call, half as long again on each side.
fn around(index: &Index, call: Span) -> Span {
    let more = call.length() / 2 + 1;
    let from = Time(call.from.0.saturating_sub(more));
    Span { from, to: Time(call.to.0 + more) }.common(index.span())
}

/// An instance of a finding.
struct Found {
    path: CallPath,
    what: Wait,
    count: u64,
    instance: Instance,
}

/// Returns an instance of a finding, or of the waits of a cause, by the id that `dwell analyze` gives it.
fn find(path: &Path, index: &Index, id: &str, instance: usize) -> anyhow::Result<Found> {
    let file = directory(path).join("findings.json");
    let bytes = std::fs::read(&file).with_context(|| file.display().to_string())?;
    let findings = Findings::read(&bytes).with_context(|| file.display().to_string())?;
    let Some(named) = findings.named(id) else {
        bail!("there is no finding {id}; `dwell analyze` lists {}", findings.listed().len());
    };
    let waits = findings.waits_of(named);
    if waits.is_empty() {
        bail!("finding {id} is not a wait, and has no instances");
    }
    let known = waits.iter().filter_map(|&(path, pattern)| {
        let what = *Wait::ALL.iter().find(|wait| wait.about().id == pattern)?;
        let path = CallPath(path);
        Some((path, what, index.instances(path, what)?))
    });
    let most = known.max_by_key(|it| it.2.worst.first().map(|it| it.nanoseconds));
    let Some((path, what, instances)) = most else {
        bail!("it is not known who ended the waits of finding {id}");
    };
    match instance.checked_sub(1).and_then(|it| instances.worst.get(it)) {
        Some(it) => Ok(Found { path, what, count: instances.count, instance: *it }),
        None => bail!("finding {id} has {} instances", instances.worst.len()),
    }
}

/// Names from the report.
struct ReportNames<'a> {
    query: &'a Query,
}

impl Names for ReportNames<'_> {
    fn location(&self, location: Location) -> String {
        visible(&self.query.location_name(LocationId(location.0))).into_owned()
    }

    fn node(&self, locations: &[Range<u32>]) -> Option<String> {
        let meta = self.query.meta();
        let of = |it| meta.group_of_location(it).and_then(|it| meta.node_of_group(it));
        let node = of(LocationId(locations.first()?.start))?;
        let own = meta.locations().filter(|it| of(*it) == Some(node)).map(|it| it.0);
        let is_same = own.eq(locations.iter().cloned().flatten());
        is_same.then(|| visible(meta.system_node(node).map_or("?", |it| it.name)).into_owned())
    }

    fn call(&self, path: CallPath) -> String {
        let (name, site) =
            (self.query.call_name(CnodeId(path.0)), self.query.call_site(CnodeId(path.0)));
        let text = match site {
            Some(site) => format!("{name} at {}", site.rsplit('/').next().unwrap_or(&site)),
            None => name,
        };
        visible(&text).into_owned()
    }
}

/// Opens the index of an archive and its report. What is missing is made: the analysis, the dependency log, the index.
fn open(path: &Path) -> anyhow::Result<(Index, Query)> {
    let directory = directory(path);
    let report = directory.join("trace.cubex");
    ready::analysis(path)?;
    let query = Query::open(&report)?;
    damage::report_findings(&report);
    let print =
        dwell_timeline::fingerprint(&report).with_context(|| report.display().to_string())?;
    let place = directory.join(DIRECTORY);
    if let Ok(index) = Index::open(&place, print) {
        return Ok((index, query));
    }
    let log = dependencies::open(path, query.meta().locations().len())?;
    let bar = progress::bar(log.locations().into(), "locations");
    let classes = query.call_classes();
    let index = dwell_timeline::build(&log, &classes, print, &place, &|count| bar.inc(count));
    bar.finish_and_clear();
    Ok((index?, query))
}
