//! Assignments whose subscripts or image selectors may call functions or are remote accesses themselves, and `sync images`
//! with a list that may call functions.
//!
//! Calls need the values as well, and evaluating them twice could change the program. So they are evaluated once, in an
//! `associate` construct, and a copy of the assignment uses the names. The assignment itself becomes a comment.

use crate::calls::Calls;
use crate::constructs::Place;
use crate::insert::{Plan, Planner};
use crate::kind::{Control, Kind, Piece, pieces};
use crate::operand::{Reason, copy};
use crate::references::{Access, Range, Reference, references};
use crate::scan::Statement;
use crate::text::{closing, find, is_remote, parts};

const KEYWORD: &str = "syncimages";

/// Returns the calls for an assignment or a `sync images` that has been refused for `reason`, with its values bound to names; or the
/// reason, if that is not possible.
pub(crate) fn plan(
    planner: &Planner<'_>,
    index: usize,
    statement: &Statement,
    piece: &Piece,
    place: Place,
    counted: &[Reference],
    reason: Reason,
) -> Result<(Plan, Calls), Reason> {
    let alone = piece.from == 0
        && !statement.follows
        && statement.semicolon.is_none()
        && statement.label.is_none()
        && statement.directive.is_none();
    let ranges = match piece.kind {
        _ if !alone || place.in_where.is_some() => Vec::new(),
        Kind::Assignment(_) => values(planner, statement, counted),
        // The list of images, which is the first argument.
        Kind::Control(Control::SyncImages) => {
            let end = statement.text.len().saturating_sub(1);
            parts(&statement.text, KEYWORD.len() + 1, end).into_iter().take(1).collect()
        }
        _ => Vec::new(),
    };
    if ranges.is_empty() {
        return Err(reason);
    }
    let mut calls = Calls::new(planner.form);
    let (mut names, mut before) = (Vec::new(), Vec::new());
    for (at, range) in ranges.iter().enumerate() {
        names.push(format!("dwell_{}=>({})", at + 1, copy(statement, *range)?));
        for it in counted.iter().filter(|it| range.0 <= it.whole.0 && it.whole.1 <= range.1) {
            before.extend(planner.once(statement, it, &mut calls)?);
        }
    }
    let renamed = renamed(statement, &ranges);
    let piece = pieces(&renamed.text).into_iter().next().ok_or(reason)?;
    let all = references(&renamed.text, piece.kind, piece.from, piece.to);
    let counted: Vec<_> = all.into_iter().filter(|it| it.access != Access::Inquiry).collect();
    match planner.plan(index, &renamed, &piece, place, &counted, &mut calls)? {
        Plan::Around { begin, end } => {
            let code = copy(&renamed, (0, renamed.code.len()))?;
            let code = match piece.kind {
                // In free form its words are separated.
                Kind::Control(_) => {
                    format!("sync images{}", code.get(KEYWORD.len()..).unwrap_or_default())
                }
                _ => code,
            };
            let associate = format!("associate({})", names.join(","));
            Ok((Plan::Bound { before, associate, begin, code, end }, calls))
        }
        _ => Err(reason),
    }
}

/// Returns the ranges of the expressions that must be evaluated once, in their order.
fn values(planner: &Planner<'_>, statement: &Statement, counted: &[Reference]) -> Vec<Range> {
    let text = &statement.text;
    let mut all = Vec::new();
    for it in counted.iter().filter(|it| !it.nested) {
        let mut at = it.whole.0;
        while at < it.whole.1 {
            let Some(close) =
                closing(text, at).filter(|_| matches!(text.get(at), Some(b'(' | b'[')))
            else {
                at += 1;
                continue;
            };
            for (mut from, to) in parts(text, at + 1, close) {
                while from < to {
                    let range = text.get(..to).unwrap_or_default();
                    let end = find(range, from, b":").unwrap_or(to);
                    if planner.declared.may_call(text, from, end) || is_remote(text, from, end) {
                        all.push((from, end));
                    }
                    from = end + 1;
                }
            }
            at = close + 1;
        }
    }
    all.sort_unstable();
    all
}

/// Returns the statement with names in place of ranges.
fn renamed(statement: &Statement, ranges: &[Range]) -> Statement {
    let mut copy =
        Statement { at: Vec::new(), text: Vec::new(), code: Vec::new(), ..statement.clone() };
    let mut from = 0;
    for (at, (start, end)) in ranges.iter().enumerate() {
        let name = format!("dwell_{}", at + 1);
        copy.text.extend(statement.text.get(from..*start).unwrap_or_default());
        copy.code.extend(statement.code.get(from..*start).unwrap_or_default());
        copy.text.extend(name.bytes());
        copy.code.extend(name.bytes());
        from = *end;
    }
    copy.text.extend(statement.text.get(from..).unwrap_or_default());
    copy.code.extend(statement.code.get(from..).unwrap_or_default());
    copy.at = vec![0; copy.text.len()];
    copy
}
