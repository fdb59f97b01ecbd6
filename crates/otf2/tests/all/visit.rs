//! Both ways to read events give the same ones, whatever their attributes.

#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;

use otf2::def::{ClockOffset, MappingTable};
use otf2::enums::MappingType;
use otf2::event::{Enter, Leave};
use otf2::id::{AttributeRef, CallingContextRef, LocationRef, RegionRef, Time};
use otf2::map::IdMapRef;
use otf2::read::{EventRecord, Visitor};
use otf2::write::{ArchiveWriter, Options};
use otf2::{Archive, Attribute, AttributeValue, List};

const PLAIN: LocationRef = LocationRef(0);
const WITH_TABLES: LocationRef = LocationRef(1);

/// Texts of all events. The visitor stops after each `step`.
struct Lines {
    lines: Vec<String>,
    step: usize,
}

impl Visitor for Lines {
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        self.lines.push(format!("{record:?}"));
        if self.lines.len().is_multiple_of(self.step) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Returns lists of attributes: usual call sites, and others that are almost the same.
fn lists() -> Vec<Vec<Attribute>> {
    let of = |attribute, value| Attribute { attribute: AttributeRef(attribute), value };
    let site = |site| AttributeValue::CallingContext(CallingContextRef(site));
    let undefined = CallingContextRef::UNDEFINED;
    vec![
        vec![],
        vec![of(0, site(0))],
        vec![of(1, site(7))],
        vec![of(0, site(70_000))],
        vec![of(300, site(u32::MAX - 1))],
        vec![of(2, AttributeValue::CallingContext(undefined))],
        vec![of(AttributeRef::UNDEFINED.0, site(1))],
        vec![of(0, site(3)), of(1, site(4))],
        vec![of(0, AttributeValue::Uint64(3))],
        vec![of(0, AttributeValue::Region(RegionRef(3)))],
        vec![of(0, site(3)); 40],
    ]
}

fn write(location: LocationRef, archive: &ArchiveWriter) {
    let mut events = archive.events(location).unwrap();
    let mut time = 0;
    for region in [0, 1, 200, 70_000, u32::MAX - 1, u32::MAX].map(RegionRef) {
        for list in lists().iter().cycle().take(150) {
            let attributes = List::from(list.as_slice());
            // Some events have the time of the one before, and so no timestamp.
            time += u64::from(!list.is_empty());
            events.write_with(Time(time), attributes, Enter { region }).unwrap();
            events.write(Time(time), Leave { region }).unwrap();
            events.write_with(Time(time + 2), attributes, Leave { region }).unwrap();
            time += 3;
        }
    }
    events.finish().unwrap();
}

#[test]
fn events_with_attributes_are_the_same_in_both_ways() {
    let directory = tempfile::tempdir().unwrap();
    let archive = ArchiveWriter::create(directory.path(), "traces", Options::default()).unwrap();
    for location in [PLAIN, WITH_TABLES] {
        write(location, &archive);
    }
    archive.local_definitions(PLAIN).unwrap().finish().unwrap();
    let mut defs = archive.local_definitions(WITH_TABLES).unwrap();
    for mapping_type in [MappingType::Region, MappingType::Attribute, MappingType::CallingContext] {
        let id_map = IdMapRef::dense(&[5, 0, 2, 1, 3, 4, 70_001, 9]);
        defs.write(MappingTable { mapping_type, id_map }).unwrap();
    }
    for (time, offset) in [(0, 5), (5000, 12)] {
        let (time, standard_deviation) = (Time(time), 0.5);
        defs.write(ClockOffset { time, offset, standard_deviation }).unwrap();
    }
    defs.finish().unwrap();
    archive.global_definitions().unwrap().finish().unwrap();
    archive.finish().unwrap();

    let archive = Archive::open(directory.path()).unwrap();
    for location in [PLAIN, WITH_TABLES] {
        let mut expected = Vec::new();
        let mut reader = archive.events(location).unwrap();
        while let Some(record) = reader.next().unwrap() {
            expected.push(format!("{record:?}"));
        }
        assert_eq!(expected.len(), 6 * 150 * 3);
        let tables = archive.local_tables(location);
        // Windows of different sizes end at different events.
        for (step, window) in [(usize::MAX, 128 * 1024), (1, 128 * 1024), (7, 4096)] {
            let mut shown = Lines { lines: Vec::new(), step };
            let mut reader = archive.events_with(location, &tables, window).unwrap();
            while reader.visit(&mut shown).unwrap() {}
            assert_eq!(shown.lines, expected, "{location:?}, {step}, {window}");
        }
    }
}
