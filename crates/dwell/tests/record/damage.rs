//! Recovery of real runs that were killed at random moments, and of what is left of them after random damage.
//!
//! The proofs are ignored here and run by `cargo xtask proofs`; a sample of each runs always.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dwell_model::archive;
use dwell_model::profile::{Row, rows};
use dwell_unify::recover::{Caution, recover};
use fastrand::Rng;
use otf2::{Archive, Event};

use crate::crash::done;
use crate::faults::Small;
use crate::lab::Lab;
use crate::trace::Trace;

/// Kills all processes of a program at nearly the same time.
fn kill(lab: &Lab) {
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let program = fs::read_link(entry.path().join("exe"));
        if program.is_ok_and(|program| program.starts_with(lab.path(""))) {
            let pid = entry.file_name();
            let _ = Command::new("kill").arg("-KILL").arg(pid).stderr(Stdio::null()).status();
        }
    }
}

/// Runs `die busy`, kills it at a random time, recovers it, and compares the trace with the reports of the processes.
/// Half of the recoveries are killed as well and started again. Returns the number of samples in the trace, or `None` if a
/// process had not reported counts.
fn killed_at_random(lab: &Lab, program: &Path, sampled: bool, seed: u64) -> Option<usize> {
    let mut random = Rng::with_seed(seed);
    let experiment = lab.experiment();
    let _ = fs::remove_dir_all(&experiment);
    for rank in 0..2 {
        let _ = fs::remove_file(lab.path(&format!("said.{rank}")));
    }
    let prefix = lab.path("said");
    let chunk = if random.u64(..2) == 0 { "chunk-size=256K" } else { "chunk-size=1M" };
    let arguments = [
        OsStr::new(env!("CARGO_BIN_EXE_dwell")),
        OsStr::new("run"),
        OsStr::new("-o"),
        experiment.as_os_str(),
        OsStr::new("--set"),
        OsStr::new(chunk),
        OsStr::new(if sampled { "--sample=1000" } else { "--trace" }),
        program.as_os_str(),
        OsStr::new("busy"),
        OsStr::new("300"),
        prefix.as_os_str(),
    ];
    // One in five is killed while it starts.
    let early = random.u64(..5) == 0;
    let wait = Duration::from_millis(random.u64(..if early { 2000 } else { 400 }));
    let (began, ready) = (Instant::now(), Cell::new(None::<Instant>));
    let run = lab.oshrun_until(2, &[], &arguments, |printed| {
        if printed.contains("ready") && ready.get().is_none() {
            ready.set(Some(Instant::now()));
        }
        let since = if early { Some(began) } else { ready.get() };
        if since.is_some_and(|since| since.elapsed() >= wait) {
            kill(lab);
        }
        false
    });
    assert_ne!(run.code, Some(0), "{run:?}");
    if random.u64(..2) == 0 {
        let mut recovery = Command::new(env!("CARGO_BIN_EXE_dwell"))
            .arg("recover")
            .arg(&experiment)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(random.u64(..60_000)));
        let _ = recovery.kill();
        recovery.wait().unwrap();
    }
    let done = done(lab, 2);
    let whole = (0..2).all(|rank| done.keys().any(|key| key.0 == rank));
    if !experiment.join("traces.otf2").exists() {
        let output = lab.dwell(&[OsStr::new("recover"), experiment.as_os_str()]);
        // Who is killed while it starts may have left nothing.
        assert!(output.status.code() == Some(0) || !whole, "seed {seed}: {output:?}");
    }
    if !whole {
        return None;
    }
    lab.accepted_by_otf2_print(&experiment);
    let trace = Trace::read(&experiment);
    for (key, expected) in &done {
        let found = trace.counts.get(key).copied().unwrap_or_default();
        let calls = expected.calls..=expected.calls + 3;
        assert!(calls.contains(&found.calls), "seed {seed}, {key:?}: {expected:?}, {found:?}");
    }
    Some(samples(&trace.archive))
}

