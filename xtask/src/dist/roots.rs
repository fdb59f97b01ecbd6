//! Root file systems to install artefacts in: a minimal Debian without a compiler.
//!
//! They are made by Debian's `mmdebstrap`, kept as archives in the target directory, and entered by `chroot` with mounts
//! of their own, which only root may do. Nothing outside of them is changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Product;
use crate::ci::install;
use crate::process::{self, Folder};

/// Name of the user in a root file system, who may do nothing special.
const USER: &str = "guest";

/// A root file system.
pub(crate) struct Root {
    folder: Folder,
}

impl Root {
    /// Makes a root file system of a release of Debian with these packages and a user. It is removed when the value is
    /// dropped.
    pub(crate) fn new(product: &Product<'_>, suite: &str, packages: &[&str]) -> Result<Root> {
        let user = process::output(Command::new("id").arg("-u"))?;
        ensure!(user.trim() == "0", "only root can make a root file system");
        install::mmdebstrap()?;
        let place = product.workspace.target.join("dist-roots");
        fs::create_dir_all(&place)?;
        let archive = place.join(format!("{suite}-{}.tar", packages.join("-")));
        if !archive.is_file() {
            let made = archive.with_extension("new.tar");
            let mut make = Command::new("mmdebstrap");
            make.args([
                "--quiet",
                "--variant=minbase",
                &format!("--include={}", packages.join(",")),
            ]);
            make.args(["--aptopt=APT::Install-Recommends \"false\"", suite]);
            process::run(make.arg(&made).arg("http://deb.debian.org/debian"))?;
            fs::rename(&made, &archive)?;
        }
        let folder = Folder(place.join(suite));
        let _ = fs::remove_dir_all(&folder.0);
        fs::create_dir_all(&folder.0)?;
        process::run(Command::new("tar").arg("-C").arg(&folder.0).arg("-xf").arg(&archive))?;
        let root = Root { folder };
        root.as_root(&format!("useradd --create-home --shell /bin/bash {USER}"))?;
        Ok(root)
    }

    /// Returns the home directory of the user, seen from outside.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.0.join("home").join(USER)
    }

    /// Copies a file into the home directory.
    pub(crate) fn copy(&self, file: &Path) -> Result<()> {
        let name = file.file_name().context("no name")?;
        fs::copy(file, self.home().join(name))
            .with_context(|| format!("cannot copy {}", file.display()))?;
        Ok(())
    }

    /// Runs a line of a shell as the user, in the home directory, and returns its output.
    pub(crate) fn as_user(&self, line: &str) -> Result<String> {
        println!("{USER}$ {line}");
        self.enter(&["su", "-", USER, "-c", line])
    }

    /// Runs a line of a shell as root, in the home directory of the user, and returns its output.
    pub(crate) fn as_root(&self, line: &str) -> Result<String> {
        println!("root# {line}");
        self.enter(&["sh", "-c", &format!("cd /home/{USER} 2> /dev/null; {line}")])
    }

    fn enter(&self, command: &[&str]) -> Result<String> {
        let script = "root=$1; shift\n\
                      mount -t proc proc \"$root/proc\" && mount --rbind /dev \"$root/dev\" &&\n\
                      mount --rbind /sys \"$root/sys\" && exec chroot \"$root\" \"$@\"";
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh"]);
        unshare.arg(&self.folder.0).args(command);
        unshare.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C");
        process::output(&mut unshare)
    }
}
