//! Insertions: text that goes between the bytes of a source, which stay as they are.
//!
//! Inserted lines stay within 72 columns in both forms. Where a statement is moved to a line of its own, it keeps its
//! column, so that in fixed form no character crosses column 72. Markers (`# 12 "file"`) give each line of the source its
//! number back.

use std::collections::BTreeSet;

use crate::scan::{COLUMNS, Form, Scan, Statement};

/// Text to be inserted before the byte at an offset of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insertion {
    /// Offset in the source; the length of the source means its end.
    pub at: usize,
    /// The inserted bytes: whole lines between lines of the source, or a part of a line that ends in a line of its own.
    pub text: Vec<u8>,
}

/// Returns the source with all insertions. They must be sorted by offset, as [`crate::instrument`] returns them.
pub fn apply(source: &[u8], insertions: &[Insertion]) -> Vec<u8> {
    let more: usize = insertions.iter().map(|it| it.text.len()).sum();
    let mut all = Vec::with_capacity(source.len() + more);
    let mut from = 0;
    for Insertion { at, text } in insertions {
        all.extend_from_slice(source.get(from..*at).unwrap_or_default());
        all.extend_from_slice(text);
        from = *at;
    }
    all.extend_from_slice(source.get(from..).unwrap_or_default());
    all
}

/// Returns the source again from what [`apply`] returned. This is the proof that an instrumented file has lost nothing.
pub fn remove(instrumented: &[u8], insertions: &[Insertion]) -> Vec<u8> {
    let mut all = Vec::with_capacity(instrumented.len());
    let (mut from, mut shift) = (0, 0);
    for Insertion { at, text } in insertions {
        all.extend_from_slice(instrumented.get(from..*at + shift).unwrap_or_default());
        shift += text.len();
        from = *at + shift;
    }
    all.extend_from_slice(instrumented.get(from..).unwrap_or_default());
    all
}

/// Phases of insertions at one offset, in the order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Behind a statement.
    After,
    /// Behind the last statement of a construct that a block encloses.
    AfterConstruct,
    /// Before the first statement of a construct that a block encloses.
    BeforeConstruct,
    /// Before a statement.
    Before,
    /// At the beginning of a line that becomes a comment.
    Comment,
}

/// The source, and what is to be inserted into it.
pub(crate) struct Editor<'a> {
    pub(crate) source: &'a [u8],
    pub(crate) form: Form,
    pub(crate) scan: &'a Scan,
    insertions: Vec<(usize, Phase, Vec<u8>)>,
    /// Offsets at which lines are inserted behind a statement.
    ends: BTreeSet<usize>,
}

impl<'a> Editor<'a> {
    pub(crate) fn new(source: &'a [u8], form: Form, scan: &'a Scan) -> Self {
        Self { source, form, scan, insertions: Vec::new(), ends: BTreeSet::new() }
    }

    /// Returns all insertions, sorted by offset, one for each offset. The first byte gets a marker with the name of the
    /// file.
    pub(crate) fn finish(mut self) -> Vec<Insertion> {
        self.insertions.sort_by_key(|(at, phase, _)| (*at, *phase));
        let mut all: Vec<Insertion> = Vec::new();
        for (at, _, text) in self.insertions {
            match all.last_mut() {
                Some(last) if last.at == at => last.text.extend(text),
                _ => all.push(Insertion { at, text }),
            }
        }
        if !all.is_empty() {
            let name = self.scan.files.first().map_or("", String::as_str);
            let mut first = marker(1, name).into_bytes();
            match all.first_mut() {
                Some(Insertion { at: 0, text }) => {
                    first.append(text);
                    *text = first;
                }
                _ => all.insert(0, Insertion { at: 0, text: first }),
            }
        }
        all
    }

    fn file(&self, statement: &Statement) -> &str {
        self.scan.files.get(statement.file).map_or("", String::as_str)
    }

    /// Returns the marker for a line of the file of a statement.
    pub(crate) fn marker(&self, statement: &Statement, line: u32) -> String {
        marker(line, self.file(statement))
    }

