//! What was found in a source, and what was done about it.

/// Counts of statements with remote accesses or image control, and those that were left unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of statements with at least one remote access or with image control. It is the sum of the next three.
    pub seen: usize,
    /// Number of statements with a call before and a call behind them, so that their time is known.
    pub separated: usize,
    /// Number of statements whose accesses are counted by a single call each, without the time that they take.
    pub single: usize,
    /// Statements that were left unchanged, each with the reason.
    pub refused: Vec<Refusal>,
    /// Names of files that `include` lines name. Their statements are not seen unless the files are instrumented too.
    pub includes: Vec<String>,
}

/// A statement that was left unchanged, so that its remote accesses are not recorded by source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Name of the file, by the last marker before the statement.
    pub file: String,
    /// Line of its first character, counted from 1.
    pub line: u32,
    /// The reason, as a sentence without its full stop.
    pub reason: &'static str,
}
