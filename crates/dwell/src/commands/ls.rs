//! `dwell ls`: the runs in a directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use anyhow::Context;
use dwell_model::units::utc;
use dwell_report::Query;
use dwell_unify::lease;
use otf2::{Archive, Definition};

use crate::damage;
use crate::listing::{self, Cell, Listing, Style, Unit};
use crate::runs::{ANCHOR, UNFINISHED};
use crate::terminal::line;

/// Arguments of `dwell ls`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A run gets its label from `dwell run --label TEXT`. The waits are those that `dwell analyze` found, as a \
    share of the run without start-up and shutdown.\n\nExample: dwell ls results --csv"
)]
pub(crate) struct Args {
    /// Directories that contain runs; the current one by default.
    directories: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values.
    #[arg(long)]
    csv: bool,
}

/// Facts about a run.
#[derive(Debug, Default)]
pub(crate) struct Run {
    path: PathBuf,
    /// Time of the recording in nanoseconds since 1970, or that of its files.
    pub(crate) when: u64,
    pub(crate) program: String,
    pub(crate) processes: Option<u64>,
    /// Seconds from the first to the last event.
    length: Option<f64>,
    /// Share of the run that waits take.
    waits: Option<f64>,
    pub(crate) label: String,
    /// A remark about the state of the run.
    pub(crate) note: String,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let here = [PathBuf::from(".")];
    let directories = if args.directories.is_empty() { &here[..] } else { &args.directories };
    let mut runs = Vec::new();
    for directory in directories {
        for path in candidates(directory)? {
            runs.extend(examine(&path));
        }
    }
    runs.sort_by(|a, b| b.when.cmp(&a.when).then_with(|| a.path.cmp(&b.path)));
    let style = Style::of(args.json, args.csv);
    if runs.is_empty() && style == Style::Text {
        line!("no runs here; `dwell run` records one")?;
        return Ok(ExitCode::SUCCESS);
    }
    listing::print(&[table(&runs)], style)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns a directory and those in it, without links.
fn candidates(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let told = || directory.display().to_string();
    let mut found = vec![directory.to_owned()];
    for entry in fs::read_dir(directory).with_context(told)? {
        let entry = entry.with_context(told)?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let path = entry.path();
            found.push(path.strip_prefix(".").map(Path::to_owned).unwrap_or(path));
        }
    }
    Ok(found)
}

/// Returns the facts about a directory if it is a run. A run that cannot be read is listed too, with the reason.
pub(crate) fn examine(path: &Path) -> Option<Run> {
    let mut run = Run { path: path.to_owned(), ..Run::default() };
    let modified = |name: &str| {
        let time = fs::metadata(path.join(name)).ok()?.modified().ok()?;
        Some(time.duration_since(UNIX_EPOCH).ok()?.as_nanos() as u64)
    };
    let findings = damage::findings_in(path);
    if let Some(it) = &findings {
        run.length = Some(it.length_seconds);
        run.processes = Some(it.processes);
        run.waits = (it.run_seconds > 0.0).then(|| it.waits_seconds / it.run_seconds);
    }
    if let Some(when) = modified(ANCHOR) {
        run.when = when;
        run.note = match from_archive(&mut run) {
            Err(error) => format!("cannot be read: {error}"),
            Ok((archive, is_whole))
                if !is_whole || !damage::of_run(path, Some(&archive)).is_empty() =>
            {
                "damaged".into()
            }
            Ok(_) if findings.is_none() => {
                let report = path.join("trace.cubex");
                let query = Query::open(&report).ok();
                let lost = query.and_then(|query| damage::lost_findings_of_run(&report, &query));
                if lost.is_some() { "damaged" } else { "not analysed" }.into()
            }
            Ok(_) => String::new(),
        };
    } else if path.join(UNFINISHED).is_dir() {
        run.when = modified(UNFINISHED)?;
        run.note = match lease::signs(path) {
            Ok(Some(signs)) => signs.to_string(),
            _ => "killed: dwell recover".into(),
        };
    } else if let Some(lost) = damage::of_archive(path) {
        run.when = modified("traces.def")?;
        run.note = format!("damaged: {lost}");
    } else {
        run.when = modified("profile.cubex")?;
        let is_damaged = !damage::of_run(path, None).is_empty();
        run.note = if is_damaged { "damaged" } else { "profile" }.into();
    }
    Some(run)
}

/// Adds what an archive says about a run. Also returns whether all of its definitions could be read.
fn from_archive(run: &mut Run) -> otf2::Result<(Archive, bool)> {
    let archive = Archive::open(&run.path)?;
    let property = |name: &str| archive.anchor().property(name).unwrap_or_default().to_owned();
    let program = property("DWELL::PROGRAM");
    run.program = program.rsplit('/').next().unwrap_or_default().to_owned();
    run.label = property("DWELL::CONFIG::LABEL");
    let definitions = archive.definitions()?;
    if let Some(clock) = definitions.clock() {
        let ticks = clock.timer_resolution.max(1) as f64;
        run.length.get_or_insert(clock.trace_length as f64 / ticks);
        // Writers before version 3 of OTF2 state no time of day.
        let is_known = clock.realtime_timestamp > 0 && clock.realtime_timestamp != u64::MAX;
        run.when = if is_known { clock.realtime_timestamp } else { run.when };
    }
    let is_process = |it: &Definition<'_>| matches!(it, Definition::LocationGroup(_));
    run.processes.get_or_insert(definitions.iter().filter(is_process).count() as u64);
    Ok((archive, definitions.warning().is_none()))
}

fn table(runs: &[Run]) -> Listing {
    let text = |text: &str| match text.is_empty() {
        true => Cell::Nothing,
        false => text.into(),
    };
    let row = |run: &Run| {
        let [year, month, day, hour, minute, _] = utc(run.when);
        vec![
            run.path.display().to_string().into(),
            text(&run.program),
            run.processes.map_or(Cell::Nothing, Cell::Count),
            run.length.map_or(Cell::Nothing, |length| Cell::Value(length, Unit::Seconds)),
            run.waits.map_or(Cell::Nothing, Cell::Share),
            format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}").into(),
            text(&run.label),
            text(&run.note),
        ]
    };
    Listing {
        key: "runs",
        columns: vec![
            "run",
            "program",
            "processes",
            "length",
            "waits",
            "when_utc",
            "label",
            "note",
        ],
        rows: runs.iter().map(row).collect(),
        whole: &["run"],
        ..Listing::default()
    }
}
