//! Selection of calls to record: filters, groups, windows, pauses. Excluded calls leave no events, everything else is
//! unchanged, and the archive and the analysis report what is missing.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::process::Command;

use dwell_model::archive;
use otf2::Event;
use otf2::enums::MeasurementMode;

use crate::lab::{Lab, rows_of_tree};
use crate::mpi::Mpi;
use crate::needs;
use crate::trace::{Counts, Trace};

/// Runs heat and returns its trace.
fn heat(lab: &Lab, flags: &[&str]) -> Trace {
    let program = lab.path("heat");
    if !program.exists() {
        lab.compile("examples/heat/heat.c", &[]);
    }
    let flags: Vec<&OsStr> = flags.iter().map(OsStr::new).collect();
    let rest = [program.as_os_str(), OsStr::new("64"), OsStr::new("25")];
    let run = lab.measured(2, &[], &[flags.as_slice(), &rest].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    lab.accepted_by_otf2_print(&lab.experiment());
    Trace::read(&lab.experiment())
}

/// Returns the counts of functions whose names satisfy a condition.
fn only(counts: &Counts, fits: impl Fn(&str) -> bool) -> Counts {
    counts
        .iter()
        .filter(|(key, _)| fits(&key.1))
        .map(|(key, count)| (key.clone(), *count))
        .collect()
}

/// Returns sequence numbers of collectives at each location, in order, with the function.
fn numbers(trace: &Trace) -> BTreeMap<u64, Vec<(String, u64)>> {
    let mut all: BTreeMap<u64, Vec<(String, u64)>> = BTreeMap::new();
    for (location, pe) in trace.locations() {
        let mut reader = trace.archive.events(location).unwrap();
        let mut inside = String::new();
        while let Some(record) = reader.next().unwrap() {
            match record.event {
                Event::Enter(enter) => inside = trace.region(enter.region),
                Event::RmaCollectiveEnd(_) | Event::MpiCollectiveEnd(_) => {
                    let sequence = record.attributes.iter().find_map(|it| match it.value {
                        otf2::AttributeValue::Uint64(number) => Some(number),
                        _ => None,
                    });
                    all.entry(pe).or_default().push((inside.clone(), sequence.unwrap()));
                }
                _ => {}
            }
        }
    }
    all
}

/// Returns the output of the analysis.
fn analysed(lab: &Lab) -> String {
    let output =
        lab.dwell(&[OsStr::new("analyze"), OsStr::new("--full"), lab.experiment().as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    crate::sums::hold(&lab.experiment());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_filter_removes_exactly_what_it_names() {
    let Some(lab) = Lab::open() else { return };
    let whole = heat(&lab, &[]);
    let before = numbers(&whole);
    let filter = lab.path("heat.filter");
    let rules = "EXCLUDE shmem_double_*get shmem_barrier*\nINCLUDE shmem_double_get";
    fs::write(&filter, format!("SCOREP_REGION_NAMES_BEGIN\n{rules}\nSCOREP_REGION_NAMES_END\n"))
        .unwrap();
    let part = heat(&lab, &["--filter", filter.to_str().unwrap()]);
    let gone = |name: &str| name == "shmem_double_iget" || name.starts_with("shmem_barrier");
    assert!(!only(&whole.counts, gone).is_empty());
    assert_eq!(part.counts, only(&whole.counts, |name| !gone(name)));
    // Also those that bypass their hooks, as gets do.
    let calls: u64 = only(&whole.counts, gone).values().map(|count| count.calls).sum();
    let left_out = part.archive.anchor().property("DWELL::LEFT_OUT").map(ToString::to_string);
    assert_eq!(left_out, Some(format!("{calls} calls")));
    // Collectives that stayed have the numbers that they would have had.
    for (pe, list) in numbers(&part) {
        let left: Vec<_> = before[&pe].iter().filter(|it| !gone(&it.0)).cloned().collect();
        assert_eq!(list, left);
        assert!(list.iter().any(|it| it.1 > list.len() as u64), "{list:?}");
    }
    let said = analysed(&lab);
    let expected = "wait_for_progress: not computed: others may have been served in calls that were not \
                    recorded, as was asked: ";
    let line =
        said.lines().find(|line| line.starts_with(expected)).unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains("shmem_double_iget") && line.contains("shmem_barrier_all"), "{line}");
    assert!(said.contains("collectives: not computed: nothing is known of the calls"), "{said}");
    let info = lab.dwell(&[OsStr::new("info"), lab.experiment().as_os_str()]);
    let info = String::from_utf8_lossy(&info.stdout).into_owned();
    let listed = "not recorded   as was asked: shmem_barrier_all, shmem_double_iget";
    assert!(info.contains(listed), "{info}");
}

#[test]
fn groups_select_calls() {
    let Some(lab) = Lab::open() else { return };
    let whole = heat(&lab, &[]);
    let ends = ["shmem_init", "shmem_finalize"];
    let group = heat(&lab, &["--calls", "collective"]);
    let of_group = |name: &str| {
        let row = dwell_model::shmem::TABLE.find(name).unwrap();
        matches!(row.operation, dwell_model::operation::Operation::Collective(_))
            || ends.contains(&name)
    };
    assert_eq!(group.counts, only(&whole.counts, of_group));
    assert!(group.counts.len() >= 6, "{:?}", group.counts);
    assert!(analysed(&lab).contains("not recorded, as was asked"));
}

/// Calls, bytes and time of a function at a process, and how many of its calls have records of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Made {
    calls: u64,
    alone: u64,
    /// Calls of loops that poll.
    polled: u64,
    bytes: u64,
    /// Time of calls that were summed up, and length of the regions that stand for them.
    summed: u64,
    stretches: u64,
}

/// Adds up what a trace says of each function at each process, stretches of short calls included.
fn made(trace: &Trace) -> BTreeMap<(u64, String), Made> {
    let number = |record: &otf2::read::EventRecord<'_>, name: &str| {
        record.attributes.iter().find_map(|it| match it.value {
            otf2::AttributeValue::Uint64(number) if trace.attribute(it.attribute) == name => {
                Some(number)
            }
            _ => None,
        })
    };
    let mut all: BTreeMap<(u64, String), Made> = BTreeMap::new();
    for (location, pe) in trace.locations() {
        let (mut reader, mut open) = (trace.archive.events(location).unwrap(), Vec::new());
        while let Some(record) = reader.next().unwrap() {
            match record.event {
                Event::Enter(it) => open.push((trace.region(it.region), record.time.0, 0)),
                Event::RmaGet(otf2::event::RmaGet { bytes, .. })
                | Event::RmaPut(otf2::event::RmaPut { bytes, .. }) => {
                    open.last_mut().unwrap().2 = bytes;
                }
                Event::Leave(_) => {
                    let (name, enter, bytes) = open.pop().unwrap();
                    let it = all.entry((pe, name)).or_default();
                    match number(&record, archive::TIME_IN_CALLS) {
                        Some(time) => {
                            it.calls += number(&record, archive::CALLS).unwrap();
                            it.bytes += number(&record, archive::BYTES_IN_CALLS).unwrap();
                            it.summed += time;
                            it.stretches += record.time.0 - enter;
                        }
                        None => {
                            // A loop that polls has a record of its first operation.
                            let calls = number(&record, archive::CALLS);
                            it.calls += calls.unwrap_or(1);
                            it.alone += u64::from(calls.is_none());
                            it.polled += calls.unwrap_or(0);
                            it.bytes +=
                                bytes + number(&record, archive::BYTES_IN_CALLS).unwrap_or(0);
                        }
                    }
                }
                _ => {}
            }
        }
    }
    all
}

/// With a bound on the overhead short calls are summed up: their number, bytes and time stay what they are, and so does
/// every wait that is long enough to see.
#[test]
fn short_calls_are_summed_up() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/short_calls.c", &["-g"]);
    let (flag, share) = (OsStr::new("--overhead"), OsStr::new("2%"));
    let run = lab.measured(2, &[], &[flag, share, program.as_os_str()]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "sum 172000\n"), "{run:?}");
    assert!(run.stderr.contains("\u{b5}s and were summed up"), "{}", run.stderr);
    lab.accepted_by_otf2_print(&lab.experiment());
    let trace = Trace::read(&lab.experiment());
    let short: u64 = trace.archive.anchor().property(archive::SHORT).unwrap().parse().unwrap();
    let made = made(&trace);
    let of = |name: &str| made[&(0, name.into())];
    let (g, get, put, quiet) =
        (of("shmem_long_g"), of("shmem_long_get"), of("shmem_long_put"), of("shmem_quiet"));
    assert_eq!((g.calls, g.bytes), (20_000 + 10 * 150, 8 * 21_500), "{g:?}");
    assert_eq!((get.calls, get.bytes), (20_000, 512 * 20_000), "{get:?}");
    assert_eq!((put.calls, put.bytes), (3_000, 512 * 3_000), "{put:?}");
    assert_eq!(quiet.calls, 3_000, "{quiet:?}");
    let all = [g, get, put, quiet];
    let summed: u64 = all.iter().map(|it| it.calls - it.alone - it.polled).sum();
    let said = trace.archive.anchor().property(archive::SUMMED_CALLS).unwrap();
    assert_eq!(said.parse::<u64>().unwrap(), summed, "{all:?}");
    // Most calls are short, unless the machine is very busy; the first of each place are recorded in any case.
    assert!(summed > 20_000 && all.iter().all(|it| it.alone >= 100), "{all:?}");
    assert!(all.iter().all(|it| it.summed <= it.stretches), "{all:?}");
    // Those that are a millisecond apart are not short of anything.
    if short < 900_000 {
        assert!(g.alone >= 100 + 150, "{g:?}");
    }
    // What others wait for is recorded: PE 1 waits for the flag for 50 ms.
    assert_eq!(of("shmem_long_p").alone, 1);
    let said = analysed(&lab);
    let findings = fs::read_to_string(lab.experiment().join("findings.json")).unwrap();
    let findings: serde_json::Value = serde_json::from_str(&findings).unwrap();
    let late = |it: &&serde_json::Value| {
        let last = it["path"].as_array().unwrap().last().unwrap();
        it["pattern"] == "late_signal" && last["line"] == 59
    };
    let late = findings["findings"].as_array().unwrap().iter().find(late);
    let wait = late.unwrap_or_else(|| panic!("{said}"))["seconds"].as_f64().unwrap();
    assert!((0.049..0.1).contains(&wait), "{wait} s: {said}");
    assert!(said.contains("inefficient_communication: "), "{said}");
    // The analysis counts what was summed up.
    let tree = |metric: &str| -> f64 {
        let experiment = lab.experiment();
        let command = ["report", "--tree", metric, "--top", "1000", "--json"].map(OsStr::new);
        let output = lab.dwell(&[&command[..], &[experiment.as_os_str()]].concat());
        assert!(output.status.success(), "{output:?}");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = rows_of_tree(&json["tree"]).into_iter();
        let of = rows.filter(|(_, row)| row["call"] == "shmem_long_get");
        of.map(|(_, row)| row["own"].as_f64().unwrap()).sum()
    };
    assert_eq!(tree("visits"), 20_000.0);
    assert_eq!(tree("shmem_bytes_get"), 512.0 * 20_000.0);
    // Time between the calls is not theirs.
    let (time, summed) = (tree("time"), get.summed as f64 / 1e9);
    assert!(time >= summed, "{time} s, {summed} s of them in short calls");
    let alone = get.alone as f64;
    assert!(time <= summed + alone * 0.05, "{time} s, {summed} s in short calls, {alone} others");
}

