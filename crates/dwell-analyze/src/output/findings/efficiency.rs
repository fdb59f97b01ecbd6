//! How well a run uses its processes: the efficiencies of the POP project, as far as they need no replay.

use dwell_trace::ids::{CallPathNumber, LocationNumber, Ordinal};
use serde::{Deserialize, Serialize};

use super::phase::Phase;
use super::totals::ProgramTotals;
use crate::output::sections::{OwnLocations, Section};

/// Efficiency of a run, by the factors of the [POP](https://pop-coe.eu) project: each is a part of 1. Start-up and
/// shutdown are left out.
///
/// Parallel efficiency is load balance times communication efficiency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Efficiency {
    /// Mean time of computing over all locations, as a part of the length of the run.
    pub parallel: f64,
    /// Mean time of computing, as a part of that of the location which computes longest.
    pub load_balance: f64,
    /// Computing of the location that computes longest, as a part of the length of the run.
    pub communication: f64,
    /// Factors of communication efficiency, or `None` if they were not computed.
    pub factors: Option<Factors>,
}

/// Factors of communication efficiency. They need a prediction of the run without waits for progress, and on an ideal
/// network, on which calls take no time but for waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    /// Computing of the location that computes longest, as a part of the length of the run on an ideal network without waits
    /// for progress: the time that is lost because processes depend on each other.
    pub serialisation: f64,
    /// Length of the run without waits for progress, as a part of its length.
    pub progress: f64,
    /// Length of the run on an ideal network, as a part of its length, both without waits for progress.
    pub transfer: f64,
}

impl Factors {
    /// Returns the factors of a communication efficiency, given the lengths of the run as it was, without waits for progress,
    /// and on an ideal network as well. The last is what is left, so that the product is the efficiency.
    ///
    /// No factor is above 1. Without something that costs time a run is not longer, so a prediction that says so finds no
    /// cost. And no run is shorter than the longest computing, which these changes leave as it is: a prediction below that
    /// is cut there.
    pub(crate) fn of(communication: f64, [recorded, progress, network]: [u64; 3]) -> Option<Self> {
        let [recorded, progress, network] = [recorded, progress, network].map(|it| it as f64);
        let least = communication * recorded;
        let progress = progress.min(recorded).max(least);
        let network = network.min(progress).max(least);
        (least > 0.0).then(|| Self {
            serialisation: least / network,
            progress: progress / recorded,
            transfer: network / progress,
        })
    }
}

/// Times of computing and of the run, over all locations with events.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Times {
    locations: u64,
    /// Computing of all locations, and of the one that computes longest, in nanoseconds.
    computing: u64,
    longest_computing: u64,
    /// Time of the location with the longest run.
    longest: u64,
}

impl Times {
    /// Adds up the times of the locations of a section.
    pub(super) fn of(
        program: &ProgramTotals<'_>,
        own: &OwnLocations<'_>,
        section: &Section,
    ) -> Self {
        let mut locations: Vec<(LocationNumber, u64, u64)> = Vec::new();
        for (number, branch) in (0..).map(CallPathNumber).zip(&program.tree.branches) {
            let is_run = program.phases.get(number.index()) == Some(&Phase::Run);
            let is_computing = branch.class.is_none();
            for &member in section.members(number).iter().filter(|_| is_run) {
                let Some(node) = own.node(member) else { continue };
                let computing = if is_computing { node.time.0 } else { 0 };
                let at = locations.partition_point(|it| it.0 < member.0);
                match locations.get_mut(at).filter(|it| it.0 == member.0) {
                    Some(it) => *it = (it.0, it.1 + node.time.0, it.2 + computing),
                    None => locations.insert(at, (member.0, node.time.0, computing)),
                }
            }
        }
        let mut times = Self::default();
        for (_, run, computing) in locations {
            times.join(Self {
                locations: 1,
                computing,
                longest_computing: computing,
                longest: run,
            });
        }
        times
    }

    pub(super) fn join(&mut self, more: Self) {
        self.locations += more.locations;
        self.computing += more.computing;
        self.longest_computing = self.longest_computing.max(more.longest_computing);
        self.longest = self.longest.max(more.longest);
    }

    /// Returns the efficiencies, or `None` if nothing was computed.
    pub(super) fn efficiency(self) -> Option<Efficiency> {
        let mean = self.computing as f64 / self.locations.max(1) as f64;
        let (most, run) = (self.longest_computing as f64, self.longest as f64);
        (self.longest_computing > 0).then(|| Efficiency {
            parallel: mean / run,
            load_balance: mean / most,
            communication: most / run,
            factors: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Factors, Times};

    #[test]
    fn parallel_efficiency_is_the_product() {
        let one = |run: u64, computing: u64| Times {
            locations: 1,
            computing,
            longest_computing: computing,
            longest: run,
        };
        let mut times = one(100, 80);
        times.join(one(100, 40));
        let found = times.efficiency().unwrap();
        assert!((found.parallel - 0.6).abs() < 1e-12);
        assert!((found.load_balance - 0.75).abs() < 1e-12);
        assert!((found.communication - 0.8).abs() < 1e-12);
        assert_eq!(Times::default().efficiency(), None);
    }

    #[test]
    fn no_factor_is_above_1_and_their_product_is_the_efficiency() {
        for lengths in [[100, 90, 80], [100, 76, 63], [100, 120, 110], [100, 90, 95]] {
            let found = Factors::of(0.8, lengths).unwrap();
            let all = [found.serialisation, found.progress, found.transfer];
            assert!(all.iter().all(|it| *it > 0.0 && *it <= 1.0), "{lengths:?}: {found:?}");
            assert!((all.iter().product::<f64>() - 0.8).abs() < 1e-12, "{lengths:?}: {found:?}");
        }
        assert_eq!(Factors::of(0.8, [0, 0, 0]), None);
    }
}
