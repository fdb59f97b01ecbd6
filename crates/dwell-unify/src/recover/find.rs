//! Finds the fact streams of a run, and files that belong to no run.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use otf2::files;

use super::{Error, Notes};
use crate::experiment::{self, MOST_PROCESSES};
use crate::stream::{Headed, RunId};

/// Number of bytes of a stream that are read to find its head.
const HEAD: u64 = 4096;

/// A process of the run, and the place of its files.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) facts: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) pid: u64,
}

/// The files of a run that were found.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) size: u64,
    /// Size of a chunk of its event files, in bytes.
    pub(super) chunk_size: u64,
    pub(super) processes: BTreeMap<u64, Found>,
    /// Ranks and threads of the event files and rows in each folder.
    pub(super) files: BTreeMap<PathBuf, BTreeSet<(u64, u64)>>,
    /// Ranks of streams that could not be read.
    pub(super) unreadable: BTreeMap<u64, PathBuf>,
}

/// A stream of facts whose head could be read.
struct Candidate {
    rank: u64,
    facts: PathBuf,
    folder: PathBuf,
    head: Headed,
}

/// Looks for the processes of the run that a directory belongs to, there and in the directories `from`.
pub(super) fn find(directory: &Path, from: &[PathBuf], notes: &mut Notes) -> Result<Run, Error> {
    let own = experiment::open_files(directory);
    let mut run = Run {
        size: 0,
        chunk_size: 0,
        processes: BTreeMap::new(),
        files: BTreeMap::new(),
        unreadable: BTreeMap::new(),
    };
    let mut candidates = Vec::new();
    for folder in std::iter::once(&own).chain(from) {
        let is_own = *folder == own;
        if is_own && fs::symlink_metadata(folder).is_ok_and(|it| it.is_symlink()) {
            let error = io::Error::other("a link, which is not followed");
            return Err(Error::Io(folder.clone(), error));
        }
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_own => continue,
            Err(error) => return Err(Error::Io(folder.clone(), error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            names.push(entry.map_err(|error| Error::Io(folder.clone(), error))?.file_name());
        }
        names.sort_unstable();
        for name in &names {
            if let Some(thread) = thread_of(name) {
                run.files.entry(folder.clone()).or_default().insert(thread);
            }
            candidates.extend(candidate(folder, name, &mut run, notes));
        }
    }
    let id = which_run(directory, &own, &candidates)?;
    let (ours, others): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|it| Some(it.head.run) == id);
    for other in others {
        notes.damage(&other.facts, &format!("of another run, {}; left as it is", other.head.run));
    }
    run.size = most_say(ours.iter().map(|it| it.head.size));
    run.chunk_size = most_say(ours.iter().map(|it| it.head.chunk_size));
    if run.size > MOST_PROCESSES {
        let text = format!(
            "{} processes are said to be in this run; {MOST_PROCESSES} are the most",
            run.size
        );
        return Err(Error::Io(directory.into(), io::Error::other(text)));
    }
    for Candidate { rank, facts, folder, head } in ours {
        if head.rank != rank {
            notes.damage(&facts, &format!("the facts of rank {}; left as it is", head.rank));
        } else if head.size != run.size || rank >= run.size {
            let text = format!("rank {rank} of a run of {} processes", head.size);
            notes.damage(&facts, &format!("{text}, but this run had {}; left as it is", run.size));
        } else if head.chunk_size != run.chunk_size {
            let (its, of_run) = (head.chunk_size, run.chunk_size);
            let text = format!("chunks of {its} bytes, but those of this run have {of_run}");
            notes.damage(&facts, &format!("{text}; left as it is"));
        } else if let Some(known) = run.processes.get(&rank) {
            let known = known.facts.display();
            notes.damage(&facts, &format!("rank {rank} once more, beside {known}; left as it is"));
        } else {
            run.processes.insert(rank, Found { facts, folder, pid: head.pid });
        }
    }
    // Sound files that are elsewhere need no report.
    run.unreadable.retain(|rank, _| !run.processes.contains_key(rank));
    Ok(run)
}

/// Reads the head of a file that is named like a stream of facts. Returns `None` for files of other names, and with a
/// note for files that have no rank in their name or no head.
fn candidate(folder: &Path, name: &OsStr, run: &mut Run, notes: &mut Notes) -> Option<Candidate> {
    let facts = folder.join(name);
    if facts.extension() != Some(OsStr::new("facts")) {
        return None;
    }
    let Some(rank) = number(facts.file_stem()?) else {
        notes.damage(&facts, "not named after a rank; left as it is");
        return None;
    };
    match head(&facts) {
        Ok(head) => Some(Candidate { rank, facts, folder: folder.into(), head }),
        Err(error) => {
            notes.damage(&facts, &error.to_string());
            run.unreadable.insert(rank, facts);
            None
        }
    }
}

