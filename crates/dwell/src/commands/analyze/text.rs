//! Formats the summary of an analysis for a terminal.

use std::fmt::Write as _;
use std::path::Path;

use dwell_analyze::{
    Analysis, Critical, Efficiency, Entry, Factors, Finding, Instance, Meanwhile, Phase,
    ProgramPhase, Serves,
};
use dwell_report::findings::causes::because;
use dwell_report::findings::gain;
use dwell_report::findings::words::{self as sentences, Often, OneWait};
use dwell_report::findings::{Findings, Named};

use super::Input;
use super::functions;
use super::inefficient::evidence;
use super::iterations;
use super::words::{amount, call, counted, in_seconds, meaning, path, percent, shares, time};
use crate::format::grouped;
use crate::page::Page;
use crate::terminal::visible;

/// Greatest number of call paths of the critical path in the summary.
const CRITICAL_LISTED: usize = 3;

/// Greatest number of phases of the program in the summary.
const PHASES_LISTED: usize = 3;

/// Greatest number of call paths with unexplained time in the summary.
const UNEXPLAINED_LISTED: usize = 3;

/// Greatest number of call paths that wait in start-up or shutdown in the summary.
const APART_LISTED: usize = 3;

/// Returns the summary as a page for the terminal.
pub(super) fn summary(input: &Input, analysis: &Analysis, document: &Findings, top: usize) -> Page {
    let mut page = Page::for_output();
    head(&mut page, &input.path, analysis);
    page.say(&visible(&document.verdict.head), 2);
    causes(&mut page, analysis, document, top);
    entries(&mut page, analysis, document, top);
    functions::section(&mut page, document.functions.as_ref(), top);
    iterations::section(&mut page, document.iterations.as_ref());
    apart(&mut page, analysis);
    unexplained(&mut page, analysis);
    polling(&mut page, analysis);
    let notes = analysis.not_computed().iter().map(ToString::to_string);
    let damage = analysis.damage().iter().map(|it| format!("damaged: {it}"));
    let notes: Vec<String> = notes.chain(damage).collect();
    if !notes.is_empty() {
        page.end();
    }
    for note in notes {
        let _ = writeln!(page.text, "{}", visible(&note));
    }
    page.end();
    let directory = input.directory().display();
    page.say(&format!("next: dwell view {directory}, or dwell report {directory} here"), 2);
    page
}

/// Adds the size of the run and the time that it waits.
fn head(page: &mut Page, path: &Path, analysis: &Analysis) {
    let times = analysis.times();
    page.heading(
        &format!(
            "{}: {}, {}, {} long",
            path.display(),
            counted(analysis.processes() as u64, "process", "processes"),
            counted(analysis.events(), "event", "events"),
            time(analysis.length()),
        ),
        2,
    );
    let mut apart = Vec::new();
    for (nanoseconds, name) in [(times.start_up, "start-up"), (times.shutdown, "shutdown")] {
        if nanoseconds > 0 {
            apart.push(format!("{} of {name}", time(nanoseconds)));
        }
    }
    let apart = match apart.as_slice() {
        [] => String::new(),
        parts => format!(" ({}, excluded)", parts.join(" and ")),
    };
    let processes = counted(analysis.processes() as u64, "process", "processes");
    page.say(&format!("{} of process time in {processes}{apart}", time(times.run)), 2);
    let of_run = || analysis.entries().iter().filter(|it| it.phase == Phase::Run);
    let bounds = (of_run().map(|it| it.nanoseconds).sum(), of_run().map(|it| it.at_most).sum());
    page.say(
        &format!("waits take {} of the run, {}", amount(bounds), percent(bounds, times.run)),
        2,
    );
    if let Some(Efficiency { parallel, load_balance, communication, factors }) =
        analysis.efficiency()
    {
        let [parallel, balance, communication] =
            [parallel, load_balance, communication].map(|part| format!("{:.0} %", 100.0 * part));
        page.say(
            &format!(
                "parallel efficiency {parallel} = load balance {balance} x communication \
                 efficiency {communication}"
            ),
            2,
        );
        if let Some(factors) = factors {
            let Factors { serialisation, progress, transfer } = factors;
            let [serialisation, progress, transfer] =
                [serialisation, progress, transfer].map(|part| format!("{:.0} %", 100.0 * part));
            page.say(
                &format!(
                    "communication efficiency = serialisation {serialisation} x progress {progress} x \
                     transfer {transfer}"
                ),
                2,
            );
            contradiction(page, analysis, factors);
        }
    }
    for phase in analysis.program_phases().iter().take(PHASES_LISTED) {
        page.say(&program_phase(phase), 2);
    }
    // Parts below 1 % are of no use.
    let large = |it: &&Critical| it.nanoseconds.saturating_mul(100) >= it.of;
    let critical: Vec<String> =
        analysis.critical().iter().filter(large).take(CRITICAL_LISTED).map(on_path).collect();
    if !critical.is_empty() {
        page.say(&format!("the critical path of the run is {}", critical.join(", ")), 2);
    }
    if let Some(residual) = analysis.clock_residual() {
        page.say(
            &format!(
                "clocks of different nodes agree to within {}: a single wait between nodes may be \
                 wrong by that",
                time(residual)
            ),
            2,
        );
    }
}

