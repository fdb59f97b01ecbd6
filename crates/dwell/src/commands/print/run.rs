//! Reads the selected parts of an archive and passes their records to a printer.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

use anyhow::Result;
use otf2::id::{LocationRef, Time};
use otf2::marker::MarkerRecord;
use otf2::read::{SnapshotReader, WINDOW};
use otf2::store::FileKind;
use otf2::{Archive, Definition, Error, EventRecord};

use super::names::Names;
use super::select::{self, Kinds, Window};
use super::{Args, Part, Printer, Section};
use crate::damage;
use crate::terminal;

/// Memory in bytes for the read buffers of all event files that are merged.
const MEMORY: usize = 256 << 20;

/// State of one invocation of the command.
pub(super) struct Session<'a, W> {
    archive: Archive,
    args: &'a Args,
    printer: Box<dyn Printer>,
    kinds: Kinds,
    names: Names,
    out: W,
    /// Line that is being assembled.
    line: Vec<u8>,
    /// Number of records that the current section may still print.
    left: u64,
    damaged: bool,
}

impl<'a, W: Write> Session<'a, W> {
    pub(super) fn new(
        archive: Archive,
        args: &'a Args,
        printer: Box<dyn Printer>,
        out: W,
    ) -> Result<Self> {
        Ok(Self {
            archive,
            args,
            printer,
            kinds: Kinds::new(&args.records)?,
            names: Names::default(),
            out,
            line: Vec::new(),
            left: 0,
            damaged: false,
        })
    }

    /// Prints everything that was asked for. Returns `false` if the archive is damaged.
    pub(super) fn print(mut self) -> Result<bool> {
        let wants = |part| self.args.wants(part);
        let (events, definitions) = (wants(Part::Events), wants(Part::Definitions));
        let (markers, snapshots) = (wants(Part::Markers), wants(Part::Snapshots));
        let local = wants(Part::Mappings) || wants(Part::ClockOffsets);
        if wants(Part::Anchor) {
            self.begin(Section::Anchor)?;
            self.printer.anchor(&mut self.line, self.archive.anchor());
            self.write_line()?;
        }
        // All but the anchor speaks of things that are defined here.
        if definitions || local || events || markers || snapshots {
            self.definitions(definitions)?;
        }
        let locations = if local || events || snapshots {
            select::locations(&self.names.locations, &self.args.locations)?
        } else {
            Vec::new()
        };
        let window = Window::new(self.args.from, self.args.to, self.names.clock)?;
        if local {
            self.local_definitions(&locations)?;
        }
        if events {
            self.begin(Section::Events)?;
            let mut locations = locations.clone();
            // The archive beside a profile has definitions, and no file for a location without events.
            locations.retain(|location| {
                let silent = self.names.silent.contains(location);
                let file = self.archive.size(FileKind::Events(*location));
                !silent || !matches!(file, Ok(None))
            });
            if self.args.by_location || locations.len() == 1 {
                self.events_by_location(&locations, window)?;
            } else {
                self.events_merged(&locations, window)?;
            }
        }
        // Where they were not asked for by name, no heading needs to say that there are none.
        let by_name = self.args.sections.contains(&Part::Snapshots);
        if by_name || (snapshots && self.archive.anchor().snapshots > 0) {
            self.snapshots(&locations, window)?;
        }
        if markers {
            self.markers(window)?;
        }
        self.out.flush()?;
        Ok(!self.damaged)
    }

    fn begin(&mut self, section: Section) -> io::Result<()> {
        self.left = self.args.limit.unwrap_or(u64::MAX);
        self.printer.section(&mut self.line, section);
        self.write_line()
    }

    fn write_line(&mut self) -> io::Result<()> {
        self.out.write_all(&self.line)?;
        self.line.clear();
        Ok(())
    }

    fn warn(&mut self, error: &Error) {
        self.damaged = true;
        terminal::note!("warning: {error}");
    }

    /// Returns `true` if a record of this kind may be printed, and counts it.
    fn admit(&mut self, kind: &str) -> bool {
        let admitted = self.left > 0 && self.kinds.contains(kind);
        self.left -= u64::from(admitted);
        admitted
    }

    fn definitions(&mut self, print: bool) -> Result<()> {
        // Readers of events compare their numbers with those that definitions state, once these were read.
        self.archive.definitions()?;
        let mut reader = self.archive.global_definitions()?;
        if print {
            self.begin(Section::Definitions)?;
        }
        loop {
            match reader.next() {
                Ok(Some(definition)) => {
                    self.names.add(&definition);
                    if print && self.admit(definition.name()) {
                        self.printer.definition(&mut self.line, &self.names, &definition);
                        self.write_line()?;
                    }
                }
                Ok(None) => return Ok(()),
                Err(error) => self.warn(&error),
            }
        }
    }

