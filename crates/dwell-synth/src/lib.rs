//! Synthetic traces and reports with known answers.
//!
//! A detector of wait states can only be trusted if its answers are known from elsewhere. The archives generated here
//! come with a [`Truth`]: their contents, and where the construction allows it the exact severity of each pattern in
//! integer nanoseconds, from a formula and not from the trace.
//!
//! * [`srumma`]: the communication of a matrix multiplication with non-blocking gets, of any size.
//! * [`sor`]: a solver on a grid, with halos fetched by gets and with reductions, of any size.
//! * [`halo`]: the exchange of halos, synchronised in four ways.
//! * [`ring`]: messages around a ring, sent and received in five ways.
//! * [`slow`]: steps in which a node, a rank or a phase computes longer than the rest.
//! * [`random`]: a legal mix of all operations, for comparing detectors with one another.
//! * [`report`]: Cube reports of any size.
//!
//! The same options give the same bytes, for any number of threads.

mod calls;
pub mod halo;
mod progress;
pub mod random;
pub mod report;
pub mod ring;
mod rng;
mod schedule;
pub mod slow;
pub mod sor;
pub mod srumma;
mod truth;
mod world;

pub use progress::Progress;
pub use rng::Rng;
pub use truth::{Severities, Totals, Truth};
