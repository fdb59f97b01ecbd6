//! What inefficient communication is called, and what it means.

/// A way to communicate that takes longer than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inefficient {
    /// Id of the pattern in findings.
    pub pattern: &'static str,
    /// What happens.
    pub meaning: &'static str,
    /// What can be done about it.
    pub remedy: &'static str,
}

/// The inefficiency that a pattern looks for.
pub fn inefficient(pattern: &str) -> Option<&'static Inefficient> {
    INEFFICIENT.iter().find(|it| it.pattern == pattern)
}

/// Ids of patterns, what happens, and what to do about it in general.
pub(crate) const INEFFICIENT: &[Inefficient] = &[
    Inefficient {
        pattern: "strided_elements",
        meaning: "strided calls move their data element by element",
        remedy: "Copy the elements into one piece of memory and move that with one call.",
    },
    Inefficient {
        pattern: "small_transfers",
        meaning: "many small transfers that block, one after the other, with one target",
        remedy: "Move the data of one row with one call.",
    },
    Inefficient {
        pattern: "completion_after_each",
        meaning: "every operation is completed before the next one begins",
        remedy: "Start all operations and complete them with one call.",
    },
    Inefficient {
        pattern: "blocking_in_a_row",
        meaning: "operations that block follow one another, so that each waits for the network alone",
        remedy: "Start the operations without blocking and complete all of them with one call, if none needs what another returns.",
    },
    Inefficient {
        pattern: "static_data",
        meaning: "operations on static data take longer than those on the symmetric heap",
        remedy: "Use memory of the symmetric heap.",
    },
    Inefficient {
        pattern: "hot_target",
        meaning: "most atomics of all processes act on one process",
        remedy: "Act on it less often: take several items at a time, or keep partial results in each process; or spread the variables over several processes.",
    },
];
