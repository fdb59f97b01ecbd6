//! What is known about a synthetic archive: `truth.json` beside it.

use std::io;
use std::path::Path;

use serde::Serialize;

/// Everything known about an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Truth {
    /// Kind of archive: the name of the generator.
    pub kind: String,
    /// The options it was made with.
    pub options: serde_json::Map<String, serde_json::Value>,
    /// What it holds.
    pub totals: Totals,
    /// Severities over all locations, in nanoseconds; absent where no formula is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severities_ns: Option<Severities>,
    /// The same for each rank, in archives that are small enough to list them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub severities_ns_by_rank: Vec<Severities>,
}

/// What an archive holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Locations; one for each rank.
    pub locations: u64,
    /// Events of all kinds.
    pub events: u64,
    /// Get operations.
    pub gets: u64,
    /// Put operations.
    pub puts: u64,
    /// Atomic operations.
    pub atomics: u64,
    /// Bytes that gets fetched.
    pub bytes_get: u64,
    /// Bytes that puts stored.
    pub bytes_put: u64,
    /// Collective operations, counted once for each rank that takes part.
    pub collectives: u64,
    /// Locks acquired.
    pub locks: u64,
    /// Messages sent.
    pub messages: u64,
    /// Bytes of messages sent.
    pub bytes_sent: u64,
    /// Bytes of event files.
    pub event_bytes: u64,
    /// Time of the last event, in nanoseconds from the beginning.
    pub duration_ns: u64,
}

/// Severities in nanoseconds, by the ids of the patterns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Severities {
    /// Waits for a single target to enter a call that progresses.
    pub wait_for_progress: u64,
    /// Waits for several targets.
    pub wait_for_progress_multi: u64,
    /// Waits at barriers for the last to enter.
    pub barrier_wait: u64,
    /// Time in barriers after the first has left.
    pub barrier_completion: u64,
    /// Waits at collectives from all to all for the last to enter.
    pub nxn_wait: u64,
    /// Time in these after the first has left.
    pub nxn_completion: u64,
    /// Waits for a signal that was raised later.
    pub late_signal: u64,
    /// Waits for the last of several partners.
    pub late_partner: u64,
    /// Waits for messages that were sent later.
    pub late_sender: u64,
    /// The part of these during which another message was there.
    pub late_sender_wrong_order: u64,
    /// Waits of sends for receives that were posted later.
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

/// Severities by rank are listed up to this many ranks.
const LISTED: usize = 4096;

impl Truth {
    /// What is known before anything is made.
    pub(crate) fn new(kind: &str, options: &[(&str, u64)]) -> Self {
        let options = options.iter().map(|&(name, value)| (name.into(), value.into())).collect();
        Self { kind: kind.into(), options, ..Self::default() }
    }

    /// Adds severities of all ranks, and lists them one by one unless there are too many.
    pub(crate) fn add_severities(&mut self, by_rank: Vec<Severities>) {
        let mut sum = Severities::default();
        by_rank.iter().for_each(|part| sum += *part);
        self.severities_ns = Some(sum);
        if by_rank.len() <= LISTED {
            self.severities_ns_by_rank = by_rank;
        }
    }

    /// Writes `truth.json` into the directory of the archive.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        dwell_files::write(directory.join("truth.json"), text)
    }
}
