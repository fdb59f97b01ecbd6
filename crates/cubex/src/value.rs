//! Types of values, and rows of them.
//!
//! | `dtype` in `anchor.xml` | bytes | layout | [`Cells`] |
//! |---|---|---|---|
//! | `UINT8` (`CHAR`), `UINT16` (`UNSIGNED SHORT INT`), `UINT32` (`UNSIGNED INT`), `UINT64` (`UNSIGNED INTEGER`) | 1, 2, 4, 8 | unsigned | `Unsigned` |
//! | `INT8`, `INT16` (`SHORT INT`), `INT32` (`INT`), `INT64` (`INTEGER`) | 1, 2, 4, 8 | two's complement | `Signed` |
//! | `DOUBLE` (`FLOAT`), `MINDOUBLE`, `MAXDOUBLE` | 8 | f64 | `Double` |
//! | `RATE` | 16 | f64 numerator, f64 denominator | `Doubles`, 2 each |
//! | `COMPLEX` | 16 | f64 real, f64 imaginary | `Doubles`, 2 each |
//! | `SCALE_FUNC` | 216 | 27 f64 | `Doubles`, 27 each |
//! | `HISTOGRAM(n)` | 16 + 8 n | f64 least, f64 most, n f64 | `Doubles`, n + 2 each |
//! | `NDOUBLES(n)` | 8 n | n f64 | `Doubles`, n each |
//! | `TAU_ATOMIC` | 36 | u32 count, f64 least, f64 most, f64 sum, f64 sum of squares | `Tau` |
//!
//! Integers stay integers: sums of them are exact, whatever their order.

use std::fmt;

use crate::error::{Error, ErrorKind, Result};
use crate::id::LocationId;

/// Byte order of the values of a metric. The index of each metric states it, so the metrics of one report may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The least significant byte comes first. This crate writes this order only.
    Little,
    /// The most significant byte comes first, as in reports from older machines.
    Big,
}

/// Type of the values of a metric. It decides the size of a value in the file, the [`Cells`] that hold a row in memory,
/// and how values are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DataType {
    /// Unsigned integer of 8 bits; `UINT8` or `CHAR` in `anchor.xml`.
    Uint8,
    /// Unsigned integer of 16 bits; `UINT16` in `anchor.xml`.
    Uint16,
    /// Unsigned integer of 32 bits; `UINT32` in `anchor.xml`.
    Uint32,
    /// Unsigned integer of 64 bits; `UINT64` in `anchor.xml`. Counts such as `visits` usually have this type.
    Uint64,
    /// Signed integer of 8 bits; `INT8` in `anchor.xml`.
    Int8,
    /// Signed integer of 16 bits; `INT16` in `anchor.xml`.
    Int16,
    /// Signed integer of 32 bits; `INT32` in `anchor.xml`.
    Int32,
    /// Signed integer of 64 bits; `INT64` or `INTEGER` in `anchor.xml`.
    Int64,
    /// Real number of double precision; `DOUBLE` or `FLOAT` in `anchor.xml`. Times usually have this type.
    Double,
    /// Real number that is the minimum of several; adding two values gives the smaller one.
    MinDouble,
    /// Real number that is the maximum of several; adding two values gives the larger one.
    MaxDouble,
    /// Statistics of several numbers, as TAU records them: count, minimum, maximum, sum and sum of squares. See
    /// [`TauAtomic`](struct@TauAtomic).
    TauAtomic,
    /// Quotient of two real numbers, kept as numerator and denominator so that sums stay correct.
    Rate,
    /// Complex number, as real and imaginary part.
    Complex,
    /// Scaling function, as 27 factors of its terms. Its values cannot be added.
    ScaleFunc,
    /// Histogram with this many bins, which follow its minimum and its maximum. Its values cannot be added.
    Histogram(u16),
    /// List of this many real numbers, which are added one by one.
    NDoubles(u16),
}

