//! Writing a report, row by row in any order.
//!
//! The metadata is complete when writing begins; values then come as they are ready: several metrics
//! at once, call paths in any order, from as many threads as there are. What a metric costs depends
//! on what is known of it:
//!
//! | [`Rows`] | a row goes | memory | disk |
//! |---|---|---|---|
//! | [`All`](Rows::All), [`Listed`](Rows::Listed) | straight to its place in the report | a bit a row | the report |
//! | [`Spooled`](Rows::Spooled) | to a spool file, and to its place in the end | 16 bytes a row written | the spooled rows twice |
//!
//! Encoding takes a buffer of 256 KiB for each row being written at the moment. Nothing else grows
//! with the number of values.
//!
//! The report appears under its name when it is [finished](ReportWriter::finish), in place of what is there;
//! a link is replaced, not followed. Until then it is a file `.dwell-….part` in the same directory,
//! which no other process writes to, and it is deleted if the writer is dropped. The same calls in the same order
//! give the same bytes, and the order of rows does not matter: there is no clock and no address in
//! them.
//!
//! Several processes can write one report: one of them makes the [`ReportWriter`] and tells the others the
//! [name](ReportWriter::temporary_name) of the unfinished file and the [places](MetricWriter::place) of the
//! values; the others [open](UnfinishedReport::open) the file and write values there. All must have written
//! before the report is finished.
//!
//! What is written keeps to what other readers can take: sparse indices unless a dense one is asked
//! for, since pyCubexR reads no dense ones; all rows of metrics whose missing rows it fails on
//! (`MINDOUBLE`, `MAXDOUBLE`, `TAU_ATOMIC`, `RATE`, `COMPLEX`); and at least one row of every metric
//! that is begun.

mod check;
mod metric;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use dwell_files::{Folder, NewFile};
pub use metric::{MetricWriter, Rows, ValuesPlace};

use crate::bytes::Bytes;
use crate::error::{Error, ErrorKind, Result};
use crate::id::MetricId;
use crate::meta::Meta;
use crate::read::Report;
use crate::{anchor, sums, tar};

use metric::{Placed, Spooled};

/// Options for writing a report. The default makes reports that cubelib, CubeGUI and pyCubexR can read.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// `true` if metrics with [all rows](Rows::All) get a dense index. This saves four bytes for each row, but pyCubexR
    /// and the tools built on it cannot read such a report. The default is `false`.
    pub dense_index: bool,
}

/// Writes one report. Several threads can share it.
///
/// If a call fails because the disk does, part of a row or of an extra member may be missing. The caller should then
/// drop the writer, which deletes the unfinished report.
///
/// ```
/// use cubex::{Cnode, Group, Location, MetaBuilder, Metric, Region, Report, Rows, SystemNode};
/// use cubex::ReportWriter;
///
/// let mut builder = MetaBuilder::new();
/// let visits = builder.metric(None, Metric { uniq_name: "visits", ..Metric::default() });
/// let main = builder.region(Region { name: "main", ..Region::default() });
/// let root = builder.cnode(None, Cnode { region: main, ..Cnode::default() });
/// let machine = builder.system_node(None, SystemNode::default());
/// let process = builder.group(machine, Group::default());
/// builder.location(process, Location::default());
/// builder.location(process, Location::default());
///
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("small.cubex");
/// let writer = ReportWriter::create(&path, builder.finish()?)?;
/// writer.metric(visits, Rows::All)?.write(root, &[1_u64, 2])?;
/// writer.finish()?;
///
/// let report = Report::open(&path)?;
/// let row = report.values(visits)?.row(root)?;
/// assert_eq!(row.unwrap().cells(), &cubex::Cells::Unsigned(vec![1, 2]));
/// # Ok::<(), cubex::Error>(())
/// ```
#[derive(Debug)]
pub struct ReportWriter {
    shared: Arc<Shared>,
}

