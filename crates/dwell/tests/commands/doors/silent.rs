//! No damage passes silently: files of runs are damaged at random, commands are run on them, and their answers are
//! compared with those about the same run without damage. An answer that differs must come with another exit code or
//! with a message.
//!
//! All files of a finished run have checksums: archives, blocks of profiles, findings and reports. A process that is killed
//! leaves event files whose last chunk has no checksum yet. A bit that changes there may make another file that is valid
//! too, which no reader can tell. Such answers are counted apart; see [`unprotected`].
//!
//! The proof is ignored here and run by `cargo xtask proofs`; a sample runs always. `DWELL_DAMAGE_SEEDS=100..200` runs
//! some seeds of the proof, for instance to go on where it stopped.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dwell_model::profile::block::MAGIC;
use fastrand::Rng;
use otf2::Archive;
use otf2::write::{ArchiveWriter, Options};

use super::Home;
use crate::support::{self, copy};

/// A command, what it is asked on standard input, and where its files are.
struct Question {
    words: &'static [&'static str],
    asked: &'static str,
    made: &'static str,
}

const fn asks(words: &'static [&'static str]) -> Question {
    Question { words, asked: "", made: "" }
}

const fn makes(words: &'static [&'static str], made: &'static str) -> Question {
    Question { words, asked: "", made }
}

/// What an assistant asks about a run.
const ASSISTANT: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"findings","arguments":{"run":"run"}}}"#,
    "\n",
);

/// Commands that read an analysed run. Those that write into it come last.
const ANALYSED: &[Question] = &[
    asks(&["info", "run"]),
    asks(&["ls", "run", "--json"]),
    asks(&["print", "run"]),
    asks(&["print", "run", "--sections=all", "--json"]),
    asks(&["print", "run", "--limit", "7"]),
    asks(&["print", "run", "--by-location", "--to", "1ms"]),
    asks(&["report", "run"]),
    asks(&["report", "run", "--json", "--tree", "time"]),
    asks(&["report", "run", "--spread", "--csv"]),
    asks(&["compare", "whole", "run"]),
    Question { words: &["mcp", "run"], asked: ASSISTANT, made: "" },
    asks(&["timeline", "run"]),
    makes(&["timeline", "run", "-o", "out.svg"], "out.svg"),
    makes(&["export", "run", "--format=html", "-o", "out"], "out"),
    makes(&["export", "run", "--format=parquet", "-o", "out"], "out"),
    makes(&["export", "run", "--format=perfetto", "-o", "out"], "out"),
    makes(&["export", "run", "--format=otf2", "-o", "out"], "out"),
    asks(&["whatif", "run"]),
    makes(&["analyze", "run"], "run/findings.json"),
];

/// Commands that read a run with a profile.
const PROFILED: &[Question] = &[
    asks(&["info", "run"]),
    asks(&["ls", "run", "--json"]),
    asks(&["score", "run", "--json"]),
    asks(&["report", "run"]),
    asks(&["report", "run", "--json", "--tree", "time"]),
    asks(&["compare", "whole", "run"]),
    makes(&["export", "run", "--format=html", "-o", "out"], "out"),
];

/// Commands that read a killed run.
const KILLED: &[Question] = &[
    asks(&["ls", "run", "--json"]),
    makes(&["recover", "run"], "run"),
    asks(&["info", "run"]),
    asks(&["print", "run"]),
];

/// Returns the kind of a file in which a bit may change without a trace: the events of a killed process, whose last chunk
/// was being written and has no checksum, and which do not know their location.
fn unprotected(name: &str) -> Option<&'static str> {
    let of_killed = name.starts_with("open/") && name.ends_with(".evt");
    of_killed.then_some(".evt of a killed process")
}

