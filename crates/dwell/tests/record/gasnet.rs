//! GASNet-EX, compiled with the header of `dwell build flags`.
//!
//! Needs GASNet-EX in the directory `DWELL_GASNET`, or where `cargo xtask install` puts it; without it the tests say so
//! and pass, unless `DWELL_REQUIRE_GASNET=1`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use otf2::Event;
use otf2::enums::RmaSyncType;

use crate::chosen::chosen;
use crate::completions::{self, Completes};
use crate::lab::{Lab, Run, rows_of_tree};
use crate::mpi::{analysed, lines};
use crate::needs;
use crate::trace::{Count, Counts, Trace, said};
use crate::trial::Program;

/// A conduit of GASNet and a thread mode, which a program is compiled for.
#[derive(Clone, Copy, Debug)]
struct Gasnet<'a> {
    lab: &'a Lab,
    conduit: &'static str,
    mode: &'static str,
    /// Variables for the program.
    variables: &'static [(&'static str, &'static str)],
    /// Set if GASNet is the one with assertions.
    debug: bool,
}

/// Returns the directory of GASNet with assertions, which `cargo xtask proofs` builds.
fn debug_directory() -> Option<PathBuf> {
    let built = || Lab::repository().join("target/gasnet-debug");
    let directory = env::var_os("DWELL_GASNET_DEBUG").map_or_else(built, PathBuf::from);
    directory.canonicalize().ok().filter(|it| it.join("include").is_dir())
}

/// Returns the directory of GASNet.
fn directory() -> Option<PathBuf> {
    let built = || Lab::repository().join("target/gasnet");
    let directory = env::var_os("DWELL_GASNET").map_or_else(built, PathBuf::from);
    let directory = directory.canonicalize().ok().filter(|it| it.join("include").is_dir());
    if directory.is_none() {
        needs::missing("GASNET", "there is no GASNet");
    }
    directory
}

/// Compiles and links a program with the settings that GASNet was installed with.
const MAKEFILE: &str = "\
include $(GASNET)/include/$(CONDUIT)-conduit/$(CONDUIT)-$(MODE).mak
all:
\t$(GASNET_CC) $(GASNET_CPPFLAGS) $(GASNET_CFLAGS) -g -w -fPIE -fno-optimize-sibling-calls $(FLAGS) -c -o $(PROGRAM).o $(SOURCE)
\t$(GASNET_LD) $(GASNET_LDFLAGS) -pie -o $(PROGRAM) $(PROGRAM).o $(GASNET_LIBS) -lm
";

impl<'a> Gasnet<'a> {
    fn new(lab: &'a Lab, conduit: &'static str, mode: &'static str) -> Self {
        Self { lab, conduit, mode, variables: &[], debug: false }
    }

    /// Compiles a program of the repository, with the header of Dwell or without.
    fn compile(&self, source: &str, name: &str, hooked: bool) -> Option<PathBuf> {
        let Self { lab, conduit, mode, .. } = *self;
        let mut flags = String::new();
        if hooked {
            let folder = lab.path("header");
            let command = ["build", "flags", "gasnet", "-o"].map(OsStr::new);
            let output = lab.dwell(&[&command[..], &[folder.as_os_str()]].concat());
            assert!(output.status.success(), "{output:?}");
            flags = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        }
        let (makefile, program) = (lab.path("Makefile"), lab.path(name));
        fs::write(&makefile, MAKEFILE).unwrap();
        let mut make = Command::new("make");
        make.arg("-sf").arg(&makefile).current_dir(lab.path(""));
        let source = Lab::repository().join(source);
        let mut set = |name: &str, value: &OsStr| {
            let mut word = OsString::from(format!("{name}="));
            word.push(value);
            make.arg(word);
        };
        let place = if self.debug { debug_directory()? } else { directory()? };
        set("GASNET", place.as_os_str());
        set("CONDUIT", conduit.as_ref());
        set("MODE", mode.as_ref());
        set("PROGRAM", program.as_os_str());
        set("SOURCE", source.as_os_str());
        set("FLAGS", flags.as_ref());
        let output = make.output().unwrap();
        assert!(output.status.success(), "{self:?}: {}", String::from_utf8_lossy(&output.stderr));
        Some(program)
    }

