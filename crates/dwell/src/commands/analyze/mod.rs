//! `dwell analyze`: finds the waits in an archive, writes the report and prints a summary.
//!
//! [`dwell_report::findings`] describes `findings.json`.

mod advice;
mod inefficient;
mod json;
mod text;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use dwell_analyze::{Options, analyze, least_memory};
use dwell_model::layer::Layer;
use dwell_model::units::parse_size;
use dwell_mpi::Launch;
use otf2::Archive;

use crate::format::bytes;
use crate::machine;
use crate::output;
use crate::profile;
use crate::progress;
use crate::runs;
use crate::sites;
use crate::terminal::{self, line, note};

/// Arguments of `dwell analyze`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Writes DIR/trace.cubex, which `dwell report`, CubeGUI and others read, and DIR/findings.json, and prints \
the longest waits. What could not be computed is named, never reported as 0.

Exit code: 0 if all was analysed, 1 if something in the archive is damaged, 2 if it cannot be read.

Examples:
  dwell analyze                          the latest run here
  dwell analyze run --memory 500M        with less memory, in more and shorter windows
  dwell analyze run --layer mpi          judge at MPI, below a library that uses it")]
pub(crate) struct Args {
    /// The archive: its directory, or its `.otf2` file. Without it, the newest `dwell-*` directory
    /// here.
    archive: Option<PathBuf>,
    /// Threads to use; as many as there are cores if not given.
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "N")]
    threads: usize,
    /// Memory limit of the analysis, such as 500M or 4G. The result itself is not counted. The default is
    /// half of the memory of the machine or of its batch job; less is used where more does not help.
    #[arg(long, value_parser = size, value_name = "SIZE")]
    memory: Option<u64>,
    /// Report the waits of calls to this layer: shmem, mpi, armci, caf, gasnet, upc. The default is the
    /// outermost layer that was recorded.
    #[arg(long, value_parser = layer, value_name = "NAME")]
    layer: Option<Layer>,
    /// Number of waiting call paths to print.
    #[arg(long, default_value_t = 5, value_name = "N")]
    top: usize,
    /// Print JSON: what findings.json holds.
    #[arg(long)]
    json: bool,
}

fn layer(name: &str) -> Result<Layer, String> {
    let names = || Layer::ALL.iter().map(|layer| layer.name()).collect::<Vec<_>>().join(", ");
    Layer::from_name(name).ok_or_else(|| format!("no such layer; there are {}", names()))
}

/// Parses a number of bytes above 0, with an optional unit.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let size = parse_size(text).filter(|size| *size > 0);
    size.ok_or_else(|| "a size such as 64M is wanted".into())
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if is_left_to_another() {
        return Ok(ExitCode::SUCCESS);
    }
    let path = runs::ended_or_latest(args.archive.as_deref())?;
    Archive::open(&path)?;
    sites::resolve(&path);
    let archive = Archive::open(&path)?;
    let directory = match path.is_dir() {
        true => path.as_path(),
        false => path.parent().unwrap_or(Path::new(".")),
    };
    let definitions = archive.definitions()?;
    let total: u64 = definitions.locations().map(|it| it.number_of_events).sum();
    let locations = definitions.locations().count();
    if total == 0 && profile::make(directory)?.is_some() {
        bail!(
            "{}: there is a profile and no trace; next: dwell report {}",
            path.display(),
            path.display()
        );
    }
    let memory = args.memory.unwrap_or_else(|| machine::memory() / 2);
    let least = least_memory(locations);
    if memory < least {
        let (least, memory) = (bytes(least as f64), bytes(memory as f64));
        note!("{locations} locations need {least} of memory; the limit of {memory} cannot be kept");
    }
    let bar = progress::bar(total, "events");
    let mut options = Options::default();
    options.threads = args.threads;
    options.memory = memory;
    options.layer = args.layer;
    let analysis = analyze(&archive, &options, &|events| bar.inc(events));
    bar.finish_and_clear();
    let analysis = analysis.with_context(|| path.display().to_string())?;

    let report = directory.join("trace.cubex");
    analysis.write_report(&report)?;
    let advice = advice::Advice::of(&archive, &analysis);
    let document = json::document(&analysis, &advice);
    let findings = directory.join("findings.json");
    dwell_files::write(&findings, &document.to_json()?)
        .with_context(|| output::cannot(&findings))?;
    if args.json {
        terminal::print_json(&document)?;
    } else {
        let width = console::Term::stdout().size_checked().map_or(100, |(_, w)| usize::from(w));
        let summary = text::summary(&path, &analysis, &advice, args.top, width.clamp(60, 120));
        let directory = directory.display();
        line!("{summary}next: dwell view {directory}, or dwell report {directory} here")?;
    }
    Ok(ExitCode::from(u8::from(!analysis.damage().is_empty())))
}

/// Returns `true` if a launcher started several copies of this program and this is not the first of them. The first one
/// analyses alone: all of them would compute the same and write the same files.
fn is_left_to_another() -> bool {
    let Some(launch) = Launch::detect().filter(Launch::is_shared) else { return false };
    if launch.is_first() {
        let several = launch.size.map_or("several".into(), |size| size.to_string());
        note!("{several} processes were started; one of them analyses, with threads");
    }
    !launch.is_first()
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("500M"), Ok(500 << 20));
        assert_eq!(size("2GiB"), Ok(2 << 30));
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("1.5G"), Ok(3 << 29));
        assert!(size("0").is_err());
        assert!(size("a lot").is_err());
        assert!(size("3X").is_err());
    }
}
