//! Compares the table of coarrays with the library that is installed.
//!
//! Without `libcaf_openmpi.so` the test says so and passes, unless `DWELL_REQUIRE_CAF=1`.

use std::path::Path;

use dwell_model::caf::{NOT_HOOKED, TABLE};

use crate::{needs, symbols};

const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/libcaf_openmpi.so";

#[test]
fn every_function_is_hooked_or_listed() {
    if !Path::new(LIBRARY).exists() {
        return needs::missing("CAF", &format!("there is no {LIBRARY}"));
    }
    if !needs::tools("SYMBOLS", &["nm"]) {
        return;
    }
    let functions = symbols::functions(Path::new(LIBRARY));
    let listed = |name: &str| NOT_HOOKED.iter().any(|(listed, _)| *listed == name);
    for name in &functions {
        let hooked = TABLE.find(name).is_some();
        assert!(hooked != listed(name), "{name}: hooked {hooked}, listed {}", listed(name));
    }
    // Everything in the table is there, so that nothing is misspelt.
    for row in TABLE.rows {
        assert!(functions.contains(row.name()), "the library has no {}", row.name());
    }
    let all = functions.iter().filter(|name| name.starts_with("_gfortran_caf_")).count();
    assert_eq!(all, TABLE.rows.len() + 5, "of {all} functions");
}
