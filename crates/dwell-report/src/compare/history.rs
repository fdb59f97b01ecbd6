//! Many runs of a program: which version of it became slower or faster, and how each version scales.
//!
//! Runs of one version with the same number of processes are a [`Set`], which is compared with that of the version before by the rules of
//! [`compare`](super::compare). A version is judged by all of its sets together: with two runs for each of four numbers of processes there
//! are eight that may be slower than eight before, each as a part of what runs with as many processes took. The runs of each version
//! are a [`series`](super::series).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use cubex::Result;

use super::run::{Run, TIME};
use super::series::{Series, series};
use super::spread::{Judgement, Spread};
use super::{compare, mean};
use crate::format;

/// Part of the greatest change from which on a change is as clear as that.
const CLEAR: f64 = 0.75;

/// A run with what it belongs to.
#[derive(Debug)]
pub struct Member {
    /// The run itself, with its report, its efficiencies and the verdict of its analysis, as a comparison of single runs opens it.
    pub run: Run,
    /// Name of the program. Only runs of one program are compared.
    pub program: String,
    /// Name of the version of the program.
    pub version: String,
    /// Time of the recording in nanoseconds since 1970, by which versions are ordered.
    pub when: u64,
}

/// Runs of one version with the same number of processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// Name of the program, as the recording states it; empty if it is not known. Programs are never compared with each other.
    pub program: String,
    /// Name of the version of the program, such as its commit or the directory that its runs are in.
    pub version: String,
    /// Number of processes of each run of the set, which are the location groups of their reports.
    pub processes: usize,
    /// Numbers of the members of the set, as indices of the list that the history was made from.
    pub members: Vec<usize>,
    /// Mean length of the runs in seconds, without start-up and shutdown.
    pub length: f64,
    /// Change of the mean length since the last version before that has runs with as many processes, as a part of that. `None` if there
    /// is none.
    pub change: Option<f64>,
    /// Result of the test whether that is more than the threshold and chance.
    pub judgement: Judgement,
}

/// A version of a program, compared with those before.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    /// Name of the program, as the recording states it; empty if it is not known. Programs are never compared with each other.
    pub program: String,
    /// Name of the version, such as its commit or the directory that its runs are in.
    pub name: String,
    /// Result of the test whether its runs are longer or shorter by more than the threshold and chance.
    pub judgement: Judgement,
    /// Mean change of the lengths of its sets. `None` for the first version.
    pub change: Option<f64>,
    /// Members that show the change: one of the version before, and one of this. `None` if there is no change.
    pub shown_by: Option<[usize; 2]>,
    /// What changed, why, and where, as a sentence without a full stop; empty if nothing did.
    pub text: String,
}

/// How a version scales.
#[derive(Clone, Debug, PartialEq)]
pub struct VersionSeries {
    /// Name of the program, as the recording states it; empty if it is not known. Programs are never compared with each other.
    pub program: String,
    /// Name of the version of the program, such as its commit or the directory that its runs are in.
    pub version: String,
    /// Its runs, compared with those with the fewest processes.
    pub series: Series,
}

/// Many runs, put in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// All sets: by program, then by processes, then by version, the oldest first.
    pub sets: Vec<Set>,
    /// All versions: by program, the oldest first.
    pub versions: Vec<Version>,
    /// Versions that have runs with different numbers of processes, in the same order.
    pub series: Vec<VersionSeries>,
}

