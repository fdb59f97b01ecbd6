//! What is said about the processes of a run that has not ended.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::{Duration, SystemTime};

use dwell_model::archive::Meaning;
use dwell_model::layer::Processes;
use dwell_report::findings::words::{through, within};
use dwell_symbols::{BuildId, Module, Options, Resolver, ReturnOffset};
use dwell_unify::lease;
use dwell_unify::live::graph::{Graph, Kind};
use dwell_unify::live::{Live, Process, State, Thread};
use otf2::id::CallingContextRef;
use serde::Serialize;

/// The report. Ranks count from 0, as the run numbers its processes.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Number of processes of the run.
    pub(super) processes: u64,
    /// Ranks of processes that left no files here.
    pub(super) missing: Vec<u64>,
    /// Files that could not be read.
    pub(super) unreadable: Vec<String>,
    /// Number of processes that made or ended a call since the look before.
    pub(super) going_on: u64,
    /// Seconds since the look before.
    #[serde(skip)]
    pub(super) between: f64,
    /// Seconds for which no process has made or ended a call, as far as it was looked at.
    pub(super) still: f64,
    /// Threads in the same place, the largest groups first.
    pub(super) groups: Vec<Group>,
    /// Processes that wait for each other, each for the next one.
    pub(super) circles: Vec<Circle>,
    /// Processes that others wait for and that wait for nobody.
    pub(super) roots: Vec<Root>,
    /// Nodes of the processes, by name.
    pub(super) nodes: Vec<Node>,
    /// Words for processes.
    #[serde(skip)]
    pub(super) names: Processes,
}

/// Threads that are in the same place.
#[derive(Debug, Serialize)]
pub(super) struct Group {
    /// Ranks of the processes.
    pub(super) ranks: Vec<u64>,
    /// Number of the thread in its process; 0 is the main thread.
    pub(super) thread: u64,
    /// What they do, such as `in shmem_set_lock at hang.c:31`.
    pub(super) does: String,
    /// State of the processes: `alive`, `stopped`, `gone` or `unknown`.
    pub(super) state: &'static str,
    /// Least and greatest time for which they have done it.
    pub(super) seconds: [f64; 2],
    /// What they wait for, such as `the lock that PE 0 holds`; empty if it is not known or nothing.
    pub(super) waits_for: String,
    /// Number of those that made or ended a call since the look before.
    pub(super) going_on: u64,
}

/// A node of the run.
#[derive(Debug, Serialize)]
pub(super) struct Node {
    pub(super) name: String,
    /// Number of its processes.
    pub(super) processes: u64,
    /// Seconds since the last change of their files has arrived here; `None` if that is not known. What processes of this node
    /// do is seen at once, so it is 0 there.
    pub(super) age: Option<f64>,
}

/// Processes that wait for each other.
#[derive(Debug, Serialize)]
pub(super) struct Circle {
    /// True if the circle cannot end.
    pub(super) certain: bool,
    pub(super) ranks: Vec<u64>,
    /// What it is, as a sentence without a full stop.
    pub(super) text: String,
}

/// A process that others wait for.
#[derive(Debug, Serialize)]
pub(super) struct Root {
    pub(super) rank: u64,
    /// Number of processes that wait for it, directly or not.
    pub(super) behind: u64,
    /// What it does, as a sentence without a full stop.
    pub(super) text: String,
}

/// State of processes that have ended.
pub(super) const GONE: &str = "gone";

/// Greatest number of processes that a text names.
const NAMED: usize = 6;

/// What a thread does, by which threads are grouped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    thread: u64,
    does: String,
    state: &'static str,
    waits_for: String,
}

/// Times of the looks at a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looks {
    /// Time since the look before.
    pub(super) between: Duration,
    /// Time for which no process had made or ended a call at the look before.
    pub(super) still: Duration,
}

/// Time without a call after which the files of other nodes show what their processes are in: most file systems write pages
/// back within half of it.
const WRITTEN_BACK: Duration = Duration::from_secs(60);

/// State of a process, as far as it can be seen from here.
fn state(process: &Process, nodes: &[(lease::Node, lease::Life)], here: &str) -> &'static str {
    let seen = if process.host == here { process.state() } else { None };
    match (seen, nodes.iter().find(|it| it.0.host == process.host)) {
        (Some(State::Alive), _) | (None, Some((_, lease::Life::Alive))) => "alive",
        (Some(State::Stopped), _) => "stopped",
        (Some(State::Gone), _) | (None, Some((_, lease::Life::Ended))) => GONE,
        _ => "unknown",
    }
}

