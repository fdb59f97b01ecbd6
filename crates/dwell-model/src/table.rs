//! Tables: everything Dwell knows about a runtime's functions, as constant data.
//!
//! An adapter is a [`Table`]; each function of the runtime is a [`Row`]. The build script of `dwell-preload` generates
//! hooks from the rows, and the recorder finds in the same rows what it needs at run time. Rows come from
//! [families](Family): one description, many types.
//!
//! Invariants, which the compiler checks: rows are sorted by name, and no name occurs twice.

mod bytes;
mod ctype;
mod places;
mod row;
mod shape;
mod words;

pub use bytes::{Bytes, Element, Strides};
pub use ctype::{Arguments, CType, MAX_ARGUMENTS};
pub use places::{
    Arg, Condition, Group, Kind, Members, Operand, Places, Requests, Signal, Success, Watch,
};
pub use row::{Absent, Row, Symbol};
pub use shape::{Duty, Fortran, Ready, Shape};
pub(crate) use words::{families, rows_of, symbol};

use crate::layer::Layer;

/// The hooked functions of one runtime. Each adapter has one as a static, for instance
/// [`shmem::TABLE`](crate::shmem::TABLE).
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The layer that all functions of the table belong to.
    pub layer: Layer,
    /// The functions, sorted by name in the order of bytes, so that [`find`](Self::find) can search in halves.
    pub rows: &'static [Row],
    /// The way in which hooks of the functions get into programs and record calls.
    pub hooks: Hooks,
    /// Start of the names of profiling twins, such as the `P` of `PMPI_Send`. Empty if there are none in archives.
    pub twin: &'static str,
    /// Static libraries that contain the runtime, without `lib` and `.a`: alternatives that define the same functions.
    /// Empty for runtimes in shared libraries.
    pub archives: &'static [&'static str],
    /// Functions of the runtime that have no hooks, each with the reason. A `*` in a name stands for any number of
    /// characters.
    pub not_hooked: &'static [(&'static str, &'static str)],
    /// Layers below, whose hooks are linked into a program together with these.
    pub below: &'static [Layer],
}

impl Table {
    /// Creates the table of a runtime in a shared library, whose functions have no profiling twins in traces. Adapters
    /// set the other fields where they differ.
    pub const fn new(layer: Layer, rows: &'static [Row], hooks: Hooks) -> Self {
        Self { layer, rows, hooks, twin: "", archives: &[], not_hooked: &[], below: &[] }
    }
}

/// The way in which hooks of the functions of a table get into programs and record calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hooks {
    /// The hooks are in `libdwell.so`. Arguments have their types of C, and calls act on symmetric memory.
    Typed,
    /// The hooks are in `libdwell.so`. Arguments are words, calls are recorded by the shapes of their rows, and Fortran
    /// programs have hooks of their own.
    Shaped,
    /// The hooks are in `libdwell.so`. Arguments are words, and calls contain calls of MPI, whose ranks they use.
    OverMpi,
    /// The hooks are in `libdwell.so`, and calls are recorded as regions only.
    Regions,
    /// The hooks are linked into programs, and calls contain calls of MPI, whose ranks they use.
    LinkedOverMpi,
    /// The hooks are linked into programs, and calls are recorded as regions only.
    LinkedRegions,
    /// The hooks are in a header that is included into programs, because calls are macros.
    Included,
    /// Calls that `dwell build sources` inserts into the source of a program, which name rows by numbers.
    Source,
}

impl Hooks {
    /// Returns `true` if the runtime is an archive, so that hooks must be linked into programs.
    pub const fn are_linked(self) -> bool {
        matches!(self, Self::LinkedOverMpi | Self::LinkedRegions)
    }
}

