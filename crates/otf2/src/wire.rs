//! How single fields travel: compressed numbers, fixed numbers, strings, lists.
//!
//! | code | bytes |
//! |---|---|
//! | u8, u16, u64, f32, f64 | fixed width, byte order of the chunk |
//! | v32, v64 | a size byte n, then the n low-order bytes; 0 is `00`, all ones is `FF` |
//! | s32, s64 | as v32 and v64, but every negative value has full width |
//! | str | the bytes and a zero |
//! | list8, list32 | a count (u8 or v32), then the elements |
//!
//! [`Input`] never reads outside its slice and never trusts a count, so a damaged record costs no
//! more than its own bytes. Encoding is in [`output`](crate::output).

use crate::enums::{BitSet, CollectiveRoot, MappingType, Named};
use crate::id::{
    AttributeRef, CallingContextRef, CallpathRef, CallsiteRef, CartDimensionRef, CartTopologyRef,
    CommRef, GroupRef, Id, InterruptGeneratorRef, IoFileRef, IoHandleRef, IoParadigmRef,
    LocationGroupRef, LocationRef, LockId, MarkerRef, MatchingId, MetricMemberRef, MetricRef,
    ParameterRef, Rank, RefKind, RegionRef, RequestId, RmaWinRef, SourceCodeLocationRef, StringRef,
    SystemTreeNodeRef, Time,
};
use crate::map::Maps;
pub use crate::order::ByteOrder;
use crate::output::Output;
use crate::value::{Str, Value};

/// The reasons why the bytes of a record cannot be decoded. The error around it states the file and the offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The bytes of the chunk or file end inside a field of the record.
    Truncated,
    /// A compressed number states this many bytes, which is more than its type has.
    NumberSize(u8),
    /// The fields take more bytes than the length of the record states.
    Overrun,
    /// A string has no terminating zero byte before the end of its record.
    Unterminated,
    /// A mapping table has this mode, which is neither 0 for dense nor 1 for sparse.
    MapMode(u8),
}

impl core::fmt::Display for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Truncated => f.write_str("the bytes end inside a record"),
            Self::NumberSize(n) => {
                write!(f, "a number announces {n} bytes, more than its type has")
            }
            Self::Overrun => f.write_str("the fields need more bytes than the record announces"),
            Self::Unterminated => f.write_str("a string has no end"),
            Self::MapMode(mode) => write!(f, "a mapping table has the unknown mode {mode}"),
        }
    }
}

/// Masks that keep the n low-order bytes of a number, by n.
const MASK: [u64; 9] = [
    0,
    0xFF,
    0xFFFF,
    0xFF_FFFF,
    0xFFFF_FFFF,
    0xFF_FFFF_FFFF,
    0xFFFF_FFFF_FFFF,
    0xFF_FFFF_FFFF_FFFF,
    u64::MAX,
];

/// The bytes of one record that are not decoded yet.
///
/// The slice shrinks from the front as fields are decoded. A position that grows instead would cost a second comparison
/// for each field.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The rest of the record and, usually, bytes after it: reading eight bytes at once needs them.
    rest: &'a [u8],
    /// Number of bytes in `rest` that follow the record, by the length that the record states.
    behind: usize,
    order: ByteOrder,
    maps: Option<&'a Maps>,
}

impl<'a> Input<'a> {
    /// Begins to decode the fields in `bytes` from `pos` to `end`.
    #[inline(always)]
    pub(crate) fn new(
        bytes: &'a [u8],
        pos: usize,
        end: usize,
        order: ByteOrder,
        maps: Option<&'a Maps>,
    ) -> Self {
        let rest = bytes.get(pos..).unwrap_or_default();
        Self::before(rest, bytes.len().saturating_sub(end), order, maps)
    }

    /// Begins to decode the fields at the beginning of `rest`, of which the last `behind` bytes do not belong to the
    /// record.
    #[inline(always)]
    pub(crate) fn before(
        rest: &'a [u8],
        behind: usize,
        order: ByteOrder,
        maps: Option<&'a Maps>,
    ) -> Self {
        Self { rest, behind, order, maps }
    }