    /// Returns the command that runs a program on two processes, recorded or not.
    fn command(&self, program: &Path, arguments: &[&OsStr], recorded: bool) -> Command {
        let experiment = self.lab.experiment();
        let mut words: Vec<&OsStr> = Vec::new();
        if self.conduit == "mpi" {
            words.extend(["mpirun.openmpi", "-n", "2"].map(OsStr::new));
        }
        if recorded {
            let _ = fs::remove_dir_all(&experiment);
            words.extend([env!("CARGO_BIN_EXE_dwell"), "run", "-o"].map(OsStr::new));
            words.push(experiment.as_os_str());
        }
        words.push(program.as_os_str());
        if self.conduit == "udp" {
            words.push(OsStr::new("2"));
        }
        words.extend(arguments);
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("GASNET_PSHM_NODES", "2").env("GASNET_SPAWNFN", "L");
        command.envs(self.variables.iter().copied());
        command
    }

    fn run(&self, program: &Path, arguments: &[&OsStr], recorded: bool) -> Run {
        self.lab.launch(self.command(program, arguments, recorded), |_| false)
    }
}

/// Compiles a program with the header. What is returned makes the command that records it with an argument, on two processes.
pub(crate) fn hooked<'a>(
    lab: &'a Lab,
    conduit: &'static str,
    source: &str,
) -> Option<impl Fn(&str) -> Command + 'a> {
    let gasnet = Gasnet::new(lab, conduit, "seq");
    let program = gasnet.compile(source, "hooked", true)?;
    Some(move |argument: &str| gasnet.command(&program, &[OsStr::new(argument)], true))
}

/// Every message has a handler that received it: both have the same number.
fn every_message_has_a_handler(trace: &Trace) {
    let mut messages: BTreeMap<u64, [u32; 2]> = BTreeMap::new();
    for (location, _) in trace.locations() {
        let mut reader = trace.archive.events(location).unwrap();
        while let Some(record) = reader.next().unwrap() {
            let Event::RmaSync(it) = record.event else { continue };
            let Some(attribute) = record.attributes.iter().next() else { continue };
            let otf2::AttributeValue::Uint64(number) = attribute.value else { panic!() };
            let received = it.sync_type == RmaSyncType::NotifyIn;
            messages.entry(number).or_default()[usize::from(received)] += 1;
        }
    }
    let sent: u32 = messages.values().map(|count| count[0]).sum();
    assert_eq!(sent, 50, "25 messages of each process");
    assert!(messages.values().all(|[sent, received]| sent == received), "{messages:?}");
}

fn does_the_same_and_is_counted(conduit: &'static str) {
    let source = "tests/programs/gasnet_families.c";
    for mode in chosen(vec!["seq", "par"]) {
        let lab = Lab::bare();
        if let Some(trace) = counted(&lab, conduit, mode, source, 90) {
            every_message_has_a_handler(&trace);
        }
    }
}

/// Runs a program that was compiled without the header, with it, and measured. All three print the same, and the trace has
/// the calls that the program counted, at least of this many kinds. Returns `None` if there is no GASNet.
fn counted(
    lab: &Lab,
    conduit: &'static str,
    mode: &'static str,
    source: &str,
    least: usize,
) -> Option<Trace> {
    directory()?;
    let gasnet = Gasnet::new(lab, conduit, mode);
    let plain = gasnet.compile(source, "plain", false)?;
    let hooked = gasnet.compile(source, "hooked", true)?;
    let plain = gasnet.run(&plain, &[], false);
    assert_eq!(plain.code, Some(0), "{gasnet:?} {plain:?}");
    let unmeasured = gasnet.run(&hooked, &[], false);
    let measured = gasnet.run(&hooked, &[], true);
    for run in [&unmeasured, &measured] {
        assert_eq!(run.code, plain.code, "{gasnet:?} {run:?}");
        assert_eq!(lines(&plain.stdout), lines(&run.stdout), "{gasnet:?}");
    }
    lab.accepted_by_otf2_print(&lab.experiment());
    analysed(lab, &lab.experiment());
    let trace = Trace::read(&lab.experiment());
    let told = said(&measured.stderr);
    assert!(told.len() >= least, "{gasnet:?} says too little of itself: {told:?}");
    for (what, count) in told {
        assert_eq!(trace.counts.get(&what), Some(&count), "{gasnet:?} {what:?}");
    }
    Some(trace)
}

