//! Call paths as text.

use cubex::{CnodeId, Meta};

/// Between the regions of a call path.
pub(crate) const SEPARATOR: &str = " / ";

/// The name of the last region of a call path, with the parameters that tell it apart.
pub(crate) fn name(meta: &Meta, cnode: CnodeId) -> String {
    let mut name = meta.callee(cnode).map_or("?", |region| region.name).to_owned();
    for parameter in meta.parameters(cnode) {
        name.push_str(&format!(" [{}={}]", parameter.key, parameter.value));
    }
    name
}

/// A call path from its root on.
pub(crate) fn text(meta: &Meta, cnode: CnodeId) -> String {
    let mut names: Vec<String> = ancestors(meta, cnode).map(|cnode| name(meta, cnode)).collect();
    names.reverse();
    names.join(SEPARATOR)
}

/// A call path and those it is below, from the inside out.
pub(crate) fn ancestors(meta: &Meta, cnode: CnodeId) -> impl Iterator<Item = CnodeId> + '_ {
    std::iter::successors(Some(cnode), |&cnode| meta.cnode_parent(cnode))
}

/// Finds a call path by text: its whole path, or if no path is just that, the paths whose last regions
/// are those given. All matches, outermost first in the order of the tree.
pub(crate) fn find(meta: &Meta, wanted: &str) -> Vec<CnodeId> {
    let wanted: Vec<&str> =
        wanted.split('/').map(str::trim).filter(|part| !part.is_empty()).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let ends_like = |cnode: CnodeId| {
        let mut inside_out = ancestors(meta, cnode);
        let matches = wanted.iter().rev().all(|part| {
            inside_out.next().is_some_and(|cnode| {
                name(meta, cnode) == *part || meta.callee(cnode).is_some_and(|r| r.name == *part)
            })
        });
        (matches, inside_out.next().is_none())
    };
    let found: Vec<(CnodeId, bool)> = meta
        .cnodes_in_order()
        .filter_map(|cnode| {
            let (matches, whole) = ends_like(cnode);
            matches.then_some((cnode, whole))
        })
        .collect();
    let any_whole = found.iter().any(|&(_, whole)| whole);
    found.into_iter().filter(|&(_, whole)| whole || !any_whole).map(|(cnode, _)| cnode).collect()
}
