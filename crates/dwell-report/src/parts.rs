//! Where the time goes, and the largest waits: what a person looks at first.

use cubex::{CnodeId, MetricId, Result};
use dwell_model::waits::Wait;

use crate::query::{Call, Flavour, Part, Query};

/// A part of the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimePart {
    /// The metric.
    pub metric: MetricId,
    /// How far below `time` it is.
    pub depth: usize,
    /// Its value, summed up over all locations.
    pub value: f64,
    /// Its share of the time.
    pub share: f64,
}

/// A call path that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct LargestWait {
    /// The metric of the wait.
    pub metric: MetricId,
    /// The call path.
    pub cnode: CnodeId,
    /// Others that differ in nothing but parameters, and count with it.
    pub others: Vec<CnodeId>,
    /// How long, over all locations.
    pub value: f64,
}

impl LargestWait {
    /// The call path and the others.
    pub fn cnodes(&self) -> Vec<CnodeId> {
        std::iter::once(self.cnode).chain(self.others.iter().copied()).collect()
    }
}

/// The share that a value is of a whole; 0 if that is 0.
pub fn share(value: f64, total: f64) -> f64 {
    if total == 0.0 { 0.0 } else { value / total }
}

/// Whether a unit is that of time.
pub(crate) fn is_seconds(uom: &str) -> bool {
    matches!(uom, "sec" | "s")
}

impl Query {
    /// The tree of metrics below `time`, the largest parts first, without those below a share.
    ///
    /// # Errors
    /// As [`Query::row`].
    pub fn time_parts(
        &self,
        time: MetricId,
        below: Option<CnodeId>,
        least: f64,
    ) -> Result<Vec<TimePart>> {
        let call = below.map_or(Call::All, |cnode| Call::Path(cnode, Flavour::Inclusive));
        self.time_parts_by(time, least, |metric| self.value(metric, call, Part::All))
    }

    /// As [`Query::time_parts`], with values from elsewhere.
    ///
    /// # Errors
    /// If there is a value that cannot be had.
    pub fn time_parts_by(
        &self,
        time: MetricId,
        least: f64,
        value_of: impl Fn(MetricId) -> Result<f64>,
    ) -> Result<Vec<TimePart>> {
        let meta = self.meta();
        let total = value_of(time)?;
        let mut parts = Vec::new();
        let mut stack = vec![(time, total, 0)];
        while let Some((metric, value, depth)) = stack.pop() {
            if depth > 0 && value < least * total {
                continue;
            }
            parts.push(TimePart { metric, depth, value, share: share(value, total) });
            let mut children: Vec<(MetricId, f64)> = Vec::new();
            for child in meta.metric_children(metric) {
                let in_seconds = meta.metric(child).is_some_and(|it| is_seconds(it.uom));
                if in_seconds && self.is_readable(child) {
                    children.push((child, value_of(child)?));
                }
            }
            children.sort_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
            stack.extend(children.into_iter().map(|(child, value)| (child, value, depth + 1)));
        }
        Ok(parts)
    }

    /// Every call path that waits, by the kind of wait, the longest first.
    ///
    /// # Errors
    /// As [`Query::row`].
    pub fn largest_waits(&self, below: Option<CnodeId>) -> Result<Vec<LargestWait>> {
        let meta = self.meta();
        let mut found = Vec::new();
        for metric in meta.metrics() {
            let is_wait = meta
                .metric(metric)
                .is_some_and(|it| Wait::of_metric(it.uniq_name).is_some() && is_seconds(it.uom));
            if is_wait && self.is_readable(metric) {
                let ranking = self.ranking(metric, Flavour::Exclusive, below)?;
                let one = |path: crate::Ranked| LargestWait {
                    metric,
                    cnode: path.cnode,
                    others: path.others,
                    value: path.value,
                };
                found.extend(ranking.paths.into_iter().map(one));
            }
        }
        found.sort_by(|a, b| {
            b.value.total_cmp(&a.value).then(a.metric.cmp(&b.metric)).then(a.cnode.cmp(&b.cnode))
        });
        Ok(found)
    }
}
