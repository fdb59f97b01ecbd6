//! Records of a location in the dependency log, read backwards.

use dwell_log::read::{LogError, Records};
use dwell_trace::time::Time;

/// Records of a location, the last first, of which one block is in memory.
pub(crate) struct Reader<T> {
    /// Records of the block that are left, the first one first.
    list: Vec<T>,
    blocks: Box<dyn Records<T>>,
}

impl<T> Reader<T> {
    pub(crate) fn new(blocks: impl Records<T> + 'static) -> Self {
        Self { list: Vec::new(), blocks: Box::new(blocks) }
    }

    /// Returns the next record, and passes it.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<T>, LogError> {
        Ok(if self.is_there()? { self.list.pop() } else { None })
    }

    /// Returns the next record without passing it.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<&T>, LogError> {
        Ok(if self.is_there()? { self.list.last() } else { None })
    }

    #[inline]
    fn is_there(&mut self) -> Result<bool, LogError> {
        Ok(!self.list.is_empty() || self.blocks.refill(&mut self.list)?)
    }

    /// Passes all records of a time or later, where `time` is what [`Records::pass`] goes by.
    pub(crate) fn pass(&mut self, from: Time, time: impl Fn(&T) -> Time) -> Result<(), LogError> {
        self.blocks.pass(from);
        while self.is_there()? {
            self.list.truncate(self.list.partition_point(|it| time(it) < from));
            if !self.list.is_empty() {
                break;
            }
        }
        Ok(())
    }
}