/// The types without a number in brackets, with the names that cubelib accepts. This crate writes the first name.
const NAMES: &[(DataType, &[&str])] = &[
    (DataType::Uint8, &["UINT8", "CHAR"]),
    (DataType::Uint16, &["UINT16", "UNSIGNED SHORT INT", "SHORT UNSIGNED INT"]),
    (DataType::Uint32, &["UINT32", "UNSIGNED INT"]),
    (DataType::Uint64, &["UINT64", "UNSIGNED INTEGER"]),
    (DataType::Int8, &["INT8"]),
    (DataType::Int16, &["INT16", "SHORT INT", "SIGNED SHORT INT"]),
    (DataType::Int32, &["INT32", "INT", "SIGNED INT"]),
    (DataType::Int64, &["INT64", "INTEGER", "SIGNED INTEGER"]),
    (DataType::Double, &["DOUBLE", "FLOAT"]),
    (DataType::MinDouble, &["MINDOUBLE"]),
    (DataType::MaxDouble, &["MAXDOUBLE"]),
    (DataType::TauAtomic, &["TAU_ATOMIC"]),
    (DataType::Rate, &["RATE"]),
    (DataType::Complex, &["COMPLEX"]),
    (DataType::ScaleFunc, &["SCALE_FUNC"]),
];

/// The representation of a type in memory, with the size or the number of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Unsigned(usize),
    Signed(usize),
    Double,
    Doubles(usize),
    Tau,
}

impl DataType {
    /// Parses the `dtype` of a metric as it is written in `anchor.xml`, such as `UINT64` or `HISTOGRAM(10)`. Returns `None`
    /// for an unknown type, for a list of no numbers, and for a count that does not fit into 16 bits.
    ///
    /// ```
    /// use cubex::DataType;
    /// assert_eq!(DataType::parse("UNSIGNED INTEGER"), Some(DataType::Uint64));
    /// assert_eq!(DataType::parse("NDOUBLES(3)"), Some(DataType::NDoubles(3)));
    /// assert_eq!(DataType::parse("NDOUBLES(0)"), None);
    /// ```
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim();
        if let Some((kind, count)) = name.strip_suffix(')').and_then(|name| name.split_once('(')) {
            // The limit of 16 bits keeps the size of a value, and so of a row, reasonable.
            let count = count.trim().parse().ok().filter(|&count: &u16| count > 0)?;
            return match kind.trim() {
                "HISTOGRAM" if count <= u16::MAX - 2 => Some(Self::Histogram(count)),
                "NDOUBLES" => Some(Self::NDoubles(count)),
                _ => None,
            };
        }
        NAMES.iter().find(|(_, names)| names.contains(&name)).map(|&(kind, _)| kind)
    }

    /// Returns the size of one value in the file, in bytes. A row takes this many bytes for each location.
    pub fn size(self) -> u32 {
        match self.shape() {
            Shape::Unsigned(bytes) | Shape::Signed(bytes) => bytes as u32,
            Shape::Double => 8,
            Shape::Doubles(width) => 8 * width as u32,
            Shape::Tau => 36,
        }
    }

    pub(crate) fn shape(self) -> Shape {
        match self {
            Self::Uint8 => Shape::Unsigned(1),
            Self::Uint16 => Shape::Unsigned(2),
            Self::Uint32 => Shape::Unsigned(4),
            Self::Uint64 => Shape::Unsigned(8),
            Self::Int8 => Shape::Signed(1),
            Self::Int16 => Shape::Signed(2),
            Self::Int32 => Shape::Signed(4),
            Self::Int64 => Shape::Signed(8),
            Self::Double | Self::MinDouble | Self::MaxDouble => Shape::Double,
            Self::TauAtomic => Shape::Tau,
            Self::Rate | Self::Complex => Shape::Doubles(2),
            Self::ScaleFunc => Shape::Doubles(27),
            Self::Histogram(bins) => Shape::Doubles(usize::from(bins) + 2),
            Self::NDoubles(count) => Shape::Doubles(count.into()),
        }
    }

    /// Returns `true` if pyCubexR fails on a missing row of this type, so that all rows must be written.
    pub(crate) fn needs_all_rows(self) -> bool {
        matches!(
            self,
            Self::MinDouble | Self::MaxDouble | Self::TauAtomic | Self::Rate | Self::Complex
        )
    }
}

