//! Functions that take longer are named with their lines, and by how much, on every way to synchronise.
//!
//! The programs know the processor time of each of their functions: `samples_truth.c` and `samples_truth.f90`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

use super::{Lab, Mpi};
use crate::caf;
use crate::lab::Run;
use crate::mpi::analysed;

/// Difference in seconds below which a function does not count as one that takes longer.
const SAME: f64 = 0.03;

/// Difference in seconds by which one function takes longer than another for certain: about 25 samples.
const CLEAR: f64 = 0.3;

/// A build of the programs.
enum Build {
    Mpi(Mpi, PathBuf),
    Shmem(PathBuf),
}

/// A function that is named, or that takes longer.
#[derive(Clone, Copy, Debug, Default)]
struct Amount {
    line: u64,
    seconds: f64,
    margin: f64,
}

impl Build {
    fn measured(&self, lab: &Lab, words: &[&OsStr]) -> Run {
        let with = |program: &PathBuf| {
            let program = program.clone().into_os_string();
            [&[OsStr::new("--sample").to_owned(), program][..], &owned(words)].concat()
        };
        match self {
            Self::Mpi(mpi, program) => mpi.measured(lab, 2, &borrowed(&with(program))),
            Self::Shmem(program) => lab.measured(2, &[], &borrowed(&with(program))),
        }
    }
}

fn owned(words: &[&OsStr]) -> Vec<std::ffi::OsString> {
    words.iter().map(|it| (*it).to_owned()).collect()
}

fn borrowed(words: &[std::ffi::OsString]) -> Vec<&OsStr> {
    words.iter().map(std::ffi::OsString::as_os_str).collect()
}

/// Gives a program a name that the next one has not.
fn kept(lab: &Lab, program: &Path, number: usize) -> PathBuf {
    let kept = lab.path(&format!("kept-{number}"));
    fs::rename(program, &kept).unwrap();
    kept
}

/// Returns the builds that the machine has compilers for, each with the modes that are tried on it.
fn builds(lab: &Lab) -> Vec<(Build, &'static str, &'static [&'static str])> {
    const C: &str = "samples_truth.c";
    let mut builds = Vec::new();
    if let Some(mpi) = Mpi::of_the_system().into_iter().next() {
        let compile = |options: &[&str]| {
            let program = mpi.compile(lab, &format!("tests/programs/{C}"), options);
            Build::Mpi(mpi.clone(), kept(lab, &program, options.len()))
        };
        builds.push((compile(&["-O1", "-g"]), C, &["both", "copies", "balanced"][..]));
        let fences = compile(&["-O1", "-g", "-DFENCES"]);
        builds.push((fences, C, &["relax", "faults", "sleeps", "balanced"]));
    }
    if Lab::open().is_some() {
        let program = lab.compile(&format!("tests/programs/{C}"), &["-O1", "-DSHMEM"]);
        builds.push((Build::Shmem(kept(lab, &program, 0)), C, &["callers", "inlined", "balanced"]));
    }
    if let Some((mpi, _)) = caf::open() {
        let program = caf::compile(lab, "tests/programs/samples_truth.f90");
        builds.push((Build::Mpi(mpi, program), "samples_truth.f90", &["relax", "balanced"]));
    }
    builds
}

/// Returns by how much longer rank 1 spent in each function than rank 0, as the program said. If rank 0 does not compute in
/// the same stretch, that is all of its time.
fn excess(source: &str, printed: &str, has_others: bool) -> BTreeMap<String, Amount> {
    let path = Lab::repository().join("tests/programs").join(source);
    let text = fs::read_to_string(path).unwrap();
    let line = |function: &str| {
        let marks = [format!("/* {function} */"), format!("! {function}")];
        text.lines().position(|it| marks.iter().any(|mark| it.ends_with(mark))).unwrap() as u64 + 1
    };
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for words in printed.lines().map(|it| it.split_whitespace().collect::<Vec<_>>()) {
        if let [rank, function, seconds] = words[..] {
            let sign = match rank {
                "1" => 1.0,
                _ if has_others => -1.0,
                _ => 0.0,
            };
            *sums.entry(function.to_owned()).or_default() += sign * seconds.parse::<f64>().unwrap();
        }
    }
    let longer = sums.into_iter().filter(|it| it.1 > SAME);
    let amount = |seconds, line| Amount { line, seconds, margin: 0.0 };
    longer.map(|(name, seconds)| (name.clone(), amount(seconds, line(&name)))).collect()
}

/// Returns the processor time that rank 1 spent between its calls, as the program said: in C also outside of its functions.
fn of_late_rank(printed: &str) -> f64 {
    let seconds = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["1", _, seconds] => seconds.parse::<f64>().ok(),
        _ => None,
    };
    let measured = printed.lines().find(|it| it.starts_with("1 ready "));
    let measured = measured.and_then(|it| it.rsplit_once(" on core ")?.1.parse().ok());
    measured.unwrap_or_else(|| printed.lines().filter_map(seconds).sum())
}

