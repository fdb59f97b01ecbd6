//! Prints the verdict of an analysis: at most [`LINES`] lines of 80 columns, the answer first.

use std::path::Path;

use dwell_model::units::{grouped, seconds};
use dwell_report::findings::words::counted;
use dwell_report::findings::{Activity, Findings, Point, Step};

use crate::page::Page;
use crate::terminal::visible;

/// Greatest number of lines.
#[cfg(test)]
const LINES: usize = 24;

/// Returns the verdict as a page for the terminal. `directory` has the results.
pub(super) fn page(path: &Path, directory: &Path, document: &Findings) -> Page {
    on(Page::for_output(), path, directory, document)
}

/// Adds the verdict to an empty page.
fn on(mut page: Page, path: &Path, directory: &Path, document: &Findings) -> Page {
    let verdict = &document.verdict;
    page.heading_of(
        &format!(
            "{}: {}, {} long, {} events",
            path.display(),
            counted(document.processes, "process", "processes"),
            seconds(document.length_seconds),
            grouped(document.events),
        ),
        2,
        2,
    );
    page.say(&verdict.head, 0);
    if let Some(it) = &document.efficiency {
        let [parallel, balance, communication] = [it.parallel, it.load_balance, it.communication]
            .map(|part| format!("{:.0} %", 100.0 * part));
        page.say(
            &format!(
                "Parallel efficiency {parallel} = load balance {balance} x communication {communication}."
            ),
            0,
        );
    }
    apart(&mut page, document);
    if let Some((first, others)) = verdict.points.split_first() {
        page.end();
        main_point(&mut page, directory, first);
        if !others.is_empty() {
            page.end();
        }
        for it in others {
            let cost = format!("  {}", it.costs());
            page.line_with_end(&visible(&it.brief()), &cost);
        }
    }
    if !verdict.since.is_empty() {
        page.end();
        page.say(&visible(&format!("Since when: {}.", verdict.since)), 2);
    }
    page.end();
    for it in document.damage.iter().take(1) {
        page.say(&format!("damaged: {}", visible(it)), 2);
    }
    // Notes about all waits and no number of calls are about events that the archive does not have.
    let missing = document.not_computed.iter().find(|it| it.pattern == "all" && it.calls == 0);
    if let Some(it) = missing {
        page.tell_some("missing", &visible(&it.reason), 2);
    }
    let more = document.damage.len().saturating_sub(1) + document.not_computed.len()
        - usize::from(missing.is_some());
    if more > 0 {
        let more = counted(more as u64, "more note", "more notes");
        page.say(&format!("{more} with --full"), 2);
    }
    let directory = directory.display();
    page.say(&format!("next: dwell view {directory}, or --full for all that was found"), 2);
    if ends_at_computing(document) {
        page.say(
            "with dwell run --sample it would name the function and the line that computes",
            2,
        );
    }
    page
}

/// Returns `true` if the most expensive cause is computing, and nothing says in which function.
fn ends_at_computing(document: &Findings) -> bool {
    let first = document.verdict.points.first();
    let cause = first.and_then(|point| document.causes.iter().find(|it| it.id == point.id));
    cause.is_some_and(|it| it.what == Activity::Computing && it.sampled.is_none())
}

/// Says which time is not part of the run.
fn apart(page: &mut Page, document: &Findings) {
    let parts = [(document.startup_seconds, "start-up"), (document.shutdown_seconds, "shutdown")];
    let large = parts.iter().filter(|it| it.0 * 100.0 >= document.time_seconds && it.0 > 0.0);
    let parts: Vec<String> =
        large.map(|(time, name)| format!("{name} ({})", seconds(*time))).collect();
    if !parts.is_empty() {
        page.say(&format!("Process time of {} is left out.", parts.join(" and ")), 0);
    }
}

/// Adds the point that costs most, with its source and what to do.
fn main_point(page: &mut Page, directory: &Path, it: &Point) {
    page.heading_of(&visible(&format!("{}: {}.", it.title(), it.what)), 3, 3);
    if !it.cost.is_empty() {
        page.tell_some("cost", &visible(&it.cost), 2);
    }
    if !it.inside.is_empty() {
        page.tell_some("where", &visible(&format!("{}.", it.inside)), 2);
    }
    let places = it.line.as_ref().map_or(it.places.as_slice(), std::slice::from_ref);
    for line in places.iter().take(2).filter_map(|step| source(directory, step)) {
        page.line(&visible(&line));
    }
    if !it.change.is_empty() {
        page.tell_some("change", &visible(&it.change), 3);
    }
    if !it.gain.is_empty() {
        page.tell_some("gain", &visible(&it.gain), 2);
    }
}

/// Returns a line of the source with its number.
fn source(directory: &Path, step: &Step) -> Option<String> {
    let (file, number) = (step.file.as_deref()?, step.line?);
    let text = dwell_serve::source_line(directory, file, number)?;
    let text = text.replace('\t', "    ");
    Some(format!("   {number:>9} {}", text.trim()))
}

#[cfg(test)]
mod tests {
    use dwell_report::findings::NotComputed;

    use super::*;

    #[test]
    fn a_verdict_with_long_texts_has_24_lines() {
        let long = "word ".repeat(200);
        let point = || Point {
            id: "A".into(),
            what: long.clone(),
            cost: long.clone(),
            change: long.clone(),
            inside: long.clone(),
            gain: long.clone(),
            places: vec![Step::default()],
            ..Point::default()
        };
        let mut document = Findings {
            damage: vec!["7.evt ends early".into(); 3],
            not_computed: vec![NotComputed {
                pattern: "all".into(),
                reason: long.clone(),
                ..NotComputed::default()
            }],
            startup_seconds: 1.0,
            time_seconds: 4.0,
            ..Findings::default()
        };
        document.verdict.head =
            "31 % of the process time is not computing: waiting 29 to 31 %, transfer 1.0 %, \
                                 unexplained 0.5 %, polling, partly in these, 2.0 %."
                .into();
        document.verdict.points = vec![point(), point(), point()];
        let text = on(Page::of_width(80), Path::new("run"), Path::new("run"), &document).text;
        // Two lines of source come on top.
        assert!(text.lines().count() <= LINES - 2, "{text}");
        assert!(text.lines().all(|it| it.chars().count() <= 80), "{text}");
    }
}
