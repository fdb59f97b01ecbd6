//! What recovery makes of directories that were made up: damaged, hostile, of several runs.
//!
//! The runs are written with the recorder's own stream and encoder, so they are what processes leave that
//! are killed. Real ones are in the tests of `dwell`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use dwell_measure::stream::{Head, Stream};
use dwell_model::archive;
use dwell_unify::facts::{EVENTS, Fact};
use dwell_unify::recover::{Caution, Error, Recovered, recover};
use dwell_unify::stream::RunId;
use otf2::encode::{EncodeError, Encoder};
use otf2::event::{Enter, Leave, ParameterString};
use otf2::id::{ParameterRef, RegionRef, StringRef, Time};
use otf2::{Archive, Event};

const CHUNK: usize = 256 * 1024;
const RUN: RunId = RunId(0xD0E1);

/// A run of some processes, killed in the midst.
struct Killed {
    folder: tempfile::TempDir,
}

/// Number of calls of each process.
const CALLS: u64 = 40_000;

impl Killed {
    fn new(ranks: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let killed = Self { folder };
        fs::create_dir(killed.path("open")).unwrap();
        fs::create_dir(killed.path("traces")).unwrap();
        fs::write(killed.path("open/run"), RUN.to_string()).unwrap();
        for rank in 0..ranks {
            process(&killed.path("open"), RUN, rank, ranks, CALLS);
        }
        killed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn recover(&self) -> Recovered {
        recover(self.folder.path(), &[], Caution::Refuse).unwrap()
    }

    /// Changes a file.
    fn change(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let path = self.path(name);
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(path, bytes).unwrap();
    }
}

/// Writes the files that a process leaves that is killed after `calls` calls. Region 1 is `alpha` at even ranks and
/// `beta` at odd ones, so that ids differ.
fn process(folder: &Path, run: RunId, rank: u64, size: u64, calls: u64) {
    process_with(folder, run, rank, size, calls, Extra::default(), |_| {});
}

/// What a process says and records besides.
#[derive(Clone, Copy, Default)]
struct Extra<'a> {
    facts: &'a [Fact<'a>],
    events: &'a [Event<'a>],
}

/// Writes the files of a killed process with facts and events of one's own, and lets `at_the_end` change its numbers.
fn process_with(
    folder: &Path,
    run: RunId,
    rank: u64,
    size: u64,
    calls: u64,
    extra: Extra<'_>,
    at_the_end: impl FnOnce(Head),
) {
    let path = folder.join(format!("{rank}.facts"));
    let mut stream = Stream::create(&path, run, rank, size, CHUNK as u64).unwrap();
    let mut say = |fact: Fact<'_>| stream.append(&fact).unwrap();
    let layer = 13;
    say(Fact::Process { rank, size, pid: 0, host: "node", program: "/bin/heat", layer });
    say(Fact::Clock { recorder: 1, monotonic: 1, doubt: 0 });
    let names =
        if rank.is_multiple_of(2) { ["heat", "alpha", "beta"] } else { ["heat", "beta", "alpha"] };
    for (id, name) in (0..).zip(names) {
        say(Fact::Region { id, name, meaning: "", role: 1, paradigm: 13 });
    }
    say(Fact::Thread { id: 0, tid: 1, files: EVENTS });
    extra.facts.iter().for_each(|fact| say(*fact));
    let mut file = Vec::new();
    let mut encoder = Encoder::new(vec![0; CHUNK]).unwrap();
    stream.head().has_chunk();
    let mut write = |time, event: Event<'_>| {
        if encoder.write(Time(time), event) == Err(EncodeError::Full) {
            file.extend(encoder.turn(vec![0; CHUNK]).unwrap());
            stream.head().has_chunk();
            encoder.write(Time(time), event).unwrap();
        }
    };
    write(1000, Enter { region: RegionRef(0) }.into());
    for call in 0..calls {
        let region = RegionRef(1 + (call % 4 / 3) as u32);
        write(1000 + call * 50, Enter { region }.into());
        write(1020 + call * 50, Leave { region }.into());
    }
    extra.events.iter().for_each(|event| write(1020 + calls * 50, *event));
    let end = encoder.used();
    let mut last = encoder.finish().memory;
    last[end..end + 2].fill(0);
    file.extend(last);
    fs::write(folder.join(format!("{rank}.0.evt")), file).unwrap();
    at_the_end(stream.head());
    leave(&path);
}

