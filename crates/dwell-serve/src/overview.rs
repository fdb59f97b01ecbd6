//! The first screen: what ran, where the time went, what waits.

use dwell_report::format::{grouped, seconds as seconds_text};
use dwell_report::{CnodeId, Flavour, Owner, Result, share, wait};
use serde_json::Value;

use crate::run::Run;
use crate::types::{Fact, Finding, Note, Overview, PartOfTime, Party};

/// Findings that are listed.
const LISTED: usize = 50;

/// Parts of the time below this are not shown.
const LEAST_SHARE: f64 = 0.001;

/// Notes that are listed.
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
                wait: about.is_some_and(|it| wait(it.uniq_name).is_some()),
            });
        }
    }
    let (findings, more) = match &run.findings {
        Some(document) => recorded(run, document),
        None => computed(run, time)?,
    };
    let mut waits = 0.0;
    for metric in run.query.wait_metrics() {
        waits += run.query.total(metric)?;
    }
    Ok(Overview {
        title: run.title(),
        facts: facts(run),
        time,
        waits,
        parts,
        findings,
        more,
        notes: notes(run),
    })
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

/// What `dwell analyze` found.
fn recorded(run: &Run, document: &Value) -> (Vec<Finding>, u32) {
    let list = document.get("findings").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let findings = list.iter().take(LISTED).map(|it| finding(run, it)).collect();
    (findings, list.len().saturating_sub(LISTED) as u32)
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
            // As the report names it: where there is no file, by the caller.
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
        0.0 => "if requests travel in no time: the archive does not say".to_owned(),
        latency => format!("if requests travel at least {}", seconds_text(latency)),
    });
    let seconds = number("seconds").unwrap_or(0.0);
    // The number is right if it was written with this report: then the names agree.
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
        caller: last.and_then(|it| text(it, "caller")),
        seconds,
        at_most: number("seconds_at_most").unwrap_or(seconds),
        share: number("share").unwrap_or(0.0),
        confidence: text(found, "confidence"),
        condition,
        explanation: text(found, "explanation").unwrap_or_default(),
        remedy: text(found, "remedy").unwrap_or_default(),
        visits: number("visits"),
        locations: number("locations"),
        origins: parties("origins"),
        targets: parties("targets"),
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

/// The largest waits of a report that nobody has ranked, as `dwell report` lists them.
fn computed(run: &Run, time: f64) -> Result<(Vec<Finding>, u32)> {
    let (query, meta) = (&run.query, run.query.meta());
    let found = query.largest_waits(None)?;
    let mut findings = Vec::new();
    for wait_at in found.iter().take(LISTED) {
        let row = query.row_of(wait_at.metric, &wait_at.cnodes(), Flavour::Exclusive)?;
        let worst = query.worst_locations(&row, 5);
        let about = meta.metric(wait_at.metric);
        let words = about.and_then(|it| wait(it.uniq_name));
        let path = query.call_path_folded(wait_at.cnode);
        let cnode = meta.cnode(wait_at.cnode);
        let visits = meta.find_metric("visits").filter(|&it| query.is_readable(it));
        let visits = visits.map(|it| query.totals(it)).transpose()?;
        findings.push(Finding {
            title: about.map_or("?", |it| it.disp_name).to_owned(),
            pattern: words.map_or("", |it| it.name).to_owned(),
            metric: Some(wait_at.metric.0),
            call: Some(wait_at.cnode.0),
            region: query.call_name(wait_at.cnode),
            path: path.split(" / ").map(str::to_owned).collect(),
            file: cnode.map(|it| it.file.to_owned()).filter(|it| !it.is_empty()),
            line: cnode.and_then(|it| it.line),
            caller: None,
            seconds: wait_at.value,
            at_most: wait_at.value,
            share: share(wait_at.value, time),
            confidence: None,
            condition: None,
            explanation: words.map_or("", |it| it.meaning).to_owned(),
            remedy: words.map_or("", |it| it.remedy).to_owned(),
            visits: visits
                .map(|it| wait_at.cnodes().iter().map(|&at| it.get(at, Flavour::Exclusive)).sum()),
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
    Ok((findings, found.len().saturating_sub(LISTED) as u32))
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
    for it in list("unconfirmed") {
        let what = text(it, "pattern").unwrap_or_default().replace('_', " ");
        let reason = text(it, "reason").unwrap_or_default();
        let steps = it.get("path").and_then(Value::as_array);
        let region = steps.and_then(|it| it.last()).and_then(|it| text(it, "region"));
        let place = region.map_or(String::new(), |region| format!(" in {region}"));
        let time = seconds_text(seconds(it));
        note("unconfirmed", format!("{what}: {time} more{place} look like it, but {reason}."));
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
