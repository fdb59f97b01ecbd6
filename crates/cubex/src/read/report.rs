//! An open report.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::bytes::Bytes;
use crate::error::{Error, ErrorKind, Result};
use crate::id::MetricId;
use crate::meta::{Meta, finish};
use crate::source::{Source, Window};
use crate::sums::Sums;
use crate::tar::{self, ANCHOR, Member};
use crate::{anchor, meta::tables::Tables};

use super::cache;
use super::values::{Stored, Values};

/// A `.cubex` report that is open for reading.
///
/// Opening lists the members and reads `anchor.xml`, or a cache of it; values are read when they are asked for. So a
/// report of any size opens with little memory, and damage in the values of one metric does not affect the others.
/// Several threads can share a report.
#[derive(Debug)]
pub struct Report {
    source: Source,
    path: Option<PathBuf>,
    /// The members, sorted by name.
    members: Vec<Member>,
    /// Indices of the members, in the order of the file.
    order: Vec<usize>,
    meta: Arc<Meta>,
    stored: Vec<OnceLock<Option<Arc<Stored>>>>,
}

/// Selects the file that caches `anchor.xml`. The cache holds the document as binary tables, so that a large report
/// opens quickly the second time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cache {
    /// There is no cache: the document is read each time. This is the default.
    #[default]
    Off,
    /// The cache is a file next to the report, whose name is that of the report followed by `.dwell-cache`. Documents
    /// of less than 1 MiB are not cached.
    Beside,
    /// The cache is this file, even for small documents. The caller must use a file of its own for each report.
    At(PathBuf),
}

/// Options for opening a report.
///
/// ```no_run
/// use cubex::{Cache, OpenOptions};
///
/// let report = OpenOptions::new().cache(Cache::Beside).open("trace.cubex")?;
/// println!("{} locations", report.meta().locations().len());
/// # Ok::<(), cubex::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    cache: Cache,
}

/// Smallest size in bytes of a document that [`Cache::Beside`] caches. Smaller ones are read in a few milliseconds.
const CACHE_FROM: u64 = 1 << 20;

impl OpenOptions {
    /// Makes the default options, which open a report without a cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Selects the file that caches the document (`anchor.xml`), so that opening the report again is fast.
    ///
    /// The document of a report with 294,912 locations has 63 MB of XML, which the cache holds as flat tables; the
    /// example `scale` measures the time that this saves. The cache is used only while the size, the modification time
    /// and the document of the report are unchanged; otherwise it is written again. It can be deleted at any time, and
    /// a cache that cannot be written is not an error.
    #[must_use]
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = cache;
        self
    }

    /// Opens a report with these options.
    ///
    /// # Errors
    /// Fails if the file cannot be read, if it is not a Cube report, or if its document is damaged.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Report> {
        let path = path.as_ref();
        self.open_file(path).map_err(|error| error.at(path))
    }

    fn open_file(&self, path: &Path) -> Result<Report> {
        if path.is_dir() {
            return Err(Error::invalid("this is a directory; give a `.cubex` file"));
        }
        let file = dwell_files::open(path).map_err(Error::io)?;
        let metadata = file.metadata().map_err(Error::io)?;
        let bytes = Bytes::File(file, metadata.len());
        let place = match &self.cache {
            Cache::Off => None,
            Cache::Beside => {
                let mut name = path.as_os_str().to_owned();
                name.push(".dwell-cache");
                Some((PathBuf::from(name), CACHE_FROM))
            }
            Cache::At(path) => Some((path.clone(), 0)),
        };
        Report::from_source(bytes, Some(path.to_owned()), |source, anchor| {
            let Some((place, _)) = place.filter(|&(_, from)| anchor.size >= from) else {
                return finish(anchor::read(source, anchor.offset, anchor.size)?);
            };
            let Some(key) = cache::key(source, &metadata, anchor) else {
                return finish(anchor::read(source, anchor.offset, anchor.size)?);
            };
            if let Some(meta) = cache::load(&place, &key) {
                return Ok(meta);
            }
            let tables: Tables = anchor::read(source, anchor.offset, anchor.size)?;
            cache::save(&place, &key, &tables);
            finish(tables)
        })
    }
}

