//! Hypothetical changes of a run as users specify them, and their translation into changes of call paths.

use std::collections::{HashMap, HashSet};
use std::fmt;

use dwell_model::operation::{Atomic, Operation};
use dwell_model::waits::Wait;
use dwell_trace::ids::{CallPathNumber, Ordinal, ProcessNumber};
use otf2::id::CallingContextRef;

use crate::engine::hash::Mixed;
use crate::output::findings::{Activities, Cause, Finding, ProgramTotals, Step};
use crate::whatif::balance::Shares;
use crate::whatif::forward_log::Stretch;
use crate::whatif::rules::{PathRule, Waits, signature};

/// A hypothetical change of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// Waits of a kind are removed, everywhere or at some calls. The events that the calls waited for no longer delay
    /// them; the rest of their time is unchanged.
    Without(Wait, Option<Selection>),
    /// The time of the selection, not counting its waits, is multiplied by this factor. A factor of 0 removes it.
    Scale(Selection, f64),
    /// The time of computing in the selection at one process is multiplied by this factor: a stage of a pipeline.
    ScaleAt(Selection, ProcessNumber, f64),
    /// Between two collectives of all processes, no location takes longer for the selected work than the mean of the
    /// locations that do it: work above the mean is moved to other locations, which do it while they would wait. If only
    /// one location of the run does the work, all others take a part of it.
    Balance(Selection),
    /// This number of calls are merged into one. The others take no time and do not wait; at the upper end of the error
    /// bar, each of them takes the time by which it exceeded the fastest call of the path.
    Join(Selection, u64),
    /// Each lock that the calls acquire is split into this number of locks, which are assigned to locations in turn:
    /// the first location uses the first lock, the second location the second, and so on.
    SplitLock(Selection, u64),
    /// Runtime calls take no time except for their waits.
    IdealNetwork,
    /// One-sided operations take the latency of this network plus the transfer time of their bytes at its bandwidth,
    /// instead of their recorded time. A call that completes several operations takes one latency plus the transfer
    /// time of all their bytes. The time since the first of them began is subtracted, unless their target must progress
    /// them. All other calls keep their recorded time; at the lower end of the error bar, they take no time.
    Network(Network),
    /// The time of all computation is multiplied by this factor, as if other programs used the same cores.
    Slower(f64),
}

impl Change {
    /// Returns the changes that remove the waits of findings.
    pub(crate) fn without(findings: &[Finding]) -> Vec<Self> {
        let change = |it: &Finding| {
            let wait = Wait::of_id(it.pattern)?;
            Some(Self::Without(wait, Some(Selection::CallPath(it.call_path))))
        };
        findings.iter().filter_map(change).collect()
    }

    /// Returns the changes that a thread in each process makes which serves operations of others all the time, given the
    /// processes and cores of a node: there are no waits for progress, and computing takes longer where cores are shared.
    pub fn serving_threads(processes: u32, cores: u32) -> Vec<Self> {
        let (processes, cores) = (f64::from(processes), f64::from(cores.max(1)));
        let slower = (2.0 * processes / cores).max(1.0) / (processes / cores).max(1.0);
        vec![
            Self::Without(Wait::WaitForProgress, None),
            Self::Without(Wait::WaitForProgressMulti, None),
            Self::Slower(slower),
        ]
    }
}

/// A network, as its latency and its bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Network {
    /// Time in nanoseconds that an operation without data takes, from its begin until it is complete at the origin.
    pub latency: u64,
    /// Number of bytes per second that a process can send or receive. If it is infinite, the sizes of operations do not
    /// matter.
    pub bandwidth: f64,
}

impl Network {
    /// Returns the time in nanoseconds for operations that complete together and move this number of bytes in total.
    pub(crate) fn time(self, bytes: u64) -> u64 {
        self.latency + (bytes as f64 * 1e9 / self.bandwidth).round() as u64
    }
}

/// Calls or computing that a change applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// A function with everything that it calls, or the calls on a line of the source: `relax`, or `halo.c:33`.
    Named(String),
    /// A cause of waits, by its place in the list of the analysis.
    Cause(usize),
    /// A call path, by its number in the report.
    CallPath(u32),
    /// All computing outside of start-up and shutdown.
    Computing,
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Cause(place) => match char::from_u32('A' as u32 + *place as u32) {
                Some(letter) if *place < 26 => write!(f, "cause {letter}"),
                _ => write!(f, "cause {}", place + 1),
            },
            Self::CallPath(number) => write!(f, "call path {number}"),
            Self::Computing => f.write_str("computing"),
        }
    }
}

