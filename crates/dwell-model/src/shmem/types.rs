//! The lists of types in OpenSHMEM, and the macro that makes a family from one.
//!
//! `rows!(put, "shmem_" rma "_put")` is a row for each type of the list `rma`, made by the function
//! `put` from the name and the [element](crate::table::Element); `rows!(ctx put, …)` are the same
//! functions with a context before the first argument.
//!
//! | list | types | used for |
//! |---|---|---|
//! | `rma` | the 24 standard RMA types | put, get and their kin; collectives on teams |
//! | `sized` | 8, 16, 32, 64, 128 bits, and `mem` for bytes | the untyped put and get |
//! | `bits` | the same without `mem` | strided put and get |
//! | `words` | 32 and 64 bits | collectives on active sets |
//! | `amo` | six: `int` to `unsigned long long` | atomics |
//! | `amo_exact` | six: exact widths, `size_t`, `ptrdiff_t` | atomics that Open MPI 4.1 lacks |
//! | `amo_all` | both | everything that OpenSHMEM 1.5 added for these types |
//! | `real` | `float`, `double` | atomics without arithmetic |
//! | `bitwise` | seven of the standard | bitwise atomics |
//! | `classic` | `int`, `long`, `long long` | atomics under their old names; bitwise ones of Open MPI |
//! | `wait` | fourteen | wait and test |
//! | `integer` | four, signed | wait for any change; reductions on active sets; bitwise reductions on teams that Sandia OpenSHMEM adds |
//! | `short` | `short`, `unsigned short` | wait and test on several values that Sandia OpenSHMEM adds |
//! | `float` | three | reductions that also serve these |
//! | `complex` | two | sum and product |
//! | `team_bits` | fourteen, unsigned and exact | bitwise reductions on teams |
//! | `x16`, `x32`, `x_bitwise` | exact widths | `shmemx_` extensions of Open MPI |

