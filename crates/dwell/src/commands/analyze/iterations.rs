//! Iterations of a run: their part of `findings.json`, and of the text for a terminal.

use dwell_analyze::{
    Analysis, IterationChange, IterationChangeKind, IterationTimes, ProcessNumber,
};
use dwell_model::units::{grouped, seconds};
use dwell_report::findings::{self, Iterations};

use super::json;
use crate::page::Page;
use crate::terminal::visible;

/// Greatest number of elements in the list of times.
const MOST_TIMES: usize = 256;

/// Greatest number of rows in the table for a terminal.
const ROWS: usize = 8;

/// Returns the part of the document, or `None` if the run has no iterations.
pub(super) fn document(analysis: &Analysis) -> Option<Iterations> {
    let found = analysis.iterations()?;
    let size = found.times.len().div_ceil(MOST_TIMES).max(1);
    let group = found.group * size as u64;
    let names: Vec<&str> = analysis.process_names().map(|it| it.1).collect();
    let name = |it: ProcessNumber| names.get(it.0 as usize).map(|it| (*it).to_owned());
    let times = |(at, some): (usize, &[IterationTimes])| {
        let first = at as u64 * group;
        let iterations = (found.count - first).min(group);
        let all = (iterations * analysis.processes() as u64).max(1) as f64;
        let sum = |of: fn(&IterationTimes) -> u64| some.iter().map(of).sum::<u64>() as f64 * 1e-9;
        let longest = some.iter().max_by_key(|it| it.longest.0);
        let begin = some.first().map_or(0, |it| it.begin);
        findings::IterationTimes {
            begin_seconds: begin as f64 * 1e-9,
            computing_seconds: sum(|it| it.computing) / all,
            first: first + 1,
            longest_computing_seconds: sum(|it| it.longest.0) / iterations.max(1) as f64,
            longest_who: longest.and_then(|it| name(it.longest.1)),
            seconds: sum(|it| it.length) / all,
            waits_seconds: sum(|it| it.waiting) / all,
        }
    };
    let change = |it: &IterationChange| {
        let computing = it.computing.map_or((0.0, 0.0), |it| it.nanoseconds);
        findings::IterationChange {
            computing: it.computing.is_some(),
            computing_seconds: computing.1 * 1e-9,
            every: it.every,
            iteration: it.iteration,
            iterations: it.iterations,
            kind: match it.kind {
                IterationChangeKind::Step => findings::IterationChangeKind::Step,
                IterationChangeKind::Drift => findings::IterationChangeKind::Drift,
                IterationChangeKind::Outliers => findings::IterationChangeKind::Outliers,
            },
            seconds: it.nanoseconds.1 * 1e-9,
            text: String::new(),
            usual_computing_seconds: computing.0 * 1e-9,
            usual_seconds: it.nanoseconds.0 * 1e-9,
            who: it.computing.and_then(|it| it.process).and_then(name),
        }
    };
    Some(Iterations {
        changes: found.changes.iter().map(change).collect(),
        count: found.count,
        ends_with: json::step(&found.ends_with),
        group,
        times: found.times.chunks(size).enumerate().map(times).collect(),
    })
}

/// Adds what changes over the iterations, and their times in a few rows.
pub(super) fn section(page: &mut Page, iterations: Option<&Iterations>) {
    let Some(it) = iterations else { return };
    page.end();
    let end = it.ends_with.short();
    page.heading(&visible(&format!("{} iterations, which end with {end}", grouped(it.count))), 2);
    for change in &it.changes {
        page.item(&visible(&change.text));
    }
    if it.changes.is_empty() {
        page.item("all take about as long as each other");
    }
    page.line(&format!(
        "  {:>12} {:>9} {:>9} {:>9} {:>9}  {}",
        "from", "length", "waits", "computing", "longest", "of"
    ));
    for some in it.times.chunks(it.times.len().div_ceil(ROWS).max(1)) {
        let mean = |of: fn(&findings::IterationTimes) -> f64| {
            seconds(some.iter().map(of).sum::<f64>() / some.len() as f64)
        };
        let longest = some
            .iter()
            .max_by(|a, b| a.longest_computing_seconds.total_cmp(&b.longest_computing_seconds));
        page.line(&visible(&format!(
            "  {:>12} {:>9} {:>9} {:>9} {:>9}  {}",
            some.first().map_or(String::new(), |it| grouped(it.first)),
            mean(|it| it.seconds),
            mean(|it| it.waits_seconds),
            mean(|it| it.computing_seconds),
            mean(|it| it.longest_computing_seconds),
            longest.and_then(|it| it.longest_who.clone()).unwrap_or_default()
        )));
    }
}
