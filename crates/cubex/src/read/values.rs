//! The values of a metric, in rows that are read when they are asked for.
//!
//! A report stores exclusive or inclusive values, and either can be computed from the other. Exclusive values come from
//! inclusive ones by the rows of the children; inclusive values come from exclusive ones by every row below, which is
//! why inclusive metrics are the better choice for reports that are viewed from the top.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::id::{CnodeId, LocationId, MetricId};
use crate::meta::{Meta, MetricKind};
use crate::source::Source;
use crate::tar::Member;
use crate::value::{ByteOrder, DataType, Row};

use super::index::{self, Rows};
use super::layout::{self, Layout, Place};
use super::report::Report;

/// Index and layout of the values of a metric. The report keeps them in memory after the first request for the metric;
/// the values stay in the file.
#[derive(Debug)]
pub(super) struct Stored {
    kind: MetricKind,
    data_type: DataType,
    order: ByteOrder,
    rows: Rows,
    layout: Layout,
    /// The member that holds the values.
    data: Member,
}

impl Stored {
    /// Reads the index of a metric, or returns `None` if the report has no values of it.
    pub(super) fn read(report: &Report, id: MetricId) -> Result<Option<Arc<Self>>> {
        let meta = report.meta();
        let (Some(metric), Some(number)) = (meta.metric(id), meta.metric_number(id)) else {
            return Err(Error::invalid(format!("the report has no metric {id}")));
        };
        if metric.kind.is_derived() {
            return Err(ErrorKind::Unsupported(format!(
                "metric `{}` is computed from others ({}), which this crate does not do",
                metric.uniq_name,
                metric.kind.name()
            ))
            .into());
        }
        let names = member_names(number, metric.viz == crate::meta::VizType::Ghost);
        let (index, data) = match (report.member(&names.index), report.member(&names.data)) {
            (Some(index), Some(data)) => (index, data),
            (None, None) => return Ok(None),
            (index, _) => {
                let missing = if index.is_none() { &names.index } else { &names.data };
                return Err(Error::from(ErrorKind::NoMember).in_member(missing));
            }
        };
        let data_type = metric.data_type().ok_or_else(|| {
            ErrorKind::Unsupported(format!(
                "metric `{}` has values of the unknown type `{}`",
                metric.uniq_name, metric.dtype
            ))
        })?;
        let cnodes = meta.cnodes().len() as u32;
        let (order, rows) = index::read(report.source(), index, cnodes)
            .map_err(|error| error.in_member(&names.index))?;
        let row_bytes = row_bytes(meta, data_type);
        let layout = layout::read(report.source(), data, order, rows.len(), row_bytes)
            .map_err(|error| error.in_member(&names.data))?;
        let (kind, data) = (metric.kind, data.clone());
        Ok(Some(Arc::new(Self { kind, data_type, order, rows, layout, data })))
    }
}

/// Names of the members of a metric.
pub(crate) struct MemberNames {
    pub(crate) data: String,
    pub(crate) index: String,
}

/// Returns the names of the members of the metric with this number.
pub(crate) fn member_names(number: u32, ghost: bool) -> MemberNames {
    let ghost = if ghost { "ghost_" } else { "" };
    MemberNames { data: format!("{ghost}{number}.data"), index: format!("{ghost}{number}.index") }
}

/// Returns the size of a row in bytes. Locations are fewer than 2^32 and values smaller than 2^20, so it fits.
pub(crate) fn row_bytes(meta: &Meta, data_type: DataType) -> u64 {
    meta.locations().len() as u64 * u64::from(data_type.size())
}

/// Access to the values of one metric, from [`Report::values`]. Rows are read from the file at each call and not kept;
/// a clone is cheap.
///
/// ```no_run
/// let report = cubex::Report::open("profile.cubex")?;
/// let meta = report.meta();
/// let visits = report.values(meta.find_metric("visits").expect("Score-P counts visits"))?;
/// for cnode in visits.stored() {
///     let own = visits.exclusive(cnode)?.map(|row| row.cells().clone());
///     println!("{cnode}: {own:?}");
/// }
/// # Ok::<(), cubex::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Values<'a> {
    pub(super) report: &'a Report,
    /// `None` if the report has no values of the metric, which then are all zero.
    pub(super) stored: Option<Arc<Stored>>,
}

