//! Finds when a series of times changed: a step, a drift, and single values far above the others.
//!
//! A step or drift is real if it is in the order of the values, whatever their sizes (the test of Pettitt), and if it is
//! larger than what is left of it scatters, in the medians of groups of values. Of a step and a straight line, the one is reported that leaves less unexplained.

/// Least number of values in which a step or drift is searched.
const LEAST: usize = 20;

/// Greatest probability that values without a change have this order.
const MOST_CHANCE: f64 = 1e-4;

/// Least size of a step or drift, as a part of the values before it.
const LEAST_PART: f64 = 0.005;

/// A value is an outlier from this multiple of the scatter on, and from half more than the middle on.
const OUTLIER: f64 = 10.0;

/// Number of groups whose medians are compared, because single values scatter more.
const GROUPS: usize = 64;

/// A lasting change of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shift {
    /// From this place on, values are larger or smaller.
    Step(usize),
    /// Values grow or shrink over the whole series.
    Drift,
}

/// A lasting change, with the values before and after it: their medians, or the ends of the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shifted {
    pub(super) what: Shift,
    pub(super) before: f64,
    pub(super) after: f64,
}

/// Returns the median, or 0 without values.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.get(middle), sorted.get(middle.wrapping_sub(1))) {
        (Some(high), Some(low)) if sorted.len().is_multiple_of(2) => f64::midpoint(*low, *high),
        (Some(value), _) => *value,
        (None, _) => 0.0,
    }
}

/// Returns the median distance of values from what they should be.
fn scatter(points: &[(f64, f64)], expected: impl Fn(f64) -> f64) -> f64 {
    let distances: Vec<f64> = points.iter().map(|(at, it)| (it - expected(*at)).abs()).collect();
    median(&distances)
}

/// Returns the lasting change of a series, if it has one.
pub(super) fn shift(values: &[f64]) -> Option<Shifted> {
    let place = parting(values, ordered(values)?);
    let (left, right) = values.split_at(place);
    let (before, after) = (median(left), median(right));
    let points = medians(values);
    let of_step = scatter(&points, |at| if at < place as f64 { before } else { after });
    let (begin, slope) = line(&points);
    let of_line = scatter(&points, |at| slope.mul_add(at, begin));
    let end = slope.mul_add(values.len().saturating_sub(1) as f64, begin);
    let (what, before, after, scatter) = if of_line < of_step {
        (Shift::Drift, begin, end, of_line)
    } else {
        (Shift::Step(place), before, after, of_step)
    };
    let least = (LEAST_PART * before).max(2.0 * scatter);
    ((after - before).abs() >= least).then_some(Shifted { what, before, after })
}

/// Returns the place that divides a series best into smaller and larger values, if chance does not explain it.
fn ordered(values: &[f64]) -> Option<usize> {
    let count = values.len();
    if count < LEAST {
        return None;
    }
    let mut sum = 0.0;
    let (mut place, mut most) = (0, 0.0);
    for (at, rank) in (1..).zip(ranks(values)) {
        sum += rank;
        let excess = (2.0 * sum - at as f64 * (count as f64 + 1.0)).abs();
        if excess > most && at < count {
            (place, most) = (at, excess);
        }
    }
    let n = count as f64;
    let chance = 2.0 * (-6.0 * most * most / (n * n * n + n * n)).exp();
    (chance < MOST_CHANCE).then_some(place)
}

/// Returns the place where values change from those that are usual before a place near it to those that are usual after it.
/// Ranks alone may err by several values, because they see the smallest order among values that are all but equal.
fn parting(values: &[f64], near: usize) -> usize {
    let (left, right) = values.split_at(near);
    let (before, after) = (median(left), median(right));
    let (mut sum, mut most, mut place) = (0.0, f64::NEG_INFINITY, near);
    for (at, value) in (1..values.len()).zip(values) {
        sum += (value - after).abs() - (value - before).abs();
        if sum > most {
            (place, most) = (at, sum);
        }
    }
    place
}

/// Returns the rank of each value, counted from 1; equal values share the middle of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(f64, usize)> = values.iter().copied().zip(0..).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for equal in order.chunk_by(|a, b| a.0 == b.0) {
        let rank = first as f64 + f64::midpoint(1.0, equal.len() as f64);
        for (_, at) in equal {
            if let Some(of) = ranks.get_mut(*at) {
                *of = rank;
            }
        }
        first += equal.len();
    }
    ranks
}

