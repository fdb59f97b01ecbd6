//! An archive from what dead processes left behind.
//!
//! Every process that was recording has its facts and its event files in the experiment directory, or
//! on its node. They are closed, unified with the same code as at the end of a run, and put in their
//! places. Regions that were open are left at the last event of their location, and marked
//! ([`CUT`](dwell_model::archive::CUT)). If recovery itself is interrupted it can be started again.
//!
//! # Damage
//! A file is sound if its process may have left it so. Everything else is damage: it is reported with file
//! and byte offset, in the result and in the archive ([`DAMAGED`](dwell_model::archive::DAMAGED)). No byte of a
//! damaged file is changed: it is kept as `NAME.damaged`, and a new file has what could be read. Events whose
//! facts are lost are left out, since nothing says what their numbers mean.
//!
//! # Trust
//! The directories may come from someone else. Files are opened only if they are regular files, no link is
//! followed, and what is written is written to new files. Numbers are bounded before lists are made of
//! them. Processes of another run are left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use dwell_model::archive;
use otf2::close::scan_events;
use otf2::files;
use otf2::id::LocationRef;

use crate::assemble;
use crate::collate;
use crate::experiment::{self, PROFILE};
use crate::lease::{self, Signs};
use crate::process_facts::{Named, ProcessFacts};
use crate::statistics::{self, Statistic};
use crate::unify::{Offline, Property};

mod find;
mod threads;

use find::{Found, Run};
use threads::Closing;

/// Result of a recovery: the contents of the archive that was made, and everything that is missing from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Number of processes that left files.
    pub processes: u64,
    /// Number of processes that the run had.
    pub of: u64,
    /// Number of locations of the archive, which is the number of threads.
    pub locations: u64,
    /// Number of events in the archive.
    pub events: u64,
    /// Number of regions that were open when their process died and that recovery closed.
    pub cut: u64,
    /// Ranks of the processes that were inside a region when they ended, by the name of the innermost one. Processes
    /// whose events were damaged are not listed.
    pub inside: BTreeMap<String, BTreeSet<u64>>,
    /// Number of events that were damaged, as far as it is known.
    pub lost_events: u64,
    /// Ranges of ranks that left no files.
    pub missing: Vec<std::ops::Range<u64>>,
    /// Descriptions of files that were damaged, missing or left alone, with file and byte offset.
    pub damage: Vec<String>,
    /// Reasons for which recording stopped before the processes died, and the number of calls that were lost then.
    pub stopped: Vec<String>,
}

/// Reasons for which [`recover`] makes no archive.
#[derive(Debug)]
pub enum Error {
    /// The archive at this path is complete already.
    Complete(PathBuf),
    /// No process left anything readable in the directory. The list describes the files that are there and damaged.
    Nothing(PathBuf, Vec<String>),
    /// The process with this id of the operating system belongs to the run and is still alive.
    Alive(u64),
    /// Processes of the run in this directory are alive, or may be, on the nodes of these signs.
    Running(PathBuf, Signs),
    /// The directories have files of several runs. The list has one file of each run.
    SeveralRuns(Vec<PathBuf>),
    /// The file or directory at the path could not be read or written.
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
            Self::Nothing(path, damage) => {
                for damage in damage {
                    writeln!(f, "{damage}")?;
                }
                write!(
                    f,
                    "{}: no process left anything here; if files were kept on the nodes, name their \
                     directory too",
                    path.display()
                )
            }
            Self::Alive(pid) => write!(
                f,
                "process {pid} of this run is still recording; end it, or wait until it has ended"
            ),
            Self::Running(path, signs) if signs.certain => write!(
                f,
                "{}: {signs}. Recovery would destroy the recording: wait for the end of the run, or end it first",
                path.display()
            ),
            Self::Running(path, signs) => write!(
                f,
                "{}: {signs}, because this file system does not show locks of other nodes. Recovery would destroy \
                 the recording of a run that is alive. If it has ended, recover it on one of these nodes, or with \
                 --force",
                path.display()
            ),
            Self::SeveralRuns(files) => {
                f.write_str(
                    "there are processes of several runs; recover each into a directory of \
                             its own. One file of each run:",
                )?;
                files.iter().try_for_each(|path| write!(f, " {}", path.display()))
            }
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for Error {}

/// Messages about files for the caller, with paths relative to the experiment directory.
struct Notes {
    directory: PathBuf,
    list: Vec<String>,
    more: u64,
}

/// Number of messages that are kept; further ones are only counted.
const LISTED: usize = 1000;

impl Notes {
    fn damage(&mut self, path: &Path, what: &str) {
        if self.list.len() >= LISTED {
            self.more += 1;
            return;
        }
        let path = path.strip_prefix(&self.directory).unwrap_or(path).display().to_string();
        // Errors of the format name the file themselves.
        let what = what.strip_prefix(&path).map_or(what, |rest| rest.trim_start_matches(": "));
        self.list.push(format!("{path}: {what}"));
    }

