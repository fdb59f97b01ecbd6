//! Catalogue of inefficient communication: the name, the meaning and the remedy of each pattern.

/// A way to communicate that takes longer than another one although no process waits. The catalogue is fixed at compile
/// time; the analysis decides which of its rows a run shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inefficient {
    /// Id of the pattern as findings and `findings.json` name it, for example `hot_target`.
    pub pattern: &'static str,
    /// Explanation of what the calls do and why that is slow, in plain words that begin with a small letter and have no
    /// full stop.
    pub meaning: &'static str,
    /// Remedy that a programmer can apply in general. Advice for a single finding may be more specific.
    pub remedy: &'static str,
}

/// Returns the row of the catalogue for a pattern, or `None` if the id is unknown or names a wait state.
pub fn inefficient(pattern: &str) -> Option<&'static Inefficient> {
    INEFFICIENT.iter().find(|it| it.pattern == pattern)
}

/// All rows of the catalogue.
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
        pattern: "many_calls_below",
        meaning: "one call becomes many calls of few bytes in the library below it",
        remedy: "Access data that lies in one piece, or let its owner copy it into one piece first.",
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
