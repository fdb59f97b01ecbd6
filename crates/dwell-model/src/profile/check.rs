//! The number of records of a file of rows and the sum over them, by which readers notice damage.
//!
//! The file of a process that was killed must be consistent at whatever instruction the kill interrupted it, and a call
//! that is profiled must not become slower by more than a few instructions. So the sum is one that grows with the
//! numbers in the file: each number is multiplied by a [weight] and added. All weights are odd, so that a change of any
//! bit of a word changes the sum; they differ from record to record, so that exchanged records do as well. Only an
//! exchange of whole [`COUNTS`](super::COUNTS) within one record would not be noticed.
//!
//! The header has two sums. Before the recorder changes a record, it *announces* the sum that will be right afterwards;
//! after the change it *confirms* the sum. Numbers only grow, so the true sum lies between the two at any instant, and
//! is equal to both when nothing is being changed. Three kinds of words do not grow:
//!
//! * The shortest visit of a path gets smaller, so its complement is added.
//! * The words that identify a record, 0 and 1, do not change. A [digest](key) of them is added when the record is made.
//! * Values of counters may do anything. The record of a counter contributes a [digest](values) of its values, and while
//!   it is changed the header has its number and the sum of all other records.
//!
//! Files of version 1 have neither a number of records nor sums.

use super::{COUNTER, MAGIC, RECORD, WORDS, Words, is_path, words};

/// Word of the header with the number of records, the header included. It is raised before the first word of the new
/// record is written.
pub const RECORDS: usize = 4;
/// Word of the header with the confirmed sum.
pub const CONFIRMED: usize = 5;
/// Word of the header with the announced sum.
pub const ANNOUNCED: usize = 6;
/// Word of the header with the number of the counter's record that is being changed; 0 if none is.
pub const CHANGING: usize = 7;
/// Word of the header with the sum of all records but the one that is being changed.
pub const OTHERS: usize = 8;

/// Number of bits of a digest of words 0 and 1. With more, a sum could wrap around between announcement and
/// confirmation.
const KEY_BITS: u32 = 47;

/// Returns the number by which a word is multiplied: the weight of its record, times a small number. Processors multiply
/// by 3, 5 and 9 in one instruction; word 2 mostly grows by 1, so that its number needs no multiplication.
#[inline(always)]
pub const fn weight(record: u32, word: usize) -> u64 {
    let of_word = match word {
        2 => 7,
        3 => 3,
        4 => 5,
        5 => 9,
        _ => 1,
    };
    of_record(record) * of_word
}

/// Returns the weight of a record, by which the words that are counts are multiplied. The remainder by 16 of the weight
/// of a word is the number of [`weight`], so that no two words have the same weight, but for the counts of one record.
#[inline(always)]
pub const fn of_record(record: u32) -> u64 {
    record as u64 * 16 + 1
}

/// Returns the contribution of words 0 and 1 of a record to the sum.
pub const fn key(record: u32, first: u64, second: u64) -> u64 {
    mix(mix(mix(record as u64) ^ first) ^ second) >> (u64::BITS - KEY_BITS)
}

/// Returns the contribution of words 2 to 5 of the record of a counter to the sum. It is 0 for a record without values.
pub const fn values(record: u32, [_, _, values, sum, least, largest, ..]: &Words) -> u64 {
    if *values | *sum | *least | *largest == 0 {
        return 0;
    }
    mix(mix(mix(mix(mix(record as u64) ^ *values) ^ *sum) ^ *least) ^ *largest)
}

/// Changes about half of the bits of the result for each bit of `word`.
const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 32)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    let word = word.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let word = (word ^ (word >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    word ^ (word >> 32)
}

/// Damage of a file of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The file does not begin with the header of a profile.
    NoProfile,
    /// Rows are missing: the file has `found` of `stated` records behind the header.
    Missing {
        /// Number of records behind the header that the file should have.
        stated: u64,
        /// Number of records before the first that is missing.
        found: u64,
    },
    /// There are rows behind the last one.
    Behind {
        /// Offset of the first of these rows, in bytes.
        offset: u64,
    },
    /// The sum over all records is not the one in the header.
    Sum,
}

