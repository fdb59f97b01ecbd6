//! `dwell analyze`: finds the waits in an archive, writes the report and prints a summary.
//!
//! [`dwell_report::findings`] describes `findings.json`.

mod advice;
mod budget;
mod costs;
mod functions;
mod inefficient;
mod iterations;
mod json;
mod ranks;
mod text;
mod verdict;
mod words;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, bail};
use dwell_analyze::{Analysis, Error, Options, analyze, least_memory};
use dwell_model::layer::Layer;
use dwell_model::units::parse_size;
use dwell_report::findings::Findings;
use otf2::Archive;

use super::stuck;
use crate::format::{bytes, grouped};
use crate::machine;
use crate::output;
use crate::profile;
use crate::progress;
use crate::runs;
use crate::sites;
use crate::terminal::{self, note};
use ranks::Joined;

/// Arguments of `dwell analyze`.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "\
Writes DIR/trace.cubex, which `dwell report`, CubeGUI and others read, and DIR/findings.json, and prints \
what the run loses time to, and what to change first. What could not be computed is named, never reported as 0.

Exit code: 0 if all was analysed, 1 if something in the archive is damaged, 2 if it cannot be read.

Started by a launcher such as mpirun or srun, all processes analyse together, over the MPI library of \
the launcher (DWELL_MPI_LIBRARY names another one); the result is the same. They wait for each other up to
600 s in each step, or as long as DWELL_PEER_TIMEOUT says.

Examples:
  dwell analyze                          the latest run here
  dwell analyze run --full               all causes and findings, with their evidence
  dwell analyze run --memory 500M        with less memory, in more and shorter windows
  dwell analyze run --layer mpi          judge at MPI, below a library that uses it
  mpirun -np 64 dwell analyze run        with 64 processes, on one node or several")]
pub(crate) struct Args {
    /// The archive: its directory, or its `.otf2` file. Without it, the newest run here.
    archive: Option<PathBuf>,
    /// Print all findings and causes instead of the verdict, or the first N of each.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1000000", hide_possible_values = true)]
    full: Option<usize>,
    /// Print JSON: what findings.json holds.
    #[arg(long)]
    json: bool,
    /// Whether to search for the causes of waits: auto, always or never. It takes two to five times as long as finding the
    /// waits, and disk space of a third of the trace; a fifth of the trace stays for the timeline. Auto does it if five
    /// minutes are likely to do, 1,500 million events on two cores, and predicts what each fix gains up to a million events;
    /// gains does both for every run.
    #[arg(long, default_value = "auto", value_name = "WHEN", hide_possible_values = true)]
    causes: Causes,
    /// Report the waits of calls to this layer: shmem, mpi, armci, caf, coarray, gasnet, upc. The default is the
    /// outermost layer that was recorded.
    #[arg(long, value_parser = layer, value_name = "NAME")]
    layer: Option<Layer>,
    /// Threads to use in each process. The default is one for each core, or the share of a process where
    /// several run on a node.
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "N")]
    threads: usize,
    /// Memory limit of each process, such as 500M or 4G. The result itself is not counted. The default is
    /// half of the memory of the machine or of its batch job, shared by the processes on it; less is used
    /// where more does not help.
    #[arg(long, value_parser = size, value_name = "SIZE")]
    memory: Option<u64>,
    /// Least number of events for each process of a launch; the others have nothing to do. The default is a
    /// million.
    #[arg(long, hide = true, value_name = "N")]
    events_per_rank: Option<u64>,
    /// Write what the analysis cost each process to this file, as comma-separated values: seconds, memory,
    /// reads and messages.
    #[arg(long, hide = true, value_name = "FILE")]
    costs: Option<PathBuf>,
}

/// When to search for causes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Causes {
    /// If it does not take long.
    #[default]
    Auto,
    Always,
    Never,
    /// Always, and predict gains for every run, too.
    Gains,
}

/// Number of events up to which gains are predicted unless the user says otherwise. Each of some 15 predictions goes through the
/// whole run.
pub(super) const MOST_PLAYED: u64 = 1_000_000;

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
    match ranks::join()? {
        Joined::Alone => {
            let began = Instant::now();
            let input = Input::open(resolved(args)?)?;
            let options = options(args, &input, Division::WHOLE);
            let analysis = analysed(&input, options, args.causes)?;
            let code = finish(args, &input, &analysis)?;
            if let Some(file) = &args.costs {
                let row = costs::row(0, began, dwell_mpi::Traffic::default());
                costs::write(file, std::iter::once(row.as_str()))?;
            }
            // The process ends, and gives all memory back at once: results have millions of parts.
            std::mem::forget(analysis);
            Ok(ExitCode::from(code))
        }
        Joined::Together(world) => ranks::analyze(*world, args),
        Joined::LeftToAnother => Ok(ExitCode::SUCCESS),
    }
}

