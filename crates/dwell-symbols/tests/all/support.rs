//! Builds programs that print the addresses they were called from, and compares sites with markers in their sources.

pub(crate) mod recorded;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dwell_symbols::{Module, ReturnOffset, Site};
use tempfile::TempDir;

use crate::needs;

/// A temporary directory for builds, into which the sources are copied.
pub(crate) struct Workshop {
    dir: TempDir,
}

/// The output of a program: the module and the offset of each call, by label.
pub(crate) type Calls = BTreeMap<String, (Module, ReturnOffset)>;

/// Returns `true` if all of these tools are installed, and prints a message if not.
///
/// # Panics
///
/// If one is missing and `DWELL_REQUIRE_SYMBOLS=1`.
pub(crate) fn have(tools: &[&str]) -> bool {
    needs::tools("SYMBOLS", tools)
}

impl Workshop {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        for entry in fs::read_dir(programs()).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
        }
        Self { dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        // Without links, as the program will name it.
        fs::canonicalize(self.dir.path()).unwrap().join(name)
    }

    /// Runs a tool in the directory; arguments are separated by spaces.
    pub(crate) fn run(&self, command: &str) {
        let mut words = command.split_whitespace();
        let output = Command::new(words.next().unwrap())
            .args(words)
            .current_dir(self.path(""))
            .output()
            .unwrap_or_else(|error| panic!("{command}: {error}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {said}");
    }

    /// Builds the C program with one command, and runs it.
    pub(crate) fn c_program(&self, options: &str) -> Calls {
        self.run(&format!("gcc -O2 -g {options} chain.c main.c probe.c -o program"));
        self.calls("program")
    }

    /// Builds the C++ program, and runs it.
    pub(crate) fn cpp_program(&self) -> Calls {
        self.run("gcc -O2 -g -c probe.c -o probe.o");
        self.run("g++ -O2 -g chain.cpp probe.o -o program");
        self.calls("program")
    }

    /// Runs a program and parses its output.
    pub(crate) fn calls(&self, program: &str) -> Calls {
        let output = Command::new(self.path(program)).output().unwrap();
        assert!(output.status.success(), "{program}: {:?}", output.status);
        let text = String::from_utf8(output.stdout).unwrap();
        let calls: Calls = text.lines().map(parse).collect();
        assert!(!calls.is_empty(), "{program} said nothing");
        calls
    }
}

fn parse(line: &str) -> (String, (Module, ReturnOffset)) {
    let fields: Vec<&str> = line.split('\t').collect();
    let [label, path, id, offset] = fields[..] else { panic!("{line}") };
    let module = Module { path: path.into(), build_id: id.parse().ok() };
    let offset = ReturnOffset(u64::from_str_radix(offset, 16).unwrap());
    (label.to_owned(), (module, offset))
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// Returns the line that has a marker such as `@inner`.
pub(crate) fn marked(source: &str, marker: &str) -> u32 {
    let text = fs::read_to_string(programs().join(source)).unwrap();
    let marker = format!("@{marker}");
    let has = |line: &str| line.split_whitespace().any(|word| word == marker);
    let line = text.lines().position(has).unwrap_or_else(|| panic!("{source} has no {marker}"));
    u32::try_from(line + 1).unwrap()
}

/// Checks the frames of a site, innermost first, against functions and markers.
#[track_caller]
pub(crate) fn check(site: &Site, source: &str, expected: &[(&str, &str)]) {
    let functions: Vec<&str> =
        site.frames.iter().map(|frame| frame.function.as_deref().unwrap_or("??")).collect();
    let names: Vec<&str> = expected.iter().map(|(function, _)| *function).collect();
    assert_eq!(functions, names, "{site:?}");
    for (frame, (_, marker)) in site.frames.iter().zip(expected) {
        let file = frame.file.as_deref().unwrap_or("??");
        assert!(Path::new(file).ends_with(source), "{site:?}");
        assert_eq!(frame.line, Some(marked(source, marker)), "{site:?}");
    }
}
