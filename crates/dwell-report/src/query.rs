//! Values of any metric, at any call path, on any part of the system.

use std::path::Path;
use std::sync::OnceLock;

use cubex::{
    Cells, CnodeId, DataType, GroupId, LocationId, Meta, MetricId, Report, Result, Row,
    SystemNodeId,
};

use crate::path;
use crate::summary::Summary;
use crate::sums::Sums;
use crate::totals::Kept;

/// Treatment of the calls below a call path, in the words of Cube. Both flavours of a value can be asked for, whichever
/// of them the report stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Flavour {
    /// The value includes everything that the call path calls.
    #[default]
    Inclusive,
    /// The value is that of the call path itself, without the functions that it calls.
    Exclusive,
}

/// Part of the program for which a value is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Call {
    /// The whole program: the sum over all root call paths.
    #[default]
    All,
    /// One call path, with or without the calls below it.
    Path(CnodeId, Flavour),
}

/// Part of the system for which a value is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Part {
    /// All locations of the run, which are the threads of all its processes.
    #[default]
    All,
    /// A node of the system tree, for example a machine, with all nodes and processes below it.
    Node(SystemNodeId),
    /// A process, with all of its locations. Cube calls it a location group.
    Group(GroupId),
    /// A single location, usually a thread of a process, as Cube numbers them.
    Location(LocationId),
}

/// A Cube report together with caches for queries. Any number of threads may use one value at the same time.
#[derive(Debug)]
pub struct Query {
    report: Report,
    pub(crate) kept: Kept,
    /// Sums in the file beside a large report. The inner `None` means that a search found no file that can be used.
    pub(crate) sums: OnceLock<Option<Sums>>,
}

impl From<Report> for Query {
    fn from(report: Report) -> Self {
        let kept = Kept::of(&report);
        Self { report, kept, sums: OnceLock::new() }
    }
}

