//! `dwell mcp`: answers questions of an assistant about runs, over standard input and output.
//!
//! The protocol is the Model Context Protocol. The server reads the reports of the runs that were named when it was
//! started, and nothing else: questions name runs, not files. It opens no connection, and writes no file but the caches that
//! predictions and timelines need, in the directory of the run. Every answer is bounded, and figures carry their unit in
//! their name. What an assistant should do with the answers is in `skill/SKILL.md`, which the server sends as its
//! instructions.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Error, Result, bail, ensure};
use cubex::CnodeId;
use dwell_report::Query;
use dwell_report::findings::Findings;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, Implementation, ServerCapabilities, ServerConfig};
use rmcp::schemars::JsonSchema;
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::analyze::MOST_PLAYED;
use super::{compare, report, stuck, timeline, whatif};
use crate::damage;
use crate::profile;
use crate::runs::{ANCHOR, UNFINISHED};

/// Arguments of `dwell mcp`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "An assistant starts this command and speaks with it over standard input and output. Its settings name \
    the command and the runs it may ask about, as in\n\n  \
    {\"command\": \"dwell\", \"args\": [\"mcp\", \"before\", \"after\"]}"
)]
pub(crate) struct Args {
    /// The runs to answer questions about: experiment directories that were analysed or have not ended, or `.cubex`
    /// files.
    #[arg(required = true)]
    runs: Vec<PathBuf>,
}

/// How to find a wait by these answers: a skill for assistants, with a head that says when to use it.
const SKILL: &str = include_str!("../../skill/SKILL.md");

/// Largest number of rows of a table or of children in a tree.
const MOST_ROWS: usize = 100;

/// Largest number of levels of a tree.
const MOST_LEVELS: usize = 12;

/// Width of a timeline, in characters.
const PICTURE: usize = 100;

/// Largest number of bytes of an answer.
const MOST_BYTES: usize = 200_000;

/// Answers questions about runs.
#[derive(Clone, Debug)]
struct Server {
    /// Names by which questions mean runs, and their paths.
    runs: Arc<Vec<(String, PathBuf)>>,
    tool_router: ToolRouter<Self>,
}

/// A question about one run.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct OfRun {
    /// Name of the run, as `runs` lists it.
    run: String,
    /// Largest number of rows in the answer, 1 to 100; 10 if it is left out.
    top: Option<usize>,
}

/// A question about the findings or the causes of a run.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct OfFindings {
    /// Name of the run, as `runs` lists it.
    run: String,
    /// Id of one finding, such as 2, or of one cause, such as A; all if it is left out.
    id: Option<String>,
    /// Largest number of rows in the answer, 1 to 100; 10 if it is left out.
    top: Option<usize>,
}

/// A question about the call tree of a run.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct OfTree {
    /// Name of the run, as `runs` lists it.
    run: String,
    /// Unique name of a metric, as `metrics` lists it; `time` if it is left out.
    metric: Option<String>,
    /// Call path below which the tree begins, as `call_path` names it in other answers, or the id of a finding or cause; the
    /// whole program if it is left out.
    call_path: Option<String>,
    /// Largest number of children of each call, 1 to 100; 10 if it is left out.
    top: Option<usize>,
    /// Number of levels, 1 to 12; 6 if it is left out.
    depth: Option<usize>,
}

/// A question about the loss that a cause or finding is.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct OfOne {
    /// Name of the run, as `runs` lists it.
    run: String,
    /// Id of a cause, such as A, or of a finding, such as 2.
    id: String,
}

/// A question about a span of a run.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct OfSpan {
    /// Name of the run, as `runs` lists it.
    run: String,
    /// Id of a finding or cause, whose worst wait is shown; 2:3 is the third longest of finding 2. If it is left out, the
    /// run after its start-up.
    id: Option<String>,
    /// Begin of the span, in seconds after the first event.
    from_seconds: Option<f64>,
    /// End of the span, in seconds after the first event.
    to_seconds: Option<f64>,
}

/// A question about two sets of runs.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct OfTwo {
    /// Names of the runs before a change.
    before: Vec<String>,
    /// Names of the runs after the change.
    after: Vec<String>,
    /// Largest number of call paths in the answer, 1 to 100; 10 if it is left out.
    top: Option<usize>,
}

