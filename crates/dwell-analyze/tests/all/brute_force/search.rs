//! Applies the rules as they are documented to everything at once: no windows, no questions, no order of arrival.

mod rules;

use std::collections::{BTreeMap, BTreeSet};

use dwell_analyze::Quantity;
use dwell_model::waits::Wait;

use super::trace::{Call, Record, Trace};

pub(crate) type Sums = BTreeMap<Quantity, u64>;

/// Begin and end of an interval.
type Stretch = (u64, u64);

/// Everything that is to be found in a trace.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Sums by location.
    pub(crate) sums: Vec<Sums>,
    /// Number of targets whose answer is not in the archive, and of calls for which nobody looks: barriers that
    /// completed operations on others.
    pub(crate) blind: u64,
    /// Number of collectives with missing members.
    pub(crate) partial: u64,
    /// Every stretch of a wait for one location.
    pub(crate) pieces: Vec<Piece>,
    /// Processes of the collectives in which all members wait for the last of them.
    pub(crate) among: BTreeMap<Piece, BTreeSet<usize>>,
    /// Sums of direct and propagated costs and of margins, which the comparison adds.
    pub(crate) costs: [u64; 3],
    /// Cases that the critical path has, which the comparison adds.
    pub(crate) path: super::critical::Seen,
    /// Process of each location.
    pub(crate) processes: Vec<usize>,
}

/// A stretch of a wait: who waited how for whom, from when to when, and both bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Piece {
    pub(crate) waiter: usize,
    pub(crate) what: Quantity,
    pub(crate) culprit: usize,
    pub(crate) when: Stretch,
    pub(crate) bounds: (u64, u64),
}

impl Found {
    pub(crate) fn of(trace: &Trace) -> Self {
        let sums = vec![Sums::new(); trace.locations.len()];
        let processes = trace.locations.iter().map(|it| it.process).collect();
        let mut found = Self { sums, processes, ..Self::default() };
        found.progress(trace);
        found.locks(trace);
        found.signals(trace);
        found.notifications(trace);
        found.partners(trace);
        found.messages(trace);
        found.collectives(trace);
        found
    }

    /// Adds a wait for one location as a whole.
    fn wait(&mut self, call: &Call, wait: Wait, culprit: &Call, until: u64) {
        let until = until.min(call.leave);
        let amount = until.saturating_sub(call.enter);
        self.add(call.location, Quantity::Wait(wait), amount);
        self.piece(call.location, wait, culprit.location, (call.enter, until));
    }

    fn piece(&mut self, waiter: usize, wait: Wait, culprit: usize, when: Stretch) {
        if when.0 < when.1 {
            let (what, bounds) = (Quantity::Wait(wait), (when.1 - when.0, when.1 - when.0));
            self.pieces.push(Piece { waiter, what, culprit, when, bounds });
        }
    }

    fn add(&mut self, location: usize, what: Quantity, amount: u64) {
        if amount > 0 {
            *self.sums[location].entry(what).or_default() += amount;
        }
    }
}

/// Returns the time in [from, to] for which `covered` holds, by examining each gap between two edges.
fn measure(stretches: &[Stretch], from: u64, to: u64, covered: impl Fn(u64) -> bool) -> u64 {
    let mut edges: Vec<u64> = stretches.iter().flat_map(|it| [it.0, it.1]).collect();
    edges.extend([from, to]);
    edges.retain(|edge| (from..=to).contains(edge));
    edges.sort_unstable();
    // Twice the time, so that the middle of a gap is a whole number.
    let gaps = edges.windows(2).filter(|gap| gap[0] < gap[1] && covered(gap[0] + gap[1]));
    gaps.map(|gap| gap[1] - gap[0]).sum()
}

fn within(stretches: &[Stretch], twice: u64) -> bool {
    stretches.iter().any(|it| 2 * it.0 <= twice && twice <= 2 * it.1)
}

/// Returns `true` if a process progressed operations of others in a call.
fn serves(trace: &Trace, call: &Call, process: usize, wide: bool) -> bool {
    let unsure = call.has("progress=conditional");
    let word = match unsure && call.has("completes=remote") {
        true => has_outstanding(trace, call),
        false => call.has("progress=always") || wide && unsure,
    };
    let on_itself = call
        .records
        .iter()
        .any(|it| matches!(it.1, Record::Issue { target, .. } if target == process));
    word && !on_itself && call.process == process
}

