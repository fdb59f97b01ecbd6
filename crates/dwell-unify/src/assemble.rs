//! Assembling an archive: the files of all processes brought to where an archive has them, and its global
//! definitions and anchor written.
//!
//! A run that ends well and `dwell recover` both come here, so that their archives differ in nothing but what was
//! lost.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use dwell_model::{archive, profile};
use otf2::close::seal;
use otf2::id::LocationRef;
use otf2::store::FileKind;
use otf2::write::{ArchiveWriter, EventWriter, Options};
use otf2::{def, files, map};

use crate::collate;
use crate::definitions;
use crate::experiment::{PROFILE, rows};
use crate::process_facts::ProcessFacts;
use crate::statistics::{self, Statistic};
use crate::unify::{self, Property};

/// Returns the options with which the recorder and recovery write archives: event chunks of `chunk` bytes, definition
/// chunks large enough for `locations` locations, and a trace id from the time of day.
pub fn options(chunk: u64, locations: u64) -> Options {
    Options {
        events_chunk: chunk,
        defs_chunk: Options::defs_chunk_for(locations),
        creator: format!("Dwell {}", env!("CARGO_PKG_VERSION")),
        trace_id: realtime() | 1,
        local_definitions: true,
        ..Options::default()
    }
}

/// Returns the nanoseconds since 1970 on the clock of the system.
fn realtime() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Brings the files of one process to their places in the archive: renames its event files, or copies them from another
/// file system, and writes its mapping tables and clock offsets. `first` is the location of the first thread, and
/// `open_files` the folder in which the recorder wrote. A thread without an event file gets an empty one. The function
/// may be called again after an interruption. Returns `false` if an event file has no checksums, because an earlier
/// version recorded it; the anchor must not state them then.
///
/// # Errors
/// If files cannot be moved or written.
pub fn place(
    local: &ProcessFacts,
    first: LocationRef,
    maps: &unify::Maps,
    directory: &Path,
    open_files: &Path,
    options: &Options,
) -> io::Result<bool> {
    let archive = ArchiveWriter::join(directory, "traces", options.clone()).map_err(other)?;
    let mut sealed = true;
    let tables = local.tables(maps);
    for id in 0..local.process.threads.len() as u64 {
        let location = LocationRef(first.0 + id);
        let from = open_files.join(format!("{}.{id}.evt", local.process.rank));
        let to = directory.join("traces").join(format!("{}.evt", location.0));
        // A second recovery may find it there; a location that only fills a gap has none.
        let there = !files::is_regular(&from) && files::is_regular(&to);
        if !there && !files::is_regular(&from) {
            archive.events(location).and_then(EventWriter::finish).map_err(other)?;
        } else if !there {
            bring(&from, &to)?;
        }
        let kind = FileKind::Events(location);
        sealed &= seal(&to, kind, options.events_chunk).map_err(other)?;
        let mut defs = archive.local_definitions(location).map_err(other)?;
        for (mapping_type, ids) in &tables {
            let id_map = map::IdMapRef::dense(ids);
            if !ids.is_empty() {
                let mapping_type = *mapping_type;
                defs.write(def::MappingTable { mapping_type, id_map }).map_err(other)?;
            }
        }
        for (time, offset) in &local.clock {
            let (time, offset) = (otf2::id::Time(*time), *offset);
            defs.write(def::ClockOffset { time, offset, standard_deviation: 0.0 })
                .map_err(other)?;
        }
        defs.finish().map_err(other)?;
    }
    Ok(sealed)
}

/// Moves the files of rows of a process into the profile folder of the experiment, under the numbers of their
/// locations. Does nothing for threads without rows. It serves runs whose rows could not be
/// [collated](mod@crate::collate).
///
/// # Errors
/// If the folder cannot be made or a file cannot be moved.
pub fn place_rows(
    local: &ProcessFacts,
    first: LocationRef,
    directory: &Path,
    open_files: &Path,
) -> io::Result<()> {
    for id in 0..local.process.threads.len() as u64 {
        let from = rows(local, id, open_files);
        if files::is_regular(&from) {
            let folder = directory.join(PROFILE);
            files::directory(&folder)?;
            bring(&from, &folder.join(format!("{}.rows", first.0 + id)))?;
        }
    }
    Ok(())
}