impl fmt::Display for DataType {
    /// Prints the type as it is written in `anchor.xml`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Histogram(bins) => write!(f, "HISTOGRAM({bins})"),
            Self::NDoubles(count) => write!(f, "NDOUBLES({count})"),
            _ => {
                let names = NAMES.iter().find(|(kind, _)| kind == self).map(|(_, names)| names);
                f.write_str(names.and_then(|names| names.first()).unwrap_or(&""))
            }
        }
    }
}

/// A value of type `TAU_ATOMIC`: statistics of the numbers that were recorded at one place. The default value stands
/// for no numbers at all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TauAtomic {
    /// Number of recorded numbers. Sums stop at the largest value that fits.
    pub count: u32,
    /// Smallest recorded number, or `f64::MAX` if there is none.
    pub min: f64,
    /// Largest recorded number, or `-f64::MAX` if there is none.
    pub max: f64,
    /// Sum of the recorded numbers.
    pub sum: f64,
    /// Sum of the squares of the recorded numbers, from which tools compute the standard deviation.
    pub sum_of_squares: f64,
}

impl Default for TauAtomic {
    /// Returns the statistics of no numbers, which change nothing when they are added.
    fn default() -> Self {
        Self { count: 0, min: f64::MAX, max: -f64::MAX, sum: 0.0, sum_of_squares: 0.0 }
    }
}

/// The values of a row in memory, one or several for each location, in the order of location ids. The [`DataType`] of
/// the metric decides the variant.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cells {
    /// Unsigned integers, one for each location, widened to 64 bits.
    Unsigned(Vec<u64>),
    /// Signed integers, one for each location, widened to 64 bits.
    Signed(Vec<i64>),
    /// Real numbers, one for each location: types `DOUBLE`, `MINDOUBLE` and `MAXDOUBLE`.
    Double(Vec<f64>),
    /// Real numbers, several for each location: rates, complex numbers, scaling functions, histograms and lists.
    Doubles {
        /// Number of real numbers that each location has.
        width: usize,
        /// The numbers of the first location, then those of the second, and so on.
        values: Vec<f64>,
    },
    /// Statistics of type `TAU_ATOMIC`, one for each location.
    Tau(Vec<TauAtomic>),
}

/// Borrowed values of a row to be written by [`MetricWriter::write`](crate::MetricWriter::write). Slices, vectors and
/// arrays of `u64`, `i64`, `f64` and [`TauAtomic`] convert to it, and so does a [`Row`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum CellsRef<'a> {
    /// Values for unsigned integers of any width, one for each location. Each must fit into the type of the metric.
    Unsigned(&'a [u64]),
    /// Values for signed integers of any width, one for each location. Each must fit into the type of the metric.
    Signed(&'a [i64]),
    /// Values for `DOUBLE`, `MINDOUBLE` and `MAXDOUBLE`, one for each location. A slice of `f64` that converts to this
    /// variant is also accepted for types of several numbers.
    Double(&'a [f64]),
    /// Values for all types of several numbers: those of the first location, then those of the second, and so on.
    Doubles(&'a [f64]),
    /// Values for `TAU_ATOMIC`, one for each location.
    Tau(&'a [TauAtomic]),
}

macro_rules! from_slices {
    ($($variant:ident($cell:ty)),*) => {
        $(
            impl<'a> From<&'a [$cell]> for CellsRef<'a> {
                fn from(values: &'a [$cell]) -> Self {
                    Self::$variant(values)
                }
            }
            impl<'a> From<&'a Vec<$cell>> for CellsRef<'a> {
                fn from(values: &'a Vec<$cell>) -> Self {
                    Self::$variant(values)
                }
            }
            impl<'a, const N: usize> From<&'a [$cell; N]> for CellsRef<'a> {
                fn from(values: &'a [$cell; N]) -> Self {
                    Self::$variant(values)
                }
            }
        )*
    };
}

from_slices!(Unsigned(u64), Signed(i64), Double(f64), Tau(TauAtomic));

impl<'a> From<&'a Cells> for CellsRef<'a> {
    fn from(cells: &'a Cells) -> Self {
        match cells {
            Cells::Unsigned(values) => Self::Unsigned(values),
            Cells::Signed(values) => Self::Signed(values),
            Cells::Double(values) => Self::Double(values),
            Cells::Doubles { values, .. } => Self::Doubles(values),
            Cells::Tau(values) => Self::Tau(values),
        }
    }
}

