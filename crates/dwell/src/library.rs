//! Where the library is that `dwell run` preloads, and whether it works here.

use std::ffi::{CString, OsString};
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

/// Directories that a program's own directory may be deep, for [`preload_name`].
const DEPTH: usize = 32;

/// The name by which `LD_PRELOAD` asks for the library at this path.
///
/// Everything that a measured program or script starts inherits `LD_PRELOAD`, and musl's loader ends a program
/// into which it cannot load a library that it found. So the name begins with `$ORIGIN`, which glibc's loader
/// replaces by the directory of the program and musl's does not know; behind it come enough parents to arrive
/// at the root. musl's loader looks for a directory that is called `$ORIGIN`, finds none, and goes on.
///
/// `None` where glibc's loader could not replace it, because there is no `/proc` to see the program in.
pub(crate) fn preload_name(path: &Path) -> Option<OsString> {
    env::current_exe().ok()?;
    let mut name = OsString::from("$ORIGIN");
    name.push("/..".repeat(DEPTH));
    name.push(path);
    Some(name)
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
