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

/// Byte order of the values of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The lowest byte first; what this crate writes.
    Little,
    /// The highest byte first.
    Big,
}

/// Type of the values of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DataType {
    /// 8 bits, unsigned.
    Uint8,
    /// 16 bits, unsigned.
    Uint16,
    /// 32 bits, unsigned.
    Uint32,
    /// 64 bits, unsigned.
    Uint64,
    /// 8 bits, signed.
    Int8,
    /// 16 bits, signed.
    Int16,
    /// 32 bits, signed.
    Int32,
    /// 64 bits, signed.
    Int64,
    /// A number.
    Double,
    /// A number; several become one by their least.
    MinDouble,
    /// A number; several become one by their greatest.
    MaxDouble,
    /// A count with least, greatest, sum and sum of squares.
    TauAtomic,
    /// Numerator and denominator.
    Rate,
    /// Real and imaginary part.
    Complex,
    /// Factors of a scaling function.
    ScaleFunc,
    /// Least, greatest and this many bins.
    Histogram(u16),
    /// This many numbers.
    NDoubles(u16),
}

/// The types without a number in brackets, by the names that cubelib takes; the first is ours.
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

/// How a type is kept in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Unsigned(usize),
    Signed(usize),
    Double,
    Doubles(usize),
    Tau,
}

impl DataType {
    /// Understands the `dtype` of a metric.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim();
        if let Some((kind, count)) = name.strip_suffix(')').and_then(|name| name.split_once('(')) {
            // A histogram of more bins than this is no histogram, and a row of it no row.
            let count = count.trim().parse().ok().filter(|&count: &u16| count > 0)?;
            return match kind.trim() {
                "HISTOGRAM" if count <= u16::MAX - 2 => Some(Self::Histogram(count)),
                "NDOUBLES" => Some(Self::NDoubles(count)),
                _ => None,
            };
        }
        NAMES.iter().find(|(_, names)| names.contains(&name)).map(|&(kind, _)| kind)
    }

    /// Bytes of a value.
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

    /// Whether pyCubexR fails on a row that is left out, so that all rows must be written.
    pub(crate) fn needs_all_rows(self) -> bool {
        matches!(
            self,
            Self::MinDouble | Self::MaxDouble | Self::TauAtomic | Self::Rate | Self::Complex
        )
    }
}

impl fmt::Display for DataType {
    /// As it stands in `anchor.xml`.
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

/// A value of type `TAU_ATOMIC`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TauAtomic {
    /// How many values it sums up.
    pub count: u32,
    /// The least of them.
    pub min: f64,
    /// The greatest of them.
    pub max: f64,
    /// Their sum.
    pub sum: f64,
    /// The sum of their squares.
    pub sum_of_squares: f64,
}

impl Default for TauAtomic {
    /// Of no values: adding it changes nothing.
    fn default() -> Self {
        Self { count: 0, min: f64::MAX, max: -f64::MAX, sum: 0.0, sum_of_squares: 0.0 }
    }
}

/// The values of a row, one or several for each location.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cells {
    /// Unsigned integers of any width.
    Unsigned(Vec<u64>),
    /// Signed integers of any width.
    Signed(Vec<i64>),
    /// One number each.
    Double(Vec<f64>),
    /// Several numbers each.
    Doubles {
        /// How many numbers each location has.
        width: usize,
        /// The numbers of the first location, of the second, …
        values: Vec<f64>,
    },
    /// `TAU_ATOMIC` values.
    Tau(Vec<TauAtomic>),
}

/// Values to be written; see [`Cells`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum CellsRef<'a> {
    /// For unsigned integers of any width.
    Unsigned(&'a [u64]),
    /// For signed integers of any width.
    Signed(&'a [i64]),
    /// For `DOUBLE`, `MINDOUBLE` and `MAXDOUBLE`.
    Double(&'a [f64]),
    /// For all types of several numbers: those of the first location, of the second, …
    Doubles(&'a [f64]),
    /// For `TAU_ATOMIC`.
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

/// The values of one call path at every location.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    data_type: DataType,
    cells: Cells,
}

impl Row {
    /// A row without any location yet.
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

    /// Type of its values.
    pub fn data_type(&self) -> DataType {
        self.data_type
    }

    /// Its values.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// How many locations it has.
    pub fn len(&self) -> usize {
        match &self.cells {
            Cells::Unsigned(values) => values.len(),
            Cells::Signed(values) => values.len(),
            Cells::Double(values) => values.len(),
            Cells::Doubles { width, values } => values.len() / (*width).max(1),
            Cells::Tau(values) => values.len(),
        }
    }

    /// Whether it has no location.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a location as one number, as tools show it: a rate is its quotient, a complex
    /// number its absolute value, a `TAU_ATOMIC` its mean. Other types of several numbers have none.
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

    /// The row that has these bytes, as this crate writes them. A rest that is no whole value is left out.
    pub fn from_bytes(data_type: DataType, bytes: &[u8]) -> Self {
        let mut row = Self::new(data_type);
        row.decode(bytes, ByteOrder::Little);
        row
    }

    /// Its bytes, as this crate writes them. None if a value does not fit into its type, as a sum may not.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let values = CellsRef::from(&self.cells);
        let locations = values.locations(self.data_type).unwrap_or(0);
        values.encode(self.data_type, 0..locations, &mut bytes)?;
        Some(bytes)
    }

    /// A row of zeros as long as this one.
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

    /// Makes room for that many locations more.
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

    /// Appends the values that `bytes` hold; a rest that is no whole value is left out.
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

    /// Adds another row, as values of two call paths become one.
    ///
    /// # Errors
    /// `Unsupported` for histograms and scaling functions, whose sums the format does not define.
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

    /// Subtracts another row, as a call path is freed of its children.
    ///
    /// # Errors
    /// `Unsupported` for types that cannot be subtracted: extremes, histograms, scaling functions.
    pub(crate) fn subtract(&mut self, other: &Self) -> Result<()> {
        let kind = self.data_type;
        match (&mut self.cells, &other.cells) {
            // A damaged or rounded report may have more below than above; 2^64 - 1 helps nobody.
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

/// The numbers in `bytes`.
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
    /// How many locations of a type these values fill; nothing if they do not fit the type.
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

    /// Writes the values of some locations, little-endian; nothing if one does not fit its type.
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
                    (value >> (8 * size) == 0).then_some(())?;
                    out.extend_from_slice(value.to_le_bytes().get(..size)?);
                }
            }
            (Self::Signed(values), Shape::Signed(size)) => {
                for value in values.get(locations)? {
                    let unused = 64 - 8 * size as u32;
                    ((value << unused) >> unused == *value).then_some(())?;
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

/// Appends words of eight bytes; a loop that the compiler turns into a plain copy.
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
