//! Several processes analyse a trace together: the results are the bytes that one process gives.
//!
//! The processes are threads here, each with messages as bytes and a part of the trace of its own. Real launchers and MPI
//! libraries carry them in the tests of the program.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;

use dwell_analyze::{Analysis, Cut, Options, Quantity, analyze_among};
use dwell_mpi::{Agreement, Error, Join, Member, Peers, crew};
use dwell_synth::{random, sor, srumma};
use otf2::Archive;

use crate::mpi;
use crate::support::sums;

/// A member that counts the bytes of questions and of results that it sends to others.
struct Counting {
    member: Member,
    questions: usize,
    /// Greatest number of bytes that it sent or received in one step, by the name of the step.
    most: BTreeMap<&'static str, usize>,
}

impl Counting {
    fn count(&mut self, step: &'static str, bytes: usize) {
        let most = self.most.entry(step).or_default();
        *most = bytes.max(*most);
    }
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
        let sum = |all: &[Vec<u8>]| all.iter().map(Vec::len).sum::<usize>();
        let sent = sum(out);
        if step == "questions" {
            self.questions += sent;
        }
        self.count(step, sent);
        self.member.exchange(step, out, into)?;
        self.count(step, sum(into));
        Ok(())
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
        let mut most = bytes.len();
        let joined = self.member.join_all(step, bytes, &mut |all, more| {
            join(all, more)?;
            most = most.max(all.len());
            Ok(())
        });
        self.count(step, most);
        joined
    }

    fn broadcast(&mut self, step: &'static str, bytes: &mut Vec<u8>) -> Result<(), Error> {
        self.member.broadcast(step, bytes)?;
        self.count(step, bytes.len());
        Ok(())
    }
}

/// Result of an analysis with several ranks.
struct Together {
    /// Everything that users see, as bytes.
    bytes: Vec<u8>,
    /// Number of ranks that asked others.
    asking: usize,
    /// Greatest number of bytes that any rank sent or received in one step, by the name of the step.
    most: BTreeMap<&'static str, usize>,
}

/// Analyses an archive with several ranks, which write their report together.
fn among(archive: &Archive, options: &Options, ranks: usize) -> Together {
    among_with([archive, archive], options, ranks)
}

/// Analyses an archive with several ranks. The first rank sees one archive, and all others see another.
fn among_with(archives: [&Archive; 2], options: &Options, ranks: usize) -> Together {
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("trace.cubex");
    let one = |member: Member| {
        let mut peers = Counting { member, questions: 0, most: BTreeMap::new() };
        let archive = archives[usize::from(peers.rank() > 0)];
        let joint = analyze_among(&mut peers, archive, options, &|_| {}).unwrap();
        joint.write_report(&mut peers, &report).unwrap();
        let is_first = peers.rank() == 0;
        assert_eq!(joint.analysis().is_some(), is_first);
        let seen = joint.analysis().map(|analysis| seen(analysis, &report));
        (seen, peers)
    };
    thread::scope(|scope| {
        let ranks: Vec<_> =
            crew(ranks).into_iter().map(|member| scope.spawn(|| one(member))).collect();
        let mut all = Together { bytes: Vec::new(), asking: 0, most: BTreeMap::new() };
        for handle in ranks {
            let (seen, peers) = handle.join().unwrap();
            all.asking += usize::from(peers.questions > 0);
            all.bytes.extend(seen.into_iter().flatten());
            for (step, bytes) in peers.most {
                let most = all.most.entry(step).or_default();
                *most = bytes.max(*most);
            }
        }
        all
    })
}

/// Returns everything that users see of the result of one process, as bytes.
fn bytes(analysis: &Analysis) -> Vec<u8> {
    sums::hold(analysis);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.cubex");
    analysis.write_report(&path).unwrap();
    seen(analysis, &path)
}

