//! The dependency log of an archive, which says when processes waited for whom.

use std::path::Path;

use anyhow::Context;
use dwell_analyze::{Options, analyze};
use dwell_log::read::DependencyLog;
use otf2::Archive;

use crate::damage;
use crate::progress;
use crate::terminal::note;

/// Returns the directory of an archive.
pub(crate) fn directory(path: &Path) -> &Path {
    match path.is_dir() {
        true => path,
        false => {
            let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
            parent.unwrap_or(Path::new("."))
        }
    }
}

/// Opens the dependency log of an archive with `locations` locations. If there is none, or that of another run, the archive is analysed
/// once more to write it.
pub(crate) fn open(path: &Path, locations: usize) -> anyhow::Result<DependencyLog> {
    let log = directory(path).join("dwell-dependencies");
    match DependencyLog::open(&log) {
        Ok(log) if log.locations() as usize == locations => return Ok(log),
        _ => {}
    }
    let archive = Archive::open_keeping(path, crate::machine::open_files())?.by_region();
    let definitions = archive.definitions()?;
    let events = definitions.locations().map(|it| it.number_of_events).sum();
    note!("the archive is analysed once more, to see when processes waited");
    let bar = progress::bar(events, "events");
    let mut options = Options::default();
    options.memory = crate::machine::memory() / 2;
    options.log = Some(log.clone());
    options.causes = false;
    let analysis = analyze(&archive, &options, &|events| bar.inc(events));
    bar.finish_and_clear();
    let analysis = analysis.with_context(|| path.display().to_string())?;
    damage::report(analysis.damage());
    std::mem::forget(analysis);
    Ok(DependencyLog::open(&log)?)
}
