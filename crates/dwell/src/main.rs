//! The command line of Dwell: one file for each subcommand, and only glue code.

// All text goes through `terminal`, which shows what a terminal would obey, and does not panic.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod commands;
mod config;
mod damage;
mod dependencies;
mod elf;
mod experiment;
mod format;
mod fortran;
mod library;
mod listing;
mod machine;
mod many;
mod output;
mod page;
mod profile;
mod progress;
mod ready;
mod renamed;
mod runs;
mod sites;
mod terminal;

use std::process::ExitCode;
use std::{env, io};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use dwell_mpi::Launch;

/// Shows where one-sided parallel programs dwell in wait states, why, and what would remove the wait.
#[derive(Debug, Parser)]
#[command(name = "dwell", version, about, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a program and record its calls.
    Run(commands::run::Args),
    /// Find what a run loses time to, why, and what to change.
    Analyze(commands::analyze::Args),
    /// Explore a run in a browser: findings, timeline, matrix, call tree.
    View(commands::view::Args),
    /// Show what every process did when, in the terminal or as a picture.
    Timeline(commands::timeline::Args),
    /// Compare two runs or more: what takes longer, and why.
    Compare(commands::compare::Args),
    /// Predict what a change would gain.
    Whatif(commands::whatif::Args),
    /// Show a recording that ships with Dwell, without MPI and a compiler.
    Demo(commands::demo::Args),
    /// List the runs in a directory.
    Ls(commands::ls::Args),
    /// Show metrics of a run as tables and trees.
    Report(commands::report::Args),
    /// Export a run: one HTML file, tables, a trace for Perfetto, a cut.
    Export(commands::export::Args),
    /// Check this machine, and which calls of a program will be recorded.
    Doctor(commands::doctor::Args),
    /// Build a program so that its calls are recorded; most need not.
    Build(commands::build::Args),
    /// Estimate the size of a trace from a profile, and write a filter.
    Score(commands::score::Args),
    /// Make an archive from the files of a killed or crashed run.
    Recover(commands::recover::Args),
    /// Show what the processes of a run are in, and who waits for whom.
    Where(commands::stuck::Args),
    /// Show what an archive contains, and whether it is sound.
    Info(commands::info::Args),
    /// Print the definitions and events of an archive.
    Print(commands::print::Args),
    /// Let an AI assistant query runs (MCP server on stdio).
    Mcp(commands::mcp::Args),
    /// Print a completion script for a shell.
    Completions(commands::completions::Args),
    /// Write manual pages of all commands.
    Man(commands::man::Args),
    /// Make a synthetic archive or report with known content, for tests of Dwell.
    #[command(hide = true)]
    Synth(commands::synth::Args),
}

/// Number of commands that most users need. They are declared first, and the help text lists them first.
const EVERYDAY: usize = 7;

/// Returns the command line with its help text, in which the commands of every day come first.
fn command() -> clap::Command {
    let command = Cli::command();
    let mut list = String::new();
    for (at, it) in command.get_subcommands().filter(|it| !it.is_hide_set()).enumerate() {
        match at {
            0 => list += "Everyday commands:\n",
            EVERYDAY => list += "\nOther commands:\n",
            _ => {}
        }
        let about = it.get_about().map(ToString::to_string).unwrap_or_default();
        list += &format!("  {:11}  {about}\n", it.get_name());
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}\nOptions:\n{{options}}\n\n\
         `dwell COMMAND --help` explains a command. Try `dwell demo` first.\n"
    ))
}

fn main() -> ExitCode {
    // A launcher passes output on, perhaps into a file. That of Open MPI lets its processes believe in a terminal.
    if Launch::detect().is_some() {
        console::set_colors_enabled(false);
    }
    let parsed = command().try_get_matches().and_then(|it| Cli::from_arg_matches(&it));
    let cli = parsed.unwrap_or_else(|error| match renamed::answer(env::args_os()) {
        Some(text) if error.use_stderr() => {
            terminal::note!("{text}");
            std::process::exit(2)
        }
        _ => error.exit(),
    });
    let result = match cli.command {
        Command::Run(args) => commands::run::run(&args),
        Command::Recover(args) => commands::recover::run(&args),
        Command::Build(args) => commands::build::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Demo(args) => commands::demo::run(&args),
        Command::Ls(args) => commands::ls::run(&args),
        Command::Print(args) => commands::print::run(&args),
        Command::Where(args) => commands::stuck::run(&args),
        Command::Info(args) => commands::info::run(&args),
        Command::Analyze(args) => commands::analyze::run(&args),
        Command::Whatif(args) => commands::whatif::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::View(args) => commands::view::run(&args),
        Command::Timeline(args) => commands::timeline::run(&args),
        Command::Export(args) => commands::export::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Mcp(args) => commands::mcp::run(&args),
        Command::Score(args) => commands::score::run(&args),
        Command::Synth(args) => commands::synth::run(&args),
        Command::Completions(args) => commands::completions::run(&args, command()),
        Command::Man(args) => commands::man::run(&args, command()),
    };
    match result {
        Ok(code) => damage::exit(code),
        // A reader that has seen enough, such as `head`, closes the pipe: that is not an error.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::note!("{}", terminal::explained(&error));
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
