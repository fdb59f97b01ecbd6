//! The report for a terminal.

use std::path::Path;

use dwell_report::findings::words::{capital, counted, within};

use super::report::{GONE, Group, Report};
use crate::format::{bounds, grouped, ranges};
use crate::page::Page;
use crate::terminal::visible;

/// Greatest number of groups that are listed.
const GROUPS: usize = 12;
/// Greatest number of ranges of processes of a group.
const RANGES: usize = 6;
/// Greatest number of circles and of roots.
const CONCLUSIONS: usize = 3;

pub(super) fn page(directory: &Path, report: &Report) -> Page {
    let mut page = Page::for_output();
    let names = report.names;
    let run = directory.display();
    let processes = counted(report.processes, "process", "processes");
    let is_over = report.groups.iter().all(|it| it.state == GONE);
    let head = match is_over {
        true => format!(
            "{run}: {processes}, which have ended; this is what they were in. Next: dwell recover {run}"
        ),
        false => {
            let going_on = grouped(report.going_on);
            format!("{run}: {processes}; {going_on} of them made a call in the last 0.3 s")
        }
    };
    page.heading(&head, 2);
    page.end();
    for group in report.groups.iter().take(GROUPS) {
        page.say(&visible(&line(group, report)), 4);
    }
    let more = report.groups.len().saturating_sub(GROUPS);
    if more > 0 {
        page.say(&format!("{more} more groups with --json"), 4);
    }
    if !report.missing.is_empty() {
        let numbers: Vec<u64> = report.missing.iter().map(|it| it + names.first).collect();
        let missing = ranges(&numbers, RANGES);
        page.say(&format!("{} {missing}: no files here", names.title), 4);
    }
    page.end();
    for circle in report.circles.iter().take(CONCLUSIONS) {
        let kind = if circle.certain { "Deadlock" } else { "A circle, if nobody else ends it" };
        page.heading(&visible(&format!("{kind}: {}.", circle.text)), 2);
    }
    for root in report.roots.iter().take(CONCLUSIONS) {
        let behind = match root.behind {
            1 => "1 process waits".to_owned(),
            many => format!("{} processes wait", grouped(many)),
        };
        let (name, text) = (within(&names.name(root.rank)), &root.text);
        page.say(&visible(&format!("{behind} for {name}, which {text}.")), 2);
    }
    if report.circles.is_empty() && report.roots.is_empty() {
        page.say("Nobody waits for a process that is known.", 2);
    }
    for it in report.unreadable.iter().take(CONCLUSIONS) {
        page.say(&visible(&format!("not read: {it}")), 2);
    }
    page
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
