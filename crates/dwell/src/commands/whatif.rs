//! `dwell whatif`: predicts how long a run would have taken if something had been different.

mod adviser;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use dwell_analyze::{
    Analysis, Change, Network, Options, PredictError, PredictedLength, Prediction, ProcessNumber,
    Selection, WhatIf,
};
use dwell_model::layer::Processes;
use dwell_model::units;
use dwell_model::waits::Wait;
use dwell_report::findings::words::capital;
use dwell_report::findings::{Cause, Findings, Named};
use dwell_serve::Played;
use serde::Serialize;
use tempfile::TempDir;

use crate::commands::analyze::{self, Input};
use crate::damage;
use crate::format::seconds;
use crate::progress;
use crate::runs;
use crate::sites;
use crate::terminal;

/// Arguments of `dwell whatif`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Analyses the archive, plays the run again with the changes, and prints how long it would have taken. Without \
changes, it tries some that may pay: each cause and each finding of dwell analyze, progress without the help \
of targets, and an ideal network.

WHAT is a cause of waits by its letter in dwell analyze (A), a function with everything that it calls (relax), \
or the calls on a line of the source (halo.c:33). --balance all and --scale all=0.5 concern all computing.

The error bar is the range over what is uncertain: lower and upper bounds of waits, and whether a call that \
does not wait any more takes what was left of it or as long as the fastest. What else the change would do to \
the program is not in it: caches, other routes of messages, other results of atomics.

Exit code: 0 if there is a prediction, 1 if the run cannot be predicted, 2 if it cannot be read.

Examples:
  dwell whatif                                what would pay in the latest run here
  dwell whatif run --without wait_for_progress
  dwell whatif run --balance A                if every process computed as long there as the mean
  dwell whatif run --scale relax=0.5 --json
  dwell whatif run --progress                 would asynchronous progress pay?")]
