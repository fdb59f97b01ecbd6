//! Distribution of processes to shards, and of shards to ranks.

use std::ops::Range;

use dwell_trace::ids::ProcessNumber;

/// Greatest size of a batch in bytes. Larger batches would not travel faster.
pub(crate) const MOST_BATCH: usize = 16 * 1024;
const LEAST_BATCH: usize = 512;
/// Least number of shards of a large run, and least number for each worker.
const LEAST_SHARDS: usize = 256;
const SHARDS_PER_WORKER: usize = 4;
/// Number of batches being filled for one shard: usual kinds of messages times threads.
const OPEN_BATCHES: usize = 12;

/// Distribution of processes to shards: each shard owns as many consecutive processes, and that number is a power of
/// two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sharding {
    shift: u32,
    /// Number of shards. The last one may own no process.
    pub(crate) count: usize,
    /// Size of a batch of messages in bytes.
    pub(crate) batch: usize,
}

impl Sharding {
    /// Chooses a distribution for a number of processes and of workers, which are the threads of all ranks. A large run
    /// has a few hundred shards: enough to keep all workers busy, and few enough for batches of messages to be worth
    /// sending.
    pub(crate) fn of(processes: usize, workers: usize) -> Self {
        let shards = (workers * SHARDS_PER_WORKER).next_power_of_two().max(LEAST_SHARDS);
        let shift = (processes / shards).max(1).next_power_of_two().trailing_zeros();
        Self { shift, count: (processes >> shift) + 1, batch: MOST_BATCH }
    }

    /// Returns the same distribution with smaller batches, so that all batches being filled take about `bytes`
    /// together. A batch never becomes smaller than 512 bytes.
    #[must_use]
    pub(crate) fn within(self, bytes: u64) -> Self {
        let open = self.count.saturating_mul(OPEN_BATCHES).max(1) as u64;
        let batch = (bytes / open) as usize;
        Self { batch: batch.clamp(LEAST_BATCH, MOST_BATCH), ..self }
    }

    /// Returns the shard that owns a process. The result is below [`Self::count`] for every process that was counted in
    /// [`Self::of`].
    #[inline]
    pub(crate) fn shard(self, process: ProcessNumber) -> usize {
        (process.0 >> self.shift) as usize
    }

    /// Returns the processes that a shard owns. `of` is the number of all processes; the range is empty for a shard
    /// beyond them.
    pub(crate) fn processes(self, shard: usize, of: usize) -> std::ops::Range<usize> {
        (shard << self.shift).min(of)..((shard + 1) << self.shift).min(of)
    }
}

/// Consecutive shards of each rank.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    /// First shard of each rank, and the number of all shards at the end.
    first: Vec<usize>,
}

impl Assignment {
    /// Deals shards to ranks so that each gets about as much of the weight. If that would be less than `least`, only as
    /// many of the first ranks take part as have so much.
    pub(crate) fn of(weights: &[u64], ranks: usize, least: u64) -> Self {
        let all: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
        let busy = (all / u128::from(least.max(1))).clamp(1, ranks.max(1) as u128);
        let mut first = vec![0];
        let mut sum: u128 = 0;
        for (shard, &weight) in weights.iter().enumerate() {
            // A shard belongs to the rank in whose share its middle lies.
            let middle = 2 * sum + u128::from(weight);
            while (first.len() as u128) < busy && middle * busy >= 2 * all * first.len() as u128 {
                first.push(shard);
            }
            sum += u128::from(weight);
        }
        first.resize(ranks.max(1) + 1, weights.len());
        Self { first }
    }

    /// Returns the rank that owns a shard.
    pub(crate) fn rank(&self, shard: usize) -> usize {
        self.first.partition_point(|first| *first <= shard).saturating_sub(1)
    }

    /// Returns the shards of a rank.
    pub(crate) fn shards(&self, rank: usize) -> Range<usize> {
        let at = |index: usize| self.first.get(index).copied().unwrap_or(0);
        at(rank)..at(rank + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::Assignment;

    fn assignment(weights: &[u64], ranks: usize, least: u64) -> Vec<usize> {
        Assignment::of(weights, ranks, least).first
    }

    #[test]
    fn ranks_get_consecutive_shards_of_about_the_same_weight() {
        assert_eq!(assignment(&[1; 8], 4, 1), [0, 2, 4, 6, 8]);
        assert_eq!(assignment(&[5, 1, 1, 1, 1, 1], 2, 1), [0, 1, 6]);
        assert_eq!(assignment(&[1, 1, 1, 1, 1, 5], 2, 1), [0, 5, 6]);
        assert_eq!(assignment(&[1, 100, 1], 3, 1), [0, 1, 2, 3]);
        // The middle of the only shard lies in the share of the second of three ranks.
        assert_eq!(assignment(&[3], 3, 1), [0, 0, 1, 1]);
        assert_eq!(assignment(&[], 2, 1), [0, 0, 0]);
        let large = [u64::MAX; 4];
        assert_eq!(assignment(&large, 2, 1), [0, 2, 4]);
    }

    #[test]
    fn a_small_trace_is_not_spread_over_all_ranks() {
        assert_eq!(assignment(&[10; 8], 4, 40), [0, 4, 8, 8, 8]);
        assert_eq!(assignment(&[10; 8], 4, 1_000), [0, 8, 8, 8, 8]);
        assert_eq!(assignment(&[0; 3], 2, 0), [0, 3, 3]);
    }
}
