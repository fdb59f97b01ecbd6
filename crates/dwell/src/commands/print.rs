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

use crate::damage;
use crate::runs;
use names::Names;
use select::{Ids, Moment};

const EXAMPLES: &str = "\
Examples:
  dwell print run                          all events, merged by time
  dwell print run -s definitions           the global definitions
  dwell print run -l 0,4-7 --by-location   five locations, one after the other
  dwell print run --from 0.5s --to 750ms   a quarter of a second
  dwell print run -r RmaPut -r RMA_GET     two kinds of events
  dwell print run --json | jq .            for programs

Exit code: 0 if the archive is sound, 1 if it is damaged and only the readable part was printed, 2 if it \
cannot be read at all.";

/// Arguments of `dwell print`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory of the archive, or its anchor file NAME.otf2. Without it, the newest run here.
    #[arg(value_name = "DIR|ANCHOR")]
    archive: Option<PathBuf>,

    /// Sections to print, separated by commas: events; definitions, the global ones; anchor, with sizes, counts and the
    /// tool that wrote the archive; mappings, from local to global ids of each location; clock-offsets, by which the times
    /// of each location are corrected; snapshots; markers; all.
    #[arg(
        short,
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "events",
        hide_possible_values = true
    )]
    sections: Vec<Part>,

    /// Print only records of these locations: ids such as 7 or ranges such as 0-3, separated by commas.
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', help_heading = "Filters")]
    locations: Vec<Ids>,

    /// Print only records from this time on: in ticks, or relative to the beginning, such as 0.5s, 250ms or 12us.
    #[arg(long, value_name = "TIME", help_heading = "Filters")]
    from: Option<Moment>,

    /// Print only records up to this time, given as for --from.
    #[arg(long, value_name = "TIME", help_heading = "Filters")]
    to: Option<Moment>,

    /// Print only records of this type, such as RmaGet or RMA_GET; may be given several times.
    #[arg(short, long = "record", value_name = "NAME", help_heading = "Filters")]
    records: Vec<String>,

    /// Print at most this many records of each section.
    #[arg(long, value_name = "N", help_heading = "Filters")]
    limit: Option<u64>,

    /// Print the locations one after another instead of merging them by time.
    #[arg(long, help_heading = "Format")]
    by_location: bool,

    /// Print one JSON object per line.
    #[arg(long, help_heading = "Format")]
    json: bool,
}

/// What users can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    Events,
    Definitions,
    Anchor,
    Mappings,
    ClockOffsets,
    Snapshots,
    Markers,
    All,
}

impl Args {
    /// Returns `true` if a section was asked for.
    fn wants(&self, part: Part) -> bool {
        self.sections.iter().any(|it| [part, Part::All].contains(it))
    }
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
    let printer: Box<dyn Printer> = match args.json {
        false => Box::new(text::Text::default()),
        true => Box::new(json::Json),
    };
    let out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    damage::report_recovered(&archive);
    let sound = run::Session::new(archive, args, printer, out)?.print()?;
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
