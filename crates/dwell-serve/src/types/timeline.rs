//! Types of the timeline.

use serde::Serialize;

crossing! {
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
        /// Time at which a picture of the whole run opens: after its start-up, if that is long.
        opens: f64,
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
        /// Number of the node, or of the group of locations that behave alike, that the row stands for, and how many nodes there are
        /// from that on.
        node: Option<u32>,
        nodes: u32,
        /// For a group: the mean share of the time in which one of its locations does something else than the group.
        differ: Option<f64>,
        /// For one node or group: true if rows of its locations follow.
        open: Option<bool>,
        name: String,
        /// Seconds of the whole run: all, those of waits, and those that others waited for the row.
        seconds: f64,
        wait: f64,
        blame: f64,
        /// True if others waited for the locations of the row more than for others.
        waited_for: bool,
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
        /// Where samples found the location if it computes, or the one that it waits for meanwhile, most samples first.
        computing: Vec<TimelineComputing>,
        /// Operations of the location in the call, the longest first, and the number of all of them.
        operations: Vec<TimelineOperation>,
        operations_count: u32,
    }

    /// A function in which a location computes, by samples.
    struct TimelineComputing {
        place: String,
        samples: u32,
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
        /// Then: the share of each of [`TimelineCritical::columns`] columns, as a part of 255, that the path spends at each location.
        columns: u32,
        dense_location: Vec<u32>,
        dense_column: Vec<u32>,
        dense_share: Vec<u8>,
    }

    /// All slices of all locations up to a time, as parallel lists, for a page without a server.
    #[derive(Default)]
    struct TimelineWhole {
        /// Time up to which slices are listed: the end of the run, unless there are too many.
        until: f64,
        /// Names of the locations.
        names: Vec<String>,
        /// Ids of the waits and what they mean, by their numbers.
        patterns: Vec<String>,
        meanings: Vec<String>,
        /// For each location, the begin of its first slice, and the number of all slices up to its last one.
        starts: Vec<f64>,
        ends: Vec<u32>,
        /// Ends of the slices. Each begins where the one before ends.
        to: Vec<f64>,
        /// Call path, or -1 outside of all regions.
        call: Vec<i32>,
        class: Vec<u32>,
        /// Number of the wait, or -1 if it is none; and the location that ended it.
        wait: Vec<i32>,
        culprit: Vec<i32>,
        critical_location: Vec<u32>,
        critical_from: Vec<f64>,
        critical_to: Vec<f64>,
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
}
