//! What a record is, and the macro that makes records from tables.
//!
//! The tables in [`event`](crate::event), [`def`](crate::def), [`snapshot`](crate::snapshot),
//! [`marker`](crate::marker) and [`thumbnail`](crate::thumbnail) are the only place where a record is
//! described: the struct, the enum around all of them, reading, writing, the byte table in the
//! documentation and the view by field name all come from there.

use crate::value::Value;
use crate::wire::{Fault, Input, Output};

/// How a record stands in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Id, length, fields.
    Length,
    /// Id, one compressed number, no length.
    Single,
    /// Id and a zero.
    Empty,
}

/// Which of two kinds of file a definition stands in: ids 5 and 6 differ between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The one file of the archive; also every file where all records mean one thing.
    Global,
    /// The file of a location.
    Local,
}

/// One kind of record.
pub trait Record<'a>: Copy {
    /// Its number on disk.
    const ID: u8;
    /// Its name.
    const NAME: &'static str;
    /// How it stands in a file.
    const FRAMING: Framing;

    /// Reads the fields.
    #[doc(hidden)]
    fn read(input: &mut Input<'a>) -> Result<Self, Fault>;
    /// Writes the fields.
    #[doc(hidden)]
    fn write(&self, output: &mut Output<'_>);
    /// The most bytes that the fields may take.
    #[doc(hidden)]
    fn bound(&self) -> usize;
    /// Calls `visit` with the name and value of each field, in the order of the file.
    fn fields(&self, visit: &mut dyn FnMut(&'static str, Value<'_>));
}

/// What to do with a record once it is read.
///
/// A closure would do, but it cannot be told to be inlined always.
pub(crate) trait Then<R> {
    type Output;
    fn then(self, record: R) -> Self::Output;
}

/// Keeps the record.
pub(crate) struct Keep;

impl<R> Then<R> for Keep {
    type Output = R;
    #[inline(always)]
    fn then(self, record: R) -> R {
        record
    }
}

/// Any record of an enum, as the writers see it.
pub trait Any: Copy {
    /// Its number on disk.
    fn id(&self) -> u8;
    /// How it stands in a file; `None` if it cannot be written.
    fn framing(&self) -> Option<Framing>;
    /// The most bytes that the fields may take.
    fn bound(&self) -> usize;
    /// Writes the fields.
    fn write(&self, output: &mut Output<'_>);
}

/// The most bytes that a whole record needs whose fields take `bound` bytes.
#[inline(always)]
pub(crate) const fn framed(bound: usize) -> usize {
    let long_length = if bound < 0xFF { 0 } else { 8 };
    2 + bound + long_length
}

/// Writes what follows the id of a record: its length, if it has one, and its fields.
#[inline(always)]
pub(crate) fn write_body(record: &impl Any, framing: Framing, output: &mut Output<'_>) {
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

/// A record of a kind this crate does not know: a later version of the format, skipped by its
/// length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Its number on disk.
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
            /// A record of a later version of the format.
            Unknown(Unknown),
        }

        impl<'a> $enum<'a> {
            /// Reads the fields of record `id`, as it means in a file of this scope. The input begins
            /// with the last byte of the length, which only some records have.
            #[inline(always)]
            pub(crate) fn read(scope: Scope, id: u8, input: Input<'a>) -> Result<Self, Fault> {
                Self::read_then(scope, id, input, Keep)
            }

            /// Reads the fields of record `id` and goes on with it while its kind is still known to
            /// the compiler: what `then` does with other kinds is not even there.
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
                        // An input for each kind: those that are not in memory stay in registers.
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

            /// Number of the record on disk.
            #[inline(always)]
            pub fn id(&self) -> u8 {
                match self {
                    $( Self::$name(_) => $id, )*
                    Self::Unknown(unknown) => unknown.id,
                }
            }

            /// Name of the record.
            pub fn name(&self) -> &'static str {
                match self {
                    $( Self::$name(_) => stringify!($name), )*
                    Self::Unknown(_) => "Unknown",
                }
            }

            /// Name and number of every record of this enum.
            pub const KINDS: &'static [(u8, &'static str)] = &[$( ($id, stringify!($name)), )*];

            /// Calls `visit` with the name and value of each field, in the order of the file.
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
            fn write(&self, output: &mut Output<'_>) {
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
                fn write(&self, output: &mut Output<'_>) { crate::record::Record::write(self, output); }
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
        #[doc = concat!("Record ", stringify!($id), ", since OTF2 ", $since, ", framing [`", stringify!($framing), "`](crate::Framing). Fields on disk:")]
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
            fn write(&self, output: &mut Output<'_>) {
                $( self.$field.write(output); )*
                $( $( self.$late.write(output); )* )?
            }

            #[inline(always)]
            fn bound(&self) -> usize {
                0 $( + self.$field.bound() )* $( $( + self.$late.bound() )* )?
            }

            #[allow(unused_variables)]
            fn fields(&self, visit: &mut dyn FnMut(&'static str, Value<'_>)) {
                // The byte table above must tell the truth.
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
