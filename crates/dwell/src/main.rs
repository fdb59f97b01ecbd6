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

use clap::{CommandFactory, Parser, Subcommand};
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
    /// Run a program and record its calls; goes between the launcher and the program.
    Run(commands::run::Args),
    /// Show a recording that ships with Dwell in the explorer: a first look, without MPI and a compiler.
    Demo(commands::demo::Args),
    /// List the runs in a directory: program, processes, length, waits, when, label.
    Ls(commands::ls::Args),
    /// Print the definitions and events of an archive.
    Print(commands::print::Args),
    /// Show what an archive contains, which tool wrote it, and whether it is sound.
    Info(commands::info::Args),
    /// Find wait states in an archive: which calls wait, how long, for which process, why, and what to do.
    Analyze(commands::analyze::Args),
    /// Predict how long a run would have taken without a wait, with balanced work, or with other changes.
    Whatif(commands::whatif::Args),
    /// Show a report: where the time goes, the largest waits, trees, rankings, locations.
    Report(commands::report::Args),
    /// Explore a report in a browser: findings, trees, communication matrix, bars, two runs side by side.
    View(commands::view::Args),
    /// Show what every process did when: a picture in the terminal, or as a file.
    Timeline(commands::timeline::Args),
    /// Export a run: one HTML file, tables for pandas and DuckDB, a trace for Perfetto, a part of the archive.
    Export(commands::export::Args),
    /// Compare two reports; exit code 1 if something got worse.
    Compare(commands::compare::Args),
    /// Answer questions of an assistant about runs, over standard input and output (Model Context Protocol).
    Mcp(commands::mcp::Args),
    /// Estimate the size of a trace from a profile, and write a filter that keeps it small.
    Score(commands::score::Args),
    /// Make an archive from the files of a killed or crashed run.
    Recover(commands::recover::Args),
    /// Check this machine, and which calls of a program will be recorded.
    Doctor(commands::doctor::Args),
    /// Print compiler flags for a program over GASNet, whose calls are macros.
    CompileFlags(commands::compile_flags::Args),
    /// Insert calls of the recorder into Fortran sources with coarrays, for compilers without a library to hook.
    Instrument(commands::instrument::Args),
    /// Instrument and compile Fortran sources with coarrays; goes in front of the compiler.
    Compile(commands::compile::Args),
    /// Print linker flags for a program whose runtime is linked statically.
    LinkFlags(commands::link_flags::Args),
    /// Make a synthetic archive or report with known content and wait states.
    Synth(commands::synth::Args),
    /// Print a completion script for a shell.
    Completions(commands::completions::Args),
    /// Write manual pages of all commands.
    Man(commands::man::Args),
}

fn main() -> ExitCode {
    // A launcher passes output on, perhaps into a file. That of Open MPI lets its processes believe in a terminal.
    if Launch::detect().is_some() {
        console::set_colors_enabled(false);
    }
    let cli = Cli::try_parse().unwrap_or_else(|error| match renamed::answer(env::args_os()) {
        Some(text) if error.use_stderr() => {
            terminal::note!("{text}");
            std::process::exit(2)
        }
        _ => error.exit(),
    });
    let result = match cli.command {
        Command::Run(args) => commands::run::run(&args),
        Command::Recover(args) => commands::recover::run(&args),
        Command::CompileFlags(args) => commands::compile_flags::run(&args),
        Command::Instrument(args) => commands::instrument::run(&args),
        Command::Compile(args) => commands::compile::run(&args),
        Command::LinkFlags(args) => commands::link_flags::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Demo(args) => commands::demo::run(&args),
        Command::Ls(args) => commands::ls::run(&args),
        Command::Print(args) => commands::print::run(&args),
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
        Command::Completions(args) => commands::completions::run(&args, Cli::command()),
        Command::Man(args) => commands::man::run(&args, Cli::command()),
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
