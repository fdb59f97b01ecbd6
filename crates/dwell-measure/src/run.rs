//! The beginning and the end of a recording.
//!
//! Both are collective: they talk to the other processes through the program's own runtime, between the
//! start of the runtime and its end. Whatever fails at one process, it still takes part, so that the others do not wait
//! for it in vain; and no process waits for another one without end, unless the runtime would do so too
//! ([`patience`](crate::patience)).
//!
//! An archive is completed only if all processes take part in all of it. Otherwise everything stays where `dwell
//! recover` looks for it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use dwell_model::archive;
use dwell_model::layer::Layer;
use otf2::id::LocationRef;
use otf2::write::{ArchiveWriter, EventWriter, Options};
use otf2::{def, files, map};

use crate::agree::{self, Agreement};
use crate::call::{self, Past};
use crate::clock::{self, Sample};
use crate::collate::{self, Collated};
use crate::control;
use crate::definitions;
use crate::facts::Fact;
use crate::guard::{self, Entry, guarded};
use crate::hook::{Facts, Hook, Who, paradigm};
use crate::local::Local;
use crate::meet;
use crate::mpi;
use crate::patience::{Patience, Step};
use crate::process::{self, Plan, Process};
use crate::report;
use crate::settings::Settings;
use crate::sync;
use crate::thread::Closed;
use crate::together;
use crate::unify::{self, Property, Upcalls, above};

/// What a runtime says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runtime {
    /// Its name and version, as it calls itself.
    pub name: String,
    /// The standard that it follows.
    pub interface: String,
    /// How the program may use threads.
    pub threads: String,
}

/// A recording, from the agreement on.
#[derive(Debug)]
struct Recording {
    agreement: Agreement,
    settings: Settings,
    /// Bytes of an event chunk.
    chunk: u64,
    /// Where this process has its files while they are written.
    open_files: PathBuf,
    /// What this process failed at before it began.
    failure: Option<String>,
}

impl Recording {
    /// Where this process has its files, if not in the experiment directory.
    fn scratch(&self) -> Option<&Path> {
        self.settings.scratch.is_some().then_some(self.open_files.as_path())
    }
}

/// What this process does at the end of the run, once it has been able to talk to the others.
#[derive(Debug)]
enum Part {
    /// It has nothing to give, because its recording could not begin, but the others wait for it.
    Bystander {
        /// How many nanoseconds it waits for others.
        timeout: u64,
    },
    /// It has recorded.
    Recorder(Box<Recording>),
}

static PART: Mutex<Option<Part>> = Mutex::new(None);
static STARTED: AtomicBool = AtomicBool::new(false);

fn set_part(part: Part) {
    if let Ok(mut mine) = PART.lock() {
        *mine = Some(part);
    }
}

fn take_part() -> Option<Part> {
    PART.lock().ok().and_then(|mut part| part.take())
}

/// Nanoseconds that a comparison of clocks takes at most, where nothing says how often clocks are compared.
const COMPARISON: u64 = 100_000_000;

/// Begins to record, once the runtime has started. `hook` is the call that started it, at `began`. If
/// another runtime has begun the recording it is one call more.
pub fn start<U: Upcalls>(
    hook: &'static Hook,
    began: Past,
    open: impl FnOnce(Patience) -> io::Result<U>,
    about: impl FnOnce() -> Runtime,
) {
    if STARTED.swap(true, Ordering::Relaxed) {
        if let Some(process) = process::current().filter(|process| process.is_this()) {
            process.joins(hook);
            call::past(hook, began);
        }
        return;
    }
    // Whatever goes wrong here, this process takes part in what follows, or others would wait for it.
    let read = guarded(Entry::Start, || {
        report::seen();
        Settings::from_environment()
    });
    let (settings, complaints) = read.unwrap_or_else(|| Settings::read(|_| None));
    let timeout = settings.peer_timeout;
    let mut up = match open(Patience::from_now(Step::Start, timeout)) {
        Ok(up) => up,
        Err(error) => {
            // Others may have got through, and will wait for this process at the end.
            if error.kind() == io::ErrorKind::TimedOut {
                set_part(Part::Bystander { timeout });
            }
            return report::say(&format!("nothing is recorded: {error}"));
        }
    };
    set_part(Part::Bystander { timeout });
    if up.rank() == 0 {
        complaints.iter().for_each(|text| report::say(text));
    }
    guarded(Entry::StartTogether, || start_together(&mut up, hook, began, settings, about));
}

