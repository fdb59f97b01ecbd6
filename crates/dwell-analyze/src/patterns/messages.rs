//! Messages: late sender, late receiver, wrong order; and notifications, partners and epochs of windows, which are
//! matched in the same way.
//!
//! | | |
//! |---|---|
//! | pushes | every send goes to its receiver |
//! | answers | the receiver, once the send and everything before it is known |
//! | books | late sender at the receiver; late receiver at the sender, to which the receiver sends the time of its post |
//!
//! A call that completes sends waits for the last of their receives that was posted before the call ended: a message
//! that the library buffers lets the call end earlier, because it does not need its receive. Where a call completes
//! both, the wait for messages has precedence. The remaining time of a call that also completes one-sided operations,
//! or large messages, may be a wait for the progress of their targets or partners. A probe waits for the message of the
//! receive that follows it, which was posted after it.
//!
//! Sends and receives are matched in order for each context, sender and tag. A call that receives
//! several messages waits for the last. *Wrong order* means that another message for the same process
//! had been sent before and was not received yet.
//!
//! Partners that synchronise send each other the times of their arrival, and each waits for the last. An
//! exposure epoch that is posted, and an access epoch that is completed, are messages to the other
//! side, which waits for them: *late post* only if the call was still open at the time of the post. *Late
//! complete* is the part of an early wait after the last operation of the origin that arrived last.
//!
//! A non-blocking collective is matched like a message too: the owner of the instance reports which process began
//! it last, and the call that completes it waits for that process. If a call waits for both, collectives have precedence.

mod inbox;
mod sent;

use dwell_log::quantity::Quantity;
use dwell_model::operation::Operation;
use dwell_model::waits::Wait;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::roles::{Epoch, Traits};
use dwell_trace::time::Time;
use dwell_trace::world::World;
use otf2::enums::RmaSyncType;

use crate::engine::event::{Event, EventKind, Received};
use crate::engine::location_context::LocationContext;
use crate::engine::outstanding::LONGEST_MESSAGE;
use crate::engine::owned::{Members, Owned};
use crate::engine::pattern::{Pattern, Unjudged, Window};
use crate::engine::process::Process;
use crate::engine::regions::Span;
use crate::protocol::{Answered, Answering, Asked, Asking, EndedCall};
use inbox::{After, Inbox, Waiter};
use sent::{
    Arrived, Channel, MOST_KEPT, Polled, Posted, Probe, Receive, Replied, Replying, Sending, Sent,
    Started,
};

/// Waits of the processes of a shard for messages, and for other events that are matched like messages.
#[derive(Debug)]
pub(crate) struct Messages {
    inboxes: Owned<ProcessNumber, Inbox>,
    /// Messages of the open call of each location.
    open: Owned<LocationNumber, Open>,
}

/// Messages of an open call.
#[derive(Debug, Default)]
struct Open {
    /// Messages that the call received.
    receives: Vec<Receive>,
    /// Messages that the call sent or completed, which may have waited for the receiver.
    sends: Vec<Started>,
    /// A probe that found a message which no receive has followed yet. It outlives its call.
    probe: Option<Probe>,
}

impl Pattern for Messages {
    type Questions = Sending;
    type Answers = Replying;
    type Protocol = crate::protocol::Messages;
    type Facts = ();
    type Outcome = ();

    fn new(members: &Members) -> Self {
        Self {
            inboxes: Owned::empty(members.processes.clone()),
            open: Owned::empty(members.locations.clone()),
        }
    }

