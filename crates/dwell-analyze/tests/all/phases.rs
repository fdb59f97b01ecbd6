//! Efficiencies of phases that a program declares, in programs whose answers can be written down. Times are in nanoseconds.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use dwell_analyze::{Cut, Options, ProgramPhase, analyze};
use otf2::event::{Enter, Leave, ParameterInt};
use otf2::id::{ParameterRef, RegionRef};

use crate::support::{Events, Thread, WINDOW, World};

const MAIN: RegionRef = RegionRef(0);
const STEP: RegionRef = RegionRef(1);
const INNER: RegionRef = RegionRef(2);
const BARRIER: RegionRef = RegionRef(3);

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("step", "phase"),
    ("inner", "phase"),
    ("shmem_barrier_all", "layer=shmem operation=barrier progress=always completes=remote"),
];

/// Phases and barriers of these programs.
trait Calls: Events {
    fn begin(self, region: RegionRef, number: i64, time: u64) -> Self {
        let parameter = ParameterRef(0);
        self.at(time, Enter { region }).at(time, ParameterInt { parameter, value: number })
    }

    fn end(self, region: RegionRef, time: u64) -> Self {
        self.at(time, Leave { region })
    }

    fn barrier(self, sequence: u64, enter: u64, leave: u64) -> Self {
        self.barrier_of(BARRIER, WINDOW, sequence, enter, leave)
    }
}

impl Calls for Thread {}

/// Analyses a program, with several ways of cutting windows, and checks its phases.
fn phases(threads: &[Thread], check: impl Fn(&[ProgramPhase])) {
    let processes: Vec<Vec<Thread>> = threads.iter().map(|it| vec![it.clone()]).collect();
    let world = World { per_node: 4, ..World::new(REGIONS, &processes) };
    let (_directory, archive) = world.open();
    for (cut, threads) in [(Cut::Budget, 1), (Cut::EveryEvent, 2), (Cut::Nanoseconds(37), 2)] {
        let mut options = Options::default();
        (options.cut, options.threads) = (cut, threads);
        check(analyze(&archive, &options, &|_| {}).unwrap().program_phases());
    }
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 1e-12
}

/// The first step takes from 10 to 100 and the second from 110 to 170, over both processes. Process 0 computes for 30 and
/// 20 in them, and process 1 for 70 and 50.
#[test]
fn two_instances() {
    let main = || Thread::default().at(0, Enter { region: MAIN });
    let first = main().begin(STEP, 1, 10).barrier(0, 40, 100).end(STEP, 100);
    let first = first.begin(STEP, 2, 110).barrier(1, 130, 170).end(STEP, 170).end(MAIN, 200);
    let second = main().begin(STEP, 1, 25).barrier(0, 95, 100).end(STEP, 100);
    let second = second.begin(STEP, 2, 115).barrier(1, 165, 168).end(STEP, 168).end(MAIN, 200);
    phases(&[first, second], |found| {
        let [step] = found else { panic!("{found:?}") };
        assert_eq!(step.name, "step");
        assert_eq!((step.instances, step.length), (2, 90 + 60));
        let found = step.efficiency.unwrap();
        assert!(near(found.load_balance, 85.0 / 120.0), "{found:?}");
        assert!(near(found.communication, 120.0 / 150.0), "{found:?}");
        assert!(near(found.parallel, 85.0 / 150.0), "{found:?}");
        assert_eq!(found.factors, None);
    });
}

/// A phase inside of another counts in both. Only process 1 takes part in the inner one.
#[test]
fn a_phase_in_a_phase() {
    let main = || Thread::default().at(0, Enter { region: MAIN });
    let first = main().begin(STEP, 1, 0).barrier(0, 50, 100).end(STEP, 100).end(MAIN, 100);
    let second = main().begin(STEP, 1, 0).begin(INNER, 7, 20).end(INNER, 80);
    let second = second.barrier(0, 90, 100).end(STEP, 100).end(MAIN, 100);
    phases(&[first, second], |found| {
        let [step, inner] = found else { panic!("{found:?}") };
        assert_eq!((step.length, inner.length), (100, 60));
        assert!(near(step.efficiency.unwrap().parallel, 70.0 / 100.0));
        assert!(near(inner.efficiency.unwrap().parallel, 1.0));
    });
}
