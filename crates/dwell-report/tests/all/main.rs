//! Questions to reports, and their answers.

mod comparing;
mod queries;
mod remedies;
mod sums;
mod viewers;
