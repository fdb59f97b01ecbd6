//! References to variables of other images: `a(1:5)[k]%part(3)`.
//!
//! A bracket behind a name or a closing parenthesis is an image selector, unless the statement declares or allocates
//! something or the parenthesis ends the control list of an input or output statement.

use crate::kind::{Control, Kind};
use crate::text::{closing, name, name_before, opening, parts};

/// The effect of a reference on the data of the other image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The value is fetched from the other image, as a part of an expression or as an item of an output list.
    Read,
    /// A value is stored: the left side of an assignment, or an item of a `read` statement.
    Write,
    /// The reference is an argument of a procedure, whose interface decides whether it reads or writes.
    Argument,
    /// Nothing is transferred: argument of `size`, `shape` and other inquiries.
    Inquiry,
    /// The reference is the operand of an image control statement or of an atomic subroutine: a lock, an event or a cell.
    Operand,
}

/// A range of characters of the text of a statement: offset of the first, and behind the last.
pub type Range = (usize, usize);

/// A reference to a variable of another image, in terms of offsets in the text of its statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The whole designator, from its first name to its last subscript.
    pub whole: Range,
    /// The name of the coarray with the components before it, without its subscripts.
    pub coarray: Range,
    /// The image selector, from its opening bracket to the offset behind its closing one.
    pub selector: Range,
    /// Cosubscripts in their order, without `stat=` and the specifiers of teams.
    pub cosubscripts: Vec<Range>,
    /// The team variable behind `team=` in the image selector, if there is one. The cosubscripts are those of that team.
    pub team: Option<Range>,
    /// Set if the selector has a `team_number=`, which names a team that this image is not a member of.
    pub team_number: bool,
    /// Number of components behind the selector: 1 for `x[k]%d(:)`. Each may lead over a pointer of the other image.
    pub components: usize,
    /// Set if a substring follows directly behind the selector, as in `c[k](2:3)`.
    pub substring: bool,
    /// The effect of the reference on the data of the other image, as far as the statement alone says it.
    pub access: Access,
    /// Set if the reference is inside the subscripts or the selector of another one.
    pub nested: bool,
}

/// Returns the references of a statement, or of the part of it that begins at `from` and ends at `to`. `kind` is the
/// kind of that part.
pub fn references(text: &[u8], kind: Kind, from: usize, to: usize) -> Vec<Reference> {
    let mut all: Vec<Reference> = Vec::new();
    let first = first_operand(text, kind, from);
    for open in first..to {
        if text.get(open) != Some(&b'[') {
            continue;
        }
        let Some(mut found) = reference(text, first, open) else { continue };
        if found.whole.1 > to || is_declared(text, kind, open) {
            continue;
        }
        found.access = access(text, kind, first, &found);
        found.nested =
            all.iter().any(|outer| outer.whole.0 < found.whole.0 && found.whole.1 <= outer.whole.1);
        all.push(found);
    }
    // A reference inside the subscripts comes before the bracket of the one around it.
    let wholes: Vec<Range> = all.iter().map(|it| it.whole).collect();
    for it in &mut all {
        it.nested |= wholes
            .iter()
            .any(|whole| *whole != it.whole && whole.0 <= it.whole.0 && it.whole.1 <= whole.1);
    }
    all
}

/// Returns the offset behind the keyword of a statement, where its operands begin.
fn first_operand(text: &[u8], kind: Kind, from: usize) -> usize {
    match kind {
        Kind::Call | Kind::Control(Control::Collective | Control::Atomic | Control::EventQuery) => {
            from + 4
        }
        Kind::Output(items) | Kind::Input(items) => {
            // The control list may have references as well, but what follows it is not a selector of it.
            let is_print = text.get(from..).is_some_and(|rest| rest.starts_with(b"print"));
            if is_print { items } else { from }
        }
        Kind::Other(behind) => behind,
        _ => from,
    }
}

/// Returns `true` if a bracket belongs to a declaration and not to a reference.
fn is_declared(text: &[u8], kind: Kind, open: usize) -> bool {
    match kind {
        Kind::Declaration | Kind::Unit | Kind::Include => true,
        Kind::Output(items) | Kind::Input(items) => open == items,
        Kind::Control(Control::Allocate) => {
            // The shape of an object ends its part of the list; a source follows an equals sign.
            let list = text.iter().position(|byte| *byte == b'(').unwrap_or(0);
            let end = closing(text, list).unwrap_or(text.len());
            parts(text, list + 1, end).iter().any(|(from, to)| {
                let is_option = crate::text::equals(text, *from).is_some_and(|at| at < *to);
                (*from..*to).contains(&open)
                    && !is_option
                    && closing(text, open).is_some_and(|close| close + 1 == *to)
            })
        }
        Kind::ChangeTeam => closing(text, open)
            .is_some_and(|close| text.get(close + 1..).is_some_and(|rest| rest.starts_with(b"=>"))),
        _ => false,
    }
}

