//! What a process did while another waited for it.
//!
//! The replay forgets events as it goes, and which waits are the worst is known at the end. So the events of the partner
//! are read again, only around the worst instance of the first findings.
//!
//! A reader that begins in the middle of a location does not know which calls are open. If no call of a runtime is made
//! inside another in this archive, it finds out: a call that is entered tells that none was open, and a call that is left
//! without having been entered was open from the beginning. Otherwise the location is read from its first event on, if it
//! has no more than [`MOST_EVENTS`].

use std::cmp::Reverse;
use std::collections::BTreeMap;

use otf2::id::{CallingContextRef, Rank, RegionRef, RmaWinRef, Time};
use otf2::read::{Definitions, EventReader};
use otf2::{Archive, Attribute, Event, List};

use super::ground::Ground;
use super::sites::Sites;
use super::{LISTED, Step};
use crate::role::Traits;
use crate::world::{World, number};

/// A look at a process is given up after so many events.
const MOST_EVENTS: u64 = 4 << 20;

/// Bytes of a file that are kept in memory.
const BUFFER: usize = 128 << 10;

/// What a process did during the wait of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meanwhile {
    /// Nanoseconds in no call of a runtime.
    pub computing: u64,
    /// Calls of runtimes, those that took longest first, at most [`LISTED`].
    pub calls: Vec<Doing>,
}

/// Calls that a process made at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doing {
    /// The function, and from where it was called.
    pub call: Step,
    /// How many calls.
    pub count: u64,
    /// How long they took, in nanoseconds.
    pub nanoseconds: u64,
    /// Whether they served requests of other processes.
    pub serves: Serves,
}

/// Whether calls serve requests of other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serves {
    /// They do.
    Always,
    /// They may or may not.
    Maybe,
    /// Calls of this function never do.
    Never,
    /// Calls of this function do, but not if they act on their own process, as these did.
    NotOnItself,
    /// Calls of this function do or may, but the operation outlived at least 10 of them, each by 100 µs or more, and there
    /// were no others.
    Outlived,
}

/// An operation that outlived so many calls was served by none of them.
const OUTLIVED: u64 = 10;

/// An operation that ends within so many nanoseconds after a call may have been served by it.
const SOON: u64 = 100_000;

/// What was done in calls of one place.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: u64,
    nanoseconds: u64,
    /// Calls that acted on their own process, and on no other.
    on_itself: u64,
    /// Calls that ended well before the interval did.
    outlived: u64,
}

/// A call that is open.
#[derive(Clone, Copy, Debug)]
struct Open {
    region: RegionRef,
    site: CallingContextRef,
    enter: u64,
    is_call: bool,
    on_itself: bool,
    on_others: bool,
}

/// Looks at processes of an archive.
pub(super) struct Looker<'a> {
    archive: &'a Archive,
    ground: &'a Ground<'a>,
    /// Whether some call of a runtime is made inside another.
    nests: bool,
}

impl<'a> Looker<'a> {
    pub(super) fn new(archive: &'a Archive, ground: &'a Ground<'a>) -> Self {
        let (world, tree) = (ground.world, ground.tree);
        // Callers come before what they call.
        let mut inside: Vec<bool> = Vec::with_capacity(tree.branches.len());
        let mut nests = false;
        for branch in &tree.branches {
            let above = branch.parent.and_then(|at| inside.get(at as usize).copied());
            let is_call = world.roles.layer(branch.region).is_some();
            nests |= is_call && above == Some(true);
            inside.push(is_call || above == Some(true));
        }
        Self { archive, ground, nests }
    }

    /// What a process did in an interval of time, during which an operation may have waited for its progress; `None` if that
    /// is not known.
    pub(super) fn look(
        &self,
        process: u32,
        (begin, end): (u64, u64),
        of_progress: bool,
    ) -> Option<Meanwhile> {
        let Self { archive, ground, nests } = *self;
        let world = ground.world;
        let about = world.system.processes.get(process as usize).filter(|it| it.count == 1)?;
        let place = world.system.places.get(about.first as usize)?;
        let tables = archive.local_tables(place.id);
        let mut reader = archive.events_with(place.id, &tables, BUFFER).ok()?;
        match nests {
            false => reader.seek_time(Time(world.clock.ticks(begin))).ok()?,
            true if place.events > MOST_EVENTS => return None,
            true => {}
        }
        let chunk = reader.chunk_first();
        let mut look = Look::new(world, process, (begin, end));
        look.read(&mut reader)?;
        if look.is_unsited {
            // The enter of the call that was open, which says where it was called, is mostly in the same chunk.
            reader.seek_event(chunk).ok()?;
            look = Look::new(world, process, (begin, end));
            look.read(&mut reader)?;
        }
        Some(look.result(ground.defs, &ground.sites, of_progress))
    }
}

