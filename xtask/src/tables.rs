//! `cargo xtask tables`: measurements of two well-known one-sided programs, as tables for the book.
//!
//! SRUMMA and SOR are the benchmarks on which Wait for Progress was first studied. This command runs `examples/srumma`
//! and `examples/sor` under `dwell run`, for several numbers of processes, on a transport that needs the target to make
//! progress and on one that does not, and collects the results of `dwell analyze`.
//!
//! Both exist over ARMCI as well: `examples/ga-dgemm`, since `GA_Dgemm` is SRUMMA, and `examples/armci-sor`. They are
//! measured if they are named.
//!
//! SRUMMA multiplies matrices of one size whatever the number of processes (strong scaling). SOR gives each process a
//! block of one size (weak scaling).
//!
//! `examples/halo` exchanges a halo of coarrays with four ways to synchronise. It is measured if it is named.
//!
//! `NWChem` is measured if it is named: see [`nwchem`].

pub(crate) mod nwchem;

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::process::{self, Folder};
use crate::statistics::Spread as Interval;
use crate::workspace::Workspace;

/// Seconds after which a run counts as hung.
const LIMIT: &str = "300";

/// Options of `cargo xtask tables`.
#[derive(Args)]
pub(crate) struct Options {
    /// Program to measure [default: SRUMMA and SOR]
    program: Option<Program>,
    /// Numbers of processes [default: 2,4; smoke 2]
    #[arg(long, value_delimiter = ',', value_name = "N")]
    processes: Vec<u32>,
    /// Transports: in software the target must make progress for a get, in hardware it need not
    #[arg(long, value_delimiter = ',', default_value = "software,hardware")]
    transports: Vec<Transport>,
    /// Percentage by which processes with odd numbers compute longer than the others
    #[arg(long, value_delimiter = ',', default_value = "0", value_name = "PERCENT")]
    imbalance: Vec<u32>,
    /// Times to run each case; of several runs, the table has medians and intervals
    #[arg(long, default_value_t = 1, value_name = "N")]
    runs: usize,
    /// Only check that everything works: small and short runs
    #[arg(long)]
    smoke: bool,
    /// Take `dwell` and `libdwell.so` from this directory instead of building
    #[arg(long, value_name = "DIR")]
    bin: Option<PathBuf>,
}

/// A program to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Program {
    Srumma,
    Sor,
    /// SRUMMA of Global Arrays, over ARMCI
    GaDgemm,
    /// SOR over ARMCI
    ArmciSor,
    /// Exchange of a halo of coarrays, with four ways to synchronise
    Halo,
    /// Chemistry, with MPI
    Nwchem,
}

impl Program {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Program::Srumma => "srumma",
            Program::Sor => "sor",
            Program::GaDgemm => "ga-dgemm",
            Program::ArmciSor => "armci-sor",
            Program::Halo => "halo",
            Program::Nwchem => "nwchem",
        }
    }

    /// Returns the interface with which the program communicates.
    pub(crate) fn layer(self) -> Layer {
        match self {
            Program::Srumma | Program::Sor => Layer { name: "shmem", title: "OpenSHMEM" },
            Program::GaDgemm | Program::ArmciSor => Layer { name: "armci", title: "ARMCI" },
            Program::Halo => Layer { name: "caf", title: "coarrays" },
            Program::Nwchem => Layer { name: "mpi", title: "MPI" },
        }
    }

    /// Returns the variants of a program, each given by its arguments and shown as a table.
    fn variants(self, smoke: bool) -> &'static [&'static str] {
        match (self, smoke) {
            (Program::Srumma, false) => &["512 16 6", "--blocking 512 16 6"],
            (Program::Srumma, true) => &["96 16 2", "--blocking 96 16 2"],
            (Program::Sor, false) => &["--per-pe --tolerance 0 256 50"],
            (Program::Sor, true) => &["--per-pe --tolerance 0 32 10"],
            (Program::GaDgemm, false) => &["512 6"],
            (Program::GaDgemm, true) => &["64 2"],
            (Program::ArmciSor, false) => &["256 50"],
            (Program::ArmciSor, true) => &["32 10"],
            (Program::Halo, false) => &["all 5", "everyone 5", "neighbours 5", "events 5"],
            (Program::Halo, true) => &["all 1", "events 1"],
            (Program::Nwchem, _) => &[],
        }
    }
}

