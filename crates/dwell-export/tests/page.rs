//! The page about tables in the book has the columns that are written. `DWELL_UPDATE_GOLDEN=1` writes its tables anew.

use std::fmt::Write;
use std::path::Path;

use dwell_export::TABLES;

/// What comes before the tables of the page.
const MARK: &str = "<!-- Made from crates/dwell-export/src/tables.rs: \
                    `DWELL_UPDATE_GOLDEN=1 cargo test -p dwell-export --test page` writes what follows. -->\n";

fn tables() -> String {
    let mut text = String::new();
    for table in TABLES {
        write!(text, "\n## {}\n\n{}\n\n| column | type | meaning |\n", table.name, table.about)
            .unwrap();
        text.push_str("| --- | --- | --- |\n");
        for column in table.columns {
            let null = if column.is_optional { " or null" } else { "" };
            let (name, kind, about) = (column.name, column.kind.name(), column.about);
            writeln!(text, "| `{name}` | {kind}{null} | {about} |").unwrap();
        }
    }
    text
}

#[test]
fn the_page_has_the_columns_of_the_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/tables.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (head, found) = page.split_once(MARK).expect("the page has the mark");
    if std::env::var_os("DWELL_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, format!("{head}{MARK}{}", tables())).unwrap();
        return;
    }
    assert!(found == tables(), "docs/src/tables.md is old: DWELL_UPDATE_GOLDEN=1 renews it");
}

#[test]
fn names_of_columns_have_their_units() {
    for table in TABLES {
        for column in table.columns {
            let says = |text: &str| column.about.contains(text);
            assert!(!says("nanoseconds") || column.name.ends_with("_ns"), "{}", column.name);
            assert!(!says("in seconds") || column.name.ends_with("_s"), "{}", column.name);
            assert!(!column.about.starts_with("Number of bytes") || column.name == "bytes");
        }
    }
}
