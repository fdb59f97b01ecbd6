//! `dwell demo`: a recording that ships with this program, in the explorer.
//!
//! The recording is of `examples/tour` on four PEs, as the tour of the book describes it. `crates/dwell/demo/README.md`
//! says how it was made.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};

use crate::commands::view;
use crate::terminal::line;

/// Arguments of `dwell demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The recording is of examples/tour, an OpenSHMEM program, on 4 PEs. The book goes on from it: From a finding to its fix.

Examples:
  dwell demo                             needs no MPI and no compiler
  dwell analyze dwell-demo               the same run in the terminal")]
pub(crate) struct Args {
    /// The directory that gets the recording.
    #[arg(default_value = "dwell-demo")]
    directory: PathBuf,
    /// Only print the address, and do not open a browser.
    #[arg(long)]
    no_browser: bool,
}

/// Files of the recording, with the source of the program.
const FILES: &[(&str, &[u8])] = &[
    ("traces.otf2", include_bytes!("../../demo/traces.otf2")),
    ("traces.def", include_bytes!("../../demo/traces.def")),
    ("traces/0.evt", include_bytes!("../../demo/traces/0.evt")),
    ("traces/1.evt", include_bytes!("../../demo/traces/1.evt")),
    ("traces/2.evt", include_bytes!("../../demo/traces/2.evt")),
    ("traces/3.evt", include_bytes!("../../demo/traces/3.evt")),
    ("traces/0.def", include_bytes!("../../demo/traces/0.def")),
    ("traces/1.def", include_bytes!("../../demo/traces/1.def")),
    ("traces/2.def", include_bytes!("../../demo/traces/2.def")),
    ("traces/3.def", include_bytes!("../../demo/traces/3.def")),
    ("tour.c", include_bytes!("../../../../examples/tour/tour.c")),
];

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let directory = &args.directory;
    unpack(directory)?;
    let shown = directory.display();
    line!(
        "{shown}: a recording of examples/tour on 4 PEs, made earlier on another machine. In the terminal: dwell analyze {shown}"
    )?;
    view::show(directory, args.no_browser)
}

/// Writes the recording into a directory. One that has it already stays as it is.
fn unpack(directory: &Path) -> anyhow::Result<()> {
    let is_there = |(name, bytes): &(&str, &[u8])| {
        fs::read(directory.join(name)).is_ok_and(|there| there == *bytes)
    };
    if FILES.iter().all(is_there) {
        return Ok(());
    }
    if fs::read_dir(directory).is_ok_and(|mut it| it.next().is_some()) {
        bail!("{}: the directory is not empty; name another: dwell demo DIR", directory.display());
    }
    for (name, bytes) in FILES {
        let file = directory.join(name);
        let write = || {
            fs::create_dir_all(file.parent().unwrap_or(directory))?;
            dwell_files::write(&file, bytes)
        };
        write().with_context(|| crate::output::cannot(&file))?;
    }
    Ok(())
}
