//! `dwell run --hang-timeout`: an observer of the program, which reports once if no process goes on.
//!
//! `dwell run` becomes the program, so the observer is another process. The first process of a launch starts it, and it looks at
//! the files of the run as `dwell where` does. It ends with the process that started it, and never ends a program.
//!
//! A program may wait for its children, whoever they are. So the observer is not a child of the program: a process in between
//! starts it and ends at once.

use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, ffi, fs, thread};

use anyhow::{Context, Result, ensure};
use dwell_model::units::{parse_duration, seconds};

use crate::commands::stuck;
use crate::page::Page;
use crate::terminal::note;

/// Variable that names the file into which the recorder writes the directory of the run when it begins.
const BEGUN: &str = "DWELL_BEGUN";

/// Variable with what an observer has to know, separated by colons: the number of the process that it ends with, and `started`
/// once it is no child of that.
const OBSERVER: &str = "DWELL_OBSERVER";
const STARTED: &str = ":started";

/// Name of the report in the directory of the run.
const REPORT: &str = "hang.txt";

/// Time between two looks at whether the program has ended. A launcher may wait so long for the observer, which has the same
/// standard error as the program.
const PAUSE: Duration = Duration::from_millis(200);

/// Starts an observer of the program that this process becomes, which begins with this command.
pub(super) fn start(command: &mut Command) -> Result<()> {
    if env::var_os(BEGUN).is_some() {
        return Ok(());
    }
    let folder = tempfile::tempdir().context("--hang-timeout needs a temporary directory")?.keep();
    let begun = folder.join("run");
    command.env(BEGUN, &begun);
    let status = again(&std::process::id().to_string(), &begun)?.status();
    ensure!(
        status.context("--hang-timeout: no observer")?.success(),
        "--hang-timeout: no observer"
    );
    Ok(())
}

/// Returns a command that starts this program again as an observer.
fn again(what: &str, begun: &Path) -> Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.args(env::args_os().skip(1)).env(OBSERVER, what).env(BEGUN, begun);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Ok(command)
}

/// Observes a program if this process was started for that. Returns `false` if it was not.
pub(super) fn runs(timeout: &str) -> Result<bool> {
    let (Ok(observer), Some(begun)) = (env::var(OBSERVER), env::var_os(BEGUN)) else {
        return Ok(false);
    };
    let begun = PathBuf::from(begun);
    if let Some(pid) = observer.strip_suffix(STARTED) {
        observe(pid, &begun, timeout);
        let _ = begun.parent().map(fs::remove_dir_all);
    } else {
        // In a group of its own it gets no signal that is meant for the program, and can remove its files when that ends.
        again(&(observer + STARTED), &begun)?.process_group(0).spawn()?;
    }
    Ok(true)
}

/// Waits for the directory of the run, and reports there once if it stands still.
fn observe(pid: &str, begun: &Path, timeout: &str) {
    let Some(timeout) = parse_duration(timeout).map(Duration::from_nanos) else { return };
    let Some(first) = since(pid) else { return };
    let goes_on = |time: Duration| {
        let began = Instant::now();
        while began.elapsed() < time {
            thread::sleep(PAUSE.min(time));
            if since(pid).as_ref() != Some(&first) {
                return false;
            }
        }
        true
    };
    // A script may make several runs, one after the other.
    while goes_on(PAUSE) {
        let Some(bytes) = fs::read(begun).ok().filter(|it| !it.is_empty()) else { continue };
        let _ = fs::remove_file(begun);
        let directory = PathBuf::from(ffi::OsString::from_vec(bytes));
        if let Some(page) = stuck::when_still(&directory, timeout, goes_on) {
            report(&directory, &page, timeout);
        }
    }
}

/// Writes the report into the directory of the run and to standard error.
fn report(directory: &Path, page: &Page, timeout: Duration) {
    let path = directory.join(REPORT);
    let time = seconds(timeout.as_secs_f64());
    let text = match dwell_files::write(&path, &page.text) {
        Ok(()) => format!("{} has this report", path.display()),
        Err(error) => format!("the report is only here: {error}"),
    };
    note!(
        "no process of this run has made a call for {time}, and some wait; the program was left running, and {text}"
    );
    crate::terminal::say(page.text.trim_end());
}

/// Returns when a process of this node began, which tells it from a later one of the same number. `None` if it has ended.
fn since(pid: &str) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program comes before it and may contain anything.
    let mut words = stat.rsplit_once(") ")?.1.split(' ');
    let state = words.next()?;
    // The field with the number 22 of the whole line.
    (!matches!(state, "Z" | "X")).then(|| words.nth(18).map(str::to_owned))?
}