/// Rows for every type of a list; see the [module](self) for the lists.
macro_rules! rows {
    (@typed $make:tt $before:tt $after:literal; $($name:literal $ctype:ident)*) => {
        &[$( rows!(@row $make $before $name $after
            $crate::table::Element::of($crate::table::CType::$ctype)), )*]
    };
    (@sized $make:tt $before:tt $after:literal; $($name:literal $bytes:literal)*) => {
        &[$( rows!(@row $make $before $name $after $crate::table::Element::bytes($bytes)), )*]
    };
    (@row (ctx $make:ident) $before:tt $name:literal $after:literal $element:expr) => {
        rows!(@row ($make) $before $name $after $element).in_context()
    };
    (@row ($make:ident) ($($before:literal)+) $name:literal $after:literal $element:expr) => {
        $make(
            $crate::table::Symbol::terminated(concat!($($before,)+ $name, $after, "\0")),
            $element,
        )
    };

    ($($make:ident)+, $($a:literal)+ rma $b:literal) => {
        rows!(@typed ($($make)+) ($($a)+) $b;
            "float" Float "double" Double "longdouble" LongDouble
            "char" Char "schar" SignedChar "short" Short "int" Int "long" Long "longlong" LongLong
            "uchar" UnsignedChar "ushort" UnsignedShort "uint" UnsignedInt
            "ulong" UnsignedLong "ulonglong" UnsignedLongLong
            "int8" Int8 "int16" Int16 "int32" Int32 "int64" Int64
            "uint8" Uint8 "uint16" Uint16 "uint32" Uint32 "uint64" Uint64
            "size" SizeT "ptrdiff" PtrdiffT)
    };
    ($($make:ident)+, $($a:literal)+ sized $b:literal) => {
        rows!(@sized ($($make)+) ($($a)+) $b; "8" 1 "16" 2 "32" 4 "64" 8 "128" 16 "mem" 1)
    };
    ($($make:ident)+, $($a:literal)+ bits $b:literal) => {
        rows!(@sized ($($make)+) ($($a)+) $b; "8" 1 "16" 2 "32" 4 "64" 8 "128" 16)
    };
    ($($make:ident)+, $($a:literal)+ words $b:literal) => {
        rows!(@sized ($($make)+) ($($a)+) $b; "32" 4 "64" 8)
    };
    ($($make:ident)+, $($a:literal)+ amo $b:literal) => {
        rows!(@typed ($($make)+) ($($a)+) $b;
            "int" Int "long" Long "longlong" LongLong
            "uint" UnsignedInt "ulong" UnsignedLong "ulonglong" UnsignedLongLong)
    };
    ($($make:ident)+, $($a:literal)+ amo_exact $b:literal) => {
        rows!(@typed ($($make)+) ($($a)+) $b;
            "int32" Int32 "int64" Int64 "uint32" Uint32 "uint64" Uint64
            "size" SizeT "ptrdiff" PtrdiffT)
    };
    ($($make:ident)+, $($a:literal)+ amo_all $b:literal) => {
        rows!(@typed ($($make)+) ($($a)+) $b;
            "int" Int "long" Long "longlong" LongLong
            "uint" UnsignedInt "ulong" UnsignedLong "ulonglong" UnsignedLongLong
            "int32" Int32 "int64" Int64 "uint32" Uint32 "uint64" Uint64
            "size" SizeT "ptrdiff" PtrdiffT)
    };
    ($($make:ident)+, $($a:literal)+ real $b:literal) => {
        rows!(@typed ($($make)+) ($($a)+) $b; "float" Float "double" Double)
    };
    ($($make:ident)+, $($a:literal)+ bitwise $b:literal) => {
        rows!(@typed ($($make)+) ($($a)+) $b;
            "uint" UnsignedInt "ulong" UnsignedLong "ulonglong" UnsignedLongLong
            "int32" Int32 "int64" Int64 "uint32" Uint32 "uint64" Uint64)
    };
    ($($make:ident)+, $($a:literal)+ classic $b:literal) => {
        rows!(@typed ($($make)+) ($($a)+) $b; "int" Int "long" Long "longlong" LongLong)
    };
    ($($make:ident)+, $($a:literal)+ wait $b:literal) => {
        rows!(@typed ($($make)+) ($($a)+) $b;
            "short" Short "int" Int "long" Long "longlong" LongLong
            "ushort" UnsignedShort "uint" UnsignedInt
            "ulong" UnsignedLong "ulonglong" UnsignedLongLong
            "int32" Int32 "int64" Int64 "uint32" Uint32 "uint64" Uint64
            "size" SizeT "ptrdiff" PtrdiffT)
    };
    ($($make:ident)+, $($a:literal)+ integer $b:literal) => {
        rows!(@typed ($($make)+) ($($a)+) $b; "short" Short "int" Int "long" Long "longlong" LongLong)
    };
    ($($make:ident)+, $($a:literal)+ short $b:literal) => {
        rows!(@typed ($($make)+) ($($a)+) $b; "short" Short "ushort" UnsignedShort)
    };
    ($($make:ident)+, $($a:literal)+ float $b:literal) => {
        rows!(@typed ($($make)+) ($($a)+) $b; "float" Float "double" Double "longdouble" LongDouble)
    };
    ($($make:ident)+, $($a:literal)+ complex $b:literal) => {
        rows!(@typed ($($make)+) ($($a)+) $b; "complexf" ComplexFloat "complexd" ComplexDouble)
    };
    ($($make:ident)+, $($a:literal)+ team_bits $b:literal) => {
        rows!(@typed ($($make)+) ($($a)+) $b;
            "uchar" UnsignedChar "ushort" UnsignedShort "uint" UnsignedInt
            "ulong" UnsignedLong "ulonglong" UnsignedLongLong
            "int8" Int8 "int16" Int16 "int32" Int32 "int64" Int64
            "uint8" Uint8 "uint16" Uint16 "uint32" Uint32 "uint64" Uint64
            "size" SizeT)
    };
    ($($make:ident)+, $($a:literal)+ x16 $b:literal) => {
        rows!(@typed ($($make)+) ($($a)+) $b; "int16" Int16 "int32" Int32 "int64" Int64)
    };
    ($($make:ident)+, $($a:literal)+ x32 $b:literal) => {
        rows!(@typed ($($make)+) ($($a)+) $b; "int32" Int32 "int64" Int64)
    };
    ($($make:ident)+, $($a:literal)+ x_bitwise $b:literal) => {
        rows!(@typed ($($make)+) ($($a)+) $b;
            "int32" Int32 "int64" Int64 "uint32" Uint32 "uint64" Uint64)
    };
}

/// Families that exist twice, on the default context and on any: `put "" rma "_put"` stands for `shmem_` and for
/// `shmem_ctx_`, followed by each type of the list and `_put`.
macro_rules! paired {
    ($( $name:literal: $make:ident, $before:literal $list:ident $after:literal; )*) => {
        &[$(
            $crate::table::Family {
                name: $name,
                rows: rows!($make, "shmem_" $before $list $after),
            },
            $crate::table::Family {
                name: concat!("ctx ", $name),
                rows: rows!(ctx $make, "shmem_ctx_" $before $list $after),
            },
        )*]
    };
}

pub(super) use crate::table::{families, symbol};
pub(super) use {paired, rows};
