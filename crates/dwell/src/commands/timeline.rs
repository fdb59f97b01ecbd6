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
use dwell_timeline::picture::{self, Names, Scene};
use dwell_timeline::{CallPath, DIRECTORY, Index, Instance, Location, Span, Time, Trace};
use otf2::Archive;

use crate::damage;
use crate::dependencies::{self, directory};
use crate::format::{seconds, wrap};
use crate::output;
use crate::progress;
use crate::ready;
use crate::runs;
use crate::terminal::{line, visible};

/// Arguments of `dwell timeline`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each character stands for a span of time of a process, or of several processes if there are more than 64: \
# waits, . computes, letters are calls. Below the picture are the longest waits that it shows, and what the \
process that was waited for did meanwhile.

The first call analyses the run if that was not done yet, and makes an index in DIR/dwell-timeline, from which all later ones answer at once. It can be \
deleted. Times count from the first event: 1.5, 1.5s, 1500ms, 20us.

Examples:
  dwell timeline run                     the whole run
  dwell timeline run --finding 1         the worst instance of the first finding of `dwell analyze`
  dwell timeline run --from 1.2 --to 1.3 a tenth of a second
  dwell timeline run --svg run.svg       a picture for a paper; --png for slides")]
pub(crate) struct Args {
    /// The archive: its directory. Without it, the newest run here.
    archive: Option<PathBuf>,
    /// Show the worst instance of a finding or of what a cause makes others wait, by its id in the list of `dwell analyze`.
    #[arg(long, value_name = "ID")]
    finding: Option<String>,
    /// Show another instance of the finding: 2 for the second longest.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "finding")]
    instance: usize,
    /// Begin of the span to show.
    #[arg(long, value_parser = time, value_name = "TIME")]
    from: Option<u64>,
    /// End of the span to show.
    #[arg(long, value_parser = time, value_name = "TIME")]
    to: Option<u64>,
    /// Show these locations only, by their numbers from 0 on, such as 0-15.
    #[arg(long, value_parser = numbers, value_name = "FIRST-LAST")]
    rows: Option<Range<u32>>,
    /// Number of waits to explain below the picture.
    #[arg(long, default_value_t = 3, value_name = "N")]
    top: usize,
    /// Width of the picture in characters. The default is that of the terminal, or 80.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(40..=1000))]
    width: Option<u16>,
    /// Write the picture to this file as SVG, and print nothing.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write the picture to this file as PNG, and print nothing.
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
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
const SVG_COLUMNS: usize = 1100;

/// Greatest number of waits that a picture of characters looks for.
const TEXT_WAITS: usize = 200;

/// Greatest number of arrows in an SVG picture.
const SVG_WAITS: usize = 200;

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let path = runs::ended_or_latest(args.archive.as_deref())?;
    let (index, query) = open(&path)?;
    let names = ReportNames { query: &query };
    let begin = index.span().from.0;
    let found =
        args.finding.as_ref().map(|id| find(&path, &index, id, args.instance)).transpose()?;
    let near = found.as_ref().map(|it| around(&index, it.instance.call));
    let span = near.unwrap_or(index.span());
    let from = args.from.map_or(span.from, |it| Time(begin.saturating_add(it)));
    let to = args.to.map_or(span.to, |it| Time(begin.saturating_add(it)));
    let span = Span { from, to: to.min(index.span().to) };
    if span.length() == 0 {
        let end = seconds(index.span().length() as f64 / 1e9);
        bail!("the span is empty; the run ends at {end}");
    }
    let rows = chosen_rows(args, &index, found.as_ref());
    let terminal =
        console::Term::stdout().size_checked().map_or(80, |(_, width)| usize::from(width));
    let width = args.width.map_or(terminal.clamp(60, 200), usize::from);
    let (columns, waits) = match args.svg.as_ref().or(args.png.as_ref()) {
        Some(_) => (SVG_COLUMNS, SVG_WAITS),
        None => (picture::columns(width, &rows, &names), TEXT_WAITS),
    };
    let finding = found.as_ref().map(|it| (it.path, it.what));
    let scene = Scene::of(&index, rows, span, columns, finding, waits)?;
    if args.svg.is_some() || args.png.is_some() {
        // Operations come from the events, everything else from the analysis.
        damage::report_events(&Archive::open(directory(&path))?);
        let text = picture::svg(&with_operations(scene, &path, &index), &names);
        if let Some(file) = &args.png {
            output::check(file)?;
            dwell_files::write(file, png::from_svg(&text)?)
                .with_context(|| output::cannot(file))?;
        }
        if let Some(file) = &args.svg {
            output::check(file)?;
            dwell_files::write(file, text).with_context(|| output::cannot(file))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some((found, id)) = found.as_ref().zip(args.finding.as_ref()) {
        let instance = format!("instance {} of {}", args.instance, found.count);
        let (title, call) = (found.what.about().title, names.call(found.path));
        let head = format!("{id}. {title} at {call}: {instance}");
        for part in wrap(&head, width) {
            line!("{part}")?;
        }
    }
    crate::terminal::print(picture::text(&scene, &names))?;
    let top = scene.waits.get(..args.top.min(scene.waits.len())).unwrap_or_default();
    for text in picture::explained(&index, &names, top)? {
        for (at, part) in wrap(&text, width.saturating_sub(2)).iter().enumerate() {
            line!("{}{part}", if at == 0 { "- " } else { "  " })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Greatest numbers of arrows of operations, of locations whose operations are shown, and of events that are read for them.
const ARROWS: usize = 400;
const READERS: usize = 1024;
const READ: u64 = 5_000_000;

/// Adds the operations of a scene, if the trace is there and has not too many of them.
fn with_operations(scene: Scene, path: &Path, index: &Index) -> Scene {
    let rows: Vec<_> = scene.rows.iter().map(|it| Location(it.start)..Location(it.end)).collect();
    let Ok(trace) = Trace::open(directory(path), 64) else { return scene };
    let is_known = trace.locations() == index.locations();
    if !is_known || scene.rows.iter().map(ExactSizeIterator::len).sum::<usize>() > READERS {
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
fn chosen_rows(args: &Args, index: &Index, found: Option<&Found>) -> Vec<Range<u32>> {
    if let Some(rows) = &args.rows {
        let end = rows.end.min(index.locations());
        let count = end.saturating_sub(rows.start);
        let size = count.div_ceil(picture::MOST_ROWS).max(1);
        let from = (rows.start..end).step_by(size as usize);
        return from.map(|it| it..(it + size).min(end)).collect();
    }
    let mut rows = picture::rows(index);
    if let Some(Found { instance, .. }) = found
        && index.locations() > picture::MOST_ROWS
    {
        let one = |it: Location| it.0..it.0 + 1;
        rows.splice(0..0, [one(instance.location), one(instance.culprit)]);
    }
    rows
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
