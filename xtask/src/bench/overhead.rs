//! `cargo xtask bench overhead`: overhead of recording.
//!
//! Three questions, answered in one run on real programs and a real OpenSHMEM:
//!
//! * What does one recorded call cost in CPU time? `tests/programs/overhead.c` runs without Dwell, with it, and with
//!   Dwell loaded but its recording switched off.
//! * How many instructions does the recorder execute for a call? callgrind counts them, with the same result on a busy
//!   machine and on an idle one.
//! * How much longer do whole programs take? `examples/heat` and `examples/fft2d` time their work themselves, so that
//!   the cost at the start and at the end of a run is seen apart from that during the run.
//!
//! The first and the last question are asked of MPI as well: see [`mpi`].
//!
//! Runs with and without Dwell alternate, so that disturbances of the machine affect both alike.

mod gasnet;
mod layers;
mod mpi;

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::harness;
use crate::process::{self, Folder};
use crate::workspace::Workspace;

/// Goal for the nanoseconds that recording adds to a call.
const GOAL_RECORDING: f64 = 90.0;

/// Goal for the nanoseconds that a hook adds while recording is off: less than a mispredicted branch costs.
const GOAL_OFF: f64 = 5.0;

/// Goal for the percentage that recording adds to the time of a program.
const GOAL_PROGRAM: f64 = 2.0;

/// Bound on the overhead with which whole programs run as well.
const BOUND: &str = "2%";

/// Number of calls of each function in one run of `overhead`, and number of repetitions.
const CALLS: (&str, &str) = ("100000", "5");

/// Options of `cargo xtask bench overhead`.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Only check that everything works: short runs, and no goals
    #[arg(long)]
    smoke: bool,
    /// Rounds that are measured [default: 7, smoke 2]
    #[arg(long)]
    rounds: Option<usize>,
    /// Seconds that one run of a program is to take [default: 60, smoke 1]
    #[arg(long)]
    seconds: Option<f64>,
    /// Number of processes, a power of two [default: as many as there are cores, at least 2]
    #[arg(long)]
    pes: Option<usize>,
    /// Take `dwell`, `libdwell.so` and `examples/record_cost` from this directory instead of building
    #[arg(long, value_name = "DIR")]
    bin: Option<PathBuf>,
    /// Measure single calls in the same rounds with `dwell` and `libdwell.so` of this directory too, such as an earlier
    /// version
    #[arg(long, value_name = "DIR")]
    beside: Option<PathBuf>,
    /// Print the rows of the book's tables too
    #[arg(long)]
    markdown: bool,
    /// Measure only this part
    #[arg(long)]
    only: Option<Part>,
}

/// Part of the benchmark that can run on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Shmem,
    Mpi,
    Nwchem,
    /// Whole programs of OpenSHMEM, ARMCI, Global Arrays and coarrays
    Layers,
    /// A Fourier transform over GASNet, recorded in several ways
    Gasnet,
}

impl Options {
    fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.smoke { 2 } else { 7 })
    }

    fn seconds(&self) -> f64 {
        self.seconds.unwrap_or(if self.smoke { 1.0 } else { 60.0 })
    }

    /// Returns the number of processes, a power of two because `fft2d` distributes a power of two of rows.
    fn pes(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        self.pes.unwrap_or_else(|| 1 << cores.max(2).ilog2())
    }
}

