//! Exports the page and the answers it needs to one file, which opens without a server or a network.
//!
//! The file holds the answers that the server would give, requested in the order in which people look at them, until
//! the data would exceed a stated size. The page tells the user what did not fit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dwell_report::{Call, Class, CnodeId, Flavour, MetricId};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::answers::{CHUNK, answer};
use crate::many::{Directory, Runs};
use crate::page::{HTML, SCRIPT, STYLE};
use crate::question::{Answer, Fault};
use crate::run::{Run, Selection};
use crate::source::Line;
use crate::timeline;

/// The content of an exported file, for the message to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// Number of answers that the file contains.
    pub answers: usize,
    /// Number of answers that did not fit. The page says for these that they were left out.
    pub left_out: usize,
    /// Paths of the source files of which the export contains lines, sorted. Show them to the user, who may not want to
    /// publish them.
    pub sources: Vec<PathBuf>,
    /// Texts of the errors that reading the reports gave, at most 20. The answers concerned are not in the file.
    pub damage: Vec<String>,
}

/// Answers that have been collected, and the room that is left for more.
struct Collection<'a> {
    runs: &'a Runs,
    answers: BTreeMap<String, Box<RawValue>>,
    /// Bytes of data that are left, before compression.
    room: usize,
    left_out: usize,
    sources: BTreeSet<PathBuf>,
    damage: BTreeSet<String>,
}

impl Collection<'_> {
    /// Requests an answer, and keeps it if it fits.
    fn ask(&mut self, path: &str, query: &str) {
        let name = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
        if self.answers.contains_key(&name) {
            return;
        }
        if self.room == 0 {
            self.left_out += 1;
            return;
        }
        let text = match answer(self.runs, path, query) {
            Ok(Answer::Json(bytes)) => String::from_utf8(bytes).ok(),
            Ok(Answer::Numbers(bytes)) => {
                Some(format!("{{\"f64\":\"{}\"}}", STANDARD.encode(bytes)))
            }
            Ok(Answer::Bytes(bytes)) => Some(format!("{{\"u8\":\"{}\"}}", STANDARD.encode(bytes))),
            Err(Fault::Report(error)) => {
                self.damaged(error.to_string());
                None
            }
            Err(Fault::Timeline(error)) => {
                self.damaged(error);
                None
            }
            // A request that is not valid for this report.
            Err(Fault::Unknown | Fault::Bad(_)) => None,
        };
        let Some(text) = text else { return };
        let size = text.len() + name.len();
        match RawValue::from_string(text) {
            Ok(value) if size <= self.room => {
                self.room -= size;
                self.answers.insert(name, value);
            }
            _ => {
                self.room = 0;
                self.left_out += 1;
            }
        }
    }
}

/// The largest number of errors that are reported.
const MOST_DAMAGE: usize = 20;

impl Collection<'_> {
    fn damaged(&mut self, error: String) {
        if self.damage.len() < MOST_DAMAGE {
            self.damage.insert(error);
        }
    }

    /// Requests the source around a call.
    fn source(&mut self, number: usize, run: &Run, cnode: CnodeId) {
        let place = Line::of_call(run, Some(cnode));
        self.source_of(number, run, &place, &format!("call={}", cnode.0));
    }

    /// Requests the source of the functions in which the program computes, and of those that compute where others wait.
    fn sources_of_functions(&mut self, number: usize, run: &Run) {
        let functions = run.findings.as_ref().and_then(|it| it.functions.as_ref());
        for function in 0..functions.map_or(0, |it| it.list.len() as u32) {
            if let Some(place) = Line::of_function(run, function) {
                self.source_of(number, run, &place, &format!("function={function}"));
            }
        }
        for cause in run.findings.iter().flat_map(|it| &it.causes) {
            let functions = cause.sampled.as_ref().map_or(0, |it| it.parts.len() as u32);
            for function in 0..functions {
                if let Some(place) = Line::of_cause(run, &cause.id, function) {
                    let question = format!("cause={}&function={function}", cause.id);
                    self.source_of(number, run, &place, &question);
                }
            }
        }
    }

    /// Requests the source around a place, and notes its file if the answer was kept.
    fn source_of(&mut self, number: usize, run: &Run, place: &Line<'_>, question: &str) {
        let before = self.answers.len();
        self.ask(&format!("runs/{number}/source"), question);
        if self.answers.len() > before {
            self.sources.extend(place.path(run));
        }
    }
}

