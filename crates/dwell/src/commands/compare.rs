//! `dwell compare`: runs before and after a change, or with more and more processes, for people and for continuous
//! integration.

mod document;
pub(crate) mod history;
mod scaling;
mod text;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use dwell_model::waits::Wait;
use dwell_report::Run;

use crate::damage;
use crate::many;
use crate::ready;
use crate::terminal;

/// Arguments of `dwell compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Start-up and shutdown are left out. The program may have another name in the second run. Calls of a function in \
several places of the source match by their order there.

The runs after the change are slower if they are longer by more than --threshold and by more than chance. With three \
runs or more on both sides, a rank-sum test decides what is chance (at most 1 in 100, or as little as so few runs can \
show); with fewer, differences up to 25 % of the run count as chance. The last line says which slowdown such runs show \
in 19 of 20 cases.

Exit code: 0 if the runs are not slower, 1 if they are or if one of them is damaged, 2 if they cannot be compared.

Examples:
  dwell compare before after
  dwell compare --before a1 a2 a3 a4 a5 --after b1 b2 b3 b4 b5 --junit > dwell.xml
  dwell compare --series run4 run8 run16 run32
  dwell compare --series results         which version of many became slower, and how it scales")]
pub(crate) struct Args {
    /// The run before the change and the run after it: experiment directories, or their `.cubex` files.
    #[arg(num_args = 0..=2, value_names = ["BEFORE", "AFTER"], conflicts_with_all = ["before", "after", "series"])]
    runs: Vec<PathBuf>,
    /// Several runs before the change.
    #[arg(long, num_args = 1.., value_name = "RUN", requires = "after")]
    before: Vec<PathBuf>,
    /// Several runs after the change.
    #[arg(long, num_args = 1.., value_name = "RUN", requires = "before")]
    after: Vec<PathBuf>,
    /// Runs of the same work with more and more processes; or a directory of runs, of several versions as well.
    #[arg(long, num_args = 1.., value_name = "RUN", conflicts_with_all = ["before", "after", "junit"])]
    series: Vec<PathBuf>,
    /// Metrics to compare besides time; all waits by default.
    #[arg(long, value_name = "METRIC", value_delimiter = ',')]
    metric: Vec<String>,
    /// Least change that counts, as a part of the run: a fraction such as 0.02 or 2%.
    #[arg(long, default_value = "2%", value_parser = share)]
    threshold: f64,
    /// Exit with 1, too, if a call path takes longer by more than the threshold and chance although the runs do not.
    #[arg(long)]
    paths: bool,
    /// Largest number of call paths to show.
    #[arg(long, default_value_t = 20, value_name = "N")]
    top: usize,
    /// Print Markdown.
    #[arg(long, group = "style")]
    markdown: bool,
    /// Print JSON.
    #[arg(long, group = "style")]
    json: bool,
    /// Print JUnit XML: one test for the length of the run and one for each metric.
    #[arg(long, group = "style")]
    junit: bool,
}

