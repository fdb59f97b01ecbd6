//! Analyses a fixed set of archives with the code of two commits and compares the results byte for byte.
//!
//! A refactoring changes no result, and this command shows it: `cargo xtask same OLD NEW`. The set holds the recorded
//! archives of `tests/data/archives`, at least one for each runtime, and synthetic archives, which the code of the old
//! commit makes. For each archive all files are compared that `dwell analyze`, `dwell timeline` and `dwell export` write:
//! report, findings, dependency log, index, tables, a trace for Perfetto, a cut; and what the first two print. Checksums
//! are left out of the comparison, because early versions did not write them into findings, archives and reports.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::process::{self, cargo};
use crate::workspace::Workspace;

/// Directory of the recorded archives, one folder for each.
const RECORDED: &str = "tests/data/archives";

/// Synthetic archives: a name, and the arguments of `dwell synth`.
const SYNTHETIC: &[(&str, &[&str])] = &[
    ("srumma", &["srumma", "--ranks", "16"]),
    ("sor", &["sor", "--ranks", "16"]),
    ("halo", &["halo", "--ranks", "9"]),
    ("ring", &["ring", "--ranks", "7"]),
    ("random-1", &["random", "--ranks", "8", "--seed", "1"]),
    ("random-2", &["random", "--ranks", "12", "--seed", "2"]),
    ("random-3", &["random", "--ranks", "5", "--seed", "3", "--segments", "20"]),
];

/// Options of `cargo xtask same`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The commit to compare with
    old: String,
    /// The commit to compare; the working tree if it is not given
    new: Option<String>,
}

/// Results of one archive: the bytes of each file, by its path.
type Results = BTreeMap<String, Vec<u8>>;

/// Commands that are run one after the other with the path of the archive. Each writes to a directory there or not at
/// all.
const COMMANDS: &[(&str, &[&str])] = &[
    ("analyze", &["--full=1000", "--threads", "2", "--causes", "always"]),
    ("timeline", &[]),
    ("export", &["--events", "--format=parquet", "-o", "tables"]),
    ("export", &["--format=perfetto", "-o", "perfetto"]),
    ("export", &["--format=otf2", "-o", "cut", "--from", "1us"]),
];

/// Analyses all archives with both versions and prints the differences. Fails if there are any.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let folder = workspace.target.join("same");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let old = built(workspace, &folder, &options.old)?;
    let new = match &options.new {
        Some(commit) => built(workspace, &folder, commit)?,
        None => {
            process::run(cargo(&workspace.root).args(["build", "-p", "dwell"]))?;
            workspace.target.join("debug/dwell")
        }
    };
    let archives = archives(workspace, &folder, &old)?;
    let mut different = 0;
    for (name, archive) in &archives {
        let (old, new) = (results(&folder, &old, archive)?, results(&folder, &new, archive)?);
        let differences = compare(&old, &new);
        println!("{name}: {}", if differences.is_empty() { "same" } else { "DIFFERENT" });
        differences.iter().for_each(|it| println!("  {it}"));
        different += usize::from(!differences.is_empty());
    }
    ensure!(different == 0, "{different} of {} archives give other results", archives.len());
    println!("{} archives give the same bytes", archives.len());
    Ok(())
}

/// Returns the path of `dwell` of a commit, which is built once and kept.
fn built(workspace: &Workspace, folder: &Path, commit: &str) -> Result<PathBuf> {
    let mut git = Command::new("git");
    git.current_dir(&workspace.root).args([
        "rev-parse",
        "--verify",
        &format!("{commit}^{{commit}}"),
    ]);
    let id = process::output(&mut git)?.trim().to_owned();
    let program = folder.join(format!("dwell-{id}"));
    if program.is_file() {
        return Ok(program);
    }
    let tree = folder.join(format!("tree-{id}"));
    let mut git = Command::new("git");
    git.current_dir(&workspace.root).args(["worktree", "add", "--force", "--detach"]);
    process::run(git.arg(&tree).arg(&id))?;
    let target = folder.join("target");
    let built = process::run(
        cargo(&tree).args(["build", "--locked", "-p", "dwell"]).env("CARGO_TARGET_DIR", &target),
    );
    let copied = built.and_then(|()| {
        fs::copy(target.join("debug/dwell"), &program)
            .with_context(|| format!("cannot write {}", program.display()))
    });
    let mut git = Command::new("git");
    git.current_dir(&workspace.root).args(["worktree", "remove", "--force"]);
    process::run(git.arg(&tree))?;
    copied.map(|_| program)
}

