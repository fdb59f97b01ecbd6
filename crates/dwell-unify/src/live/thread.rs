//! State of one thread, from the events that it has recorded.

use std::collections::BTreeMap;

use dwell_model::archive::{Meaning, STARTS_RECORDING};
use otf2::close::visit_events;
use otf2::id::{CallingContextRef, LockId, Rank, RegionRef, RmaWinRef, Time};
use otf2::{Attribute, AttributeValue, Event, List};

use crate::definitions::attribute;
use crate::experiment::MOST_PROCESSES;
use crate::process_facts::ProcessFacts;

/// Greatest number of words of others that are remembered as written.
const WRITTEN: usize = 256;

/// A thread: the calls that it is in, and what it did before.
#[derive(Debug, Default)]
pub struct Thread {
    /// Number of the thread in its process.
    pub number: u64,
    /// Regions that were entered and not left, the outermost first.
    pub calls: Vec<Call>,
    /// Time of the last event on the clock of the recorder; `None` if there are no events.
    pub last: Option<u64>,
    /// Number of events that were read, which tells whether the thread goes on.
    pub events: u64,
    /// Call of a runtime that was left last, with its place.
    pub left: Option<(RegionRef, Option<CallingContextRef>)>,
    /// Locks that the thread has asked for or holds.
    pub locks: BTreeMap<Lock, LockState>,
    /// Words of other processes that it has written: rank and offset, and the time.
    pub written: BTreeMap<(u64, u64), u64>,
    /// Ranks of the targets of operations that have not been completed.
    pub targets: Vec<u64>,
    /// The same by the operations, while events are read.
    pending: BTreeMap<(u32, u64), u64>,
}

/// A region that was entered and not left.
#[derive(Clone, Debug)]
pub struct Call {
    /// The region, by the id of its process.
    pub region: RegionRef,
    /// Meaning of the region, if it is a call of a runtime.
    pub meaning: Option<Meaning>,
    /// Time of the enter on the clock of the recorder.
    pub since: u64,
    /// Place of the call.
    pub site: Option<CallingContextRef>,
    /// What the call has said about itself so far.
    pub about: Vec<About>,
}

/// A fact that a call states when it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// An operation on a process of this rank in the run.
    Target(u64),
    /// A request of a lock.
    Lock(Lock),
    /// A wait for a change of memory of the process itself, at an offset if it is one variable.
    Change(Option<u64>),
    /// A wait for processes of these ranks that wait for the caller in turn.
    Meets(Vec<u64>),
    /// A collective of processes.
    Collective,
    /// A message to the process of this rank.
    Message(u64),
}

/// A lock, told apart from others in the same way at every process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lock {
    /// Name and number of its window.
    pub window: (String, u32),
    /// Rank of the process that it is at; `None` if it is at no single one.
    pub at: Option<u64>,
    /// Number of the lock.
    pub id: u64,
}

/// What a thread has to do with a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockState {
    /// It has asked for the lock. Runtimes that do not tell when they grant it stay in this state.
    Asked,
    /// It holds the lock.
    Held,
}

impl Thread {
    /// Makes a thread of its last chunks, in their order.
    pub(super) fn of(number: u64, chunks: &[Vec<u8>], facts: &ProcessFacts) -> Self {
        let mut thread = Self { number, ..Self::default() };
        chunks.iter().for_each(|chunk| thread.take(chunk, facts));
        thread.finish();
        thread
    }

    /// Goes on with the events of a chunk.
    fn take(&mut self, chunk: &[u8], facts: &ProcessFacts) {
        visit_events(chunk, &mut |time, event, attributes| {
            self.last = Some(time.0);
            self.events += 1;
            self.event(time, event, attributes, facts);
        });
    }

