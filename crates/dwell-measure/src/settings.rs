//! What can be set, and what was.
//!
//! [`TABLE`] is the only place that knows the settings. From it come the flags of `dwell run`, the
//! variables of the environment that the recorder reads, the names in a configuration file, the list of
//! them all, and the properties by which an archive says how it was recorded.

use std::env;
use std::path::{Path, PathBuf};

use dwell_model::units::{parse_duration, parse_size};

use crate::clock::{Skew, Source};
use crate::filter::{Filter, Groups, Selection};

/// One thing that can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name: of the flag behind `--`, and in a file.
    pub name: &'static str,
    /// The letter of the flag, if it has one.
    pub letter: Option<char>,
    /// What a value is.
    pub kind: Kind,
    /// The value if nobody says anything; empty for none.
    pub default: &'static str,
    /// What it is about.
    pub section: &'static str,
    /// What it does.
    pub help: &'static str,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Bytes, as in `64M`.
    Size,
    /// A directory.
    Directory,
    /// A file of rules that say what is recorded.
    Filter,
    /// Groups of calls.
    Groups,
    /// A time, as in `10s`.
    Duration,
    /// A number from 1 on.
    Count,
    /// On or off.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
}

impl Kind {
    /// What stands for a value in a help text.
    pub const fn placeholder(self) -> &'static str {
        match self {
            Self::Size => "SIZE",
            Self::Directory => "DIR",
            Self::Filter => "FILE",
            Self::Groups => "GROUPS",
            Self::Duration => "TIME",
            Self::Count => "N",
            Self::Switch => "on|off",
            Self::Choice(_) => "WORD",
        }
    }

    /// Says what is wrong with a value.
    ///
    /// # Errors
    /// What is wanted instead.
    pub fn check(self, text: &str) -> Result<(), String> {
        match self {
            Self::Size => parse_size(text).map(drop).ok_or("expected a size such as 64M".into()),
            Self::Directory | Self::Filter => Ok(()),
            Self::Groups => Groups::parse(text).map(drop),
            Self::Duration => parse_duration(text)
                .map(drop)
                .ok_or("expected a time such as 500ms, 10s or 2m".into()),
            Self::Count => match text.trim().parse() {
                Ok(1..=u32::MAX) => Ok(()),
                _ => Err("expected a number of at least 1".into()),
            },
            Self::Switch => parse_switch(text).map(drop).ok_or("expected on or off".into()),
            Self::Choice(words) if words.contains(&text.trim()) => Ok(()),
            Self::Choice(words) => Err(format!("expected one of {}", words.join(", "))),
        }
    }

    /// Whether a value is the path of something.
    pub const fn is_path(self) -> bool {
        matches!(self, Self::Directory | Self::Filter)
    }
}

const OUTPUT: &str = "Output";
const EVENTS: &str = "Events";
const FILTERS: &str = "Filters";
const TIME_WINDOW: &str = "Time window";
const MEASUREMENT: &str = "Measurement";
const LIMITS: &str = "Limits";

