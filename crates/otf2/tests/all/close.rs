//! Archives whose writer died: with chunks in mapped files, killed at any moment.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use memmap2::{MmapMut, MmapOptions};
use otf2::Archive;
use otf2::close::{close, close_events, end_of_events, minimal_definitions};
use otf2::encode::{EncodeError, Encoder, Plain};
use otf2::event::{Enter, Event, Leave, RmaGet};
use otf2::id::{LocationRef, MatchingId, Rank, RegionRef, RmaWinRef, Time};
use otf2::write::Options;

use crate::needs;

const CHUNK: u64 = 256 * 1024;
const LOCATION: LocationRef = LocationRef(3);

fn options() -> Options {
    Options { events_chunk: CHUNK, defs_chunk: CHUNK, ..Options::default() }
}

/// Returns the event number `i` of the writer. Kinds and lengths vary, so that chunk borders fall anywhere.
fn event(i: u64) -> (Time, Event<'static>) {
    let event = match i % 3 {
        0 => Enter { region: RegionRef(1 << (i / 3 % 31)) }.into(),
        1 => {
            let (win, remote) = (RmaWinRef(0), Rank((i % 1000) as u32));
            RmaGet { win, remote, bytes: 1 << (i % 63), matching_id: MatchingId(i) }.into()
        }
        _ => Leave { region: RegionRef(1 << (i / 3 % 31)) }.into(),
    };
    (Time(i / 4 * 10), event)
}

/// Maps a chunk of the file into memory, and extends the file to hold it.
fn chunk(path: &Path, number: u64) -> MmapMut {
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap();
    file.set_len((number + 1) * CHUNK).unwrap();
    // SAFETY: the file is not changed by others while it is mapped, and is read only afterwards.
    #[allow(unsafe_code)]
    unsafe { MmapOptions::new().offset(number * CHUNK).len(CHUNK as usize).map_mut(&file) }.unwrap()
}

/// Not a test, but the writer that the test below kills. After each event it writes the count to a second file.
#[test]
#[ignore = "run by another test"]
fn write_until_killed() {
    let Some(directory) = std::env::var_os("OTF2_TEST_DIRECTORY") else { return };
    let directory = Path::new(&directory);
    let path = directory.join("traces/3.evt");
    let mut counter = chunk(&directory.join("counter"), 0);
    let mut encoder = Encoder::new(chunk(&path, 0)).unwrap();
    let mut chunks = 1;
    for i in 0.. {
        let (time, event) = event(i);
        match encoder.write(time, event) {
            Ok(()) => {}
            Err(EncodeError::Full) => {
                encoder.turn(chunk(&path, chunks)).unwrap();
                chunks += 1;
                encoder.write(time, event).unwrap();
            }
            Err(error) => panic!("{error}"),
        }
        counter[..8].copy_from_slice(&(i + 1).to_le_bytes());
        if chunks > 200 {
            std::thread::sleep(Duration::from_secs(60)); // Enough is enough.
        }
    }
}

/// Checks that the archive holds exactly the first events of the writer, and returns their number.
fn check(directory: &Path) -> u64 {
    let archive = Archive::open(directory).unwrap();
    let definitions = archive.definitions().unwrap();
    let location = definitions.location(LOCATION).unwrap();
    let mut reader = archive.events(LOCATION).unwrap();
    let mut count = 0;
    while let Some(record) = reader.next().unwrap() {
        assert_eq!((record.time, record.event), event(count));
        count += 1;
        assert_eq!(record.number.0, count);
    }
    assert_eq!(location.number_of_events, count);
    count
}

