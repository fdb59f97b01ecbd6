//! Overhead of recording on a program with the structure of the NAS benchmark FT over GASNet, by the processor time
//! that it uses outside of barriers.
//!
//! The program runs without Dwell's header, with it and without the recorder, and recorded in several ways, in turn.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use super::{Bench, Spread, Way, recorded_calls};
use crate::process;

/// A conduit, what is said of it, and arguments with which the program runs for about a second.
type Case = (&'static str, &'static str, &'static [&'static str]);

const CASES: &[Case] = &[
    ("smp", "shared memory, 128 KiB a get", &["128", "3"]),
    ("smp", "shared memory, 16 bytes a get", &["128", "1", "8192"]),
    ("udp", "loopback, 128 KiB a get", &["128", "2"]),
    ("udp", "loopback, 1 KiB a get", &["128", "1", "128"]),
];

/// Ways to run the program: a title, whether it has the header, whether it is recorded, and settings of `dwell run`.
const WAYS: [(&str, bool, Way, &[&str]); 5] = [
    ("bare", false, Way::Bare, &[]),
    ("header, not recorded", true, Way::Bare, &[]),
    ("trace", true, Way::Recording, &[]),
    (
        "trace, shared transfers counted",
        true,
        Way::Recording,
        &["--layer", "gasnet-transfers=count"],
    ),
    ("profile", true, Way::Recording, &["--profile"]),
];

const MAKEFILE: &str = "\
include $(GASNET)/include/$(CONDUIT)-conduit/$(CONDUIT)-seq.mak
all:
\t$(GASNET_CC) $(GASNET_CPPFLAGS) $(GASNET_CFLAGS) -O2 -g -fPIE $(FLAGS) -c -o $(PROGRAM).o tests/programs/gasnet_ft.c
\t$(GASNET_LD) $(GASNET_LDFLAGS) -pie -o $(PROGRAM) $(PROGRAM).o $(GASNET_LIBS) -lm
";

/// Measures all ways in turn and prints the rows of a table in the book.
pub(super) fn run(bench: &Bench, gasnet: &Path, rounds: usize, smoke: bool) -> Result<()> {
    ensure!(gasnet.join("include").is_dir(), "`cargo xtask install` builds GASNet");
    println!(
        "| FT, 2 processes | bare, s | calls a second | {} |",
        WAYS.map(|it| it.0)[1..].join(" | ")
    );
    println!("|{}", " --- |".repeat(2 + WAYS.len()));
    for (conduit, about, arguments) in CASES {
        for (name, hooked) in [("plain", false), ("hooked", true)] {
            compile(bench, gasnet, conduit, name, hooked)?;
        }
        let (mut times, mut calls) = (WAYS.map(|_| Vec::new()), 0);
        for round in 0..=rounds {
            // Each way is the first one as often as the others.
            for at in (0..WAYS.len()).map(|at| (at + round) % WAYS.len()) {
                let (Some((_, hooked, way, settings)), Some(times)) =
                    (WAYS.get(at), times.get_mut(at))
                else {
                    continue;
                };
                let trace = bench.trace();
                let program = bench.folder.0.join(if *hooked { "hooked" } else { "plain" });
                let mut command = if *way == Way::Recording {
                    let mut command = Command::new(&bench.dwell);
                    command.arg("run").arg("-o").arg(&trace.0).args(*settings).arg(program);
                    command
                } else {
                    Command::new(program)
                };
                command.env("GASNET_PSHM_NODES", "2").env("GASNET_SPAWNFN", "L");
                command.env("GASNET_SUPERNODE_MAXSIZE", if *conduit == "udp" { "1" } else { "0" });
                if *conduit == "udp" {
                    command.arg("2");
                }
                let small = ["32", "1"];
                command.args(if smoke { &small[..] } else { arguments });
                let ran = bench.ran(*way, command)?;
                if settings.is_empty() {
                    calls = recorded_calls(&ran.stderr).unwrap_or(calls);
                }
                let time = ran.time()?;
                // The first round finds the program in no cache.
                if round > 0 {
                    times.push(time);
                }
            }
        }
        let [bare, ..] = &times;
        let bare = bare.clone();
        let more = |with: &Vec<f64>| format!("{:+.1} %", Spread::more(&bare, with).median);
        let columns: Vec<String> = times.iter().skip(1).map(more).collect();
        let median = Spread::of(&bare).median;
        let a_second = calls as f64 / median;
        println!("| {conduit}, {about} | {median:.2} | {a_second:.0} | {} |", columns.join(" | "));
    }
    Ok(())
}

/// Compiles the program, with the header of Dwell or without.
fn compile(bench: &Bench, gasnet: &Path, conduit: &str, name: &str, hooked: bool) -> Result<()> {
    let folder = &bench.folder.0;
    let makefile = folder.join("Makefile");
    fs::write(&makefile, MAKEFILE)?;
    let mut flags = String::new();
    if hooked {
        let mut command = Command::new(&bench.dwell);
        command.args(["build", "flags", "gasnet", "-o"]).arg(folder.join("header"));
        flags = process::output(&mut command)?;
    }
    let mut make = Command::new("make");
    make.arg("-sf").arg(&makefile).arg(format!("CONDUIT={conduit}"));
    make.arg(format!("GASNET={}", gasnet.display())).arg(format!("FLAGS={}", flags.trim()));
    process::run(make.arg(format!("PROGRAM={}", folder.join(name).display())))
}
