//! Two reports, matched by metric and call path.
//!
//! A call path of one report is that of the other if the names of all its regions, with their
//! parameters, are the same; a metric if its name is. Values are exclusive, so that a call path is
//! blamed for its own time and not for that of what it calls.

use std::collections::BTreeMap;

use cubex::{MetricId, Result};

use crate::query::{Flavour, Query};

/// What became of a call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// It is only in the second report.
    New,
    /// It is only in the first report.
    Gone,
    /// It has more.
    More,
    /// It has less.
    Less,
}

/// A call path that differs in a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The call path.
    pub path: String,
    /// What became of it.
    pub change: Change,
    /// Value in the first report.
    pub before: f64,
    /// Value in the second report.
    pub after: f64,
}

impl Difference {
    /// How much more it is.
    pub fn delta(&self) -> f64 {
        self.after - self.before
    }

    /// How much more it is for each part there was; infinite for what is new.
    pub fn relative(&self) -> f64 {
        if self.before == 0.0 { f64::INFINITY } else { self.delta() / self.before }
    }
}

/// How two reports differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Metrics that both have: name, unit, value of the whole program before and after.
    pub totals: Vec<(String, String, f64, f64)>,
    /// Call paths that differ, the greatest difference of a metric first, metrics in the order of the
    /// first report.
    pub differences: Vec<Difference>,
    /// Metrics that only the second report has.
    pub new_metrics: Vec<String>,
    /// Metrics that only the first report has.
    pub gone_metrics: Vec<String>,
}

impl Comparison {
    /// Whether the reports say the same.
    pub fn is_empty(&self) -> bool {
        self.differences.is_empty() && self.new_metrics.is_empty() && self.gone_metrics.is_empty()
    }

    /// The call paths that got worse: more time, by more than `threshold` of what it was and by more
    /// than `least` of the whole time, so that what hardly matters does not cry wolf.
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

/// Compares two reports in the given metrics, or in all that both have.
///
/// # Errors
/// If a report is damaged, or one of the metrics asked for cannot be read.
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

/// Names that only the first list has.
fn missing(list: &[(String, MetricId)], other: &[(String, MetricId)]) -> Vec<String> {
    let has = |name: &str| other.iter().any(|(known, _)| known == name);
    list.iter().filter(|(name, _)| !has(name)).map(|(name, _)| name.clone()).collect()
}

/// Exclusive values by call path. Call paths of the same name are one.
fn by_path(query: &Query, metric: MetricId) -> Result<BTreeMap<String, f64>> {
    let totals = query.totals(metric)?;
    let mut values = BTreeMap::new();
    for cnode in query.meta().cnodes() {
        let value = totals.get(cnode, Flavour::Exclusive);
        *values.entry(query.call_path(cnode)).or_insert(0.0) += value;
    }
    Ok(values)
}
