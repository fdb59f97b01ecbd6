//! Who waits for whom.
//!
//! What a process waits for follows from the calls that its main thread is in, by the rules that judge waits, applied to calls
//! that have not ended:
//!
//! | call | waits for | certain |
//! |---|---|---|
//! | lock | the process that holds it | if the runtime tells who does |
//! | collective | members that are not in it | if the processes have no other groups |
//! | `sync images` | the images that are not in theirs | yes |
//! | blocking message | its receiver | no: it may be under way |
//! | operation, or a call that completes operations | their targets | no: they may be under way |
//! | a test, again and again | somebody | – |
//! | wait for a change of memory | whoever wrote it last | no: another process may write it next |
//!
//! A circle of certain waits cannot end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use dwell_model::operation::Operation;

use super::{About, Call, Live, Lock, LockState, Process, Thread};

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
    /// For a change that it asks for again and again.
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
            if let Some(wait) = wait(process, live, (&holders, &writers, &missing)) {
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

/// Ranks that are not in a collective, by the name of its function; no more than [`MOST_MISSING`] and one.
type Missing = BTreeMap<String, Vec<u64>>;

fn missing(live: &Live) -> Missing {
    let mut inside: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for process in &live.processes {
        if let Some(name) = process.threads.first().and_then(|it| collective(it, process)) {
            inside.entry(name).or_default().insert(process.rank());
        }
    }
    let missing = |inside: &BTreeSet<u64>| {
        (0..live.size).filter(|it| !inside.contains(it)).take(MOST_MISSING + 1).collect()
    };
    inside.iter().map(|(name, ranks)| (name.clone(), missing(ranks))).collect()
}

/// Returns the name of the collective that a thread is in.
fn collective(thread: &Thread, process: &Process) -> Option<String> {
    let call = thread.calls.iter().rev().find(|it| it.about.contains(&About::Collective))?;
    process.facts.region_name(call.region)
}

/// Returns what the main thread of a process waits for.
fn wait(
    process: &Process,
    live: &Live,
    (holders, writers, missing): (&Holders, &Writers, &Missing),
) -> Option<Wait> {
    let (me, thread) = (process.rank(), process.threads.first()?);
    // Calls of a layer above are around those of the layer below. The innermost that says something knows best.
    let calls = || thread.calls.iter().rev().filter(|it| it.meaning.is_some());
    for call in calls() {
        for about in call.about.iter().rev() {
            let known = match about {
                About::Lock(lock) => locked(me, call, holders.get(lock)),
                About::Change(offset) => {
                    let writer = offset.and_then(|it| writers.get(&(me, it))).copied();
                    let on = writer.filter(|it| *it != me).into_iter().collect();
                    Some(Wait { kind: Kind::Change, on, is_certain: false })
                }
                About::Meets(ranks) => {
                    let away = |rank: &u64| *rank != me && !meets(live, *rank, me);
                    let on = ranks.iter().copied().filter(away).collect();
                    Some(Wait { kind: Kind::Meeting, on, is_certain: true })
                }
                About::Collective => {
                    let away = collective(thread, process).and_then(|it| missing.get(&it));
                    let on = away.cloned().unwrap_or_default();
                    let is_certain = has_one_group(process) && on.len() <= MOST_MISSING;
                    Some(Wait { kind: Kind::Collective, on, is_certain })
                }
                About::Message(to) => {
                    Some(Wait { kind: Kind::Receiver, on: vec![*to], is_certain: false })
                }
                About::Target(to) => {
                    let on = Some(*to).filter(|it| *it != me).into_iter().collect();
                    Some(Wait { kind: Kind::Progress, on, is_certain: false })
                }
            };
            if known.is_some() {
                return known;
            }
        }
    }
    let operation = calls().find_map(|it| it.meaning).map(|it| it.operation)?;
    let of = |kind, on| Some(Wait { kind, on, is_certain: false });
    match operation {
        Operation::CompleteRemote | Operation::CompleteLocal | Operation::Unlock => {
            let on = thread.targets.iter().copied().filter(|it| *it != me).collect();
            of(Kind::Progress, on)
        }
        Operation::TestChange
        | Operation::TestHandle
        | Operation::TestProbe
        | Operation::TestEpoch
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
    let place = live.processes.binary_search_by_key(&rank, Process::rank).ok();
    let process = place.and_then(|it| live.processes.get(it));
    let calls = process.and_then(|it| it.threads.first()).into_iter().flat_map(|it| &it.calls);
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
