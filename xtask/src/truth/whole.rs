//! Comparison of what a program knows about its whole run with what Dwell says in the head and as the first cause.
//!
//! A program may know the process that its waits go back to, or that no trace of calls can tell. The first cause must be
//! that process; where it cannot be known, no process may be named for a notable part of the waits. A program whose
//! processes only work, call and spin also knows its parallel efficiency: the part of the time in which they work.

use serde_json::Value;

use super::judge::{Found, Key, Row, Truth, Verdict, process};

/// Pattern by which a program names the process that its waits go back to, or -1.
const ROOT: &str = "root";
/// Pattern by which a process states its time in calls and loops that wait, and the time that it ran.
const EFFICIENCY: &str = "efficiency";
/// Difference from the true parallel efficiency that is allowed.
const POINTS: f64 = 0.05;
/// Fraction of all waits from which on a cause that cannot be known must not be named.
const SHARE: f64 = 0.2;

/// Returns `true` if a truth is about the whole run, and `false` for a wait.
pub(super) fn is_whole(truth: &Truth) -> bool {
    [ROOT, EFFICIENCY].contains(&truth.pattern.as_str())
}

/// Judges what a program knows about its whole run, in which it waited for `waits` seconds.
pub(super) fn rows(known: &[&Truth], waits: f64, findings: &Value) -> Vec<Row> {
    let of = |pattern: &str| -> Vec<&Truth> {
        known.iter().copied().filter(|it| it.pattern == pattern).collect()
    };
    let root = of(ROOT).first().map(|it| root(it, waits, findings));
    root.into_iter().chain(efficiency(&of(EFFICIENCY), findings)).collect()
}

fn key(truth: &Truth) -> Key {
    Key { line: 0, pattern: truth.pattern.clone(), mode: truth.mode.clone() }
}

fn root(truth: &Truth, waits: f64, findings: &Value) -> Row {
    let cause = &findings["causes"][0];
    let cost = cause["seconds"].as_f64().unwrap_or(0.0);
    let targets: Vec<(i64, f64)> = cause["processes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| Some((process(it["who"].as_str()?)?, it["seconds"].as_f64()?)))
        .collect();
    let is_known = truth.culprit >= 0;
    let verdict = match targets.first() {
        None if is_known => Verdict::Missed,
        Some(&(who, _)) if is_known && who != truth.culprit => Verdict::WrongCulprit,
        Some(&(_, seconds)) if !is_known && seconds > SHARE * waits => Verdict::WrongCulprit,
        _ => Verdict::Passes,
    };
    let found = Found { low: cost, high: cost, targets, ..Found::default() };
    let culprits = if is_known { vec![(truth.culprit, waits)] } else { Vec::new() };
    Row { key: key(truth), verdict, truth: waits, found, culprits }
}

fn efficiency(known: &[&Truth], findings: &Value) -> Option<Row> {
    let first = known.first()?;
    let in_calls: f64 = known.iter().map(|it| it.seconds).sum();
    let time: f64 = known.iter().map(|it| it.length).sum();
    let found = 1.0 - findings["efficiency"]["parallel"].as_f64().unwrap_or(1.0);
    let verdict = match found - in_calls / time {
        difference if difference > POINTS => Verdict::BelowBounds,
        difference if difference < -POINTS => Verdict::AboveBounds,
        _ => Verdict::Passes,
    };
    let found = Found { low: found * time, high: found * time, ..Found::default() };
    Some(Row { key: key(first), verdict, truth: in_calls, found, culprits: Vec::new() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::judge::truth;
    use super::*;

    fn verdict(line: &str) -> Verdict {
        let truth = truth(line).expect("a truth");
        let findings = json!({
            "efficiency": {"parallel": 0.4},
            "causes": [{"seconds": 0.5, "processes": [{"who": "PE 2", "seconds": 0.5}]}],
        });
        let rows = rows(&[&truth], 1.0, &findings);
        rows.first().expect("a row").verdict
    }

    #[test]
    fn the_first_cause_has_to_be_the_root() {
        assert_eq!(verdict("m root 0 0 2 0 0"), Verdict::Passes);
        assert_eq!(verdict("m root 0 0 1 0 0"), Verdict::WrongCulprit);
        assert_eq!(verdict("m root 0 0 -1 0 0"), Verdict::WrongCulprit);
    }

    #[test]
    fn the_efficiency_may_be_wrong_by_five_points() {
        assert_eq!(verdict("m efficiency 0 0 -1 600 1000"), Verdict::Passes);
        assert_eq!(verdict("m efficiency 0 0 -1 640 1000"), Verdict::Passes);
        assert_eq!(verdict("m efficiency 0 0 -1 660 1000"), Verdict::AboveBounds);
        assert_eq!(verdict("m efficiency 0 0 -1 540 1000"), Verdict::BelowBounds);
    }
}
