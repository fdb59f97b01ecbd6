//! The cargo workspace and its packages.
//!
//! Only cargo reads manifests: `cargo metadata` resolves inheritance, renames and globs, which a second parser of TOML
//! would get subtly wrong.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;

/// The workspace and its own crates.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Directory of the root manifest.
    pub(crate) root: PathBuf,
    /// Directory of build results.
    pub(crate) target: PathBuf,
    /// Crates of this workspace, by name.
    pub(crate) members: Vec<Package>,
}

/// One crate of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    /// Name of the package in the registry.
    pub(crate) name: String,
    /// Path of its `Cargo.toml`.
    pub(crate) manifest: PathBuf,
    /// Dependencies of all kinds.
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency of a package.
#[derive(Debug, Clone)]
pub(crate) struct Dependency {
    /// Name of the package that is depended on, before any renaming.
    pub(crate) name: String,
    /// Table of the manifest that contains it.
    pub(crate) kind: DependencyKind,
}

/// The three tables of dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DependencyKind {
    /// `[dependencies]`
    Normal,
    /// `[build-dependencies]`
    Build,
    /// `[dev-dependencies]`
    Dev,
}

impl Workspace {
    /// Asks cargo about the workspace that this program belongs to.
    pub(crate) fn load() -> Result<Workspace> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .context("CARGO_MANIFEST_DIR is not set: run this as `cargo xtask`")?;
        let mut command = process::cargo(Path::new(&manifest));
        command.args(["metadata", "--format-version", "1", "--no-deps"]);
        let text = process::output(&mut command)?;
        let metadata = serde_json::from_str(&text).context("cargo metadata is not JSON")?;
        Workspace::from_metadata(&metadata).context("cannot understand cargo metadata")
    }

    /// Returns the workspace member of this name.
    pub(crate) fn member(&self, name: &str) -> Option<&Package> {
        self.members.iter().find(|package| package.name == name)
    }

    /// Returns a path relative to the root, as messages show it.
    pub(crate) fn relative(&self, path: &Path) -> String {
        let shown = path.strip_prefix(&self.root).unwrap_or(path);
        shown.display().to_string()
    }

    fn from_metadata(metadata: &Value) -> Result<Workspace> {
        let member_ids = array(metadata, "workspace_members")?;
        let packages = array(metadata, "packages")?.iter();
        let mut members = packages
            .filter(|value| member_ids.contains(&value["id"]))
            .map(Package::from_metadata)
            .collect::<Result<Vec<_>>>()?;
        members.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Workspace {
            root: text(metadata, "workspace_root")?.into(),
            target: text(metadata, "target_directory")?.into(),
            members,
        })
    }
}

impl Package {
    /// Returns the directory of the manifest.
    pub(crate) fn directory(&self) -> &Path {
        self.manifest.parent().unwrap_or(Path::new(""))
    }

    fn from_metadata(value: &Value) -> Result<Package> {
        Ok(Package {
            name: text(value, "name")?.to_owned(),
            manifest: text(value, "manifest_path")?.into(),
            dependencies: array(value, "dependencies")?
                .iter()
                .map(Dependency::from_metadata)
                .collect::<Result<_>>()?,
        })
    }
}

impl Dependency {
    fn from_metadata(value: &Value) -> Result<Dependency> {
        let kind = match value["kind"].as_str() {
            Some("dev") => DependencyKind::Dev,
            Some("build") => DependencyKind::Build,
            _ => DependencyKind::Normal,
        };
        let name = text(value, "name")?.to_owned();
        Ok(Dependency { name, kind })
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value[key].as_str().with_context(|| format!("`{key}` is missing or no string"))
}

fn array<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    value[key].as_array().with_context(|| format!("`{key}` is missing or no array"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read_from_metadata() {
        let metadata = serde_json::json!({
            "workspace_root": "/w",
            "target_directory": "/w/target",
            "workspace_members": ["path+file:///w/crates/a#0.1.0"],
            "packages": [
                {
                    "id": "path+file:///w/crates/a#0.1.0", "name": "a",
                    "manifest_path": "/w/crates/a/Cargo.toml",
                    "dependencies": [
                        {"name": "b", "kind": null}, {"name": "c", "kind": "dev"},
                        {"name": "d", "kind": "build"},
                    ],
                },
                {
                    "id": "registry+x#b@1.0.0", "name": "b", "manifest_path": "/r/b/Cargo.toml",
                    "dependencies": [],
                },
            ],
        });
        let workspace = Workspace::from_metadata(&metadata).expect("valid metadata");
        let a = workspace.member("a").expect("a is a member");
        let kinds: Vec<_> = a.dependencies.iter().map(|d| d.kind).collect();
        assert_eq!(kinds, [DependencyKind::Normal, DependencyKind::Dev, DependencyKind::Build]);
        assert_eq!(workspace.relative(&a.manifest), "crates/a/Cargo.toml");
        assert!(workspace.member("b").is_none());
    }

    #[test]
    fn a_missing_field_is_named() {
        let error = Workspace::from_metadata(&serde_json::json!({})).expect_err("nothing there");
        assert!(error.to_string().contains("workspace_members"), "{error}");
    }
}
