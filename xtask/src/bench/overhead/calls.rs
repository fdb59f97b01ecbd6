//! The cost of single calls of each runtime, by the CPU time of the thread that makes them.
//!
//! A program of `tests/programs` makes the same call again and again in process 0, and prints nanoseconds for each; process 1
//! waits in a barrier. It runs without Dwell, recorded, recorded by another version if there is one, with every call left out
//! by a filter, and with no room for events.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Bench, OPEN_MPI, Options, PROCESSES, Spread, WAYS, Way};
use crate::process;
use crate::workspace::Workspace;

/// Goals for the nanoseconds that recording adds, by the name of the call.
const GOALS: &[(&str, f64)] = &[
    ("shmem_long_g", 90.0),
    ("shmem_putmem", 90.0),
    ("shmem_getmem", 90.0),
    ("shmem_long_p", 90.0),
    ("shmem_long_atomic_fetch_add", 90.0),
    ("MPI_Get+MPI_Win_flush", 180.0),
    ("MPI_Put+MPI_Win_flush", 180.0),
];

/// Goal for the nanoseconds that a stub adds if a transfer of OpenSHMEM is left out: less than a mispredicted branch costs.
/// Calls that complete operations, messages and layers over MPI have to be followed.
const GOAL_LEFT_OUT: f64 = 5.0;

/// Number of calls of each function in one run, and number of repetitions.
const CALLS: [&str; 2] = ["100000", "5"];
const CALLS_SMOKE: [&str; 2] = ["1000", "2"];

/// A runtime and the program that calls it.
struct Suite {
    title: &'static str,
    compiler: PathBuf,
    source: &'static str,
    /// Arguments of the compiler behind the source.
    libraries: &'static [&'static str],
    /// Set if the hooks of ARMCI are linked into the program.
    linked: bool,
    launcher: PathBuf,
    options: &'static [&'static str],
    environment: Vec<(&'static str, OsString)>,
}

/// Returns the runtimes that can be measured.
fn suites(workspace: &Workspace) -> Vec<Suite> {
    let suite = |title, compiler: &str, source, launcher: &str, options| Suite {
        title,
        compiler: compiler.into(),
        source,
        libraries: &[],
        linked: false,
        launcher: launcher.into(),
        options,
        environment: Vec::new(),
    };
    let intel = workspace.target.join("mpi/intel");
    let programs = intel.join("bin");
    let mpi = "tests/programs/mpi_overhead.c";
    vec![
        suite("OpenSHMEM", "oshcc", "tests/programs/overhead.c", "oshrun", OPEN_MPI),
        suite("Open MPI", "mpicc.openmpi", mpi, "mpirun.openmpi", OPEN_MPI),
        suite("MPICH", "mpicc.mpich", mpi, "mpirun.mpich", &[]),
        Suite {
            compiler: programs.join("mpicc"),
            launcher: programs.join("mpirun"),
            environment: vec![
                ("I_MPI_ROOT", intel.into_os_string()),
                ("I_MPI_FABRICS", "shm".into()),
            ],
            ..suite("Intel MPI", "", mpi, "", &[])
        },
        Suite {
            libraries: &["-larmci-openmpi"],
            linked: true,
            ..suite(
                "ARMCI over Open MPI",
                "mpicc.openmpi",
                "tests/programs/armci_overhead.c",
                "mpirun.openmpi",
                OPEN_MPI,
            )
        },
        Suite {
            libraries: &["-fcoarray=lib", "-lcaf_openmpi"],
            ..suite(
                "coarrays over Open MPI",
                "gfortran",
                "tests/programs/caf_overhead.f90",
                "mpirun.openmpi",
                OPEN_MPI,
            )
        },
    ]
}

/// Measures the calls of every runtime that is installed, and prints a table.
pub(super) fn run(bench: &Bench, workspace: &Workspace, options: &Options) -> Result<()> {
    let priority = if bench.real_time { "with real-time priority" } else { "with usual priority" };
    println!("CPU nanoseconds per call, {priority}");
    let beside = if bench.beside.is_some() { " version beside adds | part of that |" } else { "" };
    println!(
        "\n| call | runtime | bare | recording adds |{beside} left out adds | without room adds | goals |"
    );
    println!("|{}", " --- |".repeat(if beside.is_empty() { 7 } else { 9 }));
    for suite in suites(workspace).iter().filter(|suite| options.wants(suite.title)) {
        if !suite.compiler.is_file() && !process::is_on_path(&suite.compiler.to_string_lossy()) {
            println!("\n{}: there is no {}\n", suite.title, suite.compiler.display());
            continue;
        }
        for call in measure(bench, suite, options)? {
            println!("{}", call.row(suite.title));
        }
    }
    println!();
    Ok(())
}

