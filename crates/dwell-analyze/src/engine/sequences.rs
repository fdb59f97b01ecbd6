//! Detects operations and completions that follow one another at a location.
//!
//! Operations are *in a row* if they are blocking, each begins after the one before with no more computing in between
//! than that one took, and no call in between completes operations or synchronises. The archive does not say whether
//! one needs the result of another; with so little computing in between it often does not.
//!
//! A completion is *repeated* if exactly one operation lies between it and the previous completion on the same call
//! path, no other call synchronises in between, and the computing since then, before and after the operation, takes no
//! longer than the calls of the previous operation and its completion. Computing between an operation and its completion
//! overlaps with the transfer, which is what a program ought to do.

use dwell_trace::ids::ProcessNumber;
use dwell_trace::time::{Duration, Time};

use crate::engine::accounts::{Account, OperationEnd};
use crate::engine::paths::Path;
use crate::engine::regions::Span;

/// Numbers of calls of an account that followed other calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SequenceCounts {
    /// Number of operations in a row after one of the same account on the same target, and of repeated completions.
    pub(crate) again: u64,
    /// Number of all other operations in a row.
    pub(crate) others: u64,
    /// Time in nanoseconds by which rows would be shorter if their operations were in flight together: the sum of the
    /// lengths without the longest.
    pub(crate) overlap: Duration,
}

/// Activity of a location since it last synchronised. Every operation changes it, so its fields are plain numbers.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    /// Number of operations issued so far, and their number at the last completion.
    operations: u64,
    completed: u64,
    /// Start and end of the call of the last operation.
    enter: Time,
    leave: Time,
    /// Latest start of an operation that is still in a row with the last one.
    until: Time,
    /// Length of the longest operation in the row.
    longest: Duration,
    /// Account and target of the last operation.
    last: u64,
    completion: Completion,
}

/// A call that completed operations, together with the last of these operations.
#[derive(Clone, Copy, Debug, Default)]
struct Completion {
    /// Path of the call, or [`Path::TOP`] if there was none.
    path: Path,
    end: Time,
    /// Length of both calls together.
    length: Duration,
}

impl Sequence {
    /// Adds an operation on another process after its call has ended, and counts it if it is in a row with the
    /// operation before it. An operation that completes later is not in a row.
    #[inline(always)]
    pub(crate) fn operation(
        &mut self,
        Span { begin: enter, end: leave }: Span,
        account: Account,
        target: ProcessNumber,
        end: OperationEnd,
        counts: &mut SequenceCounts,
    ) {
        let (length, until) = (leave - enter, self.until);
        self.operations += 1;
        (self.enter, self.leave) = (enter, leave);
        if end == OperationEnd::Later {
            self.until = Time::BEGIN;
            return;
        }
        self.until = leave.later_by(length);
        let current = u64::from(account.0) << 32 | u64::from(target.0);
        if enter > until {
            self.last = current;
            self.longest = length;
            return;
        }
        if self.last == current {
            counts.again += 1;
        } else {
            self.last = current;
            counts.others += 1;
            counts.overlap += length.min(self.longest);
        }
        self.longest = self.longest.max(length);
    }

    /// Adds a call that completes or orders operations and has ended. Returns `true` if the completion is repeated.
    #[inline(never)]
    pub(crate) fn complete(&mut self, Span { begin: enter, end: leave }: Span, path: Path) -> bool {
        let before = self.completion;
        let operations = self.operations - self.completed;
        let operation = if operations > 0 {
            Span { begin: self.enter, end: self.leave }
        } else {
            Span { begin: enter, end: enter }
        };
        let computing = operation.begin.since(before.end) + enter.since(operation.end);
        let again = operations == 1 && before.path == path && computing <= before.length;
        let length = (operation.end - operation.begin) + (leave - enter);
        self.completion = Completion { path, end: leave, length };
        (self.completed, self.until) = (self.operations, Time::BEGIN);
        again
    }

    /// Adds a call that takes a lock for the operations that follow. If the operation before had a lock of its own, the
    /// new lock is part of the row.
    pub(crate) fn lock(&mut self, Span { begin: enter, end: leave }: Span) {
        if self.operations > self.completed
            || enter.since(self.completion.end) > self.completion.length
        {
            return self.interrupt();
        }
        self.completion.end = leave.max(self.completion.end);
        self.until = Time::BEGIN;
    }

