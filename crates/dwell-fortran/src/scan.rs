//! Bytes to statements: fixed and free form, continuation lines, comments, strings, labels, preprocessor lines.
//!
//! A [`Statement`] has its characters without blanks, since blanks mean nothing in fixed form and separate only keywords
//! from names in free form. Each character has its byte offset in the source, so that whatever is found in a statement
//! leads back to the place in the file.
//!
//! Lines of the preprocessor are not statements. Markers of the form `# 12 "file"` change the file and line that the
//! statements behind them belong to, as compilers do.

/// The two layouts of Fortran source. The caller says which, since the content of a file does not always tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Labels in columns 1 to 5, continuation in column 6, code in columns 7 to 72, comments by a letter in column 1.
    Fixed,
    /// Code in any column, continuation by `&` at the end of the line, comments after `!`.
    Free,
}

impl Form {
    /// Returns the form that compilers assume for a file name: fixed for `.f`, `.for`, `.ftn`, `.fpp` and `.f77` in any
    /// case, and free for everything else.
    pub fn of_name(name: &str) -> Self {
        let end = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        match end.as_str() {
            "f" | "for" | "ftn" | "fpp" | "f77" => Self::Fixed,
            _ => Self::Free,
        }
    }
}

/// Columns of fixed form that hold code, unless a compiler is told otherwise.
pub const COLUMNS: usize = 72;

/// A statement with the place of each of its characters in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    /// Characters in lower case, without blanks, comments and continuation marks. Those of strings and of Hollerith
    /// constants are all `"`.
    pub text: Vec<u8>,
    /// The same characters as they are written in the source, strings included.
    pub code: Vec<u8>,
    /// Byte offset of each character in the source.
    pub at: Vec<usize>,
    /// Label in front of the statement: its digits, which are not part of `text`.
    pub label: Option<Vec<u8>>,
    /// Index in [`Scan::files`] of the file that the statement belongs to, by the last marker before it.
    pub file: usize,
    /// Line of the first character, counted from 1, by the last marker before it.
    pub line: u32,
    /// Line after the last line of the statement.
    pub next: u32,
    /// Offset of the first byte of the line on which the statement begins.
    pub line_start: usize,
    /// Offset after the last line of the statement, newline included.
    pub line_end: usize,
    /// Set if another statement on the same line, or its label, comes before it.
    pub follows: bool,
    /// Offset after the semicolon that ends the statement, if another statement follows on the line.
    pub semicolon: Option<usize>,
    /// Offset of the first line of directives that belong to the statement, such as `!$omp atomic`.
    pub directive: Option<usize>,
    /// Set if a line of the preprocessor is between its lines, so that it has several versions.
    pub interrupted: bool,
}

/// The statements of a source, and the files that they belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// All statements in the order of the source.
    pub statements: Vec<Statement>,
    /// Names of files: that of the source, then those that markers name.
    pub files: Vec<String>,
}

/// Splits a source into statements. `name` is the name of the file, which markers of the preprocessor may change.
/// Any bytes give a result: text that is not Fortran becomes statements of no known kind.
pub fn scan(bytes: &[u8], form: Form, name: &str) -> Scan {
    let mut scanner = Scanner {
        bytes,
        form,
        scan: Scan { statements: Vec::new(), files: vec![name.to_owned()] },
        open: None,
        quote: None,
        hollerith: 0,
        continued: false,
        directive: None,
        file: 0,
        shift: 1,
    };
    let (mut start, mut index) = (0, 0);
    while start < bytes.len() {
        let rest = bytes.get(start..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        scanner.line(&Line { start, end: start + length, index });
        start += length;
        index += 1;
    }
    scanner.finish(None);
    scanner.scan
}

/// A line of the source: offsets of its first byte and of the byte after its newline, and its number counted from 0.
struct Line {
    start: usize,
    end: usize,
    index: i64,
}

struct Scanner<'a> {
    bytes: &'a [u8],
    form: Form,
    scan: Scan,
    open: Option<Statement>,
    /// Quote of the string that continues in the next line.
    quote: Option<u8>,
    /// Number of characters of a Hollerith constant that are still to come.
    hollerith: usize,
    continued: bool,
    directive: Option<usize>,
    file: usize,
    /// Number of the line in its file, less its index in the source.
    shift: i64,
}

