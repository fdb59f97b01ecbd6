//! State of one thread, from the events that it has recorded.

use std::collections::BTreeMap;

use dwell_model::archive::{Meaning, STARTS_RECORDING};
use dwell_model::operation::Operation;
use otf2::close::visit_events;
use otf2::enums::{MeasurementMode, RmaSyncLevel};
use otf2::id::{CallingContextRef, GroupRef, LockId, Rank, RegionRef, RmaWinRef, Time};
use otf2::{Attribute, AttributeValue, Event, List};

use crate::definitions::attribute;
use crate::experiment::MOST_PROCESSES;
use crate::facts::OpenCall;
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
    /// Time of the first event that was read on the clock of the recorder; `None` if there are no events.
    pub first: Option<u64>,
    /// Time of the last event, likewise.
    pub last: Option<u64>,
    /// Number of events that were read, which tells whether the thread goes on.
    pub events: u64,
    /// True if these are all events of the thread.
    pub is_whole: bool,
    /// True if the thread records nothing at present.
    pub is_paused: bool,
    /// Call of a runtime that was left last, with its place.
    pub left: Option<(RegionRef, Option<CallingContextRef>)>,
    /// Locks that the thread has asked for or holds.
    pub locks: BTreeMap<Lock, LockState>,
    /// Words of other processes that it has written: rank and offset, and the time.
    pub written: BTreeMap<(u64, u64), u64>,
    /// Epochs that the thread has opened and not closed, with the ranks of the other processes.
    pub epochs: BTreeMap<Epoch, Vec<u64>>,
    /// Number of epochs that it has opened with each process.
    pub opened: BTreeMap<Epoch, BTreeMap<u64, u64>>,
    /// Time at which it last ended a call in which it and the process of a rank wait for each other.
    pub met: BTreeMap<u64, u64>,
    /// Number of the last collective that the thread has ended, for each group of all processes.
    pub ended: BTreeMap<Everyone, u64>,
    /// Ranks of the targets of operations that have not been completed.
    pub targets: Vec<u64>,
    /// True if it is known what was entered before the first event that was read.
    knows_open: bool,
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
    /// True if it has completed an operation and may be followed by the same call, as one that reads a word of another
    /// process may be.
    pub is_over: bool,
    /// True if the region stands for several calls that have found nothing so far.
    pub repeats: bool,
}

impl Call {
    /// Returns `true` for calls that close the epoch which they name.
    fn closes_epoch(&self) -> bool {
        let operation = self.meaning.map(|it| it.operation);
        matches!(operation, Some(Operation::CompleteEpoch | Operation::WaitEpoch))
    }
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
    /// An epoch with processes of these ranks, which the call opens or closes.
    Epoch(Epoch, Vec<u64>),
}

/// An epoch of general active target synchronisation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch {
    /// Name and number of its window.
    pub window: (String, u32),
    /// True if it exposes memory of the process; false if it accesses that of others.
    pub exposes: bool,
}

