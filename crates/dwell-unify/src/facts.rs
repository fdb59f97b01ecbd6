//! Facts: statements of a process about itself, which define the ids in its events.
//!
//! A process writes every [`Fact`] to its [stream](crate::stream) before the first event that needs it. Ids are local
//! to the process. At the end of a run the facts of all processes are [unified](crate::unify); after a crash `dwell
//! recover` does the same from the files.
//!
//! # A fact on disk
//!
//! | offset | code | field |
//! |---:|---|---|
//! | 0 | u8 | tag: which fact it is; 0 is the end of the block, `FF` fills the rest of it |
//! | 1 | u16 | bytes of the fields, little endian |
//! | 3 | u8 | check of the tag and the length |
//! | 4 | u32 | sum of the tag and the fields, little endian ([FNV-1a](http://www.isthe.com/chongo/tech/comp/fnv)) |
//! | 8 | | the fields in the order of [`Fact`]: numbers with seven bits to a byte, the lowest first; text and bytes after their length |
//!
//! Any change of one byte is noticed. The reader finds the next fact after a damaged one by its check and sum.

use std::fmt;

use dwell_model::varint;

use crate::unify::{Member, Run};

/// A statement of a process about itself, its threads, or an id that its events use. Text and bytes borrow from the
/// buffer that the fact was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The fields are what their names say.
pub enum Fact<'a> {
    /// Identity of the process: rank, number of processes, process id, host and program. It is the first fact of a
    /// stream.
    Process { rank: u64, size: u64, pid: u64, host: &'a str, program: &'a str, layer: u64 },
    /// A property of the runtime, the machine or the configuration, as a name and a value.
    Property { name: &'a str, value: &'a str },
    /// A region: a function of a runtime, or a region that the program names. `role` and `paradigm` are numbers of
    /// `OTF2_RegionRole` and `OTF2_Paradigm`.
    Region { id: u64, name: &'a str, meaning: &'a str, role: u64, paradigm: u64 },
    /// A program or shared library that is loaded at the addresses from `start` to `end`; `bias` is the difference
    /// between an address in memory and one in the file.
    Module { id: u64, start: u64, end: u64, bias: u64, path: &'a str, build_id: &'a [u8] },
    /// A call site: `address` is the return address of a recorded call.
    Site { id: u64, address: u64 },
    /// An OpenSHMEM window: the context numbered `context` of the `size` processes `start`, `start + stride` and so on.
    Window { id: u64, paradigm: u64, start: u64, stride: u64, size: u64, context: u64 },
    /// A thread, and the files that it has: the bit [`EVENTS`] for a file of events and [`ROWS`] for one of rows.
    Thread { id: u64, tid: u64, files: u64 },
    /// A reading of both clocks at one moment, in nanoseconds: the clock of the recorder, the monotonic clock of the
    /// system, and the largest distance between the two readings.
    Clock { recorder: u64, monotonic: u64, doubt: u64 },
    /// The process ended in a way that the recorder noticed; `how` describes it.
    End { how: &'a str },
    /// Members of a group, as the runs that [`encode_runs`] writes. A group with many members takes several facts, each
    /// of which adds to the members before.
    Members { group: u64, paradigm: u64, runs: &'a [u8] },
    /// A communicator. `remote` is 0, or for an inter-communicator the id of the remote group plus one. All members
    /// compute the same `identity`.
    Comm { id: u64, group: u64, remote: u64, identity: u64, name: &'a str },
    /// A measurement of the offset of the clock of the node from that of rank 0, in nanoseconds. `monotonic` is the
    /// time on the clock of the node, as in [`Fact::Clock`]. The sign of `offset` is in its lowest bit. `half` and
    /// `near` are half of the shortest round trip plus one, to another node and on the same node, or 0 if there is
    /// none.
    Sync { monotonic: u64, offset: u64, residual: u64, half: u64, near: u64 },
    /// A window that was made from a communicator. The id is in the same space as those of [`Fact::Window`].
    CommWindow { id: u64, comm: u64, number: u64, name: &'a str },
    /// A function of the program that begins at `address`. The id is in the same space as those of [`Fact::Region`].
    Function { id: u64, address: u64 },
    /// A parameter that the program names; `kind` is a number of `OTF2_ParameterType`.
    Parameter { id: u64, kind: u64, name: &'a str },
    /// A counter that the program names; `kind` is a number of `OTF2_Type`.
    Counter { id: u64, kind: u64, name: &'a str, unit: &'a str },
    /// A calling context: a call site as in [`Fact::Site`], in a function that was called from the context `parent`
    /// minus one, or from an unknown place if `parent` is 0. A process has either sites or contexts.
    Context { id: u64, address: u64, parent: u64 },
    /// Counters that the recorder samples together, as the members that [`encode_members`] writes. The id is in the same
    /// space as those of [`Fact::Counter`].
    Sample { id: u64, members: &'a [u8] },
    /// A text that is the value of a parameter, so that events can refer to it by an id.
    Text { id: u64, text: &'a str },
    /// A Cartesian topology. `comm` is the id of the communicator that it arranges plus one, or 0 for all processes.
    /// `grid` has a number for each dimension, as [`encode_numbers`] writes them: twice its size, plus one if it is
    /// periodic.
    Topology { id: u64, comm: u64, name: &'a str, grid: &'a [u8] },
    /// Coordinates of the process in a topology, as [`encode_numbers`] writes them. A topology of a communicator has
    /// none: its ranks are in row-major order.
    Coordinates { topology: u64, at: &'a [u8] },
    /// Calls of runtimes that a thread was in when it began the chunk whose first event has the number `first`, as
    /// [`encode_open`] writes them, the outermost first. Archives do not need it: it is for readers of a running process, which
    /// read the last chunks only. A chunk without open calls has none.
    Open { thread: u64, first: u64, calls: &'a [u8] },
    /// A call site of the program in front of a wrapper library of this name, which made the call. `context` is 0 if the id
    /// is that of a [`Fact::Site`]; otherwise it is that of a [`Fact::Context`] whose `parent` is one less.
    Wrapped { id: u64, context: u64, address: u64, wrapper: &'a str },
    /// A call site as in [`Fact::Wrapped`], in a function of an interpreted language.
    Line { id: u64, context: u64, line: u64, file: &'a str, function: &'a str, wrapper: &'a str },
}

/// A call that is open while a chunk of events begins. Ids are those of the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// The region of the call.
    pub region: u64,
    /// Id of the call site plus one, or 0 if the site is not known.
    pub site: u64,
    /// Time of the enter event on the clock of the recorder.
    pub since: u64,
    /// Number of calls for which the region stands so far.
    pub count: u64,
}

/// Largest number of calls of a [`Fact::Open`].
pub const MOST_OPEN: usize = 8;

/// Largest number of frames of a calling context. Deeper contexts occur only in damaged streams and are dropped.
pub const DEPTH: usize = 64;

/// Bit in the context of a [`Fact::Window`] that stands for the static data of the processes. Static data are a window
/// of their own, because a runtime may need the target's help for them where it does not for the symmetric heap.
pub const STATIC_DATA: u32 = 1 << 30;

/// Bit in the number of a [`Fact::CommWindow`] that marks windows of a layer above MPI, such as ARMCI.
pub const OVER_MPI: u32 = 1 << 31;

/// Bit in the files of a [`Fact::Thread`] that has a file of events.
pub const EVENTS: u64 = 1;
/// Bit in the files of a [`Fact::Thread`] that has a file of rows of a profile.
pub const ROWS: u64 = 2;

impl<'a> Fact<'a> {
    fn tag(&self) -> u8 {
        match self {
            Self::Process { .. } => 1,
            Self::Property { .. } => 2,
            Self::Region { .. } => 3,
            Self::Module { .. } => 4,
            Self::Site { .. } => 5,
            Self::Window { .. } => 6,
            Self::Thread { .. } => 7,
            Self::Clock { .. } => 8,
            Self::End { .. } => 9,
            Self::Members { .. } => 10,
            Self::Comm { .. } => 11,
            Self::CommWindow { .. } => 12,
            Self::Sync { .. } => 13,
            Self::Function { .. } => 14,
            Self::Parameter { .. } => 15,
            Self::Counter { .. } => 16,
            Self::Text { .. } => 17,
            Self::Context { .. } => 18,
            Self::Sample { .. } => 19,
            Self::Topology { .. } => 20,
            Self::Coordinates { .. } => 21,
            Self::Open { .. } => 22,
            Self::Wrapped { .. } => 23,
            Self::Line { .. } => 24,
        }
    }

    /// Writes the fact into the beginning of `into` and returns its tag and its length in bytes, or `None` if it does
    /// not fit. The first byte of `into` becomes 0: the caller publishes the fact by storing the tag there, after
    /// everything else, so that a reader never sees half a fact.
    pub fn encode(&self, into: &mut [u8]) -> Option<(u8, usize)> {
        let mut out = Output { into, at: HEADER, fits: true };
        match *self {
            Self::Process { rank, size, pid, host, program, layer } => {
                out.numbers(&[rank, size, pid, layer]).text(host).text(program)
            }
            Self::Property { name, value } => out.text(name).text(value),
            Self::Region { id, name, meaning, role, paradigm } => {
                out.numbers(&[id, role, paradigm]).text(name).text(meaning)
            }
            Self::Module { id, start, end, bias, path, build_id } => {
                out.numbers(&[id, start, end, bias]).text(path).bytes(build_id)
            }
            Self::Site { id, address } | Self::Function { id, address } => {
                out.numbers(&[id, address])
            }
            Self::Window { id, paradigm, start, stride, size, context } => {
                out.numbers(&[id, paradigm, start, stride, size, context])
            }
            Self::Thread { id, tid, files } => out.numbers(&[id, tid, files]),
            Self::Clock { recorder, monotonic, doubt } => {
                out.numbers(&[recorder, monotonic, doubt])
            }
            Self::End { how } => out.text(how),
            Self::Members { group, paradigm, runs } => out.numbers(&[group, paradigm]).bytes(runs),
            Self::Comm { id, group, remote, identity, name } => {
                out.numbers(&[id, group, remote, identity]).text(name)
            }
            Self::CommWindow { id, comm, number, name } => {
                out.numbers(&[id, comm, number]).text(name)
            }
            Self::Sync { monotonic, offset, residual, half, near } => {
                out.numbers(&[monotonic, offset, residual, half, near])
            }
            Self::Parameter { id, kind, name } => out.numbers(&[id, kind]).text(name),
            Self::Counter { id, kind, name, unit } => {
                out.numbers(&[id, kind]).text(name).text(unit)
            }
            Self::Text { id, text } => out.numbers(&[id]).text(text),
            Self::Sample { id, members } => out.numbers(&[id]).bytes(members),
            Self::Context { id, address, parent } => out.numbers(&[id, address, parent]),
            Self::Topology { id, comm, name, grid } => {
                out.numbers(&[id, comm]).text(name).bytes(grid)
            }
            Self::Coordinates { topology, at } => out.numbers(&[topology]).bytes(at),
            Self::Open { thread, first, calls } => out.numbers(&[thread, first]).bytes(calls),
            Self::Wrapped { id, context, address, wrapper } => {
                out.numbers(&[id, context, address]).text(wrapper)
            }
            Self::Line { id, context, line, file, function, wrapper } => {
                out.numbers(&[id, context, line]).text(file).text(function).text(wrapper)
            }
        };
        let (fits, end) = (out.fits, out.at);
        let length = u16::try_from(end - HEADER).ok()?;
        if !fits {
            return None;
        }
        let tag = self.tag();
        let (head, fields) = into.get_mut(..end)?.split_at_mut_checked(HEADER)?;
        let [low, high] = length.to_le_bytes();
        let [a, b, c, d] = sum(tag, fields).to_le_bytes();
        head.copy_from_slice(&[0, low, high, check(tag, length), a, b, c, d]);
        Some((tag, end))
    }

    fn decode(tag: u8, fields: &'a [u8]) -> Result<Self, Damage> {
        let mut input = Input(fields);
        let i = &mut input;
        Ok(match tag {
            1 => {
                let [rank, size, pid, layer] = i.numbers()?;
                Self::Process { rank, size, pid, layer, host: i.text()?, program: i.text()? }
            }
            2 => Self::Property { name: i.text()?, value: i.text()? },
            3 => {
                let [id, role, paradigm] = i.numbers()?;
                Self::Region { id, role, paradigm, name: i.text()?, meaning: i.text()? }
            }
            4 => {
                let [id, start, end, bias] = i.numbers()?;
                Self::Module { id, start, end, bias, path: i.text()?, build_id: i.bytes()? }
            }
            5 => {
                let [id, address] = i.numbers()?;
                Self::Site { id, address }
            }
            6 => {
                let [id, paradigm, start, stride, size, context] = i.numbers()?;
                Self::Window { id, paradigm, start, stride, size, context }
            }
            7 => {
                let [id, tid, files] = i.numbers()?;
                Self::Thread { id, tid, files }
            }
            8 => {
                let [recorder, monotonic, doubt] = i.numbers()?;
                Self::Clock { recorder, monotonic, doubt }
            }
            9 => Self::End { how: i.text()? },
            10 => {
                let [group, paradigm] = i.numbers()?;
                Self::Members { group, paradigm, runs: i.bytes()? }
            }
            11 => {
                let [id, group, remote, identity] = i.numbers()?;
                Self::Comm { id, group, remote, identity, name: i.text()? }
            }
            12 => {
                let [id, comm, number] = i.numbers()?;
                Self::CommWindow { id, comm, number, name: i.text()? }
            }
            13 => {
                let [monotonic, offset, residual, half, near] = i.numbers()?;
                Self::Sync { monotonic, offset, residual, half, near }
            }
            14 => {
                let [id, address] = i.numbers()?;
                Self::Function { id, address }
            }
            15 => {
                let [id, kind] = i.numbers()?;
                Self::Parameter { id, kind, name: i.text()? }
            }
            16 => {
                let [id, kind] = i.numbers()?;
                Self::Counter { id, kind, name: i.text()?, unit: i.text()? }
            }
            17 => Self::Text { id: i.number()?, text: i.text()? },
            18 => {
                let [id, address, parent] = i.numbers()?;
                Self::Context { id, address, parent }
            }
            19 => Self::Sample { id: i.number()?, members: i.bytes()? },
            20 => {
                let [id, comm] = i.numbers()?;
                Self::Topology { id, comm, name: i.text()?, grid: i.bytes()? }
            }
            21 => Self::Coordinates { topology: i.number()?, at: i.bytes()? },
            22 => {
                let [thread, first] = i.numbers()?;
                Self::Open { thread, first, calls: i.bytes()? }
            }
            23 => {
                let [id, context, address] = i.numbers()?;
                Self::Wrapped { id, context, address, wrapper: i.text()? }
            }
            24 => {
                let [id, context, line] = i.numbers()?;
                let (file, function, wrapper) = (i.text()?, i.text()?, i.text()?);
                Self::Line { id, context, line, file, function, wrapper }
            }
            _ => return Err(Damage::Tag(tag)),
        })
    }
}

/// Number of bytes before the fields of a fact.
pub(crate) const HEADER: usize = 8;

/// The highest tag that this version writes.
const LAST_TAG: u8 = 24;

fn check(tag: u8, length: u16) -> u8 {
    let [low, high] = length.to_le_bytes();
    tag.wrapping_mul(0x1D) ^ low.wrapping_mul(0x35) ^ high.wrapping_mul(0x4F) ^ 0xA5
}

/// Computes FNV-1a. Two texts of the same length that differ in one byte have different sums.
fn sum(tag: u8, fields: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    fields.iter().fold(step(0x811C_9DC5, &tag), step)
}

/// Tag of the bytes that fill the rest of a block of the stream. A reader skips everything after it in the block.
pub const FILLER: u8 = 0xFF;

/// Reasons for which bytes of a stream cannot be read as a fact. The reader continues with the next fact that is sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The fact is sound but has a tag that this version does not know.
    Tag(u8),
    /// A field extends beyond the end of its fact.
    Short,
    /// A text field is not UTF-8.
    Text,
    /// The bytes are not a fact: its check or its sum is wrong.
    Bytes,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => write!(f, "a fact of unknown kind {tag}"),
            Self::Short => f.write_str("a fact that is cut short"),
            Self::Text => f.write_str("text that is not UTF-8"),
            Self::Bytes => f.write_str("bytes that are no fact"),
        }
    }
}

impl std::error::Error for Damage {}

/// Largest number of sums that are computed in each block to find the next fact after damage. It bounds the time for a
/// block that was made to look like many facts.
const TRIES: usize = 4096;

/// Reads the facts of one block of a stream, each with its offset in the block. After damage the iterator reports it
/// and continues with the next sound fact of the block. An incomplete fact at the end, as a killed process may leave
/// it, is not damage.
pub fn read(block: &[u8]) -> impl Iterator<Item = (usize, Result<Fact<'_>, Damage>)> {
    let (mut at, mut tries) = (0, 0);
    std::iter::from_fn(move || {
        if block.get(at).is_none_or(|tag| *tag == FILLER) {
            return None;
        }
        if let Some((tag, fields)) = framed(block, at) {
            let place = at;
            at += HEADER + fields.len();
            return Some((place, Fact::decode(tag, fields)));
        }
        // Behind the last fact may be one that was not complete. If a complete one follows, bytes before
        // it are damaged.
        let is_end = block.get(at) == Some(&0);
        let damaged = at;
        at = (at + 1..block.len())
            .filter(|next| is_framed(block, *next))
            .take(TRIES.saturating_sub(tries))
            .inspect(|_| tries += 1)
            .find(|next| framed(block, *next).is_some())
            .unwrap_or(block.len());
        (at < block.len() || !is_end).then_some((damaged, Err(Damage::Bytes)))
    })
}

/// Makes the bytes of a fact from any tag and any fields, which need not be valid. Tests and fuzz targets use it to
/// make facts that are sound outside and wrong inside. Returns `None` if the fields exceed 65,535 bytes.
pub fn frame(tag: u8, fields: &[u8]) -> Option<Vec<u8>> {
    let length = u16::try_from(fields.len()).ok()?;
    let [low, high] = length.to_le_bytes();
    let [a, b, c, d] = sum(tag, fields).to_le_bytes();
    Some([&[tag, low, high, check(tag, length), a, b, c, d], fields].concat())
}

/// Returns `true` if a tag and a length with the right check are at `at`.
fn is_framed(block: &[u8], at: usize) -> bool {
    let Some(&[tag, low, high, sign]) = block.get(at..).and_then(<[u8]>::first_chunk) else {
        return false;
    };
    (1..=LAST_TAG).contains(&tag) && check(tag, u16::from_le_bytes([low, high])) == sign
}

/// Returns the tag and the fields of the fact at `at`, or `None` if no complete fact with the right sum is there.
fn framed(block: &[u8], at: usize) -> Option<(u8, &[u8])> {
    let (&[tag, low, high, sign, a, b, c, d], rest) =
        block.get(at..)?.split_first_chunk::<HEADER>()?;
    let length = u16::from_le_bytes([low, high]);
    if tag == 0 || tag == FILLER || check(tag, length) != sign {
        return None;
    }
    let fields = rest.get(..usize::from(length))?;
    (sum(tag, fields) == u32::from_le_bytes([a, b, c, d])).then_some((tag, fields))
}

/// Writes runs of a group in the encoding of [`Fact::Members`], as many as fit into `into`. Returns the number of runs
/// that fit and the number of bytes that they take; the caller puts the rest into further facts.
pub fn encode_runs(runs: &[Run], into: &mut [u8]) -> (usize, usize) {
    let mut out = Output { into, at: 0, fits: true };
    let mut written = (0, 0);
    for (count, run) in (1..).zip(runs) {
        let stride = (run.stride << 1 ^ run.stride >> 63).cast_unsigned();
        out.numbers(&[run.start, stride, run.count]);
        if !out.fits {
            break;
        }
        written = (count, out.at);
    }
    written
}

/// Reads runs that [`encode_runs`] wrote. The iterator ends at the first run that is incomplete, so damaged bytes give
/// fewer runs.
pub fn decode_runs(bytes: &[u8]) -> impl Iterator<Item = Run> {
    let mut input = Input(bytes);
    std::iter::from_fn(move || {
        let [start, stride, count] = input.numbers().ok()?;
        let stride = (stride >> 1).cast_signed() ^ -(stride & 1).cast_signed();
        Some(Run { start, stride, count })
    })
}

/// Writes members of a class of counters in the encoding of [`Fact::Sample`]. Returns the number of bytes, or `None` if
/// there is not enough room.
pub fn encode_members(members: &[Member], into: &mut [u8]) -> Option<usize> {
    let mut out = Output { into, at: 0, fits: true };
    for Member { name, unit, kind, source, mode } in members {
        let numbers = [kind, source, mode].map(|it| u64::from(*it));
        out.numbers(&numbers).text(name).text(unit);
    }
    out.fits.then_some(out.at)
}

/// Reads members that [`encode_members`] wrote. The iterator ends at the first one that is incomplete, so damaged bytes
/// give fewer members.
pub fn decode_members(bytes: &[u8]) -> impl Iterator<Item = Member> {
    let mut input = Input(bytes);
    std::iter::from_fn(move || {
        let numbers: [u64; 3] = input.numbers().ok()?;
        let [kind, source, mode] = numbers.map(|it| it as u8);
        let (name, unit) = (input.text().ok()?.into(), input.text().ok()?.into());
        Some(Member { name, unit, kind, source, mode })
    })
}

/// Writes a list of numbers in the encoding of [`Fact::Topology`] and [`Fact::Coordinates`]. Returns the number of bytes, or
/// `None` if there is not enough room.
pub fn encode_numbers(numbers: &[u64], into: &mut [u8]) -> Option<usize> {
    let mut out = Output { into, at: 0, fits: true };
    out.numbers(numbers);
    out.fits.then_some(out.at)
}

/// Reads numbers that [`encode_numbers`] wrote. The iterator ends at the first one that is incomplete.
pub fn decode_numbers(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let mut input = Input(bytes);
    std::iter::from_fn(move || input.number().ok())
}

/// Writes calls in the encoding of [`Fact::Open`]. Returns the number of bytes, or `None` if there is not enough room.
pub fn encode_open(calls: impl Iterator<Item = OpenCall>, into: &mut [u8]) -> Option<usize> {
    let mut out = Output { into, at: 0, fits: true };
    for OpenCall { region, site, since, count } in calls {
        out.numbers(&[region, site, since, count]);
    }
    out.fits.then_some(out.at)
}

/// Reads calls that [`encode_open`] wrote. The iterator ends at the first one that is incomplete.
pub fn decode_open(bytes: &[u8]) -> impl Iterator<Item = OpenCall> {
    let mut input = Input(bytes);
    std::iter::from_fn(move || {
        let [region, site, since, count] = input.numbers().ok()?;
        Some(OpenCall { region, site, since, count })
    })
}

struct Output<'o> {
    into: &'o mut [u8],
    at: usize,
    fits: bool,
}

impl Output<'_> {
    fn push(&mut self, bytes: &[u8]) -> &mut Self {
        match self.into.get_mut(self.at..).and_then(|rest| rest.get_mut(..bytes.len())) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.at += bytes.len();
            }
            None => self.fits = false,
        }
        self
    }

    fn numbers(&mut self, numbers: &[u64]) -> &mut Self {
        for &number in numbers {
            let mut bytes = [0; varint::LONGEST];
            let length = varint::put_at(&mut bytes, 0, number);
            self.push(bytes.get(..length).unwrap_or_default());
        }
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.numbers(&[bytes.len() as u64]).push(bytes)
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }
}

struct Input<'i>(&'i [u8]);

impl<'i> Input<'i> {
    fn number(&mut self) -> Result<u64, Damage> {
        varint::take(&mut self.0).ok_or(Damage::Short)
    }

    fn numbers<const N: usize>(&mut self) -> Result<[u64; N], Damage> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.number()?;
        }
        Ok(numbers)
    }

    fn bytes(&mut self) -> Result<&'i [u8], Damage> {
        let length = usize::try_from(self.number()?).map_err(|_| Damage::Short)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Damage::Short)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn text(&mut self) -> Result<&'i str, Damage> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Damage::Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[Fact<'static>] = &[
        Fact::Process { rank: 3, size: 8, pid: 77, host: "n1", program: "heat", layer: 13 },
        Fact::Property { name: "RUNTIME", value: "Open MPI" },
        Fact::Region { id: 0, name: "shmem_init", meaning: "", role: 1, paradigm: 13 },
        Fact::Module {
            id: 1,
            start: 1 << 40,
            end: u64::MAX,
            bias: 0,
            path: "/p",
            build_id: &[9; 20],
        },
        Fact::Site { id: 2, address: 0x5555_5555_5555 },
        Fact::Window { id: 1, paradigm: 13, start: 0, stride: 2, size: 4, context: 0 },
        Fact::Thread { id: 0, tid: 77, files: 3 },
        Fact::Clock { recorder: 127, monotonic: 128, doubt: 16_384 },
        Fact::End { how: "finalised" },
        Fact::Members { group: 2, paradigm: 4, runs: &[1, 2, 3] },
        Fact::Comm { id: 1, group: 2, remote: 0, identity: u64::MAX, name: "" },
        Fact::CommWindow { id: 3, comm: 1, number: 7, name: "w" },
        Fact::Sync { monotonic: 300, offset: 7, residual: 2, half: 1, near: 0 },
        Fact::Function { id: 4, address: 0x1000 },
        Fact::Parameter { id: 0, kind: 1, name: "size" },
        Fact::Counter { id: 0, kind: 10, name: "residual", unit: "1" },
        Fact::Text { id: 200, text: "cg" },
        Fact::Context { id: 3, address: 0x1000, parent: 2 },
        Fact::Sample { id: 1, members: &[6, 2, 0, 1, b'c', 0] },
        Fact::Topology { id: 0, comm: 1, name: "grid", grid: &[9, 8] },
        Fact::Coordinates { topology: 0, at: &[3, 1] },
        Fact::Open { thread: 0, first: 300, calls: &[7, 0, 9, 1] },
        Fact::Wrapped { id: 4, context: 0, address: 0x2000, wrapper: "halo" },
        Fact::Line { id: 5, context: 1, line: 12, file: "a.py", function: "f", wrapper: "w" },
    ];

    /// Encodes all sample facts into a block.
    fn block() -> Vec<u8> {
        let mut block = vec![0; 1024];
        let mut at = 0;
        for fact in ALL {
            let (tag, length) = fact.encode(&mut block[at..]).expect("fits");
            block[at] = tag;
            at += length;
        }
        block.truncate(at + HEADER);
        block
    }

    #[test]
    fn facts_come_back() {
        let block = block();
        let back: Result<Vec<_>, _> = read(&block).map(|(_, fact)| fact).collect();
        assert_eq!(back.as_deref(), Ok(ALL));
        assert_eq!(ALL.iter().map(Fact::tag).max(), Some(LAST_TAG));
    }

    #[test]
    fn runs_come_back() {
        let runs = [
            Run { start: 0, stride: 1, count: 300 },
            Run { start: 9, stride: -4, count: 3 },
            Run { start: 7, stride: 1, count: 1 },
        ];
        let mut room = [0; 16];
        let (count, used) = encode_runs(&runs, &mut room);
        assert_eq!(count, 3);
        assert!(decode_runs(&room[..used]).eq(runs));
        let (count, used) = encode_runs(&runs, &mut room[..8]);
        assert!(count < 3 && decode_runs(&room[..used]).eq(runs.into_iter().take(count)));
    }

    #[test]
    fn members_come_back() {
        let member = |name: &str, unit: &str, mode| {
            let (name, unit) = (name.into(), unit.into());
            Member { name, unit, kind: 6, source: 2, mode }
        };
        let members = [member("cpu_time", "ns", 0), member("mpi_t:queue", "", 17)];
        let mut room = [0; 64];
        let used = encode_members(&members, &mut room).unwrap();
        assert!(decode_members(&room[..used]).eq(members.clone()));
        assert!(decode_members(&room[..used - 1]).eq(members.clone().into_iter().take(1)));
        assert_eq!(encode_members(&members, &mut room[..used - 1]), None);
    }

    #[test]
    fn open_calls_come_back() {
        let call = |region, since| OpenCall { region, site: 0, since, count: 300 };
        let calls = [call(7, u64::MAX), call(200, 0)];
        let mut room = [0; 32];
        let used = encode_open(calls.into_iter(), &mut room).unwrap();
        assert!(decode_open(&room[..used]).eq(calls));
        assert!(decode_open(&room[..used - 1]).eq(calls.into_iter().take(1)));
        assert_eq!(encode_open(calls.into_iter(), &mut room[..used - 1]), None);
    }

    #[test]
    fn what_does_not_fit_is_not_written() {
        for fact in ALL {
            for room in 0..HEADER + 2 {
                assert_eq!(fact.encode(&mut vec![0; room]), None);
            }
        }
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic() {
        let block = block();
        for cut in 0..block.len() {
            assert!(read(&block[..cut]).count() <= ALL.len());
        }
        let end = block.len() - HEADER;
        for at in 0..end {
            for flip in [1, 2, 0x80, 0xFF, block[at]].into_iter().filter(|flip| *flip != 0) {
                let mut block = block.clone();
                block[at] ^= flip;
                let (good, bad): (Vec<_>, Vec<_>) = read(&block).partition(|(_, it)| it.is_ok());
                let good: Vec<_> = good.into_iter().filter_map(|(_, fact)| fact.ok()).collect();
                // The fact with that byte is lost and no other. Bytes at the very end may be one that
                // was never complete: the count of facts tells.
                assert_eq!(good.len(), ALL.len() - 1, "{at}");
                assert!(good.iter().all(|fact| ALL.contains(fact)), "{at}");
                let last = good.iter().all(|fact| Some(fact) != ALL.last());
                assert!(bad.len() == 1 || last && flip != 0 && block[at] == 0, "{at}: {bad:?}");
            }
        }
    }
}
