//! The patterns: one file each, which says what it asks, how that is answered and what is booked.

pub(crate) mod collectives;
pub(crate) mod evidence;
pub(crate) mod locks;
pub(crate) mod messages;
pub(crate) mod progress;
pub(crate) mod several;
pub(crate) mod signals;
