//! Classes of time: computation, puts, gets, waits and so on, as bars and pie charts show them.
//!
//! A call path belongs to the class of the outermost call of a runtime on it: a send that a library makes inside of a
//! get is part of the get. Waits are subtracted from the calls that wait and are a class of their own, so the classes
//! of a location add up to its time. Start-up and shutdown are in no class.

use cubex::{CnodeId, Meta, MetricId, Region, Result};
use dwell_model::layer::layer_of_region;
use dwell_model::operation::Operation;
use dwell_model::registry;
use dwell_model::table::Hooks;
use dwell_model::waits::Wait;

use crate::base::Base;
use crate::query::Query;

/// Class of activity to which the time of a call path is counted. The discriminants are indices into [`Class::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// Computation of the program itself: everything outside of the runtimes that Dwell knows, including OpenMP and
    /// Pthreads apart from their barriers.
    Compute,
    /// Puts: calls that write to memory of another process, with or without a signal.
    Put,
    /// Gets: calls that read from memory of another process.
    Get,
    /// Atomic operations on memory of another process, including fetching ones and accumulates.
    Atomic,
    /// Two-sided messages, probes, and the completion of requests by calls such as `MPI_Wait` or `MPI_Test`.
    Message,
    /// Collective operations over a group of processes, including barriers and broadcasts.
    Collective,
    /// Synchronisation of one-sided communication: fence, quiet, flush, locks, waiting for a flag, and access and
    /// exposure epochs.
    Lock,
    /// File input and output, such as `MPI_File_write_all` or regions that another tool marked as I/O.
    Io,
    /// All other calls of a runtime: initialisation, finalisation, allocation of memory, queries.
    Runtime,
    /// Wait states for other processes as the analysis found them, whatever the call that waited.
    Wait,
}

impl Class {
    /// All classes in the order of their discriminants, so that `Class::ALL[class as usize] == class`.
    pub const ALL: [Self; 10] = [
        Self::Compute,
        Self::Put,
        Self::Get,
        Self::Atomic,
        Self::Message,
        Self::Collective,
        Self::Lock,
        Self::Io,
        Self::Runtime,
        Self::Wait,
    ];

    /// Returns the name of the class in lower case, as reports, JSON and the page use it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Put => "put",
            Self::Get => "get",
            Self::Atomic => "atomic",
            Self::Message => "message",
            Self::Collective => "collective",
            Self::Lock => "lock",
            Self::Io => "io",
            Self::Runtime => "runtime",
            Self::Wait => "wait",
        }
    }

    /// Returns the class of a region. The tables of OpenSHMEM and MPI decide first; for functions that no table knows,
    /// the paradigm and role that the recording tool gave them decide, and last the words in the name.
    pub fn of_region(region: &Region<'_>) -> Self {
        if region.role.contains("file_io") || region.name.starts_with("MPI_File_") {
            return Self::Io;
        }
        // Calls of layers over MPI have the role that the recorder gave them, unless there is none for what they do.
        let is_vague = matches!(region.role, "function" | "unknown" | "");
        let known = registry::find(region.name)
            .filter(|(table, _)| is_vague || matches!(table.hooks, Hooks::Typed | Hooks::Shaped));
        if let Some((_, row)) = known {
            return Self::of_operation(row.operation);
        }
        match region.paradigm {
            "openmp" | "pthread" if region.role.contains("barrier") => Self::Lock,
            "openmp" | "pthread" | "measurement" | "measurement_system" => Self::Compute,
            // A function of the program may be called mpi_heat; a role tells it from a call of a runtime.
            "user" | "compiler" if is_vague => Self::Compute,
            _ if matches!(region.role, "artificial" | "loop" | "code") => Self::Compute,
            _ => Self::of_role(region),
        }
    }

    fn of_operation(operation: Operation) -> Self {
        use Operation as O;
        match operation {
            O::Put | O::Signal => Self::Put,
            O::Get => Self::Get,
            O::Atomic(_) => Self::Atomic,
            O::Send
            | O::Receive
            | O::Exchange
            | O::Probe
            | O::TestProbe
            | O::WaitHandle
            | O::TestHandle
            | O::StartHandle
            | O::FreeHandle => Self::Message,
            O::Collective(_) => Self::Collective,
            O::Order
            | O::CompleteLocal
            | O::CompleteRemote
            | O::Lock
            | O::Unlock
            | O::TryLock
            | O::WaitChange
            | O::TestChange
            | O::StartEpoch
            | O::CompleteEpoch
            | O::PostEpoch
            | O::WaitEpoch
            | O::TestEpoch => Self::Lock,
            _ => Self::Runtime,
        }
    }

    /// Returns the class of a function that no table knows: from the role that the recording tool gave it, or from
    /// words in its name if the name has the prefix of a known layer, such as `ARMCI_`.
    fn of_role(region: &Region<'_>) -> Self {
        match region.role {
            "barrier" | "implicit_barrier" => return Self::Collective,
            role if role.starts_with("coll") => return Self::Collective,
            "point2point" => return Self::Message,
            _ if layer_of_region(region.name).is_none() => return Self::Compute,
            _ => {}
        }
        let name = region.name.to_lowercase();
        let said = SAYS.iter().find(|(words, _)| words.iter().any(|word| name.contains(word)));
        said.map_or(Self::Runtime, |row| row.1)
    }

    /// Returns `true` for classes that a call further inside may replace by a more precise one.
    fn is_vague(self) -> bool {
        matches!(self, Self::Compute | Self::Runtime)
    }
}

