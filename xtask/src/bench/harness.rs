//! Fair comparison of programs.
//!
//! Machines drift: clock rates change, other programs start. So the contestants of a group run alternately, A B A B …,
//! after one warm-up each, and a ratio is taken between medians of runs from the same minutes. The range of the ratios
//! of single rounds says how far to trust it. Contestants that do not report the same number of events and, where they
//! have one, the same checksum did different work; that is an error and not a result.

use std::fmt;
use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use crate::process;

/// Report of one run of a contestant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    /// Number of events that the run handled.
    pub(crate) events: u64,
    /// Time of the run by the contestant's own clock.
    pub(crate) time: Duration,
    /// Checksum over the events, if it is comparable between contestants.
    pub(crate) checksum: Option<u64>,
    /// Largest amount of memory in use, in bytes, if the contestant reports it.
    pub(crate) peak: Option<u64>,
}

impl Sample {
    /// Parses the line `events=<n> seconds=<s>`, with optional `checksum=<hex>` and `peak=<bytes>`.
    pub(crate) fn parse(output: &str) -> Result<Sample> {
        let field = |name: &str| {
            let mut words = output.split_whitespace();
            words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
        };
        let needed = |name: &str| {
            field(name).with_context(|| format!("no `{name}=` in `{}`", output.trim()))
        };
        let seconds: f64 = needed("seconds")?.parse()?;
        Ok(Sample {
            events: needed("events")?.parse()?,
            time: Duration::try_from_secs_f64(seconds)?,
            checksum: field("checksum").map(|it| u64::from_str_radix(it, 16)).transpose()?,
            peak: field("peak").map(str::parse).transpose()?,
        })
    }
}

/// Function that runs a contestant once.
type Run = Box<dyn FnMut() -> Result<Sample>>;

/// One of the programs or functions that are compared.
pub(crate) struct Contestant {
    name: &'static str,
    how: String,
    run: Run,
}

impl Contestant {
    /// Creates a contestant from a closure. `how` tells the reader what it does.
    pub(crate) fn new(
        name: &'static str,
        how: String,
        run: impl FnMut() -> Result<Sample> + 'static,
    ) -> Contestant {
        let run = Box::new(run);
        Contestant { name, how, run }
    }

    /// Creates a contestant from a program that prints its sample.
    pub(crate) fn command(name: &'static str, mut command: Command) -> Contestant {
        let how = format!("$ {}", process::display(&command));
        Contestant::new(name, how, move || {
            let output = process::output(&mut command)?;
            Sample::parse(&output)
        })
    }
}

/// Contestants that do the same work. The first is the reference for the others.
pub(crate) struct Group {
    /// Description of the work.
    pub(crate) title: &'static str,
    /// Factor by which the others should be faster than the first.
    pub(crate) goal: f64,
    /// The contestants, in the order in which they run.
    pub(crate) contestants: Vec<Contestant>,
}

impl Group {
    /// Runs every contestant once to warm up, and then all of them in turn for a number of rounds.
    pub(crate) fn measure(mut self, rounds: usize) -> Result<Comparison> {
        for contestant in &mut self.contestants {
            sample(contestant)?;
        }
        let mut samples = vec![Vec::new(); self.contestants.len()];
        for _ in 0..rounds {
            for (contestant, samples) in self.contestants.iter_mut().zip(&mut samples) {
                samples.push(sample(contestant)?);
            }
        }
        let results = self
            .contestants
            .into_iter()
            .zip(samples)
            .map(|(contestant, samples)| Measured {
                name: contestant.name,
                how: contestant.how,
                samples,
            })
            .collect();
        Comparison::new(self.title, self.goal, results)
    }
}

fn sample(contestant: &mut Contestant) -> Result<Sample> {
    (contestant.run)().with_context(|| format!("contestant `{}`", contestant.name))
}

/// A contestant and its samples.
#[derive(Debug)]
struct Measured {
    name: &'static str,
    how: String,
    samples: Vec<Sample>,
}

impl Measured {
    fn seconds(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.time.as_secs_f64()).collect()
    }

    fn median(&self) -> f64 {
        median(&self.seconds())
    }
}

/// Result of a group.
#[derive(Debug)]
pub(crate) struct Comparison {
    title: &'static str,
    goal: f64,
    events: u64,
    checksum: Option<u64>,
    results: Vec<Measured>,
}

