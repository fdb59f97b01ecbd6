//! Several processes analyse a trace together: the results are the bytes that one process gives.
//!
//! The processes are threads here, each with messages as bytes and a part of the trace of its own. Real launchers and MPI
//! libraries carry them in the tests of the program.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod mpi;
#[path = "support/sums.rs"]
mod sums;

use std::path::Path;
use std::thread;

use dwell_analyze::{Analysis, Cut, Options, analyze_among};
use dwell_mpi::{Agreement, Error, Join, Member, Peers, crew};
use dwell_synth::{random, sor, srumma};
use otf2::Archive;

/// A member that counts the bytes of questions that it sends to others.
struct Counting {
    member: Member,
    questions: usize,
}

impl Peers for Counting {
    fn rank(&self) -> usize {
        self.member.rank()
    }

    fn size(&self) -> usize {
        self.member.size()
    }

    fn exchange(
        &mut self,
        step: &'static str,
        out: &mut Vec<Vec<u8>>,
        into: &mut Vec<Vec<u8>>,
    ) -> Result<(), Error> {
        if step == "questions" {
            self.questions += out.iter().map(Vec::len).sum::<usize>();
        }
        self.member.exchange(step, out, into)
    }

    fn agree(&mut self, step: &'static str, numbers: Agreement) -> Result<Agreement, Error> {
        self.member.agree(step, numbers)
    }

    fn join_all(
        &mut self,
        step: &'static str,
        bytes: Vec<u8>,
        join: Join<'_>,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.member.join_all(step, bytes, join)
    }

    fn broadcast(&mut self, step: &'static str, bytes: &mut Vec<u8>) -> Result<(), Error> {
        self.member.broadcast(step, bytes)
    }
}

/// Analyses an archive with several ranks. Returns the result of the first, and the number of ranks that asked others.
fn among(archive: &Archive, options: &Options, ranks: usize) -> (Analysis, usize) {
    let one = |member: Member| {
        let mut peers = Counting { member, questions: 0 };
        let analysis = analyze_among(&mut peers, archive, options, &|_| {}).unwrap();
        (analysis, peers.questions > 0)
    };
    thread::scope(|scope| {
        let ranks: Vec<_> =
            crew(ranks).into_iter().map(|member| scope.spawn(|| one(member))).collect();
        let mut asking = 0;
        let mut first = None;
        for (rank, handle) in ranks.into_iter().enumerate() {
            let (analysis, asked) = handle.join().unwrap();
            assert_eq!(analysis.is_some(), rank == 0);
            asking += usize::from(asked);
            first = first.or(analysis);
        }
        (first.unwrap(), asking)
    })
}

/// Returns everything that users see of a result, as bytes.
fn bytes(analysis: &Analysis, directory: &Path) -> Vec<u8> {
    sums::hold(analysis);
    let path = directory.join("trace.cubex");
    analysis.write_report(&path).unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    bytes.extend(format!("{:?}", analysis.entries()).into_bytes());
    bytes.extend(format!("{:?}", analysis.findings()).into_bytes());
    bytes.extend(format!("{:?}", analysis.inefficient()).into_bytes());
    bytes.extend(format!("{:?}", analysis.unexplained()).into_bytes());
    bytes.extend(format!("{:?}", analysis.polling()).into_bytes());
    bytes.extend(format!("{:?}", analysis.not_computed()).into_bytes());
    bytes.extend(format!("{:?}", analysis.damage()).into_bytes());
    bytes.extend(format!("{:?}", analysis.pairs()).into_bytes());
    bytes.extend(format!("{:?}", (analysis.events(), analysis.independent_pairs())).into_bytes());
    bytes
}

/// Compares the results of several ranks with those of one process.
fn same_bytes(archive: &Archive, ranks: &[usize], least_asking: bool) {
    let directory = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    (options.threads, options.events_per_rank) = (1, 1);
    let alone = sums::analyze(archive, &options);
    let expected = bytes(&alone, directory.path());
    for (place, &count) in ranks.iter().enumerate() {
        // Short windows take long, and need not be tried with every number of ranks.
        let short = (place == ranks.len() / 2).then_some((Cut::Nanoseconds(3_001), 2));
        for (cut, threads) in [(Cut::Budget, 1)].into_iter().chain(short) {
            (options.cut, options.threads) = (cut, threads);
            let (analysis, asking) = among(archive, &options, count);
            let found = bytes(&analysis, directory.path());
            assert!(found == expected, "{count} ranks, {cut:?}");
            if least_asking && count > 1 {
                assert_eq!(asking, count, "ranks that asked others");
            }
        }
    }
}

