//! `cargo xtask bench overhead`: overhead of recording.
//!
//! Four questions, answered on real programs and real runtimes:
//!
//! | module | question |
//! |---|---|
//! | `calls` | What does one recorded call cost in CPU time? |
//! | `instructions` | How many instructions does the recorder execute for a call? |
//! | `programs` | How much longer do whole programs take, and are their waits still found? |
//! | `start` | What do the start and the end of a run cost, for 1 to 64 processes? |
//!
//! `gasnet` asks the third one of a program over GASNet, which has to be compiled for it. Runs with and without Dwell
//! alternate, so that disturbances of the machine affect both alike. Instructions do not depend on the machine at all.

mod calls;
mod gasnet;
mod instructions;
mod programs;
mod start;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::harness;
use crate::process::{self, Folder};
use crate::statistics::Spread;
use crate::workspace::Workspace;

/// Bound on the overhead with which whole programs run as well.
const BOUND: &str = "2%";

/// Number of processes of single calls, and of programs unless it is given.
const PROCESSES: &str = "2";

/// Options that Open MPI needs: without them one-sided operations and the end of OpenSHMEM crash in some releases of 4.1,
/// with Dwell or without.
const OPEN_MPI: &[&str] = &["-mca", "osc", "^rdma"];

/// Options of `cargo xtask bench overhead`.
#[derive(Args)]
pub(crate) struct Options {
    /// Only check that everything works: short runs
    #[arg(long)]
    smoke: bool,
    /// Rounds that are measured [default: 15, smoke 2]
    #[arg(long)]
    rounds: Option<usize>,
    /// Seconds that one run of a whole program is to take [default: 3, smoke 0.1]
    #[arg(long)]
    seconds: Option<f64>,
    /// Take `dwell`, `libdwell.so` and `examples/record_cost` from this directory instead of building
    #[arg(long, value_name = "DIR")]
    bin: Option<PathBuf>,
    /// Measure single calls in the same rounds with `dwell` and `libdwell.so` of this directory too, such as an earlier
    /// version
    #[arg(long, value_name = "DIR")]
    beside: Option<PathBuf>,
    /// Measure only this part
    #[arg(long)]
    only: Option<Part>,
    /// Number of processes of whole programs
    #[arg(long, default_value = PROCESSES, value_name = "N")]
    processes: String,
    /// Measure only calls and programs whose title contains this text, such as MPICH
    #[arg(long, value_name = "TEXT")]
    of: Option<String>,
}

/// Part of the benchmark that can run on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Single calls of every runtime
    Calls,
    /// Instructions of a call
    Instructions,
    /// Whole programs of OpenSHMEM, ARMCI, Global Arrays and coarrays
    Programs,
    /// A whole run of `NWChem`
    Nwchem,
    /// A Fourier transform over GASNet, recorded in several ways
    Gasnet,
    /// Start and end of a run by the number of processes
    Start,
}

impl Options {
    fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.smoke { 2 } else { 15 })
    }

    fn seconds(&self) -> f64 {
        self.seconds.unwrap_or(if self.smoke { 0.1 } else { 3.0 })
    }

    /// Returns `true` if something with this title is to be measured.
    fn wants(&self, title: &str) -> bool {
        self.of.as_ref().is_none_or(|text| title.contains(text))
    }
}

/// Builds the programs, measures, and prints the results as tables of the book.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let rounds = options.rounds();
    ensure!(rounds >= 2, "an interval of confidence needs at least two rounds");
    let seconds = options.seconds();
    ensure!(seconds.is_finite() && seconds > 0.0, "a run must take some time");
    let bench = Bench::prepare(workspace, options)?;
    println!("\n{}", harness::machine());
    println!("{rounds} rounds, alternating; medians with their 95 % intervals of confidence\n");
    // What takes long is measured if it is asked for.
    let wanted = |part: Part| match options.only {
        Some(only) => only == part,
        None => matches!(part, Part::Calls | Part::Instructions | Part::Programs),
    };
    if wanted(Part::Calls) {
        calls::run(&bench, workspace, options)?;
    }
    if wanted(Part::Instructions) {
        instructions::run(&bench)?;
    }
    if wanted(Part::Programs) {
        programs::run(&bench, options)?;
    }
    if wanted(Part::Nwchem) {
        programs::nwchem(&bench, rounds)?;
    }
    if wanted(Part::Gasnet) {
        gasnet::run(&bench, &workspace.target.join("gasnet"), rounds, options.smoke)?;
    }
    if wanted(Part::Start) {
        start::run(&bench, rounds, options.smoke)?;
    }
    Ok(())
}

/// Mode in which a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Without Dwell.
    Bare,
    Recording,
    /// Recording by the version that is measured together with this one.
    Beside,
    /// With a filter that leaves out every call: stubs jump to the real functions.
    LeftOut,
    /// With no room for any event: calls are counted, so that it is known how many are lost.
    Full,
    /// Recording with a [`BOUND`] on its overhead.
    Bounded,
}

/// Number of ways in which a program can run.
const WAYS: usize = 6;

/// Programs and directories of the benchmark.
struct Bench {
    /// Directory of the programs, and of traces while they exist.
    folder: Folder,
    dwell: PathBuf,
    library: PathBuf,
    /// Command and library of the version that is measured together with this one, if any.
    beside: Option<(PathBuf, PathBuf)>,
    /// The example `record_cost`, whose instructions are counted, if it was built.
    record_cost: Option<PathBuf>,
    /// Set if programs may have the priority of a real-time program.
    real_time: bool,
    /// Number of processes of whole programs.
    processes: String,
}