/// Returns the number of samples in an archive.
fn samples(archive: &Archive) -> usize {
    let definitions = archive.definitions().unwrap();
    let of_location = |location| {
        let mut reader = archive.events(location).unwrap();
        let mut count = 0;
        while let Some(record) = reader.next().unwrap() {
            count += usize::from(matches!(record.event, Event::CallingContextSample(_)));
        }
        count
    };
    definitions.locations().map(|it| of_location(it.id)).sum()
}

fn random_kills(rounds: u64, sampled: bool) {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/die.c", &[]);
    let killed = (0..rounds).map(|round| killed_at_random(&lab, &program, sampled, round));
    let compared: Vec<usize> = killed.flatten().collect();
    let samples: usize = compared.iter().sum();
    eprintln!(
        "{rounds} runs were killed; {} had said what they did; {samples} samples",
        compared.len()
    );
    assert!(compared.len() as u64 * 2 >= rounds);
    assert_eq!(samples > 0, sampled, "{samples} samples");
}

#[test]
fn runs_killed_at_random_moments() {
    random_kills(3, false);
    random_kills(3, true);
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn proof_of_random_kills() {
    random_kills(100, false);
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn proof_of_random_kills_with_samples() {
    random_kills(100, true);
}

/// Records a run of two processes that kill themselves, and returns the directory that it leaves behind.
fn record(lab: &Lab, program: &Path, flags: &[&str], iterations: &str) -> PathBuf {
    let prefix = lab.path("said");
    let flags: Vec<&OsStr> = flags.iter().map(OsStr::new).collect();
    let command = [program.as_os_str(), "kill-all".as_ref(), iterations.as_ref(), prefix.as_ref()];
    let run = lab.measured(2, &[], &[&flags[..], &command].concat());
    let kept = lab.path(&format!("killed-{}", flags.len()));
    fs::rename(lab.experiment(), &kept).unwrap_or_else(|error| panic!("{error}: {run:?}"));
    kept
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to.join("open")).unwrap();
    fs::create_dir_all(to.join("traces")).unwrap();
    for entry in fs::read_dir(from.join("open")).unwrap().flatten() {
        fs::copy(entry.path(), to.join("open").join(entry.file_name())).unwrap();
    }
}

/// Returns the number of events that the program made, without those that recovery added. Checks that regions nest and
/// that times do not decrease.
fn events(directory: &Path) -> Result<u64, String> {
    let archive = Archive::open(directory).map_err(|error| error.to_string())?;
    let definitions = archive.definitions().map_err(|error| error.to_string())?;
    let ids = definitions.iter().filter_map(|definition| match definition {
        otf2::Definition::Attribute(it) => Some((it.id, definitions.string(it.name)?.to_string())),
        _ => None,
    });
    let cut = ids.collect::<BTreeMap<_, _>>().into_iter().find(|(_, name)| name == archive::CUT);
    let (cut, _) = cut.unwrap();
    let mut count = 0;
    for location in definitions.locations() {
        let mut reader = archive.events(location.id).map_err(|error| error.to_string())?;
        let (mut open, mut time, mut all) = (Vec::new(), 0, 0);
        while let Some(record) = reader.next().map_err(|error| error.to_string())? {
            if record.time.0 < time {
                return Err(format!("{}: time goes back", location.id));
            }
            time = record.time.0;
            all += 1;
            count += u64::from(!record.attributes.iter().any(|it| it.attribute == cut));
            match record.event {
                Event::Enter(enter) => open.push(enter.region),
                Event::Leave(leave) if open.pop() != Some(leave.region) => {
                    return Err(format!("{}: regions do not nest", location.id));
                }
                _ => {}
            }
        }
        if !open.is_empty() || location.number_of_events != all {
            return Err(format!("{}: {open:?} are open, {all} events", location.id));
        }
    }
    Ok(count)
}

/// Returns the rows of all profiles in a directory, by location.
fn profiles(directory: &Path) -> BTreeMap<PathBuf, Vec<Row>> {
    let Ok(entries) = fs::read_dir(directory.join("profile")) else { return BTreeMap::new() };
    let of = |path: &Path| rows(&fs::read(path).unwrap()).map(|(_, row)| row).collect();
    entries.flatten().map(|it| it.path()).map(|path| (path.clone(), of(&path))).collect()
}

/// Damages a file of a directory in a random way. Returns a description.
fn damage(open: &Path, random: &mut Rng) -> String {
    let mut names: Vec<_> =
        fs::read_dir(open).unwrap().flatten().map(|it| it.file_name()).collect();
    names.sort();
    let pick = |random: &mut Rng| names[random.usize(..names.len())].clone();
    let name = pick(random);
    let path = open.join(&name);
    let mut bytes = fs::read(&path).unwrap_or_default();
    // Most of a file is reserved space: more often than not, something that is used is hit.
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0) as u64 + 1;
    let length = bytes.len() as u64;
    let range = if random.u64(..5) > 0 { used } else { length.max(1) };
    let at = random.u64(..range);
    let at = at.min(length.saturating_sub(1)) as usize;
    let page = at / 4096 * 4096;
    let to = |count: u64, bytes: &[u8]| (at + count as usize).min(bytes.len());
    let what = match random.u64(..12) {
        _ if bytes.is_empty() => "nothing".into(),
        0 => {
            bytes[at] ^= 1 << random.u64(..8);
            format!("a bit at {at}")
        }
        1 => {
            bytes[at] = random.u8(..);
            format!("a byte at {at}")
        }
        2 => {
            let end = (page + 4096).min(bytes.len());
            bytes[page..end].fill(0);
            format!("zeros in page {page}")
        }
        3 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        4 => {
            fs::remove_file(&path).unwrap();
            return format!("{name:?}: removed");
        }
        5 => {
            bytes.clear();
            "emptied".into()
        }
        6 => {
            let other = pick(random);
            let there = fs::read(open.join(&other)).unwrap_or_default();
            fs::write(open.join(&other), &bytes).unwrap();
            bytes = there;
            format!("swapped with {other:?}")
        }
        7 => {
            let end = to(random.u64(..2000), &bytes);
            bytes[at..end].fill_with(|| random.u8(..));
            format!("garbage at {at}..{end}")
        }
        8 => {
            let end = to(random.u64(..5000), &bytes);
            bytes[at..end].fill(0);
            format!("zeros at {at}..{end}")
        }
        9 => {
            let from = random.u64(..used) as usize / 4096 * 4096;
            let count = 4096.min(bytes.len() - from).min(bytes.len() - page);
            bytes.copy_within(from..from + count, page);
            format!("page {from} at {page}")
        }
        10 => {
            let end = to(random.u64(..300), &bytes);
            bytes.drain(at..end);
            format!("without {at}..{end}")
        }
        _ => {
            let end = to(random.u64(..300), &bytes);
            let copy = bytes[at..end].to_vec();
            bytes.splice(at..at, copy);
            format!("{at}..{end} twice")
        }
    };
    fs::write(&path, bytes).unwrap();
    format!("{name:?}: {what}")
}

