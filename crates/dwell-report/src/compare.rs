//! Comparison of runs: two of them, two sets of them, or a series with more and more processes.
//!
//! Runs are compared without start-up and shutdown, which differ between equal runs by more than most changes of a
//! program. [`Forest`] matches the call paths of all runs. [`judge`](spread::judge) decides whether a difference is more
//! than chance.

mod forest;
mod functions;
mod history;
mod iterations;
mod run;
mod series;
mod spread;

use std::borrow::Borrow;
use std::collections::BTreeMap;

use cubex::Result;

use crate::format;

use forest::Forest;
pub use forest::{MatchedCall, matched_calls};
pub use functions::FunctionBeside;
pub use history::{History, Member, Set, Version, VersionSeries};
pub use iterations::{IterationsBeside, iterations_beside};
pub use run::{Efficiencies, Extent, Run};
pub use series::{Growth, Scaling, Series, series};
pub use spread::{Judgement, Spread};

/// Least change of the length of a run that counts, as a part of it, where a user does not say another.
pub const THRESHOLD: f64 = 0.02;

/// Values of one metric at one call path in two sets of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Unique name of the metric, as [`Meta::find_metric`](cubex::Meta::find_metric) takes it. Scripts should use it, because
    /// titles may change.
    pub metric: String,
    /// Name of the metric for people, such as `Late Signal`. It is the one that viewers of Cube reports show.
    pub title: String,
    /// Unit of measurement as the reports state it, for example `sec`, `occ` or `bytes`. Only times are judged.
    pub unit: String,
    /// Call path as text, its regions from the root on joined by ` / `, with the place of the last call.
    pub path: String,
    /// Mean value of the first set, over all locations or, if the runs differ in their processes, of each process. `None` if no run of the set has the call path.
    pub before: Option<f64>,
    /// Mean value of the second set, as of the first. `None` if no run of the set has the call path, so that it is gone.
    pub after: Option<f64>,
    /// Ids of the findings about the call path in each set, if there are any.
    pub findings: [Option<u32>; 2],
    /// Change as a part of the time of the whole run, if the unit is seconds.
    pub share: Option<f64>,
    /// Result of the test whether the difference is more than the threshold and more than chance.
    pub judgement: Judgement,
}

impl Difference {
    /// Returns the change from the first set to the second, in the unit of the metric. A positive change is an increase.
    pub fn delta(&self) -> f64 {
        self.after.unwrap_or(0.0) - self.before.unwrap_or(0.0)
    }

    /// Returns the change relative to the value in the first set: 0.5 means half as much again. The result is infinite if
    /// the first value is 0.
    pub fn relative(&self) -> f64 {
        match self.before {
            Some(before) if before != 0.0 => self.delta() / before,
            _ => f64::INFINITY,
        }
    }
}

/// Two sets of runs, compared. The first set is called before and the second after, as if a change of the program were
/// between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Mean length of the runs of each set in seconds, without start-up and shutdown. The length of a run is that of the
    /// location that ran longest.
    pub lengths: [f64; 2],
    /// Result of the test whether the runs of the second set are longer or shorter by more than the threshold and chance.
    pub judgement: Judgement,
    /// Least slowdown, as a part of the length, that a comparison of such sets would find in 19 of 20 cases.
    pub resolution: f64,
    /// Number of runs in each set. With fewer than three in one of them, their spread is unknown and a default stands for it.
    pub counts: [usize; 2],
    /// Mean number of processes of each set.
    pub processes: [f64; 2],
    /// True if the runs differ in their processes. Times of metrics and call paths are then those of each process.
    pub per_process: bool,
    /// Mean time of all locations in waits in each set, in seconds. Waits that are parts of others are not counted again.
    pub waits: [f64; 2],
    /// Totals of each metric that both sets have: unique name, name for people, unit, and mean of each set, without start-up
    /// and shutdown.
    pub totals: Vec<Total>,
    /// Mean efficiencies of each set, or `None` if a report of the set has none.
    pub efficiencies: [Option<Efficiencies>; 2],
    /// Call paths with different values, whether that is chance or not. The greatest change in seconds comes first, and metrics
    /// that are not times come last.
    pub differences: Vec<Difference>,
    /// Iterations of the first runs of both sets; `None` if they have none or cannot be compared by them.
    pub iterations: Option<IterationsBeside>,
    /// Functions whose processor time differs by more than the margins of their samples, the greatest difference first; at most
    /// 10. Empty if a run has no samples.
    pub functions: Vec<FunctionBeside>,
    /// Greatest change as a part of the run that counts as none, however sure it is.
    pub threshold: f64,
}

