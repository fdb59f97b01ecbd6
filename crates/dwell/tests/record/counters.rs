//! Counters that are sampled: those of the system and of the kernel's perf interface against what a program does, and
//! performance variables of real MPI libraries. Findings say why a process computed longer.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::Value;

use crate::lab::{Lab, Run};
use crate::mpi::{Mpi, analysed};

const PROGRAM: &str = "tests/programs/mpi_longer.c";

/// Records the program in a mode.
fn recorded(mpi: &Mpi, lab: &Lab, counters: &str, mode: &str, operations: &str) -> Run {
    let program = mpi.compile(lab, PROGRAM, &["-O1"]);
    let counters = format!("DWELL_COUNTERS={counters}");
    let command = [program.as_os_str(), OsStr::new(mode), OsStr::new(operations)];
    mpi.measured_with(lab, 2, &[OsStr::new(&counters)], &command)
}

/// Records and analyses the program, and returns its findings.
fn findings(mpi: &Mpi, lab: &Lab, counters: &str, mode: &str, operations: &str) -> Value {
    let run = recorded(mpi, lab, counters, mode, operations);
    assert_eq!(run.code, Some(0), "{run:?}");
    let experiment = lab.experiment();
    lab.accepted_by_otf2_print(&experiment);
    analysed(lab, &experiment);
    let text = std::fs::read_to_string(experiment.join("findings.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Returns the sum, the mean and the largest value of a counter in the report of a run.
fn counter(lab: &Lab, experiment: &Path, name: &str) -> [f64; 3] {
    let words = ["report", "--counters", "--json"].map(OsStr::new);
    let output = lab.dwell(&[&words[..], &[experiment.as_os_str()]].concat());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["counters"].as_array().unwrap();
    let row = rows.iter().find(|row| row["counter"] == name);
    let row = row.unwrap_or_else(|| panic!("{name} is not in {report}"));
    ["sum", "mean", "largest"].map(|key| row[key].as_f64().unwrap())
}

/// Returns the first reason for which the first cause computed longer, and its part of the excess.
fn reason(findings: &Value) -> Option<(&str, f64)> {
    let cause = &findings["causes"][0];
    let excess = cause["computing_seconds"].as_f64()? - cause["others_seconds"].as_f64()?;
    let reason = &cause["counters"]["reasons"][0];
    Some((reason["why"].as_str()?, reason["seconds"].as_f64()? / excess))
}

/// Number of attempts. Other programs on the machine may take the core of the process that is to be the faster one.
const TRIES: u32 = 4;

/// Checks that something holds in one of several attempts, each of which says what it found.
fn holds_once(mpi: &Mpi, attempt: impl Fn(&Lab) -> Result<(), String>) {
    let found: Vec<String> = (0..TRIES).map_while(|_| attempt(&Lab::bare()).err()).collect();
    assert!(found.len() < TRIES as usize, "{}: {found:?}", mpi.name());
}

/// Tells whether a process can have a core of its own, while this program waits.
fn has_two_cores() -> bool {
    std::thread::available_parallelism().is_ok_and(|count| count.get() >= 2)
}

#[test]
fn a_process_that_works_more_is_on_its_core() {
    for mpi in Mpi::chosen_of_the_system() {
        holds_once(&mpi, |lab| {
            let of = findings(&mpi, lab, "system", "work", "40000000");
            let cause = &of["causes"][0];
            let own = &cause["counters"]["cpu_seconds"];
            let [own, others] = ["own", "others"].map(|key| own[key].as_f64().unwrap_or(0.0));
            // Twice as many operations.
            let is_twice = (1.6..2.5).contains(&(own / others));
            is_twice.then_some(()).ok_or_else(|| cause.to_string())
        });
    }
}

#[test]
fn a_process_that_shares_its_core_is_off_it() {
    if !has_two_cores() {
        return;
    }
    for mpi in Mpi::chosen_of_the_system() {
        holds_once(&mpi, |lab| {
            let of = findings(&mpi, lab, "system", "off", "40000000");
            let cause = &of["causes"][0];
            let switches = cause["counters"]["involuntary_switches"]["own"].as_f64();
            let is_seen = reason(&of).is_some_and(|it| it.0 == "off the core" && it.1 > 0.6)
                && switches.is_some_and(|it| it >= 5.0)
                && cause["processes"][0]["who"] == "Rank 1";
            is_seen.then_some(()).ok_or_else(|| cause.to_string())
        });
    }
}

#[test]
fn sleeping_is_off_the_core_and_counted() {
    for mpi in Mpi::chosen_of_the_system() {
        holds_once(&mpi, |lab| {
            let of = findings(&mpi, lab, "system", "sleeps", "1000000");
            let cause = &of["causes"][0];
            let switches = cause["counters"]["voluntary_switches"]["own"].as_f64();
            // 50 sleeps in each of 5 rounds.
            let is_seen = reason(&of).is_some_and(|it| it.0 == "off the core" && it.1 > 0.8)
                && switches.is_some_and(|it| (250.0..300.0).contains(&it));
            is_seen.then_some(()).ok_or_else(|| cause.to_string())
        });
    }
}

#[test]
fn page_faults_and_migrations_are_counted() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        findings(&mpi, &lab, "system", "faults", "1000000");
        let [faults, _, largest] = counter(&lab, &lab.experiment(), "minor_faults");
        // 2000 new pages in each of 5 rounds, and a few of the library.
        assert!((10_000.0..12_000.0).contains(&faults), "{}: {faults}", mpi.name());
        assert!((2_000.0..2_200.0).contains(&largest), "{}: {largest}", mpi.name());
    }
    let Some(mpi) = Mpi::of_the_system().pop().filter(|_| has_two_cores()) else { return };
    let lab = Lab::bare();
    let run = recorded(&mpi, &lab, "migrations", "moves", "1000000");
    if run.stderr.contains("migrations is not recorded") {
        return; // The kernel does not permit it here.
    }
    analysed(&lab, &lab.experiment());
    let [moves, ..] = counter(&lab, &lab.experiment(), "migrations");
    // 10 moves and as many back in each of 5 rounds.
    assert!((90.0..=120.0).contains(&moves), "{moves}");
}

#[test]
fn a_counter_that_is_missing_is_named() {
    let Some(mpi) = Mpi::of_the_system().pop() else { return };
    let lab = Lab::bare();
    let listed = lab.dwell(&["run", "--counters", "list"].map(OsStr::new));
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("\n  cpu_time "), "{listed}");
    let run = recorded(&mpi, &lab, "cpu_time,hardware", "work", "1000");
    let is_missing = listed.split("not here:").nth(1).is_some_and(|it| it.contains("instructions"));
    let said = run.stderr.contains("the counter instructions is not recorded");
    assert_eq!(is_missing, said, "{listed}\n{}", run.stderr);
    analysed(&lab, &lab.experiment());
}

