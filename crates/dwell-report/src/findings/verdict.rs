//! The verdict: what a run loses time to, and what to change first, in a few lines.
//!
//! It is made from the other parts of the document, so that it agrees with them, and stored in it, so that every surface
//! says the same. What costs most comes first, whatever kind it is of: a cause of waits, communication that could take
//! less time, processes without a core, time that nothing explains.
//!
//! A cause gets its kind from what the processes did and from the waits that it caused most of. Words are those of the
//! field; numbers have three significant digits.

use dwell_model::layer::Processes;
use dwell_model::units::{bounds, seconds, short_percents};
use dwell_model::waits::Wait;

use serde::{Deserialize, Serialize};

use super::words::{capital, through, within};
use super::{Activity, Cause, Entry, Findings, Gain, Phase, Step, Unexplained};
use crate::format::grouped;

objects! {
    /// The answer about a run in a few lines, made from the rest of the document.
    Verdict {
        /// One sentence that says how much of the run is lost, and to what.
        head: String,
        /// What the run loses time to.
        losses: Vec<Loss>,
        /// What costs most, most first; at most 3.
        points: Vec<Point>,
        /// Since when the run is slower or faster, as a sentence without a full stop; empty if it is the same all the time, or
        /// if it has no iterations.
        since: String,
    }

    /// Time of a run that is not computing.
    Loss {
        /// What the time goes to, in a word or two.
        name: String,
        /// Lower bound of the time.
        seconds: f64,
        /// Upper bound of the time.
        seconds_at_most: f64,
        /// Lower bound as a part of `run_seconds`, from 0 to 1.
        share: f64,
        /// Upper bound as a part of `run_seconds`.
        share_at_most: f64,
    }

    /// Something that a run loses time to.
    Point {
        /// Advice on what to change, in full sentences.
        change: String,
        /// What it costs, as sentences. Empty for communication that could take less time, whose cost is its gain.
        cost: String,
        /// Predicted gain in words, such as `122 to 138 ms of 1.24 s (9.8 to 11 %)`. Empty if none was predicted.
        gain: String,
        /// Number or letter of the finding or cause; empty for other points.
        id: String,
        /// Functions that take the time, as a sentence without a full stop; empty without samples.
        inside: String,
        /// Kind of the point, in the words of the field.
        kind: Kind,
        /// Line that takes most of it, if samples tell it; otherwise null.
        line: Option<Step>,
        /// Calls at which to look at the source: the two around a stretch of computing, or the call that the point is about;
        /// empty if there is none.
        places: Vec<Step>,
        /// Middle of the bounds of what it costs, over all locations.
        seconds: f64,
        /// The same as a part of `run_seconds`.
        share: f64,
        /// What happens, as a sentence without a full stop.
        what: String,
        /// Processes that it is about; empty if it is about no single ones.
        who: String,
    }
}

texts! {
    /// Kind of a point of the verdict.
    Kind {
        /// Some processes compute longer than others, which wait for them.
        LoadImbalance = "load imbalance",
        /// A process does not carry out operations of others in time.
        MissingProgress = "missing progress",
        /// Processes wait for a lock that another holds.
        SerialisedLock = "serialised lock",
        /// A process waits for a flag, a message or an epoch of another.
        LateSignal = "late signal",
        /// Processes have fewer cores than they need.
        SharedCores = "shared cores",
        /// Data move element by element.
        ElementWise = "element-wise transfers",
        /// Operations follow one another although they could overlap.
        SerialTransfers = "transfers one by one",
        /// Atomics of all processes act on one process.
        HotTarget = "hot target",
        /// Transfers take longer than others could.
        SlowTransfers = "slow transfers",
        /// A call ends later at some processes than at others.
        UnevenExit = "uneven exit",
        /// A process is in a call while others wait for it.
        SlowCall = "slow call",
        /// Processes ask again and again whether something has happened.
        Polling = "polling",
        /// A process begins later than others.
        LateStart = "late start",
        /// Nothing that is known explains the time.
        #[default]
        Unexplained = "unexplained",
    }
}