/// The start of the recording, with all other processes.
fn start_together(
    up: &mut impl Upcalls,
    hook: &'static Hook,
    mut began: Past,
    settings: Settings,
    about: impl FnOnce() -> Runtime,
) {
    let timeout = settings.peer_timeout;
    if let Some(skew) = settings.skew {
        clock::skew(skew.times(up.rank().cast_signed()));
        began = Past { enter: began.enter.skewed(), leave: began.leave.map(Sample::skewed) };
    }
    let agreement = match Agreement::reach(up, &settings) {
        Ok(agreement) => agreement,
        Err(error) => {
            if speaks(up.rank(), &error) {
                report::say(&format!("nothing is recorded: {error}"));
            }
            return;
        }
    };
    let measured_at = clock::monotonic();
    let distance = sync::measure(up, &agreement.clock(), COMPARISON);
    let cost = clock::monotonic().saturating_sub(measured_at);
    // Whatever goes wrong with its own recording, this process takes part in what follows.
    let begun = guarded(Entry::Begin, || {
        if guard::reason().is_some() {
            return Err(guard::error());
        }
        let (process, open_files) = begin(hook, &agreement, &settings, &*up, about)?;
        process.sample(began.enter);
        if let Ok(distance) = &distance {
            process.sample_distance(distance);
        }
        process.begin(hook);
        if settings.paused {
            control::pause();
        }
        call::past(hook, began);
        Ok(open_files)
    });
    let (open_files, failure) = match begun.unwrap_or_else(|| Err(guard::error())) {
        Ok(open_files) => (open_files, None),
        Err(error) => (PathBuf::new(), Some(error.to_string())),
    };
    let prospect = meet::Prospect {
        apart: distance.is_ok_and(|distance| distance.half.is_some()),
        able: failure.is_none(),
        period: settings.clock_period,
        cost,
        timeout,
    };
    // If that fails, this process takes part in no comparison.
    let _ = meet::begin(up, hook.layer, agreement.clock(), prospect);
    let chunk = settings.chunk(up.size());
    let recording = Recording { agreement, settings, chunk, open_files, failure };
    set_part(Part::Recorder(Box::new(recording)));
}

/// Whether a process tells the user of a failure that concerns all processes. Rank 0 does, and if it cannot be reached
/// its neighbours in the tree do.
fn speaks(rank: u64, error: &io::Error) -> bool {
    rank == 0 || above(rank) == Some(0) && error.kind() == io::ErrorKind::TimedOut
}

fn begin(
    hook: &Hook,
    agreement: &Agreement,
    settings: &Settings,
    up: &impl Upcalls,
    about: impl FnOnce() -> Runtime,
) -> io::Result<(&'static Process, PathBuf)> {
    let directory = Path::new(&agreement.directory);
    let open_files = match &settings.scratch {
        Some(scratch) => {
            let name = directory.file_name().unwrap_or_default().to_string_lossy();
            let scratch = scratch.join(format!("{name}-{}", agreement.run));
            fs::create_dir_all(&scratch).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", scratch.display()))
            })?;
            scratch
        }
        None => agree::open_files(directory),
    };
    let path = open_files.to_str().ok_or_else(|| io::Error::other("a path is not UTF-8"))?;
    let program = agree::program();
    let (rank, size) = (up.rank(), up.size());
    let process = Process::prepare(&Plan {
        run: agreement.run,
        rank: rank as u32,
        size: size as u32,
        open_files: path,
        program: &program,
        chunk: settings.chunk(size) as usize,
        budget: settings.budget(size),
        memory: settings.memory,
        clock: settings.clock,
        trace: settings.trace,
        profile: settings.profile,
        unwind: settings.unwind,
        selection: settings.selection.clone(),
        window: settings.window,
    })?;
    process.define(&Fact::Process {
        rank,
        size,
        pid: std::process::id().into(),
        host: &report::host(),
        program: &program,
        layer: u8::from(paradigm(hook.layer)).into(),
    })?;
    let runtime = about();
    let shift = agreement.shift().to_string();
    let ahead = agreement.ahead.to_string();
    let mut properties = vec![
        ("RUNTIME", runtime.name),
        ("INTERFACE", runtime.interface),
        ("THREAD_LEVEL", runtime.threads),
        ("CLOCK", process.clock.describe().into()),
        ("PROGRAM", program.clone()),
        ("CLOCK_SHIFT", shift),
        ("CLOCK_AHEAD", ahead),
        ("CORES", report::cores()),
    ];
    properties.extend(report::environment());
    for (name, value) in &properties {
        if !value.is_empty() {
            process.define(&Fact::Property { name, value })?;
        }
    }
    for (name, value) in &settings.effective {
        process.define(&Fact::Property { name, value })?;
    }
    Ok((process, open_files))
}

