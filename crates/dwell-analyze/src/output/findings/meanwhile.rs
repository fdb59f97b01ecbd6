//! Finds out what a process did while another process waited for it.
//!
//! The replay forgets events as it proceeds, and only its end shows which waits are the worst. This module therefore
//! reads the events of the partner again, around the worst instance of the first findings only.
//!
//! A reader that starts in the middle of a location does not know which calls are open. If this archive never has a
//! runtime call inside another one, the reader can tell: an enter shows that no call was open, and a leave without an
//! enter shows that its call was open from the beginning. Otherwise the module reads the location from its first event,
//! unless it has more than [`MOST_EVENTS`] events.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use dwell_trace::ids::{Ordinal, ProcessNumber};
use dwell_trace::roles::Traits;
use dwell_trace::time::{Duration, Time};
use dwell_trace::world::{World, number};
use otf2::id::{CallingContextRef, Rank, RegionRef, RmaWinRef};
use otf2::read::{Definitions, EventReader};
use otf2::{Archive, Attribute, Event, List};

use super::sites::Sites;
use super::totals::ProgramTotals;
use super::{LISTED, Step};
use crate::engine::regions::Span;

/// Greatest number of events that are read for one process before the search is given up.
const MOST_EVENTS: u64 = 4 << 20;

/// Size of the read buffer for an event file, in bytes.
const BUFFER: usize = 128 << 10;

/// Activity of one process during the wait of another one. The times cover the interval of the wait exactly, by the
/// upper bound of the wait. Runtime calls inside other runtime calls count as part of the outermost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meanwhile {
    /// Time outside of runtime calls in nanoseconds: the process ran its own code.
    pub computing: u64,
    /// Runtime calls by call site, the longest first. The list has at most [`LISTED`] elements.
    pub calls: Vec<Doing>,
}

/// Calls of one function at one call site that overlap the interval of a wait. Calls that began before the interval or
/// ended after it count with the part inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doing {
    /// The function and its call site. The site is `None` if the archive does not have it.
    pub call: Step,
    /// Number of calls that overlap the interval, including those that began before it or ended after it.
    pub count: u64,
    /// Time of the calls within the interval, in nanoseconds.
    pub nanoseconds: u64,
    /// Statement on whether these calls progressed operations of other processes.
    pub serves: Serves,
}

/// Statement on whether a call progresses operations that other processes issued to this one. It explains to a user why
/// an operation had to wait although its target was inside the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serves {
    /// Calls of this function always progress operations of other processes.
    Always,
    /// Calls of this function may or may not progress operations of other processes, depending on the runtime.
    Maybe,
    /// Calls of this function never progress operations of other processes.
    Never,
    /// Calls of this function progress operations of others in general, but these acted on their own process only,
    /// which does not.
    NotOnItself,
    /// Calls of this function can progress operations of others, but the operation outlived at least 10 of them, each
    /// by 100 µs or more, and there were no others. These calls therefore did not serve it.
    Outlived,
}

/// An operation that outlived this many calls was served by none of them.
const OUTLIVED: u64 = 10;

/// An operation that ends within this many nanoseconds after a call may have been served by that call.
const SOON: Duration = Duration(100_000);

/// Sums over the calls of one function at one call site.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: u64,
    time: Duration,
    /// Number of calls that acted on their own process and on no other.
    on_itself: u64,
    /// Number of calls that ended at least [`SOON`] before the interval did.
    outlived: u64,
    /// Number of calls that completed operations.
    completed: u64,
}

/// A call that was entered and not yet left.
#[derive(Clone, Copy, Debug)]
struct Open {
    region: RegionRef,
    site: CallingContextRef,
    enter: Time,
    is_call: bool,
    on_itself: bool,
    on_others: bool,
    /// True if operations were complete in the call.
    completed: bool,
}

