//! Wait for progress: an operation waits until its target enters a call that serves it.
//!
//! | | |
//! |---|---|
//! | asks | the target: when were you inside progress regions while the operation was open? |
//! | answers | from the target's regions, as soon as what it has read decides it |
//! | books | at the origin, on the path of the call that waited |
//!
//! With one target, started at s, waited for in [e, x]: regions of the target that end after s + L and begin before
//! x, where those that are close together are one visit. There is no wait if the last visit begins at or before e. The
//! lower bound is the time from e to the first visit, the upper bound all time from e to the last visit in which the
//! target was in no region. With several targets, the lower bound is the part of [e, latest begin(r)] that no r
//! covers, r being the first region of each target; regions that ended by e do not count. The upper bound is the time in
//! which any of the targets was away before its last visit. A target that came and went tells when it was away
//! ([`Away`]), unless that was more than [`MOST_GAPS`] times.
//!
//! Calls that may or may not progress give two answers; the smaller and the larger are the bounds. An operation
//! that no region could have served is evidence about its class, and waits are kept until their class is judged:
//! see [`evidence`](crate::patterns::evidence).
//!
//! # Requests in flight
//! A region that ends before a request can have arrived does not serve it. The time that a request takes comes from the
//! fastest of all messages, so some are slower and none is much faster. An operation that such a region touched is no
//! evidence.
//!
//! # Collectives
//! A collective may complete operations on targets outside of its group. Until the last member of the group has come,
//! the process waits for that member. Only then are the targets asked, and only up to the time at which the first of
//! the group left: everything was complete before anyone could leave.
//!
//! # Messages
//! A large message moves only while both sides are in calls that progress, unless the network moves it alone. A wait
//! for a late sender or receiver comes first; the partner is asked about the rest of the call like the target of an
//! operation. If both knew of the message before the call was entered, the partner may have done its part by then, so
//! there is no lower bound. A call that also completes one-sided operations asks their targets about the same rest.
//!
//! # Why an operation asks at the end of each window
//! A target forgets its regions when a window ends, except those since the enter of a call that has yet to ask. An
//! operation that is still in flight then asks once for what has been decided. If a region has served it, the origin
//! remembers that region. If not, only later regions can serve it, and they will be there when it asks again.

use std::collections::BTreeMap;

use crate::archive::world::World;
use crate::engine::accounts::Account;
use crate::engine::locking::{LockKey, Waiting};
use crate::engine::outstanding::{Class, Done, Known};
use crate::engine::process::Process;
use crate::engine::regions::{Found, Request, Span, Visits};
use crate::engine::transport::{Message, Outbox};
use crate::patterns::evidence::{Found as Evidence, Key};
use crate::patterns::messages::After;
use crate::patterns::several::{Gaps, MOST_GAPS, uncovered};

/// Asks the only target of a call whether an operation waited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) start: u64,
    pub(crate) enter: u64,
    pub(crate) leave: u64,
    pub(crate) target: u32,
    pub(crate) location: u32,
    pub(crate) account: Account,
    pub(crate) class: Class,
}

impl Message for Ask {}

/// Asks one of several targets of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskOne {
    start: u64,
    enter: u64,
    leave: u64,
    target: u32,
    process: u32,
    case: u32,
    index: u32,
    class: Class,
    known: Known,
}

impl Message for AskOne {}

/// Tells, beside the answer to [`AskOne`], when the target was away before its last visit, if it came and went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Away {
    pub(crate) process: u32,
    case: u32,
    index: u32,
    /// True if calls count that may or may not progress operations of others.
    wide: bool,
    gap: Span,
}

impl Message for Away {}

/// Answer to [`AskOne`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    pub(crate) process: u32,
    case: u32,
    index: u32,
    sure: Visits,
    wide: Visits,
    /// True if the target shares cores with other processes because its node has too few.
    crowded: bool,
}

impl Message for Served {}

