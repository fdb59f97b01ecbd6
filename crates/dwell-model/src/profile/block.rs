//! Blocks: the profiles of many locations in one file, ordered by call path.
//!
//! A report has a row for each call path, and the recorder a file for each location. A block lies between the two: it
//! holds the locations of some consecutive processes, with the lines of all of them for one call path next to each
//! other. So a report can be made path by path, and the number of files grows with the amount of data and not with the
//! number of locations. Ids are those of the archive.
//!
//! # The file
//!
//! Numbers of fixed size are little endian. A *number* is of variable length: seven bits a byte, low bits first; the
//! highest bit says that more bytes follow.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | [`MAGIC`]: `dwellpb` and the version, `2` |
//! | 8 | length of the file without its checksum |
//! | 4 | number of locations |
//! | 4 | number of paths |
//! | 8 | offset of the partners |
//! | 32 for each location | location, time of its first call, of its last event, calls without a row: 8 bytes each |
//! | 48 for each path | parent plus one, region, calling context plus one, [what it has](Sums::has): 4 bytes each; offset and number of its lines: 8 bytes each; of a parameter its number plus one and [bits](Path::setting), 4 bytes each, and its value, 8 bytes |
//! | | lines of the first path, of the second, … |
//! | | partners |
//! | 4 | CRC-32 of all bytes before; not in version 1 |
//!
//! A parent comes before its children. A *line* holds what one location has of a path, and lines are in the order of
//! locations: a step in the list of locations, [sums](Sums), and the number of counters; then for each counter its
//! number, the number of its values, and their sum, least and largest as bits. Each of the *partners* is a step in the
//! list of locations, then kind, context, rank, operations, bytes and nanoseconds. All of these are numbers.
//!
//! | of sums | content |
//! |---|---|
//! | number | region in the events of the location |
//! | number | calling context there, plus one; 0 if it is not known |
//! | number | visits |
//! | number | nanoseconds, without those of inner calls |
//! | number | bit 0: there is a shortest and a longest visit; bit 1 + n: count n is not zero |
//! | two numbers | the shortest, and by how much the longest is longer |
//! | numbers | counts that are not zero |

use super::{COUNTS, CounterRow, Header, PartnerRow, Setting};
use alloc::vec::Vec;

use crate::varint;

/// First eight bytes of a block, `dwellpb2`. The last character is the version of the format.
pub const MAGIC: u64 = u64::from_le_bytes(*b"dwellpb2");
/// First eight bytes of a block of version 1, which has no checksum.
pub const MAGIC_1: u64 = u64::from_le_bytes(*b"dwellpb1");

/// Number of bytes of the checksum at the end of a block.
pub const SUM: usize = 4;

/// Number of bytes in front of the table of locations.
pub const HEAD: usize = 32;
/// Number of bytes of one location in the table of locations.
pub const LOCATION: usize = 32;
/// Number of bytes of one path in the table of paths.
pub const PATH: usize = 48;

/// The head of a block: the sizes of its tables. A reader checks it before it trusts any offset of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Length of the file in bytes, without its checksum. A reader must compare it with the real length, since a
    /// truncated file has the same head; [`sum_length`] gives the difference.
    pub length: u64,
    /// Number of locations in the block, and entries in its table.
    pub locations: u32,
    /// Number of paths in the block, and entries in its table.
    pub paths: u32,
    /// Offset of the partners from the beginning of the file, in bytes. They extend to the end of the file.
    pub partners: u64,
}

impl Head {
    /// Reads the head from the first [`HEAD`] bytes of a file.
    ///
    /// Returns `None` if there are too few bytes, if they are not those of a block, or if the offsets contradict each
    /// other: the tables must not reach beyond the beginning of the partners, nor that beyond the end of the file.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let head = Self {
            length: word(bytes, 8)?,
            locations: half(bytes, 16)?,
            paths: half(bytes, 20)?,
            partners: word(bytes, 24)?,
        };
        let sound = head.tables() <= head.partners && head.partners <= head.length;
        ([MAGIC, MAGIC_1].contains(&word(bytes, 0)?) && sound).then_some(head)
    }

    /// Returns the bytes of the head, as they are at the beginning of the file.
    pub fn bytes(&self) -> [u8; HEAD] {
        let halves = u64::from(self.locations) | u64::from(self.paths) << 32;
        words([MAGIC, self.length, halves, self.partners])
    }

    /// Returns the offset of the end of the tables, where the lines of the first path begin.
    pub fn tables(&self) -> u64 {
        let [locations, paths] = [self.locations, self.paths].map(u64::from);
        HEAD as u64 + locations * LOCATION as u64 + paths * PATH as u64
    }
}