/// Builds the programs, measures, and prints the results.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let (rounds, seconds) = (options.rounds(), options.seconds());
    ensure!(rounds >= 2, "an interval of confidence needs at least two rounds");
    ensure!(seconds.is_finite() && seconds > 0.0, "a run must take some time");
    ensure!(options.pes() >= 2 && options.pes().is_power_of_two(), "PEs: 2, 4, 8 …");
    let bench = Bench::prepare(workspace, options)?;
    println!("\n{}", harness::machine());
    println!("{rounds} rounds, alternating\n");

    let wanted = |part: Part| options.only.is_none_or(|only| only == part);
    if wanted(Part::Mpi) {
        mpi::calls(&bench, rounds, options.markdown)?;
    }
    if wanted(Part::Nwchem) {
        mpi::nwchem(&bench, rounds)?;
    }
    if options.only == Some(Part::Layers) {
        layers::run(&bench, rounds, options.smoke)?;
    }
    if options.only == Some(Part::Gasnet) {
        gasnet::run(&bench, &workspace.target.join("gasnet"), rounds, options.smoke)?;
    }
    if !wanted(Part::Shmem) {
        return Ok(());
    }
    let calls = bench.calls(rounds)?;
    println!("{}", Table { rows: &calls, goals: !options.smoke });
    let instructions = bench.instructions()?;
    match instructions {
        Some(count) => println!("instructions of the recorder per call: {count:.1}\n"),
        None => println!("instructions of the recorder per call: not counted\n"),
    }
    let mut programs = Vec::new();
    for program in if options.smoke { PROGRAMS_SMALL } else { PROGRAMS } {
        let paired = bench.program(program, rounds, seconds)?;
        println!("{}", Table { rows: std::slice::from_ref(&paired), goals: !options.smoke });
        programs.push(paired);
    }
    if options.markdown {
        print!("{}", markdown(&calls, instructions, &programs));
    }
    Ok(())
}

/// Mode in which a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Without Dwell.
    Bare,
    Recording,
    /// With the library loaded but recording switched off: a memory budget of 0 is exhausted before the first event,
    /// and from then on the stubs jump to the real functions.
    Off,
    /// Recording by the version that is measured beside this one.
    Beside,
    /// Recording with a [`BOUND`] on its overhead.
    Bounded,
}

/// A program that times itself, and the arguments with which it takes a given time.
struct Program {
    name: &'static str,
    /// Arguments before the one that determines the length of the run.
    arguments: &'static [&'static str],
    /// Unit of the last argument; `few` of them make a short run.
    unit: &'static str,
    few: u64,
}

/// Programs at their natural granularity: the sizes are the defaults of the programs.
const PROGRAMS: &[Program] = &[
    Program { name: "heat", arguments: &["2048"], unit: "steps", few: 20 },
    Program { name: "fft2d", arguments: &["get", "2048"], unit: "rounds", few: 1 },
];

const PROGRAMS_SMALL: &[Program] = &[
    Program { name: "heat", arguments: &["512"], unit: "steps", few: 100 },
    Program { name: "fft2d", arguments: &["get", "512"], unit: "rounds", few: 4 },
];