fn random_damage(rounds: u64) {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/die.c", &[]);
    let runs = [
        record(&lab, &program, &["--set", "chunk-size=256K"], "40"),
        record(&lab, &program, &["--set", "chunk-size=256K", "--profile"], "150"),
        record(&lab, &program, &["--set", "chunk-size=256K", "--unwind", "3"], "4000"),
    ];
    let work = lab.path("work");
    let whole: Vec<(u64, BTreeMap<PathBuf, Vec<Row>>)> = runs
        .iter()
        .map(|run| {
            copy(run, &work);
            let recovered = recover(&work, &[], Caution::Refuse).unwrap();
            assert_eq!(recovered.damage, Vec::<String>::new());
            (events(&work).unwrap(), profiles(&work))
        })
        .collect();
    assert_eq!(whole[1].1.len(), 2, "both processes have a profile");
    let (mut told, mut refused, mut harmless) = (0, 0, 0);
    for seed in 0..rounds {
        let mut random = Rng::with_seed(seed);
        // The large one is rarely needed.
        let which = [0, 0, 0, 1, 1, 2][random.u64(..6) as usize];
        copy(&runs[which], &work);
        let times = 1 + random.u64(..3);
        let what: Vec<String> =
            (0..times).map(|_| damage(&work.join("open"), &mut random)).collect();
        let began = Instant::now();
        let result = recover(&work, &[], Caution::Refuse);
        assert!(began.elapsed() < Duration::from_secs(60), "seed {seed}: {what:?}");
        let Ok(recovered) = result else {
            refused += 1;
            continue;
        };
        let archive = Archive::open(&work).unwrap();
        let said = archive.anchor().property(archive::DAMAGED).is_some();
        assert_eq!(said, !recovered.damage.is_empty(), "seed {seed}: {what:?}");
        let found = events(&work).unwrap_or_else(|error| panic!("seed {seed}: {what:?}: {error}"));
        let (events, rows) = &whole[which];
        assert!(said || found >= *events, "seed {seed}: {found} of {events}, {what:?}");
        assert!(said || profiles(&work) == *rows, "seed {seed}: another profile, {what:?}");
        if said { told += 1 } else { harmless += 1 }
    }
    eprintln!(
        "{rounds} directories were damaged: {told} recoveries told it, {refused} refused, \
         {harmless} lost nothing"
    );
    assert!(told > rounds / 3);
}

