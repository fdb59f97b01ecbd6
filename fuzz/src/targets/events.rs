//! Any bytes as an event and snapshot file: all ways of reading agree, and what is read can be
//! written and then reads the same.
//!
//! The first byte chooses how the rest becomes a file: as it is, or as chunks that are filled up, so
//! that short inputs reach the borders of chunks. The second chooses the size of the window.

use std::ops::ControlFlow;
use std::sync::Arc;

use otf2::chunk::MIN_SIZE;
use otf2::encode::Encoder;
use otf2::id::{EventNumber, LocationRef, Time};
use otf2::read::{EventRecord, LocalTables, Visitor};
use otf2::store::{FileKind, Memory};
use otf2::{Anchor, Archive, Event};

const LOCATION: LocationRef = LocationRef(0);

/// The file that the input stands for.
fn file(kind: u8, data: &[u8]) -> Vec<u8> {
    let chunks = usize::from(kind % 4);
    if chunks == 0 {
        return data.to_vec();
    }
    let mut file = Vec::new();
    for part in data.chunks(data.len().div_ceil(chunks).max(1)) {
        file.resize(file.len().next_multiple_of(MIN_SIZE as usize), 0);
        file.extend_from_slice(part);
    }
    file
}

fn archive(events: Vec<u8>) -> Archive {
    let mut store = Memory::default();
    let anchor = Anchor { events_chunk: MIN_SIZE, ..Anchor::default() };
    store.insert(FileKind::Anchor, anchor.to_bytes());
    store.insert(FileKind::Snapshots(LOCATION), events.clone());
    store.insert(FileKind::Events(LOCATION), events);
    Archive::from_store(Arc::new(store)).expect("the anchor is sound")
}

/// Events as text: real numbers that are not numbers compare equal then.
struct Lines {
    lines: Vec<String>,
    most: usize,
}

impl Visitor for Lines {
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        self.lines.push(format!("{record:?}"));
        if self.lines.len() < self.most {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

pub(crate) fn run(data: &[u8]) {
    let [kind, window, rest @ ..] = data else { return };
    let archive = archive(file(*kind, rest));
    let window = 4096 << (window % 8);
    let open = || archive.events_with(LOCATION, &LocalTables::default(), window);
    let Ok(mut reader) = open() else { return };

    // One by one.
    let mut lines = Vec::new();
    let mut again = Encoder::new(vec![0; MIN_SIZE as usize]).expect("a chunk");
    let mut written = Vec::new();
    let mut fits = true;
    while let Ok(Some(record)) = reader.next() {
        lines.push(format!("{record:?}"));
        record.event.fields(&mut |_, _| {});
        if fits && !matches!(record.event, Event::Unknown(_)) {
            let time = record.time.max(again.last_time());
            match again.write_with(time, record.attributes, record.event) {
                Ok(()) => written.push(format!("{:?} {:?}", record.attributes, record.event)),
                Err(_) => fits = false,
            }
        }
    }

    // By visitor, stopping now and then.
    let mut visited = Lines { lines: Vec::new(), most: 1 };
    if let Ok(mut reader) = open() {
        while let Ok(true) = reader.visit(&mut visited) {
            visited.most = visited.lines.len() + 1 + visited.lines.len() % 3;
        }
    }
    assert_eq!(lines, visited.lines);

    // What was written reads the same.
    let last = again.finish();
    let copy = self::archive(last.memory[..last.used].to_vec());
    let mut reader = copy.events(LOCATION).expect("what was written can be opened");
    let mut read = Vec::new();
    while let Some(record) = reader.next().expect("what was written can be read") {
        read.push(format!("{:?} {:?}", record.attributes, record.event));
    }
    assert_eq!(written, read);

    // Seeking must not fail in new ways.
    if let Ok(mut reader) = open() {
        let _ = reader.seek_event(EventNumber(u64::from(*kind)));
        let _ = reader.seek_time(Time(u64::from(*kind)));
        while let Ok(true) = reader.skip_chunk() {
            let _ = reader.next();
        }
    }
    if let Ok(Some(mut snapshots)) = archive.snapshots(LOCATION) {
        while let Ok(Some(record)) = snapshots.next() {
            record.snapshot.fields(&mut |_, _| {});
        }
        let _ = snapshots.seek(Time(u64::from(*kind)));
    }
}