/// Answer of a command: exit code, standard output, messages, and files that it made.
#[derive(Clone, Debug, PartialEq)]
struct Answer {
    code: Option<i32>,
    output: Vec<u8>,
    messages: String,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

/// A run that is damaged, and the commands that read it, with their answers without damage.
struct Subject {
    name: &'static str,
    home: Home,
    questions: &'static [Question],
    answers: Vec<Answer>,
}

/// Returns the files at a path by their names, without archives' ids, which are new in every one.
fn files(path: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
    if let Ok(entries) = fs::read_dir(path) {
        entries.flatten().for_each(|entry| files(&entry.path(), all));
    } else if let Ok(bytes) = fs::read(path) {
        all.insert(path.file_name().unwrap().into(), bytes);
    }
}

/// Runs a command in a directory and waits for its end.
fn ask(directory: &Path, question: &Question) -> Answer {
    let mut command = support::command("100");
    command.args(question.words).current_dir(directory).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (output, messages) = std::thread::scope(|scope| {
        let messages = scope.spawn(move || {
            let mut bytes = Vec::new();
            err.read_to_end(&mut bytes).map(|_| bytes).unwrap_or_default()
        });
        let output = scope.spawn(move || {
            let mut bytes = Vec::new();
            // A server answers before its questions end.
            let _ = input.write_all(question.asked.as_bytes());
            let wanted = question.asked.matches("\"id\"").count();
            let mut buffer = [0; 4096];
            while wanted == 0 || bytes.iter().filter(|byte| **byte == b'\n').count() < wanted {
                match out.read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(count) => bytes.extend(&buffer[..count]),
                }
            }
            drop(input);
            let _ = out.read_to_end(&mut bytes);
            bytes
        });
        let began = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if began.elapsed() > Duration::from_secs(120) {
                child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        (output.join().unwrap(), messages.join().unwrap())
    });
    let code = child.wait().unwrap().code();
    // The list of runs says when each was recorded, to the minute.
    let when = String::from_utf8_lossy(&output).lines().any(|line| line.contains("when_utc"));
    let output = match when {
        true => {
            let text = String::from_utf8_lossy(&output);
            let lines = text.lines().filter(|line| !line.contains("when_utc"));
            lines.collect::<Vec<_>>().join("\n").into_bytes()
        }
        false => output,
    };
    let mut made = BTreeMap::new();
    if !question.made.is_empty() {
        files(&directory.join(question.made), &mut made);
        // Anchor and clock of a new archive say when it was made.
        made.retain(|name, _| !["traces.otf2", "traces.def"].iter().any(|it| name.ends_with(it)));
    }
    if question.made == "out" {
        let out = directory.join("out");
        let _ = fs::remove_file(&out);
        let _ = fs::remove_dir_all(&out);
    }
    Answer { code, output, messages: String::from_utf8_lossy(&messages).into(), files: made }
}

impl Subject {
    fn new(name: &'static str, home: Home, questions: &'static [Question]) -> Self {
        copy(&home.path("run"), &home.path("whole"));
        let mut subject = Self { name, home, questions, answers: Vec::new() };
        subject.answers = subject.answers(&mut |_, _| {});
        // Answers that are never the same twice say nothing about damage.
        assert_eq!(subject.answers(&mut |_, _| {}), subject.answers, "{name}");
        subject
    }

    /// Asks all questions about a copy of the run.
    fn answers(&self, chosen: &mut dyn FnMut(usize, &Question)) -> Vec<Answer> {
        let place = self.copy();
        let all = self.questions.iter().enumerate().map(|(at, question)| {
            chosen(at, question);
            ask(place.path(), question)
        });
        all.collect()
    }

    fn copy(&self) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for name in ["run", "whole"] {
            copy(&self.home.path(name), &place.path().join(name));
        }
        place
    }
}