#[test]
fn what_a_killed_process_wrote_is_there() {
    let mut chunks = 0;
    for round in 0..12_u64 {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        fs::create_dir(directory.join("traces")).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "close::write_until_killed"])
            .env("OTF2_TEST_DIRECTORY", directory)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begin = Instant::now();
        let counter = || {
            let bytes = fs::read(directory.join("counter")).unwrap_or_default();
            bytes.first_chunk().copied().map_or(0, u64::from_le_bytes)
        };
        while counter() == 0 {
            assert!(begin.elapsed() < Duration::from_secs(30), "the writer did not start");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(round * round * 700));
        child.kill().unwrap(); // SIGKILL: it cannot tidy up.
        child.wait().unwrap();

        let closed = close(directory, "traces", &options(), minimal_definitions).unwrap();
        let [location] = &closed.locations[..] else { panic!("one location") };
        let events = check(directory);
        // The counter may lag behind by the event that was committed last.
        assert!(events == counter() || events == counter() + 1, "{events}, {}", counter());
        assert_eq!(location.events, events);
        chunks += location.bytes.div_ceil(CHUNK);
        accepted_by_otf2_print(directory);
    }
    assert!(chunks > 12, "some files had several chunks");
}

/// The C library reads the closed archive without a warning.
fn accepted_by_otf2_print(directory: &Path) {
    let print =
        Command::new("otf2-print").arg("--silent").arg(directory.join("traces.otf2")).output();
    match print {
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && words.is_empty(), "{words}");
        }
        Err(_) => needs::missing("OTF2", "there is no otf2-print"),
    }
}

/// A process may die between any two stores. Of the stores of one event, the commit mark is the last but one, before
/// the count in the chunk header. So memory without the mark, with half an event in it, reads as the events before.
#[test]
fn an_uncommitted_event_is_not_there() {
    let mut encoder = Encoder::new(vec![0; CHUNK as usize]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("3.evt");
    for events in 0..200 {
        let end = encoder.used();
        let mut before = encoder.finish().memory;
        before[end..end + 2].fill(0);
        encoder = written(events + 1);
        let mut file = before.clone();
        let after = encoder.finish().memory;
        // All of the next event but its first byte, and the end marks, which are none of it.
        file[end + 1..].copy_from_slice(&after[end + 1..]);
        let close = |file: &[u8]| {
            fs::write(&path, file).unwrap();
            close_events(&path, LOCATION, CHUNK).unwrap()
        };
        let (closed, damage) = close(&file);
        assert_eq!(damage, []);
        assert_eq!((closed.events, closed.bytes), (events, end as u64 + 2));
        assert_eq!((closed.cut_bytes, closed.left), (CHUNK - closed.bytes, 0));
        // The commit mark without the count.
        file[end] = after[end];
        let (closed, damage) = close(&file);
        assert_eq!(damage, []);
        assert_eq!(closed.events, events + 1);
        encoder = written(events + 1);
    }
}

/// Returns an encoder that has written the first events to memory.
fn written(events: u64) -> Encoder<Vec<u8>> {
    let mut encoder = Encoder::new(vec![0; CHUNK as usize]).unwrap();
    for i in 0..events {
        let (time, event) = event(i);
        encoder.write(time, event).unwrap();
    }
    encoder
}

/// Events that are written together have a timestamp in any case, also if the clock has not moved since those before. Nothing
/// is damaged then, and nothing is lost.
#[test]
fn a_clock_that_stands_still_is_no_damage() {
    let mut encoder = Encoder::new(vec![0; CHUNK as usize]).unwrap();
    let region = RegionRef(1);
    for call in 0..100 {
        // Three calls at one time.
        let time = Time(1000 + call / 3);
        encoder.write_both(time, Plain(Enter { region }), Plain(Leave { region })).unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("3.evt");
    fs::write(&path, encoder.memory()).unwrap();
    let (closed, damage) = close_events(&path, LOCATION, CHUNK).unwrap();
    assert_eq!((closed.events, damage.as_slice()), (200, [].as_slice()));
}

#[test]
fn closing_twice_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    fs::create_dir(directory.join("traces")).unwrap();
    let path = directory.join("traces/3.evt");
    let mut encoder = Encoder::new(chunk(&path, 0)).unwrap();
    for i in 0..30_000 {
        let (time, event) = event(i);
        if encoder.write(time, event) == Err(EncodeError::Full) {
            encoder.turn(chunk(&path, 1)).unwrap();
            encoder.write(time, event).unwrap();
        }
    }
    drop(encoder);
    close(directory, "traces", &options(), minimal_definitions).unwrap();
    assert_eq!(check(directory), 30_000);
    let files = || {
        ["traces/3.evt", "traces/3.def", "traces.def"].map(|f| fs::read(directory.join(f)).unwrap())
    };
    let before = files();

    let error = close(directory, "traces", &options(), minimal_definitions).unwrap_err();
    assert!(error.to_string().contains("there is an archive already"), "{error}");
    fs::remove_file(directory.join("traces.otf2")).unwrap();
    let closed = close(directory, "traces", &options(), |_, _| panic!("has definitions")).unwrap();
    assert!(closed.had_definitions);
    assert_eq!(before, files());
    assert_eq!(check(directory), 30_000);
}

/// Global definitions are there as a whole or not at all: the next attempt writes those that failed before, and those of
/// a process that was killed before it had written one.
#[test]
fn definitions_that_failed_are_written_by_the_next_attempt() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    fs::create_dir(directory.join("traces")).unwrap();
    fs::write(directory.join("traces/3.evt"), written(100).finish().memory).unwrap();
    let names = || {
        let names = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = names.map(|it| it.unwrap().file_name()).collect();
        names.sort();
        names
    };
    for fills_chunks in [false, true] {
        let failed = close(directory, "traces", &options(), |_, definitions| {
            for i in 0..if fills_chunks { 50_000 } else { 1 } {
                definitions.string(&format!("string {i}"))?;
            }
            Err(otf2::Error::from_io(std::io::Error::other("no more of it"), directory))
        });
        assert!(failed.unwrap_err().to_string().contains("no more of it"));
        assert_eq!(names(), ["traces"]);
    }
    let closed = close(directory, "traces", &options(), minimal_definitions).unwrap();
    assert!(!closed.had_definitions);
    assert_eq!(check(directory), 100);
    assert_eq!(names(), ["traces", "traces.def", "traces.otf2"]);

    for left in
        [vec![], vec![0; 1000], fs::read(directory.join("traces.def")).unwrap()[..20].into()]
    {
        fs::remove_file(directory.join("traces.otf2")).unwrap();
        fs::write(directory.join("traces.def"), left).unwrap();
        let closed = close(directory, "traces", &options(), minimal_definitions).unwrap();
        assert!(!closed.had_definitions);
        assert_eq!(check(directory), 100);
    }
    accepted_by_otf2_print(directory);
}