/// State that a report writer shares with the writers of its metrics.
#[derive(Debug)]
struct Shared {
    meta: Arc<Meta>,
    options: WriteOptions,
    path: PathBuf,
    /// The unfinished report.
    new: NewFile,
    state: Mutex<State>,
    spool: OnceLock<File>,
    /// Held by the thread that creates the spool file, so that only one does.
    making_spool: Mutex<()>,
    /// `true` while the report is being written. A thread that writes a row holds the lock for reading.
    open: RwLock<bool>,
}

/// The current end of the report, and what it contains.
#[derive(Debug, Default)]
struct State {
    end: u64,
    pads: u32,
    begun: Vec<bool>,
    extras: Vec<String>,
    /// Metrics whose missing rows are not zeros.
    unfilled: Vec<Arc<Placed>>,
    spooled: Vec<Arc<Spooled>>,
    spool_end: u64,
}

impl ReportWriter {
    /// Begins a report with the default options. A report of the same name stays until the new one is finished and
    /// replaces it.
    ///
    /// # Errors
    /// Fails if the file cannot be created, or if other readers could not read this metadata, for example because it
    /// has no location.
    pub fn create(path: impl Into<PathBuf>, meta: impl Into<Arc<Meta>>) -> Result<Self> {
        Self::create_with(path, meta, WriteOptions::default())
    }

    /// Begins a report as [`ReportWriter::create`] does, with the given options.
    ///
    /// # Errors
    /// Fails as [`ReportWriter::create`] does.
    pub fn create_with(
        path: impl Into<PathBuf>,
        meta: impl Into<Arc<Meta>>,
        options: WriteOptions,
    ) -> Result<Self> {
        let (path, meta) = (path.into(), meta.into());
        check::meta(&meta).map_err(|error| error.at(&path))?;
        let new = dwell_files::create(&path).map_err(|error| Error::io(error).at(&path))?;
        let begun = vec![false; meta.metrics().len()];
        Ok(Self {
            shared: Arc::new(Shared {
                meta,
                options,
                path,
                new,
                state: Mutex::new(State { begun, ..State::default() }),
                spool: OnceLock::new(),
                making_spool: Mutex::new(()),
                open: RwLock::new(true),
            }),
        })
    }

    /// Returns the metadata of the report, as it was passed at the beginning.
    pub fn meta(&self) -> &Arc<Meta> {
        &self.shared.meta
    }

    /// Begins the values of a metric. Members are in the report in the order of these calls; spooled metrics follow
    /// all others, in the order of their ids.
    ///
    /// A metric that is never begun has no values in the report: cubelib takes them as zeros, pyCubexR reports them as
    /// missing.
    ///
    /// # Errors
    /// Fails if the metric was begun before, if it is derived, if its type is unknown or cannot be inclusive although
    /// the metric is, if a listed call path does not exist, or if the file cannot be written.
    pub fn metric(&self, metric: MetricId, rows: Rows<'_>) -> Result<MetricWriter> {
        MetricWriter::begin(&self.shared, metric, rows).map_err(|error| error.at(&self.shared.path))
    }

    /// Adds an extra member to the report: a file of the caller, of exactly `size` bytes. `contents` must give at least
    /// that many bytes; more are not read.
    ///
    /// # Errors
    /// Fails if the name is taken, longer than 90 bytes or one of the report's own, or if reading or writing fails.
    pub fn extra(&self, name: &str, size: u64, mut contents: impl Read) -> Result<()> {
        let shared = &*self.shared;
        let fail = |error: Error| error.at(&shared.path).in_member(name);
        let mut at = self.reserve_extra(name, size)?;
        let mut buffer = vec![0; 64 * 1024];
        let mut left = size;
        while left > 0 {
            let part = buffer.get_mut(..left.min(64 * 1024) as usize).unwrap_or_default();
            contents.read_exact(part).map_err(|error| fail(ErrorKind::Io(error).into()))?;
            shared.put(shared.file(), at, part).map_err(fail)?;
            at += part.len() as u64;
            left -= part.len() as u64;
        }
        Ok(())
    }

