//! Comparison of the waits that a program measured itself with those that Dwell found.
//!
//! A row is one line of a program with one pattern. The true time is the sum of all waits there, over all processes;
//! Dwell's bounds are the sums over all findings of the pattern in that line. A delay that others pass on has a row of its
//! own: see [`causes`]. So has what a program knows about the whole run: see [`whole`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{causes, whole};

/// Fraction of the true time by which it may lie outside of the bounds; [`SLACK`] is the same in seconds.
const PART: f64 = 0.02;
const SLACK: f64 = 2e-3;
/// Seconds that may pass between a clock reading of the program and the recorded time.
const READING: f64 = 50e-6;
/// Fraction of the true time from which on a culprit must be named.
const SHARE: f64 = 0.2;
/// Fraction of the time from which on a balanced program must know of a finding.
const NOTABLE: f64 = 0.01;
/// Same as [`NOTABLE`] for a program that knows of all its polling, as a fraction of the time without start-up and shutdown.
const NOTABLE_IN_RUN: f64 = 0.02;
/// Pattern of a loop over one-sided calls, which covers all patterns but completions: a call of the loop may wait for its
/// target, and the loop may poll.
const SPIN: &str = "spin";

/// Findings that a program does not know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extra {
    Allowed,
    /// Only polling is allowed.
    Balanced,
    /// Nothing is allowed.
    Exact,
}

/// Headings of the columns. Times are in milliseconds.
pub(super) const HEAD: &str = "mode                      line pattern                 truth ms        dwell ms         culprit truth / dwell    verdict";

/// A wait that a program measured.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Truth {
    pub(super) mode: String,
    pub(super) pattern: String,
    pub(super) line: u64,
    pub(super) culprit: i64,
    pub(super) seconds: f64,
    /// Length of the call that waited; for a cause, the part of its cost that others passed on.
    pub(super) length: f64,
}

/// Identity of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) line: u64,
    pub(super) pattern: String,
    /// Mode of the program, or `*` if several modes reach the line.
    pub(super) mode: String,
}

impl Key {
    /// Returns the name by which known failures are found.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.mode, self.pattern)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} in line {}", self.mode, self.pattern, self.line)
    }
}

/// Verdict on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passes,
    /// Dwell found nothing in the line.
    Missed,
    /// Dwell found a wait in the line, but of another pattern.
    WrongPattern,
    BelowBounds,
    AboveBounds,
    WrongCulprit,
    /// The upper bound is notable where a program that knows of everything waits for next to nothing.
    TooMuch,
    /// Dwell found a wait that the program does not know of.
    Unknown,
    /// The first cause is in another line.
    WrongLine,
    /// Too little of the cost of a cause is passed on.
    NotPassedOn,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Passes => "ok",
            Self::Missed => "MISSED",
            Self::WrongPattern => "WRONG PATTERN",
            Self::BelowBounds => "TRUTH BELOW BOUNDS",
            Self::AboveBounds => "TRUTH ABOVE BOUNDS",
            Self::WrongCulprit => "WRONG CULPRIT",
            Self::TooMuch => "CLAIMS TOO MUCH",
            Self::Unknown => "UNKNOWN TO THE PROGRAM",
            Self::WrongLine => "WRONG LINE",
            Self::NotPassedOn => "NOT PASSED ON",
        }
    }
}

/// A row of the table.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) key: Key,
    pub(super) verdict: Verdict,
    pub(super) truth: f64,
    pub(super) found: Found,
    pub(super) culprits: Vec<(i64, f64)>,
}

impl Row {
    /// Returns `true` if the row is about a wait for progress.
    pub(super) fn is_progress(&self) -> bool {
        self.key.pattern == "wait_for_progress"
    }