/// Answer to [`Ask`], if the operation waited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    pub(crate) location: u32,
    account: Account,
    target: u32,
    class: Class,
    /// Time at which the call began to wait.
    enter: u64,
    low: u64,
    high: u64,
    /// Time that the call has left beside other waits.
    left: u64,
    /// Unlikelihood of an end so soon after the target came, or 0; see [`aligned`].
    aligned: u32,
    /// True for several targets; `target` is the one that came last.
    multi: bool,
}

impl Message for Waited {}

/// Asks, for an operation in flight, for the region that has served it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    pub(crate) start: u64,
    pub(crate) serial: u64,
    pub(crate) target: u32,
    pub(crate) process: u32,
    pub(crate) window: u32,
    pub(crate) known: Known,
}

impl Message for Watch {}

/// Answer to [`Watch`], if there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    serial: u64,
    target: u32,
    pub(crate) process: u32,
    window: u32,
    known: Known,
}

impl Message for Seen {}

/// A call with several targets, until all have answered.
#[derive(Debug)]
pub(crate) struct Case {
    location: u32,
    account: Account,
    enter: u64,
    leave: u64,
    /// Length of the call in nanoseconds.
    length: u64,
    missing: u32,
    targets: Vec<Target>,
    /// Intervals in which targets that came and went were away: index of the target, and true if calls count that may
    /// or may not progress operations of others.
    away: Vec<(u32, bool, Span)>,
    /// The lock, if the call acquired one. Contention comes first.
    lock: Option<(LockKey, Waiting)>,
}

#[derive(Clone, Copy, Debug)]
struct Target {
    process: u32,
    class: Class,
    /// True if the call cannot have ended without this target.
    certain: bool,
    sure: Visits,
    wide: Visits,
    crowded: bool,
}

impl Target {
    /// Creates a target that has not answered.
    fn new(process: u32, class: Class, certain: bool) -> Self {
        let (sure, wide) = (Visits::NONE, Visits::NONE);
        Self { process, class, certain, sure, wide, crowded: false }
    }
}

impl Case {
    /// Returns the enter of the call if it acquired a lock.
    pub(crate) fn locked(&self) -> Option<u64> {
        self.lock.map(|_| self.enter)
    }
}

/// A collective that completed operations outside of its group.
#[derive(Debug)]
struct Behind {
    location: u32,
    /// Account and length of the call, once it has ended.
    account: Account,
    length: u64,
    enter: u64,
    end: u64,
    done: Vec<Done>,
    /// Time at which the last of the group came, and time at which the first left.
    between: Option<(u64, u64)>,
}

/// Calls that wait for others before they can wait for the targets of operations that they completed, by number:
/// collectives that completed operations outside of their groups, and calls that completed messages as well.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    next: u32,
    open: BTreeMap<u32, Behind>,
}

impl Outside {
    /// Adds a collective that ended, and returns the number of its case.
    pub(crate) fn put(&mut self, location: u32, (enter, end): (u64, u64), done: Vec<Done>) -> u32 {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let (account, length) = (Account::NONE, 0);
        let behind = Behind { location, account, length, enter, end, done, between: None };
        self.open.insert(number, behind);
        number
    }

    /// Adds a call that completed messages and ended, and returns the number of its case.
    pub(crate) fn put_after(
        &mut self,
        location: u32,
        account: Account,
        when: (u64, u64),
        done: Vec<Done>,
    ) -> u32 {
        let number = self.put(location, when, done);
        self.leave(number, account, when.1 - when.0);
        number
    }

    /// Records that the messages of a call are judged.
    pub(crate) fn learn_after(&mut self, after: After) {
        let After { number, until, partners } = after;
        if let Some(it) = self.open.get_mut(&number) {
            it.done.extend(partners);
            it.length = it.end - until;
            it.between = Some((until, it.end));
        }
    }

    /// Records that the call of a collective ended.
    pub(crate) fn leave(&mut self, number: u32, account: Account, length: u64) {
        if let Some(it) = self.open.get_mut(&number) {
            (it.account, it.length) = (account, length);
        }
    }