/// Explains a factor of progress that seems to contradict long waits for progress.
fn contradiction(page: &mut Page, analysis: &Analysis, factors: Factors) {
    let is_of_progress = |it: &&Finding| it.phase == Phase::Run && it.latency.is_some();
    let waits: u64 =
        analysis.findings().iter().filter(is_of_progress).map(|it| it.nanoseconds).sum();
    let run = analysis.times().run;
    let lost = 1.0 - factors.progress;
    // A part that is less than a fifth of what waits is hard to believe without a reason.
    if waits.saturating_mul(20) >= run && lost * 5.0 * (run as f64) < waits as f64 {
        let part = percent((waits, waits), run);
        page.say(
            &format!(
                "waits for progress take {part} of the run, but without them processes would wait elsewhere instead"
            ),
            2,
        );
    }
}

/// Says which part of the critical path a call path is.
fn on_path(it: &Critical) -> String {
    let part = percent((it.nanoseconds, it.nanoseconds), it.of);
    let what = if it.is_call { "in" } else { "computing in" };
    format!("{part} {what} {}", call(&it.path))
}

/// Adds what processes did that made others wait.
fn causes(page: &mut Page, analysis: &Analysis, document: &Findings, top: usize) {
    let causes = &document.causes;
    if causes.is_empty() {
        return;
    }
    page.end();
    page.heading("root causes, most expensive first", 2);
    for (cause, of) in causes.iter().zip(analysis.causes()).take(top) {
        page.end();
        let said = cause.said();
        // What is uncertain by less than a hundredth is not worth two numbers.
        let margin = if of.margin < of.cost() / 100 { 0 } else { of.margin };
        let bounds = (of.cost().saturating_sub(margin), of.cost() + margin);
        let (time, part) = (amount(bounds), percent(bounds, analysis.times().run));
        let (id, head) = (&cause.id, visible(&said.head));
        page.heading(&format!("{id}. {head}: {time} of waits, {part} of the run"), 3);
        if !of.path.is_empty() {
            page.tell_path(&path(&of.path));
        }
        let facts = [
            ("how long", said.how_long),
            ("longer", said.why_longer),
            ("where", said.inside),
            ("costs", Some(said.costs)),
            ("passed on", said.passed_on),
            ("who", (of.processes.len() > 1).then(|| format!("most: {}", shares(&of.processes)))),
        ];
        for (label, fact) in facts {
            fact.into_iter().for_each(|fact| page.tell(label, &visible(&fact)));
        }
    }
    let rest = causes.len().saturating_sub(top) as u64;
    if rest > 0 {
        page.end();
        page.say(&format!("{} more in findings.json", counted(rest, "cause", "causes")), 2);
    }
}

