//! Messages between recorders over MPI.
//!
//! The recorder uses a communicator of its own, so that its messages never match those of the program. It only makes
//! non-blocking calls, and tests until a message has arrived or a deadline has passed.
//!
//! When it gives up, it cancels receives and never frees the buffers of operations in flight. Pieces are small enough
//! for every library to send them eagerly, so that a process that has given up leaves nothing for which `MPI_Finalize`
//! would wait.

use core::ffi::c_int;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use dwell_unify::deadline::Deadline;
use dwell_unify::unify::Upcalls;

use super::abi::abi;
use super::pmpi;

/// Communicator of the recorder; 0 before it exists.
static OWN: AtomicUsize = AtomicUsize::new(0);

/// Communicator of the recorder while MPI is creating it.
static BEING_MADE: Mutex<Option<&'static mut Making>> = Mutex::new(None);

struct Making {
    comm: usize,
    request: usize,
    deadline: Deadline,
}

/// Size of a message in bytes. Libraries send 4 KiB including their own header eagerly.
const PIECE: usize = 4000;

/// Tag of the first step. Each step has a tag of its own, so that no step receives a message that an abandoned one
/// left.
const TAG: c_int = 17;

/// Returns `true` if the recorder has a communicator.
pub(super) fn has_own() -> bool {
    OWN.load(Ordering::Relaxed) != 0
}

/// Gives the recorder a communicator of all processes that exists already.
pub(super) fn set_own(comm: usize) {
    quieten(comm);
    OWN.store(comm, Ordering::Relaxed);
}

/// Frees the communicator of the recorder, after all processes have ended the recording.
pub(super) fn free_own() {
    let mut own = OWN.swap(0, Ordering::Relaxed);
    if own != 0 {
        // SAFETY: only the recorder uses this communicator, and all processes make this call.
        unsafe { pmpi::comm_free(&raw mut own) };
    }
}

/// Makes calls on a communicator return errors, because a failure of the recorder must not abort the program.
fn quieten(comm: usize) {
    // SAFETY: a communicator of the recorder, and a handler that every library has.
    unsafe { pmpi::comm_set_errhandler(comm, abi().errors_return) };
}

/// Connection to the recorders of all other processes.
pub(super) struct Channel {
    rank: u64,
    size: u64,
    comm: usize,
    deadline: Deadline,
}

impl Channel {
    /// Opens the connection. The first time, all processes create the communicator together.
    pub(super) fn open(deadline: Deadline) -> io::Result<Self> {
        let mut comm = OWN.load(Ordering::Relaxed);
        if comm == 0 {
            comm = make(deadline)?;
            set_own(comm);
        }
        let (mut rank, mut size) = (0, 0);
        // SAFETY: the library is between its start and its end, and there are places for the answers.
        unsafe {
            succeeded(pmpi::comm_rank(comm, &raw mut rank), "MPI_Comm_rank")?;
            succeeded(pmpi::comm_size(comm, &raw mut size), "MPI_Comm_size")?;
        }
        let number = |of: c_int| u64::from(of.cast_unsigned());
        Ok(Self { rank: number(rank), size: number(size), comm, deadline })
    }

    fn tag(&self) -> c_int {
        TAG + self.deadline.step() as c_int
    }

    /// Sends at most [`PIECE`] bytes as one message.
    fn send_piece(&self, to: u64, bytes: &[u8]) -> io::Result<()> {
        let bytes: Box<[u8]> = bytes.into();
        let (at, count, mut request) = (bytes.as_ptr().cast(), bytes.len() as c_int, 0);
        // SAFETY: `count` bytes are at `at` until the request is complete, and the rank exists.
        let code = unsafe {
            pmpi::isend(at, count, abi().byte, to as c_int, self.tag(), self.comm, &raw mut request)
        };
        succeeded(code, "MPI_Isend")?;
        let sent = self.deadline.wait(Some(to), || is_complete(&mut request));
        if sent.is_err() {
            // The library may still read from it.
            std::mem::forget(bytes);
        }
        sent
    }

