//! `cargo xtask predict`: holds predictions of `dwell whatif` against runs in which the remedy was applied.
//!
//! The programs of `tests/programs/predictions` exist before and after a remedy, and count their work in operations. Both
//! run in turn, without Dwell, and print how long they took between the start and the end of their runtime. The run before
//! the remedy is then recorded, and `dwell whatif` asked what the remedy would change. A row shows the medians, the measured
//! and the predicted change and the error bar, in per cent of the run before the remedy.
//!
//! A prediction is good if its sign is right, and if it is off by at most [`WITHIN`] of the run or the measured change lies
//! inside an error bar that is not wider than [`WIDEST`]. Other programs that use the cores make the figures worthless; the load is printed with them.

mod pairs;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::Value;

use self::pairs::{Answer, PAIRS, Pair, Side};
use crate::process::{self, cargo, load};
use crate::workspace::Workspace;

/// Largest error of a good prediction, as a part of the run before the remedy.
const WITHIN: f64 = 0.15;

/// Widest error bar that makes a prediction good, as a part of the run before the remedy.
const WIDEST: f64 = 0.30;

/// Changes smaller than this part of the run count as none, so that their sign says nothing.
const NO_CHANGE: f64 = 0.03;

/// Seconds after which a program counts as hung.
const LIMIT: &str = "60";

/// Options of `cargo xtask predict`.
#[derive(Args)]
pub(crate) struct Options {
    /// Run only pairs whose title contains all of these words
    names: Vec<String>,
    /// Number of runs before and after the remedy
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Print the titles of the selected pairs and do not run them
    #[arg(long)]
    list: bool,
}

/// Programs and directories.
struct Tools {
    dwell: PathBuf,
    library: PathBuf,
    folder: PathBuf,
    /// Operations that take a millisecond here.
    operations: String,
}

/// A prediction of `dwell whatif`, in seconds.
struct Prediction {
    recorded: f64,
    predicted: f64,
    low: f64,
    high: f64,
}

/// A prediction, or the reason why there is none.
type Answered = std::result::Result<Prediction, String>;

/// Runs all pairs and prints a table.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let wants = |pair: &&Pair| options.names.iter().all(|name| pair.title.contains(name.as_str()));
    let wanted: Vec<&Pair> = PAIRS.iter().filter(wants).collect();
    ensure!(!wanted.is_empty(), "no pair has all of {:?} in its title", options.names);
    if options.list {
        wanted.iter().for_each(|pair| println!("{}", pair.title));
        return Ok(());
    }
    process::run(cargo(&workspace.root).args(["build", "-p", "dwell", "-p", "dwell-preload"]))?;
    let tools = Tools::new(workspace)?;
    println!("{} operations take a millisecond; the load is {}\n", tools.operations, load());
    println!("{:52} {:>7} {:>7} {:>8}  predicted", "pair", "before", "after", "measured");
    let mut failed = Vec::new();
    for pair in wanted {
        match tools.judge(pair, options.runs) {
            Ok(row) => {
                println!("{:52} {row}", pair.title);
                if row.ends_with("FAILS") {
                    failed.push(pair.title);
                }
            }
            Err(error) => {
                println!("{:52} {error:#}", pair.title);
                failed.push(pair.title);
            }
        }
    }
    println!("\nthe load is {}", load());
    if !failed.is_empty() {
        bail!("{} of the predictions fail: {}", failed.len(), failed.join("; "));
    }
    Ok(())
}

fn sources() -> PathBuf {
    PathBuf::from("tests/programs/predictions")
}

impl Tools {
    fn new(workspace: &Workspace) -> Result<Self> {
        let folder = workspace.target.join("predict");
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let folder = fs::canonicalize(folder)?;
        let calibrate = folder.join("calibrate");
        let source = sources().join("calibrate.c");
        process::output(Command::new("gcc").args(["-O1", "-o"]).arg(&calibrate).arg(source))?;
        let operations = process::output(&mut Command::new(calibrate))?.trim().to_owned();
        let built = workspace.target.join("debug");
        let (dwell, library) = (built.join("dwell"), built.join("libdwell.so"));
        Ok(Self { dwell, library, folder, operations })
    }

