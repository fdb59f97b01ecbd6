//! Formatting of numbers, times and sizes for people.

pub use dwell_model::units::{bytes, grouped, number, percent, seconds};
