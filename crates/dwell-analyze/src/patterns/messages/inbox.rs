//! Messages of a process: matches sends with receives, and judges the calls that waited for them.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use dwell_log::class::Class;
use dwell_log::edge::{Edge, Kind};
use dwell_log::quantity::Quantity;
use dwell_model::waits::Wait;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::time::{Duration, Time};

use crate::engine::accounts::Account;
use crate::engine::booking::{Booking, Piece};
use crate::engine::hash::Mixed;
use crate::engine::location_context::LocationContext;
use crate::engine::message::Outbox;
use crate::engine::outstanding::{Done, Known};
use crate::engine::polling::Release;
use crate::patterns::messages::sent::{
    Channel, Key, MOST_KEPT, Polled, Posted, Probe, Ready, Receive, Sending, Sent, Started,
};
use crate::protocol::Asking;

/// A call whose messages are judged, and the time until which it waited for them. The rest of the call may be a wait
/// for progress.
#[derive(Debug)]
pub(super) struct After {
    /// Number of the case of the call.
    pub(super) number: u32,
    pub(super) until: Time,
    /// Partners of large messages.
    pub(super) partners: Vec<Done>,
}

/// A call that received messages, or completed sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub(super) location: LocationNumber,
    pub(super) account: Account,
    pub(super) enter: Time,
    pub(super) leave: Time,
    /// Number of the polling loop that the call belongs to.
    pub(super) polls: Option<u32>,
    /// True if it stands for several calls of that loop, so that its wait is that of the loop.
    pub(super) merged: bool,
}

/// A call, and what is known about its messages.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) waiter: Waiter,
    /// Receives whose sends are not known.
    pub(super) missing: Vec<Missing>,
    /// The message that was sent last.
    pub(super) latest: Option<Sent>,
    pub(super) what: Quantity,
    /// The process that began last, over the collectives that the call completed.
    pub(super) collective: Option<Sent>,
    /// Time until which the call waited for messages and collectives, once that is booked.
    pub(super) until: Option<Time>,
    /// Number of sends whose receives are not known.
    pub(super) sends: u32,
    /// The last receive that was posted during the call, and its location.
    pub(super) posted: Option<(Time, LocationNumber)>,
    /// The last receive of one of the call's sends, whenever it was posted, and its location.
    pub(super) received: Option<(Time, LocationNumber)>,
    /// Number of the case, if the rest of the call may be a wait for progress.
    pub(super) after: Option<u32>,
    /// Partners of large messages, and the time since which both sides knew of the message.
    pub(super) partners: Vec<Done>,
}

impl Call {
    /// Records when a receiver posted the receive of one of the sends.
    pub(super) fn answer(&mut self, started: &Started, ready: Ready) {
        let Waiter { enter, leave, .. } = self.waiter;
        if ready.posted > enter && ready.posted < leave {
            self.posted = self.posted.max(Some((ready.posted, ready.location)));
        }
        self.received = self.received.max(Some((ready.posted, ready.location)));
        self.partner(ready.receiver, (started.begin, ready.posted), started.bytes);
    }

    /// Returns the last thing that the call found, if it is part of a polling loop.
    pub(super) fn release(&self) -> Option<Release> {
        let of = |it: Sent| (it.begin, it.location);
        let found = [self.latest.map(of), self.collective.map(of), self.received];
        // The library buffered a message that was received later, so its send did not wait.
        let by = found.into_iter().flatten().filter(|it| it.0 < self.waiter.leave).max();
        self.waiter.polls.map(|number| Release { number, by })
    }

    /// Records since when this side and the partner have known of a message.
    pub(super) fn partner(
        &mut self,
        target: ProcessNumber,
        (own, other): (Time, Time),
        bytes: u64,
    ) {
        if self.after.is_some() && bytes > MOST_KEPT {
            let class = Class::message(bytes);
            // The partner may do its part in the call in which it learns of the message.
            let known = if other < own { Known::default() } else { Known::EARLY };
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            self.partners.push(Done { target, start: own.max(other), class, bytes, known });
        }
    }

    /// Ends the judgement of messages, given until when the call waited for them. The rest is judged for progress.
    pub(super) fn after(&mut self, until: Time) -> Option<After> {
        let mut partners = std::mem::take(&mut self.partners);
        for partner in &mut partners {
            // Both knew of the message before, so the activity of the partner until now may have been enough.
            if partner.start < until {
                partner.known = Known::EARLY;
            }
            partner.start = until;
        }
        self.after.map(|number| After { number, until, partners })
    }
}

/// A receive whose send is not known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missing {
    pub(super) key: Key,
    pub(super) bytes: u64,
    pub(super) posted: Time,
    /// Number of unrecorded receives that come before it.
    pub(super) skipped: u64,
    pub(super) probe: Option<Probe>,
    pub(super) polled: Option<Polled>,
}