/// Analyses an archive for a command that needs the results, and writes what `dwell analyze` writes. With `keeps_log`, the
/// dependency log is there afterwards, also if the archive is too large to search for causes.
pub(crate) fn make(path: &Path, keeps_log: bool) -> anyhow::Result<()> {
    Archive::open(path)?;
    sites::resolve(path);
    let input = Input::open(path.to_owned())?;
    input.announce();
    input.warn_of_missing();
    let args = Args::default();
    let mut options = options(&args, &input, Division::WHOLE);
    if keeps_log && options.log.is_none() {
        options.log = Some(input.log());
        options.causes = false;
    }
    let analysis = analysed(&input, options, args.causes)?;
    write_findings(&input, &document(&input.archive, &analysis))?;
    std::mem::forget(analysis);
    Ok(())
}

/// Analyses an archive in this process, and writes its report. If the dependency log cannot be written, causes are left
/// out, unless the user wants them.
fn analysed(input: &Input, mut options: Options, causes: Causes) -> anyhow::Result<Analysis> {
    let bar = progress::bar(input.events, "events");
    let then = after_events(&options);
    let progress = |events| progress::advance(&bar, events, then);
    let mut analysis = analyze(&input.archive, &options, &progress);
    if let (Err(Error::Log(path, error)), Causes::Auto) = (&analysis, causes) {
        note!("causes of waits cannot be searched: {}: {error}", path.display());
        bar.reset();
        options.log = None;
        analysis = analyze(&input.archive, &options, &progress);
    }
    bar.finish_and_clear();
    // The timeline is made from the log of this analysis, and must not be made from another one.
    if options.log.is_none() || analysis.is_err() {
        input.remove_log();
    }
    let analysis = analysis.with_context(|| input.path.display().to_string())?;
    analysis.write_report(&input.report())?;
    Ok(analysis)
}

/// Writes `findings.json`, and returns its text.
fn write_findings(input: &Input, document: &Findings) -> anyhow::Result<String> {
    let file = input.directory().join("findings.json");
    let text = document.to_json()?;
    dwell_files::write(&file, &text).with_context(|| output::cannot(&file))?;
    Ok(text)
}

/// An archive that is to be analysed.
pub(crate) struct Input {
    path: PathBuf,
    archive: Archive,
    events: u64,
    locations: usize,
    /// Number of locations without events.
    silent: usize,
}

impl Input {
    /// Opens an archive and looks at its definitions. Fails for one that has a profile instead of events, after it has got
    /// the report of it. Of several processes only one may do this, because it writes files.
    pub(crate) fn open(path: PathBuf) -> anyhow::Result<Self> {
        let archive = open(&path)?;
        let definitions = archive.definitions()?;
        let events = definitions.locations().map(|it| it.number_of_events).sum();
        let locations = definitions.locations().count();
        let silent = definitions.locations().filter(|it| it.number_of_events == 0).count();
        let input = Self { path, archive, events, locations, silent };
        if events == 0 && profile::make(input.directory())?.is_some() {
            let path = input.path.display();
            bail!("{path}: there is a profile and no trace; next: dwell report {path}");
        }
        Ok(input)
    }

    /// Returns where the archive is, the archive, and the number of its events.
    pub(crate) fn parts(&self) -> (&Path, &Archive, u64) {
        (&self.path, &self.archive, self.events)
    }

    /// Says that the archive is analysed by another command than `dwell analyze`.
    pub(crate) fn announce(&self) {
        let (path, events) = (self.path.display(), grouped(self.events));
        note!("{path}: not analysed yet; analysing {events} events");
    }

    /// Says that locations have no events, as in a part of an archive.
    fn warn_of_missing(&self) {
        if self.silent > 0 && self.events > 0 {
            let (silent, all) = (grouped(self.silent as u64), grouped(self.locations as u64));
            note!(
                "{silent} of {all} locations have no events: partners are missing, and waits for them are not found"
            );
        }
    }

    /// Returns the path of the report.
    fn report(&self) -> PathBuf {
        self.directory().join("trace.cubex")
    }

    /// Returns the directory of the dependency log, which the analysis needs to find causes.
    fn log(&self) -> PathBuf {
        self.directory().join("dwell-dependencies")
    }

