//! The analysis alone, for `cargo xtask bench analyze` and `cargo xtask bounds`: replays an archive and prints
//! `events=… seconds=… waits=… peak=…`. `waits` sums what was found, so that two runs can be seen to agree;
//! `peak` is the most memory that was resident, in bytes. With `--log` it also searches for the causes of waits.
//!
//! `replay synth` makes an archive to replay, as `dwell synth` does, which takes minutes to build. SIZE is the number of
//! iterations of `sor`, of pairs of blocks in each of 3 rounds of `srumma`, or of steps of `ring`. It prints
//! `events=… gets=… bytes=…`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use dwell_analyze::{Options, Quantity, analyze};
use dwell_model::waits::Wait;
use dwell_synth::{ring, sor, srumma};
use otf2::Archive;

const USAGE: &str = "usage: replay ANCHOR [--threads N] [--memory BYTES] [--log DIRECTORY]
       replay synth sor|srumma|ring DIRECTORY RANKS SIZE";
/// Number of multiplications of `srumma`.
const ROUNDS: u64 = 3;
/// Seed of the random delays.
const SEED: u64 = 1;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let anchor = args.next().ok_or(USAGE)?;
    if anchor == "synth" {
        let [kind, directory, ranks, size] = &args.collect::<Vec<_>>()[..] else {
            return Err(USAGE.into());
        };
        return synth(kind, Path::new(directory), ranks.parse()?, size.parse()?);
    }
    let mut options = Options::default();
    while let Some(name) = args.next() {
        let value = args.next().ok_or(USAGE)?;
        match name.as_str() {
            "--threads" => options.threads = value.parse()?,
            "--memory" => options.memory = value.parse()?,
            "--log" => options.log = Some(value.into()),
            _ => return Err(USAGE.into()),
        }
    }
    let archive = Archive::open(anchor)?;
    let start = Instant::now();
    let analysis = analyze(&archive, &options, &|_| {})?;
    let seconds = start.elapsed().as_secs_f64();
    let waits = Wait::ALL.iter().map(|wait| analysis.total(Quantity::Wait(*wait)));
    let waits: u64 = waits.sum();
    let (events, windows) = (analysis.events(), analysis.windows());
    let peak = peak().unwrap_or(0);
    println!("events={events} seconds={seconds:.6} waits={waits} windows={windows} peak={peak}");
    Ok(())
}

/// Makes an archive and prints its totals.
fn synth(
    kind: &str,
    directory: &Path,
    ranks: u64,
    size: u64,
) -> Result<(), Box<dyn std::error::Error>> {
    let seed = SEED;
    let truth = match kind {
        "sor" => sor::generate(&sor::Options { ranks, iterations: size, seed }, directory, &|_| {}),
        "srumma" => {
            let options = srumma::Options { ranks, blocks: size, rounds: ROUNDS, seed };
            srumma::generate(&options, directory, &|_| {})
        }
        "ring" => ring::generate(&ring::Options { ranks, steps: size, seed }, directory, &|_| {}),
        _ => return Err(USAGE.into()),
    };
    let totals = truth?.totals;
    println!("events={} gets={} bytes={}", totals.events, totals.gets, totals.event_bytes);
    Ok(())
}

/// Returns the greatest resident memory in bytes, as the system counts it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}
