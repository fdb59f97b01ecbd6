//! Pages of the book that are made from the program: commands, settings, metrics.
//!
//! `DWELL_UPDATE_GOLDEN=1 cargo test -p dwell --test book reference` writes them anew; look at the difference before
//! committing it.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

use cubex::{Meta, Metric, MetricId, Report};
use dwell_measure::settings::{Kind, SETTINGS_ONLY, TABLE};
use dwell_model::layer::Layer;
use dwell_model::waits::TREE;

use crate::options::usage;
use crate::pages;
use crate::renamed;
use crate::support::{dwell, path, text};

fn is_current(name: &str, made: &str) {
    let page = pages::directory().join(name);
    if std::env::var_os("DWELL_UPDATE_GOLDEN").is_some() {
        fs::write(&page, made).unwrap();
    }
    let found = fs::read_to_string(&page).unwrap_or_default();
    assert!(found == made, "docs/src/{name} is old: DWELL_UPDATE_GOLDEN=1 renews it");
}

/// Head of a page that says where it comes from.
fn head(title: &str, test: &str) -> String {
    format!(
        "# {title}\n\n<!-- Made from the program: `DWELL_UPDATE_GOLDEN=1 cargo test -p dwell --test book {test}` \
         writes this page. -->\n\n"
    )
}

#[test]
fn reference_of_commands() {
    let mut page = head("Commands", "reference_of_commands");
    page += "The help text of each command. `dwell man DIR` writes the same as manual pages.\n\n";
    let (top, _) = usage(&[]);
    let groups = [
        ("Measure", &["run", "doctor", "recover", "score", "ls"][..]),
        ("Understand", &["analyze", "report", "view", "timeline", "whatif", "compare"]),
        ("Look inside, hand over", &["where", "info", "print", "export", "mcp"]),
        ("Prepare programs", &["build"]),
        ("Others", &["demo", "completions", "man"]),
    ];
    let grouped: BTreeSet<&str> = groups.iter().flat_map(|it| it.1.iter().copied()).collect();
    let all: BTreeSet<&str> = top.commands.iter().map(String::as_str).collect();
    assert_eq!(grouped, all, "every command is in one group");
    page += "| to | commands |\n| --- | --- |\n";
    for (group, commands) in groups {
        let links: Vec<String> =
            commands.iter().map(|it| format!("[`dwell {it}`](#dwell-{it})")).collect();
        writeln!(page, "| {} | {} |", group.to_lowercase(), links.join(", ")).unwrap();
    }
    for command in groups.iter().flat_map(|it| it.1) {
        let (usage, help) = usage(&[command]);
        write!(page, "\n## dwell {command}\n\n```text\n{}\n```\n", help.trim_end()).unwrap();
        for inner in &usage.commands {
            let help = crate::options::usage(&[command, inner]).1;
            write!(page, "\n### dwell {command} {inner}\n\n```text\n{}\n```\n", help.trim_end())
                .unwrap();
        }
    }
    page += "\n## Earlier spellings\n\nOptions and commands of earlier versions are refused with a line that names \
             the replacement. `run --max-size` was the size for each process, and is now that of all processes together.\n\n\
             | earlier | now |\n| --- | --- |\n";
    for (command, option, new) in renamed::TABLE {
        let old = format!("{command} {option}");
        let new = new.replace('|', "\\|");
        writeln!(page, "| `{}` | `{new}` |", old.trim_end()).unwrap();
    }
    is_current("commands.md", &page);
}

