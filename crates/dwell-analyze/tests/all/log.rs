//! The dependency log has the same bytes however it is made, is small beside the trace, and notices damage.
//!
//! What it says is compared with a search in `brute_force`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;

use dwell_analyze::{
    CriticalPath, Cut, Delay, Error, Joint, LocationNumber, Options, Quantity, analyze,
    analyze_among, least_memory,
};
use dwell_log::read::{DependencyLog, LogError};
use dwell_mpi::crew;
use dwell_synth::{halo, ring, sor, srumma};
use otf2::Archive;

use crate::brute_force::random;

/// Files by name.
type Files = BTreeMap<String, Vec<u8>>;

fn files(directory: &Path) -> Files {
    let file =
        |it: fs::DirEntry| (it.file_name().into_string().unwrap(), fs::read(it.path()).unwrap());
    fs::read_dir(directory).unwrap().map(|it| file(it.unwrap())).collect()
}

/// Files of a log, and what follows from it: costs in the order of locations, the critical path, and its time by location
/// and call path.
#[derive(PartialEq, Eq)]
struct Made {
    files: Files,
    delays: Vec<Delay>,
    critical: CriticalPath,
    times: Vec<(u32, usize, u64)>,
}

/// Returns the time of the critical path by location and call path, given what ranks know of their own locations.
fn times(log: &Path, of: &[&dyn Fn(LocationNumber, usize) -> u64]) -> Vec<(u32, usize, u64)> {
    let log = DependencyLog::open(log).unwrap();
    let mut list = Vec::new();
    for number in 0..log.locations() {
        let location = LocationNumber::new(number);
        for path in 0..log.location(location).unwrap().unwrap().paths().len() {
            let time = of.iter().map(|of| of(location, path)).sum();
            list.push((number, path, time));
        }
    }
    list.retain(|it| it.2 > 0);
    list
}

/// Analyses an archive and returns its log.
fn log(archive: &Archive, options: &Options) -> Made {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options.clone();
    let place = directory.path().join("log");
    options.log = Some(place.clone());
    let analysis = analyze(archive, &options, &|_| {}).unwrap();
    let delays = analysis.delays().unwrap();
    let critical = analysis.critical_path().unwrap().clone();
    let times =
        times(&place, &[&|at, path| analysis.at_call_path(at, path, Quantity::CriticalPath)]);
    assert_eq!(times.iter().map(|it| it.2).sum::<u64>(), analysis.length());
    Made { files: files(&place), delays, critical, times }
}

/// Returns the files that several ranks write together.
fn log_among(archive: &Archive, options: &Options, ranks: usize) -> Made {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options.clone();
    options.log = Some(directory.path().into());
    let mut delays = Vec::new();
    let joints = thread::scope(|scope| {
        let ranks: Vec<_> = crew(ranks)
            .into_iter()
            .map(|mut member| {
                let options = &options;
                scope.spawn(move || analyze_among(&mut member, archive, options, &|_| {}).unwrap())
            })
            .collect();
        ranks.into_iter().map(|it| it.join().unwrap()).collect::<Vec<_>>()
    });
    for joint in &joints {
        delays.extend(joint.delays().unwrap());
    }
    let analysis = joints[0].analysis().unwrap();
    assert_eq!(analysis.total(Quantity::CriticalPath), analysis.length());
    let critical = analysis.critical_path().unwrap().clone();
    let of = |joint| move |at, path| Joint::at_call_path(joint, at, path, Quantity::CriticalPath);
    let all: Vec<_> = joints.iter().map(of).collect();
    let all: Vec<&dyn Fn(LocationNumber, usize) -> u64> = all.iter().map(|it| it as _).collect();
    let times = times(directory.path(), &all);
    Made { files: files(directory.path()), delays, critical, times }
}

fn options(threads: usize, cut: Cut) -> Options {
    let mut options = Options::default();
    (options.threads, options.cut, options.events_per_rank) = (threads, cut, 1);
    options
}

