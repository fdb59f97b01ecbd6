//! `findings.json`: the types of the document that `dwell analyze` writes beside a report, its writer and its reader.
//!
//! These types are the only description of the format. The JSON Schema `docs/src/findings.schema.json`, the reference
//! `docs/src/findings.md` in the book and the types of the page in `web/src/findings.ts` are generated from them.
//!
//! * All times are seconds, summed over all locations unless a field says otherwise.
//! * Fields are declared in alphabetical order, because they are written in the order of their declaration and the
//!   file has its keys sorted.
//! * A new field needs no new version: readers ignore fields they do not know, and take the default of a field that is
//!   missing. A field that changes its meaning, or goes, needs a new [`VERSION`], and [`read`](Findings::read) must
//!   keep reading the older ones.

#[macro_use]
mod define;

pub mod causes;
mod checksum;
pub mod counters;
mod evidence;
pub mod gain;
mod ids;
mod iterations;
mod read;
mod samples;
#[cfg(test)]
mod tests;
mod verdict;
pub mod words;

pub use evidence::Evidence;
pub use ids::Named;
pub(crate) use iterations::compared;
pub use iterations::{IterationChange, IterationChangeKind, IterationTimes, Iterations};
pub use read::Unreadable;
pub use samples::{Computed, FunctionTime, FunctionTimes, Sampled};
pub use verdict::{Kind, Loss, Point, Verdict};

use serde::{Deserialize, Serialize};

/// Version of the format that [`Findings::to_json`] writes. [`Findings::read`] accepts this version and all before it.
///
/// Version 1 had neither entries nor the times of start-up, run and shutdown.
pub const VERSION: u32 = 2;