impl Comparison {
    /// Collects the results. Fails if the contestants did different work.
    fn new(title: &'static str, goal: f64, results: Vec<Measured>) -> Result<Comparison> {
        let first = results
            .iter()
            .find_map(|result| result.samples.first())
            .copied()
            .with_context(|| format!("{title}: nothing was measured"))?;
        let samples = || results.iter().flat_map(|it| it.samples.iter().map(move |one| (it, one)));
        let checksum = samples().find_map(|(_, sample)| sample.checksum);
        for (result, sample) in samples() {
            let differs = sample.checksum.is_some() && sample.checksum != checksum;
            if sample.events != first.events || differs {
                bail!(
                    "{title}: {} reports {} events, checksum {:016x}, but {} reports {}, {:016x}",
                    result.name,
                    sample.events,
                    sample.checksum.unwrap_or_default(),
                    results[0].name,
                    first.events,
                    checksum.unwrap_or_default()
                );
            }
        }
        Ok(Comparison { title, goal, events: first.events, checksum, results })
    }

    /// Returns `true` if all others are faster than the first by the factor of the goal.
    pub(crate) fn meets_goal(&self) -> bool {
        self.ratios().iter().all(|ratio| ratio.of_medians >= self.goal)
    }

    /// Returns the median time of the last contestant, in seconds.
    pub(crate) fn median_of_last(&self) -> f64 {
        self.results.last().map_or(f64::NAN, Measured::median)
    }

    /// Returns the shortest time of the last contestant, in seconds.
    pub(crate) fn fastest_of_last(&self) -> f64 {
        let seconds = self.results.last().map(Measured::seconds).unwrap_or_default();
        seconds.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Returns the description of the work.
    pub(crate) fn title(&self) -> &'static str {
        self.title
    }

    /// Returns the ratio of each contestant but the first to the first.
    fn ratios(&self) -> Vec<Ratio> {
        let Some((first, others)) = self.results.split_first() else {
            return Vec::new();
        };
        others.iter().map(|other| Ratio::between(&first.seconds(), &other.seconds())).collect()
    }
}

/// Factor by which one contestant is faster than another.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ratio {
    of_medians: f64,
    lowest: f64,
    highest: f64,
}

impl Ratio {
    /// Compares times of the same rounds. A ratio above 1 means faster than `reference`.
    fn between(reference: &[f64], other: &[f64]) -> Ratio {
        let rounds = reference.iter().zip(other).map(|(a, b)| a / b);
        Ratio {
            of_medians: median(reference) / median(other),
            lowest: rounds.clone().fold(f64::INFINITY, f64::min),
            highest: rounds.fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// Returns the median, which is the mean of the two middle values for an even count, or NaN for no values.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} events", self.title, self.events)?;
        match self.checksum {
            Some(checksum) => writeln!(f, ", checksum {checksum:016x}")?,
            None => writeln!(f)?,
        }
        writeln!(
            f,
            "  {:<18} {:>10} {:>12} {:>8}  {:<15} goal",
            "", "median s", "M events/s", "ratio", "single rounds"
        )?;
        let ratios = self.ratios();
        for (index, result) in self.results.iter().enumerate() {
            let seconds = result.median();
            let rate = self.events as f64 / seconds / 1e6;
            write!(f, "  {:<18} {seconds:>10.4} {rate:>12.1}", result.name)?;
            match index.checked_sub(1).map(|other| ratios[other]) {
                None => writeln!(f, " {:>8.2}", 1.0)?,
                Some(ratio) => self.write_ratio(f, ratio)?,
            }
        }
        self.results.iter().try_for_each(|result| writeln!(f, "  {}", result.how))
    }
}

impl Comparison {
    fn write_ratio(&self, f: &mut fmt::Formatter<'_>, ratio: Ratio) -> fmt::Result {
        let range = format!("{:.2} to {:.2}", ratio.lowest, ratio.highest);
        let verdict = if ratio.of_medians >= self.goal { "met" } else { "missed" };
        let goal = self.goal;
        writeln!(f, " {:>8.2}  {range:<15} {goal:.2} {verdict}", ratio.of_medians)
    }
}

/// Describes the machine and the time of a benchmark, without which its numbers mean nothing.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    format!("{}, {cores} cores, {}", cpu_model(&information), iso_date(seconds))
}

