//! The value of any metric, at any call path, on any part of the system.

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

/// Whether what lies below is counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Flavour {
    /// With everything below.
    #[default]
    Inclusive,
    /// Without.
    Exclusive,
}

/// Where in the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Call {
    /// Everywhere.
    #[default]
    All,
    /// At a call path.
    Path(CnodeId, Flavour),
}

/// Where in the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Part {
    /// Everywhere.
    #[default]
    All,
    /// On a node of the system tree, with the nodes below.
    Node(SystemNodeId),
    /// In a process.
    Group(GroupId),
    /// At a location.
    Location(LocationId),
}

/// A report and the questions to it.
#[derive(Debug)]
pub struct Query {
    report: Report,
    pub(crate) kept: Kept,
    /// Sums that are kept beside a large report, once they were looked for.
    pub(crate) sums: OnceLock<Option<Sums>>,
}

impl From<Report> for Query {
    fn from(report: Report) -> Self {
        let kept = Kept::of(&report);
        Self { report, kept, sums: OnceLock::new() }
    }
}

impl Query {
    /// Opens a report, with a cache of its document beside it if that is large.
    ///
    /// # Errors
    /// If the file cannot be read or is no report.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let report = cubex::OpenOptions::new().cache(cubex::Cache::Beside).open(path)?;
        Ok(report.into())
    }

    /// The report.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Its metrics, call paths and locations.
    pub fn meta(&self) -> &Meta {
        self.report.meta()
    }

    /// The name of the last region of a call path, with its parameters.
    pub fn call_name(&self, cnode: CnodeId) -> String {
        path::name(self.meta(), cnode)
    }

    /// A call path as text: its regions from the root on, joined by ` / `.
    pub fn call_path(&self, cnode: CnodeId) -> String {
        path::text(self.meta(), cnode)
    }

    /// Where in the source a call path was called, `file:line`, if that is known.
    pub fn call_site(&self, cnode: CnodeId) -> Option<String> {
        path::site(self.meta(), cnode)
    }

    /// A call path as [`Self::find_paths`] tells it from others of the same regions: with `@file:line`.
    pub fn call_path_with_site(&self, cnode: CnodeId) -> String {
        path::text_with_site(self.meta(), cnode)
    }

    /// The call paths that a text means: the whole path, or its last regions, each with or without its
    /// `@file:line`.
    pub fn find_paths(&self, text: &str) -> Vec<CnodeId> {
        path::find(self.meta(), text)
    }

    /// Whether the values of a metric can be read: it is stored, and each value is one number.
    pub fn is_readable(&self, metric: MetricId) -> bool {
        self.meta().metric(metric).is_some_and(|metric| {
            !metric.kind.is_derived() && metric.data_type().is_some_and(is_summable)
        })
    }

    /// The values of a metric somewhere in the program, one for each location.
    ///
    /// # Errors
    /// If the report is damaged, or the values of the metric are not stored or not numbers.
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

    /// The value of a metric, summed up over a part of the system.
    ///
    /// # Errors
    /// As [`Query::row`].
    pub fn value(&self, metric: MetricId, call: Call, part: Part) -> Result<f64> {
        if part == Part::All
            && self.is_summed_up(metric)
            && let Some(totals) = self.known_totals(metric)
        {
            return Ok(match call {
                Call::All => {
                    self.meta().root_cnodes().map(|root| totals.get(root, Flavour::Inclusive)).sum()
                }
                Call::Path(cnode, flavour) => totals.get(cnode, flavour),
            });
        }
        let row = self.row(metric, call)?;
        let locations = self.locations(part);
        Ok(locations.filter_map(|location| row.get(location.index())).sum())
    }

    /// Whether values of several call paths add up, which the shortest and the longest of something do not.
    fn is_summed_up(&self, metric: MetricId) -> bool {
        let data_type = self.meta().metric(metric).and_then(|metric| metric.data_type());
        !matches!(data_type, None | Some(DataType::MinDouble | DataType::MaxDouble))
    }

    /// The value of a metric less those of its sub-metrics.
    ///
    /// # Errors
    /// As [`Query::row`], for the metric or one below it.
    pub fn own_value(&self, metric: MetricId, call: Call, part: Part) -> Result<f64> {
        let mut value = self.value(metric, call, part)?;
        for child in self.meta().metric_children(metric).collect::<Vec<_>>() {
            if self.is_readable(child) {
                value -= self.value(child, call, part)?;
            }
        }
        Ok(value)
    }

    /// The values of a metric less those of its sub-metrics, one for each location.
    ///
    /// # Errors
    /// As [`Query::row`], for the metric or one below it.
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

    /// How a metric is spread over locations.
    ///
    /// # Errors
    /// As [`Query::row`].
    pub fn summary(&self, metric: MetricId, call: Call) -> Result<Summary> {
        Ok(Summary::of(&self.row(metric, call)?))
    }

    /// The locations of a part of the system, by id.
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

    /// Where a location is: its process and, if that has several, its own name.
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

/// Whether values of a type can be added up over locations: extremes and rates cannot.
fn is_summable(data_type: DataType) -> bool {
    use DataType::{Double, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64};
    matches!(data_type, Uint8 | Uint16 | Uint32 | Uint64 | Int8 | Int16 | Int32 | Int64 | Double)
}

fn numbers(row: &Row) -> impl Iterator<Item = f64> + '_ {
    (0..row.len() as u32).map(|index| row.number(LocationId(index)).unwrap_or(0.0))
}

/// Rows added up, as integers as long as all are.
enum Numbers {
    /// So many, and nothing yet.
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
