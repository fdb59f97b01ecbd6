//! Iterations of two runs beside each other: from which one on the second takes longer.
//!
//! The times of an iteration in both runs are compared by the logarithm of their ratio. The place that splits these best
//! is where the runs part, if the difference is large and clear beside the spread of the ratios on both sides.

use dwell_model::units::short_percents;

use crate::findings::{Iterations, compared};
use crate::format::grouped;

/// Least number of points of the curve on each side of a place where the runs part.
const LEAST_POINTS: usize = 3;

/// Least change at such a place, as a ratio.
const LEAST_RATIO: f64 = 1.1;

/// Least change relative to its standard error.
const SURE: f64 = 5.0;

/// Ratio up to which iterations count as equally long.
const ALIKE: f64 = 1.05;

/// Iterations of two runs beside each other.
#[derive(Clone, Debug, PartialEq)]
pub struct IterationsBeside {
    /// Number of iterations that both runs have.
    pub count: u64,
    /// Iteration from which on the second run takes longer or less long than before, counted from 1; `None` if there is no
    /// such place, and all of them are meant.
    pub from: Option<u64>,
    /// Median time of an iteration from there on in each run, in seconds.
    pub seconds: [f64; 2],
    /// The result as a clause.
    pub text: String,
}

/// Compares two runs by iteration. Returns `None` if their iterations end with calls of different functions or differ much in
/// their number.
pub fn iterations_beside(before: &Iterations, after: &Iterations) -> Option<IterationsBeside> {
    let counts = [before.count, after.count];
    let (count, most) = (counts[0].min(counts[1]), counts[0].max(counts[1]));
    if before.ends_with.region != after.ends_with.region || count < most / 2 {
        return None;
    }
    let group = before.group.max(after.group).max(1);
    let points = (count / group) as usize;
    // The first group contains what precedes the first iteration.
    let [a, b] = [before, after].map(|it| curve(it, group, points));
    if a.len() < 2 * LEAST_POINTS || a.len() != b.len() {
        return None;
    }
    let ratios: Vec<f64> = a.iter().zip(&b).map(|(a, b)| (b / a).ln()).collect();
    if ratios.iter().any(|it| !it.is_finite()) {
        return None;
    }
    let place = parting(&ratios);
    let part = |it: &[f64]| median(it.get(place.unwrap_or(0)..).unwrap_or_default());
    let seconds = [part(&a), part(&b)];
    let ratio = seconds[1] / seconds[0];
    let is_alike = ratio < ALIKE && ratio > 1.0 / ALIKE;
    let size = match is_alike {
        true => "as long as in the first run".into(),
        false => compared(seconds[0], seconds[1]),
    };
    let from = place.map(|it| (it as u64 + 1) * group + 1);
    let text = match (place, from) {
        (Some(place), Some(from)) => {
            let early = median(ratios.get(..place).unwrap_or_default()).exp();
            let early = match early {
                it if it < ALIKE && it > 1.0 / ALIKE => "as long as in the first run".into(),
                it if it < 1.0 => format!("{} less long", short_percents(1.0 - it, 1.0 - it)),
                it => format!("{} longer", short_percents(it - 1.0, it - 1.0)),
            };
            let (from, all) = (grouped(from), grouped(count));
            format!("from iteration {from} of {all} on, each takes {size}; before, {early}")
        }
        _ => format!("each of {} takes {size}", grouped(count)),
    };
    Some(IterationsBeside { count, from, seconds, text })
}

/// Returns the mean times of iterations in groups of `group` of them, without the first group and what is left at the end.
fn curve(of: &Iterations, group: u64, points: usize) -> Vec<f64> {
    let time = |iteration: u64| {
        let at = (iteration / of.group.max(1)) as usize;
        of.times.get(at).map_or(f64::NAN, |it| it.seconds)
    };
    let steps = group.min(64);
    let mean = |at: usize| {
        let first = at as u64 * group;
        (0..steps).map(|it| time(first + it * group / steps)).sum::<f64>() / steps as f64
    };
    (1..points).map(mean).collect()
}

