//! The handshake of all processes before they record: they agree on the directory and the clock.
//!
//! Independent processes cannot agree on a time or a name, so rank 0 decides, makes the directories, and sends its
//! decision to the others along the tree.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use dwell_model::units::utc;
use dwell_unify::experiment::{is_launch_file, open_files, run_file};
use dwell_unify::lease;
use dwell_unify::stream::RunId;
use dwell_unify::unify::Upcalls;

use crate::clock;
use crate::recorder_collectives::broadcast;
use crate::report::{say, shown};
use crate::settings::Settings;

/// The decision of rank 0 about a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Agreement {
    /// Tells this run from all others, in scratch directories and in the streams of facts.
    pub(crate) run: RunId,
    /// The experiment directory, absolute.
    pub(crate) directory: String,
    /// Name of the node of rank 0.
    pub(crate) host: String,
    /// Tells the clock of one boot of one node from all others.
    pub(crate) boot: String,
    /// Nanoseconds by which `CLOCK_REALTIME` is ahead of `CLOCK_MONOTONIC` at rank 0.
    pub(crate) ahead: u64,
    /// Set if all processes take part in the collation of a profile at the end.
    pub(crate) profile: bool,
}

impl Agreement {
    /// Lets rank 0 decide, and sends its decision to all processes. The error is the same everywhere.
    pub(crate) fn reach(up: &mut impl Upcalls, settings: &Settings) -> io::Result<Self> {
        let mine = (up.rank() == 0).then(|| match Self::decide(settings) {
            Ok(agreement) => agreement.encode(),
            Err(error) => format!("!{error}").into_bytes(),
        });
        Self::decode(&broadcast(up, mine)?)
    }

    fn decide(settings: &Settings) -> io::Result<Self> {
        let directory = match &settings.directory {
            Some(directory) => make_named(directory, settings.next)?,
            None => make_new(&std::env::current_dir()?, &name())?,
        };
        let run = RunId::random();
        // Before other processes learn of the directory, so that they can try whether they see the lock.
        let _ = crate::lease::hold(&directory, None);
        let file = run_file(&directory);
        fs::write(&file, run.to_string()).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", file.display()))
        })?;
        let directory = directory.to_str().ok_or_else(|| {
            io::Error::other(format!("{}: the path is not UTF-8", directory.display()))
        })?;
        let profile = settings.profile;
        let (host, boot, ahead) = (lease::host(), boot(), ahead());
        Ok(Self { run, directory: directory.into(), host, boot, ahead, profile })
    }

    fn encode(&self) -> Vec<u8> {
        let Self { run, directory, host, boot, ahead, profile } = self;
        format!("+{run}\n{ahead}\n{boot}\n{profile}\n{host}\n{directory}").into_bytes()
    }

    fn decode(bytes: &[u8]) -> io::Result<Self> {
        let damaged = || io::Error::other("the message of rank 0 was damaged");
        let text = std::str::from_utf8(bytes).map_err(|_| damaged())?;
        if let Some(error) = text.strip_prefix('!') {
            return Err(io::Error::other(error.to_string()));
        }
        let text = text.strip_prefix('+').ok_or_else(damaged)?;
        let mut parts = text.splitn(6, '\n');
        let mut next = || parts.next().ok_or_else(damaged);
        let run = RunId::parse(next()?).ok_or_else(damaged)?;
        let ahead = next()?.parse().map_err(|_| damaged())?;
        let boot = next()?.into();
        let profile = next()?.parse().map_err(|_| damaged())?;
        let host = next()?.into();
        Ok(Self { run, ahead, boot, profile, host, directory: next()?.into() })
    }

    /// Returns `true` if this process sees the experiment directory of rank 0, and not another one of the same name.
    pub(crate) fn sees_directory(&self) -> bool {
        let file = run_file(Path::new(&self.directory));
        fs::read_to_string(file).is_ok_and(|text| text == self.run.to_string())
    }

    /// Returns a text that identifies the clock of this process: that of a node, in one of its boots.
    pub(crate) fn clock(&self) -> String {
        if clock::is_skewed() { format!("{} {}", boot(), std::process::id()) } else { boot() }
    }

    /// Returns the nanoseconds to add to the clock of this node to get that of rank 0. It relies on the time of day of
    /// the nodes, and is as exact as that.
    pub(crate) fn shift(&self) -> i64 {
        if self.boot == boot() { 0 } else { ahead().wrapping_sub(self.ahead).cast_signed() }
    }
}

/// Returns the directory of a node that does not have the experiment directory, for the files of its processes.
pub(crate) fn beside(directory: &Path, run: RunId) -> PathBuf {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    directory.with_file_name(format!("{name}-{run}"))
}

/// Makes the directory that was asked for. If something is in it already, the next free name is taken, because a program
/// that has run for hours must not end without its trace. The user is notified, unless `next` states that this was asked for.
fn make_named(directory: &Path, next: bool) -> io::Result<PathBuf> {
    let told = |error: io::Error| {
        io::Error::new(error.kind(), format!("{}: {error}", directory.display()))
    };
    fs::create_dir_all(directory).map_err(told)?;
    let directory = directory.canonicalize().map_err(told)?;
    if is_free(&directory).map_err(told)? {
        match fill(&directory) {
            Ok(()) => return Ok(directory),
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(told(error)),
        }
    }
    let (Some(parent), Some(name)) =
        (directory.parent(), directory.file_name().and_then(|name| name.to_str()))
    else {
        return Err(told(io::Error::other("the directory is not empty; name another")));
    };
    let made = make_new(parent, name)?;
    if !next {
        let [used, made] = [&directory, &made].map(|it| shown(&it.to_string_lossy()));
        say(&format!("{used} is not empty, so this run is recorded in {made}"));
    }
    Ok(made)
}

