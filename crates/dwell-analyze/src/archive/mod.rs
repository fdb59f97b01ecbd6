//! What the definitions of an archive say before any event is read: who takes part, the role of each region, clocks,
//! call sites and counters.

pub(crate) mod contexts;
pub(crate) mod counters;
pub(crate) mod crowds;
pub(crate) mod ids;
pub(crate) mod layout;
pub(crate) mod memory;
pub(crate) mod names;
pub(crate) mod parties;
pub(crate) mod roles;
pub(crate) mod system;
pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod world;
