//! A report with another call tree.

use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use dwell_report::Query;
use dwell_report::transform::{self, CallTree};

use crate::commands::report::one_path;
use crate::terminal::line;
use crate::{damage, output, ready};

/// The call tree to write.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cubex")]
pub(super) struct Tree {
    /// Write only this call path and everything below it.
    #[arg(long, value_name = "PATH", conflicts_with = "merge")]
    path: Option<String>,
    /// Merge call paths with the same regions.
    #[arg(long)]
    merge: bool,
}

impl Tree {
    /// Returns `true` if another tree than that of the report is wanted.
    pub(super) fn is_given(&self) -> bool {
        self.path.is_some() || self.merge
    }
}

pub(super) fn run(run: &Path, to: &Path, tree: &Tree) -> anyhow::Result<ExitCode> {
    let path = ready::report(run)?;
    let query = Query::open(&path)?;
    damage::report_findings(&path);
    damage::report(damage::lost_findings_of_run(&path, &query));
    let meta = query.meta();
    let tree = match &tree.path {
        Some(text) => CallTree::cut(meta, one_path(&query, None, text)?),
        None if tree.merge => CallTree::merged(meta),
        None => bail!("a report needs --path PATH or --merge, which say what to write"),
    };
    output::check(to)?;
    transform::write(query.report(), &tree, to)?;
    line!("{}: {} call paths of {}", to.display(), tree.len(), meta.cnodes().len())?;
    Ok(ExitCode::SUCCESS)
}
