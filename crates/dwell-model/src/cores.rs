//! Sets of processor cores, in the notation of Linux: `0-3,8`.

use core::fmt;
use core::str::FromStr;

/// Number of 64-bit words of a set, which gives room for 4,096 cores.
const WORDS: usize = 64;

/// A set of processor cores, numbered from 0 to 4,095.
///
/// The recorder writes the cores that each process may use into the archive, and the analysis compares these sets to
/// find nodes that have more processes than cores. The text form is the list notation of Linux.
///
/// ```
/// use dwell_model::cores::Cores;
///
/// let cores: Cores = "0-3,8".parse().unwrap();
/// assert_eq!(cores.count(), 5);
/// assert_eq!(cores.to_string(), "0-3,8");
/// assert!("8".parse::<Cores>().unwrap().is_within(&cores));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cores {
    /// The bits of the set: bit b of word w stands for core 64 w + b.
    words: [u64; WORDS],
}

impl Default for Cores {
    fn default() -> Self {
        Self { words: [0; WORDS] }
    }
}

impl Cores {
    /// Returns the set of these bits: bit b of word w stands for core 64 w + b. Cores above 4,095 are left out.
    pub fn from_words(words: &[u64]) -> Self {
        let mut cores = Self::default();
        cores.words.iter_mut().zip(words).for_each(|(to, from)| *to = *from);
        cores
    }

    /// Returns the bits of the set, up to the last word that is not 0. An empty set has no words.
    /// [`from_words`](Self::from_words) is the inverse.
    pub fn words(&self) -> &[u64] {
        let used = self.words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
        self.words.get(..used).unwrap_or_default()
    }

    /// Returns the number of cores in the set.
    pub fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns `true` if every core of this set is also in the other. An empty set is within every set.
    pub fn is_within(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).all(|(word, other)| word & !other == 0)
    }

    /// Adds the cores of another set to this one.
    pub fn join(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    fn insert(&mut self, core: u32) {
        if let Some(word) = self.words.get_mut(core as usize / 64) {
            *word |= 1 << (core % 64);
        }
    }

    fn has(&self, core: u32) -> bool {
        self.words.get(core as usize / 64).is_some_and(|word| word >> (core % 64) & 1 == 1)
    }
}

/// The error of parsing a text that is not a list of cores: empty, not a number, a range whose end comes before its start,
/// or a core above 4,095.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoCores;

impl FromStr for Cores {
    type Err = NoCores;

    fn from_str(text: &str) -> Result<Self, NoCores> {
        let mut cores = Self::default();
        for part in text.trim().split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<u32>().map_err(|_| NoCores);
            let (first, last) = (number(first)?, number(last)?);
            if first > last || last as usize >= WORDS * 64 {
                return Err(NoCores);
            }
            (first..=last).for_each(|core| cores.insert(core));
        }
        Ok(cores)
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = WORDS as u32 * 64;
        let (mut core, mut separator) = (0, "");
        while core < end {
            if !self.has(core) {
                core += 1;
                continue;
            }
            let first = core;
            while self.has(core + 1) {
                core += 1;
            }
            match core - first {
                0 => write!(f, "{separator}{first}")?,
                _ => write!(f, "{separator}{first}-{core}")?,
            }
            (core, separator) = (core + 1, ",");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString;

    use super::*;

    #[test]
    fn texts_and_sets() {
        for text in ["0", "0-3", "0-3,8", "1,63-64,130", "5-4095"] {
            let cores: Cores = text.parse().unwrap();
            assert_eq!(cores.to_string(), text);
            assert_eq!(Cores::from_words(cores.words()), cores);
        }
        assert_eq!("0-3,8".parse::<Cores>().unwrap().count(), 5);
        for text in ["", "a", "3-1", "1,,2", "0-4096"] {
            assert_eq!(text.parse::<Cores>(), Err(NoCores), "{text}");
        }
    }

    #[test]
    fn sets_within_sets() {
        let cores = |text: &str| text.parse::<Cores>().unwrap();
        assert!(cores("1-2").is_within(&cores("0-3")));
        assert!(!cores("1-4").is_within(&cores("0-3")));
        assert!(!cores("64").is_within(&cores("0-3")));
        let mut both = cores("0");
        both.join(&cores("64-65"));
        assert_eq!(both, cores("0,64-65"));
    }
}
