//! The report `profile.cubex`, which the first command that needs it makes from the recorder's files.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use dwell_analyze::Profile;
use dwell_report::Query;
use dwell_unify::collate::collate_files;
use dwell_unify::experiment::PROFILE;
use otf2::Archive;

use crate::damage;
use crate::sites;
use crate::terminal::note;

/// Reads the profile of an experiment directory, if it has one.
pub(crate) fn read(directory: &Path) -> Result<Option<Profile>> {
    let rows = directory.join(PROFILE);
    if !rows.is_dir() {
        return Ok(None);
    }
    let archive = Archive::open(directory)?;
    // What a killed run left, or one that could not put its rows together.
    for warning in collate_files(&archive, &rows).with_context(|| rows.display().to_string())? {
        damage::report([warning.to_string()]);
    }
    let profile = Profile::read(&archive, &rows).with_context(|| rows.display().to_string())?;
    Ok(Some(profile))
}

/// Makes the report of an experiment directory that has a profile. Returns `None` if it has none, and does nothing if
/// the report exists already.
pub(crate) fn make(directory: &Path) -> Result<Option<PathBuf>> {
    if !directory.join(PROFILE).is_dir() {
        return Ok(None);
    }
    let report = directory.join("profile.cubex");
    if !report.exists() {
        sites::resolve(directory);
        let Some(profile) = read(directory)? else { return Ok(None) };
        for note in profile.notes() {
            note!("{note}");
        }
        damage::report(profile.write_report(&report)?);
        // Whoever opens a large one next finds what was read of it here.
        Query::open(&report)?.keep_totals();
    }
    Ok(Some(report))
}
