//! How a value is spread over locations or processes.

/// Five numbers, the mean and the imbalance of some values.
///
/// Quartiles are the values at a quarter, half and three quarters of the sorted values; between two
/// of them they are interpolated, as most tools do.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// How many values there are.
    pub count: usize,
    /// The least.
    pub min: f64,
    /// A quarter are below.
    pub q1: f64,
    /// Half are below.
    pub median: f64,
    /// Three quarters are below.
    pub q3: f64,
    /// The greatest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
    /// The sum.
    pub sum: f64,
}

impl Summary {
    /// Sums up values.
    pub fn of(values: &[f64]) -> Self {
        let least = values.iter().copied().min_by(f64::total_cmp);
        let most = values.iter().copied().max_by(f64::total_cmp);
        let (Some(min), Some(max)) = (least, most) else {
            return Self::default();
        };
        let sum: f64 = values.iter().sum();
        let count = values.len();
        // Sorted only as far as the quartiles need it.
        let mut partly = values.to_vec();
        let mut quantile = |share: f64| {
            let place = share * (count - 1) as f64;
            let (_, low, above) = partly.select_nth_unstable_by(place as usize, f64::total_cmp);
            let low = *low;
            let high = above.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
            if place.fract() == 0.0 { low } else { low + (high - low) * place.fract() }
        };
        Self {
            count,
            min,
            q1: quantile(0.25),
            median: quantile(0.5),
            q3: quantile(0.75),
            max,
            mean: sum / count as f64,
            sum,
        }
    }

    /// How much longer the slowest takes than all would if the work were spread evenly: 0 for an
    /// even spread, 1 if the greatest value is twice the mean.
    pub fn imbalance(&self) -> f64 {
        // Rounding may leave the mean above all values.
        if self.mean == 0.0 { 0.0 } else { (self.max / self.mean - 1.0).max(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::Summary;

    #[test]
    fn quartiles_are_interpolated() {
        let summary = Summary::of(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!((summary.min, summary.max, summary.count), (1.0, 4.0, 4));
        assert_eq!((summary.q1, summary.median, summary.q3), (1.75, 2.5, 3.25));
        assert_eq!((summary.sum, summary.mean), (10.0, 2.5));
        assert!((summary.imbalance() - 0.6).abs() < 1e-12);
    }

    #[test]
    fn one_value_is_all_of_them() {
        let summary = Summary::of(&[7.0]);
        let five = [summary.min, summary.q1, summary.median, summary.q3, summary.max];
        assert_eq!(five, [7.0; 5]);
        assert_eq!(summary.imbalance(), 0.0);
    }

    #[test]
    fn no_values_are_nothing() {
        assert_eq!(Summary::of(&[]), Summary::default());
        assert_eq!(Summary::of(&[0.0, 0.0]).imbalance(), 0.0);
    }
}
