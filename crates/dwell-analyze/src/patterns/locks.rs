//! Lock contention: a process waits for a lock that others hold.
//!
//! | | |
//! |---|---|
//! | pushes | acquiring, releasing and waiting go to the home of the lock |
//! | answers | the home, once everything before the end of the wait is known |
//! | books | at the waiter, on the path of the call that waited |
//!
//! The wait is the part of the call that is covered by holds of other processes that exclude it.
//! Exclusive holds exclude everything, shared ones exclude exclusive ones. A lock call that also waited
//! for the owner of the lock to progress books only what is not covered so as that: contention comes
//! first.
//!
//! MPI does not say when a lock was obtained: it may be as late as in the call that gives it back. What
//! is known are requests and releases. Sorted by release, a hold begins with its request or with the
//! release before it, whichever is later. A wait can be judged once everyone who had asked before its
//! end has released.

use std::collections::BTreeMap;

use crate::metric::Quantity;
use crate::paths::Path;
use crate::patterns::collectives::Booking;
use crate::transport::{Letter, Post};
use crate::world::World;

/// A lock: window, owner, number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LockKey {
    pub(crate) window: u32,
    pub(crate) owner: u32,
    pub(crate) lock: u64,
}

impl LockKey {
    /// The process at whose home the lock is kept.
    pub(crate) fn home(&self, world: &World) -> u32 {
        let count = world.system.processes.len().max(1) as u64;
        let mixed = (self.lock ^ u64::from(self.window) << 32 ^ u64::from(self.owner))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed >> 32) % count) as u32
    }
}

/// Something about a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockLetter {
    pub(crate) key: LockKey,
    pub(crate) process: u32,
    pub(crate) what: What,
}

impl Letter for LockLetter {}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// A process asks for the lock, and nobody will say when it gets it.
    Request { time: u64, exclusive: bool },
    /// A process has the lock from then on.
    Acquire { time: u64, exclusive: bool },
    /// It has given it back.
    Release { time: u64 },
    /// A call waited for it.
    Wait(Waiting),
    /// The call waited for progress of the owner until these times, unless it waited for the lock.
    Progress { waiting: Waiting, low: u64, high: u64, confirmed: bool },
}

/// A call that waited for a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) location: u32,
    pub(crate) path: Path,
    pub(crate) enter: u64,
    pub(crate) leave: u64,
    pub(crate) exclusive: bool,
}

#[derive(Clone, Copy, Debug)]
struct Hold {
    process: u32,
    begin: u64,
    end: u64,
    exclusive: bool,
}

/// A request that was granted some time, and its release, if that is known.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    process: u32,
    request: u64,
    release: Option<u64>,
    exclusive: bool,
}

/// What a home knows of a lock.
#[derive(Debug, Default)]
struct Lock {
    /// Requests whose holds are not known.
    epochs: Vec<Epoch>,
    /// The last release of an exclusive hold that followed from a request.
    last_release: u64,
    /// Holds, open ones with an end beyond everything.
    holds: Vec<Hold>,
    questions: Vec<(u32, What)>,
}

impl Lock {
    /// Finds the holds of epochs that were released before the horizon.
    fn settle(&mut self, horizon: u64) {
        let over = |it: &mut Epoch| it.release.is_some_and(|release| release < horizon);
        let mut settled: Vec<Epoch> = self.epochs.extract_if(.., over).collect();
        settled.sort_by_key(|it| (it.release, it.process));
        for Epoch { process, request, release, exclusive } in settled {
            let end = release.unwrap_or(u64::MAX);
            let begin = request.max(self.last_release);
            self.holds.push(Hold { process, begin, end, exclusive });
            if exclusive {
                self.last_release = self.last_release.max(end);
            }
        }
    }

    /// Whether someone else who asked before a time may have had the lock by then.
    fn is_open(&self, process: u32, before: u64) -> bool {
        self.epochs.iter().any(|it| it.process != process && it.request < before)
    }

