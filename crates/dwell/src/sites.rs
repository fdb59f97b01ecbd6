//! Resolution of the call sites of an archive, by the first command that reads it.
//!
//! A measured program does not read debug information, so its archive identifies call sites by address.

use std::path::Path;

use dwell_symbols::{Options, resolve_archive};

use crate::terminal::{note, visible};

/// Finds functions and lines of call sites that are known by address only. Failures are reported and do no harm: the
/// archive can be used without.
pub(crate) fn resolve(directory: &Path) {
    let resolved = match resolve_archive(directory, &Options::new()) {
        Ok(resolved) => resolved,
        Err(error) => return note!("call sites cannot be resolved: {error}"),
    };
    // What samples find in the code of the kernel that every process has belongs to no file.
    let has_file = |module: &str| !module.starts_with("linux-vdso");
    let missing = resolved.incomplete.iter().chain(&resolved.unresolved);
    for missing in missing.filter(|it| has_file(&it.module)) {
        let sites = if missing.sites == 1 { "call site" } else { "call sites" };
        note!("{}: {} {sites}: {}", visible(&missing.module), missing.sites, missing.reason);
    }
}
