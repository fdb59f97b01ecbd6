//! Waits on their way to the call paths that they are booked on.

use crate::accounts::Account;
use crate::metric::Quantity;
use crate::transport::Letter;

/// Something to add at an origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Booking {
    pub(crate) location: u32,
    pub(crate) account: Account,
    pub(crate) what: Quantity,
    pub(crate) amount: u64,
    /// When the wait began.
    pub(crate) begin: u64,
    /// The process that was waited for, if it is known.
    pub(crate) blamed: Option<u32>,
    /// What its call has left beside waits that were booked before; `None` for counts and parts of other waits.
    pub(crate) left: Option<u64>,
}

impl Letter for Booking {}
