//! Selection of the calls to record: filter files in the format of Score-P, and groups of calls.
//!
//! A filter file has blocks of rules for names of regions and for names of source files:
//!
//! ```text
//! SCOREP_REGION_NAMES_BEGIN  # a comment
//!   EXCLUDE *
//!   INCLUDE shmem_* MPI_Win_*
//! SCOREP_REGION_NAMES_END
//! ```
//!
//! Everything is included at first; then rules apply in their order, and the last one that matches decides. Patterns
//! are those of a shell (`*`, `?`, `[a-z]`, `[!a-z]`), and a backslash makes the next character an ordinary one. Rules
//! after `MANGLED` apply to the name that the linker knows. A region of a source file that the file rules exclude stays
//! excluded whatever the region rules say.

use std::fmt;

use dwell_model::layer::{Layer, Ranks};
use dwell_model::operation::{Mode, Operation};
use dwell_model::table::Row;

/// The rules of a filter file, for source files and for regions. The default has no rules and excludes nothing.
/// Matching takes neither memory nor locks, because hooks do it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    files: Vec<Rule>,
    regions: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    pattern: String,
    exclude: bool,
    mangled: bool,
}

/// A mistake in a filter file, with its line. It displays as the line and the description; the caller adds the path of
/// the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Line of the mistake, counted from 1.
    pub line: usize,
    /// Description of the mistake, for an error message.
    pub what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for Mistake {}

/// The block that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    None,
    Files,
    Regions,
}

const BLOCKS: [(&str, &str, Block); 2] = [
    ("SCOREP_FILE_NAMES_BEGIN", "SCOREP_FILE_NAMES_END", Block::Files),
    ("SCOREP_REGION_NAMES_BEGIN", "SCOREP_REGION_NAMES_END", Block::Regions),
];

impl Filter {
    /// Parses the text of a filter file. An empty text is a filter that excludes nothing.
    ///
    /// # Errors
    /// The first mistake, such as a word outside of a block, a pattern before the first `EXCLUDE` or `INCLUDE`, or a
    /// block that does not end.
    pub fn parse(text: &str) -> Result<Self, Mistake> {
        let mut filter = Self::default();
        let mut block = Block::None;
        // Meaning of the words that follow, once a keyword has set it.
        let (mut exclude, mut mangled) = (None, false);
        let mut last = 0;
        for (line, content) in (1..).zip(text.lines()) {
            last = line;
            for word in words(content) {
                let unexpected = || Mistake { line, what: format!("{word} is not expected here") };
                let begins = BLOCKS.iter().find(|it| it.0 == word);
                let ends = BLOCKS.iter().find(|it| it.1 == word);
                match word {
                    _ if begins.is_some() && block == Block::None => {
                        block = begins.map_or(block, |it| it.2);
                        (exclude, mangled) = (None, false);
                    }
                    _ if ends.is_some_and(|it| it.2 == block) => block = Block::None,
                    _ if begins.is_some() || ends.is_some() || block == Block::None => {
                        return Err(unexpected());
                    }
                    "EXCLUDE" | "INCLUDE" => {
                        (exclude, mangled) = (Some(word == "EXCLUDE"), false);
                    }
                    "MANGLED" | "DEMANGLED" if block == Block::Regions && exclude.is_some() => {
                        mangled = word == "MANGLED";
                    }
                    "MANGLED" | "DEMANGLED" => return Err(unexpected()),
                    pattern => {
                        let exclude = exclude.ok_or_else(|| Mistake {
                            line,
                            what: format!("EXCLUDE or INCLUDE is missing before {pattern}"),
                        })?;
                        let rule = Rule { pattern: pattern.into(), exclude, mangled };
                        match block {
                            Block::Files => filter.files.push(rule),
                            _ => filter.regions.push(rule),
                        }
                    }
                }
            }
        }
        if let Some((_, end, _)) = BLOCKS.iter().find(|it| it.2 == block) {
            return Err(Mistake { line: last, what: format!("{end} is missing") });
        }
        Ok(filter)
    }

    /// Returns `true` if the rules for source files exclude this file. A pattern must match the whole path; the last
    /// rule that matches decides.
    pub fn excludes_file(&self, file: &str) -> bool {
        let fits = |rule: &&Rule| matches(rule.pattern.as_bytes(), file.as_bytes());
        self.files.iter().rev().find(fits).is_some_and(|rule| rule.exclude)
    }

