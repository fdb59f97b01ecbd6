//! What the threads of a run are in, from the files that every process keeps mapped while it records.
//!
//! The run may be alive, hang, or have died. Nothing is written and no lock is taken. Of each thread the last two chunks are
//! read: what is open there, and what it did last to locks and to words of others. [`graph`] concludes from it who waits
//! for whom.
//!
//! A chunk is filled while it is read. Its events end with a mark that moves behind each event when that is complete, so
//! a copy has whole events only, unless the memory was used for another chunk meanwhile. Then it is read again.

pub mod graph;
mod thread;

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use dwell_model::archive::{LEFT_OUT, Meaning, SAMPLED, SUMMED_UP};
use otf2::files;

use crate::experiment::{self, MOST_PROCESSES};
use crate::process_facts::ProcessFacts;
use crate::stage;
use crate::unify::Region;
pub use thread::{About, Call, Epoch, Everyone, Lock, LockState, Thread};

/// Number of times that a chunk is read again which changed while it was read.
const TRIES: usize = 3;

/// Number of bytes that are read at once.
const BLOCK: u64 = 1 << 16;

/// Length of the header of a chunk.
const HEADER: usize = 18;

/// A run as its files show it.
#[derive(Debug, Default)]
pub struct Live {
    /// Number of processes of the run.
    pub size: u64,
    /// Processes with files, by rank.
    pub processes: Vec<Process>,
    /// Files that could not be read, with the reason.
    pub unreadable: Vec<String>,
}

/// A process and its threads.
#[derive(Debug)]
pub struct Process {
    /// Definitions of the ids in the calls, and identity of the process.
    pub facts: ProcessFacts,
    /// Name of the node.
    pub host: String,
    /// Threads, the main one first.
    pub threads: Vec<Thread>,
    /// Time at which its events changed last, as far as that has arrived on this node.
    pub changed: Option<SystemTime>,
    /// Canonical path of its facts, which the process has mapped as long as it records.
    file: PathBuf,
}

/// State of a process of the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It runs, or waits for something.
    Alive,
    /// A signal or a debugger has stopped it.
    Stopped,
    /// It is not there any more.
    Gone,
}

impl Process {
    /// Makes a process of its facts and the last chunks of each of its threads. It is not [`State::Alive`] for anyone.
    pub fn of(facts: ProcessFacts, chunks: impl Fn(usize) -> Vec<Vec<u8>>) -> Self {
        let host = facts.shared.host(facts.process.host).map(|it| it.name.clone());
        let numbers = 0..facts.process.threads.len();
        let threads = numbers.map(|it| Thread::of(it as u64, &chunks(it), &facts)).collect();
        let (host, file) = (host.unwrap_or_default(), PathBuf::new());
        Self { facts, host, threads, changed: None, file }
    }

    /// Returns the rank of the process.
    pub fn rank(&self) -> u64 {
        self.facts.process.rank
    }

    /// Returns `true` if the program has made or ended a call since `before`, when the same process was read.
    pub fn has_moved_since(&self, before: &Self) -> bool {
        let known = |it: &Thread| before.threads.iter().find(|known| known.number == it.number);
        self.threads.iter().any(|it| known(it).is_none_or(|known| it.has_moved_since(known)))
    }

    /// Returns `true` if what the process does besides its main thread, or without being recorded, cannot matter for its waits:
    /// one thread records, it records at present, and every call by which processes wait for each other.
    pub fn tells_all(&self) -> bool {
        let ProcessFacts { head, shared, .. } = &self.facts;
        let left_out = |it: &Region| {
            let says = [SUMMED_UP, LEFT_OUT, SAMPLED].iter().any(|what| it.meaning.contains(what));
            says && Meaning::parse(&it.meaning).is_some_and(|it| graph::is_for_others(it.operation))
        };
        let recorded = self.threads.iter().filter(|it| it.events > 0);
        head.stopped.is_none()
            && (head.lost.0, head.missed.0) == (0, 0)
            && recorded.clone().count() == 1
            && !recorded.into_iter().any(|it| it.is_paused)
            && !shared.regions().iter().any(left_out)
    }

    /// Returns the state of the process, which must belong to this node. `None` if another user may not see it.
    pub fn state(&self) -> Option<State> {
        let pid = self.facts.process.pid;
        let maps = File::open(format!("/proc/{pid}/maps"));
        if maps.is_err_and(|it| it.kind() == io::ErrorKind::PermissionDenied) {
            return None;
        }
        if !experiment::is_mapped(&self.file, pid.into()) {
            return Some(State::Gone);
        }
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name of the program comes before it and may contain anything.
        let state = stat.rsplit_once(") ").and_then(|it| it.1.chars().next());
        Some(match state {
            Some('T' | 't') => State::Stopped,
            Some('Z' | 'X') | None => State::Gone,
            Some(_) => State::Alive,
        })
    }