fn rows(top: Option<usize>) -> usize {
    top.unwrap_or(10).clamp(1, MOST_ROWS)
}

/// Turns the answer to a question into that of the protocol. A mistake is an answer too, which the assistant can read.
fn answered(answer: Result<Value>) -> CallToolResult {
    let told = |text: String| CallToolResult::error(vec![ContentBlock::text(text)]);
    match answer.map(brief) {
        Ok(value) if value.to_string().len() > MOST_BYTES => {
            told("the answer is too long; ask for fewer rows or levels".into())
        }
        Ok(value) => CallToolResult::structured(value),
        Err(error) => told(crate::terminal::explained(&error)),
    }
}

/// Leaves out what says nothing, nulls and empty texts, and rounds numbers to three significant digits, but times of events,
/// which name a moment of a long run, to microseconds.
fn brief(answer: Value) -> Value {
    let rounded = |number: f64| format!("{number:.2e}").parse().unwrap_or(number);
    match answer {
        Value::Object(fields) => {
            let says = |value: &Value| !value.is_null() && value.as_str() != Some("");
            let fields = fields.into_iter().filter(|(_, value)| says(value));
            let brief_field = |(name, value): (String, Value)| match value.as_f64() {
                Some(at) if name == "begin_seconds" => (name, json!((at * 1e6).round() / 1e6)),
                _ => (name, brief(value)),
            };
            fields.map(brief_field).collect()
        }
        Value::Array(list) => list.into_iter().map(brief).collect(),
        Value::Number(number) if number.is_f64() => json!(number.as_f64().map(rounded)),
        other => other,
    }
}