/// Returns the number of bytes of the checksum with which a block ends, given its first bytes: [`SUM`], or 0 in version
/// 1.
pub fn sum_length(bytes: &[u8]) -> usize {
    if word(bytes, 0) == Some(MAGIC_1) { 0 } else { SUM }
}

/// A location of a block, as an entry of its table. Lines and partners refer to locations by their position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Id of the location in the archive.
    pub location: u64,
    /// The header of the location's own file of rows, which the block replaces.
    pub header: Header,
}

impl Place {
    /// Reads the table of locations, which must be all of `bytes`. An incomplete entry at the end is left out.
    pub fn read(bytes: &[u8]) -> impl Iterator<Item = Self> {
        bytes.chunks_exact(LOCATION).filter_map(|it| {
            let header =
                Header { first: word(it, 8)?, last: word(it, 16)?, dropped: word(it, 24)? };
            Some(Self { location: word(it, 0)?, header })
        })
    }

    /// Returns the bytes of the entry, as they are in the table of locations.
    pub fn bytes(&self) -> [u8; LOCATION] {
        let Header { first, last, dropped } = self.header;
        words([self.location, first, last, dropped])
    }
}

/// A call path of a block, as an entry of its table. Its position there is the number by which its children refer to
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Number of the path in which this one was called, or `None` for the program itself. The parent comes before its
    /// children.
    pub parent: Option<u32>,
    /// Region of the called function in the archive. It has no meaning for a parameter.
    pub region: u32,
    /// Calling context in the archive from which the function was called, or `None` if it is not known.
    pub site: Option<u32>,
    /// The parameter and value that the path stands for, or `None` for a call. In the file, bit 0 says that the value
    /// is kept apart, bit 1 that the value is a text.
    pub setting: Option<Setting>,
    /// Bits that tell which figures are present in at least one line of the path; see [`Sums::has`]. A reader can skip
    /// a path that lacks the figure it wants.
    pub has: u32,
    /// Offset of the first line from the beginning of the file, in bytes.
    pub start: u64,
    /// Number of lines, one for each location that has the path. A reader that finds fewer knows that the lines are
    /// damaged.
    pub lines: u64,
}

impl Path {
    /// Reads the table of paths, which must be all of `bytes`. An incomplete entry at the end is left out. Nothing
    /// checks parents and offsets: callers must.
    pub fn read(bytes: &[u8]) -> impl Iterator<Item = Self> {
        bytes.chunks_exact(PATH).filter_map(|it| {
            Some(Self {
                parent: half(it, 0)?.checked_sub(1),
                region: half(it, 4)?,
                site: half(it, 8)?.checked_sub(1),
                has: half(it, 12)?,
                start: word(it, 16)?,
                lines: word(it, 24)?,
                setting: match half(it, 32)?.checked_sub(1) {
                    Some(parameter) => Some(setting(parameter, half(it, 36)?, word(it, 40)?)),
                    None => None,
                },
            })
        })
    }

    /// Returns the bytes of the entry, as they are in the table of paths.
    pub fn bytes(&self) -> [u8; PATH] {
        let plus_one = |id: Option<u32>| id.map_or(0, |id| u64::from(id) + 1);
        let first = plus_one(self.parent) | u64::from(self.region) << 32;
        let second = plus_one(self.site) | u64::from(self.has) << 32;
        let (parameter, bits, value) = match self.setting {
            Some(it) => (u64::from(it.parameter) + 1, bits(&it), it.value.unwrap_or(0)),
            None => (0, 0, 0),
        };
        words([first, second, self.start, self.lines, parameter | u64::from(bits) << 32, value])
    }
}