/// Everything that can be set.
pub const TABLE: &[Setting] = &[
    Setting {
        name: "output",
        letter: Some('o'),
        kind: Kind::Directory,
        default: "",
        section: OUTPUT,
        help: "Experiment directory; it must be empty, and is created if necessary. The default is \
               dwell-PROGRAM-JOB in the current directory, with the time if there is no batch job",
    },
    Setting {
        name: "scratch",
        letter: None,
        kind: Kind::Directory,
        default: "",
        section: OUTPUT,
        help: "Write to this directory of each node while the program runs, and move the files to the \
               experiment directory at the end. Faster on slow shared file systems; after a crash the files \
               must be collected from the nodes",
    },
    Setting {
        name: "profile",
        letter: None,
        kind: Kind::Switch,
        default: "off",
        section: EVENTS,
        help: "Sum up calls by call path while the program runs: visits, time, bytes, operations, partners. \
               Replaces the trace, unless --trace is given too",
    },
    Setting {
        name: "trace",
        letter: None,
        kind: Kind::Switch,
        default: "",
        section: EVENTS,
        help: "Record every call as events; this is the default unless --profile is given",
    },
    Setting {
        name: "filter",
        letter: None,
        kind: Kind::Filter,
        default: "",
        section: FILTERS,
        help: "Filter file in the format of Score-P, which excludes calls; its rules for regions apply to calls \
               of runtimes too",
    },
    Setting {
        name: "calls",
        letter: None,
        kind: Kind::Groups,
        default: "all",
        section: FILTERS,
        help: "Groups of calls to record, as in put,get, or to exclude, as in -wait,-other. The groups are put, \
               get, atomic, signal, complete, lock, wait, message, request, collective, epoch, memory, group \
               and other",
    },
    Setting {
        name: "every",
        letter: None,
        kind: Kind::Count,
        default: "1",
        section: FILTERS,
        help: "Record only every Nth call of each call site and thread",
    },
    Setting {
        name: "ucx",
        letter: None,
        kind: Kind::Switch,
        default: "off",
        section: FILTERS,
        help: "Also record calls of UCX, inside those of OpenSHMEM and MPI, which show what a slow put consists \
               of. Traces become several times as large",
    },
    Setting {
        name: "start-after",
        letter: None,
        kind: Kind::Duration,
        default: "",
        section: TIME_WINDOW,
        help: "Start recording this long after the runtime was initialised, as in 10s",
    },
    Setting {
        name: "for",
        letter: None,
        kind: Kind::Duration,
        default: "",
        section: TIME_WINDOW,
        help: "Stop recording after this time, counted from --start-after",
    },
    Setting {
        name: "paused",
        letter: None,
        kind: Kind::Switch,
        default: "off",
        section: TIME_WINDOW,
        help: "Record nothing until the program calls dwell_resume, MPI_Pcontrol(1) or shmem_pcontrol(1)",
    },
    Setting {
        name: "max-size",
        letter: None,
        kind: Kind::Size,
        default: "",
        section: LIMITS,
        help: "Stop recording in a process whose events reach this size on disk, such as 4G",
    },
    Setting {
        name: "max-total",
        letter: None,
        kind: Kind::Size,
        default: "",
        section: LIMITS,
        help: "Limit the events of all processes together to this size; each process gets an equal share",
    },
    Setting {
        name: "max-memory",
        letter: None,
        kind: Kind::Size,
        default: "",
        section: LIMITS,
        help: "Memory that recording may use in each process; threads that would exceed it are not recorded",
    },
    Setting {
        name: "clock",
        letter: None,
        kind: Kind::Choice(&["auto", "counter", "system"]),
        default: "auto",
        section: MEASUREMENT,
        help: "Source of time stamps: the processor's time stamp counter, CLOCK_MONOTONIC of the system, or the \
               counter if its rate is constant (auto)",
    },
    Setting {
        name: "clock-period",
        letter: None,
        kind: Kind::Duration,
        default: "10s",
        section: MEASUREMENT,
        help: "Compare the clocks of different nodes about this often while the program runs, in barriers and \
               other collectives of all processes. With 0 they are compared only at the beginning and at the \
               end",
    },
    Setting {
        name: "peer-timeout",
        letter: None,
        kind: Kind::Duration,
        default: "60s",
        section: MEASUREMENT,
        help: "Longest wait for other processes when recording starts, when it ends, and when clocks are \
               compared. After that the program continues, and dwell recover makes the archive",
    },
    Setting {
        name: "unwind",
        letter: None,
        kind: Kind::Count,
        default: "",
        section: MEASUREMENT,
        help: "Unwind the call stack at each call, up to N functions of the program and at most 64, and show \
               them in the call tree; for programs whose functions are not instrumented. Every call costs more",
    },
    Setting {
        name: "chunk-size",
        letter: None,
        kind: Kind::Size,
        default: "1M",
        section: LIMITS,
        help: "Size of the chunks by which event files grow, 256K to 16M",
    },
];

impl Setting {
    /// The setting of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        TABLE.iter().find(|setting| setting.name == name)
    }

    /// The variable of the environment that has its value, as in `DWELL_MAX_SIZE`.
    pub fn variable(&self) -> String {
        format!("DWELL_{}", self.word())
    }

    /// Whether the environment turns it on.
    pub fn is_on(&self) -> bool {
        env::var(self.variable()).ok().and_then(|text| parse_switch(&text)).unwrap_or(false)
    }

    /// The property of an archive that has its value, without the part that all of Dwell's have.
    pub fn property(&self) -> String {
        format!("CONFIG::{}", self.word())
    }

    fn word(&self) -> String {
        self.name.replace('-', "_").to_ascii_uppercase()
    }
}

/// Bytes of a location's file behind its last chunk, at most: the ends of calls that were open when
/// there was no room for another.
pub(crate) const TAIL: u64 = 4096;