/// Makes a file one that this process has not mapped: whoever has is still recording.
fn leave(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Events of a run of so many processes: the program is entered, and left by recovery.
fn all(ranks: u64) -> u64 {
    ranks * (2 + 2 * CALLS)
}

/// Counts the calls of each region, by rank and name. Regions must nest.
fn calls(directory: &Path) -> Vec<(u64, String, u64)> {
    let archive = Archive::open(directory).unwrap();
    let definitions = archive.definitions().unwrap();
    let mut counts = std::collections::BTreeMap::new();
    for location in definitions.locations() {
        let mut open = Vec::new();
        let mut reader = archive.events(location.id).unwrap();
        let mut events = 0;
        while let Some(record) = reader.next().unwrap() {
            events += 1;
            match record.event {
                Event::Enter(enter) => open.push(enter.region),
                Event::Leave(leave) => {
                    assert_eq!(open.pop(), Some(leave.region));
                    let region = definitions.region(leave.region);
                    let name = region.and_then(|it| definitions.string(it.name));
                    let name = name.map_or("undefined".into(), |name| name.to_string());
                    let rank = u64::from(location.location_group.0);
                    *counts.entry((rank, name)).or_insert(0) += 1;
                }
                _ => {}
            }
        }
        assert_eq!(open, [], "regions stay open");
        assert_eq!(location.number_of_events, events);
    }
    counts.into_iter().map(|((rank, name), count)| (rank, name, count)).collect()
}

fn property(directory: &Path, name: &str) -> Option<String> {
    Archive::open(directory).unwrap().anchor().property(name).map(str::to_owned)
}

/// The damage, as one text; the archive must say the same.
fn damage(killed: &Killed, recovered: &Recovered) -> String {
    assert!(!recovered.damage.is_empty(), "{recovered:?}");
    let text = recovered.damage.join("; ");
    let said = property(killed.folder.path(), archive::DAMAGED).unwrap_or_default();
    assert!(said.starts_with(&text[..text.len().min(500)]), "{said}\n{text}");
    text
}

#[test]
fn a_killed_run_is_recovered_without_a_word() {
    let killed = Killed::new(3);
    let recovered = killed.recover();
    assert_eq!((recovered.events, recovered.processes, recovered.of), (all(3), 3, 3));
    assert_eq!(recovered.damage, Vec::<String>::new());
    assert_eq!(property(killed.folder.path(), archive::DAMAGED), None);
    let calls = calls(killed.folder.path());
    assert_eq!(calls[0], (0, "alpha".into(), CALLS / 4 * 3));
    assert_eq!(calls[3], (1, "alpha".into(), CALLS / 4));
    let names: Vec<_> = fs::read_dir(killed.folder.path()).unwrap().flatten().collect();
    assert_eq!(names.len(), 3, "traces, traces.def, traces.otf2: {names:?}");
    assert!(matches!(recover(killed.folder.path(), &[], Caution::Refuse), Err(Error::Complete(_))));
}

#[test]
fn a_process_that_records_is_left_alone() {
    let killed = Killed::new(1);
    let path = killed.path("open/0.facts");
    fs::remove_file(&path).unwrap();
    let stream = Stream::create(&path, RUN, 0, 1, CHUNK as u64).unwrap();
    let error = recover(killed.folder.path(), &[], Caution::Refuse).unwrap_err();
    assert!(matches!(error, Error::Alive(pid) if pid == u64::from(std::process::id())), "{error}");
    drop(stream);
}

#[test]
fn a_damaged_page_is_told_and_the_events_behind_it_are_kept() {
    let killed = Killed::new(2);
    killed.change("open/0.0.evt", |bytes| bytes[8192..12288].fill(0));
    let before = fs::read(killed.path("open/0.0.evt")).unwrap();
    let recovered = killed.recover();
    let text = damage(&killed, &recovered);
    assert!(text.contains("open/0.0.evt: byte 81"), "{text}");
    assert!((200..500).contains(&recovered.lost_events), "{recovered:?}");
    assert!(recovered.events + recovered.lost_events >= all(2), "{recovered:?}");
    assert_eq!(fs::read(killed.path("open/0.0.evt.damaged")).unwrap(), before);
    calls(killed.folder.path());
    // The gap is in the archive.
    let archive = Archive::open(killed.folder.path()).unwrap();
    let mut reader = archive.events(otf2::id::LocationRef(0)).unwrap();
    let mut switched = 0;
    while let Some(record) = reader.next().unwrap() {
        if let Event::MeasurementOnOff(_) = record.event {
            switched += 1;
            let mark = record.attributes.iter().next().unwrap().value;
            assert_eq!(mark, otf2::AttributeValue::Uint8(2));
        }
    }
    assert_eq!(switched, 2, "{recovered:?}");
}

/// A file of zeros is also what a process leaves that was about to begin. The facts say that this one had begun.
#[test]
fn events_that_are_all_zeros_are_missed() {
    let killed = Killed::new(2);
    fs::remove_file(killed.path("open/1.facts")).unwrap();
    process(&killed.path("open"), RUN, 1, 2, 100);
    killed.change("open/1.0.evt", |bytes| bytes.fill(0));
    let recovered = killed.recover();
    let text = damage(&killed, &recovered);
    assert!(text.contains("1 chunks of events were begun, and its files have 0"), "{text}");
    assert_eq!(recovered.events, all(1));
}

#[test]
fn events_without_facts_are_left_out_and_never_misread() {
    for damaged in [vec![], vec![0; 65536], b"no facts at all".to_vec()] {
        let killed = Killed::new(2);
        fs::write(killed.path("open/0.facts"), damaged).unwrap();
        let recovered = killed.recover();
        let text = damage(&killed, &recovered);
        assert!(text.contains("open/0.facts: ") && text.contains("nothing of rank 0"), "{text}");
        assert!(text.contains("open/0.0.*: the facts of this rank cannot be read"), "{text}");
        assert_eq!(recovered.events, all(1));
        assert!(calls(killed.folder.path()).iter().all(|(rank, _, _)| *rank == 1));
        assert!(killed.path("open/0.0.evt").exists());
    }
    let killed = Killed::new(2);
    fs::remove_file(killed.path("open/0.facts")).unwrap();
    let text = damage(&killed, &killed.recover());
    assert!(text.contains("open/0.0.*: no facts of this rank are here; left out"), "{text}");
}

/// The size of chunks is not the usual one here, and survives with the head of the stream.
#[test]
fn facts_that_are_cut_off_leave_an_archive_that_can_be_read() {
    let killed = Killed::new(2);
    killed.change("open/0.facts", |bytes| bytes.truncate(10_000));
    let recovered = killed.recover();
    assert!(damage(&killed, &recovered).contains("0.facts: "), "{recovered:?}");
    let of_rank_1: u64 =
        calls(killed.folder.path()).iter().filter(|it| it.0 == 1).map(|it| it.2).sum();
    assert_eq!(of_rank_1, CALLS + 1);
}

#[test]
fn a_lost_definition_is_undefined_and_not_another_one() {
    let killed = Killed::new(2);
    killed.change("open/0.facts", |bytes| {
        let at = bytes.windows(5).position(|it| it == b"alpha").unwrap();
        bytes[at] = b'z';
    });
    let recovered = killed.recover();
    let text = damage(&killed, &recovered);
    assert!(text.contains("open/0.facts: byte 65"), "{text}");
    assert!(text.contains("6 facts were written and 5 are there"), "{text}");
    assert_eq!(recovered.events, all(2), "no event is lost");
    let calls = calls(killed.folder.path());
    assert!(calls.contains(&(0, "undefined".into(), CALLS / 4 * 3)), "{calls:?}");
    assert!(calls.contains(&(0, "beta".into(), CALLS / 4)), "{calls:?}");
    assert!(killed.path("open/0.facts.damaged").exists());
}

#[test]
fn an_event_that_names_nothing_is_damage() {
    let killed = Killed::new(1);
    // The region of the second event.
    killed.change("open/0.0.evt", |bytes| {
        let at = bytes.iter().skip(18 + 9 + 2).position(|byte| *byte == 12).unwrap() + 18 + 9 + 2;
        assert_eq!(bytes[at + 1..at + 3], [1, 1]);
        bytes[at + 2] = 77;
    });
    let recovered = killed.recover();
    let text = damage(&killed, &recovered);
    assert!(text.contains("bytes that are no event"), "{text}");
    assert!(recovered.events + 3 > all(1), "{recovered:?}");
}

#[test]
fn parameters_and_strings_that_are_not_defined_are_damage() {
    let (parameter, string) = (ParameterRef(0), StringRef(1));
    let events = [ParameterString { parameter, string }.into()];
    let name = Fact::Parameter { id: 0, kind: 0, name: "mode" };
    let text = |id| Fact::Text { id, text: "fast" };
    let recovered = |facts: &[Fact<'_>]| {
        let killed = Killed::new(0);
        let extra = Extra { facts, events: &events };
        process_with(&killed.path("open"), RUN, 0, 1, 10, extra, |_| {});
        killed.recover()
    };
    assert_eq!(recovered(&[name, text(0), text(1)]).damage, [""; 0]);
    for facts in [&[name, text(0)][..], &[text(0), text(1)]] {
        let damage = recovered(facts).damage;
        assert!(damage.iter().any(|it| it.contains("no event")), "{facts:?}: {damage:?}");
    }
}

#[test]
fn a_thread_without_an_event_file_misses_no_events() {
    let killed = Killed::new(0);
    let facts = [Fact::Thread { id: 1, tid: 2, files: 0 }];
    let extra = Extra { facts: &facts, events: &[] };
    process_with(&killed.path("open"), RUN, 0, 1, 10, extra, |_| {});
    assert_eq!(killed.recover().damage, [""; 0]);

    let killed = Killed::new(0);
    let facts = [Fact::Thread { id: 1, tid: 2, files: EVENTS }];
    let extra = Extra { facts: &facts, events: &[] };
    process_with(&killed.path("open"), RUN, 0, 1, 10, extra, |_| {});
    assert_eq!(killed.recover().damage, ["open/0.1.evt: the events of this thread are missing"]);
}

#[test]
fn files_that_are_missing_or_empty_are_damage() {
    for change in ["gone", "empty", "cut"] {
        let killed = Killed::new(2);
        let path = killed.path("open/1.0.evt");
        match change {
            "gone" => fs::remove_file(&path).unwrap(),
            "empty" => fs::write(&path, []).unwrap(),
            _ => killed.change("open/1.0.evt", |bytes| bytes.truncate(CHUNK)),
        }
        let recovered = killed.recover();
        let text = damage(&killed, &recovered);
        assert!(text.contains("open/1.*.evt: 4 chunks of events were begun"), "{change}: {text}");
        assert!(recovered.events < all(2));
    }
}

#[test]
fn processes_of_two_runs_are_never_mixed() {
    let other = RunId(0xBEEF);
    // The directory says which run it belongs to.
    let killed = Killed::new(2);
    fs::remove_file(killed.path("open/1.facts")).unwrap();
    fs::remove_file(killed.path("open/1.0.evt")).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    process(scratch.path(), other, 1, 2, 10);
    let recovered =
        recover(killed.folder.path(), &[scratch.path().into()], Caution::Refuse).unwrap();
    let text = damage(&killed, &recovered);
    assert!(text.contains("1.facts: of another run, 000000000000beef; left as it is"), "{text}");
    assert!(text.contains("nothing of rank 1"), "{text}");
    assert_eq!(recovered.events, all(1));
    assert!(scratch.path().join("1.facts").exists() && scratch.path().join("1.0.evt").exists());

    // Nothing says which is meant.
    let empty = tempfile::tempdir().unwrap();
    let scratches = [other, RUN].map(|run| {
        let scratch = tempfile::tempdir().unwrap();
        process(scratch.path(), run, 0, 1, 10);
        scratch
    });
    let from = scratches.each_ref().map(|scratch| scratch.path().to_owned());
    let error = recover(empty.path(), &from, Caution::Refuse).unwrap_err();
    assert!(matches!(error, Error::SeveralRuns(_)), "{error}");
    assert!(error.to_string().contains("0.facts"), "{error}");
    assert!(fs::read_dir(empty.path()).unwrap().next().is_none(), "nothing was written");
}

#[test]
fn into_an_empty_or_a_new_directory() {
    let home = tempfile::tempdir().unwrap();
    for name in ["empty", "new/er"] {
        let killed = Killed::new(2);
        let directory = home.path().join(name);
        if name == "empty" {
            fs::create_dir(&directory).unwrap();
        }
        let recovered = recover(&directory, &[killed.path("open")], Caution::Refuse).unwrap();
        assert_eq!((recovered.events, recovered.damage.len()), (all(2), 0), "{recovered:?}");
        calls(&directory);
    }
}

#[test]
fn why_recording_stopped_and_what_was_lost_survives_a_kill() {
    let killed = Killed::new(0);
    for rank in 0..2 {
        process_with(&killed.path("open"), RUN, rank, 2, CALLS, Extra::default(), |head| {
            if rank == 1 {
                head.stopped("no space for events", 28);
                (0..85_000).for_each(|_| head.loses_call());
            }
        });
    }
    let recovered = killed.recover();
    let directory = killed.folder.path();
    let why = "no space for events: No space left on device";
    assert_eq!(property(directory, archive::STOPPED).as_deref(), Some(why));
    assert_eq!(property(directory, archive::LOST).as_deref(), Some("85000 calls"));
    assert_eq!(recovered.stopped.len(), 2);
    assert_eq!(recovered.damage.len(), 0, "that is no damage: {recovered:?}");
}

#[test]
fn ranks_beyond_the_run_are_left_alone_in_no_time() {
    let killed = Killed::new(2);
    for rank in [2, 16_777_215, 99_999_999_999, u64::MAX] {
        let path = killed.path(&format!("open/{rank}.facts"));
        Stream::create(&path, RUN, rank, 2, CHUNK as u64).unwrap();
        leave(&path);
    }
    fs::write(killed.path("open/18446744073709551616.facts"), "x").unwrap();
    fs::write(killed.path("open/007.facts"), "x").unwrap();
    let began = Instant::now();
    let recovered = killed.recover();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!((recovered.events, recovered.of), (all(2), 2));
    let text = damage(&killed, &recovered);
    for rank in ["2", "16777215", "99999999999", "18446744073709551615", "007"] {
        assert!(text.contains(&format!("open/{rank}.facts: ")), "{rank}: {text}");
    }
    assert_eq!(fs::read_dir(killed.path("traces")).unwrap().count(), 4);
}

#[test]
fn a_large_run_of_which_two_are_left_makes_few_files() {
    let killed = Killed::new(0);
    for rank in 0..2 {
        process(&killed.path("open"), RUN, rank, 20_000, 10);
    }
    let began = Instant::now();
    let recovered = killed.recover();
    assert!(began.elapsed() < Duration::from_secs(120), "{:?}", began.elapsed());
    assert_eq!(recovered.missing, vec![2..20_000]);
    assert!(fs::read_dir(killed.path("traces")).unwrap().count() <= 2 * 1026);
    let text = damage(&killed, &recovered);
    assert!(text.contains("nothing of rank 2 to 19999"), "{text}");
    assert!(text.contains("no files for those of more than 1024"), "{text}");

    // Of 1,024 missing processes each gets its files.
    let killed = Killed::new(0);
    process(&killed.path("open"), RUN, 0, 1025, 10);
    let recovered = killed.recover();
    assert_eq!(recovered.missing, vec![1..1025]);
    assert_eq!(recovered.damage, ["nothing of rank 1 to 1024"]);
    assert_eq!(fs::read_dir(killed.path("traces")).unwrap().count(), 2 * 1025);

    for size in [(1 << 20) + 1, u64::MAX] {
        let killed = Killed::new(0);
        process(&killed.path("open"), RUN, 0, size, 10);
        let error = recover(killed.folder.path(), &[], Caution::Refuse).unwrap_err();
        assert!(error.to_string().contains(&format!("{size} processes are said")), "{error}");
    }
}

#[test]
fn pipes_and_directories_and_holes_are_not_read() {
    let killed = Killed::new(3);
    let pipe = |name: &str| {
        let _ = fs::remove_file(killed.path(name));
        assert!(Command::new("mkfifo").arg(killed.path(name)).status().unwrap().success());
    };
    pipe("open/0.facts");
    pipe("open/1.0.evt");
    pipe("open/1.0.rows");
    fs::remove_file(killed.path("open/2.0.evt")).unwrap();
    fs::create_dir(killed.path("open/2.0.evt")).unwrap();
    let hole = fs::File::create(killed.path("open/3.facts")).unwrap();
    hole.set_len(1 << 40).unwrap();
    let recovered = killed.recover();
    let text = damage(&killed, &recovered);
    for name in ["0.facts", "1.0.evt", "2.0.evt", "3.facts", "1.0.rows"] {
        assert!(text.contains(&format!("open/{name}: ")), "{name}: {text}");
    }
    assert_eq!(recovered.processes, 2);
    calls(killed.folder.path());

    // Two hundred gigabytes of nothing behind the events.
    let killed = Killed::new(1);
    let file = fs::OpenOptions::new().write(true).open(killed.path("open/0.0.evt")).unwrap();
    file.set_len(200 << 30).unwrap();
    let began = Instant::now();
    let recovered = killed.recover();
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(recovered.events, all(1));
    damage(&killed, &recovered);
}

/// Rows of a profile of this version, which are cut, changed or missing, are told with their file. Version 1 has no sum,
/// and is read as it is.
#[test]
fn damage_of_rows_is_told() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/formats");
    let recovered = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let killed = Killed::new(0);
        let open = killed.path("open");
        // What the rows name is defined.
        let regions =
            (3..=9).map(|id| Fact::Region { id, name: "call", meaning: "", role: 1, paradigm: 13 });
        let facts: Vec<Fact<'_>> = regions.collect();
        process_with(&open, RUN, 0, 1, 10, Extra { facts: &facts, events: &[] }, |_| {});
        let mut bytes = fs::read(Path::new(golden).join(name)).unwrap();
        change(&mut bytes);
        fs::write(killed.path("open/0.0.rows"), bytes).unwrap();
        killed.recover().damage.join("\n")
    };
    // What golden rows name besides is not defined here, which is told for each of them.
    let is_told = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let damage = recovered(name, change);
        let rows = damage.lines().filter(|line| line.contains("open/0.0.rows: "));
        rows.filter(|line| !line.contains("is not defined")).count() == 1
    };
    assert!(!is_told("rows-1.rows", &|_| {}));
    assert!(!is_told("rows-2.rows", &|_| {}));
    assert!(is_told("rows-2.rows", &|rows| rows.truncate(700)));
    assert!(is_told("rows-2.rows", &|rows| rows.truncate(128)));
    assert!(is_told("rows-2.rows", &|rows| rows[2 * 128 + 16] ^= 1));
    assert!(is_told("rows-2.rows", &|rows| rows[2 * 128..3 * 128].fill(0)));
    assert!(is_told("rows-2.rows", &|rows| {
        rows.copy_within(128..256, 384);
    }));
    assert!(is_told("rows-2.rows", &|rows| rows[4 * 8] += 1));
    let text = recovered("rows-2.rows", &|rows| rows.truncate(700));
    assert!(text.contains("open/0.0.rows: 3 of 7 rows of the profile are missing"), "{text}");
}

