//! What continuous integration checks of the artefacts, without building them.
//!
//! Packing everything takes no optimised build: small stand-ins take the places of the command and the library, and a
//! debug build writes the manual pages. The tools that will read the artefacts then list them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::build::Built;
use super::{Product, debian, module, rpm, wheel};
use crate::process;

/// Files that must be in the tarball, below its prefix. `VERSION` stands for the version.
const IN_TARBALL: &[&str] = &[
    "bin/dwell",
    "include/dwell.f90",
    "include/dwell.h",
    "include/pcaf.c",
    "include/pcaf.f90",
    "include/pcaf.h",
    "lib/libdwell.so",
    "share/bash-completion/completions/dwell",
    "share/doc/dwell/CHANGELOG.md",
    "share/doc/dwell/LICENSE-APACHE",
    "share/doc/dwell/LICENSE-MIT",
    "share/doc/dwell/README.md",
    "share/doc/dwell/THIRD-PARTY.txt",
    "share/doc/dwell/dwell.cdx.json",
    "share/fish/vendor_completions.d/dwell.fish",
    "share/man/man1/dwell-analyze.1",
    "share/man/man1/dwell-run.1",
    "share/man/man1/dwell.1",
    "share/modulefiles/dwell/VERSION",
    "share/modulefiles/dwell/VERSION.lua",
    "share/zsh/site-functions/_dwell",
];

/// Files that must be in the wheel, below the directory of data.
const IN_WHEEL: &[&str] = &[
    "scripts/dwell",
    "data/include/dwell.h",
    "data/libexec/dwell/libdwell.so",
    "data/share/man/man1/dwell-run.1",
];

/// Files that must be in the Debian package.
const IN_PACKAGE: &[&str] = &[
    "./usr/bin/dwell",
    "./usr/include/dwell.h",
    "./usr/lib/dwell/libdwell.so",
    "./usr/share/doc/dwell/copyright",
    "./usr/share/man/man1/dwell-run.1.gz",
];

/// Files that must be in the RPM package.
const IN_RPM: &[&str] = &[
    "/usr/bin/dwell",
    "/usr/include/dwell.h",
    "/usr/libexec/dwell/libdwell.so",
    "/usr/share/doc/dwell/LICENSE-MIT",
    "/usr/share/man/man1/dwell-run.1",
];

/// Packs stand-ins and lists what was packed.
pub(crate) fn run(product: &Product<'_>) -> Result<()> {
    fs::create_dir_all(&product.work)?;
    let stand_in = |name: &str| {
        let path = product.work.join(name);
        fs::write(&path, name).with_context(|| path.display().to_string())?;
        anyhow::Ok(path)
    };
    let built = Built {
        program: stand_in("dwell")?,
        library: stand_in("libdwell.so")?,
        debug: [stand_in("dwell.debug")?, stand_in("libdwell.so.debug")?],
    };
    super::pack(product, &built, &product.workspace.target.join("debug/dwell"))?;
    let out = &product.out;
    let listed = process::output(Command::new("tar").arg("-tzf").arg(out.join(product.tarball())))?;
    let tarball = IN_TARBALL.iter().map(|path| {
        format!("{}/{}", product.directory(), path.replace("VERSION", product.version))
    });
    complete("the tarball", &listed, tarball)?;
    let mut python = Command::new("python3");
    let listed = process::output(
        python.args(["-m", "zipfile", "--list"]).arg(out.join(wheel::name(product))),
    )?;
    let inside = |path: &&str| format!("dwell-{}.data/{path}", product.version);
    complete("the wheel", &first_words(&listed), IN_WHEEL.iter().map(inside))?;
    if process::is_on_path("dpkg-deb") {
        let package = out.join(debian::name(product));
        let listed = process::output(Command::new("dpkg-deb").arg("--contents").arg(&package))?;
        let paths: Vec<&str> = listed.lines().filter_map(|it| it.split(' ').next_back()).collect();
        complete(
            "the Debian package",
            &paths.join("\n"),
            IN_PACKAGE.iter().map(|it| (*it).to_owned()),
        )?;
        let control = process::output(Command::new("dpkg-deb").arg("--field").arg(&package))?;
        ensure!(control.contains("Package: dwell"), "the Debian package has no name:\n{control}");
    }
    if process::is_on_path("rpm") {
        let package = out.join(rpm::name(product));
        // Fails if a digest is wrong.
        process::output(Command::new("rpm").arg("-K").arg(&package))?;
        let listed = process::output(Command::new("rpm").arg("-qpl").arg(&package))?;
        complete("the RPM package", &listed, IN_RPM.iter().map(|it| (*it).to_owned()))?;
    }
    let mut sums = Command::new("sha256sum");
    process::output(sums.args(["--check", "--strict", "SHA256SUMS"]).current_dir(out))?;
    recipes(product)
}

/// Fails if a path is missing in a list with a path in each line.
fn complete(what: &str, listed: &str, wanted: impl Iterator<Item = String>) -> Result<()> {
    let mut count = 0;
    for path in wanted {
        ensure!(listed.lines().any(|line| line == path), "{what} has no {path}:\n{listed}");
        count += 1;
    }
    println!(
        "{what} has {} files and directories, with all {count} that must be there",
        listed.lines().count()
    );
    Ok(())
}

fn first_words(text: &str) -> String {
    let words: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    words.join("\n")
}

/// Parses the recipes: two are in Python, and one has sections.
fn recipes(product: &Product<'_>) -> Result<()> {
    for file in module::recipes(product, &"0".repeat(64))? {
        let path = product.out.join(&file.path);
        if Path::new(&file.path).extension().is_some_and(|end| end == "def") {
            let text = String::from_utf8(file.bytes)?;
            for part in ["Bootstrap: ", "From: ", "%files\n", "%post\n", "%runscript\n"] {
                ensure!(text.contains(part), "{} has no {part}", file.path);
            }
            continue;
        }
        let parse = "import ast, sys; ast.parse(open(sys.argv[1]).read())";
        process::output(Command::new("python3").args(["-c", parse]).arg(path))?;
    }
    println!("the recipes can be parsed");
    Ok(())
}
