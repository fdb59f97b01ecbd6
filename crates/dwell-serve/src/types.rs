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
mod many;
mod timeline;

pub(crate) use causes::{Cause, Seen, WhatIf};
pub(crate) use many::{
    GrowingPath, ListedRun, Many, ScalingPoint, ScalingSeries, Version, VersionSet,
};
pub(crate) use timeline::{
    TimelineAbout, TimelineAt, TimelineAxis, TimelineCollective, TimelineComputing,
    TimelineCounter, TimelineCounters, TimelineCritical, TimelineDoing, TimelineFindings,
    TimelineInstance, TimelineInstances, TimelineNode, TimelineOperation, TimelineOperations,
    TimelinePhases, TimelineRow, TimelineRows, TimelineSampleList, TimelineSamples, TimelineSlices,
    TimelineTotal, TimelineTotals, TimelineWait, TimelineWaits, TimelineWhole,
};

/// Returns all types as TypeScript.
#[cfg(test)]
pub(crate) fn typescript() -> String {
    let head = "// Made from crates/dwell-serve/src/types.rs: `DWELL_UPDATE_GOLDEN=1 cargo test -p dwell-serve types`.\n\n\
                import type { Computed, Confidence, Efficiency, Entry, FunctionTimes, Instance, Iterations, Point, Share, Verdict } from \"./findings\";\n";
    let text = head.to_owned()
        + &declarations()
        + &timeline::declarations()
        + &causes::declarations()
        + &many::declarations();
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
        /// True if these are the runs of a directory, so that `many` has an answer.
        many: bool,
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
