//! What the time of call paths of runtimes is divided into: waits, transfer, and time that nothing explains.
//!
//! Times come from enters and leaves alone, and parts from what was booked. So the two can be held against each other.

use dwell_model::layer::Layer;

use crate::lane::Lane;
use crate::metric::Quantity as Q;
use crate::paths::Node;
use crate::role::Traits;
use crate::world::World;

/// Time in calls of a runtime on one call path at one location, in nanoseconds.
///
/// Calls inside a call at which waits are judged are a part of it. Of calls around it only their own time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTime {
    /// Number of the location in the report.
    pub location: u32,
    /// Number of the call path at its location.
    pub path: u32,
    /// The layer of the call.
    pub layer: Layer,
    /// Time from the enters to the leaves of the calls.
    pub time: u64,
    /// Waits, with their upper bounds.
    pub waits: u64,
    /// Time as long as such calls take when nothing holds them up.
    pub transfer: u64,
    /// All other time.
    pub unexplained: u64,
}

/// Everything that was booked as a wait, with the upper bounds.
pub(crate) fn waits(node: &Node) -> u64 {
    Q::waits().map(|(wait, more)| node.get(Q::Wait(wait)) + more.map_or(0, |it| node.get(it))).sum()
}

/// The call paths of runtimes at a location.
pub(crate) fn of(world: &World, lane: &Lane) -> Vec<CallTime> {
    let count = lane.paths.len();
    // Whether a call around a path is judged, and the time of a path with all calls inside.
    let (mut inside, mut times) = (vec![false; count], vec![0; count]);
    let at = |list: &[bool], place: u32| list.get(place as usize).copied().unwrap_or(false);
    let is_judged = |node: &Node| {
        let role = world.roles.get(node.region);
        let layer = match world.layer {
            None => !role.traits.has(Traits::SILENT),
            some => role.layer() == some,
        };
        node.setting.is_none() && role.traits.has(Traits::CALL) && layer
    };
    for (path, node) in lane.paths.iter() {
        let above = lane.paths.get(node.parent).filter(|_| node.parent.0 > 0);
        let judged = above.is_some_and(is_judged) || at(&inside, node.parent.0);
        if let Some(place) = inside.get_mut(path.0 as usize) {
            *place = judged;
        }
        if let Some(time) = times.get_mut(path.0 as usize) {
            *time = node.time;
        }
    }
    let nodes: Vec<_> = lane.paths.iter().collect();
    for (path, node) in nodes.iter().rev() {
        let time = times.get(path.0 as usize).copied().unwrap_or(0);
        if let Some(above) = times.get_mut(node.parent.0 as usize) {
            *above += time;
        }
    }
    let outermost = nodes.iter().filter(|(path, _)| !at(&inside, path.0));
    outermost
        .filter_map(|(path, node)| {
            let layer = world.roles.layer(node.region).filter(|_| node.setting.is_none())?;
            let with_calls = times.get(path.0 as usize).copied().unwrap_or(0);
            Some(CallTime {
                location: lane.location,
                path: path.0,
                layer,
                time: if is_judged(node) { with_calls } else { node.time },
                waits: waits(node),
                transfer: node.get(Q::Transfer),
                unexplained: node.get(Q::Unexplained),
            })
        })
        .collect()
}
