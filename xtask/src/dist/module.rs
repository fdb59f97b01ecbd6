//! Module files, for Lmod and for Environment Modules, and recipes of package managers.
//!
//! Their texts are in `packaging`. Words between at signs are replaced: `@VERSION@`, `@ARCH@`, `@TARBALL@`, `@SHA256@`.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::Product;
use super::tree::File;

/// Module files: the one in `packaging`, and the end of its name in an installation.
const MODULES: &[(&str, &str)] = &[("dwell.lua", ".lua"), ("dwell.tcl", "")];

/// Recipes: the file in `packaging`, and its place among the artefacts.
const RECIPES: &[(&str, &str)] = &[
    ("spack/package.py", "recipes/spack/package.py"),
    ("easybuild/dwell.eb", "recipes/easybuild/dwell-@VERSION@.eb"),
    ("apptainer/dwell.def", "recipes/apptainer/dwell.def"),
];

/// Returns the module files of an installation. Both are in one directory, where Lmod takes the file in Lua and
/// Environment Modules the one that it can read.
pub(crate) fn files(product: &Product<'_>) -> Result<Vec<File>> {
    let module = |&(name, end): &(&str, &str)| {
        let path = format!("share/modulefiles/dwell/{}{end}", product.version);
        Ok(File::text(&path, 0o644, &filled(product, name, None)?))
    };
    MODULES.iter().map(module).collect()
}

/// Returns the recipes of package managers, which install the tarball with this checksum.
pub(crate) fn recipes(product: &Product<'_>, sha256: &str) -> Result<Vec<File>> {
    let recipe = |&(name, place): &(&str, &str)| {
        let place = place.replace("@VERSION@", product.version);
        Ok(File::text(&place, 0o644, &filled(product, name, Some(sha256))?))
    };
    RECIPES.iter().map(recipe).collect()
}

/// Returns the text of a file in `packaging` with its words replaced.
fn filled(product: &Product<'_>, name: &str, sha256: Option<&str>) -> Result<String> {
    let path = product.workspace.root.join("packaging").join(name);
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let mut text = text
        .replace("@VERSION@", product.version)
        .replace("@ARCH@", product.arch())
        .replace("@TARBALL@", &product.tarball());
    if let Some(sum) = sha256 {
        text = text.replace("@SHA256@", sum);
    }
    let left = text.split('@').find(|word| {
        word.len() > 2 && word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
    });
    ensure!(left.is_none(), "{}: @{}@ is not known", path.display(), left.unwrap_or_default());
    Ok(text)
}
