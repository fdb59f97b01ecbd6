//! Raw rows of a profile: what the recorder leaves, and what a report is made from.
//!
//! The file of a location is a list of records of [`RECORD`] bytes, each 16 words of 8 bytes in little
//! endian. A record becomes part of the file when its first word stops being zero, and its numbers grow in
//! place, so the file can be read at any instant, also after a kill. Ids are local to the process, as in
//! its events; the mapping tables of the location translate them.
//!
//! | word | header, the first record | path | partner | counter |
//! |---|---|---|---|---|
//! | 0 | [`MAGIC`] | 1; parent in the upper half | 2; kind in the upper half | 4; counter from bit 8 on; path in the upper half |
//! | 1 | time of the first call | region; calling context plus one in the upper half | window or communicator; rank in the upper half | 0 |
//! | 2 | time of the last event | visits | operations | values |
//! | 3 | calls that there was no row for | nanoseconds, without those of inner calls | bytes | their sum |
//! | 4 | | shortest visit | nanoseconds in calls that began with it | the least |
//! | 5 | | longest visit | | the largest |
//! | 6 … 15 | | [`COUNTS`] | | |
//!
//! The parent of a path is the number of its record; 0 is none. The path without a parent is the
//! program itself: its time is what is left of that between the first call and the last event.
//!
//! A path may be a parameter that has a value, for as long as it has it. Word 0 is then 3, with the parameter
//! from bit 8 on, and word 1 the value; if that is a text word 0 is 6, and word 1 its local number. Beyond
//! [`VALUES`] of these at a location others are one, whose word 0 has 5 and word 1 is 0. Values of counters are as
//! their definition says, 64-bit integers or the bits of a double.
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

/// See [`PATH`]: a parameter that has a value, and any other value.
pub const PARAMETER: u64 = 3;
/// See [`PARAMETER`].
pub const OTHER_VALUE: u64 = 5;
/// See [`PARAMETER`]: its value is a text.
pub const TEXT: u64 = 6;
/// See [`PATH`]: the values of a counter.
pub const COUNTER: u64 = 4;

/// Values of parameters on call paths of a location that are kept apart.
pub const VALUES: usize = 4096;

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
    /// The parameter that it is. Region and site mean nothing then.
    pub parameter: Option<Setting>,
}

/// A parameter that has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    /// Which one.
    pub parameter: u32,
    /// Its value, if that is kept apart.
    pub value: Option<u64>,
    /// Whether the value is the number of a text.
    pub is_text: bool,
}

/// The values of a counter on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterRow {
    /// Number of the record of the path.
    pub path: u32,
    /// Which counter.
    pub counter: u32,
    /// How many values there were.
    pub values: u64,
    /// Their sum, as bits.
    pub sum: u64,
    /// The least.
    pub least: u64,
    /// The largest.
    pub largest: u64,
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

/// The two words that a value of a parameter is known by, or all values that are not kept apart.
pub const fn parameter_key(parent: u32, setting: Setting) -> (u64, u64) {
    let rest = (setting.parameter as u64) << 8 & 0xffff_ff00 | (parent as u64) << 32;
    match setting.value {
        Some(value) if setting.is_text => (TEXT | rest, value),
        Some(value) => (PARAMETER | rest, value),
        None => (OTHER_VALUE | rest, 0),
    }
}

/// The two words that the values of a counter on a path are known by.
pub const fn counter_key(path: u32, counter: u32) -> (u64, u64) {
    (COUNTER | (counter as u64) << 8 & 0xffff_ff00 | (path as u64) << 32, 0)
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
    /// A counter.
    Counter(CounterRow),
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
        let number_of = |word: u64| (word >> 8) as u32 & 0xff_ffff;
        let row = match words[0] & 0xff {
            kind @ (PATH | PARAMETER | TEXT | OTHER_VALUE) => {
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
                    parameter: (kind != PATH).then(|| Setting {
                        parameter: number_of(words[0]),
                        value: (kind != OTHER_VALUE).then_some(words[1]),
                        is_text: kind == TEXT,
                    }),
                })
            }
            COUNTER => Row::Counter(CounterRow {
                path: upper(words[0]),
                counter: number_of(words[0]),
                values: words[2],
                sum: words[3],
                least: words[4],
                largest: words[5],
            }),
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
        let setting = Setting { parameter: 2, value: Some(u64::MAX), is_text: true };
        let (five, six) = parameter_key(7, setting);
        let (seven, eight) = counter_key(7, 3);
        let records: [Words; 6] = [
            [MAGIC, 10, 20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [one, two, 4, 100, 20, 30, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
            [three, four, 6, 48, 77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [five, six, 4, 100, 20, 30, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
            [seven, eight, 4, 100, 20, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
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
            parameter: None,
        };
        let partner =
            PartnerRow { kind: 1, context: 2, rank: 5, operations: 6, bytes: 48, time: 77 };
        let all: Vec<_> = rows(&bytes).collect();
        let parameter = Some(setting);
        let value = PathRow { parameter, region: u32::MAX, site: Some(u32::MAX - 1), ..path };
        let counter =
            CounterRow { path: 7, counter: 3, values: 4, sum: 100, least: 20, largest: 30 };
        let expected =
            [Row::Path(path), Row::Partner(partner), Row::Path(value), Row::Counter(counter)];
        assert!(all.iter().copied().eq((1..).zip(expected)), "{all:?}");
        assert_eq!(header(&bytes[..100]), None);
    }
}
