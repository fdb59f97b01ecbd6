//! Builds the command and the library for old systems. Two builds of one commit give the same bytes, which `--check`
//! compares.
//!
//! Zig's linker comes with descriptions of all versions of glibc, so that a build on any machine can ask for an old one.
//! Programs need no other part of it: rustc compiles them as always. Two small scripts are between:
//!
//! | script | does |
//! |---|---|
//! | `linker` | calls Zig's linker through cargo-zigbuild, which translates what rustc says. Both would link LLVM's unwinder statically in the place of `libgcc_s`. An exception of C++ that passes through a hook carries the state of the unwinder that threw it, `libgcc_s`, which the hook would hand to the other one. So the script links the shared library, by a stub that has the symbols with their versions |
//! | `rustc` | calls rustc with names for the directories of this machine, so that no path is in the result. These names cannot be in `RUSTFLAGS`: cargo derives the names of its directories from them |
//!
//! Zig compiles the start files of glibc itself when a program is first linked, with debug information that names the
//! directory in which Zig is installed. [`settle_start_files`] removes it before Dwell is linked.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, ensure};

use super::Product;
use crate::process::{self, cargo};

/// Version of glibc that the results need, the one of RHEL 7 and of `manylinux2014`.
pub(crate) const GLIBC: &str = "2.17";

/// Python packages with the linker, of fixed versions so that all machines make the same bytes.
const PACKAGES: &[&str] = &["ziglang==0.17.0", "cargo-zigbuild==0.24.0"];

/// Symbols of the unwinder with the versions that `libgcc_s` has had for them since GCC 4.2.
const UNWINDER: &[(&str, &[&str])] = &[
    (
        "GCC_3.0",
        &[
            "_Unwind_DeleteException",
            "_Unwind_ForcedUnwind",
            "_Unwind_GetDataRelBase",
            "_Unwind_GetGR",
            "_Unwind_GetIP",
            "_Unwind_GetLanguageSpecificData",
            "_Unwind_GetRegionStart",
            "_Unwind_GetTextRelBase",
            "_Unwind_RaiseException",
            "_Unwind_Resume",
            "_Unwind_SetGR",
            "_Unwind_SetIP",
        ],
    ),
    (
        "GCC_3.3",
        &[
            "_Unwind_Backtrace",
            "_Unwind_FindEnclosingFunction",
            "_Unwind_GetCFA",
            "_Unwind_Resume_or_Rethrow",
        ],
    ),
    ("GCC_4.2.0", &["_Unwind_GetIPInfo"]),
];

/// What was built.
pub(crate) struct Built {
    /// The command without debug information.
    pub(crate) program: PathBuf,
    /// The library without debug information.
    pub(crate) library: PathBuf,
    /// Debug information of both: `dwell.debug` and `libdwell.so.debug`.
    pub(crate) debug: [PathBuf; 2],
}

/// Builds the command and the library in the profile `dist`, and separates their debug information.
pub(crate) fn build(product: &Product<'_>) -> Result<Built> {
    fs::create_dir_all(&product.work)?;
    let tools = tools(product)?;
    let root = &product.workspace.root;
    let folder = product.work.join("build");
    let mut command = cargo(root);
    command.args(["build", "--locked", "--profile", "dist", "-p", "dwell", "-p", "dwell-preload"]);
    command.args(["--features", "dwell/png"]);
    command.arg("--target").arg(product.target).arg("--target-dir").arg(&folder);
    let variable = product.target.to_uppercase().replace('-', "_");
    command.env(format!("CARGO_TARGET_{variable}_LINKER"), tools.join("linker"));
    command.env("RUSTC_WRAPPER", tools.join("rustc"));
    command.env("SOURCE_DATE_EPOCH", product.epoch.to_string());
    // Settings of the person who builds would be in the result.
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS"] {
        command.env_remove(name);
    }
    command.env("CARGO_INCREMENTAL", "0");
    process::run(&mut command)?;
    let made = folder.join(product.target).join("dist");
    let (program, program_debug) = separate(&made.join("dwell"), &product.work)?;
    let (library, library_debug) = separate(&made.join("libdwell.so"), &product.work)?;
    Ok(Built { program, library, debug: [program_debug, library_debug] })
}

/// Copies a file without debug information, which goes into a second file. The first names the second.
fn separate(file: &Path, to: &Path) -> Result<(PathBuf, PathBuf)> {
    let name = file.file_name().context("no name")?.to_string_lossy().into_owned();
    let (stripped, debug) = (to.join(&name), to.join(format!("{name}.debug")));
    process::run(objcopy()?.arg("--only-keep-debug").arg(file).arg(&debug))?;
    let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
    link.push(&debug);
    process::run(objcopy()?.arg("--strip-all").arg(link).arg(file).arg(&stripped))?;
    Ok((stripped, debug))
}

/// Returns a command for the objcopy that comes with rustc and knows all processors.
fn objcopy() -> Result<Command> {
    let path = |what: &str| {
        let folder = process::output(Command::new("rustc").args(["--print", what]))?;
        anyhow::Ok(PathBuf::from(folder.trim()))
    };
    let program = path("target-libdir")?.with_file_name("bin").join("rust-objcopy");
    ensure!(program.is_file(), "{} is missing: this rustc is not rustup's", program.display());
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", path("sysroot")?.join("lib"));
    Ok(command)
}

