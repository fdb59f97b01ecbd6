//! Tables that are printed as text, JSON or CSV.

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
}

impl Listing {
    /// Writes the table as text with no line wider than `width`; the last column is cut if necessary. Empty columns are
    /// left out.
    pub(crate) fn write_text(&self, output: &mut impl Write, width: usize) -> io::Result<()> {
        if !self.title.is_empty() {
            writeln!(output, "{}", console::style(visible(&self.title)).bold())?;
        }
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let shown: Vec<usize> = (0..self.columns.len())
            .filter(|&column| cells(column).any(|cell| *cell != Cell::Nothing))
            .collect();
        let texts: Vec<Vec<String>> = (self.rows.iter())
            .map(|row| shown.iter().filter_map(|&at| row.get(at)).map(Cell::text).collect())
            .collect();
        let widths: Vec<usize> = (shown.iter().enumerate())
            .map(|(at, &column)| {
                let cells = texts.iter().filter_map(|row| row.get(at));
                let widest = cells.map(|text| console::measure_text_width(text)).max();
                widest.unwrap_or(0).max(self.columns[column].len())
            })
            .collect();
        let is_text = |at: usize| cells(shown[at]).any(Cell::is_text);
        let mut line = |cells: &[String], dim: bool| {
            let mut text = String::from(" ");
            for (column, cell) in cells.iter().enumerate() {
                let last = column + 1 == cells.len();
                let used = console::measure_text_width(&text);
                let room = width.saturating_sub(used + 1).max(8);
                let cell = if last { format::shorten(cell, room) } else { cell.clone() };
                let fill = widths[column].saturating_sub(console::measure_text_width(&cell));
                text.push(' ');
                if is_text(column) {
                    text.push_str(&cell);
                    text.extend(std::iter::repeat_n(' ', if last { 0 } else { fill + 1 }));
                } else {
                    text.extend(std::iter::repeat_n(' ', fill));
                    text.push_str(&cell);
                    text.push_str(if last { "" } else { " " });
                }
            }
            let text = text.trim_end();
            if dim {
                writeln!(output, "{}", console::style(text).dim())
            } else {
                writeln!(output, "{text}")
            }
        };
        let heads: Vec<String> =
            shown.iter().map(|&column| self.columns[column].replace('_', " ")).collect();
        if !self.rows.is_empty() && !self.headless {
            line(&heads, true)?;
        }
        for row in &texts {
            line(row, false)?;
        }
        if !self.note.is_empty() {
            for line in format::wrap(&visible(&self.note), width.saturating_sub(2)) {
                writeln!(output, "  {}", console::style(line).dim())?;
            }
        }
        Ok(())
    }

    /// Returns the rows as JSON objects.
    pub(crate) fn to_json(&self) -> Value {
        let row = |row: &Vec<Cell>| {
            let pairs = self.columns.iter().zip(row);
            Value::Object(pairs.map(|(key, cell)| ((*key).to_owned(), cell.plain())).collect())
        };
        Value::Array(self.rows.iter().map(row).collect())
    }

    /// Writes the rows as comma-separated values, with the keys of the columns in the first line.
    pub(crate) fn write_csv(&self, output: &mut impl Write) -> io::Result<()> {
        writeln!(output, "{}", self.columns.join(","))?;
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|cell| csv(&cell.plain())).collect();
            writeln!(output, "{}", cells.join(","))?;
        }
        Ok(())
    }
}

fn csv(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => match visible(text) {
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

/// Prints tables, one below the other. As JSON they form one object.
pub(crate) fn print(listings: &[Listing], style: Style, width: usize) -> io::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    let written = write(listings, style, width, &mut output);
    terminal::unless_closed(written.and_then(|()| output.flush()))
}

fn write(
    listings: &[Listing],
    style: Style,
    width: usize,
    output: &mut impl Write,
) -> io::Result<()> {
    match style {
        Style::Text => {
            for (index, listing) in listings.iter().enumerate() {
                if index > 0 {
                    writeln!(output)?;
                }
                listing.write_text(output, width)?;
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
        Style::Csv => {
            for (index, listing) in listings.iter().enumerate() {
                if index > 0 {
                    writeln!(output)?;
                }
                listing.write_csv(output)?;
            }
        }
    }
    Ok(())
}

/// Returns the width of the terminal in columns, or 100 without a terminal.
pub(crate) fn width() -> usize {
    let from_environment = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    from_environment.unwrap_or_else(|| {
        let terminal = console::Term::stdout();
        terminal.size_checked().map_or(100, |(_, columns)| usize::from(columns))
    })
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
        listing().write_text(&mut output, 40).unwrap();
        let text = String::from_utf8(output).unwrap();
        let expected = "Paths\n     value   share  call path\n   1.500 s  75.0 %  main / \"a\", b\n  \
                        500.0 us  25.0 %  main\n";
        assert_eq!(text, expected);
        let mut output = Vec::new();
        listing().write_text(&mut output, 30).unwrap();
        assert!(String::from_utf8(output).unwrap().lines().all(|line| line.chars().count() <= 30));
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
}