    /// Removes the dependency log, and nothing else that may be in its directory.
    fn remove_log(&self) {
        let directory = self.log();
        let is_of_log = |it: &fs::DirEntry| it.file_name().as_bytes().starts_with(b"dependencies-");
        // A log that stays takes room and does no harm; the next analysis replaces it.
        for file in fs::read_dir(&directory).into_iter().flatten().flatten().filter(is_of_log) {
            let _ = fs::remove_file(file.path());
        }
        let _ = fs::remove_dir(&directory);
    }

    /// Returns the directory that results are written to.
    pub(crate) fn directory(&self) -> &Path {
        match self.path.is_dir() {
            true => &self.path,
            false => self.path.parent().unwrap_or(Path::new(".")),
        }
    }
}

/// Opens an archive so that its event files stay open as far as the system allows.
fn open(path: &Path) -> otf2::Result<Archive> {
    Archive::open_keeping(path, machine::open_files()).map(Archive::by_region)
}

/// Returns the archive that was named or is the newest, after it has got the names of its call sites.
fn resolved(args: &Args) -> anyhow::Result<PathBuf> {
    let path = runs::or_latest(args.archive.as_deref())?;
    if let Err(error) = runs::check_ended(&path) {
        if let Some(page) = stuck::at_the_end(&path).filter(|_| runs::was_killed(&path)) {
            terminal::print_page(page)?;
        }
        return Err(error);
    }
    Archive::open(&path)?;
    sites::resolve(&path);
    Ok(path)
}

/// Division of the machine among processes that analyse together.
#[derive(Clone, Copy, Debug)]
struct Division {
    /// Number of processes on this machine, and of all.
    here: usize,
    all: usize,
    /// Set for the process that speaks for those on this machine.
    speaks: bool,
}

impl Division {
    /// One process has the machine for itself.
    const WHOLE: Self = Self { here: 1, all: 1, speaks: true };
}

/// Returns the options of the analysis. `division` says how many processes share the machine and the work.
fn options(args: &Args, input: &Input, division: Division) -> Options {
    let here = division.here.max(1);
    // A launcher may bind each process to a part of the cores, or show all of them to each.
    let bound = std::thread::available_parallelism().map_or(1, usize::from);
    let cores = bound.min((machine::cores().unwrap_or(bound) / here).max(1));
    let memory = args.memory.unwrap_or_else(|| machine::memory() / 2 / here as u64);
    let locations = input.locations.div_ceil(division.all.max(1));
    let least = least_memory(locations);
    if memory < least && division.speaks {
        let (least, memory) = (bytes(least as f64), bytes(memory as f64));
        let each = if division.all > 1 { " in each process" } else { "" };
        note!(
            "{locations} locations{each} need {least} of memory; the limit of {memory} cannot be kept"
        );
    }
    let mut options = Options::default();
    options.threads = if args.threads == 0 { cores } else { args.threads };
    options.memory = memory;
    options.layer = args.layer;
    if let Some(events) = args.events_per_rank {
        options.events_per_rank = events;
    }
    let are_wanted = match args.causes {
        Causes::Auto => {
            let workers = options.threads * division.all.max(1);
            let obstacle = budget::obstacle(input.events, workers, (least, memory));
            if let Some(obstacle) = obstacle.as_ref().filter(|_| division.speaks) {
                note!("causes of waits are not searched for: {obstacle}");
            }
            obstacle.is_none()
        }
        Causes::Always | Causes::Gains => true,
        Causes::Never => false,
    };
    options.log = are_wanted.then(|| input.log());
    options.predict = args.causes == Causes::Gains || input.events <= MOST_PLAYED;
    options
}

/// Says what the analysis does after the last event, if that takes long.
fn after_events(options: &Options) -> Option<&'static str> {
    options.log.is_some().then_some("searching for causes of waits")
}

/// Returns the findings of an analysis as `findings.json` has them.
pub(super) fn document(archive: &Archive, analysis: &Analysis) -> Findings {
    json::document(analysis, &advice::Advice::of(archive, analysis))
}

/// Writes the findings of an analysis whose report is written, and prints a summary. Returns the exit code.
fn finish(args: &Args, input: &Input, analysis: &Analysis) -> anyhow::Result<u8> {
    input.warn_of_missing();
    let directory = input.directory();
    let document = document(&input.archive, analysis);
    let text = write_findings(input, &document)?;
    if args.json {
        terminal::print_json_text(text)?;
    } else {
        let page = match args.full {
            Some(top) => text::summary(input, analysis, &document, top),
            None => verdict::page(&input.path, directory, &document),
        };
        terminal::print_page(page)?;
    }
    Ok(u8::from(!analysis.damage().is_empty()))
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
