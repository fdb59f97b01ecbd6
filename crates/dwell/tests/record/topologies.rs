//! Grids that MPI makes, and those that the program describes, in archive and report. That of a coarray needs the same as
//! the tests of coarrays.

use std::ffi::OsStr;

use cubex::{Place, Report};
use otf2::Definition;
use otf2::enums::CartPeriodicity;

use crate::caf::open;
use crate::lab::Lab;
use crate::mpi::{Mpi, analysed};
use crate::pcaf::{linked, object};
use crate::trace::Trace;

#[test]
fn grids_of_mpi_and_of_the_program() {
    for mpi in Mpi::chosen() {
        let lab = Lab::bare();
        let include = format!("-I{}", Lab::repository().join("include").display());
        let program = mpi.compile(&lab, "tests/programs/mpi_cart.c", &[&include]);
        let run = mpi.measured(&lab, 4, &[program.as_os_str(), OsStr::new("5")]);
        assert_eq!(run.code, Some(0), "{run:?}");
        lab.accepted_by_otf2_print(&lab.experiment());
        in_the_archive(&lab);
        analysed(&lab, &lab.experiment());
        in_the_report(&lab);
    }
}

/// The grid that was made four times is there once, and that of the program beside it.
fn in_the_archive(lab: &Lab) {
    let trace = Trace::read(&lab.experiment());
    let (mut names, mut periodic, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for definition in trace.definitions.iter() {
        match definition {
            Definition::CartTopology(it) => {
                names.push(trace.definitions.string(it.name).unwrap().to_string());
            }
            Definition::CartDimension(it) => {
                periodic.push((it.size, it.cart_periodicity == CartPeriodicity::True));
            }
            Definition::CartCoordinate(it) => {
                let at: Vec<u32> = it.coordinates.iter().collect();
                places.push((it.cart_topology.0, it.rank.0, [at[0], at[1]]));
            }
            _ => {}
        }
    }
    assert_eq!(names, ["MPI grid 2 x 2", "turned"]);
    assert_eq!(periodic, [(2, true), (2, false), (2, false), (2, false)]);
    let grid = (0..4).map(|rank| (0, rank, [rank / 2, rank % 2]));
    let turned = (0..4).map(|rank| (1, rank, [1 - rank % 2, rank / 2]));
    places.sort_unstable();
    assert_eq!(places, grid.chain(turned).collect::<Vec<_>>());
}

/// Images are numbered along the first dimension of a coarray.
#[test]
fn the_grid_of_a_coarray() {
    let Some((mpi, lab)) = open() else { return };
    let module = object(&lab, "include/dwell.f90");
    let program = object(&lab, "tests/programs/caf_grid.f90");
    let program = linked(&lab, &[&module, &program]);
    let run = mpi.measured(&lab, 4, &[program.as_os_str()]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let definitions = Trace::read(&lab.experiment()).definitions;
    let mut places: Vec<_> = definitions
        .iter()
        .filter_map(|definition| match definition {
            Definition::CartCoordinate(it) => Some((it.rank.0, it.coordinates.iter().collect())),
            _ => None,
        })
        .collect();
    places.sort_unstable();
    let expected: Vec<(u32, Vec<u32>)> =
        (0..4).map(|image| (image, vec![image % 2, image / 2])).collect();
    assert_eq!(places, expected);
}

fn in_the_report(lab: &Lab) {
    let report = Report::open(lab.experiment().join("trace.cubex")).unwrap();
    let meta = report.meta();
    let mut all = Vec::new();
    for id in meta.topologies() {
        for it in meta.coordinates(id) {
            let Place::Group(group) = it.place else { panic!("a place of a process") };
            all.push((meta.topology(id).unwrap().name, meta.group(group).unwrap().rank, it.at[0]));
        }
    }
    let rows = |name, row: fn(u32) -> u32| (0..4).map(move |rank| (name, rank, row(rank)));
    let grid = rows("MPI grid 2 x 2", |rank| rank / 2);
    let turned = rows("turned", |rank| 1 - rank % 2);
    assert_eq!(all, grid.chain(turned).collect::<Vec<_>>());
}