impl Scanner<'_> {
    fn line(&mut self, line: &Line) {
        let text = self.bytes.get(line.start..line.end).unwrap_or_default();
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.first() == Some(&b'#') {
            return self.preprocessor(text, line.index);
        }
        match self.form {
            Form::Free => self.free_line(text, line),
            Form::Fixed => self.fixed_line(text, line),
        }
    }

    /// Reads `# 12 "file"` and `#line 12 "file"`. Other lines of the preprocessor are between statements or, worse,
    /// inside one.
    fn preprocessor(&mut self, text: &[u8], index: i64) {
        let words = String::from_utf8_lossy(text.get(1..).unwrap_or_default()).into_owned();
        let words = words.trim_start();
        let words = words.strip_prefix("line").unwrap_or(words).trim_start();
        let digits = words.bytes().take_while(u8::is_ascii_digit).count();
        let number = words.get(..digits).and_then(|digits| digits.parse::<i32>().ok());
        if let Some(number) = number {
            self.shift = i64::from(number) - index - 1;
            let name = words.get(digits..).and_then(|rest| rest.split('"').nth(1));
            if let Some(name) = name {
                let known = self.scan.files.iter().position(|file| file == name);
                self.file = known.unwrap_or_else(|| {
                    self.scan.files.push(name.to_owned());
                    self.scan.files.len() - 1
                });
            }
            return;
        }
        if self.is_open() {
            if let Some(open) = &mut self.open {
                open.interrupted = true;
            }
        } else {
            self.directive = None;
        }
    }

    /// Returns `true` if a statement may continue in the next line.
    fn is_open(&self) -> bool {
        self.open.is_some() && (self.continued || self.form == Form::Fixed)
    }

    fn number(&self, index: i64) -> u32 {
        u32::try_from(index + self.shift).unwrap_or(0)
    }

    fn free_line(&mut self, text: &[u8], line: &Line) {
        let blanks = text.iter().take_while(|byte| is_blank(**byte)).count();
        let rest = text.get(blanks..).unwrap_or_default();
        let in_string = self.quote.is_some() || self.hollerith > 0;
        if rest.is_empty() || rest.first() == Some(&b'!') && !in_string {
            if !self.continued {
                self.comment(rest, line);
            }
            return;
        }
        let mut at = 0;
        if self.continued {
            at = match rest.first() {
                Some(b'&') => blanks + 1,
                _ => 0,
            };
        }
        self.continued = false;
        self.characters(text, at, text.len(), line);
        if !self.continued {
            self.quote = None;
            self.hollerith = 0;
            self.finish(None);
        }
    }

    fn fixed_line(&mut self, text: &[u8], line: &Line) {
        let first = text.first().copied().unwrap_or(b' ');
        if matches!(first, b'c' | b'C' | b'*' | b'!' | b'd' | b'D') {
            return self.fixed_comment(text, line);
        }
        if text.iter().all(|byte| is_blank(*byte)) {
            return;
        }
        // Column 6 says whether the line goes on; a tab before it stands for the blanks.
        let head = text.iter().take(6).position(|byte| *byte == b'\t');
        let (mark, from, width) = match head {
            Some(tab) => match text.get(tab + 1) {
                Some(b'1'..=b'9') => (true, tab + 2, usize::MAX),
                _ => (false, tab + 1, usize::MAX),
            },
            None => (!matches!(text.get(5), None | Some(b' ' | b'0')), 6, COLUMNS),
        };
        let label = text.get(..from.min(5).min(head.unwrap_or(5))).unwrap_or_default();
        let only_comment = text.iter().find(|byte| !is_blank(**byte)) == Some(&b'!');
        if only_comment && text.iter().position(|byte| *byte == b'!') != Some(5) {
            return self.comment(&[], line);
        }
        let end = text.len().min(width);
        if mark && label.iter().all(|byte| is_blank(*byte)) {
            if self.open.is_some() {
                self.characters(text, from, end, line);
            }
            return;
        }
        self.quote = None;
        self.hollerith = 0;
        self.finish(None);
        let column = head.map_or(5, |tab| tab);
        self.characters(text, 0, column.min(text.len()), line);
        self.characters(text, from, end, line);
    }

    fn fixed_comment(&mut self, text: &[u8], line: &Line) {
        // A directive has the same words after any of the characters that begin a comment.
        let words = text.get(1..).unwrap_or_default();
        if bound(words) {
            self.finish_before_directive();
            self.directive.get_or_insert(line.start);
        }
    }

    /// Notes a directive that applies to the statement after it.
    fn comment(&mut self, text: &[u8], line: &Line) {
        if text.first() == Some(&b'!') && bound(text.get(1..).unwrap_or_default()) {
            self.finish_before_directive();
            self.directive.get_or_insert(line.start);
        }
    }

    fn finish_before_directive(&mut self) {
        if self.form == Form::Fixed {
            self.finish(None);
        }
    }

    /// Reads the characters of a line from one offset to another.
    fn characters(&mut self, text: &[u8], from: usize, to: usize, line: &Line) {
        let text = text.get(..to).unwrap_or(text);
        let mut at = from;
        while let Some(byte) = text.get(at).copied() {
            let rest = text.get(at + 1..).unwrap_or_default();
            let place = line.start + at;
            at += 1;
            if self.hollerith > 0 {
                self.hollerith -= 1;
                self.push(b'"', byte, place, line);
                continue;
            }
            if let Some(quote) = self.quote {
                if self.form == Form::Free && byte == b'&' && ends(rest, false) {
                    self.continued = true;
                    return;
                }
                self.push(b'"', byte, place, line);
                if byte == quote {
                    if rest.first() == Some(&quote) {
                        self.push(b'"', quote, place + 1, line);
                        at += 1;
                    } else {
                        self.quote = None;
                    }
                }
                continue;
            }
            match byte {
                b'!' => return,
                b'&' if self.form == Form::Free && ends(rest, true) => {
                    self.continued = self.open.is_some();
                    return;
                }
                b';' => {
                    let more = !ends(rest, true);
                    self.extend(line);
                    self.finish(more.then_some(place + 1));
                    if more {
                        self.begin(line);
                        if let Some(open) = &mut self.open {
                            open.follows = true;
                        }
                    }
                }
                b'\'' | b'"' => {
                    self.quote = Some(byte);
                    self.push(b'"', byte, place, line);
                }
                _ if is_blank(byte) => {}
                b'h' | b'H' => {
                    let count = self.open.as_ref().and_then(|open| hollerith(open, place));
                    self.push(count.map_or(b'h', |_| b'"'), byte, place, line);
                    self.hollerith = count.unwrap_or(0);
                }
                _ => self.push(byte.to_ascii_lowercase(), byte, place, line),
            }
        }
    }

    fn begin(&mut self, line: &Line) {
        if self.open.is_none() {
            let number = self.number(line.index);
            let directive = self.directive.take();
            self.open = Some(Statement {
                file: self.file,
                line: number,
                next: number + 1,
                line_start: line.start,
                line_end: line.end,
                directive,
                ..Statement::default()
            });
        }
    }

    /// Makes the open statement last until the end of this line.
    fn extend(&mut self, line: &Line) {
        let next = self.number(line.index + 1);
        if let Some(open) = &mut self.open {
            (open.line_end, open.next) = (line.end, next);
        }
    }

    fn push(&mut self, text: u8, code: u8, place: usize, line: &Line) {
        self.begin(line);
        self.extend(line);
        if let Some(open) = &mut self.open {
            open.text.push(text);
            open.code.push(code);
            open.at.push(place);
        }
    }

    fn finish(&mut self, semicolon: Option<usize>) {
        let Some(mut open) = self.open.take() else { return };
        open.semicolon = semicolon;
        let digits = open.text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 && digits < open.text.len() {
            open.text.drain(..digits);
            open.at.drain(..digits);
            open.label = Some(open.code.drain(..digits).collect());
        }
        if !open.text.is_empty() {
            self.scan.statements.push(open);
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0c)
}

