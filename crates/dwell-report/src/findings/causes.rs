//! Sentences about causes of waits that the terminal and the page share.

use dwell_model::layer::Processes;
use dwell_model::units::seconds;

use super::words::{through as wrapper, within};
use super::{Activity, Cause, Caused, Step, counters};

/// What a reader is told about a cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Who did what, as a sentence without a full stop.
    pub head: String,
    /// How long the process that caused most computed there, beside others.
    pub how_long: Option<String>,
    /// Why it computed longer than others, if counters say so.
    pub why_longer: Option<String>,
    /// Functions in which it computed longer, if there are samples.
    pub inside: Option<String>,
    /// At which calls processes waited because of it.
    pub costs: String,
    /// Sentence that says how much of the cost was passed on by processes that had to wait themselves, if any was.
    pub passed_on: Option<String>,
}

impl Cause {
    /// Puts a cause into words, for the terminal and the page alike, without the letter that stands for it.
    pub fn said(&self) -> Said {
        let others = |others: Option<f64>| match others {
            Some(others) => format!("others take {} on average", seconds(others)),
            None => "no other process computes there".to_owned(),
        };
        let how_long = self.computing_seconds;
        let there = match self.processes.first() {
            _ if self.node.is_some() => "on average there".to_owned(),
            Some(first) if self.spread => {
                let part = 100.0 * first.seconds / self.seconds.max(f64::MIN_POSITIVE);
                format!("at {}, which has the largest part, {part:.0} %", first.who)
            }
            _ => "there".to_owned(),
        };
        // It caused most all the same: others were early where it was late.
        let is_no_longer = how_long.zip(self.others_seconds).is_some_and(|(own, it)| own <= it);
        let at_times =
            if is_no_longer && !self.spread { ", so it is late at times only" } else { "" };
        let passed_on = self.seconds - self.direct_seconds;
        let costs: Vec<String> = self.waits.iter().map(Caused::said).collect();
        Said {
            head: format!("{} {}", self.culprits(), self.does()),
            how_long: how_long.map(|own| {
                format!("{} {there}; {}{at_times}", seconds(own), others(self.others_seconds))
            }),
            why_longer: self
                .counters
                .as_ref()
                .and_then(|it| counters::said(self.computing_seconds?, self.others_seconds?, it)),
            inside: self.inside(),
            costs: costs.join("; "),
            passed_on: (passed_on > 0.5e-9).then(|| {
                let passed_on = seconds(passed_on);
                format!("{passed_on} of it by processes that had to wait and made others wait")
            }),
        }
    }

    /// Names the processes that caused most of the cost. One that caused nearly everything is named alone, and none if
    /// no one stands out.
    pub(super) fn culprits(&self) -> String {
        match self.processes.first() {
            None => "a process".to_owned(),
            Some(it) if self.spread => {
                self.few().unwrap_or_else(|| format!("Many {}", several(&it.who)))
            }
            Some(it) if self.node.is_some() => {
                let mut several = several(&it.who).to_owned();
                several.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
                format!("{several} of {}", self.node.as_deref().unwrap_or_default())
            }
            Some(it) if self.is_of_one() => it.who.clone(),
            Some(it) => format!("{} and others", it.who),
        }
    }

    /// Names all processes among which a cost is spread, if they are two or three.
    fn few(&self) -> Option<String> {
        let [first, more @ .., last] = self.processes.as_slice() else { return None };
        let sum: f64 = self.processes.iter().map(|it| it.seconds).sum();
        if more.len() > 1 || sum < 0.999 * self.seconds {
            return None;
        }
        let more: String = more.iter().map(|it| format!(", {}", within(&it.who))).collect();
        Some(format!("{}{more} and {}", first.who, within(&last.who)))
    }

    pub(super) fn is_of_one(&self) -> bool {
        let is_named = !self.spread && self.node.is_none();
        is_named && self.processes.first().is_none_or(|it| it.seconds >= 0.9 * self.seconds)
    }

    /// Says what the processes did, as the rest of a sentence.
    fn does(&self) -> String {
        let (computes, was) =
            if self.is_of_one() { ("computes", "is") } else { ("compute", "are") };
        match (self.what, &self.after, &self.before) {
            (Activity::Call, ..) => {
                format!("{was} in {}", self.path.last().map(Step::said).unwrap_or_default())
            }
            (Activity::Polling, ..) => {
                let polls = if self.is_of_one() { "polls" } else { "poll" };
                format!("{polls} with {}", self.path.last().map(Step::said).unwrap_or_default())
            }
            (Activity::LeavesLate | Activity::SharesCores, ..) => {
                let leaves = if self.is_of_one() { "leaves" } else { "leave" };
                let call = self.path.last().map(Step::said).unwrap_or_default();
                let why = match self.what {
                    Activity::SharesCores => ", on a node with more processes than cores",
                    _ => "",
                };
                format!("{leaves} {call} late{why}")
            }
            (Activity::NotStarted, ..) => format!("{was} not started"),
            (Activity::Unknown, ..) => format!("{was} not recorded"),
            (Activity::Computing, Some(after), Some(before)) if after == before => {
                format!("{computes} between calls of {}", after.said())
            }
            (Activity::Computing, Some(after), Some(before)) => {
                format!("{computes} between {} and {}", after.said(), before.said())
            }
            (Activity::Computing, Some(after), None) => {
                format!("{computes} after {}", after.said())
            }
            (Activity::Computing, None, Some(before)) => {
                format!("{computes} before {}", before.said())
            }
            (Activity::Computing, None, None) => computes.to_owned(),
        }
    }

