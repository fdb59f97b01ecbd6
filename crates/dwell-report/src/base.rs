//! The base of all shares: the run without start-up and shutdown.
//!
//! Start-up and shutdown are the calls that start or end a runtime, with everything below them. A program can do little
//! about them, and they differ between equal runs by more than most changes of a program. So every share that a person
//! reads is a part of the run, and start-up and shutdown have none.

use std::collections::BTreeMap;

use cubex::{CnodeId, Meta, MetricId, Result};
use dwell_model::archive::STARTS_RECORDING;
use dwell_model::operation::Operation;
use dwell_model::registry;

use crate::path;
use crate::query::{Call, Flavour, Part, Query};

/// Returns the calls that start or end a runtime, the outermost ones, and whether each starts one. What the recorder does at
/// its start belongs to them, wherever it begins.
pub fn outside(meta: &Meta) -> Vec<(CnodeId, bool)> {
    let mut found = Vec::new();
    let mut around: Vec<CnodeId> = meta.root_cnodes().collect();
    while let Some(cnode) = around.pop() {
        let name = meta.callee(cnode).map_or("", |it| it.name);
        match registry::find(name).map(|(_, row)| row.operation) {
            _ if name == STARTS_RECORDING => found.push((cnode, true)),
            Some(Operation::Initialise) => found.push((cnode, true)),
            Some(Operation::Finalise) => found.push((cnode, false)),
            _ => around.extend(meta.cnode_children(cnode)),
        }
    }
    found
}

/// Returns the fraction that a value is of a total, or 0 if the total is 0, so that empty reports show no NaN.
pub fn share(value: f64, total: f64) -> f64 {
    if total == 0.0 { 0.0 } else { value / total }
}

/// Value of a metric that shares refer to: over the run, or over the part of it below one call path.
#[derive(Clone, Debug)]
pub struct Base {
    /// Value without start-up and shutdown, over all locations.
    pub total: f64,
    /// Part of the metric in calls that start a runtime, over all locations.
    pub start_up: f64,
    /// Part of the metric in calls that end a runtime, over all locations.
    pub shutdown: f64,
    /// Part of the inclusive value of call paths that belongs to start-up and shutdown; `None` for those inside of them.
    less: BTreeMap<CnodeId, Option<f64>>,
}

impl Base {
    /// Reads the value of a metric over the run. With `below`, it is that of this call path and of all below it; if these
    /// belong to start-up or shutdown, it is their whole value.
    ///
    /// # Errors
    /// Fails where [`Query::row`] fails.
    pub fn of(query: &Query, metric: MetricId, below: Option<CnodeId>) -> Result<Self> {
        Self::of_values(query.meta(), below, |call| query.value(metric, call, Part::All))
    }

    /// Does the same with values that `value` returns, such as those of one process.
    ///
    /// # Errors
    /// Fails where `value` fails.
    pub fn of_values(
        meta: &Meta,
        below: Option<CnodeId>,
        value: impl Fn(Call) -> Result<f64>,
    ) -> Result<Self> {
        let path = |cnode: CnodeId| Call::Path(cnode, Flavour::Inclusive);
        let total = value(below.map_or(Call::All, path))?;
        let mut base = Self { total, start_up: 0.0, shutdown: 0.0, less: BTreeMap::new() };
        let outside = outside(meta);
        let is_in = |cnode: CnodeId, it: CnodeId| path::ancestors(meta, cnode).any(|up| up == it);
        if below.is_some_and(|below| outside.iter().any(|(it, _)| is_in(below, *it))) {
            return Ok(base);
        }
        for (cnode, is_start_up) in outside {
            if below.is_some_and(|below| !is_in(cnode, below)) {
                continue;
            }
            let value = value(path(cnode))?;
            *if is_start_up { &mut base.start_up } else { &mut base.shutdown } += value;
            base.total -= value;
            for above in path::ancestors(meta, cnode).skip(1) {
                let less = base.less.entry(above).or_insert(Some(0.0));
                *less = less.map(|it| it + value);
            }
            let mut inside = vec![cnode];
            while let Some(cnode) = inside.pop() {
                base.less.insert(cnode, None);
                inside.extend(meta.cnode_children(cnode));
            }
        }
        Ok(base)
    }

    /// Returns the part of the base that an inclusive value of a call path is, from 0 to 1, or `None` in start-up and
    /// shutdown.
    pub fn inclusive(&self, cnode: CnodeId, value: f64) -> Option<f64> {
        let less = self.less.get(&cnode).copied().unwrap_or(Some(0.0))?;
        Some(share(value - less, self.total))
    }

    /// Returns the part of the base that an exclusive value of a call path is, from 0 to 1, or `None` in start-up and
    /// shutdown.
    pub fn exclusive(&self, cnode: CnodeId, value: f64) -> Option<f64> {
        self.has(cnode).then(|| share(value, self.total))
    }

    /// Returns `true` unless the call path belongs to start-up or shutdown.
    pub fn has(&self, cnode: CnodeId) -> bool {
        self.less.get(&cnode).is_none_or(Option::is_some)
    }
}
