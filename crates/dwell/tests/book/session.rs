//! Running the commands of a page.
//!
//! A page is one session of a shell in a directory of its own, in which `examples` and `tests` are those of the
//! repository. So a command may use what an earlier one made, and `cd` and `export` last.

use std::fmt::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::lab::Lab;
use crate::needs;
use crate::output;
use crate::pages::{Kind, Page};

/// Words of commands, and what they need to run.
const TOOLS: &[(&str, &str)] = &[("oshcc", "SHMEM"), ("mpicc", "MPI"), ("gfortran", "CAF")];

/// A command of a page and what it should print.
#[derive(Debug, Default, PartialEq, Eq)]
struct Step {
    line: usize,
    command: String,
    /// What the page prints; `None` for commands that readers do not see.
    expected: Option<String>,
    /// Set if the command may fail, because the next one prints its exit code.
    may_fail: bool,
}

/// Number of times that a page may be run until it is as it says. On a busy machine a process may be late that is not
/// late in the book, and then the analysis rightly says something else.
const TRIES: u32 = 3;

/// Runs the commands of a page and returns what is not as the page says, every time that it was tried. A page that needs
/// what this machine lacks is skipped, unless it is required.
pub(crate) fn run(page: &Page) -> Vec<String> {
    let mut problems = Vec::new();
    for _ in 0..TRIES {
        problems = once(page);
        if problems.is_empty() {
            break;
        }
    }
    problems
}

fn once(page: &Page) -> Vec<String> {
    let steps = steps(page);
    let all: String = steps.iter().map(|step| step.command.as_str()).collect::<Vec<_>>().join("\n");
    for (tool, need) in TOOLS {
        if all.contains(tool) && !needs::tools(need, &[tool]) {
            return Vec::new();
        }
    }
    let lab = Lab::bare();
    let repository = Lab::repository().canonicalize().unwrap();
    symlink(repository.join("tests"), lab.path("tests")).unwrap();
    // Sources are shown from below the directory of the run, and never through a link.
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(repository.join("examples")).arg(lab.path("examples"));
    assert!(copy.status().unwrap().success());
    fs::write(lab.path(".script"), script(&steps)).unwrap();
    let mut shell = Command::new("timeout");
    shell.args(["--kill-after=5", "300", "bash", ".script"]).current_dir(lab.path("."));
    let program = Path::new(env!("CARGO_BIN_EXE_dwell")).parent().unwrap();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([program.to_owned()].into_iter().chain(env::split_paths(&path)));
    shell.env("PATH", path.unwrap()).env("COLUMNS", "80").env_remove("NO_COLOR");
    let run = lab.launch(shell, |_| false);
    let parts = parts(&run.stdout);
    let mut problems = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let place = format!("{}:{}: $ {}", page.name, step.line, step.command);
        let Some((printed, code)) = parts.get(number) else {
            problems.push(format!("{place}\ndid not end\n{}{}", run.stdout, run.stderr));
            break;
        };
        if *code != 0 && !step.may_fail {
            problems.push(format!("{place}\nended with {code} and printed\n{printed}"));
        } else if step.expected.as_ref().is_some_and(|text| !output::is_as(text, printed)) {
            problems.push(format!("{place}\nprinted something else:\n{printed}"));
        }
    }
    problems
}

/// Collects the commands of the blocks of a page that are run.
fn steps(page: &Page) -> Vec<Step> {
    let mut steps = Vec::new();
    for block in page.blocks.iter().filter(|it| it.kind.is_run()) {
        for command in &block.hidden {
            steps.push(Step { line: block.line, command: command.clone(), ..Step::default() });
        }
        let first = steps.len();
        let is_console = matches!(block.kind, Kind::Console { .. });
        let mut continues = false;
        for (number, text) in block.text.lines().enumerate() {
            let line = block.line + 1 + number;
            let command = if is_console { text.strip_prefix("$ ") } else { Some(text) };
            match (command, steps.last_mut()) {
                (_, Some(step)) if continues => writeln!(step.command, "\n{text}").unwrap(),
                (Some(command), _) => {
                    let expected = is_console.then(String::new);
                    steps.push(Step { line, command: command.into(), expected, may_fail: false });
                }
                (None, Some(Step { expected: Some(expected), .. })) => {
                    writeln!(expected, "{text}").unwrap();
                }
                (None, _) => {}
            }
            continues = text.ends_with('\\');
        }
        for number in first + 1..steps.len() {
            steps[number - 1].may_fail = steps[number].command.trim() == "echo $?";
        }
    }
    steps
}

/// Marks the end of the output of a command, with its exit code.
const END: &str = "\u{1}end ";

/// Makes a script that runs commands and marks where the output of each ends. Each begins with the exit code of the one
/// before it.
fn script(steps: &[Step]) -> String {
    let mut text = String::from("code=0\nexec </dev/null 2>&1\n");
    for step in steps {
        write!(text, "(exit $code)\n{}\ncode=$?\nprintf '{END}%d\\n' $code\n", step.command)
            .unwrap();
    }
    text
}

/// Divides the output of a script into what each command printed, and its exit code.
fn parts(output: &str) -> Vec<(String, i32)> {
    let mut parts = Vec::new();
    let mut rest = output;
    while let Some((printed, after)) = rest.split_once(END) {
        let (code, after) = after.split_once('\n').unwrap_or((after, ""));
        parts.push((printed.to_owned(), code.parse().unwrap()));
        rest = after;
    }
    parts
}

#[test]
fn commands_are_told_from_what_they_print() {
    let text = "```console\n$ a \\\n  b\nout\n$ c\n$ echo $?\n1\n```\n";
    let page = crate::pages::read_for_test(text);
    let steps = steps(&page);
    let commands: Vec<&str> = steps.iter().map(|it| it.command.trim_end()).collect();
    assert_eq!(commands, ["a \\\n  b", "c", "echo $?"]);
    assert_eq!(steps[0].expected.as_deref().map(str::trim), Some("out"));
    assert_eq!(steps.iter().map(|it| it.may_fail).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!(steps[2].line, 6);
}

#[test]
fn output_is_divided_by_commands() {
    let output = format!("one\n{END}0\ntwo\nthree{END}2\n");
    assert_eq!(parts(&output), [("one\n".to_owned(), 0), ("two\nthree".to_owned(), 2)]);
    assert_eq!(parts("never ends"), []);
}
