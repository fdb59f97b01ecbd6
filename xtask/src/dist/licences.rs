//! Licences of the packages that are linked into the command and the library.
//!
//! Every package on crates.io states its licence, and nearly all contain its text, which has to go with copies of the
//! program. `cargo xtask deny` judges whether the licences are acceptable; here they are collected. cargo-about does the
//! same, but CI would build the 236 packages of its lock file for what takes two calls of cargo here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process::{self, cargo};
use crate::workspace::Workspace;

/// A package that is part of the product.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Licence as an SPDX expression.
    pub(crate) licence: String,
    /// SHA-256 of its archive at crates.io, in hexadecimal. `None` for the crates of this workspace.
    pub(crate) checksum: Option<String>,
    /// Names and versions of the packages that it uses, as far as they are part of the product.
    pub(crate) uses: Vec<(String, String)>,
    authors: String,
    repository: String,
    directory: PathBuf,
}

/// Returns the packages that are linked into the command and the library, crates of this workspace included, in the
/// order of their names and versions. Packages that only a build or a test needs are left out.
pub(crate) fn packages(workspace: &Workspace, target: &str) -> Result<Vec<Package>> {
    let linked = linked(workspace, target)?;
    let mut command = cargo(&workspace.root);
    command.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target]);
    let text = process::output(&mut command)?;
    let metadata: Value = serde_json::from_str(&text).context("cargo metadata is not JSON")?;
    let checksums = checksums(&fs::read_to_string(workspace.root.join("Cargo.lock"))?);
    let field = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut ids = BTreeMap::new();
    for package in list(&metadata["packages"]) {
        let key = (field(&package, "name"), field(&package, "version"));
        ids.insert(field(&package, "id"), key);
    }
    let mut uses = BTreeMap::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        let Some(key) = ids.get(&field(&node, "id")) else { continue };
        let normal = list(&node["deps"]).into_iter().filter(|dependency| {
            list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null())
        });
        let mut used: Vec<_> = normal
            .filter_map(|dependency| ids.get(&field(&dependency, "pkg")).cloned())
            .filter(|key| linked.contains(key))
            .collect();
        used.sort();
        uses.insert(key.clone(), used);
    }
    let mut found = Vec::new();
    for package in list(&metadata["packages"]) {
        let key = (field(&package, "name"), field(&package, "version"));
        if !linked.contains(&key) {
            continue;
        }
        let manifest = PathBuf::from(field(&package, "manifest_path"));
        let authors = list(&package["authors"]);
        let authors: Vec<&str> = authors.iter().filter_map(Value::as_str).collect();
        found.push(Package {
            // Some write `MIT/Apache-2.0`, which meant the same before SPDX expressions.
            licence: field(&package, "license").replace('/', " OR "),
            checksum: checksums.get(&key).cloned(),
            uses: uses.remove(&key).unwrap_or_default(),
            authors: authors.join(", "),
            repository: field(&package, "repository"),
            directory: manifest.parent().unwrap_or(Path::new("")).to_owned(),
            name: key.0,
            version: key.1,
        });
    }
    found.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    ensure!(found.len() == linked.len(), "cargo tree and cargo metadata disagree");
    Ok(found)
}

/// Returns names and versions of all packages that cargo links into the command and the library.
fn linked(workspace: &Workspace, target: &str) -> Result<BTreeSet<(String, String)>> {
    let mut tree = cargo(&workspace.root);
    tree.args(["tree", "--locked", "-p", "dwell", "-p", "dwell-preload", "--target", target]);
    tree.args(["-e", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"]);
    let text = process::output(&mut tree)?;
    let package = |line: &str| {
        let (name, rest) = line.split_once(" v")?;
        Some((name.to_owned(), rest.split(' ').next()?.to_owned()))
    };
    Ok(text.lines().filter_map(package).collect())
}

/// Returns the checksums of packages in a lock file, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for package in lock.split("[[package]]") {
        let value = |key: &str| {
            let start = format!("{key} = \"");
            let line = package.lines().find_map(|line| line.strip_prefix(&start))?;
            Some(line.trim_end_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(sum)) =
            (value("name"), value("version"), value("checksum"))
        {
            found.insert((name, version), sum);
        }
    }
    found
}

impl Package {
    /// Returns the texts of licences and notices that the package contains.
    fn texts(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory)
            .with_context(|| format!("cannot read {}", self.directory.display()))?
        {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_licence(&name) && entry.path().is_file() {
                names.push(name);
            }
        }
        names.sort();
        let read = |name: &String| {
            let path = self.directory.join(name);
            let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
            Ok(String::from_utf8_lossy(&bytes).replace("\r\n", "\n").trim().to_owned())
        };
        names.iter().map(read).collect()
    }
}

