//! Names with control sequences of terminals are shown, and the terminal obeys none of them.

use std::fs;
use std::path::Path;

use cubex::{Cnode, Group, Location, MetaBuilder, Metric, Region, ReportWriter, Rows, SystemNode};
use otf2::def;
use otf2::enums::{LocationGroupType, LocationType, RegionFlag, RegionRole};
use otf2::event::{Enter, Leave};
use otf2::id::{LocationGroupRef, LocationRef, RegionRef, StringRef, SystemTreeNodeRef, Time};
use otf2::write::{ArchiveWriter, Options};

use super::{Home, said};

/// A name that sets the title, clears the screen, begins a line, reverses what follows, and has a control of eight
/// bits.
pub(super) const NAME: &str =
    "solve\u{1b}]0;owned\u{7}\u{1b}[2J\nfake line\r\u{202e}esrever\u{9b}31m\u{2066}";

/// Beginning of the name as it is shown.
pub(super) const SHOWN: &str = r"solve\u{1b}]0;owned\u{7}\u{1b}[2J\u{a}fake line";

/// Returns `true` if a text contains nothing that a terminal would interpret.
fn is_quiet(text: &str) -> bool {
    text.chars().all(|it| {
        it == '\n'
            || !it.is_control() && !('\u{202a}'..='\u{202e}').contains(&it) && it != '\u{2066}'
    }) && !text.lines().any(|line| line.starts_with("fake line"))
}

pub(super) fn quiet(home: &Home, args: &[&str]) -> String {
    let output = home.dwell(args);
    let text = said(&output);
    assert!(output.status.code().is_some_and(|it| it < 3), "{args:?}: {text}");
    assert!(is_quiet(&text), "{args:?}: {text:?}");
    text
}

/// Writes an archive in which everything that has a name has that name.
fn archive(directory: &Path) {
    let options = Options {
        machine: NAME.into(),
        creator: NAME.into(),
        description: NAME.into(),
        properties: vec![("DWELL::PROGRAM".into(), NAME.into())],
        ..Options::default()
    };
    let writer = ArchiveWriter::create(directory, "traces", options).unwrap();
    let mut defs = writer.global_definitions().unwrap();
    let name = StringRef(1);
    defs.write(def::ClockProperties {
        timer_resolution: 1_000_000_000,
        global_offset: 0,
        trace_length: 100,
        realtime_timestamp: u64::MAX,
    })
    .unwrap();
    for (id, string) in [(0, ""), (1, NAME)] {
        defs.write(def::String { id: StringRef(id), string: string.into() }).unwrap();
    }
    defs.write(def::SystemTreeNode {
        id: SystemTreeNodeRef(0),
        name,
        class_name: name,
        parent: SystemTreeNodeRef::UNDEFINED,
    })
    .unwrap();
    defs.write(def::LocationGroup {
        id: LocationGroupRef(0),
        name,
        location_group_type: LocationGroupType::Process,
        system_tree_parent: SystemTreeNodeRef(0),
        creating_location_group: LocationGroupRef::UNDEFINED,
    })
    .unwrap();
    defs.write(def::Location {
        id: LocationRef(0),
        name,
        location_type: LocationType::CpuThread,
        number_of_events: 2,
        location_group: LocationGroupRef(0),
    })
    .unwrap();
    defs.write(def::Region {
        id: RegionRef(0),
        name,
        canonical_name: name,
        description: name,
        region_role: RegionRole::Function,
        paradigm: otf2::enums::Paradigm::User,
        region_flags: RegionFlag(0),
        source_file: name,
        begin_line_number: 1,
        end_line_number: 2,
    })
    .unwrap();
    defs.finish().unwrap();
    let mut events = writer.events(LocationRef(0)).unwrap();
    events.write(Time(10), Enter { region: RegionRef(0) }).unwrap();
    events.write(Time(90), Leave { region: RegionRef(0) }).unwrap();
    events.finish().unwrap();
    writer.finish().unwrap();
}

#[test]
fn names_of_an_archive_are_shown_and_not_obeyed() {
    let home = Home::new();
    archive(&home.path("run"));
    for args in [
        &["print", "run"][..],
        &["print", "run", "-s", "definitions"],
        &["print", "run", "-s", "anchor"],
        &["print", "run", "-s", "all"],
        &["info", "run"],
        &["analyze", "run", "--full"],
        &["report", "run"],
        &["report", "run", "--tree", "time"],
        &["report", "run", "--spread"],
    ] {
        let text = quiet(&home, args);
        match args[0] {
            "print" | "info" => assert!(text.contains(SHOWN), "{args:?}: {text}"),
            // What XML does not allow is not in a report of ours.
            "report" if !args.contains(&"--spread") => {
                assert!(text.contains(r"\u{202e}esrever"), "{args:?}: {text}");
            }
            _ => {}
        }
    }
    for args in [&["print", "run", "--sections=all", "--json"][..], &["info", "run", "--json"]] {
        let text = quiet(&home, args);
        assert!(text.contains(r"solve\u001b]0;owned\u0007"), "{args:?}: {text}");
        let json = text.lines().skip(1).collect::<Vec<_>>().join("\n");
        let values: Vec<serde_json::Value> =
            serde_json::Deserializer::from_str(&json).into_iter().map(Result::unwrap).collect();
        let all = serde_json::to_string(&values).unwrap();
        assert!(all.contains("\u{202e}esrever"), "JSON means the same: {all}");
    }
}

