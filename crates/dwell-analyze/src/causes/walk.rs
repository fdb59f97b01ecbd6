//! One location on its way back through its waits and releases.

use std::collections::{BTreeMap, HashMap};

use dwell_model::waits::Wait;
use serde::{Deserialize, Serialize};

use crate::archive::ids::LocationNumber;
use crate::archive::time::{Duration, Time};
use crate::archive::world::World;
use crate::causes::activity::{Activity, Signature};
use crate::causes::history::{History, Profile};
use crate::causes::share::shares;
use crate::engine::hash::Mixed;
use crate::engine::log::read::{LogError, Piece};
use crate::engine::paths::Path;
use crate::engine::quantity::Quantity;
use crate::engine::transport::Message;

/// What a location that waited tells the culprit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) culprit: LocationNumber,
    key: Key,
    propagated: Duration,
    /// Signature of the path of the call that waited.
    site: u64,
    /// Time at which the two synchronised last, and what the location did from then until it waited. All waits count
    /// together.
    since: Time,
    did: Vec<(Signature, u64)>,
}

impl Message for Told {}

/// Names a wait at its culprit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
struct Key {
    to: Time,
    waiter: LocationNumber,
    from: Time,
    what: Quantity,
}

impl Key {
    fn of(piece: &Piece) -> Self {
        let Piece { to, waiter, from, what, .. } = *piece;
        Self { to, waiter, from, what }
    }
}

/// Costs of an activity of a location.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) direct: u64,
    pub(crate) propagated: u64,
    /// Direct cost by which the upper bounds of waits exceed the lower ones.
    pub(crate) margin: u64,
}

/// Begin of the run, and who belongs to which context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) world: &'a World,
    pub(crate) begin: Time,
}

/// Reason for which a location stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Everything after the given time is settled.
    Reached,
    /// Another location has to tell something first.
    Missing,
}

/// A location on its way back.
#[derive(Debug)]
pub(crate) struct Walker {
    history: History,
    /// What others have told.
    told: HashMap<Key, Vec<Told>, Mixed>,
    pub(crate) costs: BTreeMap<Activity, Cost>,
    pub(crate) last: Stop,
}

impl Walker {
    pub(crate) fn new(history: History) -> Self {
        Self { history, told: HashMap::default(), costs: BTreeMap::new(), last: Stop::Reached }
    }

    /// Takes what another location tells.
    pub(crate) fn hear(&mut self, told: Told) {
        self.told.entry(told.key).or_default().push(told);
    }

    /// Settles all waits and releases from the last one to a time, as far as what others tell has arrived. `tell` is
    /// called for each wait.
    pub(crate) fn go(
        &mut self,
        scene: Scene<'_>,
        until: Time,
        tell: &mut impl FnMut(Told),
    ) -> Result<(), LogError> {
        self.last = loop {
            self.history.read_waits(Time::END)?;
            self.history.read_releases(Time::END)?;
            let wait = self.history.own.front().map(|it| it.piece.to);
            let release = self.history.released.front().map(|it| it.to);
            let Some(next) = wait.max(release).filter(|it| *it >= until) else {
                break Stop::Reached;
            };
            // What a release passes on goes to waits that ended before it.
            if wait == Some(next) {
                if let Some(told) = self.wait(scene)? {
                    tell(told);
                }
            } else if !self.release(next)? {
                break Stop::Missing;
            }
        };
        Ok(())
    }

    /// Takes the last wait that is left, whose cost is known now, and returns what the culprit has to be told.
    fn wait(&mut self, scene: Scene<'_>) -> Result<Option<Told>, LogError> {
        let Some(waiting) = self.history.own.pop_front() else { return Ok(None) };
        let piece = waiting.piece;
        if piece.low == Duration::ZERO {
            return Ok(None);
        }
        let site = self.history.at(piece.from)?.map_or(Path::TOP, |it| it.path);
        let site = self.history.paths.of_path(site);
        let (mut since, mut did) = (piece.from, Vec::new());
        if !is_of_interval(piece.what) {
            since = self.synchronised(scene, &piece)?;
            let mut profile = Profile::default();
            let span = (since, piece.from);
            self.history.add_to(&mut profile, span, 1, |it| it.to <= piece.from)?;
            did = self.signed(&profile);
        }
        self.history.forget(piece.to);
        let (culprit, key, propagated) = (piece.culprit, Key::of(&piece), waiting.propagated);
        Ok(Some(Told { culprit, key, propagated, site, since, did }))
    }