/// Value of a metric over a whole run and all of its locations, without start-up and shutdown.
#[derive(Clone, Debug, PartialEq)]
pub struct Total {
    /// Unique name of the metric, by which scripts should refer to it.
    pub metric: String,
    /// Name of the metric for people, such as `Late Signal`, as viewers show it.
    pub title: String,
    /// Unit of measurement, for example `sec`, `occ` or `bytes`.
    pub unit: String,
    /// Mean over the runs of each set, the set before the change first.
    pub values: [f64; 2],
}

impl Comparison {
    /// Returns the change of the length from the first set to the second, as a part of the first.
    pub fn change(&self) -> f64 {
        let [before, after] = self.lengths;
        if before > 0.0 { after / before - 1.0 } else { 0.0 }
    }

    /// Returns `true` if the runs of the second set take longer by more than chance and the threshold.
    pub fn is_slower(&self) -> bool {
        self.judgement == Judgement::More
    }

    /// Iterates over the call paths whose time has grown by more than chance and the threshold.
    pub fn worse(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|it| it.judgement == Judgement::More)
    }

    /// Returns `true` if no value of any metric differs at any call path.
    pub fn is_empty(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Compares two sets of runs in the metrics with these unique names. Metrics that only some of the runs have are left out.
/// A change counts if it is more than `threshold` of the run and more than chance.
///
/// # Errors
/// Fails if one of the reports is damaged.
pub fn compare<R: Borrow<Run>>(
    before: &[R],
    after: &[R],
    metrics: &[String],
    threshold: f64,
) -> Result<Comparison> {
    let (before, after): (Vec<&Run>, Vec<&Run>) =
        (before.iter().map(Borrow::borrow).collect(), after.iter().map(Borrow::borrow).collect());
    let (before, after) = (before.as_slice(), after.as_slice());
    let all: Vec<&Run> = before.iter().chain(after).copied().collect();
    let forest = Forest::of(&all.iter().map(|it| it.side()).collect::<Vec<_>>());
    let split = before.len();
    let halves = |values: &[Option<f64>]| {
        let (a, b) = values.split_at(split);
        [a.to_vec(), b.to_vec()]
    };
    let [old, new] =
        [before, after].map(|set| set.iter().map(|it| it.length()).collect::<Vec<f64>>());
    let (spread, length) = (Spread::of(&old, &new), mean(&old));
    let per_process =
        all.iter().any(|it| Some(it.processes()) != all.first().map(|it| it.processes()));
    let processes = |run: &Run| if per_process { run.processes().max(1) as f64 } else { 1.0 };
    let whole = mean(&before.iter().map(|it| it.time() / processes(it)).collect::<Vec<_>>());
    let mut waits = [0.0; 2];
    for (to, set) in waits.iter_mut().zip([before, after]) {
        let all = set.iter().map(|it| Ok(it.waits()? / processes(it)));
        *to = mean(&all.collect::<Result<Vec<_>>>()?);
    }
    let functions = [before, after]
        .map(|set| set.iter().map(|it| (it.functions(), processes(it))).collect::<Vec<_>>());
    let mut comparison = Comparison {
        lengths: [length, mean(&new)],
        judgement: spread.judge(threshold, length),
        resolution: spread.resolution(threshold, length),
        counts: [before.len(), after.len()],
        processes: [before, after]
            .map(|set| mean(&set.iter().map(|it| it.processes() as f64).collect::<Vec<_>>())),
        per_process,
        waits,
        totals: Vec::new(),
        efficiencies: [before, after].map(Efficiencies::mean),
        differences: Vec::new(),
        iterations: before.first().zip(after.first()).and_then(|(before, after)| {
            iterations_beside(before.iterations()?, after.iterations()?)
        }),
        functions: functions::beside(&functions, threshold, whole),
        threshold,
    };
    for metric in metrics {
        let Some((title, unit)) = run::described(&all, metric) else { continue };
        let mut values = forest.values(&all, metric)?;
        for (_, values) in &mut values {
            let each = values.iter_mut().zip(&all);
            each.for_each(|(value, run)| *value = value.map(|it| it / processes(run)));
        }
        let mut totals = vec![0.0; all.len()];
        for (node, values) in &values {
            for (total, value) in totals.iter_mut().zip(values) {
                *total += value.unwrap_or(0.0);
            }
            let [a, b] = halves(values);
            let known = |list: &[Option<f64>]| {
                let some: Vec<f64> = list.iter().flatten().copied().collect();
                (!some.is_empty()).then(|| some.iter().sum::<f64>() / list.len() as f64)
            };
            let (mean_before, mean_after) = (known(&a), known(&b));
            let mut numbers = values.iter().map(|it| it.unwrap_or(0.0));
            let first = numbers.next();
            let equal = numbers.all(|it| Some(it) == first);
            if equal {
                continue;
            }
            let filled = |list: &[Option<f64>]| -> Vec<f64> {
                list.iter().map(|it| it.unwrap_or(0.0)).collect()
            };
            let is_time = unit == "sec";
            let judgement = match is_time {
                true => Spread::of(&filled(&a), &filled(&b)).judge(threshold, whole),
                false => Judgement::Unjudged,
            };
            let mut difference = Difference {
                metric: metric.clone(),
                title: title.clone(),
                unit: unit.clone(),
                path: forest.path(*node),
                before: mean_before,
                after: mean_after,
                findings: [forest.finding(*node, before, 0), forest.finding(*node, after, split)],
                share: None,
                judgement,
            };
            difference.share = (is_time && whole > 0.0).then(|| difference.delta() / whole);
            comparison.differences.push(difference);
        }
        let (of_before, of_after) = totals.split_at(split);
        let values = [of_before, of_after].map(mean);
        comparison.totals.push(Total { metric: metric.clone(), title, unit, values });
    }
    let order: BTreeMap<&String, usize> = metrics.iter().zip(0..).collect();
    comparison.differences.sort_by(|x, y| {
        let size = |it: &Difference| it.share.map_or(0.0, f64::abs);
        (size(y).total_cmp(&size(x)))
            .then_with(|| order.get(&x.metric).cmp(&order.get(&y.metric)))
            .then_with(|| x.path.cmp(&y.path))
    });
    Ok(comparison)
}

/// Returns the mean, or 0 of nothing.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the sentence that sums a comparison of lengths up, such as `51.0 % shorter: 3.37 s, then 1.65 s`. The terminal and the
/// page begin with it.
pub fn verdict(lengths: [f64; 2], judgement: Judgement) -> String {
    let [before, after] = lengths;
    let size = format::percent(if before > 0.0 { (after / before - 1.0).abs() } else { 0.0 });
    let verdict = match judgement {
        Judgement::More => format!("{size} longer"),
        Judgement::Less => format!("{size} shorter"),
        Judgement::Same | Judgement::Unjudged => "no difference beyond chance".into(),
    };
    let [before, after] = lengths.map(format::seconds);
    format!("{verdict}: {before}, then {after}")
}

/// Returns the sentence about runs with different numbers of processes, such as `2 processes before and 4 after: a speedup
/// of 1.50, 75.0 % of the 2.00 that so many processes promise for the same work`. `None` if the numbers are equal.
pub fn speedup(processes: [f64; 2], lengths: [f64; 2]) -> Option<String> {
    let ([from, to], [before, after]) = (processes, lengths);
    if from == to || from <= 0.0 || after <= 0.0 {
        return None;
    }
    let (speedup, promised) = (before / after, to / from);
    let [from, to] = processes.map(format::number);
    let part = format::percent(speedup / promised);
    Some(format!(
        "{from} processes before and {to} after: a speedup of {speedup:.2}, {part} of the {promised:.2} that so many \
         processes promise for the same work"
    ))
}