    /// Returns `true` if the program waited there at all, so that Dwell can be wrong about it.
    pub(super) fn waits(&self) -> bool {
        self.truth > SLACK
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |seconds: f64| format!("{:.1}", 1e3 * seconds);
        let who = |list: &[(i64, f64)]| match list {
            [] => String::from("-"),
            _ => list
                .iter()
                .take(3)
                .map(|it| format!("{}:{}", it.0, ms(it.1)))
                .collect::<Vec<_>>()
                .join(" "),
        };
        let Found { low, high, ref targets, .. } = self.found;
        let bounds =
            if high - low < 5e-5 { ms(low) } else { format!("{} .. {}", ms(low), ms(high)) };
        let mode: String = self.key.mode.chars().take(24).collect();
        let culprits = format!("{} / {}", who(&self.culprits), who(targets));
        write!(
            f,
            "  {mode:<24} {:>4} {:<23} {:>8} {bounds:>17}  {culprits:<30} {}",
            self.key.line,
            self.key.pattern,
            ms(self.truth),
            self.verdict.name()
        )
    }
}

/// Reads the waits that the processes of a run measured.
pub(super) fn truths(folder: &Path) -> Result<Vec<Truth>> {
    let mut truths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_stem().is_some_and(|it| it == "truth") && path.is_file() {
            let text = fs::read_to_string(&path)?;
            for line in text.lines() {
                let truth = truth(line);
                truths.push(truth.with_context(|| format!("{}: `{line}`", path.display()))?);
            }
        }
    }
    Ok(truths)
}

/// Parses a line that a program wrote.
pub(super) fn truth(line: &str) -> Option<Truth> {
    let mut words = line.split_whitespace();
    let (mode, pattern) = (words.next()?.to_owned(), words.next()?.to_owned());
    let line = words.next()?.parse().ok()?;
    let _waiter: u32 = words.next()?.parse().ok()?;
    let culprit = words.next()?.parse().ok()?;
    let mut seconds = || Some(words.next()?.parse::<u64>().ok()? as f64 / 1e9);
    Some(Truth { mode, pattern, line, culprit, seconds: seconds()?, length: seconds()? })
}

/// Findings of one pattern in one line.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Processes that were waited for and for how long, the longest first.
    pub(super) targets: Vec<(i64, f64)>,
    /// Set if findings of other patterns are in the line.
    pub(super) others: bool,
    /// Last call on the call path.
    pub(super) call: String,
}

impl Found {
    fn add(&mut self, other: &Found) {
        self.low += other.low;
        self.high += other.high;
        other.targets.iter().for_each(|&(who, seconds)| self.blame(who, seconds));
    }

    fn blame(&mut self, who: i64, seconds: f64) {
        match self.targets.iter_mut().find(|it| it.0 == who) {
            Some(known) => known.1 += seconds,
            None => self.targets.push((who, seconds)),
        }
        self.targets.sort_by(|one, two| two.1.total_cmp(&one.1));
    }
}

/// Findings of an archive, by line and pattern.
struct Findings {
    found: BTreeMap<(u64, String), Found>,
    /// Time of all processes, in seconds, in all and without start-up and shutdown.
    time: f64,
    run: f64,
}

impl Findings {
    fn read(json: &Value) -> Result<Findings> {
        let list = |key: &str| json[key].as_array().cloned().unwrap_or_default();
        let mut found: BTreeMap<(u64, String), Found> = BTreeMap::new();
        let polling = list("polling").into_iter().map(|it| (String::from("polling"), it));
        let waits = list("findings").into_iter().map(|it| (pattern(&it), it));
        for (pattern, it) in waits.chain(polling) {
            let Some(step) = it["path"].as_array().and_then(|path| path.last()) else { continue };
            let entry = found.entry((step["line"].as_u64().unwrap_or(0), pattern)).or_default();
            let seconds = it["seconds"].as_f64().unwrap_or(0.0);
            // A loop goes on until it asks again, so it lasts longer than it waits.
            let release = it["seconds_until_release"].as_f64().filter(|it| *it > 0.0);
            entry.low += release.unwrap_or(seconds);
            entry.high += it["seconds_at_most"].as_f64().unwrap_or(seconds);
            step["region"].as_str().unwrap_or("").clone_into(&mut entry.call);
            for target in it["targets"].as_array().into_iter().flatten() {
                let Some(who) = process(target["who"].as_str().unwrap_or("")) else { continue };
                entry.blame(who, target["seconds_at_most"].as_f64().unwrap_or(0.0));
            }
        }
        let time = json["time_seconds"].as_f64().context("findings.json has no time_seconds")?;
        let run = json["run_seconds"].as_f64().unwrap_or(time);
        Ok(Findings { found, time, run })
    }