/// Result of looking for the send of a receive.
pub(super) enum Taken {
    /// The send.
    Message(Sent),
    /// The send was not recorded.
    Unseen,
    /// Nothing so far.
    Nothing,
}

/// Takes the send of a receive from the messages with its key, in order: first those that were received without a
/// record, then its own.
pub(super) fn take(queue: &mut VecDeque<Sent>, skipped: &mut u64) -> Taken {
    while *skipped > 0 {
        match queue.front_mut() {
            None => return Taken::Nothing,
            Some(front) if front.skipped > 0 => {
                let both = front.skipped.min(*skipped);
                front.skipped -= both;
                *skipped -= both;
            }
            Some(_) => {
                queue.pop_front();
                *skipped -= 1;
            }
        }
    }
    match queue.front_mut() {
        Some(front) if front.skipped > 0 => {
            front.skipped -= 1;
            Taken::Unseen
        }
        Some(_) => queue.pop_front().map_or(Taken::Nothing, Taken::Message),
        None => Taken::Nothing,
    }
}

/// Messages of a process that are not judged yet.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// Messages that were sent and not received.
    pub(super) sent: HashMap<Key, VecDeque<Sent>, Mixed>,
    /// Calls that received messages or completed sends, and are not judged.
    pub(super) calls: BTreeMap<u64, Call>,
    pub(super) next_call: u64,
    /// The call that completed a send of this process, until the receiver has told when it posted its receive.
    pub(super) completed: HashMap<u64, (u64, Started), Mixed>,
    /// Answers of receivers about sends that are not complete.
    pub(super) answered: HashMap<u64, Ready, Mixed>,
    /// Answers of receivers that have not been processed.
    pub(super) ready: Vec<Ready>,
    pub(super) next_serial: u64,
    /// Posted receives, by request.
    pub(super) posted: HashMap<u64, Posted, Mixed>,
    /// Sends that later calls complete, by request.
    pub(super) started: HashMap<u64, Started, Mixed>,
    /// Calls whose messages are judged, and that may have waited for progress as well.
    pub(super) judged: Vec<After>,
    /// Releases of polling loops.
    pub(super) releases: Vec<Release>,
    pub(super) fresh: Vec<Sent>,
    /// True if receivers will not answer any more.
    pub(super) closing: bool,
    /// Number of probes that no receive followed.
    pub(super) unreceived: u64,
    /// Number of receives whose sends were not recorded.
    pub(super) unseen: u64,
}

impl Inbox {
    /// Notifies a partner of the open call.
    pub(super) fn notify(
        &mut self,
        here: &mut LocationContext<'_>,
        time: Time,
        partner: ProcessNumber,
        channel: Channel,
        out: &mut Asking<'_, Sending>,
    ) {
        let Some(frame) = here.judged_call() else { return };
        let touched = match channel {
            Channel::Completes(window) => here.process.touched.remove(&(window, partner)),
            _ => None,
        };
        let sent = Sent {
            receiver: partner,
            sender: here.process.index,
            location: here.location.number,
            channel,
            tag: 0,
            begin: frame.enter,
            time,
            serial: self.serial(),
            blocking: false,
            touched: touched.unwrap_or(Time::BEGIN),
            skipped: 0,
        };
        out.own.sends.send(partner, sent);
    }

    /// Returns the sequence number of the next send.
    pub(super) fn serial(&mut self) -> u64 {
        self.next_serial += 1;
        self.next_serial - 1
    }

    pub(super) fn is_idle(&self) -> bool {
        self.fresh.is_empty() && self.calls.is_empty() && self.ready.is_empty()
    }

    /// Returns the waits of calls whose messages were never found.
    pub(super) fn unmatched(&self) -> impl Iterator<Item = Quantity> {
        self.calls.values().filter(|call| !call.missing.is_empty()).map(|call| {
            let collective = call.missing.iter().any(|it| it.key.0 == Channel::Collectives);
            if collective { Quantity::Wait(Wait::NonBlockingWait) } else { call.what }
        })
    }

    /// Returns `true` if no sender waits for an answer, and everything that arrived has been processed.
    pub(super) fn is_settled(&self) -> bool {
        let halfway = |call: &Call| call.sends > 0 && call.posted.is_some();
        self.ready.is_empty() && self.fresh.is_empty() && !self.calls.values().any(halfway)
    }

