//! Macros with which all adapters describe their functions.

/// The symbol of a function that stands alone, from its whole name as a literal.
macro_rules! symbol {
    ($name:literal) => {
        $crate::table::Symbol::terminated(concat!($name, "\0"))
    };
}

/// A list of families, one on each line: the name of the family, and its rows.
macro_rules! families {
    ($( $name:literal: $rows:expr; )*) => {
        &[$( $crate::table::Family { name: $name, rows: $rows }, )*]
    };
}

pub(crate) use {families, symbol};
