//! `dwell report`: contents of a report as tables.

pub(super) mod views;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use cubex::{CnodeId, LocationId, MetricId};
use dwell_model::waits::Wait;
use dwell_report::Query;
use dwell_report::findings::Findings;

use crate::commands::timeline::numbers;
use crate::damage;
use crate::listing::{self, Style};
use crate::ready;
use crate::runs;
use crate::terminal::{nearest, visible};

/// Arguments of `dwell report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --tree, --metric, --spread, --metrics, --by or --counters, a summary is shown. Call paths are regions joined \
by ` / `; --path takes the whole path or its last regions, with @file:line where several call sites have the same path.

Examples:
  dwell report run                                    where the time goes, the largest waits
  dwell report run --tree time                        the call tree with its times
  dwell report run --tree time --locations 3          that of the location with this number
  dwell report run --metric mpi_latesender --top 5    the five call paths with the largest values
  dwell report run --by step --top 1000               each iteration, if the program marks them
  dwell report run --spread --path MPI_Barrier        the distribution of a call over processes")]
pub(crate) struct Args {
    /// The report: a `.cubex` file, or a directory that contains one. Without it, the newest run here.
    report: Option<PathBuf>,
    /// Show the call tree with the values of this metric.
    #[arg(long, value_name = "METRIC", conflicts_with_all = ["spread", "metrics"])]
    tree: Option<String>,
    /// Show the call tree of these locations only, such as 0-15,32: numbers in the order of the report.
    #[arg(long, value_delimiter = ',', value_parser = numbers, value_name = "LIST", requires = "tree")]
    locations: Vec<Range<u32>>,
    /// Rank call paths by their exclusive value of this metric; with --spread, show its distribution.
    #[arg(long, value_name = "METRIC", conflicts_with = "metrics")]
    metric: Option<String>,
    /// Show the distribution of a metric over locations.
    #[arg(long, conflicts_with = "metrics")]
    spread: bool,
    /// List all metrics with their values.
    #[arg(long)]
    metrics: bool,
    /// Show time and waits for each instance of this phase, or each value of this parameter; with --metric, its values
    /// as well.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["tree", "spread", "metrics"])]
    by: Option<String>,
    /// Show the counters of the program.
    #[arg(long, conflicts_with_all = ["tree", "spread", "metrics", "metric", "by"])]
    counters: bool,
    /// Show only this call path and everything below it; the id of a finding or cause means its call path.
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Largest number of rows to show.
    #[arg(long, default_value_t = 10, value_name = "N")]
    top: usize,
    /// Number of levels of the call tree to show.
    #[arg(long, default_value_t = 6, value_name = "N")]
    depth: usize,
    /// Print JSON: an object with one array for each table. Rows of trees have `children`.
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print one table as comma-separated values: of the summary the call paths, of --spread the locations.
    #[arg(long)]
    csv: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let path = ready::report(&runs::ended_or_latest(args.report.as_deref())?)?;
    let query = Query::open(&path)?;
    damage::report_findings(&path);
    damage::report(damage::lost_findings_of_run(&path, &query));
    let findings = findings_of(&path);
    let below = args.path.as_deref();
    let below = below.map(|text| one_path(&query, findings.as_ref(), text)).transpose()?;
    let named = |name: &str| {
        let found = metrics_of(&query, name);
        if found.is_empty() { bail!(no_metric(&query, &path, name)) } else { Ok(found) }
    };
    let listings = if args.metrics {
        vec![views::metrics(&query, below)?]
    } else if let Some(name) = &args.by {
        let metric = args.metric.as_deref().map(named).transpose()?;
        let metric = metric.and_then(|it| it.first().copied());
        let listing = views::by(&query, name, metric, below, args.top)?;
        vec![listing.with_context(|| no_axis(&query, &path, name))?]
    } else if args.counters {
        let listing = views::counters(&query, below)?;
        vec![listing.with_context(|| {
            format!(
                "{}: the report contains no counters; programs record them with DWELL_COUNTER",
                path.display()
            )
        })?]
    } else if let Some(name) = &args.tree {
        let locations = locations_of(&query, &args.locations)?;
        let size = (args.top, args.depth);
        let tree = |&metric: &_| views::tree(&query, metric, &locations, below, size);
        named(name)?.iter().map(tree).collect::<Result<_, _>>()?
    } else if args.spread {
        let name = args.metric.as_deref().unwrap_or("time");
        let mut listings = Vec::new();
        for metric in named(name)? {
            listings.extend(views::locations(&query, metric, below, args.top)?);
        }
        listings
    } else if let Some(name) = &args.metric {
        let ranking = |&metric: &_| views::ranking(&query, metric, below, args.top);
        named(name)?.iter().map(ranking).collect::<Result<_, _>>()?
    } else {
        views::summary(&query, (&path, findings.as_ref()), below, args.top)?
    };
    let style = Style::of(args.json, args.csv);
    listing::print(&listings, style)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the metrics that a name means: the metric of this name, or those of the wait that findings and the page call so, of
/// each layer and kind of call that the report has.
fn metrics_of(query: &Query, name: &str) -> Vec<MetricId> {
    let meta = query.meta();
    if let Some(metric) = meta.find_metric(name) {
        return vec![metric];
    }
    let is_of_wait = |id: &MetricId| {
        let wait = meta.metric(*id).and_then(|it| Wait::of_metric(it.uniq_name));
        wait.is_some_and(|it| it.about().id == name)
    };
    meta.metrics().filter(is_of_wait).collect()
}

/// Returns the locations with these numbers.
fn locations_of(query: &Query, numbers: &[Range<u32>]) -> anyhow::Result<Vec<LocationId>> {
    let count = query.meta().locations().len() as u32;
    if let Some(range) = numbers.iter().find(|it| it.end > count) {
        bail!("no location {}: the report has the locations 0 to {}", range.end - 1, count - 1);
    }
    Ok(numbers.iter().cloned().flatten().map(LocationId).collect())
}

/// Returns the message for a metric that the report does not have, with the name that was probably meant.
fn no_metric(query: &Query, path: &Path, name: &str) -> String {
    let meta = query.meta();
    let names = meta.metrics().filter_map(|id| meta.metric(id)).map(|metric| metric.uniq_name);
    let hint = nearest(name, names.chain(Wait::ALL.iter().map(|it| it.about().id)))
        .map_or(String::new(), |near| format!("did you mean `{near}`? "));
    format!("{}: no metric `{}`; {hint}--metrics lists them", path.display(), visible(name))
}

/// Returns the message for a phase or parameter that the report does not have, with the names that it has.
fn no_axis(query: &Query, path: &Path, name: &str) -> String {
    let axes = query.axes();
    let names: Vec<&str> = axes.iter().map(|(axis, _)| axis.name()).collect();
    let hint = if names.is_empty() {
        "the report has none; DWELL_PHASE_BEGIN and DWELL_PARAMETER_INT of dwell.h define them"
            .to_owned()
    } else {
        format!("the report has {}", names.join(", "))
    };
    format!("{}: no phase or parameter `{name}`; {hint}", path.display())
}

/// Names of reports in an experiment directory, the most informative first.
const NAMES: [&str; 4] = ["trace.cubex", "scout.cubex", "summary.cubex", "profile.cubex"];

/// Returns the report that a path means: the file itself, or the report in a directory.
pub(crate) fn find(path: &Path) -> anyhow::Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    match in_directory(path)? {
        Some(found) => Ok(found),
        None if is_archive(path) => {
            let path = path.display();
            bail!("{path}: the archive was not analysed yet; next: dwell analyze {path}")
        }
        None => bail!("{}: no report (`.cubex`) here, and no archive to analyse", path.display()),
    }
}

