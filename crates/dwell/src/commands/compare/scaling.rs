//! Formats a series of runs with more and more processes.

use std::fmt::Write as _;

use dwell_report::{Scaling, Series};
use serde::Serialize;

use super::document::Efficiency;
use crate::format::{self, paragraph};
use crate::listing;
use crate::terminal::visible;

/// A series for programs. Times are in seconds, without start-up and shutdown; shares are parts of 1.
#[derive(Serialize)]
pub(super) struct Document<'s> {
    version: u32,
    runs: Vec<Run<'s>>,
    growing: Vec<Path<'s>>,
}

#[derive(Serialize)]
struct Run<'s> {
    run: &'s str,
    processes: usize,
    length_seconds: f64,
    speedup: f64,
    scaling: f64,
    computation_scaling: Option<f64>,
    efficiency: Option<Efficiency>,
    waiting: f64,
}

#[derive(Serialize)]
struct Path<'s> {
    call_path: &'s str,
    seconds: &'s [f64],
    processes: usize,
    share_of_run: f64,
}

/// Returns a series for programs.
pub(super) fn document(series: &Series) -> Document<'_> {
    let runs = series.runs.iter().map(|it| Run {
        run: &it.name,
        processes: it.processes,
        length_seconds: it.length,
        speedup: it.speedup,
        scaling: it.scaling,
        computation_scaling: it.computation,
        efficiency: it.efficiencies.map(Efficiency::from),
        waiting: it.waiting,
    });
    let growing = series.growing.iter().map(|it| Path {
        call_path: &it.path,
        seconds: &it.seconds,
        processes: processes_at(series, it.first),
        share_of_run: it.share,
    });
    Document { version: 1, runs: runs.collect(), growing: growing.collect() }
}

fn processes_at(series: &Series, at: usize) -> usize {
    series.runs.get(at).map_or(0, |it| it.processes)
}

/// Columns of the table of runs.
const COLUMNS: [&str; 9] = [
    "processes",
    "length",
    "speedup",
    "scaling",
    "parallel",
    "balance",
    "comm.",
    "computing",
    "waits",
];

/// Returns the cells of a run.
fn cells(it: &Scaling) -> [String; COLUMNS.len()] {
    // Sums and differences may leave a little less than nothing.
    let percent = |share: f64| format!("{:.0} %", (100.0 * share).round() + 0.0);
    let of = |value: Option<f64>| value.map_or_else(|| "-".into(), percent);
    let efficiency = it.efficiencies;
    [
        format::grouped(it.processes as u64),
        format::seconds(it.length),
        format!("{:.2}", it.speedup),
        percent(it.scaling),
        of(efficiency.map(|it| it.parallel)),
        of(efficiency.map(|it| it.load_balance)),
        of(efficiency.map(|it| it.communication)),
        of(it.computation),
        percent(it.waiting),
    ]
}

/// Returns a series for a terminal.
pub(super) fn text(series: &Series, threshold: f64, top: usize) -> String {
    let rows: Vec<[String; COLUMNS.len()]> = series.runs.iter().map(cells).collect();
    let mut text = String::new();
    let mut line = |cells: &dyn Fn(usize) -> String| {
        let mut row = String::new();
        for (at, name) in COLUMNS.iter().enumerate() {
            let all = rows.iter().filter_map(|row| row.get(at)).map(|it| it.chars().count());
            let width = all.chain([name.len()]).max().unwrap_or(0);
            let _ = write!(row, "{:>width$}  ", cells(at));
        }
        let _ = writeln!(text, "{}", row.trim_end());
    };
    line(&|at| COLUMNS.get(at).copied().unwrap_or_default().to_owned());
    for row in &rows {
        line(&|at| row.get(at).cloned().unwrap_or_default());
    }
    let width = listing::width();
    let mut say = |words: &str, indent: usize| {
        let first = indent.saturating_sub(2);
        paragraph(&mut text, width, (first, indent), words);
    };
    say("", 0);
    say(
        "scaling is the speedup as a part of what the processes promise; parallel efficiency is load balance times \
         communication efficiency; computing is how much less time the work itself took in the first run",
        2,
    );
    for it in series.growing.iter().take(top) {
        say("", 0);
        let processes = processes_at(series, it.first);
        let share = format::percent(it.share);
        say(&format!("stops scaling at {processes} processes: +{share} of the last run"), 2);
        say(&format!("{}", visible(&it.path)), 4);
        let times: Vec<String> = it.seconds.iter().map(|it| format::seconds(*it)).collect();
        say(&format!("over all locations {}", times.join(", ")), 4);
    }
    if series.growing.is_empty() {
        say("", 0);
        let least = format::percent(threshold);
        say(&format!("every call path scales: none grows by more than {least} of the run"), 2);
    }
    text
}

/// Returns a series as Markdown.
pub(super) fn markdown(series: &Series) -> String {
    let mut text = format!("| {} |\n|{}\n", COLUMNS.join(" | "), "---:|".repeat(COLUMNS.len()));
    for run in &series.runs {
        let _ = writeln!(text, "| {} |", cells(run).join(" | "));
    }
    for it in &series.growing {
        let processes = processes_at(series, it.first);
        let _ = writeln!(text, "\n`{}` stops scaling at {processes} processes.", visible(&it.path));
    }
    text
}