/// Returns `true` if nothing but blanks or, outside of strings, a comment follows.
fn ends(rest: &[u8], comments: bool) -> bool {
    let first = rest.iter().find(|byte| !is_blank(**byte));
    first.is_none() || comments && first == Some(&b'!')
}

/// Returns the length of a Hollerith constant whose `h` is at this place: that of the number directly before it.
fn hollerith(open: &Statement, place: usize) -> Option<usize> {
    let digits = open.text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let start = open.text.len() - digits;
    if digits == 0 || digits > 4 || start == 0 || open.at.last() != Some(&place.checked_sub(1)?) {
        return None;
    }
    let before = open.text.get(start - 1).copied()?;
    // `real*8 height` is a declaration, whose name may begin with the letter.
    if is_name(before) || before == b'.' || before == b'*' && is_type(&open.text) {
        return None;
    }
    let number = open.text.get(start..)?;
    let number = number.iter().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'));
    (number > 0).then_some(number)
}

fn is_type(text: &[u8]) -> bool {
    let types: [&[u8]; 5] = [b"real*", b"integer*", b"complex*", b"logical*", b"character*"];
    types.iter().any(|start| text.starts_with(start))
}

/// Returns `true` for bytes that names consist of.
pub(crate) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

/// Returns `true` if a directive, given without its first character, applies to the statement after it: a directive of
/// a compiler, or an `atomic` or loop directive of OpenMP or OpenACC.
fn bound(words: &[u8]) -> bool {
    let words = words.to_ascii_lowercase();
    let starts = |start: &str| words.starts_with(start.as_bytes());
    if ["dir$", "dec$", "gcc$", "ibm*", "pgi$", "nec$", "ocl"].iter().any(|start| starts(start)) {
        return true;
    }
    if !starts("$omp") && !starts("$acc") {
        return false;
    }
    let text = String::from_utf8_lossy(&words).into_owned();
    let mut parts = text.split(|byte: char| !byte.is_ascii_alphanumeric());
    let is_end = parts.clone().any(|word| word == "end");
    !is_end && parts.any(|word| matches!(word, "atomic" | "do" | "simd" | "loop" | "distribute"))
}
