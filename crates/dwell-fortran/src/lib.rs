//! Coarrays by source: calls of the recorder inserted into Fortran around remote accesses and image control.
//!
//! Compilers such as Cray's, Intel's and NAG's turn a remote access into code that no preloaded library sees, so the
//! source has to say what happens. This crate finds the places and writes the calls; it reads and writes no files.
//!
//! | module | contents |
//! |---|---|
//! | `scan` | bytes to statements, with the offset of each character |
//! | `kind` | the kind of a statement |
//! | `references` | references to variables of other images |
//! | `declared` | names of arrays and functions, which look alike |
//! | `constructs` | which statement ends which construct |
//! | `operand` | images and local parts as expressions |
//! | `bound` | assignments whose values are evaluated once and bound to names |
//! | `control` | calls for image control statements |
//! | `procedures` | calls that synchronise, from before Fortran 2008 |
//! | `loops` | implied loops |
//! | `calls` | calls in Fortran, and their interfaces |
//! | `insert` | which calls a statement gets, and where |
//! | `edit` | insertions between the bytes of a source |
//! | `report` | what was found |
//! | `text` | brackets, commas and names |
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bound;
mod calls;
mod constructs;
mod control;
pub mod declared;
mod edit;
mod insert;
pub mod kind;
mod loops;
mod operand;
mod procedures;
pub mod references;
mod report;
pub mod scan;
mod text;

pub use edit::{Insertion, apply, remove};
pub use insert::{Instrumented, Options, copy_name, instrument};
pub use report::{Refusal, Report};
