//! Completes an archive whose writer died.
//!
//! A killed process leaves event files that are complete up to the commit mark (see [`encode`](crate::encode)), perhaps
//! with reserved space behind it, and no anchor. [`close`] finds the last complete record of every file, ends the file
//! there, and writes what is missing: end marks, empty definition files, global definitions and the anchor. No complete
//! record is lost, and an event file that was closed once can be closed again without change.
//!
//! An event file that is not what a killed process leaves is damaged. It is kept under another name,
//! `LOCATION.evt.damaged`, and the events that can still be read are written to a new file.
//!
//! - [`scan_events`] examines an event file and reports its contents and its damage.
//! - [`close_sound`] closes a sound file in place, [`mend_events`] makes a sound file from a damaged one.
//! - [`leave_open`] leaves the regions that were open.
//! - [`seal()`] adds the checksum of a file.
//! - [`end_of_events`] finds the end of a chunk in memory that was used before, and [`visit_events`] reads its events.

mod mend;
mod parse;
mod scan;

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::chunk::{self, HEADER, Header, control};
use crate::def::{self, Definition};
use crate::encode::{EncodeError, Encoder};
use crate::enums::{LocationGroupType, LocationType};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Leave;
use crate::files;
use crate::id::{LocationGroupRef, LocationRef, RegionRef, SystemTreeNodeRef, Time};
use crate::record::Scope;
use crate::seal;
use crate::store::{self, Directory, FileKind, Store};
use crate::value::Attribute;
use crate::wire::Input;
use crate::write::{ArchiveWriter, DefWriter, Options};

pub use mend::mend_events;
pub use scan::{Damage, Scan, What, end_of_events, scan_events, visit_events};

/// Attributes that mark events which the program did not cause and which were added to repair its event file. Readers
/// can then tell them from recorded events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marks {
    /// Attribute of all events that are added at a gap.
    pub gap: Attribute,
    /// Attribute of the `Leave` events that are added at the end, for regions that were still open.
    pub end: Attribute,
}

/// The result of closing the event file of one location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedLocation {
    /// The location to which the event file belongs.
    pub location: LocationRef,
    /// Number of events in the closed file, including events that were added to repair it.
    pub events: u64,
    /// Times of the first and the last recorded event, without clock correction, or `None` if there are no events.
    pub times: Option<(Time, Time)>,
    /// Size of the closed file, in bytes.
    pub bytes: u64,
    /// Number of bytes that were cut off behind the last event: reserved space and at most one incomplete event. It is
    /// 0 for a file made by [`mend_events`], because the damaged file is kept as a whole.
    pub cut_bytes: u64,
    /// Number of regions that were open at the end and that added `Leave` events leave, by [`mend_events`] or
    /// [`leave_open`].
    pub left: u64,
    /// Regions that were entered and not left, the outermost first, by the ids that the events of the location use. The
    /// list is empty for a file made by [`mend_events`], which leaves them itself.
    pub open: Vec<RegionRef>,
}

/// The result of closing an archive.
#[derive(Debug, Default)]
pub struct Closed {
    /// The locations with an event file, in the order of their ids.
    pub locations: Vec<ClosedLocation>,
    /// Damage that was found in event files, with the location of the file. It is empty if every file is what a killed
    /// process leaves.
    pub damage: Vec<(LocationRef, Damage)>,
    /// `true` if the archive had global definitions. If it had none, the caller's function wrote them.
    pub had_definitions: bool,
}

