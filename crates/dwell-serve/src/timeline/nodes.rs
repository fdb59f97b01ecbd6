//! Nodes of a run, and the locations on each of them.

use std::collections::HashMap;

use crate::node::Node;
use crate::run::Run;
use crate::types::TimelineNode;

/// Greatest number of stretches of locations that are listed.
const MOST_STRETCHES: usize = 4096;

/// Returns all nodes in the order of their first locations. They are found once.
pub(crate) fn nodes(run: &Run) -> &[Node] {
    run.nodes.get_or_init(|| find(run))
}

fn find(run: &Run) -> Vec<Node> {
    let meta = run.query.meta();
    let mut list: Vec<Node> = Vec::new();
    let mut places: HashMap<_, usize> = HashMap::new();
    for location in meta.locations() {
        let id = meta.group_of_location(location).and_then(|it| meta.node_of_group(it));
        let place = *places.entry(id).or_insert(list.len());
        if place == list.len() {
            let name = id.and_then(|it| meta.system_node(it)).map_or("?", |it| it.name);
            list.push(Node { name: name.into(), parts: Vec::new() });
        }
        let Some(node) = list.get_mut(place) else { continue };
        match node.parts.last_mut() {
            Some(last) if last.end == location.0 => last.end += 1,
            _ => node.parts.push(location.0..location.0 + 1),
        }
    }
    list
}

/// Returns the stretches of consecutive locations on one node. A node may have several.
pub(super) fn stretches(run: &Run) -> Vec<TimelineNode> {
    let mut list: Vec<TimelineNode> = Vec::new();
    for Node { name, parts } in nodes(run) {
        list.extend(parts.iter().map(|it| TimelineNode {
            name: name.clone(),
            first: it.start,
            count: it.end - it.start,
        }));
    }
    list.sort_by_key(|it| it.first);
    list.truncate(MOST_STRETCHES);
    list
}