/// Describes a phase that the program declares.
fn program_phase(phase: &ProgramPhase) -> String {
    let name = &phase.name;
    let often = match phase.instances {
        1 => "once".into(),
        count => format!("{} times", grouped(count)),
    };
    let how = match phase.efficiency {
        None => String::new(),
        Some(Efficiency { parallel, load_balance, communication, .. }) => {
            let [parallel, balance, communication] = [parallel, load_balance, communication]
                .map(|part| format!("{:.0} %", 100.0 * part));
            format!(
                ": parallel efficiency {parallel} = load balance {balance} x communication \
                 efficiency {communication}"
            )
        }
    };
    format!("phase {name}, {often}, {}{how}", time(phase.length))
}

/// Adds the ranking of the run: call paths that wait, and inefficient communication.
fn entries(page: &mut Page, analysis: &Analysis, document: &Findings, top: usize) {
    let run = analysis.times().run;
    let of_run = || analysis.entries().iter().filter(|it| it.phase == Phase::Run);
    let listed = document.listed();
    if !listed.is_empty() {
        page.end();
        page.heading("findings, the greatest gain first", 2);
    }
    for (id, named) in listed.iter().take(top) {
        page.end();
        match *named {
            Named::Entry(at) => entry(page, analysis, document, (*id, at)),
            Named::Inefficient(at) => inefficiency(page, analysis, document, (*id, at)),
            Named::Cause(_) => {}
        }
    }
    if of_run().next().is_none() {
        page.say("no call waits for another process", 2);
    }
    let rest = listed.len().saturating_sub(top) as u64;
    if rest > 0 {
        page.end();
        page.say(&format!("{} more in findings.json", counted(rest, "entry", "entries")), 2);
    }
    let small: Vec<&Entry> = of_run().filter(|it| it.is_small(run)).collect();
    if !small.is_empty() {
        let bounds =
            (small.iter().map(|it| it.nanoseconds).sum(), small.iter().map(|it| it.at_most).sum());
        if rest == 0 {
            page.end();
        }
        let (waits, each) = if small.len() == 1 { ("waits", "") } else { ("wait", " each") };
        page.say(
            &format!(
                "{} {waits} less than 0.1 % of the run{each}, {} in all",
                counted(small.len() as u64, "call path", "call paths"),
                amount(bounds)
            ),
            2,
        );
    }
}

/// Adds a call path that waits.
fn entry(page: &mut Page, analysis: &Analysis, document: &Findings, (id, at): (u32, usize)) {
    let run = analysis.times().run;
    let Some((entry, written)) = analysis.entries().get(at).zip(document.entries.get(at)) else {
        return;
    };
    let findings = analysis.findings().get(entry.findings.clone()).unwrap_or_default();
    let Some((main, others)) = findings.split_first() else { return };
    let bounds = (entry.nanoseconds, entry.at_most);
    page.heading(
        &format!(
            "{id}. {} waits {}, {} of the run",
            call(&main.path),
            amount(bounds),
            percent(bounds, run)
        ),
        3,
    );
    page.tell("why", &format!("{} ({})", meaning(main.pattern), main.pattern));
    page.tell_path(&path(&main.path));
    page.tell("how often", &how_often(main, analysis.locations() as u64));
    if let Some(worst) = &main.worst {
        page.tell("worst", &instance(worst, main.at_most > main.nanoseconds));
        if let (Some(who), Some(doing)) = (&worst.partner, &worst.meanwhile) {
            page.tell("meanwhile", &meanwhile(who, doing, main.latency.is_some()));
        }
    }
    if let Some(because) = because(&document.causes, main.call_path, main.pattern) {
        page.tell("because", &visible(&because));
    }
    page.tell("who waits", &format!("most: {}", shares(&main.origins)));
    if !main.targets.is_empty() {
        page.tell("on whom", &format!("most: {}", shares(&main.targets)));
    }
    if let Some(served) = main.served.filter(|it| *it > 0) {
        let words = format!("other processes for up to {} of it", amount((served, served)));
        page.tell("served", &words);
    }
    if let Some(main) = document.findings.get(entry.findings.start) {
        page.tell("to do", &main.remedy);
    }
    if let Some(gain) = &written.gain {
        page.tell("gain", &visible(&gain::words(gain, document.length_seconds)));
    }
    page.tell("how sure", &how_sure(main));
    for (at, other) in others.iter().enumerate() {
        let bounds = (other.nanoseconds, other.at_most);
        let content = format!(
            "{}, {}: {} ({}, {})",
            amount(bounds),
            percent(bounds, run),
            meaning(other.pattern),
            other.pattern,
            other.confidence.name()
        );
        page.tell(if at == 0 { "and" } else { "" }, &content);
    }
}

