//! Runs that have not ended, made by someone else: `dwell where` shows their names, reads what can be read of their files,
//! and changes none of them.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use dwell_unify::facts::{EVENTS, Fact};
use dwell_unify::stream::{BLOCK, Headed, RunId};
use otf2::encode::Encoder;
use otf2::enums::{Paradigm, RegionRole};
use otf2::event::{Enter, Event, RmaCollectiveBegin};
use otf2::id::{RegionRef, Time};
use serde_json::Value;

use super::terminal::{NAME, SHOWN, quiet};
use super::{Home, said};
use crate::support::copy;

const CHUNK: usize = 256 * 1024;

/// Writes a process that is in a barrier, in which everything that has a name has that name.
fn process(folder: &Path, rank: u64, size: u64) {
    let (role, paradigm) = (u8::from(RegionRole::Barrier), u8::from(Paradigm::Shmem));
    let (role, paradigm) = (u64::from(role), u64::from(paradigm));
    let meaning = "layer=shmem operation=barrier progress=always";
    let all = [
        Fact::Process { rank, size, pid: 1 << 30, host: NAME, program: NAME, layer: 0 },
        Fact::Thread { id: 0, tid: 1, files: EVENTS },
        Fact::Region { id: 0, name: NAME, meaning, role, paradigm },
        Fact::Clock { recorder: 0, monotonic: 0, doubt: 0 },
    ];
    let (run, facts, chunk_size) = (RunId(7), all.len() as u64, CHUNK as u64);
    let head = Headed { run, size, rank, chunk_size, facts, ..Headed::default() };
    let mut stream: Vec<u8> = head.fixed().into_iter().flat_map(u64::to_le_bytes).collect();
    stream.resize(BLOCK, 0);
    for fact in all {
        let mut bytes = [0; 1024];
        let (tag, length) = fact.encode(&mut bytes).unwrap();
        bytes[0] = tag;
        stream.extend(&bytes[..length]);
    }
    let mut encoder = Encoder::new(vec![0; CHUNK]).unwrap();
    let events: [Event<'_>; 2] =
        [Enter { region: RegionRef(0) }.into(), RmaCollectiveBegin {}.into()];
    for event in events {
        encoder.write(Time(1), event).unwrap();
    }
    fs::write(folder.join(format!("{rank}.facts")), stream).unwrap();
    // Most of the chunk is a hole, so that many take little space.
    let mut file = fs::File::create(folder.join(format!("{rank}.0.evt"))).unwrap();
    file.write_all(&encoder.memory()[..4096]).unwrap();
    file.set_len(CHUNK as u64).unwrap();
}

/// All but one of very many processes are in a barrier. The answer takes at most 500 MB and fits on a screen.
#[test]
#[ignore = "slow: cargo xtask proofs"]
fn proof_that_many_processes_are_answered_in_one_screen() {
    const MANY: u64 = 10_000;
    let home = Home::new();
    let open = home.path("run/open");
    fs::create_dir_all(&open).unwrap();
    (0..MANY).filter(|it| *it != 17).for_each(|rank| process(&open, rank, MANY));
    let began = Instant::now();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 500000; exec \"$0\" where run", env!("CARGO_BIN_EXE_dwell")]);
    let output = limited.current_dir(home.path("")).output().unwrap();
    let (text, took) = (said(&output), began.elapsed().as_secs_f64());
    println!("{MANY} processes: answered in {took:.2} s");
    assert!(output.status.success(), "{text}");
    assert!(text.contains("9,999 processes wait for PE 17, which left no files here"), "{text}");
    assert!(text.lines().count() <= 24, "{text}");
    assert!(cfg!(debug_assertions) || took < 5.0, "{took}");
}

#[test]
fn names_of_a_run_that_has_not_ended_are_shown() {
    let home = Home::new();
    let open = home.path("run/open");
    fs::create_dir_all(&open).unwrap();
    process(&open, 0, 2);
    fs::write(open.join(format!("{}.facts", NAME.replace('/', "_"))), "no facts").unwrap();
    let shown = |arguments: &[&str]| {
        let text = quiet(&home, arguments).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(SHOWN), "{arguments:?}: {text}");
        text
    };
    assert!(shown(&["where", "run"]).contains("not read"));
    let json = quiet(&home, &["where", "run", "--json"]);
    assert!(json.contains("u001b"), "{json}");
    // It was killed, for all that is known.
    shown(&["analyze", "run"]);
    shown(&["recover", "run", "--force"]);
}