    /// Records when the last of the group came and when the first left, as the owner of the collective tells.
    pub(crate) fn learn(&mut self, number: u32, last: u64, first_end: u64) {
        if let Some(it) = self.open.get_mut(&number) {
            it.between = Some((last, first_end.min(it.end)));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the earliest time from which regions are still needed: the start of an operation that has yet to ask for
    /// the region that served it, or the enter of its collective.
    pub(crate) fn start(&self) -> u64 {
        let of = |it: &Behind| {
            let unknown = |it: &&Done| it.known.sure.is_none() || it.known.wide.is_none();
            it.done.iter().filter(unknown).map(|it| it.start).fold(it.enter, u64::min)
        };
        self.open.values().map(of).min().unwrap_or(u64::MAX)
    }
}

/// Asks the targets of operations that collectives completed outside of their groups.
pub(crate) fn ask_outside(actor: &mut Process, questions: &mut Questions<'_>) {
    let known = |_: &u32, it: &mut Behind| it.between.is_some();
    let ready: Vec<Behind> =
        actor.outside.open.extract_if(.., known).map(|(_, behind)| behind).collect();
    for Behind { location, account, length, done, between, .. } in ready {
        if let Some(when) = between.filter(|it| it.0 < it.1 && !done.is_empty()) {
            ask_many(actor, location, (account, length), when, &done, questions);
        }
    }
}

/// Result of a case.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Judged {
    /// The call waited for progress.
    Wait(Waited),
    /// The call waited for progress, as far as it did not wait for the lock.
    Locked(Waited, LockKey, Waiting),
}

/// Outboxes for questions.
pub(crate) struct Questions<'a> {
    pub(crate) asks: &'a mut Outbox<Ask>,
    pub(crate) ones: &'a mut Outbox<AskOne>,
}

/// Asks the targets of the operations that a call completed, when the call has ended.
#[inline(always)]
pub(crate) fn ask(
    actor: &mut Process,
    location: u32,
    account: Account,
    (enter, leave): (u64, u64),
    done: &[Done],
    questions: &mut Questions<'_>,
) {
    if let [only] = *done
        && only.known == Known::default()
    {
        let Done { target, start, class, .. } = only;
        questions.asks.send(target, Ask { start, enter, leave, target, location, account, class });
        return;
    }
    let call = (account, leave - enter);
    ask_many(actor, location, call, (enter, leave), done, questions);
}

#[inline(never)]
fn ask_many(
    actor: &mut Process,
    location: u32,
    (account, length): (Account, u64),
    (enter, leave): (u64, u64),
    done: &[Done],
    questions: &mut Questions<'_>,
) {
    // Of several operations to one target, the last one decides.
    let mut last: BTreeMap<u32, Done> = BTreeMap::new();
    for one in done {
        let known = last.entry(one.target).or_insert(*one);
        if known.start <= one.start {
            *known = *one;
        }
    }
    if let Some((_, &only)) = last.first_key_value()
        && last.len() == 1
        && only.known == Known::default()
        && length == leave - enter
    {
        let Done { target, start, class, .. } = only;
        questions.asks.send(target, Ask { start, enter, leave, target, location, account, class });
        return;
    }
    let number = actor.cases.next();
    let (mut targets, mut missing) = (Vec::with_capacity(last.len()), 0);
    for (index, one) in (0..).zip(last.values()) {
        let Done { target, start, class, known } = *one;
        targets.push(Target::new(target, class, true));
        missing += 1;
        let (process, case) = (actor.index, number);
        let ask = AskOne { start, enter, leave, target, process, case, index, class, known };
        questions.ones.send(target, ask);
    }
    let lock = None;
    actor.cases.put(
        number,
        Case { location, account, enter, leave, length, missing, targets, away: Vec::new(), lock },
    );
}

/// Processes that a call under a lock may have waited for.
#[derive(Debug, Default)]
pub(crate) struct Needed {
    /// Operations that the call completed, or the lock itself.
    pub(crate) done: Vec<Done>,
    /// All other processes that may have had to grant the lock. They widen the bounds.
    pub(crate) perhaps: Vec<Done>,
}