/// A programming interface, by its name in metrics and by its title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
}

/// Kind of transport that performs the gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Transport {
    /// A transport on which a get waits until its target enters the library: TCP, or a component of Open MPI that sends
    /// messages
    Software,
    /// The transport that the runtime chooses, which is shared memory on one node
    Hardware,
}

impl Transport {
    /// Returns options of the launcher. Without one of them some releases of Open MPI 4.1 crash at the end of OpenSHMEM
    /// and in one-sided operations, with Dwell or without.
    fn arguments(self, layer: Layer) -> &'static [&'static str] {
        match (self, layer.name) {
            (Transport::Software, "shmem") => &["-mca", "osc", "^rdma", "-x", "UCX_TLS=tcp,self"],
            (Transport::Software, _) => &["-mca", "osc", "pt2pt"],
            (Transport::Hardware, _) => &["-mca", "osc", "^rdma"],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Transport::Software => "software",
            Transport::Hardware => "hardware",
        }
    }
}

/// Builds, runs and analyses the programs, and prints a table for each variant.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let processes: &[u32] = match (options.processes.as_slice(), options.smoke) {
        ([], true) => &[2],
        ([], false) => &[2, 4],
        (given, _) => given,
    };
    ensure!(processes.iter().all(|count| *count >= 1), "a run needs processes");
    ensure!(options.runs >= 1, "a case needs a run");
    let programs = match options.program {
        Some(Program::Nwchem) => return nwchem::run(workspace, options, processes),
        Some(program) => vec![program],
        None => vec![Program::Srumma, Program::Sor],
    };
    let tools = Tools::prepare(workspace, options, &programs)?;
    let mut tables = String::new();
    for program in programs {
        for arguments in program.variants(options.smoke) {
            let mut table = Table {
                title: format!("{} {arguments}", program.name()),
                layer: program.layer(),
                cases: vec![],
            };
            for &transport in &options.transports {
                for &imbalance in &options.imbalance {
                    for &processes in processes {
                        let case = Case { program, arguments, processes, transport, imbalance };
                        let rows = (0..options.runs).map(|_| tools.measure(&case));
                        table.cases.push(rows.collect::<Result<_>>()?);
                    }
                }
            }
            let _ = write!(tables, "\n{table}");
        }
    }
    print!("{tables}");
    Ok(())
}

/// A run to measure.
struct Case {
    program: Program,
    arguments: &'static str,
    processes: u32,
    transport: Transport,
    imbalance: u32,
}

/// Programs and directories of the measurement.
struct Tools {
    /// Directory of the programs, and of traces while they exist.
    folder: Folder,
    dwell: PathBuf,
    library: PathBuf,
}