    /// Time in [from, until] covered by holds that exclude the waiter, and who held last.
    fn covered(&self, process: u32, exclusive: bool, from: u64, until: u64) -> (u64, Option<u32>) {
        let mut cut: Vec<(u64, u64, u32)> = self
            .holds
            .iter()
            .filter(|hold| hold.process != process && (exclusive || hold.exclusive))
            .map(|hold| (hold.begin.max(from), hold.end.min(until), hold.process))
            .filter(|(begin, end, _)| begin < end)
            .collect();
        cut.sort_unstable();
        let (mut sum, mut reached) = (0, from);
        for &(begin, end, _) in &cut {
            sum += end.saturating_sub(begin.max(reached));
            reached = reached.max(end);
        }
        (sum, cut.iter().max_by_key(|it| (it.1, it.2)).map(|it| it.2))
    }
}

/// The locks of a shard.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    locks: BTreeMap<LockKey, Lock>,
}

impl Locks {
    /// Takes letters of a window; those of different processes may come in any order.
    pub(crate) fn take(&mut self, mut letters: Vec<LockLetter>) {
        // Letters of one process are in their order already: one worker wrote them.
        letters.sort_by_key(|letter| (letter.key, letter.process));
        for LockLetter { key, process, what } in letters {
            let lock = self.locks.entry(key).or_default();
            let open = |hold: &&mut Hold| hold.process == process && hold.end == u64::MAX;
            match what {
                What::Request { time: request, exclusive } => {
                    lock.epochs.push(Epoch { process, request, release: None, exclusive });
                }
                What::Acquire { time: begin, exclusive } => {
                    lock.holds.push(Hold { process, begin, end: u64::MAX, exclusive });
                }
                What::Release { time } => {
                    let asked = |it: &&mut Epoch| it.process == process && it.release.is_none();
                    if let Some(epoch) = lock.epochs.iter_mut().find(asked) {
                        epoch.release = Some(time);
                    } else if let Some(hold) = lock.holds.iter_mut().rev().find(open) {
                        hold.end = time;
                    }
                }
                What::Wait(_) | What::Progress { .. } => lock.questions.push((process, what)),
            }
        }
    }

    /// Judges waits that ended before the horizon; forgets holds that ended before `floor`, which is
    /// when the oldest lock call that is open or not judged began.
    pub(crate) fn judge(&mut self, horizon: u64, floor: u64, out: &mut Post<Booking>) {
        self.locks.retain(|_, lock| {
            lock.settle(horizon);
            let questions = std::mem::take(&mut lock.questions);
            for (process, what) in questions {
                let (What::Wait(it) | What::Progress { waiting: it, .. }) = what else { continue };
                let open = horizon != u64::MAX && lock.is_open(process, it.leave);
                if it.leave >= horizon || open {
                    lock.questions.push((process, what));
                    continue;
                }
                let Waiting { location, path, enter, leave, exclusive } = it;
                let mut book = |what, amount, blamed| {
                    if amount > 0 {
                        let booking = Booking { location, path, what, amount, blamed };
                        out.send(process, booking);
                    }
                };
                match what {
                    What::Progress { low, high, confirmed, .. } => {
                        let left = |until: u64| {
                            let (covered, _) = lock.covered(process, exclusive, enter, until);
                            (until - enter).saturating_sub(covered)
                        };
                        let (one, two) = (left(enter + low), left(enter + high));
                        if confirmed {
                            book(Quantity::ProgressLow, one.min(two), None);
                            book(Quantity::ProgressMargin, one.max(two) - one.min(two), None);
                        } else {
                            book(Quantity::ProgressUnconfirmed, one.max(two), None);
                        }
                    }
                    _ => {
                        let (covered, holder) = lock.covered(process, exclusive, enter, leave);
                        book(Quantity::LockContention, covered, holder);
                    }
                }
            }
            let enter = |what: &What| match what {
                What::Wait(it) | What::Progress { waiting: it, .. } => it.enter,
                _ => u64::MAX,
            };
            let pending = lock.questions.iter().map(|(_, what)| enter(what));
            // A hold that is not known yet may begin with its request.
            let asked = lock.epochs.iter().map(|it| it.request);
            let floor = pending.chain(asked).fold(floor, u64::min);
            lock.holds.retain(|hold| hold.end >= floor);
            // The last release is needed as long as anyone may ask.
            lock.last_release > 0
                || !lock.holds.is_empty()
                || !lock.questions.is_empty()
                || !lock.epochs.is_empty()
        });
    }
}