#[allow(clippy::needless_pass_by_value)] // The protocol hands arguments over.
#[tool_router]
impl Server {
    #[tool(
        description = "Lists the runs that can be asked about, with processes, length in seconds, waits in seconds, and the verdict: what the run loses time to, and what to change first."
    )]
    fn runs(&self) -> CallToolResult {
        let about = |(name, path): &(String, PathBuf)| {
            let mut row = json!({ "run": name });
            let damage = report::find(path).map(|it| damage::of_report(&it)).unwrap_or_default();
            if !damage.is_empty() {
                row["damage"] = json!(damage);
            }
            if let Ok(findings) = read_findings(path) {
                for key in
                    ["processes", "length_seconds", "run_seconds", "waits_seconds", "efficiency"]
                {
                    row[key] = findings[key].clone();
                }
                row["verdict"] = findings["verdict"].clone();
            }
            row
        };
        answered(Ok(json!({ "runs": self.runs.iter().map(about).collect::<Vec<_>>() })))
    }

    #[tool(
        description = "Returns where a run waits or communicates inefficiently, the greatest gain first: ids, seconds, who waits on whom, why, and a remedy. Waits of one call path have the same id."
    )]
    fn findings(&self, question: Parameters<OfFindings>) -> CallToolResult {
        self.answered(
            &question.0.run,
            self.part_of_findings(&question.0, &["findings", "inefficient"]),
        )
    }

    #[tool(
        description = "Returns what made processes of a run wait: what a process did longer than others, the seconds of waits that it cost, and at which calls."
    )]
    fn causes(&self, question: Parameters<OfFindings>) -> CallToolResult {
        self.answered(&question.0.run, self.part_of_findings(&question.0, &["causes"]))
    }

    #[tool(
        description = "Returns what the processes of a run that has not ended are in, since when, and who waits for whom: deadlocks, and the processes that all others wait for. The run may be alive, hang, or have been killed."
    )]
    fn where_is_it(&self, question: Parameters<OfRun>) -> CallToolResult {
        let answer = || stuck::as_json(self.path(&question.0.run)?);
        answered(answer())
    }

    #[tool(
        description = "Lists the metrics of a run as a tree, with their units and their sums over all locations."
    )]
    fn metrics(&self, question: Parameters<OfRun>) -> CallToolResult {
        let answer = || -> Result<Value> {
            let query = self.open(&question.0.run)?;
            Ok(json!({ "metrics": report::views::metrics(&query, None)?.to_json() }))
        };
        self.answered(&question.0.run, answer())
    }

    #[tool(
        description = "Returns the call tree of a run with the values of a metric over all locations: inclusive, own, share, and the place in the source."
    )]
    fn call_tree(&self, question: Parameters<OfTree>) -> CallToolResult {
        self.answered(&question.0.run, self.tree(&question.0))
    }

    #[tool(
        description = "Returns the lines of the source from which a run calls its runtime, ranked by the seconds spent there over all locations."
    )]
    fn source_lines(&self, question: Parameters<OfRun>) -> CallToolResult {
        let answer = || -> Result<Value> {
            let query = self.open(&question.0.run)?;
            let time =
                query.meta().find_metric("time").context("the report has no metric `time`")?;
            let listing = report::views::ranking(&query, time, None, rows(question.0.top))?;
            Ok(json!({ "unit": "sec", "lines": listing.to_json() }))
        };
        self.answered(&question.0.run, answer())
    }

    #[tool(
        description = "Predicts how long a run would have taken without one of its causes or findings, with the least and the greatest length over everything that the trace leaves open."
    )]
    fn what_if(&self, question: Parameters<OfOne>) -> CallToolResult {
        let OfOne { run, id } = &question.0;
        let answer = || -> Result<Value> {
            let path = self.path(run)?;
            let findings: Findings = serde_json::from_value(read_findings(path)?)?;
            let is_short = findings.events <= MOST_PLAYED;
            ensure!(
                is_short,
                "the run is long; ask the user for: dwell whatif {run} --without {id}"
            );
            let played = whatif::play(path, &findings, id)?;
            let mut answer =
                json!({ "change": played.change, "recorded_seconds": played.recorded });
            match played.predicted {
                Ok([expected, least, most]) => {
                    answer["predicted_seconds"] = expected.into();
                    answer["predicted_seconds_at_least"] = least.into();
                    answer["predicted_seconds_at_most"] = most.into();
                }
                Err(reason) => answer["not_predicted"] = reason.into(),
            }
            Ok(answer)
        };
        self.answered(run, answer())
    }

    #[tool(
        description = "Draws a timeline as text, one row a process: # waits, + waits for a tenth or more, . computes, letters are calls. Below are the longest waits, and what the process that was waited for did meanwhile."
    )]
    fn timeline(&self, question: Parameters<OfSpan>) -> CallToolResult {
        let OfSpan { run, id, from_seconds, to_seconds } = &question.0;
        let time = |seconds: &Option<f64>| seconds.map(|it| (it * 1e9) as u64);
        let span = [time(from_seconds), time(to_seconds)];
        let answer = || -> Result<Value> {
            let args = timeline::Args::of(id.as_deref(), span).map_err(Error::msg)?;
            Ok(json!({ "picture": timeline::text(&args, self.path(run)?, PICTURE)? }))
        };
        self.answered(run, answer())
    }

    #[tool(
        description = "Compares runs before and after a change: a verdict that respects the spread of the runs, lengths in seconds, efficiencies, and the call paths that changed."
    )]
    fn compare(&self, question: Parameters<OfTwo>) -> CallToolResult {
        let answer = || -> Result<Value> {
            let [before, after] = [&question.0.before, &question.0.after].map(|names| {
                names.iter().map(|name| self.path(name)).collect::<Result<Vec<&PathBuf>>>()
            });
            let mut answer = compare::as_json(before?, after?)?;
            if let Some(list) = answer["differences"].as_array_mut() {
                list.truncate(rows(question.0.top));
            }
            let names = question.0.before.iter().chain(&question.0.after);
            let damage: Vec<String> = names.flat_map(|name| self.damage(name)).collect();
            Ok(with_damage(answer, &damage))
        };
        answered(answer())
    }
}

impl Server {
    fn path(&self, name: &str) -> Result<&PathBuf> {
        let found = self.runs.iter().find(|(known, _)| known == name);
        found.map(|(_, path)| path).with_context(|| {
            let names: Vec<&str> = self.runs.iter().map(|(name, _)| name.as_str()).collect();
            format!("no run `{name}`; the runs are {}", names.join(", "))
        })
    }

