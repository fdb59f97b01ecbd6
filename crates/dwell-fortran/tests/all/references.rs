//! References to variables of other images in single statements.

use dwell_fortran::kind::pieces;
use dwell_fortran::references::{Access, references};
use dwell_fortran::scan::{Form, scan};

/// Checks the references of a statement: text and access of each.
fn check(source: &str, expected: &[(&str, Access)]) {
    let scan = scan(source.as_bytes(), Form::Free, "x.f90");
    let mut found = Vec::new();
    for it in &scan.statements {
        for piece in pieces(&it.text) {
            for reference in references(&it.text, piece.kind, piece.from, piece.to) {
                let (from, to) = reference.whole;
                let text = String::from_utf8_lossy(it.code.get(from..to).unwrap_or_default());
                found.push((text.into_owned(), reference.access));
            }
        }
    }
    let found: Vec<_> = found.iter().map(|(text, access)| (&**text, *access)).collect();
    assert_eq!(found, expected, "{source}");
}

use Access::{Argument, Inquiry, Operand, Read, Write};

#[test]
fn assignments() {
    check("v = a(1:9:2)[k]", &[("a(1:9:2)[k]", Read)]);
    check("a[k] = v", &[("a[k]", Write)]);
    check("a(i)[k] = b(j)[m]", &[("a(i)[k]", Write), ("b(j)[m]", Read)]);
    check("v = 1 + a(2)[3] - y%z[2]%w(1)", &[("a(2)[3]", Read), ("y%z[2]%w(1)", Read)]);
    check("v = .not. a[1] // b[2]", &[("a[1]", Read), ("b[2]", Read)]);
    check("a(b[1])[c[2]] = 0", &[("b[1]", Read), ("a(b[1])[c[2]]", Write), ("c[2]", Read)]);
    check("v = a[2, team=t, stat=s]", &[("a[2,team=t,stat=s]", Read)]);
    check("v = x(i)%y(j)%z[k, l]%w%u(:)", &[("x(i)%y(j)%z[k,l]%w%u(:)", Read)]);
    check("c(:)[1](2:3) = 'ab'", &[("c(:)[1](2:3)", Write)]);
    check("v = [1, 2] + [(a(i)[k], i = 1, 3)]", &[("a(i)[k]", Read)]);
    check("v = f([1, 2]) + 'a[1]'", &[]);
}

#[test]
fn inquiries_transfer_nothing() {
    check("n = size(a(:)[k]) + shape(b[k])", &[("a(:)[k]", Inquiry), ("b[k]", Inquiry)]);
    check("n = size(a(i)[k] + b)", &[("a(i)[k]", Inquiry)]);
    check("n = x%size(a[k])", &[("a[k]", Read)]);
    check("if (allocated(x[k]%d)) v = x[k]%d", &[("x[k]%d", Inquiry), ("x[k]%d", Read)]);
}

#[test]
fn other_statements() {
    check("if (a[k] > 0) b[k] = c[k]", &[("a[k]", Read), ("b[k]", Write), ("c[k]", Read)]);
    check("call s(a[k], b[k] + 1, f(c[k]))", &[("a[k]", Argument), ("b[k]", Read), ("c[k]", Read)]);
    check("write (*, *) [1, 2], a[k]", &[("a[k]", Read)]);
    check("write (*, *) (a(i)[k], i = 1, 3)", &[("a(i)[k]", Read)]);
    check("read (*, *) a[k]", &[("a[k]", Write)]);
    check("print *, a[k]", &[("a[k]", Read)]);
    check("stop a[k]", &[("a[k]", Read)]);
    check("do i = 1, n[k]", &[("n[k]", Read)]);
    check("lock (l(2)[k])", &[("l(2)[k]", Operand)]);
    check("event post (e[k], stat=s)", &[("e[k]", Operand)]);
    check("call atomic_add(a[k], b[j])", &[("a[k]", Operand), ("b[j]", Operand)]);
    check("where (m) a(:)[k] = b", &[("a(:)[k]", Write)]);
}

#[test]
fn declarations_are_no_references() {
    for source in [
        "integer :: a(3)[*], b[2, *]",
        "integer a(3)[*]",
        "type( t), codimension[ *] :: x",
        "class(*), allocatable :: b[:]",
        "allocate (a(n)[*], b[0:*])",
        "if (.not. allocated(a)) allocate (a(n)[*])",
        "10 change team (t, b[*] => a)",
        "real, codimension[:], allocatable :: x(:)",
        "use m, only: a",
        "codimension a[*]",
        "20 format (3ha[1)",
    ] {
        check(source, &[]);
    }
    check("allocate (b(n)[*], source=a[k])", &[("a[k]", Read)]);
}
