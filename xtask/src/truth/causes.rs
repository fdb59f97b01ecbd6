//! Comparison of a delay that a program injects with the first cause that Dwell lists.
//!
//! One process is late; others wait for it, and make others wait in turn. The program knows what its delays cost all of
//! them together, and how much of that is waits for others than the process that was late. The first cause of
//! `findings.json` must be this process, what it did, and the line of the call after its delay, or of the call that was
//! slow. Both costs must be right within [`PART`]. A run has one mode, because causes are ordered over the whole run.

use serde_json::Value;

use super::judge::{Found, Key, Row, Truth, Verdict, process};

/// Fraction of the true cost by which a cost may be wrong.
const PART: f64 = 0.2;

/// Beginning of the pattern by which programs say that this is a cause; what the process did follows.
const CAUSE: &str = "cause:";

/// Returns `true` for a cause, and `false` for a wait.
pub(super) fn is_cause(truth: &Truth) -> bool {
    truth.pattern.starts_with(CAUSE)
}

/// Judges the first cause. Returns `None` if the program knows of no cause.
pub(super) fn row(known: &[&Truth], findings: &Value) -> Option<Row> {
    let first = known.first()?;
    let truth = known.iter().map(|it| it.seconds).sum();
    let passed_on = known.iter().map(|it| it.length).sum();
    let cause = &findings["causes"][0];
    let cost = cause["seconds"].as_f64().unwrap_or(0.0);
    let targets = cause["processes"].as_array().into_iter().flatten();
    let targets: Vec<(i64, f64)> = targets
        .filter_map(|it| Some((process(it["who"].as_str()?)?, it["seconds"].as_f64()?)))
        .collect();
    let verdict = verdict(first, truth, passed_on, cause, &targets);
    let key = Key { line: first.line, pattern: first.pattern.clone(), mode: first.mode.clone() };
    let found = Found { low: cost, high: cost, targets, ..Found::default() };
    Some(Row { key, verdict, truth, found, culprits: vec![(first.culprit, truth)] })
}

fn verdict(
    first: &Truth,
    truth: f64,
    passed_on: f64,
    cause: &Value,
    processes: &[(i64, f64)],
) -> Verdict {
    let Some(&(culprit, _)) = processes.first() else { return Verdict::Missed };
    if culprit != first.culprit {
        return Verdict::WrongCulprit;
    }
    let what = cause["what"].as_str().unwrap_or("");
    if first.pattern.strip_prefix(CAUSE) != Some(what) {
        return Verdict::WrongPattern;
    }
    let step = match what {
        "computing" => Some(&cause["before"]),
        _ => cause["path"].as_array().and_then(|path| path.last()),
    };
    if step.and_then(|step| step["line"].as_u64()) != Some(first.line) {
        return Verdict::WrongLine;
    }
    let number = |key: &str| cause[key].as_f64().unwrap_or(0.0);
    if number("seconds") < (1.0 - PART) * truth {
        return Verdict::AboveBounds;
    }
    if number("seconds") > (1.0 + PART) * truth {
        return Verdict::BelowBounds;
    }
    if number("seconds") - number("direct_seconds") < (1.0 - PART) * passed_on {
        return Verdict::NotPassedOn;
    }
    Verdict::Passes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::judge::truth;
    use super::*;

    /// Returns the verdict on a cause of `seconds`, of which `direct` are direct, for a delay of 100 ms that costs 300 ms.
    fn judged(line: &str, seconds: f64, direct: f64) -> Option<Verdict> {
        let truth = truth(line).expect("a truth");
        let cause = json!({
            "what": "computing", "seconds": seconds, "direct_seconds": direct, "before": {"line": 7},
            "path": [{"line": 3}], "processes": [{"who": "Rank 2", "seconds": seconds}],
        });
        let row = row(&[&truth], &json!({ "causes": [cause] }));
        row.map(|row| row.verdict)
    }

    const LINE: &str = "m cause:computing 7 2 2 300000000 200000000";

    #[test]
    fn cost_and_passed_on_part_have_to_be_right() {
        assert_eq!(judged(LINE, 0.3, 0.1), Some(Verdict::Passes));
        assert_eq!(judged(LINE, 0.23, 0.1), Some(Verdict::AboveBounds));
        assert_eq!(judged(LINE, 0.37, 0.1), Some(Verdict::BelowBounds));
        assert_eq!(judged(LINE, 0.3, 0.15), Some(Verdict::NotPassedOn));
    }

    #[test]
    fn process_activity_and_line_have_to_be_right() {
        let one = |line: &str| judged(line, 0.3, 0.1);
        let wrong = [
            ("m cause:computing 7 1 1 300000000 200000000", Verdict::WrongCulprit),
            ("m cause:call 3 2 2 300000000 200000000", Verdict::WrongPattern),
            ("m cause:computing 3 2 2 300000000 200000000", Verdict::WrongLine),
        ];
        for (line, verdict) in wrong {
            assert_eq!(one(line), Some(verdict), "{line}");
        }
    }

    #[test]
    fn a_run_without_causes_misses_it() {
        let truth = truth(LINE).expect("a truth");
        let row = row(&[&truth], &json!({ "causes": [] }));
        assert_eq!(row.map(|row| row.verdict), Some(Verdict::Missed));
    }
}