/// How a process comes to the end of its recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By a call of the runtime that is collective: it would wait for all processes by itself, and so does the recorder.
    Collective,
    /// By its own exit: other processes may come late or never, so they are waited for within the deadline.
    Alone,
}

/// Ends the recording, while the runtime still runs. `hook` is the call that will end the runtime; it is recorded with
/// the barrier of its arrival. Returns whether all processes went through to the end, so that nothing is left
/// between them.
///
/// Of several runtimes in one program the first to end ends the recording: Open MPI's OpenSHMEM takes MPI
/// with it.
pub fn finish<U: Upcalls>(
    hook: &'static Hook,
    ending: Ending,
    open: impl Fn(Patience) -> io::Result<U>,
) -> bool {
    let Some(part) = take_part() else { return true };
    let timeout = match &part {
        Part::Bystander { timeout } => *timeout,
        Part::Recorder(recording) => recording.settings.peer_timeout,
    };
    let arrival = match ending {
        Ending::Collective => Patience::endless(Step::End),
        Ending::Alone => Patience::from_now(Step::End, timeout),
    };
    let arrived = AtomicBool::new(false);
    let ended = guarded(Entry::Finish, || {
        finish_together(part, hook, timeout, || {
            let up = open(arrival);
            arrived.store(true, Ordering::Relaxed);
            up
        })
    });
    ended.unwrap_or_else(|| {
        // The others wait for this process, if not for what it has recorded.
        if !arrived.load(Ordering::Relaxed) {
            let failed = Err(guard::error());
            let up = open(arrival);
            let _ = up.and_then(|mut up| together::agree(&mut up, failed));
        }
        false
    })
}

/// The end of the recording, with all other processes.
fn finish_together<U: Upcalls>(
    part: Part,
    hook: &'static Hook,
    timeout: u64,
    open: impl FnOnce() -> io::Result<U>,
) -> bool {
    meet::end();
    let able = match &part {
        Part::Bystander { .. } => Err(io::Error::other("the recording did not begin here")),
        Part::Recorder(_) => Ok(()),
    };
    let arrive = || {
        let mut up = open()?;
        let arrived = together::agree(&mut up, able);
        if arrived.is_err() {
            up.leave();
        }
        Ok((up, arrived))
    };
    let arrived: io::Result<(U, io::Result<()>)> = if hook.layer == Layer::Mpi {
        mpi::finalise(hook, arrive)
    } else {
        let facts = Facts { who: Who::World, ..Facts::NONE };
        let call = call::begin(hook, &facts);
        let arrived = arrive();
        if let Some(call) = call {
            call::end(call, hook, &facts, 0);
        }
        arrived
    };
    let Part::Recorder(recording) = part else { return arrived.is_ok() };
    let process = process::current();
    let closed = process.map(Process::end).unwrap_or_default();
    let ended = arrived.and_then(|(mut up, arrived)| {
        arrived?;
        up.set_patience(Patience::from_now(Step::End, timeout));
        let distance = sync::measure(&mut up, &recording.agreement.clock(), COMPARISON);
        if let (Some(process), Ok(distance)) = (process, &distance) {
            guarded(Entry::Sample, || process.sample_distance(distance));
        }
        let conclusion = Conclusion { recording: &recording, closed };
        conclusion.reach(&mut up, process).inspect_err(|_| up.leave())
    });
    let Err(error) = ended else { return true };
    if let Some(process) = process {
        let _ = process.define(&Fact::End { how: "incomplete" });
    }
    if speaks(process.map_or(0, Process::rank).into(), &error) {
        report::incomplete(&recording.agreement.directory, recording.scratch(), &error);
    }
    false
}