/// Reads the designator around the bracket at `open`. Returns `None` if the bracket is not an image selector.
fn reference(text: &[u8], first: usize, open: usize) -> Option<Reference> {
    let close = closing(text, open)?;
    let (mut start, mut coarray_end) = (open, open);
    loop {
        if start > first && text.get(start - 1) == Some(&b')') {
            let bracket = opening(text, start - 1)?;
            if start == open {
                coarray_end = bracket;
            }
            start = bracket;
        }
        let (begin, word) = name_before(text, start);
        let begin = begin.max(first);
        if word.is_empty() || begin >= start || text.get(begin).is_some_and(u8::is_ascii_digit) {
            return None;
        }
        start = begin;
        if start > first && text.get(start - 1) == Some(&b'%') {
            start -= 1;
        } else {
            break;
        }
    }
    if !text.get(start)?.is_ascii_alphabetic() || start < first {
        return None;
    }
    let (mut end, mut components, mut substring) = (close + 1, 0, false);
    loop {
        match text.get(end) {
            Some(b'%') => {
                let word = name(text, end + 1);
                if word.is_empty() {
                    break;
                }
                end += 1 + word.len();
                components += 1;
            }
            Some(b'(') => {
                substring |= components == 0;
                end = closing(text, end)? + 1;
            }
            _ => break,
        }
    }
    let (mut cosubscripts, mut team, mut team_number) = (Vec::new(), None, false);
    for (from, to) in parts(text, open + 1, close) {
        let part = text.get(from..to)?;
        if part.starts_with(b"team=") {
            team = Some((from + 5, to));
        } else if part.starts_with(b"team_number=") {
            team_number = true;
        } else if !part.starts_with(b"stat=") {
            cosubscripts.push((from, to));
        }
    }
    // Bounds of codimensions, as in `[1:*]`, are those of a declaration.
    let is_bound = |(from, to): &Range| {
        let part = text.get(*from..*to).unwrap_or_default();
        part.is_empty() || part.ends_with(b"*") || crate::text::find(part, 0, b":").is_some()
    };
    if cosubscripts.is_empty() || cosubscripts.iter().any(is_bound) {
        return None;
    }
    Some(Reference {
        whole: (start, end),
        coarray: (start, coarray_end),
        selector: (open, close + 1),
        cosubscripts,
        team,
        team_number,
        components,
        substring,
        access: Access::Read,
        nested: false,
    })
}

/// Intrinsic functions that ask about a variable and do not look at its value.
const INQUIRIES: &[&[u8]] = &[
    b"size",
    b"shape",
    b"lbound",
    b"ubound",
    b"lcobound",
    b"ucobound",
    b"kind",
    b"len",
    b"bit_size",
    b"storage_size",
    b"image_index",
    b"allocated",
    b"associated",
    b"huge",
    b"tiny",
    b"epsilon",
    b"digits",
    b"precision",
    b"range",
    b"radix",
    b"maxexponent",
    b"minexponent",
    b"is_contiguous",
    b"rank",
    b"coshape",
    b"sizeof",
    b"c_sizeof",
    b"same_type_as",
    b"extends_type_of",
];

fn access(text: &[u8], kind: Kind, first: usize, it: &Reference) -> Access {
    // The innermost bracket around it, and the name before that.
    let around = enclosing(text, it.whole.0, first);
    if let Some(open) = around {
        let (start, called) = name_before(text, open);
        let component = start.checked_sub(1).and_then(|at| text.get(at)) == Some(&b'%');
        if !component && INQUIRIES.contains(&called) {
            return Access::Inquiry;
        }
    }
    match kind {
        Kind::Assignment(equals) if it.whole == (first, equals) => Access::Write,
        Kind::Input(items) if it.whole.0 >= items => Access::Write,
        Kind::Call => match around {
            // An argument of the subroutine itself, alone between commas.
            Some(open) if is_whole_argument(text, open, it) && is_of_call(text, open, first) => {
                Access::Argument
            }
            _ => Access::Read,
        },
        Kind::Control(
            Control::Lock
            | Control::Unlock
            | Control::EventPost
            | Control::EventWait
            | Control::EventQuery
            | Control::Atomic,
        ) if around.is_some_and(|open| {
            is_whole_argument(text, open, it) && is_of_call(text, open, first)
        }) =>
        {
            Access::Operand
        }
        _ => Access::Read,
    }
}

/// Returns the offset of the innermost bracket that is open at `at`.
pub(crate) fn enclosing(text: &[u8], at: usize, first: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for place in (first..at).rev() {
        match text.get(place)? {
            b')' | b']' => depth += 1,
            b'(' | b'[' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return Some(place),
            },
            _ => {}
        }
    }
    None
}

fn is_whole_argument(text: &[u8], open: usize, it: &Reference) -> bool {
    let before = text.get(it.whole.0.wrapping_sub(1)).copied().unwrap_or(0);
    let after = text.get(it.whole.1).copied().unwrap_or(0);
    text.get(open) == Some(&b'(')
        && matches!(before, b'(' | b',' | b'=')
        && matches!(after, b')' | b',')
}

/// Returns `true` if a bracket is the list of arguments of the statement itself: it is closed at the end.
fn is_of_call(text: &[u8], open: usize, first: usize) -> bool {
    enclosing(text, open, first).is_none()
        && closing(text, open).is_some_and(|close| close + 1 == text.len())
}
