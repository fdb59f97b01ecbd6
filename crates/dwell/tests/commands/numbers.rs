//! One number for one thing: ids, times and shares of findings and causes are the same on every surface.
//!
//! Each archive is analysed once. What `findings.json` says is then held against the text of `dwell analyze`, `report`,
//! `whatif`, `timeline`, `compare`, `mcp` and the page in an HTML file.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use dwell_model::units::{bounds, percents};
use dwell_model::waits::Wait;
use dwell_report::findings::{Entry, Finding, Findings, Named};
use serde_json::{Value, json};

use crate::mcp::{Assistant, brief};
use crate::support::{self, copy, path, text};

/// Runs a command with very long lines, so that none is broken, and returns what it prints.
fn said(args: &[&str]) -> String {
    let output = support::command("2000").args(args).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn answered(args: &[&str]) -> Value {
    serde_json::from_str(&said(args)).unwrap()
}

/// Asserts that two numbers are equal but for rounding.
fn near(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() <= 1e-6 * a.abs().max(b.abs()) + 1.5e-9, "{what}: {a} and {b}");
}

/// An archive that was analysed.
struct Analysed {
    directory: PathBuf,
    text: String,
    findings: Findings,
}

impl Analysed {
    fn of(directory: PathBuf) -> Self {
        let text = said(&["analyze", path(&directory), "--full", "--threads", "2"]);
        let findings = std::fs::read(directory.join("findings.json")).unwrap();
        Self { directory, text, findings: Findings::read(&findings).unwrap() }
    }

    fn path(&self) -> &str {
        path(&self.directory)
    }

    fn parts(&self, entry: &Entry) -> Vec<&Finding> {
        entry.findings.iter().map(|at| &self.findings.findings[*at as usize]).collect()
    }

    /// Returns what the text of the analysis says after some words.
    fn after(&self, words: &str) -> String {
        let text = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let found = text.split_once(words);
        found.unwrap_or_else(|| panic!("{}: {words:?} in\n{}", self.path(), self.text)).1.to_owned()
    }

    /// The list of `dwell analyze` has the ids of the document in their order, with its times and shares.
    fn is_told(&self) {
        let document = &self.findings;
        let is_id = |it: &str| !it.is_empty() && it.chars().all(|it| it.is_ascii_alphanumeric());
        let heads = self.text.lines().filter_map(|it| it.split_once(". ").map(|it| it.0));
        let told: Vec<String> = heads.filter(|it| is_id(it)).map(str::to_owned).collect();
        let causes = document.causes.iter().map(|it| it.id.clone());
        let listed = document.listed();
        let ids: Vec<String> = causes.chain(listed.iter().map(|it| it.0.to_string())).collect();
        assert_eq!(told, ids, "{}", self.path());
        for (at, (id, named)) in (1..).zip(&listed) {
            assert_eq!(*id, at);
            match *named {
                Named::Entry(at) => {
                    let entry = &document.entries[at];
                    let region = &self.parts(entry)[0].path.last().unwrap().region;
                    let said = self.after(&format!(" {id}. {region}"));
                    let (_, said) = said.split_once(" waits ").unwrap();
                    let time = bounds(entry.seconds, entry.seconds_at_most);
                    let part = percents(entry.share.unwrap(), entry.share_at_most.unwrap());
                    assert!(said.starts_with(&format!("{time}, {part} of the run")), "{said}");
                }
                Named::Inefficient(at) => {
                    let region = &document.inefficient[at].path.last().unwrap().region;
                    self.after(&format!(" {id}. {region}"));
                }
                Named::Cause(_) => panic!("a cause is not a finding"),
            }
        }
        for cause in &document.causes {
            let (head, of) = (cause.said().head, cause.seconds);
            let margin = if cause.margin_seconds < of / 100.0 { 0.0 } else { cause.margin_seconds };
            let time = bounds((of - margin).max(0.0), of + margin);
            self.after(&format!(" {}. {head}: {time} of waits", cause.id));
        }
        let (least, most) = (document.waits_seconds, document.waits_seconds_at_most);
        let (time, run) = (bounds(least, most), document.run_seconds.max(1e-9));
        self.after(&format!(
            " waits take {time} of the run, {}",
            percents(least / run, most / run)
        ));
    }

    /// No factor of efficiency is above 1, and the critical path is that of the run, without start-up.
    fn is_plausible(&self) {
        if let Some(it) = &self.findings.efficiency {
            let factors = [it.serialisation, it.progress, it.transfer].into_iter().flatten();
            let mut all =
                [it.parallel, it.load_balance, it.communication].into_iter().chain(factors);
            assert!(all.all(|it| (0.0..=1.0).contains(&it)), "{}: {it:?}", self.path());
        }
        let path = &self.findings.critical_path;
        for it in path {
            let region = &it.path.last().unwrap().region;
            assert!(!region.contains("init") && !region.contains("Init"), "{region}");
        }
        assert!(path.iter().map(|it| it.share).sum::<f64>() < 1.0 + 1e-9);
    }

