//! `cargo xtask dist --check`: whether the artefacts are what they should be.
//!
//! | check | holds |
//! |---|---|
//! | `sizes` | the command and the library against their limits |
//! | `needs` | the libraries and the version of glibc that they need; symbols of the library against those of a debug build; no path of this machine in them or in their debug information |
//! | `bill` | the bill of materials against the schema of `CycloneDX` |
//! | `modules` | the module files in Lmod, where it is installed; `clean` loads one in Environment Modules |
//! | `record` | the library against all tests that record programs, on all runtimes |
//! | `again` | the artefacts against those of a second build, from a clone in another directory |
//! | `old` | the tarball on the oldest Debian that is still served |
//! | `clean` | each artefact on a Debian without a compiler: three commands of a new user, to the first finding |

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::build::GLIBC;
use super::roots::Root;
use super::{Product, bom, debian, elf, rpm, wheel};
use crate::ci::install;
use crate::process::{self, Folder, cargo};

/// Limits for the size of each file in bytes: what is reached, rounded up. The goals are 15 and 5 MB, which both miss. Of
/// the command, 14.1 MB are code; of the library 3.9 MB are code, 0.5 MB are tables for unwinding and 1.1 MB are tables of
/// its 4,125 functions with their relocations.
const LIMITS: &[(&str, u64)] = &[("bin/dwell", 18_000_000), ("lib/libdwell.so", 6_200_000)];

/// Libraries that every Linux with glibc has. Before glibc 2.34 it came in several files.
const SYSTEM: &[&str] = &[
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
];

/// The oldest Debian that mirrors still serve, and the one of today.
const OLD: &str = "bullseye";
const TODAY: &str = "bookworm";

