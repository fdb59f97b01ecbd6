//! `cargo xtask bench analyze`: the search for wait states, compared with merely reading the same archive.
//!
//! The archives are those of `dwell synth`: `sor` has blocking gets, `srumma` non-blocking ones, `ring` messages. The
//! example `replay` of `dwell-analyze` makes them and performs the analysis, and the example `bench` of `otf2` only reads.
//! libotf2 opens all files at the same time and so cannot read many; it is compared on an archive of fewer locations.
//! Where valgrind is installed, the instructions of both programs are counted as well, on small archives.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};
use clap::Args;

use super::harness::{self, Contestant, Group, Sample};
use super::otf2;
use crate::build::Build;
use crate::instructions::replay::{Archive, Counter, Kind, Replay, SRUMMA_ROUNDS};
use crate::instructions::{self, Sizes};
use crate::process;
use crate::workspace::Workspace;

/// Kinds of archives with gets, and goals in millions of gets per second.
const GOALS: [(Kind, f64); 2] = [(Kind::Sor, 11.0), (Kind::Srumma, 8.0)];
/// Factor by which the analysis may take longer than reading.
const RATIO: f64 = 3.0;
/// Approximate number of gets of a rank in an iteration of `sor`.
const SOR_GETS: u64 = 8;

/// Options of `cargo xtask bench analyze`.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of locations in the large archives
    #[arg(long, default_value_t = 32_768)]
    ranks: u64,
    /// Gets in each of the large archives, in millions
    #[arg(long, default_value_t = 59.0)]
    gets: f64,
    /// Memory budget for the large archives, in MiB
    #[arg(long, default_value_t = 2048)]
    memory: u64,
    /// Number of threads of the analysis and of bare reading
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Rounds that are measured, after one to warm up
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Only count instructions
    #[arg(long)]
    instructions_only: bool,
    /// Do not fail when a goal is missed
    #[arg(long)]
    no_goals: bool,
    /// Gets of a rank in the smaller archive whose instructions are counted
    #[arg(skip = 375.0)]
    counted: f64,
    #[arg(skip = Build::Release)]
    build: Build,
}

impl Options {
    /// Returns options for a small run without goals: see [`super::Options::smoke`].
    pub(crate) fn smoke() -> Options {
        Options {
            ranks: 64,
            gets: 0.02,
            memory: 64,
            threads: 2,
            rounds: 1,
            instructions_only: false,
            no_goals: true,
            counted: 8.0,
            build: Build::Dev,
        }
    }
}

/// Makes the archives, measures, and fails if a goal is missed.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    if options.rounds == 0 || options.ranks < 2 {
        bail!("at least one round and two ranks are needed");
    }
    let bench = Bench::build(workspace, options)?;
    println!("\n{}\n", harness::machine());
    let mut missed = bench.instructions(options.ranks.min(256), options.counted)?;
    if !options.instructions_only {
        missed.extend(measure(&bench, options)?);
    }
    if !missed.is_empty() && !options.no_goals {
        bail!("goals missed: {}", missed.join(", "));
    }
    Ok(())
}

/// Measures times. Returns the goals that were missed.
fn measure(bench: &Bench, options: &Options) -> Result<Vec<String>> {
    println!("{} rounds, alternating, after one to warm up\n", options.rounds);
    let mut missed = Vec::new();
    let large = options.gets * 1e6 / options.ranks as f64;
    let memory = options.memory << 20;
    for (kind, goal) in GOALS {
        let archive = bench.archive("large", kind, options.ranks, large)?;
        let pair = vec![bench.bare(&archive), bench.replay(&archive, memory)];
        let comparison = Group { title: kind.title(), goal: 1.0 / RATIO, contestants: pair };
        let comparison = comparison.measure(options.rounds)?;
        println!("{comparison}  {archive}");
        let rate = archive.gets as f64 / comparison.fastest_of_last() / 1e6;
        let median = archive.gets as f64 / comparison.median_of_last() / 1e6;
        let verdict = if median >= goal { "met" } else { "missed" };
        println!(
            "  {median:.1} million gets a second, at best {rate:.1}; goal {goal:.0} {verdict}\n"
        );
        if !comparison.meets_goal() {
            missed.push(format!("{}: ratio to bare reading", kind.title()));
        }
        if median < goal {
            missed.push(format!("{}: gets a second", kind.title()));
        }
        fs::remove_dir_all(&archive.directory)?;
    }
    let few = (options.ranks / 32).clamp(2, 1024);
    let archive = bench.archive("few", GOALS[0].0, few, large)?;
    let contestants = vec![bench.libotf2(&archive), bench.replay(&archive, memory)];
    let group = Group { title: "analysis against libotf2's bare read", goal: 1.0, contestants };
    let comparison = group.measure(options.rounds)?;
    println!("{comparison}  {archive}\n");
    if !comparison.meets_goal() {
        missed.push(comparison.title().to_owned());
    }
    let messages = bench.archive("messages", Kind::Ring, few, large)?;
    let group = Group {
        title: Kind::Ring.title(),
        goal: 1.0 / RATIO,
        contestants: vec![bench.bare(&messages), bench.replay(&messages, memory)],
    };
    println!("{}  {messages}\n", group.measure(options.rounds)?);
    missed.extend(bench.growth(few, large / 16.0, memory / 16, options.rounds)?);
    Ok(missed)
}