/// The three kinds of runs.
fn subjects() -> Vec<Subject> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/earlier");
    let earlier = |name: &str| {
        let home = Home::new();
        copy(&data.join(name), &home.path("run"));
        home
    };
    // An earlier version had no checksums.
    let profile = || {
        let home = earlier("profile");
        add_checksums(&home.path("run"));
        home
    };
    let analysed = Home::with_archive();
    for words in [&["analyze", "run"][..], &["timeline", "run"]] {
        assert!(analysed.dwell(words).status.success());
    }
    let profiled = profile();
    assert!(profiled.dwell(&["report", "run"]).status.success());
    vec![
        Subject::new("analysed", analysed, ANALYSED),
        Subject::new("profile", profile(), PROFILED),
        Subject::new("profile with report", profiled, PROFILED),
        Subject::new("killed", earlier("killed"), KILLED),
    ]
}

/// Writes the definitions, the anchor and the blocks of a profile anew, as this version writes them.
fn add_checksums(run: &Path) {
    let archive = Archive::open(run).unwrap();
    let anchor = archive.anchor();
    let options = Options {
        defs_chunk: anchor.defs_chunk,
        creator: anchor.creator.clone(),
        description: anchor.description.clone(),
        properties: anchor.properties.clone(),
        local_definitions: true,
        ..Options::default()
    };
    let place = tempfile::tempdir().unwrap();
    let writer = ArchiveWriter::create(place.path(), "traces", options).unwrap();
    let mut definitions = writer.global_definitions().unwrap();
    let old = archive.definitions().unwrap();
    old.iter().for_each(|it| definitions.write(it).unwrap());
    definitions.finish().unwrap();
    writer.finish().unwrap();
    for name in ["traces.otf2", "traces.def"] {
        fs::copy(place.path().join(name), run.join(name)).unwrap();
    }
    let path = run.join("profile/0.block");
    let mut block = fs::read(&path).unwrap();
    block[..8].copy_from_slice(&MAGIC.to_le_bytes());
    let sum = crc32fast::hash(&block);
    block.extend(sum.to_le_bytes());
    fs::write(&path, block).unwrap();
}

/// Damages a file of the run in a random way. Returns its name and a description.
fn damage(run: &Path, random: &mut Rng) -> (String, String) {
    let mut all = Vec::new();
    list(run, &mut all);
    all.sort();
    let path = all[random.usize(..all.len())].clone();
    let name = path.strip_prefix(run).unwrap().display().to_string();
    let mut bytes = fs::read(&path).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |at| at + 1);
    let at = random.usize(..used.max(1)).min(bytes.len().saturating_sub(1));
    let end = (at + random.usize(1..64)).min(bytes.len());
    let what = match random.u32(..11) {
        _ if bytes.is_empty() => "nothing".into(),
        0..3 => {
            bytes[at] ^= 1 << random.u32(..8);
            format!("a bit at {at}")
        }
        3 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        4 => {
            bytes.extend(std::iter::repeat_with(|| random.u8(..)).take(end - at));
            format!("{} bytes more", end - at)
        }
        5 => {
            bytes[at..end].fill(0);
            format!("zeros at {at}..{end}")
        }
        6 => {
            let count = (end - at).min(used / 2);
            let other = random.usize(..(used - count).max(1));
            let (one, two) = (bytes[at..].to_vec(), bytes[other..].to_vec());
            let count = count.min(one.len()).min(two.len());
            bytes[at..at + count].copy_from_slice(&two[..count]);
            bytes[other..other + count].copy_from_slice(&one[..count]);
            format!("{count} bytes at {at} and {other} exchanged")
        }
        7 => {
            bytes.drain(at..end);
            format!("without {at}..{end}")
        }
        8 => {
            let twice = bytes[at..end].to_vec();
            bytes.splice(at..at, twice);
            format!("{at}..{end} twice")
        }
        9 => {
            let same = all.iter().filter(|it| it.extension() == path.extension() && **it != path);
            let same: Vec<&PathBuf> = same.collect();
            match random.choice(&same) {
                Some(other) => {
                    bytes = fs::read(other).unwrap();
                    format!("replaced by {}", other.display())
                }
                None => "nothing".into(),
            }
        }
        _ => {
            fs::remove_file(&path).unwrap();
            return (name, "removed".into());
        }
    };
    fs::write(&path, bytes).unwrap();
    (name, what)
}

