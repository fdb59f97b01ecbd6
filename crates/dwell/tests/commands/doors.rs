//! What someone else's experiment directory must not do to the person who looks at it: have files overwritten
//! through links, make commands wait for pipes, speak to the terminal, or put private files into an export.

mod damage;
mod links;
mod pipes;
mod readers;
mod silent;
mod source;
mod stuck;
mod terminal;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::{self, path, text};

/// Directory of a user, with a small archive in `run` and a file that no command may touch.
struct Home(tempfile::TempDir);

const MINE: &str = "what only its owner may change\n";

/// Files in which commands keep sums of `large.cubex`. A report of this size gets the first two.
const CACHES: [&str; 3] =
    ["large.cubex.dwell-cache", "large.cubex.dwell-totals", "large.cubex.dwell-sums"];

impl Home {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("victim"), MINE).unwrap();
        Self(home)
    }

    /// Creates the directory with an archive that contains waits.
    fn with_archive() -> Self {
        let home = Self::new();
        let made = home.dwell(&["synth", "sor", "-o", "run", "--ranks", "4", "--iterations", "2"]);
        assert!(made.status.success(), "{}", text(&made.stderr));
        home
    }

    /// Creates the directory with `large.cubex`, a report whose sums are worth keeping in files beside it.
    fn with_large_report() -> Self {
        let home = Self::new();
        let size = "--locations 20000 --paths 400 --metrics 3 --dense 0 --sparsity 0.8";
        let mut command = vec!["synth", "report", "-o", "large.cubex"];
        command.extend(size.split(' '));
        let made = home.dwell(&command);
        assert!(made.status.success(), "{}", said(&made));
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a command in the directory, and fails if it takes longer than a busy machine explains.
    fn dwell(&self, args: &[&str]) -> Output {
        let mut command = support::command("100");
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("dwell starts");
        let begin = Instant::now();
        // Both streams are short here: they fit into the pipes.
        while child.try_wait().unwrap().is_none() {
            if begin.elapsed() > Duration::from_secs(60) {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("dwell {args:?} hangs");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        child.wait_with_output().unwrap()
    }

    fn victim(&self) -> String {
        fs::read_to_string(self.path("victim")).unwrap()
    }

    /// Creates a link to the user's file under a name.
    fn plant(&self, name: &str) {
        let place = self.path(name);
        let _ = fs::remove_file(&place);
        std::os::unix::fs::symlink(self.path("victim"), &place).unwrap();
    }
}

fn is_regular(file: &Path) -> bool {
    fs::symlink_metadata(file).is_ok_and(|it| it.is_file())
}

fn said(output: &Output) -> String {
    format!("{:?}\n{}{}", output.status, text(&output.stdout), text(&output.stderr))
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|it| path(&it.unwrap().path()).to_owned()).collect();
    names.sort();
    names
}