    /// Records the end of a call that received messages or completed sends. `after` is the number of its case if the
    /// rest of the call may be a wait for progress.
    pub(super) fn end(
        &mut self,
        waiter: Waiter,
        list: &[Receive],
        sends: &[Started],
        after: Option<u32>,
    ) {
        let number = self.next_call;
        self.next_call += 1;
        let missing = |it: &Receive| Missing {
            key: (it.channel, it.sender, it.tag),
            bytes: it.bytes,
            posted: it.posted,
            skipped: it.skipped,
            probe: it.probe,
            polled: it.polled,
        };
        let missing = list.iter().map(missing).collect();
        let mut kinds = list.iter().map(|it| it.what);
        let what = kinds.find(|it| *it != Quantity::Wait(Wait::NonBlockingWait));
        let what = what.unwrap_or(Quantity::Wait(Wait::NonBlockingWait));
        let (latest, collective, until, posted) = (None, None, None, None);
        let partners = Vec::new();
        let mut call = Call {
            waiter,
            missing,
            latest,
            what,
            collective,
            until,
            sends: 0,
            posted,
            received: None,
            after,
            partners,
        };
        for started in sends {
            match self.answered.remove(&started.serial) {
                Some(ready) => call.answer(started, ready),
                None => {
                    self.completed.insert(started.serial, (number, *started));
                    call.sends += 1;
                }
            }
        }
        self.calls.insert(number, call);
    }

    /// Matches messages and judges calls. Everything before `horizon` is known.
    pub(super) fn judge(
        &mut self,
        me: ProcessNumber,
        horizon: Time,
        replies: &mut Outbox<Ready>,
        early: Option<&mut Vec<Edge>>,
        mut book: impl FnMut(Booking),
    ) {
        // Sends of one process must be in order, whatever batch they arrived in.
        self.fresh.sort_unstable_by_key(|it| (it.sender, it.serial));
        for it in self.fresh.drain(..) {
            self.sent.entry(it.key()).or_default().push_back(it);
        }
        for ready in self.ready.drain(..) {
            match self.completed.remove(&ready.serial) {
                Some((number, started)) => {
                    if let Some(call) = self.calls.get_mut(&number) {
                        call.answer(&started, ready);
                        call.sends -= 1;
                    }
                }
                None => drop(self.answered.insert(ready.serial, ready)),
            }
        }
        self.match_calls(me, horizon, replies, early, &mut book);
        self.closing = horizon == Time::END;
    }

    /// Matches the receives of all calls, in order.
    pub(super) fn match_calls(
        &mut self,
        me: ProcessNumber,
        horizon: Time,
        replies: &mut Outbox<Ready>,
        mut early: Option<&mut Vec<Edge>>,
        book: &mut impl FnMut(Booking),
    ) {
        // Keys of receives whose sends are missing: later receives must not take their place.
        let mut blocked: HashSet<Key> = HashSet::new();
        let mut over = Vec::new();
        for (&number, call) in &mut self.calls {
            if call.waiter.leave >= horizon {
                continue;
            }
            let (sent, unseen, releases) = (&mut self.sent, &mut self.unseen, &mut self.releases);
            let mut missing = std::mem::take(&mut call.missing);
            missing.retain_mut(|Missing { key, bytes, posted, skipped, probe, polled }| {
                let mut release = |by: Option<(Time, LocationNumber)>| {
                    if let Some(Polled { number, leave }) = *polled {
                        let by = by.filter(|it| it.0 < leave);
                        releases.push(Release { number, by });
                    }
                };
                let (key, posted) = (*key, *posted);
                let first = sent.get_mut(&key).filter(|_| !blocked.contains(&key));
                let message = match first.map_or(Taken::Nothing, |queue| take(queue, skipped)) {
                    Taken::Message(message) => message,
                    Taken::Unseen => {
                        *unseen += 1;
                        release(None);
                        return false;
                    }
                    Taken::Nothing => {
                        blocked.insert(key);
                        return true;
                    }
                };
                let later = |old: &Sent| (old.begin, old.sender) < (message.begin, message.sender);
                let latest = if key.0 == Channel::Collectives {
                    &mut call.collective
                } else {
                    &mut call.latest
                };
                if latest.as_ref().is_none_or(later) {
                    *latest = Some(message);
                }
                call.partner(message.sender, (posted, message.begin), *bytes);
                release(Some((message.begin, message.location)));
                if let Some(early) = &mut early {
                    early.extend(needed(call, key.0, &message));
                }
                if let Some(probe) = probe {
                    judge_probe(probe, &message, book);
                }
                if message.blocking {
                    let (sender, serial) = (message.sender, message.serial);
                    let location = call.waiter.location;
                    replies.send(sender, Ready { sender, receiver: me, location, serial, posted });
                }
                false
            });
            call.missing = missing;
            if !call.missing.is_empty() {
                continue;
            }
            let until = call.until.unwrap_or_else(|| judge_call(call, sent, book));
            call.until = Some(until);
            if call.sends == 0 || self.closing {
                over.push(number);
                let until = judge_sends(call, until, book);
                self.judged.extend(call.after(until));
                self.releases.extend(call.release());
            }
        }
        over.iter().for_each(|number| drop(self.calls.remove(number)));
        self.sent.retain(|_, queue| !queue.is_empty());
    }

