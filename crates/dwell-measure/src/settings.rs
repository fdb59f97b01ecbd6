//! The settings of the recorder: their table, and the values that a run has.
//!
//! [`TABLE`] is the only place that knows the settings. From it come the flags of `dwell run`, the variables of the
//! environment that the recorder reads, the names in a configuration file, the list of them all, and the properties by
//! which an archive says how it was recorded.

mod layers;
mod table;
#[cfg(test)]
mod tests;

use std::env;
use std::path::{Path, PathBuf};

use dwell_model::units::{parse_duration, parse_size};
use dwell_model::wrappers::Wrappers;

use crate::clock::{Skew, Source};
use crate::counters::{self, Wanted};
use crate::filter::{Filter, Groups, Selection};
use crate::memory::Filling;
use layers::Layers;

pub use table::{EVERYDAY, SETTINGS_ONLY, TABLE};

/// One setting of the recorder. Users give its value as a flag of `dwell run`, in a configuration file, or in the
/// environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Name of the setting in a configuration file, and of the flag after `--`.
    pub name: &'static str,
    /// Letter of the short flag; `None` if there is none.
    pub letter: Option<char>,
    /// Type of the values, which decides how they are checked and shown.
    pub kind: Kind,
    /// Default value as text; empty if there is none.
    pub default: &'static str,
    /// Heading under which the help text lists the setting. Those of [`SETTINGS_ONLY`] have no flag.
    pub section: &'static str,
    /// Description of the setting for the help text.
    pub help: &'static str,
}

/// Type of the values of a setting. Values are texts everywhere; [`Kind::check`] decides whether a text is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A number of bytes with an optional unit, as in `64M`.
    Size,
    /// A number of bytes for all processes together, as in `4G`, or for each, as in `64M/process`.
    Budget,
    /// A list of layers and how each is recorded, as in `ucx=on,mpi-inner=all`.
    Layers,
    /// Path of a directory.
    Directory,
    /// Path of a filter file, whose rules decide which calls are recorded.
    Filter,
    /// A list of groups of calls, as [`Groups::parse`] reads it.
    Groups,
    /// A list of libraries that wrap a runtime, as [`Wrappers`] reads it.
    Wrappers,
    /// A list of counters, as [`Wanted::parse`] reads it, or `list`.
    Counters,
    /// A duration, as in `10s`.
    Duration,
    /// A part of a whole, as in `2%`.
    Share,
    /// A number that is at least 1 and at most this.
    Count(u32),
    /// Any text in one line.
    Text,
    /// A switch, which is on or off.
    Switch,
    /// A switch that may be a number of times in a second instead, at most [`MOST_SAMPLES`].
    Rate,
    /// One of these words, spelled exactly as here.
    Choice(&'static [&'static str]),
}

impl Kind {
    /// Returns the word that stands for a value of this type in a help text, such as `SIZE`.
    pub const fn placeholder(self) -> &'static str {
        match self {
            Self::Size | Self::Budget => "SIZE",
            Self::Layers => "NAME=WORD",
            Self::Directory => "DIR",
            Self::Filter => "FILE",
            Self::Groups => "GROUPS",
            Self::Wrappers | Self::Counters => "LIST",
            Self::Duration => "TIME",
            Self::Share => "SHARE",
            Self::Count(_) => "N",
            Self::Text => "TEXT",
            Self::Switch => "on|off",
            Self::Rate => "HZ",
            Self::Choice(_) => "WORD",
        }
    }

    /// Checks whether a text is a value of this type. Paths are always valid here: the files are opened later.
    ///
    /// # Errors
    /// A description of the values that are expected, for an error message.
    pub fn check(self, text: &str) -> Result<(), String> {
        match self {
            Self::Size => parse_size(text).map(drop).ok_or("expected a size such as 64M".into()),
            Self::Budget => Budget::parse(text)
                .map(drop)
                .ok_or("expected a size such as 4G, or 64M/process".into()),
            Self::Layers => Layers::parse(text).map(drop),
            Self::Directory | Self::Filter => Ok(()),
            Self::Groups => Groups::parse(text).map(drop),
            Self::Wrappers => Wrappers::check(text).map_err(str::to_owned),
            Self::Counters if text.trim() == counters::LIST => Ok(()),
            Self::Counters => Wanted::parse(text).map(drop),
            Self::Duration => parse_duration(text)
                .map(drop)
                .ok_or("expected a time such as 500ms, 10s or 2m".into()),
            Self::Share => parse_share(text)
                .map(drop)
                .ok_or("expected a share from 0.01% to 100%, such as 2%".into()),
            Self::Count(most) => match text.trim().parse::<u32>() {
                Ok(number) if (1..=most).contains(&number) => Ok(()),
                _ if most == u32::MAX => Err("expected a number of at least 1".into()),
                _ => Err(format!("expected a number from 1 to {most}")),
            },
            Self::Text if text.contains(['\n', '\r', '\0']) => Err("expected one line".into()),
            Self::Text => Ok(()),
            Self::Switch => parse_switch(text).map(drop).ok_or("expected on or off".into()),
            Self::Rate if parse_rate(text).is_some() || parse_switch(text) == Some(false) => Ok(()),
            Self::Rate => Err(format!("expected a number from 1 to {MOST_SAMPLES}, on or off")),
            Self::Choice(words) if words.contains(&text.trim()) => Ok(()),
            Self::Choice(words) => Err(format!("expected one of {}", words.join(", "))),
        }
    }

    /// Returns `true` if values of this type are paths. Relative paths in a configuration file must be resolved.
    pub const fn is_path(self) -> bool {
        matches!(self, Self::Directory | Self::Filter)
    }
}

