//! Types of the view of many runs.

use serde::Serialize;

crossing! {
    /// The runs of a directory.
    struct Many {
        /// Name of the directory.
        directory: String,
        /// One sentence about all runs, without a full stop.
        verdict: String,
        /// Number of runs beyond the bound, which are not listed.
        left_out: u32,
        runs: Vec<ListedRun>,
        /// By program, the oldest first.
        versions: Vec<Version>,
        /// By program, then by processes, then by version, the oldest first.
        sets: Vec<VersionSet>,
        series: Vec<ScalingSeries>,
    }

    /// A run of a directory.
    struct ListedRun {
        /// Identifier of the run in requests.
        id: String,
        name: String,
        program: String,
        version: String,
        /// Time of the recording in milliseconds since 1970.
        milliseconds: f64,
        processes: Option<f64>,
        /// Seconds without start-up and shutdown.
        length: Option<f64>,
        /// Parallel efficiency, from 0 to 1.
        parallel: Option<f64>,
        /// Time in waits as a part of all.
        waiting: Option<f64>,
        /// What costs most.
        cause: String,
        /// State of the run, if something is wrong with it.
        note: String,
    }

    /// Runs of one version with the same number of processes.
    struct VersionSet {
        program: String,
        version: String,
        processes: f64,
        /// Identifiers of the runs.
        runs: Vec<String>,
        /// Mean length of the runs in seconds.
        length: f64,
        /// The change since the version before as a part of its length.
        change: Option<f64>,
        /// True if it became longer by more than chance.
        slower: bool,
    }

    /// A version of a program, compared with the one before.
    struct Version {
        program: String,
        name: String,
        /// Mean change over all numbers of processes.
        change: Option<f64>,
        /// True if its runs are longer by more than chance.
        slower: bool,
        /// The change and its reason in words; empty if there is none beyond chance.
        text: String,
        /// Identifiers of two runs that show the change.
        shown_by: Option<Vec<String>>,
    }

    /// How a version scales.
    struct ScalingSeries {
        program: String,
        version: String,
        /// Its runs, that with the fewest processes first.
        points: Vec<ScalingPoint>,
        /// Call paths that stop scaling.
        growing: Vec<GrowingPath>,
    }

    /// A run of a series, compared with the first one.
    struct ScalingPoint {
        name: String,
        processes: f64,
        length: f64,
        speedup: f64,
        /// The speedup as a part of what the processes promise.
        scaling: f64,
        parallel: Option<f64>,
        load_balance: Option<f64>,
        communication: Option<f64>,
        waiting: f64,
    }

    /// A call path that stops scaling.
    struct GrowingPath {
        path: String,
        /// Number of processes from which on it takes longer.
        processes: f64,
        /// Its growth as a part of the last run.
        share: f64,
    }
}