    /// Returns a time of the recorder on the monotonic clock of the node, in nanoseconds.
    pub fn monotonic(&self, time: u64) -> u64 {
        let ahead = self.facts.clock.last().map_or(0, |it| it.1);
        time.wrapping_add_signed(ahead)
    }
}

/// Reads what the processes of a run are in. Files of other runs in the directory are left out.
///
/// # Errors
/// Fails if the directory cannot be read. A run without files that are being written has no processes.
pub fn read(directory: &Path) -> io::Result<Live> {
    let folder = experiment::open_files(directory);
    let mut live = Live::default();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(live),
        Err(error) => return Err(error),
    };
    let run = experiment::named_run(directory);
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|it| it != "facts")
            || live.processes.len() as u64 >= MOST_PROCESSES
        {
            continue;
        }
        match process(&path) {
            Ok(it) if run.is_some_and(|run| run != it.facts.head.run) => {}
            Ok(it) => live.processes.push(it),
            Err(error) => live.unreadable.push(format!("{}: {error}", path.display())),
        }
    }
    live.processes.sort_by_key(Process::rank);
    live.processes.dedup_by_key(|it| it.rank());
    let sizes = live.processes.iter().map(|it| it.facts.size);
    live.size = sizes.max().unwrap_or(0).min(MOST_PROCESSES);
    let size = live.size;
    live.processes.retain(|it| it.rank() < size);
    Ok(live)
}

/// Reads a process again.
///
/// # Errors
/// Fails if its files cannot be read, as when the run has ended.
pub fn again(known: &Process) -> io::Result<Process> {
    process(&known.file)
}

fn process(path: &Path) -> io::Result<Process> {
    let facts = ProcessFacts::read(path)?;
    let (rank, size) = (facts.process.rank, facts.head.chunk_size);
    let folder = path.parent().unwrap_or(Path::new("."));
    let changed = Cell::new(None);
    let chunks = |number: usize| {
        let events = folder.join(format!("{rank}.{number}.evt"));
        last_chunks(&events, size, &changed).unwrap_or_default()
    };
    let process = Process::of(facts, chunks);
    Ok(Process { file: path.canonicalize()?, changed: changed.get(), ..process })
}

/// Reads the chunk that a thread is filling and the one before it, in their order. They are in the event file or, the one that
/// is being filled, in a file of its own. `changed` becomes the time of their last change, if that is later.
fn last_chunks(
    events: &Path,
    size: u64,
    changed: &Cell<Option<SystemTime>>,
) -> io::Result<Vec<Vec<u8>>> {
    if !(otf2::chunk::MIN_SIZE..=otf2::chunk::MAX_SIZE).contains(&size) {
        return Ok(Vec::new());
    }
    let mut chunks: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut add = |chunk: Vec<u8>| {
        if let Some(first) = first_event(&chunk)
            && chunks.iter().all(|it| it.0 != first)
        {
            chunks.push((first, chunk));
        }
    };
    // The place of the chunk that is being filled may have an older part of it.
    if let Ok(mut file) = files::open(&stage::path(events), false) {
        changed.set(changed.get().max(file.metadata()?.modified().ok()));
        add(at(&mut file, 0, size)?);
    }
    let mut file = files::open(events, false)?;
    let about = file.metadata()?;
    changed.set(changed.get().max(about.modified().ok()));
    let places = about.len().div_ceil(size);
    for place in (0..places).rev().take(2) {
        add(at(&mut file, place * size, size)?);
    }
    chunks.sort_by_key(|it| it.0);
    let before = chunks.len().saturating_sub(2);
    Ok(chunks.into_iter().skip(before).map(|it| it.1).collect())
}

/// Reads a chunk, again if its memory was used for another one meanwhile.
fn at(file: &mut File, offset: u64, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for _ in 0..TRIES {
        bytes.clear();
        file.seek(SeekFrom::Start(offset))?;
        // Behind a block of zeros a chunk has no events.
        while (bytes.len() as u64) < size {
            let before = bytes.len();
            let most = BLOCK.min(size - before as u64);
            file.take(most).read_to_end(&mut bytes)?;
            let block = bytes.get(before..).unwrap_or_default();
            if block.iter().all(|it| *it == 0) {
                break;
            }
        }
        let mut header = Vec::new();
        file.seek(SeekFrom::Start(offset))?;
        file.take(HEADER as u64).read_to_end(&mut header)?;
        if first_event(&bytes) == first_event(&header) {
            break;
        }
    }
    Ok(bytes)
}

/// Returns the number of the first event of a chunk, or `None` if it was not begun.
fn first_event(chunk: &[u8]) -> Option<u64> {
    chunk.first_chunk().and_then(otf2::chunk::Header::read).map(|it| it.first)
}