#[test]
fn links_are_never_followed() {
    let victims = tempfile::tempdir().unwrap();
    let victim = victims.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let directory = victims.path().join("elsewhere");
    fs::create_dir(&directory).unwrap();
    for name in [
        "open/0.0.evt",
        "open/0.facts",
        "open/0.0.rows",
        "open/0.0.evt.damaged",
        "traces.def",
        "traces/0.evt",
        "traces/0.def",
        "traces/0.evt.part",
        "traces.otf2.part",
    ] {
        let killed = Killed::new(2);
        let _ = fs::remove_file(killed.path(name));
        symlink(&victim, killed.path(name)).unwrap();
        let recovered = killed.recover();
        let expected = name.starts_with("open/") && !name.ends_with(".damaged");
        assert_eq!(!recovered.damage.is_empty(), expected, "{name}: {recovered:?}");
        calls(killed.folder.path());
        assert_eq!(fs::read(&victim).unwrap(), b"precious", "{name}");
    }
    for name in ["open", "traces", "profile"] {
        let killed = Killed::new(1);
        let real = killed.path("real");
        if killed.path(name).exists() {
            fs::rename(killed.path(name), &real).unwrap();
        }
        symlink(&directory, killed.path(name)).unwrap();
        let error = recover(killed.folder.path(), &[], Caution::Refuse).unwrap_err();
        assert!(error.to_string().contains("link"), "{name}: {error}");
        assert!(fs::read_dir(&directory).unwrap().next().is_none(), "{name}");
    }
    // Another name of the same file keeps its bytes.
    let killed = Killed::new(1);
    let backup = killed.path("backup");
    fs::hard_link(killed.path("open/0.0.evt"), &backup).unwrap();
    let before = fs::read(&backup).unwrap();
    assert_eq!(killed.recover().events, all(1));
    assert_eq!(fs::read(&backup).unwrap(), before);
}

#[test]
fn what_was_damaged_is_told_again_when_recovery_starts_again() {
    let killed = Killed::new(2);
    killed.change("open/0.0.evt", |bytes| bytes[8192..12288].fill(0));
    let first = killed.recover();
    // As if it had died before the anchor was written.
    fs::remove_file(killed.path("traces.otf2")).unwrap();
    fs::rename(killed.path("traces/0.evt"), killed.path("open/0.0.evt")).unwrap();
    for rank in 0..2 {
        process(&killed.path("open"), RUN, rank, 2, CALLS);
        fs::remove_file(killed.path(&format!("open/{rank}.0.evt"))).unwrap();
    }
    let again = killed.recover();
    assert_eq!((again.events, &again.damage), (first.events, &first.damage));
}
