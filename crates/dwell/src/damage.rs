//! Damage of runs, which every command that reads one reports in the same way.
//!
//! A command answers from what is left of a damaged run, says on standard error what is missing, and ends with exit
//! code 1. The mark that damage was reported is global, so that no command can report it and end with 0.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use dwell_files::Folder;
use dwell_model::archive::DAMAGED;
use dwell_report::findings::Findings;
use otf2::Archive;

use crate::terminal::{note, visible};

/// Set once damage was reported.
static REPORTED: AtomicBool = AtomicBool::new(false);

/// Reports damage, one line for each text.
pub(crate) fn report(texts: impl IntoIterator<Item = impl AsRef<str>>) {
    for text in texts {
        REPORTED.store(true, Relaxed);
        note!("damaged: {}", visible(text.as_ref()));
    }
}

/// Reports damage that `dwell recover` noted in the anchor of an archive.
pub(crate) fn report_recovered(archive: &Archive) {
    let recovered = archive.anchor().property(DAMAGED);
    report(recovered.map(|what| format!("recovered from damaged files: {what}")));
}

/// Largest size of findings that are read, in bytes.
const MOST_FINDINGS: u64 = 256 * 1024 * 1024;

/// Reports the damage of the trace from which a report was made, as the findings beside the report list it. A report
/// without findings, such as one of another tool, says nothing about its trace. Links are not followed, because one
/// could lead to something private.
pub(crate) fn report_findings(cubex: &Path) {
    let directory = cubex.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = Folder::open(directory.unwrap_or(Path::new(".")));
    let bytes = folder.and_then(|folder| folder.read_bytes("findings.json", MOST_FINDINGS));
    match bytes.map(|bytes| Findings::read(&bytes)) {
        Ok(Ok(findings)) => report(&findings.damage),
        Ok(Err(error)) => report([format!("findings.json: {error}")]),
        Err(_) => {}
    }
}

/// Returns the exit code of a command that would end with `code`.
pub(crate) fn exit(code: ExitCode) -> ExitCode {
    match code == ExitCode::SUCCESS && REPORTED.load(Relaxed) {
        true => ExitCode::from(1),
        false => code,
    }
}