    fn local_definitions(&mut self, locations: &[LocationRef]) -> Result<()> {
        self.begin(Section::LocalDefinitions)?;
        let (mappings, clock_offsets) =
            (self.args.wants(Part::Mappings), self.args.wants(Part::ClockOffsets));
        for &location in locations {
            let mut reader = match self.archive.local_definitions(location) {
                Ok(Some(reader)) => reader,
                Ok(None) => continue,
                Err(error) => {
                    self.warn(&error);
                    continue;
                }
            };
            loop {
                match reader.next() {
                    Ok(Some(definition)) => {
                        let asked = match definition {
                            Definition::MappingTable(_) => mappings,
                            Definition::ClockOffset(_) => clock_offsets,
                            _ => false,
                        };
                        if asked && self.admit(definition.name()) {
                            let Self { printer, line, names, .. } = self;
                            printer.local_definition(line, names, location, &definition);
                            self.write_line()?;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => self.warn(&error),
                }
            }
        }
        Ok(())
    }

    fn event(&mut self, location: LocationRef, record: &EventRecord<'_>) -> io::Result<()> {
        if self.admit(record.event.name()) {
            self.printer.event(&mut self.line, &self.names, location, record);
            self.write_line()?;
        }
        Ok(())
    }

    fn events_by_location(&mut self, locations: &[LocationRef], window: Window) -> Result<()> {
        let to_the_end = damage::is_small(&self.archive);
        for &location in locations {
            let tables = self.archive.local_tables(location);
            tables.warnings.iter().for_each(|error| self.warn(error));
            let mut reader = match self.archive.events_with(location, &tables, WINDOW) {
                Ok(reader) => reader,
                Err(error) => {
                    self.warn(&error);
                    continue;
                }
            };
            let seeks = window.from > Time(0) && !to_the_end;
            let mut result = if seeks { reader.seek_time(window.from) } else { Ok(()) };
            while self.left > 0 || to_the_end {
                let next = match result {
                    Ok(()) => reader.next(),
                    Err(error) => Err(error),
                };
                result = Ok(());
                match next {
                    Ok(Some(record)) if record.time > window.to && to_the_end => {}
                    Ok(Some(record)) if record.time > window.to => break,
                    // The damage may have been in the way of the search for the beginning.
                    Ok(Some(record)) if record.time < window.from => {}
                    Ok(Some(record)) => self.event(location, &record)?,
                    Ok(None) => break,
                    Err(error) => {
                        let damage = error.is_damage();
                        self.warn(&error);
                        match reader.skip_chunk() {
                            Ok(true) if damage => {}
                            Err(error) if damage => result = Err(error),
                            _ => break,
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn events_merged(&mut self, locations: &[LocationRef], window: Window) -> Result<()> {
        let to_the_end = damage::is_small(&self.archive);
        let mut merged = self.archive.merged(locations.iter().copied(), MEMORY);
        while self.left > 0 || to_the_end {
            match merged.next() {
                Ok(Some((_, record))) if record.time > window.to && to_the_end => {}
                Ok(Some((_, record))) if record.time > window.to => break,
                Ok(Some((_, record))) if record.time < window.from => {}
                Ok(Some((location, record))) => self.event(location, &record)?,
                Ok(None) => break,
                Err(error) => self.warn(&error),
            }
        }
        Ok(())
    }

    fn snapshots(&mut self, locations: &[LocationRef], window: Window) -> Result<()> {
        self.begin(Section::Snapshots)?;
        // Records cannot wait for their turn, but their lines can.
        let mut heap = BinaryHeap::new();
        let mut readers = Vec::new();
        for &location in locations {
            let mut reader = match self.archive.snapshots(location) {
                Ok(Some(reader)) => reader,
                Ok(None) => continue,
                Err(error) => {
                    self.warn(&error);
                    continue;
                }
            };
            if self.args.by_location {
                while let Some((_, line)) = self.snapshot(location, &mut reader, window) {
                    self.snapshot_line(&line)?;
                }
            } else {
                let first = self.snapshot(location, &mut reader, window);
                let index = readers.len();
                heap.extend(first.map(|(time, line)| Reverse((time, location, index, line))));
                readers.push(reader);
            }
        }
        while let Some(Reverse((_, location, index, line))) = heap.pop() {
            self.snapshot_line(&line)?;
            if let Some(reader) = readers.get_mut(index) {
                let next = self.snapshot(location, reader, window);
                heap.extend(next.map(|(time, line)| Reverse((time, location, index, line))));
            }
        }
        Ok(())
    }

    /// Returns time and text of the next snapshot record that was asked for.
    fn snapshot(
        &mut self,
        location: LocationRef,
        reader: &mut SnapshotReader,
        window: Window,
    ) -> Option<(Time, Vec<u8>)> {
        loop {
            match reader.next() {
                Ok(Some(record)) => {
                    let time = record.time;
                    if window.contains(time) && self.kinds.contains(record.snapshot.name()) {
                        let mut line = Vec::new();
                        self.printer.snapshot(&mut line, &self.names, location, &record);
                        return Some((time, line));
                    }
                }
                Ok(None) => return None,
                Err(error) => self.warn(&error),
            }
        }
    }

    fn snapshot_line(&mut self, line: &[u8]) -> io::Result<()> {
        if self.left > 0 {
            self.left -= 1;
            self.out.write_all(line)?;
        }
        Ok(())
    }

    fn markers(&mut self, window: Window) -> Result<()> {
        let mut reader = match self.archive.markers() {
            Ok(Some(reader)) => reader,
            Ok(None) => return Ok(()),
            Err(error) => {
                self.warn(&error);
                return Ok(());
            }
        };
        self.begin(Section::Markers)?;
        loop {
            match reader.next() {
                Ok(Some(record)) => {
                    let asked = match record {
                        MarkerRecord::Marker(marker) => window.contains(Time(marker.time)),
                        _ => true,
                    };
                    if asked && self.admit(record.name()) {
                        self.printer.marker(&mut self.line, &self.names, &record);
                        self.write_line()?;
                    }
                }
                Ok(None) => return Ok(()),
                Err(error) => self.warn(&error),
            }
        }
    }
}
