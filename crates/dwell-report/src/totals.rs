//! Values of all call paths, summed over locations.
//!
//! A viewer needs these sums all the time, and computing them for a large report means reading every row. So they are
//! kept in memory and, for large reports, in a file beside the report, `REPORT.dwell-totals`:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | `DWELLTOT` |
//! | 8 | 4 | version of this layout, 1 |
//! | 12 | 24 | key: size of the report, its time (seconds, nanoseconds) |
//! | 36 | 8 | checksum of what follows |
//! | 44 | 4 | number of metrics |
//! | 48 | … | each metric: u32 number of entries or 2^32 - 1 if it cannot be read; entries of u32 call path, f64 inclusive, f64 exclusive |
//!
//! All numbers are little-endian. A file that does not match its report is ignored and written anew; it can be deleted
//! at any time.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once, OnceLock};

use cubex::{Cells, CnodeId, LocationId, Meta, MetricId, MetricKind, Report, Result, Row};

use crate::query::{Call, Flavour, Query};
use crate::sums::Sums;

/// Smallest size in bytes of a report whose totals are kept in a file.
const KEEP_FROM: u64 = 32 << 20;
const MAGIC: &[u8; 8] = b"DWELLTOT";
const VERSION: u32 = 1;
const UNREADABLE: u32 = u32::MAX;

/// Values of one metric at one call path, summed over all locations.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    cnode: u32,
    inclusive: f64,
    exclusive: f64,
}

/// Values of one metric at all call paths, summed over all locations, both inclusive and exclusive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Entries in ascending order of call path ids. Call paths without a value have no entry.
    entries: Vec<Entry>,
}

impl Totals {
    /// Returns the value of a call path in the unit of the metric, or 0 if the report stores none.
    pub fn get(&self, cnode: CnodeId, flavour: Flavour) -> f64 {
        let at = self.entries.binary_search_by_key(&cnode.0, |entry| entry.cnode);
        let entry = at.ok().and_then(|at| self.entries.get(at));
        entry.map_or(0.0, |entry| match flavour {
            Flavour::Inclusive => entry.inclusive,
            Flavour::Exclusive => entry.exclusive,
        })
    }

    /// Returns the value at a part of the program.
    pub fn value(&self, meta: &Meta, call: Call) -> f64 {
        match call {
            Call::All => meta.root_cnodes().map(|root| self.get(root, Flavour::Inclusive)).sum(),
            Call::Path(cnode, flavour) => self.get(cnode, flavour),
        }
    }

    /// Iterates over the call paths that have a value: id, inclusive value and exclusive value, in ascending order of
    /// ids.
    pub fn iter(&self) -> impl Iterator<Item = (CnodeId, f64, f64)> + '_ {
        self.entries.iter().map(|it| (CnodeId(it.cnode), it.inclusive, it.exclusive))
    }
}

/// Cache of the totals of each metric. An entry is filled when it is first needed.
#[derive(Debug)]
pub(crate) struct Kept {
    metrics: Vec<OnceLock<Arc<Totals>>>,
    /// Done once the file beside the report has been searched for.
    sought: Once,
}

impl Kept {
    pub(crate) fn of(report: &Report) -> Self {
        let metrics = report.meta().metrics().map(|_| OnceLock::new()).collect();
        Self { metrics, sought: Once::new() }
    }
}

impl Query {
    /// Returns the sums over all locations for every call path of a metric, inclusive and exclusive. The first call
    /// reads all stored rows of the metric once, unless a file beside the report has the sums; later calls return the
    /// kept result.
    ///
    /// # Errors
    /// Fails where [`Query::row`] fails.
    pub fn totals(&self, metric: MetricId) -> Result<Arc<Totals>> {
        if let Some(known) = self.known_totals(metric) {
            return Ok(known);
        }
        let totals = Arc::new(self.read_totals(metric, &total)?);
        if let Some(slot) = self.kept.metrics.get(metric.index()) {
            // Another thread may have been faster; it read the same.
            let _ = slot.set(totals.clone());
        }
        Ok(totals)
    }

    /// Returns the sums over some locations, like [`Query::totals`] over all. Every call reads all stored rows of the metric.
    ///
    /// # Errors
    /// Fails where [`Query::row`] fails.
    pub fn totals_of(&self, metric: MetricId, locations: &[LocationId]) -> Result<Totals> {
        let sum = |row: &Row| locations.iter().filter_map(|it| row.number(*it)).sum();
        self.read_totals(metric, &sum)
    }

