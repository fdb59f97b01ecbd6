//! Wait for progress: an operation waits until its target enters a call that serves it.
//!
//! | | |
//! |---|---|
//! | asks | the target: when were you inside progress regions while the operation was open? |
//! | answers | from the target's regions, as soon as what it has read decides it |
//! | books | at the origin, on the path of the call that waited |
//!
//! With one target, started at s, waited for in [e, x]: regions of the target that end after s + L and begin before
//! x, where those that are close together are one visit. There is no wait if the last visit begins at or before e. The
//! lower bound is the time from e to the first visit, the upper bound all time from e to the last visit in which the
//! target was in no region. With several targets, the lower bound is the time from e to the latest begin(r), r being the
//! first region of each target; regions that ended by e do not count. The upper bound is the time in which any of the
//! targets was away before its last visit. A call that goes on after that may be held by others: see [`held`]. A target with several visits reports when it was away
//! ([`Away`](questions::Away)), unless that was more than [`MOST_GAPS`](several::MOST_GAPS) times.
//!
//! Calls that may or may not progress give two answers; the smaller and the larger are the bounds. An operation
//! that no region could have served is evidence about its class, and waits are kept until their class is judged:
//! see [`evidence`].
//!
//! # Requests in flight
//! A region that ends before a request can have arrived does not serve it. The time that a request takes comes from the
//! fastest of all messages, so some are slower and none is much faster. An operation that such a region touched is not
//! evidence.
//!
//! # Collectives
//! A collective may complete operations on targets outside of its group. Until the last member of the group has arrived,
//! the process waits for that member. Only then are the targets asked, and only up to the time at which the first of
//! the group left: everything was complete before any member could leave.
//!
//! # Messages
//! A large message moves only while both sides are in calls that progress, unless the network moves it alone. A wait
//! for a late sender or receiver has precedence; the partner is asked about the rest of the call like the target of an
//! operation. If both knew of the message before the call was entered, the partner may have done its part by then, so
//! there is no lower bound. A call that also completes one-sided operations asks their targets about the same rest.
//!
//! # Calls that need not wait
//! A call that completes operations at their origin only, and one that has nothing to complete ([`empty`]), return without
//! any target in most libraries. In others they wait. They ask like all others, but under classes of their own, which are
//! waits only if they depend on arrivals: see [`evidence`]. A call of less than 20 µs that completes at the origin does not
//! ask, nor does one that waits for targets or messages anyway.
//!
//! # Why an operation asks at the end of each window
//! A target forgets its regions when a window ends, except those since the enter of a call that has yet to ask. An
//! operation that is still in flight then asks once for the regions known so far. If a region has served it, the origin
//! remembers that region. If not, only later regions can serve it, and they will be there when it asks again.

mod answers;
mod cases;
mod empty;
mod evidence;
mod held;
mod questions;
mod serving;
mod several;

use dwell_trace::ids::ProcessNumber;
use dwell_trace::roles::Traits;
use dwell_trace::time::{Duration, Time};
use dwell_trace::world::World;

use crate::engine::call::CompletedCall;
use crate::engine::deferred::Rest;
use crate::engine::event::Event;
use crate::engine::location_context::LocationContext;
use crate::engine::message::{Inbox, Outbox};
use crate::engine::outstanding::{Done, Known, LONGEST_MESSAGE, Op};
use crate::engine::owned::{Members, Owned};
use crate::engine::pattern::{Conclusion, Floors, Pattern, Unjudged, Window};
use crate::engine::process::Process;
use crate::engine::regions::Span;
use crate::engine::workers::run_on;
use crate::protocol::locks::Cut;
use crate::protocol::progress_wait::Waited;
use crate::protocol::{Answered, Answering, Asked, Asking, EndedCall};
use answers::{APART, Outcome, answer, answer_one, look_for};
use cases::{Case, CompletingCall, Origin};
use evidence::{Found as FoundEvidence, Nodes};
use held::{HELD, Hold, answer_hold};
use questions::{Ask, AskOne, Questioned, Questions, Replied, Replies, Seen, Watch};
use serving::SHORTEST;

