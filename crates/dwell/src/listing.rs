//! Tables that are printed as text, JSON or CSV. Cells are on one line here, so that CSV is one rule for quotes and does not
//! need the three packages of the crate csv.

use std::io::{self, BufWriter, Write};

use serde_json::{Map, Value, json};

use crate::format;
use crate::terminal::{self, visible};

/// Content of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Text(String),
    /// A value with its unit, which the output format decides how to write.
    Value(f64, Unit),
    /// A fraction of a whole, where 1 is all of it.
    Share(f64),
    Count(u64),
    Nothing,
}

/// Unit of a value, as Cube names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Bytes,
    Other,
}

impl Unit {
    pub(crate) fn of(uom: &str) -> Self {
        match uom {
            "sec" | "s" => Self::Seconds,
            "bytes" | "byte" => Self::Bytes,
            _ => Self::Other,
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Cell {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => visible(text).into_owned(),
            Self::Value(value, Unit::Seconds) => format::seconds(*value),
            Self::Value(value, Unit::Bytes) => format::bytes(*value),
            Self::Value(value, Unit::Other) => format::number(*value),
            Self::Share(share) => format::percent(*share),
            Self::Count(count) => format::grouped(*count),
            Self::Nothing => String::new(),
        }
    }

    /// Returns the cell for programs: plain numbers in basic units.
    fn plain(&self) -> Value {
        match self {
            Self::Text(text) => json!(text),
            Self::Value(number, _) | Self::Share(number) => json!(number),
            Self::Count(count) => json!(count),
            Self::Nothing => Value::Null,
        }
    }

    fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Listing {
    /// Key of the table in JSON.
    pub(crate) key: &'static str,
    /// Title above the table in text.
    pub(crate) title: String,
    /// Keys of the columns, which are also their headings.
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Text below the table.
    pub(crate) note: String,
    /// Set if the columns need no headings.
    pub(crate) headless: bool,
    /// Levels of the rows of a tree, which is listed from the root down; empty for tables that are not trees. Text has
    /// blanks before the last column, JSON has children, and CSV has a column for the level.
    pub(crate) levels: Vec<usize>,
    /// Set for the table of several that is printed as comma-separated values.
    pub(crate) is_main: bool,
    /// Columns whose texts are never cut, because people copy them.
    pub(crate) whole: &'static [&'static str],
    /// Columns that people do not need, and programs do.
    pub(crate) for_programs: &'static [&'static str],
}

impl Listing {
    /// Writes the table as text with no line wider than `room`, and with notes wrapped to `width`. If the last column
    /// has too little room, it gets a line of its own below each row. Empty columns are left out.
    pub(crate) fn write_text(
        &self,
        output: &mut impl Write,
        width: usize,
        room: usize,
    ) -> io::Result<()> {
        if !self.title.is_empty() {
            writeln!(output, "{}", console::style(visible(&self.title)).bold())?;
        }
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let shown: Vec<usize> = (0..self.columns.len())
            .filter(|&column| !self.for_programs.contains(&self.columns[column]))
            .filter(|&column| cells(column).any(|cell| *cell != Cell::Nothing))
            .collect();
        let mut texts: Vec<Vec<String>> = (self.rows.iter())
            .map(|row| shown.iter().filter_map(|&at| row.get(at)).map(Cell::text).collect())
            .collect();
        for (row, level) in texts.iter_mut().zip(&self.levels) {
            if let Some(name) = row.last_mut() {
                name.insert_str(0, &"  ".repeat(*level));
            }
        }
        let widths: Vec<usize> = (shown.iter().enumerate())
            .map(|(at, &column)| {
                let cells = texts.iter().filter_map(|row| row.get(at));
                let widest = cells.map(|text| console::measure_text_width(text)).max();
                widest.unwrap_or(0).max(self.columns[column].len())
            })
            .collect();
        let is_text: Vec<bool> =
            shown.iter().map(|&column| cells(column).any(Cell::is_text)).collect();
        let may_be_cut: Vec<bool> = (shown.iter().zip(&is_text))
            .map(|(&column, is_text)| *is_text && !self.whole.contains(&self.columns[column]))
            .collect();
        let layout = Layout::new(widths, is_text, &may_be_cut, room);
        let heads: Vec<String> =
            shown.iter().map(|&column| self.columns[column].replace('_', " ")).collect();
        if !self.rows.is_empty() && !self.headless {
            for line in layout.lines(&heads) {
                writeln!(output, "{}", console::style(line).dim())?;
            }
        }
        for row in &texts {
            for line in layout.lines(row) {
                writeln!(output, "{line}")?;
            }
        }
        if !self.note.is_empty() {
            for line in format::wrap(&visible(&self.note), width.saturating_sub(2)) {
                writeln!(output, "  {}", console::style(line).dim())?;
            }
        }
        Ok(())
    }

