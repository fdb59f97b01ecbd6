//! Overhead of recording on whole programs, by their own clocks, without and with a bound on it.
//!
//! Each program runs as long as is asked for, in all ways in turn. The waits that the analysis finds with the bound are
//! compared with those of full traces. Runs differ in their waits, so they are medians too.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{BOUND, Bench, OPEN_MPI, Options, Ran, Spread, Way, recorded_calls};
use crate::process;
use crate::tables::nwchem::energy;
use crate::tables::{self, Program};

/// Goal for the percentage that recording adds to the time of a program.
const GOAL: f64 = 2.0;

/// Modes in which each program runs.
const WAYS: [Way; 3] = [Way::Bare, Way::Recording, Way::Bounded];

/// Rounds whose traces are analysed.
const ANALYSED: usize = 5;

/// Input of `NWChem` that takes about a minute. In a shorter run the start and the end would take most of the time.
const WATER: &str = "water7.nw";

/// A program that times itself.
struct Case {
    name: &'static str,
    layers: &'static str,
    launcher: &'static str,
    /// Arguments before the one that determines the length of the run.
    arguments: &'static [&'static str],
    /// Last argument of a short run.
    few: u64,
    /// Length of the run, as a part of what is asked for: less for programs that make millions of calls a second.
    part: f64,
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { name: "heat", layers: "OpenSHMEM", launcher: "oshrun", arguments: &["1024"], few: 50, part: 1.0 },
    Case { name: "fft2d", layers: "OpenSHMEM", launcher: "oshrun", arguments: &["get", "1024"], few: 2, part: 1.0 },
    Case { name: "srumma", layers: "OpenSHMEM", launcher: "oshrun", arguments: &["512", "16"], few: 2, part: 1.0 },
    Case { name: "sor", layers: "OpenSHMEM", launcher: "oshrun", arguments: &["--per-pe", "--tolerance", "0", "512"], few: 50, part: 1.0 },
    Case { name: "armci-sor", layers: "ARMCI, MPI", launcher: "mpirun.openmpi", arguments: &["512"], few: 50, part: 0.5 },
    Case { name: "ga-dgemm", layers: "Global Arrays, ARMCI, MPI", launcher: "mpirun.openmpi", arguments: &["768"], few: 1, part: 1.0 },
    Case { name: "halo", layers: "coarrays, MPI", launcher: "mpirun.openmpi", arguments: &["neighbours"], few: 50, part: 0.2 },
    Case { name: "caf_elements", layers: "coarrays, MPI", launcher: "mpirun.openmpi", arguments: &["400"], few: 5, part: 0.5 },
];

/// Measures all programs in turn and prints a table.
pub(super) fn run(bench: &Bench, options: &Options) -> Result<()> {
    print_head(bench);
    for case in CASES.iter().filter(|case| options.wants(case.name)) {
        compile(bench, case.name)?;
        let units = calibrate(bench, case, case.part * options.seconds())?;
        let measured = measure(options.rounds(), |way, round| {
            let (ran, waits) = case.run(bench, way, units, round <= ANALYSED)?;
            let (calls, estimate) = (recorded_calls(&ran.stderr), estimate(&ran.stderr));
            Ok(Round { time: ran.time()?, wall: ran.wall, waits, calls, estimate })
        })?;
        let name = format!("{} {} {units}", case.name, case.arguments.join(" "));
        println!("| `{name}` | {} | {}", case.layers, measured.row());
    }
    println!();
    Ok(())
}

fn print_head(bench: &Bench) {
    let processes = &bench.processes;
    println!(
        "| program, {processes} processes | layers | bare, s | recording adds | estimated | with `--overhead {BOUND}` | estimated | below {GOAL} % | \
         calls a second | recorded with the bound | start and end add, s | waits, full and with the bound, s |"
    );
    println!("|{}", " --- |".repeat(12));
}

/// Results of one run.
struct Round {
    /// Seconds of work, by the clock of the program.
    time: f64,
    /// Seconds of the whole command.
    wall: f64,
    /// Seconds of all waits that the analysis found, the mean of both bounds, if the run was analysed.
    waits: Option<f64>,
    calls: Option<u64>,
    /// Percentage of the time that recording took, as Dwell estimates it at the end of the run.
    estimate: Option<f64>,
}

