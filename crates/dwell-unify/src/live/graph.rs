//! Who waits for whom.
//!
//! What a process waits for follows from the calls that its main thread is in, by the rules that judge waits, applied to calls
//! that have not ended:
//!
//! | call | waits for | certain |
//! |---|---|---|
//! | lock | the process that holds it | if the runtime tells who does |
//! | collective | members that are not in it, and have not been | if every member needs all, and there are no other groups |
//! | `sync images` | the images that are not in theirs, and have not been since it began | on one node |
//! | `MPI_Win_start` | members of its group that have not posted | if all epochs of both are known |
//! | `MPI_Win_wait` | members of its group that have not completed | if all epochs of both are known |
//! | blocking message | its receiver | no: it may be under way |
//! | operation, or a call that completes operations | their targets | no: they may be under way |
//! | a test or a read, again and again | somebody | – |
//! | wait for a change of memory | whoever wrote it last | no: another process may write it next |
//!
//! A circle of certain waits cannot end, unless a process of it does something that is [not recorded](Process::tells_all).
//!
//! A call may be a member of several layers. What the program waits for is what its own call says, which is the outermost one;
//! calls inside say whom that call waits for if it says nothing, or if nobody is missing in its collective.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use dwell_model::operation::{Collective, Operation};

use super::{About, Call, Epoch, Everyone, Live, Lock, LockState, Process, Thread};

/// What a process waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Kind of the wait.
    pub kind: Kind,
    /// Ranks of the processes that it waits for; empty if they are not known.
    pub on: Vec<u64>,
    /// True if it cannot end before these processes have done something.
    pub is_certain: bool,
}

/// Kind of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// For processes that have to carry out operations, or whose network has to.
    Progress,
    /// For a lock that others hold.
    Lock,
    /// For a change of its own memory.
    Change,
    /// For members of a collective.
    Collective,
    /// For processes that wait for it in turn.
    Meeting,
    /// For the receiver of a message.
    Receiver,
    /// For processes that have not posted or completed an epoch.
    Epoch,
    /// For a change that it asks for again and again, unless it computes since.
    Poll,
    /// For a message, a request or an epoch, of which it is not known who ends it.
    Unknown,
}

/// Who waits for whom.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// What each process waits for, by rank. Processes that are in no call that waits have nothing.
    pub waits: BTreeMap<u64, Wait>,
    /// Circles of processes that wait for each other: in each, every process waits for the next one, and the last for the
    /// first. With each, whether all of its waits are certain. Shortest first.
    pub circles: Vec<(Vec<u64>, bool)>,
    /// Processes that others wait for and that wait for nobody, with the number of processes that wait for them, directly or not.
    /// Most first.
    pub roots: Vec<(u64, u64)>,
}

/// Greatest number of circles and of roots.
const MOST: usize = 8;

impl Graph {
    /// Concludes who waits for whom.
    pub fn of(live: &Live) -> Self {
        let (holders, writers, missing) = (holders(live), writers(live), missing(live));
        let mut waits = BTreeMap::new();
        for process in &live.processes {
            if let Some(mut wait) = wait(process, live, (&holders, &writers, &missing)) {
                wait.is_certain &= process.tells_all();
                waits.insert(process.rank(), wait);
            }
        }
        let (circles, roots) = (circles(&waits), roots(&waits));
        Self { waits, circles, roots }
    }
}

/// Ranks that hold each lock, or have asked for it.
type Holders = BTreeMap<Lock, Vec<(u64, LockState)>>;

fn holders(live: &Live) -> Holders {
    let mut holders: Holders = BTreeMap::new();
    for process in &live.processes {
        for (lock, state) in process.threads.iter().flat_map(|it| &it.locks) {
            holders.entry(lock.clone()).or_default().push((process.rank(), *state));
        }
    }
    holders
}

/// Rank that wrote each word last, by the rank and offset of the word.
type Writers = BTreeMap<(u64, u64), u64>;

fn writers(live: &Live) -> Writers {
    let mut last: BTreeMap<(u64, u64), (u64, u64)> = BTreeMap::new();
    for process in &live.processes {
        for (word, time) in process.threads.iter().flat_map(|it| &it.written) {
            // Nodes have clocks of their own; then any of the writers is as good.
            let entry = (process.monotonic(*time), process.rank());
            let known = last.entry(*word).or_insert(entry);
            *known = (*known).max(entry);
        }
    }
    last.into_iter().map(|(word, (_, rank))| (word, rank)).collect()
}