/// Waits for progress of the processes of a shard.
#[derive(Debug)]
pub(crate) struct Progress {
    origins: Owned<ProcessNumber, Origin>,
    /// Questions to processes of this shard that wait for more events.
    asks: Vec<Ask>,
    ones: Vec<AskOne>,
    holds: Vec<Hold>,
    /// Questions to members of chains that are sent in the next window.
    new_holds: Vec<Hold>,
    /// Waits of calls that also waited for a lock, for the owner of the lock to cut.
    cuts: Vec<Cut>,
    /// Evidence that was found in the current window.
    found: FoundEvidence,
    /// Number of questions that could not be answered because the target's events are missing.
    missed: u64,
    /// True if calls that may have progressed operations of others were not recorded at all.
    dark: bool,
}

impl Pattern for Progress {
    type Questions = Questions;
    type Answers = Replies;
    type Protocol = crate::protocol::Messages;
    type Facts = Nodes;
    type Outcome = ();

    fn new(members: &Members) -> Self {
        Self {
            origins: Owned::empty(members.processes.clone()),
            asks: Vec::new(),
            ones: Vec::new(),
            holds: Vec::new(),
            new_holds: Vec::new(),
            cuts: Vec::new(),
            found: FoundEvidence::default(),
            missed: 0,
            dark: false,
        }
    }

    fn begin_window(&mut self, world: &World, out: &mut Asking<'_, Questions>) {
        for cut in self.cuts.drain(..) {
            out.shared.cuts.send(cut.key.owner_of_state(world), cut);
        }
        for hold in self.new_holds.drain(..) {
            out.own.holds.send(hold.member, hold);
        }
    }

    fn judge_rest(&mut self, process: &Process, rest: &Rest, out: &mut Asking<'_, Questions>) {
        let Rest { location, account, length, when, ref done } = *rest;
        let call = CompletingCall { location, account, length, when, may_be_held: false };
        if let Some(origin) = self.origins.get_mut(process.index) {
            origin.ask_many(process.index, &call, done, out.own);
        }
    }

    #[inline(always)]
    fn on_complete(&mut self, call: CompletedCall, out: &mut Asking<'_, Questions>) {
        let length = call.leave - call.enter;
        if length >= SHORTEST
            && let Some(origin) = self.origins.get_mut(call.process)
        {
            let when = Span { begin: call.enter, end: call.leave };
            origin.serving.call(when, call.location, call.account);
        }
        if call.completes && length >= HELD {
            return self.on_long_complete(call, out);
        }
        let CompletedCall { location, account, enter, leave, target, start, class, .. } = call;
        let ask = Ask { start, enter, leave, target, location, account, class };
        out.own.asks.send(target, ask);
    }

    #[inline(always)]
    fn judges(_: &LocationContext<'_>, call: &EndedCall) -> bool {
        !call.done.is_empty()
            || !call.at_origin.is_empty()
            || !call.locked.is_empty()
            || empty::is_long(call)
    }

    fn on_event(
        &mut self,
        here: &mut LocationContext<'_>,
        event: &Event<'_>,
        _: &mut Asking<'_, Questions>,
    ) {
        if let Some(origin) = self.origins.get_mut(here.process.index) {
            origin.access.note(here, event);
        }
    }

    fn on_leave(
        &mut self,
        here: &mut LocationContext<'_>,
        call: &mut EndedCall,
        out: &mut Asking<'_, Questions>,
    ) {
        let me = here.process.index;
        let Some(origin) = self.origins.get_mut(me) else { return };
        let locked = std::mem::take(&mut call.locked);
        let waited_for_locks = !locked.is_empty();
        for locked in locked {
            origin.ask_lock(me, locked, &mut out.own.ones);
        }
        if call.claimed || waited_for_locks && call.done.is_empty() {
            return;
        }
        let EndedCall { location, account, enter, leave, .. } = *call;
        let members;
        let asked = if !call.done.is_empty() {
            &call.done
        } else if !call.at_origin.is_empty() {
            &call.at_origin
        } else {
            members = origin.access.members(here, call);
            &members
        };
        if !asked.is_empty() {
            origin.serving.call(Span { begin: enter, end: leave }, location, account);
        }
        let may_be_held = !call.done.is_empty()
            && call.frame.traits.has(Traits::COMPLETES)
            && !call.frame.traits.has(Traits::TOGETHER);
        match asked.as_slice() {
            [] => {}
            [only] if only.known == Known::default() && !(may_be_held && leave - enter >= HELD) => {
                let Done { target, start, class, .. } = *only;
                let ask = Ask { start, enter, leave, target, location, account, class };
                out.own.asks.send(target, ask);
            }
            several => {
                let (length, when) = (leave - enter, Span { begin: enter, end: leave });
                let asking = CompletingCall { location, account, length, when, may_be_held };
                origin.ask_many(me, &asking, several, out.own);
            }
        }
    }

