//! Blocks in the folder of an experiment, and collation of rows that lie there one file a location.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use dwell_model::profile::block::{HEAD, Head, LOCATION, Place};
use otf2::Archive;
use otf2::id::LocationRef;

use super::{ENOUGH, Heap, part};

/// Writes a block into a folder, under the number of its first location.
///
/// # Errors
/// If the file cannot be written.
pub fn place(folder: &Path, first: LocationRef, block: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("{}.block", first.0));
    let unfinished = folder.join(format!("{}.block.part", first.0));
    let told =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    fs::write(&unfinished, block).and_then(|()| fs::rename(&unfinished, &path)).map_err(told)
}

/// Makes blocks of the files of rows in a folder, and removes these. Rows of locations that are in a block
/// already are removed only. May be interrupted and called again. Gives what is wrong with single files.
///
/// # Errors
/// If blocks cannot be written.
pub fn collate_files(archive: &Archive, folder: &Path) -> io::Result<Vec<String>> {
    let (mut rows, mut known) = (BTreeSet::new(), BTreeSet::new());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let number = path.file_stem().and_then(|name| name.to_str()?.parse::<u64>().ok());
        match (number, path.extension().and_then(|it| it.to_str())) {
            (Some(location), Some("rows")) => drop(rows.insert(location)),
            (Some(_), Some("block")) => known.extend(locations(&path)?),
            _ => {}
        }
    }
    let mut warnings = Vec::new();
    let file = |location: u64| folder.join(format!("{location}.rows"));
    let (mut heap, mut last) = (Heap::new(ENOUGH), 0);
    // Files whose rows are in no block yet.
    let mut waiting: Vec<PathBuf> = Vec::new();
    let mut write = |first: LocationRef, bytes: &[u8]| place(folder, first, bytes);
    for location in rows {
        let path = file(location);
        if known.contains(&location) {
            fs::remove_file(&path)?;
            continue;
        }
        let id = LocationRef(location);
        let maps = archive.local_tables(id).maps;
        let translate = |space, id: u32| {
            let mapped = maps.get(space).map_or(id.into(), |map| map.global(id.into()));
            u32::try_from(mapped).unwrap_or(u32::MAX)
        };
        let Some(part) = part(id, &fs::read(&path)?, translate) else {
            warnings.push(format!("{}: no rows of a profile", path.display()));
            continue;
        };
        let blocks = heap.blocks();
        if known.range(last..location).next().is_some() {
            // Others stand between: blocks are of consecutive locations.
            heap.write(&mut write);
            heap.check()?;
            remove(&mut waiting)?;
        }
        last = location;
        heap.add(&part, &mut write);
        heap.check()?;
        waiting.push(path);
        if heap.blocks() > blocks && heap.is_empty() {
            remove(&mut waiting)?;
        }
    }
    heap.write(&mut write);
    heap.check()?;
    remove(&mut waiting)?;
    Ok(warnings)
}

/// Removes the blocks of a folder.
///
/// # Errors
/// If one cannot be removed.
pub fn remove_blocks(folder: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "block" || it == "part") {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn remove(files: &mut Vec<PathBuf>) -> io::Result<()> {
    files.drain(..).try_for_each(fs::remove_file)
}

/// The locations of a block; none if it is damaged.
fn locations(path: &Path) -> io::Result<Vec<u64>> {
    let mut file = File::open(path)?;
    let mut head = [0; HEAD];
    let head = file.read_exact(&mut head).ok().and_then(|()| Head::read(&head));
    let length = file.metadata()?.len();
    let Some(head) = head.filter(|head| head.length == length) else { return Ok(Vec::new()) };
    let mut table = Vec::new();
    file.take(u64::from(head.locations) * LOCATION as u64).read_to_end(&mut table)?;
    Ok(Place::read(&table).map(|place| place.location).collect())
}
