//! Damaged archives: every truncation and many changed bytes of a small one.
//!
//! Whatever the bytes, reading gives what can be read and an error that says where, never a panic,
//! never an endless loop, and never more memory than stated: live memory grows by at most
//! [`BASE`] plus [`FACTOR`] times the bytes of the archive. A counting allocator watches that.

use std::ops::ControlFlow;
use std::sync::Arc;

use otf2::enums::{
    CollectiveOp, CollectiveRoot, GroupFlag, GroupType, LocationGroupType, LocationType,
    MappingType, MarkerScope, MarkerSeverity, Paradigm, RegionFlag, RegionRole, RmaSyncLevel,
    RmaWinFlag, ThumbnailType, Type,
};
use otf2::event::{
    Enter, Leave, Metric, MpiSend, ProgramBegin, RmaCollectiveBegin, RmaCollectiveEnd, RmaGet,
    RmaOpCompleteBlocking,
};
use otf2::id::*;
use otf2::map::IdMapRef;
use otf2::read::{EventRecord, Visitor};
use otf2::store::{FileKind, Memory};
use otf2::write::{ArchiveWriter, Options};
use otf2::{
    Archive, Attribute, AttributeValue, List, MetricValue, Str, def, enums, marker, snapshot,
    thumbnail,
};

use crate::memory;

/// Memory in bytes that reading may take for any archive: windows of 128 KiB and small tables.
const BASE: usize = 256 * 1024;
/// Memory in bytes that reading may take for each byte of the archive, because tables of ids are wider in memory.
const FACTOR: usize = 32;

const LOCATIONS: [LocationRef; 2] = [LocationRef(0), LocationRef(7)];

/// Returns a small archive with a file of every kind, without checksums.
fn small() -> Memory {
    archive(false)
}

/// Returns a small archive with a file of every kind.
fn archive(checksums: bool) -> Memory {
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        events_chunk: 256 * 1024,
        defs_chunk: 256 * 1024,
        machine: "machine".into(),
        creator: "test".into(),
        properties: vec![("DWELL::TEST".into(), "yes".into())],
        snapshots: 1,
        checksums,
        local_definitions: true,
        ..Options::default()
    };
    let archive = ArchiveWriter::create(directory.path(), "traces", options).unwrap();
    LOCATIONS.iter().for_each(|&location| write_location(&archive, location));
    write_definitions(&archive);
    let mut markers = archive.markers().unwrap();
    let (id, severity) = (MarkerRef(0), MarkerSeverity::High);
    markers
        .write(marker::DefMarker { id, group: "group".into(), category: "late".into(), severity })
        .unwrap();
    markers
        .write(marker::Marker {
            time: 5,
            duration: 3,
            marker: id,
            scope: MarkerScope::Location,
            scope_ref: 7,
            text: "here".into(),
        })
        .unwrap();
    markers.finish().unwrap();
    let mut thumbnail = archive.thumbnail().unwrap();
    let refs = List::from(&[0_u64, 1][..]);
    let (name, description) = (Str::from("preview"), Str::from("of regions"));
    let kind = ThumbnailType::Region;
    thumbnail.write(thumbnail::Header { name, description, kind, samples: 1, refs }).unwrap();
    thumbnail.write(thumbnail::Sample { baseline: 10, values: refs }).unwrap();
    thumbnail.finish().unwrap();
    archive.finish().unwrap();

    let mut memory = Memory::default();
    let mut files =
        vec![FileKind::Anchor, FileKind::GlobalDefs, FileKind::Markers, FileKind::Thumbnail(0)];
    for location in LOCATIONS {
        files.extend([
            FileKind::Events(location),
            FileKind::LocalDefs(location),
            FileKind::Snapshots(location),
        ]);
    }
    for file in files {
        memory.insert(file, std::fs::read(directory.path().join(file.path("traces"))).unwrap());
    }
    memory
}

