//! The first screen: the run, the distribution of its time, and the findings.

use dwell_model::operation::Operation;
use dwell_model::registry;
use dwell_model::waits::Wait;
use dwell_report::findings::causes::because;
use dwell_report::findings::words::{self, Often, OneWait};
use dwell_report::findings::{self, Entry, Findings, Phase, Share, Step};
use dwell_report::format::{grouped, seconds as seconds_text};
use dwell_report::{Base, CnodeId, Flavour, Owner, Result, share};

use crate::causes;
use crate::run::Run;
use crate::types::{Fact, Finding, Note, Overview, PartOfTime};

/// The largest number of findings that are listed.
pub(crate) const LISTED: usize = 50;

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
        for part in run.query.time_parts(metric, None, LEAST_SHARE)? {
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
            (findings, entries, Some((document.waits_seconds, document.waits_seconds_at_most)))
        }
        None => {
            let (findings, entries) = computed(run, times.run)?;
            let waits = computed_waits(&entries);
            (findings, entries, run.is_searched().then_some(waits))
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
        causes: run.findings.as_ref().map(|it| causes::causes(run, it)).unwrap_or_default(),
        plays: run.plays(),
        notes: notes(run),
        verdict: run.findings.as_ref().map(|it| it.verdict.clone()),
        verdict_places: run.findings.as_ref().map_or_else(Vec::new, |it| {
            it.verdict.points.iter().map(|it| causes::places(run, it)).collect()
        }),
        efficiency: run.findings.as_ref().and_then(|it| it.efficiency.clone()),
        iterations: run.findings.as_ref().and_then(|it| it.iterations.clone()),
        functions: run.findings.as_ref().and_then(|it| it.functions.clone()),
    })
}

fn computed_waits(entries: &[Entry]) -> (f64, f64) {
    let run = || entries.iter().filter(|it| it.phase == Phase::Run);
    (run().map(|it| it.seconds).sum(), run().map(|it| it.seconds_at_most).sum())
}

/// Seconds over all locations in each phase of the program.
struct Times {
    start_up: f64,
    run: f64,
    shutdown: f64,
}

impl Times {
    /// Takes the times from the findings of `dwell analyze` or, where these lack them, computes them from the names of
    /// the calls in the report.
    fn of(run: &Run, time: f64) -> Result<Self> {
        if let Some(found) = run.findings.as_ref().filter(|it| it.version >= 2) {
            return Ok(Self {
                start_up: found.startup_seconds,
                run: found.run_seconds,
                shutdown: found.shutdown_seconds,
            });
        }
        let metric = run.query.meta().find_metric("time").filter(|&it| run.query.is_readable(it));
        let base = metric.map(|it| Base::of(&run.query, it, None)).transpose()?;
        Ok(base.map_or(Self { start_up: 0.0, run: time, shutdown: 0.0 }, |it| Self {
            start_up: it.start_up,
            run: it.total,
            shutdown: it.shutdown,
        }))
    }
}

