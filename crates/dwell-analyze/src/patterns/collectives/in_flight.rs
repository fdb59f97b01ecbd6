//! Non-blocking collectives of a process between their beginning and their end.

use std::collections::{HashMap, VecDeque};

use dwell_trace::ids::{ContextNumber, LocationNumber};
use dwell_trace::time::Time;

use super::{Arrival, NON_BLOCKING};
use crate::engine::event::Among;
use crate::engine::hash::Mixed;

/// A non-blocking collective, from its beginning.
#[derive(Clone, Copy, Debug)]
struct Started {
    location: LocationNumber,
    request: u64,
    number: u32,
    began: Time,
    among: Among,
    /// The arrival once the collective is complete; `None` inside if it is not judged.
    complete: Option<Option<Arrival>>,
}

/// Non-blocking collectives of a process. Only their end says which communicator they belong to, and they may end in
/// any order. They get their sequence numbers once all that began before have ended.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    started: VecDeque<Started>,
    next: u32,
    counted: HashMap<ContextNumber, u64, Mixed>,
    /// Number of collectives that ended without a beginning.
    pub(super) strays: u64,
}

impl InFlight {
    /// Records that a call began a collective.
    pub(super) fn begin(
        &mut self,
        location: LocationNumber,
        request: u64,
        began: Time,
        among: Among,
    ) {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.started.push_back(Started { location, request, number, began, among, complete: None });
    }

    /// Returns the number and the beginning of a collective that ends, and the members that it waits for.
    pub(super) fn find(
        &mut self,
        location: LocationNumber,
        request: u64,
    ) -> Option<(u32, Time, Among)> {
        let is = |it: &&Started| {
            it.location == location && it.request == request && it.complete.is_none()
        };
        let found = self.started.iter().find(is).map(|it| (it.number, it.began, it.among));
        self.strays += u64::from(found.is_none());
        found
    }

    /// Records the end of a collective; `None` if it is not judged. Passes on those that can get their sequence numbers
    /// now.
    pub(super) fn end(
        &mut self,
        number: u32,
        arrival: Option<Arrival>,
    ) -> impl Iterator<Item = Arrival> {
        if let Some(it) = self.started.iter_mut().find(|it| it.number == number) {
            it.complete = Some(arrival);
        }
        let open = self.started.iter().position(|it| it.complete.is_none());
        let over = open.unwrap_or(self.started.len());
        let counted = &mut self.counted;
        let ended = self.started.drain(..over).filter_map(|it| it.complete.flatten());
        ended.map(|mut arrival| {
            let count = counted.entry(arrival.context).or_insert(0);
            arrival.sequence = *count | NON_BLOCKING;
            *count += 1;
            arrival
        })
    }

    /// Returns the number of collectives that began.
    pub(super) fn begun(&self) -> u64 {
        u64::from(self.next)
    }

    /// Returns the number of collectives that began and never ended.
    pub(super) fn unfinished(&self) -> u64 {
        self.started.iter().filter(|it| it.complete.is_none()).count() as u64
    }
}
