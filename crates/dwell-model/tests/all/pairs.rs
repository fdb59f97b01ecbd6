//! The list of pairs, held against its golden file, and its reader against damaged lists.

use std::fmt::Write;

use dwell_model::pairs::{HEADER, Kind, Row, read, write};

use crate::golden;

fn row(origin: &'static str, target: &'static str, kind: Kind) -> Row<'static> {
    let (origin, target) = (origin.into(), target.into());
    Row { origin, target, kind, operations: 3, bytes: 24, seconds: 0.5, wait_seconds: 0.25 }
}

fn rows() -> Vec<Row<'static>> {
    let mut rows: Vec<Row<'_>> =
        Kind::ALL.into_iter().map(|kind| row("PE 0", "PE 1", kind)).collect();
    rows.push(row("a \"b\", c", "\"", Kind::Put));
    rows.push(row("", "two\nlines", Kind::Get));
    let large =
        Row { operations: u64::MAX, bytes: u64::MAX, seconds: 1e9, ..row("é", "<b>", Kind::Put) };
    rows.push(Row { wait_seconds: 1e-9, ..large });
    rows
}

#[test]
fn version_1_is_written_and_read() {
    golden::hold("pairs-1.csv", write(rows()).as_bytes());
    let text = String::from_utf8(golden::read("pairs-1.csv")).unwrap();
    let read: Vec<Row<'_>> = read(&text).unwrap().collect();
    assert_eq!(read, rows());
    let mut text = String::new();
    read.iter().for_each(|row| writeln!(text, "{row:?}").unwrap());
    golden::hold("pairs-1.txt", text.as_bytes());
}

#[test]
fn other_headers_are_named() {
    for header in ["", "origin,target", &"x".repeat(1000)] {
        let error = read(header).err().unwrap().to_string();
        assert!(error.contains(HEADER) && error.contains("`dwell analyze` again"), "{error}");
        assert!(error.len() < 500, "{error}");
    }
    assert_eq!(read(HEADER).unwrap().count(), 0);
}

#[test]
fn lines_that_are_no_rows_are_skipped() {
    for bad in [
        "",
        "a,b,put,1,2,3,4",
        "\"a\",\"b\",put,1,2,3",
        "\"a\",\"b\",put,1,2,3,4,5",
        "\"a\",\"b\",put,1,2,3,NaN",
        "\"a\",\"b\",put,-1,2,3,4",
        "\"a\",\"b\",post,1,2,3,4",
        "\"a\"\"b\",put,1,2,3,4",
        "\"a\",\"b\"",
    ] {
        let text = format!("{HEADER}\n{bad}\n\"a\",\"b\",put,3,24,0.5,0.25\r\n");
        let found: Vec<Row<'_>> = read(&text).unwrap().collect();
        assert_eq!(found, [row("a", "b", Kind::Put)], "{bad}");
        // A list may end without a line feed.
        assert_eq!(read(text.trim_end()).unwrap().count(), 1, "{bad}");
    }
}
