//! Functions of two sets of runs beside each other: in which of them the program computes longer.
//!
//! Times come from samples, so that each has a margin. A difference counts if it is more than the margins of both sides, and more
//! than chance and the threshold, as for call paths.

use std::collections::BTreeMap;

use super::{Judgement, Spread, mean};
use crate::findings::FunctionTimes;

/// Greatest number of functions that differ.
const MOST: usize = 10;

/// A function with different times in two sets of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionBeside {
    /// Name of the function, with its line in the last run that has it.
    pub place: String,
    /// Mean processor time in each set in seconds, over all locations or, if the runs differ in their processes, of each
    /// process.
    pub seconds: [f64; 2],
    /// By how much the difference may be wrong by its samples, with a probability of 5 %.
    pub margin: f64,
    /// Change as a part of the time of the whole run.
    pub share: f64,
    /// Result of the test whether the difference is more than the threshold and more than chance.
    pub judgement: Judgement,
}

impl FunctionBeside {
    /// Returns the change from the first set to the second, in seconds.
    pub fn delta(&self) -> f64 {
        self.seconds[1] - self.seconds[0]
    }
}

/// Time of a function in each run, and the sum of the squares of its margins. Runs without the function have 0.
struct Times {
    place: String,
    seconds: [Vec<f64>; 2],
    squares: f64,
}

/// Returns the functions whose times differ by more than their margins, the greatest difference first. Each run of both sets has
/// its functions, or none if it has no samples, and by what to divide its times. The list is empty if a run has no
/// samples. `whole` is the time of a run.
pub(super) fn beside(
    sets: &[Vec<(Option<&FunctionTimes>, f64)>; 2],
    threshold: f64,
    whole: f64,
) -> Vec<FunctionBeside> {
    let runs = || sets.iter().flatten();
    if runs().any(|it| it.0.is_none()) {
        return Vec::new();
    }
    let mut all: BTreeMap<&str, Times> = BTreeMap::new();
    for (set, runs) in sets.iter().enumerate() {
        for (at, (functions, divisor)) in runs.iter().enumerate() {
            for it in functions.iter().flat_map(|it| &it.list) {
                let nothing = || Times {
                    place: String::new(),
                    seconds: sets.each_ref().map(|it| vec![0.0; it.len()]),
                    squares: 0.0,
                };
                let times = all.entry(&it.function).or_insert_with(nothing);
                times.place = it.place();
                times.squares += (it.margin_seconds / divisor / runs.len() as f64).powi(2);
                if let Some(seconds) = times.seconds.get_mut(set).and_then(|it| it.get_mut(at)) {
                    *seconds += it.seconds / divisor;
                }
            }
        }
    }
    let is_known =
        |name: &str| runs().filter_map(|it| it.0).all(|functions| is_known(functions, name));
    let compared = |(_, Times { place, seconds: [a, b], squares }): (_, Times)| {
        let (seconds, margin) = ([mean(&a), mean(&b)], squares.sqrt());
        let delta = seconds[1] - seconds[0];
        let judgement = Spread::of(&a, &b).judge(threshold, whole);
        let share = if whole > 0.0 { delta / whole } else { 0.0 };
        FunctionBeside { place, seconds, margin, share, judgement }
    };
    let known = all.into_iter().filter(|it| is_known(it.0));
    let mut found: Vec<FunctionBeside> =
        known.map(compared).filter(|it| it.delta().abs() > it.margin).collect();
    found.sort_by(|x, y| y.delta().abs().total_cmp(&x.delta().abs()));
    found.truncate(MOST);
    found
}

/// Returns `true` if the time of a function is known, which may be 0: a list that is full does not have all functions.
fn is_known(functions: &FunctionTimes, name: &str) -> bool {
    let listed: f64 = functions.list.iter().map(|it| it.seconds).sum();
    let has_all = listed >= functions.seconds * (1.0 - 1e-6);
    has_all || functions.list.iter().any(|it| it.function == name)
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;
    use crate::findings::FunctionTime;

    /// Returns functions by name, time and margin.
    fn functions(list: &[(&str, f64, f64)]) -> FunctionTimes {
        let function = |(name, seconds, margin): &(&str, f64, f64)| FunctionTime {
            function: (*name).into(),
            seconds: *seconds,
            margin_seconds: *margin,
            ..FunctionTime::default()
        };
        let seconds = list.iter().map(|it| it.1).sum();
        FunctionTimes { list: list.iter().map(function).collect(), samples: 100, seconds }
    }

    type Found = Vec<(String, [f64; 2], Judgement)>;

    fn found(before: &[FunctionTimes], after: &[FunctionTimes]) -> Found {
        let sets = [before, after].map(|runs| runs.iter().map(|it| (Some(it), 1.0)).collect());
        let found = beside(&sets, 0.02, 10.0);
        found.into_iter().map(|it| (it.place, it.seconds, it.judgement)).collect()
    }

    #[test]
    fn functions_differ_beyond_their_margins() {
        let before = functions(&[("relax", 4.0, 0.2), ("pack", 1.0, 0.2), ("old", 0.5, 0.1)]);
        let after = functions(&[("relax", 8.0, 0.2), ("pack", 1.2, 0.2)]);
        let expected = [
            ("relax".to_owned(), [4.0, 8.0], Judgement::More),
            // More than its margin, but single runs may differ by that.
            ("old".to_owned(), [0.5, 0.0], Judgement::Same),
        ];
        assert_eq!(found(from_ref(&before), from_ref(&after)), expected);
        let sets =
            |one: &FunctionTimes| [one.clone(), one.clone(), one.clone(), one.clone(), one.clone()];
        let found = found(&sets(&before), &sets(&after));
        assert_eq!(found[0].2, Judgement::More);
        assert_eq!(found.len(), 3, "margins of means are smaller: {found:?}");
        assert!(beside(&[vec![(None, 1.0)], vec![(Some(&after), 1.0)]], 0.02, 10.0).is_empty());
    }

    #[test]
    fn a_function_that_a_full_list_lacks_is_not_compared() {
        let before = functions(&[("relax", 4.0, 0.2)]);
        let cut = FunctionTimes { seconds: 9.0, ..functions(&[("other", 4.0, 0.2)]) };
        // The first list has all functions, so that `other` took no time there.
        assert_eq!(found(&[before], &[cut]), [("other".to_owned(), [0.0, 4.0], Judgement::More)]);
    }
}
