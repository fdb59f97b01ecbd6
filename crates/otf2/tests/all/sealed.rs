//! Checksums of files that have several chunks.

use std::fs;
use std::path::Path;

use otf2::close::{scan_events, seal};
use otf2::event::{Enter, Leave};
use otf2::id::{EventNumber, LocationRef, RegionRef, Time};
use otf2::store::FileKind;
use otf2::write::{ArchiveWriter, Options};
use otf2::{Archive, ErrorKind};

const CHUNK: usize = 256 * 1024;
const LOCATION: LocationRef = LocationRef(3);

/// Writes an archive of one location with several chunks of events and of definitions. Returns the number of events.
fn write(directory: &Path) -> u64 {
    let (events_chunk, defs_chunk) = (CHUNK as u64, CHUNK as u64);
    let options = Options { events_chunk, defs_chunk, ..Options::default() };
    let archive = ArchiveWriter::create(directory, "traces", options).unwrap();
    let mut events = archive.events(LOCATION).unwrap();
    for time in 0..30_000 {
        events.write(Time(2 * time), Enter { region: RegionRef(7) }).unwrap();
        events.write(Time(2 * time + 1), Leave { region: RegionRef(7) }).unwrap();
    }
    let summary = events.finish().unwrap();
    assert!(summary.bytes > 2 * CHUNK as u64);
    let mut definitions = archive.global_definitions().unwrap();
    for number in 0..30_000 {
        definitions.string(&format!("string {number}")).unwrap();
    }
    assert!(definitions.finish().unwrap().bytes > 2 * CHUNK as u64);
    archive.finish().unwrap();
    summary.events
}

/// Reads all events of an archive, behind damaged chunks too. Returns their number and the offsets of damage.
fn read(directory: &Path) -> (u64, Vec<u64>) {
    let archive = Archive::open(directory).unwrap();
    let mut reader = archive.events(LOCATION).unwrap();
    let (mut events, mut damage) = (0, Vec::new());
    loop {
        match reader.next() {
            Ok(Some(_)) => events += 1,
            Ok(None) => return (events, damage),
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Checksum), "{error}");
                assert!(error.is_damage() && error.to_string().contains("damaged"), "{error}");
                damage.push(error.offset().unwrap());
                if !reader.skip_chunk().unwrap() {
                    return (events, damage);
                }
            }
        }
    }
}

#[test]
fn damage_of_a_chunk_hides_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let events = write(directory.path());
    assert_eq!(read(directory.path()), (events, vec![]));
    let path = directory.path().join("traces/3.evt");
    let whole = fs::read(&path).unwrap();
    let last = whole.len() / CHUNK * CHUNK;
    let places = [0, 5, 1000, CHUNK - 9, CHUNK - 1, CHUNK, CHUNK + 20, last + 30, whole.len() - 1];
    for at in places {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        fs::write(&path, &bytes).unwrap();
        let chunk = (at / CHUNK * CHUNK) as u64;
        if at == 0 || at == CHUNK {
            // The header itself.
            assert!(Archive::open(directory.path()).unwrap().definitions().is_ok());
            continue;
        }
        let (found, damage) = read(directory.path());
        assert_eq!(damage, [chunk], "byte {at}");
        assert!(0 < found && found < events, "byte {at}: {found}");
        // A search does not trust the headers of damaged chunks, and finds nothing in them.
        let mut reader = Archive::open(directory.path()).unwrap().events(LOCATION).unwrap();
        let sought = reader.seek_event(EventNumber(events - 1));
        let sought = sought.and_then(|()| Ok(reader.next()?.map(|it| it.number)));
        match sought {
            Ok(found) => assert_eq!(found, Some(EventNumber(events - 1)), "byte {at}"),
            Err(error) => assert_eq!(error.offset(), Some(chunk), "byte {at}: {error}"),
        }
    }
}

#[test]
fn exchanged_and_missing_chunks_are_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let events = write(directory.path());
    let path = directory.path().join("traces/3.evt");
    let whole = fs::read(&path).unwrap();
    let (first, rest) = whole.split_at(CHUNK);
    let (second, rest) = rest.split_at(CHUNK);
    for bytes in
        [[second, first, rest], [first, first, rest], [second, &[], rest], [first, second, &[]]]
    {
        fs::write(&path, bytes.concat()).unwrap();
        let archive = Archive::open(directory.path()).unwrap();
        let mut reader = archive.events(LOCATION).unwrap().expecting(events);
        let error = loop {
            match reader.next() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("it was not noticed"),
                Err(error) => break error,
            }
        };
        assert!(error.is_damage(), "{error}");
    }
}

#[test]
fn definitions_of_a_damaged_chunk_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path());
    let path = directory.path().join("traces.def");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.iter().position(|byte| *byte == b'g').unwrap();
    bytes[at] = b'k';
    fs::write(&path, &bytes).unwrap();
    let definitions = Archive::open(directory.path()).unwrap().definitions().unwrap();
    assert!(definitions.len() > 1000);
    assert!(matches!(definitions.warning().map(otf2::Error::kind), Some(ErrorKind::Checksum)));
}

/// A file that is sealed again for another location belongs to that one.
#[test]
fn a_file_can_be_sealed_for_another_location() {
    let directory = tempfile::tempdir().unwrap();
    let events = write(directory.path());
    let [path, other] = ["3.evt", "4.evt"].map(|name| directory.path().join("traces").join(name));
    fs::rename(&path, &other).unwrap();
    assert!(scan_events(&other, CHUNK as u64, |_, _| true).unwrap().is_sound());
    let size = fs::metadata(&other).unwrap().len();
    assert!(seal(&other, FileKind::Events(LocationRef(4)), CHUNK as u64).unwrap());
    assert_eq!(fs::metadata(&other).unwrap().len(), size);
    fs::rename(&other, &path).unwrap();
    assert!(read(directory.path()).0 < events);
    assert!(seal(&path, FileKind::Events(LOCATION), CHUNK as u64).unwrap());
    assert_eq!(read(directory.path()), (events, vec![]));
}

/// Archives of earlier versions have neither sign in the anchor, and nothing is checked.
#[test]
fn archives_without_checksums_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let events = write(directory.path());
    let archive = Archive::open(directory.path()).unwrap();
    let mut anchor = archive.anchor().clone();
    anchor.properties.clear();
    fs::write(directory.path().join("traces.otf2"), anchor.to_bytes()).unwrap();
    let path = directory.path().join("traces/3.evt");
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 16);
    for chunk in bytes.chunks_exact_mut(CHUNK) {
        chunk[CHUNK - 8..].fill(0);
    }
    fs::write(&path, &bytes).unwrap();
    assert_eq!(read(directory.path()), (events, vec![]));
    // They stay without: nobody knows whether the bytes before were right.
    assert!(!seal(&path, FileKind::Events(LOCATION), CHUNK as u64).unwrap());
}