impl History {
    /// Puts runs in order, and compares what belongs together. A change counts if it is more than `threshold` of the run and more than
    /// chance.
    ///
    /// # Errors
    /// Fails if one of the reports is damaged.
    pub fn of(members: &[Member], threshold: f64) -> Result<Self> {
        // A version is as old as its oldest run.
        let mut ages: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for it in members {
            let age = ages.entry((&it.program, &it.version)).or_insert(it.when);
            *age = (*age).min(it.when);
        }
        let mut sets = BTreeMap::<_, Vec<usize>>::new();
        let mut versions = BTreeMap::<_, Vec<&Run>>::new();
        for (number, it) in members.iter().enumerate() {
            let (program, version) = (it.program.as_str(), it.version.as_str());
            let version = (ages.get(&(program, version)).copied(), Name(version));
            sets.entry((program, it.run.processes(), version)).or_default().push(number);
            versions.entry((program, version)).or_default().push(&it.run);
        }
        let mut history = Self::default();
        let mut pairs: BTreeMap<(&str, &str), Vec<Pair<'_>>> = BTreeMap::new();
        let mut before: Option<(&str, usize, &str, Vec<usize>)> = None;
        for ((program, processes, (_, Name(version))), numbers) in sets {
            let of = |list: &[usize]| -> Vec<&Run> {
                list.iter().filter_map(|it| members.get(*it)).map(|it| &it.run).collect()
            };
            let new = of(&numbers);
            let is_same =
                |it: &&(&str, usize, &str, Vec<usize>)| (it.0, it.1) == (program, processes);
            let pair = before.as_ref().filter(is_same).map(|(_, _, name, old)| Pair {
                before: name,
                processes,
                first: [old, &numbers].map(|it| it.first().copied().unwrap_or_default()),
                runs: [of(old), new.clone()],
            });
            history.sets.push(Set {
                program: program.to_owned(),
                version: version.to_owned(),
                processes,
                length: mean_length(&new),
                change: pair.as_ref().map(Pair::change),
                judgement: pair.as_ref().map_or(Judgement::Unjudged, |it| it.judge(threshold)),
                members: numbers.clone(),
            });
            pairs.entry((program, version)).or_default().extend(pair);
            before = Some((program, processes, version, numbers));
        }
        for ((program, (_, Name(name))), runs) in versions {
            let pairs = pairs.remove(&(program, name)).unwrap_or_default();
            history.versions.push(Version::of(program, name, &pairs, threshold)?);
            let series = series(&runs, threshold)?;
            let ends = series.runs.first().zip(series.runs.last());
            if ends.is_some_and(|(a, b)| a.processes != b.processes) {
                let (program, version) = (program.to_owned(), name.to_owned());
                history.series.push(VersionSeries { program, version, series });
            }
        }
        Ok(history)
    }

    /// Returns the versions that are slower than those before, the newest first.
    pub fn slower(&self) -> impl Iterator<Item = &Version> {
        self.versions.iter().rev().filter(|it| it.judgement == Judgement::More)
    }

    /// Returns one sentence about all runs: the newest version that became slower and its reason, or that none did.
    pub fn verdict(&self) -> String {
        let none = || "no version is slower than the one before".into();
        self.slower().next().map_or_else(none, |it| it.text.clone())
    }
}

/// The sets of two versions with the same number of processes.
struct Pair<'r> {
    /// Name of the version before.
    before: &'r str,
    processes: usize,
    /// First member of each set.
    first: [usize; 2],
    runs: [Vec<&'r Run>; 2],
}

fn lengths(runs: &[&Run]) -> Vec<f64> {
    runs.iter().map(|it| it.length()).collect()
}

fn mean_length(runs: &[&Run]) -> f64 {
    mean(&lengths(runs))
}

impl Pair<'_> {
    /// Returns the change of the mean length as a part of that before.
    fn change(&self) -> f64 {
        let [before, after] = [&self.runs[0], &self.runs[1]].map(|it| mean_length(it));
        if before > 0.0 { after / before - 1.0 } else { 0.0 }
    }

    /// Returns the lengths of both sets as parts of the mean before.
    fn relative(&self) -> [Vec<f64>; 2] {
        let whole = mean_length(&self.runs[0]).max(f64::MIN_POSITIVE);
        let part = |runs: &Vec<&Run>| lengths(runs).into_iter().map(|it| it / whole).collect();
        [part(&self.runs[0]), part(&self.runs[1])]
    }

    fn judge(&self, threshold: f64) -> Judgement {
        let [before, after] = self.relative();
        Spread::of(&before, &after).judge(threshold, 1.0)
    }
}

