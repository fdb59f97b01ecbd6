//! Calls that several synthetic programs make: gets that follow one another, and collectives of all ranks.

use otf2::enums::{CollectiveOp, CollectiveRoot, RmaSyncLevel};
use otf2::event::{
    Enter, Leave, MpiCollectiveBegin, MpiCollectiveEnd, RmaCollectiveBegin, RmaCollectiveEnd,
    RmaGet, RmaOpCompleteBlocking,
};
use otf2::id::{MatchingId, Rank, RegionRef, Time};
use otf2::write::EventWriter;
use rayon::prelude::*;

use crate::world::{WINDOW, WORLD};

/// Nanoseconds between the enter of a call and the record inside it, and between the last record and the leave.
pub(crate) const INSIDE: u64 = 40;

/// Returns the number of rows of the grid of ranks that is closest to a square and has no more rows than columns.
pub(crate) fn rows(ranks: u64) -> u64 {
    let divisors = (1..).take_while(|r| r * r <= ranks).filter(|r| ranks.is_multiple_of(*r));
    divisors.last().unwrap_or(1)
}

/// A blocking get. Times are nanoseconds.
pub(crate) struct Get {
    /// The rank that the get reads from.
    pub(crate) from: u64,
    pub(crate) enter: u64,
    /// Time from the enter until the target serves the get.
    pub(crate) waited: u64,
    pub(crate) leave: u64,
}

impl Get {
    /// Returns gets from the given ranks. The first begins at `begin`, and each of the others when the one before it
    /// has ended. A get is served from the time `arrival` of its target on, and then takes `transfer`.
    pub(crate) fn in_turn(
        begin: u64,
        from: impl IntoIterator<Item = u64>,
        arrival: impl Fn(u64) -> u64,
        transfer: u64,
    ) -> Vec<Self> {
        let mut now = begin;
        let get = |from: u64| {
            let enter = now;
            let served = enter.max(arrival(from));
            now = served + transfer;
            Self { from, enter, waited: served - enter, leave: now }
        };
        from.into_iter().map(get).collect()
    }

    /// Writes the call with its records. The id must be unique among the operations of the origin.
    pub(crate) fn write(
        &self,
        region: RegionRef,
        bytes: u64,
        matching_id: MatchingId,
        events: &mut EventWriter,
    ) -> otf2::Result<()> {
        let (win, remote) = (WINDOW, Rank(self.from as u32));
        events.write(Time(self.enter), Enter { region })?;
        let record = RmaGet { win, remote, bytes, matching_id };
        events.write(Time(self.enter + INSIDE), record)?;
        let done = RmaOpCompleteBlocking { win, matching_id };
        events.write(Time(self.leave - INSIDE), done)?;
        events.write(Time(self.leave), Leave { region })
    }
}

/// The values of a collective that depend on all ranks, in nanoseconds.
#[derive(Clone, Copy, Default)]
pub(crate) struct Collective {
    /// Time at which the last rank enters.
    pub(crate) last_enter: u64,
    /// Smallest lateness of any rank, where lateness is the time from the earliest possible end of the collective to
    /// its end at that rank.
    pub(crate) least_lateness: u64,
}

impl Collective {
    /// Returns the values of a collective of ranks that enter at `enter` and leave later than they could by `lateness`.
    pub(crate) fn of(
        ranks: u64,
        enter: impl Fn(u64) -> u64 + Sync,
        lateness: impl Fn(u64) -> u64 + Sync,
    ) -> Self {
        let ranks = || (0..ranks).into_par_iter();
        Self {
            last_enter: ranks().map(&enter).max().unwrap_or(0),
            least_lateness: ranks().map(&lateness).min().unwrap_or(0),
        }
    }
}

/// The times of a rank in a collective, in nanoseconds. The rank leaves [`INSIDE`] after the end.
pub(crate) struct Span {
    pub(crate) enter: u64,
    /// Time of the record that begins the collective.
    pub(crate) begin: u64,
    /// Time of the record that ends the collective.
    pub(crate) end: u64,
}

impl Span {
    /// Writes a barrier over all ranks of the window, which completes memory operations.
    pub(crate) fn write_rma_barrier(
        &self,
        region: RegionRef,
        events: &mut EventWriter,
    ) -> otf2::Result<()> {
        events.write(Time(self.enter), Enter { region })?;
        events.write(Time(self.begin), RmaCollectiveBegin {})?;
        let record = RmaCollectiveEnd {
            collective_op: CollectiveOp::Barrier,
            sync_level: RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY,
            win: WINDOW,
            root: CollectiveRoot::None,
            bytes_sent: 0,
            bytes_received: 0,
        };
        events.write(Time(self.end), record)?;
        events.write(Time(self.end + INSIDE), Leave { region })
    }

    /// Writes a collective of MPI without a root, in which each rank sends and receives the same number of bytes.
    pub(crate) fn write_mpi(
        &self,
        region: RegionRef,
        collective_op: CollectiveOp,
        bytes: u64,
        events: &mut EventWriter,
    ) -> otf2::Result<()> {
        events.write(Time(self.enter), Enter { region })?;
        events.write(Time(self.begin), MpiCollectiveBegin {})?;
        let record = MpiCollectiveEnd {
            collective_op,
            communicator: WORLD,
            root: CollectiveRoot::None,
            size_sent: bytes,
            size_received: bytes,
        };
        events.write(Time(self.end), record)?;
        events.write(Time(self.end + INSIDE), Leave { region })
    }
}
