//! Raw rows of a profile: the recorder writes them, and the analysis makes reports from them.
//!
//! The file of a location is a list of records of [`RECORD`] bytes, each 16 words of 8 bytes in little endian. A record
//! becomes part of the file when its first word stops being zero, and its numbers grow in place, so the file can be
//! read at any instant, also after a kill. Ids are local to the process, as in its events; the mapping tables of the
//! location translate them.
//!
//! | word | header, the first record | path | partner | counter |
//! |---|---|---|---|---|
//! | 0 | [`MAGIC`] | 1; parent in the upper half | 2; kind in the upper half | 4; counter from bit 8 on; path in the upper half |
//! | 1 | time of the first call | region; calling context plus one in the upper half | window or communicator; rank in the upper half | 0 |
//! | 2 | time of the last event | visits | operations | values |
//! | 3 | calls for which there was no row | nanoseconds, without those of inner calls | bytes | sum of the values |
//! | 4 | number of records, the header included | shortest visit | nanoseconds in calls that began with it | least value |
//! | 5 | [confirmed sum](check) | longest visit | | largest value |
//! | 6 | announced sum | [`COUNTS`], ten words | | |
//! | 7 | number of the counter's record that is being changed | | | |
//! | 8 | sum of all records but that one | | | |
//!
//! Version 1, whose first word is [`MAGIC_1`], has nothing in words 4 to 8 of the header.
//!
//! The parent of a path is the number of its record; 0 is none. The path without a parent is the program itself: its
//! time is what remains of the time between the first call and the last event.
//!
//! A path may stand for a parameter that has a value, for as long as it has it. Word 0 is then 3, with the parameter
//! from bit 8 on, and word 1 the value; if the value is a text, word 0 is 6, and word 1 the local number of the text.
//! Beyond [`VALUES`] such paths at a location, all further values share one path, whose word 0 has 5 and whose word 1
//! is 0. Values of counters are 64-bit integers or the bits of a double, as the definition of the counter says.
//!
//! At the end of a run that ends well, the processes combine the rows of many locations in [`block`]s.

pub mod block;
pub mod check;

/// First word of a file of rows, the bytes `dwellpr2`. The last character is the version of the format.
pub const MAGIC: u64 = u64::from_le_bytes(*b"dwellpr2");

/// First word of a file of version 1, which has no count of records and no checksum.
pub const MAGIC_1: u64 = u64::from_le_bytes(*b"dwellpr1");

/// Number of 64-bit words in a record.
pub const WORDS: usize = 16;

/// Number of bytes in a record, 128. A file is a whole number of records, unless its process was killed while it grew.
pub const RECORD: usize = 8 * WORDS;

/// Low byte of word 0 of a record for a call path. The upper half of the word is the number of the parent's record.
pub const PATH: u64 = 1;
/// Low byte of word 0 of a record for a partner. The upper half of the word is the kind of communication.
pub const PARTNER: u64 = 2;

/// Low byte of word 0 of a path that stands for a parameter with an integer value. Bits 8 to 31 are the parameter, the
/// upper half is the parent.
pub const PARAMETER: u64 = 3;
/// Low byte of word 0 of a path that stands for all values of a parameter beyond the first [`VALUES`] of the location.
/// The other bits are as in [`PARAMETER`].
pub const OTHER_VALUE: u64 = 5;
/// Low byte of word 0 of a path that stands for a parameter whose value is a text. The other bits are as in
/// [`PARAMETER`].
pub const TEXT: u64 = 6;
/// Low byte of word 0 of a record for the values of a counter. Bits 8 to 31 are the counter, the upper half is the
/// record of its path.
pub const COUNTER: u64 = 4;

/// The number of paths with values of parameters that a location keeps apart. Further values of a parameter share one
/// path, [`OTHER_VALUE`], so that a parameter that changes all the time cannot fill the profile.
pub const VALUES: usize = 4096;

/// Names of the ten counts of a path, in the order of their words. They count operations and bytes of the calls on the
/// path itself, without those of paths below.
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

