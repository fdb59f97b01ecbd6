//! One run of a comparison.

use std::collections::BTreeMap;
use std::path::Path;

use cubex::{CnodeId, MetricId, Result};

use super::forest::Side;
use crate::base::{self, Base};
use crate::findings::{Efficiency, Findings, FunctionTimes, Iterations, Point, Verdict};
use crate::query::{Call, Flavour, Query};

/// Largest `findings.json` that is read, in bytes.
const MOST_FINDINGS: u64 = 64 << 20;

/// Unique name of the metric of time.
pub(super) const TIME: &str = "time";

/// Length and time of a run without start-up and shutdown, which are the calls that start or end a runtime, with everything
/// below them.
#[derive(Clone, Debug, Default)]
pub struct Extent {
    /// Calls of start-up and shutdown, the outermost ones.
    outside: Vec<CnodeId>,
    /// Time of the location with the longest run in seconds.
    pub length: f64,
    /// Time of all locations in seconds.
    pub time: f64,
}

impl Extent {
    /// Reads the times of a run from its report. A report without a metric of time has none.
    ///
    /// # Errors
    /// Fails if the report is damaged.
    pub fn of(query: &Query) -> Result<Self> {
        let outside = base::outside(query.meta()).into_iter().map(|it| it.0).collect();
        let mut extent = Self { outside, ..Self::default() };
        if let Some(metric) = find_metric(query, TIME) {
            let mut row = query.row(metric, Call::All)?;
            for &cnode in &extent.outside {
                let less = query.row(metric, Call::Path(cnode, Flavour::Inclusive))?;
                row.iter_mut().zip(less).for_each(|(value, less)| *value -= less);
            }
            extent.length = row.iter().copied().fold(0.0, f64::max);
            extent.time = row.iter().sum();
        }
        Ok(extent)
    }
}

/// A report that is compared with others.
#[derive(Debug)]
pub struct Run {
    /// Name of the run for people, such as its directory.
    pub name: String,
    /// The report of the run, for what a comparison does not answer.
    pub query: Query,
    extent: Extent,
    efficiency: Option<Efficiency>,
    verdict: Verdict,
    iterations: Option<Iterations>,
    functions: Option<FunctionTimes>,
    /// Ids of findings by their call paths.
    ids: BTreeMap<u32, u32>,
}

impl Run {
    /// Opens a report, and `findings.json` beside it if there is one.
    ///
    /// # Errors
    /// Fails if the report cannot be read.
    pub fn open(name: String, path: &Path) -> Result<Self> {
        let query = Query::open(path)?;
        let beside = path.with_file_name("findings.json");
        // A pipe or a link in its place is not read.
        let findings = dwell_files::read(beside, MOST_FINDINGS).ok();
        let findings = findings.and_then(|it| Findings::read(&it).ok());
        let Findings { efficiency, findings, functions, iterations, verdict, .. } =
            findings.unwrap_or_default();
        let ids = findings.iter().map(|it| (it.call_path, it.id)).collect();
        let extent = Extent::of(&query)?;
        Ok(Self { name, query, extent, efficiency, verdict, iterations, functions, ids })
    }

    /// Returns the time of the location with the longest run in seconds, without start-up and shutdown.
    pub fn length(&self) -> f64 {
        self.extent.length
    }

    /// Returns the time of all locations in seconds, without start-up and shutdown.
    pub fn time(&self) -> f64 {
        self.extent.time
    }

    /// Returns the time of all locations in waits in seconds, without start-up and shutdown. Waits that are parts of others
    /// are not counted again.
    ///
    /// # Errors
    /// Fails if the report is damaged.
    pub fn waits(&self) -> Result<f64> {
        let waits = self.query.wait_metrics().into_iter();
        waits.map(|it| Base::of(&self.query, it, None).map(|it| it.total)).sum()
    }

    /// Returns the id of the finding about a call path, if there is one.
    pub(super) fn finding(&self, cnode: CnodeId) -> Option<u32> {
        self.ids.get(&cnode.0).copied()
    }

    /// Returns the number of processes of the run, which are the location groups of its report.
    pub fn processes(&self) -> usize {
        self.query.meta().groups().len()
    }

    /// Returns the efficiencies that the analysis of the run has found, or `None` if there is no `findings.json`.
    pub fn efficiencies(&self) -> Option<Efficiencies> {
        self.efficiency.as_ref().map(Efficiencies::of)
    }

    /// Returns what costs the run most by the verdict of its analysis, or `None` if nothing costs much or there is no
    /// `findings.json`.
    pub fn main_point(&self) -> Option<&Point> {
        self.verdict.points.first()
    }

    pub(super) fn functions(&self) -> Option<&FunctionTimes> {
        self.functions.as_ref()
    }

    pub(super) fn iterations(&self) -> Option<&Iterations> {
        self.iterations.as_ref()
    }

    /// Returns what of the run is matched with other runs: all but start-up and shutdown.
    pub(super) fn side(&self) -> Side<'_> {
        Side { query: &self.query, left_out: &self.extent.outside }
    }

    pub(super) fn metric(&self, name: &str) -> Option<MetricId> {
        find_metric(&self.query, name)
    }
}

/// Returns the metric of this unique name, if the report stores its values.
pub(super) fn find_metric(query: &Query, name: &str) -> Option<MetricId> {
    query.meta().find_metric(name).filter(|it| query.is_readable(*it))
}

/// Efficiencies of one run or of several, each a part of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Efficiencies {
    /// Mean computing of all locations, as a part of the length of the run: the product of the next two.
    pub parallel: f64,
    /// Mean computing, as a part of that of the location which computes longest. It is 1 if all compute equally long.
    pub load_balance: f64,
    /// Computing of the location that computes longest, as a part of the length of the run.
    pub communication: f64,
    /// Serialisation, progress and transfer, the factors of communication efficiency; `None` if they were not computed.
    pub factors: Option<[f64; 3]>,
}

impl Efficiencies {
    fn of(it: &Efficiency) -> Self {
        let factors = (|| Some([it.serialisation?, it.progress?, it.transfer?]))();
        let Efficiency { parallel, load_balance, communication, .. } = *it;
        Self { parallel, load_balance, communication, factors }
    }

    /// Returns the mean of several runs, or `None` if one of them has no efficiencies.
    pub(super) fn mean(runs: &[&Run]) -> Option<Self> {
        let all: Vec<Self> = runs.iter().map(|it| it.efficiencies()).collect::<Option<_>>()?;
        let count = (!all.is_empty()).then_some(all.len() as f64)?;
        let mean = |of: &dyn Fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / count;
        let factors: Option<Vec<[f64; 3]>> = all.iter().map(|it| it.factors).collect();
        let factors = factors.map(|list| {
            let sum = |at: usize| list.iter().filter_map(|it| it.get(at)).sum::<f64>() / count;
            [sum(0), sum(1), sum(2)]
        });
        Some(Self {
            parallel: mean(&|it| it.parallel),
            load_balance: mean(&|it| it.load_balance),
            communication: mean(&|it| it.communication),
            factors,
        })
    }
}

/// Returns the name of a metric for people and its unit, or `None` if a run does not have it.
pub(super) fn described(runs: &[&Run], name: &str) -> Option<(String, String)> {
    let mut found = None;
    for run in runs {
        let metric = run.query.meta().metric(run.metric(name)?)?;
        found = Some((metric.disp_name.to_owned(), metric.uom.to_owned()));
    }
    found
}
