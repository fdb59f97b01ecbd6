//! Medians and their intervals of confidence.

use std::fmt;

/// A median with its 95 % interval of confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) lowest: f64,
    pub(crate) highest: f64,
}

impl Spread {
    /// Computes the median of at least one value, and the interval in which that of all possible values is, whatever their
    /// distribution: from the k-th smallest to the k-th largest value. For fewer than six values it is all of their range,
    /// and the confidence is less. Without values all fields are NaN.
    pub(crate) fn of(values: &[f64]) -> Spread {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        let last = sorted.len().saturating_sub(1);
        let outside = outside(sorted.len());
        Spread {
            median: f64::midpoint(at(last / 2), at(last.div_ceil(2))),
            lowest: at(outside),
            highest: at(last - outside),
        }
    }

    /// Computes the spread of what rounds add to those that were made in turn with them.
    pub(crate) fn added(to: &[f64], by: &[f64]) -> Spread {
        let differences: Vec<f64> = to.iter().zip(by).map(|(to, by)| by - to).collect();
        Spread::of(&differences)
    }

    /// Computes the spread of the percentages by which rounds are longer than those that were made in turn with them.
    pub(crate) fn more(than: &[f64], rounds: &[f64]) -> Spread {
        let more = |(than, round): (&f64, &f64)| 100.0 * (round / than - 1.0);
        Spread::of(&than.iter().zip(rounds).map(more).collect::<Vec<_>>())
    }

    /// Says whether the values show that the median is below the goal, show that it is not, or show neither.
    pub(crate) fn verdict(self, goal: f64) -> &'static str {
        match self {
            Spread { highest, .. } if highest <= goal => "met",
            Spread { lowest, .. } if lowest > goal => "missed",
            _ => "undecided",
        }
    }
}

/// Returns how many of `values` values are outside of the interval on each side: the largest number for which it is less
/// likely than 2.5 % that no more of the values are on one side of the median.
fn outside(values: usize) -> usize {
    let (mut below, mut term) = (0.0, 0.5_f64.powi(values.try_into().unwrap_or(i32::MAX)));
    for k in 0..values {
        below += term;
        if below > 0.025 {
            // So many or fewer are too likely; one less is still outside.
            return k.saturating_sub(1);
        }
        term *= (values - k) as f64 / (k + 1) as f64;
    }
    0
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(1);
        let Spread { median, lowest, highest } = self;
        let number = |value: &f64| match f.sign_plus() {
            true => format!("{value:+.digits$}"),
            false => format!("{value:.digits$}"),
        };
        write!(f, "{} ({} to {})", number(median), number(lowest), number(highest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads() {
        let spread = Spread::of(&[3.0, 1.0, 2.0, 10.0]);
        assert_eq!(spread, Spread { median: 2.5, lowest: 1.0, highest: 10.0 });
        assert_eq!(Spread::of(&[4.0]), Spread { median: 4.0, lowest: 4.0, highest: 4.0 });
        assert!(Spread::of(&[]).median.is_nan());
        let added = Spread::added(&[1.0, 2.0, 3.0], &[11.0, 10.0, 13.5]);
        assert_eq!(added, Spread { median: 10.0, lowest: 8.0, highest: 10.5 });
        assert_eq!(format!("{added:+.1}"), "+10.0 (+8.0 to +10.5)");
        let more = Spread::more(&[2.0, 4.0], &[3.0, 4.0]);
        assert_eq!(more, Spread { median: 25.0, lowest: 0.0, highest: 50.0 });
        let verdicts = [60.0, 25.0, -1.0].map(|goal| more.verdict(goal));
        assert_eq!(verdicts, ["met", "undecided", "missed"]);
    }

    /// As in tables of the sign test: the interval of n values leaves out this number on each side.
    #[test]
    fn intervals_are_those_of_the_sign_test() {
        let found = [1, 5, 6, 8, 9, 12, 15, 17, 20, 25, 30].map(|count| (count, outside(count)));
        let table = [
            (1, 0),
            (5, 0),
            (6, 0),
            (8, 0),
            (9, 1),
            (12, 2),
            (15, 3),
            (17, 4),
            (20, 5),
            (25, 7),
            (30, 9),
        ];
        assert_eq!(found, table);
    }
}
