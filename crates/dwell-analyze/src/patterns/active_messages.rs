//! Late reply, and late signals by active messages: a process polls until a handler has run, and the message that calls the
//! handler is sent later.
//!
//! | | |
//! |---|---|
//! | pushes | every active message goes to its receiver: when it was sent and, if it is a reply, when the handler that sent it began |
//! | answers | the receiver itself, once all messages before the handler are known |
//! | books | at the receiver, on the path of the call that polled |
//!
//! A call that polls does not say what it waits for: a program polls until some handler has done something. The handler
//! that ran last in the call is taken for the one that ended the wait. Its message was sent at s by another process, so the
//! call waited until s, but for the time of the handlers that ran in it before. If several ran, the wait is *inferred*.
//!
//! A message that is sent while a handler runs is a reply, because handlers may send nothing else. Waiting for it is a *late
//! reply*, and the part of it before the handler of the request began at the other process is *handler delay*. Waiting for
//! any other message is a *late signal*.
//!
//! All messages, whether anybody waits for them or not, have a delay: the time from the call that sent one to the begin of its
//! handler. It is not a wait, and is booked on the path of the handler.
//!
//! Messages have no identity. The n-th message of a process with some checksum is taken for the n-th that the receiver
//! handles from there with that checksum.

use std::collections::{HashMap, VecDeque};

use dwell_log::quantity::Quantity;
use dwell_model::operation::Operation;
use dwell_model::waits::Wait;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::time::{Duration, Time};
use dwell_trace::world::World;
use serde::{Deserialize, Serialize};

use crate::engine::accounts::Account;
use crate::engine::booking::{Booking, Piece};
use crate::engine::event::{Event, EventKind};
use crate::engine::exchange::outboxes;
use crate::engine::hash::Mixed;
use crate::engine::location_context::LocationContext;
use crate::engine::message::Message;
use crate::engine::owned::{Members, Owned};
use crate::engine::paths::Path;
use crate::engine::pattern::{Pattern, Unjudged, Window};
use crate::engine::process::Process;
use crate::protocol::{Answering, Asked, Asking, EndedCall};

outboxes! {
    /// Messages to the receivers of active messages.
    Sending => Arrived {
        sends: Sent;
    }
}

/// Active messages of the processes of a shard. Most programs have none, so state exists where there are some.
#[derive(Debug)]
pub(crate) struct ActiveMessages {
    inboxes: Owned<ProcessNumber, Option<Box<Inbox>>>,
    open: Owned<LocationNumber, Option<Box<Open>>>,
}

