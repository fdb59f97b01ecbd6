//! How far the index of a run's timeline is.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use dwell_timeline::Index;

/// The index of a run, or why there is none yet.
#[derive(Clone, Debug, Default)]
pub(crate) enum State {
    /// No request has asked yet.
    #[default]
    Unknown,
    Ready(Arc<Index>),
    /// The index is being made: locations that are complete, and all.
    Making(Arc<AtomicU64>, u64),
    /// There is none, for this reason.
    Missing(String),
}

/// Where the state of a run is kept.
pub(crate) type Slot = Arc<Mutex<State>>;
