//! Tables and timeline show that an operation completed when the trace says so. Traces for Perfetto have the operations of
//! tables, and the page has those of the timeline.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use dwell_timeline::{Location, Span, Time};
use otf2::Event;
use otf2::id::RmaWinRef;

use crate::lab::Lab;
use crate::mpi::{Mpi, analysed};
use crate::trace::Trace;

/// Nanoseconds by which times may differ.
const NEAR: u64 = 1_000;

/// Operations that a completion at the target completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completes {
    /// The one that it names.
    Numbered,
    /// All of the process on the window.
    All,
}

/// An operation: nanoseconds from the first event of the trace to its begin, and from there to its completion.
type Operation = (u64, u64);

/// Finds the completions that the trace has, with no code of Dwell but the reader of OTF2.
fn recorded(trace: &Trace, completes: Completes) -> Vec<Operation> {
    let clock = trace.definitions.clock().unwrap();
    let ticks = u128::from(clock.timer_resolution);
    let mut first = u64::MAX;
    let mut issued: Vec<(u64, u64, RmaWinRef, u64, u64)> = Vec::new();
    let mut complete: Vec<(u64, Option<u64>, RmaWinRef, Option<u64>)> = Vec::new();
    for (location, process) in trace.locations() {
        let mut reader = trace.archive.events(location).unwrap();
        let mut names: Vec<String> = Vec::new();
        while let Some(record) = reader.next().unwrap() {
            let time = (u128::from(record.time.0) * 1_000_000_000 / ticks) as u64;
            first = first.min(time);
            // Operations of MPI inside are those of another layer.
            let is_mpi = names.last().is_some_and(|it: &String| it.starts_with("MPI_"));
            let at = Some(location.0);
            match record.event {
                Event::Enter(it) => names.push(trace.region(it.region)),
                Event::Leave(_) => drop(names.pop()),
                _ if is_mpi => {}
                Event::RmaPut(it) => {
                    issued.push((time, location.0, it.win, it.matching_id.0, process));
                }
                Event::RmaOpCompleteBlocking(it) => {
                    complete.push((time, at, it.win, Some(it.matching_id.0)));
                }
                Event::RmaOpCompleteNonBlocking(it) => {
                    complete.push((time, at, it.win, Some(it.matching_id.0)));
                }
                Event::RmaOpCompleteRemote(it) => complete.push(match completes {
                    Completes::Numbered => (time, at, it.win, Some(it.matching_id.0)),
                    Completes::All => (time, None, it.win, None),
                }),
                _ => {}
            }
        }
    }
    complete.sort_unstable();
    let mut found: Vec<Operation> = issued
        .into_iter()
        .map(|(begin, location, window, id, _)| {
            let end = complete.iter().find(|(time, at, win, number)| {
                *time >= begin
                    && *win == window
                    && at.is_none_or(|it| it == location)
                    && number.is_none_or(|it| it == id)
            });
            (begin - first, end.expect("every put completes").0 - begin)
        })
        .collect();
    found.sort_unstable();
    found
}

/// Returns the puts that tables have.
fn in_tables(lab: &Lab) -> Option<Vec<Operation>> {
    let tables = lab.path("tables");
    let experiment = lab.experiment();
    let words = [
        OsStr::new("export"),
        experiment.as_os_str(),
        OsStr::new("--format=parquet"),
        OsStr::new("-o"),
    ];
    let output = lab.dwell(&[&words[..], &[tables.as_os_str()]].concat());
    assert!(output.status.success(), "{output:?}");
    let code = "import json, sys, pyarrow.parquet as it\n\
                rows = it.read_table(sys.argv[1]).to_pylist()\n\
                print(json.dumps([(row['begin_ns'], row['completion_ns']) for row in rows if row['kind'] == 'put']))";
    let python = std::env::var_os("DWELL_PYTHON").unwrap_or_else(|| "python3".into());
    let mut python = Command::new(python);
    let output = python.args(["-c", code]).arg(tables.join("operations.parquet")).output().ok()?;
    if !output.status.success() {
        crate::needs::missing("TABLES", "there is no Python with pyarrow");
        return None;
    }
    let rows: Vec<(u64, Option<u64>)> = serde_json::from_slice(&output.stdout).unwrap();
    Some(sorted(rows.into_iter().map(|(begin, end)| (begin, end.expect("it is complete") - begin))))
}

