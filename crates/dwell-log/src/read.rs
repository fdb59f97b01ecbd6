//! Reads the dependency log backwards, one location at a time and one block at a time.
//!
//! [`DependencyLog`] knows the files, [`LocationLog`] one location. Its segments, waits and releases come with the last
//! first, each in memory for one block. Candidates for waits have met their rulings by then, in one function, so that
//! no caller can forget it.

mod records;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use dwell_model::varint::take;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::time::Time;
use otf2::id::{CallingContextRef, ParameterRef, RegionRef};

use crate::block;
use crate::edge::Side;
use crate::edge::{Edge, Kind, Ruling};
use crate::format::{self, ENTRY, Entry, HEADER, Header};
use crate::needs::{self, NeedOfCall};
use crate::piece::Piece;
use records::{Backwards, Forwards};
pub use records::{Forward, Records};

/// Reason why a dependency log cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum LogError {
    /// A file cannot be opened or read.
    Io(PathBuf, io::Error),
    /// A file does not have the bytes that a dependency log has.
    Damaged {
        /// File with the damage.
        path: PathBuf,
        /// Offset in bytes at which the reader noticed.
        offset: u64,
        /// Reason in words, without a full stop.
        reason: &'static str,
    },
}

impl LogError {
    /// Returns the file, and the error without its name.
    pub fn parts(&self) -> (&Path, io::Error) {
        match self {
            Self::Io(path, error) => (path, io::Error::new(error.kind(), error.to_string())),
            Self::Damaged { path, offset, reason } => {
                let text = format!("at byte {offset}: {reason}; analyse the archive again");
                (path, io::Error::new(io::ErrorKind::InvalidData, text))
            }
        }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Damaged { path, offset, reason } => {
                let path = path.display();
                write!(f, "{path}: at byte {offset}: {reason}; analyse the archive again")
            }
        }
    }
}

impl std::error::Error for LogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, error) => Some(error),
            Self::Damaged { .. } => None,
        }
    }
}

/// One step of a call path of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStep {
    /// Place of the path from which this one is called. Place 0 is the root, which is not a call.
    pub caller: usize,
    /// Region or parameter at the end of the path.
    pub step: Step,
    /// True for calls at which waits are judged. Time in any other path is computing.
    pub is_judged: bool,
    /// True for calls at which waits are judged and in which the process serves operations of others.
    pub serves: bool,
}

/// Last step of a call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The location itself, outside of all regions.
    Root,
    /// A region, and its call site if the archive has it.
    Region(RegionRef, Option<CallingContextRef>),
    /// A parameter of the program with one of its values, or with all that are not kept apart.
    Parameter(ParameterRef, Option<u64>),
}

/// A stretch of time that a location spent in one call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Begin of the segment.
    pub begin: Time,
    /// End of the segment.
    pub end: Time,
    /// Place of the call path in [`LocationLog::paths`].
    pub path: usize,
}

/// One of the files.
#[derive(Debug)]
struct Group {
    path: PathBuf,
    file: File,
    header: Header,
    entries: Vec<Entry>,
    /// End of the sections.
    end: u64,
}

impl Group {
    fn open(path: PathBuf) -> Result<Self, LogError> {
        let io = |error| LogError::Io(path.clone(), error);
        let damaged = |offset, reason| LogError::Damaged { path: path.clone(), offset, reason };
        let file = dwell_files::open(&path).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        if size < (HEADER + format::TAIL) as u64 {
            return Err(damaged(size, "the file is too short"));
        }
        let mut header = [0; HEADER];
        file.read_exact_at(&mut header, 0).map_err(io)?;
        let header = Header::decode(&header).map_err(|reason| damaged(0, reason))?;
        let length = u64::from(header.count) * ENTRY as u64;
        let end = size.checked_sub(length + format::TAIL as u64).filter(|it| *it >= HEADER as u64);
        let end = end.ok_or_else(|| damaged(size, "the file is too short for its index"))?;
        let mut index = vec![0; (size - end) as usize];
        file.read_exact_at(&mut index, end).map_err(io)?;
        let (index, tail) = index.split_at(length as usize);
        let (sum, magic) = tail.split_at(4);
        if magic != format::END {
            return Err(damaged(size, "the file does not end like a dependency log"));
        }
        if sum != crc32fast::hash(index).to_le_bytes() {
            return Err(damaged(end, "the checksum of the index is wrong"));
        }
        let entries: Vec<Entry> = index.as_chunks().0.iter().map(Entry::decode).collect();
        for entry in &entries {
            let reach = |sum: u64, length: &u64| sum.checked_add(*length);
            let reached = entry.lengths.iter().try_fold(entry.offset, reach);
            if entry.offset < HEADER as u64 || reached.is_none_or(|it| it > end) {
                return Err(damaged(end, "a section lies outside of the file"));
            }
        }
        Ok(Self { path, file, header, entries, end })
    }

