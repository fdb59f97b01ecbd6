//! What a program reads: `findings.json`.
//!
//! An object; all times are seconds.
//!
//! | field | is |
//! |---|---|
//! | `version` | 2 |
//! | `processes`, `locations`, `events` | how many |
//! | `length_seconds`, `time_seconds` | from the first event to the last; over all locations |
//! | `run_seconds`, `startup_seconds`, `shutdown_seconds` | the parts of `time_seconds`: calls that start a runtime, calls that end it, and everything else |
//! | `waits_seconds`, `waits_seconds_at_most` | both bounds of all waits of the run |
//! | `clock_residual_seconds` | how far clocks of different nodes may be apart after correction; null for one node |
//! | `entries` | call paths that wait: those of the run first, then start-up and shutdown; in each, by the middle of the bounds |
//! | `findings` | the waits, those of the first entry first |
//! | `inefficient` | communication of the run that could take less time although nobody waits, what saves most first |
//! | `unexplained` | time in calls beyond waits and transfer, for each call path where it is a finding or where targets were away: `layer`, `seconds`, `is_finding`, `too_few_seconds`, `away_seconds`, `transfer_seconds`, `longest_seconds`, `longest_at`, `visits`, `path_seconds`, `path`, `call_path`, `locations`, `origins`, `targets`, `crowds` |
//! | `crowds` | nodes with more processes than cores: `node`, `processes`, `cores` |
//! | `polling` | loops over calls that test; no waits: `layer`, `calls`, `seconds`, `seconds_until_release`, `path`, `locations`, `targets` |
//! | `not_computed` | `pattern`, `calls` (0 for all) and `reason` |
//! | `damage` | what is wrong with the archive |
//!
//! An entry:
//!
//! | field | is |
//! |---|---|
//! | `phase` | run, start-up or shutdown |
//! | `seconds`, `seconds_at_most` | sums of the bounds of its findings |
//! | `share`, `share_at_most` | parts of `run_seconds`; null for start-up and shutdown |
//! | `small` | whether the middle of the bounds is less than 0.1 % of `run_seconds` |
//! | `findings` | places of its findings in the list of findings, counted from 0 |
//!
//! A finding:
//!
//! | field | is |
//! |---|---|
//! | `pattern`, `metric`, `layer` | id of the pattern, name of a metric in `trace.cubex`, whose call it is |
//! | `phase`, `share`, `share_at_most` | as for an entry |
//! | `seconds`, `seconds_at_most` | lower and upper bound |
//! | `confidence` | exact, by rule, lower bound, between bounds, inferred |
//! | `latency_seconds` | waits for progress: how long requests were taken to travel; otherwise null |
//! | `visits`, `path_seconds`, `locations` | calls and time of the call path; how many locations wait |
//! | `calls`, `mean_seconds`, `mean_seconds_at_most` | how many calls waited, or may have waited, and both bounds of their mean wait |
//! | `worst` | the longest wait of a single call: `who`, `begin_seconds` after the first event, `seconds_at_most`, `on_whom` and `window` (null if not known), `meanwhile` (null if not known) |
//! | `worst.meanwhile` | what the process that was waited for did during this wait: `computing_seconds` outside of all calls; `calls`, at most 5, with `region`, `file`, `line`, `caller`, `calls`, `seconds`, `serves_others`: yes, maybe or no; `on_itself`: whether they serve nobody because they acted on their own process; and `outlived`: whether they served nobody although calls of this function do or may |
//! | `path` | the calls from the outermost on: `region`, `file`, `line`, `caller`; where several calls are on one line, `column` or, if it is not known, `nth_on_line` among those of the same function, counted from 1 in the order of their first calls |
//! | `call_path` | number of the call path in `trace.cubex` |
//! | `origins`, `targets` | who waits and who is waited for most: `who`, `seconds`, `seconds_at_most` |
//! | `explanation`, `remedy` | in plain words |
//!
//! What is inefficient:
//!
//! | field | is |
//! |---|---|
//! | `pattern`, `layer` | id of the pattern, whose call it is |
//! | `seconds`, `seconds_at_most` | lower and upper bound of what could be saved |
//! | `share`, `share_at_most` | parts of `run_seconds` |
//! | `calls` | how many calls could be made otherwise |
//! | `evidence` | what shows it: `text` in plain words, and the numbers in it |
//! | `visits`, `path_seconds`, `path`, `call_path`, `locations` | as for a finding |
//! | `origins` | who could save most: `who`, `seconds`, `seconds_at_most` |
//! | `explanation`, `remedy` | in plain words |

