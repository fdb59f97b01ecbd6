//! Archives that are read, written, damaged, closed and shared with the C library.

mod both;
mod close;
mod close_damage;
mod damage;
mod interop;
mod many;
#[path = "../../../../tests/memory.rs"]
mod memory;
mod models;
#[allow(dead_code)] // Other tests use all of it.
#[path = "../../../../tests/needs.rs"]
mod needs;
mod sealed;
mod visit;
