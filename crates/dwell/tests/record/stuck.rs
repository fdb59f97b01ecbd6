//! `dwell where` of programs that hang, and of one that does not.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::lab::Lab;
use crate::mpi::Mpi;
use crate::{armci, caf, gasnet, needs};

/// Asks where a run is.
fn asked(lab: &Lab, options: &[&str]) -> Output {
    let words = [&["where"][..], options].concat();
    let mut words: Vec<&OsStr> = words.into_iter().map(OsStr::new).collect();
    let experiment = lab.experiment();
    words.push(experiment.as_os_str());
    lab.dwell(&words)
}

fn json(output: &Output) -> Option<Value> {
    serde_json::from_slice(&output.stdout).ok()
}

/// Returns the files of a run, with their contents.
fn files(lab: &Lab) -> Vec<(PathBuf, u64)> {
    let entries = fs::read_dir(lab.experiment().join("open")).into_iter().flatten().flatten();
    let mut files: Vec<_> =
        entries.map(|it| (it.path(), it.metadata().map_or(0, |it| it.len()))).collect();
    files.sort();
    files
}

/// An answer in JSON and as text, and the exit code; and what analysis and recovery say after the run was killed.
struct Answer {
    json: Value,
    text: String,
    code: Option<i32>,
    /// Set if looking has changed no file.
    is_same: bool,
    analyzed: String,
    recovered: String,
}

impl Answer {
    /// Returns the group that a process is in.
    fn group(&self, rank: u64) -> &Value {
        let all = self.json["groups"].as_array().unwrap().iter();
        let mut of = all.filter(|it| it["ranks"].as_array().unwrap().contains(&rank.into()));
        of.next().unwrap_or_else(|| panic!("{:#}", self.json))
    }

    fn says(&self, rank: u64, what: &str, waits: &str) {
        assert!(self.is_same, "looking changes no files");
        self.says_of_one_that_records(rank, what, waits);
    }

    /// The same of a program that goes on to record while it hangs.
    fn says_of_one_that_records(&self, rank: u64, what: &str, waits: &str) {
        let group = self.group(rank);
        assert!(group["does"].as_str().unwrap().contains(what), "{group:#}");
        assert!(group["waits_for"].as_str().unwrap().contains(waits), "{group:#}");
    }
}

/// Remembers the first answer for which `holds` returns `true`. The run is killed then. Its text and exit code are those with
/// the options.
fn enough<'l>(
    lab: &'l Lab,
    options: &'l [&'l str],
    answer: &'l RefCell<Option<Answer>>,
    holds: &'l dyn Fn(&Value) -> bool,
) -> impl Fn(&str) -> bool + 'l {
    move |_| {
        let output = asked(lab, &["--json"]);
        let Some(json) = json(&output).filter(|it| holds(it)) else { return false };
        let before = files(lab);
        let output = asked(lab, options);
        let text = String::from_utf8(output.stdout).unwrap();
        let (code, is_same) = (output.status.code(), before == files(lab));
        *answer.borrow_mut() = Some(Answer {
            json,
            text,
            code,
            is_same,
            analyzed: String::new(),
            recovered: String::new(),
        });
        true
    }
}

fn of_shmem(mode: &str, holds: &dyn Fn(&Value) -> bool) -> Option<Answer> {
    of_shmem_asked(mode, &[], holds)
}