    /// Returns the totals of a metric if no rows need to be read for them, because an earlier query computed them or
    /// the file beside the report has them.
    pub(crate) fn known_totals(&self, metric: MetricId) -> Option<Arc<Totals>> {
        let slot = self.kept.metrics.get(metric.index())?;
        if slot.get().is_none() {
            self.kept.sought.call_once(|| {
                if let Some((path, key)) = self.file_beside(KEEP_FROM, "totals") {
                    self.load_totals(&path, &key);
                }
            });
        }
        slot.get().cloned()
    }

    /// Returns the inclusive value of a metric for the whole program, summed over all locations.
    ///
    /// # Errors
    /// Fails where [`Query::row`] fails.
    pub fn total(&self, metric: MetricId) -> Result<f64> {
        let totals = self.totals(metric)?;
        Ok(self.meta().root_cnodes().map(|root| totals.get(root, Flavour::Inclusive)).sum())
    }

    /// Computes the totals of all readable metrics on up to 8 threads, or reads them from the file beside a large
    /// report. A viewer calls this at the start, so that later queries are fast. Metrics that cannot be read are
    /// skipped; the query that needs them reports the error.
    pub fn prepare(&self) {
        self.prepare_keeping(KEEP_FROM);
    }

    /// Writes the totals of a large report to a file beside it, so that viewers open it faster. A command calls this
    /// after it has written a report; for small reports nothing happens.
    pub fn keep_totals(&self) {
        if self.file_beside(KEEP_FROM, "totals").is_some() {
            self.prepare();
        }
    }

