//! Overhead of recording on whole programs of each layer, by their own clocks.

use std::process::Command;

use anyhow::{Context, Result};

use super::{BOUND, Bench, Folder, More, Spread, Way, recorded_calls};
use crate::process;
use crate::tables::{self, Program};

/// Name of a program, its layer, its launcher, and arguments with which it runs for about a second.
type Case = (&'static str, &'static str, &'static str, &'static [&'static str]);

const CASES: &[Case] = &[
    ("srumma", "OpenSHMEM", "oshrun", &["512", "16", "4"]),
    ("sor", "OpenSHMEM", "oshrun", &["--per-pe", "--tolerance", "0", "512", "100"]),
    ("heat", "OpenSHMEM", "oshrun", &["1024", "200"]),
    ("fft2d", "OpenSHMEM", "oshrun", &["get", "1024", "6"]),
    ("ga-dgemm", "Global Arrays, ARMCI, MPI", "mpirun.openmpi", &["768", "3"]),
    ("armci-sor", "ARMCI, MPI", "mpirun.openmpi", &["512", "100"]),
    ("halo", "coarrays, MPI", "mpirun.openmpi", &["neighbours", "200"]),
];

/// Modes in which each program runs, in turn.
pub(super) const WAYS: [Way; 3] = [Way::Bare, Way::Recording, Way::Bounded];

/// Measures all programs in turn and prints the rows of a table in the book.
pub(super) fn run(bench: &Bench, rounds: usize, smoke: bool) -> Result<()> {
    compile(bench)?;
    println!(
        "| program, 2 processes | layers | bare, s | recording adds, 95 % interval | with `--overhead {BOUND}` | calls a second |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for case in CASES {
        let (name, layers, launcher, arguments) = *case;
        let (mut times, mut calls) = ([const { Vec::new() }; 3], 0);
        for round in 0..=rounds {
            for (at, way) in WAYS.into_iter().enumerate() {
                let trace = Folder(bench.folder.0.join("trace"));
                let mut command = Command::new(launcher);
                command.args(["-np", "2", "-mca", "osc", "^rdma"]);
                if way != Way::Bare {
                    command.arg(&bench.dwell).arg("run").arg("-o").arg(&trace.0);
                }
                if way == Way::Bounded {
                    command.args(["--overhead", BOUND]);
                }
                command.arg(bench.folder.0.join(name)).arg("--time");
                if smoke {
                    // The last number says how long it runs.
                    let (_, before) = arguments.split_last().context("every program has some")?;
                    command.args(before).arg("2");
                } else {
                    command.args(arguments);
                }
                let ran = bench.ran(way, command)?;
                if way == Way::Recording {
                    calls = recorded_calls(&ran.stderr).unwrap_or(calls);
                }
                let time = ran.stderr.lines().find_map(|line| line.strip_prefix("time "));
                let time: f64 = time.context("the program printed no time")?.trim().parse()?;
                // The first pair finds the program in no cache.
                if round > 0 {
                    times[at].push(time);
                }
            }
        }
        let [bare, recording, bounded] = &times;
        let (recording, bounded) = (More::of(bare, recording), More::of(bare, bounded));
        let bare = Spread::of(bare);
        println!(
            "| `{name} {}` | {layers} | {bare:.2} | {recording} | {bounded} | {:.0} |",
            arguments.join(" "),
            calls as f64 / bare.median,
        );
    }
    Ok(())
}

fn compile(bench: &Bench) -> Result<()> {
    let folder = &bench.folder.0;
    for program in [Program::Srumma, Program::Sor, Program::GaDgemm, Program::ArmciSor] {
        tables::compile(program, folder, &bench.dwell)?;
    }
    let mut gfortran = Command::new("gfortran");
    gfortran.args(["-O2", "-g", "-fcoarray=lib", "examples/halo/halo.f90", "-J"]).arg(folder);
    gfortran.arg("-o").arg(folder.join("halo")).arg("-lcaf_openmpi");
    process::run(&mut gfortran).context("`apt-get install gfortran libcoarrays-openmpi-dev`")
}