/// The end of a process that has not called the end of its runtime: what it wrote is kept for `dwell
/// recover`.
pub fn exit() {
    let (Some(process), Some(Part::Recorder(recording))) = (process::current(), take_part()) else {
        let began = STARTED.load(Ordering::Relaxed) && guard::reason().is_none();
        if !began && process::current().is_none() {
            report::not_measured();
        }
        return;
    };
    if !process.is_this() {
        return; // The files are its parent's.
    }
    process.end();
    let _ = process.define(&Fact::End { how: "exit" });
    if process.rank() == 0 {
        let why = io::Error::other("the program ended without ending its runtime");
        report::incomplete(&recording.agreement.directory, recording.scratch(), &why);
    }
}

/// All that is left to do together when nothing more is recorded.
struct Conclusion<'e> {
    recording: &'e Recording,
    closed: Vec<io::Result<Closed>>,
}

impl Conclusion<'_> {
    /// Makes one archive of the files of all processes.
    ///
    /// # Errors
    /// Why the archive is not complete, the same at all processes that can be reached. Everything is left for
    /// recovery then.
    fn reach(&self, up: &mut impl Upcalls, process: Option<&Process>) -> io::Result<()> {
        // Each process takes all steps that others wait for, whatever goes wrong with its own part of them.
        let (local, read) = match own(|| Ok(self.local(process))) {
            Ok(local) => (local, Ok(())),
            Err(error) => (Local::default(), Err(error)),
        };
        let unified = unify::unify(up, local.shared.clone(), local.process.clone());
        together::agree(up, read.and(everyone_is_there(&unified)))?;
        let unified = unified?;
        let collated = self.collate(up, &local, &unified);
        let placed = match &collated {
            // All that a process has is in a block, so it has no files of its own.
            Ok(_) if !self.recording.settings.trace => Ok(()),
            Ok(_) => own(|| self.place(&local, &unified)),
            // Rows that are in no block: `dwell` finds them where they are brought to, one file a thread.
            Err(_) => own(|| {
                self.place(&local, &unified)?;
                self.place_rows(&local, unified.first_location)
            }),
        };
        // The archive is complete when all files are in their places, so rank 0 writes its anchor after that; and
        // each process removes what it was made from after that.
        together::agree(up, placed)?;
        let written = unified.global.as_ref().map_or(Ok(()), |global| {
            let received: u64 = unified.traffic.iter().map(|round| round.received).sum();
            let how = format!("{} rounds, {received} bytes received by rank 0", unified.rounds);
            own(|| self.complete(global, &local, &how, collated.as_ref().ok()))
        });
        together::agree(up, written)?;
        guarded(Entry::Close, || self.clean_up(&local, collated.is_ok()));
        let cleaned = together::agree(up, Ok(()));
        if let Some(global) = &unified.global {
            let directory = &self.recording.agreement.directory;
            let _ = fs::remove_file(agree::run_file(Path::new(directory)));
            let _ = fs::remove_dir(agree::open_files(Path::new(directory)));
            // Empty, if there is only a profile.
            let _ = fs::remove_dir(Path::new(directory).join("traces"));
            report::end(directory, global, self.recording.settings.trace);
            if let (true, Err(error)) = (self.recording.agreement.profile, &collated) {
                report::say(&format!(
                    "the profile is put together when it is first looked at, not here: {error}"
                ));
            }
        }
        // The archive is complete, whoever has gone meanwhile.
        drop(cleaned);
        Ok(())
    }

    /// Puts the rows of all processes together, if they agreed on a profile.
    ///
    /// # Errors
    /// Why rows of this process are in no block.
    fn collate(
        &self,
        up: &mut impl Upcalls,
        local: &Local,
        unified: &unify::Unified,
    ) -> io::Result<Collated> {
        let Recording { agreement, open_files, settings, .. } = self.recording;
        if !agreement.profile {
            return Err(io::Error::other("no profile was asked for"));
        }
        let folder = Path::new(&agreement.directory).join(PROFILE);
        let mut missing = None;
        let mut has_memory = Some(unified);
        if settings.memory < collate::MEMORY {
            let text = format!("--max-memory leaves less than {} MiB", collate::MEMORY >> 20);
            missing = Some(io::Error::other(text));
            has_memory = None;
        }
        let parts = has_memory
            .into_iter()
            .flat_map(|unified| parts(local, unified.first_location, &unified.maps, open_files));
        // What cannot be read is left to `dwell`, with all else of this process.
        let parts = parts.filter_map(|part| part.map_err(|error| missing = Some(error)).ok());
        let mut write = |first, block: &[u8]| collate::place(&folder, first, block);
        let mut collated = collate::collate(up, parts, collate::ENOUGH, &mut write);
        let written = std::mem::replace(&mut collated.written, Ok(()));
        missing.map_or(written, Err).map(|()| collated)
    }

    /// Brings the rows of this process to where `dwell` looks for them.
    fn place_rows(&self, local: &Local, first: LocationRef) -> io::Result<()> {
        let Recording { agreement, open_files, .. } = self.recording;
        place_rows(local, first, Path::new(&agreement.directory), open_files)
    }

    /// Removes the facts of this process, once the archive has them, and its rows, if blocks have them.
    fn clean_up(&self, local: &Local, collated: bool) {
        let Recording { open_files, settings, .. } = self.recording;
        if collated {
            for id in 0..local.process.threads.len() {
                let _ = fs::remove_file(rows(local, id as u64, open_files));
            }
        }
        if local.size > 0 {
            let _ = fs::remove_file(open_files.join(format!("{}.facts", local.process.rank)));
        }
        if settings.scratch.is_some() {
            // The last process of the node to come by succeeds.
            let _ = fs::remove_dir(open_files);
        }
    }

    /// What this process has to say: nothing, if it never began.
    fn local(&self, process: Option<&Process>) -> Local {
        let failure = self.recording.failure.clone();
        let mut local = match process {
            Some(process) => {
                let path = self.recording.open_files.join(format!("{}.facts", process.rank()));
                Local::read(&path).unwrap_or_default()
            }
            None => Local::default(),
        };
        local.shift(self.recording.agreement.shift());
        for closed in self.closed.iter().flatten() {
            if let Some(thread) = local.process.threads.get_mut(closed.id as usize) {
                (thread.events, thread.lost) = (closed.events, closed.bypassed);
            }
        }
        local.process.stand_in();
        let sum = |of: fn(&Closed) -> u64| self.closed.iter().flatten().map(of).sum();
        let (calls, left_out) = (sum(|closed| closed.calls), sum(|closed| closed.left_out));
        let [residual, half, near] = local.doubt();
        let (threads, unseen) = process.map(Process::unrecorded).unwrap_or_default();
        let (lost, uncounted) = process.map(|process| process.head.lost()).unwrap_or_default();
        local.process.numbers = numbers(&[
            (CALLS, calls),
            (LEFT_OUT, left_out),
            (LOST, lost),
            (UNCOUNTED, u64::from(uncounted || failure.is_some())),
            (RESIDUAL, residual),
            (HALF, half),
            (NEAR, near),
            (BYTES, self.bytes(&local)),
            (THREADS, threads),
            (UNSEEN, unseen),
        ]);
        let stopped = process.and_then(Process::failure).map(|failure| failure.to_string());
        for value in stopped.into_iter().chain(failure) {
            local.shared.add_property(Property { name: "STOPPED".into(), value });
        }
        local
    }

    /// How long the files of this process are: asked by each for itself, not by rank 0 for all.
    fn bytes(&self, local: &Local) -> u64 {
        let open_files = &self.recording.open_files;
        let length = |path: PathBuf| path.metadata().map_or(0, |it| it.len());
        let ids = 0..local.process.threads.len() as u64;
        ids.map(|id| {
            let events = open_files.join(format!("{}.{id}.evt", local.process.rank));
            length(events) + length(rows(local, id, open_files))
        })
        .sum()
    }

    /// Brings the files of this process to where the archive has them.
    fn place(&self, local: &Local, unified: &unify::Unified) -> io::Result<()> {
        let Recording { agreement, open_files, chunk, .. } = self.recording;
        let directory = Path::new(&agreement.directory);
        let options = options(*chunk, unified.locations);
        place(local, unified.first_location, &unified.maps, directory, open_files, &options)
    }

    /// Makes an archive of all files, at rank 0. `unification` says how it came about.
    fn complete(
        &self,
        global: &unify::Global,
        local: &Local,
        unification: &str,
        collated: Option<&Collated>,
    ) -> io::Result<()> {
        let Recording { agreement, chunk, .. } = self.recording;
        let directory = Path::new(&agreement.directory);
        let mut options = options(*chunk, global.locations());
        options.properties = properties(global, "complete");
        let threads = global.processes().flat_map(|(_, process)| process.threads);
        let bypassed: u64 = threads.map(|thread| thread.lost).sum();
        if bypassed > 0 {
            let value =
                format!("{bypassed} calls of signal handlers that interrupted the recorder");
            options.properties.push(("DWELL::BYPASSED".into(), value));
        }
        options.properties.extend(clock_properties(global));
        let left_out = report::total(global, LEFT_OUT);
        if left_out > 0 {
            options.properties.push(("DWELL::LEFT_OUT".into(), format!("{left_out} calls")));
        }
        options.properties.extend(loss_properties(global));
        options.properties.push(("DWELL::UNIFICATION".into(), unification.into()));
        if let Some(Collated { rounds, traffic, .. }) = collated {
            let received: u64 = traffic.iter().map(|round| round.received).sum();
            let how = format!("{rounds} rounds, {received} bytes received by rank 0");
            options.properties.push(("DWELL::COLLATION".into(), how));
        }
        options.machine = report::host();
        options.description = local.program.clone();
        complete(global, directory, options, agreement.ahead).map_err(other)
    }
}

