//! Counters that the recorder samples where computing ends and begins: their catalogue, and how users name them.
//!
//! A sample is one metric record with a value for each counter. It is written at the enter and the leave of every region
//! that is not inside a call of a runtime, directly before that event and with its time, so that the difference of two
//! samples belongs to the region that was open between them. Values of counters are accumulated from the start of the
//! thread; temperature and those of MPI's performance variables that are levels, such as the length of a queue, are absolute.
//!
//! | source | counters | read by |
//! |---|---|---|
//! | system | CPU time, context switches, page faults | `clock_gettime`, `getrusage` |
//! | perf | instructions, cycles and others of the processor; migrations | `perf_event_open`, one `read` for all |
//! | sensors | energy and temperature of the processors | files in `/sys/class`, at most once a millisecond |
//! | `MPI_T` | performance variables of the MPI library | `MPI_T_pvar_read`, one call for each |
//!
//! Recorders without counters pay nothing: whether there are any is decided on ways that are slow anyway.

mod perf;
mod read;
mod sensors;

use std::fmt;

use dwell_unify::unify::Member;
use otf2::enums::{MetricMode, MetricType, Type};

pub use read::offer;
pub(crate) use read::{Counting, Readings};

/// Largest number of counters of a run.
pub const MOST: usize = 16;

/// Prefix of the names of performance variables of MPI.
pub const MPI_T: &str = "mpi_t:";

/// Stands for a list of all performance variables, which is printed when MPI starts.
pub const LIST: &str = "list";

/// A counter that the recorder can read by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Name of the counter, in the list of counters to record and in the archive.
    pub name: &'static str,
    /// Unit of the values; empty for mere counts.
    pub unit: &'static str,
    /// Explanation for a list of counters.
    pub about: &'static str,
    /// Word that stands for this counter and others like it.
    pub set: &'static str,
    source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    CpuTime,
    Usage(Usage),
    /// Type and number of an event of `perf_event_open`, and whether only what the program does by itself counts.
    Perf {
        kind: u32,
        config: u64,
        user_only: bool,
    },
    Energy,
    Temperature,
}

/// Fields of `struct rusage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Usage {
    Voluntary,
    Involuntary,
    Minor,
    Major,
}

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;

const fn hardware(name: &'static str, config: u64, about: &'static str) -> Counter {
    let source = Source::Perf { kind: HARDWARE, config, user_only: true };
    Counter { name, unit: "", about, set: "hardware", source }
}

const fn usage(name: &'static str, which: Usage, about: &'static str) -> Counter {
    Counter { name, unit: "", about, set: "system", source: Source::Usage(which) }
}

/// Name of the counter for the time that a thread was on a core.
pub const CPU_TIME: &str = "cpu_time";
/// Name of the counter for instructions.
pub const INSTRUCTIONS: &str = "instructions";
/// Name of the counter for cycles of the core.
pub const CYCLES: &str = "cycles";

/// All counters that the recorder can read by itself.
pub const CATALOGUE: &[Counter] = &[
    Counter {
        name: CPU_TIME,
        unit: "ns",
        about: "time that the thread was running on a core",
        set: "system",
        source: Source::CpuTime,
    },
    usage(
        "voluntary_switches",
        Usage::Voluntary,
        "context switches because the thread waited in the system",
    ),
    usage(
        "involuntary_switches",
        Usage::Involuntary,
        "context switches because another thread got the core",
    ),
    usage("minor_faults", Usage::Minor, "page faults without input or output"),
    usage("major_faults", Usage::Major, "page faults for which the system had to read a file"),
    Counter {
        name: "migrations",
        unit: "",
        about: "moves of the thread from one core to another",
        set: "",
        source: Source::Perf { kind: SOFTWARE, config: 4, user_only: false },
    },
    hardware(INSTRUCTIONS, 1, "instructions of the program, without those of the system"),
    hardware(CYCLES, 0, "cycles of the core in the program"),
    hardware("cache_misses", 3, "misses of the last level of cache in the program"),
    Counter {
        name: "energy",
        unit: "uJ",
        about: "energy of all processors of the node, the same at all of its processes",
        set: "sensors",
        source: Source::Energy,
    },
    Counter {
        name: "temperature",
        unit: "m°C",
        about: "temperature of the hottest processor of the node",
        set: "sensors",
        source: Source::Temperature,
    },
];

/// Sets of counters, and what they are.
pub const SETS: &[(&str, &str)] = &[
    ("system", "CPU time, context switches and page faults"),
    ("hardware", "instructions, cycles and cache misses, where the machine counts them"),
    ("sensors", "energy and temperature of the processors, where the machine has sensors for them"),
];

/// Counters to record, as a user names them: counters of the [catalogue](CATALOGUE) and performance variables of MPI.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub(crate) known: Vec<&'static Counter>,
    /// Names of performance variables, without their prefix.
    pub variables: Vec<String>,
}

