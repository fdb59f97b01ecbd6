//! Compares the table of OpenMP with the runtime of GCC that is installed.
//!
//! Without `libgomp.so.1` the test says so and passes, unless `DWELL_REQUIRE_CC=1`.

use std::path::Path;

use dwell_model::omp::TABLE;
use dwell_model::table::reason;

use crate::{needs, symbols};

const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/libgomp.so.1";

#[test]
fn every_function_is_hooked_or_listed() {
    if !Path::new(LIBRARY).exists() {
        return needs::missing("CC", &format!("there is no {LIBRARY}"));
    }
    if !needs::tools("SYMBOLS", &["nm"]) {
        return;
    }
    let mut functions = symbols::functions(Path::new(LIBRARY));
    functions.retain(|name| name.starts_with("GOMP_") || name.starts_with("omp_"));
    for name in &functions {
        let known = TABLE.find(name).is_some() || reason(TABLE.not_hooked, name).is_some();
        assert!(known, "{name} is neither hooked nor listed");
    }
    // Everything in the table is there, so that nothing is misspelt.
    for row in TABLE.rows {
        assert!(functions.contains(row.name()), "the library has no {}", row.name());
    }
    let of_programs = |name: &&String| {
        let why = reason(TABLE.not_hooked, name).unwrap_or_default();
        name.starts_with("GOMP_") && !why.contains("plug-ins")
    };
    let all = functions.iter().filter(of_programs).count();
    println!("{} of {all} GOMP functions are hooked, and locks", TABLE.rows.len() - 12);
}