/// A bound that a program cannot keep is said at the end of the run, and `dwell info` names the calls that take the time.
#[test]
fn an_overhead_above_the_bound_is_explained() {
    let Some(lab) = Lab::open() else { return };
    // It does nothing but call.
    let program = lab.compile("tests/programs/overhead.c", &["-g"]);
    let (flag, share) = (OsStr::new("--overhead"), OsStr::new("0.01%"));
    let calls = ["20000", "1"].map(OsStr::new);
    let command = [flag, share, program.as_os_str()];
    let run = lab.measured(2, &[], &[&command[..], &calls].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    let said = "that is more than the 0.01 % asked for; dwell info ";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    let experiment = lab.experiment();
    let output = lab.dwell(&["info".as_ref(), "--json".as_ref(), experiment.as_os_str()]);
    assert!(output.status.success(), "{output:?}");
    let info: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let reached: f64 = info["properties"][archive::OVERHEAD].as_str().unwrap().parse().unwrap();
    assert!(reached > 0.01, "{info}");
    assert_eq!(info["properties"][archive::OVERHEAD_ASKED], "0.01");
    let made = made(&Trace::read(&experiment));
    let rows = info["calls"].as_array().unwrap();
    assert!((1..=10).contains(&rows.len()), "{info}");
    for row in rows {
        let name = row["function"].as_str().unwrap();
        let of: Vec<Made> = made.iter().filter(|it| it.0.1 == name).map(|it| *it.1).collect();
        let sum = |of_one: fn(&Made) -> u64| of.iter().map(of_one).sum::<u64>();
        assert_eq!(row["recorded"], sum(|it| it.alone), "{row}");
        assert_eq!(row["summed_up"], sum(|it| it.calls - it.alone), "{row}");
    }
    // Calls by which others may be judged are all recorded, so they cost most and come first.
    assert_eq!(rows[0]["recorded"], 20_000, "{info}");
    let output = lab.dwell(&["info".as_ref(), experiment.as_os_str()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("more than the 0.01 % asked for, by these calls"), "{text}");
    // A bound that is kept is in the properties, and needs no list.
    let (lab, whole) = (Lab::open().unwrap(), OsStr::new("100%"));
    let program = lab.compile("tests/programs/short_calls.c", &["-g"]);
    let run = lab.measured(2, &[], &[flag, whole, program.as_os_str()]);
    assert!(!run.stderr.contains("asked for"), "{}", run.stderr);
    let output = lab.dwell(&["info".as_ref(), "--json".as_ref(), lab.experiment().as_os_str()]);
    let info: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(info["properties"][archive::OVERHEAD_ASKED], "100");
    assert!(info["calls"].is_null(), "{info}");
}

/// A profile sums up every call anyway, so a bound on the overhead changes nothing of it.
#[test]
fn a_profile_with_a_bound_counts_every_call() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/short_calls.c", &["-g"]);
    let flags = ["--overhead", "2%", "--profile"].map(OsStr::new);
    let run = lab.measured(2, &[], &[&flags[..], &[program.as_os_str()]].concat());
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "sum 172000\n"), "{run:?}");
    let experiment = lab.experiment();
    let command = ["report", "--tree", "visits", "--top", "1000", "--json"].map(OsStr::new);
    let output = lab.dwell(&[&command[..], &[experiment.as_os_str()]].concat());
    assert!(output.status.success(), "{output:?}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let visits = |name: &str| -> f64 {
        let rows = rows_of_tree(&json["tree"]).into_iter();
        rows.filter(|(_, row)| row["call"] == name)
            .map(|(_, row)| row["own"].as_f64().unwrap())
            .sum()
    };
    let functions = ["shmem_long_g", "shmem_long_get", "shmem_long_put", "shmem_quiet"];
    assert_eq!(functions.map(visits), [21_500.0, 20_000.0, 3_000.0, 3_000.0]);
}

