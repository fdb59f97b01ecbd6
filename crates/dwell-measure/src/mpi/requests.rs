//! What is under way, by its request.

use super::comms::{Comm, Origin, Window};
use super::map::Map;
use super::recorder::{Collective, Envelope};
use crate::hook::Passed;
use crate::lock::Lock;

/// What the library says of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Rank that it came from. Negative: nobody.
    pub source: i32,
    /// Its tag.
    pub tag: i32,
    /// Its length.
    pub bytes: u64,
    /// Whether it was cancelled and never came.
    pub cancelled: bool,
}

/// What a request is for.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// A message is being sent.
    Send(Envelope),
    /// A message is being sent in partitions, and leaves when all of them are ready.
    Partitioned {
        /// The message.
        sent: Envelope,
        /// How many partitions it has.
        partitions: u32,
        /// How many of them are ready.
        ready: u32,
    },
    /// A message will be received.
    Receive(&'static Comm),
    /// Both, with numbers of their own.
    Exchange(Option<Envelope>, Option<&'static Comm>),
    /// A collective operation.
    Collective(Collective),
    /// A one-sided operation.
    Transfer {
        /// Its window.
        window: &'static Window,
        /// Whether it is complete at the target when it is at the origin, since something came back.
        both: bool,
    },
    /// A communicator, whose handle will be stored at an address.
    Comm {
        /// Where the handle will be.
        at: Passed,
        /// How it came about.
        origin: Origin,
    },
    /// Nothing that is recorded, but may be started again.
    Nothing,
}

/// Something under way.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// What it is for.
    pub what: What,
    /// Its number in events.
    pub id: u64,
    /// The number of the message that is received, if one is sent as well.
    pub second: u64,
    /// Whether it can be started again.
    pub persistent: bool,
    /// Whether it was started.
    pub active: bool,
}

impl Request {
    /// Something that was started.
    pub const fn started(what: What, id: u64) -> Self {
        Self { what, id, second: 0, persistent: false, active: true }
    }

    /// Whether a status is wanted when it is complete.
    pub const fn wants_status(&self) -> bool {
        matches!(self.what, What::Receive(_) | What::Exchange(..))
    }

    /// Something that can be started.
    pub const fn described(what: What) -> Self {
        Self { what, id: 0, second: 0, persistent: true, active: false }
    }
}

/// All requests of the process.
#[derive(Debug)]
pub struct Requests(Lock<Map<Request>>);

static REQUESTS: Requests = Requests(Lock::new(Map::new()));
/// Communicators of messages that were found and not received yet.
static MESSAGES: Lock<Map<&'static Comm>> = Lock::new(Map::new());

impl Requests {
    /// Takes note of a request. `shared`: the library gives the same handle to others at the same time.
    pub fn add(handle: usize, request: Request, shared: bool) {
        REQUESTS
            .0
            .with(|map| if shared { map.add(handle, request) } else { map.set(handle, request) });
    }

    /// Takes a request out, while a call may complete it: as soon as it is complete, the library may give
    /// its handle to another thread. What was not completed is [added](Self::add) again.
    pub fn take(handle: usize) -> Option<Request> {
        REQUESTS.0.with(|map| map.take(handle))
    }

    /// What a request that can be started again is for.
    pub fn described(handle: usize) -> Option<What> {
        REQUESTS.0.with(|map| map.get(handle)).filter(|it| it.persistent).map(|it| it.what)
    }

    /// A request was started again, by these numbers.
    pub fn started(handle: usize, what: What, id: u64, second: u64) {
        REQUESTS.0.with(|map| {
            if let Some(request) = map.get_mut(handle) {
                (request.what, request.id, request.second, request.active) =
                    (what, id, second, true);
            }
        });
    }

    /// More partitions of a message are ready. Returns the message and its number if these were the last.
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

    /// Forgets a request that the program gave back.
    pub fn forget(handle: usize) {
        REQUESTS.0.with(|map| map.take(handle));
    }

    /// Takes note of a message that was found.
    pub fn found(message: usize, comm: &'static Comm) {
        MESSAGES.with(|map| map.set(message, comm));
    }

    /// The communicator of a message that was found, and is received now.
    pub fn message(message: usize) -> Option<&'static Comm> {
        MESSAGES.with(|map| map.take(message))
    }
}