/// Greatest number of points of a verdict.
const POINTS: usize = 3;

/// Least part of the run that a point must cost.
const LEAST: f64 = 0.01;

/// Least part of the run in calls that are too few to be judged that is a point.
const LARGE: f64 = 0.1;

/// Least part of the run without a core that is a point.
const LEAST_WITHOUT_CORE: f64 = 0.05;

/// Name of the loss that overlaps the others.
const POLLING: &str = "polling";

/// A process computes longer than others from this ratio on, and nearly alone from the other one on.
const LONGER: f64 = 1.15;
const NEARLY_ALONE: f64 = 20.0;

/// What most of the waits have in common that a cause makes others wait in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    /// Operations that their target has to carry out.
    Progress,
    /// Locks.
    Lock,
    /// Flags, messages, epochs: one process waits for another one.
    Partner,
    /// Barriers and other collectives: all wait for the last.
    Everybody,
}

impl Family {
    fn of(pattern: &str) -> Self {
        match Wait::of_id(pattern) {
            Some(Wait::WaitForProgress | Wait::WaitForProgressMulti) => Self::Progress,
            Some(Wait::LockContention) => Self::Lock,
            Some(
                Wait::WaitAtCreate
                | Wait::WaitAtFree
                | Wait::BarrierWait
                | Wait::BarrierImbalance
                | Wait::BarrierCompletion
                | Wait::WaitAtFence
                | Wait::EarlyReduce
                | Wait::EarlyScan
                | Wait::LateBroadcast
                | Wait::NxnWait
                | Wait::NxnCompletion
                | Wait::NonBlockingWait,
            ) => Self::Everybody,
            _ => Self::Partner,
        }
    }
}

impl Findings {
    /// Makes the verdict from the rest of the document, which has to be complete.
    pub fn judge(&mut self) {
        let mut points = self.points();
        points.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        points.retain(|it| it.share >= LEAST);
        points.truncate(POINTS);
        let losses = self.losses();
        let head = head(&losses, &points);
        let since = self.iterations.as_mut().and_then(|it| {
            it.describe();
            it.largest_change().map(|it| it.text.clone())
        });
        self.verdict = Verdict { head, losses, points, since: since.unwrap_or_default() };
    }

    /// Lists what the run loses time to. What is less than a thousandth of it is left out.
    fn losses(&self) -> Vec<Loss> {
        let part = |name: &str, least: f64, most: f64| Loss {
            name: name.into(),
            seconds: least,
            seconds_at_most: most,
            share: self.part_of_run(least),
            share_at_most: self.part_of_run(most),
        };
        let exact = |name, seconds| part(name, seconds, seconds);
        let mut losses = vec![
            part("waiting", self.waits_seconds, self.waits_seconds_at_most),
            exact("transfer", self.transfer_seconds),
            exact("unexplained", self.unexplained_seconds),
            exact(POLLING, self.polling_seconds),
        ];
        losses.retain(|it| it.share_at_most >= 0.001);
        losses
    }

    fn part_of_run(&self, seconds: f64) -> f64 {
        if self.run_seconds > 0.0 { (seconds / self.run_seconds).max(0.0) } else { 0.0 }
    }

