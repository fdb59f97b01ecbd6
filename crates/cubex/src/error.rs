//! Errors of this crate, with the file, the member and the byte at which they occurred.

use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Result of the functions of this crate that read or write reports, with [`Error`] as the default error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error with the file, the member of the archive and the byte at which it occurred, as far as they are known.
///
/// Its text is a single line that says where the error occurred, what is wrong, and what a user can do about it.
/// Programs look at [`Error::kind`] instead. The error is one pointer wide, so that results stay small.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    path: Option<PathBuf>,
    member: Option<String>,
    offset: Option<u64>,
}

/// The kinds of errors of this crate. [`Error::is_damage`] tells the kinds that mean a damaged report from the others.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An operation of the operating system failed. A file that does not exist is [`ErrorKind::Missing`] instead.
    Io(io::Error),
    /// The file does not exist. A member that is missing inside a report is [`ErrorKind::NoMember`] instead.
    Missing,
    /// The file is not a tar archive, so it is not a Cube report. A report that was compressed as a whole gives this error
    /// too.
    NotCubex,
    /// The archive lacks a member that the report must have, such as `anchor.xml` or the values that belong to an
    /// index.
    NoMember,
    /// Two members have the same name. Readers disagree on which one counts, so this crate reads neither.
    DuplicateMember,
    /// A tar header is invalid, in the way that the text says. The members behind it cannot be found.
    Header(&'static str),
    /// A member reaches beyond the end of the file, or a value beyond the end of its member. The file was probably cut.
    Cut,
    /// `anchor.xml` is not well-formed XML, in the way that the text says.
    Xml(String),
    /// `anchor.xml` is well-formed, but contradicts itself in the way that the text says, for example by two metrics
    /// with the same id.
    Anchor(&'static str),
    /// The report exceeds a limit that this crate sets so that a hostile file cannot exhaust the memory. The text names
    /// the limit; the crate documentation lists them.
    Limit(&'static str),
    /// The index of a metric is invalid, in the way that the text says. Other metrics can still be read.
    Index(&'static str),
    /// The values of a metric are invalid, in the way that the text says. Other rows and other metrics can still be
    /// read.
    Data(&'static str),
    /// Bytes of the report do not have the checksum that they were written with, as the text says. Other parts of the
    /// report can still be read, unless the error came up when the report was opened.
    Checksum(&'static str),
    /// The report or the request needs something that this crate does not do, such as computing a derived metric. The
    /// text says what.
    Unsupported(String),
    /// The caller passed something that cannot be written or read, such as a row of the wrong length. The text says
    /// what is wrong with it.
    Invalid(String),
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, path: None, member: None, offset: None }))
    }

    pub(crate) fn io(error: io::Error) -> Self {
        Self::new(match (Wrong::cause(&error), error.kind()) {
            (Some(wrong), _) => ErrorKind::Checksum(wrong.0),
            (None, io::ErrorKind::NotFound) => ErrorKind::Missing,
            _ => ErrorKind::Io(error),
        })
    }

    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid(text.into()))
    }

    /// Adds the path of the file in which the error occurred, unless the error already has one.
    #[must_use]
    pub(crate) fn at(mut self, path: &Path) -> Self {
        self.0.path.get_or_insert_with(|| path.to_owned());
        self
    }

    /// Adds the name of the member in which the error occurred, unless the error already has one.
    #[must_use]
    pub(crate) fn in_member(mut self, member: &str) -> Self {
        self.0.member.get_or_insert_with(|| member.to_owned());
        self
    }

    /// Adds the offset at which the error was found, unless the error already has one.
    #[must_use]
    pub(crate) fn at_byte(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Returns the kind of the error, which programs can match on.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the path of the report in which the error occurred, or `None` for a report in memory.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Returns the name of the member of the archive in which the error occurred, or `None` if it concerns no single
    /// member.
    pub fn member(&self) -> Option<&str> {
        self.0.member.as_deref()
    }

    /// Returns the offset in bytes at which the error was found: from the beginning of the member if one is named, and
    /// otherwise of the file. In a compressed `anchor.xml` it counts the bytes after decompression.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// Returns `true` if the bytes of the report caused the error, and not the operating system or the caller. A viewer
    /// can then tell the user that the report is damaged.
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
                | ErrorKind::Checksum(_)
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
            Self::Anchor(what) | Self::Checksum(what) => {
                write!(f, "{what}; the report is damaged")
            }
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

/// A wrong checksum, as the cause of an error in reading.
#[derive(Debug)]
pub(crate) struct Wrong(pub(crate) &'static str);

impl Wrong {
    /// Returns the wrong checksum that caused an error in reading.
    pub(crate) fn cause(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Wrong {}
