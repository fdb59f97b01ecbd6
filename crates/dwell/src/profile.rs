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
    let warnings = collate_files(&archive, &rows).with_context(|| rows.display().to_string())?;
    keep(directory, &warnings);
    let profile = Profile::read(&archive, &rows).with_context(|| rows.display().to_string())?;
    Ok(Some(profile))
}

/// Notes damage for those who look at the profile later. A directory that cannot be written to keeps its damage too, so
/// that nothing is lost if this fails.
fn keep(directory: &Path, damage: &[String]) {
    if damage::note_of_profile(directory, damage).is_err() {
        damage::report(damage);
    }
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
        for note in profile.notes().iter().filter(|it| !profile.damage().contains(it)) {
            note!("{note}");
        }
        keep(directory, profile.damage());
        keep(directory, &profile.write_report(&report)?);
        // Whoever opens a large one next finds what was read of it here.
        Query::open(&report)?.keep_totals();
    }
    damage::report_findings(&report);
    Ok(Some(report))
}
