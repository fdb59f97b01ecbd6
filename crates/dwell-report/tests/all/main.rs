//! Questions to reports, and their answers.

mod comparing;
mod queries;
mod sums;
mod viewers;
