//! The replay decodes records itself, for speed; everything else reads them through [`dwell_trace::record`]. Both must
//! take each record for the same.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::Path;

use dwell_analyze::{Analysis, Cut, Options, Quantity as Q};
use dwell_trace::ids::LocationNumber;
use dwell_trace::layout::Layout;
use dwell_trace::record::{Access, Record};
use otf2::Archive;

use crate::brute_force::random;
use crate::support::sums::analyze;

/// Quantities that are sums over records.
const COUNTS: &[Q] =
    &[Q::Puts, Q::Gets, Q::Atomics, Q::Sends, Q::Receives, Q::BytesSent, Q::BytesReceived];

type Counts = BTreeMap<Q, u64>;

/// Counts the records of a location through the reader.
fn read(archive: &Archive, location: otf2::id::LocationRef) -> Counts {
    let mut counts = Counts::new();
    let mut events = archive.events(location).unwrap();
    while let Some(record) = events.next().unwrap() {
        let found = match Record::of(&record.event) {
            Record::Issue(it) => match it.access {
                Access::Put => vec![(Q::Puts, 1)],
                Access::Get => vec![(Q::Gets, 1)],
                Access::Atomic => vec![(Q::Atomics, 1)],
            },
            Record::Send(it) => vec![(Q::Sends, 1), (Q::BytesSent, it.bytes)],
            Record::Receive(it) => vec![(Q::Receives, 1), (Q::BytesReceived, it.bytes)],
            _ => vec![],
        };
        for (what, amount) in found.into_iter().filter(|(_, amount)| *amount > 0) {
            *counts.entry(what).or_default() += amount;
        }
    }
    counts
}

fn replayed(analysis: &Analysis, location: usize) -> Counts {
    let at = |&what| (what, analysis.at_location(location, what));
    COUNTS.iter().map(at).filter(|(_, amount)| *amount > 0).collect()
}

/// Compares all locations of an archive, with calls judged on the fast path where that is possible, and with windows of
/// one event, which leave nothing to it. Adds the counts to the totals.
fn check(directory: &Path, totals: &mut Counts) {
    let archive = Archive::open(directory).unwrap();
    let layout = Layout::of(&archive.definitions().unwrap());
    for cut in [Cut::Budget, Cut::EveryEvent] {
        let mut options = Options::default();
        (options.cut, options.threads) = (cut, 1);
        let analysis = analyze(&archive, &options);
        for location in 0..analysis.locations() {
            let id = layout.id(LocationNumber(location as u32)).unwrap();
            let expected = read(&archive, id);
            assert_eq!(replayed(&analysis, location), expected, "{cut:?}, location {location}");
            for (what, amount) in expected {
                *totals.entry(what).or_default() += amount;
            }
        }
    }
}

/// Random archives of all operations, of processes with one thread and with several.
#[test]
fn the_replay_and_the_reader_count_the_same_records() {
    let mut totals = Counts::new();
    for seed in 0..10 {
        let directory = tempfile::tempdir().unwrap();
        let of =
            dwell_synth::random::Options { ranks: 2 + seed % 5, segments: 4, operations: 15, seed };
        dwell_synth::random::generate(&of, directory.path(), &|_| {}).unwrap();
        check(directory.path(), &mut totals);
        let directory = tempfile::tempdir().unwrap();
        random::generate(seed, directory.path());
        check(directory.path(), &mut totals);
    }
    for what in COUNTS {
        assert!(totals.get(what).is_some_and(|sum| *sum > 100), "{what:?} hardly occurred");
    }
}
