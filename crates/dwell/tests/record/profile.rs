//! The profile of a run equals its trace, value by value; it survives a kill; and it predicts the size of the trace.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use cubex::{CnodeId, Meta, Report};
use otf2::Event;

use crate::lab::Lab;
use crate::mpi::Mpi;
use crate::trace::Trace;

/// Returns a call path as text: regions and the lines from which they are called.
fn path(meta: &Meta, cnode: CnodeId) -> String {
    let mut steps = Vec::new();
    let mut at = Some(cnode);
    while let Some(cnode) = at {
        let (name, it) = (meta.callee(cnode).unwrap().name, meta.cnode(cnode).unwrap());
        steps.push(format!("{name}@{}:{}", it.file, it.line.unwrap_or(0)));
        at = meta.cnode_parent(cnode);
    }
    steps.reverse();
    steps.join("/")
}

/// Returns every value of a report by metric, call path and location. Values of paths with equal text are added.
pub(crate) fn values(file: &Path) -> BTreeMap<(String, String, usize), f64> {
    let report = Report::open(file).unwrap();
    let meta = report.meta();
    let mut all = BTreeMap::new();
    for metric in meta.metrics() {
        let name = meta.metric(metric).unwrap().uniq_name.to_owned();
        let stored = report.values(metric).unwrap();
        for cnode in meta.cnodes() {
            let Some(row) = stored.row(cnode).unwrap() else { continue };
            for (at, location) in meta.locations().enumerate() {
                let value = row.number(location).unwrap();
                let key = (name.clone(), path(meta, cnode), at);
                all.entry(key)
                    .and_modify(|known: &mut f64| match name.as_str() {
                        "min_time" => *known = known.min(value),
                        "max_time" => *known = known.max(value),
                        name if name.starts_with("counter_least") => *known = known.min(value),
                        name if name.starts_with("counter_largest") => *known = known.max(value),
                        _ => *known += value,
                    })
                    .or_insert(value);
            }
        }
    }
    all
}

/// Metrics that are compared with the events themselves.
const EXTREMES: [&str; 2] = ["min_time", "max_time"];

