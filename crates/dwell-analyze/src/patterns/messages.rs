//! Messages: late sender, late receiver, wrong order; and notifications, partners and epochs of
//! windows, which are matched alike.
//!
//! | | |
//! |---|---|
//! | pushes | every send goes to its receiver |
//! | answers | the receiver, once the send and everything before it is known |
//! | books | late sender at the receiver; late receiver at the sender, which the receiver tells when it posted |
//!
//! A call that completes sends waits for the last of their receives that was posted before the call ended: a message that
//! needs no receive, because the library keeps a copy, lets the call end before. Where a call completes both, what it waited
//! for messages comes first. The rest of a call that completes one-sided operations as well, or large messages, may be a
//! wait for the progress of their targets or partners: see [`progress`](crate::patterns::progress). A probe waits for the message of the receive that follows it, which was posted after it.
//!
//! Sends and receives are matched in order for each context, sender and tag. A call that receives
//! several messages waits for the last. *Wrong order* means that another message for the same process
//! had been sent before and was not received yet.
//!
//! Partners that synchronise send each other that they have come, and each waits for the last. An
//! exposure epoch that is posted, and an access epoch that is completed, are messages to the other
//! side, which waits for them: *late post* only if the call was still there when the post came. *Late
//! complete* is the part of an early wait after the last operation of the origin that came last.
//!
//! A non-blocking collective is matched like a message too: the owner of the instance tells which process began it
//! last, and the call that completes it waits for that process. If a call waits for both, collectives come first.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use crate::engine::accounts::Account;
use crate::engine::booking::Booking;
use crate::engine::hash::Mixed;
use crate::engine::outstanding::{Class, Done, Known};
use crate::engine::polling::Release;
use crate::engine::quantity::Quantity;
use crate::engine::transport::{Message, Outbox};
use dwell_model::waits::Wait;

/// Context, partner and tag. Notifications have contexts of their own.
type Key = (u32, u32, u32);

/// A message that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) receiver: u32,
    pub(crate) sender: u32,
    pub(crate) context: u32,
    pub(crate) tag: u32,
    /// Enter of the call that sent the message.
    pub(crate) begin: u64,
    /// Time of the record.
    pub(crate) time: u64,
    /// Sequence number of the send in its process.
    pub(crate) serial: u64,
    /// True if the sender may have waited for the receiver.
    pub(crate) blocking: bool,
    /// For the end of an access epoch, the end of its last operation on the receiver.
    pub(crate) touched: u64,
    /// Number of messages with the same key that were sent before this one since the last, and not recorded.
    pub(crate) skipped: u64,
}

impl Message for Sent {}

impl Sent {
    fn key(&self) -> Key {
        // A collective is identified by its number; the waiting process does not know who came last.
        let sender = if self.context == COLLECTIVES { 0 } else { self.sender };
        (self.context, sender, self.tag)
    }
}

/// Tells a sender when the receiver was ready.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) sender: u32,
    receiver: u32,
    serial: u64,
    posted: u64,
}

impl Message for Ready {}

/// A message received inside a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receive {
    pub(crate) sender: u32,
    pub(crate) context: u32,
    pub(crate) tag: u32,
    pub(crate) bytes: u64,
    /// Enter of the call that posted the receive.
    pub(crate) posted: u64,
    /// Quantity that a wait for this message is booked as.
    pub(crate) what: Quantity,
    /// Number of messages with the same key that were received before this one since the last, and not recorded.
    pub(crate) skipped: u64,
    /// The probe that found the message.
    pub(crate) probe: Option<Probe>,
    pub(crate) polled: Option<Polled>,
}

/// The polling loop whose last probe came right before a receive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Polled {
    /// Number of the loop.
    pub(crate) number: u32,
    /// End of the probe. A message that was sent later is not the one that the probe found.
    pub(crate) leave: u64,
}

/// A call that waited until a message arrived, and did not receive it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub(crate) location: u32,
    pub(crate) account: Account,
    pub(crate) enter: u64,
    pub(crate) leave: u64,
}

/// A receive that was posted and is not complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    /// Enter of the call that posted the receive.
    pub(crate) enter: u64,
    pub(crate) probe: Option<Probe>,
    pub(crate) polled: Option<Polled>,
}

