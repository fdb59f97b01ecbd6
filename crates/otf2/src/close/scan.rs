//! Examines an event file whose writer died.
//!
//! A file is *sound* if it is what a living [`Encoder`](crate::encode::Encoder) may have left at some instant.
//! Everything else is damage: an invalid chunk header, bytes that are not an event, times that go back, a `Leave` of a
//! region that is not the innermost, fewer events than a chunk header states, bytes behind the last event. Damage never
//! ends the reading: the scan searches for the next place at which events follow one another again, in the same chunk
//! or in a later one. The result is a list of [`Segment`]s, each of which is a sequence of events without a gap.

use std::fs::File;
use std::path::Path;
use std::{fmt, io};

use super::parse::{Found, Here, Parser, Plausible, ends};
use crate::chunk::{self, HEADER, Header, control};
use crate::encode;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Event;
use crate::files;
use crate::id::{RegionRef, Time};
use crate::seal;
use crate::store;
use crate::value::{Attribute, List};
use crate::wire::ByteOrder;

/// A place in an event file that is not as its writer left it. Its text names the byte and the kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Offset of the damage from the beginning of the file, in bytes.
    pub offset: u64,
    /// Kind of the damage at this place.
    pub what: What,
}

/// The kinds of damage that [`scan_events`] finds in an event file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// The file ends inside a chunk and without an end mark, so it was cut after it was written.
    Cut,
    /// A chunk does not begin with a valid header. Its events are still read, if they can be.
    Header,
    /// A chunk is filled with zeros although others follow it, or more than one such chunk is at the end.
    Blank,
    /// The event number in a chunk header does not continue those of the chunks before it, or states more events than a
    /// chunk can hold.
    Number,
    /// The bytes are not an event, or they are one that the caller's function called implausible.
    Record,
    /// The time of an event is earlier than that of the event before it, or so much later that the events after it
    /// would go back.
    Time,
    /// A `Leave` names a region that is not the one entered last.
    Nesting,
    /// The bytes of a chunk do not have the [checksum](crate::seal) that it was completed with. Its events are still
    /// read, if they can be, and some of them may be wrong.
    Checksum,
    /// There are more bytes behind the last event than a writer can have left there.
    Behind,
    /// The number of events in a chunk differs from the number that its header states. A few more than stated are no
    /// damage, because a writer may die between writing events together and counting them.
    Count {
        /// Number of events that the header states.
        stated: u64,
        /// Number of events that the chunk holds.
        found: u64,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: ", self.offset)?;
        match self.what {
            What::Cut => f.write_str("the file is cut off"),
            What::Header => f.write_str("no chunk header"),
            What::Blank => f.write_str("an empty chunk before others"),
            What::Number => f.write_str("a chunk that does not continue the one before it"),
            What::Record => f.write_str("bytes that are no event"),
            What::Time => f.write_str("an event whose time is wrong"),
            What::Nesting => f.write_str("a region is left that was not entered last"),
            What::Checksum => f.write_str("a chunk whose checksum is wrong"),
            What::Behind => f.write_str("bytes behind the last event"),
            What::Count { stated, found } => {
                write!(f, "a chunk of {stated} events of which {found} are there")
            }
        }
    }
}

/// Largest number of damaged places that are listed; further ones are counted.
const LISTED: usize = 32;

/// Largest number of regions that may be open at once.
const DEPTH: usize = 1 << 16;

/// Largest number of segments. Events behind that many gaps are lost.
const SEGMENTS: usize = 1 << 16;

/// Number of empty chunks behind which the scan ends. A sparse file may have a hole of any size.
const BLANKS: u64 = 64;

/// A sequence of events without a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// The chunk in which it begins; `at` is the byte in that chunk.
    pub(super) chunk: u64,
    pub(super) at: usize,
    pub(super) events: u64,
    /// Time of the first event; `last` is that of the last.
    pub(super) first: u64,
    pub(super) last: u64,
    /// Regions that the segment leaves without having entered them, the innermost first.
    pub(super) unmatched: Vec<RegionRef>,
    /// Regions that are open at the end of the segment, the outermost first.
    pub(super) open: Vec<RegionRef>,
}

