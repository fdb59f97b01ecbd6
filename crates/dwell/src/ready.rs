//! What commands need of a run before they can answer: its report, and for some the whole analysis.
//!
//! A run that was not analysed yet is analysed by the first command that needs it, as `dwell analyze` does without
//! options, and the results are kept in the directory of the run. The command says so in one line on standard error,
//! with a progress bar on a terminal, and Ctrl+C ends it. A run that is not complete is refused.

use std::path::{Path, PathBuf};

use crate::commands::{analyze, report};
use crate::dependencies::directory;
use crate::profile;
use crate::runs;

/// Returns the report of a run: the file itself, or the one in a directory. It is made if there is none: from the profile
/// of the run, or from its events.
pub(crate) fn report(run: &Path) -> anyhow::Result<PathBuf> {
    let run = match run.extension().is_some_and(|it| it == "otf2") {
        true => directory(run),
        false => run,
    };
    runs::check_ended(run)?;
    profile::make(run)?;
    if run.is_dir() && report::in_directory(run)?.is_none() && report::is_archive(run) {
        analyze::make(run, false)?;
    }
    report::find(run)
}

/// Makes sure that `dwell analyze` has seen an archive, and that its dependency log is there if it is analysed now.
pub(crate) fn analysis(archive: &Path) -> anyhow::Result<()> {
    let directory = directory(archive);
    runs::check_ended(directory)?;
    match directory.join("trace.cubex").exists() {
        true => Ok(()),
        false => analyze::make(archive, true),
    }
}
