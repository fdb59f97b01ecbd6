//! Values inside records: strings, typed attribute values, lists, and a view of any field by name.

use core::fmt;

use crate::enums::{CollectiveRoot, IoParadigmProperty, Type};
use crate::id::{
    AttributeRef, CallingContextRef, CartDimensionRef, CommRef, GroupRef, InterruptGeneratorRef,
    IoFileRef, IoHandleRef, LocationGroupRef, LocationRef, MetricMemberRef, MetricRef,
    ParameterRef, Rank, RefKind, RegionRef, RmaWinRef, SourceCodeLocationRef, StringRef, Time,
};
use crate::map::Maps;
use crate::output::Output;
use crate::wire::{ByteOrder, Fault, Input, Wire};

/// A string as the archive holds it: bytes, usually UTF-8, without a zero byte. It borrows from the record it was read
/// from.
///
/// Printing it replaces invalid UTF-8 by the replacement character; [`Str::as_bytes`] gives the exact bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Str<'a>(&'a [u8]);

impl<'a> Str<'a> {
    /// Makes a string of these bytes, up to the first zero byte if there is one, because the format ends strings with a
    /// zero.
    pub fn new(bytes: &'a [u8]) -> Self {
        match bytes.iter().position(|&b| b == 0) {
            Some(end) => Self(bytes.get(..end).unwrap_or_default()),
            None => Self(bytes),
        }
    }

    /// Returns the exact bytes of the string, without the terminating zero and without any check of their encoding.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Returns the string as UTF-8 text, or `None` if its bytes are not valid UTF-8. Use the `Display` implementation
    /// for text that is always printable.
    pub const fn to_str(self) -> Option<&'a str> {
        match core::str::from_utf8(self.0) {
            Ok(text) => Some(text),
            Err(_) => None,
        }
    }
}

impl<'a> From<&'a str> for Str<'a> {
    fn from(text: &'a str) -> Self {
        Self::new(text.as_bytes())
    }
}

impl fmt::Display for Str<'_> {
    /// Prints the string; invalid UTF-8 becomes the replacement character.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.utf8_chunks().try_for_each(|chunk| {
            f.write_str(chunk.valid())?;
            if chunk.invalid().is_empty() { Ok(()) } else { f.write_str("\u{FFFD}") }
        })
    }
}

impl fmt::Debug for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// A value with its type, as attributes of events and properties of definitions hold it. References inside it are
/// global ids, translated by the mapping tables of the location when they were read.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)] // One variant for each `Type`, holding just that.
pub enum AttributeValue {
    Uint8(u8),
    Uint16(u16),
    Uint32(u32),
    Uint64(u64),
    Int8(i8),
    Int16(i16),
    Int32(i32),
    Int64(i64),
    Float(f32),
    Double(f64),
    String(StringRef),
    Attribute(AttributeRef),
    Location(LocationRef),
    Region(RegionRef),
    Group(GroupRef),
    Metric(MetricRef),
    Comm(CommRef),
    Parameter(ParameterRef),
    RmaWin(RmaWinRef),
    SourceCodeLocation(SourceCodeLocationRef),
    CallingContext(CallingContextRef),
    InterruptGenerator(InterruptGeneratorRef),
    IoFile(IoFileRef),
    IoHandle(IoHandleRef),
    LocationGroup(LocationGroupRef),
    /// A number of unknown meaning: its type is `NONE`, or one that only a later version of the format knows.
    Other(Type, u64),
}

