//! `dwell compile-flags`: compiler flags for a program whose runtime consists of macros.

use std::path::PathBuf;
use std::process::ExitCode;
use std::{fs, path};

use anyhow::{Context, Result};

use super::link_flags::cache;
use crate::terminal::line;

/// Arguments of `dwell compile-flags`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "On the line that compiles each file of the program that calls GASNet:\n\n  \
    cc $(dwell compile-flags gasnet) -c solver.c\n\n\
    The flags name a header, which is written once and kept. It lets calls of GASNet-EX be recorded where \
    `dwell run` has loaded its library; otherwise the program runs as if it had been compiled without. GASNet \
    itself need not be compiled again."
)]
pub(crate) struct Args {
    /// Runtime: gasnet, for GASNet-EX.
    #[arg(value_parser = ["gasnet"], value_name = "RUNTIME")]
    runtime: String,
    /// Directory for the header; the user's cache by default.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let folder = match &args.output {
        Some(folder) => path::absolute(folder)?,
        None => cache()?,
    };
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let name = format!("dwell-{}-{}.h", args.runtime, env!("CARGO_PKG_VERSION"));
    let (file, text) = (folder.join(name), dwell_link::gasnet_header());
    // A file that has not changed keeps its time, so that nothing is compiled again because of it.
    if !fs::read_to_string(&file).is_ok_and(|known| known == text) {
        dwell_files::write(&file, &text).with_context(|| file.display().to_string())?;
    }
    line!("-include {}", file.display())?;
    Ok(ExitCode::SUCCESS)
}
