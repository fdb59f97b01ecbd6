//! Words that all adapters describe their functions with.

/// A name without its type, for a function that stands alone.
macro_rules! symbol {
    ($name:literal) => {
        $crate::table::Symbol::terminated(concat!($name, "\0"))
    };
}

/// Families, one a line: what its rows have in common, and the rows.
macro_rules! families {
    ($( $name:literal: $rows:expr; )*) => {
        &[$( $crate::table::Family { name: $name, rows: $rows }, )*]
    };
}

pub(crate) use {families, symbol};
