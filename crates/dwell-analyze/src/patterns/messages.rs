//! Messages: late sender, late receiver, wrong order; and notifications, partners and epochs of
//! windows, which are matched alike.
//!
//! | | |
//! |---|---|
//! | pushes | every send goes to its receiver |
//! | answers | the receiver, once the send and everything before it is known |
//! | books | late sender at the receiver; late receiver at the sender, which the receiver tells when it posted |
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
//! A collective that does not block is a message too: the home of the instance says who began it last,
//! and the call that completes it waits for that. Where a call waits for both, collectives come first.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use crate::hash::Mixed;
use crate::metric::Quantity;
use crate::paths::Path;
use crate::patterns::collectives::Booking;
use crate::transport::{Letter, Post};

/// Context, partner, tag. Notifications have contexts of their own.
type Key = (u32, u32, u32);

/// A message was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) receiver: u32,
    pub(crate) sender: u32,
    pub(crate) context: u32,
    pub(crate) tag: u32,
    /// Enter of the call that sent it.
    pub(crate) begin: u64,
    /// Time of the record.
    pub(crate) time: u64,
    /// Number of the send in its process, rising.
    pub(crate) serial: u64,
    /// Whether the sender may have waited for the receiver.
    pub(crate) blocking: bool,
    /// End of an access epoch: when its last operation on the receiver was over.
    pub(crate) touched: u64,
    /// How many of its kind came before it since the last, and were not recorded.
    pub(crate) skipped: u64,
}

impl Letter for Sent {}

impl Sent {
    fn key(&self) -> Key {
        // A collective has a number; who came last is not known to the one that waits.
        let sender = if self.context == COLLECTIVES { 0 } else { self.sender };
        (self.context, sender, self.tag)
    }
}

/// A receiver tells a sender when it was ready.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) sender: u32,
    receiver: u32,
    serial: u64,
    posted: u64,
}

impl Letter for Ready {}

/// A message received inside a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receive {
    pub(crate) sender: u32,
    pub(crate) context: u32,
    pub(crate) tag: u32,
    /// Enter of the call that posted it.
    pub(crate) posted: u64,
    /// What waiting for it is.
    pub(crate) what: Quantity,
    /// How many of its kind were received before it since the last, and not recorded.
    pub(crate) skipped: u64,
}

/// A message sent by a call that may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) serial: u64,
}

/// A call that received, and what is known of its messages.
#[derive(Debug)]
struct Call {
    location: u32,
    path: Path,
    enter: u64,
    leave: u64,
    /// Receives whose sends are not known.
    missing: Vec<Missing>,
    /// The message that was sent last.
    latest: Option<Sent>,
    what: Quantity,
    /// Who began last, of the collectives that the call completed.
    collective: Option<Sent>,
}

/// A receive whose send is not known.
#[derive(Clone, Copy, Debug)]
struct Missing {
    key: Key,
    posted: u64,
    /// How many messages that were received unseen come before it.
    skipped: u64,
}

/// What a receive finds.
enum Taken {
    /// Its send.
    Message(Sent),
    /// Its send was not recorded.
    Unseen,
    /// Nothing so far.
    Nothing,
}

/// Takes what belongs to a receive from the messages of its kind, in order: first what was received
/// unseen, then its own.
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

#[derive(Clone, Copy, Debug)]
struct Blocked {
    location: u32,
    path: Path,
    enter: u64,
    leave: u64,
}

/// The messages of a process.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// Messages that were sent and not received.
    sent: HashMap<Key, VecDeque<Sent>, Mixed>,
    /// Calls that received something and are not judged.
    calls: BTreeMap<u64, Call>,
    next_call: u64,
    /// Sends of this process that may have waited.
    blocked: BTreeMap<u64, Blocked>,
    ready: HashMap<u64, Ready, Mixed>,
    next_serial: u64,
    /// Posted receives, by request.
    pub(crate) posted: HashMap<u64, u64, Mixed>,
    fresh: Vec<Sent>,
    /// Receives whose sends were not recorded.
    pub(crate) unseen: u64,
}

