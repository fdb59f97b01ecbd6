//! Phases and parameters: steps of call paths that are no calls but say what a program worked on.
//!
//! `step / instance=3 / MPI_Barrier` is the barrier of the third step. Whoever asks which call takes the
//! time wants all steps together, so rankings [fold](Folds) what differs in nothing but such steps. Whoever
//! asks how steps differ looks at them [one by one](Query::by).

use std::collections::{BTreeMap, HashMap};

use cubex::{CnodeId, Meta, Result};
use dwell_model::archive;
use dwell_model::waits::Wait;

use crate::parts::is_seconds;
use crate::path;
use crate::query::{Call, Flavour, Part, Query};

/// Call paths that differ in nothing but parameters, as one.
#[derive(Debug)]
pub(crate) struct Folds {
    /// For each call path the first that it is one with; empty if there are no parameters.
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

    /// The first call path that one is the same as.
    pub(crate) fn first(&self, cnode: CnodeId) -> CnodeId {
        self.of.get(cnode.index()).copied().unwrap_or(cnode)
    }

    pub(crate) fn any(&self) -> bool {
        !self.of.is_empty()
    }
}

/// Whether a call path ends in a parameter that has a value.
pub(crate) fn is_setting(meta: &Meta, cnode: CnodeId) -> bool {
    meta.callee(cnode).is_some_and(|region| region.role == archive::PARAMETER)
}

/// Something that call paths are told apart by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Axis {
    /// A phase, by the name of its region: its instances.
    Phase(String),
    /// A parameter.
    Parameter(String),
}

impl Axis {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Phase(name) | Self::Parameter(name) => name,
        }
    }
}

/// What was spent while a parameter had a value, or in an instance of a phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    /// The value.
    pub value: String,
    /// The call paths.
    pub cnodes: Vec<CnodeId>,
    /// How often it was set, over all locations.
    pub visits: f64,
    /// Seconds, over all locations.
    pub time: f64,
    /// Seconds at the location with the most.
    pub longest: f64,
    /// Seconds of waits, over all locations.
    pub waiting: f64,
    /// The name of the metric with the most of these.
    pub largest_wait: Option<String>,
}

impl Query {
    /// What call paths are told apart by, and how many values each has.
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

    /// What was spent with each value of a parameter, or in each instance of a phase, in the order of the
    /// values. With `below`, only call paths at or below that one take part.
    ///
    /// # Errors
    /// As [`Query::row`].
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
            // Bounds and waits in doubt stand beside the tree of time.
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

    /// The values of a metric at several call paths together, one for each location.
    ///
    /// # Errors
    /// As [`Query::row`].
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

    /// A call path as text, without parameters.
    pub fn call_path_folded(&self, cnode: CnodeId) -> String {
        let meta = self.meta();
        let calls = path::ancestors(meta, cnode).filter(|&it| !is_setting(meta, it));
        let mut names: Vec<String> = calls.map(|it| path::name(meta, it)).collect();
        names.reverse();
        names.join(path::SEPARATOR)
    }
}

/// What a call path that ends in a parameter is told apart by, and the value.
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
