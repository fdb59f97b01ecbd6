//! Activities and waits of a location, read from the dependency log with the last first.
//!
//! The log is read as far back as a query needs. Records after the time back to which the location has been settled are
//! dropped.

use std::collections::{HashMap, VecDeque};

use dwell_log::piece::Piece;
use dwell_log::read::{LocationLog, LogError, Segment};
use dwell_trace::ids::LocationNumber;
use dwell_trace::time::Time;

use crate::causes::activity::{Activity, KnownPaths, Stretch};
use crate::causes::origin::Costs;
use crate::causes::reader::Reader;
use crate::causes::{MOST_COMPUTING, MOST_STRETCHES};
use crate::engine::hash::Mixed;
use crate::engine::paths::Path;

/// A wait, with the costs of later waits that were passed on to it, by their origins.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) piece: Piece,
    pub(crate) passed: Costs,
}

/// Activities of a location from one time to another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Profile {
    /// Time of each activity.
    pub(crate) times: Vec<(Activity, u64)>,
    /// Time in each wait, by its place among those that are not settled.
    pub(crate) waits: Vec<(usize, u64)>,
}

impl Profile {
    /// Adds time to an activity. Loops repeat the same few activities.
    fn add(&mut self, activity: Activity, time: u64) {
        match self.times.iter_mut().find(|it| it.0 == activity) {
            Some(it) => it.1 += time,
            None => self.times.push((activity, time)),
        }
    }

    /// Forgets everything, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.times.clear();
        self.waits.clear();
    }

    /// Sorts activities and waits, each of which is there once afterwards.
    pub(crate) fn sort(&mut self) {
        self.times.sort_unstable();
        // Several begins list the same waits.
        if !self.waits.is_sorted_by(|a, b| a.0 < b.0) {
            self.waits.sort_unstable();
            self.waits.dedup_by(|more, sum| {
                let is_same = more.0 == sum.0;
                sum.1 += if is_same { more.1 } else { 0 };
                is_same
            });
        }
    }

    /// Returns the time in all waits.
    pub(crate) fn waiting(&self) -> u64 {
        self.waits.iter().map(|it| it.1).sum()
    }
}

/// Number of waits that are read at once to find the last synchronisation.
const NEAR: usize = 16;

/// Waits and releases of the first thread of a process, for its other threads.
struct FirstThread([(Reader<Piece>, VecDeque<Piece>); 2]);

impl FirstThread {
    /// Returns the end of the last wait or release before a time for which `counts` holds, if it is among the last
    /// [`MOST_STRETCHES`]. Times must not increase from call to call.
    fn last(
        &mut self,
        from: Time,
        counts: impl Fn(&Piece) -> bool,
    ) -> Result<Option<Time>, LogError> {
        let mut last = None;
        for (records, known) in &mut self.0 {
            while known.pop_front_if(|it| it.to > from).is_some() {}
            while known.len() < MOST_STRETCHES
                && let Some(piece) = records.next()?
            {
                known.extend((piece.to <= from).then_some(piece));
            }
            last = last.max(known.iter().find(|it| counts(it)).map(|it| it.to));
        }
        Ok(last)
    }
}

/// Activities and waits of a location.
pub(crate) struct History {
    number: LocationNumber,
    /// First thread of the process, if this is another one.
    first_thread: Option<FirstThread>,
    /// First event of the location.
    first: Time,
    pub(crate) paths: KnownPaths,
    segments: Reader<Segment>,
    /// Stretches that have been read, the last first.
    stretches: VecDeque<Stretch>,
    /// Earlier stretches of computing whose call before is not known yet, the last first, and the call after them.
    computing: Vec<Stretch>,
    after: Path,
    waits: Reader<Piece>,
    releases: Reader<Piece>,
    /// Waits and releases that are not settled and have been read, the last first.
    pub(crate) own: VecDeque<Waiting>,
    pub(crate) released: VecDeque<Piece>,
    /// Time of computing so far, by activity.
    computed: Computed,
    /// Memory for begins and ends of waits.
    spans: Vec<(Time, Time)>,
}

/// Sums of time by activity.
#[derive(Debug, Default)]
struct Computed {
    list: Vec<(Activity, u64)>,
    places: HashMap<Activity, usize, Mixed>,
    /// Place of the activity that came next when the last one was new. Loops repeat activities in the same order.
    next: usize,
}

