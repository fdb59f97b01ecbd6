//! Comparison of `ARCHITECTURE.md` with the code.
//!
//! People read the table of crates there; the check of dependencies reads the one in [`super::dependencies`]. Two
//! tables drift apart unless a program compares them. This one reads the markdown as a person would: short names
//! without `dwell-`, a dash for nothing, "all but …".

use std::collections::BTreeSet;

use super::dependencies::{self, Row};
use super::{Check, Problem, SourceFile};

const FILE: &str = "ARCHITECTURE.md";

/// A map that is longer than this is not read. Details belong to `docs/design`.
const MOST_WORDS: usize = 2_500;

/// Compares the table in the document with the table in the code.
pub(crate) fn check(files: &[SourceFile]) -> Check {
    let text = files.iter().find(|file| file.path == FILE).and_then(|file| file.text.as_deref());
    let (count, problems) = match text {
        Some(text) => compare(text),
        None => (0, vec![Problem::of(FILE, "is missing, and with it the table of crates")]),
    };
    Check::done("architecture", count, "rows of the table of crates", problems)
}

/// A row of the table in the document.
struct Written {
    line: usize,
    name: String,
    may_use: String,
}

fn compare(text: &str) -> (usize, Vec<Problem>) {
    let rows = table(text);
    let mut problems = Vec::new();
    if rows.is_empty() {
        problems.push(Problem::of(FILE, "has no table `crate | it is | may use`"));
    }
    let words = text.split_whitespace().count();
    if words > MOST_WORDS {
        problems.push(Problem::of(FILE, format!("{words} words, more than {MOST_WORDS}")));
    }
    for written in &rows {
        if let Err(message) = compare_row(written) {
            problems.push(Problem::at(FILE, written.line, message));
        }
    }
    for row in dependencies::TABLE {
        match rows.iter().filter(|written| written.name == row.name).count() {
            1 => {}
            0 => problems.push(Problem::of(FILE, format!("no row for `{}`", row.name))),
            _ => problems.push(Problem::of(FILE, format!("several rows for `{}`", row.name))),
        }
    }
    (rows.len(), problems)
}

fn compare_row(written: &Written) -> Result<(), String> {
    let row = dependencies::row(&written.name)
        .ok_or_else(|| format!("`{}` is unknown to the check of dependencies", written.name))?;
    let said = names(row, &written.may_use)?;
    let allowed = row.allowed();
    if said == allowed {
        return Ok(());
    }
    Err(format!(
        "`{}` may use {{{}}} here, and {{{}}} in the check of dependencies",
        row.name,
        list(&said),
        list(&allowed)
    ))
}

fn list(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(", ")
}

/// Returns the crates that the third column names.
fn names(row: &Row, cell: &str) -> Result<BTreeSet<&'static str>, String> {
    let cell = cell.replace('`', "");
    let cell = cell.trim();
    if matches!(cell, "" | "-" | "–" | "—") {
        return Ok(BTreeSet::new());
    }
    if let Some(exceptions) = cell.strip_prefix("all but ") {
        let exceptions = each_name(exceptions)?;
        return Ok(row.all_but(&exceptions));
    }
    Ok(each_name(cell)?.into_iter().collect())
}

fn each_name(cell: &str) -> Result<Vec<&'static str>, String> {
    cell.split(',').map(str::trim).map(full_name).collect()
}

/// Returns the crate that a word of the third column means.
fn full_name(word: &str) -> Result<&'static str, String> {
    // Only the tables of the model are meant, yet it is the crate that is used.
    let word = word.strip_suffix("'s tables").unwrap_or(word);
    dependencies::row(word)
        .or_else(|| dependencies::row(&format!("dwell-{word}")))
        .map(|row| row.name)
        .ok_or_else(|| format!("`{word}` is no crate of the table"))
}

