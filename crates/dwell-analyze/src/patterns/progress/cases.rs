//! Calls of a process that wait for several targets or under a lock, until all targets have answered.

use std::collections::BTreeMap;

use dwell_log::class::Class;
use dwell_log::edge::Edge;
use dwell_log::quantity::Quantity;
use dwell_model::waits::Wait;
use dwell_trace::crowds::Room;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::locks::LockKey;
use dwell_trace::time::{Duration, Time};

use crate::engine::accounts::Account;
use crate::engine::message::Outbox;
use crate::engine::outstanding::{Done, Known};
use crate::engine::process::Process;
use crate::engine::regions::{Span, Visits};
use crate::patterns::progress::answers::{came_last, wait};
use crate::patterns::progress::empty::Access;
use crate::patterns::progress::evidence::{Key, Ledger};
use crate::patterns::progress::held::{Chains, Completing, HELD, HeldCall, Hold};
use crate::patterns::progress::questions::{Ask, AskOne, Away, Questions, Rule, Served};
use crate::patterns::progress::serving::Serving;
use crate::patterns::progress::several::{Gaps, arrival};
use crate::protocol::locks::{LockedCall, Waiting};
use crate::protocol::progress_wait::Waited;

/// Waits for progress of a process.
#[derive(Debug, Default)]
pub(super) struct Origin {
    pub(super) cases: Cases,
    /// Windows that calls without operations may ask about.
    pub(super) access: Access,
    /// Waits that are not judged yet.
    pub(super) ledger: Ledger,
    /// Long calls that completed operations, for others whom they may hold.
    pub(super) completing: Completing,
    /// Calls that others may hold.
    pub(super) chains: Chains,
    /// Long calls, and operations of others that they may have served.
    pub(super) serving: Serving,
}

/// A call that completed operations.
pub(super) struct CompletingCall {
    pub(super) location: LocationNumber,
    pub(super) account: Account,
    /// Length of the call, and the part of it that it may have waited for its targets.
    pub(super) length: Duration,
    pub(super) when: Span,
    /// True if processes other than its targets may hold the call.
    pub(super) may_be_held: bool,
}

/// A call with several targets, until all have answered.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) location: LocationNumber,
    pub(super) account: Account,
    pub(super) enter: Time,
    pub(super) leave: Time,
    /// Length of the call in nanoseconds.
    pub(super) length: Duration,
    pub(super) missing: u32,
    pub(super) targets: Vec<Target>,
    /// Intervals in which targets with several visits were away: index of the target, and the calls of the target
    /// that count.
    pub(super) away: Vec<(u32, Rule, Span)>,
    /// The lock, if the call acquired one. Contention has precedence.
    pub(super) lock: Option<(LockKey, Waiting)>,
    /// True if processes other than its targets may hold the call.
    pub(super) holds: bool,
}

/// A wait for progress, its edges if it has several, and the lock if the call waited for one as well.
type Gathered = (Waited, Vec<Edge>, Option<(LockKey, Waiting)>);

/// Need of a call for one of its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Need {
    /// The call may have ended without the target.
    Perhaps,
    /// The call cannot have ended without the target.
    Certain,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) process: ProcessNumber,
    pub(super) class: Class,
    /// Need of the call for this target.
    pub(super) need: Need,
    pub(super) certain: Visits,
    pub(super) possible: Visits,
    pub(super) room: Room,
    /// Locations of the target that began its first region, by each rule, and its last visit.
    pub(super) came: [LocationNumber; 3],
}

impl Target {
    /// Creates a target that has not answered.
    pub(super) fn new(process: ProcessNumber, class: Class, need: Need) -> Self {
        let (certain, possible) = (Visits::NONE, Visits::NONE);
        let came = [LocationNumber(0); 3];
        Self { process, class, need, certain, possible, room: Room::Enough, came }
    }
}

impl Case {
    /// Returns the enter of the call if it acquired a lock.
    pub(super) fn locked(&self) -> Option<Time> {
        self.lock.map(|_| self.enter)
    }
}

