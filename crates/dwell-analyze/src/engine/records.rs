//! Handles rare records: synchronisation, locks, collectives and messages.

use dwell_model::operation::{Operation, Shape};
use otf2::enums::{CollectiveRoot, LockType, MeasurementMode, RmaSyncLevel, RmaSyncType};
use otf2::id::{CommRef, GroupRef, MetricRef, ParameterRef, Rank, RmaWinRef};
use otf2::value::MetricValue;
use otf2::{Attribute, AttributeValue, Event, List};

use crate::archive::roles::{Epoch, Role, Traits};
use crate::archive::world::number;
use crate::engine::accounts::{Account, Distance, Sort};
use crate::engine::location::{Frame, Note, Taken};
use crate::engine::locking::LockKey;
use crate::engine::matrix::Kind;
use crate::engine::outstanding::Done;
use crate::engine::paths::Counted;
use crate::engine::player::Player;
use crate::engine::quantity::Quantity;
use crate::engine::regions::Span;
use crate::patterns::collectives::{Among, Arrival, Touch, Way};
use crate::patterns::locks::{LockLetter, What};
use crate::patterns::messages::{
    APART, COLLECTIVES, COMPLETES, LATER_POSTS, NOTIFICATIONS, PARTNERS, POSTS, Polled, Posted,
    Receive, Sent, Started,
};
use dwell_model::waits::Wait;

