//! `cargo xtask bounds`: instructions of hot paths, held against a committed table.
//!
//! No test notices when a fast path is never taken, because everything it does is done by the slow path too. The number of
//! instructions does. Callgrind counts the same on every machine and under any load, so that continuous integration can
//! judge it. What recording a call costs is counted, and what replaying an event costs, each as the difference of two
//! sizes.
//!
//! The replay is counted twice: as users have it, and as tests do. Building the former takes continuous integration
//! minutes, and the latter nothing, so that is what it counts. A fast path that is not taken shows in both; `cargo xtask
//! proofs` counts everything.

mod table;

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;

use crate::build::{Build, Recorder};
use crate::instructions::replay::{Archive, Counter, Kind, Replay};
use crate::instructions::{self, Sizes, calls};
use crate::process::{self, Folder};
use crate::workspace::Workspace;
use table::{Entry, Table};

/// File with the bounds, from the root of the workspace.
const TABLE: &str = "tests/instructions.tsv";

/// Number of calls in two runs.
const CALLS: Sizes = Sizes { few: 2_000, many: 10_000 };

/// Number of locations of archives, and their sizes. What is not optimised takes ten times as long.
const RANKS: u64 = 64;
const FEW_RANKS: u64 = 16;
const EVENTS: Sizes = Sizes { few: 20, many: 80 };

/// Options of `cargo xtask bounds`.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Write the present counts to the table
    #[arg(long, conflicts_with = "sample")]
    update: bool,
    /// Leave out the optimised replay, which takes minutes to build, as continuous integration does
    #[arg(long)]
    sample: bool,
}

impl Options {
    /// Returns the options of continuous integration.
    pub(crate) fn sample() -> Self {
        Self { sample: true, ..Self::default() }
    }

    /// Returns the paths that are counted.
    fn paths(&self) -> Vec<&'static HotPath> {
        PATHS
            .iter()
            .filter(|it| !(self.sample && it.work.build() == Some(Build::Release)))
            .collect()
    }
}

/// Counts, prints a table, and fails if a bound is not kept or, with `--update`, writes the new bounds.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let paths = options.paths();
    let mut bounds = committed(options)?;
    bounds.entries.retain(|it| !options.sample || paths.iter().any(|path| path.name == it.name));
    let programs = Programs::build(workspace, options)?;
    let began = Instant::now();
    let now = Table { tools: tools()?, entries: programs.count(&paths)? };
    println!("\ncounted in {:.0} s by {}\n", began.elapsed().as_secs_f64(), now.tools);
    let comparison = bounds.judge(&now);
    println!("{comparison}");
    if options.update {
        fs::write(TABLE, now.to_string()).with_context(|| format!("cannot write {TABLE}"))?;
        println!("{TABLE} has these counts now: the commit says why they changed");
        return Ok(());
    }
    match comparison.broken() {
        None => Ok(()),
        Some(broken) => bail!("{}", explained(&broken, &bounds, &now)),
    }
}

/// Returns the committed table. There need not be one if it is about to be written.
fn committed(options: &Options) -> Result<Table> {
    match fs::read_to_string(TABLE) {
        Err(_) if options.update => Ok(Table::default()),
        text => Table::parse(&text.context(TABLE)?).context(TABLE),
    }
}

/// Returns the message about bounds that were not kept.
fn explained(broken: &str, bounds: &Table, now: &Table) -> String {
    let mut text = format!(
        "hot paths execute more or fewer instructions than {TABLE} says:{broken}\n\
         The commit that causes this must update the table with `cargo xtask bounds --update` and say why. If it means to \
         change no hot path, look for a fast path that is no longer taken."
    );
    if bounds.tools != now.tools {
        text += &format!(
            "\nThe table was counted with {}, and this is {}, which may be the reason.",
            bounds.tools, now.tools
        );
    }
    text
}

/// Returns the versions of what makes and counts instructions.
fn tools() -> Result<String> {
    let said = |program: &str| -> Result<String> {
        let said = process::output(Command::new(program).arg("--version"))?;
        Ok(said.split(" (").next().unwrap_or_default().trim().to_owned())
    };
    Ok(format!("{}, {}, {}", said("rustc")?, said("valgrind")?, std::env::consts::ARCH))
}

/// A hot path whose instructions are counted.
struct HotPath {
    /// Name in the table.
    name: &'static str,
    /// What instructions are counted for.
    unit: &'static str,
    work: Work,
}