    /// Returns everything that a verdict may name.
    fn points(&self) -> Vec<Point> {
        let mut points: Vec<Point> = self.causes.iter().map(|it| self.point_of(it)).collect();
        if self.causes.is_empty() {
            let of_run = self.entries.iter().filter(|it| it.phase == Phase::Run);
            points.extend(of_run.filter_map(|it| self.of_entry(it)));
        }
        points.extend(self.inefficient.iter().map(|it| {
            let kind = match it.pattern.as_str() {
                "strided_elements" | "small_transfers" | "many_calls_below" => Kind::ElementWise,
                "completion_after_each" | "blocking_in_a_row" => Kind::SerialTransfers,
                "hot_target" => Kind::HotTarget,
                _ => Kind::SlowTransfers,
            };
            let middle = f64::midpoint(it.seconds, it.seconds_at_most);
            Point {
                id: it.id.to_string(),
                what: format!("{}: {}", called(&it.path), it.explanation),
                gain: format!(
                    "could save {} of process time ({} of the run)",
                    bounds(it.seconds, it.seconds_at_most),
                    short_percents(
                        self.part_of_run(it.seconds),
                        self.part_of_run(it.seconds_at_most)
                    ),
                ),
                change: it.remedy.clone(),
                places: it.path.last().cloned().into_iter().collect(),
                ..self.point(kind, middle)
            }
        }));
        points.extend(self.without_core());
        points.extend(self.unexplained.iter().filter(|it| it.is_finding).map(|it| Point {
            what: format!("{} takes longer than such calls take", called(&it.path)),
            cost: format!(
                "{} are neither waits nor transfer, {} of the run.",
                seconds(it.seconds),
                self.share_of(it.seconds)
            ),
            change:
                "Record again with --counters, which tell page faults and lost cores apart.".into(),
            places: it.path.last().cloned().into_iter().collect(),
            ..self.point(Kind::Unexplained, it.seconds)
        }));
        let is_rare = |it: &&Unexplained| {
            !it.is_finding && it.seconds >= LARGE * self.run_seconds && it.too_few_seconds > 0.0
        };
        points.extend(self.unexplained.iter().filter(is_rare).map(|it| Point {
            what: format!("{} takes {}", called(&it.path), often(it)),
            cost: format!(
                "Such calls are too few to know how long they need: {} of the run.",
                self.share_of(it.seconds)
            ),
            change:
                "Record a longer run, in which they may not matter, or make fewer of them.".into(),
            places: it.path.last().cloned().into_iter().collect(),
            ..self.point(Kind::Unexplained, it.seconds)
        }));
        points.extend(self.polling.first().map(|it| {
            let polled = self.polling_seconds;
            Point {
                what: format!("{} is called again and again", called(&it.path)),
                cost: format!(
                    "{} of polling that no known event ends, {} of the run.",
                    seconds(polled),
                    self.share_of(polled)
                ),
                change: "Wait with a call that blocks, or ask less often.".into(),
                places: it.path.last().cloned().into_iter().collect(),
                ..self.point(Kind::Polling, polled)
            }
        }));
        points
    }

    fn point(&self, kind: Kind, seconds: f64) -> Point {
        Point { kind, seconds, share: self.part_of_run(seconds), ..Point::default() }
    }

    fn share_of(&self, seconds: f64) -> String {
        short_percents(self.part_of_run(seconds), self.part_of_run(seconds))
    }

