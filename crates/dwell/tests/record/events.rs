//! Correctness of the recorded events.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use otf2::Event;
use otf2::enums::CollectiveOp;

use crate::lab::Lab;
use crate::trace::{Trace, said};

/// Checks that calls and bytes of the trace are those that the program counted.
fn as_counted(lab: &Lab, pes: u32, command: &[&OsStr]) -> Trace {
    let run = lab.measured(pes, &[], command);
    assert_eq!(run.code, Some(0), "{run:?}");
    let said = said(&run.stdout);
    assert!(said.len() > 5, "{}", run.stdout);
    let trace = Trace::read(&lab.experiment());
    let mut differ = Vec::new();
    let hooked =
        |name: &str| dwell_model::shmem::NOT_HOOKED.iter().all(|(other, _)| *other != name);
    for (key, expected) in said.iter().filter(|(key, _)| hooked(&key.1)) {
        let found = trace.counts.get(key).copied().unwrap_or_default();
        // Memory that is obtained is not memory that is moved, and a collective of one moves none.
        let no_bytes = ["alloc", "align", "shmemalign"].iter().any(|part| key.1.contains(part));
        if found.calls != expected.calls || (found.bytes != expected.bytes && !no_bytes) {
            differ.push(format!("{key:?}: the program says {expected:?}, the trace {found:?}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    let unsaid: Vec<_> = trace.counts.keys().filter(|key| !said.contains_key(*key)).collect();
    assert!(unsaid.is_empty(), "in the trace only: {unsaid:?}");
    trace
}

#[test]
fn heat_counts() {
    let Some(lab) = Lab::open() else { return };
    let heat = lab.compile("examples/heat/heat.c", &[]);
    let [count, n, steps] = ["--count", "64", "25"].map(OsStr::new);
    as_counted(&lab, 4, &[heat.as_os_str(), count, n, steps]);
}

#[test]
fn fft2d_counts() {
    let Some(lab) = Lab::open() else { return };
    let fft = lab.compile("examples/fft2d/fft2d.c", &[]);
    for way in ["get", "collect"] {
        let [count, way, n, rounds] = ["--count", way, "64", "2"].map(OsStr::new);
        as_counted(&lab, 2, &[fft.as_os_str(), count, way, n, rounds]);
    }
}

#[test]
fn every_family_counts() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/families.c", &[]);
    let trace = as_counted(&lab, 2, &[program.as_os_str()]);
    sequences(&trace);
}

/// Checks sequences of records: every operation has its own id, completions are where they belong, locks are requested
/// before they are acquired, and collectives have sequence numbers.
fn sequences(trace: &Trace) {
    let mut remote_completions = 0;
    let mut locks = [0; 3];
    for (location, _) in trace.locations() {
        let mut reader = trace.archive.events(location).unwrap();
        let (mut inside, mut entered) = (String::new(), None);
        let mut last_id = None;
        let mut blocking = 0;
        let mut sequence: BTreeMap<u32, u64> = BTreeMap::new();
        let mut collective = false;
        while let Some(record) = reader.next().unwrap() {
            let attributes = record.attributes;
            let mut operation = |id: u64| {
                assert_eq!(id, last_id.map_or(0, |last: u64| last + 1), "ids at {location}");
                last_id = Some(id);
            };
            match record.event {
                Event::Enter(_) if attributes.is_empty() => {} // The program itself.
                Event::Enter(enter) => {
                    inside = trace.region(enter.region);
                    entered = Some(record.time);
                    assert_eq!(attributes.len(), 1, "{inside} has its call site");
                }
                Event::RmaPut(put) => {
                    operation(put.matching_id.0);
                    assert_eq!(attributes.len(), usize::from(put.bytes <= 64), "{inside}");
                }
                Event::RmaGet(get) => operation(get.matching_id.0),
                Event::RmaAtomic(atomic) => {
                    operation(atomic.matching_id.0);
                    assert_eq!(attributes.len(), 1, "{inside} says where it acts");
                }
                Event::RmaOpCompleteBlocking(done) => {
                    assert_eq!(Some(done.matching_id.0), last_id, "{inside}");
                    assert!(!inside.contains("nbi"), "{inside}");
                    blocking += 1;
                }
                Event::RmaOpCompleteRemote(done) => {
                    remote_completions += 1;
                    assert!(done.matching_id.0 <= last_id.unwrap_or(0));
                    let completes =
                        ["quiet", "barrier", "alloc", "align", "free", "destroy", "finalize"];
                    assert!(completes.iter().any(|part| inside.contains(part)), "{inside}");
                }
                Event::RmaWaitChange(_) => {
                    assert!(inside.contains("wait") || inside.contains("_test"), "{inside}");
                    assert_eq!(attributes.len(), 1, "{inside} says what it waits for");
                    let begins = Some(record.time) == entered;
                    assert_eq!(begins, inside.contains("wait"), "{inside} says it before it waits");
                }
                Event::RmaRequestLock(_) => locks[0] += 1,
                Event::RmaAcquireLock(_) => locks[1] += 1,
                Event::RmaReleaseLock(_) => locks[2] += 1,
                Event::RmaCollectiveBegin(_) => {
                    assert!(!collective);
                    collective = true;
                }
                Event::RmaCollectiveEnd(end) => {
                    assert!(collective, "{inside}");
                    collective = false;
                    let next = sequence.entry(end.win.0).or_default();
                    let said = attributes.iter().next().map(|attribute| attribute.value);
                    assert_eq!(said, Some(otf2::AttributeValue::Uint64(*next)), "{inside}");
                    *next += 1;
                    if inside.contains("broadcast") {
                        assert_eq!(end.collective_op, CollectiveOp::Bcast);
                    }
                }
                _ => {}
            }
        }
        assert!(blocking > 100, "{location}: {blocking}");
    }
    assert!(remote_completions > 0);
    // Every lock was obtained once for each time it was given back; test_lock obtains without asking.
    assert_eq!(locks[1], locks[2], "{locks:?}");
    assert!(locks[0] > 0 && locks[0] <= locks[1], "{locks:?}");
}

#[test]
fn groups_and_contexts() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/shapes.c", &[]);
    let run = lab.measured(4, &[], &[program.as_os_str()]);
    assert_eq!(run.code, Some(0), "{run:?}");
    lab.accepted_by_otf2_print(&lab.experiment());
    let trace = Trace::read(&lab.experiment());
    let definitions = &trace.definitions;
    let names: Vec<String> = (0..)
        .map_while(|id| definitions.rma_win(otf2::id::RmaWinRef(id)))
        .map(|win| definitions.string(win.name).unwrap().to_string())
        .collect();
    assert!(names.iter().any(|name| name == "all PEs"), "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("active set")), "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("context 1 of")), "{names:?}");
    let unique: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(unique.len(), names.len(), "{names:?}");
}
