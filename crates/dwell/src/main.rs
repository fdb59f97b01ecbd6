//! The command line of Dwell: one file for each subcommand, and only glue code.

// All text goes through `terminal`, which shows what a terminal would obey, and does not panic.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod commands;
mod config;
mod elf;
mod format;
mod library;
mod listing;
mod output;
mod profile;
mod progress;
mod runs;
mod sites;
mod terminal;

use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Shows where one-sided parallel programs dwell in wait states, why, and what would remove the wait.
#[derive(Debug, Parser)]
#[command(name = "dwell", version, about, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a program and record its calls: put it between the launcher and the program.
    Run(commands::run::Args),
    /// Print the definitions and events of an archive.
    Print(commands::print::Args),
    /// Tell what an archive holds: who wrote it, how much of what, and whether it is sound.
    Info(commands::info::Args),
    /// Find the waits in an archive: which calls wait, for how long, on whom, why, what to do.
    Analyze(commands::analyze::Args),
    /// Show a report: where the time goes, the largest waits, trees, rankings, locations.
    Report(commands::report::Args),
    /// Explore a report in a browser: findings, trees, communication matrix, bars, two runs side by side.
    View(commands::view::Args),
    /// Put a run into one HTML file that others can open.
    Export(commands::export::Args),
    /// Compare two reports; exit code 1 if something got worse.
    Compare(commands::compare::Args),
    /// Estimate from a profile how large a trace would be, and write a filter that keeps it small.
    Score(commands::score::Args),
    /// Make an archive from what a killed or crashed run left behind.
    Recover(commands::recover::Args),
    /// Tell what this machine has, and what of a program will be measured.
    Doctor(commands::doctor::Args),
    /// Print what to add to the link line of a program whose runtime is linked statically.
    LinkFlags(commands::link_flags::Args),
    /// Make an archive or a report whose content and wait states are known.
    Synth(commands::synth::Args),
    /// Print what makes a shell complete commands and options.
    Completions(commands::completions::Args),
    /// Write manual pages of all commands.
    Man(commands::man::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(args) => commands::run::run(&args),
        Command::Recover(args) => commands::recover::run(&args),
        Command::LinkFlags(args) => commands::link_flags::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Print(args) => commands::print::run(&args),
        Command::Info(args) => commands::info::run(&args),
        Command::Analyze(args) => commands::analyze::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::View(args) => commands::view::run(&args),
        Command::Export(args) => commands::export::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Score(args) => commands::score::run(&args),
        Command::Synth(args) => commands::synth::run(&args),
        Command::Completions(args) => commands::completions::run(&args, Cli::command()),
        Command::Man(args) => commands::man::run(&args, Cli::command()),
    };
    match result {
        Ok(code) => code,
        // A reader that has seen enough, such as `head`, closes the pipe: that is no error.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::note!("{error:#}");
            ExitCode::from(2)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
