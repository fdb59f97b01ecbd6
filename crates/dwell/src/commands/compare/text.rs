//! Formats a comparison for a terminal and as Markdown.

use std::fmt::Write as _;

use dwell_report::findings::Point;
use dwell_report::{Comparison, Difference, Efficiencies, FunctionBeside, Judgement, Run};

use crate::format::{self, paragraph};
use crate::listing::{self, Unit};
use crate::terminal::visible;

/// Greatest number of functions that are listed.
const FUNCTIONS: usize = 3;

/// Returns the sentence that sums a comparison up, such as `51.0 % shorter: 3.37 s, then 1.65 s`.
pub(super) fn verdict(comparison: &Comparison) -> String {
    let verdict = dwell_report::verdict(comparison.lengths, comparison.judgement);
    format!("{verdict}, without start-up and shutdown")
}

/// Returns the sentence about what such runs can show.
pub(super) fn resolution(comparison: &Comparison) -> String {
    let runs = |count: usize| match count {
        1 => "1 run".into(),
        count => format!("{count} runs"),
    };
    let [before, after] = comparison.counts.map(runs);
    let least = format::percent(comparison.resolution);
    match comparison.counts.iter().any(|it| *it < 3) {
        true => format!(
            "{before} before and {after} after: differences up to {least} of the run count as chance; three runs \
             or more on both sides would show their spread"
        ),
        false => format!(
            "{before} before and {after} after: a slowdown of {least} would be found in 19 of 20 such comparisons"
        ),
    }
}

/// Returns the efficiencies before and after.
fn efficiencies([before, after]: &[Option<Efficiencies>; 2]) -> Option<String> {
    let (before, after) = ((*before)?, (*after)?);
    let both = |of: &dyn Fn(&Efficiencies) -> f64| {
        format!("{:.0} %, then {:.0} %", 100.0 * of(&before), 100.0 * of(&after))
    };
    let mut text = format!(
        "parallel efficiency {}; load balance {}; communication efficiency {}",
        both(&|it| it.parallel),
        both(&|it| it.load_balance),
        both(&|it| it.communication)
    );
    if let (Some(a), Some(b)) = (before.factors, after.factors) {
        for ((name, a), b) in ["serialisation", "progress", "transfer"].iter().zip(a).zip(b) {
            let _ = write!(text, "; {name} {:.0} %, then {:.0} %", 100.0 * a, 100.0 * b);
        }
    }
    Some(text)
}

/// Writes a value in its unit.
pub(super) fn value(value: f64, unit: &str) -> String {
    match Unit::of(unit) {
        Unit::Seconds => format::seconds(value),
        Unit::Bytes => format::bytes(value),
        Unit::Other => format::number(value),
    }
}

/// Writes a change with its sign.
fn signed(text: String, of: f64) -> String {
    if of > 0.0 { format!("+{text}") } else { text }
}

/// Returns a word for a difference. Where the runs do not differ beyond chance and the comparison does not fail, it is
/// neither better nor worse: among many call paths, some differ by more than chance allows for one.
pub(super) fn word(comparison: &Comparison, fails: bool, difference: &Difference) -> &'static str {
    let is_judged = fails || comparison.judgement != Judgement::Same;
    match (difference.judgement, difference.before, difference.after) {
        (Judgement::More, ..) if is_judged => "worse",
        (Judgement::Less, ..) if is_judged => "better",
        (_, None, _) => "new",
        (_, _, None) => "gone",
        _ if difference.delta() > 0.0 => "more",
        _ => "less",
    }
}

/// Says over what times of metrics and call paths are summed up.
fn over(comparison: &Comparison) -> &'static str {
    if comparison.per_process { "of each process" } else { "over all locations" }
}

/// Says that the runs differ in their processes, and what that should and did gain.
fn scaling(comparison: &Comparison) -> Option<String> {
    dwell_report::speedup(comparison.processes, comparison.lengths)
        .filter(|_| comparison.per_process)
}

/// Names the findings about a call path before and after.
fn findings(difference: &Difference) -> String {
    match difference.findings {
        [None, None] => String::new(),
        [Some(id), None] => format!(" (finding {id} before)"),
        [None, Some(id)] => format!(" (finding {id} after)"),
        [Some(a), Some(b)] => format!(" (finding {a} before, {b} after)"),
    }
}

/// Returns the differences that are worth a line: those beyond chance, then those above the threshold.
fn shown(comparison: &Comparison, top: usize) -> (Vec<&Difference>, usize) {
    let is_judged = |it: &&Difference| matches!(it.judgement, Judgement::More | Judgement::Less);
    let is_large = |it: &&Difference| {
        it.share.is_none_or(|share| share.abs() > comparison.threshold) && it.unit == "sec"
    };
    let (mut list, rest): (Vec<_>, Vec<_>) = comparison.differences.iter().partition(is_judged);
    list.extend(rest.into_iter().filter(is_large));
    let more = list.len().saturating_sub(top);
    list.truncate(top);
    (list, more)
}