    /// Receives one message of exactly `into.len()` bytes.
    fn receive_piece(&self, from: u64, into: &mut [u8]) -> io::Result<()> {
        let mut place = vec![0_u8; into.len()];
        let (at, count, mut request) = (place.as_mut_ptr().cast(), place.len() as c_int, 0);
        let (byte, from_rank) = (abi().byte, from as c_int);
        // SAFETY: `count` bytes of memory are at `at` until the request is complete, and the rank exists.
        let code = unsafe {
            pmpi::irecv(at, count, byte, from_rank, self.tag(), self.comm, &raw mut request)
        };
        succeeded(code, "MPI_Irecv")?;
        let received = self.deadline.wait(Some(from), || is_complete(&mut request));
        if received.is_err() {
            // SAFETY: a request that is not complete. If it cannot be cancelled any more the library may still write to
            // the place, which is why that stays.
            unsafe { pmpi::cancel(&raw mut request) };
            let _ = is_complete(&mut request);
            std::mem::forget(place);
            return received;
        }
        into.copy_from_slice(&place);
        Ok(())
    }
}

/// Tests a request once. Returns `None` if it is not complete yet.
fn is_complete(request: &mut usize) -> io::Result<Option<()>> {
    let mut flag = 0;
    // SAFETY: a request of the recorder, a place for the answer, and no status.
    let code = unsafe { pmpi::test(request, &raw mut flag, abi().status_ignore) };
    succeeded(code, "MPI_Test")?;
    Ok((flag != 0).then_some(()))
}

/// Duplicates `MPI_COMM_WORLD`. If the duplicate is not complete in time, the next attempt waits for it again.
fn make(deadline: Deadline) -> io::Result<usize> {
    let failed = || io::Error::other("the recorder's communicator is being made by another thread");
    let mut being_made = BEING_MADE.lock().map_err(|_| failed())?;
    let (making, deadline) = match being_made.take() {
        // If one process gave up at the start, others may not have: they are waited for as long as then.
        Some(making) => {
            let deadline = making.deadline.renewed();
            (making, deadline)
        }
        None => (begin(deadline)?, deadline),
    };
    match deadline.wait(None, || is_complete(&mut making.request)) {
        Ok(()) => Ok(abi().handle(making.comm)),
        Err(error) => {
            *being_made = Some(making);
            let text = format!("{error}; start all processes of the run with `dwell run`");
            Err(io::Error::new(error.kind(), text))
        }
    }
}

fn begin(deadline: Deadline) -> io::Result<&'static mut Making> {
    // The library stores the handle when it has made the communicator, which may be never.
    let making = Box::leak(Box::new(Making { comm: 0, request: abi().request_null, deadline }));
    let world = abi().comm_world;
    // SAFETY: the library is between its start and its end, and the places for the answers stay for ever.
    unsafe {
        if pmpi::comm_idup(world, &raw mut making.comm, &raw mut making.request) != 0 {
            // A library before MPI 3 can only wait.
            succeeded(pmpi::comm_dup(world, &raw mut making.comm), "MPI_Comm_dup")?;
            making.request = abi().request_null;
        }
    }
    Ok(making)
}

fn succeeded(code: c_int, what: &str) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::other(format!("{what} failed with {code}"))) }
}

impl Upcalls for Channel {
    fn rank(&self) -> u64 {
        self.rank
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn set_deadline(&mut self, deadline: Deadline) {
        self.deadline = deadline;
    }

    fn send(&mut self, to: u64, bytes: &[u8]) -> io::Result<()> {
        // The length goes first, as a message of its own.
        self.send_piece(to, &(bytes.len() as u64).to_ne_bytes())?;
        bytes.chunks(PIECE).try_for_each(|piece| self.send_piece(to, piece))
    }

    fn receive(&mut self, from: u64) -> io::Result<Vec<u8>> {
        let mut length = [0; 8];
        self.receive_piece(from, &mut length)?;
        let length = usize::try_from(u64::from_ne_bytes(length)).unwrap_or(0);
        let mut bytes = Vec::new();
        // A message that does not fit into memory must not end the program.
        bytes.try_reserve_exact(length)?;
        bytes.resize(length, 0);
        bytes.chunks_mut(PIECE).try_for_each(|piece| self.receive_piece(from, piece))?;
        Ok(bytes)
    }

    fn tell(&mut self, to: u64, number: u64) -> io::Result<()> {
        self.send_piece(to, &number.to_ne_bytes())
    }

    fn hear(&mut self, from: u64) -> io::Result<u64> {
        let mut number = [0; 8];
        self.receive_piece(from, &mut number)?;
        Ok(u64::from_ne_bytes(number))
    }
}
