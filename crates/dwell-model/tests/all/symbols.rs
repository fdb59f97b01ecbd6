//! Names of the functions that a library defines.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Returns the functions that a library defines: all of a static one, and those that a shared one exports.
pub(crate) fn functions(library: &Path) -> BTreeSet<String> {
    let is_static = library.extension().is_some_and(|it| it == "a");
    let mut nm = Command::new("nm");
    nm.args((!is_static).then_some("-D")).arg("--defined-only").arg(library);
    let output = nm.output().expect("nm is there");
    assert!(output.status.success(), "nm {}: {output:?}", library.display());
    let text = String::from_utf8(output.stdout).expect("nm prints text");
    let defined = text
        .lines()
        .filter_map(|line| line.split_once(" T ").or_else(|| line.split_once(" W ")))
        // A version may stand after the name.
        .map(|(_, name)| name.split('@').next().unwrap_or(name).to_owned());
    defined.collect()
}
