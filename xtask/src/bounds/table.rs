//! The committed table of instructions, and how counts are held against it.

use std::fmt::{self, Write as _};

use anyhow::{Context, Result, ensure};

/// Share by which a count may differ from its bound, both ways: what executes fewer instructions may have stopped doing
/// something, and leaves room for the next change to be slow.
const TOLERANCE: f64 = 0.03;

const HEADER: &str = "\
# Instructions that hot paths execute, by callgrind. `cargo xtask bounds` fails if a count differs by more than 3 %.
# A commit that changes a count on purpose says why, and makes this file anew by `cargo xtask bounds --update`.
";

/// Beginning of the line that says which tools counted.
const TOOLS: &str = "# Counted with ";

/// Number of instructions of one hot path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    /// Description of the path, without tabs.
    pub(super) name: String,
    /// Number of instructions for a unit.
    pub(super) instructions: f64,
    /// What instructions are counted for, such as a call.
    pub(super) unit: String,
}

/// Counts of all hot paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    /// Versions of compiler and valgrind, which change counts too.
    pub(super) tools: String,
    /// Hot paths in the order of the file.
    pub(super) entries: Vec<Entry>,
}

impl Table {
    /// Reads lines of name, number and unit between tabs. Comments begin with `#`.
    pub(super) fn parse(text: &str) -> Result<Table> {
        let mut table = Table::default();
        for (index, line) in text.lines().enumerate() {
            if let Some(tools) = line.strip_prefix(TOOLS) {
                table.tools = tools.to_owned();
            } else if !line.starts_with('#') && !line.trim().is_empty() {
                let entry = Entry::parse(line).with_context(|| format!("line {}", index + 1))?;
                let known = table.entries.iter().any(|it| it.name == entry.name);
                ensure!(!known, "line {}: a second `{}`", index + 1, entry.name);
                table.entries.push(entry);
            }
        }
        Ok(table)
    }

    /// Holds counts against this table. Rows are in the order of `now`, followed by those of which there is no count.
    pub(super) fn judge(&self, now: &Table) -> Comparison {
        let find = |table: &Table, name: &str| {
            table.entries.iter().find(|it| it.name == name).map(|it| it.instructions)
        };
        let row = |entry: &Entry| Row {
            name: entry.name.clone(),
            unit: entry.unit.clone(),
            bound: find(self, &entry.name),
            now: find(now, &entry.name),
        };
        let gone = self.entries.iter().filter(|it| find(now, &it.name).is_none());
        Comparison { rows: now.entries.iter().chain(gone).map(row).collect() }
    }
}

impl fmt::Display for Table {
    /// Writes the file. Fractions of instructions say nothing, and are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HEADER}{TOOLS}{}\n# name\tinstructions\tunit\n", self.tools)?;
        self.entries.iter().try_for_each(|Entry { name, instructions, unit }| {
            writeln!(f, "{name}\t{instructions:.0}\t{unit}")
        })
    }
}

impl Entry {
    fn parse(line: &str) -> Result<Entry> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, instructions, unit] = fields.as_slice() else {
            anyhow::bail!("`{line}` is not name, instructions and unit between tabs");
        };
        let instructions: f64 =
            instructions.parse().with_context(|| format!("`{instructions}` is no number"))?;
        let is_valid = instructions.is_finite() && instructions > 0.0;
        ensure!(is_valid, "`{instructions}` is no number of instructions");
        Ok(Entry { name: (*name).to_owned(), instructions, unit: (*unit).to_owned() })
    }
}

/// A bound and the present count of one hot path.
#[derive(Debug)]
struct Row {
    name: String,
    unit: String,
    /// Count in the table.
    bound: Option<f64>,
    /// Count of this run.
    now: Option<f64>,
}

impl Row {
    /// Returns the change as a share of the bound, if there are both.
    fn change(&self) -> Option<f64> {
        let (bound, now) = (self.bound?, self.now?);
        Some((now - bound) / bound)
    }

    fn is_kept(&self) -> bool {
        self.change().is_some_and(|change| change.abs() <= TOLERANCE)
    }

    fn verdict(&self) -> &'static str {
        match (self.bound, self.now, self.change()) {
            _ if self.is_kept() => "kept",
            (None, ..) => "NOT IN THE TABLE",
            (_, None, _) => "NO LONGER COUNTED",
            (.., Some(change)) if change < 0.0 => "FEWER",
            _ => "MORE",
        }
    }

    fn change_text(&self) -> String {
        self.change().map_or("-".to_owned(), |change| format!("{:+.1} %", 100.0 * change))
    }
}

