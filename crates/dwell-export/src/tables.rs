//! The tables and their columns. The page `docs/src/tables.md` is made from them.

use crate::table::{Column, Kind, Table};

/// Defines tables. Rows may lack a value of a column that is `or null`.
macro_rules! tables {
    (@optional) => { false };
    (@optional null) => { true };
    ($( $(#[$doc:meta])* $table:ident = $name:literal, $about:literal {
        $( $column:ident: $kind:ident $(or $optional:ident)?, $meaning:literal; )*
    } )*) => {
        $(
            $(#[$doc])*
            pub(crate) const $table: Table = Table {
                name: $name,
                about: $about,
                columns: &[$( Column {
                    name: stringify!($column),
                    kind: Kind::$kind,
                    is_optional: tables!(@optional $($optional)?),
                    about: $meaning,
                } ),*],
            };
        )*

        /// All tables with their columns, in the order of the page about them, which is made from this list. The table of events is
        /// written on request only, because it has a row for every event of the trace.
        pub const TABLES: &[Table] = &[$( $table ),*];
    };
}

tables! {
    /// Locations, which are threads of processes, with the processes and nodes that they belong to.
    LOCATIONS = "locations", "One row for each location, which is a thread of a process, in the order of the report." {
        location: Number, "Number of the location, counted from 0. Other tables refer to it.";
        name: Text, "Name for people: that of the process, and that of the thread if the process has several.";
        process: Number, "Number of the process, counted from 0 in the order of the report.";
        process_name: Text, "Name of the process, such as `PE 3`.";
        rank: Number, "Rank of the process as the report has it.";
        thread: Number, "Number of the thread in its process, counted from 0.";
        node: Text or null, "Name of the node that the process ran on.";
        events: Integer, "Number of events in the trace.";
    }

    /// Call paths of the report, callers first.
    CALL_PATHS = "call_paths", "One row for each call path of the report, callers first." {
        call_path: Number, "Number of the call path, which is that of `trace.cubex` and `findings.json`. Other tables refer to it.";
        caller: Number or null, "Number of the call path that calls it; none for a root.";
        name: Text, "Name of the last region, with its parameters as ` [key=value]`.";
        path: Text, "All regions from the root on, joined by ` / `.";
        site: Text or null, "Place from which the last region is called, as `file:line`, if it is known.";
        class: Text, "Class of the activity, such as `compute`, `put` or `barrier`, by the name of the region.";
        depth: Number, "Number of callers; 0 for a root.";
    }

    /// Metrics of the report.
    METRICS = "metrics", "One row for each metric of the report that has values of its own." {
        metric: Text, "Unique name of the metric. The table `values` refers to it.";
        title: Text, "Name of the metric for people.";
        unit: Text, "Unit of its values: `sec`, `bytes`, `occ` for a number of occurrences.";
        parent: Text or null, "The metric that it is a part of.";
        description: Text, "What it measures.";
    }

    /// Values of all metrics for each call path and location.
    VALUES = "values", "One row for each metric, call path and location whose value is not 0, in this order." {
        metric: Text, "Unique name of the metric.";
        call_path: Number, "Call path.";
        location: Number, "Location.";
        value: Real, "Value of the call path itself, without the functions that it calls, and with the metrics below this one. Its unit is in the next column.";
        unit: Text, "Unit of the value, as in the table `metrics`.";
    }

    /// Findings of the analysis.
    FINDINGS = "findings", "One row for each wait on a call path, in the order of `findings.json`." {
        finding: Number, "Id of the finding, as `dwell analyze` and `findings.json` give it. All waits of a call path have the same.";
        pattern: Text, "Id of the wait, such as `wait_for_progress`.";
        metric: Text, "Metric of the report that has the wait.";
        phase: Text, "Phase of the program: `run`, `start-up` or `shutdown`.";
        layer: Text, "Layer of the call, such as `shmem` or `mpi`.";
        call_path: Number, "Call path that waits.";
        confidence: Text or null, "How certain the bounds are, such as `exact` or `by rule`.";
        calls: Integer, "Number of calls that waited, or may have waited.";
        visits: Integer, "Number of visits of the call path.";
        waiting_locations: Integer, "Number of locations that wait.";
        wait_s: Real, "Lower bound of the wait over all locations, in seconds.";
        wait_at_most_s: Real, "Upper bound of the wait, in seconds.";
        path_s: Real, "Inclusive time of the call path over all locations, in seconds.";
        share: Real or null, "Lower bound as a part of the run, from 0 to 1; none for start-up and shutdown.";
        longest_at_most_s: Real or null, "Upper bound of the longest wait of a single call, in seconds.";
        longest_begin_s: Real or null, "Begin of that wait, in seconds after the first event.";
        longest_of: Text or null, "Process that waited so long.";
        longest_on: Text or null, "Process that it waited for.";
        explanation: Text, "What happened, in plain words.";
        remedy: Text, "What to change, in full sentences.";
    }

    /// Waits of single calls.
    WAITS = "waits", "One row for each stretch of a wait of a call for one location, by location and in the order of their ends. A call that waits for several locations has several rows. Waits whose releaser is not known have none, so that sums may be less than those of `findings`." {
        location: Number, "Location that waited.";
        on_location: Number, "Location that was waited for.";
        pattern: Text, "Id of the wait, as in `findings`. A wait that is a part of another has the id of the whole: `late_sender` for `late_sender_wrong_order`.";
        call_path: Number or null, "Call path that waited; none outside of the calls at which waits are judged.";
        from_ns: Integer, "Time since which the location waited, in nanoseconds after the first event.";
        to_ns: Integer, "Time of the event that ended the wait, in nanoseconds after the first event.";
        wait_ns: Integer, "Lower bound of the wait. It is less than `to_ns - from_ns` where the other location may have come and gone.";
        wait_at_most_ns: Integer, "Upper bound of the wait.";
        call_begin_ns: Integer or null, "Begin of the call that waited. Rows of one instance of a finding have the same location, pattern and begin.";
        call_end_ns: Integer or null, "End of the call that waited.";
    }

    /// Operations of the outermost layer that records them.
    OPERATIONS = "operations", "One row for each put, get, atomic and lock, and for each message one at the sender and one at the receiver, by location and in the order in which they complete. Operations of inner layers, such as messages of MPI inside calls of OpenSHMEM, are left out." {
        kind: Text, "`put`, `get`, `atomic`, `lock`, `send` or `receive`.";
        location: Number, "Location that issued the operation, sent or received the message, or acquired the lock.";
        partner: Number or null, "First location of the process that the operation acts on: the target, the receiver or the sender; for a lock the process whose memory it locks. None if the trace does not say, as for locks of all processes.";
        call_path: Number or null, "Call path of the call that issued the operation; none if waits are not judged there.";
        bytes: Integer, "Number of bytes that were moved; those of atomics in both directions; 0 for locks.";
        begin_ns: Integer, "Time of the record of the operation, in nanoseconds after the first event. A lock begins when it is requested, a receive when it is posted.";
        completion_ns: Integer or null, "Time at which the operation was complete at this location; none if the trace does not say.";
        wait_ns: Integer, "Lower bound of the time that the call which completed the operation waited for its partner, or for the holder of the lock. If a call completes several operations with one partner, the first of them has the whole wait, so that sums are right.";
        wait_at_most_ns: Integer, "Upper bound of that wait.";
        window: Number or null, "Number of the window in the archive; none for messages.";
        communicator: Number or null, "Number of the communicator in the archive, for messages.";
        tag: Integer or null, "Tag of the message.";
        message: Integer or null, "Number of the message among those with the same sender, receiver, communicator and tag, counted from 0: a send and its receive have the same. None for processes with several threads, whose messages have no common order.";
    }

    /// Samples of what threads compute.
    SAMPLES = "samples", "One row for each sample of a run that was recorded with `--sample`, by location and in the order of time. A row without a function is the end of a stretch of computing: with it, the processor time of the stretch is exact." {
        location: Number, "Location that was sampled.";
        time_ns: Integer, "Time in nanoseconds after the first event.";
        cpu_ns: Integer, "Processor time that the row stands for, in nanoseconds: that since the sample before, or, without a function, by how much the samples of the stretch are wrong, which may be negative.";
        function: Text or null, "Function of the program that computed.";
        file: Text or null, "Source file of the line, if it is known.";
        line: Number or null, "Line in it, counted from 1.";
        inside: Text or null, "Function of a library that was called there.";
        ready_ns: Integer or null, "At the end of a stretch: the part of it, in nanoseconds, in which the thread was ready but had no core. None if it was on a core but for a moment, and where the system does not count it.";
    }

    /// Events of the trace.
    EVENTS = "events", "One row for each event of the trace, by location and in the order of time. Only with `--events`." {
        location: Number, "Location of the event.";
        number: Integer, "Number of the event at its location, counted from 1 as `dwell print` does.";
        time_ns: Integer, "Time in nanoseconds after the first event.";
        event: Text, "Name of the record of OTF2, such as `Enter` or `RmaPut`.";
        region: Text or null, "Name of the region that is entered or left.";
        partner: Number or null, "First location of the other process, for operations and messages.";
        bytes: Integer or null, "Number of bytes of the operation; the sum of both directions for atomics and collectives.";
        window: Number or null, "Number of the window in the archive.";
        communicator: Number or null, "Number of the communicator in the archive.";
        id: Integer or null, "Matching id, request, tag or lock, depending on the record.";
    }
}
