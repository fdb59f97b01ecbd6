//! Finds communication that takes longer than necessary although no process waits for another.
//!
//! A call that moves a thousand elements one by one is not delayed by another process, so it has no wait. All calls of
//! its class are equally slow, so none of its time is unexplained either. Yet the same data could be moved in a
//! fraction of the time. This module looks for such [`Waste`] in the time of calls beyond their waits, their *rests*,
//! and estimates what another way of doing the same could save. The estimate has two bounds: the lower one counts the
//! transfer of the calls, which is the fastest tenth of their class; the upper one counts their whole rests.
//!
//! The replay gathers integer sums for each account of a location ([`SequenceCounts`](crate::engine::sequences::SequenceCounts)), so results depend neither on windows
//! nor on threads. The estimates follow at the end, when the time that calls of each sort need is known
//! ([`Savings::add`]).

mod hot;
mod savings;

use dwell_trace::ids::LocationNumber;
use dwell_trace::world::World;
use serde::{Deserialize, Serialize};

use crate::engine::accounts::ExpectedTimes;
use crate::engine::owned::{Members, Owned};
use crate::engine::paths::Path;
use crate::engine::pattern::{DividedCalls, Pattern};
pub(crate) use hot::{HotTarget, Received, join_received, received};
use savings::{Known, Savings};
pub(crate) use savings::{Saving, part};

/// Inefficient communication of the locations of a shard.
#[derive(Debug)]
pub(crate) struct Inefficient {
    /// Savings that other ways to communicate would bring, by location.
    savings: Owned<LocationNumber, Savings>,
}

impl Inefficient {
    /// Returns the saving of one kind on a path of a location, if there is any.
    pub(crate) fn saving(
        &self,
        location: LocationNumber,
        path: Path,
        waste: Waste,
    ) -> Option<&Saving> {
        self.savings.get(location)?.get(path, waste)
    }
}

impl Pattern for Inefficient {
    type Questions = ();
    type Answers = ();
    type Protocol = crate::protocol::Messages;
    type Facts = ();
    type Outcome = Self;

    fn new(members: &Members) -> Self {
        Self { savings: Owned::empty(members.locations.clone()) }
    }

    fn on_division(
        &mut self,
        world: &World,
        location: LocationNumber,
        calls: &DividedCalls<'_>,
        times: &ExpectedTimes,
    ) {
        let known = Known { times, static_memory: &world.static_memory };
        if let Some(savings) = self.savings.get_mut(location) {
            savings.add(calls.calls, &known, (calls.rest, calls.transfer));
        }
    }

    fn outcome(self) -> Self {
        self
    }
}

/// A way to communicate that takes longer than another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum Waste {
    /// Strided calls that move data element by element.
    Strided,
    /// Small blocking transfers in a row to or from one target, which could be a single transfer.
    Small,
    /// Completion calls after every single operation.
    Completion,
    /// Blocking operations in a row, which could be in flight together.
    Sequence,
    /// Operations on static data that are slower than those on the symmetric heap.
    Static,
}

impl Waste {
    /// All kinds that are found on call paths.
    pub(crate) const ALL: [Self; 5] =
        [Self::Strided, Self::Small, Self::Completion, Self::Sequence, Self::Static];

    /// Returns the id of the pattern.
    pub(crate) fn pattern(self) -> &'static str {
        match self {
            Self::Strided => "strided_elements",
            Self::Small => "small_transfers",
            Self::Completion => "completion_after_each",
            Self::Sequence => "blocking_in_a_row",
            Self::Static => "static_data",
        }
    }
}