pub(crate) struct Args {
    /// The archive: its directory, or its `.otf2` file. Without it, the newest run here.
    archive: Option<PathBuf>,
    /// Without these waits: of a finding or a cause of dwell analyze, by its id (1 or A), or of a kind, such as
    /// wait_for_progress or lock_contention.
    #[arg(long, value_name = "WAITS", value_parser = waits)]
    without: Vec<Waits>,
    /// With this many times the time: relax=0.5 if it took half as long, relax@2=0.5 if its computing did at PE 2, rank
    /// 2 or image 2 only.
    #[arg(long, value_name = "WHAT=FACTOR", value_parser = factor)]
    scale: Vec<(String, f64)>,
    /// With this work spread evenly over the processes that do it.
    #[arg(long, value_name = "WHAT")]
    balance: Vec<String>,
    /// With N operations of these calls joined into one: exchange.c:40=8.
    #[arg(long, value_name = "WHAT=N", value_parser = count)]
    join: Vec<(String, u64)>,
    /// With the lock that these calls acquire split into N, which processes use in turn.
    #[arg(long, value_name = "WHAT=N", value_parser = count)]
    split_lock: Vec<(String, u64)>,
    /// On another network: ideal, on which calls take no time but for waits, or one on which one-sided operations
    /// take this latency and their bytes at this bandwidth: latency=2us,bandwidth=10G (bytes a second).
    #[arg(long, value_name = "NETWORK", value_parser = network)]
    network: Option<Change>,
    /// With a thread in each process that serves operations of others and is always busy; the cores of a node are
    /// taken from the archive, or given here: cores=8.
    #[arg(long, value_name = "cores=N", num_args = 0..=1, default_missing_value = "", value_parser = cores)]
    async_progress: Option<Cores>,
    /// Advise whether progress without the help of targets would pay, and how to get it.
    #[arg(long)]
    progress: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Waits that the user names.
#[derive(Clone, Debug)]
enum Waits {
    Kind(Wait),
    /// Of a finding or cause with this id.
    Of(String),
}

fn waits(text: &str) -> Result<Waits, String> {
    let is_id = text.len() <= 4 && !text.chars().any(|it| it.is_ascii_lowercase());
    let known = || Wait::ALL.iter().map(|wait| wait.about().id);
    let found = Wait::ALL.iter().find(|wait| wait.about().id == text);
    if is_id {
        return Ok(Waits::Of(text.to_owned()));
    }
    found.copied().map(Waits::Kind).ok_or_else(|| {
        let nearest = terminal::nearest(text, known());
        match nearest {
            Some(nearest) => format!("there is no such wait; did you mean {nearest}?"),
            None => format!(
                "there is no such wait; there are {}",
                known().collect::<Vec<_>>().join(", ")
            ),
        }
    })
}

/// Cores of a node, if the user gives them.
#[derive(Clone, Copy, Debug)]
struct Cores(Option<u32>);

fn cores(text: &str) -> Result<Cores, String> {
    if text.is_empty() {
        return Ok(Cores(None));
    }
    let number = text.strip_prefix("cores=").and_then(|it| it.parse().ok());
    let number =
        number.filter(|it| *it > 0).ok_or("a number of cores is wanted, such as cores=8")?;
    Ok(Cores(Some(number)))
}

/// Parses `ideal`, or `latency=2us,bandwidth=10G`, of which one may be left out.
fn network(text: &str) -> Result<Change, String> {
    if text == "ideal" {
        return Ok(Change::IdealNetwork);
    }
    let wanted = "ideal is wanted, or a network such as latency=2us,bandwidth=10G";
    let mut network = Network { latency: 0, bandwidth: f64::INFINITY };
    for part in text.split(',') {
        let (name, value) = part.split_once('=').ok_or(wanted)?;
        let unknown = || format!("{value} is no {name}; {wanted}");
        match name {
            "latency" => network.latency = units::parse_duration(value).ok_or_else(unknown)?,
            "bandwidth" => {
                let bandwidth = units::parse_size(value).filter(|it| *it > 0);
                network.bandwidth = bandwidth.ok_or_else(unknown)? as f64;
            }
            _ => return Err(wanted.into()),
        }
    }
    Ok(Change::Network(network))
}

/// Parses a name and a number, as in `relax=0.5`.
fn named(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once('=').filter(|(name, number)| !name.is_empty() && !number.is_empty())
}

fn factor(text: &str) -> Result<(String, f64), String> {
    let parse = |(name, number): (&str, &str)| Some((name.to_owned(), number.parse().ok()?));
    let parsed: Option<(String, f64)> = named(text).and_then(parse);
    let parsed = parsed.filter(|it| it.1.is_finite() && it.1 >= 0.0);
    parsed.ok_or_else(|| "a name and a factor are wanted, such as relax=0.5".into())
}

fn count(text: &str) -> Result<(String, u64), String> {
    let parse = |(name, number): (&str, &str)| Some((name.to_owned(), number.parse().ok()?));
    let parsed: Option<(String, u64)> = named(text).and_then(parse).filter(|it| it.1 > 0);
    parsed.ok_or_else(|| "a name and a number above 0 are wanted, such as exchange.c:40=8".into())
}

/// A change with the words for it.
struct Asked {
    words: String,
    changes: Vec<Change>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let path = runs::ended_or_latest(args.archive.as_deref())?;
    sites::resolve(&path);
    let input = Input::open(path)?;
    let known = damage::findings_in(input.directory());
    if known.is_none() {
        input.announce();
    }
    let (place, archive, events) = input.parts();
    let bar = progress::bar(events, "events");
    let progress = |events| progress::advance(&bar, events, Some("searching for causes of waits"));
    // Without findings.json, the ids are those that dwell analyze would give.
    let predicts = known.is_none() && events <= analyze::MOST_PLAYED;
    let analysed = analysed(&input, predicts, &progress);
    bar.finish_and_clear();
    let (analysis, log) = analysed.with_context(|| place.display().to_string())?;
    damage::report(analysis.damage());
    let what_if = analysis.what_if(log.path())?;
    if args.progress {
        let cores = args.async_progress.and_then(|it| it.0);
        let choices = adviser::choices(archive, &analysis, &what_if, cores)?;
        if args.json {
            terminal::print_json(&choices)?;
        } else {
            let width = crate::listing::width().clamp(60, 120);
            terminal::print(adviser::text(&analysis, &choices, width))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let findings = known.unwrap_or_else(|| analyze::document(archive, &analysis));
    let asked = asked(args, &analysis, &findings)?;
    let is_list = asked.is_empty();
    let all = match is_list {
        false => vec![joined(asked)],
        true => candidates(&analysis, &findings),
    };
    let mut answers = Vec::new();
    for asked in all {
        let prediction = predict(&what_if, &asked)?;
        answers.push((asked.words, prediction));
    }
    let fails = answers.iter().all(|it| it.1.predicted.is_err()) && !answers.is_empty();
    if args.json {
        let list: Vec<Answer<'_>> = answers.iter().map(|it| Answer::of(&it.0, &it.1)).collect();
        match list.as_slice() {
            [one] => terminal::print_json(one)?,
            list => terminal::print_json(&list)?,
        }
    } else {
        terminal::print(text(&analysis, &answers, is_list))?;
    }
    Ok(ExitCode::from(u8::from(fails)))
}

/// Analyses an archive for predictions. The dependency log is in a directory that goes with the result.
fn analysed(
    input: &Input,
    predicts: bool,
    progress: &(dyn Fn(u64) + Sync),
) -> anyhow::Result<(Analysis, TempDir)> {
    let log = tempfile::Builder::new().prefix("dwell-dependencies-").tempdir_in(input.directory());
    // An archive that others own can be read, but not written to.
    let log =
        log.or_else(|_| tempfile::tempdir()).context("the dependency log needs a directory")?;
    let mut options = Options::default();
    options.log = Some(log.path().into());
    options.predict = predicts;
    let (_, archive, _) = input.parts();
    Ok((dwell_analyze::analyze(archive, &options, progress)?, log))
}

/// Predicts how long an analysed run would have taken without a cause or finding, for the button of the page and for assistants.
pub(super) fn play(directory: &Path, findings: &Findings, id: &str) -> anyhow::Result<Played> {
    let asked = findings.named(id).and_then(|named| match named {
        Named::Cause(place) => without_cause(findings, place),
        named => without_finding(findings, id, named),
    });
    let asked = asked.context("nothing is known that would remove this")?;
    let input = Input::open(directory.to_owned())?;
    let (analysis, log) = analysed(&input, false, &|_| ())?;
    let prediction = predict(&analysis.what_if(log.path())?, &asked)?;
    let of = |nanoseconds: u64| nanoseconds as f64 * 1e-9;
    let range = |it: PredictedLength| [of(it.expected), of(it.low), of(it.high)];
    Ok(Played {
        change: asked.words,
        recorded: of(prediction.recorded),
        predicted: prediction.predicted.map(range).map_err(|why| why.to_string()),
    })
}

fn predict(what_if: &WhatIf<'_>, asked: &Asked) -> anyhow::Result<Prediction> {
    match what_if.predict(&asked.changes) {
        Ok(prediction) => Ok(prediction),
        Err(PredictError::Selection(error)) => {
            let name = error.selection.to_string();
            match terminal::nearest(&name, error.known.iter().map(String::as_str)) {
                Some(nearest) => bail!("{error}; did you mean {nearest}?"),
                None => bail!("{error}; dwell report shows its call paths"),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns what a text selects: all computing, a cause by its letters, or a function or line by its name.
fn selection(text: &str, causes: &[Cause]) -> anyhow::Result<Selection> {
    if text == "all" {
        return Ok(Selection::Computing);
    }
    if let Some(place) = causes.iter().position(|it| it.id == text) {
        return Ok(Selection::Cause(place));
    }
    if text.len() == 1 && text.chars().all(|it| it.is_ascii_uppercase()) {
        bail!("the run has no cause {text}; dwell analyze lists its causes");
    }
    Ok(Selection::Named(text.into()))
}

/// Returns the process that has this number in its name, as in `Image 3`, and that name, so that people type what reports
/// show. Processes with names of their own are counted from 0.
fn process<'a>(analysis: &'a Analysis, number: &str) -> Option<(ProcessNumber, &'a str)> {
    let shown = |name: &str| name.rsplit_once(' ').is_some_and(|(_, last)| last == number);
    let named = analysis.process_names().find(|(_, name)| shown(name));
    named.or_else(|| {
        let counted = ProcessNumber(number.parse().ok()?);
        let has_no_number = |name: &str| Processes::of_name(name).is_none();
        analysis.process_names().find(|(it, name)| *it == counted && has_no_number(name))
    })
}

/// Returns the changes that the user asks for.
fn asked(args: &Args, analysis: &Analysis, findings: &Findings) -> anyhow::Result<Vec<Asked>> {
    let mut list = Vec::new();
    for waits in &args.without {
        let id = match waits {
            Waits::Of(id) => id,
            Waits::Kind(wait) => {
                let words = format!("without {}", wait.about().title);
                list.push(Asked { words, changes: without(*wait, None) });
                continue;
            }
        };
        let Some(named) = findings.named(id) else {
            bail!("the run has no finding {id}; dwell analyze lists {}", findings.listed().len());
        };
        let Some(asked) = without_finding(findings, id, named) else {
            bail!("finding {id} is not a wait; try --join or --network with it");
        };
        list.push(asked);
    }
    for (name, factor) in &args.scale {
        let one = name.rsplit_once('@').filter(|it| it.1.parse::<u32>().is_ok());
        let (change, words) = match one {
            Some((what, number)) => {
                let Some((process, title)) = process(analysis, number) else {
                    bail!("the run has no process {number}, but {}", analysis.processes());
                };
                let words = format!("with {factor} times the time of {what} at {title}");
                let what = selection(what, &findings.causes)?;
                (Change::ScaleAt(what, process, *factor), words)
            }
            None => {
                let words = format!("with {factor} times the time of {name}");
                (Change::Scale(selection(name, &findings.causes)?, *factor), words)
            }
        };
        list.push(Asked { words, changes: vec![change] });
    }
    for name in &args.balance {
        let changes = vec![Change::Balance(selection(name, &findings.causes)?)];
        let words = match name.as_str() {
            "all" => "with all computing balanced".into(),
            name => format!("with {name} balanced"),
        };
        list.push(Asked { words, changes });
    }
    for (name, count) in &args.join {
        let changes = vec![Change::Join(selection(name, &findings.causes)?, *count)];
        list.push(Asked { words: format!("with {count} operations of {name} joined"), changes });
    }
    for (name, count) in &args.split_lock {
        let changes = vec![Change::SplitLock(selection(name, &findings.causes)?, *count)];
        list.push(Asked { words: format!("with the lock of {name} split into {count}"), changes });
    }
    if let Some(Cores(given)) = args.async_progress {
        let known = analysis.fullest_node();
        let (processes, cores) = match (given, known) {
            (Some(cores), Some((processes, _))) => (processes, cores),
            (Some(cores), None) => {
                (analysis.processes().div_ceil(analysis.nodes().max(1)) as u32, cores)
            }
            (None, Some(known)) => known,
            (None, None) => {
                bail!("the archive does not say how many cores a node has; give them: cores=N")
            }
        };
        let changes = Change::serving_threads(processes, cores);
        let words = format!("with a thread beside each of {processes} processes on {cores} cores");
        list.push(Asked { words, changes });
    }
    if let Some(change) = &args.network {
        let words = match change {
            Change::Network(Network { latency, bandwidth }) => {
                let latency = seconds(*latency as f64 / 1e9);
                match bandwidth.is_finite() {
                    true => {
                        format!("with a latency of {latency} and {}/s", units::bytes(*bandwidth))
                    }
                    false => format!("with a latency of {latency}"),
                }
            }
            _ => "on an ideal network".into(),
        };
        list.push(Asked { words, changes: vec![change.clone()] });
    }
    Ok(list)
}

/// Joins changes to one.
fn joined(list: Vec<Asked>) -> Asked {
    let words: Vec<&str> = list.iter().map(|it| it.words.as_str()).collect();
    let words = words.join(", ");
    Asked { words, changes: list.into_iter().flat_map(|it| it.changes).collect() }
}

/// Returns the changes that remove a wait. Waits for one and for several targets go together.
fn without(wait: Wait, at: Option<Selection>) -> Vec<Change> {
    let mut list = vec![Change::Without(wait, at.clone())];
    if wait == Wait::WaitForProgress {
        list.push(Change::Without(Wait::WaitForProgressMulti, at));
    }
    list
}

/// Returns the changes that remove the waits of a finding or of a cause.
fn without_finding(findings: &Findings, id: &str, named: Named) -> Option<Asked> {
    let waits = findings.waits_of(named);
    let (_, pattern) = waits.first()?;
    let change = |(call_path, pattern): &(u32, &str)| {
        let wait = Wait::ALL.iter().find(|wait| wait.about().id == *pattern)?;
        Some(without(*wait, Some(Selection::CallPath(*call_path))))
    };
    let changes = waits.iter().filter_map(change).flatten().collect();
    let call = match named {
        Named::Entry(at) => {
            let first = findings.entries.get(at).and_then(|it| it.findings.first());
            let first = first.and_then(|at| findings.findings.get(*at as usize));
            first.and_then(|it| it.path.last())
        }
        _ => {
            return Some(Asked {
                words: format!("without the waits that cause {id} makes"),
                changes,
            });
        }
    };
    let call = call.map_or("", |step| step.region.as_str());
    let words = format!("without finding {id}: {} in {call}", title(pattern));
    Some(Asked { words, changes })
}

/// Returns the title of a wait.
fn title(pattern: &str) -> &str {
    let found = Wait::ALL.iter().find(|wait| wait.about().id == pattern);
    found.map_or(pattern, |wait| wait.about().title)
}

/// Greatest number of causes and of findings that are tried.
const TRIED: usize = 5;

/// Returns the change that removes a cause: computing is balanced, or takes half as long where no other process does it.
/// Without computing, the waits go that it caused.
fn without_cause(findings: &Findings, place: usize) -> Option<Asked> {
    let Cause { id, computing_seconds, others_seconds, .. } = findings.causes.get(place)?;
    let cause = Selection::Cause(place);
    let (words, change) = match (computing_seconds, others_seconds) {
        (None, _) => return without_finding(findings, id, Named::Cause(place)),
        (Some(_), Some(_)) => (format!("with cause {id} balanced"), Change::Balance(cause)),
        // There is nothing to balance it with.
        (Some(_), None) => {
            (format!("with cause {id} taking half as long"), Change::Scale(cause, 0.5))
        }
    };
    Some(Asked { words, changes: vec![change] })
}

/// Returns changes that may pay.
fn candidates(analysis: &Analysis, findings: &Findings) -> Vec<Asked> {
    let mut list = Vec::new();
    // Less than 2 % would not be noticed.
    if analysis.efficiency().is_some_and(|it| it.load_balance < 0.98) {
        let changes = vec![Change::Balance(Selection::Computing)];
        list.push(Asked { words: "with all computing balanced".into(), changes });
    }
    let computes = |it: &(usize, &Cause)| it.1.computing_seconds.is_some();
    let causes = findings.causes.iter().take(TRIED).enumerate().filter(computes);
    list.extend(causes.filter_map(|(place, _)| without_cause(findings, place)));
    for (id, named) in findings.listed().into_iter().take(TRIED) {
        list.extend(without_finding(findings, &id.to_string(), named));
    }
    if analysis.findings().iter().any(|it| it.pattern == Wait::WaitForProgress.about().id) {
        let title = Wait::WaitForProgress.about().title;
        list.push(Asked {
            words: format!("without {title}"),
            changes: without(Wait::WaitForProgress, None),
        });
    }
    list.push(Asked { words: "on an ideal network".into(), changes: vec![Change::IdealNetwork] });
    list
}

/// A prediction as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    change: &'a str,
    recorded_seconds: f64,
    /// `None` if the run cannot be predicted.
    predicted_seconds: Option<f64>,
    low_seconds: Option<f64>,
    high_seconds: Option<f64>,
    reason: Option<String>,
}

impl<'a> Answer<'a> {
    fn of(change: &'a str, prediction: &Prediction) -> Self {
        let of = |nanoseconds: u64| nanoseconds as f64 * 1e-9;
        let range = prediction.predicted.as_ref().ok();
        Self {
            change,
            recorded_seconds: of(prediction.recorded),
            predicted_seconds: range.map(|it| of(it.expected)),
            low_seconds: range.map(|it| of(it.low)),
            high_seconds: range.map(|it| of(it.high)),
            reason: prediction.predicted.as_ref().err().map(ToString::to_string),
        }
    }
}

/// Returns the answers in words. In a list of changes that may pay, those that would not make the run shorter come last,
/// under a heading of their own.
fn text(analysis: &Analysis, answers: &[(String, Prediction)], is_list: bool) -> String {
    let of = |nanoseconds: u64| seconds(nanoseconds as f64 * 1e-9);
    let mut text = format!("The run took {}.\n\n", of(analysis.length()));
    let pays = |(_, it): &&(String, Prediction)| {
        it.predicted.as_ref().is_ok_and(|range| share(it.recorded, range) >= LEAST)
    };
    let (paying, others): (Vec<_>, Vec<_>) = answers.iter().partition(|it| !is_list || pays(it));
    let heading = (!others.is_empty()).then_some(paying.len());
    for (at, (words, prediction)) in paying.into_iter().chain(others).enumerate() {
        if heading == Some(at) {
            let gap = if at > 0 { "\n" } else { "" };
            let _ = writeln!(text, "{gap}These would not make it shorter:\n");
        }
        let _ = match &prediction.predicted {
            Ok(range) => writeln!(
                text,
                "{}\n    {}, {}{}",
                capital(words),
                of(range.expected),
                gain(prediction.recorded, range),
                bar(range),
            ),
            Err(reason) => writeln!(text, "{}\n    cannot be predicted: {reason}", capital(words)),
        };
    }
    text
}

/// Returns the error bar, unless there is none.
fn bar(range: &PredictedLength) -> String {
    let of = |nanoseconds: u64| seconds(nanoseconds as f64 * 1e-9);
    let [low, high] = [range.low, range.high].map(of);
    match low == high {
        true => String::new(),
        false => format!("; between {low} and {high}"),
    }
}

/// Returns by how much the run would be shorter.
fn gain(recorded: u64, range: &PredictedLength) -> String {
    match share(recorded, range) {
        share if share >= LEAST => format!("{share:.1} % shorter"),
        share if share <= -LEAST => format!("{:.1} % longer", -share),
        _ => "no change".into(),
    }
}

/// Least change in percent that is one as printed.
const LEAST: f64 = 0.05;

/// Returns the part in percent by which the run would be shorter.
fn share(recorded: u64, range: &PredictedLength) -> f64 {
    (recorded as f64 - range.expected as f64) * 100.0 / recorded.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::{Waits, count, factor, waits};

    #[test]
    fn names_and_numbers() {
        assert_eq!(factor("relax=0.5"), Ok(("relax".into(), 0.5)));
        assert_eq!(factor("a=b=2"), Ok(("a=b".into(), 2.0)));
        assert!(factor("relax").is_err());
        assert!(factor("relax=-1").is_err());
        assert_eq!(count("halo.c:33=8"), Ok(("halo.c:33".into(), 8)));
        assert!(count("halo.c:33=0").is_err());
        assert!(matches!(waits("wait_for_progress"), Ok(Waits::Kind(_))));
        assert!(matches!((waits("12"), waits("A")), (Ok(Waits::Of(_)), Ok(Waits::Of(_)))));
        assert!(waits("wait_for_progres").unwrap_err().contains("did you mean wait_for_progress?"));
    }
}
