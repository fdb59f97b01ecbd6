//! The writer of the values of one metric.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, ErrorKind, Result};
use crate::id::{CnodeId, MetricId};
use crate::meta::{MetricKind, VizType};
use crate::read::{DATA_MAGIC, DENSE, INDEX_MAGIC, SPARSE, member_names, row_bytes};
use crate::value::{CellsRef, DataType, TauAtomic};

use super::{Shared, State};

/// Number of bytes that are encoded and written at once.
const STEP: usize = 256 * 1024;

/// The rows that a metric will have in the report. The caller states them when it begins a metric, because they decide
/// the size of its member. The [module documentation](crate::write) compares their costs.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Rows<'a> {
    /// The rows of all call paths. Rows that are not written become zeros.
    All,
    /// The rows of these call paths, in any order. Other call paths get no row, which means zeros. For types whose
    /// missing rows pyCubexR cannot read, this is the same as [`Rows::All`].
    Listed(&'a [CnodeId]),
    /// The rows that will have been written when the report is finished. Rows go to a temporary file first and are
    /// copied at the end.
    Spooled,
}

/// Writes the values of one metric; [`ReportWriter::metric`](super::ReportWriter::metric) makes it.
///
/// Several threads can share it and write different rows at the same time. It may outlive the
/// [`ReportWriter`](super::ReportWriter), but every write then fails.
#[derive(Debug)]
pub struct MetricWriter {
    shared: Arc<Shared>,
    metric: MetricId,
    kind: MetricKind,
    data_type: DataType,
    way: Way,
}

/// The destination of rows.
#[derive(Debug)]
enum Way {
    Placed(Arc<Placed>),
    Spooled(Arc<Spooled>),
}

/// Rows that have their final place in the report.
#[derive(Debug)]
pub(super) struct Placed {
    /// Offset of the first row in the report.
    start: u64,
    /// Numbers of the rows that the report stores, in ascending order; `None` if it stores all rows.
    rows: Option<Vec<u32>>,
    written: Mutex<Vec<bool>>,
}

/// Rows in the spool file.
#[derive(Debug)]
pub(super) struct Spooled {
    pub(super) metric: MetricId,
    data_type: DataType,
    /// Row numbers, and the offset of each row in the spool file.
    rows: Mutex<BTreeMap<u32, u64>>,
}

impl MetricWriter {
    pub(super) fn begin(shared: &Arc<Shared>, id: MetricId, rows: Rows<'_>) -> Result<Self> {
        let meta = &*shared.meta;
        let Some(metric) = meta.metric(id) else {
            return Err(Error::invalid(format!("the report has no metric {id}")));
        };
        let name = metric.uniq_name;
        if metric.kind.is_derived() {
            return Err(Error::invalid(format!("metric `{name}` is computed from others")));
        }
        let data_type = metric.data_type().ok_or_else(|| {
            let what = format!("metric `{name}` has values of the unknown type `{}`", metric.dtype);
            ErrorKind::Unsupported(what)
        })?;
        let extreme = [DataType::MinDouble, DataType::MaxDouble, DataType::TauAtomic];
        if metric.kind == MetricKind::Inclusive && extreme.contains(&data_type) {
            let what = format!("metric `{name}` cannot be inclusive with values of {data_type}");
            return Err(Error::invalid(what));
        }
        let rows = match rows {
            Rows::Listed(_) if data_type.needs_all_rows() => Rows::All,
            rows => rows,
        };
        let listed = match rows {
            Rows::Listed(cnodes) => {
                let numbers = meta.row_numbers(metric.kind);
                let row = |&cnode: &CnodeId| numbers.get(cnode).ok_or_else(|| unknown(cnode));
                let mut listed = cnodes.iter().map(row).collect::<Result<Vec<u32>>>()?;
                listed.sort_unstable();
                listed.dedup();
                if listed.is_empty() {
                    listed.push(0);
                }
                Some(listed)
            }
            _ => None,
        };
        let mut state = shared.state();
        let begun = state.begun.get_mut(id.index());
        if begun.is_none_or(|begun| std::mem::replace(begun, true)) {
            return Err(Error::invalid(format!("metric `{name}` was begun before")));
        }
        let way = if let Rows::Spooled = rows {
            let rows = Mutex::default();
            let spooled = Arc::new(Spooled { metric: id, data_type, rows });
            state.spooled.push(Arc::clone(&spooled));
            Way::Spooled(spooled)
        } else {
            let start = allot(shared, &mut state, id, data_type, listed.as_deref())?;
            let count = listed.as_ref().map_or(meta.cnodes().len(), Vec::len);
            let written = Mutex::new(vec![false; count]);
            let placed = Arc::new(Placed { start, rows: listed, written });
            if data_type == DataType::TauAtomic {
                state.unfilled.push(Arc::clone(&placed));
            }
            Way::Placed(placed)
        };
        drop(state);
        Ok(Self { shared: Arc::clone(shared), metric: id, kind: metric.kind, data_type, way })
    }

