//! Late signal: a process waits for a change of its memory that another process makes later.
//!
//! | | |
//! |---|---|
//! | pushes | every operation that may raise a flag goes to its target, since the waiter cannot know whom to ask |
//! | answers | the waiter itself, once everything before the end of its wait is known |
//! | books | at the waiter, on the path of the call that waited |
//!
//! The releaser is the last operation that covers the address and began before the wait ended. If it began after the
//! wait did and at another process, the wait lasts from the enter of the call to that begin. If the address was not
//! recorded, any small operation counts as the releaser, and the wait is *inferred*.
//!
//! A polling loop over calls that test memory is treated alike, from its first call to the end of the call that found
//! the change, and is told which process made it.
//!
//! The archive does not record where large operations act. If no small one released a wait, and a large one began
//! meanwhile, that one may have released it: the wait is counted as not judged.

use dwell_model::archive::SMALL;

use crate::engine::accounts::Account;
use crate::engine::polling::Release;
use crate::engine::quantity::Quantity;
use crate::engine::transport::Message;
use dwell_model::waits::Wait;

/// An operation that may raise a flag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signal {
    pub(crate) target: u32,
    pub(crate) origin: u32,
    pub(crate) begin: u64,
    /// Offset that the operation acts on, if the archive states it.
    pub(crate) offset: Option<u64>,
    pub(crate) bytes: u64,
}

impl Message for Signal {}

impl Signal {
    fn covers(&self, wanted: Option<u64>) -> bool {
        match (wanted, self.offset) {
            (None, _) => self.bytes <= SMALL,
            (Some(address), Some(begin)) => {
                begin <= address && address < begin.saturating_add(self.bytes.max(1))
            }
            (Some(_), None) => false,
        }
    }
}

/// A call that waited for a change of memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlagWait {
    pub(crate) location: u32,
    pub(crate) account: Account,
    pub(crate) enter: u64,
    pub(crate) leave: u64,
    pub(crate) offset: Option<u64>,
    /// Number of the polling loop, if this is one. The loop is told who ended it, and nothing is booked.
    pub(crate) polls: Option<u32>,
}

/// Signals that reached a process, and its waits that are not judged yet.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    raised: Vec<Signal>,
    waits: Vec<FlagWait>,
    /// Polling loops over `shmem_test` and the like that have ended, each with the process that changed the tested word.
    pub(crate) releases: Vec<Release>,
    /// Number of waits during which no operation was seen to raise the flag.
    pub(crate) unseen: u64,
    /// Number of waits that a large operation may have ended.
    pub(crate) doubtful: u64,
}

impl Inbox {
    pub(crate) fn raise(&mut self, signal: Signal) {
        self.raised.push(signal);
    }

    pub(crate) fn wait(&mut self, wait: FlagWait) {
        self.waits.push(wait);
    }

    pub(crate) fn bytes(&self) -> usize {
        self.raised.capacity() * size_of::<Signal>() + self.waits.capacity() * size_of::<FlagWait>()
    }

    /// Returns `true` if there is nothing to judge and nothing to forget.
    pub(crate) fn is_empty(&self) -> bool {
        self.raised.is_empty() && self.waits.is_empty()
    }

    /// Judges waits that ended before the horizon, and forgets signals that no wait can need. `open` is the start of
    /// the oldest wait that is still open.
    pub(crate) fn judge(
        &mut self,
        me: u32,
        horizon: u64,
        open: u64,
        mut book: impl FnMut(&FlagWait, Quantity, u64, u32),
    ) {
        self.raised.sort_unstable_by_key(|it| (it.begin, it.origin, it.offset, it.bytes));
        let (raised, doubtful, releases) = (&self.raised, &mut self.doubtful, &mut self.releases);
        self.waits.retain(|wait| {
            if wait.leave >= horizon {
                return true;
            }
            let end = raised.partition_point(|it| it.begin < wait.leave);
            let until = raised.get(..end).unwrap_or_default().iter().rev();
            let mut during = until.take_while(|it| it.begin > wait.enter);
            let releaser = during.clone().find(|it| it.covers(wait.offset));
            if let Some(number) = wait.polls {
                let by = releaser.filter(|it| it.origin != me).map(|it| (it.begin, it.origin));
                releases.push(Release { number, by });
                return false;
            }
            let large = |it: &Signal| it.offset.is_none() && it.bytes > SMALL && it.origin != me;
            self.unseen += u64::from(releaser.is_none());
            *doubtful += u64::from(releaser.is_none() && during.any(large));
            if let Some(it) = releaser.filter(|it| it.origin != me) {
                let amount = it.begin - wait.enter;
                book(wait, Quantity::Wait(Wait::LateSignal), amount, it.origin);
                if wait.offset.is_none() {
                    book(wait, Quantity::Inferred(Wait::LateSignal), amount, it.origin);
                }
            }
            false
        });
        let pending = self.waits.iter().map(|wait| wait.enter).min().unwrap_or(u64::MAX);
        let floor = horizon.min(open).min(pending);
        let from = self.raised.partition_point(|it| it.begin < floor);
        self.raised.drain(..from);
    }
}