    /// Returns `true` if the rules for regions exclude a region. Rules after `MANGLED` are compared with `mangled`, the
    /// name that the linker knows, and all others with `name`.
    pub fn excludes_region(&self, name: &str, mangled: &str) -> bool {
        let fits = |rule: &&Rule| {
            let name = if rule.mangled { mangled } else { name };
            matches(rule.pattern.as_bytes(), name.as_bytes())
        };
        self.regions.iter().rev().find(fits).is_some_and(|rule| rule.exclude)
    }

    /// Returns `true` if the rules for source files or those for regions exclude a region. A region without a source
    /// file is judged by its names alone.
    pub fn excludes(&self, file: Option<&str>, name: &str, mangled: &str) -> bool {
        file.is_some_and(|file| self.excludes_file(file)) || self.excludes_region(name, mangled)
    }
}

/// Splits a line into words, without its comment. A backslash keeps the hash or blank after it from ending a word.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches([' ', '\t', '\r']);
        let mut escaped = false;
        let end = rest.char_indices().find(|&(_, c)| {
            let ends = !escaped && matches!(c, ' ' | '\t' | '\r' | '#');
            escaped = c == '\\' && !escaped;
            ends
        });
        let (word, after) = rest.split_at(end.map_or(rest.len(), |it| it.0));
        rest = if after.starts_with('#') { "" } else { after };
        (!word.is_empty()).then_some(word)
    })
}

/// Returns `true` if a name matches a pattern, by the rules of `fnmatch` of the C library without options. The function
/// takes neither memory nor locks, because hooks call it.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut of) = (0, 0);
    // Position to continue at after a mismatch: behind the last star, which then matches one byte more.
    let mut star: Option<(usize, usize)> = None;
    loop {
        let fits = match pattern.get(at) {
            None if of == name.len() => return true,
            None => None,
            Some(b'*') => {
                star = Some((at + 1, of));
                at += 1;
                continue;
            }
            Some(_) => {
                name.get(of).and_then(|&byte| one(pattern.get(at..).unwrap_or_default(), byte))
            }
        };
        match (fits, star) {
            (Some(used), _) => {
                at += used;
                of += 1;
            }
            (None, Some((behind, from))) if from < name.len() => {
                star = Some((behind, from + 1));
                (at, of) = (behind, from + 1);
            }
            (None, _) => return false,
        }
    }
}

/// Returns the length of the first element of a pattern if a byte matches it.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match *pattern {
        [b'?', ..] => Some(1),
        [b'[', ..] => match set(pattern, byte) {
            Some((true, used)) => Some(used),
            Some((false, _)) => None,
            // A bracket that is never closed is a bracket.
            None => (byte == b'[').then_some(1),
        },
        [b'\\', escaped, ..] => (escaped == byte).then_some(2),
        [plain, ..] => (plain == byte).then_some(1),
        [] => None,
    }
}

/// Returns whether a byte is in the bracket expression at the beginning of a pattern, and the length of the expression.
/// Returns `None` if the expression has no end.
fn set(pattern: &[u8], byte: u8) -> Option<(bool, usize)> {
    let not = matches!(pattern.get(1), Some(b'!' | b'^'));
    let first = 1 + usize::from(not);
    let (mut at, mut found) = (first, false);
    let member = |at: &mut usize| -> Option<u8> {
        let escaped = pattern.get(*at) == Some(&b'\\');
        *at += usize::from(escaped);
        let member = *pattern.get(*at)?;
        *at += 1;
        Some(member)
    };
    loop {
        if pattern.get(at) == Some(&b']') && at > first {
            return Some((found != not, at + 1));
        }
        let low = member(&mut at)?;
        let is_range = pattern.get(at) == Some(&b'-') && pattern.get(at + 1) != Some(&b']');
        let high = if is_range {
            at += 1;
            member(&mut at)?
        } else {
            low
        };
        found |= (low..=high).contains(&byte);
    }
}

/// Names of the groups of calls that users can select, such as `put` and `collective`. Every operation belongs to
/// exactly one of them; `other` has those without a group of their own.
pub const GROUPS: [&str; 14] = [
    "put",
    "get",
    "atomic",
    "signal",
    "complete",
    "lock",
    "wait",
    "message",
    "request",
    "collective",
    "epoch",
    "memory",
    "group",
    "other",
];

