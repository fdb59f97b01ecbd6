//! Operations between locations, whether anybody waited for them or not: puts, gets, atomics, messages, locks that go from
//! holder to holder, and collectives; and the locks that locations hold.
//!
//! The index does not have them. They are read from the trace when a view needs them, which takes one chunk of each location and
//! what follows in the span. Three things need more than the span: the number of a message among those of the same sender,
//! receiver and tag, the number of a collective on its communicator, where the recorder has not written it, and the previous holder of a
//! lock. The first two are counted from the begin of the trace, as far as that is not too much; the last is known if all
//! locations are read.
//!
//! A record inside of a call whose caller has records of its own belongs to an inner layer, as a message of MPI in a call of
//! coarrays does. It is left out, as it is where waits are judged.

mod computing;
mod counters;
mod join;
mod read;
mod trace;

use std::collections::HashMap;

use crate::ids::Location;
use crate::span::Span;

pub use computing::Computing;
pub use counters::{Counter, Sample};
pub use trace::Trace;

/// Kind of an operation between two locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    /// The origin writes to the memory of its partner.
    Put,
    /// The origin reads from the memory of its partner.
    Get,
    /// The origin changes the memory of its partner, and gets what was there before.
    Atomic,
    /// The origin changes the memory of its partner in one step, and gets nothing back.
    Update,
    /// The origin sends a message, which its partner receives.
    Message,
    /// The origin releases a lock, which its partner acquires next.
    Lock,
}

impl OperationKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Put, Self::Get, Self::Atomic, Self::Update, Self::Message, Self::Lock];

    /// Returns the name of the kind, as the page knows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Get => "get",
            Self::Atomic => "atomic",
            Self::Update => "update",
            Self::Message => "message",
            Self::Lock => "lock",
        }
    }
}

/// An operation between two locations. The partner of a put, get or atomic is the first location of the target process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Operation {
    /// Kind of the operation.
    pub kind: OperationKind,
    /// Location that issued the operation, sent the message or released the lock.
    pub origin: Location,
    /// Location that the operation acted on, received the message or acquired the lock.
    pub partner: Location,
    /// From the record of the operation to that of its completion at the origin; for a message to its receipt, and for a lock to its
    /// acquisition. If the completion is not known, the span is empty.
    pub span: Span,
    /// Number of bytes that were moved.
    pub bytes: u64,
}

/// A collective, as far as its members are among the locations that were read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Joined {
    /// Members in the order of their locations, each with the span of its call.
    pub members: Vec<(Location, Span)>,
}

/// An exclusive lock that a location holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Held {
    /// Location that holds the lock.
    pub location: Location,
    /// From its acquisition to its release. Ends that are outside of what was read are those of the span.
    pub span: Span,
}

/// Operations of some locations in a span of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Operations between locations, in the order of their begins.
    pub list: Vec<Operation>,
    /// Collectives in the order of their begins.
    pub joined: Vec<Joined>,
    /// Exclusive locks that were acquired or released in the span, in the order of their acquisitions.
    pub held: Vec<Held>,
    /// True if there was too much to read, so that there are no operations here.
    pub too_many: bool,
    /// True if messages and collectives without a number are left out, because there is too much before the span.
    pub uncounted: bool,
}

/// The longest of several operations that would be drawn over each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// The longest operation of the bundle, and of several equally long ones the first.
    pub operation: Operation,
    /// Number of operations in the bundle.
    pub count: u64,
    /// Bytes of all operations in the bundle.
    pub bytes: u64,
}

impl Operations {
    /// Returns arrows between rows, the longest first, and the number of operations in them. If there are more operations than
    /// `most`, those of one kind that go from one row to another in a part of the span are one arrow.
    pub fn arrows(
        &self,
        row: &dyn Fn(Location) -> Option<usize>,
        span: Span,
        most: usize,
    ) -> (Vec<Arrow>, u64) {
        let between = |it: &&Operation| {
            let rows = row(it.origin).zip(row(it.partner));
            rows.is_some_and(|(from, to)| from != to)
        };
        let shown: Vec<&Operation> = self.list.iter().filter(between).collect();
        let mut parts = u64::MAX;
        let mut arrows: Vec<Arrow> = Vec::new();
        while parts > 0 {
            arrows.clear();
            let mut bundles: HashMap<_, usize> = HashMap::new();
            for (number, it) in shown.iter().enumerate() {
                let at = it.span.from.0.saturating_sub(span.from.0);
                let part = match parts {
                    u64::MAX => number as u64,
                    _ => {
                        (u128::from(at) * u128::from(parts) / u128::from(span.length().max(1)))
                            as u64
                    }
                };
                let place = *bundles
                    .entry((it.kind, row(it.origin), row(it.partner), part))
                    .or_insert(arrows.len());
                match arrows.get_mut(place) {
                    Some(arrow) => {
                        arrow.count += 1;
                        arrow.bytes = arrow.bytes.saturating_add(it.bytes);
                        if it.span.length() > arrow.operation.span.length() {
                            arrow.operation = **it;
                        }
                    }
                    None => arrows.push(Arrow { operation: **it, count: 1, bytes: it.bytes }),
                }
            }
            if arrows.len() <= most {
                break;
            }
            parts = parts.min(512) / 2;
        }
        arrows.sort_by_key(|it| (std::cmp::Reverse(it.operation.span.length()), it.operation));
        arrows.truncate(most);
        let count = arrows.iter().map(|it| it.count).sum();
        (arrows, count)
    }
}
