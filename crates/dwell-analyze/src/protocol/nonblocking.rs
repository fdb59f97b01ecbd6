//! Non-blocking collectives that a call completes, and the messages to their members.
//!
//! The call that completes a non-blocking collective may complete messages as well, and waits for the last of all. The
//! pattern that judges the instance of the collective therefore books nothing: it sends each member the process that
//! began last, and the pattern that judges the call treats that like another message.

use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::time::Time;
use serde::{Deserialize, Serialize};

use crate::engine::message::Message;

/// Message to a member of a non-blocking collective: which of the members that it waits for began last, and when.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct LastToBegin {
    pub(crate) member: ProcessNumber,
    /// Number of the collective at the member.
    pub(crate) number: u32,
    /// The process that began last, or the member itself if it does not wait.
    pub(crate) last: ProcessNumber,
    /// Location at which it began.
    pub(crate) location: LocationNumber,
    /// Time at which it began; 0 if the member does not wait.
    pub(crate) began: Time,
}

impl Message for LastToBegin {}