impl<'a> From<&'a Row> for CellsRef<'a> {
    fn from(row: &'a Row) -> Self {
        (&row.cells).into()
    }
}

/// The values of one metric for one call path, at every location. The column of a location is its id.
/// [`Values::row`](crate::Values::row) reads a row; rows can be added, and written to another report.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    data_type: DataType,
    cells: Cells,
}

impl Row {
    /// Makes a row without any location.
    pub(crate) fn new(data_type: DataType) -> Self {
        let cells = match data_type.shape() {
            Shape::Unsigned(_) => Cells::Unsigned(Vec::new()),
            Shape::Signed(_) => Cells::Signed(Vec::new()),
            Shape::Double => Cells::Double(Vec::new()),
            Shape::Doubles(width) => Cells::Doubles { width, values: Vec::new() },
            Shape::Tau => Cells::Tau(Vec::new()),
        };
        Self { data_type, cells }
    }

    /// Returns the type of the values, which is that of the metric.
    pub fn data_type(&self) -> DataType {
        self.data_type
    }

    /// Returns the values in the form that their type has in memory, for exact arithmetic. [`Row::number`] is simpler
    /// for display.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Returns the number of locations in the row. Rows of a report have a value for each location; the result of
    /// [`Values::cell`](crate::Values::cell) has one.
    pub fn len(&self) -> usize {
        match &self.cells {
            Cells::Unsigned(values) => values.len(),
            Cells::Signed(values) => values.len(),
            Cells::Double(values) => values.len(),
            Cells::Doubles { width, values } => values.len() / (*width).max(1),
            Cells::Tau(values) => values.len(),
        }
    }

    /// Returns `true` if the row has no location, as no row of a sound report.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value of a location as one number, as tools show it. A rate is its quotient, a complex number its
    /// absolute value, and a `TAU_ATOMIC` its mean; these are NaN if the denominator or the count is zero. Integers
    /// above 2^53 are rounded.
    ///
    /// Returns `None` for other types of several numbers, and for a location outside the row.
    ///
    /// ```
    /// use cubex::{DataType, LocationId, Row};
    /// let bytes: Vec<u8> = [6.0_f64, 4.0].into_iter().flat_map(f64::to_le_bytes).collect();
    /// let row = Row::from_bytes(DataType::Rate, &bytes);
    /// assert_eq!(row.number(LocationId(0)), Some(1.5));
    /// assert_eq!(row.number(LocationId(1)), None);
    /// ```
    pub fn number(&self, location: LocationId) -> Option<f64> {
        let at = location.index();
        match (&self.cells, self.data_type) {
            (Cells::Unsigned(values), _) => values.get(at).map(|&value| value as f64),
            (Cells::Signed(values), _) => values.get(at).map(|&value| value as f64),
            (Cells::Double(values), _) => values.get(at).copied(),
            (Cells::Tau(values), _) => values.get(at).map(|tau| tau.sum / f64::from(tau.count)),
            (Cells::Doubles { width, values }, data_type) => {
                let cell = values.get(at.checked_mul(*width)?..)?.get(..*width)?;
                match (data_type, cell) {
                    (DataType::Rate, [up, down]) => Some(up / down),
                    (DataType::Complex, [re, im]) => Some(re.hypot(*im)),
                    _ => None,
                }
            }
        }
    }

    /// Decodes a row from its bytes, in little endian as this crate writes them. Trailing bytes that are not a whole value
    /// are ignored.
    pub fn from_bytes(data_type: DataType, bytes: &[u8]) -> Self {
        let mut row = Self::new(data_type);
        row.decode(bytes, ByteOrder::Little);
        row
    }

