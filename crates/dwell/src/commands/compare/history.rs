//! Formats the history of the runs in a directory: for a terminal, as Markdown, for programs, and as a badge.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use dwell_report::{Judgement, Set, Version};
use dwell_serve::Directory;
use serde::Serialize;

use super::scaling;
use crate::format::{self, paragraph};
use crate::listing;
use crate::terminal::visible;

/// A history for programs. Times are in seconds, without start-up and shutdown; shares are parts of 1.
#[derive(Serialize)]
pub(super) struct Document<'d> {
    version: u32,
    verdict: String,
    versions: Vec<OneVersion<'d>>,
    sets: Vec<OneSet<'d>>,
    scaling: Vec<OneSeries<'d>>,
}

#[derive(Serialize)]
struct OneSet<'d> {
    program: &'d str,
    version: &'d str,
    processes: usize,
    runs: Vec<&'d str>,
    length_seconds: f64,
    change: Option<f64>,
    verdict: &'static str,
}

#[derive(Serialize)]
struct OneVersion<'d> {
    program: &'d str,
    version: &'d str,
    change: Option<f64>,
    verdict: &'static str,
    text: &'d str,
}

#[derive(Serialize)]
struct OneSeries<'d> {
    program: &'d str,
    version: &'d str,
    #[serde(flatten)]
    series: scaling::Document<'d>,
}

/// Returns a history for programs.
pub(super) fn document<'d>(directory: &'d Directory) -> Document<'d> {
    let word = |judgement| match judgement {
        Judgement::More => "slower",
        Judgement::Less => "faster",
        Judgement::Same | Judgement::Unjudged => "same",
    };
    let set = |it: &'d Set| OneSet {
        program: &it.program,
        version: &it.version,
        processes: it.processes,
        runs: {
            let runs = it.members.iter().filter_map(|it| directory.runs.get(*it));
            runs.map(|it| it.name.as_str()).collect()
        },
        length_seconds: it.length,
        change: it.change,
        verdict: word(it.judgement),
    };
    let version = |it: &'d Version| OneVersion {
        program: &it.program,
        version: &it.name,
        change: it.change,
        verdict: word(it.judgement),
        text: &it.text,
    };
    let series = |it: &'d dwell_report::VersionSeries| OneSeries {
        program: &it.program,
        version: &it.version,
        series: scaling::document(&it.series),
    };
    let history = &directory.history;
    Document {
        version: 1,
        verdict: history.verdict(),
        versions: history.versions.iter().map(version).collect(),
        sets: history.sets.iter().map(set).collect(),
        scaling: history.series.iter().map(series).collect(),
    }
}

/// Lengths by versions and processes, for one program.
struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Returns a table for each program: a row for each version, the oldest first, and a column for each number of processes.
fn tables(directory: &Directory) -> Vec<(String, Table)> {
    let mut programs: BTreeMap<&str, Vec<&Set>> = BTreeMap::new();
    for set in &directory.history.sets {
        programs.entry(&set.program).or_default().push(set);
    }
    let table = |program: &str, sets: Vec<&Set>| {
        let mut processes: Vec<usize> = sets.iter().map(|it| it.processes).collect();
        processes.dedup();
        let versions = directory.history.versions.iter().filter(|it| it.program == program);
        let cell = |version: &str, count: usize| {
            let set = sets.iter().find(|it| it.version == version && it.processes == count);
            set.map_or_else(|| "-".into(), |it| format::seconds(it.length))
        };
        let row = |version: &Version| {
            let change = match (version.judgement, version.change) {
                (Judgement::More, Some(change)) => format!("+{}", format::percent(change)),
                (Judgement::Less, Some(change)) => format!("−{}", format::percent(change.abs())),
                (_, Some(_)) => "same".into(),
                (_, None) => "-".into(),
            };
            let cells = processes.iter().map(|count| cell(&version.name, *count));
            let name = visible(&version.name).into_owned();
            std::iter::once(name).chain(cells).chain([change]).collect()
        };
        let count = |it: &usize| match it {
            1 => "1 process".to_owned(),
            it => format!("{it} processes"),
        };
        let head = std::iter::once("version".to_owned()).chain(processes.iter().map(count));
        let head = head.chain(["change".to_owned()]);
        Table { head: head.collect(), rows: versions.map(row).collect() }
    };
    programs.into_iter().map(|(program, sets)| (program.to_owned(), table(program, sets))).collect()
}

