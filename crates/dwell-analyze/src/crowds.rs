//! Nodes with more processes than cores.
//!
//! An archive of Dwell has the cores that each process may use. Processes share cores if some set of cores holds all
//! cores of more processes than it has cores. The sets that are looked at are those of single processes and that of the whole
//! node, which finds every launcher's way of binding.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dwell_model::archive::CORES;
use dwell_model::cores::Cores;
use otf2::read::Definitions;
use otf2::{AttributeValue, Definition};

/// Processes of a node that share cores because there are too few.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// Name of the node.
    pub node: String,
    /// How many processes there are.
    pub processes: u32,
    /// How many cores they may use together.
    pub cores: u32,
}

/// The cores of each process, by the id of its location group.
pub(crate) fn cores(defs: &Definitions) -> HashMap<u32, Cores> {
    let text = |id| defs.string(id).and_then(otf2::Str::to_str);
    let of = |definition: Definition<'_>| {
        let Definition::LocationGroupProperty(it) = definition else { return None };
        let AttributeValue::String(value) = it.value.0 else { return None };
        let named = text(it.name) == Some(CORES);
        let cores = text(value).filter(|_| named)?.parse().ok()?;
        Some((it.location_group.0, cores))
    };
    defs.iter().filter_map(of).collect()
}

/// The crowd of a node, and which of its processes belong to one.
pub(crate) fn crowd(cores: &[(u32, Cores)]) -> (Option<(u32, u32)>, BTreeSet<u32>) {
    let mut all = Cores::default();
    cores.iter().for_each(|(_, of)| all.join(of));
    let mut sets: BTreeMap<&Cores, u32> = BTreeMap::new();
    cores.iter().for_each(|(_, of)| *sets.entry(of).or_default() += 1);
    let within = |set: &Cores| sets.iter().filter(|it| it.0.is_within(set)).map(|it| it.1).sum();
    let (mut worst, mut crowded): (Option<(u32, u32)>, BTreeSet<u32>) = Default::default();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sets: &[&str]) -> (Option<(u32, u32)>, Vec<u32>) {
        let cores: Vec<(u32, Cores)> =
            (0..).zip(sets).map(|(at, text)| (at, text.parse().unwrap())).collect();
        let (worst, crowded) = crowd(&cores);
        (worst, crowded.into_iter().collect())
    }

    #[test]
    fn more_processes_than_cores() {
        assert_eq!(found(&[]), (None, vec![]));
        assert_eq!(found(&["0-1", "0-1"]), (None, vec![]));
        assert_eq!(found(&["0-1", "0-1", "0-1"]), (Some((3, 2)), vec![0, 1, 2]));
        // Each has its own core.
        assert_eq!(found(&["0", "1", "2"]), (None, vec![]));
        // Two are bound to the same core, and others have room.
        assert_eq!(found(&["0", "0", "0-7"]), (Some((2, 1)), vec![0, 1]));
        assert_eq!(found(&["0", "1", "0-1"]), (Some((3, 2)), vec![0, 1, 2]));
    }
}