impl Tools {
    fn prepare(workspace: &Workspace, options: &Options, programs: &[Program]) -> Result<Tools> {
        let built = match &options.bin {
            Some(directory) => directory.clone(),
            None => build(workspace)?,
        };
        let built = fs::canonicalize(&built).with_context(|| built.display().to_string())?;
        let (dwell, library) = (built.join("dwell"), built.join("libdwell.so"));
        for file in [&dwell, &library] {
            ensure!(file.is_file(), "there is no {}", file.display());
        }
        let folder = std::env::temp_dir().join(format!("dwell-tables-{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let folder = Folder(folder);
        for program in programs {
            compile(*program, &folder.0, &dwell)?;
        }
        Ok(Tools { folder, dwell, library })
    }

    /// Runs a program, analyses the trace and reads the report. The programs check their results and fail if they are
    /// wrong.
    fn measure(&self, case: &Case) -> Result<Row> {
        let trace = Folder(self.folder.0.join("trace"));
        let seconds = self.launch(case, &trace.0)?;
        let layer = case.program.layer().name;

        let began = Instant::now();
        self.dwell(&["analyze"], &trace.0, &[])?;
        let analysis = began.elapsed().as_secs_f64();
        let findings = findings(&fs::read_to_string(trace.0.join("findings.json"))?)?;
        let metrics =
            metrics(&self.dwell(&["report"], &trace.0, &["--metrics", "--json"])?, layer)?;
        let at_most = format!("{layer}_{AT_MOST}");
        let per_process = match metrics.contains_key(&at_most) {
            true => {
                let wanted = ["--spread", "--metric", &at_most, "--json"];
                spread(&self.dwell(&["report"], &trace.0, &wanted)?)?
            }
            false => Spread::default(),
        };
        Ok(Row::new(case, seconds, analysis, findings, &metrics, per_process))
    }

    /// Runs a program under Dwell and returns the seconds that its work took, by its own clock.
    fn launch(&self, case: &Case, trace: &Path) -> Result<f64> {
        let layer = case.program.layer();
        let launcher = if layer.name == "shmem" { "oshrun" } else { "mpirun.openmpi" };
        let mut command = Command::new(launcher);
        command.args(["-np", &case.processes.to_string(), "--timeout", LIMIT]);
        command.args(case.transport.arguments(layer));
        command.arg(&self.dwell).arg("run").arg("-o").arg(trace);
        command.arg(self.folder.0.join(case.program.name()));
        command.arg("--time");
        if case.imbalance > 0 {
            command.args(["--imbalance", &case.imbalance.to_string()]);
        }
        command.args(case.arguments.split(' '));
        command.env("DWELL_LIBRARY", &self.library).env_remove("UCX_TLS");
        process::in_a_container(&mut command);
        let shown = process::display(&command);
        println!("$ {shown}");
        let output = command
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run `{shown}`: is {} installed?", layer.title))?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`{shown}` failed: {}\n{stderr}", output.status);
        stderr
            .lines()
            .find_map(|line| line.strip_prefix("time ")?.parse().ok())
            .with_context(|| format!("`{shown}` printed no time:\n{stderr}"))
    }

    fn dwell(&self, before: &[&str], trace: &Path, after: &[&str]) -> Result<String> {
        process::output(Command::new(&self.dwell).args(before).arg(trace).args(after))
    }
}

fn build(workspace: &Workspace) -> Result<PathBuf> {
    let mut command = process::cargo(&workspace.root);
    command.args(["build", "--release", "-p", "dwell", "-p", "dwell-preload"]);
    process::run(&mut command)?;
    Ok(workspace.target.join("release"))
}

/// Compiles a program of the examples, with hooks if its runtime is linked statically.
pub(crate) fn compile(program: Program, folder: &Path, dwell: &Path) -> Result<()> {
    let name = program.name();
    let extension = if program == Program::Halo { "f90" } else { "c" };
    let (wrapper, libraries, packages): (_, &[&str], _) = match program {
        Program::GaDgemm => (
            "mpicc.openmpi",
            &[
                "-lga-openmpi",
                "-lscalapack-openmpi",
                "-llapack",
                "-lblas",
                "-larmci-openmpi",
                "-lgfortran",
            ],
            "libglobalarrays-dev libscalapack-openmpi-dev liblapack-dev libblas-dev libarmci-mpi-dev",
        ),
        Program::ArmciSor => ("mpicc.openmpi", &["-larmci-openmpi"], "libarmci-mpi-dev"),
        Program::Halo => {
            ("gfortran", &["-fcoarray=lib", "-lcaf_openmpi"], "gfortran libcoarrays-openmpi-dev")
        }
        _ => ("oshcc", &[], "openmpi-bin libopenmpi-dev"),
    };
    let mut compiler = Command::new(wrapper);
    compiler.args([
        "-O2",
        "-g",
        "-Wall",
        "-Wextra",
        &format!("examples/{name}/{name}.{extension}"),
        "-o",
    ]);
    compiler.arg(folder.join(name));
    if program == Program::Halo {
        compiler.arg("-J").arg(folder);
    }
    if program.layer().name == "armci" {
        let runtime = if program == Program::GaDgemm { "ga" } else { "armci" };
        let mut flags = Command::new(dwell);
        let flags = process::output(flags.args(["build", "flags", runtime, "-o"]).arg(folder))?;
        compiler.args(flags.split_whitespace());
    }
    process::run(compiler.args(libraries).arg("-lm"))
        .with_context(|| format!("what it needs is in `apt-get install {packages}`"))
}

/// Name of the upper bound of Wait for Progress, without the prefix of the layer.
const AT_MOST: &str = "wait_for_progress_upper_bound";

/// Names of the lower bounds, by the kind of call and the number of targets.
const AT_LEAST: &[&str] = &[
    "rma_comm_wait_for_progress",
    "rma_comm_wait_for_progress_multi",
    "rma_sync_wait_for_progress",
    "rma_sync_wait_for_progress_multi",
];

/// Values of metrics by name, summed over all processes. Reports leave out metrics that are 0.
type Metrics = BTreeMap<String, f64>;

/// Parses `dwell report --metrics --json`. Fails if no call of the layer was recorded.
fn metrics(json: &str, layer: &str) -> Result<Metrics> {
    let report: Value = serde_json::from_str(json).context("the report is not JSON")?;
    let mut open: Vec<&Value> =
        report["metrics"].as_array().context("the report has no metrics")?.iter().collect();
    let mut metrics = Metrics::new();
    while let Some(row) = open.pop() {
        // A computed metric has no value.
        if let (Some(name), Some(value)) = (row["metric"].as_str(), row["value"].as_f64()) {
            metrics.insert(name.to_owned(), value);
        }
        open.extend(row["children"].as_array().into_iter().flatten());
    }
    ensure!(metrics.contains_key(layer), "no call of {layer} was recorded");
    Ok(metrics)
}

/// Distribution of a metric over processes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Spread {
    least: f64,
    mean: f64,
    most: f64,
}