/// Output and duration of a run.
struct Ran {
    stdout: String,
    stderr: String,
    /// Seconds that the whole command took.
    wall: f64,
}

impl Bench {
    fn prepare(workspace: &Workspace, options: &Options) -> Result<Bench> {
        let built = match &options.bin {
            Some(directory) => directory.clone(),
            None => build(workspace)?,
        };
        let built = fs::canonicalize(&built).with_context(|| built.display().to_string())?;
        let (dwell, library) = installed(&built)?;
        let beside = options.beside.as_deref().map(installed).transpose()?;
        let record_cost = Some(built.join("examples/record_cost")).filter(|path| path.is_file());
        let folder = std::env::temp_dir().join(format!("dwell-bench-{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let folder = Folder(folder);
        let filter = "SCOREP_REGION_NAMES_BEGIN\n  EXCLUDE *\nSCOREP_REGION_NAMES_END\n";
        fs::write(folder.0.join("filter"), filter)?;
        let real_time = process::succeeds(Command::new("chrt").args(["-r", "1", "true"]));
        let processes = options.processes.clone();
        Ok(Bench { folder, dwell, library, beside, record_cost, real_time, processes })
    }

    /// Returns the directory of the experiment of the next run. It is removed with the value, because a full disk would slow
    /// down the next run.
    fn trace(&self) -> Folder {
        Folder(self.folder.0.join("trace"))
    }

    /// Adds `dwell run` with the settings of a way to the command line of a launcher.
    fn measured(&self, command: &mut Command, way: Way, trace: &Folder) {
        if way != Way::Bare {
            command.arg(self.version(way).0).arg("run").arg("-o").arg(&trace.0);
        }
        match way {
            Way::LeftOut => {
                command.arg("--filter").arg(self.folder.0.join("filter"));
            }
            Way::Full => {
                command.args(["--max-size", "0"]);
            }
            Way::Bounded => {
                command.args(["--overhead", BOUND]);
            }
            Way::Bare | Way::Recording | Way::Beside => {}
        }
    }

    /// Runs a command after adding the environment that it needs. Fails if it recorded nothing although it should, or
    /// something although it should not.
    fn ran(&self, way: Way, mut command: Command) -> Result<Ran> {
        command.env("DWELL_LIBRARY", self.version(way).1);
        process::in_a_container(&mut command);
        let shown = process::display(&command);
        let began = Instant::now();
        let output = command
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run `{shown}`: is it installed?"))?;
        let wall = began.elapsed().as_secs_f64();
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        ensure!(output.status.success(), "`{shown}` failed: {}\n{stderr}", output.status);
        // Nothing is easier than to be fast at not measuring.
        match (way, recorded_calls(&stderr)) {
            (Way::Recording | Way::Beside | Way::Bounded, None | Some(0)) => {
                bail!("`{shown}` recorded nothing:\n{stderr}")
            }
            (Way::Full, Some(1..)) => bail!("`{shown}` recorded something:\n{stderr}"),
            _ => Ok(Ran { stdout, stderr, wall }),
        }
    }

    /// Returns the command and the library that a way uses.
    fn version(&self, way: Way) -> (&Path, &Path) {
        match &self.beside {
            Some((dwell, library)) if way == Way::Beside => (dwell, library),
            _ => (&self.dwell, &self.library),
        }
    }
}

impl Ran {
    /// Returns the seconds of work that the program has measured itself.
    fn time(&self) -> Result<f64> {
        let time = self.stderr.lines().find_map(|line| line.strip_prefix("time "));
        let time =
            time.with_context(|| format!("the program printed no time:\n{}", self.stderr))?;
        time.trim().parse().with_context(|| format!("what is the time `{time}`?"))
    }
}

/// Returns the command and the library in a directory.
fn installed(directory: &Path) -> Result<(PathBuf, PathBuf)> {
    let directory = fs::canonicalize(directory).with_context(|| directory.display().to_string())?;
    let (dwell, library) = (directory.join("dwell"), directory.join("libdwell.so"));
    for file in [&dwell, &library] {
        ensure!(file.is_file(), "there is no {}", file.display());
    }
    Ok((dwell, library))
}

fn build(workspace: &Workspace) -> Result<PathBuf> {
    let mut dwell = process::cargo(&workspace.root);
    dwell.args(["build", "--release", "-p", "dwell", "-p", "dwell-preload"]);
    process::run(&mut dwell)?;
    let mut example = process::cargo(&workspace.root);
    example.args(["build", "--release", "-p", "dwell-measure", "--example", "record_cost"]);
    process::run(&mut example)?;
    Ok(workspace.target.join("release"))
}

/// Reads the number of recorded calls from the messages of Dwell.
fn recorded_calls(stderr: &str) -> Option<u64> {
    stderr.lines().filter(|line| line.starts_with("dwell: ")).find_map(|line| {
        let before = line.split_once(" calls of ")?.0;
        before.rsplit(' ').next()?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_print_is_read() {
        let said =
            "time 1.5\ndwell: out: 26 calls of 2 processes, 1.7 KiB, at least 0.0 % overhead.\n";
        assert_eq!(recorded_calls(said), Some(26));
        assert_eq!(recorded_calls("time 1.5\n"), None);
        let ran = Ran { stdout: String::new(), stderr: said.into(), wall: 2.0 };
        assert!(ran.time().is_ok_and(|time| (time - 1.5).abs() < 1e-9));
    }
}
