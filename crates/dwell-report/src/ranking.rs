//! The call paths with the most of something.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use cubex::{CnodeId, LocationId, Meta, MetricId, Result};

use crate::path;
use crate::query::{Flavour, Part, Query};
use crate::settings::Folds;

/// A call path and what it has of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The call path.
    pub cnode: CnodeId,
    /// Others that differ in nothing but parameters, and count with it.
    pub others: Vec<CnodeId>,
    /// Its value, summed up over all locations.
    pub value: f64,
    /// Its share of the whole, or 0 if the whole is 0.
    pub share: f64,
}

/// Call paths in the order of their values.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The metric.
    pub metric: MetricId,
    /// The value of the whole program.
    pub total: f64,
    /// The call paths, the greatest value first; those without any are left out.
    pub paths: Vec<Ranked>,
}

impl Ranked {
    /// The call path and the others.
    pub fn cnodes(&self) -> Vec<CnodeId> {
        let others = self.others.iter().copied();
        std::iter::once(self.cnode).chain(others).collect()
    }
}

/// Makes one of call paths that differ in nothing but parameters.
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
                known.share += path.share;
            }
        }
    }
    folded.into_values().collect()
}

impl Query {
    /// Ranks call paths by a metric. Equal values are ordered by id. With `below`, only call paths
    /// at or below that one take part. Exclusive values of call paths that differ in nothing but
    /// parameters are added up: see [`Ranked::others`].
    ///
    /// # Errors
    /// As [`Query::row`].
    pub fn ranking(
        &self,
        metric: MetricId,
        flavour: Flavour,
        below: Option<CnodeId>,
    ) -> Result<Ranking> {
        let meta = self.meta();
        let totals = self.totals(metric)?;
        let total = match below {
            Some(cnode) => totals.get(cnode, Flavour::Inclusive),
            None => meta.root_cnodes().map(|root| totals.get(root, Flavour::Inclusive)).sum(),
        };
        let takes_part = |cnode: CnodeId| match below {
            Some(below) => path::ancestors(meta, cnode).any(|ancestor| ancestor == below),
            None => true,
        };
        let mut paths: Vec<Ranked> = meta
            .cnodes()
            .filter(|&cnode| takes_part(cnode))
            .map(|cnode| {
                let value = totals.get(cnode, flavour);
                let share = if total == 0.0 { 0.0 } else { value / total };
                Ranked { cnode, others: Vec::new(), value, share }
            })
            .filter(|ranked| ranked.value > 0.0)
            .collect();
        if flavour == Flavour::Exclusive {
            paths = fold(meta, paths);
        }
        paths.sort_by(|a, b| b.value.total_cmp(&a.value).then(a.cnode.cmp(&b.cnode)));
        Ok(Ranking { metric, total, paths })
    }

    /// The locations with the greatest values of a [row](Query::row), with those values, the greatest
    /// first; those without any are left out.
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

    /// The values of a [row](Query::row) summed up for each process.
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
