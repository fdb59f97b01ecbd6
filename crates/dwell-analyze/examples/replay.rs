//! The analysis alone, for `cargo xtask bench analyze`: replays an archive and prints
//! `events=… seconds=… waits=… peak=…`. `waits` sums what was found, so that two runs can be seen to agree;
//! `peak` is the most memory that was resident, in bytes.

use std::process::ExitCode;
use std::time::Instant;

use dwell_analyze::{Options, Quantity, analyze};
use dwell_model::waits::Wait;
use otf2::Archive;

const USAGE: &str = "usage: replay ANCHOR [--threads N] [--memory BYTES] [--log DIRECTORY]";

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

/// Returns the greatest resident memory in bytes, as the system counts it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}
