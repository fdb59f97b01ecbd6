//! `dwell completions`: scripts with which a shell completes commands and options.

use std::process::ExitCode;

use anyhow::Result;
use clap_complete::Shell;

use crate::terminal;

/// Arguments of `dwell completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Usual places:\n\n  \
    dwell completions bash > ~/.local/share/bash-completion/completions/dwell\n  \
    dwell completions zsh > ~/.zfunc/_dwell\n  \
    dwell completions fish > ~/.config/fish/completions/dwell.fish")]
pub(crate) struct Args {
    /// Shell for which to print the script.
    shell: Shell,
}

pub(crate) fn run(args: &Args, mut command: clap::Command) -> Result<ExitCode> {
    // Into memory first: the library panics if the pipe is closed.
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "dwell", &mut text);
    terminal::print(String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}
