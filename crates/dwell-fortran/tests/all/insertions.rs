//! What is inserted, and where. Removing it gives back the source.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use dwell_fortran::scan::Form;
use dwell_fortran::{Options, Report, apply, instrument, remove};

/// Instruments a source, checks what holds for all, and returns the text and the report.
fn instrumented(source: &[u8], form: Form) -> (String, Report) {
    let it = instrument(source, form, "x.f90", &Options::default());
    let text = apply(source, &it.insertions);
    assert!(remove(&text, &it.insertions) == source, "removing gives back the source");
    let report = it.report;
    assert_eq!(report.seen, report.separated + report.single + report.refused.len());
    for insertion in &it.insertions {
        let text = String::from_utf8_lossy(&insertion.text).into_owned();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        for line in lines {
            assert!(line.len() <= 72, "{line}");
        }
    }
    (String::from_utf8_lossy(&text).into_owned(), report)
}

/// Checks the calls that a statement gets: those before it, and those behind it.
fn check(source: &str, before: &[&str], after: &[&str]) {
    let (text, _) = instrumented(source.as_bytes(), Form::Free);
    let joined = text.replace("# 1 \"x.f90\"\n", "").replace("&\n     &", "");
    let calls = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim);
        lines
            .filter(|line| line.starts_with("call dwell"))
            .map(|it| it.replace("_dwell_k", ""))
            .collect()
    };
    let statement = source.lines().next().unwrap_or_default();
    let (head, tail) = joined.split_once(statement).unwrap_or((&joined, ""));
    assert_eq!(
        (calls(head), calls(tail)),
        (
            before.iter().map(ToString::to_string).collect(),
            after.iter().map(ToString::to_string).collect()
        ),
        "{text}"
    );
}

#[test]
fn calls_of_assignments() {
    check(
        "v = a(1:9:2)[k]\n",
        &["call dwell_co_begin(0,int(image_index(a,[k]),dwell_k),0,a(1:9:2))"],
        &["call dwell_co_end(0,1)"],
    );
    check(
        "a[i] = b[j]\n",
        &[
            "call dwell_co_begin(1,int(image_index(a,[i]),dwell_k),0,a)",
            "call dwell_co_also(0,int(image_index(b,[j]),dwell_k),b)",
        ],
        &["call dwell_co_end(1,1)"],
    );
    check(
        "v = x%q(2)[k, l, team=t]\n",
        &[
            "call dwell_co_team(t)",
            "call dwell_co_begin(0,int(1+((k)-lcobound(x%q,1))+((l)-lcobound(x%q,2))\
             *(ucobound(x%q,1)-lcobound(x%q,1)+1),dwell_k),0,x%q(2))",
        ],
        &["call dwell_co_end(0,1)"],
    );
    check("n = size(a(:)[k])\n", &[], &[]);
}

#[test]
fn single_calls() {
    let once = "call dwell_co_once(0,int(image_index(a,[k]),dwell_k),a)";
    check("call s(a[k])\n", &[once], &[]);
    check("print *, a[k]\n", &[once], &[]);
    check("if (a[k] > 0) then\nend if\n", &[once], &[]);
    check("read (*, *) a[k]\n", &[], &["call dwell_co_once(1,int(image_index(a,[k]),dwell_k),a)"]);
}

#[test]
fn calls_of_image_control() {
    check("sync all\n", &["call dwell_co_enter(2,0,0)"], &["call dwell_co_end(2,1)"]);
    check("sync images (*)\n", &["call dwell_co_enter(3,-1,0)"], &["call dwell_co_end(3,1)"]);
    check("sync images (nbr)\n", &["call dwell_co_begin(3,0,0,nbr)"], &["call dwell_co_end(3,1)"]);
    check(
        "call co_sum(x, result_image=2)\n",
        &["call dwell_co_begin(13,int(2,dwell_k),0,x)"],
        &["call dwell_co_end(13,1)"],
    );
    check(
        "call atomic_add(n(2)[1], 5)\n",
        &["call dwell_co_begin(26,int(image_index(n,[1]),dwell_k),0,n(2))"],
        &["call dwell_co_end(26,1)"],
    );
}

