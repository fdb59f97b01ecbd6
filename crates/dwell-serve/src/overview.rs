//! The first screen: the run, the distribution of its time, and the findings.

use dwell_model::operation::Operation;
use dwell_model::waits::Wait;
use dwell_model::{armci, caf, ga, mpi, shmem};
use dwell_report::format::{grouped, seconds as seconds_text};
use dwell_report::{CnodeId, Flavour, Owner, Result, share};
use serde_json::Value;

use crate::run::Run;
use crate::types::{
    Doing, Entry, Fact, Finding, Instance, Meanwhile, Note, Overview, PartOfTime, Party,
};

/// The largest number of findings that are listed.
const LISTED: usize = 50;

/// The smallest share of the time that is shown by itself.
const LEAST_SHARE: f64 = 0.001;

/// The largest number of notes that are listed.
const MOST_NOTES: usize = 40;

pub(crate) fn overview(run: &Run) -> Result<Overview> {
    let meta = run.query.meta();
    let time_metric = meta.find_metric("time").filter(|&it| run.query.is_readable(it));
    let time = time_metric.map(|it| run.query.total(it)).transpose()?.unwrap_or(0.0);
    let mut parts = Vec::new();
    if let Some(metric) = time_metric {
        for part in run.query.time_parts_by(metric, LEAST_SHARE, |it| run.query.total(it))? {
            let about = meta.metric(part.metric);
            parts.push(PartOfTime {
                metric: part.metric.0,
                title: about.map_or("?", |it| it.disp_name).to_owned(),
                depth: part.depth as u32,
                seconds: part.value,
                share: part.share,
                wait: about.is_some_and(|it| Wait::of_metric(it.uniq_name).is_some()),
            });
        }
    }
    let times = Times::of(run, time)?;
    let (mut findings, mut entries, waits) = match &run.findings {
        Some(document) => {
            let (findings, entries) = recorded(run, document);
            (findings, entries, Some(waits(document)))
        }
        None => {
            let (findings, entries) = computed(run, times.run)?;
            let waits = computed_waits(&entries);
            (findings, entries, run.query.wait_metrics().first().map(|_| waits))
        }
    };
    let more = entries.len();
    while entries.last().is_some_and(|it| it.findings.iter().any(|at| *at as usize >= LISTED)) {
        entries.pop();
    }
    findings.truncate(LISTED);
    Ok(Overview {
        title: run.title(),
        facts: facts(run),
        time,
        run: times.run,
        startup: times.start_up,
        shutdown: times.shutdown,
        waits: waits.map(|it| it.0),
        waits_at_most: waits.map(|it| it.1),
        parts,
        more: (more - entries.len()) as u32,
        entries,
        findings,
        notes: notes(run),
    })
}

/// Returns the lower and the upper bound of all waits of the run.
fn waits(document: &Value) -> (f64, f64) {
    let number = |name: &str| document.get(name).and_then(Value::as_f64);
    let sum = |name: &str| {
        let list = document.get("findings").and_then(Value::as_array);
        let list = list.map_or(&[][..], Vec::as_slice).iter();
        list.filter_map(|it| it.get(name).and_then(Value::as_f64)).sum::<f64>()
    };
    (
        number("waits_seconds").unwrap_or_else(|| sum("seconds")),
        number("waits_seconds_at_most").unwrap_or_else(|| sum("seconds_at_most")),
    )
}

fn computed_waits(entries: &[Entry]) -> (f64, f64) {
    let run = || entries.iter().filter(|it| it.phase == RUN);
    (run().map(|it| it.seconds).sum(), run().map(|it| it.at_most).sum())
}

/// Seconds over all locations in each phase of the program.
struct Times {
    start_up: f64,
    run: f64,
    shutdown: f64,
}

const RUN: &str = "run";

