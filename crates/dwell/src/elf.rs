//! Examines program files: whether and how they can be measured.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol};

/// Kind of a program file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// A dynamically linked program, with the symbols that it needs from libraries.
    Dynamic {
        /// Libraries that it names itself.
        libraries: Vec<String>,
        /// Functions and variables that it imports.
        imports: Vec<String>,
        /// Functions that are linked into it, as far as its symbol table still lists them.
        defines: Vec<String>,
    },
    /// A statically linked program, into which no library can be preloaded.
    Static,
    /// A program for the loader of another C library, for which `libdwell.so` is not built.
    OtherLibc(&'static str),
    /// A script. Programs that it starts can be measured.
    Script(String),
    /// A file that is neither a 64-bit ELF program nor a script.
    Other,
}

/// Examines a file.
pub(crate) fn inspect(path: &Path) -> Result<Program> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    if let Some(line) = bytes.strip_prefix(b"#!") {
        let end = line.iter().position(|byte| *byte == b'\n').unwrap_or(line.len().min(256));
        let line = String::from_utf8_lossy(line.get(..end).unwrap_or_default());
        return Ok(Program::Script(line.trim().into()));
    }
    let Ok(file) = ElfFile64::<Endianness>::parse(&*bytes) else { return Ok(Program::Other) };
    let endian = file.endian();
    let headers = file.elf_header().program_headers(endian, &*bytes).unwrap_or_default();
    // A program that asks for a loader by a damaged name is still none that loads nothing.
    let loader =
        |header: &_| ProgramHeader::interpreter(header, endian, &*bytes).unwrap_or(Some(b""));
    let loader = headers.iter().find_map(loader);
    let Some(loader) = loader else { return Ok(Program::Static) };
    if let Some(name) = other_libc(loader) {
        return Ok(Program::OtherLibc(name));
    }
    let undefined = file.dynamic_symbols().filter(ObjectSymbol::is_undefined);
    let mut imports: Vec<String> =
        undefined.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect();
    imports.sort_unstable();
    imports.dedup();
    let defined = file.symbols().filter(|symbol| symbol.is_definition() && symbol.is_global());
    let defines = defined.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect();
    Ok(Program::Dynamic { libraries: needed(&file, &bytes), imports, defines })
}

impl Program {
    /// Returns `true` if the coarray library is linked into the program itself, as the wrapper `caf` does. Its
    /// functions are then found in the program, before those of a preloaded library.
    pub(crate) fn contains_coarrays(&self) -> bool {
        let Self::Dynamic { defines, .. } = self else { return false };
        defines.iter().any(|name| name == "_gfortran_caf_init")
    }
}

/// Advice on a program that [contains coarrays](Program::contains_coarrays).
pub(crate) const COARRAYS_INSIDE: &str = "the library of coarrays is linked into it statically: only its calls of MPI will be recorded, not \
     those of coarrays. Link the shared library instead: gfortran -fcoarray=lib ... -lcaf_openmpi";

/// Returns the name of the C library to which a loader belongs, by its file name, if that is one into which
/// `libdwell.so` cannot be loaded. Unknown loaders are assumed to be glibc's, which some distributions install
/// elsewhere.
fn other_libc(loader: &[u8]) -> Option<&'static str> {
    let file = loader.rsplit(|byte| *byte == b'/').next()?;
    let known: [(&[u8], &str); 3] =
        [(b"ld-musl-", "musl"), (b"ld-uClibc", "uClibc"), (b"ld64-uClibc", "uClibc")];
    known.into_iter().find(|(start, _)| file.starts_with(start)).map(|(_, name)| name)
}

/// Returns the libraries that a program names.
fn needed(file: &ElfFile64<'_, Endianness>, bytes: &[u8]) -> Vec<String> {
    let endian = file.endian();
    let Ok(Some((dynamic, strings))) =
        file.elf_section_table().dynamic(endian, bytes).map(|found| {
            found.map(|(entries, link)| {
                (entries, file.elf_section_table().strings(endian, bytes, link))
            })
        })
    else {
        return Vec::new();
    };
    let Ok(strings) = strings else { return Vec::new() };
    let wanted = dynamic.iter().filter(|entry| entry.d_tag.get(endian) == object::elf::DT_NEEDED);
    wanted
        .filter_map(|entry| strings.get(entry.d_val.get(endian) as u32).ok())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect()
}

/// Returns the file of a command, as a shell would find it.
pub(crate) fn which(command: &str) -> Option<PathBuf> {
    if command.contains('/') {
        return Some(PathBuf::from(command)).filter(|path| path.exists());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(command)).find(|path| path.is_file())
}

/// Returns the message for a program that [`which`] does not find. Shells do not look in the current directory, and
/// neither does this.
pub(crate) fn missing(command: &str) -> String {
    let here = Path::new(command);
    if !command.contains('/') && here.is_file() {
        return format!("{command}: no such program on the path; did you mean ./{command}?");
    }
    format!("{command}: no such program")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_loads_libraries() -> Result<()> {
        let Program::Dynamic { libraries, imports, .. } = inspect(&std::env::current_exe()?)?
        else {
            panic!("a test program is dynamic")
        };
        assert!(libraries.iter().any(|name| name.starts_with("libc.so")), "{libraries:?}");
        assert!(imports.iter().any(|name| name == "malloc"), "{imports:?}");
        Ok(())
    }

    #[test]
    fn loaders_of_other_c_libraries_are_known_by_their_file() {
        assert_eq!(other_libc(b"/lib/ld-musl-x86_64.so.1"), Some("musl"));
        assert_eq!(other_libc(b"/lib/ld64-uClibc.so.1"), Some("uClibc"));
        for loader in ["/lib64/ld-linux-x86-64.so.2", "/opt/ld-musl-free/ld-2.31.so", ""] {
            assert_eq!(other_libc(loader.as_bytes()), None, "{loader}");
        }
    }

    #[test]
    fn scripts_and_others() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("x");
        fs::write(&path, "#! /bin/bash -e\necho\n")?;
        assert_eq!(inspect(&path)?, Program::Script("/bin/bash -e".into()));
        fs::write(&path, "hello")?;
        assert_eq!(inspect(&path)?, Program::Other);
        assert!(inspect(&folder.path().join("missing")).is_err());
        Ok(())
    }
}