/// Words in the names of functions and the class that they imply, all in lower case. The first row that matches
/// decides.
const SAYS: &[(&[&str], Class)] = &[
    (&["barrier", "bcast", "brdcst", "reduce", "gop", "sync_all", "collect"], Class::Collective),
    (&["fence", "wait", "lock", "quiet", "sync", "test"], Class::Lock),
    (&["rmw", "fetch", "atomic", "acc"], Class::Atomic),
    (&["get"], Class::Get),
    (&["put", "send_array"], Class::Put),
    (&["snd", "rcv", "send", "recv", "request", "reply"], Class::Message),
];

/// Time of each location by class, in seconds. [`Query::classes`] computes it.
#[derive(Clone, Debug)]
pub struct Classes {
    /// One row for each class, in the order of [`Class::ALL`], with one value for each location. The row is empty if no
    /// location has time in this class.
    rows: Vec<Vec<f64>>,
}

impl Classes {
    /// Returns the time that each location spent in a class, in seconds and by location id. The slice is empty if no
    /// location spent any.
    pub fn row(&self, class: Class) -> &[f64] {
        self.rows.get(class as usize).map_or(&[], Vec::as_slice)
    }
}

impl Query {
    /// Returns the class of each call path, by the id of the call path. A call inside of a call of a known class, for
    /// example a send inside of a get, belongs to the outer class.
    pub fn call_classes(&self) -> Vec<Class> {
        let meta = self.meta();
        let mut classes = vec![Class::Compute; meta.cnodes().len()];
        for cnode in meta.cnodes_in_order() {
            let above = meta.cnode_parent(cnode).and_then(|it| classes.get(it.index())).copied();
            let above = above.unwrap_or(Class::Compute);
            let own = || meta.callee(cnode).map_or(Class::Compute, |it| Class::of_region(&it));
            let class = match above {
                above if !above.is_vague() => above,
                Class::Runtime => Some(own()).filter(|it| !it.is_vague()).unwrap_or(above),
                _ => own(),
            };
            if let Some(place) = classes.get_mut(cnode.index()) {
                *place = class;
            }
        }
        classes
    }

    /// Returns the readable metrics that measure waits, without those that are part of another wait further up in the
    /// tree of metrics. Their values can be added without counting a wait twice.
    pub fn wait_metrics(&self) -> Vec<MetricId> {
        let meta = self.meta();
        let metrics = meta.metrics().filter(|&id| is_wait(meta, id) && self.is_readable(id));
        let above =
            |id| std::iter::successors(meta.metric_parent(id), |&it| meta.metric_parent(it));
        metrics.filter(|&id| !above(id).any(|it| is_wait(meta, it))).collect()
    }

    /// Returns the time of each class summed over all locations, in seconds and in the order of [`Class::ALL`], without
    /// start-up and shutdown. All sums are 0 if the report has no readable metric `time`.
    ///
    /// # Errors
    /// Fails if the report is damaged.
    pub fn class_totals(&self) -> Result<Vec<f64>> {
        let mut sums = vec![0.0; Class::ALL.len()];
        let Some(time) = self.meta().find_metric("time").filter(|&id| self.is_readable(id)) else {
            return Ok(sums);
        };
        let classes = self.call_classes();
        let mut add = |class: Class, value: f64| {
            if let Some(sum) = sums.get_mut(class as usize) {
                *sum += value;
            }
        };
        let class_of =
            |cnode: CnodeId| classes.get(cnode.index()).copied().unwrap_or(Class::Compute);
        let base = Base::of(self, time, None)?;
        for (cnode, _, own) in self.totals(time)?.iter().filter(|it| base.has(it.0)) {
            add(class_of(cnode), own);
        }
        for metric in self.wait_metrics() {
            for (cnode, _, own) in self.totals(metric)?.iter().filter(|it| base.has(it.0)) {
                add(Class::Wait, own);
                add(class_of(cnode), -own);
            }
        }
        clean(&mut sums);
        Ok(sums)
    }

