//! A part of an archive as a new archive.

use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;

use dwell_export::Cut;
use dwell_report::format;
use otf2::Archive;

use crate::commands::timeline::{numbers, time};
use crate::damage;
use crate::progress;
use crate::terminal::{line, note};

/// The part of an archive to write.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "OTF2")]
pub(super) struct Part {
    /// Begin of the span to write, such as 1.5s or 20ms after the first event.
    #[arg(long, value_parser = time, value_name = "TIME")]
    from: Option<u64>,
    /// End of the span to write.
    #[arg(long, value_parser = time, value_name = "TIME")]
    to: Option<u64>,
    /// Locations to write, such as 0-15,32: numbers in the order of the report.
    #[arg(long, value_delimiter = ',', value_parser = numbers, value_name = "LIST")]
    locations: Vec<Range<u32>>,
    /// Calls to write, with everything that they call: a pattern such as `MPI_*` of names of regions.
    #[arg(long, value_name = "PATTERN")]
    regions: Option<String>,
}

impl Part {
    /// Returns `true` if everything is written.
    pub(super) fn is_whole(&self) -> bool {
        let Self { from, to, locations, regions } = self;
        from.is_none() && to.is_none() && locations.is_empty() && regions.is_none()
    }
}

pub(super) fn run(path: &Path, to: &Path, part: &Part) -> anyhow::Result<ExitCode> {
    let archive = Archive::open_keeping(path, crate::machine::open_files())?;
    let events: u64 = archive.definitions()?.locations().map(|it| it.number_of_events).sum();
    let cut = Cut {
        from: part.from,
        to: part.to,
        locations: part.locations.clone(),
        calls: part.regions.clone(),
    };
    let bar = progress::bar(2 * events, "events");
    let copied = dwell_export::cut(&archive, &cut, to, &|events| bar.inc(events));
    bar.finish_and_clear();
    let copied = copied?;
    let (events, locations) = (format::grouped(copied.events), format::grouped(copied.locations));
    line!("{}: {events} events of {locations} locations", to.display())?;
    if copied.left_out > 0 {
        let left_out = format::grouped(copied.left_out);
        note!(
            "{left_out} records of messages and collectives that lie partly outside were left out"
        );
    }
    damage::report_recovered(&archive);
    damage::report(&copied.damage);
    Ok(ExitCode::SUCCESS)
}
