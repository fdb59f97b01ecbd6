//! Blocks in the folder of an experiment, and collation of rows that lie there one file a location.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use dwell_files::Folder;
use dwell_model::profile;
use dwell_model::profile::block::{HEAD, Head, LOCATION, Place, sum_length};
use otf2::Archive;
use otf2::id::LocationRef;

use super::{ENOUGH, Heap, MOST_ROWS, part};

/// Writes a block into the folder of profiles of an experiment. The file is named after the first location of the
/// block; an existing file of that name is replaced.
///
/// # Errors
/// If the file cannot be written, or the folder is a symbolic link.
pub fn place(folder: &Path, first: LocationRef, block: &[u8]) -> io::Result<()> {
    open(folder, true).and_then(|folder| write(&folder, first, block))
}

fn write(folder: &Folder, first: LocationRef, block: &[u8]) -> io::Result<()> {
    let name = format!("{}.block", first.0);
    let told = |error| at(&folder.path().join(&name), &error);
    folder.write(&name, block).map_err(told)
}

/// Opens a folder of an experiment, which must not be a link.
fn open(folder: &Path, make: bool) -> io::Result<Folder> {
    let told = |error| at(folder, &error);
    let parent = folder.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = folder.file_name().unwrap_or_default();
    let parent = Folder::open(parent).map_err(told)?;
    if make { parent.make_folder(name) } else { parent.folder(name) }.map_err(told)
}

/// Adds the path to an error.
fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Makes blocks from the files of rows in a folder, and removes those files. Rows of locations that are in a block
/// already are only removed, so the function may be interrupted and called again. Returns a description of each file
/// that is damaged.
///
/// # Errors
/// If blocks cannot be written, or the folder is a symbolic link.
pub fn collate_files(archive: &Archive, folder: &Path) -> io::Result<Vec<String>> {
    let (mut rows, mut known) = (BTreeSet::new(), BTreeSet::new());
    let folder = open(folder, false)?;
    let mut warnings = Vec::new();
    for entry in fs::read_dir(folder.path())? {
        let path = entry?.path();
        let number = path.file_stem().and_then(|name| name.to_str()?.parse::<u64>().ok());
        match (number, path.extension().and_then(|it| it.to_str())) {
            (Some(location), Some("rows")) => drop(rows.insert(location)),
            // Readers of the profile report a damaged block.
            (Some(_), Some("block")) => known.extend(locations(&folder, &path).unwrap_or_default()),
            _ => {}
        }
    }
    let (mut heap, mut last) = (Heap::new(ENOUGH), 0);
    // Files whose rows are in no block yet.
    let mut waiting: Vec<String> = Vec::new();
    let mut write = |first: LocationRef, bytes: &[u8]| self::write(&folder, first, bytes);
    for location in rows {
        let name = format!("{location}.rows");
        if known.contains(&location) {
            folder.remove(&name)?;
            continue;
        }
        let id = LocationRef(location);
        let maps = archive.local_tables(id).maps;
        let translate = |space, id: u32| {
            let mapped = maps.get(space).map_or(id.into(), |map| map.global(id.into()));
            u32::try_from(mapped).unwrap_or(u32::MAX)
        };
        let path = folder.path().join(&name);
        let bytes = match folder.read_bytes(&name, MOST_ROWS) {
            Ok(bytes) => bytes,
            // Neither a link nor a pipe has rows, and others need not suffer for it.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                warnings.push(at(&path, &error).to_string());
                continue;
            }
            Err(error) => return Err(at(&path, &error)),
        };
        if let Err(damage) = profile::check::check(&bytes) {
            warnings.push(format!("{}: {damage}", path.display()));
        }
        let Some(part) = part(id, &bytes, translate) else { continue };
        let blocks = heap.blocks();
        if known.range(last..location).next().is_some() {
            // Other locations are in between, and a block has consecutive ones only.
            heap.write(&mut write);
            heap.check()?;
            remove(&folder, &mut waiting)?;
        }
        last = location;
        heap.add(&part, &mut write);
        heap.check()?;
        waiting.push(name);
        if heap.blocks() > blocks && heap.is_empty() {
            remove(&folder, &mut waiting)?;
        }
    }
    heap.write(&mut write);
    heap.check()?;
    remove(&folder, &mut waiting)?;
    Ok(warnings)
}

/// Removes all blocks of a folder. Succeeds if the folder does not exist.
///
/// # Errors
/// If the folder cannot be read or a block cannot be removed.
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

fn remove(folder: &Folder, files: &mut Vec<String>) -> io::Result<()> {
    files.drain(..).try_for_each(|name| folder.remove(name))
}

/// The locations of a block; none if it is damaged.
fn locations(folder: &Folder, path: &Path) -> io::Result<Vec<u64>> {
    let mut file = folder.read(path.file_name().unwrap_or_default())?;
    let mut bytes = [0; HEAD];
    let head = file.read_exact(&mut bytes).ok().and_then(|()| Head::read(&bytes));
    let length = file.metadata()?.len().saturating_sub(sum_length(&bytes) as u64);
    let Some(head) = head.filter(|head| head.length == length) else { return Ok(Vec::new()) };
    let mut table = Vec::new();
    file.take(u64::from(head.locations) * LOCATION as u64).read_to_end(&mut table)?;
    Ok(Place::read(&table).map(|place| place.location).collect())
}