/// Returns a history for a terminal.
pub(super) fn text(directory: &Directory, threshold: f64, top: usize) -> String {
    let width = listing::width();
    let mut text = String::new();
    let say = |text: &mut String, words: &str| paragraph(text, width, (0, 2), words);
    let count = directory.history.sets.iter().map(|it| it.members.len()).sum::<usize>();
    say(&mut text, &format!("{count} runs: {}", visible(&directory.history.verdict())));
    for (program, table) in tables(directory) {
        text.push('\n');
        if !program.is_empty() {
            say(&mut text, &visible(&program));
        }
        let widths: Vec<usize> = (0..table.head.len())
            .map(|at| {
                let all = std::iter::once(&table.head).chain(&table.rows);
                all.filter_map(|it| it.get(at)).map(|it| it.chars().count()).max().unwrap_or(0)
            })
            .collect();
        for row in std::iter::once(&table.head).chain(&table.rows) {
            let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| match at {
                0 => format!("{cell:width$}"),
                _ => format!("{cell:>width$}"),
            });
            let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
    }
    for version in directory.history.slower().skip(1).take(top) {
        text.push('\n');
        say(&mut text, &visible(&version.text));
    }
    for it in newest(directory) {
        let _ = write!(text, "\nscaling of {}\n", visible(&it.version));
        text.push_str(&scaling::text(&it.series, threshold, top));
    }
    for it in directory.runs.iter().filter(|it| !it.note.is_empty()) {
        say(&mut text, &visible(&format!("{}: {}", it.name, it.note)));
    }
    if directory.left_out > 0 {
        let left = format::grouped(directory.left_out as u64);
        say(&mut text, &format!("{left} older runs are not shown"));
    }
    text
}

/// Returns the series of the newest version of each program that has one.
fn newest(directory: &Directory) -> Vec<&dwell_report::VersionSeries> {
    let series = &directory.history.series;
    let is_last =
        |at: usize, program: &str| series.get(at + 1).is_none_or(|it| it.program != program);
    series.iter().enumerate().filter(|(at, it)| is_last(*at, &it.program)).map(|it| it.1).collect()
}

/// Returns a text that means nothing in Markdown or HTML.
fn plain(text: &str) -> String {
    visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('|', "\\|")
}

/// Returns a history as Markdown, which names the reason of a slowdown in its first line.
pub(crate) fn markdown(directory: &Directory) -> String {
    let mut text = format!("**{}**\n", plain(&directory.history.verdict()));
    for (program, table) in tables(directory) {
        if !program.is_empty() {
            let _ = write!(text, "\n`{}`\n", plain(&program));
        }
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|it| plain(it)).collect();
            format!("| {} |", cells.join(" | "))
        };
        let _ = writeln!(
            text,
            "\n{}\n|---|{}",
            line(&table.head),
            "---:|".repeat(table.head.len() - 1)
        );
        for row in &table.rows {
            let _ = writeln!(text, "{}", line(row));
        }
    }
    for version in directory.history.slower().skip(1) {
        let _ = writeln!(text, "\n{}.", plain(&version.text));
    }
    for it in newest(directory) {
        let _ = write!(
            text,
            "\nScaling of {}:\n\n{}",
            plain(&it.version),
            scaling::markdown(&it.series)
        );
    }
    text
}

/// Returns a badge in SVG: the change of the newest version, red if it is slower by more than chance.
pub(crate) fn badge(directory: &Directory) -> String {
    let newest = directory.history.versions.last();
    let slower = newest.filter(|it| it.judgement == Judgement::More);
    let (word, colour) = match slower.and_then(|it| it.change) {
        Some(change) => (format!("{} slower", format::percent(change)), "#b3260c"),
        None => ("not slower".to_owned(), "#17673c"),
    };
    let width = |text: &str| 12 + 7 * text.chars().count();
    let (left, right) = (width("dwell"), width(&word));
    let whole = left + right;
    let middle = (left / 2, left + right / 2);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{whole}\" height=\"20\" role=\"img\" aria-label=\"dwell: {word}\">\
         <title>dwell: {word}</title><rect width=\"{whole}\" height=\"20\" rx=\"3\" fill=\"{colour}\"/>\
         <path d=\"M3,0H{left}V20H3a3,3 0 0 1 -3,-3V3a3,3 0 0 1 3,-3z\" fill=\"#44505c\"/>\
         <g fill=\"#ffffff\" font-family=\"Verdana, DejaVu Sans, sans-serif\" font-size=\"11\" text-anchor=\"middle\">\
         <text x=\"{}\" y=\"14\">dwell</text><text x=\"{}\" y=\"14\">{word}</text></g></svg>\n",
        middle.0, middle.1
    )
}
