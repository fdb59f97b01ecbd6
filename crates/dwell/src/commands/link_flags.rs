//! `dwell link-flags`: linker flags for a program whose runtime is linked statically.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use anyhow::{Context, Result, bail};
use dwell_files::Scratch;
use dwell_link::{Runtime, functions, options, source};

use crate::terminal::line;

/// Arguments of `dwell link-flags`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Anywhere on the link line:\n\n  \
    mpicc -o solver solver.o $(dwell link-flags armci) -larmci\n  \
    mpicc -o scf scf.o $(dwell link-flags ga) $(ga-config --ldflags) $(ga-config --libs)\n\n\
    The hooks are compiled once, with $CC or cc, and kept. They call the library that `dwell run` preloads; \
    without it, the program runs as if it had been linked without them. Programs that use OpenSHMEM, MPI or \
    coarrays from shared libraries need no hooks.")]
pub(crate) struct Args {
    /// Runtime: armci, or ga for Global Arrays over ARMCI.
    #[arg(value_parser = runtime, value_name = "RUNTIME")]
    runtime: Runtime,
    /// Static library of the runtime, such as /opt/lib/libarmci.a, if the compiler does not find it. May be given
    /// several times.
    #[arg(long, value_name = "FILE")]
    library: Vec<PathBuf>,
    /// Directory for the compiled hooks; the user's cache by default.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

fn runtime(name: &str) -> Result<Runtime, String> {
    let found = Runtime::all().find(|runtime| runtime.name() == name);
    found.ok_or_else(|| {
        "the runtimes that are linked statically are armci and ga; others need no flags".into()
    })
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let compiler = env::var("CC").ok().filter(|it| !it.is_empty()).unwrap_or("cc".into());
    let there = defined(args, &compiler)?;
    let tables = &args.runtime.tables();
    let (code, wraps) =
        (source(tables, |name| there.contains(name)), options(tables, |name| there.contains(name)));
    if wraps.is_empty() {
        bail!("the library has no function of {}: is it the right one?", args.runtime.name());
    }
    let folder = match &args.output {
        Some(folder) => std::path::absolute(folder)?,
        None => cache()?,
    };
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let name = format!("dwell-{}-{}", args.runtime.name(), env!("CARGO_PKG_VERSION"));
    let (c, o) = (folder.join(format!("{name}.c")), folder.join(format!("{name}.o")));
    let list = folder.join(format!("{name}.flags"));
    // What is there already from the same library is the same.
    let known = fs::read_to_string(&c).is_ok_and(|known| known == code) && o.is_file();
    if !known {
        compile(&compiler, &folder, &name, &code)?;
    }
    let flags = format!("{wraps}{}\n", o.display());
    dwell_files::write(&list, &flags).with_context(|| list.display().to_string())?;
    line!("@{}", list.display())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the functions that the archives of the runtime define.
fn defined(args: &Args, compiler: &str) -> Result<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    let mut files = args.library.clone();
    if files.is_empty() {
        for names in args.runtime.archives() {
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

/// Returns the cache directory of the user.
pub(super) fn cache() -> Result<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    Ok(cache
        .context("HOME is not set; give a directory for the hooks with --output DIR")?
        .join("dwell"))
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
