//! Timelines of archives, held against a search through all events.

mod brute_force;
mod operations;