/// Error for a selection that matches nothing in the run. Its text names the selection; [`known`](Self::known) lists
/// the names that can be selected instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownSelection {
    /// Selection that matches nothing in the run.
    pub selection: Selection,
    /// Names that can be selected: functions, and lines with calls.
    pub known: Vec<String>,
}

impl fmt::Display for UnknownSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the run has no {}", self.selection)
    }
}

impl std::error::Error for UnknownSelection {}

/// Computation on a call path between two calls: the signatures of the path, of the call before and of the call after
/// it. 0 means that there is no such call.
pub(crate) type Computing = (u64, u64, u64);

/// Changes of one call path.
#[derive(Clone, Copy, Debug)]
struct PathChange {
    factor: f64,
    without: Waits,
    joined: u64,
    split: u64,
}

impl Default for PathChange {
    fn default() -> Self {
        Self { factor: 1.0, without: Waits::default(), joined: 1, split: 1 }
    }
}

/// Changes, by the signatures of the call paths that they affect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compiled {
    paths: HashMap<u64, PathChange, Mixed>,
    computing: HashMap<Computing, f64, Mixed>,
    /// Work that is balanced, and how much of it each location keeps.
    pub(crate) balanced: Selected,
    pub(crate) shares: Shares,
    /// Work of single processes, and the factors by which its time is multiplied.
    single: Vec<(ProcessNumber, Selected, f64)>,
    /// Waits that are removed everywhere.
    pub(crate) without: Waits,
    pub(crate) is_ideal: bool,
    pub(crate) network: Option<Network>,
    /// Factor by which the time of all computation is multiplied, if it changes.
    slower: Option<f64>,
}

/// Call paths and computation of a selection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selected {
    paths: HashSet<u64, Mixed>,
    computing: HashSet<Computing, Mixed>,
}

impl Selected {
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.computing.is_empty()
    }

    /// Returns `true` if a stretch of computation is selected.
    fn has(&self, rules: &[PathRule], stretch: &Stretch) -> bool {
        let rule = rules.get(stretch.path);
        rule.is_some_and(|rule| {
            !rule.is_call
                && !rule.is_outside
                && (self.paths.contains(&rule.signature)
                    || self.computing.contains(&key(rules, stretch)))
        })
    }
}

impl Compiled {
    /// Changes the rule of a path of a location.
    pub(crate) fn apply(&self, rule: &mut PathRule) {
        if let Some(change) = self.paths.get(&rule.signature) {
            rule.factor *= change.factor;
            rule.without.join(change.without);
            rule.joined = change.joined;
            rule.split = change.split;
        }
        if rule.is_outside {
            return;
        }
        rule.without.join(self.without);
        if let Some(slower) = self.slower.filter(|_| !rule.is_call) {
            rule.factor *= slower;
        }
        if self.is_ideal && rule.is_call {
            rule.factor = 0.0;
        }
    }

    /// Returns the factor for the time of computation between two calls of a location of a process.
    pub(crate) fn factor(
        &self,
        rules: &[PathRule],
        stretch: &Stretch,
        (location, process): (u32, ProcessNumber),
    ) -> f64 {
        let here = self.single.iter().filter(|it| it.0 == process && it.1.has(rules, stretch));
        let here: f64 = here.map(|it| it.2).product();
        let own = match self.computing.is_empty() {
            true => 1.0,
            false => self.computing.get(&key(rules, stretch)).copied().unwrap_or(1.0),
        };
        match !self.balanced.is_empty() && self.is_balanced(rules, stretch) {
            true => own * here * self.shares.factor(location, stretch.begin),
            false => own * here,
        }
    }

    /// Returns `true` if a stretch of computation is balanced.
    pub(crate) fn is_balanced(&self, rules: &[PathRule], stretch: &Stretch) -> bool {
        self.balanced.has(rules, stretch)
    }
}

fn key(rules: &[PathRule], stretch: &Stretch) -> Computing {
    let of = |path: Option<usize>| path.and_then(|it| rules.get(it)).map_or(0, |it| it.signature);
    (of(Some(stretch.path)), of(stretch.before), of(stretch.after))
}

