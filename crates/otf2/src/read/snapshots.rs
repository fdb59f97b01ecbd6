//! The reader of the snapshots of one location.

use crate::error::Result;
use crate::id::Time;
use crate::read::stamped::{Stamped, never_single};
use crate::read::stream::Stream;
use crate::record::{Record, Scope};
use crate::snapshot::Snapshot;
use crate::value::{Attribute, List};
use crate::wire::{Input, Wire};

/// A snapshot record with the time of its snapshot. It borrows the memory of its reader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SnapshotRecord<'a> {
    /// Time at which the snapshot was taken, in ticks of the location's clock; clock correction does not apply.
    pub time: Time,
    /// Attributes of the record; most records have none.
    pub attributes: List<'a, Attribute>,
    /// The record itself, with the ids of the location; mapping tables do not apply.
    pub snapshot: Snapshot<'a>,
}

/// Reads the snapshot records of one location in the order of its file. After an error it gives no more records.
#[derive(Debug)]
pub struct SnapshotReader {
    records: Stamped,
}

impl SnapshotReader {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { records: Stamped::new(stream, never_single) }
    }

    /// Returns the next record, or `None` after the last. The record borrows the reader.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read. The next call then returns `None`.
    #[allow(clippy::should_implement_trait)] // The record borrows the reader: no `Iterator` can.
    pub fn next(&mut self) -> Result<Option<SnapshotRecord<'_>>> {
        let Some(frame) = self.records.take()? else {
            return Ok(None);
        };
        let stream = &self.records.stream;
        let (bytes, order) = (stream.bytes(), stream.header.order);
        let read = || {
            let input = Input::new(bytes, frame.start, frame.end, order, None);
            let snapshot = Snapshot::read(Scope::Global, frame.id, input)?;
            let list = self.records.attributes;
            let attributes = if list.end == 0 {
                List::default()
            } else {
                Wire::read(&mut Input::new(bytes, list.start + 1, list.end, order, None))?
            };
            Ok(SnapshotRecord { time: Time(self.records.time), attributes, snapshot })
        };
        read().map(Some).map_err(|fault| self.records.fault(frame, fault))
    }

    /// Moves to the last snapshot taken at or before this time, or to the beginning of the file if all are later. The
    /// time is one of the location's clock, without correction.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read.
    pub fn seek(&mut self, time: Time) -> Result<()> {
        self.records.enter_last(|_, first| first.is_some_and(|first| first <= time.0))?;
        // The chunk may begin in the middle of a snapshot; its start must be found.
        let mut start = None;
        while let Some(frame) = self.records.find()? {
            if self.records.time > time.0 {
                break;
            }
            if frame.id == crate::snapshot::SnapshotStart::ID {
                start = Some(self.records.number);
            }
            self.records.take()?;
        }
        let number = start.unwrap_or(0);
        self.records.enter_last(|first, _| first <= number.saturating_add(1))?;
        while self.records.number < number && self.records.take()?.is_some() {}
        Ok(())
    }
}