/// Results of all rounds of a program, by the way in which it ran.
#[derive(Default)]
struct Measured {
    times: [Vec<f64>; 3],
    /// Seconds of start and end.
    around: [Vec<f64>; 3],
    waits: [Vec<f64>; 3],
    calls: [u64; 3],
    estimates: [Vec<f64>; 3],
}

/// Runs a program in all ways in turn. The first round finds it in no cache, and does not count.
fn measure(rounds: usize, mut run: impl FnMut(Way, usize) -> Result<Round>) -> Result<Measured> {
    let mut measured = Measured::default();
    for round in 0..=rounds {
        // Each way is the first one as often as the others.
        for at in (0..WAYS.len()).map(|at| (at + round) % WAYS.len()) {
            let Round { time, wall, waits, calls, estimate } = run(WAYS[at], round)?;
            if round > 0 {
                measured.times[at].push(time);
                measured.around[at].push(wall - time);
                measured.waits[at].extend(waits);
                measured.calls[at] = calls.unwrap_or(0);
                measured.estimates[at].extend(estimate);
            }
        }
    }
    Ok(measured)
}

impl Measured {
    /// Returns the rest of a row, behind the name and the layers.
    fn row(&self) -> String {
        let [bare, recording, bounded] = &self.times;
        let [_, calls, calls_bounded] = self.calls;
        let (recorded, bound) = (Spread::more(bare, recording), Spread::more(bare, bounded));
        let bare = Spread::of(bare);
        let around = Spread::added(&self.around[0], &self.around[1]);
        let [_, by_calls, by_fewer] = &self.estimates;
        let (by_calls, by_fewer) = (Spread::of(by_calls).median, Spread::of(by_fewer).median);
        let [_, full, less] = &self.waits;
        let waits = match full.is_empty() {
            true => "not analysed".into(),
            false => format!("{:.3}, {:.3}", Spread::of(full), Spread::of(less)),
        };
        format!(
            "{bare:.2} | {recorded:+.1} % | {by_calls:.1} % | {bound:+.1} % | {by_fewer:.1} % | {}, {} | {:.0} | {:.0} % | {around:+.2} | {waits} |",
            recorded.verdict(GOAL),
            bound.verdict(GOAL),
            calls as f64 / bare.median,
            100.0 * calls_bounded as f64 / calls.max(1) as f64,
        )
    }
}

impl Case {
    /// Runs the program once, and analyses its trace if `analysed` is set. Returns the waits that were found.
    fn run(
        &self,
        bench: &Bench,
        way: Way,
        units: u64,
        analysed: bool,
    ) -> Result<(Ran, Option<f64>)> {
        let trace = bench.trace();
        let mut command = Command::new(self.launcher);
        command.args(["-np", &bench.processes]).args(OPEN_MPI);
        bench.measured(&mut command, way, &trace);
        command.arg(bench.folder.0.join(self.name)).arg("--time").args(self.arguments);
        command.arg(units.to_string());
        let ran = bench.ran(way, command)?;
        let analysed = analysed && way != Way::Bare;
        let waits = analysed.then(|| waits(bench, &trace.0)).transpose()?;
        Ok((ran, waits))
    }
}

/// Finds the last argument with which a program runs for a number of seconds. A short run gives a rough estimate, a longer
/// one a better one.
fn calibrate(bench: &Bench, case: &Case, seconds: f64) -> Result<u64> {
    let mut units = case.few;
    loop {
        let time = case.run(bench, Way::Bare, units, false)?.0.time()?;
        let wanted = |seconds: f64| (units as f64 * seconds / time.max(1e-6)).round() as u64;
        if time >= 0.25 * seconds {
            // Rather too long than too short.
            return Ok(wanted(1.05 * seconds).max(1));
        }
        units = wanted(0.4 * seconds).clamp(2 * units, 100 * units);
    }
}

/// Reads the estimate of the overhead from the messages of Dwell, in percent.
fn estimate(stderr: &str) -> Option<f64> {
    let before = stderr.split_once(" % overhead")?.0;
    before.rsplit(' ').next()?.parse().ok()
}

