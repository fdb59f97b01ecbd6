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
The file is the page of `dwell view` with its data: it opens from a disk or a mail, without a server or a \
network. It holds the first screens of all views and then details, the largest values first, as long as the \
data stays below --most; what did not fit says so on the page. Source around calls is in it too, from the \
directories that --source-path allows; the files are listed.

Exit code: 0 if all is in it, 1 if some of the report is damaged and left out, 2 if it cannot be made.

Example: dwell export run --html -o run.html")]
pub(crate) struct Args {
    /// The report: a `.cubex` file, or a directory that holds one. Without it, the newest `dwell-*` directory
    /// here.
    report: Option<PathBuf>,
    /// Write the explorer as one HTML file.
    #[arg(long, required = true)]
    html: bool,
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Show another report beside it; may be given several times.
    #[arg(long, value_name = "REPORT")]
    compare: Vec<PathBuf>,
    #[command(flatten)]
    sources: view::Sources,
    /// How much data to put into it, before compression; the file is smaller.
    #[arg(long, default_value = "32M", value_parser = analyze::size, value_name = "SIZE")]
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
            "{} of {} answers did not fit; --most takes more",
            format::grouped(exported.left_out as u64),
            format::grouped((exported.answers + exported.left_out) as u64)
        )?;
    }
    if !exported.sources.is_empty() {
        line!("source of these files is in it:")?;
    }
    for file in &exported.sources {
        line!("  {}", visible(&file.to_string_lossy()))?;
    }
    for damage in &exported.damage {
        note!("damaged: {damage}");
    }
    Ok(ExitCode::from(u8::from(!exported.damage.is_empty())))
}
