//! The tree of metrics of time, below which the waits of the catalogue hang.

use super::Class::{self, Barrier, Collective, Management, Message, Rma, RmaSync};
use super::{Place, Wait};

/// A metric of time in the report that groups others: a node of [`TREE`], with waits or further groups below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Depth of the metric below the layer, whose own depth is 0.
    pub depth: usize,
    /// The name of the metric, without the layer in front. Empty for the layer itself.
    pub metric: &'static str,
    /// The title of the group, without the layer in front.
    pub title: &'static str,
    /// The classes of the call paths whose time the metric holds.
    pub classes: &'static [Class],
    /// The class of the waits below the group: those whose [`Place`] begins with this class, in the order of the
    /// catalogue. `None` for groups that contain only groups.
    pub waits_of: Option<Class>,
}

const fn group(
    depth: usize,
    metric: &'static str,
    title: &'static str,
    classes: &'static [Class],
    waits_of: Option<Class>,
) -> Group {
    Group { depth, metric, title, classes, waits_of }
}

/// The tree of metrics below a layer, in the order and arrangement that Scalasca has for MPI. A group comes before the
/// groups below it, which have a greater depth. Waits hang below the groups.
pub const TREE: &[Group] = &[
    group(0, "", "", Class::ALL, None),
    group(1, "management", "Management", &[Management], Some(Management)),
    group(1, "synchronization", "Synchronization", &[Barrier, RmaSync], None),
    group(2, "sync_collective", "Collective Synchronization", &[Barrier], Some(Barrier)),
    group(2, "rma_synchronization", "One-sided Synchronization", &[RmaSync], Some(RmaSync)),
    group(1, "communication", "Communication", &[Message, Collective, Rma], None),
    group(2, "point2point", "Point-to-point Communication", &[Message], Some(Message)),
    group(2, "collective", "Collective Communication", &[Collective], Some(Collective)),
    group(2, "rma_communication", "One-sided Communication", &[Rma], Some(Rma)),
];

impl Group {
    /// Returns the waits below the group in the order of the catalogue, each with the depth of its metric below the
    /// layer and the metric itself.
    pub fn waits(&self) -> impl Iterator<Item = (usize, Wait, &'static Place)> {
        let (below, first) = (self.depth + 1, self.waits_of);
        let all = Wait::ALL.iter().copied();
        let places =
            all.flat_map(|wait| wait.about().places.iter().map(move |place| (wait, place)));
        let here = places
            .filter(move |(_, place)| first.is_some() && place.classes.first() == first.as_ref());
        here.map(move |(wait, place)| {
            (below + usize::from(wait.about().part_of.is_some()), wait, place)
        })
    }
}