fn measure(bench: &Bench, suite: &Suite, options: &Options) -> Result<Vec<Call>> {
    let mut ways = vec![Way::Bare, Way::Recording, Way::LeftOut, Way::Full];
    ways.extend(bench.beside.is_some().then_some(Way::Beside));
    let program = suite.compile(bench, Way::Recording)?;
    let other = match ways.contains(&Way::Beside) && suite.linked {
        true => suite.compile(bench, Way::Beside)?,
        false => program.clone(),
    };
    let mut calls: Vec<Call> = Vec::new();
    for round in 0..options.rounds() {
        // Each way is the first one as often as the others.
        for &way in ways.iter().cycle().skip(round).take(ways.len()) {
            let trace = bench.trace();
            let mut command = Command::new("chrt");
            command.args(["-r", "1"]).arg(&suite.launcher);
            if !bench.real_time {
                command = Command::new(&suite.launcher);
            }
            command.args(["-np", PROCESSES]).args(suite.options);
            command.envs(suite.environment.iter().map(|(name, value)| (name, value)));
            bench.measured(&mut command, way, &trace);
            command.arg(if way == Way::Beside { &other } else { &program });
            command.args(if options.smoke { CALLS_SMOKE } else { CALLS });
            add(&mut calls, way, &bench.ran(way, command)?.stdout)?;
        }
    }
    ensure!(!calls.is_empty(), "{} printed nothing", suite.source);
    Ok(calls)
}

impl Suite {
    /// Compiles the program, with the hooks of the version that a way uses if it needs them.
    fn compile(&self, bench: &Bench, way: Way) -> Result<PathBuf> {
        let folder = bench.folder.0.join(format!("{way:?}"));
        std::fs::create_dir_all(&folder)?;
        let program = folder.join(Path::new(self.source).file_stem().unwrap_or_default());
        let mut compiler = Command::new(&self.compiler);
        compiler.envs(self.environment.iter().map(|(name, value)| (name, value)));
        compiler.args(["-O2", "-g", self.source, "-o"]).arg(&program);
        if self.linked {
            let mut flags = Command::new(bench.version(way).0);
            let flags =
                process::output(flags.args(["build", "flags", "armci", "-o"]).arg(&folder))?;
            compiler.args(flags.split_whitespace());
        }
        process::output(compiler.args(self.libraries)).with_context(|| {
            format!("{} is needed; `cargo xtask install` installs it", self.title)
        })?;
        Ok(program)
    }
}

/// Parses the output of a program and takes the median of its repetitions.
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

/// Adds the output of a program to the results of its calls.
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

/// A function and its CPU nanoseconds in each round, by the way in which it was called.
#[derive(Debug)]
struct Call {
    name: String,
    ns: [Vec<f64>; WAYS],
}

impl Call {
    fn added(&self, way: Way) -> Spread {
        Spread::added(&self.ns[Way::Bare as usize], &self.ns[way as usize])
    }

    /// Returns a row of the table.
    fn row(&self, runtime: &str) -> String {
        let (recording, left_out) = (self.added(Way::Recording), self.added(Way::LeftOut));
        let beside = match self.ns[Way::Beside as usize].is_empty() {
            true => String::new(),
            false => format!(" {:.0} | {:.0} % |", self.added(Way::Beside), self.of_beside()),
        };
        let goal = GOALS.iter().find(|(name, _)| *name == self.name).map(|(_, goal)| *goal);
        let mut goals: Vec<String> = Vec::new();
        goals.extend(goal.map(|goal| format!("{goal}: {}", recording.verdict(goal))));
        if self.name.starts_with("shmem_") {
            let verdict = left_out.verdict(GOAL_LEFT_OUT);
            goals.push(format!("left out {GOAL_LEFT_OUT}: {verdict}"));
        }
        format!(
            "| `{}` | {runtime} | {:.0} | {recording:.0} |{beside} {left_out:.0} | {:.0} | {} |",
            self.name.replace('+', "` + `"),
            Spread::of(&self.ns[Way::Bare as usize]),
            self.added(Way::Full),
            goals.join("; "),
        )
    }

    /// Returns what recording adds, in percent of what it adds in the other version. The speed of the machine cancels out.
    fn of_beside(&self) -> Spread {
        let [bare, with, beside] =
            [Way::Bare, Way::Recording, Way::Beside].map(|way| &self.ns[way as usize]);
        let rounds = bare.iter().zip(with).zip(beside);
        let part =
            |((bare, with), beside): ((&f64, &f64), &f64)| 100.0 * (with - bare) / (beside - bare);
        Spread::of(&rounds.map(part).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_print_is_read() {
        let found = nanoseconds("a 3.5\nb 1\na 4.5\nb 2\na 9\nb 3\n").expect("well formed");
        assert_eq!(found, [("a".to_owned(), 4.5), ("b".to_owned(), 2.0)]);
        assert!(nanoseconds("a few words").is_err());
    }

    #[test]
    fn a_row_says_whether_goals_are_met() {
        let mut calls = Vec::new();
        let ways = [Way::Bare, Way::Recording, Way::Beside, Way::LeftOut];
        for (way, ns) in ways.into_iter().zip([20.0, 100.0, 180.0, 30.0]) {
            for more in [0.0, 1.0] {
                add(&mut calls, way, &format!("shmem_putmem {}\n", ns + more)).unwrap();
            }
        }
        let row = calls[0].row("OpenSHMEM");
        assert!(
            row.starts_with("| `shmem_putmem` | OpenSHMEM | 20 (20 to 21) | 80 (80 to 80) | 160 (160 to 160) | 50 (50 to 50) % | 10"),
            "{row}"
        );
        assert!(row.ends_with("| 90: met; left out 5: missed |"), "{row}");
    }
}
