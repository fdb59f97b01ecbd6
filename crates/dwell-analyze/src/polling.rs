//! Polling loops: calls that ask again and again whether something has happened.
//!
//! Calls that ask, one after the other in the same call of the program and with no other call between them, are a run.
//! A run is a loop as soon as one of its call sites comes again; until then it may be several questions that are asked
//! once. So a loop may have several call sites, as one that tests two requests in turn has.

use crate::paths::Path;

/// Call sites of a loop at most. Beyond that a run begins anew.
const SITES: usize = 8;

/// A call that asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Test {
    pub(crate) path: Path,
    pub(crate) enter: u64,
    pub(crate) leave: u64,
    /// Enter of the call around it.
    pub(crate) caller: u64,
    /// Time in calls from there, this one included: it tells whether there was another call.
    pub(crate) inside: u64,
}

/// A run of calls that ask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    last: Test,
    /// Each call site, with the time from the end of the call before to the end of its first call.
    sites: [(Path, u64); SITES],
    count: usize,
    /// Whether a call site came again.
    is_loop: bool,
}

impl Run {
    fn of(test: Test) -> Self {
        let sites = [(test.path, test.leave - test.enter); SITES];
        Self { last: test, sites, count: 1, is_loop: false }
    }

    /// The run up to a further call. `book` is called with every call that is found to belong to a loop, and the time
    /// that ends with it.
    pub(crate) fn after(run: Option<Self>, test: Test, mut book: impl FnMut(Path, u64)) -> Self {
        let Some(mut run) = run.filter(|run| run.is_followed_by(&test)) else {
            return Self::of(test);
        };
        let time = test.leave - run.last.leave;
        run.last = test;
        let sites = run.sites.get(..run.count).unwrap_or_default();
        if sites.iter().any(|(path, _)| *path == test.path) {
            if !run.is_loop {
                sites.iter().for_each(|(path, time)| book(*path, *time));
            }
            run.is_loop = true;
            book(test.path, time);
            return run;
        }
        match run.sites.get_mut(run.count) {
            Some(place) if !run.is_loop => *place = (test.path, time),
            _ => return Self::of(test),
        }
        run.count += 1;
        run
    }

    fn is_followed_by(&self, test: &Test) -> bool {
        let length = test.leave - test.enter;
        (self.last.caller, self.last.inside + length) == (test.caller, test.inside)
    }
}
