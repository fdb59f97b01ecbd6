//! A red-black solver on a grid that is distributed over a mesh of processes.
//!
//! Each iteration has a red and a black sweep. Before a sweep, each rank fetches the halos from its neighbours in the
//! mesh, one blocking get after the other, and then waits in an all-fence until the sweep begins. An all-reduce ends
//! the iteration. There are `iterations` of them.
//!
//! # The schedule
//!
//! Times are nanoseconds. Exchange h (two an iteration, and one step for the reduction) begins at T(h), and rank p
//! arrives after a random delay, A(p, h) = T(h) + d(p, h), 0 ≤ d < [`DELAY`].
//!
//! | call | from | until |
//! |---|---|---|
//! | `ARMCI_Get` from neighbour q₁ | e₁ = A(p, h) | x₁ = max(e₁, A(q₁, h)) + [`TRANSFER`] |
//! | `ARMCI_Get` from neighbour q₂ | e₂ = x₁ | x₂ = max(e₂, A(q₂, h)) + [`TRANSFER`] |
//! | … | | |
//! | `ARMCI_AllFence` | the last x | T(h) + [`HOLD`] |
//!
//! All these calls serve requests of others, so a rank serves them from A(p, h) to T(h) + [`HOLD`] without a break, and
//! a get is served when its neighbour has arrived.
//!
//! # The answer
//!
//! * `wait_for_progress` of rank p: the sum of max(0, A(q, h) - e) over its gets.
//! * `wait_for_progress_multi`: 0. Nothing is outstanding when the all-fence begins.
//! * `nxn_wait`: the last enter of the reduction less the own. `nxn_completion`: how much later than the first it ends.

use std::path::Path;

use otf2::enums::CollectiveOp;
use otf2::event::{Enter, Leave};
use otf2::id::{MatchingId, Time};
use otf2::write::EventWriter;

use crate::calls::{self, Collective, Get, Span};
use crate::progress::Progress;
use crate::rng;
use crate::schedule::{self, Schedule};
use crate::truth::{Severities, Totals, Truth};
use crate::world::{Program, regions};

/// Nanoseconds from the beginning of one exchange to that of the next, or to that of the reduction.
pub const STEP: u64 = 100_000;
/// Upper bound of the random delays d(p, h) in nanoseconds. Every delay is less than this, so no wait in an exchange is
/// longer.
pub const DELAY: u64 = 40_000;
/// Nanoseconds that a get takes once its target serves it. The time before that is its wait for progress.
pub const TRANSFER: u64 = 1_500;
/// Nanoseconds from the beginning of an exchange to its end, at which all ranks leave the all-fence. All gets have
/// ended by then.
pub const HOLD: u64 = 50_000;
/// Upper bound, in nanoseconds, of the random time by which a reduction ends later than it could.
pub const COMPLETION: u64 = 2_000;

const REDUCTION: u64 = 5_000;
/// Bytes of a halo: a column of 128 numbers.
const HALO: u64 = 128 * 8;

const _: () = assert!(DELAY + 4 * TRANSFER < HOLD && HOLD < STEP, "an exchange must fit its step");

/// Options of [`generate`]. Together they determine every byte of the archive. The number of events grows with `ranks`
/// × `iterations`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of ranks, at least 2. The mesh is as close to a square as their number allows.
    pub ranks: u64,
    /// Number of iterations. Each has two exchanges, in which every rank fetches up to four halos, and a reduction.
    pub iterations: u64,
    /// Seed of the random delays. Another seed gives another archive with other severities.
    pub seed: u64,
}

regions! {
    GET = 1 "ARMCI_Get" Rma "layer=armci operation=get progress=always";
    ALL_FENCE = 2 "ARMCI_AllFence" Rma "layer=armci operation=complete_remote progress=always completes=remote";
    ALLREDUCE = 3 "MPI_Allreduce" CollAll2all "layer=mpi operation=all_reduce progress=always";
}

#[derive(Clone, Copy)]
struct Plan {
    ranks: u64,
    iterations: u64,
    seed: u64,
    columns: u64,
}

impl Plan {
    fn new(&Options { ranks, iterations, seed }: &Options) -> Self {
        Self { ranks, iterations, seed, columns: ranks / calls::rows(ranks) }
    }

