//! A profile becomes the same report whichever way it is collated: by the processes, in blocks of any size, or from
//! files that `dwell` finds. This is a sample of `examples/profile_scale`.

#[path = "../../examples/profile_scale/simulated.rs"]
mod simulated;

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use dwell_unify::experiment::PROFILE;
use otf2::chunk::DEFS_SIZE;
use otf2::store::FileKind;
use simulated::{Simulated, Watch};

use crate::support::{self, path, text};

struct Counted(u64);

impl Watch for Counted {
    fn write(&mut self, _: &[u8], work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        self.0 += 1;
        work()
    }

    fn written(&self) -> u64 {
        self.0
    }
}

/// Makes the report of an experiment and returns its bytes.
fn report(directory: &Path) -> Vec<u8> {
    let output = support::command("100").args(["report", path(directory)]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("multigrid"), "{}", text(&output.stdout));
    fs::read(directory.join("profile.cubex")).unwrap()
}

#[test]
fn the_report_is_the_same_by_every_road() {
    let size = 120;
    let run = Simulated::new(size);
    let mut global = run.unify();
    let folder = tempfile::tempdir().unwrap();
    let mut reports = Vec::new();
    for (enough, blocks) in [(1, size), (50_000, 7), (usize::MAX, 1)] {
        let directory = folder.path().join(enough.to_string());
        fs::create_dir(&directory).unwrap();
        let mut counted = Counted(0);
        run.collate(&mut global, &directory, enough, &mut counted).unwrap();
        assert!((blocks..=2 * blocks).contains(&counted.0), "{enough}: {}", counted.0);
        run.complete(&global, &directory).unwrap();
        reports.push(report(&directory));
    }

    let directory = folder.path().join("left");
    run.leave(&mut global, &directory).unwrap();
    run.complete(&global, &directory).unwrap();
    reports.push(report(&directory));
    let left: Vec<_> = fs::read_dir(directory.join(PROFILE)).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");

    // Some processes put theirs together, some did not; and some were not told that they had.
    let directory = folder.path().join("both");
    run.leave(&mut global, &directory).unwrap();
    let mut counted = Counted(0);
    run.collate(&mut global, &directory, 100_000, &mut counted).unwrap();
    let mut blocks: Vec<_> =
        fs::read_dir(directory.join(PROFILE)).unwrap().map(|it| it.unwrap().path()).collect();
    blocks.retain(|path| path.extension().is_some_and(|it| it == "block"));
    blocks.sort();
    fs::remove_file(&blocks[1]).unwrap();
    run.complete(&global, &directory).unwrap();
    reports.push(report(&directory));

    let written = cubex::Report::open(directory.join("profile.cubex")).unwrap();
    assert_eq!(written.meta().cnodes().len(), run.paths());
    assert!(reports.iter().all(|it| *it == reports[0]));
}

#[test]
fn damage_is_told_and_the_rest_shown() {
    let run = Simulated::new(40);
    let mut global = run.unify();
    let folder = tempfile::tempdir().unwrap();
    run.collate(&mut global, folder.path(), 20_000, &mut Counted(0)).unwrap();
    run.complete(&global, folder.path()).unwrap();
    let rows = folder.path().join(PROFILE);
    let mut blocks: Vec<_> = fs::read_dir(&rows).unwrap().map(|it| it.unwrap().path()).collect();
    blocks.sort();
    // One is cut, in one a line is none.
    let bytes = fs::read(&blocks[0]).unwrap();
    fs::write(&blocks[0], &bytes[..bytes.len() - 1]).unwrap();
    let mut bytes = fs::read(&blocks[1]).unwrap();
    let head = dwell_model::profile::block::Head::read(&bytes).unwrap();
    bytes[head.tables() as usize..][..11].fill(0xff);
    fs::write(&blocks[1], &bytes).unwrap();
    let output = support::command("100").args(["report", path(folder.path())]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.contains("the file has not the length that it says"), "{said}");
    assert!(said.contains("locations have no profile"), "{said}");
    assert!(said.contains("lines between bytes"), "{said}");
    // Whoever looks at the profile later is told as well.
    for command in ["report", "score"] {
        let again = support::command("100").args([command, path(folder.path())]).output().unwrap();
        // An estimate cannot be made from it, and a report was.
        let code = if command == "report" { 1 } else { 2 };
        assert_eq!(again.status.code(), Some(code), "{command}: {}", text(&again.stderr));
        let said = text(&again.stderr);
        assert!(said.contains("the file has not the length that it says"), "{command}: {said}");
    }
    // Nothing but noise in the folder: no profile, and no panic.
    fs::write(rows.join("5.rows"), "noise").unwrap();
    fs::remove_file(folder.path().join("profile.cubex")).unwrap();
    let output = support::command("100").args(["report", path(folder.path())]).output().unwrap();
    assert!(text(&output.stderr).contains("no rows of a profile"), "{}", text(&output.stderr));
}