fn list(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path().is_dir() {
            true => list(&entry.path(), all),
            false => all.push(entry.path()),
        }
    }
}

/// Numbers of commands by what they did.
#[derive(Default, Debug)]
struct Tally {
    directories: u64,
    commands: BTreeMap<&'static str, u64>,
    same: u64,
    told: u64,
    /// Answers about files without a checksum that differ silently, by kind of file.
    unprotected: BTreeMap<&'static str, u64>,
    silent: Vec<String>,
}

/// Returns `true` if an answer differs from that without damage and does not say why.
fn is_silent(answer: &Answer, whole: &Answer) -> bool {
    let differs = (&answer.output, &answer.files) != (&whole.output, &whole.files);
    let says = ["damaged", "cannot be read"];
    let output = String::from_utf8_lossy(&answer.output);
    let told = answer.code != whole.code
        || answer.messages != whole.messages
        || says.iter().any(|it| output.contains(it));
    differs && !told
}

/// Damages a directory and asks some questions about it.
fn try_seed(subjects: &[Subject], seed: u64, tally: &Mutex<Tally>) {
    let mut random = Rng::with_seed(seed);
    let subject = &subjects[[0, 0, 0, 1, 2, 3][random.usize(..6)]];
    let place = subject.copy();
    let (name, what) = damage(&place.path().join("run"), &mut random);
    let count = subject.questions.len();
    let mut chosen: Vec<usize> = random.choose_multiple(0..count, 6);
    chosen.sort_unstable();
    if subject.name == "killed" {
        chosen = (0..count).collect();
    }
    let mut results = Vec::new();
    for at in chosen {
        let (question, whole) = (&subject.questions[at], &subject.answers[at]);
        let answer = ask(place.path(), question);
        let about = format!("seed {seed}: {}: {name}: {what}: {:?}", subject.name, question.words);
        assert!(answer.code.is_some_and(|code| code < 100), "{about}: {answer:?}");
        assert!(!answer.messages.contains("panicked"), "{about}: {}", answer.messages);
        results.push((question.words[0], is_silent(&answer, whole), answer == *whole, about));
        // A file that is made anew is not damaged any more, and later answers are about another run.
        if question.words[0] == "recover" && answer.code != Some(0) {
            break;
        }
    }
    let mut tally = tally.lock().unwrap();
    tally.directories += 1;
    for (command, silent, same, about) in results {
        *tally.commands.entry(command).or_default() += 1;
        match (silent, unprotected(&name)) {
            (true, Some(kind)) => {
                *tally.unprotected.entry(kind).or_default() += 1;
                if std::env::var_os("DWELL_DAMAGE_VERBOSE").is_some() {
                    eprintln!("unprotected: {about}");
                }
            }
            (true, None) => tally.silent.push(about),
            (false, _) if same => tally.same += 1,
            (false, _) => tally.told += 1,
        }
    }
}

fn random_damage(seeds: std::ops::Range<u64>) {
    let subjects = subjects();
    let (next, tally) = (AtomicU64::new(seeds.start), Mutex::new(Tally::default()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    try_seed(&subjects, seed, &tally);
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    let commands: u64 = tally.commands.values().sum();
    let Tally { directories, same, told, unprotected, silent, .. } = &tally;
    eprintln!(
        "{directories} directories, {commands} commands ({:?}): {same} answers as without damage, {told} told it, \
         without a checksum {unprotected:?}, silent {}",
        tally.commands,
        silent.len()
    );
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

#[test]
fn no_damage_passes_silently() {
    random_damage(0..25);
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn proof_that_no_damage_passes_silently() {
    let seeds = std::env::var("DWELL_DAMAGE_SEEDS").unwrap_or("0..5000".into());
    let (from, to) = seeds.split_once("..").expect("a range such as 0..5000");
    random_damage(from.parse().unwrap()..to.parse().unwrap());
}