fn of_shmem_asked(mode: &str, options: &[&str], holds: &dyn Fn(&Value) -> bool) -> Option<Answer> {
    let lab = Lab::open()?;
    let program = lab.compile("tests/programs/hangs.c", &[]);
    let answer = RefCell::new(None);
    let experiment = lab.experiment();
    let dwell = [env!("CARGO_BIN_EXE_dwell"), "run", "-o"].map(OsStr::new);
    let program = [experiment.as_os_str(), program.as_os_str(), OsStr::new(mode)];
    lab.oshrun_until(
        4,
        &[],
        &[&dwell[..], &program[..]].concat(),
        enough(&lab, options, &answer, holds),
    );
    let answer = answer.into_inner();
    let mut answer = answer.unwrap_or_else(|| panic!("{mode}: {:?}", asked(&lab, &[])));
    let analyzed = lab.dwell(&[OsStr::new("analyze"), experiment.as_os_str()]);
    let recovered = lab.dwell(&[OsStr::new("recover"), experiment.as_os_str()]);
    answer.analyzed = String::from_utf8(analyzed.stdout).unwrap();
    answer.recovered = String::from_utf8(recovered.stdout).unwrap();
    Some(answer)
}

fn of_mpi(mpi: &Mpi, mode: &str, holds: &dyn Fn(&Value) -> bool) -> Answer {
    let lab = Lab::bare();
    let program = mpi.compile_once(&lab, "tests/programs/mpi_hangs.c");
    over_mpi(mpi, &lab, &program, mode, holds)
}

/// Asks about a program of three processes that `mpi` starts.
fn over_mpi(
    mpi: &Mpi,
    lab: &Lab,
    program: &Path,
    mode: &str,
    holds: &dyn Fn(&Value) -> bool,
) -> Answer {
    let answer = RefCell::new(None);
    let words = [program.as_os_str(), OsStr::new(mode)];
    mpi.measured_while(lab, 3, &words, enough(lab, &[], &answer, holds));
    answer.into_inner().unwrap_or_else(|| panic!("{}: {mode}: {:?}", mpi.name(), asked(lab, &[])))
}

fn has_circle(it: &Value) -> bool {
    it["circles"].as_array().is_some_and(|it| !it.is_empty())
}

fn is_deadlock(it: &Value) -> bool {
    it["circles"].as_array().is_some_and(|it| it.iter().any(|it| it["certain"] == true))
}

fn has_root(rank: u64, behind: u64) -> impl Fn(&Value) -> bool {
    move |it| {
        let root = &it["roots"][0];
        root["rank"] == rank && root["behind"] == behind
    }
}

#[test]
fn two_that_hold_the_locks_of_each_other_are_a_deadlock() {
    let Some(answer) = of_shmem("locks", &is_deadlock) else { return };
    assert_eq!(answer.code, Some(3), "{}", answer.text);
    answer.says(0, "in shmem_set_lock at hangs.c:", "a lock that PE 1 holds");
    answer.says(1, "in shmem_set_lock at hangs.c:", "a lock that PE 0 holds");
    let text = answer.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let deadlock =
        "Deadlock: PE 0 waits for a lock that PE 1 holds; PE 1 waits for a lock that PE 0 holds.";
    assert!(text.contains(deadlock), "{text}");
    let Answer { analyzed, recovered, .. } = &answer;
    assert!(recovered.starts_with(analyzed) && analyzed.lines().count() <= 12, "{analyzed}");
    let recovered = answer.recovered.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(recovered.contains(deadlock), "{recovered}");
    assert!(recovered.starts_with("What the 4 processes of this run were in when they ended"));
}

#[test]
fn a_flag_of_a_process_that_waits_for_the_lock_is_a_circle() {
    let in_lock = |it: &Value| {
        let all = it["groups"].as_array().unwrap();
        all.iter().any(|it| it["ranks"].as_array().unwrap().len() == 3) && has_circle(it)
    };
    let Some(answer) = of_shmem("flag", &in_lock) else { return };
    // Another process may write the flag, for all that is known.
    assert_eq!(answer.code, Some(0), "{}", answer.text);
    answer.says(0, "in shmem_long_wait_until", "which PE 1 wrote last");
    answer.says(3, "in shmem_set_lock", "a lock that PE 0 holds");
    assert!(answer.text.contains("A circle, if nobody else ends it"), "{}", answer.text);
    assert!(!answer.recovered.contains("Deadlock"), "{}", answer.recovered);
}