    fn all(mut self) -> Vec<String> {
        if self.more > 0 {
            self.list.push(format!("{} more", self.more));
        }
        self.list
    }
}

/// What to do about a run whose processes may be alive on nodes that cannot be seen from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caution {
    /// Leave it as it is.
    Refuse,
    /// Recover it. Processes that are alive after all lose their recording.
    Force,
}

/// Makes an archive in the experiment directory `directory` from the files that processes left there and in the
/// directories `from`, such as local disks of nodes. All processes must have ended. After an interruption the function
/// may be called again. Damage does not make it fail: the result describes it.
///
/// # Errors
/// If the archive is complete, no process left anything readable, a process of the run is still alive, the files belong
/// to several runs, or files cannot be read or written.
pub fn recover(directory: &Path, from: &[PathBuf], caution: Caution) -> Result<Recovered, Error> {
    let told = |error| Error::Io(directory.into(), error);
    let anchor = directory.join("traces.otf2");
    if fs::symlink_metadata(&anchor).is_ok() {
        return Err(Error::Complete(anchor));
    }
    let mut notes = Notes { directory: directory.into(), list: Vec::new(), more: 0 };
    let found = find::find(directory, from, &mut notes)?;
    if found.processes.is_empty() {
        return Err(Error::Nothing(directory.into(), notes.all()));
    }
    if let Some(pid) = found.processes.values().find_map(recording) {
        return Err(Error::Alive(pid));
    }
    if let Some(signs) = lease::signs(directory).map_err(told)?
        && (signs.certain || caution == Caution::Refuse)
    {
        return Err(Error::Running(directory.into(), signs));
    }

    // Nothing has been changed up to here.
    fs::create_dir_all(directory).map_err(told)?;
    for folder in ["traces", PROFILE] {
        let folder = directory.join(folder);
        if folder.ends_with("traces") || fs::symlink_metadata(&folder).is_ok() {
            files::directory(&folder).map_err(|error| Error::Io(folder.clone(), error))?;
        }
    }
    // Blocks of an end that was not reached: what they have is still in the rows that they were made from.
    collate::remove_blocks(&directory.join(PROFILE)).map_err(told)?;

    let mut recovered = Recovered { of: found.size, ..Recovered::default() };
    let (offline, shape) = close_all(directory, &found, &mut recovered, &mut notes)?;
    strays(&found, &shape, &mut notes);
    let mut global = offline.finish();
    recovered.locations = global.locations();

    let mut options = assemble::options(found.chunk_size, global.locations());
    options.properties = assemble::properties(&global, "recovered");
    options.properties.extend(assemble::clock_properties(&global));
    options.properties.extend(assemble::loss_properties(&global));
    recovered.stopped = told_about_stops(&options.properties);
    for ranks in &recovered.missing {
        notes.list.push(format!("nothing of rank {}", range(ranks)));
    }
    if recovered.missing.iter().map(|ranks| ranks.end - ranks.start).sum::<u64>() > STAND_INS {
        let text = format!(
            "no files for those of more than {STAND_INS} missing processes: other tools may refuse this archive"
        );
        notes.list.push(text);
    }
    if !notes.list.is_empty() {
        options.properties.push((archive::DAMAGED.into(), in_short(&notes)));
    }
    options.description = shape.program;
    let mut first = 0;
    let mut stand_ins = 0;
    for (rank, threads) in (0..).zip(&shape.threads) {
        let process = found.processes.get(&rank);
        stand_ins += u64::from(process.is_none());
        if process.is_some() || stand_ins <= STAND_INS {
            let mut local = read(rank, process)?;
            local.name_again(shape.named.get(&rank));
            let folder = process.map_or(directory, |found| &found.folder);
            let told = |error| Error::Io(folder.into(), error);
            let maps = global.locate(&local.shared).map_err(told)?;
            let (first, to) = (LocationRef(first), directory);
            let placed = assemble::place(&local, first, &maps, to, folder, &options);
            options.checksums &= placed.map_err(told)?;
            assemble::place_rows(&local, first, to, folder).map_err(told)?;
        }
        first += threads;
    }
    assemble::complete(&global, directory, options, shape.ahead)
        .map_err(|error| Error::Io(anchor.clone(), io::Error::other(error.to_string())))?;
    // The archive is complete; what it was made from is not needed any more, but for what was damaged.
    for (rank, Found { facts, .. }) in &found.processes {
        if shape.damaged.contains(rank) {
            let _ = fs::rename(facts, files::damaged(facts));
        } else {
            let _ = fs::remove_file(facts);
        }
    }
    lease::remove(directory);
    let _ = fs::remove_file(experiment::run_file(directory));
    let _ = fs::remove_file(experiment::told_file(directory));
    let _ = fs::remove_dir(experiment::open_files(directory));
    recovered.damage = notes.all();
    Ok(recovered)
}