    /// Returns the metric whose values this writer writes.
    pub fn metric(&self) -> MetricId {
        self.metric
    }

    /// Writes the row of a call path: one value for each location, of the type of the metric.
    ///
    /// The values are written as they are; the [kind](MetricKind) of the metric says whether readers take them as
    /// inclusive or exclusive. Narrow integers are passed as 64-bit integers and must fit into their type. A row can be
    /// written only once.
    ///
    /// # Errors
    /// Fails if the row was written before, if it was not listed, if it has another type or length, if a value does not
    /// fit into the type, if the report is finished, or if the file cannot be written. After an error the row of the
    /// call path is as before, so it can still be written if it was not. Only if the file cannot be written may a part
    /// of the row be there until it is written again.
    pub fn write<'a>(&self, cnode: CnodeId, values: impl Into<CellsRef<'a>>) -> Result<()> {
        self.write_row(cnode, values.into()).map_err(|error| error.at(&self.shared.path))
    }

    fn write_row(&self, cnode: CnodeId, values: CellsRef<'_>) -> Result<()> {
        let shared = &*self.shared;
        let open = shared.open.read().unwrap_or_else(PoisonError::into_inner);
        if !*open {
            return Err(Error::invalid("the report is finished"));
        }
        let meta = &*shared.meta;
        let locations = meta.locations().len();
        if values.locations(self.data_type) != Some(locations) {
            return Err(Error::invalid(format!(
                "a row of metric {} has {locations} values of type {}",
                self.metric, self.data_type
            )));
        }
        let row = meta.row_numbers(self.kind).get(cnode).ok_or_else(|| unknown(cnode))?;
        if !values.fits(self.data_type) {
            return Err(unfit(self.data_type));
        }
        let bytes = row_bytes(meta, self.data_type);
        match &self.way {
            Way::Placed(placed) => {
                let slot = match &placed.rows {
                    None => row as usize,
                    Some(rows) => rows.binary_search(&row).map_err(|_| {
                        Error::invalid(format!("call path {cnode} is not among those listed"))
                    })?,
                };
                let written = || placed.written.lock().unwrap_or_else(PoisonError::into_inner);
                claim(written().get_mut(slot), cnode)?;
                let at = placed.start + slot as u64 * bytes;
                let result = put(shared, shared.file(), at, self.data_type, values);
                if result.is_err()
                    && let Some(written) = written().get_mut(slot)
                {
                    *written = false;
                }
                result
            }
            Way::Spooled(spooled) => {
                let rows = || spooled.rows.lock().unwrap_or_else(PoisonError::into_inner);
                let at = match rows().entry(row) {
                    Entry::Occupied(_) => return Err(twice(cnode)),
                    Entry::Vacant(place) => {
                        let mut state = shared.state();
                        let at = state.spool_end;
                        state.spool_end += bytes;
                        *place.insert(at)
                    }
                };
                let write = |spool| put(shared, spool, at, self.data_type, values);
                let result = shared.spool().and_then(write);
                if result.is_err() {
                    rows().remove(&row);
                }
                result
            }
        }
    }
}

/// Place of the values of a metric in the file of a report that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValuesPlace {
    /// Offset of the first row from the beginning of the file, in bytes.
    pub offset: u64,
    /// Size of a row in bytes: one value for each location, in little endian.
    pub row_bytes: u64,
    /// Call paths of the rows, in the order in which the rows follow each other.
    pub rows: Vec<CnodeId>,
}

impl MetricWriter {
    /// Returns the place of the values in the file, for those who write them [there](super::ReportWriter::write_at)
    /// themselves, in larger pieces than rows or from other processes. `None` for spooled metrics, whose place is not
    /// known before the end.
    pub fn place(&self) -> Option<ValuesPlace> {
        let Way::Placed(placed) = &self.way else { return None };
        let meta = &*self.shared.meta;
        let numbers = meta.row_numbers(self.kind);
        let mut rows: Vec<(u32, CnodeId)> =
            meta.cnodes().filter_map(|cnode| Some((numbers.get(cnode)?, cnode))).collect();
        rows.sort_unstable();
        if let Some(listed) = &placed.rows {
            rows.retain(|(row, _)| listed.binary_search(row).is_ok());
        }
        Some(ValuesPlace {
            offset: placed.start,
            row_bytes: row_bytes(meta, self.data_type),
            rows: rows.into_iter().map(|(_, cnode)| cnode).collect(),
        })
    }
}

impl Placed {
    /// Writes the statistics of no numbers to all rows that were not written: for `TAU_ATOMIC` these are not zeros.
    pub(super) fn fill(&self, shared: &Shared) -> Result<()> {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let step = row_bytes(&shared.meta, DataType::TauAtomic);
        for (slot, _) in written.iter().enumerate().filter(|(_, written)| !**written) {
            put_nothing(shared, self.start + slot as u64 * step)?;
        }
        Ok(())
    }
}