/// Returns everything that users see of a result and its report, which has the pairs, as bytes.
fn seen(analysis: &Analysis, report: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(report).unwrap();
    bytes.extend(format!("{:?}", analysis.entries()).into_bytes());
    bytes.extend(format!("{:?}", analysis.findings()).into_bytes());
    bytes.extend(format!("{:?}", analysis.inefficient()).into_bytes());
    bytes.extend(format!("{:?}", analysis.unexplained()).into_bytes());
    bytes.extend(format!("{:?}", analysis.polling()).into_bytes());
    bytes.extend(format!("{:?}", analysis.not_computed()).into_bytes());
    bytes.extend(format!("{:?}", analysis.damage()).into_bytes());
    bytes.extend(format!("{:?}", (analysis.events(), analysis.independent_pairs())).into_bytes());
    bytes.extend(format!("{:?}", (analysis.length(), analysis.time())).into_bytes());
    let totals: Vec<u64> = Quantity::all().map(|what| analysis.total(what)).collect();
    bytes.extend(format!("{totals:?}").into_bytes());
    bytes
}

/// Compares the results of several ranks with those of one process.
fn same_bytes(archive: &Archive, ranks: &[usize], least_asking: bool) {
    let mut options = Options::default();
    (options.threads, options.events_per_rank) = (1, 1);
    let alone = sums::analyze(archive, &options);
    let expected = bytes(&alone);
    for (place, &count) in ranks.iter().enumerate() {
        // Short windows take long, and need not be tried with every number of ranks.
        let short = (place == ranks.len() / 2).then_some((Cut::Nanoseconds(3_001), 2));
        for (cut, threads) in [(Cut::Budget, 1)].into_iter().chain(short) {
            (options.cut, options.threads) = (cut, threads);
            let found = among(archive, &options, count);
            assert!(found.bytes == expected, "{count} ranks, {cut:?}");
            if least_asking && count > 1 {
                assert_eq!(found.asking, count, "ranks that asked others");
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

/// Several ranks add up the pairs of some origins each, and write them to one list.
#[test]
fn more_pairs_than_one_rank_adds_up() {
    let directory = tempfile::tempdir().unwrap();
    let options = srumma::Options { ranks: 1_024, blocks: 20, rounds: 1, seed: 5 };
    srumma::generate(&options, directory.path(), &|_| {}).unwrap();
    let archive = Archive::open(directory.path()).unwrap();
    let mut options = Options::default();
    (options.threads, options.events_per_rank) = (1, 1);
    let alone = sums::analyze(&archive, &options);
    let pairs = alone.pairs().len();
    let one = |mut member: Member| {
        let joint = analyze_among(&mut member, &archive, &options, &|_| {}).unwrap();
        joint.write_report(&mut member, &directory.path().join("trace.cubex")).unwrap();
        joint.analysis().map(|analysis| analysis.pairs().len())
    };
    let own: Vec<_> = thread::scope(|scope| {
        let ranks: Vec<_> = crew(3).into_iter().map(|member| scope.spawn(|| one(member))).collect();
        ranks.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    assert!(own[0].is_some_and(|own| 0 < own && own < pairs), "{own:?} of {pairs}");
    let together = std::fs::read(directory.path().join("trace.cubex")).unwrap();
    alone.write_report(&directory.path().join("alone.cubex")).unwrap();
    assert!(std::fs::read(directory.path().join("alone.cubex")).unwrap() == together);
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
    let together = among(&archive, &options, 4);
    assert_eq!(together.asking, 0);
    assert!(together.bytes == bytes(&alone));
}

/// Steps in which results come together along a tree. What a rank sends in them follows from the call paths of the
/// program, not from its locations.
const ALONG_A_TREE: [&str; 6] = [
    "call paths",
    "call paths of all",
    "savings",
    "savings of all",
    "findings",
    "places of values",
];

/// No rank sends or receives more results because the trace has more locations; values come in pieces.
#[test]
fn results_of_a_rank_do_not_grow_with_the_trace() {
    let most = |processes: u64| {
        let directory = tempfile::tempdir().unwrap();
        let options = sor::Options { ranks: processes, iterations: 2, seed: 5 };
        sor::generate(&options, directory.path(), &|_| {}).unwrap();
        let mut options = Options::default();
        (options.threads, options.events_per_rank) = (1, 1);
        among(&Archive::open(directory.path()).unwrap(), &options, 4).most
    };
    let (small, large) = (most(64), most(4_096));
    for step in ALONG_A_TREE {
        assert!(small[step] > 0, "{step}");
        assert!(large[step] < 8 << 10, "{step}: {} bytes", large[step]);
        // Numbers of more digits are longer.
        assert!(large[step] < 2 * small[step], "{step}: {} and {}", small[step], large[step]);
    }
    // Histograms of the times of calls have a number of bins at most.
    for step in ["times of calls", "times of all calls"] {
        assert!(small[step] > 0 && large[step] < 64 << 10, "{step}: {} bytes", large[step]);
    }
    // All values are 4,096 * 8 bytes for each metric and call path, in pieces of less than 3 MiB.
    assert!(large["values"] > 32 << 10, "{large:?}");
    assert!(large["values"] < 4 * (3 << 20), "{large:?}");
    assert!(large["edges of pieces"] < 4 << 20, "{large:?}");
}

/// Other ranks learn from the first what they need, which is less than 16 bytes for each process.
#[test]
fn only_the_first_rank_reads_definitions() {
    let told = |processes: u64| {
        let (all, part) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let options = sor::Options { ranks: processes, iterations: 2, seed: 5 };
        sor::generate(&options, all.path(), &|_| {}).unwrap();
        std::fs::copy(all.path().join("traces.otf2"), part.path().join("traces.otf2")).unwrap();
        std::os::unix::fs::symlink(all.path().join("traces"), part.path().join("traces")).unwrap();
        let archives = [all, part].map(|it| (Archive::open(it.path()).unwrap(), it));
        assert!(archives[1].0.definitions().is_err());
        let mut options = Options::default();
        (options.threads, options.events_per_rank) = (1, 1);
        let alone = sums::analyze(&archives[0].0, &options);
        let found = among_with([&archives[0].0, &archives[1].0], &options, 3);
        assert!(found.bytes == bytes(&alone));
        found.most["definitions"]
    };
    // Both have more processes than the communication matrix has rows.
    let (small, large) = (told(1_100), told(3_100));
    assert!(large > small && large - small < 16 * 2_000, "{small} and {large} bytes");
}

#[test]
fn definitions_that_cannot_be_read_end_all_ranks() {
    let directory = tempfile::tempdir().unwrap();
    let options = random::Options { ranks: 16, segments: 3, operations: 10, seed: 1 };
    random::generate(&options, directory.path(), &|_| {}).unwrap();
    let archive = Archive::open(directory.path()).unwrap();
    std::fs::remove_file(directory.path().join("traces.def")).unwrap();
    let one = |mut member: Member| {
        analyze_among(&mut member, &archive, &Options::default(), &|_| {}).unwrap_err().to_string()
    };
    let told: Vec<String> = thread::scope(|scope| {
        let ranks: Vec<_> = crew(3).into_iter().map(|member| scope.spawn(|| one(member))).collect();
        ranks.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    assert!(told[0].contains("traces.def"), "{told:?}");
    assert!(told[1..].iter().all(|it| *it == format!("rank 0: {}", told[0])), "{told:?}");
}

#[test]
fn a_rank_that_cannot_write_is_named_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    // The values of a metric fill some pages.
    let options = sor::Options { ranks: 8_192, iterations: 1, seed: 1 };
    sor::generate(&options, directory.path(), &|_| {}).unwrap();
    let archive = Archive::open(directory.path()).unwrap();
    let mut options = Options::default();
    (options.threads, options.events_per_rank) = (1, 1);
    let (here, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let one = |mut member: Member| {
        // A directory that is not shared does not have the file that the first rank has begun.
        let directory = if member.rank() == 1 { &elsewhere } else { &here };
        let joint = analyze_among(&mut member, &archive, &options, &|_| {}).unwrap();
        assert!(joint.analysis().is_none_or(|it| it.write_report(Path::new("part")).is_err()));
        joint.write_report(&mut member, &directory.path().join("trace.cubex"))
    };
    let results: Vec<_> = thread::scope(|scope| {
        let ranks: Vec<_> = crew(2).into_iter().map(|member| scope.spawn(|| one(member))).collect();
        ranks.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    let told = results[0].as_ref().unwrap_err().to_string();
    assert!(told.starts_with("rank 1: ") && told.ends_with("no such file"), "{told}");
    assert!(results[1..].iter().all(Result::is_ok));
    assert_eq!(std::fs::read_dir(&here).unwrap().count(), 0);
}
