//! libotf2 writes, we read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use otf2::chunk::Header;
use otf2::id::LocationRef;
use otf2::marker::MarkerRecord;
use otf2::snapshot::Snapshot;
use otf2::{Archive, Definition, Event};

use super::canonical::{self, Lines};
use super::tools::{LOCATIONS, Scratch, Tools, assert_same, of_kind, tools};

/// Both libraries read every record of every file alike, with values on every border of the encodings.
#[test]
fn every_record() {
    let Some(tools) = tools() else { return };
    let scratch = Scratch::new();
    let directory = scratch.join("wild");
    let written = tools.write("wild", 7, &directory);
    let archive = Archive::open(&directory).unwrap();

    assert_same("events", &of_kind(&written, 'E'), &canonical::events(&archive, &LOCATIONS));
    let ours = canonical::snapshots(&archive, &LOCATIONS);
    assert_same("snapshots", &of_kind(&written, 'S'), &ours);
    let ours = canonical::global_definitions(&archive);
    assert_same("global definitions", &of_kind(&written, 'D'), &ours);
    let ours = canonical::local_definitions(&archive, &LOCATIONS);
    assert_same("local definitions", &of_kind(&written, 'L'), &ours);
    assert_same("markers", &of_kind(&written, 'M'), &canonical::markers(&archive));
    assert_same("thumbnails", &of_kind(&written, 'T'), &canonical::thumbnails(&archive));
    let read = tools.read(&directory, &LOCATIONS);
    assert_same("anchor", &of_kind(&read, 'A'), &canonical::anchor(&archive));

    for (kind, least, ours) in [
        ('E', 50, names(Event::KINDS, |_| true)),
        ('S', 50, names(Snapshot::KINDS, |_| true)),
        ('D', 50, names(Definition::KINDS, |name| !LOCAL.contains(&name))),
        ('L', 50, names(Definition::KINDS, |name| !GLOBAL.contains(&name))),
        ('M', 50, names(MarkerRecord::KINDS, |_| true)),
    ] {
        let theirs = counts(&of_kind(&written, kind));
        assert_eq!(ours, theirs.keys().copied().collect::<Vec<_>>(), "kinds of {kind}");
        let rare = theirs.iter().find(|(_, count)| **count < least);
        assert_eq!(rare, None, "a record of {kind} that is hardly tested");
    }
}

/// Kinds of definitions that only the local definition files of locations contain. [`GLOBAL`] lists the kinds that
/// these files never contain.
const LOCAL: [&str; 2] = ["MappingTable", "ClockOffset"];
const GLOBAL: [&str; 4] = ["ClockProperties", "Paradigm", "ParadigmProperty", "IoParadigm"];

fn names(kinds: &[(u8, &'static str)], wanted: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let mut names: Vec<_> = kinds.iter().map(|kind| kind.1).filter(|name| wanted(name)).collect();
    names.sort_unstable();
    names
}

/// Counts the records by name. The name of a record is the first word that begins with a capital.
fn counts<'l>(lines: &[&'l str]) -> BTreeMap<&'l str, u32> {
    let mut counts = BTreeMap::new();
    for line in lines {
        let mut words = line.split(' ').skip(1);
        let name = words.find(|word| word.starts_with(char::is_uppercase)).unwrap();
        *counts.entry(name).or_default() += 1;
    }
    counts
}

/// Every way of reading gives the same events: one by one, passed to a visitor, and through a window that is smaller
/// than many records.
#[test]
fn every_way_of_reading() {
    let Some(tools) = tools() else { return };
    let scratch = Scratch::new();
    let directory = scratch.join("wild");
    let written = tools.write("wild", 8, &directory);
    let archive = Archive::open(&directory).unwrap();
    for location in [0, 1] {
        let theirs = of_location(&written, 'E', location);
        let location = LocationRef(location);
        let mut shown = Lines { location, lines: Vec::new(), most: usize::MAX };
        assert!(!archive.events(location).unwrap().visit(&mut shown).unwrap());
        assert_same("visit", &theirs, &shown.lines);
        let mut small = archive.events_with(location, &Default::default(), 1).unwrap();
        assert_same("small window", &theirs, &canonical::rest(&mut small));
        let mut shown = Lines { location, lines: Vec::new(), most: usize::MAX };
        let mut small = archive.events_with(location, &Default::default(), 1).unwrap();
        assert!(!small.visit(&mut shown).unwrap());
        assert_same("visit in a small window", &theirs, &shown.lines);
    }
}

