//! Operations and completions that follow one another at a location.
//!
//! Operations are *in a row* if they are blocking, and each begins after the one before it with no more computing in between
//! than that one took, and no call that completes operations or synchronises. Whether one needs the result of another is not
//! recorded; with so little computing it often does not.
//!
//! A completion is *repeated* if exactly one operation came between it and the last completion on the same call path, nothing
//! else that synchronises, and no more computing than the last operation and its completion took together.

use crate::accounts::Account;
use crate::paths::Path;

/// How many calls of an account followed others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Following {
    /// Operations in a row behind one of the same account on the same target, and completions that were repeated.
    pub(crate) again: u64,
    /// All other operations in a row behind another.
    pub(crate) others: u64,
    /// The time, in nanoseconds, by which rows would be shorter if these were under way together with those before them: the sum
    /// of the lengths but for the longest.
    pub(crate) overlap: u64,
}

/// What a location has done since it last synchronised. Every operation changes it, so its fields are plain numbers.
#[derive(Debug, Default)]
pub(crate) struct Row {
    /// How many operations were issued, ever and until the last completion.
    operations: u64,
    completed: u64,
    /// When the last operation began.
    enter: u64,
    /// An operation that begins no later than this is in a row with the last one.
    until: u64,
    /// How long the longest operation in the row took.
    longest: u64,
    /// Account and target of the last operation.
    last: u64,
    completion: Completion,
}

/// A call that completed operations, with the last of these.
#[derive(Clone, Copy, Debug, Default)]
struct Completion {
    /// [`Path::TOP`] if there is none.
    path: u32,
    begin: u64,
    end: u64,
}

impl Row {
    /// An operation on another process is over.
    #[inline(always)]
    pub(crate) fn operation(
        &mut self,
        (enter, leave): (u64, u64),
        account: Account,
        target: u32,
        blocking: bool,
        following: &mut Following,
    ) {
        let (length, until) = (leave - enter, self.until);
        self.operations += 1;
        self.enter = enter;
        if !blocking {
            self.until = 0;
            return;
        }
        self.until = leave.saturating_add(length);
        let last = u64::from(account.0) << 32 | u64::from(target);
        if enter > until {
            self.last = last;
            self.longest = length;
            return;
        }
        if self.last == last {
            following.again += 1;
        } else {
            self.last = last;
            following.others += 1;
            following.overlap += length.min(self.longest);
        }
        self.longest = self.longest.max(length);
    }

    /// A call that completes or orders operations is over. Returns whether it is repeated.
    #[inline(never)]
    pub(crate) fn complete(&mut self, (enter, leave): (u64, u64), path: Path) -> bool {
        let before = self.completion;
        let operations = self.operations - self.completed;
        let begin = if operations > 0 { self.enter } else { enter };
        let again = operations == 1
            && before.path == path.0
            && begin.saturating_sub(before.end) <= before.end - before.begin;
        self.completion = Completion { path: path.0, begin, end: leave };
        (self.completed, self.until) = (self.operations, 0);
        again
    }

    /// A lock is taken for the operations that follow. Where the operation before had its own, that is part of the row.
    pub(crate) fn lock(&mut self, (enter, leave): (u64, u64)) {
        let took = self.completion.end - self.completion.begin;
        if self.operations > self.completed || enter.saturating_sub(self.completion.end) > took {
            return self.interrupt();
        }
        self.completion.end = leave.max(self.completion.end);
        self.completion.begin = self.completion.end.saturating_sub(took);
        self.until = 0;
    }

    /// Something happens that ends every row.
    #[inline(always)]
    pub(crate) fn interrupt(&mut self) {
        self.completion.path = Path::TOP.0;
        (self.completed, self.until) = (self.operations, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: Account = Account(1);
    const OTHER: Account = Account(2);
    const QUIET: Path = Path(7);

    /// What is added for an operation, as `again`, `others` and `overlap`.
    fn operation(
        row: &mut Row,
        when: (u64, u64),
        of: Account,
        to: u32,
        blocking: bool,
    ) -> [u64; 3] {
        let mut following = Following::default();
        row.operation(when, of, to, blocking, &mut following);
        let Following { again, others, overlap } = following;
        [again, others, overlap]
    }

    fn put(row: &mut Row, when: (u64, u64)) {
        assert_eq!(operation(row, when, GET, 1, false), [0; 3]);
    }

    #[test]
    fn a_row_ends_with_computing() {
        let mut row = Row::default();
        assert_eq!(operation(&mut row, (100, 110), GET, 1, true), [0; 3]);
        assert_eq!(operation(&mut row, (120, 150), GET, 1, true), [1, 0, 0]);
        // Another target; the longest of the three is 30.
        assert_eq!(operation(&mut row, (180, 200), GET, 2, true), [0, 1, 20]);
        assert_eq!(operation(&mut row, (200, 240), OTHER, 2, true), [0, 1, 30]);
        assert_eq!(operation(&mut row, (281, 290), OTHER, 2, true), [0; 3]);
    }

    #[test]
    fn what_does_not_block_is_in_no_row() {
        let mut row = Row::default();
        assert_eq!(operation(&mut row, (100, 110), GET, 1, true), [0; 3]);
        assert_eq!(operation(&mut row, (110, 111), OTHER, 1, false), [0; 3]);
        assert_eq!(operation(&mut row, (111, 121), GET, 1, true), [0; 3]);
        row.interrupt();
        assert_eq!(operation(&mut row, (121, 131), GET, 1, true), [0; 3]);
    }

    #[test]
    fn completions_are_repeated_after_single_operations() {
        let mut row = Row::default();
        put(&mut row, (100, 101));
        assert!(!row.complete((101, 110), QUIET));
        put(&mut row, (120, 121));
        assert!(row.complete((121, 130), QUIET));
        // Two operations.
        put(&mut row, (130, 131));
        put(&mut row, (131, 132));
        assert!(!row.complete((132, 140), QUIET));
        // Another call path, and none at all.
        put(&mut row, (140, 141));
        assert!(!row.complete((141, 150), Path(8)));
        assert!(!row.complete((150, 151), Path(8)));
        // More computing than the pair before took, which was 9.
        put(&mut row, (151, 152));
        assert!(row.complete((152, 160), Path(8)));
        put(&mut row, (170, 171));
        assert!(!row.complete((171, 180), Path(8)));
        // Something that synchronises.
        row.interrupt();
        put(&mut row, (181, 182));
        assert!(!row.complete((182, 190), Path(8)));
    }

    #[test]
    fn a_lock_for_each_operation_is_part_of_the_row() {
        let mut row = Row::default();
        row.lock((90, 100));
        put(&mut row, (100, 101));
        assert!(!row.complete((101, 110), QUIET));
        row.lock((120, 150));
        put(&mut row, (151, 152));
        assert!(row.complete((152, 160), QUIET));
        // Computing before the lock.
        row.lock((300, 310));
        put(&mut row, (310, 311));
        assert!(!row.complete((311, 320), QUIET));
    }
}
