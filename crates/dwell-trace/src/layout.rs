//! Locations, partners and times of an archive, for readers of its events other than the analysis.

use otf2::id::{CommRef, LocationRef, Rank, RegionRef, RmaWinRef};
use otf2::read::Definitions;
use otf2::{Attribute, List};

use crate::ids::{ContextNumber, LocationNumber, Ordinal, ProcessNumber};
use crate::operations::Completes;
use crate::record::{Completion, Gathering};
use crate::roles::Roles;
use crate::system::{Process, System};
use crate::time::Time;
use crate::world::{Attributes, Clock, number};

/// Locations of an archive under the numbers of the report, the processes that ranks in its records mean, and its clock. A reader
/// that shows events together with the results of an analysis needs the same numbers and times.
#[derive(Debug)]
pub struct Layout {
    system: System,
    roles: Roles,
    clock: Clock,
    attributes: Attributes,
}

impl Layout {
    /// Reads the definitions of an archive.
    pub fn of(definitions: &Definitions) -> Self {
        Self {
            system: System::of(definitions),
            roles: Roles::of(definitions),
            clock: Clock::of(definitions),
            attributes: Attributes::of(definitions),
        }
    }

    /// Returns the number of locations, which is that of the report.
    pub fn locations(&self) -> u32 {
        self.system.places.len() as u32
    }

    /// Returns the id that a location has in the archive, or `None` if there is no such location.
    pub fn id(&self, location: LocationNumber) -> Option<LocationRef> {
        self.system.places.get(location.index()).map(|it| it.id)
    }

    /// Returns the locations of the process that a location belongs to: the first one, and the one after the last.
    pub fn siblings(&self, location: LocationNumber) -> std::ops::Range<LocationNumber> {
        let process = self.system.processes.get(self.system.process(location).index());
        let locations = process.map(Process::locations);
        let range = locations.unwrap_or(location.index()..location.index() + 1);
        LocationNumber(range.start as u32)..LocationNumber(range.end as u32)
    }

    /// Returns `true` if a location is the only one of its process.
    pub fn is_alone(&self, location: LocationNumber) -> bool {
        let all = self.siblings(location);
        all.start.place() + 1 == all.end.place()
    }

    /// Converts ticks of the archive to a time of the analysis.
    pub fn time(&self, ticks: otf2::id::Time) -> Time {
        self.clock.time(ticks)
    }

    /// Converts a time of the analysis to the last tick of the archive that is not after it.
    pub fn ticks(&self, time: Time) -> otf2::id::Time {
        self.clock.ticks(time)
    }

    /// Returns the communicator of a window as a number: windows over the same communicator have the same one.
    pub fn window(&self, window: RmaWinRef) -> Option<u32> {
        self.system.window(window).map(|it| it.0.value())
    }

    /// Returns the number of members of a communicator that [`window`](Self::window) has returned.
    pub fn size(&self, communicator: u32) -> u32 {
        self.system.context(ContextNumber(communicator)).map_or(0, |it| it.size)
    }

    /// Returns the first location of the process that is the target of an operation on a window, which `me` has issued.
    pub fn target(
        &self,
        window: RmaWinRef,
        rank: Rank,
        me: LocationNumber,
    ) -> Option<LocationNumber> {
        let (context, _) = self.system.window(window)?;
        self.member(context, rank, me)
    }

    /// Returns the first location of the process that a rank of a communicator means in a record of `me`.
    pub fn partner(&self, comm: CommRef, rank: Rank, me: LocationNumber) -> Option<LocationNumber> {
        self.member(self.system.comm(comm)?, rank, me)
    }

    fn member(
        &self,
        context: ContextNumber,
        rank: Rank,
        me: LocationNumber,
    ) -> Option<LocationNumber> {
        let me = self.system.process(me);
        let process: ProcessNumber = self.system.context(context)?.ranks.process(rank, me)?;
        self.system.processes.get(process.index()).map(|it| it.first)
    }

    /// Returns what a completion at the target completes that is recorded in a call of a region.
    pub fn completes(&self, call: Option<RegionRef>, completion: Completion) -> Completes {
        self.roles.completes(call, completion)
    }

    /// Returns the number of a collective among those of its window, if the recorder has written it. Collectives of
    /// communicators are numbered in the order of their records.
    pub fn sequence(&self, of: Gathering, attributes: List<'_, Attribute>) -> Option<u64> {
        match of {
            Gathering::Window(_) => number(attributes, self.attributes.sequence),
            Gathering::Communicator(_) => None,
        }
    }

    /// Returns how many messages with the same partner and tag were not recorded before this one.
    pub fn skipped(&self, attributes: List<'_, Attribute>) -> u64 {
        number(attributes, self.attributes.skipped).unwrap_or(0)
    }
}