/// Returns `true` if operations of the process on others are not complete when a call begins.
fn has_outstanding(trace: &Trace, call: &Call) -> bool {
    let mut list: Vec<(usize, u32, u64, char)> = Vec::new();
    // Of what happens at the same time, the first thread is first.
    let before = |it: &&(&Call, u64, &Record)| (it.1, it.0.location) < (call.enter, call.location);
    for (by, _, record) in trace.records(call.process).iter().filter(before) {
        match **record {
            Record::Issue { id, window, target, kind, .. } if target != call.process => {
                list.push((by.location, window, id, kind));
            }
            Record::Complete { id, window } => {
                let this = |it: &(usize, u32, u64, char)| {
                    (it.0, it.1, it.2) == (by.location, window, id) && returns(it.3)
                };
                list.iter().position(this).map(|at| list.remove(at));
            }
            Record::CompleteAll { window } => list.retain(|it| it.1 != window),
            _ => {}
        }
    }
    !list.is_empty()
}

/// Returns the first thread of a process that entered a call which progresses at a time, or just its first thread.
fn entered(trace: &Trace, process: usize, time: u64) -> usize {
    let is = |call: &&Call| call.enter == time && serves(trace, call, process, true);
    let first = trace.locations.iter().position(|it| it.process == process);
    trace.calls.iter().filter(is).map(|it| it.location).min().or(first).unwrap()
}

/// Returns the intervals in which a process progressed operations of others, over all its threads, joined where they
/// touch.
fn regions(trace: &Trace, process: usize, wide: bool) -> Vec<Stretch> {
    let serves = |call: &&Call| serves(trace, call, process, wide);
    let mut list: Vec<Stretch> =
        trace.calls.iter().filter(serves).map(|call| (call.enter, call.leave)).collect();
    list.sort_unstable();
    let mut joined: Vec<Stretch> = Vec::new();
    for (begin, end) in list {
        match joined.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((begin, end)),
        }
    }
    joined
}

/// Owner and number of a lock.
type Lock = (usize, u64);

/// Returns the intervals in which other processes hold a lock, or receive it from the one that released it last.
fn held_by_others(trace: &Trace, process: usize, lock: Lock) -> Vec<Stretch> {
    holders(trace, process, lock).into_iter().map(|it| it.0).collect()
}

/// Returns the same with the thread that acquired the lock.
fn holders(trace: &Trace, process: usize, lock: Lock) -> Vec<(Stretch, usize)> {
    let mut holds: Vec<(usize, Stretch)> = Vec::new();
    for other in 0..trace.processes {
        let mut since = None;
        for (_, time, record) in trace.records(other) {
            match *record {
                Record::Acquire { owner, lock: number } if (owner, number) == lock => {
                    since = Some(time);
                }
                Record::Release { owner, lock: number } if (owner, number) == lock => {
                    holds.push((other, (since.take().unwrap(), time)));
                }
                _ => {}
            }
        }
        assert_eq!(since, None);
    }
    let handed_over = |&(holder, (begin, end)): &(usize, Stretch)| {
        let got = |(time, record): &(u64, Record)| {
            let this =
                matches!(record, Record::Acquire { owner, lock: it } if (*owner, *it) == lock);
            this && *time == begin
        };
        let asked = |call: &&Call| call.process == holder && call.records.iter().any(got);
        let call = trace.calls.iter().find(asked).unwrap();
        let released = holds.iter().map(|it| it.1.1).filter(|it| *it <= begin).max();
        let from = released.map_or(begin, |it| it.max(call.enter).min(begin));
        ((from, end), call.location)
    };
    holds.iter().filter(|it| it.0 != process).map(handed_over).collect()
}

fn lock_of(call: &Call) -> Option<Lock> {
    call.records.iter().find_map(|(_, record)| match *record {
        Record::Acquire { owner, lock } => Some((owner, lock)),
        _ => None,
    })
}

/// Returns `true` for kinds of operations that bring data from their target. All others may be complete at the origin
/// before they have reached it.
fn returns(kind: char) -> bool {
    !matches!(kind, 'p' | 'u')
}

