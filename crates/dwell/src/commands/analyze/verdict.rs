//! Prints the verdict of an analysis: at most [`LINES`] lines of 80 columns, the answer first.

use std::path::Path;

use dwell_model::units::{grouped, seconds};
use dwell_report::findings::words::counted;
use dwell_report::findings::{Activity, Findings, Point, Step};

use crate::page::Page;
use crate::terminal::visible;

/// Greatest number of lines.
const LINES: usize = 24;

/// Greatest numbers of lines of texts: as much as readers like, or what is left if there is much to say.
#[derive(Clone, Copy, Debug)]
struct Room {
    head: usize,
    what: usize,
    fact: usize,
    change: usize,
    note: usize,
    /// Set if empty lines separate the parts.
    airy: bool,
}

const AMPLE: Room = Room { head: 4, what: 3, fact: 2, change: 3, note: 2, airy: true };
const TIGHT: Room = Room { head: 2, what: 2, fact: 1, change: 2, note: 1, airy: false };

/// Returns the verdict as a page for the terminal. `directory` has the results.
pub(super) fn page(path: &Path, directory: &Path, document: &Findings) -> Page {
    fitted(&Page::for_output, path, directory, document)
}

/// Returns the verdict on a page that `empty` makes, in fewer words if it would have too many lines.
fn fitted(empty: &dyn Fn() -> Page, path: &Path, directory: &Path, document: &Findings) -> Page {
    let page = on(empty(), AMPLE, (path, directory), document);
    match page.text.lines().count() {
        0..=LINES => page,
        _ => on(empty(), TIGHT, (path, directory), document),
    }
}

/// Adds the verdict to an empty page.
fn on(mut page: Page, room: Room, (path, directory): (&Path, &Path), document: &Findings) -> Page {
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
    page.say_some(&verdict.head, 0, room.head);
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
        main_point(&mut page, room, directory, first);
        if !others.is_empty() && room.airy {
            page.end();
        }
        for it in others {
            let cost = format!("  {}", it.costs());
            page.line_with_end(&visible(&it.brief()), &cost);
        }
    }
    if !verdict.since.is_empty() {
        if room.airy {
            page.end();
        }
        page.say_some(&visible(&format!("Since when: {}.", verdict.since)), 2, room.note);
    }
    page.end();
    for it in document.damage.iter().take(1) {
        page.say_some(&format!("damaged: {}", visible(it)), 2, room.note);
    }
    // Notes about all waits and no number of calls are about events that the archive does not have.
    let missing = document.not_computed.iter().find(|it| it.pattern == "all" && it.calls == 0);
    if let Some(it) = missing {
        page.tell_some("missing", &visible(&it.reason), room.note);
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
fn main_point(page: &mut Page, room: Room, directory: &Path, it: &Point) {
    page.heading_of(&visible(&format!("{}: {}.", it.title(), it.what)), 3, room.what);
    if !it.cost.is_empty() {
        page.tell_some("cost", &visible(&it.cost), room.fact);
    }
    if !it.inside.is_empty() {
        page.tell_some("where", &visible(&format!("{}.", it.inside)), room.fact);
    }
    let places = it.line.as_ref().map_or(it.places.as_slice(), std::slice::from_ref);
    let mut lines: Vec<String> =
        places.iter().take(2).filter_map(|step| source(directory, step)).collect();
    // Computing may begin and end at one call.
    lines.dedup();
    lines.iter().for_each(|line| page.line(&visible(line)));
    if !it.change.is_empty() {
        page.tell_some("change", &visible(&it.change), room.change);
    }
    if !it.gain.is_empty() {
        page.tell_some("gain", &visible(&it.gain), room.fact);
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
        document.verdict.since = long.clone();
        let run = Path::new("run");
        let text = fitted(&|| Page::of_width(80), run, run, &document).text;
        // Two lines of source come on top.
        assert!(text.lines().count() <= LINES - 2, "{text}");
        assert!(text.lines().all(|it| it.chars().count() <= 80), "{text}");
    }
}
