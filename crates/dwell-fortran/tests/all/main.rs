//! Sources of Fortran: what is found in them, and what is put into their copies.

mod figures;
mod flang;
mod insertions;
#[path = "../../../../tests/needs.rs"]
mod needs;
mod references;
mod statements;
