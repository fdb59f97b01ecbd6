//! The files of an installation, with their places below its prefix.
//!
//! Tarball, wheel and Debian package contain the same files; each has its own places for some of them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Product;
use super::{bom, licences, module};
use crate::process;

/// A file of an artefact.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// Path below the prefix, with slashes.
    pub(crate) path: String,
    /// Permissions.
    pub(crate) mode: u32,
    /// Content.
    pub(crate) bytes: Vec<u8>,
}

impl File {
    /// Returns a file with this text.
    pub(crate) fn text(path: &str, mode: u32, text: &str) -> Self {
        Self { path: path.to_owned(), mode, bytes: text.as_bytes().to_vec() }
    }

    /// Returns a copy of a file on disk.
    pub(crate) fn read(path: &str, mode: u32, from: &Path) -> Result<Self> {
        let bytes = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
        Ok(Self { path: path.to_owned(), mode, bytes })
    }
}

/// Directory of documents below the prefix.
pub(crate) const DOCUMENTS: &str = "share/doc/dwell";

/// Documents at the root of the repository that are part of an installation.
const FROM_ROOT: &[&str] = &["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Shells and the places at which they look for completions.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "share/bash-completion/completions/dwell"),
    ("zsh", "share/zsh/site-functions/_dwell"),
    ("fish", "share/fish/vendor_completions.d/dwell.fish"),
];

/// Returns the files of an installation. `program` and `library` are what was built for the target, `runs` is a `dwell`
/// that this machine can run, which writes manual pages and completions.
pub(crate) fn installation(
    product: &Product<'_>,
    program: &Path,
    library: &Path,
    runs: &Path,
) -> Result<Vec<File>> {
    let root = &product.workspace.root;
    let mut files = vec![
        File::read("bin/dwell", 0o755, program)?,
        File::read("lib/libdwell.so", 0o755, library)?,
    ];
    for name in ["dwell.h", "dwell.f90", "pcaf.h", "pcaf.c", "pcaf.f90"] {
        let name = format!("include/{name}");
        files.push(File::read(&name, 0o644, &root.join(&name))?);
    }
    let skill = root.join("crates/dwell/skill/SKILL.md");
    files.push(File::read("share/dwell/skill/SKILL.md", 0o644, &skill)?);
    for name in FROM_ROOT {
        files.push(File::read(&format!("{DOCUMENTS}/{name}"), 0o644, &root.join(name))?);
    }
    let packages = licences::packages(product.workspace, product.target)?;
    let text = licences::texts(product.workspace, &packages)?;
    files.push(File::text(&format!("{DOCUMENTS}/THIRD-PARTY.txt"), 0o644, &text));
    let bill = bom::write(product, &packages)?;
    files.push(File::text(&format!("{DOCUMENTS}/{}", bom::NAME), 0o644, &bill));
    files.extend(module::files(product)?);
    files.extend(manual(product, runs)?);
    for (shell, place) in COMPLETIONS {
        let text = process::output(Command::new(runs).args(["completions", shell]))?;
        files.push(File::text(place, 0o644, &text));
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Returns the manual pages, as `dwell man` writes them.
fn manual(product: &Product<'_>, runs: &Path) -> Result<Vec<File>> {
    let folder = product.work.join("man1");
    let _ = fs::remove_dir_all(&folder);
    process::output(Command::new(runs).arg("man").arg(&folder))?;
    let mut pages = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        pages.push(File::read(&format!("share/man/man1/{name}"), 0o644, &entry.path())?);
    }
    ensure!(!pages.is_empty(), "dwell man wrote no page");
    Ok(pages)
}

/// Writes files below a directory.
pub(crate) fn write(files: &[File], directory: &Path) -> Result<()> {
    for file in files {
        let path = directory.join(&file.path);
        fs::create_dir_all(path.parent().unwrap_or(directory))?;
        fs::write(&path, &file.bytes)
            .with_context(|| format!("cannot write {}", path.display()))?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(file.mode);
        fs::set_permissions(&path, mode)?;
    }
    Ok(())
}
