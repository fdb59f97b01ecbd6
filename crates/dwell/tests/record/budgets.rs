//! Programs that write without end, under a budget for the whole run and under one for memory. The budgets are kept to
//! the byte, the archive is sound, and missing calls are counted and reported.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::faults::messages;
use crate::lab::{Lab, Run};
use crate::mpi::Mpi;
use crate::trace::Trace;

const PROCESSES: u32 = 2;
const THREADS: u64 = 5;

/// Number of calls of each process of `mpi_endless` outside of loops, and in the loops of each thread.
struct Calls {
    beside: u64,
    each: u64,
}

impl Calls {
    fn of_a_process(&self) -> u64 {
        self.beside + THREADS * self.each
    }
}

/// Runs the program with this many calls of each thread, and with flags of `dwell run`.
fn run(mpi: &Mpi, lab: &Lab, program: &Path, each: u64, flags: &[&str]) -> Run {
    let (threads, each) = (THREADS.to_string(), each.to_string());
    let flags: Vec<&OsStr> = flags.iter().map(OsStr::new).collect();
    let command = [program.as_os_str(), threads.as_ref(), each.as_ref()];
    let run = mpi.measured(lab, PROCESSES, &[&flags[..], &command].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    run
}

/// Returns the number of calls of the program, from a run without a budget.
fn calls(mpi: &Mpi, lab: &Lab, program: &Path, each: u64) -> Calls {
    run(mpi, lab, program, 1, &[]);
    let made = Trace::read(&lab.experiment()).counts;
    let made: u64 = made.values().map(|count| count.calls).sum();
    Calls { beside: made / u64::from(PROCESSES) - THREADS, each }
}

/// Returns the memory that each process reports.
fn memory(run: &Run) -> BTreeMap<u64, u64> {
    let line = |line: &str| {
        let words: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [rank, bytes] = words[..] else { panic!("{line}") };
        (rank, bytes)
    };
    run.stdout.lines().map(line).collect()
}

/// Returns the output of `dwell analyze` and `dwell info`, after otf2-print has read the archive without a message.
fn said(lab: &Lab) -> (String, String) {
    let experiment = lab.experiment();
    lab.accepted_by_otf2_print(&experiment);
    let of = |words: &[&str]| {
        let words = words.iter().map(OsStr::new);
        let output = lab.dwell(&words.chain([experiment.as_os_str()]).collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let verdict = of(&["analyze"]);
    assert!(verdict.contains("\n   missing   "), "{verdict}");
    (of(&["analyze", "--full"]), of(&["info"]))
}

fn recorded(lab: &Lab) -> u64 {
    Trace::read(&lab.experiment()).counts.values().map(|count| count.calls).sum()
}

/// Returns the number before these words in the output of a run.
fn number(run: &Run, words: &str) -> u64 {
    let said = messages(run);
    let number = said.iter().find_map(|line| {
        let before = line.split_once(words)?.0;
        before.rsplit([' ', ':']).next()?.parse().ok()
    });
    number.unwrap_or_else(|| panic!("{words}: {said:?}"))
}

#[test]
fn all_processes_together() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/mpi_endless.c", &["-pthread"]);
    let calls = calls(&mpi, &lab, &program, 30_000);
    // Not a multiple of anything: room for four chunks of each process, and of the threads the last has none.
    let total: u64 = 2 * (4 * (256 * 1024 + 4096) + 4095);
    let flags = ["--set", "chunk-size=256K", "--max-size", &total.to_string()];
    let run = run(&mpi, &lab, &program, calls.each, &flags);
    let files = fs::read_dir(lab.experiment().join("traces")).unwrap().flatten();
    let events = files.filter(|file| file.path().extension() == Some(OsStr::new("evt")));
    let written: u64 = events.map(|file| file.metadata().unwrap().len()).sum();
    assert!(written <= total && written > total / 2, "{written} of {total}");
    let (lost, unseen) = (number(&run, " calls are lost"), number(&run, " calls of 4 threads"));
    let made = u64::from(PROCESSES) * calls.of_a_process();
    eprintln!("{written} of {total} bytes; of {made} calls {lost} are lost, {unseen} unseen");
    assert_eq!(recorded(&lab) + lost + unseen, made);

    let (analysis, info) = said(&lab);
    for text in [&analysis, &run.stderr] {
        assert!(text.contains("the size given by --max-size is used up"), "{text}");
    }
    assert!(analysis.contains("2 of 2 processes were cut off"), "{analysis}");
    assert!(analysis.contains(&format!("{lost} calls are lost: ")), "{analysis}");
    assert!(analysis.contains(&format!("{unseen} calls of 4 threads could not be")), "{analysis}");
    assert!(info.contains("DWELL::LOST") && info.contains("DWELL::UNRECORDED"), "{info}");
}

#[test]
fn memory_of_each_process() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/mpi_endless.c", &["-pthread"]);
    let calls = calls(&mpi, &lab, &program, 30_000);
    let (threads, each) = (THREADS.to_string(), calls.each.to_string());
    let plain = mpi.run(&lab, PROCESSES, &[program.as_os_str(), threads.as_ref(), each.as_ref()]);
    let most = memory(&plain);
    // Enough for the main thread and two more.
    let budget: u64 = 9_500_001;
    let run = run(&mpi, &lab, &program, calls.each, &["--memory", &budget.to_string()]);
    for (rank, bytes) in memory(&run) {
        let taken = bytes.saturating_sub(most[&rank]);
        eprintln!("rank {rank}: {taken} of {budget} bytes");
        assert!(taken <= budget && taken > budget / 3, "{rank}: {taken} of {budget}");
    }
    let unseen = number(&run, " calls of 6 threads");
    assert_eq!(unseen, 6 * calls.each);
    assert_eq!(recorded(&lab) + unseen, u64::from(PROCESSES) * calls.of_a_process());
    let (analysis, info) = said(&lab);
    let words = format!("{unseen} calls of 6 threads could not be recorded");
    assert!(analysis.contains(&words), "{analysis}");
    assert!(info.contains("DWELL::UNRECORDED"), "{info}");
}
