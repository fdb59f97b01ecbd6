//! Differences between two sets of measurements that are more than chance.
//!
//! With three runs in each set or more, a rank-sum test decides (Mann and Whitney): it asks how probable it is that the
//! values of one set are so much above those of the other if both come from the same program. It assumes nothing about how
//! values are distributed, and one run that was disturbed does not decide. With fewer runs nothing is known about the
//! spread, and the difference must be above [`DEFAULT`] of the run.

/// Spread that is assumed of sets with fewer than three runs, as a part of the run. Equal runs of a program that computes
/// for less than a second differed by up to 21 % on a quiet virtual machine: see docs/performance/gate.md.
pub(super) const DEFAULT: f64 = 0.25;

/// Least number of runs in a set whose spread says something.
const FEW: usize = 3;

/// Probability below which a difference is not chance, unless so few runs cannot reach it.
const CHANCE: f64 = 0.01;

/// Result of a comparison of two sets of values, from the first set to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The values of the second set are greater by more than chance and the threshold.
    More,
    /// The values of the second set are smaller by more than chance and the threshold.
    Less,
    /// The difference may be chance, or it is below the threshold.
    Same,
    /// The metric is not a time, so that there is no threshold.
    Unjudged,
}

/// Two sets of values, such as the lengths of runs before and after a change, whose difference is to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Spread<'a> {
    before: &'a [f64],
    after: &'a [f64],
}

impl<'a> Spread<'a> {
    /// Takes two sets of values, which need not have the same size.
    pub fn of(before: &'a [f64], after: &'a [f64]) -> Self {
        Self { before, after }
    }

    /// Judges whether the second set differs from the first by more than chance and by more than a part of a whole.
    pub fn judge(&self, threshold: f64, whole: f64) -> Judgement {
        let change = super::mean(self.after) - super::mean(self.before);
        if change.abs() <= threshold * whole {
            return Judgement::Same;
        }
        let (more, less) = (Judgement::More, Judgement::Less);
        let direction = if change > 0.0 { more } else { less };
        if self.is_unknown() {
            return if change.abs() > DEFAULT * whole { direction } else { Judgement::Same };
        }
        let (low, high) = match direction {
            Judgement::More => (self.before, self.after),
            _ => (self.after, self.before),
        };
        let least = 1.0 / ways(low.len() + high.len(), low.len());
        let likely = probability(low, high);
        if likely <= CHANCE.max(least * (1.0 + 1e-9)) { direction } else { Judgement::Same }
    }

    /// Returns the least slowdown, as a part of a whole, that sets with this spread and this number of runs show in 19 of 20
    /// cases. It assumes that values are spread normally, and that all of one set must be above all of the other.
    pub fn resolution(&self, threshold: f64, whole: f64) -> f64 {
        if self.is_unknown() {
            return threshold.max(DEFAULT);
        }
        let squares = |set: &[f64]| {
            let mean = super::mean(set);
            set.iter().map(|it| (it - mean).powi(2)).sum::<f64>()
        };
        let freedom = (self.before.len() + self.after.len() - 2) as f64;
        let deviation = ((squares(self.before) + squares(self.after)) / freedom).sqrt();
        let found = |shift: f64| separated(self.before.len(), self.after.len(), shift) >= 0.95;
        let (mut low, mut high) = (0.0, 20.0);
        for _ in 0..50 {
            let middle = (low + high) / 2.0;
            if found(middle) { high = middle } else { low = middle }
        }
        if whole > 0.0 { threshold.max(high * deviation / whole) } else { threshold }
    }

    /// Returns `true` if there are too few values to know their spread.
    fn is_unknown(&self) -> bool {
        self.before.len() < FEW || self.after.len() < FEW
    }
}

/// Returns the number of ways to choose some of several things.
fn ways(of: usize, some: usize) -> f64 {
    (0..some).map(|it| (of - it) as f64 / (it + 1) as f64).product()
}

/// Returns the probability that the values of the second list are as much above those of the first as they are, or more, if
/// both are drawn alike. Equal values count as half above.
fn probability(low: &[f64], high: &[f64]) -> f64 {
    // Number of pairs in which the value that should be greater is smaller, in halves.
    let half = |a: &f64, b: &f64| match a.total_cmp(b) {
        std::cmp::Ordering::Less => 0_usize,
        std::cmp::Ordering::Equal => 1,
        std::cmp::Ordering::Greater => 2,
    };
    let halves: usize = low.iter().flat_map(|a| high.iter().map(move |b| half(a, b))).sum();
    let pairs = halves.div_ceil(2);
    let (n, m) = (low.len(), high.len());
    let as_good: f64 = arrangements(n, m).iter().take(pairs + 1).sum();
    as_good / ways(n + m, n)
}

/// Returns in how many ways `n` and `m` values can be arranged so that a given number of pairs is in the wrong order: the
/// coefficients of the Gaussian binomial, a product of quotients of (1 - q^(m + i)) and (1 - q^i).
fn arrangements(n: usize, m: usize) -> Vec<f64> {
    let size = n * m + 1;
    let mut counts: Vec<f64> =
        std::iter::once(1.0).chain(std::iter::repeat_n(0.0, size - 1)).collect();
    for i in 1..=n {
        for k in (m + i..size).rev() {
            let other = counts.get(k - m - i).copied().unwrap_or(0.0);
            counts.get_mut(k).into_iter().for_each(|it| *it -= other);
        }
        for k in i..size {
            let other = counts.get(k - i).copied().unwrap_or(0.0);
            counts.get_mut(k).into_iter().for_each(|it| *it += other);
        }
    }
    counts
}