impl Pattern for ActiveMessages {
    type Questions = Sending;
    type Answers = ();
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
        let (me, location) = (here.process.index, here.location.number);
        match event.kind {
            EventKind::MessageSent { target, checksum, enter } => {
                let Some(open) = self.open.get_mut(location) else { return };
                let open = open.get_or_insert_default();
                open.serial += 1;
                let handler = here.polling_call().and(open.last).map(|last| last.time);
                let (sender, time, serial) = (me, event.time, open.serial);
                let sent = Sent {
                    target,
                    sender,
                    location,
                    checksum,
                    begin: enter,
                    time,
                    serial,
                    handler,
                };
                out.own.sends.send(target, sent);
            }
            EventKind::MessageHandled { source, checksum } => {
                let Some(open) = self.open.get_mut(location) else { return };
                let open = open.get_or_insert_default();
                let Some(inbox) = self.inboxes.get_mut(me) else { return };
                let inbox = inbox.get_or_insert_default();
                let (time, first) = (event.time, here.location.in_handlers);
                let (before, in_handlers, count) = (open.last, first, 1);
                let path = here.location.stack.last().map_or(Path::TOP, |frame| frame.path);
                let run = Run { source, checksum, time, location, path, first, in_handlers, count };
                if here.attend_polling() {
                    open.last = Some(before.map_or(run, |last| run.after(&last)));
                } else {
                    // Nobody sees the end of the call, if there is one.
                    inbox.handled.push(Handled { run, waiter: None });
                    open.last = None;
                }
                inbox.handled.extend(before.map(|run| Handled { run, waiter: None }));
            }
            _ => {}
        }
    }

    fn on_leave(
        &mut self,
        here: &mut LocationContext<'_>,
        call: &mut EndedCall,
        _: &mut Asking<'_, Sending>,
    ) {
        let open = self.open.get_mut(call.location).and_then(Option::as_mut);
        let Some(run) = open.and_then(|open| open.last.take()) else { return };
        let Some(inbox) = self.inboxes.get_mut(here.process.index) else { return };
        let inbox = inbox.get_or_insert_default();
        let EndedCall { account, enter, leave, .. } = *call;
        let polls = call.operation == Some(Operation::Poll);
        let length = (leave - enter).saturating_sub(here.location.in_handlers - run.first);
        let waiter = polls.then_some(Waiter { account, enter, length });
        inbox.handled.push(Handled { run, waiter });
    }

    fn answer(
        &mut self,
        at: &mut Window<'_>,
        arrived: Arrived,
        _: &mut Asked,
        out: &mut Answering<'_, ()>,
    ) {
        for sent in arrived.sends.into_messages() {
            if let Some(inbox) = self.inboxes.get_mut(sent.target) {
                inbox.get_or_insert_default().sent.push(sent);
            }
        }
        for (me, inbox) in self.inboxes.numbered_mut() {
            let Some(inbox) = inbox.as_mut().filter(|inbox| !inbox.is_idle()) else { continue };
            let Some(process) = at.processes.get_mut(me) else { continue };
            // The last handler of a call that is still open is not among those that are known.
            let open =
                process.locations.iter().filter_map(|it| self.open.get(it.number)?.as_ref()?.last);
            let known = open.map(|run| run.time).fold(at.horizon, Time::min);
            let mut late = Vec::new();
            let book = |booking| out.engine.bookings.send(me, booking);
            inbox.judge(me, at.horizon, known, book, |run, delay| late.push((*run, delay)));
            for (Run { location, path, .. }, Duration(delay)) in late {
                if let Some(location) = process.location_mut(location) {
                    location.paths.book(path, Quantity::MessageDelay, delay);
                }
            }
        }
    }

    fn bytes(&self) -> usize {
        self.inboxes.iter().flatten().map(|inbox| inbox.bytes()).sum()
    }

    fn unjudged(&self, _: &[Process], _: &World, list: &mut Vec<Unjudged>) {
        let waiting =
            |inbox: &Inbox| inbox.open.values().flatten().filter(|it| it.waiter.is_some()).count();
        let missing = self.inboxes.iter().flatten().map(|inbox| waiting(inbox) as u64).sum();
        let reason = "the messages whose handlers ran in them were not sent in the archive";
        list.push(Unjudged::new(95, "late_reply", missing, reason));
    }

    fn outcome(self) {}
}

/// An active message as its receiver learns of it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Sent {
    target: ProcessNumber,
    sender: ProcessNumber,
    location: LocationNumber,
    checksum: u64,
    /// Enter of the call that sent the message.
    begin: Time,
    /// Time of the record.
    time: Time,
    /// Sequence number of the message at its location.
    serial: u64,
    /// Begin of the handler that sent the message, if it is a reply.
    handler: Option<Time>,
}

impl Message for Sent {}

/// A handler that ran.
#[derive(Clone, Copy, Debug)]
struct Run {
    source: ProcessNumber,
    checksum: u64,
    /// Begin of the handler.
    time: Time,
    location: LocationNumber,
    /// Call path of the handler.
    path: Path,
    /// Time that the location had spent in handlers before the first handler of the call, and before this one.
    first: Duration,
    in_handlers: Duration,
    /// Number of handlers that have run in the call so far.
    count: u32,
}

impl Run {
    /// Returns the same run as one that follows another in the same call.
    fn after(self, last: &Self) -> Self {
        Self { first: last.first, count: last.count.saturating_add(1), ..self }
    }

    fn key(&self) -> Key {
        (self.source, self.checksum)
    }
}

/// Sender and checksum of a message.
type Key = (ProcessNumber, u64);

/// State of a location.
#[derive(Debug, Default)]
struct Open {
    /// The last handler that ran in the open call at which waits are judged.
    last: Option<Run>,
    /// Number of messages that were sent.
    serial: u64,
}

/// A call that polled, and in which a handler ran.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    account: Account,
    enter: Time,
    /// Time of the call without the handlers that ran in it.
    length: Duration,
}

