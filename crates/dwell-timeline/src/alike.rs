//! Locations that behave alike over time, so that a picture of thousands has few rows.
//!
//! The profile of a location is how its time divides into computing, waiting and all else in [`COLUMNS`] columns of a span.
//! Two locations differ by the share of the time in which they do different things. Groups grow around the location that is farthest from all
//! groups so far, so that a single location that is unlike all others has a group of its own however many there are. This ends
//! where the farthest is hardly farther from its group than locations commonly are from the one most like them; then groups that are no
//! farther apart than their members are from them become one.

use std::collections::{BTreeMap, HashMap};

use dwell_report::Class;
use rayon::iter::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, ParallelIterator,
};

use crate::classes::CLASSES;
use crate::error::Result;
use crate::ids::{CallPath, Location};
use crate::index::Index;
use crate::span::{Span, Time};
use crate::tile::Sharpness;

/// Columns of a profile.
const COLUMNS: usize = 32;

/// Kinds of time in a column: computing, waiting, all else, nothing recorded.
const KINDS: usize = 4;

/// Greatest number of groups, so that their rows are high enough to be read.
const MOST_GROUPS: usize = 16;

/// Number of locations that say how far the most alike are apart.
const SAMPLE: usize = 256;

/// Locations that differ by less than this share of the time are alike.
const LEAST: f32 = 0.02;

/// Locations that are this many times as far from their group as the most alike are apart stand out.
const FAR: f32 = 2.0;

/// A start-up of less than this share of the run, or of more than the rest of it, is shown with the run.
const LEAST_START: f64 = 0.05;

/// Number of locations, and of slices of each, in which the end of start-up is looked for.
const LOOKED_AT: (u32, usize) = (256, 64);

/// Locations that behave alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Alike {
    /// The locations in ascending order.
    pub locations: Vec<Location>,
    /// Mean share of the time in which a location does something else than the mean of its group.
    pub differ: f64,
}

/// Returns whether a call of this name starts its runtime.
pub fn is_start(name: &str) -> bool {
    let row = dwell_model::registry::find(name);
    row.is_some_and(|(_, row)| row.operation == dwell_model::operation::Operation::Initialise)
}

/// Locations are waited for more than others from this multiple of their share of all locations on, and from this share of all
/// waiting on.
const MORE_THAN_OTHERS: f64 = 1.5;
const LEAST_BLAME: f64 = 0.25;

type Profile = Vec<f32>;

/// Returns the share of the time in which two profiles differ.
fn distance(a: &Profile, b: &Profile) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f32>() / (2 * COLUMNS) as f32
}

/// Returns the number of the nearest profile, and its distance.
fn nearest(profile: &Profile, all: &[Profile]) -> (usize, f32) {
    let distances = all.iter().map(|it| distance(profile, it)).enumerate();
    distances.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f32::INFINITY))
}

fn mean<'a>(profiles: impl Iterator<Item = &'a Profile>) -> Profile {
    let (mut sums, mut count) = (vec![0.0; COLUMNS * KINDS], 0.0_f32);
    for profile in profiles {
        sums.iter_mut().zip(profile).for_each(|(sum, it)| *sum += *it);
        count += 1.0;
    }
    sums.iter_mut().for_each(|it| *it /= count.max(1.0));
    sums
}

/// Returns how far locations commonly are from the one that is most like them.
fn noise(profiles: &[Profile]) -> f32 {
    let some: Vec<&Profile> =
        profiles.iter().step_by(profiles.len().div_ceil(SAMPLE).max(1)).collect();
    let least = |at: usize, own: &Profile| {
        let others = some.iter().enumerate().filter(|it| it.0 != at);
        others.map(|it| distance(own, it.1)).fold(f32::INFINITY, f32::min)
    };
    let mut list: Vec<f32> = some.par_iter().enumerate().map(|(at, it)| least(at, it)).collect();
    list.sort_by(f32::total_cmp);
    list.get(list.len() / 2).copied().unwrap_or(0.0)
}

