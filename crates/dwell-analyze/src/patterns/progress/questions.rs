//! Questions to the targets of operations, and their answers.

use dwell_log::class::Class;
use dwell_trace::crowds::Room;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::time::Time;
use otf2::id::RmaWinRef;
use serde::{Deserialize, Serialize};

use crate::engine::accounts::Account;
use crate::engine::exchange::outboxes;
use crate::engine::message::Message;
use crate::engine::outstanding::Known;
use crate::engine::regions::{Span, Visits};
use crate::patterns::progress::evidence::Evidence;
use crate::patterns::progress::held::{Came, Hold, Link};

outboxes! {
    /// Questions to the targets of operations.
    Questions => Questioned {
        asks: Ask, pooled;
        ones: AskOne;
        watches: Watch;
        holds: Hold;
    }
}

outboxes! {
    /// Answers to the origins of operations.
    Replies => Replied {
        served: Served;
        away: Away;
        seen: Seen;
        evidence: Evidence;
        links: Link;
        came: Came;
    }
}

/// Asks the only target of a call whether an operation waited.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Ask {
    pub(super) start: Time,
    pub(super) enter: Time,
    pub(super) leave: Time,
    pub(super) target: ProcessNumber,
    pub(super) location: LocationNumber,
    pub(super) account: Account,
    pub(super) class: Class,
}

impl Message for Ask {}

/// Asks one of several targets of a call.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct AskOne {
    pub(super) start: Time,
    pub(super) enter: Time,
    pub(super) leave: Time,
    pub(super) target: ProcessNumber,
    pub(super) process: ProcessNumber,
    pub(super) case: u32,
    pub(super) index: u32,
    pub(super) class: Class,
    pub(super) known: Known,
}

impl Message for AskOne {}

/// Calls of a target that count as progress of operations of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Rule {
    /// Only calls that always progress.
    Certain,
    /// Also calls that may or may not progress.
    Possible,
}

/// Reports, in addition to the answer to [`AskOne`], when the target was away before its last visit, if it left in between.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Away {
    pub(super) process: ProcessNumber,
    pub(super) case: u32,
    pub(super) index: u32,
    /// Calls of the target that count.
    pub(super) rule: Rule,
    pub(super) gap: Span,
}

impl Message for Away {}

/// Answer to [`AskOne`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Served {
    pub(super) process: ProcessNumber,
    pub(super) case: u32,
    pub(super) index: u32,
    pub(super) certain: Visits,
    pub(super) possible: Visits,
    /// Room of the target on the cores of its node.
    pub(super) room: Room,
    /// Locations of the target that began its first region, by each rule, and its last visit.
    pub(super) came: [LocationNumber; 3],
}

impl Message for Served {}

/// Asks, for an operation in flight, for the region that has served it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Watch {
    pub(super) start: Time,
    pub(super) serial: u64,
    pub(super) target: ProcessNumber,
    pub(super) process: ProcessNumber,
    pub(super) window: RmaWinRef,
    pub(super) known: Known,
}

impl Message for Watch {}

/// Answer to [`Watch`], if there is one.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(super) serial: u64,
    pub(super) target: ProcessNumber,
    pub(super) process: ProcessNumber,
    pub(super) window: RmaWinRef,
    pub(super) known: Known,
}

impl Message for Seen {}

impl AskOne {
    /// Returns the answer for a target whose events are missing: it does not count.
    pub(super) fn unanswered(&self) -> Served {
        let Self { process, case, index, .. } = *self;
        let (certain, possible, room) = (Visits::NONE, Visits::NONE, Room::Enough);
        Served { process, case, index, certain, possible, room, came: [LocationNumber(0); 3] }
    }
}