/// Adds inefficient communication.
fn inefficiency(page: &mut Page, analysis: &Analysis, document: &Findings, (id, at): (u32, usize)) {
    let Some((it, written)) = analysis.inefficient().get(at).zip(document.inefficient.get(at))
    else {
        return;
    };
    let run = analysis.times().run;
    let bounds = (it.nanoseconds, it.at_most);
    page.heading(
        &format!(
            "{id}. {}: {} could be saved, {} of the run",
            call(&it.path),
            amount(bounds),
            percent(bounds, run)
        ),
        3,
    );
    page.tell("why", &format!("{} ({})", meaning(it.pattern), it.pattern));
    page.tell_path(&path(&it.path));
    page.tell("evidence", &evidence(it));
    if !it.origins.is_empty() {
        page.tell("who", &format!("most: {}", shares(&it.origins)));
    }
    page.tell("to do", &written.remedy);
    page.tell("how sure", "an estimate; no wait is counted in it");
}

/// Adds the waits of start-up and shutdown.
fn apart(page: &mut Page, analysis: &Analysis) {
    for (phase, whole) in
        [(Phase::StartUp, analysis.times().start_up), (Phase::Shutdown, analysis.times().shutdown)]
    {
        let of: Vec<&Entry> = analysis.entries().iter().filter(|it| it.phase == phase).collect();
        if of.is_empty() {
            continue;
        }
        let sum = |bound: fn(&Entry) -> u64| of.iter().map(|it| bound(it)).sum();
        let bounds = (sum(|it| it.nanoseconds), sum(|it| it.at_most));
        page.end();
        page.say(&format!("{}: waits take {} of {}", phase.name(), amount(bounds), time(whole)), 2);
        for it in of.iter().take(APART_LISTED) {
            let findings = analysis.findings().get(it.findings.clone()).unwrap_or_default();
            let Some(main) = findings.first() else { continue };
            let names: Vec<&str> = findings.iter().map(|it| it.pattern).collect();
            let bounds = (it.nanoseconds, it.at_most);
            let (place, names) = (call(&main.path), names.join(", "));
            page.item(&format!("{} in {place} ({names})", amount(bounds)));
        }
        let rest = of.len().saturating_sub(APART_LISTED) as u64;
        if rest > 0 {
            let rest = counted(rest, "call path", "call paths");
            page.item(&format!("and {rest} more in findings.json"));
        }
    }
}

/// Adds unexplained time where it is enough to be a finding.
fn unexplained(page: &mut Page, analysis: &Analysis) {
    let large: Vec<_> = analysis.unexplained().iter().filter(|it| it.is_finding).collect();
    if large.is_empty() {
        return;
    }
    page.end();
    page.say(
        &format!(
            "unexplained: {} in calls that take longer than others of their class, and that no wait explains",
            time(large.iter().map(|it| it.nanoseconds).sum())
        ),
        2,
    );
    for it in large.iter().take(UNEXPLAINED_LISTED) {
        let mut text = format!("{} in {}", time(it.nanoseconds), call(&it.path));
        if it.too_few == it.nanoseconds {
            text.push_str("; too few calls to compare");
        } else if let Some(each) = it.transfer.checked_div(it.visits) {
            let _ = write!(text, "; such calls take {}", time(each));
        }
        if let Some((longest, who)) = &it.longest {
            let _ = write!(text, "; the longest takes {} more, at {who}", time(*longest));
        }
        let _ = write!(text, "; who: {}", shares(&it.origins));
        if !it.targets.is_empty() {
            let _ = write!(text, "; away meanwhile: {}", shares(&it.targets));
        }
        page.item(&visible(&text));
    }
    let rest = large.len().saturating_sub(UNEXPLAINED_LISTED) as u64;
    if rest > 0 {
        let rest = counted(rest, "call path", "call paths");
        page.item(&format!("and {rest} more in findings.json"));
    }
    for it in analysis.crowds() {
        page.item(&sentences::crowd(&visible(&it.node), it.processes, it.cores));
    }
}