/// Asks the targets of a call that acquired a lock or completed operations under one, when the call has ended.
pub(crate) fn ask_lock(
    actor: &mut Process,
    (key, waiting): (LockKey, Waiting),
    needed: &Needed,
    ones: &mut Outbox<AskOne>,
) {
    let Waiting { location, account, enter, leave, .. } = waiting;
    // Of several operations to one target, the last one decides.
    let mut last: BTreeMap<u32, (Done, bool)> = BTreeMap::new();
    let certain = needed.done.iter().map(|one| (*one, true));
    for (one, certain) in certain.chain(needed.perhaps.iter().map(|one| (*one, false))) {
        let known = last.entry(one.target).or_insert((one, certain));
        if certain && known.0.start <= one.start {
            *known = (one, certain);
        }
    }
    last.remove(&actor.index);
    if last.is_empty() {
        return;
    }
    let (case, process) = (actor.cases.next(), actor.index);
    let mut targets = Vec::with_capacity(last.len());
    for (index, (one, certain)) in (0..).zip(last.into_values()) {
        let Done { target, start, class, known } = one;
        targets.push(Target::new(target, class, certain));
        ones.send(
            target,
            AskOne { start, enter, leave, target, process, case, index, class, known },
        );
    }
    let (missing, length) = (targets.len() as u32, leave - enter);
    let lock = Some((key, waiting));
    let away = Vec::new();
    let lock = Case { location, account, enter, leave, length, missing, targets, away, lock };
    actor.cases.put(case, lock);
}

/// Returns the visits of a target during an operation: by the regions that always progress, and by all that may.
#[inline]
fn look_up(
    world: &World,
    actor: &Process,
    (start, request): (u64, Request),
    known: Known,
    horizon: u64,
) -> Outcome<(Visits, Visits)> {
    let Some(sure) = actor.sure.visits(known.sure, request, horizon) else {
        return Outcome::Pending;
    };
    let wide = match world.wide {
        true => actor.wide.visits(known.wide, request, horizon),
        false => Some(sure),
    };
    let Some(wide) = wide else { return Outcome::Pending };
    let served = if sure.first == Span::EARLY { sure.last } else { sure.first.begin };
    if actor.is_blind(start, request.leave, served) {
        return Outcome::Unanswerable;
    }
    Outcome::Answered((sure, wide))
}

/// Describes an operation of a process from the point of view of its target.
#[inline]
fn request(world: &World, (from, to): (u32, u32), start: u64, when: (u64, u64)) -> Request {
    let latency = world.latency(from, to);
    let (enter, leave) = when;
    let after = start.saturating_add(latency);
    Request { after, enter, leave, apart: latency.max(APART) }
}

/// Returns whether an operation lies entirely inside an interval in which its target was in no region, with the time of
/// a request to spare on both sides; `None` if that is not decided yet. A target never forgets its last region, so one
/// that ended shortly before can be found.
#[inline]
fn alone(
    world: &World,
    actor: &Process,
    (start, leave, origin): (u64, u64, u32),
    horizon: u64,
) -> Option<bool> {
    let spare = world.latency(origin, actor.index);
    let (from, until) = (start.saturating_sub(spare), leave.saturating_add(spare));
    let regions = if world.wide { &actor.wide } else { &actor.sure };
    match regions.first(from, until, horizon) {
        Found::Region(span) => Some(span.begin >= until),
        Found::Nothing => Some(true),
        Found::Unknown => None,
    }
}

/// Returns the lower and upper bound of the wait of a call for one target, given the visits of the target.
#[inline]
fn bounds(visits: &Visits, enter: u64) -> (u64, u64) {
    if visits.first == Span::NONE {
        return (0, 0);
    }
    if visits.count > OUTLIVED && visits.gaps >= LONG {
        return (visits.gaps, visits.gaps);
    }
    (visits.first.begin.saturating_sub(enter), visits.gaps)
}

/// Returns the lower and upper bound of the wait of a call for one target, and the unlikelihood of an end so soon after
/// the target came.
#[inline]
fn wait(
    sure: &Visits,
    wide: &Visits,
    (enter, leave): (u64, u64),
    crowded: bool,
) -> (u64, u64, u32) {
    let (one, two) = (bounds(sure, enter), bounds(wide, enter));
    let aligned = match sure.gaps > 0 && !(crowded && sure.gap < SLICE) {
        true => aligned(leave.saturating_sub(sure.last), sure.gap),
        false => 0,
    };
    (one.0.min(two.0), one.1.max(two.1), aligned)
}

