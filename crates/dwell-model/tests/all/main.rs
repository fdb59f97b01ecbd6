//! Tables and names of the model, held against installed libraries, headers, golden files and the book.

mod armci_coverage;
mod caf_coverage;
mod ctype_sizes;
mod gasnet_coverage;
#[path = "../../../../tests/golden.rs"]
mod golden;
mod header;
mod mpi_coverage;
#[path = "../../../../tests/needs.rs"]
mod needs;
mod omp_coverage;
mod pairs;
mod shmem_coverage;
mod symbols;
mod ucx_coverage;
mod units_table;
mod waits_reference;
