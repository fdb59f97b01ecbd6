//! The wheel for Python's package installers.
//!
//! It contains no Python: the command goes where scripts go and the other files where data go, as wheels of ruff and uv
//! have it. The library is in `libexec/dwell`, because `pip install --target` leaves out everything in `lib` that is not
//! a package of Python.

use std::fmt::Write;

use anyhow::Result;

use super::Product;
use super::sums::{base64_url, sha256};
use super::tree::File;
use super::zip::zip;

/// Place of the library below the prefix.
pub(crate) const LIBRARY: &str = "libexec/dwell/libdwell.so";

/// Returns the name of the wheel's file. The tag promises glibc 2.17, which `manylinux2014` is.
pub(crate) fn name(product: &Product<'_>) -> String {
    format!("dwell-{}-{}.whl", product.version, tag(product))
}

fn tag(product: &Product<'_>) -> String {
    format!("py3-none-manylinux2014_{}", product.arch())
}

/// Returns the wheel with the files of an installation.
pub(crate) fn write(product: &Product<'_>, files: &[File]) -> Result<Vec<u8>> {
    let (version, tag) = (product.version, tag(product));
    let (data, info) = (format!("dwell-{version}.data"), format!("dwell-{version}.dist-info"));
    let mut contents: Vec<File> = Vec::new();
    for file in files {
        let path = match file.path.as_str() {
            "bin/dwell" => format!("{data}/scripts/dwell"),
            "lib/libdwell.so" => format!("{data}/data/{LIBRARY}"),
            // Python has its own directories for modules, and no site loads Dwell's from a virtual environment.
            path if path.starts_with("share/modulefiles") => continue,
            path => format!("{data}/data/{path}"),
        };
        contents.push(File { path, ..file.clone() });
    }
    let metadata = format!(
        "Metadata-Version: 2.4\n\
         Name: dwell\n\
         Version: {version}\n\
         Summary: {}\n\
         License-Expression: MIT OR Apache-2.0\n\
         Author: The Dwell developers\n\
         Classifier: Operating System :: POSIX :: Linux\n\
         Classifier: Topic :: Software Development :: Debuggers\n\
         Requires-Python: >=3.6\n",
        product.summary
    );
    let wheel = format!(
        "Wheel-Version: 1.0\nGenerator: dwell-xtask ({version})\nRoot-Is-Purelib: false\nTag: {tag}\n"
    );
    contents.push(File::text(&format!("{info}/METADATA"), 0o644, &metadata));
    contents.push(File::text(&format!("{info}/WHEEL"), 0o644, &wheel));
    let mut record = String::new();
    for file in &contents {
        let sum = base64_url(&sha256(&file.bytes));
        writeln!(record, "{},sha256={sum},{}", file.path, file.bytes.len())?;
    }
    writeln!(record, "{info}/RECORD,,")?;
    contents.push(File::text(&format!("{info}/RECORD"), 0o644, &record));
    zip(&contents)
}