/// Installs the linker and writes the scripts. Returns the directory of the scripts.
fn tools(product: &Product<'_>) -> Result<PathBuf> {
    let place = product.workspace.target.join("dist-tools");
    let python = place.join("bin/python3");
    let mark = place.join("packages");
    let wanted = PACKAGES.join(" ");
    if !fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        process::run(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&place))?;
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "--python"]).arg(&python).args(["install", "--quiet"]);
        process::run(pip.args(PACKAGES)).context("the linker could not be installed from PyPI")?;
        fs::write(&mark, wanted)?;
    }
    // Zig calls the target by its own name, and glibc's version is a part of it.
    let zig_target = format!("{}-linux-gnu.{GLIBC}", product.arch());
    let scripts = place.join(product.target);
    fs::create_dir_all(&scripts)?;
    let stub = unwinder(&place, &scripts, &zig_target)?;
    let shown = |path: &Path| path.display().to_string();
    let linker = format!(
        "#!/bin/sh\n\
         export ZIG_GLOBAL_CACHE_DIR='{cache}' ZIG_LOCAL_CACHE_DIR='{cache}'\n\
         export CARGO_ZIGBUILD_ZIG_COMMAND='{python}' CARGO_ZIGBUILD_ZIG_COMMAND_ARGS='-m ziglang'\n\
         for word do\n  shift\n  case $word in\n    -lgcc_s) word='{stub}' ;;\n  esac\n  \
         set -- \"$@\" \"$word\"\ndone\n\
         exec '{zigbuild}' zig cc -- -fno-sanitize=all -target {zig_target} \"$@\"\n",
        cache = shown(&place.join("cache")),
        python = shown(&python),
        stub = shown(&stub),
        zigbuild = shown(&place.join("bin/cargo-zigbuild")),
    );
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let home = home.context("there is neither CARGO_HOME nor HOME")?;
    let sysroot = process::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    // The last that fits counts.
    let names = [
        (shown(&home), "/cargo"),
        (sysroot.trim().to_owned(), "/rust"),
        (shown(&product.workspace.root), "/dwell"),
        (shown(&product.workspace.target), "/target"),
        (shown(&product.work), "/target"),
    ];
    let names: Vec<String> =
        names.iter().map(|(path, name)| format!("'--remap-path-prefix={path}={name}'")).collect();
    let rustc = format!(
        "#!/bin/sh\nrustc=$1\nshift\nset -- \"$@\" {}\n\
         [ -z \"$OUT_DIR\" ] || set -- \"$@\" \"--remap-path-prefix=$OUT_DIR=/out/$CARGO_PKG_NAME\"\n\
         exec \"$rustc\" \"$@\"\n",
        names.join(" ")
    );
    for (name, text) in [("linker", linker), ("rustc", rustc)] {
        let path = scripts.join(name);
        fs::write(&path, text).with_context(|| path.display().to_string())?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    settle_start_files(product, &place.join("cache"), &scripts)?;
    Ok(scripts)
}

/// Lets Zig compile what it adds to every program and library, and removes its debug information, which has absolute paths
/// that rustc's names for directories do not reach. Zig takes the files from its cache when Dwell is linked.
fn settle_start_files(product: &Product<'_>, cache: &Path, scripts: &Path) -> Result<()> {
    let mark = scripts.join("settled");
    if mark.exists() {
        return Ok(());
    }
    let source = scripts.join("empty.rs");
    fs::write(&source, "pub fn main() {}\n")?;
    for kind in ["bin", "cdylib"] {
        let mut rustc = Command::new("rustc");
        rustc.args(["--target", product.target, "--crate-type", kind, "-Copt-level=3"]);
        rustc.arg(format!("-Clinker={}", scripts.join("linker").display()));
        process::run(rustc.arg("-o").arg(scripts.join("empty")).arg(&source))?;
    }
    for folder in fs::read_dir(cache.join("o")).context("Zig's cache has no results")? {
        for entry in fs::read_dir(folder?.path())? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "o" || end == "a") {
                process::output(objcopy()?.arg("--strip-debug").arg(&path))?;
            }
        }
    }
    Ok(fs::write(&mark, "")?)
}

/// Makes a library that looks to a linker like `libgcc_s.so.1`, and returns its path.
fn unwinder(place: &Path, scripts: &Path, zig_target: &str) -> Result<PathBuf> {
    let (source, versions) = (scripts.join("gcc_s.c"), scripts.join("gcc_s.versions"));
    let (mut code, mut list) = (String::new(), String::new());
    for (version, names) in UNWINDER {
        list += &format!("{version} {{ global: {}; }};\n", names.join("; "));
        for name in *names {
            code += &format!("void {name}(void) {{}}\n");
        }
    }
    fs::write(&source, code)?;
    fs::write(&versions, list)?;
    let stub = scripts.join("libgcc_s.so.1");
    let mut zig = Command::new(place.join("bin/python3"));
    zig.args(["-m", "ziglang", "cc", "-target", zig_target, "-shared", "-nostdlib", "-O1"]);
    zig.args(["-Wl,-soname,libgcc_s.so.1", "-o"]).arg(&stub).arg(&source);
    zig.arg(format!("-Wl,--version-script={}", versions.display()));
    zig.env("ZIG_GLOBAL_CACHE_DIR", place.join("cache"));
    zig.env("ZIG_LOCAL_CACHE_DIR", place.join("cache"));
    process::run(&mut zig)?;
    Ok(stub)
}