fn head(path: &Path) -> io::Result<Headed> {
    let mut bytes = Vec::new();
    files::open(path, false)?.take(HEAD).read_to_end(&mut bytes)?;
    Headed::read(&bytes).ok_or_else(|| {
        io::Error::other(match bytes.first() {
            None => "the file is empty",
            Some(_) => "byte 0: no facts of a process as this version of Dwell writes them",
        })
    })
}

/// Finds the run that a directory belongs to: the one that its run file names; otherwise the one of all streams in it;
/// otherwise the one of all streams that were found.
fn which_run(
    directory: &Path,
    own: &Path,
    candidates: &[Candidate],
) -> Result<Option<RunId>, Error> {
    let said = experiment::named_run(directory);
    if said.is_some() {
        return Ok(said);
    }
    let runs = |inside: bool| -> BTreeMap<RunId, &Path> {
        let wanted = candidates.iter().filter(|it| !inside || it.folder == own);
        wanted.map(|it| (it.head.run, it.facts.as_path())).collect()
    };
    for runs in [runs(true), runs(false)] {
        match runs.len() {
            0 => {}
            1 => return Ok(runs.into_keys().next()),
            _ => {
                let files = runs.into_values().map(Path::to_owned).collect();
                return Err(Error::SeveralRuns(files));
            }
        }
    }
    Ok(None)
}

/// Returns the number that most processes state; of numbers stated equally often, the smallest.
fn most_say(stated: impl Iterator<Item = u64>) -> u64 {
    let mut votes: BTreeMap<u64, u64> = BTreeMap::new();
    for number in stated {
        *votes.entry(number).or_default() += 1;
    }
    // Of several maxima, `max_by_key` takes the last.
    votes.into_iter().rev().max_by_key(|(_, count)| *count).map_or(0, |(number, _)| number)
}

/// Returns the rank and the thread of a file of events or rows from its name: `3.0.evt`, `3.0.now`, `3.0.rows`, or one
/// of these with the suffix `.damaged`.
fn thread_of(name: &OsStr) -> Option<(u64, u64)> {
    let name = name.to_str()?;
    let name = name.strip_suffix(".damaged").unwrap_or(name);
    let suffixes = [".evt", ".now", ".rows"];
    let name = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix))?;
    let (rank, thread) = name.split_once('.')?;
    Some((number(OsStr::new(rank))?, number(OsStr::new(thread))?))
}

/// Parses a number as Dwell writes it, without a sign or leading zeros.
fn number(text: &OsStr) -> Option<u64> {
    let text = text.to_str()?;
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_have_a_rank_and_a_thread() {
        let found = |name: &str| thread_of(OsStr::new(name));
        for name in ["3.10.evt", "3.10.now", "3.10.rows", "3.10.evt.damaged"] {
            assert_eq!(found(name), Some((3, 10)), "{name}");
        }
        for name in ["3.evt", "3.10", "03.10.evt", "3.-1.evt", "a.0.evt", "3.10.facts"] {
            assert_eq!(found(name), None, "{name}");
        }
    }

    #[test]
    fn the_number_that_most_state_counts() {
        assert_eq!(most_say([].into_iter()), 0);
        assert_eq!(most_say([4, 7, 7].into_iter()), 7);
        assert_eq!(most_say([7, 4, 4, 7].into_iter()), 4);
    }

    #[test]
    fn streams_in_the_directory_decide_before_those_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("open");
        let stream = |folder: &Path, run: u64| Candidate {
            rank: 0,
            facts: folder.join("0.facts"),
            folder: folder.into(),
            head: Headed { run: RunId(run), ..Headed::default() },
        };
        let run = |streams: &[Candidate]| which_run(folder.path(), &own, streams);
        let elsewhere = Path::new("/elsewhere");
        assert_eq!(run(&[]).unwrap(), None);
        let both = [stream(&own, 1), stream(elsewhere, 2), stream(elsewhere, 3)];
        assert_eq!(run(&both).unwrap(), Some(RunId(1)));
        assert_eq!(run(&both[1..2]).unwrap(), Some(RunId(2)));
        assert!(matches!(run(&both[1..]), Err(Error::SeveralRuns(files)) if files.len() == 2));
    }
}
