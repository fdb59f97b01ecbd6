//! Lock contention: a process waits for a lock that others hold.
//!
//! | | |
//! |---|---|
//! | pushes | acquiring, releasing and waiting go to the owner of the lock's state |
//! | answers | that owner, once everything before the end of the wait is known |
//! | books | at the waiter, on the path of the call that waited |
//!
//! The wait is the part of the call that is covered by holds of other processes that exclude it. Exclusive holds
//! exclude everything, shared ones exclude exclusive ones. A lock call that also waited for the owner of the lock to
//! progress books as such only the time that no hold covers: contention comes first.
//!
//! Each holder is blamed for the part that its own hold covers. While a lock is handed over, nobody holds it, and yet
//! only its next holder can get it. An exclusive hold therefore excludes others since the release before it, if its
//! holder had requested the lock by then.
//!
//! MPI does not say when a lock was acquired: it may be as late as in the call that releases it. Only requests and
//! releases are known. Sorted by release, a hold begins with its request or with the release before it, whichever is
//! later; for a shared hold only exclusive releases count. A wait can be judged once every process that had requested
//! the lock before its end has released it. The wait ends with the process's own release. What follows from such holds
//! is *inferred*.
//!
//! A lock on all processes of a window (no owner) excludes those on single ones, so one shard keeps all locks of a
//! window and number.

use std::collections::BTreeMap;

use crate::engine::booking::Booking;
use crate::engine::locking::{LockKey, Waiting};
use crate::engine::quantity::Quantity;
use crate::engine::transport::{Message, Outbox};
use crate::patterns::progress::Waited;
use dwell_model::waits::Wait;

/// A message about a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockLetter {
    pub(crate) key: LockKey,
    pub(crate) process: u32,
    pub(crate) what: What,
}

impl Message for LockLetter {}

/// Event in the life of a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// A process requests the lock, and no record will say when it acquires it.
    Request { time: u64, exclusive: bool },
    /// A process that requested the lock in a call holds it from then on.
    Acquire { asked: u64, time: u64, exclusive: bool },
    /// The process has released the lock.
    Release { time: u64 },
    /// A call waited for the lock.
    Wait(Waiting),
    /// The call also waited for progress of the owner, as far as it did not wait for the lock.
    Progress(Waiting, Waited),
}

#[derive(Clone, Copy, Debug)]
struct Hold {
    process: u32,
    /// Time at which the holder requested the lock, if it is recorded.
    asked: u64,
    /// Time since which the hold excludes others, which is not later than `begin`.
    from: u64,
    begin: u64,
    end: u64,
    exclusive: bool,
    /// True if the begin of the hold is not recorded.
    inferred: bool,
}

/// A request that was granted at some time, and its release if that is known.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    process: u32,
    request: u64,
    release: Option<u64>,
    exclusive: bool,
}

/// Outboxes for the results.
pub(crate) struct Outcome<'a> {
    pub(crate) bookings: &'a mut Outbox<Booking>,
    pub(crate) waited: &'a mut Outbox<Waited>,
}

/// State of a lock at the shard that owns it.
#[derive(Debug, Default)]
struct Lock {
    /// Requests whose holds are not known yet.
    epochs: Vec<Epoch>,
    /// Last release that followed from a request, of an exclusive hold and of any.
    exclusive_release: u64,
    last_release: u64,
    /// Holds. Open ones end at the end of time.
    holds: Vec<Hold>,
}

/// Locks of a window and number, by owner, and the calls that waited for them.
#[derive(Debug, Default)]
struct Family {
    locks: BTreeMap<u32, Lock>,
    questions: Vec<(u32, u32, What)>,
}

/// Time in which others held a lock.
struct Covered {
    time: u64,
    /// Part of the time that each holder covered.
    holders: BTreeMap<u32, u64>,
    inferred: bool,
}

impl Lock {
    /// Computes since when holds exclude others. Everything before the horizon is known, and so is the release before a
    /// hold that begins before it.
    fn hand_over(&mut self) {
        let mut ends: Vec<u64> = self.holds.iter().map(|hold| hold.end).collect();
        ends.sort_unstable();
        for hold in self.holds.iter_mut().filter(|it| it.exclusive && !it.inferred) {
            let before = ends.partition_point(|end| *end <= hold.begin);
            let release = before.checked_sub(1).and_then(|last| ends.get(last));
            hold.from = release.map_or(hold.begin, |end| hold.asked.max(*end).min(hold.begin));
        }
    }