/// Compares the logs of an archive for threads, windows, memory and ranks. Returns one of them.
fn same_bytes(archive: &Archive, cuts: &[Cut], ranks: &[usize]) -> Files {
    let expected = log(archive, &options(1, Cut::Budget));
    let differs = |found: &Made, how: &str| {
        let names = |it: &Made| it.files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(found), names(&expected), "{how}");
        for (name, bytes) in &found.files {
            assert!(*bytes == expected.files[name], "{name} differs: {how}");
        }
        assert_eq!(found.delays, expected.delays, "{how}");
        assert_eq!(found.critical, expected.critical, "{how}");
        assert_eq!(found.times, expected.times, "{how}");
    };
    for threads in [2, 7] {
        differs(&log(archive, &options(threads, Cut::Budget)), &format!("{threads} threads"));
    }
    for &cut in cuts {
        differs(&log(archive, &options(2, cut)), &format!("{cut:?}"));
    }
    let mut small = options(1, Cut::Budget);
    small.memory = least_memory(1);
    differs(&log(archive, &small), "least memory");
    for &ranks in ranks {
        let of = options(1, Cut::Budget);
        differs(&log_among(archive, &of, ranks), &format!("{ranks} ranks"));
    }
    let of = options(2, cuts[0]);
    differs(&log_among(archive, &of, 3), &format!("3 ranks, {:?}", cuts[0]));
    assert!(!expected.delays.is_empty());
    assert!(expected.critical.steps.len() > 1);
    expected.files
}

#[test]
fn archives_of_threads() {
    for seed in 0..12 {
        let directory = tempfile::tempdir().unwrap();
        random::generate(seed, directory.path());
        let archive = Archive::open(directory.path()).unwrap();
        let cuts = [Cut::Nanoseconds(1 + seed * 37 % 5_000), Cut::EveryEvent];
        same_bytes(&archive, &cuts, &[1, 2, 5]);
    }
}

/// Several files, whose processes do not belong to as many ranks.
#[test]
fn groups_of_processes() {
    let directory = tempfile::tempdir().unwrap();
    let of = dwell_synth::random::Options { ranks: 40, segments: 2, operations: 8, seed: 5 };
    dwell_synth::random::generate(&of, directory.path(), &|_| {}).unwrap();
    let archive = Archive::open(directory.path()).unwrap();
    let files = same_bytes(&archive, &[Cut::Nanoseconds(30_011)], &[2, 3, 7, 40]);
    let names: Vec<_> = files.keys().map(String::as_str).collect();
    assert_eq!(names, ["dependencies-0000", "dependencies-0001", "dependencies-0002"]);
}

/// Waits that do not fit into memory, and segments in many blocks.
#[test]
fn more_than_memory_holds() {
    let directory = tempfile::tempdir().unwrap();
    let of = srumma::Options { ranks: 4, blocks: 40, rounds: 100, seed: 7 };
    srumma::generate(&of, directory.path(), &|_| {}).unwrap();
    let archive = Archive::open(directory.path()).unwrap();
    let files = same_bytes(&archive, &[Cut::Nanoseconds(900_000_011)], &[3]);
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("dependencies-0000"), &files["dependencies-0000"]).unwrap();
    let log = DependencyLog::open(place.path()).unwrap();
    let location = log.location(LocationNumber::new(1)).unwrap().unwrap();
    assert!(location.waits().count() > 3_000, "{}", location.waits().count());
    assert!(location.segments().count() > 8_000);
    let ends: Vec<_> = location.waits().map(|it| it.unwrap().to).collect();
    assert!(ends.is_sorted_by(|later, earlier| later >= earlier));
}

/// Returns all files in the archive's directory.
fn size(directory: &Path) -> u64 {
    let of = |it: fs::DirEntry| match it.metadata().unwrap() {
        it if it.is_dir() => None,
        it => Some(it.len()),
    };
    let list =
        |path: &Path| -> u64 { fs::read_dir(path).unwrap().filter_map(|it| of(it.unwrap())).sum() };
    list(directory) + list(&directory.join("traces"))
}

