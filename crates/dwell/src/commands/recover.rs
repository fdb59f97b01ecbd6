//! `dwell recover`: makes an archive from the files of a killed run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use dwell_measure::settings::Setting;
use dwell_unify::recover::{self, Caution};
use otf2::Archive;

use super::stuck;
use crate::format::{self, grouped};
use crate::profile;
use crate::runs;
use crate::sites;
use crate::terminal::{self, line, note, visible};

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
    /// The experiment directory. Without it, the newest run here.
    directory: Option<PathBuf>,
    /// Directories with files that were collected from the scratch directories of nodes.
    #[arg(value_name = "COLLECTED")]
    collected: Vec<PathBuf>,
    /// Recover although processes of the run may still be alive on nodes whose locks cannot be seen here. If they are,
    /// their recording is lost.
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let directory = &runs::or_latest(args.directory.as_deref())?;
    let caution = if args.force { Caution::Force } else { Caution::Refuse };
    // Recovery removes what tells who waited for whom.
    let at_the_end = stuck::at_the_end(directory);
    let found = recover::recover(directory, &args.collected, caution)?;
    let has_table = at_the_end.is_some();
    if let Some(page) = at_the_end {
        terminal::print_page(page)?;
    }
    line!(
        "{} events of {} of {} processes, {} threads; {} open calls were ended and marked",
        grouped(found.events),
        grouped(found.processes),
        grouped(found.of),
        grouped(found.locations),
        grouped(found.cut),
    )?;
    // Files that were collected elsewhere are in no table.
    for (name, ranks) in mostly(&found.inside).into_iter().filter(|_| !has_table) {
        line!("  in {} at the end: {}", visible(name), ranges(ranks))?;
    }
    for text in &found.stopped {
        line!("{}", visible(text))?;
    }
    for text in &found.damage {
        note!("{}", visible(text));
    }
    if is_bounded(directory) {
        note!(
            "short calls that were summed up for --overhead at the end of each thread, for at most a hundred times as long \
             as a short call, are lost"
        );
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

/// Returns `true` if the run had a bound on its overhead, so that the last sums of short calls were in memory only.
fn is_bounded(directory: &Path) -> bool {
    let property = Setting::find("overhead").map(|it| format!("DWELL::{}", it.property()));
    let archive = Archive::open(directory).ok();
    property.zip(archive).is_some_and(|(name, it)| it.anchor().property(&name).is_some())
}

/// Number of calls that are listed with the processes inside of them.
const LISTED: usize = 5;

/// Returns the calls that the largest numbers of processes were in.
fn mostly(inside: &BTreeMap<String, BTreeSet<u64>>) -> Vec<(&String, &BTreeSet<u64>)> {
    let mut list: Vec<_> = inside.iter().collect();
    list.sort_by_key(|(_, ranks)| std::cmp::Reverse(ranks.len()));
    list.truncate(LISTED);
    list
}

/// Number of ranges of ranks that are listed.
const RANGES: usize = 8;

/// Writes ranks for people: `rank 3`, `ranks 0 to 2, 5`.
fn ranges(ranks: &BTreeSet<u64>) -> String {
    let all: Vec<u64> = ranks.iter().copied().collect();
    let several = if ranks.len() == 1 { "" } else { "s" };
    format!("rank{several} {}", format::ranges(&all, RANGES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_listed_as_ranges() {
        let said = |ranks: &[u64]| ranges(&ranks.iter().copied().collect());
        assert_eq!(said(&[3]), "rank 3");
        assert_eq!(said(&[0, 1]), "ranks 0, 1");
        assert_eq!(said(&[5, 0, 2, 1]), "ranks 0 to 2, 5");
        let even: Vec<u64> = (0..40).filter(|it| it % 2 == 0).collect();
        assert_eq!(said(&even), "ranks 0, 2, 4, 6, 8, 10, 12, 14 and others");
    }
}
