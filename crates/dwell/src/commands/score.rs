//! `dwell score`: estimates the size of a trace from a profile, and finds filters that make it smaller.
//!
//! The records of every call are written to a scratch chunk by the encoder that the recorder uses, with average values,
//! and their bytes are counted.

mod ruler;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use dwell_analyze::Calls;
use dwell_model::archive::Meaning;
use dwell_model::operation::Operation;
use dwell_model::units::parse_size;
use serde::Serialize;

use self::ruler::{Ruler, Typical};
use crate::damage;
use crate::format::{bytes, grouped, seconds};
use crate::output;
use crate::profile;
use crate::runs;
use crate::terminal::{self, line, note, visible};

/// Arguments of `dwell score`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The profile comes from dwell run --profile. The estimate is for the event files of a trace \
    of the same run.\n\nExample:\n  \
    oshrun -np 4 dwell run --profile -o first ./heat\n  \
    dwell score first --max-size 100M -o heat.filter\n  \
    oshrun -np 4 dwell run --filter heat.filter -o second ./heat"
)]
pub(crate) struct Args {
    /// The experiment directory of a run with --profile. Without it, the newest run here.
    directory: Option<PathBuf>,
    /// Largest size of the trace, all processes together.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,
    /// Write a filter that keeps the trace below --max-size to this file.
    #[arg(short, long, value_name = "FILE", requires = "max_size")]
    output: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn size(text: &str) -> Result<u64, String> {
    parse_size(text).ok_or_else(|| "expected a size such as 64M".into())
}

/// Estimated size of the calls of one function.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Function {
    name: String,
    visits: u64,
    seconds: f64,
    bytes: u64,
    /// Set if the filter excludes the function.
    left_out: bool,
    #[serde(skip)]
    fixed: bool,
    #[serde(skip)]
    nanoseconds: u64,
}

#[derive(Debug, Serialize)]
struct Score {
    bytes: u64,
    largest_process_bytes: u64,
    bytes_with_filter: u64,
    functions: Vec<Function>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let directory = &runs::ended_or_latest(args.directory.as_deref())?;
    profile::make(directory)?;
    let Some(profile) = profile::read(directory)? else {
        bail!("{}: no profile here; make one with dwell run --profile", directory.display());
    };
    damage::report(profile.damage());
    let mut scorer = Scorer::new();
    profile.calls(|calls| scorer.add(calls))?;
    let mut score = scorer.score();
    if let Some(most) = args.max_size {
        choose(&mut score, most);
        if score.bytes_with_filter > most {
            note!(
                "{} remain: calls that initialise and finalise the runtime cannot be excluded",
                bytes(score.bytes_with_filter as f64)
            );
        }
    }
    if let Some(file) = &args.output {
        output::write(file, filter(&score))?;
    }
    if args.json {
        terminal::print_json(&score)?;
    } else {
        terminal::print(table(&score))?;
        if let Some(file) = &args.output {
            line!("Next: dwell run --filter {}", file.display())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Sums the estimated sizes of calls, location by location.
struct Scorer {
    ruler: Ruler,
    functions: BTreeMap<String, Function>,
    largest: u64,
}

impl Scorer {
    fn new() -> Self {
        Self { ruler: Ruler::new(), functions: BTreeMap::new(), largest: 0 }
    }

    /// Adds all calls of a location.
    fn add(&mut self, calls: &[Calls<'_>]) {
        let mut typical = Typical::default();
        calls.iter().for_each(|call| typical.add(call));
        let mut all = 0;
        for call in calls {
            let bytes = self.ruler.calls(call, &typical);
            all += bytes;
            if !self.functions.contains_key(call.region) {
                self.functions.insert(call.region.into(), Function::new(call));
            }
            if let Some(function) = self.functions.get_mut(call.region) {
                function.visits += call.visits;
                function.nanoseconds += call.nanoseconds;
                function.bytes += bytes;
            }
        }
        self.largest = self.largest.max(all);
    }

    /// Returns the estimate, the largest function first.
    fn score(self) -> Score {
        let seconds = |it: Function| Function { seconds: it.nanoseconds as f64 / 1e9, ..it };
        let mut functions: Vec<Function> = self.functions.into_values().map(seconds).collect();
        functions.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
        let bytes = functions.iter().map(|it| it.bytes).sum();
        Score { bytes, largest_process_bytes: self.largest, bytes_with_filter: bytes, functions }
    }
}

impl Function {
    fn new(call: &Calls<'_>) -> Self {
        let fixed = Meaning::parse(call.description).is_none_or(|it| {
            matches!(it.operation, Operation::Initialise | Operation::Finalise | Operation::Exit)
        });
        Self { name: call.region.into(), fixed, ..Self::default() }
    }
}

/// Excludes functions until the rest is small enough, first those that take the most space for the least time.
fn choose(score: &mut Score, most: u64) {
    let mut order: Vec<usize> = (0..score.functions.len()).collect();
    let worth = |it: &Function| it.seconds / it.bytes.max(1) as f64;
    order.sort_by(|&a, &b| worth(&score.functions[a]).total_cmp(&worth(&score.functions[b])));
    for at in order {
        let function = &mut score.functions[at];
        if score.bytes_with_filter > most && !function.fixed && function.bytes > 0 {
            function.left_out = true;
            score.bytes_with_filter -= function.bytes;
        }
    }
}

/// Returns the text of a filter file.
fn filter(score: &Score) -> String {
    let mut text = format!(
        "# Made by dwell score: of {} bytes of events, {} stay.\nSCOREP_REGION_NAMES_BEGIN\n",
        score.bytes, score.bytes_with_filter
    );
    for function in score.functions.iter().filter(|it| it.left_out) {
        let _ = writeln!(
            text,
            "  EXCLUDE {}  # {}, {} calls, {}",
            function.name,
            bytes(function.bytes as f64),
            grouped(function.visits),
            seconds(function.seconds)
        );
    }
    text + "SCOREP_REGION_NAMES_END\n"
}

/// Returns the estimate as a table.
fn table(score: &Score) -> String {
    let mut text = format!(
        "a trace of this run would take {}, {} of it the largest process\n",
        bytes(score.bytes as f64),
        bytes(score.largest_process_bytes as f64)
    );
    if score.bytes_with_filter < score.bytes {
        let _ = writeln!(
            text,
            "without the functions marked with a minus, {}",
            bytes(score.bytes_with_filter as f64)
        );
    }
    let _ = writeln!(text, "\n  {:>12} {:>14} {:>12}  function", "size", "calls", "seconds");
    for function in &score.functions {
        let Function { name, visits, seconds, bytes: size, left_out, .. } = function;
        let (size, visits) = (bytes(*size as f64), grouped(*visits));
        let mark = if *left_out { "-" } else { " " };
        let _ = writeln!(text, "{mark} {size:>12} {visits:>14} {seconds:>12.6}  {}", visible(name));
    }
    text
}
