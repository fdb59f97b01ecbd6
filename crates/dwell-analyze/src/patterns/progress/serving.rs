//! Operations of other processes that a call serves while it waits.
//!
//! A call that waits for progress progresses operations of others meanwhile, and time in which it does so is of use to them.
//! How much that is at most is the time in the call during which operations of others were there: from the arrival of their
//! request to their end, or to the end of the region that serves them. Only operations of calls that issue and complete them count,
//! as others may have been complete long before their call says so.
//!
//! Both are known where the process is kept: its own calls when they end, and operations of others when their origins ask. They
//! are compared once no question can come any more about the time of a call, so windows of the replay make no difference.

use dwell_log::quantity::Quantity;
use dwell_trace::ids::LocationNumber;
use dwell_trace::time::{Duration, Time};

use crate::engine::accounts::Account;
use crate::engine::process::Process;
use crate::engine::regions::Span;

/// Shorter calls are left out: nobody asks whom they served.
pub(super) const SHORTEST: Duration = Duration(20_000);

/// Calls of a process that may have served others, and times at which operations of others were there.
#[derive(Debug, Default)]
pub(super) struct Serving {
    calls: Vec<(Span, LocationNumber, Account)>,
    others: Vec<Span>,
}

impl Serving {
    /// Adds a call of the process that completed operations.
    #[inline]
    pub(super) fn call(&mut self, when: Span, location: LocationNumber, account: Account) {
        if when.length() >= SHORTEST {
            self.calls.push((when, location, account));
        }
    }

    /// Adds the time at which an operation of another process was there.
    pub(super) fn serve(&mut self, when: Span) {
        self.others.push(when);
    }

    /// Books what calls served that ended by `floor`, and forgets what no later call can need. Nobody will ask about times
    /// before `floor` any more.
    pub(super) fn settle(&mut self, process: &mut Process, floor: Time) {
        if self.others.is_empty() {
            self.calls.retain(|it| it.0.end > floor);
            return;
        }
        self.others.sort_unstable_by_key(|it| it.begin);
        self.others.dedup_by(|next, before| {
            let joined = next.begin <= before.end;
            if joined {
                before.end = before.end.max(next.end);
            }
            joined
        });
        let open = process.locations.iter().filter_map(|it| it.stack.iter().find(|it| it.judged));
        let mut needed = open.map(|frame| frame.enter).fold(floor, Time::min);
        for &(when, location, account) in &self.calls {
            if when.end > floor {
                needed = needed.min(when.begin);
                continue;
            }
            let first = self.others.partition_point(|it| it.end <= when.begin);
            let during = self.others.get(first..).unwrap_or_default().iter();
            let during = during.take_while(|it| it.begin < when.end);
            let served: Duration =
                during.map(|it| it.end.min(when.end) - it.begin.max(when.begin)).sum();
            let Some(location) = process.location_mut(location) else { continue };
            if let Some(path) = location.paths.calls_mut(account).map(|calls| calls.path) {
                location.paths.book(path, Quantity::Serving, served.0);
            }
        }
        self.calls.retain(|it| it.0.end > floor);
        self.others.retain(|it| it.end > needed);
    }

    /// Returns the memory in bytes that calls and operations take.
    pub(super) fn bytes(&self) -> usize {
        self.calls.capacity() * size_of::<(Span, LocationNumber, Account)>()
            + self.others.capacity() * size_of::<Span>()
    }
}