    fn of(&self, line: u64, pattern: &str) -> Found {
        if pattern == SPIN {
            let mut all = Found::default();
            self.found
                .iter()
                .filter(|(key, _)| key.0 == line && !is_completion(&key.1))
                .for_each(|(_, it)| all.add(it));
            return all;
        }
        let mut found = self.found.get(&(line, pattern.to_owned())).cloned().unwrap_or_default();
        found.others = self.found.iter().any(|(key, it)| {
            key.0 == line && key.1 != pattern && !is_completion(&key.1) && it.high > SLACK
        });
        found
    }
}

fn is_completion(pattern: &str) -> bool {
    pattern.ends_with("_completion")
}

/// Returns the pattern of a finding as programs name it: they do not distinguish one target from several.
fn pattern(finding: &Value) -> String {
    let name = finding["pattern"].as_str().unwrap_or("");
    name.trim_end_matches("_multi").trim_end_matches("_wrong_order").to_owned()
}

/// Returns the number of a process from a name such as `PE 3`. Images count from 1.
pub(super) fn process(name: &str) -> Option<i64> {
    let (kind, number) = name.rsplit_once(' ')?;
    let number: i64 = number.parse().ok()?;
    Some(if kind.ends_with("Image") { number - 1 } else { number })
}

/// Judges every line with a wait that a program measured. Unless `extra` allows them, it also judges findings
/// that the program does not know of.
pub(super) fn judge(truths: &[Truth], findings: &str, extra: Extra) -> Result<Vec<Row>> {
    let json: Value = serde_json::from_str(findings).context("findings.json is not JSON")?;
    let findings = Findings::read(&json)?;
    let (causes, others): (Vec<&Truth>, Vec<&Truth>) =
        truths.iter().partition(|it| causes::is_cause(it));
    let (whole, waits): (Vec<&Truth>, Vec<&Truth>) =
        others.into_iter().partition(|it| whole::is_whole(it));
    let mut lines: BTreeMap<(u64, &str), Vec<&Truth>> = BTreeMap::new();
    for truth in &waits {
        lines.entry((truth.line, &truth.pattern)).or_default().push(truth);
    }
    let mut rows: Vec<Row> = lines
        .iter()
        .map(|(&(line, pattern), known)| row(line, pattern, known, &findings))
        .collect();
    if extra == Extra::Exact {
        let limit = NOTABLE_IN_RUN * findings.run;
        for row in &mut rows {
            row.verdict = exactly(row, limit);
        }
    }
    rows.extend(causes::row(&causes, &json));
    rows.extend(whole::rows(&whole, waits.iter().map(|it| it.seconds).sum(), &json));
    let known = |line: u64, pattern: &str| match is_completion(pattern) {
        true => lines.keys().any(|key| key.0 == line),
        false => [pattern, SPIN].iter().any(|it| lines.contains_key(&(line, *it))),
    };
    let notable = |pattern: &str| match extra {
        Extra::Exact => Some(NOTABLE_IN_RUN * findings.run),
        Extra::Balanced if pattern != "polling" => Some(NOTABLE * findings.time),
        _ => None,
    };
    let starts_or_ends =
        |call: &str| ["init", "finalize"].iter().any(|it| call.to_lowercase().contains(it));
    for ((line, pattern), found) in &findings.found {
        if notable(pattern).is_some_and(|it| found.high > it)
            && !known(*line, pattern)
            && !starts_or_ends(&found.call)
        {
            let mode = match extra {
                Extra::Exact => waits.iter().map(|it| it.mode.as_str()).find(is_mode),
                _ => None,
            };
            let mode = mode.unwrap_or(&found.call).to_owned();
            rows.push(Row {
                key: Key { line: *line, pattern: pattern.clone(), mode },
                verdict: Verdict::Unknown,
                truth: 0.0,
                found: found.clone(),
                culprits: Vec::new(),
            });
        }
    }
    Ok(rows)
}

