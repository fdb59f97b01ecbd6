//! Turns tables in the order of a document into tables in the order of ids.
//!
//! Tables are filled from an XML document, from a cache or by a program, and this is the one place that checks them:
//! numbers are unique, parents come before their children, references lead to an element. After that the trees have no
//! cycles and no id leads outside its table.

use crate::error::{ErrorKind, Result};
use crate::links::{Links, NONE};

use super::Meta;
use super::tables::{Child, Numbered, OwnerKind, Tables};

/// The relation between positions in a document and ids.
enum Ids {
    /// Numbers are 0, 1, 2, … in the order of the document, so they are the ids.
    Same(u32),
    /// Numbers are 0 … n − 1 in another order; the list has them by position.
    Permuted(Vec<u32>),
    /// Numbers have gaps, so positions become ids. The list has pairs of number and position, sorted.
    Gaps(Vec<(u32, u32)>),
}

impl Ids {
    /// Examines the numbers of a table. Returns `None` if two are equal.
    fn of<R: Numbered>(records: &[R]) -> Option<Self> {
        let count = u32::try_from(records.len()).ok().filter(|&count| count != NONE)?;
        let numbers = || records.iter().map(Numbered::number);
        if numbers().eq(0..count) {
            return Some(Self::Same(count));
        }
        if numbers().all(|number| number < count) {
            let mut seen = vec![false; records.len()];
            for number in numbers() {
                let seen = seen.get_mut(number as usize)?;
                if std::mem::replace(seen, true) {
                    return None;
                }
            }
            return Some(Self::Permuted(numbers().collect()));
        }
        let mut pairs: Vec<_> = numbers().zip(0..count).collect();
        pairs.sort_unstable();
        let unique = pairs.windows(2).all(|pair| matches!(pair, [a, b] if a.0 != b.0));
        unique.then_some(Self::Gaps(pairs))
    }

    fn len(&self) -> usize {
        match self {
            Self::Same(count) => *count as usize,
            Self::Permuted(ids) => ids.len(),
            Self::Gaps(pairs) => pairs.len(),
        }
    }

    /// Returns the id of the element at a position; [`NONE`] stays unchanged.
    fn id(&self, position: u32) -> u32 {
        match self {
            Self::Permuted(ids) => ids.get(position as usize).copied().unwrap_or(NONE),
            _ => position,
        }
    }

    /// Returns the id of the element that has this number in the document.
    fn find(&self, number: u32) -> Option<u32> {
        match self {
            Self::Same(count) => (number < *count).then_some(number),
            Self::Permuted(ids) => (u64::from(number) < ids.len() as u64).then_some(number),
            Self::Gaps(pairs) => {
                let at = pairs.binary_search_by_key(&number, |pair| pair.0).ok()?;
                pairs.get(at).map(|pair| pair.1)
            }
        }
    }

    /// Sorts a table by ids.
    fn sort<R: Numbered>(&self, records: &mut [R]) {
        if let Self::Permuted(ids) = self {
            let old = records.to_vec();
            for (record, &id) in old.into_iter().zip(ids) {
                if let Some(slot) = records.get_mut(id as usize) {
                    *slot = record;
                }
            }
        }
    }
}

/// Turns parents from positions into ids, links the tree, and sorts the table.
fn link<R: Child>(records: &mut [R], ids: &Ids, parents: &Ids) -> Links {
    for record in &mut *records {
        record.set_parent(parents.id(record.parent()));
    }
    let pairs = (0..).zip(records.iter()).map(|(at, record)| (ids.id(at), record.parent()));
    let links = Links::build(parents.len(), records.len(), pairs);
    ids.sort(records);
    links
}

/// Returns `true` if every parent in a table of trees is a root mark or comes before its child.
fn ordered<R: Child>(records: &[R]) -> bool {
    (0..).zip(records).all(|(at, record)| record.parent() == NONE || record.parent() < at)
}

/// Checks the tables and gives every element its id.
pub(crate) fn finish(mut tables: Tables) -> Result<Meta> {
    let t = &mut tables;
    let all = All::of(t)?;
    check_parents(t)?;
    for cnode in &mut t.cnodes {
        let region = all.regions.find(cnode.region);
        cnode.region = region.ok_or(bad("a call path names an unknown region"))?;
    }
    attach(t, &all)?;
    place(t, &all)?;
    let metric_links = link(&mut t.metrics, &all.metrics, &all.metrics);
    all.regions.sort(&mut t.regions);
    let cnode_links = link(&mut t.cnodes, &all.cnodes, &all.cnodes);
    let node_links = link(&mut t.nodes, &all.nodes, &all.nodes);
    let group_links = link(&mut t.groups, &all.groups, &all.nodes);
    let location_links = link(&mut t.locations, &all.locations, &all.groups);
    Ok(Meta::new(tables, metric_links, cnode_links, node_links, group_links, location_links))
}

