//! The function whose calls fill a trace, found by looking at which call is open whenever a chunk is full.

use super::Thread;
use crate::modulo::Modulo;

/// Number of functions that are distinguished. Others are counted only in the total.
const FUNCTIONS: usize = 16;
/// Number of chunks from which a trace is large.
const LARGE: u32 = 32;

/// Number of chunks that were full in calls of each function.
#[derive(Clone, Copy, Debug)]
pub(super) struct FullChunks {
    total: u32,
    functions: [(u32, u32); FUNCTIONS],
}

impl FullChunks {
    pub(super) const NONE: Self = Self { total: 0, functions: [(0, 0); FUNCTIONS] };

    fn add(&mut self, region: u32) {
        self.total += 1;
        let known = |(at, count): &&mut (u32, u32)| *count == 0 || *at == region;
        if let Some((at, count)) = self.functions.iter_mut().find(known) {
            (*at, *count) = (region, *count + 1);
        }
    }

    /// Returns the region of the function that had at least a third of the chunks of a large trace, if there is one.
    pub(super) fn largest(&self) -> Option<u32> {
        let (region, count) = *self.functions.iter().max_by_key(|(_, count)| *count)?;
        (self.total >= LARGE && count >= self.total / 3).then_some(region)
    }
}

impl Thread {
    /// Counts a full chunk for the outermost open call of a runtime.
    pub(super) fn count_full_chunk(&mut self) {
        let calls = 0..self.depth;
        let is_call = |depth: &usize| self.frames.modulo(*depth).layer != 0;
        if let Some(depth) = calls.into_iter().find(is_call) {
            self.full_chunks.add(self.frames.modulo(depth).region);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_a_large_trace_has_a_name() {
        let mut chunks = FullChunks::NONE;
        for chunk in 0..31 {
            chunks.add(if chunk % 2 == 0 { 7 } else { 100 + chunk });
        }
        assert_eq!(chunks.largest(), None, "31 chunks are not many");
        chunks.add(7);
        assert_eq!(chunks.largest(), Some(7));
        for chunk in 0..40 {
            chunks.add(200 + chunk);
        }
        assert_eq!(chunks.largest(), None, "17 of 72 are no third");
    }
}