/// A program of GASNet-1 cannot communicate before its segment is attached, and so the recording begins there. It ends when
/// `main` returns.
#[test]
fn programs_of_gasnet_1_do_the_same_and_are_counted() {
    for conduit in ["smp", "udp", "mpi"] {
        let lab = Lab::bare();
        counted(&lab, conduit, "par", "tests/programs/gasnet_legacy.c", 28);
    }
}

#[test]
fn every_family_does_the_same_and_is_counted_over_smp() {
    does_the_same_and_is_counted("smp");
}

#[test]
fn every_family_does_the_same_and_is_counted_over_udp() {
    does_the_same_and_is_counted("udp");
}

#[test]
fn every_family_does_the_same_and_is_counted_over_mpi() {
    does_the_same_and_is_counted("mpi");
}

/// Runs the program of all families over `smp` with these settings. Returns the trace, and what the program counted.
fn with_settings(
    lab: &Lab,
    variables: &'static [(&'static str, &'static str)],
) -> Option<(Trace, Counts)> {
    directory()?;
    let gasnet = Gasnet { variables, ..Gasnet::new(lab, "smp", "seq") };
    // Once for each lab.
    let known = Some(lab.path("hooked")).filter(|program| program.is_file());
    let compile = || gasnet.compile("tests/programs/gasnet_families.c", "hooked", true);
    let program = known.or_else(compile)?;
    let run = gasnet.run(&program, &[], true);
    assert_eq!(run.code, Some(0), "{run:?}");
    lab.accepted_by_otf2_print(&lab.experiment());
    analysed(lab, &lab.experiment());
    Some((Trace::read(&lab.experiment()), said(&run.stderr)))
}

/// Transfers through shared memory are counted and not recorded: the sums of the counters are what the program counted.
#[test]
fn transfers_through_shared_memory_can_be_counted_only() {
    let lab = Lab::bare();
    let variables = &[("DWELL_LAYER", "gasnet-transfers=count")];
    let Some((trace, told)) = with_settings(&lab, variables) else { return };
    let kind = |name: &str| match name {
        _ if name.starts_with("gex_AD_Op") => Some("shared_memory_atomics"),
        _ if !name.starts_with("gex_RMA_") && !name.starts_with("gex_VIS_") => None,
        _ if name.contains("Put") => Some("shared_memory_puts"),
        _ => Some("shared_memory_gets"),
    };
    let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
    for ((pe, name), count) in &told {
        let recorded = trace.counts.get(&(*pe, name.clone()));
        match kind(name) {
            Some(counter) => {
                *expected.entry(counter).or_default() += count.calls;
                assert_eq!(recorded, None, "{name}");
            }
            None => assert_eq!(recorded, Some(count), "{name}"),
        }
    }
    assert!(expected.len() == 3 && expected.values().all(|count| *count > 10), "{expected:?}");
    let words = ["report", "--metrics", "--json"].map(OsStr::new);
    let output = lab.dwell(&[&words[..], &[lab.experiment().as_os_str()]].concat());
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for (counter, count) in expected {
        let metric = format!("counter:{counter}");
        let rows = rows_of_tree(&json["metrics"]);
        let row = rows.iter().find(|(_, row)| row["metric"] == metric);
        assert_eq!(row.and_then(|(_, row)| row["value"].as_f64()), Some(count as f64), "{counter}");
    }
}

/// Handlers and locks are events without a length, or left out. Messages still have their handlers if these are events.
#[test]
fn handlers_and_locks_can_be_events_or_left_out() {
    let is_lock = |name: &str| name.starts_with("gex_HSL_");
    let lab = Lab::bare();
    let variables = &[("DWELL_LAYER", "gasnet-handlers=events,gasnet-locks=events")];
    let Some((trace, told)) = with_settings(&lab, variables) else { return };
    every_message_has_a_handler(&trace);
    for (what, count) in &told {
        assert_eq!(trace.counts.get(what), Some(count), "{what:?}");
    }
    assert!(told.keys().any(|(_, name)| is_lock(name)));
    for (location, _) in trace.locations() {
        let (mut reader, mut entered) = (trace.archive.events(location).unwrap(), None);
        while let Some(record) = reader.next().unwrap() {
            match record.event {
                Event::Enter(it) => entered = Some((record.time, trace.region(it.region))),
                Event::Leave(_) => {
                    let Some((time, name)) = entered.take() else { continue };
                    assert!(!is_lock(&name) || time == record.time, "{name}");
                }
                _ => {}
            }
        }
    }
    let variables = &[("DWELL_LAYER", "gasnet-handlers=off,gasnet-locks=off")];
    let Some((trace, told)) = with_settings(&lab, variables) else { return };
    for (what, count) in &told {
        // All others are handlers, which send the replies.
        let call = ["gex_", "gasnet_", "GASNET_"].iter().any(|it| what.1.starts_with(it));
        let left_out = is_lock(&what.1) || what.1.contains("Reply") || !call;
        assert_eq!(trace.counts.get(what), (!left_out).then_some(count), "{what:?}");
    }
}

