//! Any bytes as `findings.json`: a document that is read can be written, and is read again as it was.

use dwell_report::findings::Findings;

pub(crate) fn run(data: &[u8]) {
    let Ok(findings) = Findings::read(data) else { return };
    let written = findings.to_json().expect("what was read can be written");
    // The sums that are computed for version 1 may be infinite, which JSON cannot say.
    if findings.version >= 2 {
        assert_eq!(Findings::read(written.as_bytes()), Ok(findings));
    }
}