    /// Returns the number of bytes left, including those that follow the record.
    #[cfg(feature = "std")]
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Fails if the fields read so far reach beyond the end of the record.
    #[inline(always)]
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if self.rest.len() >= self.behind { Ok(()) } else { Err(Fault::Overrun) }
    }

    /// Returns the bytes from here to the position of `later`, and the settings with which to decode them again.
    pub(crate) fn until(&self, later: &Self) -> (&'a [u8], ByteOrder, Option<&'a Maps>) {
        let length = self.rest.len().saturating_sub(later.rest.len());
        (self.rest.get(..length).unwrap_or_default(), self.order, self.maps)
    }

    /// Returns `true` if the record has more fields, as records of later versions of the format may.
    #[inline(always)]
    pub(crate) fn has_more(&self) -> bool {
        self.rest.len() > self.behind
    }

    /// Returns `true` if the fields read so far are all that the record has.
    #[cfg(feature = "std")]
    #[inline(always)]
    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.len() == self.behind
    }

    /// Skips one byte.
    #[inline(always)]
    pub(crate) fn skip(&mut self) -> Result<(), Fault> {
        self.rest = self.rest.get(1..).ok_or(Fault::Truncated)?;
        Ok(())
    }

    #[inline(always)]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(Fault::Truncated)?;
        self.rest = rest;
        Ok(*bytes)
    }

    #[inline(always)]
    pub(crate) fn u8(&mut self) -> Result<u8, Fault> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    #[inline(always)]
    pub(crate) fn u16(&mut self) -> Result<u16, Fault> {
        let bytes = self.array()?;
        Ok(match self.order {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        })
    }

    #[inline(always)]
    pub(crate) fn u32(&mut self) -> Result<u32, Fault> {
        let bytes = self.array()?;
        Ok(match self.order {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        })
    }

    #[inline(always)]
    pub(crate) fn u64(&mut self) -> Result<u64, Fault> {
        let bytes = self.array()?;
        Ok(match self.order {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        })
    }

    #[inline(always)]
    pub(crate) fn v64(&mut self) -> Result<u64, Fault> {
        if self.order == ByteOrder::Little
            && let Some(&[size, a, b, c, d, e, f, g, h]) = self.rest.first_chunk::<9>()
            && let Some(&mask) = MASK.get(usize::from(size))
            && let Some(rest) = self.rest.get(1 + usize::from(size)..)
        {
            self.rest = rest;
            return Ok(u64::from_le_bytes([a, b, c, d, e, f, g, h]) & mask);
        }
        self.number(8)
    }

    #[inline(always)]
    pub(crate) fn v32(&mut self) -> Result<u32, Fault> {
        if self.order == ByteOrder::Little
            && let Some(&[size, a, b, c, d]) = self.rest.first_chunk::<5>()
            && size <= 4
            && let Some(&mask) = MASK.get(usize::from(size))
            && let Some(rest) = self.rest.get(1 + usize::from(size)..)
        {
            self.rest = rest;
            return Ok(u32::from_le_bytes([a, b, c, d]) & mask as u32);
        }
        // A size byte `FF` gives all ones of either width, so cutting is right.
        Ok(self.number(4)? as u32)
    }

    /// Decodes a compressed number that the fast path cannot: see [`number`].
    #[inline(always)]
    fn number(&mut self, most: u8) -> Result<u64, Fault> {
        let (value, rest) = number(self.rest, self.order, most)?;
        self.rest = rest;
        Ok(value)
    }

    pub(crate) fn str(&mut self) -> Result<Str<'a>, Fault> {
        let length = self.rest.len().checked_sub(self.behind).ok_or(Fault::Truncated)?;
        let bytes = self.rest.get(..length).unwrap_or_default();
        let end = bytes.iter().position(|&byte| byte == 0).ok_or(Fault::Unterminated)?;
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        Ok(Str::new(bytes.get(..end).unwrap_or_default()))
    }

    /// Returns the global id of a local one.
    #[inline(always)]
    fn mapped(&self, mapping: Option<MappingType>, id: u64) -> u64 {
        match (self.maps, mapping) {
            (Some(maps), Some(mapping)) => maps.global(mapping, id),
            _ => id,
        }
    }
}

/// Decodes a compressed number byte by byte: one in big endian, one close to the end of the bytes, or the single byte
/// for all ones. Returns the number and the bytes that follow it.
///
/// This is not a method, because a call with `&mut Input` would force the input out of registers into memory.
#[cold]
#[inline(never)]
fn number(bytes: &[u8], order: ByteOrder, most: u8) -> Result<(u64, &[u8]), Fault> {
    let (&size, rest) = bytes.split_first().ok_or(Fault::Truncated)?;
    if size == 0xFF {
        return Ok((u64::MAX, rest));
    }
    if size > most {
        return Err(Fault::NumberSize(size));
    }
    let (bytes, rest) = rest.split_at_checked(usize::from(size)).ok_or(Fault::Truncated)?;
    let join = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    let value = match order {
        ByteOrder::Little => bytes.iter().rev().fold(0, join),
        ByteOrder::Big => bytes.iter().fold(0, join),
    };
    Ok((value, rest))
}