    /// `dwell report` names the same findings, with the same times and the same parts of the run.
    fn is_reported(&self) {
        let report = answered(&["report", self.path(), "--json", "--top", "1000"]);
        let rows = report["waits"].as_array().map_or(&[][..], Vec::as_slice);
        let ids: Vec<u64> = rows.iter().map(|it| number(&it["finding"])).collect();
        assert!(ids.is_sorted(), "{}: {ids:?}", self.path());
        for entry in &self.findings.entries {
            // The report has lower bounds; waits that are parts of others have rows of their own.
            let parts = self.parts(entry);
            let titles: Vec<_> = parts.iter().map(|it| (it.seconds, it.share)).collect();
            for (time, share) in titles.into_iter().filter(|it| it.0 > 0.0) {
                let of_entry = |it: &&Value| number(&it["finding"]) == u64::from(entry.id);
                let mut rows = rows.iter().filter(of_entry);
                let row = rows.find(|it| (it["time"].as_f64().unwrap() - time).abs() < 2e-9);
                let row =
                    row.unwrap_or_else(|| panic!("{}: {} {time} {report}", self.path(), entry.id));
                match share {
                    Some(share) => near(row["share"].as_f64().unwrap(), share, "part of the run"),
                    None => assert!(row["share"].is_null(), "{row}"),
                }
            }
        }
        for id in self.findings.entries.iter().take(2).map(|it| it.id.to_string()) {
            let below = answered(&["report", self.path(), "--json", "--path", &id]);
            assert!(!below["call_paths"].as_array().unwrap().is_empty(), "{below}");
        }
        near(report["time"][0]["time"].as_f64().unwrap(), self.findings.run_seconds, "the run");
        near(report["time"][0]["share"].as_f64().unwrap(), 1.0, "all of the run");
    }

    /// `dwell whatif` takes the ids, and removes the waits of these findings.
    fn is_played(&self) {
        let list = answered(&["whatif", self.path(), "--json"]);
        let list: Vec<&Value> = list.as_array().unwrap().iter().collect();
        for (id, named) in self.findings.listed().into_iter().take(5) {
            let Named::Entry(at) = named else { continue };
            let entry = &self.findings.entries[at];
            let main = self.parts(entry)[0];
            let title = Wait::of_id(&main.pattern).unwrap().about().title;
            let region = &main.path.last().unwrap().region;
            let head = format!("without finding {id}: {title} in {region}");
            let of_list = list.iter().find(|it| it["change"] == head.as_str());
            let of_list = of_list.unwrap_or_else(|| panic!("{head}: {list:?}"));
            if id == 1 {
                let asked = answered(&["whatif", self.path(), "--json", "--without", "1"]);
                assert_eq!(**of_list, asked);
            }
            let Some(gain) = entry.gain.as_ref().and_then(|it| it.seconds) else { continue };
            let [was, is] =
                ["recorded_seconds", "predicted_seconds"].map(|it| of_list[it].as_f64().unwrap());
            near(was - is, gain, &head);
        }
    }

    /// `dwell timeline` shows an instance of the finding or cause with this id, or says why it cannot.
    fn is_drawn(&self) {
        let listed = self.findings.listed();
        let ids = listed.iter().map(|it| it.0.to_string()).take(3);
        for id in ids.chain(self.findings.causes.first().map(|it| it.id.clone())) {
            let arguments = ["timeline", self.path(), "--finding", &id];
            let output = support::command("2000").args(arguments).output().unwrap();
            let (picture, error) = (text(&output.stdout), text(&output.stderr));
            if output.status.success() {
                let waits = self.findings.waits_of(self.findings.named(&id).unwrap());
                let is = |pattern: &str| {
                    let title = Wait::of_id(pattern).unwrap().about().title;
                    picture.starts_with(&format!("{id}. {title} at "))
                };
                assert!(waits.iter().any(|it| is(it.1)), "{picture}");
            } else {
                let reasons = ["it is not known who ended the waits of finding", "is not a wait"];
                assert!(reasons.iter().any(|it| error.contains(it)), "{id}: {error}");
            }
        }
    }