    fn damaged(&self, offset: u64, reason: &'static str) -> LogError {
        LogError::Damaged { path: self.path.clone(), offset, reason }
    }
}

/// A dependency log that [`analyze`](crate::analyze) has written.
#[derive(Debug)]
pub struct DependencyLog {
    /// Files in the order of their locations.
    groups: Vec<Arc<Group>>,
}

impl DependencyLog {
    /// Opens the log in a directory, and reads the index of each file.
    ///
    /// # Errors
    /// Returns an error if a file is missing, cannot be read or is damaged.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, LogError> {
        let directory = directory.as_ref();
        let mut groups: Vec<Arc<Group>> = Vec::new();
        let (mut next, mut count) = (0, 1);
        while groups.len() < count {
            let number = groups.len();
            let group = Group::open(directory.join(format::name(number)))?;
            let Header { group: is, groups: all, locations, first, .. } = group.header;
            let same = groups
                .first()
                .is_none_or(|it| (it.header.groups, it.header.locations) == (all, locations));
            if is as usize != number || first.0 != next || !same {
                return Err(group.damaged(0, "the file belongs to another log"));
            }
            next = first.0.saturating_add(group.header.count);
            count = all as usize;
            if number + 1 == count && next != locations {
                return Err(group.damaged(0, "the log does not have all locations"));
            }
            groups.push(Arc::new(group));
        }
        Ok(Self { groups })
    }

    /// Returns the number of locations, in the order of the report.
    pub fn locations(&self) -> u32 {
        self.groups.first().map_or(0, |it| it.header.locations)
    }

    /// Returns the error of a log that lacks a location.
    pub fn incomplete(&self) -> LogError {
        let path = self.groups.last().map(|it| it.path.clone()).unwrap_or_default();
        LogError::Damaged { path, offset: 0, reason: "the log does not have all locations" }
    }

    /// Returns the size of all files in bytes.
    pub fn bytes(&self) -> u64 {
        let tail = |it: &Group| (it.entries.len() * ENTRY + format::TAIL) as u64;
        self.groups.iter().map(|it| it.end + tail(it)).sum()
    }

    /// Returns the log of one location with its call paths, or `None` if there is no such location.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is damaged.
    pub fn location(&self, number: LocationNumber) -> Result<Option<LocationLog>, LogError> {
        let after = self.groups.partition_point(|it| it.header.first <= number);
        let group = after.checked_sub(1).and_then(|at| self.groups.get(at));
        let Some(group) = group else { return Ok(None) };
        let place = number.0.saturating_sub(group.header.first.0) as usize;
        let Some(entry) = group.entries.get(place) else { return Ok(None) };
        let [paths, rulings, segments, waits, releases, needs] = entry.lengths;
        let mut begin = entry.offset;
        let mut stream = |length: u64| {
            let stream = Stream { group: Arc::clone(group), begin, end: begin + length };
            begin += length;
            stream
        };
        let paths = stream(paths).only(take_paths)?;
        let rulings = stream(rulings).only(take_rulings)?.into();
        let paths: Arc<[PathStep]> = paths.into();
        let (segments, waits, releases) = (stream(segments), stream(waits), stream(releases));
        let needs = stream(needs);
        Ok(Some(LocationLog { number, paths, rulings, segments, waits, releases, needs }))
    }
}

