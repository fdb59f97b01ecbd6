//! Barriers of teams of threads: who arrives last.
//!
//! | | |
//! |---|---|
//! | asks | no other process: all threads of a team belong to one |
//! | books | at each thread that waited, on the path of its barrier, blamed on the thread that arrived last |
//!
//! All threads of a team leave a barrier with the same number, whose lowest bits say how many they are. The wait of a thread that
//! enters at e is *last enter - e*. What it takes then to wake the threads belongs to the runtime.
//!
//! A thread without a team waits for the thread that forks the next one, which is the first thread of the process, unless the
//! program has threads of its own that fork teams.
//!
//! A thread that runs tasks in the barrier does not wait there all the time, so nothing is booked for it. Its enter counts for the
//! others.

use std::collections::BTreeMap;

use dwell_log::quantity::Quantity;
use dwell_model::archive::TEAM_SIZE;
use dwell_model::waits::Wait;
use dwell_trace::ids::{LocationNumber, Ordinal, ProcessNumber};
use dwell_trace::time::{Duration, Time};

use crate::engine::accounts::Account;
use crate::engine::booking::{Booking, Piece};
use crate::engine::event::{Event, EventKind};
use crate::engine::location_context::LocationContext;
use crate::engine::owned::{Members, Owned};
use crate::engine::pattern::{Pattern, Window};
use crate::protocol::{Answering, Asked, Asking, EndedCall};

/// Waits at the barriers of the teams of a shard.
#[derive(Debug)]
pub(crate) struct Teams {
    /// Number of the barrier that each location is about to leave.
    open: Owned<LocationNumber, Option<u64>>,
    /// Barriers that some threads have yet to leave, by process and number.
    instances: BTreeMap<(ProcessNumber, u64), Vec<Arrival>>,
    complete: Vec<(ProcessNumber, Vec<Arrival>)>,
    /// Threads that were idle, with the first location of the process.
    idle: Vec<(ProcessNumber, LocationNumber, Arrival)>,
}

/// A thread that has left a barrier.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    location: LocationNumber,
    /// Account on which its wait is booked; `None` if it ran tasks in the barrier.
    account: Option<Account>,
    enter: Time,
    leave: Time,
}

impl Pattern for Teams {
    type Questions = ();
    type Answers = ();
    type Protocol = crate::protocol::Messages;
    type Facts = ();
    type Outcome = ();

    fn new(members: &Members) -> Self {
        let open = Owned::empty(members.locations.clone());
        Self { open, instances: BTreeMap::new(), complete: Vec::new(), idle: Vec::new() }
    }

    fn on_event(
        &mut self,
        here: &mut LocationContext<'_>,
        event: &Event<'_>,
        _: &mut Asking<'_, ()>,
    ) {
        let EventKind::TeamBarrier { number } = event.kind else { return };
        let (process, location) = (here.process.index, here.location.number);
        if here.attend() {
            if let Some(open) = self.open.get_mut(location) {
                *open = Some(number);
            }
        } else if let Some(frame) = here.location.stack.last() {
            let (enter, leave) = (frame.enter, event.time);
            self.arrive(process, number, Arrival { location, account: None, enter, leave });
        }
    }

    fn on_leave(
        &mut self,
        here: &mut LocationContext<'_>,
        call: &mut EndedCall,
        _: &mut Asking<'_, ()>,
    ) {
        let open = self.open.get_mut(call.location).and_then(Option::take);
        let Some(number) = open else { return };
        let EndedCall { location, account, enter, leave, .. } = *call;
        let arrival = Arrival { location, account: Some(account), enter, leave };
        let process = here.process.index;
        if number != 0 {
            return self.arrive(process, number, arrival);
        }
        let places = here.world.system.processes.get(process.index()).map(|it| it.first);
        if let Some(first) = places.filter(|first| *first != location) {
            self.idle.push((process, first, arrival));
        }
    }

    fn answer(&mut self, _: &mut Window<'_>, (): (), _: &mut Asked, out: &mut Answering<'_, ()>) {
        for (process, list) in self.complete.drain(..) {
            let last = list.iter().max_by_key(|it| (it.enter, it.location)).copied();
            let Some(last) = last else { continue };
            for it in list {
                if let Some(booking) = it.booking(last.enter, last.location) {
                    out.engine.bookings.send(process, booking);
                }
            }
        }
        for (process, first, it) in self.idle.drain(..) {
            if let Some(booking) = it.booking(it.leave, first) {
                out.engine.bookings.send(process, booking);
            }
        }
    }

    fn bytes(&self) -> usize {
        let lists = self.instances.values().chain(self.complete.iter().map(|it| &it.1));
        let lists = lists.map(|list| list.capacity() * size_of::<Arrival>() + 64).sum::<usize>();
        lists + self.idle.capacity() * size_of::<(ProcessNumber, LocationNumber, Arrival)>()
    }

    fn outcome(self) {}
}

impl Arrival {
    /// Returns the wait of the thread until this time for another one, if it waited.
    fn booking(&self, until: Time, culprit: LocationNumber) -> Option<Booking> {
        let length = self.leave - self.enter;
        let wait = until.since(self.enter).min(length);
        let account = self.account.filter(|_| wait > Duration::ZERO)?;
        Some(Booking {
            location: self.location,
            account,
            what: Quantity::Wait(Wait::BarrierWait),
            amount: wait.0,
            begin: self.enter,
            culprit: Some(culprit),
            piece: Piece::OfTwo,
            left: Some(length),
        })
    }
}

impl Teams {
    fn arrive(&mut self, process: ProcessNumber, number: u64, arrival: Arrival) {
        let list = self.instances.entry((process, number)).or_default();
        list.push(arrival);
        if list.len() as u64 >= number % TEAM_SIZE {
            self.complete.extend(self.instances.remove(&(process, number)).map(|it| (process, it)));
        }
    }
}
