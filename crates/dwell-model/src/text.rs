//! Names as people read them: places in a program, and names that no terminal obeys.
//!
//! Names of functions, files and processes come from programs, archives and reports of strangers. Printed as they are,
//! they could clear the screen, set the title of the window, hide a line or reverse it.

use core::fmt::{self, Display, Formatter, Write};

/// A place in a program, as people read it: a function with its line, and the function of a library that it called there. Of the
/// file only the last part of its path is named.
///
/// ```
/// use dwell_model::text::Place;
///
/// let mut place = Place { function: "pack", line: Some(("src/heat.c", 40)), inside: None };
/// assert_eq!(place.to_string(), "pack at heat.c:40");
/// place.inside = Some("memcpy");
/// assert_eq!(place.to_string(), "memcpy, called by pack at heat.c:40");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Function of the program.
    pub function: &'a str,
    /// Source file and line, if they are known.
    pub line: Option<(&'a str, u32)>,
    /// Function of a library that was called there.
    pub inside: Option<&'a str>,
}

impl Display for Place<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(inside) = self.inside {
            write!(f, "{inside}, called by ")?;
        }
        f.write_str(self.function)?;
        self.line.map_or(Ok(()), |(file, line)| {
            write!(f, " at {}:{line}", file.rsplit('/').next().unwrap_or(file))
        })
    }
}

/// Returns `true` if a terminal acts on the character instead of showing it, or if the character changes the order in
/// which text is read.
///
/// These are control characters (C0, C1 and delete), separators of lines and paragraphs, and marks of writing
/// direction. A tab is not among them: it only leaves room, as spaces do.
pub const fn is_obeyed(character: char) -> bool {
    matches!(
        character,
        '\0'..='\u{8}'
            | '\n'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
    )
}

/// Wraps a name for printing: each character that a terminal would act upon appears as its escape. `\u{1b}` stands for
/// an escape character, `\u{a}` for the end of a line.
///
/// ```
/// use dwell_model::text::visible;
///
/// assert_eq!(format!("{}", visible("solve\u{1b}[2J\n")), r"solve\u{1b}[2J\u{a}");
/// ```
pub const fn visible(text: &str) -> Visible<'_> {
    Visible { text, lines: false }
}

/// Wraps a text of several lines for printing. Like [`visible`], it escapes what a terminal would act upon, but it
/// keeps the ends of lines (`\n`).
pub const fn visible_lines(text: &str) -> Visible<'_> {
    Visible { text, lines: true }
}

/// A text whose `Display` escapes the characters that a terminal would act upon. [`visible`] and [`visible_lines`]
/// create it; it borrows the text and allocates nothing.
#[derive(Clone, Copy, Debug)]
pub struct Visible<'a> {
    text: &'a str,
    lines: bool,
}

impl Display for Visible<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut rest = self.text;
        let hidden = |it: char| is_obeyed(it) && !(self.lines && it == '\n');
        while let Some(at) = rest.find(hidden) {
            let (seen, from) = rest.split_at(at);
            f.write_str(seen)?;
            let mut characters = from.chars();
            if let Some(character) = characters.next() {
                write!(f, "{}", character.escape_unicode())?;
            }
            rest = characters.as_str();
        }
        f.write_str(rest)
    }
}

/// Writes JSON and replaces each character that a terminal would act upon by its JSON escape (`\u001b`). The escapes
/// change no value, so the result is equivalent JSON.
///
/// Ends of lines stay as they are: in JSON they can only be between tokens, never inside strings.
///
/// # Errors
/// Returns the error of `out`, if writing fails.
pub fn visible_json(json: &str, out: &mut impl Write) -> fmt::Result {
    for character in json.chars() {
        if is_obeyed(character) && character != '\n' {
            write!(out, "\\u{:04x}", u32::from(character))?;
        } else {
            out.write_char(character)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::{String, ToString};

    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        for (text, shown) in [
            ("main", "main"),
            ("größe → ∞ 工", "größe → ∞ 工"),
            ("", ""),
            ("\u{1b}]0;title\u{7}", r"\u{1b}]0;title\u{7}"),
            ("a\nb\r\tc", "a\\u{a}b\\u{d}\tc"),
            ("\u{9b}2J\u{7f}", r"\u{9b}2J\u{7f}"),
            ("x\u{202e}cod.exe\u{2066}", r"x\u{202e}cod.exe\u{2066}"),
            ("\u{2028}\u{200f}\u{61c}", r"\u{2028}\u{200f}\u{61c}"),
        ] {
            assert_eq!(visible(text).to_string(), shown);
        }
        assert_eq!(visible_lines("a\n\u{1b}\n").to_string(), "a\n\\u{1b}\n");
    }

    #[test]
    fn json_means_the_same() {
        let mut out = String::new();
        visible_json("{\n\"a\u{202e}b\": \"\\u001b\u{9b}\"\n}", &mut out).unwrap();
        assert_eq!(out, "{\n\"a\\u202eb\": \"\\u001b\\u009b\"\n}");
    }
}