#[test]
fn no_damage_loses_events_in_silence() {
    random_damage(40);
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn proof_of_random_damage() {
    random_damage(3000);
}

/// A reader that has seen enough does not end the recovery.
#[test]
fn a_closed_pipe_is_no_reason_to_stop() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/die.c", &[]);
    let run = record(&lab, &program, &[], "40");
    fs::remove_file(run.join("open/1.facts")).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = Command::new(env!("CARGO_BIN_EXE_dwell"))
        .arg("recover")
        .arg(&run)
        .stdout(writer.try_clone().unwrap())
        .stderr(writer)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(1), "a process is missing");
    assert!(run.join("traces.otf2").exists());

    let info = lab.dwell(&[OsStr::new("info"), run.as_os_str()]);
    let text = String::from_utf8_lossy(&info.stdout);
    assert_eq!(info.status.code(), Some(1), "{text}");
    assert!(text.contains("recovered from damaged files: ") && !text.contains("sound"), "{text}");
    let analysis = lab.dwell(&[OsStr::new("analyze"), OsStr::new("--full"), run.as_os_str()]);
    let text =
        String::from_utf8_lossy(&analysis.stdout) + String::from_utf8_lossy(&analysis.stderr);
    assert!(text.contains("recovered from damaged files: "), "{text}");
}

/// Returns the number of calls in a trace, and of those that its properties report as lost.
fn recorded_and_lost(directory: &Path) -> (u64, u64) {
    let trace = Trace::read(directory);
    let recorded = trace.counts.values().map(|count| count.calls).sum();
    let lost = trace.archive.anchor().property(archive::LOST).unwrap_or("0 calls").to_owned();
    let lost = lost.strip_suffix(" calls").and_then(|count| count.parse().ok());
    (recorded, lost.unwrap_or_else(|| panic!("{:?}", trace.archive.anchor().properties)))
}

/// Returns the number of calls that the processes reported.
fn said(lab: &Lab) -> u64 {
    done(lab, 2).values().map(|count| count.calls).sum()
}

/// A run is killed after its budget was used up. The archive contains why recording ended, and how much is missing.
#[test]
fn why_recording_stopped_survives_a_kill() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/die.c", &[]);
    let run = record(
        &lab,
        &program,
        &["--set", "chunk-size=256K", "--max-size", "600K/process"],
        "30000",
    );
    let output = lab.dwell(&[OsStr::new("recover"), run.as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("recording stopped early: the size given by --max-size"), "{text}");
    let (recorded, lost) = recorded_and_lost(&run);
    assert!(lost > 10_000, "{lost}");
    assert_eq!(recorded + lost, said(&lab));
    let analysis = lab.dwell(&[OsStr::new("analyze"), OsStr::new("--full"), run.as_os_str()]);
    let text = String::from_utf8_lossy(&analysis.stdout);
    assert!(text.contains(&format!("{lost} calls are lost: the size given by")), "{text}");
}