/// Names of the collectives that a thread is in, those of layers above included.
type Names = BTreeSet<String>;

/// Ranks that are in none of some collectives; no more than [`MOST_MISSING`] and one.
type Missing = BTreeMap<Names, Vec<u64>>;

fn missing(live: &Live) -> Missing {
    let mut inside: BTreeMap<Names, Vec<u64>> = BTreeMap::new();
    for process in &live.processes {
        if let Some(names) = process.threads.first().map(|it| collectives(it, process)) {
            inside.entry(names).or_default().push(process.rank());
        }
    }
    inside.remove(&Names::new());
    let away = |names: &Names| {
        let there = inside.iter().filter(|it| !it.0.is_disjoint(names)).flat_map(|it| it.1);
        let there: BTreeSet<u64> = there.copied().collect();
        (0..live.size).filter(|it| !there.contains(it)).take(MOST_MISSING + 1).collect()
    };
    inside.keys().map(|names| (names.clone(), away(names))).collect()
}

/// Returns the names of the collectives that a thread is in.
fn collectives(thread: &Thread, process: &Process) -> Names {
    let calls = thread.calls.iter().filter(|it| it.about.contains(&About::Collective));
    calls.filter_map(|it| process.facts.region_name(it.region)).collect()
}

/// Returns a process with files.
fn process(live: &Live, rank: u64) -> Option<&Process> {
    let place = live.processes.binary_search_by_key(&rank, Process::rank).ok()?;
    live.processes.get(place)
}

/// Returns the main thread of a process.
fn main_thread(live: &Live, rank: u64) -> Option<&Thread> {
    process(live, rank)?.threads.first()
}

/// Returns `true` if a thread has ended a collective of all processes that another one has not, and `None` if that is not
/// known.
fn is_ahead(thread: &Thread, of: &Thread) -> Option<bool> {
    let is_ahead = |(group, number): (&Everyone, &u64)| match of.ended.get(group) {
        Some(other) => Some(number > other),
        None => of.is_whole.then_some(true),
    };
    let all: Vec<Option<bool>> = thread.ended.iter().map(is_ahead).collect();
    match all.contains(&Some(true)) {
        true => Some(true),
        false => (!all.contains(&None)).then_some(false),
    }
}

/// Returns what the main thread of a process waits for.
fn wait(
    process: &Process,
    live: &Live,
    (holders, writers, missing): (&Holders, &Writers, &Missing),
) -> Option<Wait> {
    let (me, thread) = (process.rank(), process.threads.first()?);
    let others = |ranks: &[u64]| ranks.iter().copied().filter(|it| *it != me).collect::<Vec<_>>();
    let calls = || thread.calls.iter().filter(|it| it.meaning.is_some());
    if let Some(call) = calls().next_back().filter(|it| it.is_over) {
        let names_target = call.about.iter().any(|it| matches!(it, About::Target(_)));
        if names_target {
            return Some(Wait { kind: Kind::Poll, on: Vec::new(), is_certain: false });
        }
    }
    let mut in_full = None;
    for call in calls() {
        // A layer that polls inside a collective waits for that.
        if call.repeats && in_full.is_none() {
            return Some(Wait { kind: Kind::Poll, on: Vec::new(), is_certain: false });
        }
        for about in call.about.iter().rev() {
            let known = match about {
                About::Lock(lock) => locked(me, call, holders.get(lock)),
                About::Change(offset) => {
                    let writer = offset.and_then(|it| writers.get(&(me, it))).copied();
                    let on = writer.filter(|it| *it != me).into_iter().collect();
                    Some(Wait { kind: Kind::Change, on, is_certain: false })
                }
                About::Meets(ranks) => Some(in_meeting(live, process, call, &others(ranks))),
                About::Epoch(epoch, ranks) => {
                    in_epoch(live, (process, thread), call, epoch, &others(ranks))
                }
                About::Collective => {
                    let it = in_collective(process, thread, live, missing);
                    if it.on.is_empty() {
                        in_full.get_or_insert(it);
                        None
                    } else {
                        Some(it)
                    }
                }
                About::Message(_) | About::Target(_) => None,
            };
            if known.is_some() {
                return known;
            }
        }
    }
    let within = calls().rev().flat_map(|it| it.about.iter().rev()).find_map(|it| match it {
        About::Message(to) => Some((Kind::Receiver, to)),
        About::Target(to) => Some((Kind::Progress, to)),
        _ => None,
    });
    if let Some((kind, to)) = within {
        return Some(Wait { kind, on: others(&[*to]), is_certain: false });
    }
    if in_full.is_some() {
        return in_full;
    }
    let operation = calls().rev().find_map(|it| it.meaning).map(|it| it.operation)?;
    let of = |kind, on| Some(Wait { kind, on, is_certain: false });
    match operation {
        Operation::CompleteRemote | Operation::CompleteLocal | Operation::Unlock => {
            of(Kind::Progress, others(&thread.targets))
        }
        Operation::TestChange
        | Operation::TestHandle
        | Operation::TestProbe
        | Operation::TestEpoch
        | Operation::Poll
        | Operation::TryLock => of(Kind::Poll, Vec::new()),
        Operation::Receive
        | Operation::Exchange
        | Operation::Probe
        | Operation::WaitHandle
        | Operation::StartEpoch
        | Operation::CompleteEpoch
        | Operation::WaitEpoch
        | Operation::WaitChange
        | Operation::Collective(_)
        | Operation::Meet
        | Operation::Lock => of(Kind::Unknown, Vec::new()),
        _ => None,
    }
}

