//! Numbers as people read them.

pub use dwell_model::units::{bytes, grouped, number, seconds};
