//! Every command and option of `dwell` that the book names exists.
//!
//! Looked at are blocks of commands, whether they are run or not, and the code within sentences.

use std::collections::BTreeMap;

use crate::pages::{self, Kind, Page};
use crate::support::{dwell, text};

/// A subcommand: its options with `true` for those that take a value, and its own subcommands.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    options: BTreeMap<String, bool>,
    pub(crate) commands: Vec<String>,
}

/// Commands after whose first argument the options are those of another program.
const STARTERS: &[&str] = &["run"];

/// Asks `dwell` for the usage of a command.
pub(crate) fn usage(command: &[&str]) -> (Usage, String) {
    let output = dwell(&[command, &["--help"]].concat());
    assert!(output.status.success(), "dwell {}", command.join(" "));
    let help = text(&output.stdout);
    // clap leaves blanks behind options without a description.
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let help = help.join("\n");
    (read(&help), help)
}

/// Reads a help text as clap writes it.
fn read(help: &str) -> Usage {
    let mut usage = Usage::default();
    let mut section = "";
    for line in help.lines() {
        if !line.starts_with(' ') && line.ends_with(':') {
            section = line;
        } else if section.to_lowercase().ends_with("commands:") {
            let name = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '));
            let name = name.and_then(|rest| rest.split(' ').next()).filter(|name| *name != "help");
            usage.commands.extend(name.map(str::to_owned));
        } else if line.trim_start().starts_with('-') {
            let flags = line.trim_start().split("  ").next().unwrap_or_default();
            let takes_value = flags.contains('<') || flags.contains('[');
            for flag in flags.split([' ', ',']).filter(|it| it.starts_with('-')) {
                let flag = flag.split(['=', '[']).next().unwrap_or(flag);
                usage.options.insert(flag.to_owned(), takes_value);
            }
        }
    }
    usage
}

/// Yields the arguments of every call of `dwell` in a piece of shell, up to the end of the command.
fn calls(shell: &str) -> Vec<Vec<String>> {
    let joined = shell.replace("\\\n", " ");
    let mut calls = Vec::new();
    for line in joined.lines() {
        let line = line.strip_prefix("$ ").unwrap_or(line);
        let line = line.split(" #").next().unwrap_or(line);
        for command in line.split(['|', ';', '&', '(', ')', '>', '<', '`']) {
            let words: Vec<&str> = command.split_whitespace().collect();
            if let Some(at) = words.iter().position(|word| *word == "dwell") {
                let quotes: &[char] = &['"', '\''];
                let word = |it: &&str| it.trim_matches(quotes).to_owned();
                calls.push(words[at + 1..].iter().map(word).collect());
            }
        }
    }
    calls
}

/// Returns the pieces of a page that may be commands: blocks, and code in sentences that begins with `dwell `.
fn pieces(page: &Page) -> Vec<(usize, String)> {
    let is_shell = |kind: &Kind| matches!(kind, Kind::Shell { .. } | Kind::Console { .. });
    let blocks = page.blocks.iter().filter(|block| is_shell(&block.kind));
    let commands = |block: &crate::pages::Block| match block.kind {
        Kind::Console { .. } => {
            let mut continues = false;
            let kept = block.text.lines().filter(|line| {
                let kept = continues || line.starts_with("$ ");
                continues = kept && line.ends_with('\\');
                kept
            });
            kept.collect::<Vec<_>>().join("\n")
        }
        _ => block.text.clone(),
    };
    let mut pieces: Vec<(usize, String)> =
        blocks.map(|block| (block.line, commands(block))).collect();
    for (number, line) in page.text.lines().enumerate() {
        let spans = line.split('`').skip(1).step_by(2);
        let spans = spans.filter(|span| span.starts_with("dwell ") && !span.contains('…'));
        pieces.extend(spans.map(|span| (number + 1, span.to_owned())));
    }
    pieces
}

/// Says what is wrong with a call of `dwell`, if anything.
fn problem(call: &[String], known: &mut BTreeMap<String, Usage>) -> Option<String> {
    let first = call.first()?;
    if first.starts_with('-') || first == "help" {
        return None;
    }
    // Sentences write commands with placeholders, as in `dwell X`.
    if first.chars().all(|it| it.is_ascii_uppercase() || !it.is_ascii_alphanumeric()) {
        return None;
    }
    let top = known.entry(String::new()).or_insert_with(|| usage(&[]).0);
    // Hidden, as it is for tests of Dwell.
    if !top.commands.contains(first) && first != "synth" {
        return Some(format!("there is no `dwell {first}`"));
    }
    let mut command = first.clone();
    let mut arguments = &call[1..];
    let inner = known.entry(command.clone()).or_insert_with(|| usage(&[first]).0);
    if let Some(second) = arguments.first().filter(|it| inner.commands.contains(it)) {
        command = format!("{first} {second}");
        known.entry(command.clone()).or_insert_with(|| usage(&[first, second]).0);
        arguments = &arguments[1..];
    }
    let usage = &known[&command];
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            return None;
        }
        let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
        if !name.starts_with('-') || name.trim_start_matches('-').is_empty() {
            if STARTERS.contains(&first.as_str()) {
                return None;
            }
            continue;
        }
        // Negative numbers, and short options with their value.
        let is_number = name[1..].starts_with(|it: char| it.is_ascii_digit());
        match usage.options.get(name) {
            Some(true) if value.is_empty() => drop(arguments.next()),
            Some(_) => {}
            None if is_number => {}
            None => return Some(format!("`dwell {command}` has no option {name}")),
        }
    }
    None
}

#[test]
fn options_in_the_book_exist() {
    let mut known = BTreeMap::new();
    let mut count = 0;
    let mut problems = Vec::new();
    for page in pages::all() {
        for (line, piece) in pieces(&page) {
            for call in calls(&piece) {
                count += 1;
                if let Some(problem) = problem(&call, &mut known) {
                    problems.push(format!("{}:{line}: {problem}", page.name));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(count > 100, "only {count} calls of dwell were found");
}

#[test]
fn blocks_of_shell_can_be_parsed() {
    for page in pages::all() {
        for block in page.blocks.iter().filter(|block| matches!(block.kind, Kind::Shell { .. })) {
            let mut bash = std::process::Command::new("bash");
            let output = bash.args(["-n", "-c", &block.text]).output().unwrap();
            let said = text(&output.stderr);
            assert!(output.status.success(), "{}:{}: {said}", page.name, block.line);
        }
    }
}

#[test]
fn calls_are_found_in_shell() {
    let shell = "$ oshrun -np 4 dwell run -o a ./x --y   # note\nfoo $(dwell build flags ga) | dwell print\n";
    let calls = calls(shell);
    assert_eq!(
        calls,
        [vec!["run", "-o", "a", "./x", "--y"], vec!["build", "flags", "ga"], vec!["print"]]
    );
}

#[test]
fn wrong_options_are_named() {
    let mut known = BTreeMap::new();
    let mut ask =
        |call: &str| problem(&call.split(' ').map(str::to_owned).collect::<Vec<_>>(), &mut known);
    assert_eq!(ask("analyze run --memory 1G"), None);
    assert_eq!(ask("run -o a ./x --own-option"), None);
    assert_eq!(ask("synth srumma -o x --ranks 4"), None);
    assert!(ask("analyze run --bottom 3").is_some());
    assert!(ask("analyse run").is_some());
    assert!(ask("run --no-such ./x").is_some());
}
