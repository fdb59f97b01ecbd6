//! Seeking, stopping and going on: whatever the way, the events are those of a scan from the
//! beginning.

use std::path::Path;

use fastrand::Rng;
use otf2::enums::Type;
use otf2::event::{Enter, Leave, Metric, RmaPut};
use otf2::id::{
    AttributeRef, EventNumber, LocationRef, MatchingId, MetricRef, Rank, RegionRef, RmaWinRef, Time,
};
use otf2::read::EventReader;
use otf2::write::{ArchiveWriter, Options};
use otf2::{Archive, Attribute, AttributeValue, ByteOrder, List, MetricValue, chunk, def};

use super::canonical::{self, Lines};
use super::tools::{Scratch, assert_same, tools};

const LOCATION: LocationRef = LocationRef(3);
const EVENTS: u64 = 60_000;

/// Writes many chunks, with runs of equal times that cross their borders, and records of all lengths.
fn write(directory: &Path, order: ByteOrder, offsets: &[(u64, i64)]) -> Archive {
    let mut random = Rng::with_seed(order as u64);
    let options = Options { events_chunk: chunk::MIN_SIZE, order, ..Options::default() };
    let writer = ArchiveWriter::create(directory, "traces", options).unwrap();
    let mut events = writer.events(LOCATION).unwrap();
    let mut time = 1_000_000;
    for i in 0..EVENTS {
        // A run of equal times is as long as a chunk has events in places.
        if (i / 3000) % 4 != 3 {
            time += random.u64(..60);
        }
        let now = Time(time);
        let region = RegionRef(random.u32(..300));
        match random.u64(..8) {
            0..3 => events.write(now, Enter { region }),
            3..6 => events.write(now, Leave { region }),
            6 => {
                let put = RmaPut {
                    win: RmaWinRef(0),
                    remote: Rank(random.u32(..100)),
                    bytes: random.u64(..1 << 40),
                    matching_id: MatchingId(i),
                };
                let value = AttributeValue::Uint64(random.u64(..1 << 50));
                let attributes = [Attribute { attribute: AttributeRef(1), value }];
                events.write_with(now, List::from(&attributes[..]), put)
            }
            _ => {
                let value = MetricValue { value_type: Type::Uint64, bits: random.u64(..1 << 60) };
                let values = vec![value; random.usize(..100)];
                events.write(now, Metric { metric: MetricRef(2), values: List::from(&values[..]) })
            }
        }
        .unwrap();
    }
    events.finish().unwrap();
    let mut local = writer.local_definitions(LOCATION).unwrap();
    for &(time, offset) in offsets {
        local
            .write(def::ClockOffset { time: Time(time), offset, standard_deviation: 0.0 })
            .unwrap();
    }
    local.finish().unwrap();
    writer.global_definitions().unwrap().finish().unwrap();
    writer.finish().unwrap();
    Archive::open(directory).unwrap()
}

/// Clock offsets that leave times in order: no slope falls by one or more.
const CLOCK: [(u64, i64); 4] =
    [(900_000, 5_000), (1_300_000, -100_000), (1_500_000, 400_000), (2_000_000, 399_000)];

/// The result of a scan from the beginning.
struct Scan {
    lines: Vec<String>,
    times: Vec<u64>,
    /// Number of the first event of each chunk.
    borders: Vec<u64>,
}

impl Scan {
    fn new(archive: &Archive, location: LocationRef) -> Self {
        let mut reader = archive.events(location).unwrap();
        let (mut lines, mut times, mut borders) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(record) = reader.next().unwrap() {
            lines.push(canonical::event(location, &record));
            times.push(record.time.0);
            let first = reader.chunk_first().0;
            if borders.last() != Some(&first) {
                borders.push(first);
            }
        }
        assert!(times.is_sorted(), "the test needs times in order");
        Self { lines, times, borders }
    }

    /// Returns numbers around every chunk border, at both ends, and random ones.
    fn numbers(&self, random: &mut Rng) -> Vec<u64> {
        let end = self.lines.len() as u64;
        let mut numbers: Vec<u64> =
            self.borders.iter().chain(&[1, end + 1]).flat_map(|&n| [n - 1, n, n + 1]).collect();
        numbers.push(u64::MAX);
        numbers.extend((0..200).map(|_| 1 + random.u64(..end)));
        numbers
    }

