//! Raw rows of a profile: what the recorder leaves, and what a report is made from.
//!
//! The file of a location is a list of records of [`RECORD`] bytes, each 16 words of 8 bytes in little
//! endian. A record becomes part of the file when its first word stops being zero, and its numbers grow in
//! place, so the file can be read at any instant, also after a kill. Ids are local to the process, as in
//! its events; the mapping tables of the location translate them.
//!
//! | word | header, the first record | path | partner |
//! |---|---|---|---|
//! | 0 | [`MAGIC`] | 1; parent in the upper half | 2; kind in the upper half |
//! | 1 | time of the first call | region; calling context plus one in the upper half | window or communicator; rank in the upper half |
//! | 2 | time of the last event | visits | operations |
//! | 3 | calls that there was no row for | nanoseconds, without those of inner calls | bytes |
//! | 4 | | shortest visit | nanoseconds in calls that began with it |
//! | 5 | | longest visit | |
//! | 6 … 15 | | [`COUNTS`] | |
//!
//! The parent of a path is the number of its record; 0 is none. The path without a parent is the
//! program itself: its time is what is left of that between the first call and the last event.
//!
//! At the end of a run that ends well the rows of many locations are put together in [`block`]s.

pub mod block;

/// First word of a file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"dwellpr1");

/// Words of a record.
pub const WORDS: usize = 16;

/// Bytes of a record.
pub const RECORD: usize = 8 * WORDS;

/// First word of a path, and of a partner, in the lower half.
pub const PATH: u64 = 1;
/// See [`PATH`].
pub const PARTNER: u64 = 2;

/// Names of the counts of a path, in the order of their words.
pub const COUNTS: [&str; 10] = [
    "puts",
    "gets",
    "atomics",
    "bytes put",
    "bytes fetched",
    "messages sent",
    "messages received",
    "bytes sent",
    "bytes received",
    "collectives",
];

/// Word of the first count.
pub const FIRST_COUNT: usize = 6;

/// Kinds of partners.
pub const KINDS: [&str; 4] = ["put", "get", "atomic", "message"];

/// The kind whose partners are ranks of a communicator; those of all others are ranks of a window.
pub const MESSAGE: u32 = 3;

/// One record, as words.
pub type Words = [u64; WORDS];

/// A path: a function called from one place, inside of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathRow {
    /// Number of the record of what it was called in; 0 for the program itself.
    pub parent: u32,
    /// Its region.
    pub region: u32,
    /// From where it was called, if that is known.
    pub site: Option<u32>,
    /// How often.
    pub visits: u64,
    /// Nanoseconds, without those of calls inside.
    pub time: u64,
    /// The shortest of these.
    pub shortest: u64,
    /// The longest of these.
    pub longest: u64,
    /// See [`COUNTS`].
    pub counts: [u64; COUNTS.len()],
}

/// What went to or came from one partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartnerRow {
    /// See [`KINDS`].
    pub kind: u32,
    /// Window, or communicator of messages.
    pub context: u32,
    /// Its rank there.
    pub rank: u32,
    /// Operations.
    pub operations: u64,
    /// Bytes.
    pub bytes: u64,
    /// Nanoseconds in the calls that began with it.
    pub time: u64,
}

/// The two words that a path is known by.
pub const fn path_key(parent: u32, region: u32, site: Option<u32>) -> (u64, u64) {
    let site = match site {
        Some(site) => site as u64 + 1,
        None => 0,
    };
    (PATH | (parent as u64) << 32, region as u64 | site << 32)
}

/// The two words that a partner is known by.
pub const fn partner_key(kind: u32, context: u32, rank: u32) -> (u64, u64) {
    (PARTNER | (kind as u64) << 32, context as u64 | (rank as u64) << 32)
}

/// What a file says of its location.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Time of the first call.
    pub first: u64,
    /// Time of the last event.
    pub last: u64,
    /// Calls that there was no row for.
    pub dropped: u64,
}

/// A record behind the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// A path.
    Path(PathRow),
    /// A partner.
    Partner(PartnerRow),
}

/// Reads the header. `None` if the bytes are not those of a profile.
pub fn header(bytes: &[u8]) -> Option<Header> {
    let words = words(bytes.get(..RECORD)?);
    (words[0] == MAGIC).then_some(Header { first: words[1], last: words[2], dropped: words[3] })
}

/// Reads the records behind the header, with their numbers.
pub fn rows(bytes: &[u8]) -> impl Iterator<Item = (u32, Row)> {
    let all = bytes.chunks_exact(RECORD).map(words).zip(0..).skip(1);
    all.take_while(|(words, _)| words[0] != 0).filter_map(|(words, number)| {
        let upper = |word: u64| (word >> 32) as u32;
        let row = match words[0] & 0xffff_ffff {
            PATH => {
                let mut counts = [0; COUNTS.len()];
                counts.copy_from_slice(&words[FIRST_COUNT..]);
                Row::Path(PathRow {
                    parent: upper(words[0]),
                    region: words[1] as u32,
                    site: upper(words[1]).checked_sub(1),
                    visits: words[2],
                    time: words[3],
                    shortest: words[4],
                    longest: words[5],
                    counts,
                })
            }
            PARTNER => Row::Partner(PartnerRow {
                kind: upper(words[0]),
                context: words[1] as u32,
                rank: upper(words[1]),
                operations: words[2],
                bytes: words[3],
                time: words[4],
            }),
            _ => return None,
        };
        Some((number, row))
    })
}

/// The words of a record.
fn words(record: &[u8]) -> Words {
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(record.chunks_exact(8)) {
        *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
    words
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    #[test]
    fn rows_come_back() {
        let (one, two) = path_key(7, 3, Some(9));
        let (three, four) = partner_key(1, 2, 5);
        let records: [Words; 4] = [
            [MAGIC, 10, 20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [one, two, 4, 100, 20, 30, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
            [three, four, 6, 48, 77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [0; WORDS],
        ];
        let bytes: Vec<u8> = records.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(header(&bytes), Some(Header { first: 10, last: 20, dropped: 1 }));
        let path = PathRow {
            parent: 7,
            region: 3,
            site: Some(9),
            visits: 4,
            time: 100,
            shortest: 20,
            longest: 30,
            counts: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        };
        let partner =
            PartnerRow { kind: 1, context: 2, rank: 5, operations: 6, bytes: 48, time: 77 };
        let all: Vec<_> = rows(&bytes).collect();
        assert_eq!(all, [(1, Row::Path(path)), (2, Row::Partner(partner))]);
        assert_eq!(header(&bytes[..100]), None);
    }
}