/// Judges a row of a program that knows of everything. Where it waits for less than `limit`, nothing else may be wrong
/// than that Dwell finds more than that.
fn exactly(row: &Row, limit: f64) -> Verdict {
    match row.verdict {
        verdict if row.truth > limit => verdict,
        _ if row.found.high <= limit => Verdict::Passes,
        Verdict::Passes if row.found.high > row.truth + limit => Verdict::TooMuch,
        verdict => verdict,
    }
}

/// Returns `false` for what a program calls the time before and after its modes.
fn is_mode(name: &&str) -> bool {
    !["start", "end"].contains(name)
}

fn row(line: u64, pattern: &str, known: &[&Truth], findings: &Findings) -> Row {
    let modes: BTreeSet<&str> = known.iter().map(|it| it.mode.as_str()).collect();
    let mode = match modes.first() {
        Some(only) if modes.len() == 1 => *only,
        _ => "*",
    };
    let mut culprits: BTreeMap<i64, f64> = BTreeMap::new();
    for truth in known.iter().filter(|it| it.culprit >= 0) {
        *culprits.entry(truth.culprit).or_default() += truth.seconds;
    }
    let mut culprits: Vec<(i64, f64)> = culprits.into_iter().filter(|it| it.1 > 0.0).collect();
    culprits.sort_by(|one, two| two.1.total_cmp(&one.1));
    let truth = known.iter().map(|it| it.seconds).sum();
    let found = findings.of(line, pattern);
    let slack = SLACK.max(PART * truth).max(READING * known.len() as f64);
    let verdict = verdict(truth, slack, &culprits, &found);
    let key = Key { line, pattern: pattern.to_owned(), mode: mode.to_owned() };
    Row { key, verdict, truth, found, culprits }
}

fn verdict(truth: f64, slack: f64, culprits: &[(i64, f64)], found: &Found) -> Verdict {
    if found.high == 0.0 && truth > slack {
        return if found.others { Verdict::WrongPattern } else { Verdict::Missed };
    }
    if truth > found.high + slack {
        return Verdict::AboveBounds;
    }
    if truth < found.low - slack {
        return Verdict::BelowBounds;
    }
    if truth > slack && !blames(truth, slack, culprits, &found.targets) {
        return Verdict::WrongCulprit;
    }
    Verdict::Passes
}

