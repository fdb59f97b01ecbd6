//! Calls that outlast the arrival of all their targets.
//!
//! A target that waits in a completing call of its own takes data at once, but acknowledges them only when its own
//! operations go on. So a call can be held by a process that it has no operation on: the targets of its targets, and so
//! on. These are its *chain*. If the call ended right after a process of the chain had come back from elsewhere, it
//! waited for that process.
//!
//! | | |
//! |---|---|
//! | asks | the members of the chain, one generation in each window: whom did you wait for meanwhile, and when did you come? |
//! | answers | from the member's completing calls and its regions |
//! | books | at the origin, as a wait for progress of several |

use std::collections::{BTreeSet, VecDeque};

use dwell_log::class::Class;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::roles::Traits;
use dwell_trace::time::{Duration, Time};
use dwell_trace::world::World;
use serde::{Deserialize, Serialize};

use crate::engine::accounts::Account;
use crate::engine::message::{Message, Outbox};
use crate::engine::outstanding::LONGEST_MESSAGE;
use crate::engine::process::Process;
use crate::engine::regions::Span;
use crate::patterns::progress::answers::{aligned, request};
use crate::protocol::progress_wait::Waited;

/// Shortest time after the arrival of all targets for which somebody else is looked for.
pub(super) const HELD: Duration = Duration(200_000);
/// Greatest number of processes in a chain. Those nearest to the call come first.
const MOST_MEMBERS: usize = 64;

/// Asks a member of a chain.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Hold {
    pub(super) process: ProcessNumber,
    chain: u32,
    pub(super) member: ProcessNumber,
    /// The call that is held.
    when: Span,
}

impl Message for Hold {}

impl Hold {
    /// Returns the time since which facts about the member must be kept.
    pub(super) fn since(&self) -> Time {
        self.when.begin
    }
}

/// Says that a member of a chain waited for a process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Link {
    pub(super) process: ProcessNumber,
    chain: u32,
    to: ProcessNumber,
}

impl Message for Link {}

/// Says when a member of a chain came back after its longest absence. It follows all links of the member.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Came {
    pub(super) process: ProcessNumber,
    chain: u32,
    member: ProcessNumber,
    /// The location that came back, and the absence, or [`Span::NONE`].
    location: LocationNumber,
    away: Span,
}

impl Message for Came {}

/// Long calls of a process that completed operations, with the targets of these.
#[derive(Debug, Default)]
pub(super) struct Completing {
    list: VecDeque<(Span, Box<[ProcessNumber]>)>,
}

impl Completing {
    /// Keeps a call if it is long enough to hold others.
    pub(super) fn add(&mut self, when: Span, targets: impl Iterator<Item = ProcessNumber>) {
        if when.length() >= HELD {
            self.list.push_back((when, targets.collect()));
        }
    }

    /// Forgets calls that ended before a time.
    pub(super) fn forget(&mut self, floor: Time) {
        // Threads end their calls in the order of time.
        while self.list.pop_front_if(|it| it.0.end < floor).is_some() {}
    }

    /// Returns the processes that the process waited for during a call of another one.
    fn targets(&self, when: Span) -> BTreeSet<ProcessNumber> {
        let meanwhile = |it: &&(Span, _)| it.0.begin < when.end && it.0.end > when.begin;
        self.list.iter().filter(meanwhile).flat_map(|it| it.1.iter().copied()).collect()
    }
}

/// A call that outlasted the arrival of its targets.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldCall {
    pub(super) location: LocationNumber,
    pub(super) account: Account,
    pub(super) class: Class,
    pub(super) when: Span,
    /// Time at which the last target came.
    pub(super) since: Time,
    /// Time of the call that is not a wait for its targets.
    pub(super) left: Duration,
    /// True if it had waited for them.
    pub(super) goes_on: bool,
}

/// Chain of a call, as far as it is known.
#[derive(Debug)]
struct Chain {
    call: HeldCall,
    /// The process of the call, and all that were asked.
    members: BTreeSet<ProcessNumber>,
    /// Processes that those asked last waited for.
    next: BTreeSet<ProcessNumber>,
    /// Number of members that have not answered, and whether these are the targets of the call. When a target came again
    /// is known without the chain: it is part of the upper bound.
    missing: usize,
    of_targets: bool,
    arrivals: Vec<Arrival>,
}

/// Return of a member to its runtime.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    process: ProcessNumber,
    location: LocationNumber,
    away: Span,
}

impl Chain {
    /// Asks the next generation. Returns `false` if there is none.
    fn ask(&mut self, (process, chain): (ProcessNumber, u32), out: &mut Vec<Hold>) -> bool {
        let room = (1 + MOST_MEMBERS).saturating_sub(self.members.len());
        let next = std::mem::take(&mut self.next);
        let new: Vec<_> = next.difference(&self.members).copied().take(room).collect();
        self.missing = new.len();
        let when = self.call.when;
        out.extend(new.iter().map(|&member| Hold { process, chain, member, when }));
        self.members.extend(new);
        self.missing > 0
    }

