//! Addresses of real programs, resolved to the functions and lines of their sources.

mod archive;
mod damage;
mod judge;
mod languages;
mod memory;
#[path = "../../../../tests/needs.rs"]
mod needs;
mod separate;
mod support;
