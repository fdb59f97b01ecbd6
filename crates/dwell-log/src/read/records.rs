//! Records of a stream of blocks, in their order and backwards, of which one block at a time is in memory.

use dwell_trace::time::Time;

use super::{LogError, Stream};

/// Records of a location, the first one first.
pub trait Forward<T>: Send {
    /// Returns the next record, or `None` after the last.
    fn next(&mut self) -> Result<Option<T>, LogError>;
}

/// Records of a stream in their order.
pub(super) struct Forwards<T, F> {
    stream: Stream,
    /// Ends of the blocks that are left, the last first.
    ends: Vec<u64>,
    read: F,
    /// Records of the current block, and the place of the next.
    list: Vec<T>,
    next: usize,
}

impl<T, F> Forwards<T, F>
where
    F: Fn(&mut &[u8], &mut Vec<T>) -> Option<()>,
{
    /// Finds the blocks of a stream, which takes one read and 8 bytes of memory for each.
    pub(super) fn new(stream: Stream, read: F) -> Result<Self, LogError> {
        let mut ends = Vec::new();
        let mut left = stream.clone();
        while left.begin < left.end {
            ends.push(left.end);
            left.skip()?;
        }
        Ok(Self { stream, ends, read, list: Vec::new(), next: 0 })
    }
}

impl<T, F> Forward<T> for Forwards<T, F>
where
    T: Copy + Send,
    F: Fn(&mut &[u8], &mut Vec<T>) -> Option<()> + Send,
{
    fn next(&mut self) -> Result<Option<T>, LogError> {
        loop {
            if let Some(record) = self.list.get(self.next) {
                self.next += 1;
                return Ok(Some(*record));
            }
            let Self { stream, ends, read, list, next } = self;
            let Some(end) = ends.pop() else { return Ok(None) };
            stream.end = end;
            list.clear();
            *next = 0;
            match stream.with_last(|mut numbers| read(&mut numbers, list))? {
                Some(Some(())) => {}
                Some(None) => {
                    let reason = "a block has numbers that make no sense";
                    return Err(stream.group.damaged(end, reason));
                }
                None => return Ok(None),
            }
        }
    }
}

/// Records of a location, the last first. After an error there are no more.
pub trait Records<T>: Iterator<Item = Result<T, LogError>> + Send {
    /// Says that records of this time or a later one are not needed. Blocks that have no others are not decoded, so that
    /// their records do not come; those of other blocks may come.
    fn pass(&mut self, from: Time);

    /// Adds the records of the last block that is left to an empty list, the first one first. Returns `false` if there is
    /// none.
    ///
    /// # Errors
    /// Returns an error if the block is damaged. There are no more records then.
    fn refill(&mut self, list: &mut Vec<T>) -> Result<bool, LogError>;
}

/// Records of a stream.
pub(super) struct Backwards<T, E, F> {
    stream: Stream,
    /// Returns the time of the first record of a block, which is the earliest.
    first: E,
    /// Reads all records of a block.
    read: F,
    /// Records of the current block that are left.
    list: Vec<T>,
    /// Time from which on records are not needed.
    limit: Time,
}

impl<T, E, F> Backwards<T, E, F>
where
    E: Fn(&[u8]) -> Option<Time>,
    F: Fn(&mut &[u8], &mut Vec<T>) -> Option<()>,
{
    pub(super) fn new(stream: Stream, first: E, read: F) -> Self {
        Self { stream, first, read, list: Vec::new(), limit: Time::END }
    }

    fn fill(&mut self) -> Result<bool, LogError> {
        let Self { stream, first, read, list, limit } = self;
        loop {
            let end = stream.end;
            let read = stream.with_last(|mut numbers| {
                let is_late = *limit < Time::END && first(numbers).is_some_and(|it| it >= *limit);
                if is_late { Some(false) } else { read(&mut numbers, list).map(|()| true) }
            })?;
            match read {
                None => return Ok(false),
                Some(Some(true)) => return Ok(true),
                Some(Some(false)) => {}
                Some(None) => {
                    return Err(stream
                        .group
                        .damaged(end, "a block has numbers that make no sense"));
                }
            }
        }
    }
}

impl<T, E, F> Records<T> for Backwards<T, E, F>
where
    T: Send,
    E: Fn(&[u8]) -> Option<Time> + Send,
    F: Fn(&mut &[u8], &mut Vec<T>) -> Option<()> + Send,
{
    fn pass(&mut self, from: Time) {
        self.limit = from;
    }

    fn refill(&mut self, list: &mut Vec<T>) -> Result<bool, LogError> {
        // The caller's list is filled in place, so that there is one buffer and not two.
        std::mem::swap(list, &mut self.list);
        let mut filled = Ok(true);
        while self.list.is_empty() && matches!(filled, Ok(true)) {
            filled = self.fill();
        }
        if filled.is_err() {
            self.stream.end = self.stream.begin;
            self.list.clear();
        }
        std::mem::swap(list, &mut self.list);
        filled
    }
}

impl<T, E, F> Iterator for Backwards<T, E, F>
where
    E: Fn(&[u8]) -> Option<Time>,
    F: Fn(&mut &[u8], &mut Vec<T>) -> Option<()>,
{
    type Item = Result<T, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.list.pop() {
                return Some(Ok(record));
            }
            match self.fill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.stream.end = self.stream.begin;
                    self.list.clear();
                    return Some(Err(error));
                }
            }
        }
    }
}