/// Returns the wait for members of a collective: those that are not in it, and have not ended one that is later.
fn in_collective(process: &Process, thread: &Thread, live: &Live, missing: &Missing) -> Wait {
    let away = missing.get(&collectives(thread, process));
    let mut on = away.cloned().unwrap_or_default();
    let calls = thread.calls.iter().filter(|it| it.about.contains(&About::Collective));
    let mut of = calls.filter_map(|it| it.meaning).map(|it| it.operation);
    let needs_all = of.all(needs_all);
    let mut is_certain = needs_all && has_one_group(process) && on.len() <= MOST_MISSING;
    on.retain(|it| match main_thread(live, *it).map(|it| is_ahead(it, thread)) {
        Some(Some(is_ahead)) => !is_ahead,
        Some(None) => {
            is_certain = false;
            true
        }
        None => true,
    });
    Wait { kind: Kind::Collective, on, is_certain }
}

/// Returns `true` for collectives that no member can leave before all have come. Of others a member may wait for some only, such
/// as the root or its neighbours.
fn needs_all(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Collective(
            Collective::Barrier
                | Collective::Sync
                | Collective::AllReduce
                | Collective::AllGather
                | Collective::AllToAll
                | Collective::ReduceScatterBlock
        )
    )
}

/// Returns the wait of a call in which processes wait for each other, for those that are not in theirs.
fn in_meeting(live: &Live, me: &Process, call: &Call, ranks: &[u64]) -> Wait {
    let (mut on, mut is_certain) = (Vec::new(), true);
    for &rank in ranks.iter().filter(|it| !meets(live, **it, me.rank())) {
        let Some(other) = process(live, rank) else {
            on.push(rank);
            continue;
        };
        let thread = other.threads.first();
        // It leaves its call after this one has begun, which only clocks of one node tell.
        let is_comparable = other.host == me.host;
        let since = me.monotonic(call.since);
        let is_after = |time: Option<u64>| time.is_some_and(|it| other.monotonic(it) > since);
        let met = thread.and_then(|it| it.met.get(&me.rank()).copied());
        if is_comparable && is_after(met) {
            continue;
        }
        is_certain &= is_comparable && (met.is_some() || !is_after(thread.and_then(|it| it.first)));
        on.push(rank);
    }
    Wait { kind: Kind::Meeting, on, is_certain }
}

