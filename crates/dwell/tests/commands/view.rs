//! `dwell view` as users and browsers see it: every number is that of `dwell report`, and only this user can use the
//! address.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::{self, dwell, golden, path, text};

/// A server that ends with the test.
pub(crate) struct Viewing {
    child: Child,
    host: String,
    code: String,
    secret: String,
    /// Where it writes its address.
    runtime: tempfile::TempDir,
}

impl Drop for Viewing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Viewing {
    pub(crate) fn of(args: &[&str]) -> Self {
        Self::by("view", args)
    }

    /// Starts a command that opens the explorer.
    pub(crate) fn by(name: &str, args: &[&str]) -> Self {
        let runtime = tempfile::tempdir().unwrap();
        let mut command = support::command("100");
        command.arg(name).args(args).arg("--no-browser").env("XDG_RUNTIME_DIR", runtime.path());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.find_map(|line| line.ok().filter(|it| it.contains("/#code="))).unwrap();
        let (address, code) = line.trim().split_once("/#code=").unwrap();
        let host = address.strip_prefix("http://").unwrap().to_owned();
        let mut viewing = Self { child, host, code: code.into(), secret: String::new(), runtime };
        let body = format!("{{\"code\":\"{}\"}}", viewing.code);
        let head = "Content-Type: application/json\r\n";
        let answer = viewing.send("POST", "session", head, &body).unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        viewing.secret = answer["secret"].as_str().unwrap().to_owned();
        viewing
    }