    fn end_window(
        &mut self,
        world: &World,
        process: &Process,
        horizon: Time,
        out: &mut Asking<'_, Questions>,
    ) -> Floors {
        for (op, known) in process.outstanding.waiting() {
            let Op { start, serial, target, window, .. } = *op;
            let process = process.index;
            let watch = Watch { start, serial, target, process, window, known };
            out.own.watches.send(target, watch);
        }
        let locks = self.origins.get(process.index).map_or(Time::END, |origin| {
            origin.cases.iter().filter_map(Case::locked).min().unwrap_or(Time::END)
        });
        let held = self.origins.get(process.index).map_or(Time::END, Origin::may_ask_since);
        let regions = needed_since(world, process, horizon).min(held).earlier_by(spare(world));
        Floors { regions, locks, ..Floors::TOP }
    }

    fn answer(
        &mut self,
        at: &mut Window<'_>,
        asked: Questioned,
        _: &mut Asked,
        out: &mut Answering<'_, Replies>,
    ) {
        self.dark = at.world.dark;
        self.answer_asks(at, asked.asks, &mut out.shared.waited);
        let pending = std::mem::take(&mut self.ones);
        let mut again = Vec::new();
        for ask in pending.into_iter().chain(asked.ones.into_messages()) {
            let Some(target) = at.processes.get(ask.target) else { continue };
            let away = &mut out.own.away;
            let served = match answer_one(at.world, target, &ask, at.horizon, &mut self.found, away)
            {
                Outcome::Answered(served) => served,
                Outcome::Pending => {
                    again.push(ask);
                    continue;
                }
                Outcome::Unanswerable => {
                    self.missed += u64::from(!ask.class.needs_arrivals());
                    ask.unanswered()
                }
            };
            out.own.served.send(served.process, served);
        }
        self.ones = again;
        let pending = std::mem::take(&mut self.holds);
        for hold in pending.into_iter().chain(asked.holds.into_messages()) {
            let Some(member) = at.processes.get(hold.member) else { continue };
            let completing = self.origins.get(hold.member).map(|it| &it.completing);
            let to = (&mut out.own.links, &mut out.own.came);
            if !answer_hold(at.world, member, completing, &hold, at.horizon, to) {
                self.holds.push(hold);
            }
        }
        self.found.send(&mut out.own.evidence);
        for (process, when) in self.found.served.drain(..) {
            if let Some(origin) = self.origins.get_mut(process) {
                origin.serving.serve(when);
            }
        }
        for watch in asked.watches.into_messages() {
            let Some(target) = at.processes.get(watch.target) else { continue };
            if let Some(seen) = look_for(at.world, target, &watch, at.horizon) {
                out.own.seen.send(seen.process, seen);
            }
        }
    }

