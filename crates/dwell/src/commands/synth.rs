//! `dwell synth`: archives and reports with known content.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args as ClapArgs, Subcommand, value_parser};
use dwell_synth::{Progress, Truth, halo, random, report, ring, slow, sor, srumma};

use crate::progress;
use crate::terminal::line;

/// Arguments of `dwell synth`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// A matrix multiplication: non-blocking gets, waits, all-fences, barriers. Its wait states are known exactly.
    #[command(after_help = SRUMMA_HELP)]
    Srumma {
        #[command(flatten)]
        common: Common,
        /// Pairs of blocks that each rank multiplies in a round; each pair is two gets.
        #[arg(long, default_value_t = 16, value_parser = value_parser!(u64).range(1..=1_000_000))]
        blocks: u64,
        /// Number of multiplications, each ended by an all-fence and a barrier.
        #[arg(long, default_value_t = 2, value_parser = value_parser!(u64).range(1..=100_000))]
        rounds: u64,
    },
    /// A solver on a grid: halo exchange by blocking gets, reductions. Its wait states are known exactly.
    #[command(after_help = SOR_HELP)]
    Sor {
        #[command(flatten)]
        common: Common,
        /// Number of iterations, each with two halo exchanges and a reduction.
        #[arg(long, default_value_t = 10, value_parser = value_parser!(u64).range(1..=1_000_000))]
        iterations: u64,
    },
    /// A halo exchange, synchronised in four ways. Its wait states are known exactly.
    #[command(after_help = HALO_HELP)]
    Halo {
        #[command(flatten)]
        common: Common,
        /// Number of rounds, each with two exchanges in each of the four ways.
        #[arg(long, default_value_t = 4, value_parser = value_parser!(u64).range(1..=100_000))]
        rounds: u64,
    },
    /// Messages around a ring, sent and received in five ways. Its wait states are known exactly.
    #[command(after_help = RING_HELP)]
    Ring {
        #[command(flatten)]
        common: Common,
        /// Number of steps, each in the next of the five ways. A barrier follows every fourth.
        #[arg(long, default_value_t = 20, value_parser = value_parser!(u64).range(1..=1_000_000))]
        steps: u64,
    },
    /// Steps ended by an all-reduce, in which something computes longer than the rest. Its wait states are known exactly.
    #[command(after_help = SLOW_HELP)]
    Slow {
        /// What is slow: `node`, `drift` (a rank) or `phase`.
        #[arg(value_parser = slow_what)]
        what: slow::What,
        #[command(flatten)]
        common: Common,
        /// Number of steps.
        #[arg(long, default_value_t = 64, value_parser = value_parser!(u64).range(1..=1_000_000))]
        steps: u64,
    },
    /// A random mix of all operations, for comparing detectors with one another.
    #[command(after_help = RANDOM_HELP)]
    Random {
        #[command(flatten)]
        common: Common,
        /// Number of segments of the run, each ended by a collective.
        #[arg(long, default_value_t = 8, value_parser = value_parser!(u64).range(1..=1_000_000))]
        segments: u64,
        /// One-sided operations of each rank in a segment.
        #[arg(long, default_value_t = 32, value_parser = value_parser!(u64).range(0..=1_000_000))]
        operations: u64,
    },
    /// A Cube report of any size, for scaling tests.
    Report {
        /// `.cubex` file to write.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// Number of locations.
        #[arg(long, default_value_t = 64, value_parser = value_parser!(u32).range(1..))]
        locations: u32,
        /// Number of call paths.
        #[arg(long, default_value_t = 100, value_parser = value_parser!(u32).range(1..))]
        paths: u32,
        /// Number of metrics.
        #[arg(long, default_value_t = 10, value_parser = value_parser!(u32).range(1..))]
        metrics: u32,
        /// Number of metrics with values at all call paths and locations.
        #[arg(long, default_value_t = 3)]
        dense: u32,
        /// Fraction of call paths without values of the other metrics.
        #[arg(long, default_value_t = 0.95, value_name = "SHARE")]
        sparsity: f64,
        /// Seed of the random numbers.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

const SRUMMA_HELP: &str = "\
Makes ranks x blocks x rounds x 2 gets. DIR gets `traces.otf2` with its files, and `truth.json` with \
totals and the severity of each pattern in nanoseconds. The same options give the same bytes.

Example: dwell synth srumma -o /tmp/srumma --ranks 64 --blocks 100";

const SOR_HELP: &str = "\
DIR gets `traces.otf2` with its files, and `truth.json` with totals and the severity of each pattern in \
nanoseconds. The same options give the same bytes.

Example: dwell synth sor -o /tmp/sor --ranks 64 --iterations 100";

const HALO_HELP: &str = "\
The ways are: barriers over all ranks, synchronisation of partners only, notifications, flags. DIR gets `traces.otf2` with its files, \
and `truth.json` with totals and the severity of each pattern in nanoseconds. The same options give the \
same bytes.

Example: dwell synth halo -o /tmp/halo --ranks 16";

const RING_HELP: &str = "\
The ways are: eager sends, synchronous sends, synchronous sends with receives posted before, non-blocking \
sends and receives, receives in the wrong order. DIR gets `traces.otf2` with its \
files, and `truth.json` with totals and the severity of each pattern in nanoseconds. The same options give \
the same bytes.

Example: dwell synth ring -o /tmp/ring --ranks 16 --steps 100";

const SLOW_HELP: &str = "\
Eight ranks share a node. DIR gets `traces.otf2` with its files, and `truth.json` with totals and the severity of \
each pattern in nanoseconds. The same options give the same bytes.

Example: dwell synth slow node -o /tmp/slow --ranks 512";

const RANDOM_HELP: &str = "\
DIR gets `traces.otf2` with its files, and `truth.json` with its totals. All events are kept in \
memory until they are written: about 80 bytes per event. The same options give the same bytes.

Example: dwell synth random -o /tmp/random --ranks 8 --seed 7";

#[derive(Debug, ClapArgs)]
struct Common {
    /// Directory for the archive; it must not contain one already.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Number of ranks.
    #[arg(long, default_value_t = 8, value_parser = value_parser!(u64).range(2..=16_777_216))]
    ranks: u64,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of threads; as many as there are cores by default.
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    threads: usize,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match args.kind {
        Kind::Srumma { ref common, blocks, rounds } => {
            let options =
                srumma::Options { ranks: common.ranks, blocks, rounds, seed: common.seed };
            make(common, |directory, progress| srumma::generate(&options, directory, progress))
        }
        Kind::Sor { ref common, iterations } => {
            let options = sor::Options { ranks: common.ranks, iterations, seed: common.seed };
            make(common, |directory, progress| sor::generate(&options, directory, progress))
        }
        Kind::Halo { ref common, rounds } => {
            let options = halo::Options { ranks: common.ranks, rounds, seed: common.seed };
            make(common, |directory, progress| halo::generate(&options, directory, progress))
        }
        Kind::Ring { ref common, steps } => {
            let options = ring::Options { ranks: common.ranks, steps, seed: common.seed };
            make(common, |directory, progress| ring::generate(&options, directory, progress))
        }
        Kind::Slow { what, ref common, steps } => {
            let options = slow::Options { ranks: common.ranks, steps, what, seed: common.seed };
            make(common, |directory, progress| slow::generate(&options, directory, progress))
        }
        Kind::Random { ref common, segments, operations } => {
            let options =
                random::Options { ranks: common.ranks, segments, operations, seed: common.seed };
            make(common, |directory, progress| random::generate(&options, directory, progress))
        }
        Kind::Report { ref output, locations, paths, metrics, dense, sparsity, seed } => {
            let options = report::Options { locations, paths, metrics, dense, sparsity, seed };
            crate::output::check(output)?;
            let bar = progress::bar(u64::from(metrics), "metrics");
            let made = report::generate(&options, output, &|metrics| bar.inc(metrics));
            bar.finish_and_clear();
            let made = made?;
            line!("{}: {} rows, {} bytes of values", output.display(), made.rows, made.bytes)?;
            line!("next: dwell report {}", output.display())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn slow_what(text: &str) -> Result<slow::What, String> {
    match text {
        "node" => Ok(slow::What::Node),
        "drift" => Ok(slow::What::Drift),
        "phase" => Ok(slow::What::Phase),
        _ => Err("`node`, `drift` or `phase` is wanted".into()),
    }
}

/// Makes the archive on the given number of threads, and prints its size.
fn make(
    common: &Common,
    generate: impl FnOnce(&Path, Progress<'_>) -> otf2::Result<Truth> + Send,
) -> anyhow::Result<ExitCode> {
    let directory = &common.output;
    let bar = progress::bar(common.ranks, "locations");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(common.threads).build()?;
    let truth = pool.install(|| generate(directory, &|locations| bar.inc(locations)));
    bar.finish_and_clear();
    let truth = truth?;
    truth
        .write(directory)
        .with_context(|| format!("{}: cannot write truth.json", directory.display()))?;
    let totals = truth.totals;
    line!(
        "{}: {} locations, {} events, {} gets, {} puts, {} messages, {} bytes of events",
        directory.display(),
        totals.locations,
        totals.events,
        totals.gets,
        totals.puts,
        totals.messages,
        totals.event_bytes
    )?;
    line!("next: dwell info {}", directory.display())?;
    Ok(ExitCode::SUCCESS)
}
