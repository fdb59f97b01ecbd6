//! `dwell analyze`: finds the waits in an archive, writes the report, tells what was found.
//!
//! # `findings.json`
//!
//! An object; all times are seconds.
//!
//! | field | is |
//! |---|---|
//! | `version` | 1 |
//! | `processes`, `locations`, `events` | how many |
//! | `length_seconds`, `time_seconds` | from the first event to the last; over all locations |
//! | `clock_residual_seconds` | how far clocks of different nodes may be apart after correction; null for one node |
//! | `findings` | the waits, the longest first: by `seconds`, then by `seconds_at_most` |
//! | `unconfirmed` | time that looks like waits for progress but is unexplained, for each call path: `pattern`, `layer`, `seconds`, `reason`, `visits`, `path_seconds`, `path`, `call_path`, `locations`, `origins`, `targets` |
//! | `polling` | loops over calls that test; no waits: `layer`, `calls`, `seconds`, `path`, `locations` |
//! | `not_computed` | `pattern`, `calls` (0 for all) and `reason` |
//! | `damage` | what is wrong with the archive |
//!
//! A finding:
//!
//! | field | is |
//! |---|---|
//! | `pattern`, `metric`, `layer` | id of the pattern, name in `trace.cubex`, whose call it is |
//! | `seconds`, `seconds_at_most`, `share` | lower and upper bound; share of `time_seconds` |
//! | `confidence` | exact, by rule, lower bound, between bounds, inferred |
//! | `latency_seconds` | waits for progress: how long requests were taken to travel; otherwise null |
//! | `visits`, `path_seconds`, `locations` | calls and time of the call path; how many locations wait |
//! | `path` | the calls from the outermost on: `region`, `file`, `line`, `caller` |
//! | `call_path` | number of the call path in `trace.cubex` |
//! | `origins`, `targets` | who waits and who is waited for most: `who`, `seconds`, `seconds_at_most` |
//! | `explanation`, `remedy` | in plain words |

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use dwell_analyze::{Analysis, Finding, Options, Share, Step, analyze, least_memory};
use dwell_model::layer::Layer;
use dwell_report::wait;
use otf2::Archive;
use serde_json::{Value, json};

use crate::format::{bytes, grouped, seconds, shorten, wrap};
use crate::output;
use crate::profile;
use crate::progress;
use crate::runs;
use crate::sites;
use crate::terminal::{self, line, note, visible};

/// Arguments of `dwell analyze`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Writes DIR/trace.cubex, which `dwell report`, CubeGUI and others read, and DIR/findings.json, and prints \
the longest waits. What could not be computed is named, never reported as 0.

Exit code: 0 if all was analysed, 1 if something in the archive is damaged, 2 if it cannot be read.

Examples:
  dwell analyze                          the latest run here
  dwell analyze run --memory 8G          with more memory, in fewer and longer windows
  dwell analyze run --layer mpi          judge at MPI, below a library that uses it")]
pub(crate) struct Args {
    /// The archive: its directory, or its `.otf2` file. Without it, the newest `dwell-*` directory
    /// here.
    archive: Option<PathBuf>,
    /// Threads to use; as many as there are cores if not given.
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "N")]
    threads: usize,
    /// Memory to stay within, such as 500M or 4G, but for the result itself.
    #[arg(long, default_value = "2G", value_parser = size, value_name = "SIZE")]
    memory: u64,
    /// Layer to judge waits at: shmem, mpi, armci, caf, gasnet, upc. The outermost if not given.
    #[arg(long, value_parser = layer, value_name = "NAME")]
    layer: Option<Layer>,
    /// How many waits to print.
    #[arg(long, default_value_t = 5, value_name = "N")]
    top: usize,
    /// Print JSON: what findings.json holds.
    #[arg(long)]
    json: bool,
}

fn layer(name: &str) -> Result<Layer, String> {
    let names = || Layer::ALL.iter().map(|layer| layer.name()).collect::<Vec<_>>().join(", ");
    Layer::from_name(name).ok_or_else(|| format!("no such layer; there are {}", names()))
}

