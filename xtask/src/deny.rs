//! `cargo xtask deny`: licences, origins and known vulnerabilities of dependencies, checked by cargo-deny.
//!
//! `deny.toml` says what is allowed. Licences, bans and sources need no network and are always checked. Advisories need
//! the database of `RustSec`, which is a git repository. Where it cannot be reached, the result says so, because an
//! "ok" without a check would be worse than no check. A release requires it with `--require-advisories`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use anyhow::{Result, bail};
use clap::Args;

use crate::process::{self, cargo};
use crate::tools::Tool;
use crate::workspace::Workspace;

/// The tool that reads `deny.toml`.
const CARGO_DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2", features: &[] };

/// Address of the advisory database, as cargo-deny knows it.
const DATABASE: &str = "https://github.com/RustSec/advisory-db";

/// Environment variable that names another place of the database: the URL or the path of a git repository.
const ELSEWHERE: &str = "DWELL_ADVISORY_DB";

/// Time limit for fetching the database. Some machines drop packets rather than refuse them.
const PATIENCE: Duration = Duration::from_secs(120);

/// Options of `cargo xtask deny`.
#[derive(Args)]
pub(crate) struct Options {
    /// Fail if the database of advisories cannot be reached. `DWELL_ADVISORY_DB` may name a git repository that has it
    #[arg(long)]
    require_advisories: bool,
}

/// Checks everything and prints whether advisories were checked.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    println!("{}", check(workspace, options.require_advisories)?);
    Ok(())
}

/// Checks licences, bans and sources, and advisories if their database can be fetched. Returns a line that says whether
/// advisories were checked. Fails if they are required and the database cannot be fetched.
pub(crate) fn check(workspace: &Workspace, require_advisories: bool) -> Result<String> {
    let tool = CARGO_DENY.install(workspace)?;
    // For all systems, where a build brings those of one.
    process::run(cargo(&workspace.root).args(["fetch", "--locked", "--quiet"]))?;
    let mut rules = Command::new(&tool);
    process::run(rules.args(["--offline", "check", "licenses", "bans", "sources"]))?;
    if let Err(error) = fetch(&tool) {
        if env::var_os(ELSEWHERE).is_some() {
            return Err(error.context(format!("{ELSEWHERE} names no database of advisories")));
        }
        let line = format!("advisories not checked: {error:#}");
        if require_advisories {
            bail!("{line}");
        }
        return Ok(line);
    }
    process::run(Command::new(&tool).args(["--offline", "check", "advisories"]))?;
    let day = day_of_database().unwrap_or_else(|| "an unknown day".to_owned());
    Ok(format!("advisories checked: none concerns Dwell, by the database of {day}"))
}

/// Fetches the advisory database.
fn fetch(tool: &Path) -> Result<()> {
    let mut fetch = Command::new(tool);
    fetch.args(["fetch", "db"]);
    // No user is there to type a password.
    fetch.env("GIT_TERMINAL_PROMPT", "0");
    if let Some(place) = env::var_os(ELSEWHERE) {
        let known = env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse().ok());
        fetch.envs(instead_of_database(&place, known.unwrap_or(0)));
    }
    println!("$ {}", process::display(&fetch));
    let mut child = fetch.stdin(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if began.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            bail!("the database did not come within {} s", PATIENCE.as_secs());
        }
        thread::sleep(Duration::from_millis(50));
    };
    if status.success() {
        return Ok(());
    }
    let mut said = String::new();
    if let Some(mut errors) = child.stderr.take() {
        std::io::Read::read_to_string(&mut errors, &mut said)?;
    }
    bail!("{}", reason_of(&said))
}

/// Extracts from the output of git why the database could not be fetched: its fatal error, or else the last line.
fn reason_of(said: &str) -> &str {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let fatal = lines.clone().find(|line| line.starts_with("fatal:"));
    fatal.or_else(|| lines.next_back()).unwrap_or("the database could not be fetched")
}

/// Returns environment variables that make git take the database from another place. `known` is the number of settings
/// that the environment holds already.
fn instead_of_database(place: &OsStr, known: usize) -> [(String, OsString); 3] {
    let mut key = OsString::from("url.");
    key.push(place);
    key.push(".insteadOf");
    [
        ("GIT_CONFIG_COUNT".to_owned(), (known + 1).to_string().into()),
        (format!("GIT_CONFIG_KEY_{known}"), key),
        (format!("GIT_CONFIG_VALUE_{known}"), DATABASE.into()),
    ]
}

/// Returns the date of the last commit of the fetched database.
fn day_of_database() -> Option<String> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")))?;
    let databases = fs::read_dir(home.join("advisory-dbs")).ok()?.flatten();
    let mut days = databases.filter_map(|database| {
        let mut git = Command::new("git");
        git.arg("-C").arg(database.path()).args(["log", "-1", "--format=%cs"]);
        process::output(&mut git).ok()
    });
    days.next().map(|day| day.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_what_git_gives_up_for() {
        let said = "failed to fetch\nfatal: Could not resolve host\n\nand the repository exists.\n";
        assert_eq!(reason_of(said), "fatal: Could not resolve host");
        assert_eq!(reason_of("one\ntwo\n\n"), "two");
        assert_eq!(reason_of(""), "the database could not be fetched");
    }

    #[test]
    fn git_takes_the_database_from_another_place() {
        let variables = instead_of_database(OsStr::new("/srv/advisory-db"), 2);
        let shown = variables.map(|(name, value)| format!("{name}={}", value.to_string_lossy()));
        assert_eq!(
            shown,
            [
                "GIT_CONFIG_COUNT=3",
                "GIT_CONFIG_KEY_2=url./srv/advisory-db.insteadOf",
                "GIT_CONFIG_VALUE_2=https://github.com/RustSec/advisory-db",
            ]
        );
    }
}