/// Returns the puts that the timeline shows.
fn in_timeline(experiment: &Path) -> Vec<Operation> {
    let trace = dwell_timeline::Trace::open(experiment, 64).unwrap();
    let all = [Location(0)..Location(trace.locations())];
    let span = Span { from: Time(0), to: Time(u64::MAX) };
    let operations = trace.operations(&all, span, &|_| Time(0), 1 << 20).unwrap();
    let puts = operations.list.iter().filter(|it| it.kind == dwell_timeline::OperationKind::Put);
    sorted(puts.map(|it| (it.span.from.0, it.span.length())))
}

fn sorted(list: impl Iterator<Item = Operation>) -> Vec<Operation> {
    let mut list: Vec<Operation> = list.collect();
    list.sort_unstable();
    list
}

/// Requires that a recorded program has so many puts, one of which takes 100 ms longer than another, and that all surfaces
/// agree with the trace.
pub(crate) fn agree(lab: &Lab, puts: usize, completes: Completes) {
    let experiment = lab.experiment();
    analysed(lab, &experiment);
    let expected = recorded(&Trace::read(&experiment), completes);
    assert_eq!(expected.len(), puts, "{expected:?}");
    let longest = expected.iter().map(|it| it.1).max();
    assert!(longest.is_some_and(|it| it > 90_000_000), "{expected:?}");
    let timeline = in_timeline(&experiment);
    for (name, found) in [("tables", in_tables(lab)), ("timeline", Some(timeline))] {
        let Some(found) = found else { continue };
        assert_eq!(found.len(), puts, "{name}: {found:?}, {expected:?}");
        let begin = found[0].0.abs_diff(expected[0].0);
        for (found, expected) in found.iter().zip(&expected) {
            let near = found.1.abs_diff(expected.1) <= NEAR;
            let same = found.0.abs_diff(expected.0).abs_diff(begin) <= NEAR;
            assert!(near && same, "{name}: {found:?} is {expected:?} in the trace");
        }
    }
}

/// A quiet of one thread completes what another has put.
#[test]
fn of_threads() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/completions_threads.c", &["-pthread"]);
    let run = lab.measured(2, &[], &[program.as_os_str()]);
    assert_eq!(run.code, Some(0), "{run:?}");
    if run.stdout.contains("no threads") {
        return;
    }
    agree(&lab, 2, Completes::All);
}

/// A test that finds one-sided operations incomplete says of which, once in a loop of such tests.
#[test]
fn of_tests_in_vain() {
    for mpi in Mpi::of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/mpi_tests.c", &[]);
        let run = mpi.measured(&lab, 2, &[program.as_os_str()]);
        assert_eq!(run.code, Some(0), "{run:?}");
        let said: Vec<u64> =
            run.stdout.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [loops, failed] = said[..] else { panic!("{run:?}") };
        let trace = Trace::read(&lab.experiment());
        let (mut outstanding, mut in_vain) = (Vec::new(), 0);
        for (location, _) in trace.locations() {
            let mut reader = trace.archive.events(location).unwrap();
            while let Some(record) = reader.next().unwrap() {
                match record.event {
                    Event::RmaGet(it) => outstanding.push((it.win, it.matching_id)),
                    Event::RmaOpTest(it) => {
                        assert!(outstanding.contains(&(it.win, it.matching_id)), "{it:?}");
                        in_vain += 1;
                    }
                    Event::RmaOpCompleteNonBlocking(it) => {
                        outstanding.retain(|its| *its != (it.win, it.matching_id));
                    }
                    _ => {}
                }
            }
        }
        // A test of two requests has a record for each. A loop may be several regions, where its process lost its core.
        assert!((loops..=2 * failed).contains(&in_vain), "{in_vain} of {run:?}");
        assert!(failed < 1000 || in_vain < failed / 10, "{in_vain} of {run:?}");
        analysed(&lab, &lab.experiment());
    }
}
