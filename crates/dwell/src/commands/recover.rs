//! `dwell recover`: an archive from what a killed run left.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use dwell_measure::recover;

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
    DWELL::CUT. Recovering can be interrupted and started again.\n\n\
    Exit code: 0 if all processes left something, 1 if some did not or a file was damaged, 2 if \
    nothing could be recovered."
)]
pub(crate) struct Args {
    /// The experiment directory. Without it, the newest `dwell-*` directory
    /// here.
    directory: Option<PathBuf>,
    /// A directory with files of processes that wrote to their nodes, collected from there. May be
    /// given more than once.
    #[arg(long, value_name = "DIR")]
    from: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let directory = &runs::or_latest(args.directory.as_deref())?;
    let found = recover::recover(directory, &args.from)?;
    for warning in &found.warnings {
        note!("{warning}");
    }
    line!(
        "{} events of {} of {} processes, {} threads; {} open calls were ended and marked",
        grouped(found.events),
        grouped(found.processes),
        grouped(found.of),
        grouped(found.locations),
        grouped(found.cut),
    )?;
    for ranks in &found.missing {
        note!("nothing of rank {}", range(ranks));
    }
    sites::resolve(directory);
    let profile = profile::make(directory)?;
    let next = if profile.is_some() && found.events == 0 { "report" } else { "analyze" };
    line!("Next: dwell {next} {}", directory.display())?;
    let whole = found.warnings.is_empty() && found.missing.is_empty();
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn range(ranks: &std::ops::Range<u64>) -> String {
    match ranks.end - ranks.start {
        1 => ranks.start.to_string(),
        _ => format!("{} to {}", ranks.start, ranks.end - 1),
    }
}
