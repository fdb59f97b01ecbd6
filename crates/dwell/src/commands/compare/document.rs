//! A comparison as JSON and as JUnit XML.
//!
//! The XML has three elements and is written here: the crate quick-junit would bring its own XML library, UUIDs and
//! dates for it.

use std::fmt::Write as _;

use dwell_report::{Comparison, Difference, Efficiencies, Judgement, Run};
use serde::Serialize;

use super::text::{resolution, value, verdict, word};
use crate::format;
use crate::terminal::visible;

/// Version of the format. A field that is added needs no new version.
const VERSION: u32 = 1;

/// A comparison. Times are in seconds, without start-up and shutdown; shares are parts of 1.
#[derive(Serialize)]
pub(super) struct Document<'c> {
    version: u32,
    verdict: &'static str,
    summary: String,
    /// True if the sets differ in their processes: other times than lengths are then those of each process.
    per_process: bool,
    /// Change of the length, as a part of the length before.
    change: f64,
    threshold: f64,
    /// Least slowdown that such runs show in 19 of 20 cases.
    resolution: f64,
    before: Set<'c>,
    after: Set<'c>,
    totals: Vec<Total<'c>>,
    /// Iterations of the first runs of both sets; null if they have none or cannot be compared by them.
    iterations: Option<Iterations<'c>>,
    /// Functions whose processor time differs by more than their margins; empty if a run has no samples.
    functions: Vec<Function<'c>>,
    differences: Vec<Row<'c>>,
}

#[derive(Serialize)]
struct Set<'c> {
    runs: Vec<&'c str>,
    processes: Vec<usize>,
    lengths_seconds: Vec<f64>,
    length_seconds: f64,
    /// Waits over all locations, or of each process if the runs differ in their processes.
    waits_seconds: f64,
    efficiency: Option<Efficiency>,
}

#[derive(Serialize)]
pub(super) struct Efficiency {
    parallel: f64,
    load_balance: f64,
    communication: f64,
    serialisation: Option<f64>,
    progress: Option<f64>,
    transfer: Option<f64>,
}

impl From<Efficiencies> for Efficiency {
    fn from(it: Efficiencies) -> Self {
        let factor = |at: usize| it.factors.and_then(|list| list.get(at).copied());
        Self {
            parallel: it.parallel,
            load_balance: it.load_balance,
            communication: it.communication,
            serialisation: factor(0),
            progress: factor(1),
            transfer: factor(2),
        }
    }
}

#[derive(Serialize)]
struct Total<'c> {
    metric: &'c str,
    title: &'c str,
    unit: &'c str,
    before: f64,
    after: f64,
}

/// Iterations of both runs from one of them on, or all if `from` is null.
#[derive(Serialize)]
struct Iterations<'c> {
    count: u64,
    from: Option<u64>,
    before_seconds: f64,
    after_seconds: f64,
    text: &'c str,
}

/// Processor time of a function in both sets, over all locations or of each process.
#[derive(Serialize)]
struct Function<'c> {
    function: &'c str,
    before_seconds: f64,
    after_seconds: f64,
    /// By how much the difference may be wrong.
    margin_seconds: f64,
    share_of_run: f64,
    /// True if the difference is more than chance and the threshold.
    changed: bool,
}

#[derive(Serialize)]
struct Row<'c> {
    change: &'static str,
    metric: &'c str,
    title: &'c str,
    unit: &'c str,
    call_path: &'c str,
    /// Ids of the findings about the call path.
    finding_before: Option<u32>,
    finding_after: Option<u32>,
    before: Option<f64>,
    after: Option<f64>,
    share_of_run: Option<f64>,
}

