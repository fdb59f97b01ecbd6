//! Test without poll: a loop over calls that test operations, none of which can complete them.
//!
//! | | |
//! |---|---|
//! | asks | no other process: a process knows itself when it polled |
//! | books | on the path of the call that tested, with the process itself as the one that is waited for |
//!
//! Some runtimes complete operations only in calls that poll, and their tests do not: `gex_Event_Test` of GASNet returns what
//! the last poll has found. A loop over such tests ends only if something else polls. The recorder writes consecutive tests
//! that failed as one region with the number of calls. If none of them found anything, and nothing in the process polled
//! meanwhile, the whole region is a wait that the process makes itself, whatever the targets did.

use dwell_log::quantity::Quantity;
use dwell_model::operation::Operation;
use dwell_model::waits::Wait;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::roles::Traits;
use dwell_trace::time::Time;
use dwell_trace::world::World;

use crate::engine::accounts::Account;
use crate::engine::booking::{Booking, Piece};
use crate::engine::location_context::LocationContext;
use crate::engine::owned::{Members, Owned};
use crate::engine::pattern::{Floors, Pattern, Window};
use crate::engine::process::Process;
use crate::engine::regions::Found;
use crate::protocol::{Answering, Asked, Asking, EndedCall};

/// Loops over tests at the processes of a shard that are not judged yet.
#[derive(Debug)]
pub(crate) struct TestWithoutPoll {
    loops: Owned<ProcessNumber, Vec<TestLoop>>,
}

/// A loop over tests that all failed.
#[derive(Clone, Copy, Debug)]
struct TestLoop {
    location: LocationNumber,
    account: Account,
    enter: Time,
    leave: Time,
}

impl Pattern for TestWithoutPoll {
    type Questions = ();
    type Answers = ();
    type Protocol = crate::protocol::Messages;
    type Facts = ();
    type Outcome = ();

    fn new(members: &Members) -> Self {
        Self { loops: Owned::empty(members.processes.clone()) }
    }

    #[inline(always)]
    fn judges(here: &LocationContext<'_>, call: &EndedCall) -> bool {
        here.location.merged > 1 && call.operation == Some(Operation::TestHandle)
    }

    fn on_leave(
        &mut self,
        here: &mut LocationContext<'_>,
        call: &mut EndedCall,
        _: &mut Asking<'_, ()>,
    ) {
        let polls = call.frame.traits.has(Traits::SERVES);
        let found = !call.done.is_empty() || !here.location.awaited.is_empty();
        let EndedCall { location, account, enter, leave, .. } = *call;
        if !polls
            && !found
            && enter < leave
            && let Some(loops) = self.loops.get_mut(here.process.index)
        {
            loops.push(TestLoop { location, account, enter, leave });
        }
    }

    fn end_window(
        &mut self,
        _: &World,
        process: &Process,
        _: Time,
        _: &mut Asking<'_, ()>,
    ) -> Floors {
        let loops = self.loops.get(process.index).map_or(&[][..], Vec::as_slice);
        let pending = loops.iter().map(|it| it.enter).min().unwrap_or(Time::END);
        // A loop that is still open is one more.
        let frames = process.locations.iter().flat_map(|location| &location.stack);
        let tests = frames.filter(|frame| frame.traits.has(Traits::TESTS)).map(|it| it.enter);
        Floors { regions: tests.fold(pending, Time::min), ..Floors::TOP }
    }

    fn answer(&mut self, at: &mut Window<'_>, (): (), _: &mut Asked, out: &mut Answering<'_, ()>) {
        for (me, loops) in self.loops.numbered_mut() {
            let Some(process) = at.processes.get(me) else { continue };
            loops.retain(|it| {
                if it.leave >= at.horizon {
                    return true;
                }
                let regions =
                    if at.world.any_conditional { &process.possible } else { &process.certain };
                match regions.first(it.enter, it.leave, at.horizon) {
                    Found::Unknown => return true,
                    Found::Region(span) if span.begin < it.leave => {}
                    Found::Region(_) | Found::Nothing => {
                        let amount = it.leave - it.enter;
                        out.engine.bookings.send(
                            me,
                            Booking {
                                location: it.location,
                                account: it.account,
                                what: Quantity::Wait(Wait::TestWithoutPoll),
                                amount: amount.0,
                                begin: it.enter,
                                culprit: Some(it.location),
                                piece: Piece::None,
                                left: Some(amount),
                            },
                        );
                    }
                }
                false
            });
        }
    }

    fn bytes(&self) -> usize {
        self.loops.iter().map(|it| it.capacity() * size_of::<TestLoop>()).sum()
    }

    fn outcome(self) {}
}
