//! `cargo xtask tables nwchem`: wait states in `NWChem`, a large program that was not written for Dwell.
//!
//! Its Global Arrays use one-sided communication of MPI. Each row is one run of `tests/programs/h2o.nw`, and shows how
//! much of the one-sided communication waits for progress, in which calls, and how that is distributed over processes.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{AT_LEAST, AT_MOST, Folder, LIMIT, Metrics, Options, Spread, Tools, Transport};
use super::{bounds, findings, metrics, spread};
use crate::process;
use crate::workspace::Workspace;

/// Names of the waits in collective operations.
const COLLECTIVE: &[&str] = &["barrier_wait", "wait_nxn", "latebroadcast", "earlyreduce"];

/// Largest difference between energies in hartree. Processes take tasks in varying order, and sums depend on that
/// order.
const TOLERANCE: f64 = 2e-9;

/// Runs and analyses the program, and prints the table.
pub(super) fn run(workspace: &Workspace, options: &Options, processes: &[u32]) -> Result<()> {
    let tools = Tools::prepare(workspace, options, &[])?;
    fs::copy("tests/programs/h2o.nw", tools.folder.0.join("h2o.nw"))?;
    let mut rows: Vec<Row> = Vec::new();
    for &transport in &options.transports {
        for &processes in processes {
            let row = measure(&tools, transport, processes)?;
            if let Some(first) = rows.first() {
                let differ = (first.energy - row.energy).abs();
                ensure!(differ < TOLERANCE, "energies: {} and {}", first.energy, row.energy);
            }
            rows.push(row);
        }
    }
    println!("\n| {} |\n|{}", HEADS.join(" | "), " --- |".repeat(HEADS.len()));
    rows.iter().for_each(|row| println!("{row}"));
    Ok(())
}

/// Returns the options that select Open MPI's component for one-sided communication: over messages, or over shared
/// memory.
fn component(transport: Transport) -> [&'static str; 3] {
    match transport {
        Transport::Software => ["-mca", "osc", "pt2pt"],
        Transport::Hardware => ["-mca", "osc", "^rdma"],
    }
}

fn measure(tools: &Tools, transport: Transport, processes: u32) -> Result<Row> {
    let trace = Folder(tools.folder.0.join("trace"));
    let energy = mpirun(tools, transport, processes, &trace.0)?;
    let began = Instant::now();
    tools.dwell(&["analyze"], &trace.0, &[])?;
    let analysis = began.elapsed().as_secs_f64();
    let length = findings(&fs::read_to_string(trace.0.join("findings.json"))?)?.length;
    let metrics = metrics(&tools.dwell(&["report"], &trace.0, &["--metrics", "--json"])?, "mpi")?;
    let at_most = format!("mpi_{AT_MOST}");
    let (calls, per_process) = if metrics.contains_key(&at_most) {
        let wanted = ["--metric", &at_most, "--json"];
        let calls = ranked(&tools.dwell(&["report"], &trace.0, &wanted)?)?;
        let wanted = ["--spread", "--metric", &at_most, "--json"];
        (calls, spread(&tools.dwell(&["report"], &trace.0, &wanted)?)?)
    } else {
        (String::from("none"), Spread::default())
    };
    Ok(Row::new(transport, processes, energy, length, analysis, &metrics, calls, per_process))
}

/// Runs the program under Dwell and returns the energy that it computed.
fn mpirun(tools: &Tools, transport: Transport, processes: u32, trace: &Path) -> Result<f64> {
    let mut command = Command::new("mpirun.openmpi");
    command.args(["-np", &processes.to_string(), "--timeout", LIMIT]);
    command.args(component(transport));
    command.arg(&tools.dwell).arg("run").arg("-o").arg(trace);
    command.args(["nwchem.openmpi", "h2o.nw"]).current_dir(&tools.folder.0);
    command.env("DWELL_LIBRARY", &tools.library);
    process::in_a_container(&mut command);
    let shown = process::display(&command);
    println!("$ {shown}");
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run `{shown}`: is nwchem-openmpi installed?"))?;
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    ensure!(output.status.success(), "`{shown}` failed: {}\n{stderr}", output.status);
    energy(&stdout).with_context(|| format!("`{shown}` printed no energy"))
}

/// Returns the total energy in hartree from the output of the program.
pub(crate) fn energy(stdout: &str) -> Option<f64> {
    let said = |line: &str| line.trim().strip_prefix("Total DFT energy =")?.trim().parse().ok();
    stdout.lines().find_map(said)
}

/// Returns the calls with the largest values of a metric and their shares, from `dwell report --metric … --json`.
fn ranked(json: &str) -> Result<String> {
    let report: Value = serde_json::from_str(json).context("the report is not JSON")?;
    let rows = report["ranking"].as_array().context("the report has no ranking")?;
    let call = |row: &Value| {
        let name = row["call_path"].as_str()?.rsplit(" / ").next()?;
        let share = 100.0 * row["share"].as_f64()?;
        (share >= 1.0).then(|| format!("`{name}` {share:.0} %"))
    };
    Ok(rows.iter().filter_map(call).collect::<Vec<_>>().join(", "))
}

