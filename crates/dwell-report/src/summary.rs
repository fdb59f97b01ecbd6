//! The distribution of a value over locations or processes.

/// Minimum, quartiles, maximum, mean and sum of some values.
///
/// Quartiles are the values at a quarter, half and three quarters of the sorted values. Where these positions fall
/// between two values, they are interpolated linearly, as spreadsheets and NumPy do. All fields are 0 if there are no
/// values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Number of values, for example of locations, whether they are 0 or not.
    pub count: usize,
    /// Smallest of the values, or 0 if there are none.
    pub min: f64,
    /// First quartile: a quarter of the values are below it.
    pub q1: f64,
    /// Median: half of the values are below it.
    pub median: f64,
    /// Third quartile: three quarters of the values are below it.
    pub q3: f64,
    /// Largest of the values, or 0 if there are none. Its distance from the mean says how uneven they are.
    pub max: f64,
    /// Arithmetic mean of the values: their sum divided by their number.
    pub mean: f64,
    /// Sum of the values, added in the order in which they were given.
    pub sum: f64,
}

impl Summary {
    /// Computes the summary of some values in linear time. An empty slice gives the default, in which all fields are 0.
    ///
    /// ```
    /// let summary = dwell_report::Summary::of(&[4.0, 1.0, 3.0, 2.0]);
    /// assert_eq!((summary.min, summary.median, summary.max), (1.0, 2.5, 4.0));
    /// ```
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

    /// Returns the load imbalance, `max / mean - 1`: 0 for an even distribution, 1 if the largest value is twice the
    /// mean. It says how much longer the slowest location takes than all would with evenly distributed work. The result
    /// is 0 if the mean is 0.
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
