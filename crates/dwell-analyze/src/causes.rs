//! Causes of waits: activities of processes that made others wait, and their costs.
//!
//! A location waits for another one, the culprit, because the culprit arrived late. The culprit was late because of its
//! activities before, or because it had waited itself. [`find`] splits the length of every wait over the activities of the
//! culprit, and passes the part that falls to waits of the culprit on to the locations that it waited for. The sum at a
//! call path is its *delay cost*: direct where it made the waiting location wait, propagated where others have passed it on.
//!
//! | wait | is split over |
//! |---|---|
//! | for progress, for locks | what the culprit did during the wait |
//! | in a collective of all | what the culprit did more than the waiting locations since each of them synchronised with it last, summed up over all of them |
//! | any other | what the culprit did more than the waiting location since the two synchronised last |
//!
//! Two processes synchronise where one waits for the other, unless for progress or a lock, and in a collective that both take part in.
//! A thread has synchronised where it or the first thread of its process has, so that a new one need not begin with the run.
//! The search for that goes back at most [`MOST_STRETCHES`] stretches of the waiting location. However far it goes, the
//! culprit did at least as much more as the wait is long.
//!
//! # One pass backwards
//! Costs go back in time only. Each location goes through its waits and releases in the dependency log with the last first. At a
//! wait it sends the culprit the cost, which is known then, and its activities since the two synchronised. At a release it needs
//! the messages of the waiting locations ([`CostMessage`]), splits the cost, and adds the part that is passed on to its own
//! earlier waits. A location that lacks a message stops until it arrives ([`walk`]). Workers of one process
//! send each other messages through [queues](queue), processes of the analysis in rounds ([`pass`]).
//!
//! [`critical_path`] follows the one chain of waits that determined the length of the run.

mod activity;
mod backward_log;
mod critical;
mod delay;
mod history;
mod origin;
mod pass;
mod queue;
mod reader;
mod share;
mod walk;

pub(crate) use activity::Activity;
pub(crate) use critical::critical_path;
pub use critical::{CriticalPath, CriticalStep};
pub use delay::Delay;
pub(crate) use origin::Origin;
pub(crate) use pass::{failure, find};
pub(crate) use reader::Reader;
pub(crate) use walk::Done;

/// Number of stretches of a location before a wait in which its last synchronisation with the culprit is searched.
pub(crate) const MOST_STRETCHES: usize = 256;
/// Number of stretches of computing without a call for which the call before is searched.
pub(crate) const MOST_COMPUTING: usize = 1024;
