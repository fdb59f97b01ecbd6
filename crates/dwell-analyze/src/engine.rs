//! Replays the events of all locations in windows of time, and carries the questions of patterns to the processes that
//! can answer them.

pub(crate) mod accounts;
pub(crate) mod blame;
pub(crate) mod booking;
pub(crate) mod call;

pub(crate) mod deferred;
pub(crate) mod event;
pub(crate) mod exchange;
pub(crate) mod fast_path;
pub(crate) mod hash;
pub(crate) mod instances;
pub(crate) mod location;
pub(crate) mod location_context;
pub(crate) mod log;
pub(crate) mod matrix;
pub(crate) mod message;
pub(crate) mod operations;
pub(crate) mod outstanding;
pub(crate) mod owned;
pub(crate) mod paths;
pub(crate) mod pattern;
pub(crate) mod player;
pub(crate) mod polling;
pub(crate) mod process;
pub(crate) mod recent_calls;

pub(crate) mod records;
pub(crate) mod regions;
pub(crate) mod replay;
pub(crate) mod sequences;
pub(crate) mod shard;
pub(crate) mod sharding;
pub(crate) mod spill;
pub(crate) mod tally;
pub(crate) mod transport;
pub(crate) mod wire;
pub(crate) mod workers;
