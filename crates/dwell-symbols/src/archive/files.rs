//! Replaces the file of global definitions by a new one.

use std::fs;
use std::path::Path;

use dwell_files::Scratch;
use otf2::store::FileKind;
use otf2::write::{ArchiveWriter, DefWriter, Options};
use otf2::{Anchor, Archive};

use super::Error;

/// Writes the global definitions of an archive anew. The archive changes only at the end, by renaming files; if
/// anything fails before, it is untouched.
pub(super) fn replace(
    archive: &Archive,
    write: impl FnOnce(&mut DefWriter) -> Result<(), Error>,
) -> Result<(), Error> {
    let old = |file| archive.store().describe(file);
    let anchor_path = old(FileKind::Anchor);
    let name = anchor_path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let directory = anchor_path.parent().unwrap_or(Path::new("."));
    let scratch = Scratch::inside(directory).map_err(at(directory))?;
    let anchor = archive.anchor();
    let options = Options {
        events_chunk: anchor.events_chunk,
        defs_chunk: anchor.defs_chunk,
        order: anchor.order,
        checksums: anchor.has_checksums(),
        ..Options::default()
    };
    let new = |file: FileKind| scratch.path().join(file.path(&name));
    let mut definitions =
        ArchiveWriter::join(scratch.path(), name.as_str(), options)?.global_definitions()?;
    write(&mut definitions)?;
    let anchor = Anchor { definitions: definitions.finish()?.records, ..anchor.clone() };
    let path = new(FileKind::Anchor);
    dwell_files::write(&path, anchor.to_bytes()).map_err(at(&path))?;

    // A copy of the old anchor, to restore it if the second rename fails.
    let kept = scratch.path().join("kept");
    fs::copy(&anchor_path, &kept).map_err(at(&kept))?;
    let files = [FileKind::Anchor, FileKind::GlobalDefs];
    for file in files {
        let known = fs::symlink_metadata(old(file)).map_err(at(&old(file)))?;
        // The permissions of a link's target do not belong to this file.
        if known.is_file() {
            fs::set_permissions(new(file), known.permissions()).map_err(at(&new(file)))?;
        }
    }
    for file in files {
        if let Err(error) = fs::rename(new(file), old(file)) {
            if file == FileKind::GlobalDefs {
                let _ = fs::rename(&kept, &anchor_path); // If this fails too, nothing more can be done.
            }
            return Err(at(&old(file))(error));
        }
    }
    Ok(())
}

/// Adds the path to an error of the operating system.
fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Error + use<> {
    let path = path.to_owned();
    |error| Error::Io { path, error }
}