/// What Dwell says of the cause that is computing at rank 1.
#[derive(Debug)]
struct Named {
    functions: BTreeMap<String, Amount>,
    on_core: f64,
    /// Time without a core, and the rest of its time off the cores.
    ready: Option<f64>,
    asleep: f64,
    is_exact: bool,
    /// Set if the other rank computes there, too.
    has_others: bool,
}

impl Named {
    /// Holds the sum, the first function and the lines against those that the program knows.
    fn is_right(&self, spent: f64, truth: &BTreeMap<String, Amount>, about: &str) {
        // Only the samples are rough.
        let is_near = (self.on_core - spent).abs() < 0.01 * spent + 0.005;
        assert!(self.has_others || is_near && self.is_exact, "{spent} s on the core: {about}");
        let sorted = |of: &BTreeMap<String, Amount>| {
            let mut list: Vec<(f64, String)> =
                of.iter().map(|it| (it.1.seconds, it.0.clone())).collect();
            list.sort_by(|a, b| b.0.total_cmp(&a.0));
            list
        };
        let (found, known) = (sorted(&self.functions), sorted(truth));
        let second = known.get(1).map_or(0.0, |it| it.0);
        // A smaller difference may be chance.
        if let Some((_, greatest)) = known.first().filter(|it| it.0 - second > CLEAR) {
            assert_eq!(found.first().map(|it| &it.1), Some(greatest), "{about}");
        }
        for (function, found) in &self.functions {
            let line = truth.get(function).map_or(0, |it| it.line);
            assert!(line == 0 || found.line.abs_diff(line) <= 1, "{about}");
        }
    }
}

/// Returns what Dwell says of the cause that is computing at rank 1, if there is one that is its alone.
fn named(findings: &Value) -> Option<Named> {
    let causes = findings["causes"].as_array().unwrap();
    let is_late = |it: &&Value| {
        it["what"] == "computing"
            && it["spread"] == false
            && it["processes"][0]["who"].as_str().is_some_and(|it| it.ends_with(['1', '2']))
    };
    let cause = causes.iter().find(is_late)?;
    let parts = cause["sampled"]["parts"].as_array()?.iter();
    let number = |part: &Value, name: &str| part[name].as_f64().unwrap_or(0.0);
    let part = |it: &Value| {
        let amount = Amount {
            line: it["line"].as_u64().unwrap_or(0),
            seconds: number(it, "seconds"),
            margin: number(it, "margin_seconds"),
        };
        (it["function"].as_str().unwrap().to_owned(), amount)
    };
    let on_core = cause["sampled"]["on_core_seconds"].as_f64()?;
    let ready = cause["sampled"]["ready_seconds"].as_f64();
    Some(Named {
        functions: parts.map(part).collect(),
        on_core,
        ready,
        asleep: cause["computing_seconds"].as_f64()? - on_core - ready.unwrap_or(0.0),
        is_exact: cause["sampled"]["exact"] == true,
        has_others: cause["sampled"]["others_on_core_seconds"].is_number(),
    })
}

fn recorded(build: &Build, lab: &Lab, words: &[&str]) -> (String, Value) {
    let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    let run = build.measured(lab, &words);
    assert_eq!(run.code, Some(0), "{run:?}");
    analysed(lab, &lab.experiment());
    let findings = fs::read(lab.experiment().join("findings.json")).unwrap();
    (run.stdout, serde_json::from_slice(&findings).unwrap())
}