impl Table {
    /// Returns the row of a function by its exact C name, or `None` if the table does not hook it. Profiling twins such
    /// as `PMPI_Send` are not in the tables; see [`find_twin`](Self::find_twin).
    pub fn find(&self, name: &str) -> Option<&'static Row> {
        let index = self.rows.binary_search_by(|row| row.name().cmp(name)).ok()?;
        self.rows.get(index)
    }

    /// Returns the row of a function, also if another tool recorded it under the name of its profiling twin
    /// (`PMPI_Send`). Returns `None` for functions that are not hooked.
    pub fn find_twin(&self, name: &str) -> Option<&'static Row> {
        let twin = || name.strip_prefix(self.twin).filter(|_| !self.twin.is_empty());
        self.find(name).or_else(|| self.find(twin()?))
    }
}

/// Functions that differ only in the type they are for, such as `shmem_int_put` and `shmem_long_put`. An adapter
/// describes each family once, and a macro expands it to one row for each type.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// A short name for what the functions have in common, such as `put_nbi`. Tests name the family by it when they
    /// fail; two families may have the same name.
    pub name: &'static str,
    /// The functions, in the order in which the family describes them. [`sorted`] brings the rows of all families into
    /// the order of a table.
    pub rows: &'static [Row],
}

/// Returns the reason that a list of names gives for a function, or `None` if no entry matches. The first match wins.
///
/// An entry is a pair of pattern and reason. A pattern is a whole name, in which one `*` may stand for any number of
/// characters.
///
/// ```
/// use dwell_model::table::reason;
///
/// let list = [("MPI_Type_*", "local"), ("MPI_Wtime", "reads a clock")];
/// assert_eq!(reason(&list, "MPI_Type_size"), Some("local"));
/// assert_eq!(reason(&list, "MPI_Send"), None);
/// ```
pub fn reason(list: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    let is = |pattern: &str| match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => {
            name.len() >= before.len() + after.len()
                && name.starts_with(before)
                && name.ends_with(after)
        }
    };
    list.iter().find(|(pattern, _)| is(pattern)).map(|row| row.1)
}

/// Counts the functions of these families. Adapters need the number as the length of the array that [`sorted`] returns.
pub const fn count(chapters: &[&[Family]]) -> usize {
    let mut count = 0;
    let mut chapter = 0;
    while chapter < chapters.len() {
        let mut family = 0;
        while family < chapters[chapter].len() {
            count += chapters[chapter][family].rows.len();
            family += 1;
        }
        chapter += 1;
    }
    count
}

/// Returns the functions of these families, sorted by name: the rows of a table.
///
/// The compiler interprets this function step by step, so it is written to take few steps: it sorts positions and not
/// rows, and compares names sixteen bytes at a time.
///
/// # Panics
///
/// If two functions have one name, a name is longer than 48 bytes, or `N` is not the [number](count) of functions.
/// Tables are constants, so a panic here is a compile error.
pub const fn sorted<const N: usize>(chapters: &[&[Family]]) -> [Row; N] {
    let given = flat::<N>(chapters);
    let mut keys = [[0; 3]; N];
    let mut heap = [0; N];
    let mut index = 0;
    while index < N {
        keys[index] = key(given[index].name());
        heap[index] = index;
        index += 1;
    }

    let mut root = N / 2;
    while root > 0 {
        root -= 1;
        let item = heap[root];
        sink(&mut heap, item, root, N, &keys);
    }
    let mut end = N;
    while end > 1 {
        end -= 1;
        let last = heap[end];
        heap[end] = heap[0];
        sink(&mut heap, last, 0, end, &keys);
    }

    let mut rows = given;
    let mut index = 0;
    while index < N {
        rows[index] = given[heap[index]];
        let ascends = index == 0 || less(&keys[heap[index - 1]], &keys[heap[index]]);
        assert!(ascends, "two rows for one function");
        index += 1;
    }
    rows
}

/// A name as three numbers of sixteen bytes each, the unit in which [`sorted`] compares.
type Key = [u128; 3];

