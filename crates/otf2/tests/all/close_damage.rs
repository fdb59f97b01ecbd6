//! Event files that are damaged after their writer died: damage that loses events is reported, the original
//! is kept, what can be read is found again, and the result is an archive whose regions nest.

use std::fs;
use std::path::Path;

use fastrand::Rng;
use otf2::Archive;
use otf2::close::{close, close_events, minimal_definitions, scan_events};
use otf2::encode::{EncodeError, Encoder};
use otf2::event::{Enter, Event, Leave, RmaGet};
use otf2::id::{LocationRef, MatchingId, Rank, RegionRef, RmaWinRef, Time};
use otf2::write::Options;

const CHUNK: usize = 256 * 1024;
const PAGE: usize = 4096;

/// Returns the file that a process killed after this many bytes leaves, and the number of events in it. The file has
/// full chunks and a reserved one, and the process is in region 0 from the first event to the last.
fn killed(bytes: usize) -> (Vec<u8>, u64) {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(vec![0; CHUNK]).unwrap();
    let mut write = |i: u64, event: Event<'_>| {
        let time = Time(5_000_000_000 + i * 700);
        if encoder.write(time, event) == Err(EncodeError::Full) {
            file.extend(encoder.turn(vec![0; CHUNK]).unwrap());
            encoder.write(time, event).unwrap();
        }
        file.len() + encoder.used() < bytes
    };
    write(0, Enter { region: RegionRef(0) }.into());
    for i in 1.. {
        let region = RegionRef(1 + (i % 5) as u32);
        let (win, remote) = (RmaWinRef(0), Rank((i % 1000) as u32));
        let get = RmaGet { win, remote, bytes: 1 << (i % 40), matching_id: MatchingId(i) };
        let more = write(i * 3, Enter { region }.into())
            && write(i * 3 + 1, get.into())
            && write(i * 3 + 2, Leave { region }.into());
        if !more {
            break;
        }
    }
    let (events, used) = (encoder.events(), encoder.used());
    let mut last = encoder.finish().memory;
    last[used..used + 2].fill(0);
    file.extend(last);
    file.extend(vec![0; CHUNK]);
    (file, events)
}

/// Size of a file of two and a half chunks.
const LARGE: usize = 2 * CHUNK + CHUNK / 2;

/// Closes a file as an archive of its own. Returns the number of gets in it, and `true` if it was damaged.
fn recovered(directory: &Path, file: &[u8]) -> (u64, bool) {
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory.join("traces")).unwrap();
    fs::write(directory.join("traces/0.evt"), file).unwrap();
    let options = Options { events_chunk: CHUNK as u64, ..Options::default() };
    let closed = close(directory, "traces", &options, minimal_definitions).unwrap();
    let damaged = !closed.damage.is_empty();
    let kept = directory.join("traces/0.evt.damaged");
    assert_eq!(kept.exists(), damaged);
    if damaged {
        assert_eq!(fs::read(kept).unwrap(), file, "the original is kept");
    }
    let archive = Archive::open(directory).unwrap();
    let mut reader = archive.events(LocationRef(0)).unwrap();
    let (mut open, mut time, mut gets, mut all) = (Vec::new(), Time(0), 0, 0);
    while let Some(record) = reader.next().unwrap() {
        assert!(record.time >= time, "time goes back");
        time = record.time;
        all += 1;
        match record.event {
            Event::Enter(enter) => open.push(enter.region),
            Event::Leave(leave) => assert_eq!(open.pop(), Some(leave.region)),
            Event::RmaGet(_) => gets += 1,
            _ => {}
        }
    }
    // The process was killed in region 0, perhaps in a call.
    assert!(damaged && open.is_empty() || !damaged && !open.is_empty(), "{open:?}");
    assert_eq!(closed.locations[0].events, all);
    // A sound file is cut and its regions stay open; of a damaged one nothing is cut, because it is kept.
    let [location] = &closed.locations[..] else { panic!("one location") };
    // The checksum was added afterwards.
    let rest = (file.len() as u64).saturating_sub(location.bytes - 16);
    assert_eq!(location.cut_bytes, if damaged { 0 } else { rest });
    assert!(damaged || location.left == 0);
    assert_eq!(location.open, open);
    // A byte may make one event of another: it is there, but no get any more.
    (if damaged { gets } else { self::gets(all) }, damaged)
}

/// Returns the number of gets among the first `events` events.
fn gets(events: u64) -> u64 {
    events / 3
}

/// A writer dies between writing up to four events by one store and counting them.
#[test]
fn events_that_were_not_counted_are_no_damage() {
    let (file, events) = killed(LARGE);
    let folder = tempfile::tempdir().unwrap();
    // The last event of the last chunk with events, behind which is a reserved one.
    let place = file.len() - 2 * CHUNK + 10;
    for uncounted in 0..6 {
        let mut file = file.clone();
        let number = file[place..].first_chunk_mut().unwrap();
        *number = (u64::from_le_bytes(*number) - uncounted).to_le_bytes();
        let (found, damaged) = recovered(folder.path(), &file);
        assert_eq!(damaged, uncounted > 4, "{uncounted} of {events}");
        assert_eq!(found, gets(events), "{uncounted} of {events}");
    }
}

