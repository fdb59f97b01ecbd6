//! Damage of runs, which every command that reads one reports in the same way.
//!
//! A command answers from what is left of a damaged run, says on standard error what is missing, and ends with exit
//! code 1. The mark that damage was reported is global, so that no command can report it and end with 0.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use cubex::Owner;
use dwell_files::Folder;
use dwell_model::archive::DAMAGED;
use dwell_report::Query;
use dwell_report::findings::{Findings, Unreadable};
use dwell_unify::experiment::{PROFILE, open_files};
use otf2::read::WINDOW;
use otf2::store::FileKind;
use otf2::{Archive, ErrorKind};

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
/// what was noted about the profile, and an archive that cannot be opened. A report without both, such as one of another
/// tool, says nothing about its origin. Links are not followed, because one could lead to something private.
pub(crate) fn of_report(cubex: &Path) -> Vec<String> {
    let directory = cubex.parent().filter(|it| !it.as_os_str().is_empty());
    let Ok(folder) = Folder::open(directory.unwrap_or(Path::new("."))) else { return Vec::new() };
    let mut damage = Vec::new();
    match read_findings(&folder) {
        Some(Ok(findings)) => damage.extend(findings.damage),
        Some(Err(error)) => damage.push(format!("findings.json: {error}")),
        None => {}
    }
    if cubex.file_name().is_some_and(|it| it == "profile.cubex") {
        damage.extend(noted(&folder));
    }
    damage.extend(of_archive(directory.unwrap_or(Path::new("."))));
    damage
}

/// Returns the findings that `dwell analyze` wrote into a directory, or `None` if there are none that can be read.
pub(crate) fn findings_in(directory: &Path) -> Option<Findings> {
    let directory = Some(directory).filter(|it| !it.as_os_str().is_empty());
    read_findings(&Folder::open(directory.unwrap_or(Path::new("."))).ok()?)?.ok()
}

fn read_findings(folder: &Folder) -> Option<Result<Findings, Unreadable>> {
    let bytes = folder.read_bytes("findings.json", MOST_FINDINGS).ok()?;
    Some(Findings::read(&bytes))
}

/// Returns why the archive in a directory cannot be opened. Without its other files it is absent and not damaged: a
/// report can be kept alone.
pub(crate) fn of_archive(directory: &Path) -> Option<String> {
    let [anchor, definitions] =
        [FileKind::Anchor, FileKind::GlobalDefs].map(|it| it.path("traces"));
    if !directory.join(&anchor).exists() {
        let unfinished = open_files(directory).exists();
        let is_lost = directory.join(definitions).exists() && !unfinished;
        return is_lost.then(|| format!("{}: the file is missing", anchor.display()));
    }
    let is_lost = |error: &otf2::Error| {
        error.is_damage() || matches!(error.kind(), ErrorKind::Missing | ErrorKind::NotAnAnchor)
    };
    let opened = Archive::open(directory).and_then(|archive| archive.global_definitions());
    opened.err().filter(is_lost).map(|error| error.to_string())
}

/// Returns a text if `dwell analyze` made a report and the findings that it wrote beside it are gone. Reports of other
/// tools have none.
pub(crate) fn lost_findings(file: &Path, query: &Query) -> Option<String> {
    let is_own = file.file_name().is_some_and(|name| name == "trace.cubex");
    let findings = file.with_file_name("findings.json");
    if !is_own || std::fs::symlink_metadata(&findings).is_ok() {
        return None;
    }
    let mut attributes = query.meta().attributes(Owner::Report);
    let is_analysed = attributes.any(|it| it.key == "Creator" && it.value.starts_with("dwell "));
    is_analysed
        .then(|| format!("{}: the file is missing; run `dwell analyze` again", findings.display()))
}

/// Returns what [`lost_findings`] says about the report of a run. A report that is kept without its archive has lost nothing.
pub(crate) fn lost_findings_of_run(report: &Path, query: &Query) -> Option<String> {
    let anchor = report.with_file_name(FileKind::Anchor.path("traces"));
    lost_findings(report, query).filter(|_| anchor.exists())
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
    // Without definitions there is nothing to read.
    let Ok(definitions) = archive.definitions() else { return true };
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
    let definitions = match archive.definitions() {
        Ok(definitions) => definitions,
        Err(error) => return report([error.to_string()]),
    };
    report(definitions.warning().map(ToString::to_string));
    for location in definitions.locations().filter(|it| it.number_of_events > 0) {
        let tables = archive.local_tables(location.id);
        report(tables.warnings.iter().map(ToString::to_string));
        let read = archive.events_with(location.id, &tables, WINDOW).and_then(|mut events| {
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
