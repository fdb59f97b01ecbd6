//! Prints the verdict of an analysis: at most [`LINES`] lines of 80 columns, the answer first.

use std::path::Path;

use dwell_model::units::{grouped, short_seconds};
use dwell_report::findings::words::counted;
use dwell_report::findings::{Findings, Point, Step};

use crate::page::Page;
use crate::terminal::visible;

/// Greatest number of lines.
#[cfg(test)]
const LINES: usize = 24;

/// Returns the verdict as a page for the terminal. `directory` has the results.
pub(super) fn page(path: &Path, directory: &Path, document: &Findings) -> Page {
    let mut page = Page::for_output();
    let verdict = &document.verdict;
    page.heading_of(
        &format!(
            "{}: {}, {} long, {} events",
            path.display(),
            counted(document.processes, "process", "processes"),
            short_seconds(document.length_seconds),
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
    let more = document.damage.len().saturating_sub(1) + document.not_computed.len();
    if more > 0 {
        let more = counted(more as u64, "more note", "more notes");
        page.say(&format!("{more} with --full"), 2);
    }
    let directory = directory.display();
    page.say(&format!("next: dwell view {directory}, or --full for all that was found"), 2);
    page
}

/// Says which time is not part of the run.
fn apart(page: &mut Page, document: &Findings) {
    let parts = [(document.startup_seconds, "start-up"), (document.shutdown_seconds, "shutdown")];
    let large = parts.iter().filter(|it| it.0 * 100.0 >= document.time_seconds && it.0 > 0.0);
    let parts: Vec<String> =
        large.map(|(seconds, name)| format!("{name} ({})", short_seconds(*seconds))).collect();
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
    for line in it.places.iter().take(2).filter_map(|step| source(directory, step)) {
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
    use super::*;

    #[test]
    fn a_verdict_with_long_texts_has_24_lines() {
        let long = "word ".repeat(200);
        let point = || Point {
            id: "A".into(),
            what: long.clone(),
            cost: long.clone(),
            change: long.clone(),
            gain: long.clone(),
            places: vec![Step::default()],
            ..Point::default()
        };
        let mut document = Findings {
            damage: vec!["7.evt ends early".into(); 3],
            startup_seconds: 1.0,
            time_seconds: 4.0,
            ..Findings::default()
        };
        document.verdict.head =
            "31 % of the process time is not computing: waiting 29 to 31 %, transfer 1.0 %, \
                                 unexplained 0.5 %, polling, partly in these, 2.0 %."
                .into();
        document.verdict.points = vec![point(), point(), point()];
        let text = page(Path::new("run"), Path::new("run"), &document).text;
        // Two lines of source come on top.
        assert!(text.lines().count() <= LINES - 2, "{text}");
        assert!(text.lines().all(|it| it.chars().count() <= 80), "{text}");
    }
}
