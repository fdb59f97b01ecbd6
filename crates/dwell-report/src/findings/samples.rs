//! Sentences about the functions that compute in the stretches that others waited for.

use dwell_model::text::Place;
use dwell_model::units::seconds;
use serde::{Deserialize, Serialize};

use super::{Cause, Step};

objects! {
    /// Processor time of the computing of a cause, as samples of the recorder divide it.
    Sampled {
        /// Set if the processor time was read where nearly all of the computing begins and ends; otherwise it is the sum of samples.
        exact: bool,
        /// Set if samples of these processes follow; otherwise a stretch without samples may not have been sampled.
        goes_on: bool,
        /// Processor time of the process that caused most, or the mean over `node`.
        on_core_seconds: f64,
        /// Mean processor time of the other locations; null if no other computes there.
        others_on_core_seconds: Option<f64>,
        /// Mean time in which the other locations were ready but had no core; null if it is not known or no other computes there.
        others_ready_seconds: Option<f64>,
        /// Number of samples of the other locations.
        others_samples: u64,
        /// Functions that take longer there than at the others, most first; at most 5. Those whose difference may be chance are
        /// left out.
        parts: Vec<Computed>,
        /// Time in which the process that caused most was ready but had no core, or the mean over `node`; null if it was on a
        /// core but for moments, or if the system does not count it.
        ready_seconds: Option<f64>,
        /// Number of samples of the processes that stand out.
        samples: u64,
    }

    /// A function that computes in the stretches of a cause.
    Computed {
        /// Source file; null if it is not known.
        file: Option<String>,
        /// Name of the function.
        function: String,
        /// Function of a library in which it spent most of that time; null if there is none.
        inside: Option<String>,
        /// Line with most samples, counted from 1; null if it is not known.
        line: Option<u32>,
        /// By how much `seconds` may be wrong, with a probability of 5 %.
        margin_seconds: f64,
        /// Number of samples of the processes that stand out.
        samples: u64,
        /// Processor time that it takes more than at the others; all of it if there are no others.
        seconds: f64,
    }

    /// Processor time of the run outside of calls of runtimes, as samples of the recorder divide it.
    FunctionTimes {
        /// Functions with most processor time, most first; at most 20.
        list: Vec<FunctionTime>,
        /// Number of samples of all functions.
        samples: u64,
        /// Processor time of all functions.
        seconds: f64,
    }

    /// A function in which the program computes.
    FunctionTime {
        /// Source file of `line`; null if it is not known.
        file: Option<String>,
        /// Name of the function.
        function: String,
        /// Function of a library in which it spent most of that time; null if there is none.
        inside: Option<String>,
        /// Line with most samples, counted from 1; null if it is not known.
        line: Option<u32>,
        /// By how much `seconds` may be wrong, with a probability of 5 %.
        margin_seconds: f64,
        /// Process with most processor time in the function.
        most_process: String,
        /// Processor time of that process in the function.
        most_seconds: f64,
        /// Number of samples in it.
        samples: u64,
        /// Processor time of all processes.
        seconds: f64,
        /// The time as a part of that of all functions, from 0 to 1.
        share: f64,
    }
}

/// Least number of samples from which a function is told.
const FEWEST: u64 = 20;

/// Time in seconds in which a process on a core has samples for certain.
const LONG: f64 = 0.2;

/// Greatest number of functions in a sentence.
const NAMED: usize = 3;

/// Margin from which on no time is told, as a part of what is explained.
const ROUGH: f64 = 0.2;