#[test]
fn a_process_that_does_not_come_to_a_barrier_is_named() {
    let options = ["--after", "600ms"];
    let Some(answer) = of_shmem_asked("missing", &options, &has_root(2, 3)) else { return };
    answer.says(2, "computing, last call shmem_barrier_all at hangs.c:", "");
    answer.says(0, "in shmem_barrier_all", "PE 2, not in the collective");
    assert!(
        answer.text.contains("3 processes wait for PE 2, which is computing"),
        "{}",
        answer.text
    );
    assert_eq!((answer.code, has_circle(&answer.json)), (Some(4), false), "{}", answer.text);
    assert!(answer.text.contains("none made a call in the last"), "{}", answer.text);
}

/// Another user may not see whether a process has the files mapped. That is no reason to take it for dead.
#[test]
fn processes_of_another_user_are_not_taken_for_dead() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/hangs.c", &[]);
    let (experiment, answer) = (lab.experiment(), RefCell::new(None));
    let enough = |_: &str| {
        if !json(&asked(&lab, &["--json"])).is_some_and(|it| has_root(2, 3)(&it)) {
            return false;
        }
        fs::set_permissions(lab.path(""), fs::Permissions::from_mode(0o755)).unwrap();
        let mut other = Command::new(env!("CARGO_BIN_EXE_dwell"));
        other.args(["where", "--json"]).arg(&experiment).uid(65534).gid(65534);
        *answer.borrow_mut() = Some(other.output());
        true
    };
    let dwell = [env!("CARGO_BIN_EXE_dwell"), "run", "-o"].map(OsStr::new);
    let program = [experiment.as_os_str(), program.as_os_str(), OsStr::new("missing")];
    lab.oshrun_until(4, &[], &[&dwell[..], &program[..]].concat(), enough);
    let Ok(output) = answer.into_inner().unwrap() else {
        return needs::missing("RIGHTS", "this user cannot become another");
    };
    match json(&output) {
        Some(json) => assert!(!json.to_string().contains("\"gone\""), "{json:#}"),
        // The recorder may have made files that only their owner reads.
        None => assert_eq!(output.status.code(), Some(2), "{output:?}"),
    }
}

#[test]
fn loops_that_poll_are_calls_that_wait() {
    let polls = |it: &Value| it.to_string().contains("again and again");
    let Some(answer) = of_shmem("polls", &polls) else { return };
    answer.says(0, "in shmem_long_test at hangs.c:", "a change that it asks for again and again");
    answer.says(3, "in shmem_barrier_all", "PE 0, not in the collective");
    assert_eq!((answer.code, has_circle(&answer.json)), (Some(0), false), "{}", answer.text);
}

#[test]
fn a_process_that_was_stopped_is_told() {
    let is_stopped = |it: &Value| has_root(1, 3)(it) && it.to_string().contains("\"stopped\"");
    let Some(answer) = of_shmem("stopped", &is_stopped) else { return };
    let text = answer.text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("PE 1, which is stopped by a signal or a debugger"), "{text}");
}

#[test]
fn a_healthy_run_is_no_deadlock() {
    let count = RefCell::new(0);
    // Nothing may panic here, since the run would go on.
    let holds = |it: &Value| {
        *count.borrow_mut() += u32::from(it["going_on"] == 4);
        is_deadlock(it) || *count.borrow() >= 5
    };
    let Some(answer) = of_shmem("healthy", &holds) else { return };
    assert!(!is_deadlock(&answer.json), "{}", answer.text);
}

