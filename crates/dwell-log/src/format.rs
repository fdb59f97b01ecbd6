//! The bytes of the dependency log.
//!
//! The log is a directory with a file for each group of consecutive processes. A group has as many processes as the
//! [rule](group_size) for the number of all processes says. A file is, all numbers little-endian:
//!
//! | bytes | are |
//! |---|---|
//! | 8 | `DWELLDEP` |
//! | 4 | version: 3 |
//! | 4 | number of the group, from 0 |
//! | 4 | number of groups |
//! | 4 | number of all locations |
//! | 4 | number of the first location of the group |
//! | 4 | number of locations of the group |
//! | 4 | CRC-32 of the preceding bytes |
//! | any | the sections of each location, in the order of [`SECTIONS`] |
//! | 56 for each location | offset of its first section, and the length of each section |
//! | 4 | CRC-32 of the lengths and offsets |
//! | 8 | `DWELLEND` |
//!
//! A section is a sequence of [blocks](crate::block). Their numbers are:
//!
//! | section | numbers |
//! |---|---|
//! | paths, in one block | how many; then for each, callers first: number of the caller, kind (0 region, 1 region with call site, 2 parameter with value, 3 parameter with all other values; 4 more for calls at which waits are judged, and 8 more if these serve operations of others), region or parameter, and call site or value |
//! | rulings, in one block | how many; then for each: origin, target, class, verdict |
//! | segments | in each block the time at which it begins; then for each: computing before, doubled, plus 1 if the path is the one that followed the path before it last time in the block; length; and the path if it is another one. Before the first is the root |
//! | waits | for each: begin minus the end of the one before in the block (folded), length, kind times 5 plus state, culprit minus this location (folded); then the context, if there is one; for candidates the place of the ruling; and for candidates of the states 3 and 4: length minus upper bound (folded), upper minus lower bound |
//! | releases | for each: end minus the end of the one before in the block, and the rest as for waits, with the waiter in place of the culprit |
//! | needs | for each: calls since the one before in the block, kind plus 5 times what [`needs`](crate::needs) says, and the rest by kind |
//!
//! The kind of a wait is its place in the catalogue of `dwell_model::waits`, counted from 1, and 0 for polling loops. The
//! state is 0 for what is certainly a wait, 1 and 2 for candidates whose bounds are both the length, 3 and 4 for all
//! others; 2 and 4 if the operation ended with an arrival of its target. Only waits for progress are
//! candidates; any other has the state 1 in a collective in which all members of a context wait for the last of them, and
//! the state 2 if it is not a wait, because the event of the culprit was early enough.
//! Folded numbers are those of
//! [`fold`](dwell_model::varint::fold).

use dwell_model::varint::{fold, put, take, unfold};
use dwell_trace::ids::{ContextNumber, LocationNumber, Ordinal};
use dwell_trace::time::{Duration, Time};

use crate::class::Class;
use crate::edge::Side;
use crate::edge::{Candidate, Edge, Kind, Ruling, Verdict};
use crate::quantity::Quantity;

/// Magic numbers at the begin and at the end of a file, and the version of the format.
pub const BEGIN: &[u8; 8] = b"DWELLDEP";
/// Magic number at the end of a file.
pub const END: &[u8; 8] = b"DWELLEND";
/// Version of the format. Files of any other version are rejected.
pub const VERSION: u32 = 3;

/// Number of sections of a location: paths, rulings, segments, waits, releases and needs.
pub const SECTIONS: usize = 6;
/// Size in bytes of the header, of the entry of a location in the index, and of what follows the index.
pub const HEADER: usize = 36;
/// Size in bytes of an entry of the index: an offset, and a length for each section.
pub const ENTRY: usize = 8 * (SECTIONS + 1);
/// Size in bytes of the checksum and the magic number behind the index.
pub const TAIL: usize = 12;

/// Least number of processes of a group, and greatest number of groups of larger runs.
const LEAST: usize = 16;
const GROUPS: usize = 64;