impl Query {
    /// Opens a report. The parsed document of a large report is cached in a file beside it, which makes the next
    /// opening fast; a directory without write permission does no harm.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is not a Cube report.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let report = cubex::OpenOptions::new().cache(cubex::Cache::Beside).open(path)?;
        Ok(report.into())
    }

    /// Returns the report itself, for what queries do not cover, such as extra members.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns the definitions of the report: metrics, regions, call paths, the system tree and topologies.
    pub fn meta(&self) -> &Meta {
        self.report.meta()
    }

    /// Returns the name of the last region of a call path, with its parameters as ` [key=value]`.
    pub fn call_name(&self, cnode: CnodeId) -> String {
        path::name(self.meta(), cnode)
    }

    /// Returns a call path as text: its regions from the root on, joined by ` / `. Two call sites within one function
    /// have equal text.
    pub fn call_path(&self, cnode: CnodeId) -> String {
        path::text(self.meta(), cnode)
    }

    /// Returns the place in the source from which the last region of a call path was called, as `file:line` without
    /// directories, or `None` if the report does not know it.
    pub fn call_site(&self, cnode: CnodeId) -> Option<String> {
        path::site(self.meta(), cnode)
    }

    /// Returns a call path as text with `@file:line` of its last call, if that is known. [`Self::find_paths`] accepts
    /// this text, so it can serve as a name in links.
    pub fn call_path_with_site(&self, cnode: CnodeId) -> String {
        path::text_with_site(self.meta(), cnode)
    }

    /// Finds the call paths that a text of a user means: the whole path, or only its last regions, each with or without
    /// its `@file:line`. A whole match excludes partial ones. The result is in preorder and empty if nothing matches.
    pub fn find_paths(&self, text: &str) -> Vec<CnodeId> {
        path::find(self.meta(), text)
    }

    /// Returns `true` if the values of a metric are stored and can be added: integers and floating-point numbers, but
    /// not derived metrics, extremes or rates. Other queries expect such a metric.
    pub fn is_readable(&self, metric: MetricId) -> bool {
        self.meta().metric(metric).is_some_and(|metric| {
            !metric.kind.is_derived() && metric.data_type().is_some_and(is_summable)
        })
    }

    /// Returns the values of a metric at a part of the program, one for each location, by location id. Locations
    /// without a stored value have 0.
    ///
    /// # Errors
    /// Fails if the report is damaged, if the metric is derived or does not exist, or if its values cannot be added.
    pub fn row(&self, metric: MetricId, call: Call) -> Result<Vec<f64>> {
        let mut sum = Numbers::zeros(self.meta().locations().len());
        match call {
            Call::All => {
                for root in self.meta().root_cnodes().collect::<Vec<_>>() {
                    self.add(metric, root, Flavour::Inclusive, &mut sum)?;
                }
            }
            Call::Path(cnode, flavour) => self.add(metric, cnode, flavour, &mut sum)?,
        }
        Ok(sum.into_values())
    }

    fn add(
        &self,
        metric: MetricId,
        cnode: CnodeId,
        flavour: Flavour,
        sum: &mut Numbers,
    ) -> Result<()> {
        if flavour == Flavour::Inclusive
            && let Some(row) = self.sums().and_then(|it| it.row(&self.report, metric, cnode))
        {
            row?.iter().for_each(|row| sum.add(row));
            return Ok(());
        }
        let values = self.report.values(metric)?;
        let row = match flavour {
            Flavour::Inclusive => values.inclusive(cnode)?,
            Flavour::Exclusive => values.exclusive(cnode)?,
        };
        if let Some(row) = row {
            sum.add(&row);
        }
        Ok(())
    }

    /// Returns the value of a metric at a part of the program, summed over a part of the system. Totals that are
    /// already known answer the question without reading rows.
    ///
    /// # Errors
    /// Fails where [`Query::row`] fails.
    pub fn value(&self, metric: MetricId, call: Call, part: Part) -> Result<f64> {
        if part == Part::All
            && self.is_summed_up(metric)
            && let Some(totals) = self.known_totals(metric)
        {
            return Ok(totals.value(self.meta(), call));
        }
        let row = self.row(metric, call)?;
        let locations = self.locations(part);
        Ok(locations.filter_map(|location| row.get(location.index())).sum())
    }

    /// Returns `true` if the values of several call paths may be added; minima and maxima may not.
    fn is_summed_up(&self, metric: MetricId) -> bool {
        let data_type = self.meta().metric(metric).and_then(|metric| metric.data_type());
        !matches!(data_type, None | Some(DataType::MinDouble | DataType::MaxDouble))
    }

    /// Returns the value of a metric without those of the metrics below it, as Cube shows it for an expanded metric.
    /// Sub-metrics that are not readable are not subtracted.
    ///
    /// # Errors
    /// Fails where [`Query::row`] fails, for the metric or one of its sub-metrics.
    pub fn own_value(&self, metric: MetricId, call: Call, part: Part) -> Result<f64> {
        let mut value = self.value(metric, call, part)?;
        for child in self.meta().metric_children(metric).collect::<Vec<_>>() {
            if self.is_readable(child) {
                value -= self.value(child, call, part)?;
            }
        }
        Ok(value)
    }

    /// Returns the values of a metric without those of the metrics below it, one for each location, by location id.
    /// Sub-metrics that are not readable are not subtracted.
    ///
    /// # Errors
    /// Fails where [`Query::row`] fails, for the metric or one of its sub-metrics.
    pub fn own_row(&self, metric: MetricId, call: Call) -> Result<Vec<f64>> {
        let mut row = self.row(metric, call)?;
        for child in self.meta().metric_children(metric).collect::<Vec<_>>() {
            if self.is_readable(child) {
                let of_child = self.row(child, call)?;
                row.iter_mut().zip(of_child).for_each(|(sum, value)| *sum -= value);
            }
        }
        Ok(row)
    }

    /// Returns the distribution of a metric over all locations: quartiles, mean, extremes and sum.
    ///
    /// # Errors
    /// Fails where [`Query::row`] fails.
    pub fn summary(&self, metric: MetricId, call: Call) -> Result<Summary> {
        Ok(Summary::of(&self.row(metric, call)?))
    }

    /// Iterates over the locations of a part of the system, in the order of their ids.
    pub fn locations(&self, part: Part) -> impl Iterator<Item = LocationId> + '_ {
        let meta = self.meta();
        meta.locations().filter(move |&location| {
            let group = || meta.group_of_location(location);
            match part {
                Part::All => true,
                Part::Location(wanted) => location == wanted,
                Part::Group(wanted) => group() == Some(wanted),
                Part::Node(wanted) => {
                    let node = group().and_then(|group| meta.node_of_group(group));
                    std::iter::successors(node, |&node| meta.system_node_parent(node))
                        .any(|node| node == wanted)
                }
            }
        })
    }

    /// Returns a name for a location that people recognise: that of its process, followed by its own if the process has
    /// several locations, as in `PE 3, thread 1`.
    pub fn location_name(&self, location: LocationId) -> String {
        let meta = self.meta();
        let own = meta.location(location).map_or("?", |location| location.name);
        let Some(group) = meta.group_of_location(location) else {
            return own.to_owned();
        };
        let process = meta.group(group).map_or("?", |group| group.name);
        if meta.locations_of(group).nth(1).is_some() {
            format!("{process}, {own}")
        } else {
            process.to_owned()
        }
    }
}

