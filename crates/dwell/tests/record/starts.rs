//! The time that the start of a recording takes from the program is not taken for the program's own.

use std::ffi::OsStr;
use std::path::Path;

use dwell_model::archive::STARTS_RECORDING;
use otf2::Event;
use serde_json::Value;

use crate::lab::Lab;
use crate::mpi::Mpi;
use crate::trace::Trace;

/// Checks that the region of the start lies between the call that started the runtime and all others, on each of two
/// processes, and that the analysis counts it as start-up.
fn check(lab: &Lab, experiment: &Path, init: &str) {
    let trace = Trace::read(experiment);
    let mut started = 0;
    for (location, _) in trace.locations() {
        let mut reader = trace.archive.events(location).unwrap();
        let mut all = Vec::new();
        while let Some(record) = reader.next().unwrap() {
            match record.event {
                Event::Enter(it) => all.push((true, trace.region(it.region), record.time.0)),
                Event::Leave(it) => all.push((false, trace.region(it.region), record.time.0)),
                _ => {}
            }
        }
        // The program is entered first.
        let [_, enter_init, leave_init, enter, leave] = &all[..5] else { panic!("{all:?}") };
        assert_eq!((enter_init.0, enter_init.1.as_str()), (true, init), "{all:?}");
        assert_eq!((leave_init.0, leave_init.1.as_str()), (false, init), "{all:?}");
        assert_eq!((enter.0, enter.1.as_str()), (true, STARTS_RECORDING), "{all:?}");
        assert_eq!((leave.0, leave.1.as_str()), (false, STARTS_RECORDING), "{all:?}");
        assert_eq!(leave_init.2, enter.2, "nothing lies between them: {all:?}");
        assert!(leave.2 > enter.2, "{all:?}");
        started += leave.2 - enter_init.2;
    }
    let output = lab.dwell(&[OsStr::new("analyze"), experiment.as_os_str(), OsStr::new("--json")]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let start_up = found["startup_seconds"].as_f64().unwrap() * 1e9;
    // The analysis corrects clocks.
    assert!((start_up - started as f64).abs() < 1e6, "{start_up} {started}");
}

#[test]
fn the_start_on_openshmem_is_a_region_of_its_own() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("examples/heat/heat.c", &[]);
    let command = [program.as_os_str(), OsStr::new("64"), OsStr::new("5")];
    let run = lab.measured(2, &[], &command);
    assert_eq!(run.code, Some(0), "{run:?}");
    check(&lab, &lab.experiment(), "shmem_init");
}

#[test]
fn the_start_on_mpi_is_a_region_of_its_own() {
    for mpi in Mpi::chosen() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/mpi_ring.c", &[]);
        let run = mpi.measured(&lab, 2, &[program.as_os_str()]);
        assert_eq!(run.code, Some(0), "{run:?}");
        check(&lab, &lab.experiment(), "MPI_Init");
    }
}