/// Results of one run. Seconds are sums over all processes except for the length and the analysis.
#[derive(Debug)]
struct Row {
    processes: u32,
    transport: &'static str,
    energy: f64,
    length: f64,
    analysis: f64,
    time: f64,
    mpi: f64,
    one_sided: f64,
    progress_at_least: f64,
    progress_at_most: f64,
    unconfirmed: f64,
    collective: f64,
    /// Calls with the largest Wait for Progress.
    calls: String,
    per_process: Spread,
}

const HEADS: &[&str] = &[
    "processes",
    "transport",
    "length, s",
    "in MPI",
    "one-sided, ms",
    "Wait for Progress, ms",
    "of one-sided",
    "in which calls",
    "of a process, ms: min / mean / max",
    "waits in collectives, ms",
    "analysis, ms",
];

impl Row {
    #[allow(clippy::too_many_arguments)] // Each is a fact from another place.
    fn new(
        transport: Transport,
        processes: u32,
        energy: f64,
        length: f64,
        analysis: f64,
        metrics: &Metrics,
        calls: String,
        per_process: Spread,
    ) -> Row {
        let value = |name: &str| metrics.get(name).copied().unwrap_or(0.0);
        let metric = |name: &str| value(&format!("mpi_{name}"));
        let sum = |names: &[&str]| names.iter().map(|name| metric(name)).sum();
        Row {
            processes,
            transport: transport.name(),
            energy,
            length,
            analysis,
            time: value("time") - metric("management"),
            mpi: value("mpi") - metric("management"),
            one_sided: metric("rma_communication") + metric("rma_synchronization"),
            progress_at_least: sum(AT_LEAST),
            progress_at_most: metric(AT_MOST),
            unconfirmed: metric("wait_for_progress_unconfirmed"),
            collective: sum(COLLECTIVE),
            calls,
            per_process,
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spread { least, mean, most } = self.per_process;
        let percent = |part: f64, of: f64| if of > 0.0 { 100.0 * part / of } else { 0.0 };
        let [low, high] = [self.progress_at_least, self.progress_at_most];
        write!(f, "| {} | {} | {:.2} ", self.processes, self.transport, self.length)?;
        write!(f, "| {:.0} % ", percent(self.mpi, self.time))?;
        write!(f, "| {:.1} | {}", 1e3 * self.one_sided, bounds(1e3 * low, 1e3 * high, 1))?;
        if self.unconfirmed >= 0.000_05 {
            write!(f, ", {:.1} unconfirmed", 1e3 * self.unconfirmed)?;
        }
        let [low, high] = [low, high].map(|wait| percent(wait, self.one_sided));
        write!(f, " | {} % | {} ", bounds(low, high, 1), self.calls)?;
        write!(f, "| {:.1} / {:.1} / {:.1} ", 1e3 * least, 1e3 * mean, 1e3 * most)?;
        write!(f, "| {:.1} | {:.0} |", 1e3 * self.collective, 1e3 * self.analysis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read() {
        let text = "\n  Total DFT energy =      -76.408738452861\n  One electron energy = 1\n";
        assert_eq!(energy(text), Some(-76.408_738_452_861));
        assert_eq!(energy("Total SCF energy = 1"), None);
        let json = r#"{"ranking": [
            {"call_path": "nwchem / MPI_Win_flush", "share": 0.75, "value": 3.0},
            {"call_path": "nwchem / MPI_Win_flush_all", "share": 0.247, "value": 1.0},
            {"call_path": "nwchem / MPI_Get", "share": 0.003, "value": 0.1}]}"#;
        let expected = "`MPI_Win_flush` 75 %, `MPI_Win_flush_all` 25 %";
        assert_eq!(ranked(json).expect("well formed"), expected);
    }

    #[test]
    fn a_row_has_as_many_cells_as_heads() {
        let values = [
            ("time", 9.0),
            ("mpi", 5.0),
            ("mpi_management", 1.0),
            ("mpi_rma_synchronization", 1.5),
            ("mpi_rma_communication", 0.5),
            ("mpi_rma_sync_wait_for_progress", 0.25),
            ("mpi_wait_for_progress_upper_bound", 0.5),
            ("mpi_barrier_wait", 0.75),
        ];
        let metrics = values.map(|(name, value)| (name.to_owned(), value)).into();
        let per_process = Spread { least: 0.1, mean: 0.25, most: 0.4 };
        let calls = "`MPI_Win_flush` 100 %".to_owned();
        let transport = Transport::Software;
        let row = Row::new(transport, 2, -76.0, 4.5, 0.1, &metrics, calls, per_process).to_string();
        assert_eq!(row.matches('|').count(), HEADS.len() + 1, "{row}");
        assert_eq!(
            row,
            "| 2 | software | 4.50 | 50 % | 2000.0 | 250.0 to 500.0 | 12.5 to 25.0 % \
             | `MPI_Win_flush` 100 % | 100.0 / 250.0 / 400.0 | 750.0 | 100 |"
        );
    }
}
