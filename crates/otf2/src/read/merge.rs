//! Events of several locations in one stream, ordered by time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::error::{Error, Result};
use crate::id::{LocationRef, Time};
use crate::read::events::{EventReader, EventRecord};

/// Position of a location in the merged order: the time of its next event, then its id, then its index.
type Place = (Time, LocationRef, usize);

/// Merges the events of several locations by time. Events with equal times come in the order of their locations, and
/// events of one location always in the order of its file. [`Archive::merged`](crate::Archive::merged) makes it.
#[derive(Debug, Default)]
pub struct MergedReader {
    readers: Vec<EventReader>,
    /// Position of each location that has more events, except the current one.
    next: BinaryHeap<Reverse<Place>>,
    /// Index of the location whose event was returned last.
    current: Option<usize>,
    /// Errors found while opening and looking ahead, which the caller has not seen yet.
    errors: VecDeque<Error>,
}

impl MergedReader {
    pub(crate) fn add(&mut self, reader: EventReader) {
        self.readers.push(reader);
        let place = self.place(self.readers.len() - 1);
        self.next.extend(place.map(Reverse));
    }

    /// Keeps an error for the caller of [`MergedReader::next`].
    pub(crate) fn report(&mut self, error: Error) {
        self.errors.push_back(error);
    }

    /// Returns the position of the next event of a location, or `None` if it has no more.
    fn place(&mut self, index: usize) -> Option<Place> {
        let reader = self.readers.get_mut(index)?;
        match reader.peek_time() {
            Ok(time) => time.map(|time| (time, reader.location(), index)),
            Err(error) => {
                self.errors.push_back(error);
                None
            }
        }
    }

    /// Returns the next event and its location, or `None` after the last. The event borrows the reader, so it must be
    /// dropped before the next call.
    ///
    /// # Errors
    /// Fails if a location is damaged. The events of that location end where its damage begins; the next call continues
    /// with the other locations.
    #[allow(clippy::should_implement_trait)] // The event borrows the reader: no `Iterator` can.
    pub fn next(&mut self) -> Result<Option<(LocationRef, EventRecord<'_>)>> {
        let mine = self.current.take().and_then(|index| self.place(index));
        // A location is often the earliest several times in a row: no need to touch the heap then.
        let first = match (mine, self.next.peek()) {
            (Some(mine), Some(Reverse(other))) if *other < mine => {
                self.next.push(Reverse(mine));
                self.next.pop().map(|Reverse(place)| place)
            }
            (Some(mine), _) => Some(mine),
            (None, _) => self.next.pop().map(|Reverse(place)| place),
        };
        self.current = first.map(|place| place.2);
        if let Some(error) = self.errors.pop_front() {
            return Err(error); // The event stays where it is for the next call.
        }
        let reader = self.current.and_then(|index| self.readers.get_mut(index));
        let Some(reader) = reader else {
            return Ok(None);
        };
        let location = reader.location();
        Ok(reader.next()?.map(|record| (location, record)))
    }
}