    /// Does the same as [`Query::prepare`], but keeps files beside all reports of at least `from` bytes. Tests use it
    /// to exercise the files with small reports.
    pub fn prepare_keeping(&self, from: u64) {
        let place = self.file_beside(from, "totals");
        self.sums.get_or_init(|| {
            let (path, key) = self.file_beside(from, "sums")?;
            let (report, path) = (self.report(), path.as_path());
            Sums::open(report, path, &key).or_else(|| Sums::make(report, path, &key))
        });
        if place.as_ref().is_some_and(|(path, key)| self.load_totals(path, key)) {
            return;
        }
        let metrics: Vec<MetricId> =
            self.meta().metrics().filter(|&metric| self.is_readable(metric)).collect();
        let next = AtomicUsize::new(0);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(&metric) = metrics.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let _ = self.totals(metric);
                    }
                });
            }
        });
        if let Some((path, key)) = place {
            self.save_totals(&path, &key);
        }
    }

    fn read_totals(&self, metric: MetricId, sum: &dyn Fn(&Row) -> f64) -> Result<Totals> {
        let meta = self.meta();
        let values = self.report().values(metric)?;
        let kind = meta.metric(metric).map(|metric| metric.kind);
        let mut stored = vec![0.0; meta.cnodes().len()];
        // One row's memory is enough for all.
        let mut kept: Option<Row> = None;
        for cnode in meta.cnodes().filter(|&cnode| values.is_stored(cnode)) {
            let there = match &mut kept {
                Some(row) => values.read_row(cnode, row)?,
                None => {
                    kept = values.row(cnode)?;
                    kept.is_some()
                }
            };
            if let (true, Some(row), Some(place)) = (there, &kept, stored.get_mut(cnode.index())) {
                *place = sum(row);
            }
        }
        let mut other = stored.clone();
        // Children before parents: what flows upwards has then arrived.
        let order: Vec<CnodeId> = meta.cnodes_in_order().collect();
        for &cnode in order.iter().rev() {
            let Some(parent) = meta.cnode_parent(cnode) else { continue };
            let of_child = match kind {
                Some(MetricKind::Inclusive) => stored.get(cnode.index()).map(|value| -value),
                _ => other.get(cnode.index()).copied(),
            };
            if let (Some(of_child), Some(place)) = (of_child, other.get_mut(parent.index())) {
                *place += of_child;
            }
        }
        let (inclusive, exclusive) = match kind {
            Some(MetricKind::Inclusive) => (stored, other),
            _ => (other, stored),
        };
        let entries = (0..).zip(inclusive.into_iter().zip(exclusive));
        let entries = entries
            .filter(|&(_, (inclusive, exclusive))| inclusive != 0.0 || exclusive != 0.0)
            .map(|(cnode, (inclusive, exclusive))| Entry { cnode, inclusive, exclusive });
        Ok(Totals { entries: entries.collect() })
    }

    /// Returns the sums in the file beside the report, or `None` if there is no such file.
    pub(crate) fn sums(&self) -> Option<&Sums> {
        let open = || {
            let (path, key) = self.file_beside(KEEP_FROM, "sums")?;
            Sums::open(self.report(), &path, &key)
        };
        self.sums.get_or_init(open).as_ref()
    }

    /// Returns the path of a file of this kind beside the report, and the key that it must contain: size and
    /// modification time of the report. Returns `None` for reports of less than `from` bytes and for those in memory.
    fn file_beside(&self, from: u64, what: &str) -> Option<(PathBuf, [u8; 24])> {
        let path = self.report().path()?;
        let about = fs::metadata(path).ok().filter(|it| it.len() >= from)?;
        let words =
            [about.len(), about.mtime().cast_unsigned(), about.mtime_nsec().cast_unsigned()];
        let mut key = [0; 24];
        for (slot, word) in key.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *slot = word.to_le_bytes();
        }
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".dwell-{what}"));
        Some((name.into(), key))
    }

    fn save_totals(&self, path: &Path, key: &[u8; 24]) {
        let mut body = Vec::new();
        body.extend_from_slice(&(self.kept.metrics.len() as u32).to_le_bytes());
        for totals in &self.kept.metrics {
            let Some(totals) = totals.get() else {
                body.extend_from_slice(&UNREADABLE.to_le_bytes());
                continue;
            };
            body.extend_from_slice(&(totals.entries.len() as u32).to_le_bytes());
            for entry in &totals.entries {
                body.extend_from_slice(&entry.cnode.to_le_bytes());
                body.extend_from_slice(&entry.inclusive.to_le_bytes());
                body.extend_from_slice(&entry.exclusive.to_le_bytes());
            }
        }
        let mut bytes = Vec::with_capacity(44 + body.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(&checksum(&body).to_le_bytes());
        bytes.extend_from_slice(&body);
        // A directory that cannot be written to must not keep the report from being shown.
        let _ = dwell_files::write(path, bytes);
    }

    fn load_totals(&self, path: &Path, key: &[u8; 24]) -> bool {
        let Ok(bytes) = dwell_files::read(path, u64::MAX) else { return false };
        let Some(all) = self.parse_totals(&bytes, key) else { return false };
        for (slot, totals) in self.kept.metrics.iter().zip(all) {
            if let Some(totals) = totals {
                let _ = slot.set(Arc::new(totals));
            }
        }
        true
    }

    fn parse_totals(&self, bytes: &[u8], key: &[u8; 24]) -> Option<Vec<Option<Totals>>> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let rest = rest.strip_prefix(&VERSION.to_le_bytes())?.strip_prefix(key)?;
        let (sum, mut rest) = rest.split_first_chunk::<8>()?;
        if checksum(rest) != u64::from_le_bytes(*sum) {
            return None;
        }
        let word = |rest: &mut &[u8]| {
            let (word, after) = rest.split_first_chunk::<4>()?;
            *rest = after;
            Some(u32::from_le_bytes(*word))
        };
        if word(&mut rest)? as usize != self.kept.metrics.len() {
            return None;
        }
        let mut all = Vec::with_capacity(self.kept.metrics.len());
        for _ in 0..self.kept.metrics.len() {
            let count = word(&mut rest)?;
            if count == UNREADABLE {
                all.push(None);
                continue;
            }
            let (entries, after) = rest.split_at_checked((count as usize).checked_mul(20)?)?;
            rest = after;
            let entry = |bytes: &[u8; 20]| {
                let (cnode, numbers) = bytes.split_first_chunk::<4>()?;
                let (numbers, _) = numbers.as_chunks::<8>();
                let &[inclusive, exclusive] = numbers else { return None };
                Some(Entry {
                    cnode: u32::from_le_bytes(*cnode),
                    inclusive: f64::from_le_bytes(inclusive),
                    exclusive: f64::from_le_bytes(exclusive),
                })
            };
            let entries: Option<Vec<Entry>> =
                entries.as_chunks::<20>().0.iter().map(entry).collect();
            let entries = entries?;
            let rising = entries.windows(2).all(|pair| match pair {
                [a, b] => a.cnode < b.cnode,
                _ => true,
            });
            all.push(rising.then_some(Totals { entries }));
        }
        rest.is_empty().then_some(all)
    }
}

/// Computes a checksum over words of eight bytes. It detects accidental damage, not forgery.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for &word in words {
        sum = (sum ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        sum ^= sum >> 32;
    }
    rest.iter().fold(sum, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Sums a row over all locations. Integers are added as integers, so large counts stay exact.
fn total(row: &Row) -> f64 {
    match row.cells() {
        Cells::Unsigned(values) => {
            values.iter().map(|&value| u128::from(value)).sum::<u128>() as f64
        }
        Cells::Signed(values) => values.iter().map(|&value| i128::from(value)).sum::<i128>() as f64,
        Cells::Double(values) => values.iter().sum(),
        _ => (0..row.len() as u32).map(|at| row.number(LocationId(at)).unwrap_or(0.0)).sum(),
    }
}