use dwell_analyze::{
    Analysis, Crowd, Doing, Entry, Finding, Inefficiency, Instance, Meanwhile, Phase, Serves,
    Share, Step,
};
use serde_json::{Value, json};

use super::advice::Advice;
use super::inefficient;
use super::words::{in_seconds, meaning};

/// Returns the whole document `findings.json`.
pub(super) fn document(analysis: &Analysis, advice: &Advice<'_>) -> Value {
    let times = analysis.times();
    let findings: Vec<Value> =
        analysis.findings().iter().map(|it| finding(it, advice, times.run)).collect();
    let run = || analysis.entries().iter().filter(|it| it.phase == Phase::Run);
    json!({
        "version": 2,
        "processes": analysis.processes(),
        "locations": analysis.locations(),
        "events": analysis.events(),
        "length_seconds": in_seconds(analysis.length()),
        "time_seconds": in_seconds(analysis.time()),
        "run_seconds": in_seconds(times.run),
        "startup_seconds": in_seconds(times.start_up),
        "shutdown_seconds": in_seconds(times.shutdown),
        "waits_seconds": in_seconds(run().map(|it| it.nanoseconds).sum()),
        "waits_seconds_at_most": in_seconds(run().map(|it| it.at_most).sum()),
        "clock_residual_seconds": analysis.clock_residual().map(in_seconds),
        "entries": analysis.entries().iter().map(|it| entry(it, times.run)).collect::<Vec<_>>(),
        "findings": findings,
        "inefficient": analysis.inefficient().iter()
            .map(|it| inefficiency(it, advice, times.run)).collect::<Vec<_>>(),
        "unexplained": unexplained(analysis),
        "crowds": analysis.crowds().map(crowd).collect::<Vec<_>>(),
        "polling": polling(analysis),
        "not_computed": not_computed(analysis),
        "damage": analysis.damage(),
    })
}

/// Returns the share of the run, or `None` for start-up and shutdown and for a run without time.
fn share(nanoseconds: u64, phase: Phase, run: u64) -> Option<f64> {
    (phase == Phase::Run && run > 0).then(|| nanoseconds as f64 / run as f64)
}

fn entry(it: &Entry, run: u64) -> Value {
    json!({
        "phase": it.phase.name(),
        "seconds": in_seconds(it.nanoseconds),
        "seconds_at_most": in_seconds(it.at_most),
        "share": share(it.nanoseconds, it.phase, run),
        "share_at_most": share(it.at_most, it.phase, run),
        "small": it.is_small(run),
        "findings": it.findings.clone().collect::<Vec<_>>(),
    })
}

fn finding(it: &Finding, advice: &Advice<'_>, run: u64) -> Value {
    json!({
        "pattern": it.pattern,
        "metric": it.metric,
        "layer": it.layer.name(),
        "phase": it.phase.name(),
        "seconds": in_seconds(it.nanoseconds),
        "seconds_at_most": in_seconds(it.at_most),
        "share": share(it.nanoseconds, it.phase, run),
        "share_at_most": share(it.at_most, it.phase, run),
        "confidence": it.confidence.name(),
        "latency_seconds": it.latency.map(in_seconds),
        "visits": it.visits,
        "path_seconds": in_seconds(it.path_nanoseconds),
        "path": path(&it.path),
        "call_path": it.call_path,
        "locations": it.locations,
        "calls": it.calls,
        "mean_seconds": mean(it.nanoseconds, it.calls),
        "mean_seconds_at_most": mean(it.at_most, it.calls),
        "worst": it.worst.as_ref().map(instance),
        "origins": shares(&it.origins),
        "targets": shares(&it.targets),
        "explanation": meaning(it.pattern),
        "remedy": advice.about(it),
    })
}

fn inefficiency(it: &Inefficiency, advice: &Advice<'_>, run: u64) -> Value {
    json!({
        "pattern": it.pattern,
        "layer": it.layer.name(),
        "seconds": in_seconds(it.nanoseconds),
        "seconds_at_most": in_seconds(it.at_most),
        "share": share(it.nanoseconds, Phase::Run, run),
        "share_at_most": share(it.at_most, Phase::Run, run),
        "calls": it.calls,
        "evidence": inefficient::document(it),
        "visits": it.visits,
        "path_seconds": in_seconds(it.path_nanoseconds),
        "path": path(&it.path),
        "call_path": it.call_path,
        "locations": it.locations,
        "origins": shares(&it.origins),
        "explanation": meaning(it.pattern),
        "remedy": advice.instead(it),
    })
}

