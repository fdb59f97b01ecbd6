//! Any text as a list of pairs: the rows that are read can be written, and are read again as they were.

use dwell_model::pairs::{HEADER, Row, read, write};

pub(crate) fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let _ = read(&text);
    let text = format!("{HEADER}\n{text}");
    let rows: Vec<Row<'_>> = read(&text).expect("the header is that of this version").collect();
    let written = write(rows.clone());
    let again: Vec<Row<'_>> = read(&written).expect("what was written has a header").collect();
    assert_eq!(rows, again);
}