/// Returns `true` if a file of this name contains a licence or a notice.
fn is_licence(name: &str) -> bool {
    let upper = name.to_uppercase();
    let source = [".RS", ".TOML"].iter().any(|end| upper.ends_with(end));
    let starts = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
    !source && starts.iter().any(|start| upper.starts_with(start))
}

/// Returns one text with the licences of all packages that are not Dwell's own. Equal texts are given once. The
/// standard library of Rust is named first, because every Rust program contains it.
pub(crate) fn texts(workspace: &Workspace, packages: &[Package]) -> Result<String> {
    let mut by_text: BTreeMap<String, Vec<&Package>> = BTreeMap::new();
    let (mut list, mut without) = (String::new(), Vec::new());
    let others: Vec<&Package> =
        packages.iter().filter(|package| package.checksum.is_some()).collect();
    for package in &others {
        writeln!(list, "{} {}: {}", package.name, package.version, package.licence)?;
        let texts = package.texts()?;
        if texts.is_empty() {
            without.push(*package);
        }
        for text in texts {
            by_text.entry(text).or_default().push(package);
        }
    }
    let mut all = format!(
        "Dwell is under MIT or Apache-2.0 (LICENSE-MIT, LICENSE-APACHE). The command dwell and the library\n\
         libdwell.so contain the packages below, and the standard library of Rust (MIT OR Apache-2.0, copyright\n\
         The Rust Project Developers; texts below). The page of the explorer, which is inside the command, contains\n\
         Preact (MIT).\n\n{list}",
    );
    if !without.is_empty() {
        all += "\nThese packages contain no text of their licence. The common texts of these licences, below with\n\
                other packages, apply to them with these names:\n\n";
        for package in without {
            let who = if package.authors.is_empty() { "its authors" } else { &package.authors };
            let place = &package.repository;
            writeln!(
                all,
                "{} {}: {}, copyright {who}, {place}",
                package.name, package.version, package.licence
            )?;
        }
    }
    for (text, users) in standard_library(workspace)?.into_iter().chain(
        // In the order of the first package, which is shorter to read than the order of texts.
        sorted(by_text),
    ) {
        write!(all, "\n{}\n{users}\n{}\n\n{text}\n", "=".repeat(100), "=".repeat(100))?;
    }
    Ok(all)
}

/// Returns texts with the names of the packages that have them, in the order of these names.
fn sorted(by_text: BTreeMap<String, Vec<&Package>>) -> Vec<(String, String)> {
    let names = |users: Vec<&Package>| {
        let users: Vec<String> =
            users.iter().map(|it| format!("{} {}", it.name, it.version)).collect();
        users.join(", ")
    };
    let mut texts: Vec<_> = by_text.into_iter().map(|(text, users)| (text, names(users))).collect();
    texts.sort_by(|a, b| a.1.cmp(&b.1));
    texts
}

/// Returns the licences of Rust's standard library, as the toolchain contains them, and of the page.
fn standard_library(workspace: &Workspace) -> Result<Vec<(String, String)>> {
    let sysroot = process::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let folder = Path::new(sysroot.trim()).join("share/doc/rust/licenses");
    let mut found = Vec::new();
    for name in ["MIT", "Apache-2.0"] {
        let path = folder.join(format!("{name}.txt"));
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        found.push((text.trim().to_owned(), "standard library of Rust".to_owned()));
    }
    let page = workspace.root.join("packaging/page-licences.txt");
    let text = fs::read_to_string(&page).with_context(|| page.display().to_string())?;
    found.push((text.trim().to_owned(), "Preact, in the page of the explorer".to_owned()));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_read_from_the_lock_file() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n\n\
                    [[package]]\nname = \"own\"\nversion = \"0.1.0\"\n";
        let expected = BTreeMap::from([(("a".to_owned(), "1.0.0".to_owned()), "ab".to_owned())]);
        assert_eq!(checksums(lock), expected);
    }

    #[test]
    fn licences_are_known_by_their_names() {
        for name in ["LICENSE", "LICENSE-MIT", "license.md", "COPYING", "UNLICENSE", "NOTICE.txt"] {
            assert!(is_licence(name), "{name}");
        }
        for name in ["README.md", "licenses.rs", "Cargo.toml"] {
            assert!(!is_licence(name), "{name}");
        }
    }
}
