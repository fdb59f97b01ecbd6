//! The recorder: models of what it does without locks, and what is left of a process that dies.

mod models;
#[allow(dead_code)] // Other tests use all of it.
#[path = "../../../../tests/needs.rs"]
mod needs;
mod recover;
mod staged;
