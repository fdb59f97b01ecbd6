//! Call paths of several runs, matched with each other.
//!
//! The root with most time is the program, whatever its name. Below equal callers, calls of the same function match. If
//! a caller calls a function in several places, these match by their order in the source, so that a line added above them
//! does no harm; if the runs differ in the number of these places, by file and line. Several calls in one line match by their
//! order too, or as one if the runs differ in their number.

use std::collections::BTreeMap;

use cubex::{CnodeId, Result};

use super::run::{Run, TIME, find_metric};
use crate::path;
use crate::query::{Flavour, Query};

/// Calls of one function in one run, by file and line.
type Places = BTreeMap<(String, u64), Vec<CnodeId>>;

/// A call path that some of the runs have.
#[derive(Debug)]
struct Node {
    parent: Option<usize>,
    label: String,
    /// Call paths of each run.
    cnodes: Vec<Vec<CnodeId>>,
}

/// A report whose call tree is matched with those of others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side<'q> {
    pub(super) query: &'q Query,
    /// Calls that are left out, with everything below them.
    pub(super) left_out: &'q [CnodeId],
}

/// Call trees of several runs as one.
#[derive(Debug)]
pub(super) struct Forest {
    nodes: Vec<Node>,
}

/// A call path of two reports, or of one of them. See [`matched_calls`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedCall {
    /// Index of the caller in the list, or `None` for a root. Callers come before what they call.
    pub parent: Option<usize>,
    /// Call paths of each report: one, none if the report lacks it, or several calls in one line that cannot be told apart.
    pub calls: [Vec<CnodeId>; 2],
}

/// Matches the call paths of two reports with each other as [`compare`](super::compare) does it, start-up and shutdown
/// included. Every call path of both reports is in the list once.
pub fn matched_calls(first: &Query, second: &Query) -> Vec<MatchedCall> {
    let side = |query| Side { query, left_out: &[] };
    let forest = Forest::of(&[side(first), side(second)]);
    let one = |node: Node| {
        let mut calls = node.cnodes.into_iter();
        let calls = [calls.next().unwrap_or_default(), calls.next().unwrap_or_default()];
        MatchedCall { parent: node.parent, calls }
    };
    forest.nodes.into_iter().map(one).collect()
}

