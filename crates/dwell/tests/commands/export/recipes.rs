//! The recipes of the book run, and print what the book says.

use std::path::Path;

use super::{export, python, script, synthetic};
use crate::support::text;

#[test]
fn recipes_print_what_the_book_says() {
    let Some(mut python) = python("TABLES", "duckdb, pandas, pyarrow") else { return };
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let args = ["random", "--ranks", "8", "--segments", "20", "--operations", "40"];
    synthetic(&run, &args);
    let tables = directory.path().join("tables");
    export(&run, &["--format=parquet", "-o", tables.to_str().unwrap(), "--events"]);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/recipes.md");
    let page = page.canonicalize().unwrap();
    let output = python.arg(script("recipes.py")).arg(&page).current_dir(directory.path());
    let output = output.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let made = text(&output.stdout);
    if std::env::var_os("DWELL_UPDATE_GOLDEN").is_some() {
        std::fs::write(&page, &made).unwrap();
    }
    let expected = std::fs::read_to_string(&page).unwrap();
    assert!(expected.matches("\n## ").count() >= 10, "there are ten recipes");
    assert!(expected == made, "docs/src/recipes.md differs; this is what came:\n{made}");
}
