//! Damaged reports: every command reports them by its exit code and in words.

use std::fs;

use super::{Home, said};

/// Overwrites the beginning of a member of a report.
fn spoil(home: &Home, from: &str, to: &str, member: &str) {
    let mut bytes = fs::read(home.path(from)).unwrap();
    let name =
        |at: &usize| bytes[*at..].starts_with(member.as_bytes()) && bytes[at + member.len()] == 0;
    let header = (0..bytes.len()).step_by(512).find(name).unwrap();
    bytes[header + 512..header + 512 + 24].fill(0xff);
    fs::write(home.path(to), bytes).unwrap();
}

#[test]
fn an_export_of_a_damaged_report_says_so() {
    let home = Home::new();
    let made =
        home.dwell(&["synth", "report", "-o", "good.cubex", "--locations", "20", "--paths", "30"]);
    assert!(made.status.success(), "{}", said(&made));
    for member in ["0.index", "0.data"] {
        spoil(&home, "good.cubex", "bad.cubex", member);
        for args in [
            &["report", "bad.cubex"][..],
            &["compare", "good.cubex", "bad.cubex"],
            &["export", "bad.cubex", "--html", "-o", "out.html"],
            &["export", "good.cubex", "--compare", "bad.cubex", "--html", "-o", "out.html"],
        ] {
            let output = home.dwell(args);
            let wanted = if args[0] == "export" { 1 } else { 2 };
            assert_eq!(output.status.code(), Some(wanted), "{member} {args:?}: {}", said(&output));
            assert!(said(&output).contains(member), "{member} {args:?}: {}", said(&output));
        }
    }
    let output = home.dwell(&["export", "good.cubex", "--html", "-o", "out.html"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(output.stderr.is_empty(), "{}", said(&output));
}
