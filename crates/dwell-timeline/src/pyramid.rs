//! Shares of classes in bins of time, for single locations, for 16 of them and for more.
//!
//! A row has a cell for each bin: for each class its share of the time, as a part of 255, and the longest wait of the bin, as
//! a number on a scale with four steps to a factor of 2. Bins divide the time from 0 to the end of the run equally, as far as
//! whole nanoseconds allow. The number of bins is a power of 2, so that bins of rows with fewer bins consist of
//! bins of the others.

use dwell_report::Class;

use crate::classes::{CLASSES, Sums};
use crate::span::Time;

/// Size of a cell in bytes.
pub(crate) const CELL: usize = CLASSES + 1;

/// Greatest number of bins, about one for each pixel across a screen. More would be most of the index and of the time that it takes to
/// make it, for a picture that exact sums replace at once.
pub(crate) const MOST_BINS: usize = 2048;

/// Greatest number of cells in a level, as far as that leaves [`LEAST_BINS`].
const MOST_CELLS: usize = 1 << 23;

/// Least number of bins.
const LEAST_BINS: usize = 256;

/// Returns the number of bins of each row of a level with `rows` rows, given the greatest number.
pub(crate) fn bins(rows: usize, most: usize) -> usize {
    let fit = MOST_CELLS / rows.max(1);
    let fit = if fit.is_power_of_two() { fit } else { fit.next_power_of_two() / 2 };
    fit.max(LEAST_BINS).min(most)
}

/// Returns the begin of a bin.
pub(crate) fn begin(bin: usize, bins: usize, end: Time) -> Time {
    let product = u128::from(end.0) * bin as u128;
    // Numbers of bins are powers of 2, and divisions of 128 bits take long.
    match bins.is_power_of_two() {
        true => Time((product >> bins.trailing_zeros()) as u64),
        false => Time((product / bins.max(1) as u128) as u64),
    }
}

/// Returns the bin that contains a time.
pub(crate) fn bin_of(time: Time, bins: usize, end: Time) -> usize {
    if end.0 == 0 {
        return 0;
    }
    let mut bin = match time.0.checked_mul(bins as u64) {
        Some(product) => (product / end.0) as usize,
        None => (u128::from(time.0) * bins as u128 / u128::from(end.0)) as usize,
    };
    // Begins of bins are rounded down, so that a time may lie in a later one.
    while bin + 1 < bins && begin(bin + 1, bins, end) <= time {
        bin += 1;
    }
    bin.min(bins.saturating_sub(1))
}

/// Maps the length of a wait to a scale with four steps to a factor of 2.
pub(crate) fn code(nanoseconds: u64) -> u8 {
    match nanoseconds {
        0 => 0,
        1 => 1,
        _ => {
            let bits = nanoseconds.ilog2();
            // The two bits below the highest one.
            let two = if bits >= 2 {
                nanoseconds >> (bits - 2) & 3
            } else {
                (nanoseconds << (2 - bits)) & 3
            };
            (4 * bits + two as u32).min(255) as u8
        }
    }
}

/// Returns the least length of a wait that has a number in the pyramid.
pub fn least_of_code(code: u8) -> u64 {
    match code {
        0 => 0,
        1..4 => 1,
        _ => {
            let (bits, two) = (u32::from(code) / 4, u64::from(code) % 4);
            ((u128::from(4 + two) << bits) >> 2) as u64
        }
    }
}

/// Exact sums of some locations by bin.
#[derive(Clone, Debug)]
pub(crate) struct Bins {
    end: Time,
    pub(crate) sums: Vec<Sums>,
    pub(crate) longest: Vec<u64>,
    /// Bin of the slice that was added last, which is a good guess for the next.
    last: (usize, Time, Time),
}

impl Bins {
    pub(crate) fn new(bins: usize, end: Time) -> Self {
        let (sums, longest) = (vec![[0; CLASSES]; bins], vec![0; bins]);
        Self { end, sums, longest, last: (0, Time(0), Time(0)) }
    }

    pub(crate) fn clear(&mut self) {
        self.sums.fill([0; CLASSES]);
        self.longest.fill(0);
    }

