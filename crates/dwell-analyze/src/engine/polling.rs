//! Polling loops: calls that ask again and again whether something has happened.
//!
//! Consecutive calls that test, in the same call of the program and with no other call in between, are a run. A run is
//! a loop as soon as it has [`TRIES`] calls and one of its call sites repeats; until then it may be several tests that are
//! made once. A loop may therefore have several call sites, such as one that tests two requests in turn. Tries of two calls,
//! an operation and the call that completes it, are a region each.
//!
//! Between the calls of a loop the process does nothing else. The recorder makes sure of that where it merges calls into
//! one region. Calls that it did not merge may be [`APART`] from each other, and one in [`LATE`] later than that, since a
//! process may lose its core.
//!
//! A loop waits for the last event that its calls found: messages and collectives that they completed, the message of the
//! receive that follows a probe, or the operation that changed the memory under test. The process responsible and the
//! time are known only after the loop has ended, so [`Loops`] keeps the loop until everything is answered. That process
//! is blamed for the time from the first call to the release; the time of the loop after the release is subtracted from
//! its last call site.

use std::collections::HashMap;

use dwell_trace::ids::LocationNumber;
use dwell_trace::time::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::engine::accounts::Account;
use crate::engine::hash::Mixed;
use crate::engine::paths::Path;
use crate::engine::regions::Span;

/// Greatest number of call sites of a loop. Beyond that, a new run begins.
const SITES: usize = 8;
/// Number of regions of a loop whose time is a wait. More than one are rare.
const REGIONS: usize = 4;
/// Least number of calls of a loop.
const TRIES: u64 = 5;
/// Longest time between two calls of a loop.
const APART: Duration = Duration(10_000);
/// Longest time between two regions that each stand for several calls of a loop, and between two calls of which one came
/// late.
const MERGED_APART: Duration = Duration(20_000_000);
/// Of this many calls, one may come later.
const LATE: u64 = 10;

/// A call that tests, or a stretch of short calls that test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Test {
    pub(crate) path: Path,
    pub(crate) account: Account,
    pub(crate) enter: Time,
    pub(crate) leave: Time,
    /// Time in the call, or in all calls of the stretch.
    pub(crate) length: Duration,
    /// Number of calls.
    pub(crate) calls: u64,
    /// True if the calls complete operations, which tries of two calls begin with.
    pub(crate) completes: bool,
    /// Enter of the call around the test.
    pub(crate) caller: Time,
    /// Time in calls made from there, this one included. It shows whether another call was made in between.
    pub(crate) inside: Duration,
}

/// A run of consecutive calls that test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) last: Test,
    /// Time between the last call and the one before.
    gap: Duration,
    /// Enter of the first call.
    pub(crate) begin: Time,
    sites: [Site; SITES],
    count: usize,
    /// Number of calls, and of those that came late.
    calls: u64,
    late: u64,
    /// True if a call site repeated.
    repeats: bool,
    /// True if the calls are a loop.
    pub(crate) is_loop: bool,
    /// Number of the loop among those whose release is being determined.
    pub(crate) number: Option<u32>,
    /// End of the last call that probed for a message, until a receive follows; otherwise 0.
    pub(crate) probed: Time,
    /// True if the last call tests memory.
    pub(crate) tests_memory: bool,
    /// True if the last region found a change. What follows waits for the next one.
    pub(crate) found: bool,
    merged: [Option<Merged>; REGIONS],
}

/// A call site of a run.
#[derive(Clone, Copy, Debug)]
struct Site {
    path: Path,
    calls: u64,
    /// Time up to the ends of its calls, each counted from the end of the call before.
    time: Duration,
}

/// A region that stands for several calls of a run.
#[derive(Clone, Copy, Debug)]
struct Merged {
    path: Path,
    account: Account,
    when: Span,
}

impl Run {
    /// Begins a run with a call.
    fn of(test: Test) -> Self {
        let Test { path, calls, .. } = test;
        let site = Site { path, calls, time: test.leave - test.enter };
        let mut run = Self {
            last: test,
            gap: Duration(0),
            begin: test.enter,
            sites: [site; SITES],
            count: 1,
            calls,
            late: 0,
            repeats: calls > 1,
            is_loop: false,
            number: None,
            probed: Time::BEGIN,
            tests_memory: false,
            found: false,
            merged: [None; REGIONS],
        };
        run.keep(test);
        run
    }

    /// Keeps a region that stands for several calls, unless the process computed between them. The last ones count.
    fn keep(&mut self, test: Test) {
        if test.calls > 1 && test.account != Account::NONE {
            let Test { path, account, enter: begin, leave: end, .. } = test;
            self.merged.rotate_right(1);
            if let Some(place) = self.merged.first_mut() {
                *place = Some(Merged { path, account, when: Span { begin, end } });
            }
        }
    }