/// Runs a part of the end that concerns the own process alone.
fn own<T>(part: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    guarded(Entry::Close, part).unwrap_or_else(|| Err(guard::error()))
}

/// Whether rank 0 got the definitions of all processes, or another process learned where its own went.
fn everyone_is_there(unified: &io::Result<unify::Unified>) -> io::Result<()> {
    let unified = match unified {
        Ok(unified) => unified,
        Err(error) => return Err(io::Error::new(error.kind(), error.to_string())),
    };
    match unified.global.as_ref().and_then(|global| global.missing().first().cloned()) {
        Some(ranks) => {
            Err(io::Error::other(format!("process {} sent no definitions", ranks.start)))
        }
        None => Ok(()),
    }
}

/// Places of numbers that a process tells: calls recorded, calls left out and followed, calls lost for
/// want of room.
pub(crate) const CALLS: usize = 0;
pub(crate) const LEFT_OUT: usize = 1;
pub(crate) const LOST: usize = 2;
/// How far wrong times may be against those of rank 0, and half of the shortest round trip between nodes and
/// on one.
pub(crate) const RESIDUAL: usize = 3;
pub(crate) const HALF: usize = 4;
pub(crate) const NEAR: usize = 5;
/// Bytes of its files.
pub(crate) const BYTES: usize = 6;
/// Threads that were not recorded, and calls that they made.
pub(crate) const THREADS: usize = 7;
pub(crate) const UNSEEN: usize = 8;
/// 1 if calls were lost that nobody counted.
pub(crate) const UNCOUNTED: usize = 9;