fn write_location(archive: &ArchiveWriter, location: LocationRef) {
    let mut events = archive.events(location).unwrap();
    let attributes = [
        Attribute { attribute: AttributeRef(0), value: AttributeValue::Uint64(1 << 40) },
        Attribute { attribute: AttributeRef(1), value: AttributeValue::Double(0.5) },
        Attribute { attribute: AttributeRef(2), value: AttributeValue::Region(RegionRef(1)) },
    ];
    let arguments = [StringRef(1), StringRef(2)];
    let program_arguments = List::from(&arguments[..]);
    let begin = ProgramBegin { program_name: StringRef(0), program_arguments };
    events.write(Time(10), begin).unwrap();
    let (region, win, matching_id) = (RegionRef(1), RmaWinRef(0), MatchingId(300));
    for i in 0..6 {
        let time = |step: u64| Time(20 + 1000 * i + step);
        events.write_with(time(0), List::from(&attributes[..]), Enter { region }).unwrap();
        let remote = Rank(i as u32);
        events.write(time(0), RmaGet { win, remote, bytes: 1 << (8 * i), matching_id }).unwrap();
        events.write(time(5), RmaOpCompleteBlocking { win, matching_id }).unwrap();
        events.write(time(9), Leave { region }).unwrap();
    }
    // Thirty values: a record with a long length.
    let values: Vec<_> = (0..30).map(|i| MetricValue::unsigned(u64::MAX >> i)).collect();
    let metric = Metric { metric: MetricRef(0), values: List::from(&values[..]) };
    events.write(Time(7000), metric).unwrap();
    let (receiver, communicator) = (Rank(1), CommRef(0));
    events
        .write(Time(7001), MpiSend { receiver, communicator, msg_tag: u32::MAX, msg_length: 9 })
        .unwrap();
    events.write(Time(7002), RmaCollectiveBegin {}).unwrap();
    let end = RmaCollectiveEnd {
        collective_op: CollectiveOp::Barrier,
        sync_level: RmaSyncLevel::PROCESS,
        win,
        root: CollectiveRoot::None,
        bytes_sent: 0,
        bytes_received: 0,
    };
    events.write(Time(7003), end).unwrap();
    events.finish().unwrap();

    let mut defs = archive.local_definitions(location).unwrap();
    for (mapping_type, id_map) in [
        (MappingType::Region, IdMapRef::dense(&[1, 0, 2])),
        (MappingType::String, IdMapRef::sparse(&[(0, 1), (2, 0)])),
    ] {
        defs.write(def::MappingTable { mapping_type, id_map }).unwrap();
    }
    for (time, offset) in [(0, 5), (5000, -3), (9000, 12)] {
        let (time, standard_deviation) = (Time(time), 0.5);
        defs.write(def::ClockOffset { time, offset, standard_deviation }).unwrap();
    }
    defs.finish().unwrap();

    let mut snapshots = archive.snapshots(location).unwrap();
    let time = Time(3000);
    snapshots.write(time, snapshot::SnapshotStart { number_of_records: 1 }).unwrap();
    snapshots.write(time, snapshot::Enter { orig_event_time: Time(20), region }).unwrap();
    snapshots.write(time, snapshot::SnapshotEnd { cont_read_pos: 5 }).unwrap();
    snapshots.finish().unwrap();
}

fn write_definitions(archive: &ArchiveWriter) {
    let mut defs = archive.global_definitions().unwrap();
    defs.write(def::ClockProperties {
        timer_resolution: 1_000_000_000,
        global_offset: 0,
        trace_length: 10_000,
        realtime_timestamp: 1_700_000_000_000_000_000,
    })
    .unwrap();
    let [name, other, unit] = ["name", "other", "#"].map(|text| defs.string(text).unwrap());
    let node = SystemTreeNodeRef(0);
    let parent = SystemTreeNodeRef::UNDEFINED;
    defs.write(def::SystemTreeNode { id: node, name, class_name: other, parent }).unwrap();
    let value = def::PropertyValue(AttributeValue::String(other));
    defs.write(def::SystemTreeNodeProperty { system_tree_node: node, name, value }).unwrap();
    let group = LocationGroupRef(0);
    defs.write(def::LocationGroup {
        id: group,
        name,
        location_group_type: LocationGroupType::Process,
        system_tree_parent: node,
        creating_location_group: LocationGroupRef::UNDEFINED,
    })
    .unwrap();
    for id in LOCATIONS {
        let location_type = LocationType::CpuThread;
        let location_group = group;
        let number_of_events = 29;
        defs.write(def::Location { id, name, location_type, number_of_events, location_group })
            .unwrap();
    }
    defs.write(def::Region {
        id: RegionRef(0),
        name,
        canonical_name: other,
        description: StringRef::UNDEFINED,
        region_role: RegionRole::Barrier,
        paradigm: Paradigm::Mpi,
        region_flags: RegionFlag::NONE,
        source_file: name,
        begin_line_number: 1,
        end_line_number: 300,
    })
    .unwrap();
    defs.write(def::Attribute {
        id: AttributeRef(0),
        name,
        kind: Type::Uint64,
        description: other,
    })
    .unwrap();
    let members: Vec<u64> = (0..100).map(|i| i * i * i).collect();
    defs.write(def::Group {
        id: GroupRef(0),
        name,
        group_type: GroupType::CommLocations,
        paradigm: Paradigm::Shmem,
        group_flags: GroupFlag::GLOBAL_MEMBERS,
        members: List::from(&members[..]),
    })
    .unwrap();
    let (comm, flags) = (CommRef(0), enums::CommFlag::NONE);
    let (group, parent) = (GroupRef(0), CommRef::UNDEFINED);
    defs.write(def::Comm { id: comm, name, group, parent, flags }).unwrap();
    let flags = RmaWinFlag::CREATE_DESTROY_EVENTS;
    defs.write(def::RmaWin { id: RmaWinRef(0), name, comm, flags }).unwrap();
    let dimensions = [CartDimensionRef(0), CartDimensionRef(1)];
    let cart_dimensions = List::from(&dimensions[..]);
    let (id, communicator) = (CartTopologyRef(0), comm);
    defs.write(def::CartTopology { id, name: unit, communicator, cart_dimensions }).unwrap();
    defs.finish().unwrap();
}