impl core::fmt::Display for Damage {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoProfile => write!(out, "byte 0: no rows of a profile"),
            Self::Missing { stated, found } => {
                let missing = stated - found;
                write!(out, "{missing} of {stated} rows of the profile are missing")
            }
            Self::Behind { offset } => write!(out, "byte {offset}: rows behind the last one"),
            Self::Sum => write!(out, "the checksum of the rows is wrong"),
        }
    }
}

/// Checks that a file of rows is as the recorder left it, at its end or when it was killed.
///
/// # Errors
/// Returns the first damage. What is left of the rows can be read all the same, unless it is [`Damage::NoProfile`].
/// A file of version 1 is damaged only if rows are missing before others.
pub fn check(bytes: &[u8]) -> Result<(), Damage> {
    let header = super::header(bytes).and(bytes.get(..RECORD)).map(words);
    let header = header.ok_or(Damage::NoProfile)?;
    let mut records = bytes.chunks_exact(RECORD).map(words).zip(0_u32..);
    if header[0] != MAGIC {
        // Version 1. Rows behind one that is empty are all that can be noticed.
        let used = records.by_ref().take_while(|(words, _)| words[0] != 0).count() as u64;
        return match records.any(|(words, _)| words != [0; WORDS]) {
            true => Err(Damage::Behind { offset: (used + 1) * RECORD as u64 }),
            false => Ok(()),
        };
    }
    let (confirmed, announced) = (header[CONFIRMED], header[ANNOUNCED]);
    let (changing, others) = (header[CHANGING], header[OTHERS]);
    let mut sum = head(&header);
    let stated = header[RECORDS].saturating_sub(1);
    for (found, (words, record)) in (0..stated).zip(records.by_ref().skip(1).chain(empty())) {
        let is_last = found + 1 == stated;
        if words[0] == 0 && !(is_last && announced != confirmed && record != u32::MAX) {
            return Err(Damage::Missing { stated, found });
        }
        if u64::from(record) != changing {
            sum = sum.wrapping_add(contribution(record, &words));
        } else if words[0] & 0xff == COUNTER {
            sum = sum.wrapping_add(key(record, words[0], words[1]));
        }
    }
    if stated == 0 {
        records.next();
    }
    if let Some((_, record)) = records.find(|(words, _)| *words != [0; WORDS]) {
        return Err(Damage::Behind { offset: u64::from(record) * RECORD as u64 });
    }
    let holds = match changing {
        0 => sum.wrapping_sub(confirmed) <= announced.wrapping_sub(confirmed),
        _ => sum == others,
    };
    if holds { Ok(()) } else { Err(Damage::Sum) }
}

/// Stands for the records behind the end of a file.
fn empty() -> impl Iterator<Item = (Words, u32)> {
    core::iter::repeat(([0; WORDS], u32::MAX))
}

/// Returns the contribution of the header to the sum: of its times, and of the number of calls without a row.
fn head(header: &Words) -> u64 {
    (1..RECORDS).fold(0, |sum, at| sum.wrapping_add(header[at].wrapping_mul(weight(0, at))))
}

/// Returns the contribution of a record to the sum. A record whose first word is not yet there contributes nothing.
fn contribution(record: u32, words: &Words) -> u64 {
    let [first, second, ..] = *words;
    match first & 0xff {
        0 if first == 0 => 0,
        COUNTER => {
            let known = key(record, first, second).wrapping_add(values(record, words));
            weighed(record, words, 6, known)
        }
        _ => weighed(record, words, 2, key(record, first, second)),
    }
}

/// Adds the words of a record from `from` on to a sum, each multiplied by its weight.
fn weighed(record: u32, words: &Words, from: usize, sum: u64) -> u64 {
    words.iter().enumerate().skip(from).fold(sum, |sum, (at, word)| {
        let word = if at == 4 && is_path(words[0]) { !word } else { *word };
        sum.wrapping_add(word.wrapping_mul(weight(record, at)))
    })
}