/// Implements the variants that are plain fields; variants of fixed width are handled by name.
macro_rules! typed_values {
    ($( $variant:ident )*) => {
        impl AttributeValue {
            /// Returns the type of the value, which is the byte that precedes it on disk.
            #[inline(always)]
            pub fn value_type(self) -> Type {
                match self {
                    Self::Uint8(_) => Type::Uint8,
                    Self::Uint16(_) => Type::Uint16,
                    Self::Int8(_) => Type::Int8,
                    Self::Int16(_) => Type::Int16,
                    Self::Float(_) => Type::Float,
                    Self::Double(_) => Type::Double,
                    $( Self::$variant(_) => Type::$variant, )*
                    Self::Other(of, _) => of,
                }
            }

            /// Returns the value as a [`Value`], which code can print or compare without knowing the type.
            pub fn show(&self) -> Value<'_> {
                match self {
                    Self::Uint8(n) => Value::Unsigned(u64::from(*n)),
                    Self::Uint16(n) => Value::Unsigned(u64::from(*n)),
                    Self::Int8(n) => Value::Signed(i64::from(*n)),
                    Self::Int16(n) => Value::Signed(i64::from(*n)),
                    Self::Float(x) => Value::Float(f64::from(*x)),
                    Self::Double(x) => Value::Float(*x),
                    $( Self::$variant(value) => value.value(), )*
                    Self::Other(_, raw) => Value::Unsigned(*raw),
                }
            }
        }

        impl<'a> Wire<'a> for AttributeValue {
            const CODE: &'static str = "attr";

            fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
                Ok(match Type::from(input.u8()?) {
                    Type::Uint8 => Self::Uint8(input.u8()?),
                    Type::Uint16 => Self::Uint16(input.u16()?),
                    Type::Int8 => Self::Int8(input.u8()?.cast_signed()),
                    Type::Int16 => Self::Int16(input.u16()?.cast_signed()),
                    Type::Float => Self::Float(f32::from_bits(input.u32()?)),
                    Type::Double => Self::Double(f64::from_bits(input.u64()?)),
                    $( Type::$variant => Self::$variant(Wire::read(input)?), )*
                    other => Self::Other(other, input.v64()?),
                })
            }

            #[inline(always)]
            fn write(self, output: &mut impl Output) {
                output.u8(self.value_type().into());
                match self {
                    Self::Uint8(n) => output.u8(n),
                    Self::Uint16(n) => output.u16(n),
                    Self::Int8(n) => output.u8(n.cast_unsigned()),
                    Self::Int16(n) => output.u16(n.cast_unsigned()),
                    Self::Float(x) => output.u32(x.to_bits()),
                    Self::Double(x) => output.u64(x.to_bits()),
                    $( Self::$variant(value) => value.write(output), )*
                    Self::Other(_, raw) => output.v64(raw),
                }
            }

            fn bound(self) -> usize {
                10
            }

            fn value(&self) -> Value<'_> {
                Value::Typed(*self)
            }
        }
    };
}

typed_values! {
    Uint32 Uint64 Int32 Int64 String Attribute Location Region Group Metric Comm Parameter RmaWin
    SourceCodeLocation CallingContext InterruptGenerator IoFile IoHandle LocationGroup
}

/// An attribute of an event: a piece of data that the record itself has no field for, such as the calling context of a
/// call. An event can have any number of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attribute {
    /// The attribute definition, which gives the name and the type of the value.
    pub attribute: AttributeRef,
    /// The value. Its type should be the one that the attribute definition states, but neither reading nor writing
    /// checks this.
    pub value: AttributeValue,
}

/// One value of a metric event, as 64 bits that mean what `value_type` says. The metric class of the event tells which
/// counter it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricValue {
    /// Type of the value: [`Type::Int64`], [`Type::Uint64`] or [`Type::Double`]. Damaged files can hold other types.
    pub value_type: Type,
    /// The 64 bits of the value, for example the result of [`f64::to_bits`] for a real number.
    pub bits: u64,
}

impl MetricValue {
    /// Makes a metric value of type [`Type::Uint64`], as most counters have it.
    pub const fn unsigned(value: u64) -> Self {
        Self { value_type: Type::Uint64, bits: value }
    }

    /// Makes a metric value of type [`Type::Int64`], for quantities that can be negative.
    pub const fn signed(value: i64) -> Self {
        Self { value_type: Type::Int64, bits: value.cast_unsigned() }
    }

    /// Makes a metric value of type [`Type::Double`] from a real number.
    pub const fn real(value: f64) -> Self {
        Self { value_type: Type::Double, bits: value.to_bits() }
    }
}

/// A property of an I/O paradigm, as [`IoParadigm`](crate::def::IoParadigm) definitions list them, for example the
/// version of a library.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IoProperty {
    /// The property whose value this is.
    pub property: IoParadigmProperty,
    /// The value of the property; a version is a reference to a string.
    pub value: AttributeValue,
}

/// Implements types that are two fields, encoded one after the other.
macro_rules! pair_fields {
    ($( $type:ident { $a:ident, $b:ident } show $value:expr; )*) => {
        $(
            impl<'a> Wire<'a> for $type {
                const CODE: &'static str = "pair";
                fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
                    Ok(Self { $a: Wire::read(input)?, $b: Wire::read(input)? })
                }
                fn write(self, output: &mut impl Output) {
                    self.$a.write(output);
                    self.$b.write(output);
                }
                fn bound(self) -> usize { self.$a.bound() + self.$b.bound() }
                fn value(&self) -> Value<'_> { $value(self) }
            }
        )*
    };
}