    /// Adds a slice.
    pub(crate) fn add(&mut self, from: Time, to: Time, class: Class) {
        let bins = self.sums.len();
        let wait = if class == Class::Wait { to.0 - from.0 } else { 0 };
        let (mut bin, mut begin_, mut end) = self.last;
        if !(begin_ <= from && from < end) {
            // The slice before the last one is usually in the same bin or in the one before.
            if bin > 0 && from < begin_ && begin(bin - 1, bins, self.end) <= from {
                bin -= 1;
            } else {
                bin = bin_of(from, bins, self.end);
            }
            (begin_, end) = (begin(bin, bins, self.end), begin(bin + 1, bins, self.end));
            self.last = (bin, begin_, end);
        }
        let mut at = from;
        loop {
            let until = to.min(end);
            if let (Some(sums), Some(longest)) = (self.sums.get_mut(bin), self.longest.get_mut(bin))
            {
                if let Some(sum) = sums.get_mut(class as usize) {
                    *sum += until.0.saturating_sub(at.0);
                }
                *longest = (*longest).max(wait);
            }
            if until == to || bin + 1 >= bins {
                return;
            }
            at = until;
            bin += 1;
            end = begin(bin + 1, bins, self.end);
        }
    }

    /// Adds the sums of other locations.
    pub(crate) fn join(&mut self, more: &Self) {
        for (own, more) in self.sums.iter_mut().zip(&more.sums) {
            own.iter_mut().zip(more).for_each(|(own, more)| *own += more);
        }
        self.longest.iter_mut().zip(&more.longest).for_each(|(own, more)| *own = (*own).max(*more));
    }

    /// Appends a row of `bins` bins that covers `locations` locations.
    pub(crate) fn encode(&self, bins: usize, locations: u64, to: &mut Vec<u8>) {
        let each = (self.sums.len() / bins.max(1)).max(1);
        let lists = self.sums.chunks(each).zip(self.longest.chunks(each));
        for (bin, (sums, longest)) in lists.enumerate() {
            let length = begin(bin + 1, bins, self.end).0 - begin(bin, bins, self.end).0;
            let whole = u128::from(length) * u128::from(locations);
            let mut total: Sums = [0; CLASSES];
            for own in sums {
                total.iter_mut().zip(own).for_each(|(total, own)| *total += own);
            }
            to.extend(total.map(|it| share(it, whole)));
            to.push(code(longest.iter().copied().max().unwrap_or(0)));
        }
    }
}

/// Returns a part as a part of 255, rounded.
pub(crate) fn share(part: u64, whole: u128) -> u8 {
    if part == 0 || whole == 0 {
        return 0;
    }
    // Divisions of 128 bits take several times as long, and most numbers are small.
    let small = u64::try_from(whole).ok().and_then(|whole| {
        let scaled = part.checked_mul(255)?.checked_add(whole / 2)?;
        Some(scaled / whole)
    });
    match small {
        Some(share) => share.min(255) as u8,
        None => ((u128::from(part) * 255 + whole / 2) / whole).min(255) as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_lower_bounds() {
        let mut before = 0;
        for length in (0..2000).chain([u64::MAX / 2, u64::MAX]) {
            let code = code(length);
            assert!(code >= before, "{length}");
            before = code;
            assert!(least_of_code(code) <= length, "{length}");
            assert!(u128::from(length) * 4 <= u128::from(least_of_code(code)) * 5, "{length}");
        }
    }

    #[test]
    fn shares_are_rounded() {
        for whole in [1, 3, 1000, u128::from(u64::MAX), u128::from(u64::MAX) * 7] {
            for part in [0, 1, 2, 499, 1000, u64::MAX / 255, u64::MAX / 2, u64::MAX] {
                let exact = (u128::from(part) * 255 + whole / 2) / whole;
                assert_eq!(u128::from(share(part, whole)), exact.min(255), "{part} of {whole}");
            }
        }
    }

    #[test]
    fn every_time_is_in_its_bin() {
        for end in [1, 7, 255, 256, 1000, 1_000_003] {
            for bins in [1, 4, 256] {
                for time in (0..end).step_by(end as usize / 500 + 1) {
                    let bin = bin_of(Time(time), bins, Time(end));
                    let (from, to) = (begin(bin, bins, Time(end)), begin(bin + 1, bins, Time(end)));
                    assert!(from.0 <= time && time < to.0, "{time} of {end} in {bin} of {bins}");
                }
            }
        }
    }
}
