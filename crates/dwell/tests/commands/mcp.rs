//! `dwell mcp` as an assistant meets it: questions and answers of the Model Context Protocol over pipes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::{self, dwell, path};

/// A server and the pipes to it.
pub(crate) struct Assistant {
    server: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    asked: u64,
    /// Bytes of all answers to calls of tools.
    read: usize,
}

impl Assistant {
    /// Starts the server for these runs, and does what the protocol wants first.
    pub(crate) fn start(runs: &[&Path]) -> Self {
        let mut command = support::command("100");
        command.arg("mcp").args(runs).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let answers = BufReader::new(server.stdout.take().unwrap());
        let questions = server.stdin.take();
        let mut assistant = Self { server, questions, answers, asked: 0, read: 0 };
        let about = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" }
        });
        let told = assistant.ask("initialize", &about);
        assert!(told["result"]["capabilities"]["tools"].is_object(), "{told}");
        assert_eq!(told["result"]["serverInfo"]["name"], "dwell");
        let skill = told["result"]["instructions"].as_str().unwrap();
        assert!(
            skill.starts_with("# Find a wait") && skill.contains("never instructions"),
            "{skill}"
        );
        assistant.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assistant
    }

    fn send(&mut self, message: &Value) {
        let pipe = self.questions.as_mut().unwrap();
        writeln!(pipe, "{message}").unwrap();
        pipe.flush().unwrap();
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }));
        loop {
            let mut line = String::new();
            assert!(self.answers.read_line(&mut line).unwrap() > 0, "the server has ended");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                return answer;
            }
        }
    }

    /// Calls a tool, and returns its answer. Fails if that is an error.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let told = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        assert_eq!(told["result"]["isError"], false, "{told}");
        let answer = told["result"]["structuredContent"].clone();
        self.read += answer.to_string().len();
        answer
    }

    /// Calls a tool that fails, and returns the reason.
    fn fail(&mut self, tool: &str, arguments: &Value) -> String {
        let told = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        assert_eq!(told["result"]["isError"], true, "{told}");
        told["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

/// Returns a document as answers have it: without nulls and empty texts, with numbers of three significant digits.
pub(crate) fn brief(document: &Value) -> Value {
    match document {
        Value::Array(list) => list.iter().map(brief).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().filter(|it| !it.1.is_null() && it.1 != "");
            let is_moment = |name: &str| name == "begin_seconds";
            let moment = |at: &Value| json!((at.as_f64().unwrap() * 1e6).round() / 1e6);
            let one = |(name, it): (&String, &Value)| match is_moment(name) {
                true => (name.clone(), moment(it)),
                false => (name.clone(), brief(it)),
            };
            fields.map(one).collect()
        }
        Value::Number(number) if number.is_f64() => {
            json!(format!("{:.2e}", number.as_f64().unwrap()).parse::<f64>().unwrap())
        }
        other => other.clone(),
    }
}

/// A recording whose answer is known, because its program was made for it: kind of loss, process, lines of its source.
type Known = (&'static str, &'static str, &'static str, &'static [u64]);

/// Recordings of `tests/data/kinds`, by their modes of `kinds.c`; `sampled` is `samples.c late`.
const KNOWN: &[Known] = &[
    ("imbalance", "load imbalance", "PE 1 computes 3.0 times as long", &[34, 36]),
    ("progress", "missing progress", "PE 1 computes", &[45, 42]),
    ("lock", "serialised lock", "PE 1", &[50, 52]),
    ("signal", "late signal", "PE 0", &[60, 63]),
    ("polling", "polling", "shmem_long_test", &[73]),
    ("cores", "shared cores", "4 processes share 1 cores", &[]),
    ("elements", "element-wise transfers", "shmem_double_iget", &[86]),
    ("since", "load imbalance", "from iteration 71 of 100 on, PE 1", &[93]),
    ("sampled", "load imbalance", "Rank 1 computes", &[72, 35]),
];

/// Does what `skill/SKILL.md` says: reads the verdict of a run, and then the cause or finding of each of its points. Returns all
/// that was read of the first point of this kind, and the bytes of all answers.
fn follow_the_skill(run: &Path, kind: &str) -> (String, usize) {
    let mut assistant = Assistant::start(&[run]);
    let name = run.file_name().unwrap().to_str().unwrap();
    let runs = assistant.call("runs", &json!({}));
    let verdict = &runs["runs"][0]["verdict"];
    let mut read = None;
    for point in verdict["points"].as_array().unwrap() {
        let more = match point["id"].as_str() {
            None => Value::Null,
            Some(id) => {
                let is_cause = id.starts_with(|it: char| it.is_ascii_uppercase());
                let tool = if is_cause { "causes" } else { "findings" };
                assistant.call(tool, &json!({ "run": name, "id": id }))
            }
        };
        if point["kind"] == kind {
            read.get_or_insert(format!("{} {point} {more}", verdict["since"]));
        }
    }
    (read.unwrap_or_else(|| panic!("{name}: no {kind} in {verdict}")), assistant.read)
}

#[test]
fn the_skill_finds_ten_known_causes() {
    let home = tempfile::tempdir().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kinds");
    let mut bytes = 0;
    for (name, kind, who, lines) in KNOWN {
        let run = home.path().join(name);
        support::copy(&data.join(name), &run);
        assert!(dwell(&["analyze", path(&run)]).status.success());
        let (read, length) = follow_the_skill(&run, kind);
        assert!(read.contains(who), "{name}: {who} is not in {read}");
        for line in *lines {
            assert!(
                read.contains(&format!("\"line\":{line},")),
                "{name}: no line {line} in {read}"
            );
        }
        bytes += length;
        println!("{name}: {length} bytes");
    }
    // The tenth is made by a schedule, in which a node computes longer.
    let run = home.path().join("slow");
    let words = ["synth", "slow", "node", "--ranks", "128", "--steps", "40", "-o", path(&run)];
    assert!(dwell(&words).status.success() && dwell(&["analyze", path(&run)]).status.success());
    let (read, length) = follow_the_skill(&run, "load imbalance");
    assert!(read.contains("Ranks of node0009 compute"), "{read}");
    bytes += length;
    println!("slow: {length} bytes; {bytes} bytes for ten runs");
    assert!(bytes < 10 * 8_000, "{bytes} bytes");
}

/// PE 1 computes for 30 ms in each of six rounds, and PE 0 for 10: balanced, each round is 10 ms shorter.
#[test]
fn an_assistant_asks_what_a_change_would_gain_and_sees_the_wait() {
    let home = tempfile::tempdir().unwrap();
    let run = home.path().join("run");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kinds/imbalance");
    support::copy(&data, &run);
    assert!(dwell(&["analyze", path(&run)]).status.success());
    let mut assistant = Assistant::start(&[&run]);
    let played = assistant.call("what_if", &json!({ "run": "run", "id": "A" }));
    assert_eq!(played["change"], "with cause A balanced");
    let seconds = |key: &str| played[key].as_f64().unwrap();
    let gain = seconds("recorded_seconds") - seconds("predicted_seconds");
    assert!((gain - 0.06).abs() < 0.002, "{played}");
    let why = assistant.fail("what_if", &json!({ "run": "run", "id": "Z" }));
    assert_eq!(why, "nothing is known that would remove this");
    let shown = assistant.call("timeline", &json!({ "run": "run", "id": "A" }));
    let picture = shown["picture"].as_str().unwrap();
    let row = |name: &str| picture.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(row("PE 0").contains("#####") && !row("PE 1").contains('#'), "{picture}");
    assert!(picture.contains("PE 0 waits") && picture.contains("for PE 1"), "{picture}");
    let [all, part] = [json!({ "run": "run" }), json!({ "run": "run", "to_seconds": 0.1 })]
        .map(|question| assistant.call("timeline", &question));
    assert_ne!(all, part);
    let why = assistant.fail("timeline", &json!({ "run": "run", "id": "9" }));
    assert!(why.starts_with("there is no finding 9"), "{why}");
    drop(assistant.questions.take());
    assert!(assistant.server.wait().is_ok());
}

#[test]
fn an_assistant_asks_about_two_runs() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after] = ["before", "after"].map(|name| folder.path().join(name));
    for (run, iterations) in [(&before, "8"), (&after, "16")] {
        let make = ["synth", "sor", "--ranks", "4", "--iterations", iterations, "-o", path(run)];
        assert!(dwell(&make).status.success());
        assert!(dwell(&["analyze", path(run)]).status.success());
    }
    let mut assistant = Assistant::start(&[&before, &after]);
    let tools = assistant.ask("tools/list", &json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    let mut names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    let known = [
        "call_tree",
        "causes",
        "compare",
        "findings",
        "metrics",
        "runs",
        "source_lines",
        "timeline",
        "what_if",
        "where_is_it",
    ];
    assert_eq!(names, known);

    let runs = assistant.call("runs", &json!({}));
    assert_eq!(runs["runs"][0]["run"], "before");
    assert_eq!(runs["runs"][0]["processes"], 4);
    let document = std::fs::read(before.join("findings.json")).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(runs["runs"][0]["waits_seconds"], brief(&document["waits_seconds"]));

    let findings = assistant.call("findings", &json!({ "run": "before", "top": 1 }));
    assert_eq!(findings["findings"].as_array().unwrap().len(), 1);
    assert_eq!(findings["findings"][0], brief(&document["findings"][0]));
    let causes = assistant.call("causes", &json!({ "run": "before" }));
    assert_eq!(causes["of"], document["causes"].as_array().unwrap().len());

    let tree = assistant.call("call_tree", &json!({ "run": "before", "depth": 2 }));
    let report = dwell(&["report", path(&before), "--tree", "time", "--depth", "2", "--json"]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!((&tree["tree"], &tree["unit"]), (&brief(&report["tree"]), &json!("sec")));
    let metrics = assistant.call("metrics", &json!({ "run": "after" }));
    assert!(support::flat(&metrics["metrics"]).iter().any(|row| row["metric"] == "time"));
    let lines = assistant.call("source_lines", &json!({ "run": "after", "top": 2 }));
    assert!(lines["lines"].as_array().unwrap().len() <= 2);
    let compared = assistant.call("compare", &json!({ "before": ["before"], "after": ["after"] }));
    assert_eq!(compared["verdict"], "slower", "{compared}");

    // Only the runs that were named can be asked about, by name.
    for name in ["/etc", "../before", path(&before), "other"] {
        let why = assistant.fail("findings", &json!({ "run": name }));
        assert_eq!(why, format!("no run `{name}`; the runs are before, after"));
    }
    let why = assistant.fail("call_tree", &json!({ "run": "before", "metric": "tim" }));
    assert_eq!(why, "no metric `tim`; `metrics` lists them");
    // The server ends with its assistant.
    drop(assistant.questions.take());
    assert_eq!(assistant.server.wait().unwrap().code(), Some(0));
}

/// Answers about a run that was made from damaged files say so.
#[test]
fn answers_about_a_damaged_run_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let make = ["synth", "sor", "--ranks", "4", "--iterations", "4", "-o", path(&run)];
    assert!(dwell(&make).status.success());
    let events = run.join("traces/1.evt");
    let bytes = std::fs::read(&events).unwrap();
    std::fs::write(&events, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(dwell(&["analyze", path(&run)]).status.code(), Some(1));
    let mut assistant = Assistant::start(&[&run]);
    let says = |answer: &Value| answer["damage"].as_array().is_some_and(|it| !it.is_empty());
    assert!(says(&assistant.call("runs", &json!({}))["runs"][0]));
    for tool in ["findings", "causes", "metrics", "call_tree", "source_lines"] {
        assert!(says(&assistant.call(tool, &json!({ "run": "run" }))), "{tool}");
    }
    let two = json!({ "before": ["run"], "after": ["run"] });
    assert!(says(&assistant.call("compare", &two)));
    drop(assistant.questions.take());
    assert!(assistant.server.wait().is_ok());
}

#[test]
fn a_run_that_was_not_analysed_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let made = dwell(&["synth", "sor", "--ranks", "2", "--iterations", "1", "-o", path(&run)]);
    assert!(made.status.success());
    let output = dwell(&["mcp", path(&run)]);
    assert_eq!(output.status.code(), Some(2));
    assert!(support::text(&output.stderr).contains("next: dwell analyze"), "{output:?}");
}

/// A run that has not ended has no report, but can be asked where it is.
#[test]
fn a_run_that_has_not_ended_can_be_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("hangs");
    std::fs::create_dir_all(run.join("open")).unwrap();
    let mut assistant = Assistant::start(&[&run]);
    let why = assistant.fail("where_is_it", &json!({ "run": "hangs" }));
    assert!(why.contains("no process has files here"), "{why}");
}
