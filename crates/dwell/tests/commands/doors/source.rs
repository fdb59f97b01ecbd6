//! Source that reports name: shown from directories that the user allows, and never through a link.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use cubex::{Cnode, Group, Location, MetaBuilder, Metric, Region, ReportWriter, Rows, SystemNode};
use serde_json::Value;

use super::{Home, said};
use crate::support::text;

/// A report with a call from line 1 of each of these files.
fn report(path: &Path, files: &[&str]) {
    let mut builder = MetaBuilder::new();
    let time = builder.metric(None, Metric { uniq_name: "time", uom: "sec", ..Metric::default() });
    let main = builder.region(Region { name: "main", ..Region::default() });
    let root = builder.cnode(None, Cnode { region: main, ..Cnode::default() });
    for file in files {
        builder.cnode(Some(root), Cnode { region: main, file, line: Some(1) });
    }
    let machine = builder.system_node(None, SystemNode::default());
    let process = builder.group(machine, Group::default());
    builder.location(process, Location::default());
    let writer = ReportWriter::create(path, builder.finish().unwrap()).unwrap();
    writer.metric(time, Rows::All).unwrap().write(root, &[1_u64]).unwrap();
    writer.finish().unwrap();
}

/// Returns the answers in an exported page.
fn answers(page: &Path) -> Value {
    let html = fs::read_to_string(page).unwrap();
    let (_, data) = html.split_once("id=\"dwell-data\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let packed = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Exports a report. Returns for each of its files the source, or why it is not shown.
fn exported(home: &Home, files: &[&str], more: &[&str]) -> (Vec<Result<String, String>>, String) {
    report(&home.path("case/run/trace.cubex"), files);
    let page = home.path("page.html");
    let args = [&["export", "case/run", "--format=html", "-o", "page.html"][..], more].concat();
    let output = home.dwell(&args);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let answers = answers(&page);
    let source = |at: usize| {
        let source = &answers[format!("runs/0/source?call={}", at + 1)];
        match source["missing"].as_str() {
            Some(why) => Err(why.to_owned()),
            None => Ok(source["lines"][0].as_str().unwrap().to_owned()),
        }
    };
    ((0..files.len()).map(source).collect(), text(&output.stdout))
}

fn case() -> Home {
    let home = Home::new();
    fs::create_dir(home.path("case")).unwrap();
    // An experiment directory has an archive.
    let made = home.dwell(&["synth", "ring", "--ranks", "2", "-o", "case/run"]);
    assert!(made.status.success(), "{}", said(&made));
    for folder in ["case/run/deep", "case/src", "private/deep"] {
        fs::create_dir_all(home.path(folder)).unwrap();
    }
    for (file, line) in [
        ("case/run/beside.c", "beside the report"),
        ("case/run/deep/inner.f90", "further below"),
        ("case/src/kernel.c", "where it was recorded"),
        ("private/secret.c", "a secret"),
        ("private/deep/secret.c", "a deep secret"),
        ("private/keys", "a key"),
    ] {
        fs::write(home.path(file), format!("{line}\nmore\n")).unwrap();
    }
    home
}

#[test]
fn source_comes_from_beside_the_report_and_from_where_it_was_recorded() {
    let home = case();
    let absolute = home.path("case/src/kernel.c");
    let files = [
        "beside.c",
        "deep/inner.f90",
        absolute.to_str().unwrap(),
        "src/kernel.c",
        "/build/tree/src/kernel.c",
        "src/../src/./kernel.c",
    ];
    let (found, told) = exported(&home, &files, &[]);
    let found: Vec<String> = found.into_iter().map(Result::unwrap).collect();
    assert_eq!(found[..2], ["beside the report", "further below"]);
    assert!(found[2..].iter().all(|it| it == "where it was recorded"), "{found:?}");
    for file in ["case/run/beside.c", "case/run/deep/inner.f90", "case/src/kernel.c"] {
        assert!(told.lines().any(|line| line.trim().ends_with(file)), "{file}: {told}");
    }
    assert_eq!(told.matches("kernel.c").count(), 1, "each file is listed once: {told}");
}

#[test]
fn nothing_else_is_shown() {
    let home = case();
    symlink(home.path("private/keys"), home.path("case/run/evil.c")).unwrap();
    symlink(home.path("private"), home.path("case/run/linked")).unwrap();
    symlink(home.path("private"), home.path("case/linked")).unwrap();
    symlink("/etc/passwd", home.path("case/run/passwd.c")).unwrap();
    let pipe = Command::new("mkfifo").arg(home.path("case/run/pipe.c")).status().unwrap();
    assert!(pipe.success());
    let outside = home.path("private/secret.c");
    let through = home.path("case/run/linked/secret.c");
    let files = [
        "evil.c",
        "passwd.c",
        "pipe.c",
        "linked/secret.c",
        "linked/deep/secret.c",
        "../../private/secret.c",
        "../private/secret.c",
        outside.to_str().unwrap(),
        through.to_str().unwrap(),
        "keys",
        "/etc/passwd",
        "",
        "/",
        "..",
        "deep",
        "deep.c/..",
    ];
    let (found, told) = exported(&home, &files, &[]);
    for (file, found) in files.iter().zip(&found) {
        assert!(found.is_err(), "{file}: {found:?}");
    }
    assert!(!told.contains("source of"), "{told}");
    assert!(found[0].clone().unwrap_err().contains("link"), "{found:?}");
    assert!(found[2].clone().unwrap_err().contains("pipe"), "{found:?}");
    assert!(found[7].clone().unwrap_err().contains("--source-path"), "{found:?}");
}

#[test]
fn the_user_says_whose_source_may_be_shown() {
    let home = case();
    let outside = home.path("private/secret.c");
    let files = ["beside.c", outside.to_str().unwrap(), "src/kernel.c"];
    let private = home.path("private");
    let private = private.to_str().unwrap();
    let (found, _) = exported(&home, &files, &["--source-path", private]);
    assert_eq!(found.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, true, false]);
    let (found, told) =
        exported(&home, &files, &["--source-path", private, "--source-path", "case/src"]);
    assert_eq!(found.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, true, true]);
    assert!(told.contains("private/secret.c") && told.contains("case/src/kernel.c"), "{told}");
    let output = home.dwell(&[
        "export",
        "case/run",
        "--format=html",
        "-o",
        "p.html",
        "--source-path",
        "nowhere",
    ]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("nowhere"), "{}", said(&output));
}

#[test]
fn findings_behind_a_link_are_not_shown() {
    let home = case();
    let secret = r#"{"damage":["my password"]}"#;
    fs::write(home.path("private/findings.json"), secret).unwrap();
    symlink(home.path("private/findings.json"), home.path("case/run/findings.json")).unwrap();
    exported(&home, &["beside.c"], &[]);
    assert!(!answers(&home.path("page.html")).to_string().contains("my password"));
}
