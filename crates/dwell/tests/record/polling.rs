//! Polling is a wait: loops that ask until another process has changed something are one region each, and their waits are
//! those that the program knows.

use std::ffi::OsStr;
use std::fs;

use serde_json::Value;

use crate::lab::Lab;

/// Number of loops of the program in each mode.
const ROUNDS: u64 = 5;

#[test]
fn loops_over_words_are_waits() {
    // A process that loses its core for long makes few calls, and a loop of few calls is none: the truth rows of
    // `cargo xtask truth` are held against their waits more closely, on a quiet machine.
    let wrong: Vec<String> = (0..3).map_while(|_| wrong_waits().err()).collect();
    assert!(wrong.len() < 3, "{wrong:#?}");
}

/// Records the program, and says which of its waits is not what the program says.
fn wrong_waits() -> Result<(), String> {
    let Some(lab) = Lab::open() else { return Ok(()) };
    let program = lab.compile("tests/programs/spins.c", &[]);
    let run =
        lab.measured(2, &["--bind-to", "none", "-x", "UCX_TLS=sm,self"], &[program.as_os_str()]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let output = lab.dwell(&[OsStr::new("analyze"), lab.experiment().as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let found = fs::read(lab.experiment().join("findings.json")).unwrap();
    let found: Value = serde_json::from_slice(&found).unwrap();
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value}"));
    let modes: Vec<Vec<&str>> = run
        .stdout
        .lines()
        .map(|line| line.split(' ').collect())
        .filter(|words: &Vec<&str>| words.len() == 3)
        .collect();
    assert_eq!(modes.len(), 4, "{run:?}");
    for mode in modes {
        let findings = found["findings"].as_array().unwrap().iter();
        let mut findings = findings.filter(|it| {
            let path = it["path"].as_array().unwrap();
            it["pattern"] == "polling" && path.last().unwrap()["region"] == mode[1]
        });
        let finding = findings.next().unwrap_or_else(|| panic!("{mode:?}: {found:#}"));
        assert!(findings.next().is_none(), "{mode:?}: {found:#}");
        assert_eq!(finding["worst"]["on_whom"], "PE 0", "{mode:?}: {finding:#}");
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
    assert!(size < 64 << 10, "{size} bytes for {ROUNDS} loops of each kind");
    Ok(())
}
