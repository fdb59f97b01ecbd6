//! Chooses the MPI library.
//!
//! The first of these that exists and fits the launcher is taken: the file that the user names, the installation that
//! the launcher belongs to, and what the loader would find. A candidate's file is examined before it is opened, because
//! opening a wrong library does harm: Open MPI 5 failed in `MPI_Init` after Open MPI 4 had been opened, and could not be
//! opened after MPICH.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::{env, iter};

use dwell_model::mpi::abi::{Family, Maker};
use object::read::elf::ElfFile64;
use object::{Architecture, Endianness, Object, ObjectSymbol, ReadCache};

use crate::calls::{Library, NAMES};
use crate::error::Error;
use crate::launch::{Launch, Launcher};

/// Finds, examines and loads the library for a launch. `named` is the user's choice: a path, or a name for the loader.
pub(crate) fn load(launch: &Launch, named: Option<&Path>) -> Result<Library, Error> {
    let (path, family) = match named {
        Some(named) => {
            let path =
                if named.components().count() > 1 { Some(named.into()) } else { by_loader(named) };
            let path = path.unwrap_or_else(|| named.into());
            let unsuitable = |reason| Error::Unsuitable { path: path.clone(), reason };
            let family = examine(&path).map_err(unsuitable)?;
            (path, family)
        }
        None => search(launch)?,
    };
    let library = Library::load(&path, family)?;
    check(launch.launcher, library.maker, &path)?;
    Ok(library)
}

/// Checks that a launcher works with a library. Where it does not, every process is alone in its world, or
/// `MPI_Init` aborts the process before an error can be returned.
fn check(launcher: Launcher, maker: Maker, path: &Path) -> Result<(), Error> {
    let fits = match (launcher, maker) {
        // Open MPI 4's launcher serves 4 and 5, that of 5 serves 5 only.
        (Launcher::OpenMpi(launcher), Maker::OpenMpi(library)) => library >= launcher,
        (Launcher::Pmi, Maker::Mpich) | (Launcher::Slurm | Launcher::Other(_), _) => true,
        (Launcher::OpenMpi(_), Maker::Mpich) | (Launcher::Pmi, Maker::OpenMpi(_)) => false,
    };
    if fits { Ok(()) } else { Err(Error::Mismatch { path: path.into(), maker, launcher }) }
}

/// Returns the first suitable file.
fn search(launch: &Launch) -> Result<(PathBuf, Family), Error> {
    let places: Vec<PathBuf> = installation(launch.launcher).collect();
    let wanted = Family::FILES.iter().filter(|(_, family)| may_fit(launch.launcher, *family));
    let mut refused: Vec<(PathBuf, String)> = Vec::new();
    // All files of one name before the next name: libraries with an ABI of their own come first.
    for (name, _) in wanted {
        let inside = places.iter().map(|place| place.join(name));
        for path in inside.chain(by_loader(Path::new(name))).filter(|path| path.is_file()) {
            match examine(&path) {
                Ok(family) => return Ok((path, family)),
                Err(_) if refused.iter().any(|known| known.0 == path) => {}
                Err(reason) => refused.push((path, reason)),
            }
        }
    }
    Err(Error::NoLibrary { launcher: launch.launcher, refused })
}

fn may_fit(launcher: Launcher, family: Family) -> bool {
    match launcher {
        Launcher::OpenMpi(_) => family != Family::Mpich,
        Launcher::Pmi => family != Family::OpenMpi,
        Launcher::Slurm | Launcher::Other(_) => true,
    }
}

