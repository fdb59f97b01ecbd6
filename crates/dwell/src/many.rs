//! Directories of runs: which runs are in one, and what they say together.
//!
//! A run belongs to the version that its label names (`dwell run --label`); without one, to the directory that it is in below the one
//! that was named, so that `results/v2/p8` is a run of `v2`. No link is followed, and the number of runs has a bound.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use dwell_report::{History, Member, Run};
use dwell_serve::{Directory, Listed};

use crate::commands::ls;
use crate::commands::report;
use crate::damage;
use crate::ready;
use crate::runs::{ANCHOR, UNFINISHED};
use crate::terminal;

/// Greatest number of runs that are read, the newest first. The definitions of all of them are in memory while they are compared.
const MOST: usize = 500;

/// Greatest number of directories that are looked at.
const MOST_DIRECTORIES: usize = 20_000;

/// Returns whether a path is a directory of runs, and not a run or report itself.
pub(crate) fn is_directory(path: &Path) -> bool {
    path.is_dir()
        && !is_run(path)
        && subdirectories(path).is_ok_and(|list| {
            let below = |it: &PathBuf| {
                is_run(it) || subdirectories(it).is_ok_and(|it| it.iter().any(|it| is_run(it)))
            };
            list.iter().any(below)
        })
}

fn is_run(path: &Path) -> bool {
    [ANCHOR, UNFINISHED, "traces.def"].iter().any(|it| path.join(it).exists())
        || report::in_directory(path).is_ok_and(|it| it.is_some())
}

/// Returns the directories in a directory in the order of their names, without links, up to a bound.
fn subdirectories(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let told = || path.display().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir(path).with_context(told)?.take(MOST_DIRECTORIES) {
        let entry = entry.with_context(told)?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Reads the runs in a directory and in the directories in it, and puts them in order. Those that were not analysed yet are analysed,
/// as for every command that needs it. A run that cannot be read is listed with the reason.
pub(crate) fn read(directory: &Path, threshold: f64) -> anyhow::Result<Directory> {
    let (found, left_out) = find(directory)?;
    let mut members = Vec::new();
    let (mut listed, mut others) = (Vec::new(), Vec::new());
    for (it, report) in found.into_iter().map(with_report) {
        match report {
            Some((it, run)) => {
                let Listed { program, version, when, .. } = it.clone();
                members.push(Member { run, program, version, when });
                listed.push(it);
            }
            None => others.extend(it),
        }
    }
    let history = History::of(&members, threshold)?;
    listed.extend(others);
    let name = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Directory { name, runs: listed, left_out, history })
}

/// Returns the newest runs in a directory, the oldest of them first, and the number of all others.
fn find(directory: &Path) -> anyhow::Result<(Vec<Listed>, usize)> {
    let mut found: Vec<(PathBuf, Option<String>)> = Vec::new();
    for path in subdirectories(directory)? {
        if is_run(&path) {
            found.push((path, None));
            continue;
        }
        let version = path.file_name().map(|it| it.to_string_lossy().into_owned());
        let below = subdirectories(&path).unwrap_or_default();
        found.extend(below.into_iter().filter(|it| is_run(it)).map(|it| (it, version.clone())));
        if found.len() > MOST_DIRECTORIES {
            break;
        }
    }
    let age = |path: &Path| {
        let of = |name: &&str| fs::symlink_metadata(path.join(name)).ok()?.modified().ok();
        [ANCHOR, UNFINISHED, "."].iter().find_map(of)
    };
    let left_out = found.len().saturating_sub(MOST);
    if left_out > 0 {
        found.sort_by_cached_key(|it| std::cmp::Reverse(age(&it.0)));
        found.truncate(MOST);
    }
    let mut list: Vec<Listed> = Vec::new();
    for (path, version) in found {
        let name = path.strip_prefix(directory).unwrap_or(&path).display().to_string();
        let facts = ls::examine(&path).unwrap_or_default();
        let version = Some(facts.label).filter(|it| !it.is_empty()).or(version);
        list.push(Listed {
            version: version.unwrap_or_else(|| name.clone()),
            path,
            name,
            program: facts.program,
            when: facts.when,
            processes: facts.processes,
            note: if facts.note == "not analysed" { String::new() } else { facts.note },
            ..Listed::default()
        });
    }
    list.sort_by(|a, b| a.when.cmp(&b.when).then_with(|| a.name.cmp(&b.name)));
    Ok((list, left_out))
}

/// Opens the report of a run and adds what it says, or returns the run with the reason why it has none.
fn with_report(mut it: Listed) -> (Option<Listed>, Option<(Listed, Run)>) {
    let opened = ready::report(&it.path)
        .and_then(|report| Ok(Run::open(it.name.clone(), &report)?))
        .and_then(|run| Ok((run.waits()?, run)));
    match opened {
        Ok((waits, run)) => {
            it.processes = Some(run.processes() as u64);
            it.length = Some(run.length());
            it.parallel = run.efficiencies().map(|it| it.parallel);
            it.waiting = (run.time() > 0.0).then(|| waits / run.time());
            let cause = run.main_point().map(|it| format!("{}: {}", it.title(), it.what));
            it.cause = cause.unwrap_or_default();
            (None, Some((it, run)))
        }
        Err(error) => {
            if it.note.is_empty() {
                it.note = terminal::explained(&error);
            }
            (Some(it), None)
        }
    }
}

/// Tells what is damaged in the runs of a directory.
pub(crate) fn report_damage(directory: &Directory) {
    let is_bad = |note: &str| note.starts_with("damaged") || note.starts_with("cannot be read");
    let bad = directory.runs.iter().filter(|it| is_bad(&it.note));
    damage::report(bad.map(|it| format!("{}: {}", it.path.display(), it.note)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_thousands_of_runs_are_read() {
        let home = tempfile::tempdir().unwrap();
        for number in 0..MOST + 7 {
            let run = home.path().join(format!("r{number}"));
            fs::create_dir(&run).unwrap();
            let anchor = fs::File::create(run.join(ANCHOR)).unwrap();
            let age = std::time::Duration::from_secs(1_000_000 + number as u64);
            anchor.set_modified(std::time::SystemTime::UNIX_EPOCH + age).unwrap();
        }
        let (found, left_out) = find(home.path()).unwrap();
        assert_eq!((found.len(), left_out), (MOST, 7));
        assert!(found.iter().all(|it| !["r0", "r6"].contains(&it.name.as_str())));
        assert!(is_directory(home.path()) && !is_directory(&home.path().join("r9")));
    }
}
