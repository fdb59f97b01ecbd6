//! The Debian package.
//!
//! It installs the files of the tarball below `/usr`, with the library in a directory of its own, because no program is
//! linked to it, and documents as Debian wants them.

use std::fmt::Write;

use anyhow::Result;

use super::Product;
use super::archive::{ar, gzip, tar};
use super::tree::{DOCUMENTS, File};

/// Returns the name of the package's file.
pub(crate) fn name(product: &Product<'_>) -> String {
    format!("dwell_{}_{}.deb", product.version, architecture(product))
}

/// Returns the name that Debian has for the architecture.
fn architecture(product: &Product<'_>) -> &'static str {
    if product.arch() == "aarch64" { "arm64" } else { "amd64" }
}

/// Who maintains the package. Debian requires an address; the project has none, which the domain says that never exists
/// (RFC 2606).
const MAINTAINER: &str = "The Dwell developers <nobody@dwell.invalid>";

/// Place of the library below `/usr`.
const LIBRARY: &str = "lib/dwell/libdwell.so";

/// Returns the package with the files of an installation. `glibc` is the version of the C library that it needs.
pub(crate) fn write(product: &Product<'_>, files: &[File], glibc: &str) -> Result<Vec<u8>> {
    let mut contents = Vec::new();
    for file in files {
        let mut file = file.clone();
        let path = file.path.as_str();
        file.path = if path == "lib/libdwell.so" {
            // A shared library is not executable in Debian.
            file.mode = 0o644;
            format!("usr/{LIBRARY}")
        } else if path.starts_with("share/man/") || path.ends_with("/CHANGELOG.md") {
            file.bytes = gzip(&file.bytes)?;
            format!("usr/{path}.gz")
        } else if path.starts_with(&format!("{DOCUMENTS}/LICENSE")) {
            // The file `copyright` has them.
            continue;
        } else if path.starts_with("share/zsh/site-functions") {
            "usr/share/zsh/vendor-completions/_dwell".to_owned()
        } else if path.starts_with("share/modulefiles") {
            // Programs in /usr need no module.
            continue;
        } else {
            format!("usr/{path}")
        };
        contents.push(file);
    }
    contents.push(File::text(&format!("usr/{DOCUMENTS}/copyright"), 0o644, &copyright(files)?));
    let size: usize = contents.iter().map(|file| file.bytes.len().div_ceil(1024)).sum();
    let control = format!(
        "Package: dwell\n\
         Version: {}\n\
         Architecture: {}\n\
         Maintainer: {MAINTAINER}\n\
         Installed-Size: {size}\n\
         Depends: libc6 (>= {glibc}), libgcc-s1 | libgcc1\n\
         Recommends: openmpi-bin | mpich\n\
         Section: science\n\
         Priority: optional\n\
         Description: {}\n {}\n {}\n {}\n",
        product.version,
        architecture(product),
        "finds wait states of one-sided parallel programs",
        "Dwell records programs with OpenSHMEM, MPI RMA, ARMCI, Global Arrays,",
        "coarrays and GASNet without relinking, and says where their processes",
        "wait, why, and what would remove the wait.",
    );
    let control = [File::text("control", 0o644, &control)];
    let control = gzip(&tar(&control, "./", product.epoch)?)?;
    let data = gzip(&tar(&contents, "./", product.epoch)?)?;
    let members: [(&str, &[u8]); 3] =
        [("debian-binary", b"2.0\n"), ("control.tar.gz", &control), ("data.tar.gz", &data)];
    ar(&members, product.epoch)
}

/// Returns Debian's copyright file.
fn copyright(files: &[File]) -> Result<String> {
    let mut text = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
                    Upstream-Name: Dwell\n\n\
                    Files: *\nCopyright: The Dwell developers\nLicense: MIT or Apache-2.0\n\n\
                    License: MIT\n"
        .to_owned();
    let licence = files.iter().find(|file| file.path == format!("{DOCUMENTS}/LICENSE-MIT"));
    let licence = licence.map(|file| String::from_utf8_lossy(&file.bytes)).unwrap_or_default();
    for line in licence.lines() {
        writeln!(text, " {}", if line.is_empty() { "." } else { line })?;
    }
    text += "\nLicense: Apache-2.0\n See /usr/share/common-licenses/Apache-2.0.\n\n\
             Comment:\n Licences of the packages that the programs contain: THIRD-PARTY.txt in this directory.\n";
    Ok(text)
}
