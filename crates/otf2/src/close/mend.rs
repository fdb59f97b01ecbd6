//! Writes a sound event file from a damaged one.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::parse::{Here, Parser};
use super::scan::{Scan, Segment};
use super::{ClosedLocation, Marks};
use crate::chunk::{HEADER, Header};
use crate::enums::MeasurementMode;
use crate::error::{Error, Result};
use crate::event::{AnyEvent, Enter, Event, Leave, MeasurementOnOff};
use crate::files;
use crate::id::{LocationRef, RegionRef, Time};
use crate::store;
use crate::value::{Attribute, List};
use crate::wire::ByteOrder;
use crate::write::EventWriter;

/// Writes the events that a [`Scan`] found in the file `from` to a new file `to`. The damaged file stays unchanged.
///
/// Where events are missing, the new file has `MeasurementOnOff` events: off at the last time before the gap, on at the
/// first time after it. Before the gap, all open regions but the outermost are left; after it, regions are entered that
/// the events leave without having entered them. At the end all open regions are left. With [`Marks`], all added events
/// carry an attribute.
///
/// # Errors
/// Fails if a file cannot be read or written, or if `from` changed since it was scanned. There is no new file then.
pub fn mend_events(
    from: &Path,
    to: &Path,
    location: LocationRef,
    scan: &Scan,
    marks: Option<Marks>,
) -> Result<ClosedLocation> {
    let unfinished = files::unfinished(to);
    let written = write(from, &unfinished, location, scan, marks);
    let placed = written.and_then(|closed| {
        fs::rename(&unfinished, to).map_err(|error| Error::io(error).at(to)).map(|()| closed)
    });
    if placed.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    placed
}

fn write(
    from: &Path,
    to: &Path,
    location: LocationRef,
    scan: &Scan,
    marks: Option<Marks>,
) -> Result<ClosedLocation> {
    let wrap = |error| Error::io(error).at(from);
    let file = files::open(from, false).map_err(wrap)?;
    let size = usize::try_from(scan.chunk_size).unwrap_or_default();
    let writer = EventWriter::create(to.to_owned(), location, vec![0; size], ByteOrder::Little)?;
    let mut source = Source { file, memory: vec![0; size], chunk: None, length: 0 };
    let mut mended = Mended { writer, marks, open: Vec::new(), last: 0, left: 0 };
    for (index, segment) in scan.segments.iter().enumerate() {
        mended.begin(index > 0, segment)?;
        source.copy(segment, &mut mended).map_err(wrap)??;
    }
    let times = scan.times();
    mended.end(location, times)
}

/// The new event file, while it is being written.
struct Mended {
    writer: EventWriter,
    marks: Option<Marks>,
    /// Regions that are open, the outermost first.
    open: Vec<RegionRef>,
    last: u64,
    /// Number of regions that were left at the end.
    left: u64,
}

impl Mended {
    fn write(&mut self, time: u64, mark: Option<Attribute>, event: impl AnyEvent) -> Result<()> {
        self.last = self.last.max(time);
        let mark = mark.as_slice();
        self.writer.write_with(Time(self.last), List::from(mark), event)
    }

    /// Writes the events that must precede those of a segment.
    fn begin(&mut self, behind_gap: bool, segment: &Segment) -> Result<()> {
        let mark = self.marks.map(|marks| marks.gap);
        if behind_gap {
            while self.open.len() > 1 {
                let Some(region) = self.open.pop() else { break };
                self.write(self.last, mark, Leave { region })?;
            }
            self.switch(self.last, MeasurementMode::Off)?;
            self.switch(segment.first, MeasurementMode::On)?;
        }
        // The outermost region may be left by this segment.
        let mut missing = segment.unmatched.as_slice();
        if let (Some((last, inner)), Some(outermost)) = (missing.split_last(), self.open.first())
            && last == outermost
        {
            missing = inner;
        }
        for &region in missing.iter().rev() {
            self.write(segment.first, mark, Enter { region })?;
            self.open.push(region);
        }
        Ok(())
    }

    fn switch(&mut self, time: u64, measurement_mode: MeasurementMode) -> Result<()> {
        let mark = self.marks.map(|marks| marks.gap);
        self.write(time, mark, MeasurementOnOff { measurement_mode })
    }

    fn event(
        &mut self,
        time: u64,
        attributes: List<'_, Attribute>,
        event: Event<'_>,
    ) -> Result<()> {
        match event {
            Event::Enter(enter) => self.open.push(enter.region),
            Event::Leave(_) => drop(self.open.pop()),
            _ => {}
        }
        self.last = self.last.max(time);
        self.writer.write_with(Time(self.last), attributes, event)
    }

    fn end(mut self, location: LocationRef, times: Option<(Time, Time)>) -> Result<ClosedLocation> {
        let mark = self.marks.map(|marks| marks.end);
        while let Some(region) = self.open.pop() {
            self.write(self.last, mark, Leave { region })?;
            self.left += 1;
        }
        let summary = self.writer.finish()?;
        Ok(ClosedLocation {
            location,
            events: summary.events,
            times,
            bytes: summary.bytes,
            cut_bytes: 0,
            left: self.left,
            open: Vec::new(),
        })
    }
}

/// The damaged file, with one of its chunks in memory.
struct Source {
    file: File,
    memory: Vec<u8>,
    /// Number of the chunk that is in memory; `length` is the number of its bytes.
    chunk: Option<u64>,
    length: usize,
}

impl Source {
    fn load(&mut self, chunk: u64) -> io::Result<()> {
        if self.chunk != Some(chunk) {
            let offset = chunk * self.memory.len() as u64;
            self.length = store::read_full(&self.file, offset, &mut self.memory)?;
            self.chunk = Some(chunk);
        }
        Ok(())
    }

    /// Copies the events of a segment, which the scan found before.
    fn copy(&mut self, segment: &Segment, mended: &mut Mended) -> io::Result<Result<()>> {
        let mut all = |_: &Event<'_>, _: List<'_, Attribute>| true;
        let mut parser = Parser::new(&mut all);
        let (mut chunk, mut at, mut left) = (segment.chunk, segment.at, segment.events);
        let mut time = segment.first;
        self.load(chunk)?;
        while left > 0 {
            let bytes = self.memory.get(..self.length).unwrap_or_default();
            let header = bytes.first_chunk().and_then(Header::read);
            let order = header.map_or(ByteOrder::Little, |header| header.order);
            match parser.look(bytes, order, at, time) {
                Here::Event(found) => {
                    time = found.time;
                    at = found.end;
                    left -= 1;
                    if let Err(error) = mended.event(time, found.attributes, found.event) {
                        return Ok(Err(error));
                    }
                }
                Here::EndOfChunk | Here::EndOfFile if self.length > 0 => {
                    (chunk, at) = (chunk + 1, HEADER);
                    self.load(chunk)?;
                }
                _ => return Err(io::Error::other("the file changed while it was read")),
            }
        }
        Ok(Ok(()))
    }
}