    fn book(&mut self, at: &mut Window<'_>, replied: Replied, shared: &mut Answered) -> Time {
        let world = at.world;
        let Window { processes, edges, .. } = at;
        let mut keep = |origins: &mut Owned<ProcessNumber, Origin>, waited: &Waited, several| {
            let number = world.process(waited.location);
            let Some(process) = processes.get_mut(number) else { return };
            if let Some(origin) = origins.get_mut(number) {
                origin.keep(process, waited, several, edges.as_deref_mut());
            }
        };
        std::mem::take(&mut shared.waited)
            .read(|waited| keep(&mut self.origins, waited, Vec::new()));
        for away in replied.away.into_messages() {
            if let Some(origin) = self.origins.get_mut(away.process) {
                origin.note_away(&away);
            }
        }
        for served in replied.served.into_messages() {
            let Some(origin) = self.origins.get_mut(served.process) else { continue };
            match origin.gather(&served, &mut self.new_holds) {
                Some((waited, edges, None)) => keep(&mut self.origins, &waited, edges),
                Some((waited, _, Some((key, waiting)))) => {
                    self.cuts.push(Cut { key, process: served.process, waiting, waited });
                }
                None => {}
            }
        }
        for link in replied.links.into_messages() {
            if let Some(origin) = self.origins.get_mut(link.process) {
                origin.chains.learn_link(&link);
            }
        }
        for came in replied.came.into_messages() {
            let Some(origin) = self.origins.get_mut(came.process) else { continue };
            if let Some(waited) = origin.chains.learn(&came, &mut self.new_holds) {
                keep(&mut self.origins, &waited, Vec::new());
            }
        }
        for evidence in replied.evidence.into_messages() {
            if let Some(origin) = self.origins.get_mut(evidence.origin) {
                origin.ledger.learn(&evidence);
            }
        }
        for Seen { serial, target, process, window, known } in replied.seen.into_messages() {
            if let Some(process) = at.processes.get_mut(process) {
                process.outstanding.learn(serial, window, target, known);
            }
        }
        // Questions that wait here will look again.
        let asks = self.asks.iter().map(|ask| ask.start);
        let ones = self.ones.iter().map(|ask| ask.start);
        let holds = self.holds.iter().chain(&self.new_holds).map(Hold::since);
        let oldest = asks.chain(ones).chain(holds).min().unwrap_or(Time::END);
        let floor = oldest.min(at.floors.regions).earlier_by(spare(world));
        for (number, origin) in self.origins.numbered_mut() {
            origin.completing.forget(floor);
            if let Some(process) = at.processes.get_mut(number) {
                origin.serving.settle(process, floor);
            }
        }
        oldest.earlier_by(spare(world))
    }

    fn facts(&self, world: &World) -> Nodes {
        let ledgers = self.origins.numbered().map(|(process, origin)| (process, &origin.ledger));
        evidence::nodes(world, ledgers)
    }

    fn conclude(&mut self, at: &mut Conclusion<'_>, nodes: &Nodes) {
        for (number, origin) in self.origins.numbered_mut() {
            if let Some(process) = at.processes.get_mut(number) {
                origin.serving.settle(process, Time::END);
            }
            evidence::conclude(at, number, &mut origin.ledger, nodes);
        }
    }

    fn is_busy(&self) -> bool {
        !self.cuts.is_empty() || !self.new_holds.is_empty() || !self.holds.is_empty()
    }

    fn bytes(&self) -> usize {
        let of_origin = |origin: &Origin| origin.ledger.bytes() + origin.serving.bytes();
        self.origins.iter().map(of_origin).sum::<usize>()
            + self.asks.capacity() * size_of::<Ask>()
            + self.ones.capacity() * size_of::<AskOne>()
    }

    fn unjudged(&self, _: &[Process], _: &World, list: &mut Vec<Unjudged>) {
        let missed = if self.dark { 0 } else { self.missed };
        let reason = "the events of their targets are missing, or end before";
        list.push(Unjudged::new(10, "wait_for_progress", missed, reason));
    }

    fn outcome(self) {}
}

/// Number of questions to one shard from which several workers answer them. Only a target that nearly all processes ask
/// has as many, and it would delay all others.
const MANY: usize = 1 << 15;

/// Where answers to questions about calls with a single target go.
struct TargetAnswerer<'a> {
    out: &'a mut Outbox<Waited>,
    /// Questions that wait for more events.
    pending: &'a mut Vec<Ask>,
    found: &'a mut FoundEvidence,
    /// Number of questions that could not be answered.
    missed: &'a mut u64,
}

