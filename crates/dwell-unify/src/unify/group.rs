//! Groups of processes as runs of ranks at equal distances.
//!
//! A world of 300,000 processes is one run, and so are the processes of a node, a row of a grid and a
//! column. A group takes memory, and bytes on its way to rank 0, for its runs and not for its members.

use super::wire::{Damaged, Input, put, put_step};

/// Members of a group whose ranks are at equal distances: `start`, `start + stride`, and so on, `count` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Run {
    /// Rank of the first member.
    pub start: u64,
    /// Difference from each member to the next, which may be negative.
    pub stride: i64,
    /// Number of members of the run.
    pub count: u64,
}

impl Run {
    /// Returns the member at position `place`, without a check against the count. Arithmetic wraps around.
    fn at(&self, place: u64) -> u64 {
        self.start.wrapping_add((self.stride as u64).wrapping_mul(place))
    }
}

/// An ordered list of processes.
///
/// However it was made, the same list of members has the same runs: going through the list, three or
/// more members at equal distances are a run, as long as it gets; any other member is a run of its
/// own.
///
/// ```
/// use dwell_unify::unify::Group;
///
/// let odd = Group::strided(4, 1, 2, 500);
/// let members: Vec<u64> = (0..500).map(|i| 1 + 2 * i).collect();
/// assert_eq!(odd, Group::from_members(4, &members));
/// assert_eq!(odd.runs().len(), 1);
/// assert_eq!(odd.member(499), Some(999));
/// ```
///
/// # Limits
/// A rectangle of a grid has a run for each of its rows. Members in no order at all take a run each:
/// 24 bytes in memory, three to five on the way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    paradigm: u8,
    runs: Vec<Run>,
}

impl Group {
    /// Makes a group without members. In an archive it stands for all processes that can be a member of a group of the
    /// paradigm.
    pub fn empty(paradigm: u8) -> Self {
        Self { paradigm, runs: Vec::new() }
    }

    /// Makes the group of `MPI_COMM_SELF`: it has one member, the process that uses it. One definition serves every
    /// process.
    pub fn itself(paradigm: u8) -> Self {
        Self::strided(paradigm, u64::MAX, 1, 1)
    }

    /// Returns `true` for groups made by [`itself`](Self::itself), whose only member is the process that uses the
    /// group.
    pub fn is_itself(&self) -> bool {
        matches!(*self.runs, [Run { start: u64::MAX, count: 1, .. }])
    }

    /// Makes the group of the processes 0 to `size` − 1, such as that of `MPI_COMM_WORLD` or `SHMEM_TEAM_WORLD`.
    pub fn world(paradigm: u8, size: u64) -> Self {
        Self::strided(paradigm, 0, 1, size)
    }

    /// Makes the group of the `size` processes `start`, `start + stride`, `start + 2·stride` and so on, as OpenSHMEM
    /// describes a team or an active set.
    pub fn strided(paradigm: u8, start: u64, stride: i64, size: u64) -> Self {
        Self::from_runs(paradigm, [Run { start, stride, count: size }])
    }

    /// Makes a group from a list of members and keeps their order. The group takes memory for its runs, not for its
    /// members.
    pub fn from_members(paradigm: u8, members: &[u64]) -> Self {
        Self::collect(paradigm, members.iter().copied())
    }

    /// Makes a group from an iterator over its members and keeps their order. Unlike
    /// [`from_members`](Self::from_members), this function does not need the whole list in memory.
    pub fn collect(paradigm: u8, members: impl IntoIterator<Item = u64>) -> Self {
        let mut builder = Builder::default();
        for member in members {
            builder.push(member);
        }
        Self { paradigm, runs: builder.finish() }
    }

    /// Makes a group from runs that follow each other. The runs are normalised, so that two groups of the same members
    /// in the same order are equal whichever runs they were made from.
    pub fn from_runs(paradigm: u8, runs: impl IntoIterator<Item = Run>) -> Self {
        let mut builder = Builder::default();
        for run in runs {
            builder.push_run(run);
        }
        Self { paradigm, runs: builder.finish() }
    }

