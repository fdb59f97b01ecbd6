//! Sentences about iterations: since when a run is slow, and who slows it down.

use dwell_model::units::{grouped, seconds, short_percents};

use serde::{Deserialize, Serialize};

use self::IterationChangeKind as Kind;
use super::Step;
use super::words::within;

objects! {
    /// Iterations of the main loop of a run, which the analysis finds by what repeats itself.
    Iterations {
        /// Changes over the run, the first one first.
        changes: Vec<IterationChange>,
        /// Number of iterations that all processes made.
        count: u64,
        /// Call with which an iteration ends.
        ends_with: Step,
        /// Number of iterations in each element of `times`; the last may have fewer.
        group: u64,
        /// Times of the iterations in their order, at most 256. The first contains what precedes the first iteration.
        times: Vec<IterationTimes>,
    }

    /// Mean times of a process in an iteration, over consecutive iterations.
    IterationTimes {
        /// Begin of the first of the iterations at the process that begins it first, in seconds after the first event.
        begin_seconds: f64,
        /// Time that a process computed.
        computing_seconds: f64,
        /// First of the iterations, counted from 1.
        first: u64,
        /// Time that the process computed which computed longest.
        longest_computing_seconds: f64,
        /// Name of that process in the iteration where it computed longest; null if it is not known.
        longest_who: Option<String>,
        /// Length of an iteration.
        seconds: f64,
        /// Time that a process waited, by the middle of the bounds.
        waits_seconds: f64,
    }

    /// A change over the iterations of a run.
    IterationChange {
        /// True if computing changed, and false if iterations changed for another reason.
        computing: bool,
        /// Computing in an iteration that is concerned, and at the end of a drift: of `who`, or the mean of all processes; 0
        /// if computing does not explain the change.
        computing_seconds: f64,
        /// Distance between the iterations concerned, if it is always the same; otherwise null.
        every: Option<u64>,
        /// First iteration concerned, counted from 1.
        iteration: u64,
        /// Number of iterations concerned.
        iterations: u64,
        /// Kind of the change.
        kind: IterationChangeKind,
        /// Length of an iteration that is concerned, as the mean over all processes, and at the end of a drift.
        seconds: f64,
        /// The change as a sentence without a full stop.
        text: String,
        /// The same in other iterations, and at the begin of a drift.
        usual_computing_seconds: f64,
        /// Length of other iterations, and at the begin of a drift.
        usual_seconds: f64,
        /// Process whose computing explains the change; null if none stands out.
        who: Option<String>,
    }
}

texts! {
    /// Kind of a change over the iterations of a run.
    IterationChangeKind {
        /// From one iteration on, all take longer or less long.
        #[default]
        Step = "step",
        /// Iterations take longer and longer, or less and less.
        Drift = "drift",
        /// Some iterations take much longer than the others.
        Outliers = "outliers",
    }
}

/// Ratio from which on "times as long" reads better than per cent.
const MULTIPLE: f64 = 1.5;

impl Iterations {
    /// Writes the sentence about each change.
    pub(super) fn describe(&mut self) {
        let count = self.count;
        for change in &mut self.changes {
            change.text = change.sentence(count);
        }
    }

    /// Returns the change that costs most, by the time of all processes.
    pub fn largest_change(&self) -> Option<&IterationChange> {
        self.changes.iter().max_by(|a, b| a.cost().total_cmp(&b.cost()))
    }
}

impl IterationChange {
    /// Returns the time that changes: the computing of those who compute longer, or the length of iterations.
    fn times(&self) -> (f64, f64) {
        match self.computing {
            true => (self.usual_computing_seconds, self.computing_seconds),
            false => (self.usual_seconds, self.seconds),
        }
    }

    /// Returns the time of a process that the change costs or saves.
    fn cost(&self) -> f64 {
        let part = if self.kind == Kind::Drift { 0.5 } else { 1.0 };
        let (usual, now) = self.times();
        part * self.iterations as f64 * (now - usual).abs()
    }