/// Writes runs into one HTML file, whose data takes at most `most` bytes before compression.
///
/// Answers that people look at first come first, and the rest is left out when the limit is reached; damaged parts of a
/// report are left out as well. The result says what the file contains.
///
/// # Errors
/// If the file cannot be written.
pub fn export(
    runs: impl Into<Runs>,
    most: usize,
    output: &mut impl std::io::Write,
) -> std::io::Result<Exported> {
    let runs = runs.into();
    let mut all = Collection {
        runs: &runs,
        answers: BTreeMap::new(),
        room: most,
        left_out: 0,
        sources: BTreeSet::new(),
        damage: BTreeSet::new(),
    };
    all.ask("runs", "");
    match runs.directory() {
        Some(directory) => many(&mut all, directory),
        None => few(&mut all),
    }
    let exported = Exported {
        answers: all.answers.len(),
        left_out: all.left_out,
        sources: all.sources.into_iter().collect(),
        damage: all.damage.into_iter().collect(),
    };
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    serde_json::to_writer(&mut packed, &all.answers)?;
    packed.flush()?;
    output.write_all(page(&STANDARD.encode(packed.finish()?)).as_bytes())?;
    Ok(exported)
}

/// Requests the answers about a directory, and of its runs the newest first what the first view shows, which needs no details.
fn many(all: &mut Collection<'_>, directory: &Directory) {
    all.ask("many", "");
    let mut newest: Vec<usize> = (0..directory.runs.len()).collect();
    newest.sort_by_key(|it| std::cmp::Reverse(directory.runs.get(*it).map(|it| it.when)));
    for number in newest {
        for question in ["overview", "metrics", "calls", "system"] {
            all.ask(&format!("runs/{number}/{question}"), "");
        }
    }
}

/// Requests all answers about a few runs.
fn few(all: &mut Collection<'_>) {
    let runs: Vec<Arc<Run>> = (0..all.runs.len()).filter_map(|it| all.runs.get(it).ok()).collect();
    for (number, run) in runs.iter().enumerate() {
        first_screens(all, number, run);
    }
    for (first, second) in (0..runs.len()).flat_map(|it| (0..runs.len()).map(move |to| (it, to))) {
        if first != second {
            all.ask(&format!("runs/{first}/compare"), &format!("with={second}"));
        }
    }
    for (number, run) in runs.iter().enumerate() {
        timeline(all, number, run);
        waits_between(all, number, run);
    }
    for (number, run) in runs.iter().enumerate() {
        metrics_everywhere(all, number, run);
    }
    for (number, run) in runs.iter().enumerate() {
        metrics_at_paths(all, number, run);
    }
}

/// Requests the answers that every view begins with.
fn first_screens(all: &mut Collection<'_>, number: usize, run: &Run) {
    let of = |question: &str| format!("runs/{number}/{question}");
    for question in
        ["overview", "metrics", "calls", "calls/waits", "system", "topologies", "locations"]
    {
        all.ask(&of(question), "");
    }
    all.ask(&of("bars"), "count=0");
    for by in ["", "by=node&"] {
        let parts = ["bands=128&"].into_iter().filter(|_| run.query.meta().groups().len() > 256);
        for part in parts.chain([""]) {
            all.ask(&of("bars"), &format!("{part}{by}count=256"));
            for sort in Class::ALL.iter().map(|class| class.name()).chain(["all"]) {
                all.ask(&of("bars"), &format!("{part}{by}count=256&sort={sort}"));
            }
        }
    }
    for fold in ["", "fold=node"] {
        all.ask(&of("matrix"), fold);
        for kind in dwell_report::Kind::ALL.map(dwell_report::Kind::name) {
            let fold = if fold.is_empty() { String::new() } else { format!("{fold}&") };
            all.ask(&of("matrix"), &format!("{fold}kinds={kind}"));
        }
    }
    for chunk in 0..run.system.len().div_ceil(CHUNK) {
        all.ask(&of("system/names"), &chunk_parameter(chunk));
    }
}

/// Largest number of findings whose waits between processes are exported.
const MOST_FINDINGS: usize = 50;

/// Requests the waits between processes: all, and those of each finding. The index of the timeline has them.
fn waits_between(all: &mut Collection<'_>, number: usize, run: &Run) {
    let of = format!("runs/{number}/matrix");
    for fold in ["", "fold=node&"] {
        all.ask(&of, &format!("{fold}waits=1"));
    }
    let findings = run.findings.iter().flat_map(|it| &it.findings).take(MOST_FINDINGS);
    for (at, _) in findings.enumerate() {
        for fold in ["", "&fold=node"] {
            all.ask(&of, &format!("finding={at}{fold}&waits=1"));
        }
    }
}

/// Requests the timeline: the whole run, and of the first run the worst instances of all findings.
fn timeline(all: &mut Collection<'_>, number: usize, run: &Run) {
    let of = |question: &str| format!("runs/{number}/{question}");
    timeline::complete(run);
    all.ask(&of("timeline"), "");
    // The instances of one run fill a file.
    for (question, query) in timeline::questions(run, number == 0) {
        all.ask(&of(question), &query);
    }
}

