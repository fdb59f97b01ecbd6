//! One set of definitions for the whole run, whatever the number of processes.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use otf2::enums::GroupType;
use otf2::id::StringRef;
use otf2::{AttributeValue, Definition, Event};

use crate::lab::Lab;
use crate::trace::Trace;

/// Options that make a waiting process yield, because there are more processes than cores.
const YIELD: [&str; 3] = ["-mca", "mpi_yield_when_idle", "1"];

/// Records a program and checks what must hold for all programs.
fn record(lab: &Lab, pes: u32, command: &[&OsStr]) -> (Trace, String) {
    let run = lab.measured(pes, &YIELD, command);
    assert_eq!(run.code, Some(0), "{run:?}");
    let trace = Trace::read(&lab.experiment());
    let how = trace.archive.anchor().property("DWELL::UNIFICATION").expect("rank 0 says how");
    let (rounds, received) = how.split_once(" rounds, ").expect(how);
    let log2 = (0..32).find(|log2| 1 << log2 >= pes).unwrap();
    assert_eq!(rounds, log2.to_string(), "{pes} processes: {how}");
    let received = received.strip_suffix(" bytes received by rank 0").expect(how);
    assert!(received.parse::<u64>().unwrap() > 0, "{how}");

    let places: Vec<(u64, u64)> =
        trace.locations().iter().map(|(location, pe)| (location.0, *pe)).collect();
    let expected: Vec<(u64, u64)> = (0..pes.into()).map(|pe| (pe, pe)).collect();
    assert_eq!(places, expected, "one location for each process, in their order");
    references_are_defined(&trace);
    (trace, run.stdout)
}

/// Checks that everything to which events refer through the mapping tables of their locations is defined.
fn references_are_defined(trace: &Trace) {
    let definitions = &trace.definitions;
    for (location, _) in trace.locations() {
        let mut reader = trace.archive.events(location).unwrap();
        while let Some(record) = reader.next().unwrap() {
            for attribute in record.attributes {
                assert!(definitions.attribute(attribute.attribute).is_some(), "{attribute:?}");
                if let AttributeValue::CallingContext(context) = attribute.value {
                    let context = definitions.calling_context(context).expect("a call site");
                    assert!(definitions.region(context.region).is_some(), "{context:?}");
                }
            }
            let window = match record.event {
                Event::RmaPut(put) => put.win,
                Event::RmaGet(get) => get.win,
                Event::RmaAtomic(atomic) => atomic.win,
                Event::RmaOpCompleteBlocking(done) => done.win,
                Event::RmaOpCompleteRemote(done) => done.win,
                Event::RmaCollectiveEnd(end) => end.win,
                _ => continue,
            };
            assert!(definitions.rma_win(window).is_some(), "{window:?} at {location}");
        }
    }
}

/// Returns the members of all groups of one type.
fn groups(trace: &Trace, kind: GroupType) -> Vec<Vec<u64>> {
    let definitions = &trace.definitions;
    let groups = definitions.iter().filter_map(|definition| match definition {
        Definition::Group(group) if group.group_type == kind => {
            Some(group.members.iter().collect())
        }
        _ => None,
    });
    groups.collect()
}

fn world(pes: u32) -> Vec<u64> {
    (0..pes.into()).collect()
}

/// Returns the definitions that do not depend on the number of processes, with their ids: functions, call sites,
/// attributes, paradigms.
fn common(trace: &Trace) -> Vec<String> {
    let definitions = &trace.definitions;
    let text = |id: StringRef| definitions.string(id).expect("every string is defined");
    let common = definitions.iter().filter_map(|definition| match definition {
        Definition::Attribute(attribute) => Some(format!(
            "attribute {:?} {} {:?}",
            attribute.id,
            text(attribute.name),
            attribute.kind
        )),
        Definition::Paradigm(paradigm) => {
            Some(format!("paradigm {:?} {}", paradigm.paradigm, text(paradigm.name)))
        }
        Definition::Region(region) => Some(format!(
            "region {:?} {} {:?} {:?}: {}",
            region.id,
            text(region.name),
            region.region_role,
            region.paradigm,
            text(region.description)
        )),
        Definition::CallingContext(context) => {
            Some(format!("site {:?} {:?} {:?}", context.id, context.region, context.parent))
        }
        _ => None,
    });
    common.collect()
}

/// Runs `heat`, whose calls are the same on every grid of two or more rows and columns.
fn heat(lab: &Lab, program: &OsStr, pes: u32) -> Vec<String> {
    let [n, steps] = ["64", "3"].map(OsStr::new);
    let (trace, _) = record(lab, pes, &[program, n, steps]);
    assert_eq!(groups(&trace, GroupType::CommLocations), [world(pes)]);
    assert_eq!(groups(&trace, GroupType::CommGroup), [world(pes)]);
    common(&trace)
}

/// Compares the definitions of `heat` on these numbers of processes with those on four.
fn the_same_as_on_four(others: &[u32]) {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("examples/heat/heat.c", &[]);
    let four = heat(&lab, program.as_os_str(), 4);
    let sites = four.iter().filter(|line| line.starts_with("site")).count();
    assert!(sites > 10, "{four:#?}");
    for name in ["shmem_double_get", "shmem_double_iget", "DWELL::CALL_SITE", "heat+0x"] {
        assert!(four.iter().any(|line| line.contains(name)), "{name} in {four:#?}");
    }
    for pes in others {
        assert_eq!(heat(&lab, program.as_os_str(), *pes), four, "{pes} processes");
    }
}

#[test]
fn definitions_do_not_depend_on_the_number_of_processes() {
    the_same_as_on_four(&[6, 8, 9, 16]);
}

#[test]
#[ignore = "slow: cargo test -- --ignored"]
fn definitions_of_32_and_64_processes() {
    the_same_as_on_four(&[32, 64]);
}

#[test]
fn groups_of_any_number_of_processes() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/shapes.c", &[]);
    for pes in [2, 3, 4, 8, 16] {
        let (trace, said) = record(&lab, pes, &[program.as_os_str()]);
        let said: BTreeSet<Vec<u64>> = said
            .lines()
            .filter(|line| line.starts_with("set "))
            .filter_map(|line| line.split(' ').find_map(|word| word.strip_prefix("members=")))
            .map(|members| members.split(',').map(|pe| pe.parse().unwrap()).collect())
            .collect();
        assert!(said.contains(&world(pes)), "{said:?}");
        let groups = groups(&trace, GroupType::CommGroup);
        let found: BTreeSet<Vec<u64>> = groups.iter().cloned().collect();
        assert_eq!(found, said, "{pes} processes");
        assert_eq!(found.len(), groups.len(), "no group is there twice: {groups:?}");
    }
}
