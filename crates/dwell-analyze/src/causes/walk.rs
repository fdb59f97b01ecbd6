//! One location on its way back through its waits and releases.

use std::collections::{BTreeMap, HashMap};

use dwell_log::piece::Piece;
use dwell_log::quantity::Quantity;
use dwell_log::read::LogError;
use dwell_model::waits::Wait;
use dwell_trace::ids::LocationNumber;
use dwell_trace::time::{Duration, Time};
use dwell_trace::world::World;
use serde::{Deserialize, Serialize};

use crate::causes::activity::{Activity, Signature};
use crate::causes::history::{History, Profile};
use crate::causes::origin::{Costs, Origin};
use crate::causes::share::share;
use crate::engine::hash::Mixed;
use crate::engine::message::Message;
use crate::engine::tally::Counts;

/// Message of a location that waited to the culprit, with the costs of the wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CostMessage {
    pub(crate) culprit: LocationNumber,
    key: Key,
    /// Signature of the path of the call that waited.
    site: u64,
    /// Costs of other waits that were passed on to this one.
    passed: Costs,
    /// Time at which the two synchronised last, and what the location did from then until it waited. All waits count
    /// together.
    since: Time,
    did: Vec<(Signature, u64)>,
}

impl Message for CostMessage {}

/// Names a wait at its culprit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
struct Key {
    to: Time,
    waiter: LocationNumber,
    from: Time,
    what: Quantity,
    low: Duration,
}

impl Key {
    fn of(piece: &Piece) -> Self {
        let Piece { to, waiter, from, what, low, .. } = *piece;
        Self { to, waiter, from, what, low }
    }
}

/// Costs of an activity of a location, for waits of one origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) direct: u64,
    pub(crate) propagated: u64,
}

/// Activities of a location that others waited for.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// Costs of each activity, by the origins of the waits.
    pub(crate) costs: Vec<(Activity, Origin, Cost)>,
    /// Direct costs by which the upper bounds of waits exceed the lower ones.
    pub(crate) margins: Vec<(Activity, u64)>,
    /// Time of computing.
    pub(crate) computed: Vec<(Activity, u64)>,
    /// Counters of computing.
    pub(crate) counted: Vec<(Activity, Counts)>,
}

/// Begin of the run, and the members of contexts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) world: &'a World,
    pub(crate) begin: Time,
}

/// A location on its way back.
#[derive(Debug)]
pub(crate) struct Walker {
    history: History,
    /// Messages that have arrived, by the ends of the waits.
    received: HashMap<Time, Vec<CostMessage>, Mixed>,
    costs: HashMap<(Activity, Origin), Cost, Mixed>,
    margins: BTreeMap<Activity, u64>,
    /// Number of messages that are missing before the next releases can be settled, and the time of these releases.
    missing: usize,
    next: Time,
    /// Memory for what the location did, and for parts of costs.
    profile: Profile,
    parts: (Vec<u64>, Vec<u64>),
    /// Memory for lists of messages.
    spare: Vec<Vec<CostMessage>>,
}

/// Memory that a worker uses for one location after the other.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pieces: Vec<Piece>,
    begins: Vec<Time>,
    theirs: HashMap<Signature, u64, Mixed>,
    direct: Costs,
    passed: Costs,
}

/// Greatest number of empty lists that a location keeps.
const MOST_SPARE: usize = 4;

impl Walker {
    pub(crate) fn new(history: History) -> Self {
        Self {
            history,
            received: HashMap::default(),
            costs: HashMap::default(),
            margins: BTreeMap::new(),
            missing: 0,
            next: Time::END,
            profile: Profile::default(),
            parts: Default::default(),
            spare: Vec::new(),
        }
    }

    /// Takes a message. Returns `true` if it was the last that was missing.
    pub(crate) fn receive(&mut self, message: CostMessage) -> bool {
        let is_needed = self.missing > 0 && message.key.to == self.next;
        let spare = &mut self.spare;
        let list = self.received.entry(message.key.to);
        list.or_insert_with(|| spare.pop().unwrap_or_default()).push(message);
        self.missing -= usize::from(is_needed);
        is_needed && self.missing == 0
    }

    /// Returns `true` if messages are missing.
    pub(crate) fn is_stopped(&self) -> bool {
        self.missing > 0
    }

    /// Returns the activities of the location that others waited for.
    pub(crate) fn finish(self) -> Result<Done, LogError> {
        let costs =
            self.costs.into_iter().map(|((activity, origin), cost)| (activity, origin, cost));
        let mut costs: Vec<(Activity, Origin, Cost)> = costs.collect();
        costs.sort_unstable_by_key(|it| (it.0, it.1));
        let margins = self.margins.into_iter().collect();
        Ok(Done { costs, margins, computed: self.history.finish()?, counted: Vec::new() })
    }