/// Returns the group of an operation, as a position in [`GROUPS`].
fn group(operation: Operation) -> usize {
    let name = match operation {
        Operation::Put => "put",
        Operation::Get => "get",
        Operation::Atomic(_) => "atomic",
        Operation::Signal => "signal",
        Operation::ActiveMessage => "message",
        Operation::Order | Operation::CompleteLocal | Operation::CompleteRemote => "complete",
        Operation::Lock | Operation::Unlock | Operation::TryLock => "lock",
        Operation::WaitChange | Operation::TestChange | Operation::Poll => "wait",
        Operation::Send
        | Operation::Receive
        | Operation::Exchange
        | Operation::Probe
        | Operation::TestProbe => "message",
        Operation::WaitHandle
        | Operation::TestHandle
        | Operation::StartHandle
        | Operation::FreeHandle => "request",
        Operation::Collective(_) => "collective",
        Operation::StartEpoch
        | Operation::CompleteEpoch
        | Operation::PostEpoch
        | Operation::WaitEpoch
        | Operation::TestEpoch => "epoch",
        Operation::Allocate | Operation::Deallocate | Operation::Reallocate => "memory",
        Operation::CreateContext
        | Operation::DestroyContext
        | Operation::CreateGroup
        | Operation::DestroyGroup => "group",
        _ => "other",
    };
    GROUPS.iter().position(|known| *known == name).unwrap_or_default()
}

/// Set of the groups of calls that are recorded, with one bit for each in the order of [`GROUPS`]. The default has all
/// groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups(u32);

impl Default for Groups {
    fn default() -> Self {
        Self(u32::MAX)
    }
}

impl Groups {
    /// Parses a list of groups: `put,get` selects only these, `-wait,-other` all but these. `all` stands for all
    /// groups.
    ///
    /// # Errors
    /// A message that names the unknown group and lists those that exist.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words = || text.split([',', ' ']).filter(|word| !word.is_empty());
        let only = words().any(|word| !word.starts_with('-') && word != "all");
        let mut groups = if only { Self(0) } else { Self::default() };
        for word in words().filter(|word| *word != "all") {
            let name = word.trim_start_matches('-');
            let Some(at) = GROUPS.iter().position(|known| *known == name) else {
                return Err(format!(
                    "{name} is no group of calls; there are {}",
                    GROUPS.join(", ")
                ));
            };
            match word.starts_with('-') {
                true => groups.0 &= !(1 << at),
                false => groups.0 |= 1 << at,
            }
        }
        Ok(groups)
    }

    fn has(self, operation: Operation) -> bool {
        self.0 & 1 << group(operation) != 0
    }
}

/// Treatment of the calls of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// All calls are recorded.
    Record,
    /// Calls are recorded if they are long, and aggregated if they are short.
    Aggregate,
    /// Calls are followed and not written: their effects on requests, communicators and numbers of collectives matter
    /// to other calls.
    Follow,
    /// Calls bypass the recorder.
    Bypass,
}

/// Level of detail of something that can happen inside other calls, such as the handler of an active message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// It is a region with a beginning and an end.
    #[default]
    Regions,
    /// It is a region of no length, at the time at which it began or, for a lock, was acquired or released.
    Events,
    /// Nothing is recorded of it, and nothing that happens inside it either.
    Off,
}

impl Detail {
    /// The words that users write for the values of a setting.
    pub(crate) const WORDS: &'static [&'static str] = &["regions", "events", "off"];

    /// Returns the value for one of [`Self::WORDS`], and the default for any other word.
    pub(crate) fn of(word: Option<&str>) -> Self {
        match word.map(str::trim) {
            Some("events") => Self::Events,
            Some("off") => Self::Off,
            _ => Self::Regions,
        }
    }
}

/// Details of GASNet that a trace may do without, because they are frequent or lie inside other calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Handlers of active messages, which run inside calls that poll.
    pub handlers: Detail,
    /// Calls that take and release handler-safe locks.
    pub locks: Detail,
    /// Set if transfers through shared memory are counted, and not recorded one by one.
    pub counts_shared: bool,
}

/// Selection of the calls to record. A call is recorded if its group is selected and the filter does not exclude it.
/// The calls that start and end a runtime are always recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Filter rules, which are compared with the names of functions as the tables of the runtimes have them.
    pub filter: Filter,
    /// Groups of calls that are recorded. Calls of other groups are followed or bypassed.
    pub groups: Groups,
    /// Part of the time that recording may take, in parts of 10,000, or 0 if there is no bound. To keep it, short calls are
    /// aggregated where no other process depends on each of them.
    pub overhead: u32,
    /// Set if calls that a runtime makes again and again inside a call of another runtime are counted, and not recorded
    /// one by one.
    pub counts_inner: bool,
    /// Details of GASNet that are recorded.
    pub details: Details,
}