    /// Returns the neighbours of a rank in the mesh. Ranks at its borders have fewer than four.
    fn neighbours(&self, p: u64) -> impl Iterator<Item = u64> + use<> {
        let Self { ranks, columns, .. } = *self;
        let column = p % columns;
        let north = p.checked_sub(columns);
        let south = Some(p + columns).filter(|q| *q < ranks);
        let west = (column > 0).then(|| p - 1);
        let east = (column + 1 < columns).then_some(p + 1);
        [north, south, west, east].into_iter().flatten()
    }

    /// Returns T(h) of an exchange, or of the reduction, which is part 2 of an iteration.
    fn begin(&self, iteration: u64, part: u64) -> u64 {
        STEP + (3 * iteration + part) * STEP
    }

    /// Returns A(p, h), or the enter of the reduction, which is part 2 of an iteration.
    fn arrival(&self, p: u64, iteration: u64, part: u64) -> u64 {
        let delay = rng::at(self.seed, [p, iteration, part]) % DELAY;
        self.begin(iteration, part) + delay
    }

    fn lateness(&self, p: u64, iteration: u64) -> u64 {
        rng::at(self.seed, [p, iteration, u64::MAX]) % COMPLETION
    }

    fn gets(&self, p: u64, iteration: u64, part: u64) -> Vec<Get> {
        let begin = self.arrival(p, iteration, part);
        let arrival = |from| self.arrival(from, iteration, part);
        Get::in_turn(begin, self.neighbours(p), arrival, TRANSFER)
    }
}

impl Schedule for Plan {
    type Step = Collective;

    fn steps(&self) -> Vec<Collective> {
        let of =
            |it| Collective::of(self.ranks, |p| self.arrival(p, it, 2), |p| self.lateness(p, it));
        (0..self.iterations).map(of).collect()
    }

    fn duration(&self) -> u64 {
        self.begin(self.iterations, 0) + STEP
    }

    fn severities(&self, p: u64, reductions: &[Collective]) -> Severities {
        let mut sum = Severities::default();
        for (iteration, reduction) in (0..).zip(reductions) {
            for part in 0..2 {
                let gets = self.gets(p, iteration, part);
                sum.wait_for_progress += gets.iter().map(|get| get.waited).sum::<u64>();
            }
            sum.nxn_wait += reduction.last_enter - self.arrival(p, iteration, 2);
            sum.nxn_completion += self.lateness(p, iteration) - reduction.least_lateness;
        }
        sum
    }

    fn write(
        &self,
        p: u64,
        reductions: &[Collective],
        events: &mut EventWriter,
    ) -> otf2::Result<Totals> {
        let mut totals = Totals::default();
        for (iteration, reduction) in (0..).zip(reductions) {
            for part in 0..2 {
                let mut end = self.arrival(p, iteration, part);
                for get in self.gets(p, iteration, part) {
                    get.write(GET, HALO, MatchingId(totals.gets), events)?;
                    totals.gets += 1;
                    totals.bytes_get += HALO;
                    end = get.leave;
                }
                events.write(Time(end), Enter { region: ALL_FENCE })?;
                let leave = self.begin(iteration, part) + HOLD;
                events.write(Time(leave), Leave { region: ALL_FENCE })?;
            }
            let enter = self.arrival(p, iteration, 2);
            let end = reduction.last_enter + REDUCTION + self.lateness(p, iteration);
            let span = Span { enter, begin: enter, end };
            span.write_mpi(ALLREDUCE, CollectiveOp::Allreduce, 8, events)?;
            totals.collectives += 1;
        }
        Ok(totals)
    }
}

/// Generates the archive in a directory, and returns its truth. The directory must not contain an archive yet; it is
/// created if need be. `truth.json` is not written: call [`Truth::write`] for that.
///
/// # Errors
/// If there is an archive already, or files cannot be written.
pub fn generate(
    options: &Options,
    directory: &Path,
    progress: Progress<'_>,
) -> otf2::Result<Truth> {
    let Options { ranks, iterations, seed } = *options;
    let plan = &Plan::new(options);
    let program = Program {
        kind: "sor",
        description: "SOR, synthetic",
        ranks,
        seed,
        options: &[("iterations", iterations)],
        paradigm_name: "ARMCI",
        regions: REGIONS,
        window: "ARMCI memory",
        ..Program::PLAIN
    };
    schedule::generate(program, plan, directory, progress)
}