impl Setting {
    /// Finds the setting with this name, as it is written in a configuration file. Returns `None` for unknown names.
    pub fn find(name: &str) -> Option<&'static Self> {
        TABLE.iter().find(|setting| setting.name == name)
    }

    /// Returns the name of the environment variable that holds the value of the setting, such as `DWELL_MAX_SIZE`.
    pub fn variable(&self) -> String {
        format!("DWELL_{}", self.word())
    }

    /// Returns the name of the property in which an archive states the value, without the prefix that all properties of
    /// Dwell have.
    pub fn property(&self) -> String {
        format!("CONFIG::{}", self.word())
    }

    fn word(&self) -> String {
        self.name.replace('-', "_").to_ascii_uppercase()
    }
}

/// Largest number of bytes after the last chunk of an event file. They hold the ends of calls that were open when there
/// was no room for another chunk.
pub(crate) const TAIL: u64 = 4096;

/// Values of all settings for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Experiment directory as the user named it; if `None`, the recorder makes a name.
    pub(crate) directory: Option<PathBuf>,
    /// Set if the user wants the next free name where that directory is in use.
    pub(crate) next: bool,
    /// Directory for files while they are written, if that is not the experiment directory.
    pub(crate) scratch: Option<PathBuf>,
    /// Size of an event chunk that the user asked for, in bytes.
    chunk: u64,
    /// Memory in which chunks are filled after the first of a thread.
    pub(crate) filling: Filling,
    /// Largest size of the events.
    budget: Budget,
    /// Largest amount of memory that recording may take in one process, in bytes.
    pub(crate) memory: u64,
    /// Error to add to the clock of each process, multiplied by its rank; for tests.
    pub(crate) skew: Option<Skew>,
    /// Nanoseconds between comparisons of clocks of different nodes.
    pub(crate) clock_period: u64,
    /// Nanoseconds that the recorder waits for other processes in one step.
    pub(crate) peer_timeout: u64,
    /// Clock from which time is read.
    pub(crate) clock: Source,
    /// `trace` is set if events are written, `profile` if they are summed up.
    pub(crate) trace: bool,
    pub(crate) profile: bool,
    /// Filter and groups that select the calls to record.
    pub(crate) selection: Selection,
    /// Beginning and end of the recording, in nanoseconds after the start of the runtime.
    pub(crate) window: (u64, u64),
    /// Set if recording is paused until the program resumes it.
    pub(crate) paused: bool,
    /// Number of frames of the program that are recorded above a call.
    pub(crate) unwind: usize,
    /// Libraries that wrap a runtime, in addition to those that are known.
    pub(crate) wrappers: String,
    /// Samples of each thread in a second of processor time, if it is sampled.
    pub(crate) samples: Option<u32>,
    /// Counters to sample.
    pub(crate) counters: Wanted,
    /// Settings that have a value, as the archive states them: name of the property, and value.
    pub(crate) effective: Vec<(String, String)>,
}

/// Values of settings as texts that were checked against the table.
struct Values {
    list: Vec<(&'static Setting, String)>,
}

impl Values {
    /// Asks `get` for every setting. Values that are not valid are reported in `complaints` and replaced by the
    /// default.
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

