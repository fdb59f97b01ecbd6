//! Reads rare records: synchronisation, locks, collectives and messages. Counts their contents and turns them into
//! events for patterns.

use dwell_log::needs::Need;
use dwell_log::quantity::Quantity;
use dwell_model::operation::{Operation, Shape};
use dwell_trace::counters::{Member, Number};
use dwell_trace::ids::{ContextNumber, ProcessNumber};
use dwell_trace::locks::{LockKey, LockMode, LockOwner};
use dwell_trace::roles::{Epoch, Role, Traits};
use dwell_trace::shape::{CollectiveShape, Group};
use dwell_trace::time::Time;
use dwell_trace::world::{address, number};
use otf2::enums::{LockType, MeasurementMode, RmaSyncLevel, RmaSyncType};
use otf2::id::{CommRef, GroupRef, MetricRef, ParameterRef, Rank, RmaWinRef};
use otf2::value::MetricValue;
use otf2::{Attribute, AttributeValue, Event as Record, List};

use crate::engine::event::{Among, Collective, Event, EventKind, Received};
use crate::engine::exchange::Asking;
use crate::engine::location::Frame;
use crate::engine::outstanding::Done;
use crate::engine::paths::{Counted, Path};
use crate::engine::pattern::Pattern;
use crate::engine::player::Player;
use crate::engine::regions::Span;
use crate::engine::tally::Counts;

