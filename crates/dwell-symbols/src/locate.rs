//! Finds the debug information of a stripped file.
//!
//! The places are those of gdb: by build id in a debug directory, by `.gnu_debuglink` beside the file, in `.debug`
//! beside it, and below a debug directory under the file's own path. A directory may also be the cache of a debuginfod
//! client, or hold debug files directly.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use object::Object as _;

use crate::image::{Allowance, Image};
use crate::module::BuildId;
use crate::site::Reason;

/// The content of `.gnu_debuglink`: name and CRC-32 of the debug file.
struct Link {
    name: PathBuf,
    checksum: u32,
}

/// The proof that a debug file belongs to a module.
#[derive(Clone, Copy)]
pub(crate) enum Proof<'a> {
    BuildId(&'a BuildId),
    Checksum(u32),
}

impl Proof<'_> {
    pub(crate) fn check(self, image: &Image) -> Result<(), Reason> {
        match self {
            Self::BuildId(expected) => {
                let found = image.build_id()?;
                if found.as_ref() == Some(expected) {
                    return Ok(());
                }
                Err(Reason::BuildId { path: image.path.clone(), found })
            }
            Self::Checksum(expected) => {
                if image.checksum() == expected {
                    return Ok(());
                }
                Err(Reason::Checksum { path: image.path.clone() })
            }
        }
    }
}

/// Finds a file with debug information for a module of which `image`, if there is one, has none.
///
/// # Errors
///
/// The problem of the first file that was in the right place and could not be used, or [`Reason::Stripped`] if there
/// was no such file.
pub(crate) fn debug_file(
    path: &Path,
    image: Option<&Image>,
    id: Option<&BuildId>,
    directories: &[PathBuf],
    allowance: &mut Allowance,
) -> Result<Image, Reason> {
    let mut places = Vec::new();
    if let Some(id) = id {
        let by_id = directories.iter().flat_map(|directory| by_build_id(directory, id));
        places.extend(by_id.map(|place| (place, Proof::BuildId(id))));
    }
    if let Some(link) = image.and_then(link) {
        // A build id is the better proof; files without one have the checksum.
        let proof = id.map_or(Proof::Checksum(link.checksum), Proof::BuildId);
        let beside = by_link(path, &link.name, directories);
        places.extend(beside.into_iter().map(|place| (place, proof)));
    }
    let mut problem = None;
    for (place, proof) in places {
        match usable(&place, proof, allowance) {
            Ok(Some(found)) => return Ok(found),
            Ok(None) | Err(Reason::Gone { .. }) => {}
            Err(reason) => problem = problem.or(Some(reason)),
        }
    }
    Err(problem.unwrap_or(Reason::Stripped))
}

/// Finds the common file into which dwz has moved parts of several debug files. Returns `None` if this file refers to
/// none.
///
/// # Errors
///
/// If the file refers to a common file that does not exist, cannot be used, or has another build id.
pub(crate) fn supplement(
    image: &Image,
    directories: &[PathBuf],
    allowance: &mut Allowance,
) -> Result<Option<Image>, Reason> {
    let object = image.object()?;
    let link = object.gnu_debugaltlink().map_err(|error| image.damaged(&error))?;
    let Some((name, id)) = link else { return Ok(None) };
    let name = Path::new(OsStr::from_bytes(name));
    let beside = image.path.parent().map_or_else(|| name.into(), |parent| parent.join(name));
    let Some(id) = BuildId::new(id) else { return Ok(None) };
    let by_id = directories.iter().flat_map(|directory| by_build_id(directory, &id));
    let mut problem = Reason::Gone { path: beside.clone() };
    for place in std::iter::once(beside).chain(by_id) {
        match usable(&place, Proof::BuildId(&id), allowance) {
            Ok(Some(found)) => return Ok(Some(found)),
            Ok(None) | Err(Reason::Gone { .. }) => {}
            Err(reason) => problem = reason,
        }
    }
    Err(problem)
}

/// Reads a file, and keeps it if it belongs to the module and has debug information.
fn usable(
    place: &Path,
    proof: Proof<'_>,
    allowance: &mut Allowance,
) -> Result<Option<Image>, Reason> {
    let mut after = *allowance;
    let image = Image::read(place, &mut after)?;
    proof.check(&image)?;
    if !image.has_debug_info() {
        return Ok(None);
    }
    *allowance = after;
    Ok(Some(image))
}

fn link(image: &Image) -> Option<Link> {
    let object = image.object().ok()?;
    let (name, checksum) = object.gnu_debuglink().ok()??;
    let name = Path::new(OsStr::from_bytes(name));
    // Accept a bare file name only, no path that leads to another directory.
    let mut parts = name.components();
    let (Some(Component::Normal(_)), None) = (parts.next(), parts.next()) else { return None };
    Some(Link { name: name.into(), checksum })
}

fn by_build_id(directory: &Path, id: &BuildId) -> Vec<PathBuf> {
    let text = id.to_string();
    let Some((first, rest)) = text.split_at_checked(2) else { return Vec::new() };
    let name = format!("{rest}.debug");
    vec![
        directory.join(".build-id").join(first).join(&name),
        directory.join(first).join(&name),
        directory.join(&text).join("debuginfo"),
    ]
}

fn by_link(path: &Path, name: &Path, directories: &[PathBuf]) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let given = path.parent().map(Path::to_path_buf);
    let real = fs::canonicalize(path).ok().and_then(|real| real.parent().map(Path::to_path_buf));
    let mut parents: Vec<PathBuf> = given.into_iter().chain(real).collect();
    parents.dedup();
    for parent in &parents {
        places.push(parent.join(name));
        places.push(parent.join(".debug").join(name));
    }
    for directory in directories {
        for parent in &parents {
            let below = parent.components().filter(|part| matches!(part, Component::Normal(_)));
            places.push(directory.join(below.collect::<PathBuf>()).join(name));
        }
        places.push(directory.join(name));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_by_build_id() {
        let id = "abcdef".parse().unwrap();
        let places = by_build_id(Path::new("/d"), &id);
        let expected = ["/d/.build-id/ab/cdef.debug", "/d/ab/cdef.debug", "/d/abcdef/debuginfo"];
        assert_eq!(places, expected.map(PathBuf::from));
    }

    #[test]
    fn places_by_link() {
        let places = by_link(Path::new("/no/such/x"), Path::new("x.debug"), &["/d".into()]);
        let expected =
            ["/no/such/x.debug", "/no/such/.debug/x.debug", "/d/no/such/x.debug", "/d/x.debug"];
        assert_eq!(places, expected.map(PathBuf::from));
    }
}
