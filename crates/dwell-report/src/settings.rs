//! Phases and parameters: steps of call paths that are not calls but say what the program worked on.
//!
//! `step / instance=3 / MPI_Barrier` is the barrier in instance 3 of the phase `step`. To find the call that takes most
//! time, all instances count together, so rankings [fold](Folds) call paths that differ only in such steps. To see how
//! instances differ, [`Query::by`] lists them one by one.

use std::collections::{BTreeMap, HashMap};

use cubex::{CnodeId, Meta, Result};
use dwell_model::archive;
use dwell_model::waits::Wait;

use crate::parts::is_seconds;
use crate::path;
use crate::query::{Call, Flavour, Part, Query};

/// Maps call paths that differ only in phases and parameters to a common representative.
#[derive(Debug)]
pub(crate) struct Folds {
    /// For each call path the first one in preorder that differs from it only in parameters. The list is empty if the
    /// report has no parameters.
    of: Vec<CnodeId>,
}

impl Folds {
    pub(crate) fn of(meta: &Meta) -> Self {
        if !meta.regions().filter_map(|id| meta.region(id)).any(|it| it.role == archive::PARAMETER)
        {
            return Self { of: Vec::new() };
        }
        let mut of: Vec<CnodeId> = meta.cnodes().collect();
        let mut found = HashMap::new();
        for cnode in meta.cnodes_in_order() {
            let above = meta.cnode_parent(cnode).and_then(|at| of.get(at.index()).copied());
            let first = match (is_setting(meta, cnode), above) {
                (true, Some(above)) => above,
                _ => {
                    let it = meta.cnode(cnode);
                    let key = (above, it.map(|it| (it.region, it.file.to_owned(), it.line)));
                    *found.entry(key).or_insert(cnode)
                }
            };
            if let Some(place) = of.get_mut(cnode.index()) {
                *place = first;
            }
        }
        Self { of }
    }

    /// Returns the representative of a call path, which is the call path itself if nothing is folded.
    pub(crate) fn first(&self, cnode: CnodeId) -> CnodeId {
        self.of.get(cnode.index()).copied().unwrap_or(cnode)
    }

    pub(crate) fn any(&self) -> bool {
        !self.of.is_empty()
    }
}

/// Returns `true` if the last step of a call path is a parameter with a value and not a call.
pub(crate) fn is_setting(meta: &Meta, cnode: CnodeId) -> bool {
    meta.callee(cnode).is_some_and(|region| region.role == archive::PARAMETER)
}

/// A dimension along which the program marked its work: the instances of a phase or the values of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Axis {
    /// The instances of a phase, given by the name of its region.
    Phase(String),
    /// The values of a parameter, given by its name.
    Parameter(String),
}

impl Axis {
    /// Returns the name of the phase or parameter, as [`Query::by`] takes it.
    pub fn name(&self) -> &str {
        match self {
            Self::Phase(name) | Self::Parameter(name) => name,
        }
    }
}

/// Time and waits of the program while a parameter had one value, or in one instance of a phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    /// Value of the parameter, or number of the instance, as text.
    pub value: String,
    /// Call paths with this value, none of them below another. Values of this struct are their sums.
    pub cnodes: Vec<CnodeId>,
    /// Number of times that the program set this value, over all locations; 0 if the report does not count visits.
    pub visits: f64,
    /// Inclusive time in seconds, summed over all locations; 0 if the report has no readable metric `time`.
    pub time: f64,
    /// Inclusive time in seconds of the location that has most of it.
    pub longest: f64,
    /// Time in wait states in seconds, summed over all locations. Upper bounds and uncertain waits are not included.
    pub waiting: f64,
    /// Display name of the wait with the largest part of [`Self::waiting`]; `None` if there was no wait.
    pub largest_wait: Option<String>,
}

impl Query {
    /// Lists the phases and parameters of the report, each with the number of its different values. Phases come first,
    /// both in alphabetical order.
    pub fn axes(&self) -> Vec<(Axis, usize)> {
        let meta = self.meta();
        let mut values: BTreeMap<Axis, Vec<&str>> = BTreeMap::new();
        for cnode in meta.cnodes() {
            if let Some((axis, value)) = axis_of(meta, cnode) {
                values.entry(axis).or_default().push(value);
            }
        }
        let mut axes: Vec<(Axis, usize)> = Vec::new();
        for (axis, mut values) in values {
            values.sort_unstable();
            values.dedup();
            axes.push((axis, values.len()));
        }
        axes
    }

    /// Returns the phase or parameter that the last step of a call path sets, with its value, or `None` if that step is a call. Call
    /// paths below it are those of the program while it had that value.
    pub fn setting(&self, cnode: CnodeId) -> Option<(Axis, &str)> {
        axis_of(self.meta(), cnode)
    }