impl Values<'_> {
    /// Returns the number of rows that the report stores. The values of all other call paths are zero.
    pub fn len(&self) -> usize {
        self.stored.as_ref().map_or(0, |stored| stored.rows.len() as usize)
    }

    /// Returns `true` if the report stores no row of the metric, so that all of its values are zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `true` if the index names the row of a call path. A row that is not stored means zeros.
    pub fn is_stored(&self, cnode: CnodeId) -> bool {
        self.stored.as_ref().is_some_and(|stored| self.slot(stored, cnode).is_some())
    }

    /// Iterates over the call paths whose rows are stored, in the order of their ids.
    pub fn stored(&self) -> impl Iterator<Item = CnodeId> + '_ {
        self.meta().cnodes().filter(|&cnode| self.is_stored(cnode))
    }

    /// Returns the byte order of the values in the file, or `None` if the report has no values of the metric. Rows are
    /// already converted.
    pub fn byte_order(&self) -> Option<ByteOrder> {
        self.stored.as_ref().map(|stored| stored.order)
    }

    /// Reads the row of a call path as it is stored: inclusive or exclusive, according to the [kind](MetricKind) of the
    /// metric. Returns `None` if the row is not stored, which means zeros.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read.
    pub fn row(&self, cnode: CnodeId) -> Result<Option<Row>> {
        let Some(stored) = &self.stored else { return Ok(None) };
        let mut row = Row::new(stored.data_type);
        Ok(self.read(stored, cnode, &mut row)?.then_some(row))
    }

    /// Reads the row of a call path as [`Values::row`] does, into memory that is used again. Returns `false` if the row
    /// is not stored; `row` is then empty or unchanged. A row of another type is replaced.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read.
    pub fn read_row(&self, cnode: CnodeId, row: &mut Row) -> Result<bool> {
        let Some(stored) = &self.stored else { return Ok(false) };
        if row.data_type() != stored.data_type {
            *row = Row::new(stored.data_type);
        }
        self.read(stored, cnode, row)
    }

    /// Reads the stored value of one location, as a row of one location. Only the bytes of this value are read, unless
    /// the row is compressed. Returns `None` if the row is not stored, which means zero.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read, or if there is no such location.
    pub fn cell(&self, cnode: CnodeId, location: LocationId) -> Result<Option<Row>> {
        if location.index() >= self.meta().locations().len() {
            return Err(Error::invalid(format!("the report has no location {location}")));
        }
        let Some(stored) = &self.stored else { return Ok(None) };
        let mut row = Row::new(stored.data_type);
        let read = self.read_part(stored, cnode, location.0.into(), 1, &mut row)?;
        Ok(read.then_some(row))
    }

    /// Returns the exclusive values of a call path: without the functions that it calls. For an inclusive metric this
    /// reads the rows of its children and subtracts them; unsigned integers stop at 0. Returns `None` if no row is
    /// stored, which means zeros.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read, or if values of this type cannot be subtracted.
    pub fn exclusive(&self, cnode: CnodeId) -> Result<Option<Row>> {
        let Some(stored) = &self.stored else { return Ok(None) };
        let row = self.row(cnode)?;
        if stored.kind != MetricKind::Inclusive {
            return Ok(row);
        }
        // The children are added up first, so that rounding and saturation happen once.
        let Some(children) = self.sum(stored, self.meta().cnode_children(cnode))? else {
            return Ok(row);
        };
        let mut row = row.unwrap_or_else(|| children.zeros());
        row.subtract(&children)?;
        Ok(Some(row))
    }

    /// Returns the inclusive values of a call path: together with everything that it calls. For an exclusive metric
    /// this reads and adds every stored row below the call path. Returns `None` if no row is stored, which means zeros.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read, or if values of this type cannot be added.
    pub fn inclusive(&self, cnode: CnodeId) -> Result<Option<Row>> {
        let Some(stored) = &self.stored else { return Ok(None) };
        match stored.kind {
            MetricKind::Exclusive => self.sum(stored, self.meta().cnodes_below(cnode)),
            _ => self.row(cnode),
        }
    }

    fn meta(&self) -> &Meta {
        self.report.meta()
    }

    /// Returns the sum of the stored rows of these call paths, or `None` if there are none.
    fn sum(&self, stored: &Stored, cnodes: impl Iterator<Item = CnodeId>) -> Result<Option<Row>> {
        let mut sum: Option<Row> = None;
        let mut row = Row::new(stored.data_type);
        for cnode in cnodes {
            if !self.read(stored, cnode, &mut row)? {
                continue;
            }
            match &mut sum {
                Some(sum) => sum.add(&row)?,
                None => sum = Some(std::mem::replace(&mut row, Row::new(stored.data_type))),
            }
        }
        Ok(sum)
    }

    /// Returns the position of the row of a call path among the stored ones.
    fn slot(&self, stored: &Stored, cnode: CnodeId) -> Option<u32> {
        stored.rows.find(self.meta().row_numbers(stored.kind).get(cnode)?)
    }

    fn read(&self, stored: &Stored, cnode: CnodeId, row: &mut Row) -> Result<bool> {
        self.read_part(stored, cnode, 0, self.meta().locations().len() as u64, row)
    }

    fn read_part(
        &self,
        stored: &Stored,
        cnode: CnodeId,
        skip: u64,
        count: u64,
        row: &mut Row,
    ) -> Result<bool> {
        row.clear();
        let Some(slot) = self.slot(stored, cnode) else { return Ok(false) };
        let source: &Source = self.report.source();
        let place = Place {
            source,
            member: &stored.data,
            order: stored.order,
            row_bytes: row_bytes(self.meta(), stored.data_type),
            size: stored.data_type.size().into(),
        };
        stored
            .layout
            .append(place, slot, skip, count, row)
            .map_err(|error| self.report.locate(error.in_member(&stored.data.name)))
    }
}