/// Programs and directories of the benchmark.
struct Bench {
    /// Directory of the programs, and of traces while they exist.
    folder: Folder,
    dwell: PathBuf,
    library: PathBuf,
    /// Command and library of the version that is measured beside this one, if any.
    beside: Option<(PathBuf, PathBuf)>,
    /// The example `record_cost`, whose instructions are counted, if it was built.
    record_cost: Option<PathBuf>,
    pes: usize,
    /// Seconds after which a run counts as hung.
    limit: u64,
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
        for source in
            ["tests/programs/overhead.c", "examples/heat/heat.c", "examples/fft2d/fft2d.c"]
        {
            compile(source, &folder.0)?;
        }
        let limit = 60 + 10 * options.seconds() as u64;
        let pes = options.pes();
        Ok(Bench { folder, dwell, library, beside, record_cost, pes, limit })
    }

    /// Runs a program once. The trace is removed at once, because a full disk would slow down the next run.
    fn oshrun(&self, way: Way, pes: usize, program: &str, arguments: &[&str]) -> Result<Ran> {
        let trace = Folder(self.folder.0.join("trace"));
        let mut command = Command::new("oshrun");
        command.args(["-np", &pes.to_string(), "--timeout", &self.limit.to_string()]);
        // Without this some releases of Open MPI 4.1 crash in shmem_finalize, Dwell or not.
        command.args(["-mca", "osc", "^rdma"]);
        if way != Way::Bare {
            command.arg(self.version(way).0).arg("run").arg("-o").arg(&trace.0);
        }
        if way == Way::Off {
            command.args(["--max-size", "0"]);
        }
        command.arg(self.folder.0.join(program)).args(arguments);
        self.ran(way, command)
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
            (Way::Off, Some(1..)) => bail!("`{shown}` recorded something:\n{stderr}"),
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

    /// Returns the ways in which single calls are measured, in the order of a round.
    fn ways(&self) -> impl Iterator<Item = Way> + use<> {
        let beside = self.beside.as_ref().map(|_| Way::Beside);
        [Way::Bare, Way::Recording].into_iter().chain(beside).chain([Way::Off])
    }

    /// Measures the cost of single calls.
    fn calls(&self, rounds: usize) -> Result<Vec<Call>> {
        let mut calls: Vec<Call> = Vec::new();
        for _ in 0..rounds {
            for way in self.ways() {
                let ran = self.oshrun(way, 2, "overhead", &[CALLS.0, CALLS.1])?;
                add(&mut calls, way, &ran.stdout)?;
            }
        }
        ensure!(!calls.is_empty(), "`overhead` printed nothing");
        Ok(calls)
    }

    /// Counts the instructions that the recorder executes for one call, on average over gets and puts. Work that is
    /// done once cancels out in the difference of two runs. Returns `None` without valgrind.
    fn instructions(&self) -> Result<Option<f64>> {
        let Some(program) = self.record_cost.as_ref().filter(|_| process::is_on_path("valgrind"))
        else {
            println!("needs valgrind, and the example record_cost of dwell-measure");
            return Ok(None);
        };
        let count = |calls: u64| {
            let events = Folder(self.folder.0.join("events"));
            fs::create_dir(&events.0)?;
            let mut command = Command::new(program);
            harness::instructions(command.arg(&events.0).arg(calls.to_string()))
        };
        let (few, many) = (10_000, 50_000);
        // As many gets as puts.
        Ok(Some((count(many)? - count(few)?) / (2 * (many - few)) as f64))
    }

    /// Measures how much longer a program takes with Dwell.
    fn program(&self, program: &Program, rounds: usize, seconds: f64) -> Result<Paired> {
        let units = self.calibrate(program, seconds)?;
        let mut paired = Paired {
            name: format!("{} {}", program.name, program.arguments.join(" ")),
            size: format!("{units} {}, {} PEs", program.unit, self.pes),
            calls: 0,
            bare: Vec::new(),
            recording: Vec::new(),
        };
        for _ in 0..rounds {
            let bare = self.timed(Way::Bare, program, units)?;
            let recording = self.timed(Way::Recording, program, units)?;
            ensure!(
                bare.0.stdout == recording.0.stdout,
                "{} printed\n{}without Dwell and\n{}with it",
                program.name,
                bare.0.stdout,
                recording.0.stdout
            );
            paired.calls = recorded_calls(&recording.0.stderr).unwrap_or(0);
            paired.bare.push(bare.1);
            paired.recording.push(recording.1);
        }
        Ok(paired)
    }

    /// Finds the number of units with which a program runs for a number of seconds. A short run gives a rough estimate,
    /// a longer one a better one.
    fn calibrate(&self, program: &Program, seconds: f64) -> Result<u64> {
        let mut units = program.few;
        loop {
            let inside = self.timed(Way::Bare, program, units)?.1.inside;
            let wanted = |seconds: f64| (units as f64 * seconds / inside.max(1e-6)).round() as u64;
            if inside >= 0.25 * seconds {
                // Rather too long than too short.
                return Ok(wanted(1.05 * seconds).max(1));
            }
            units = wanted(0.4 * seconds).clamp(2 * units, 100 * units);
        }
    }

    fn timed(&self, way: Way, program: &Program, units: u64) -> Result<(Ran, Time)> {
        let units = units.to_string();
        let arguments = [&["--time"], program.arguments, &[&units]].concat();
        let ran = self.oshrun(way, self.pes, program.name, &arguments)?;
        let inside = ran
            .stderr
            .lines()
            .find_map(|line| line.strip_prefix("time ")?.parse::<f64>().ok())
            .with_context(|| format!("{} printed no time:\n{}", program.name, ran.stderr))?;
        let outside = ran.wall - inside;
        Ok((ran, Time { inside, outside }))
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

fn compile(source: &str, folder: &Path) -> Result<()> {
    let program = folder.join(Path::new(source).file_stem().unwrap_or_default());
    let mut compiler = Command::new("oshcc");
    compiler.args(["-O2", source, "-o"]).arg(program).arg("-lm");
    process::run(&mut compiler)
        .context("OpenSHMEM is needed: `apt-get install openmpi-bin libopenmpi-dev`")
}

/// Reads the number of recorded calls from the messages of Dwell.
fn recorded_calls(stderr: &str) -> Option<u64> {
    stderr.lines().filter(|line| line.starts_with("dwell: ")).find_map(|line| {
        let before = line.split_once(" calls of ")?.0;
        before.rsplit(' ').next()?.parse().ok()
    })
}

/// Parses the output of `overhead` and takes the median of its repetitions.
fn nanoseconds(stdout: &str) -> Result<Vec<(String, f64)>> {
    let mut names = Vec::new();
    let mut values = BTreeMap::<&str, Vec<f64>>::new();
    for line in stdout.lines() {
        let (name, ns) = line.split_once(' ').with_context(|| format!("what is `{line}`?"))?;
        let ns = ns.parse().with_context(|| format!("what is `{line}`?"))?;
        let known = values.entry(name).or_insert_with(|| {
            names.push(name);
            Vec::new()
        });
        known.push(ns);
    }
    Ok(names.into_iter().map(|name| (name.to_owned(), Spread::of(&values[name]).median)).collect())
}

/// Adds the output of `overhead` to the results of its calls.
fn add(calls: &mut Vec<Call>, way: Way, stdout: &str) -> Result<()> {
    for (name, ns) in nanoseconds(stdout)? {
        let at = calls.iter().position(|call| call.name == name);
        let at = at.unwrap_or_else(|| {
            calls.push(Call { name, ns: Default::default() });
            calls.len() - 1
        });
        calls[at].ns[way as usize].push(ns);
    }
    Ok(())
}

/// A median with its range.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    median: f64,
    lowest: f64,
    highest: f64,
}

impl Spread {
    /// Computes the spread of at least one value; without values all fields are NaN.
    fn of(values: &[f64]) -> Spread {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        let last = sorted.len().saturating_sub(1);
        Spread {
            median: f64::midpoint(at(last / 2), at(last.div_ceil(2))),
            lowest: at(0),
            highest: at(last),
        }
    }

    /// Computes the spread of the differences in each round. The median is the difference of the medians.
    fn added(to: &[f64], by: &[f64]) -> Spread {
        let differences: Vec<f64> = to.iter().zip(by).map(|(to, by)| by - to).collect();
        let median = Spread::of(by).median - Spread::of(to).median;
        Spread { median, ..Spread::of(&differences) }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(1);
        let Spread { median, lowest, highest } = self;
        let number = |value: &f64| match f.sign_plus() {
            true => format!("{value:+.digits$}"),
            false => format!("{value:.digits$}"),
        };
        let text = format!("{} ({} to {})", number(median), number(lowest), number(highest));
        // Not `pad`, which takes the precision for a length.
        write!(f, "{text:<0$}", f.width().unwrap_or(0))
    }
}

/// A mean with half the width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Interval {
    mean: f64,
    half: f64,
}

