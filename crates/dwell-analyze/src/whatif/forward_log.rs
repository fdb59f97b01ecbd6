//! Reads the log of one location forward: its activities, and the events that each of its calls depended on.

use std::collections::{HashMap, HashSet, VecDeque};

use dwell_log::class::Class;
use dwell_log::edge::{Edge, Verdict};
use dwell_log::needs::{Need, NeedOfCall};
use dwell_log::piece::Piece;
use dwell_log::quantity::Quantity;
use dwell_log::read::{Forward, Link, LocationLog, LogError, Segment};
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::time::Time;
use dwell_trace::world::World;

use crate::causes::MOST_COMPUTING;
use crate::engine::hash::Mixed;
use crate::whatif::presence::Needed;

/// Greatest number of polling loops of a location that are shortened. Others take as long as they did.
const MOST_LOOPS: usize = 65_536;

/// A segment, and the events that it depended on.
#[derive(Debug, Default)]
pub(crate) struct Stretch {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) path: usize,
    /// Paths of the calls before and after it, if it is computing.
    pub(crate) before: Option<usize>,
    pub(crate) after: Option<usize>,
    /// Time of the stretch in polling loops that another process ended.
    pub(crate) polling: u64,
    /// Waits in the stretch, and ends of polling loops.
    pub(crate) waits: Vec<Piece>,
    /// Events of others that were early enough.
    pub(crate) early: Vec<Edge>,
    pub(crate) needs: Vec<Need>,
}

/// Which classes of operations need their targets, as far as all pairs of processes with evidence agree. Pairs on one node
/// are apart from others, because they may share memory.
#[derive(Debug, Default)]
pub(crate) struct Customs {
    needs: HashMap<(Class, bool), Option<bool>, Mixed>,
    entries: HashMap<(Class, bool), u32, Mixed>,
    /// Locations with polling loops.
    with_loops: HashSet<LocationNumber, Mixed>,
}

impl Customs {
    /// Adds the rulings on operations of the process of a location, and whether it has polling loops.
    pub(crate) fn learn(
        &mut self,
        log: &LocationLog,
        me: ProcessNumber,
        world: &World,
    ) -> Result<(), LogError> {
        for ruling in log.rulings().iter().filter(|it| it.origin == me) {
            let key = (ruling.class, world.are_near(me, ruling.target));
            let needs = always(ruling.verdict);
            let known = self.needs.entry(key).or_insert(Some(needs));
            *known = known.filter(|it| *it == needs);
        }
        for piece in log.waits() {
            if is_loop(&piece?) {
                self.with_loops.insert(log.number());
                break;
            }
        }
        Ok(())
    }

    /// Returns `true` if a location has polling loops.
    pub(crate) fn has_loops(&self, location: LocationNumber) -> bool {
        self.with_loops.contains(&location)
    }

    /// Learns how many calls of their targets operations need: what most of them needed. Returns `true` if it is more than
    /// one for any class.
    pub(crate) fn learn_entries(&mut self, needed: &Needed) -> bool {
        self.entries.extend(needed.most());
        self.entries.values().any(|it| *it > 1)
    }

    /// Lets each operation need one call of its target.
    pub(crate) fn forget_entries(&mut self) {
        self.entries.clear();
    }

    /// Returns how many calls of its target an operation of a class needs. A library that takes a request in one call and
    /// answers it in the next needs two.
    pub(crate) fn entries(&self, class: Class, is_near: bool) -> u32 {
        self.entries.get(&(class, is_near)).copied().unwrap_or(1)
    }
}

/// Which operations of a location need their targets.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    known: HashMap<(ProcessNumber, Class), Verdict, Mixed>,
}

impl Targets {
    fn new(log: &LocationLog, me: ProcessNumber) -> Self {
        let mut targets = Self::default();
        for ruling in log.rulings().iter().filter(|it| it.origin == me) {
            targets.known.insert((ruling.target, ruling.class), ruling.verdict);
        }
        targets
    }

    /// Returns `true` if an operation of a class needs its target. `None` if no such operation of the run shows it: whenever one
    /// was in flight, its target was in a call that could serve it.
    pub(crate) fn need(
        &self,
        target: ProcessNumber,
        class: Class,
        (customs, is_near): (&Customs, bool),
    ) -> Option<bool> {
        match self.known.get(&(target, class)) {
            Some(verdict) => Some(always(*verdict)),
            // What need not wait for any target is not expected to.
            None if class.needs_arrivals() => Some(false),
            None => customs.needs.get(&(class, is_near)).copied().flatten(),
        }
    }
}

/// Returns `true` if every operation of a class needs its target: none was seen to do without it.
fn always(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Open | Verdict::Dependent)
}