    /// Returns the time and the waits for each instance of a phase, or each value of a parameter, in numeric order and
    /// then alphabetical. With `below`, only values that were set at or below that call path count. A value that was
    /// set inside of another one of the same name counts there only. An unknown name gives an empty list.
    ///
    /// # Errors
    /// Fails where [`Query::row`] fails.
    pub fn by(&self, name: &str, below: Option<CnodeId>) -> Result<Vec<Spent>> {
        let meta = self.meta();
        let is_it = |cnode: CnodeId| axis_of(meta, cnode).filter(|it| it.0.name() == name);
        let mut values: Vec<(&str, Vec<CnodeId>)> = Vec::new();
        let mut at: HashMap<&str, usize> = HashMap::new();
        for cnode in meta.cnodes_in_order() {
            let Some((_, value)) = is_it(cnode) else { continue };
            // What is inside another is counted there.
            let inside = path::ancestors(meta, cnode).skip(1).any(|it| is_it(it).is_some());
            let takes_part =
                below.is_none_or(|below| path::ancestors(meta, cnode).any(|it| it == below));
            if inside || !takes_part {
                continue;
            }
            let next = values.len();
            let at = *at.entry(value).or_insert(next);
            if at == next {
                values.push((value, Vec::new()));
            }
            if let Some((_, cnodes)) = values.get_mut(at) {
                cnodes.push(cnode);
            }
        }
        let mut list = Vec::with_capacity(values.len());
        for (value, cnodes) in values {
            list.push(self.spent(value, cnodes)?);
        }
        let number = |it: &Spent| it.value.parse::<f64>().unwrap_or(f64::INFINITY);
        list.sort_by(|a, b| number(a).total_cmp(&number(b)).then_with(|| a.value.cmp(&b.value)));
        Ok(list)
    }

    fn spent(&self, value: &str, cnodes: Vec<CnodeId>) -> Result<Spent> {
        let meta = self.meta();
        let sum = |metric| -> Result<f64> {
            let totals = self.totals(metric)?;
            Ok(cnodes.iter().map(|&cnode| totals.get(cnode, Flavour::Inclusive)).sum())
        };
        let of = |name: &str| meta.find_metric(name).filter(|&metric| self.is_readable(metric));
        let visits = match of("visits").map(|metric| self.totals(metric)).transpose()? {
            Some(totals) => cnodes.iter().map(|&cnode| totals.get(cnode, Flavour::Exclusive)).sum(),
            None => 0.0,
        };
        let (mut time, mut longest) = (0.0, 0.0);
        if let Some(metric) = of("time") {
            time = sum(metric)?;
            longest =
                self.row_of(metric, &cnodes, Flavour::Inclusive)?.into_iter().fold(0.0, f64::max);
        }
        let (mut waiting, mut largest): (f64, Option<(f64, String)>) = (0.0, None);
        for metric in meta.metrics() {
            let Some(it) = meta.metric(metric) else { continue };
            let is_wait =
                |name: &str, uom: &str| Wait::of_metric(name).is_some() && is_seconds(uom);
            let above = meta.metric_parent(metric).and_then(|above| meta.metric(above));
            // A wait contains those below it.
            let is_part = above.is_some_and(|above| is_wait(above.uniq_name, above.uom));
            // Bounds and waits in doubt are not part of the tree of time.
            if above.is_none()
                || is_part
                || !is_wait(it.uniq_name, it.uom)
                || !self.is_readable(metric)
            {
                continue;
            }
            let amount = sum(metric)?;
            waiting += amount;
            if amount > largest.as_ref().map_or(0.0, |it| it.0) {
                largest = Some((amount, it.disp_name.to_owned()));
            }
        }
        let (value, largest_wait) = (value.to_owned(), largest.map(|it| it.1));
        Ok(Spent { value, cnodes, visits, time, longest, waiting, largest_wait })
    }

    /// Returns the values of a metric summed over several call paths, one for each location. For inclusive values no
    /// call path should be below another, because it would count twice.
    ///
    /// # Errors
    /// Fails where [`Query::row`] fails.
    pub fn row_of(
        &self,
        metric: cubex::MetricId,
        cnodes: &[CnodeId],
        flavour: Flavour,
    ) -> Result<Vec<f64>> {
        let mut sum = vec![0.0; self.locations(Part::All).count()];
        for &cnode in cnodes {
            let row = self.row(metric, Call::Path(cnode, flavour))?;
            sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        Ok(sum)
    }

    /// Returns a call path as text without its phases' instances and parameters, as rankings name folded call paths.
    pub fn call_path_folded(&self, cnode: CnodeId) -> String {
        let meta = self.meta();
        let calls = path::ancestors(meta, cnode).filter(|&it| !is_setting(meta, it));
        let mut names: Vec<String> = calls.map(|it| path::name(meta, it)).collect();
        names.reverse();
        names.join(path::SEPARATOR)
    }
}

/// Returns the phase or parameter and the value that the last step of a call path sets, or `None` if that step is a
/// call.
fn axis_of(meta: &Meta, cnode: CnodeId) -> Option<(Axis, &str)> {
    if !is_setting(meta, cnode) {
        return None;
    }
    let (name, value) = meta.callee(cnode)?.name.split_once('=')?;
    if name == archive::INSTANCE {
        let phase = meta.cnode_parent(cnode).and_then(|phase| meta.callee(phase))?;
        return Some((Axis::Phase(phase.name.to_owned()), value));
    }
    Some((Axis::Parameter(name.to_owned()), value))
}