/// Some leave broadcasts early, and some compute for longer than the time between two looks.
#[test]
fn a_healthy_run_is_watched_without_an_alarm() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile_once(&lab, "tests/programs/mpi_hangs.c");
        let (said, watcher) = (lab.path("said"), RefCell::new(None));
        let watched = |_: &str| {
            let mut watcher = watcher.borrow_mut();
            if watcher.is_none() && asked(&lab, &[]).status.success() {
                let mut where_is_it = Command::new(env!("CARGO_BIN_EXE_dwell"));
                where_is_it.args(["where", "--json", "--watch=300ms", "--after", "3s"]);
                let to = fs::File::create(&said).unwrap();
                let child = where_is_it.arg(lab.experiment()).stdout(to).spawn().unwrap();
                *watcher = Some((child, Instant::now()));
            }
            watcher.as_ref().is_some_and(|it| it.1.elapsed() > Duration::from_secs(4))
        };
        mpi.measured_while(&lab, 3, &[program.as_os_str(), OsStr::new("healthy")], watched);
        let (mut child, _) = watcher.into_inner().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "it ends with the run");
        let said = fs::read_to_string(&said).unwrap();
        let looks = serde_json::Deserializer::from_str(&said).into_iter::<Value>();
        let looks: Vec<Value> = looks.map(Result::unwrap).collect();
        assert!(looks.len() > 5, "{said}");
        assert!(!looks.iter().any(is_deadlock), "{said}");
    }
}

#[test]
fn different_collectives_are_a_deadlock() {
    for mpi in Mpi::of_the_system() {
        let answer = of_mpi(&mpi, "mismatch", &is_deadlock);
        answer.says(0, "in MPI_Barrier at mpi_hangs.c:", "ranks 1, 2, not in the collective");
        answer.says(2, "in MPI_Allreduce at mpi_hangs.c:", "rank 0, not in the collective");
        assert_eq!(answer.code, Some(3), "{}", answer.text);
    }
}

#[test]
fn a_lock_of_a_window_is_part_of_a_circle() {
    for mpi in Mpi::of_the_system() {
        let of = |it: &Value| {
            let circles = it["circles"].as_array().unwrap();
            circles.iter().any(|it| it["ranks"].as_array().unwrap().contains(&2.into()))
        };
        let answer = of_mpi(&mpi, "window", &of);
        answer.says(0, "in MPI_Barrier", "rank 2");
        answer.says(2, "in MPI_Win_", "a lock that rank 0 holds");
    }
}

#[test]
fn who_would_send_a_message_is_not_guessed() {
    for mpi in Mpi::of_the_system() {
        let answer = of_mpi(&mpi, "message", &has_root(1, 1));
        answer.says(0, "in MPI_Recv at mpi_hangs.c:", "an event whose process is not known");
        answer.says(2, "in MPI_Barrier", "ranks 0, 1, not in the collective");
        assert!(!has_circle(&answer.json), "{}", answer.text);
    }
}

#[test]
fn an_epoch_that_its_target_never_posts_names_the_target() {
    for mpi in Mpi::chosen_of_the_system() {
        let answer = of_mpi(&mpi, "start", &has_root(1, 2));
        answer.says(0, "in MPI_Win_start at mpi_hangs.c:", "rank 1, not in the epoch");
        assert_eq!((answer.code, has_circle(&answer.json)), (Some(0), false), "{}", answer.text);
    }
}