/// Returns a name as numbers whose order is that of the bytes of names. Shorter names are padded with zeros.
const fn key(name: &str) -> Key {
    let bytes = name.as_bytes();
    assert!(bytes.len() <= 48, "a longer name than any known function");
    let mut key = [0_u128; 3];
    let mut index = 0;
    while index < bytes.len() {
        key[index / 16] |= (bytes[index] as u128) << (120 - 8 * (index % 16));
        index += 1;
    }
    key
}

const fn less(one: &Key, other: &Key) -> bool {
    if one[0] != other[0] {
        one[0] < other[0]
    } else if one[1] != other[1] {
        one[1] < other[1]
    } else {
        one[2] < other[2]
    }
}

/// Puts `item` into the hole at `root` or further down, so that no entry of the heap comes after its parent in the
/// order of names.
const fn sink<const N: usize>(
    heap: &mut [usize; N],
    item: usize,
    root: usize,
    end: usize,
    keys: &[Key; N],
) {
    let mut hole = root;
    loop {
        let mut child = 2 * hole + 1;
        if child >= end {
            break;
        }
        if child + 1 < end && less(&keys[heap[child]], &keys[heap[child + 1]]) {
            child += 1;
        }
        if !less(&keys[item], &keys[heap[child]]) {
            break;
        }
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = item;
}

/// Returns the rows of all families in the order in which the chapters list them.
const fn flat<const N: usize>(chapters: &[&[Family]]) -> [Row; N] {
    assert!(N > 0 && N == count(chapters));
    let mut rows: [Option<Row>; N] = [None; N];
    let mut next = 0;
    let mut chapter = 0;
    while chapter < chapters.len() {
        let mut family = 0;
        while family < chapters[chapter].len() {
            let of = chapters[chapter][family].rows;
            let mut row = 0;
            while row < of.len() {
                rows[next] = Some(of[row]);
                next += 1;
                row += 1;
            }
            family += 1;
        }
        chapter += 1;
    }
    let Some(any) = rows[0] else { panic!("the first row is there, there are N") };
    let mut all = [any; N];
    let mut index = 0;
    while index < N {
        if let Some(row) = rows[index] {
            all[index] = row;
        }
        index += 1;
    }
    all
}

#[cfg(test)]
impl Table {
    /// Checks that every function has an argument at each of its places, of a type that fits.
    pub(crate) fn check_places(&self) {
        for row in self.rows {
            let types = row.arguments.types();
            row.places.each(|what, at, kind| {
                let ctype = types.get(at.index());
                assert!(ctype.is_some_and(|ctype| kind.accepts(*ctype)), "{}: {what}", row.name());
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Operation;

    const fn query(text: &'static str) -> Row {
        Row::new(Symbol::terminated(text), Operation::Query, CType::Int, &[])
    }

    const FIRST: &[Family] = &[
        Family { name: "one", rows: &[query("m\0"), query("b\0")] },
        Family { name: "two", rows: &[query("mm\0")] },
    ];
    const SECOND: &[Family] = &[Family { name: "three", rows: &[query("a\0"), query("z\0")] }];
    static ROWS: [Row; 5] = sorted(&[FIRST, SECOND]);
    const TABLE: Table = Table::new(Layer::Shmem, &ROWS, Hooks::Typed);

    #[test]
    fn rows_are_sorted_and_found() {
        assert!(ROWS.iter().map(Row::name).eq(["a", "b", "m", "mm", "z"]));
        for row in &ROWS {
            assert_eq!(TABLE.find(row.name()).map(Row::name), Some(row.name()));
        }
        for missing in ["", "aa", "mmm", "zz", "A"] {
            assert_eq!(TABLE.find(missing), None);
        }
    }

    #[test]
    fn a_symbol_has_two_views() {
        let symbol = Symbol::terminated("shmem_init\0");
        assert_eq!(symbol.name(), "shmem_init");
        assert_eq!(symbol.c_str(), c"shmem_init");
    }
}
