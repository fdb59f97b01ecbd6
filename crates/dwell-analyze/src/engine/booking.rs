//! Messages that carry waits to the call paths on which they are booked.

use serde::{Deserialize, Serialize};

use crate::archive::ids::LocationNumber;
use crate::archive::time::{Duration, Time};
use crate::engine::accounts::Account;
use crate::engine::quantity::Quantity;
use crate::engine::transport::Message;

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
    /// True if the culprit was waited for from `begin` until the amount had passed, without interruption. The pieces of
    /// other waits travel apart.
    pub(crate) is_piece: bool,
    /// Time that the call had left after the waits booked before; `None` for counts and for parts of other waits.
    pub(crate) left: Option<Duration>,
}

impl Message for Booking {}
