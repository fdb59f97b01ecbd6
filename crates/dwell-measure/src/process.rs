//! The state that all threads of a measured process share.
#![allow(unsafe_code)] // The process is a leaked value behind a pointer; the C library is called.

use std::ffi::CStr;
use std::fmt;
use std::io;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use dwell_model::layer::Ranks;
use dwell_model::wrappers::Wrappers;
use dwell_unify::clock_correction::Distance;
use dwell_unify::facts::Fact;
use dwell_unify::stream::{BLOCK, RunId};
use otf2::enums::{Paradigm, RegionRole};
use otf2::id::{RegionRef, RmaWinRef};

use crate::clock::{self, Clock};
use crate::cost;
use crate::counters::Counting;
use crate::entry::{self, Anchor, Quiet};
use crate::filter::{Details, Selection};
use crate::hook::{Hook, paradigm};
use crate::locations::Locations;
use crate::lock::Lock;
use crate::memory::Filling;
use crate::modules::{self, MOST, Range};
use crate::settings::TAIL;
use crate::sites::Sites;
use crate::stream::{Head, Stream};
use crate::symmetric::Symmetric;
use crate::unwind::{self, Rules};
use crate::windows::{Strided, Window, Windows};
use crate::wrapping::{Functions, Wrapping};

mod define;
mod topologies;

pub use topologies::{DIMENSIONS, Dimension};

/// The region of the program itself, which is defined before all others.
pub(crate) const PROGRAM: RegionRef = RegionRef(0);

/// A process that is being recorded. There is at most one in a process of the operating system; it is never freed,
/// since hooks may reach it until the very end.
#[derive(Debug)]
pub struct Process {
    rank: u32,
    size: u32,
    /// Id of the process that records. A forked child has a copy of all this and must not touch it.
    pid: u32,
    pub(crate) clock: Clock,
    /// Number of frames of the program that are recorded above a call; 0 for none.
    pub(crate) unwind: usize,
    pub(crate) rules: Option<Rules>,
    /// Libraries that wrap a runtime: those that may be there, and what is known of them once one is.
    wrappers: Wrappers<'static>,
    pub(crate) wrapping: OnceLock<Wrapping>,
    /// Selection of the calls to record.
    pub(crate) selection: Selection,
    /// Calls that take less than this, in nanoseconds, may be aggregated; 0 if none are.
    pub(crate) short: u64,
    pub(crate) has_trace: bool,
    pub(crate) has_profile: bool,
    /// Counters that are sampled. Set before the recording begins, or never.
    pub(crate) counting: OnceLock<Counting>,
    start_after: u64,
    end_after: u64,
    /// Time at which recording began.
    began: AtomicU64,
    /// Directory of the files that are being written.
    open_files: String,
    /// Path of the program, which the loader does not tell.
    program: String,
    chunk: usize,
    /// Memory in which chunks are filled after the first of a thread.
    pub(crate) filling: Filling,
    /// Bytes that events may take, and bytes that they have taken.
    budget: u64,
    taken: AtomicU64,
    /// Bytes of memory that recording may take, and bytes that threads have taken.
    memory: u64,
    memory_taken: AtomicU64,
    stream: Lock<Definitions>,
    /// Numbers that survive a kill: calls that are lost, why recording stopped.
    pub(crate) head: Head,
    pub(crate) sites: Sites,
    /// Numbers of the regions of the program's own code, by address or by a hash of their names.
    code: Sites,
    /// Numbers of parameters, counters and texts, each counted apart, by a hash of their names.
    names: Sites,
    pub(crate) windows: Windows,
    pub(crate) symmetric: Symmetric,
    /// Set once an operation has acted on static data.
    pub(crate) has_static_windows: AtomicBool,
    pub(crate) locations: Locations,
    last_sample: AtomicU64,
    failure: Lock<Option<Failure>>,
}

/// The stream of facts, and counters of the definitions in it.
#[derive(Debug)]
struct Definitions {
    stream: Stream,
    regions: u32,
    groups: u32,
    comms: u32,
    parameters: u32,
    counters: u32,
    texts: u32,
    topologies: u32,
    modules: [Range; MOST],
    module_count: usize,
}