/// The log of a location, read forward.
pub(crate) struct ForwardLog {
    segments: Box<dyn Forward<Segment>>,
    /// Segments up to the next call, and the path of the call before.
    ahead: VecDeque<Segment>,
    before: Option<usize>,
    links: Box<dyn Forward<Link>>,
    needs: Box<dyn Forward<NeedOfCall>>,
    link: Option<Link>,
    need: Option<NeedOfCall>,
    /// Polling loops that are left, in the order of their ends.
    loops: VecDeque<Piece>,
    calls: u64,
    pub(crate) targets: Targets,
}

impl ForwardLog {
    /// Opens the log of a location. Its polling loops are looked for first, which takes a pass over its waits, unless it is
    /// known that it has none.
    pub(crate) fn new(
        log: &LocationLog,
        me: ProcessNumber,
        may_have_loops: bool,
    ) -> Result<Self, LogError> {
        let loops = if may_have_loops { loops(log)? } else { VecDeque::new() };
        let mut forward = Self {
            segments: Box::new(log.segments_forward()?),
            ahead: VecDeque::new(),
            before: None,
            links: Box::new(log.links_forward()?),
            needs: Box::new(log.needs_forward(me)?),
            link: None,
            need: None,
            loops,
            calls: 0,
            targets: Targets::new(log, me),
        };
        forward.link = forward.links.next()?;
        forward.need = forward.needs.next()?;
        Ok(forward)
    }

    /// Reads the next stretch of time. Returns `false` after the last. `is_call` says which paths are calls.
    pub(crate) fn next(
        &mut self,
        is_call: impl Fn(usize) -> bool,
        stretch: &mut Stretch,
    ) -> Result<bool, LogError> {
        stretch.waits.clear();
        stretch.early.clear();
        stretch.needs.clear();
        self.look_ahead(&is_call)?;
        let Some(Segment { begin, end, path }) = self.ahead.pop_front() else { return Ok(false) };
        let after = self.ahead.back().map(|it| it.path).filter(|it| is_call(*it));
        (stretch.before, stretch.after) = (self.before, after);
        (stretch.begin, stretch.end, stretch.path) = (begin.0, end.0, path);
        self.poll(begin, end, stretch);
        if !is_call(path) {
            return Ok(true);
        }
        self.before = Some(path);
        let call = self.calls;
        self.calls += 1;
        while let Some(need) = self.need.filter(|it| it.call <= call) {
            stretch.needs.extend((need.call == call).then_some(need.need));
            self.need = self.needs.next()?;
        }
        while let Some(link) = self.link {
            match link {
                Link::Waited(piece) if piece.to <= end => {
                    stretch.waits.extend((!is_loop(&piece) && piece.to > begin).then_some(piece));
                }
                // A need at the end of a call belongs to the call that begins there.
                Link::Early(edge) if edge.to < end || edge.to == end && begin == end => {
                    stretch.early.extend((edge.to >= begin).then_some(edge));
                }
                _ => break,
            }
            self.link = self.links.next()?;
        }
        Ok(true)
    }

    /// Reads segments up to the next call, unless that is far away.
    fn look_ahead(&mut self, is_call: &impl Fn(usize) -> bool) -> Result<(), LogError> {
        let is_known = self.ahead.back().is_some_and(|it| is_call(it.path));
        while !is_known && self.ahead.len() < MOST_COMPUTING {
            let Some(segment) = self.segments.next()? else { return Ok(()) };
            self.ahead.push_back(segment);
            if is_call(segment.path) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Adds what polling loops mean for a stretch.
    fn poll(&mut self, begin: Time, end: Time, stretch: &mut Stretch) {
        stretch.polling = 0;
        for piece in self.loops.iter().take_while(|it| it.from < end) {
            let (from, to) = (piece.from.max(begin), piece.to.min(end));
            stretch.polling += to.since(from).0;
        }
        while let Some(piece) = self.loops.front().filter(|it| it.to <= end) {
            stretch.waits.push(*piece);
            self.loops.pop_front();
        }
    }
}

/// Returns the polling loops of a location in the order of their ends.
fn loops(log: &LocationLog) -> Result<VecDeque<Piece>, LogError> {
    let mut loops = VecDeque::new();
    let mut all = log.links_forward()?;
    while let Some(link) = all.next()?
        && loops.len() < MOST_LOOPS
    {
        loops.extend(match link {
            Link::Waited(piece) => Some(piece).filter(is_loop),
            Link::Early(_) => None,
        });
    }
    Ok(loops)
}

/// Returns `true` if a piece is a polling loop.
pub(crate) fn is_loop(piece: &Piece) -> bool {
    piece.what == Quantity::PollingBlamed
}

impl Stretch {
    /// Returns `true` if the call waited for the progress of one of these locations.
    pub(crate) fn waited_for(&self, is: impl Fn(LocationNumber) -> bool) -> bool {
        self.waits.iter().any(|it| it.what.is_for_progress() && is(it.culprit))
    }
}
