//! Call sites of an archive, resolved by the first command that looks at it.
//!
//! A measured program has better things to do than to read debug information, so its archive names call
//! sites by address.

use std::path::Path;

use dwell_symbols::{Options, resolve_archive};

use crate::terminal::{note, visible};

/// Finds functions and lines of call sites that are known by address only. What cannot be found is
/// told; the archive is of use without.
pub(crate) fn resolve(directory: &Path) {
    let resolved = match resolve_archive(directory, &Options::new()) {
        Ok(resolved) => resolved,
        Err(error) => return note!("call sites stay addresses: {error}"),
    };
    for missing in resolved.incomplete.iter().chain(&resolved.unresolved) {
        let sites = if missing.sites == 1 { "call site" } else { "call sites" };
        note!("{}: {} {sites}: {}", visible(&missing.module), missing.sites, missing.reason);
    }
}