/// How to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The experiment directory, exactly; otherwise a name is made.
    pub(crate) directory: Option<PathBuf>,
    /// Where files are while they are written, if not in the experiment directory.
    pub(crate) scratch: Option<PathBuf>,
    /// Bytes of an event chunk, if there is room for it.
    chunk: u64,
    /// Bytes that the events of one process may take.
    budget: u64,
    /// Bytes that the events of all processes may take.
    total: u64,
    /// Bytes of memory that recording may take in one process.
    pub(crate) memory: u64,
    /// By how much the clock of each process is to be made wrong, for tests, times the rank.
    pub(crate) skew: Option<Skew>,
    /// Nanoseconds between comparisons of clocks of different nodes.
    pub(crate) clock_period: u64,
    /// Nanoseconds that the recorder waits for other processes.
    pub(crate) peer_timeout: u64,
    /// What time is read from.
    pub(crate) clock: Source,
    /// Whether events are written, and whether they are summed up.
    pub(crate) trace: bool,
    pub(crate) profile: bool,
    /// Which calls are recorded.
    pub(crate) selection: Selection,
    /// Nanoseconds after the start of the runtime when recording begins and ends.
    pub(crate) window: (u64, u64),
    /// Whether recording is paused until the program resumes it.
    pub(crate) paused: bool,
    /// How many functions of the program are looked for above a call.
    pub(crate) unwind: usize,
    /// Every setting that has a value, as the archive says it: the name of a property, the value.
    pub(crate) effective: Vec<(String, String)>,
}

/// Values as texts, by the rules of the table.
struct Values {
    list: Vec<(&'static Setting, String)>,
}

impl Values {
    /// Asks for every setting. What cannot be understood is told, and left at its default.
    fn read(get: impl Fn(&str) -> Option<String>, complaints: &mut Vec<String>) -> Self {
        let mut list = Vec::new();
        for setting in TABLE {
            let variable = setting.variable();
            let given = get(&variable).filter(|text| !text.is_empty());
            let given = given.filter(|text| match setting.kind.check(text) {
                Ok(()) => true,
                Err(wanted) => {
                    complaints.push(format!("{variable}={text}: {wanted}; ignored"));
                    false
                }
            });
            let value = given.unwrap_or_else(|| setting.default.into());
            if !value.is_empty() {
                list.push((setting, value));
            }
        }
        Self { list }
    }

    fn text(&self, name: &str) -> Option<&str> {
        debug_assert!(Setting::find(name).is_some(), "{name} is not in the table");
        self.list.iter().find(|(setting, _)| setting.name == name).map(|(_, value)| value.as_str())
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    fn size(&self, name: &str) -> Option<u64> {
        parse_size(self.text(name)?)
    }

    fn duration(&self, name: &str) -> Option<u64> {
        parse_duration(self.text(name)?)
    }

    fn is_on(&self, name: &str) -> bool {
        self.text(name).and_then(parse_switch).unwrap_or(false)
    }

    /// Which calls are to be recorded. A filter that cannot be read is told, and filters nothing.
    fn selection(&self, complaints: &mut Vec<String>) -> Selection {
        let filter = self.path("filter").map(|path| read_filter(&path));
        let filter = filter.unwrap_or_else(|| Ok(Filter::default())).unwrap_or_else(|error| {
            complaints.push(format!("{error}; nothing is filtered"));
            Filter::default()
        });
        Selection {
            filter,
            groups: self
                .text("calls")
                .and_then(|text| Groups::parse(text).ok())
                .unwrap_or_default(),
            every: self.text("every").and_then(|text| text.trim().parse().ok()).unwrap_or(1),
        }
    }
}

impl Settings {
    /// Reads the environment. What cannot be understood is told, and left at its default.
    pub(crate) fn read(get: impl Fn(&str) -> Option<String>) -> (Self, Vec<String>) {
        let mut complaints = Vec::new();
        let values = Values::read(&get, &mut complaints);
        // Chunks are mapped, so they are whole pages.
        let chunk = values.size("chunk-size").unwrap_or(otf2::chunk::EVENTS_SIZE);
        let chunk = chunk.clamp(otf2::chunk::MIN_SIZE, otf2::chunk::MAX_SIZE) & !4095;
        let start = values.duration("start-after").unwrap_or(0);
        let end = values.duration("for").map_or(u64::MAX, |length| start.saturating_add(length));
        let profile = values.is_on("profile");
        let trace = values.text("trace").and_then(parse_switch).unwrap_or(!profile);
        let skew = get("DWELL_TEST_SKEW").and_then(|text| {
            let mut numbers = text.split(',').map(str::trim);
            let (offset, drift) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
            let turn = numbers.next().map_or(Some(0), |turn| turn.parse().ok())?;
            Some(Skew { offset, drift, turn })
        });
        let clock = match values.text("clock") {
            _ if skew.is_some() => Source::System,
            Some("counter") => Source::Counter,
            Some("system") => Source::System,
            _ => Source::best(),
        };
        let settings = Self {
            skew,
            clock,
            clock_period: values.duration("clock-period").unwrap_or(0),
            peer_timeout: values.duration("peer-timeout").unwrap_or(60_000_000_000),
            trace,
            profile,
            selection: values.selection(&mut complaints),
            window: (start, end),
            paused: values.is_on("paused"),
            unwind: values.text("unwind").and_then(|text| text.trim().parse().ok()).unwrap_or(0),
            directory: values.path("output"),
            scratch: values.path("scratch"),
            chunk,
            budget: values.size("max-size").unwrap_or(u64::MAX),
            total: values.size("max-total").unwrap_or(u64::MAX),
            memory: values.size("max-memory").unwrap_or(u64::MAX),
            effective: values
                .list
                .iter()
                .map(|(setting, value)| (setting.property(), value.clone()))
                .collect(),
        };
        (settings, complaints)
    }