    /// Reserves space for an extra member of `size` bytes, and returns the offset of its contents from the beginning of
    /// the file. What is not [written](Self::write_at) there are zeros.
    ///
    /// # Errors
    /// Fails if the name is taken, longer than 90 bytes or one of the report's own, or if writing fails.
    pub fn reserve_extra(&self, name: &str, size: u64) -> Result<u64> {
        let shared = &*self.shared;
        let fail = |error: Error| error.at(&shared.path).in_member(name);
        if !tar::is_free_name(name) {
            let what = "an extra member needs a short name that is not one of the report's own";
            return Err(fail(Error::invalid(what)));
        }
        let mut state = shared.state();
        if state.extras.iter().any(|taken| taken == name) {
            return Err(fail(Error::invalid("there is an extra member of this name already")));
        }
        let at = shared.allot(&mut state, name, size).map_err(fail)?;
        state.extras.push(name.to_owned());
        Ok(at)
    }

    /// Writes bytes at an offset of the file. The offset must be inside of the [place](MetricWriter::place) of a
    /// metric's values or of a [reserved](Self::reserve_extra) member: what else is there would be overwritten.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.shared.put(self.shared.file(), offset, bytes)
    }

    /// Returns the name of the unfinished file in the directory of the report, with which other processes can
    /// [open](UnfinishedReport::open) it.
    pub fn temporary_name(&self) -> &OsStr {
        self.shared.new.temporary_name()
    }

    /// Adds all extra members of another report, in the order of that report.
    ///
    /// # Errors
    /// Fails as [`ReportWriter::extra`] does, for example if an extra member of the same name was added before.
    pub fn copy_extras(&self, report: &Report) -> Result<()> {
        report.extras().try_for_each(|member| {
            self.extra(member.name(), member.size(), report.open_member(member))
        })
    }

    /// Completes the report and gives it its name. Rows that were announced and not written become zeros. The call
    /// waits for rows that other threads are writing; their later writes fail.
    ///
    /// # Errors
    /// Fails if the file cannot be written. There is no new report then, and an old one stays.
    pub fn finish(self) -> Result<()> {
        let shared = &*self.shared;
        // Rows that are being written end first, and no thread can begin another.
        let mut open = shared.open.write().unwrap_or_else(PoisonError::into_inner);
        *open = false;
        self.complete().map_err(|error| error.at(&shared.path))
    }

    fn complete(&self) -> Result<()> {
        let shared = &*self.shared;
        let unfilled = std::mem::take(&mut shared.state().unfilled);
        unfilled.iter().try_for_each(|metric| metric.fill(shared))?;
        let mut spooled = std::mem::take(&mut shared.state().spooled);
        spooled.sort_by_key(|metric| metric.metric);
        spooled.iter().try_for_each(|metric| metric.assemble(shared))?;
        let mut state = shared.state();
        let header = state.end;
        // The size is known only when the document is written, so its header comes after it.
        let mut out = Counting::new(shared.file(), header + tar::BLOCK).map_err(Error::io)?;
        anchor::write(&shared.meta, &mut out).map_err(Error::io)?;
        if out.count.is_multiple_of(tar::BLOCK) {
            out.write_all(b"\n").map_err(Error::io)?;
        }
        let size = out.finish().map_err(Error::io)?;
        if tar::header_length(size) != tar::BLOCK {
            return Err(ErrorKind::Limit("a document of 8 GiB").into());
        }
        shared.put(shared.file(), header, &tar::header(tar::ANCHOR, size))?;
        state.end = header + tar::BLOCK + size;
        state.end += tar::trailer(size, &mut state.pads).len() as u64;
        self.add_sums(&mut state)?;
        // Bytes that were never written read as zeros: padding, the end mark, rows without values.
        shared.file().set_len(state.end + 2 * tar::BLOCK).map_err(Error::io)?;
        shared.new.place().map_err(Error::io)
    }

    /// Adds the checksums of everything that was written. Rows are written in any order by several threads and
    /// processes, so the bytes are read back, once and in large pieces.
    fn add_sums(&self, state: &mut State) -> Result<()> {
        let shared = &*self.shared;
        let covered = state.end;
        // The last bytes may be zeros that were never written.
        shared.file().set_len(covered).map_err(Error::io)?;
        // NFS shows what other nodes have written to those who open the file after they have closed it.
        let file = shared.new.folder().read(shared.new.temporary_name()).map_err(Error::io)?;
        let file = Bytes::File(file, covered);
        let members = tar::members(&file)?;
        let at = shared.allot(state, tar::SUMS, sums::size(covered))?;
        let Bytes::File(file, _) = file else { return Ok(()) };
        sums::write(&file, covered, &members, shared.file(), at).map_err(Error::io)
    }
}

