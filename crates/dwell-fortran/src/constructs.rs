//! Constructs of a source: which statement ends which, and where calls are not allowed.

use crate::kind::{Kind, Piece};
use crate::scan::Statement;

/// Place of a statement among the constructs around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The outermost `where` construct that contains the statement.
    pub(crate) in_where: Option<usize>,
    /// Set inside a `forall` construct.
    pub(crate) in_forall: bool,
    /// First statement of the construct that the statement belongs to, for parts and ends of constructs.
    pub(crate) begin: Option<usize>,
    /// Last statement of the construct that begins here.
    pub(crate) end: Option<usize>,
    /// Set if the label of the statement ends a loop.
    pub(crate) ends_loop: bool,
}

enum Open {
    Construct(usize, Kind),
    Labelled(usize, Vec<u8>),
}

/// Returns the place of each statement. Damaged nesting leaves places without begin or end.
pub(crate) fn places(statements: &[Statement], kinds: &[Vec<Piece>]) -> Vec<Place> {
    let mut all = vec![Place::default(); statements.len()];
    let mut open: Vec<Open> = Vec::new();
    for (index, (statement, pieces)) in statements.iter().zip(kinds).enumerate() {
        let Some(kind) = pieces.first().map(|piece| piece.kind) else { continue };
        let mut place = Place::default();
        let of = |wanted: fn(&Kind) -> bool| {
            open.iter().find_map(|it| match it {
                Open::Construct(at, kind) if wanted(kind) => Some(*at),
                _ => None,
            })
        };
        place.in_where = of(|kind| matches!(kind, Kind::Where(_)));
        place.in_forall = of(|kind| matches!(kind, Kind::Forall(_))).is_some();
        match kind {
            Kind::ElseIf | Kind::Else | Kind::Case => {
                place.begin = open.last().map(|it| match it {
                    Open::Construct(at, _) | Open::Labelled(at, _) => *at,
                });
            }
            Kind::End | Kind::EndCritical | Kind::EndTeam => {
                if let Some(Open::Construct(at, _)) = open.pop() {
                    place.begin = Some(at);
                    if let Some(begin) = all.get_mut(at) {
                        begin.end = Some(index);
                    }
                }
            }
            Kind::Unit if ends_unit(&statement.text) => open.clear(),
            _ => {}
        }
        // A label may end several loops.
        if let Some(label) = &statement.label {
            while matches!(open.last(), Some(Open::Labelled(_, end)) if end == label) {
                if let Some(Open::Labelled(at, _)) = open.pop()
                    && let Some(begin) = all.get_mut(at)
                {
                    begin.end = Some(index);
                }
                place.ends_loop = true;
            }
        }
        match kind {
            Kind::Do(true) | Kind::DoWhile(true) => {
                let from = pieces.first().map_or(0, |piece| piece.from) + 2;
                let digits = statement.code.iter().skip(from).take_while(|it| it.is_ascii_digit());
                open.push(Open::Labelled(index, digits.copied().collect()));
            }
            Kind::IfThen
            | Kind::Do(false)
            | Kind::DoWhile(false)
            | Kind::Where(true)
            | Kind::Forall(true)
            | Kind::Select
            | Kind::Associate
            | Kind::Block
            | Kind::Critical
            | Kind::ChangeTeam => open.push(Open::Construct(index, kind)),
            _ => {}
        }
        if let Some(slot) = all.get_mut(index) {
            *slot = Place { end: slot.end, ..place };
        }
    }
    all
}

/// Returns `true` if a program unit or procedure begins or ends here, so that no construct can be open.
fn ends_unit(text: &[u8]) -> bool {
    let inside: [&[u8]; 5] =
        [b"endtype", b"interface", b"endinterface", b"abstractinterface", b"endenum"];
    !inside.iter().any(|start| text.starts_with(start))
}
