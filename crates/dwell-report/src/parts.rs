//! The distribution of time over the tree of metrics, and the largest waits: the first things to look at in a report.

use cubex::{CnodeId, MetricId, Result};
use dwell_model::waits::Wait;

use crate::base::{Base, share};
use crate::query::{Flavour, Query};

/// A metric in the tree below `time`, with its value for the part of the program that was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimePart {
    /// Metric in the tree of time, for example the time in MPI or a wait state.
    pub metric: MetricId,
    /// Levels below the metric `time` itself, which has depth 0. A viewer indents by it.
    pub depth: usize,
    /// Time in seconds, summed over all locations, including that of the metrics below.
    pub value: f64,
    /// Fraction of the whole time, from 0 to 1; 0 if the whole time is 0.
    pub share: f64,
}

/// A call path and the time that it spent in one kind of wait state.
#[derive(Clone, Debug, PartialEq)]
pub struct LargestWait {
    /// Metric that measures this kind of wait, with its values at every call path.
    pub metric: MetricId,
    /// Call path in which the processes waited. Where several are folded to one, it is the first of them.
    pub cnode: CnodeId,
    /// Further call paths that differ from [`Self::cnode`] only in phases and parameters. Their waits are included in
    /// the value.
    pub others: Vec<CnodeId>,
    /// Time of the waits in seconds, exclusive and summed over all locations.
    pub value: f64,
}

impl LargestWait {
    /// Returns all call paths that this entry stands for: [`Self::cnode`], then [`Self::others`].
    pub fn cnodes(&self) -> Vec<CnodeId> {
        std::iter::once(self.cnode).chain(self.others.iter().copied()).collect()
    }
}

/// Returns `true` if a unit of measurement of Cube means seconds.
pub(crate) fn is_seconds(uom: &str) -> bool {
    matches!(uom, "sec" | "s")
}

impl Query {
    /// Returns the metrics in the tree below `time` in preorder, larger siblings first, without start-up and shutdown.
    /// Metrics with less than the fraction `least` of the whole time, from 0 to 1, are left out together with all metrics
    /// below them. With `below`, only call paths at or below that one count.
    ///
    /// # Errors
    /// Fails where [`Query::row`] fails.
    pub fn time_parts(
        &self,
        time: MetricId,
        below: Option<CnodeId>,
        least: f64,
    ) -> Result<Vec<TimePart>> {
        let value_of = |metric| Base::of(self, metric, below).map(|it| it.total);
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

    /// Lists every call path that waits, once for each kind of wait, the longest wait first. With `below`, only call
    /// paths at or below that one are listed. The list is not cut; callers take as many entries as they show.
    ///
    /// # Errors
    /// Fails where [`Query::row`] fails.
    pub fn largest_waits(&self, below: Option<CnodeId>) -> Result<Vec<LargestWait>> {
        let meta = self.meta();
        let mut found = Vec::new();
        for metric in meta.metrics() {
            let is_wait = meta
                .metric(metric)
                .is_some_and(|it| Wait::of_metric(it.uniq_name).is_some() && is_seconds(it.uom));
            if is_wait && self.is_readable(metric) {
                let ranking = self.ranking(metric, Flavour::Exclusive, below)?;
                let one = |path: crate::ranking::Ranked| LargestWait {
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
