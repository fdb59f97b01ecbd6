//! Cartesian topologies: grids that the program makes of communicators, or describes itself.

use dwell_unify::facts::{self, Fact};

use super::Process;
use crate::entry;
use crate::mpi::Comm;
use crate::text::Text;

/// Most topologies that a process defines. Programs have a few; one that makes them in a loop fills no archive.
const MOST: u32 = 64;

/// Most dimensions of a topology that is recorded.
pub const DIMENSIONS: usize = 32;

/// A dimension of a topology.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dimension {
    /// Number of places along it.
    pub size: u32,
    /// Set if the last place is next to the first.
    pub is_periodic: bool,
}

impl Process {
    /// Defines the grid of a communicator, whose ranks are in row-major order.
    pub fn grid_of_comm(&self, comm: &Comm, dimensions: &[Dimension]) {
        let mut name = Text::<96>::default();
        name.format(format_args!("MPI grid"));
        for (at, it) in dimensions.iter().enumerate() {
            let between = if at == 0 { " " } else { " x " };
            name.format(format_args!("{between}{}", it.size));
        }
        self.topology(u64::from(comm.number) + 1, name.as_str(), dimensions, &[]);
    }

    /// Defines a topology that the program describes, and the coordinates of this process in it.
    pub fn grid_of_program(&self, name: &str, dimensions: &[Dimension], at: &[u32]) {
        self.topology(0, name, dimensions, at);
    }

    fn topology(&self, comm: u64, name: &str, dimensions: &[Dimension], at: &[u32]) {
        let mut room = ([0; 6 * DIMENSIONS], [0; 6 * DIMENSIONS]);
        let grid = dimensions.iter().map(|it| u64::from(it.size) << 1 | u64::from(it.is_periodic));
        let at = at.iter().map(|it| u64::from(*it));
        let (Some(grid), Some(at)) = (written(grid, &mut room.0), written(at, &mut room.1)) else {
            return;
        };
        entry::keeping_errno(|| {
            self.definitions(|definitions| {
                let id = u64::from(definitions.topologies);
                if definitions.topologies == MOST {
                    return;
                }
                definitions.topologies += 1;
                let topology = Fact::Topology { id, comm, name, grid };
                let mut result = definitions.stream.append(&topology);
                if comm == 0 && result.is_ok() {
                    result = definitions.stream.append(&Fact::Coordinates { topology: id, at });
                }
                if let Err(error) = result {
                    self.fail("no space for definitions", &error);
                }
            });
        });
    }
}

/// Encodes numbers. Returns `None` if there are too many.
fn written(numbers: impl Iterator<Item = u64>, room: &mut [u8]) -> Option<&[u8]> {
    let mut list = [0; DIMENSIONS];
    let mut count = 0;
    for number in numbers {
        *list.get_mut(count)? = number;
        count += 1;
    }
    let used = facts::encode_numbers(list.get(..count)?, room)?;
    room.get(..used)
}