/// Regions of a target that are closer together than this in nanoseconds, or than the time of a request, are one visit.
pub(crate) const APART: u64 = 10_000;
/// An operation that outlived more visits than this was served by none of them, if it waited for at least [`LONG`].
const OUTLIVED: u32 = 10;
const LONG: u64 = 50_000_000;
/// If processes share cores, a call of the target can yield the core to another process, whose operations then end by
/// chance just when the target comes. A target that was away for longer than this had lost the core meanwhile.
const SLICE: u64 = 20_000_000;
/// Ratio by which the absence of a target before a visit must exceed the time from the visit to the end of the
/// operation.
const MUCH: u64 = 19;

/// Returns the unlikelihood of an end by chance. An operation that ended within `late` of the begin of a visit, before
/// which its target was away for `gap`, ended so soon by chance with the probability u = late / (late + gap). The
/// result is ln(1 / u) in thousandths if u is at most 0.05, and 0 otherwise.
#[inline]
fn aligned(late: u64, gap: u64) -> u32 {
    if late == 0 || gap / MUCH < late {
        return 0;
    }
    logarithm(late, gap)
}

/// Returns the natural logarithm of (late + gap) / late in thousandths. It uses integers, so that results are equal on
/// all machines.
#[inline(never)]
fn logarithm(late: u64, gap: u64) -> u32 {
    /// ln 2 in parts of 1,000,000,000.
    const LN2: u128 = 693_147_181;
    const BITS: u32 = 24;
    let ratio = ((u128::from(late) + u128::from(gap)) << 32) / u128::from(late.max(1));
    let whole = ratio.max(1).ilog2();
    let mut log = u128::from(whole.saturating_sub(32));
    let mut part = (ratio << (127 - whole)) >> 64;
    for _ in 0..BITS {
        part = (part * part) >> 63;
        log <<= 1;
        if part >> 64 != 0 {
            part >>= 1;
            log |= 1;
        }
    }
    u32::try_from((log * LN2 / 1_000_000) >> BITS).unwrap_or(u32::MAX)
}

/// State of a question at its target.
pub(crate) enum Outcome<T> {
    /// The question is answered.
    Answered(T),
    /// The question has to wait for more events.
    Pending,
    /// The events that would answer the question are not in the archive.
    Unanswerable,
}

/// Answers the question about one operation and its only target.
#[inline]
pub(crate) fn answer(
    world: &World,
    actor: &Process,
    ask: &Ask,
    origin: u32,
    horizon: u64,
    evidence: &mut Evidence,
) -> Outcome<Option<Waited>> {
    let Ask { start, enter, leave, target, location, account, class } = *ask;
    let request = request(world, (origin, target), start, (enter, leave));
    let known = Known::default();
    let (sure, wide) = match look_up(world, actor, (request.after, request), known, horizon) {
        Outcome::Answered(visits) => visits,
        Outcome::Pending => return Outcome::Pending,
        Outcome::Unanswerable => return Outcome::Unanswerable,
    };
    if wide.first == Span::NONE {
        return match class.can_prove().then(|| alone(world, actor, (start, leave, origin), horizon))
        {
            Some(None) => Outcome::Pending,
            Some(Some(true)) => {
                evidence.add(origin, target, class);
                Outcome::Answered(None)
            }
            _ => Outcome::Answered(None),
        };
    }
    let crowded = world.system.is_crowded(target);
    let (low, high, aligned) = wait(&sure, &wide, (enter, leave), crowded);
    Outcome::Answered((high > 0).then_some(Waited {
        location,
        account,
        target,
        class,
        enter,
        low,
        high,
        left: leave - enter,
        aligned,
        multi: false,
    }))
}

