//! Many locations at once: the limits of the operating system must stay far away.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use otf2::Archive;
use otf2::close::{Closed, ClosedLocation, minimal_definitions};
use otf2::event::{Enter, Leave};
use otf2::id::{LocationRef, RegionRef, Time};
use otf2::store::Directory;
use otf2::write::{ArchiveWriter, Options};

const LOCATIONS: u64 = 3000;
const EVENTS: u64 = 40;

/// Counts the open files of a directory. Other tests of this process open files of their own meanwhile.
fn open_files(directory: &Path) -> usize {
    let opened = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let names = opened.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    names.filter(|name| name.starts_with(directory)).count()
}

/// Writes an archive in which location l enters and leaves at times l, l + LOCATIONS, l + 2 LOCATIONS …
fn write(directory: &Path) {
    let archive = ArchiveWriter::create(directory, "traces", Options::default()).unwrap();
    let mut memory = vec![0; 1024 * 1024];
    let mut closed = Closed::default();
    for location in 0..LOCATIONS {
        let mut events = archive.events_in(LocationRef(location), memory).unwrap();
        for i in 0..EVENTS {
            let (time, region) = (Time(location + i * LOCATIONS), RegionRef(location as u32));
            if i % 2 == 0 {
                events.write(time, Enter { region }).unwrap();
            } else {
                events.write(time, Leave { region }).unwrap();
            }
        }
        let summary = events.finish().unwrap();
        memory = summary.memory;
        closed.locations.push(ClosedLocation {
            location: LocationRef(location),
            events: summary.events,
            times: None,
            bytes: summary.bytes,
            cut_bytes: 0,
            left: 0,
            open: Vec::new(),
        });
    }
    let mut definitions = archive.global_definitions().unwrap();
    minimal_definitions(&closed, &mut definitions).unwrap();
    definitions.finish().unwrap();
    archive.finish().unwrap();
}

#[test]
fn few_files_are_open_whatever_is_read() {
    let directory = tempfile::tempdir().unwrap();
    // Without links, as the kernel names it.
    let own = std::fs::canonicalize(directory.path()).unwrap();
    write(directory.path());
    const MOST: usize = 16;
    let store = Directory::new(directory.path(), "traces").open_files(MOST);
    let archive = Archive::from_store(Arc::new(store)).unwrap();
    let locations: Vec<_> = archive.definitions().unwrap().locations().map(|l| l.id).collect();
    assert_eq!(locations.len() as u64, LOCATIONS);
    let open_files = || open_files(&own);
    let before = open_files();

    // All merged, with every location alive at once.
    let mut merged = archive.merged(locations.iter().copied(), 16 << 20);
    let mut expected = 0;
    while let Some((location, record)) = merged.next().unwrap() {
        assert_eq!((record.time.0, location.0), (expected, expected % LOCATIONS));
        if expected % 1000 == 0 {
            assert!(open_files() <= before + MOST + 2, "{} files", open_files());
        }
        expected += 1;
    }
    assert_eq!(expected, LOCATIONS * EVENTS);

    // Several threads, each with readers of its own.
    let (next, events) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(&location) = locations.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut reader = archive.events(location).unwrap();
                    while reader.next().unwrap().is_some() {
                        events.fetch_add(1, Ordering::Relaxed);
                    }
                    assert!(open_files() <= before + MOST + 5);
                }
            });
        }
    });
    assert_eq!(events.into_inner() as u64, LOCATIONS * EVENTS);
}