impl Spooled {
    /// Copies the rows from the spool file to their places in the report.
    pub(super) fn assemble(&self, shared: &Shared) -> Result<()> {
        let meta = &*shared.meta;
        let rows = std::mem::take(&mut *self.rows.lock().unwrap_or_else(PoisonError::into_inner));
        let bytes = row_bytes(meta, self.data_type);
        let all = self.data_type.needs_all_rows();
        let present: Vec<u32> = match rows.keys().copied().collect::<Vec<_>>() {
            _ if all => (0..meta.cnodes().len() as u32).collect(),
            // pyCubexR cannot read an index of no rows.
            none if none.is_empty() => vec![0],
            some => some,
        };
        let listed = (!all).then_some(present.as_slice());
        let start = allot(shared, &mut shared.state(), self.metric, self.data_type, listed)?;
        let mut buffer = vec![0; (4 * STEP as u64).min(bytes) as usize];
        for (slot, row) in present.iter().enumerate() {
            let to = start + slot as u64 * bytes;
            let Some(&from) = rows.get(row) else {
                if self.data_type == DataType::TauAtomic {
                    put_nothing(shared, to)?;
                }
                continue;
            };
            let mut done = 0;
            while done < bytes {
                let length = (bytes - done).min(buffer.len() as u64);
                let part = buffer.get_mut(..length as usize).unwrap_or_default();
                shared.spool()?.read_exact_at(part, from + done).map_err(Error::io)?;
                shared.put(shared.file(), to + done, part)?;
                done += length;
            }
        }
        Ok(())
    }
}

fn unknown(cnode: CnodeId) -> Error {
    Error::invalid(format!("the report has no call path {cnode}"))
}

fn twice(cnode: CnodeId) -> Error {
    Error::invalid(format!("the row of call path {cnode} was written before"))
}

fn unfit(data_type: DataType) -> Error {
    Error::invalid(format!("a value does not fit into the type {data_type}"))
}

/// Reserves space for the members of a metric, writes its index, and returns the offset of its first row. `rows` are
/// row numbers in rising order, or `None` for all.
fn allot(
    shared: &Shared,
    state: &mut State,
    metric: MetricId,
    data_type: DataType,
    rows: Option<&[u32]>,
) -> Result<u64> {
    let meta = &*shared.meta;
    let ghost = meta.metric(metric).is_some_and(|metric| metric.viz == VizType::Ghost);
    // The document numbers metrics by their ids, and members are named by these numbers.
    let names = member_names(metric.0, ghost);
    let cnodes = meta.cnodes().len() as u32;
    let count = rows.map_or(cnodes, |rows| rows.len() as u32);
    let size = row_bytes(meta, data_type)
        .checked_mul(count.into())
        .and_then(|size| size.checked_add(DATA_MAGIC.len() as u64))
        .ok_or(ErrorKind::Limit("a metric of 2^64 bytes"))?;
    let start = shared.allot(state, &names.data, size)?;
    shared.put(shared.file(), start, DATA_MAGIC)?;
    let mut index = INDEX_MAGIC.to_vec();
    index.extend_from_slice(&1_u32.to_le_bytes());
    index.extend_from_slice(&0_u16.to_le_bytes());
    if rows.is_none() && shared.options.dense_index {
        index.push(DENSE);
    } else {
        index.push(SPARSE);
        index.extend_from_slice(&count.to_le_bytes());
        match rows {
            Some(rows) => index.extend(rows.iter().flat_map(|row| row.to_le_bytes())),
            None => index.extend((0..cnodes).flat_map(u32::to_le_bytes)),
        }
    }
    let place = shared.allot(state, &names.index, index.len() as u64)?;
    shared.put(shared.file(), place, &index)?;
    Ok(start + DATA_MAGIC.len() as u64)
}

/// Marks a row as written. Fails if it is marked already.
fn claim(written: Option<&mut bool>, cnode: CnodeId) -> Result<()> {
    match written {
        Some(written) if !*written => {
            *written = true;
            Ok(())
        }
        _ => Err(twice(cnode)),
    }
}

/// Encodes a row and writes it at an offset of a file.
fn put(
    shared: &Shared,
    file: &File,
    mut at: u64,
    data_type: DataType,
    values: CellsRef<'_>,
) -> Result<()> {
    let locations = shared.meta.locations().len();
    let step = (STEP / data_type.size() as usize).max(1);
    let mut buffer = Vec::with_capacity(step.min(locations) * data_type.size() as usize);
    for from in (0..locations).step_by(step) {
        buffer.clear();
        let part = from..locations.min(from + step);
        values.encode(data_type, part, &mut buffer).ok_or_else(|| unfit(data_type))?;
        shared.put(file, at, &buffer)?;
        at += buffer.len() as u64;
    }
    Ok(())
}

/// Writes a row of `TAU_ATOMIC` values that are the statistics of no numbers.
fn put_nothing(shared: &Shared, at: u64) -> Result<()> {
    let nothing = vec![TauAtomic::default(); shared.meta.locations().len()];
    put(shared, shared.file(), at, DataType::TauAtomic, (&nothing).into())
}
