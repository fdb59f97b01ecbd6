//! Event files on which libotf2 3.0.2 itself fails.
//!
//! It keeps one byte free at the end of a chunk and writes two end marks: it dies when exactly one
//! byte is left. And it writes a timestamp before every event of time 0, besides the one at the head
//! of a chunk: it cannot read two in a row. Our writer must avoid both, our reader must read the
//! second.

use std::fs;
use std::path::Path;

use otf2::enums::{LocationGroupType, LocationType, Paradigm, RegionFlag, RegionRole};
use otf2::event::{AnyEvent, Enter, Leave, MpiIsendComplete};
use otf2::id::{
    LocationGroupRef, LocationRef, RegionRef, RequestId, StringRef, SystemTreeNodeRef, Time,
};
use otf2::write::{ArchiveWriter, EventWriter, Options};
use otf2::{Archive, Event, chunk, def};

use super::canonical;
use super::tools::{Scratch, assert_same, of_kind, otf2_print, tools};

const CHUNK: u64 = chunk::MIN_SIZE;

/// Writes an archive of one location that otf2-print can read.
pub(crate) fn archive(directory: &Path, region: RegionRef, write: impl FnOnce(&mut EventWriter)) {
    let options = Options { events_chunk: CHUNK, ..Options::default() };
    let archive = ArchiveWriter::create(directory, "traces", options).unwrap();
    let mut events = archive.events(LocationRef(0)).unwrap();
    write(&mut events);
    let number_of_events = events.finish().unwrap().events;
    archive.local_definitions(LocationRef(0)).unwrap().finish().unwrap();
    let mut defs = archive.global_definitions().unwrap();
    let clock = def::ClockProperties {
        timer_resolution: 1000,
        global_offset: 0,
        trace_length: 1_000_000_000,
        realtime_timestamp: u64::MAX,
    };
    defs.write(clock).unwrap();
    let name = defs.string("name").unwrap();
    let parent = SystemTreeNodeRef::UNDEFINED;
    let node = def::SystemTreeNode { id: SystemTreeNodeRef(0), name, class_name: name, parent };
    defs.write(node).unwrap();
    let group = def::LocationGroup {
        id: LocationGroupRef(0),
        name,
        location_group_type: LocationGroupType::Process,
        system_tree_parent: SystemTreeNodeRef(0),
        creating_location_group: LocationGroupRef::UNDEFINED,
    };
    defs.write(group).unwrap();
    let location = def::Location {
        id: LocationRef(0),
        name,
        location_type: LocationType::CpuThread,
        number_of_events,
        location_group: LocationGroupRef(0),
    };
    defs.write(location).unwrap();
    let region = def::Region {
        id: region,
        name,
        canonical_name: name,
        description: StringRef::UNDEFINED,
        region_role: RegionRole::Function,
        paradigm: Paradigm::User,
        region_flags: RegionFlag::NONE,
        source_file: StringRef::UNDEFINED,
        begin_line_number: 0,
        end_line_number: 0,
    };
    defs.write(region).unwrap();
    defs.finish().unwrap();
    archive.finish().unwrap();
}

fn put(events: &mut EventWriter, time: u64, event: impl AnyEvent) {
    events.write(Time(time), event).unwrap();
}

/// Exactly one byte of a chunk is left: 18 + 17475 × 15 = 262143 of 262144. The test also tries the numbers around it.
#[test]
fn one_byte_left() {
    let Some(tools) = tools() else { return };
    let region = RegionRef(0x0102_0304);
    for count in [17474, 17475, 17476] {
        let scratch = Scratch::new();
        let directory = scratch.join("edge");
        archive(&directory, region, |events| {
            (0..count).for_each(|i| put(events, 1 + i, Enter { region }));
        });
        let ours = canonical::events(&Archive::open(&directory).unwrap(), &[0]);
        assert_eq!(ours.len() as u64, count);
        for (line, i) in ours.iter().zip(1..) {
            assert_eq!(*line, format!("E 0 {i} {i} Enter region={} []", region.0));
        }
        assert_same("events", &of_kind(&tools.read(&directory, &[0]), 'E'), &ours);
        let printed = otf2_print(&directory);
        let lines: Vec<_> = printed.lines().filter(|line| line.starts_with("ENTER")).collect();
        assert_eq!(lines.len() as u64, count);
    }
}

/// libotf2 and otf2-print read several chunks of events of time 0 that we wrote.
#[test]
fn time_zero_written_by_us() {
    let Some(tools) = tools() else { return };
    let scratch = Scratch::new();
    let directory = scratch.join("zero");
    let count = 200_000_u64;
    archive(&directory, RegionRef(0), |events| {
        for i in 0..count / 2 {
            put(events, 0, Enter { region: RegionRef(0) });
            put(events, 0, MpiIsendComplete { request_id: RequestId(i) });
        }
        put(events, 5, Leave { region: RegionRef(0) });
    });
    let size = fs::metadata(directory.join("traces/0.evt")).unwrap().len();
    assert!(size > 2 * CHUNK, "{size} bytes are too few chunks");
    let ours = canonical::events(&Archive::open(&directory).unwrap(), &[0]);
    assert_eq!(ours.len() as u64, count + 1);
    assert_same("events", &of_kind(&tools.read(&directory, &[0]), 'E'), &ours);
    let printed = otf2_print(&directory);
    let count_of = |name| printed.lines().filter(|line| line.starts_with(name)).count() as u64;
    assert_eq!(count_of("ENTER"), count / 2);
    assert_eq!(count_of("MPI_ISEND_COMPLETE"), count / 2);
    assert_eq!(count_of("LEAVE"), 1);
}

/// We read several chunks of events of time 0 that libotf2 wrote and cannot read.
#[test]
fn time_zero_written_by_libotf2() {
    let Some(tools) = tools() else { return };
    let scratch = Scratch::new();
    let directory = scratch.join("zero");
    tools.write("zero", 1, &directory);
    let bytes = fs::read(directory.join("traces/0.evt")).unwrap();
    let second = &bytes[usize::try_from(CHUNK).unwrap()..];
    assert_eq!((second[18], second[27]), (5, 5), "two timestamps in a row are what this is about");
    let archive = Archive::open(&directory).unwrap();
    let mut reader = archive.events(LocationRef(0)).unwrap();
    for i in 0..60_000 {
        let record = reader.next().unwrap().unwrap();
        assert_eq!((record.time, record.number.0), (Time(0), i + 1));
        let expected = MpiIsendComplete { request_id: RequestId(i) };
        assert_eq!(record.event, Event::MpiIsendComplete(expected));
    }
    assert_eq!(reader.next().unwrap(), None);
    let lines = canonical::events(&archive, &[0]);
    let mut shown =
        canonical::Lines { location: LocationRef(0), lines: Vec::new(), most: usize::MAX };
    archive.events(LocationRef(0)).unwrap().visit(&mut shown).unwrap();
    assert_same("visit", &lines, &shown.lines);
    // The double timestamps are at the borders: go there directly as well.
    for number in [1, 2, 20_166, 30_000, 59_999, 60_000] {
        reader.seek_event(otf2::id::EventNumber(number)).unwrap();
        assert_eq!(reader.next().unwrap().unwrap().number.0, number);
    }
}
