//! An archive from what dead processes left behind.
//!
//! Every process that was recording has its facts and its event files in the experiment directory, or
//! on its node. They are closed, unified with the same code as at the end of a run, and put in their
//! places. Regions that were open are left at the last event of their location, and marked
//! ([`CUT`](dwell_model::archive::CUT)). If recovery itself is interrupted it can be started again.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use otf2::close::{close_events, leave_open};
use otf2::id::{LocationRef, Time};

use crate::agree;
use crate::collate;
use crate::local::Local;
use crate::run;
use crate::thread::CUT;
use crate::unify::Offline;

/// What was found and done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Processes that left something.
    pub processes: u64,
    /// Processes that the run had.
    pub of: u64,
    /// Threads.
    pub locations: u64,
    /// Events.
    pub events: u64,
    /// Regions that were open and are left now.
    pub cut: u64,
    /// Ranks that left nothing.
    pub missing: Vec<std::ops::Range<u64>>,
    /// What was wrong with single files.
    pub warnings: Vec<String>,
}

/// Why an archive cannot be recovered.
#[derive(Debug)]
pub enum Error {
    /// It is complete already.
    Complete(PathBuf),
    /// No process left anything there.
    Nothing(PathBuf),
    /// A process of the run is still there.
    Alive(u32),
    /// Something could not be read or written.
    Io(PathBuf, io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete(path) => {
                write!(
                    f,
                    "{}: the archive is complete, there is nothing to recover",
                    path.display()
                )
            }
            Self::Nothing(path) => write!(
                f,
                "{}: no process left anything here; if files were kept on the nodes, name their \
                 directory with --from",
                path.display()
            ),
            Self::Alive(pid) => write!(
                f,
                "process {pid} of this run is still recording; end it, or wait until it has ended"
            ),
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for Error {}

/// A process, and where its files are.
struct Found {
    facts: PathBuf,
    folder: PathBuf,
}

/// Makes an archive in `directory` from what processes left there and in the directories `from`.
///
/// # Errors
/// If the archive is complete, there is nothing, or files cannot be read and written.
pub fn recover(directory: &Path, from: &[PathBuf]) -> Result<Recovered, Error> {
    let anchor = directory.join("traces.otf2");
    if anchor.exists() {
        return Err(Error::Complete(anchor));
    }
    let mut result = Recovered::default();
    let found = find(directory, from, &mut result.warnings)?;
    if found.is_empty() {
        return Err(Error::Nothing(directory.into()));
    }

    if let Some(pid) = found.values().find_map(|found| recording(&found.facts)) {
        return Err(Error::Alive(pid));
    }

    // Blocks of an end that was not reached: what they have is still in the rows that they were made from.
    collate::remove_blocks(&directory.join(run::PROFILE))
        .map_err(|error| Error::Io(directory.into(), error))?;

    // First all are read and their event files closed; locations are numbered by that. A rank that
    // left nothing is there nevertheless, with a location that has no events.
    let mut offline = Offline::default();
    let mut first = 0;
    let (mut chunk, mut ahead, mut program) = (otf2::chunk::EVENTS_SIZE, 0, String::new());
    for (rank, found) in ranks(&found)? {
        let mut local = read(rank, found)?;
        if let Some(Found { facts, folder }) = found {
            let damage = local.damage.iter().map(|damage| format!("{}: {damage}", facts.display()));
            result.warnings.extend(damage);
            chunk = local.number("CHUNK").unwrap_or(chunk);
            ahead = local.number("CLOCK_AHEAD").unwrap_or(ahead);
            program.clone_from(&local.program);
            result.of = result.of.max(local.size);
            result.processes += 1;
            close(&mut local, folder, directory, first, chunk, &mut result);
        } else {
            note_missing(&mut result.missing, rank);
        }
        first += local.process.threads.len() as u64;
        offline.add(&local.shared, local.process);
    }
    result.locations = first;
    let mut global = offline.finish();

    let mut options = run::options(chunk, global.locations());
    options.properties = run::properties(&global, "recovered");
    options.properties.extend(run::clock_properties(&global));
    options.description = program;
    let mut first = 0;
    for (rank, found) in ranks(&found)? {
        let local = read(rank, found)?;
        let folder = found.map_or(directory, |found| &found.folder);
        let told = |error| Error::Io(folder.into(), error);
        let maps = global.locate(&local.shared).map_err(told)?;
        run::place(&local, LocationRef(first), &maps, directory, folder, &options).map_err(told)?;
        run::place_rows(&local, LocationRef(first), directory, folder).map_err(told)?;
        first += local.process.threads.len() as u64;
    }
    run::complete(&global, directory, options, ahead)
        .map_err(|error| Error::Io(anchor.clone(), io::Error::other(error.to_string())))?;
    // The archive is complete; what it was made from is not needed any more.
    for Found { facts, .. } in found.values() {
        let _ = fs::remove_file(facts);
    }
    let _ = fs::remove_dir(agree::open_files(directory));
    Ok(result)
}

/// Every rank of the run, with what it left.
fn ranks(found: &BTreeMap<u64, Found>) -> Result<Vec<(u64, Option<&Found>)>, Error> {
    let mut size = found.keys().next_back().map_or(0, |rank| rank + 1);
    if let Some(any) = found.values().next() {
        size = size.max(read(0, Some(any))?.size);
    }
    // A damaged size must not become a list of that many.
    let size = size.min(MOST);
    Ok((0..size).map(|rank| (rank, found.get(&rank))).collect())
}

/// Processes that a run may have.
const MOST: u64 = 1 << 24;

/// What a process wrote down, on the clock of the archive.
fn read(rank: u64, found: Option<&Found>) -> Result<Local, Error> {
    let mut local = match found {
        Some(Found { facts, .. }) => {
            Local::read(facts).map_err(|error| Error::Io(facts.clone(), error))?
        }
        None => Local::default(),
    };
    local.process.rank = rank;
    local.process.stand_in();
    local.shift(local.number("CLOCK_SHIFT").unwrap_or(0));
    let [residual, half, near] = local.doubt();
    local.process.numbers =
        run::numbers(&[(run::RESIDUAL, residual), (run::HALF, half), (run::NEAR, near)]);
    Ok(local)
}

fn note_missing(missing: &mut Vec<std::ops::Range<u64>>, rank: u64) {
    match missing.last_mut() {
        Some(last) if last.end == rank => last.end += 1,
        _ => missing.push(rank..rank + 1),
    }
}

/// The process of this machine that has a stream of facts mapped, if it is still there.
fn recording(facts: &Path) -> Option<u32> {
    let pid = Local::read(facts).ok()?.process.pid;
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let facts = facts.canonicalize().ok()?;
    maps.lines().any(|line| line.ends_with(facts.to_str().unwrap_or("?"))).then_some(pid)
}

/// Processes by rank.
fn find(
    directory: &Path,
    from: &[PathBuf],
    warnings: &mut Vec<String>,
) -> Result<BTreeMap<u64, Found>, Error> {
    let mut found = BTreeMap::new();
    let own = agree::open_files(directory);
    for folder in std::iter::once(&own).chain(from) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound && *folder == own => continue,
            Err(error) => return Err(Error::Io(folder.clone(), error)),
        };
        for entry in entries {
            let facts = entry.map_err(|error| Error::Io(folder.clone(), error))?.path();
            let rank = facts.file_stem().and_then(|name| name.to_str()?.parse().ok());
            let (Some(rank), true) = (rank, facts.extension().is_some_and(|end| end == "facts"))
            else {
                continue;
            };
            let folder = folder.clone();
            if found.insert(rank, Found { facts, folder }).is_some() {
                warnings.push(format!("rank {rank} is there twice; the last one is used"));
            }
        }
    }
    Ok(found)
}