/// Work that takes a hot path.
enum Work {
    /// Puts and gets of OpenSHMEM in a mode of the example `record_cost`.
    Transfer(&'static str),
    /// A case of `tests/programs/mpi_overhead.c`.
    Mpi(&'static str),
    /// A replay without causes.
    Replay(Build, Kind),
    /// What the search for causes adds to a replay.
    Causes(Build, Kind),
}

impl Work {
    /// Returns the profile of the replay, if there is one.
    fn build(&self) -> Option<Build> {
        match *self {
            Work::Replay(build, _) | Work::Causes(build, _) => Some(build),
            Work::Transfer(_) | Work::Mpi(_) => None,
        }
    }
}

#[rustfmt::skip]
const PATHS: &[HotPath] = &[
    HotPath { name: "OpenSHMEM put or get, recorded", unit: "call", work: Work::Transfer("") },
    HotPath { name: "OpenSHMEM put or get, summed up by --overhead", unit: "call", work: Work::Transfer("overhead") },
    HotPath { name: "OpenSHMEM put or get, profiled", unit: "call", work: Work::Transfer("profile") },
    HotPath { name: "MPI_Get + MPI_Win_flush, recorded", unit: "turn", work: Work::Mpi("MPI_Get+MPI_Win_flush") },
    HotPath { name: "MPI_Irecv + MPI_Send + MPI_Wait, recorded", unit: "turn", work: Work::Mpi("MPI_Irecv+MPI_Send+MPI_Wait") },
    HotPath { name: "replay of sor, blocking gets", unit: "event", work: Work::Replay(Build::Release, Kind::Sor) },
    HotPath { name: "replay of srumma, non-blocking gets", unit: "event", work: Work::Replay(Build::Release, Kind::Srumma) },
    HotPath { name: "causes of waits in sor", unit: "event", work: Work::Causes(Build::Release, Kind::Sor) },
    HotPath { name: "replay of sor, not optimised", unit: "event", work: Work::Replay(Build::Dev, Kind::Sor) },
    HotPath { name: "replay of srumma, not optimised", unit: "event", work: Work::Replay(Build::Dev, Kind::Srumma) },
    HotPath { name: "causes of waits in sor, not optimised", unit: "event", work: Work::Causes(Build::Dev, Kind::Sor) },
];

/// Programs whose instructions are counted.
struct Programs {
    /// Directory of everything that is made here.
    folder: Folder,
    library: PathBuf,
    record_cost: PathBuf,
    mpi: PathBuf,
    /// The replay as tests have it.
    replay: Replay,
    /// The replay as users have it, if it is counted.
    optimised: Option<Replay>,
}

impl Programs {
    /// Builds the programs, and nothing else.
    fn build(workspace: &Workspace, options: &Options) -> Result<Programs> {
        ensure!(
            instructions::can_count(),
            "instructions are counted by Debian's valgrind, which is missing"
        );
        let compiler = calls::MPI_COMPILER;
        let has_compiler = process::is_on_path(compiler);
        ensure!(
            has_compiler,
            "calls of MPI are counted on Debian's libmpich-dev, whose {compiler} is missing"
        );
        let Recorder { library, record_cost } = Recorder::build(workspace)?;
        let replay = Replay::build(workspace, Build::Dev)?;
        let optimised = || Replay::build(workspace, Build::Release);
        let optimised = (!options.sample).then(optimised).transpose()?;
        let folder = std::env::temp_dir().join(format!("dwell-bounds-{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let folder = Folder(folder);
        let mpi = calls::compile_mpi(&folder.0)?;
        Ok(Programs { folder, library, record_cost, mpi, replay, optimised })
    }

    /// Counts the instructions of all paths, as many at once as there are cores.
    fn count(&self, paths: &[&HotPath]) -> Result<Vec<Entry>> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut counted = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(path) = paths.get(index) else { return Ok(counted) };
                let folder = self.folder.0.join(index.to_string());
                let count = self.instructions(&path.work, &folder).context(path.name)?;
                counted.push((index, count));
            }
        };
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let results: Vec<Result<Vec<(usize, f64)>>> = thread::scope(|scope| {
            let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
            let join = |it: thread::ScopedJoinHandle<'_, _>| {
                it.join().unwrap_or_else(|_| Err(anyhow!("a thread that counts panicked")))
            };
            workers.into_iter().map(join).collect()
        });
        let mut counted: Vec<_> = results.into_iter().collect::<Result<Vec<_>>>()?.concat();
        counted.sort_unstable_by_key(|it| it.0);
        let paths = paths.iter().zip(counted);
        Ok(paths.map(|(path, (_, instructions))| path.entry(instructions)).collect())
    }

    /// Counts the instructions of one path. `folder` does not exist before and afterwards.
    fn instructions(&self, work: &Work, folder: &Path) -> Result<f64> {
        match *work {
            Work::Transfer(mode) => calls::transfer(&self.record_cost, mode, folder, CALLS),
            Work::Mpi(case) => calls::mpi(&self.mpi, &self.library, case, folder, CALLS),
            Work::Replay(build, kind) => self.per_event((build, kind), folder, Replay::counted),
            Work::Causes(build, kind) => {
                let of = (build, kind);
                let with = self.per_event(of, folder, Replay::counted_with_causes)?;
                Ok(with - self.per_event(of, folder, Replay::counted)?)
            }
        }
    }

    fn per_event(
        &self,
        (build, kind): (Build, Kind),
        folder: &Path,
        command: fn(&Replay, &Archive) -> Command,
    ) -> Result<f64> {
        let (replay, ranks) = match build {
            Build::Dev => (&self.replay, FEW_RANKS),
            Build::Release => (self.optimised.as_ref().context("it was not built")?, RANKS),
        };
        let counter = Counter { replay, kind, ranks, sizes: EVENTS, folder };
        counter.per_event(|archive| command(replay, archive))
    }
}

impl HotPath {
    fn entry(&self, instructions: f64) -> Entry {
        Entry { name: self.name.to_owned(), instructions, unit: self.unit.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_table_has_all_paths() {
        let text = include_str!("../../tests/instructions.tsv");
        let table = Table::parse(text).expect("the committed table");
        let named: Vec<_> =
            table.entries.iter().map(|it| (it.name.as_str(), it.unit.as_str())).collect();
        let paths: Vec<_> = PATHS.iter().map(|path| (path.name, path.unit)).collect();
        assert_eq!(named, paths);
    }

    #[test]
    fn the_message_says_what_to_do_and_names_other_tools() {
        let [old, new] =
            ["rustc 1", "rustc 2"].map(|tools| Table { tools: tools.into(), ..Table::default() });
        let text = explained("put: +5.0 %", &old, &new);
        for part in ["put: +5.0 %", "cargo xtask bounds --update", "say why", "rustc 1", "rustc 2"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!explained("put: +5.0 %", &old, &old).contains("rustc"));
    }
}
