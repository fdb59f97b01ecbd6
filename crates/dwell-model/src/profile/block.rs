//! Blocks: the profiles of many locations in one file, by call path.
//!
//! A report has a row for each call path, the recorder a file for each location. A block is on the way from
//! one to the other: the locations of some consecutive processes, with what all of them have of one call path
//! next to each other. So a report can be made path by path, and there are as many files as there is data, not
//! as there are locations. Ids are those of the archive.
//!
//! # The file
//!
//! Numbers of fixed size are little endian. A *number* is of variable length: seven bits a byte, low bits
//! first, the highest bit says that more follow.
//!
//! | bytes | is |
//! |---|---|
//! | 8 | [`MAGIC`] |
//! | 8 | length of the file |
//! | 4 | how many locations |
//! | 4 | how many paths |
//! | 8 | where partners begin |
//! | 32 for each location | location, time of its first call, of its last event, calls without a row: 8 bytes each |
//! | 48 for each path | parent plus one, region, calling context plus one, [what it has](Sums::has): 4 bytes each; where its lines begin, how many there are: 8 bytes each; of a parameter its number plus one and [bits](Path::setting), 4 bytes each, and its value, 8 bytes |
//! | | lines of the first path, of the second, … |
//! | | partners |
//!
//! A parent comes before its children. A *line* is what one location has of a path, in the order of locations:
//! a step in the list of locations, [sums](Sums), and how many counters there are; of each of these its number, how
//! many values it had, and their sum, least and largest as bits. Of *partners* each is a step in the list of
//! locations, and kind, context, rank, operations, bytes and nanoseconds. All of these are numbers.
//!
//! | of sums | is |
//! |---|---|
//! | number | region in the events of the location |
//! | number | calling context there, plus one; 0 if it is not known |
//! | number | visits |
//! | number | nanoseconds, without those of inner calls |
//! | number | bit 0: there is a shortest and a longest visit; bit 1 + n: count n is not zero |
//! | two numbers | the shortest, and by how much the longest is longer |
//! | numbers | counts that are not zero |

use super::{COUNTS, CounterRow, Header, PartnerRow, Setting};

/// First bytes of a file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"dwellpb1");

/// Bytes before the tables.
pub const HEAD: usize = 32;
/// Bytes of a location in its table.
pub const LOCATION: usize = 32;
/// Bytes of a path in its table.
pub const PATH: usize = 48;

/// What a file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its length.
    pub length: u64,
    /// How many locations it has.
    pub locations: u32,
    /// How many paths.
    pub paths: u32,
    /// Where partners begin.
    pub partners: u64,
}

impl Head {
    /// Reads it from the first [`HEAD`] bytes of a file. `None` if these are not a block's.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let head = Self {
            length: word(bytes, 8)?,
            locations: half(bytes, 16)?,
            paths: half(bytes, 20)?,
            partners: word(bytes, 24)?,
        };
        let sound = head.tables() <= head.partners && head.partners <= head.length;
        (word(bytes, 0)? == MAGIC && sound).then_some(head)
    }

    /// The bytes of it.
    pub fn bytes(&self) -> [u8; HEAD] {
        let halves = u64::from(self.locations) | u64::from(self.paths) << 32;
        words([MAGIC, self.length, halves, self.partners])
    }

    /// Bytes up to the end of the tables.
    pub fn tables(&self) -> u64 {
        let [locations, paths] = [self.locations, self.paths].map(u64::from);
        HEAD as u64 + locations * LOCATION as u64 + paths * PATH as u64
    }
}

/// A location of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number in the archive.
    pub location: u64,
    /// What its rows say of it.
    pub header: Header,
}

impl Place {
    /// Reads the table, which stands at the beginning of `bytes`.
    pub fn read(bytes: &[u8]) -> impl Iterator<Item = Self> {
        bytes.chunks_exact(LOCATION).filter_map(|it| {
            let header =
                Header { first: word(it, 8)?, last: word(it, 16)?, dropped: word(it, 24)? };
            Some(Self { location: word(it, 0)?, header })
        })
    }

    /// The bytes of it.
    pub fn bytes(&self) -> [u8; LOCATION] {
        let Header { first, last, dropped } = self.header;
        words([self.location, first, last, dropped])
    }
}