    /// Ends every row.
    #[inline(always)]
    pub(crate) fn interrupt(&mut self) {
        self.completion.path = Path::TOP;
        (self.completed, self.until) = (self.operations, Time::BEGIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use OperationEnd::{InCall, Later};

    const GET: Account = Account(1);
    const OTHER: Account = Account(2);
    const QUIET: Path = Path(7);

    fn span(begin: u64, end: u64) -> Span {
        Span { begin: Time(begin), end: Time(end) }
    }

    /// Returns the numbers that an operation adds: `again`, `others` and `overlap`.
    fn operation(
        sequence: &mut Sequence,
        (begin, end): (u64, u64),
        of: Account,
        to: u32,
        ends: OperationEnd,
    ) -> [u64; 3] {
        let mut counts = SequenceCounts::default();
        sequence.operation(span(begin, end), of, ProcessNumber(to), ends, &mut counts);
        let SequenceCounts { again, others, overlap } = counts;
        [again, others, overlap.0]
    }

    fn put(sequence: &mut Sequence, when: (u64, u64)) {
        assert_eq!(operation(sequence, when, GET, 1, Later), [0; 3]);
    }

    #[test]
    fn a_row_ends_with_computing() {
        let mut sequence = Sequence::default();
        assert_eq!(operation(&mut sequence, (100, 110), GET, 1, InCall), [0; 3]);
        assert_eq!(operation(&mut sequence, (120, 150), GET, 1, InCall), [1, 0, 0]);
        // Another target; the longest of the three is 30.
        assert_eq!(operation(&mut sequence, (180, 200), GET, 2, InCall), [0, 1, 20]);
        assert_eq!(operation(&mut sequence, (200, 240), OTHER, 2, InCall), [0, 1, 30]);
        assert_eq!(operation(&mut sequence, (281, 290), OTHER, 2, InCall), [0; 3]);
    }

    #[test]
    fn what_does_not_block_is_in_no_row() {
        let mut sequence = Sequence::default();
        assert_eq!(operation(&mut sequence, (100, 110), GET, 1, InCall), [0; 3]);
        assert_eq!(operation(&mut sequence, (110, 111), OTHER, 1, Later), [0; 3]);
        assert_eq!(operation(&mut sequence, (111, 121), GET, 1, InCall), [0; 3]);
        sequence.interrupt();
        assert_eq!(operation(&mut sequence, (121, 131), GET, 1, InCall), [0; 3]);
    }

    #[test]
    fn completions_are_repeated_after_single_operations() {
        let mut sequence = Sequence::default();
        put(&mut sequence, (100, 101));
        assert!(!sequence.complete(span(101, 110), QUIET));
        put(&mut sequence, (120, 121));
        assert!(sequence.complete(span(121, 130), QUIET));
        // Two operations.
        put(&mut sequence, (130, 131));
        put(&mut sequence, (131, 132));
        assert!(!sequence.complete(span(132, 140), QUIET));
        // Another call path, and none at all.
        put(&mut sequence, (140, 141));
        assert!(!sequence.complete(span(141, 150), Path(8)));
        assert!(!sequence.complete(span(150, 151), Path(8)));
        // More computing than the pair before took, which was 9.
        put(&mut sequence, (151, 152));
        assert!(sequence.complete(span(152, 160), Path(8)));
        put(&mut sequence, (170, 171));
        assert!(!sequence.complete(span(171, 180), Path(8)));
        // Something that synchronises.
        sequence.interrupt();
        put(&mut sequence, (181, 182));
        assert!(!sequence.complete(span(182, 190), Path(8)));
    }

    #[test]
    fn a_lock_for_each_operation_is_part_of_the_row() {
        let mut sequence = Sequence::default();
        sequence.lock(span(90, 100));
        put(&mut sequence, (100, 101));
        assert!(!sequence.complete(span(101, 110), QUIET));
        sequence.lock(span(120, 150));
        put(&mut sequence, (151, 152));
        assert!(sequence.complete(span(152, 160), QUIET));
        // Computing before the lock.
        sequence.lock(span(300, 310));
        put(&mut sequence, (310, 311));
        assert!(!sequence.complete(span(311, 320), QUIET));
    }
}
