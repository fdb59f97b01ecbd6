//! `dwell export`: a run as a file that others can open, and in the formats of other tools.

mod cut;
mod html;
mod perfetto;
mod tables;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::commands::{analyze, view};
use crate::runs;

/// Arguments of `dwell export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
HTML: the file is the page of `dwell view` with its data. It opens from a disk or an email, without a server or a \
network. It contains the first screens of all views and then details, the largest values first, until the data \
reaches --max-size; the page says what did not fit. It also contains the source lines around calls, from the \
directories that --source-path allows; the command lists these files.

Parquet: the directory has a file for each table: locations, call_paths, metrics, values, findings, waits, operations, \
and events if they are wanted. The book lists their columns and has recipes for DuckDB and pandas.

Perfetto: processes and threads have slices for their calls and for their waits. Flows lead from operations to their \
targets, from messages to their receivers, and from waits to what ended them.

OTF2: calls that are open when the span begins are entered there, and those that are open at its end are left there. \
All definitions are kept. Times count from the first event: 1.5, 1.5s, 1500ms, 20us.

Exit code: 0 if everything is included, 1 if damaged parts of the run were left out, 2 if the file cannot \
be written.

Examples:
  dwell export run --html -o run.html
  dwell export run --parquet tables
  dwell export run --perfetto run.pftrace
  dwell export run --otf2 part --from 1.2 --to 1.3 --locations 0-15 --calls 'shmem_*'")]
pub(crate) struct Args {
    /// The run: its directory, or for HTML a `.cubex` file. Without it, the newest run here.
    report: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    page: Page,
    /// Write the table of events as well.
    #[arg(long, requires = "parquet", help_heading = "Tables")]
    events: bool,
    #[command(flatten)]
    part: cut::Part,
}

/// The format to write; HTML unless another one is named.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct Format {
    /// Write the explorer as one HTML file. This is the default.
    #[arg(long, help_heading = "Formats")]
    html: bool,
    /// Write tables for pandas, Polars, DuckDB and others to this directory.
    #[arg(long, value_name = "DIR", help_heading = "Formats")]
    parquet: Option<PathBuf>,
    /// Write a trace for Perfetto (ui.perfetto.dev) to this file.
    #[arg(long, value_name = "FILE", help_heading = "Formats")]
    perfetto: Option<PathBuf>,
    /// Write a part of the archive, or all of it, as a new archive to this directory.
    #[arg(long, value_name = "DIR", help_heading = "Formats")]
    otf2: Option<PathBuf>,
}

/// Arguments of the page.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "HTML")]
struct Page {
    /// File to write.
    #[arg(
        short,
        long,
        value_name = "FILE",
        required_unless_present_any = ["parquet", "perfetto", "otf2"],
        conflicts_with_all = ["parquet", "perfetto", "otf2"]
    )]
    output: Option<PathBuf>,
    /// Include another report for comparison; may be given several times.
    #[arg(long, value_name = "REPORT")]
    compare: Vec<PathBuf>,
    #[command(flatten)]
    sources: view::Sources,
    /// Limit of the data in the file before compression.
    #[arg(long = "max-size", alias = "most", default_value = "32M", value_parser = analyze::size, value_name = "SIZE")]
    most: u64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let path = runs::ended_or_latest(args.report.as_deref())?;
    if let Some(directory) = &args.format.parquet {
        return tables::run(&path, directory, args.events);
    }
    if let Some(file) = &args.format.perfetto {
        return perfetto::run(&path, file);
    }
    if let Some(directory) = &args.format.otf2 {
        return cut::run(&path, directory, &args.part);
    }
    html::run(&path, &args.page)
}