/// Returns the bits that describe the value of a parameter: bit 0 if it is kept apart, bit 1 if it is a text.
pub fn bits(it: &Setting) -> u32 {
    u32::from(it.value.is_some()) | u32::from(it.is_text) << 1
}

/// Returns the parameter that these three fields of the file describe, the inverse of [`bits`]. Other bits are ignored.
pub fn setting(parameter: u32, bits: u32, value: u64) -> Setting {
    Setting { parameter, value: (bits & 1 != 0).then_some(value), is_text: bits & 2 != 0 }
}

/// The figures that one location has for one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Region and calling context in the events of the location itself. `dwell score` needs them, because their size
    /// decides the size of the records.
    pub local: (u32, Option<u32>),
    /// Number of completed calls on the path.
    pub visits: u64,
    /// Nanoseconds spent on the path itself, without those of inner calls.
    pub time: u64,
    /// Nanoseconds of the shortest and of the longest visit, or `None` if no visit has ended.
    pub extremes: Option<(u64, u64)>,
    /// Operations and bytes on the path, in the order of [`COUNTS`].
    pub counts: [u64; COUNTS.len()],
}

/// Bits of [`Sums::has`]. The lower sixteen are also written in front of the sums in the file.
const EXTREMES: u32 = 1;
const COUNT: u32 = 2;
const VISITS: u32 = 1 << 16;
const TIME: u32 = 1 << 17;
const COUNTERS: u32 = 1 << 18;

/// The largest number of bytes that the encoding of sums can take: ten for each number.
const MOST: usize = (7 + COUNTS.len()) * 10;

impl Sums {
    /// Returns bits that tell which figures are not zero. [`has_visits`](Self::has_visits) and the functions beside it
    /// test them.
    ///
    /// The bits of all lines of a path are combined with OR in [`Path::has`]. Counters are not part of the sums, so
    /// their bit, [`WITH_COUNTERS`](Self::WITH_COUNTERS), must be added by the caller.
    pub fn has(&self) -> u32 {
        let bit = |is: bool, bit| if is { bit } else { 0 };
        let counts = (0..).zip(self.counts).map(|(at, it)| bit(it > 0, COUNT << at));
        bit(self.extremes.is_some(), EXTREMES)
            | bit(self.visits > 0, VISITS)
            | bit(self.time > 0, TIME)
            | counts.sum::<u32>()
    }

    /// Returns `true` if at least one line of a path has visits, by the bits of [`Path::has`].
    pub fn has_visits(has: u32) -> bool {
        has & VISITS != 0
    }

    /// Returns `true` if at least one line of a path has time, by the bits of [`Path::has`].
    pub fn has_time(has: u32) -> bool {
        has & TIME != 0
    }

    /// Returns `true` if at least one line of a path has a shortest and a longest visit, by the bits of [`Path::has`].
    pub fn has_extremes(has: u32) -> bool {
        has & EXTREMES != 0
    }

    /// Returns `true` if at least one line of a path has the count at this position of [`COUNTS`], by the bits of
    /// [`Path::has`].
    pub fn has_count(has: u32, at: usize) -> bool {
        has & (COUNT << (at % COUNTS.len())) != 0
    }

    /// The bit of [`Path::has`] for paths of which some line has counters. The writer of a block adds it to the bits of
    /// [`has`](Self::has).
    pub const WITH_COUNTERS: u32 = COUNTERS;

    /// Returns `true` if at least one line of a path has values of counters, by the bits of [`Path::has`].
    pub fn has_counters(has: u32) -> bool {
        has & COUNTERS != 0
    }

