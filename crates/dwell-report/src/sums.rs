//! Inclusive rows of some call paths, kept in a file beside a large report.
//!
//! Where a report stores exclusive values, the inclusive row of a call path is the sum of all rows below it; for the
//! root, that is every row of the metric. The file `REPORT.dwell-sums` holds some of these sums. They are chosen so
//! that any other inclusive row is the sum of at most [`MOST`] rows from the report or the file. At most one [`MOST`]th
//! as many sums are kept as there are rows.
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | `DWELLSUM` |
//! | 8 | 4 | version of this layout, 1 |
//! | 12 | 24 | key: size of the report, its time (seconds, nanoseconds) |
//! | 36 | 4 | number of rows |
//! | 40 | … | rows: for each location 8 bytes, an integer or a float according to the metric |
//!
//! All numbers are little-endian. The report determines which call path of which metric each row belongs to: metrics in
//! order, and the call paths of each with children before their parents. A file that does not match its report is
//! ignored and written anew; it can be deleted at any time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use cubex::{CnodeId, DataType, ErrorKind, MetricId, MetricKind, Report, Result, Row};

/// Largest number of rows that an inclusive row is computed from on demand.
const MOST: u32 = 32;
const MAGIC: &[u8; 8] = b"DWELLSUM";
const VERSION: u32 = 1;
const HEAD: u64 = 40;

/// The file of sums, open for reading.
#[derive(Debug)]
pub(crate) struct Sums {
    file: File,
    /// Sums of each metric, by metric id; `None` for metrics without any.
    plans: Vec<Option<Plan>>,
}

/// Choice of the call paths of one metric whose sums are in the file.
#[derive(Debug)]
struct Plan {
    data_type: DataType,
    /// Number of the first row of this metric in the file.
    first: u64,
    /// Call paths with a sum in the file, in the order of their rows.
    paths: Vec<CnodeId>,
    /// Index into `paths` for each call path by its id, or `None` if its sum is not in the file.
    places: Vec<Option<u32>>,
}

/// Decides which sums the file holds. Returns `None` if no call path has enough rows below it to make a file
/// worthwhile.
fn plans(report: &Report) -> Option<Vec<Option<Plan>>> {
    let meta = report.meta();
    let order: Vec<CnodeId> = meta.cnodes_in_order().collect();
    let mut next = 0;
    let mut plans = Vec::new();
    for metric in meta.metrics() {
        let plan = plan(report, metric, &order, next);
        next += plan.as_ref().map_or(0, |plan| plan.paths.len() as u64);
        plans.push(plan);
    }
    (next > 0).then_some(plans)
}

fn plan(report: &Report, metric: MetricId, order: &[CnodeId], first: u64) -> Option<Plan> {
    let meta = report.meta();
    let it = meta.metric(metric).filter(|it| it.kind == MetricKind::Exclusive)?;
    let data_type = it.data_type().filter(|it| {
        use DataType as D;
        matches!(it, D::Uint64 | D::Int64 | D::Double | D::MinDouble | D::MaxDouble)
    })?;
    let values = report.values(metric).ok()?;
    // Rows that a call path is the sum of, sums that are kept among them.
    let mut rows = vec![0_u32; order.len()];
    let (mut paths, mut places) = (Vec::new(), vec![None; order.len()]);
    for &cnode in order.iter().rev() {
        let own = rows.get_mut(cnode.index())?;
        *own += u32::from(values.is_stored(cnode));
        let mut all = *own;
        if all > MOST {
            all = 1;
            *places.get_mut(cnode.index())? = Some(paths.len() as u32);
            paths.push(cnode);
        }
        if let Some(parent) = meta.cnode_parent(cnode) {
            *rows.get_mut(parent.index())? += all;
        }
    }
    (!paths.is_empty()).then_some(Plan { data_type, first, paths, places })
}

impl Plan {
    fn place(&self, cnode: CnodeId) -> Option<u32> {
        self.places.get(cnode.index()).copied().flatten()
    }
}

impl Sums {
    /// Opens the file of sums. Returns `None` if it does not exist, belongs to another version of the report, or has
    /// the wrong length.
    pub(crate) fn open(report: &Report, path: &Path, key: &[u8; 24]) -> Option<Self> {
        let file = dwell_files::open(path).ok()?;
        let plans = plans(report)?;
        let mut head = [0; HEAD as usize];
        file.read_exact_at(&mut head, 0).ok()?;
        let rows = rows(&plans);
        let length = HEAD + rows * report.meta().locations().len() as u64 * 8;
        (head == self::head(key, rows) && file.metadata().ok()?.len() == length)
            .then_some(Self { file, plans })
    }