impl Report {
    /// Makes the report of a run that was looked at before.
    pub(super) fn of(directory: &Path, before: &Live, now: &Live, looks: Looks) -> Self {
        let nodes = lease::nodes(directory).unwrap_or_default();
        let here = lease::host();
        Self::made(before, now, looks, &here, &|it| state(it, &nodes, &here))
    }

    /// Makes the report of a run whose processes have all ended.
    pub(super) fn of_ended(live: &Live) -> Self {
        Self::made(live, live, Looks::default(), &lease::host(), &|_| GONE)
    }

    fn made(
        before: &Live,
        now: &Live,
        looks: Looks,
        here: &str,
        state: &dyn Fn(&Process) -> &'static str,
    ) -> Self {
        let graph = Graph::of(now);
        let names = names(now);
        let mut sites = Sites::default();
        let (newest, own) = (newest(now), monotonic());
        let known: BTreeMap<u64, &Process> =
            before.processes.iter().map(|it| (it.rank(), it)).collect();
        let mut groups: BTreeMap<Place, (Vec<u64>, [f64; 2], u64)> = BTreeMap::new();
        let mut does: BTreeMap<u64, String> = BTreeMap::new();
        let mut moving: BTreeMap<u64, bool> = BTreeMap::new();
        // Processes of which it is known that they are still in the calls that they are in.
        let mut sure: BTreeSet<u64> = BTreeSet::new();
        for process in &now.processes {
            let (rank, host) = (process.rank(), process.host.as_str());
            let state = state(process);
            let is_written = looks.between + looks.still >= WRITTEN_BACK;
            if state == GONE || state == "alive" && (host == here || is_written) {
                sure.insert(rank);
            }
            // The clock of this node says how old what a living process does is.
            let is_here = host == here && state != GONE;
            let reference = if is_here { own } else { newest.get(host).copied().unwrap_or(own) };
            for thread in &process.threads {
                if thread.number > 0 && thread.events == 0 {
                    continue;
                }
                let (what, since) = doing(process, thread, &mut sites);
                let since = since.map_or(reference, |it| process.monotonic(it));
                let seconds = reference.saturating_sub(since) as f64 * 1e-9;
                let goes_on = known.get(&rank).and_then(|it| {
                    let before = it.threads.iter().find(|it| it.number == thread.number)?;
                    Some(thread.has_moved_since(before))
                });
                let goes_on = goes_on.unwrap_or(true);
                let is_main = thread.number == 0;
                let waits_for = match graph.waits.get(&rank).filter(|_| is_main) {
                    Some(wait) => waits_for(wait.kind, &wait.on, names),
                    None => String::new(),
                };
                if is_main {
                    does.insert(rank, describe(&what, state, seconds));
                }
                *moving.entry(rank).or_default() |= goes_on;
                let place = Place { thread: thread.number, does: what, state, waits_for };
                let group = groups.entry(place).or_insert((Vec::new(), [seconds; 2], 0));
                group.0.push(rank);
                group.1 = [group.1[0].min(seconds), group.1[1].max(seconds)];
                group.2 += u64::from(goes_on);
            }
        }
        let mut groups: Vec<Group> = groups
            .into_iter()
            .map(|(place, (ranks, seconds, going_on))| {
                let Place { thread, does, state, waits_for } = place;
                Group { ranks, thread, does, state, seconds, waits_for, going_on }
            })
            .collect();
        groups.sort_by_key(|it| {
            (it.thread > 0, std::cmp::Reverse(it.ranks.len()), it.ranks.first().copied())
        });
        let stands = |rank: &u64| sure.contains(rank) && moving.get(rank) == Some(&false);
        let circles = graph.circles.iter().map(|(ranks, certain)| {
            let certain = *certain && ranks.iter().all(stands);
            Circle { certain, ranks: ranks.clone(), text: circle(ranks, &graph, names) }
        });
        let root = |&(rank, behind): &(u64, u64)| {
            let nothing = || "left no files here".to_owned();
            let text = does.get(&rank).cloned().unwrap_or_else(nothing);
            Root { rank, behind, text }
        };
        let going_on = moving.values().filter(|it| **it).count() as u64;
        let still = if going_on == 0 { looks.still + looks.between } else { Duration::ZERO };
        let present: Vec<u64> = now.processes.iter().map(Process::rank).collect();
        Self {
            processes: now.size,
            missing: (0..now.size).filter(|it| present.binary_search(it).is_err()).collect(),
            unreadable: now.unreadable.clone(),
            going_on,
            between: looks.between.as_secs_f64(),
            still: still.as_secs_f64(),
            groups,
            circles: circles.collect(),
            roots: graph.roots.iter().map(root).collect(),
            nodes: nodes(now, here),
            names,
        }
    }

