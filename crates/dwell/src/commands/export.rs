//! `dwell export`: a run as one file that others can open.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use dwell_report::format;

use crate::commands::{analyze, view};
use crate::output;
use crate::runs;
use crate::terminal::{line, note, visible};

/// Arguments of `dwell export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file is the page of `dwell view` with its data. It opens from a disk or an email, without a server or a \
network. It contains the first screens of all views and then details, the largest values first, until the data \
reaches --max-size; the page says what did not fit. It also contains the source lines around calls, from the \
directories that --source-path allows; the command lists these files.

Exit code: 0 if everything is included, 1 if damaged parts of the report were left out, 2 if the file cannot \
be written.

Example: dwell export run --html -o run.html")]
pub(crate) struct Args {
    /// The report: a `.cubex` file, or a directory that contains one. Without it, the newest `dwell-*` directory here.
    report: Option<PathBuf>,
    /// Write the explorer as one HTML file.
    #[arg(long, required = true)]
    html: bool,
    /// File to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
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
    let first = runs::ended_or_latest(args.report.as_deref())?;
    let mut runs = Vec::new();
    for path in std::iter::once(&first).chain(&args.compare) {
        runs.push(view::open(path, &args.sources)?);
    }
    let place = || output::cannot(&args.output);
    let new = output::create(&args.output)?;
    let mut file = BufWriter::new(new.file());
    let most = usize::try_from(args.most).unwrap_or(usize::MAX);
    let exported = dwell_serve::export(runs, most, &mut file).with_context(place)?;
    file.flush().with_context(place)?;
    let size = new.file().metadata().with_context(place)?.len();
    new.place().with_context(place)?;
    line!("{}: {}", args.output.display(), format::bytes(size as f64))?;
    if exported.left_out > 0 {
        line!(
            "{} of {} answers did not fit; increase --max-size to include them",
            format::grouped(exported.left_out as u64),
            format::grouped((exported.answers + exported.left_out) as u64)
        )?;
    }
    if !exported.sources.is_empty() {
        line!("included source files:")?;
    }
    for file in &exported.sources {
        line!("  {}", visible(&file.to_string_lossy()))?;
    }
    for damage in &exported.damage {
        note!("damaged: {damage}");
    }
    Ok(ExitCode::from(u8::from(!exported.damage.is_empty())))
}