    /// Returns the time of each location by class, without start-up and shutdown. All rows are empty if the report has no
    /// readable metric `time`. This reads every stored row of `time` and of the waits; [`Query::class_totals`] is cheaper if sums over locations are
    /// enough.
    ///
    /// # Errors
    /// Fails if the report is damaged.
    pub fn classes(&self) -> Result<Classes> {
        let meta = self.meta();
        let locations = meta.locations().len();
        let mut rows = vec![Vec::new(); Class::ALL.len()];
        let Some(time) = meta.find_metric("time").filter(|&id| self.is_readable(id)) else {
            return Ok(Classes { rows });
        };
        let classes = self.call_classes();
        let class_of =
            |cnode: CnodeId| classes.get(cnode.index()).copied().unwrap_or(Class::Compute);
        let base = Base::of(self, time, None)?;
        let mut add = |class: Class, row: &cubex::Row, sign: f64| {
            let Some(sums) = rows.get_mut(class as usize) else { return };
            sums.resize(locations, 0.0);
            for (location, sum) in meta.locations().zip(sums) {
                *sum += sign * row.number(location).unwrap_or(0.0);
            }
        };
        let each = |metric: MetricId, place: &mut dyn FnMut(CnodeId, &cubex::Row)| {
            let values = self.report().values(metric)?;
            for cnode in meta.cnodes().filter(|&it| base.has(it)) {
                if let Some(row) = values.exclusive(cnode)? {
                    place(cnode, &row);
                }
            }
            Ok::<(), cubex::Error>(())
        };
        each(time, &mut |cnode, row| add(class_of(cnode), row, 1.0))?;
        for metric in self.wait_metrics() {
            each(metric, &mut |cnode, row| {
                add(Class::Wait, row, 1.0);
                add(class_of(cnode), row, -1.0);
            })?;
        }
        rows.iter_mut().for_each(|row| clean(row));
        Ok(Classes { rows })
    }
}

/// Sets values to 0 that are only rounding errors of a subtraction, measured against the largest value.
fn clean(values: &mut [f64]) {
    let most = values.iter().copied().fold(0.0, f64::max);
    values.iter_mut().filter(|it| **it < 1e-12 * most).for_each(|it| *it = 0.0);
}

fn is_wait(meta: &Meta, metric: MetricId) -> bool {
    meta.metric(metric)
        .is_some_and(|it| Wait::of_metric(it.uniq_name).is_some() && matches!(it.uom, "sec" | "s"))
}

#[cfg(test)]
mod tests {
    use cubex::Region;

    use super::Class;

    #[test]
    fn regions_are_classed_by_what_they_do() {
        let class = |name, paradigm, role| {
            Class::of_region(&Region { name, paradigm, role, ..Region::default() })
        };
        for (name, paradigm, role, expected) in [
            ("shmem_double_get", "shmem", "rma", Class::Get),
            ("shmem_quiet", "shmem", "rma", Class::Lock),
            ("shmem_barrier_all", "shmem", "barrier", Class::Collective),
            ("shmem_int_atomic_add", "shmem", "atomic", Class::Atomic),
            ("MPI_Put", "mpi", "rma", Class::Put),
            ("MPI_Waitall", "mpi", "point2point", Class::Message),
            ("MPI_File_write_all", "mpi", "file_io", Class::Io),
            ("MPI_Init", "mpi", "function", Class::Runtime),
            ("ARMCI_NbGetS", "user", "rma", Class::Get),
            ("ARMCI_AllFence", "user", "rma", Class::Lock),
            ("ARMCI_Lock", "user", "function", Class::Lock),
            ("GA_Zero", "ga", "function", Class::Runtime),
            ("mpi_waits.bin", "measurement", "artificial", Class::Compute),
            ("mpi_heat", "compiler", "function", Class::Compute),
            ("main", "user", "function", Class::Compute),
        ] {
            assert_eq!(class(name, paradigm, role), expected, "{name}");
        }
    }
}
