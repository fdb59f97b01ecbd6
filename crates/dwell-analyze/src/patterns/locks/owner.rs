//! State of locks at the shards that own them: which process held a lock when, and which calls waited for it.

use std::collections::BTreeMap;

use dwell_log::edge::{Edge, Kind};
use dwell_log::quantity::Quantity;
use dwell_model::waits::Wait;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::locks::{LockKey, LockMode, LockOwner};
use dwell_trace::time::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::Locks;
use crate::engine::booking::{Booking, Piece};
use crate::engine::message::Message;
use crate::engine::regions::Span;
use crate::protocol::Answering;
use crate::protocol::locks::Waiting;
use crate::protocol::progress_wait::Waited;

/// A message about a lock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct LockMessage {
    pub(super) key: LockKey,
    pub(super) process: ProcessNumber,
    pub(super) location: LocationNumber,
    /// True if threads hold the lock, and not processes.
    pub(super) by_thread: bool,
    pub(super) what: LockEvent,
}

impl Message for LockMessage {}

/// Event in the life of a lock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum LockEvent {
    /// A process requests the lock, and no record will say when it acquires it.
    Request { time: Time, mode: LockMode },
    /// A process that requested the lock in a call holds it from then on.
    Acquire { asked: Time, time: Time, mode: LockMode },
    /// The process has released the lock.
    Release { time: Time },
    /// A call waited for the lock.
    Wait(Waiting),
}

/// A call that waited for a lock, and its wait for progress, if one was found as well.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    pub(super) owner: LockOwner,
    pub(super) process: ProcessNumber,
    pub(super) waiting: Waiting,
    pub(super) waited: Option<Waited>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    process: ProcessNumber,
    /// Location that requested or acquired the lock.
    location: LocationNumber,
    /// Time at which the holder requested the lock, if it is recorded.
    asked: Time,
    /// Time since which the hold excludes others, which is not later than `begin`.
    from: Time,
    begin: Time,
    end: Time,
    mode: LockMode,
    /// True if the begin of the hold is not recorded.
    inferred: bool,
    /// True if a thread holds the lock, and excludes the other threads of its process.
    by_thread: bool,
}

impl Hold {
    /// Returns `true` if the hold may exclude a location of a process.
    pub(super) fn is_by_another(&self, process: ProcessNumber, location: LocationNumber) -> bool {
        if self.by_thread { self.location != location } else { self.process != process }
    }
}

/// A lock epoch of a process: the time of the request, and the time of the release if a record of it has been read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Epoch {
    process: ProcessNumber,
    location: LocationNumber,
    request: Time,
    release: Option<Time>,
    mode: LockMode,
}

/// State of a lock at the shard that owns it.
#[derive(Debug, Default)]
pub(super) struct Lock {
    /// Requests whose holds are not known yet.
    pub(super) epochs: Vec<Epoch>,
    /// Last release that followed from a request, of an exclusive hold and of any.
    pub(super) exclusive_release: Time,
    pub(super) last_release: Time,
    /// Holds. Open ones end at the end of time.
    pub(super) holds: Vec<Hold>,
}

/// Locks of a window and number, by owner, and the calls that waited for them.
#[derive(Debug, Default)]
pub(super) struct Family {
    pub(super) locks: BTreeMap<LockOwner, Lock>,
    pub(super) questions: Vec<Question>,
}

/// Time in which others held a lock.
pub(super) struct Covered {
    time: Duration,
    /// Intervals in which one holder covered the time alone or was the first to do so, in order.
    pieces: Vec<(ProcessNumber, LocationNumber, Span)>,
    inferred: bool,
}

impl Lock {
    /// Computes since when holds exclude others. Everything before the horizon is known, and so is the release before a
    /// hold that begins before it.
    pub(super) fn hand_over(&mut self) {
        let mut ends: Vec<Time> = self.holds.iter().map(|hold| hold.end).collect();
        ends.sort_unstable();
        for hold in
            self.holds.iter_mut().filter(|it| it.mode == LockMode::Exclusive && !it.inferred)
        {
            let before = ends.partition_point(|end| *end <= hold.begin);
            let release = before.checked_sub(1).and_then(|last| ends.get(last));
            hold.from = release.map_or(hold.begin, |end| hold.asked.max(*end).min(hold.begin));
        }
    }