impl Interval {
    /// Computes the interval of at least two values that are assumed to be normally distributed.
    fn of(values: &[f64]) -> Interval {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0)).sqrt();
        let half = student(values.len().saturating_sub(1)) * deviation / count.sqrt();
        Interval { mean, half }
    }

    fn bounds(self) -> (f64, f64) {
        (self.mean - self.half, self.mean + self.half)
    }

    /// Says whether the values show that the mean is below the goal, show that it is not, or show neither.
    fn verdict(self, goal: f64) -> &'static str {
        match self.bounds() {
            (_, highest) if highest < goal => "met",
            (lowest, _) if lowest >= goal => "missed",
            _ => "undecided",
        }
    }
}

/// Percentage by which runs take longer than others that were made in turn with them.
struct More(Interval);

impl More {
    fn of(bare: &[f64], with: &[f64]) -> Self {
        let more = |(bare, with): (&f64, &f64)| 100.0 * (with / bare - 1.0);
        let percent: Vec<f64> = bare.iter().zip(with).map(more).collect();
        Self(Interval::of(&percent))
    }
}

impl fmt::Display for More {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lowest, highest) = self.0.bounds();
        write!(f, "{:+.1} % ({lowest:+.1} to {highest:+.1})", self.0.mean)
    }
}

/// Returns the 97.5 % quantile of Student's t-distribution. Beyond the table the last value is slightly too large,
/// which errs on the safe side.
fn student(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    TABLE[degrees.clamp(1, TABLE.len()) - 1]
}

/// A function and its CPU nanoseconds in each round: without Dwell, recording, off, and recording by the version beside.
#[derive(Debug)]
struct Call {
    name: String,
    ns: [Vec<f64>; 5],
}