/// Parses a fraction: `0.05` or `5%`.
fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(percent) => (percent, 0.01),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value * scale),
        _ => Err("expected a fraction such as 0.05 or 5%".into()),
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if !args.series.is_empty() {
        if let [directory] = args.series.as_slice() {
            return many(directory, args);
        }
        let series = dwell_report::series(&open_all(&args.series)?, args.threshold)?;
        match (args.json, args.markdown) {
            (true, _) => terminal::print_json(&scaling::document(&series))?,
            (_, true) => terminal::print(scaling::markdown(&series))?,
            _ => terminal::print(scaling::text(&series, args.threshold, args.top))?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (before, after) = match (args.runs.as_slice(), args.before.is_empty()) {
        ([before, after], _) => (open_all([before])?, open_all([after])?),
        (_, false) => (open_all(&args.before)?, open_all(&args.after)?),
        _ => bail!("name two runs, or sets of runs: --before A1 A2 A3 --after B1 B2 B3"),
    };
    let metrics = metrics(args, &before, &after)?;
    let comparison = dwell_report::compare(&before, &after, &metrics, args.threshold)?;
    let fails = comparison.is_slower() || args.paths && comparison.worse().next().is_some();
    if args.json {
        terminal::print_json(&document::of(&comparison, fails, &before, &after))?;
    } else if args.markdown {
        terminal::print(text::markdown(&comparison, fails, args.top))?;
    } else if args.junit {
        terminal::print(document::junit(&comparison, fails))?;
    } else {
        let firsts = [before.first(), after.first()];
        terminal::print(text::text(&comparison, fails, firsts, args.top))?;
    }
    Ok(ExitCode::from(u8::from(fails)))
}

/// Prints what the runs in a directory say together.
fn many(directory: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    if !many::is_directory(directory) {
        bail!("{}: not a directory of runs; name two runs or more", directory.display());
    }
    let runs = many::read(directory, args.threshold)?;
    many::report_damage(&runs);
    match (args.json, args.markdown) {
        (true, _) => terminal::print_json(&history::document(&runs))?,
        (_, true) => terminal::print(history::markdown(&runs))?,
        _ => terminal::print(history::text(&runs, args.threshold, args.top))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Compares two sets of runs by time and all waits, and returns the document that `--json` prints.
pub(super) fn as_json(
    before: impl IntoIterator<Item = impl AsRef<Path>>,
    after: impl IntoIterator<Item = impl AsRef<Path>>,
) -> anyhow::Result<serde_json::Value> {
    let (before, after) = (open_all(before)?, open_all(after)?);
    let mut metrics = vec!["time".to_owned()];
    metrics.extend(waits(before.iter().chain(&after)));
    let comparison = dwell_report::compare(&before, &after, &metrics, dwell_report::THRESHOLD)?;
    let fails = comparison.is_slower();
    Ok(serde_json::to_value(document::of(&comparison, fails, &before, &after))?)
}

fn open_all(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> anyhow::Result<Vec<Run>> {
    let open = |path: &Path| {
        let name = path
            .file_name()
            .map_or_else(|| path.display().to_string(), |it| it.to_string_lossy().into_owned());
        let found = ready::report(path)?;
        damage::report_findings(&found);
        let run = Run::open(name, &found).with_context(|| found.display().to_string())?;
        // Efficiencies come from the findings.
        damage::report(damage::lost_findings(&found, &run.query));
        Ok(run)
    };
    paths.into_iter().map(|path| open(path.as_ref())).collect()
}

/// Returns the metrics to compare: time, and those that were named or all waits.
fn metrics(args: &Args, before: &[Run], after: &[Run]) -> anyhow::Result<Vec<String>> {
    let mut names = vec!["time".to_owned()];
    if args.metric.is_empty() {
        names.extend(waits(before.iter().chain(after)));
        return Ok(names);
    }
    for name in &args.metric {
        let mut all = before.iter().chain(after);
        if all.all(|run| run.query.meta().find_metric(name).is_none()) {
            bail!("no report has a metric `{name}`; dwell report --metrics lists them");
        }
    }
    names.extend(args.metric.iter().filter(|it| *it != "time").cloned());
    Ok(names)
}

/// Returns the metrics of waits that a run has.
fn waits<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Vec<String> {
    let mut names = Vec::new();
    for run in runs {
        let meta = run.query.meta();
        for metric in meta.metrics().filter_map(|id| meta.metric(id)) {
            let name = metric.uniq_name.to_owned();
            if Wait::of_metric(&name).is_some() && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_are_numbers_or_percent() {
        assert_eq!(share("2%"), Ok(dwell_report::THRESHOLD), "the default of --threshold");
        assert_eq!(share("0.25"), Ok(0.25));
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("0"), Ok(0.0));
        assert!(share("-1").is_err() && share("many").is_err() && share("inf%").is_err());
    }
}