impl Times {
    /// Takes the times from the findings of `dwell analyze` or, where these lack them, computes them from the names of
    /// the calls in the report.
    fn of(run: &Run, time: f64) -> Result<Self> {
        let number = |name: &str| run.findings.as_ref()?.get(name)?.as_f64();
        if let (Some(start_up), Some(shutdown), Some(of_run)) =
            (number("startup_seconds"), number("shutdown_seconds"), number("run_seconds"))
        {
            return Ok(Self { start_up, run: of_run, shutdown });
        }
        let (query, meta) = (&run.query, run.query.meta());
        let mut times = Self { start_up: 0.0, run: time, shutdown: 0.0 };
        let Some(metric) = meta.find_metric("time").filter(|&it| query.is_readable(it)) else {
            return Ok(times);
        };
        let totals = query.totals(metric)?;
        for cnode in meta.cnodes_in_order() {
            let above = meta.cnode_parent(cnode).map_or(RUN, |it| phase(run, it));
            let sum = match phase(run, cnode) {
                "start-up" if above == RUN => &mut times.start_up,
                "shutdown" if above == RUN => &mut times.shutdown,
                _ => continue,
            };
            let seconds = totals.get(cnode, Flavour::Inclusive);
            *sum += seconds;
            times.run -= seconds;
        }
        Ok(times)
    }
}

/// Returns the phase of the program that a call path belongs to, judged by the names of its calls.
fn phase(run: &Run, cnode: CnodeId) -> &'static str {
    let meta = run.query.meta();
    let mut phase = RUN;
    let mut at = Some(cnode);
    while let Some(cnode) = at {
        let name = meta.callee(cnode).map_or("", |it| it.name);
        let tables = [&shmem::TABLE, &caf::TABLE, &armci::TABLE, &ga::TABLE];
        let row = mpi::find(name).or_else(|| tables.iter().find_map(|table| table.find(name)));
        phase = match row.map(|row| row.operation) {
            Some(Operation::Initialise) => "start-up",
            Some(Operation::Finalise) => "shutdown",
            _ => phase,
        };
        at = meta.cnode_parent(cnode);
    }
    phase
}

fn facts(run: &Run) -> Vec<Fact> {
    let meta = run.query.meta();
    let mut facts = Vec::new();
    let mut fact = |label: &str, value: Option<String>| {
        if let Some(value) = value.filter(|it| !it.is_empty()) {
            facts.push(Fact { label: label.into(), value });
        }
    };
    let property = |name: &str| run.property(name).map(str::to_owned);
    let (processes, locations) = (meta.groups().len(), meta.locations().len());
    let threads = match locations > processes {
        true => format!(", {} locations", grouped(locations as u64)),
        false => String::new(),
    };
    let leaves = meta.system_nodes().filter(|&it| meta.groups_of(it).next().is_some()).count();
    let on =
        if leaves == 1 { "1 node".into() } else { format!("{} nodes", grouped(leaves as u64)) };
    fact("Processes", Some(format!("{}{threads} on {on}", grouped(processes as u64))));
    fact("Runtime", property("RUNTIME"));
    fact("Interface", property("INTERFACE"));
    fact("Transport", property("TRANSPORT"));
    fact("Launcher", property("LAUNCHER"));
    let number =
        |name: &str| run.findings.as_ref().and_then(|it| it.get(name)).and_then(Value::as_f64);
    fact("Length", number("length_seconds").map(seconds_text));
    fact("Events", number("events").map(|it| grouped(it as u64)));
    fact("State", property("STATE").filter(|it| it != "complete"));
    fact("Call paths", Some(grouped(meta.cnodes().len() as u64)));
    let mut attributes = meta.attributes(Owner::Report);
    let creator = attributes.find(|it| it.key.eq_ignore_ascii_case("creator"));
    fact("Written by", creator.map(|it| it.value.to_owned()));
    facts
}

/// Returns the findings of `dwell analyze`, and the entries that list them.
fn recorded(run: &Run, document: &Value) -> (Vec<Finding>, Vec<Entry>) {
    let list =
        |name: &str| document.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let findings = list("findings").iter().take(LISTED).map(|it| finding(run, it)).collect();
    let entries = match document.get("entries") {
        Some(_) => list("entries").iter().map(entry).collect(),
        // Version 1 of `findings.json` has no entries.
        None => (0..).zip(list("findings")).map(|(at, it)| lone(at, it)).collect(),
    };
    (findings, entries)
}

