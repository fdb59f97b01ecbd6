//! Collation of the profile of a run of paper 001's size, simulated in one process.
//!
//! ```text
//! cargo run --release -p dwell --example profile_scale DIRECTORY [PROCESSES [killed]]
//! dwell report DIRECTORY
//! ```
//!
//! Every step is done by the code that a living run uses, for every process: its rows become a part, parts go
//! up the tree, a process that has enough of them writes a block. Only the wire is missing, and the files of rows:
//! these are made in memory, in the layout that the recorder has them in. The experiment that is left can be
//! looked at like any other. With `killed` it is what a run leaves that was killed, and recovered.

mod simulated;

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Instant;

use dwell_unify::collate::ENOUGH;
use dwell_unify::unify::rounds;

use simulated::{Simulated, Watch};

const PROCESSES: u64 = 294_912;

/// Assumed costs of a network in nanoseconds, for the estimate: for a message, and for a byte.
const LATENCY: f64 = 2000.0;
const BYTE: f64 = 1.0;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory: PathBuf = arguments
        .next()
        .ok_or("the directory of the experiment is wanted; it must not exist")?
        .into();
    let size = arguments.next().map_or(Ok(PROCESSES), |text| text.parse())?.max(1);
    std::fs::create_dir(&directory)?;
    let run = Simulated::new(size);
    let since = Instant::now();
    let mut global = run.unify();
    println!(
        "{size} processes, {} call paths; definitions unified in {:.0?}",
        run.paths(),
        since.elapsed()
    );
    if arguments.next().is_some_and(|how| how == "killed") {
        run.leave(&mut global, &directory)?;
        return Ok(run.complete(&global, &directory)?);
    }
    let mut figures = Figures::default();
    figures.rounds.resize_with(rounds(size) as usize, Round::default);
    let since = Instant::now();
    run.collate(&mut global, &directory, ENOUGH, &mut figures)?;
    println!("all processes simulated in {:.0?}\n", since.elapsed());
    run.complete(&global, &directory)?;
    figures.print();
    Ok(())
}

/// Figures of one round of the tree.
#[derive(Default)]
struct Round {
    messages: u64,
    bytes: u64,
    longest: u64,
    at_rank_0: u64,
    /// Nanoseconds to take in a message, without those of writing.
    take: Vec<u32>,
}

#[derive(Default)]
struct Figures {
    rounds: Vec<Round>,
    parts: u64,
    part: Vec<u32>,
    /// Nanoseconds to make a block, and to write its file.
    make: Vec<u32>,
    write: Vec<u32>,
    blocks: u64,
    largest: u64,
    bytes: u64,
    /// Nanoseconds of writing during the message that is being taken in.
    inside: u64,
}

fn nanoseconds(since: Instant) -> u64 {
    since.elapsed().as_nanos() as u64
}

fn short(nanoseconds: u64) -> u32 {
    u32::try_from(nanoseconds).unwrap_or(u32::MAX)
}

/// Returns the median, which other programs on the machine hardly disturb, or 0 for no values.
fn median(values: &[u32]) -> f64 {
    let mut values = values.to_vec();
    let middle = values.len() / 2;
    if values.is_empty() { 0.0 } else { f64::from(*values.select_nth_unstable(middle).1) }
}

impl Watch for Figures {
    fn part(&mut self, work: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
        let since = Instant::now();
        let part = work();
        self.part.push(short(nanoseconds(since)));
        self.parts += part.len() as u64;
        part
    }

    fn message(&mut self, round: u32, to: u64, bytes: usize) {
        let Some(round) = self.rounds.get_mut(round as usize) else { return };
        round.messages += 1;
        round.bytes += bytes as u64;
        round.longest = round.longest.max(bytes as u64);
        if to == 0 {
            round.at_rank_0 = bytes as u64;
        }
    }

    fn take(&mut self, round: u32, work: impl FnOnce(&mut Self) -> bool) -> bool {
        let (blocks, since) = (self.blocks, Instant::now());
        self.inside = 0;
        let taken = work(self);
        let time = nanoseconds(since).saturating_sub(self.inside);
        if self.blocks > blocks {
            self.make.push(short(time));
        } else if let Some(round) = self.rounds.get_mut(round as usize) {
            round.take.push(short(time));
        }
        taken
    }

    fn write(&mut self, block: &[u8], work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let since = Instant::now();
        let written = work();
        let time = nanoseconds(since);
        self.write.push(short(time));
        self.inside += time;
        self.blocks += 1;
        self.bytes += block.len() as u64;
        self.largest = self.largest.max(block.len() as u64);
        written
    }

    fn written(&self) -> u64 {
        self.blocks
    }
}

impl Figures {
    fn print(&self) {
        println!(
            "round | messages |  bytes: mean      longest        total   at rank 0 | take, µs"
        );
        let mut wait = 0.0;
        for (number, round) in self.rounds.iter().enumerate() {
            let take = median(&round.take);
            println!(
                "{number:5} | {:8} | {:12} {:12} {:12} {:11} | {:8.1}",
                round.messages,
                round.bytes / round.messages.max(1),
                round.longest,
                round.bytes,
                round.at_rank_0,
                take / 1e3
            );
            wait += LATENCY + round.longest as f64 * BYTE + take;
        }
        let down = self.rounds.len() as f64 * (LATENCY + BYTE);
        let (part, make, write) = (median(&self.part), median(&self.make), median(&self.write));
        let all = self.rounds.iter().map(|round| round.bytes).sum::<u64>();
        println!();
        println!(
            "a part: {} bytes, {:.0} µs; messages in all: {:.2} GB; at rank 0: {} bytes",
            self.parts / self.part.len().max(1) as u64,
            part / 1e3,
            all as f64 / 1e9,
            self.rounds.iter().map(|round| round.at_rank_0).sum::<u64>()
        );
        println!(
            "{} blocks, {:.2} GB, the largest {:.2} MB; {:.1} ms to make one, {:.1} ms to write it here",
            self.blocks,
            self.bytes as f64 / 1e9,
            self.largest as f64 / 1e6,
            make / 1e6,
            write / 1e6
        );
        println!(
            "estimated critical path, with {} µs a message and {} ns a byte, the longest of each round: {:.1} ms \
             (part {:.1}, up {:.1}, block {:.1}, file {:.1}, down {:.1})",
            LATENCY / 1e3,
            BYTE,
            (part + wait + make + write + down) / 1e6,
            part / 1e6,
            wait / 1e6,
            make / 1e6,
            write / 1e6,
            down / 1e6
        );
    }
}
