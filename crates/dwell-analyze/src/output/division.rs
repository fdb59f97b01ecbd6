//! Divides the time in runtime calls into waits, transfer and unexplained time, by call path.
//!
//! The times come from enters and leaves alone, and the parts from what the replay booked. Tests can therefore compare
//! the two.

use dwell_log::quantity::Quantity as Q;
use dwell_model::layer::Layer;
use dwell_trace::roles::Traits;
use dwell_trace::world::World;

use crate::engine::location::Location;
use crate::engine::paths::Node;

/// Time in runtime calls on one call path at one location, in nanoseconds. The sum of the three parts is the time.
///
/// Calls inside a call at which waits are judged are a part of that call, but handlers of active messages are not part of the
/// call that polled. Of calls around it, only their exclusive time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTime {
    /// Number of the location in the report, counted from 0.
    pub location: u32,
    /// Number of the call path at its location. The same path may have another number at another location.
    pub path: u32,
    /// Layer of the runtime call, such as OpenSHMEM or MPI.
    pub layer: Layer,
    /// Time between the enters and the leaves of the calls.
    pub time: u64,
    /// Waiting time in nanoseconds, as the sum of the upper bounds of all waits, so that `transfer` and `unexplained`
    /// are never too large.
    pub waits: u64,
    /// Time that such calls need if nothing delays them, at most the time that waits leave.
    pub transfer: u64,
    /// Time that neither waits nor transfer explain.
    pub unexplained: u64,
}

/// Returns everything that was booked as a wait on a node, by the upper bounds.
pub(crate) fn waits(node: &Node) -> u64 {
    Q::waits().map(|(wait, more)| node.get(Q::Wait(wait)) + more.map_or(0, |it| node.get(it))).sum()
}

/// Returns the times of all runtime call paths at a location.
pub(crate) fn of(world: &World, location: &Location) -> Vec<CallTime> {
    let count = location.paths.len();
    // True for paths inside a judged call; and the inclusive time of each path.
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
    for (path, node) in location.paths.iter() {
        let above = location.paths.get(node.parent).filter(|_| node.parent.0 > 0);
        let judged = above.is_some_and(is_judged) || at(&inside, node.parent.0);
        if let Some(place) = inside.get_mut(path.0 as usize) {
            *place = judged;
        }
        if let Some(time) = times.get_mut(path.0 as usize) {
            *time = node.time.0;
        }
    }
    let nodes: Vec<_> = location.paths.iter().collect();
    for (path, node) in nodes.iter().rev() {
        let time = times.get(path.0 as usize).copied().unwrap_or(0);
        let polls = |node: &Node| world.roles.traits(node.region).has(Traits::POLLS);
        // Handlers are functions of the program.
        if location.paths.get(node.parent).is_some_and(polls)
            && !world.roles.traits(node.region).has(Traits::CALL)
        {
            continue;
        }
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
                location: location.number.0,
                path: path.0,
                layer,
                time: if is_judged(node) { with_calls } else { node.time.0 },
                waits: waits(node),
                transfer: node.get(Q::Transfer),
                unexplained: node.get(Q::Unexplained),
            })
        })
        .collect()
}