    /// Checks that the reader continues at the event with this index.
    fn check(&self, reader: &mut EventReader, index: usize, what: &str) {
        let expected = self.lines.get(index..).unwrap_or_default();
        let expected = &expected[..expected.len().min(3)];
        let location = reader.location();
        let mut found = Vec::new();
        while found.len() < 3
            && let Some(record) = reader.next().unwrap()
        {
            found.push(canonical::event(location, &record));
        }
        assert_eq!(found, expected, "{what}");
    }
}

fn seek_everywhere(archive: &Archive, location: LocationRef) {
    let scan = Scan::new(archive, location);
    assert!(scan.borders.len() >= 3, "too few chunks");
    let mut random = Rng::with_seed(1);
    let numbers = scan.numbers(&mut random);
    let mut reader = archive.events(location).unwrap();
    for &number in &numbers {
        reader.seek_event(EventNumber(number)).unwrap();
        let index = usize::try_from(number.saturating_sub(1)).unwrap();
        scan.check(&mut reader, index, &format!("seek to event {number}"));
    }
    for &number in &numbers {
        let index = usize::try_from(number.saturating_sub(1)).unwrap().min(scan.times.len() - 1);
        let time = scan.times[index];
        for time in [time.saturating_sub(1), time, time + 1] {
            reader.seek_time(Time(time)).unwrap();
            let index = scan.times.partition_point(|&t| t < time);
            assert_eq!(reader.peek_time().unwrap().map(|t| t.0), scan.times.get(index).copied());
            scan.check(&mut reader, index, &format!("seek to time {time}"));
        }
    }
    for (time, index) in [(0, 0), (u64::MAX, scan.lines.len())] {
        reader.seek_time(Time(time)).unwrap();
        scan.check(&mut reader, index, &format!("seek to time {time}"));
    }
}

#[test]
fn seeking() {
    let scratch = Scratch::new();
    for (name, order) in [("little", ByteOrder::Little), ("big", ByteOrder::Big)] {
        seek_everywhere(&write(&scratch.join(name), order, &[]), LOCATION);
    }
}

#[test]
fn seeking_with_clock_offsets() {
    let scratch = Scratch::new();
    let plain = write(&scratch.join("plain"), ByteOrder::Little, &[]);
    let archive = write(&scratch.join("clock"), ByteOrder::Little, &CLOCK);
    let (first, last) = (Scan::new(&plain, LOCATION).times, Scan::new(&archive, LOCATION).times);
    assert!(first.iter().zip(&last).filter(|(a, b)| a == b).count() < 1000, "no correction");
    seek_everywhere(&archive, LOCATION);
}

/// Seeking works in an archive of libotf2 with every kind of event.
#[test]
fn seeking_in_archives_of_libotf2() {
    let Some(tools) = tools() else { return };
    let scratch = Scratch::new();
    tools.write("plain", 21, &scratch.join("plain"));
    seek_everywhere(&Archive::open(scratch.join("plain")).unwrap(), LocationRef(0));
}

/// Stops in the middle and continues, by visitor and by single reads in turn.
#[test]
fn stopping_and_going_on() {
    let scratch = Scratch::new();
    for (name, order) in [("little", ByteOrder::Little), ("big", ByteOrder::Big)] {
        let archive = write(&scratch.join(name), order, &CLOCK);
        let scan = Scan::new(&archive, LOCATION);
        for window in [1, 1 << 20] {
            let tables = archive.local_tables(LOCATION);
            let mut reader = archive.events_with(LOCATION, &tables, window).unwrap();
            let mut random = Rng::with_seed(window as u64);
            let mut lines = Vec::new();
            loop {
                let most = 1 + random.usize(..2000);
                let mut some = Lines { location: LOCATION, lines: Vec::new(), most };
                let more = reader.visit(&mut some).unwrap();
                assert!(some.lines.len() == most || !more);
                lines.append(&mut some.lines);
                for _ in 0..random.u64(..4) {
                    if random.u64(..2) == 0 {
                        let next = reader.peek_time().unwrap().map(|time| time.0);
                        assert_eq!(next, scan.times.get(lines.len()).copied());
                    }
                    if let Some(record) = reader.next().unwrap() {
                        lines.push(canonical::event(LOCATION, &record));
                    }
                }
                if random.u64(..3) == 0 {
                    reader.peek_time().unwrap(); // A record found but not taken.
                }
                assert_eq!(reader.position().0, lines.len() as u64);
                if !more {
                    break;
                }
            }
            assert_same("events", &scan.lines, &lines);
            assert_eq!(reader.next().unwrap(), None);
        }
    }
}
