//! Plays the events of a location: applies each record to the state of the process.

use std::ops::ControlFlow;

use dwell_model::layer::Layer;
use dwell_model::operation::Operation;
use otf2::enums::RmaAtomicType;
use otf2::id::{CallingContextRef, MatchingId, Rank, RegionRef, RmaWinRef};
use otf2::read::{EventRecord, Visitor};
use otf2::{Attribute, Event, List};

use crate::archive::roles::{Traits, is_numbered};
use crate::archive::world::{World, number};
use crate::engine::accounts::{self, Account, Distance, Moved, Sort};
use crate::engine::exchange::Mail;
use crate::engine::fast_path::{Issue, Leaf};
use crate::engine::location::{Frame, Location, Note, Taken};
use crate::engine::locking::{LockKey, Waiting};
use crate::engine::matrix::{Kind, Matrix};
use crate::engine::outstanding::{Class, Done, Known, Op};
use crate::engine::paths::Path;
use crate::engine::polling::{Run, Test};
use crate::engine::process::Process;
use crate::engine::quantity::Quantity;
use crate::engine::regions::Regions;
use crate::patterns::locks::{LockLetter, What};
use crate::patterns::messages::{APART, COLLECTIVES, MOST_KEPT, Probe, Receive, Started, Waiter};
use crate::patterns::progress::{self, Needed, Questions};
use crate::patterns::signals::{FlagWait, Signal};

/// Calls under a lock on all processes that take less than this in nanoseconds are not worth asking every process.
const LONG_LOCK: u64 = 1_000_000;

/// Calls that complete messages and take longer than this in nanoseconds are not judged for the progress of their
/// partners: the activity of all processes during the call would have to be kept.
pub(crate) const LONGEST_MESSAGE: u64 = 1_000_000_000;

/// One location of a process, with everything that its events act on.
pub(crate) struct Player<'a> {
    pub(crate) world: &'a World,
    pub(crate) process: &'a mut Process,
    /// State of the location, taken out of the process while its events are read.
    pub(crate) location: &'a mut Location,
    pub(crate) mail: &'a mut Mail,
    pub(crate) matrix: &'a mut Matrix,
    /// The process's row of the communication matrix.
    pub(crate) row: usize,
    pub(crate) horizon: u64,
    /// Scratch space for completed operations.
    pub(crate) ops: &'a mut Vec<Op>,
    /// The innermost call while it has made no other call. It is not on the stack.
    pub(crate) leaf: Leaf,
}

