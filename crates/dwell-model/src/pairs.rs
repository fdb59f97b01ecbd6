//! `dwell-pairs.csv`: the communication between pairs of processes or nodes, which reports of Dwell contain.
//!
//! The file is the member [`MEMBER`] of a Cube report. It is UTF-8 text of comma-separated values, so that tables and
//! scripts can read it without Dwell. Version 1, the only one so far:
//!
//! | line | content |
//! |---|---|
//! | first | [`HEADER`], which names the columns. It identifies the format and its version |
//! | any other | one [`Row`], ended by a line feed |
//!
//! | column | content |
//! |---|---|
//! | `origin`, `target` | names of processes, or of nodes in runs of more than 1,024 processes; in double quotes, and a quote within a name is doubled |
//! | `kind` | `put`, `get`, `atomic` or `message` |
//! | `operations`, `bytes` | decimal integers |
//! | `seconds`, `wait_seconds` | decimal numbers |
//!
//! Rows are ordered by origin, target and kind; a pair that did not communicate has none. A change of the columns needs
//! another header.
//!
//! Quoting is written here because this crate needs no standard library, which the crate csv does, and because a damaged
//! line must not hide those behind it.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use core::fmt::{self, Write};

/// Name of the member of a Cube report that has the pairs.
pub const MEMBER: &str = "dwell-pairs.csv";

/// First line of version 1, without the line feed.
pub const HEADER: &str = "origin,target,kind,operations,bytes,seconds,wait_seconds";

/// Kind of communication between two processes. Each pair has one row for each kind that occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// One-sided puts, which move bytes from the origin to the target.
    Put,
    /// One-sided gets, which move bytes from the target to the origin.
    Get,
    /// One-sided atomic operations, such as fetch-and-add or compare-and-swap.
    Atomic,
    /// Two-sided messages from the sender to the receiver.
    Message,
}

impl Kind {
    /// All kinds, in the order in which reports list them. Profiles store the position in this list.
    pub const ALL: [Self; 4] = [Self::Put, Self::Get, Self::Atomic, Self::Message];

    /// Returns the name of the kind as reports and the list of pairs print it, for example `put`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Get => "get",
            Self::Atomic => "atomic",
            Self::Message => "message",
        }
    }

    /// Returns the kind of this name, or `None` for any other text.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Communication of one kind from one origin to one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<'a> {
    /// Name of the process or node that issued the operations or sent the messages.
    pub origin: Cow<'a, str>,
    /// Name of the process or node whose memory was accessed, or that received the messages.
    pub target: Cow<'a, str>,
    /// Kind of communication that the other fields count.
    pub kind: Kind,
    /// Number of operations or messages.
    pub operations: u64,
    /// Bytes that were moved, in either direction.
    pub bytes: u64,
    /// Seconds in the calls that issued the operations, waits included.
    pub seconds: f64,
    /// Seconds that the origin waited for the target, by the upper bounds of waits for progress.
    pub wait_seconds: f64,
}

/// Writes a list of pairs with its header.
pub fn write<'a>(rows: impl IntoIterator<Item = Row<'a>>) -> String {
    let mut text = String::from(HEADER);
    text.push('\n');
    for row in rows {
        quote(&row.origin, &mut text);
        text.push(',');
        quote(&row.target, &mut text);
        let Row { kind, operations, bytes, seconds, wait_seconds, .. } = row;
        let kind = kind.name();
        // Writing to a string cannot fail.
        let _ = writeln!(text, ",{kind},{operations},{bytes},{seconds},{wait_seconds}");
    }
    text
}

fn quote(name: &str, text: &mut String) {
    text.push('"');
    for (at, part) in name.split('"').enumerate() {
        if at > 0 {
            text.push_str("\"\"");
        }
        text.push_str(part);
    }
    text.push('"');
}

/// Error of [`read`]: the first line is not that of a version which this crate reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownHeader(
    /// Beginning of the first line, for the message.
    pub String,
);

impl fmt::Display for UnknownHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the list of pairs has the columns `{}`, and this dwell reads `{HEADER}`: \
             run `dwell analyze` again, or use the dwell that wrote it",
            self.0
        )
    }
}

impl core::error::Error for UnknownHeader {}

/// Reads a list of pairs. Lines that are not rows are skipped, so that a damaged list still gives the others.
///
/// # Errors
/// Fails if the first line is not [`HEADER`].
pub fn read(text: &str) -> Result<impl Iterator<Item = Row<'_>>, UnknownHeader> {
    let (header, rest) = text.split_once('\n').unwrap_or((text, ""));
    if header.trim_end_matches('\r') != HEADER {
        let begin = header.char_indices().nth(100).map_or(header, |(at, _)| &header[..at]);
        return Err(UnknownHeader(begin.escape_debug().to_string()));
    }
    Ok(Rows(rest))
}

/// The rest of a list of pairs.
struct Rows<'a>(&'a str);

impl<'a> Iterator for Rows<'a> {
    type Item = Row<'a>;

    fn next(&mut self) -> Option<Row<'a>> {
        while !self.0.is_empty() {
            if let Some((row, rest)) = row(self.0) {
                self.0 = rest;
                return Some(row);
            }
            self.0 = self.0.split_once('\n').map_or("", |(_, rest)| rest);
        }
        None
    }
}

/// Splits a row with its line feed off the beginning of a text. A name may contain line feeds.
fn row(text: &str) -> Option<(Row<'_>, &str)> {
    let (origin, rest) = unquote(text)?;
    let (target, rest) = unquote(rest.strip_prefix(',')?)?;
    let (line, rest) = rest.strip_prefix(',')?.split_once('\n').unwrap_or((rest.get(1..)?, ""));
    let mut fields = line.trim_end_matches('\r').split(',');
    let kind = Kind::from_name(fields.next()?)?;
    let (operations, bytes) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let mut seconds = || fields.next()?.parse().ok().filter(|it: &f64| it.is_finite());
    let (seconds, wait_seconds) = (seconds()?, seconds()?);
    let row = Row { origin, target, kind, operations, bytes, seconds, wait_seconds };
    fields.next().is_none().then_some((row, rest))
}

/// Splits a quoted name off the beginning of a text. Two quotes within it stand for one.
fn unquote(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let text = text.strip_prefix('"')?;
    let (name, mut rest) = text.split_once('"')?;
    let mut name = Cow::Borrowed(name);
    while let Some(more) = rest.strip_prefix('"') {
        let (part, after) = more.split_once('"')?;
        let name = name.to_mut();
        name.push('"');
        name.push_str(part);
        rest = after;
    }
    Some((name, rest))
}