/// Returns the place from which on values are others than before.
fn parting(values: &[f64]) -> Option<usize> {
    let middle = median(values);
    let far = 4.0 * spread(values).max(LEAST_RATIO.ln());
    // Single values that are far away say nothing about a lasting change.
    let near: Vec<f64> = values.iter().map(|it| it.clamp(middle - far, middle + far)).collect();
    let (count, sum) = (near.len() as f64, near.iter().sum::<f64>());
    let (mut early, mut best) = (0.0, (0.0, None));
    for (place, value) in (1..).zip(&near) {
        early += value;
        if place < LEAST_POINTS || place + LEAST_POINTS > near.len() {
            continue;
        }
        let n = place as f64;
        // What the sum of squares loses by a mean for each side.
        let between = (early / n - (sum - early) / (count - n)).powi(2) * n * (count - n) / count;
        if between > best.0 {
            best = (between, Some(place));
        }
    }
    let place = best.1?;
    let (early, late) = values.split_at_checked(place)?;
    let difference = (median(late) - median(early)).abs();
    let noise = spread(early).max(spread(late));
    let error = 1.25 * noise * (1.0 / early.len() as f64 + 1.0 / late.len() as f64).sqrt();
    let is_clear = difference >= SURE * error && difference >= noise;
    (difference >= LEAST_RATIO.ln() && is_clear).then_some(place)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Returns the standard deviation that the median distance from the median stands for.
fn spread(values: &[f64]) -> f64 {
    let middle = median(values);
    1.4826 * median(&values.iter().map(|it| (it - middle).abs()).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::IterationTimes;

    /// Iterations whose times depend on their number, with some noise.
    fn run(count: u64, group: u64, seed: u64, seconds: impl Fn(u64) -> f64) -> Iterations {
        let noise = |it: u64| {
            let mixed = (it + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(seed as u32);
            1.0 + (mixed >> 48) as f64 / 65536.0 * 0.05
        };
        let times = (0..count.div_ceil(group)).map(|at| {
            let first = at * group;
            let all = first..(first + group).min(count);
            let many = all.clone().count() as f64;
            let sum: f64 = all.map(|it| seconds(it + 1) * noise(it)).sum();
            IterationTimes { first: first + 1, seconds: sum / many, ..IterationTimes::default() }
        });
        Iterations { count, group, times: times.collect(), ..Iterations::default() }
    }

    #[test]
    fn runs_part_at_an_iteration() {
        for (groups, least, most) in [((1, 1), 699, 701), ((4, 4), 697, 705), ((1, 4), 697, 705)] {
            let before = run(1000, groups.0, 7, |_| 3e-4);
            let after = run(1000, groups.1, 13, |it| if it < 700 { 3e-4 } else { 6.3e-4 });
            let found = iterations_beside(&before, &after).unwrap();
            let from = found.from.unwrap();
            assert!((least..=most).contains(&from), "{groups:?}: {found:?}");
            assert!((found.seconds[1] / found.seconds[0] - 2.1).abs() < 0.05, "{found:?}");
            assert!(found.text.contains("2.1 times as long"), "{}", found.text);
            assert!(found.text.ends_with("before, as long as in the first run"), "{}", found.text);
        }
    }

    #[test]
    fn equal_runs_part_nowhere() {
        let before = run(400, 1, 3, |_| 1e-3);
        let after = run(400, 1, 29, |it| if it % 50 == 0 { 9e-3 } else { 1e-3 });
        let found = iterations_beside(&before, &after).unwrap();
        assert_eq!(found.from, None, "{found:?}");
        assert_eq!(found.text, "each of 400 takes as long as in the first run");
        let slower = iterations_beside(&before, &run(400, 1, 5, |_| 2e-3)).unwrap();
        assert!(slower.text.starts_with("each of 400 takes 2.0 times as long"), "{slower:?}");
    }

    #[test]
    fn different_loops_are_not_compared() {
        let before = run(400, 1, 3, |_| 1e-3);
        assert_eq!(iterations_beside(&before, &run(100, 1, 3, |_| 1e-3)), None, "another number");
        let mut other = before.clone();
        other.ends_with.region = "MPI_Barrier".into();
        assert_eq!(iterations_beside(&before, &other), None, "another call");
    }
}
