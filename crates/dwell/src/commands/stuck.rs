//! `dwell where`: what the processes of a run are in, and who waits for whom. The run may be alive, hang, or have died.

mod report;
mod text;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::bail;
use dwell_unify::live;

use crate::runs::{self, ANCHOR};
use crate::terminal;
use report::Report;

/// Time between the two looks that tell whether a process goes on.
const BETWEEN: Duration = Duration::from_millis(300);

/// Arguments of `dwell where`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The files of the run are read and not changed. Ages are those of this moment for processes of this node; of \
    other nodes it is the last that has reached this one, which may be half a minute old.\n\n\
    Exit code: 0; 3 if processes wait for each other in a circle that cannot end; 2 if nothing could be read.\n\n\
    Example: dwell where run1"
)]
pub(crate) struct Args {
    /// The run: its directory. Without it, the newest run here.
    run: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Exit code of a run in which processes wait for each other in a circle that cannot end.
const DEADLOCK: u8 = 3;

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let directory = runs::or_latest(args.run.as_deref())?;
    let report = look(&directory)?;
    match args.json {
        true => terminal::print_json(&report)?,
        false => terminal::print_page(text::page(&directory, &report))?,
    }
    Ok(ExitCode::from(if report.is_deadlock() { DEADLOCK } else { 0 }))
}

/// Returns what the processes of a run are in, as `--json` prints it.
pub(super) fn as_json(directory: &Path) -> anyhow::Result<serde_json::Value> {
    Ok(serde_json::to_value(look(directory)?)?)
}

/// Returns the circles in which the processes of a run that was killed waited for each other, each as a sentence without a
/// full stop.
pub(super) fn deadlocks(directory: &Path) -> Vec<String> {
    live::read(directory).map(|it| report::deadlocks(&it)).unwrap_or_default()
}

/// Looks at a run twice.
fn look(directory: &Path) -> anyhow::Result<Report> {
    if directory.join(ANCHOR).exists() {
        bail!("{}: the run has ended; next: dwell analyze {0}", directory.display());
    }
    let before = live::read(directory)?;
    if before.processes.is_empty() {
        let more = before.unreadable.first().map(|it| format!(" ({it})")).unwrap_or_default();
        bail!("{}: no process has files here{more}", directory.display());
    }
    thread::sleep(BETWEEN);
    Ok(Report::of(directory, &before, &live::read(directory)?))
}