impl Origin {
    /// Returns the time since which facts about others must be kept, because they may hold calls of the process.
    pub(super) fn may_ask_since(&self) -> Time {
        let long = |it: &&Case| it.holds && it.length >= HELD;
        let cases = self.cases.iter().filter(long).map(|it| it.enter).min();
        cases.unwrap_or(Time::END).min(self.chains.since())
    }

    /// Asks the targets of the operations that a call completed, or its only target if there is only one.
    #[inline(never)]
    pub(super) fn ask_many(
        &mut self,
        process: ProcessNumber,
        call: &CompletingCall,
        done: &[Done],
        out: &mut Questions,
    ) {
        let CompletingCall { location, account, length, when, may_be_held: holds } = *call;
        let Span { begin: enter, end: leave } = when;
        if holds {
            self.completing.add(when, done.iter().map(|one| one.target));
        }
        // Of several operations to one target, the last one decides.
        let mut last: BTreeMap<ProcessNumber, Done> = BTreeMap::new();
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
            && !(holds && length >= HELD)
        {
            let Done { target, start, class, .. } = only;
            let ask = Ask { start, enter, leave, target, location, account, class };
            out.asks.send(target, ask);
            return;
        }
        let case = self.cases.next();
        let (mut targets, mut missing) = (Vec::with_capacity(last.len()), 0);
        for (index, one) in (0..).zip(last.values()) {
            let Done { target, start, class, known, .. } = *one;
            targets.push(Target::new(target, class, Need::Certain));
            missing += 1;
            let ask = AskOne { start, enter, leave, target, process, case, index, class, known };
            out.ones.send(target, ask);
        }
        let (away, lock) = (Vec::new(), None);
        let call =
            Case { location, account, enter, leave, length, missing, targets, away, lock, holds };
        self.cases.put(case, call);
    }

    /// Asks the targets of a call that acquired a lock or completed operations under one, when the call has ended.
    pub(super) fn ask_lock(
        &mut self,
        process: ProcessNumber,
        call: LockedCall,
        ones: &mut Outbox<AskOne>,
    ) {
        let LockedCall { key, waiting, done, perhaps } = call;
        let Waiting { location, account, enter, leave, .. } = waiting;
        // Of several operations to one target, the last one decides.
        let mut last: BTreeMap<ProcessNumber, (Done, Need)> = BTreeMap::new();
        let certain = done.iter().map(|one| (*one, Need::Certain));
        for (one, need) in certain.chain(perhaps.iter().map(|one| (*one, Need::Perhaps))) {
            let known = last.entry(one.target).or_insert((one, need));
            if need == Need::Certain && known.0.start <= one.start {
                *known = (one, need);
            }
        }
        last.remove(&process);
        if last.is_empty() {
            return;
        }
        let case = self.cases.next();
        let mut targets = Vec::with_capacity(last.len());
        for (index, (one, need)) in (0..).zip(last.into_values()) {
            let Done { target, start, class, known, .. } = one;
            targets.push(Target::new(target, class, need));
            let ask = AskOne { start, enter, leave, target, process, case, index, class, known };
            ones.send(target, ask);
        }
        let (missing, length) = (targets.len() as u32, leave - enter);
        let (away, lock, holds) = (Vec::new(), Some((key, waiting)), false);
        let call =
            Case { location, account, enter, leave, length, missing, targets, away, lock, holds };
        self.cases.put(case, call);
    }

    /// Records when one of several targets was away.
    pub(super) fn note_away(&mut self, away: &Away) {
        if let Some(case) = self.cases.get_mut(away.case) {
            case.away.push((away.index, away.rule, away.gap));
        }
    }