/// Counts the events that were read, and fails if they do not end.
struct Count {
    records: usize,
    most: usize,
}

impl Count {
    fn one(&mut self) {
        self.records += 1;
        assert!(self.records <= self.most, "more records than bytes");
    }
}

impl Visitor for Count {
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        record.event.fields(&mut |_, _| {});
        self.one();
        ControlFlow::Continue(())
    }
}

/// Reads to the end of a file or to its first error. Returns the number of errors.
fn drain(count: &mut Count, mut next: impl FnMut() -> otf2::Result<bool>) -> usize {
    loop {
        match next() {
            Ok(true) => count.one(),
            Ok(false) => return 0,
            Err(_) => return 1,
        }
    }
}

/// Reads every file of the archive in every way. Returns the numbers of errors and of records.
fn read(store: Memory, bytes: usize) -> (usize, usize) {
    let Ok(archive) = Archive::from_store(Arc::new(store)) else {
        return (1, 0);
    };
    let mut errors = 0;
    let mut count = Count { records: 0, most: 16 * bytes };
    match archive.definitions() {
        Ok(definitions) => {
            errors += usize::from(definitions.warning().is_some());
            for definition in definitions.iter() {
                definition.fields(&mut |_, _| {});
                count.one();
                if let Some((kind, id)) = definition.key() {
                    definitions.name(kind, id);
                }
            }
        }
        Err(_) => errors += 1,
    }
    for location in LOCATIONS {
        let tables = archive.local_tables(location);
        errors += tables.warnings.len();
        match archive.events_with(location, &tables, 4096) {
            Ok(mut reader) => loop {
                errors += usize::from(reader.visit(&mut count).is_err());
                // Past the damage, as far as there are chunks.
                match reader.skip_chunk() {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(_) => errors += 1,
                }
            },
            Err(_) => errors += 1,
        }
        if let Ok(mut reader) = archive.events(location) {
            while let Ok(Some(_)) = reader.next() {
                count.one();
            }
            errors += usize::from(reader.seek_event(EventNumber(7)).is_err());
            errors += usize::from(reader.seek_time(Time(3000)).is_err());
            while let Ok(Some(_)) = reader.next() {
                count.one();
            }
        }
        match archive.snapshots(location) {
            Ok(Some(mut reader)) => {
                errors += drain(&mut count, || Ok(reader.next()?.is_some()));
                errors += usize::from(reader.seek(Time(3000)).is_err());
            }
            _ => errors += 1,
        }
    }
    let mut merged = archive.merged(LOCATIONS, 1 << 16);
    loop {
        match merged.next() {
            Ok(Some(_)) => count.one(),
            Ok(None) => break,
            Err(_) => errors += 1,
        }
    }
    match archive.markers() {
        Ok(Some(mut reader)) => errors += drain(&mut count, || Ok(reader.next()?.is_some())),
        _ => errors += 1,
    }
    match archive.thumbnail(0) {
        Ok(mut reader) => errors += drain(&mut count, || Ok(reader.next()?.is_some())),
        Err(_) => errors += 1,
    }
    (errors, count.records)
}

/// Reads a changed archive and checks the memory that this took.
fn check(store: &Memory, file: FileKind, bytes: Vec<u8>, size: usize) -> (usize, usize) {
    let mut store = store.clone();
    store.insert(file, bytes);
    let (result, grown) = memory::grown(|| read(store, size));
    assert!(grown <= BASE + FACTOR * size, "{file:?}: {grown} bytes of memory");
    result
}

fn files(store: &Memory) -> Vec<(FileKind, Vec<u8>)> {
    let mut kinds =
        vec![FileKind::Anchor, FileKind::GlobalDefs, FileKind::Markers, FileKind::Thumbnail(0)];
    // One location suffices: the files of the other are like its.
    let location = LOCATIONS[1];
    kinds.extend([
        FileKind::Events(location),
        FileKind::LocalDefs(location),
        FileKind::Snapshots(location),
    ]);
    kinds.into_iter().map(|kind| (kind, store.get(kind).unwrap().to_vec())).collect()
}

