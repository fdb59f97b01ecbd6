//! Calls whose rest is judged later.
//!
//! A call may wait for several things one after the other. A collective that completes operations on targets outside of
//! its group waits for the last member first; a call that completes messages and operations waits for the messages
//! first. The pattern that judges the first part adds the call here and gets its number. When it knows until when the
//! call waited, the engine passes the rest to the patterns that judge rests.

use std::collections::BTreeMap;

use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::time::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::engine::accounts::Account;
use crate::engine::message::Message;
use crate::engine::outstanding::Done;
use crate::engine::regions::Span;

/// The rest of a call, after another pattern has judged its beginning.
#[derive(Debug)]
pub(crate) struct Rest {
    pub(crate) location: LocationNumber,
    pub(crate) account: Account,
    /// Time of the call in nanoseconds that the waits before do not explain.
    pub(crate) length: Duration,
    /// Interval in which the call may have waited.
    pub(crate) when: Span,
    /// Operations that the call completed, and partners of its messages.
    pub(crate) done: Vec<Done>,
}

/// Message to the process of a deferred call: the interval in which its rest may have waited.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Remainder {
    pub(crate) process: ProcessNumber,
    /// Number of the call among those that are deferred.
    pub(crate) number: u32,
    pub(crate) from: Time,
    pub(crate) until: Time,
}

impl Message for Remainder {}

/// A deferred call.
#[derive(Debug)]
struct Call {
    location: LocationNumber,
    /// Account and length of the call, once it has ended.
    account: Account,
    length: Duration,
    /// Enter of the call, and time up to which it may have waited.
    when: Span,
    done: Vec<Done>,
    /// Interval in which the rest may have waited, once it is known.
    between: Option<Span>,
}

/// Calls of a process whose rest is judged later, by number.
#[derive(Debug, Default)]
pub(crate) struct DeferredCalls {
    next: u32,
    open: BTreeMap<u32, Call>,
}

impl DeferredCalls {
    /// Defers a call that is still open, and returns its number. `when` begins with its enter and ends
    /// with the time up to which it may have waited.
    pub(crate) fn open(&mut self, location: LocationNumber, when: Span, done: Vec<Done>) -> u32 {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let (account, length) = (Account::NONE, Duration::ZERO);
        let call = Call { location, account, length, when, done, between: None };
        self.open.insert(number, call);
        number
    }

    /// Defers a call that has ended, and returns its number.
    pub(crate) fn ended(
        &mut self,
        location: LocationNumber,
        account: Account,
        when: Span,
        done: Vec<Done>,
    ) -> u32 {
        let number = self.open(location, when, done);
        self.leave(number, account, when.length());
        number
    }

    /// Records that a deferred call has ended.
    pub(crate) fn leave(&mut self, number: u32, account: Account, length: Duration) {
        if let Some(it) = self.open.get_mut(&number) {
            (it.account, it.length) = (account, length);
        }
    }

    /// Records that a call which has ended waited for something else until a time, and adds partners that it may have
    /// waited for since then.
    pub(crate) fn waited_until(&mut self, number: u32, until: Time, partners: Vec<Done>) {
        if let Some(it) = self.open.get_mut(&number) {
            it.done.extend(partners);
            let rest = Span { begin: until, end: it.when.end };
            (it.length, it.between) = (rest.length(), Some(rest));
        }
    }

    /// Records the interval in which the rest of a call may have waited.
    pub(crate) fn learn(&mut self, remainder: &Remainder) {
        if let Some(it) = self.open.get_mut(&remainder.number) {
            let end = remainder.until.min(it.when.end);
            it.between = Some(Span { begin: remainder.from, end });
        }
    }

    /// Removes and returns the rests that can be judged now.
    pub(crate) fn ready(&mut self) -> Vec<Rest> {
        let known = |_: &u32, it: &mut Call| it.between.is_some();
        let rest = |(_, it): (u32, Call)| {
            let Call { location, account, length, done, between, .. } = it;
            let when = between.filter(|it| it.begin < it.end && !done.is_empty())?;
            Some(Rest { location, account, length, when, done })
        };
        self.open.extract_if(.., known).filter_map(rest).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the earliest time from which progress regions are still needed: the start of an operation that has yet
    /// to ask for the region that served it, or the enter of its call.
    pub(crate) fn start(&self) -> Time {
        let of = |it: &Call| {
            let unknown = |it: &&Done| it.known.certain.is_none() || it.known.possible.is_none();
            it.done.iter().filter(unknown).map(|it| it.start).fold(it.when.begin, Time::min)
        };
        self.open.values().map(of).min().unwrap_or(Time::END)
    }
}