impl Wanted {
    /// Reads a list of counters and sets, separated by commas.
    ///
    /// # Errors
    /// If a name is unknown, with the nearest that is known, or if there are more than [`MOST`].
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut wanted = Self::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            if let Some(name) = word.strip_prefix(MPI_T) {
                if !wanted.variables.iter().any(|known| known == name) {
                    wanted.variables.push(name.to_owned());
                }
                continue;
            }
            let found = CATALOGUE.iter().filter(|it| it.name == word || it.set == word);
            let found: Vec<&'static Counter> = found.collect();
            if found.is_empty() {
                return Err(unknown(word));
            }
            for counter in found {
                if !wanted.known.contains(&counter) {
                    wanted.known.push(counter);
                }
            }
        }
        if wanted.known.len() + wanted.variables.len() > MOST {
            return Err(format!("expected at most {MOST} counters"));
        }
        Ok(wanted)
    }

    /// Returns `true` if no counter is to be recorded.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty() && self.variables.is_empty()
    }
}

fn unknown(word: &str) -> String {
    let sets = SETS.iter().map(|set| set.0);
    let names = || CATALOGUE.iter().map(|it| it.name).chain(sets.clone());
    match nearest(word, names()) {
        Some(near) => format!("no counter {word:?}; did you mean {near}?"),
        None => format!(
            "no counter {word:?}; the counters are {} and {MPI_T}NAME",
            names().collect::<Vec<_>>().join(", ")
        ),
    }
}

/// Returns the name that differs from a word in the fewest letters, if these are less than half of it.
pub fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let by_distance = names.map(|name| (distance(word, name), name)).min();
    by_distance.filter(|it| it.0 * 2 < word.chars().count().max(3)).map(|it| it.1)
}

/// Returns the number of letters that must be changed, added or removed to make one word of another.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = i;
        let mut left = i + 1;
        for (place, y) in row.iter_mut().skip(1).zip(b.chars()) {
            let changed = before + usize::from(x != y);
            before = *place;
            left = changed.min(left + 1).min(before + 1);
            *place = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

/// A performance variable of MPI that is read at every sample.
pub struct Variable {
    /// Name of the variable as the library states it.
    pub name: String,
    /// Set if the variable only grows: a counter, an aggregate or a timer.
    pub accumulates: bool,
    /// Set if the values are floating-point numbers of double precision.
    pub is_real: bool,
    /// Reads the variable, as bits of its type. It does not allocate.
    pub read: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variable").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Counter {
    /// Returns the definition of the counter.
    fn member(&self) -> Member {
        let source = match self.source {
            Source::Usage(_) => MetricType::Rusage,
            _ => MetricType::Other,
        };
        let mode = match self.source {
            Source::Temperature => MetricMode::AbsolutePoint,
            _ => MetricMode::AccumulatedStart,
        };
        Member {
            name: self.name.to_owned(),
            unit: self.unit.to_owned(),
            kind: Type::Uint64.into(),
            source: source.into(),
            mode: mode.into(),
        }
    }
}

impl Variable {
    /// Returns the definition of the variable.
    fn member(&self) -> Member {
        let grows = self.accumulates;
        let mode = if grows { MetricMode::AccumulatedStart } else { MetricMode::AbsolutePoint };
        Member {
            name: format!("{MPI_T}{}", self.name),
            unit: String::new(),
            kind: if self.is_real { Type::Double } else { Type::Uint64 }.into(),
            source: MetricType::Other.into(),
            mode: mode.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&'static str> {
        Wanted::parse(text).unwrap().known.iter().map(|it| it.name).collect()
    }

    #[test]
    fn lists_name_counters_and_sets() {
        assert_eq!(names("cpu_time, cycles,cpu_time"), ["cpu_time", "cycles"]);
        assert_eq!(names("system").len(), 5);
        assert_eq!(names("hardware"), ["instructions", "cycles", "cache_misses"]);
        let wanted = Wanted::parse("mpi_t:unexpected_recvq_length").unwrap();
        assert_eq!(wanted.variables, ["unexpected_recvq_length"]);
        assert!(Wanted::parse("").unwrap().is_empty());
    }

    #[test]
    fn a_typo_suggests_the_nearest_name() {
        let of = |text: &str| Wanted::parse(text).unwrap_err();
        assert_eq!(of("cpu_tme"), "no counter \"cpu_tme\"; did you mean cpu_time?");
        assert_eq!(of("instruction"), "no counter \"instruction\"; did you mean instructions?");
        assert!(of("bananas").contains("the counters are cpu_time"), "{}", of("bananas"));
        let many: Vec<String> = (0..17).map(|at| format!("mpi_t:{at}")).collect();
        assert_eq!(of(&many.join(",")), "expected at most 16 counters");
    }

    #[test]
    fn distances_are_those_of_levenshtein() {
        assert_eq!(
            [distance("kitten", "sitting"), distance("", "ab"), distance("a", "a")],
            [3, 2, 0]
        );
    }
}