impl Forest {
    /// Matches the call paths of some reports.
    pub(super) fn of(runs: &[Side<'_>]) -> Self {
        let mut forest = Self { nodes: Vec::new() };
        let mut roots = vec![Vec::new(); runs.len()];
        let mut others: Vec<Vec<CnodeId>> = vec![Vec::new(); runs.len()];
        for ((run, root), others) in runs.iter().zip(&mut roots).zip(&mut others) {
            let meta = run.query.meta();
            let totals = find_metric(run.query, TIME).and_then(|it| run.query.totals(it).ok());
            let time =
                |it: &CnodeId| totals.as_ref().map_or(0.0, |all| all.get(*it, Flavour::Inclusive));
            let program = meta.root_cnodes().max_by(|a, b| time(a).total_cmp(&time(b)));
            root.extend(program);
            others.extend(meta.root_cnodes().filter(|it| Some(*it) != program));
        }
        let names = roots.iter().zip(runs);
        let mut names =
            names.flat_map(|(list, run)| list.iter().map(|it| run.query.call_name(*it)));
        let first = names.next().unwrap_or_default();
        let label = if names.all(|it| it == first) { first } else { "(program)".into() };
        forest.add(runs, None, label, roots);
        forest.match_calls(runs, None, &others);
        forest
    }

    /// Adds a call path, and everything below it.
    fn add(
        &mut self,
        runs: &[Side<'_>],
        parent: Option<usize>,
        label: String,
        cnodes: Vec<Vec<CnodeId>>,
    ) {
        let below: Vec<Vec<CnodeId>> = runs
            .iter()
            .zip(&cnodes)
            .map(|(run, list)| {
                let meta = run.query.meta();
                let children = list.iter().flat_map(|it| meta.cnode_children(*it));
                children.filter(|it| !run.left_out.contains(it)).collect()
            })
            .collect();
        let number = self.nodes.len();
        self.nodes.push(Node { parent, label, cnodes });
        self.match_calls(runs, Some(number), &below);
    }

    /// Matches calls that matching call paths make.
    fn match_calls(&mut self, runs: &[Side<'_>], parent: Option<usize>, calls: &[Vec<CnodeId>]) {
        // Calls of each function: for each run, the places of the calls in the order of the source.
        let mut functions: BTreeMap<String, Vec<Places>> = BTreeMap::new();
        for (at, (run, list)) in runs.iter().zip(calls).enumerate() {
            for &cnode in list {
                let meta = run.query.meta();
                let places = functions
                    .entry(run.query.call_name(cnode))
                    .or_insert_with(|| vec![BTreeMap::new(); runs.len()]);
                let call = meta.cnode(cnode);
                let file = call.as_ref().map_or("", |it| it.file);
                let file = file.rsplit('/').next().unwrap_or_default().to_owned();
                let line = call.and_then(|it| it.line).map_or(0, u64::from);
                if let Some(places) = places.get_mut(at) {
                    places.entry((file, line)).or_default().push(cnode);
                }
            }
        }
        for (function, places) in functions {
            let mut counts = places.iter().map(BTreeMap::len).filter(|it| *it > 0);
            let first = counts.next();
            let is_ordered = counts.all(|it| Some(it) == first);
            let mut matched: BTreeMap<(String, u64), Vec<Vec<CnodeId>>> = BTreeMap::new();
            for (run, places) in places.into_iter().enumerate() {
                for (order, (place, cnodes)) in places.into_iter().enumerate() {
                    let key = if is_ordered { (String::new(), order as u64) } else { place };
                    let lists = matched.entry(key).or_insert_with(|| vec![Vec::new(); runs.len()]);
                    if let Some(list) = lists.get_mut(run) {
                        list.extend(cnodes);
                    }
                }
            }
            for cnodes in matched.into_values() {
                let mut sites = runs
                    .iter()
                    .zip(&cnodes)
                    .rev()
                    .filter_map(|(run, list)| path::site(run.query.meta(), *list.first()?));
                let label = match sites.next() {
                    Some(site) => format!("{function}@{site}"),
                    None => function.clone(),
                };
                let calls = in_one_line(cnodes);
                let count = calls.len();
                for (nth, cnodes) in (1..).zip(calls) {
                    let label = match count {
                        1 => label.clone(),
                        _ => format!("{label} (call {nth} on this line)"),
                    };
                    self.add(runs, parent, label, cnodes);
                }
            }
        }
    }

    /// Returns the exclusive values of a metric for each call path and run, summed over all locations. `None` stands for runs
    /// that do not have the call path.
    ///
    /// # Errors
    /// Fails if one of the reports is damaged.
    pub(super) fn values(
        &self,
        runs: &[&Run],
        metric: &str,
    ) -> Result<Vec<(usize, Vec<Option<f64>>)>> {
        let mut totals = Vec::new();
        for run in runs {
            let Some(metric) = run.metric(metric) else { return Ok(Vec::new()) };
            totals.push(run.query.totals(metric)?);
        }
        let of = |node: &Node| {
            let values = node.cnodes.iter().zip(&totals).map(|(list, totals)| {
                let sum: f64 = list.iter().map(|it| totals.get(*it, Flavour::Exclusive)).sum();
                (!list.is_empty()).then_some(sum)
            });
            values.collect()
        };
        Ok(self.nodes.iter().map(of).enumerate().collect())
    }

    /// Returns the id of the finding about a call path in the first of some runs that has one. `from` is the number of the
    /// first of these runs.
    pub(super) fn finding(&self, number: usize, runs: &[&Run], from: usize) -> Option<u32> {
        let lists = self.nodes.get(number)?.cnodes.iter().skip(from).zip(runs);
        lists.flat_map(|(list, run)| list.iter().filter_map(|it| run.finding(*it))).next()
    }

    /// Returns a call path as text: the names of its regions from the root on, and the place of the last call.
    pub(super) fn path(&self, number: usize) -> String {
        let mut steps = Vec::new();
        let mut at = Some(number);
        while let Some(node) = at.and_then(|it| self.nodes.get(it)) {
            let is_last = steps.is_empty();
            let name = match node.label.rsplit_once('@') {
                Some((name, _)) if !is_last => name,
                _ => &node.label,
            };
            steps.push(name.to_owned());
            at = node.parent;
        }
        steps.reverse();
        steps.join(path::SEPARATOR)
    }
}

/// Tells calls in one line apart by their order, if all runs that have any have equally many. The list has one list of calls for
/// each run, and the result has such a list for each call.
fn in_one_line(cnodes: Vec<Vec<CnodeId>>) -> Vec<Vec<Vec<CnodeId>>> {
    let mut counts = cnodes.iter().map(Vec::len).filter(|it| *it > 0);
    let count = counts.next().unwrap_or(0);
    if count < 2 || counts.any(|it| it != count) {
        return vec![cnodes];
    }
    let nth =
        |at: usize| cnodes.iter().map(move |list| list.get(at).copied().into_iter().collect());
    (0..count).map(|at| nth(at).collect()).collect()
}
