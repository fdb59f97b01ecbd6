//! Tables: their columns, and how rows become Parquet files.
//!
//! Parts of a table are made in parallel. Each part is a Parquet file without a name, whose row groups are written as soon as they
//! have [`ROWS`] rows, so that a part takes the memory of one row group. [`assemble`] appends the row groups of all parts to the
//! file of the table, in the order of the parts and without decoding them. Parts follow from the trace alone, so that a file has
//! the same bytes for any number of threads.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use dwell_files::Folder;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type as Schema};

use crate::error::{Error, Result};

/// Greatest number of rows in a row group.
const ROWS: usize = 65_536;

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number of something that is numbered from 0, such as locations: 32 bits.
    Number,
    /// A time, a length of time, a count or a number of bytes: 64 bits.
    Integer,
    /// A number of double precision, for values whose unit another column says and for seconds of a report.
    Real,
    /// A text in UTF-8, which is stored once for each row group where it repeats.
    Text,
}

impl Kind {
    /// Returns the name of the type in Parquet, as the page about tables says it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "INT32",
            Self::Integer => "INT64",
            Self::Real => "DOUBLE",
            Self::Text => "STRING",
        }
    }
}

/// A column of a table: its name, which ends with the unit where it has one, and the meaning of its values.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name of the column, in lower case; `_ns`, `_s` or `bytes` at its end is the unit of its values.
    pub name: &'static str,
    /// Type of the values, by which readers choose the type of a column in memory.
    pub kind: Kind,
    /// True if rows may lack a value, which readers then show as null, `None` or `NA`.
    pub is_optional: bool,
    /// Meaning of the values in one or two sentences, as the page about tables has it.
    pub about: &'static str,
}

/// A table that [`parquet`](crate::parquet) writes to a file of its own, with its columns in their order.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Name of the table, which is that of its file without `.parquet`.
    pub name: &'static str,
    /// Meaning of a row and order of the rows, as the page about tables has it.
    pub about: &'static str,
    /// Columns in the order of the file. Readers find them by their names, so that later versions may add some.
    pub columns: &'static [Column],
}

impl Table {
    fn schema(&self) -> std::result::Result<Arc<Schema>, ParquetError> {
        let field = |it: &Column| {
            let (physical, logical) = match it.kind {
                Kind::Number => (Physical::INT32, None),
                Kind::Integer => (Physical::INT64, None),
                Kind::Real => (Physical::DOUBLE, None),
                Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            };
            let repetition = match it.is_optional {
                true => Repetition::OPTIONAL,
                false => Repetition::REQUIRED,
            };
            let field = Schema::primitive_type_builder(it.name, physical);
            field.with_logical_type(logical).with_repetition(repetition).build().map(Arc::new)
        };
        let fields = self.columns.iter().map(field).collect::<std::result::Result<_, _>>()?;
        Schema::group_type_builder(self.name).with_fields(fields).build().map(Arc::new)
    }

