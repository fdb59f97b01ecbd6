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
}

impl Assistant {
    /// Starts the server for these runs, and does what the protocol wants first.
    pub(crate) fn start(runs: &[&Path]) -> Self {
        let mut command = support::command("100");
        command.arg("mcp").args(runs).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let answers = BufReader::new(server.stdout.take().unwrap());
        let questions = server.stdin.take();
        let mut assistant = Self { server, questions, answers, asked: 0 };
        let about = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" }
        });
        let told = assistant.ask("initialize", &about);
        assert!(told["result"]["capabilities"]["tools"].is_object(), "{told}");
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
        told["result"]["structuredContent"].clone()
    }

    /// Calls a tool that fails, and returns the reason.
    fn fail(&mut self, tool: &str, arguments: &Value) -> String {
        let told = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        assert_eq!(told["result"]["isError"], true, "{told}");
        told["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }
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
        "where_is_it",
    ];
    assert_eq!(names, known);

    let runs = assistant.call("runs", &json!({}));
    assert_eq!(runs["runs"][0]["run"], "before");
    assert_eq!(runs["runs"][0]["processes"], 4);
    let document = std::fs::read(before.join("findings.json")).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(runs["runs"][0]["waits_seconds"], document["waits_seconds"]);

    let findings = assistant.call("findings", &json!({ "run": "before", "top": 1 }));
    assert_eq!(findings["findings"].as_array().unwrap().len(), 1);
    assert_eq!(findings["findings"][0], document["findings"][0]);
    let causes = assistant.call("causes", &json!({ "run": "before" }));
    assert_eq!(causes["of"], document["causes"].as_array().unwrap().len());

    let tree = assistant.call("call_tree", &json!({ "run": "before", "depth": 2 }));
    let report = dwell(&["report", path(&before), "--tree", "time", "--depth", "2", "--json"]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!((&tree["tree"], &tree["unit"]), (&report["tree"], &json!("sec")));
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