    /// Forgets holds that ended before a time, except the last of them: the lock may have been handed over since.
    fn forget(&mut self, floor: u64) {
        let ended = self.holds.iter().map(|hold| hold.end).filter(|end| *end < floor).max();
        let floor = ended.unwrap_or(floor);
        self.holds.retain(|hold| hold.end >= floor);
    }
}

impl Family {
    /// Computes the holds of epochs that were released before the horizon.
    fn settle(&mut self, horizon: u64) {
        let over = |it: &mut Epoch| it.release.is_some_and(|release| release < horizon);
        let mut settled: Vec<(Epoch, u32)> = Vec::new();
        for (&owner, lock) in &mut self.locks {
            settled.extend(lock.epochs.extract_if(.., over).map(|epoch| (epoch, owner)));
        }
        settled.sort_by_key(|(it, owner)| (it.release, it.process, *owner));
        for (Epoch { process, request, release, exclusive }, owner) in settled {
            let end = release.unwrap_or(u64::MAX);
            let of_all = self.locks.get(&LockKey::ALL).map_or(0, |lock| lock.last_release);
            let Some(lock) = self.locks.get_mut(&owner) else { continue };
            let begin = if exclusive {
                request.max(lock.last_release).max(of_all)
            } else {
                request.max(lock.exclusive_release)
            };
            let (asked, from, inferred) = (request, begin, true);
            lock.holds.push(Hold { process, asked, from, begin, end, exclusive, inferred });
            lock.last_release = lock.last_release.max(end);
            if exclusive {
                lock.exclusive_release = lock.exclusive_release.max(end);
            }
        }
    }

    /// Returns the locks that may exclude one on this owner.
    fn related(&self, owner: u32) -> impl Iterator<Item = &Lock> {
        let range = if owner == LockKey::ALL { 0..=LockKey::ALL } else { owner..=owner };
        let all = self.locks.get(&LockKey::ALL).filter(|_| owner != LockKey::ALL);
        self.locks.range(range).map(|(_, lock)| lock).chain(all)
    }

    /// Returns `true` if another process that requested the lock before a time may have held it by then.
    fn is_open(&self, owner: u32, process: u32, before: u64) -> bool {
        let mut epochs = self.related(owner).flat_map(|lock| &lock.epochs);
        epochs.any(|it| it.process != process && it.request < before)
    }

    /// Returns the time in [from, until] that holds which exclude the waiter cover.
    fn covered(
        &self,
        (owner, process): (u32, u32),
        exclusive: bool,
        from: u64,
        until: u64,
    ) -> Covered {
        let mut cut: Vec<(u64, u64, u32, bool)> = self
            .related(owner)
            .flat_map(|lock| &lock.holds)
            .filter(|hold| hold.process != process && (exclusive || hold.exclusive))
            .map(|hold| (hold.from.max(from), hold.end.min(until), hold.process, hold.inferred))
            .filter(|(begin, end, ..)| begin < end)
            .collect();
        cut.sort_unstable();
        let (mut holders, mut reached) = (BTreeMap::new(), from);
        for &(begin, end, holder, _) in &cut {
            *holders.entry(holder).or_default() += end.saturating_sub(begin.max(reached));
            reached = reached.max(end);
        }
        Covered { time: holders.values().sum(), holders, inferred: cut.iter().any(|it| it.3) }
    }