impl Computed {
    /// Adds a stretch to the time of its activity.
    #[inline]
    fn add(&mut self, it: &Stretch) {
        let time = it.end.since(it.begin).0;
        match self.list.get_mut(self.next) {
            Some(sum) if sum.0 == it.activity => {
                sum.1 += time;
                self.next += 1;
            }
            _ => self.look_up(it.activity, time),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, activity: Activity, time: u64) {
        let place = *self.places.entry(activity).or_insert(self.list.len());
        match self.list.get_mut(place) {
            Some(sum) => sum.1 += time,
            None => self.list.push((activity, time)),
        }
        self.next = place + 1;
    }
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History").field("number", &self.number).finish_non_exhaustive()
    }
}

impl History {
    pub(crate) fn new(
        log: &LocationLog,
        first_thread: Option<&LocationLog>,
        first: Time,
        paths: KnownPaths,
    ) -> Self {
        let both = |log: &LocationLog| {
            let (waits, releases) = (log.wait_records(), log.release_records());
            [(Reader::new(waits), VecDeque::new()), (Reader::new(releases), VecDeque::new())]
        };
        Self {
            number: log.number(),
            first_thread: first_thread.map(|log| FirstThread(both(log))),
            first,
            paths,
            segments: Reader::new(log.segment_records()),
            stretches: VecDeque::new(),
            computing: Vec::new(),
            after: Path::TOP,
            waits: Reader::new(log.wait_records()),
            releases: Reader::new(log.release_records()),
            own: VecDeque::new(),
            released: VecDeque::new(),
            computed: Computed::default(),
            spans: Vec::new(),
        }
    }

    /// Reads waits until one ends at or before a time.
    pub(crate) fn read_waits(&mut self, until: Time) -> Result<(), LogError> {
        while self.own.back().is_none_or(|it| it.piece.to > until) {
            let Some(piece) = self.waits.next()? else { break };
            self.own.push_back(Waiting { piece, passed: Costs::default() });
        }
        Ok(())
    }

    /// Reads releases until one is at or before a time.
    pub(crate) fn read_releases(&mut self, until: Time) -> Result<(), LogError> {
        while self.released.back().is_none_or(|it| it.to > until) {
            let Some(piece) = self.releases.next()? else { break };
            self.released.push_back(piece);
        }
        Ok(())
    }

    /// Forgets stretches that begin at or after a time.
    pub(crate) fn forget(&mut self, from: Time) {
        while self.stretches.pop_front_if(|it| it.begin >= from).is_some() {}
    }

    /// Reads further stretches. Returns `false` if there are none.
    fn read_more(&mut self) -> Result<bool, LogError> {
        loop {
            let segment = self.segments.next()?;
            let call = segment.filter(|it| self.paths.is_call(Path(it.path as u32)));
            match (segment, call) {
                (Some(Segment { begin, end, path }), None) => {
                    let path = Path(path as u32);
                    let activity = Activity { path, before: Path::TOP, after: self.after };
                    self.computing.push(Stretch { begin, end, activity });
                    if self.computing.len() >= MOST_COMPUTING {
                        self.computing.iter().for_each(|it| self.computed.add(it));
                        self.stretches.extend(self.computing.drain(..));
                        return Ok(true);
                    }
                }
                (_, call) => {
                    let path = call.map(|it| Path(it.path as u32));
                    let before = path.unwrap_or(Path::TOP);
                    let known = !self.computing.is_empty() || call.is_some();
                    for mut stretch in self.computing.drain(..) {
                        stretch.activity.before = before;
                        self.computed.add(&stretch);
                        self.stretches.push_back(stretch);
                    }
                    if let Some((Segment { begin, end, .. }, path)) = call.zip(path) {
                        self.stretches.push_back(Stretch {
                            begin,
                            end,
                            activity: Activity::call(path),
                        });
                        self.after = path;
                    }
                    return Ok(known);
                }
            }
        }
    }

    /// Returns the place of the first stretch for which something holds. It is near the front, because later stretches have
    /// been forgotten.
    fn first_place(&self, holds: impl Fn(&Stretch) -> bool) -> usize {
        self.stretches.iter().position(holds).unwrap_or(self.stretches.len())
    }

    /// Reads stretches until one begins at or before a time.
    fn read_to(&mut self, since: Time) -> Result<(), LogError> {
        while self.stretches.back().is_none_or(|it| it.begin > since) && self.read_more()? {}
        Ok(())
    }

    /// Returns the path of the call or computing at a time.
    pub(crate) fn path_at(&mut self, time: Time) -> Result<Path, LogError> {
        self.read_to(time)?;
        let place = self.first_place(|it| it.begin <= time);
        Ok(self.stretches.get(place).map_or(Path::TOP, |it| it.activity.path))
    }