impl<P: Pattern> Player<'_, P> {
    /// Sets a parameter of the program, until the call in which it was set ends or it is set again.
    fn set(&mut self, time: Time, parameter: ParameterRef, value: u64) {
        let stack = &self.here.location.stack;
        let settings = stack.iter().rev().take_while(|frame| frame.setting).count();
        // Parameters do not divide the time of runtime calls.
        match stack.iter().rev().nth(settings) {
            Some(call) if !call.traits.has(Traits::CALL) => {}
            _ => return,
        }
        let is = |frame: &Frame| {
            let node = self.here.location.paths.get(frame.path);
            node.and_then(|node| node.setting).is_some_and(|it| it.parameter == parameter)
        };
        let again = stack.iter().rev().take(settings).position(is);
        for _ in 0..again.map_or(0, |above| above + 1) {
            self.close(time);
        }
        let Some(around) = self.here.location.stack.last() else { return };
        let path = self.here.location.paths.set(around.path, parameter, value);
        let around = around.path;
        if self.here.world.instance == Some(parameter) {
            self.here.location.paths.begin_instance(path, time);
        }
        self.here.location.log_region(time, around);
        let frame = Frame { enter: time, path, setting: true, ..Frame::EMPTY };
        self.here.location.stack.push(frame);
    }

    /// Adds values of counters.
    fn count_values(&mut self, metric: MetricRef, values: List<'_, MetricValue>) {
        if let Some(members) = self.here.world.counters.sampled(metric) {
            return self.sampled(metric, members, values);
        }
        let Some(frame) = self.here.location.stack.last() else { return };
        let value = self.here.world.counters.value(metric, values);
        let Some((counter, number)) = value else { return };
        let (values, sum, least, largest) = (1, number, number, number);
        let counted = Counted { counter, values, sum, least, largest };
        self.here.location.paths.counted(frame.path, counted);
    }

    /// Adds the values of sampled counters. For counters that accumulate, this is the increase since the previous
    /// sample.
    fn sampled(
        &mut self,
        class: MetricRef,
        members: &[Option<Member>],
        values: List<'_, MetricValue>,
    ) {
        let location = &mut *self.here.location;
        let path = location.stack.last().map_or(Path::TOP, |frame| frame.path);
        let tally = location.tally.get_or_insert_default();
        let last = tally.next(class, values.iter().map(|it| it.bits).collect());
        let mut counts = Counts::default();
        for (at, (member, value)) in members.iter().zip(values.iter()).enumerate() {
            let Some(member) = member else { continue };
            let mut number = Number::of(value);
            if member.accumulates {
                let Some(bits) = last.as_ref().and_then(|last| last.get(at)) else { continue };
                number = number.since(Number::of(MetricValue { bits: *bits, ..value }));
            }
            if let (Some(role), Number::Unsigned(more)) = (member.role, number)
                && let Some(sum) = counts.get_mut(role as usize)
            {
                *sum += more;
            }
            let (counter, values, sum, least, largest) = (member.id, 1, number, number, number);
            location.paths.counted(path, Counted { counter, values, sum, least, largest });
        }
        match location.judged.checked_sub(1) {
            None => tally.computed(path, &counts),
            Some(depth) => {
                let call = location.stack.get(depth as usize).map_or(path, |frame| frame.path);
                tally.called(call);
            }
        }
    }

    /// Passes an event to all patterns.
    pub(crate) fn emit(&mut self, time: Time, kind: EventKind<'_>) {
        let mut out = Asking { own: self.own, shared: self.shared };
        self.patterns.on_event(&mut self.here, &Event { time, kind }, &mut out);
    }

    /// Adds a need of the open call to the dependency log, if waits are judged at that call.
    fn needs(&mut self, need: Need) {
        if self.here.judged_call().is_some() {
            self.here.location.open_call_needs(self.here.process.index, need);
        }
    }

    /// Reads a record that is neither an enter nor a leave, and that neither issues an operation nor completes one at
    /// its origin.
    #[inline(never)]
    pub(crate) fn rare(&mut self, time: Time, record: Record<'_>, attributes: List<'_, Attribute>) {
        let known = &self.here.world.attributes;
        let skipped = || number(attributes, known.skipped).unwrap_or(0);
        let enter = self.here.location.stack.last().map_or(time, |frame| frame.enter);
        match record {
            Record::RmaOpCompleteRemote(it) => self.complete_remote(time, it.win, it.matching_id),
            Record::ParameterInt(it) => self.set(time, it.parameter, it.value.cast_unsigned()),
            Record::ParameterUnsignedInt(it) => self.set(time, it.parameter, it.value),
            Record::ParameterString(it) => self.set(time, it.parameter, it.string.0.into()),
            Record::Metric(it) => self.count_values(it.metric, it.values),
            Record::RmaCollectiveEnd(it) => {
                let Some(context) = self.here.context(it.win) else { return };
                let Some(&frame) = self.here.location.stack.last() else { return };
                let role = self.here.world.roles.get(frame.region);
                let shape = CollectiveShape::of(role, it.collective_op, it.root, Group::Window);
                let fence = (shape == CollectiveShape::Fence).then_some(it.win);
                self.joined(context, it.bytes_sent.saturating_add(it.bytes_received));
                let (sequence, neighbours, deferred) = (None, None, None);
                let root = it.root;
                let collective =
                    Collective { context, shape, root, fence, sequence, neighbours, deferred };
                self.collective(time, collective, attributes);
            }
            Record::MpiCollectiveEnd(it) => {
                let Some(context) = self.comm(it.communicator) else { return };
                let Some(&frame) = self.here.location.stack.last() else { return };
                let role = self.here.world.roles.get(frame.region);
                let shape =
                    CollectiveShape::of(role, it.collective_op, it.root, Group::Communicator);
                self.joined(context, it.size_sent.saturating_add(it.size_received));
                let (fence, sequence, neighbours, deferred) = (None, None, None, None);
                let root = it.root;
                let collective =
                    Collective { context, shape, root, fence, sequence, neighbours, deferred };
                self.collective(time, collective, attributes);
            }
            Record::MpiCollectiveBegin(_) => {
                self.here.location.neighbours = self.neighbours(attributes);
            }
            Record::NonBlockingCollectiveRequest(it) => {
                let (request, among) = (it.request_id.0, self.among(attributes));
                self.emit(time, EventKind::CollectiveBegun { request, enter, among });
            }
            Record::NonBlockingCollectiveComplete(it) => {
                let Some(context) = self.comm(it.communicator) else { return };
                // The call that completes the collective does not identify the function that started it.
                let shape = CollectiveShape::of(
                    Role::default(),
                    it.collective_op,
                    it.root,
                    Group::Communicator,
                );
                self.joined(context, it.size_sent.saturating_add(it.size_received));
                let Some(&frame) = self.here.location.stack.last() else { return };
                self.here.location.paths.book(frame.path, Quantity::Collectives, 1);
                let (root, request) = (it.root, it.request_id.0);
                self.emit(time, EventKind::CollectiveCompleted { context, shape, root, request });
            }
            Record::RmaRequestLock(it) => {
                let Some(key) = self.lock_key(it.win, it.remote, it.lock_id.0) else { return };
                let mode = mode(it.lock_type);
                self.emit(time, EventKind::LockRequested { key, mode });
            }
            Record::RmaAcquireLock(it) => {
                let Some(key) = self.lock_key(it.win, it.remote, it.lock_id.0) else { return };
                let mode = mode(it.lock_type);
                self.needs(Need::Acquire { key, mode });
                self.emit(time, EventKind::LockAcquired { key, mode });
            }
            Record::RmaReleaseLock(it) => {
                let Some(key) = self.lock_key(it.win, it.remote, it.lock_id.0) else { return };
                self.needs(Need::Release { key });
                self.emit(time, EventKind::LockReleased { key });
            }
            Record::RmaWaitChange(it) => {
                let call = self.here.location.stack.last();
                let layer = call.and_then(|call| self.here.world.roles.layer(call.region));
                let offset = number(attributes, known.offset);
                let offset = offset.map(|offset| address(layer, it.win, offset));
                let owner = number(attributes, known.owner).and_then(|rank| {
                    let context = self.here.context(it.win)?;
                    self.here.process_of(context, Rank(u32::try_from(rank).ok()?))
                });
                self.emit(time, EventKind::WaitedForChange { offset, owner });
            }
            Record::RmaSync(it) => {
                let is_at_address = number(attributes, known.offset).is_some();
                let Some(context) = self.here.context(it.win) else { return };
                let Some(partner) = self.here.process_of(context, it.remote) else { return };
                let (window, direction) = (it.win, it.sync_type);
                let what = if let Some(checksum) = number(attributes, known.active_message) {
                    match direction {
                        RmaSyncType::NotifyOut => {
                            EventKind::MessageSent { target: partner, checksum, enter }
                        }
                        _ => {
                            self.here.location.begin_handler();
                            EventKind::MessageHandled { source: partner, checksum }
                        }
                    }
                } else if is_at_address && direction == RmaSyncType::NotifyOut {
                    EventKind::Raised { target: partner, attributes }
                } else {
                    EventKind::Notified { window, partner, direction }
                };
                self.emit(time, what);
            }
            Record::RmaGroupSync(it) => self.group_sync(time, it.win, it.group, it.sync_level),
            Record::MpiSend(it) => {
                let (to, tag, bytes) = (it.receiver, it.msg_tag, it.msg_length);
                let sent = self.send(it.communicator, to, bytes);
                let Some((context, receiver)) = sent else { return };
                let (request, skipped) = (None, skipped());
                self.emit(
                    time,
                    EventKind::Sent { context, receiver, tag, bytes, request, skipped },
                );
            }
            Record::MpiIsend(it) => {
                let (to, tag, bytes) = (it.receiver, it.msg_tag, it.msg_length);
                let sent = self.send(it.communicator, to, bytes);
                let Some((context, receiver)) = sent else { return };
                let (request, skipped) = (Some(it.request_id.0), skipped());
                self.emit(
                    time,
                    EventKind::Sent { context, receiver, tag, bytes, request, skipped },
                );
            }
            Record::MpiIrecvRequest(it) => {
                let request = it.request_id.0;
                self.emit(time, EventKind::ReceivePosted { request, enter });
            }
            Record::MpiIsendComplete(it) => {
                self.emit(time, EventKind::SendCompleted { request: it.request_id.0 });
            }
            Record::MpiRequestCancelled(it) => {
                self.emit(time, EventKind::Cancelled { request: it.request_id.0 });
            }
            Record::MpiRecv(it) => {
                let (tag, bytes, skipped) = (it.msg_tag, it.msg_length, skipped());
                let from = self.receive(it.communicator, it.sender, bytes);
                let of =
                    |(context, sender)| Received { context, sender, tag, bytes, skipped, enter };
                self.emit(time, EventKind::Received { request: None, message: from.map(of) });
            }
            Record::MpiIrecv(it) => {
                let (tag, bytes, skipped) = (it.msg_tag, it.msg_length, skipped());
                let from = self.receive(it.communicator, it.sender, bytes);
                let of =
                    |(context, sender)| Received { context, sender, tag, bytes, skipped, enter };
                let request = Some(it.request_id.0);
                self.emit(time, EventKind::Received { request, message: from.map(of) });
            }
            Record::MeasurementOnOff(it) => match it.measurement_mode {
                MeasurementMode::Off => {
                    self.here.location.off = Some(time);
                    self.here.location.tally.iter_mut().for_each(|it| it.forget());
                }
                _ => {
                    if let Some(begin) = self.here.location.off.take() {
                        self.here.location.gaps.push(Span { begin, end: time });
                    }
                }
            },
            _ => {}
        }
    }

    /// Returns the context of a communicator, or `None` if it is not defined.
    fn comm(&mut self, comm: CommRef) -> Option<ContextNumber> {
        let context = self.here.world.system.comm(comm);
        self.here.location.damage.undefined += u64::from(context.is_none());
        context
    }

    /// Adds bytes that the open call moved in a collective.
    fn joined(&mut self, context: ContextNumber, bytes: u64) {
        let size = self.here.world.system.context(context).map_or(0, |context| context.size);
        self.here.moved_in_group(size, bytes);
    }

    /// Counts a collective, and passes it to the patterns if waits are judged at its call.
    fn collective(&mut self, time: Time, of: Collective, attributes: List<'_, Attribute>) {
        let neighbours = self.here.location.neighbours.take();
        let Some(&frame) = self.here.location.stack.last() else { return };
        self.here.location.paths.book(frame.path, Quantity::Collectives, 1);
        if !frame.judged {
            return;
        }
        let deferred = self.outside(frame, of.context);
        let sequence = number(attributes, self.here.world.attributes.sequence);
        let collective = Collective { sequence, neighbours, deferred, ..of };
        self.emit(time, EventKind::Collective(collective));
    }

    /// Returns the group of neighbours in the attributes of a record, or `None` if the members of that group are not
    /// kept.
    fn neighbours(&self, attributes: List<'_, Attribute>) -> Option<GroupRef> {
        let wanted = self.here.world.attributes.neighbours?;
        let found = attributes.iter().find(|it| it.attribute == wanted)?;
        let AttributeValue::Group(group) = found.value else { return None };
        self.here.world.system.group(group).map(|_| group)
    }

    /// Returns the members that a non-blocking collective which begins now waits for. Only its first record and the
    /// call around that record contain this information.
    fn among(&self, attributes: List<'_, Attribute>) -> Among {
        let group = self.neighbours(attributes);
        let region = self.here.location.stack.last().map(|frame| frame.region);
        let meaning = region.and_then(|region| self.here.world.roles.get(region).meaning);
        match meaning.map(|meaning| meaning.operation) {
            Some(Operation::Collective(which)) if which.shape() == Shape::Neighbours => {
                Among::Neighbours(group)
            }
            _ if group.is_some() => Among::Neighbours(group),
            _ => Among::Members,
        }
    }

    /// Defers the judgement of the open call if the collective in it completed operations at targets outside of its
    /// group. Members of the group have arrived: imbalance is not a wait for progress. The other targets are queried
    /// once the arrival of the last member of the group is known. Returns the number of the deferred call.
    fn outside(&mut self, frame: Frame, context: ContextNumber) -> Option<u32> {
        self.complete_implied(frame);
        let group = self.here.world.system.context(context)?;
        let mut list: Vec<Done> = self.here.location.done.drain(..).collect();
        list.retain(|it| !group.contains(it.target));
        if list.is_empty() {
            return None;
        }
        let (number, now) = (self.here.location.number, self.here.location.now);
        Some(self.here.process.deferred.open(number, Span { begin: frame.enter, end: now }, list))
    }

    fn lock_key(&mut self, win: RmaWinRef, remote: Rank, lock: u64) -> Option<LockKey> {
        let context = self.here.context(win)?;
        let owner =
            if remote.is_undefined() { None } else { self.here.process_of(context, remote) };
        let owner = owner.map_or(LockOwner::All, LockOwner::Process);
        Some(LockKey { window: win, owner, lock })
    }

    /// Reports to the patterns that a call synchronised with the members of a group. A test of an epoch at the level
    /// `NONE` found the epoch still open, so it is not reported.
    fn group_sync(&mut self, time: Time, win: RmaWinRef, group: GroupRef, level: RmaSyncLevel) {
        let world = self.here.world;
        let Some(frame) = self.here.location.stack.last() else { return };
        let epoch = world.roles.get(frame.region).epoch;
        if epoch == Some(Epoch::Test) && level == RmaSyncLevel::NONE {
            return;
        }
        let Some(members) = world.system.group(group) else { return };
        self.emit(time, EventKind::Synchronised { window: win, members, epoch });
    }

    /// Counts a message that the open call sent. Returns its context and receiver if waits are judged at the call.
    fn send(
        &mut self,
        comm: CommRef,
        to: Rank,
        bytes: u64,
    ) -> Option<(ContextNumber, ProcessNumber)> {
        let frame = *self.here.location.stack.last()?;
        self.here.location.paths.book(frame.path, Quantity::Sends, 1);
        self.here.location.paths.book(frame.path, Quantity::BytesSent, bytes);
        let context = self.comm(comm)?;
        let receiver = self.here.process_of(context, to)?;
        self.here.moved(bytes, receiver);
        self.here.count_message(&frame, bytes, receiver);
        frame.judged.then_some((context, receiver))
    }

    /// Counts a message that the open call received. Returns its context and sender if they are defined.
    fn receive(
        &mut self,
        comm: CommRef,
        from: Rank,
        bytes: u64,
    ) -> Option<(ContextNumber, ProcessNumber)> {
        let frame = *self.here.location.stack.last()?;
        self.here.location.paths.book(frame.path, Quantity::Receives, 1);
        self.here.location.paths.book(frame.path, Quantity::BytesReceived, bytes);
        let context = self.comm(comm)?;
        let sender = self.here.process_of(context, from)?;
        self.here.moved(bytes, sender);
        Some((context, sender))
    }
}

/// Returns the mode of a lock, given the lock type of a record. Types that OTF2 may add later count as exclusive.
fn mode(of: LockType) -> LockMode {
    match of {
        LockType::Shared => LockMode::Shared,
        _ => LockMode::Exclusive,
    }
}