/// Returns the wait of a call that opens or closes an epoch for the other processes of its group.
fn in_epoch(
    live: &Live,
    (me, thread): (&Process, &Thread),
    call: &Call,
    epoch: &Epoch,
    ranks: &[u64],
) -> Option<Wait> {
    let me = me.rank();
    // What others do to a window is on the other side of an epoch.
    let theirs = Epoch { exposes: !epoch.exposes, ..epoch.clone() };
    let of = |rank: u64| main_thread(live, rank);
    let has_open = |rank: u64| {
        of(rank).and_then(|it| it.epochs.get(&theirs)).is_some_and(|it| it.contains(&me))
    };
    let count = |thread: &Thread, epoch: &Epoch, rank: u64| {
        thread.opened.get(epoch).and_then(|it| it.get(&rank)).copied().unwrap_or(0)
    };
    let operation = call.meaning?.operation;
    // It need not wait for them, but in some libraries it does.
    if operation == Operation::PostEpoch {
        return Some(Wait { kind: Kind::Progress, on: ranks.to_vec(), is_certain: false });
    }
    // Whether a process is still to do its part in this epoch; `None` if that is not known.
    let is_missing = |rank: u64| {
        let other = of(rank).filter(|it| it.is_whole && thread.is_whole)?;
        let (mine, theirs) = (count(thread, epoch, rank), count(other, &theirs, me));
        let is_open = operation == Operation::WaitEpoch && theirs == mine && has_open(rank);
        Some(theirs < mine || is_open)
    };
    let is_open = operation == Operation::WaitEpoch;
    let known: Vec<(u64, Option<bool>)> = ranks.iter().map(|it| (*it, is_missing(*it))).collect();
    let is_certain = operation != Operation::CompleteEpoch && known.iter().all(|it| it.1.is_some());
    let missing = known.iter().filter(|it| it.1.unwrap_or_else(|| has_open(it.0) == is_open));
    let mut on: Vec<u64> = missing.map(|it| it.0).collect();
    if on.is_empty() && !is_certain {
        on = known.iter().filter(|it| it.1.is_none()).map(|it| it.0).collect();
    }
    Some(Wait { kind: Kind::Epoch, on, is_certain })
}

/// Returns `true` for operations by which processes wait for each other.
pub(super) fn is_for_others(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Lock
            | Operation::Unlock
            | Operation::TryLock
            | Operation::Collective(_)
            | Operation::Meet
            | Operation::StartEpoch
            | Operation::CompleteEpoch
            | Operation::PostEpoch
            | Operation::WaitEpoch
            | Operation::TestEpoch
    )
}

/// Greatest number of missing processes by which a collective is a certain wait: of more, most may be elsewhere for a reason.
const MOST_MISSING: usize = 256;

/// Returns the wait for a lock that others hold, or may hold where the runtime does not say.
fn locked(me: u64, call: &Call, holders: Option<&Vec<(u64, LockState)>>) -> Option<Wait> {
    let all = holders?.iter();
    let is_blocking = call.meaning.is_some_and(|it| it.operation == Operation::Lock);
    let held: Vec<u64> = all.clone().filter(|it| it.1 == LockState::Held).map(|it| it.0).collect();
    let is_certain = !held.is_empty() && is_blocking;
    let others = || all.clone().filter(|it| it.0 != me).map(|it| it.0).collect();
    // A process that asks again for a lock that it holds waits for itself.
    let on = if held.is_empty() { others() } else { held };
    (!on.is_empty() || is_blocking).then_some(Wait { kind: Kind::Lock, on, is_certain })
}

/// Returns `true` if a process waits for another one in a call in which both wait for each other.
fn meets(live: &Live, rank: u64, other: u64) -> bool {
    let calls = main_thread(live, rank).into_iter().flat_map(|it| &it.calls);
    calls
        .flat_map(|it| &it.about)
        .any(|it| matches!(it, About::Meets(ranks) if ranks.contains(&other)))
}

/// Returns `true` if all groups of a process have all processes or only itself.
fn has_one_group(process: &Process) -> bool {
    let (shared, size) = (&process.facts.shared, process.facts.size);
    let groups = shared.windows().iter().map(|it| it.group);
    let groups = groups.chain(shared.comms().iter().map(|it| it.group));
    groups.filter_map(|it| shared.group(it)).all(|it| it.size() == size || it.size() <= 1)
}