impl Attribute {
    /// Largest encoded size in bytes of a list of one attribute: its count, the reference and the value.
    pub(crate) const LIST_OF_ONE: usize = 5 + 5 + 10;

    /// Encodes the attribute as a list of one.
    #[inline(always)]
    pub(crate) fn write_as_list(self, output: &mut impl Output) {
        output.v32(1);
        self.attribute.write(output);
        self.value.write(output);
    }
}

pair_fields! {
    Attribute { attribute, value } show |a: &Attribute| Value::Attribute(*a);
    MetricValue { value_type, bits } show |m: &MetricValue| Value::Metric(*m);
    IoProperty { property, value } show |p: &IoProperty| Value::IoProperty(*p);
}

/// A type that can be an element of a [`List`], with the encoding of the element count in lists of it.
///
/// The trait is sealed: only types of this crate can implement it.
pub trait Element<'a>: Wire<'a> {
    /// `true` if the count takes a single byte, so that a list has at most 255 elements; `false` if it is a compressed
    /// 32-bit number.
    const SHORT_COUNT: bool;
}

macro_rules! elements {
    ($( $type:ident $short:literal; )*) => {
        $( impl Element<'_> for $type { const SHORT_COUNT: bool = $short; } )*
    };
}

elements! {
    Attribute false;
    MetricValue true;
    IoProperty true;
    StringRef false;
    MetricMemberRef true;
    CartDimensionRef true;
    u32 true;
    u64 false;
}

/// Size bound of a list that is too long for the format: larger than any chunk, and small enough to add to without
/// overflow.
const UNWRITABLE: usize = usize::MAX / 2;

/// A list inside a record, such as the members of a group or the attributes of an event.
///
/// A list that was read from an archive borrows the bytes and decodes each element when it is iterated; a list to be
/// written is made from a slice. Neither allocates.
///
/// ```
/// use otf2::List;
/// let members = [0_u64, 1, 2];
/// let list = List::from(&members[..]);
/// assert_eq!(list.iter().sum::<u64>(), 3);
/// ```
#[derive(Clone, Copy)]
pub struct List<'a, T>(Repr<'a, T>);

#[derive(Clone, Copy)]
enum Repr<'a, T> {
    /// Elements as they are stored in a file. Reading has checked that `count` elements can be decoded.
    Wire {
        bytes: &'a [u8],
        maps: Option<&'a Maps>,
        count: u32,
        order: ByteOrder,
    },
    Slice(&'a [T]),
}

impl<'a, T: Element<'a>> List<'a, T> {
    /// Returns the number of elements, without decoding them.
    #[inline]
    pub fn len(&self) -> usize {
        match self.0 {
            Repr::Wire { count, .. } => count as usize,
            Repr::Slice(slice) => slice.len(),
        }
    }

    /// Returns `true` if the list has no elements, as the attribute list of most events.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the elements in the order of the file. The iterator borrows from the record and not from this
    /// list.
    #[inline]
    pub fn iter(&self) -> Iter<'a, T> {
        let input = match self.0 {
            Repr::Wire { bytes, maps, order, .. } => Input::new(bytes, 0, bytes.len(), order, maps),
            Repr::Slice(_) => Input::new(&[], 0, 0, ByteOrder::Little, None),
        };
        Iter { list: *self, input, at: 0 }
    }
}

impl<'a, T> From<&'a [T]> for List<'a, T> {
    #[inline]
    fn from(slice: &'a [T]) -> Self {
        Self(Repr::Slice(slice))
    }
}

impl<T> Default for List<'_, T> {
    #[inline]
    fn default() -> Self {
        Self(Repr::Slice(&[]))
    }
}

impl<'a, T: Element<'a>> IntoIterator for List<'a, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T: Element<'a> + PartialEq> PartialEq for List<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, T: Element<'a> + fmt::Debug> fmt::Debug for List<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Iterator over the elements of a [`List`], which decodes each element when it is asked for. [`List::iter`] makes it.
#[derive(Clone)]
pub struct Iter<'a, T> {
    list: List<'a, T>,
    input: Input<'a>,
    at: usize,
}