/// A type that can be a field of a record: it can be decoded, encoded, bounded in size and shown.
///
/// The privacy of this module seals the trait, because the format fixes the set of encodings.
pub trait Wire<'a>: Copy {
    /// Name of the encoding, as the byte tables of the documentation state it.
    const CODE: &'static str;
    /// Decodes the field from the beginning of the input.
    fn read(input: &mut Input<'a>) -> Result<Self, Fault>;
    /// Encodes the field at the position of the output.
    fn write(self, output: &mut impl Output);
    /// Returns the largest number of bytes that encoding this value may store.
    fn bound(self) -> usize;
    /// Returns the field as a value without its type, for printing.
    fn value(&self) -> Value<'_>;
}

/// Implements fields that are one number: the encoding, and the conversions from and to the type of the field.
macro_rules! number_fields {
    ($( $type:ty as $code:ident($bound:literal): $from:expr, $into:expr, $value:expr; )*) => {
        $(
            impl<'a> Wire<'a> for $type {
                const CODE: &'static str = stringify!($code);
                #[inline(always)]
                fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
                    Ok($from(input.$code()?))
                }
                #[inline(always)]
                fn write(self, output: &mut impl Output) { output.$code($into(self)); }
                #[inline(always)]
                fn bound(self) -> usize { $bound }
                fn value(&self) -> Value<'_> { $value(*self) }
            }
        )*
    };
}

number_fields! {
    u8 as u8(1): |n| n, |n| n, |n| Value::Unsigned(u64::from(n));
    u32 as v32(5): |n| n, |n| n, |n| Value::Unsigned(u64::from(n));
    u64 as v64(9): |n| n, |n| n, Value::Unsigned;
    Time as u64(8): Time, |t: Time| t.0, |t: Time| Value::Time(t);
    Rank as v32(5): Rank, |r: Rank| r.0, |r: Rank| Value::Rank(r);
    RequestId as v64(9): RequestId, |r: RequestId| r.0, |r: RequestId| Value::Unsigned(r.0);
    MatchingId as v64(9): MatchingId, |r: MatchingId| r.0, |r: MatchingId| Value::Unsigned(r.0);
    LockId as v64(9): LockId, |r: LockId| r.0, |r: LockId| Value::Unsigned(r.0);
    CollectiveRoot as v32(5): CollectiveRoot::from, u32::from, Value::Root;
}

/// An `f64` is stored as its eight bytes, without compression.
impl<'a> Wire<'a> for f64 {
    const CODE: &'static str = "f64";
    fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
        Ok(f64::from_bits(input.u64()?))
    }
    fn write(self, output: &mut impl Output) {
        output.u64(self.to_bits());
    }
    fn bound(self) -> usize {
        8
    }
    fn value(&self) -> Value<'_> {
        Value::Float(*self)
    }
}

/// A negative number has its top bit set and so takes all eight bytes by itself. The exception is -1, which must not
/// become the single byte `FF` that unsigned numbers use.
impl<'a> Wire<'a> for i64 {
    const CODE: &'static str = "s64";
    #[inline(always)]
    fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
        Ok(input.v64()?.cast_signed())
    }
    #[inline(always)]
    fn write(self, output: &mut impl Output) {
        if self == -1 {
            output.u8(8);
            output.u64(u64::MAX);
        } else {
            output.v64(self.cast_unsigned());
        }
    }
    #[inline(always)]
    fn bound(self) -> usize {
        9
    }
    fn value(&self) -> Value<'_> {
        Value::Signed(*self)
    }
}

impl<'a> Wire<'a> for i32 {
    const CODE: &'static str = "s32";
    fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
        Ok(input.v32()?.cast_signed())
    }
    fn write(self, output: &mut impl Output) {
        if self == -1 {
            output.u8(4);
            output.u32(u32::MAX);
        } else {
            output.v32(self.cast_unsigned());
        }
    }
    fn bound(self) -> usize {
        5
    }
    fn value(&self) -> Value<'_> {
        Value::Signed(i64::from(*self))
    }
}

impl<'a> Wire<'a> for Str<'a> {
    const CODE: &'static str = "str";
    fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
        input.str()
    }
    fn write(self, output: &mut impl Output) {
        output.str(self.as_bytes());
    }
    fn bound(self) -> usize {
        self.as_bytes().len() + 1
    }
    fn value(&self) -> Value<'_> {
        Value::Text(*self)
    }
}