/// Reads the call paths of a location.
fn take_paths(bytes: &mut &[u8]) -> Option<Vec<PathStep>> {
    let count = take(bytes)?;
    let mut list = vec![PathStep { caller: 0, step: Step::Root, is_judged: false, serves: false }];
    for _ in 0..count {
        let caller = usize::try_from(take(bytes)?).ok().filter(|it| *it < list.len())?;
        let kind = take(bytes)?;
        let what = u32::try_from(take(bytes)?).ok()?;
        let step = match kind & !12 {
            0 => Step::Region(RegionRef(what), None),
            1 => {
                let site = u32::try_from(take(bytes)?).ok()?;
                Step::Region(RegionRef(what), Some(CallingContextRef(site)))
            }
            2 => Step::Parameter(ParameterRef(what), Some(take(bytes)?)),
            3 => Step::Parameter(ParameterRef(what), None),
            _ => return None,
        };
        list.push(PathStep { caller, step, is_judged: kind & 4 != 0, serves: kind & 8 != 0 });
    }
    Some(list)
}

/// Reads the rulings on the edges of a location.
fn take_rulings(bytes: &mut &[u8]) -> Option<Vec<Ruling>> {
    let count = take(bytes)?;
    (0..count).map(|_| format::take_ruling(bytes)).collect()
}

/// Number of bytes that are read at once from the end of a sequence of blocks: a block and its last number.
const NEAR: usize = block::SIZE + 64;

/// Number of bytes of the shortest segment with a path of its own, and of a usual edge. They only reserve memory.
const LEAST_SEGMENT: usize = 5;
const USUAL_EDGE: usize = 9;

/// A sequence of blocks, which is read from its end.
#[derive(Clone, Debug)]
struct Stream {
    group: Arc<Group>,
    begin: u64,
    end: u64,
}

impl Stream {
    /// Returns begin, length and checksum of the numbers of the last block.
    fn tail(&self) -> Result<(u64, u32, u32), LogError> {
        let io = |error| LogError::Io(self.group.path.clone(), error);
        let damaged = |reason| self.group.damaged(self.end, reason);
        let room = self.end - self.begin;
        let mut tail = [0; block::TAIL];
        let Some(room) = room.checked_sub(block::TAIL as u64) else {
            return Err(damaged("a block is too short"));
        };
        self.group.file.read_exact_at(&mut tail, self.begin + room).map_err(io)?;
        self.placed(tail)
    }

    /// Returns the same from the last bytes of the last block.
    fn placed(&self, tail: [u8; block::TAIL]) -> Result<(u64, u32, u32), LogError> {
        let (length, sum) = block::tail(tail);
        let end = self.end - block::TAIL as u64;
        let begin = end.checked_sub(length.into()).filter(|it| *it >= self.begin);
        let wrong = || self.group.damaged(self.end, "a block is longer than its section");
        Ok((begin.ok_or_else(wrong)?, length, sum))
    }

    /// Forgets the last block.
    fn skip(&mut self) -> Result<(), LogError> {
        self.end = self.tail()?.0;
        Ok(())
    }

    /// Returns the numbers of the last block, and forgets that block.
    fn last(&mut self) -> Result<Option<Vec<u8>>, LogError> {
        let mut all = Vec::new();
        let found = self.with_last(|numbers| all.extend_from_slice(numbers))?;
        Ok(found.map(|()| all))
    }

