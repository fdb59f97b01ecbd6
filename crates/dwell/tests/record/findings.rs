//! Content of the findings of real programs: the number of calls that waited, the worst of them, what the partner did
//! meanwhile, the advice, and which of two calls on one line waited.

use std::ffi::OsStr;
use std::fs;

use serde_json::Value;

use crate::lab::Lab;

/// Returns all findings of `dwell analyze`.
fn analyzed(lab: &Lab) -> Value {
    let output =
        lab.dwell(&[OsStr::new("analyze"), OsStr::new("--full"), lab.experiment().as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let found = fs::read(lab.experiment().join("findings.json")).unwrap();
    serde_json::from_slice(&found).unwrap()
}

/// PE 0 makes dozens of atomics on itself while the others wait for it. The findings must not say that it never entered the
/// runtime, and must not advise it to make atomics.
#[test]
fn a_target_that_calls_itself() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/work_queue.c", &[]);
    let run = lab.measured(3, &["-x", "UCX_TLS=tcp,self"], &[program.as_os_str()]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let found = analyzed(&lab);
    let finding = &found["findings"][0];
    assert_eq!(finding["pattern"], "wait_for_progress", "{found:#}");
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value}"));
    // Few of many calls waited, and long.
    assert!(number(&finding["calls"]) * 4.0 < number(&finding["visits"]), "{finding:#}");
    assert!(number(&finding["mean_seconds_at_most"]) > 0.05, "{finding:#}");
    let worst = &finding["worst"];
    assert_eq!(worst["on_whom"], "PE 0", "{finding:#}");
    assert_eq!(worst["window"], "static data of all PEs", "{finding:#}");
    let atomics =
        worst["meanwhile"]["calls"].as_array().unwrap().iter().find(|it| {
            it["region"] == "shmem_long_atomic_fetch_inc" && it["serves_others"] == "no"
        });
    let atomics = atomics.unwrap_or_else(|| panic!("{finding:#}"));
    assert!(number(&atomics["calls"]) > 5.0, "{finding:#}");
    let computing = number(&worst["meanwhile"]["computing_seconds"]);
    assert!(computing > 0.5 * number(&worst["seconds_at_most"]), "{finding:#}");
    let remedy = finding["remedy"].as_str().unwrap();
    assert!(remedy.contains("shmem_malloc") && remedy.contains("on itself"), "{remedy}");
    assert!(!remedy.contains("more often while it computes"), "{remedy}");
    // Start-up is not part of the run.
    let parts = ["run_seconds", "startup_seconds", "shutdown_seconds"].map(|it| number(&found[it]));
    assert!((parts.iter().sum::<f64>() - number(&found["time_seconds"])).abs() < 1e-6);
    assert!(parts[1] > 0.0 && parts[2] > 0.0, "{parts:?}");
    let share = number(&finding["seconds"]) / parts[0];
    assert!((share - number(&finding["share"])).abs() < 1e-9, "{finding:#}");
}

/// Two barriers on one line are two entries, which their columns tell apart; without columns their order does.
#[test]
fn two_calls_on_one_line() {
    for (option, columns) in [("-g", true), ("-gno-column-info", false)] {
        let Some(lab) = Lab::open() else { return };
        let program = lab.compile("tests/programs/one_line.c", &[option]);
        let run = lab.measured(2, &[], &[program.as_os_str()]);
        assert_eq!(run.code, Some(0), "{run:?}");
        let found = analyzed(&lab);
        // The second barrier waits longer, and for PE 1.
        for (late, nth, column) in [("PE 1", 2, 40), ("PE 0", 1, 5)] {
            let waits = found["findings"].as_array().unwrap().iter();
            let mut waits =
                waits.filter(|it| it["pattern"] == "barrier_wait" && it["phase"] == "run");
            let finding = waits.find(|it| it["worst"]["on_whom"] == late);
            let finding = finding.unwrap_or_else(|| panic!("{found:#}"));
            let site = finding["path"].as_array().unwrap().last().unwrap();
            let expected = match columns {
                true => (Value::from(column), Value::Null),
                false => (Value::Null, Value::from(nth)),
            };
            assert_eq!((site["column"].clone(), site["nth_on_line"].clone()), expected, "{site}");
        }
    }
}
