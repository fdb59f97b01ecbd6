//! Finds the longest waits in a rectangle of locations and time.
//!
//! Every entry of a level knows the longest wait below it. The search always continues where the longest of all may be, so that
//! it reads few blocks other than those that have the results.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::cursor::Cursor;
use crate::error::Result;
use crate::ids::Location;
use crate::index::Index;
use crate::levels::NODE;
use crate::slices::Slice;
use crate::span::{Span, Time};

/// Something that may contain a long wait. Entries that are not resolved yet precede slices of the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    longest: u64,
    what: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The earliest wait is the greatest, and then the one of the lowest location.
    Slice(Reverse<Time>, Reverse<Location>),
    /// A level and a node of it.
    Node(Location, usize, u64),
    Block(Location, u64),
}

impl Index {
    /// Returns the longest waits that overlap a rectangle and are `wanted`, the longest first, at most `most`.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn worst_waits(
        &self,
        locations: Range<Location>,
        span: Span,
        most: usize,
        wanted: &dyn Fn(&Slice) -> bool,
    ) -> Result<Vec<(Location, Slice)>> {
        let mut heap: BinaryHeap<Candidate> = BinaryHeap::new();
        for number in locations.start.0..locations.end.0.min(self.locations()) {
            let location = Location(number);
            let Some((_, about)) = self.about(location) else { continue };
            if about.longest > 0 && about.span.common(span).length() > 0 {
                let top = crate::levels::counts(about.blocks).len() - 1;
                let what = Kind::Node(location, top, 0);
                heap.push(Candidate { longest: about.longest, what });
            }
        }
        let mut found: Vec<(Location, Slice)> = Vec::new();
        while let Some(candidate) = heap.pop() {
            if found.len() == most {
                break;
            }
            match candidate.what {
                Kind::Slice(Reverse(from), Reverse(location)) => {
                    found.extend(self.at(location, from)?.map(|it| (location, it)));
                }
                Kind::Block(location, block) => {
                    let Some(mut cursor) = Cursor::new(self, location) else { continue };
                    for slice in cursor.load(block)? {
                        let is_inside = slice.span.common(span).length() > 0;
                        if slice.wait.is_some() && is_inside && wanted(slice) {
                            let what = Kind::Slice(Reverse(slice.span.from), Reverse(location));
                            heap.push(Candidate { longest: slice.span.length(), what });
                        }
                    }
                }
                Kind::Node(location, level, number) => {
                    let Some(mut cursor) = Cursor::new(self, location) else { continue };
                    // The end of an entry is the begin of the one that was stored before it; of the first of a node it is not known.
                    let mut end = cursor.about().span.to;
                    for (place, entry) in cursor.node(level, number)?.iter().enumerate() {
                        let own = Span { from: entry.from, to: end };
                        end = entry.from;
                        if entry.longest == 0 || own.common(span).length() == 0 {
                            continue;
                        }
                        let number =
                            number.saturating_mul(NODE as u64).saturating_add(place as u64);
                        let what = match level {
                            0 => Kind::Block(location, number),
                            _ => Kind::Node(location, level - 1, number),
                        };
                        heap.push(Candidate { longest: entry.longest, what });
                    }
                }
            }
        }
        Ok(found)
    }
}