    /// Answers the questions that are decided. Calls that are open since `floor` may have requested the lock before
    /// they say so.
    fn judge(&mut self, horizon: u64, floor: u64, out: &mut Outcome<'_>) {
        let questions = std::mem::take(&mut self.questions);
        if !questions.is_empty() {
            self.locks.values_mut().for_each(Lock::hand_over);
        }
        for (owner, process, what) in questions {
            let (What::Wait(it) | What::Progress(it, _)) = what else { continue };
            let open = || floor < it.leave || self.is_open(owner, process, it.leave);
            let open = horizon != u64::MAX && open();
            if it.leave >= horizon || open {
                self.questions.push((owner, process, what));
                continue;
            }
            let Waiting { location, account, enter, leave, until, exclusive } = it;
            let mut book = |what, amount, blamed, left| {
                if amount > 0 {
                    let begin = enter;
                    let booking = Booking { location, account, what, amount, begin, blamed, left };
                    out.bookings.send(process, booking);
                }
            };
            let covered = |until| self.covered((owner, process), exclusive, enter, until);
            match what {
                What::Progress(_, waited) => {
                    let left = |time: u64| time.saturating_sub(covered(enter + time).time);
                    let held = covered(leave).time;
                    let free = (leave - enter).saturating_sub(held);
                    let booked = if held > 0 { covered(until).time } else { 0 };
                    if let Some(rest) = waited.rest(left, free, (held, booked)) {
                        out.waited.send(process, rest);
                    }
                }
                _ => {
                    let Covered { time, holders, inferred } = covered(until);
                    let mut left = leave - enter;
                    for (holder, time) in holders {
                        book(Quantity::Wait(Wait::LockContention), time, Some(holder), Some(left));
                        left = left.saturating_sub(time);
                    }
                    if inferred {
                        book(Quantity::Inferred(Wait::LockContention), time, None, None);
                    }
                }
            }
        }
    }

    /// Forgets everything that no question can need. Returns `false` if nothing is left.
    fn forget(&mut self, floor: u64) -> bool {
        let pending = self.questions.iter().map(|(_, _, what)| match what {
            What::Wait(it) | What::Progress(it, _) => it.enter,
            _ => u64::MAX,
        });
        // A hold that is not known yet may begin with its request.
        let asked = self.locks.values().flat_map(|lock| &lock.epochs).map(|it| it.request);
        let floor = pending.chain(asked).fold(floor, u64::min);
        self.locks.retain(|_, lock| {
            lock.forget(floor);
            // The last release is needed as long as any process may request the lock.
            lock.last_release > 0 || !lock.holds.is_empty() || !lock.epochs.is_empty()
        });
        !self.locks.is_empty() || !self.questions.is_empty()
    }
}

/// Locks of a shard, by window and number.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    families: BTreeMap<(u32, u64), Family>,
}

impl Locks {
    pub(crate) fn bytes(&self) -> usize {
        let lock = |it: &Lock| {
            it.holds.capacity() * size_of::<Hold>()
                + it.epochs.capacity() * size_of::<Epoch>()
                + size_of::<Lock>() * 3 / 2
        };
        let family = |it: &Family| {
            it.locks.values().map(lock).sum::<usize>()
                + it.questions.capacity() * size_of::<(u32, u32, What)>()
        };
        self.families.values().map(family).sum()
    }

    /// Takes the messages of a window. Those of different processes may be in any order.
    pub(crate) fn take(&mut self, mut letters: Vec<LockLetter>) {
        // Messages of one process are in order already, because one worker wrote them.
        letters.sort_by_key(|letter| (letter.key, letter.process));
        for LockLetter { key, process, what } in letters {
            let family = self.families.entry((key.window, key.lock)).or_default();
            if matches!(what, What::Wait(_) | What::Progress(..)) {
                family.questions.push((key.owner, process, what));
                continue;
            }
            let lock = family.locks.entry(key.owner).or_default();
            let open = |hold: &&mut Hold| hold.process == process && hold.end == u64::MAX;
            match what {
                What::Request { time: request, exclusive } => {
                    lock.epochs.push(Epoch { process, request, release: None, exclusive });
                }
                What::Acquire { asked, time: begin, exclusive } => {
                    let (from, end, inferred) = (begin, u64::MAX, false);
                    lock.holds.push(Hold { process, asked, from, begin, end, exclusive, inferred });
                }
                What::Release { time } => {
                    let asked = |it: &&mut Epoch| it.process == process && it.release.is_none();
                    if let Some(epoch) = lock.epochs.iter_mut().find(asked) {
                        epoch.release = Some(time);
                    } else if let Some(hold) = lock.holds.iter_mut().rev().find(open) {
                        hold.end = time;
                    }
                }
                What::Wait(_) | What::Progress(..) => {}
            }
        }
    }

    /// Judges waits that ended before the horizon, and forgets holds that ended before `floor`, the start of the oldest
    /// lock call that is open or not judged.
    pub(crate) fn judge(&mut self, horizon: u64, floor: u64, out: &mut Outcome<'_>) {
        self.families.retain(|_, family| {
            family.settle(horizon);
            family.judge(horizon, floor, out);
            family.forget(floor)
        });
    }
}