/// Returns the name in GASNet's statistics of a call that it counts, without what tells its variants apart. Atomic operations
/// are counted only where they are not inline functions, and messages together with those of GASNet itself.
fn name_in_statistics(call: &str) -> Option<String> {
    let vis = [("Vector", "V"), ("Indexed", "I"), ("Strided", "S")];
    let (form, rest) = match call.strip_prefix("gex_VIS_") {
        Some(rest) => {
            let (word, letter) = vis.into_iter().find(|it| rest.starts_with(it.0))?;
            (letter, rest.strip_prefix(word)?)
        }
        None => ("", call.strip_prefix("gex_RMA_")?),
    };
    let (kind, mode) = rest.split_at_checked(3)?;
    let mode = match mode {
        "Blocking" => "",
        "BlockingVal" => "_VAL",
        "NB" => "_NB",
        "NBVal" => "_NB_VAL",
        "NBI" => "_NBI",
        "NBIVal" => "_NBI_VAL",
        _ => return None,
    };
    Some(format!("{}{form}{mode}", kind.to_ascii_uppercase()))
}

/// Reads calls and bytes of puts and gets from a file of GASNet's statistics.
fn statistics(path: &Path) -> BTreeMap<String, Count> {
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    let text = fs::read_to_string(path).unwrap();
    for line in text.lines() {
        // For instance: `0>  PUT_NB_BULK:  4  avg/min/max/total sz = 8.000/8/8/32`
        let Some((_, line)) = line.split_once("> ") else { continue };
        let Some((name, rest)) = line.trim().split_once(':') else { continue };
        let calls = rest.split_whitespace().next().and_then(|it| it.parse::<u64>().ok());
        let Some(calls) = calls else { continue };
        // Others say which algorithm GASNet has chosen.
        let forms = ["", "_VAL", "_NB", "_NB_VAL", "_NBI", "_NBI_VAL"];
        let name = name.trim_end_matches("_LOCAL").replace("_BULK", "");
        let kind = name.strip_prefix("PUT").or(name.strip_prefix("GET"));
        let is_form = |kind: &str| forms.contains(&kind.trim_start_matches(['V', 'I', 'S']));
        if !kind.is_some_and(is_form) {
            continue;
        }
        let bytes = rest.rsplit('/').next().and_then(|it| it.trim().parse::<u64>().ok());
        let count = counts.entry(name).or_default();
        count.calls += calls;
        count.bytes += bytes.filter(|_| rest.contains('/')).unwrap_or(0);
    }
    counts.retain(|_, count| count.calls > 0);
    counts
}

/// What is recorded is what GASNet counts itself, in a build with assertions.
#[test]
#[ignore = "slow: cargo xtask proofs"]
fn counts_are_those_of_gasnets_statistics() {
    assert!(debug_directory().is_some(), "cargo xtask proofs builds GASNet with assertions");
    for conduit in ["smp", "udp"] {
        let lab = Lab::bare();
        let gasnet = Gasnet { debug: true, ..Gasnet::new(&lab, conduit, "seq") };
        let program = gasnet.compile("tests/programs/gasnet_families.c", "hooked", true).unwrap();
        let mut command = gasnet.command(&program, &[], true);
        command.env("GASNET_STATSFILE", lab.path("statistics.%"));
        let run = lab.launch(command, |_| false);
        assert_eq!(run.code, Some(0), "{run:?}");
        let trace = Trace::read(&lab.experiment());
        for rank in 0..2 {
            let counted = statistics(&lab.path(&format!("statistics.{rank}")));
            let mut recorded: BTreeMap<String, Count> = BTreeMap::new();
            for ((pe, name), count) in &trace.counts {
                let Some(name) = name_in_statistics(name).filter(|_| *pe == rank) else { continue };
                let sum = recorded.entry(name).or_default();
                sum.calls += count.calls;
                sum.bytes += count.bytes;
            }
            assert!(recorded.len() > 15, "{recorded:?}");
            assert_eq!(recorded, counted, "{conduit}, process {rank}");
        }
    }
}