impl Selection {
    /// Decides about the calls of a function. The recorder asks once for each function.
    pub(crate) fn decide(&self, layer: Layer, row: &Row) -> Decision {
        let operation = row.operation;
        // A recording begins and ends with these.
        if matches!(operation, Operation::Initialise | Operation::Finalise | Operation::Exit) {
            return Decision::Record;
        }
        let name = row.name();
        if self.groups.has(operation) && !self.filter.excludes(None, name, name) {
            return match self.overhead > 0 && concerns_nobody(layer, row) {
                true => Decision::Aggregate,
                false => Decision::Record,
            };
        }
        let alone = match operation {
            Operation::Put
            | Operation::Get
            | Operation::Atomic(_)
            | Operation::Signal
            | Operation::Order
            | Operation::WaitChange
            | Operation::TestChange
            | Operation::Query
            | Operation::Control => true,
            Operation::Lock | Operation::Unlock | Operation::TryLock => layer.ranks() == Ranks::Own,
            Operation::Probe | Operation::TestProbe => row.places.message.is_none(),
            _ => false,
        };
        if alone { Decision::Bypass } else { Decision::Follow }
    }
}

/// Returns `true` if no process but the caller has to know when a call was made, as long as it was short. Calls that change
/// memory which another process may wait on, send or receive, lock, or meet others are judged by their records. So are
/// operations that a later call completes, because that call waits for them.
fn concerns_nobody(layer: Layer, row: &Row) -> bool {
    match row.operation {
        // Puts that may be signals are distinguished by their size, when they are made.
        Operation::Get | Operation::Put => {
            layer.ranks() == Ranks::Own && row.mode == Mode::Blocking
        }
        Operation::Order
        | Operation::CompleteLocal
        | Operation::CompleteRemote
        | Operation::TestHandle
        | Operation::TestProbe
        | Operation::TestChange
        | Operation::TestEpoch
        | Operation::Query
        | Operation::Control => layer != Layer::Gasnet,
        _ => false,
    }
}

#[cfg(test)]
#[allow(unsafe_code)] // The C library is the judge of patterns.
mod tests {
    use std::ffi::CString;

    use dwell_model::{mpi, shmem};

    use super::*;

    fn excluded(text: &str, names: &[&str]) -> Vec<bool> {
        let filter = Filter::parse(text).unwrap();
        names.iter().map(|name| filter.excludes(None, name, name)).collect()
    }

    /// The examples of Score-P's documentation, with what it says about them.
    #[test]
    fn files_of_the_documentation() {
        let all_but = "SCOREP_REGION_NAMES_BEGIN\n  EXCLUDE *\n  INCLUDE bar foo\n          baz\n          \
                       main\nSCOREP_REGION_NAMES_END\n";
        assert_eq!(
            excluded(all_but, &["bar", "foo", "baz", "main", "other"]),
            [false, false, false, false, true]
        );
        let order = "SCOREP_REGION_NAMES_BEGIN INCLUDE main EXCLUDE * SCOREP_REGION_NAMES_END";
        assert_eq!(excluded(order, &["main", "foo"]), [true, true]);
        let one_line = "SCOREP_REGION_NAMES_BEGIN EXCLUDE binvcrhs* matmul_sub* # comment * all\n\
                        SCOREP_REGION_NAMES_END";
        assert_eq!(
            excluded(one_line, &["binvcrhs_", "matmul_sub_", "all", "x_solve"]),
            [true, true, false, false]
        );
        let nothing = "# no rules at all\n\n";
        assert_eq!(excluded(nothing, &["main"]), [false]);
        let mangled = "SCOREP_REGION_NAMES_BEGIN\n EXCLUDE MANGLED _ZN3foo* DEMANGLED bar(int)\n\
                       SCOREP_REGION_NAMES_END";
        let filter = Filter::parse(mangled).unwrap();
        assert!(filter.excludes_region("foo::run()", "_ZN3foo3runEv"));
        assert!(!filter.excludes_region("_ZN3foo", "run"));
        assert!(filter.excludes_region("bar(int)", "_Z3bari"));
        let mpi = "SCOREP_REGION_NAMES_BEGIN EXCLUDE MPI_*\nINCLUDE MPI_Win_?lush\n\
                   SCOREP_REGION_NAMES_END";
        assert_eq!(
            excluded(mpi, &["MPI_Send", "MPI_Win_flush", "MPI_Win_flush_all"]),
            [true, false, true]
        );
    }