/// Class of operations that progress alike: kind, window, and magnitude of the bytes. `None` for no bytes. The kind is in
/// upper case for operations that are complete at their origin only.
type Class = (char, u32, Option<u32>);

fn class(kind: char, window: u32, mut bytes: u64) -> Class {
    let mut eights = None;
    while bytes > 0 {
        eights = Some(eights.map_or(0, |it| it + 1));
        bytes /= 8;
    }
    (kind, window, eights)
}

/// Operations that a call waited for: target, start of the last one there, its class, and true if the activity of the
/// target before may have been enough.
type Targets = BTreeMap<usize, (u64, Class, bool)>;

/// Targets of a call and the time during which it waited for them: a collective waits for targets only after its last
/// member has come, and until the first leaves.
type Waiter = (Targets, Stretch);

/// A wait for progress before its class is judged.
struct Judged {
    call: usize,
    location: usize,
    process: usize,
    target: usize,
    class: Class,
    low: u64,
    high: u64,
    unlikely: u64,
    multi: bool,
    /// Stretches of the wait, each with the thread that was waited for, and how much of both bounds it has.
    parts: Vec<(Stretch, usize, (u64, u64))>,
}

/// Times at which a target was in its runtime during an operation.
struct Visits {
    first: Stretch,
    last: u64,
    gaps: u64,
    gap: u64,
    count: usize,
    /// Regions during the operation.
    regions: Vec<Stretch>,
}

impl Visits {
    fn of(regions: &[Stretch], come: u64, (enter, leave): Stretch, apart: u64) -> Option<Self> {
        let of_operation = |r: &&Stretch| r.1 > come && r.0 < leave;
        let regions: Vec<Stretch> = regions.iter().filter(of_operation).copied().collect();
        let first = *regions.first()?;
        // Begins of visits, and where the region before ended.
        let mut begins = vec![(first.0, 0)];
        for pair in regions.windows(2) {
            if pair[1].0 - pair[0].1 >= apart {
                begins.push((pair[1].0, pair[0].1));
            }
        }
        let (last, before) = *begins.last().unwrap();
        let gaps = match last > enter {
            true => measure(&regions, enter, last, |twice| !within(&regions, twice)),
            false => 0,
        };
        let gap = last.saturating_sub(before.max(enter));
        let count = begins.iter().filter(|it| it.0 > enter).count();
        Some(Self { first, last, gaps, gap, count, regions })
    }
}

/// Returns ln((late + gap) / late) in thousandths, if `late` is at most a twentieth of both.
fn unlikely(late: u64, gap: u64) -> u64 {
    let all = (late + gap) as f64;
    if late as f64 * 20.0 > all { 0 } else { ((all / late as f64).ln() * 1e3) as u64 }
}

