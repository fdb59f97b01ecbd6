//! Readers that have seen enough: `dwell … | head -1` ends quietly, whatever the command.

use std::process::{Output, Stdio};

use super::Home;
use crate::support::{self, text};

/// Runs a command whose standard output is not read, and with `both` its standard error as well.
fn unread(home: &Home, args: &[&str], both: bool) -> Output {
    let mut command = support::command("100");
    command.args(args).current_dir(home.0.path()).stdin(Stdio::null());
    let pipe = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    };
    command.stdout(pipe());
    command.stderr(if both { pipe().into() } else { Stdio::piped() });
    command.spawn().unwrap().wait_with_output().unwrap()
}

#[test]
fn a_closed_pipe_is_no_reason_to_panic() {
    let home = Home::with_archive();
    assert!(home.dwell(&["analyze", "run"]).status.success());
    let made =
        home.dwell(&["synth", "report", "-o", "a.cubex", "--locations", "9", "--paths", "20"]);
    assert!(made.status.success());
    let made =
        home.dwell(&["synth", "report", "-o", "b.cubex", "--locations", "9", "--paths", "60"]);
    assert!(made.status.success());
    for args in [
        &["--help"][..],
        &["help", "run"],
        &["--version"],
        &["print", "run"],
        &["print", "run", "--all"],
        &["print", "run", "--json"],
        &["info", "run"],
        &["info", "run", "--json"],
        &["analyze", "run"],
        &["analyze", "run", "--json"],
        &["report", "run"],
        &["report", "run", "--tree", "time"],
        &["report", "run", "--json"],
        &["report", "run", "--csv"],
        &["export", "run", "--format=cubex", "--merge", "-o", "m.cubex"],
        &["compare", "a.cubex", "a.cubex"],
        &["compare", "a.cubex", "b.cubex"],
        &["compare", "a.cubex", "b.cubex", "--json"],
        &["compare", "a.cubex", "b.cubex", "--markdown"],
        &["compare", "a.cubex", "b.cubex", "--junit"],
        &["export", "run", "--format=html", "-o", "x.html"],
        &["score", "run"],
        &["recover", "run"],
        &["doctor"],
        &["run", "--list-config"],
        &["run", "./nothing"],
        &["build", "flags", "armci"],
        &["completions", "bash"],
        &["man", "man"],
        &["synth", "report", "-o", "c.cubex"],
        &["synth", "sor", "-o", "c1", "--ranks", "2", "--iterations", "1"],
        &["view", "nothing.cubex"],
    ] {
        let read = home.dwell(args).status.code();
        if args[0] == "synth" {
            let _ = std::fs::remove_dir_all(home.path("c1"));
        }
        for both in [false, true] {
            let output = unread(&home, args, both);
            let said = text(&output.stderr);
            assert!(!said.contains("panicked"), "{args:?}: {said}");
            let code = output.status.code();
            // Commands that print without end stop; all others do what there is to do, and say how that went.
            assert!(code == read || code == Some(0), "{args:?}: {code:?}, read {read:?}: {said}");
            if args[0] == "synth" {
                let _ = std::fs::remove_dir_all(home.path("c1"));
            }
        }
    }
    let worse = unread(&home, &["compare", "a.cubex", "b.cubex"], false).status.code();
    assert_eq!(worse, Some(1), "the exit code is not lost with the pipe");
}
