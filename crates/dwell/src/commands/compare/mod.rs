//! `dwell compare`: two runs, for people and for continuous integration.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use dwell_model::waits::Wait;
use dwell_report::{Change, Comparison, Difference, Query};

use crate::commands::report;
use crate::format;
use crate::listing::{self, Cell, Listing, Style, Unit};
use crate::terminal::{self, line, visible};

/// Arguments of `dwell compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Call paths are matched by the names of their regions and compared by their exclusive values. A call path is \
worse if its time has grown by more than --threshold of its old value and by more than --least of the whole \
time.

Exit code: 0 if nothing is worse, 1 if something is, 2 if the reports cannot be compared.

Example: dwell compare before after --threshold 10% --junit > dwell.xml")]
pub(crate) struct Args {
    /// The first report: a `.cubex` file, or a directory that contains one.
    before: PathBuf,
    /// The second report, given like the first.
    after: PathBuf,
    /// Metrics to compare; time and its waits by default.
    #[arg(long, value_name = "METRIC", value_delimiter = ',')]
    metric: Vec<String>,
    /// Relative increase in time above which a call path counts as worse: a fraction such as 0.05 or 5%.
    #[arg(long, default_value = "5%", value_parser = share)]
    threshold: f64,
    /// Ignore increases below this share of the total time.
    #[arg(long, default_value = "0.1%", value_parser = share)]
    least: f64,
    /// Largest number of differences to show.
    #[arg(long, default_value_t = 20, value_name = "N")]
    top: usize,
    /// Print a Markdown table.
    #[arg(long, group = "style")]
    markdown: bool,
    /// Print JSON.
    #[arg(long, group = "style")]
    json: bool,
    /// Print JUnit XML: one test for each metric, which fails if a call path is worse.
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
    let before = Query::open(report::find(&args.before)?)?;
    let after = Query::open(report::find(&args.after)?)?;
    let metrics = metrics(args, &before, &after)?;
    let comparison = dwell_report::compare(&before, &after, &metrics)?;
    let worse: Vec<&Difference> = comparison.worse(args.threshold, args.least).collect();
    if args.json {
        listing::print(&listings(&comparison, &worse, usize::MAX), Style::Json, 0)?;
    } else if args.markdown {
        terminal::print(markdown(&comparison, &worse, args.top))?;
    } else if args.junit {
        terminal::print(junit(&comparison, &worse))?;
    } else if comparison.is_empty() {
        line!("no difference")?;
    } else {
        listing::print(&listings(&comparison, &worse, args.top), Style::Text, listing::width())?;
    }
    Ok(if worse.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Returns the metrics to compare: those that were named, or time and its waits.
fn metrics(args: &Args, before: &Query, after: &Query) -> anyhow::Result<Vec<String>> {
    for name in &args.metric {
        if before.meta().find_metric(name).is_none() && after.meta().find_metric(name).is_none() {
            bail!("neither report has a metric `{name}`; dwell report --metrics lists them");
        }
    }
    if !args.metric.is_empty() {
        return Ok(args.metric.clone());
    }
    let mut names = vec!["time".to_owned()];
    for query in [before, after] {
        for metric in query.meta().metrics().filter_map(|id| query.meta().metric(id)) {
            let name = metric.uniq_name.to_owned();
            if Wait::of_metric(&name).is_some() && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    Ok(names)
}

fn word(difference: &Difference, worse: &[&Difference]) -> &'static str {
    match difference.change {
        _ if worse.contains(&difference) => "worse",
        Change::New => "new",
        Change::Gone => "gone",
        Change::More => "more",
        Change::Less => "less",
    }
}

fn listings(comparison: &Comparison, worse: &[&Difference], top: usize) -> Vec<Listing> {
    let totals = comparison
        .totals
        .iter()
        .filter(|total| total.2 != 0.0 || total.3 != 0.0)
        .map(|(name, uom, before, after)| {
            let unit = Unit::of(uom);
            let change = if *before == 0.0 { f64::INFINITY } else { after / before - 1.0 };
            vec![
                Cell::Value(*before, unit),
                Cell::Value(*after, unit),
                Cell::Share(if before == after { 0.0 } else { change }),
                name.as_str().into(),
            ]
        })
        .collect();
    let totals = Listing {
        key: "totals",
        title: "The whole".into(),
        columns: vec!["before", "after", "change", "metric"],
        rows: totals,
        ..Listing::default()
    };
    let ranked = ranked(comparison, worse);
    let rows = ranked
        .iter()
        .take(top)
        .map(|difference| {
            let unit = Unit::of(&difference.unit);
            vec![
                word(difference, worse).into(),
                Cell::Value(difference.delta(), unit),
                Cell::Share(difference.relative()),
                Cell::Value(difference.before, unit),
                Cell::Value(difference.after, unit),
                difference.metric.as_str().into(),
                difference.path.as_str().into(),
            ]
        })
        .collect();
    let more = ranked.len().saturating_sub(top);
    let note = match (worse.len(), more) {
        (0, 0) => "Nothing is worse.".into(),
        (0, more) => format!("Nothing is worse; {more} more differences, --top shows them."),
        (worse, 0) => format!("{worse} worse."),
        (worse, more) => format!("{worse} worse; {more} more differences, --top shows them."),
    };
    let differences = Listing {
        key: "differences",
        title: "Call paths that differ".into(),
        columns: vec!["", "difference", "relative", "before", "after", "metric", "call_path"],
        rows,
        note,
        ..Listing::default()
    };
    vec![totals, differences]
}

/// Returns the differences to show: call paths that got worse first, then by the size of the difference.
fn ranked<'c>(comparison: &'c Comparison, worse: &[&Difference]) -> Vec<&'c Difference> {
    let mut all: Vec<&Difference> = comparison.differences.iter().collect();
    all.sort_by(|a, b| {
        let key = |d: &Difference| worse.contains(&d);
        key(b).cmp(&key(a)).then(b.delta().abs().total_cmp(&a.delta().abs()))
    });
    all
}

fn markdown(comparison: &Comparison, worse: &[&Difference], top: usize) -> String {
    if comparison.is_empty() {
        return "No difference.\n".into();
    }
    let mut text = "| | difference | relative | before | after | metric | call path |\n\
                    |---|---:|---:|---:|---:|---|---|\n"
        .to_owned();
    for difference in ranked(comparison, worse).into_iter().take(top) {
        let value = |value: f64| match Unit::of(&difference.unit) {
            Unit::Seconds => format::seconds(value),
            Unit::Bytes => format::bytes(value),
            Unit::Other => format::number(value),
        };
        let relative = change(difference.relative());
        let _ = writeln!(
            text,
            "| {} | {} | {relative} | {} | {} | {} | `{}` |",
            word(difference, worse),
            value(difference.delta()),
            value(difference.before),
            value(difference.after),
            visible(&difference.metric),
            visible(&difference.path).replace('|', "\\|")
        );
    }
    text
}

/// Writes a relative difference in percent, with its sign.
fn change(relative: f64) -> String {
    let sign = if relative > 0.0 && relative.is_finite() { "+" } else { "" };
    format!("{sign}{}", format::percent(relative))
}

/// Returns JUnit XML with a test for each metric, so that a build server shows which metric got worse.
fn junit(comparison: &Comparison, worse: &[&Difference]) -> String {
    let escape = |text: &str| {
        visible(text)
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
    };
    let of = |metric: &str| worse.iter().filter(move |d| d.metric == metric).collect::<Vec<_>>();
    let failures = comparison.totals.iter().filter(|total| !of(&total.0).is_empty()).count();
    let tests = comparison.totals.len();
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<testsuite name=\"dwell compare\" tests=\"{tests}\" failures=\"{failures}\">"
    );
    for (metric, ..) in &comparison.totals {
        let name = escape(metric);
        let found = of(metric);
        if found.is_empty() {
            let _ = writeln!(text, "  <testcase classname=\"dwell\" name=\"{name}\"/>");
            continue;
        }
        let _ = writeln!(text, "  <testcase classname=\"dwell\" name=\"{name}\">");
        let _ = writeln!(text, "    <failure message=\"{} call paths are worse\">", found.len());
        for difference in found {
            let (path, by) = (escape(&difference.path), change(difference.relative()));
            let _ = writeln!(text, "{path}: {} to {} ({by})", difference.before, difference.after);
        }
        let _ = writeln!(text, "    </failure>\n  </testcase>");
    }
    text.push_str("</testsuite>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::{change, share};

    #[test]
    fn changes_have_a_sign_unless_they_are_new() {
        assert_eq!(change(0.25), "+25.0 %");
        assert_eq!(change(-0.5), "-50.0 %");
        assert_eq!(change(0.0), "0.0 %");
        assert_eq!(change(f64::INFINITY), "new");
    }

    #[test]
    fn shares_are_numbers_or_percent() {
        assert_eq!(share("0.25"), Ok(0.25));
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("0"), Ok(0.0));
        assert!(share("-1").is_err() && share("many").is_err() && share("inf%").is_err());
    }
}