    /// Forgets holds that ended before a time, except the last of them: the lock may have been handed over since.
    pub(super) fn forget(&mut self, floor: Time) {
        let ended = self.holds.iter().map(|hold| hold.end).filter(|end| *end < floor).max();
        let floor = ended.unwrap_or(floor);
        self.holds.retain(|hold| hold.end >= floor);
    }
}

impl Family {
    /// Computes the holds of epochs that were released before the horizon.
    pub(super) fn settle(&mut self, horizon: Time) {
        let over = |it: &mut Epoch| it.release.is_some_and(|release| release < horizon);
        let mut settled: Vec<(Epoch, LockOwner)> = Vec::new();
        for (&owner, lock) in &mut self.locks {
            settled.extend(lock.epochs.extract_if(.., over).map(|epoch| (epoch, owner)));
        }
        settled.sort_by_key(|(it, owner)| (it.release, it.process, *owner));
        for (Epoch { process, location, request, release, mode }, owner) in settled {
            let end = release.unwrap_or(Time::END);
            let of_all =
                self.locks.get(&LockOwner::All).map_or(Time::BEGIN, |lock| lock.last_release);
            let Some(lock) = self.locks.get_mut(&owner) else { continue };
            let begin = if mode == LockMode::Exclusive {
                request.max(lock.last_release).max(of_all)
            } else {
                request.max(lock.exclusive_release)
            };
            let (asked, from, inferred, by_thread) = (request, begin, true, false);
            let hold =
                Hold { process, location, asked, from, begin, end, mode, inferred, by_thread };
            lock.holds.push(hold);
            lock.last_release = lock.last_release.max(end);
            if mode == LockMode::Exclusive {
                lock.exclusive_release = lock.exclusive_release.max(end);
            }
        }
    }

    /// Returns the locks that may exclude one on this owner.
    pub(super) fn related(&self, owner: LockOwner) -> impl Iterator<Item = &Lock> {
        const FIRST: LockOwner = LockOwner::Process(ProcessNumber(0));
        let range = if owner == LockOwner::All { FIRST..=LockOwner::All } else { owner..=owner };
        let all = self.locks.get(&LockOwner::All).filter(|_| owner != LockOwner::All);
        self.locks.range(range).map(|(_, lock)| lock).chain(all)
    }

    /// Returns `true` if another process that requested the lock before a time may have held it by then.
    pub(super) fn is_open(&self, owner: LockOwner, process: ProcessNumber, before: Time) -> bool {
        let mut epochs = self.related(owner).flat_map(|lock| &lock.epochs);
        epochs.any(|it| it.process != process && it.request < before)
    }

    /// Returns the time in [from, until] that holds which exclude the waiter cover.
    pub(super) fn covered(
        &self,
        (owner, process, waiter): (LockOwner, ProcessNumber, LocationNumber),
        mode: LockMode,
        from: Time,
        until: Time,
    ) -> Covered {
        let mut cut: Vec<(Time, Time, ProcessNumber, LocationNumber, bool)> = self
            .related(owner)
            .flat_map(|lock| &lock.holds)
            .filter(|hold| hold.is_by_another(process, waiter) && mode.excludes(hold.mode))
            .map(|hold| {
                let (begin, end) = (hold.from.max(from), hold.end.min(until));
                (begin, end, hold.process, hold.location, hold.inferred)
            })
            .filter(|(begin, end, ..)| begin < end)
            .collect();
        cut.sort_unstable();
        let (mut pieces, mut reached) = (Vec::new(), from);
        for &(begin, end, holder, location, _) in &cut {
            let begin = begin.max(reached);
            if begin < end {
                pieces.push((holder, location, Span { begin, end }));
            }
            reached = reached.max(end);
        }
        let time = pieces.iter().map(|it| it.2.length()).sum();
        Covered { time, pieces, inferred: cut.iter().any(|it| it.4) }
    }