/// Parses `dwell report --locations --metric … --json`.
fn spread(json: &str) -> Result<Spread> {
    let report: Value = serde_json::from_str(json).context("the report is not JSON")?;
    let rows = report["spread"].as_array().context("the report has no spread")?;
    let statistic = |name: &str| {
        let row = rows.iter().find(|row| row["statistic"] == name);
        row.and_then(|row| row["processes"].as_f64())
            .with_context(|| format!("the report has no {name} over processes"))
    };
    Ok(Spread { least: statistic("min")?, mean: statistic("mean")?, most: statistic("max")? })
}

/// The parts of `findings.json` that the tables need.
struct Findings {
    /// Seconds from the first event to the last.
    length: f64,
    events: f64,
    not_computed: Vec<String>,
}

fn findings(json: &str) -> Result<Findings> {
    let findings: Value = serde_json::from_str(json).context("findings.json is not JSON")?;
    let length = findings["length_seconds"].as_f64();
    let notes = findings["not_computed"].as_array();
    let text = |note: &Value, key: &str| note[key].as_str().unwrap_or("?").to_owned();
    let note = |it: &Value| format!("{}: {}", text(it, "pattern"), text(it, "reason"));
    Ok(Findings {
        length: length.context("no `length_seconds` in findings.json")?,
        events: findings["events"].as_f64().unwrap_or(0.0),
        not_computed: notes
            .context("no `not_computed` in findings.json")?
            .iter()
            .map(note)
            .collect(),
    })
}

