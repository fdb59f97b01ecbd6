//! Any bytes as an anchor file: what is read can be written, and then reads the same.

use otf2::Anchor;

pub(crate) fn run(data: &[u8]) {
    if let Ok(anchor) = Anchor::read(data) {
        let again = Anchor::read(&anchor.to_bytes());
        assert_eq!(again.expect("what was written can be read"), anchor);
    }
}
