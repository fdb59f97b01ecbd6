//! A matrix multiplication with one-sided communication, in the manner of SRUMMA.
//!
//! The ranks form a grid of `rows` × `columns`. Each owns a block of the result and multiplies `blocks` pairs of input
//! blocks, which it fetches ahead by non-blocking gets: one from its row, one from its column, never from itself. It
//! waits for a pair just before it needs it. After all pairs comes an all-fence and a barrier; that is a round, and
//! there are `rounds` of them.
//!
//! # The schedule
//!
//! Times are nanoseconds. Step k of a round begins at T(k) = T(0) + k·[`STEP`], and rank p arrives after a random
//! delay, W(p, k) = T(k) + d(p, k), 0 ≤ d < [`DELAY`]. Its calls are then:
//!
//! | call | from | until |
//! |---|---|---|
//! | `ARMCI_Wait` for the block of A, owner a | e₁ = W(p, k) | x₁ = max(e₁, W(a, k)) + [`TRANSFER`] |
//! | `ARMCI_Wait` for the block of B, owner b | e₂ = x₁ + [`GAP`] | x₂ = max(e₂, W(b, k)) + [`TRANSFER`] |
//! | compute | | |
//! | `ARMCI_NbGet`, twice, for step k + 1 | T(k) + [`ISSUE`] | |
//! | compute | | W(p, k + 1) |
//!
//! The gets of step 0 are issued at T(0) - [`STEP`] + [`ISSUE`]. A get is served when its owner is in a call that
//! progresses: a wait, a fence or a barrier does (`progress=always`), a non-blocking get does not (`progress=never`).
//! After [`ISSUE`] all ranks have left the waits of step k, so the first call of the owner that can serve a get of p is
//! its first wait of step k + 1.
//!
//! # The answer
//!
//! * `wait_for_progress` of rank p in step k: max(0, W(a, k) - e₁) + max(0, W(b, k) - e₂).
//! * `wait_for_progress_multi`: 0. Nothing is outstanding when the all-fence begins.
//! * `barrier_wait` of rank p in a round: max over all q of E(q) - E(p), E being the enter time of the barrier, E(p) =
//!   T([`Options::blocks`]) + d(p, blocks).
//! * `barrier_completion` of rank p: c(p) - min over all q of c(q), c being the random time below [`COMPLETION`] by
//!   which its barrier ends later than it could.
//!
//! Sums are over all ranks, steps and rounds.

use std::path::Path;

use otf2::event::{Enter, Leave, RmaGet, RmaOpCompleteNonBlocking};
use otf2::id::{MatchingId, Rank, Time};
use otf2::write::EventWriter;

use crate::calls::{self, Collective, INSIDE, Span};
use crate::progress::Progress;
use crate::rng;
use crate::schedule::{self, Schedule};
use crate::truth::{Severities, Totals, Truth};
use crate::world::{Program, WINDOW, regions};

/// Nanoseconds from the beginning of one step to that of the next, T(k + 1) - T(k). All calls of a step fit into it.
pub const STEP: u64 = 100_000;
/// Upper bound of the random delays d(p, k) in nanoseconds. Every delay is less than this, so no wait is longer.
pub const DELAY: u64 = 40_000;
/// Nanoseconds that a wait takes once the owner of the block serves the get.
pub const TRANSFER: u64 = 1_500;
/// Nanoseconds between the two waits of a step, and between its two gets.
pub const GAP: u64 = 100;
/// Nanoseconds from the beginning of a step to the gets for the next one. All waits of the step have ended by then.
pub const ISSUE: u64 = 60_000;
/// Upper bound, in nanoseconds, of the random time by which a barrier ends later than it could.
pub const COMPLETION: u64 = 2_000;

/// Nanoseconds from the enter of one non-blocking get to that of the next, which begins [`GAP`] after the first has
/// left.
const NBGET: u64 = 300;
/// Nanoseconds that an all-fence takes. It ends before any rank enters the barrier.
const FENCE: u64 = 400;
/// Nanoseconds from the last enter of a barrier to its earliest end.
const BARRIER: u64 = 3_000;
/// Bytes of a block: 64 × 64 numbers of 8 bytes.
const BLOCK: u64 = 64 * 64 * 8;

const _: () = assert!(DELAY + 2 * TRANSFER + GAP < ISSUE, "waits must end before gets are issued");
const _: () = assert!(ISSUE + 2 * NBGET + FENCE < STEP, "a step must hold all its calls");