/// The share of the log in the size of the trace, for programs whose calls all wait for others and for those that do not.
#[test]
fn size_beside_the_trace() {
    let share = |name: &str, generate: &dyn Fn(&Path)| {
        let directory = tempfile::tempdir().unwrap();
        generate(directory.path());
        let archive = Archive::open(directory.path()).unwrap();
        let bytes: usize =
            log(&archive, &options(1, Cut::Budget)).files.values().map(Vec::len).sum();
        let share = bytes as f64 * 100.0 / size(directory.path()) as f64;
        println!("{name}: {share:.1} %");
        assert!(share < 38.0, "{name}: {share:.1} %");
    };
    share("srumma", &|to| {
        let of = srumma::Options { ranks: 16, blocks: 16, rounds: 40, seed: 1 };
        srumma::generate(&of, to, &|_| {}).unwrap();
    });
    share("sor", &|to| {
        sor::generate(&sor::Options { ranks: 16, iterations: 200, seed: 1 }, to, &|_| {}).unwrap();
    });
    share("halo", &|to| {
        halo::generate(&halo::Options { ranks: 16, rounds: 200, seed: 1 }, to, &|_| {}).unwrap();
    });
    share("ring", &|to| {
        ring::generate(&ring::Options { ranks: 16, steps: 200, seed: 1 }, to, &|_| {}).unwrap();
    });
}

/// Reads everything that a log has.
fn read(directory: &Path) -> Result<usize, LogError> {
    let log = DependencyLog::open(directory)?;
    let mut count = 0;
    for number in 0..log.locations() {
        let location = log.location(LocationNumber::new(number))?.unwrap();
        location.verify()?;
        for segment in location.segments() {
            let segment = segment?;
            count += usize::from(location.paths()[segment.path].is_judged);
        }
        for piece in location.waits().chain(location.releases()) {
            count += usize::from(piece?.what == Quantity::PollingBlamed);
        }
    }
    Ok(count)
}

#[test]
fn damage_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    random::generate(3, directory.path());
    let archive = Archive::open(directory.path()).unwrap();
    let files = log(&archive, &options(1, Cut::Budget)).files;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("dependencies-0000");
    let whole = &files["dependencies-0000"];
    fs::write(&path, whole).unwrap();
    assert!(read(place.path()).unwrap() > 0);
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).unwrap();
        let error = read(place.path()).expect_err("a changed byte");
        assert!(matches!(error, LogError::Damaged { .. }), "byte {at}: {error}");
    }
    for length in (0..whole.len()).step_by(7) {
        fs::write(&path, &whole[..length]).unwrap();
        read(place.path()).expect_err("a file that is cut short");
    }
    fs::remove_file(&path).unwrap();
    assert!(matches!(read(place.path()), Err(LogError::Io(..))));
}

/// Numbers that make no sense under checksums that do.
#[test]
fn random_numbers_are_errors() {
    let directory = tempfile::tempdir().unwrap();
    random::generate(3, directory.path());
    let archive = Archive::open(directory.path()).unwrap();
    let files = log(&archive, &options(1, Cut::Budget)).files;
    let whole = &files["dependencies-0000"];
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("dependencies-0000");
    let mut random = 1_u64;
    let mut failed = 0;
    for _ in 0..400 {
        let mut bytes = whole.clone();
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let at = 36 + (random >> 33) as usize % (whole.len() - 36);
        bytes[at] = (random >> 25) as u8;
        // Makes the checksum of every block fit that is found where one was.
        reseal(whole, &mut bytes);
        fs::write(&path, &bytes).unwrap();
        failed += usize::from(read(place.path()).is_err());
    }
    assert!(failed > 40, "{failed}");
}

/// Computes the checksums of blocks anew, given the bytes before they were changed.
fn reseal(whole: &[u8], bytes: &mut [u8]) {
    let word = |at: usize| u32::from_le_bytes(whole[at..at + 4].try_into().unwrap());
    for tail in 36..whole.len().saturating_sub(8) {
        let length = word(tail) as usize;
        let Some(begin) = tail.checked_sub(length).filter(|it| *it >= 36 && length > 0) else {
            continue;
        };
        if crc32fast::hash(&whole[begin..tail]) == word(tail + 4) {
            let sum = crc32fast::hash(&bytes[begin..tail]);
            bytes[tail + 4..tail + 8].copy_from_slice(&sum.to_le_bytes());
        }
    }
}

#[test]
fn a_directory_that_cannot_be_made() {
    let directory = tempfile::tempdir().unwrap();
    random::generate(1, directory.path());
    let archive = Archive::open(directory.path()).unwrap();
    let mut options = options(1, Cut::Budget);
    options.log = Some(directory.path().join("traces.otf2/log"));
    let error = analyze(&archive, &options, &|_| {}).unwrap_err();
    assert!(matches!(error, Error::Log(..)), "{error}");
    assert!(error.to_string().contains("traces.otf2/log: "), "{error}");
}
