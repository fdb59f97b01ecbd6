//! Topologies of an archive are those of its report, and the values of processes are at their places.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use cubex::{Place, Report};
use otf2::event::{Enter, Leave};
use otf2::id::RegionRef;

use crate::support::{Events, SEQUENCE, Thread, WINDOW, World, barrier_end, sums};

const MAIN: RegionRef = RegionRef(0);
const BARRIER: RegionRef = RegionRef(1);

const REGIONS: &[(&str, &str)] =
    &[("main", ""), ("shmem_barrier_all", "layer=shmem operation=barrier progress=never")];

const SIDE: u32 = 16;
const SLOW_ROW: u32 = 11;

/// Processes of a square grid meet in barriers, to which those of one row come late.
fn processes() -> Vec<Vec<Thread>> {
    let process = |rank: u32| {
        let mut thread = Thread::default().at(0, Enter { region: MAIN });
        for round in 0..4_u64 {
            let begin = 1_000_000 * round;
            let own = u64::from(rank * 7919 % 97) * 1_000;
            let late = if rank / SIDE == SLOW_ROW { 600_000 } else { 100_000 };
            thread = thread
                .at(begin + late + own, Enter { region: BARRIER })
                .with(begin + 800_000, (SEQUENCE, round), barrier_end(WINDOW))
                .at(begin + 800_000, Leave { region: BARRIER });
        }
        vec![thread.at(4_000_000, Leave { region: MAIN })]
    };
    (0..SIDE * SIDE).map(process).collect()
}

#[test]
fn a_slow_row_of_a_grid_waits_least() {
    let processes = processes();
    let world = World { per_node: SIDE as usize, ..World::new(REGIONS, &processes) };
    let (directory, archive) = world.open();
    let analysis = sums::analyze(&archive, &Default::default());
    let path = directory.path().join("trace.cubex");
    analysis.write_report(&path).unwrap();
    let report = Report::open(&path).unwrap();
    let meta = report.meta();
    let [grid] = meta.topologies().collect::<Vec<_>>()[..] else { panic!("one topology") };
    let topology = meta.topology(grid).unwrap();
    let dimensions: Vec<_> =
        topology.dimensions.iter().map(|it| (it.name, it.size, it.periodic)).collect();
    assert_eq!(topology.name, "nodes");
    assert_eq!(dimensions, [("dimension 0", SIDE, false), ("dimension 1", SIDE, true)]);
    // Each process has a thread, so a group has the number of its location.
    let values = report.values(meta.find_metric("shmem_barrier_wait").unwrap()).unwrap();
    let mut waits = vec![0.0; (SIDE * SIDE) as usize];
    for row in meta.cnodes().filter_map(|cnode| values.row(cnode).unwrap()) {
        for (sum, location) in waits.iter_mut().zip(meta.locations()) {
            *sum += row.number(location).unwrap_or(0.0);
        }
    }
    let mut placed = 0;
    for coordinate in meta.coordinates(grid) {
        let Place::Group(group) = coordinate.place else { panic!("a place of a process") };
        let rank = meta.group(group).unwrap().rank;
        assert_eq!(coordinate.at, [rank / SIDE, rank % SIDE]);
        let is_slow = coordinate.at[0] == SLOW_ROW;
        assert_eq!(waits[rank as usize] < 1e-3, is_slow, "{:?}", coordinate.at);
        placed += 1;
    }
    assert_eq!(placed, SIDE * SIDE);
}