/// A path of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Number of the path that it was called in, if there is one.
    pub parent: Option<u32>,
    /// Its region.
    pub region: u32,
    /// From where it was called, if that is known.
    pub site: Option<u32>,
    /// The parameter that it is, and no call. In the file, bit 0 says that its value is kept apart, bit 1 that it is
    /// a text.
    pub setting: Option<Setting>,
    /// What its lines have between them; see [`Sums::has`].
    pub has: u32,
    /// Where its lines begin.
    pub start: u64,
    /// How many there are.
    pub lines: u64,
}

impl Path {
    /// Reads the table, which stands at the beginning of `bytes`.
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

    /// The bytes of it.
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

/// What is said of a parameter and its value, as bits.
pub fn bits(it: &Setting) -> u32 {
    u32::from(it.value.is_some()) | u32::from(it.is_text) << 1
}

/// The parameter that these mean.
pub fn setting(parameter: u32, bits: u32, value: u64) -> Setting {
    Setting { parameter, value: (bits & 1 != 0).then_some(value), is_text: bits & 2 != 0 }
}

/// What a location has of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Region and calling context in the events of the location, which decide how long its records are.
    pub local: (u32, Option<u32>),
    /// How often it was called.
    pub visits: u64,
    /// Nanoseconds, without those of inner calls.
    pub time: u64,
    /// The shortest and the longest of these, if a call has ended.
    pub extremes: Option<(u64, u64)>,
    /// See [`COUNTS`].
    pub counts: [u64; COUNTS.len()],
}

/// Bits of [`Sums::has`].
const EXTREMES: u32 = 1;
const COUNT: u32 = 2;
const VISITS: u32 = 1 << 16;
const TIME: u32 = 1 << 17;
const COUNTERS: u32 = 1 << 18;

/// The most bytes that sums take.
const MOST: usize = (7 + COUNTS.len()) * 10;

impl Sums {
    /// What is not nothing, as bits: see [`has_visits`](Self::has_visits) and the others.
    pub fn has(&self) -> u32 {
        let bit = |is: bool, bit| if is { bit } else { 0 };
        let counts = (0..).zip(self.counts).map(|(at, it)| bit(it > 0, COUNT << at));
        bit(self.extremes.is_some(), EXTREMES)
            | bit(self.visits > 0, VISITS)
            | bit(self.time > 0, TIME)
            | counts.sum::<u32>()
    }

    /// Whether some line of a path has visits.
    pub fn has_visits(has: u32) -> bool {
        has & VISITS != 0
    }

    /// Whether some line of a path has time.
    pub fn has_time(has: u32) -> bool {
        has & TIME != 0
    }

    /// Whether some line of a path has a shortest and a longest visit.
    pub fn has_extremes(has: u32) -> bool {
        has & EXTREMES != 0
    }

    /// Whether some line of a path has a count, by its place in [`COUNTS`].
    pub fn has_count(has: u32, at: usize) -> bool {
        has & (COUNT << (at % COUNTS.len())) != 0
    }

    /// What a line has that has counters.
    pub const WITH_COUNTERS: u32 = COUNTERS;

    /// Whether some line of a path has values of counters.
    pub fn has_counters(has: u32) -> bool {
        has & COUNTERS != 0
    }

    /// Adds the bytes of it to `out`.
    pub fn encode(&self, out: &mut impl Extend<u8>) {
        let (mut bytes, mut used) = ([0; MOST], 0);
        let mut put = |number| used = put_at(&mut bytes, used, number);
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

    /// Reads what [`encode`](Self::encode) wrote, and moves `bytes` behind it. `None` if it is damaged.
    pub fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let region = small(bytes)?;
        let site = number(bytes)?.checked_sub(1);
        let site = site.map(u32::try_from).transpose().ok()?;
        let (visits, time) = (number(bytes)?, number(bytes)?);
        let has = small(bytes)?;
        let extremes = match has & EXTREMES {
            0 => None,
            _ => {
                let shortest = number(bytes)?;
                Some((shortest, shortest.wrapping_add(number(bytes)?)))
            }
        };
        let mut counts = [0; COUNTS.len()];
        for (at, count) in counts.iter_mut().enumerate() {
            if Self::has_count(has, at) {
                *count = number(bytes)?;
            }
        }
        Some(Self { local: (region, site), visits, time, extremes, counts })
    }
}

/// The counters of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters<'b> {
    count: u64,
    bytes: &'b [u8],
}