/// Closes the archive called `name` in a directory, so that every reader can open it.
///
/// `options` must state the chunk sizes with which the archive was written; its texts go to the anchor. `define` is
/// called to write global definitions if the archive has none; [`minimal_definitions`] suffices for any reader.
///
/// # Errors
/// Fails with [`ErrorKind::Exists`] if the archive has an anchor and so is complete, and otherwise if its files cannot
/// be read or written, or if `define` fails. Event files that were closed before the error stay closed. Global
/// definitions that could not be completed are removed, so that another call writes them again.
pub fn close(
    directory: impl AsRef<Path>,
    name: &str,
    options: &Options,
    define: impl FnOnce(&Closed, &mut DefWriter) -> Result<()>,
) -> Result<Closed> {
    let store = Directory::new(directory.as_ref(), name);
    let anchor = store.describe(FileKind::Anchor);
    if anchor.exists() {
        return Err(Error::new(ErrorKind::Exists).at(anchor));
    }
    let mut closed = Closed::default();
    let mut writer = ArchiveWriter::join(directory.as_ref(), name, options.clone())?;
    let mut sealed = true;
    for location in event_files(&store.path().join(name))? {
        let path = store.describe(FileKind::Events(location));
        let (mut events, damage) = close_events(&path, location, options.events_chunk)?;
        sealed &= seal(&path, FileKind::Events(location), options.events_chunk)?;
        events.bytes = fs::metadata(&path).map_or(events.bytes, |it| it.len());
        closed.locations.push(events);
        closed.damage.extend(damage.into_iter().map(|damage| (location, damage)));
        let path = store.describe(FileKind::LocalDefs(location));
        if path.exists() {
            close_definitions(&path, Scope::Local, options.defs_chunk)?;
            sealed &= seal(&path, FileKind::LocalDefs(location), options.defs_chunk)?;
        } else {
            writer.local_definitions(location)?.finish()?;
        }
    }
    let path = store.describe(FileKind::GlobalDefs);
    let found = if path.exists() {
        close_definitions(&path, Scope::Global, options.defs_chunk)?
    } else {
        Tally::default()
    };
    // A process that was killed before it wrote a definition leaves a file without any.
    closed.had_definitions = found.records > 0;
    if closed.had_definitions {
        sealed &= seal(&path, FileKind::GlobalDefs, options.defs_chunk)?;
        writer.set_counts(found.locations, found.records);
    } else {
        write_definitions(&writer, &path, |definitions| define(&closed, definitions))?;
    }
    writer.set_checksums(options.checksums && sealed);
    writer.finish()?;
    Ok(closed)
}

/// Writes the global definitions under another name and renames the file when it is complete, so that no attempt that
/// fails or is killed leaves a file that the next one takes for the definitions of the archive.
fn write_definitions(
    writer: &ArchiveWriter,
    path: &Path,
    define: impl FnOnce(&mut DefWriter) -> Result<()>,
) -> Result<()> {
    let unfinished = files::unfinished(path);
    let written = writer.global_definitions_in(unfinished.clone()).and_then(|mut definitions| {
        define(&mut definitions)?;
        definitions.finish()?;
        fs::rename(&unfinished, path).map_err(|error| Error::io(error).at(path))
    });
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// Writes the fewest global definitions with which an archive can be read: a clock of nanoseconds, one system tree
/// node, and a process for each location. Regions and other objects stay undefined, so ids in events refer to nothing.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn minimal_definitions(closed: &Closed, definitions: &mut DefWriter) -> Result<()> {
    let times = closed.locations.iter().filter_map(|location| location.times);
    let begin = times.clone().map(|(first, _)| first.0).min().unwrap_or(0);
    let end = times.map(|(_, last)| last.0).max().unwrap_or(0);
    definitions.write(def::ClockProperties {
        timer_resolution: 1_000_000_000,
        global_offset: begin,
        trace_length: end - begin,
        realtime_timestamp: u64::MAX,
    })?;
    let node = SystemTreeNodeRef(0);
    let name = definitions.string("recovered")?;
    let class_name = definitions.string("node")?;
    let parent = SystemTreeNodeRef::UNDEFINED;
    definitions.write(def::SystemTreeNode { id: node, name, class_name, parent })?;
    for (index, location) in (0..).zip(&closed.locations) {
        let name = definitions.string(&format!("Location {}", location.location))?;
        let location_group = LocationGroupRef(index);
        definitions.write(def::LocationGroup {
            id: location_group,
            name,
            location_group_type: LocationGroupType::Process,
            system_tree_parent: node,
            creating_location_group: LocationGroupRef::UNDEFINED,
        })?;
        definitions.write(def::Location {
            id: location.location,
            name,
            location_type: LocationType::CpuThread,
            number_of_events: location.events,
            location_group,
        })?;
    }
    Ok(())
}

