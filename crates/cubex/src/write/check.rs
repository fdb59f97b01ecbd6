//! Checks that other readers make of metadata, beyond its consistency.

use crate::error::{Error, Result};
use crate::meta::{Meta, Owner};

/// Fails with the first rule of cubelib's grammar that the metadata breaks.
pub(super) fn meta(meta: &Meta) -> Result<()> {
    let fail = |what: String| Err(Error::invalid(what));
    let needed = [
        (meta.metrics().len(), "metric"),
        (meta.regions().len(), "region"),
        (meta.cnodes().len(), "call path"),
        (meta.system_nodes().len(), "system tree node"),
        (meta.locations().len(), "location"),
    ];
    if let Some((_, what)) = needed.iter().find(|(count, _)| *count == 0) {
        return fail(format!("a report needs at least one {what}"));
    }
    for id in meta.groups() {
        if meta.locations_of(id).next().is_none() {
            return fail(format!("location group {id} has no location, which cubelib cannot read"));
        }
    }
    for id in meta.metrics() {
        let Some(metric) = meta.metric(id) else { continue };
        if metric.uniq_name.is_empty() {
            return fail(format!("metric {id} has no unique name"));
        }
    }
    // This crate takes columns of values by id, and cubelib by position in the document.
    let mut next = 0;
    let mut nodes: Vec<_> = meta.root_system_nodes().collect();
    nodes.reverse();
    while let Some(node) = nodes.pop() {
        for group in meta.groups_of(node) {
            for location in meta.locations_of(group) {
                if location.0 != next {
                    return fail(format!(
                        "location {location} stands at place {next} of the system tree; locations \
                         are numbered in its order, groups of a node before the nodes below it"
                    ));
                }
                next += 1;
            }
        }
        let below = nodes.len();
        nodes.extend(meta.system_node_children(node));
        nodes.get_mut(below..).unwrap_or_default().reverse();
    }
    for id in meta.topologies() {
        let sizes = meta.topology(id).map(|topology| topology.dimensions).unwrap_or_default();
        let outside = meta.coordinates(id).any(|coordinate| {
            coordinate.at.iter().zip(&sizes).any(|(at, dimension)| *at >= dimension.size)
        });
        if outside {
            return fail(format!("topology {id} has a coordinate beyond its size"));
        }
    }
    // cubelib takes attribute values between double quotes and nothing between tags of this kind.
    if meta.attributes(Owner::Report).any(|attribute| attribute.key.is_empty()) {
        return fail("an attribute of the report has no key".into());
    }
    Ok(())
}