    /// Encodes the row as its bytes, in little endian as this crate writes them. Returns `None` if a value does not fit
    /// into its type, as the sum of narrow integers may not.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let values = CellsRef::from(&self.cells);
        let locations = values.locations(self.data_type).unwrap_or(0);
        values.encode(self.data_type, 0..locations, &mut bytes)?;
        Some(bytes)
    }

    /// Returns a row of zeros with as many locations as this one.
    pub(crate) fn zeros(&self) -> Self {
        let cells = match &self.cells {
            Cells::Unsigned(values) => Cells::Unsigned(vec![0; values.len()]),
            Cells::Signed(values) => Cells::Signed(vec![0; values.len()]),
            Cells::Double(values) => Cells::Double(vec![0.0; values.len()]),
            Cells::Doubles { width, values } => {
                Cells::Doubles { width: *width, values: vec![0.0; values.len()] }
            }
            Cells::Tau(values) => Cells::Tau(vec![TauAtomic::default(); values.len()]),
        };
        Self { data_type: self.data_type, cells }
    }

    pub(crate) fn clear(&mut self) {
        match &mut self.cells {
            Cells::Unsigned(values) => values.clear(),
            Cells::Signed(values) => values.clear(),
            Cells::Double(values) | Cells::Doubles { values, .. } => values.clear(),
            Cells::Tau(values) => values.clear(),
        }
    }

    /// Reserves memory for this many more locations.
    pub(crate) fn reserve(&mut self, locations: usize) {
        match &mut self.cells {
            Cells::Unsigned(values) => values.reserve_exact(locations),
            Cells::Signed(values) => values.reserve_exact(locations),
            Cells::Double(values) => values.reserve_exact(locations),
            Cells::Doubles { width, values } => {
                values.reserve_exact(locations.saturating_mul(*width));
            }
            Cells::Tau(values) => values.reserve_exact(locations),
        }
    }

    /// Appends the values that `bytes` hold. Trailing bytes that are not a whole value are ignored.
    pub(crate) fn decode(&mut self, bytes: &[u8], order: ByteOrder) {
        match (&mut self.cells, self.data_type.shape()) {
            (Cells::Unsigned(values), Shape::Unsigned(size)) => match size {
                1 => values.extend(bytes.iter().map(|&byte| u64::from(byte))),
                2 => values.extend(cells(bytes, order, u16::from_le_bytes).map(u64::from)),
                4 => values.extend(cells(bytes, order, u32::from_le_bytes).map(u64::from)),
                _ => values.extend(cells(bytes, order, u64::from_le_bytes)),
            },
            (Cells::Signed(values), Shape::Signed(size)) => match size {
                1 => values.extend(bytes.iter().map(|&byte| i64::from(byte.cast_signed()))),
                2 => values.extend(cells(bytes, order, i16::from_le_bytes).map(i64::from)),
                4 => values.extend(cells(bytes, order, i32::from_le_bytes).map(i64::from)),
                _ => values.extend(cells(bytes, order, i64::from_le_bytes)),
            },
            (Cells::Double(values) | Cells::Doubles { values, .. }, _) => {
                values.extend(cells(bytes, order, f64::from_le_bytes));
            }
            (Cells::Tau(values), _) => {
                for cell in bytes.chunks_exact(36) {
                    let (count, rest) = cell.split_at(4);
                    let mut numbers = cells(rest, order, f64::from_le_bytes);
                    let mut number = || numbers.next().unwrap_or_default();
                    values.push(TauAtomic {
                        count: cells(count, order, u32::from_le_bytes).next().unwrap_or_default(),
                        min: number(),
                        max: number(),
                        sum: number(),
                        sum_of_squares: number(),
                    });
                }
            }
            // `Row::new` gives each type the cells of its shape.
            (Cells::Unsigned(_) | Cells::Signed(_), _) => {}
        }
    }

    /// Adds the values of another row location by location, as the values of two call paths become one. Integers stop
    /// at the limits of 64 bits; minima and maxima stay minima and maxima. If the rows differ in length, locations
    /// beyond the shorter one are unchanged.
    ///
    /// ```
    /// use cubex::{Cells, DataType, Row};
    /// let mut row = Row::from_bytes(DataType::Uint8, &[1, 250]);
    /// row.add(&Row::from_bytes(DataType::Uint8, &[2, 10]))?;
    /// assert_eq!(row.cells(), &Cells::Unsigned(vec![3, 260]));
    /// assert_eq!(row.to_bytes(), None, "260 does not fit into 8 bits");
    /// # Ok::<(), cubex::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails with `Unsupported` for histograms and scaling functions, whose sums the format does not define, and if the
    /// rows differ in type.
    pub fn add(&mut self, other: &Self) -> Result<()> {
        let kind = self.data_type;
        match (&mut self.cells, &other.cells) {
            (Cells::Unsigned(to), Cells::Unsigned(from)) => {
                each(to, from, u64::saturating_add);
            }
            (Cells::Signed(to), Cells::Signed(from)) => each(to, from, i64::saturating_add),
            (Cells::Double(to), Cells::Double(from)) => match kind {
                DataType::MinDouble => each(to, from, f64::min),
                DataType::MaxDouble => each(to, from, f64::max),
                _ => each(to, from, |a, b| a + b),
            },
            (Cells::Doubles { values: to, .. }, Cells::Doubles { values: from, .. })
                if !matches!(kind, DataType::Histogram(_) | DataType::ScaleFunc) =>
            {
                each(to, from, |a, b| a + b);
            }
            (Cells::Tau(to), Cells::Tau(from)) => each(to, from, |a, b| TauAtomic {
                count: a.count.saturating_add(b.count),
                min: a.min.min(b.min),
                max: a.max.max(b.max),
                sum: a.sum + b.sum,
                sum_of_squares: a.sum_of_squares + b.sum_of_squares,
            }),
            _ => return Err(no_sum(kind)),
        }
        Ok(())
    }

    /// Subtracts the values of another row location by location, as exclusive values come from inclusive ones. Unsigned
    /// integers stop at 0.
    ///
    /// # Errors
    /// Fails with `Unsupported` for types that cannot be subtracted: extremes, histograms, scaling functions.
    pub(crate) fn subtract(&mut self, other: &Self) -> Result<()> {
        let kind = self.data_type;
        match (&mut self.cells, &other.cells) {
            // In a damaged or rounded report, children may exceed their parent; 0 is then more useful than 2^64 - 1.
            (Cells::Unsigned(to), Cells::Unsigned(from)) => {
                each(to, from, u64::saturating_sub);
            }
            (Cells::Signed(to), Cells::Signed(from)) => each(to, from, i64::saturating_sub),
            (Cells::Double(to), Cells::Double(from)) if kind == DataType::Double => {
                each(to, from, |a, b| a - b);
            }
            (Cells::Doubles { values: to, .. }, Cells::Doubles { values: from, .. })
                if !matches!(kind, DataType::Histogram(_) | DataType::ScaleFunc) =>
            {
                each(to, from, |a, b| a - b);
            }
            _ => return Err(no_sum(kind)),
        }
        Ok(())
    }
}