/// Numbers in their places, nothing where there is none.
pub(crate) fn numbers(told: &[(usize, u64)]) -> Vec<u64> {
    let mut numbers = vec![0; UNCOUNTED + 1];
    for &(place, number) in told {
        if let Some(slot) = numbers.get_mut(place) {
            *slot = number;
        }
    }
    numbers
}

/// What an archive says about calls that it does not have.
pub(crate) fn loss_properties(global: &unify::Global) -> impl Iterator<Item = (String, String)> {
    let lost = report::lost(global).map(|lost| (archive::LOST.into(), lost));
    let unrecorded = report::unrecorded(global);
    lost.into_iter().chain(unrecorded.map(|it| (archive::UNRECORDED.into(), it)))
}

/// What an archive says about the clocks of its nodes, if there are several, and how fast messages are.
pub(crate) fn clock_properties(global: &unify::Global) -> Vec<(String, String)> {
    let of = |place: usize| {
        let numbers = global.processes().filter_map(move |(_, it)| it.numbers.get(place).copied());
        numbers.filter(|number| *number > 0)
    };
    let told = [
        (archive::CLOCK_RESIDUAL, of(RESIDUAL).max()),
        (archive::LATENCY, of(HALF).min()),
        (archive::LATENCY_ON_NODE, of(NEAR).min()),
    ];
    told.into_iter().filter_map(|(name, it)| Some((name.into(), it?.to_string()))).collect()
}

