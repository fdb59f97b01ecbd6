//! Polling loops: calls that ask again and again whether something has happened.
//!
//! Consecutive calls that test, in the same call of the program and with no other call in between, are a run. A run is
//! a loop as soon as one of its call sites repeats; until then it may be several tests that are made once. A loop may
//! therefore have several call sites, such as one that tests two requests in turn.
//!
//! A loop waits for the last event that its calls found: messages and collectives that they completed, the message of the
//! receive that follows a probe, or the operation that changed the memory under test. The process responsible and the
//! time are known only after the loop has ended, so [`Loops`] keeps the loop until everything is answered. That process
//! is blamed for the time from the first call to the release; the time of the loop after the release is subtracted from
//! its last call site.

use std::collections::HashMap;

use dwell_trace::ids::LocationNumber;
use dwell_trace::time::{Duration, Time};

use crate::engine::hash::Mixed;
use crate::engine::paths::Path;
use crate::engine::regions::Span;

/// Greatest number of call sites of a loop. Beyond that, a new run begins.
const SITES: usize = 8;

/// A call that tests, or a stretch of short calls that test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Test {
    pub(crate) path: Path,
    pub(crate) enter: Time,
    pub(crate) leave: Time,
    /// Time in the call, or in all calls of the stretch.
    pub(crate) length: Duration,
    /// Number of calls.
    pub(crate) calls: u64,
    /// Enter of the call around the test.
    pub(crate) caller: Time,
    /// Time in calls made from there, this one included. It shows whether another call was made in between.
    pub(crate) inside: Duration,
}

/// A run of consecutive calls that test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) last: Test,
    /// Enter of the first call.
    pub(crate) begin: Time,
    /// Each call site, with the time up to the ends of its calls, each counted from the end of the call before.
    sites: [(Path, Duration); SITES],
    count: usize,
    /// True if a call site repeated.
    pub(crate) is_loop: bool,
    /// Number of the loop among those whose release is being determined.
    pub(crate) number: Option<u32>,
    /// End of the last call that probed for a message, until a receive follows; otherwise 0.
    pub(crate) probed: Time,
    /// True if the last call tests memory.
    pub(crate) tests_memory: bool,
}

impl Run {
    /// Begins a run with a call. Several calls of one site are a loop.
    fn of(test: Test, book: &mut impl FnMut(Path, Duration, u64)) -> Self {
        if test.calls > 1 {
            book(test.path, test.leave - test.enter, test.calls);
        }
        Self {
            last: test,
            begin: test.enter,
            sites: [(test.path, test.leave - test.enter); SITES],
            count: 1,
            is_loop: test.calls > 1,
            number: None,
            probed: Time::BEGIN,
            tests_memory: false,
        }
    }

    /// Extends a run by a further call, and returns the previous run if it has ended. `book` is called for every call
    /// that belongs to a loop, with the time that ends with it and the number of calls.
    pub(crate) fn after(
        run: Option<Self>,
        test: Test,
        mut book: impl FnMut(Path, Duration, u64),
    ) -> (Self, Option<Self>) {
        let Some(mut run) = run.filter(|run| run.is_followed_by(&test)) else {
            return (Self::of(test, &mut book), run);
        };
        let before = run;
        let time = test.leave - run.last.leave;
        run.last = test;
        let sites = run.sites.get_mut(..run.count).unwrap_or_default();
        if let Some(at) = sites.iter().position(|(path, _)| *path == test.path) {
            if !run.is_loop {
                sites.iter().for_each(|(path, time)| book(*path, *time, 1));
            }
            run.is_loop = true;
            book(test.path, time, test.calls);
            if let Some((_, sum)) = sites.get_mut(at) {
                *sum += time;
            }
            return (run, None);
        }
        match run.sites.get_mut(run.count) {
            Some(place) if !run.is_loop => *place = (test.path, time),
            _ => return (Self::of(test, &mut book), Some(before)),
        }
        if test.calls > 1 {
            let before = run.sites.get(..run.count).unwrap_or_default();
            before.iter().for_each(|(path, time)| book(*path, *time, 1));
            book(test.path, time, test.calls);
            run.is_loop = true;
        }
        run.count += 1;
        (run, None)
    }