/// Writes a report in which everything that has a name has that name, with this time.
fn report(path: &Path, time: u64) {
    // The writer drops what XML does not allow, and a stranger puts it back.
    let name = &NAME.replace('\u{1b}', "~").replace('\u{7}', "^");
    let mut builder = MetaBuilder::new();
    let metric = builder.metric(
        None,
        Metric { uniq_name: "time", disp_name: name, uom: "sec", ..Metric::default() },
    );
    let region = builder.region(Region { name, ..Region::default() });
    let root = builder.cnode(None, Cnode { region, ..Cnode::default() });
    let below = builder.cnode(Some(root), Cnode { region, file: name, line: Some(3) });
    let machine = builder.system_node(None, SystemNode { name, ..SystemNode::default() });
    let process = builder.group(machine, Group { name, ..Group::default() });
    builder.location(process, Location { name, ..Location::default() });
    let writer = ReportWriter::create(path, builder.finish().unwrap()).unwrap();
    let rows = writer.metric(metric, Rows::All).unwrap();
    rows.write(root, &[time]).unwrap();
    rows.write(below, &[time]).unwrap();
    writer.finish().unwrap();
    let mut bytes = fs::read(path).unwrap();
    // Without its marks the report has no checksums.
    let changes: [(&[u8], &[u8]); 2] =
        [(b"solve~]0;owned^~[2J", b"solve\x1b]0;owned\x07\x1b[2J"), (b"cubex CRC-32", &[0; 12])];
    for (dropped, stranger) in changes {
        for at in 0..bytes.len() - dropped.len() {
            if bytes[at..].starts_with(dropped) {
                bytes[at..at + stranger.len()].copy_from_slice(stranger);
            }
        }
    }
    assert!(bytes.contains(&0x1b));
    fs::write(path, bytes).unwrap();
}

#[test]
fn names_of_a_report_are_shown_and_not_obeyed() {
    let home = Home::new();
    report(&home.path("a.cubex"), 10);
    report(&home.path("b.cubex"), 20);
    for args in [
        &["report", "a.cubex"][..],
        &["report", "a.cubex", "--tree", "time"],
        &["report", "a.cubex", "--metric", "time"],
        &["report", "a.cubex", "--metric", "time", "--csv"],
        &["report", "a.cubex", "--tree", "time", "--csv"],
        &["compare", "a.cubex", "b.cubex"],
        &["compare", "a.cubex", "b.cubex", "--markdown"],
        &["compare", "a.cubex", "b.cubex", "--junit"],
    ] {
        let text = quiet(&home, args);
        // The beginning of a long call path is cut.
        assert!(text.contains(r"\u{202e}esrever"), "{args:?}: {text}");
        assert!(args[0] == "compare" || text.contains(r"solve\u{1b}"), "{args:?}: {text}");
    }
    for args in [
        &["report", "a.cubex", "--spread"][..],
        &["report", "a.cubex", "--metrics"],
        &["report", "a.cubex", "--metrics", "--json"],
        &["report", "a.cubex", "--tree", "time", "--json"],
        &["report", "a.cubex", "--path", "solve"],
        &["report", "a.cubex", "--path", NAME],
        &["compare", "a.cubex", "b.cubex", "--json"],
        &["export", "a.cubex", "--format=cubex", "--merge", "-o", "m.cubex"],
        &["export", "a.cubex", "--format=html", "-o", "a.html"],
    ] {
        quiet(&home, args);
    }
}

#[test]
fn names_of_files_in_messages_are_not_obeyed() {
    let home = Home::new();
    let name = "dir\u{1b}[2J\u{202e}";
    fs::create_dir(home.path(name)).unwrap();
    for command in ["print", "info", "analyze", "report", "score", "recover"] {
        quiet(&home, &[command, name]);
    }
    quiet(&home, &["report", "--tree", "x\u{1b}", &format!("{name}.cubex")]);
}

/// Replaces names in the definitions of an archive by others of the same length.
fn rename(definitions: &Path, names: &[(&[u8], &[u8])]) {
    let mut bytes = fs::read(definitions).unwrap();
    for (from, to) in names {
        assert_eq!(from.len(), to.len());
        let at = bytes.windows(from.len()).position(|it| it == *from).unwrap();
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    fs::write(definitions, bytes).unwrap();
}

#[test]
fn names_in_findings_are_shown_and_not_obeyed() {
    let home = Home::with_archive();
    let names: [(&[u8], &[u8]); 3] = [
        (b"main", b"\x1b[2J"),
        (b"Rank 1", b"R\nfake"),
        (b"ARMCI_Get", "\u{202e}\x1b[31m\x07".as_bytes()),
    ];
    rename(&home.path("run/traces.def"), &names);
    let text = quiet(&home, &["analyze", "run", "--full"]);
    for shown in [r"\u{202e}\u{1b}[31m\u{7} waits", r"\u{1b}[2J / ", r"R\u{a}fake ("] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    let text = quiet(&home, &["analyze", "run", "--json"]);
    assert!(text.contains(r"R\nfake") && text.contains(r"\u202e\u001b[31m\u0007"), "{text}");
    quiet(&home, &["report", "run"]);
    quiet(&home, &["export", "run", "--format=html", "-o", "run.html"]);
}