    #[test]
    fn file_rules_come_first() {
        let text = "SCOREP_FILE_NAMES_BEGIN # they see the whole path\n EXCLUDE */foo/bar*\n \
                    INCLUDE */filter_test.c\nSCOREP_FILE_NAMES_END\nSCOREP_REGION_NAMES_BEGIN INCLUDE \
                    main\nSCOREP_REGION_NAMES_END";
        let filter = Filter::parse(text).unwrap();
        for (file, expected) in [
            ("/home/x/foo/bar.c", true),
            ("/home/x/foo/bar/deep/er.c", true),
            ("/home/x/foo/bar/filter_test.c", false),
            ("/home/x/main.c", false),
        ] {
            assert_eq!(filter.excludes_file(file), expected, "{file}");
            assert_eq!(filter.excludes(Some(file), "main", "main"), expected, "{file}");
        }
    }

    #[test]
    fn what_is_escaped_means_itself() {
        let text =
            "SCOREP_REGION_NAMES_BEGIN EXCLUDE a\\#b \\*star with\\ blank\nSCOREP_REGION_NAMES_END";
        let names = ["a#b", "a", "*star", "my star", "with blank", "with"];
        assert_eq!(excluded(text, &names), [true, false, true, false, true, false]);
    }

    #[test]
    fn mistakes_have_a_line() {
        for (text, line, what) in [
            ("EXCLUDE *", 1, "EXCLUDE is not expected here"),
            ("SCOREP_REGION_NAMES_BEGIN\nfoo", 2, "EXCLUDE or INCLUDE is missing before foo"),
            ("SCOREP_REGION_NAMES_BEGIN\nEXCLUDE foo\n", 2, "SCOREP_REGION_NAMES_END is missing"),
            ("SCOREP_REGION_NAMES_BEGIN\nSCOREP_FILE_NAMES_END", 2, "SCOREP_FILE_NAMES_END is not"),
            ("SCOREP_FILE_NAMES_BEGIN EXCLUDE MANGLED a", 1, "MANGLED is not expected here"),
            ("SCOREP_REGION_NAMES_BEGIN MANGLED a", 1, "MANGLED is not expected here"),
        ] {
            let mistake = Filter::parse(text).unwrap_err();
            assert_eq!(mistake.line, line, "{text}");
            assert!(mistake.what.starts_with(what), "{mistake}");
        }
    }

    /// Patterns and names from few letters, so that they often fit.
    #[test]
    fn patterns_mean_what_the_c_library_says() {
        let mut seed = 7_u64;
        let mut draw = |letters: &[u8], most: u64| -> Vec<u8> {
            let mut next = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                seed >> 33
            };
            (0..next() % (most + 1))
                .map(|_| letters[(next() % letters.len() as u64) as usize])
                .collect()
        };
        let mut fitting = 0;
        for _ in 0..200_000 {
            let (pattern, name) = (draw(b"ab*?[]!-^/\\", 7), draw(b"abc]-/", 5));
            // The meaning of a backslash at the end is not specified.
            if pattern.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1 {
                continue;
            }
            let text = [&pattern, &name].map(|it| CString::new(it.clone()).unwrap());
            // SAFETY: both end in zero.
            let expected = unsafe { libc::fnmatch(text[0].as_ptr(), text[1].as_ptr(), 0) } == 0;
            assert_eq!(matches(&pattern, &name), expected, "{text:?}");
            fitting += u32::from(expected);
        }
        assert!(fitting > 5_000, "{fitting}");
    }

    #[test]
    fn groups() {
        let decide = |groups: &str, name: &str| {
            let selection =
                Selection { groups: Groups::parse(groups).unwrap(), ..Selection::default() };
            let (table, row) = match shmem::TABLE.find(name) {
                Some(row) => (&shmem::TABLE, row),
                None => (&mpi::TABLE, mpi::find(name).unwrap()),
            };
            selection.decide(table.layer, row)
        };
        for (groups, name, expected) in [
            ("", "shmem_putmem", Decision::Record),
            ("all", "shmem_putmem", Decision::Record),
            ("get", "shmem_putmem", Decision::Bypass),
            ("get", "shmem_getmem", Decision::Record),
            ("get", "shmem_init", Decision::Record),
            ("get", "shmem_barrier_all", Decision::Follow),
            ("-put,-message", "shmem_putmem", Decision::Bypass),
            ("-put,-message", "MPI_Send", Decision::Follow),
            ("-put,-message", "MPI_Get", Decision::Record),
        ] {
            assert_eq!(decide(groups, name), expected, "{groups}: {name}");
        }
        assert!(Groups::parse("puts").unwrap_err().contains("there are put, get"));
    }
}