/// Returns the periods in which a location recorded nothing.
fn gaps(trace: &Trace) -> Vec<(u64, u64)> {
    let mut gaps = Vec::new();
    for (location, _) in trace.locations() {
        let (mut reader, mut off) = (trace.archive.events(location).unwrap(), None);
        while let Some(record) = reader.next().unwrap() {
            match record.event {
                Event::MeasurementOnOff(it) if it.measurement_mode == MeasurementMode::Off => {
                    assert_eq!(off.replace(record.time.0), None, "off twice");
                }
                Event::MeasurementOnOff(_) => gaps.push((off.take().unwrap(), record.time.0)),
                Event::Leave(_) => {}
                _ => assert_eq!(off, None, "events at {location} while it is off"),
            }
        }
    }
    gaps
}

#[test]
fn a_program_pauses_and_resumes() {
    let Some(lab) = Lab::open() else { return };
    let include = format!("-I{}", concat!(env!("CARGO_MANIFEST_DIR"), "/../../include"));
    let program = lab.compile("tests/programs/control.c", &[&include]);
    let run = lab.measured(2, &[], &[program.as_os_str()]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "done\n"), "{run:?}");
    lab.accepted_by_otf2_print(&lab.experiment());
    let trace = Trace::read(&lab.experiment());
    for pe in 0..2 {
        let calls =
            |name: &str| trace.counts.get(&(pe, name.into())).map_or(0, |count| count.calls);
        assert_eq!(calls("shmem_barrier_all"), 2 + 4 + 5);
        assert_eq!(calls("shmem_long_p"), 1 + 3 + 4 + 1);
        assert_eq!(calls("shmem_malloc"), 0);
        let list = &numbers(&trace)[&pe];
        let barriers: Vec<u64> =
            list.iter().filter(|it| it.0 == "shmem_barrier_all").map(|it| it.1).collect();
        // The memory that was obtained meanwhile counts as well: it is a collective.
        assert_eq!(barriers, [0, 1, 5, 6, 7, 8, 11, 12, 13, 14, 15]);
    }
    assert_eq!(gaps(&trace).len(), 4);
    assert!(run.stderr.contains("calls were seen and left out, as was asked"), "{}", run.stderr);
    analysed(&lab);
    // The same without Dwell.
    let plain = lab.oshrun(2, &[], &[program.as_os_str()]);
    assert_eq!((plain.code, plain.stdout.as_str()), (Some(0), "done\n"));
}