/// Adds polling loops.
fn polling(page: &mut Page, analysis: &Analysis) {
    let loops = analysis.polling();
    let Some(longest) = loops.first() else { return };
    page.end();
    let ended = match longest.targets.as_slice() {
        [] => String::new(),
        some => format!(", ended by {}", shares(some)),
    };
    let calls = loops.iter().map(|it| it.calls).sum();
    let time = in_seconds(loops.iter().map(|it| it.nanoseconds).sum());
    let told = sentences::polling(calls, time, &call(&longest.path));
    page.say(&format!("polling: {told}{ended}"), 2);
}

/// Returns the number of calls that waited, their mean wait, and the number of locations.
fn how_often(finding: &Finding, locations: u64) -> String {
    sentences::how_often(&Often {
        visits: finding.visits,
        waited: Some(finding.calls),
        seconds: (in_seconds(finding.nanoseconds), in_seconds(finding.at_most)),
        locations: (finding.locations, locations),
    })
}

/// Describes a single wait.
fn instance(it: &Instance, is_bound: bool) -> String {
    let partner = it.partner.as_deref().map(visible);
    sentences::one_wait(&OneWait {
        who: &visible(&it.process),
        on_whom: partner.as_deref(),
        seconds: in_seconds(it.nanoseconds),
        is_bound,
        begin: in_seconds(it.begin),
    })
}

/// Greatest number of calls of a partner that the summary names.
const MEANWHILE_LISTED: usize = 3;

/// Describes the activity of the process that was waited for and, for waits for progress, which of its calls served
/// no other process.
fn meanwhile(who: &str, doing: &Meanwhile, of_progress: bool) -> String {
    let whole = doing.computing + doing.calls.iter().map(|it| it.nanoseconds).sum::<u64>();
    let is_much = |part: u64| part.saturating_mul(100) >= whole;
    let mut parts: Vec<(u64, String)> = Vec::new();
    if doing.computing > 0 && is_much(doing.computing) {
        parts.push((doing.computing, format!("computed for {}", time(doing.computing))));
    }
    for it in &doing.calls {
        let (one, several) = match it.serves {
            _ if !of_progress => ("", ""),
            Serves::Always => ("", ""),
            Serves::Maybe => (", which may serve nobody", ", which may serve nobody"),
            Serves::Never => (", which serves nobody", ", which serve nobody"),
            Serves::Outlived => ("", ", none of which served it"),
            Serves::NotOnItself => {
                (" on itself, which serves nobody", " on itself, which serve nobody")
            }
        };
        if !is_much(it.nanoseconds) && several.is_empty() {
            continue;
        }
        let (call, took) = (call(std::slice::from_ref(&it.call)), time(it.nanoseconds));
        let text = match it.count {
            1 => format!("was in {call} for {took}{one}"),
            count => format!("made {} calls of {call}{several} ({took})", grouped(count)),
        };
        parts.push((it.nanoseconds, text));
    }
    // Sorting is stable: the longest comes first.
    parts.sort_by_key(|part| std::cmp::Reverse(part.0));
    let parts: Vec<String> =
        parts.into_iter().take(1 + MEANWHILE_LISTED).map(|part| part.1).collect();
    format!("{} {}", visible(who), parts.join("; "))
}

/// Describes the certainty of a finding and the condition on which it holds.
fn how_sure(finding: &Finding) -> String {
    let word = finding.confidence.name();
    match finding.latency {
        Some(latency) => format!("{word}, {}", sentences::latency(in_seconds(latency))),
        None => word.to_owned(),
    }
}
