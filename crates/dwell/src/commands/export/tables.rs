//! A run as tables in Parquet files.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use dwell_export::Run;
use dwell_report::findings::Findings;
use dwell_report::{Query, format};
use otf2::Archive;

use crate::damage;
use crate::dependencies::{self, directory};
use crate::progress;
use crate::ready;
use crate::terminal::line;

pub(super) fn run(path: &Path, to: &Path, with_events: bool) -> anyhow::Result<ExitCode> {
    let run = open(path)?;
    let bar = progress::bar(run.events(), "events");
    let written = dwell_export::parquet(&run, to, with_events, &|events| bar.inc(events));
    bar.finish_and_clear();
    for it in written? {
        let file = to.join(it.table).with_extension("parquet");
        line!("{}: {} rows", file.display(), format::grouped(it.rows))?;
    }
    damage::report(run.damage());
    Ok(ExitCode::SUCCESS)
}

/// Opens an archive, which is analysed first if that was not done yet, with its report, findings and dependency log.
pub(super) fn open(path: &Path) -> anyhow::Result<Run> {
    let directory = directory(path);
    let report = directory.join("trace.cubex");
    let archive = Archive::open_keeping(path, crate::machine::open_files())?.by_region();
    ready::analysis(path)?;
    let query = Query::open(&report)?;
    let file = directory.join("findings.json");
    let bytes = std::fs::read(&file).with_context(|| file.display().to_string())?;
    let findings = Findings::read(&bytes).with_context(|| file.display().to_string())?;
    damage::report(&findings.damage);
    let log = dependencies::open(path, query.meta().locations().len())?;
    Ok(Run::new(archive, log, query, findings)?)
}