    /// Records one of several answers. The last one yields the wait. If the call went on after it, others may hold it, who
    /// are to be asked.
    pub(super) fn gather(&mut self, served: &Served, holds: &mut Vec<Hold>) -> Option<Gathered> {
        let case = self.cases.get_mut(served.case)?;
        let target = case.targets.get_mut(served.index as usize)?;
        let Served { certain, possible, room, came, .. } = *served;
        (target.certain, target.possible, target.room, target.came) =
            (certain, possible, room, came);
        case.missing = case.missing.saturating_sub(1);
        if case.missing > 0 {
            return None;
        }
        let case = self.cases.take(served.case)?;
        let found = judge(&case);
        let came =
            case.targets.iter().filter_map(|it| arrival(&it.certain, case.enter, case.leave));
        let since = came.max().unwrap_or(case.enter);
        let high = found.as_ref().map_or(Duration::ZERO, |it| it.0.high);
        if let Some(last) = case.targets.last()
            && case.holds
            && case.leave.since(since) >= HELD
        {
            let Case { location, account, enter, leave, length, .. } = case;
            let (class, when) = (last.class, Span { begin: enter, end: leave });
            let (left, goes_on) = (length.saturating_sub(high), found.is_some());
            let call = HeldCall { location, account, class, when, since, left, goes_on };
            let targets = case.targets.iter().map(|it| it.process).collect();
            self.chains.begin(served.process, call, targets, holds);
        }
        let (waited, edges) = found?;
        Some((waited, edges, case.lock))
    }

    /// Keeps a wait until its class is judged, and takes it out of the time that its call has left. `several` are its
    /// edges if it has more than one.
    pub(super) fn keep(
        &mut self,
        process: &mut Process,
        waited: &Waited,
        several: Vec<Edge>,
        edges: Option<&mut Vec<Edge>>,
    ) {
        if let Some(edges) = edges {
            match several.is_empty() {
                true => edges.push(waited.edge(what(waited), waited.low, waited.high)),
                false => edges.extend(several),
            }
        }
        let Waited { location, account, target, class, .. } = *waited;
        let Waited { high, left, multi, .. } = *waited;
        let key = Key { location, account, target, class, multi };
        self.ledger.wait(key, waited);
        if let Some(location) = process.location_mut(location) {
            location.paths.take_wait(account, high, left);
        }
    }
}

/// Open cases by number. Numbers of closed cases are used again.
#[derive(Debug, Default)]
pub(super) struct Cases {
    pub(super) list: Vec<Option<Case>>,
    pub(super) free: Vec<u32>,
}