/// Returns `true` if a directory is empty, except for files by which the processes of a launch know it as theirs.
fn is_free(directory: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(directory)? {
        if !is_launch_file(&entry?.file_name()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes a directory that was not there before.
fn make_new(parent: &Path, name: &str) -> io::Result<PathBuf> {
    for attempt in 1..1000 {
        let name = if attempt == 1 { name.to_string() } else { format!("{name}-{attempt}") };
        let directory = parent.join(name);
        match fs::create_dir(&directory) {
            Ok(()) => return fill(&directory).map(|()| directory),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let text = format!("{}: {error}", directory.display());
                return Err(io::Error::new(error.kind(), text));
            }
        }
    }
    Err(io::Error::other(format!("{}: there are a thousand of {name}", parent.display())))
}

fn fill(directory: &Path) -> io::Result<()> {
    fs::create_dir(open_files(directory))?;
    fs::create_dir(directory.join("traces"))
}

/// `dwell-<program>-<job or time>`.
fn name() -> String {
    let program = program();
    let program = Path::new(&program).file_name().and_then(|name| name.to_str()).unwrap_or("run");
    name_of(program, &job().unwrap_or_else(|| moment(clock::realtime())))
}

/// Makes the name of a directory, short enough for file systems, which allow 255 bytes, also with a number after it.
fn name_of(program: &str, job: &str) -> String {
    fn cut(text: &str, most: usize) -> &str {
        text.get(..text.floor_char_boundary(most)).unwrap_or_default()
    }
    format!("dwell-{}-{}", cut(program, 160), cut(job, 64))
}

/// Returns the id of this job in the batch system.
pub(crate) fn job() -> Option<String> {
    let get = |name: &str| std::env::var(name).ok().filter(|id| !id.is_empty());
    if let Some(job) = get("SLURM_JOB_ID") {
        return Some(match get("SLURM_STEP_ID") {
            Some(step) => format!("{job}.{step}"),
            None => job,
        });
    }
    ["PBS_JOBID", "LSB_JOBID", "COBALT_JOBID"].into_iter().find_map(get)
}

/// A time of day in UTC, as in `20261115-035122`.
fn moment(nanos: u64) -> String {
    let [year, month, day, hour, minute, second] = utc(nanos);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

/// Path of the program.
pub(crate) fn program() -> String {
    let path = fs::read_link("/proc/self/exe").unwrap_or_default();
    path.to_str().unwrap_or_default().to_string()
}

/// A boot of a node, and the namespace that says how far its clocks are ahead: containers of one node can
/// differ in that.
fn boot() -> String {
    let namespace = fs::read_link("/proc/self/ns/time").unwrap_or_default();
    format!("{} {}", lease::boot(), namespace.display())
}

fn ahead() -> u64 {
    clock::realtime().wrapping_sub(clock::monotonic())
}

#[cfg(test)]
mod tests {
    use dwell_unify::experiment::launch_file;

    use super::*;

    #[test]
    fn moments() {
        assert_eq!(moment(0), "19700101-000000");
        assert_eq!(moment(951_782_399_000_000_000), "20000228-235959");
        assert_eq!(moment(951_782_400_000_000_000), "20000229-000000");
        assert_eq!(
            moment(1_794_711_082_999_999_999),
            "20261115-035122".replace("035122", "025122")
        );
    }

    #[test]
    fn agreements_come_back() {
        let (directory, host, boot) = ("/a b/c".into(), "n1".into(), "x".into());
        let run = RunId::random();
        let agreement = Agreement { run, directory, host, boot, ahead: u64::MAX, profile: true };
        assert_eq!(Agreement::decode(&agreement.encode()).ok(), Some(agreement));
        for text in ["", "?", "+", "+a\n1", "+a\n1\nx", "+a\none\nx\ntrue\n/y"] {
            assert!(Agreement::decode(text.as_bytes()).is_err(), "{text:?}");
        }
        let refused = Agreement::decode(b"!disk full").map_err(|error| error.to_string());
        assert_eq!(refused, Err("disk full".into()));
    }

    #[test]
    fn long_names_are_cut() -> io::Result<()> {
        assert_eq!(name_of("heat", "7.0"), "dwell-heat-7.0");
        let folder = tempfile::tempdir()?;
        for program in ["p".repeat(255), "ü".repeat(127), format!("p{}", "工".repeat(84))] {
            for job in ["20261115-035122".to_owned(), "j".repeat(300)] {
                make_new(folder.path(), &name_of(&program, &job))?;
                make_new(folder.path(), &name_of(&program, &job))?;
            }
        }
        Ok(())
    }

    #[test]
    fn a_directory_with_something_in_it_is_left_alone() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let wanted = folder.path().join("a/b");
        let made = make_named(&wanted, true)?;
        assert!(made.ends_with("a/b") && wanted.join("open").is_dir());
        assert!(wanted.join("traces").is_dir());
        let second = make_named(&wanted, true)?;
        assert!(second.ends_with("a/b-2") && second.join("open").is_dir());
        assert!(make_named(&wanted, false)?.ends_with("a/b-3"));
        fs::create_dir(folder.path().join("c"))?;
        fs::write(launch_file(&folder.path().join("c"), "7.0"), "")?;
        assert!(make_named(&folder.path().join("c"), true)?.ends_with("c"));
        let made = make_new(folder.path(), "a")?;
        assert!(made.ends_with("a-2"));
        Ok(())
    }
}