impl<'b> Counters<'b> {
    /// Reads them, and moves `bytes` behind them. `None` if they are damaged.
    pub fn decode(bytes: &mut &'b [u8]) -> Option<Self> {
        let count = number(bytes)?;
        let before = *bytes;
        for _ in 0..count {
            decode_counter(bytes)?;
        }
        Some(Self { count, bytes: before.get(..before.len() - bytes.len())? })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One after the other. Their paths mean nothing.
    pub fn iter(&self) -> impl Iterator<Item = CounterRow> + use<'b> {
        let mut bytes = self.bytes;
        core::iter::from_fn(move || decode_counter(&mut bytes))
    }
}

/// Adds the bytes of a counter to `out`.
pub fn encode_counter(row: &CounterRow, out: &mut impl Extend<u8>) {
    for number in [row.counter.into(), row.values, row.sum, row.least, row.largest] {
        put(number, out);
    }
}

fn decode_counter(bytes: &mut &[u8]) -> Option<CounterRow> {
    Some(CounterRow {
        path: 0,
        counter: small(bytes)?,
        values: number(bytes)?,
        sum: number(bytes)?,
        least: number(bytes)?,
        largest: number(bytes)?,
    })
}

/// Reads the lines of a path: the number of the location in its table, and what it has. Ends where bytes are
/// damaged; who wants to know counts them.
pub fn lines(mut bytes: &[u8]) -> impl Iterator<Item = (u32, Sums, Counters<'_>)> {
    let mut place = 0_u32;
    core::iter::from_fn(move || {
        place = place.checked_add(small(&mut bytes)?)?;
        Some((place, Sums::decode(&mut bytes)?, Counters::decode(&mut bytes)?))
    })
}

/// Reads partners: the number of the location in its table, and the partner.
pub fn partners(mut bytes: &[u8]) -> impl Iterator<Item = (u32, PartnerRow)> {
    let mut place = 0_u32;
    core::iter::from_fn(move || {
        place = place.checked_add(small(&mut bytes)?)?;
        Some((place, decode_partner(&mut bytes)?))
    })
}

/// Adds the bytes of a partner to `out`.
pub fn encode_partner(partner: &PartnerRow, out: &mut impl Extend<u8>) {
    let PartnerRow { kind, context, rank, operations, bytes, time } = *partner;
    for number in [kind.into(), context.into(), rank.into(), operations, bytes, time] {
        put(number, out);
    }
}

/// Reads what [`encode_partner`] wrote, and moves `bytes` behind it. `None` if it is damaged.
pub fn decode_partner(bytes: &mut &[u8]) -> Option<PartnerRow> {
    Some(PartnerRow {
        kind: small(bytes)?,
        context: small(bytes)?,
        rank: small(bytes)?,
        operations: number(bytes)?,
        bytes: number(bytes)?,
        time: number(bytes)?,
    })
}

/// Adds a number of variable length.
pub fn put(number: u64, out: &mut impl Extend<u8>) {
    let mut bytes = [0; 10];
    let used = put_at(&mut bytes, 0, number);
    out.extend(bytes.into_iter().take(used));
}

fn put_at(bytes: &mut [u8], mut at: usize, mut number: u64) -> usize {
    loop {
        let more = if number >= 0x80 { 0x80 } else { 0 };
        if let Some(byte) = bytes.get_mut(at) {
            *byte = (number & 0x7f) as u8 | more;
        }
        at += 1;
        number >>= 7;
        if more == 0 {
            return at;
        }
    }
}

/// Reads a number of variable length, and moves `bytes` behind it.
#[inline]
pub fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Reads a number of 32 bits.
#[inline]
pub fn small(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(number(bytes)?).ok()
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
            put(3, &mut bytes);
            sums.encode(&mut bytes);
            let counters: &[CounterRow] = if sums == full { &[counter] } else { &[] };
            put(counters.len() as u64, &mut bytes);
            counters.iter().for_each(|counter| encode_counter(counter, &mut bytes));
            lengths.push(bytes.len());
        }
        let all: Vec<_> = lines(&bytes).map(|(place, sums, _)| (place, sums)).collect();
        assert_eq!(all, [(3, empty), (6, full), (9, empty)]);
        let counters: Vec<_> = lines(&bytes).flat_map(|line| line.2.iter()).collect();
        assert_eq!(counters, [counter]);
        // Cut anywhere, what is whole is there.
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
        put(2, &mut bytes);
        encode_partner(&partner, &mut bytes);
        assert_eq!(partners(&bytes).collect::<Vec<_>>(), [(2, partner)]);
    }
}
