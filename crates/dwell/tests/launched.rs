//! `dwell analyze` under a launcher, which starts several copies of it.

#[allow(dead_code)] // Not every test program uses all of it.
#[path = "../../../tests/needs.rs"]
mod needs;
mod support;

use std::path::Path;
use std::process::{Command, Output};

use support::{dwell, path, text};

const LAUNCHERS: [&str; 3] = ["mpirun.openmpi", "mpirun.mpich", "oshrun"];

/// Starts three copies of `dwell analyze`. Returns `None` if there is no such launcher.
fn analyze(launcher: &str, archive: &Path) -> Option<Output> {
    let mut command = Command::new(launcher);
    command.args(["-np", "3", env!("CARGO_BIN_EXE_dwell"), "analyze", path(archive)]);
    // Open MPI refuses to run as root, and more processes than cores, without these.
    command.envs(["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"].map(|it| (it, "1")));
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    let output = command.output().ok();
    if output.is_none() {
        needs::missing("MPI", &format!("there is no {launcher}"));
    }
    output
}

#[test]
fn one_process_of_a_launch_analyses() {
    let directory = tempfile::tempdir().unwrap();
    for launcher in LAUNCHERS {
        let archive = directory.path().join(launcher);
        let made =
            dwell(&["synth", "srumma", "-o", path(&archive), "--ranks", "6", "--blocks", "5"]);
        assert!(made.status.success());
        let alone = text(&dwell(&["analyze", path(&archive)]).stdout);
        assert!(alone.contains("next: dwell view"), "{alone}");
        let findings = std::fs::read(archive.join("findings.json")).unwrap();
        std::fs::remove_file(archive.join("findings.json")).unwrap();

        let Some(output) = analyze(launcher, &archive) else { continue };
        let (out, notes) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{launcher}: {out}{notes}");
        assert_eq!(out, alone, "{launcher}: {notes}");
        let said = notes.matches("dwell: 3 processes were started; one of them analyses").count();
        assert_eq!(said, 1, "{launcher}: {notes}");
        assert_eq!(std::fs::read(archive.join("findings.json")).unwrap(), findings);
    }
}

#[test]
fn an_error_of_a_launch_is_said_once() {
    let directory = tempfile::tempdir().unwrap();
    for launcher in LAUNCHERS {
        let Some(output) = analyze(launcher, &directory.path().join("missing")) else { continue };
        let notes = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{launcher}: {notes}");
        // Launchers repeat the command, so that its own beginning is counted.
        let said =
            notes.lines().filter(|line| line.starts_with("dwell: ") && line.contains("missing"));
        assert_eq!(said.count(), 1, "{launcher}: {notes}");
    }
}