impl Cases {
    /// Returns the number that the next case will get.
    pub(super) fn next(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.list.len() as u32)
    }

    pub(super) fn put(&mut self, number: u32, case: Case) {
        self.free.pop();
        match self.list.get_mut(number as usize) {
            Some(place) => *place = Some(case),
            None => self.list.push(Some(case)),
        }
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Case> {
        self.list.get_mut(number as usize)?.as_mut()
    }

    pub(super) fn take(&mut self, number: u32) -> Option<Case> {
        let case = self.list.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(case)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Case> {
        self.list.iter().flatten()
    }
}

/// Applies the rules for one and for several targets. Returns the wait, and its edges if there are several.
fn judge(case: &Case) -> Option<(Waited, Vec<Edge>)> {
    let (enter, leave) = (case.enter, case.leave);
    let several = |least: Need| {
        let asked = |it: &&(u32, &Target)| it.1.need >= least;
        let targets: Vec<(u32, &Target)> = (0..).zip(&case.targets).collect();
        let bounds = |rule: Rule| {
            let of = |it: &Target| match rule {
                Rule::Certain => it.certain,
                Rule::Possible => it.possible,
            };
            let visits: Vec<Visits> = targets.iter().filter(asked).map(|it| of(it.1)).collect();
            let latest = visits.iter().filter_map(|it| arrival(it, enter, leave)).max();
            let low = latest.map_or(Duration::ZERO, |latest| latest - enter);
            let mut gaps = Gaps::default();
            for (index, target) in targets.iter().filter(asked) {
                let own = case.away.iter().filter(|it| (it.0, it.1) == (*index, rule));
                gaps.add(enter, &of(target), own.map(|it| it.2));
            }
            (low, gaps.time(enter).max(low))
        };
        let (certain, possible) = (bounds(Rule::Certain), bounds(Rule::Possible));
        (certain.0.min(possible.0), certain.1.max(possible.1))
    };
    let certain: Vec<&Target> = case.targets.iter().filter(|it| it.need == Need::Certain).collect();
    let (mut low, mut high, mut aligned) = match certain.as_slice() {
        [only] => wait(&only.certain, &only.possible, Span { begin: enter, end: leave }, only.room),
        _ => {
            let (low, high) = several(Need::Certain);
            (low, high, 0)
        }
    };
    let all: Vec<&Target> = case.targets.iter().collect();
    let mut blamed = &certain;
    if certain.len() < all.len() {
        let wider = several(Need::Perhaps);
        if certain.is_empty() {
            low = wider.0;
        }
        // The end of the call is significant only if no other target can have delayed it for longer.
        if wider.1 > high {
            (high, aligned, blamed) = (wider.1, 0, &all);
        }
    }
    if high == Duration::ZERO {
        return None;
    }
    // The target that arrived last represents all of them. Others may have come again after it.
    let came = |it: &&&Target| it.certain.first.begin < leave;
    let candidates = blamed.iter().filter(came);
    let order = |it: &&&Target| (it.certain.first.begin, it.certain.last, it.process);
    let latest = candidates.max_by_key(order).or(blamed.first())?;
    let came_last = |it: &&Target| came_last(&it.certain, &it.possible, enter);
    let last = blamed.iter().max_by_key(|it| (came_last(it), it.process))?;
    let ([.., culprit], until) = (last.came, came_last(last));
    if blamed.len() > 1 && last.process == latest.process {
        let mut when = Span { begin: enter, end: leave };
        if latest.class.needs_arrivals() {
            // One of many is likely to arrive at any time.
            let Duration(late) = leave.since(last.certain.last);
            let late = Duration(late.saturating_mul(blamed.len() as u64));
            when.end = last.certain.last.later_by(late);
        }
        aligned = wait(&last.certain, &last.possible, when, last.room).2;
    }
    let waited = Waited {
        location: case.location,
        account: case.account,
        target: latest.process,
        class: latest.class,
        enter,
        until,
        culprit,
        low,
        high,
        left: case.length,
        aligned,
        multi: blamed.len() > 1,
        goes_on: false,
    };
    // The owner of a lock takes contention out of the whole, whoever was waited for when.
    let edges = match waited.multi && case.lock.is_none() {
        true => edges(case, &waited),
        false => Vec::new(),
    };
    Some((waited, edges))
}

/// Returns the quantity as which a wait is booked.
fn what(waited: &Waited) -> Quantity {
    Quantity::Wait(match waited.multi {
        true => Wait::WaitForProgressMulti,
        false => Wait::WaitForProgress,
    })
}

/// Returns the edges of a wait for several targets: the lower bound with the target that came last, and the rest of the
/// upper bound with the one whose last visit began last.
fn edges(case: &Case, waited: &Waited) -> Vec<Edge> {
    let Waited { enter, until, culprit, low, high, .. } = *waited;
    let came = |rule: Rule| {
        let of = |it: &Target| {
            let [certain, possible, _] = it.came;
            let (visits, location) = match rule {
                Rule::Certain => (&it.certain, certain),
                Rule::Possible => (&it.possible, possible),
            };
            Some((arrival(visits, enter, case.leave)?, location))
        };
        // Of several that came at once, the first.
        let late = |it: &(Time, LocationNumber)| (it.0, std::cmp::Reverse(it.1));
        case.targets.iter().filter_map(of).max_by_key(late)
    };
    let edge = |from, to, culprit, low, high| Edge {
        culprit,
        from,
        to,
        ..waited.edge(what(waited), low, high)
    };
    let mut edges = Vec::new();
    if let Some((to, culprit)) = came(Rule::Certain).min(came(Rule::Possible))
        && low > Duration::ZERO
    {
        edges.push(edge(enter, to, culprit, low, low));
    }
    if high > low {
        edges.push(edge(enter, until, culprit, Duration::ZERO, high - low));
    }
    edges
}