    /// Returns the rows as JSON objects. Those of a tree contain their children.
    pub(crate) fn to_json(&self) -> Value {
        let row = |row: &Vec<Cell>| {
            let pairs = self.columns.iter().zip(row).filter(|(key, _)| !key.is_empty());
            pairs.map(|(key, cell)| ((*key).to_owned(), cell.plain())).collect()
        };
        let rows: Vec<Map<String, Value>> = self.rows.iter().map(row).collect();
        match self.levels.is_empty() {
            true => rows.into_iter().map(Value::Object).collect(),
            false => nested(rows.into_iter().zip(self.levels.iter().copied()).rev()),
        }
    }

    /// Writes the rows as comma-separated values, with the keys of the columns in the first line.
    pub(crate) fn write_csv(&self, output: &mut impl Write) -> io::Result<()> {
        let is_shown = |column: &usize| !self.columns[*column].is_empty();
        let shown: Vec<usize> = (0..self.columns.len()).filter(is_shown).collect();
        let level = if self.levels.is_empty() { None } else { Some("level") };
        let heads = shown.iter().map(|&column| self.columns[column]);
        writeln!(output, "{}", level.into_iter().chain(heads).collect::<Vec<_>>().join(","))?;
        for (number, row) in self.rows.iter().enumerate() {
            let level = self.levels.get(number).map(ToString::to_string);
            let cells =
                shown.iter().filter_map(|&column| row.get(column)).map(|it| csv(&it.plain()));
            writeln!(output, "{}", level.into_iter().chain(cells).collect::<Vec<_>>().join(","))?;
        }
        Ok(())
    }
}

/// Returns the roots of a tree as JSON. The rows come with their levels, in the reverse order of the listing: children
/// before their parents.
fn nested(rows: impl Iterator<Item = (Map<String, Value>, usize)>) -> Value {
    // Rows whose parent has not come yet, the last of the listing first.
    let mut open: Vec<(usize, Value)> = Vec::new();
    for (mut row, level) in rows {
        let first = open.iter().rposition(|(other, _)| *other <= level).map_or(0, |at| at + 1);
        let children = open.split_off(first).into_iter().rev().map(|(_, child)| child);
        row.insert("children".into(), children.collect());
        open.push((level, Value::Object(row)));
    }
    open.into_iter().rev().map(|(_, root)| root).collect()
}

/// Places of the columns of a table in a line.
struct Layout {
    widths: Vec<usize>,
    is_text: Vec<bool>,
    room: usize,
    /// Set if the last column is on a line of its own.
    is_stacked: bool,
}

impl Layout {
    /// Least room that the last column needs beside the others, unless all of it fits.
    const LEAST: usize = 32;

    /// Columns before which a column on a line of its own begins.
    const INDENT: usize = 6;

    fn new(mut widths: Vec<usize>, is_text: Vec<bool>, may_be_cut: &[bool], room: usize) -> Self {
        let last = widths.pop().unwrap_or(0);
        // Each column is followed by two blanks, and the first begins after two.
        let used = |widths: &[usize]| 2 + widths.iter().map(|width| width + 2).sum::<usize>();
        let left = room.saturating_sub(used(&widths));
        let is_stacked = !widths.is_empty() && left < last && left < Self::LEAST;
        if is_stacked {
            // The widest texts are cut if there is still too little room.
            while used(&widths) > room + 2 {
                let columns = widths.iter_mut().zip(may_be_cut);
                let texts = columns.filter(|(width, may_be_cut)| **may_be_cut && **width > 10);
                match texts.max_by_key(|(width, _)| **width) {
                    Some((width, _)) => *width -= 1,
                    None => break,
                }
            }
        }
        widths.push(last);
        Self { widths, is_text, room, is_stacked }
    }

