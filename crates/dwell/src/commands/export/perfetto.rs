//! A run as a trace of Perfetto.

use std::path::Path;
use std::process::ExitCode;

use dwell_report::format;

use super::tables;
use crate::terminal::line;
use crate::{damage, output, progress};

pub(super) fn run(path: &Path, file: &Path) -> anyhow::Result<ExitCode> {
    output::check(file)?;
    let run = tables::open(path)?;
    let bar = progress::bar(run.events(), "events");
    let bytes = dwell_export::perfetto(&run, file, &|events| bar.inc(events));
    bar.finish_and_clear();
    line!("{}: {}", file.display(), format::bytes(bytes? as f64))?;
    damage::report(run.damage());
    Ok(ExitCode::SUCCESS)
}
