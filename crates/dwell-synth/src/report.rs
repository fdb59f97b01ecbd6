//! Synthetic reports, for tests of scale.
//!
//! The call tree is a full tree with [`BRANCHES`] children a node, truncated after `paths` nodes. The first `dense`
//! metrics have a value for every call path and location; the others only for a share of call paths, and for the
//! ancestors of those. Values are inclusive sums of multiples of 1/1024 below one, which floating-point numbers add
//! without rounding, so every sum is exact:
//!
//! value(metric, path, location) = hash(seed, metric, path, location) mod 1024 / 1024

use std::path::Path;

use cubex::{
    Cnode, CnodeId, Group, Location, Meta, MetaBuilder, Metric, MetricId, MetricKind, Region,
    ReportWriter, Result, Rows, SystemNode,
};

use crate::progress::Progress;
use crate::rng;

/// Number of children of a node of the call tree. Nodes are numbered level by level, so the parent of node n is (n - 1)
/// / 4.
pub const BRANCHES: u32 = 4;
/// Processes on a node of the synthetic machine.
const PER_NODE: u32 = 64;

/// Options of [`generate`]. Together they determine every value of the report, so [`value`](Self::value) can recompute
/// any of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Number of locations, at least 1. Each is the only thread of a process of its own.
    pub locations: u32,
    /// Number of call paths, at least 1. Each has a function of its own, `function_0`, `function_1` and so on.
    pub paths: u32,
    /// Number of metrics. The first is called `time`, the others `metric_1`, `metric_2` and so on; all are inclusive
    /// and in seconds.
    pub metrics: u32,
    /// Number of metrics that have values at every call path: the first ones of the list. `sparsity` does not concern
    /// them.
    pub dense: u32,
    /// Share of call paths, from 0 to 1, at which the other metrics have no values of their own. A path above one with
    /// values still has an inclusive row.
    pub sparsity: f64,
    /// Seed of all values, and of the choice of call paths that have some.
    pub seed: u64,
}

/// The size of a generated report, as [`generate`] returns it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Number of rows written, each with one value for every location, over all metrics. Call paths without values have
    /// no row.
    pub rows: u64,
    /// Bytes of the values in all rows: eight for each value. The file differs in size by its metadata, index and
    /// padding.
    pub bytes: u64,
}

impl Options {
    /// Returns `true` if a metric has values of its own at a call path.
    fn has(&self, metric: u32, path: u32) -> bool {
        let draw = rng::at(self.seed, [u64::from(metric), u64::from(path), 1]) >> 11;
        metric < self.dense || draw as f64 / (1_u64 << 53) as f64 >= self.sparsity
    }

    /// Returns the exclusive value of a metric at a call path and location, which lies in 0..1. The report contains
    /// inclusive values: sum over the path and all paths below it to compare.
    pub fn value(&self, metric: MetricId, path: CnodeId, location: u32) -> f64 {
        if !self.has(metric.0, path.0) {
            return 0.0;
        }
        let row = rng::at(self.seed, [u64::from(metric.0), u64::from(path.0), 2]);
        (rng::mix(row.wrapping_add(u64::from(location))) % 1024) as f64 / 1024.0
    }

    fn children(&self, path: u32) -> impl Iterator<Item = u32> + use<> {
        let first = u64::from(path) * u64::from(BRANCHES) + 1;
        let paths = u64::from(self.paths);
        (first..first + u64::from(BRANCHES))
            .take_while(move |&child| child < paths)
            .map(|c| c as u32)
    }

    fn meta(&self) -> Result<Meta> {
        let mut meta = MetaBuilder::new();
        meta.titles("Metric tree", "Call tree", "System tree");
        for number in 0..self.metrics {
            let name = if number == 0 { "time".to_owned() } else { format!("metric_{number}") };
            meta.metric(
                None,
                Metric {
                    uniq_name: &name,
                    disp_name: &name,
                    dtype: "DOUBLE",
                    uom: "sec",
                    kind: MetricKind::Inclusive,
                    ..Metric::default()
                },
            );
        }
        for number in 0..self.paths {
            let name = format!("function_{number}");
            let (mangled_name, paradigm, role) = (name.as_str(), "user", "function");
            let region = Region { name: &name, mangled_name, paradigm, role, ..Region::default() };
            let region = meta.region(region);
            let parent = number.checked_sub(1).map(|before| CnodeId(before / BRANCHES));
            meta.cnode(parent, Cnode { region, ..Cnode::default() });
        }
        let machine = SystemNode { name: "synthetic machine", class: "machine", descr: "" };
        let machine = meta.system_node(None, machine);
        let mut node = machine;
        for rank in 0..self.locations {
            if rank % PER_NODE == 0 {
                let name = format!("node{:05}", rank / PER_NODE);
                let new = SystemNode { name: &name, class: "node", descr: "" };
                node = meta.system_node(Some(machine), new);
            }
            let name = format!("Rank {rank}");
            let group = meta.group(node, Group { name: &name, rank, ..Group::default() });
            meta.location(group, Location { name: "Master thread", ..Location::default() });
        }
        meta.finish()
    }
}

/// Generates a report as a `.cubex` file at `path`, and returns its size. `progress` is called once for each metric.
///
/// # Errors
/// If the file cannot be written.
pub fn generate(options: &Options, path: &Path, progress: Progress<'_>) -> Result<Made> {
    let writer = ReportWriter::create(path, options.meta()?)?;
    let mut made = Made::default();
    for metric in (0..options.metrics).map(MetricId) {
        let rows = writer.metric(metric, Rows::Spooled)?;
        let mut write = |cnode: CnodeId, row: &[f64]| {
            made.rows += 1;
            made.bytes += 8 * row.len() as u64;
            rows.write(cnode, row)
        };
        subtree(options, metric, 0, &mut write)?;
        progress(1);
    }
    writer.finish()?;
    Ok(made)
}

/// Writes the rows of a call path and of all below it. Returns the inclusive row, or `None` if no path of the subtree
/// has values.
fn subtree(
    options: &Options,
    metric: MetricId,
    path: u32,
    write: &mut impl FnMut(CnodeId, &[f64]) -> Result<()>,
) -> Result<Option<Vec<f64>>> {
    let cnode = CnodeId(path);
    let mut sum: Option<Vec<f64>> = options.has(metric.0, path).then(|| {
        (0..options.locations).map(|location| options.value(metric, cnode, location)).collect()
    });
    for child in options.children(path) {
        let Some(row) = subtree(options, metric, child, write)? else { continue };
        match &mut sum {
            Some(sum) => sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value),
            None => sum = Some(row),
        }
    }
    if let Some(row) = &sum {
        write(cnode, row)?;
    }
    Ok(sum)
}
