//! Checks that the command needs no shared library but the C runtime.
//!
//! `dwell` is copied to login nodes and into containers. A dependency that pulls in a shared library builds here and
//! fails there, so the list of libraries is checked.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::process;

/// Prefixes of the names of libraries that belong to the C runtime.
const C_RUNTIME: &[&str] = &[
    "linux-vdso.so",
    "ld-linux",
    "libc.so",
    "libdl.so",
    "libgcc_s.so",
    "libm.so",
    "libpthread.so",
    "librt.so",
];

/// Fails if the program needs a shared library outside of the C runtime.
pub(crate) fn check(program: &Path) -> Result<()> {
    let listing = process::output(Command::new("ldd").arg(program))?;
    let foreign = foreign_libraries(&listing);
    if !foreign.is_empty() {
        bail!("{} needs {}", program.display(), foreign.join(", "));
    }
    println!("{} needs the C runtime only", program.display());
    Ok(())
}

/// Returns the libraries in the output of ldd that do not belong to the C runtime.
fn foreign_libraries(listing: &str) -> Vec<&str> {
    listing
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(|path| path.rsplit('/').next().unwrap_or(path))
        .filter(|name| *name != "statically")
        .filter(|name| !C_RUNTIME.iter().any(|start| name.starts_with(start)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::foreign_libraries;

    #[test]
    fn only_the_c_runtime_passes() {
        let listing = "\tlinux-vdso.so.1 (0x00007ffc)\n\
                       \tlibgcc_s.so.1 => /lib/x86_64-linux-gnu/libgcc_s.so.1 (0x00007f)\n\
                       \tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f)\n\
                       \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
                       \tlibcurl.so.4 => not found\n\
                       \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        assert_eq!(foreign_libraries(listing), ["libz.so.1", "libcurl.so.4"]);
        assert!(foreign_libraries("\tstatically linked\n").is_empty());
    }
}
