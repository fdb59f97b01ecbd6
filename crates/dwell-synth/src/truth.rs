//! The truth about a synthetic archive, as `truth.json` beside it holds it.

use std::io;
use std::path::Path;

use serde::Serialize;

/// Everything known about a synthetic archive. Tests compare the result of the analysis with it.
///
/// [`write`](Self::write) saves it as `truth.json`, an object whose keys are the names of the fields. Counts of
/// nanoseconds and bytes are integers there, so a comparison needs no tolerance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Truth {
    /// Name of the generator: `srumma`, `sor`, `halo`, `ring` or `random`.
    pub kind: String,
    /// The options that the archive was generated with, by name. The same options give the same bytes again.
    pub options: serde_json::Map<String, serde_json::Value>,
    /// Counts of what the archive contains, over all ranks.
    pub totals: Totals,
    /// Severities over all locations, in nanoseconds. Absent for [`random`](crate::random) archives, for which no
    /// formula is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severities_ns: Option<Severities>,
    /// Severities of each rank, in nanoseconds and by rank. Empty if there are more than 4,096 ranks, or no formula is
    /// known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub severities_ns_by_rank: Vec<Severities>,
}

/// Counts of what an archive contains, over all ranks. A reader of the archive must find the same numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Number of locations, one for each rank: every process of a synthetic archive has a single thread.
    pub locations: u64,
    /// Number of events of all kinds in the event files, `Enter` and `Leave` included.
    pub events: u64,
    /// Number of get operations, blocking and non-blocking: as many as there are `RmaGet` records.
    pub gets: u64,
    /// Number of put operations, blocking and non-blocking, those on flags included: as many as there are `RmaPut`
    /// records.
    pub puts: u64,
    /// Number of atomic operations: as many as there are `RmaAtomic` records. Their bytes are not part of these totals.
    pub atomics: u64,
    /// Bytes that all gets fetched: the sum over the `RmaGet` records.
    pub bytes_get: u64,
    /// Bytes that all puts stored: the sum over the `RmaPut` records.
    pub bytes_put: u64,
    /// Number of collective operations, counted once for each rank that takes part: as many as there are records of the
    /// end of a collective.
    pub collectives: u64,
    /// Number of times that a rank acquired a lock (`RmaAcquireLock`). Attempts by `shmem_test_lock` do not count.
    pub locks: u64,
    /// Number of messages that ranks sent: as many as there are `MpiSend` and `MpiIsend` records.
    pub messages: u64,
    /// Bytes of all messages sent: the sum over the `MpiSend` and `MpiIsend` records.
    pub bytes_sent: u64,
    /// Bytes of all event files together. Definitions and the anchor file are not counted.
    pub event_bytes: u64,
    /// Time of the last event, in nanoseconds from the beginning of the trace.
    pub duration_ns: u64,
}

/// Severities of wait states in nanoseconds. The fields have the ids of the patterns in the analysis; a pattern that
/// the archive cannot contain is 0. The modules of the generators have the formulas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Severities {
    /// Time in which an operation waits for its single target to enter a call that serves requests.
    pub wait_for_progress: u64,
    /// Time in which a call that completes operations on several targets waits for one of them to serve requests.
    pub wait_for_progress_multi: u64,
    /// Time in which ranks wait in barriers for the last rank to enter: the last enter less the own, over all barriers.
    pub barrier_wait: u64,
    /// Time that ranks spend in barriers after the first rank has left: the own end less the earliest, over all
    /// barriers.
    pub barrier_completion: u64,
    /// Time in which ranks wait in all-to-all collectives, such as an all-reduce, for the last rank to enter.
    pub nxn_wait: u64,
    /// Time that ranks spend in all-to-all collectives after the first rank has left.
    pub nxn_completion: u64,
    /// Time in which ranks wait for a signal, notification or flag that another rank raises later.
    pub late_signal: u64,
    /// Time in which ranks wait for the last of several partners in a synchronisation with these partners only.
    pub late_partner: u64,
    /// Time in which receives, and calls that complete them, wait for messages that are sent later.
    pub late_sender: u64,
    /// The part of `late_sender` during which another message to the same rank was already sent, and is received later.
    pub late_sender_wrong_order: u64,
    /// Time in which blocking sends wait for receives that are posted later: from the enter of the send to the post of
    /// the receive.
    pub late_receiver: u64,
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.locations += other.locations;
        self.events += other.events;
        self.gets += other.gets;
        self.puts += other.puts;
        self.atomics += other.atomics;
        self.bytes_get += other.bytes_get;
        self.bytes_put += other.bytes_put;
        self.collectives += other.collectives;
        self.locks += other.locks;
        self.messages += other.messages;
        self.bytes_sent += other.bytes_sent;
        self.event_bytes += other.event_bytes;
        self.duration_ns = self.duration_ns.max(other.duration_ns);
    }
}

impl std::ops::AddAssign for Severities {
    fn add_assign(&mut self, other: Self) {
        self.wait_for_progress += other.wait_for_progress;
        self.wait_for_progress_multi += other.wait_for_progress_multi;
        self.barrier_wait += other.barrier_wait;
        self.barrier_completion += other.barrier_completion;
        self.nxn_wait += other.nxn_wait;
        self.nxn_completion += other.nxn_completion;
        self.late_signal += other.late_signal;
        self.late_partner += other.late_partner;
        self.late_sender += other.late_sender;
        self.late_sender_wrong_order += other.late_sender_wrong_order;
        self.late_receiver += other.late_receiver;
    }
}

/// The largest number of ranks for which severities are listed by rank.
const LISTED: usize = 4096;

impl Truth {
    /// Creates the truth of an archive before its generation: kind and options.
    pub(crate) fn new(kind: &str, options: &[(&str, u64)]) -> Self {
        let options = options.iter().map(|&(name, value)| (name.into(), value.into())).collect();
        Self { kind: kind.into(), options, ..Self::default() }
    }

    /// Adds the severities of all ranks, and lists them by rank unless there are too many.
    pub(crate) fn add_severities(&mut self, by_rank: Vec<Severities>) {
        let mut sum = Severities::default();
        by_rank.iter().for_each(|part| sum += *part);
        self.severities_ns = Some(sum);
        if by_rank.len() <= LISTED {
            self.severities_ns_by_rank = by_rank;
        }
    }

    /// Writes `truth.json` into the directory of the archive. The text ends with a newline and is the same for the same
    /// truth.
    ///
    /// # Errors
    /// Returns the error of the operating system, if the file cannot be written.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        dwell_files::write(directory.join("truth.json"), text)
    }
}
