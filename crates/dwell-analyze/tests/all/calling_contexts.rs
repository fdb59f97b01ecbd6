//! Enters and leaves of calling contexts, which tools write that unwind the stack, count as those of their regions.

#![allow(clippy::unwrap_used)]

use otf2::event::{Enter, Leave};
use otf2::id::RegionRef;

use crate::support::{Events, SEQUENCE, Thread, WINDOW, World, barrier_end, sums};

const REGIONS: &[(&str, &str)] =
    &[("main", ""), ("shmem_barrier_all", "layer=shmem operation=barrier progress=never")];

/// Returns the report of two processes, of which one comes late to a barrier.
fn report(by_context: bool) -> Vec<u8> {
    let process = |late: u64| {
        let (main, barrier) = (RegionRef(0), RegionRef(1));
        let thread = Thread::default().at(0, Enter { region: main });
        let thread = thread.at(late, Enter { region: barrier });
        let thread = thread.with(500_000, (SEQUENCE, 0), barrier_end(WINDOW));
        let thread = thread.at(500_000, Leave { region: barrier });
        vec![thread.at(600_000, Leave { region: main })]
    };
    let processes = [process(100_000), process(400_000)];
    let world = World { by_context, ..World::new(REGIONS, &processes) };
    let (directory, archive) = world.open();
    let path = directory.path().join("trace.cubex");
    sums::analyze(&archive, &Default::default()).write_report(&path).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn calls_of_contexts_are_calls_of_their_regions() {
    assert!(report(false) == report(true));
}