    /// Compiles the program of a pair and returns its path.
    fn compile(&self, pair: &Pair) -> Result<PathBuf> {
        let [compiler, options @ ..] = pair.runtime.compiler() else { bail!("no compiler") };
        let program = self.folder.join(format!("program-{compiler}"));
        let mut command = Command::new(compiler);
        command.args(["-O1", "-g", "-finstrument-functions", "-o"]).arg(&program);
        command.args(options).arg(sources().join(pair.runtime.source()));
        if pair.runtime == pairs::Runtime::Coarrays {
            // Modules are written to the current directory otherwise.
            command.arg("-J").arg(&self.folder).arg("-lcaf_openmpi");
        }
        process::output(&mut command)?;
        Ok(program)
    }

    /// Runs a program, recorded into `experiment` if there is one, and returns the time that it prints.
    fn time(
        &self,
        pair: &Pair,
        side: Side,
        program: &Path,
        experiment: Option<&Path>,
    ) -> Result<f64> {
        let mut command = Command::new("timeout");
        command.args(["-k", "3", LIMIT]).args(pair.runtime.launcher());
        command.args(["-np", &pair.processes.to_string()]);
        if let Some(experiment) = experiment {
            command.arg(&self.dwell).args(["run", "-o"]).arg(experiment);
            command.env("DWELL_LIBRARY", &self.library);
        }
        command.arg(program).arg(side.mode).arg(&self.operations);
        command.envs(side.variables.iter().copied());
        process::in_a_container(&mut command);
        let text = process::output(&mut command)?;
        let seconds = text.lines().find_map(|line| line.trim().strip_prefix("seconds "));
        let seconds = seconds.and_then(|it| it.trim().parse().ok());
        seconds.with_context(|| format!("the program printed no time: {text}"))
    }

    /// Measures a pair, asks for the prediction and returns the rest of its row.
    fn judge(&self, pair: &Pair, runs: usize) -> Result<String> {
        let program = self.compile(pair)?;
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for _ in 0..runs.max(1) {
            before.push(self.time(pair, pair.before, &program, None)?);
            after.push(self.time(pair, pair.after, &program, None)?);
        }
        let (before, after) = (median(before), median(after));
        let experiment = self.folder.join("experiment");
        let _ = fs::remove_dir_all(&experiment);
        self.time(pair, pair.before, &program, Some(&experiment))?;
        let predicted = self.ask(pair, &experiment)?;
        Ok(row(pair.answer, before, after, &predicted))
    }

    /// Asks `dwell whatif`. Returns its reason if the run cannot be predicted.
    fn ask(&self, pair: &Pair, experiment: &Path) -> Result<Answered> {
        let source = fs::read_to_string(sources().join(pair.runtime.source()))?;
        let mut command = Command::new(&self.dwell);
        command.arg("whatif").arg(experiment).arg("--json");
        for word in pair.question {
            command.arg(filled(word, pair.runtime.source(), &source)?);
        }
        let shown = process::display(&command);
        let output = command.output().with_context(|| format!("cannot run `{shown}`"))?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code().is_some_and(|code| code < 2), "{}", errors.trim());
        let answer: Value = serde_json::from_slice(&output.stdout)?;
        let of = |name: &str| answer[name].as_f64();
        let Some(predicted) = of("predicted_seconds") else {
            return Ok(Err(answer["reason"].as_str().unwrap_or("no reason").to_owned()));
        };
        let recorded = of("recorded_seconds").context("no recorded_seconds")?;
        let (low, high) = (of("low_seconds"), of("high_seconds"));
        let (low, high) = (low.unwrap_or(predicted), high.unwrap_or(predicted));
        Ok(Ok(Prediction { recorded, predicted, low, high }))
    }
}