/// A number of bytes with an optional unit.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor: u64 = match text.get(digits.len()..).unwrap_or_default().to_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        "T" | "TB" | "TIB" => 1 << 40,
        _ => return Err("units are K, M, G and T".into()),
    };
    let number: u64 = digits.parse().map_err(|_| "a number such as 500M is needed".to_owned())?;
    number.checked_mul(factor).filter(|size| *size > 0).ok_or_else(|| "out of range".into())
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let path = runs::ended_or_latest(args.archive.as_deref())?;
    Archive::open(&path)?;
    sites::resolve(&path);
    let archive = Archive::open(&path)?;
    let directory = match path.is_dir() {
        true => path.as_path(),
        false => path.parent().unwrap_or(Path::new(".")),
    };
    let definitions = archive.definitions()?;
    let total: u64 = definitions.locations().map(|it| it.number_of_events).sum();
    let locations = definitions.locations().count();
    if total == 0 && profile::make(directory)?.is_some() {
        bail!(
            "{}: there is a profile and no trace; next: dwell report {}",
            path.display(),
            path.display()
        );
    }
    if args.memory < least_memory(locations) {
        let least = bytes(least_memory(locations) as f64);
        note!("{locations} locations need {least}, which is more than --memory allows");
    }
    let bar = progress::bar(total, "events");
    let mut options = Options::default();
    options.threads = args.threads;
    options.memory = args.memory;
    options.layer = args.layer;
    let analysis = analyze(&archive, &options, &|events| bar.inc(events));
    bar.finish_and_clear();
    let analysis = analysis.with_context(|| path.display().to_string())?;

    let report = directory.join("trace.cubex");
    analysis.write_report(&report)?;
    let document = document(&analysis);
    let findings = directory.join("findings.json");
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    dwell_files::write(&findings, &text).with_context(|| output::cannot(&findings))?;
    if args.json {
        terminal::print_json(&document)?;
    } else {
        let width = console::Term::stdout().size_checked().map_or(100, |(_, w)| usize::from(w));
        let summary = summary(&path, &analysis, args.top, width.clamp(60, 120));
        let directory = directory.display();
        line!("{summary}next: dwell view {directory}, or dwell report {directory} here")?;
    }
    Ok(ExitCode::from(u8::from(!analysis.damage().is_empty())))
}

/// What happened, and what can be done about it.
fn about_pattern(metric: &str) -> (&'static str, &'static str) {
    // A test holds that every pattern has its words.
    wait(metric).map_or(("", ""), |about| (about.meaning, about.remedy))
}

/// How sure a finding is, and on what condition.
fn how_sure(finding: &Finding) -> String {
    let word = finding.confidence.name();
    match finding.latency {
        Some(0) => format!("{word}, if requests travel in no time: the archive does not say"),
        Some(latency) => {
            format!("{word}, if requests travel at least {}", seconds(latency as f64 / 1e9))
        }
        None => word.to_owned(),
    }
}

/// One time, or two bounds.
fn amount_text(least: u64, most: u64) -> String {
    let least_text = seconds(least as f64 / 1e9);
    match most > least {
        true => format!("{least_text} to {}", seconds(most as f64 / 1e9)),
        false => least_text,
    }
}

/// A call path in one line.
fn path_text(path: &[Step]) -> String {
    path.iter().map(|step| visible(&step.region)).collect::<Vec<_>>().join(" / ")
}

/// The last call, and where it stands in the program.
fn call_text(path: &[Step]) -> String {
    let Some(step) = path.last() else { return String::new() };
    match &step.site {
        Some(site) if !site.file.is_empty() => {
            let file = Path::new(&site.file).file_name().unwrap_or_default().to_string_lossy();
            let (region, function) = (visible(&step.region), visible(&site.function));
            format!("{region} at {}:{} in {function}", visible(&file), site.line)
        }
        Some(site) => format!("{} in {}", visible(&step.region), visible(&site.function)),
        None => visible(&step.region).into_owned(),
    }
}

fn share_text(shares: &[Share]) -> String {
    let one =
        |it: &Share| format!("{} ({})", visible(&it.who), amount_text(it.nanoseconds, it.at_most));
    shares.iter().take(3).map(one).collect::<Vec<_>>().join(", ")
}

