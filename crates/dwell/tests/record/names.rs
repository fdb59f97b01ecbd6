//! Programs with unusual names.

use std::ffi::OsStr;
use std::fs;

use crate::lab::Lab;

/// A name as long as file systems allow, with control sequences of terminals. The directory is named after it, and the
/// line at the end of the run names the directory.
#[test]
fn a_program_with_a_long_and_evil_name_is_recorded() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("examples/heat/heat.c", &[]);
    let name = format!("evil\u{1b}[2J\u{202e}{}", "p".repeat(239));
    assert_eq!(name.len(), 250);
    let evil = lab.path(&name);
    fs::rename(program, &evil).unwrap();
    let command = [env!("CARGO_BIN_EXE_dwell"), "run"].map(OsStr::new);
    let arguments = [evil.as_os_str(), OsStr::new("64"), OsStr::new("4")];
    let run = lab.oshrun(2, &[], &[&command[..], &arguments].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains(r"dwell-evil\u{1b}[2J\u{202e}ppp"), "{}", run.stderr);
    assert!(!run.stderr.contains(['\u{1b}', '\u{202e}']), "{:?}", run.stderr);
    let entries = fs::read_dir(lab.path("")).unwrap().map(|it| it.unwrap().path());
    let recorded: Vec<_> = entries.filter(|it| it.join("traces.otf2").is_file()).collect();
    assert_eq!(recorded.len(), 1, "{recorded:?}");
}