/// Examines a file without opening it as a library. Returns the ABI that it follows, or the reason why it is unsuitable.
pub(crate) fn examine(path: &Path) -> Result<Family, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let bytes = ReadCache::new(file); // Libraries have up to 70 MB, of which little is read.
    let file = ElfFile64::<Endianness, _>::parse(&bytes);
    let file = file.map_err(|_| "it is not a 64-bit ELF file".to_owned())?;
    let here = match env::consts::ARCH {
        "x86_64" => Architecture::X86_64,
        "aarch64" => Architecture::Aarch64,
        _ => Architecture::Unknown,
    };
    if file.architecture() != here || here == Architecture::Unknown {
        return Err(format!("it is not for this machine ({})", env::consts::ARCH));
    }
    let mut missing: Vec<&str> = NAMES.to_vec();
    let (mut open_mpi, mut mpich) = (false, false);
    let is = |name: &str, mark: &std::ffi::CStr| name.as_bytes() == mark.to_bytes();
    for symbol in file.dynamic_symbols().filter(ObjectSymbol::is_definition) {
        let Ok(name) = symbol.name() else { continue };
        missing.retain(|wanted| *wanted != name);
        open_mpi |= is(name, Family::OPEN_MPI_MARK);
        mpich |= is(name, Family::MPICH_MARK);
    }
    if let Some(first) = missing.first() {
        let function = first.trim_start_matches('P');
        return Err(format!("it is not an MPI library with MPI 3: it has no {function}"));
    }
    let name = soname(&file, &bytes).unwrap_or_default();
    let file = if name.is_empty() { path.to_string_lossy().into_owned() } else { name };
    match Family::of(&file, open_mpi) {
        Family::Mpich if !mpich => Err("its ABI is neither Open MPI's nor MPICH's".into()),
        family => Ok(family),
    }
}

/// Returns the name that a library calls itself by.
fn soname<'data>(
    file: &ElfFile64<'data, Endianness, &'data ReadCache<File>>,
    bytes: &'data ReadCache<File>,
) -> Option<String> {
    let endian = file.endian();
    let sections = file.elf_section_table();
    let (entries, link) = sections.dynamic(endian, bytes).ok()??;
    let strings = sections.strings(endian, bytes, link).ok()?;
    let entry = entries.iter().find(|entry| entry.d_tag.get(endian) == object::elf::DT_SONAME)?;
    let name = strings.get(u32::try_from(entry.d_val.get(endian)).ok()?).ok()?;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// Returns directories of the installation that the launcher belongs to, which may or may not have libraries.
fn installation(launcher: Launcher) -> impl Iterator<Item = PathBuf> {
    let variable = |name: &str| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let mut places = Vec::new();
    // Variables that launchers set themselves. That of Intel MPI is set by its users too, who may start another MPI.
    if matches!(launcher, Launcher::OpenMpi(_)) {
        places.extend(variable("OMPI_LIBDIR_LOC"));
        places.extend(variable("OPAL_PREFIX").map(|prefix| prefix.join("lib")));
    }
    if launcher == Launcher::Pmi && variable("I_MPI_HYDRA_UUID").is_some() {
        places.extend(variable("I_MPI_ROOT").into_iter().flat_map(|root| beside(&root)));
    }
    if let Some(process) = ancestors().find(is_launcher) {
        // Open MPI 4 may have its own libraries elsewhere than beside its programs.
        places.extend(mapped(process, "libopen-"));
        if let Some(root) =
            program(process).as_deref().and_then(Path::parent).and_then(Path::parent)
        {
            places.extend(beside(root));
        }
    }
    places.into_iter()
}

/// Returns the directories for libraries below the root of an installation.
fn beside(root: &Path) -> Vec<PathBuf> {
    let triplet = format!("lib/{}-linux-gnu", env::consts::ARCH);
    ["lib", "lib64", "lib/release", &triplet].map(|place| root.join(place)).to_vec()
}

/// Programs that start processes, or daemons of theirs that do.
const LAUNCHERS: &[&str] = &[
    "orterun",
    "orted",
    "prterun",
    "prted",
    "mpirun",
    "mpiexec",
    "mpiexec.hydra",
    "hydra_pmi_proxy",
];

fn is_launcher(process: &u32) -> bool {
    let program = program(*process);
    let name = program.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    name.is_some_and(|name| LAUNCHERS.contains(&name))
}

/// Returns the file of a process's program, if this user may see it.
fn program(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/exe")).ok()
}

/// Returns the numbers of the process that started this one, of the one that started that, and so on.
fn ancestors() -> impl Iterator<Item = u32> {
    let parent = |process: &u32| {
        // The second field is a name in parentheses, which may contain anything; the fourth is the parent.
        let line = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        line.rsplit_once(')')?
            .1
            .split_whitespace()
            .nth(1)?
            .parse()
            .ok()
            .filter(|parent| *parent > 1)
    };
    iter::successors(Some(std::process::id()), parent).skip(1).take(16)
}

/// Returns the directories of the libraries of a process whose file names start with `start`.
fn mapped(process: u32, start: &str) -> Vec<PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    let paths = maps.lines().filter_map(|line| Some(Path::new(line.get(line.find('/')?..)?)));
    let begins =
        |path: &&Path| path.file_name().is_some_and(|it| it.to_string_lossy().starts_with(start));
    let mut places: Vec<PathBuf> =
        paths.filter(begins).filter_map(Path::parent).map(Path::to_path_buf).collect();
    places.dedup();
    places
}