fn no_sum(kind: DataType) -> Error {
    ErrorKind::Unsupported(format!("values of type {kind} cannot be converted between call paths"))
        .into()
}

/// Combines two rows value by value.
fn each<T: Copy>(to: &mut [T], from: &[T], with: impl Fn(T, T) -> T) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = with(*to, from);
    }
}

/// Iterates over the numbers in `bytes`.
#[inline]
fn cells<T, const N: usize>(
    bytes: &[u8],
    order: ByteOrder,
    from: impl Fn([u8; N]) -> T,
) -> impl Iterator<Item = T> {
    bytes.chunks_exact(N).map(move |chunk| {
        let mut cell = [0; N];
        cell.copy_from_slice(chunk);
        if order == ByteOrder::Big {
            cell.reverse();
        }
        from(cell)
    })
}

impl CellsRef<'_> {
    /// Returns the number of locations that these values fill in a row of this type, or `None` if they do not fit the
    /// type.
    pub(crate) fn locations(self, data_type: DataType) -> Option<usize> {
        match (self, data_type.shape()) {
            (Self::Unsigned(values), Shape::Unsigned(_)) => Some(values.len()),
            (Self::Signed(values), Shape::Signed(_)) => Some(values.len()),
            (Self::Double(values), Shape::Double) => Some(values.len()),
            (Self::Double(values) | Self::Doubles(values), Shape::Doubles(width)) => {
                values.len().is_multiple_of(width).then_some(values.len() / width)
            }
            (Self::Tau(values), Shape::Tau) => Some(values.len()),
            _ => None,
        }
    }

    /// Returns `true` if [`encode`](Self::encode) succeeds for all locations of a row of this type.
    pub(crate) fn fits(self, data_type: DataType) -> bool {
        match (self, data_type.shape()) {
            (Self::Unsigned(values), Shape::Unsigned(size)) => {
                size == 8 || values.iter().all(|&value| fits_unsigned(value, size))
            }
            (Self::Signed(values), Shape::Signed(size)) => {
                size == 8 || values.iter().all(|&value| fits_signed(value, size))
            }
            _ => self.locations(data_type).is_some(),
        }
    }

    /// Encodes the values of a range of locations in little endian, or returns `None` if one does not fit its type.
    pub(crate) fn encode(
        self,
        data_type: DataType,
        locations: std::ops::Range<usize>,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        match (self, data_type.shape()) {
            (Self::Unsigned(values), Shape::Unsigned(size)) => {
                let values = values.get(locations)?;
                if size == 8 {
                    put_words(values.iter().map(|value| value.to_le_bytes()), out);
                    return Some(());
                }
                for value in values {
                    fits_unsigned(*value, size).then_some(())?;
                    out.extend_from_slice(value.to_le_bytes().get(..size)?);
                }
            }
            (Self::Signed(values), Shape::Signed(size)) => {
                for value in values.get(locations)? {
                    fits_signed(*value, size).then_some(())?;
                    out.extend_from_slice(value.to_le_bytes().get(..size)?);
                }
            }
            (Self::Double(values) | Self::Doubles(values), shape) => {
                let width = if let Shape::Doubles(width) = shape { width } else { 1 };
                let values = values.get(locations.start * width..locations.end * width)?;
                put_words(values.iter().map(|value| value.to_le_bytes()), out);
            }
            (Self::Tau(values), _) => {
                for tau in values.get(locations)? {
                    out.extend_from_slice(&tau.count.to_le_bytes());
                    for number in [tau.min, tau.max, tau.sum, tau.sum_of_squares] {
                        out.extend_from_slice(&number.to_le_bytes());
                    }
                }
            }
            _ => return None,
        }
        Some(())
    }
}