    /// Passes the numbers of the last block to a function, and forgets that block. Returns `None` if there is none.
    fn with_last<R>(&mut self, with: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, LogError> {
        if self.begin == self.end {
            return Ok(None);
        }
        let io = |error| LogError::Io(self.group.path.clone(), error);
        let damaged = |reason| self.group.damaged(self.end, reason);
        // Few blocks are longer than this, so that one read is enough.
        let mut near = [0; NEAR];
        let read = (self.end - self.begin).min(NEAR as u64) as usize;
        let near = near.get_mut(..read).unwrap_or_default();
        self.group.file.read_exact_at(near, self.end - read as u64).map_err(io)?;
        let Some((rest, tail)) = near.split_last_chunk() else {
            return Err(damaged("a block is too short"));
        };
        let (begin, length, sum) = self.placed(*tail)?;
        let long;
        let numbers = match rest.len().checked_sub(length as usize) {
            Some(at) => rest.get(at..).unwrap_or_default(),
            None => {
                let mut numbers = vec![0; length as usize];
                self.group.file.read_exact_at(&mut numbers, begin).map_err(io)?;
                long = numbers;
                &long
            }
        };
        if crc32fast::hash(numbers) != sum {
            return Err(damaged("the checksum of a block is wrong"));
        }
        let result = with(numbers);
        self.end = begin;
        Ok(Some(result))
    }

    /// Reads the only block of a section.
    fn only<T>(&mut self, read: impl Fn(&mut &[u8]) -> Option<T>) -> Result<T, LogError> {
        let end = self.end;
        let damaged = || self.group.damaged(end, "a section has no numbers that make sense");
        let numbers = self.clone().last()?.ok_or_else(damaged)?;
        let mut bytes = numbers.as_slice();
        read(&mut bytes).filter(|_| bytes.is_empty()).ok_or_else(damaged)
    }
}

/// Segments, waits and releases of one location.
#[derive(Debug)]
pub struct LocationLog {
    number: LocationNumber,
    paths: Arc<[PathStep]>,
    rulings: Arc<[Ruling]>,
    segments: Stream,
    waits: Stream,
    releases: Stream,
    needs: Stream,
}

impl LocationLog {
    /// Returns the number of the location.
    pub fn number(&self) -> LocationNumber {
        self.number
    }

    /// Returns the call paths, callers first. The first is the root.
    pub fn paths(&self) -> &[PathStep] {
        &self.paths
    }

    /// Returns all time of the location from its last event to its first, in segments that follow each other without
    /// gaps. Consecutive segments may have the same path.
    pub fn segments(&self) -> impl Iterator<Item = Result<Segment, LogError>> + Send + use<> {
        self.segment_records()
    }

    /// Returns segments as [`Self::segments`] does. [`Records::pass`] goes by their begin.
    pub fn segment_records(&self) -> impl Records<Segment> + use<> {
        let first = |mut bytes: &[u8]| take(&mut bytes).map(Time);
        Backwards::new(self.segments.clone(), first, self.read_segments())
    }

    /// Returns a function that reads the segments of a block.
    fn read_segments(&self) -> impl Fn(&mut &[u8], &mut Vec<Segment>) -> Option<()> + Send + use<> {
        let paths = Arc::clone(&self.paths);
        move |bytes, list| {
            let mut time = take(bytes)?;
            list.reserve(bytes.len() / LEAST_SEGMENT);
            // The path of the last segment, and the path that followed each path last.
            let (mut previous, mut followers) = (0, vec![usize::MAX; paths.len()]);
            while !bytes.is_empty() {
                let (gap, length) = (take(bytes)?, take(bytes)?);
                let (gap, is_usual) = (gap >> 1, gap & 1 != 0);
                let follower = followers.get_mut(previous)?;
                if !is_usual {
                    *follower = usize::try_from(take(bytes)?).ok()?;
                }
                let path = *follower;
                previous = path;
                let begin = time.checked_add(gap)?;
                let end = begin.checked_add(length)?;
                let caller = paths.get(path)?.caller;
                if gap > 0 {
                    list.push(Segment { begin: Time(time), end: Time(begin), path: caller });
                }
                list.push(Segment { begin: Time(begin), end: Time(end), path });
                time = end;
            }
            Some(())
        }
    }

    /// Returns the waits of the location, those that ended last first.
    pub fn waits(&self) -> impl Iterator<Item = Result<Piece, LogError>> + Send + use<> {
        self.wait_records()
    }

    /// Returns waits as [`Self::waits`] does. [`Records::pass`] goes by their end.
    pub fn wait_records(&self) -> impl Records<Piece> + use<> {
        self.edges(Side::Waiter, &self.waits)
    }

    /// Returns the segments of the location, the first one first.
    pub fn segments_forward(&self) -> Result<impl Forward<Segment> + use<>, LogError> {
        Forwards::new(self.segments.clone(), self.read_segments())
    }

    /// Returns the waits of the location and what it needed early, those that ended first first.
    pub fn links_forward(&self) -> Result<impl Forward<Link> + use<>, LogError> {
        let (at, rulings) = (self.number, Arc::clone(&self.rulings));
        Forwards::new(self.waits.clone(), move |bytes: &mut &[u8], list: &mut Vec<Link>| {
            let mut before = Time::BEGIN;
            while !bytes.is_empty() {
                let (edge, ruling) =
                    format::take_edge(bytes, (at, Side::Waiter), before, &rulings)?;
                before = edge.to;
                list.extend(match edge.kind {
                    Kind::Early => Some(Link::Early(edge)),
                    _ => Piece::judged(&edge, ruling.as_ref()).map(Link::Waited),
                });
            }
            Some(())
        })
    }