/// The contents and the damage of an event file, as [`scan_events`] found them. [`close_sound`](super::close_sound) and
/// [`mend_events`](super::mend_events) need it.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    pub(super) segments: Vec<Segment>,
    damage: Vec<Damage>,
    more_damage: u64,
    /// Number of the last event by the last chunk header, or `None` if that header could not be read.
    stated: Option<u64>,
    /// The last chunk that was begun: its number, the end of its events, and its header.
    pub(super) end: Option<(u64, usize, Header)>,
    pub(super) size: u64,
    pub(super) chunk_size: u64,
}

impl Scan {
    /// Returns `true` if the file has no damage: a killed or a living writer may have left it so.
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }

    /// Returns `true` if the file is sound and has no events: it has no chunk at all, or a chunk without events.
    pub fn is_empty(&self) -> bool {
        self.is_sound() && self.events() == 0
    }

    /// Returns the first 32 damaged places, in the order in which the scan found them. [`Scan::more_damage`] counts the
    /// others.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// Returns the number of damaged places that [`Scan::damage`] does not list.
    pub fn more_damage(&self) -> u64 {
        self.more_damage
    }

    /// Returns the number of events that were found, before and behind all gaps.
    pub fn events(&self) -> u64 {
        self.segments.iter().map(|segment| segment.events).sum()
    }

    /// Returns the number of events that are certainly lost, by the event number in the last chunk header. More may be
    /// lost behind it. Returns `None` if that header could not be read, and 0 for a sound file.
    pub fn lost(&self) -> Option<u64> {
        if self.is_sound() {
            return Some(0);
        }
        self.stated.map(|stated| stated.saturating_sub(self.events()))
    }

    /// Returns the times of the first and the last event, without clock correction, or `None` if there are no events.
    pub fn times(&self) -> Option<(Time, Time)> {
        let (first, last) = (self.segments.first()?, self.segments.last()?);
        Some((Time(first.first), Time(last.last)))
    }

    /// Returns the number of chunks in which events were or could have been written. The file may have room for one
    /// more.
    pub fn chunks(&self) -> u64 {
        self.end.map_or(0, |(chunk, ..)| chunk + 1)
    }

    /// Returns the number of chunks that the size of the file has room for.
    fn room(&self) -> u64 {
        self.size.div_ceil(self.chunk_size.max(1))
    }

    fn report(&mut self, offset: u64, what: What) {
        if self.damage.len() < LISTED {
            self.damage.push(Damage { offset, what });
        } else {
            self.more_damage += 1;
        }
    }
}

/// Examines an event file whose chunks have `chunk_size` bytes, and changes nothing.
///
/// The caller's function `plausible` may reject events that decode but make no sense, for instance because they name a
/// region that is not defined; such an event counts as damage. It is called for each event, and also while the scan
/// searches for the next event behind damage.
///
/// # Errors
/// Fails if the path names no regular file, if the file cannot be read, or if the chunk size is out of range. Damage is
/// no error.
pub fn scan_events(
    path: &Path,
    chunk_size: u64,
    mut plausible: impl FnMut(&Event<'_>, List<'_, Attribute>) -> bool,
) -> Result<Scan> {
    scan(path, chunk_size, &mut plausible)
}

/// Does what [`scan_events`] says. Decoding and encoding all kinds of events is much code, which is compiled once and
/// not for each caller.
fn scan(path: &Path, chunk_size: u64, plausible: &mut Plausible<'_>) -> Result<Scan> {
    let wrap = |error| Error::io(error).at(path);
    if !(chunk::MIN_SIZE..=chunk::MAX_SIZE).contains(&chunk_size) {
        return Err(Error::new(ErrorKind::ChunkSize(chunk_size)).at(path));
    }
    let file = files::open(path, false).map_err(wrap)?;
    let size = file.metadata().map_err(wrap)?.len();
    let scan = Scan { size, chunk_size, ..Scan::default() };
    let parser = Parser::new(plausible);
    let scanner = Scanner { scan, parser, row: None, moment: None, found: 0, begin: (0, 0) };
    scanner.run(&file).map_err(wrap)
}

/// Returns the position behind the last event of a chunk, and the number of its events. The memory behind that may hold
/// the rest of an earlier chunk of the same location, as [`Encoder::reuse`](crate::encode::Encoder::reuse) leaves it.
/// Events end at an end mark, at bytes that are not an event, or at an event that is earlier than the one before it. Returns
/// `None` if the chunk has no valid header.
pub fn end_of_events(chunk: &[u8]) -> Option<(usize, u64)> {
    visit_events(chunk, &mut |_, _, _| {})
}

