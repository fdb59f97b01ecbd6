//! Parentheses, commas and names in the text of a statement, which has no blanks and no strings.

use crate::scan::is_name;

/// Returns the offset of the bracket that closes the one at `open`, or `None` if there is none.
pub(crate) fn closing(text: &[u8], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.iter().enumerate().skip(open) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the offset of the bracket that is closed at `close`, or `None` if there is none.
pub(crate) fn opening(text: &[u8], close: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for at in (0..=close).rev() {
        match text.get(at)? {
            b')' | b']' => depth += 1,
            b'(' | b'[' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Calls `each` with the offset and the byte of everything outside of brackets, from `from` on. Stops when it returns
/// `true`, and returns the offset.
pub(crate) fn outside(
    text: &[u8],
    from: usize,
    mut each: impl FnMut(usize, u8) -> bool,
) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, byte) in text.iter().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            _ => {}
        }
        if (depth == 0 && !matches!(byte, b')' | b']')) && each(at, *byte) {
            return Some(at);
        }
    }
    None
}

/// Returns the offset of the equals sign of an assignment: outside of brackets, and no part of `==`, `=>` or `<=`.
pub(crate) fn equals(text: &[u8], from: usize) -> Option<usize> {
    outside(text, from, |at, byte| {
        let before = at.checked_sub(1).and_then(|at| text.get(at)).copied().unwrap_or(0);
        let after = text.get(at + 1).copied().unwrap_or(0);
        byte == b'='
            && !matches!(before, b'=' | b'/' | b'<' | b'>')
            && !matches!(after, b'=' | b'>')
    })
}

/// Returns the offset of a text outside of brackets.
pub(crate) fn find(text: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    outside(text, from, |at, _| text.get(at..).is_some_and(|rest| rest.starts_with(what)))
}

/// Splits a range at the commas outside of brackets. An empty range has no parts.
pub(crate) fn parts(text: &[u8], from: usize, to: usize) -> Vec<(usize, usize)> {
    let Some(range) = text.get(..to) else { return Vec::new() };
    let (mut parts, mut start) = (Vec::new(), from);
    outside(range, from, |at, byte| {
        if byte == b',' {
            parts.push((start, at));
            start = at + 1;
        }
        false
    });
    if start < to || !parts.is_empty() {
        parts.push((start, to));
    }
    parts
}

/// Returns the name that begins at `from`.
pub(crate) fn name(text: &[u8], from: usize) -> &[u8] {
    let rest = text.get(from..).unwrap_or_default();
    let length = rest.iter().take_while(|byte| is_name(**byte)).count();
    match rest.first() {
        Some(first) if first.is_ascii_alphabetic() => rest.get(..length).unwrap_or_default(),
        _ => &[],
    }
}

/// Returns the name that ends before `end`, with its offset.
pub(crate) fn name_before(text: &[u8], end: usize) -> (usize, &[u8]) {
    let head = text.get(..end).unwrap_or_default();
    let length = head.iter().rev().take_while(|byte| is_name(**byte)).count();
    (end - length, head.get(end - length..).unwrap_or_default())
}

/// A name in a range of a statement.
pub(crate) struct Word<'a> {
    pub(crate) name: &'a [u8],
    /// Set if an opening parenthesis follows.
    pub(crate) called: bool,
    /// Set if it is a component.
    pub(crate) component: bool,
    /// Set if it is an operator between dots, such as `.and.`.
    pub(crate) operator: bool,
}

/// Returns the names in a range.
pub(crate) fn words(text: &[u8], from: usize, to: usize) -> Vec<Word<'_>> {
    let (mut all, mut at) = (Vec::new(), from);
    while at < to {
        let byte = text.get(at).copied().unwrap_or(0);
        let before = at.checked_sub(1).and_then(|at| text.get(at)).copied().unwrap_or(0);
        if byte.is_ascii_digit() {
            // Exponents and kinds belong to the number; a name may follow a number only behind an operator.
            while at < to && text.get(at).is_some_and(|byte| is_name(*byte)) {
                at += 1;
            }
            continue;
        }
        let name = name(text, at);
        if name.is_empty() {
            at += 1;
            continue;
        }
        let after = text.get(at + name.len()).copied().unwrap_or(0);
        all.push(Word {
            name,
            called: after == b'(',
            component: before == b'%',
            operator: before == b'.' && after == b'.',
        });
        at += name.len();
    }
    all
}

/// Returns `true` if a range has an image selector.
pub(crate) fn is_remote(text: &[u8], from: usize, to: usize) -> bool {
    (from..to).any(|at| {
        let before = at.checked_sub(1).filter(|_| at > from).and_then(|at| text.get(at));
        text.get(at) == Some(&b'[') && before.is_some_and(|it| is_name(*it) || *it == b')')
    })
}