/// Returns the targets that each call waited for, by the number of the call.
fn targets(trace: &Trace) -> BTreeMap<usize, Waiter> {
    struct Op {
        location: usize,
        id: u64,
        window: u32,
        target: usize,
        start: u64,
        class: Class,
        at_origin: bool,
    }
    let mut between: BTreeMap<usize, Stretch> = BTreeMap::new();
    for parts in instances(trace).values() {
        let last = parts.iter().map(|it| it.0.enter).max().unwrap();
        let first_end = parts.iter().map(|it| it.1).min().unwrap();
        between.extend(parts.iter().map(|it| (it.0.number, (last, first_end))));
    }
    let mut all: BTreeMap<usize, Waiter> = BTreeMap::new();
    let mut at_origin: Vec<(usize, usize, u64, Class)> = Vec::new();
    for process in 0..trace.processes {
        let mut outstanding: Vec<Op> = Vec::new();
        for (call, _, record) in trace.records(process) {
            let (targets, _) = all.entry(call.number).or_insert_with(|| {
                let when = between.get(&call.number).copied();
                (Targets::new(), when.unwrap_or((call.enter, call.leave)))
            });
            let mut wait = |target: usize, start: u64, class: Class| {
                let known = targets.entry(target).or_insert((start, class, false));
                if known.0 <= start {
                    *known = (start, class, false);
                }
            };
            match *record {
                Record::Issue { id, window, target, kind, bytes, .. } if target != process => {
                    let (location, start) = (call.location, call.enter);
                    let class = class(kind, window, bytes);
                    let at_origin = false;
                    outstanding.push(Op { location, id, window, target, start, class, at_origin });
                }
                Record::Complete { id, window } => {
                    // Fetched data are there; what was put may still be on its way.
                    let this =
                        |op: &Op| (op.location, op.window, op.id) == (call.location, window, id);
                    let at = outstanding.iter().position(|op| this(op) && !op.at_origin);
                    let Some(at) = at else { continue };
                    if returns(outstanding[at].class.0) {
                        let op = outstanding.remove(at);
                        wait(op.target, op.start, op.class);
                    } else {
                        let op = &mut outstanding[at];
                        let (kind, window, size) = op.class;
                        let class = (kind.to_ascii_uppercase(), window, size);
                        op.at_origin = true;
                        at_origin.push((call.number, op.target, op.start, class));
                    }
                }
                Record::CompleteAll { window } => {
                    for op in outstanding.extract_if(.., |op| op.window == window) {
                        let group = call.records.iter().find_map(|(_, record)| match *record {
                            Record::Collective { window, .. } => Some(window as usize),
                            _ => None,
                        });
                        let group = group.map(|group| &trace.windows[group]);
                        if group.is_none_or(|group| !group.contains(&op.target)) {
                            wait(op.target, op.start, op.class);
                        }
                    }
                }
                Record::Acquire { owner, .. } if owner != process => {
                    wait(owner, call.enter, class('l', 0, 0));
                }
                _ => {}
            }
        }
    }
    // A call that completes nothing else may wait until operations are complete at their origin.
    all.retain(|_, (targets, _)| !targets.is_empty());
    for (number, target, start, class) in at_origin {
        const SHORTEST: u64 = 20_000;
        let call = &trace.calls[number];
        let is_long = call.leave - call.enter >= SHORTEST;
        if is_long && !between.contains_key(&number) && !all.contains_key(&number) {
            let targets = Targets::from([(target, (start, class, false))]);
            all.insert(number, (targets, (call.enter, call.leave)));
        }
    }
    // Large messages need both sides once neither is late.
    for (send, receive, bytes) in messages(trace) {
        if bytes <= 256 * 1024 {
            continue;
        }
        for (call, partner, late) in [(receive, send, u64::MAX), (send, receive, 0)] {
            // A receive cannot end before its message is sent; a send can end before its receive is posted.
            let until = match partner.enter < call.leave {
                true => partner.enter.max(call.enter),
                false => call.leave.min(call.enter.max(late)),
            };
            let early = partner.enter >= call.enter || call.enter < until;
            if until < call.leave {
                let message = (until, class('m', u32::MAX, bytes), early);
                let targets = Targets::from([(partner.process, message)]);
                all.insert(call.number, (targets, (until, call.leave)));
            }
        }
    }
    // Some are through before the last has come: those wait for nobody else.
    let through = |call: &usize| between.get(call).is_some_and(|when| when.0 >= when.1);
    all.retain(|call, (targets, _)| !targets.is_empty() && !through(call));
    all
}

/// Returns the lower bound of a wait for several targets: the time until the last of them came, and its thread. Of the
/// two rules the one with the lower bound counts.
fn several(
    trace: &Trace,
    targets: &Targets,
    enter: u64,
    rules: [&[Option<Visits>]; 2],
) -> Vec<(Stretch, usize, (u64, u64))> {
    let of = |all: &[Option<Visits>]| {
        let mut last = (enter, usize::MAX);
        for (visits, target) in all.iter().zip(targets.keys()) {
            let first = visits.as_ref().map(|it| it.first).filter(|it| it.1 > enter);
            let Some(first) = first.filter(|it| it.0 > enter) else { continue };
            let thread = entered(trace, *target, first.0);
            if first.0 > last.0 || first.0 == last.0 && thread < last.1 {
                last = (first.0, thread);
            }
        }
        last
    };
    let [sure, wide] = rules.map(of);
    let (until, culprit) = if sure.0 <= wide.0 { sure } else { wide };
    vec![((enter, until), culprit, (until - enter, until - enter))]
}

/// Returns `true` if a call completes operations and nothing else.
fn only_completes(call: &Call) -> bool {
    let is_collective = call.records.iter().any(|it| matches!(it.1, Record::Collective { .. }));
    call.has("completes=remote") && !is_collective && lock_of(call).is_none()
}

