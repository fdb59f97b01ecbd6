//! Reading the snapshots of one location.

use crate::error::Result;
use crate::id::Time;
use crate::read::stamped::{Stamped, never_single};
use crate::read::stream::Stream;
use crate::record::{Record, Scope};
use crate::snapshot::Snapshot;
use crate::value::{Attribute, List};
use crate::wire::{Input, Wire};

/// A snapshot record with the time of its snapshot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SnapshotRecord<'a> {
    /// When the snapshot was taken.
    pub time: Time,
    /// Extra data beside the record.
    pub attributes: List<'a, Attribute>,
    /// The record.
    pub snapshot: Snapshot<'a>,
}

/// Streams the snapshot records of one location.
#[derive(Debug)]
pub struct SnapshotReader {
    records: Stamped,
}

impl SnapshotReader {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { records: Stamped::new(stream, never_single) }
    }

    /// The next record, or `None` behind the last.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read. The next call returns `None`.
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

    /// Goes to the last snapshot taken at or before this time, or to the first of all.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read.
    pub fn seek(&mut self, time: Time) -> Result<()> {
        self.records.enter_last(|_, first| first.is_some_and(|first| first <= time.0))?;
        // The chunk may begin in the middle of a snapshot; the start must be looked for.
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