/// What a person reads.
fn summary(path: &Path, analysis: &Analysis, top: usize, width: usize) -> String {
    let mut text = String::new();
    let time = analysis.time() as f64 / 1e9;
    let waits = analysis.findings().iter().map(|it| it.nanoseconds).sum::<u64>() as f64 / 1e9;
    let percent = |part: f64| if time > 0.0 { 100.0 * part / time } else { 0.0 };
    let _ = writeln!(
        text,
        "{}: {} processes, {} events, {} long, {} of time over all of them",
        path.display(),
        grouped(analysis.processes() as u64),
        grouped(analysis.events()),
        seconds(analysis.length() as f64 / 1e9),
        seconds(time),
    );
    let _ = writeln!(text, "waits take {} of it, {:.1} %", seconds(waits), percent(waits));
    if let Some(residual) = analysis.clock_residual() {
        let residual = seconds(residual as f64 / 1e9);
        let _ = writeln!(
            text,
            "clocks of different nodes agree to within {residual}: a single wait between nodes may be \
             wrong by that"
        );
    }
    for (number, finding) in (1..).zip(analysis.findings().iter().take(top)) {
        let amount = amount_text(finding.nanoseconds, finding.at_most);
        let _ = writeln!(
            text,
            "\n{number}. {} waits {amount}, {:.1} % of the time",
            call_text(&finding.path),
            percent(finding.seconds())
        );
        let mut line = |label: &str, content: &str| {
            for (at, part) in wrap(content, width - 13).iter().enumerate() {
                let _ = writeln!(text, "   {:9} {part}", if at == 0 { label } else { "" });
            }
        };
        let (meaning, remedy) = about_pattern(&finding.metric);
        line("why", &format!("{meaning} ({})", finding.pattern));
        line("path", &shorten(&path_text(&finding.path), width - 13));
        line(
            "how often",
            &format!(
                "{} calls take {}; {} of {} locations wait",
                grouped(finding.visits),
                seconds(finding.path_nanoseconds as f64 / 1e9),
                grouped(finding.locations),
                grouped(analysis.locations() as u64)
            ),
        );
        line("who waits", &format!("most: {}", share_text(&finding.origins)));
        if !finding.targets.is_empty() {
            line("on whom", &format!("most: {}", share_text(&finding.targets)));
        }
        line("to do", remedy);
        line("how sure", &how_sure(finding));
    }
    if analysis.findings().is_empty() {
        let _ = writeln!(text, "no call waits for another process");
    }
    let rest = analysis.findings().len().saturating_sub(top);
    if rest > 0 {
        let _ = writeln!(text, "\n{rest} more in findings.json");
    }
    let doubtful: u64 = analysis.unconfirmed().iter().map(|it| it.nanoseconds).sum();
    if doubtful > 0 {
        let _ = writeln!(
            text,
            "\nunexplained: {} more look like waits for progress, but {}",
            seconds(doubtful as f64 / 1e9),
            WHY_UNCONFIRMED
        );
        for it in analysis.unconfirmed().iter().take(UNCONFIRMED_LISTED) {
            let _ = writeln!(
                text,
                "  {} in {}; who: {}; on whom: {}",
                seconds(it.nanoseconds as f64 / 1e9),
                call_text(&it.path),
                share_text(&it.origins),
                share_text(&it.targets)
            );
        }
        let rest = analysis.unconfirmed().len().saturating_sub(UNCONFIRMED_LISTED);
        if rest > 0 {
            let _ = writeln!(text, "  and {rest} more call paths in findings.json");
        }
    }
    if let Some(longest) = analysis.polling().first() {
        let loops = analysis.polling();
        let time = loops.iter().map(|it| it.nanoseconds).sum::<u64>() as f64 / 1e9;
        let _ = writeln!(
            text,
            "\npolling: {} calls test again and again, for {}; it counts as computing. Most: {}",
            grouped(loops.iter().map(|it| it.calls).sum()),
            seconds(time),
            call_text(&longest.path)
        );
    }
    if !analysis.not_computed().is_empty() || !analysis.damage().is_empty() {
        text.push('\n');
    }
    for note in analysis.not_computed() {
        let _ = writeln!(text, "{}", visible(&note.to_string()));
    }
    for problem in analysis.damage() {
        let _ = writeln!(text, "damaged: {}", visible(&problem.to_string()));
    }
    text.push('\n');
    text
}

/// Why time that looks like waits for progress is unexplained.
const WHY_UNCONFIRMED: &str =
    "operations of the same kind, memory and size were seen to need no help of their targets";

/// How many call paths with unexplained time the summary lists.
const UNCONFIRMED_LISTED: usize = 3;