/// Returns the medians of groups of consecutive values, each with the middle of its places.
fn medians(values: &[f64]) -> Vec<(f64, f64)> {
    let size = values.len().div_ceil(GROUPS).max(1);
    let middle = |group: usize, of: &[f64]| (group * size) as f64 + (of.len() as f64 - 1.0) / 2.0;
    values.chunks(size).enumerate().map(|(at, of)| (middle(at, of), median(of))).collect()
}

/// Returns begin and slope of a straight line through points: the median of the slopes between all of them.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let mut slopes = Vec::new();
    for (at, (x, y)) in points.iter().enumerate() {
        slopes.extend(points.iter().skip(at + 1).map(|(later, other)| (other - y) / (later - x)));
    }
    let slope = median(&slopes);
    let begins: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    (median(&begins), slope)
}

/// Returns the places of values far above the others, and the median.
pub(super) fn outliers(values: &[f64]) -> (Vec<usize>, f64) {
    let usual = median(values);
    if values.len() < LEAST {
        return (Vec::new(), usual);
    }
    let distances: Vec<f64> = values.iter().map(|it| (it - usual).abs()).collect();
    let limit = usual + (OUTLIER * median(&distances)).max(usual / 2.0);
    (values.iter().enumerate().filter(|it| *it.1 > limit).map(|it| it.0).collect(), usual)
}

/// Returns the distance between places if it is always the same and they do not follow each other.
pub(super) fn distance(places: &[usize]) -> Option<usize> {
    let mut gaps = places.iter().zip(places.iter().skip(1)).map(|(a, b)| b - a);
    let first = gaps.next().filter(|it| places.len() > 2 && *it > 1)?;
    gaps.all(|it| it == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that scatter by a part around 1, and are the same in every run.
    fn noise(part: f64) -> impl FnMut(usize) -> f64 {
        let mut random = fastrand::Rng::with_seed(7);
        move |_| 1.0 + part * (random.f64() - 0.5)
    }

    #[test]
    fn values_that_only_scatter_have_no_shift() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let values: Vec<f64> = (0..1000).map(|_| 1.0 + 0.2 * random.f64()).collect();
            assert_eq!(shift(&values), None, "{seed}");
        }
        assert_eq!(shift(&[3.0; 500]), None);
        assert_eq!(shift(&[]), None);
    }

    #[test]
    fn a_step_is_found_at_its_place() {
        let mut value = noise(0.2);
        let values: Vec<f64> =
            (0..1000).map(|at| value(at) * if at < 699 { 1.0 } else { 2.1 }).collect();
        let found = shift(&values).unwrap();
        assert_eq!(found.what, Shift::Step(699));
        assert!((found.after / found.before - 2.1).abs() < 0.02, "{found:?}");
    }

    #[test]
    fn small_order_before_a_step_does_not_move_it() {
        let falls = |at: usize| 1.0 - 1e-4 * at as f64;
        let values: Vec<f64> = (0..99).map(|at| if at < 69 { falls(at) } else { 2.0 }).collect();
        assert_eq!(shift(&values).unwrap().what, Shift::Step(69));
    }

    #[test]
    fn a_drift_of_a_hundredth_is_found_where_nothing_scatters() {
        let values: Vec<f64> = (0..1000).map(|at| 1.0 + 0.01 * f64::from(at) / 999.0).collect();
        let found = shift(&values).unwrap();
        assert_eq!(found.what, Shift::Drift);
        assert!((found.after / found.before - 1.01).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn a_drift_smaller_than_the_scatter_is_not_claimed() {
        let mut value = noise(1.0);
        let values: Vec<f64> = (0..200).map(|at| value(at) + 0.02 * at as f64 / 199.0).collect();
        assert_eq!(shift(&values), None);
    }

    #[test]
    fn outliers_stand_out_and_do_not_shift() {
        let mut value = noise(0.02);
        let mut values: Vec<f64> = (0..400).map(&mut value).collect();
        for at in [50, 100, 150] {
            values[at] = 5.0;
        }
        let (places, usual) = outliers(&values);
        assert_eq!(places, [50, 100, 150]);
        assert_eq!(distance(&places), Some(50));
        assert!((usual - 1.0).abs() < 0.01);
        assert_eq!(shift(&values), None);
        assert_eq!(distance(&[1, 2, 4]), None);
        assert_eq!(distance(&[1, 2, 3]), None);
    }
}