    /// Returns the time of each activity by its signature, and of all waits.
    fn signed(&self, profile: &Profile) -> Vec<(Signature, u64)> {
        let paths = &self.history.paths;
        let times =
            profile.times.iter().map(|(activity, time)| (paths.signature(*activity), *time));
        let waits: u64 = profile.waits.values().sum();
        times.chain((waits > 0).then_some((Signature::WAITING, waits))).collect()
    }

    /// Returns the time at which a waiting location and its culprit synchronised last before the wait.
    fn synchronised(&mut self, scene: Scene<'_>, piece: &Piece) -> Result<Time, LogError> {
        let Piece { waiter, culprit, from, among, .. } = *piece;
        let bound = self.history.bound(from, scene.begin)?;
        self.history.read_waits(bound)?;
        self.history.read_releases(bound)?;
        let process = scene.world.process(culprit);
        let is_common = |it: &Piece| {
            let is_between = it.waiter == waiter && it.culprit == culprit
                || it.waiter == culprit && it.culprit == waiter;
            let has_both = || {
                let context = it.among.and_then(|context| scene.world.system.context(context));
                context.is_some_and(|context| context.contains(process))
            };
            is_between || it.among.is_some() && it.among == among || has_both()
        };
        let counts = |it: &&Piece| it.to <= from && !is_of_interval(it.what) && is_common(it);
        let waits = self.history.own.iter().map(|it| &it.piece);
        let wait = waits.take_while(|it| it.to > bound).find(counts);
        let releases = self.history.released.iter();
        let release = releases.take_while(|it| it.to > bound).find(counts);
        let last = wait.map(|it| it.to).max(release.map(|it| it.to));
        Ok(last.unwrap_or(bound).min(from))
    }

    /// Settles all releases at a time, which are the last that are left. Returns `false` if something was not told yet.
    fn release(&mut self, at: Time) -> Result<bool, LogError> {
        self.history.read_releases(Time(at.0.saturating_sub(1)))?;
        let same = self.history.released.partition_point(|it| it.to >= at);
        let mut needed: BTreeMap<Key, usize> = BTreeMap::new();
        let certain = |it: &&Piece| it.low > Duration::ZERO;
        for piece in self.history.released.range(..same).filter(certain) {
            *needed.entry(Key::of(piece)).or_default() += 1;
        }
        let has = |(key, count): (&Key, &usize)| {
            self.told.get(key).is_some_and(|list| list.len() == *count)
        };
        if !needed.iter().all(has) {
            return Ok(false);
        }
        let pieces: Vec<Piece> = self.history.released.drain(..same).collect();
        for piece in pieces.iter().filter(|it| it.high > it.low) {
            self.margin(piece)?;
        }
        // Waits in one collective are settled together, all others apart.
        let mut groups: BTreeMap<_, Vec<(Piece, Told)>> = BTreeMap::new();
        for piece in pieces.into_iter().filter(|it| it.low > Duration::ZERO) {
            let key = Key::of(&piece);
            let Some(told) = self.told.get_mut(&key).and_then(Vec::pop) else { continue };
            let apart = piece.among.is_none().then_some(key);
            let group = (piece.what, piece.among.is_some(), apart);
            groups.entry(group).or_default().push((piece, told));
        }
        needed.keys().for_each(|key| drop(self.told.remove(key)));
        for ((what, ..), group) in groups {
            match is_of_interval(what) {
                true => self.settle_interval(&group)?,
                false => self.settle_stretch(at, &group)?,
            }
        }
        self.history.forget(at);
        Ok(true)
    }