/// Calls after the disk was full are counted, even if the run is killed later.
#[test]
fn calls_after_a_full_disk_are_counted() {
    let Some(lab) = Lab::open() else { return };
    let Some(disk) = Small::mount(&lab, "1500k") else { return };
    let program = lab.compile("tests/programs/die.c", &[]);
    let experiment = disk.0.join("x");
    let prefix = lab.path("said");
    for mode in ["kill-all", "normal"] {
        let _ = fs::remove_dir_all(&experiment);
        disk.enlarge("1500k");
        let command = [env!("CARGO_BIN_EXE_dwell"), "run", "--set", "chunk-size=256K", "-o"];
        let command = command.map(OsStr::new);
        let die = [experiment.as_ref(), program.as_os_str(), mode.as_ref(), "20000".as_ref()];
        let run = lab.oshrun(2, &[], &[&command[..], &die, &[prefix.as_os_str()]].concat());
        disk.enlarge("8m");
        if !experiment.join("traces.otf2").exists() {
            let output = lab.dwell(&[OsStr::new("recover"), experiment.as_os_str()]);
            assert_eq!(output.status.code(), Some(0), "{mode}: {output:?}\n{run:?}");
        }
        let (recorded, lost) = recorded_and_lost(&experiment);
        // In mode normal each process frees and finalises behind what it says.
        let more = if mode == "normal" { 4 } else { 0 };
        assert!(lost > 10_000 && recorded > 1_000, "{mode}: {recorded}, {lost}\n{run:?}");
        assert_eq!(recorded + lost, said(&lab) + more, "{mode}: {run:?}");
        let archive = Archive::open(&experiment).unwrap();
        let why = archive.anchor().property(archive::STOPPED).unwrap_or_default();
        assert!(why.contains("No space left on device"), "{mode}: {why}");
    }
}

/// Two runs of the same name have different scratch directories, and recovery uses those of one run only.
#[test]
fn scratch_directories_of_two_runs_do_not_meet() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/die.c", &[]);
    let scratch = lab.path("scratch");
    let flags = ["--scratch", scratch.to_str().unwrap()];
    let mut runs = Vec::new();
    for round in 0..2 {
        let run = record(&lab, &program, &flags, "50");
        assert!(!run.join("open/0.facts").exists());
        let kept = lab.path(&format!("run-{round}"));
        fs::rename(run, &kept).unwrap();
        runs.push(kept);
    }
    let mut scratches: Vec<PathBuf> =
        fs::read_dir(&scratch).unwrap().flatten().map(|entry| entry.path()).collect();
    assert_eq!(scratches.len(), 2, "{scratches:?}");
    let own = |run: &Path| {
        let id = fs::read_to_string(run.join("open/run")).unwrap();
        move |path: &PathBuf| path.to_str().unwrap().ends_with(id.trim())
    };
    let is_first = own(&runs[0]);
    scratches.sort_by_key(|path| !is_first(path));
    let recover = |run: &Path, from: &[&PathBuf]| {
        let mut arguments = vec![OsStr::new("recover"), run.as_os_str()];
        for from in from {
            arguments.push(from.as_os_str());
        }
        let output = lab.dwell(&arguments);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    // The wrong one.
    let (code, text) = recover(&runs[0], &[&scratches[1]]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("of another run"), "{text}");
    // Both.
    let (code, text) = recover(&runs[0], &[&scratches[1], &scratches[0]]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("of another run"), "{text}");
    lab.accepted_by_otf2_print(&runs[0]);
    // The right one, into its own directory.
    let (code, text) = recover(&runs[1], &[&scratches[1]]);
    assert_eq!(code, Some(0), "{text}");
}