/// Number of missing processes that get empty files. Other tools expect two files for each, but a run may have a
/// million processes.
const STAND_INS: u64 = 1024;

/// Facts about a run that are known once the files of all processes are closed.
#[derive(Default)]
struct Shape {
    /// Number of threads of each rank.
    threads: Vec<u64>,
    ahead: u64,
    program: String,
    /// Ranks whose facts were damaged.
    damaged: BTreeSet<u64>,
    /// Number of ids of each kind that the events of a rank use.
    named: BTreeMap<u64, Named>,
}

/// Reads the facts of all processes and closes their event files, and numbers locations in the order of ranks. A rank
/// that left nothing gets one location without events.
fn close_all(
    directory: &Path,
    found: &Run,
    recovered: &mut Recovered,
    notes: &mut Notes,
) -> Result<(Offline, Shape), Error> {
    let mut offline = Offline::default();
    let mut shape = Shape::default();
    let mut first = 0;
    for rank in 0..found.size {
        let process = found.processes.get(&rank);
        let mut local = read(rank, process)?;
        if let Some(Found { facts, folder, .. }) = process {
            local.damage.iter().for_each(|damage| notes.damage(facts, damage));
            if !local.damage.is_empty() {
                shape.damaged.insert(rank);
            }
            shape.ahead = local.number("CLOCK_AHEAD").unwrap_or(shape.ahead);
            if !local.program.is_empty() {
                shape.program.clone_from(&local.program);
            }
            recovered.processes += 1;
            let chunk = found.chunk_size;
            Closing { local: &mut local, folder, directory, first, chunk }.close(recovered, notes);
            shape.named.insert(rank, local.named());
        } else {
            note_missing(&mut recovered.missing, rank);
        }
        first += local.process.threads.len() as u64;
        shape.threads.push(local.process.threads.len() as u64);
        offline.add(&local.shared, local.process);
    }
    Ok((offline, shape))
}

/// Reports event files that no fact mentions: those of ranks without facts, and of threads whose fact is lost. A file
/// without events belongs to a thread that was about to begin, and is removed.
fn strays(found: &Run, shape: &Shape, notes: &mut Notes) {
    for (folder, threads) in &found.files {
        for &(rank, id) in threads {
            let path = folder.join(format!("{rank}.{id}.evt"));
            let mine = found.processes.get(&rank).is_some_and(|it| it.folder == *folder);
            if mine && shape.named.get(&rank).is_some_and(|named| id < named.threads) {
                continue;
            }
            let unused = mine
                && scan_events(&path, found.chunk_size, |_, _| true)
                    .is_ok_and(|scan| scan.is_empty());
            if unused {
                let _ = fs::remove_file(&path);
                continue;
            }
            let why = match found.unreadable.get(&rank) {
                _ if mine => "no fact says which thread these belong to; left out",
                Some(_) => {
                    "the facts of this rank cannot be read, so nothing says what these mean; left out"
                }
                None => "no facts of this rank are here; left out",
            };
            notes.damage(&folder.join(format!("{rank}.{id}.*")), why);
        }
    }
}

/// Reads the facts of a process and moves its times to the clock of the archive. A process that left nothing gets a
/// thread without events.
fn read(rank: u64, found: Option<&Found>) -> Result<ProcessFacts, Error> {
    let mut local = match found {
        Some(Found { facts, .. }) => {
            ProcessFacts::read(facts).map_err(|error| Error::Io(facts.clone(), error))?
        }
        None => ProcessFacts::default(),
    };
    local.process.rank = rank;
    local.process.stand_in();
    local.shift(local.number("CLOCK_SHIFT").unwrap_or(0));
    let [residual, half, near] = local.doubt();
    let (lost, uncounted) = local.head.lost;
    let (threads, unseen) = local.head.missed;
    local.process.numbers = statistics::list(&[
        (Statistic::Lost, lost),
        (Statistic::Uncounted, uncounted.into()),
        (Statistic::Residual, residual),
        (Statistic::HalfRoundTrip, half),
        (Statistic::HalfRoundTripOnNode, near),
        (Statistic::UnrecordedThreads, threads),
        (Statistic::UnrecordedCalls, unseen),
    ]);
    if let Some(value) = local.head.stopped.clone() {
        local.shared.add_property(Property { name: "STOPPED".into(), value });
    }
    Ok(local)
}