/// Returns the file that the loader would open for a name: from `LD_LIBRARY_PATH`, else from its cache, else from the
/// directories that it always searches.
fn by_loader(name: &Path) -> Option<PathBuf> {
    let listed: OsString = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let listed =
        env::split_paths(&listed).filter(|place| place.is_absolute()).map(|it| it.join(name));
    let cached = || {
        let bytes = fs::read("/etc/ld.so.cache").unwrap_or_default();
        in_cache(&bytes, name.to_str()?)
    };
    let always =
        ["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(|place| Path::new(place).join(name));
    listed
        .into_iter()
        .find(|path| path.is_file())
        .or_else(cached)
        .or_else(|| always.into_iter().find(|path| path.is_file()))
}

/// Looks a library up in the cache of glibc's loader, in the format that it has had since 1999, which may follow a
/// table in the format before that. Its header has 48 bytes, each entry 24; offsets of texts count from the header.
fn in_cache(bytes: &[u8], name: &str) -> Option<PathBuf> {
    const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
    let start = bytes.windows(MAGIC.len()).position(|window| window == MAGIC)?;
    let table = bytes.get(start..)?;
    let number =
        |at: usize| Some(u32::from_ne_bytes(table.get(at..at + 4)?.try_into().ok()?) as usize);
    let text = |at: usize| {
        let rest = table.get(at..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(rest.get(..end)?).ok()
    };
    let entries = (0..number(20)?).map(|index| 48 + 24 * index);
    let named = |at: usize| Some((text(number(at + 4)?)?, text(number(at + 8)?)?));
    entries.filter_map(named).find(|entry| entry.0 == name).map(|entry| entry.1.into())
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use dwell_model::mpi::abi::Maker;

    use super::{ancestors, by_loader, check, examine, in_cache, program};
    use crate::launch::Launcher;

    #[test]
    fn launchers_and_libraries_that_work_together() {
        let fits = |launcher, maker| check(launcher, maker, Path::new("libmpi.so")).is_ok();
        let makers = [Maker::OpenMpi(4), Maker::OpenMpi(5), Maker::Mpich];
        let row = |launcher| makers.map(|maker| fits(launcher, maker));
        assert_eq!(row(Launcher::OpenMpi(4)), [true, true, false]);
        assert_eq!(row(Launcher::OpenMpi(5)), [false, true, false]);
        assert_eq!(row(Launcher::Pmi), [false, false, true]);
        assert_eq!(row(Launcher::Slurm), [true, true, true]);
    }

    #[test]
    fn files_that_are_not_mpi_are_refused_with_a_reason() {
        let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert_eq!(examine(&text), Err("it is not a 64-bit ELF file".into()));
        let libc = by_loader(Path::new("libc.so.6")).unwrap();
        let reason = examine(&libc).unwrap_err();
        assert!(reason.contains("has no MPI_Abort"), "{reason}");
        assert!(examine(Path::new("/nonexistent")).is_err());
    }

    #[test]
    fn the_cache_of_the_loader_is_read() {
        let bytes = std::fs::read("/etc/ld.so.cache").unwrap_or_default();
        if let Some(path) = in_cache(&bytes, "libc.so.6") {
            assert!(path.is_file(), "{}", path.display());
        }
        assert_eq!(in_cache(&bytes, "libnone.so.7"), None);
        let mut damaged = bytes.clone();
        for length in [0, 10, 60, 100, bytes.len() / 2] {
            damaged.truncate(bytes.len().min(length));
            let _: Option<PathBuf> = in_cache(&damaged, "libc.so.6");
        }
    }

    #[test]
    fn this_process_has_ancestors() {
        let first = ancestors().next().unwrap();
        assert!(program(first).is_some_and(|path| path.is_absolute()));
    }
}
