//! Statistics that each process reports about its recording, and the sentences about them in an archive.
//!
//! The numbers travel with the row of a process ([`Process::numbers`](crate::unify::Process)), as a list in the order
//! of [`Statistic`], so that rank 0 can add them up without opening a file of another process.

use crate::unify::Global;

/// A number that a process reports about its recording. The discriminant is the position in the list that travels, so
/// new numbers must be added at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Number of calls that were recorded.
    Calls = 0,
    /// Number of calls that a filter excluded after the recorder had followed them.
    LeftOut = 1,
    /// Number of calls that were lost because recording had stopped.
    Lost = 2,
    /// Bound on the error of the times of the process relative to the clock of rank 0, in nanoseconds.
    Residual = 3,
    /// Half of the shortest round trip to another node, in nanoseconds; 0 if none was measured.
    HalfRoundTrip = 4,
    /// Half of the shortest round trip on the same node, in nanoseconds; 0 if none was measured.
    HalfRoundTripOnNode = 5,
    /// Total size of the files of the process, in bytes.
    Bytes = 6,
    /// Number of threads that could not be recorded.
    UnrecordedThreads = 7,
    /// Number of calls made by threads that could not be recorded.
    UnrecordedCalls = 8,
    /// 1 if further calls were lost that were not counted, otherwise 0.
    Uncounted = 9,
    /// Number of calls that were summed up.
    Summed = 10,
    /// Length in nanoseconds from which calls were not summed up; 0 if none was.
    Short = 11,
    /// Number of calls inside calls of other layers that were counted.
    Inner = 12,
    /// Nanoseconds that recording took.
    Spent = 13,
    /// Nanoseconds that the process spent on cores while it was recorded, plus 1; 0 if that is not known.
    OnCore = 14,
    /// Nanoseconds that its threads were ready to run without a core, plus 1; 0 if that is not known.
    Ready = 15,
}

/// Number of entries in the list.
const COUNT: usize = Statistic::Ready as usize + 1;

/// Makes the list of numbers of a process, in the order of [`Statistic`], from those that are known. All others are 0.
pub fn list(known: &[(Statistic, u64)]) -> Vec<u64> {
    let mut list = vec![0; COUNT];
    for &(number, value) in known {
        if let Some(place) = list.get_mut(number as usize) {
            *place = value;
        }
    }
    list
}

/// Iterates over the values of one number, in the order of ranks. Processes whose list is too short to have it are
/// skipped: missing processes have no list at all.
pub fn of(global: &Global, number: Statistic) -> impl Iterator<Item = u64> {
    global.processes().filter_map(move |(_, it)| it.numbers.get(number as usize).copied())
}

/// Returns the sum of one number over all processes that report it.
pub fn total(global: &Global, number: Statistic) -> u64 {
    of(global, number).sum()
}

/// Returns the largest value of one number among all processes that report it.
pub fn most(global: &Global, number: Statistic) -> u64 {
    of(global, number).max().unwrap_or(0)
}

/// Describes in words, for the archive, how many calls are lost because recording had stopped. Returns `None` if none
/// are lost.
pub fn lost(global: &Global) -> Option<String> {
    let uncounted = total(global, Statistic::Uncounted) > 0;
    match (total(global, Statistic::Lost), uncounted) {
        (0, false) => None,
        (0, true) => Some("an unknown number of calls".into()),
        (calls, false) => Some(format!("{calls} calls")),
        (calls, true) => Some(format!("{calls} calls and an unknown number of others")),
    }
}

/// Describes in words, for the archive, how many threads were not recorded and how many calls they made. Returns `None`
/// if all threads were recorded.
pub fn unrecorded(global: &Global) -> Option<String> {
    let threads = total(global, Statistic::UnrecordedThreads);
    let calls = total(global, Statistic::UnrecordedCalls);
    (threads > 0).then(|| format!("{calls} calls of {threads} threads"))
}
