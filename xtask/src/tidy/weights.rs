//! Weights of the project, held against a committed table: lines of code of each crate, options, words of the book,
//! packages, integration-test programs.
//!
//! Every change adds a little, and none of them looks heavy. The table makes the sum visible: a commit that raises a bound
//! says why in its body. A bound far above its weight would allow growth that no commit mentions, so it is lowered too.

use std::collections::BTreeMap;

use super::sources::{SourceFile, without_tests};
use super::{Check, Problem};

/// File with the bounds: name and greatest weight in each line.
const TABLE: &str = "tests/weights.tsv";

/// Share of its bound below which a weight is too small for it.
const LEAST: f64 = 0.9;

/// Weights by name.
type Weights = BTreeMap<String, usize>;

/// Checks all weights.
pub(crate) fn check(files: &[SourceFile]) -> Check {
    let weights = weights(files);
    let text = files.iter().find(|it| it.path == TABLE).and_then(|it| it.text.as_deref());
    let problems = compare(&weights, text.unwrap_or_default());
    Check::done("weights", weights.len(), "weights", problems)
}

/// Holds weights against the lines of the table.
fn compare(weights: &Weights, table: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut bounds = BTreeMap::new();
    for (number, line) in (1..).zip(table.lines()).filter(|it| !it.1.starts_with('#')) {
        match line.split_once('\t').and_then(|(name, bound)| Some((name, bound.parse().ok()?))) {
            Some((name, bound)) => drop(bounds.insert(name, (number, bound))),
            None => problems.push(Problem::at(TABLE, number, "no name and number")),
        }
    }
    for (name, &weight) in weights {
        let Some(&(line, bound)) = bounds.get(name.as_str()) else {
            problems.push(Problem::of(TABLE, format!("no bound of {name}, which is {weight}")));
            continue;
        };
        if weight > bound {
            let message = format!("{name} is {weight}; the commit that raises the bound says why");
            problems.push(Problem::at(TABLE, line, message));
        } else if (weight as f64) < LEAST * bound as f64 {
            problems.push(Problem::at(TABLE, line, format!("{name} is {weight}; lower the bound")));
        }
    }
    let gone = bounds.iter().filter(|it| !weights.contains_key(*it.0));
    problems.extend(gone.map(|(name, it)| Problem::at(TABLE, it.0, format!("there is no {name}"))));
    problems
}

fn weights(files: &[SourceFile]) -> Weights {
    let mut weights = Weights::new();
    for file in files {
        let Some(text) = file.text.as_deref() else { continue };
        let parts: Vec<&str> = file.path.split('/').collect();
        let mut add = |name: String, more: usize| *weights.entry(name).or_default() += more;
        match *parts.as_slice() {
            ["crates", name, "src", ..] if file.is_rust() => {
                add(format!("lines of {name}"), code(text));
            }
            ["xtask", "src", ..] if file.is_rust() => add("lines of xtask".into(), code(text)),
            ["crates", _, "tests", last] if last.ends_with(".rs") => {
                add("test programs".into(), 1);
            }
            ["crates", _, "tests", _, "main.rs"] => add("test programs".into(), 1),
            ["crates", "dwell", "tests", "golden", name] if name.starts_with("help-") => {
                add("options".into(), options(text));
            }
            ["docs", "src", page] if page.ends_with(".md") => {
                add("words of the book".into(), text.split_whitespace().count());
            }
            ["Cargo.lock"] => add("packages".into(), text.matches("[[package]]").count()),
            _ => {}
        }
    }
    weights
}

/// Returns the number of lines of code, without comments, blank lines and unit tests.
fn code(text: &str) -> usize {
    let text = without_tests(text);
    let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//");
    text.lines().map(str::trim).filter(is_code).count()
}

/// Returns the number of options in the help of a command, without the one for help.
fn options(help: &str) -> usize {
    let is_option = |line: &&str| {
        let line = line.trim_start();
        let long = line.strip_prefix('-').and_then(|it| it.get(1..)?.strip_prefix(", "));
        let long = long.unwrap_or(line);
        long.starts_with("--") && !long.starts_with("--help")
    };
    help.lines().filter(is_option).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_counted_without_comments_and_tests() {
        let text =
            "//! a\n\nfn f() {\n    // b\n}\n\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n";
        assert_eq!(code(text), 2);
    }

    #[test]
    fn options_are_counted() {
        let help = "Usage\n  -h, --help  Print help\n  -o, --output <DIR>  It\n      --top <N>  With --x\n";
        assert_eq!(options(help), 2);
    }

    #[test]
    fn a_weight_must_be_near_its_bound() {
        let weights = Weights::from([("a".into(), 100), ("b".into(), 50), ("c".into(), 7)]);
        let problems = |table: &str| -> Vec<String> {
            compare(&weights, table).iter().map(ToString::to_string).collect()
        };
        assert_eq!(problems("# name\na\t110\nb\t50\nc\t7\n"), [""; 0]);
        assert_eq!(
            problems("a\t99\nb\t60\nd\t1\n"),
            [
                "tests/weights.tsv:1: a is 100; the commit that raises the bound says why",
                "tests/weights.tsv:2: b is 50; lower the bound",
                "tests/weights.tsv: no bound of c, which is 7",
                "tests/weights.tsv:3: there is no d",
            ]
        );
    }
}