/// Returns the seconds of all waits that the analysis of a trace finds, the mean of both bounds.
fn waits(bench: &Bench, trace: &Path) -> Result<f64> {
    process::output(Command::new(&bench.dwell).arg("analyze").arg(trace))?;
    let text = fs::read_to_string(trace.join("findings.json"))?;
    let findings: Value = serde_json::from_str(&text).context("findings.json is not JSON")?;
    let seconds = |name: &str| findings[name].as_f64().with_context(|| format!("no `{name}`"));
    Ok(f64::midpoint(seconds("waits_seconds")?, seconds("waits_seconds_at_most")?))
}

fn compile(bench: &Bench, name: &str) -> Result<()> {
    let folder = &bench.folder.0;
    let program = match name {
        "srumma" => Program::Srumma,
        "sor" => Program::Sor,
        "ga-dgemm" => Program::GaDgemm,
        "armci-sor" => Program::ArmciSor,
        "halo" | "caf_elements" => {
            let source = match name {
                "halo" => "examples/halo/halo.f90",
                _ => "tests/programs/caf_elements.f90",
            };
            let mut gfortran = Command::new("gfortran");
            gfortran.args(["-O2", "-g", "-fcoarray=lib", source, "-J"]);
            gfortran.arg(folder).arg("-o").arg(folder.join(name)).arg("-lcaf_openmpi");
            let needs = "`apt-get install gfortran libcoarrays-openmpi-dev`";
            return process::output(&mut gfortran).map(|_| ()).context(needs);
        }
        _ => {
            let mut compiler = Command::new("oshcc");
            compiler.args(["-O2", "-g", &format!("examples/{name}/{name}.c"), "-o"]);
            compiler.arg(folder.join(name)).arg("-lm");
            let needs = "`apt-get install openmpi-bin libopenmpi-dev`";
            return process::output(&mut compiler).map(|_| ()).context(needs);
        }
    };
    tables::compile(program, folder, &bench.dwell)
}

/// Measures whole runs of `NWChem`. The program's own clock is too coarse, so start and end are included.
pub(super) fn nwchem(bench: &Bench, rounds: usize) -> Result<()> {
    if !process::is_on_path("nwchem.openmpi") {
        println!("there is no nwchem.openmpi: not measured");
        return Ok(());
    }
    fs::copy(format!("tests/programs/{WATER}"), bench.folder.0.join(WATER))?;
    let mut energies = Vec::new();
    let measured = measure(rounds, |way, round| {
        let trace = bench.trace();
        let mut command = Command::new("mpirun.openmpi");
        command.args(["-np", &bench.processes]).args(OPEN_MPI);
        bench.measured(&mut command, way, &trace);
        command.args(["nwchem.openmpi", WATER]).current_dir(&bench.folder.0);
        let ran = bench.ran(way, command)?;
        energies.push(energy(&ran.stdout).context("NWChem printed no energy")?);
        let apart = energies.iter().any(|energy| (energy - energies[0]).abs() > 1e-6);
        ensure!(!apart, "the energies differ: {energies:?}");
        let analysed = way != Way::Bare && round == rounds;
        let waits = analysed.then(|| waits(bench, &trace.0)).transpose()?;
        let (calls, estimate) = (recorded_calls(&ran.stderr), estimate(&ran.stderr));
        Ok(Round { time: ran.wall, wall: ran.wall, waits, calls, estimate })
    })?;
    print_head(bench);
    println!("| `nwchem.openmpi {WATER}` | MPI | {}\n", measured.row());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_become_a_row() {
        let measured = measure(2, |way, round| {
            let (time, calls) = match way {
                Way::Bare => (100.0, None),
                Way::Recording => (110.0, Some(400)),
                _ => (101.0, Some(100)),
            };
            let waits = (way != Way::Bare).then_some(if way == Way::Bounded { 0.9 } else { 1.0 });
            // The first round does not count.
            let time = if round == 0 { 1e9 } else { time };
            let wall = time + if way == Way::Bare { 1.0 } else { 1.5 };
            let estimate = estimate("at least 9.5 % overhead. Next:");
            Ok(Round { time, wall, waits, calls, estimate })
        });
        let row = measured.expect("no run fails").row();
        let expected = "100.00 (100.00 to 100.00) | +10.0 (+10.0 to +10.0) % | 9.5 % | +1.0 (+1.0 to +1.0) % | 9.5 % | missed, met | 4 | \
                        25 % | +0.50 (+0.50 to +0.50) | 1.000 (1.000 to 1.000), 0.900 (0.900 to 0.900) |";
        assert_eq!(row, expected);
    }
}