#[test]
fn a_fortran_program_pauses_and_resumes() {
    for mpi in Mpi::chosen_of_the_system() {
        let Some(compiler) = mpi.fortran() else { continue };
        if !needs::tools("FORTRAN", &["gfortran"]) {
            return;
        }
        let lab = Lab::bare();
        let (root, program) = (concat!(env!("CARGO_MANIFEST_DIR"), "/../.."), lab.path("control"));
        let mut command = Command::new(&compiler);
        command.current_dir(lab.path("")).args(["-g", "-w"]);
        command.arg(format!("{root}/include/dwell.f90"));
        command.arg(format!("{root}/tests/programs/control.F90")).arg("-o").arg(&program);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let plain = mpi.run(&lab, 2, &[program.as_os_str()]);
        assert_eq!(plain.code, Some(0), "{mpi:?} {plain:?}");
        let run = mpi.measured(&lab, 2, &[program.as_os_str()]);
        assert_eq!(run.code, Some(0), "{mpi:?} {run:?}");
        let trace = Trace::read(&lab.experiment());
        for (rank, list) in numbers(&trace) {
            let barriers = list.iter().filter(|it| it.0 == "MPI_Barrier").map(|it| it.1);
            let barriers: Vec<u64> = barriers.collect();
            assert_eq!(barriers, [0, 3, 4, 5, 10, 11, 12, 13, 14], "{mpi:?} {rank}");
        }
        assert_eq!(gaps(&trace).len(), 4, "{mpi:?}");
    }
}