/// Tables for translating selections to signatures of call paths.
pub(crate) struct Names {
    /// Signature of each branch of the tree.
    branches: Vec<u64>,
    /// Computation that each cause refers to; for a cause that is a call, `calls` has the signature of its call path.
    causes: Vec<Vec<Computing>>,
    calls: Vec<Option<u64>>,
}

/// Returns `true` for causes that are calls.
fn is_call(what: Activities) -> bool {
    use Activities::{Call, LeavesLate, Polling, SharesCores};
    matches!(what, Call | LeavesLate | SharesCores | Polling)
}

/// Returns the [signature] of each call path of the program, in the order of the branches of its tree.
pub(crate) fn signatures(program: &ProgramTotals<'_>) -> Vec<u64> {
    let mut list: Vec<u64> = Vec::new();
    for branch in &program.tree.branches {
        let above = branch.parent.and_then(|it| list.get(it.index())).copied().unwrap_or(0);
        let site = Some(branch.site).filter(|it| *it != CallingContextRef::UNDEFINED);
        let site = site.map(|it| program.in_source(it));
        list.push(match branch.setting {
            Some(_) => above,
            None => signature(above, branch.region, site),
        });
    }
    list
}

/// The computing of a cause.
pub(crate) struct CauseStretches(Selected);

impl CauseStretches {
    /// Finds the computing of the cause at this place in the list.
    pub(crate) fn of(program: &ProgramTotals<'_>, causes: &[Cause], place: usize) -> Self {
        let causes = causes.get(place).map(std::slice::from_ref).unwrap_or_default();
        let names = Names::of(program, causes);
        let computing = names.causes.into_iter().flatten().collect();
        Self(Selected { computing, ..Selected::default() })
    }

    /// Returns `true` if a stretch of computing is one of the cause.
    pub(crate) fn has(&self, rules: &[PathRule], stretch: &Stretch) -> bool {
        self.0.has(rules, stretch)
    }
}

impl Names {
    pub(crate) fn of(program: &ProgramTotals<'_>, causes: &[Cause]) -> Self {
        let branches = signatures(program);
        let signature = |number: Option<u32>| {
            number.and_then(|it| branches.get(it as usize)).copied().unwrap_or(0)
        };
        let computing = |cause: &Cause| {
            let (path, after) = (signature(cause.call_path), signature(cause.between.1));
            cause.between.0.iter().map(|before| (path, signature(*before), after)).collect()
        };
        let call = |cause: &Cause| is_call(cause.what).then(|| signature(cause.call_path));
        Self {
            causes: causes.iter().map(computing).collect(),
            calls: causes.iter().map(call).collect(),
            branches,
        }
    }

    /// Returns the signatures of the call paths of fetching atomic operations.
    pub(crate) fn fetches(program: &ProgramTotals<'_>) -> HashSet<u64, Mixed> {
        let roles = &program.world.roles;
        let is_fetch = |operation: Operation| {
            matches!(
                operation,
                Operation::Atomic(
                    Atomic::Swap
                        | Atomic::CompareSwap
                        | Atomic::FetchAdd
                        | Atomic::FetchIncrement
                        | Atomic::FetchAccumulate
                )
            )
        };
        let branches = program.tree.branches.iter().zip(signatures(program));
        branches
            .filter(|it| roles.get(it.0.region).meaning.is_some_and(|it| is_fetch(it.operation)))
            .map(|it| it.1)
            .collect()
    }

    /// Translates changes of a run to changes of its call paths.
    pub(crate) fn compile(
        &self,
        program: &ProgramTotals<'_>,
        changes: &[Change],
    ) -> Result<Compiled, UnknownSelection> {
        let mut compiled = Compiled::default();
        for change in changes {
            match change {
                Change::IdealNetwork => compiled.is_ideal = true,
                Change::Network(network) => compiled.network = Some(*network),
                Change::Slower(factor) => {
                    compiled.slower = Some(compiled.slower.unwrap_or(1.0) * factor);
                }
                Change::Without(wait, None) => compiled.without.add(*wait),
                Change::Without(wait, Some(selection)) => {
                    for path in self.paths(program, selection)? {
                        compiled.paths.entry(path).or_default().without.add(*wait);
                    }
                }
                Change::Scale(Selection::Computing, factor) => {
                    compiled.slower = Some(compiled.slower.unwrap_or(1.0) * factor);
                }
                Change::Scale(selection, factor) => match self.computing(selection) {
                    Some(keys) => {
                        for key in keys {
                            *compiled.computing.entry(*key).or_insert(1.0) *= factor;
                        }
                    }
                    None => {
                        for path in self.paths(program, selection)? {
                            compiled.paths.entry(path).or_default().factor *= factor;
                        }
                    }
                },
                Change::ScaleAt(selection, process, factor) => {
                    let mut selected = Selected::default();
                    self.select(program, selection, &mut selected)?;
                    compiled.single.push((*process, selected, *factor));
                }
                Change::Balance(selection) => {
                    self.select(program, selection, &mut compiled.balanced)?;
                }
                Change::Join(selection, count) => {
                    for path in self.paths(program, selection)? {
                        compiled.paths.entry(path).or_default().joined = (*count).max(1);
                    }
                }
                Change::SplitLock(selection, count) => {
                    for path in self.paths(program, selection)? {
                        compiled.paths.entry(path).or_default().split = (*count).max(1);
                    }
                }
            }
        }
        Ok(compiled)
    }