/// Reason for which the recording ended before the program did, such as a full disk. The program itself continues, and
/// the archive states the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Description of the action that failed, for a message.
    pub what: &'static str,
    /// Error number of the system, or 0 if the failure did not come from the system.
    pub errno: i32,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)?;
        if self.errno == 0 {
            return Ok(());
        }
        // As `io::Error` has it, but without allocating: this may be inside of the program's allocator.
        let mut text = [0_u8; 128];
        // SAFETY: as many bytes as is said; the text ends in zero.
        unsafe { libc::strerror_r(self.errno, text.as_mut_ptr().cast(), text.len()) };
        let text = CStr::from_bytes_until_nul(&text).ok().and_then(|text| text.to_str().ok());
        match text {
            Some(text) => write!(f, ": {text}"),
            None => write!(f, ": error {}", self.errno),
        }
    }
}

static CURRENT: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());

/// Returns the measured process once its recording has begun, and `None` before. It stays available after the recording
/// has ended.
pub fn current() -> Option<&'static Process> {
    // SAFETY: either null, or a leaked value, published after it was complete.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
}

/// Everything that [`Process::prepare`] needs to know. The processes of a run have agreed on it.
#[derive(Clone, Debug)]
pub struct Plan<'p> {
    /// The run that the process belongs to.
    pub run: RunId,
    /// Rank of the process in the run.
    pub rank: u32,
    /// Number of processes of the run.
    pub size: u32,
    /// Directory for the files that the process writes while it records.
    pub open_files: &'p str,
    /// Path of the program, which is the name of the region around all calls.
    pub program: &'p str,
    /// Size of an event chunk, in bytes. It is the same at all processes, and a multiple of the page size.
    pub chunk: usize,
    /// Memory in which chunks are filled after the first of a thread.
    pub filling: Filling,
    /// Largest size of all events of the process, in bytes. Recording stops when it is used up, and calls are only
    /// counted.
    pub budget: u64,
    /// Largest amount of memory that recording may take, in bytes. Threads for which none is left are not recorded.
    pub memory: u64,
    /// Clock from which the recorder reads time.
    pub clock: clock::Source,
    /// Set if events are written to a trace.
    pub trace: bool,
    /// Set if events are summed up in a profile.
    pub profile: bool,
    /// Number of frames of the program that are recorded above a call; 0 for none.
    pub unwind: usize,
    /// Set if threads are sampled.
    pub samples: bool,
    /// Libraries that wrap a runtime, in addition to those that are known: patterns separated by commas.
    pub wrappers: &'p str,
    /// Filter and groups that select the calls to record.
    pub selection: Selection,
    /// Beginning and end of the recording, in nanoseconds after [`Process::begin`].
    pub window: (u64, u64),
}

/// Largest amount of heap memory of the recorder, in bytes: names and paths, communicators, windows.
const HEAP: usize = 256 * 1024;

/// Part of what is left of the budget that a file for filling chunks may take, as a divisor.
const STAGE_SHARE: u64 = 16;

/// Marks the number of a call site where an address is expected.
pub(crate) const LOOKED_UP: usize = 1 << 63;

/// Shortest time between two clock samples, in nanoseconds.
const BETWEEN_SAMPLES: u64 = 1_000_000_000;