/// Files that were reserved but never begun, or are empty, become empty event files.
#[test]
fn files_without_events_become_empty() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    fs::create_dir(directory.join("traces")).unwrap();
    fs::write(directory.join("traces/0.evt"), []).unwrap();
    fs::write(directory.join("traces/1.evt"), [0; 2 * CHUNK as usize]).unwrap();
    fs::write(directory.join("traces/2.evt"), [0xFF; 1000]).unwrap();
    let closed = close(directory, "traces", &options(), minimal_definitions).unwrap();
    assert_eq!(
        closed.locations.iter().map(|l| (l.events, l.bytes)).collect::<Vec<_>>(),
        [(0, 36); 3]
    );
    // One of them held something, which is kept.
    let places: Vec<_> =
        closed.damage.iter().map(|(location, it)| (location.0, it.offset)).collect();
    assert_eq!(places.first(), Some(&(1, CHUNK)));
    assert!(places.contains(&(2, 0)), "{places:?}");
    assert_eq!(fs::read(directory.join("traces/2.evt.damaged")).unwrap(), [0xFF; 1000]);
    accepted_by_otf2_print(directory);
}

#[test]
fn open_regions_are_left_and_marked() -> Result<(), Box<dyn std::error::Error>> {
    use otf2::close::{close_events, leave_open};
    use otf2::encode::Encoder;
    use otf2::event::{Enter, Leave};
    use otf2::id::{AttributeRef, LocationRef, RegionRef, Time};
    use otf2::{Attribute, AttributeValue};

    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("traces"))?;
    let path = folder.path().join("traces/0.evt");
    let chunk = 256 * 1024;
    let mut encoder = Encoder::new(vec![0; chunk])?;
    for (time, region) in [(1, 7), (2, 8), (3, 9)] {
        encoder.write(Time(time), Enter { region: RegionRef(region) })?;
    }
    encoder.write(Time(4), Leave { region: RegionRef(9) })?;
    std::fs::write(&path, encoder.finish().memory)?;

    let (mut closed, _) = close_events(&path, LocationRef(0), chunk as u64)?;
    assert_eq!(closed.open, [RegionRef(7), RegionRef(8)]);
    let cut_bytes = chunk as u64 - closed.bytes;
    assert_eq!((closed.cut_bytes, closed.left), (cut_bytes, 0));
    let mark = Attribute { attribute: AttributeRef(4), value: AttributeValue::Uint8(1) };
    leave_open(&path, chunk as u64, &mut closed, mark)?;
    assert_eq!(closed.events, 6);
    assert_eq!((closed.cut_bytes, closed.left), (cut_bytes, 2));

    // What was left stays so, and a reader sees everything.
    let (again, damage) = close_events(&path, LocationRef(0), chunk as u64)?;
    assert_eq!(damage, []);
    assert_eq!((again.events, again.open.len()), (6, 0));
    assert_eq!((again.cut_bytes, again.left), (0, 0));
    assert_eq!(again.bytes, closed.bytes);
    let options = otf2::write::Options { events_chunk: chunk as u64, ..Default::default() };
    otf2::close::close(folder.path(), "traces", &options, otf2::close::minimal_definitions)?;
    let archive = otf2::Archive::open(folder.path())?;
    let mut reader = archive.events(LocationRef(0))?;
    let mut seen = Vec::new();
    while let Some(record) = reader.next()? {
        seen.push((record.time.0, format!("{:?}", record.event), record.attributes.len()));
    }
    assert_eq!(seen.len(), 6);
    assert!(seen[4].1.contains('8') && seen[5].1.contains('7'), "{seen:?}");
    assert_eq!((seen[4].0, seen[4].2, seen[3].2), (4, 1, 0));
    Ok(())
}

