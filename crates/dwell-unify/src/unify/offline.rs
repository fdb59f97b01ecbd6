//! Unification from files, without communication: the same lists, merged by the same code.

use otf2::id::LocationRef;

use super::process::{Global, Process, Rows};
use super::shared::{Maps, Shared};
use super::tree::Node;

/// Merges the definitions of processes one after the other, in any order.
///
/// Holds what is merged and a row for each process, not what came in. With the definitions at hand a
/// second time, [`Global::locate`] gives the maps of each process.
///
/// ```
/// use dwell_unify::unify::{Offline, Process, Region, Shared, Thread};
///
/// let mut parts = Vec::new();
/// for rank in 0..2 {
///     let mut shared = Shared::default();
///     let names = if rank == 0 { ["main", "put"] } else { ["get", "main"] };
///     for name in names {
///         let meaning = String::new();
///         shared.add_region(Region { name: name.into(), meaning, role: 1, paradigm: 1 });
///     }
///     let threads = vec![Thread::default(); 2];
///     parts.push((shared, Process { rank, threads, ..Process::default() }));
/// }
///
/// let mut offline = Offline::default();
/// for (shared, process) in &parts {
///     offline.add(shared, process.clone());
/// }
/// let mut global = offline.finish();
/// let names: Vec<_> = global.shared().regions().iter().map(|region| &*region.name).collect();
/// assert_eq!(names, ["get", "main", "put"]);
/// assert_eq!(global.locations(), 4);
/// assert_eq!(global.locate(&parts[1].0)?.regions.as_slice(), [0, 1]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Offline {
    shared: Shared,
    /// Rank and row, in the order in which they came.
    rows: Vec<(u64, Rows)>,
}

impl Offline {
    /// Merges the definitions of one process and keeps its row. The maps go to the merged list as it is now; ids change
    /// once more in [`finish`](Self::finish), which sorts the definitions.
    pub fn add(&mut self, shared: &Shared, mut process: Process) -> Maps {
        let maps = self.shared.merge(shared);
        process.host = maps.hosts.apply(process.host);
        self.rows.push((process.rank, Rows::of(&process)));
        maps
    }

    /// Sorts the merged definitions and returns those of the run. Locations are numbered in the order of ranks;
    /// processes that claim the same rank follow each other in the order in which they were added.
    pub fn finish(self) -> Global {
        self.finish_with_maps().0
    }

    fn finish_with_maps(mut self) -> (Global, Maps) {
        // A stable sort.
        self.rows.sort_by_key(|(rank, _)| *rank);
        let size = self.rows.last().map_or(0, |(rank, _)| rank.saturating_add(1));
        let mut all = Rows::default();
        for (_, rows) in &self.rows {
            all.append(rows);
        }
        let (answer, global) = Node::new(self.shared, all).finish(size);
        (global, answer.maps().clone())
    }
}

/// Unifies the definitions of all processes at once. Returns, for each process in the order of `parts`, its maps and
/// its first location, and the definitions of the run.
///
/// The maps of 300,000 processes with some thousand definitions each take gigabytes. [`Offline`] does not keep them.
pub fn unify_offline(
    parts: impl IntoIterator<Item = (Shared, Process)>,
) -> (Vec<Maps>, Vec<LocationRef>, Global) {
    let mut offline = Offline::default();
    let mut maps: Vec<Maps> =
        parts.into_iter().map(|(shared, process)| offline.add(&shared, process)).collect();
    let mut order: Vec<(u64, usize)> =
        offline.rows.iter().map(|(rank, _)| *rank).zip(0..).collect();
    order.sort_unstable();
    let (global, last) = offline.finish_with_maps();
    for map in &mut maps {
        *map = map.then(&last);
    }
    let mut locations = vec![LocationRef(0); maps.len()];
    for ((_, part), (first, _)) in order.into_iter().zip(global.processes()) {
        if let Some(location) = locations.get_mut(part) {
            *location = first;
        }
    }
    (maps, locations, global)
}