fn entry(found: &Value) -> Entry {
    let number = |name: &str| found.get(name).and_then(Value::as_f64);
    let findings = found.get("findings").and_then(Value::as_array);
    let findings = findings.map_or(&[][..], Vec::as_slice).iter();
    let seconds = number("seconds").unwrap_or(0.0);
    Entry {
        phase: text(found, "phase").unwrap_or_else(|| RUN.into()),
        seconds,
        at_most: number("seconds_at_most").unwrap_or(seconds),
        share: number("share"),
        share_at_most: number("share_at_most"),
        small: found.get("small").and_then(Value::as_bool).unwrap_or(false),
        findings: findings.filter_map(|it| u32::try_from(it.as_u64()?).ok()).collect(),
    }
}

/// Returns the entry of a finding that stands by itself.
fn lone(at: u32, found: &Value) -> Entry {
    Entry { findings: vec![at], ..entry(found) }
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn finding(run: &Run, found: &Value) -> Finding {
    let meta = run.query.meta();
    let number = |name: &str| found.get(name).and_then(Value::as_f64);
    let steps = found.get("path").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let steps: Vec<(&str, Option<&str>, Option<u32>)> = steps
        .iter()
        .map(|step| {
            let line = step.get("line").and_then(Value::as_u64);
            let text = |name: &str| step.get(name).and_then(Value::as_str);
            // The report uses the name of the caller where there is no file.
            (
                text("region").unwrap_or("?"),
                text("file").or_else(|| text("caller")),
                line.and_then(|line| u32::try_from(line).ok()),
            )
        })
        .collect();
    let last = found.get("path").and_then(Value::as_array).and_then(|it| it.last());
    let metric = text(found, "metric").and_then(|name| meta.find_metric(&name));
    let title = metric.and_then(|it| meta.metric(it)).map(|it| it.disp_name.to_owned());
    let pattern = text(found, "pattern").unwrap_or_default();
    let parties = |name: &str| {
        let list = found.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        list.iter().map(party).collect()
    };
    let condition = number("latency_seconds").map(|latency| match latency {
        0.0 => "assuming no latency of requests, which the archive does not contain".to_owned(),
        latency => format!("assuming that requests take at least {}", seconds_text(latency)),
    });
    let seconds = number("seconds").unwrap_or(0.0);
    // The number holds only for the report it was written with. Equal names are the evidence.
    let numbered = found.get("call_path").and_then(Value::as_u64);
    let numbered = numbered.and_then(|it| u32::try_from(it).ok()).map(CnodeId).filter(|&it| {
        let region = steps.last().map(|step| step.0);
        meta.callee(it).map(|callee| callee.name) == region
    });
    Finding {
        title: title.unwrap_or_else(|| pattern.replace('_', " ")),
        pattern,
        metric: metric.map(|it| it.0),
        call: numbered.or_else(|| run.find_path(&steps)).map(|it| it.0),
        region: steps.last().map_or("?", |step| step.0).to_owned(),
        path: steps.iter().map(|step| step.0.to_owned()).collect(),
        file: last.and_then(|it| text(it, "file")),
        line: steps.last().and_then(|step| step.2),
        column: last.and_then(|it| small_number(it, "column")),
        nth: last.and_then(|it| small_number(it, "nth_on_line")),
        caller: last.and_then(|it| text(it, "caller")),
        seconds,
        at_most: number("seconds_at_most").unwrap_or(seconds),
        share: number("share"),
        confidence: text(found, "confidence"),
        condition,
        explanation: text(found, "explanation").unwrap_or_default(),
        remedy: text(found, "remedy").unwrap_or_default(),
        visits: number("visits"),
        calls: number("calls"),
        worst: found.get("worst").filter(|it| it.is_object()).map(instance),
        locations: number("locations"),
        origins: parties("origins"),
        targets: parties("targets"),
    }
}

fn small_number(value: &Value, name: &str) -> Option<u32> {
    value.get(name).and_then(Value::as_u64).and_then(|it| u32::try_from(it).ok())
}

fn instance(value: &Value) -> Instance {
    let number = |value: &Value, name: &str| value.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    let doing = |it: &Value| Doing {
        region: text(it, "region").unwrap_or_else(|| "?".into()),
        file: text(it, "file"),
        line: small_number(it, "line"),
        column: small_number(it, "column"),
        calls: number(it, "calls"),
        seconds: number(it, "seconds"),
        serves: text(it, "serves_others").unwrap_or_default(),
        on_itself: it.get("on_itself").and_then(Value::as_bool).unwrap_or(false),
    };
    let meanwhile = |it: &Value| Meanwhile {
        computing: number(it, "computing_seconds"),
        calls: it
            .get("calls")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .map(doing)
            .collect(),
    };
    Instance {
        who: text(value, "who").unwrap_or_else(|| "?".into()),
        begin: number(value, "begin_seconds"),
        at_most: number(value, "seconds_at_most"),
        on_whom: text(value, "on_whom"),
        meanwhile: value.get("meanwhile").filter(|it| it.is_object()).map(meanwhile),
    }
}

fn party(value: &Value) -> Party {
    let number = |name: &str| value.get(name).and_then(Value::as_f64);
    let seconds = number("seconds").unwrap_or(0.0);
    Party {
        who: text(value, "who").unwrap_or_else(|| "?".into()),
        seconds,
        at_most: number("seconds_at_most").unwrap_or(seconds),
    }
}

/// Returns the largest waits of a report without findings, as `dwell report` lists them.
fn computed(run: &Run, time: f64) -> Result<(Vec<Finding>, Vec<Entry>)> {
    let (query, meta) = (&run.query, run.query.meta());
    let found = query.largest_waits(None)?;
    let (mut findings, mut entries): (Vec<Finding>, Vec<Entry>) = Default::default();
    for (at, wait_at) in (0..).zip(&found) {
        let phase = phase(run, wait_at.cnode);
        let of_run = (phase == RUN).then(|| share(wait_at.value, time));
        entries.push(Entry {
            phase: phase.to_owned(),
            seconds: wait_at.value,
            at_most: wait_at.value,
            share: of_run,
            share_at_most: of_run,
            small: of_run.is_some_and(|it| it < LEAST_SHARE),
            findings: vec![at],
        });
        if findings.len() == LISTED {
            continue;
        }
        let row = query.row_of(wait_at.metric, &wait_at.cnodes(), Flavour::Exclusive)?;
        let worst = query.worst_locations(&row, 5);
        let about = meta.metric(wait_at.metric);
        let words = about.and_then(|it| Wait::of_metric(it.uniq_name)).map(Wait::about);
        let path = query.call_path_folded(wait_at.cnode);
        let cnode = meta.cnode(wait_at.cnode);
        let visits = meta.find_metric("visits").filter(|&it| query.is_readable(it));
        let visits = visits.map(|it| query.totals(it)).transpose()?;
        findings.push(Finding {
            title: about.map_or("?", |it| it.disp_name).to_owned(),
            pattern: words.map_or("", |it| it.id).to_owned(),
            metric: Some(wait_at.metric.0),
            call: Some(wait_at.cnode.0),
            region: query.call_name(wait_at.cnode),
            path: path.split(" / ").map(str::to_owned).collect(),
            file: cnode.map(|it| it.file.to_owned()).filter(|it| !it.is_empty()),
            line: cnode.and_then(|it| it.line),
            column: None,
            nth: None,
            caller: None,
            seconds: wait_at.value,
            at_most: wait_at.value,
            share: of_run,
            confidence: None,
            condition: None,
            explanation: words.map_or("", |it| it.meaning).to_owned(),
            remedy: words.map_or("", |it| it.remedy).to_owned(),
            visits: visits
                .map(|it| wait_at.cnodes().iter().map(|&at| it.get(at, Flavour::Exclusive)).sum()),
            calls: None,
            worst: None,
            locations: Some(row.iter().filter(|it| **it > 0.0).count() as f64),
            origins: worst
                .iter()
                .map(|&(location, seconds)| Party {
                    who: query.location_name(location),
                    seconds,
                    at_most: seconds,
                })
                .collect(),
            targets: Vec::new(),
        });
    }
    Ok((findings, entries))
}

fn notes(run: &Run) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut note = |kind: &str, text: String| {
        if notes.len() < MOST_NOTES {
            notes.push(Note { kind: kind.into(), text });
        }
    };
    let Some(document) = &run.findings else {
        let named = run.path.file_name().is_some_and(|name| name == "trace.cubex");
        if run.query.largest_waits(None).is_ok_and(|it| it.is_empty()) && !named {
            note("hint", "This report holds no waits: it is a profile. `dwell analyze` finds them in a trace.".into());
        }
        return notes;
    };
    let list =
        |name: &str| document.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let seconds = |it: &Value| it.get("seconds").and_then(Value::as_f64).unwrap_or(0.0);
    for it in list("damage") {
        note("damaged", it.as_str().unwrap_or_default().to_owned());
    }
    for it in list("inefficient") {
        let step = it.get("path").and_then(Value::as_array).and_then(|it| it.last());
        let region = step.and_then(|it| text(it, "region")).unwrap_or_default();
        let file = step.and_then(|it| text(it, "file")).unwrap_or_default();
        let line = step.and_then(|it| it.get("line")).and_then(Value::as_u64);
        let place = match (file.rsplit('/').next(), line) {
            (Some(file), Some(line)) => format!("{region} at {file}:{line}"),
            _ => region,
        };
        let most = it.get("seconds_at_most").and_then(Value::as_f64).unwrap_or(0.0);
        let (least, most) = (seconds_text(seconds(it)), seconds_text(most));
        let why = text(it, "explanation").unwrap_or_default();
        let remedy = text(it, "remedy").unwrap_or_default();
        note("inefficient", format!("{place}: {why}. {least} to {most} could be saved. {remedy}"));
    }
    let large = |it: &&Value| it.get("is_finding").and_then(Value::as_bool) == Some(true);
    for it in list("unexplained").iter().filter(large) {
        let steps = it.get("path").and_then(Value::as_array);
        let region = steps.and_then(|it| it.last()).and_then(|it| text(it, "region"));
        let place = region.unwrap_or_default();
        let time = seconds_text(seconds(it));
        note(
            "unexplained",
            format!("{place} takes {time} more than such calls take, and no wait explains it."),
        );
    }
    for it in list("crowds") {
        let number = |name: &str| it.get(name).and_then(Value::as_u64).unwrap_or(0);
        let (processes, cores) = (number("processes"), number("cores"));
        let node = text(it, "node").unwrap_or_default();
        note(
            "unexplained",
            format!("More processes than cores on {node}: {processes} share {cores}."),
        );
    }
    for it in list("not_computed") {
        let what = text(it, "pattern").unwrap_or_default().replace('_', " ");
        let reason = text(it, "reason").unwrap_or_default();
        let calls = it.get("calls").and_then(Value::as_u64).unwrap_or(0);
        let of = if calls == 0 { String::new() } else { format!(" of {} calls", grouped(calls)) };
        note("not computed", format!("{what}{of}: {reason}"));
    }
    for it in list("polling").iter().take(1) {
        let calls = it.get("calls").and_then(Value::as_u64).unwrap_or(0);
        let steps = it.get("path").and_then(Value::as_array);
        let region = steps.and_then(|it| it.last()).and_then(|it| text(it, "region"));
        note(
            "polling",
            format!(
                "{} calls of {} test again and again; that counts as computing.",
                grouped(calls),
                region.unwrap_or_default()
            ),
        );
    }
    notes
}