/// Implements ids, which are numbers that a mapping table may translate while they are decoded.
macro_rules! id_fields {
    ($( $type:ident as $code:ident($bound:literal) $(by $mapping:ident)?; )*) => {
        $(
            impl<'a> Wire<'a> for $type {
                const CODE: &'static str = stringify!($code);
                #[inline(always)]
                fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
                    let id = input.$code()?;
                    let mapping = id_fields!(@mapping $($mapping)?);
                    // The global id is cut to the width of the field, as the C library does.
                    Ok(Self(input.mapped(mapping, u64::from(id)) as _))
                }
                #[inline(always)]
                fn write(self, output: &mut impl Output) { output.$code(self.0); }
                #[inline(always)]
                fn bound(self) -> usize { $bound }
                fn value(&self) -> Value<'_> {
                    if self.is_undefined() {
                        Value::Undefined(Self::KIND)
                    } else {
                        Value::Ref(Self::KIND, self.raw())
                    }
                }
            }
        )*
    };
    (@mapping) => { None };
    (@mapping $mapping:ident) => { Some(MappingType::$mapping) };
}

id_fields! {
    StringRef as v32(5) by String;
    AttributeRef as v32(5) by Attribute;
    SystemTreeNodeRef as v32(5);
    LocationGroupRef as v32(5) by LocationGroup;
    LocationRef as v64(9) by Location;
    RegionRef as v32(5) by Region;
    CallsiteRef as v32(5);
    CallpathRef as v32(5);
    GroupRef as v32(5) by Group;
    MetricMemberRef as v32(5);
    MetricRef as v32(5) by Metric;
    CommRef as v32(5) by Comm;
    ParameterRef as v32(5) by Parameter;
    RmaWinRef as v32(5) by RmaWin;
    CartDimensionRef as v32(5);
    CartTopologyRef as v32(5);
    SourceCodeLocationRef as v32(5) by SourceCodeLocation;
    CallingContextRef as v32(5) by CallingContext;
    InterruptGeneratorRef as v32(5) by InterruptGenerator;
    IoFileRef as v32(5) by IoFile;
    IoHandleRef as v32(5) by IoHandle;
    MarkerRef as v32(5);
}

/// The only id that takes a single byte. No mapping table translates it.
impl<'a> Wire<'a> for IoParadigmRef {
    const CODE: &'static str = "u8";
    fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
        Ok(Self(input.u8()?))
    }
    fn write(self, output: &mut impl Output) {
        output.u8(self.0);
    }
    fn bound(self) -> usize {
        1
    }
    fn value(&self) -> Value<'_> {
        if self.is_undefined() {
            Value::Undefined(RefKind::IoParadigm)
        } else {
            Value::Ref(RefKind::IoParadigm, self.raw())
        }
    }
}

macro_rules! enum_fields {
    ($( $type:ident )*) => {
        $(
            impl<'a> Wire<'a> for crate::enums::$type {
                const CODE: &'static str = "u8";
                #[inline(always)]
                fn read(input: &mut Input<'a>) -> Result<Self, Fault> { Ok(Self::from(input.u8()?)) }
                #[inline(always)]
                fn write(self, output: &mut impl Output) { output.u8(self.into()); }
                #[inline(always)]
                fn bound(self) -> usize { 1 }
                fn value(&self) -> Value<'_> { Value::Enum { code: self.code(), name: self.name() } }
            }
        )*
    };
}

enum_fields! {
    SystemTreeDomain LocationGroupType LocationType RegionRole GroupType Base MetricOccurrence
    MetricType MetricMode MetricScope RecorderKind ParameterType CartPeriodicity
    InterruptGeneratorMode IoParadigmClass IoParadigmProperty IoAccessMode MeasurementMode
    CollectiveOp RmaSyncType LockType RmaAtomicType IoSeekOption IoOperationMode MappingType Type
    Paradigm ParadigmClass ParadigmProperty ThumbnailType MarkerSeverity MarkerScope
}

macro_rules! flag_fields {
    ($( $type:ident )*) => {
        $(
            impl<'a> Wire<'a> for crate::enums::$type {
                const CODE: &'static str = "v32";
                #[inline(always)]
                fn read(input: &mut Input<'a>) -> Result<Self, Fault> { Ok(Self(input.v32()?)) }
                #[inline(always)]
                fn write(self, output: &mut impl Output) { output.v32(self.0); }
                #[inline(always)]
                fn bound(self) -> usize { 5 }
                fn value(&self) -> Value<'_> { Value::Flags { bits: self.bits(), names: Self::BITS } }
            }
        )*
    };
}

flag_fields! {
    RegionFlag GroupFlag IoParadigmFlag IoHandleFlag IoStatusFlag CommFlag RmaWinFlag RmaSyncLevel
    IoCreationFlag IoOperationFlag
}