/// Returns `true` if values of this type can be added over locations. Extremes and rates cannot.
fn is_summable(data_type: DataType) -> bool {
    use DataType::{Double, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64};
    matches!(data_type, Uint8 | Uint16 | Uint32 | Uint64 | Int8 | Int16 | Int32 | Int64 | Double)
}

fn numbers(row: &Row) -> impl Iterator<Item = f64> + '_ {
    (0..row.len() as u32).map(|index| row.number(LocationId(index)).unwrap_or(0.0))
}

/// Sum of rows. It stays exact in integers until a row of floating-point numbers arrives.
enum Numbers {
    /// No row was added yet; the sum will have this many values.
    Zeros(usize),
    Integers(Vec<i128>),
    Reals(Vec<f64>),
}

impl Numbers {
    fn zeros(count: usize) -> Self {
        Self::Zeros(count)
    }

    fn add(&mut self, row: &Row) {
        if let (Self::Zeros(count), Cells::Unsigned(_) | Cells::Signed(_)) = (&*self, row.cells()) {
            *self = Self::Integers(vec![0; *count]);
        }
        match (&mut *self, row.cells()) {
            (Self::Zeros(count), Cells::Double(values)) if values.len() == *count => {
                *self = Self::Reals(values.clone());
            }
            (Self::Zeros(count), _) => {
                let mut reals: Vec<f64> = numbers(row).collect();
                reals.resize(*count, 0.0);
                *self = Self::Reals(reals);
            }
            (Self::Integers(sum), Cells::Unsigned(values)) => {
                sum.iter_mut().zip(values).for_each(|(sum, &value)| *sum += i128::from(value));
            }
            (Self::Integers(sum), Cells::Signed(values)) => {
                sum.iter_mut().zip(values).for_each(|(sum, &value)| *sum += i128::from(value));
            }
            (Self::Integers(sum), _) => {
                let reals = sum.iter().map(|&value| value as f64);
                *self = Self::Reals(reals.zip(numbers(row)).map(|(a, b)| a + b).collect());
            }
            (Self::Reals(sum), Cells::Double(values)) => {
                sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
            (Self::Reals(sum), _) => {
                sum.iter_mut().zip(numbers(row)).for_each(|(sum, value)| *sum += value);
            }
        }
    }

    fn into_values(self) -> Vec<f64> {
        match self {
            Self::Zeros(count) => vec![0.0; count],
            Self::Integers(sum) => sum.into_iter().map(|value| value as f64).collect(),
            Self::Reals(sum) => sum,
        }
    }
}