/// How archives of the recorder are written.
pub fn options(chunk: u64, locations: u64) -> Options {
    Options {
        events_chunk: chunk,
        defs_chunk: Options::defs_chunk_for(locations),
        creator: format!("Dwell {}", env!("CARGO_PKG_VERSION")),
        trace_id: crate::clock::realtime() | 1,
        ..Options::default()
    }
}

/// Brings the files of one process to where the archive has them: renames its event files, or copies
/// them from another file system, and writes its mapping tables and clock.
///
/// # Errors
/// If files cannot be moved or written.
pub fn place(
    local: &Local,
    first: LocationRef,
    maps: &unify::Maps,
    directory: &Path,
    open_files: &Path,
    options: &Options,
) -> io::Result<()> {
    let archive = ArchiveWriter::join(directory, "traces", options.clone()).map_err(other)?;
    let tables = local.tables(maps);
    for id in 0..local.process.threads.len() as u64 {
        let location = LocationRef(first.0 + id);
        let from = open_files.join(format!("{}.{id}.evt", local.process.rank));
        let to = directory.join("traces").join(format!("{}.evt", location.0));
        // Recovery may come a second time, and find it there; a location that stands in has none.
        let there = !files::is_regular(&from) && files::is_regular(&to);
        if !there && !files::is_regular(&from) {
            archive.events(location).and_then(EventWriter::finish).map_err(other)?;
        } else if !there {
            bring(&from, &to)?;
        }
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
    Ok(())
}

/// The folder of an experiment that has the rows of its profile, by location.
pub const PROFILE: &str = "profile";

/// The rows of a thread, while they are written.
pub(crate) fn rows(local: &Local, id: u64, open_files: &Path) -> PathBuf {
    open_files.join(format!("{}.{id}.rows", local.process.rank))
}

/// Brings the profiles of the threads of a process to where `dwell` looks for them, if there are any.
///
/// # Errors
/// If files cannot be moved.
pub fn place_rows(
    local: &Local,
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

/// The profiles of the threads of a process as they travel, if there are any.
pub fn parts<'a>(
    local: &'a Local,
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
        let part = collate::part(LocationRef(first.0 + id), &bytes, &translate);
        Some(part.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no rows of a profile")))
    })
}

/// Renames a file, or copies it to another file system.
fn bring(from: &Path, to: &Path) -> io::Result<()> {
    let Err(error) = fs::rename(from, to) else { return Ok(()) };
    if error.kind() != io::ErrorKind::CrossesDevices {
        let text = format!("{} to {}: {error}", from.display(), to.display());
        return Err(io::Error::new(error.kind(), text));
    }
    // What is there under the name of the copy is replaced, and not written to if it is a link.
    let unfinished = files::unfinished(to);
    let mut copy = files::create(&unfinished)?;
    io::copy(&mut files::open(from, false)?, &mut copy)?;
    fs::rename(&unfinished, to)?;
    fs::remove_file(from)
}

/// Writes the global definitions and the anchor, which make an archive of event files.
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

/// What the anchor of the archive says about the run.
pub fn properties(global: &unify::Global, state: &str) -> Vec<(String, String)> {
    let mut properties: Vec<(String, String)> = vec![("DWELL::STATE".into(), state.into())];
    for Property { name, value } in global.shared().properties() {
        let name = format!("DWELL::{name}");
        match properties.iter_mut().find(|(known, _)| *known == name) {
            // Where processes differ, all values are told, within reason.
            Some((_, known)) if known.len() < 1000 => *known = format!("{known}; {value}"),
            Some(_) => {}
            None => properties.push((name, value.clone())),
        }
    }
    properties
}

#[allow(clippy::needless_pass_by_value)] // As `map_err` wants it.
fn other(error: otf2::Error) -> io::Error {
    io::Error::other(error.to_string())
}