/// Returns `true` if a value fits into fewer than eight bytes.
fn fits_unsigned(value: u64, size: usize) -> bool {
    value >> (8 * size) == 0
}

/// Returns `true` if a value fits into this many bytes.
fn fits_signed(value: i64, size: usize) -> bool {
    let unused = 64 - 8 * size as u32;
    (value << unused) >> unused == value
}

/// Appends words of eight bytes, in a loop that the compiler turns into a plain copy.
fn put_words(words: impl ExactSizeIterator<Item = [u8; 8]>, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + 8 * words.len(), 0);
    let (slots, _) = out.get_mut(start..).unwrap_or_default().as_chunks_mut::<8>();
    for (slot, word) in slots.iter_mut().zip(words) {
        *slot = word;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for &(kind, names) in NAMES {
            assert!(names.iter().all(|name| DataType::parse(name) == Some(kind)));
            assert_eq!(DataType::parse(&kind.to_string()), Some(kind));
        }
        assert_eq!(DataType::parse("HISTOGRAM( 12 )"), Some(DataType::Histogram(12)));
        assert_eq!(DataType::parse("NDOUBLES(3)").map(DataType::size), Some(24));
        assert_eq!(DataType::Histogram(4).size(), 48);
        for odd in ["", "HISTOGRAM", "HISTOGRAM()", "HISTOGRAM(0)", "NDOUBLES(65536)", "RATE(2)"] {
            assert_eq!(DataType::parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn narrow_values_must_fit() {
        let mut out = Vec::new();
        assert!(CellsRef::from(&[255_u64]).encode(DataType::Uint8, 0..1, &mut out).is_some());
        assert!(CellsRef::from(&[256_u64]).encode(DataType::Uint8, 0..1, &mut out).is_none());
        assert!(CellsRef::from(&[-128_i64]).encode(DataType::Int8, 0..1, &mut out).is_some());
        assert!(CellsRef::from(&[128_i64]).encode(DataType::Int8, 0..1, &mut out).is_none());
        assert!(CellsRef::from(&[i64::MIN]).encode(DataType::Int64, 0..1, &mut out).is_some());
        assert_eq!(out.len(), 10);
    }
}
