//! What can be tested of the library without its hooks, which have the names of a runtime's functions.
#![allow(unsafe_code)] // As there.

#[path = "../src/above/layout.rs"]
#[allow(dead_code)] // The hooks use all of it.
mod layout;
