//! What a record is, and the macro that makes records from tables.
//!
//! The tables in [`event`](crate::event), [`def`](crate::def), [`snapshot`](crate::snapshot),
//! [`marker`](crate::marker) and [`thumbnail`](crate::thumbnail) are the only place where a record is
//! described: the struct, the enum around all of them, reading, writing, the byte table in the
//! documentation and the view by field name all come from there.

use crate::output::Output;
use crate::value::Value;
use crate::wire::{Fault, Input};

/// The byte layout of a record in a file. All records but a few old events have [`Framing::Length`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// The id of the record, the length of its fields, then the fields. Readers can skip such a record without knowing
    /// its kind.
    Length,
    /// The id of the record and one compressed number, without a length. A reader must know the record to skip it.
    Single,
    /// The id of the record and a zero byte, because the record has no fields.
    Empty,
}

/// The two kinds of definition file. The records 5 and 6 mean different things in them, so decoding must know which one
/// it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The one definition file of the archive. Files in which each id has a single meaning, such as event files, count
    /// as global too.
    Global,
    /// The definition file of one location, with its mapping tables and clock offsets.
    Local,
}

/// One kind of record, such as [`Enter`](crate::event::Enter), with its id, its name and its fields. The tables of this
/// crate implement the trait for every record of the format; it cannot be implemented outside.
pub trait Record<'a>: Copy {
    /// Id of the record on disk.
    const ID: u8;
    /// Name of the record, in the spelling of the C library.
    const NAME: &'static str;
    /// Byte layout of the record in a file.
    const FRAMING: Framing;

    /// Decodes the fields, in the order of the file.
    #[doc(hidden)]
    fn read(input: &mut Input<'a>) -> Result<Self, Fault>;
    /// Encodes the fields, in the order of the file.
    #[doc(hidden)]
    fn write(&self, output: &mut impl Output);
    /// Returns an upper bound for the encoded size of the fields, in bytes.
    #[doc(hidden)]
    fn bound(&self) -> usize;
    /// Calls `visit` with the name and value of each field, in the order of the file.
    fn fields(&self, visit: &mut dyn FnMut(&'static str, Value<'_>));
}

/// Continuation that receives a record once it is decoded.
///
/// A closure would do, but a closure cannot be marked `#[inline(always)]`.
pub(crate) trait Then<R> {
    type Output;
    fn then(self, record: R) -> Self::Output;
}

/// Returns the record unchanged.
pub(crate) struct Keep;

impl<R> Then<R> for Keep {
    type Output = R;
    #[inline(always)]
    fn then(self, record: R) -> R {
        record
    }
}

/// Any record that the writers of this crate accept: a struct of one kind, or the enum of all kinds. The writers use
/// these methods and know nothing else about a record.
pub trait Any: Copy {
    /// Returns the id of the record on disk.
    fn id(&self) -> u8;
    /// Returns the byte layout of the record, or `None` for a record of unknown kind, which cannot be written.
    fn framing(&self) -> Option<Framing>;
    /// Returns an upper bound for the encoded size of the fields, in bytes.
    fn bound(&self) -> usize;
    /// Encodes the fields, in the order of the file.
    fn write(&self, output: &mut impl Output);
}

/// Returns an upper bound for the size of a whole record whose fields take at most `bound` bytes.
#[inline(always)]
pub(crate) const fn framed(bound: usize) -> usize {
    let long_length = if bound < 0xFF { 0 } else { 8 };
    2 + bound + long_length
}

/// Encodes everything that follows the id of a record: its length, if it has one, and its fields.
#[inline(always)]
pub(crate) fn write_body(record: &impl Any, framing: Framing, output: &mut impl Output) {
    match framing {
        Framing::Single => record.write(output),
        Framing::Empty => output.u8(0),
        Framing::Length => {
            output.u8(0);
            let fields = output.pos();
            record.write(output);
            output.length(fields, record.bound());
        }
    }
}

/// A record of a kind that this crate does not know, from a later version of the format. Readers skip it by its length
/// and keep only its id, so it cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Id of the record on disk.
    pub id: u8,
}