impl Process {
    /// Prepares the recording: creates the stream of facts and allocates the tables. [`Process::begin`] switches the
    /// recording on.
    ///
    /// # Errors
    /// If files cannot be created, or there is not enough memory.
    pub fn prepare(plan: &Plan<'_>) -> io::Result<&'static Self> {
        let path = Path::new(plan.open_files).join(format!("{}.facts", plan.rank));
        let (rank, size) = (plan.rank.into(), plan.size.into());
        let stream = Stream::create(&path, plan.run, rank, size, plan.chunk as u64)?;
        let head = stream.head();
        let definitions = Definitions {
            stream,
            regions: PROGRAM.0 + 1,
            groups: 0,
            comms: 0,
            parameters: 0,
            counters: 0,
            texts: 0,
            topologies: 0,
            modules: [Range::default(); MOST],
            module_count: 0,
        };
        Ok(Box::leak(Box::new(Self {
            rank: plan.rank,
            size: plan.size,
            pid: std::process::id(),
            clock: Clock::start(plan.clock),
            unwind: plan.unwind.min(unwind::DEPTH),
            rules: if plan.unwind > 0 || plan.samples { Some(Rules::new()?) } else { None },
            wrappers: Wrappers::new(match plan.wrappers {
                "" => "",
                more => String::from(more).leak(),
            }),
            wrapping: OnceLock::new(),
            selection: plan.selection.clone(),
            short: match plan.selection.overhead {
                0 => 0,
                part => (cost::of_a_call() * 10_000.0 / f64::from(part)) as u64 + 1,
            },
            has_trace: plan.trace,
            has_profile: plan.profile,
            counting: OnceLock::new(),
            start_after: plan.window.0,
            end_after: plan.window.1,
            began: AtomicU64::new(0),
            open_files: plan.open_files.into(),
            program: plan.program.into(),
            chunk: plan.chunk,
            filling: plan.filling,
            budget: plan.budget,
            taken: AtomicU64::new(0),
            memory: plan.memory,
            memory_taken: AtomicU64::new(0),
            stream: Lock::new(definitions),
            head,
            sites: Sites::new()?,
            code: Sites::new()?,
            names: Sites::new()?,
            windows: Windows::new(),
            symmetric: Symmetric::new(),
            has_static_windows: AtomicBool::new(false),
            locations: Locations::new()?,
            last_sample: AtomicU64::new(0),
            failure: Lock::new(None),
        })))
    }

    /// Switches the recording on. `hook` is the call that started the runtime. Window 0 is reserved for all PEs of
    /// OpenSHMEM, also if another runtime starts first.
    pub fn begin(&'static self, hook: &Hook) {
        self.windows.reserve(|_| ());
        self.joins(hook);
        let name = Path::new(&self.program).file_name().and_then(|name| name.to_str());
        self.must_define(&Fact::Region {
            id: PROGRAM.0.into(),
            name: name.unwrap_or("program"),
            meaning: "",
            role: u8::from(RegionRole::Function).into(),
            paradigm: u8::from(Paradigm::User).into(),
        });
        let functions = Functions::of_program(&self.program, self.wrappers);
        // Who wants all callers has no site of its own for a call that comes from a new place.
        let is_loaded = || {
            let mut is_loaded = false;
            modules::each(|module| {
                is_loaded |= self.wrappers.of_file(module.path()).is_some();
                is_loaded
            });
            is_loaded
        };
        if (!functions.are_none() || self.unwind > 0 && is_loaded())
            && let Ok(found) = Wrapping::new(self.wrappers, functions)
        {
            drop(self.wrapping.set(found));
        }
        self.sample_clock();
        self.began.store(self.clock.now(), Ordering::Relaxed);
        entry::hush(Quiet::Window, self.start_after > 0);
        CURRENT.store(ptr::from_ref(self).cast_mut(), Ordering::Release);
        entry::off_in_children();
        make_visible_to_all(true);
        entry::turn(true);
    }

    /// Opens or closes the time window of the recording if its time has come. Returns the time of the next change.
    pub(crate) fn window_at(&self, time: u64) -> u64 {
        let since = time.saturating_sub(self.began.load(Ordering::Relaxed));
        entry::hush(Quiet::Window, since < self.start_after || since >= self.end_after);
        let next = if since < self.start_after { self.start_after } else { self.end_after };
        if since >= self.end_after {
            return u64::MAX;
        }
        self.began.load(Ordering::Relaxed).saturating_add(next)
    }

    /// Registers a runtime that has started, which may be the first or a further one. For a runtime with ranks of its
    /// own, such as OpenSHMEM, it defines the window of all processes.
    pub fn joins(&self, hook: &Hook) {
        if hook.layer.ranks() == Ranks::Own {
            let window =
                Window { paradigm: paradigm(hook.layer).into(), group: self.world(), context: 0 };
            if self.windows.claim(RmaWinRef(0), window) {
                self.define_window(RmaWinRef(0), window);
            }
        }
    }

    /// Returns the details of GASNet that the settings of the run ask for. They do not change while the program runs.
    pub fn details(&self) -> Details {
        self.selection.details
    }

    /// Returns `true` if the caller is the process that records, and not a forked child of it, which must not touch the
    /// files of its parent.
    pub fn is_this(&self) -> bool {
        self.pid == std::process::id()
    }

    /// Returns the rank of this process in the run, counted from 0.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Returns the directory in which this process writes its files until the archive is complete.
    pub fn open_files(&self) -> &str {
        &self.open_files
    }

    /// Returns the number of processes of the run, as the runtime stated it at its start.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the group of all processes.
    pub(crate) fn world(&self) -> Strided {
        Strided { start: 0, stride: 1, size: self.size }
    }

    pub(crate) fn has_threads(&self) -> bool {
        self.locations.are_several()
    }

    /// Returns the size of a chunk of events, in bytes.
    pub(crate) fn chunk_size(&self) -> u64 {
        self.chunk as u64
    }

    /// Takes the next chunk of a location from the budget and returns its size, or an error if the budget is used up.
    /// With the first chunk of a location, the bytes after its last chunk are reserved too.
    pub(crate) fn chunk(&self, first: bool) -> io::Result<usize> {
        let wanted = self.chunk as u64 + if first { TAIL } else { 0 };
        let taken = self.taken.fetch_add(wanted, Ordering::Relaxed);
        if taken.saturating_add(wanted) > self.budget {
            self.taken.fetch_sub(wanted, Ordering::Relaxed);
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        Ok(self.chunk)
    }

    /// Takes the space of a file in which a location fills its chunks from the budget. Returns `false` if that would be
    /// more than a small part of what is left, since no events stay in it.
    pub(crate) fn take_stage(&self) -> bool {
        let chunk = self.chunk as u64;
        let left = self.budget.saturating_sub(self.taken.load(Ordering::Relaxed));
        left / STAGE_SHARE >= chunk && self.chunk(false).is_ok()
    }

    /// Gives the space of a file back to the budget that could not be made.
    pub(crate) fn give_stage_back(&self) {
        self.taken.fetch_sub(self.chunk as u64, Ordering::Relaxed);
    }

    /// Takes memory for a thread from the limit, or fails if there is not enough left. A thread needs `bytes` for its
    /// state, the chunk that it writes to, and for a moment the next chunk.
    pub(crate) fn take_memory(&self, bytes: usize) -> io::Result<()> {
        let trace = if self.has_trace { 2 * self.chunk } else { 0 };
        let wanted = (bytes + trace) as u64;
        let rules = self.rules.as_ref().map_or(0, Rules::bytes);
        let rules = rules + self.wrapping.get().map_or(0, Wrapping::bytes);
        let tables = self.sites.bytes() + self.code.bytes() + self.locations.bytes() + rules;
        let shared = (tables + size_of::<Self>() + BLOCK + HEAP) as u64;
        let taken = self.memory_taken.fetch_add(wanted, Ordering::Relaxed);
        if taken.saturating_add(wanted).saturating_add(shared) > self.memory {
            self.memory_taken.fetch_sub(wanted, Ordering::Relaxed);
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(())
    }

    /// Writes a fact to the stream. It survives a kill of the process from then on.
    ///
    /// # Errors
    /// If there is no space for it.
    pub fn define(&self, fact: &Fact<'_>) -> io::Result<()> {
        self.definitions(|definitions| definitions.stream.append(fact))
    }

    /// Writes a fact as [`Process::define`] does, for callers that could not handle an error: it ends the recording.
    fn must_define(&self, fact: &Fact<'_>) {
        if let Err(error) = self.define(fact) {
            self.fail("no space for definitions", &error);
        }
    }

    /// Reads both clocks and writes the sample to the stream.
    pub(crate) fn sample_clock(&self) {
        self.sample(clock::sample());
    }

    /// Writes a clock sample to the stream.
    pub(crate) fn sample(&self, sample: clock::Sample) {
        self.last_sample.store(sample.monotonic, Ordering::Relaxed);
        self.must_define(&Fact::Clock {
            recorder: self.clock.of(sample),
            monotonic: sample.monotonic,
            doubt: sample.doubt,
        });
    }

    /// Writes a measured offset of the clock of this node from that of rank 0 to the stream.
    pub(crate) fn sample_distance(&self, it: &Distance) {
        let offset = (it.offset << 1 ^ it.offset >> 63).cast_unsigned();
        let [half, near] = [it.half, it.near].map(|half| half.map_or(0, |half| half + 1));
        let (monotonic, residual) = (it.monotonic, it.residual);
        self.must_define(&Fact::Sync { monotonic, offset, residual, half, near });
    }

    /// Reads both clocks and writes the sample if the last one is more than a second old.
    #[inline]
    pub(crate) fn sample_clock_now_and_then(&self, now: u64) {
        if now.saturating_sub(self.last_sample.load(Ordering::Relaxed)) > BETWEEN_SAMPLES {
            entry::keeping_errno(|| self.sample_clock());
        }
    }

    /// Ends the recording because an action failed; the program continues. Only the first reason is kept.
    #[cold]
    pub(crate) fn fail(&self, what: &'static str, error: &io::Error) {
        let errno = error.raw_os_error().unwrap_or(0);
        let over_budget = errno == 0 && error.kind() == io::ErrorKind::QuotaExceeded;
        if over_budget || matches!(errno, libc::ENOSPC | libc::EDQUOT | libc::EFBIG) {
            // Calls are still counted, so that it is known how many are missing.
            entry::hush(Quiet::Spent, true);
        } else {
            entry::turn(false);
            self.head.loses_calls_uncounted();
        }
        let what = match error.kind() {
            _ if over_budget => "the size given by --max-size is used up",
            io::ErrorKind::OutOfMemory if errno == 0 => "--memory is too small for one thread",
            _ => what,
        };
        self.keep(Failure { what, errno });
    }

    /// Ends the recording because the recorder itself failed.
    pub(crate) fn stop(&self, why: Failure) {
        entry::turn(false);
        self.keep(why);
    }

    /// Keeps the reason for which the recording ended, if it is the first, and writes it to the head of the stream.
    fn keep(&self, why: Failure) {
        self.failure.with(|failure| {
            if failure.is_none() {
                *failure = Some(why);
                self.head.stopped(why.what, why.errno);
            }
        });
    }

    /// Runs `action` with the stream and the counters of its definitions, under their lock.
    fn definitions<R>(&self, action: impl FnOnce(&mut Definitions) -> R) -> R {
        entry::uncancelled(|| self.stream.with(action))
    }

    /// Returns the reason for which the recording ended early; `None` if it has not. Later failures do not change it.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.with(|failure| *failure)
    }

    /// Returns the number of threads that were not recorded, because there were too many or there was no memory for
    /// them, and the number of calls that they made.
    pub fn unrecorded(&self) -> (u64, u64) {
        self.head.missed()
    }

    /// Counts a call of a thread that is not recorded.
    pub(crate) fn misses_call(&self) {
        self.head.misses_call();
    }

    /// Returns a location for a new thread: that of an ended thread, or a new one.
    pub(crate) fn take_location(
        &self,
        create: impl FnOnce(u32) -> io::Result<*const Anchor>,
    ) -> Option<*const Anchor> {
        if let Some(location) = self.locations.reuse() {
            return Some(location);
        }
        match self.locations.add(create) {
            Ok(location) => Some(location),
            Err((id, error)) => {
                // Without its first thread there is nothing to record; without another there is.
                if id == 0 {
                    self.fail("no file for events", &error);
                }
                self.head.misses_thread();
                None
            }
        }
    }

    /// Switches the recording off for all threads, which the kernel interrupts so that they notice.
    pub(crate) fn switch_off(&self) {
        entry::switch().end(|| make_visible_to_all(false));
    }
}

/// Makes the stores of this thread visible to all others, without a cost for these at each call: the kernel interrupts
/// them. `prepare` registers the process for that.
fn make_visible_to_all(prepare: bool) {
    const REGISTER_PRIVATE_EXPEDITED: i32 = 1 << 4;
    const PRIVATE_EXPEDITED: i32 = 1 << 3;
    let command = if prepare { REGISTER_PRIVATE_EXPEDITED } else { PRIVATE_EXPEDITED };
    // SAFETY: a system call on numbers.
    let result = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    if result != 0 && !prepare {
        // A kernel before 4.14. No processor promises when others see a store, but all of them drain theirs within
        // nanoseconds; this is a million of them.
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use dwell_unify::process_facts::ProcessFacts;
    use otf2::enums::{ParameterType, Type};

    pub(crate) fn plan(folder: &Path) -> Plan<'_> {
        Plan {
            run: RunId::default(),
            rank: 0,
            size: 1,
            open_files: folder.to_str().unwrap_or_default(),
            program: "test",
            chunk: 1 << 20,
            filling: Filling::Auto,
            budget: u64::MAX,
            memory: u64::MAX,
            clock: clock::Source::System,
            trace: true,
            profile: false,
            unwind: 0,
            samples: false,
            wrappers: "",
            selection: Selection::default(),
            window: (0, u64::MAX),
        }
    }

    #[test]
    fn memory_is_for_as_many_threads_as_it_is_enough_for() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let state = 64 << 10;
        let of_a_thread = (state + (2 << 20)) as u64;
        let process = Process::prepare(&Plan { memory: 5 << 20, ..plan(folder.path()) })?;
        // Shared data take a part of it, so it is enough for one thread.
        assert!(process.take_memory(state).is_ok());
        let error = process.take_memory(state).map_err(|error| error.kind());
        assert_eq!(error, Err(io::ErrorKind::OutOfMemory));
        assert_eq!(process.memory_taken.load(Ordering::Relaxed), of_a_thread);
        Ok(())
    }

    /// A program may make up names without end. Those beyond the room for them are not recorded; those that are known
    /// keep their numbers, and the recording continues.
    #[test]
    fn names_without_end_do_no_harm() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let process = Process::prepare(&plan(folder.path()))?;
        let first = process.counter("first", "s", Type::Double);
        assert_eq!(first, Some(0));
        let parameter = |at: u32| process.parameter(&format!("p{at}"), ParameterType::Int64);
        let room = crate::sites::MOST - 1;
        assert!((0..room).all(|at| parameter(at) == Some(at)));
        for at in room..room + 1000 {
            assert_eq!(parameter(at), None);
        }
        assert_eq!(process.counter("last", "s", Type::Double), None);
        assert_eq!(process.text("a text"), None);
        assert_eq!((parameter(0), parameter(room - 1)), (Some(0), Some(room - 1)));
        assert_eq!(process.counter("first", "s", Type::Double), first);
        assert!(process.failure().is_none());
        let local = ProcessFacts::read(&folder.path().join("0.facts"))?;
        assert_eq!(local.shared.parameters().len(), room as usize);
        Ok(())
    }