/// Returns the locations that have an event file in this directory, in the order of their ids.
fn event_files(directory: &Path) -> Result<Vec<LocationRef>> {
    let wrap = |error| Error::io(error).at(directory);
    let mut locations = Vec::new();
    for entry in fs::read_dir(directory).map_err(wrap)? {
        let path = entry.map_err(wrap)?.path();
        if path.extension().is_some_and(|extension| extension == "evt") {
            let id = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
            locations.extend(id.map(LocationRef));
        }
    }
    locations.sort_unstable();
    Ok(locations)
}

/// Closes the event file of a location, whatever its state. A sound file is closed in place. A damaged file is kept as
/// `NAME.damaged`, and a new file receives the events that can still be read; the second part of the result lists the
/// damage.
///
/// # Errors
/// Fails if the path names no regular file, or if a file cannot be read or written.
pub fn close_events(
    path: &Path,
    location: LocationRef,
    chunk_size: u64,
) -> Result<(ClosedLocation, Vec<Damage>)> {
    let scan = scan_events(path, chunk_size, |_, _| true)?;
    if scan.is_sound() {
        return close_sound(path, location, &scan).map(|closed| (closed, Vec::new()));
    }
    let kept = files::damaged(path);
    fs::rename(path, &kept).map_err(|error| Error::io(error).at(path))?;
    let closed = mend_events(&kept, path, location, &scan, None)?;
    Ok((closed, scan.damage().to_vec()))
}

/// Closes an event file in place that [`scan_events`] found sound: cuts it behind its last event and writes the end
/// mark. The caller must not use this for a damaged file, which would lose the events behind the damage.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn close_sound(path: &Path, location: LocationRef, scan: &Scan) -> Result<ClosedLocation> {
    let wrap = |error| Error::io(error).at(path);
    let (chunk, at, header) = scan
        .end
        .unwrap_or_else(|| (0, HEADER, Header { order: Default::default(), first: 1, last: 0 }));
    let base = chunk * scan.chunk_size;
    let end = base + at as u64;
    let file = files::open(path, true).map_err(wrap)?;
    let sealed = Header { last: scan.events(), ..header };
    let marks = [control::END_OF_FILE, control::END_OF_BUFFER];
    // In this order, so that the file is sound after each step.
    file.write_all_at(&sealed.to_bytes(), base)
        .and_then(|()| file.write_all_at(&marks, end))
        .and_then(|()| file.set_len(end + 2))
        .map_err(wrap)?;
    let open = scan.segments.last().map(|segment| segment.open.clone()).unwrap_or_default();
    Ok(ClosedLocation {
        location,
        events: scan.events(),
        times: scan.times(),
        bytes: end + 2,
        cut_bytes: scan.size.saturating_sub(end + 2),
        left: 0,
        open,
    })
}

/// Appends a `Leave` for each region that is still open in a closed event file, at the time of its last event. Each
/// `Leave` gets the attribute `mark`, so that a reader can tell it from what the program did. Nothing happens if no
/// region is open.
///
/// The last chunk of the file is extended to its full size, and another chunk with the new events follows it. `closed`
/// is updated to the new state.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn leave_open(
    path: &Path,
    chunk_size: u64,
    closed: &mut ClosedLocation,
    mark: Attribute,
) -> Result<()> {
    let (Some((_, last)), false) = (closed.times, closed.open.is_empty()) else { return Ok(()) };
    let fail = |error: io::Error| Error::io(error).at(path);
    let full = |error: EncodeError| fail(io::Error::other(error));
    // Behind the chunk that has the two end marks, which are no longer the end.
    let end = closed.bytes.saturating_sub(2);
    let next = end.div_ceil(chunk_size) * chunk_size;
    let size = usize::try_from(chunk_size).unwrap_or_default();
    let mut memory = Vec::new();
    // The process that records calls this, too, and must not be aborted.
    memory.try_reserve_exact(size).map_err(|error| fail(error.into()))?;
    memory.resize(size, 0);
    let mut encoder = Encoder::resume(memory, closed.events, last).map_err(full)?;
    let before = closed.events;
    while let Some(region) = closed.open.pop() {
        encoder.write_tagged(last, mark, Leave { region }).map_err(full)?;
    }
    let finished = encoder.finish();
    let file = files::open(path, true).map_err(fail)?;
    let bytes = finished.memory.get(..finished.used).unwrap_or_default();
    file.write_all_at(bytes, next).map_err(fail)?;
    complete(&file, end, next, chunk_size).map_err(fail)?;
    (closed.events, closed.bytes) = (finished.events, next + finished.used as u64);
    closed.left += closed.events - before;
    Ok(())
}

