//! Divides amounts in proportion to weights, in whole numbers.

/// Calculates the part of an amount for each weight, in the order of the weights, and replaces `parts` by them. They add up
/// to the amount, unless all weights are 0. The remainder of rounding goes to the first weight above 0.
pub(crate) fn share(amount: u64, weights: impl Iterator<Item = u64> + Clone, parts: &mut Vec<u64>) {
    let all: u128 = weights.clone().map(u128::from).sum();
    let narrow = u64::try_from(all).ok();
    let part = |weight: u64| match narrow.zip(amount.checked_mul(weight)) {
        // Division of 128 bits takes several times as long.
        Some((all, product)) => product.checked_div(all).unwrap_or(0),
        None => (u128::from(amount) * u128::from(weight)).checked_div(all).unwrap_or(0) as u64,
    };
    parts.clear();
    parts.extend(weights.clone().map(part));
    let left = amount - parts.iter().sum::<u64>();
    let first = weights.zip(parts).find(|it| it.0 > 0);
    first.into_iter().for_each(|(_, part)| *part += left);
}

#[cfg(test)]
mod tests {
    use super::share;

    fn of(amount: u64, weights: &[u64]) -> Vec<u64> {
        let mut parts = vec![7];
        share(amount, weights.iter().copied(), &mut parts);
        parts
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