/// Returns the phase of the program that a call path belongs to, judged by the names of its calls.
fn phase(run: &Run, cnode: CnodeId) -> Phase {
    let meta = run.query.meta();
    let mut phase = Phase::Run;
    let mut at = Some(cnode);
    while let Some(cnode) = at {
        let name = meta.callee(cnode).map_or("", |it| it.name);
        phase = match registry::find(name).map(|(_, row)| row.operation) {
            Some(Operation::Initialise) => Phase::StartUp,
            Some(Operation::Finalise) => Phase::Shutdown,
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
    let found = run.findings.as_ref();
    fact("Length", found.map(|it| seconds_text(it.length_seconds)));
    fact("Events", found.map(|it| grouped(it.events)));
    fact("State", property("STATE").filter(|it| it != "complete"));
    fact("Call paths", Some(grouped(meta.cnodes().len() as u64)));
    let mut attributes = meta.attributes(Owner::Report);
    let creator = attributes.find(|it| it.key.eq_ignore_ascii_case("creator"));
    fact("Written by", creator.map(|it| it.value.to_owned()));
    facts
}

/// Returns the findings of `dwell analyze`, and the entries that list them.
fn recorded(run: &Run, document: &Findings) -> (Vec<Finding>, Vec<Entry>) {
    let locations = run.query.meta().locations().len() as u64;
    let findings = document.findings.iter().take(LISTED).map(|it| Finding {
        how_often: Some(words::how_often(&Often {
            visits: it.visits,
            // Version 1 does not say how many calls waited.
            waited: (document.version >= 2).then_some(it.calls),
            seconds: (it.seconds, it.seconds_at_most),
            locations: (it.locations, locations),
        })),
        because: because(&document.causes, it.call_path, &it.pattern),
        gain: gain(document, it.call_path),
        ..finding(run, it)
    });
    (findings.collect(), document.entries.clone())
}

/// Returns the predicted gain of the entry of a call path in words.
fn gain(document: &Findings, call_path: u32) -> Option<String> {
    let is_of =
        |at: &u32| document.findings.get(*at as usize).is_some_and(|it| it.call_path == call_path);
    let entry = document.entries.iter().find(|it| it.findings.iter().any(is_of))?;
    let gain = entry.gain.as_ref()?;
    Some(findings::gain::words(gain, document.length_seconds))
}

/// A wait of one kind on one call path.
pub(crate) struct Found {
    pub(crate) pattern: String,
    /// Call path, if the report has it.
    pub(crate) call: Option<CnodeId>,
    pub(crate) seconds: f64,
    pub(crate) seconds_at_most: f64,
}

/// Returns all findings of a run, also those that are not listed, in the order of the list.
pub(crate) fn found(run: &Run) -> Result<Vec<Found>> {
    let meta = run.query.meta();
    if let Some(document) = &run.findings {
        let one = |it: &findings::Finding| Found {
            pattern: it.pattern.clone(),
            call: call_path(run, it.call_path, &it.path),
            seconds: it.seconds,
            seconds_at_most: it.seconds_at_most,
        };
        return Ok(document.findings.iter().map(one).collect());
    }
    let one = |it: dwell_report::LargestWait| Found {
        pattern: meta
            .metric(it.metric)
            .and_then(|it| Wait::of_metric(it.uniq_name))
            .map_or_else(String::new, |it| it.about().id.to_owned()),
        call: Some(it.cnode),
        seconds: it.value,
        seconds_at_most: it.value,
    };
    Ok(run.query.largest_waits(None)?.into_iter().map(one).collect())
}

/// Returns the call path of the report that findings name by its number and its steps.
pub(crate) fn call_path(run: &Run, number: u32, path: &[Step]) -> Option<CnodeId> {
    let region = path.last()?.region.as_str();
    // The number holds only for the report it was written with. Equal names are the evidence.
    let numbered = Some(CnodeId(number))
        .filter(|&it| run.query.meta().callee(it).is_some_and(|callee| callee.name == region));
    let step = |step: &'_ Step| {
        // The report uses the name of the caller where there is no file.
        let file = step.file.clone().or_else(|| step.caller.clone());
        (step.region.clone(), file, step.line)
    };
    let steps: Vec<(String, Option<String>, Option<u32>)> = path.iter().map(step).collect();
    let steps: Vec<(&str, Option<&str>, Option<u32>)> =
        steps.iter().map(|(region, file, line)| (&**region, file.as_deref(), *line)).collect();
    numbered.or_else(|| run.find_path(&steps))
}

fn finding(run: &Run, found: &findings::Finding) -> Finding {
    let meta = run.query.meta();
    let last = found.path.last();
    let region = last.map_or("?", |step| step.region.as_str());
    let metric = meta.find_metric(&found.metric);
    let title = metric.and_then(|it| meta.metric(it)).map(|it| it.disp_name.to_owned());
    let one_wait = |it: &findings::Instance| {
        words::one_wait(&OneWait {
            who: &it.who,
            on_whom: it.on_whom.as_deref(),
            seconds: it.seconds_at_most,
            is_bound: found.seconds_at_most > found.seconds,
            begin: it.begin_seconds,
        })
    };
    Finding {
        title: title.unwrap_or_else(|| found.pattern.replace('_', " ")),
        pattern: found.pattern.clone(),
        metric: metric.map(|it| it.0),
        call: call_path(run, found.call_path, &found.path).map(|it| it.0),
        region: region.to_owned(),
        path: found.path.iter().map(|step| step.region.clone()).collect(),
        file: last.and_then(|it| it.file.clone()),
        line: last.and_then(|it| it.line),
        column: last.and_then(|it| it.column),
        nth: last.and_then(|it| it.nth_on_line),
        caller: last.and_then(|it| {
            let through = words::through(it.through.as_deref().unwrap_or_default());
            Some(format!("{}{through}", it.caller.as_ref()?))
        }),
        seconds: found.seconds,
        seconds_at_most: found.seconds_at_most,
        share: found.share,
        confidence: found.confidence,
        condition: found.latency_seconds.map(words::latency),
        explanation: found.explanation.clone(),
        remedy: found.remedy.clone(),
        how_often: None,
        because: None,
        gain: None,
        worst_text: found.worst.as_ref().map(one_wait),
        worst: found.worst.clone(),
        origins: found.origins.clone(),
        targets: found.targets.clone(),
    }
}

/// Returns the largest waits of a report without findings, as `dwell report` lists them.
fn computed(run: &Run, time: f64) -> Result<(Vec<Finding>, Vec<Entry>)> {
    let (query, meta) = (&run.query, run.query.meta());
    let found = query.largest_waits(None)?;
    let (mut findings, mut entries): (Vec<Finding>, Vec<Entry>) = Default::default();
    for (at, wait_at) in (0..).zip(&found) {
        let phase = phase(run, wait_at.cnode);
        let of_run = (phase == Phase::Run).then(|| share(wait_at.value, time));
        entries.push(Entry {
            gain: None,
            id: at + 1,
            phase,
            seconds: wait_at.value,
            seconds_at_most: wait_at.value,
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
        let visits = visits
            .map(|it| wait_at.cnodes().iter().map(|&at| it.get(at, Flavour::Exclusive)).sum());
        let how_often = visits.map(|visits: f64| {
            let waiting = row.iter().filter(|it| **it > 0.0).count();
            words::how_often(&Often {
                visits: visits as u64,
                waited: None,
                seconds: (wait_at.value, wait_at.value),
                locations: (waiting as u64, row.len() as u64),
            })
        });
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
            seconds_at_most: wait_at.value,
            share: of_run,
            confidence: None,
            condition: None,
            explanation: words.map_or("", |it| it.meaning).to_owned(),
            remedy: words.map_or("", |it| it.remedy).to_owned(),
            how_often,
            because: None,
            gain: None,
            worst_text: None,
            worst: None,
            origins: worst
                .iter()
                .map(|&(location, seconds)| Share {
                    who: query.location_name(location),
                    seconds,
                    seconds_at_most: seconds,
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
    if let Some(why) = &run.unreadable {
        note("damaged", why.to_string());
    }
    let Some(document) = &run.findings else {
        let named = run.path.file_name().is_some_and(|name| name == "trace.cubex");
        if run.query.largest_waits(None).is_ok_and(|it| it.is_empty()) && !named {
            note("hint", "This report holds no waits: it is a profile. `dwell analyze` finds them in a trace.".into());
        }
        return notes;
    };
    for it in &document.damage {
        note("damaged", it.clone());
    }
    for it in &document.inefficient {
        let place = place(&it.path);
        let (least, most) = (seconds_text(it.seconds), seconds_text(it.seconds_at_most));
        let (why, remedy) = (&it.explanation, &it.remedy);
        let head = format!("Finding {}, {place}: {why}", it.id);
        note("inefficient", format!("{head}. {least} to {most} could be saved. {remedy}"));
    }
    for it in document.unexplained.iter().filter(|it| it.is_finding) {
        let (place, time) = (place(&it.path), seconds_text(it.seconds));
        note(
            "unexplained",
            format!(
                "{place}: {time} unexplained, slower than comparable calls, and no known wait fits."
            ),
        );
    }
    for it in &document.crowds {
        note("unexplained", sentence(&words::crowd(&it.node, it.processes, it.cores)));
    }
    for it in &document.not_computed {
        let what = it.pattern.replace('_', " ");
        let of = match it.calls {
            0 => String::new(),
            calls => format!(" of {} calls", grouped(calls)),
        };
        note("not computed", format!("{what}{of}: {}", it.reason));
    }
    if let Some(longest) = document.polling.first() {
        let calls = document.polling.iter().map(|it| it.calls).sum();
        let time = document.polling.iter().map(|it| it.seconds).sum();
        note("polling", sentence(&words::polling(calls, time, &place(&longest.path))));
    }
    notes
}

/// Returns the name of the last call of a path, with file and line where they are known.
fn place(path: &[Step]) -> String {
    match path.last() {
        Some(Step { region, file: Some(file), line: Some(line), .. }) => {
            format!("{region} at {}:{line}", file.rsplit('/').next().unwrap_or(file))
        }
        Some(step) => step.region.clone(),
        None => String::new(),
    }
}

/// Makes a sentence of a text: with a capital letter, and with a full stop.
fn sentence(text: &str) -> String {
    words::capital(text) + "."
}
