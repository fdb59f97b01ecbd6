//! Detects nodes with more processes than cores.
//!
//! An archive of Dwell contains the cores that each process may use. Processes share cores if some set of cores
//! contains all cores of more processes than it has cores. The analysis examines the sets of single processes and the
//! set of the whole node, which covers the ways in which launchers bind processes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dwell_model::archive::CORES;
use dwell_model::cores::Cores;
use otf2::id::{LocationGroupRef, SystemTreeNodeRef};
use otf2::read::Definitions;
use otf2::{AttributeValue, Definition};
use serde::{Deserialize, Serialize};

use crate::ids::ProcessNumber;

/// Processes of a node that share cores because the node has fewer cores than processes. Such processes are often not
/// running when others wait for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crowd {
    /// Name of the node as the system tree of the archive gives it.
    pub node: String,
    /// Number of processes that share the cores.
    pub processes: u32,
    /// Number of cores that these processes may use together.
    pub cores: u32,
}

/// Room of a process on the cores of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Room {
    /// The process need not share cores, or the archive does not say.
    Enough,
    /// The process shares cores with others because the node has too few.
    Crowded,
}

/// Returns the cores of each process, by the id of its location group. Processes without such a property are missing.
pub fn cores(defs: &Definitions) -> HashMap<LocationGroupRef, Cores> {
    let text = |id| defs.string(id).and_then(otf2::Str::to_str);
    let of = |definition: Definition<'_>| {
        let Definition::LocationGroupProperty(it) = definition else { return None };
        let AttributeValue::String(value) = it.value.0 else { return None };
        let named = text(it.name) == Some(CORES);
        let cores = text(value).filter(|_| named)?.parse().ok()?;
        Some((it.location_group, cores))
    };
    defs.iter().filter_map(of).collect()
}

/// Returns the most crowded set of cores of a node as (processes, cores), and all processes that belong to a crowd.
pub fn crowd(cores: &[(ProcessNumber, Cores)]) -> (Option<(u32, u32)>, BTreeSet<ProcessNumber>) {
    let mut all = Cores::default();
    cores.iter().for_each(|(_, of)| all.join(of));
    let mut sets: BTreeMap<&Cores, u32> = BTreeMap::new();
    cores.iter().for_each(|(_, of)| *sets.entry(of).or_default() += 1);
    let within = |set: &Cores| sets.iter().filter(|it| it.0.is_within(set)).map(|it| it.1).sum();
    let (mut worst, mut crowded): (Option<(u32, u32)>, BTreeSet<ProcessNumber>) =
        Default::default();
    for set in sets.keys().copied().chain([&all]) {
        let (processes, room): (u32, u32) = (within(set), set.count());
        if processes <= room {
            continue;
        }
        crowded.extend(cores.iter().filter(|it| it.1.is_within(set)).map(|it| it.0));
        let worse = |(other, space): (u32, u32)| {
            let (one, two) =
                (u64::from(processes) * u64::from(space), u64::from(other) * u64::from(room));
            (one, processes) > (two, other)
        };
        if worst.is_none_or(worse) {
            worst = Some((processes, room));
        }
    }
    (worst, crowded)
}

/// Returns the numbers of processes and of cores of the node with the fewest cores for each process, or `None` if no
/// process has recorded its cores.
pub fn fullest(defs: &Definitions) -> Option<(u32, u32)> {
    let mut nodes: BTreeMap<SystemTreeNodeRef, (u32, Cores)> = BTreeMap::new();
    for (group, cores) in cores(defs) {
        let parent = defs.location_group(group).map(|it| it.system_tree_parent);
        let node = nodes.entry(parent.unwrap_or(SystemTreeNodeRef::UNDEFINED)).or_default();
        node.0 += 1;
        node.1.join(&cores);
    }
    let counts = nodes.into_values().map(|(processes, cores)| (processes, cores.count()));
    counts.filter(|it| it.1 > 0).max_by(|a, b| {
        let part = |it: &(u32, u32)| f64::from(it.0) / f64::from(it.1);
        part(a).total_cmp(&part(b))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sets: &[&str]) -> (Option<(u32, u32)>, Vec<u32>) {
        let number = (0..).map(ProcessNumber);
        let cores: Vec<(ProcessNumber, Cores)> =
            number.zip(sets).map(|(at, text)| (at, text.parse().unwrap())).collect();
        let (worst, crowded) = crowd(&cores);
        (worst, crowded.into_iter().map(|it| it.0).collect())
    }

    #[test]
    fn more_processes_than_cores() {
        assert_eq!(found(&[]), (None, vec![]));
        assert_eq!(found(&["0-1", "0-1"]), (None, vec![]));
        assert_eq!(found(&["0-1", "0-1", "0-1"]), (Some((3, 2)), vec![0, 1, 2]));
        // Each process has a core of its own.
        assert_eq!(found(&["0", "1", "2"]), (None, vec![]));
        // Two processes are bound to the same core, and others have room.
        assert_eq!(found(&["0", "0", "0-7"]), (Some((2, 1)), vec![0, 1]));
        assert_eq!(found(&["0", "1", "0-1"]), (Some((3, 2)), vec![0, 1, 2]));
    }
}
