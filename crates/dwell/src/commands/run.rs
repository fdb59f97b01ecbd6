//! `dwell run`: a program, measured.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::{env, io};

use anyhow::{Context, Result, bail};
use dwell_measure::settings::parse_size;

use crate::elf::{self, Program};
use crate::library;

/// Arguments of `dwell run`.
#[derive(Debug, clap::Args)]
#[command(
    trailing_var_arg = true,
    after_help = "Put it between the launcher and the program:\n\n  \
    oshrun -np 4 dwell run ./heat 1000 50\n  srun -n 4 dwell run -o run1 ./heat 1000 50\n\n\
    The program is neither changed nor linked again: a library is loaded before its own libraries and \
    sees its calls. Its output and exit code are its own. At the end one line on \
    standard error says where the trace is.\n\n\
    Environment: DWELL_LIBRARY is where libdwell.so is, if not beside the program dwell."
)]
pub(crate) struct Args {
    /// Experiment directory; made if need be, and must be empty. Otherwise
    /// dwell-PROGRAM-JOB in the current directory, with the time if there is no batch job.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Write to this directory of each node while the program runs, and move the files to the
    /// experiment directory at its end. Faster on slow shared file systems; after a crash the files
    /// are to be collected from the nodes.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Stop recording in a process whose events take this much disk, such as 4G.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,
    /// Size of the pieces that event files grow by, 256K to 16M.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    chunk_size: Option<u64>,
    /// The program and its arguments.
    #[arg(required = true, value_name = "PROGRAM", allow_hyphen_values = true)]
    program: Vec<OsString>,
}

fn size(text: &str) -> Result<u64, String> {
    parse_size(text).ok_or_else(|| "a size such as 64M is wanted".into())
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let [program, arguments @ ..] = args.program.as_slice() else { bail!("no program") };
    let name = program.to_string_lossy();
    match elf::which(&name).map(|path| elf::inspect(&path)) {
        None => bail!("{name}: there is no such program"),
        Some(Ok(Program::Static)) => eprintln!(
            "dwell: {name} is linked statically, so its calls cannot be seen; link it dynamically"
        ),
        // The system says it better when it cannot be executed.
        Some(Ok(_) | Err(_)) => {}
    }
    let library = library::find()?;
    library::check(&library)?;

    let mut preload = library.into_os_string();
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    let mut command = Command::new(program);
    command.args(arguments).env("LD_PRELOAD", preload);
    if let Some(directory) = &args.output {
        command.env("DWELL_DIRECTORY", std::path::absolute(directory)?);
    }
    if let Some(scratch) = &args.scratch {
        command.env("DWELL_SCRATCH", std::path::absolute(scratch)?);
    }
    for (name, size) in [("DWELL_MAX_SIZE", args.max_size), ("DWELL_CHUNK_SIZE", args.chunk_size)] {
        if let Some(size) = size {
            command.env(name, size.to_string());
        }
    }
    // This process becomes the program, so launchers, limits and signals find what they expect. It
    // keeps its number, by which the library knows whom to warn if nothing was seen.
    let pid = std::process::id();
    command.env("DWELL_WATCHER", pid.to_string());
    command.env("DWELL_SEEN", env::temp_dir().join(format!("dwell-seen-{pid}")));
    let error = command.exec();
    if error.kind() == io::ErrorKind::PermissionDenied {
        return Err(error).with_context(|| format!("{name}: it cannot be executed"));
    }
    Err(error).with_context(|| name.into_owned())
}
