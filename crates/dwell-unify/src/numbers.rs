//! Numbers that each process reports about its recording, and what an archive says from them.
//!
//! They travel with the rows of a process ([`Process::numbers`](crate::unify::Process)), as a list in the order of
//! [`Number`], so that rank 0 can add them up without opening a file of another process.

use crate::unify::Global;

/// A number that a process reports; the value is its place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Calls that were recorded.
    Calls = 0,
    /// Calls that a filter left out, although the recorder followed them.
    LeftOut = 1,
    /// Calls that were lost because recording had stopped.
    Lost = 2,
    /// How far wrong times may be against those of rank 0, in nanoseconds.
    Residual = 3,
    /// Half of the shortest round trip to another node, in nanoseconds; 0 if none was measured.
    HalfRoundTrip = 4,
    /// Half of the shortest round trip on the same node, in nanoseconds; 0 if none was measured.
    HalfRoundTripOnNode = 5,
    /// Bytes of the files of the process.
    Bytes = 6,
    /// Threads that could not be recorded.
    UnrecordedThreads = 7,
    /// Calls that threads made that could not be recorded.
    UnrecordedCalls = 8,
    /// 1 if further calls were lost and nobody counted them.
    Uncounted = 9,
}

/// Length of the list.
const COUNT: usize = Number::Uncounted as usize + 1;

/// Makes the list from the numbers that are known. The others are 0.
pub fn list(known: &[(Number, u64)]) -> Vec<u64> {
    let mut list = vec![0; COUNT];
    for &(number, value) in known {
        if let Some(place) = list.get_mut(number as usize) {
            *place = value;
        }
    }
    list
}

/// The values of a number at all processes that report it.
pub fn of(global: &Global, number: Number) -> impl Iterator<Item = u64> {
    global.processes().filter_map(move |(_, it)| it.numbers.get(number as usize).copied())
}

/// The sum of a number over all processes.
pub fn total(global: &Global, number: Number) -> u64 {
    of(global, number).sum()
}

/// Says in words how many calls are lost because recording had stopped; `None` if there are none.
pub fn lost(global: &Global) -> Option<String> {
    let uncounted = total(global, Number::Uncounted) > 0;
    match (total(global, Number::Lost), uncounted) {
        (0, false) => None,
        (0, true) => Some("an unknown number of calls".into()),
        (calls, false) => Some(format!("{calls} calls")),
        (calls, true) => Some(format!("{calls} calls and an unknown number of others")),
    }
}

/// Says in words how many threads were not recorded and how many calls they made; `None` if there are none.
pub fn unrecorded(global: &Global) -> Option<String> {
    let threads = total(global, Number::UnrecordedThreads);
    let calls = total(global, Number::UnrecordedCalls);
    (threads > 0).then(|| format!("{calls} calls of {threads} threads"))
}
