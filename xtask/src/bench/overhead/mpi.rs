//! Overhead of recording on programs of MPI: single calls on Open MPI and on MPICH, and `NWChem`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::layers::WAYS;
use super::{BOUND, Bench, CALLS, Call, Folder, More, Spread, Table, Way, add, markdown};
use super::{GOAL_OFF, recorded_calls};
use crate::process;
use crate::tables::nwchem::energy;

/// Input that takes about a minute. In a shorter run the start and the end would take most of the time.
const WATER: &str = "water7.nw";
/// Goal for the nanoseconds that recording adds to a get with its flush.
const GOAL_GET: f64 = 180.0;
/// Name of the measurement to which [`GOAL_GET`] applies.
const GET: &str = "MPI_Get+MPI_Win_flush";

/// Compiler, launcher, and options of the launcher for each library. Without the options, one-sided operations of some
/// releases of Open MPI 4.1 crash, with Dwell or without.
const LIBRARIES: &[(&str, &str, &[&str])] = &[
    ("mpicc.openmpi", "mpirun.openmpi", &["-mca", "osc", "^rdma"]),
    ("mpicc.mpich", "mpirun.mpich", &[]),
];

/// Measures the cost of single calls on each library that is installed.
pub(super) fn calls(bench: &Bench, rounds: usize, rows: bool) -> Result<()> {
    for &(compiler, launcher, options) in LIBRARIES {
        if !process::is_on_path(compiler) {
            println!("there is no {compiler}: not measured");
            continue;
        }
        let program = bench.folder.0.join("mpi_overhead");
        let mut command = Command::new(compiler);
        command.args(["-O2", "tests/programs/mpi_overhead.c", "-o"]).arg(&program);
        process::run(&mut command)?;
        let mut calls: Vec<Call> = Vec::new();
        for _ in 0..rounds {
            for way in bench.ways() {
                let trace = Folder(bench.folder.0.join("trace"));
                let mut command = launch(bench, way, launcher, options, &trace.0);
                command.arg(&program).args([CALLS.0, CALLS.1]);
                add(&mut calls, way, &bench.ran(way, command)?.stdout)?;
            }
        }
        println!("{compiler}:\n{}", Table { rows: &calls, goals: false });
        if let Some(get) = calls.iter().find(|call| call.name == GET) {
            let verdict = |way, goal| match get.added(way).median <= goal {
                true => "met",
                false => "missed",
            };
            let (on, off) = (verdict(Way::Recording, GOAL_GET), verdict(Way::Off, GOAL_OFF));
            println!("goals for {GET}: {GOAL_GET} {on}, switched off {GOAL_OFF} {off}\n");
        }
        if rows {
            print!("{}", markdown(&calls, None, &[]));
        }
    }
    Ok(())
}

/// Returns the command line that launches two processes, up to the name of their program.
fn launch(bench: &Bench, way: Way, launcher: &str, options: &[&str], trace: &Path) -> Command {
    let mut command = Command::new(launcher);
    command.args(["-np", "2"]).args(options);
    if way != Way::Bare {
        command.arg(bench.version(way).0).arg("run").arg("-o").arg(trace);
    }
    match way {
        Way::Off => command.args(["--max-size", "0"]),
        Way::Bounded => command.args(["--overhead", BOUND]),
        Way::Bare | Way::Recording | Way::Beside => &mut command,
    };
    command
}

/// Measures in pairs how much longer whole runs of `NWChem` take. The program's own clock is too coarse, so start and
/// end are included.
pub(super) fn nwchem(bench: &Bench, rounds: usize) -> Result<()> {
    let (_, launcher, options) = LIBRARIES[0];
    if !process::is_on_path("nwchem.openmpi") {
        println!("there is no nwchem.openmpi: not measured");
        return Ok(());
    }
    fs::copy(format!("tests/programs/{WATER}"), bench.folder.0.join(WATER))?;
    let (mut times, mut calls, mut energies) = ([const { Vec::new() }; 3], [0; 3], Vec::new());
    for round in 0..=rounds {
        for (at, way) in WAYS.into_iter().enumerate() {
            let trace = Folder(bench.folder.0.join("trace"));
            let mut command = launch(bench, way, launcher, options, &trace.0);
            command.args(["nwchem.openmpi", WATER]).current_dir(&bench.folder.0);
            let ran = bench.ran(way, command)?;
            energies.push(energy(&ran.stdout).context("NWChem printed no energy")?);
            let apart = energies.iter().any(|energy| (energy - energies[0]).abs() > 1e-6);
            ensure!(!apart, "the energies differ: {energies:?}");
            calls[at] = recorded_calls(&ran.stderr).unwrap_or(calls[at]);
            // The first pair finds the program in no cache.
            if round > 0 {
                times[at].push(ran.wall);
            }
        }
    }
    let [bare, recording, bounded] = &times;
    println!("nwchem.openmpi {WATER}, 2 processes, {rounds} rounds");
    println!("  bare             {:.3} s", Spread::of(bare));
    for (name, with, calls) in
        [("recording", recording, calls[1]), ("--overhead 2%", bounded, calls[2])]
    {
        let more = More::of(bare, with);
        println!("  {name:<16} {:.3} s, {more}, {calls} calls recorded", Spread::of(with));
    }
    println!();
    Ok(())
}
