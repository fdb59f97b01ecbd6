//! Plays the events of a location: applies each record to the state of the process.

use std::ops::ControlFlow;

use dwell_log::needs::Need;
use dwell_log::quantity::Quantity;
use dwell_model::layer::Ranks;
use dwell_model::operation::{Atomic, Operation};
use dwell_trace::roles::Traits;
use dwell_trace::time::{Duration, Time};
use dwell_trace::world::number;
use otf2::id::{CallingContextRef, RegionRef};
use otf2::read::{EventRecord, Visitor};
use otf2::{Attribute, Event, List};

use crate::engine::accounts::{Account, Distance, Moved, Sort};
use crate::engine::call::EndedCall;
use crate::engine::event::EventKind;
use crate::engine::exchange::Asking;
use crate::engine::fast_path::{Issue, Leaf};
use crate::engine::location::{Frame, Location};
use crate::engine::location_context::LocationContext;
use crate::engine::matrix::Kind;
use crate::engine::outstanding::{Done, Op, SHORTEST_AT_ORIGIN};
use crate::engine::paths::Path;
use crate::engine::pattern::{Pattern, Questions};
use crate::engine::polling::{Run, Test};
use crate::engine::regions::Span;

/// One location of a process, with everything that its events act on.
pub(crate) struct Player<'a, P: Pattern> {
    pub(crate) here: LocationContext<'a>,
    pub(crate) patterns: &'a mut P,
    /// Outboxes of each pattern, and of all patterns together.
    pub(crate) own: &'a mut P::Questions,
    pub(crate) shared: &'a mut Questions<P>,
    pub(crate) horizon: Time,
    /// Scratch space for completed operations.
    pub(crate) ops: &'a mut Vec<Op>,
    /// The innermost call while it has made no other call. It is not on the stack.
    pub(crate) leaf: Leaf,
}

