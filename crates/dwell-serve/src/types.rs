//! The types that cross HTTP. Those of the page (`web/src/types.ts`) are generated from them. Parts of findings cross as
//! `findings.json` has them: their types, and `web/src/findings.ts`, come from [`dwell_report::findings`].

use dwell_report::findings::{Confidence, Efficiency, Entry, Instance, Iterations, Share};
use dwell_report::findings::{FunctionTimes, Verdict};
use serde::Serialize;

/// Defines types that cross HTTP, with the derives they need.
macro_rules! crossing {
    ($( $(#[$about:meta])* struct $name:ident { $( $(#[$field_about:meta])* $field:ident: $type:ty, )* } )*) => {
        $(
            $(#[$about])*
            #[derive(Clone, Debug, Serialize)]
            #[cfg_attr(test, derive(ts_rs::TS))]
            pub(crate) struct $name {
                $( $(#[$field_about])* pub(crate) $field: $type, )*
            }
        )*

        /// Returns the types of this module as TypeScript.
        #[cfg(test)]
        pub(crate) fn declarations() -> String {
            use ts_rs::TS as _;
            [$( format!("\nexport {}\n", $name::decl()) ),*].concat()
        }
    };
}

mod causes;

pub(crate) use causes::{Cause, Seen, WhatIf};

/// Returns all types as TypeScript.
#[cfg(test)]
pub(crate) fn typescript() -> String {
    let head = "// Made from crates/dwell-serve/src/types.rs: `DWELL_UPDATE_GOLDEN=1 cargo test -p dwell-serve types`.\n\n\
                import type { Computed, Confidence, Efficiency, Entry, FunctionTimes, Instance, Iterations, Point, Share, Verdict } from \"./findings\";\n";
    let text = head.to_owned() + &declarations() + &causes::declarations();
    // The generator leaves blanks at the ends of comment lines.
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

crossing! {
    /// The answer to a code that is right.
    struct Session {
        /// Secret of the session, which every request must state.
        secret: String,
    }

    /// The answer to a request that fails.
    struct Refused {
        /// Reason in words for a user.
        error: String,
    }

    /// The runs that are served.
    struct Runs {
        /// Version of this interface.
        version: u32,
        /// Version of Dwell.
        program: String,
        runs: Vec<RunName>,
    }

    /// A run in the list.
    struct RunName {
        /// Identifier of the run in requests.
        id: String,
        title: String,
        /// Path of the report, for people.
        path: String,
    }

    /// The content of the first screen.
    struct Overview {
        title: String,
        facts: Vec<Fact>,
        /// Seconds over all locations.
        time: f64,
        /// Seconds of the run over all locations, without calls that start or end a runtime.
        run: f64,
        /// Seconds over all locations in calls that start a runtime.
        startup: f64,
        /// Seconds over all locations in calls that end a runtime.
        shutdown: f64,
        /// Lower bound of the waits of the run in seconds; null if the report has not been searched for waits.
        waits: Option<f64>,
        /// Upper bound of the waits of the run in seconds.
        waits_at_most: Option<f64>,
        parts: Vec<PartOfTime>,
        /// Findings grouped by call path, in the order in which they are shown.
        #[cfg_attr(test, ts(type = "Entry[]"))]
        entries: Vec<Entry>,
        findings: Vec<Finding>,
        /// What processes did that made others wait, what cost most first.
        causes: Vec<Cause>,
        /// True if the run can be played without a cause.
        plays: bool,
        /// Number of entries that are not listed.
        more: u32,
        /// Notes on what could not be judged, is in doubt or is damaged.
        notes: Vec<Note>,
        /// What the run loses time to, and what to change first; null if it was not searched for waits.
        #[cfg_attr(test, ts(type = "Verdict | null"))]
        verdict: Option<Verdict>,
        /// For each point of the verdict and each of its places a call path that is called there, if the report has one.
        verdict_places: Vec<Vec<Option<u32>>>,
        /// How well the run uses its processes; null if it is not known.
        #[cfg_attr(test, ts(type = "Efficiency | null"))]
        efficiency: Option<Efficiency>,
        /// Iterations of the run; null if it has none, or if they are not known.
        #[cfg_attr(test, ts(type = "Iterations | null"))]
        iterations: Option<Iterations>,
        /// Functions in which the program computes; null if the run has no samples.
        #[cfg_attr(test, ts(type = "FunctionTimes | null"))]
        functions: Option<FunctionTimes>,
    }

    /// Two runs, matched with each other.
    struct Compared {
        /// Sentence that sums the comparison up.
        summary: String,
        /// Call paths of both runs, callers first: the position of the caller in this list.
        parent: Vec<Option<u32>>,
        /// Numbers of the call paths of the first run, and of the second: one, none, or several in one line.
        first: Vec<Vec<u32>>,
        second: Vec<Vec<u32>>,
        /// For each finding of the first run the same one in the second; null if that has none.
        findings: Vec<Option<FoundBeside>>,
        /// Findings that only the second run has, as positions among its findings.
        only_second: Vec<u32>,
        /// Clause that compares the runs by iteration; null if they cannot be.
        iterations: Option<String>,
        /// For each row of the system tree of the first run the row of the second, -1 where there is none; null if they have the
        /// same numbers. `locations` says the same of locations.
        rows: Option<Vec<i32>>,
        locations: Option<Vec<i32>>,
    }

    /// A finding of the second run.
    struct FoundBeside {
        /// Position among the findings of the second run, of which only the first are listed.
        finding: u32,
        seconds: f64,
        seconds_at_most: f64,
    }

    /// A property of the run, such as its runtime.
    struct Fact {
        label: String,
        value: String,
    }

    /// A part of the time, as a bar of the first screen.
    struct PartOfTime {
        metric: u32,
        title: String,
        depth: u32,
        seconds: f64,
        share: f64,
        wait: bool,
    }

    /// One kind of wait on one call path.
    struct Finding {
        /// Name of the wait, for people.
        title: String,
        pattern: String,
        /// Index of the metric, if the report has it.
        metric: Option<u32>,
        /// Index of the call path, if the report has it.
        call: Option<u32>,
        /// Last region of the call path.
        region: String,
        /// Regions of the call path, from the root on.
        path: Vec<String>,
        file: Option<String>,
        line: Option<u32>,
        /// Column of the call, where it tells the call from others on the same line.
        column: Option<u32>,
        /// Number of the call among several on the same line, where there are no columns.
        nth: Option<u32>,
        caller: Option<String>,
        seconds: f64,
        seconds_at_most: f64,
        /// Share of the run; null for start-up and shutdown.
        share: Option<f64>,
        /// Certainty of the bounds; null if the report does not say.
        #[cfg_attr(test, ts(type = "Confidence | null"))]
        confidence: Option<Confidence>,
        /// Condition under which the wait holds, such as the latency of the network.
        condition: Option<String>,
        explanation: String,
        remedy: String,
        /// Sentence about the number of calls that waited; null if the report does not say.
        how_often: Option<String>,
        /// Causes of the wait, by their letters; null if they are not known.
        because: Option<String>,
        /// By how much the run would be shorter without the waits of the entry.
        gain: Option<String>,
        /// Sentence about the longest wait of a single call.
        worst_text: Option<String>,
        /// The longest wait of a single call.
        #[cfg_attr(test, ts(type = "Instance | null"))]
        worst: Option<Instance>,
        #[cfg_attr(test, ts(type = "Share[]"))]
        origins: Vec<Share>,
        #[cfg_attr(test, ts(type = "Share[]"))]
        targets: Vec<Share>,
    }

    /// A note on the analysis that people should read.
    struct Note {
        /// Kind of note: `unexplained`, `polling`, `not computed`, `damaged` or `hint`.
        kind: String,
        text: String,
    }

    /// All metrics of the report.
    struct Metrics {
        metrics: Vec<Metric>,
    }

    /// A metric.
    struct Metric {
        name: String,
        title: String,
        unit: String,
        description: String,
        parent: Option<u32>,
        /// True if the report stores values of the metric.
        readable: bool,
        /// True if a span of time can restrict the metric.
        in_span: bool,
        /// Value over all locations, in the whole program.
        value: f64,
        /// Value without that of its sub-metrics.
        own: f64,
        wait: bool,
        meaning: Option<String>,
        remedy: Option<String>,
    }

    /// All call paths of the report.
    struct Calls {
        calls: Vec<CallPath>,
    }

    /// A call path.
    struct CallPath {
        name: String,
        parent: Option<u32>,
        /// Key of the call path: the same in every report for the same names from the root on.
        key: String,
        /// File from which the region is called.
        file: Option<String>,
        line: Option<u32>,
        /// Class of activity that its time belongs to.
        class: String,
        /// True if it is a part of start-up or shutdown.
        outside: bool,
        /// File in which the region is defined.
        module: Option<String>,
    }

    /// How long single calls took, for call paths all of whose calls are known: others are not in the lists.
    #[derive(Default)]
    struct CallLengths {
        /// `ready`, `making` while the index of the timeline is made, or `missing`.
        state: String,
        /// Reason why there are none.
        why: String,
        calls: Vec<u32>,
        /// Median, where it is known, and the longest of all, in seconds.
        median: Vec<Option<f64>>,
        longest: Vec<f64>,
    }

    /// A metric at all call paths, summed over all locations. Call paths without a value are left out.
    struct CallValues {
        calls: Vec<u32>,
        inclusive: Vec<f64>,
        exclusive: Vec<f64>,
    }

    /// The shape of the system tree, whose rows are numbered level by level.
    struct SystemTree {
        rows: u32,
        roots: u32,
        /// Numbers of children of the rows, run-length encoded: a number, and how many consecutive rows have it.
        children: Vec<(u32, u32)>,
        locations: u32,
        processes: u32,
        /// Number of rows in a chunk of names or values.
        chunk: u32,
    }

    /// Names of a chunk of rows of the system tree.
    struct SystemNames {
        names: Vec<String>,
        /// Kind of each row: machine, node, process, thread.
        kinds: Vec<String>,
    }

    /// Values of a chunk of rows of the system tree, each including the rows below it.
    struct SystemValues {
        values: Vec<f64>,
    }

    /// Rows of the system tree whose names contain a text.
    struct SystemFound {
        rows: Vec<u32>,
        names: Vec<String>,
        more: bool,
    }

    /// The distribution of a metric over locations.
    struct Spread {
        total: f64,
        locations: FiveNumbers,
        processes: FiveNumbers,
        /// The locations with the greatest values, the greatest first.
        worst: Vec<Worst>,
    }

    /// Quartiles and other figures of a distribution.
    struct FiveNumbers {
        count: u32,
        min: f64,
        q1: f64,
        median: f64,
        q3: f64,
        max: f64,
        mean: f64,
        imbalance: f64,
    }

    /// A location with one of the greatest values.
    struct Worst {
        row: u32,
        location: u32,
        name: String,
        value: f64,
    }

    /// The topologies of the report.
    struct Topologies {
        topologies: Vec<Topology>,
    }

    /// A grid on which locations are arranged.
    struct Topology {
        name: String,
        dimensions: Vec<String>,
        sizes: Vec<u32>,
        /// Coordinates of each location, one for each dimension; -1 where a location has none.
        coordinates: Vec<i32>,
    }

    /// Names of consecutive locations.
    struct LocationNames {
        first: u32,
        names: Vec<String>,
    }

    /// The lines of source around a call, or the whole file.
    struct Source {
        file: String,
        line: u32,
        /// Number of the first line that is shown.
        first: u32,
        lines: Vec<String>,
        /// Number of lines that the file has; 0 if only the lines around the call were read.
        count: u32,
        /// Reason why there are no lines; null if there are.
        missing: Option<String>,
    }

    /// Part of the communication matrix.
    struct Matrix {
        /// True if the report has a communication matrix.
        present: bool,
        /// Number of parties in the whole matrix.
        parties: u32,
        /// Kind of a party: `process` or `node`.
        unit: String,
        /// First party and number of parties of the rows in this part. `columns` says the same of the columns.
        rows: (u32, u32),
        columns: (u32, u32),
        /// Number of parties that a cell stands for on each side.
        step: u32,
        row_names: Vec<String>,
        column_names: Vec<String>,
        /// Cells that are not empty, as parallel lists: row, column, and the figures of the cell.
        origin: Vec<u32>,
        target: Vec<u32>,
        operations: Vec<f64>,
        bytes: Vec<f64>,
        seconds: Vec<f64>,
        wait: Vec<f64>,
        /// Kinds of communication that occur in the whole matrix.
        kinds: Vec<String>,
        /// Waits that it has: `all` with a known partner, `progress` of one-sided operations only, or `none` if the report was not
        /// searched for waits.
        waits: String,
    }

    /// What there is of a timeline. Times are nanoseconds after the first event.
    struct TimelineAbout {
        /// `ready`, `making` while the index is made, or `missing`.
        state: String,
        /// Reason why there is none.
        why: String,
        /// Part of the index that is made, from 0 to 1.
        done: f64,
        locations: u32,
        /// Time from the first event to the last.
        length: f64,
        /// Number of things that locations did.
        slices: f64,
        /// Time at which all locations have started their runtime, or 0.
        started: f64,
        /// Names of classes, by the numbers that other answers have.
        classes: Vec<String>,
        /// Titles of waits, by the numbers that other answers have.
        waits: Vec<String>,
        nodes: Vec<TimelineNode>,
    }

    /// A node with consecutive locations.
    struct TimelineNode {
        name: String,
        first: u32,
        count: u32,
    }

    /// Rows of a timeline.
    struct TimelineRows {
        rows: Vec<TimelineRow>,
        /// Number of locations that have a row, or would have one if there were room; 0 if rows were asked for by their keys.
        of: u32,
    }

    /// A row of a timeline: one location, several, or a node.
    struct TimelineRow {
        /// Text by which the row is asked for.
        key: String,
        /// First location, and the one after the last.
        first: u32,
        end: u32,
        /// Number of locations.
        count: u32,
        /// If the locations are not consecutive: begin and end of each stretch, one after the other.
        parts: Vec<u32>,
        /// Number of the node that the row stands for, and how many there are from that on.
        node: Option<u32>,
        nodes: u32,
        /// For one node: true if rows of its locations follow.
        open: Option<bool>,
        name: String,
        /// Seconds of the whole run: all, those of waits, and those that others waited for the row.
        seconds: f64,
        wait: f64,
        blame: f64,
    }

    /// When rows were in which instance of a phase, as parallel lists.
    #[derive(Default)]
    struct TimelinePhases {
        /// Phases and parameters of the run.
        axes: Vec<TimelineAxis>,
        /// The one that is shown; empty if there is none.
        name: String,
        /// Reason why some are missing, or an empty text.
        missing: String,
        row: Vec<u32>,
        from: Vec<f64>,
        to: Vec<f64>,
        /// Number of the instance, or value of the parameter.
        value: Vec<String>,
    }

    /// A phase, or a parameter that the program set.
    struct TimelineAxis {
        name: String,
        is_phase: bool,
        /// Number of instances or of different values.
        count: u32,
    }

    /// Counters of the trace.
    struct TimelineCounters {
        counters: Vec<TimelineCounter>,
    }

    /// A counter: stated by the program, or sampled.
    struct TimelineCounter {
        name: String,
        unit: String,
        /// True if samples are accumulated, so that rates are shown.
        accumulates: bool,
    }

    /// Values of a counter in a span.
    #[derive(Default)]
    struct TimelineSamples {
        /// Reason why some are missing, or an empty text.
        missing: String,
        unit: String,
        lists: Vec<TimelineSampleList>,
    }

    /// Values at one location, as parallel lists. A rate holds from one time to another; a value of a moment has the same time twice.
    struct TimelineSampleList {
        row: u32,
        location: u32,
        name: String,
        from: Vec<f64>,
        to: Vec<f64>,
        value: Vec<f64>,
    }

    /// What locations did one by one, as parallel lists. Rows with too many are left out.
    #[derive(Default)]
    struct TimelineSlices {
        row: Vec<u32>,
        from: Vec<f64>,
        to: Vec<f64>,
        /// Call path, or -1 outside of all regions.
        call: Vec<i32>,
        class: Vec<u32>,
        /// Number of the wait, or -1 if it is none; and the location that ended it.
        wait: Vec<i32>,
        culprit: Vec<i32>,
    }

    /// The longest waits of a view, the longest first.
    struct TimelineWaits {
        waits: Vec<TimelineWait>,
    }

    /// A wait on a timeline.
    struct TimelineWait {
        location: u32,
        from: f64,
        to: f64,
        call: Option<u32>,
        title: String,
        /// Location that ended the wait.
        culprit: u32,
    }

    /// What a location did at a time.
    struct TimelineAt {
        location: u32,
        name: String,
        from: f64,
        to: f64,
        call: Option<u32>,
        /// Class, or `none` before the first and after the last event.
        class: String,
        wait: Option<TimelineWait>,
        /// What the wait means, as a clause.
        meaning: Option<String>,
        culprit_name: Option<String>,
        /// What the location that was waited for did meanwhile, what took longest first.
        meanwhile: Vec<TimelineDoing>,
        /// Operations of the location in the call, the longest first, and the number of all of them.
        operations: Vec<TimelineOperation>,
        operations_count: u32,
    }

    /// An operation of a call.
    struct TimelineOperation {
        kind: String,
        /// Location that it acted on or that received the message, and its name.
        partner: u32,
        partner_name: String,
        from: f64,
        to: f64,
        bytes: f64,
    }

    /// Operations between the rows of a view, whether anybody waited for them or not, as parallel lists, the longest first.
    #[derive(Default)]
    struct TimelineOperations {
        /// Reason why some or all are missing, or an empty text.
        missing: String,
        /// Number of operations that the arrows stand for.
        count: f64,
        kind: Vec<String>,
        origin: Vec<u32>,
        partner: Vec<u32>,
        from: Vec<f64>,
        to: Vec<f64>,
        bytes: Vec<f64>,
        /// How many operations an arrow stands for.
        counts: Vec<f64>,
        collectives: Vec<TimelineCollective>,
        held: TimelineHeld,
    }

    /// Exclusive locks that locations hold, as parallel lists.
    #[derive(Default)]
    struct TimelineHeld {
        location: Vec<u32>,
        from: Vec<f64>,
        to: Vec<f64>,
    }

    /// How long the call of each finding waited in a span, in the order of the findings; `null` if the timeline does not have its waits.
    struct TimelineFindings {
        seconds: Vec<Option<f64>>,
    }

    /// A collective: locations with the begins and ends of their calls, as parallel lists.
    struct TimelineCollective {
        location: Vec<u32>,
        from: Vec<f64>,
        to: Vec<f64>,
    }

    /// Something that a location did during a wait of another one.
    struct TimelineDoing {
        call: Option<u32>,
        class: String,
        count: f64,
        seconds: f64,
    }

    /// The worst instances of a finding, the worst first.
    struct TimelineInstances {
        /// Number of all instances.
        count: f64,
        /// Greatest number of instances that are kept.
        most: u32,
        worst: Vec<TimelineInstance>,
    }

    /// One wait of one call.
    struct TimelineInstance {
        location: u32,
        culprit: u32,
        call_from: f64,
        call_to: f64,
        from: f64,
        to: f64,
        seconds: f64,
    }

    /// The critical path in the order of time, as parallel lists.
    #[derive(Default)]
    struct TimelineCritical {
        location: Vec<u32>,
        from: Vec<f64>,
        to: Vec<f64>,
        /// Number of steps, if they are too many to list.
        omitted: u32,
    }

    /// What the rows of a view did, by call path and class.
    struct TimelineTotals {
        /// True if there is too much to add up.
        too_many: bool,
        totals: Vec<TimelineTotal>,
    }

    /// The time of a call path in a view.
    struct TimelineTotal {
        call: Option<u32>,
        class: u32,
        count: f64,
        seconds: f64,
    }

    /// Time by class of activity, as bars of processes or nodes.
    struct Bars {
        classes: Vec<String>,
        /// True if the report was searched for waits. Otherwise their time is not known, and part of that of other classes.
        searched: bool,
        /// Seconds of each class over all locations.
        whole: Vec<f64>,
        /// Number of bars in total.
        count: u32,
        /// Names of the bars in this answer.
        names: Vec<String>,
        /// Number of the process or node that each bar stands for.
        numbers: Vec<u32>,
        /// Seconds of each class: a list with one value for each bar.
        values: Vec<Vec<f64>>,
        /// Number of processes or nodes that a bar stands for: with more than one, values are means.
        step: u32,
        /// Least and greatest waiting among those of each bar, in seconds; empty if each bar stands for one.
        least_wait: Vec<f64>,
        most_wait: Vec<f64>,
    }
}

#[cfg(test)]
mod tests;
