//! Statements and their kinds, from small pieces of source.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use dwell_fortran::kind::{Control, Kind, classify};
use dwell_fortran::scan::{Form, scan};

/// Checks the statements of a source: line, label and text of each.
fn check(form: Form, source: &str, expected: &[(u32, &str, &str)]) {
    let scan = scan(source.as_bytes(), form, "x.f90");
    let found: Vec<_> = scan
        .statements
        .iter()
        .map(|it| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (it.line, it.label.as_deref().map_or(String::new(), text), text(&it.text))
        })
        .collect();
    let found: Vec<_> = found.iter().map(|(line, label, it)| (*line, &**label, &**it)).collect();
    assert_eq!(found, expected, "{source}");
    for it in &scan.statements {
        for (at, code) in it.at.iter().zip(&it.code) {
            assert_eq!(source.as_bytes()[*at], *code, "{source}");
        }
    }
}

#[test]
fn free_form() {
    let free = |source: &str, expected: &[(u32, &str, &str)]| check(Form::Free, source, expected);
    free("A = b ! c\n! d\n\nend", &[(1, "", "a=b"), (4, "", "end")]);
    free("a = &\n  ! comment\n\n  & b\nc=d\n", &[(1, "", "a=b"), (5, "", "c=d")]);
    free("na&\n  &me = 1\n", &[(1, "", "name=1")]);
    free("a=1; b=2 ;; c=3;\n", &[(1, "", "a=1"), (1, "", "b=2"), (1, "", "c=3")]);
    free("10 a = 1\n  20 continue\n", &[(1, "10", "a=1"), (2, "20", "continue")]);
    free("x = 'a;b!c&' ; y\n", &[(1, "", "x=\"\"\"\"\"\"\"\""), (1, "", "y")]);
    free("x = 'it''s'\n", &[(1, "", "x=\"\"\"\"\"\"\"")]);
    free("x = 'a&\n  &b' // \"'\"\n", &[(1, "", "x=\"\"\"\"//\"\"\"")]);
    free("call s(3h)[k, a)\n", &[(1, "", "calls(3\"\"\"\",a)")]);
    free("x = a1h\n", &[(1, "", "x=a1h")]);
    free("real*8 height\n", &[(1, "", "real*8height")]);
    free("#if 1\na\n#endif\nb", &[(2, "", "a"), (4, "", "b")]);
    free("# 7 \"other.f90\"\na\n#line 20\nb", &[(7, "", "a"), (20, "", "b")]);
    free("a\r\nb &\r\n & c\r\n", &[(1, "", "a"), (2, "", "bc")]);
}

#[test]
fn fixed_form() {
    let fixed = |source: &str, expected: &[(u32, &str, &str)]| check(Form::Fixed, source, expected);
    fixed("C a\n* b\n! c\n      a = b\n", &[(4, "", "a=b")]);
    fixed("      a = b\n     1 + c\n     & + d\n      e\n", &[(1, "", "a=b+c+d"), (4, "", "e")]);
    fixed("      a = b\nc comment\n     1 + c\n", &[(1, "", "a=b+c")]);
    fixed(" 10   g o t o 2 0\n", &[(1, "10", "goto20")]);
    fixed("      a = 1; b = 2 ! c\n", &[(1, "", "a=1"), (1, "", "b=2")]);
    let long = format!("      {:66}hidden\n     1+b\n", "a=");
    fixed(&long, &[(1, "", "a=+b")]);
    fixed("\ta = b\n\t1 + c\n10\td\n", &[(1, "", "a=b+c"), (3, "10", "d")]);
    fixed("     0a = b\n", &[(1, "", "a=b")]);
    fixed("      x = 'a! \n     1b'\n", &[(1, "", "x=\"\"\"\"\"\"")]);
    fixed("   20 format (5h)[;!x, i4)\n", &[(1, "20", "format(5\"\"\"\"\"\",i4)")]);
}

#[test]
fn directives_and_interruptions() {
    let source =
        "!$omp atomic\nx = 1\n!$omp barrier\ny\n!dir$ ivdep\n\nz\na = &\n#if 1\n b\n#endif\n";
    let scan = scan(source.as_bytes(), Form::Free, "x.f90");
    let directives: Vec<_> = scan.statements.iter().map(|it| it.directive).collect();
    assert_eq!(directives, [Some(0), None, Some(35), None]);
    let interrupted: Vec<_> = scan.statements.iter().map(|it| it.interrupted).collect();
    assert_eq!(interrupted, [false, false, false, true]);
}

#[test]
fn kinds() {
    let cases: &[(&str, Kind)] = &[
        ("a(1)[k]=b", Kind::Assignment(7)),
        ("lock(1)=2", Kind::Assignment(7)),
        ("if=3", Kind::Assignment(2)),
        ("if(1)=3", Kind::Assignment(5)),
        ("doi=1", Kind::Assignment(3)),
        ("a(i)=b==c", Kind::Assignment(4)),
        ("doi=1,2", Kind::Do(false)),
        ("do10i=1,2", Kind::Do(true)),
        ("do", Kind::Do(false)),
        ("doconcurrent(i=1:2)", Kind::Do(false)),
        ("dowhile(a[k]>0)", Kind::DoWhile(false)),
        ("outer:dowhile(a)", Kind::DoWhile(false)),
        ("if(a[k])b=c", Kind::If(7)),
        ("if(a)then", Kind::IfThen),
        ("name:if(a)then", Kind::IfThen),
        ("elseif(a)then", Kind::ElseIf),
        ("where(a>0)", Kind::Where(true)),
        ("where(a>0)b=c", Kind::Where(false)),
        ("p=>q", Kind::PointerAssignment),
        ("integer::a(3)[*]", Kind::Declaration),
        ("integera(3)[*]", Kind::Declaration),
        ("type(t)x[*]", Kind::Declaration),
        ("class(*),allocatable::b[:]", Kind::Declaration),
        ("syncall(stat=s)", Kind::Control(Control::SyncAll)),
        ("syncimages(*)", Kind::Control(Control::SyncImages)),
        ("lock(l[1])", Kind::Control(Control::Lock)),
        ("eventwait(e,until_count=2)", Kind::Control(Control::EventWait)),
        ("callco_sum(x)", Kind::Control(Control::Collective)),
        ("callatomic_add(x[1],2)", Kind::Control(Control::Atomic)),
        ("callatomic_mine(x)", Kind::Call),
        ("critical", Kind::Critical),
        ("endcritical", Kind::EndCritical),
        ("changeteam(t,b[*]=>a)", Kind::ChangeTeam),
        ("write(*,*)[1,2]", Kind::Output(10)),
        ("print*,a[1]", Kind::Output(7)),
        ("include\"\"\"\"", Kind::Include),
        ("usem,only:a=>b", Kind::Declaration),
    ];
    for (text, kind) in cases {
        assert_eq!(classify(text.as_bytes(), 0).0, *kind, "{text}");
    }
}