/// Returns the probability that all of `m` values are above all of `n` others, if they are spread normally with a deviation
/// of 1 around a mean that is greater by `shift`.
fn separated(n: usize, m: usize, shift: f64) -> f64 {
    const STEPS: usize = 400;
    const RANGE: f64 = 8.0;
    let step = 2.0 * RANGE / STEPS as f64;
    let sum: f64 = (0..=STEPS)
        .map(|it| {
            let x = step.mul_add(it as f64, -RANGE);
            let density = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let greatest = n as f64 * density * normal(x).powi(n as i32 - 1);
            greatest * (1.0 - normal(x - shift)).powi(m as i32)
        })
        .sum();
    sum * step
}

/// Returns the probability that a normally spread value is below `x` deviations (Abramowitz and Stegun, 7.1.26, whose error
/// is below 2 in 10 million).
fn normal(x: f64) -> f64 {
    let z = x.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / 0.327_591_1_f64.mul_add(z, 1.0);
    let factors = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let polynomial = factors.iter().fold(0.0_f64, |sum, factor| sum.mul_add(t, *factor)) * t;
    let error = 1.0 - polynomial * (-z * z).exp();
    if x < 0.0 { (1.0 - error) / 2.0 } else { (1.0 + error) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(before: &[f64], after: &[f64]) -> Judgement {
        Spread::of(before, after).judge(0.02, 100.0)
    }

    #[test]
    fn probabilities_are_those_of_all_arrangements() {
        // Every way to give the numbers 1 to 7 to a list of 3 and one of 4.
        let count = |wanted: &[f64], of: &[f64]| {
            let rest: Vec<f64> = (1..=7).map(f64::from).filter(|it| !of.contains(it)).collect();
            let below = |low: &[f64], high: &[f64]| {
                low.iter().flat_map(|a| high.iter().map(move |b| a > b)).filter(|it| *it).count()
            };
            let wanted_rest: Vec<f64> =
                (1..=7).map(f64::from).filter(|it| !wanted.contains(it)).collect();
            below(of, &rest) <= below(wanted, &wanted_rest)
        };
        let all: Vec<Vec<f64>> = (0_u32..128)
            .filter(|bits| bits.count_ones() == 3)
            .map(|bits| (1..=7).filter(|it| bits >> (it - 1) & 1 == 1).map(f64::from).collect())
            .collect();
        for wanted in &all {
            let rest: Vec<f64> = (1..=7).map(f64::from).filter(|it| !wanted.contains(it)).collect();
            let as_good = all.iter().filter(|of| count(wanted, of)).count();
            let expected = as_good as f64 / all.len() as f64;
            assert!((probability(wanted, &rest) - expected).abs() < 1e-12, "{wanted:?}");
        }
    }

    #[test]
    fn five_that_are_all_above_five_are_more() {
        let before = [100.0, 101.0, 99.0, 100.5, 99.5];
        let after = before.map(|it| it + 5.0);
        assert_eq!(judged(&before, &after), Judgement::More);
        assert_eq!(judged(&after, &before), Judgement::Less);
    }

    #[test]
    fn a_disturbed_run_does_not_decide() {
        let before = [100.0, 101.0, 99.0, 100.5, 99.5];
        let after = [100.2, 100.8, 99.1, 100.4, 140.0];
        assert_eq!(judged(&before, &after), Judgement::Same);
    }

    #[test]
    fn small_changes_are_none_however_sure() {
        let before = [100.0, 100.1, 99.9];
        assert_eq!(judged(&before, &before.map(|it| it + 1.0)), Judgement::Same);
        assert_eq!(judged(&before, &before.map(|it| it + 3.0)), Judgement::More);
    }

    #[test]
    fn single_runs_differ_by_more_than_the_default() {
        assert_eq!(judged(&[100.0], &[120.0]), Judgement::Same);
        assert_eq!(judged(&[100.0], &[130.0]), Judgement::More);
        assert_eq!(judged(&[100.0], &[70.0]), Judgement::Less);
    }

    /// Counts by trial how often five values are all above five others.
    #[test]
    fn the_resolution_is_what_trials_show() {
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        };
        let mut drawn =
            || (-2.0 * uniform().ln()).sqrt() * (2.0 * std::f64::consts::PI * uniform()).cos();
        let shift = 4.0;
        let trials = 20_000;
        let found = (0..trials)
            .filter(|_| {
                let low = (0..5).map(|_| drawn()).fold(f64::MIN, f64::max);
                let high = (0..5).map(|_| drawn() + shift).fold(f64::MAX, f64::min);
                high > low
            })
            .count();
        let expected = separated(5, 5, shift);
        assert!((found as f64 / f64::from(trials) - expected).abs() < 0.01, "{found} {expected}");
    }
}
