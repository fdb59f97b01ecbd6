//! Finds the library that `dwell run` preloads, and checks whether it works on this machine.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{env, ffi};

use anyhow::{Context, Result, bail};

const NAME: &str = "libdwell.so";

/// Finds the library: at the path in `DWELL_LIBRARY`, beside the program `dwell`, or where an installation has it.
pub(crate) fn find() -> Result<PathBuf> {
    if let Some(path) = env::var_os("DWELL_LIBRARY") {
        let path = PathBuf::from(path);
        return path.canonicalize().with_context(|| format!("DWELL_LIBRARY={}", path.display()));
    }
    let program = env::current_exe().context("cannot find the path of this program")?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    let places = [
        folder.join(NAME),
        folder.join("../lib").join(NAME),
        folder.join("../lib64").join(NAME),
        folder.join("../lib/dwell").join(NAME),
        // Where the wheel has it: installers of Python packages keep some of what is in `lib`.
        folder.join("../libexec/dwell").join(NAME),
    ];
    let found = places.iter().find(|path| path.is_file());
    match found {
        Some(path) => Ok(path.canonicalize()?),
        None => bail!(
            "{NAME} is neither beside {} nor in ../lib; set DWELL_LIBRARY to its path",
            program.display()
        ),
    }
}

/// Largest depth of a program's directory for which [`preload_name`] works.
const DEPTH: usize = 32;

/// Returns the name of the library at this path for `LD_PRELOAD`.
///
/// Everything that a measured program or script starts inherits `LD_PRELOAD`, and musl's loader ends a program if it
/// finds a library that it cannot load. So the name begins with `$ORIGIN`, which glibc's loader replaces by the
/// directory of the program and musl's does not know, followed by enough parent directories to reach the root. musl's
/// loader looks for a directory that is called `$ORIGIN`, finds none, and continues.
///
/// Returns `None` where glibc's loader could not replace `$ORIGIN`, because there is no `/proc` in which to see the
/// program.
pub(crate) fn preload_name(path: &Path) -> Option<OsString> {
    env::current_exe().ok()?;
    let mut name = OsString::from("$ORIGIN");
    name.push("/..".repeat(DEPTH));
    name.push(path);
    Some(name)
}

/// Loads the library as a program would. Fails with the reason if that is not possible.
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
