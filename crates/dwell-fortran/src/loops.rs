//! Implied loops of input and output lists: each item is an access of its own.

use crate::kind::{Kind, Piece};
use crate::operand::{Reason, copy};
use crate::references::{Reference, enclosing};
use crate::scan::Statement;
use crate::text::{closing, equals, name, parts};

/// Puts the calls for a reference into the loops that its implied loops stand for. The variables of implied loops in
/// input and output lists belong to the program, as those of other loops do. In array constructors they do not.
pub(crate) fn around(
    statement: &Statement,
    piece: &Piece,
    it: &Reference,
    calls: Vec<String>,
) -> Result<Vec<String>, Reason> {
    let text = &statement.text;
    let mut list = calls;
    let mut at = it.whole.0;
    while let Some(open) = enclosing(text, at, piece.from) {
        at = open;
        // Brackets behind a name hold subscripts. Most brackets are such, and looking into each takes long.
        if text.get(open) != Some(&b'(') || crate::scan::is_name(before(text, open)) {
            continue;
        }
        let Some(close) = closing(text, open) else { continue };
        let parts = parts(text, open + 1, close);
        let control = parts.iter().find(|(from, to)| {
            let word = name(text, *from);
            !word.is_empty()
                && equals(text, *from) == Some(from + word.len())
                && from + word.len() < *to
        });
        let Some((from, _)) = control.filter(|_| it.whole.1 < close) else { continue };
        if !matches!(piece.kind, Kind::Output(_) | Kind::Input(_)) || before(text, open) == b'[' {
            return Err("an array constructor has a loop over remote accesses");
        }
        list.insert(0, format!("do {}", copy(statement, (*from, close))?));
        list.push("end do".to_owned());
    }
    Ok(list)
}

fn before(text: &[u8], at: usize) -> u8 {
    at.checked_sub(1).and_then(|at| text.get(at)).copied().unwrap_or(0)
}
