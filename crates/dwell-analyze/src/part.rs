//! Results of the locations that one process has analysed.

use std::path::Path;

use dwell_log::quantity::Quantity;
use dwell_trace::ids::LocationNumber;
use dwell_trace::world::World;
use otf2::read::Definitions;

use crate::causes::{Delay, Done};
use crate::engine::location::Location;
use crate::engine::matrix;
use crate::engine::paths;
use crate::engine::transport::Transport;
use crate::error::Error;
use crate::output::pairs;
use crate::output::sections::{OwnLocations, Section};
use crate::output::tree::Tree;
use crate::output::{Replayed, pieces, report};

/// Results of the locations that one process has analysed, with the call tree of the program.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) defs: Definitions,
    pub(crate) world: World,
    pub(crate) replayed: Replayed,
    /// Call tree with the sums over all locations of the program.
    pub(crate) tree: Tree,
    pub(crate) sections: Vec<Section>,
    /// Part of the communication matrix that this process writes.
    pub(crate) pairs: matrix::Sum,
    pub(crate) threads: usize,
    /// Activities of each location that others waited for, if the dependency log was written.
    pub(crate) done: Option<Vec<Done>>,
}

impl Part {
    /// Returns the costs of the activities of each location.
    pub(crate) fn delays(&self) -> Option<Vec<Delay>> {
        let of = |(location, done): (&Location, &Done)| Delay::of(location.number, done);
        Some(self.locations().zip(self.done.as_ref()?).flat_map(of).collect())
    }

    pub(crate) fn locations(&self) -> impl Iterator<Item = &Location> {
        let processes = self.replayed.parts.iter().flat_map(|part| &part.processes);
        processes.flat_map(|process| &process.locations)
    }

    pub(crate) fn at_call_path(
        &self,
        location: LocationNumber,
        path: usize,
        what: Quantity,
    ) -> u64 {
        let own = OwnLocations::of(&self.replayed);
        let path = u32::try_from(path).ok().map(paths::Path);
        path.and_then(|path| own.node((location, path))).map_or(0, |node| node.get(what))
    }

    pub(crate) fn write_report(
        &self,
        transport: &Transport<'_>,
        notes: &[String],
        path: &Path,
    ) -> Result<(), Error> {
        let Self { defs, world, tree, .. } = self;
        let mut pairs = pairs::csv(&pairs::named(world, &self.pairs));
        if transport.rank().0 > 0 {
            // The list has one header.
            pairs.drain(..=dwell_model::pairs::HEADER.len());
        }
        let input = report::Input { defs, world, tree, notes };
        let own = OwnLocations::of(&self.replayed);
        pieces::write(transport, &input, own, &self.sections, &pairs, path)
    }
}