impl Call {
    fn spread(&self, way: Way) -> Spread {
        Spread::of(&self.ns[way as usize])
    }

    fn added(&self, way: Way) -> Spread {
        Spread::added(&self.ns[Way::Bare as usize], &self.ns[way as usize])
    }
}

/// Seconds of one run: of the work itself, and of everything around it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Time {
    inside: f64,
    outside: f64,
}

/// Runs of a program without and with Dwell, in turn.
#[derive(Debug)]
struct Paired {
    name: String,
    size: String,
    /// Number of calls recorded in a run, of all processes together.
    calls: u64,
    bare: Vec<Time>,
    recording: Vec<Time>,
}

impl Paired {
    /// Returns the percentage by which the work took longer.
    fn percent(&self) -> Interval {
        let pairs = self.bare.iter().zip(&self.recording);
        let percent: Vec<f64> =
            pairs.map(|(bare, with)| 100.0 * (with.inside / bare.inside - 1.0)).collect();
        Interval::of(&percent)
    }

    fn inside(times: &[Time]) -> Vec<f64> {
        times.iter().map(|time| time.inside).collect()
    }

    /// Returns the seconds by which start and end took longer.
    fn around(&self) -> Spread {
        let outside = |times: &[Time]| times.iter().map(|time| time.outside).collect::<Vec<_>>();
        Spread::added(&outside(&self.bare), &outside(&self.recording))
    }

    /// Returns the number of calls recorded in a second of work, of all processes together.
    fn rate(&self) -> f64 {
        self.calls as f64 / Spread::of(&Paired::inside(&self.recording)).median
    }
}

/// Results as a table, with or without the goals.
struct Table<'t, Row> {
    rows: &'t [Row],
    goals: bool,
}

impl fmt::Display for Table<'_, Call> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "CPU nanoseconds per call: median (single rounds)")?;
        let heads = ["", "bare", "recording", "added", "off", "added"];
        write!(
            f,
            "  {:<28} {:<24} {:<24} {:<27} {:<24} {:<27}",
            heads[0], heads[1], heads[2], heads[3], heads[4], heads[5]
        )?;
        writeln!(f, "{}", if self.goals { " goals" } else { "" })?;
        for call in self.rows {
            write!(
                f,
                "  {:<28} {:<24} {:<24} {:<+27} {:<24} {:<+27}",
                call.name,
                call.spread(Way::Bare),
                call.spread(Way::Recording),
                call.added(Way::Recording),
                call.spread(Way::Off),
                call.added(Way::Off),
            )?;
            if self.goals {
                let verdict = |way, goal| match call.added(way).median <= goal {
                    true => "met",
                    false => "missed",
                };
                let recording = verdict(Way::Recording, GOAL_RECORDING);
                let off = verdict(Way::Off, GOAL_OFF);
                write!(f, " {GOAL_RECORDING} {recording}, {GOAL_OFF} {off}")?;
            }
            writeln!(f)?;
            if !call.ns[Way::Beside as usize].is_empty() {
                let (beside, added) = (call.spread(Way::Beside), call.added(Way::Beside));
                writeln!(f, "  {:<28} {:<24} {beside:<24} {added:<+27}", "  version beside", "")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Table<'_, Paired> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for paired in self.rows {
            let percent = paired.percent();
            let (lowest, highest) = percent.bounds();
            writeln!(f, "{}: {}", paired.name, paired.size)?;
            let (bare, recording) =
                (Paired::inside(&paired.bare), Paired::inside(&paired.recording));
            writeln!(f, "  bare                 {:.3} s", Spread::of(&bare))?;
            write!(f, "  recording            {:.3} s", Spread::of(&recording))?;
            writeln!(f, ", {:.0} calls a second", paired.rate())?;
            write!(f, "  added                {:+.2} %, ", percent.mean)?;
            write!(f, "with 95 % confidence {lowest:+.2} to {highest:+.2} %")?;
            if self.goals {
                write!(f, "; goal: below {GOAL_PROGRAM} %, {}", percent.verdict(GOAL_PROGRAM))?;
            }
            writeln!(f, "\n  start and end, added {:+.3} s", paired.around())?;
        }
        Ok(())
    }
}