/// A message that an open call sent, or that a later call completes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started {
    /// Sequence number of the send in its process.
    pub(crate) serial: u64,
    /// Enter of the call that sent the message.
    pub(crate) begin: u64,
    pub(crate) bytes: u64,
}

/// Size in bytes up to which libraries may buffer messages, so that a send need not wait for its receive. No library
/// that Dwell was tested with buffers larger messages by default.
pub(crate) const MOST_KEPT: u64 = 256 * 1024;

/// A call whose messages are judged, and the time until which it waited for them. The rest of the call may be a wait
/// for progress.
#[derive(Debug)]
pub(crate) struct After {
    /// Number of the case of the call.
    pub(crate) number: u32,
    pub(crate) until: u64,
    /// Partners of large messages.
    pub(crate) partners: Vec<Done>,
}

/// A call that received messages, or completed sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub(crate) location: u32,
    pub(crate) account: Account,
    pub(crate) enter: u64,
    pub(crate) leave: u64,
    /// Number of the polling loop that the call belongs to.
    pub(crate) polls: Option<u32>,
}

/// A call, and what is known about its messages.
#[derive(Debug)]
struct Call {
    waiter: Waiter,
    /// Receives whose sends are not known.
    missing: Vec<Missing>,
    /// The message that was sent last.
    latest: Option<Sent>,
    what: Quantity,
    /// The process that began last, over the collectives that the call completed.
    collective: Option<Sent>,
    /// Time until which the call waited for messages and collectives, once that is booked.
    until: Option<u64>,
    /// Number of sends whose receives are not known.
    sends: u32,
    /// The last receive that was posted during the call, and its process.
    posted: Option<(u64, u32)>,
    /// The last receive of one of the call's sends, whenever it was posted, and its process.
    received: Option<(u64, u32)>,
    /// Number of the case, if the rest of the call may be a wait for progress.
    after: Option<u32>,
    /// Partners of large messages, and the time since which both sides knew of the message.
    partners: Vec<Done>,
}

impl Call {
    /// Records when a receiver posted the receive of one of the sends.
    fn answer(&mut self, started: &Started, ready: Ready) {
        let Waiter { enter, leave, .. } = self.waiter;
        if ready.posted > enter && ready.posted < leave {
            self.posted = self.posted.max(Some((ready.posted, ready.receiver)));
        }
        self.received = self.received.max(Some((ready.posted, ready.receiver)));
        self.partner(ready.receiver, (started.begin, ready.posted), started.bytes);
    }

    /// Returns the last thing that the call found, if it is part of a polling loop.
    fn release(&self) -> Option<Release> {
        let of = |it: Sent| (it.begin, it.sender);
        let found = [self.latest.map(of), self.collective.map(of), self.received];
        // A message that was received later was buffered by the library, so nobody was waited for.
        let by = found.into_iter().flatten().filter(|it| it.0 < self.waiter.leave).max();
        self.waiter.polls.map(|number| Release { number, by })
    }

    /// Records since when this side and the partner have known of a message.
    fn partner(&mut self, target: u32, (own, other): (u64, u64), bytes: u64) {
        if self.after.is_some() && bytes > MOST_KEPT {
            let class = Class::message(bytes);
            // The partner may do its part in the call in which it learns of the message.
            let known = if other < own { Known::default() } else { Known::EARLY };
            self.partners.push(Done { target, start: own.max(other), class, known });
        }
    }