    /// Returns the segments of the location as [`Self::segments`] does, the first one first. Finding the blocks takes one read and
    /// 8 bytes of memory for each of them, about one for 300 segments.
    ///
    /// # Errors
    /// Returns an error if the blocks cannot be found, and the iterator one if a block is damaged.
    pub fn segments_in_order(
        &self,
    ) -> Result<impl Iterator<Item = Result<Segment, LogError>> + Send + use<>, LogError> {
        let mut all = self.segments_forward()?;
        Ok(std::iter::from_fn(move || all.next().transpose()))
    }

    /// Returns the waits of the location as [`Self::waits`] does, those that ended first first. Finding the blocks takes one read
    /// and 8 bytes of memory for each of them.
    ///
    /// # Errors
    /// Returns an error if the blocks cannot be found, and the iterator one if a block is damaged.
    pub fn waits_in_order(
        &self,
    ) -> Result<impl Iterator<Item = Result<Piece, LogError>> + Send + use<>, LogError> {
        let mut all = self.links_forward()?;
        Ok(std::iter::from_fn(move || {
            loop {
                return match all.next().transpose()? {
                    Ok(Link::Waited(piece)) => Some(Ok(piece)),
                    Ok(Link::Early(_)) => continue,
                    Err(error) => Some(Err(error)),
                };
            }
        }))
    }

    /// Returns what the calls of the location needed, those of the first call first.
    pub fn needs_forward(
        &self,
        me: ProcessNumber,
    ) -> Result<impl Forward<NeedOfCall> + use<>, LogError> {
        let read =
            move |bytes: &mut &[u8], list: &mut Vec<NeedOfCall>| needs::take_block(bytes, me, list);
        Forwards::new(self.needs.clone(), read)
    }

    /// Reads everything about the location that no other method of it returns, to find out whether it is damaged.
    ///
    /// # Errors
    /// Returns an error if a block is damaged.
    pub fn verify(&self) -> Result<(), LogError> {
        // Processes are written as differences, of either sign.
        let mut needs = self.needs_forward(ProcessNumber(u32::MAX / 2))?;
        while needs.next()?.is_some() {}
        Ok(())
    }

    /// Returns the rulings on operations of the location.
    pub fn rulings(&self) -> &[Ruling] {
        &self.rulings
    }

    /// Returns the waits of others for the location, those that ended last first.
    pub fn releases(&self) -> impl Iterator<Item = Result<Piece, LogError>> + Send + use<> {
        self.release_records()
    }

    /// Returns releases as [`Self::releases`] does. [`Records::pass`] goes by their end.
    pub fn release_records(&self) -> impl Records<Piece> + use<> {
        self.edges(Side::Culprit, &self.releases)
    }

    fn edges(&self, side: Side, stream: &Stream) -> impl Records<Piece> + use<> {
        let (at, rulings) = (self.number, Arc::clone(&self.rulings));
        let known = Arc::clone(&self.rulings);
        let first = move |mut bytes: &[u8]| {
            let (edge, _) = format::take_edge(&mut bytes, (at, side), Time::BEGIN, &known)?;
            Some(edge.to)
        };
        Backwards::new(stream.clone(), first, move |bytes, list| {
            let mut before = Time::BEGIN;
            list.reserve(bytes.len() / USUAL_EDGE);
            while !bytes.is_empty() {
                let (edge, ruling) = format::take_edge(bytes, (at, side), before, &rulings)?;
                before = edge.to;
                list.extend(Piece::judged(&edge, ruling.as_ref()));
            }
            Some(())
        })
    }
}

/// Something that a call depended on.
#[derive(Clone, Copy, Debug)]
pub enum Link {
    /// The call waited for it.
    Waited(Piece),
    /// It was there early enough. The event of the culprit was at `from`, and the call needed it at `to`.
    Early(Edge),
}