    /// Reads everything that is left, and returns the time that the location spent computing, by activity.
    pub(crate) fn finish(mut self) -> Result<Vec<(Activity, u64)>, LogError> {
        while self.read_more()? {
            self.stretches.clear();
        }
        let mut list = self.computed.list;
        list.sort_unstable();
        Ok(list)
    }

    /// Returns a time before another one, or the begin of the stretch that lies [`MOST_STRETCHES`] before that, if this is
    /// later. Without either it is the begin of the run.
    pub(crate) fn bounded(
        &mut self,
        since: Option<Time>,
        from: Time,
        begin: Time,
    ) -> Result<Time, LogError> {
        self.read_to(since.unwrap_or(from))?;
        let place = self.stretches.partition_point(|it| it.begin >= from) + MOST_STRETCHES - 1;
        while since.is_none() && self.stretches.len() <= place && self.read_more()? {}
        let bound = self.stretches.get(place).map(|it| it.begin);
        Ok(bound.max(since).unwrap_or(begin))
    }

    /// Returns the end of the last wait or release for which `counts` holds, unless it lies before the
    /// [`MOST_STRETCHES`]th stretch before a time. A thread has also synchronised where the first thread of its process
    /// has.
    pub(crate) fn last(
        &mut self,
        from: Time,
        counts: impl Fn(&Piece) -> bool + Copy,
    ) -> Result<Option<Time>, LogError> {
        let found = |it: &Self| {
            let wait = it.own.iter().map(|it| &it.piece).find(|it| counts(it)).map(|it| it.to);
            // Releases before that wait do not matter.
            let mut later =
                it.released.iter().take_while(|it| wait.is_none_or(|time| it.to > time));
            wait.max(later.find(|it| counts(it)).map(|it| it.to))
        };
        // Records that were read for other reasons often have it.
        let mut last = found(self);
        // It is rarely far away, and then no stretches need be read to find out how far back it may be.
        let mut left = NEAR;
        while last.is_none()
            && left > 0
            && let Some(piece) = self.waits.next()?
        {
            left -= 1;
            last = counts(&piece).then_some(piece.to);
            self.own.push_back(Waiting { piece, passed: Costs::default() });
        }
        if last.is_none() {
            let bound = self.bounded(None, from, Time::BEGIN)?;
            self.read_waits(bound)?;
            self.read_releases(bound)?;
            last = found(self);
        }
        if let Some(time) = last {
            self.read_waits(time)?;
            self.read_releases(time)?;
            last = last.max(found(self));
        }
        let of_first = self.first_thread.as_mut().map(|it| it.last(from, counts)).transpose()?;
        Ok(last.max(of_first.flatten()))
    }

    /// Adds what the location did from `since` to `end`, `times` over. Waits count as such if `counts` holds for them, and
    /// otherwise as the activity around them.
    pub(crate) fn add_to(
        &mut self,
        profile: &mut Profile,
        (since, end): (Time, Time),
        times: u64,
        counts: impl Fn(&Piece) -> bool,
    ) -> Result<(), LogError> {
        self.read_to(since)?;
        self.read_waits(since)?;
        // Waits that do not overlap each other, the last first.
        let mut spans = std::mem::take(&mut self.spans);
        spans.clear();
        let mut limit = end;
        for (place, Waiting { piece, .. }) in self.own.iter().enumerate() {
            if piece.to <= since {
                break;
            }
            let over = piece.from.later_by(piece.middle()).min(limit);
            let begin = piece.from.max(since);
            if counts(piece) && begin < over {
                profile.waits.push((place, over.since(begin).0 * times));
                spans.push((begin, over));
                limit = begin;
            }
        }
        let mut next = 0;
        let first = self.first_place(|it| it.begin < end);
        for stretch in self.stretches.range(first..) {
            let (begin, over) = (stretch.begin.max(since), stretch.end.min(end));
            let mut length = over.since(begin).0;
            while let Some(&(from, to)) = spans.get(next) {
                length -= over.min(to).since(begin.max(from)).0;
                // A wait may continue in the stretch before.
                if from < begin {
                    break;
                }
                next += 1;
            }
            if length > 0 {
                profile.add(stretch.activity, length * times);
            }
            if stretch.begin <= since {
                break;
            }
        }
        self.spans = spans;
        let missing = self.first.min(end).since(since).0;
        if missing > 0 {
            profile.add(Activity::NOT_STARTED, missing * times);
        }
        Ok(())
    }
}