    fn event(
        &mut self,
        time: Time,
        event: &Event<'_>,
        attributes: List<'_, Attribute>,
        facts: &ProcessFacts,
    ) {
        let find = |id| attributes.iter().find(|it| it.attribute == id).map(|it| it.value);
        let number = |id| match find(id) {
            Some(AttributeValue::Uint64(number)) => Some(number),
            _ => None,
        };
        let target = |win, remote| facts.member_of_window(win, remote);
        match event {
            Event::Enter(it) => {
                let site = match find(attribute::CALL_SITE) {
                    Some(AttributeValue::CallingContext(site)) => Some(site),
                    _ => None,
                };
                let meaning = facts.region(it.region).and_then(|it| Meaning::parse(&it.meaning));
                let (region, since) = (it.region, time.0);
                self.calls.push(Call { region, meaning, since, site, about: Vec::new() });
            }
            Event::Leave(it) => {
                // What was entered before the first chunk that was read is not known.
                let place = self.calls.iter().rposition(|call| call.region == it.region);
                let call = place.and_then(|place| self.calls.drain(place..).next());
                if call.is_none() {
                    self.calls.clear();
                }
                let region = facts.region(it.region).filter(|it| it.name != STARTS_RECORDING);
                if region.is_some_and(|it| Meaning::parse(&it.meaning).is_some()) {
                    self.left = Some((it.region, call.and_then(|it| it.site)));
                }
            }
            Event::RmaPut(it) => {
                self.operates((it.win, it.matching_id.0), target(it.win, it.remote), number, time);
            }
            Event::RmaGet(it) => {
                self.operates(
                    (it.win, it.matching_id.0),
                    target(it.win, it.remote),
                    |_| None,
                    time,
                );
            }
            Event::RmaAtomic(it) => {
                self.operates((it.win, it.matching_id.0), target(it.win, it.remote), number, time);
            }
            Event::RmaSync(it) => {
                let target = target(it.win, it.remote);
                self.writes(target, number, time);
                self.says(target.map(About::Target));
            }
            Event::RmaOpCompleteBlocking(it) => {
                self.pending.remove(&(it.win.0, it.matching_id.0));
            }
            Event::RmaOpCompleteNonBlocking(it) => {
                self.pending.remove(&(it.win.0, it.matching_id.0));
            }
            Event::RmaOpCompleteRemote(it) => self.pending.retain(|id, _| id.0 != it.win.0),
            Event::RmaRequestLock(it) => {
                let lock = lock(facts, it.win, it.remote, it.lock_id);
                self.locks.insert(lock.clone(), LockState::Asked);
                self.says(Some(About::Lock(lock)));
            }
            Event::RmaAcquireLock(it) => {
                self.locks.insert(lock(facts, it.win, it.remote, it.lock_id), LockState::Held);
            }
            Event::RmaReleaseLock(it) => {
                self.locks.remove(&lock(facts, it.win, it.remote, it.lock_id));
            }
            Event::RmaWaitChange(_) => {
                self.says(Some(About::Change(number(attribute::SYMMETRIC_OFFSET))));
            }
            Event::RmaGroupSync(it) => {
                // A damaged size would be a list of that many members.
                let most = facts.size.min(MOST_PROCESSES);
                let group = facts.group(it.group).filter(|group| group.size() <= most);
                let members = group.map(|group| group.members().collect());
                self.says(members.map(About::Meets));
            }
            Event::RmaCollectiveBegin(_) | Event::MpiCollectiveBegin(_) => {
                self.says(Some(About::Collective));
            }
            Event::MpiSend(it) => {
                let to = facts.member_of_comm(it.communicator, it.receiver);
                self.says(to.map(About::Message));
            }
            _ => {}
        }
    }

    fn says(&mut self, about: Option<About>) {
        if let Some(call) = self.calls.last_mut() {
            call.about.extend(about);
        }
    }

    fn operates(
        &mut self,
        id: (RmaWinRef, u64),
        target: Option<u64>,
        number: impl Fn(otf2::id::AttributeRef) -> Option<u64>,
        time: Time,
    ) {
        if let Some(target) = target {
            self.pending.insert((id.0.0, id.1), target);
        }
        self.writes(target, number, time);
        self.says(target.map(About::Target));
    }

    /// Remembers words that were written.
    fn writes(
        &mut self,
        target: Option<u64>,
        number: impl Fn(otf2::id::AttributeRef) -> Option<u64>,
        time: Time,
    ) {
        let Some(target) = target else { return };
        for offset in [attribute::SYMMETRIC_OFFSET, attribute::SIGNAL_OFFSET] {
            if let Some(offset) = number(offset) {
                self.written.insert((target, offset), time.0);
            }
        }
        while self.written.len() > WRITTEN {
            let oldest = self.written.iter().min_by_key(|it| it.1).map(|it| *it.0);
            oldest.and_then(|it| self.written.remove(&it));
        }
    }

    /// Keeps the targets of operations that have not been completed, and not the operations.
    fn finish(&mut self) {
        self.targets = std::mem::take(&mut self.pending).into_values().collect();
        self.targets.sort_unstable();
        self.targets.dedup();
    }
}

/// Names a lock of a window.
fn lock(facts: &ProcessFacts, win: RmaWinRef, remote: Rank, id: LockId) -> Lock {
    let window = facts.window(win).map(|it| (it.name.clone(), it.context)).unwrap_or_default();
    Lock { window, at: facts.member_of_window(win, remote), id: id.0 }
}