    /// Says when the change is, who causes it, and how large it is, without a full stop.
    fn sentence(&self, count: u64) -> String {
        let (usual, now) = self.times();
        let who = self.who.as_deref();
        let (subject, why) = match (who, self.computing) {
            (Some(who), _) => (format!("{who} computes"), ""),
            (None, true) => ("processes compute".into(), ""),
            (None, false) => ("iterations take".into(), "; computing does not explain it"),
        };
        let all = grouped(count);
        let size = compared(usual, now);
        match self.kind {
            Kind::Step => {
                format!(
                    "from iteration {} of {all} on, {subject} {size}{why}",
                    grouped(self.iteration)
                )
            }
            Kind::Drift if now < usual => {
                format!(
                    "{subject} less and less long over {all} iterations: {size} at the end{why}"
                )
            }
            Kind::Drift => {
                format!("{subject} longer and longer over {all} iterations: {size} at the end{why}")
            }
            Kind::Outliers => {
                let some = match (self.every, self.iterations) {
                    (Some(every), _) => format!(
                        "every {} iteration from {} on takes",
                        ordinal(every),
                        grouped(self.iteration)
                    ),
                    (None, 1) => format!("iteration {} of {all} takes", grouped(self.iteration)),
                    (None, some) => format!(
                        "{} of {all} iterations, the first of them {}, take",
                        grouped(some),
                        grouped(self.iteration)
                    ),
                };
                let size = compared(self.usual_seconds, self.seconds);
                let who = who.map_or(String::new(), |who| {
                    format!("; {} computes longer there", within(who))
                });
                format!("{some} {size}{who}")
            }
        }
    }
}

/// Compares a time with what it was before: `2.1 times as long (630 instead of 300 µs)`.
pub(crate) fn compared(usual: f64, now: f64) -> String {
    let times = format!("{} instead of {}", seconds(now), seconds(usual));
    let part = |it: f64| short_percents(it, it);
    if usual <= 0.0 {
        format!("longer ({times})")
    } else if now >= MULTIPLE * usual {
        format!("{:.1} times as long ({times})", now / usual)
    } else if now >= usual {
        format!("{} longer ({times})", part(now / usual - 1.0))
    } else {
        format!("{} less long ({times})", part(1.0 - now / usual))
    }
}

/// Writes an ordinal number: `3rd`, `50th`.
fn ordinal(number: u64) -> String {
    let end = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{}{end}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(change: &IterationChange) -> String {
        change.sentence(1000)
    }

    #[test]
    fn a_change_says_when_who_and_how_much() {
        let step = IterationChange {
            kind: Kind::Step,
            iteration: 700,
            iterations: 301,
            who: Some("PE 3".into()),
            usual_computing_seconds: 3e-4,
            computing_seconds: 6.3e-4,
            computing: true,
            ..IterationChange::default()
        };
        assert_eq!(
            said(&step),
            "from iteration 700 of 1,000 on, PE 3 computes 2.1 times as long (630 µs instead of 300 µs)"
        );
        let all = IterationChange { who: None, computing_seconds: 3.6e-4, ..step.clone() };
        assert_eq!(
            said(&all),
            "from iteration 700 of 1,000 on, processes compute 20 % longer (360 µs instead of 300 µs)"
        );
        let (usual_seconds, seconds) = (1e-3, 1.2e-3);
        let drift =
            IterationChange { kind: Kind::Drift, computing: false, usual_seconds, seconds, ..all };
        assert_eq!(
            said(&drift),
            "iterations take longer and longer over 1,000 iterations: 20 % longer (1.20 ms instead of \
             1.00 ms) at the end; computing does not explain it"
        );
        let less = IterationChange { computing_seconds: 1.5e-4, ..step };
        assert_eq!(
            said(&less),
            "from iteration 700 of 1,000 on, PE 3 computes 50 % less long (150 µs instead of 300 µs)"
        );
    }

    #[test]
    fn outliers_say_which_iterations() {
        let some = IterationChange {
            kind: Kind::Outliers,
            iteration: 50,
            iterations: 20,
            every: Some(50),
            usual_seconds: 1e-3,
            seconds: 5e-3,
            ..IterationChange::default()
        };
        let size = "5.0 times as long (5.00 ms instead of 1.00 ms)";
        assert_eq!(said(&some), format!("every 50th iteration from 50 on takes {size}"));
        let uneven = IterationChange { every: None, who: Some("Rank 3".into()), ..some.clone() };
        assert_eq!(
            said(&uneven),
            format!(
                "20 of 1,000 iterations, the first of them 50, take {size}; rank 3 computes longer there"
            )
        );
        let one = IterationChange { every: None, iterations: 1, ..some };
        assert_eq!(said(&one), format!("iteration 50 of 1,000 takes {size}"));
        assert_eq!(["1st", "2nd", "3rd", "11th", "112th"], [1, 2, 3, 11, 112].map(ordinal));
    }
}