fn note_missing(missing: &mut Vec<std::ops::Range<u64>>, rank: u64) {
    match missing.last_mut() {
        Some(last) if last.end == rank => last.end += 1,
        _ => missing.push(rank..rank + 1),
    }
}

fn range(ranks: &std::ops::Range<u64>) -> String {
    match ranks.end - ranks.start {
        1 => ranks.start.to_string(),
        _ => format!("{} to {}", ranks.start, ranks.end - 1),
    }
}

/// The process of this machine that has a stream of facts mapped, if it is still there.
fn recording(Found { facts, pid, .. }: &Found) -> Option<u64> {
    experiment::is_mapped(&facts.canonicalize().ok()?, *pid).then_some(*pid)
}

/// Bytes of the property that lists damage.
const SHORT: usize = 2000;

/// All notes as the value of a property, as far as there is room.
fn in_short(notes: &Notes) -> String {
    let mut text = String::new();
    for (count, note) in notes.list.iter().enumerate() {
        if !text.is_empty() {
            text += "; ";
        }
        if text.len() + note.len() > SHORT && count > 0 {
            let more = notes.list.len() - count;
            return text + &format!("{} more", more as u64 + notes.more);
        }
        text += note;
    }
    text
}

/// Describes for people, from the properties of the archive, why recording stopped and which calls are missing.
fn told_about_stops(properties: &[(String, String)]) -> Vec<String> {
    let property = |name| properties.iter().find(|known| known.0 == name).map(|known| &known.1);
    let stopped = property(archive::STOPPED).map(|why| format!("recording stopped early: {why}"));
    let lost = property(archive::LOST).map(|lost| format!("{lost} are lost"));
    let unrecorded = property(archive::UNRECORDED).map(|it| format!("not recorded: {it}"));
    [stopped, lost, unrecorded].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(list: &[&str]) -> Notes {
        let list = list.iter().map(|it| (*it).to_owned()).collect();
        Notes { directory: PathBuf::from("/run"), list, more: 0 }
    }

    #[test]
    fn paths_of_notes_are_short_and_said_once() {
        let mut notes = notes(&[]);
        notes.damage(Path::new("/run/open/0.facts"), "open/0.facts: too short");
        notes.damage(Path::new("/elsewhere/1.facts"), "too long");
        assert_eq!(notes.all(), ["open/0.facts: too short", "/elsewhere/1.facts: too long"]);
    }

    #[test]
    fn notes_beyond_a_thousand_are_counted() {
        let mut few = notes(&[]);
        (0..LISTED).for_each(|_| few.damage(Path::new("a"), "b"));
        assert_eq!(few.all().len(), LISTED);

        let mut many = notes(&[]);
        (0..LISTED + 3).for_each(|_| many.damage(Path::new("a"), "b"));
        let all = many.all();
        assert_eq!(all.len(), LISTED + 1);
        assert_eq!(all.last().map(String::as_str), Some("3 more"));
    }

    #[test]
    fn a_property_has_the_notes_that_fit() {
        assert_eq!(in_short(&notes(&[])), "");
        assert_eq!(in_short(&notes(&["a", "b"])), "a; b");
        // The first is never left out.
        let long = "x".repeat(SHORT + 1);
        assert_eq!(in_short(&notes(&[&long])), long);

        let half = "x".repeat(SHORT / 2 - 1);
        assert_eq!(in_short(&notes(&[&half, &half])), format!("{half}; {half}"));
        let more = format!("{half}x");
        assert_eq!(in_short(&notes(&[&half, &more])), format!("{half}; 1 more"));
        let mut many = notes(&[&half, &more, "a", "b"]);
        many.more = 7;
        assert_eq!(in_short(&many), format!("{half}; 10 more"));
    }

    #[test]
    fn why_recording_stopped_is_told_from_properties() {
        let property = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert!(told_about_stops(&[property("OTHER", "x")]).is_empty());
        let all = [
            property(archive::UNRECORDED, "c"),
            property(archive::LOST, "b"),
            property(archive::STOPPED, "a"),
        ];
        let told = ["recording stopped early: a", "b are lost", "not recorded: c"];
        assert_eq!(told_about_stops(&all), told);
    }
}