/// The memory of a chunk is used again, so that events of an earlier chunk follow those of the current one.
#[test]
fn the_events_of_a_chunk_end_where_those_of_an_earlier_one_begin() {
    let mut encoder = Encoder::new(vec![0; CHUNK as usize]).unwrap();
    assert_eq!(end_of_events(encoder.memory()), Some((18, 0)));
    let mut number = 0;
    let mut write = |encoder: &mut Encoder<Vec<u8>>| {
        // All of one kind, so that those of both chunks are at the same places.
        let written = encoder.write(Time(10 * number), Enter { region: RegionRef(1) });
        number += u64::from(written.is_ok());
        written.is_ok()
    };
    while write(&mut encoder) {}
    let (end, of_first) = end_of_events(encoder.memory()).unwrap();
    assert_eq!((end, of_first), (encoder.used(), encoder.events()));
    encoder.reuse(|_| Ok::<(), ()>(())).unwrap();
    assert_eq!(end_of_events(encoder.memory()), Some((18, 0)));
    for count in 1..100 {
        assert!(write(&mut encoder));
        assert_eq!(end_of_events(encoder.memory()), Some((encoder.used(), count)));
        // Without the end mark, the time tells.
        let mut damaged = encoder.memory().clone();
        damaged[encoder.used()] = 5;
        assert_eq!(end_of_events(&damaged), Some((encoder.used(), count)));
    }
    assert_eq!(end_of_events(&encoder.memory()[1..]), None);
    assert_eq!(end_of_events(&[]), None);
}
