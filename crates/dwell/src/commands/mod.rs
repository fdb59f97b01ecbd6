//! The subcommands: arguments, then a library call, then output.

pub(crate) mod compare;
pub(crate) mod info;
pub(crate) mod print;
pub(crate) mod report;
pub(crate) mod synth;
