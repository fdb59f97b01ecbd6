//! What crosses HTTP. The page's TypeScript types are made from these (`web/src/types.ts`), so that the two
//! cannot differ.

use serde::Serialize;

/// Derives what a type that crosses HTTP needs.
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

        /// The types as TypeScript.
        #[cfg(test)]
        pub(crate) fn typescript() -> String {
            use ts_rs::TS as _;
            let mut text = String::from(
                "// Made from crates/dwell-serve/src/types.rs: `DWELL_UPDATE_GOLDEN=1 cargo test -p dwell-serve types`.\n",
            );
            $(
                text.push_str("\nexport ");
                text.push_str(&$name::decl());
                text.push('\n');
            )*
            // Comments of the generator end in blanks.
            text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
        }
    };
}

crossing! {
    /// The runs that are served.
    struct Runs {
        /// Version of this interface.
        version: u32,
        /// Version of the program.
        program: String,
        runs: Vec<RunName>,
    }

    /// A run in the list.
    struct RunName {
        /// Its name in requests.
        id: String,
        title: String,
        /// Where it came from, for people.
        path: String,
    }

    /// The first screen.
    struct Overview {
        title: String,
        facts: Vec<Fact>,
        /// Seconds over all locations.
        time: f64,
        /// Seconds of the run, over all locations: without calls that start or end a runtime.
        run: f64,
        /// Seconds in calls that start a runtime.
        startup: f64,
        /// Seconds in calls that end a runtime.
        shutdown: f64,
        /// Seconds of waits of the run, the lower bound; nothing if nobody has looked for waits.
        waits: Option<f64>,
        /// The upper bound.
        waits_at_most: Option<f64>,
        parts: Vec<PartOfTime>,
        /// Findings by call path, in the order in which they are shown.
        entries: Vec<Entry>,
        findings: Vec<Finding>,
        /// How many entries are not listed.
        more: u32,
        /// What could not be judged, what is in doubt, what is damaged.
        notes: Vec<Note>,
    }

    /// Something about the run.
    struct Fact {
        label: String,
        value: String,
    }

    /// A part of the time.
    struct PartOfTime {
        metric: u32,
        title: String,
        depth: u32,
        seconds: f64,
        share: f64,
        wait: bool,
    }

    /// All findings of a call path.
    struct Entry {
        /// run, start-up, shutdown.
        phase: String,
        seconds: f64,
        at_most: f64,
        /// Part of the run; nothing for start-up and shutdown.
        share: Option<f64>,
        share_at_most: Option<f64>,
        /// Whether it is too small to be shown by itself.
        small: bool,
        /// Places in the list of findings.
        findings: Vec<u32>,
    }

    /// The longest wait of a single call.
    struct Instance {
        who: String,
        /// Seconds after the first event.
        begin: f64,
        /// How long; the upper bound if there are two.
        at_most: f64,
        on_whom: Option<String>,
        meanwhile: Option<Meanwhile>,
    }

    /// What the process that was waited for did meanwhile.
    struct Meanwhile {
        /// Seconds outside of all calls of runtimes.
        computing: f64,
        calls: Vec<Doing>,
    }

    /// Calls that a process made.
    struct Doing {
        region: String,
        file: Option<String>,
        line: Option<u32>,
        column: Option<u32>,
        calls: f64,
        seconds: f64,
        /// Whether they served others: yes, maybe, no.
        serves: String,
        /// Whether they served nobody because they acted on their own process.
        on_itself: bool,
    }

    /// One kind of wait on a call path.
    struct Finding {
        /// Name of the wait.
        title: String,
        pattern: String,
        /// The metric, if the report has it.
        metric: Option<u32>,
        /// The call path, if the report has it.
        call: Option<u32>,
        /// Last region of the path.
        region: String,
        /// Its regions from the root on.
        path: Vec<String>,
        file: Option<String>,
        line: Option<u32>,
        /// The column, where it tells the call from others on the same line.
        column: Option<u32>,
        /// Which of several calls on the same line it is, where there are no columns.
        nth: Option<u32>,
        caller: Option<String>,
        seconds: f64,
        at_most: f64,
        /// Part of the run; nothing for start-up and shutdown.
        share: Option<f64>,
        /// exact, by rule, lower bound, between bounds, inferred; nothing if the report does not say.
        confidence: Option<String>,
        /// On what condition.
        condition: Option<String>,
        explanation: String,
        remedy: String,
        visits: Option<f64>,
        /// How many calls waited.
        calls: Option<f64>,
        /// The longest wait of a single call.
        worst: Option<Instance>,
        /// At how many locations.
        locations: Option<f64>,
        origins: Vec<Party>,
        targets: Vec<Party>,
    }

    /// Someone with a part in a wait.
    struct Party {
        who: String,
        seconds: f64,
        at_most: f64,
    }

    /// What a person should know besides.
    struct Note {
        /// unexplained, polling, not computed, damaged, hint.
        kind: String,
        text: String,
    }

    /// All metrics.
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
        /// Whether values can be shown.
        readable: bool,
        /// In the whole program.
        value: f64,
        /// Less its sub-metrics.
        own: f64,
        wait: bool,
        meaning: Option<String>,
        remedy: Option<String>,
    }

    /// All call paths.
    struct Calls {
        calls: Vec<CallPath>,
    }

    /// A call path.
    struct CallPath {
        name: String,
        parent: Option<u32>,
        /// The same for the same names from the root on, in any report.
        key: String,
        /// Where it is called.
        file: Option<String>,
        line: Option<u32>,
        /// What its time is spent for.
        class: String,
        /// Where the region is defined.
        module: Option<String>,
    }

    /// A metric at all call paths, over all locations; those without any are left out.
    struct CallValues {
        calls: Vec<u32>,
        inclusive: Vec<f64>,
        exclusive: Vec<f64>,
    }

    /// The system tree: rows level by level.
    struct SystemTree {
        rows: u32,
        roots: u32,
        /// How many children rows have: the number, and how many rows in sequence have it.
        children: Vec<(u32, u32)>,
        locations: u32,
        processes: u32,
        /// Rows in a chunk of names or values.
        chunk: u32,
    }

    /// Names of a chunk of rows.
    struct SystemNames {
        names: Vec<String>,
        /// What each is: machine, node, process, thread.
        kinds: Vec<String>,
    }

    /// Values of a chunk of rows, with what is below.
    struct SystemValues {
        values: Vec<f64>,
    }

    /// Rows whose names hold a text.
    struct SystemFound {
        rows: Vec<u32>,
        names: Vec<String>,
        more: bool,
    }

    /// How a metric is spread.
    struct Spread {
        total: f64,
        locations: FiveNumbers,
        processes: FiveNumbers,
        /// Who has most.
        worst: Vec<Worst>,
        /// How many locations have how much, in equal steps from the least to the greatest.
        histogram: Vec<u32>,
    }

    /// How values are spread.
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

    /// A location with a great value.
    struct Worst {
        row: u32,
        location: u32,
        name: String,
        value: f64,
    }

    /// How locations are arranged.
    struct Topologies {
        topologies: Vec<Topology>,
    }

    /// A grid of locations.
    struct Topology {
        name: String,
        dimensions: Vec<String>,
        sizes: Vec<u32>,
        /// For each location its coordinates, one for each dimension; -1 where it has none. Empty if
        /// locations simply follow one another.
        coordinates: Vec<i32>,
    }

    /// Names of some locations.
    struct LocationNames {
        first: u32,
        names: Vec<String>,
    }

    /// The source around a call.
    struct Source {
        file: String,
        line: u32,
        first: u32,
        lines: Vec<String>,
        /// Why there is none.
        missing: Option<String>,
    }

    /// Who communicates with whom.
    struct Matrix {
        /// Whether the report has it.
        present: bool,
        /// How many parties there are.
        parties: u32,
        /// What a party is: process or node.
        unit: String,
        /// First party of rows and of columns, and how many are asked for.
        rows: (u32, u32),
        columns: (u32, u32),
        /// How many parties a cell stands for on each side.
        step: u32,
        row_names: Vec<String>,
        column_names: Vec<String>,
        /// Cells that are not empty: row, column, and how much.
        origin: Vec<u32>,
        target: Vec<u32>,
        operations: Vec<f64>,
        bytes: Vec<f64>,
        seconds: Vec<f64>,
        wait: Vec<f64>,
        /// Kinds that there are.
        kinds: Vec<String>,
    }

    /// Time by class.
    struct Bars {
        classes: Vec<String>,
        /// Of all.
        whole: Vec<f64>,
        /// How many bars there are.
        count: u32,
        /// The bars asked for.
        names: Vec<String>,
        /// The process or node that each is.
        numbers: Vec<u32>,
        /// By class; each a value for each bar.
        values: Vec<Vec<f64>>,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn types_of_the_page_are_these() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src/types.ts");
        let text = super::typescript();
        if std::env::var_os("DWELL_UPDATE_GOLDEN").is_some() {
            std::fs::write(file, &text).unwrap();
        }
        let known = std::fs::read_to_string(file).unwrap_or_default();
        assert!(text == known, "web/src/types.ts is old: set DWELL_UPDATE_GOLDEN=1 and run again");
    }
}