/// Returns the size of an archive with about `each` gets, or messages, for each rank.
fn size(kind: Kind, each: f64) -> u64 {
    let size = match kind {
        Kind::Sor => each / SOR_GETS as f64,
        Kind::Srumma => each / (2 * SRUMMA_ROUNDS) as f64,
        Kind::Ring => each,
    };
    (size.ceil() as u64).max(1)
}

/// Programs to run, and the directory of their archives.
struct Bench {
    replay: Replay,
    bare: PathBuf,
    libotf2: PathBuf,
    directory: PathBuf,
    threads: usize,
}

impl Bench {
    fn build(workspace: &Workspace, options: &Options) -> Result<Bench> {
        let build = options.build;
        let directory = PathBuf::from(workspace.relative(&workspace.target.join("bench")));
        fs::create_dir_all(&directory)?;
        Ok(Bench {
            replay: Replay::build(workspace, build)?,
            bare: otf2::build_ours(workspace, build)?,
            libotf2: otf2::build_libotf2(&directory)?,
            directory,
            threads: options.threads,
        })
    }

    /// Makes an archive with about `each` gets, or messages, for each rank.
    fn archive(&self, name: &str, kind: Kind, ranks: u64, each: f64) -> Result<Archive> {
        self.replay.synth(kind, ranks, size(kind, each), self.directory.join(name))
    }

    fn bare(&self, archive: &Archive) -> Contestant {
        Contestant::command("otf2", self.bare_command(archive, self.threads))
    }

    fn libotf2(&self, archive: &Archive) -> Contestant {
        let mut command = Command::new(&self.libotf2);
        command.arg("count").arg(archive.anchor());
        Contestant::command("libotf2", command)
    }

    fn replay(&self, archive: &Archive, memory: u64) -> Contestant {
        Contestant::command("analysis", self.replay.command(archive, self.threads, memory))
    }

    fn bare_command(&self, archive: &Archive, threads: usize) -> Command {
        let mut command = Command::new(&self.bare);
        command.arg("read").arg(archive.anchor());
        command.args(["--threads", &threads.to_string()]);
        command
    }

    /// Counts the instructions of bare reading and of the analysis for an event, with one thread, on an archive with `each`
    /// gets for each rank and one with four times as many. Returns the goals that were missed.
    fn instructions(&self, ranks: u64, each: f64) -> Result<Vec<String>> {
        if !instructions::can_count() {
            println!("instructions are not counted, which needs valgrind\n");
            return Ok(Vec::new());
        }
        let mut missed = Vec::new();
        for (kind, _) in GOALS {
            let title = kind.title();
            let sizes = Sizes { few: size(kind, each), many: size(kind, 4.0 * each) };
            let folder = self.directory.join("counted");
            let counter = Counter { replay: &self.replay, kind, ranks, sizes, folder: &folder };
            let bare = counter.per_event(|archive| self.bare_command(archive, 1))?;
            let replay = counter.per_event(|archive| self.replay.counted(archive))?;
            let ratio = replay / bare;
            let verdict = if ratio <= RATIO { "met" } else { "missed" };
            println!(
                "{title}, {ranks} locations: {bare:.0} instructions an event for bare reading, {replay:.0} for the analysis, \
                 {ratio:.2} times as many; goal {RATIO:.0} {verdict}"
            );
            if ratio > RATIO {
                missed.push(format!("{title}: instructions"));
            }
        }
        println!();
        Ok(missed)
    }

    /// Analyses archives with 1, 4 and 16 times as many events within the same memory. Memory must stay within the
    /// budget, and time must grow no faster than the number of events. Returns the goals that were missed.
    fn growth(&self, ranks: u64, each: f64, memory: u64, rounds: usize) -> Result<Vec<String>> {
        let mut archives = Vec::new();
        for factor in [1_u32, 4, 16] {
            let name = format!("growth-{factor}");
            let each = each * f64::from(factor);
            archives.push(self.archive(&name, Kind::Srumma, ranks, each)?);
        }
        let mut samples = vec![Vec::new(); archives.len()];
        for _ in 0..rounds {
            for (archive, samples) in archives.iter().zip(&mut samples) {
                let output =
                    process::output(&mut self.replay.command(archive, self.threads, memory))?;
                samples.push(Sample::parse(&output)?);
            }
        }
        println!("growth: {ranks} locations, a budget of {} MB", memory >> 20);
        println!("  {:>12} {:>10} {:>14} {:>10}", "events", "best s", "ns an event", "peak MB");
        let mut missed = Vec::new();
        let mut pace = Vec::new();
        for (archive, samples) in archives.iter().zip(&samples) {
            let best = samples.iter().map(|it| it.time.as_secs_f64()).fold(f64::INFINITY, f64::min);
            let peak = samples.iter().filter_map(|it| it.peak).max().unwrap_or(0);
            let each = best * 1e9 / archive.events as f64;
            pace.push(each);
            println!(
                "  {:>12} {best:>10.3} {each:>14.1} {:>10.1}",
                archive.events,
                peak as f64 / f64::from(1 << 20)
            );
            if peak > memory {
                missed.push(format!("{}: memory over budget", Kind::Srumma.title()));
            }
        }
        // The smallest is mostly start; from there on it must not get worse.
        if let [_, four, sixteen] = pace.as_slice()
            && sixteen / four > 1.1
        {
            missed.push("time linear in events".into());
        }
        archives.iter().try_for_each(|archive| fs::remove_dir_all(&archive.directory))?;
        Ok(missed)
    }
}