    fn on_event(
        &mut self,
        here: &mut LocationContext<'_>,
        event: &Event<'_>,
        out: &mut Asking<'_, Sending>,
    ) {
        let Some(inbox) = self.inboxes.get_mut(here.process.index) else { return };
        let Some(open) = self.open.get_mut(here.location.number) else { return };
        match event.kind {
            EventKind::Sent { context, receiver, tag, bytes, request, skipped } => {
                let begin = here.location.stack.last().map_or(Time::BEGIN, |frame| frame.enter);
                let serial = inbox.serial();
                let sent = Sent {
                    receiver,
                    sender: here.process.index,
                    location: here.location.number,
                    channel: Channel::Messages(context),
                    tag,
                    begin,
                    time: event.time,
                    serial,
                    blocking: true,
                    touched: Time::BEGIN,
                    skipped,
                };
                out.own.sends.send(receiver, sent);
                let started = Started { serial, begin, bytes };
                match request {
                    Some(request) => drop(inbox.started.insert(request, started)),
                    None if here.note() => open.sends.push(started),
                    None => {}
                }
            }
            EventKind::SendCompleted { request } => {
                if let Some(started) = inbox.started.remove(&request)
                    && here.note()
                {
                    open.sends.push(started);
                }
            }
            EventKind::ReceivePosted { request, enter } => {
                inbox.posted.insert(request, open.post(here, enter));
            }
            EventKind::Cancelled { request } => {
                inbox.posted.remove(&request);
                inbox.started.remove(&request);
            }
            EventKind::Received { request, message } => {
                let posted = request.and_then(|request| inbox.posted.remove(&request));
                if let Some(message) = message {
                    open.receive(here, posted, message);
                }
            }
            EventKind::Notified { window, partner, direction } => {
                let channel = Channel::Notifications(window);
                match direction {
                    RmaSyncType::NotifyOut => inbox.notify(here, event.time, partner, channel, out),
                    RmaSyncType::NotifyIn => open.expect(here, partner, channel, Wait::LateSignal),
                    _ => {}
                }
            }
            EventKind::Synchronised { window, members, epoch } => {
                let me = here.process.index;
                for &partner in members.iter().filter(|member| **member != me) {
                    let mut notify = |here: &mut LocationContext<'_>, of| {
                        inbox.notify(here, event.time, partner, of, out);
                    };
                    match epoch {
                        None => {
                            notify(here, Channel::Partners(window));
                            let channel = Channel::Partners(window);
                            open.expect(here, partner, channel, Wait::LatePartner);
                        }
                        Some(Epoch::Post) => {
                            notify(here, Channel::Posts(window));
                            notify(here, Channel::LaterPosts(window));
                        }
                        Some(Epoch::Start) => {
                            open.expect(here, partner, Channel::Posts(window), Wait::LatePost);
                        }
                        Some(Epoch::Complete) => {
                            open.expect(here, partner, Channel::LaterPosts(window), Wait::LatePost);
                            notify(here, Channel::Completes(window));
                        }
                        Some(Epoch::Wait | Epoch::Test) => {
                            open.expect(here, partner, Channel::Completes(window), Wait::EarlyWait);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn judges(here: &LocationContext<'_>, call: &EndedCall) -> bool {
        call.operation == Some(Operation::Probe) || !here.location.awaited.is_empty()
    }

    fn on_leave(
        &mut self,
        here: &mut LocationContext<'_>,
        call: &mut EndedCall,
        _: &mut Asking<'_, Sending>,
    ) {
        let tests = call.frame.traits.has(Traits::TESTS);
        let Some(open) = self.open.get_mut(call.location) else { return };
        let Some(inbox) = self.inboxes.get_mut(here.process.index) else { return };
        let EndedCall { location, account, enter, leave, .. } = *call;
        if tests && call.operation == Some(Operation::Probe) {
            // An earlier probe that no receive has followed cannot be matched with a message any more.
            let before = open.probe.replace(Probe { location, account, enter, leave });
            inbox.unreceived += u64::from(before.is_some());
        }
        // Non-blocking collectives that the call completed are matched like messages.
        for awaited in here.location.awaited.drain(..) {
            open.receives.push(Receive {
                sender: ProcessNumber::UNKNOWN,
                channel: Channel::Collectives,
                tag: awaited.number,
                bytes: 0,
                posted: awaited.began,
                what: Quantity::Wait(Wait::NonBlockingWait),
                skipped: 0,
                probe: None,
                polled: None,
            });
        }
        if open.is_empty() {
            return;
        }
        let mut receives = std::mem::take(&mut open.receives);
        let mut sends = std::mem::take(&mut open.sends);
        call.at_origin.clear();
        // A call that also completes one-sided operations may have waited for these rather than for the receiver of a
        // message that the library buffers.
        sends.retain(|it| call.done.is_empty() || it.bytes > MOST_KEPT);
        call.claimed |= !receives.is_empty();
        if receives.is_empty() && sends.is_empty() {
            return;
        }
        receives.sort_by_key(|it| it.posted);
        let polls = if tests { here.expect_release(|run| run.last.leave == leave) } else { None };
        let merged = here.location.merged > 1;
        let waiter = Waiter { location, account, enter, leave, polls, merged };
        let deferred = if merged { None } else { hold(here, waiter, call, &receives, &sends) };
        inbox.end(waiter, &receives, &sends, deferred);
    }

    fn answer(
        &mut self,
        at: &mut Window<'_>,
        arrived: Arrived,
        _: &mut Asked,
        out: &mut Answering<'_, Replying>,
    ) {
        for sent in arrived.sends.into_messages() {
            if let Some(inbox) = self.inboxes.get_mut(sent.receiver) {
                inbox.fresh.push(sent);
            }
        }
        for (me, inbox) in self.inboxes.numbered_mut() {
            if inbox.is_idle() {
                continue;
            }
            let Some(process) = at.processes.get_mut(me) else { continue };
            let bookings = &mut out.engine.bookings;
            let early = at.edges.as_deref_mut();
            inbox.judge(me, at.horizon, &mut out.own.ready, early, |it| bookings.send(me, it));
            for After { number, until, partners } in inbox.judged.drain(..) {
                process.deferred.waited_until(number, until, partners);
            }
            for release in inbox.releases.drain(..) {
                process.loops.release(release);
            }
        }
    }

    fn book(&mut self, _: &mut Window<'_>, replied: Replied, shared: &mut Answered) -> Time {
        for message in std::mem::take(&mut shared.begun).into_messages() {
            if let Some(inbox) = self.inboxes.get_mut(message.member) {
                inbox.fresh.push(message.into());
            }
        }
        for ready in replied.ready.into_messages() {
            if let Some(inbox) = self.inboxes.get_mut(ready.sender) {
                inbox.ready.push(ready);
            }
        }
        Time::END
    }

    fn is_busy(&self) -> bool {
        self.inboxes.iter().any(|inbox| !inbox.is_settled())
    }

    fn bytes(&self) -> usize {
        self.inboxes.iter().map(Inbox::bytes).sum()
    }

    fn unjudged(&self, _: &[Process], _: &World, list: &mut Vec<Unjudged>) {
        let missing: Vec<Quantity> = self.inboxes.iter().flat_map(Inbox::unmatched).collect();
        for ((wait, reason), place) in UNMATCHED.iter().zip(30..) {
            let is = |what: &&Quantity| **what == Quantity::Wait(*wait);
            let calls = missing.iter().filter(is).count() as u64;
            list.push(Unjudged::new(place, wait.about().id, calls, reason));
        }
        let sum = |of: fn(&Inbox) -> u64| self.inboxes.iter().map(of).sum::<u64>();
        let reason = "their messages were sent by calls that were not recorded";
        list.push(Unjudged::new(40, "late_sender", sum(|it| it.unseen), reason));
        let left = self.open.iter().filter(|open| open.probe.is_some()).count() as u64;
        let reason = "they probed for messages, and no receive followed that says which";
        list.push(Unjudged::new(41, "late_sender", left + sum(|it| it.unreceived), reason));
    }

    fn outcome(self) {}
}

/// Waits whose cause may be missing from the archive, in the order in which they are reported, with the reason.
const UNMATCHED: &[(Wait, &str)] = &[
    (Wait::LatePartner, ELSEWHERE),
    (Wait::LateSender, "the messages that they received were not sent in the archive"),
    (Wait::LateReceiver, ELSEWHERE),
    (Wait::LatePost, ELSEWHERE),
    (Wait::EarlyWait, ELSEWHERE),
    (Wait::NonBlockingWait, "some members never completed, or began unrecorded"),
];

const ELSEWHERE: &str = "what they waited for is not in the archive";

impl Open {
    /// Returns `true` if the call neither received nor sent anything.
    fn is_empty(&self) -> bool {
        self.receives.is_empty() && self.sends.is_empty()
    }

    /// Posts a receive. Its message may be the one that a probe found before.
    fn post(&mut self, here: &mut LocationContext<'_>, enter: Time) -> Posted {
        let probe = self.probe.take();
        let run =
            here.location.polls.as_mut().filter(|run| run.is_loop && run.probed > Time::BEGIN);
        let polled = run.map(|run| {
            let leave = std::mem::take(&mut run.probed);
            Polled { number: here.process.loops.expect(run), leave }
        });
        Posted { enter, probe, polled }
    }

    /// Notes that the open call received a message.
    fn receive(
        &mut self,
        here: &mut LocationContext<'_>,
        posted: Option<Posted>,
        message: Received,
    ) {
        let Received { context, sender, tag, bytes, skipped, enter } = message;
        let posted = posted.unwrap_or_else(|| self.post(here, enter));
        let Posted { enter: posted, probe, polled } = posted;
        let (channel, what) = (Channel::Messages(context), Quantity::Wait(Wait::LateSender));
        if here.note() {
            self.receives.push(Receive {
                sender,
                channel,
                tag,
                bytes,
                posted,
                what,
                skipped,
                probe,
                polled,
            });
        }
    }

    /// Makes the open call wait for a notification of a partner.
    fn expect(
        &mut self,
        here: &mut LocationContext<'_>,
        sender: ProcessNumber,
        channel: Channel,
        wait: Wait,
    ) {
        let posted = here.location.stack.last().map_or(Time::BEGIN, |frame| frame.enter);
        if here.note() {
            self.receives.push(Receive {
                sender,
                channel,
                tag: 0,
                bytes: 0,
                posted,
                what: Quantity::Wait(wait),
                skipped: 0,
                probe: None,
                polled: None,
            });
        }
    }
}

/// Defers the judgement of a call if its remaining time after the messages may be a wait for progress: of the targets
/// of operations that it also completed, or of the partners of large messages. Returns the number of the deferred call.
fn hold(
    here: &mut LocationContext<'_>,
    waiter: Waiter,
    call: &mut EndedCall,
    receives: &[Receive],
    sends: &[Started],
) -> Option<u32> {
    let Waiter { location, account, enter, leave, .. } = waiter;
    // Synchronisation between partners and epochs of windows follow other rules.
    let is_other =
        |it: &Receive| !matches!(it.channel, Channel::Messages(_) | Channel::Collectives);
    if receives.iter().any(is_other) {
        return None;
    }
    let mut sizes = receives.iter().map(|it| it.bytes).chain(sends.iter().map(|it| it.bytes));
    let large = sizes.any(|it| it > MOST_KEPT) && leave - enter <= LONGEST_MESSAGE;
    if call.done.is_empty() && !large {
        return None;
    }
    let done = std::mem::take(&mut call.done);
    Some(here.process.deferred.ended(location, account, Span { begin: enter, end: leave }, done))
}
