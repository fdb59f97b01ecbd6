//! The server, as strangers and other users of the machine see it.

mod crowd;
#[allow(dead_code)] // Other tests use all of it.
#[path = "../../../../tests/needs.rs"]
mod needs;
mod security;
mod support;