/// Returns the number of processes of a group, a power of two that depends on the number of all processes alone.
pub fn group_size(processes: usize) -> usize {
    processes.div_ceil(GROUPS).next_power_of_two().max(LEAST)
}

/// Returns the name of the file of a group.
pub fn name(group: usize) -> String {
    format!("dependencies-{group:04}")
}

/// Numbers in the header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the group that the file holds, counted from 0.
    pub group: u32,
    /// Number of groups, each of which has a file of its own.
    pub groups: u32,
    /// Number of all locations.
    pub locations: u32,
    /// First location of the group, and number of its locations.
    pub first: LocationNumber,
    /// Number of locations of the group, which are numbered consecutively.
    pub count: u32,
}

impl Header {
    /// Returns the bytes of the header, with magic number, version and checksum.
    pub fn encode(&self) -> Vec<u8> {
        let Self { group, groups, locations, first, count } = *self;
        let mut bytes = BEGIN.to_vec();
        for number in [VERSION, group, groups, locations, first.0, count] {
            bytes.extend(number.to_le_bytes());
        }
        let sum = crc32fast::hash(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    /// Reads the header of a file.
    ///
    /// # Errors
    /// Returns the reason in words if magic number, checksum or version is wrong.
    pub fn decode(bytes: &[u8; HEADER]) -> Result<Self, &'static str> {
        let (head, sum) = bytes.split_at(HEADER - 4);
        if !head.starts_with(BEGIN) {
            return Err("it does not begin like a dependency log");
        }
        if sum != crc32fast::hash(head).to_le_bytes() {
            return Err("the checksum of the header is wrong");
        }
        let words = head.get(BEGIN.len()..).unwrap_or_default().as_chunks().0;
        let mut words = words.iter().map(|word| u32::from_le_bytes(*word));
        let mut next = || words.next().unwrap_or(0);
        if next() != VERSION {
            return Err("another version of Dwell has written it");
        }
        let (group, groups, locations) = (next(), next(), next());
        let (first, count) = (LocationNumber(next()), next());
        Ok(Self { group, groups, locations, first, count })
    }
}

/// Place of the sections of a location.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Offset in bytes of the first section in the file.
    pub offset: u64,
    /// Lengths in bytes of the sections, which follow one another without gaps.
    pub lengths: [u64; SECTIONS],
}

impl Entry {
    /// Appends the bytes that the entry has in the index.
    pub fn encode(&self, to: &mut Vec<u8>) {
        to.extend(self.offset.to_le_bytes());
        self.lengths.iter().for_each(|length| to.extend(length.to_le_bytes()));
    }

    /// Reads an entry of the index, without checking that its sections lie inside of the file.
    pub fn decode(bytes: &[u8; ENTRY]) -> Self {
        let mut words = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
        let offset = words.next().unwrap_or(0);
        let mut lengths = [0; SECTIONS];
        lengths.iter_mut().zip(words).for_each(|(to, length)| *to = length);
        Self { offset, lengths }
    }
}

/// Appends rulings as numbers.
pub fn put_rulings(to: &mut Vec<u8>, rulings: &[Ruling]) {
    put(to, rulings.len() as u64);
    for Ruling { origin, target, class, verdict } in rulings {
        put(to, origin.0.into());
        put(to, target.0.into());
        put(to, class.0.into());
        put(to, *verdict as u64);
    }
}

/// Takes a ruling from numbers.
pub fn take_ruling(from: &mut &[u8]) -> Option<Ruling> {
    let mut number = || u32::try_from(take(from)?).ok();
    let (origin, target) = (Ordinal::of(number()?), Ordinal::of(number()?));
    let class = Class(number()?);
    let verdict = *Verdict::ALL.get(number()? as usize)?;
    Some(Ruling { origin, target, class, verdict })
}

/// Number of states of an edge. Waits for progress are certain; a candidate whose bounds are the length, aligned or not; or
/// any other candidate, aligned or not. Other waits are between two locations, or among all members of a context.
const STATES: u64 = 5;
/// State of an edge among all members of a context, and of one that is not a wait.
const AMONG: u64 = 1;
const EARLY: u64 = 2;