/// Index of the word that holds the first of the [`COUNTS`].
pub const FIRST_COUNT: usize = 6;

/// The kind whose partners are ranks of a communicator. Partners of all other kinds are ranks of a window.
pub const MESSAGE: u32 = 3;

/// One record as an array of words, as the recorder maps it into memory.
pub type Words = [u64; WORDS];

/// The record of a call path: a function called from one place, inside a chain of other calls. It may also stand for a
/// parameter that has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathRow {
    /// Number of the record of the path in which this one was called; 0 for the program itself.
    pub parent: u32,
    /// Region of the called function, in the numbering of the process.
    pub region: u32,
    /// Calling context from which the function was called, in the numbering of the process. `None` if it is not known.
    pub site: Option<u32>,
    /// Number of completed calls on this path. The program itself has 1 from its first call on.
    pub visits: u64,
    /// Nanoseconds spent on this path itself, without those of calls inside.
    pub time: u64,
    /// Nanoseconds of the shortest visit, without calls inside; `u64::MAX` while no visit has ended.
    pub shortest: u64,
    /// Nanoseconds of the longest visit, without calls inside.
    pub longest: u64,
    /// Operations and bytes on this path, in the order of [`COUNTS`].
    pub counts: [u64; COUNTS.len()],
    /// The parameter and value that the path stands for, or `None` for a call. Region and site have no meaning for a
    /// parameter.
    pub parameter: Option<Setting>,
}

/// A parameter of the program together with the value that it has on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    /// Number of the parameter, in the numbering of the process or, in a block, of the archive.
    pub parameter: u32,
    /// The value, or `None` for the path that all values beyond [`VALUES`] share. A signed value is stored by its bits.
    pub value: Option<u64>,
    /// `true` if the value is the number of a text and not an integer.
    pub is_text: bool,
}

/// The record of the values that one counter had on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterRow {
    /// Number of the record of the path.
    pub path: u32,
    /// Number of the counter, in the numbering of the process or, in a block, of the archive.
    pub counter: u32,
    /// Number of values that were recorded.
    pub values: u64,
    /// Sum of the values, as the bits of a 64-bit integer or a double. An integer sum wraps around.
    pub sum: u64,
    /// The least value, as bits of the counter's type.
    pub least: u64,
    /// The largest value, as bits of the counter's type.
    pub largest: u64,
}

/// The record of the communication with one partner: operations on its memory, or messages sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartnerRow {
    /// Kind of communication, an index into [`Kind::ALL`](crate::pairs::Kind::ALL).
    pub kind: u32,
    /// Window, or communicator if the kind is [`MESSAGE`], in the numbering of the process.
    pub context: u32,
    /// Rank of the partner in the window or communicator.
    pub rank: u32,
    /// Number of operations on the partner, or of messages sent to it.
    pub operations: u64,
    /// Bytes that the operations moved in either direction, or that the messages contained.
    pub bytes: u64,
    /// Nanoseconds spent in the calls that began with an operation on this partner.
    pub time: u64,
}

/// Returns `true` if `first` is word 0 of a path: of a call, or of a parameter that has a value. Word 4 of a path is
/// the shortest visit, and is `u64::MAX` until a visit has ended.
pub const fn is_path(first: u64) -> bool {
    matches!(first & 0xff, PATH | PARAMETER | OTHER_VALUE | TEXT)
}

/// Returns words 0 and 1 of the record of a path, which identify it. The recorder finds or creates the record by them:
/// no two records of a file have the same two words.
pub const fn path_key(parent: u32, region: u32, site: Option<u32>) -> (u64, u64) {
    let site = match site {
        Some(site) => site as u64 + 1,
        None => 0,
    };
    (PATH | (parent as u64) << 32, region as u64 | site << 32)
}