/// Returns `true` if Dwell names every process with a large share of the true time, and names first the one with the
/// largest share or one with nearly as much.
fn blames(truth: f64, slack: f64, culprits: &[(i64, f64)], targets: &[(i64, f64)]) -> bool {
    let Some(&(_, most)) = culprits.first() else { return true };
    let named = |who: i64| targets.iter().any(|it| it.0 == who && it.1 > 0.0);
    let notable = culprits.iter().filter(|it| it.1 >= SHARE * truth && it.1 > slack);
    let first = targets.first().map(|it| it.0);
    let nearly = |it: &&(i64, f64)| it.1 >= 0.8 * most;
    notable.clone().all(|it| named(it.0))
        && culprits.iter().filter(nearly).any(|it| Some(it.0) == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINDINGS: &str = r#"{"time_seconds": 4.0, "findings": [
        {"pattern": "wait_for_progress_multi", "path": [{"line": 7, "region": "shmem_quiet"}],
         "seconds": 0.1, "seconds_at_most": 0.2, "targets": [{"who": "PE 3", "seconds_at_most": 0.2}]},
        {"pattern": "barrier_wait", "path": [{"line": 9, "region": "shmem_barrier_all"}],
         "seconds": 0.05, "seconds_at_most": 0.05, "targets": [{"who": "PE 1", "seconds_at_most": 0.05}]}],
        "polling": [{"path": [{"line": 11, "region": "MPI_Test"}], "seconds": 0.09,
         "seconds_until_release": 0.08, "targets": [{"who": "Rank 2", "seconds_at_most": 0.08}]}]}"#;

    fn verdicts(lines: &[&str], balanced: bool) -> Vec<Verdict> {
        let truths: Vec<Truth> = lines.iter().map(|it| truth(it).expect("a truth")).collect();
        let extra = if balanced { Extra::Balanced } else { Extra::Allowed };
        let rows = judge(&truths, FINDINGS, extra).expect("findings");
        rows.iter().map(|row| row.verdict).collect()
    }

    #[test]
    fn the_truth_has_to_lie_within_the_bounds() {
        let one = |ms: u64| {
            let line = format!("m wait_for_progress 7 1 3 {} 900000000", 1_000_000 * ms);
            verdicts(&[&line], false)
        };
        assert_eq!(one(150), [Verdict::Passes]);
        assert_eq!(one(99), [Verdict::Passes]);
        assert_eq!(one(97), [Verdict::BelowBounds]);
        assert_eq!(one(204), [Verdict::Passes]);
        assert_eq!(one(205), [Verdict::AboveBounds]);
    }

    #[test]
    fn a_loop_waits_until_its_release_or_a_little_longer() {
        let one = |ms: u64, culprit: u32| {
            verdicts(&[&format!("m polling 11 1 {culprit} {} 0", 1_000_000 * ms)], false)
        };
        assert_eq!(one(77, 2), [Verdict::BelowBounds]);
        assert_eq!(one(81, 2), [Verdict::Passes]);
        assert_eq!(one(81, 1), [Verdict::WrongCulprit]);
        assert_eq!(one(93, 2), [Verdict::AboveBounds]);
    }

    #[test]
    fn line_pattern_and_culprit_have_to_be_right() {
        let one = |line: &str| verdicts(&[line], false);
        assert_eq!(one("m wait_for_progress 7 1 2 150000000 0"), [Verdict::WrongCulprit]);
        assert_eq!(one("m late_signal 7 1 3 150000000 0"), [Verdict::WrongPattern]);
        assert_eq!(one("m wait_for_progress 8 1 3 150000000 0"), [Verdict::Missed]);
        assert_eq!(one("m wait_for_progress 8 1 3 1000000 0"), [Verdict::Passes]);
    }

    #[test]
    fn every_culprit_with_a_share_has_to_be_named() {
        let lines =
            ["m wait_for_progress 7 1 3 100000000 0", "m wait_for_progress 7 1 0 50000000 0"];
        assert_eq!(verdicts(&lines, false), [Verdict::WrongCulprit]);
        let lines =
            ["m wait_for_progress 7 1 3 100000000 0", "m wait_for_progress 7 1 0 5000000 0"];
        assert_eq!(verdicts(&lines, false), [Verdict::Passes]);
    }

    #[test]
    fn a_spinning_loop_covers_all_patterns_in_its_line() {
        let one = |line: &str| verdicts(&[line], false);
        assert_eq!(one("m spin 11 1 2 85000000 0"), [Verdict::Passes]);
        assert_eq!(one("m spin 7 1 3 150000000 0"), [Verdict::Passes]);
        assert_eq!(one("m spin 7 1 1 150000000 0"), [Verdict::WrongCulprit]);
    }

    #[test]
    fn exact_programs_know_of_their_polling() {
        let line = "m barrier_wait 9 1 1 50000000 0";
        let truths = [truth(line).expect("a truth")];
        let rows = judge(&truths, FINDINGS, Extra::Exact).expect("findings");
        let unknown: Vec<(u64, &str)> = rows
            .iter()
            .filter(|row| row.verdict == Verdict::Unknown)
            .map(|row| (row.key.line, row.key.mode.as_str()))
            .collect();
        assert_eq!(unknown, [(7, "m"), (11, "m")]);
    }

    #[test]
    fn balanced_programs_know_of_everything() {
        let known = ["m wait_for_progress 7 1 3 150000000 0"];
        assert_eq!(verdicts(&known, true), [Verdict::Passes, Verdict::Unknown]);
        assert_eq!(verdicts(&known, false), [Verdict::Passes]);
    }
}
