//! Synchronisation by calls: the procedures that Co-Array Fortran had before Fortran 2008 made statements of them.
//!
//! | call | is recorded as |
//! |---|---|
//! | `sync_all()` | `sync_all` |
//! | `sync_all(wait)` | `sync_images` with the images of `wait` |
//! | `sync_team(team)` | `sync_images` with the images of `team` |
//! | `sync_team(team, wait)` | `sync_images` with the images of `wait` |
//! | `sync_memory()` | `sync_memory` |
//! | `sync_file(unit)` | `sync_file` |
//! | `start_critical()`, `end_critical()` | `critical`, `end_critical`: one section in the whole program |
//!
//! These names are not reserved. They are taken for the procedures of the language in a source that uses coarrays, unless
//! the program defines or imports a procedure of the same name.

use crate::declared::Declared;
use crate::kind::{Control, Kind, Piece, Procedure};
use crate::scan::Statement;
use crate::text::name;

/// Turns calls of these procedures into image control, if the source uses coarrays and defines none of that name.
pub(crate) fn recognise(statements: &[Statement], kinds: &mut [Vec<Piece>], declared: &Declared) {
    if !declared.uses_coarrays() {
        return;
    }
    for (statement, pieces) in statements.iter().zip(kinds) {
        for piece in pieces.iter_mut().filter(|piece| piece.kind == Kind::Call) {
            let called = name(&statement.text, piece.from + "call".len());
            let after = statement.text.get(piece.from + "call".len() + called.len());
            if let Some(procedure) = Procedure::named(called)
                && matches!(after, None | Some(b'('))
                && !declared.is_procedure(called)
            {
                piece.kind = Kind::Control(Control::Procedure(procedure));
            }
        }
    }
}