/// Finds processes that wait for each other in circles.
fn circles(waits: &BTreeMap<u64, Wait>) -> Vec<(Vec<u64>, bool)> {
    let mut found: Vec<(Vec<u64>, bool)> = Vec::new();
    let mut known: BTreeSet<u64> = BTreeSet::new();
    for &rank in waits.keys() {
        if known.contains(&rank) {
            continue;
        }
        // A circle of certain waits says more than a shorter one.
        for certain in [true, false] {
            if let Some(circle) = circle_of(waits, rank, certain) {
                known.extend(&circle);
                found.push((circle, certain));
                break;
            }
        }
        if found.len() >= MOST {
            break;
        }
    }
    found.sort_by_key(|it| (!it.1, it.0.len()));
    found
}

/// Returns the shortest circle of waits through a process.
fn circle_of(waits: &BTreeMap<u64, Wait>, rank: u64, certain: bool) -> Option<Vec<u64>> {
    let mut from: BTreeMap<u64, u64> = BTreeMap::new();
    let mut queue = VecDeque::from([rank]);
    while let Some(at) = queue.pop_front() {
        let Some(wait) = waits.get(&at).filter(|it| it.is_certain || !certain) else { continue };
        for &next in &wait.on {
            if next == rank {
                let mut circle = vec![at];
                let mut place = at;
                while let Some(before) = from.get(&place) {
                    circle.push(*before);
                    place = *before;
                }
                circle.reverse();
                return Some(circle);
            }
            if waits.contains_key(&next) && !from.contains_key(&next) {
                from.insert(next, at);
                queue.push_back(next);
            }
        }
    }
    None
}

/// Finds the processes that others wait for and that wait for nobody.
fn roots(waits: &BTreeMap<u64, Wait>) -> Vec<(u64, u64)> {
    let mut behind: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (rank, wait) in waits {
        wait.on.iter().for_each(|on| behind.entry(*on).or_default().push(*rank));
    }
    let ends = behind.keys().filter(|it| waits.get(it).is_none_or(|wait| wait.on.is_empty()));
    let mut roots: Vec<(u64, u64)> = Vec::new();
    for &end in ends.take(MOST_ENDS) {
        let mut reached = BTreeSet::from([end]);
        let mut queue = VecDeque::from([end]);
        while let Some(at) = queue.pop_front() {
            for &rank in behind.get(&at).into_iter().flatten() {
                if reached.insert(rank) {
                    queue.push_back(rank);
                }
            }
        }
        roots.push((end, reached.len() as u64 - 1));
    }
    // Who computes says more than who waits for something unknown.
    roots.sort_by_key(|it| (std::cmp::Reverse(it.1), waits.contains_key(&it.0), it.0));
    roots.truncate(MOST);
    roots
}

/// Greatest number of processes of which it is counted how many wait for them.
const MOST_ENDS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(list: &[(u64, &[u64], bool)]) -> BTreeMap<u64, Wait> {
        let wait = |on: &[u64], is_certain| Wait { kind: Kind::Lock, on: on.to_vec(), is_certain };
        list.iter().map(|(rank, on, certain)| (*rank, wait(on, *certain))).collect()
    }

    #[test]
    fn circles_are_found_with_their_certainty() {
        let two = waits(&[(0, &[1], true), (1, &[0], true), (2, &[0], true)]);
        assert_eq!(circles(&two), [(vec![0, 1], true)]);
        let three = waits(&[(0, &[1], true), (1, &[2], false), (2, &[0], true)]);
        assert_eq!(circles(&three), [(vec![0, 1, 2], false)]);
        assert_eq!(circles(&waits(&[(4, &[4], true)])), [(vec![4], true)]);
        assert_eq!(circles(&waits(&[(0, &[1], true), (1, &[2], true)])), []);
    }

    #[test]
    fn roots_are_those_for_whom_most_wait() {
        let chain = waits(&[(0, &[1], true), (1, &[2], true), (3, &[2], true), (4, &[5], true)]);
        assert_eq!(roots(&chain), [(2, 3), (5, 1)]);
        // A process that waits without anybody's name is where the trail ends.
        let lost = waits(&[(0, &[1, 2], true), (1, &[], false)]);
        assert_eq!(roots(&lost), [(2, 1), (1, 1)]);
    }
}