#[test]
fn links_and_pipes_among_rows_are_not_followed_and_nobody_waits() {
    let run = Simulated::new(40);
    let mut global = run.unify();
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    fs::create_dir(&directory).unwrap();
    run.collate(&mut global, &directory, 20_000, &mut Counted(0)).unwrap();
    run.complete(&global, &directory).unwrap();
    let rows = directory.join(PROFILE);
    let mut blocks: Vec<_> = fs::read_dir(&rows).unwrap().map(|it| it.unwrap().path()).collect();
    blocks.sort();
    fs::remove_file(&blocks[0]).unwrap();
    for name in [blocks[0].to_str().unwrap(), path(&rows.join("7.rows"))] {
        assert!(Command::new("mkfifo").arg(name).status().unwrap().success());
    }
    let victim = folder.path().join("victim");
    fs::write(&victim, "mine").unwrap();
    for name in ["profile.cubex", "profile/6.rows"] {
        symlink(&victim, directory.join(name)).unwrap();
    }
    fs::remove_file(directory.join("profile.cubex")).unwrap();
    symlink(folder.path().join("nothing"), directory.join("profile.cubex")).unwrap();
    let output = support::command("100").args(["report", path(&directory)]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert_eq!(said.matches("a named pipe, not a regular file").count(), 2, "{said}");
    assert!(said.contains("6.rows: this is a link, which is not followed"), "{said}");
    assert!(said.contains("locations have no profile"), "{said}");
    assert!(!folder.path().join("nothing").exists(), "made through the link");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");

    // Rows that lie elsewhere, behind a link: neither put together nor removed.
    let elsewhere = folder.path().join("elsewhere");
    let directory = folder.path().join("left");
    run.leave(&mut global, &directory).unwrap();
    run.complete(&global, &directory).unwrap();
    fs::rename(directory.join(PROFILE), &elsewhere).unwrap();
    symlink(&elsewhere, directory.join(PROFILE)).unwrap();
    let count = fs::read_dir(&elsewhere).unwrap().count();
    let output = support::command("100").args(["report", path(&directory)]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("link"), "{}", text(&output.stderr));
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), count);
}

#[test]
fn names_in_a_score_are_shown_and_not_obeyed() {
    let run = Simulated::new(8);
    let mut global = run.unify();
    let folder = tempfile::tempdir().unwrap();
    run.collate(&mut global, folder.path(), 20_000, &mut Counted(0)).unwrap();
    run.complete(&global, folder.path()).unwrap();
    let definitions = folder.path().join("traces.def");
    let mut bytes = fs::read(&definitions).unwrap();
    let (from, to) = (b"shmem_quiet", b"q\x1b[2J\nfake\x07");
    let at = bytes.windows(from.len()).position(|it| it == from).unwrap();
    bytes[at..at + to.len()].copy_from_slice(to);
    fs::write(&definitions, bytes).unwrap();
    assert!(otf2::close::seal(&definitions, FileKind::GlobalDefs, DEFS_SIZE).unwrap());
    let output = support::command("100").args(["score", path(folder.path())]).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    assert!(said.contains(r"q\u{1b}[2J\u{a}fake\u{7}") && !said.contains('\u{1b}'), "{said:?}");
}