    /// Returns the selection of calls to record. A filter that cannot be read is reported in `complaints` and filters
    /// nothing.
    fn selection(&self, complaints: &mut Vec<String>) -> Selection {
        let filter = self.path("filter").map(|path| read_filter(&path));
        let filter = filter.unwrap_or_else(|| Ok(Filter::default())).unwrap_or_else(|error| {
            complaints.push(format!("{error}; nothing is filtered"));
            Filter::default()
        });
        let layers = self.text("layer").and_then(|it| Layers::parse(it).ok()).unwrap_or_default();
        Selection {
            filter,
            groups: self
                .text("calls")
                .and_then(|text| Groups::parse(text).ok())
                .unwrap_or_default(),
            overhead: self.text("overhead").and_then(parse_share).unwrap_or(0),
            counts_inner: layers.counts_inner,
            details: layers.gasnet,
        }
    }
}

impl Settings {
    /// Reads all settings from the environment. Also returns complaints about values that are not valid, for which the
    /// defaults are used.
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
        let counters = values.text("counters").and_then(|text| Wanted::parse(text).ok());
        let mut selection = values.selection(&mut complaints);
        if selection.overhead > 0 && counters.is_some() {
            complaints
                .push("--overhead cannot be kept while --counters are sampled; ignored".into());
            selection.overhead = 0;
        }
        let settings = Self {
            skew,
            clock,
            clock_period: values.duration("clock-period").unwrap_or(0),
            peer_timeout: values.duration("peer-timeout").unwrap_or(60_000_000_000),
            trace,
            profile,
            selection,
            window: (start, end),
            paused: values.is_on("paused"),
            unwind: values.text("unwind").and_then(|text| text.trim().parse().ok()).unwrap_or(0),
            wrappers: values.text("wrappers").unwrap_or_default().to_owned(),
            samples: values.text("sample").and_then(parse_rate),
            counters: counters.unwrap_or_default(),
            directory: values.path("output"),
            next: values.is_on("next"),
            scratch: values.path("scratch"),
            chunk,
            filling: values
                .text("chunks")
                .and_then(|it| Filling::parse(it.trim()))
                .unwrap_or_default(),
            budget: values.text("max-size").and_then(Budget::parse).unwrap_or_default(),
            memory: values.size("memory").unwrap_or(u64::MAX),
            effective: values
                .list
                .iter()
                .map(|(setting, value)| (setting.property(), value.clone()))
                .collect(),
        };
        (settings, complaints)
    }

    /// Returns the largest size of the events of each process, in bytes, in a run of `processes`.
    pub(crate) fn budget(&self, processes: u64) -> u64 {
        match self.budget {
            Budget::Unlimited => u64::MAX,
            Budget::Together(total) => total / processes.max(1),
            Budget::Each(size) => size,
        }
    }

    /// Returns the size of an event chunk in bytes, the same in all `processes`. Chunks shrink to fit a budget that is
    /// a little less than a chunk.
    pub(crate) fn chunk(&self, processes: u64) -> u64 {
        let room = self.budget(processes).saturating_sub(TAIL) & !4095;
        self.chunk.min(room.max(otf2::chunk::MIN_SIZE))
    }

    pub(crate) fn from_environment() -> (Self, Vec<String>) {
        Self::read(|name| env::var(name).ok())
    }
}

/// Largest size of the events of a run, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Budget {
    #[default]
    Unlimited,
    /// Of all processes together; each gets an equal share.
    Together(u64),
    /// Of each process.
    Each(u64),
}

impl Budget {
    fn parse(text: &str) -> Option<Self> {
        match text.trim().strip_suffix("/process") {
            Some(size) => parse_size(size).map(Self::Each),
            None => parse_size(text).map(Self::Together),
        }
    }
}

/// Returns `true` if the calls of a layer of this name are recorded, as the environment says. Layers that have no word in
/// the setting always are.
pub fn records_layer(name: &str) -> bool {
    let asked = env::var("DWELL_LAYER").ok();
    let layers = asked.and_then(|text| Layers::parse(&text).ok()).unwrap_or_default();
    layers.record(name)
}

/// Reads and parses a filter file.
///
/// # Errors
/// A message with the path, the line and the mistake, or with the reason why the file cannot be read.
pub fn read_filter(path: &Path) -> Result<Filter, String> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| told(&error))?;
    Filter::parse(&text).map_err(|mistake| told(&mistake))
}

/// Returns a share such as `2%` in parts of 10,000, or `None` if the text is not a share, or the share is less
/// than one part or more than all.
fn parse_share(text: &str) -> Option<u32> {
    let percent: f64 = text.trim().strip_suffix('%')?.trim_end().parse().ok()?;
    let parts = (percent * 100.0).round();
    (1.0..=10_000.0).contains(&parts).then_some(parts as u32)
}

/// Greatest number of samples in a second: the system's clock of processor time has no more ticks.
pub const MOST_SAMPLES: u32 = 1000;

/// Number of samples in a second if none is given.
const SAMPLES: u32 = 100;

/// Returns the number of samples in a second, or `None` for none and for a text that is no such number.
fn parse_rate(text: &str) -> Option<u32> {
    match text.trim().parse() {
        Ok(rate) => (1..=MOST_SAMPLES).contains(&rate).then_some(rate),
        Err(_) => parse_switch(text).filter(|on| *on).map(|_| SAMPLES),
    }
}

/// Parses the value of a switch: `on`, `yes`, `true` and `1`, or `off`, `no`, `false` and `0`, in any case and with
/// blanks around them. Returns `None` for anything else.
pub fn parse_switch(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "on" | "yes" | "true" | "1" => Some(true),
        "off" | "no" | "false" | "0" => Some(false),
        _ => None,
    }
}