impl Report {
    /// Opens a report without a cache. [`OpenOptions`] opens one with a cache.
    ///
    /// # Errors
    /// Fails if the file cannot be read, if it is not a Cube report, or if its document is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        OpenOptions::new().open(path)
    }

    /// Opens a report whose bytes are in memory, for example one that was received over a network.
    ///
    /// # Errors
    /// Fails if the bytes are not a Cube report, or if its document is damaged.
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Result<Self> {
        Self::from_source(Bytes::Memory(bytes.into()), None, |source, anchor| {
            finish(anchor::read(source, anchor.offset, anchor.size)?)
        })
    }

    fn from_source(
        bytes: Bytes,
        path: Option<PathBuf>,
        read: impl FnOnce(&Source, &Member) -> Result<Meta>,
    ) -> Result<Self> {
        let mut members = tar::members(&bytes)?;
        let sums = Sums::read(&bytes, &members)?;
        let source = Source::new(bytes, sums);
        members.sort_by(|a, b| a.name.cmp(&b.name));
        let mut order: Vec<_> = (0..members.len()).collect();
        order.sort_by_key(|&at| members.get(at).map(|member| member.offset));
        let anchor = find(&members, ANCHOR)
            .ok_or_else(|| Error::from(ErrorKind::NoMember).in_member(ANCHOR))?;
        let meta = read(&source, anchor).map_err(|error| error.in_member(ANCHOR))?;
        let stored = meta.metrics().map(|_| OnceLock::new()).collect();
        Ok(Self { source, path, members, order, meta: Arc::new(meta), stored })
    }

    /// Returns the metadata of the report: metrics, call tree and system tree. It can be kept for longer than the
    /// report, and passed to a [`ReportWriter`](crate::ReportWriter).
    pub fn meta(&self) -> &Arc<Meta> {
        &self.meta
    }

    /// Returns the path with which the report was opened, or `None` for a report in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns access to the values of a metric. The first call for a metric reads its index, which is kept in memory:
    /// four bytes for each stored row, and 16 more if the values are compressed. No values are read yet.
    ///
    /// # Errors
    /// Fails if the index is damaged, if the metric is derived, if its type is unknown, or if there is no such metric.
    pub fn values(&self, metric: MetricId) -> Result<Values<'_>> {
        let slot = self.stored.get(metric.index());
        if let Some(stored) = slot.and_then(OnceLock::get) {
            return Ok(Values { report: self, stored: stored.clone() });
        }
        let stored = Stored::read(self, metric).map_err(|error| self.locate(error))?;
        if let Some(slot) = slot {
            // Another thread may have set it meanwhile, to an equal value.
            let _ = slot.set(stored.clone());
        }
        Ok(Values { report: self, stored })
    }

    /// Iterates over all members of the archive in the order of the file, including `anchor.xml`, indices and values.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.order.iter().filter_map(|&at| self.members.get(at))
    }

    /// Returns the member with this name, or `None` if the report has no such member.
    pub fn member(&self, name: &str) -> Option<&Member> {
        find(&self.members, name)
    }

    /// Iterates over the extra members: files that a tool has put into the report and that belong to no metric.
    ///
    /// ```no_run
    /// let report = cubex::Report::open("profile.cubex")?;
    /// for member in report.extras() {
    ///     println!("{} of {} bytes", member.name(), member.size());
    /// }
    /// # Ok::<(), cubex::Error>(())
    /// ```
    pub fn extras(&self) -> impl Iterator<Item = &Member> {
        self.members().filter(|member| tar::is_free_name(&member.name))
    }

    /// Returns the contents of a member as a stream. The member must come from this report. A file that was cut since
    /// it was opened ends early, without an error.
    pub fn open_member(&self, member: &Member) -> impl Read + '_ {
        Window::new(&self.source, member.offset, member.size)
    }

    /// Reads the contents of a member into memory. The member must come from this report; its size is that of the file
    /// and has no other limit.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn read_member(&self, member: &Member) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read: io::Result<usize> = self.open_member(member).read_to_end(&mut bytes);
        read.map_err(|error| self.locate(Error::io(error).in_member(&member.name)))?;
        Ok(bytes)
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    /// Adds the path of the report to an error.
    pub(super) fn locate(&self, error: Error) -> Error {
        match &self.path {
            Some(path) => error.at(path),
            None => error,
        }
    }
}

fn find<'a>(members: &'a [Member], name: &str) -> Option<&'a Member> {
    let at = members.binary_search_by(|member| member.name.as_str().cmp(name)).ok()?;
    members.get(at)
}
