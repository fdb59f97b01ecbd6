//! `dwell export`: a run as a file that others can open, and in the formats of other tools.

mod cut;
mod html;
mod perfetto;
mod report;
mod tables;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{bail, ensure};

use crate::commands::{analyze, view};
use crate::runs;

/// Arguments of `dwell export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The name of the file says the format: .html, .pftrace, .cubex. Parquet and OTF2 are directories, and want --format.

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

Cubex: a report with another call tree, for CubeGUI and others: that below one call path, or one in which call paths \
with the same regions are merged.

Exit code: 0 if everything is included, 1 if damaged parts of the run were left out, 2 if the file cannot \
be written.

Examples:
  dwell export run -o run.html
  dwell export run -o run.pftrace
  dwell export run --format parquet -o tables
  dwell export run --format otf2 -o part --from 1.2 --to 1.3 --locations 0-15 --regions 'shmem_*'
  dwell export run -o solve.cubex --path solve")]
pub(crate) struct Args {
    /// The run: its directory, or for HTML and Cubex a `.cubex` file. Without it, the newest run here.
    report: Option<PathBuf>,
    /// File to write, or directory for Parquet and OTF2.
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// Format to write: html, the page of dwell view; parquet, tables for pandas, Polars, DuckDB and others; perfetto, a
    /// trace for ui.perfetto.dev; otf2, a part of the archive or all of it; cubex, a report. The default follows from the
    /// name of the file.
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    format: Option<Format>,
    #[command(flatten)]
    page: Page,
    /// Write the table of events as well.
    #[arg(long, help_heading = "Parquet")]
    events: bool,
    #[command(flatten)]
    part: cut::Part,
    #[command(flatten)]
    tree: report::Tree,
}

/// A format to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Html,
    Parquet,
    Perfetto,
    Otf2,
    Cubex,
}

/// Arguments of the page.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "HTML")]
struct Page {
    /// Include another report for comparison; may be given several times.
    #[arg(long, value_name = "REPORT")]
    compare: Vec<PathBuf>,
    #[command(flatten)]
    sources: view::Sources,
    /// Largest size of the data in the file before compression. The default is 32M.
    #[arg(long, value_parser = analyze::size, value_name = "SIZE")]
    max_size: Option<u64>,
}

impl Args {
    /// Returns the format that was asked for or follows from the name of the file.
    fn format(&self) -> anyhow::Result<Format> {
        let by_name = |extension: &str| match extension {
            "html" | "htm" => Some(Format::Html),
            "pftrace" | "perfetto-trace" => Some(Format::Perfetto),
            "cubex" => Some(Format::Cubex),
            _ => None,
        };
        let extension = self.output.extension().and_then(|it| it.to_str()).unwrap_or_default();
        match self.format.or_else(|| by_name(extension)) {
            Some(format) => Ok(format),
            None => bail!(
                "{}: the name says no format; add --format html, parquet, perfetto, otf2 or cubex",
                self.output.display()
            ),
        }
    }

    /// Fails if an option is given that another format has.
    fn check(&self, format: Format) -> anyhow::Result<()> {
        let of_page = !self.page.compare.is_empty()
            || !self.page.sources.is_default()
            || self.page.max_size.is_some();
        for (name, its, is_given) in [
            ("--compare, --source-path and --max-size are", Format::Html, of_page),
            ("--events is", Format::Parquet, self.events),
            ("--from, --to, --locations and --regions are", Format::Otf2, !self.part.is_whole()),
            ("--path and --merge are", Format::Cubex, self.tree.is_given()),
        ] {
            ensure!(
                !is_given || its == format,
                "{name} for --format {}",
                format!("{its:?}").to_lowercase()
            );
        }
        Ok(())
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let format = args.format()?;
    args.check(format)?;
    let path = &runs::ended_or_latest(args.report.as_deref())?;
    let to: &Path = &args.output;
    match format {
        Format::Html => html::run(path, to, &args.page),
        Format::Parquet => tables::run(path, to, args.events),
        Format::Perfetto => perfetto::run(path, to),
        Format::Otf2 => cut::run(path, to, &args.part),
        Format::Cubex => report::run(path, to, &args.tree),
    }
}