impl Inbox {
    /// The number of the next send.
    pub(crate) fn serial(&mut self) -> u64 {
        self.next_serial += 1;
        self.next_serial - 1
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.fresh.is_empty() && self.calls.is_empty() && self.ready.is_empty()
    }

    /// Calls whose messages were never found: late senders, posts, and so on.
    pub(crate) fn unmatched(&self) -> impl Iterator<Item = Quantity> {
        self.calls.values().map(|call| {
            let collective = call.missing.iter().any(|it| it.key.0 == COLLECTIVES);
            if collective { Quantity::NonBlockingWait } else { call.what }
        })
    }

    /// Whether no sender waits to be told something, and nothing arrived that was not looked at.
    pub(crate) fn is_settled(&self) -> bool {
        self.ready.is_empty() && self.fresh.is_empty()
    }

    /// A call ended that received something.
    pub(crate) fn receive(
        &mut self,
        location: u32,
        path: Path,
        (enter, leave): (u64, u64),
        list: &[Receive],
    ) {
        let number = self.next_call;
        self.next_call += 1;
        let missing = |it: &Receive| Missing {
            key: (it.context, it.sender, it.tag),
            posted: it.posted,
            skipped: it.skipped,
        };
        let missing = list.iter().map(missing).collect();
        let mut kinds = list.iter().map(|it| it.what);
        let what = kinds.find(|it| *it != Quantity::NonBlockingWait);
        let what = what.unwrap_or(Quantity::NonBlockingWait);
        let (latest, collective) = (None, None);
        let call = Call { location, path, enter, leave, missing, latest, what, collective };
        self.calls.insert(number, call);
    }

    /// A call ended that sent and may have waited.
    pub(crate) fn block(
        &mut self,
        location: u32,
        path: Path,
        (enter, leave): (u64, u64),
        sending: Sending,
    ) {
        self.blocked.insert(sending.serial, Blocked { location, path, enter, leave });
    }

    pub(crate) fn arrive(&mut self, sent: Sent) {
        self.fresh.push(sent);
    }

    pub(crate) fn ready(&mut self, ready: Ready) {
        self.ready.insert(ready.serial, ready);
    }

    /// Matches and judges. Everything before `horizon` is known.
    pub(crate) fn judge(
        &mut self,
        me: u32,
        horizon: u64,
        replies: &mut Post<Ready>,
        mut book: impl FnMut(Booking),
    ) {
        // Sends of one process come in their order, whatever batch they came in.
        self.fresh.sort_unstable_by_key(|it| (it.sender, it.serial));
        for it in self.fresh.drain(..) {
            self.sent.entry(it.key()).or_default().push_back(it);
        }
        self.match_calls(me, horizon, replies, &mut book);
        let (blocked, ready) = (&mut self.blocked, &mut self.ready);
        ready.retain(|serial, ready| {
            let Some(it) = blocked.remove(serial) else { return true };
            if ready.posted > it.enter && it.leave > ready.posted {
                let Blocked { location, path, enter, .. } = it;
                let (what, amount) = (Quantity::LateReceiver, ready.posted - enter);
                book(Booking { location, path, what, amount, blamed: Some(ready.receiver) });
            }
            false
        });
    }

