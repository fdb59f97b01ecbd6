//! Patterns of waiting. Each file states what its pattern asks, how that is answered, and what is booked.

pub(crate) mod collectives;
pub(crate) mod evidence;
pub(crate) mod inefficient;
pub(crate) mod locks;
pub(crate) mod messages;
pub(crate) mod progress;
pub(crate) mod several;
pub(crate) mod signals;