/// Returns words 0 and 1 of the record of a partner, which identify it. `kind` is an index into
/// [`Kind::ALL`](crate::pairs::Kind::ALL), and `rank` counts in the window or communicator `context`.
pub const fn partner_key(kind: u32, context: u32, rank: u32) -> (u64, u64) {
    (PARTNER | (kind as u64) << 32, context as u64 | (rank as u64) << 32)
}

/// Number of parameters, and of counters, that records can tell apart: word 0 has 24 bits for their numbers.
pub const NUMBERS: u32 = 1 << 24;

/// Returns words 0 and 1 of the record of a parameter with a value, which identify it. A setting without a value gives
/// the record that all further values share. Returns `None` if the parameter's number is not below [`NUMBERS`].
pub const fn parameter_key(parent: u32, setting: Setting) -> Option<(u64, u64)> {
    if setting.parameter >= NUMBERS {
        return None;
    }
    let rest = (setting.parameter as u64) << 8 | (parent as u64) << 32;
    Some(match setting.value {
        Some(value) if setting.is_text => (TEXT | rest, value),
        Some(value) => (PARAMETER | rest, value),
        None => (OTHER_VALUE | rest, 0),
    })
}

/// Returns words 0 and 1 of the record of a counter on a path, which identify it. Returns `None` if the counter's number
/// is not below [`NUMBERS`].
pub const fn counter_key(path: u32, counter: u32) -> Option<(u64, u64)> {
    if counter >= NUMBERS {
        return None;
    }
    Some((COUNTER | (counter as u64) << 8 | (path as u64) << 32, 0))
}

/// The header of a file: figures of its location as a whole. Times are nanoseconds of the recorder's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Time of the first call, 0 if there was none.
    pub first: u64,
    /// Time of the last event, 0 if there was no call.
    pub last: u64,
    /// Number of times that no row could be made for a call or partner, because the memory for rows was used up.
    pub dropped: u64,
}

/// A record behind the header, by its type. Records of types that this version does not know are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// The record of a call path, or of a parameter that has a value.
    Path(PathRow),
    /// The record of the communication with one partner.
    Partner(PartnerRow),
    /// The record of a counter's values on a path.
    Counter(CounterRow),
}

/// Reads the header of a file. Returns `None` if the bytes are too short or are not those of a profile of a known version.
pub fn header(bytes: &[u8]) -> Option<Header> {
    let words = words(bytes.get(..RECORD)?);
    matches!(words[0], MAGIC | MAGIC_1).then_some(Header {
        first: words[1],
        last: words[2],
        dropped: words[3],
    })
}

/// Reads the records behind the header, together with their numbers, which other records refer to. The first record is
/// number 1.
///
/// Reading ends at the first record whose first word is zero, or at an incomplete record at the end, so that the file
/// of a killed process can be read as well. Nothing checks that parents exist: callers must not rely on it.
pub fn rows(bytes: &[u8]) -> impl Iterator<Item = (u32, Row)> {
    let all = bytes.chunks_exact(RECORD).map(words).zip(0..).skip(1);
    all.take_while(|(words, _)| words[0] != 0).filter_map(|(words, number)| {
        let upper = |word: u64| (word >> 32) as u32;
        let number_of = |word: u64| (word >> 8) as u32 % NUMBERS;
        let row = match words[0] & 0xff {
            kind if is_path(kind) => {
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

/// Converts the bytes of a record to words.
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
        let (five, six) = parameter_key(7, setting).unwrap();
        let (seven, eight) = counter_key(7, 3).unwrap();
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

    #[test]
    fn numbers_that_have_no_room_have_no_record() {
        let setting = |parameter| Setting { parameter, value: None, is_text: false };
        assert_eq!(parameter_key(0, setting(NUMBERS - 1)), Some((0xffff_ff05, 0)));
        assert_eq!(counter_key(0, NUMBERS - 1), Some((0xffff_ff04, 0)));
        for beyond in [NUMBERS, u32::MAX] {
            assert_eq!((parameter_key(0, setting(beyond)), counter_key(0, beyond)), (None, None));
        }
    }
}
