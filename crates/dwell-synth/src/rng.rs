//! Seeded random numbers that every thread can draw independently of the others.

/// Mixes a number: each output bit depends on every input bit (the finaliser of SplitMix64).
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Returns the random number of a point. It depends on seed and point alone, and not on the order of calls.
pub(crate) fn at(seed: u64, point: [u64; 3]) -> u64 {
    point.into_iter().fold(mix(seed ^ 0x9E37_79B9_7F4A_7C15), |hash, coordinate| {
        mix(hash.wrapping_add(coordinate).wrapping_mul(0xD1B5_4A32_D192_ED03))
    })
}

/// A sequence of random numbers (SplitMix64) that stays the same in all versions, so that archives do. Tests use it where
/// their expectations hold for the programs that are made from it.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self(at(seed, [stream, 0, 0]))
    }

    /// Starts the sequence of a seed.
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number, of which each bit is random.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number in `low..high`, or `low` if the range is empty.
    pub(crate) fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low))
    }
}
