//! The subcommands: arguments, then a library call, then output.

pub(crate) mod analyze;
pub(crate) mod build;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod info;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod print;
pub(crate) mod recover;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod score;
pub(crate) mod stuck;
pub(crate) mod synth;
pub(crate) mod timeline;
pub(crate) mod view;
pub(crate) mod whatif;
