//! The dependency log has the segments and waits that a direct computation from the events gives.

use std::path::Path;

use dwell_analyze::{Analysis, LocationNumber, Quantity};
use dwell_log::piece::Piece as Read;
use dwell_log::read::{DependencyLog, Segment, Step};
use otf2::{Archive, Event};

use super::search::{Found, Piece};

/// A stretch of time, with the region that it belongs to: the outermost call of a runtime, or else the innermost region.
type Stretch = (u64, u64, Option<u32>);

/// Returns all time of each location, and its calls of a runtime.
fn stretches(archive: &Archive) -> Vec<(Vec<Stretch>, Vec<Stretch>)> {
    let defs = archive.definitions().unwrap();
    let is_call = |region: u32| {
        let region = defs.region(otf2::id::RegionRef(region)).unwrap();
        defs.string(region.description).is_some()
    };
    let of = |location: otf2::id::LocationRef| {
        let (mut all, mut calls): (Vec<Stretch>, Vec<Stretch>) = (Vec::new(), Vec::new());
        let mut stack: Vec<(u32, u64)> = Vec::new();
        let mut reached = None;
        let mut reader = archive.events(location).unwrap();
        while let Some(event) = reader.next().unwrap() {
            let time = event.time.0;
            let innermost = stack.iter().find(|it| is_call(it.0)).or(stack.last());
            let begin = reached.replace(time).unwrap_or(time);
            all.push((begin, time, innermost.map(|it| it.0)));
            match event.event {
                Event::Enter(it) => stack.push((it.region.0, time)),
                Event::Leave(_) => {
                    let (region, enter) = stack.pop().unwrap();
                    if is_call(region) && !stack.iter().any(|it| is_call(it.0)) {
                        calls.push((enter, time, Some(region)));
                    }
                }
                _ => {}
            }
        }
        (joined(all), calls)
    };
    defs.locations().map(|it| of(it.id)).collect()
}

/// Joins stretches of one region that follow each other, and leaves out those without length.
fn joined(list: Vec<Stretch>) -> Vec<Stretch> {
    let mut joined: Vec<Stretch> = Vec::new();
    for (begin, end, region) in list.into_iter().filter(|it| it.0 < it.1) {
        match joined.last_mut() {
            Some(last) if last.2 == region => {
                assert_eq!(last.1, begin);
                last.1 = end;
            }
            _ => joined.push((begin, end, region)),
        }
    }
    joined
}

/// Compares the log in a directory with the events and with the search. Returns the sums of delay costs.
pub(crate) fn hold(
    seed: u64,
    archive: &Archive,
    analysis: &Analysis,
    expected: &Found,
    directory: &Path,
) -> [u64; 3] {
    let log = DependencyLog::open(directory).unwrap();
    let (mut waits, mut releases) = (Vec::new(), Vec::new());
    for (number, (all, calls)) in stretches(archive).into_iter().enumerate() {
        let location = log.location(LocationNumber::new(number as u32)).unwrap().unwrap();
        let mut segments: Vec<Segment> = location.segments().map(Result::unwrap).collect();
        segments.reverse();
        let of = |it: &Segment| {
            let region = match location.paths()[it.path].step {
                Step::Region(region, _) => Some(region.0),
                _ => None,
            };
            (it.begin.nanoseconds(), it.end.nanoseconds(), region)
        };
        assert_eq!(joined(segments.iter().map(of).collect()), all, "seed {seed}, {number}");
        let judged = segments.iter().filter(|it| location.paths()[it.path].is_judged);
        assert_eq!(judged.map(of).collect::<Vec<_>>(), calls, "seed {seed}, {number}");
        waits.extend(location.waits().map(Result::unwrap));
        releases.extend(location.releases().map(Result::unwrap));
    }
    waits.sort_unstable();
    releases.sort_unstable();
    assert_eq!(waits, releases, "seed {seed}");
    let of = |it: &Read| Piece {
        waiter: it.waiter.place() as usize,
        what: it.what,
        culprit: it.culprit.place() as usize,
        when: (it.from.nanoseconds(), it.to.nanoseconds()),
        bounds: (it.low.nanoseconds(), it.high.nanoseconds()),
    };
    // Polling loops are no waits.
    let mut found: Vec<Piece> =
        waits.iter().filter(|it| it.what != Quantity::PollingBlamed).map(of).collect();
    found.sort_unstable();
    let mut pieces = expected.pieces.clone();
    pieces.sort_unstable();
    assert_eq!(found, pieces, "seed {seed}");
    sums(analysis, &found);
    let polled: Vec<Read> =
        waits.into_iter().filter(|it| it.what == Quantity::PollingBlamed).collect();
    super::causes::hold(seed, analysis, expected, &polled, &log)
}

/// Compares the sums of all pieces with what the analysis has booked.
fn sums(analysis: &Analysis, pieces: &[Piece]) {
    for (wait, margin) in Quantity::waits() {
        let of = |it: &&Piece| it.what == Quantity::Wait(wait);
        let list: Vec<&Piece> = pieces.iter().filter(of).collect();
        let booked = analysis.total(Quantity::Wait(wait));
        let name = wait.about().id;
        if name.ends_with("_completion") {
            assert!(list.is_empty(), "{name} has no culprit");
            continue;
        }
        assert_eq!(list.iter().map(|it| it.bounds.0).sum::<u64>(), booked, "{name}");
        let margin = margin.map_or(0, |margin| analysis.total(margin));
        assert_eq!(list.iter().map(|it| it.bounds.1).sum::<u64>(), booked + margin, "{name}");
    }
}