impl Visitor for Player<'_> {
    #[inline(always)]
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        // A clock that runs backwards counts as standing still.
        let time = self.world.clock.nanoseconds(record.time.0).max(self.location.now);
        self.location.now = time;
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
                }
                if !self.fold_leave(time, it.region) {
                    self.leave(time, it.region);
                }
            }
            Event::RmaGet(it) => {
                let (id, received) = (it.matching_id.0, it.bytes);
                let (window, remote) = (it.win.0, it.remote.0);
                let (kind, returns) = (Kind::Get, true);
                let issue = Issue { kind, returns, window, remote, id, sent: 0, received };
                self.operation(issue, record.attributes);
            }
            Event::RmaPut(it) => {
                let (id, sent) = (it.matching_id.0, it.bytes);
                let (window, remote) = (it.win.0, it.remote.0);
                let (kind, returns) = (Kind::Put, false);
                let issue = Issue { kind, returns, window, remote, id, sent, received: 0 };
                self.operation(issue, record.attributes);
            }
            Event::RmaAtomic(it) => {
                let returns = it.bytes_received > 0 || it.kind == RmaAtomicType::Accumulate;
                let (id, sent, received) = (it.matching_id.0, it.bytes_sent, it.bytes_received);
                let (window, remote) = (it.win.0, it.remote.0);
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

impl Player<'_> {
    #[inline(never)]
    fn site(&self, attributes: List<'_, Attribute>) -> CallingContextRef {
        let site = number(attributes, self.world.attributes.site);
        site.and_then(|it| u32::try_from(it).ok())
            .map_or(CallingContextRef::UNDEFINED, CallingContextRef)
    }

    /// Returns `true` if waits are judged at a call of this region that is made now.
    #[inline(always)]
    pub(crate) fn is_judged(&self, region: RegionRef, traits: Traits) -> bool {
        self.location.judged == 0
            && match self.world.layer {
                None => !traits.has(Traits::SILENT),
                some => self.world.roles.get(region).layer() == some,
            }
    }

    /// Puts a call on the stack.
    #[inline(always)]
    pub(crate) fn open(&mut self, time: u64, region: RegionRef, site: CallingContextRef) {
        let traits = self.world.roles.traits(region);
        let judged = traits.has(Traits::CALL) && self.is_judged(region, traits);
        let lane = &mut *self.location;
        let parent = lane.stack.last().map_or(Path::TOP, |frame| frame.path);
        let path = lane.paths.call(&self.world.contexts, parent, region, site);
        if traits.has(Traits::CALL) {
            if judged {
                lane.judged = lane.stack.len() as u32 + 1;
                lane.moved = Moved::default();
            }
            if traits.has(Traits::SERVES) {
                let tentative = traits.has(Traits::ONE_SIDED);
                if tentative && judged && !self.process.alone {
                    self.process.doubt(time, traits, self.world.wide);
                } else {
                    let tentative = tentative && self.process.alone;
                    if traits.has(Traits::ALWAYS) {
                        self.process.sure.enter(time, tentative);
                    }
                    if self.world.wide {
                        self.process.wide.enter(time, tentative);
                    }
                }
            }
        }
        lane.stack.push(Frame { enter: time, path, region, traits, judged, ..Frame::EMPTY });
    }

    #[inline(never)]
    fn leave(&mut self, time: u64, region: RegionRef) {
        self.unfold();
        while self.location.stack.last().is_some_and(|frame| frame.setting) {
            self.close(time);
        }
        match self.location.stack.last() {
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
        if number(attributes, self.world.attributes.cut) != Some(1) {
            return;
        }
        self.location.cut.any = true;
        let call = self.location.stack.iter().rev().find(|frame| !frame.setting);
        let Some(frame) = call else { return };
        if frame.region != region || !frame.judged {
            return;
        }
        let operation = self.world.roles.get(region).meaning.map(|meaning| meaning.operation);
        let together = matches!(
            operation,
            Some(Operation::Allocate | Operation::Reallocate | Operation::Deallocate)
        );
        let cut = &mut self.location.cut;
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

    /// Makes the call of this region the innermost one, if it is open at all.
    #[cold]
    #[inline(never)]
    fn unwind(&mut self, time: u64, region: RegionRef) -> bool {
        self.location.damage.unmatched += 1;
        if !self.location.stack.iter().any(|frame| frame.region == region) {
            return false;
        }
        while self.location.stack.last().is_some_and(|frame| frame.region != region) {
            self.close(time);
        }
        true
    }

    /// Ends the innermost call.
    #[inline(always)]
    pub(crate) fn close(&mut self, time: u64) {
        let lane = &mut *self.location;
        let Some(frame) = lane.stack.pop() else { return };
        let length = time - frame.enter;
        lane.paths.visit(frame.path, length.saturating_sub(frame.inside));
        if let Some(above) = lane.stack.last_mut() {
            above.inside += length;
        }
        if !frame.traits.has(Traits::CALL) {
            return;
        }
        if frame.judged
            && !frame.issued
            && !self.process.alone
            && frame.traits.has(Traits::ONE_SIDED)
        {
            self.process.settle(frame.enter, frame.traits, false);
        }
        if frame.traits.has(Traits::ALWAYS) {
            self.process.sure.leave(time);
        }
        if self.world.wide && frame.traits.has(Traits::SERVES) {
            self.process.wide.leave(time);
        }
        if let Some((kind, target)) = frame.first {
            let to = self.world.parties.party(target);
            if let Some(cell) = self.matrix.cell(self.row, to, kind) {
                cell.time += length;
            }
        }
        if !frame.judged {
            // Calls of other layers outside of judged calls have accounts of their own.
            if lane.judged == 0 {
                let sort = Sort::function(frame.region.0, 0, Distance::None, 0);
                lane.paths.charge(frame.path, sort, length.saturating_sub(frame.inside));
            }
            return;
        }
        lane.judged = 0;
        let account = self.charge(length, frame.path, frame.region, frame.traits);
        if frame.traits.has(Traits::ROWS) {
            self.location.paths.synchronise(frame.traits, account, (frame.enter, time), frame.path);
        } else if frame.issued {
            self.follow(&frame, account, time);
        }
        if !self.location.arrivals.is_empty() {
            self.arrive(account, time);
        }
        let lane = &mut *self.location;
        let mut frame = frame;
        if frame.done > 0 && frame.traits.has(Traits::TOGETHER) {
            // In a collective all members are present: imbalance is not a wait for progress.
            let rest = lane.done.len().saturating_sub(frame.done as usize);
            lane.done.truncate(rest);
            frame.done = 0;
        }
        if frame.notes > 0 || frame.traits.has(Traits::ENDS) {
            self.judge(time, frame, account);
        } else if frame.done > 0 {
            self.ask((frame.enter, time), account, frame.done);
        }
    }

    /// Checks whether the operation of a call that has ended is in a row with others.
    #[inline(never)]
    fn follow(&mut self, frame: &Frame, account: Account, time: u64) {
        let target = frame.first.map(|it| it.1).filter(|it| *it != self.process.index);
        if let Some(target) = target.filter(|_| frame.traits.has(Traits::ONE_SIDED)) {
            let blocking = self.location.moved.complete;
            self.location.paths.follow(account, (frame.enter, time), target, blocking);
        }
    }

    /// Adds the time of a judged call to the account of the calls that it is compared with.
    #[inline(always)]
    fn charge(&mut self, length: u64, path: Path, region: RegionRef, traits: Traits) -> Account {
        let moved = &mut self.location.moved;
        if traits.has(Traits::COMPLETES) {
            moved.bytes = moved.bytes.max(std::mem::take(&mut self.process.moved));
        }
        let sort = moved.sort(region.0, traits);
        self.location.paths.charge(path, sort, length)
    }

    /// Returns the distance to a process.
    #[inline(always)]
    pub(crate) fn distance(&self, process: u32) -> Distance {
        let near = self.world.system.node(process) == self.process.node;
        match near {
            true if process == self.process.index => Distance::Itself,
            true => Distance::Node,
            false => Distance::Far,
        }
    }

    /// Asks the targets of the operations that a call completed. `done` is their number at the end of the lane's list.
    #[inline(always)]
    pub(crate) fn ask(&mut self, when: (u64, u64), account: Account, done: u32) {
        let lane = &mut *self.location;
        let from = lane.done.len().saturating_sub(done as usize);
        let done = lane.done.get(from..).unwrap_or_default();
        let mut questions = Questions { asks: &mut self.mail.asks, ones: &mut self.mail.ones };
        progress::ask(self.process, lane.number, account, when, done, &mut questions);
        lane.done.truncate(from);
    }

    /// Ends a call that must be judged for more than single operations.
    #[inline(never)]
    fn judge(&mut self, time: u64, mut frame: Frame, account: Account) {
        let layer = self.world.roles.get(frame.region).layer();
        if !frame.traits.has(Traits::COLLECTIVE) {
            frame.done += self.implied(frame);
        }
        if frame.traits.has(Traits::TESTS) {
            self.tested(time, frame, account);
        }
        let lane = &mut *self.location;
        let from = lane.notes.len().saturating_sub(frame.notes as usize);
        let notes: Vec<Note> = lane.notes.drain(from..).collect();
        let (location, enter, leave) = (lane.number, frame.enter, time);
        let (mut locks, mut released): (Vec<(LockKey, bool)>, _) = (Vec::new(), leave);
        let mut receives: Vec<Receive> = Vec::new();
        let mut sends: Vec<Started> = Vec::new();
        let (mut first, mut changed) = (None, None);
        for note in notes {
            match note {
                Note::Lock(key, exclusive, taken) => {
                    if taken == Taken::AtLeave {
                        let what = What::Acquire { asked: enter, time, exclusive };
                        let process = self.process.index;
                        let letter = LockLetter { key, process, what };
                        self.mail.locks.send(key.home(self.world), letter);
                    }
                    if let Taken::Before(time) = taken {
                        released = time;
                    }
                    if !locks.contains(&(key, exclusive)) {
                        locks.push((key, exclusive));
                    }
                }
                Note::Change(offset) if frame.traits.has(Traits::TESTS) => changed = Some(offset),
                Note::Change(offset) => {
                    let wait = FlagWait { location, account, enter, leave, offset, polls: None };
                    self.process.signals.wait(wait);
                }
                Note::First(key, exclusive, target) => first = Some((key, exclusive, target)),
                Note::Receive(receive) => receives.push(receive),
                Note::Touch(window, target) => {
                    self.process.touched.insert((window, target), time);
                }
                // A call that completes operations may have waited for these, and not for the receiver of a message
                // that the library buffers.
                Note::Send(it) if frame.done == 0 || it.bytes > MOST_KEPT => sends.push(it),
                Note::Send(_) => {}
            }
        }
        // Waits for messages and locks come before waits for progress of targets.
        let claimed = !receives.is_empty() || first.is_some();
        if !receives.is_empty() || !sends.is_empty() {
            receives.sort_by_key(|it| it.posted);
            let run = self.location.polls.as_mut().filter(|run| run.last.leave == leave);
            let run = run.filter(|_| frame.traits.has(Traits::TESTS));
            let polls = run.map(|run| self.process.loops.expect(run));
            let waiter = Waiter { location, account, enter, leave, polls };
            let after = self.after_messages(waiter, &frame, &receives, &sends);
            if after.is_some() {
                frame.done = 0;
            }
            self.process.messages.end(waiter, &receives, &sends, after);
        }
        if let Some(offset) = changed
            && let Some(run) = self.location.polls.as_mut().filter(|run| run.is_loop)
        {
            let (polls, enter) = (Some(self.process.loops.expect(run)), run.begin);
            run.tests_memory = false;
            self.process.signals.wait(FlagWait { location, account, enter, leave, offset, polls });
        }
        if let Some((key, exclusive, target)) = first {
            let until = leave;
            let waiting = Waiting { location, account, enter, leave, until, exclusive };
            let (what, process) = (What::Wait(waiting), self.process.index);
            self.mail.locks.send(key.home(self.world), LockLetter { key, process, what });
            let class = Class::first(layer);
            let done = vec![Done { target, start: enter, class, known: Known::default() }];
            let needed = Needed { done, ..Needed::default() };
            progress::ask_lock(self.process, (key, waiting), &needed, &mut self.mail.ones);
        }
        match *locks.as_slice() {
            [(key, exclusive)] => {
                let until = released;
                let waiting = Waiting { location, account, enter, leave, until, exclusive };
                let (what, process) = (What::Wait(waiting), self.process.index);
                self.mail.locks.send(key.home(self.world), LockLetter { key, process, what });
                let from = self.location.done.len().saturating_sub(frame.done as usize);
                let done: Vec<Done> = self.location.done.drain(from..).collect();
                let needed = self.needed(key, (enter, leave), layer, done);
                progress::ask_lock(self.process, (key, waiting), &needed, &mut self.mail.ones);
            }
            _ => {
                // Holds of several locks may overlap, and no owner knows them all.
                self.process.several_locks += u64::from(!locks.is_empty());
                if claimed {
                    let rest = self.location.done.len().saturating_sub(frame.done as usize);
                    self.location.done.truncate(rest);
                } else if frame.done > 0 {
                    self.ask((enter, leave), account, frame.done);
                }
            }
        }
    }

    /// Returns the number of a case if the rest of a call after its messages may be a wait for progress: of the targets
    /// of operations that it also completed, or of the partners of large messages.
    fn after_messages(
        &mut self,
        waiter: Waiter,
        frame: &Frame,
        receives: &[Receive],
        sends: &[Started],
    ) -> Option<u32> {
        let Waiter { location, account, enter, leave, .. } = waiter;
        // Synchronisation between partners and epochs of windows follow other rules.
        let apart = |it: &Receive| !matches!(it.context & APART, 0 | COLLECTIVES);
        if receives.iter().any(apart) {
            return None;
        }
        let mut sizes = receives.iter().map(|it| it.bytes).chain(sends.iter().map(|it| it.bytes));
        let large = sizes.any(|it| it > MOST_KEPT) && leave - enter <= LONGEST_MESSAGE;
        if frame.done == 0 && !large {
            return None;
        }
        let from = self.location.done.len().saturating_sub(frame.done as usize);
        let done = self.location.done.drain(from..).collect();
        Some(self.process.outside.put_after(location, account, (enter, leave), done))
    }

    /// Returns the processes that a call under a lock may have waited for: the targets of operations that it completed,
    /// or the owner of the lock. A lock on all processes may have to be granted by every process, at the latest when
    /// something is completed under it for the first time.
    fn needed(
        &mut self,
        key: LockKey,
        (enter, leave): (u64, u64),
        layer: Option<Layer>,
        mut done: Vec<Done>,
    ) -> Needed {
        let (class, known) = (Class::lock(layer), Known::default());
        let lock = |target| Done { target, start: enter, class, known };
        if key.owner != LockKey::ALL {
            if done.is_empty() {
                done.push(lock(key.owner));
            }
            return Needed { done, ..Needed::default() };
        }
        if layer != Some(Layer::Mpi) {
            self.process.ownerless += u64::from(done.is_empty());
            return Needed { done, ..Needed::default() };
        }
        let had = self.process.consent.contains(&key);
        if !done.is_empty() {
            self.process.consent.insert(key);
        }
        let mut perhaps = Vec::new();
        if !had && leave - enter >= LONG_LOCK {
            let window = self.world.system.window(RmaWinRef(key.window));
            let context = window.and_then(|(context, _)| self.world.system.context(context));
            perhaps = context.map_or(Vec::new(), |it| it.processes().map(lock).collect());
        }
        Needed { done, perhaps }
    }

    /// Completes all operations at a quiet for which other tools write no record. Returns their number.
    pub(crate) fn implied(&mut self, frame: Frame) -> u32 {
        let shmem = Some(Layer::Shmem);
        let implied = frame.traits.has(Traits::COMPLETES)
            && !frame.traits.has(Traits::STATED)
            && self.world.roles.get(frame.region).layer() == shmem;
        if !implied {
            return 0;
        }
        self.ops.clear();
        self.process.outstanding.take_all(None, self.ops);
        self.finish_ops()
    }

    /// Records that a call probed for a message, or tested whether something has happened.
    fn tested(&mut self, time: u64, frame: Frame, account: Account) {
        let meaning = self.world.roles.get(frame.region).meaning;
        if meaning.is_some_and(|meaning| meaning.operation == Operation::Probe) {
            let (location, enter) = (self.location.number, frame.enter);
            let probe = Probe { location, account, enter, leave: time };
            let before = self.location.probe.replace(probe);
            self.process.messages.unreceived += u64::from(before.is_some());
            return;
        }
        let Some(&above) = self.location.stack.last() else { return };
        let Frame { path, enter, .. } = frame;
        let (caller, inside) = (above.enter, above.inside);
        let test = Test { path, enter, leave: time, caller, inside };
        let paths = &mut self.location.paths;
        let (mut run, ended) = Run::after(self.location.polls.take(), test, |path, time| {
            paths.book(path, Quantity::PollingCalls, 1);
            paths.book(path, Quantity::PollingTime, time);
        });
        let operation = meaning.map(|meaning| meaning.operation);
        run.tests_memory = operation == Some(Operation::TestChange);
        if operation == Some(Operation::TestProbe) {
            run.probed = time;
        }
        self.location.polls = Some(run);
        if let Some(ended) = ended {
            self.process.loops.end(self.location.number, ended);
        }
    }

    /// Returns the context of a window.
    #[inline(always)]
    pub(crate) fn context(&mut self, win: RmaWinRef) -> Option<u32> {
        match self.location.window {
            Some((known, context, _)) if known == win.0 => Some(context),
            _ => {
                let found = self.world.system.window(win);
                match found {
                    Some((context, memory)) => {
                        self.location.window = Some((win.0, context, memory))
                    }
                    None => self.location.damage.undefined += 1,
                }
                found.map(|(context, _)| context)
            }
        }
    }

    /// Returns the memory of the window whose context was asked for last.
    #[inline(always)]
    pub(crate) fn memory(&self) -> u16 {
        self.location.window.map_or(u16::MAX, |(_, _, memory)| memory)
    }

    #[inline(always)]
    pub(crate) fn process(&mut self, context: u32, rank: Rank) -> Option<u32> {
        let ranks = &self.world.system.context(context)?.ranks;
        let process = ranks.process(rank.0, self.process.index);
        if process.is_none() {
            self.location.damage.undefined += 1;
        }
        process
    }

    #[inline(always)]
    fn operation(&mut self, issue: Issue, attributes: List<'_, Attribute>) {
        let signals = issue.kind != Kind::Get && self.world.roles.any_wait_change();
        if !self.fold_issue(issue, signals) {
            self.issue_apart(attributes);
        }
    }

    #[cold]
    #[inline(never)]
    fn issue_apart(&mut self, attributes: List<'_, Attribute>) {
        let issue = self.leaf.issue;
        self.issue(&issue, attributes);
    }

    #[inline(always)]
    fn completion(&mut self, win: RmaWinRef, id: u64) {
        if !self.fold_complete(win.0, id) {
            self.unfold();
            self.complete(win.0, id);
        }
    }

    /// Counts an operation on a path, and the call with its time if it has ended. Returns the target, if it is defined,
    /// and the account of the path that was used last. The communication matrix covers one layer only: operations
    /// inside a judged call are part of its implementation.
    #[inline(always)]
    pub(crate) fn count(
        &mut self,
        path: Path,
        issue: &Issue,
        (call, time): (Option<u64>, u64),
        judged: bool,
    ) -> Option<(u32, u32)> {
        let Issue { kind, sent, received, .. } = *issue;
        let Some(context) = self.context(RmaWinRef(issue.window)) else {
            if let Some(length) = call {
                self.location.paths.visit(path, length);
            }
            return None;
        };
        let target = self.process(context, Rank(issue.remote));
        let count = match kind {
            Kind::Put => Quantity::Puts,
            Kind::Get => Quantity::Gets,
            _ => Quantity::Atomics,
        };
        let recent = self.location.paths.count(path, count, (sent, received), call);
        let to = self.world.parties.party(target?);
        if judged && let Some(cell) = self.matrix.cell(self.row, to, kind) {
            cell.operations += 1;
            cell.bytes += sent + received;
            cell.time += time;
        }
        target.map(|target| (target, recent))
    }

    #[inline(never)]
    pub(crate) fn issue(&mut self, issue: &Issue, attributes: List<'_, Attribute>) {
        let Issue { kind, window, id, sent, received, .. } = *issue;
        let me = self.process.index;
        let Some(&Frame { path, judged, traits, .. }) = self.location.stack.last() else { return };
        // Operations outside of any call are inside no judged call.
        let counts = judged || !traits.has(Traits::CALL);
        let Some((target, _)) = self.count(path, issue, (None, 0), counts) else { return };
        let far = self.distance(target);
        let Some(frame) = self.location.stack.last_mut() else { return };
        if frame.first.is_none() && counts {
            frame.first = Some((kind, target));
        }
        if !frame.judged {
            return;
        }
        let layer = self.world.roles.layer(frame.region);
        let moved = &mut self.location.moved;
        if moved.class.is_none() {
            let memory = self.location.window.map_or(u16::MAX, |(_, _, memory)| memory);
            moved.class = Some(accounts::class(layer, kind, memory));
        }
        moved.add(sent + received, far);
        self.process.moved = self.process.moved.saturating_add(sent + received);
        let itself = target == me;
        if frame.traits.has(Traits::TOUCHES) && !itself {
            frame.notes += 1;
            self.location.notes.push(Note::Touch(window, target));
            if !self.process.asked.is_empty() && self.process.acted.insert((window, target)) {
                let of = |owner| {
                    let key = LockKey { window, owner, lock: 0 };
                    self.process.asked.get(&key).map(|exclusive| (key, *exclusive))
                };
                let lock = of(target).or_else(|| of(LockKey::ALL));
                if let Some((key, exclusive)) =
                    lock.filter(|_| self.world.roles.get(frame.region).requests)
                {
                    frame.notes += 1;
                    self.location.notes.push(Note::First(key, exclusive, target));
                }
            }
        }
        if !frame.issued && frame.traits.has(Traits::ONE_SIDED) {
            self.process.sure_or_wide(frame, itself);
        }
        frame.issued = true;
        let start = frame.enter;
        let returns = issue.waits_for_target(layer);
        // Coarrays have events to wait for, which nothing else changes, unless the archive gives the address.
        let may_signal = layer != Some(Layer::Caf) || !attributes.is_empty();
        if (sent > 0 || kind == Kind::Atomic) && may_signal {
            self.signal(target, start, sent.max(1), attributes);
        }
        if !itself {
            self.process.outstanding.add(Op {
                serial: 0,
                id,
                location: self.location.number,
                window,
                target,
                start,
                class: Class::of(layer, kind, self.memory(), sent.max(received)),
                returns,
                learned: false,
            });
        }
    }

    /// Tells the target about an operation that may raise a flag.
    #[inline(never)]
    pub(crate) fn signal(
        &mut self,
        target: u32,
        begin: u64,
        bytes: u64,
        attributes: List<'_, Attribute>,
    ) {
        if !self.world.roles.any_wait_change() {
            return;
        }
        let known = &self.world.attributes;
        let origin = self.process.index;
        let mut send = |offset, bytes| {
            let signal = Signal { target, origin, begin, offset, bytes };
            self.mail.signals.send(target, signal);
        };
        if let Some(offset) = number(attributes, known.signal) {
            send(Some(offset), 8);
        }
        match number(attributes, known.offset) {
            Some(offset) => send(Some(offset), bytes),
            None => send(None, bytes),
        }
    }

    #[inline(never)]
    pub(crate) fn complete(&mut self, window: u32, id: u64) {
        let Some(&Frame { judged, traits, .. }) = self.location.stack.last() else { return };
        if !judged {
            return;
        }
        self.location.moved.complete = true;
        while let Some(op) = self.process.outstanding.take(self.location.number, window, id) {
            if op.returns {
                let known = self.process.outstanding.known(&op);
                let Op { target, start, class, .. } = op;
                self.location.done.push(Done { target, start, class, known });
                if let Some(frame) = self.location.stack.last_mut() {
                    frame.done += 1;
                }
            } else {
                self.process.outstanding.last(op);
            }
            // Other tools may give many operations one number.
            if traits.has(Traits::STATED)
                || self.process.alone && self.process.outstanding.are_distinct()
            {
                return;
            }
        }
    }

    /// Records that operations are complete at their targets.
    pub(crate) fn complete_remote(&mut self, win: RmaWinRef, id: MatchingId) {
        let Some(&frame) = self.location.stack.last() else { return };
        if !frame.judged {
            return;
        }
        self.ops.clear();
        let layer = self.world.roles.get(frame.region).layer();
        let mpi = layer == Some(Layer::Mpi);
        if layer.is_some_and(is_numbered) {
            self.process.outstanding.take_numbered(self.location.number, win.0, id.0, self.ops);
        } else {
            self.process.outstanding.take_all(Some(win.0), self.ops);
        }
        let count = self.finish_ops();
        if let Some(frame) = self.location.stack.last_mut() {
            frame.done += count;
        }
        if mpi && !frame.traits.has(Traits::TOGETHER) && !self.process.asked.is_empty() {
            self.flush(win.0);
        }
    }

    /// Records that the open call completed operations under locks that may have been acquired only now.
    fn flush(&mut self, window: u32) {
        let Some(frame) = self.location.stack.last() else { return };
        let from = self.location.done.len().saturating_sub(frame.done as usize);
        let done = self.location.done.get(from..).unwrap_or_default();
        let is = |key: &LockKey| {
            let acted = || done.iter().any(|it| it.target == key.owner);
            key.window == window && (key.owner == LockKey::ALL || acted())
        };
        let asked = self.process.asked.iter().filter(|(key, _)| is(key));
        let mut keys: Vec<(LockKey, bool)> = asked.map(|(key, it)| (*key, *it)).collect();
        keys.sort_unstable();
        for (key, exclusive) in keys {
            self.note(Note::Lock(key, exclusive, Taken::Said));
        }
    }

    fn finish_ops(&mut self) -> u32 {
        let outstanding = &mut self.process.outstanding;
        let done = self.ops.drain(..).map(|op| {
            let known = outstanding.known(&op);
            let Op { target, start, class, .. } = op;
            Done { target, start, class, known }
        });
        let before = self.location.done.len();
        self.location.done.extend(done);
        (self.location.done.len() - before) as u32
    }
}

impl Process {
    /// Records that a call begins, at one of several threads, which may turn out to act on its own process.
    #[cold]
    #[inline(never)]
    fn doubt(&mut self, time: u64, traits: Traits, wide: bool) {
        if traits.has(Traits::ALWAYS) {
            self.sure.doubt(time);
        }
        if wide {
            self.wide.doubt(time);
        }
    }

    /// Records whether that call acts on its own process.
    #[cold]
    #[inline(never)]
    fn settle(&mut self, enter: u64, traits: Traits, itself: bool) {
        let settle = |regions: &mut Regions| match itself {
            true => drop(regions.distrust(enter)),
            false => regions.trust(enter),
        };
        if traits.has(Traits::ALWAYS) {
            settle(&mut self.sure);
        }
        if traits.has(Traits::SERVES) {
            settle(&mut self.wide);
        }
    }

    /// Records whether the open call acts on another process, as an operation in it shows.
    #[inline(always)]
    fn sure_or_wide(&mut self, frame: &mut Frame, itself: bool) {
        let always = frame.traits.has(Traits::ALWAYS);
        if !frame.traits.has(Traits::SERVES) {
            return;
        }
        if !self.alone {
            self.settle(frame.enter, frame.traits, itself);
            if itself {
                frame.traits = frame.traits.without(Traits::SERVES);
            }
            return;
        }
        if itself {
            if always {
                self.sure.retract();
            }
            self.wide.retract();
            frame.traits = frame.traits.without(Traits::SERVES);
        } else {
            if always {
                self.sure.confirm();
            }
            self.wide.confirm();
        }
    }
}