#[test]
fn refused_statements_are_unchanged_and_reported() {
    let cases = [
        (
            "print *, a(f(1))[k]\n",
            "a subscript or an image selector may call a function, which would be called twice",
        ),
        ("print *, a[b[1]]\n", "a subscript or an image selector is a remote access itself"),
        ("v = a[1, team_number=2]\n", "team_number= names a team that this image does not know"),
        (
            "do 10 i = 1, 2\n10 v = a[1]\n",
            "its label ends a loop, so that nothing can stand behind it",
        ),
        ("forall (i = 1:2)\nv(i) = a(i)[1]\nend forall\n", "no call is allowed inside of forall"),
        (
            "v = a[1] + &\n#if 1\n 2\n#endif\n",
            "a line of the preprocessor stands inside of the statement",
        ),
        ("v = [(a(i)[1], i = 1, 2)]\n", "an array constructor has a loop over remote accesses"),
        ("int = a[1]\n", "a variable has the name of an intrinsic function that calls need"),
    ];
    for (source, reason) in cases {
        let (text, report) = instrumented(source.as_bytes(), Form::Free);
        assert_eq!(text, source);
        let reasons: Vec<_> = report.refused.iter().map(|it| it.reason).collect();
        assert_eq!(reasons, [reason], "{source}");
    }
}

#[test]
fn declared_arrays_are_no_functions() {
    let source =
        "integer :: nbr(4)\nreal, dimension(3) :: x, y\nv = a(nbr(1))[nbr(2) + int(y(1))]\n";
    let (_, report) = instrumented(source.as_bytes(), Form::Free);
    assert_eq!((report.separated, report.refused.len()), (1, 0));
    let (text, _) = instrumented(source.as_bytes(), Form::Free);
    assert!(!text.contains("associate"), "{text}");
    let (text, report) =
        instrumented(format!("{source}contains\ninteger function nbr(i)\n").as_bytes(), Form::Free);
    assert_eq!((report.separated, report.refused.len()), (1, 0));
    assert!(text.contains("associate(dwell_1=>(nbr(1)),dwell_2=>(nbr(2)+int(y(1))))"), "{text}");
    assert!(text.contains("v=a(dwell_1)[dwell_2]\n"), "{text}");
    assert!(text.contains("\n!v = a(nbr(1))[nbr(2) + int(y(1))]\n"), "{text}");
}

#[test]
fn a_list_of_images_is_evaluated_once() {
    let source = "  sync images (partners(1), stat=s)\n";
    let (text, report) = instrumented(source.as_bytes(), Form::Free);
    assert_eq!((report.separated, report.refused.len()), (1, 0));
    assert!(text.contains("associate(dwell_1=>(partners(1)))"), "{text}");
    assert!(text.contains("      sync images(dwell_1,stat=s)\n"), "{text}");
    assert!(text.contains("!  sync images (partners(1), stat=s)\n"), "{text}");
}

#[test]
fn a_rejected_line_is_left_alone() {
    let source = b"a[1] = 1\na[1] = 2\n";
    let options = Options { rejected: BTreeSet::from([2]), ..Options::default() };
    let it = instrument(source, Form::Free, "x.f90", &options);
    assert_eq!((it.report.separated, it.report.refused.len()), (1, 1));
}

/// The programs that other tests run, in both forms, and cut off and damaged at every place.
#[test]
fn own_programs_in_both_forms() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/coarrays");
    let mut programs = 0;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(source) = fs::read(entry.path()) else { continue };
        let name = entry.file_name().to_string_lossy().into_owned();
        let (_, report) = instrumented(&source, Form::of_name(&name));
        assert!(report.separated > 0, "{name}");
        if !matches!(&*name, "fixed.f" | "free.f90") {
            let (_, fixed) = instrumented(&source, Form::Fixed);
            assert_eq!(fixed, report, "{name}");
        }
        programs += 1;
        for end in (0..source.len()).step_by(41) {
            instrumented(source.get(..end).unwrap_or_default(), Form::Free);
            instrumented(source.get(end..).unwrap_or_default(), Form::Fixed);
        }
    }
    assert!(programs >= 10, "{programs}");
}

#[test]
fn an_include_line_names_the_copy() {
    let source = b"      include 'a/b.inc' ! here\n";
    let included = BTreeSet::from(["a/b.inc".to_owned()]);
    let options = Options { included, ..Options::default() };
    let it = instrument(source, Form::Fixed, "x.f", &options);
    let text = String::from_utf8_lossy(&apply(source, &it.insertions)).into_owned();
    let expected = "# 1 \"x.f\"\n      include 'a/dwell_b.inc'\n# 1 \"x.f\"\n!      include 'a/b.inc' ! here\n";
    assert_eq!(text, expected);
    assert_eq!(it.report.includes, ["a/b.inc"]);
}

/// Subscripts that are themselves remote references, hundreds deep, take milliseconds. Looking into all brackets around
/// each of them took minutes.
#[test]
fn deep_nesting_takes_no_time() {
    let (open, close) = ("a(".repeat(500), ")[2]".repeat(500));
    let source = format!("program p\n  integer :: a(9)[*]\n  a(1) = {open}1{close}\nend program\n");
    let began = std::time::Instant::now();
    instrument(source.as_bytes(), Form::Free, "p.f90", &Options::default());
    let time = began.elapsed();
    assert!(time.as_secs() < 10, "{time:?}");
}
