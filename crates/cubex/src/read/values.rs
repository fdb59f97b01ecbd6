//! The values of a metric: rows, read when asked for.
//!
//! A report stores exclusive or inclusive values, and either can be had from the other. From
//! inclusive to exclusive takes the rows of the children; from exclusive to inclusive takes every
//! row below, which is why inclusive metrics are the better choice for reports that are looked at
//! from the top.

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

/// What is kept of a metric once its values were asked for.
#[derive(Debug)]
pub(super) struct Stored {
    kind: MetricKind,
    data_type: DataType,
    order: ByteOrder,
    rows: Rows,
    layout: Layout,
    /// Position of its data among the members.
    data: Member,
}

impl Stored {
    /// Reads the index of a metric; nothing if the report has no values of it.
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
        let names = member_names(number, metric.viz == crate::VizType::Ghost);
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

/// The names of the members of the metric with a number.
pub(crate) fn member_names(number: u32, ghost: bool) -> MemberNames {
    let ghost = if ghost { "ghost_" } else { "" };
    MemberNames { data: format!("{ghost}{number}.data"), index: format!("{ghost}{number}.index") }
}

/// Bytes of a row. Locations are fewer than 2^32 and values smaller than 2^20, so it fits.
pub(crate) fn row_bytes(meta: &Meta, data_type: DataType) -> u64 {
    meta.locations().len() as u64 * u64::from(data_type.size())
}

/// The values of one metric; see [`Report::values`].
#[derive(Clone, Debug)]
pub struct Values<'a> {
    pub(super) report: &'a Report,
    /// Nothing if the report has no values of the metric, which then are all zero.
    pub(super) stored: Option<Arc<Stored>>,
}

impl Values<'_> {
    /// Number of rows stored. All others are zero.
    pub fn len(&self) -> usize {
        self.stored.as_ref().map_or(0, |stored| stored.rows.len() as usize)
    }

    /// Whether no row is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the row of a call path is stored.
    pub fn is_stored(&self, cnode: CnodeId) -> bool {
        self.stored.as_ref().is_some_and(|stored| self.slot(stored, cnode).is_some())
    }

    /// The call paths whose rows are stored, by id.
    pub fn stored(&self) -> impl Iterator<Item = CnodeId> + '_ {
        self.meta().cnodes().filter(|&cnode| self.is_stored(cnode))
    }

    /// Byte order of the values in the file.
    pub fn byte_order(&self) -> Option<ByteOrder> {
        self.stored.as_ref().map(|stored| stored.order)
    }

    /// The row of a call path as it is stored: inclusive or exclusive, as the metric's
    /// [kind](MetricKind) says. Nothing if it is not stored, which means zeros.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read.
    pub fn row(&self, cnode: CnodeId) -> Result<Option<Row>> {
        let Some(stored) = &self.stored else { return Ok(None) };
        let mut row = Row::new(stored.data_type);
        Ok(self.read(stored, cnode, &mut row)?.then_some(row))
    }

    /// As [`Values::row`], into a row that is used again; false if it is not stored. A row of
    /// another type is replaced.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read.
    pub fn read_row(&self, cnode: CnodeId, row: &mut Row) -> Result<bool> {
        let Some(stored) = &self.stored else { return Ok(false) };
        if row.data_type() != stored.data_type {
            *row = Row::new(stored.data_type);
        }
        self.read(stored, cnode, row)
    }

    /// The stored value of one location, as a row of one; only its bytes are read, unless they are
    /// compressed.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read, or there is no such location.
    pub fn cell(&self, cnode: CnodeId, location: LocationId) -> Result<Option<Row>> {
        if location.index() >= self.meta().locations().len() {
            return Err(Error::invalid(format!("the report has no location {location}")));
        }
        let Some(stored) = &self.stored else { return Ok(None) };
        let mut row = Row::new(stored.data_type);
        let read = self.read_part(stored, cnode, location.0.into(), 1, &mut row)?;
        Ok(read.then_some(row))
    }

    /// Values of a call path without what it calls. Nothing means zeros.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read, or values of this type cannot be subtracted.
    pub fn exclusive(&self, cnode: CnodeId) -> Result<Option<Row>> {
        let Some(stored) = &self.stored else { return Ok(None) };
        let row = self.row(cnode)?;
        if stored.kind != MetricKind::Inclusive {
            return Ok(row);
        }
        // Children first into one sum, so that rounding and saturation happen once.
        let Some(children) = self.sum(stored, self.meta().cnode_children(cnode))? else {
            return Ok(row);
        };
        let mut row = row.unwrap_or_else(|| children.zeros());
        row.subtract(&children)?;
        Ok(Some(row))
    }

    /// Values of a call path with all that it calls. Nothing means zeros.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read, or values of this type cannot be added.
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

    /// The sum of stored rows; nothing if there are none.
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

    /// Position of a call path's row among those stored.
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