/// Returns the results as tables of the book.
fn markdown(calls: &[Call], instructions: Option<f64>, programs: &[Paired]) -> String {
    let mut text = String::from(
        "| CPU ns per call | bare | recording | added | off | added |\n|---|---|---|---|---|---|\n",
    );
    for call in calls {
        let _ = writeln!(
            text,
            "| `{}` | {:.0} | {:.0} | {:+.0} | {:.0} | {:+.0} |",
            call.name,
            call.spread(Way::Bare),
            call.spread(Way::Recording),
            call.added(Way::Recording),
            call.spread(Way::Off),
            call.added(Way::Off),
        );
    }
    if let Some(count) = instructions {
        let _ = writeln!(text, "\nInstructions of the recorder per call: {count:.0}.");
    }
    if programs.is_empty() {
        return text;
    }
    text += "\n| program | bare s | added | 95 % interval | start and end, added s | calls a second |\n\
             |---|---|---|---|---|---|\n";
    for paired in programs {
        let percent = paired.percent();
        let (lowest, highest) = percent.bounds();
        let _ = writeln!(
            text,
            "| `{}`, {} | {:.1} | {:+.2} % | {lowest:+.2} to {highest:+.2} % | {:+.2} | {:.0} |",
            paired.name,
            paired.size,
            Spread::of(&Paired::inside(&paired.bare)),
            percent.mean,
            paired.around(),
            paired.rate(),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-3
    }

    #[test]
    fn spreads() {
        let spread = Spread::of(&[3.0, 1.0, 2.0, 10.0]);
        assert_eq!(spread, Spread { median: 2.5, lowest: 1.0, highest: 10.0 });
        assert_eq!(Spread::of(&[4.0]), Spread { median: 4.0, lowest: 4.0, highest: 4.0 });
        let added = Spread::added(&[1.0, 2.0, 3.0], &[11.0, 10.0, 13.5]);
        assert_eq!(added, Spread { median: 9.0, lowest: 8.0, highest: 10.5 });
        assert_eq!(format!("{added:+.1}"), "+9.0 (+8.0 to +10.5)");
        assert_eq!(format!("{:<16.0}|", Spread::of(&[4.0])), "4 (4 to 4)      |");
    }

    #[test]
    fn intervals_are_those_of_student() {
        // mean 3, deviation 1.5811, 4 degrees of freedom
        let interval = Interval::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!(close(interval.mean, 3.0) && close(interval.half, 1.9629), "{interval:?}");
        assert_eq!(student(1), 12.706);
        assert_eq!(student(30), student(1000));
        let verdicts = [6.0, 3.0, 1.0].map(|goal| interval.verdict(goal));
        assert_eq!(verdicts, ["met", "undecided", "missed"]);
    }

    #[test]
    fn work_and_what_is_around_it_are_apart() {
        let times = |inside: [f64; 2], outside: [f64; 2]| {
            inside.iter().zip(outside).map(|(&inside, outside)| Time { inside, outside }).collect()
        };
        let paired = Paired {
            name: "heat 64".into(),
            size: "10 steps, 2 PEs".into(),
            calls: 306,
            bare: times([100.0, 200.0], [1.0, 1.0]),
            recording: times([101.0, 206.0], [1.25, 1.5]),
        };
        assert!(close(paired.percent().mean, 2.0), "{:?}", paired.percent());
        assert!(close(paired.around().median, 0.375), "{:?}", paired.around());
        assert!(close(paired.rate(), 306.0 / 153.5));
        let text = Table { rows: &[paired], goals: true }.to_string();
        assert!(text.contains("added                +2.00 %"), "{text}");
        assert!(text.contains("undecided"), "{text}");
    }

    #[test]
    fn what_programs_print_is_read() {
        let found = nanoseconds("a 3.5\nb 1\na 4.5\nb 2\na 9\nb 3\n").expect("well formed");
        assert_eq!(found, [("a".to_owned(), 4.5), ("b".to_owned(), 2.0)]);
        assert!(nanoseconds("a few words").is_err());
        let said =
            "time 1.5\ndwell: out: 26 calls of 2 processes, 1.7 KiB, about 0.0 % overhead.\n";
        assert_eq!(recorded_calls(said), Some(26));
        assert_eq!(recorded_calls("time 1.5\n"), None);
    }
}