    /// Returns the offset of the first byte of the line that an offset is in.
    fn line_start(&self, at: usize) -> usize {
        let before = self.source.get(..at).unwrap_or_default();
        before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1)
    }

    /// Returns blanks up to the column of an offset, so that the text there keeps its column on a line of its own.
    fn pad(&self, at: usize, least: usize) -> String {
        " ".repeat((at - self.line_start(at)).max(least))
    }

    /// Returns the number of the line that an offset of a statement is in.
    fn line_of(&self, statement: &Statement, at: usize) -> u32 {
        let from = statement.line_start;
        let newlines = |from: usize, to: usize| {
            let bytes = self.source.get(from..to).unwrap_or_default();
            u32::try_from(bytes.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(0)
        };
        match at >= from {
            true => statement.line + newlines(from, at),
            false => statement.line.saturating_sub(newlines(at, from)),
        }
    }

    /// Inserts lines before a statement: before its line and its directives, or, if a label or another statement is
    /// before it on the line, between the two.
    pub(crate) fn before(&mut self, statement: &Statement, lines: &str, phase: Phase) {
        let Some(first) = statement.at.first().copied() else { return };
        if statement.label.is_some() || statement.follows {
            let least = if self.form == Form::Fixed { 6 } else { 0 };
            let mut text = match (&statement.label, phase) {
                (Some(_), _) => "continue\n".to_owned(),
                _ => "\n".to_owned(),
            };
            text += lines;
            text += &self.marker(statement, self.line_of(statement, first));
            text += &self.pad(first, least);
            return self.insertions.push((first, phase, text.into_bytes()));
        }
        let at = statement.directive.unwrap_or(statement.line_start);
        let text = lines.to_owned() + &self.marker(statement, self.line_of(statement, at));
        self.insertions.push((at, phase, text.into_bytes()));
    }

    /// Inserts lines behind a statement: behind its last line, or behind the semicolon that ends it.
    pub(crate) fn after(&mut self, statement: &Statement, lines: &str, phase: Phase) {
        let (at, text) = match statement.semicolon {
            Some(at) => {
                let least = if self.form == Form::Fixed { 6 } else { 0 };
                let line = self.line_of(statement, at);
                let marker = self.marker(statement, line);
                (at, format!("\n{lines}{marker}{}", self.pad(at, least)))
            }
            None => {
                let at = statement.line_end;
                let ended = self.source.get(at.wrapping_sub(1)) == Some(&b'\n');
                let newline = if ended { "" } else { "\n" };
                let marker = self.marker(statement, statement.next);
                (at, format!("{newline}{lines}{marker}"))
            }
        };
        // A file that does not end in a newline gets one only once.
        let is_first = self.ends.insert(at);
        let text = if is_first { text } else { text.trim_start_matches('\n').to_owned() };
        self.insertions.push((at, phase, text.into_bytes()));
    }

    /// Makes the lines of a statement comments.
    pub(crate) fn comment_out(&mut self, statement: &Statement) {
        let lines = self.source.get(statement.line_start..statement.line_end).unwrap_or_default();
        let mut at = statement.line_start;
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            self.insertions.push((at, Phase::Comment, b"!".to_vec()));
            at += line.len();
        }
    }

    /// Makes an `if` with one action an `if` construct: inserts `then` and lines before the action.
    pub(crate) fn then(&mut self, statement: &Statement, action: usize, lines: &str) {
        let Some(at) = statement.at.get(action).copied() else { return };
        let column = at - self.line_start(at);
        let then = match self.form {
            Form::Fixed if column + 4 > COLUMNS => "\n     &then\n".to_owned(),
            _ => "then\n".to_owned(),
        };
        let line = self.line_of(statement, at);
        let text = then + lines + &self.marker(statement, line) + &self.pad(at, 6);
        self.insertions.push((at, Phase::Before, text.into_bytes()));
    }

    /// Inserts code inside a statement, before the character of its text at `index`, on a line of its own.
    pub(crate) fn inline(&mut self, statement: &Statement, index: usize, code: &str) {
        let Some(at) = statement.at.get(index).copied() else { return };
        let start = self.line_start(at);
        let head = self.source.get(start..at).unwrap_or_default();
        let begins = head.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'&'));
        let pad = " ".repeat((at - start).saturating_sub(6));
        let marker = self.marker(statement, self.line_of(statement, at));
        let characters: Vec<char> = code.chars().collect();
        let chunks: Vec<String> =
            characters.chunks(COLUMNS - 7).map(|it| it.iter().collect()).collect();
        let text = match self.form {
            Form::Fixed => {
                let between = format!("\n{marker}     &");
                format!("{between}{}{between}{pad}", chunks.join(&between))
            }
            Form::Free => {
                let between = format!("&\n{marker}     &");
                let first = if begins { "" } else { &between };
                format!("{first}{}{between}", chunks.join(&between))
            }
        };
        self.insertions.push((at, Phase::Before, text.into_bytes()));
    }
}

/// Returns a marker that gives the next line a number in a file.
fn marker(line: u32, file: &str) -> String {
    let name: String = file.chars().filter(|it| !it.is_control() && *it != '"').collect();
    format!("# {line} \"{name}\"\n")
}

/// Lines of inserted code, within 72 columns.
pub(crate) struct Lines {
    form: Form,
    pub(crate) text: String,
}

impl Lines {
    pub(crate) fn new(form: Form) -> Self {
        Self { form, text: String::new() }
    }

    /// Adds a statement, on several lines if it is long. A continuation mark at the end of one line and at the beginning
    /// of the next joins even the halves of a name.
    pub(crate) fn add(&mut self, statement: &str) {
        self.add_at("", statement);
    }

    /// Adds a statement as [`add`](Self::add) does, with a marker before each of its lines.
    pub(crate) fn add_at(&mut self, marker: &str, statement: &str) {
        let width = COLUMNS - 6 - usize::from(self.form == Form::Free);
        let characters: Vec<char> = statement.chars().collect();
        let mut chunks = characters.chunks(width).peekable();
        let mut first = true;
        while let Some(chunk) = chunks.next() {
            self.text += marker;
            self.text += if first { "      " } else { "     &" };
            self.text.extend(chunk);
            if self.form == Form::Free && chunks.peek().is_some() {
                self.text.push('&');
            }
            self.text.push('\n');
            first = false;
        }
    }
}
