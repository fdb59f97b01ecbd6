//! `dwell man`: manual pages of all commands.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use anyhow::{Context, Result};
use dwell_files::Scratch;

/// Arguments of `dwell man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "One page for each command: dwell.1, dwell-run.1 and so on.\n\n\
    Example: dwell man ~/.local/share/man/man1 && man dwell-run")]
pub(crate) struct Args {
    /// Directory to write to; created if necessary.
    directory: PathBuf,
}

pub(crate) fn run(args: &Args, command: clap::Command) -> Result<ExitCode> {
    let directory = &args.directory;
    fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    write(command, directory)
        .with_context(|| format!("{}: manual pages cannot be written", directory.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes manual pages as new files, which replace existing ones.
fn write(command: clap::Command, directory: &Path) -> io::Result<()> {
    let scratch = Scratch::inside(directory)?;
    clap_mangen::generate_to(command, scratch.path())?;
    for page in fs::read_dir(scratch.path())? {
        let page = page?;
        fs::rename(page.path(), directory.join(page.file_name()))?;
    }
    Ok(())
}