impl Cause {
    /// Says which functions take the time that others waited for, as a sentence without a full stop. `None` without samples.
    pub fn inside(&self) -> Option<String> {
        let sampled = self.sampled.as_ref()?;
        let own = self.computing_seconds?;
        if sampled.samples == 0 && own >= LONG {
            return Some(sampled.without_samples(own).into());
        }
        if sampled.samples < FEWEST {
            let samples = super::words::counted(sampled.samples, "sample", "samples");
            return Some(format!("{samples} there: too few to tell the line; raise --sample"));
        }
        let (whole, kind) = match self.others_seconds {
            Some(others) if others < own && !self.spread => (own - others, " more"),
            _ => (own, ""),
        };
        let off = whole - (sampled.on_core_seconds - sampled.others_on_core_seconds.unwrap_or(0.0));
        let off = off.min(whole);
        let off = (off > whole / 4.0).then(|| {
            let why = sampled.why_off_core(off);
            format!("{} of the {}{kind} are not on a core{why}", seconds(off), seconds(whole))
        });
        // A process without a core of its own computes for less time than passes, so a part can be more than the whole.
        let takes_more = |it: &Computed| it.seconds > whole + it.margin_seconds;
        let is_rough =
            off.is_some() && !sampled.exact || sampled.parts.first().is_some_and(takes_more);
        let mut said: Vec<String> = Vec::new();
        match sampled.parts.first() {
            // Without a core of its own, a thread has most intervals of its timer ended by calls, which hides the beginnings of
            // stretches.
            Some(first) if first.margin_seconds > ROUGH * whole || is_rough => {
                let samples = super::words::counted(first.samples, "sample", "samples");
                let there = if off.is_some() { "on a core, most of it" } else { "most of it" };
                said.push(format!("{there} in {} ({samples})", first.place()));
            }
            Some(first) => {
                let (part, whole) = (seconds(first.seconds), seconds(whole));
                said.push(format!("about {part} of the {whole}{kind} are in {}", first.place()));
                let rest = sampled.parts.iter().take(NAMED).skip(1);
                let clear = rest.filter(|it| it.margin_seconds < it.seconds / 2.0);
                said.extend(clear.map(|it| format!("{} in {}", seconds(it.seconds), it.place())));
            }
            None if off.is_none() && sampled.others_are_blank() => {
                said.push("the others have no samples there to compare with: record again".into());
            }
            None if off.is_none() => said.push("no function takes clearly more of it".into()),
            None => {}
        }
        said.extend(off);
        Some(said.join("; "))
    }

    /// Returns the line that takes most of the time that others waited for, if samples tell it.
    pub(super) fn line(&self) -> Option<Step> {
        let first = self.sampled.as_ref()?.parts.first()?;
        let Computed { file, line, function, .. } = first;
        line.map(|_| Step {
            region: function.clone(),
            file: file.clone(),
            line: *line,
            ..Step::default()
        })
    }
}

impl Sampled {
    /// Returns `true` if the others have no samples where they must have.
    fn others_are_blank(&self) -> bool {
        self.others_samples == 0 && self.others_on_core_seconds.is_some_and(|it| it >= LONG)
    }

    /// Says why there are no samples of stretches that take `own` seconds.
    fn without_samples(&self, own: f64) -> &'static str {
        if self.ready_seconds.is_some_and(|it| it > own / 2.0) {
            "it is ready there and has no core"
        } else if self.on_core_seconds > own / 4.0 {
            "it computes there, but no timer ended: record again, or raise --sample"
        } else if self.goes_on || self.exact {
            "it sleeps there or waits for the system: no sample found it on a core"
        } else {
            "it has no samples from there on: it sleeps, or could not be sampled"
        }
    }
}

impl Sampled {
    /// Says what a process does in the seconds that it spends off the cores beyond the others, if that is known.
    fn why_off_core(&self, off: f64) -> String {
        const READY: &str = "it is ready and there is none";
        const ASLEEP: &str = "it sleeps or waits for the system";
        let Some(ready) = self.ready_seconds else { return String::new() };
        let ready = (ready - self.others_ready_seconds.unwrap_or(0.0)).clamp(0.0, off);
        match ready / off {
            share if share > 0.9 => format!(": {READY}"),
            share if share < 0.1 => format!(": {ASLEEP}"),
            _ => format!(": for {} {READY}, for {} {ASLEEP}", seconds(ready), seconds(off - ready)),
        }
    }
}

impl Computed {
    /// Names the function with its line.
    fn place(&self) -> String {
        let Self { function, file, line, inside, .. } = self;
        let (line, inside) = (file.as_deref().zip(*line), inside.as_deref());
        Place { function, line, inside }.to_string()
    }
}

