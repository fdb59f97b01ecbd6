//! Conversion between call paths and text.

use cubex::{CnodeId, Meta};

/// Separator between the regions of a call path in text.
pub(crate) const SEPARATOR: &str = " / ";

/// Returns the name of the last region of a call path, with its parameters as ` [key=value]`. Returns `?` if the call
/// path does not exist.
pub(crate) fn name(meta: &Meta, cnode: CnodeId) -> String {
    let mut name = meta.callee(cnode).map_or("?", |region| region.name).to_owned();
    for parameter in meta.parameters(cnode) {
        name.push_str(&format!(" [{}={}]", parameter.key, parameter.value));
    }
    name
}

/// Returns a call path as text, its regions from the root on.
pub(crate) fn text(meta: &Meta, cnode: CnodeId) -> String {
    let mut names: Vec<String> = ancestors(meta, cnode).map(|cnode| name(meta, cnode)).collect();
    names.reverse();
    names.join(SEPARATOR)
}

/// Returns the place in the source from which a call path was called, as `file:line` without directories. Returns
/// `None` if the report does not know the file or the line.
pub(crate) fn site(meta: &Meta, cnode: CnodeId) -> Option<String> {
    let call = meta.cnode(cnode)?;
    let file = call.file.rsplit('/').next().filter(|file| !file.is_empty())?;
    Some(format!("{file}:{}", call.line?))
}

/// Returns a call path like [`text`], followed by `@file:line` of the last call if that is known. The site tells two
/// calls of one function from the same caller apart, which otherwise have equal text.
pub(crate) fn text_with_site(meta: &Meta, cnode: CnodeId) -> String {
    match site(meta, cnode) {
        Some(site) => format!("{}@{site}", text(meta, cnode)),
        None => text(meta, cnode),
    }
}

/// Iterates over a call path and its callers, from the inside out to the root.
pub(crate) fn ancestors(meta: &Meta, cnode: CnodeId) -> impl Iterator<Item = CnodeId> + '_ {
    std::iter::successors(Some(cnode), |&cnode| meta.cnode_parent(cnode))
}

/// Finds call paths by text. If the text is the whole of some paths, these are returned; otherwise all paths that end
/// with the given regions. A region may be given with its site, as `name@file:line`. The result is in preorder of the
/// call tree, and empty if nothing matches.
pub(crate) fn find(meta: &Meta, wanted: &str) -> Vec<CnodeId> {
    let wanted: Vec<&str> =
        wanted.split('/').map(str::trim).filter(|part| !part.is_empty()).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let is_named = |cnode: CnodeId, wanted: &str| {
        name(meta, cnode) == wanted || meta.callee(cnode).is_some_and(|it| it.name == wanted)
    };
    let is = |cnode: CnodeId, wanted: &str| {
        let with_site = wanted.rsplit_once('@').is_some_and(|(wanted, at)| {
            is_named(cnode, wanted.trim()) && site(meta, cnode).is_some_and(|it| it == at.trim())
        });
        with_site || is_named(cnode, wanted)
    };
    let ends_like = |cnode: CnodeId| {
        let mut inside_out = ancestors(meta, cnode);
        let matches = (wanted.iter().rev())
            .all(|part| inside_out.next().is_some_and(|cnode| is(cnode, part)));
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

#[cfg(test)]
mod tests {
    use cubex::{Cnode, MetaBuilder, Region};

    use super::*;

    #[test]
    fn two_calls_of_one_function_are_told_apart_by_their_sites() {
        let mut builder = MetaBuilder::new();
        let main = builder.region(Region { name: "main", ..Region::default() });
        let get = builder.region(Region { name: "get", ..Region::default() });
        let root = builder.cnode(None, Cnode { region: main, ..Cnode::default() });
        let call = |line| Cnode { region: get, file: "/home/me/halo.c", line: Some(line) };
        let (first, second) =
            (builder.cnode(Some(root), call(12)), builder.cnode(Some(root), call(13)));
        let meta = builder.finish().unwrap();
        assert_eq!((text(&meta, first), site(&meta, root)), ("main / get".to_owned(), None));
        assert_eq!(text_with_site(&meta, second), "main / get@halo.c:13");
        assert_eq!(find(&meta, "main / get"), [first, second]);
        for wanted in ["main / get@halo.c:13", "get@halo.c:13", "get @ halo.c:13"] {
            assert_eq!(find(&meta, wanted), [second], "{wanted}");
        }
        assert!(find(&meta, "get@halo.c:14").is_empty());
    }
}