    /// Returns the communication software that the group belongs to, as a number of `OTF2_Paradigm`.
    pub fn paradigm(&self) -> u8 {
        self.paradigm
    }

    /// Returns the members as runs, in the one form that a list of members has.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Returns the number of members; the sum saturates. Callers must check it before they iterate over
    /// [`members`](Self::members) of a group that came from a file: a damaged group may claim any number.
    pub fn size(&self) -> u64 {
        self.runs.iter().fold(0, |sum: u64, run| sum.saturating_add(run.count))
    }

    /// Iterates over the members in the order of the group, which is the order of ranks in its communicator.
    pub fn members(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs.iter().flat_map(|run| (0..run.count).map(|place| run.at(place)))
    }

    /// Returns the member at position `place`, that is, with this rank in the communicator of the group. Returns `None`
    /// if the group has no such position.
    pub fn member(&self, mut place: u64) -> Option<u64> {
        for run in &self.runs {
            if place < run.count {
                return Some(run.at(place));
            }
            place -= run.count;
        }
        None
    }

    /// Returns the number of bytes that the group takes in a message of the unification tree. The function encodes the
    /// group to find out, so it is meant for measurements.
    pub fn travelling_bytes(&self) -> usize {
        let mut out = Vec::new();
        self.encode(&mut out);
        out.len()
    }

    /// Writes paradigm and number of runs, then for each run its count, its start as a step from the last start, and
    /// the stride as a step from 1 if the count is above 1.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.paradigm);
        put(out, self.runs.len() as u64);
        let mut last = 0;
        for run in &self.runs {
            put(out, run.count);
            put_step(out, last, run.start);
            if run.count > 1 {
                put_step(out, 1, run.stride as u64);
            }
            last = run.start;
        }
    }

    pub(super) fn decode(input: &mut Input<'_>) -> Result<Self, Damaged> {
        let paradigm = input.byte("paradigm of a group")?;
        let count = input.count(2, "number of runs of a group")?;
        let mut builder = Builder::default();
        let mut last = 0;
        for _ in 0..count {
            let count = input.number("length of a run")?;
            let start = input.step(last, "start of a run")?;
            let stride = if count > 1 { input.step(1, "stride of a run")? as i64 } else { 1 };
            builder.push_run(Run { start, stride, count });
            last = start;
        }
        Ok(Self { paradigm, runs: builder.finish() })
    }
}

/// Finds the runs of a list as it comes.
#[derive(Default)]
struct Builder {
    /// Runs that are complete.
    runs: Vec<Run>,
    /// A run of three or more that may be extended.
    open: Option<Run>,
    /// If no run is open: the last members, two at most.
    first: Option<u64>,
    second: Option<u64>,
}

impl Builder {
    fn push(&mut self, member: u64) {
        if let Some(run) = &mut self.open {
            if member == run.at(run.count) && run.count < u64::MAX {
                run.count += 1;
                return;
            }
            self.runs.extend(self.open.take());
        }
        match (self.first, self.second) {
            (None, _) => self.first = Some(member),
            (Some(_), None) => self.second = Some(member),
            (Some(first), Some(second)) => {
                let stride = second.wrapping_sub(first);
                if member.wrapping_sub(second) == stride {
                    self.open = Some(Run { start: first, stride: stride as i64, count: 3 });
                    (self.first, self.second) = (None, None);
                } else {
                    self.runs.push(single(first));
                    (self.first, self.second) = (Some(second), Some(member));
                }
            }
        }
    }

    /// Adds a run as if its members were pushed one by one. After four of them the open run has their stride, whatever
    /// came before, and the rest only increases its count.
    fn push_run(&mut self, run: Run) {
        for place in 0..run.count.min(4) {
            self.push(run.at(place));
        }
        let Some(rest) = run.count.checked_sub(4) else { return };
        if let Some(open) = &mut self.open {
            open.count = open.count.saturating_add(rest);
        }
    }

    fn finish(mut self) -> Vec<Run> {
        self.runs.extend(self.open);
        self.runs.extend(self.first.map(single));
        self.runs.extend(self.second.map(single));
        self.runs
    }
}

fn single(start: u64) -> Run {
    Run { start, stride: 1, count: 1 }
}