impl<'a, T: Element<'a>> Iterator for Iter<'a, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.at == self.list.len() {
            return None;
        }
        let item = match self.list.0 {
            Repr::Wire { .. } => T::read(&mut self.input).ok(),
            Repr::Slice(slice) => slice.get(self.at).copied(),
        };
        self.at += 1;
        item
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.list.len() - self.at;
        (left, Some(left))
    }
}

impl<'a, T: Element<'a>> Wire<'a> for List<'a, T> {
    const CODE: &'static str = if T::SHORT_COUNT { "list8" } else { "list32" };

    fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
        let count = if T::SHORT_COUNT { u32::from(input.u8()?) } else { input.v32()? };
        let begin = *input;
        // Every element takes at least a byte, so a wild count ends at the end of the record.
        for _ in 0..count {
            T::read(input)?;
            input.check()?;
        }
        let (bytes, order, maps) = begin.until(input);
        Ok(Self(Repr::Wire { bytes, maps, count, order }))
    }

    fn write(self, output: &mut impl Output) {
        // The bound of a longer list is too large for any chunk: it never comes here.
        let count = self.len() as u32;
        if T::SHORT_COUNT {
            output.u8(count as u8);
        } else {
            output.v32(count);
        }
        self.iter().for_each(|item| item.write(output));
    }

    fn bound(self) -> usize {
        let most = if T::SHORT_COUNT { u32::from(u8::MAX) } else { u32::MAX };
        match u32::try_from(self.len()) {
            Ok(count) if count <= most => {
                let head = if T::SHORT_COUNT { 1 } else { 5 };
                head + self.iter().map(Wire::bound).sum::<usize>()
            }
            _ => UNWRITABLE,
        }
    }

    fn value(&self) -> Value<'_> {
        Value::List(self)
    }
}

/// A list of elements whose type is not known at compile time, for code that prints or compares records of any kind.
pub trait Items {
    /// Calls `visit` with each element, in the order of the file.
    fn each(&self, visit: &mut dyn FnMut(Value<'_>));
    /// Returns the number of elements.
    fn count(&self) -> usize;
}

impl<'a, T: Element<'a>> Items for List<'a, T> {
    fn each(&self, visit: &mut dyn FnMut(Value<'_>)) {
        self.iter().for_each(|item| visit(item.value()));
    }
    fn count(&self) -> usize {
        self.len()
    }
}

/// A field of a record without its type. [`Event::fields`](crate::Event::fields) and its siblings give fields in this
/// form, so that records of any kind can be printed and compared by one piece of code.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Value<'v> {
    /// An unsigned number, such as a count, a size in bytes or a tag.
    Unsigned(u64),
    /// A signed number, such as a clock offset.
    Signed(i64),
    /// A real number; numbers of single precision are widened.
    Float(f64),
    /// A point in time, in ticks of the trace clock.
    Time(Time),
    /// A rank of the communicator or window that the same record names. [`Rank::UNDEFINED`] means all ranks or none,
    /// depending on the record.
    Rank(Rank),
    /// The root of a collective operation, which may be none.
    Root(CollectiveRoot),
    /// A reference to a definition: the kind of definition and its global id.
    Ref(RefKind, u64),
    /// A reference of this kind that refers to no definition, because the field is optional.
    Undefined(RefKind),
    /// A value of an enumeration of the format.
    Enum {
        /// The number of the value on disk.
        code: u32,
        /// The name in the spelling of OTF2, or `None` if this crate does not know the number.
        name: Option<&'static str>,
    },
    /// A bit set of the format, in which any number of bits may be set.
    Flags {
        /// All bits that are set, including bits without a name.
        bits: u32,
        /// Each bit that has a name, with the name, lowest bit first.
        names: &'static [(u32, &'static str)],
    },
    /// Text that is part of the record itself instead of in a string definition, as in markers and in the string
    /// definitions themselves.
    Text(Str<'v>),
    /// A value that states its own type, such as the value of a property.
    Typed(AttributeValue),
    /// An attribute of an event, with its value.
    Attribute(Attribute),
    /// One value of a metric event, with its type.
    Metric(MetricValue),
    /// One property of an I/O paradigm, with its value.
    IoProperty(IoProperty),
    /// A list of values, which [`Items::each`] visits one by one.
    List(&'v dyn Items),
    /// A mapping table: pairs of local and global ids.
    Map(crate::map::IdMapRef<'v>),
}