/// Makes a struct for each row, and an enum of them all.
///
/// A row is `id Name "since" Framing { field: type as code, … }`; fields that later versions appended
/// stand in `@late { … = default }`, and a record that no such row can describe is
/// `id Name custom "since" Framing;` with its struct written by hand.
macro_rules! records {
    (
        $(#[$enum_doc:meta])*
        enum $enum:ident is $any:ident;
        $(
            $(#[$doc:meta])*
            $id:literal $name:ident $(<$life:lifetime>)? $(custom)? $since:literal $framing:ident
            $(;)?
            $({
                $( $(#[$field_doc:meta])* $field:ident: $type:ty as $code:ident, )*
                $( @late {
                    $( $(#[$late_doc:meta])* $late:ident: $late_type:ty as $late_code:ident = $default:expr, )*
                } )?
            })?
        )*
    ) => {
        $(
            crate::record::records!(@struct
                $(#[$doc])*
                $id $name $(<$life>)? $since $framing
                $({
                    $( $(#[$field_doc])* $field: $type as $code, )*
                    $( @late { $( $(#[$late_doc])* $late: $late_type as $late_code = $default, )* } )?
                })?
            );
        )*

        $(#[$enum_doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum $enum<'a> {
            $(
                #[doc = concat!("Record ", stringify!($id), ", since OTF2 ", $since, ".")]
                $name($name $(<$life>)?),
            )*
            /// A record of a later version of the format, whose fields were skipped.
            Unknown(Unknown),
        }

        impl<'a> $enum<'a> {
            /// Decodes the fields of record `id` in a file of this scope. The input begins with the last byte of the
            /// length, which only some records have.
            #[inline(always)]
            pub(crate) fn read(scope: Scope, id: u8, input: Input<'a>) -> Result<Self, Fault> {
                Self::read_then(scope, id, input, Keep)
            }

            /// Decodes the fields of record `id` and passes the record to `then` while the compiler still knows its
            /// kind, so that the branches of `then` for other kinds are optimised away.
            #[inline(always)]
            #[allow(unused_variables)]
            pub(crate) fn read_then<T: Then<Self>>(
                scope: Scope,
                id: u8,
                input: Input<'a>,
                then: T,
            ) -> Result<T::Output, Fault> {
                match id {
                    $( $id if crate::record::records!(@in $framing scope) => {
                        // Each kind of record has a copy of the input, so that the compiler can keep it in registers.
                        let mut input = input;
                        if !matches!(<$name $(<$life>)? as Record<'a>>::FRAMING, Framing::Single) {
                            input.skip()?;
                        }
                        let record = <$name $(<$life>)? as Record<'a>>::read(&mut input)?;
                        input.check()?;
                        Ok(then.then(Self::$name(record)))
                    } )*
                    id => Ok(then.then(Self::Unknown(Unknown { id }))),
                }
            }

            /// Returns the id of the record on disk. Ids are unique among the records of one kind of file.
            #[inline(always)]
            pub fn id(&self) -> u8 {
                match self {
                    $( Self::$name(_) => $id, )*
                    Self::Unknown(unknown) => unknown.id,
                }
            }

            /// Returns the name of the record in the spelling of the C library, or `"Unknown"` for a record of a later
            /// version of the format.
            pub fn name(&self) -> &'static str {
                match self {
                    $( Self::$name(_) => stringify!($name), )*
                    Self::Unknown(_) => "Unknown",
                }
            }

            /// Ids and names of all records of this enum, in the order of the table that defines them.
            pub const KINDS: &'static [(u8, &'static str)] = &[$( ($id, stringify!($name)), )*];

            /// Calls `visit` with the name and value of each field, in the order of the file. A record of unknown kind
            /// has no fields. Printing and comparing of records rests on this.
            pub fn fields(&self, visit: &mut dyn FnMut(&'static str, Value<'_>)) {
                match self {
                    $( Self::$name(record) => record.fields(visit), )*
                    Self::Unknown(_) => {}
                }
            }

        }

        #[doc = concat!("Any record that can stand where a [`", stringify!($enum), "`] can: one of the structs of this module, or the enum.")]
        ///
        /// Writers take any of them. With a struct, the compiler knows the kind and writes it without
        /// asking; with the enum, the kind is looked up.
        pub trait $any: crate::record::Any {}

        impl $any for $enum<'_> {}

        impl<'a> crate::record::Any for $enum<'a> {
            #[inline(always)]
            fn id(&self) -> u8 { self.id() }

            #[inline(always)]
            fn bound(&self) -> usize {
                match self {
                    $( Self::$name(record) => crate::record::Record::bound(record), )*
                    Self::Unknown(_) => 0,
                }
            }

            #[inline(always)]
            fn framing(&self) -> Option<Framing> {
                Some(match self {
                    $( Self::$name(_) => <$name $(<$life>)? as Record<'a>>::FRAMING, )*
                    Self::Unknown(_) => return None,
                })
            }

            #[inline(always)]
            fn write(&self, output: &mut impl Output) {
                match self {
                    $( Self::$name(record) => crate::record::Record::write(record, output), )*
                    Self::Unknown(_) => {}
                }
            }
        }

        $(
            impl<'a> $any for $name $(<$life>)? where Self: Record<'a> {}

            impl<'a> crate::record::Any for $name $(<$life>)? where Self: Record<'a> {
                #[inline(always)]
                fn id(&self) -> u8 { $id }

                #[inline(always)]
                fn bound(&self) -> usize { crate::record::Record::bound(self) }

                #[inline(always)]
                fn framing(&self) -> Option<Framing> { Some(<Self as Record<'_>>::FRAMING) }

                #[inline(always)]
                fn write(&self, output: &mut impl Output) { crate::record::Record::write(self, output); }
            }
        )*

        $(
            impl<'a> From<$name $(<$life>)?> for $enum<'a> {
                #[inline(always)]
                fn from(record: $name $(<$life>)?) -> Self { Self::$name(record) }
            }
        )*

    };

    // A record written by hand: nothing to make.
    (@struct $(#[$doc:meta])* $id:literal $name:ident $(<$life:lifetime>)? $since:literal $framing:ident) => {};

    (@struct
        $(#[$doc:meta])*
        $id:literal $name:ident $(<$life:lifetime>)? $since:literal $framing:ident {
            $( $(#[$field_doc:meta])* $field:ident: $type:ty as $code:ident, )*
            $( @late {
                $( $(#[$late_doc:meta])* $late:ident: $late_type:ty as $late_code:ident = $default:expr, )*
            } )?
        }
    ) => {
        $(#[$doc])*
        ///
        #[doc = concat!("Record ", stringify!($id), ", since OTF2 ", $since, ", framing [`", stringify!($framing), "`](crate::record::Framing). Fields on disk:")]
        ///
        /// | field | code |
        /// |---|---|
        $( #[doc = concat!("| `", stringify!($field), "` | ", stringify!($code), " |")] )*
        $( $( #[doc = concat!("| `", stringify!($late), "` | ", stringify!($late_code), ", if bytes are left; else `", stringify!($default), "` |")] )* )?
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name $(<$life>)? {
            $( $(#[$field_doc])* pub $field: $type, )*
            $( $( $(#[$late_doc])* pub $late: $late_type, )* )?
        }

        impl<'a> Record<'a> for $name $(<$life>)? {
            const ID: u8 = $id;
            const NAME: &'static str = stringify!($name);
            const FRAMING: Framing = crate::record::records!(@framing $framing);

            #[inline(always)]
            #[allow(unused_variables)]
            fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
                Ok(Self {
                    $( $field: Wire::read(input)?, )*
                    $( $( $late: if input.has_more() { Wire::read(input)? } else { $default }, )* )?
                })
            }

            #[inline(always)]
            #[allow(unused_variables)]
            fn write(&self, output: &mut impl Output) {
                $( self.$field.write(output); )*
                $( $( self.$late.write(output); )* )?
            }

            #[inline(always)]
            fn bound(&self) -> usize {
                0 $( + self.$field.bound() )* $( $( + self.$late.bound() )* )?
            }

            #[allow(unused_variables)]
            fn fields(&self, visit: &mut dyn FnMut(&'static str, Value<'_>)) {
                // The byte table above must match the encoding.
                const {
                    $( assert!(crate::record::same(<$type as Wire<'_>>::CODE, stringify!($code))); )*
                    $( $( assert!(crate::record::same(<$late_type as Wire<'_>>::CODE, stringify!($late_code))); )* )?
                }
                $( visit(stringify!($field), self.$field.value()); )*
                $( $( visit(stringify!($late), self.$late.value()); )* )?
            }
        }
    };

    (@in global $scope:ident) => { $scope == Scope::Global };
    (@in local $scope:ident) => { $scope == Scope::Local };
    (@in $other:ident $scope:ident) => { true };

    (@framing Single) => { Framing::Single };
    (@framing Empty) => { Framing::Empty };
    (@framing $other:ident) => { Framing::Length };
}

pub(crate) use records;

/// Compares strings where `==` cannot: in a constant.
pub(crate) const fn same(a: &str, b: &str) -> bool {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    while let ([x, rest_of_a @ ..], [y, rest_of_b @ ..]) = (a, b) {
        if *x != *y {
            return false;
        }
        (a, b) = (rest_of_a, rest_of_b);
    }
    a.is_empty() && b.is_empty()
}
