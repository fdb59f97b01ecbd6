//! Golden files of Dwell's own formats: `tests/data/formats/NAME-VERSION.EXTENSION`.
//!
//! A test of the writer holds today's bytes against the file of today's version; a test of the reader holds what it
//! reads from the file against a text beside it. `DWELL_UPDATE_GOLDEN=1` writes both anew. A change of the bytes needs
//! another version, and a file of its own: those of older versions stay as they are.

use std::path::PathBuf;

/// The path of a golden file.
fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/formats")).join(name)
}

/// Holds bytes that today's writer made against the golden file of that name.
pub(crate) fn hold(name: &str, actual: &[u8]) {
    if std::env::var_os("DWELL_UPDATE_GOLDEN").is_some() {
        std::fs::write(path(name), actual).unwrap();
    }
    let expected = read(name);
    let differs = expected.iter().zip(actual).position(|(one, other)| one != other);
    assert!(
        expected == actual,
        "{name} has {} bytes and the writer made {}; they differ first at byte {}",
        expected.len(),
        actual.len(),
        differs.unwrap_or(expected.len().min(actual.len()))
    );
}

/// The bytes of a golden file.
pub(crate) fn read(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}