/// Returns the lines of one kind that concern one location.
fn of_location(lines: &[String], kind: char, location: u64) -> Vec<&str> {
    let head = format!("{kind} {location} ");
    lines.iter().map(String::as_str).filter(|line| line.starts_with(&head)).collect()
}

/// Chunk headers state the events of their chunks, and the events are in these chunks.
#[test]
fn chunk_headers_and_counts() {
    let Some(tools) = tools() else { return };
    let scratch = Scratch::new();
    let directory = scratch.join("wild");
    let written = tools.write("wild", 9, &directory);
    let archive = Archive::open(&directory).unwrap();
    let mut chunks = 0;
    for location in LOCATIONS {
        let bytes = fs::read(directory.join(format!("traces/{location}.evt"))).unwrap();
        let headers: Vec<Header> = bytes
            .chunks(usize::try_from(archive.anchor().events_chunk).unwrap())
            .map(|chunk| Header::read(chunk.first_chunk().unwrap()).unwrap())
            .collect();
        chunks += headers.len();
        let mut reader = archive.events(LocationRef(location)).unwrap();
        let mut found: BTreeMap<u64, u64> = BTreeMap::new();
        while let Some(record) = reader.next().unwrap() {
            let number = record.number.0;
            found.insert(reader.chunk_first().0, number);
        }
        let stated: BTreeMap<u64, u64> = headers
            .iter()
            .map(|h| (h.first, h.last))
            .filter(|(first, last)| first <= last)
            .collect();
        assert_eq!(stated, found, "chunks of location {location}");
        let count = format!("N {location} {}", reader.position());
        assert!(written.contains(&count), "{count}");
        assert_eq!(headers.last().unwrap().last, reader.position().0);
    }
    assert!(chunks > LOCATIONS.len() + 2, "too few chunks for a test of borders");
}

/// After mapping tables and clock offsets, ids and times are those that libotf2 gives.
#[test]
fn mapping_tables_and_clocks() {
    let Some(tools) = tools() else { return };
    for seed in 1..=4 {
        let scratch = Scratch::new();
        let directory = scratch.join("maps");
        let raw = tools.write("maps", seed, &directory);
        let locations: Vec<u64> = (0..12).collect();
        let read = compare_readers(tools, &directory, &locations);
        // The tables must have made a difference.
        let same =
            of_kind(&raw, 'E').iter().zip(of_kind(&read, 'E')).filter(|(a, b)| *a == b).count();
        assert!(same * 4 < of_kind(&raw, 'E').len(), "{same} events were left as they were");
    }
}

/// Both libraries read archives of a real recorder alike.
#[test]
fn score_p_archives() {
    let Some(tools) = tools() else { return };
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/reference");
    let mut archives = 0;
    for entry in fs::read_dir(data).unwrap() {
        let directory = entry.unwrap().path();
        if directory.join("traces.otf2").is_file() {
            let definitions = Archive::open(&directory).unwrap().definitions().unwrap();
            let locations: Vec<u64> =
                definitions.locations().map(|location| location.id.0).collect();
            let read = compare_readers(tools, &directory, &locations);
            assert!(of_kind(&read, 'E').len() > 100);
            archives += 1;
        }
    }
    assert!(archives > 0);
}

/// Reads an archive with both libraries, compares all records, and returns the lines of libotf2.
fn compare_readers(tools: &Tools, directory: &Path, locations: &[u64]) -> Vec<String> {
    let read = tools.read(directory, locations);
    let archive = Archive::open(directory).unwrap();
    assert_same("anchor", &of_kind(&read, 'A'), &canonical::anchor(&archive));
    let ours = canonical::global_definitions(&archive);
    assert_same("global definitions", &of_kind(&read, 'D'), &ours);
    let ours = canonical::local_definitions(&archive, locations);
    assert_same("local definitions", &of_kind(&read, 'L'), &ours);
    assert_same("events", &of_kind(&read, 'E'), &canonical::events(&archive, locations));
    for &location in locations {
        assert!(archive.local_tables(LocationRef(location)).warnings.is_empty());
        let location = LocationRef(location);
        let mut shown = Lines { location, lines: Vec::new(), most: usize::MAX };
        archive.events(location).unwrap().visit(&mut shown).unwrap();
        assert_same("visited events", &of_location(&read, 'E', location.0), &shown.lines);
    }
    read
}