    /// Adds the computation of a selection.
    fn select(
        &self,
        program: &ProgramTotals<'_>,
        selection: &Selection,
        to: &mut Selected,
    ) -> Result<(), UnknownSelection> {
        match self.computing(selection) {
            Some(keys) => to.computing.extend(keys),
            None => to.paths.extend(self.paths(program, selection)?),
        }
        Ok(())
    }

    /// Returns the computation that a selected cause refers to, or `None` if the selection is not a cause, or the cause
    /// is a call.
    fn computing(&self, selection: &Selection) -> Option<&[Computing]> {
        let Selection::Cause(place) = selection else { return None };
        let is_call = self.calls.get(*place)?.is_some();
        self.causes.get(*place).map(Vec::as_slice).filter(|_| !is_call)
    }

    /// Returns the signatures of the call paths of a selection.
    fn paths(
        &self,
        program: &ProgramTotals<'_>,
        selection: &Selection,
    ) -> Result<Vec<u64>, UnknownSelection> {
        let branches = &self.branches;
        let found: Vec<u64> = match selection {
            Selection::Cause(place) => {
                self.calls.get(*place).copied().flatten().into_iter().collect()
            }
            // All paths; calls are left out by the rules.
            Selection::Computing => branches.clone(),
            Selection::CallPath(number) => {
                branches.get(*number as usize).copied().into_iter().collect()
            }
            Selection::Named(name) => {
                let numbers = (0..branches.len() as u32).map(CallPathNumber);
                let has = |it: &CallPathNumber| is_named(&program.steps(*it), name);
                let named = numbers.filter(has).filter_map(|it| branches.get(it.index()));
                named.copied().collect()
            }
        };
        if found.is_empty() {
            let (selection, known) = (selection.clone(), known(program));
            return Err(UnknownSelection { selection, known });
        }
        Ok(found)
    }
}

/// Returns `true` if `name` is the name of a function on a call path, or the line of its last call as `file:line`.
fn is_named(steps: &[Step], name: &str) -> bool {
    steps.iter().any(|step| step.region == name)
        || steps.last().and_then(line).is_some_and(|it| it == name)
}

/// Returns the line of a call as `file:line`, without the directory of the file.
fn line(step: &Step) -> Option<String> {
    let site = step.site.as_ref().filter(|it| it.line > 0)?;
    let file = site.file.rsplit('/').next()?;
    Some(format!("{file}:{}", site.line))
}

/// Returns all names that can be selected: functions, and lines with calls.
fn known(program: &ProgramTotals<'_>) -> Vec<String> {
    let numbers = (0..program.tree.branches.len() as u32).map(CallPathNumber);
    let last = numbers.filter_map(|it| program.steps(it).pop());
    let mut names: Vec<String> =
        last.flat_map(|it| [Some(it.region.clone()), line(&it)]).flatten().collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::Change;

    #[test]
    fn threads_take_cores_from_processes() {
        let slower = |processes, cores| {
            let changes = Change::serving_threads(processes, cores);
            changes.iter().find_map(|it| match it {
                Change::Slower(factor) => Some(*factor),
                _ => None,
            })
        };
        // Cores are free for all threads, for none, and for half of them.
        assert_eq!(slower(4, 8), Some(1.0));
        assert_eq!(slower(4, 4), Some(2.0));
        assert_eq!(slower(4, 6), Some(4.0 / 3.0));
        // Processes shared cores before.
        assert_eq!(slower(8, 4), Some(2.0));
    }
}
