//! Finds wait states of one-sided communication by replaying an OTF2 archive.
//!
//! [`analyze`] reads an archive once and reports which calls waited, for how long, and for which processes. [`Profile`] reads
//! a run that was recorded as a profile instead of a trace, and writes the same kind of report without waits.
//!
//! ```no_run
//! use dwell_analyze::{Options, analyze};
//! use otf2::Archive;
//!
//! let archive = Archive::open("run/traces.otf2")?;
//! let analysis = analyze(&archive, &Options::default(), &|_events| {})?;
//! for finding in analysis.findings() {
//!     println!("{:.3} s: {}", finding.seconds(), finding.pattern);
//! }
//! # Ok::<(), dwell_analyze::Error>(())
//! ```

#![forbid(unsafe_code)]
// Data from a file must not cause a panic.
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

mod analysis;
mod analyze;
mod causes;
mod engine;
mod error;
mod iterations;
mod options;
mod output;
mod part;
mod patterns;
mod protocol;
mod samples;
mod whatif;

pub use analysis::Analysis;
pub use analyze::{Joint, analyze, analyze_among};
pub use causes::{CriticalPath, CriticalStep, Delay};
pub use dwell_log::quantity::Quantity;
pub use dwell_model::pairs::MEMBER as PAIRS;
pub use dwell_trace::crowds::Crowd;
pub use dwell_trace::ids::{LocationNumber, ProcessNumber};
pub use dwell_trace::names::Site;
pub use dwell_trace::parties::MOST as MOST_PARTIES;
pub use dwell_trace::processor_time::ProcessorTime;
pub use engine::matrix::{Cell, Kind};
pub use engine::replay::least_memory;
pub use error::Error;
pub use iterations::{Computing, IterationChange, IterationChangeKind, IterationTimes, Iterations};
pub use options::{Cut, Options, Progress};
pub use output::division::CallTime;
pub use output::findings::{
    Activities, Cause, Caused, Confidence, Counters, Critical, Culprits, Doing, Efficiency, Entry,
    Evidence, Factors, Finding, Gain, Inefficiency, Instance, LISTED, LOOKED_AT, Losses, Meanwhile,
    Phase, Polling, ProgramPhase, Serves, Share, Step, Times, Unexplained, Unpredictable,
};
pub use output::notes::NotComputed;
pub use output::pairs::Pair;
pub use output::profile::{Calls, Profile};
pub use samples::{Computed, Function, Functions, Sampled};
pub use whatif::{
    Change, Network, PredictError, Prediction, Range as PredictedLength, Selection,
    UnknownSelection, WhatIf,
};