/// A Fourier transform computes the same under the recorder, and the trace has all its gets.
#[test]
fn a_fourier_transform_does_the_same_and_is_counted() {
    let (Some(_), lab) = (directory(), Lab::bare()) else { return };
    let gasnet = Gasnet::new(&lab, "smp", "seq");
    let source = "tests/programs/gasnet_ft.c";
    let Some(plain) = gasnet.compile(source, "plain", false) else { return };
    let Some(hooked) = gasnet.compile(source, "hooked", true) else { return };
    let (words, iterations, blocks) = (["16", "3", "4"].map(OsStr::new), 3, 4);
    let plain = gasnet.run(&plain, &words, false);
    let run = gasnet.run(&hooked, &words, true);
    assert_eq!((plain.code, run.code), (Some(0), Some(0)), "{run:?}");
    assert_eq!(lines(&plain.stdout), lines(&run.stdout));
    assert_eq!(plain.stdout.lines().count(), iterations);
    analysed(&lab, &lab.experiment());
    let trace = Trace::read(&lab.experiment());
    // Each process fetches its part of all planes, in blocks, from both.
    let calls = (16 * blocks * iterations) as u64;
    let bytes = (16 * 16 * 16 / 2 * 16 * iterations) as u64;
    for pe in 0..2 {
        let count = trace.counts.get(&(pe, "gex_RMA_GetNBI".into()));
        assert_eq!(count, Some(&Count { calls, bytes }));
    }
}