fn total(store: &Memory) -> usize {
    files(store).iter().map(|(_, bytes)| bytes.len()).sum()
}

#[test]
fn the_sound_archive_has_no_errors() {
    let store = small();
    let size = total(&store);
    let (errors, records) = read(store, size);
    assert_eq!(errors, 0);
    assert!(records > 150, "{records}");
}

#[test]
fn every_truncation_is_survived() {
    let store = small();
    let size = total(&store);
    for (file, bytes) in files(&store) {
        for length in 0..bytes.len() {
            let (errors, _) = check(&store, file, bytes[..length].to_vec(), size);
            // Only the last bytes, which no reader looks at, may be missing without a word.
            let quiet = length + 3 >= bytes.len();
            assert!(errors > 0 || quiet, "{file:?} cut to {length} of {} bytes", bytes.len());
        }
    }
}

#[test]
fn every_changed_byte_is_survived() {
    let store = small();
    let size = total(&store);
    let mut cases = 0;
    let mut noticed = 0;
    for (file, bytes) in files(&store) {
        for at in 0..bytes.len() {
            let whole = file == FileKind::Anchor || at < 18;
            let original = bytes[at];
            // All other values in anchors and headers, ten in all other places: the ends of the
            // range, single bits, and a spread.
            let few = [1, 2, 0x10, 0x80, 0xFF, 0x7F, 3, 0x55, 0xC3, 0x40].map(|x| original ^ x);
            // Of the former a part in slow builds; `cargo xtask proofs` takes all of them.
            let step = if cfg!(debug_assertions) { 5 } else { 1 };
            let all: Vec<u8> = (0..=255).filter(|&value| value != original).step_by(step).collect();
            for &value in if whole { &all[..] } else { &few[..] } {
                let mut changed = bytes.clone();
                changed[at] = value;
                let (errors, _) = check(&store, file, changed, size);
                cases += 1;
                noticed += usize::from(errors > 0);
            }
        }
    }
    assert!(cases > 20_000, "{cases}");
    assert!(noticed > cases / 20, "{noticed} of {cases}");
}

#[test]
fn missing_files_are_survived() {
    let store = small();
    let size = total(&store);
    for (file, _) in files(&store) {
        let mut without = store.clone();
        without.remove(file);
        let (errors, _) = read(without, size);
        // A location may do without definitions of its own.
        let optional = matches!(file, FileKind::LocalDefs(_));
        assert_eq!(errors > 0, !optional, "{file:?}");
    }
}

/// In an archive with checksums every change of a file is noticed: a bit, a cut, bytes behind the end, the file of
/// another location, and a file that is missing.
#[test]
fn checksums_tell_every_change() {
    let store = archive(true);
    let size = total(&store);
    assert_eq!(read(store.clone(), size).0, 0);
    let mut files =
        vec![FileKind::Anchor, FileKind::GlobalDefs, FileKind::Markers, FileKind::Thumbnail(0)];
    for location in LOCATIONS {
        files.extend([FileKind::Events(location), FileKind::LocalDefs(location)]);
        files.push(FileKind::Snapshots(location));
    }
    let told = |file: FileKind, bytes: Vec<u8>, what: &str| {
        assert!(check(&store, file, bytes, size).0 > 0, "{file:?}: {what}");
    };
    for file in files {
        let whole = store.get(file).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.to_vec();
            bytes[at] ^= 1 << (at % 8);
            told(file, bytes, &format!("a bit of byte {at}"));
            told(file, whole[..at].to_vec(), &format!("cut at {at}"));
        }
        told(file, [whole, b"\0"].concat(), "a byte more");
        told(file, [whole, whole].concat(), "twice");
        let mut store = store.clone();
        store.remove(file);
        assert!(read(store, size).0 > 0, "{file:?} is missing");
    }
    let [one, other] = LOCATIONS;
    for (to, from) in [
        (FileKind::Events(one), FileKind::Events(other)),
        (FileKind::LocalDefs(one), FileKind::LocalDefs(other)),
        (FileKind::Snapshots(other), FileKind::Snapshots(one)),
    ] {
        told(to, store.get(from).unwrap().to_vec(), "of another location");
    }
}

/// A header numbers its first event near the largest number. Fuzzing found this case.
#[test]
fn a_header_may_number_events_as_it_likes() {
    let store = small();
    let size = total(&store);
    let file = FileKind::Events(LOCATIONS[1]);
    let mut bytes = store.get(file).unwrap().to_vec();
    bytes[2..10].fill(0xFF);
    let (_, records) = check(&store, file, bytes, size);
    assert!(records > 150, "{records}");
}
