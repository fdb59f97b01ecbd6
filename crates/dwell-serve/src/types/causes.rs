//! Types of the cards of causes.

use dwell_report::findings::{Computed, Point, Share};
use serde::Serialize;

crossing! {
    /// Something that processes did and that made others wait.
    struct Cause {
        /// Letters of the cause in `findings.json`.
        id: String,
        /// Index of the metric of delay costs, if the report has it.
        metric: Option<u32>,
        /// Index of the call path, if the report has it.
        call: Option<u32>,
        /// Regions of the call path, from the root on.
        path: Vec<String>,
        /// Waits that it caused in seconds, over all locations.
        seconds: f64,
        /// Share of the run.
        share: Option<f64>,
        /// True if processes computed; false for calls, and for what was not recorded.
        computes: bool,
        /// Sentence about the time of computing; null for calls.
        how_long: Option<String>,
        /// Sentence about the reasons why it computed longer than others; null if no counters were recorded.
        why_longer: Option<String>,
        /// Functions in which it computed longer, if there are samples.
        inside: Option<String>,
        /// Functions in which it computed longer, most first, if there are samples.
        #[cfg_attr(test, ts(type = "Computed[]"))]
        functions: Vec<Computed>,
        /// Sentence about the waits that it caused.
        costs: String,
        /// Sentence about what was passed on; null if nothing was.
        passed_on: Option<String>,
        /// Processes that caused most.
        #[cfg_attr(test, ts(type = "Share[]"))]
        processes: Vec<Share>,
        /// Kind of the cause, what happens, what it costs, what to change and what that gains, in the words of the verdict.
        #[cfg_attr(test, ts(type = "Point"))]
        point: Point,
        /// For each place of `point` a call path that is called there, if the report has one.
        places: Vec<Option<u32>>,
        /// The finding that lists the waits which it made longest; null if none is listed.
        seen: Option<Seen>,
    }

    /// A finding among all, and in the entry that lists it.
    struct Seen {
        /// Position in the list of findings.
        finding: u32,
        /// Number of the entry.
        entry: u32,
        /// Position in the entry.
        part: u32,
    }

    /// The prediction of what a run would gain without a cause.
    #[derive(Default)]
    struct WhatIf {
        /// Description of the change.
        change: String,
        /// Length of the run as recorded and as predicted, with the bounds of the prediction, in seconds; null if it cannot be
        /// predicted.
        recorded: Option<f64>,
        predicted: Option<f64>,
        low: Option<f64>,
        high: Option<f64>,
        /// Reason why it cannot be predicted.
        reason: Option<String>,
    }
}