    /// Settles all waits and releases from the last one to a time, as far as messages have arrived. `send` is called for
    /// each wait.
    pub(crate) fn go(
        &mut self,
        scene: Scene<'_>,
        until: Time,
        workspace: &mut Workspace,
        send: &mut impl FnMut(CostMessage),
    ) -> Result<(), LogError> {
        loop {
            self.history.read_waits(Time::END)?;
            self.history.read_releases(Time::END)?;
            let wait = self.history.own.front().map(|it| it.piece.to);
            let release = self.history.released.front().map(|it| it.to);
            let Some(next) = wait.max(release).filter(|it| *it >= until) else { return Ok(()) };
            // Costs that a release passes on go to waits that ended before it.
            if wait == Some(next) {
                self.wait(scene)?.into_iter().for_each(&mut *send);
            } else if !self.release(next, workspace)? {
                return Ok(());
            }
        }
    }

    /// Takes the last wait that is left, whose cost is known now, and returns the message to the culprit.
    fn wait(&mut self, scene: Scene<'_>) -> Result<Option<CostMessage>, LogError> {
        let Some(waiting) = self.history.own.pop_front() else { return Ok(None) };
        let piece = waiting.piece;
        if piece.middle() == Duration::ZERO {
            return Ok(None);
        }
        let site = self.history.path_at(piece.from)?;
        let site = self.history.paths.of_path(site);
        let (mut since, mut did) = (piece.from, Vec::new());
        if !is_of_interval(piece.what) {
            since = self.synchronised(scene, &piece)?;
            self.profile.clear();
            let span = (since, piece.from);
            self.history.add_to(&mut self.profile, span, 1, |it| it.to <= piece.from)?;
            did = self.signed();
        }
        self.history.forget(piece.to);
        let (culprit, key, passed) = (piece.culprit, Key::of(&piece), waiting.passed);
        Ok(Some(CostMessage { culprit, key, site, passed, since, did }))
    }

    /// Returns the time of each activity by its signature, and of all waits.
    fn signed(&self) -> Vec<(Signature, u64)> {
        let (paths, profile) = (&self.history.paths, &self.profile);
        let times = profile.times.iter().map(|it| (paths.signature(it.0), it.1));
        let waits = profile.waiting();
        times.chain((waits > 0).then_some((Signature::WAITING, waits))).collect()
    }

    /// Returns the time at which the processes of a waiting location and of its culprit synchronised last before the wait.
    fn synchronised(&mut self, scene: Scene<'_>, piece: &Piece) -> Result<Time, LogError> {
        let Piece { waiter, culprit, from, among, .. } = *piece;
        let of = |location| scene.world.process(location);
        let (me, process) = (of(waiter), of(culprit));
        let is_common = |it: &Piece| {
            let (waiter, culprit) = (of(it.waiter), of(it.culprit));
            let is_between =
                (waiter, culprit) == (me, process) || (waiter, culprit) == (process, me);
            let has_both = || {
                let context = it.among.and_then(|context| scene.world.system.context(context));
                context.is_some_and(|context| context.contains(process))
            };
            is_between || it.among.is_some() && it.among == among || has_both()
        };
        let counts = |it: &Piece| it.to <= from && is_common(it) && !is_of_interval(it.what);
        let last = self.history.last(from, counts)?;
        Ok(self.history.bounded(last, from, scene.begin)?.min(from))
    }

    /// Settles all releases at a time, which are the last that are left. Returns `false` if messages are missing.
    fn release(&mut self, at: Time, workspace: &mut Workspace) -> Result<bool, LogError> {
        self.history.read_releases(Time(at.0.saturating_sub(1)))?;
        let released = &self.history.released;
        let same = released.iter().position(|it| it.to < at).unwrap_or(released.len());
        let counts = |it: &&Piece| it.middle() > Duration::ZERO;
        let needed = released.iter().take(same).filter(counts).count();
        let known = if needed == 0 { 0 } else { self.received.get(&at).map_or(0, Vec::len) };
        (self.missing, self.next) = (needed.saturating_sub(known), at);
        if self.missing > 0 {
            return Ok(false);
        }
        let mut messages = match needed {
            0 => Vec::new(),
            _ => self.received.remove(&at).unwrap_or_default(),
        };
        let mut pieces = std::mem::take(&mut workspace.pieces);
        pieces.clear();
        pieces.extend(self.history.released.drain(..same));
        for piece in pieces.iter().filter(|it| it.high > it.low) {
            self.margin(piece)?;
        }
        // A message has arrived for every wait that may be longer than 0, in any order.
        pieces.retain(|it| it.middle() > Duration::ZERO);
        pieces.sort_unstable_by_key(Key::of);
        messages.sort_unstable_by_key(|it| it.key);
        // Waits in one collective are settled together, all others apart.
        let mut kinds: Vec<Quantity> = Vec::new();
        for (piece, message) in pieces.iter().zip(&messages) {
            if is_of_interval(piece.what) {
                self.settle_interval(piece, message)?;
            } else if piece.among.is_none() {
                self.settle_stretch(at, std::iter::once((piece, message)), workspace)?;
            } else if !kinds.contains(&piece.what) {
                kinds.push(piece.what);
            }
        }
        kinds.sort_unstable();
        for kind in kinds {
            let group = pieces.iter().zip(&messages);
            let group = group.filter(|(it, _)| it.what == kind && it.among.is_some());
            self.settle_stretch(at, group, workspace)?;
        }
        workspace.pieces = pieces;
        if messages.capacity() > 0 && self.spare.len() < MOST_SPARE {
            messages.clear();
            self.spare.push(messages);
        }
        self.history.forget(at);
        Ok(true)
    }