    /// Ends the judgement of messages, given until when the call waited for them. The rest is judged for progress.
    fn after(&mut self, until: u64) -> Option<After> {
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
struct Missing {
    key: Key,
    bytes: u64,
    posted: u64,
    /// Number of unrecorded receives that come before it.
    skipped: u64,
    probe: Option<Probe>,
    polled: Option<Polled>,
}

/// Result of looking for the send of a receive.
enum Taken {
    /// The send.
    Message(Sent),
    /// The send was not recorded.
    Unseen,
    /// Nothing so far.
    Nothing,
}

/// Takes the send of a receive from the messages with its key, in order: first those that were received without a
/// record, then its own.
fn take(queue: &mut VecDeque<Sent>, skipped: &mut u64) -> Taken {
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
pub(crate) struct Inbox {
    /// Messages that were sent and not received.
    sent: HashMap<Key, VecDeque<Sent>, Mixed>,
    /// Calls that received messages or completed sends, and are not judged.
    calls: BTreeMap<u64, Call>,
    next_call: u64,
    /// The call that completed a send of this process, until the receiver has told when it posted its receive.
    completed: HashMap<u64, (u64, Started), Mixed>,
    /// Answers of receivers about sends that are not complete.
    answered: HashMap<u64, Ready, Mixed>,
    /// Answers of receivers that have not been processed.
    ready: Vec<Ready>,
    next_serial: u64,
    /// Posted receives, by request.
    pub(crate) posted: HashMap<u64, Posted, Mixed>,
    /// Sends that later calls complete, by request.
    pub(crate) started: HashMap<u64, Started, Mixed>,
    /// Calls whose messages are judged, and that may have waited for progress as well.
    pub(crate) judged: Vec<After>,
    /// Releases of polling loops.
    pub(crate) releases: Vec<Release>,
    fresh: Vec<Sent>,
    /// True if receivers will not answer any more.
    closing: bool,
    /// Number of probes that no receive followed.
    pub(crate) unreceived: u64,
    /// Number of receives whose sends were not recorded.
    pub(crate) unseen: u64,
}

impl Inbox {
    /// Returns the sequence number of the next send.
    pub(crate) fn serial(&mut self) -> u64 {
        self.next_serial += 1;
        self.next_serial - 1
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.fresh.is_empty() && self.calls.is_empty() && self.ready.is_empty()
    }

    /// Returns the waits of calls whose messages were never found.
    pub(crate) fn unmatched(&self) -> impl Iterator<Item = Quantity> {
        self.calls.values().filter(|call| !call.missing.is_empty()).map(|call| {
            let collective = call.missing.iter().any(|it| it.key.0 == COLLECTIVES);
            if collective { Quantity::Wait(Wait::NonBlockingWait) } else { call.what }
        })
    }

    /// Returns `true` if no sender waits for an answer, and everything that arrived has been processed.
    pub(crate) fn is_settled(&self) -> bool {
        let halfway = |call: &Call| call.sends > 0 && call.posted.is_some();
        self.ready.is_empty() && self.fresh.is_empty() && !self.calls.values().any(halfway)
    }

    /// Records the end of a call that received messages or completed sends. `after` is the number of its case if the
    /// rest of the call may be a wait for progress.
    pub(crate) fn end(
        &mut self,
        waiter: Waiter,
        list: &[Receive],
        sends: &[Started],
        after: Option<u32>,
    ) {
        let number = self.next_call;
        self.next_call += 1;
        let missing = |it: &Receive| Missing {
            key: (it.context, it.sender, it.tag),
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

    pub(crate) fn arrive(&mut self, sent: Sent) {
        self.fresh.push(sent);
    }

    pub(crate) fn ready(&mut self, ready: Ready) {
        self.ready.push(ready);
    }

    /// Matches messages and judges calls. Everything before `horizon` is known.
    pub(crate) fn judge(
        &mut self,
        me: u32,
        horizon: u64,
        replies: &mut Outbox<Ready>,
        mut book: impl FnMut(Booking),
    ) {
        // Sends of one process must be in order, whatever batch they came in.
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
        self.match_calls(me, horizon, replies, &mut book);
        self.closing = horizon == u64::MAX;
    }

    /// Matches the receives of all calls, in order.
    fn match_calls(
        &mut self,
        me: u32,
        horizon: u64,
        replies: &mut Outbox<Ready>,
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
                let mut release = |by: Option<(u64, u32)>| {
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
                let latest =
                    if key.0 == COLLECTIVES { &mut call.collective } else { &mut call.latest };
                if latest.as_ref().is_none_or(later) {
                    *latest = Some(message);
                }
                call.partner(message.sender, (posted, message.begin), *bytes);
                release(Some((message.begin, message.sender)));
                if let Some(probe) = probe {
                    judge_probe(probe, &message, book);
                }
                if message.blocking {
                    let (sender, serial) = (message.sender, message.serial);
                    replies.send(sender, Ready { sender, receiver: me, serial, posted });
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

    pub(crate) fn bytes(&self) -> usize {
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

/// Judges a call whose messages are all known. The messages in `sent` are received later. Returns the time until which
/// the call waited.
fn judge_call(
    call: &Call,
    sent: &HashMap<Key, VecDeque<Sent>, Mixed>,
    book: &mut impl FnMut(Booking),
) -> u64 {
    let Waiter { location, account, leave, mut enter, .. } = call.waiter;
    let mut add = |what, begin, amount, it: &Sent, left| {
        if amount > 0 {
            let blamed = Some(it.sender);
            book(Booking { location, account, what, amount, begin, blamed, left });
        }
    };
    if let Some(last) = &call.collective {
        let until = last.begin.min(leave).max(enter);
        add(Quantity::Wait(Wait::NonBlockingWait), enter, until - enter, last, Some(leave - enter));
        enter = until;
    }
    let Some(latest) = call.latest else { return enter };
    let amount = latest.begin.min(leave).saturating_sub(enter);
    if amount == 0 || call.what == Quantity::Wait(Wait::LatePost) && latest.begin >= leave {
        return enter;
    }
    add(call.what, enter, amount, &latest, Some(leave - enter));
    if call.what == Quantity::Wait(Wait::EarlyWait) {
        let from = latest.touched.max(enter);
        let idle = latest.begin.min(leave).saturating_sub(from);
        add(Quantity::Wait(Wait::LateComplete), from, idle, &latest, None);
    }
    let earlier = |it: &Sent| it.time < latest.time && it.context & APART == 0;
    if call.what == Quantity::Wait(Wait::LateSender)
        && sent.values().filter_map(VecDeque::front).any(earlier)
    {
        add(Quantity::Wait(Wait::LateSenderWrongOrder), enter, amount, &latest, None);
    }
    enter + amount
}

/// Judges the sends of a call that waited for messages until some time. Returns the time until which it waited.
fn judge_sends(call: &Call, until: u64, book: &mut impl FnMut(Booking)) -> u64 {
    let Some((posted, receiver)) = call.posted.filter(|(posted, _)| *posted > until) else {
        return until;
    };
    let Waiter { location, account, leave, .. } = call.waiter;
    let (what, amount) = (Quantity::Wait(Wait::LateReceiver), posted - until);
    let (begin, blamed, left) = (until, Some(receiver), Some(leave - until));
    book(Booking { location, account, what, amount, begin, blamed, left });
    posted
}

/// Judges a probe whose message is known. A message that was sent later is not the one that the probe found.
fn judge_probe(probe: &Probe, message: &Sent, book: &mut impl FnMut(Booking)) {
    let Probe { location, account, enter, leave } = *probe;
    if message.begin > enter && message.begin < leave {
        let (what, amount) = (Quantity::Wait(Wait::LateSender), message.begin - enter);
        let (begin, blamed, left) = (enter, Some(message.sender), Some(leave - enter));
        book(Booking { location, account, what, amount, begin, blamed, left });
    }
}

/// Bits that separate things which are matched like messages from messages and from each other.
pub(crate) const APART: u32 = 7 << 29;
/// Notifications.
pub(crate) const NOTIFICATIONS: u32 = 1 << 29;
/// Synchronisation between partners.
pub(crate) const PARTNERS: u32 = 2 << 29;
/// Posts of exposure epochs, for the start of an access epoch that waits for them.
pub(crate) const POSTS: u32 = 3 << 29;
/// Posts of exposure epochs, for the end of an access epoch that waits for them.
pub(crate) const LATER_POSTS: u32 = 4 << 29;
/// Ends of access epochs.
pub(crate) const COMPLETES: u32 = 5 << 29;
/// Non-blocking collectives, with the process that began last.
pub(crate) const COLLECTIVES: u32 = 6 << 29;
/// Collectives that completed operations outside of their group, with the process that came last. These are no
/// messages.
pub(crate) const OUTSIDE: u32 = 7 << 29;
