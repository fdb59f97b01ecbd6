//! Output to the terminal: the only place that writes to standard output and standard error.
//!
//! Names come from archives and reports of unknown origin, so nothing that a terminal would interpret is printed as it
//! is, not even into a pipe, which may end at a terminal. Commands show single names with [`visible`], so that a name
//! never exceeds its part of the line; everything else is caught here. In JSON such characters are written as escapes,
//! which mean the same.
//!
//! A reader that has seen enough, such as `head`, closes the pipe. That is not an error: the command completes the rest of
//! its work, and the exit code reports how that went.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use dwell_model::text::{self, visible_lines};
use serde::Serialize;

use crate::page::Page;

/// Returns a name with control characters made visible.
pub(crate) fn visible(name: &str) -> Cow<'_, str> {
    match name.chars().any(text::is_obeyed) {
        true => Cow::Owned(text::visible(name).to_string()),
        false => Cow::Borrowed(name),
    }
}

/// Returns the bytes of a name, which may not be UTF-8, with control characters made visible.
pub(crate) fn visible_bytes(name: &[u8]) -> Cow<'_, [u8]> {
    if name.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(name);
    }
    let mut shown = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        let _ = write!(shown, "{}", text::visible(chunk.valid()));
        for &byte in chunk.invalid() {
            match byte {
                // Controls of terminals that take single bytes for characters.
                0x80..=0x9f => drop(write!(shown, "\\x{byte:02x}")),
                other => shown.push(other),
            }
        }
    }
    Cow::Owned(shown)
}

/// Escapes control characters in the JSON at the end of a buffer, from `from` on.
pub(crate) fn visible_json(buffer: &mut Vec<u8>, from: usize) {
    let json = buffer.get(from..).unwrap_or_default();
    // JSON has escapes for the others already.
    if json.iter().all(|byte| byte.is_ascii() && *byte != 0x7f) {
        return;
    }
    let mut shown = String::new();
    let _ = text::visible_json(&String::from_utf8_lossy(json), &mut shown);
    buffer.truncate(from);
    buffer.extend_from_slice(shown.as_bytes());
}

/// Prints text on standard output.
pub(crate) fn print(text: impl fmt::Display) -> io::Result<()> {
    let text = visible_lines(&text.to_string()).to_string();
    let mut output = io::stdout().lock();
    unless_closed(output.write_all(text.as_bytes()).and_then(|()| output.flush()))
}

/// Prints a page on standard output.
pub(crate) fn print_page(page: Page) -> io::Result<()> {
    let mut output = io::stdout().lock();
    unless_closed(output.write_all(page.finish().as_bytes()).and_then(|()| output.flush()))
}

/// Clears the terminal, for a page that takes the place of the one before.
pub(crate) fn clear() -> io::Result<()> {
    let mut output = io::stdout().lock();
    unless_closed(output.write_all(b"\x1b[H\x1b[2J").and_then(|()| output.flush()))
}

/// Prints a value as JSON, followed by a newline.
pub(crate) fn print_json(value: &impl Serialize) -> io::Result<()> {
    print_json_text(serde_json::to_string_pretty(value)? + "\n")
}

/// Prints a text that is JSON.
pub(crate) fn print_json_text(text: String) -> io::Result<()> {
    let mut text = text.into_bytes();
    visible_json(&mut text, 0);
    let mut output = io::stdout().lock();
    unless_closed(output.write_all(&text).and_then(|()| output.flush()))
}

/// Prints a line on standard error. Failures are ignored, because there is nowhere to report them.
pub(crate) fn say(text: impl fmt::Display) {
    let text = format!("{}\n", visible_lines(&text.to_string()));
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Treats a closed pipe as the end of the output and not as an error.
pub(crate) fn unless_closed(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Returns the text of an error with its causes. Some errors include the text of their cause, which is left out then.
pub(crate) fn explained(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    without_numbers(&text)
}

/// Returns a text without the numbers of errors of the system, which say less than the words before them.
fn without_numbers(text: &str) -> String {
    const BEFORE: &str = " (os error ";
    let mut parts = text.split(BEFORE);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |made, part| match part.split_once(')') {
        Some((number, rest)) if number.bytes().all(|it| it.is_ascii_digit()) => made + rest,
        _ => made + BEFORE + part,
    })
}

/// Prints a line on standard output.
macro_rules! line {
    ($($argument:tt)*) => {
        $crate::terminal::print(format_args!("{}\n", format_args!($($argument)*)))
    };
}

/// Prints a line on standard error, with the name of the program in front.
macro_rules! note {
    ($($argument:tt)*) => {
        $crate::terminal::say(format_args!("dwell: {}", format_args!($($argument)*)))
    };
}

pub(crate) use {line, note};

/// Returns the name that a misspelt one probably means.
pub(crate) fn nearest<'n>(text: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let likeness = |name: &'n str| (strsim::jaro_winkler(text, name), name);
    let best = names.map(likeness).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.8).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::{explained, visible_bytes};

    #[test]
    fn causes_are_told_once() {
        let missing = || std::io::Error::other("no such file");
        let error = anyhow::Error::new(missing()).context("a.toml: no such file").context("read");
        assert_eq!(explained(&error), "read: a.toml: no such file");
        let system = std::io::Error::from_raw_os_error(2);
        let error = anyhow::Error::new(system).context("a.toml");
        assert_eq!(explained(&error), "a.toml: No such file or directory");
        let error = anyhow::Error::new(missing()).context("a.toml");
        assert_eq!(explained(&error), "a.toml: no such file");
    }

    #[test]
    fn bytes_that_are_no_text_stay_unless_terminals_obey_them() {
        assert_eq!(visible_bytes(b"\xff not UTF-8"), &b"\xff not UTF-8"[..]);
        assert_eq!(visible_bytes(b"a\x9b2J\x1b"), &br"a\x9b2J\u{1b}"[..]);
        assert_eq!(visible_bytes("größe".as_bytes()), "größe".as_bytes());
    }
}
