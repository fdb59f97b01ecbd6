//! Cartesian topologies of an archive, in its report.
//!
//! A coordinate of an archive belongs to a rank of a communicator, and one of a report to a process.

use std::collections::BTreeMap;

use cubex::{Dimension, GroupId, MetaBuilder, Place, Topology, TopologyId};
use dwell_trace::ids::{Ordinal, ProcessNumber};
use dwell_trace::world::World;
use otf2::Definition;
use otf2::enums::CartPeriodicity;
use otf2::id::{CommRef, Rank, StringRef};
use otf2::read::Definitions;

/// A dimension of a topology of the archive: name, number of places, and whether the last is next to the first.
type Axis = (String, u32, bool);

/// Adds the topologies of an archive to a report. `groups` are the processes in the report, by their numbers.
pub(crate) fn add(
    defs: &Definitions,
    world: &World,
    groups: &[Option<GroupId>],
    builder: &mut MetaBuilder,
) {
    let text = |id: StringRef| defs.string(id).map(|it| it.to_string()).unwrap_or_default();
    let mut axes: BTreeMap<u32, Axis> = BTreeMap::new();
    for definition in defs.iter() {
        if let Definition::CartDimension(it) = definition {
            let is_periodic = it.cart_periodicity == CartPeriodicity::True;
            axes.insert(it.id.0, (text(it.name), it.size, is_periodic));
        }
    }
    let mut known: BTreeMap<u32, (TopologyId, CommRef, Vec<u32>)> = BTreeMap::new();
    for definition in defs.iter() {
        let Definition::CartTopology(it) = definition else { continue };
        // A damaged definition may name dimensions that are not there.
        let of: Option<Vec<&Axis>> = it.cart_dimensions.iter().map(|id| axes.get(&id.0)).collect();
        let Some(of) = of.filter(|of| !of.is_empty()) else { continue };
        let dimensions = of
            .iter()
            .map(|(name, size, periodic)| Dimension { name, size: *size, periodic: *periodic })
            .collect();
        let id = builder.topology(&Topology { name: &text(it.name), dimensions });
        let sizes = of.iter().map(|it| it.1).collect();
        known.insert(it.id.0, (id, it.communicator, sizes));
    }
    for definition in defs.iter() {
        let Definition::CartCoordinate(it) = definition else { continue };
        let Some((id, comm, sizes)) = known.get(&it.cart_topology.0) else { continue };
        let at: Vec<u32> = it.coordinates.iter().collect();
        let fits = at.len() == sizes.len() && at.iter().zip(sizes).all(|(at, size)| at < size);
        let process = process_of(world, *comm, it.rank);
        let group = process.and_then(|it| groups.get(it.index()).copied().flatten());
        if let Some(group) = group.filter(|_| fits) {
            builder.coordinate(*id, Place::Group(group), &at);
        }
    }
}

/// Returns the process of a rank of a communicator. Without one, ranks are those of the processes.
fn process_of(world: &World, comm: CommRef, rank: Rank) -> Option<ProcessNumber> {
    if comm.is_undefined() {
        return Some(ProcessNumber(rank.0));
    }
    let context = world.system.context(world.system.comm(comm)?)?;
    // Only in a communicator of one process does it matter which process asks.
    context.ranks.process(rank, ProcessNumber(0))
}
