//! The table of values and their texts that the terminal and the page share: `tests/data/units.tsv`.
//!
//! This test holds `dwell_model::units` against it, and `web/tests/format.mjs` holds `web/src/format.ts` against it.
//! `DWELL_UPDATE_GOLDEN=1` writes it anew; look at the difference before committing it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use dwell_model::units::{bounds, bytes, grouped, number, percent, percents, seconds};

/// Numbers below, at and above each change of unit, numbers that are rounded, and numbers halfway between two texts.
const VALUES: &[f64] = &[
    0.0,
    1e-10,
    4e-10,
    5e-10,
    1e-9,
    1.5e-9,
    2.5e-9,
    12e-9,
    999.4e-9,
    999.5e-9,
    1e-6,
    1.25e-6,
    12.25e-6,
    12.35e-6,
    999.95e-6,
    1e-3,
    1.0625e-3,
    0.0123456,
    0.25,
    0.5,
    0.9999996,
    1.0,
    1.0005,
    1.0625,
    1.1875,
    2.5,
    12.3456,
    59.9995,
    100.0,
    599.9996,
    600.0,
    999.0,
    1000.0,
    1234.5,
    5_999.9,
    6_000.0,
    9_999.0,
    9_999.5,
    10_000.0,
    10_050.0,
    10_239.0,
    10_240.0,
    10_250.0,
    123_456.0,
    9_999_949.0,
    9_999_950.0,
    10_000_000.0,
    10_485_760.0,
    12_345_678.9,
    5_400_000_000.0,
    9_999_999_999.0,
    10_000_000_000.0,
    54_000_000_000.0,
    10_995_116_277_760.0,
    1e15,
    1e16,
];

/// Shares, some of which are halfway between two texts.
const SHARES: &[f64] = &[
    0.0, 0.0001, 0.0004999, 0.0005, 0.000625, 0.001, 0.0025, 0.015625, 0.046875, 0.1, 0.12345, 0.5,
    0.9995, 1.0, 1.5, 42.0,
];

fn table() -> String {
    let mut text = String::from("function\targuments\ttext\n");
    let mut row = |function: &str, arguments: &[f64], made: &str| {
        let arguments: Vec<String> = arguments.iter().map(|it| format!("{it:?}")).collect();
        writeln!(text, "{function}\t{}\t{made}", arguments.join(" ")).unwrap();
    };
    for &value in VALUES {
        if value.fract() == 0.0 {
            row("grouped", &[value], &grouped(value as u64));
        }
        for value in [value, -value] {
            row("number", &[value], &number(value));
            row("seconds", &[value], &seconds(value));
            row("bytes", &[value], &bytes(value));
        }
    }
    for &share in SHARES {
        row("percent", &[share], &percent(share));
        row("percent", &[-share], &percent(-share));
        row("percents", &[share, share], &percents(share, share));
    }
    row("percent", &[f64::INFINITY], &percent(f64::INFINITY));
    for pair in SHARES.windows(2) {
        row("percents", pair, &percents(pair[0], pair[1]));
    }
    for pair in VALUES.windows(2) {
        row("bounds", pair, &bounds(pair[0], pair[1]));
        row("bounds", &[pair[1], pair[1]], &bounds(pair[1], pair[1]));
    }
    text
}

#[test]
fn texts_are_those_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/units.tsv");
    let made = table();
    if std::env::var_os("DWELL_UPDATE_GOLDEN").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    for (known, made) in known.lines().zip(made.lines()) {
        assert_eq!(known, made);
    }
    assert!(known == made, "tests/data/units.tsv is old: DWELL_UPDATE_GOLDEN=1 renews it");
}