/// Returns the report in a directory, if there is one. Fails if there are several, none of which has a usual name.
pub(crate) fn in_directory(path: &Path) -> anyhow::Result<Option<PathBuf>> {
    if let Some(found) = NAMES.iter().map(|name| path.join(name)).find(|file| file.exists()) {
        return Ok(Some(found));
    }
    let read = || -> std::io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(path)? {
            let file = entry?.path();
            if file.extension().is_some_and(|extension| extension == "cubex") {
                files.push(file);
            }
        }
        files.sort();
        Ok(files)
    };
    let files = read().with_context(|| path.display().to_string())?;
    match files.as_slice() {
        [] => Ok(None),
        [file] => Ok(Some(file.clone())),
        _ => bail!(
            "{}: the directory contains {} reports (`.cubex`); name one of them",
            path.display(),
            files.len()
        ),
    }
}

/// Returns `true` if a directory has an anchor file of OTF2.
pub(crate) fn is_archive(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| path.extension().is_some_and(|it| it == "otf2"))
}

/// Returns the findings that belong to a report of `dwell analyze`.
pub(super) fn findings_of(report: &Path) -> Option<Findings> {
    let is_own = report.file_name().is_some_and(|name| name == "trace.cubex");
    is_own.then(|| damage::findings_in(report.parent()?)).flatten()
}

/// Returns the only call path that a text means: its regions, or the id of a finding or cause. Fails if none or several
/// match.
pub(super) fn one_path(
    query: &Query,
    findings: Option<&Findings>,
    text: &str,
) -> anyhow::Result<CnodeId> {
    let mut paths = query.find_paths(text);
    if paths.is_empty() {
        paths.extend(findings.and_then(|it| it.call_path_of(text)).map(CnodeId));
    }
    match paths.as_slice() {
        [cnode] => Ok(*cnode),
        [] => bail!("no call path `{}`; list them with `dwell report --tree time`", visible(text)),
        several => {
            let shown = |path: &str| visible(path).into_owned();
            let paths: Vec<String> = several
                .iter()
                .take(5)
                .map(|&cnode| shown(&query.call_path_with_site(cnode)))
                .collect();
            let more = if several.len() > 5 { "\n  …" } else { "" };
            bail!(
                "`{}` matches {} call paths; give one of them in full:\n  {}{more}",
                visible(text),
                several.len(),
                paths.join("\n  ")
            )
        }
    }
}
