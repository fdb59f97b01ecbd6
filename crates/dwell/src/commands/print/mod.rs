//! `dwell print`: an archive as text for people and scripts.
//!
//! The text is that of `otf2-print`, line by line, without its banner, so that existing scripts work; JSON lines are
//! for programs. Damage is reported on standard error, and everything that can be read is printed.

mod json;
mod layout;
mod names;
mod number;
mod run;
mod select;
mod text;

use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use otf2::id::LocationRef;
use otf2::marker::MarkerRecord;
use otf2::read::SnapshotRecord;
use otf2::{Anchor, Archive, Definition, EventRecord};

use crate::runs;
use names::Names;
use select::{Ids, Moment};

const EXAMPLES: &str = "\
Examples:
  dwell print run                          all events, merged by time
  dwell print run -d                       the global definitions
  dwell print run -l 0,4-7 --by-location   five locations, one after the other
  dwell print run --from 0.5s --to 750ms   a quarter of a second
  dwell print run -r RmaPut -r RMA_GET     two kinds of events
  dwell print run --format json | jq .     for programs

Exit status: 0 if all is well, 1 if the archive is damaged and what can be read was printed, 2 if \
nothing can be done.";

/// Arguments of `dwell print`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory of the archive, or its anchor file NAME.otf2. Without it, the newest `dwell-*` directory
    /// here.
    #[arg(value_name = "DIR|ANCHOR")]
    archive: Option<PathBuf>,

    /// Print the events; this is what is printed if nothing else is asked for.
    #[arg(long, help_heading = "What to print")]
    events: bool,

    /// Print the global definitions.
    #[arg(short, long, help_heading = "What to print")]
    definitions: bool,

    /// Print what the anchor file says: sizes, counts, who wrote the archive.
    #[arg(long, help_heading = "What to print")]
    anchor: bool,

    /// Print the mapping tables: how the ids of each location become global ones.
    #[arg(long, help_heading = "What to print")]
    mappings: bool,

    /// Print the clock offsets: how the times of each location are corrected.
    #[arg(long, help_heading = "What to print")]
    clock_offsets: bool,

    /// Print the snapshots.
    #[arg(long, help_heading = "What to print")]
    snapshots: bool,

    /// Print the markers.
    #[arg(long, help_heading = "What to print")]
    markers: bool,

    /// Print all of these.
    #[arg(long, help_heading = "What to print")]
    all: bool,

    /// Print only what belongs to these locations: ids like 7, ranges like 0-3, commas between them.
    #[arg(
        short,
        long = "location",
        value_name = "ID",
        value_delimiter = ',',
        help_heading = "Which records"
    )]
    locations: Vec<Ids>,

    /// Print only records from this time on: in ticks, or counted from the beginning, like 0.5s, 250ms, 12us.
    #[arg(long, value_name = "TIME", help_heading = "Which records")]
    from: Option<Moment>,

    /// Print only records up to this time, given like that of --from.
    #[arg(long, value_name = "TIME", help_heading = "Which records")]
    to: Option<Moment>,

    /// Print only records of this name, like RmaGet or RMA_GET; may be given several times.
    #[arg(short, long = "record", value_name = "NAME", help_heading = "Which records")]
    records: Vec<String>,

    /// Print at most so many records of each section.
    #[arg(long, value_name = "N", help_heading = "Which records")]
    limit: Option<u64>,

    /// Print the locations one after the other instead of merging them by time.
    #[arg(long, help_heading = "How to print")]
    by_location: bool,

    /// Print lines of text, or an object of JSON a line.
    #[arg(long, value_enum, default_value_t, help_heading = "How to print")]
    format: Format,
}

/// Output format of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The lines of otf2-print.
    #[default]
    Text,
    /// One object a line.
    Json,
}

/// A section of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Anchor,
    Definitions,
    LocalDefinitions,
    Events,
    Snapshots,
    Markers,
}

/// Formatter of records. It appends to memory, which cannot fail.
trait Printer {
    /// Writes the heading of a section.
    fn section(&mut self, line: &mut Vec<u8>, section: Section);
    fn anchor(&mut self, line: &mut Vec<u8>, anchor: &Anchor);
    fn definition(&mut self, line: &mut Vec<u8>, names: &Names, definition: &Definition<'_>);
    /// Writes a definition of a location: a mapping table or clock offset.
    fn local_definition(
        &mut self,
        line: &mut Vec<u8>,
        names: &Names,
        location: LocationRef,
        definition: &Definition<'_>,
    );
    fn event(
        &mut self,
        line: &mut Vec<u8>,
        names: &Names,
        location: LocationRef,
        record: &EventRecord<'_>,
    );
    fn snapshot(
        &mut self,
        line: &mut Vec<u8>,
        names: &Names,
        location: LocationRef,
        record: &SnapshotRecord<'_>,
    );
    fn marker(&mut self, line: &mut Vec<u8>, names: &Names, marker: &MarkerRecord<'_>);
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let archive = Archive::open(runs::ended_or_latest(args.archive.as_deref())?)?;
    let printer: Box<dyn Printer> = match args.format {
        Format::Text => Box::new(text::Text::default()),
        Format::Json => Box::new(json::Json),
    };
    let out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let sound = run::Session::new(archive, args, printer, out)?.print()?;
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