/// Processes that kill themselves leave files, from which `dwell recover` makes an archive with all that they did.
#[test]
fn killed_processes_are_recovered() {
    let (Some(_), lab) = (directory(), Lab::bare()) else { return };
    let gasnet = Gasnet::new(&lab, "smp", "seq");
    let source = "tests/programs/gasnet_families.c";
    let Some(program) = gasnet.compile(source, "hooked", true) else { return };
    let run = gasnet.run(&program, &[OsStr::new("killed")], true);
    assert_ne!(run.code, Some(0), "{run:?}");
    let output = lab.dwell(&[OsStr::new("recover"), lab.experiment().as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    analysed(&lab, &lab.experiment());
    let trace = Trace::read(&lab.experiment());
    // The death of the first process ends the other one, which may not have said all by then.
    let told = said(&run.stderr);
    assert!(told.len() >= 45, "{told:?}");
    for (what, count) in told {
        assert_eq!(trace.counts.get(&what), Some(&count), "{what:?}");
    }
}

/// Waits are found at GASNet, as long as they were, and not without a delay.
#[test]
fn waits_are_found_at_gasnet() {
    let (Some(_), lab) = (directory(), Lab::bare()) else { return };
    // Without this, puts and gets of processes on one machine go through shared memory and need no target.
    let variables = &[("GASNET_SUPERNODE_MAXSIZE", "1")];
    let gasnet = Gasnet { variables, ..Gasnet::new(&lab, "udp", "seq") };
    let Some(delays) = gasnet.compile("tests/programs/gasnet_delays.c", "delays", true) else {
        return;
    };
    let run = |words: &[&OsStr]| gasnet.run(&delays, words, true);
    let source = include_str!("../../../../tests/programs/gasnet_delays.c");
    let program = Program { lab: &lab, source, waiter: "Rank 1", run: &run };
    let trials = program.trials(&[
        "barrier", "split", "sum", "get", "put", "nbi", "event", "reply", "loop", "slow", "told",
        "tests",
    ]);
    trials.find("barrier", "barrier_wait", "gex_Coll_BarrierBlocking", "Rank 0");
    trials.find("split", "nonblocking_collective_wait", "gex_Event_Wait", "Rank 0");
    trials.find("sum", "nonblocking_collective_wait", "gex_Event_Wait", "Rank 0");
    trials.find("get", "wait_for_progress", "gex_RMA_GetBlocking", "Rank 0");
    trials.find("put", "wait_for_progress", "gex_RMA_PutBlocking", "Rank 0");
    trials.find("nbi", "wait_for_progress", "gex_NBI_Wait", "Rank 0");
    trials.find("event", "wait_for_progress", "gex_Event_Wait", "Rank 0");
    trials.find("reply", "late_reply", "GASNET_BLOCKUNTIL", "Rank 0");
    trials.find("loop", "late_reply", "gasnet_AMPoll", "Rank 0");
    trials.find("slow", "late_reply", "GASNET_BLOCKUNTIL", "Rank 0");
    trials.find("told", "late_signal", "GASNET_BLOCKUNTIL", "Rank 0");
    trials.find("tests", "test_without_poll", "gex_Event_Test", "Rank 1");
    // The handler began late in these two, and at once in the slow one.
    trials.find_cause("reply|loop", "gasnet_rma_sync_handler_delay");
}

/// A thread waits for a handler-safe lock that another thread of its process holds.
#[test]
fn contention_for_handler_safe_locks_is_found() {
    let (Some(_), lab) = (directory(), Lab::bare()) else { return };
    let gasnet = Gasnet::new(&lab, "smp", "par");
    let source = "tests/programs/gasnet_delays.c";
    let Some(delays) = gasnet.compile(source, "delays", true) else { return };
    let run = |words: &[&OsStr]| gasnet.run(&delays, words, true);
    let source = include_str!("../../../../tests/programs/gasnet_delays.c");
    let program = Program { lab: &lab, source, waiter: "Rank 1", run: &run };
    program.trials(&["lock"]).find("lock", "lock_contention", "gex_HSL_Lock", "Rank 1");
}

/// Language runtimes report to a tool through GASP: all that they report is a region, around the calls of GASNet that they
/// make, and waits are judged at GASNet.
#[test]
fn what_runtimes_report_is_recorded() {
    let (Some(_), lab) = (directory(), Lab::bare()) else { return };
    let gasnet = Gasnet::new(&lab, "smp", "seq");
    let Some(driver) = gasnet.compile("tests/programs/gasp_driver.c", "driver", true) else {
        return;
    };
    let plain = gasnet.run(&driver, &[], false);
    assert_eq!(plain.code, Some(0), "{plain:?}");
    let run = gasnet.run(&driver, &[], true);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(lines(&plain.stdout), lines(&run.stdout));
    lab.accepted_by_otf2_print(&lab.experiment());
    // Time is counted once, in the innermost region.
    analysed(&lab, &lab.experiment());
    let trace = Trace::read(&lab.experiment());
    let told = said(&run.stderr);
    assert_eq!(told.len(), 2 * 11, "{told:?}");
    for ((pe, name), count) in told {
        let name = name.replace('@', " at ");
        assert_eq!(trace.counts.get(&(pe, name.clone())), Some(&count), "{name}");
    }
    let output = lab.dwell(
        &["report", "--tree", "time", "--top", "1000", "--json"]
            .map(OsStr::new)
            .into_iter()
            .chain([lab.experiment().as_os_str()])
            .collect::<Vec<_>>(),
    );
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = rows_of_tree(&json["tree"]);
    let mut rows = rows.iter().map(|(_, row)| row);
    let put = rows.find(|row| row["call"] == "upc_memput at mg.upc:12").unwrap();
    let below = put["children"][0]["call"].as_str().unwrap_or_default();
    assert!(below.starts_with("gex_RMA_PutBlocking"), "{put}");
}

/// Puts that complete in another order than they were issued.
#[test]
fn operations_complete_when_the_trace_says_so() {
    let (Some(_), lab) = (directory(), Lab::bare()) else { return };
    // Without this, puts on one machine go through shared memory and are complete at once.
    let variables = &[("GASNET_SUPERNODE_MAXSIZE", "1")];
    let gasnet = Gasnet { variables, ..Gasnet::new(&lab, "udp", "seq") };
    let source = "tests/programs/completions_gasnet.c";
    let Some(program) = gasnet.compile(source, "completions", true) else { return };
    let run = gasnet.run(&program, &[], true);
    assert_eq!(run.code, Some(0), "{run:?}");
    completions::agree(&lab, 2, Completes::Numbered);
}