    fn send(&self, method: &str, question: &str, head: &str, body: &str) -> Option<Vec<u8>> {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let length = body.len();
        let request = format!(
            "{method} /api/v1/{question} HTTP/1.1\r\nHost: {}\r\n{head}Connection: close\r\nContent-Length: \
             {length}\r\n\r\n{body}",
            self.host
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
        bytes.starts_with(b"HTTP/1.1 200").then(|| bytes.split_off(end + 4))
    }

    pub(crate) fn ask(&self, question: &str) -> Value {
        let head = format!("Authorization: Bearer {}\r\n", self.secret);
        let answer = self.send("GET", question, &head, "");
        serde_json::from_slice(&answer.unwrap_or_else(|| panic!("{question}"))).unwrap()
    }
}

fn report(file: &Path, args: &[&str]) -> Value {
    let output = dwell(&[&["report", path(file), "--json"], args].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn near(a: &Value, b: &Value, what: &str) {
    let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
    assert!((a - b).abs() <= 1e-9 * a.abs().max(b.abs()) + 1e-15, "{what}: {a} and {b}");
}

/// Returns a pseudo-random number below a limit.
fn draw(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize % below
}

/// Compares random selections of the page with the report.
fn compare(file: &Path, seed: u64) {
    let viewing = Viewing::of(&[path(file)]);
    let metrics = viewing.ask("runs/0/metrics");
    let metrics = metrics["metrics"].as_array().unwrap();
    // All metrics of the whole program.
    let listed = report(file, &["--metrics"]);
    for row in support::flat(&listed["metrics"]) {
        let name = row["metric"].as_str().unwrap();
        let metric = metrics.iter().find(|it| it["name"] == name).unwrap();
        match row["value"].as_f64() {
            Some(_) => near(&metric["value"], &row["value"], name),
            None => assert_eq!(metric["readable"], false),
        }
    }
    let calls = viewing.ask("runs/0/calls");
    let calls = calls["calls"].as_array().unwrap();
    let path_of = |mut at: usize| {
        let mut names = vec![calls[at]["name"].as_str().unwrap()];
        while let Some(above) = calls[at]["parent"].as_u64() {
            at = above as usize;
            names.insert(0, calls[at]["name"].as_str().unwrap());
        }
        names.join(" / ")
    };
    let mut state = seed;
    let mut compared = 0;
    for _ in 0..24 {
        let metric = draw(&mut state, metrics.len());
        let call = draw(&mut state, calls.len());
        if metrics[metric]["readable"] != true {
            continue;
        }
        let name = metrics[metric]["name"].as_str().unwrap();
        let wanted = path_of(call);
        // Names with slashes, and paths that differ in their call sites only, cannot be named.
        if (0..calls.len()).filter(|&it| path_of(it) == wanted).count() != 1
            || wanted.contains("//")
        {
            continue;
        }
        let output = dwell(&[
            "report",
            path(file),
            "--json",
            "--spread",
            "--metric",
            name,
            "--path",
            &wanted,
        ]);
        if !output.status.success() {
            continue;
        }
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let spread = viewing.ask(&format!("runs/0/spread?call={call}&metric={metric}"));
        for row in told["spread"].as_array().unwrap() {
            let statistic = row["statistic"].as_str().unwrap();
            for of in ["processes", "locations"] {
                near(
                    &spread[of][statistic],
                    &row[of],
                    &format!("{name} at {wanted}: {statistic} of {of}"),
                );
            }
        }
        for (worst, row) in
            spread["worst"].as_array().unwrap().iter().zip(told["locations"].as_array().unwrap())
        {
            near(&worst["value"], &row["value"], name);
            assert_eq!(worst["name"], row["location"]);
        }
        // The same call path in the tree: with and without what it calls.
        let values = viewing.ask(&format!("runs/0/calls/values?metric={metric}"));
        let place = values["calls"].as_array().unwrap().iter().position(|it| it == call);
        let of = |which: &str| place.map_or(Value::from(0.0), |at| values[which][at].clone());
        let tree = report(file, &["--tree", name, "--path", &wanted, "--depth", "1"]);
        near(&of("inclusive"), &tree["tree"][0]["inclusive"], &wanted);
        near(&of("exclusive"), &tree["tree"][0]["own"], &wanted);
        // Parts of the system add up to it.
        let rows = viewing.ask(&format!("runs/0/system/values?call={call}&metric={metric}"));
        let roots = viewing.ask("runs/0/system")["roots"].as_u64().unwrap() as usize;
        let sum: f64 = (0..roots).map(|at| rows["values"][at].as_f64().unwrap()).sum();
        near(&Value::from(sum), &of("inclusive"), &wanted);
        compared += 1;
    }
    assert!(compared >= 5, "only {compared} selections of {} were compared", file.display());
}

fn analysed(directory: &Path, kind: &str) -> PathBuf {
    let archive = directory.join(kind);
    let made = dwell(&["synth", kind, "-o", path(&archive), "--ranks", "6"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert!(dwell(&["analyze", path(&archive), "--full=0"]).status.success());
    archive
}

#[test]
fn help_says_what_view_does() {
    golden("help-view.txt", &text(&dwell(&["view", "--help"]).stdout));
    golden("help-export.txt", &text(&dwell(&["export", "--help"]).stdout));
}

#[test]
fn an_exported_file_keeps_to_its_size_and_holds_everything() {
    let directory = tempfile::tempdir().unwrap();
    let archive = analysed(directory.path(), "random");
    let file = directory.path().join("run.html");
    let output = dwell(&["export", path(&archive), "--format=html", "-o", path(&file)]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!text(&output.stdout).contains("did not fit"), "{}", text(&output.stdout));
    let whole = std::fs::read_to_string(&file).unwrap();
    assert!(whole.contains("Content-Security-Policy") && whole.contains("dwell-data"));
    for outside in ["src=\"", "@import", "url(http"] {
        assert!(!whole.contains(outside), "{outside}");
    }
    let small = dwell(&[
        "export",
        path(&archive),
        "--format=html",
        "-o",
        path(&file),
        "--max-size",
        "100K",
    ]);
    assert!(text(&small.stdout).contains("did not fit"), "{}", text(&small.stdout));
    let size = std::fs::metadata(&file).unwrap().len();
    assert!(size < 300_000 && size < whole.len() as u64, "{size}");
    // The same twice.
    let again = directory.path().join("again.html");
    dwell(&["export", path(&archive), "--format=html", "-o", path(&again)]);
    assert!(std::fs::read_to_string(again).unwrap() == whole);
}

#[test]
fn numbers_are_those_of_report() {
    let directory = tempfile::tempdir().unwrap();
    let synthetic = directory.path().join("r.cubex");
    let args = ["synth", "report", "-o", path(&synthetic), "--locations", "70", "--paths", "40"];
    assert!(dwell(&args).status.success());
    compare(&synthetic, 1);
    for kind in ["random", "ring"] {
        compare(&analysed(directory.path(), kind).join("trace.cubex"), 2);
    }
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/reference");
    for (name, seed) in [
        ("mpi_waits/scout.cubex", 3),
        ("mpi_waits/profile.cubex", 4),
        ("shmem_ops/profile.cubex", 5),
    ] {
        compare(&reference.join(name), seed);
    }
}

#[test]
fn the_first_screen_is_what_analyze_found() {
    let directory = tempfile::tempdir().unwrap();
    for kind in ["sor", "random"] {
        findings_lead_to_their_numbers(&analysed(directory.path(), kind));
    }
}

fn findings_lead_to_their_numbers(archive: &Path) {
    let viewing = Viewing::of(&[path(archive)]);
    let overview = viewing.ask("runs/0/overview");
    let found = std::fs::read(archive.join("findings.json")).unwrap();
    let found: Value = serde_json::from_slice(&found).unwrap();
    let shown = overview["findings"].as_array().unwrap();
    assert_eq!(shown.len(), found["findings"].as_array().unwrap().len());
    assert!(!shown.is_empty());
    let calls = viewing.ask("runs/0/calls");
    for (shown, found) in shown.iter().zip(found["findings"].as_array().unwrap()) {
        for field in ["seconds", "share", "explanation", "remedy", "confidence", "pattern"] {
            assert_eq!(shown[field], found[field]);
        }
        // It leads to the call that waits, and the report has the same number there.
        let call = shown["call"].as_u64().unwrap();
        assert_eq!(calls["calls"][call as usize]["name"], shown["region"]);
        let metric = shown["metric"].as_u64().unwrap();
        let spread =
            viewing.ask(&format!("runs/0/spread?metric={metric}&call={call}&flavour=exclusive"));
        if found["seconds"] == 0.0 {
            // A wait that may be none leads to its upper bound.
            near(&spread["total"], &shown["seconds_at_most"], "an upper bound and the report");
        } else {
            near(&spread["total"], &shown["seconds"], "a finding and the report");
        }
    }
    let notes = overview["notes"].as_array().unwrap().iter();
    let notes = notes.filter(|it| it["kind"] == "inefficient");
    let inefficient = found["inefficient"].as_array().unwrap();
    assert_eq!(notes.clone().count(), inefficient.len());
    for (note, found) in notes.zip(inefficient) {
        let (note, remedy) = (note["text"].as_str().unwrap(), found["remedy"].as_str().unwrap());
        assert!(note.contains("could be saved") && note.ends_with(remedy), "{note}");
    }
    near(&overview["time"], &found["time_seconds"], "time");
    let bars = viewing.ask("runs/0/bars");
    let whole: f64 = bars["whole"].as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).sum();
    near(&Value::from(whole), &overview["time"], "classes add up to the time");
    // Pairs add up to the counts of the report.
    let matrix = viewing.ask("runs/0/matrix?kinds=get");
    let gets: f64 =
        matrix["operations"].as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).sum();
    let metrics = viewing.ask("runs/0/metrics");
    let counted = metrics["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["name"].as_str().unwrap().ends_with("comms_rma_gets"));
    let counted: f64 = counted.map(|it| it["value"].as_f64().unwrap()).sum();
    assert_eq!(gets, counted);
}

#[test]
fn findings_that_cannot_be_read_are_named_and_computed_from_the_report() {
    let directory = tempfile::tempdir().unwrap();
    let archive = analysed(directory.path(), "sor");
    let expected = Viewing::of(&[path(&archive)]).ask("runs/0/overview");
    std::fs::write(archive.join("findings.json"), r#"{"version": 3, "findings": {}}"#).unwrap();
    let overview = Viewing::of(&[path(&archive)]).ask("runs/0/overview");
    let note = &overview["notes"][0];
    assert_eq!(note["kind"], "damaged");
    let text = note["text"].as_str().unwrap();
    assert!(text.contains("version 3") && text.contains("`dwell analyze` again"), "{text}");
    near(&overview["waits"], &expected["waits"], "waits of the report and of the findings");
    assert!(!overview["findings"].as_array().unwrap().is_empty());
}

#[test]
fn the_secret_is_nobody_elses() {
    let directory = tempfile::tempdir().unwrap();
    let archive = analysed(directory.path(), "sor");
    let viewing = Viewing::of(&[path(&archive)]);
    for pid in [viewing.child.id()] {
        for file in ["cmdline", "environ"] {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap();
            let told = String::from_utf8_lossy(&bytes);
            assert!(!told.contains(&viewing.code) && !told.contains(&viewing.secret), "{file}");
        }
    }
    assert_eq!(viewing.code.len(), 64);
    assert!(viewing.host.starts_with("127.0.0.1:"));
}

#[test]
fn what_cannot_be_shown_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let output = dwell(&["view", path(directory.path()), "--no-browser"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no archive to analyse"), "{}", text(&output.stderr));
    let output = dwell(&["view", "/nowhere.cubex", "--no-browser"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/nowhere.cubex"), "{}", text(&output.stderr));
}

#[test]
fn without_a_terminal_a_file_always_has_an_address() {
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("r.cubex");
    let args = ["synth", "report", "-o", path(&report), "--locations", "4", "--paths", "4"];
    assert!(dwell(&args).status.success());
    let mut viewing = Viewing::of(&[path(&report)]);
    let files = || std::fs::read_dir(viewing.runtime.path()).unwrap().map(|it| it.unwrap().path());
    let file = files().next().unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let read = || std::fs::read_to_string(&file).unwrap();
    let first = read();
    let code = first.trim().rsplit('=').next().unwrap();
    assert_ne!(code, viewing.code, "a code works once");
    let body = format!("{{\"code\":\"{code}\"}}");
    let head = "Content-Type: application/json\r\n";
    assert!(viewing.send("POST", "session", head, &body).is_some());
    // As soon as somebody has used it, there is another one.
    let is_next = |_: u32| {
        std::thread::sleep(Duration::from_millis(100));
        read() != first
    };
    assert!((0..300).any(is_next));
    assert_eq!(read().len(), first.len());
    let id = viewing.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    viewing.child.wait().unwrap();
    assert_eq!(files().count(), 0, "it is removed in the end");
}

#[test]
fn no_address_is_printed_into_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("r.cubex");
    let args = ["synth", "report", "-o", path(&report), "--locations", "4", "--paths", "4"];
    assert!(dwell(&args).status.success());
    let log = directory.path().join("log");
    let mut command = support::command("100");
    command.args(["view", path(&report), "--no-browser", "--idle", "1s"]);
    command.env("XDG_RUNTIME_DIR", directory.path()).stdin(Stdio::null());
    assert!(command.stdout(std::fs::File::create(&log).unwrap()).status().unwrap().success());
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.starts_with("the address is in ") && !log.contains("#code="), "{log}");
}

#[test]
fn a_signal_ends_it_and_the_socket_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("r.cubex");
    let args = ["synth", "report", "-o", path(&report), "--locations", "4", "--paths", "4"];
    assert!(dwell(&args).status.success());
    let socket = directory.path().join("view.sock");
    for (signal, number) in [("-TERM", 15), ("-INT", 2), ("-HUP", 1)] {
        let mut command = support::command("100");
        command.args(["view", path(&report), "--no-browser", "--socket", path(&socket)]);
        command.env("XDG_RUNTIME_DIR", directory.path());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(socket.exists());
        // It answers, so it watches for signals by now.
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200"));
        let kill = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        assert_eq!(child.wait().unwrap().code(), Some(128 + number), "{signal}");
        assert!(!socket.exists(), "{signal}");
    }
}
