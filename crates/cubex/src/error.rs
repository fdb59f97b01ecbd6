//! What can go wrong, and where.

use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error with the file, the member and the byte it happened at, as far as they are known.
///
/// Its text is one line: where, what, and what can be done about it.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    path: Option<PathBuf>,
    member: Option<String>,
    offset: Option<u64>,
}

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system said no.
    Io(io::Error),
    /// There is no such file.
    Missing,
    /// The file is not a tar archive.
    NotCubex,
    /// The archive has no such member.
    NoMember,
    /// Two members have the same name, and readers disagree on which one counts.
    DuplicateMember,
    /// A header of the archive makes no sense.
    Header(&'static str),
    /// A member reaches beyond the end of the file, or a value beyond the end of its member.
    Cut,
    /// `anchor.xml` is not well-formed.
    Xml(String),
    /// `anchor.xml` is well-formed, but what it says makes no sense.
    Anchor(&'static str),
    /// The file asks for more than a reader should give.
    Limit(&'static str),
    /// An index makes no sense.
    Index(&'static str),
    /// The values of a metric make no sense.
    Data(&'static str),
    /// The report uses something that this crate does not read.
    Unsupported(String),
    /// What the caller asked for cannot be written or read.
    Invalid(String),
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, path: None, member: None, offset: None }))
    }

    pub(crate) fn io(error: io::Error) -> Self {
        Self::new(match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::Missing,
            _ => ErrorKind::Io(error),
        })
    }

    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid(text.into()))
    }

    /// Adds the file it happened in.
    #[must_use]
    pub(crate) fn at(mut self, path: &Path) -> Self {
        self.0.path.get_or_insert_with(|| path.to_owned());
        self
    }

    /// Adds the member it happened in.
    #[must_use]
    pub(crate) fn in_member(mut self, member: &str) -> Self {
        self.0.member.get_or_insert_with(|| member.to_owned());
        self
    }

    /// Adds the byte it happened at.
    #[must_use]
    pub(crate) fn at_byte(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The file it happened in.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The member of the archive it happened in.
    pub fn member(&self) -> Option<&str> {
        self.0.member.as_deref()
    }

    /// The byte at which it happened: of the member if one is named, else of the file. In a
    /// compressed `anchor.xml` it counts the bytes after decompression.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// Whether the bytes of the file are at fault.
    pub fn is_damage(&self) -> bool {
        matches!(
            self.0.kind,
            ErrorKind::NotCubex
                | ErrorKind::NoMember
                | ErrorKind::DuplicateMember
                | ErrorKind::Header(_)
                | ErrorKind::Cut
                | ErrorKind::Xml(_)
                | ErrorKind::Anchor(_)
                | ErrorKind::Limit(_)
                | ErrorKind::Index(_)
                | ErrorKind::Data(_)
        )
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.0.path {
            write!(f, "{}: ", path.display())?;
        }
        if let Some(member) = &self.0.member {
            write!(f, "{member}: ")?;
        }
        if let Some(offset) = self.0.offset {
            write!(f, "byte {offset}: ")?;
        }
        self.0.kind.fmt(f)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Missing => f.write_str("no such file"),
            Self::NotCubex => f.write_str(
                "not a Cube report; a `.cubex` file is a tar archive that is not compressed as a \
                 whole",
            ),
            Self::NoMember => f.write_str("the report has no such member; was it cut?"),
            Self::DuplicateMember => f.write_str("two members have this name"),
            Self::Header(what) => write!(f, "{what}; the archive is damaged"),
            Self::Cut => f.write_str("more bytes are promised than there are; the file was cut"),
            Self::Xml(what) => write!(f, "not well-formed: {what}"),
            Self::Anchor(what) => write!(f, "{what}; the report is damaged"),
            Self::Limit(what) => write!(f, "{what}; no honest report needs this"),
            Self::Index(what) => write!(f, "{what}; the index is damaged"),
            Self::Data(what) => write!(f, "{what}; the values are damaged"),
            Self::Unsupported(what) | Self::Invalid(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            ErrorKind::Io(error) => Some(error),
            _ => None,
        }
    }
}