/// Returns the comparison for a terminal. `firsts` are the first runs of both sets, which give them their names.
pub(super) fn text(
    comparison: &Comparison,
    fails: bool,
    firsts: [Option<&Run>; 2],
    top: usize,
) -> String {
    let width = listing::width();
    let mut text = String::new();
    let mut say = |words: &str, indent: usize| {
        let first = indent.saturating_sub(2);
        paragraph(&mut text, width, (first, indent), words);
    };
    let [before, after] =
        firsts.map(|it| it.map_or_else(String::new, |run| visible(&run.name).into_owned()));
    say(&format!("{before} and {after}: {}", verdict(comparison)), 2);
    scaling(comparison).iter().for_each(|line| say(line, 2));
    let over = over(comparison);
    if comparison.waits.iter().any(|it| *it > 0.0) {
        let [a, b] = comparison.waits.map(format::seconds);
        say(&format!("waits {over}: {a}, then {b}"), 2);
    }
    if let Some(line) = efficiencies(&comparison.efficiencies) {
        say(&line, 2);
    }
    let most = firsts.map(|it| it.and_then(Run::main_point));
    if most.iter().any(Option::is_some) {
        let of = |point: Option<&Point>| {
            point.map_or_else(|| "nothing".into(), |it| format!("{} {}", it.brief(), it.costs()))
        };
        let [a, b] = most.map(of);
        say(&visible(&format!("what costs most: {a}; then {b}")), 2);
    }
    if let Some(it) = &comparison.iterations {
        say(&format!("iterations: {}", it.text), 2);
    }
    let is_large = |it: &&FunctionBeside| it.share.abs() > comparison.threshold;
    for it in comparison.functions.iter().filter(is_large).take(FUNCTIONS) {
        let more = if it.delta() > 0.0 { "longer" } else { "less long" };
        let delta = format::seconds(it.delta().abs());
        let [before, after] = it.seconds.map(format::seconds);
        let words = format!("{} computes {delta} {more} {over}: {before}, then {after}", it.place);
        say(&visible(&words), 2);
    }
    let (list, more) = shown(comparison, top);
    if !list.is_empty() {
        say("", 0);
        let least = format::percent(comparison.threshold);
        say(&format!("call paths that changed by more than {least} of the run, {over}"), 2);
    }
    for it in list {
        say("", 0);
        let share = it.share.map_or_else(String::new, |share| {
            format!(", {} of the run", signed(format::percent(share), share))
        });
        let delta = signed(value(it.delta(), &it.unit), it.delta());
        let word = word(comparison, fails, it);
        say(&format!("{word}: {} {delta}{share}{}", visible(&it.title), findings(it)), 2);
        let was = |value_of: Option<f64>| {
            value_of.map_or("nothing".into(), |it_was| value(it_was, &it.unit))
        };
        say(&format!("{}, then {}", was(it.before), was(it.after)), 4);
        say(&format!("{}", visible(&it.path)), 4);
    }
    if more > 0 {
        say("", 0);
        say(&format!("{more} more; --top shows them"), 2);
    }
    say("", 0);
    say(&resolution(comparison), 2);
    text
}

/// Returns the comparison as Markdown.
pub(super) fn markdown(comparison: &Comparison, fails: bool, top: usize) -> String {
    let mut text = format!("**{}**\n\n", verdict(comparison));
    if let Some(line) = scaling(comparison) {
        let _ = writeln!(text, "{line}\n");
    }
    if let Some(line) = efficiencies(&comparison.efficiencies) {
        let _ = writeln!(text, "{line}\n");
    }
    let (list, more) = shown(comparison, top);
    if !list.is_empty() {
        text.push_str("| | change | of the run | before | after | metric | call path |\n|---|---:|---:|---:|---:|---|---|\n");
    }
    for it in list {
        let was = |of: Option<f64>| of.map_or_else(String::new, |of| value(of, &it.unit));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | `{}` |",
            word(comparison, fails, it),
            signed(value(it.delta(), &it.unit), it.delta()),
            it.share.map_or_else(String::new, |share| signed(format::percent(share), share)),
            was(it.before),
            was(it.after),
            visible(&it.title).replace('|', "\\|"),
            visible(&it.path).replace('|', "\\|")
        );
    }
    if more > 0 {
        let _ = writeln!(text, "\n{more} more call paths.");
    }
    let _ = writeln!(text, "\n{}.", resolution(comparison));
    text
}

#[cfg(test)]
mod tests {
    use super::{Comparison, Difference, Judgement, word};

    #[test]
    fn nothing_is_worse_in_runs_that_do_not_differ() {
        let difference = Difference {
            metric: "time".into(),
            title: "Time".into(),
            unit: "sec".into(),
            path: "main".into(),
            before: Some(1.0),
            after: Some(2.0),
            findings: [None, Some(1)],
            share: Some(0.5),
            judgement: Judgement::More,
        };
        let comparison = |judgement| Comparison {
            lengths: [2.0, 2.0],
            judgement,
            resolution: 0.25,
            counts: [1, 1],
            processes: [2.0, 2.0],
            per_process: false,
            waits: [0.0, 0.0],
            totals: Vec::new(),
            efficiencies: [None, None],
            differences: Vec::new(),
            iterations: None,
            functions: Vec::new(),
            threshold: 0.02,
        };
        assert_eq!(word(&comparison(Judgement::Same), false, &difference), "more");
        assert_eq!(word(&comparison(Judgement::Same), true, &difference), "worse");
        assert_eq!(word(&comparison(Judgement::Less), false, &difference), "worse");
    }
}
