//! Polling is a wait: loops that ask until another process has changed something are one region for each call in them, and
//! their waits are those that the program knows.

use std::ffi::OsStr;
use std::fs;

use serde_json::Value;

use crate::lab::{Lab, Run};
use crate::mpi::Mpi;

/// A process that loses its core for long makes few calls, and a loop of few calls is none. On a quiet machine, the rows of
/// `cargo xtask truth` are held against their waits more closely.
const ATTEMPTS: usize = 3;

#[test]
fn loops_over_words_are_waits() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/spins.c", &[]);
    let options = ["--bind-to", "none", "-x", "UCX_TLS=sm,self"];
    let run = || lab.measured(2, &options, &[program.as_os_str()]);
    waits_are_found(&lab, run, 4, "PE 0");
}

#[test]
fn loops_over_words_of_windows_are_waits() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/mpi_spins.c", &[]);
        waits_are_found(&lab, || mpi.measured(&lab, 2, &[program.as_os_str()]), 3, "Rank 0");
    }
}

fn waits_are_found(lab: &Lab, run: impl Fn() -> Run, modes: usize, culprit: &str) {
    let wrong = || wrong_waits(lab, &run(), modes, culprit).err();
    let wrong: Vec<String> = (0..ATTEMPTS).map_while(|_| wrong()).collect();
    assert!(wrong.len() < ATTEMPTS, "{wrong:#?}");
}

/// Analyses a recording, and says which of its waits is not what the program says.
fn wrong_waits(lab: &Lab, run: &Run, modes: usize, culprit: &str) -> Result<(), String> {
    assert_eq!(run.code, Some(0), "{run:?}");
    let output =
        lab.dwell(&[OsStr::new("analyze"), OsStr::new("--full"), lab.experiment().as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let found = fs::read(lab.experiment().join("findings.json")).unwrap();
    let found: Value = serde_json::from_slice(&found).unwrap();
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value}"));
    let said: Vec<Vec<&str>> = run
        .stdout
        .lines()
        .map(|line| line.split(' ').collect())
        .filter(|words: &Vec<&str>| words.len() == 3)
        .collect();
    assert_eq!(said.len(), modes, "{run:?}");
    for mode in said {
        let findings = found["findings"].as_array().unwrap().iter();
        let mut findings = findings.filter(|it| {
            let path = it["path"].as_array().unwrap();
            it["pattern"] == "polling" && path.last().unwrap()["region"] == mode[1]
        });
        let finding = findings.next().unwrap_or_else(|| panic!("{mode:?}: {found:#}"));
        assert!(findings.next().is_none(), "{mode:?}: {found:#}");
        assert_eq!(finding["worst"]["on_whom"], culprit, "{mode:?}: {finding:#}");
        let (known, waits): (f64, f64) = (mode[2].parse().unwrap(), number(&finding["seconds"]));
        let waits = waits * 1e3;
        if waits > 1.02 * known + 2.0 || waits < 0.5 * known {
            return Err(format!("{mode:?}: {waits} ms of {known}: {finding:#}"));
        }
    }
    // A million calls take no room.
    let size: u64 = fs::read_dir(lab.experiment().join("traces"))
        .unwrap()
        .map(|it| it.unwrap().metadata().unwrap().len())
        .sum();
    assert!(size < 64 << 10, "{size} bytes");
    Ok(())
}
