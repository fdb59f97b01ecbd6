//! Reads `findings.json` of this version and of older ones.

use std::fmt;

use serde::Deserialize;

use super::checksum::is_right;
use super::{Entry, Findings, Share, VERSION};

/// Reason why a `findings.json` cannot be read. Its text says which version the file has and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreadable {
    /// The file has a version that is newer than this program.
    Newer {
        /// Version that the file states.
        version: u64,
    },
    /// The file is not a document of the version that it states.
    Malformed {
        /// Version that the file states. `None` if it states none.
        version: Option<u64>,
        /// Message of the parser, with line and column.
        why: String,
    },
    /// The bytes of the file are not those that were written: its checksum is wrong.
    Damaged,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer { version } => write!(
                f,
                "findings.json has version {version}, and this dwell reads versions up to {VERSION}: \
                 run `dwell analyze` again, or use the dwell that wrote it"
            ),
            Self::Malformed { version: Some(version), why } => write!(
                f,
                "findings.json has version {version} and cannot be read ({why}): run `dwell analyze` again"
            ),
            Self::Damaged => f.write_str(
                "findings.json is damaged or was edited, its checksum is wrong: run `dwell analyze` again",
            ),
            Self::Malformed { version: None, why } => write!(
                f,
                "findings.json states no version and cannot be read ({why}): run `dwell analyze` again"
            ),
        }
    }
}

impl std::error::Error for Unreadable {}

/// The field of the document that tells how to read the others.
#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

impl Findings {
    /// Reads a document of this version or of an older one. Fields that an older version lacks are computed from the
    /// others where that is possible, and otherwise have their defaults; [`version`](Self::version) stays that of the
    /// file, so that a caller can tell.
    ///
    /// # Errors
    /// Fails if the document is newer than this program, states no version, or has a field of another type.
    pub fn read(json: &[u8]) -> Result<Self, Unreadable> {
        // The JSON library would take a list for an object, field by field.
        if !json.trim_ascii_start().starts_with(b"{") {
            return Err(Unreadable::Malformed {
                version: None,
                why: "it is no JSON object".into(),
            });
        }
        let malformed = |version: Option<u64>| {
            move |error: serde_json::Error| Unreadable::Malformed {
                version,
                why: error.to_string(),
            }
        };
        let Versioned { version } = serde_json::from_slice(json).map_err(malformed(None))?;
        if version > u64::from(VERSION) {
            return Err(Unreadable::Newer { version });
        }
        let mut findings: Self = serde_json::from_slice(json).map_err(malformed(Some(version)))?;
        if !findings.checksum.is_empty() && !is_right(json) {
            return Err(Unreadable::Damaged);
        }
        findings.checksum.clear();
        findings.complete();
        // Documents of earlier programs have no verdict.
        if findings.verdict.head.is_empty() {
            findings.judge();
        }
        Ok(findings)
    }

    /// Fills in what version 1 lacked: upper bounds, which its first files had for findings only, the entries, and the
    /// sum of all waits.
    fn complete(&mut self) {
        let settle = |shares: &mut [Share]| {
            for share in shares {
                share.seconds_at_most = share.seconds_at_most.max(share.seconds);
            }
        };
        for finding in &mut self.findings {
            finding.seconds_at_most = finding.seconds_at_most.max(finding.seconds);
            settle(&mut finding.origins);
            settle(&mut finding.targets);
        }
        if self.version >= 2 {
            // Documents of earlier programs have no ids.
            if self.entries.iter().any(|it| it.id == 0)
                || self.causes.iter().any(|it| it.id.is_empty())
            {
                self.number();
            }
            return;
        }
        self.entries = (0..)
            .zip(&self.findings)
            .map(|(at, finding)| Entry {
                gain: None,
                findings: vec![at],
                id: 0,
                phase: finding.phase,
                seconds: finding.seconds,
                seconds_at_most: finding.seconds_at_most,
                share: finding.share,
                share_at_most: finding.share_at_most,
                small: false,
            })
            .collect();
        self.waits_seconds = self.findings.iter().map(|it| it.seconds).sum();
        self.waits_seconds_at_most = self.findings.iter().map(|it| it.seconds_at_most).sum();
        self.number();
    }
}