/// Returns the wait of a call that went on after its last target had come, at `since`, for a process that its targets waited
/// for, or the targets of these, and so on. `before` is how long it had waited for its targets.
fn held(
    trace: &Trace,
    waiters: &BTreeMap<usize, Waiter>,
    (number, since, before): (usize, u64, u64),
    sure: &[Vec<Stretch>],
) -> Option<Judged> {
    const LONG: u64 = 200_000;
    let (targets, (enter, leave)) = &waiters[&number];
    let (enter, leave) = (*enter, *leave);
    let call = &trace.calls[number];
    if !only_completes(call) || leave - since < LONG {
        return None;
    }
    // All that are waited for, however far away.
    let mut all: BTreeSet<usize> = targets.keys().copied().collect();
    loop {
        let meanwhile = |it: &&Call| {
            let overlaps = it.enter < leave && it.leave > enter && it.leave - it.enter >= LONG;
            overlaps
                && only_completes(it)
                && all.contains(&it.process)
                && it.process != call.process
        };
        let calls = trace.calls.iter().filter(meanwhile).map(|it| it.number);
        let more = calls.filter_map(|it| waiters.get(&it)).flat_map(|it| it.0.keys().copied());
        let grown: BTreeSet<usize> = all.iter().copied().chain(more).collect();
        if grown.len() == all.len() {
            break;
        }
        all = grown;
    }
    all.remove(&call.process);
    let node = |process: usize| process / trace.per_node;
    let candidate = |&member: &usize| {
        let threads = || trace.locations.iter().filter(|it| it.process == member);
        let silent = |gap: &Stretch| gap.0 < leave && gap.1 > enter;
        if threads().any(|it| it.gaps.iter().any(silent)) || threads().all(|it| it.end < leave) {
            return None;
        }
        let come = enter + trace.latency[usize::from(node(call.process) == node(member))];
        let regions = sure[member].iter().filter(|it| it.1 > come && it.0 < leave);
        let mut end = enter;
        let mut longest: Option<(u64, u64)> = None;
        for region in regions {
            let gap = region.0.saturating_sub(end);
            if gap > 0 {
                longest = longest.max(Some((gap, region.0)));
            }
            end = end.max(region.1);
        }
        let (gap, until) = longest.filter(|it| it.1 > since)?;
        let unlikely = unlikely((leave - until) * all.len() as u64, gap);
        (unlikely > 0).then_some((until, member, unlikely))
    };
    let others = all.iter().filter(|it| !targets.contains_key(it));
    let (until, target, unlikely) = others.filter_map(candidate).max()?;
    let high = (until - since).min(leave - enter - before);
    let culprit = entered(trace, target, until);
    let (_, class, _) = *targets.values().last()?;
    (high > 0).then(|| Judged {
        call: number,
        location: call.location,
        process: call.process,
        target,
        class,
        low: high,
        high,
        unlikely,
        multi: true,
        parts: vec![((since, until), culprit, (high, high))],
    })
}

/// Returns all messages: the call that sends, the call that receives, and the bytes.
fn messages(trace: &Trace) -> Vec<(&Call, &Call, u64)> {
    let mut list = Vec::new();
    for from in 0..trace.processes {
        for to in 0..trace.processes {
            let sends = trace.records(from).into_iter().filter_map(|(call, _, record)| {
                let Record::Send { to: receiver, bytes } = *record else { return None };
                (receiver == to).then_some((call, bytes))
            });
            let receives = trace.records(to).into_iter();
            let receives =
                receives.filter(|it| matches!(*it.2, Record::Receive { from: it } if it == from));
            list.extend(sends.zip(receives).map(|((send, bytes), it)| (send, it.0, bytes)));
        }
    }
    list
}

/// Collectives by window and number: call, end and root of every member that came.
type Instances<'t> = BTreeMap<(u32, u64), Vec<(&'t Call, u64, Option<usize>)>>;

fn instances(trace: &Trace) -> Instances<'_> {
    let mut instances = Instances::new();
    for process in 0..trace.processes {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for (call, _, record) in trace.records(process) {
            let Record::Collective { window, end, root, sequence } = *record else { continue };
            let count = counts.entry(window).or_default();
            let number = sequence.unwrap_or(*count);
            *count += 1;
            instances.entry((window, number)).or_default().push((call, end, root));
        }
    }
    instances
}