struct Look<'w> {
    world: &'w World,
    process: u32,
    begin: u64,
    end: u64,
    stack: Vec<Open>,
    sums: BTreeMap<(RegionRef, CallingContextRef), Sum>,
    /// Whether a call was left that had not been entered.
    is_unsited: bool,
}

impl<'w> Look<'w> {
    fn new(world: &'w World, process: u32, (begin, end): (u64, u64)) -> Self {
        let (stack, sums) = Default::default();
        Self { world, process, begin, end, stack, sums, is_unsited: false }
    }
}

impl Look<'_> {
    /// Reads until everything in the interval is known.
    fn read(&mut self, reader: &mut EventReader) -> Option<()> {
        for _ in 0..MOST_EVENTS {
            let Some(record) = reader.next().ok()? else { break };
            let time = self.world.clock.nanoseconds(record.time.0);
            // The first call that is entered or left behind the interval tells what was open before.
            let is_known = time > self.end && !self.stack.is_empty();
            match record.event {
                _ if is_known => break,
                Event::Enter(_) if time > self.end => break,
                Event::Enter(it) => self.enter(time, it.region, record.attributes),
                Event::Leave(it) => {
                    self.leave(time, it.region);
                    if time > self.end {
                        break;
                    }
                }
                Event::RmaGet(it) => self.act(it.win, it.remote),
                Event::RmaPut(it) => self.act(it.win, it.remote),
                Event::RmaAtomic(it) => self.act(it.win, it.remote),
                _ => {}
            }
        }
        let open = self.stack.iter().find(|it| it.is_call).copied();
        if let Some(open) = open {
            self.add(&open, self.end);
        }
        Some(())
    }

    fn enter(&mut self, enter: u64, region: RegionRef, attributes: List<'_, Attribute>) {
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
        });
    }

    fn leave(&mut self, time: u64, region: RegionRef) {
        let open = self.stack.pop().unwrap_or_else(|| {
            let is_call = self.world.roles.layer(region).is_some();
            self.is_unsited |= is_call;
            let (site, enter) = (CallingContextRef::UNDEFINED, 0);
            Open { region, site, enter, is_call, on_itself: false, on_others: false }
        });
        // Calls inside a call are part of it.
        if open.is_call && !self.stack.iter().any(|it| it.is_call) {
            self.add(&open, time);
        }
    }

    fn act(&mut self, window: RmaWinRef, remote: Rank) {
        let context = self.world.system.window(window).map(|it| it.0);
        let context = context.and_then(|it| self.world.system.context(it));
        let target = context.and_then(|it| it.ranks.process(remote.0, self.process));
        if let Some(open) = self.stack.iter_mut().find(|it| it.is_call) {
            let itself = target == Some(self.process);
            open.on_itself |= itself;
            open.on_others |= !itself;
        }
    }

    /// Adds the part of a call that lies in the interval.
    fn add(&mut self, open: &Open, leave: u64) {
        let (from, until) = (open.enter.max(self.begin), leave.min(self.end));
        if from < until {
            let sum = self.sums.entry((open.region, open.site)).or_default();
            sum.count += 1;
            sum.nanoseconds += until - from;
            sum.on_itself += u64::from(open.on_itself && !open.on_others);
            sum.outlived += u64::from(leave.saturating_add(SOON) <= self.end);
        }
    }

    fn result(self, defs: &Definitions, sites: &Sites, of_progress: bool) -> Meanwhile {
        let in_calls: u64 = self.sums.values().map(|it| it.nanoseconds).sum();
        let mut calls: Vec<_> = self.sums.into_iter().collect();
        calls.sort_by_key(|(key, sum)| (Reverse(sum.nanoseconds), *key));
        let doing = |((region, site), sum): ((RegionRef, CallingContextRef), Sum)| {
            let traits = self.world.roles.traits(region);
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
                nanoseconds: sum.nanoseconds,
                serves,
            }
        };
        Meanwhile {
            computing: (self.end - self.begin).saturating_sub(in_calls),
            calls: calls.into_iter().take(LISTED).map(doing).collect(),
        }
    }
}