/// Makes one of groups that are no farther apart than their members commonly are from their means, the nearest first.
fn join(profiles: &[Profile], groups: &mut [usize], count: usize) {
    let centre = |groups: &[usize], number: usize| {
        mean(profiles.iter().zip(groups).filter(|it| *it.1 == number).map(|it| it.0))
    };
    let mut centres: BTreeMap<usize, Profile> = BTreeMap::new();
    for number in (0..count).filter(|it| groups.contains(it)) {
        centres.insert(number, centre(groups, number));
    }
    let own = |(profile, group): (&Profile, &usize)| {
        centres.get(group).map_or(0.0, |it| distance(profile, it))
    };
    let spread = profiles.iter().zip(&*groups).map(own).sum::<f32>() / profiles.len().max(1) as f32;
    let limit = FAR * spread.max(LEAST / FAR);
    loop {
        let pairs =
            centres.iter().flat_map(|one| centres.range(one.0 + 1..).map(move |it| (one, it)));
        let far = pairs.map(|(a, b)| (distance(a.1, b.1), *a.0, *b.0));
        let nearest = far.min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, to, from)) = nearest.filter(|it| it.0 < limit) else { return };
        groups.iter_mut().filter(|it| **it == from).for_each(|it| *it = to);
        centres.remove(&from);
        centres.insert(to, centre(groups, to));
    }
}

/// Returns the number of the group of each profile.
fn grouped(profiles: &[Profile]) -> Vec<usize> {
    let limit = (FAR * noise(profiles)).max(LEAST);
    let whole = mean(profiles.iter());
    let mut centres: Vec<Profile> = Vec::new();
    let mut far: Vec<f32> = vec![f32::INFINITY; profiles.len()];
    let first = profiles.iter().min_by(|a, b| distance(a, &whole).total_cmp(&distance(b, &whole)));
    let mut next = first.cloned();
    while let Some(centre) = next.take() {
        far =
            far.par_iter().zip(profiles).map(|(far, it)| far.min(distance(it, &centre))).collect();
        centres.push(centre);
        let farthest = far.iter().zip(profiles).rev().max_by(|a, b| a.0.total_cmp(b.0));
        if centres.len() < MOST_GROUPS {
            next = farthest.filter(|it| *it.0 > limit).map(|it| it.1.clone());
        }
    }
    // A group is what is nearest to its mean, not to the location it grew around.
    let mut groups: Vec<usize> = profiles.par_iter().map(|it| nearest(it, &centres).0).collect();
    for _ in 0..2 {
        for (number, centre) in centres.iter_mut().enumerate() {
            let own = profiles.iter().zip(&groups).filter(|it| *it.1 == number).map(|it| it.0);
            *centre = mean(own);
        }
        groups = profiles.par_iter().map(|it| nearest(it, &centres).0).collect();
    }
    join(profiles, &mut groups, centres.len());
    groups
}

