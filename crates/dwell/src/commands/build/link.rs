//! `dwell build flags`: linker flags for a program whose runtime is linked statically.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, bail};
use dwell_files::Scratch;
use dwell_link::{Runtime, functions, options, source};

/// Compiles the hooks of a runtime into a directory, and returns the flags that link them.
pub(super) fn flags(runtime: Runtime, libraries: &[PathBuf], folder: &Path) -> Result<String> {
    let compiler = compiler();
    let there = defined(runtime, libraries, &compiler)?;
    let tables = &runtime.tables();
    let (code, wraps) =
        (source(tables, |name| there.contains(name)), options(tables, |name| there.contains(name)));
    if wraps.is_empty() {
        bail!("the library has no function of {}: is it the right one?", runtime.name());
    }
    let name = format!("dwell-{}-{}", runtime.name(), env!("CARGO_PKG_VERSION"));
    let (c, o) = (folder.join(format!("{name}.c")), folder.join(format!("{name}.o")));
    let list = folder.join(format!("{name}.flags"));
    // What is there already from the same library is the same.
    let known = fs::read_to_string(&c).is_ok_and(|known| known == code) && o.is_file();
    if !known {
        compile(&compiler, folder, &name, &code)?;
    }
    let flags = format!("{wraps}{}\n", o.display());
    dwell_files::write(&list, &flags).with_context(|| list.display().to_string())?;
    Ok(format!("@{}", list.display()))
}

/// Returns the compiler of C.
pub(super) fn compiler() -> String {
    env::var("CC").ok().filter(|it| !it.is_empty()).unwrap_or("cc".into())
}

/// Returns the functions that the archives of the runtime define.
fn defined(runtime: Runtime, libraries: &[PathBuf], compiler: &str) -> Result<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    let mut files = libraries.to_vec();
    if files.is_empty() {
        for names in runtime.archives() {
            let found = names.iter().find_map(|name| find(compiler, name));
            let Some(found) = found else {
                let names: Vec<_> = names.iter().map(|name| format!("lib{name}.a")).collect();
                bail!(
                    "{compiler} finds none of {}; give its path with --library FILE",
                    names.join(", ")
                );
            };
            files.push(found);
        }
    }
    for file in &files {
        let bytes = fs::read(file).with_context(|| file.display().to_string())?;
        let these = functions(&bytes)
            .with_context(|| format!("{}: this is not a static library", file.display()))?;
        all.extend(these);
    }
    Ok(all)
}

/// Asks the compiler for the path of an archive.
fn find(compiler: &str, name: &str) -> Option<PathBuf> {
    let wanted = format!("-print-file-name=lib{name}.a");
    let output = Command::new(compiler).arg(wanted).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    // What it does not find it says back.
    path.is_absolute().then_some(path).filter(|path| path.is_file())
}

/// Compiles hooks. Several processes may do so at once: each writes its own files, and the last one wins.
pub(super) fn compile(compiler: &str, folder: &Path, name: &str, code: &str) -> Result<()> {
    let scratch = Scratch::inside(folder).with_context(|| folder.display().to_string())?;
    let own = |end: &str| scratch.path().join(format!("{name}.{end}"));
    let (c, o) = (own("c"), own("o"));
    dwell_files::write(&c, code).with_context(|| c.display().to_string())?;
    let output = Command::new(compiler)
        // Exceptions of C++ pass through hooks.
        .args(["-O2", "-fPIC", "-fexceptions", "-c"])
        .arg(&c)
        .arg("-o")
        .arg(&o)
        .output()
        .with_context(|| format!("cannot run {compiler}; set CC to a C compiler"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().take(3).collect();
        bail!("{compiler} cannot compile the hooks: {}", said.join("\n"));
    }
    fs::rename(&o, folder.join(format!("{name}.o")))?;
    fs::rename(&c, folder.join(format!("{name}.c")))?;
    Ok(())
}