    /// Answers the questions that are decided. Calls that are open since `floor` may have requested the lock before
    /// they say so.
    pub(super) fn judge(&mut self, horizon: Time, floor: Time, out: &mut Answering<'_, ()>) {
        let questions = std::mem::take(&mut self.questions);
        if !questions.is_empty() {
            self.locks.values_mut().for_each(Lock::hand_over);
        }
        for question in questions {
            let Question { owner, process, waiting, waited } = question;
            let Waiting { location, account, enter, leave, until, mode } = waiting;
            let open = || floor < leave || self.is_open(owner, process, leave);
            let open = horizon != Time::END && open();
            if leave >= horizon || open {
                self.questions.push(question);
                continue;
            }
            let covered = |until| self.covered((owner, process, location), mode, enter, until);
            if let Some(waited) = waited {
                let left = |time: Duration| time.saturating_sub(covered(enter + time).time);
                let held = covered(leave).time;
                let free = (leave - enter).saturating_sub(held);
                let booked =
                    if held > Duration::ZERO { covered(until).time } else { Duration::ZERO };
                if let Some(rest) = waited.without_contention(left, free, (held, booked)) {
                    out.shared.waited.send(process, rest);
                }
                continue;
            }
            let what = Quantity::Wait(Wait::LockContention);
            let Covered { time, pieces, inferred } = covered(until);
            let mut holders: BTreeMap<ProcessNumber, (LocationNumber, Duration)> = BTreeMap::new();
            for (holder, culprit, span) in pieces {
                holders.entry(holder).or_insert((culprit, Duration::ZERO)).1 += span.length();
                let (from, to) = (span.begin, span.end);
                let edge = Edge { waiter: location, culprit, from, to, what, kind: Kind::Certain };
                out.engine.edges.send(process, edge);
            }
            let mut book = |what, Duration(amount), culprit, left| {
                if amount > 0 {
                    let (begin, piece) = (enter, Piece::None);
                    out.engine.bookings.send(
                        process,
                        Booking { location, account, what, amount, begin, culprit, piece, left },
                    );
                }
            };
            let mut left = leave - enter;
            for (culprit, time) in holders.into_values() {
                book(what, time, Some(culprit), Some(left));
                left = left.saturating_sub(time);
            }
            if inferred {
                book(Quantity::Inferred(Wait::LockContention), time, None, None);
            }
        }
    }

    /// Forgets everything that no question can need. Returns `false` if nothing is left.
    pub(super) fn forget(&mut self, floor: Time) -> bool {
        let pending = self.questions.iter().map(|question| question.waiting.enter);
        // A hold that is not known yet may begin with its request.
        let asked = self.locks.values().flat_map(|lock| &lock.epochs).map(|it| it.request);
        let floor = pending.chain(asked).fold(floor, Time::min);
        self.locks.retain(|_, lock| {
            lock.forget(floor);
            // The last release is needed as long as any process may request the lock.
            lock.last_release > Time::BEGIN || !lock.holds.is_empty() || !lock.epochs.is_empty()
        });
        !self.locks.is_empty() || !self.questions.is_empty()
    }
}

impl Locks {
    /// Takes the messages of a window. Those of different processes may be in any order.
    pub(super) fn take(&mut self, mut messages: Vec<LockMessage>) {
        // Messages of one process are in order already, because one worker wrote them.
        messages.sort_by_key(|message| (message.key, message.process));
        for LockMessage { key, process, location, by_thread, what } in messages {
            let family = self.families.entry((key.window, key.lock)).or_default();
            if let LockEvent::Wait(waiting) = what {
                let owner = key.owner;
                family.questions.push(Question { owner, process, waiting, waited: None });
                continue;
            }
            let lock = family.locks.entry(key.owner).or_default();
            let open =
                |hold: &&mut Hold| !hold.is_by_another(process, location) && hold.end == Time::END;
            match what {
                LockEvent::Request { time: request, mode } => {
                    let release = None;
                    lock.epochs.push(Epoch { process, location, request, release, mode });
                }
                LockEvent::Acquire { asked, time: begin, mode } => {
                    let (from, end, inferred) = (begin, Time::END, false);
                    lock.holds.push(Hold {
                        process,
                        location,
                        asked,
                        from,
                        begin,
                        end,
                        mode,
                        inferred,
                        by_thread,
                    });
                }
                LockEvent::Release { time } => {
                    let asked = |it: &&mut Epoch| it.process == process && it.release.is_none();
                    if let Some(epoch) = lock.epochs.iter_mut().find(asked) {
                        epoch.release = Some(time);
                    } else if let Some(hold) = lock.holds.iter_mut().rev().find(open) {
                        hold.end = time;
                    }
                }
                LockEvent::Wait(_) => {}
            }
        }
    }

    /// Judges waits that ended before the horizon, and forgets holds that ended before `floor`, the start of the oldest
    /// lock call that is open or not judged.
    pub(super) fn judge(&mut self, horizon: Time, floor: Time, out: &mut Answering<'_, ()>) {
        self.families.retain(|_, family| {
            family.settle(horizon);
            family.judge(horizon, floor, out);
            family.forget(floor)
        });
    }
}