/// Results of one run. Seconds are sums over all processes except for `seconds` and `analysis`. Calls that initialise,
/// finalise and allocate are not included.
#[derive(Debug, Default)]
struct Row {
    processes: u32,
    transport: &'static str,
    imbalance: u32,
    /// Time of the program's work, from its beginning to its end.
    seconds: f64,
    /// Time that `dwell analyze` took.
    analysis: f64,
    gets: f64,
    /// Time inside and outside of calls.
    all: f64,
    calls: f64,
    /// Time in gets and in the calls that complete them.
    one_sided: f64,
    progress_at_least: f64,
    progress_at_most: f64,
    unconfirmed: f64,
    barrier_waits: f64,
    /// Waits for single partners, for their signals or in synchronisation with them.
    partner_waits: f64,
    /// Time in calls that synchronise.
    synchronisation: f64,
    /// Number of events of the trace.
    events: f64,
    /// Distribution of `progress_at_most` over processes.
    per_process: Spread,
    not_computed: Vec<String>,
}

impl Row {
    fn new(
        case: &Case,
        seconds: f64,
        analysis: f64,
        findings: Findings,
        metrics: &Metrics,
        per_process: Spread,
    ) -> Row {
        let layer = case.program.layer().name;
        let metric = |name: &str| {
            let name = if name.is_empty() { layer.to_owned() } else { format!("{layer}_{name}") };
            metrics.get(&name).copied().unwrap_or(0.0)
        };
        // Calls of MPI other than those of the layer start and end the program, and no more.
        let beside = if layer == "shmem" { "" } else { "mpi" };
        let beside = metrics.get(beside).copied().unwrap_or(0.0);
        Row {
            processes: case.processes,
            transport: case.transport.name(),
            imbalance: case.imbalance,
            seconds,
            analysis,
            gets: metric("comms_rma_gets"),
            all: findings.length * f64::from(case.processes) - metric("management") - beside,
            calls: metric("") - metric("management"),
            one_sided: metric("rma_communication") + metric("rma_synchronization"),
            progress_at_least: AT_LEAST.iter().map(|name| metric(name)).sum(),
            progress_at_most: metric(AT_MOST),
            unconfirmed: metric("wait_for_progress_unconfirmed"),
            barrier_waits: metric("barrier_wait"),
            partner_waits: metric("rma_sync_late_partner") + metric("rma_sync_late_signal"),
            synchronisation: metric("synchronization"),
            events: findings.events,
            per_process,
            not_computed: findings.not_computed,
        }
    }

    /// Formats the bounds of Wait for Progress as percentages of a time.
    fn progress_percent(&self, of: f64) -> String {
        let percent = |part: f64| if of > 0.0 { 100.0 * part / of } else { 0.0 };
        bounds(percent(self.progress_at_least), percent(self.progress_at_most), 1)
    }
}

/// Formats two bounds, or one number if both look the same with this many digits.
fn bounds(at_least: f64, at_most: f64, digits: usize) -> String {
    let [low, high] = [at_least, at_most].map(|value| format!("{value:.digits$}"));
    if low == high { low } else { format!("{low} to {high}") }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { seconds, all, .. } = self;
        write!(f, "| {} | {} | {} % ", self.processes, self.transport, self.imbalance)?;
        write!(f, "| {:.0} | {:.0} ", 1e3 * seconds, self.gets)?;
        write!(f, "| {:.0} % | {:.1} ", 100.0 * self.calls / all, 1e3 * self.one_sided)?;
        write!(f, "| {}", bounds(1e3 * self.progress_at_least, 1e3 * self.progress_at_most, 1))?;
        if self.unconfirmed >= 0.000_05 {
            write!(f, ", {:.1} unconfirmed", 1e3 * self.unconfirmed)?;
        }
        write!(f, " | {} % ", self.progress_percent(self.one_sided))?;
        write!(f, "| {} % | {:.1} ", self.progress_percent(*all), 1e3 * self.barrier_waits)?;
        let Spread { least, mean, most } = self.per_process;
        write!(f, "| {:.1} / {:.1} / {:.1} ", 1e3 * least, 1e3 * mean, 1e3 * most)?;
        write!(f, "| {:.0} |", 1e3 * self.analysis)
    }
}