impl FunctionTime {
    /// Names the function with its line.
    pub fn place(&self) -> String {
        let Self { function, file, line, inside, .. } = self;
        let (line, inside) = (file.as_deref().zip(*line), inside.as_deref());
        Place { function, line, inside }.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(function: &str, seconds: f64, margin_seconds: f64) -> Computed {
        Computed {
            function: function.into(),
            file: Some("src/heat.c".into()),
            line: Some(88),
            seconds,
            margin_seconds,
            samples: 40,
            ..Computed::default()
        }
    }

    fn cause(sampled: Sampled) -> Cause {
        Cause {
            computing_seconds: Some(0.612),
            others_seconds: Some(0.220),
            sampled: Some(sampled),
            ..Cause::default()
        }
    }

    #[test]
    fn the_function_with_the_difference_is_named() {
        let copies = Computed { inside: Some("memcpy".into()), ..part("pack", 0.015, 0.004) };
        let sampled = Sampled {
            samples: 60,
            on_core_seconds: 0.610,
            others_on_core_seconds: Some(0.220),
            parts: vec![part("relax", 0.370, 0.030), copies],
            ..Sampled::default()
        };
        let said = cause(sampled.clone()).inside().unwrap();
        assert_eq!(
            said,
            "about 370 ms of the 392 ms more are in relax at heat.c:88; \
             15.0 ms in memcpy, called by pack at heat.c:88"
        );
        let rough = Sampled { parts: vec![part("relax", 0.370, 0.130)], ..sampled.clone() };
        let said = cause(rough).inside().unwrap();
        assert_eq!(said, "most of it in relax at heat.c:88 (40 samples)");
        let more = Sampled { parts: vec![part("relax", 0.430, 0.030)], ..sampled.clone() };
        let said = cause(more).inside().unwrap();
        assert_eq!(said, "most of it in relax at heat.c:88 (40 samples)");
        let few = Sampled { samples: 1, ..sampled.clone() };
        assert!(cause(few).inside().unwrap().starts_with("1 sample there: too few"));
        let unknown = Sampled { samples: 0, on_core_seconds: 0.0, ..sampled.clone() };
        assert!(cause(unknown.clone()).inside().unwrap().ends_with("could not be sampled"));
        for none in [
            Sampled { goes_on: true, ..unknown.clone() },
            Sampled { exact: true, on_core_seconds: 0.1, ..unknown.clone() },
        ] {
            assert!(cause(none).inside().unwrap().starts_with("it sleeps there"));
        }
        let lost = Sampled { exact: true, on_core_seconds: 0.6, ..unknown };
        assert!(cause(lost).inside().unwrap().starts_with("it computes there, but no timer"));
        let shared = Sampled { on_core_seconds: 0.450, ..sampled.clone() };
        let off = "; 162 ms of the 392 ms more are not on a core";
        let said = cause(shared.clone()).inside().unwrap();
        assert_eq!(said, format!("on a core, most of it in relax at heat.c:88 (40 samples){off}"));
        let said = cause(Sampled { exact: true, ..shared }).inside().unwrap();
        assert!(said.starts_with("about 370 ms of the 392 ms more are in relax"), "{said}");
        let asleep = Sampled { on_core_seconds: 0.230, parts: Vec::new(), ..sampled };
        let said = "382 ms of the 392 ms more are not on a core";
        assert_eq!(cause(asleep.clone()).inside().unwrap(), said);
        for (ready, others, why) in [
            (0.384, None, "it is ready and there is none"),
            (0.390, Some(0.380), "it sleeps or waits for the system"),
            (
                0.190,
                Some(0.090),
                "for 100 ms it is ready and there is none, for 282 ms it sleeps or waits for the system",
            ),
        ] {
            let (ready_seconds, others_ready_seconds) = (Some(ready), others);
            let known = Sampled { ready_seconds, others_ready_seconds, ..asleep.clone() };
            assert_eq!(cause(known).inside().unwrap(), format!("{said}: {why}"));
        }
        assert_eq!(Cause::default().inside(), None);
    }
}
