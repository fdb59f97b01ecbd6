//! A program of steps, in which something computes longer than the rest: what a timeline of many processes has to show.
//!
//! All ranks start their runtime, compute, and end each step by an all-reduce. Eight ranks share a node.
//!
//! # The schedule
//!
//! Times are nanoseconds. Step s begins at B(s), when the slowest rank has left the all-reduce of the step before. Rank p
//! computes c(p, s) = [`COMPUTE`] + r(p, s), 0 ≤ r < [`SPREAD`], and longer where [`What`] says so; then it enters the
//! all-reduce, which ends [`REDUCTION`] after the last enter.
//!
//! # The answer
//!
//! * `nxn_wait`: the last enter of each all-reduce less the own. `nxn_completion`: 0, all leave it at once.
//! * Causes: all waits of an all-reduce are for what the rank that entered it last computed. See [`Options::costs`].

use std::path::Path;

use otf2::enums::CollectiveOp;
use otf2::event::{Enter, Leave};
use otf2::id::Time;
use otf2::write::EventWriter;
use rayon::prelude::*;

use crate::calls::Span;
use crate::progress::Progress;
use crate::rng;
use crate::schedule::{self, Schedule};
use crate::truth::{Severities, Totals, Truth};
use crate::world::{Program, regions};

/// Nanoseconds that every rank computes in every step.
pub const COMPUTE: u64 = 100_000;
/// Upper bound of the random time that a rank computes longer.
pub const SPREAD: u64 = 8_000;
/// Nanoseconds from the last enter of an all-reduce to its end.
pub const REDUCTION: u64 = 2_000;
/// Ranks that share a node.
pub const RANKS_PER_NODE: u64 = 8;

/// Which part of the program computes longer than the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The ranks of one node, three fifths of the way through the run, compute 30 % longer.
    Node,
    /// One rank, a third of the way, computes a little longer in each step, 80 % in the last.
    Drift,
    /// Every eighth step, the first half of the ranks computes 80 % longer.
    Phase,
}

/// Options of [`generate`]. Together they determine every byte of the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of ranks of the program, at least 2.
    pub ranks: u64,
    /// Number of steps that the program makes.
    pub steps: u64,
    /// Which of its parts is slow.
    pub what: What,
    /// Seed of the random times of computing.
    pub seed: u64,
}

regions! {
    INIT = 1 "MPI_Init" Function "layer=mpi operation=initialise progress=never";
    ALLREDUCE = 2 "MPI_Allreduce" CollAll2all "layer=mpi operation=all_reduce progress=always";
}

impl Options {
    /// Returns whether a rank is among those that are slow.
    pub fn is_slow(&self, rank: u64) -> bool {
        match self.what {
            What::Node => {
                let nodes = self.ranks.div_ceil(RANKS_PER_NODE);
                rank / RANKS_PER_NODE == nodes * 3 / 5
            }
            What::Drift => rank == self.ranks / 3,
            What::Phase => rank < self.ranks / 2,
        }
    }

    /// Returns c(p, s).
    fn compute(&self, rank: u64, step: u64) -> u64 {
        let more = match self.what {
            _ if !self.is_slow(rank) => 0,
            What::Node => 30,
            What::Drift => 80 * step / self.steps.max(1),
            What::Phase if step % 8 == 7 => 80,
            What::Phase => 0,
        };
        COMPUTE + COMPUTE * more / 100 + rng::at(self.seed, [rank, step, 0]) % SPREAD
    }

    /// Returns the waits, over all ranks and in nanoseconds, that the computing of each rank causes. `None` if several ranks
    /// enter an all-reduce last at the same time, so that there is no single answer.
    pub fn costs(&self) -> Option<Vec<u64>> {
        let mut costs = vec![0; self.ranks as usize];
        for step in 0..self.steps {
            let computed: Vec<u64> =
                (0..self.ranks).into_par_iter().map(|it| self.compute(it, step)).collect();
            let longest = computed.iter().copied().max()?;
            let mut last = costs.iter_mut().zip(&computed).filter(|it| *it.1 == longest);
            let (cost, _) = last.next()?;
            *cost += computed.iter().map(|it| longest - it).sum::<u64>();
            if last.next().is_some() {
                return None;
            }
        }
        Some(costs)
    }

    /// Returns the end of the start-up, which takes half of the time of the steps.
    fn start(&self) -> u64 {
        self.steps * COMPUTE / 2
    }
}

/// A step: its begin, and the last enter of its all-reduce.
pub(crate) struct Step {
    begin: u64,
    last: u64,
}

impl Schedule for Options {
    type Step = Step;

    fn steps(&self) -> Vec<Step> {
        let mut begin = self.start();
        let step = |step| {
            let longest = (0..self.ranks).into_par_iter().map(|it| self.compute(it, step)).max();
            let last = begin + longest.unwrap_or(0);
            let it = Step { begin, last };
            begin = last + REDUCTION + crate::calls::INSIDE;
            it
        };
        (0..self.steps).map(step).collect()
    }

    fn duration(&self) -> u64 {
        self.steps().last().map_or(0, |it| it.last + 2 * REDUCTION)
    }

    fn write(&self, p: u64, steps: &[Step], events: &mut EventWriter) -> otf2::Result<Totals> {
        events.write(Time(1), Enter { region: INIT })?;
        events.write(Time(self.start() - 1), Leave { region: INIT })?;
        for (number, step) in (0..).zip(steps) {
            let enter = step.begin + self.compute(p, number);
            let span = Span { enter, begin: enter, end: step.last + REDUCTION };
            span.write_mpi(ALLREDUCE, CollectiveOp::Allreduce, 8, events)?;
        }
        Ok(Totals { collectives: self.steps, ..Totals::default() })
    }

    fn severities(&self, p: u64, steps: &[Step]) -> Severities {
        let wait = |(number, step): (u64, &Step)| step.last - step.begin - self.compute(p, number);
        Severities { nxn_wait: (0..).zip(steps).map(wait).sum(), ..Severities::default() }
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
    let Options { ranks, steps, what, seed } = *options;
    let program = Program {
        kind: "slow",
        description: "Steps with something slow, synthetic",
        ranks,
        seed,
        options: &[("steps", steps), ("what", what as u64)],
        paradigm: otf2::enums::Paradigm::Mpi,
        paradigm_name: "MPI",
        regions: REGIONS,
        ranks_per_node: RANKS_PER_NODE,
        ..Program::PLAIN
    };
    schedule::generate(program, options, directory, progress)
}
