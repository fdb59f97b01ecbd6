//! `NWChem`, unmodified: a real program of chemistry, whose Global Arrays are passive target one-sided
//! communication of MPI.
//!
//! Needs `nwchem.openmpi`; without it the tests say so and pass, unless `DWELL_REQUIRE_NWCHEM=1`.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::{env, fs};

use crate::lab::{Lab, Run};
use crate::mpi::Mpi;
use crate::mpi_count::{held_against_the_trace, tool};
use crate::needs;
use crate::profile::near_the_trace;
use crate::trace::Trace;

const PROGRAM: &str = "nwchem.openmpi";

/// Returns a lab with the input, and the MPI library for which the program was built.
fn open() -> Option<(Lab, Mpi)> {
    let path = env::var_os("PATH").unwrap_or_default();
    let there = |folder: PathBuf| folder.join(PROGRAM).is_file();
    let mpi = Mpi::named("mpicc.openmpi").filter(|_| env::split_paths(&path).any(there));
    let Some(mpi) = mpi else {
        needs::missing("NWCHEM", &format!("there is no {PROGRAM}"));
        return None;
    };
    let lab = Lab::bare();
    let input = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/h2o.nw");
    fs::copy(input, lab.path("h2o.nw")).unwrap();
    Some((lab, mpi))
}

fn command() -> [&'static OsStr; 2] {
    [PROGRAM, "h2o.nw"].map(OsStr::new)
}

/// Returns the total energy in hartree, as it was printed.
fn energy(run: &Run) -> String {
    assert_eq!(run.code, Some(0), "{run:?}");
    let energy = run.stdout.lines().find_map(|line| {
        line.trim().strip_prefix("Total DFT energy =").map(|energy| energy.trim().to_owned())
    });
    energy.unwrap_or_else(|| panic!("no energy: {run:?}"))
}

/// With one process the sums have one order, and every digit is the same.
#[test]
fn one_process_computes_the_same_energy_to_the_last_digit() {
    let Some((lab, mpi)) = open() else { return };
    let plain = mpi.run(&lab, 1, &command());
    let measured = mpi.measured(&lab, 1, &command());
    assert_eq!(energy(&plain), energy(&measured));
}

/// Several processes take tasks in varying order. So the order of additions differs from run to run, and with it the
/// last three digits of twelve, without Dwell as well.
#[test]
fn two_processes_compute_the_same_energy() {
    let Some((lab, mpi)) = open() else { return };
    let plain: f64 = energy(&mpi.run(&lab, 2, &command())).parse().unwrap();
    let both = [&["--profile", "--trace"].map(OsStr::new)[..], &command()].concat();
    let measured: f64 = energy(&mpi.measured(&lab, 2, &both)).parse().unwrap();
    assert!((plain - measured).abs() < 2e-9, "{plain} {measured}");
    lab.accepted_by_otf2_print(&lab.experiment());
    let trace = Trace::read(&lab.experiment());
    for rank in 0..2 {
        for name in ["MPI_Accumulate", "MPI_Get_accumulate", "MPI_Fetch_and_op"] {
            let count = trace.counts.get(&(rank, name.into())).copied().unwrap_or_default();
            assert!(count.calls > 0 && count.bytes > 0, "{rank} {name} {count:?}");
        }
        let flushes = trace.counts.get(&(rank, "MPI_Win_flush_all".into()));
        assert!(flushes.is_some_and(|count| count.calls > 1000), "{rank} {flushes:?}");
    }
    near_the_trace(&lab, PROGRAM);
}

#[test]
fn a_tool_below_counts_the_same() {
    let Some((lab, mpi)) = open() else { return };
    let tool = tool(&mpi, &lab);
    let run = mpi.measured_over(&lab, &tool, 2, &command());
    energy(&run);
    let functions = held_against_the_trace(&lab, 2);
    assert!(functions > 24, "only {functions} were counted");
}