    /// Bytes that the events of each of so many processes may take.
    pub(crate) fn budget(&self, processes: u64) -> u64 {
        match self.total {
            u64::MAX => self.budget,
            total => self.budget.min(total / processes.max(1)),
        }
    }

    /// Bytes of an event chunk, the same in all of so many processes. No budget is to fail because it is
    /// a little less than a chunk.
    pub(crate) fn chunk(&self, processes: u64) -> u64 {
        let room = self.budget(processes).saturating_sub(TAIL) & !4095;
        self.chunk.min(room.max(otf2::chunk::MIN_SIZE))
    }

    pub(crate) fn from_environment() -> (Self, Vec<String>) {
        Self::read(|name| env::var(name).ok())
    }
}

/// Reads a filter file.
///
/// # Errors
/// What is wrong with it, and where.
pub fn read_filter(path: &Path) -> Result<Filter, String> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| told(&error))?;
    Filter::parse(&text).map_err(|mistake| told(&mistake))
}

/// Reads `on`, `off` and their like.
pub fn parse_switch(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "on" | "yes" | "true" | "1" => Some(true),
        "off" | "no" | "false" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_values() {
        for (at, setting) in TABLE.iter().enumerate() {
            let sound = setting.default.is_empty() || setting.kind.check(setting.default).is_ok();
            assert!(sound, "{}", setting.name);
            let name = setting.name;
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
            assert!(!TABLE[..at].iter().any(|other| other.name == name), "{name} is there twice");
            assert!(!setting.help.ends_with('.'), "{name}: no full stop at the end, as in clap");
        }
    }

    #[test]
    fn switches() {
        assert_eq!(
            [parse_switch("On"), parse_switch("0"), parse_switch("2")],
            [Some(true), Some(false), None]
        );
    }

    #[test]
    fn the_environment_is_checked() {
        let (settings, complaints) = Settings::read(|name| match name {
            "DWELL_CHUNK_SIZE" => Some("1".into()),
            "DWELL_MAX_SIZE" => Some("plenty".into()),
            "DWELL_SCRATCH" => Some(String::new()),
            "DWELL_OUTPUT" => Some("/tmp/run".into()),
            _ => None,
        });
        assert_eq!(settings.chunk, otf2::chunk::MIN_SIZE);
        assert_eq!(settings.budget(2), u64::MAX);
        assert_eq!(settings.scratch, None);
        let expected = "DWELL_MAX_SIZE=plenty: expected a size such as 64M; ignored";
        assert_eq!(complaints, [expected]);
        for (name, value) in [("CONFIG::OUTPUT", "/tmp/run"), ("CONFIG::CHUNK_SIZE", "1")] {
            let known = settings.effective.iter().find(|known| known.0 == name);
            assert_eq!(known.map(|known| known.1.as_str()), Some(value));
        }
        assert!(!settings.effective.iter().any(|known| known.0 == "CONFIG::MAX_SIZE"));
    }

    #[test]
    fn a_budget_is_shared_and_has_room_for_a_chunk() {
        let of = |size: &str, total: &str, processes| {
            let get = |name: &str| match name {
                "DWELL_MAX_SIZE" => Some(size.to_owned()),
                "DWELL_MAX_TOTAL" => Some(total.to_owned()),
                _ => None,
            };
            let settings = Settings::read(get).0;
            (settings.budget(processes), settings.chunk(processes))
        };
        assert_eq!(of("", "", 3), (u64::MAX, 1 << 20));
        assert_eq!(of("4M", "", 3), (4 << 20, 1 << 20));
        assert_eq!(of("1M", "", 3), (1 << 20, (1 << 20) - 4096));
        assert_eq!(of("4M", "6M", 3), (2 << 20, 1 << 20));
        assert_eq!(of("0", "", 3), (0, otf2::chunk::MIN_SIZE));
    }

    #[test]
    fn the_window_is_counted_from_its_beginning() {
        let of = |after: &str, long: &str| {
            let get = |name: &str| match name {
                "DWELL_START_AFTER" => Some(after.to_owned()),
                "DWELL_FOR" => Some(long.to_owned()),
                _ => None,
            };
            Settings::read(get).0.window
        };
        assert_eq!(of("", ""), (0, u64::MAX));
        assert_eq!(of("2s", "3s"), (2_000_000_000, 5_000_000_000));
        assert_eq!(of("", "3s"), (0, 3_000_000_000));
    }
}