    /// Returns the lines of a row.
    fn lines(&self, cells: &[String]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut text = String::from("  ");
        for (column, cell) in cells.iter().enumerate() {
            let is_last = column + 1 == cells.len();
            if is_last && self.is_stacked {
                lines.push(text.trim_end().to_owned());
                if cell.is_empty() {
                    return lines;
                }
                text = " ".repeat(Self::INDENT);
            }
            let room = match is_last {
                true => self.room.saturating_sub(console::measure_text_width(&text)).max(8),
                false => self.widths[column],
            };
            let cell = format::shorten(cell, room);
            let fill = self.widths[column].saturating_sub(console::measure_text_width(&cell));
            let fill = if is_last && (self.is_text[column] || self.is_stacked) { 0 } else { fill };
            if self.is_text[column] {
                text.push_str(&cell);
                text.extend(std::iter::repeat_n(' ', fill));
            } else {
                text.extend(std::iter::repeat_n(' ', fill));
                text.push_str(&cell);
            }
            text.push_str("  ");
        }
        lines.push(text.trim_end().to_owned());
        lines
    }
}

/// Returns a cell of comma-separated values. A text that a spreadsheet would take for a formula gets a quote in front,
/// which says there that it is a text: names come from programs, and a formula could send what else is in the sheet.
fn csv(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => match visible(text) {
            text if text.starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err() => {
                csv(&Value::String(format!("'{text}")))
            }
            text if text.contains([',', '"']) => format!("\"{}\"", text.replace('"', "\"\"")),
            text => text.into_owned(),
        },
        other => other.to_string(),
    }
}

/// Output format of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    #[default]
    Text,
    Json,
    Csv,
}

impl Style {
    /// Returns the style that the flags `--json` and `--csv` ask for.
    pub(crate) fn of(json: bool, csv: bool) -> Self {
        match (json, csv) {
            (true, _) => Self::Json,
            (_, true) => Self::Csv,
            _ => Self::Text,
        }
    }
}

/// Prints tables, one below the other. As JSON they form one object.
pub(crate) fn print(listings: &[Listing], style: Style) -> io::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    let written = write(listings, style, &mut output);
    terminal::unless_closed(written.and_then(|()| output.flush()))
}

fn write(listings: &[Listing], style: Style, output: &mut impl Write) -> io::Result<()> {
    match style {
        Style::Text => {
            for (index, listing) in listings.iter().enumerate() {
                if index > 0 {
                    writeln!(output)?;
                }
                listing.write_text(output, width(), room())?;
            }
        }
        Style::Json => {
            let object: Map<String, Value> = listings
                .iter()
                .map(|listing| (listing.key.to_owned(), listing.to_json()))
                .collect();
            let mut text = serde_json::to_vec_pretty(&object)?;
            terminal::visible_json(&mut text, 0);
            output.write_all(&text)?;
            writeln!(output)?;
        }
        // A file of comma-separated values is one table.
        Style::Csv => {
            let main = listings.iter().find(|listing| listing.is_main).or(listings.first());
            main.map_or(Ok(()), |listing| listing.write_csv(output))?;
        }
    }
    Ok(())
}

/// Returns the width of the terminal in columns, or 100 without a terminal.
pub(crate) fn width() -> usize {
    terminal_width().unwrap_or(100)
}

/// Returns the width to which tables and paths are cut: that of the terminal. What goes into a file or a pipe is not
/// cut.
pub(crate) fn room() -> usize {
    terminal_width().unwrap_or(usize::MAX)
}

/// Returns the width of the terminal, or what the environment says instead; `None` if neither does.
pub(crate) fn terminal_width() -> Option<usize> {
    let from_environment = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let terminal = || console::Term::stdout().size_checked();
    from_environment.or_else(|| terminal().map(|(_, columns)| usize::from(columns)))
}

#[cfg(test)]
mod tests {
    use super::{Cell, Listing, Unit};

