//! Non-blocking collectives that a call completes, and what their members are told.
//!
//! The call that completes a non-blocking collective may complete messages as well, and waits for the last of all. The
//! pattern that judges the instance of the collective therefore books nothing: it tells each member which process began
//! last, and the pattern that judges the call puts that beside the messages.

use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::time::Time;
use serde::{Deserialize, Serialize};

use crate::engine::message::Message;

/// Tells a member of a non-blocking collective which of the members that it waits for began last, and when.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct LastToBegin {
    pub(crate) member: ProcessNumber,
    /// Number of the collective at the member.
    pub(crate) number: u32,
    /// The process that began last: the member itself if it waits for nobody.
    pub(crate) last: ProcessNumber,
    /// Location at which it began.
    pub(crate) location: LocationNumber,
    /// Time at which it began; 0 if the member waits for nobody.
    pub(crate) began: Time,
}

impl Message for LastToBegin {}