#[test]
fn unexpected_messages_of_open_mpi_are_sampled() {
    let Some(mpi) = Mpi::named("mpicc.openmpi") else { return };
    let mpi = mpi.with(&["-mca", "pml", "ob1"]);
    let lab = Lab::bare();
    let name = "mpi_t:pml_ob1_unexpected_msgq_length";
    findings(&mpi, &lab, name, "queue", "1000");
    let [_, mean, largest] = counter(&lab, &lab.experiment(), name);
    // 7 messages wait, and at times one of a barrier.
    assert!((7.0..=8.0).contains(&largest) && mean < 7.0, "{mean} {largest}");
    let run = recorded(&mpi, &lab, "mpi_t:pml_ob1_unexpected_msgq_lenght", "queue", "1000");
    assert!(run.stderr.contains(&format!("did you mean {name}?")), "{}", run.stderr);
}

#[test]
fn idle_time_of_intel_mpi_is_sampled_and_mpich_has_none() {
    if let Some(mpi) = Mpi::named("mpicc.mpich") {
        let lab = Lab::bare();
        let run = recorded(&mpi, &lab, "cpu_time,mpi_t:idle", "work", "1000");
        let said = "the MPI library has no performance variable idle; it offers none";
        assert!(run.stderr.contains(said), "{}", run.stderr);
        analysed(&lab, &lab.experiment());
    }
    let Some(mpi) = Mpi::intel() else { return };
    let lab = Lab::bare();
    findings(&mpi, &lab, "mpi_t:idle", "work", "20000000");
    let [seconds, ..] = counter(&lab, &lab.experiment(), "mpi_t:idle");
    assert!(seconds > 0.0 && seconds < 10.0, "{seconds}");
}

#[test]
fn counters_of_a_killed_run_are_recovered() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        recorded(&mpi, &lab, "system", "die", "10000000");
        let experiment = lab.experiment();
        let output = lab.dwell(&[OsStr::new("recover"), experiment.as_os_str()]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        lab.accepted_by_otf2_print(&experiment);
        let output =
            lab.dwell(&[OsStr::new("analyze"), OsStr::new("--full"), experiment.as_os_str()]);
        assert!(output.status.code().is_some_and(|code| code <= 1), "{output:?}");
        let [time, ..] = counter(&lab, &experiment, "cpu_time");
        assert!(time > 0.0, "{}: {time}", mpi.name());
    }
}