/// Compares the profile of the last run with its trace. Returns the number of equal values.
pub(crate) fn profile_is_trace(lab: &Lab) -> usize {
    let experiment = lab.experiment();
    for command in ["analyze", "report"] {
        let output = lab.dwell(&[OsStr::new(command), experiment.as_os_str()]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    crate::sums::hold_with_profile(&experiment);
    let trace = values(&experiment.join("trace.cubex"));
    let profile = values(&experiment.join("profile.cubex"));
    let mut compared = 0;
    for (key, value) in &profile {
        // That the end of the runtime is a barrier, whose time is one of synchronisation, is known by its waits.
        let ambiguous = match step_name(&key.1) {
            "shmem_finalize" => key.0.starts_with("shmem_"),
            "MPI_Finalize" => key.0.starts_with("mpi_"),
            _ => false,
        };
        if EXTREMES.contains(&key.0.as_str()) || ambiguous {
            continue;
        }
        let expected = trace.get(key).copied().unwrap_or(0.0);
        // Seconds are nanoseconds divided; sums of a few of these may differ in the last digit.
        assert!((value - expected).abs() < 1e-12, "{key:?}: {value}, the trace says {expected}");
        compared += usize::from(*value != 0.0);
    }
    let sums =
        ["visits", "time", "shmem_comms_rma_gets", "shmem_bytes_get", "comms_send", "bytes_rcvd"];
    for metric in sums {
        let sum = |all: &BTreeMap<(String, String, usize), f64>| -> f64 {
            all.iter().filter(|(key, _)| key.0 == metric).map(|(_, value)| value).sum()
        };
        assert!((sum(&trace) - sum(&profile)).abs() < 1e-9, "{metric}");
    }
    extremes(lab, &profile);
    // Who communicates with whom is the same, but for waits.
    let pairs = |file: &str| -> Vec<String> {
        let report = Report::open(experiment.join(file)).unwrap();
        let member = report.member(dwell_analyze::PAIRS).unwrap();
        let text = String::from_utf8(report.read_member(member).unwrap()).unwrap();
        text.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned()).collect()
    };
    assert_eq!(pairs("profile.cubex"), pairs("trace.cubex"));
    compared
}

/// Compares the shortest and the longest call of each function at each location with the events.
fn extremes(lab: &Lab, profile: &BTreeMap<(String, String, usize), f64>) {
    let trace = Trace::read(&lab.experiment());
    let mut found: BTreeMap<(String, usize), (u64, u64)> = BTreeMap::new();
    for (at, (location, _)) in trace.locations().into_iter().enumerate() {
        let mut reader = trace.archive.events(location).unwrap();
        let mut open: Vec<(String, u64, u64)> = Vec::new();
        // What is open inside of a call are parameters, which are not calls.
        let set = |open: &[(String, u64, u64)]| open.last().is_some_and(|it| it.0.contains('='));
        while let Some(record) = reader.next().unwrap() {
            let parameter = match record.event {
                Event::ParameterInt(it) => Some(it.parameter),
                Event::ParameterUnsignedInt(it) => Some(it.parameter),
                Event::ParameterString(it) => Some(it.parameter),
                _ => None,
            };
            let close = |open: &mut Vec<(String, u64, u64)>| {
                let (name, enter, inside) = open.pop().unwrap();
                let length = record.time.0 - enter;
                if let Some(outer) = open.last_mut() {
                    outer.2 += length;
                }
                (name, length, inside)
            };
            if let Some(parameter) = parameter {
                let name = format!("{}=", parameter.0);
                let settings = open.iter().rev().take_while(|it| it.0.contains('='));
                if let Some(above) = settings.clone().position(|it| it.0 == name) {
                    (0..=above).for_each(|_| drop(close(&mut open)));
                }
                open.push((name, record.time.0, 0));
            }
            match record.event {
                Event::Enter(enter) => open.push((trace.region(enter.region), record.time.0, 0)),
                Event::Leave(_) => {
                    while set(&open) {
                        close(&mut open);
                    }
                    let (name, length, inside) = close(&mut open);
                    let (least, most) = found.entry((name, at)).or_insert((u64::MAX, 0));
                    (*least, *most) = ((*least).min(length - inside), (*most).max(length - inside));
                }
                _ => {}
            }
        }
    }
    assert!(found.len() > 6);
    for ((name, location), (least, most)) in found {
        let of = |metric: &str| {
            let is = |key: &&(String, String, usize)| {
                key.0 == metric && key.2 == location && step_name(&key.1) == name
            };
            profile.keys().filter(is).map(|key| profile[key]).collect::<Vec<f64>>()
        };
        let shortest = of("min_time").into_iter().fold(f64::MAX, f64::min);
        let longest = of("max_time").into_iter().fold(0.0, f64::max);
        assert!((shortest - least as f64 / 1e9).abs() < 1e-12, "{name} at {location}: {shortest}");
        assert!((longest - most as f64 / 1e9).abs() < 1e-12, "{name} at {location}: {longest}");
    }
}

/// Returns the last function of a call path. File names contain slashes too.
fn step_name(path: &str) -> &str {
    let last = path.rmatch_indices('@').next().map_or(path.len(), |it| it.0);
    path[..last].rsplit('/').next().unwrap_or_default()
}

/// Flags that record both, by the system's clock, whose samples correct nothing.
const BOTH: [&str; 3] = ["--profile", "--trace", "--set=clock=system"];

#[test]
fn every_value_equals_that_of_the_trace() {
    let Some(lab) = Lab::open() else { return };
    let flags = BOTH.map(OsStr::new);
    let heat = lab.compile("examples/heat/heat.c", &[]);
    let run = lab.measured(
        4,
        &[],
        &[&flags[..], &[heat.as_os_str(), OsStr::new("64"), OsStr::new("25")]].concat(),
    );
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(profile_is_trace(&lab) > 200);
    let families = lab.compile("tests/programs/families.c", &[]);
    let run = lab.measured(2, &[], &[&flags[..], &[families.as_os_str()]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(profile_is_trace(&lab) > 1000);
}

#[test]
fn a_profile_of_mpi_alone() {
    for mpi in Mpi::of_the_system().into_iter().take(1) {
        let lab = Lab::bare();
        let program = mpi.compile_once(&lab, "tests/programs/mpi_families.c");
        let flags = ["--profile", "--set=clock=system"].map(OsStr::new);
        let run = mpi.measured(&lab, 2, &[&flags[..], &[program.as_os_str()]].concat());
        assert_eq!(run.code, Some(0), "{mpi:?} {run:?}");
        assert!(run.stderr.contains("Next: dwell report experiment"), "{}", run.stderr);
        // Few files, whatever the number of processes: what all have in common, and their rows together.
        let mut files: Vec<String> = fs::read_dir(lab.experiment())
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with("launch."))
            .collect();
        files.sort();
        assert_eq!(files, ["profile", "traces.def", "traces.otf2"]);
        let blocks: Vec<_> = fs::read_dir(lab.experiment().join("profile")).unwrap().collect();
        assert_eq!(blocks.len(), 1, "{blocks:?}");
        for command in ["info", "print"] {
            let output = lab.dwell(&[OsStr::new(command), lab.experiment().as_os_str()]);
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            assert!(output.stderr.is_empty(), "{output:?}");
        }
        let output =
            lab.dwell(&[OsStr::new("analyze"), OsStr::new("--full"), lab.experiment().as_os_str()]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("there is a profile and no trace; next: dwell report"), "{said}");
        let profile = values(&lab.experiment().join("profile.cubex"));
        let sum = |metric: &str, function: &str| -> f64 {
            let of =
                |key: &(String, String, usize)| key.0 == metric && step_name(&key.1) == function;
            profile.iter().filter(|(key, _)| of(key)).map(|(_, value)| value).sum()
        };
        // As `a_filter_on_mpi` has them from the trace.
        assert_eq!(sum("visits", "MPI_Allreduce"), 10.0);
        assert_eq!(sum("comms_coll", "MPI_Allreduce"), 10.0);
        assert_eq!(sum("visits", "MPI_Recv"), 6.0);
        assert_eq!(sum("bytes_rcvd", "MPI_Recv"), 108.0);
    }
}

#[test]
fn a_profile_is_left_to_dwell_where_memory_is_short() {
    let Some(lab) = Lab::open() else { return };
    let heat = lab.compile("examples/heat/heat.c", &[]);
    let flags = ["--profile", "--memory=16M"].map(OsStr::new);
    let command = [&flags[..], &[heat.as_os_str(), OsStr::new("64"), OsStr::new("5")]].concat();
    let run = lab.measured(2, &[], &command);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("when it is first looked at, not here"), "{}", run.stderr);
    let files = || -> Vec<String> {
        let all = fs::read_dir(lab.experiment().join("profile")).unwrap();
        let mut all: Vec<String> =
            all.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    };
    assert_eq!(files(), ["0.rows", "1.rows"]);
    let output = lab.dwell(&[OsStr::new("report"), lab.experiment().as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(files(), ["0.block"]);
    let profile = values(&lab.experiment().join("profile.cubex"));
    let of = |(key, _): &(&(String, String, usize), &f64)| {
        key.0 == "visits" && step_name(&key.1) == "shmem_init"
    };
    assert_eq!(
        profile.iter().filter(of).map(|(_, visits)| *visits).collect::<Vec<_>>(),
        [1.0, 1.0]
    );
}

#[test]
fn a_profile_survives_its_process() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/die.c", &[]);
    let prefix = lab.path("said");
    let flag = OsStr::new("--profile");
    let arguments =
        [flag, program.as_os_str(), OsStr::new("kill-all"), OsStr::new("500"), prefix.as_os_str()];
    let run = lab.measured(2, &[], &arguments);
    assert_ne!(run.code, Some(0), "{run:?}");
    let output = lab.dwell(&[OsStr::new("recover"), lab.experiment().as_os_str()]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("Next: dwell report"), "{output:?}");
    let profile = values(&lab.experiment().join("profile.cubex"));
    let mut compared = 0;
    for pe in 0..2 {
        let text = fs::read_to_string(lab.path(&format!("said.{pe}"))).unwrap_or_default();
        for ((_, name), count) in crate::trace::said(&text) {
            let visits: f64 = profile
                .iter()
                .filter(|(key, _)| key.0 == "visits" && step_name(&key.1) == name && key.2 == pe)
                .map(|(_, value)| value)
                .sum();
            // A call that was under way is not counted by the program.
            let calls = count.calls as f64;
            assert!((calls..=calls + 1.0).contains(&visits), "{name} at {pe}: {visits} of {calls}");
            compared += 1;
        }
    }
    assert!(compared >= 10, "{compared}");
}

#[test]
fn a_score_is_near_the_trace() {
    let Some(lab) = Lab::open() else { return };
    let flags = ["--profile", "--trace"].map(OsStr::new);
    for (source, arguments) in [
        ("examples/heat/heat.c", &["64", "400"][..]),
        ("examples/fft2d/fft2d.c", &["get", "64", "4"]),
        ("examples/srumma/srumma.c", &["128", "8", "20"]),
    ] {
        let program = lab.compile(source, &[]);
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        let command = [&flags[..], &[program.as_os_str()], &arguments].concat();
        let run = lab.measured(4, &[], &command);
        assert_eq!(run.code, Some(0), "{run:?}");
        let real = near_the_trace(&lab, source);
        if source.contains("heat") {
            halved(&lab, &program, &arguments, real);
        }
    }
}

/// Compares the size that is estimated from the profile of the last run with that of its trace.
pub(crate) fn near_the_trace(lab: &Lab, program: &str) -> u64 {
    let (estimate, real) = (score(lab, &[])["bytes"].as_f64().unwrap(), written(lab));
    let ratio = estimate / real as f64;
    eprintln!("{program}: estimated {estimate}, written {real}, ratio {ratio:.3}");
    assert!((0.9..1.1).contains(&ratio), "{program}: {estimate} of {real}");
    real
}

/// Returns the output of `dwell score` for the last run.
fn score(lab: &Lab, more: &[&OsStr]) -> serde_json::Value {
    let experiment = lab.experiment();
    let command = [OsStr::new("score"), experiment.as_os_str(), OsStr::new("--json")];
    let output = lab.dwell(&[&command[..], more].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the size of the event files of the last run.
fn written(lab: &Lab) -> u64 {
    let files = fs::read_dir(lab.experiment().join("traces")).unwrap().flatten();
    let events = files.filter(|it| it.path().extension() == Some(OsStr::new("evt")));
    events.map(|it| it.metadata().unwrap().len()).sum()
}

/// Checks that a filter which should halve a trace does so.
fn halved(lab: &Lab, program: &Path, arguments: &[&OsStr], real: u64) {
    let (filter, half) = (lab.path("score.filter"), (real / 2).to_string());
    let flags = [OsStr::new("--max-size"), OsStr::new(&half), OsStr::new("-o"), filter.as_os_str()];
    let left = score(lab, &flags)["bytes_with_filter"].as_f64().unwrap();
    assert!(left <= real as f64 / 2.0, "{left} of {real}");
    let filtered = [OsStr::new("--filter"), filter.as_os_str(), program.as_os_str()];
    let run = lab.measured(4, &[], &[&filtered[..], arguments].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    let now = written(lab);
    assert!(now as f64 <= real as f64 / 2.0 * 1.1, "{now} of {real}");
}