#[test]
fn what_is_behind_a_damaged_page_is_found_again() {
    let (file, events) = killed(LARGE);
    let folder = tempfile::tempdir().unwrap();
    let (all, damaged) = recovered(folder.path(), &file);
    assert!(!damaged && all == gets(events) && all > 10_000, "{all} of {events}");
    // A page holds fewer than this.
    let page = (PAGE / 20) as u64;
    for from in [0, PAGE, CHUNK - PAGE, CHUNK, CHUNK + 5 * PAGE, 2 * CHUNK, 2 * CHUNK + CHUNK / 4] {
        for fill in [0, 0xFF, 0x05] {
            let mut file = file.clone();
            file[from..from + PAGE].fill(fill);
            let (found, damaged) = recovered(folder.path(), &file);
            assert!(damaged, "a page of {fill:#x} at {from}");
            assert!(found < all && found + page > all, "{found} of {all} at {from}");
        }
    }
    // A whole chunk.
    let mut file = file;
    file[CHUNK..2 * CHUNK].fill(0);
    let (found, damaged) = recovered(folder.path(), &file);
    assert!(damaged && found > all / 2, "{found} of {all}");
}

#[test]
fn every_byte_of_a_header_and_of_the_first_events_matters() {
    let (file, events) = killed(8000);
    let folder = tempfile::tempdir().unwrap();
    for at in 0..64 {
        for flip in [0x01, 0x80] {
            let mut file = file.clone();
            file[at] ^= flip;
            let (found, damaged) = recovered(folder.path(), &file);
            assert!(damaged || found == gets(events), "byte {at} ^ {flip:#x}");
            assert!(found + 5 > gets(events), "byte {at} ^ {flip:#x}: {found}");
        }
    }
}

#[test]
fn a_file_that_is_cut_off_says_so() {
    let (file, events) = killed(LARGE);
    let folder = tempfile::tempdir().unwrap();
    for length in [1, 17, 18, 19, 5000, CHUNK - 1, CHUNK + 1, 2 * CHUNK + 77, file.len() - 1] {
        let (found, damaged) = recovered(folder.path(), &file[..length]);
        assert!(damaged && found <= gets(events), "{length}");
    }
    // At the border of a chunk the file alone cannot tell: who knows how many chunks it had must say so.
    let path = folder.path().join("cut.evt");
    fs::write(&path, &file[..2 * CHUNK]).unwrap();
    let scan = scan_events(&path, CHUNK as u64, |_, _| true).unwrap();
    assert!(scan.is_sound() && scan.chunks() == 2);
}

#[test]
fn damage_says_where_and_how_much() {
    let (mut file, events) = killed(LARGE);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("0.evt");
    file[8192..12288].fill(0);
    fs::write(&path, &file).unwrap();
    let scan = scan_events(&path, CHUNK as u64, |_, _| true).unwrap();
    let first = scan.damage()[0];
    assert!((8100..8200).contains(&first.offset), "{first:?}");
    assert_eq!(scan.lost(), Some(events - scan.events()));
    assert!(scan.lost() > Some(100));
    let last = scan.damage().last().unwrap().to_string();
    assert!(last.starts_with("byte 10: a chunk of "), "{last}");
}

/// The regions that are open at the end of a sound file are left in the mended one. Nothing of a damaged file is cut,
/// because it is kept.
#[test]
fn bytes_that_are_cut_and_regions_that_are_left_are_apart() {
    let (mut file, _) = killed(LARGE);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("0.evt");
    let mut closed = |damaged: bool| {
        if damaged {
            file[8192..12288].fill(0xFF);
        }
        fs::write(&path, &file).unwrap();
        let (closed, damage) = close_events(&path, LocationRef(0), CHUNK as u64).unwrap();
        assert_eq!(damage.is_empty(), !damaged);
        (closed, file.len() as u64)
    };
    let (sound, size) = closed(false);
    assert_eq!((sound.cut_bytes, sound.left), (size - sound.bytes, 0));
    assert_eq!(sound.open.len(), 2);
    let (mended, _) = closed(true);
    assert_eq!((mended.cut_bytes, mended.left), (0, 2));
    assert_eq!(mended.open, []);
}

/// Damages a file in one of several ways.
fn damage(file: &mut Vec<u8>, random: &mut Rng) -> String {
    let length = file.len();
    let at = random.usize(..length.max(1));
    match random.usize(..7) {
        0 => {
            file[at] ^= 1 << random.usize(..8);
            format!("a bit of byte {at}")
        }
        1 => {
            file[at] = random.u8(..);
            format!("byte {at}")
        }
        2 => {
            let at = at / PAGE * PAGE;
            file[at..at + PAGE].fill(0);
            format!("page at {at}")
        }
        3 => {
            file.truncate(at);
            format!("cut at {at}")
        }
        4 => {
            let end = (at + random.usize(..3000)).min(length);
            file[at..end].fill_with(|| random.u8(..));
            format!("garbage at {at}..{end}")
        }
        5 => {
            let (from, to) = (at / PAGE * PAGE, random.usize(..length.max(1)) / PAGE * PAGE);
            file.copy_within(from..from + PAGE, to);
            format!("page {from} at {to}")
        }
        _ => {
            let end = (at + random.usize(..20_000)).min(length);
            file[at..end].fill(0);
            format!("zeros at {at}..{end}")
        }
    }
}

#[test]
fn no_damage_loses_events_in_silence() {
    let (file, events) = killed(LARGE);
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..60 {
        let mut random = Rng::with_seed(seed);
        let mut file = file.clone();
        let what = damage(&mut file, &mut random);
        // See above.
        if file.len().is_multiple_of(CHUNK) && file.len() < 4 * CHUNK {
            continue;
        }
        let (found, damaged) = recovered(folder.path(), &file);
        assert!(
            damaged || found >= gets(events),
            "seed {seed}, {what}: {found} of {}",
            gets(events)
        );
    }
}
