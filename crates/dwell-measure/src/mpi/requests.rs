//! Operations in progress, by their request.

use otf2::id::RmaWinRef;

use super::comms::{Comm, Origin, Window};
use super::map::Map;
use super::recorder::{Collective, Envelope};
use crate::hook::Passed;
use crate::lock::Lock;

/// Status of a completed message, as the library returns it. Libraries differ in the layout of `MPI_Status`; hooks
/// translate it into this form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Rank of the sender; negative for `MPI_PROC_NULL` and for operations without a sender.
    pub source: i32,
    /// Tag of the message.
    pub tag: i32,
    /// Length of the message, in bytes.
    pub bytes: u64,
    /// Set if the operation was cancelled, so that no message arrived.
    pub cancelled: bool,
}

/// The operation that a request stands for. It decides which records are written when the request is complete.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// A message is being sent.
    Send(Envelope),
    /// A message is being sent in partitions, and leaves when all of them are ready.
    Partitioned {
        /// The message as a whole.
        sent: Envelope,
        /// Number of partitions of the message.
        partitions: u32,
        /// Number of partitions that are ready so far.
        ready: u32,
    },
    /// A message will be received on this communicator.
    Receive(&'static Comm),
    /// A send and a receive in one request, with a number for each. Either is `None` if its partner is `MPI_PROC_NULL`.
    Exchange(Option<Envelope>, Option<&'static Comm>),
    /// A non-blocking collective operation.
    Collective(Collective),
    /// A one-sided operation with a request.
    Transfer {
        /// Window of the operation.
        window: &'static Window,
        /// Set if completion at the origin implies completion at the target, because a result came back.
        both: bool,
    },
    /// Operations without an event of their own, on the window of this number, that are complete with an event.
    Implicit {
        /// Number of the window in events, by which the records of completion name it. The operations share the number of
        /// the request.
        window: RmaWinRef,
    },
    /// A communicator is being made, whose handle will be stored at an address.
    Comm {
        /// Address of the new handle.
        at: Passed,
        /// Origin of the new communicator.
        origin: Origin,
    },
    /// An operation that is not recorded but may be started again.
    Nothing,
}

/// A request of the program, and the operation that it stands for. It is kept from the call that started it to the one
/// that completes or frees it.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The operation of the request.
    pub what: What,
    /// Number of the request in events, by which the records of its start and of its completion match.
    pub id: u64,
    /// Number of the receive, if the request is an exchange, which also sends; otherwise 0.
    pub second: u64,
    /// Set for a persistent request, which can be started again.
    pub persistent: bool,
    /// Set while the operation is in progress.
    pub active: bool,
}

impl Request {
    /// Makes a request whose operation has been started with the number `id`. It is not persistent, so that its
    /// completion ends it.
    pub const fn started(what: What, id: u64) -> Self {
        Self { what, id, second: 0, persistent: false, active: true }
    }

    /// Returns `true` if the recorder needs a status when the request is complete, because only that names the
    /// sender of a message.
    pub const fn wants_status(&self) -> bool {
        matches!(self.what, What::Receive(_) | What::Exchange(..))
    }

    /// Makes a persistent request that has not been started, as `MPI_Send_init` returns it. Its number comes with each
    /// start.
    pub const fn described(what: What) -> Self {
        Self { what, id: 0, second: 0, persistent: true, active: false }
    }
}

/// All requests of the process, by handle. Its functions are static, because there is one table for all threads.
#[derive(Debug)]
pub struct Requests(Lock<Map<Request>>);

static REQUESTS: Requests = Requests(Lock::new(Map::new()));
/// Communicators of messages that a matched probe has found and that are not received yet.
static MESSAGES: Lock<Map<&'static Comm>> = Lock::new(Map::new());

impl Requests {
    /// Adds a request. With `shared` the library may give the same handle to several operations at the same time;
    /// otherwise the request replaces an older one with its handle.
    pub fn add(handle: usize, request: Request, shared: bool) {
        REQUESTS
            .0
            .with(|map| if shared { map.add(handle, request) } else { map.set(handle, request) });
    }

    /// Removes a request while a call may complete it: as soon as it is complete, the library may give its handle to
    /// another thread. A request that was not completed must be [added](Self::add) again.
    pub fn take(handle: usize) -> Option<Request> {
        REQUESTS.0.with(|map| map.take(handle))
    }

    /// Returns the operation of a persistent request, which a call is about to start; `None` for all other requests,
    /// and for unknown handles.
    pub fn described(handle: usize) -> Option<What> {
        REQUESTS.0.with(|map| map.get(handle)).filter(|it| it.persistent).map(|it| it.what)
    }

    /// Notes that a persistent request was started again, with these numbers of its records. Unknown handles are
    /// ignored.
    pub fn started(handle: usize, what: What, id: u64, second: u64) {
        REQUESTS.0.with(|map| {
            if let Some(request) = map.get_mut(handle) {
                (request.what, request.id, request.second, request.active) =
                    (what, id, second, true);
            }
        });
    }

    /// Notes that `count` more partitions of a message are ready. Returns the message and the number of its request if
    /// all partitions are ready now.
    pub fn ready(handle: usize, count: u32) -> Option<(Envelope, u64)> {
        REQUESTS.0.with(|map| {
            let request = map.get_mut(handle).filter(|request| request.active)?;
            let What::Partitioned { sent, partitions, ready } = &mut request.what else {
                return None;
            };
            let before = *ready;
            *ready = ready.saturating_add(count);
            (before < *partitions && *ready >= *partitions).then_some((*sent, request.id))
        })
    }

    /// Forgets a request that the program frees by `MPI_Request_free`. Its completion is not recorded then.
    pub fn forget(handle: usize) {
        REQUESTS.0.with(|map| map.take(handle));
    }

    /// Notes the communicator of a message that a matched probe has found, because the call that receives it by
    /// `MPI_Mrecv` does not name a communicator.
    pub fn found(message: usize, comm: &'static Comm) {
        MESSAGES.with(|map| map.set(message, comm));
    }

    /// Returns the communicator of a message that a matched probe has found and that is received now, and forgets it.
    pub fn message(message: usize) -> Option<&'static Comm> {
        MESSAGES.with(|map| map.take(message))
    }
}
