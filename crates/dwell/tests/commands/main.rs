//! The commands of `dwell`, as users, scripts and other programs see them, but for those that record.

mod cli;
mod collate;
mod config;
mod demo;
mod doors;
mod earlier;
mod export;
mod findings;
mod many;
mod mcp;
#[allow(dead_code)] // Other tests use all of it.
#[path = "../../../../tests/needs.rs"]
mod needs;
mod numbers;
mod print;
mod ready;
mod report;
#[path = "../support/mod.rs"]
mod support;
mod verdicts;
mod view;