type Check = fn(&Product<'_>, &Path) -> Result<()>;

const CHECKS: &[(&str, Check)] = &[
    ("sizes", sizes),
    ("needs", needs),
    ("bill", bill),
    ("modules", modules),
    ("old", old),
    ("clean", clean),
    ("record", record),
    ("again", again),
];

/// Runs all checks except those in `skip`.
pub(crate) fn run(product: &Product<'_>, skip: &[String]) -> Result<()> {
    for name in skip {
        let known: Vec<&str> = CHECKS.iter().map(|(name, _)| *name).collect();
        ensure!(known.contains(&name.as_str()), "no check {name}; there are {}", known.join(", "));
    }
    sums(product)?;
    let folder = Folder(product.work.join("installed"));
    let _ = fs::remove_dir_all(&folder.0);
    fs::create_dir_all(&folder.0)?;
    for name in [product.tarball(), product.debug_tarball()] {
        let mut tar = Command::new("tar");
        process::run(tar.arg("-C").arg(&folder.0).arg("-xzf").arg(product.out.join(name)))?;
    }
    let prefix = folder.0.join(product.directory());
    let foreign = product.arch() != std::env::consts::ARCH;
    for (name, check) in CHECKS {
        // What was built for another processor cannot be run here.
        let must_run = ["old", "clean", "record"].contains(name);
        if skip.iter().any(|it| it == name) || foreign && must_run {
            println!("=== {name}: left out");
            continue;
        }
        println!("=== {name}");
        check(product, &prefix).with_context(|| format!("check `{name}`"))?;
    }
    Ok(())
}

/// Compares all artefacts with the file of checksums.
fn sums(product: &Product<'_>) -> Result<()> {
    let mut command = Command::new("sha256sum");
    process::run(command.args(["--check", "--strict", "SHA256SUMS"]).current_dir(&product.out))
}

fn sizes(_: &Product<'_>, prefix: &Path) -> Result<()> {
    for (name, limit) in LIMITS {
        let size = fs::metadata(prefix.join(name)).with_context(|| (*name).to_owned())?.len();
        println!("{name}: {size} bytes of at most {limit}");
        ensure!(size <= *limit, "{name} is too large");
    }
    Ok(())
}

fn needs(product: &Product<'_>, prefix: &Path) -> Result<()> {
    let limit = GLIBC.split_once('.').context("no version")?;
    let limit: (u32, u32) = (limit.0.parse()?, limit.1.parse()?);
    for (name, _) in LIMITS {
        let path = prefix.join(name);
        let elf = elf::read(&path)?;
        let (major, minor) = elf.glibc;
        println!("{name}: glibc {major}.{minor}, {}", elf.needed.join(" "));
        ensure!(elf.glibc <= limit, "{name} needs a newer glibc than {GLIBC}");
        let foreign = elf.needed.iter().find(|library| !SYSTEM.contains(&library.as_str()));
        ensure!(foreign.is_none(), "{name} needs {}", foreign.map_or("", |it| it));
        for name in [(*name).to_owned(), format!("{name}.debug")] {
            let bytes = fs::read(prefix.join(&name))?;
            for place in [&product.workspace.root, &PathBuf::from(std::env::var("HOME")?)] {
                let found = names_directory(&bytes, &place.display().to_string());
                ensure!(!found, "{name} contains the path {}", place.display());
            }
        }
    }
    if product.arch() == std::env::consts::ARCH {
        same_exports(product, prefix)?;
    }
    Ok(())
}

/// Returns `true` if a file names a directory: its path, followed by a slash or by the end of a string.
fn names_directory(bytes: &[u8], path: &str) -> bool {
    let ends = |end: u8| [path.as_bytes(), &[end]].concat();
    path.len() > 2
        && [b'/', 0]
            .map(ends)
            .iter()
            .any(|part| bytes.windows(part.len()).any(|window| window == part))
}

/// Compares the exported symbols of the library with those of a build by the linker of this machine.
fn same_exports(product: &Product<'_>, prefix: &Path) -> Result<()> {
    process::run(cargo(&product.workspace.root).args([
        "build",
        "--locked",
        "-p",
        "dwell-preload",
    ]))?;
    let usual = elf::read(&product.workspace.target.join("debug/libdwell.so"))?.exports;
    let here = elf::read(&prefix.join("lib/libdwell.so"))?.exports;
    let missing: Vec<&String> = usual.difference(&here).collect();
    let added: Vec<&String> = here.difference(&usual).collect();
    println!("lib/libdwell.so exports {} symbols", here.len());
    ensure!(missing.is_empty(), "lib/libdwell.so does not export {missing:?}");
    ensure!(added.is_empty(), "lib/libdwell.so also exports {added:?}");
    Ok(())
}

/// Validates the bill of materials by the library of the `CycloneDX` project.
fn bill(product: &Product<'_>, _: &Path) -> Result<()> {
    let place = product.workspace.target.join("dist-tools/cyclonedx");
    if !place.join("cyclonedx").is_dir() {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--target"]).arg(&place);
        process::run(pip.arg("cyclonedx-python-lib[json-validation]"))?;
    }
    let script = "import sys\n\
        from cyclonedx.schema import SchemaVersion\n\
        from cyclonedx.validation.json import JsonStrictValidator\n\
        error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1]).read())\n\
        sys.exit(error and str(error))";
    let mut python = Command::new("python3");
    python.args(["-c", script]).arg(product.out.join(bom::NAME)).env("PYTHONPATH", &place);
    process::output(&mut python)?;
    let text = fs::read_to_string(product.out.join(bom::NAME))?;
    println!("{}: {} packages, valid", bom::NAME, text.matches("\"type\": \"library\"").count());
    Ok(())
}

/// Program of Lmod that prints what a shell has to do.
const LMOD: &str = "/usr/share/lmod/lmod/libexec/lmod";

/// Loads the module files, by Lmod, which reads both kinds.
fn modules(product: &Product<'_>, prefix: &Path) -> Result<()> {
    if !Path::new(LMOD).is_file() {
        println!("modules were not loaded: there is no Lmod (Debian's lmod)");
        return Ok(());
    }
    let folder = prefix.join("share/modulefiles");
    let tcl = Folder(product.work.join("tcl"));
    fs::create_dir_all(tcl.0.join("share/modulefiles/dwell"))?;
    let name = format!("dwell/{}", product.version);
    let place = tcl.0.join("share/modulefiles");
    fs::copy(folder.join(&name), place.join(&name))?;
    for (kind, modules, root) in [("Lua", folder, prefix), ("Tcl", place, tcl.0.as_path())] {
        let mut lmod = Command::new(LMOD);
        lmod.args(["bash", "load", &name])
            .env("MODULEPATH", &modules)
            .env("LMOD_CACHED_LOADS", "no");
        let text = process::output(&mut lmod)?.replace('"', "");
        for wanted in
            [format!("DWELL_ROOT={}", root.display()), format!("PATH={}/bin", root.display())]
        {
            let set = text.lines().any(|line| line.starts_with(&wanted));
            ensure!(set, "{kind}: no {wanted} in {text}");
        }
        println!("the module file in {kind} sets DWELL_ROOT and PATH");
    }
    Ok(())
}

/// Compiles a program whose rank 0 is late, for old systems. Returns its path.
fn example(product: &Product<'_>) -> Result<PathBuf> {
    let program = product.work.join("mpi_delays");
    let words = |option: &str| process::output(Command::new("mpicc.openmpi").arg(option));
    let (compile, link) = (words("--showme:compile")?, words("--showme:link")?);
    let tools = product.workspace.target.join("dist-tools");
    let mut zig = Command::new(tools.join("bin/python3"));
    zig.args(["-m", "ziglang", "cc", "-target"]);
    zig.arg(format!("{}-linux-gnu.{GLIBC}", product.arch()));
    zig.args(["-O2", "-g", "-w", "-Wl,--allow-shlib-undefined", "-o"]).arg(&program);
    zig.arg(product.workspace.root.join("tests/programs/mpi_delays.c"));
    zig.args(compile.split_whitespace()).args(link.split_whitespace());
    for name in ["ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"] {
        zig.env(name, tools.join("cache"));
    }
    process::run(&mut zig)?;
    Ok(program)
}

/// How the user runs the program: rank 0 is late by 200 ms, and rank 1 waits in two calls.
const RUN: &str = "mpirun --oversubscribe -np 2 DWELL run -o run1 ./mpi_delays 200 recv fence";

/// Runs a program with the `dwell` at this path and analyses the result. Fails unless the waits are found.
fn first_finding(root: &Root, dwell: &str) -> Result<()> {
    root.as_user("rm -rf run1")?;
    root.as_user(&RUN.replace("DWELL", dwell))?;
    let text = root.as_user(&format!("{dwell} analyze run1"))?;
    for line in text.lines().take(12) {
        println!("    {line}");
    }
    for call in ["MPI_Recv", "MPI_Win_fence"] {
        ensure!(text.contains(call), "{call} is not among the waits:\n{text}");
    }
    Ok(())
}

/// Installs the tarball on an old system, and records there.
fn old(product: &Product<'_>, _: &Path) -> Result<()> {
    let root = Root::new(product, OLD, &["openmpi-bin"])?;
    let version = root.as_user("ldd --version")?;
    println!("{}", version.lines().next().unwrap_or_default());
    root.copy(&product.out.join(product.tarball()))?;
    root.copy(&example(product)?)?;
    root.as_user(&format!("tar -xzf {}", product.tarball()))?;
    first_finding(&root, &format!("./{}/bin/dwell", product.directory()))
}

/// Installs each artefact where there is no compiler, as a new user, and goes to the first finding in three commands.
fn clean(product: &Product<'_>, _: &Path) -> Result<()> {
    let root = Root::new(
        product,
        TODAY,
        &["environment-modules", "openmpi-bin", "python3-pip", "python3-venv", "rpm"],
    )?;
    let compiler = root.as_user("command -v cc gcc clang rustc || true")?;
    ensure!(compiler.is_empty(), "there is a compiler: {compiler}");
    root.copy(&example(product)?)?;
    let (wheel, package, rpm) = (wheel::name(product), debian::name(product), rpm::name(product));
    for name in [&product.tarball(), &wheel, &package, &rpm] {
        root.copy(&product.out.join(name))?;
    }
    println!("--- tarball");
    root.as_user(&format!("tar -xzf {}", product.tarball()))?;
    first_finding(&root, &format!("./{}/bin/dwell", product.directory()))?;
    let modules = format!("~/{}/share/modulefiles", product.directory());
    let load = format!("module use {modules}; module load dwell; command -v dwell");
    let found = root.as_user(&format!(". /etc/profile.d/modules.sh; {load}"))?;
    let wanted = format!("{}/bin/dwell\n", product.directory());
    ensure!(found.ends_with(&wanted), "after `module load`, dwell is {found}");
    println!("--- wheel");
    root.as_user(&format!("python3 -m pip install --no-index --target tools ./{wheel}"))?;
    first_finding(&root, "./tools/bin/dwell")?;
    root.as_user(&format!(
        "python3 -m venv v && v/bin/pip install --no-index ./{wheel} && \
         python3 -m pip install --no-index --user --break-system-packages ./{wheel}"
    ))?;
    for dwell in ["v/bin/dwell", ".local/bin/dwell"] {
        first_finding(&root, dwell)?;
    }
    root.as_user("python3 -m pip uninstall --yes --break-system-packages dwell")?;
    println!("--- Debian package");
    root.as_root(&format!("dpkg --install ./{package}"))?;
    first_finding(&root, "dwell")?;
    root.as_user("test -f /usr/share/man/man1/dwell-run.1.gz && test -f /usr/include/dwell.h")?;
    root.as_root("dpkg --purge dwell && test ! -e /usr/bin/dwell && test ! -e /usr/lib/dwell")?;
    println!("--- RPM package");
    // Packages that it needs have other names here.
    root.as_root(&format!("rpm --checksig ./{rpm} && rpm --install --nodeps ./{rpm}"))?;
    first_finding(&root, "dwell")?;
    root.as_root("rpm --verify --nodeps dwell && rpm --erase dwell")?;
    root.as_root("test ! -e /usr/bin/dwell && test ! -e /usr/libexec/dwell")?;
    Ok(())
}

/// Records the programs of the tests by the library.
fn record(product: &Product<'_>, prefix: &Path) -> Result<()> {
    let mut tests = cargo(&product.workspace.root);
    tests.args(["test", "--locked", "-p", "dwell", "--test", "record"]);
    // Analyses by several processes record nothing.
    tests.args(["--", "--skip", "launched::"]);
    tests.envs(install::variables(product.workspace));
    process::run(tests.env("DWELL_TEST_LIBRARY", prefix.join("lib/libdwell.so")))
}

/// Builds the commit a second time, from a clone in another directory, and compares the checksums.
fn again(product: &Product<'_>, _: &Path) -> Result<()> {
    let root = &product.workspace.root;
    let mut git = Command::new("git");
    let changed = process::output(git.current_dir(root).args(["status", "--porcelain"]))?;
    if !changed.is_empty() {
        bail!(
            "there are changes that are not committed, and a clone would not have them:\n{changed}"
        );
    }
    let clone = Folder(product.workspace.target.join("dist-again/another/directory"));
    let _ = fs::remove_dir_all(&clone.0);
    let mut git = Command::new("git");
    process::run(git.args(["clone", "--quiet"]).arg(root).arg(&clone.0))?;
    let mut dist = cargo(&clone.0);
    dist.args(["run", "--quiet", "--locked", "-p", "xtask", "--", "dist"]);
    dist.args(["--target", product.target]).env_remove("CARGO_TARGET_DIR");
    dist.env("CARGO_MANIFEST_DIR", clone.0.join("xtask"));
    process::run(&mut dist)?;
    let sums = |folder: &Path| fs::read_to_string(folder.join("SHA256SUMS"));
    let out = clone.0.join("target").join(product.out.file_name().context("no name")?);
    let (first, second) = (sums(&product.out)?, sums(&out)?);
    let differ: Vec<&str> = first.lines().filter(|line| !second.contains(line)).collect();
    ensure!(differ.is_empty(), "these differ from a second build:\n{}", differ.join("\n"));
    println!("a second build gives the same bytes: {} files", first.lines().count());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_found_with_and_without_a_slash() {
        assert!(names_directory(b"x\0/home/me/zig/start.S\0", "/home/me"));
        assert!(names_directory(b"/home/me\0", "/home/me"));
        assert!(!names_directory(b"/home/meadow\0", "/home/me"));
        assert!(!names_directory(b"/\0//\0", "/"));
    }
}