    pub(super) fn bytes(&self) -> usize {
        // A node of a tree is two thirds full, and each list has a header of the allocator.
        let queue = |it: &VecDeque<Sent>| it.capacity() * size_of::<Sent>() + 96;
        let calls = self.calls.len() * (size_of::<Call>() * 3 / 2 + 64);

        self.sent.values().map(queue).sum::<usize>()
            + calls
            + self.completed.capacity() * size_of::<(u64, (u64, Started))>()
            + self.started.capacity() * size_of::<(u64, Started)>()
            + self.ready.capacity() * size_of::<Ready>()
            + self.answered.capacity() * size_of::<(u64, Ready)>()
            + self.posted.capacity() * size_of::<(u64, Posted)>()
            + self.fresh.capacity() * size_of::<Sent>()
    }
}

/// Returns the edge of a message that a call needed, whether it waited for it or not.
fn needed(call: &Call, channel: Channel, message: &Sent) -> Option<Edge> {
    let Waiter { location, enter, leave, polls, .. } = call.waiter;
    let what = match channel {
        Channel::Collectives => Quantity::Wait(Wait::NonBlockingWait),
        _ => call.what,
    };
    let Sent { location: culprit, begin: from, .. } = *message;
    let to = from.max(enter);
    // A call that tests is done whether the message is there or not.
    (from < leave && polls.is_none() && culprit != location).then_some(Edge {
        waiter: location,
        culprit,
        from,
        to,
        what,
        kind: Kind::Early,
    })
}

/// Judges a call whose messages are all known. The messages in `sent` are received later. Returns the time until which
/// the call waited.
pub(super) fn judge_call(
    call: &Call,
    sent: &HashMap<Key, VecDeque<Sent>, Mixed>,
    book: &mut impl FnMut(Booking),
) -> Time {
    let Waiter { location, account, leave, mut enter, merged, .. } = call.waiter;
    if merged {
        return leave;
    }
    let mut add = |what, begin, Duration(amount), it: &Sent, left: Option<Duration>| {
        if amount > 0 {
            let culprit = Some(it.location);
            let piece = Piece::of(left.is_some());
            book(Booking { location, account, what, amount, begin, culprit, piece, left });
        }
    };
    if let Some(last) = &call.collective {
        let until = last.begin.min(leave).max(enter);
        add(Quantity::Wait(Wait::NonBlockingWait), enter, until - enter, last, Some(leave - enter));
        enter = until;
    }
    let Some(latest) = call.latest else { return enter };
    let amount = latest.begin.min(leave).since(enter);
    if amount == Duration::ZERO
        || call.what == Quantity::Wait(Wait::LatePost) && latest.begin >= leave
    {
        return enter;
    }
    add(call.what, enter, amount, &latest, Some(leave - enter));
    if call.what == Quantity::Wait(Wait::EarlyWait) {
        let from = latest.touched.max(enter);
        let idle = latest.begin.min(leave).since(from);
        add(Quantity::Wait(Wait::LateComplete), from, idle, &latest, None);
    }
    let earlier = |it: &Sent| it.time < latest.time && matches!(it.channel, Channel::Messages(_));
    if call.what == Quantity::Wait(Wait::LateSender)
        && sent.values().filter_map(VecDeque::front).any(earlier)
    {
        add(Quantity::Wait(Wait::LateSenderWrongOrder), enter, amount, &latest, None);
    }
    enter + amount
}

/// Judges the sends of a call that waited for messages until some time. Returns the time until which it waited.
pub(super) fn judge_sends(call: &Call, until: Time, book: &mut impl FnMut(Booking)) -> Time {
    let Some((posted, receiver)) = call.posted.filter(|(posted, _)| *posted > until) else {
        return until;
    };
    let Waiter { location, account, leave, .. } = call.waiter;
    let (what, amount) = (Quantity::Wait(Wait::LateReceiver), (posted - until).0);
    let (begin, culprit, left) = (until, Some(receiver), Some(leave - until));
    let piece = Piece::OfTwo;
    book(Booking { location, account, what, amount, begin, culprit, piece, left });
    posted
}

/// Judges a probe whose message is known. A message that was sent later is not the one that the probe found.
pub(super) fn judge_probe(probe: &Probe, message: &Sent, book: &mut impl FnMut(Booking)) {
    let Probe { location, account, enter, leave } = *probe;
    if message.begin > enter && message.begin < leave {
        let (what, amount) = (Quantity::Wait(Wait::LateSender), (message.begin - enter).0);
        let (begin, culprit, piece) = (enter, Some(message.location), Piece::OfTwo);
        let left = Some(leave - enter);
        book(Booking { location, account, what, amount, begin, culprit, piece, left });
    }
}
