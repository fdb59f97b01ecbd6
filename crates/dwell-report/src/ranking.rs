//! Rankings: the call paths, locations and processes with the largest values.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use cubex::{CnodeId, LocationId, Meta, MetricId, Result};

use crate::path;
use crate::query::{Flavour, Part, Query};
use crate::settings::Folds;

/// A call path with its value in a ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// Call path that the entry is about. Where several are folded to one, it is the one with the smallest id.
    pub cnode: CnodeId,
    /// Further call paths that differ from [`Self::cnode`] only in phases and parameters. Their values are included in
    /// this entry. Only rankings of exclusive values fold call paths.
    pub others: Vec<CnodeId>,
    /// Value of the metric, summed over all locations and over [`Self::others`].
    pub value: f64,
}

/// Call paths in the order of their values of one metric, as [`Query::ranking`] returns them.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// Metric by which the call paths are ranked.
    pub metric: MetricId,
    /// Ranked call paths, the largest value first. Call paths with a value of 0 or less are left out.
    pub paths: Vec<Ranked>,
}

impl Ranked {
    /// Returns all call paths that this entry stands for: [`Self::cnode`], then [`Self::others`].
    pub fn cnodes(&self) -> Vec<CnodeId> {
        let others = self.others.iter().copied();
        std::iter::once(self.cnode).chain(others).collect()
    }
}

/// Merges call paths that differ only in phases and parameters and adds their values.
fn fold(meta: &Meta, paths: Vec<Ranked>) -> Vec<Ranked> {
    let folds = Folds::of(meta);
    if !folds.any() {
        return paths;
    }
    let mut folded: BTreeMap<CnodeId, Ranked> = BTreeMap::new();
    for path in paths {
        match folded.entry(folds.first(path.cnode)) {
            Entry::Vacant(place) => drop(place.insert(path)),
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                known.others.push(path.cnode);
                known.value += path.value;
            }
        }
    }
    folded.into_values().collect()
}

impl Query {
    /// Ranks call paths by a metric, summed over all locations; equal values are ordered by id. With `below`, only call
    /// paths at or below that one take part. Exclusive values of call paths that differ only in phases and parameters
    /// are added: see [`Ranked::others`].
    ///
    /// # Errors
    /// Fails where [`Query::row`] fails.
    pub fn ranking(
        &self,
        metric: MetricId,
        flavour: Flavour,
        below: Option<CnodeId>,
    ) -> Result<Ranking> {
        let meta = self.meta();
        let totals = self.totals(metric)?;
        let takes_part = |cnode: CnodeId| match below {
            Some(below) => path::ancestors(meta, cnode).any(|ancestor| ancestor == below),
            None => true,
        };
        let mut paths: Vec<Ranked> = meta
            .cnodes()
            .filter(|&cnode| takes_part(cnode))
            .map(|cnode| Ranked { cnode, others: Vec::new(), value: totals.get(cnode, flavour) })
            .filter(|ranked| ranked.value > 0.0)
            .collect();
        if flavour == Flavour::Exclusive {
            paths = fold(meta, paths);
        }
        paths.sort_by(|a, b| b.value.total_cmp(&a.value).then(a.cnode.cmp(&b.cnode)));
        Ok(Ranking { metric, paths })
    }

    /// Returns the locations with the largest values of a [row](Query::row) together with these values, the largest
    /// first and at most `most` of them. Locations with a value of 0 or less are left out.
    pub fn worst_locations(&self, row: &[f64], most: usize) -> Vec<(LocationId, f64)> {
        let values = self.locations(Part::All).zip(row.iter().copied());
        let mut locations: Vec<(LocationId, f64)> =
            values.filter(|&(_, value)| value > 0.0).collect();
        let order =
            |a: &(LocationId, f64), b: &(LocationId, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        // Only those that are asked for are sorted: there may be very many.
        if most > 0 && most < locations.len() {
            locations.select_nth_unstable_by(most - 1, order);
        }
        locations.truncate(most);
        locations.sort_by(order);
        locations
    }

    /// Sums a [row](Query::row) over the locations of each process. The result has one value for each process, by its
    /// id.
    pub fn by_process(&self, row: &[f64]) -> Vec<f64> {
        let meta = self.meta();
        let mut values = vec![0.0; meta.groups().len()];
        for (location, value) in meta.locations().zip(row) {
            let group = meta.group_of_location(location);
            if let Some(place) = group.and_then(|group| values.get_mut(group.index())) {
                *place += value;
            }
        }
        values
    }
}
