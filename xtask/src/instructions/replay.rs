//! Synthetic archives, and instructions that an event of them costs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fmt, fs};

use anyhow::{Context, Result, ensure};

use super::Sizes;
use crate::build::Build;
use crate::process::{self, Folder};
use crate::workspace::Workspace;

/// Number of multiplications of [`Kind::Srumma`], which the example knows.
pub(crate) const SRUMMA_ROUNDS: u64 = 3;

/// Kinds of synthetic archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Blocking gets. The size is the number of iterations.
    Sor,
    /// Non-blocking gets. The size is the number of pairs of blocks in each of [`SRUMMA_ROUNDS`].
    Srumma,
    /// Messages. The size is the number of steps.
    Ring,
}

impl Kind {
    /// Returns what the events of such an archive are about.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Kind::Sor => "blocking gets",
            Kind::Srumma => "non-blocking gets",
            Kind::Ring => "messages",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Sor => "sor",
            Kind::Srumma => "srumma",
            Kind::Ring => "ring",
        }
    }
}

/// A synthetic archive and its totals.
pub(crate) struct Archive {
    /// Directory of the archive.
    pub(crate) directory: PathBuf,
    /// Number of locations.
    pub(crate) ranks: u64,
    /// Number of events of all kinds.
    pub(crate) events: u64,
    /// Number of gets.
    pub(crate) gets: u64,
    /// Bytes of all event files together.
    pub(crate) bytes: u64,
}

impl Archive {
    /// Returns the path of the anchor file.
    pub(crate) fn anchor(&self) -> PathBuf {
        self.directory.join("traces.otf2")
    }
}

impl fmt::Display for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} locations, {:.1} million gets, {:.2} GB",
            self.ranks,
            self.gets as f64 / 1e6,
            self.bytes as f64 / 1e9
        )?;
        match self.gets {
            0 => Ok(()),
            gets => write!(f, ", {:.2} events a get", self.events as f64 / gets as f64),
        }
    }
}

/// The example `replay` of `dwell-analyze`, which makes archives and replays them.
pub(crate) struct Replay {
    program: PathBuf,
}

impl Replay {
    /// Builds the program.
    pub(crate) fn build(workspace: &Workspace, build: Build) -> Result<Replay> {
        let program = build.program(workspace, "dwell-analyze", ["--example", "replay"])?;
        Ok(Replay { program })
    }

    /// Makes an archive. What the directory has is removed first.
    pub(crate) fn synth(
        &self,
        kind: Kind,
        ranks: u64,
        size: u64,
        directory: PathBuf,
    ) -> Result<Archive> {
        if directory.exists() {
            fs::remove_dir_all(&directory)
                .with_context(|| format!("cannot remove {}", directory.display()))?;
        }
        let mut synth = Command::new(&self.program);
        synth.args(["synth", kind.name()]).arg(&directory);
        synth.args([ranks, size].map(|number| number.to_string()));
        let said = process::output(&mut synth)?;
        let total = |name: &str| total(&said, name);
        let (events, gets, bytes) = (total("events")?, total("gets")?, total("bytes")?);
        Ok(Archive { directory, ranks, events, gets, bytes })
    }

    /// Returns a command that replays an archive.
    pub(crate) fn command(&self, archive: &Archive, threads: usize, memory: u64) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(archive.anchor());
        command.args(["--threads", &threads.to_string(), "--memory", &memory.to_string()]);
        command
    }

    /// Returns a command that replays an archive on one thread with enough memory, so that instructions can be counted.
    pub(crate) fn counted(&self, archive: &Archive) -> Command {
        self.command(archive, 1, 2 << 30)
    }

    /// Returns a command like [`Self::counted`] that also searches for the causes of waits.
    pub(crate) fn counted_with_causes(&self, archive: &Archive) -> Command {
        let mut command = self.counted(archive);
        command.arg("--log").arg(archive.directory.join("log"));
        command
    }
}

/// Two archives of one kind on which instructions are counted.
pub(crate) struct Counter<'a> {
    /// Program that makes the archives.
    pub(crate) replay: &'a Replay,
    /// Kind of the archives.
    pub(crate) kind: Kind,
    /// Number of locations of each.
    pub(crate) ranks: u64,
    /// Sizes of the two archives.
    pub(crate) sizes: Sizes,
    /// Directory of the archive that is counted. It is removed afterwards.
    pub(crate) folder: &'a Path,
}

impl Counter<'_> {
    /// Returns the instructions for an event of a program that reads an archive.
    pub(crate) fn per_event(&self, command: impl Fn(&Archive) -> Command) -> Result<f64> {
        let count = |size| -> Result<(u64, f64)> {
            let folder = Folder(self.folder.to_owned());
            let archive = self.replay.synth(self.kind, self.ranks, size, folder.0.clone())?;
            Ok((archive.events, super::of(&command(&archive))?))
        };
        let (few, many) = (count(self.sizes.few)?, count(self.sizes.many)?);
        ensure!(many.0 > few.0, "the larger archive has no more events than the smaller one");
        Ok((many.1 - few.1) / (many.0 - few.0) as f64)
    }
}

/// Finds a number in a line such as `events=12 gets=3`.
fn total(line: &str, name: &str) -> Result<u64> {
    let mut words = line.split_whitespace();
    words
        .find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
        .with_context(|| format!("no `{name}=` in `{}`", line.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_found_by_name() {
        let line = "events=46208 gets=8960 bytes=550320\n";
        assert_eq!(total(line, "gets").expect("it is there"), 8960);
        assert!(total(line, "get").is_err());
        assert!(total("events=many", "events").is_err());
    }
}