/// What tells groups of all processes apart, in the same way at every process: a communicator, or a window of this name and
/// number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Everyone {
    /// A communicator, by its identity.
    Comm(u64),
    /// A window, by its name and number.
    Window(String, u32),
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
        let first = chunks.first().and_then(|it| super::first_event(it));
        let is_whole = first == Some(1);
        let mut thread = Self { number, is_whole, ..Self::default() };
        // Number of the event that follows what was read.
        let mut next = 1;
        for chunk in chunks {
            let first = super::first_event(chunk).unwrap_or(next);
            if first != next {
                thread.begin_in(facts.open_calls(number, first), facts);
            }
            let before = thread.events;
            thread.take(chunk, facts);
            next = first.wrapping_add(thread.events - before);
        }
        thread.finish();
        thread
    }

    /// Returns the call that the program has made: of the layers that it is in, the outermost.
    pub fn call(&self) -> Option<&Call> {
        self.calls.iter().find(|it| it.meaning.is_some())
    }

    /// Returns `true` if the program has made or ended a call since `before`, when the same thread was read. What a layer below
    /// does inside a call is not counted.
    pub fn has_moved_since(&self, before: &Self) -> bool {
        let place = |it: &Self| it.call().map(|it| (it.region, it.since));
        match (place(self), place(before)) {
            (Some(now), Some(before)) => now != before,
            (None, None) => (self.last, self.events) != (before.last, before.events),
            _ => true,
        }
    }

    /// Begins with a chunk that does not follow what was read before, at whose beginning these calls were open.
    fn begin_in(&mut self, open: Option<&[OpenCall]>, facts: &ProcessFacts) {
        let Some(open) = open else { return };
        self.knows_open = true;
        let call = |it: &OpenCall| {
            let region = RegionRef(u32::try_from(it.region).ok()?);
            let site = it.site.checked_sub(1).and_then(|it| u32::try_from(it).ok());
            let meaning = facts.region(region).and_then(|it| Meaning::parse(&it.meaning));
            // What the call has said about itself is in earlier chunks, but for what its operation says.
            let about = match meaning.map(|it| it.operation) {
                Some(Operation::Collective(_)) => vec![About::Collective],
                Some(Operation::WaitChange) => vec![About::Change(None)],
                _ => Vec::new(),
            };
            let (since, site, repeats) = (it.since, site.map(CallingContextRef), it.count > 1);
            Some(Call { region, meaning, since, site, about, is_over: false, repeats })
        };
        self.calls = open.iter().filter_map(call).collect();
    }

    /// Goes on with the events of a chunk.
    fn take(&mut self, chunk: &[u8], facts: &ProcessFacts) {
        visit_events(chunk, &mut |time, event, attributes| {
            self.first.get_or_insert(time.0);
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
                // An enter event may be written later than its call is open, and so follow in the next chunk.
                let is_it = |call: &Call| (call.region, call.since) == (region, since);
                if let Some(place) = self.calls.iter().position(is_it).filter(|_| self.knows_open) {
                    self.calls.truncate(place);
                }
                let (about, is_over, repeats) = (Vec::new(), false, false);
                self.calls.push(Call { region, meaning, since, site, about, is_over, repeats });
            }
            Event::Leave(it) => {
                // What was entered before the first chunk that was read is not known.
                let place = self.calls.iter().rposition(|call| call.region == it.region);
                let call = place.and_then(|place| self.calls.drain(place..).next());
                if call.is_none() && !self.knows_open {
                    self.calls.clear();
                }
                for about in call.iter().flat_map(|it| &it.about) {
                    match about {
                        About::Epoch(epoch, _) if call.as_ref().is_some_and(Call::closes_epoch) => {
                            self.epochs.remove(epoch);
                        }
                        About::Meets(ranks) => {
                            self.met.extend(ranks.iter().map(|it| (*it, time.0)));
                        }
                        _ => {}
                    }
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
                let known = self.pending.remove(&(it.win.0, it.matching_id.0));
                if let Some(call) = self.calls.last_mut().filter(|_| known.is_some()) {
                    call.is_over = true;
                }
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
                if let Some(members) = members(facts, it.group) {
                    self.synchronises(window_name(facts, it.win), it.sync_level, members);
                }
            }
            Event::RmaCollectiveBegin(_) | Event::MpiCollectiveBegin(_) => {
                self.says(Some(About::Collective));
            }
            Event::RmaCollectiveEnd(it) => {
                let window = facts.window(it.win).filter(|it| {
                    facts.shared.group(it.group).is_some_and(|it| it.size() == facts.size)
                });
                let of = window.map(|it| Everyone::Window(it.name.clone(), it.context));
                self.ended.extend(of.zip(number(attribute::SEQUENCE)));
            }
            Event::MpiCollectiveEnd(it) => {
                let comm = facts.comm(it.communicator).filter(|it| {
                    facts.shared.group(it.group).is_some_and(|it| it.size() == facts.size)
                });
                let of = comm.map(|it| Everyone::Comm(it.identity));
                self.ended.extend(of.zip(number(attribute::SEQUENCE)));
            }
            Event::MeasurementOnOff(it) => {
                self.is_paused = it.measurement_mode == MeasurementMode::Off;
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

    /// Remembers whom a call synchronises with, by the operation of the call.
    fn synchronises(&mut self, window: (String, u32), level: RmaSyncLevel, members: Vec<u64>) {
        let operation = self.calls.last().and_then(|it| it.meaning).map(|it| it.operation);
        let exposes = matches!(
            operation,
            Some(Operation::PostEpoch | Operation::WaitEpoch | Operation::TestEpoch)
        );
        let epoch = Epoch { window, exposes };
        match operation {
            Some(Operation::StartEpoch | Operation::PostEpoch) => {
                let opened = self.opened.entry(epoch.clone()).or_default();
                members.iter().for_each(|it| *opened.entry(*it).or_default() += 1);
                self.epochs.insert(epoch.clone(), members.clone());
                self.says(Some(About::Epoch(epoch, members)));
            }
            // The epoch is closed when the call ends.
            Some(Operation::CompleteEpoch | Operation::WaitEpoch) => {
                self.says(Some(About::Epoch(epoch, members)));
            }
            Some(Operation::TestEpoch) if level != RmaSyncLevel::NONE => {
                self.epochs.remove(&epoch);
            }
            Some(Operation::TestEpoch) => {}
            _ => self.says(Some(About::Meets(members))),
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

/// Returns the ranks of the members of a group.
fn members(facts: &ProcessFacts, group: GroupRef) -> Option<Vec<u64>> {
    // A damaged size would be a list of that many members.
    let most = facts.size.min(MOST_PROCESSES);
    let group = facts.group(group).filter(|group| group.size() <= most)?;
    Some(group.members().collect())
}

/// Returns what tells a window apart from others, in the same way at every process.
fn window_name(facts: &ProcessFacts, win: RmaWinRef) -> (String, u32) {
    facts.window(win).map(|it| (it.name.clone(), it.context)).unwrap_or_default()
}

/// Names a lock of a window.
fn lock(facts: &ProcessFacts, win: RmaWinRef, remote: Rank, id: LockId) -> Lock {
    Lock { window: window_name(facts, win), at: facts.member_of_window(win, remote), id: id.0 }
}