/// Calls `visit` for each event of a chunk, with its time and its attributes. Events end where [`end_of_events`] says, and what it
/// returns is returned.
///
/// The chunk may be a copy of one that its writer is filling: no event is passed that was not complete.
pub fn visit_events(
    chunk: &[u8],
    visit: &mut dyn FnMut(Time, &Event<'_>, List<'_, Attribute>),
) -> Option<(usize, u64)> {
    let header = chunk.first_chunk().and_then(Header::read)?;
    let mut all = |_: &Event<'_>, _: List<'_, Attribute>| true;
    let mut parser = Parser::new(&mut all);
    let (mut at, mut time, mut events) = (HEADER, 0, 0);
    while let Here::Event(found) = parser.look(chunk, header.order, at, time)
        && found.time >= time
    {
        (at, time, events) = (found.end, found.time, events + 1);
        visit(Time(time), &found.event, found.attributes);
    }
    Some((at, events))
}

/// Events with one time, which are removed again if the time turns out to be wrong.
struct Moment {
    /// Offset of the first of these events in the file.
    offset: u64,
    /// Time of the event before these.
    before: u64,
    events: u64,
    changes: Vec<Change>,
}

/// The effect of an event on the list of open regions.
enum Change {
    Entered,
    Left(RegionRef),
    Unmatched,
}

struct Scanner<'p> {
    scan: Scan,
    parser: Parser<'p>,
    /// The current segment, if one is open.
    row: Option<Segment>,
    /// Events since the last timestamp, as long as the segment continues.
    moment: Option<Moment>,
    /// Number of events so far.
    found: u64,
    /// Offset of the current chunk, and number of events before it.
    begin: (u64, u64),
}

/// The end mark with which a chunk ended.
enum End {
    Chunk,
    File,
}