    /// Returns the part of the waits at a call path that it caused, in seconds.
    pub fn part_of(&self, call_path: u32, pattern: &str) -> Option<f64> {
        let is = |it: &&Caused| it.call_path == call_path && it.pattern == pattern;
        self.waits.iter().find(is).map(|it| it.seconds)
    }
}

/// Returns the word for several processes like one with this name.
fn several(who: &str) -> &'static str {
    Processes::of_name(who).map_or("processes", |it| it.several)
}

impl Caused {
    fn said(&self) -> String {
        let what = match self.pattern.as_str() {
            "polling" => "polling loop",
            pattern => pattern,
        };
        format!("{} at {} ({what})", seconds(self.seconds), self.call.said())
    }
}

impl Step {
    /// Names the call with its place in the source.
    pub fn said(&self) -> String {
        let Self { caller, column, file, line, nth_on_line, region, through } = self;
        let place = match (file, line) {
            (Some(file), Some(line)) => {
                let order = match (column, nth_on_line) {
                    (Some(column), _) => format!(":{column}"),
                    (None, Some(nth)) => format!(" (call {nth} on this line)"),
                    (None, None) => String::new(),
                };
                format!(" at {}:{line}{order}", file.rsplit('/').next().unwrap_or(file))
            }
            _ => String::new(),
        };
        let caller = caller.as_ref().map_or(String::new(), |it| format!(" in {it}"));
        let through = wrapper(through.as_deref().unwrap_or_default());
        format!("{region}{place}{caller}{through}")
    }
}

/// Greatest number of causes that a wait names.
const NAMED: usize = 3;

/// Names the causes of a wait by their letters, with the part of each.
pub fn because(causes: &[Cause], call_path: u32, pattern: &str) -> Option<String> {
    let part = |cause| Some((Cause::part_of(cause, call_path, pattern)?, cause));
    let mut parts: Vec<(f64, &Cause)> = causes.iter().filter_map(part).collect();
    parts.sort_by(|a, b| b.0.total_cmp(&a.0));
    let said = |(part, cause): &(f64, &Cause)| {
        let Cause { id, .. } = cause;
        format!("{} by {id}: {} {}", seconds(*part), cause.culprits(), cause.does())
    };
    let said: Vec<String> = parts.iter().take(NAMED).map(said).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Share;

    fn step(region: &str, line: u32) -> Step {
        Step {
            region: region.into(),
            file: Some("src/halo.c".into()),
            line: Some(line),
            caller: Some("main".into()),
            ..Step::default()
        }
    }

    fn cause() -> Cause {
        Cause {
            after: Some(step("shmem_barrier_all", 30)),
            before: Some(step("shmem_put", 33)),
            computing_seconds: Some(0.86),
            direct_seconds: 0.79,
            others_seconds: Some(0.46),
            processes: vec![Share { who: "PE 2".into(), seconds: 1.19, seconds_at_most: 1.19 }],
            seconds: 1.19,
            waits: vec![Caused {
                call: step("shmem_barrier_all", 30),
                call_path: 7,
                direct_seconds: 0.79,
                pattern: "barrier_wait".into(),
                seconds: 1.19,
            }],
            what: Activity::Computing,
            ..Cause::default()
        }
    }

    #[test]
    fn a_cause_names_who_did_what() {
        let said = cause().said();
        assert_eq!(
            said.head,
            "PE 2 computes between shmem_barrier_all at halo.c:30 in main and shmem_put at halo.c:33 in main"
        );
        assert_eq!(said.how_long.unwrap(), "860 ms there; others take 460 ms on average");
        let node = Cause { node: Some("node7".into()), ..cause() }.said();
        assert!(node.head.starts_with("PEs of node7 compute between"), "{}", node.head);
        assert!(node.how_long.unwrap().starts_with("860 ms on average there; others take"));
        let quick = Cause { others_seconds: Some(0.9), ..cause() }.said().how_long.unwrap();
        assert!(quick.ends_with("others take 900 ms on average, so it is late at times only"));
        assert_eq!(said.costs, "1.19 s at shmem_barrier_all at halo.c:30 in main (barrier_wait)");
        assert!(said.passed_on.unwrap().starts_with("400 ms of it"));
        let several = Cause { seconds: 2.0, ..cause() };
        assert!(several.said().head.starts_with("PE 2 and others compute between"));
        let call = Cause { what: Activity::Call, path: vec![step("shmem_get", 9)], ..cause() };
        assert_eq!(call.said().head, "PE 2 is in shmem_get at halo.c:9 in main");
        let late = Cause { what: Activity::LeavesLate, ..call.clone() };
        assert_eq!(late.said().head, "PE 2 leaves shmem_get at halo.c:9 in main late");
        let polling = Cause { what: Activity::Polling, spread: true, ..call };
        assert_eq!(polling.said().head, "Many PEs poll with shmem_get at halo.c:9 in main");
        let (who, seconds) = ("Rank 4".to_owned(), polling.seconds / 2.0);
        let both = vec![Share { who, seconds, ..Share::default() }; 2];
        let of_both = Cause { processes: both, ..polling };
        assert!(of_both.said().head.starts_with("Rank 4 and rank 4 poll with"));
    }

    #[test]
    fn a_wait_names_its_causes() {
        let causes = [Cause { waits: Vec::new(), ..cause() }, Cause { id: "B".into(), ..cause() }];
        let said = because(&causes, 7, "barrier_wait").unwrap();
        assert!(said.starts_with("1.19 s by B: PE 2 computes"), "{said}");
        assert_eq!(because(&causes, 8, "barrier_wait"), None);
    }
}