/// A handler that ran, with the call that waited for it if there is one.
#[derive(Clone, Copy, Debug)]
struct Handled {
    run: Run,
    waiter: Option<Waiter>,
}

/// Messages to a process, and handlers that ran at it.
#[derive(Debug, Default)]
struct Inbox {
    /// Messages and handlers in any order, as they became known.
    sent: Vec<Sent>,
    handled: Vec<Handled>,
    /// Messages whose handlers have not run, and handlers whose messages are not known, in the order of time.
    ahead: HashMap<Key, VecDeque<Sent>, Mixed>,
    open: HashMap<Key, VecDeque<Handled>, Mixed>,
}

impl Inbox {
    fn is_idle(&self) -> bool {
        self.sent.is_empty() && self.handled.is_empty()
    }

    fn bytes(&self) -> usize {
        let queued = |lengths: usize, each: usize| lengths * each;
        queued(self.sent.capacity(), size_of::<Sent>())
            + queued(self.handled.capacity(), size_of::<Handled>())
            + queued(self.ahead.values().map(VecDeque::capacity).sum(), size_of::<Sent>())
            + queued(self.open.values().map(VecDeque::capacity).sum(), size_of::<Handled>())
    }

    /// Matches messages that were sent before `horizon` with handlers that ran before `known`, books the waits, and tells
    /// the delay of each message.
    fn judge(
        &mut self,
        me: ProcessNumber,
        horizon: Time,
        known: Time,
        mut book: impl FnMut(Booking),
        mut tell: impl FnMut(&Run, Duration),
    ) {
        self.sent.sort_unstable_by_key(|it| (it.time, it.location, it.serial));
        let ready = self.sent.partition_point(|it| it.time < horizon);
        let mut touched = Vec::new();
        for sent in self.sent.drain(..ready) {
            let key = (sent.sender, sent.checksum);
            self.ahead.entry(key).or_default().push_back(sent);
            touched.push(key);
        }
        self.handled.sort_by_key(|it| (it.run.time, it.run.location));
        let ready = self.handled.partition_point(|it| it.run.time < known);
        for handled in self.handled.drain(..ready) {
            let key = handled.run.key();
            self.open.entry(key).or_default().push_back(handled);
            touched.push(key);
        }
        touched.sort_unstable();
        touched.dedup();
        for key in touched {
            let (Some(ahead), Some(open)) = (self.ahead.get_mut(&key), self.open.get_mut(&key))
            else {
                continue;
            };
            while let (Some(sent), Some(handled)) = (ahead.front(), open.front()) {
                if sent.sender != me {
                    handled.book(sent, &mut book);
                }
                tell(&handled.run, handled.run.time.since(sent.begin));
                ahead.pop_front();
                open.pop_front();
            }
            if ahead.is_empty() {
                self.ahead.remove(&key);
            }
            if self.open.get(&key).is_some_and(VecDeque::is_empty) {
                self.open.remove(&key);
            }
        }
    }
}

impl Handled {
    /// Books the wait for a message that another process sent.
    fn book(&self, sent: &Sent, mut book: impl FnMut(Booking)) {
        let Self { run, waiter: Some(waiter) } = *self else { return };
        let Waiter { account, enter, length } = waiter;
        let until = sent.begin.min(run.time);
        let amount = until.since(enter).saturating_sub(run.in_handlers - run.first);
        if amount == Duration::ZERO {
            return;
        }
        let wait = if sent.handler.is_some() { Wait::LateReply } else { Wait::LateSignal };
        let booking = |what, amount: Duration, piece, left| Booking {
            location: run.location,
            account,
            what,
            amount: amount.0,
            begin: until.earlier_by(amount),
            culprit: Some(sent.location),
            piece,
            left,
        };
        book(booking(Quantity::Wait(wait), amount, Piece::OfTwo, Some(length)));
        if run.count > 1 {
            book(booking(Quantity::Inferred(wait), amount, Piece::None, None));
        }
        let delay = sent.handler.map_or(Duration::ZERO, |begin| begin.since(enter)).min(amount);
        if delay > Duration::ZERO {
            book(booking(Quantity::Wait(Wait::HandlerDelay), delay, Piece::None, None));
        }
    }
}
