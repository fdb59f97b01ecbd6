//! What the environment asks of the recorder. `dwell run` sets it; the names are documented there.

use std::env;
use std::path::PathBuf;

/// How to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The experiment directory, exactly; otherwise a name is made.
    pub(crate) directory: Option<PathBuf>,
    /// Where files are while they are written, if not in the experiment directory.
    pub(crate) scratch: Option<PathBuf>,
    /// Bytes of an event chunk.
    pub(crate) chunk: u64,
    /// Bytes that the events of one process may take.
    pub(crate) budget: u64,
}

impl Settings {
    /// Reads the environment. What cannot be understood is told, and left at its default.
    pub(crate) fn read(get: impl Fn(&str) -> Option<String>) -> (Self, Vec<String>) {
        let mut complaints = Vec::new();
        let mut size = |name: &str, default: u64| match get(name) {
            None => default,
            Some(text) => parse_size(&text).unwrap_or_else(|| {
                complaints.push(format!("{name}={text} is not a size such as 64M: not used"));
                default
            }),
        };
        let chunk = size("DWELL_CHUNK_SIZE", otf2::chunk::EVENTS_SIZE);
        let budget = size("DWELL_MAX_SIZE", u64::MAX);
        let path = |name: &str| get(name).filter(|text| !text.is_empty()).map(PathBuf::from);
        // Chunks are mapped, so they are whole pages.
        let chunk = chunk.clamp(otf2::chunk::MIN_SIZE, otf2::chunk::MAX_SIZE) & !4095;
        let (directory, scratch) = (path("DWELL_DIRECTORY"), path("DWELL_SCRATCH"));
        (Self { directory, scratch, chunk, budget }, complaints)
    }

    pub(crate) fn from_environment() -> (Self, Vec<String>) {
        Self::read(|name| env::var(name).ok())
    }
}

/// Reads `512`, `64K`, `1.5G`: binary multiples.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, factor) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (text.get(..at)?, 1_u64 << 10),
        (at, 'm' | 'M') => (text.get(..at)?, 1 << 20),
        (at, 'g' | 'G') => (text.get(..at)?, 1 << 30),
        (at, 't' | 'T') => (text.get(..at)?, 1 << 40),
        _ => (text, 1),
    };
    let bytes = number.trim().parse::<f64>().ok()? * factor as f64;
    (bytes.is_finite() && bytes >= 0.0).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let cases =
            [("0", 0), ("4096", 4096), ("64K", 65_536), ("1.5g", 3 << 29), (" 2 M ", 2 << 20)];
        for (text, bytes) in cases {
            assert_eq!(parse_size(text), Some(bytes), "{text}");
        }
        for text in ["", "M", "a lot", "-1", "1e400"] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }

    #[test]
    fn the_environment_is_checked() {
        let (settings, complaints) = Settings::read(|name| match name {
            "DWELL_CHUNK_SIZE" => Some("1".into()),
            "DWELL_MAX_SIZE" => Some("plenty".into()),
            "DWELL_SCRATCH" => Some(String::new()),
            _ => None,
        });
        assert_eq!(settings.chunk, otf2::chunk::MIN_SIZE);
        assert_eq!(settings.budget, u64::MAX);
        assert_eq!(settings.scratch, None);
        assert_eq!(complaints, ["DWELL_MAX_SIZE=plenty is not a size such as 64M: not used"]);
    }
}