impl Index {
    /// Returns all locations in groups that behave alike in a span, those first that others wait for most.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn alike(&self, span: Span) -> Result<Vec<Alike>> {
        let profile = |location: u32| -> Result<Profile> {
            let one = [Location(location)..Location(location.saturating_add(1))];
            let row = self.joined_row(&one, span, COLUMNS, Sharpness::Coarse)?;
            let mut profile = Vec::with_capacity(COLUMNS * KINDS);
            for cell in row.chunks_exact(CLASSES) {
                let of = |class: Class| {
                    cell.get(class as usize).map_or(0.0, |it| f32::from(*it) / 255.0)
                };
                let all = cell.iter().map(|it| f32::from(*it)).sum::<f32>() / 255.0;
                let (compute, wait) = (of(Class::Compute), of(Class::Wait));
                profile.extend([compute, wait, all - compute - wait, (1.0 - all).max(0.0)]);
            }
            Ok(profile)
        };
        let profiles = (0..self.locations()).into_par_iter().map(profile);
        let profiles = profiles.collect::<Result<Vec<Profile>>>()?;
        let groups = grouped(&profiles);
        let mut list = Vec::new();
        for number in 0..MOST_GROUPS {
            let members = || groups.iter().zip(&profiles).zip(0..).filter(|it| *it.0.0 == number);
            let locations: Vec<Location> = members().map(|it| Location(it.1)).collect();
            if locations.is_empty() {
                continue;
            }
            let centre = mean(members().map(|it| it.0.1));
            let sum: f64 = members().map(|it| f64::from(distance(it.0.1, &centre))).sum();
            list.push(Alike { differ: sum / locations.len() as f64, locations });
        }
        let blame = |it: &Alike| {
            let sum: u64 =
                it.locations.iter().filter_map(|it| self.totals(*it)).map(|it| it.1).sum();
            (
                std::cmp::Reverse(sum / it.locations.len().max(1) as u64),
                it.locations.first().copied(),
            )
        };
        list.sort_by_cached_key(blame);
        Ok(list)
    }

    /// Returns how long other locations waited for these in nanoseconds, if they were waited for more than others: so that a picture
    /// can say which of its rows is the reason, and not only which of them wait.
    pub fn waited_for(&self, locations: impl Iterator<Item = Location>) -> Option<u64> {
        let all: u64 = self.blame.values().sum();
        let (mut count, mut sum) = (0_u32, 0_u64);
        for location in locations {
            count += 1;
            sum += self.blame.get(&location).copied().unwrap_or(0);
        }
        let part = sum as f64 / all.max(1) as f64;
        let share = f64::from(count) / f64::from(self.locations().max(1));
        (part >= LEAST_BLAME.max(MORE_THAN_OTHERS * share)).then_some(sum)
    }

    /// Returns the time at which the last location has started its runtime, or the begin of the run if none is seen to do so. `is_start`
    /// says of a call path whether it is such a call.
    pub fn started(&self, is_start: &dyn Fn(CallPath) -> bool) -> Time {
        let mut known: HashMap<CallPath, bool> = HashMap::new();
        let mut last = self.span().from;
        for location in (0..self.locations().min(LOOKED_AT.0)).map(Location) {
            for slice in self.first_slices(location, LOOKED_AT.1).unwrap_or_default() {
                let path =
                    slice.path.filter(|it| *known.entry(*it).or_insert_with(|| is_start(*it)));
                if path.is_some() {
                    last = last.max(slice.span.to);
                }
            }
        }
        last
    }

    /// Returns the part of the run that a picture opens on: that after its start-up, if that is long enough to take room from it.
    pub fn opened(&self, started: Time) -> Span {
        let whole = self.span();
        let share = Span { to: started, ..whole }.length() as f64 / whole.length().max(1) as f64;
        let is_long = (LEAST_START..=1.0 - LEAST_START).contains(&share);
        Span { from: if is_long { started } else { whole.from }, ..whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(wait: &dyn Fn(usize) -> f32) -> Profile {
        (0..COLUMNS).flat_map(|it| [1.0 - wait(it), wait(it), 0.0, 0.0]).collect()
    }

    #[test]
    fn one_that_drifts_is_found_among_many() {
        let noisy = |n: usize| profile(&|it| 0.2 + ((n * 7 + it * 13) % 10) as f32 / 400.0);
        let mut all: Vec<Profile> = (0..1000).map(noisy).collect();
        assert_eq!(grouped(&all), vec![0; 1000]);
        all[421] = profile(&|it| 0.2 * (1.0 - it as f32 / COLUMNS as f32));
        let groups = grouped(&all);
        let others: Vec<usize> = (0..1000).filter(|it| groups[*it] != groups[0]).collect();
        assert_eq!(others, [421]);
    }

    #[test]
    fn halves_are_two_groups() {
        let all: Vec<Profile> = (0..64).map(|n| profile(&|_| (n % 2) as f32 * 0.3)).collect();
        assert_eq!(grouped(&all).iter().filter(|it| **it == 0).count(), 32);
        assert_eq!(grouped(&[]), Vec::<usize>::new());
    }
}