    /// Writes the file of sums. Returns `None` if that fails, for example in a read-only directory; queries then add
    /// rows on demand, more slowly.
    pub(crate) fn make(report: &Report, path: &Path, key: &[u8; 24]) -> Option<Self> {
        let plans = plans(report)?;
        let new = dwell_files::create(path).ok()?;
        let sums = Self { file: new.file().try_clone().ok()?, plans };
        sums.fill(report, key).and_then(|()| new.place()).ok()?;
        Some(sums)
    }

    fn fill(&self, report: &Report, key: &[u8; 24]) -> io::Result<()> {
        self.file.write_all_at(&head(key, rows(&self.plans)), 0)?;
        let metrics: Vec<MetricId> = report.meta().metrics().collect();
        let next = AtomicUsize::new(0);
        let work = || -> io::Result<()> {
            while let Some(&metric) = metrics.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.fill_metric(report, metric)?;
            }
            Ok(())
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let failed = |_| Err(io::Error::other("a thread died"));
            all.into_iter().try_for_each(|it| it.join().unwrap_or_else(failed))
        })
    }

    fn fill_metric(&self, report: &Report, metric: MetricId) -> io::Result<()> {
        let Some(Some(plan)) = self.plans.get(metric.index()) else { return Ok(()) };
        let locations = report.meta().locations().len();
        for (row, &cnode) in (plan.first..).zip(&plan.paths) {
            let sum = self
                .sum(report, metric, plan, (cnode, Start::ToBeWritten))
                .map_err(io::Error::other)?;
            let bytes = sum.and_then(|row| row.to_bytes()).unwrap_or_default();
            if bytes.len() != 8 * locations {
                return Err(io::Error::other("a row of another length"));
            }
            self.file.write_all_at(&bytes, HEAD + row * 8 * locations as u64)?;
        }
        Ok(())
    }

    /// Returns the inclusive row of a call path. The outer `None` means that the file has no sums of this metric; the
    /// inner `None` means that all values are 0.
    pub(crate) fn row(
        &self,
        report: &Report,
        metric: MetricId,
        cnode: CnodeId,
    ) -> Option<Result<Option<Row>>> {
        let plan = self.plans.get(metric.index())?.as_ref()?;
        Some(self.sum(report, metric, plan, (cnode, Start::Written)))
    }

    /// Adds the rows of a call path and of all below it, taking sums from the file where it has them.
    fn sum(
        &self,
        report: &Report,
        metric: MetricId,
        plan: &Plan,
        (cnode, start): (CnodeId, Start),
    ) -> Result<Option<Row>> {
        let meta = report.meta();
        let values = report.values(metric)?;
        let mut sum = None;
        let mut left = vec![cnode];
        while let Some(at) = left.pop() {
            let place = plan.place(at).filter(|_| start == Start::Written || at != cnode);
            let row = match place {
                Some(place) => Some(self.read(plan, place, meta.locations().len())?),
                None => {
                    let below = left.len();
                    left.extend(meta.cnode_children(at));
                    left.get_mut(below..).unwrap_or_default().reverse();
                    values.row(at)?
                }
            };
            match (&mut sum, row) {
                (_, None) => {}
                (Some(sum), Some(row)) => Row::add(sum, &row)?,
                (none, some) => *none = some,
            }
        }
        Ok(sum)
    }

    fn read(&self, plan: &Plan, place: u32, locations: usize) -> Result<Row> {
        let mut bytes = vec![0; 8 * locations];
        let at = HEAD + (plan.first + u64::from(place)) * bytes.len() as u64;
        self.file.read_exact_at(&mut bytes, at).map_err(ErrorKind::Io)?;
        Ok(Row::from_bytes(plan.data_type, &bytes))
    }
}

/// State of the sum of the call path at which an addition starts. Sums of the call paths below it are in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// The file has the sum, so that it is read.
    Written,
    /// The file is being written and does not have the sum yet.
    ToBeWritten,
}

fn rows(plans: &[Option<Plan>]) -> u64 {
    plans.iter().flatten().map(|plan| plan.paths.len() as u64).sum()
}

fn head(key: &[u8; 24], rows: u64) -> [u8; HEAD as usize] {
    let mut head = [0; HEAD as usize];
    let rows = (rows as u32).to_le_bytes();
    let version = VERSION.to_le_bytes();
    let bytes = MAGIC.iter().chain(&version).chain(key).chain(&rows);
    head.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
    head
}