/// Reads what processes of an archive did in intervals of time.
pub(super) struct Looker<'a> {
    archive: &'a Archive,
    program: &'a ProgramTotals<'a>,
    /// True if some runtime call of the archive is made inside another one.
    nests: bool,
}

impl<'a> Looker<'a> {
    pub(super) fn new(archive: &'a Archive, program: &'a ProgramTotals<'a>) -> Self {
        let (world, tree) = (program.world, program.tree);
        // Callers precede the functions that they call.
        let mut inside: Vec<bool> = Vec::with_capacity(tree.branches.len());
        let mut nests = false;
        for branch in &tree.branches {
            let above = branch.parent.and_then(|at| inside.get(at.index()).copied());
            let is_call = world.roles.layer(branch.region).is_some();
            nests |= is_call && above == Some(true);
            inside.push(is_call || above == Some(true));
        }
        Self { archive, program, nests }
    }

    /// Returns what a process did in an interval of time. `of_progress` says that an operation waited for progress of
    /// this process. The result is `None` if the process has several locations, too many events, or an event file that
    /// cannot be read.
    pub(super) fn look(
        &self,
        process: ProcessNumber,
        when: Span,
        of_progress: bool,
    ) -> Option<Meanwhile> {
        let Self { archive, program, nests } = *self;
        let world = program.world;
        let about = world.system.processes.get(process.index()).filter(|it| it.count == 1)?;
        let place = world.system.places.get(about.first.index())?;
        let tables = archive.local_tables(place.id);
        let mut reader = archive.events_with(place.id, &tables, BUFFER).ok()?;
        match nests {
            false => reader.seek_time(world.clock.ticks(when.begin)).ok()?,
            true if place.events > MOST_EVENTS => return None,
            true => {}
        }
        let chunk = reader.chunk_first();
        let mut look = Look::new(world, process, when);
        look.read(&mut reader)?;
        if look.is_unsited {
            // The enter of the call that was open, which says where it was called, is mostly in the same chunk.
            reader.seek_event(chunk).ok()?;
            look = Look::new(world, process, when);
            look.read(&mut reader)?;
        }
        Some(look.result(program.defs, &program.sites, of_progress))
    }
}

struct Look<'w> {
    world: &'w World,
    process: ProcessNumber,
    when: Span,
    stack: Vec<Open>,
    sums: BTreeMap<(RegionRef, CallingContextRef), Sum>,
    /// True if a runtime call was left whose enter was not read, so that its call site is unknown.
    is_unsited: bool,
}

impl<'w> Look<'w> {
    fn new(world: &'w World, process: ProcessNumber, when: Span) -> Self {
        let (stack, sums) = Default::default();
        Self { world, process, when, stack, sums, is_unsited: false }
    }
}