fn bad(what: &'static str) -> ErrorKind {
    ErrorKind::Anchor(what)
}

/// The ids of all tables.
struct All {
    metrics: Ids,
    regions: Ids,
    cnodes: Ids,
    nodes: Ids,
    groups: Ids,
    locations: Ids,
}

impl All {
    fn of(t: &Tables) -> Result<Self> {
        let all = Self {
            metrics: Ids::of(&t.metrics).ok_or(bad("two metrics have the same id"))?,
            regions: Ids::of(&t.regions).ok_or(bad("two regions have the same id"))?,
            cnodes: Ids::of(&t.cnodes).ok_or(bad("two call paths have the same id"))?,
            nodes: Ids::of(&t.nodes).ok_or(bad("two system tree nodes have the same id"))?,
            groups: Ids::of(&t.groups).ok_or(bad("two location groups have the same id"))?,
            locations: Ids::of(&t.locations).ok_or(bad("two locations have the same id"))?,
        };
        if matches!(all.locations, Ids::Gaps(_)) {
            let what = "the ids of locations have gaps, but they are columns of values";
            return Err(bad(what).into());
        }
        Ok(all)
    }

    /// Returns the id of an element that is known by its position.
    fn owner(&self, kind: OwnerKind, position: u32) -> Result<u32> {
        let ids = match kind {
            OwnerKind::Report => return Ok(0),
            OwnerKind::Metric => &self.metrics,
            OwnerKind::Region => &self.regions,
            OwnerKind::Cnode => &self.cnodes,
            OwnerKind::SystemNode => &self.nodes,
            OwnerKind::Group => &self.groups,
            OwnerKind::Location => &self.locations,
        };
        let known = (position as usize) < ids.len();
        Ok(known.then(|| ids.id(position)).ok_or(bad("an attribute belongs to nothing"))?)
    }
}

/// Checks that parents come before their children, so that there is no cycle, and that every location has a group.
fn check_parents(t: &Tables) -> Result<()> {
    if !(ordered(&t.metrics) && ordered(&t.cnodes) && ordered(&t.nodes)) {
        return Err(bad("an element stands before its parent").into());
    }
    let within = |parent: u32, count: usize| (parent as usize) < count;
    if !t.groups.iter().all(|group| within(group.parent, t.nodes.len()))
        || !t.locations.iter().all(|location| within(location.parent, t.groups.len()))
    {
        return Err(bad("a location or its group is outside the system tree").into());
    }
    Ok(())
}

/// Sorts attributes, expressions and parameters by their owners, and keeps the order of the document among equals.
fn attach(t: &mut Tables, all: &All) -> Result<()> {
    for attribute in &mut t.attributes {
        attribute.owner = all.owner(attribute.kind, attribute.owner)?;
    }
    for expression in &mut t.expressions {
        expression.metric = all.owner(OwnerKind::Metric, expression.metric)?;
    }
    for parameter in &mut t.parameters {
        parameter.cnode = all.owner(OwnerKind::Cnode, parameter.cnode)?;
    }
    t.attributes.sort_by_key(|attribute| (attribute.kind, attribute.owner));
    t.expressions.sort_by_key(|expression| expression.metric);
    t.parameters.sort_by_key(|parameter| parameter.cnode);
    Ok(())
}

/// Turns the numbers of elements in coordinates into ids, and checks that there are as many coordinates as dimensions.
fn place(t: &mut Tables, all: &All) -> Result<()> {
    let mut wanted = 0_u64;
    for place in &mut t.places {
        let ids = match place.kind {
            OwnerKind::SystemNode => &all.nodes,
            OwnerKind::Group => &all.groups,
            _ => &all.locations,
        };
        let nothing = bad("a coordinate belongs to nothing");
        let Some(topology) = t.topologies.get(place.topology as usize) else {
            return Err(nothing.into());
        };
        wanted += u64::from(topology.dimensions);
        place.owner = ids.find(place.owner).ok_or(nothing)?;
    }
    if wanted != t.coordinates.len() as u64
        || !t.places.is_sorted_by_key(|place| place.topology)
        || !dimensions_fit(t)
    {
        return Err(bad("a topology has coordinates of another number of dimensions").into());
    }
    Ok(())
}

/// Returns `true` if each topology has as many dimensions as it states.
fn dimensions_fit(tables: &Tables) -> bool {
    let mut dimensions = tables.dimensions.iter().map(|dimension| dimension.topology);
    let promised = (0..).zip(&tables.topologies);
    let fit = promised
        .flat_map(|(topology, record)| std::iter::repeat_n(topology, record.dimensions as usize));
    // The comparison is lazy, because a hostile file may state four billion dimensions.
    fit.map(Some).chain([None]).all(|topology: Option<u32>| dimensions.next() == topology)
}
