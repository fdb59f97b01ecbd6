//! Divides amounts in proportion to weights, in whole numbers.

/// Returns the part of an amount for each weight, in the order of the weights. The parts add up to the amount, unless all
/// weights are 0. What rounding leaves goes to the first weight above 0.
pub(crate) fn shares(amount: u64, weights: impl Iterator<Item = u64> + Clone) -> Vec<u64> {
    let all: u128 = weights.clone().map(u128::from).sum();
    let part = |weight: u64| {
        (u128::from(amount) * u128::from(weight)).checked_div(all).unwrap_or(0) as u64
    };
    let mut parts: Vec<u64> = weights.clone().map(part).collect();
    let left = amount - parts.iter().sum::<u64>();
    let first = weights.zip(&mut parts).find(|it| it.0 > 0);
    first.into_iter().for_each(|(_, part)| *part += left);
    parts
}

#[cfg(test)]
mod tests {
    use super::shares;

    fn of(amount: u64, weights: &[u64]) -> Vec<u64> {
        shares(amount, weights.iter().copied())
    }

    #[test]
    fn parts_add_up() {
        assert_eq!(of(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(of(10, &[0, 1, 2]), [0, 4, 6]);
        assert_eq!(of(0, &[5, 6]), [0, 0]);
        assert_eq!(of(7, &[0, 0]), [0, 0]);
        assert!(of(7, &[]).is_empty());
        let large = of(u64::MAX, &[u64::MAX, u64::MAX, 1]);
        assert_eq!(large.iter().map(|it| u128::from(*it)).sum::<u128>(), u64::MAX.into());
    }
}
