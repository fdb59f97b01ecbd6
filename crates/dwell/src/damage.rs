//! Damage of runs, which every command that reads one reports in the same way.
//!
//! A command answers from what is left of a damaged run, says on standard error what is missing, and ends with exit
//! code 1. The mark that damage was reported is global, so that no command can report it and end with 0.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use dwell_files::Folder;
use dwell_model::archive::DAMAGED;
use dwell_report::findings::Findings;
use dwell_unify::experiment::PROFILE;
use otf2::Archive;
use otf2::store::FileKind;

use crate::terminal::{note, visible};

/// Damage that was reported.
static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Reports damage, one line for each text that was not reported yet.
pub(crate) fn report(texts: impl IntoIterator<Item = impl AsRef<str>>) {
    for text in texts {
        let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.insert(text.as_ref().to_owned()) {
            note!("damaged: {}", visible(text.as_ref()));
        }
    }
}

/// Reports damage that `dwell recover` noted in the anchor of an archive.
pub(crate) fn report_recovered(archive: &Archive) {
    let recovered = archive.anchor().property(DAMAGED);
    report(recovered.map(|what| format!("recovered from damaged files: {what}")));
}

/// Largest size of findings that are read, in bytes.
const MOST_FINDINGS: u64 = 256 * 1024 * 1024;

/// Name of the file in the folder of a profile that lists damage of the files that reports of it were made from.
const NOTED: &str = "damage.txt";

/// Largest size of that list that is read, and largest number of lines that it gets, so that it is never larger.
const MOST_NOTED: u64 = 1 << 20;
const MOST_LINES: usize = 256;

/// Reports the damage of the trace or profile from which a report was made.
pub(crate) fn report_findings(cubex: &Path) {
    report(of_report(cubex));
}

/// Returns the damage of the trace or profile from which a report was made: what the findings beside the report list,
/// and what was noted about the profile. A report without both, such as one of another tool, says nothing about its
/// origin. Links are not followed, because one could lead to something private.
pub(crate) fn of_report(cubex: &Path) -> Vec<String> {
    let directory = cubex.parent().filter(|it| !it.as_os_str().is_empty());
    let Ok(folder) = Folder::open(directory.unwrap_or(Path::new("."))) else { return Vec::new() };
    let mut damage = Vec::new();
    let bytes = folder.read_bytes("findings.json", MOST_FINDINGS);
    match bytes.map(|bytes| Findings::read(&bytes)) {
        Ok(Ok(findings)) => damage.extend(findings.damage),
        Ok(Err(error)) => damage.push(format!("findings.json: {error}")),
        Err(_) => {}
    }
    if cubex.file_name().is_some_and(|it| it == "profile.cubex") {
        damage.extend(noted(&folder));
    }
    damage
}

/// Returns what was noted about the files of a profile.
fn noted(directory: &Folder) -> Vec<String> {
    let text = directory.folder(PROFILE).and_then(|it| it.read_bytes(NOTED, MOST_NOTED));
    let text = String::from_utf8(text.unwrap_or_default()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Returns what is known to be damaged in a run: its report, its profile, and what it was recovered from.
pub(crate) fn of_run(directory: &Path, archive: Option<&Archive>) -> Vec<String> {
    let mut damage = of_report(&directory.join("profile.cubex"));
    damage.extend(archive.and_then(|it| it.anchor().property(DAMAGED)).map(str::to_owned));
    damage
}

/// Notes damage of the files of a profile beside them, so that whoever looks at the report later is told as well: the
/// report is made once, and rows are removed when they are in blocks.
pub(crate) fn note_of_profile(directory: &Path, texts: &[String]) -> std::io::Result<()> {
    if texts.is_empty() {
        return Ok(());
    }
    let directory = Folder::open(directory)?;
    let mut lines = noted(&directory);
    for text in texts.iter().map(|it| it.replace('\n', " ")) {
        if !lines.contains(&text) && lines.len() < MOST_LINES {
            lines.push(text);
        }
    }
    directory.folder(PROFILE)?.write(NOTED, lines.join("\n") + "\n")
}

/// Size of all event files together up to which commands that show a part of the events read all of them, in bytes.
/// That takes a fraction of a second.
const SMALL: u64 = 64 << 20;

/// Returns `true` if the events of an archive are so few that reading all of them takes no time worth mentioning.
pub(crate) fn is_small(archive: &Archive) -> bool {
    let Ok(definitions) = archive.definitions() else { return false };
    let mut left = SMALL;
    definitions.locations().all(|it| {
        let size = archive.size(FileKind::Events(it.id)).ok().flatten().unwrap_or(0);
        left = left.saturating_sub(size);
        left > 0
    })
}

/// Reads the events of a small archive, and reports what is damaged or missing. Does nothing for a large archive.
pub(crate) fn report_events(archive: &Archive) {
    report_recovered(archive);
    if !is_small(archive) {
        return;
    }
    let Ok(definitions) = archive.definitions() else { return };
    for location in definitions.locations().filter(|it| it.number_of_events > 0) {
        let read = archive.events(location.id).and_then(|mut events| {
            while events.next()?.is_some() {}
            Ok(())
        });
        report(read.err().map(|error| error.to_string()));
    }
}

/// Returns the exit code of a command that would end with `code`.
pub(crate) fn exit(code: ExitCode) -> ExitCode {
    let reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    match code == ExitCode::SUCCESS && !reported.is_empty() {
        true => ExitCode::from(1),
        false => code,
    }
}