/// Options of [`generate`]. Together they determine every byte of the archive, which has `ranks` × `blocks` × `rounds`
/// × 2 gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of ranks, at least 2. The grid is as close to a square as their number allows.
    pub ranks: u64,
    /// Number of pairs of blocks that each rank multiplies in a round, at least 1. Each pair is two gets.
    pub blocks: u64,
    /// Number of multiplications, each of which ends with an all-fence and a barrier.
    pub rounds: u64,
    /// Seed of the random delays. Another seed gives another archive with other severities.
    pub seed: u64,
}

regions! {
    NB_GET = 1 "ARMCI_NbGet" Rma "layer=armci operation=get mode=nonblocking progress=never";
    WAIT = 2 "ARMCI_Wait" Rma "layer=armci operation=wait progress=always";
    ALL_FENCE = 3 "ARMCI_AllFence" Rma "layer=armci operation=complete_remote progress=always completes=remote";
    ARMCI_BARRIER = 4 "ARMCI_Barrier" Barrier "layer=armci operation=barrier progress=always completes=remote";
}

/// The schedule of a run.
#[derive(Clone, Copy)]
struct Plan {
    ranks: u64,
    blocks: u64,
    rounds: u64,
    seed: u64,
    rows: u64,
    columns: u64,
}

impl From<&Options> for Plan {
    /// Makes the grid as close to a square as the number of ranks allows.
    fn from(&Options { ranks, blocks, rounds, seed }: &Options) -> Self {
        let rows = calls::rows(ranks);
        Self { ranks, blocks, rounds, seed, rows, columns: ranks / rows }
    }
}

impl Plan {
    /// Returns the owners of the blocks of A and B that rank p needs in a step. Ranks of one row begin with different
    /// blocks, so that not all ask the same owner at once.
    fn owners(&self, p: u64, step: u64) -> (u64, u64) {
        let Self { rows, columns, .. } = *self;
        let (row, column) = (p / columns, p % columns);
        // A row or column with one rank takes owners from the whole grid instead.
        let anyone = |shift: u64| (p + 1 + (step + shift) % (self.ranks - 1)) % self.ranks;
        let a = match columns {
            1 => anyone(0),
            _ => row * columns + (column + 1 + (step + row) % (columns - 1)) % columns,
        };
        let b = match rows {
            1 => anyone(1),
            _ => (row + 1 + (step + column) % (rows - 1)) % rows * columns + column,
        };
        (a, b)
    }

    /// Returns T(0) of a round. Before it lies a step in which the first gets are issued, behind it `blocks` steps and
    /// one for the barrier.
    fn begin(&self, round: u64) -> u64 {
        STEP + round * (self.blocks + 2) * STEP
    }

    /// Returns W(p, k), or for k = blocks the enter time of the barrier.
    fn arrival(&self, p: u64, round: u64, step: u64) -> u64 {
        let delay = rng::at(self.seed, [p, round, step]) % DELAY;
        self.begin(round) + step * STEP + delay
    }

    /// Returns the time by which the barrier of a round ends later than it could for rank p.
    fn lateness(&self, p: u64, round: u64) -> u64 {
        rng::at(self.seed, [p, round, u64::MAX]) % COMPLETION
    }

    /// Returns the two waits of rank p in a step.
    fn waits(&self, p: u64, round: u64, step: u64) -> [Wait; 2] {
        let (a, b) = self.owners(p, step);
        let wait = |enter: u64, owner: u64| {
            let served = enter.max(self.arrival(owner, round, step));
            Wait { enter, waited: served - enter, leave: served + TRANSFER }
        };
        let first = wait(self.arrival(p, round, step), a);
        [first, wait(first.leave + GAP, b)]
    }

    fn barrier(&self, round: u64) -> Collective {
        let enter = |p| self.arrival(p, round, self.blocks);
        Collective::of(self.ranks, enter, |p| self.lateness(p, round))
    }
}

impl Schedule for Plan {
    type Step = Collective;

    fn steps(&self) -> Vec<Collective> {
        (0..self.rounds).map(|round| self.barrier(round)).collect()
    }

    fn duration(&self) -> u64 {
        self.begin(self.rounds) + STEP
    }