impl<P: Pattern> Visitor for Player<'_, P> {
    #[inline(always)]
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        // A clock that runs backwards counts as standing still.
        let time = self.here.world.clock.time(record.time).max(self.here.location.now);
        self.here.location.now = time;
        match record.event {
            Event::Enter(it) => {
                let site = if record.attributes.is_empty() {
                    CallingContextRef::UNDEFINED
                } else {
                    self.site(record.attributes)
                };
                self.enter(time, it.region, site);
            }
            Event::Leave(it) => {
                if !record.attributes.is_empty() {
                    self.unfold();
                    self.cut(it.region, record.attributes);
                    self.merge(it.region, record.attributes);
                    self.barrier(time, it.region, record.attributes);
                }
                if !self.fold_leave(time, it.region) {
                    self.leave(time, it.region);
                    self.here.location.merged = 0;
                }
            }
            Event::RmaGet(it) => {
                let (id, received) = (it.matching_id.0, it.bytes);
                let (window, remote) = (it.win, it.remote);
                let (kind, returns) = (Kind::Get, true);
                let issue = Issue { kind, returns, window, remote, id, sent: 0, received };
                self.operation(issue, record.attributes);
            }
            Event::RmaPut(it) => {
                let (id, sent) = (it.matching_id.0, it.bytes);
                let (window, remote) = (it.win, it.remote);
                let (kind, returns) = (Kind::Put, false);
                let issue = Issue { kind, returns, window, remote, id, sent, received: 0 };
                self.operation(issue, record.attributes);
            }
            Event::RmaAtomic(it) => {
                let returns = it.bytes_received > 0;
                let (id, sent, received) = (it.matching_id.0, it.bytes_sent, it.bytes_received);
                let (window, remote) = (it.win, it.remote);
                let kind = Kind::Atomic;
                let issue = Issue { kind, returns, window, remote, id, sent, received };
                self.operation(issue, record.attributes);
            }
            Event::RmaOpCompleteBlocking(it) => self.completion(it.win, it.matching_id.0),
            Event::RmaOpCompleteNonBlocking(it) => self.completion(it.win, it.matching_id.0),
            event => {
                self.unfold();
                self.rare(time, event, record.attributes);
            }
        }
        if time < self.horizon { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

impl<P: Pattern> Player<'_, P> {
    #[inline(always)]
    fn site(&self, attributes: List<'_, Attribute>) -> CallingContextRef {
        let site = number(attributes, self.here.world.attributes.site);
        site.and_then(|it| u32::try_from(it).ok())
            .map_or(CallingContextRef::UNDEFINED, CallingContextRef)
    }

    /// Returns `true` if waits are judged at a call of this region that is made now.
    #[inline(always)]
    pub(crate) fn is_judged(&self, region: RegionRef, traits: Traits) -> bool {
        self.here.location.judged == 0
            && match self.here.world.layer {
                None => !traits.has(Traits::SILENT),
                some => self.here.world.roles.get(region).layer() == some,
            }
    }

    /// Notes that a thread leaves the barrier of a team.
    #[cold]
    #[inline(never)]
    fn barrier(&mut self, time: Time, region: RegionRef, attributes: List<'_, Attribute>) {
        let is_open = self.here.location.stack.last().is_some_and(|it| it.region == region);
        if is_open
            && self.here.world.roles.traits(region).has(Traits::TEAM)
            && let Some(number) = number(attributes, self.here.world.attributes.sequence)
        {
            self.emit(time, EventKind::TeamBarrier { number });
        }
    }

    /// Makes a barrier in which the thread begins to run a function of the program an ordinary region, so that calls which the
    /// function makes are judged.
    #[cold]
    #[inline(never)]
    fn runs_in_barrier(&mut self) {
        let location = &mut *self.here.location;
        let Some(frame) = location.stack.last_mut() else { return };
        frame.judged = false;
        let (enter, path) = (frame.enter, frame.path);
        location.judged = 0;
        location.log_region(enter, location.paths.parent(path));
    }

    /// Puts a call on the stack.
    #[inline(always)]
    pub(crate) fn open(&mut self, time: Time, region: RegionRef, site: CallingContextRef) {
        let traits = self.here.process.serving(self.here.world.roles.traits(region));
        if !traits.has(Traits::CALL)
            && let Some(frame) = self.here.location.stack.last()
            && frame.judged
            && frame.traits.has(Traits::TEAM)
        {
            self.runs_in_barrier();
        }
        let judged = traits.has(Traits::CALL) && self.is_judged(region, traits);
        let location = &mut *self.here.location;
        let parent = location.stack.last().map_or(Path::TOP, |frame| frame.path);
        let path = location.paths.call(&self.here.world.contexts, parent, region, site);
        if !judged {
            location.log_region(time, location.paths.parent(path));
        }
        if traits.has(Traits::CALL) {
            if judged {
                location.judged = location.stack.len() as u32 + 1;
                location.moved = Moved::default();
                location.handlers_before = location.in_handlers;
            }
            if traits.has(Traits::SERVES) {
                if let Some(entries) = &mut self.here.process.entries {
                    entries.push_back((time, location.number));
                }
                let tentative = traits.has(Traits::ONE_SIDED);
                if tentative && judged && !self.here.process.alone {
                    self.here.process.doubt(time, traits, self.here.world.any_conditional);
                } else {
                    let tentative = tentative && self.here.process.alone;
                    if traits.has(Traits::ALWAYS) {
                        self.here.process.certain.enter(time, tentative);
                    }
                    if self.here.world.any_conditional {
                        self.here.process.possible.enter(time, tentative);
                    }
                }
            }
        }
        location.stack.push(Frame { enter: time, path, region, traits, judged, ..Frame::EMPTY });
    }

    #[inline(never)]
    fn leave(&mut self, time: Time, region: RegionRef) {
        self.unfold();
        while self.here.location.stack.last().is_some_and(|frame| frame.setting) {
            self.close(time);
        }
        match self.here.location.stack.last() {
            Some(frame) if frame.region == region => {}
            _ => {
                if !self.unwind(time, region) {
                    return;
                }
            }
        }
        self.close(time);
    }

    /// Records that the process may have ended inside the call that is left now, so that its wait is unknown.
    #[cold]
    #[inline(never)]
    fn cut(&mut self, region: RegionRef, attributes: List<'_, Attribute>) {
        if number(attributes, self.here.world.attributes.cut) != Some(1) {
            return;
        }
        self.here.location.cut.any = true;
        let call = self.here.location.stack.iter().rev().find(|frame| !frame.setting);
        let Some(frame) = call else { return };
        if frame.region != region || !frame.judged {
            return;
        }
        let operation = self.here.world.roles.get(region).meaning.map(|meaning| meaning.operation);
        let together = matches!(
            operation,
            Some(Operation::Allocate | Operation::Reallocate | Operation::Deallocate)
        );
        let cut = &mut self.here.location.cut;
        if together || frame.traits.has(Traits::COLLECTIVE) {
            cut.collectives += 1;
        } else if frame.traits.has(Traits::LOCK) {
            cut.locks += 1;
        } else if frame.traits.has(Traits::WAIT_CHANGE) {
            cut.changes += 1;
        } else if frame.traits.has(Traits::ONE_SIDED) || frame.traits.has(Traits::COMPLETES) {
            cut.operations += 1;
        }
    }

    /// Records that the call that is left now represents several calls, each of which counts as a visit.
    #[cold]
    #[inline(never)]
    fn merge(&mut self, region: RegionRef, attributes: List<'_, Attribute>) {
        let Some(calls) = number(attributes, self.here.world.attributes.calls) else { return };
        let location = &mut *self.here.location;
        if let Some(frame) = location.stack.last().filter(|frame| frame.region == region) {
            location.merged = calls;
            location.paths.visits(frame.path, calls.saturating_sub(1));
            let known = &self.here.world.attributes;
            let time = number(attributes, known.time_in_calls);
            location.in_short_calls = time.map(Duration);
            let operation = self.here.world.roles.get(region).meaning.map(|it| it.operation);
            let Some(bytes) = number(attributes, known.bytes_in_calls) else { return };
            // Of a polling loop, the first call has a record of its operation.
            let calls = if time.is_some() { calls } else { calls.saturating_sub(1) };
            let (what, sent, received) = match operation {
                Some(Operation::Atomic(Atomic::Fetch)) => (Quantity::Atomics, 0, bytes),
                Some(Operation::Get) => (Quantity::Gets, 0, bytes),
                Some(Operation::Put) => (Quantity::Puts, bytes, 0),
                // It sends two values and fetches one.
                Some(Operation::Atomic(Atomic::CompareSwap)) => {
                    (Quantity::Atomics, bytes, bytes / 2)
                }
                Some(Operation::Atomic(which)) if which.fetches() => {
                    (Quantity::Atomics, bytes, bytes)
                }
                Some(Operation::Atomic(_)) => (Quantity::Atomics, bytes, 0),
                _ => return,
            };
            location.paths.count_all(frame.path, what, calls, (sent, received));
        }
    }

    /// Ends a stretch of short calls, which took so long together, calls inside them included. Between them the process computed, so the rest of the
    /// stretch belongs to the region around it. No wait is judged: none of the calls was long enough to be recorded. The
    /// process served others throughout, since it was never away for longer than a call is short.
    #[cold]
    #[inline(never)]
    fn close_short_calls(&mut self, time: Time, spent: Duration) {
        let location = &mut *self.here.location;
        let Some(frame) = location.stack.pop() else { return };
        let spent = spent.min(time - frame.enter);
        location.paths.visit(frame.path, spent.saturating_sub(frame.inside));
        if let Some(above) = location.stack.last_mut() {
            above.inside += spent;
        }
        let process = &mut *self.here.process;
        if frame.judged {
            location.judged = 0;
            location.in_calls += spent;
            if !process.alone && frame.traits.has(Traits::ONE_SIDED) {
                process.settle(frame.enter, frame.traits, false);
            }
        }
        if frame.traits.has(Traits::ALWAYS) {
            process.certain.leave(time);
        }
        if self.here.world.any_conditional && frame.traits.has(Traits::SERVES) {
            process.possible.leave(time);
        }
        if location.judged == 0 {
            let sort = Sort::function(frame.region, 0, Distance::None, 0);
            self.here.location.paths.charge(frame.path, sort, spent);
        }
        if frame.judged && frame.traits.has(Traits::TESTS) {
            let calls = self.here.location.merged;
            self.tested(time, frame, spent, (Account::NONE, calls));
        }
    }

    /// Makes the call of this region the innermost one, if it is open at all.
    #[cold]
    #[inline(never)]
    fn unwind(&mut self, time: Time, region: RegionRef) -> bool {
        self.here.location.damage.unmatched += 1;
        if !self.here.location.stack.iter().any(|frame| frame.region == region) {
            return false;
        }
        while self.here.location.stack.last().is_some_and(|frame| frame.region != region) {
            self.close(time);
        }
        true
    }

    /// Ends the innermost call.
    #[inline(always)]
    pub(crate) fn close(&mut self, time: Time) {
        let location = &mut *self.here.location;
        if let Some(spent) = location.in_short_calls.take() {
            return self.close_short_calls(time, spent);
        }
        let Some(frame) = location.stack.pop() else { return };
        let length = time - frame.enter;
        location.paths.visit(frame.path, length.saturating_sub(frame.inside));
        if frame.setting {
            location.paths.end_instance(frame.path, time);
        }
        if let Some(above) = location.stack.last_mut() {
            above.inside += length;
        }
        if !frame.judged {
            location.log_region(time, frame.path);
        } else if let Some(log) = &mut location.log {
            log.call(frame.enter, time, frame.path, &location.paths);
        }
        if !frame.traits.has(Traits::CALL) {
            if frame.handler {
                location.in_handlers += length;
            }
            return;
        }
        if frame.judged
            && !frame.issued
            && !self.here.process.alone
            && frame.traits.has(Traits::ONE_SIDED)
        {
            self.here.process.settle(frame.enter, frame.traits, false);
        }
        if frame.traits.has(Traits::ALWAYS) {
            self.here.process.certain.leave(time);
        }
        if self.here.world.any_conditional && frame.traits.has(Traits::SERVES) {
            self.here.process.possible.leave(time);
        }
        if let Some((kind, target)) = frame.first {
            let to = self.here.world.system.party(target);
            if let Some(cell) = self.here.matrix.cell(self.here.row, to, kind) {
                cell.time += length.0;
            }
        }
        if !frame.judged {
            // Calls of other layers outside of judged calls have accounts of their own.
            if location.judged == 0 {
                let sort = Sort::function(frame.region, 0, Distance::None, 0);
                location.paths.charge(frame.path, sort, length.saturating_sub(frame.inside));
            }
            return;
        }
        location.judged = 0;
        let mut own = length;
        if frame.traits.has(Traits::POLLS) {
            own = length.saturating_sub(location.in_handlers - location.handlers_before);
        }
        location.in_calls += own;
        location.slow_calls += u64::from(frame.issued);
        let account = self.charge(own, frame.path, frame.region, frame.traits);
        if frame.traits.has(Traits::ROWS) {
            self.here.location.paths.synchronise(
                frame.traits,
                account,
                Span { begin: frame.enter, end: time },
                frame.path,
            );
        } else if frame.issued && self.here.location.merged <= 1 {
            self.follow(&frame, account, time);
        }
        if frame.traits.has(Traits::TOGETHER) {
            // In a collective all members are present: imbalance is not a wait for progress.
            self.here.location.done.clear();
            self.here.location.at_origin.clear();
        }
        if self.here.location.merged > 1 {
            self.polled(time, frame, account);
        }
        let noted = frame.noted || frame.traits.has(Traits::ENDS);
        if noted {
            self.end(time, frame, account);
        }
        let Location { done, at_origin, .. } = &mut *self.here.location;
        // A call that completes operations at their targets waits for those.
        if !done.is_empty() || length < SHORTEST_AT_ORIGIN {
            at_origin.clear();
        }
        if noted || frame.seen_by != 0 || !(done.is_empty() && at_origin.is_empty()) {
            self.judge(Span { begin: frame.enter, end: time }, frame, account);
        }
    }

    /// Checks whether the operation of a call that has ended is in a row with others.
    #[inline(never)]
    fn follow(&mut self, frame: &Frame, account: Account, time: Time) {
        let target = frame.first.map(|it| it.1).filter(|it| *it != self.here.process.index);
        if let Some(target) = target.filter(|_| frame.traits.has(Traits::ONE_SIDED)) {
            let end = self.here.location.moved.end;
            self.here.location.paths.follow(
                account,
                Span { begin: frame.enter, end: time },
                target,
                end,
            );
        }
    }

    /// Adds the time of a judged call to the account of the calls that it is compared with.
    #[inline(always)]
    fn charge(
        &mut self,
        length: Duration,
        path: Path,
        region: RegionRef,
        traits: Traits,
    ) -> Account {
        let moved = &mut self.here.location.moved;
        if traits.has(Traits::COMPLETES) {
            moved.bytes = moved.bytes.max(std::mem::take(&mut self.here.process.moved));
        }
        let sort = moved.sort(region, traits);
        self.here.location.paths.charge(path, sort, length)
    }

    /// Ends a call about which something was noted, or whose function may wait for something, before patterns judge it.
    #[inline(never)]
    fn end(&mut self, time: Time, frame: Frame, account: Account) {
        if !frame.traits.has(Traits::COLLECTIVE) {
            self.complete_implied(frame);
        }
        if frame.traits.has(Traits::TESTS) {
            let calls = self.here.location.merged.max(1);
            self.tested(time, frame, time - frame.enter, (account, calls));
        }
        let LocationContext { process, location, .. } = &mut self.here;
        if !location.touched.is_empty() {
            process.touched.extend(location.touched.drain(..).map(|touched| (touched, time)));
        }
    }

    /// Lets patterns judge a call that has ended.
    #[inline(never)]
    pub(crate) fn judge(&mut self, when: Span, frame: Frame, account: Account) {
        let LocationContext { location, process, .. } = &mut self.here;
        let done = std::mem::take(&mut location.done);
        let at_origin = std::mem::take(&mut location.at_origin);
        for &Done { target, start, class, bytes, .. } in done.iter().chain(&at_origin) {
            let age = when.begin.since(start);
            let need = || Need::Target { process: target, class, bytes, age };
            location.last_call_needed(process.index, need);
        }
        let meaning = self.here.world.roles.get(frame.region).meaning;
        let mut call = EndedCall {
            frame,
            layer: meaning.map(|meaning| meaning.layer),
            operation: meaning.map(|meaning| meaning.operation),
            location: self.here.location.number,
            account,
            enter: when.begin,
            leave: when.end,
            done,
            at_origin,
            claimed: false,
            locked: Vec::new(),
        };
        let mut out = Asking { own: self.own, shared: self.shared };
        self.patterns.on_leave(&mut self.here, &mut call, &mut out);
        // The lists are used again, since most calls that get here complete operations.
        call.done.clear();
        call.at_origin.clear();
        self.here.location.done = call.done;
        self.here.location.at_origin = call.at_origin;
    }

    /// Returns `true` if calls of a region that complete operations complete all, although no record says so.
    pub(crate) fn implies_completion(&self, region: RegionRef, traits: Traits) -> bool {
        let layer = || self.here.world.roles.layer(region);
        !traits.has(Traits::STATED) && layer().is_some_and(|layer| layer.ranks() == Ranks::Own)
    }

    /// Completes all operations at a quiet for which other tools write no record.
    pub(crate) fn complete_implied(&mut self, frame: Frame) {
        if frame.traits.has(Traits::COMPLETES)
            && self.implies_completion(frame.region, frame.traits)
        {
            self.ops.clear();
            self.here.process.outstanding.take_all(None, self.ops);
            self.finish_ops();
        }
    }

    /// Ends a region of several calls that read a word of another process until it had changed, or that completed such
    /// reads. They waited for the change, and not for their own operations.
    #[cold]
    #[inline(never)]
    fn polled(&mut self, time: Time, frame: Frame, account: Account) {
        if !frame.traits.has(Traits::ONE_SIDED) && !self.completes(&frame) {
            return;
        }
        self.here.location.done.clear();
        self.here.location.at_origin.clear();
        let calls = self.here.location.merged;
        self.tested(time, frame, time - frame.enter, (account, calls));
    }

    /// Returns `true` for a call that completes operations.
    fn completes(&self, frame: &Frame) -> bool {
        let meaning = self.here.world.roles.get(frame.region).meaning;
        let operation = meaning.map(|meaning| meaning.operation);
        matches!(operation, Some(Operation::CompleteRemote | Operation::CompleteLocal))
    }

    /// Records that a call tested whether something has happened, which it may do again and again; or that several short calls
    /// did, which took `length` together. `of` is the account of the call and the number of calls.
    fn tested(&mut self, time: Time, frame: Frame, length: Duration, of: (Account, u64)) {
        let (account, calls) = of;
        let meaning = self.here.world.roles.get(frame.region).meaning;
        let operation = meaning.map(|meaning| meaning.operation);
        if operation == Some(Operation::Probe) {
            return;
        }
        let Some(&above) = self.here.location.stack.last() else { return };
        let Frame { path, enter, .. } = frame;
        let (caller, inside) = (above.enter, above.inside);
        let completes = self.completes(&frame);
        let test =
            Test { path, account, enter, leave: time, length, calls, completes, caller, inside };
        let paths = &mut self.here.location.paths;
        let polls = self.here.location.polls.take();
        let (mut run, ended) = Run::after(polls, test, |path, time, calls| {
            paths.book(path, Quantity::PollingCalls, calls);
            paths.book(path, Quantity::PollingTime, time.0);
        });
        run.tests_memory = operation == Some(Operation::TestChange);
        if operation == Some(Operation::TestProbe) {
            run.probed = time;
        }
        self.here.location.polls = Some(run);
        if let Some(ended) = ended {
            self.here.process.loops.end(self.here.location.number, ended);
        }
    }
}
