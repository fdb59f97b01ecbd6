//! Prints the references and image control statements of Fortran files, one line each: file, line, kind, text.

use dwell_fortran::kind::{Kind, pieces};
use dwell_fortran::references::references;
use dwell_fortran::scan::{Form, scan};

fn main() {
    for name in std::env::args().skip(1) {
        let Ok(bytes) = std::fs::read(&name) else { continue };
        let scan = scan(&bytes, Form::of_name(&name), &name);
        for statement in &scan.statements {
            let text = &statement.text;
            for piece in pieces(text) {
                for it in references(text, piece.kind, piece.from, piece.to) {
                    let whole = text.get(it.whole.0..it.whole.1).unwrap_or_default();
                    let whole = String::from_utf8_lossy(whole);
                    println!("{name}:{}: {:?} {whole}", statement.line, it.access);
                }
                if let Kind::Control(control) = piece.kind {
                    println!("{name}:{}: control {control:?}", statement.line);
                }
            }
        }
    }
}