    /// Books the margin between the bounds of a wait on what the location did meanwhile.
    fn margin(&mut self, piece: &Piece) -> Result<(), LogError> {
        let mut profile = Profile::default();
        self.history.add_to(&mut profile, (piece.from, piece.to), 1, |_| false)?;
        let margin = (piece.high - piece.low).0;
        let parts = shares(margin, profile.times.values().copied());
        for (activity, part) in profile.times.keys().zip(parts) {
            self.costs.entry(*activity).or_default().margin += part;
        }
        Ok(())
    }

    /// Splits the cost of waits over what the location did during each of them.
    fn settle_interval(&mut self, group: &[(Piece, Told)]) -> Result<(), LogError> {
        for (piece, told) in group {
            let mut profile = Profile::default();
            let span = (piece.from, piece.to);
            self.history.add_to(&mut profile, span, 1, |it| it.to < piece.to)?;
            let weights: Vec<(Activity, u64)> = profile.times.into_iter().collect();
            let waiting = profile.waits.values().sum();
            self.book((piece.low, told.propagated), &weights, waiting, &profile.waits);
        }
        Ok(())
    }

    /// Splits the cost of waits that ended together over what the location did more than those that waited.
    fn settle_stretch(&mut self, at: Time, group: &[(Piece, Told)]) -> Result<(), LogError> {
        let mut begins: BTreeMap<Time, u64> = BTreeMap::new();
        let mut theirs: HashMap<Signature, u64, Mixed> = HashMap::default();
        let mut sum = (Duration::ZERO, Duration::ZERO);
        for (piece, told) in group {
            *begins.entry(told.since).or_default() += 1;
            for (signature, time) in &told.did {
                *theirs.entry(*signature).or_default() += time;
            }
            sum = (sum.0 + piece.low, sum.1 + told.propagated);
        }
        let mut profile = Profile::default();
        for (since, times) in begins {
            self.history.add_to(&mut profile, (since, at), times, |it| it.to < at)?;
        }
        let more = |signature, time: u64| {
            time.saturating_sub(theirs.get(&signature).copied().unwrap_or(0))
        };
        let paths = &self.history.paths;
        let of = |(activity, time)| (activity, more(paths.signature(activity), time));
        let weights: Vec<(Activity, u64)> = profile.times.into_iter().map(of).collect();
        let waiting = more(Signature::WAITING, profile.waits.values().sum());
        self.book(sum, &weights, waiting, &profile.waits);
        Ok(())
    }

    /// Books a cost in proportion to weights. What falls to waiting is passed on to these waits, in proportion to their
    /// times.
    fn book(
        &mut self,
        (direct, propagated): (Duration, Duration),
        weights: &[(Activity, u64)],
        waiting: u64,
        waits: &BTreeMap<usize, u64>,
    ) {
        // Where the archive lacks what the location did, it did something unknown.
        let is_known = waiting > 0 || weights.iter().any(|it| it.1 > 0);
        let unknown = [(Activity::UNKNOWN, 1)];
        let weights = if is_known { weights } else { &unknown };
        let all = weights.iter().map(|it| it.1).chain([waiting]);
        let split = |amount: Duration| shares(amount.0, all.clone());
        let (direct, propagated) = (split(direct), split(propagated));
        for ((activity, weight), (direct, propagated)) in
            weights.iter().zip(direct.iter().zip(&propagated))
        {
            if *weight > 0 {
                let cost = self.costs.entry(*activity).or_default();
                cost.direct += direct;
                cost.propagated += propagated;
            }
        }
        let passed = [direct, propagated].iter().filter_map(|it| it.last()).sum();
        for (place, part) in waits.keys().zip(shares(passed, waits.values().copied())) {
            if let Some(waiting) = self.history.own.get_mut(*place) {
                waiting.propagated += Duration(part);
            }
        }
    }
}

/// Returns `true` if the cost of a wait is split over what the culprit did meanwhile: the other side takes no part in
/// what ends the wait.
fn is_of_interval(what: Quantity) -> bool {
    what.is_for_progress() || what == Quantity::Wait(Wait::LockContention)
}