    #[test]
    fn the_first_reason_is_in_the_stream_at_once() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let process = Process::prepare(&plan(folder.path()))?;
        let full = io::Error::from_raw_os_error(libc::ENOSPC);
        // Also if the caller that fails is using the stream.
        process.definitions(|_| process.fail("no space for definitions", &full));
        process.stop(Failure { what: "a second reason", errno: 0 });
        let local = ProcessFacts::read(&folder.path().join("0.facts"))?;
        let words = "no space for definitions: No space left on device";
        assert_eq!(local.head.stopped.as_deref(), Some(words));
        Ok(())
    }

    #[test]
    fn a_budget_is_never_exceeded() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let budget = (3 << 20) + 2 * TAIL - 1;
        let process = Process::prepare(&Plan { budget, ..plan(folder.path()) })?;
        // Two locations; the first grows.
        let given = [true, true, false, false].map(|first| process.chunk(first).is_ok());
        assert_eq!(given, [true, true, false, false]);
        assert!(process.taken.load(Ordering::Relaxed) <= budget);
        Ok(())
    }

    #[test]
    fn a_small_budget_is_for_events_alone() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let process = Process::prepare(&Plan { budget: 18 << 20, ..plan(folder.path()) })?;
        assert!(process.chunk(true).is_ok() && process.take_stage());
        assert_eq!(process.taken.load(Ordering::Relaxed), (2 << 20) + TAIL);
        assert!(!process.take_stage());
        process.give_stage_back();
        assert_eq!(process.taken.load(Ordering::Relaxed), (1 << 20) + TAIL);
        Ok(())
    }

    #[test]
    fn a_window_opens_and_closes() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let process = Process::prepare(&Plan { window: (100, 300), ..plan(folder.path()) })?;
        process.began.store(1000, Ordering::Relaxed);
        let states = [1000, 1099, 1100, 1299, 1300, 9999].map(|time| {
            let next = process.window_at(time);
            (next, entry::is_quiet_for(Quiet::Window))
        });
        let never = u64::MAX;
        let expected = [
            (1100, true),
            (1100, true),
            (1300, false),
            (1300, false),
            (never, true),
            (never, true),
        ];
        // For others of this program.
        entry::hush(Quiet::Window, false);
        assert_eq!(states, expected);
        Ok(())
    }
}