    /// An assistant gets the same ids and rounded numbers, and can ask for one of them.
    fn is_answered(&self) {
        let mut assistant = Assistant::start(&[&self.directory]);
        let run = self.directory.file_name().unwrap().to_str().unwrap();
        let all = assistant.call("findings", &json!({ "run": run, "top": 100 }));
        let written = brief(&serde_json::to_value(&self.findings).unwrap());
        let first =
            |list: &Value| list.as_array().unwrap().iter().take(100).cloned().collect::<Value>();
        assert_eq!(all["findings"], first(&written["findings"]));
        assert_eq!(all["inefficient"], first(&written["inefficient"]));
        let causes = assistant.call("causes", &json!({ "run": run, "top": 100 }));
        assert_eq!(causes["causes"], first(&written["causes"]));
        if let Some(last) = self.findings.causes.last() {
            let one = assistant.call("causes", &json!({ "run": run, "id": last.id }));
            assert_eq!(one["causes"][0]["seconds"], brief(&json!(last.seconds)));
        }
        if let Some(last) = self.findings.entries.last() {
            let one = assistant.call("findings", &json!({ "run": run, "id": last.id.to_string() }));
            assert_eq!(one["findings"].as_array().unwrap().len(), last.findings.len());
        }
    }

    /// The page has the same ids, and its bar the same part of waits as its sentence.
    fn is_shown(&self) {
        let file = self.directory.join("run.html");
        said(&["export", self.path(), "--format=html", "-o", path(&file)]);
        let answers = answers_in(&file);
        let overview = &answers["runs/0/overview"];
        let written = serde_json::to_value(&self.findings).unwrap();
        let (shown, all) = (overview["entries"].as_array().unwrap(), &written["entries"]);
        for (at, entry) in shown.iter().enumerate() {
            assert_eq!(entry, &all[at], "{}", self.path());
        }
        for (cause, of) in overview["causes"].as_array().unwrap().iter().zip(&self.findings.causes)
        {
            assert_eq!((&cause["id"], &cause["seconds"]), (&json!(of.id), &json!(of.seconds)));
        }
        for key in ["run", "startup", "shutdown", "waits"] {
            near(
                overview[key].as_f64().unwrap(),
                written[&format!("{key}_seconds")].as_f64().unwrap(),
                key,
            );
        }
        let whole = answers["runs/0/bars?count=0"]["whole"].as_array().unwrap();
        let whole: Vec<f64> = whole.iter().map(|it| it.as_f64().unwrap()).collect();
        near(whole.iter().sum(), self.findings.run_seconds, "the bar is the run");
        near(
            *whole.last().unwrap(),
            self.findings.waits_seconds,
            "the bar has the waits of the sentence",
        );
        let rows = answers["runs/0/bars?count=256"]["values"].as_array().unwrap();
        let bars: f64 =
            rows.iter().flat_map(|it| it.as_array().unwrap()).filter_map(Value::as_f64).sum();
        // A wait in a call without a class, such as an allocation, may be longer than what is left of it without the calls
        // inside, and nothing is shorter than nothing.
        let run = self.findings.run_seconds;
        assert!(bars > 0.999_999 * run && bars < 1.02 * run, "{}: {bars} of {run}", self.path());
        near(overview["parts"][0]["seconds"].as_f64().unwrap(), self.findings.run_seconds, "parts");
    }

    /// The comparison has the sum of waits that the analysis has.
    fn is_compared(&self) {
        let comparison = answered(&["compare", self.path(), self.path(), "--json"]);
        for side in ["before", "after"] {
            let waits = comparison[side]["waits_seconds"].as_f64().unwrap();
            near(waits, self.findings.waits_seconds, "waits of the comparison");
        }
    }
}

fn number(of: &Value) -> u64 {
    of.as_str().and_then(|it| it.parse().ok()).unwrap_or_else(|| of.as_u64().unwrap_or(u64::MAX))
}

/// Returns the answers inside of an HTML file.
fn answers_in(file: &Path) -> Value {
    let html = std::fs::read_to_string(file).unwrap();
    let (_, data) = html.split_once("id=\"dwell-data\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(data.trim()).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    let answers: Value = serde_json::from_str(&text).unwrap();
    answers
}

/// Recorded runs, of all runtimes.
const RECORDED: &[&str] = &[
    "armci-waits",
    "coarrays-critical",
    "gasnet-waits",
    "global-arrays-tasks",
    "mpich-one-sided",
    "openmpi-pt2pt-collectives",
    "openmpi-tcp-mixed",
    "shmem-sm-waits",
    "shmem-tcp-visits",
    "upc-by-gasp",
];

#[test]
fn every_surface_has_the_same_ids_and_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let mut archives = Vec::new();
    for kind in ["halo", "ring", "sor"] {
        let archive = directory.path().join(kind);
        said(&["synth", kind, "-o", path(&archive)]);
        archives.push(archive);
    }
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/archives");
    for name in RECORDED {
        copy(&data.join(name), &directory.path().join(name));
        archives.push(directory.path().join(name));
    }
    for archive in archives {
        let analysed = Analysed::of(archive);
        analysed.is_told();
        analysed.is_plausible();
        analysed.is_reported();
        analysed.is_played();
        analysed.is_drawn();
        analysed.is_answered();
        analysed.is_shown();
        analysed.is_compared();
    }
}