/// Reads the rows of the threads of a process and encodes each as a [part](collate::part()) in ids of the archive.
/// Threads without a file of rows are skipped. A file that cannot be read, or is damaged, is an error in its place.
pub fn parts<'a>(
    local: &'a ProcessFacts,
    first: LocationRef,
    maps: &unify::Maps,
    open_files: &'a Path,
) -> impl Iterator<Item = io::Result<Vec<u8>>> + use<'a> {
    let tables = local.tables(maps);
    let translate = move |space, id: u32| {
        let table = tables.iter().find(|table| table.0 == space);
        let mapped = table.and_then(|table| table.1.get(id as usize)).copied();
        u32::try_from(mapped.unwrap_or(id.into())).unwrap_or(u32::MAX)
    };
    (0..local.process.threads.len() as u64).filter_map(move |id| {
        let path = rows(local, id, open_files);
        let bytes = match files::read(&path, collate::MOST_ROWS) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return Some(Err(error)),
        };
        if let Err(damage) = profile::check::check(&bytes) {
            let text = format!("{}: {damage}", path.display());
            return Some(Err(io::Error::new(io::ErrorKind::InvalidData, text)));
        }
        collate::part(LocationRef(first.0 + id), &bytes, &translate).map(Ok)
    })
}

/// Renames a file, or copies it if the target is on another file system.
fn bring(from: &Path, to: &Path) -> io::Result<()> {
    let Err(error) = fs::rename(from, to) else { return Ok(()) };
    if error.kind() != io::ErrorKind::CrossesDevices {
        let text = format!("{} to {}: {error}", from.display(), to.display());
        return Err(io::Error::new(error.kind(), text));
    }
    // A file with the name of the copy is replaced. If it is a link, its target is not written to.
    let unfinished = files::unfinished(to);
    let mut copy = files::create(&unfinished)?;
    io::copy(&mut files::open(from, false)?, &mut copy)?;
    fs::rename(&unfinished, to)?;
    fs::remove_file(from)
}

/// Writes the global definitions and then the anchor file, which makes an archive of the event files that are in place.
/// Rank 0 calls it last. `ahead` is added to the earliest beginning of a process to get the time of day of the archive.
///
/// # Errors
/// If files cannot be written.
pub fn complete(
    global: &unify::Global,
    directory: &Path,
    options: Options,
    ahead: u64,
) -> otf2::Result<()> {
    let archive = ArchiveWriter::join(directory, "traces", options)?;
    let begin = global.processes().map(|(_, process)| process.begin.0).filter(|time| *time > 0);
    let begin = begin.min().map_or(u64::MAX, |time| time.wrapping_add(ahead));
    let mut defs = archive.global_definitions()?;
    definitions::write(global, begin, &mut defs)?;
    defs.finish()?;
    archive.finish()
}

/// Returns the properties of the run for the anchor file: its `state`, and every property of the processes under its
/// name with the prefix `DWELL::`. Where processes differ in a value, the values are joined, up to about 1,000 bytes.
pub fn properties(global: &unify::Global, state: &str) -> Vec<(String, String)> {
    let mut properties: Vec<(String, String)> = vec![("DWELL::STATE".into(), state.into())];
    for Property { name, value } in global.shared().properties() {
        let name = format!("DWELL::{name}");
        match properties.iter_mut().find(|(known, _)| *known == name) {
            // If processes differ, all values are listed, up to a limit.
            Some((_, known)) if known.len() < 1000 => *known = format!("{known}; {value}"),
            Some(_) => {}
            None => properties.push((name, value.clone())),
        }
    }
    properties
}

/// Returns the properties that describe calls which the archive does not contain: those lost because
/// recording had stopped, and those of threads that were not recorded. Empty if nothing is missing.
pub fn loss_properties(global: &unify::Global) -> impl Iterator<Item = (String, String)> {
    let lost = statistics::lost(global).map(|lost| (archive::LOST.into(), lost));
    let unrecorded = statistics::unrecorded(global);
    lost.into_iter().chain(unrecorded.map(|it| (archive::UNRECORDED.into(), it)))
}

/// Returns the properties about the clocks of the archive, in nanoseconds: the largest error bound of a process, and
/// the shortest message times between nodes and within a node. Values that no process measured are left out.
pub fn clock_properties(global: &unify::Global) -> Vec<(String, String)> {
    let of = |number| statistics::of(global, number).filter(|value| *value > 0);
    let told = [
        (archive::CLOCK_RESIDUAL, of(Statistic::Residual).max()),
        (archive::LATENCY, of(Statistic::HalfRoundTrip).min()),
        (archive::LATENCY_ON_NODE, of(Statistic::HalfRoundTripOnNode).min()),
    ];
    told.into_iter().filter_map(|(name, it)| Some((name.into(), it?.to_string()))).collect()
}

#[allow(clippy::needless_pass_by_value)] // As `map_err` wants it.
fn other(error: otf2::Error) -> io::Error {
    io::Error::other(error.to_string())
}