    fn listing() -> Listing {
        Listing {
            key: "paths",
            title: "Paths".into(),
            columns: vec!["value", "share", "call_path"],
            rows: vec![
                vec![Cell::Value(1.5, Unit::Seconds), Cell::Share(0.75), "main / \"a\", b".into()],
                vec![Cell::Value(0.0005, Unit::Seconds), Cell::Share(0.25), "main".into()],
            ],
            ..Listing::default()
        }
    }

    #[test]
    fn text_keeps_to_the_width() {
        let mut output = Vec::new();
        console::set_colors_enabled(false);
        listing().write_text(&mut output, 40, 40).unwrap();
        let text = String::from_utf8(output).unwrap();
        let expected = "Paths\n   value   share  call path\n  1.50 s  75.0 %  main / \"a\", b\n  500 µs  25.0 %  main\n";
        assert_eq!(text, expected);
        let mut output = Vec::new();
        listing().write_text(&mut output, 30, 30).unwrap();
        let text = String::from_utf8(output).unwrap();
        let stacked = "Paths\n   value   share\n      call path\n  1.50 s  75.0 %\n      main / \"a\", b\n  500 µs  25.0 %\n      main\n";
        assert_eq!(text, stacked);
        let mut output = Vec::new();
        listing().write_text(&mut output, 100, usize::MAX).unwrap();
        assert_eq!(String::from_utf8(output).unwrap(), expected, "a file has any width");
    }

    #[test]
    fn names_that_people_copy_are_whole() {
        let name = "dwell-a-program-with-a-long-name-4711";
        let row = || {
            vec![
                name.into(),
                "a-program-with-a-long-name".into(),
                "a label".into(),
                "a note".into(),
            ]
        };
        let runs = Listing {
            key: "runs",
            columns: vec!["run", "program", "label", "note"],
            rows: vec![row()],
            whole: &["run"],
            ..Listing::default()
        };
        let mut output = Vec::new();
        runs.write_text(&mut output, 60, 60).unwrap();
        assert!(String::from_utf8(output).unwrap().contains(name));
    }

    #[test]
    fn trees_have_children() {
        let row = |name: &str| vec![Cell::Count(1), name.into(), "bar".into()];
        let tree = Listing {
            key: "tree",
            columns: vec!["calls", "name", ""],
            rows: ["a", "b", "c", "d", "e"].map(row).to_vec(),
            levels: vec![0, 1, 2, 1, 0],
            ..Listing::default()
        };
        let leaf = |name: &str| serde_json::json!({ "calls": 1, "name": name, "children": [] });
        let b = serde_json::json!({ "calls": 1, "name": "b", "children": [leaf("c")] });
        let a = serde_json::json!({ "calls": 1, "name": "a", "children": [b, leaf("d")] });
        assert_eq!(tree.to_json(), serde_json::json!([a, leaf("e")]));
        let mut output = Vec::new();
        tree.write_csv(&mut output).unwrap();
        let csv = "level,calls,name\n0,1,a\n1,1,b\n2,1,c\n1,1,d\n0,1,e\n";
        assert_eq!(String::from_utf8(output).unwrap(), csv);
    }

    #[test]
    fn programs_get_plain_numbers() {
        let json = listing().to_json();
        assert_eq!(json[0]["value"], 1.5);
        assert_eq!(json[1]["share"], 0.25);
        let mut output = Vec::new();
        listing().write_csv(&mut output).unwrap();
        let csv = "value,share,call_path\n1.5,0.75,\"main / \"\"a\"\", b\"\n0.0005,0.25,main\n";
        assert_eq!(String::from_utf8(output).unwrap(), csv);
    }

    #[test]
    fn texts_are_no_formulas_of_spreadsheets() {
        let cell = |text: &str| super::csv(&serde_json::json!(text));
        assert_eq!(cell("=1+2"), "'=1+2");
        assert_eq!(cell("@SUM(A1,A2)"), "\"'@SUM(A1,A2)\"");
        assert_eq!(cell("+main"), "'+main");
        assert_eq!(cell("-x"), "'-x");
        assert_eq!(cell("-1.5"), "-1.5");
        assert_eq!(cell("a=b"), "a=b");
        assert_eq!(super::csv(&serde_json::json!(-2.5)), "-2.5");
    }
}
