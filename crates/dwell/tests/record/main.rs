//! Real programs on a real OpenSHMEM, measured: what they print, what is recorded, and what is left when
//! they die.
//!
//! Needs `oshcc` and `oshrun`; without them the tests say so and pass, unless `DWELL_REQUIRE_SHMEM=1`.

mod crash;
mod events;
mod faults;
mod lab;
mod same;
mod sites;
mod trace;
mod unify;
mod waits;
