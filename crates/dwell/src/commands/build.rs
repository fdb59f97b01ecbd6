//! `dwell build`: what a program needs at its build so that its calls are recorded.
//!
//! Most programs need nothing. Hooks are linked into static runtimes ([`link`]), macros are redefined by a header, and calls
//! are inserted into sources with coarrays ([`sources`]), also on their way into a compiler ([`compile`]).

mod compile;
mod link;
mod sources;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use anyhow::{Context, Result};
use clap::Subcommand;

use crate::terminal::line;

/// Arguments of `dwell build`.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    override_usage = "dwell build [-q] -- COMPILER [ARGUMENT]...\n       dwell build flags RUNTIME\n       dwell build sources -o DIR FILE...",
    after_help = "\
With a compiler of Fortran behind --, its sources are instrumented on their way, in a Makefile and with CMake (Makefiles \
or Ninja):

  make FC=\"dwell build -- ftn\"
  cmake -DCMAKE_Fortran_COMPILER_LAUNCHER=\"dwell;build;--\" ..

Procedures are compiled once, with $CC or cc, and kept in the user's cache. A program runs without Dwell as before. \
Programs over shared libraries of OpenSHMEM or MPI, and those of gfortran over OpenCoarrays, need none of this."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    part: Option<Part>,
    /// Say nothing about sources of which every statement was handled.
    #[arg(short, long)]
    quiet: bool,
    /// The compiler, and its arguments.
    #[arg(required = true, last = true, value_name = "COMPILER")]
    command: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Print flags: of the linker for ARMCI and Global Arrays, of the compiler for GASNet.
    Flags(Flags),
    /// Insert calls of the recorder into Fortran sources with coarrays.
    Sources(sources::Args),
}

/// Arguments of `dwell build flags`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Anywhere on the link line, and for GASNet on the line that compiles each file that calls it:

  mpicc -o solver solver.o $(dwell build flags armci) -larmci
  mpicc -o scf scf.o $(dwell build flags ga) $(ga-config --ldflags) $(ga-config --libs)
  cc $(dwell build flags gasnet) -c solver.c

The hooks are compiled once, with $CC or cc, and kept; so is the header for GASNet. They call the library that \
`dwell run` preloads. Without it, the program runs as if it had been built without them.")]
struct Flags {
    /// Runtime: armci, ga for Global Arrays over ARMCI, or gasnet for GASNet-EX.
    #[arg(value_parser = runtime, value_name = "RUNTIME")]
    runtime: Runtime,
    /// Static library of the runtime, such as /opt/lib/libarmci.a, if the compiler does not find it. May be given
    /// several times.
    #[arg(long, value_name = "FILE")]
    library: Vec<PathBuf>,
    /// Directory for the compiled hooks or the header; the user's cache by default.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// A runtime that needs flags.
#[derive(Clone, Copy, Debug)]
enum Runtime {
    /// It is linked statically.
    Linked(dwell_link::Runtime),
    /// Its calls are macros, which a header redefines.
    Gasnet,
}

/// Short name of the runtime whose calls are macros.
const MACROS: &str = "gasnet";

fn runtime(name: &str) -> Result<Runtime, String> {
    if name == MACROS {
        return Ok(Runtime::Gasnet);
    }
    let found = dwell_link::Runtime::all().find(|runtime| runtime.name() == name);
    found.map(Runtime::Linked).ok_or_else(|| {
        "the runtimes that need flags are armci, ga and gasnet; others need none".into()
    })
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    match &args.part {
        None => compile::run(&args.command, args.quiet),
        Some(Part::Sources(args)) => sources::run(args),
        Some(Part::Flags(args)) => {
            let folder = match &args.output {
                Some(folder) => std::path::absolute(folder)?,
                None => cache()?,
            };
            fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
            line!(
                "{}",
                match args.runtime {
                    Runtime::Linked(runtime) => link::flags(runtime, &args.library, &folder)?,
                    Runtime::Gasnet => header(&folder)?,
                }
            )?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Writes the header that redefines macros, and returns the flags that include it.
fn header(folder: &std::path::Path) -> Result<String> {
    let name = format!("dwell-{MACROS}-{}.h", env!("CARGO_PKG_VERSION"));
    let (file, text) = (folder.join(name), dwell_link::gasnet_header());
    // A file that has not changed keeps its time, so that nothing is compiled again because of it.
    if !fs::read_to_string(&file).is_ok_and(|known| known == text) {
        dwell_files::write(&file, &text).with_context(|| file.display().to_string())?;
    }
    Ok(format!("-include {}", file.display()))
}

/// Returns the cache directory of the user.
fn cache() -> Result<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    Ok(cache
        .context("HOME is not set; give a directory for the files with --output DIR")?
        .join("dwell"))
}