    fn severities(&self, p: u64, barriers: &[Collective]) -> Severities {
        let mut sum = Severities::default();
        for (round, barrier) in (0..).zip(barriers) {
            for step in 0..self.blocks {
                sum.wait_for_progress +=
                    self.waits(p, round, step).map(|w| w.waited).iter().sum::<u64>();
            }
            sum.barrier_wait += barrier.last_enter - self.arrival(p, round, self.blocks);
            sum.barrier_completion += self.lateness(p, round) - barrier.least_lateness;
        }
        sum
    }

    fn write(
        &self,
        p: u64,
        barriers: &[Collective],
        events: &mut EventWriter,
    ) -> otf2::Result<Totals> {
        let mut totals = Totals::default();
        for (round, barrier) in (0..).zip(barriers) {
            let begin = self.begin(round);
            write_gets(self, p, begin - STEP, 0, events, &mut totals)?;
            for step in 0..self.blocks {
                // The pair of this step was issued last.
                let pair = totals.gets - 2;
                for (index, wait) in (0..).zip(self.waits(p, round, step)) {
                    let matching_id = MatchingId(pair + index);
                    let done = RmaOpCompleteNonBlocking { win: WINDOW, matching_id };
                    events.write(Time(wait.enter), Enter { region: WAIT })?;
                    events.write(Time(wait.leave - INSIDE), done)?;
                    events.write(Time(wait.leave), Leave { region: WAIT })?;
                }
                if step + 1 < self.blocks {
                    write_gets(self, p, begin + step * STEP, step + 1, events, &mut totals)?;
                }
            }

            let enter = self.arrival(p, round, self.blocks);
            let fence = begin + (self.blocks - 1) * STEP + ISSUE;
            events.write(Time(fence), Enter { region: ALL_FENCE })?;
            events.write(Time(fence + FENCE), Leave { region: ALL_FENCE })?;
            let end = barrier.last_enter + BARRIER + self.lateness(p, round);
            let span = Span { enter, begin: enter + INSIDE, end };
            span.write_rma_barrier(ARMCI_BARRIER, events)?;
            totals.collectives += 1;
        }
        Ok(totals)
    }
}

#[derive(Clone, Copy)]
struct Wait {
    enter: u64,
    waited: u64,
    leave: u64,
}

/// Generates the archive in a directory, and returns its truth. The directory must not contain an archive yet.
/// `truth.json` is not written: call [`Truth::write`] for that.
///
/// ```no_run
/// use std::path::Path;
///
/// use dwell_synth::srumma::{Options, generate};
///
/// let directory = Path::new("/tmp/srumma");
/// let options = Options { ranks: 64, blocks: 16, rounds: 2, seed: 1 };
/// let truth = generate(&options, directory, &|_| ())?;
/// assert_eq!(truth.totals.gets, 64 * 16 * 2 * 2);
/// truth.write(directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If there is an archive already, or files cannot be written.
pub fn generate(
    options: &Options,
    directory: &Path,
    progress: Progress<'_>,
) -> otf2::Result<Truth> {
    let Options { ranks, blocks, rounds, seed } = *options;
    let plan = &Plan::from(options);
    let program = Program {
        kind: "srumma",
        description: "SRUMMA, synthetic",
        ranks,
        seed,
        options: &[("blocks", blocks), ("rounds", rounds)],
        paradigm_name: "ARMCI",
        regions: REGIONS,
        window: "ARMCI memory",
        ..Program::PLAIN
    };
    schedule::generate(program, plan, directory, progress)
}

/// Writes the two gets that rank p issues for a step.
fn write_gets(
    plan: &Plan,
    p: u64,
    begin: u64,
    step: u64,
    events: &mut EventWriter,
    totals: &mut Totals,
) -> otf2::Result<()> {
    let (a, b) = plan.owners(p, step);
    let mut enter = begin + ISSUE;
    for owner in [a, b] {
        let (remote, matching_id) = (Rank(owner as u32), MatchingId(totals.gets));
        let get = RmaGet { win: WINDOW, remote, bytes: BLOCK, matching_id };
        events.write(Time(enter), Enter { region: NB_GET })?;
        events.write(Time(enter + INSIDE), get)?;
        enter += NBGET;
        events.write(Time(enter - GAP), Leave { region: NB_GET })?;
        totals.gets += 1;
        totals.bytes_get += BLOCK;
    }
    Ok(())
}
