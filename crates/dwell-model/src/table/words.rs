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

/// The rows of a table: those of all families, sorted by name, each completed by a `const fn(Row) -> Row`.
macro_rules! rows_of {
    ($chapters:expr, $complete:path) => {{
        let mut rows = $crate::table::sorted($chapters);
        let mut index = 0;
        while index < rows.len() {
            rows[index] = $complete(rows[index]);
            index += 1;
        }
        rows
    }};
}

pub(crate) use {families, rows_of, symbol};
