//! The report for a terminal.

use std::path::Path;

use dwell_report::findings::words::{capital, counted, within};

use super::report::{GONE, Group, Report};
use crate::format::{bounds, grouped, ranges, seconds};
use crate::page::Page;
use crate::terminal::visible;

/// Greatest number of groups that are listed.
const GROUPS: usize = 12;
/// Greatest number of ranges of processes of a group.
const RANGES: usize = 6;
/// Greatest number of nodes that are named.
const NODES: usize = 4;
/// Greatest number of circles and of roots.
const CONCLUSIONS: usize = 3;

/// Greatest numbers of groups, circles and roots after a run has ended.
const AT_THE_END: (usize, usize) = (4, 1);
/// Greatest number of lines of one of them then.
const SHORT: usize = 2;

/// Says where the processes of a run are.
pub(super) fn page(directory: &Path, report: &Report) -> Page {
    let mut page = Page::for_output();
    let run = directory.display();
    let processes = counted(report.processes, "process", "processes");
    let time = |it: f64| seconds((it * 10.0).round() / 10.0);
    let head = match (report.is_over(), report.going_on) {
        (true, _) => format!(
            "{run}: {processes}, which have ended; this is what they were in. Next: dwell recover {run}"
        ),
        (false, 0) => {
            format!("{run}: {processes}; none made a call in the last {}", time(report.still))
        }
        (false, going_on) => {
            let (going_on, between) = (grouped(going_on), time(report.between));
            format!("{run}: {processes}; {going_on} of them made a call in the last {between}")
        }
    };
    page.heading(&head, 2);
    page.end();
    fill(&mut page, report, (GROUPS, CONCLUSIONS), usize::MAX);
    if let Some(text) = ages(report).filter(|_| !report.is_over()) {
        page.say(&visible(&text), 2);
    }
    for it in report.unreadable.iter().take(CONCLUSIONS) {
        page.say(&visible(&format!("not read: {it}")), 2);
    }
    page
}

/// Says in a dozen lines what the processes of a run were in when they ended.
pub(super) fn page_of_the_end(report: &Report) -> Page {
    let mut page = Page::for_output();
    let processes = counted(report.processes, "process", "processes");
    page.heading(&format!("What the {processes} of this run were in when they ended"), 2);
    fill(&mut page, report, AT_THE_END, SHORT);
    page.end();
    page
}

/// Lists groups, circles and roots, each in at most some lines.
fn fill(page: &mut Page, report: &Report, (groups, conclusions): (usize, usize), most: usize) {
    let names = report.names;
    for group in report.groups.iter().take(groups) {
        page.say_some(&visible(&line(group, report)), 4, most);
    }
    let more = report.groups.len().saturating_sub(groups);
    if more > 0 {
        let how = if report.is_over() { "" } else { " with --json" };
        page.say(&format!("{more} more groups{how}"), 4);
    }
    if !report.missing.is_empty() {
        let numbers: Vec<u64> = report.missing.iter().map(|it| it + names.first).collect();
        let missing = ranges(&numbers, RANGES);
        page.say(&format!("{} {missing}: no files here", names.title), 4);
    }
    page.end();
    for circle in report.circles.iter().take(conclusions) {
        let kind = if circle.certain { "Deadlock" } else { "A circle, if nobody else ends it" };
        page.heading_of(&visible(&format!("{kind}: {}.", circle.text)), 2, most);
    }
    for root in report.roots.iter().take(conclusions) {
        let behind = match root.behind {
            1 => "1 process waits".to_owned(),
            many => format!("{} processes wait", grouped(many)),
        };
        let (name, text) = (within(&names.name(root.rank)), &root.text);
        page.say_some(&visible(&format!("{behind} for {name}, which {text}.")), 2, most);
    }
    if report.circles.is_empty() && report.roots.is_empty() {
        page.say("Nobody waits for a process that is known.", 2);
    }
}

/// Says how old what is known of other nodes is. `None` if there are none.
fn ages(report: &Report) -> Option<String> {
    let others: Vec<_> = report.nodes.iter().filter(|it| it.age != Some(0.0)).collect();
    let more = others.len().saturating_sub(NODES);
    let listed: Vec<&str> = others.iter().take(NODES).map(|it| it.name.as_str()).collect();
    let names = match (listed.as_slice(), more) {
        ([], _) => return None,
        ([one], _) => format!("node {one}"),
        (some, 0) => format!("nodes {}", some.join(", ")),
        (some, more) => format!("nodes {} and {more} more", some.join(", ")),
    };
    let known = || others.iter().filter_map(|it| it.age);
    if known().count() == 0 {
        return Some(format!("No events of {names} have arrived here."));
    }
    let (least, most) = (known().fold(f64::MAX, f64::min), known().fold(0.0, f64::max));
    Some(format!("The last events of {names} arrived here {} ago.", bounds(least, most)))
}

/// Says what a group does.
fn line(group: &Group, report: &Report) -> String {
    let names = report.names;
    let numbers: Vec<u64> = group.ranks.iter().map(|it| it + names.first).collect();
    let thread = match group.thread {
        0 => String::new(),
        number => format!(", thread {number}"),
    };
    let [least, most] = group.seconds;
    let time = match group.state {
        GONE => String::new(),
        _ => format!(" for {}", bounds(least, most)),
    };
    let title = match group.ranks.len() {
        1 => names.title.to_owned(),
        _ => capital(names.several),
    };
    let state = match group.state {
        "alive" => String::new(),
        GONE if report.is_over() => String::new(),
        "unknown" => " (it cannot be seen from here whether it is alive)".into(),
        state => format!(" ({state})"),
    };
    let waits = match group.waits_for.as_str() {
        "" => String::new(),
        waits => format!("; waits for {waits}"),
    };
    let who = ranges(&numbers, RANGES);
    format!("{title} {who}{thread}{state}: {}{time}{waits}", group.does)
}
