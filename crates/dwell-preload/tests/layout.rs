//! Tests of memory layouts, which need no hooks: a test that linked the library would call the hooks instead of a
//! runtime.
#![allow(unsafe_code)] // As there.

#[path = "../src/over_mpi/layout.rs"]
#[allow(dead_code)] // The hooks use all of it.
mod layout;