impl Scanner<'_> {
    fn run(mut self, file: &File) -> io::Result<Scan> {
        let (size, chunk_size) = (self.scan.size, self.scan.chunk_size);
        let mut memory = vec![0; usize::try_from(chunk_size.min(size)).unwrap_or_default()];
        // Number of empty chunks since the last one that is not.
        let mut blanks = 0;
        let mut ended = None;
        let mut last = None;
        for chunk in 0..self.scan.room() {
            let offset = chunk * chunk_size;
            let length = store::read_full(file, offset, &mut memory)?;
            let (bytes, right) = seal::strip(memory.get(..length).unwrap_or_default(), chunk_size);
            if bytes.iter().all(|byte| *byte == 0) {
                blanks += 1;
                if blanks > BLANKS {
                    break;
                }
                continue;
            }
            if blanks > 0 {
                self.gap(offset - blanks * chunk_size, What::Blank);
            }
            blanks = 0;
            // An end mark does not end the file if the next chunk continues it: the writer was about to remove it.
            if let Some((at, end)) = ended.take()
                && !self.continues(bytes)
            {
                self.gap(at + end as u64, What::Behind);
            }
            if let Some((chunk, at, bytes_follow)) = last.take()
                && bytes_follow
            {
                self.scan.report(chunk * chunk_size + at as u64, What::Behind);
            }
            let known = self.scan.damage.len();
            let (at, end, header) = self.chunk(chunk, bytes);
            if right == Some(false) && self.scan.damage.len() == known {
                self.scan.report(offset, What::Checksum);
            }
            // Bytes behind the last event are known to be damage only if another chunk follows.
            let behind = bytes.get(at..).unwrap_or_default();
            let marks = match end {
                End::Chunk => 0,
                End::File => 2,
            };
            let dirty = behind.iter().skip(marks).any(|byte| *byte != 0);
            last = Some((chunk, at, dirty));
            if matches!(end, End::File) {
                ended = Some((offset, at));
            }
            self.scan.end = Some((chunk, at, header));
            self.check_end((offset, length), bytes, at, &end);
        }
        if blanks > 1 {
            // A writer reserves at most one chunk before it needs it.
            let used = self.scan.end.map_or(0, |(chunk, ..)| chunk + 1);
            self.scan.report((used + 1) * chunk_size, What::Blank);
        }
        if blanks > 0 && size % chunk_size != 0 {
            self.scan.report(size, What::Cut);
        }
        self.end_row();
        Ok(self.scan)
    }

    /// Returns `true` if the header of a chunk continues the events that were found before.
    fn continues(&self, bytes: &[u8]) -> bool {
        let header = bytes.first_chunk().and_then(Header::read);
        header.is_some_and(|header| header.first == self.found + 1)
    }

    /// Checks that the last chunk has its full size, or ends with an end mark where the file ends.
    fn check_end(&mut self, (offset, length): (u64, usize), bytes: &[u8], at: usize, end: &End) {
        let is_last = offset + length as u64 == self.scan.size;
        if !is_last || length as u64 == self.scan.chunk_size {
            return;
        }
        let marks = [control::END_OF_FILE, control::END_OF_BUFFER];
        let whole = matches!(end, End::File) && bytes.get(at..) == Some(&marks);
        if !whole {
            self.scan.report(self.scan.size, What::Cut);
        }
    }

    /// Reads a chunk. Returns the end of its events, its end mark, and its header.
    fn chunk(&mut self, chunk: u64, bytes: &[u8]) -> (usize, End, Header) {
        let offset = chunk * self.scan.chunk_size;
        let header = bytes.first_chunk().and_then(Header::read);
        let before = self.found;
        self.begin = (offset, before);
        let stated = header.map(|header| header.last.wrapping_sub(header.first).wrapping_add(1));
        // An event has two bytes at least.
        let stated = stated.filter(|stated| *stated <= self.scan.chunk_size / 2);
        match (header, stated) {
            (None, _) => self.gap(offset, What::Header),
            (Some(_), None) => self.gap(offset + 2, What::Number),
            (Some(header), _) => {
                // Events beyond those that are stated are the last of a writer that died: no chunk follows.
                let expected = self.scan.stated.unwrap_or(before).saturating_add(1);
                let follows = !self.scan.is_sound() || header.first == before + 1;
                if header.first != expected || !follows {
                    self.gap(offset + 2, What::Number);
                }
            }
        }
        let order = header.map_or(ByteOrder::Little, |header| header.order);
        let (mut at, mut fresh) = (HEADER, true);
        // True once events of this chunk are missing, so that it cannot have as many as its header states.
        let mut gapped = false;
        let end = loop {
            let time = self.last_time();
            let (what, place) = match self.parser.look(bytes, order, at, time) {
                Here::Event(found) => match self.judge(bytes, order, &found, fresh) {
                    Ok(()) => {
                        let (end, time) = (found.end, found.time);
                        if found.stamped {
                            self.state(offset + at as u64);
                        }
                        self.accept(chunk, at, time, &found.event);
                        (at, fresh) = (end, false);
                        continue;
                    }
                    Err(What::Nesting) => {
                        self.gap(offset + at as u64, What::Nesting);
                        continue;
                    }
                    Err(what) => (what, at + 1),
                },
                Here::Nothing => (What::Record, at + 1),
                here => {
                    let complete = stated.is_none_or(|stated| self.found - self.begin.1 >= stated);
                    let mut last =
                        || gapped && self.next_place(bytes, order, at + 1, time).is_none();
                    if ends(bytes, at) && (complete || last()) {
                        break if matches!(here, Here::EndOfFile) { End::File } else { End::Chunk };
                    }
                    let what = if complete { What::Behind } else { What::Record };
                    (what, at + 1)
                }
            };
            let next = self.next_place(bytes, order, place, time);
            self.gap(offset + at as u64, what);
            match next {
                Some(place) => (at, fresh, gapped) = (place, true, true),
                None => break End::Chunk,
            }
        };
        let found = self.found - self.begin.1;
        if let Some(stated) = stated
            && !(stated..=stated + encode::MOST_AT_ONCE).contains(&found)
        {
            self.scan.report(offset + chunk::LAST.start as u64, What::Count { stated, found });
        }
        self.scan.stated = header.filter(|_| stated.is_some()).map(|header| header.last);
        let assumed = Header { order, first: self.begin.1 + 1, last: self.found };
        (at, end, header.unwrap_or(assumed))
    }

    /// Finds the next position in a chunk, from `place` on, at which events follow one another.
    fn next_place(
        &mut self,
        bytes: &[u8],
        order: ByteOrder,
        place: usize,
        time: u64,
    ) -> Option<usize> {
        if self.scan.segments.len() >= SEGMENTS {
            return None;
        }
        (place..bytes.len()).find(|place| {
            bytes.get(*place) == Some(&control::TIMESTAMP)
                && self.parser.goes_on(bytes, order, *place, time)
        })
    }

    /// Checks that an event can follow those before it.
    fn judge(
        &mut self,
        bytes: &[u8],
        order: ByteOrder,
        found: &Found<'_>,
        fresh: bool,
    ) -> Result<(), What> {
        let last = self.last_time();
        if found.stamped {
            // Events that are written together have a timestamp even if the clock stood still.
            if found.time < last && !self.take_back(bytes, order, found) {
                return Err(What::Time);
            }
        } else if fresh {
            return Err(What::Time); // The first event of a chunk has a time.
        }
        let row = self.row.as_ref();
        let (open, unmatched) = row.map_or((0, 0), |row| (row.open.len(), row.unmatched.len()));
        match found.event {
            Event::Leave(leave) => match row.and_then(|row| row.open.last()) {
                Some(region) if *region == leave.region => Ok(()),
                // Behind a gap, the regions that were open are not known.
                None if !self.scan.segments.is_empty() || !self.scan.is_sound() => {
                    if unmatched < DEPTH { Ok(()) } else { Err(What::Record) }
                }
                _ => Err(What::Nesting),
            },
            Event::Enter(_) if open >= DEPTH => Err(What::Record),
            _ => Ok(()),
        }
    }

    /// Begins the events of another timestamp.
    fn state(&mut self, offset: u64) {
        let before = self.last_time();
        let mut changes = self.moment.take().map(|moment| moment.changes).unwrap_or_default();
        changes.clear();
        self.moment = Some(Moment { offset, before, events: 0, changes });
    }

    /// Handles an event that is earlier than the one before it. If others follow it, and it is not earlier than the
    /// events before that one, then the time of the event before it is wrong. In this case the events with the wrong
    /// time are removed and the result is `true`.
    fn take_back(&mut self, bytes: &[u8], order: ByteOrder, found: &Found<'_>) -> bool {
        let before = self.moment.as_ref().map(|moment| moment.before);
        let fits = before.is_some_and(|before| found.time >= before);
        if !fits || !self.parser.goes_on(bytes, order, found.end, found.time) {
            return false;
        }
        let (Some(row), Some(moment)) = (&mut self.row, self.moment.take()) else { return false };
        for change in moment.changes.iter().rev() {
            match change {
                Change::Entered => drop(row.open.pop()),
                Change::Left(region) => row.open.push(*region),
                Change::Unmatched => drop(row.unmatched.pop()),
            }
        }
        row.events -= moment.events;
        row.last = moment.before;
        self.found -= moment.events;
        if moment.offset < self.begin.0 {
            self.begin.1 -= moment.events;
        }
        if row.events == 0 {
            self.row = None;
        }
        self.gap(moment.offset, What::Time);
        true
    }

    fn accept(&mut self, chunk: u64, at: usize, time: u64, event: &Event<'_>) {
        let row = self.row.get_or_insert_with(|| Segment {
            chunk,
            at,
            events: 0,
            first: time,
            last: time,
            unmatched: Vec::new(),
            open: Vec::new(),
        });
        row.events += 1;
        row.last = time;
        self.found += 1;
        let change = match event {
            Event::Enter(enter) => {
                row.open.push(enter.region);
                Some(Change::Entered)
            }
            Event::Leave(leave) => Some(match row.open.pop() {
                Some(region) => Change::Left(region),
                None => {
                    row.unmatched.push(leave.region);
                    Change::Unmatched
                }
            }),
            _ => None,
        };
        if let Some(moment) = &mut self.moment {
            moment.events += 1;
            moment.changes.extend(change);
        }
    }

    /// Returns the time of the last event.
    fn last_time(&self) -> u64 {
        let row = self.row.as_ref().or(self.scan.segments.last());
        row.map_or(0, |row| row.last)
    }

    /// Reports damage and ends the segment, because the following events may not continue those before.
    fn gap(&mut self, offset: u64, what: What) {
        self.scan.report(offset, what);
        self.end_row();
    }

    fn end_row(&mut self) {
        self.moment = None;
        self.scan.segments.extend(self.row.take());
    }
}