impl Player<'_> {
    /// Sets a parameter of the program, until the call in which it was set ends or it is set again.
    fn set(&mut self, time: u64, parameter: ParameterRef, value: u64) {
        let stack = &self.location.stack;
        let settings = stack.iter().rev().take_while(|frame| frame.setting).count();
        // Inside a runtime call there is nothing to divide.
        match stack.iter().rev().nth(settings) {
            Some(call) if !call.traits.has(Traits::CALL) => {}
            _ => return,
        }
        let is = |frame: &Frame| {
            let node = self.location.paths.get(frame.path);
            node.and_then(|node| node.setting).is_some_and(|it| it.parameter == parameter)
        };
        let again = stack.iter().rev().take(settings).position(is);
        for _ in 0..again.map_or(0, |above| above + 1) {
            self.close(time);
        }
        let Some(around) = self.location.stack.last() else { return };
        let path = self.location.paths.set(around.path, parameter, value);
        self.location.stack.push(Frame { enter: time, path, setting: true, ..Frame::EMPTY });
    }

    /// Adds values of counters of the program.
    fn count_values(&mut self, metric: MetricRef, values: List<'_, MetricValue>) {
        let Some(frame) = self.location.stack.last() else { return };
        let Some((counter, number)) = self.world.counters.value(metric, values) else { return };
        let (values, sum, least, largest) = (1, number, number, number);
        self.location.paths.counted(frame.path, Counted { counter, values, sum, least, largest });
    }

    #[inline(never)]
    pub(crate) fn rare(&mut self, time: u64, event: Event<'_>, attributes: List<'_, Attribute>) {
        match event {
            Event::RmaOpCompleteRemote(it) => self.complete_remote(it.win, it.matching_id),
            Event::ParameterInt(it) => self.set(time, it.parameter, it.value.cast_unsigned()),
            Event::ParameterUnsignedInt(it) => self.set(time, it.parameter, it.value),
            Event::ParameterString(it) => self.set(time, it.parameter, it.string.0.into()),
            Event::Metric(it) => self.count_values(it.metric, it.values),
            Event::RmaCollectiveEnd(it) => {
                let Some(context) = self.context(it.win) else { return };
                let frame = self.location.stack.last().copied();
                let Some(frame) = frame else { return };
                let role = self.world.roles.get(frame.region);
                let way = Way::of(role, it.collective_op, it.root, true);
                let fence = (way == Way::Fence).then_some(it.win.0);
                self.joined(context, it.bytes_sent.saturating_add(it.bytes_received));
                self.collective(time, context, way, it.root, fence, attributes);
            }
            Event::MpiCollectiveEnd(it) => {
                let Some(context) = self.world.system.comm(it.communicator) else {
                    self.location.damage.undefined += 1;
                    return;
                };
                let Some(frame) = self.location.stack.last().copied() else { return };
                let role = self.world.roles.get(frame.region);
                let way = Way::of(role, it.collective_op, it.root, false);
                self.joined(context, it.size_sent.saturating_add(it.size_received));
                self.collective(time, context, way, it.root, None, attributes);
            }
            Event::MpiCollectiveBegin(_) => self.location.neighbours = self.neighbours(attributes),
            Event::NonBlockingCollectiveRequest(it) => {
                let enter = self.location.stack.last().map_or(time, |frame| frame.enter);
                let among = self.among(attributes);
                self.process.under.begin(self.location.number, it.request_id.0, enter, among);
            }
            Event::NonBlockingCollectiveComplete(it) => {
                let Some(context) = self.world.system.comm(it.communicator) else {
                    self.location.damage.undefined += 1;
                    return;
                };
                // The call that completes the collective does not say what it was.
                let way = Way::of(Role::default(), it.collective_op, it.root, false);
                self.joined(context, it.size_sent.saturating_add(it.size_received));
                self.collective_ends(time, context, way, it.root, it.request_id.0);
            }
            Event::RmaRequestLock(it) => {
                self.lock(it.win, it.remote, it.lock_id.0, it.lock_type, time, false);
            }
            Event::RmaAcquireLock(it) => {
                self.lock(it.win, it.remote, it.lock_id.0, it.lock_type, time, true);
            }
            Event::RmaReleaseLock(it) => {
                self.unlock(it.win, it.remote, it.lock_id.0, time);
            }
            Event::RmaWaitChange(_) => {
                let offset = number(attributes, self.world.attributes.offset);
                self.note(Note::Change(offset));
            }
            Event::RmaSync(it) => {
                let at = number(attributes, self.world.attributes.offset).is_some();
                if at && it.sync_type == RmaSyncType::NotifyOut {
                    self.told(it.win, it.remote, attributes);
                } else {
                    self.sync(time, it.win, it.remote, it.sync_type);
                }
            }
            Event::RmaGroupSync(it) => self.group_sync(time, it.win, it.group, it.sync_level),
            Event::MpiSend(it) => {
                let skipped = number(attributes, self.world.attributes.skipped).unwrap_or(0);
                let (to, tag, bytes) = (it.receiver, it.msg_tag, it.msg_length);
                self.send(time, it.communicator, to, tag, bytes, None, skipped);
            }
            Event::MpiIsend(it) => {
                let skipped = number(attributes, self.world.attributes.skipped).unwrap_or(0);
                let (to, tag, bytes) = (it.receiver, it.msg_tag, it.msg_length);
                let request = Some(it.request_id.0);
                self.send(time, it.communicator, to, tag, bytes, request, skipped);
            }
            Event::MpiIrecvRequest(it) => {
                let enter = self.location.stack.last().map_or(time, |frame| frame.enter);
                let posted = self.post(enter);
                self.process.messages.posted.insert(it.request_id.0, posted);
            }
            Event::MpiIsendComplete(it) => {
                if let Some(started) = self.process.messages.started.remove(&it.request_id.0) {
                    self.note(Note::Send(started));
                }
            }
            Event::MpiRequestCancelled(it) => {
                self.process.messages.posted.remove(&it.request_id.0);
                self.process.messages.started.remove(&it.request_id.0);
            }
            Event::MpiRecv(it) => {
                let skipped = number(attributes, self.world.attributes.skipped).unwrap_or(0);
                let (from, tag, bytes) = (it.sender, it.msg_tag, it.msg_length);
                self.receive(it.communicator, from, tag, bytes, None, skipped);
            }
            Event::MpiIrecv(it) => {
                let posted = self.process.messages.posted.remove(&it.request_id.0);
                let skipped = number(attributes, self.world.attributes.skipped).unwrap_or(0);
                let (from, tag, bytes) = (it.sender, it.msg_tag, it.msg_length);
                self.receive(it.communicator, from, tag, bytes, posted, skipped);
            }
            Event::MeasurementOnOff(it) => match it.measurement_mode {
                MeasurementMode::Off => self.location.off = Some(time),
                _ => {
                    if let Some(begin) = self.location.off.take() {
                        self.location.gaps.push(Span { begin, end: time });
                    }
                }
            },
            _ => {}
        }
    }

    pub(crate) fn note(&mut self, note: Note) {
        if let Some(frame) = self.location.stack.last_mut()
            && frame.judged
        {
            frame.notes += 1;
            self.location.notes.push(note);
        }
    }

    /// Adds bytes that the open call moved in a group.
    fn joined(&mut self, context: u32, bytes: u64) {
        let size = self.world.system.context(context).map_or(0, |context| context.size);
        if self.location.stack.last().is_some_and(|frame| frame.judged) {
            let moved = &mut self.location.moved;
            moved.add(bytes, Distance::None);
            moved.members = moved.members.max(size);
        }
    }

    /// Adds bytes that the open call moved to or from a process.
    fn moved(&mut self, bytes: u64, partner: u32) {
        let far = self.distance(partner);
        if self.location.stack.last().is_some_and(|frame| frame.judged) {
            self.location.moved.add(bytes, far);
            self.location.paths.row.interrupt();
        }
    }

    fn collective(
        &mut self,
        time: u64,
        context: u32,
        way: Way,
        root: CollectiveRoot,
        fence: Option<u32>,
        attributes: List<'_, Attribute>,
    ) {
        let neighbours = self.location.neighbours.take();
        let Some(frame) = self.location.stack.last().copied() else { return };
        self.location.paths.book(frame.path, Quantity::Collectives, 1);
        if !frame.judged {
            return;
        }
        self.process.strangers += u64::from(way == Way::Neighbours && neighbours.is_none());
        let outside = self.outside(frame, context);
        let counted = self.process.collectives.entry(context).or_insert(0);
        let sequence = number(attributes, self.world.attributes.sequence).unwrap_or(*counted);
        *counted = sequence + 1;
        if let Some(window) = fence {
            let touched = self.process.touched.extract_if(|key, _| key.0 == window);
            for ((_, target), time) in touched {
                let touch = Touch { context, sequence, target, time };
                self.mail.touches.send(touch.home(self.world), touch);
            }
        }
        let arrival = Arrival {
            context,
            sequence,
            process: self.process.index,
            location: self.location.number,
            account: Account::NONE,
            enter: frame.enter,
            leave: time,
            began: frame.enter,
            end: time,
            way,
            root: self.root(context, root),
            neighbours,
            number: None,
            outside,
        };
        self.location.arrivals.push(arrival);
    }

    /// Sends the arrivals of a call that was in collectives and has ended.
    pub(crate) fn arrive(&mut self, account: Account, leave: u64) {
        for arrival in self.location.arrivals.drain(..) {
            if let Some(number) = arrival.outside {
                self.process.outside.leave(number, account, leave - arrival.enter);
            }
            let home = arrival.home(self.world);
            self.mail.arrivals.send(home, Arrival { account, leave, ..arrival });
        }
    }

    /// Returns the group of the neighbours that a record names, if it is kept.
    fn neighbours(&self, attributes: List<'_, Attribute>) -> Option<u32> {
        let wanted = self.world.attributes.neighbours?;
        let found = attributes.iter().find(|it| it.attribute == wanted)?;
        let AttributeValue::Group(group) = found.value else { return None };
        self.world.system.group(group).map(|_| group.0)
    }

    /// Returns the members that a collective which begins now waits for. Only this record and the call around it tell.
    fn among(&self, attributes: List<'_, Attribute>) -> Among {
        let group = self.neighbours(attributes);
        let region = self.location.stack.last().map(|frame| frame.region);
        let meaning = region.and_then(|region| self.world.roles.get(region).meaning);
        match meaning.map(|meaning| meaning.operation) {
            Some(Operation::Collective(which)) if which.shape() == Shape::Neighbours => {
                Among::Neighbours(group)
            }
            _ if group.is_some() => Among::Neighbours(group),
            _ => Among::Members,
        }
    }

    /// Takes the operations that the open collective completed at targets outside of its group. Members of the group
    /// have come: imbalance is not a wait for progress. The other targets are asked once it is known when the last of
    /// the group came. Returns the number of the case for that.
    fn outside(&mut self, frame: Frame, context: u32) -> Option<u32> {
        let done = frame.done + self.implied(frame);
        let from = self.location.done.len().saturating_sub(done as usize);
        let group = self.world.system.context(context)?;
        let mut list: Vec<Done> = self.location.done.drain(from..).collect();
        if let Some(frame) = self.location.stack.last_mut() {
            frame.done = 0;
        }
        list.retain(|it| !group.contains(it.target));
        if list.is_empty() {
            return None;
        }
        let when = (frame.enter, self.location.now);
        Some(self.process.outside.put(self.location.number, when, list))
    }

    /// Returns the process that is the root of a collective.
    fn root(&mut self, context: u32, root: CollectiveRoot) -> Option<u32> {
        match root {
            CollectiveRoot::Rank(rank) => self.process(context, Rank(rank)),
            CollectiveRoot::SelfRank => Some(self.process.index),
            _ => None,
        }
    }

    /// Records that the open call completes a non-blocking collective.
    fn collective_ends(
        &mut self,
        time: u64,
        context: u32,
        way: Way,
        root: CollectiveRoot,
        request: u64,
    ) {
        let Some(frame) = self.location.stack.last().copied() else { return };
        self.location.paths.book(frame.path, Quantity::Collectives, 1);
        let location = self.location.number;
        let found = self.process.under.find(location, request);
        let Some((number, began, among)) = found else { return };
        let (way, neighbours) = match among {
            Among::Members => (way, None),
            Among::Neighbours(group) => (Way::Neighbours, group),
        };
        self.process.strangers += u64::from(among == Among::Neighbours(None) && frame.judged);
        // The waits of the call are booked with its messages; this account is for counts only.
        let counts = Sort::function(frame.region.0, 0, Distance::None, 0);
        let arrival = Arrival {
            context,
            sequence: 0,
            process: self.process.index,
            location,
            account: self.location.paths.account(frame.path, counts),
            enter: frame.enter,
            leave: time,
            began,
            end: time,
            way,
            root: self.root(context, root),
            neighbours,
            number: Some(number),
            outside: None,
        };
        let judged = frame.judged;
        let (world, mail) = (self.world, &mut *self.mail);
        for arrival in self.process.under.end(number, judged.then_some(arrival)) {
            mail.arrivals.send(arrival.home(world), arrival);
        }
        let what = Quantity::Wait(Wait::NonBlockingWait);
        let (sender, context, tag, posted) = (0, COLLECTIVES, number, began);
        let (bytes, skipped, probe, polled) = (0, 0, None, None);
        let receive = Receive { sender, context, tag, bytes, posted, what, skipped, probe, polled };
        self.note(Note::Receive(receive));
    }

    fn lock_key(&mut self, win: RmaWinRef, remote: Rank, lock: u64) -> Option<LockKey> {
        let context = self.context(win)?;
        let owner = if remote.is_undefined() { None } else { self.process(context, remote) };
        Some(LockKey { window: win.0, owner: owner.unwrap_or(LockKey::ALL), lock })
    }

    fn lock(
        &mut self,
        win: RmaWinRef,
        remote: Rank,
        lock: u64,
        kind: LockType,
        time: u64,
        acquired: bool,
    ) {
        let Some(key) = self.lock_key(win, remote, lock) else { return };
        let exclusive = kind != LockType::Shared;
        let Some(frame) = self.location.stack.last() else { return };
        if !frame.judged {
            return;
        }
        let stated = frame.traits.has(Traits::SAYS_WHEN);
        let what = match (acquired, stated) {
            (true, true) => What::Acquire { asked: frame.enter, time, exclusive },
            // Records of other tools about acquiring stand at the enter, so the message is sent at the leave.
            (true, false) => return self.note(Note::Lock(key, exclusive, Taken::AtLeave)),
            // Dwell records when the lock is acquired.
            (false, true) => return,
            (false, false) => What::Request { time: frame.enter, exclusive },
        };
        let process = self.process.index;
        self.mail.locks.send(key.home(self.world), LockLetter { key, process, what });
        if !acquired {
            self.process.asked.insert(key, exclusive);
            self.process.consent.remove(&key);
        }
        self.note(Note::Lock(key, exclusive, Taken::Said));
    }

    fn unlock(&mut self, win: RmaWinRef, remote: Rank, lock: u64, time: u64) {
        let Some(key) = self.lock_key(win, remote, lock) else { return };
        if !self.location.stack.last().is_some_and(|frame| frame.judged) {
            return;
        }
        let (what, process) = (What::Release { time }, self.process.index);
        self.mail.locks.send(key.home(self.world), LockLetter { key, process, what });
        self.process.acted.retain(|(window, target)| {
            *window != key.window || key.owner != LockKey::ALL && key.owner != *target
        });
        // No record said when the lock was acquired: it may have been in this call.
        if let Some(exclusive) = self.process.asked.remove(&key) {
            self.note(Note::Lock(key, exclusive, Taken::Before(time)));
        }
    }

    fn sync(&mut self, time: u64, win: RmaWinRef, remote: Rank, kind: RmaSyncType) {
        let Some(context) = self.context(win) else { return };
        let Some(partner) = self.process(context, remote) else { return };
        let context = win.0 | NOTIFICATIONS;
        match kind {
            RmaSyncType::NotifyOut => self.tell(time, partner, context),
            RmaSyncType::NotifyIn => self.hear(partner, context, Quantity::Wait(Wait::LateSignal)),
            _ => {}
        }
    }

    /// Tells the target of the open call about a notification at an address that may be waited on.
    fn told(&mut self, win: RmaWinRef, remote: Rank, attributes: List<'_, Attribute>) {
        let Some(context) = self.context(win) else { return };
        let Some(target) = self.process(context, remote) else { return };
        let Some(frame) = self.location.stack.last().copied().filter(|it| it.judged) else {
            return;
        };
        self.signal(target, frame.enter, 1, attributes);
    }

    /// Records that a call synchronised with the members of a group.
    fn group_sync(&mut self, time: u64, win: RmaWinRef, group: GroupRef, level: RmaSyncLevel) {
        let world = self.world;
        let Some(frame) = self.location.stack.last() else { return };
        let epoch = world.roles.get(frame.region).epoch;
        if epoch == Some(Epoch::Test) && level == RmaSyncLevel::NONE {
            return;
        }
        let Some(members) = world.system.group(group) else { return };
        let me = self.process.index;
        for &partner in members.iter().filter(|member| **member != me) {
            match epoch {
                None => {
                    self.tell(time, partner, win.0 | PARTNERS);
                    self.hear(partner, win.0 | PARTNERS, Quantity::Wait(Wait::LatePartner));
                }
                Some(Epoch::Post) => {
                    self.tell(time, partner, win.0 | POSTS);
                    self.tell(time, partner, win.0 | LATER_POSTS);
                }
                Some(Epoch::Start) => {
                    self.hear(partner, win.0 | POSTS, Quantity::Wait(Wait::LatePost));
                }
                Some(Epoch::Complete) => {
                    self.hear(partner, win.0 | LATER_POSTS, Quantity::Wait(Wait::LatePost));
                    self.tell(time, partner, win.0 | COMPLETES);
                }
                Some(Epoch::Wait | Epoch::Test) => {
                    self.hear(partner, win.0 | COMPLETES, Quantity::Wait(Wait::EarlyWait));
                }
            }
        }
    }

    /// Tells a partner that the open call has come so far.
    fn tell(&mut self, time: u64, partner: u32, context: u32) {
        let Some(frame) = self.location.stack.last().copied().filter(|it| it.judged) else {
            return;
        };
        let sent = Sent {
            receiver: partner,
            sender: self.process.index,
            context,
            tag: 0,
            begin: frame.enter,
            time,
            serial: self.process.messages.serial(),
            blocking: false,
            skipped: 0,
            touched: if context & APART == COMPLETES {
                let window = context & !APART;
                self.process.touched.remove(&(window, partner)).unwrap_or(0)
            } else {
                0
            },
        };
        self.mail.sends.send(partner, sent);
    }

    /// Makes the open call wait for what a partner tells.
    fn hear(&mut self, sender: u32, context: u32, what: Quantity) {
        let posted = self.location.stack.last().map_or(0, |frame| frame.enter);
        let (tag, bytes, skipped, probe, polled) = (0, 0, 0, None, None);
        let receive = Receive { sender, context, tag, bytes, posted, what, skipped, probe, polled };
        self.note(Note::Receive(receive));
    }

    #[allow(clippy::too_many_arguments)] // The fields of a record.
    fn send(
        &mut self,
        time: u64,
        comm: CommRef,
        to: Rank,
        tag: u32,
        bytes: u64,
        request: Option<u64>,
        skipped: u64,
    ) {
        let Some(frame) = self.location.stack.last().copied() else { return };
        self.location.paths.book(frame.path, Quantity::Sends, 1);
        self.location.paths.book(frame.path, Quantity::BytesSent, bytes);
        let Some(context) = self.world.system.comm(comm) else {
            self.location.damage.undefined += 1;
            return;
        };
        let Some(receiver) = self.process(context, to) else { return };
        self.moved(bytes, receiver);
        let me = self.process.index;
        let to = self.world.parties.party(receiver);
        let counts = frame.judged || !frame.traits.has(Traits::CALL);
        if counts && let Some(cell) = self.matrix.cell(self.row, to, Kind::Message) {
            cell.operations += 1;
            cell.bytes += bytes;
        }
        if let Some(frame) = self.location.stack.last_mut()
            && frame.first.is_none()
            && counts
        {
            frame.first = Some((Kind::Message, receiver));
        }
        if !frame.judged {
            return;
        }
        let serial = self.process.messages.serial();
        let begin = frame.enter;
        let (sender, touched) = (me, 0);
        let sent = Sent {
            receiver,
            sender,
            context,
            tag,
            begin,
            time,
            serial,
            blocking: true,
            touched,
            skipped,
        };
        self.mail.sends.send(receiver, sent);
        let started = Started { serial, begin, bytes };
        match request {
            None => self.note(Note::Send(started)),
            Some(request) => drop(self.process.messages.started.insert(request, started)),
        }
    }

    /// Posts a receive. Its message may be the one that a probe found before.
    fn post(&mut self, enter: u64) -> Posted {
        let probe = self.location.probe.take();
        let run = self.location.polls.as_mut().filter(|run| run.is_loop && run.probed > 0);
        let polled = run.map(|run| {
            let leave = std::mem::take(&mut run.probed);
            Polled { number: self.process.loops.expect(run), leave }
        });
        Posted { enter, probe, polled }
    }

    fn receive(
        &mut self,
        comm: CommRef,
        from: Rank,
        tag: u32,
        bytes: u64,
        posted: Option<Posted>,
        skipped: u64,
    ) {
        let Some(frame) = self.location.stack.last().copied() else { return };
        self.location.paths.book(frame.path, Quantity::Receives, 1);
        self.location.paths.book(frame.path, Quantity::BytesReceived, bytes);
        let Some(context) = self.world.system.comm(comm) else {
            self.location.damage.undefined += 1;
            return;
        };
        let Some(sender) = self.process(context, from) else { return };
        self.moved(bytes, sender);
        let posted = posted.unwrap_or_else(|| self.post(frame.enter));
        let Posted { enter: posted, probe, polled } = posted;
        let what = Quantity::Wait(Wait::LateSender);
        let receive = Receive { sender, context, tag, bytes, posted, what, skipped, probe, polled };
        self.note(Note::Receive(receive));
    }
}