    fn learn(&mut self, came: &Came) {
        let Came { member: process, location, away, .. } = *came;
        self.missing = self.missing.saturating_sub(1);
        if !self.of_targets && away.end > self.call.since && away != Span::NONE {
            self.arrivals.push(Arrival { process, location, away });
        }
    }

    /// Returns the wait for the last member that came back right before the end of the call, unless chance explains that:
    /// one of many is likely to come at any time.
    fn conclude(self) -> Option<Waited> {
        let HeldCall { location, account, class, when, since: enter, left, goes_on } = self.call;
        let others = self.members.len() as u64 - 1;
        let unlikely = |it: &Arrival| {
            let Duration(late) = when.end - it.away.end;
            aligned(Duration(late.saturating_mul(others)), it.away.length())
        };
        let candidates = self.arrivals.iter().filter(|it| unlikely(it) > 0);
        let last = candidates.max_by_key(|it| (it.away.end, it.process))?;
        let Arrival { process: target, location: culprit, away } = *last;
        let (until, aligned) = (away.end, unlikely(last));
        let high = (until - enter).min(left);
        let (low, multi) = (high, true);
        (high > Duration::ZERO).then_some(Waited {
            location,
            account,
            target,
            class,
            enter,
            until,
            culprit,
            low,
            high,
            left,
            aligned,
            multi,
            goes_on,
        })
    }
}

/// Chains of the calls of a process, by number.
#[derive(Debug, Default)]
pub(super) struct Chains {
    list: Vec<Option<Chain>>,
}

impl Chains {
    /// Begins to follow the chain of a call.
    pub(super) fn begin(
        &mut self,
        process: ProcessNumber,
        call: HeldCall,
        targets: BTreeSet<ProcessNumber>,
        out: &mut Vec<Hold>,
    ) {
        let members = BTreeSet::from([process]);
        let mut chain = Chain {
            call,
            members,
            next: targets,
            missing: 0,
            of_targets: true,
            arrivals: Vec::new(),
        };
        let free = self.list.iter().position(Option::is_none);
        let number = free.unwrap_or(self.list.len());
        if chain.ask((process, number as u32), out) {
            match self.list.get_mut(number) {
                Some(place) => *place = Some(chain),
                None => self.list.push(Some(chain)),
            }
        }
    }

    /// Returns the time since which facts about others must be kept.
    pub(super) fn since(&self) -> Time {
        self.list.iter().flatten().map(|it| it.call.when.begin).min().unwrap_or(Time::END)
    }

    pub(super) fn learn_link(&mut self, link: &Link) {
        if let Some(Some(chain)) = self.list.get_mut(link.chain as usize) {
            chain.next.insert(link.to);
        }
    }

    /// Records when a member came. The last answer yields the wait, if there is one.
    pub(super) fn learn(&mut self, came: &Came, out: &mut Vec<Hold>) -> Option<Waited> {
        let place = self.list.get_mut(came.chain as usize)?;
        let chain = place.as_mut()?;
        chain.learn(came);
        if chain.missing > 0 {
            return None;
        }
        chain.of_targets = false;
        if chain.ask((came.process, came.chain), out) {
            return None;
        }
        place.take()?.conclude()
    }
}

/// Answers a question to a member of a chain. Returns `false` if it has to wait for more events.
pub(super) fn answer_hold(
    world: &World,
    process: &Process,
    completing: Option<&Completing>,
    hold: &Hold,
    horizon: Time,
    (links, came): (&mut Outbox<Link>, &mut Outbox<Came>),
) -> bool {
    let Hold { process: origin, chain, member, when } = *hold;
    // Whom an open call waits for is known when it ends.
    let open =
        process.locations.iter().flat_map(|it| &it.stack).any(|frame| {
            frame.judged && frame.traits.has(Traits::COMPLETES) && frame.enter < when.end
        });
    if open && horizon < when.end.later_by(LONGEST_MESSAGE) {
        return false;
    }
    let request = request(world, (origin, member), when.begin, when);
    if process.certain.visits(None, request, horizon).is_none() {
        return false;
    }
    let gaps = process.certain.gaps(None, request, when.end.earlier_by(Duration(1)));
    let known = !process.is_blind(when.begin, when.end, when.end);
    let longest = gaps.max_by_key(|it| (it.length(), it.end)).filter(|_| known);
    let away = longest.unwrap_or(Span::NONE);
    for to in completing.map(|it| it.targets(when)).unwrap_or_default() {
        links.send(origin, Link { process: origin, chain, to });
    }
    let location = process.entered_at(away.end);
    came.send(origin, Came { process: origin, chain, member, location, away });
    true
}