/// Files of another node may be old. How old is said.
#[test]
fn the_age_of_what_is_known_of_another_node_is_stated() {
    let home = Home::new();
    let open = home.path("run/open");
    fs::create_dir_all(&open).unwrap();
    process(&open, 0, 2);
    process(&open, 1, 2);
    for (rank, age) in [(0, 4000), (1, 2000)] {
        let events = fs::File::options().append(true).open(open.join(format!("{rank}.0.evt")));
        let changed = SystemTime::now() - Duration::from_secs(age);
        events.unwrap().set_modified(changed).unwrap();
    }
    let text = quiet(&home, &["where", "run"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("The last events of node solve"), "{text}");
    assert!(text.contains("arrived here 33."), "{text}");
    let output = home.dwell(&["where", "run", "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let node = &json["nodes"][0];
    assert_eq!(node["processes"], 2);
    assert!((2000.0..2600.0).contains(&node["age"].as_f64().unwrap()), "{node}");
}

/// Returns the names and contents of the files in a directory.
fn contents(folder: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut all: Vec<_> =
        entries.map(|it| (it.file_name(), fs::read(it.path()).unwrap_or_default())).collect();
    all.sort();
    all
}

/// Numbers that differ, and are the same in every run of the test.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }
}

/// Changes some bytes of a file, or cuts it.
fn damage(path: &Path, numbers: &mut Numbers) {
    let mut bytes = fs::read(path).unwrap();
    match numbers.below(3) {
        0 => bytes.truncate(numbers.below(bytes.len())),
        1 => {
            let at = numbers.below(bytes.len());
            bytes[at..].iter_mut().take(64).for_each(|it| *it = numbers.below(256) as u8);
        }
        _ => {
            // The head of a file, and the first events of a chunk, are most of what is read.
            for _ in 0..4 {
                let at = numbers.below(bytes.len().min(512));
                bytes[at] ^= 1 << numbers.below(8);
            }
        }
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn torn_and_hostile_files_are_answers_or_refused() {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/earlier/killed");
    let mut numbers = Numbers(1);
    for round in 0..24 {
        let home = Home::new();
        let run = home.path("run");
        copy(&from, &run);
        let open = run.join("open");
        let names: Vec<_> = contents(&open).into_iter().map(|it| it.0).collect();
        for _ in 0..=numbers.below(3) {
            damage(&open.join(&names[numbers.below(names.len())]), &mut numbers);
        }
        let before = contents(&open);
        let output = home.dwell(&["where", "run"]);
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 2 | 3)), "{round}: {}", said(&output));
        assert!(before == contents(&open), "{round}: looking changes nothing");
    }
}

#[test]
fn links_and_pipes_among_the_files_are_not_followed_and_not_waited_for() {
    let home = Home::new();
    let open = home.path("run/open");
    fs::create_dir_all(&open).unwrap();
    process(&open, 0, 3);
    process(&home.path(""), 1, 3);
    symlink(home.path("1.facts"), open.join("1.facts")).unwrap();
    assert!(Command::new("mkfifo").arg(open.join("2.facts")).status().unwrap().success());
    fs::remove_file(open.join("0.0.evt")).unwrap();
    assert!(Command::new("mkfifo").arg(open.join("0.0.evt")).status().unwrap().success());
    let text = quiet(&home, &["where", "run"]);
    assert!(text.contains("PE 1, 2: no files here"), "{text}");
    assert_eq!(text.matches("not read").count(), 2, "{text}");
}

#[test]
fn a_directory_may_change_while_it_is_read() {
    let home = Home::new();
    let open = home.path("run/open");
    fs::create_dir_all(&open).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut numbers = Numbers(2);
            while !done.load(Ordering::Relaxed) {
                let rank = numbers.below(4) as u64;
                process(&open, rank, 4);
                let name = open.join(format!("{}.facts", numbers.below(4)));
                let _ = match numbers.below(3) {
                    0 => fs::remove_file(&name),
                    1 => fs::rename(&name, open.join("3.facts")),
                    _ => fs::File::create(open.join("2.0.evt")).map(drop),
                };
            }
        });
        let outputs: Vec<_> = (0..12).map(|_| home.dwell(&["where", "run"])).collect();
        done.store(true, Ordering::Relaxed);
        for output in outputs {
            assert!(matches!(output.status.code(), Some(0 | 2 | 3)), "{}", said(&output));
        }
    });
}
