//! Reports that are written, read, damaged, and held against the rules of CubeLib and what pycubexr reads.

mod checksums;
mod cubelib_rules;
mod damage;
#[path = "../../../../tests/memory.rs"]
mod memory;
#[allow(dead_code)] // Other tests use all of it.
#[path = "../../../../tests/needs.rs"]
mod needs;
mod padding;
mod pycubexr;
mod round_trip;
mod support;