/// Returns the archives of the set, by name.
fn archives(
    workspace: &Workspace,
    folder: &Path,
    dwell: &Path,
) -> Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    let recorded = workspace.root.join(RECORDED);
    for entry in fs::read_dir(&recorded).with_context(|| format!("cannot read {RECORDED}"))? {
        let path = entry?.path();
        if path.join("traces.otf2").is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.insert(name, path);
        }
    }
    ensure!(!found.is_empty(), "there is no archive in {RECORDED}");
    for (name, arguments) in SYNTHETIC {
        let path = folder.join(name);
        clear(&path)?;
        process::output(Command::new(dwell).arg("synth").args(*arguments).arg("-o").arg(&path))?;
        found.insert(format!("synthetic {name}"), path);
    }
    Ok(found)
}

fn clear(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Analyses a copy of an archive. The copy is always at the same path, because results contain it.
fn results(folder: &Path, dwell: &Path, archive: &Path) -> Result<Results> {
    let copy = folder.join("archive");
    clear(&copy)?;
    copy_all(archive, &copy)?;
    let mut results = Results::new();
    for (command, arguments) in COMMANDS {
        let mut run = Command::new(dwell);
        run.arg(command).arg(".").args(*arguments).current_dir(&copy).env_remove("DWELL_CONFIG");
        let output = run.output().with_context(|| format!("cannot run {}", dwell.display()))?;
        if !matches!(output.status.code(), Some(0 | 1)) {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("`{}` fails on {}: {errors}", process::display(&run), archive.display());
        }
        results.insert(format!("text of {command} {}", arguments.join(" ")), output.stdout);
    }
    read_all(&copy, "", &mut results)?;
    results.retain(|name, _| !archive.join(name).exists());
    Ok(results)
}

/// Reads all files of a directory, by their paths in it.
fn read_all(directory: &Path, before: &str, into: &mut Results) -> Result<()> {
    let failed = || format!("cannot read {}", directory.display());
    for entry in fs::read_dir(directory).with_context(failed)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{before}{name}");
        if path.is_dir() {
            read_all(&path, &format!("{name}/"), into)?;
        } else {
            let bytes = without_checksums(&name, fs::read(&path).with_context(failed)?);
            into.insert(name, bytes);
        }
    }
    Ok(())
}

/// Property of archives with checksums, as the anchor has it.
const PROPERTY: &[u8] = b"CHUNK::CHECKSUMS\0CRC-32, local definitions\0";

/// Number of bytes of an anchor before its texts, the last of which are machine, creator and description.
const ANCHOR_NUMBERS: usize = 46;

/// Name of the member of a report that has its checksums, and what the headers of reports with checksums end with.
const SUMS: &[u8] = b"cubex-checksums\0";
const MARK: &[u8] = b"cubex CRC-32";

/// Removes checksums from a file: the line of findings, the last member of reports, the trailers of chunks, and the
/// property and the trailer of an anchor. Other bytes stay as they are.
fn without_checksums(name: &str, mut bytes: Vec<u8>) -> Vec<u8> {
    if name == "findings.json" {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        return lines
            .filter(|it| !it.starts_with(b"  \"checksum\": "))
            .flatten()
            .copied()
            .collect();
    }
    if name.ends_with(".cubex") {
        let is_last = |header: &[u8]| header.starts_with(SUMS) && header.ends_with(MARK);
        if let Some(at) = bytes.chunks_exact(512).rposition(is_last) {
            bytes.truncate(512 * at);
            // The end of an archive.
            bytes.resize(512 * at + 1024, 0);
        }
        for header in bytes.chunks_exact_mut(512).filter(|it| it.starts_with(b"anchor.xml\0")) {
            header[148..156].fill(0); // The sum of the header, which counts the mark.
            header[512 - MARK.len()..].fill(0);
        }
        return bytes;
    }
    if !name.starts_with("cut/") {
        return bytes;
    }
    if name.ends_with(".evt") || name.ends_with(".def") {
        let end = bytes.len().saturating_sub(16);
        if bytes[end..].get(8..11) == Some(b"END") && bytes[..end].ends_with(&[2, 1]) {
            bytes.truncate(end);
        }
        // Chunk sizes are multiples of the smallest one.
        for chunk in bytes.chunks_exact_mut(256 * 1024) {
            if let Some(trailer) = chunk.last_chunk_mut::<8>()
                && trailer.starts_with(b"CRC1")
            {
                trailer.fill(0);
            }
        }
    } else if name.ends_with(".otf2")
        && let Some(at) = bytes.windows(PROPERTY.len()).position(|it| it == PROPERTY)
    {
        bytes.drain(at..at + PROPERTY.len());
        bytes.truncate(bytes.len().saturating_sub(8));
        let texts = bytes.iter().enumerate().skip(ANCHOR_NUMBERS).filter(|(_, byte)| **byte == 0);
        if let Some((end, _)) = texts.clone().nth(2) {
            bytes[end + 1] -= 1; // The number of properties, which are few.
        }
    }
    bytes
}