    /// Extends a run by a further call, and returns the previous run if it has ended. `book` is called for every call
    /// that belongs to a loop, with the time that ends with it and the number of calls.
    pub(crate) fn after(
        run: Option<Self>,
        test: Test,
        mut book: impl FnMut(Path, Duration, u64),
    ) -> (Self, Option<Self>) {
        let goes_on = run.is_some_and(|run| run.found && run.is_loop && run.is_followed_by(&test));
        let (mut run, ended) = match run.and_then(|run| run.and(test)) {
            Some(run) => (run, None),
            None => (Self::of(test), run),
        };
        run.is_loop |= goes_on;
        if run.is_loop {
            let gap = if ended.is_none() { run.gap } else { Duration(0) };
            book(test.path, gap + (test.leave - test.enter), test.calls);
        } else if run.repeats && run.calls >= TRIES {
            run.is_loop = true;
            run.sites().iter().for_each(|it| book(it.path, it.time, it.calls));
        }
        (run, ended)
    }

    /// Returns the run with a further call, or `None` if that does not belong to it.
    fn and(mut self, test: Test) -> Option<Self> {
        let before = self.last;
        if self.found || !self.precedes(&test) {
            return None;
        }
        self.gap = test.enter - before.leave;
        let are_merged = self.is_followed_by(&test);
        if self.gap > APART && !are_merged {
            self.late += 1;
            if self.late * LATE > self.calls || self.gap >= MERGED_APART {
                return None;
            }
        }
        let time = test.leave - before.leave;
        let sites = self.sites.get_mut(..self.count).unwrap_or_default();
        if let Some(site) = sites.iter_mut().find(|site| site.path == test.path) {
            site.calls += test.calls;
            site.time += time;
            self.repeats = true;
        } else {
            let joins = !self.is_loop || test.completes && are_merged;
            let place = self.sites.get_mut(self.count).filter(|_| joins)?;
            *place = Site { path: test.path, calls: test.calls, time };
            self.count += 1;
            self.repeats |= test.calls > 1;
        }
        self.calls += test.calls;
        self.last = test;
        self.keep(test);
        Some(self)
    }

    /// Returns `true` if no other call was made between the last call and this one.
    fn precedes(&self, test: &Test) -> bool {
        let Test { caller, inside, .. } = self.last;
        (caller, inside + test.length) == (test.caller, test.inside)
    }

    /// Returns `true` if the last region and this one are parts of a loop, as the recorder has made sure.
    fn is_followed_by(&self, test: &Test) -> bool {
        let Test { leave, calls, .. } = self.last;
        calls > 1 && test.calls > 1 && self.precedes(test) && test.enter - leave < MERGED_APART
    }

    fn sites(&self) -> &[Site] {
        self.sites.get(..self.count).unwrap_or_default()
    }

    /// Returns the time of each call site for which the process that ended the loop at `release` is blamed.
    fn blamed(&self, release: Time) -> impl Iterator<Item = (Path, Duration)> {
        let mut late = self.last.leave.since(release);
        let (last, others): (Vec<Site>, Vec<Site>) =
            self.sites().iter().partition(|it| it.path == self.last.path);
        last.into_iter().chain(others).map(move |site| {
            let taken = late.min(site.time);
            late -= taken;
            (site.path, site.time - taken)
        })
    }
}

/// The end of a polling loop that another process caused, by a message or by a change of the tested word.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
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
    /// Part of the time that is not a wait.
    pub(crate) rest: Duration,
}

/// A wait in a region that stands for several calls of a loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    pub(crate) location: LocationNumber,
    pub(crate) path: Path,
    pub(crate) account: Account,
    pub(crate) culprit: LocationNumber,
    /// The region, and its part until the release.
    pub(crate) when: Span,
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
    pub(crate) waits: Vec<Waited>,
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
            let waits = self.waits.len();
            for Merged { path, account, when } in run.merged.into_iter().flatten() {
                let time = when.end.min(release).since(when.begin);
                self.waits.push(Waited { location, path, account, culprit, when, time });
            }
            let waits = self.waits.get(waits..).unwrap_or_default();
            let of = |(path, time): (Path, Duration)| {
                let waits = waits.iter().filter(|it| it.path == path).map(|it| it.time.0).sum();
                let rest = time.saturating_sub(Duration(waits));
                Blamed { location, path, culprit, time, rest }
            };
            self.blamed.extend(run.blamed(release).map(of));
            let end = release.min(run.last.leave);
            self.released.push((location, culprit, Span { begin: run.begin, end }));
        }
    }
}
