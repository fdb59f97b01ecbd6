//! A report, opened.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::error::{Error, ErrorKind, Result};
use crate::id::MetricId;
use crate::meta::{Meta, finish};
use crate::source::{Source, Window};
use crate::tar::{self, Member};
use crate::{anchor, meta::tables::Tables};

use super::cache;
use super::values::{Stored, Values};

/// A `.cubex` report.
///
/// Opening lists the members and reads `anchor.xml`, or a cache of it; values are read when asked
/// for. A report can be shared between threads.
#[derive(Debug)]
pub struct Report {
    source: Source,
    path: Option<PathBuf>,
    /// By name.
    members: Vec<Member>,
    /// Where each member stands in the file.
    order: Vec<usize>,
    meta: Arc<Meta>,
    stored: Vec<OnceLock<Option<Arc<Stored>>>>,
}

/// Where a cache of `anchor.xml` is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cache {
    /// Nowhere: the document is read each time.
    #[default]
    Off,
    /// In a file with `.dwell-cache` after the name of the report, where the document is large.
    Beside,
    /// In this file, however small the document.
    At(PathBuf),
}

/// How to open a report.
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

/// Documents from this size on are cached: smaller ones are read in a few milliseconds.
const CACHE_FROM: u64 = 1 << 20;

impl OpenOptions {
    /// Without a cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a cache of the document, so that opening again is fast.
    ///
    /// The document of 294,912 locations has 63 MB of XML, which the cache holds as flat tables; the
    /// example `scale` measures what that saves. A cache belongs to a report of one size, time and
    /// document and is made anew for another. It can be deleted at any time, and if it cannot be
    /// written, nothing else changes.
    #[must_use]
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = cache;
        self
    }

    /// Opens a report.
    ///
    /// # Errors
    /// If the file cannot be read, is no report, or its document is damaged.
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
        let source = Source::File(file, metadata.len());
        let place = match &self.cache {
            Cache::Off => None,
            Cache::Beside => {
                let mut name = path.as_os_str().to_owned();
                name.push(".dwell-cache");
                Some((PathBuf::from(name), CACHE_FROM))
            }
            Cache::At(path) => Some((path.clone(), 0)),
        };
        Report::from_source(source, Some(path.to_owned()), |source, anchor| {
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
    /// Opens a report without a cache; [`OpenOptions`] can do more.
    ///
    /// # Errors
    /// If the file cannot be read, is no report, or its document is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        OpenOptions::new().open(path)
    }

    /// Opens a report in memory.
    ///
    /// # Errors
    /// If it is no report, or its document is damaged.
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Result<Self> {
        Self::from_source(Source::Memory(bytes.into()), None, |source, anchor| {
            finish(anchor::read(source, anchor.offset, anchor.size)?)
        })
    }

    fn from_source(
        source: Source,
        path: Option<PathBuf>,
        read: impl FnOnce(&Source, &Member) -> Result<Meta>,
    ) -> Result<Self> {
        let mut members = tar::members(&source)?;
        members.sort_by(|a, b| a.name.cmp(&b.name));
        let mut order: Vec<_> = (0..members.len()).collect();
        order.sort_by_key(|&at| members.get(at).map(|member| member.offset));
        let anchor = find(&members, ANCHOR)
            .ok_or_else(|| Error::from(ErrorKind::NoMember).in_member(ANCHOR))?;
        let meta = read(&source, anchor).map_err(|error| error.in_member(ANCHOR))?;
        let stored = meta.metrics().map(|_| OnceLock::new()).collect();
        Ok(Self { source, path, members, order, meta: Arc::new(meta), stored })
    }

    /// Metrics, call tree and system tree.
    pub fn meta(&self) -> &Arc<Meta> {
        &self.meta
    }

    /// The file that was opened.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The values of a metric. The first call for a metric reads its index, which is kept: four
    /// bytes for each row that is stored, and 16 more if it is compressed.
    ///
    /// # Errors
    /// If the index is damaged, the metric is derived, or its type is unknown.
    pub fn values(&self, metric: MetricId) -> Result<Values<'_>> {
        let slot = self.stored.get(metric.index());
        if let Some(stored) = slot.and_then(OnceLock::get) {
            return Ok(Values { report: self, stored: stored.clone() });
        }
        let stored = Stored::read(self, metric).map_err(|error| self.locate(error))?;
        if let Some(slot) = slot {
            // Another thread may have been faster; it read the same.
            let _ = slot.set(stored.clone());
        }
        Ok(Values { report: self, stored })
    }

    /// All members of the file, in its order.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.order.iter().filter_map(|&at| self.members.get(at))
    }

    /// The member of a name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        find(&self.members, name)
    }

    /// Members that belong to no metric: files that a tool has put into the report.
    pub fn extras(&self) -> impl Iterator<Item = &Member> {
        self.members().filter(|member| tar::is_free_name(&member.name))
    }

    /// The contents of a member as a stream.
    pub fn open_member(&self, member: &Member) -> impl Read + '_ {
        Window::new(&self.source, member.offset, member.size)
    }

    /// The contents of a member.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_member(&self, member: &Member) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read: io::Result<usize> = self.open_member(member).read_to_end(&mut bytes);
        read.map_err(|error| self.locate(Error::io(error).in_member(&member.name)))?;
        Ok(bytes)
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    /// Adds the file to an error.
    pub(super) fn locate(&self, error: Error) -> Error {
        match &self.path {
            Some(path) => error.at(path),
            None => error,
        }
    }
}

const ANCHOR: &str = "anchor.xml";

fn find<'a>(members: &'a [Member], name: &str) -> Option<&'a Member> {
    let at = members.binary_search_by(|member| member.name.as_str().cmp(name)).ok()?;
    members.get(at)
}