    /// Goes through the calls that received, in their order.
    fn match_calls(
        &mut self,
        me: u32,
        horizon: u64,
        replies: &mut Post<Ready>,
        book: &mut impl FnMut(Booking),
    ) {
        // Keys of receives whose sends are not there: later receives must not take their place.
        let mut blocked: HashSet<Key> = HashSet::new();
        let mut over = Vec::new();
        for (&number, call) in &mut self.calls {
            if call.leave >= horizon {
                continue;
            }
            let (sent, latest, collective) =
                (&mut self.sent, &mut call.latest, &mut call.collective);
            let unseen = &mut self.unseen;
            call.missing.retain_mut(|Missing { key, posted, skipped }| {
                let (key, posted) = (*key, *posted);
                let first = sent.get_mut(&key).filter(|_| !blocked.contains(&key));
                let message = match first.map_or(Taken::Nothing, |queue| take(queue, skipped)) {
                    Taken::Message(message) => message,
                    Taken::Unseen => {
                        *unseen += 1;
                        return false;
                    }
                    Taken::Nothing => {
                        blocked.insert(key);
                        return true;
                    }
                };
                let later = |old: &Sent| (old.begin, old.sender) < (message.begin, message.sender);
                let latest = if key.0 == COLLECTIVES { &mut *collective } else { &mut *latest };
                if latest.as_ref().is_none_or(later) {
                    *latest = Some(message);
                }
                if message.blocking {
                    let (sender, serial) = (message.sender, message.serial);
                    replies.send(sender, Ready { sender, receiver: me, serial, posted });
                }
                false
            });
            if call.missing.is_empty() {
                over.push(number);
                judge_call(call, sent, book);
            }
        }
        over.iter().for_each(|number| drop(self.calls.remove(number)));
        self.sent.retain(|_, queue| !queue.is_empty());
    }

    pub(crate) fn bytes(&self) -> usize {
        // A node of a tree is two thirds full, and each list has a header of the allocator.
        let queue = |it: &VecDeque<Sent>| it.capacity() * size_of::<Sent>() + 96;
        let calls = self.calls.len() * (size_of::<Call>() * 3 / 2 + 64);
        let blocked = self.blocked.len() * size_of::<(u64, Blocked)>() * 3 / 2;
        self.sent.values().map(queue).sum::<usize>()
            + calls
            + blocked
            + self.ready.capacity() * size_of::<(u64, Ready)>()
            + self.posted.capacity() * size_of::<(u64, u64)>()
            + self.fresh.capacity() * size_of::<Sent>()
    }
}

/// The rule for a call whose messages are all known. What is in `sent` is received later.
fn judge_call(
    call: &Call,
    sent: &HashMap<Key, VecDeque<Sent>, Mixed>,
    book: &mut impl FnMut(Booking),
) {
    let Call { location, path, leave, .. } = *call;
    let mut add = |what, amount, it: &Sent| {
        if amount > 0 {
            let blamed = Some(it.sender);
            book(Booking { location, path, what, amount, blamed });
        }
    };
    let mut enter = call.enter;
    if let Some(last) = &call.collective {
        let until = last.begin.min(leave).max(enter);
        add(Quantity::NonBlockingWait, until - enter, last);
        enter = until;
    }
    let Some(latest) = call.latest else { return };
    let amount = latest.begin.min(leave).saturating_sub(enter);
    if amount == 0 || call.what == Quantity::LatePost && latest.begin >= leave {
        return;
    }
    add(call.what, amount, &latest);
    if call.what == Quantity::EarlyWait {
        let idle = latest.begin.min(leave).saturating_sub(latest.touched.max(enter));
        add(Quantity::LateComplete, idle, &latest);
    }
    if call.what != Quantity::LateSender {
        return;
    }
    let earlier = |it: &Sent| it.time < latest.time && it.context & APART == 0;
    if sent.values().filter_map(VecDeque::front).any(earlier) {
        add(Quantity::LateSenderWrongOrder, amount, &latest);
    }
}

/// Bits that keep what is matched like messages, but is none, apart from them and from each other.
pub(crate) const APART: u32 = 7 << 29;
/// Notifications.
pub(crate) const NOTIFICATIONS: u32 = 1 << 29;
/// Partners that synchronise.
pub(crate) const PARTNERS: u32 = 2 << 29;
/// Posts, as the start of an access epoch waits for them.
pub(crate) const POSTS: u32 = 3 << 29;
/// Posts, as the end of an access epoch waits for them.
pub(crate) const LATER_POSTS: u32 = 4 << 29;
/// Ends of access epochs.
pub(crate) const COMPLETES: u32 = 5 << 29;
/// Collectives that do not block: who began last.
pub(crate) const COLLECTIVES: u32 = 6 << 29;
/// Collectives that completed operations outside of their group: who came last. No message at all.
pub(crate) const OUTSIDE: u32 = 7 << 29;
