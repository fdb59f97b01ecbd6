//! What time is spent for, in the classes that people think in.
//!
//! A call path belongs to the class of the outermost call of a runtime on it: what a library does inside
//! of a get is part of the get. Waits are taken out of the calls that wait and are a class of their own,
//! so that the classes of a location add up to its time.

use cubex::{CnodeId, Meta, MetricId, Region, Result};
use dwell_model::layer::layer_of_region;
use dwell_model::operation::Operation;
use dwell_model::waits::Wait;
use dwell_model::{mpi, shmem};

use crate::query::Query;

/// What time is spent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// The program's own work.
    Compute,
    /// Writing to memory of others.
    Put,
    /// Reading from memory of others.
    Get,
    /// Indivisible steps on memory of others.
    Atomic,
    /// Messages, and waiting for what does not block.
    Message,
    /// What a group does together, barriers included.
    Collective,
    /// Completion, order, locks, flags, epochs.
    Lock,
    /// Files.
    Io,
    /// Starting, ending, allocating, asking: anything else of a runtime.
    Runtime,
    /// Waits for other processes, whatever the call.
    Wait,
}

impl Class {
    /// All classes, in the order of their numbers.
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

    /// The name, in lower case.
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

    /// The class of a region, by what it is known to do.
    pub fn of_region(region: &Region<'_>) -> Self {
        if region.role.contains("file_io") || region.name.starts_with("MPI_File_") {
            return Self::Io;
        }
        if let Some(row) = shmem::TABLE.find(region.name).or_else(|| mpi::find(region.name)) {
            return Self::of_operation(row.operation);
        }
        match region.paradigm {
            "openmp" | "pthread" if region.role.contains("barrier") => Self::Lock,
            "openmp" | "pthread" | "measurement" | "measurement_system" => Self::Compute,
            // A function of the program may be called mpi_heat; a role tells it from a call of a runtime.
            "user" | "compiler" if matches!(region.role, "function" | "unknown" | "") => {
                Self::Compute
            }
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

    /// The class of a function that no table names: by the role that its tool gave it, or by what its name
    /// says where that begins like a layer's.
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

    /// Whether what lies inside may tell more.
    fn is_vague(self) -> bool {
        matches!(self, Self::Compute | Self::Runtime)
    }
}

/// What names of functions say; the first that fits counts.
const SAYS: &[(&[&str], Class)] = &[
    (&["barrier", "bcast", "brdcst", "reduce", "gop", "sync_all", "collect"], Class::Collective),
    (&["fence", "wait", "lock", "quiet", "sync", "test"], Class::Lock),
    (&["rmw", "fetch", "atomic", "acc"], Class::Atomic),
    (&["get"], Class::Get),
    (&["put", "send_array"], Class::Put),
    (&["snd", "rcv", "send", "recv", "request", "reply"], Class::Message),
];

/// The time of each location by class.
#[derive(Clone, Debug)]
pub struct Classes {
    /// By class; each a value for each location, or nothing if no location has any.
    rows: Vec<Vec<f64>>,
}

impl Classes {
    /// The time of a class at each location; empty if it is nowhere.
    pub fn row(&self, class: Class) -> &[f64] {
        self.rows.get(class as usize).map_or(&[], Vec::as_slice)
    }
}

impl Query {
    /// The class of each call path.
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

    /// Metrics that are waits, without those that are parts of others of them.
    pub fn wait_metrics(&self) -> Vec<MetricId> {
        let meta = self.meta();
        let metrics = meta.metrics().filter(|&id| is_wait(meta, id) && self.is_readable(id));
        let above =
            |id| std::iter::successors(meta.metric_parent(id), |&it| meta.metric_parent(it));
        metrics.filter(|&id| !above(id).any(|it| is_wait(meta, it))).collect()
    }

    /// The time of all locations by class, in the order of [`Class::ALL`].
    ///
    /// # Errors
    /// If the report is damaged.
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
        for (cnode, _, own) in self.totals(time)?.iter() {
            add(class_of(cnode), own);
        }
        for metric in self.wait_metrics() {
            for (cnode, _, own) in self.totals(metric)?.iter() {
                add(Class::Wait, own);
                add(class_of(cnode), -own);
            }
        }
        clean(&mut sums);
        Ok(sums)
    }

    /// The time of each location by class.
    ///
    /// # Errors
    /// If the report is damaged.
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
        let mut add = |class: Class, row: &cubex::Row, sign: f64| {
            let Some(sums) = rows.get_mut(class as usize) else { return };
            sums.resize(locations, 0.0);
            for (location, sum) in meta.locations().zip(sums) {
                *sum += sign * row.number(location).unwrap_or(0.0);
            }
        };
        let each = |metric: MetricId, place: &mut dyn FnMut(CnodeId, &cubex::Row)| {
            let values = self.report().values(metric)?;
            for cnode in meta.cnodes() {
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

/// What rounding leaves of nothing is nothing.
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
            ("GA_Zero", "ga", "function", Class::Runtime),
            ("mpi_waits.bin", "measurement", "artificial", Class::Compute),
            ("mpi_heat", "compiler", "function", Class::Compute),
            ("main", "user", "function", Class::Compute),
        ] {
            assert_eq!(class(name, paradigm, role), expected, "{name}");
        }
    }
}