    /// Books by how much a wait may be longer or shorter than the middle of its bounds on what the location did meanwhile.
    fn margin(&mut self, piece: &Piece) -> Result<(), LogError> {
        self.profile.clear();
        self.history.add_to(&mut self.profile, (piece.from, piece.to), 1, |_| false)?;
        self.profile.sort();
        let margin = (piece.high - piece.middle()).0;
        let times = &self.profile.times;
        let parts = &mut self.parts.0;
        share(margin, times.iter().map(|it| it.1), parts);
        for ((activity, _), part) in times.iter().zip(parts) {
            *self.margins.entry(*activity).or_default() += *part;
        }
        Ok(())
    }

    /// Splits the cost of a wait over what the location did during it.
    fn settle_interval(&mut self, piece: &Piece, message: &CostMessage) -> Result<(), LogError> {
        self.profile.clear();
        let span = (piece.from, piece.to);
        self.history.add_to(&mut self.profile, span, 1, |it| it.to < piece.to)?;
        let origin = Origin { site: message.site, what: piece.what };
        let waiting = self.profile.waiting();
        self.book(&[(origin, piece.middle().0)], message.passed.list(), waiting);
        Ok(())
    }

    /// Splits the cost of waits that ended together over what the location did more than those that waited.
    fn settle_stretch<'a>(
        &mut self,
        at: Time,
        group: impl Iterator<Item = (&'a Piece, &'a CostMessage)>,
        workspace: &mut Workspace,
    ) -> Result<(), LogError> {
        let Workspace { begins, theirs, direct, passed, .. } = workspace;
        begins.clear();
        theirs.clear();
        direct.clear();
        passed.clear();
        for (piece, message) in group {
            begins.push(message.since);
            for (signature, time) in &message.did {
                *theirs.entry(*signature).or_default() += time;
            }
            direct.add(Origin { site: message.site, what: piece.what }, piece.middle().0);
            message.passed.iter().for_each(|(origin, amount)| passed.add(origin, amount));
        }
        self.profile.clear();
        begins.sort_unstable();
        for same in begins.chunk_by(|a, b| a == b) {
            let (since, times) = (same.first().copied().unwrap_or(at), same.len() as u64);
            self.history.add_to(&mut self.profile, (since, at), times, |it| it.to < at)?;
        }
        let more = |signature, time: u64| {
            time.saturating_sub(theirs.get(&signature).copied().unwrap_or(0))
        };
        for (activity, time) in &mut self.profile.times {
            *time = more(self.history.paths.signature(*activity), *time);
        }
        let waiting = more(Signature::WAITING, self.profile.waiting());
        self.book(direct.list(), passed.list(), waiting);
        Ok(())
    }

    /// Books costs in proportion to the times of activities, and of waiting. The part of waiting is passed on to the
    /// waits, in proportion to their times.
    fn book(&mut self, direct: &[(Origin, u64)], passed: &[(Origin, u64)], waiting: u64) {
        self.profile.sort();
        let Profile { times: weights, waits } = &mut self.profile;
        // Where the archive lacks what the location did, it did something unknown.
        if waiting == 0 && weights.iter().all(|it| it.1 == 0) {
            weights.push((Activity::UNKNOWN, 1));
        }
        let (parts, further) = &mut self.parts;
        let costs = direct.iter().map(|it| (*it, true)).chain(passed.iter().map(|it| (*it, false)));
        for ((origin, amount), is_direct) in costs {
            share(amount, weights.iter().map(|it| it.1).chain([waiting]), parts);
            for ((activity, _), part) in weights.iter().zip(&*parts).filter(|it| *it.1 > 0) {
                let cost = self.costs.entry((*activity, origin)).or_default();
                *(if is_direct { &mut cost.direct } else { &mut cost.propagated }) += part;
            }
            let Some(&on) = parts.last().filter(|it| **it > 0) else { continue };
            share(on, waits.iter().map(|it| it.1), further);
            for ((place, _), part) in waits.iter().zip(&*further).filter(|it| *it.1 > 0) {
                if let Some(waiting) = self.history.own.get_mut(*place) {
                    waiting.passed.add(origin, *part);
                }
            }
        }
    }
}

/// Returns `true` if the cost of a wait is split over what the culprit did meanwhile: the other side takes no part in
/// what ends the wait.
fn is_of_interval(what: Quantity) -> bool {
    what.is_for_progress() || what == Quantity::Wait(Wait::LockContention)
}