/// Answers the question for one of several targets.
pub(crate) fn answer_one(
    world: &World,
    actor: &Process,
    ask: &AskOne,
    horizon: u64,
    evidence: &mut Evidence,
    away: &mut Outbox<Away>,
) -> Outcome<Served> {
    let AskOne { start, enter, leave, target, process, case, index, class, known } = *ask;
    let request = request(world, (process, target), start, (enter, leave));
    let (sure, wide) = match look_up(world, actor, (request.after, request), known, horizon) {
        Outcome::Answered(visits) => visits,
        Outcome::Pending => return Outcome::Pending,
        Outcome::Unanswerable => return Outcome::Unanswerable,
    };
    if wide.first == Span::NONE && class.can_prove() {
        match alone(world, actor, (start, leave, process), horizon) {
            None => return Outcome::Pending,
            Some(true) => evidence.add(process, target, class),
            Some(false) => {}
        }
    }
    let sides = [(false, &actor.sure, &sure, known.sure), (true, &actor.wide, &wide, known.wide)];
    for (side, regions, visits, known) in sides {
        let regions = if world.wide { regions } else { &actor.sure };
        if visits.comes_and_goes(enter) {
            let gaps = regions.gaps(known, request, visits.last).take(MOST_GAPS + 1);
            for gap in gaps {
                away.send(process, Away { process, case, index, wide: side, gap });
            }
        }
    }
    let crowded = world.system.is_crowded(target);
    Outcome::Answered(Served { process, case, index, sure, wide, crowded })
}

impl AskOne {
    pub(crate) fn target(&self) -> u32 {
        self.target
    }

    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Returns the answer for a target whose events are missing: it does not count.
    pub(crate) fn unanswered(&self) -> Served {
        let Self { process, case, index, .. } = *self;
        let nothing = Visits::NONE;
        Served { process, case, index, sure: nothing, wide: nothing, crowded: false }
    }
}

/// Returns the region that has served an operation in flight, if there is one.
pub(crate) fn watch(world: &World, actor: &Process, watch: &Watch, horizon: u64) -> Option<Seen> {
    let Watch { start, serial, target, process, window, known } = *watch;
    let after = start.saturating_add(world.latency(process, target));
    // The region that is known already may be forgotten here.
    let sure = known.sure.or_else(|| actor.sure.ended(after, horizon));
    if sure.is_some_and(|sure| actor.is_blind(after, u64::MAX, sure.begin)) {
        return None;
    }
    let wide = match world.wide {
        true => known.wide.or_else(|| actor.wide.ended(after, horizon)),
        false => sure,
    };
    let found = Known { sure, wide };
    (found != known).then_some(Seen { serial, target, process, window, known: found })
}

/// Records at the origin which region has served an operation in flight.
pub(crate) fn learn(actor: &mut Process, seen: &Seen) {
    actor.outstanding.learn(seen.serial, seen.window, seen.target, seen.known);
}

/// Records at the origin when one of several targets was away.
pub(crate) fn note_away(actor: &mut Process, away: &Away) {
    if let Some(case) = actor.cases.get_mut(away.case) {
        case.away.push((away.index, away.wide, away.gap));
    }
}

/// Records one of several answers at the origin. The last one yields the result.
pub(crate) fn gather(actor: &mut Process, served: &Served) -> Option<Judged> {
    let case = actor.cases.get_mut(served.case)?;
    let target = case.targets.get_mut(served.index as usize)?;
    (target.sure, target.wide, target.crowded) = (served.sure, served.wide, served.crowded);
    case.missing = case.missing.saturating_sub(1);
    if case.missing > 0 {
        return None;
    }
    let case = actor.cases.take(served.case)?;
    let waited = judge(&case)?;
    Some(match case.lock {
        None => Judged::Wait(waited),
        Some((key, waiting)) => Judged::Locked(waited, key, waiting),
    })
}

