//! Fast path for calls that make no other call, which are most calls and nearly all that communicate.
//!
//! Between its enter and its leave such a call issues at most one operation and completes at most one. The player
//! remembers what is needed of them and books everything when the call ends, without a frame on the stack and without
//! an entry among the outstanding operations. Anything else turns the call into an ordinary one ([`Player::unfold`]),
//! as if it had been one from the start. The end of a window does so too, so the rest of the crate knows only frames.

use dwell_log::class::Class;
use dwell_log::needs::Need;
use dwell_trace::ids::ProcessNumber;
use dwell_trace::roles::Traits;
use dwell_trace::time::{Duration, Time};
use otf2::id::{CallingContextRef, Rank, RegionRef, RmaWinRef};

use crate::engine::accounts::{Account, Distance, Layout, OperationEnd, Sort, size};
use crate::engine::call::CompletedCall;
use crate::engine::exchange::Asking;
use crate::engine::location::Frame;
use crate::engine::matrix::Kind;
use crate::engine::outstanding::{Done, Op, SHORTEST_AT_ORIGIN, SHORTEST_EMPTY};
use crate::engine::paths::Path;
use crate::engine::pattern::Pattern;
use crate::engine::player::Player;
use crate::engine::regions::Span;

/// A call that has made no other call so far. It changes with every event, so it is flat and written field by field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    act: Act,
    traits: Traits,
    region: RegionRef,
    site: CallingContextRef,
    enter: Time,
    /// The operation that the call issued. If it only completed one, just the window and the number are valid.
    pub(crate) issue: Issue,
}

/// Events in the call so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// No such call is open.
    Absent,
    Nothing,
    /// Nothing, in a call that completes operations at their targets.
    Fence,
    /// The call issued an operation.
    Issued,
    /// The call issued an operation and completed it.
    Done,
    /// The call completed an operation of an earlier call.
    Completed,
}

/// An operation that a call issued.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Issue {
    pub(crate) kind: Kind,
    /// True for operations that bring data from the target.
    pub(crate) returns: bool,
    pub(crate) window: RmaWinRef,
    pub(crate) remote: Rank,
    pub(crate) id: u64,
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

impl Leaf {
    /// Stands for no open call.
    pub(crate) const ABSENT: Self = Self {
        act: Act::Absent,
        traits: Traits(0),
        region: RegionRef::UNDEFINED,
        site: CallingContextRef::UNDEFINED,
        enter: Time::BEGIN,
        issue: Issue {
            kind: Kind::Get,
            returns: false,
            window: RmaWinRef::UNDEFINED,
            remote: Rank::UNDEFINED,
            id: 0,
            sent: 0,
            received: 0,
        },
    };
}

/// Traits of calls that must be judged for more than an operation, or whose records follow other rules.
const ORDINARY: Traits = Traits(
    Traits::TESTS.0
        | Traits::TOGETHER.0
        | Traits::LOCK.0
        | Traits::WAIT_CHANGE.0
        | Traits::TOUCHES.0
        | Traits::STRIDED.0,
);