    /// Puts one of the causes of the document into the words of the verdict.
    pub fn point_of(&self, it: &Cause) -> Point {
        let pattern = it.waits.first().map_or("", |it| it.pattern.as_str());
        let family = Family::of(pattern);
        let ratio = it.computing_seconds.zip(it.others_seconds).map(|(own, others)| own / others);
        let kind = match (it.what, family) {
            (Activity::Computing | Activity::Call, Family::Progress) => Kind::MissingProgress,
            (Activity::Computing | Activity::Call, Family::Lock) => Kind::SerialisedLock,
            (Activity::Computing, Family::Everybody) => Kind::LoadImbalance,
            (Activity::Computing, Family::Partner) if ratio.is_some_and(|it| it >= LONGER) => {
                Kind::LoadImbalance
            }
            (Activity::Computing, Family::Partner) => Kind::LateSignal,
            (Activity::Call, _) => Kind::SlowCall,
            (Activity::LeavesLate, _) => Kind::UnevenExit,
            (Activity::SharesCores, _) => Kind::SharedCores,
            (Activity::Polling, _) => Kind::Polling,
            (Activity::NotStarted, _) => Kind::LateStart,
            (Activity::Unknown, _) => Kind::Unexplained,
        };
        let margin = if it.margin_seconds < it.seconds / 100.0 { 0.0 } else { it.margin_seconds };
        let (least, most) = ((it.seconds - margin).max(0.0), it.seconds + margin);
        let where_else = it.waits.first().filter(|_| kind != Kind::LoadImbalance);
        let at = where_else.map_or(String::new(), |it| format!(", most in {}", it.call.short()));
        let cost = format!(
            "Others wait {} for it, {} of the run{at}.",
            bounds(least, most),
            short_percents(self.part_of_run(least), self.part_of_run(most))
        );
        let call_path = it.waits.first().map(|it| it.call_path);
        let finding = self
            .findings
            .iter()
            .find(|of| Some(of.call_path) == call_path && of.pattern == pattern);
        let remedy = finding.map(|it| it.remedy.clone()).unwrap_or_default();
        let change = match kind {
            Kind::LoadImbalance if it.others_seconds.is_none() => {
                "Let other processes do a part of this work, or let them do something else meanwhile."
                    .into()
            }
            Kind::LoadImbalance => "Divide the work between these two calls more evenly.".into(),
            Kind::SerialisedLock if it.what == Activity::Computing => {
                "Do less while the lock is held, or split it into several locks.".into()
            }
            Kind::UnevenExit => {
                "Nothing that the program does is late: look for other load on the nodes.".into()
            }
            Kind::SharedCores => FEWER_PROCESSES.into(),
            Kind::SlowCall => "Make this call shorter, or make it less often.".into(),
            _ => remedy,
        };
        let places = match it.what {
            Activity::Computing => [&it.after, &it.before].into_iter().flatten().cloned().collect(),
            _ => it.path.last().cloned().into_iter().collect(),
        };
        let gain = it.gain.as_ref().map(|gain| self.gained(gain)).unwrap_or_default();
        let what = it.happens(kind, ratio);
        Point {
            id: it.id.clone(),
            inside: it.inside().unwrap_or_default(),
            line: it.line(),
            what,
            cost,
            change,
            gain,
            places,
            ..self.point(kind, it.seconds)
        }
    }

    fn of_entry(&self, it: &Entry) -> Option<Point> {
        let finding = self.findings.get(*it.findings.first()? as usize)?;
        let kind = match Family::of(&finding.pattern) {
            Family::Progress => Kind::MissingProgress,
            Family::Lock => Kind::SerialisedLock,
            Family::Partner => Kind::LateSignal,
            Family::Everybody => Kind::LoadImbalance,
        };
        let on_whom =
            finding.targets.first().map_or(String::new(), |it| format!(", most for {}", it.who));
        Some(Point {
            id: it.id.to_string(),
            what: format!("{}: {}", called(&finding.path), finding.explanation),
            who: finding.origins.first().map(|it| it.who.clone()).unwrap_or_default(),
            cost: format!(
                "Processes wait {} there, {} of the run{on_whom}.",
                bounds(it.seconds, it.seconds_at_most),
                short_percents(it.share.unwrap_or(0.0), it.share_at_most.unwrap_or(0.0))
            ),
            change: finding.remedy.clone(),
            gain: it.gain.as_ref().map(|gain| self.gained(gain)).unwrap_or_default(),
            places: finding.path.last().cloned().into_iter().collect(),
            ..self.point(kind, f64::midpoint(it.seconds, it.seconds_at_most))
        })
    }