/// Returns the mean wait over the calls that waited, in seconds, or `None` without such calls.
fn mean(nanoseconds: u64, calls: u64) -> Option<f64> {
    (calls > 0).then(|| in_seconds(nanoseconds) / calls as f64)
}

fn instance(it: &Instance) -> Value {
    json!({
        "who": it.process,
        "begin_seconds": in_seconds(it.begin),
        "seconds_at_most": in_seconds(it.nanoseconds),
        "on_whom": it.partner,
        "window": it.window,
        "meanwhile": it.meanwhile.as_ref().map(meanwhile),
    })
}

fn meanwhile(it: &Meanwhile) -> Value {
    let call = |it: &Doing| {
        let mut value = step(&it.call);
        value["calls"] = it.count.into();
        value["seconds"] = in_seconds(it.nanoseconds).into();
        value["serves_others"] = match it.serves {
            Serves::Always => "yes",
            Serves::Maybe => "maybe",
            Serves::Never | Serves::NotOnItself | Serves::Outlived => "no",
        }
        .into();
        value["on_itself"] = (it.serves == Serves::NotOnItself).into();
        value["outlived"] = (it.serves == Serves::Outlived).into();
        value
    };
    json!({
        "computing_seconds": in_seconds(it.computing),
        "calls": it.calls.iter().map(call).collect::<Vec<_>>(),
    })
}

fn shares(list: &[Share]) -> Vec<Value> {
    let one = |it: &Share| {
        json!({
            "who": it.who,
            "seconds": in_seconds(it.nanoseconds),
            "seconds_at_most": in_seconds(it.at_most),
        })
    };
    list.iter().map(one).collect()
}

fn path(steps: &[Step]) -> Vec<Value> {
    steps.iter().map(step).collect()
}

fn step(step: &Step) -> Value {
    let site = step.site.as_ref();
    json!({
        "region": step.region,
        "file": site.map(|it| it.file.as_str()).filter(|it| !it.is_empty()),
        "line": site.map(|it| it.line).filter(|it| *it > 0),
        "column": site.map(|it| it.column).filter(|it| *it > 0),
        "nth_on_line": site.and_then(|it| it.nth).map(|it| it.0),
        "caller": site.map(|it| it.function.as_str()),
    })
}

fn unexplained(analysis: &Analysis) -> Vec<Value> {
    let list = analysis.unexplained().iter().filter(|it| it.is_finding || it.away > 0);
    list.map(|it| {
        json!({
            "layer": it.layer.name(),
            "seconds": in_seconds(it.nanoseconds),
            "is_finding": it.is_finding,
            "too_few_seconds": in_seconds(it.too_few),
            "away_seconds": in_seconds(it.away),
            "transfer_seconds": in_seconds(it.transfer),
            "longest_seconds": it.longest.as_ref().map(|it| in_seconds(it.0)),
            "longest_at": it.longest.as_ref().map(|it| it.1.as_str()),
            "visits": it.visits,
            "path_seconds": in_seconds(it.path_nanoseconds),
            "path": path(&it.path),
            "call_path": it.call_path,
            "locations": it.locations,
            "origins": shares(&it.origins),
            "targets": shares(&it.targets),
            "crowds": it.crowds.iter().map(crowd).collect::<Vec<_>>(),
        })
    })
    .collect()
}

fn crowd(it: &Crowd) -> Value {
    json!({ "node": it.node, "processes": it.processes, "cores": it.cores })
}

fn polling(analysis: &Analysis) -> Vec<Value> {
    let list = analysis.polling().iter();
    list.map(|it| {
        json!({
            "layer": it.layer.name(),
            "calls": it.calls,
            "seconds": in_seconds(it.nanoseconds),
            "seconds_until_release": in_seconds(it.until_release),
            "path": path(&it.path),
            "locations": it.locations,
            "targets": shares(&it.targets),
        })
    })
    .collect()
}

fn not_computed(analysis: &Analysis) -> Vec<Value> {
    let list = analysis.not_computed().iter();
    list.map(|it| json!({ "pattern": it.pattern, "calls": it.calls, "reason": it.reason }))
        .collect()
}