    /// Returns `true` if processes wait for each other and cannot go on.
    pub(super) fn is_deadlock(&self) -> bool {
        self.circles.iter().any(|it| it.certain)
    }

    /// Returns `true` if some processes wait and none has made or ended a call since the look before.
    pub(super) fn is_still(&self) -> bool {
        self.going_on == 0 && self.groups.iter().any(|it| !it.waits_for.is_empty())
    }

    /// Returns `true` if all processes have ended.
    pub(super) fn is_over(&self) -> bool {
        self.groups.iter().all(|it| it.state == GONE)
    }
}

/// Returns the words for processes of the layers that a run calls.
fn names(live: &Live) -> Processes {
    let regions = live.processes.first().into_iter().flat_map(|it| it.facts.shared.regions());
    Processes::of(regions.filter_map(|it| Meaning::parse(&it.meaning)).map(|it| it.layer))
}

/// Returns the nodes of a run, and how old what is known of them is.
fn nodes(live: &Live, here: &str) -> Vec<Node> {
    let mut nodes: BTreeMap<&str, (u64, Option<SystemTime>)> = BTreeMap::new();
    for process in &live.processes {
        let (processes, changed) = nodes.entry(&process.host).or_default();
        *processes += 1;
        *changed = (*changed).max(process.changed);
    }
    // Clocks may differ by a little.
    let since = |it: SystemTime| it.elapsed().unwrap_or_default().as_secs_f64();
    let node = |(name, (processes, changed)): (&str, (u64, Option<SystemTime>))| {
        let age = if name == here { Some(0.0) } else { changed.map(since) };
        Node { name: name.to_owned(), processes, age }
    };
    nodes.into_iter().map(node).collect()
}

/// Returns the time of the newest event on each node, on its monotonic clock.
fn newest(live: &Live) -> HashMap<String, u64> {
    let mut newest: HashMap<String, u64> = HashMap::new();
    for process in &live.processes {
        for last in process.threads.iter().filter_map(|it| it.last) {
            let time = newest.entry(process.host.clone()).or_default();
            *time = (*time).max(process.monotonic(last));
        }
    }
    newest
}

/// Returns the time of the monotonic clock of this node in nanoseconds.
fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (now.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec as u64)
}

/// Says what a thread does, and since when on the clock of its recorder.
fn doing(process: &Process, thread: &Thread, sites: &mut Sites) -> (String, Option<u64>) {
    let name = |region| process.facts.region_name(region).unwrap_or_else(|| "a call".into());
    // The call that the program made is the outermost one.
    if let Some(call) = thread.call() {
        let at = call.site.map(|it| sites.at(process, it)).unwrap_or_default();
        return (format!("in {}{at}", name(call.region)), Some(call.since));
    }
    let Some(last) = thread.last else { return ("nothing recorded yet".into(), None) };
    let after = match thread.left {
        Some((region, site)) => {
            let at = site.map(|it| sites.at(process, it)).unwrap_or_default();
            format!(", last call {}{at}", name(region))
        }
        None => String::new(),
    };
    (format!("computing{after}"), Some(last))
}

/// Says what a process does in a sentence about it.
fn describe(does: &str, state: &str, seconds: f64) -> String {
    let time = dwell_model::units::seconds(seconds);
    match state {
        GONE => format!("has ended: it was {does}"),
        "stopped" => format!("is stopped by a signal or a debugger: it is {does} for {time}"),
        _ => format!("is {does} for {time}"),
    }
}

/// Names some processes within a sentence.
fn some(ranks: &[u64], names: Processes) -> String {
    match ranks {
        [one] => within(&names.name(*one)),
        all => {
            let numbers: Vec<u64> = all.iter().map(|it| it + names.first).collect();
            format!("{} {}", names.several, crate::format::ranges(&numbers, NAMED))
        }
    }
}

