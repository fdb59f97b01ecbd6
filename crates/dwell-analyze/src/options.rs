//! Resources and choices of an analysis.

use std::path::PathBuf;

use dwell_model::layer::Layer;

/// Callback that reports progress: the argument is the number of events that were read since the previous call, over
/// all locations. The analysis calls it after each window from the thread that called [`analyze`](crate::analyze). The sum of all
/// arguments is [`Analysis::events`](crate::Analysis::events), so a caller that knows the number of events of an archive can show a percentage.
pub type Progress<'p> = &'p (dyn Fn(u64) + Sync);

/// Rule by which the replay cuts a trace into windows of time. The results do not depend on it: a question is answered
/// only when the events read so far decide it. Users keep the default; tests use the other variants to show the
/// independence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// Chooses the length of windows so that one window fits into the memory budget.
    #[default]
    Budget,
    /// Ends a window after this number of nanoseconds of the trace.
    Nanoseconds(u64),
    /// Ends a window after every event, which is slow and meant for tests of small archives.
    EveryEvent,
}

/// Resources and choices of an analysis. [`Options::default`] uses all cores, 2 GiB of memory and the outermost layer.
/// None of the resources changes the results; only the layer does. The struct is non-exhaustive, so set fields of a
/// default value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Number of worker threads; 0 means one thread per available core.
    pub threads: usize,
    /// Memory budget in bytes. The results are not counted, and a budget below [`least_memory`](crate::least_memory) cannot be kept.
    pub memory: u64,
    /// Layer at which waits are judged. `None` selects the outermost layer that has records of operations.
    pub layer: Option<Layer>,
    /// Rule by which the trace is cut into windows.
    pub cut: Cut,
    /// Least number of events of a process of [`analyze_among`](crate::analyze_among) that gets any. With fewer, sending messages would take
    /// longer than reading events.
    pub events_per_rank: u64,
    /// Directory for the dependency log, which is not written if it is `None`. The directory is made if it does not
    /// exist. A log that it has is replaced.
    pub log: Option<PathBuf>,
    /// Whether to search the dependency log for the causes of waits and the critical path, which takes longer than writing it. Without
    /// it the log is written for others to read.
    pub causes: bool,
    /// Whether to predict, from the dependency log, what the run would gain without its longest waits, and the efficiencies that
    /// need a prediction. That plays the run about 15 times, and takes several times as long as everything else.
    pub predict: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 0,
            memory: 2 << 30,
            layer: None,
            cut: Cut::Budget,
            events_per_rank: 1_000_000,
            log: None,
            causes: true,
            predict: false,
        }
    }
}
