//! Runs of one program with more and more processes.

use std::borrow::Borrow;

use cubex::Result;

use super::forest::Forest;
use super::run::{Run, TIME};

/// One run of a series, compared with the first one, which has the fewest processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// Name of the run for people, such as its directory.
    pub name: String,
    /// Number of processes that took part in the run.
    pub processes: usize,
    /// Length of the run in seconds, without start-up and shutdown, at the location that ran longest.
    pub length: f64,
    /// Length of the first run divided by that of this one.
    pub speedup: f64,
    /// Speedup as a part of the one that the number of processes promises.
    pub scaling: f64,
    /// Computing of all locations in the first run, as a part of that in this one: below 1 if the same work takes more time with
    /// more processes. `None` if a run has no efficiencies.
    pub computation: Option<f64>,
    /// Efficiencies of the run, or `None` if there is no `findings.json`.
    pub efficiencies: Option<super::Efficiencies>,
    /// Time in waits as a part of the time of all locations, both without start-up and shutdown.
    pub waiting: f64,
}

/// A call path whose time grows with the number of processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// Call path as text, its regions from the root on joined by ` / `, with the place of the last call.
    pub path: String,
    /// Exclusive time over all locations in seconds, for each run of the series in its order.
    pub seconds: Vec<f64>,
    /// Number of the first run in which the time has grown by more than the threshold.
    pub first: usize,
    /// Growth up to the last run, as a part of the time of the last run.
    pub share: f64,
}

/// A series of runs, in the order of their processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// All runs of the series, the one with the fewest processes first.
    pub runs: Vec<Scaling>,
    /// Call paths that stop scaling: those that do so first come first, and among them the one with the greatest growth.
    pub growing: Vec<Growth>,
}

/// Compares runs with different numbers of processes that do the same work in total. With perfect scaling, each call path
/// takes the same time over all locations in every run. A call path stops scaling where it takes more than `threshold` of the
/// run above that.
///
/// # Errors
/// Fails if one of the reports is damaged.
pub fn series<R: Borrow<Run>>(runs: &[R], threshold: f64) -> Result<Series> {
    let mut all: Vec<&Run> = runs.iter().map(Borrow::borrow).collect();
    all.sort_by_key(|it| it.processes());
    let forest = Forest::of(&all.iter().map(|it| it.side()).collect::<Vec<_>>());
    let Some(first) = all.first() else {
        return Ok(Series { runs: Vec::new(), growing: Vec::new() });
    };
    let part = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
    let computing = |run: &Run| {
        let parallel = run.efficiencies()?.parallel;
        Some(parallel * run.length() * run.query.meta().locations().len() as f64)
    };
    let list = all.iter().map(|run| {
        let speedup = part(first.length(), run.length());
        let more = part(run.processes() as f64, first.processes() as f64);
        Ok(Scaling {
            name: run.name.clone(),
            processes: run.processes(),
            length: run.length(),
            speedup,
            scaling: part(speedup, more),
            computation: computing(first).zip(computing(run)).map(|(a, b)| part(a, b)),
            efficiencies: run.efficiencies(),
            waiting: part(run.waits()?, run.time()),
        })
    });
    let list = list.collect::<Result<_>>()?;
    let mut growing = Vec::new();
    for (node, values) in forest.values(&all, TIME)? {
        let seconds: Vec<f64> = values.into_iter().map(|it| it.unwrap_or(0.0)).collect();
        let Some((base, last)) = seconds.first().zip(seconds.last()) else { continue };
        let stops =
            seconds.iter().zip(&all).position(|(it, run)| it - base > threshold * run.time());
        let whole = all.last().map_or(0.0, |it| it.time());
        if let Some(first) = stops {
            let share = part(last - base, whole);
            growing.push(Growth { path: forest.path(node), first, share, seconds });
        }
    }
    growing.sort_by(|a, b| a.first.cmp(&b.first).then(b.share.total_cmp(&a.share)));
    Ok(Series { runs: list, growing })
}