/// Says what a process waits for.
fn waits_for(kind: Kind, on: &[u64], names: Processes) -> String {
    let who = some(on, names);
    match (kind, on.is_empty()) {
        (Kind::Lock, true) => "a lock".into(),
        (Kind::Lock, false) => {
            format!("a lock that {who} {}", if on.len() > 1 { "hold or ask for" } else { "holds" })
        }
        (Kind::Change, true) => "a change of its memory, by whom is not known".into(),
        (Kind::Change, false) => format!("a change of its memory, which {who} wrote last"),
        (Kind::Collective, true) => "the end of the collective, in which all are".into(),
        (Kind::Collective, false) => format!("{who}, not in the collective"),
        (Kind::Meeting, true) => "nobody: all are there".into(),
        (Kind::Meeting | Kind::Receiver, _) => who,
        (Kind::Epoch, true) => "the end of an epoch, in which all are".into(),
        (Kind::Epoch, false) => format!("{who}, not in the epoch"),
        (Kind::Progress, true) => String::new(),
        (Kind::Progress, false) => format!("{who} to carry out operations"),
        (Kind::Poll, _) => {
            "a change that it asks for again and again, unless it computes since".into()
        }
        (Kind::Unknown, _) => "an event whose process is not known".into(),
    }
}

/// Says who waits for whom in a circle.
fn circle(ranks: &[u64], graph: &Graph, names: Processes) -> String {
    if let [one] = ranks {
        let kind = graph.waits.get(one).map(|it| it.kind);
        return match kind {
            Some(Kind::Lock) => {
                format!("{} waits for a lock that it holds itself", names.name(*one))
            }
            _ => format!("{} waits for itself", names.name(*one)),
        };
    }
    let next = ranks.iter().skip(1).chain(ranks.first());
    let links = ranks.iter().zip(next).take(NAMED).enumerate().map(|(at, (rank, next))| {
        let (who, whom) = (names.name(*rank), within(&names.name(*next)));
        let who = if at == 0 { who } else { within(&who) };
        match graph.waits.get(rank).map(|it| it.kind) {
            Some(Kind::Lock) => format!("{who} waits for a lock that {whom} holds"),
            Some(Kind::Change) => format!("{who} waits for a change of its memory by {whom}"),
            Some(Kind::Collective) => format!("{who} waits for {whom} in a collective"),
            Some(Kind::Epoch) => format!("{who} waits for {whom} in an epoch"),
            _ => format!("{who} waits for {whom}"),
        }
    });
    let mut text = links.collect::<Vec<_>>().join("; ");
    if ranks.len() > NAMED {
        text += &format!("; and so on, {} in all", ranks.len());
    }
    text
}

/// Places of calls in the source, each of which is looked up once.
struct Sites {
    resolver: Resolver,
    known: HashMap<(String, Vec<u8>, u64), String>,
}

impl Default for Sites {
    fn default() -> Self {
        Self { resolver: Options::new().resolver(), known: HashMap::new() }
    }
}

impl Sites {
    /// Says where a call was made, as ` at hang.c:31 in main`; empty if it is not known.
    fn at(&mut self, process: &Process, context: CallingContextRef) -> String {
        let Some((site, Some(module))) = process.facts.place(context) else { return String::new() };
        let through = through(&site.wrapper);
        if !site.function.is_empty() {
            let file = module.path.rsplit('/').next().unwrap_or(&module.path);
            return format!(" at {file}:{} in {}{through}", site.offset, site.function);
        }
        let key = (module.path.clone(), module.build_id.clone(), site.offset);
        let resolver = &mut self.resolver;
        let found = self.known.entry(key).or_insert_with(|| {
            let build_id = BuildId::new(module.build_id.clone());
            let of = Module { path: module.path.clone().into(), build_id };
            let found = resolver.resolve(&of, ReturnOffset(site.offset));
            let Some(frame) = found.frames.first() else { return String::new() };
            let function = frame.function.as_deref().unwrap_or("?");
            match (&frame.file, frame.line) {
                (Some(file), Some(line)) => {
                    let file = file.rsplit('/').next().unwrap_or(file);
                    format!(" at {file}:{line} in {function}")
                }
                _ => format!(" in {function}"),
            }
        });
        format!("{found}{through}")
    }
}