    /// Returns the point about processes that were ready to run but had no core, if they lost enough by that. Processes that
    /// wait by polling lose nothing while others have the core, so only what exceeds all waits counts for certain.
    fn without_core(&self) -> Option<Point> {
        // Threads that are no locations may add to it.
        let most = self.ready_seconds?.min(self.run_seconds);
        let least = most - self.waits_seconds_at_most - self.polling_seconds;
        if self.part_of_run(least) < LEAST_WITHOUT_CORE {
            return None;
        }
        let crowd = self.crowds.iter().max_by_key(|it| it.processes.saturating_sub(it.cores));
        let (what, change) = match crowd {
            Some(it) => (
                format!("{} processes share {} cores of {}", it.processes, it.cores, it.node),
                FEWER_PROCESSES,
            ),
            None => (
                "processes had to share their cores with others".to_owned(),
                "Look for other programs on the nodes, and for threads that the program starts.",
            ),
        };
        let cost = format!(
            "They were ready to run but had no core for {}, at least {} of it outside of waits, {} of the run.",
            seconds(most),
            seconds(least),
            short_percents(self.part_of_run(least), self.part_of_run(most))
        );
        let point = self.point(Kind::SharedCores, f64::midpoint(least, most));
        Some(Point { what, cost, change: change.into(), ..point })
    }

    /// Returns a predicted gain in words.
    fn gained(&self, gain: &Gain) -> String {
        let Some(expected) = gain.seconds else {
            return "cannot be predicted".into();
        };
        if expected * 1000.0 < self.length_seconds {
            return "nothing by itself: the time moves to other waits".into();
        }
        let least = gain.seconds_at_least.unwrap_or(expected).max(0.0);
        let most = gain.seconds_at_most.unwrap_or(expected);
        let part = |seconds: f64| seconds / self.length_seconds;
        format!(
            "{} of {} ({})",
            bounds(least, most),
            seconds(self.length_seconds),
            short_percents(part(least), part(most))
        )
    }
}

const FEWER_PROCESSES: &str =
    "Start no more processes on a node than it has cores; waits of this run are unreliable.";

impl Point {
    /// Names the point in a few words, for a list: kind, process and place.
    pub fn brief(&self) -> String {
        let parts = [self.who.clone(), self.places.first().map(Step::spot).unwrap_or_default()];
        let parts: Vec<String> = parts.into_iter().filter(|it| !it.is_empty()).collect();
        let rest = if parts.is_empty() { self.what.clone() } else { parts.join(", ") };
        format!("{}: {rest}", self.title())
    }

    /// Returns what the point costs, as `1.66 s (32 %)`.
    pub fn costs(&self) -> String {
        format!("{} ({})", seconds(self.seconds), short_percents(self.share, self.share))
    }

    /// Returns id and kind, as `A. Load imbalance`.
    pub fn title(&self) -> String {
        let id = if self.id.is_empty() { String::new() } else { format!("{}. ", self.id) };
        id + &capital(self.kind.name())
    }
}

/// Says in one sentence how much of the run is lost.
fn head(losses: &[Loss], points: &[Point]) -> String {
    let of = |bound: fn(&Loss) -> f64| -> f64 {
        losses.iter().filter(|it| it.name != POLLING).map(bound).sum()
    };
    let (least, most) = (of(|it| it.share), of(|it| it.share_at_most).min(1.0));
    if most < LEAST && points.is_empty() {
        return "The processes compute nearly all the time.".into();
    }
    let part = |it: &Loss| {
        let within = if it.name == POLLING { " within these" } else { "" };
        format!("{} {}{within}", it.name, short_percents(it.share, it.share_at_most))
    };
    let parts: Vec<String> = losses.iter().map(part).collect();
    format!(
        "{} of the process time is not computing: {}.",
        short_percents(least.min(1.0), most),
        parts.join(", ")
    )
}

/// Says how long calls take, and how many there are.
fn often(it: &Unexplained) -> String {
    match it.visits {
        1 => format!("{} in one call", seconds(it.seconds)),
        calls => format!("{} in {} calls", seconds(it.seconds), grouped(calls)),
    }
}

/// Names the last call of a path with its place.
fn called(path: &[Step]) -> String {
    path.last().map(Step::short).unwrap_or_default()
}

