//! The system tree of a report: nodes, processes and locations.

use std::collections::{BTreeMap, BTreeSet};

use cubex::{Group, GroupId, Location, MetaBuilder, SystemNode, SystemNodeId};
use dwell_trace::world::World;
use otf2::Definition;
use otf2::read::Definitions;

/// Name and class of a node that is not known, for processes without one.
const NOWHERE: (&str, &str) = ("unknown", "node");

/// Writes nodes, processes and locations. A report numbers locations in the order of its tree, and an archive in the
/// order of ranks, so a node whose ranks are not consecutive occurs several times. Returns the processes in the report, by
/// their numbers.
pub(crate) fn add(
    defs: &Definitions,
    world: &World,
    builder: &mut MetaBuilder,
) -> Vec<Option<GroupId>> {
    let text = |id| defs.string(id).map(|it| it.to_string()).unwrap_or_default();
    let nodes: BTreeMap<u32, (u32, String, String)> = defs
        .iter()
        .filter_map(|definition| match definition {
            Definition::SystemTreeNode(it) => Some(it),
            _ => None,
        })
        .map(|it| (it.id.0, (it.parent.0, text(it.name), text(it.class_name))))
        .collect();
    let inner: BTreeSet<u32> = nodes.values().map(|node| node.0).collect();
    // Nodes above the last process, from the root on.
    let mut open: Vec<(u32, SystemNodeId)> = Vec::new();
    let mut groups = Vec::new();
    for (rank, (process, title)) in
        (0..).zip(world.system.processes.iter().zip(&world.system.titles))
    {
        let mut chain = Vec::new();
        if inner.contains(&title.parent.0) || !nodes.contains_key(&title.parent.0) {
            chain.push(u32::MAX);
        }
        let mut at = title.parent.0;
        // A damaged tree may contain a cycle.
        while let Some((parent, ..)) = nodes.get(&at).filter(|_| chain.len() <= nodes.len()) {
            chain.push(at);
            at = *parent;
        }
        chain.reverse();
        let same = open.iter().zip(&chain).take_while(|(open, id)| open.0 == **id).count();
        open.truncate(same);
        for &id in chain.iter().skip(same) {
            let known = nodes.get(&id).map(|(_, name, class)| (name.as_str(), class.as_str()));
            let (name, class) = known.unwrap_or(NOWHERE);
            let node = SystemNode { name, class, ..SystemNode::default() };
            let parent = open.last().map(|(_, node)| *node);
            open.push((id, builder.system_node(parent, node)));
        }
        let group = open.last().map(|(_, parent)| {
            builder.group(*parent, Group { name: &title.name, rank, kind: "process" })
        });
        groups.push(group);
        let Some(group) = group else { continue };
        let places = world.system.places.get(process.locations()).unwrap_or_default();
        for (thread, place) in (0..).zip(places) {
            let location = Location { name: &place.name, rank: thread, kind: "thread" };
            builder.location(group, location);
        }
    }
    groups
}