/// Makes a full chunk of one that ended a file, at the end marks at `end`; the next chunk begins at `next`.
fn complete(file: &File, end: u64, next: u64, chunk_size: u64) -> io::Result<()> {
    let room = usize::try_from(next.saturating_sub(end)).unwrap_or_default();
    if room < 2 + seal::FULL {
        return file.write_all_at(&[control::END_OF_CHUNK; 2], end); // Of an earlier version.
    }
    let mut chunk = Vec::new();
    let size = usize::try_from(chunk_size).unwrap_or_default();
    chunk.try_reserve_exact(size)?;
    chunk.resize(size, control::END_OF_CHUNK);
    let used = chunk.len().saturating_sub(room);
    let base = next.saturating_sub(chunk_size);
    store::read_full(file, base, chunk.get_mut(..used).unwrap_or_default())?;
    seal::complete(&mut chunk);
    let trailer = chunk.last_chunk::<{ seal::FULL }>().copied().unwrap_or_default();
    // In this order, so that the file is sound after each step.
    file.write_all_at(&[control::END_OF_CHUNK; 2], end)?;
    file.write_all_at(&trailer, next - seal::FULL as u64)
}

/// Adds the [checksum](crate::seal) to the last chunk of a file that ends with its end marks, and says in it which file
/// of an archive this is. A checksum that the chunk has already is replaced. The chunks before it must have theirs.
/// Returns `false` if they do not, or if there is no room, as in files that earlier versions recorded: then the archive
/// must not state that it has checksums.
///
/// # Errors
/// Fails if the file cannot be read or written.
pub fn seal(path: &Path, kind: FileKind, chunk_size: u64) -> Result<bool> {
    let wrap = |error| Error::io(error).at(path);
    let file = files::open(path, true).map_err(wrap)?;
    seal_file(&file, kind, chunk_size.max(1)).map_err(wrap)
}

fn seal_file(file: &File, kind: FileKind, chunk_size: u64) -> io::Result<bool> {
    let size = file.metadata()?.len();
    let last = size.div_ceil(chunk_size).saturating_sub(1);
    for chunk in 1..=last {
        let mut trailer = [0; seal::FULL];
        store::read_full(file, chunk * chunk_size - seal::FULL as u64, &mut trailer)?;
        if !seal::is_marked(&trailer) {
            return Ok(false);
        }
    }
    let mut bytes = Vec::new();
    let length = usize::try_from(size - last * chunk_size).unwrap_or_default();
    // The process that records calls this, too, and must not be aborted.
    bytes.try_reserve_exact(length + seal::LAST)?;
    bytes.resize(length, 0);
    let length = store::read_full(file, last * chunk_size, &mut bytes)?;
    bytes.truncate(length);
    let front = seal::strip(&bytes, chunk_size).0.len();
    bytes.truncate(front);
    let marks = [control::END_OF_FILE, control::END_OF_BUFFER];
    if !bytes.ends_with(&marks) || (front + seal::LAST) as u64 > chunk_size {
        return Ok(false);
    }
    seal::end(&mut bytes, kind);
    let trailer = bytes.get(front..).unwrap_or_default();
    file.write_all_at(trailer, last * chunk_size + front as u64)?;
    Ok(true)
}

/// Numbers of records and of locations in a definition file.
#[derive(Default)]
struct Tally {
    records: u64,
    locations: u64,
}