/// All runs of one variant of a program.
struct Table {
    title: String,
    layer: Layer,
    /// Runs of each case.
    cases: Vec<Vec<Row>>,
}

/// What a table has of several runs of a case: head, digits behind the point, and value.
type Quantity = (&'static str, usize, fn(&Row) -> f64);

const QUANTITIES: &[Quantity] = &[
    ("time, ms", 0, |it| 1e3 * it.seconds),
    ("in LAYER, %", 0, |it| 100.0 * it.calls / it.all),
    ("in synchronisation, ms", 0, |it| 1e3 * it.synchronisation),
    ("one-sided, ms", 0, |it| 1e3 * it.one_sided),
    ("Wait for Progress at least, ms", 0, |it| 1e3 * it.progress_at_least),
    ("at most, ms", 0, |it| 1e3 * it.progress_at_most),
    ("at most, % of one-sided", 0, |it| 100.0 * it.progress_at_most / it.one_sided.max(1e-9)),
    ("waits in barriers, ms", 0, |it| 1e3 * it.barrier_waits),
    ("waits for partners, ms", 0, |it| 1e3 * it.partner_waits),
    ("events", 0, |it| it.events),
    ("analysis, ms", 0, |it| 1e3 * it.analysis),
];

const HEADS: &[&str] = &[
    "processes",
    "transport",
    "imbalance",
    "time, ms",
    "gets",
    "in LAYER",
    "one-sided, ms",
    "Wait for Progress, ms",
    "of one-sided",
    "of time",
    "barrier waits, ms",
    "Wait for Progress of a process, at most, ms: min / mean / max",
    "analysis, ms",
];

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "`{}`\n", self.title)?;
        let several = self.cases.iter().any(|runs| runs.len() > 1);
        let quantities = QUANTITIES.iter().map(|it| it.0);
        let heads: Vec<&str> = match several {
            true => HEADS.iter().take(3).copied().chain(quantities).collect(),
            false => HEADS.to_vec(),
        };
        let line = heads.join(" | ").replace("LAYER", self.layer.title);
        writeln!(f, "| {line} |\n|{}", " --- |".repeat(heads.len()))?;
        for runs in &self.cases {
            match runs.as_slice() {
                [row] if !several => writeln!(f, "{row}")?,
                [first, ..] => {
                    write!(
                        f,
                        "| {} | {} | {} % |",
                        first.processes, first.transport, first.imbalance
                    )?;
                    for (_, digits, value) in QUANTITIES {
                        let values: Vec<f64> = runs.iter().map(value).collect();
                        write!(f, " {:.digits$} |", Interval::of(&values))?;
                    }
                    writeln!(f)?;
                }
                [] => {}
            }
        }
        let rows = self.cases.iter().filter_map(|runs| runs.first());
        for (row, note) in rows.flat_map(|row| row.not_computed.iter().map(move |it| (row, it))) {
            writeln!(f, "\nNot computed, {} processes, {}: {note}", row.processes, row.transport)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRICS: &str = r#"{"metrics": [
        {"metric": "time", "unit": "sec", "value": 9.0, "children": [
        {"metric": "shmem", "unit": "sec", "value": 8.0},
        {"metric": "shmem_management", "unit": "sec", "value": 2.0},
        {"metric": "shmem_barrier_wait", "unit": "sec", "value": 0.5},
        {"metric": "shmem_rma_synchronization", "unit": "sec", "value": 3.0},
        {"metric": "shmem_rma_sync_wait_for_progress", "unit": "sec", "value": 1.0},
        {"metric": "shmem_rma_sync_wait_for_progress_multi", "unit": "sec", "value": 0.25},
        {"metric": "shmem_rma_communication", "unit": "sec", "value": 1.0}
        ]},
        {"metric": "rate", "unit": "1/s", "value": null},
        {"metric": "shmem_wait_for_progress_upper_bound", "unit": "sec", "value": 2.0},
        {"metric": "shmem_comms_rma_gets", "unit": "occ", "value": 144}
    ]}"#;

    fn row() -> Row {
        let case = Case {
            program: Program::Srumma,
            arguments: "512 16 6",
            processes: 2,
            transport: Transport::Software,
            imbalance: 50,
        };
        let per_process = Spread { least: 0.5, mean: 1.0, most: 1.5 };
        let metrics = metrics(METRICS, "shmem").expect("well formed");
        let findings = Findings {
            length: 6.0,
            events: 1e3,
            not_computed: vec!["late_signal: why".to_owned()],
        };
        Row::new(&case, 5.0, 0.25, findings, &metrics, per_process)
    }

    #[test]
    fn a_row_is_made_of_the_metrics() {
        assert_eq!(
            row().to_string(),
            "| 2 | software | 50 % | 5000 | 144 | 60 % | 4000.0 | 1250.0 to 2000.0 | 31.2 to 50.0 % \
             | 12.5 to 20.0 % | 500.0 | 500.0 / 1000.0 / 1500.0 | 250 |"
        );
        let unconfirmed = Row { unconfirmed: 0.5, ..row() };
        assert!(unconfirmed.to_string().contains("2000.0, 500.0 unconfirmed |"), "{unconfirmed}");
    }

    #[test]
    fn bounds_that_agree_are_one_number() {
        assert_eq!(bounds(0.0001, 0.0004, 3), "0.000");
        assert_eq!(bounds(0.0001, 0.0006, 3), "0.000 to 0.001");
    }

    #[test]
    fn a_table_has_as_many_cells_as_heads_and_says_what_is_missing() {
        let title = "srumma 512 16 6".to_owned();
        let table = Table { title, layer: Program::Srumma.layer(), cases: vec![vec![row()]] };
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        let bars = lines.iter().map(|line| line.matches('|').count());
        assert!(lines.len() == 3 && bars.clone().all(|bars| bars == HEADS.len() + 1), "{text}");
        assert!(text.contains("Not computed, 2 processes, software: late_signal: why"), "{text}");
    }

    #[test]
    fn several_runs_have_medians() {
        let runs = vec![row(), Row { seconds: 7.0, ..row() }, Row { seconds: 6.0, ..row() }];
        let (title, layer) = (String::new(), Program::Srumma.layer());
        let text = Table { title, layer, cases: vec![runs] }.to_string();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        let bars: Vec<usize> = lines.iter().map(|line| line.matches('|').count()).collect();
        assert!(bars.len() == 3 && bars.iter().all(|it| *it == bars[0]), "{text}");
        assert!(
            lines[2].starts_with("| 2 | software | 50 % | 6000 (5000 to 7000) | 60 "),
            "{text}"
        );
    }

    #[test]
    fn reports_are_read() {
        let json = r#"{"spread": [{"statistic": "min", "processes": 1.0, "locations": 9.0},
            {"statistic": "mean", "processes": 2.0}, {"statistic": "max", "processes": 3.0}]}"#;
        let expected = Spread { least: 1.0, mean: 2.0, most: 3.0 };
        assert_eq!(spread(json).expect("well formed"), expected);
        assert!(spread(r#"{"spread": []}"#).is_err());
        assert!(metrics(r#"{"metrics": []}"#, "shmem").is_err(), "nothing recorded is no result");
        let json = r#"{"length_seconds": 1.5,
            "not_computed": [{"pattern": "p", "calls": 0, "reason": "r"}]}"#;
        let Findings { length, not_computed, .. } = findings(json).expect("well formed");
        assert_eq!((length, not_computed), (1.5, vec!["p: r".to_owned()]));
        assert!(findings("{}").is_err());
    }
}
