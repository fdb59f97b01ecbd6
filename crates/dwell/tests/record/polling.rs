//! Polling is a wait: loops that ask until another process has changed something are one region for each call in them, and
//! their waits are those that the program knows.

use std::ffi::OsStr;
use std::fs;

use serde_json::Value;

use crate::lab::{Lab, Run};
use crate::mpi::Mpi;
use crate::{armci, caf};

/// A process that loses its core for long makes few calls, and a loop of few calls is none. On a quiet machine, the rows of
/// `cargo xtask truth` are held against their waits more closely.
const ATTEMPTS: usize = 3;

/// A million calls take less room in a trace than this. Calls inside calls of other layers are counted, which takes more.
const MOST_BYTES: u64 = 64 << 10;

#[test]
fn loops_over_words_are_waits() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/spins.c", &[]);
    let options = ["--bind-to", "none", "-x", "UCX_TLS=sm,self"];
    let run = || lab.measured(2, &options, &[program.as_os_str()]);
    waits_are_found(&lab, run, (5, MOST_BYTES), "PE 0");
}

#[test]
fn loops_over_words_of_windows_are_waits() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/mpi_spins.c", &[]);
        waits_are_found(
            &lab,
            || mpi.measured(&lab, 2, &[program.as_os_str()]),
            (3, MOST_BYTES),
            "Rank 0",
        );
    }
}

/// The loops of layers over MPI contain calls of MPI, which are counted and not recorded one by one.
#[test]
fn loops_over_coarrays_are_waits() {
    let Some((mpi, lab)) = caf::open() else { return };
    let program = caf::compile(&lab, "tests/programs/caf_spins.f90");
    waits_are_found(
        &lab,
        || mpi.measured(&lab, 3, &[program.as_os_str()]),
        (4, 4 * MOST_BYTES),
        "Image 1",
    );
}

/// A runtime that polls inside one call may call MPI a million times there.
#[test]
fn a_halo_of_coarrays_that_polls_takes_little_room() {
    let Some((mpi, lab)) = caf::open() else { return };
    let program = caf::compile(&lab, "tests/programs/caf_polls.f90");
    let run = mpi.measured(&lab, 3, &[program.as_os_str(), OsStr::new("20")]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let found = analysed_findings(&lab);
    let waits = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["pattern"] == "late_signal" && it["worst"]["on_whom"] == "Image 1");
    let waits: f64 = waits.map(|it| it["seconds"].as_f64().unwrap()).sum();
    // Two images wait for 30 ms in each round.
    assert!(waits > 20.0 * 0.03, "{found:#}");
    let size = bytes_of_events(&lab);
    assert!(size < 4 * MOST_BYTES, "{size} bytes");
}

#[test]
fn loops_over_calls_of_armci_are_waits() {
    let Some((mpi, lab)) = armci::open() else { return };
    let program = armci::hooked(&mpi, &lab, "tests/programs/armci_spins.c");
    waits_are_found(
        &lab,
        || mpi.measured(&lab, 3, &[program.as_os_str()]),
        (1, MOST_BYTES),
        "Rank 0",
    );
}

fn waits_are_found(lab: &Lab, run: impl Fn() -> Run, of: (usize, u64), culprit: &str) {
    let wrong = || wrong_waits(lab, &run(), of, culprit).err();
    let wrong: Vec<String> = (0..ATTEMPTS).map_while(|_| wrong()).collect();
    assert!(wrong.len() < ATTEMPTS, "{wrong:#?}");
}

/// Analyses a recording, and says which of its waits is not what the program says.
fn wrong_waits(
    lab: &Lab,
    run: &Run,
    (modes, most_bytes): (usize, u64),
    culprit: &str,
) -> Result<(), String> {
    assert_eq!(run.code, Some(0), "{run:?}");
    let found = analysed_findings(lab);
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
    let size = bytes_of_events(lab);
    assert!(size < most_bytes, "{size} bytes");
    Ok(())
}

/// Analyses the recording of a lab, and returns its findings.
fn analysed_findings(lab: &Lab) -> Value {
    let output =
        lab.dwell(&[OsStr::new("analyze"), OsStr::new("--full"), lab.experiment().as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let found = fs::read(lab.experiment().join("findings.json")).unwrap();
    serde_json::from_slice(&found).unwrap()
}

/// Returns the number of bytes of the local files of the recording of a lab.
fn bytes_of_events(lab: &Lab) -> u64 {
    let files = fs::read_dir(lab.experiment().join("traces")).unwrap();
    files.map(|it| it.unwrap().metadata().unwrap().len()).sum()
}
