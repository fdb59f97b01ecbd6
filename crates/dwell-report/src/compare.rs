//! Comparison of two reports, matched by metric and call path.
//!
//! Call paths of the two reports match if the names of all their regions, with their parameters, are equal; metrics
//! match if their unique names are equal. Values are exclusive, so that a difference appears at the call path whose own
//! time changed and not at all of its callers.

use std::collections::BTreeMap;

use cubex::{MetricId, Result};

use crate::query::{Flavour, Query};

/// Kind of difference between two reports at one call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// Only the second report has the call path, with a value other than 0.
    New,
    /// Only the first report has the call path, with a value other than 0.
    Gone,
    /// Both reports have the call path, and the value in the second is greater.
    More,
    /// Both reports have the call path, and the value in the second is smaller.
    Less,
}

/// A call path whose exclusive values of one metric differ between two reports. Values are sums over all locations.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Unique name of the metric, as [`Meta::find_metric`](cubex::Meta::find_metric) takes it.
    pub metric: String,
    /// Unit of measurement from the first report, for example `sec`, `occ` or `bytes`.
    pub unit: String,
    /// Call path as text, its regions from the root on joined by ` / `.
    pub path: String,
    /// Kind of the difference, from the first report to the second.
    pub change: Change,
    /// Value in the first report, or 0 if the call path is new.
    pub before: f64,
    /// Value in the second report, or 0 if the call path is gone.
    pub after: f64,
}

impl Difference {
    /// Returns the change from the first report to the second, in the unit of the metric. A positive change is an
    /// increase.
    pub fn delta(&self) -> f64 {
        self.after - self.before
    }

    /// Returns the change relative to the value in the first report: 0.5 means half as much again. The result is
    /// infinite if the first value is 0.
    pub fn relative(&self) -> f64 {
        if self.before == 0.0 { f64::INFINITY } else { self.delta() / self.before }
    }
}

/// Differences between two reports, as [`compare`] finds them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Metrics that both reports have, in the order of the first: unique name, unit, and value of the whole program in
    /// the first and in the second report.
    pub totals: Vec<(String, String, f64, f64)>,
    /// Call paths with different values. Metrics come in the order of the first report; within a metric the largest
    /// absolute change comes first, and equal changes are ordered by call path.
    pub differences: Vec<Difference>,
    /// Unique names of the metrics that only the second report has. Their values are not compared.
    pub new_metrics: Vec<String>,
    /// Unique names of the metrics that only the first report has. Their values are not compared.
    pub gone_metrics: Vec<String>,
}

impl Comparison {
    /// Returns `true` if the reports have the same metrics and no call path differs in any of them.
    pub fn is_empty(&self) -> bool {
        self.differences.is_empty() && self.new_metrics.is_empty() && self.gone_metrics.is_empty()
    }

    /// Iterates over the call paths whose time got worse. Two thresholds, both parts of 1, keep noise out: the time
    /// must have grown by more than `threshold` of its old value, and by more than `least` of the time of the whole
    /// program. Only metrics in seconds count.
    pub fn worse(&self, threshold: f64, least: f64) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(move |difference| {
            let total = self.totals.iter().find(|total| total.0 == difference.metric);
            let whole = total.map_or(0.0, |total| total.2.max(total.3));
            difference.unit == "sec"
                && difference.delta() > least * whole
                && difference.relative() > threshold
        })
    }
}

/// Compares two reports in the metrics with these unique names, or in all readable metrics if `metrics` is empty. Names
/// that neither report has are ignored; the caller must check them.
///
/// # Errors
/// Fails if one of the reports is damaged.
pub fn compare(before: &Query, after: &Query, metrics: &[String]) -> Result<Comparison> {
    let mut comparison = Comparison::default();
    let names = |query: &Query| -> Vec<(String, MetricId)> {
        let readable = query.meta().metrics().filter(|&id| query.is_readable(id));
        readable
            .filter_map(|id| Some((query.meta().metric(id)?.uniq_name.to_owned(), id)))
            .filter(|(name, _)| metrics.is_empty() || metrics.contains(name))
            .collect()
    };
    let (old, new) = (names(before), names(after));
    let id_of = |list: &[(String, MetricId)], name: &str| {
        list.iter().find(|(other, _)| other == name).map(|(_, id)| *id)
    };
    comparison.new_metrics = missing(&new, &old);
    comparison.gone_metrics = missing(&old, &new);
    for (name, id) in &old {
        let Some(other) = id_of(&new, name) else { continue };
        let unit = before.meta().metric(*id).map_or("", |metric| metric.uom).to_owned();
        let (a, b) = (by_path(before, *id)?, by_path(after, other)?);
        let total = |values: &BTreeMap<String, f64>| values.values().sum::<f64>();
        comparison.totals.push((name.clone(), unit.clone(), total(&a), total(&b)));
        let mut found: Vec<Difference> = Vec::new();
        let paths = a.keys().chain(b.keys().filter(|path| !a.contains_key(*path)));
        for path in paths {
            let (before, after) = (a.get(path).copied(), b.get(path).copied());
            let change = match (before, after) {
                (None, Some(value)) if value != 0.0 => Change::New,
                (Some(value), None) if value != 0.0 => Change::Gone,
                (Some(a), Some(b)) if b > a => Change::More,
                (Some(a), Some(b)) if b < a => Change::Less,
                _ => continue,
            };
            found.push(Difference {
                metric: name.clone(),
                unit: unit.clone(),
                path: path.clone(),
                change,
                before: before.unwrap_or(0.0),
                after: after.unwrap_or(0.0),
            });
        }
        found.sort_by(|x, y| {
            y.delta().abs().total_cmp(&x.delta().abs()).then_with(|| x.path.cmp(&y.path))
        });
        comparison.differences.extend(found);
    }
    Ok(comparison)
}

/// Returns the names of the first list that the second list lacks.
fn missing(list: &[(String, MetricId)], other: &[(String, MetricId)]) -> Vec<String> {
    let has = |name: &str| other.iter().any(|(known, _)| known == name);
    list.iter().filter(|(name, _)| !has(name)).map(|(name, _)| name.clone()).collect()
}

/// Returns the exclusive values of a metric by the text of the call path. Values of call paths with equal text, for
/// example of two call sites in one function, are added.
fn by_path(query: &Query, metric: MetricId) -> Result<BTreeMap<String, f64>> {
    let totals = query.totals(metric)?;
    let mut values = BTreeMap::new();
    for cnode in query.meta().cnodes() {
        let value = totals.get(cnode, Flavour::Exclusive);
        *values.entry(query.call_path(cnode)).or_insert(0.0) += value;
    }
    Ok(values)
}