/// What a program reads. All times are seconds.
fn document(analysis: &Analysis) -> Value {
    let time = analysis.time() as f64;
    let shares = |list: &[Share]| -> Vec<Value> {
        let one = |it: &Share| {
            json!({
                "who": it.who,
                "seconds": it.nanoseconds as f64 / 1e9,
                "seconds_at_most": it.at_most as f64 / 1e9,
            })
        };
        list.iter().map(one).collect()
    };
    let step = |step: &Step| {
        let site = step.site.as_ref();
        json!({
            "region": step.region,
            "file": site.map(|it| it.file.as_str()).filter(|it| !it.is_empty()),
            "line": site.map(|it| it.line).filter(|it| *it > 0),
            "caller": site.map(|it| it.function.as_str()),
        })
    };
    let findings: Vec<Value> = analysis
        .findings()
        .iter()
        .map(|it| {
            let (explanation, remedy) = about_pattern(&it.metric);
            json!({
                "pattern": it.pattern,
                "metric": it.metric,
                "layer": it.layer.name(),
                "seconds": it.seconds(),
                "seconds_at_most": it.at_most as f64 / 1e9,
                "share": if time > 0.0 { it.nanoseconds as f64 / time } else { 0.0 },
                "confidence": it.confidence.name(),
                "latency_seconds": it.latency.map(|it| it as f64 / 1e9),
                "visits": it.visits,
                "path_seconds": it.path_nanoseconds as f64 / 1e9,
                "path": it.path.iter().map(step).collect::<Vec<_>>(),
                "call_path": it.call_path,
                "locations": it.locations,
                "origins": shares(&it.origins),
                "targets": shares(&it.targets),
                "explanation": explanation,
                "remedy": remedy,
            })
        })
        .collect();
    let not_computed: Vec<Value> = analysis
        .not_computed()
        .iter()
        .map(|it| json!({ "pattern": it.pattern, "calls": it.calls, "reason": it.reason }))
        .collect();
    let reason = WHY_UNCONFIRMED;
    let unconfirmed: Vec<Value> = analysis
        .unconfirmed()
        .iter()
        .map(|it| {
            let seconds = it.nanoseconds as f64 / 1e9;
            json!({
                "pattern": it.pattern,
                "layer": it.layer.name(),
                "seconds": seconds,
                "reason": reason,
                "visits": it.visits,
                "path_seconds": it.path_nanoseconds as f64 / 1e9,
                "path": it.path.iter().map(step).collect::<Vec<_>>(),
                "call_path": it.call_path,
                "locations": it.locations,
                "origins": shares(&it.origins),
                "targets": shares(&it.targets),
            })
        })
        .collect();
    let polling: Vec<Value> = analysis
        .polling()
        .iter()
        .map(|it| {
            json!({
                "layer": it.layer.name(),
                "calls": it.calls,
                "seconds": it.nanoseconds as f64 / 1e9,
                "path": it.path.iter().map(step).collect::<Vec<_>>(),
                "locations": it.locations,
            })
        })
        .collect();
    json!({
        "version": 1,
        "processes": analysis.processes(),
        "locations": analysis.locations(),
        "events": analysis.events(),
        "length_seconds": analysis.length() as f64 / 1e9,
        "time_seconds": time / 1e9,
        "clock_residual_seconds": analysis.clock_residual().map(|it| it as f64 / 1e9),
        "findings": findings,
        "unconfirmed": unconfirmed,
        "polling": polling,
        "not_computed": not_computed,
        "damage": analysis.damage(),
    })
}

#[cfg(test)]
mod tests {
    use dwell_analyze::Quantity;

    use super::{about_pattern, size};

    #[test]
    fn every_pattern_is_explained() {
        let mut seen = std::collections::BTreeMap::new();
        for what in Quantity::ALL {
            let Some(pattern) = what.pattern() else { continue };
            let metrics = what.metrics();
            assert!(!metrics.is_empty(), "{pattern} has no metric");
            for metric in metrics {
                let (meaning, remedy) = about_pattern(&format!("mpi_{metric}"));
                assert!(meaning.len() > 20, "{pattern} is not explained: {metric}");
                assert!(remedy.len() > 20, "{pattern} has no remedy: {metric}");
                // Of its own, and not that of another pattern.
                let others = seen.insert((meaning, remedy), pattern);
                assert!(others.is_none_or(|it| it == pattern), "{pattern} as {others:?}");
            }
        }
        assert!(seen.len() >= 20, "{}", seen.len());
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("500M"), Ok(500 << 20));
        assert_eq!(size("2GiB"), Ok(2 << 30));
        assert_eq!(size("4096"), Ok(4096));
        assert!(size("0").is_err());
        assert!(size("a lot").is_err());
        assert!(size("3X").is_err());
    }
}