    /// Appends the encoded sums to `out`. It takes at most 170 bytes, and allocates nothing itself.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (mut bytes, mut used) = ([0; MOST], 0);
        let mut put = |number| used = varint::put_at(&mut bytes, used, number);
        put(self.local.0.into());
        put(self.local.1.map_or(0, |site| u64::from(site) + 1));
        put(self.visits);
        put(self.time);
        put((self.has() & 0xffff).into());
        if let Some((shortest, longest)) = self.extremes {
            put(shortest);
            put(longest.wrapping_sub(shortest));
        }
        self.counts.into_iter().filter(|count| *count > 0).for_each(put);
        out.extend(bytes.into_iter().take(used));
    }

    /// Reads the sums that [`encode`](Self::encode) wrote, and advances `bytes` behind them. Returns `None` if the
    /// bytes end too early or a number is too large; `bytes` is then somewhere inside.
    pub fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let region = small(bytes)?;
        let site = varint::take(bytes)?.checked_sub(1);
        let site = site.map(u32::try_from).transpose().ok()?;
        let (visits, time) = (varint::take(bytes)?, varint::take(bytes)?);
        let has = small(bytes)?;
        let extremes = match has & EXTREMES {
            0 => None,
            _ => {
                let shortest = varint::take(bytes)?;
                Some((shortest, shortest.wrapping_add(varint::take(bytes)?)))
            }
        };
        let mut counts = [0; COUNTS.len()];
        for (at, count) in counts.iter_mut().enumerate() {
            if Self::has_count(has, at) {
                *count = varint::take(bytes)?;
            }
        }
        Some(Self { local: (region, site), visits, time, extremes, counts })
    }
}

/// The counters of one line, still encoded. They borrow the bytes of the block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters<'b> {
    count: u64,
    bytes: &'b [u8],
}

impl<'b> Counters<'b> {
    /// Reads the counters of a line, and advances `bytes` behind them. Every counter is decoded once to check it, so
    /// [`iter`](Self::iter) cannot fail later. Returns `None` if they are damaged.
    pub fn decode(bytes: &mut &'b [u8]) -> Option<Self> {
        let count = varint::take(bytes)?;
        let before = *bytes;
        for _ in 0..count {
            decode_counter(bytes)?;
        }
        Some(Self { count, bytes: before.get(..before.len() - bytes.len())? })
    }

    /// Returns `true` if the line has no counters.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the counters one after the other. Their `path` is always 0, since their line says the path.
    pub fn iter(&self) -> impl Iterator<Item = CounterRow> + use<'b> {
        let mut bytes = self.bytes;
        core::iter::from_fn(move || decode_counter(&mut bytes))
    }
}

/// Appends an encoded counter to `out`. Its path is not written, since its line says it.
pub fn encode_counter(row: &CounterRow, out: &mut Vec<u8>) {
    for number in [row.counter.into(), row.values, row.sum, row.least, row.largest] {
        varint::put(out, number);
    }
}

fn decode_counter(bytes: &mut &[u8]) -> Option<CounterRow> {
    Some(CounterRow {
        path: 0,
        counter: small(bytes)?,
        values: varint::take(bytes)?,
        sum: varint::take(bytes)?,
        least: varint::take(bytes)?,
        largest: varint::take(bytes)?,
    })
}

/// Reads the lines of a path from the bytes between its offset and the next. Each item is the position of the location
/// in its table, its sums and its counters.
///
/// The iterator ends where bytes are damaged. A caller that needs to know compares the number of items with
/// [`Path::lines`].
pub fn lines(mut bytes: &[u8]) -> impl Iterator<Item = (u32, Sums, Counters<'_>)> {
    let mut place = 0_u32;
    core::iter::from_fn(move || {
        place = place.checked_add(small(&mut bytes)?)?;
        Some((place, Sums::decode(&mut bytes)?, Counters::decode(&mut bytes)?))
    })
}

/// Reads partners, from their offset to the end of the file. Each item is the position of the location in its table,
/// and the partner. The iterator ends where bytes are damaged.
pub fn partners(mut bytes: &[u8]) -> impl Iterator<Item = (u32, PartnerRow)> {
    let mut place = 0_u32;
    core::iter::from_fn(move || {
        place = place.checked_add(small(&mut bytes)?)?;
        Some((place, decode_partner(&mut bytes)?))
    })
}

/// Appends an encoded partner to `out`, without the step to its location.
pub fn encode_partner(partner: &PartnerRow, out: &mut Vec<u8>) {
    let PartnerRow { kind, context, rank, operations, bytes, time } = *partner;
    for number in [kind.into(), context.into(), rank.into(), operations, bytes, time] {
        varint::put(out, number);
    }
}