#[test]
fn random_archives() {
    for seed in 0..3 {
        let directory = tempfile::tempdir().unwrap();
        let options = random::Options { ranks: 17 + seed, segments: 2, operations: 8, seed };
        random::generate(&options, directory.path(), &|_| {}).unwrap();
        let counts: &[usize] = if seed == 0 { &[1, 2, 3, 4, 8, 16] } else { &[3] };
        same_bytes(&Archive::open(directory.path()).unwrap(), counts, true);
    }
}

#[test]
fn random_programs_of_mpi() {
    for seed in 0..25 {
        let directory = tempfile::tempdir().unwrap();
        mpi::write(directory.path(), &mpi::random_program(seed));
        same_bytes(&Archive::open(directory.path()).unwrap(), &[2, 3], false);
    }
}

#[test]
fn programs_of_gets() {
    let directory = tempfile::tempdir().unwrap();
    let options = srumma::Options { ranks: 25, blocks: 4, rounds: 2, seed: 5 };
    srumma::generate(&options, directory.path(), &|_| {}).unwrap();
    same_bytes(&Archive::open(directory.path()).unwrap(), &[2, 7, 16], true);
    let directory = tempfile::tempdir().unwrap();
    let options = sor::Options { ranks: 64, iterations: 8, seed: 5 };
    sor::generate(&options, directory.path(), &|_| {}).unwrap();
    same_bytes(&Archive::open(directory.path()).unwrap(), &[2, 4, 16], true);
}

/// Above 1,024 processes the matrix has nodes instead, and a shard has several processes.
#[test]
fn more_processes_than_shards() {
    let directory = tempfile::tempdir().unwrap();
    let options = sor::Options { ranks: 1_100, iterations: 1, seed: 5 };
    sor::generate(&options, directory.path(), &|_| {}).unwrap();
    same_bytes(&Archive::open(directory.path()).unwrap(), &[3, 5], true);
}

#[test]
fn archives_of_other_tools() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/reference");
    for name in ["mpi_waits", "shmem_ops", "shmem_ops_tcp"] {
        same_bytes(&Archive::open(data.join(name)).unwrap(), &[2, 3, 16], false);
    }
}

/// Collectives whose members are missing are judged once all that could still come have ended, wherever they are read.
#[test]
fn archives_with_missing_files() {
    for seed in 0..2 {
        let directory = tempfile::tempdir().unwrap();
        let options = random::Options { ranks: 8, segments: 3, operations: 10, seed };
        random::generate(&options, directory.path(), &|_| {}).unwrap();
        std::fs::remove_file(directory.path().join("traces/1.evt")).unwrap();
        let archive = Archive::open(directory.path()).unwrap();
        let mut options = Options::default();
        options.threads = 1;
        let alone = sums::analyze(&archive, &options);
        let partial = |it: &dwell_analyze::NotComputed| it.pattern == "collectives" && it.calls > 0;
        assert!(alone.not_computed().iter().any(partial), "{:?}", alone.not_computed());
        same_bytes(&archive, &[2, 5], false);
    }
}

/// Most ranks of a small trace have nothing to do, and the results are the same.
#[test]
fn a_small_trace_stays_with_one_rank() {
    let directory = tempfile::tempdir().unwrap();
    let options = random::Options { ranks: 16, segments: 3, operations: 10, seed: 1 };
    random::generate(&options, directory.path(), &|_| {}).unwrap();
    let archive = Archive::open(directory.path()).unwrap();
    let mut options = Options::default();
    options.threads = 1;
    let alone = sums::analyze(&archive, &options);
    let (analysis, asking) = among(&archive, &options, 4);
    assert_eq!(asking, 0);
    assert!(bytes(&analysis, directory.path()) == bytes(&alone, directory.path()));
}