impl Version {
    fn of(program: &str, name: &str, pairs: &[Pair<'_>], threshold: f64) -> Result<Self> {
        let mut version = Self {
            program: program.to_owned(),
            name: name.to_owned(),
            judgement: Judgement::Unjudged,
            change: None,
            shown_by: None,
            text: String::new(),
        };
        if pairs.is_empty() {
            return Ok(version);
        }
        let mut all = [Vec::new(), Vec::new()];
        for pair in pairs {
            all.iter_mut().zip(pair.relative()).for_each(|(all, own)| all.extend(own));
        }
        let together = Spread::of(&all[0], &all[1]).judge(threshold, 1.0);
        version.change = Some(mean(&pairs.iter().map(Pair::change).collect::<Vec<_>>()));
        // A version may be slower with some numbers of processes only.
        let judged = |wanted| pairs.iter().filter(move |it| it.judge(threshold) == wanted);
        version.judgement = match together {
            Judgement::Same if judged(Judgement::More).next().is_some() => Judgement::More,
            Judgement::Same if judged(Judgement::Less).next().is_some() => Judgement::Less,
            together => together,
        };
        let sign = match version.judgement {
            Judgement::More => 1.0,
            Judgement::Less => -1.0,
            Judgement::Same | Judgement::Unjudged => return Ok(version),
        };
        let of = |it: &Pair<'_>| sign * it.change();
        let order = |a: &&Pair<'_>, b: &&Pair<'_>| of(a).total_cmp(&of(b));
        let Some((most, least)) = pairs.iter().max_by(order).zip(pairs.iter().min_by(order)) else {
            return Ok(version);
        };
        // Where it is as clear with more processes, these show more.
        let shown = pairs.iter().rev().find(|it| of(it) >= CLEAR * of(most)).unwrap_or(most);
        version.shown_by = Some(shown.first);
        version.text = version.told(shown, of(most), of(least), pairs);
        if version.judgement == Judgement::More {
            let [old, new] = &shown.runs;
            if let Some(point) = new.first().and_then(|it| it.main_point()) {
                version.text += &format!(". {}: {}, {}", point.title(), point.what, point.costs());
            }
            let compared = compare(old, new, &[TIME.to_owned()], threshold)?;
            let grown = compared.differences.iter().filter(|it| it.delta() > 0.0);
            let worst = grown.filter_map(|it| Some((it.share?, &it.path))).next();
            if let Some((share, path)) = worst.filter(|it| it.0 > threshold) {
                let share = format::percent(share);
                version.text += &format!(". What grew most, by {share} of the run: {path}");
            }
        }
        Ok(version)
    }

    /// Says how much longer or shorter the runs are.
    fn told(&self, pair: &Pair<'_>, most: f64, least: f64, pairs: &[Pair<'_>]) -> String {
        let word = if self.judgement == Judgement::More { "longer" } else { "shorter" };
        let counts = pairs.iter().map(|it| it.processes);
        let (few, many) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
        let [was, is] = [&pair.runs[0], &pair.runs[1]].map(|it| format::seconds(mean_length(it)));
        let (name, before, most) = (&self.name, pair.before, format::percent(most));
        let at = format!("with {} processes: {was}, then {is}", pair.processes);
        match few == many {
            true => format!("{name} takes {most} {word} than {before} {at}"),
            false => {
                let least = format::percent(least);
                format!(
                    "{name} takes {least} to {most} {word} than {before} with {few} to {many} processes; {at}"
                )
            }
        }
    }
}

/// Name of a version. Numbers in names are ordered as such, so that version 10 comes after version 9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Name<'a>(&'a str);

impl Name<'_> {
    fn parts(&self) -> impl Iterator<Item = (&str, u64)> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let is_digit = |it: char| it.is_ascii_digit();
            let (text, after) = rest.split_at(rest.find(is_digit).unwrap_or(rest.len()));
            let end = after.find(|it: char| !is_digit(it)).unwrap_or(after.len());
            let (digits, after) = after.split_at(end);
            let is_over = std::mem::replace(&mut rest, after).is_empty();
            (!is_over).then(|| (text, digits.parse().unwrap_or(0)))
        })
    }
}

impl Ord for Name<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(other.parts()).then(self.0.cmp(other.0))
    }
}

impl PartialOrd for Name<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::Name;

    #[test]
    fn numbers_in_names_are_numbers() {
        let mut names = ["v10", "v9", "v9.10", "v9.2", "main", ""].map(Name);
        names.sort();
        assert_eq!(names.map(|it| it.0), ["", "main", "v9", "v9.2", "v9.10", "v10"]);
    }
}