impl Drop for ReportWriter {
    fn drop(&mut self) {
        *self.shared.open.write().unwrap_or_else(PoisonError::into_inner) = false;
        // Writers of metrics may keep the shared state for longer.
        self.shared.new.discard();
    }
}

impl Shared {
    /// Returns the file of the unfinished report.
    fn file(&self) -> &File {
        self.new.file()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves space for a member of `size` bytes, writes its header and padding, and returns the offset of its
    /// contents.
    fn allot(&self, state: &mut State, name: &str, size: u64) -> Result<u64> {
        let header = tar::header(name, size);
        let contents = state.end + header.len() as u64;
        self.put(self.file(), state.end, &header)?;
        let end = contents.checked_add(size).ok_or(ErrorKind::Limit("a member of 2^64 bytes"))?;
        let trailer = tar::trailer(size, &mut state.pads);
        if trailer.len() as u64 >= tar::BLOCK {
            self.put(self.file(), end, &trailer)?;
        }
        state.end = end + trailer.len() as u64;
        Ok(contents)
    }

    /// Writes bytes at an offset of a file.
    fn put(&self, file: &File, at: u64, bytes: &[u8]) -> Result<()> {
        file.write_all_at(bytes, at).map_err(|error| Error::io(error).at(&self.path))
    }

    /// Returns the spool file, which is created when it is first needed. It has no name, so it disappears when it is
    /// closed.
    fn spool(&self) -> Result<&File> {
        if let Some(file) = self.spool.get() {
            return Ok(file);
        }
        let _alone = self.making_spool.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = self.spool.get() {
            return Ok(file);
        }
        let spool = self.new.folder().unnamed();
        let file = spool.map_err(|error| Error::io(error).at(&self.path))?;
        Ok(self.spool.get_or_init(|| file))
    }
}

/// The file of a report that a [`ReportWriter`] of another process has begun and will finish.
#[derive(Debug)]
pub struct UnfinishedReport {
    file: File,
    path: PathBuf,
}

impl UnfinishedReport {
    /// Opens the unfinished file of the report that will have the name `path`. The other process knows its
    /// [name](ReportWriter::temporary_name).
    ///
    /// # Errors
    /// Fails if there is no such file in the directory of the report, or if it cannot be written to.
    pub fn open(path: impl Into<PathBuf>, temporary_name: &OsStr) -> Result<Self> {
        let path = path.into();
        let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
        let folder = Folder::open(directory.unwrap_or(Path::new(".")));
        let file = folder.and_then(|folder| folder.reopen(temporary_name));
        match file {
            Ok(file) => Ok(Self { file, path }),
            Err(error) => Err(Error::io(error).at(&path)),
        }
    }

    /// Writes bytes at an offset of the file, as [`ReportWriter::write_at`] does.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.file.write_all_at(bytes, offset).map_err(|error| Error::io(error).at(&self.path))
    }
}

/// A buffered stream into a file that counts the bytes written.
struct Counting<'a> {
    out: BufWriter<&'a File>,
    count: u64,
}

impl<'a> Counting<'a> {
    fn new(mut file: &'a File, at: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(at))?;
        Ok(Self { out: BufWriter::with_capacity(256 * 1024, file), count: 0 })
    }

    fn finish(mut self) -> io::Result<u64> {
        self.out.flush()?;
        Ok(self.count)
    }
}

impl Write for Counting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.count += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