/// Applies the rules for one and for several targets.
fn judge(case: &Case) -> Option<Waited> {
    let (enter, leave) = (case.enter, case.leave);
    let several = |certain: bool| {
        let asked = |it: &&(u32, &Target)| !certain || it.1.certain;
        let targets: Vec<(u32, &Target)> = (0..).zip(&case.targets).collect();
        let bounds = |wide: bool| {
            let of = |it: &Target| if wide { it.wide } else { it.sure };
            let visits: Vec<Visits> = targets.iter().filter(asked).map(|it| of(it.1)).collect();
            let low = uncovered(enter, leave, visits.iter().map(|it| it.first));
            let mut gaps = Gaps::default();
            for (index, target) in targets.iter().filter(asked) {
                let own = case.away.iter().filter(|it| (it.0, it.1) == (*index, wide));
                gaps.add(enter, &of(target), own.map(|it| it.2));
            }
            (low, gaps.time(enter).max(low))
        };
        let (sure, wide) = (bounds(false), bounds(true));
        (sure.0.min(wide.0), sure.1.max(wide.1))
    };
    let certain: Vec<&Target> = case.targets.iter().filter(|it| it.certain).collect();
    let (mut low, mut high, mut aligned) = match certain.as_slice() {
        [only] => wait(&only.sure, &only.wide, (enter, leave), only.crowded),
        _ => {
            let (low, high) = several(true);
            (low, high, 0)
        }
    };
    let all: Vec<&Target> = case.targets.iter().collect();
    let mut blamed = &certain;
    if certain.len() < all.len() {
        let wider = several(false);
        if certain.is_empty() {
            low = wider.0;
        }
        // The end of the call tells something only if no other target can have delayed it for longer.
        if wider.1 > high {
            (high, aligned, blamed) = (wider.1, 0, &all);
        }
    }
    if high == 0 {
        return None;
    }
    // The target that came last stands for all of them. Others may have come again after it.
    let came = |it: &&&Target| it.sure.first.begin < leave;
    let candidates = blamed.iter().filter(came);
    let order = |it: &&&Target| (it.sure.first.begin, it.sure.last, it.process);
    let latest = candidates.max_by_key(order).or(blamed.first())?;
    Some(Waited {
        location: case.location,
        account: case.account,
        target: latest.process,
        class: latest.class,
        enter,
        low,
        high,
        left: case.length,
        aligned,
        multi: blamed.len() > 1,
    })
}

impl Waited {
    /// Returns the part of the wait that is not contention, or `None` if nothing is left. `left` gives the part of a
    /// time from the begin of the wait that others did not hold the lock, `free` that part of the whole call. A call in
    /// which others held the lock may have ended because of them. `held` is the time in the call during which they held
    /// it, of which `booked` is a wait of the call already.
    pub(crate) fn rest(
        self,
        left: impl Fn(u64) -> u64,
        free: u64,
        (held, booked): (u64, u64),
    ) -> Option<Self> {
        let high = self.high.min(free);
        let low = left(self.low).min(high);
        let aligned = if held > 0 { 0 } else { self.aligned };
        let left = self.left.saturating_sub(booked);
        (high > 0).then_some(Self { low, high, left, aligned, ..self })
    }
}

/// Keeps a wait at the origin until its class is judged, and takes it out of the time that its call has left.
pub(crate) fn keep(actor: &mut Process, waited: &Waited) {
    let Waited { location, account, target, class, .. } = *waited;
    let Waited { enter, low, high, left, aligned, multi, .. } = *waited;
    let key = Key { location, account, target, class, multi };
    actor.ledger.wait(key, enter, (low, high), left, aligned);
    let first = actor.locations.first().map_or(0, |lane| lane.number);
    if let Some(lane) = actor.locations.get_mut(location.wrapping_sub(first) as usize) {
        lane.paths.take_wait(account, high, left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_floating_point() {
        for late in [1, 7, 1_000, 123_456, 1_000_000_007] {
            for times in [19, 20, 99, 100, 1_000, 54_321, 1_000_000] {
                let gap = late * times + times % 13;
                let real = ((late + gap) as f64 / late as f64).ln() * 1e3;
                let found = f64::from(aligned(late, gap));
                assert!(
                    real - found > -1e-3 && real - found < 1.001,
                    "{late} {gap} {real} {found}"
                );
            }
            assert_eq!(aligned(late, late * 19 - 1), 0);
        }
        assert_eq!(aligned(0, 10), 0);
        assert!(aligned(1, u64::MAX) > 44_000);
    }
}