#[test]
fn reference_of_settings() {
    let mut page = head("Settings of dwell run", "reference_of_settings");
    page += "Each setting can be set by a flag of `dwell run`, by a variable of the environment and in a \
             [file](launchers.md#settings): `--max-size 4G`, `DWELL_MAX_SIZE=4G`, `max-size = \"4G\"`. What an \
             archive was recorded with is in its properties, `DWELL::CONFIG::MAX_SIZE`.\n";
    let mut section = "";
    for setting in TABLE {
        if setting.section != section {
            section = setting.section;
            write!(page, "\n## {section}\n\n| flag | variable | values | default | meaning |\n")
                .unwrap();
            page += "| --- | --- | --- | --- | --- |\n";
        }
        let letter = setting.letter.map_or(String::new(), |it| format!("`-{it}`, "));
        let values = match setting.kind {
            Kind::Choice(words) => {
                words.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
            }
            Kind::Switch => "`on`, `off`".into(),
            Kind::Rate => "`on`, `off`, 1 to 1000".into(),
            kind => format!("`{}`", kind.placeholder()),
        };
        let default = match setting.default {
            "" => "–".into(),
            default => format!("`{default}`"),
        };
        let (name, variable) = (setting.name, setting.variable());
        let help = setting.help.replace('|', "\\|");
        let flag = match setting.section {
            SETTINGS_ONLY => format!("--set {name}=…"),
            _ => format!("--{name}"),
        };
        writeln!(page, "| {letter}`{flag}` | `{variable}` | {values} | {default} | {help} |")
            .unwrap();
    }
    is_current("settings.md", &page);
}

#[test]
fn reference_of_metrics() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let made = dwell(&["synth", "random", "-o", path(&run), "--ranks", "4", "--segments", "4"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let analysed = dwell(&["analyze", path(&run)]);
    assert!(analysed.status.success(), "{}", text(&analysed.stderr));
    let report = Report::open(run.join("trace.cubex")).unwrap();
    let meta = report.meta();
    let mut page = head("Metrics", "reference_of_metrics");
    page += "The metrics of `trace.cubex`, as `dwell report --tree METRIC`, `dwell view` and CubeGUI show them. `…` stands for \
             the layer: each recorded layer has its own metrics, named `shmem_…`, `mpi_…`, `armci_…`, \
             `caf_…` and so on. A report leaves out metrics that are 0.\n\n";
    page += "## Time\n\nEach metric is part of the nearest one above that is indented less. [Waits](waits-reference.md) explains the \
             waits.\n\n";
    page += "| name | metric | what is measured |\n| --- | --- | --- |\n| Time | `time` | all time of a call path |\n";
    for group in TREE {
        let indent = "&emsp;".repeat(group.depth + 1);
        let name =
            if group.metric.is_empty() { "…".into() } else { format!("…_{}", group.metric) };
        let title = if group.title.is_empty() { "time of the layer" } else { group.title };
        writeln!(page, "| {indent}{title} | `{name}` | |").unwrap();
        for (depth, wait, place) in group.waits() {
            let indent = "&emsp;".repeat(depth + 1);
            let measured = wait.about().measured.replace('|', "\\|");
            writeln!(page, "| {indent}{} | `…_{}` | {measured} |", place.title, place.metric)
                .unwrap();
        }
    }
    page += "\n## Other metrics\n\n| name | metric | unit | meaning |\n| --- | --- | --- | --- |\n";
    let mut seen = BTreeSet::new();
    for id in meta.metrics().filter(|it| !is_below_time(meta, *it)) {
        let metric = meta.metric(id).unwrap();
        let (name, title) = generic(&metric);
        if seen.insert(name.clone()) {
            let indent = if meta.metric_parent(id).is_some() { "&emsp;" } else { "" };
            writeln!(page, "| {indent}{title} | `{name}` | {} | {} |", metric.uom, metric.descr)
                .unwrap();
        }
    }
    is_current("metrics.md", &page);
}

/// Returns `true` for the metric `time` and those that are part of it.
fn is_below_time(meta: &Meta, id: MetricId) -> bool {
    let is_time = meta.metric(id).is_some_and(|it| it.uniq_name == "time");
    is_time || meta.metric_parent(id).is_some_and(|parent| is_below_time(meta, parent))
}

/// Returns the names of a metric, for machines and for people, without its layer.
fn generic(metric: &Metric<'_>) -> (String, String) {
    let of_layer = Layer::ALL.iter().find_map(|layer| {
        let name = metric.uniq_name.strip_prefix(layer.name())?.strip_prefix('_')?;
        let title = metric.disp_name.strip_prefix(layer.title())?.trim_start();
        Some((format!("…_{name}"), title.to_owned()))
    });
    of_layer.unwrap_or_else(|| (metric.uniq_name.to_owned(), metric.disp_name.to_owned()))
}
