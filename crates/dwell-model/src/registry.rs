//! All tables. A runtime that is not listed here has no hooks, and its functions are unknown in archives.
//!
//! The build script of `dwell-preload` writes hooks for every table of the list, and all other code that has to know all
//! functions asks here, so that a new runtime is added in one place: [`TABLES`].

use crate::layer::Layer;
use crate::table::{Row, Table};
use crate::{armci, caf, coarray, ga, gasnet, mpi, omp, shmem, ucx};

/// The tables of all runtimes that Dwell records, in the order in which names are looked up.
pub static TABLES: [&Table; 9] = [
    &shmem::TABLE,
    &mpi::TABLE,
    &caf::TABLE,
    &coarray::TABLE,
    &armci::TABLE,
    &ga::TABLE,
    &ucx::TABLE,
    &gasnet::TABLE,
    &omp::TABLE,
];

/// Returns the table and the row of a function by its name in C, also by that of its profiling twin. Returns `None` for
/// functions that no table has.
///
/// ```
/// use dwell_model::layer::Layer;
/// use dwell_model::registry::find;
///
/// assert_eq!(find("PMPI_Send").map(|(table, _)| table.layer), Some(Layer::Mpi));
/// assert!(find("main").is_none());
/// ```
pub fn find(name: &str) -> Option<(&'static Table, &'static Row)> {
    TABLES.iter().find_map(|table| table.find_twin(name).map(|row| (*table, row)))
}

/// Returns the table of a layer, or `None` for a layer that Dwell does not record.
pub fn table(layer: Layer) -> Option<&'static Table> {
    TABLES.iter().copied().find(|table| table.layer == layer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_in_one_table() {
        for table in TABLES {
            for row in table.rows {
                let (found, same) = find(row.name()).expect("it is in a table");
                assert_eq!((found.layer, same.name()), (table.layer, row.name()));
            }
        }
    }
}
