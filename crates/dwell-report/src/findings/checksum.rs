//! The checksum of `findings.json`, and the text that has it.

use super::Findings;

/// The digits of the checksum while it is computed.
const BLANK: &str = "00000000";

/// Returns the position of the digits of the checksum in a document, or `None` if it has no checksum.
fn checksum(json: &[u8]) -> Option<usize> {
    let name = b"\n  \"checksum\": \"";
    let at = json.windows(name.len()).position(|it| it == name)? + name.len();
    json.get(at..at + BLANK.len()).map(|_| at)
}

/// Returns `true` if the document has the checksum that it states, or states none.
pub(super) fn is_right(json: &[u8]) -> bool {
    let Some(at) = checksum(json) else { return true };
    let (before, rest) = json.split_at(at);
    let Some((stated, after)) = rest.split_at_checked(BLANK.len()) else { return false };
    let mut sum = crc32fast::Hasher::new();
    [before, BLANK.as_bytes(), after].into_iter().for_each(|part| sum.update(part));
    stated == format!("{:08x}", sum.finalize()).as_bytes()
}

impl Findings {
    /// Returns the document as `findings.json` has it: indented, with a newline at its end, and with its checksum.
    ///
    /// # Errors
    /// Never fails for these types; the signature is that of the JSON library.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let blank = Self { checksum: BLANK.into(), ..self.clone() };
        let text = serde_json::to_string_pretty(&blank)? + "\n";
        let sum = format!("{:08x}", crc32fast::hash(text.as_bytes()));
        Ok(match checksum(text.as_bytes()) {
            Some(at) => {
                let (before, after) = text.split_at(at);
                [before, &sum, after.get(BLANK.len()..).unwrap_or_default()].concat()
            }
            None => text,
        })
    }
}
