//! Open connections, and which of them must make room for others.
//!
//! Every user of a login node can connect. So a connection is a stranger's until a request on it has shown the secret
//! of a session, and strangers compete with strangers only: when there are too many, the oldest is closed, and a new
//! one is admitted at once. A client that has the secret shows it with its first request, so its connection is a
//! stranger's only until that arrives.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The largest number of open connections that have not shown a secret.
const STRANGERS: usize = 128;

/// The largest number of open connections that have shown a secret. A browser opens six.
const KNOWN: usize = 256;

/// All connections that are open.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    strangers: Line,
    known: Line,
}

/// Connections by number, the oldest first, each with the signal that tells it to end.
type Line = BTreeMap<u64, Arc<Notify>>;

impl Connections {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a new connection as a stranger's, and closes the oldest one of the strangers if there are too many.
    pub(crate) fn admit(self: &Arc<Self>) -> Arc<Guest> {
        let leave = Arc::new(Notify::new());
        let mut inner = self.lock();
        let number = inner.next;
        inner.next += 1;
        inner.strangers.insert(number, leave.clone());
        make_room(&mut inner.strangers, STRANGERS);
        Arc::new(Guest { all: self.clone(), number, leave, is_known: AtomicBool::new(false) })
    }
}

/// Ends the oldest connections of a line that is longer than `most`.
fn make_room(line: &mut Line, most: usize) {
    while line.len() > most
        && let Some((_, leave)) = line.pop_first()
    {
        leave.notify_one();
    }
}

/// One connection. It leaves its line when dropped.
#[derive(Debug)]
pub(crate) struct Guest {
    all: Arc<Connections>,
    number: u64,
    leave: Arc<Notify>,
    is_known: AtomicBool,
}

impl Guest {
    /// Records that a request on this connection has shown a secret.
    pub(crate) fn is_welcome(&self) {
        if self.is_known.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut inner = self.all.lock();
        // The connection may have been told to end in the meantime.
        if let Some(leave) = inner.strangers.remove(&self.number) {
            inner.known.insert(self.number, leave);
            make_room(&mut inner.known, KNOWN);
        }
    }

    /// Returns `true` if a request on this connection has shown a secret.
    pub(crate) fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }

    /// Waits until the connection must make room for another.
    pub(crate) async fn told_to_leave(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut inner = self.all.lock();
        inner.strangers.remove(&self.number);
        inner.known.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_make_room_and_those_who_are_known_stay() {
        let all = Arc::new(Connections::default());
        let mine = all.admit();
        mine.is_welcome();
        let crowd: Vec<_> = (0..2 * STRANGERS).map(|_| all.admit()).collect();
        let lengths = |all: &Connections| {
            let inner = all.lock();
            (inner.strangers.len(), inner.known.len())
        };
        assert_eq!(lengths(&all), (STRANGERS, 1));
        // A connection that was told to end does not become known afterwards.
        crowd[0].is_welcome();
        assert_eq!(lengths(&all), (STRANGERS, 1));
        drop(crowd);
        assert_eq!(lengths(&all), (0, 1));
        drop(mine);
        assert_eq!(lengths(&all), (0, 0));
    }
}
