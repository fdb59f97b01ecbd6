//! Any bytes as the files of a timeline's index: what can be opened can be asked anything, and what is asked exactly holds together.
//!
//! The input is a list of files, each behind its length in four bytes: that of all locations, then those of the groups. Checksums are not
//! compared in this build, so that the numbers under them are looked at.

use std::path::PathBuf;
use std::sync::LazyLock;

use dwell_timeline::{CLASSES, Fingerprint, Index, Location, Sharpness, Span, Time};

/// Place of the fingerprint of the report in a header.
const FINGERPRINT: std::ops::Range<usize> = 16..24;

/// Greatest number of groups that an index has.
const GROUPS: usize = 64;

/// Directory of this process, in memory where there is such a place.
static DIRECTORY: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let above = if memory.is_dir() { memory } else { std::env::temp_dir() };
    above.join(format!("dwell-fuzz-timeline-{}", std::process::id()))
});

/// Writes the files of the input, and returns the fingerprint of the first.
fn place(mut data: &[u8]) -> Option<Fingerprint> {
    std::fs::create_dir_all(&*DIRECTORY).expect("a directory can be made");
    let mut print = None;
    for number in 0..=GROUPS {
        let name =
            if number == 0 { "timeline".into() } else { format!("timeline-{:04}", number - 1) };
        let path = DIRECTORY.join(name);
        let Some((length, rest)) = data.split_first_chunk::<4>() else {
            if std::fs::remove_file(path).is_err() {
                break;
            }
            continue;
        };
        let (file, rest) = rest.split_at(rest.len().min(u32::from_le_bytes(*length) as usize));
        if number == 0 {
            let bytes = file.get(FINGERPRINT)?.try_into().ok()?;
            print = Some(Fingerprint(u64::from_le_bytes(bytes)));
        }
        std::fs::write(path, file).expect("a file can be written");
        data = rest;
    }
    print
}

pub(crate) fn run(data: &[u8]) {
    let print = place(data);
    if let Some(index) = print.and_then(|print| Index::open(&DIRECTORY, print).ok()) {
        ask(&index);
    }
    // libFuzzer ends the process without warning, and uses the directory again for every input.
    if cfg!(test) {
        std::fs::remove_dir_all(&*DIRECTORY).expect("a directory can be removed");
    }
}

/// Asks an index everything.
fn ask(index: &Index) {
    let (whole, all) = (index.span(), index.locations());
    let _ = (index.count(), index.critical_path().len());
    for (path, what, instances) in index.findings() {
        assert_eq!(index.instances(path, what), Some(instances));
    }
    let third = Time(whole.column(1, 3).0);
    let spans = [whole, Span { from: third, ..whole }, Span { from: Time(0), to: Time(u64::MAX) }];
    let some = (0..all.min(3)).chain(all.checked_sub(1)).map(Location);
    for location in some.chain([Location(all)]) {
        let _ = (index.begin(location), index.totals(location));
        for span in spans {
            drop(index.sums(location, span));
            drop(index.at(location, span.from));
            drop(index.since(location, span.to));
            if let Ok(Some(slices)) = index.slices(location, span, 200) {
                assert!(slices.iter().all(|it| it.span.from <= it.span.to));
            }
            drop(index.meanwhile(location, span));
        }
    }
    let end = Location(all.min(40));
    for sharpness in [Sharpness::Coarse, Sharpness::Exact] {
        for (span, band) in [(spans[0], 1), (spans[1], 16), (spans[2], u32::MAX)] {
            if let Ok(tile) = index.tile(Location(0)..end, band, span, 5, sharpness) {
                assert_eq!(tile.shares.len(), tile.rows * 5 * CLASSES);
            }
        }
        let parts = [Location(0)..Location(1), Location(2)..end];
        drop(index.joined_row(&parts, whole, 5, sharpness));
    }
    let rows = [vec![Location(0)..end]];
    drop(index.tile_of(&rows, whole, 5, 100_000, &|slice| slice.wait.is_some()));
    drop(index.worst_waits(Location(0)..end, whole, 20, &|_| true));
    let all = [index.all_locations()];
    drop(index.add_up(
        &all,
        whole,
        100_000,
        || 0_u64,
        |sum, _, _, time| *sum = sum.saturating_add(time),
    ));
    drop(index.least_slices(&all, whole));
    drop(index.first_slices(Location(0), 100));
}