/// Returns the parameter that names a chunk. The page does not name the first one.
fn chunk_parameter(chunk: usize) -> String {
    if chunk == 0 { String::new() } else { format!("chunk={chunk}") }
}

/// Returns the readable metrics, and for each whether it has sub-metrics.
fn metrics(run: &Run) -> Vec<(MetricId, bool)> {
    let meta = run.query.meta();
    let readable = meta.metrics().filter(|&it| run.query.is_readable(it));
    readable.map(|it| (it, meta.metric_children(it).next().is_some())).collect()
}

/// Formats parameters in the order in which the page writes them: by name.
fn parameters(selected: Selection, chunk: usize) -> String {
    let mut text = String::new();
    let mut add = |name: &str, value: String| {
        let separator = if text.is_empty() { "" } else { "&" };
        let _ = write!(text, "{separator}{name}={value}");
    };
    if let Call::Path(cnode, _) = selected.call {
        add("call", cnode.0.to_string());
    }
    if chunk > 0 {
        add("chunk", chunk.to_string());
    }
    if let Call::Path(_, flavour) = selected.call {
        add("flavour", flavour_name(flavour).to_owned());
    }
    add("metric", selected.metric.0.to_string());
    if selected.own {
        add("own", "1".into());
    }
    text
}

fn flavour_name(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::Inclusive => "inclusive",
        Flavour::Exclusive => "exclusive",
    }
}

/// Requests the answers that the panes need for a selection.
fn selection(all: &mut Collection<'_>, number: usize, run: &Run, selected: Selection) {
    for chunk in 0..run.system.len().div_ceil(CHUNK) {
        let query = parameters(selected, chunk);
        all.ask(&format!("runs/{number}/system/values"), &query);
    }
    let query = parameters(selected, 0);
    all.ask(&format!("runs/{number}/spread"), &query);
    all.ask(&format!("runs/{number}/row"), &query);
}

fn metrics_everywhere(all: &mut Collection<'_>, number: usize, run: &Run) {
    for (metric, has_parts) in metrics(run) {
        for own in [false, true] {
            if own && !has_parts {
                continue;
            }
            let selected = Selection { metric, own, call: Call::All };
            all.ask(&format!("runs/{number}/calls/values"), &parameters(selected, 0));
            selection(all, number, run, selected);
        }
    }
}

/// Requests every call path with every metric that it has, the largest first.
fn metrics_at_paths(all: &mut Collection<'_>, number: usize, run: &Run) {
    all.sources_of_functions(number, run);
    for cnode in run.query.meta().cnodes() {
        all.source(number, run, cnode);
    }
    let mut found = Vec::new();
    for (metric, has_parts) in metrics(run) {
        let totals = match run.query.totals(metric) {
            Ok(totals) => totals,
            Err(error) => {
                all.damaged(error.to_string());
                continue;
            }
        };
        let whole = run.query.total(metric).unwrap_or(0.0);
        for (cnode, inclusive, exclusive) in totals.iter() {
            let part = |value: f64| dwell_report::share(value, whole);
            found.push((part(inclusive), metric, cnode, Flavour::Inclusive, has_parts));
            let has_calls = run.query.meta().cnode_children(cnode).next().is_some();
            if has_calls {
                found.push((part(exclusive), metric, cnode, Flavour::Exclusive, has_parts));
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    for (_, metric, cnode, flavour, has_parts) in found {
        let call = Call::Path(cnode, flavour);
        for own in [false, true] {
            if !own || has_parts {
                selection(all, number, run, Selection { metric, own, call });
            }
        }
    }
}

/// Returns the page with script, style and data inside.
fn page(data: &str) -> String {
    // Script and style must not contain the end of the element they are in.
    let script = SCRIPT.replace("</script", "<\\/script");
    let style = STYLE.replace("</style", "<\\/style");
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-{}'; \
         style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'\">",
        digest(&script),
        digest(&style)
    );
    let mut html =
        String::with_capacity(HTML.len() + script.len() + style.len() + data.len() + 1024);
    for line in HTML.lines() {
        if line.contains("app.js") {
            // Inline modules run after the whole document has been parsed, so the script goes to its end.
            let _ = writeln!(html, "    {policy}");
        } else if line.contains("app.css") {
            let _ = writeln!(html, "<style>{style}</style>");
        } else if line.contains("</body>") {
            let _ = writeln!(html, "<script type=\"text/plain\" id=\"dwell-data\">{data}</script>");
            let _ = writeln!(html, "<script type=\"module\">{script}</script>");
            let _ = writeln!(html, "{line}");
        } else {
            let _ = writeln!(html, "{line}");
        }
    }
    html
}
