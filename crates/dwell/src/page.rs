//! Text in paragraphs, wrapped to the terminal, with headings that stand out on one.

use std::fmt::Write as _;

use console::Style;
use dwell_model::text::visible_lines;

use crate::format::{shorten, wrap};

/// Width of the columns before the text of a fact: an indent and a label.
pub(crate) const INDENT: usize = 13;

/// Text that is wrapped to a width.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) text: String,
    width: usize,
    /// Longest line for texts that cannot be wrapped.
    room: usize,
    /// Numbers of the lines that have a style, in ascending order.
    styles: Vec<(usize, Mark)>,
    /// Bytes of the text whose lines were counted, and the number of lines in them.
    counted: (usize, usize),
}

/// The part of a line that stands out on a terminal.
#[derive(Clone, Copy, Debug)]
enum Mark {
    /// The line is a heading.
    Heading,
    /// The line begins with a label, which is less important than what follows.
    Label,
}

impl Page {
    /// Makes an empty page for the terminal, or for a file or pipe if standard output is none.
    pub(crate) fn for_output() -> Self {
        Self {
            room: super::listing::room(),
            ..Self::of_width(super::listing::width().clamp(60, 120))
        }
    }

    /// Makes an empty page of a width.
    pub(crate) fn of_width(width: usize) -> Self {
        let (text, styles) = Default::default();
        Self { text, width, room: width, styles, counted: (0, 0) }
    }

    fn mark_next(&mut self, mark: Mark) {
        let (bytes, lines) = self.counted;
        let added = self.text.get(bytes..).unwrap_or_default();
        let lines = lines + added.bytes().filter(|byte| *byte == b'\n').count();
        self.counted = (self.text.len(), lines);
        self.styles.push((lines, mark));
    }

    /// Adds a heading. All lines except the first are indented.
    pub(crate) fn heading(&mut self, text: &str, indent: usize) {
        for (at, part) in wrap(text, self.width - indent).iter().enumerate() {
            let by = if at == 0 { 0 } else { indent };
            self.mark_next(Mark::Heading);
            let _ = writeln!(self.text, "{:by$}{part}", "");
        }
    }

    /// Adds a paragraph. All lines except the first are indented.
    pub(crate) fn say(&mut self, text: &str, indent: usize) {
        self.indented(text, 0, indent);
    }

    /// Adds a paragraph of at most some lines. What does not fit is left out.
    pub(crate) fn say_some(&mut self, text: &str, indent: usize, most: usize) {
        let lines = limited(wrap(text, self.width - indent), most);
        self.say(&lines.join(" "), indent);
    }

    /// Adds an item of a list.
    pub(crate) fn item(&mut self, text: &str) {
        self.indented(text, 2, 4);
    }

    fn indented(&mut self, text: &str, first: usize, others: usize) {
        for (at, part) in wrap(text, self.width - others).iter().enumerate() {
            let by = if at == 0 { first } else { others };
            let _ = writeln!(self.text, "{:by$}{part}", "");
        }
    }

    /// Adds a labelled fact.
    pub(crate) fn tell(&mut self, label: &str, content: &str) {
        for (at, part) in wrap(content, self.width - INDENT).iter().enumerate() {
            self.mark_next(Mark::Label);
            let _ = writeln!(self.text, "   {:9} {part}", if at == 0 { label } else { "" });
        }
    }

    /// Adds a labelled fact of at most some lines. What does not fit is left out.
    pub(crate) fn tell_some(&mut self, label: &str, content: &str, most: usize) {
        let lines = limited(wrap(content, self.width - INDENT), most);
        self.tell(label, &lines.join(" "));
    }

    /// Adds a heading of at most some lines. What does not fit is left out.
    pub(crate) fn heading_of(&mut self, text: &str, indent: usize, most: usize) {
        let lines = limited(wrap(text, self.width - indent), most);
        self.heading(&lines.join(" "), indent);
    }

    /// Adds a line that ends with `end`. The text before it is cut to the width.
    pub(crate) fn line_with_end(&mut self, text: &str, end: &str) {
        let room = self.width.saturating_sub(end.chars().count());
        let cut: String = match text.chars().count() > room {
            true => text.chars().take(room.saturating_sub(1)).chain(['…']).collect(),
            false => text.to_owned(),
        };
        self.line(&format!("{cut}{end}"));
    }

    /// Adds a line as it is, cut to the width.
    pub(crate) fn line(&mut self, text: &str) {
        let line: String = text.chars().take(self.width).collect();
        let _ = writeln!(self.text, "{}", line.trim_end());
    }

    /// Adds a labelled path, which is cut to the width of a terminal and to nothing in a file.
    pub(crate) fn tell_path(&mut self, path: &str) {
        self.mark_next(Mark::Label);
        let path = shorten(path, self.room.min(usize::MAX - INDENT).saturating_sub(INDENT));
        let _ = writeln!(self.text, "   {:9} {path}", "path");
    }

    /// Adds an empty line.
    pub(crate) fn end(&mut self) {
        self.text.push('\n');
    }

    /// Returns the text with control characters made visible, and with colours if standard output is a terminal.
    pub(crate) fn finish(self) -> String {
        let text = visible_lines(&self.text).to_string();
        if !console::colors_enabled() {
            return text;
        }
        let (bold, dim) = (Style::new().bold(), Style::new().dim());
        let mut styles = self.styles.iter().peekable();
        let mut styled = String::with_capacity(2 * text.len());
        for (number, line) in text.lines().enumerate() {
            let mark = styles.next_if(|style| style.0 == number).map(|style| style.1);
            let label = line.get(..INDENT).filter(|label| !label.trim().is_empty());
            match (mark, label) {
                (Some(Mark::Heading), _) => styled.push_str(&bold.apply_to(line).to_string()),
                (Some(Mark::Label), Some(label)) => {
                    styled.push_str(&dim.apply_to(label).to_string());
                    styled.push_str(line.get(INDENT..).unwrap_or_default());
                }
                _ => styled.push_str(line),
            }
            styled.push('\n');
        }
        styled
    }
}

/// Keeps the first lines, and marks the last one if there are more.
fn limited(mut lines: Vec<String>, most: usize) -> Vec<String> {
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            // The mark takes the place of the last word, so that the line does not become longer.
            let end = last.rfind(' ').unwrap_or(last.len());
            last.truncate(end);
            last.push_str(" …");
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::Page;

    #[test]
    fn headings_stand_out_and_names_cannot_pretend_to() {
        let mut page = Page::for_output();
        page.heading("1. a call waits", 3);
        page.tell("why", "a name with \u{1b}[31m in it");
        page.say("the end", 2);
        console::set_colors_enabled(true);
        let text = page.finish();
        console::set_colors_enabled(false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "\u{1b}[1m1. a call waits\u{1b}[0m");
        assert_eq!(lines[1], "\u{1b}[2m   why       \u{1b}[0ma name with \\u{1b}[31m in it");
        assert_eq!(lines[2], "the end");
    }
}