/// Replaces a word in braces by the file and the line that has it in a comment.
fn filled(word: &str, file: &str, source: &str) -> Result<String> {
    let Some((begin, rest)) = word.split_once('{') else { return Ok(word.to_owned()) };
    let (mark, end) = rest.split_once('}').context("a brace is not closed")?;
    let comment = format!("/* {mark} */");
    let line = source.lines().position(|line| line.contains(&comment));
    let line = line.with_context(|| format!("{file} has no line with {comment}"))? + 1;
    Ok(format!("{begin}{file}:{line}{end}"))
}

/// Returns the rest of a row: medians, the changes in per cent, and the verdict.
fn row(answer: Answer, before: f64, after: f64, predicted: &Answered) -> String {
    let measured = (after - before) / before;
    let times = format!("{before:6.3}s {after:6.3}s {:+7.1}%", 100.0 * measured);
    let it = match predicted {
        Ok(it) => it,
        Err(reason) => {
            let verdict = if answer == Answer::Cannot { "good" } else { "FAILS" };
            return format!("{times}  cannot be predicted ({reason}): {verdict}");
        }
    };
    // The recording has start-up and shutdown, which the program leaves out of its time.
    let change = |seconds: f64| (seconds - it.recorded) / before;
    let (predicted, low, high) = (change(it.predicted), change(it.low), change(it.high));
    let none = measured.abs() < NO_CHANGE || predicted.abs() < NO_CHANGE;
    let sign = none || (measured < 0.0) == (predicted < 0.0);
    let within_bar = high - low <= WIDEST && (low..=high).contains(&measured);
    let size = (predicted - measured).abs() <= WITHIN || within_bar;
    let good = sign && size && answer == Answer::Time;
    let [predicted, low, high] = [predicted, low, high].map(|it| 100.0 * it);
    let verdict = if good { "good" } else { "FAILS" };
    format!("{times}  {predicted:+.1}% ({low:+.1} to {high:+.1}): {verdict}")
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prediction(predicted: f64, low: f64, high: f64) -> Prediction {
        Prediction { recorded: 2.5, predicted, low, high }
    }

    #[test]
    fn lines_are_found_by_their_comments() {
        let source = "a\nshmem_set_lock(lock); /* LOCK */\n";
        assert_eq!(filled("{LOCK}=2", "shmem.c", source).unwrap(), "shmem.c:2=2");
        assert_eq!(filled("relax=0.5", "shmem.c", source).unwrap(), "relax=0.5");
        assert!(filled("{GET}=2", "shmem.c", source).is_err());
    }

    #[test]
    fn a_prediction_needs_the_sign_and_the_size() {
        let of = |answer, after, it: Answered| row(answer, 2.0, after, &it);
        // The recording is half a second longer than the part that counts.
        let close = Ok(prediction(1.6, 1.6, 1.6));
        assert!(of(Answer::Time, 1.2, close).ends_with("-45.0% (-45.0 to -45.0): good"));
        let far = Ok(prediction(2.0, 2.0, 2.0));
        assert!(of(Answer::Time, 1.2, far).ends_with("FAILS"));
        let ranging = Ok(prediction(2.0, 1.6, 2.1));
        assert!(of(Answer::Time, 1.2, ranging).ends_with("good"));
        let vague = Ok(prediction(2.0, 1.6, 2.4));
        assert!(of(Answer::Time, 1.2, vague).ends_with("FAILS"));
        let wrong = Ok(prediction(2.6, 2.5, 2.7));
        assert!(of(Answer::Time, 1.8, wrong).ends_with("FAILS"));
        let cannot = || Err(String::from("others"));
        assert!(of(Answer::Cannot, 1.2, cannot()).ends_with("cannot be predicted (others): good"));
        assert!(of(Answer::Time, 1.2, cannot()).ends_with("FAILS"));
    }

    #[test]
    fn pairs_differ() {
        for pair in PAIRS {
            let side = |it: Side| (it.mode, it.variables);
            assert_ne!(side(pair.before), side(pair.after), "{}", pair.title);
        }
    }
}
