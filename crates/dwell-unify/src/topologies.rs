//! Cartesian topologies in the archive.
//!
//! Ranks of a communicator are in row-major order in its grid, as MPI has it, so their coordinates follow from its size.
//! In a topology that the program describes, each process has stated its own.

use std::collections::BTreeSet;

use otf2::enums::CartPeriodicity;
use otf2::id::{CartDimensionRef, CartTopologyRef, CommRef, Rank};
use otf2::{List, def};

use crate::definitions::Writer;
use crate::unify::{CommId, Dimension, Group, GroupId, Run, TopologyId};

impl Writer<'_> {
    /// Writes topologies, each with its dimensions and the coordinates of its processes. A grid of the same shape on the
    /// same processes is written once, however often the program has made it.
    pub(crate) fn topologies(&mut self) -> otf2::Result<()> {
        let shared = self.global.shared();
        let (mut seen, mut next, mut dimensions) = (BTreeSet::new(), 0, 0);
        for (number, topology) in (0..).zip(shared.topologies()) {
            let of = shared.comm(topology.comm).map_or(GroupId::UNKNOWN, |comm| comm.group);
            if topology.dimensions.is_empty()
                || !seen.insert((of, &topology.name, &topology.dimensions))
            {
                continue;
            }
            let id = CartTopologyRef(next);
            next += 1;
            let mut refs = Vec::new();
            for (at, dimension) in topology.dimensions.iter().enumerate() {
                let name = self.defs.string(&format!("dimension {at}"))?;
                let cart_periodicity = match dimension.is_periodic {
                    true => CartPeriodicity::True,
                    false => CartPeriodicity::False,
                };
                let (id, size) = (CartDimensionRef(dimensions), dimension.size);
                dimensions += 1;
                self.defs.write(def::CartDimension { id, name, size, cart_periodicity })?;
                refs.push(id);
            }
            let name = self.defs.string(&topology.name)?;
            let communicator = match topology.comm {
                CommId::UNKNOWN => self.everyone(),
                CommId(id) => CommRef(id),
            };
            let cart_dimensions = List::from(refs.as_slice());
            self.defs.write(def::CartTopology { id, name, communicator, cart_dimensions })?;
            if topology.comm == CommId::UNKNOWN {
                self.places(TopologyId(number), id, &topology.dimensions)?;
            } else {
                let members = shared.group(of).map_or(0, Group::size);
                self.row_major(id, members, &topology.dimensions)?;
            }
        }
        Ok(())
    }

    /// Writes the coordinates that processes have stated, as far as they are in the grid.
    fn places(
        &mut self,
        number: TopologyId,
        id: CartTopologyRef,
        dimensions: &[Dimension],
    ) -> otf2::Result<()> {
        for place in self.global.shared().coordinates().iter().filter(|it| it.topology == number) {
            let fits = place.at.len() == dimensions.len()
                && place.at.iter().zip(dimensions).all(|(at, dimension)| *at < dimension.size);
            if fits {
                self.coordinates(id, place.rank as u32, &place.at)?;
            }
        }
        Ok(())
    }

    /// Writes the coordinates of the ranks of a communicator. There are none if its size is not that of the grid.
    fn row_major(
        &mut self,
        id: CartTopologyRef,
        members: u64,
        dimensions: &[Dimension],
    ) -> otf2::Result<()> {
        let sizes = dimensions.iter().map(|dimension| u64::from(dimension.size));
        let places = sizes.fold(1_u64, u64::saturating_mul);
        if places != members || members > self.global.size() {
            return Ok(());
        }
        for rank in 0..members {
            let mut rest = rank;
            let mut at: Vec<u32> = dimensions
                .iter()
                .rev()
                .map(|dimension| {
                    let size = u64::from(dimension.size).max(1);
                    let here = rest % size;
                    rest /= size;
                    here as u32
                })
                .collect();
            at.reverse();
            self.coordinates(id, rank as u32, &at)?;
        }
        Ok(())
    }

    fn coordinates(&mut self, id: CartTopologyRef, rank: u32, at: &[u32]) -> otf2::Result<()> {
        self.defs.write(def::CartCoordinate {
            cart_topology: id,
            rank: Rank(rank),
            coordinates: List::from(at),
        })
    }

    /// Returns a communicator of all processes, in the order of their ranks; undefined if no process has used one.
    fn everyone(&self) -> CommRef {
        let shared = self.global.shared();
        let size = self.global.size();
        let all = |id: u32| {
            let group = shared.group(GroupId(id));
            let runs = group.map_or(&[][..], Group::runs);
            matches!(*runs, [Run { start: 0, stride, count }] if count == size && (stride == 1 || count == 1))
        };
        let comms = shared.comms().iter().map(|comm| match comm.remote {
            GroupId::UNKNOWN => comm.group.0,
            _ => GroupId::UNKNOWN.0,
        });
        let groups = comms.chain(self.groups_without_communicator());
        (0..)
            .zip(groups)
            .find(|(_, group)| all(*group))
            .map_or(CommRef::UNDEFINED, |it| CommRef(it.0))
    }
}
