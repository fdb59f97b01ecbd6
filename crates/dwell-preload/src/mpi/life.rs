//! The beginning and the end of MPI, and messages of the recorder in between.
//!
//! The recorder talks through a communicator of its own, so that its messages never meet the program's.

use core::ffi::c_int;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use dwell_measure::call::Past;
use dwell_measure::clock::Sample;
use dwell_measure::hook::Hook;
use dwell_measure::process;
use dwell_measure::run::{self, Runtime};
use dwell_measure::unify::Upcalls;
use dwell_model::layer::Layer;

use super::abi::{Family, abi};
use super::hooks::ENTRIES;
use super::{groups, pmpi, sessions};
use crate::{absent, real};

/// The recorder's own communicator; 0 before there is one.
static OWN: AtomicUsize = AtomicUsize::new(0);

/// How often MPI was started, by a session or otherwise.
static STARTS: AtomicU32 = AtomicU32::new(0);

/// What the hook of a function that starts MPI does first. The number goes back to `start`.
pub(super) fn before_start() -> (Sample, u32) {
    let starts = STARTS.load(Ordering::Relaxed);
    if starts == 0 {
        hide_absent();
    }
    (dwell_measure::clock::sample(), starts)
}

/// Hides hooks of functions that nothing loaded so far has.
pub(crate) fn hide_absent() {
    absent::hide(&|name| {
        let name = name.to_str().ok()?;
        let at = ENTRIES.binary_search_by(|entry| entry.hook.row.name().cmp(name)).ok()?;
        let entry = ENTRIES.get(at).filter(|entry| entry.real().is_none())?;
        Some(real::hook(entry.hook.row.symbol.c_str()))
    });
}

/// What it does last, if MPI has started. Where the function of one language calls that of another, only
/// the inner one counts.
pub(super) fn start(hook: &'static Hook, (began, before): (Sample, u32)) {
    if STARTS.fetch_add(1, Ordering::Relaxed) != before {
        return;
    }
    if !is_running() {
        return sessions::began(
            hook,
            Past { enter: began, leave: Some(dwell_measure::clock::sample()) },
        );
    }
    run::start(hook, Past { enter: began, leave: None }, Mail::open, about);
    if let Some(process) = process::current().filter(|process| process.is_this()) {
        groups::begin(process, abi().comm_world, true);
    }
}

/// What the hook of a function that ends MPI does first.
pub(super) fn finish(hook: &'static Hook) {
    if sessions::is_ours() {
        if sessions::ended() {
            end(hook);
            sessions::close();
        }
    } else if is_running() && hook.row.name() != SESSION_FINALIZE {
        end(hook);
    }
}

/// Ends a session, and MPI only if nothing else has started it.
const SESSION_FINALIZE: &str = "MPI_Session_finalize";

fn end(hook: &'static Hook) {
    run::finish(hook, || {
        let mut mail = Mail::open()?;
        mail.barrier()?;
        Ok(mail)
    });
    let mut own = OWN.swap(0, Ordering::Relaxed);
    if own != 0 {
        // SAFETY: made by us and used by nobody else; all processes are here.
        unsafe { pmpi::comm_free(&raw mut own) };
    }
}

/// What the hook of a function that makes a communicator from a mere group does first: without a world,
/// this is where processes first meet.
pub(super) fn meet(group: usize) {
    if OWN.load(Ordering::Relaxed) != 0 || is_running() {
        return;
    }
    let Some((hook, began)) = sessions::first() else { return };
    let abi = abi();
    let Some(comm) = sessions::open(abi.handle(group)) else { return };
    OWN.store(comm, Ordering::Relaxed);
    run::start(hook, began, Mail::open, about);
    if let Some(process) = process::current().filter(|process| process.is_this()) {
        groups::begin(process, comm, false);
    }
}

/// What the hook of a call does last at whose end all processes are together.
pub(super) fn met(before: u64) {
    dwell_measure::meet::after(Layer::Mpi, before, Mail::open);
}

/// Whether the world of MPI is there.
fn is_running() -> bool {
    let (mut began, mut ended) = (0, 0);
    // SAFETY: both may be asked at any time.
    unsafe {
        pmpi::initialized(&raw mut began);
        pmpi::finalized(&raw mut ended);
    }
    began != 0 && ended == 0
}

/// Bytes that travel at once: a count is an `int`.
const PIECE: usize = 1 << 30;
const TAG: c_int = 17;

/// Messages over MPI.
struct Mail {
    rank: u64,
    size: u64,
    comm: usize,
}