/// Returns a comparison for programs.
pub(super) fn of<'c>(
    comparison: &'c Comparison,
    fails: bool,
    before: &'c [Run],
    after: &'c [Run],
) -> Document<'c> {
    let set = |runs: &'c [Run], at: usize| Set {
        runs: runs.iter().map(|run| run.name.as_str()).collect(),
        processes: runs.iter().map(Run::processes).collect(),
        lengths_seconds: runs.iter().map(Run::length).collect(),
        length_seconds: comparison.lengths.get(at).copied().unwrap_or(0.0),
        waits_seconds: comparison.waits.get(at).copied().unwrap_or(0.0),
        efficiency: comparison.efficiencies.get(at).copied().flatten().map(Efficiency::from),
    };
    let row = |it: &'c Difference| Row {
        change: word(comparison, fails, it),
        metric: &it.metric,
        title: &it.title,
        unit: &it.unit,
        call_path: &it.path,
        finding_before: it.findings[0],
        finding_after: it.findings[1],
        before: it.before,
        after: it.after,
        share_of_run: it.share,
    };
    let total = |it: &'c dwell_report::Total| {
        let [before, after] = it.values;
        Total { metric: &it.metric, title: &it.title, unit: &it.unit, before, after }
    };
    let iterations = |it: &'c dwell_report::IterationsBeside| {
        let [before_seconds, after_seconds] = it.seconds;
        let (count, from) = (it.count, it.from);
        Iterations { count, from, before_seconds, after_seconds, text: &it.text }
    };
    let function = |it: &'c dwell_report::FunctionBeside| {
        let [before_seconds, after_seconds] = it.seconds;
        Function {
            function: &it.place,
            before_seconds,
            after_seconds,
            margin_seconds: it.margin,
            share_of_run: it.share,
            changed: matches!(it.judgement, Judgement::More | Judgement::Less),
        }
    };
    Document {
        version: VERSION,
        verdict: match comparison.judgement {
            Judgement::More => "slower",
            Judgement::Less => "faster",
            Judgement::Same | Judgement::Unjudged => "same",
        },
        summary: verdict(comparison),
        per_process: comparison.per_process,
        change: comparison.change(),
        threshold: comparison.threshold,
        resolution: comparison.resolution,
        before: set(before, 0),
        after: set(after, 1),
        totals: comparison.totals.iter().map(total).collect(),
        iterations: comparison.iterations.as_ref().map(iterations),
        functions: comparison.functions.iter().map(function).collect(),
        differences: comparison.differences.iter().map(row).collect(),
    }
}

/// Returns JUnit XML with a test for the length of the run, and one for each metric. Call paths that are worse are a failure
/// of their metric if the comparison fails, and otherwise its output.
pub(super) fn junit(comparison: &Comparison, fails: bool) -> String {
    // Names are made visible where they are put in: the line ends of the rest are wanted.
    let escape = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        text.replace('>', "&gt;").replace('"', "&quot;")
    };
    let of = |metric: &str| -> Vec<&Difference> {
        comparison.worse().filter(|it| it.metric == metric).collect()
    };
    let failed = comparison.totals.iter().filter(|it| fails && !of(&it.metric).is_empty()).count();
    let failures = failed + usize::from(comparison.is_slower());
    let tests = comparison.totals.len() + 1;
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<testsuite name=\"dwell compare\" tests=\"{tests}\" failures=\"{failures}\">"
    );
    let mut case = |name: &str, failure: Option<&str>, output: &str| {
        let name = escape(name);
        let _ = writeln!(text, "  <testcase classname=\"dwell\" name=\"{name}\">");
        match failure {
            Some(message) => {
                let _ = writeln!(
                    text,
                    "    <failure message=\"{}\">\n{}    </failure>",
                    escape(message),
                    escape(output)
                );
            }
            None => {
                let _ = writeln!(text, "    <system-out>\n{}    </system-out>", escape(output));
            }
        }
        let _ = writeln!(text, "  </testcase>");
    };
    let summary = verdict(comparison);
    let about = format!("{summary}\n{}\n", resolution(comparison));
    case("Length of the run", comparison.is_slower().then_some(summary.as_str()), &about);
    for total in &comparison.totals {
        let worse = of(&total.metric);
        let [before, after] = total.values.map(|it| value(it, &total.unit));
        let mut output = format!("{before}, then {after}\n");
        for it in &worse {
            let share = it.share.map_or_else(String::new, format::percent);
            let was = |of: Option<f64>| of.map_or("nothing".into(), |of| value(of, &it.unit));
            let _ = writeln!(
                output,
                "{}: {}, then {}, +{share} of the run",
                visible(&it.path),
                was(it.before),
                was(it.after)
            );
        }
        let message = match worse.len() {
            1 => "a call path is worse".to_owned(),
            count => format!("{count} call paths are worse"),
        };
        case(
            &visible(&total.title),
            (fails && !worse.is_empty()).then_some(message.as_str()),
            &output,
        );
    }
    text.push_str("</testsuite>\n");
    text
}
