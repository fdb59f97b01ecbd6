//! What stands under a name in someone else's directory, and what happens to it.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use dwell_files::{Folder, create, open, read, write};

/// An experiment directory, beside a file of the user to which links in it lead.
struct Case {
    home: tempfile::TempDir,
}

impl Case {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("victim"), "mine").unwrap();
        fs::create_dir(home.path().join("run")).unwrap();
        Self { home }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.home.path().join(name)
    }

    /// Returns the names in the experiment directory.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("run")).unwrap();
        let mut names: Vec<_> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_link_is_replaced_and_what_it_leads_to_stays() {
    let case = Case::new();
    let place = case.path("run/findings.json");
    for target in [case.path("victim"), case.path("run/nothing")] {
        let _ = fs::remove_file(&place);
        symlink(&target, &place).unwrap();
        write(&place, "theirs").unwrap();
        assert!(fs::symlink_metadata(&place).unwrap().is_file());
        assert_eq!(fs::read_to_string(&place).unwrap(), "theirs");
    }
    assert_eq!(fs::read_to_string(case.path("victim")).unwrap(), "mine");
    assert_eq!(case.names(), ["findings.json"], "nothing was made through the dangling link");
}

#[test]
fn a_file_gets_its_name_when_it_is_complete_or_never() {
    let case = Case::new();
    let place = case.path("run/trace.cubex");
    fs::write(&place, "old").unwrap();
    let new = create(&place).unwrap();
    new.file().write_all(b"half").unwrap();
    assert_eq!(fs::read_to_string(&place).unwrap(), "old");
    assert_eq!(case.names().len(), 2);
    drop(new);
    assert_eq!(case.names(), ["trace.cubex"]);
    assert_eq!(fs::read_to_string(&place).unwrap(), "old");
    // A directory has the name: nothing is left behind.
    fs::create_dir(case.path("run/taken")).unwrap();
    write(case.path("run/taken"), "new").unwrap_err();
    assert_eq!(case.names(), ["taken", "trace.cubex"]);
    let mut spool = Folder::open(case.path("run")).unwrap().unnamed().unwrap();
    spool.write_all(b"much").unwrap();
    assert_eq!(case.names(), ["taken", "trace.cubex"]);
}

#[test]
fn a_linked_directory_is_not_entered() {
    let case = Case::new();
    fs::create_dir(case.path("elsewhere")).unwrap();
    symlink(case.path("elsewhere"), case.path("run/profile")).unwrap();
    fs::write(case.path("elsewhere/0.block"), "mine").unwrap();
    let run = Folder::open(case.path("run")).unwrap();
    run.folder("profile").unwrap_err();
    run.make_folder("profile").unwrap_err();
    run.read("profile/0.block").unwrap_err();
    for out in ["../victim", "..", "", "/etc/passwd", "profile/../../victim", "a/../../victim"] {
        run.read(out).unwrap_err();
    }
    for name in ["a/b", "..", ".", "", "/", "a/"] {
        assert!(run.create(name).is_err(), "{name}");
        assert!(run.make_folder(name).is_err(), "{name}");
    }
    // A directory that is exchanged for a link after it was opened is still the one that was opened.
    let made = run.make_folder("traces").unwrap();
    fs::rename(case.path("run/traces"), case.path("run/moved")).unwrap();
    symlink(case.path("elsewhere"), case.path("run/traces")).unwrap();
    made.write("0.evt", "events").unwrap();
    assert_eq!(fs::read_to_string(case.path("run/moved/0.evt")).unwrap(), "events");
    assert!(!case.path("elsewhere/0.evt").exists());
    // The directory that the person names may be a link.
    symlink(case.path("run"), case.path("latest")).unwrap();
    write(case.path("latest/a"), "b").unwrap();
    assert_eq!(read(case.path("run/a"), 10).unwrap(), b"b");
}

#[test]
fn only_regular_files_are_opened_and_nobody_waits() {
    let case = Case::new();
    fifo(&case.path("run/pipe"));
    let run = Folder::open(case.path("run")).unwrap();
    for error in [
        open(case.path("run/pipe")).unwrap_err(),
        run.read("pipe").unwrap_err(),
        read(case.path("run/pipe"), 10).unwrap_err(),
    ] {
        assert!(error.to_string().contains("a named pipe"), "{error}");
    }
    assert!(open("/dev/zero").unwrap_err().to_string().contains("a device"));
    assert!(open(case.path("run")).unwrap_err().to_string().contains("a directory"));
    symlink(case.path("victim"), case.path("run/link")).unwrap();
    let mut text = String::new();
    open(case.path("run/link")).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "mine", "a person may name a link");
    let error = run.read("link").unwrap_err();
    assert!(error.to_string().contains("link"), "{error}");
}

#[test]
fn long_files_are_not_read() {
    let case = Case::new();
    assert_eq!(read(case.path("victim"), 4).unwrap(), b"mine");
    assert!(read(case.path("victim"), 3).unwrap_err().to_string().contains("longer than 3 bytes"));
}

#[test]
fn a_directory_that_cannot_be_listed_can_be_used() {
    let case = Case::new();
    fs::set_permissions(case.path("run"), fs::Permissions::from_mode(0o300)).unwrap();
    let run = Folder::open(case.path("run")).unwrap();
    run.write("a", "b").unwrap();
    assert_eq!(run.read_bytes("a", 10).unwrap(), b"b");
    fs::set_permissions(case.path("run"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn another_process_writes_to_an_unfinished_file_and_to_nothing_else() {
    let case = Case::new();
    let new = create(case.path("run/trace.cubex")).unwrap();
    let folder = Folder::open(case.path("run")).unwrap();
    let other = folder.reopen(new.temporary_name()).unwrap();
    new.file().write_all(b"one two").unwrap();
    std::os::unix::fs::FileExt::write_all_at(&other, b"TWO", 4).unwrap();
    drop(other);
    new.place().unwrap();
    assert_eq!(fs::read_to_string(case.path("run/trace.cubex")).unwrap(), "one TWO");

    symlink(case.path("victim"), case.path("run/link")).unwrap();
    fifo(&case.path("run/pipe"));
    for name in ["link", "pipe", "nothing", "../victim"] {
        assert!(folder.reopen(name).is_err(), "{name}");
    }
    assert_eq!(fs::read_to_string(case.path("victim")).unwrap(), "mine");
}