impl Look<'_> {
    /// Reads events until all calls in the interval are known. Returns `None` if the file is damaged.
    fn read(&mut self, reader: &mut EventReader) -> Option<()> {
        for _ in 0..MOST_EVENTS {
            let Some(record) = reader.next().ok()? else { break };
            let time = self.world.clock.time(record.time);
            // The first enter or leave after the interval shows which call was open before.
            let is_known = time > self.when.end && !self.stack.is_empty();
            match record.event {
                _ if is_known => break,
                Event::Enter(_) if time > self.when.end => break,
                Event::Enter(it) => self.enter(time, it.region, record.attributes),
                Event::Leave(it) => {
                    self.leave(time, it.region);
                    if time > self.when.end {
                        break;
                    }
                }
                Event::RmaGet(it) => self.act(it.win, it.remote),
                Event::RmaPut(it) => self.act(it.win, it.remote),
                Event::RmaAtomic(it) => self.act(it.win, it.remote),
                Event::RmaOpCompleteNonBlocking(_) | Event::RmaOpCompleteRemote(_) => {
                    self.stack.iter_mut().for_each(|it| it.completed = true);
                }
                _ => {}
            }
        }
        let open = self.stack.iter().find(|it| it.is_call).copied();
        if let Some(mut open) = open {
            // What it completes is known when it ends.
            open.completed = true;
            self.add(&open, self.when.end);
        }
        Some(())
    }

    fn enter(&mut self, enter: Time, region: RegionRef, attributes: List<'_, Attribute>) {
        let site = number(attributes, self.world.attributes.site);
        let site = site.and_then(|it| u32::try_from(it).ok()).map(CallingContextRef);
        let is_call = self.world.roles.layer(region).is_some();
        self.stack.push(Open {
            region,
            site: site.unwrap_or(CallingContextRef::UNDEFINED),
            enter,
            is_call,
            on_itself: false,
            on_others: false,
            completed: false,
        });
    }

    fn leave(&mut self, time: Time, region: RegionRef) {
        let open = self.stack.pop().unwrap_or_else(|| {
            let is_call = self.world.roles.layer(region).is_some();
            self.is_unsited |= is_call;
            let (site, enter) = (CallingContextRef::UNDEFINED, Time::BEGIN);
            let (on_itself, on_others, completed) = (false, false, false);
            Open { region, site, enter, is_call, on_itself, on_others, completed }
        });
        // Calls inside a call are part of it.
        if open.is_call && !self.stack.iter().any(|it| it.is_call) {
            self.add(&open, time);
        }
    }

    fn act(&mut self, window: RmaWinRef, remote: Rank) {
        let context = self.world.system.window(window).map(|it| it.0);
        let context = context.and_then(|it| self.world.system.context(it));
        let target = context.and_then(|it| it.ranks.process(remote, self.process));
        if let Some(open) = self.stack.iter_mut().find(|it| it.is_call) {
            let itself = target == Some(self.process);
            open.on_itself |= itself;
            open.on_others |= !itself;
        }
    }

    /// Adds the part of a call that lies within the interval to the sums of its call site.
    fn add(&mut self, open: &Open, leave: Time) {
        let (from, until) = (open.enter.max(self.when.begin), leave.min(self.when.end));
        if from < until {
            let sum = self.sums.entry((open.region, open.site)).or_default();
            sum.count += 1;
            sum.time += until - from;
            sum.on_itself += u64::from(open.on_itself && !open.on_others);
            sum.completed += u64::from(open.completed);
            sum.outlived += u64::from(leave.later_by(SOON) <= self.when.end);
        }
    }

    fn result(self, defs: &Definitions, sites: &Sites, of_progress: bool) -> Meanwhile {
        let in_calls: Duration = self.sums.values().map(|it| it.time).sum();
        let mut calls: Vec<_> = self.sums.into_iter().collect();
        calls.sort_by_key(|(key, sum)| (Reverse(sum.time), *key));
        let doing = |((region, site), sum): ((RegionRef, CallingContextRef), Sum)| {
            let mut traits = self.world.roles.traits(region);
            // A call that completes operations serves others if there are any.
            let is_uniform = sum.completed == 0 || sum.completed == sum.count;
            if traits.has(Traits::COMPLETES) && traits.has(Traits::CONDITIONAL) && is_uniform {
                traits = traits.serving(sum.completed > 0);
            }
            let serves = match traits {
                it if !it.has(Traits::SERVES) => Serves::Never,
                it if it.has(Traits::ONE_SIDED) && sum.on_itself == sum.count => {
                    Serves::NotOnItself
                }
                _ if of_progress && sum.outlived >= OUTLIVED && sum.outlived == sum.count => {
                    Serves::Outlived
                }
                it if it.has(Traits::ALWAYS) => Serves::Always,
                _ => Serves::Maybe,
            };
            Doing {
                call: sites.step(defs, region, site),
                count: sum.count,
                nanoseconds: sum.time.0,
                serves,
            }
        };
        Meanwhile {
            computing: self.when.length().saturating_sub(in_calls).0,
            calls: calls.into_iter().take(LISTED).map(doing).collect(),
        }
    }
}
