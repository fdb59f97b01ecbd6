//! A target that all processes ask at once. Its questions are so many that several workers answer them, and the result is
//! that of one worker.

#![allow(clippy::unwrap_used)]

use dwell_analyze::{Cut, Options, Quantity};
use dwell_model::waits::Wait;
use otf2::event::{Enter, Leave, RmaGet, RmaOpCompleteBlocking};
use otf2::id::{MatchingId, Rank, RegionRef};

use crate::support::{Events, Thread, WINDOW as win, World, sums};

const MAIN: RegionRef = RegionRef(0);
const GET: RegionRef = RegionRef(1);
const FENCE: RegionRef = RegionRef(2);

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("ARMCI_Get", "layer=armci operation=get progress=always"),
    ("ARMCI_Fence", "layer=armci operation=complete_remote progress=always completes=remote"),
];

/// Rounds of 1,000 ns. In each the target serves others from 500 to 510, and every origin gets from 100 to 510. Four
/// origins ask 36,000 questions in one window, more than one worker answers alone.
const ROUNDS: u64 = 9_000;
const ORIGINS: u64 = 4;

fn target() -> Thread {
    let calls =
        |thread: Thread, round| thread.call(FENCE, round * 1_000 + 500, round * 1_000 + 510);
    let thread = Thread::default().at(0, Enter { region: MAIN });
    (0..ROUNDS).fold(thread, calls).at(ROUNDS * 1_000, Leave { region: MAIN })
}

fn origin() -> Thread {
    let get = |thread: Thread, round: u64| {
        let (matching_id, begin) = (MatchingId(round + 1), round * 1_000);
        thread
            .at(begin + 100, Enter { region: GET })
            .at(begin + 100, RmaGet { win, remote: Rank(0), bytes: 64, matching_id })
            .at(begin + 510, RmaOpCompleteBlocking { win, matching_id })
            .at(begin + 510, Leave { region: GET })
    };
    let thread = Thread::default().at(0, Enter { region: MAIN });
    (0..ROUNDS).fold(thread, get).at(ROUNDS * 1_000, Leave { region: MAIN })
}

#[test]
fn workers_share_the_questions_to_one_target() {
    let origins = (0..ORIGINS).map(|_| vec![origin()]);
    let processes: Vec<Vec<Thread>> = std::iter::once(vec![target()]).chain(origins).collect();
    let world = World::new(REGIONS, &processes);
    let (directory, archive) = world.open();
    let mut reports = Vec::new();
    for (threads, cut) in [
        (1, Cut::Nanoseconds(1 << 62)),
        (2, Cut::Nanoseconds(1 << 62)),
        (7, Cut::Nanoseconds(1 << 62)),
        // Questions of the last round of a window wait for the next one.
        (7, Cut::Nanoseconds(8_500_300)),
    ] {
        let mut options = Options::default();
        (options.threads, options.cut) = (threads, cut);
        let analysis = sums::analyze(&archive, &options);
        let wait = analysis.total(Quantity::Wait(Wait::WaitForProgress));
        assert_eq!(wait, 400 * ROUNDS * ORIGINS, "{threads} threads, {cut:?}");
        let path = directory.path().join("trace.cubex");
        analysis.write_report(&path).unwrap();
        let findings = format!("{:?}", analysis.findings());
        reports.push((std::fs::read(path).unwrap(), findings));
    }
    assert!(reports.windows(2).all(|pair| pair.first() == pair.last()));
}