    fn is_followed_by(&self, test: &Test) -> bool {
        (self.last.caller, self.last.inside + test.length) == (test.caller, test.inside)
    }

    /// Returns the time of each call site for which the process that ended the loop at `release` is blamed.
    fn blamed(&self, release: Time) -> impl Iterator<Item = (Path, Duration)> {
        let mut late = self.last.leave.since(release);
        let sites = self.sites.get(..self.count).unwrap_or_default().iter();
        let (last, others): (Vec<_>, Vec<_>) = sites.partition(|it| it.0 == self.last.path);
        last.into_iter().chain(others).map(move |&(path, time)| {
            let taken = late.min(time);
            late -= taken;
            (path, time - taken)
        })
    }
}

/// The end of a polling loop that another process caused, by a message or by a change of the tested word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Release {
    /// Number of the loop at its process.
    pub(crate) number: u32,
    /// Time at which the loop could end and the location that caused it, if they were found.
    pub(crate) by: Option<(Time, LocationNumber)>,
}

/// Time of a loop for which a process is blamed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blamed {
    pub(crate) location: LocationNumber,
    pub(crate) path: Path,
    pub(crate) culprit: LocationNumber,
    pub(crate) time: Duration,
}

/// A loop whose releases are not all known.
#[derive(Debug, Default)]
struct Loop {
    /// Number of releases that are not known yet.
    missing: u32,
    latest: Option<(Time, LocationNumber)>,
    /// Location and run, once the loop has ended.
    ended: Option<(LocationNumber, Run)>,
}

/// Loops of a process whose releases are being determined.
#[derive(Debug, Default)]
pub(crate) struct Loops {
    next: u32,
    open: HashMap<u32, Loop, Mixed>,
    /// Times that are to be booked.
    pub(crate) blamed: Vec<Blamed>,
    /// Loops whose releases are known: the location of the loop and the one that ended it, and the time from the first
    /// call to that end.
    pub(crate) released: Vec<(LocationNumber, LocationNumber, Span)>,
}

impl Loops {
    /// Announces a release of a run, and returns the number of its loop.
    pub(crate) fn expect(&mut self, run: &mut Run) -> u32 {
        let number = *run.number.get_or_insert_with(|| {
            self.next = self.next.wrapping_add(1);
            self.next
        });
        self.open.entry(number).or_default().missing += 1;
        number
    }

    /// Records that a run has ended.
    pub(crate) fn end(&mut self, location: LocationNumber, run: Run) {
        let Some(number) = run.number else { return };
        if !run.is_loop {
            self.open.remove(&number);
        } else if let Some(it) = self.open.get_mut(&number) {
            it.ended = Some((location, run));
            self.settle(number);
        }
    }

    /// Records a release.
    pub(crate) fn release(&mut self, release: Release) {
        let Some(it) = self.open.get_mut(&release.number) else { return };
        it.missing = it.missing.saturating_sub(1);
        it.latest = it.latest.max(release.by);
        self.settle(release.number);
    }

    fn settle(&mut self, number: u32) {
        let is_over = |it: &Loop| it.missing == 0 && it.ended.is_some();
        if !self.open.get(&number).is_some_and(is_over) {
            return;
        }
        let Some(Loop { latest, ended, .. }) = self.open.remove(&number) else { return };
        let Some(((release, culprit), (location, run))) = latest.zip(ended) else { return };
        if release > run.begin {
            let of = |(path, time)| Blamed { location, path, culprit, time };
            self.blamed.extend(run.blamed(release).map(of));
            let end = release.min(run.last.leave);
            self.released.push((location, culprit, Span { begin: run.begin, end }));
        }
    }
}