fn close_definitions(path: &Path, scope: Scope, chunk_size: u64) -> Result<Tally> {
    let mut tally = Tally::default();
    close_records(path, chunk_size, |chunk, at| {
        let Some(frame) = chunk.frame(at) else {
            return chunk.end(at);
        };
        match Definition::read(scope, chunk.id(at), chunk.input(frame.clone())) {
            Ok(definition) => {
                tally.records += 1;
                tally.locations += u64::from(matches!(definition, Definition::Location(_)));
                Found::Record(frame.end)
            }
            Err(_) => Found::Nothing,
        }
    })?;
    Ok(tally)
}

/// The contents of a chunk at a given position.
enum Found {
    /// A complete record, which ends at this position.
    Record(usize),
    /// The end mark of the chunk.
    EndOfChunk,
    /// The end mark of the file.
    EndOfFile,
    /// Bytes that are neither a complete record nor an end mark.
    Nothing,
}

/// The bytes of a chunk in memory, with its header decoded.
struct Chunk<'a> {
    bytes: &'a [u8],
    header: Header,
}

impl<'a> Chunk<'a> {
    fn id(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(control::END_OF_CHUNK)
    }

    fn input(&self, range: Range<usize>) -> Input<'a> {
        Input::new(self.bytes, range.start, range.end, self.header.order, None)
    }

    /// Returns the range of a complete definition, from the last byte before its fields on, or `None` if there is none.
    fn frame(&self, at: usize) -> Option<Range<usize>> {
        let &[id, length] = self.bytes.get(at..)?.first_chunk()?;
        if id < control::FIRST_DEFINITION {
            return None;
        }
        let frame = match length {
            0xFF => {
                let length = self.input(at + 2..at + 10).u64().ok()?;
                at + 9..(at + 10).checked_add(usize::try_from(length).ok()?)?
            }
            length => at + 1..at + 2 + usize::from(length),
        };
        (frame.end <= self.bytes.len()).then_some(frame)
    }

    fn end(&self, at: usize) -> Found {
        match self.id(at) {
            control::END_OF_CHUNK => Found::EndOfChunk,
            control::END_OF_FILE => Found::EndOfFile,
            _ => Found::Nothing,
        }
    }
}

/// Goes through the chunks of a definition file as long as `look` finds records, and ends the file there.
fn close_records(
    path: &Path,
    chunk_size: u64,
    look: impl FnMut(&Chunk<'_>, usize) -> Found,
) -> Result<()> {
    let wrap = |error| Error::io(error).at(path);
    if !(chunk::MIN_SIZE..=chunk::MAX_SIZE).contains(&chunk_size) {
        return Err(Error::new(ErrorKind::ChunkSize(chunk_size)).at(path));
    }
    let file = files::open(path, true).map_err(wrap)?;
    walk(&file, chunk_size, look).map_err(wrap)
}

fn walk(
    file: &File,
    chunk_size: u64,
    mut look: impl FnMut(&Chunk<'_>, usize) -> Found,
) -> io::Result<()> {
    let size = file.metadata()?.len();
    let mut memory = vec![0; usize::try_from(chunk_size.min(size)).unwrap_or_default()];
    // End of the file as far as it is known: at first, a header and nothing else.
    let mut end = HEADER as u64;
    let mut offset = 0;
    while offset < size {
        let length = store::read_full(file, offset, &mut memory)?;
        let bytes = memory.get(..length).unwrap_or_default();
        let Some(header) = bytes.first_chunk().and_then(Header::read) else {
            break; // Reserved and never begun.
        };
        let chunk = Chunk { bytes, header };
        let mut at = HEADER;
        let found = loop {
            match look(&chunk, at) {
                Found::Record(end) => at = end,
                other => break other,
            }
        };
        end = offset + at as u64;
        match found {
            Found::EndOfFile => break,
            // This is damage, because no dying writer leaves it. Later chunks may still be sound.
            Found::Nothing => file.write_all_at(&[control::END_OF_CHUNK], end)?,
            _ => {}
        }
        offset += chunk_size;
    }
    if end == HEADER as u64 {
        let header = Header { order: Default::default(), first: 1, last: 0 };
        file.write_all_at(&header.to_bytes(), 0)?;
    }
    file.write_all_at(&[control::END_OF_FILE, control::END_OF_BUFFER], end)?;
    file.set_len(end + 2)
}