/// Closes the event files of a process and says so in its row.
fn close(
    local: &mut Local,
    folder: &Path,
    directory: &Path,
    first: u64,
    chunk: u64,
    result: &mut Recovered,
) {
    let rank = local.process.rank;
    let ahead = local.clock.last().map_or(0, |(_, ahead)| *ahead);
    for (id, thread) in (0..).zip(&mut local.process.threads) {
        let location = LocationRef(first + id);
        let mut path = folder.join(format!("{rank}.{id}.evt"));
        if !path.exists() {
            // Its process died, or an earlier recovery, after it had brought the file to its place.
            path = directory.join("traces").join(format!("{}.evt", location.0));
        }
        if !path.exists() {
            continue; // It has no events.
        }
        let closed = close_events(&path, location, chunk).and_then(|(mut closed, damage)| {
            let damage = damage.iter().map(|damage| format!("{}: {damage}", path.display()));
            result.warnings.extend(damage);
            result.cut += closed.open.len() as u64;
            leave_open(&path, chunk, &mut closed, CUT).map(|()| closed)
        });
        match closed {
            Ok(closed) => {
                thread.events = closed.events;
                result.events += closed.events;
                if let Some((_, last)) = closed.times {
                    let last = Time(last.0.wrapping_add_signed(ahead));
                    local.process.end = local.process.end.max(last);
                }
            }
            Err(error) => result.warnings.push(error.to_string()),
        }
    }
}
