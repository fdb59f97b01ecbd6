//! The archive contains the cores that each process may use, and the time that it had and lacked one. The analysis reports
//! where there are too few.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use dwell_analyze::{Options, analyze};
use dwell_model::cores::Cores;
use otf2::{Archive, AttributeValue, Definition};

use crate::lab::Lab;
use crate::mpi::Mpi;

/// Returns the cores that this process may use.
fn own() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.unwrap().trim().to_owned()
}

/// Returns the cores of each process in an archive, in order.
fn recorded(experiment: &Path) -> Vec<String> {
    let defs = Archive::open(experiment).unwrap().definitions().unwrap();
    let text = |id| defs.string(id).unwrap().to_string();
    let cores = defs.iter().filter_map(|definition| match definition {
        Definition::LocationGroupProperty(it) if text(it.name) == "DWELL::CORES" => {
            let AttributeValue::String(value) = it.value.0 else { panic!("{it:?}") };
            Some((it.location_group, text(value)))
        }
        _ => None,
    });
    let mut cores: Vec<_> = cores.collect();
    cores.sort_unstable();
    cores.into_iter().map(|(_, cores)| cores).collect()
}

/// Nanoseconds that each process of the program computes.
const BUSY: u64 = 200_000_000;

#[test]
fn two_processes_on_one_core() {
    let own: Cores = own().parse().unwrap();
    let first = own.to_string();
    let first = first.split([',', '-']).next().unwrap();
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/mpi_busy.c", &[]);
        let bind = ["taskset", "-c", first].map(OsStr::new);
        let run = mpi.measured_with(&lab, 2, &bind, &[program.as_os_str()]);
        assert_eq!(run.code, Some(0), "{mpi:?} {run:?}");
        let experiment = lab.experiment();
        lab.accepted_by_otf2_print(&experiment);
        assert_eq!(recorded(&experiment), [first, first], "{mpi:?}");
        let archive = Archive::open(&experiment).unwrap();
        let analysis = analyze(&archive, &Options::default(), &|_| {}).unwrap();
        let crowds: Vec<_> = analysis.crowds().map(|it| (it.processes, it.cores)).collect();
        assert_eq!(crowds, [(2, 1)], "{mpi:?}");
        let times = analysis.processor_time().unwrap();
        assert!(times.on_core.nanoseconds() >= 2 * BUSY, "{mpi:?}: {times:?}");
        // Each process computes while the other one is ready; the system may divide the core unevenly.
        assert!(times.ready.unwrap().nanoseconds() >= BUSY / 2, "{mpi:?}: {times:?}");
    }
}