/// Tries each mode of each build `rounds` times, or only once. The function that is named first must be the one that takes
/// longest, with its line. Returns the number of amounts that are inside their margins, and of all.
fn tried(rounds: usize) -> (u32, u32) {
    let lab = Lab::bare();
    let (mut inside, mut all) = (0, 0);
    for (build, source, modes) in builds(&lab) {
        for mode in modes.iter().cycle().take(modes.len() * rounds) {
            let (printed, findings) = recorded(&build, &lab, &[mode]);
            // Another program may have taken the core of rank 0.
            let Some(cause) = named(&findings) else { continue };
            let truth = excess(source, &printed, cause.has_others);
            let about = format!("{source} {mode}: {cause:?}, {truth:?}");
            cause.is_right(of_late_rank(&printed), &truth, &about);
            for (function, found) in &cause.functions {
                let truth = truth.get(function).copied().unwrap_or_default();
                let good = (found.seconds - truth.seconds).abs() <= found.margin;
                eprintln!("{about} {}", if good { "inside" } else { "outside" });
                inside += u32::from(good);
                all += 1;
            }
        }
    }
    (inside, all)
}

#[test]
fn functions_that_take_longer_are_named() {
    let rounds: Option<usize> = env::var("DWELL_ROUNDS").ok().and_then(|it| it.parse().ok());
    let (inside, all) = tried(rounds.unwrap_or(1));
    // On a machine with other work amounts are rough, and a few amounts prove nothing.
    let least = if rounds.is_none() { 0.0 } else { 0.92 };
    eprintln!("{inside} of {all} amounts are inside their margins");
    assert!(all > 0 && f64::from(inside) >= least * f64::from(all), "{inside} of {all}");
}

/// A process that is not on a core sleeps, or is ready and has none.
#[test]
fn time_off_the_cores_is_told_apart() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/samples_truth.c", &["-O1", "-g"]);
    let build = Build::Mpi(mpi, program);
    for (mode, is_asleep) in [("sleeps", true), ("shares", false)] {
        let (printed, findings) = recorded(&build, &lab, &[mode]);
        let off = printed.lines().find_map(|it| it.strip_prefix("1 ready ")).unwrap();
        let (ready, asleep) = off.split_once(" asleep ").unwrap();
        let asleep = asleep.split_once(' ').unwrap().0;
        let truth: [f64; 2] = [ready, asleep].map(|it| it.parse().unwrap());
        let Named { ready, asleep, .. } = named(&findings).expect("rank 1 is late");
        let found = [ready.expect("the system counts it"), asleep];
        let about = format!("{mode}: ready and asleep {found:?}, {truth:?} in truth");
        eprintln!("{about}");
        // What is less than a millisecond in one of the 40 rounds is not told.
        let is_near = |(found, truth): (f64, f64)| (found - truth).abs() < 0.02 * truth + 0.040;
        assert!(found.into_iter().zip(truth).all(is_near), "{about}");
        assert!(truth[usize::from(is_asleep)] > 0.7, "{about}");
    }
}

/// A program with a period of its own is not shown as one half of it. Nothing can be done about a period of exactly one tick of
/// the system, at which intervals of processor time end. What other programs do may fit the period by chance, but not each time.
#[test]
fn periods_of_the_program_are_not_taken_for_the_whole() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/samples_truth.c", &["-O1", "-g"]);
    let build = Build::Mpi(mpi, program);
    for period in ["7", "8", "10"] {
        let is_half = |_| {
            let (_, findings) = recorded(&build, &lab, &["period", period]);
            let named = named(&findings).expect("rank 1 is late").functions;
            let seconds = |name: &str| named.get(name).map_or(0.0, |it| it.seconds);
            let share = seconds("relax") / (seconds("relax") + seconds("flux"));
            eprintln!("period of {period} ms: {:.1} %", share * 100.0);
            // Two hundred samples are right to 7 points in 95 of 100 cases.
            (share - 0.5).abs() <= 0.12
        };
        assert!((0..3).any(is_half), "a period of {period} ms is not halved");
    }
}