/// Returns the state of an edge.
fn state(edge: &Edge) -> u64 {
    let length = edge.to.since(edge.from);
    match edge.kind {
        Kind::Certain => 0,
        Kind::Among(_) => AMONG,
        Kind::Early => EARLY,
        Kind::Candidate(it) => {
            let is_whole = (it.low, it.high) == (length, length);
            u64::from(it.is_aligned) + if is_whole { 1 } else { 3 }
        }
    }
}

/// Appends an edge as numbers, at one of its locations. `before` is the end of the edge before it. `ruling` is the place
/// of the ruling on a candidate.
pub fn put_edge(
    to: &mut Vec<u8>,
    (at, side): (LocationNumber, Side),
    edge: &Edge,
    before: Time,
    ruling: usize,
) {
    let length = edge.to.since(edge.from);
    let state = state(edge);
    let other = match side {
        Side::Waiter => {
            put(to, fold(edge.from.0.wrapping_sub(before.0).cast_signed()));
            edge.culprit
        }
        Side::Culprit => {
            put(to, edge.to.since(before).0);
            edge.waiter
        }
    };
    put(to, length.0);
    put(to, edge.what.in_log() * STATES + state);
    put(to, fold(i64::from(other.0) - i64::from(at.0)));
    match edge.kind {
        Kind::Certain | Kind::Early => {}
        Kind::Among(context) => put(to, context.0.into()),
        Kind::Candidate(Candidate { low, high, .. }) => {
            put(to, ruling as u64);
            if state > 2 {
                put(to, fold(length.0.wrapping_sub(high.0).cast_signed()));
                put(to, high.saturating_sub(low).0);
            }
        }
    }
}

/// Takes an edge from numbers, at one of its locations, with the ruling on a candidate.
pub fn take_edge(
    from: &mut &[u8],
    (at, side): (LocationNumber, Side),
    before: Time,
    rulings: &[Ruling],
) -> Option<(Edge, Option<Ruling>)> {
    let first = take(from)?;
    let length = take(from)?;
    let (begin, end) = match side {
        Side::Waiter => {
            let begin = before.0.checked_add_signed(unfold(first))?;
            (begin, begin.checked_add(length)?)
        }
        Side::Culprit => {
            let end = before.0.checked_add(first)?;
            (end.checked_sub(length)?, end)
        }
    };
    let head = take(from)?;
    let what = Quantity::from_log(head / STATES)?;
    let state = head % STATES;
    let other = i64::from(at.0).checked_add(unfold(take(from)?))?;
    let other = LocationNumber(u32::try_from(other).ok()?);
    let (waiter, culprit) = match side {
        Side::Waiter => (at, other),
        Side::Culprit => (other, at),
    };
    let (from_time, to) = (Time(begin), Time(end));
    let edge = Edge { waiter, culprit, from: from_time, to, what, kind: Kind::Certain };
    match (state, what.is_for_progress()) {
        (0, _) => return Some((edge, None)),
        (AMONG, false) => {
            let context = ContextNumber(u32::try_from(take(from)?).ok()?);
            return Some((Edge { kind: Kind::Among(context), ..edge }, None));
        }
        (EARLY, false) => return Some((Edge { kind: Kind::Early, ..edge }, None)),
        (_, is_for_progress) => is_for_progress.then_some(())?,
    }
    let ruling = *rulings.get(usize::try_from(take(from)?).ok()?)?;
    let (low, high) = match state > 2 {
        true => {
            let high = length.cast_signed().checked_sub(unfold(take(from)?))?;
            let high = u64::try_from(high).ok()?;
            (high.checked_sub(take(from)?)?, high)
        }
        false => (length, length),
    };
    let (class, target, is_aligned) = (ruling.class, ruling.target, matches!(state, 2 | 4));
    let (low, high) = (Duration(low), Duration(high));
    let kind = Kind::Candidate(Candidate { class, target, low, high, is_aligned });
    Some((Edge { kind, ..edge }, Some(ruling)))
}
