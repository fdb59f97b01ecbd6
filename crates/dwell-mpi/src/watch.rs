//! Ends this process if MPI does not come back.
//!
//! While a call of MPI waits for other processes, the thread that made it can do nothing: `MPI_Init` waits without
//! limit for a process that never calls it, and `MPI_Abort` may wait for a launcher that is gone. A second thread, which
//! calls no function of MPI, therefore knows until when each step must have ended. Past that time it prints a message
//! and ends the process.

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::calls;

/// Exit code of a process that gave up.
pub(crate) const GAVE_UP: u8 = 2;

/// The thread that watches, and what it knows.
pub(crate) struct Watch {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    limit: Option<Limit>,
    is_over: bool,
}

struct Limit {
    until: Instant,
    /// Printed before the process ends; nothing if empty.
    message: String,
    /// Exit code of the process.
    code: u8,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    /// Starts the thread. Without it, because the system has no more threads, nothing is watched.
    pub(crate) fn start() -> Self {
        let shared = Arc::<Shared>::default();
        let seen = Arc::clone(&shared);
        let watching = thread::Builder::new().name("watch".into()).spawn(move || watch(&seen));
        drop(watching); // It ends with the process, or soon after `Watch` is dropped.
        Self { shared }
    }

    /// Ends this process with a message unless the returned guard is dropped within `time`.
    pub(crate) fn limit(&self, time: Duration, message: String) -> Limited<'_> {
        self.limit_with(time, message, GAVE_UP)
    }

    /// Same as [`limit`](Self::limit), with another exit code than that of a process that gave up.
    pub(crate) fn limit_with(&self, time: Duration, message: String, code: u8) -> Limited<'_> {
        self.shared.state().limit = Some(Limit { until: later(time), message, code });
        self.shared.changed.notify_all();
        Limited { watch: self }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.state().is_over = true;
        self.shared.changed.notify_all();
    }
}

/// Returns the time in so long; far in the future if that has no representation.
pub(crate) fn later(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or_else(|| now + Duration::from_hours(24 * 365))
}

/// A step that is watched until this is dropped.
pub(crate) struct Limited<'w> {
    watch: &'w Watch,
}

impl Drop for Limited<'_> {
    fn drop(&mut self) {
        // The thread is not woken: it sees when its time has come that there is nothing to watch.
        self.watch.shared.state().limit = None;
    }
}

fn watch(shared: &Shared) {
    let mut state = shared.state();
    while !state.is_over {
        let Some(limit) = &state.limit else {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        let left = limit.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            say(&limit.message);
            calls::exit_now(limit.code);
        }
        let waited = shared.changed.wait_timeout(state, left);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Prints a message with one call of `write`, so that those of several processes do not mix.
pub(crate) fn say(message: &str) {
    if !message.is_empty() {
        let _ = std::io::stderr().write_all(format!("{message}\n").as_bytes());
    }
}
