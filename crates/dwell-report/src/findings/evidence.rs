//! Evidence of inefficient communication.

use serde::{Deserialize, Serialize};

/// Measurements that show why communication could take less time. Each pattern has fields of its own; times exclude
/// waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum Evidence {
    /// Calls each of which becomes many calls of the library below (`many_calls_below`).
    Below {
        /// Number of all calls of libraries below.
        all_inner_calls: u64,
        /// Mean size of a call of `region` in bytes.
        bytes_each: u64,
        /// Number of calls of `region`.
        inner_calls: u64,
        /// Short name of the layer of `region`, such as `mpi`.
        layer: String,
        /// Function of the library below that moves the data.
        region: String,
        /// Mean time of an outer call.
        seconds_each: f64,
        /// Mean time of a call of this run that moves at least as many bytes in few calls; null if the run has none.
        seconds_instead: Option<f64>,
        /// The evidence in plain words.
        text: String,
    },
    /// Strided calls, which move elements that are not contiguous (`strided_elements`).
    Strided {
        /// Size of an element in bytes.
        element_bytes: u64,
        /// Number of elements that were moved.
        elements: u64,
        /// Mean time of an element.
        seconds_each: f64,
        /// Time that a contiguous transfer of as many bytes takes in this run; null if the run has none.
        seconds_instead: Option<f64>,
        /// The evidence in plain words.
        text: String,
    },
    /// Small blocking transfers that follow one another (`small_transfers`).
    Small {
        /// Mean size of a transfer in bytes.
        bytes_each: u64,
        /// Number of sequences, each of which could be one transfer.
        rows: u64,
        /// Mean time of a transfer.
        seconds_each: f64,
        /// Time that larger transfers of this run would take for the bytes of all calls; null if the run has none.
        seconds_instead: Option<f64>,
        /// The evidence in plain words.
        text: String,
    },
    /// A single target of most atomics of the run (`hot_target`).
    HotTarget {
        /// Number of atomics of all processes on others.
        of: u64,
        /// Number of atomics of other processes on this target.
        operations: u64,
        /// Number of processes or nodes that issued them.
        origins: u64,
        /// Name of the process, or of its node.
        target: String,
        /// The evidence in plain words.
        text: String,
    },
    /// Operations on static data (`static_data`).
    Static {
        /// Mean time of an operation.
        seconds_each: f64,
        /// Time that the same operation takes on the symmetric heap.
        seconds_instead: f64,
        /// The evidence in plain words.
        text: String,
    },
    /// Blocking operations that follow one another (`blocking_in_a_row`).
    Row {
        /// Mean size of an operation in bytes.
        bytes_each: u64,
        /// Mean time of an operation.
        seconds_each: f64,
        /// The evidence in plain words.
        text: String,
    },
    /// Completion calls, each after a single operation (`completion_after_each`).
    Completion {
        /// Mean time of a completion call.
        seconds_each: f64,
        /// The evidence in plain words.
        text: String,
    },
    /// Evidence of a pattern that has no fields of its own.
    Other {
        /// The evidence in plain words.
        #[serde(default)]
        text: String,
    },
}

impl Default for Evidence {
    fn default() -> Self {
        Self::Other { text: String::new() }
    }
}