objects! {
    /// The findings of one run, as `dwell analyze` writes them into `findings.json`.
    Findings {
        /// What processes did in the run that made others wait, what cost most first, down to 0.1 % of the run. Empty if
        /// the analysis was told not to search for causes.
        causes: Vec<Cause>,
        /// CRC-32 of all bytes of the document with zeros in place of these eight hexadecimal digits. `dwell` reports a
        /// document with another one as damaged; other programs may ignore it. Empty in documents of earlier versions.
        checksum: String,
        /// Greatest error of a wait between nodes by their corrected clocks; null if the run used one node.
        clock_residual_seconds: Option<f64>,
        /// Call paths of the run with most time on the critical path, which is the path through all processes that
        /// determines the length of the run; at most 5. Empty if the analysis was told not to search for causes.
        critical_path: Vec<Critical>,
        /// Nodes with more processes than cores.
        crowds: Vec<Crowd>,
        /// Defects of the archive, such as an event file that ends early: the first 20, and the number of all others
        /// as the last text. If there are any, `dwell analyze` exits with 1.
        damage: Vec<String>,
        /// How well the run uses its processes; null if nothing was computed in it.
        efficiency: Option<Efficiency>,
        /// Call paths that wait. Those of the run come first, then start-up, then shutdown; within a phase, the entry
        /// with the greatest gain comes first: the predicted one, or the middle of its bounds where there is none.
        entries: Vec<Entry>,
        /// Number of events in the archive.
        events: u64,
        /// Waits, in the order of the entries that list them.
        findings: Vec<Finding>,
        /// Functions in which the program computes; null if the run was recorded without samples, or if the analysis was told
        /// not to search for causes.
        functions: Option<FunctionTimes>,
        /// Communication of the run that could take less time although no process waits, the greatest saving first.
        inefficient: Vec<Inefficiency>,
        /// Iterations of the run; null if the program does not repeat itself, or if the analysis was told not to search for
        /// causes.
        iterations: Option<Iterations>,
        /// Time from the first event to the last, in seconds of one clock.
        length_seconds: f64,
        /// Number of locations, which are threads of processes.
        locations: u64,
        /// Patterns that could not be computed, for all calls or for some.
        not_computed: Vec<NotComputed>,
        /// Time of all processes on cores while they were recorded, with that of threads that are no locations; null if the
        /// archive does not state it.
        on_core_seconds: Option<f64>,
        /// Phases that the program declares, such as the iterations of its main loop; the longest first.
        phases: Vec<ProgramPhase>,
        /// Loops over calls that ask whether something has happened, as far as their time is no wait, the longest first.
        polling: Vec<Polling>,
        /// Time of polling loops of the run that is no wait. It overlaps `transfer_seconds` and `unexplained_seconds`.
        polling_seconds: f64,
        /// Number of processes in the archive.
        processes: u64,
        /// Time of all processes in which threads were ready to run but had no core; null if the archive does not state it.
        ready_seconds: Option<f64>,
        /// Part of `time_seconds` outside of start-up and shutdown. Shares refer to it.
        run_seconds: f64,
        /// Part of `time_seconds` in calls that end a runtime.
        shutdown_seconds: f64,
        /// Part of `time_seconds` in calls that start a runtime.
        startup_seconds: f64,
        /// Time of the program, which is the sum of start-up, run and shutdown.
        time_seconds: f64,
        /// Time that calls of the run need if nothing delays them.
        transfer_seconds: f64,
        /// Call paths with time that neither waits nor transfers explain, where it is a finding or a tenth of the run, or
        /// where targets were away; the longest first.
        unexplained: Vec<Unexplained>,
        /// Time in calls of the run that neither waits nor transfers explain.
        unexplained_seconds: f64,
        /// What the run loses time to, and what to change first.
        verdict: Verdict,
        /// Version of the format of this document.
        version: u32,
        /// Lower bound of all waits of the run.
        waits_seconds: f64,
        /// Upper bound of all waits of the run.
        waits_seconds_at_most: f64,
    }

    /// A call path with time on the critical path.
    Critical {
        /// Number of the call path in `trace.cubex`.
        call_path: u32,
        /// True if it is a call of a runtime, and false if the program ran its own code.
        is_call: bool,
        /// Calls from the outermost to the one on the critical path.
        path: Vec<Step>,
        /// Time on the critical path.
        seconds: f64,
        /// The time as a part of the critical path without start-up and shutdown, from 0 to 1.
        share: f64,
    }

    /// How well a run uses its processes, without start-up and shutdown: the factors of the POP project, each a part of 1.
    Efficiency {
        /// Computing of the location that computes longest, as a part of the length of the run.
        communication: f64,
        /// Mean computing of all locations, as a part of that of the location which computes longest.
        load_balance: f64,
        /// Mean computing of all locations, as a part of the length of the run: the product of the other two.
        parallel: f64,
        /// Predicted length of the run without waits for progress, as a part of its length; null if it was not computed.
        progress: Option<f64>,
        /// Computing of the location that computes longest, as a part of the predicted length of the run on an ideal network
        /// without waits for progress; null if it was not computed.
        serialisation: Option<f64>,
        /// Predicted length of the run on an ideal network, as a part of its length, both without waits for progress; null if
        /// it was not computed. Serialisation, progress and transfer multiply to communication.
        transfer: Option<f64>,
    }

    /// A phase that the program declares.
    ProgramPhase {
        /// How well the phase uses the locations that take part in it. Its factors are null. Null if nothing was computed in it,
        /// or if it had more instances than are kept apart.
        efficiency: Option<Efficiency>,
        /// Number of instances that are kept apart by their numbers.
        instances: u64,
        /// Name of the phase, which may be on several call paths.
        name: String,
        /// Sum over the instances of the latest end minus the earliest begin at any location.
        seconds: f64,
    }

    /// By how much the run would be shorter without the waits of an entry, as predicted. It is below 0 if the run would be
    /// longer.
    Gain {
        /// Why the gain cannot be predicted; null if it can.
        reason: Option<String>,
        /// Gain that is predicted if waits are as long as their lower bounds; null if it cannot be predicted.
        seconds: Option<f64>,
        /// Least gain over everything that is uncertain.
        seconds_at_least: Option<f64>,
        /// Greatest gain over everything that is uncertain.
        seconds_at_most: Option<f64>,
    }

    /// Something that processes did and that made others wait.
    Cause {
        /// The last call of a runtime before the computing; null if there was none, and for calls.
        after: Option<Step>,
        /// The first call of a runtime after the computing; null if there was none, and for calls.
        before: Option<Step>,
        /// Number of the call path in `trace.cubex`; null if nothing is known about it.
        call_path: Option<u32>,
        /// Time that the process which caused most spent computing there, or the mean over `node`; null for calls.
        computing_seconds: Option<f64>,
        /// Counters of that computing, and why it took longer than that of others; null for calls, and if nothing was counted.
        counters: Option<Counters>,
        /// Part of `seconds` that are waits for these processes. The rest are waits for others that waited for them.
        direct_seconds: f64,
        /// Predicted gain if the work was divided evenly over all that do it, or without the waits where the cause is no such
        /// work; null if it was not predicted, as for all causes but the first.
        gain: Option<Gain>,
        /// Letters by which the list of `dwell analyze` and all commands name the cause.
        id: String,
        /// Time by which the waits may be longer or shorter than `seconds`, which adds up the middles of their bounds.
        margin_seconds: f64,
        /// Node whose processes stand out, while no single one does; null if there is none.
        node: Option<String>,
        /// Mean time that other locations spent computing there; null if no other did, and for calls.
        others_seconds: Option<f64>,
        /// Calls from the outermost to the one that computed or communicated.
        path: Vec<Step>,
        /// Processes that caused most, most first; at most 5.
        processes: Vec<Share>,
        /// Functions that take that computing; null for calls, and if the run was not recorded with samples.
        sampled: Option<Sampled>,
        /// Waits that it caused, over all locations.
        seconds: f64,
        /// The waits as a part of `run_seconds`, from 0 to 1; null for a run without time.
        share: Option<f64>,
        /// True if the cost is spread over many processes, and neither the first of them nor a node stands out.
        spread: bool,
        /// Waits that it caused, by call path and kind, the longest first; at most 5.
        waits: Vec<Caused>,
        /// What the processes did.
        what: Activity,
    }

    /// Counters of the computing that caused waits, at the process that caused most.
    Counters {
        /// Time on a core, in seconds; null if it was not counted, as for all others.
        cpu_seconds: Option<Compared>,
        /// Cycles of the core during the computing.
        cycles: Option<Compared>,
        /// Instructions that were executed.
        instructions: Option<Compared>,
        /// Context switches because another thread got the core.
        involuntary_switches: Option<Compared>,
        /// Page faults, with and without input or output.
        page_faults: Option<Compared>,
        /// What the process took longer for than others, most first. Empty if no other process computes there, if it took no
        /// longer, or if neither time on a core nor instructions were counted.
        reasons: Vec<Reason>,
        /// Context switches because the process waited in the system.
        voluntary_switches: Option<Compared>,
    }

    /// A counter of a process beside others.
    Compared {
        /// Mean of all other locations that compute there; null if there are none.
        others: Option<f64>,
        /// Value at the process that caused most.
        own: f64,
    }

    /// Part of the time by which a process computed longer than others.
    Reason {
        /// Length of the part.
        seconds: f64,
        /// What the time went to.
        why: Why,
    }

    /// Waits at one call path that something caused.
    Caused {
        /// The call that waited.
        call: Step,
        /// Number of its call path in `trace.cubex`.
        call_path: u32,
        /// Part of `seconds` that are waits for the processes that did it.
        direct_seconds: f64,
        /// Id of the wait, or `polling` for a polling loop.
        pattern: String,
        /// Waits that it caused here.
        seconds: f64,
    }

    /// All findings of one call path.
    Entry {
        /// Positions in the list of findings, counted from 0.
        findings: Vec<u32>,
        /// Gain without these waits; null if it was not computed.
        gain: Option<Gain>,
        /// Number by which the list of `dwell analyze` and all commands name the waits of the call path.
        id: u32,
        /// Phase of the program that the call path belongs to.
        phase: Phase,
        /// Sum of the lower bounds of the findings.
        seconds: f64,
        /// Sum of the upper bounds of the findings.
        seconds_at_most: f64,
        /// Lower bound as a part of `run_seconds`, from 0 to 1; null for start-up and shutdown.
        share: Option<f64>,
        /// Upper bound as a part of `run_seconds`; null for start-up and shutdown.
        share_at_most: Option<f64>,
        /// True if the middle of both bounds is less than 0.1 % of `run_seconds`.
        small: bool,
    }

    /// One kind of wait on one call path.
    Finding {
        /// Number of the call path in `trace.cubex`.
        call_path: u32,
        /// Number of calls that waited, or may have waited.
        calls: u64,
        /// Certainty of the bounds of this wait.
        #[cfg_attr(test, schemars(with = "Confidence"))]
        confidence: Option<Confidence>,
        /// Explanation of the wait in plain words, without a full stop.
        explanation: String,
        /// Number of the entry that lists this wait.
        id: u32,
        /// Least time that a request was assumed to travel, for waits for progress: 0 if it is not known. Null for other waits.
        latency_seconds: Option<f64>,
        /// Layer of the call that waits, such as `shmem` or `mpi`.
        layer: String,
        /// Number of locations that wait.
        locations: u64,
        /// Lower bound of the mean wait of a call that waited; null if there is no such call.
        mean_seconds: Option<f64>,
        /// Upper bound of the mean wait of a call that waited; null if there is no such call.
        mean_seconds_at_most: Option<f64>,
        /// Unique name of the metric in `trace.cubex` that has this wait. If the lower bound is 0, it is the metric
        /// of upper bounds.
        metric: String,
        /// Processes that wait longest, longest first; at most 5.
        origins: Vec<Share>,
        /// Calls from the outermost to the one that waits.
        path: Vec<Step>,
        /// Inclusive time of the call path, which contains the wait.
        path_seconds: f64,
        /// Id of the wait, such as `wait_for_progress`. The reference of waits lists all.
        pattern: String,
        /// Phase of the program that the call belongs to.
        phase: Phase,
        /// Advice on what to change, in full sentences.
        remedy: String,
        /// Lower bound of the waiting time.
        seconds: f64,
        /// Upper bound of the waiting time.
        seconds_at_most: f64,
        /// Part of the wait, at most, in which the calls may have served operations of other processes; null for waits that are
        /// not for progress. Calls of less than 20 µs are left out.
        served_seconds_at_most: Option<f64>,
        /// Lower bound as a part of `run_seconds`, from 0 to 1; null for start-up and shutdown.
        share: Option<f64>,
        /// Upper bound as a part of `run_seconds`; null for start-up and shutdown.
        share_at_most: Option<f64>,
        /// Processes that are waited for longest, longest first; at most 5, and none if the archive does not say
        /// who. In runs of more than 1,024 processes these are nodes.
        targets: Vec<Share>,
        /// Number of visits of the call path.
        visits: u64,
        /// The longest wait of a single call; null if it is not known.
        worst: Option<Instance>,
    }

    /// The wait of a single call.
    Instance {
        /// Begin of the wait, in seconds after the first event.
        begin_seconds: f64,
        /// Activity of the process that was waited for, during the wait; null if it is not known.
        meanwhile: Option<Meanwhile>,
        /// Process that was waited for; null if it is not known.
        on_whom: Option<String>,
        /// Length of the wait; its upper bound if there are two bounds.
        seconds_at_most: f64,
        /// Process that waited.
        who: String,
        /// Name of the window that the operation accessed, for waits for progress; null if it is not known.
        window: Option<String>,
    }

    /// Activity of a process during a wait of another one.
    Meanwhile {
        /// Calls of runtimes, the longest first; at most 5.
        calls: Vec<Doing>,
        /// Time outside of all calls of runtimes.
        computing_seconds: f64,
    }

    /// Calls of one region at one place that a process made.
    Doing {
        /// Function that contains the call; null if it is not known.
        caller: Option<String>,
        /// Number of calls that the process made during the wait.
        #[cfg_attr(test, ts(type = "number"))]
        calls: u64,
        /// Column of the call, where several calls are on one line; otherwise null.
        column: Option<u32>,
        /// Source file of the call; null if it is not known.
        file: Option<String>,
        /// Line of the call, counted from 1; null if it is not known.
        line: Option<u32>,
        /// Position among the calls of the same function on this line, counted from 1 in the order of their first
        /// calls, where several are on one line and columns are not known; otherwise null.
        nth_on_line: Option<u32>,
        /// True if the calls served no requests of others because they acted on their own process.
        on_itself: bool,
        /// True if the calls served no requests although calls of this function do or may, because the operation
        /// outlived at least ten of them.
        outlived: bool,
        /// Name of the function that was called.
        region: String,
        /// Time in the calls during the wait.
        seconds: f64,
        /// Tells whether the calls carry out operations of other processes.
        serves_others: Serves,
    }

    /// One call on a call path.
    Step {
        /// Function that contains the call; null if it is not known.
        caller: Option<String>,
        /// Column of the call, where several calls are on one line; otherwise null.
        column: Option<u32>,
        /// Source file of the call; null if it is not known.
        file: Option<String>,
        /// Line of the call, counted from 1; null if it is not known.
        line: Option<u32>,
        /// Position among the calls of the same function on this line, counted from 1 in the order of their first
        /// calls, where several are on one line and columns are not known; otherwise null.
        nth_on_line: Option<u32>,
        /// Name of the function that was called, or of another region of the program.
        region: String,
        /// Name of the wrapper library that is called here and makes the call, such as `mpi4py`; null if there is none.
        through: Option<String>,
    }

    /// The part of one process or node in a time.
    Share {
        /// Lower bound of the part.
        seconds: f64,
        /// Upper bound of the part.
        seconds_at_most: f64,
        /// Name of the process, or of the node if the run has too many processes to list.
        who: String,
    }

    /// Communication on one call path that another way of calling the runtime would make faster.
    Inefficiency {
        /// Number of the call path in `trace.cubex`.
        call_path: u32,
        /// Number of calls that the program could avoid or replace.
        calls: u64,
        /// Measurements of this run that show it.
        evidence: Evidence,
        /// Explanation in plain words, without a full stop.
        explanation: String,
        /// Number by which the list of `dwell analyze` and all commands name it; entries have the other numbers.
        id: u32,
        /// Layer of the calls, such as `shmem` or `mpi`.
        layer: String,
        /// Number of locations that could save time.
        locations: u64,
        /// Processes that could save most, most first.
        origins: Vec<Share>,
        /// Calls from the outermost to the inefficient one.
        path: Vec<Step>,
        /// Inclusive time of the call path.
        path_seconds: f64,
        /// Id of the pattern, such as `hot_target`.
        pattern: String,
        /// Advice on what to change, in full sentences.
        remedy: String,
        /// Lower bound of the time that could be saved.
        seconds: f64,
        /// Upper bound of the time that could be saved.
        seconds_at_most: f64,
        /// Lower bound as a part of `run_seconds`, from 0 to 1; null for a run without time.
        share: Option<f64>,
        /// Upper bound as a part of `run_seconds`; null for a run without time.
        share_at_most: Option<f64>,
        /// Number of visits of the call path.
        visits: u64,
    }

    /// Time of one call path beyond its waits and beyond the time that comparable calls take.
    Unexplained {
        /// Time during which targets of operations were in no call that progresses them, although operations of the
        /// same class need no help of their targets.
        away_seconds: f64,
        /// Number of the call path in `trace.cubex`.
        call_path: u32,
        /// Nodes of the origins that have more processes than cores.
        crowds: Vec<Crowd>,
        /// True if the time is large enough to be a finding: at least 1 % of `time_seconds`.
        is_finding: bool,
        /// Layer of the calls, such as `shmem` or `mpi`.
        layer: String,
        /// Number of locations with unexplained time.
        locations: u64,
        /// Process that made the call of `longest_seconds`; null if no call was longer than others of its class.
        longest_at: Option<String>,
        /// Least excess of the longest call over others of its class; null if no call was longer.
        longest_seconds: Option<f64>,
        /// Processes with the most unexplained time, most first.
        origins: Vec<Share>,
        /// Calls from the outermost to the one with unexplained time.
        path: Vec<Step>,
        /// Inclusive time of the call path.
        path_seconds: f64,
        /// Time that neither waits nor transfers explain.
        seconds: f64,
        /// Processes or nodes that were away longest, longest first. Their shares are parts of `away_seconds`.
        targets: Vec<Share>,
        /// Part of `seconds` in calls that are too few of their class to know how long such calls take.
        too_few_seconds: f64,
        /// Time that comparable calls take if nothing delays them.
        transfer_seconds: f64,
        /// Number of visits of the call path.
        visits: u64,
    }

    /// A node with more processes than cores.
    Crowd {
        /// Number of cores that the processes may use together.
        cores: u32,
        /// Name of the node.
        node: String,
        /// Number of processes that share the cores.
        processes: u32,
    }

    /// Loops on one call path over calls that ask whether something has happened, as far as their time is no wait.
    Polling {
        /// Number of calls that test.
        calls: u64,
        /// Layer of the calls, such as `shmem` or `mpi`.
        layer: String,
        /// Number of locations with such loops.
        locations: u64,
        /// Calls from the outermost to the one that tests.
        path: Vec<Step>,
        /// Time from the first call of each loop to its last, without waits.
        seconds: f64,
        /// Part of `seconds` until another process ended the loop, where that process is known.
        seconds_until_release: f64,
        /// Processes or nodes that ended the loops, and the time until then, longest first.
        targets: Vec<Share>,
    }

    /// A pattern that could not be computed.
    NotComputed {
        /// Number of calls that could not be judged; 0 if the reason concerns all.
        calls: u64,
        /// Id of the pattern, `collectives` for collectives of any kind, or `all` for everything after the death of
        /// a process.
        pattern: String,
        /// Reason in words, without a full stop.
        reason: String,
    }
}