    /// Returns the damage of what the report of a run was made from.
    fn damage(&self, name: &str) -> Vec<String> {
        let report = self.path(name).and_then(|it| report::find(it));
        report.map(|it| damage::of_report(&it)).unwrap_or_default()
    }

    /// Turns the answer to a question about a run into that of the protocol, with the damage of the run.
    fn answered(&self, run: &str, answer: Result<Value>) -> CallToolResult {
        answered(answer.map(|answer| with_damage(answer, &self.damage(run))))
    }

    fn open(&self, name: &str) -> Result<Query> {
        Ok(Query::open(&report::find(self.path(name)?)?)?)
    }

    fn part_of_findings(&self, question: &OfFindings, parts: &[&str]) -> Result<Value> {
        let mut findings = read_findings(self.path(&question.run)?)?;
        let mut answer = json!({ "run_seconds": findings["run_seconds"] });
        let mut all = 0;
        for &part in parts {
            let Some(list) = findings[part].as_array_mut() else { bail!("the run has no {part}") };
            all += list.len();
            if let Some(id) = &question.id {
                list.retain(|it| it["id"].as_str().map_or(it["id"].to_string(), Into::into) == *id);
            }
            list.truncate(rows(question.top));
            answer[part] = list.drain(..).collect();
        }
        if let Some(id) = &question.id {
            let is_empty = |part: &&str| answer[*part].as_array().is_none_or(Vec::is_empty);
            ensure!(!parts.iter().all(is_empty), "the run has nothing with the id {id} here");
        }
        answer["of"] = all.into();
        Ok(answer)
    }

    fn tree(&self, question: &OfTree) -> Result<Value> {
        let query = self.open(&question.run)?;
        let name = question.metric.as_deref().unwrap_or("time");
        let metric = query.meta().find_metric(name);
        let metric = metric.with_context(|| format!("no metric `{name}`; `metrics` lists them"))?;
        let below: Option<CnodeId> = match &question.call_path {
            Some(text) => {
                let findings = report::findings_of(&report::find(self.path(&question.run)?)?);
                Some(report::one_path(&query, findings.as_ref(), text)?)
            }
            None => None,
        };
        let depth = question.depth.unwrap_or(6).clamp(1, MOST_LEVELS);
        let tree = report::views::tree(&query, metric, &[], below, (rows(question.top), depth))?;
        let unit = query.meta().metric(metric).map_or("", |metric| metric.uom);
        Ok(json!({ "metric": name, "unit": unit, "tree": tree.to_json() }))
    }
}

/// Adds the damage of a run to an answer about it, if there is any.
fn with_damage(mut answer: Value, damage: &[String]) -> Value {
    if !damage.is_empty() {
        answer["damage"] = json!(damage);
    }
    answer
}

fn read_findings(path: &std::path::Path) -> Result<Value> {
    let directory = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let file = directory.join("findings.json");
    let text = fs::read(&file).with_context(|| {
        format!("{}: not analysed yet; next: dwell analyze {}", path.display(), path.display())
    })?;
    // A file of an earlier program gets its ids here.
    let findings = Findings::read(&text).with_context(|| file.display().to_string())?;
    Ok(serde_json::to_value(findings)?)
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let (_, skill) = SKILL.trim_start_matches("---").split_once("---").unwrap_or_default();
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("dwell", env!("CARGO_PKG_VERSION")))
            .with_instructions(skill.trim())
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut runs: Vec<(String, PathBuf)> = Vec::new();
    for path in &args.runs {
        let path = path.canonicalize().with_context(|| path.display().to_string())?;
        // A run that has not ended has no report; it can be asked where it is.
        if !path.join(UNFINISHED).is_dir() || path.join(ANCHOR).exists() {
            profile::make(&path)?;
            report::find(&path)?;
        }
        let name = path.file_name().map_or("run".into(), |it| it.to_string_lossy().into_owned());
        ensure!(
            runs.iter().all(|(known, _)| *known != name),
            "two runs are called {name}; give them different names"
        );
        runs.push((name, path));
    }
    let server = Server { runs: Arc::new(runs), tool_router: Server::tool_router() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let service = server.serve(rmcp::transport::stdio()).await?;
        service.waiting().await?;
        Ok(ExitCode::SUCCESS)
    })
}