#[test]
fn epochs_that_wait_for_each_other_are_a_deadlock() {
    for mpi in Mpi::chosen_of_the_system() {
        let answer = of_mpi(&mpi, "epochs", &is_deadlock);
        answer.says(0, "in MPI_Win_wait at mpi_hangs.c:", "rank 1, not in the epoch");
        answer.says(1, "in MPI_Win_wait at mpi_hangs.c:", "rank 0, not in the epoch");
        assert_eq!(answer.json["circles"][0]["ranks"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn a_process_that_does_not_come_to_a_fence_is_named() {
    for mpi in Mpi::chosen_of_the_system() {
        let answer = of_mpi(&mpi, "fence", &has_root(1, 2));
        answer.says(0, "in MPI_Win_fence at mpi_hangs.c:", "rank 1, not in the collective");
    }
}

fn of_coarrays(mode: &str, holds: &dyn Fn(&Value) -> bool) -> Option<Answer> {
    let (mpi, lab) = caf::open()?;
    let program = caf::compile(&lab, "tests/programs/caf_hangs.f90");
    Some(over_mpi(&mpi, &lab, &program, mode, holds))
}

#[test]
fn images_that_wait_for_each_other_in_a_circle_are_a_deadlock() {
    let Some(answer) = of_coarrays("circle", &is_deadlock) else { return };
    answer.says(0, "in _gfortran_caf_sync_images at caf_hangs.f90:", "image 2");
    assert_eq!(answer.json["circles"][0]["ranks"], serde_json::json!([0, 1, 2]));
    assert_eq!(answer.code, Some(3), "{}", answer.text);
}

#[test]
fn a_lock_that_an_image_never_releases_is_part_of_a_deadlock() {
    let Some(answer) = of_coarrays("lock", &is_deadlock) else { return };
    answer.says(1, "in _gfortran_caf_lock at caf_hangs.f90:", "a lock that image 1 holds");
    answer.says(0, "in _gfortran_caf_sync_all", "images 2, 3, not in the collective");
}

#[test]
fn an_event_that_nobody_posts_names_who_posted_it_last() {
    let waits = |it: &Value| it.to_string().contains("_event_wait") && has_circle(it);
    let Some(answer) = of_coarrays("event", &waits) else { return };
    answer.says(0, "in _gfortran_caf_event_wait at caf_hangs.f90:", "which image 3 wrote last");
    assert_eq!(answer.code, Some(0), "{}", answer.text);
}

#[test]
fn reads_of_a_word_are_no_wait_for_its_process() {
    let polls = |it: &Value| it.to_string().contains("again and again") && has_root(0, 2)(it);
    let Some(answer) = of_coarrays("word", &polls) else { return };
    answer.says(0, "in _gfortran_caf_get at caf_hangs.f90:", "that it asks for again and again");
    assert!(!has_circle(&answer.json), "{}", answer.text);
}

/// Returns `true` if process 0 has recorded so much that its open call began before the two chunks that are read.
fn has_begun_before_the_last_chunks(lab: &Lab) -> bool {
    let events = fs::metadata(lab.experiment().join("open/0.0.evt"));
    events.is_ok_and(|it| it.len() >= 3 * otf2::chunk::EVENTS_SIZE)
}

#[test]
fn armci_that_hangs() {
    let Some((mpi, lab)) = armci::open() else { return };
    let program = armci::hooked(&mpi, &lab, "tests/programs/armci_hangs.c");
    let of =
        |mode: &str, holds: &dyn Fn(&Value) -> bool| over_mpi(&mpi, &lab, &program, mode, holds);
    let answer = of("mutexes", &is_deadlock);
    answer.says(0, "in ARMCI_Lock at armci_hangs.c:", "a lock that rank 1 holds");
    answer.says(2, "in ARMCI_Barrier", "ranks 0, 1, not in the collective");
    assert_eq!(answer.code, Some(3), "{}", answer.text);
    let answer = of("barrier", &has_root(1, 2));
    answer.says(0, "in ARMCI_Barrier", "rank 1, not in the collective");
    let polls = |it: &Value| it.to_string().contains("again and again") && has_root(0, 2)(it);
    let answer = of("word", &|it| polls(it) && has_begun_before_the_last_chunks(&lab));
    answer.says_of_one_that_records(
        0,
        "in ARMCI_Get at armci_hangs.c:",
        "that it asks for again and again",
    );
    assert!(!has_circle(&answer.json), "{}", answer.text);
}

#[test]
fn gasnet_that_hangs() {
    let lab = Lab::bare();
    let Some(run) = gasnet::hooked(&lab, "mpi", "tests/programs/gasnet_hangs.c") else { return };
    let of = |mode: &str, holds: &dyn Fn(&Value) -> bool| {
        let answer = RefCell::new(None);
        lab.launch(run(mode), enough(&lab, &[], &answer, holds));
        answer.into_inner().unwrap_or_else(|| panic!("{mode}: {:?}", asked(&lab, &[])))
    };
    let answer = of("barrier", &has_root(1, 1));
    answer.says_of_one_that_records(
        0,
        "in gex_Coll_BarrierBlocking at gasnet_hangs.c:",
        "1, not in the collective",
    );
    let answer = of("message", &|it| has_root(0, 1)(it) && has_begun_before_the_last_chunks(&lab));
    answer.says_of_one_that_records(
        0,
        "in GASNET_BLOCKUNTIL at gasnet_hangs.c:",
        "asks for again and again",
    );
    assert_eq!((answer.code, has_circle(&answer.json)), (Some(0), false), "{}", answer.text);
}

/// Returns `true` if a process of this run is an observer.
fn is_observed(lab: &Lab) -> bool {
    let ours = lab.experiment();
    let is_one = |it: &fs::DirEntry| {
        let read = |name| fs::read(it.path().join(name)).unwrap_or_default();
        let contains = |bytes: Vec<u8>, word: &[u8]| bytes.windows(word.len()).any(|it| it == word);
        contains(read("environ"), b"DWELL_OBSERVER=")
            && contains(read("cmdline"), ours.as_os_str().as_encoded_bytes())
    };
    fs::read_dir("/proc").unwrap().flatten().any(|it| is_one(&it))
}

/// An observer reports a run that stands still, and leaves it alone. It ends with the program.
#[test]
fn a_run_that_stands_still_is_reported_once() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/hangs.c", &[]);
    let experiment = lab.experiment();
    let report = experiment.join("hang.txt");
    let mut dwell = [env!("CARGO_BIN_EXE_dwell"), "run", "-o"].map(OsStr::new).to_vec();
    dwell.push(experiment.as_os_str());
    let observed = [&dwell[..], &["--hang-timeout", "2s"].map(OsStr::new)].concat();
    let command = [&observed[..], &[program.as_os_str(), OsStr::new("missing")]].concat();
    let (seen, observers) = (RefCell::new(None), RefCell::new(false));
    let run = lab.oshrun_until(4, &[], &command, |_| {
        *observers.borrow_mut() |= is_observed(&lab);
        // It would report again by then.
        let since = *seen.borrow_mut().get_or_insert_with(Instant::now);
        if !report.exists() {
            *seen.borrow_mut() = None;
        }
        report.exists() && since.elapsed() > Duration::from_secs(4)
    });
    let said = fs::read_to_string(&report).unwrap_or_else(|_| panic!("{run:?}"));
    assert!(said.contains("3 processes wait for PE 2, which is computing"), "{said}");
    assert!(run.stderr.contains(said.trim_end()), "{run:?}");
    assert_eq!(run.stderr.matches("the program was left running").count(), 1, "{run:?}");
    assert!(*observers.borrow());
    let ends = (0..50).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        !is_observed(&lab)
    });
    assert!(ends, "it ends with the program");
}

/// Who computes for longer than the timeout without anybody that waits, or goes on, is not reported.
#[test]
fn healthy_runs_are_observed_without_a_report() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile_once(&lab, "tests/programs/mpi_hangs.c");
        let began = RefCell::new(None);
        let words = ["--hang-timeout", "3s"].map(OsStr::new);
        let words = [&words[..], &[program.as_os_str(), OsStr::new("healthy")]].concat();
        let run = mpi.measured_while(&lab, 3, &words, |_| {
            let is_there = asked(&lab, &[]).status.success();
            let since = *began.borrow_mut().get_or_insert_with(Instant::now);
            is_there && since.elapsed() > Duration::from_secs(8)
        });
        assert!(!run.stderr.contains("left running"), "{run:?}");
        assert!(!lab.experiment().join("hang.txt").exists());
    }
}

#[test]
fn a_run_that_has_ended_is_refused() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/hangs.c", &[]);
    let run = lab.measured(2, &[], &[program.as_os_str()]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let output = asked(&lab, &[]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("the run has ended; next: dwell analyze"), "{said}");
}