texts! {
    /// What processes did that made others wait.
    Activity {
        /// They ran their own code, outside of all calls of runtimes.
        Computing = "computing",
        /// They were in a call of a runtime, without its waits, and others waited in another call.
        Call = "call",
        /// They left the call in which others waited later than these, and so were late the next time.
        LeavesLate = "leaves late",
        /// The same, on a node with more processes than cores.
        SharesCores = "shares cores",
        /// They were in calls that ask whether something has happened.
        Polling = "polling",
        /// They had not begun, because their first event is later than that of others.
        NotStarted = "not started",
        /// Their events do not say what they did.
        #[default]
        Unknown = "unknown",
    }


    /// What the time went to by which a process computed longer than others.
    Why {
        /// The process was not running on a core: others used it, or the process waited in the system.
        OffCore = "off the core",
        /// The process executed more instructions.
        MoreInstructions = "more instructions",
        /// The core executed fewer instructions in each cycle, for instance because it waited for memory.
        FewerPerCycle = "fewer instructions per cycle",
        /// The core had fewer cycles in each second.
        LowerClockRate = "lower clock rate",
        /// Each instruction took longer, and cycles were not counted.
        SlowerInstructions = "slower instructions",
        /// The process was running on a core, and instructions were not counted.
        #[default]
        OnCore = "on the core",
    }

    /// Phase of a program, which the calls of its runtimes delimit.
    Phase {
        /// Everything outside of start-up and shutdown.
        #[default]
        Run = "run",
        /// Calls that start a runtime, with all calls inside them.
        StartUp = "start-up",
        /// Calls that end a runtime, with all calls inside them.
        Shutdown = "shutdown",
    }

    /// Certainty of the bounds of a finding.
    Confidence {
        /// The bounds follow from the records of the archive alone.
        Exact = "exact",
        /// The bounds follow from the rule that says when targets progress operations, and nothing else supports it.
        #[serde(alias = "unconfirmed")]
        ByRule = "by rule",
        /// Some members of a collective are missing from the archive, so the real wait is at least this long.
        LowerBound = "lower bound",
        /// The archive does not say which call of the target served the operation.
        BetweenBounds = "between bounds",
        /// The records do not say what the call waited for, or when it was released.
        #[default]
        Inferred = "inferred",
    }

    /// Tells whether a call carries out operations of other processes.
    Serves {
        /// The call carries out operations of others.
        Yes = "yes",
        /// Some runtimes carry out operations of others in this call.
        #[default]
        Maybe = "maybe",
        /// The call carries out no operations of others.
        No = "no",
    }
}