impl Mail {
    /// The recorder's communicator, made by all processes together when it is first needed.
    fn open() -> io::Result<Self> {
        let abi = abi();
        let mut comm = OWN.load(Ordering::Relaxed);
        let (mut rank, mut size) = (0, 0);
        // SAFETY: the library is between its start and its end, and all processes are here.
        unsafe {
            if comm == 0 {
                succeeded(pmpi::comm_dup(abi.comm_world, &raw mut comm), "MPI_Comm_dup")?;
                comm = abi.handle(comm);
                OWN.store(comm, Ordering::Relaxed);
            }
            succeeded(pmpi::comm_rank(comm, &raw mut rank), "MPI_Comm_rank")?;
            succeeded(pmpi::comm_size(comm, &raw mut size), "MPI_Comm_size")?;
        }
        let number = |of: c_int| u64::from(of.cast_unsigned());
        Ok(Self { rank: number(rank), size: number(size), comm })
    }
}

fn succeeded(code: c_int, what: &str) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::other(format!("{what} failed with {code}"))) }
}

impl Upcalls for Mail {
    fn rank(&self) -> u64 {
        self.rank
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn send(&mut self, to: u64, bytes: &[u8]) -> io::Result<()> {
        // The length goes first, as a message of its own.
        let length = (bytes.len() as u64).to_ne_bytes();
        for part in [length.as_slice()].into_iter().chain(bytes.chunks(PIECE)) {
            let (at, count) = (part.as_ptr().cast(), part.len() as c_int);
            // SAFETY: as many bytes as is said, and a rank that exists.
            let code = unsafe { pmpi::send(at, count, abi().byte, to as c_int, TAG, self.comm) };
            succeeded(code, "MPI_Send")?;
        }
        Ok(())
    }

    fn receive(&mut self, from: u64) -> io::Result<Vec<u8>> {
        let receive = |into: &mut [u8]| {
            let (at, count) = (into.as_mut_ptr().cast(), into.len() as c_int);
            let (abi, from) = (abi(), from as c_int);
            // SAFETY: as many places as is said, and a rank that exists.
            let code =
                unsafe { pmpi::recv(at, count, abi.byte, from, TAG, self.comm, abi.status_ignore) };
            succeeded(code, "MPI_Recv")
        };
        let mut length = [0; 8];
        receive(&mut length)?;
        let length = usize::try_from(u64::from_ne_bytes(length)).unwrap_or(0);
        let mut bytes = Vec::new();
        // No message is worth ending the program for.
        bytes.try_reserve_exact(length)?;
        bytes.resize(length, 0);
        bytes.chunks_mut(PIECE).try_for_each(receive)?;
        Ok(bytes)
    }

    fn tell(&mut self, to: u64, number: u64) -> io::Result<()> {
        let at = (&raw const number).cast();
        // SAFETY: eight bytes of a number, and a rank that exists.
        succeeded(unsafe { pmpi::send(at, 8, abi().byte, to as c_int, TAG, self.comm) }, "MPI_Send")
    }

    fn hear(&mut self, from: u64) -> io::Result<u64> {
        let (mut number, abi) = (0_u64, abi());
        let at = (&raw mut number).cast();
        // SAFETY: room for eight bytes, and a rank that exists.
        let code = unsafe {
            pmpi::recv(at, 8, abi.byte, from as c_int, TAG, self.comm, abi.status_ignore)
        };
        succeeded(code, "MPI_Recv")?;
        Ok(number)
    }

    fn barrier(&mut self) -> io::Result<()> {
        // SAFETY: all processes call it.
        succeeded(unsafe { pmpi::barrier(self.comm) }, "MPI_Barrier")
    }
}

/// What the library says of itself.
fn about() -> Runtime {
    let mut runtime = Runtime::default();
    let mut text = vec![0_u8; 8192]; // The longest of all known libraries.
    let (mut length, mut major, mut minor) = (0, 0, 0);
    // SAFETY: places for the answers, large enough for each library.
    unsafe {
        pmpi::get_library_version(text.as_mut_ptr().cast(), &raw mut length);
        pmpi::get_version(&raw mut major, &raw mut minor);
    }
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    runtime.name = name(&String::from_utf8_lossy(text.get(..end).unwrap_or_default()));
    runtime.interface = format!("MPI {major}.{minor}");
    if abi().family == Family::Standard {
        runtime.interface += ", standard ABI";
    }
    let names = ["single", "funneled", "serialized", "multiple"];
    runtime.threads = names.get(thread_level()).copied().unwrap_or("unknown").into();
    runtime
}

/// The level at which several threads may call the library at once.
pub(super) const MULTIPLE: usize = 3;

/// How the program may use threads: 0 is alone, 3 is [`MULTIPLE`].
pub(super) fn thread_level() -> usize {
    let mut level = 0;
    // SAFETY: a place for the answer.
    unsafe { pmpi::query_thread(&raw mut level) };
    if abi().family == Family::Standard {
        level /= 1024;
        level = if level == 4 { 3 } else { level };
    }
    usize::try_from(level).unwrap_or(MULTIPLE)
}

/// The name and version of a library, from what it says of itself in many words:
/// `Open MPI v4.1.4, package: …`, or lines of which the first is `MPICH Version:      4.0.2`.
fn name(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let line = line.split(',').next().unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().filter(|word| *word != "Version:").collect();
    words.join(" ").replace(" v", " ")
}