fn cpu_model(information: &str) -> &str {
    information
        .lines()
        .find(|line| line.starts_with("model name"))
        .and_then(|line| line.split_once(':'))
        .map_or("unknown processor", |(_, model)| model.trim())
}

/// Formats seconds since 1970 as date and time in UTC. The computation lets the year start in March, so that the leap
/// day comes last and the months follow one formula.
fn iso_date(seconds: u64) -> String {
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let days = days + 719_468; // from 0000-03-01
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    fn contestant(name: &'static str, seconds: f64, checksum: u64) -> Contestant {
        Contestant::new(name, String::new(), move || {
            Ok(Sample {
                events: 10,
                time: Duration::from_secs_f64(seconds),
                checksum: Some(checksum),
                peak: None,
            })
        })
    }

    fn group(contestants: Vec<Contestant>) -> Group {
        Group { title: "test", goal: 2.0, contestants }
    }

    #[test]
    fn medians() {
        assert!(median(&[]).is_nan());
        assert_eq!(median(&[3.0]), 3.0);
        assert_eq!(median(&[9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), 3.0);
    }

    #[test]
    fn ratios_of_medians_and_of_rounds() {
        let ratio = Ratio::between(&[10.0, 12.0, 11.0], &[5.0, 2.0, 4.0]);
        assert_eq!(ratio.of_medians, 11.0 / 4.0);
        assert_eq!((ratio.lowest, ratio.highest), (2.0, 6.0));
    }

    #[test]
    fn contestants_alternate_after_one_warm_up_each() {
        let calls = Rc::new(RefCell::new(String::new()));
        let recording = |name: &'static str| {
            let calls = Rc::clone(&calls);
            Contestant::new(name, String::new(), move || {
                calls.borrow_mut().push_str(name);
                Sample::parse("events=1 seconds=1 checksum=0")
            })
        };
        let pair = vec![recording("A"), recording("B")];
        let comparison = group(pair).measure(3).expect("equal work");
        assert_eq!(*calls.borrow(), "ABABABAB");
        assert_eq!(comparison.results[0].samples.len(), 3);
    }

    #[test]
    fn goals_compare_with_the_first() {
        let pair = |second| vec![contestant("a", 3.0, 7), contestant("b", second, 7)];
        assert!(group(pair(1.5)).measure(2).expect("equal").meets_goal());
        assert!(!group(pair(1.6)).measure(2).expect("equal").meets_goal());
    }

    #[test]
    fn different_work_is_an_error() {
        let pair = vec![contestant("a", 1.0, 7), contestant("b", 1.0, 8)];
        let error = group(pair).measure(1).expect_err("checksums differ");
        assert!(error.to_string().contains("b reports 10 events"), "{error}");
        assert!(group(Vec::new()).measure(1).is_err());
    }

    #[test]
    fn samples_are_read_and_damage_is_named() {
        let sample = Sample::parse("events=12 seconds=0.250000000 checksum=00ff\n").expect("valid");
        assert_eq!(sample.events, 12);
        assert_eq!(sample.time, Duration::from_millis(250));
        assert_eq!(sample.checksum, Some(255));
        let sample = Sample::parse("events=12 seconds=1 peak=4096").expect("valid");
        assert_eq!((sample.checksum, sample.peak), (None, Some(4096)));
        let error = Sample::parse("events=12 checksum=0").expect_err("no time");
        assert!(error.to_string().contains("seconds"), "{error}");
        assert!(Sample::parse("events=1 seconds=-1 checksum=0").is_err());
    }

    #[test]
    fn the_table_holds_what_a_reader_needs() {
        let pair = vec![contestant("a", 3.0, 7), contestant("b", 1.0, 7)];
        let text = group(pair).measure(1).expect("equal").to_string();
        for part in ["10 events", "0000000000000007", "3.00", "2.00 met"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn dates() {
        assert_eq!(iso_date(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso_date(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(iso_date(1_735_689_599), "2024-12-31T23:59:59Z");
        assert_eq!(iso_date(4_107_542_400), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn the_processor_is_named() {
        assert_eq!(cpu_model("processor: 0\nmodel name\t: Foo 3\n"), "Foo 3");
        assert_eq!(cpu_model(""), "unknown processor");
    }
}
