//! `dwell recover`: makes an archive from the files of a killed run.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use dwell_unify::recover::{self, Caution};

use crate::format::grouped;
use crate::profile;
use crate::runs;
use crate::sites;
use crate::terminal::{line, note};

/// Arguments of `dwell recover`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Every event that a process recorded before it died is kept, with its definitions. \
    Calls that were open are ended at the last event of their thread and marked with the attribute \
    DWELL::CUT. Recovery can be interrupted and started again.\n\n\
    A file that differs from what its process wrote is damaged. It is kept as NAME.damaged, events after the \
    damage are recovered where that is possible, and the archive records what is missing \
    (DWELL::DAMAGED).\n\n\
    Exit code: 0 if all processes left files and none was damaged, 1 if not, 2 if nothing could be recovered."
)]
pub(crate) struct Args {
    /// The experiment directory. Without it, the newest `dwell-*` directory
    /// here.
    directory: Option<PathBuf>,
    /// Directory with files that were collected from the scratch directories of nodes. May be given several times.
    #[arg(long, value_name = "DIR")]
    from: Vec<PathBuf>,
    /// Recover although processes of the run may still be alive on nodes whose locks cannot be seen here. If they are,
    /// their recording is lost.
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let directory = &runs::or_latest(args.directory.as_deref())?;
    let caution = if args.force { Caution::Force } else { Caution::Refuse };
    let found = recover::recover(directory, &args.from, caution)?;
    line!(
        "{} events of {} of {} processes, {} threads; {} open calls were ended and marked",
        grouped(found.events),
        grouped(found.processes),
        grouped(found.of),
        grouped(found.locations),
        grouped(found.cut),
    )?;
    for text in &found.stopped {
        line!("{text}")?;
    }
    for text in &found.damage {
        note!("{text}");
    }
    if found.lost_events > 0 {
        note!("at least {} events are lost", grouped(found.lost_events));
    }
    sites::resolve(directory);
    let profile = profile::make(directory)?;
    match (found.events, profile.is_some()) {
        (0, false) => line!("nothing to analyse: no event was written before the run ended")?,
        (0, true) => line!("Next: dwell report {}", directory.display())?,
        _ => line!("Next: dwell analyze {}", directory.display())?,
    }
    Ok(if found.damage.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