impl Cause {
    /// Says what the processes did, as a sentence without a full stop, in the words of a kind.
    fn happens(&self, kind: Kind, ratio: Option<f64>) -> String {
        let who = self.culprits();
        let one = self.is_of_one();
        let (computes, is) = if one { ("computes", "is") } else { ("compute", "are") };
        let stretch = self.stretch();
        let call = self.path.last().map(Step::short).unwrap_or_default();
        let others = self.processes.first().and_then(|it| Processes::of_name(&it.who));
        let others = others.map_or("others", |it| it.several);
        match (kind, self.what) {
            (Kind::LoadImbalance, _) => match ratio {
                _ if self.spread => format!(
                    "the work {stretch} is uneven, and takes long at other {others} in turn"
                ),
                None => format!("only {} {computes} {stretch}", within(&who)),
                Some(ratio) if ratio >= NEARLY_ALONE => {
                    let does = if one { "does" } else { "do" };
                    format!("{who} {does} nearly all the computing {stretch}")
                }
                Some(ratio) if ratio >= LONGER => {
                    let ratio =
                        if ratio < 9.95 { format!("{ratio:.1}") } else { format!("{ratio:.0}") };
                    format!("{who} {computes} {ratio} times as long as the others {stretch}")
                }
                Some(_) => format!("{who} {computes} longer than the others at times {stretch}"),
            },
            (Kind::MissingProgress, Activity::Computing) => {
                let carries = if one { "carries" } else { "carry" };
                format!(
                    "{who} {computes} {stretch} and {carries} out no operations of others meanwhile"
                )
            }
            (Kind::MissingProgress, _) => {
                format!("{who} {is} in {call}, which carries out no operations of others")
            }
            (Kind::SerialisedLock, Activity::Computing) => {
                format!("{who} {computes} {stretch} while it holds the lock")
            }
            (Kind::SerialisedLock, _) => format!("{who} {is} in {call} while it holds the lock"),
            (Kind::LateSignal, _) => {
                format!("{who} {computes} {stretch} before it does what the others wait for")
            }
            (Kind::UnevenExit | Kind::SharedCores, _) => {
                let leaves = if one { "leaves" } else { "leave" };
                format!("{who} {leaves} {call} later than the others")
            }
            (Kind::Polling, _) => {
                format!("{who} {} with {call}", if one { "polls" } else { "poll" })
            }
            (Kind::LateStart, _) => format!("{who} started later than the others"),
            (Kind::SlowCall, _) => format!("{who} {is} in {call}"),
            _ => format!("what {who} did was not recorded"),
        }
    }

    /// Names the two calls between which processes computed.
    fn stretch(&self) -> String {
        match (&self.after, &self.before) {
            (Some(after), Some(before)) => match (after.place(), before.place()) {
                (Some((file, from)), Some((other, to))) if file == other && from == to => {
                    format!("between calls at {file}:{from}")
                }
                (Some((file, from)), Some((other, to))) if file == other => {
                    format!("({file}:{from} to {to})")
                }
                _ if after == before => format!("between calls of {}", after.short()),
                _ => format!("between {} and {}", after.short(), before.short()),
            },
            (Some(after), None) => format!("after {}", after.short()),
            (None, Some(before)) => format!("before {}", before.short()),
            (None, None) => String::new(),
        }
        .trim_end()
        .to_owned()
    }
}

impl Step {
    /// Returns the name of the file, without directories, and the line.
    fn place(&self) -> Option<(&str, u32)> {
        let file = self.file.as_deref()?;
        Some((file.rsplit('/').next().unwrap_or(file), self.line?))
    }

    /// Names the place of the call in the source, as `heat.c:41`, or the call where that is not known.
    fn spot(&self) -> String {
        self.place().map_or_else(|| self.short(), |(file, line)| format!("{file}:{line}"))
    }

    /// Names the call with file and line, or with its caller where these are not known.
    pub fn short(&self) -> String {
        let place = match (self.place(), &self.caller) {
            (Some((file, line)), _) => format!(" at {file}:{line}"),
            (None, Some(caller)) => format!(" in {caller}"),
            (None, None) => String::new(),
        };
        format!("{}{place}{}", self.region, through(self.through.as_deref().unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests;