/// Returns the rows of the table of crates in a markdown document.
fn table(text: &str) -> Vec<Written> {
    let mut rows = Vec::new();
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        let Some([name, _, may_use]) = cells(line) else {
            inside = false;
            continue;
        };
        if inside && !name.starts_with("--") {
            rows.push(Written {
                line: index + 1,
                name: name.replace('`', ""),
                may_use: may_use.to_owned(),
            });
        }
        inside |= name == "crate" && may_use == "may use";
    }
    rows
}

/// Returns the cells of a table row with three columns.
fn cells(line: &str) -> Option<[&str; 3]> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let cells: Vec<&str> = inner.split('|').map(str::trim).collect();
    cells.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table as the document writes it.
    const DOCUMENT: &str = "\
# Architecture

| other | table | here |
| --- | --- | --- |
| a | b | c |

| crate | it is | may use |
| --- | --- | --- |
| `otf2` | archives | – |
| `dwell-files` | files | – |
| `cubex` | reports | files |
| `dwell-model` | the model | – |
| `dwell-unify` | one archive | files, model, otf2 |
| `dwell-measure` | the recorder | model, otf2, unify |
| `dwell-preload` | the cdylib | model, measure, unify |
| `dwell-link` | generated C | model's tables |
| `dwell-symbols` | addresses | files, model, otf2 |
| `dwell-trace` | meaning | model, otf2 |
| `dwell-log` | the log | files, model, otf2, trace |
| `dwell-analyze` | replay | files, model, mpi, otf2, cubex, trace, log |
| `dwell-mpi` | over MPI | model |
| `dwell-report` | queries | cubex, files, model |
| `dwell-synth` | synthetic traces | files, model, otf2, cubex |
| `dwell-fortran` | coarrays | model |
| `dwell-export` | Parquet | `dwell-model`, `dwell-files`, `otf2`, `dwell-trace`, `dwell-log`, `dwell-report`, `dwell-timeline` |
| `dwell-timeline` | an index | files, model, otf2, trace, log, report |
| `dwell-serve` | HTTP | files, model, report, otf2, log, timeline |
| `dwell` | the command line | all but preload |
| `dwell-fuzz` | fuzz targets | otf2, cubex, fortran, model, unify, report, timeline |
| `xtask` | automation | – |

| x | y | z |
";

    fn problems(text: &str) -> Vec<String> {
        compare(text).1.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_document_agrees_with_the_code() {
        let (count, problems) = compare(DOCUMENT);
        assert_eq!(count, dependencies::TABLE.len());
        assert_eq!(problems, []);
    }

    #[test]
    fn a_difference_is_found_on_its_line() {
        let text =
            DOCUMENT.replace("archive | files, model, otf2 |", "archive | files, model, cubex |");
        assert_eq!(
            problems(&text),
            ["ARCHITECTURE.md:13: `dwell-unify` may use {cubex, dwell-files, dwell-model} here, \
              and {dwell-files, dwell-model, otf2} in the check of dependencies"]
        );
    }

    #[test]
    fn missing_double_and_unknown_rows_are_found() {
        let text = DOCUMENT.replace("| `xtask` | automation | – |\n", "");
        assert_eq!(problems(&text), ["ARCHITECTURE.md: no row for `xtask`"]);
        let text = DOCUMENT.replace("`cubex` | reports | files", "`otf2` | reports | –");
        assert_eq!(
            problems(&text),
            ["ARCHITECTURE.md: several rows for `otf2`", "ARCHITECTURE.md: no row for `cubex`"]
        );
        let text = DOCUMENT.replace("| `xtask` |", "| `utils` |");
        assert!(problems(&text)[0].contains("`utils` is unknown"));
        let text = DOCUMENT.replace("all but preload", "all but nothing");
        assert!(problems(&text)[0].contains("`nothing` is no crate"));
    }

    #[test]
    fn a_missing_document_or_table_is_a_problem() {
        assert_eq!(check(&[]).problems(), 1);
        assert!(problems("# Architecture\n")[0].contains("has no table"));
    }
}