/// Reads the partner that [`encode_partner`] wrote, and advances `bytes` behind it. Returns `None` if the bytes are
/// damaged.
pub fn decode_partner(bytes: &mut &[u8]) -> Option<PartnerRow> {
    Some(PartnerRow {
        kind: small(bytes)?,
        context: small(bytes)?,
        rank: small(bytes)?,
        operations: varint::take(bytes)?,
        bytes: varint::take(bytes)?,
        time: varint::take(bytes)?,
    })
}

/// Reads a number of variable length that must fit into 32 bits. Returns `None` if it does not, or if [`varint::take`] fails.
#[inline]
pub fn small(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(varint::take(bytes)?).ok()
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn words<const N: usize, const BYTES: usize>(words: [u64; N]) -> [u8; BYTES] {
    const { assert!(BYTES == 8 * N) }
    let mut bytes = [0; BYTES];
    for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    #[test]
    fn sums_come_back() {
        let empty = Sums::default();
        let full = Sums {
            local: (u32::MAX, Some(u32::MAX - 1)),
            visits: u64::MAX,
            time: 1,
            extremes: Some((0, u64::MAX)),
            counts: [1, 0, u64::MAX, 0, 127, 128, 0, 0, 0, 5],
        };
        let (counter, path) = (3, 0);
        let counter =
            CounterRow { path, counter, values: 9, sum: u64::MAX, least: 1 << 63, largest: 7 };
        let (mut bytes, mut lengths) = (Vec::new(), Vec::new());
        for sums in [empty, full, empty] {
            varint::put(&mut bytes, 3);
            sums.encode(&mut bytes);
            let counters: &[CounterRow] = if sums == full { &[counter] } else { &[] };
            varint::put(&mut bytes, counters.len() as u64);
            counters.iter().for_each(|counter| encode_counter(counter, &mut bytes));
            lengths.push(bytes.len());
        }
        let all: Vec<_> = lines(&bytes).map(|(place, sums, _)| (place, sums)).collect();
        assert_eq!(all, [(3, empty), (6, full), (9, empty)]);
        let counters: Vec<_> = lines(&bytes).flat_map(|line| line.2.iter()).collect();
        assert_eq!(counters, [counter]);
        // Truncated anywhere, all complete lines can still be read.
        for cut in 0..bytes.len() {
            let whole = lengths.iter().filter(|length| **length <= cut).count();
            assert_eq!(lines(&bytes[..cut]).count(), whole);
        }
        assert!(!Sums::has_visits(empty.has()) && !Sums::has_extremes(empty.has()));
        assert!(Sums::has_visits(full.has()) && Sums::has_time(full.has()));
        let counts: Vec<usize> = (0..10).filter(|&at| Sums::has_count(full.has(), at)).collect();
        assert_eq!(counts, [0, 2, 4, 5, 9]);
    }

    #[test]
    fn tables_come_back() {
        let head = Head { length: 1000, locations: 1, paths: 2, partners: 900 };
        assert_eq!(head.tables(), 160);
        assert_eq!(Head::read(&head.bytes()), Some(head));
        assert_eq!(Head::read(&Head { partners: 150, ..head }.bytes()), None);
        assert_eq!(Head::read(&Head { length: 100, ..head }.bytes()), None);
        let place = Place { location: 7, header: Header { first: 1, last: 2, dropped: 3 } };
        assert_eq!(Place::read(&place.bytes()).next(), Some(place));
        let paths = [None, Some(0)].map(|parent| Path {
            parent,
            region: 5,
            site: parent,
            setting: parent.map(|parameter| Setting {
                parameter,
                value: Some(u64::MAX),
                is_text: true,
            }),
            has: 6,
            start: 7,
            lines: 8,
        });
        let bytes: Vec<u8> = paths.iter().flat_map(Path::bytes).collect();
        assert_eq!(Path::read(&bytes).collect::<Vec<_>>(), paths);
        let partner =
            PartnerRow { kind: 1, context: 2, rank: 3, operations: 400, bytes: 5, time: u64::MAX };
        let mut bytes = Vec::new();
        varint::put(&mut bytes, 2);
        encode_partner(&partner, &mut bytes);
        assert_eq!(partners(&bytes).collect::<Vec<_>>(), [(2, partner)]);
    }
}
