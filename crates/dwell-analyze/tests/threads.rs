//! Processes of several threads: their facts are the union over all threads.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use dwell_analyze::{Cut, Options, Quantity, analyze};
use otf2::enums::{
    CommFlag, GroupFlag, GroupType, LocationGroupType, LocationType, Paradigm, RegionFlag,
    RegionRole, RmaWinFlag,
};
use otf2::event::{Enter, Leave, RmaGet, RmaOpCompleteBlocking, RmaOpCompleteRemote, RmaPut};
use otf2::id::{
    CommRef, GroupRef, LocationGroupRef, LocationRef, MatchingId, Rank, RegionRef, RmaWinRef,
    StringRef, SystemTreeNodeRef, Time,
};
use otf2::write::ArchiveWriter;
use otf2::{Archive, Event, List, def};

const MAIN: RegionRef = RegionRef(0);
const GET: RegionRef = RegionRef(1);
const PUT: RegionRef = RegionRef(2);
const QUIET: RegionRef = RegionRef(3);

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("get", "layer=shmem operation=get progress=always"),
    ("put", "layer=shmem operation=put progress=never"),
    ("quiet", "layer=shmem operation=complete_remote progress=always completes=remote"),
];

/// Two processes of two threads each: locations 0 and 1, 2 and 3.
fn write(directory: &std::path::Path, events: [&[(u64, Event<'static>)]; 4]) {
    let archive =
        ArchiveWriter::create(directory, "traces", otf2::write::Options::default()).unwrap();
    let mut counts = Vec::new();
    for (location, list) in (0..).map(LocationRef).zip(events) {
        let mut writer = archive.events(location).unwrap();
        for (time, event) in list {
            writer.write(Time(*time), *event).unwrap();
        }
        counts.push(writer.finish().unwrap().events);
        archive.local_definitions(location).unwrap().finish().unwrap();
    }
    let mut defs = archive.global_definitions().unwrap();
    defs.write(def::ClockProperties {
        timer_resolution: 1_000_000_000,
        global_offset: 0,
        trace_length: 1_000,
        realtime_timestamp: u64::MAX,
    })
    .unwrap();
    let name = defs.string("a name").unwrap();
    for (id, (text, meaning)) in (0..).map(RegionRef).zip(REGIONS) {
        let name = defs.string(text).unwrap();
        let description = defs.string(meaning).unwrap();
        defs.write(def::Region {
            id,
            name,
            canonical_name: name,
            description,
            region_role: RegionRole::Function,
            paradigm: Paradigm::Shmem,
            region_flags: RegionFlag::NONE,
            source_file: StringRef::UNDEFINED,
            begin_line_number: 0,
            end_line_number: 0,
        })
        .unwrap();
    }
    let node = SystemTreeNodeRef(0);
    let parent = SystemTreeNodeRef::UNDEFINED;
    defs.write(def::SystemTreeNode { id: node, name, class_name: name, parent }).unwrap();
    for id in [0, 1].map(LocationGroupRef) {
        defs.write(def::LocationGroup {
            id,
            name,
            location_group_type: LocationGroupType::Process,
            system_tree_parent: node,
            creating_location_group: LocationGroupRef::UNDEFINED,
        })
        .unwrap();
    }
    for (id, number_of_events) in (0..).zip(counts) {
        defs.write(def::Location {
            id: LocationRef(id),
            name,
            location_type: LocationType::CpuThread,
            number_of_events,
            location_group: LocationGroupRef(id as u32 / 2),
        })
        .unwrap();
    }
    let mut group = |id, group_type, members: &[u64]| {
        let (id, group_flags, paradigm) = (GroupRef(id), GroupFlag::NONE, Paradigm::Shmem);
        let members = List::from(members);
        defs.write(def::Group { id, name, group_type, paradigm, group_flags, members }).unwrap();
    };
    group(0, GroupType::CommLocations, &[0, 2]);
    group(1, GroupType::CommGroup, &[0, 1]);
    let (id, parent) = (CommRef(0), CommRef::UNDEFINED);
    defs.write(def::Comm { id, name, group: GroupRef(1), parent, flags: CommFlag::NONE }).unwrap();
    let (id, comm, flags) = (RmaWinRef(0), CommRef(0), RmaWinFlag::NONE);
    defs.write(def::RmaWin { id, name, comm, flags }).unwrap();
    defs.finish().unwrap();
    archive.finish().unwrap();
}

fn enter(region: RegionRef) -> Event<'static> {
    Enter { region }.into()
}

fn leave(region: RegionRef) -> Event<'static> {
    Leave { region }.into()
}

#[test]
fn any_thread_of_the_target_serves() {
    let (win, remote) = (RmaWinRef(0), Rank(1));
    let get = |id| RmaGet { win, remote, bytes: 8, matching_id: MatchingId(id) }.into();
    let done = |id| RmaOpCompleteBlocking { win, matching_id: MatchingId(id) }.into();
    // Thread 0 waits from 100 until thread 3 serves at 150; from 300 on thread 2 is there.
    let directory = tempfile::tempdir().unwrap();
    write(
        directory.path(),
        [
            &[
                (0, enter(MAIN)),
                (100, enter(GET)),
                (100, get(0)),
                (170, done(0)),
                (170, leave(GET)),
                (300, enter(GET)),
                (300, get(1)),
                (350, done(1)),
                (350, leave(GET)),
                (500, leave(MAIN)),
            ],
            &[(0, enter(MAIN)), (500, leave(MAIN))],
            &[(0, enter(MAIN)), (290, enter(QUIET)), (360, leave(QUIET)), (500, leave(MAIN))],
            &[
                (0, enter(MAIN)),
                (150, enter(QUIET)),
                (320, leave(QUIET)),
                (340, enter(QUIET)),
                (341, leave(QUIET)),
                (500, leave(MAIN)),
            ],
        ],
    );
    for cut in [Cut::Budget, Cut::EveryEvent] {
        let mut options = Options::default();
        options.cut = cut;
        let archive = Archive::open(directory.path()).unwrap();
        let analysis = analyze(&archive, &options, &|_| {}).unwrap();
        assert!(analysis.damage().is_empty(), "{:?}", analysis.damage());
        assert_eq!(analysis.events(), 22);
        assert_eq!(analysis.at_location(0, Quantity::ProgressLow), 50, "{cut:?}");
        assert_eq!(analysis.total(Quantity::ProgressLow), 50, "{cut:?}");
    }
}

#[test]
fn a_thread_completes_what_another_put() {
    let (win, remote, matching_id) = (RmaWinRef(0), Rank(1), MatchingId(7));
    let put = RmaPut { win, remote, bytes: 8, matching_id }.into();
    let done = RmaOpCompleteBlocking { win, matching_id }.into();
    let complete = RmaOpCompleteRemote { win, matching_id }.into();
    // Thread 0 puts at 100, thread 1 waits for it from 200 until the target comes at 260.
    let directory = tempfile::tempdir().unwrap();
    write(
        directory.path(),
        [
            &[
                (0, enter(MAIN)),
                (100, enter(PUT)),
                (100, put),
                (110, done),
                (110, leave(PUT)),
                (500, leave(MAIN)),
            ],
            &[
                (0, enter(MAIN)),
                (200, enter(QUIET)),
                (280, complete),
                (280, leave(QUIET)),
                (500, leave(MAIN)),
            ],
            &[(0, enter(MAIN)), (260, enter(QUIET)), (270, leave(QUIET)), (500, leave(MAIN))],
            &[(0, enter(MAIN)), (500, leave(MAIN))],
        ],
    );
    for cut in [Cut::Budget, Cut::EveryEvent] {
        let mut options = Options::default();
        options.cut = cut;
        let archive = Archive::open(directory.path()).unwrap();
        let analysis = analyze(&archive, &options, &|_| {}).unwrap();
        assert_eq!(analysis.at_location(1, Quantity::ProgressLow), 60, "{cut:?}");
        assert_eq!(analysis.total(Quantity::ProgressLow), 60, "{cut:?}");
    }
}