    fn properties(&self) -> Arc<WriterProperties> {
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("dwell ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true);
        // Times rise, and hardly ever repeat.
        for column in self.columns.iter().filter(|it| it.name.ends_with("_ns")) {
            let path = ColumnPath::from(column.name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
        Arc::new(properties.build())
    }

    pub(crate) fn file(&self) -> String {
        format!("{}.parquet", self.name)
    }
}

/// A text that many rows may share.
pub(crate) type Text = ByteArray;

/// A value of a row.
#[derive(Debug)]
pub(crate) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(Text),
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<u32> for Cell {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

impl From<&Text> for Cell {
    fn from(value: &Text) -> Self {
        Self::Text(value.clone())
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Values of a column.
#[derive(Debug)]
enum Values {
    Number(Vec<i32>),
    Integer(Vec<i64>),
    Real(Vec<f64>),
    Text(Vec<Text>),
}

impl Values {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Number => Self::Number(Vec::new()),
            Kind::Integer => Self::Integer(Vec::new()),
            Kind::Real => Self::Real(Vec::new()),
            Kind::Text => Self::Text(Vec::new()),
        }
    }

    /// Adds a value of the type of the column; one of another type becomes that of an empty cell.
    #[inline(always)]
    fn push(&mut self, cell: Cell) {
        match (self, cell) {
            (Self::Number(list), Cell::Integer(it)) => {
                list.push(i32::try_from(it).unwrap_or(i32::MAX));
            }
            (Self::Integer(list), Cell::Integer(it)) => list.push(it),
            (Self::Real(list), Cell::Real(it)) => list.push(it),
            (Self::Text(list), Cell::Text(it)) => list.push(it),
            (Self::Number(list), _) => list.push(0),
            (Self::Integer(list), _) => list.push(0),
            (Self::Real(list), _) => list.push(0.0),
            (Self::Text(list), _) => list.push(Text::from("")),
        }
    }

    fn clear(&mut self) {
        match self {
            Self::Number(list) => list.clear(),
            Self::Integer(list) => list.clear(),
            Self::Real(list) => list.clear(),
            Self::Text(list) => list.clear(),
        }
    }
}

/// A part of a table, which is being written.
pub(crate) struct Part {
    table: &'static Table,
    /// Values of each column, and for optional ones whether each row has a value: 1 or 0.
    columns: Vec<(Values, Option<Vec<i16>>)>,
    rows: usize,
    count: u64,
    writer: SerializedFileWriter<BufWriter<File>>,
    /// The same file, to be read.
    file: File,
}

/// A part of a table with all its rows.
pub(crate) struct Finished {
    file: File,
    about: ParquetMetaData,
    rows: u64,
}

impl Part {
    pub(crate) fn new(table: &'static Table, folder: &Folder) -> Result<Self> {
        let io = |error| Error::Io(folder.path().to_owned(), error);
        let file = folder.unnamed().map_err(io)?;
        let output = BufWriter::with_capacity(1 << 17, file.try_clone().map_err(io)?);
        let columns = table.columns.iter();
        let columns = columns.map(|it| (Values::new(it.kind), it.is_optional.then(Vec::new)));
        let failed = |error| Error::Parquet(table.name, error);
        let schema = table.schema().map_err(failed)?;
        let writer =
            SerializedFileWriter::new(output, schema, table.properties()).map_err(failed)?;
        Ok(Self { table, columns: columns.collect(), rows: 0, count: 0, writer, file })
    }

    /// Adds a row.
    #[inline]
    pub(crate) fn push<const N: usize>(&mut self, cells: [Cell; N]) -> Result<()> {
        debug_assert_eq!(N, self.columns.len(), "{}", self.table.name);
        for ((values, levels), cell) in self.columns.iter_mut().zip(cells) {
            match (levels, &cell) {
                (Some(levels), Cell::Null) => {
                    levels.push(0);
                    continue;
                }
                (Some(levels), _) => levels.push(1),
                (None, _) => {}
            }
            values.push(cell);
        }
        self.rows += 1;
        if self.rows >= ROWS {
            self.flush().map_err(|error| Error::Parquet(self.table.name, error))?;
        }
        Ok(())
    }

    /// Writes a row group.
    fn flush(&mut self) -> std::result::Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for (values, levels) in &mut self.columns {
            let Some(mut column) = group.next_column()? else { break };
            let present = levels.as_deref();
            match values {
                Values::Number(it) => {
                    column.typed::<Int32Type>().write_batch(it, present, None)?;
                }
                Values::Integer(it) => {
                    column.typed::<Int64Type>().write_batch(it, present, None)?;
                }
                Values::Real(it) => {
                    column.typed::<DoubleType>().write_batch(it, present, None)?;
                }
                Values::Text(it) => {
                    column.typed::<ByteArrayType>().write_batch(it, present, None)?;
                }
            }
            column.close()?;
            values.clear();
            levels.iter_mut().for_each(Vec::clear);
        }
        group.close()?;
        self.count += self.rows as u64;
        self.rows = 0;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<Finished> {
        let failed = |error| Error::Parquet(self.table.name, error);
        self.flush().map_err(failed)?;
        let about = self.writer.close().map_err(failed)?;
        Ok(Finished { file: self.file, about, rows: self.count })
    }
}

/// Writes the file of a table from its parts, and returns the number of its rows.
pub(crate) fn assemble(
    table: &'static Table,
    folder: &Folder,
    parts: impl IntoIterator<Item = Finished>,
) -> Result<u64> {
    let io = |error| Error::Io(folder.path().join(table.file()), error);
    let new = folder.create(table.file()).map_err(io)?;
    let output = BufWriter::with_capacity(1 << 18, new.file());
    let mut rows = 0;
    let append = || {
        let mut writer = SerializedFileWriter::new(output, table.schema()?, table.properties())?;
        for part in parts {
            for group in part.about.row_groups() {
                let mut all = writer.next_row_group()?;
                for column in group.columns() {
                    let result = ColumnCloseResult {
                        bytes_written: column.compressed_size().try_into().unwrap_or(0),
                        rows_written: group.num_rows().try_into().unwrap_or(0),
                        metadata: column.clone(),
                        bloom_filter: None,
                        column_index: None,
                        offset_index: None,
                    };
                    all.append_column(&part.file, result)?;
                }
                all.close()?;
            }
            rows += part.rows;
        }
        writer.close()
    };
    append().map_err(|error| Error::Parquet(table.name, error))?;
    new.place().map_err(io)?;
    Ok(rows)
}
