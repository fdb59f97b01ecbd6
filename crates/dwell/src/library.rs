//! Where the library is that `dwell run` preloads, and whether it works here.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{env, ffi};

use anyhow::{Context, Result, bail};

const NAME: &str = "libdwell.so";

/// Finds the library: where `DWELL_LIBRARY` says, beside the program `dwell`, or where an installation
/// has it.
pub(crate) fn find() -> Result<PathBuf> {
    if let Some(path) = env::var_os("DWELL_LIBRARY") {
        let path = PathBuf::from(path);
        return path.canonicalize().with_context(|| format!("DWELL_LIBRARY={}", path.display()));
    }
    let program = env::current_exe().context("where is this program?")?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    let places = [
        folder.join(NAME),
        folder.join("../lib").join(NAME),
        folder.join("../lib64").join(NAME),
        folder.join("../lib/dwell").join(NAME),
    ];
    let found = places.iter().find(|path| path.is_file());
    match found {
        Some(path) => Ok(path.canonicalize()?),
        None => bail!(
            "{NAME} is not beside {}, nor in lib beside its folder; say where it is with \
             DWELL_LIBRARY=PATH",
            program.display()
        ),
    }
}

/// Loads the library as a program would, and says why not if it cannot be.
#[allow(unsafe_code)]
pub(crate) fn check(path: &Path) -> Result<()> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the name ends in zero. What the library does when it is loaded is to read a clock.
    let error = unsafe {
        if !libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL).is_null() {
            return Ok(());
        }
        ffi::CStr::from_ptr(libc::dlerror()).to_string_lossy().into_owned()
    };
    bail!("{error}: the library was built for a newer system than this; build Dwell here")
}
