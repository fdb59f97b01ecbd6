//! Messages that carry waits to the call paths on which they are booked.

use dwell_log::quantity::Quantity;
use dwell_trace::ids::{ContextNumber, LocationNumber};
use dwell_trace::time::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::engine::accounts::Account;
use crate::engine::message::Message;

/// An amount to add to a quantity on a call path of the origin.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Booking {
    pub(crate) location: LocationNumber,
    pub(crate) account: Account,
    pub(crate) what: Quantity,
    /// Amount in the unit of the quantity.
    pub(crate) amount: u64,
    /// Start of the wait in nanoseconds.
    pub(crate) begin: Time,
    /// Location that was waited for, if it is known.
    pub(crate) culprit: Option<LocationNumber>,
    /// Meaning of the amount for the dependency log.
    pub(crate) piece: Piece,
    /// Time that the call had left after the waits booked before; `None` for counts and for parts of other waits.
    pub(crate) left: Option<Duration>,
}

impl Message for Booking {}

/// Meaning of a booked amount for the dependency log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Piece {
    /// It is not a wait, or the pieces of the wait are sent apart.
    None,
    /// The culprit was waited for from `begin` until the amount had passed, without interruption.
    OfTwo,
    /// The same, in a collective in which all members of a context wait for each other.
    OfAll(ContextNumber),
}

impl Piece {
    /// Returns the meaning of a whole wait, or of a part of another one.
    pub(crate) fn of(is_whole: bool) -> Self {
        if is_whole { Self::OfTwo } else { Self::None }
    }
}