fn copy_all(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_all(&path, &target)?;
        } else {
            fs::copy(&path, &target).with_context(|| format!("cannot copy {}", path.display()))?;
        }
    }
    Ok(())
}

/// Lists the places at which two results differ.
fn compare(old: &Results, new: &Results) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(new.keys().filter(|it| !old.contains_key(*it)).map(|it| format!("{it} is new")));
    for (name, old) in old {
        let Some(new) = new.get(name) else {
            found.push(format!("{name} is gone"));
            continue;
        };
        if old == new {
            continue;
        }
        let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes);
        match (json(old), json(new)) {
            (Ok(old), Ok(new)) => differ(name, &old, &new, &mut found),
            _ => found.push(format!("{name}: {}", first_difference(old, new))),
        }
    }
    found
}

/// Describes the first line, or byte, that differs.
fn first_difference(old: &[u8], new: &[u8]) -> String {
    let at = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    match (std::str::from_utf8(old), std::str::from_utf8(new)) {
        (Ok(old), Ok(new)) => {
            let pairs = old.lines().zip(new.lines()).find(|(a, b)| a != b);
            pairs.map_or("one has more lines".to_owned(), |(a, b)| format!("{a:?}, now {b:?}"))
        }
        _ => format!("byte {at} of {} and {}", old.len(), new.len()),
    }
}

/// Adds the paths of the values that differ between two JSON documents.
fn differ(path: &str, old: &Value, new: &Value, found: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let path = format!("{path}.{key}");
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => differ(&path, a, b, found),
                    (Some(_), None) => found.push(format!("{path} is gone")),
                    _ => found.push(format!("{path} is new")),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differ(&format!("{path}[{index}]"), a, b, found);
            }
        }
        _ if old != new => found.push(format!("{path}: {old}, now {new}")),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(json: &str, text: &str) -> Results {
        let files = [("findings.json", json.as_bytes().to_vec()), ("text", text.into())];
        files.map(|(name, bytes)| (name.to_owned(), bytes)).into()
    }

    #[test]
    fn the_same_is_the_same() {
        assert!(compare(&results("[1]", "a"), &results("[1]", "a")).is_empty());
    }

    #[test]
    fn checksums_of_reports_do_not_count() {
        let block = |text: &[u8], end: &[u8]| {
            let mut block = text.to_vec();
            block.resize(512 - end.len(), 0);
            [&block, end].concat()
        };
        let old = [block(b"anchor.xml\0", b""), block(b"<cube>", b""), vec![0; 1024]].concat();
        let new = [
            block(b"anchor.xml\0", MARK),
            block(b"<cube>", b""),
            block(SUMS, MARK),
            block(b"sums", b""),
            vec![0; 1024],
        ]
        .concat();
        assert!(old != new);
        assert!(without_checksums("trace.cubex", new) == without_checksums("trace.cubex", old));
    }

    #[test]
    fn each_difference_is_named() {
        let old = results(r#"{"a": [1, 2], "b": 1}"#, "first\nsecond\n");
        let new = results(r#"{"a": [1, 3], "c": 1}"#, "first\nthird\n");
        let expected = [
            "findings.json.a[1]: 2, now 3",
            "findings.json.b is gone",
            "findings.json.c is new",
            "text: \"second\", now \"third\"",
        ];
        assert_eq!(compare(&old, &new), expected);
    }
}