#[test]
fn a_window_of_time() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("examples/heat/heat.c", &[]);
    let [n, steps] = ["128", "60000"].map(OsStr::new);
    let flags = ["--start-after", "150ms", "--for", "300ms"].map(OsStr::new);
    let run = lab.measured(2, &[], &[&flags[..], &[program.as_os_str(), n, steps]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    let trace = Trace::read(&lab.experiment());
    for (location, _) in trace.locations() {
        let mut reader = trace.archive.events(location).unwrap();
        let mut times = Vec::new();
        while let Some(record) = reader.next().unwrap() {
            if let Event::MeasurementOnOff(_) = record.event {
                times.push(record.time.0);
            }
        }
        let [off, on, off_again] = *times.as_slice() else { panic!("{times:?}") };
        // A call may take its time, so the window begins and ends with the first behind its time, and a process
        // that had no core for most of it has a short one.
        assert!((140_000_000..5_000_000_000).contains(&(on - off)), "{times:?}");
        assert!((50_000_000..5_000_000_000).contains(&(off_again - on)), "{times:?}");
    }
    assert!(run.stderr.contains("left out, as was asked"), "{}", run.stderr);
    let info = lab.dwell(&[OsStr::new("info"), lab.experiment().as_os_str()]);
    let info = String::from_utf8_lossy(&info.stdout).into_owned();
    assert!(info.contains("DWELL::CONFIG::START_AFTER") && info.contains("150ms"), "{info}");
    assert!(info.contains("DWELL::LEFT_OUT"), "{info}");
}

#[test]
fn a_filter_on_mpi() {
    // What is left out does not depend on the library, so one stands for all.
    for mpi in Mpi::of_the_system().into_iter().take(1) {
        let lab = Lab::bare();
        let program = mpi.compile_once(&lab, "tests/programs/mpi_families.c");
        let run = mpi.measured(&lab, 2, &[program.as_os_str()]);
        assert_eq!(run.code, Some(0), "{mpi:?} {run:?}");
        let whole = Trace::read(&lab.experiment());
        let filter = lab.path("mpi.filter");
        let rules = "EXCLUDE MPI_*\nINCLUDE MPI_Win_* MPI_*reduce* MPI_Recv\nEXCLUDE MPI_Win_test";
        fs::write(
            &filter,
            format!("SCOREP_REGION_NAMES_BEGIN\n{rules}\nSCOREP_REGION_NAMES_END\n"),
        )
        .unwrap();
        let flags = [OsStr::new("--filter"), filter.as_os_str(), program.as_os_str()];
        let run = mpi.measured(&lab, 2, &flags);
        assert_eq!(run.code, Some(0), "{mpi:?} {run:?}");
        lab.accepted_by_otf2_print(&lab.experiment());
        let part = Trace::read(&lab.experiment());
        let stays = |name: &str| {
            ["MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Recv"].contains(&name)
                || name.starts_with("MPI_Win_") && name != "MPI_Win_test"
                || name.contains("reduce")
        };
        assert_eq!(part.counts, only(&whole.counts, stays), "{mpi:?}");
        let said = analysed(&lab);
        assert!(
            said.contains("late_sender: not computed: messages may have been waited for"),
            "{said}"
        );
    }
}

/// Messages have no sequence numbers, but those that were not recorded are counted.
#[test]
fn messages_are_told_apart_after_a_pause() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/mpi_pause.c", &[]);
    let run = mpi.measured(&lab, 2, &[program.as_os_str()]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let output = lab.dwell(&["analyze".as_ref(), lab.experiment().as_os_str(), "--json".as_ref()]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let finding = &found["findings"][0];
    assert_eq!(finding["pattern"], "late_sender", "{found}");
    let seconds = finding["seconds"].as_f64().unwrap();
    assert!((0.15..0.3).contains(&seconds), "the last message was late: {seconds}");
    let list = found["not_computed"].as_array().unwrap();
    let unseen = list.iter().find(|it| it["pattern"] == "late_sender").unwrap();
    assert_eq!(unseen["calls"], 2, "{unseen}");
    assert_eq!(unseen["reason"], "their messages were sent by calls that were not recorded");
}