impl<P: Pattern> Player<'_, P> {
    /// Begins a call. Threads of one process share facts in the order of time, so their calls are ordinary ones.
    #[inline(always)]
    pub(crate) fn enter(&mut self, time: Time, region: RegionRef, site: CallingContextRef) {
        self.unfold();
        let traits = self.here.world.roles.traits(region);
        if self.here.process.alone && !traits.has(ORDINARY) {
            let leaf = &mut self.leaf;
            leaf.act = if traits.has(Traits::COMPLETES) { Act::Fence } else { Act::Nothing };
            leaf.enter = time;
            leaf.region = region;
            leaf.site = site;
            leaf.traits = self.here.process.serving(traits);
        } else {
            self.open(time, region, site);
        }
    }

    /// Records that an operation is issued. Returns `true` if nothing more is to be done now. Otherwise the operation
    /// is in the leaf for [`Player::issue`]: it is built field by field in one place and never passes through the
    /// stack.
    #[inline(always)]
    pub(crate) fn fold_issue(&mut self, issue: Issue, ordinary: bool) -> bool {
        let fits = self.leaf.act == Act::Nothing && !ordinary;
        if !fits {
            self.unfold();
        }
        let leaf = &mut self.leaf;
        let to = &mut leaf.issue;
        to.kind = issue.kind;
        to.returns = issue.returns;
        to.window = issue.window;
        to.remote = issue.remote;
        to.id = issue.id;
        to.sent = issue.sent;
        to.received = issue.received;
        if fits {
            leaf.act = Act::Issued;
        }
        fits
    }

    /// Records that an operation is complete at its origin. Returns `true` if nothing more is to be done now.
    #[inline(always)]
    pub(crate) fn fold_complete(&mut self, window: RmaWinRef, id: u64) -> bool {
        let leaf = &mut self.leaf;
        // If several operations may have one number, a completion concerns all of them.
        let stated = leaf.traits.has(Traits::STATED);
        let outstanding = &self.here.process.outstanding;
        match leaf.act {
            Act::Nothing if stated || outstanding.are_distinct() => {
                leaf.act = Act::Completed;
                leaf.issue.window = window;
                leaf.issue.id = id;
                true
            }
            Act::Issued
                if leaf.issue.window == window
                    && leaf.issue.id == id
                    && (stated || outstanding.is_new(id)) =>
            {
                leaf.act = Act::Done;
                true
            }
            _ => false,
        }
    }

    /// Turns the open leaf into an ordinary call on the stack.
    #[inline(always)]
    pub(crate) fn unfold(&mut self) {
        if self.leaf.act != Act::Absent {
            self.unfold_leaf();
        }
    }

    #[inline(never)]
    fn unfold_leaf(&mut self) {
        let leaf = std::mem::replace(&mut self.leaf, Leaf::ABSENT);
        self.open(leaf.enter, leaf.region, leaf.site);
        let issue = leaf.issue;
        match leaf.act {
            Act::Absent | Act::Nothing | Act::Fence => {}
            Act::Issued => self.issue(&issue, otf2::List::default()),
            Act::Done => {
                self.issue(&issue, otf2::List::default());
                self.complete(issue.window, issue.id);
            }
            Act::Completed => self.complete(issue.window, issue.id),
        }
    }

    /// Ends a call. If it is the open leaf, everything about it is booked here.
    #[inline(always)]
    pub(crate) fn fold_leave(&mut self, time: Time, region: RegionRef) -> bool {
        if self.leaf.act == Act::Absent || self.leaf.region != region {
            return false;
        }
        if self.leaf.act == Act::Fence && self.completes_more(time) {
            return false;
        }
        self.book_leaf(time);
        self.leaf.act = Act::Absent;
        true
    }

    #[inline(always)]
    fn book_leaf(&mut self, time: Time) {
        let Leaf { enter, region, site, traits, .. } = self.leaf;
        let length = time - enter;
        let location = &mut *self.here.location;
        let parent = match location.stack.last_mut() {
            Some(above) => {
                above.inside += length;
                above.path
            }
            None => Path::TOP,
        };
        let path = location.paths.call(&self.here.world.contexts, parent, region, site);
        let judged = traits.has(Traits::CALL) && self.is_judged(region, traits);
        if judged {
            self.here.location.in_calls += length;
        }
        if self.here.location.log.is_some() {
            self.log_leaf(time, path, judged);
        }
        let itself = match self.leaf.act {
            Act::Issued | Act::Done => self.book_issue(time, path, judged),
            Act::Fence => {
                self.here.location.paths.visit(path, length);
                self.book_fence(time, path, judged);
                false
            }
            Act::Absent | Act::Nothing | Act::Completed => {
                self.here.location.paths.visit(path, length);
                self.book_other(time, path, judged);
                false
            }
        };
        if traits.has(Traits::SERVES) && !(itself && traits.has(Traits::ONE_SIDED)) {
            if traits.has(Traits::ALWAYS) {
                self.here.process.certain.call(enter, time);
            }
            if self.here.world.any_conditional {
                self.here.process.possible.call(enter, time);
            }
        }
    }

    /// Adds a call to the segments of the location.
    #[inline(never)]
    fn log_leaf(&mut self, time: Time, path: Path, judged: bool) {
        let location = &mut *self.here.location;
        let enter = self.leaf.enter;
        if judged {
            if let Some(log) = &mut location.log {
                log.call(enter, time, path, &location.paths);
            }
        } else {
            location.log_region(enter, location.paths.parent(path));
            location.log_region(time, path);
        }
    }

    /// Books a call that issued an operation. Returns `true` if it was judged and acted on its own process.
    #[inline(always)]
    fn book_issue(&mut self, time: Time, path: Path, judged: bool) -> bool {
        let (enter, issue) = (self.leaf.enter, self.leaf.issue);
        let length = if self.leaf.traits.has(Traits::CALL) { time - enter } else { Duration::ZERO };
        let counts = judged || !self.leaf.traits.has(Traits::CALL);
        let counted = self.count(path, &issue, Some(time - enter), counts.then_some(length));
        let Some((target, recent)) = counted.filter(|_| judged) else {
            self.book_nothing(time, path, judged);
            return false;
        };
        let Issue { kind, sent, received, .. } = issue;
        let layer = self.here.world.roles.layer(self.leaf.region);
        let end = OperationEnd::of(self.leaf.act == Act::Done);
        let (bytes, far) = (sent + received, self.here.distance(target));
        self.here.process.moved = self.here.process.moved.saturating_add(bytes);
        let moved = sent.max(received);
        let class = Class::of(layer, kind, self.here.memory(), moved);
        if !self.leaf.traits.has(Traits::ONE_SIDED) {
            return self.book_issue_apart(time, path, (class, moved), target);
        }
        // Only atomics both send and receive.
        let size = if kind == Kind::Atomic { size(bytes) } else { class.size() };
        // Strided calls are ordinary ones.
        let sort = Sort::operation(class, size, far, end, Layout::Contiguous);
        if target == self.here.process.index {
            self.here.location.paths.charge(path, sort, time - enter);
            return true;
        }
        let (paths, when) = (&mut self.here.location.paths, Span { begin: enter, end: time });
        let account = paths.charge_operation((path, recent), sort, when, target, end);
        self.issue_leaf(account, time, (class, moved), target);
        false
    }

    /// Books a call that has no records.
    #[inline(always)]
    fn book_nothing(&mut self, time: Time, path: Path, judged: bool) {
        let account = self.charge_function(time, path);
        if judged && self.leaf.traits.has(Traits::ROWS) {
            self.synchronise(account, time, path);
        }
    }

    /// Returns `true` if the call completes operations that are in flight although no record says so, or may have waited
    /// although it completes none.
    #[inline(always)]
    fn completes_more(&self, time: Time) -> bool {
        let Leaf { region, traits, enter, .. } = self.leaf;
        time - enter >= SHORTEST_EMPTY
            || !self.here.process.outstanding.is_empty() && self.implies_completion(region, traits)
    }

    /// Books a call that completes operations at their targets, if there were none to complete.
    #[inline(never)]
    fn book_fence(&mut self, time: Time, path: Path, judged: bool) {
        if !judged {
            return self.book_nothing(time, path, judged);
        }
        let Leaf { enter, region, traits, .. } = self.leaf;
        let bytes = std::mem::take(&mut self.here.process.moved);
        let sort = Sort::function(region, bytes, Distance::None, 0);
        let account = self.here.location.paths.charge(path, sort, time - enter);
        if traits.has(Traits::ROWS) {
            self.synchronise(account, time, path);
        }
    }

    /// Books a call that issued no operation.
    #[inline(always)]
    fn book_other(&mut self, time: Time, path: Path, judged: bool) {
        if self.leaf.act != Act::Completed {
            return self.book_nothing(time, path, judged);
        }
        let Leaf { enter, issue: Issue { window, id, .. }, .. } = self.leaf;
        let account = self.charge_function(time, path);
        if !judged {
            return;
        }
        if self.leaf.traits.has(Traits::ROWS) {
            self.synchronise(account, time, path);
        }
        let op = self.here.process.outstanding.take(self.here.location.number, window, id);
        let Some(op) = op else { return };
        let when = Span { begin: enter, end: time };
        if !op.returns {
            if when.length() >= SHORTEST_AT_ORIGIN {
                let done = self.here.process.outstanding.done_at_origin(&op);
                self.ask_done(account, when, &done);
            }
            self.here.process.outstanding.last(op);
        } else if op.learned {
            let known = self.here.process.outstanding.known(&op);
            self.ask_done(account, when, &op.done(known));
        } else {
            let Op { target, start, class, bytes, .. } = op;
            self.ask_one(account, when, (target, start), (class, bytes));
        }
    }

    /// Adds the time of the call to the account of its function, if it is a runtime call and not part of a judged one.
    #[inline(always)]
    fn charge_function(&mut self, time: Time, path: Path) -> Account {
        if !self.leaf.traits.has(Traits::CALL) || self.here.location.judged != 0 {
            return Account::NONE;
        }
        let sort = Sort::function(self.leaf.region, 0, Distance::None, 0);
        self.here.location.paths.charge(path, sort, time - self.leaf.enter)
    }

    /// Asks the target of the operation that the call issued, or keeps the operation as outstanding.
    #[inline(always)]
    fn issue_leaf(
        &mut self,
        account: Account,
        time: Time,
        (class, moved): (Class, u64),
        target: ProcessNumber,
    ) {
        let bytes = u32::try_from(moved).unwrap_or(u32::MAX);
        let Leaf { enter, act, issue: Issue { returns, window, id, .. }, .. } = self.leaf;
        let complete = act == Act::Done;
        let when = Span { begin: enter, end: time };
        if complete && returns {
            return self.ask_one(account, when, (target, enter), (class, bytes));
        }
        if complete && when.length() >= SHORTEST_AT_ORIGIN {
            self.ask_one(account, when, (target, enter), (class.at_origin(), bytes));
        }
        let learned = false;
        let (serial, start, location) = (0, enter, self.here.location.number);
        let op = Op { serial, id, location, window, target, start, class, bytes, returns, learned };
        match complete {
            true => self.here.process.outstanding.add_last(op),
            false => self.here.process.outstanding.add(op),
        }
    }

    /// Books a call that issued an operation although its function is not a one-sided one.
    #[cold]
    #[inline(never)]
    fn book_issue_apart(
        &mut self,
        time: Time,
        path: Path,
        (class, moved): (Class, u64),
        target: ProcessNumber,
    ) -> bool {
        let Leaf { enter, traits, region, issue: Issue { sent, received, .. }, .. } = self.leaf;
        let sort = Sort::function(region, sent + received, self.here.distance(target), 0);
        let account = self.here.location.paths.charge(path, sort, time - enter);
        if traits.has(Traits::ROWS) {
            self.synchronise(account, time, path);
        }
        if target == self.here.process.index {
            return true;
        }
        self.issue_leaf(account, time, (class, moved), target);
        false
    }

    /// Ends rows of operations at the location.
    #[cold]
    #[inline(never)]
    fn synchronise(&mut self, account: Account, time: Time, path: Path) {
        let Leaf { traits, enter, .. } = self.leaf;
        self.here.location.paths.synchronise(
            traits,
            account,
            Span { begin: enter, end: time },
            path,
        );
    }

    #[inline(always)]
    fn ask_one(
        &mut self,
        account: Account,
        Span { begin: enter, end: leave }: Span,
        (target, start): (ProcessNumber, Time),
        (class, bytes): (Class, u32),
    ) {
        let (process, age) = (target, enter.since(start));
        let need = || Need::Target { process, class, bytes, age };
        self.here.location.last_call_needed(self.here.process.index, need);
        let location = self.here.location.number;
        let completes = self.leaf.traits.has(Traits::COMPLETES);
        let call = CompletedCall {
            process: self.here.process.index,
            location,
            account,
            enter,
            leave,
            target,
            start,
            class,
            completes,
        };
        self.patterns.on_complete(call, &mut Asking { own: self.own, shared: self.shared });
    }

    /// Judges a call that completed an operation of an earlier call, of which the region that served it may be known.
    #[inline(never)]
    fn ask_done(&mut self, account: Account, when: Span, done: &Done) {
        let list = match done.class.needs_arrivals() {
            true => &mut self.here.location.at_origin,
            false => &mut self.here.location.done,
        };
        list.push(*done);
        let Leaf { region, traits, .. } = self.leaf;
        let frame = Frame { enter: when.begin, region, traits, judged: true, ..Frame::EMPTY };
        self.judge(when, frame, account);
    }
}