impl TargetAnswerer<'_> {
    #[inline]
    fn answer(&mut self, world: &World, target: Option<&Process>, ask: &Ask, horizon: Time) {
        let Some(target) = target else { return };
        let origin = world.process(ask.location);
        match answer(world, target, ask, origin, horizon, self.found) {
            Outcome::Answered(Some(waited)) => self.out.send(origin, waited),
            Outcome::Answered(None) => {}
            Outcome::Pending => self.pending.push(*ask),
            Outcome::Unanswerable => *self.missed += u64::from(!ask.class.needs_arrivals()),
        }
    }
}

impl Progress {
    /// Judges a long call that completed one operation.
    #[inline(never)]
    fn on_long_complete(&mut self, call: CompletedCall, out: &mut Asking<'_, Questions>) {
        let CompletedCall {
            process, location, account, enter, leave, target, start, class, ..
        } = call;
        let (length, when) = (leave - enter, Span { begin: enter, end: leave });
        let asking = CompletingCall { location, account, length, when, may_be_held: true };
        let done = Done { target, start, class, bytes: 0, known: Known::default() };
        if let Some(origin) = self.origins.get_mut(process) {
            origin.ask_many(process, &asking, &[done], out.own);
        }
    }

    /// Answers the questions about calls with a single target.
    fn answer_asks(&mut self, at: &Window<'_>, asked: Inbox<Ask>, out: &mut Outbox<Waited>) {
        let before = std::mem::take(&mut self.asks);
        let Self { asks: pending, found, missed, .. } = self;
        let mut answerer = TargetAnswerer { out, pending, found, missed };
        let (world, processes, horizon) = (at.world, &*at.processes, at.horizon);
        let mut one = |ask: &Ask| answerer.answer(world, processes.get(ask.target), ask, horizon);
        before.iter().for_each(&mut one);
        if at.workers == 1 || asked.len() < MANY {
            return asked.read(one);
        }
        let spare = answerer.out.another();
        let mut batches: Vec<&[Ask]> = asked.batches().iter().map(Vec::as_slice).collect();
        let answers = run_on(
            at.workers,
            &mut batches,
            &|| (spare.another(), Vec::new(), FoundEvidence::default(), 0),
            &|batch, (out, pending, found, missed)| {
                let mut answerer = TargetAnswerer { out, pending, found, missed };
                for ask in *batch {
                    answerer.answer(world, processes.get(ask.target), ask, horizon);
                }
            },
        );
        for (out, pending, found, missed) in answers {
            answerer.out.append(out);
            answerer.pending.extend(pending);
            answerer.found.append(found);
            *answerer.missed += missed;
        }
        asked.read(|_| ());
    }
}

/// Returns the earliest time from which a process will ask others for progress regions: for operations and calls that
/// are open, and for calls whose rest is not judged yet.
fn needed_since(world: &World, process: &Process, horizon: Time) -> Time {
    let locations = &process.locations;
    let in_flight = !process.outstanding.is_empty()
        || locations.iter().any(|location| !location.done.is_empty());
    let mut since = horizon.min(process.deferred.start());
    for location in locations {
        for done in location.done.iter().chain(&location.at_origin) {
            // The call has yet to end, and to ask.
            if done.known.certain.is_none() || done.known.possible.is_none() {
                since = since.min(done.start);
            }
        }
        for frame in location.stack.iter().filter(|frame| frame.judged) {
            // These calls will ask for what happened since they were entered.
            let issues = frame.traits.has(Traits::ONE_SIDED);
            let locks = frame.traits.has(Traits::LOCK);
            let completes = in_flight && !frame.traits.has(Traits::TOGETHER)
                || empty::completes(&world.roles.get(frame.region));
            let messages = frame.enter.later_by(LONGEST_MESSAGE) >= horizon
                && world.roles.get(frame.region).completes_messages();
            if issues || locks || completes || messages {
                since = since.min(frame.enter);
            }
        }
    }
    since
}

/// Returns the time before an operation for which regions are kept: those that ended shortly before it are not evidence,
/// and may belong to a visit.
fn spare(world: &World) -> Duration {
    world.longest_latency().max(APART)
}