/// Result of holding counts against the table.
#[derive(Debug)]
pub(super) struct Comparison {
    rows: Vec<Row>,
}

impl Comparison {
    /// Returns a line for each row whose bound is not kept, or `None` if all are.
    pub(super) fn broken(&self) -> Option<String> {
        let mut text = String::new();
        for row in self.rows.iter().filter(|row| !row.is_kept()) {
            let what = match row.change() {
                Some(_) => row.change_text(),
                None => row.verdict().to_lowercase(),
            };
            let _ = write!(text, "\n  {}: {what}", row.name);
        }
        Some(text).filter(|text| !text.is_empty())
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |it| format!("{it:.0}"));
        let head = ["instructions of", "for each", "bound", "now", "change"];
        let [name, unit, bound, now, change] = head;
        writeln!(f, "{name:<width$}  {unit:<8} {bound:>6} {now:>6} {change:>8}  verdict")?;
        self.rows.iter().try_for_each(|row| {
            let (bound, now) = (number(row.bound), number(row.now));
            let Row { name, unit, .. } = row;
            let (change, verdict) = (row.change_text(), row.verdict());
            writeln!(f, "{name:<width$}  {unit:<8} {bound:>6} {now:>6} {change:>8}  {verdict}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(entries: &[(&str, f64)]) -> Table {
        let entry = |(name, instructions): &(&str, f64)| Entry {
            name: (*name).to_owned(),
            instructions: *instructions,
            unit: "call".to_owned(),
        };
        Table { tools: "a compiler".to_owned(), entries: entries.iter().map(entry).collect() }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let written = table(&[("put, recorded", 467.0), ("replay of sor", 445.0)]);
        let text = written.to_string();
        assert!(text.starts_with("# ") && text.contains("\nput, recorded\t467\tcall\n"), "{text}");
        assert_eq!(Table::parse(&text).expect("our own text"), written);
    }

    #[test]
    fn comments_and_empty_lines_are_skipped() {
        let read = Table::parse("# x\ty\n\nput\t467.5\tcall\n# Counted with rustc 1\n");
        let read = read.expect("a table");
        assert_eq!((read.entries.len(), read.tools.as_str()), (1, "rustc 1"));
        assert_eq!(read.entries[0].instructions, 467.5);
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let damaged =
            ["put\t467", "put 467 call", "put\tmany\tcall", "put\t0\tcall", "put\tNaN\tcall"];
        for line in damaged {
            let error = Table::parse(&format!("# first\n{line}\n")).expect_err(line);
            assert!(format!("{error:#}").starts_with("line 2: "), "{error:#}");
        }
        let error = Table::parse("put\t1\tcall\nput\t2\tcall\n").expect_err("twice the same");
        assert!(error.to_string().contains("line 2: a second `put`"), "{error}");
    }

    #[test]
    fn three_per_cent_are_allowed_both_ways() {
        let bounds = table(&[("put", 1000.0)]);
        let broken = |now| bounds.judge(&table(&[("put", now)])).broken();
        for kept in [970.0, 1000.0, 1030.0] {
            assert_eq!(broken(kept), None, "{kept}");
        }
        assert_eq!(broken(969.0).as_deref(), Some("\n  put: -3.1 %"));
        assert_eq!(broken(1031.0).as_deref(), Some("\n  put: +3.1 %"));
        assert!(broken(f64::NAN).is_some());
    }

    #[test]
    fn rows_must_be_in_the_table_and_be_counted() {
        let bounds = table(&[("put", 10.0), ("get", 20.0)]);
        let judged = bounds.judge(&table(&[("get", 20.0), ("flush", 30.0)]));
        let broken = judged.broken().expect("two rows differ");
        assert_eq!(broken, "\n  flush: not in the table\n  put: no longer counted");
        let shown = judged.to_string();
        let verdicts: Vec<_> = shown.lines().map(|it| it.rsplit("  ").next()).collect();
        let expected = ["verdict", "kept", "NOT IN THE TABLE", "NO LONGER COUNTED"];
        assert_eq!(verdicts, expected.map(Some), "{shown}");
    }

    #[test]
    fn the_committed_table_can_be_read() {
        let text = include_str!("../../../tests/instructions.tsv");
        let read = Table::parse(text).expect("the committed table");
        assert_eq!(read.to_string(), text);
    }
}
