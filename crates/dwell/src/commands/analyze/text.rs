//! What a person reads: the summary in a terminal.

use std::fmt::Write as _;
use std::path::Path;

use dwell_analyze::{Analysis, Entry, Finding, Instance, Meanwhile, Phase, Serves, Share, Step};
use dwell_model::waits::Wait;

use super::advice::Advice;
use crate::format::{grouped, seconds, shorten, wrap};
use crate::terminal::visible;

/// How many call paths with unexplained time the summary lists.
const UNEXPLAINED_LISTED: usize = 3;

/// How many call paths that wait in start-up or shutdown the summary lists.
const APART_LISTED: usize = 3;

/// Columns before the text of a finding: its number, and a label.
const INDENT: usize = 13;

/// What happened.
pub(super) fn meaning(id: &str) -> &'static str {
    // A test holds that every pattern has its words.
    Wait::of_id(id).map_or("", |wait| wait.about().meaning)
}

/// What a person reads, in lines of at most `width` characters.
pub(super) fn summary(
    path: &Path,
    analysis: &Analysis,
    advice: &Advice<'_>,
    top: usize,
    width: usize,
) -> String {
    let mut page = Page { text: String::new(), width };
    head(&mut page, path, analysis);
    entries(&mut page, analysis, advice, top);
    apart(&mut page, analysis);
    unexplained(&mut page, analysis);
    polling(&mut page, analysis);
    let notes = analysis.not_computed().iter().map(ToString::to_string);
    let damage = analysis.damage().iter().map(|it| format!("damaged: {it}"));
    let notes: Vec<String> = notes.chain(damage).collect();
    if !notes.is_empty() {
        page.end();
    }
    for note in notes {
        let _ = writeln!(page.text, "{}", visible(&note));
    }
    page.end();
    page.text
}

/// Text in lines of some width.
struct Page {
    text: String,
    width: usize,
}

impl Page {
    /// A paragraph; all its lines but the first are indented.
    fn say(&mut self, text: &str, indent: usize) {
        self.indented(text, 0, indent);
    }

    /// An item of a list.
    fn item(&mut self, text: &str) {
        self.indented(text, 2, 4);
    }

    fn indented(&mut self, text: &str, first: usize, others: usize) {
        for (at, part) in wrap(text, self.width - others).iter().enumerate() {
            let by = if at == 0 { first } else { others };
            let _ = writeln!(self.text, "{:by$}{part}", "");
        }
    }

    /// Something about a finding.
    fn tell(&mut self, label: &str, content: &str) {
        for (at, part) in wrap(content, self.width - INDENT).iter().enumerate() {
            let _ = writeln!(self.text, "   {:9} {part}", if at == 0 { label } else { "" });
        }
    }

    /// An empty line.
    fn end(&mut self) {
        self.text.push('\n');
    }
}

/// What ran, and how much of it waits.
fn head(page: &mut Page, path: &Path, analysis: &Analysis) {
    let times = analysis.times();
    page.say(
        &format!(
            "{}: {}, {}, {} long",
            path.display(),
            counted(analysis.processes() as u64, "process", "processes"),
            counted(analysis.events(), "event", "events"),
            time(analysis.length()),
        ),
        2,
    );
    let mut apart = Vec::new();
    for (nanoseconds, name) in [(times.start_up, "start-up"), (times.shutdown, "shutdown")] {
        if nanoseconds > 0 {
            apart.push(format!("{} of {name}", time(nanoseconds)));
        }
    }
    let apart = match apart.as_slice() {
        [] => String::new(),
        parts => format!(", without {}", parts.join(" and ")),
    };
    page.say(&format!("the run takes {} over all locations{apart}", time(times.run)), 2);
    let of_run = || analysis.entries().iter().filter(|it| it.phase == Phase::Run);
    let bounds = (of_run().map(|it| it.nanoseconds).sum(), of_run().map(|it| it.at_most).sum());
    page.say(
        &format!("waits take {} of the run, {}", amount(bounds), percent(bounds, times.run)),
        2,
    );
    if let Some(residual) = analysis.clock_residual() {
        page.say(
            &format!(
                "clocks of different nodes agree to within {}: a single wait between nodes may be \
                 wrong by that",
                time(residual)
            ),
            2,
        );
    }
}

/// The call paths of the run that wait.
fn entries(page: &mut Page, analysis: &Analysis, advice: &Advice<'_>, top: usize) {
    let run = analysis.times().run;
    let of_run = || analysis.entries().iter().filter(|it| it.phase == Phase::Run);
    let large = || of_run().filter(|it| !it.is_small(run));
    for (number, one) in (1..).zip(large().take(top)) {
        page.end();
        entry(page, analysis, advice, number, one);
    }
    if of_run().next().is_none() {
        page.say("no call waits for another process", 2);
    }
    let rest = large().count().saturating_sub(top) as u64;
    if rest > 0 {
        page.end();
        page.say(&format!("{} more in findings.json", counted(rest, "call path", "call paths")), 2);
    }
    let small: Vec<&Entry> = of_run().filter(|it| it.is_small(run)).collect();
    if !small.is_empty() {
        let bounds =
            (small.iter().map(|it| it.nanoseconds).sum(), small.iter().map(|it| it.at_most).sum());
        if rest == 0 {
            page.end();
        }
        let (waits, each) = if small.len() == 1 { ("waits", "") } else { ("wait", " each") };
        page.say(
            &format!(
                "{} {waits} less than 0.1 % of the run{each}, {} in all",
                counted(small.len() as u64, "call path", "call paths"),
                amount(bounds)
            ),
            2,
        );
    }
}

/// A call path that waits.
fn entry(page: &mut Page, analysis: &Analysis, advice: &Advice<'_>, number: usize, entry: &Entry) {
    let run = analysis.times().run;
    let findings = analysis.findings().get(entry.findings.clone()).unwrap_or_default();
    let Some((main, others)) = findings.split_first() else { return };
    let bounds = (entry.nanoseconds, entry.at_most);
    page.say(
        &format!(
            "{number}. {} waits {}, {} of the run",
            call(&main.path),
            amount(bounds),
            percent(bounds, run)
        ),
        3,
    );
    page.tell("why", &format!("{} ({})", meaning(main.pattern), main.pattern));
    page.tell("path", &shorten(&path(&main.path), page.width - INDENT));
    page.tell("how often", &how_often(main, analysis.locations() as u64));
    if let Some(worst) = &main.worst {
        page.tell("worst", &instance(worst, main.at_most > main.nanoseconds));
        if let (Some(who), Some(doing)) = (&worst.partner, &worst.meanwhile) {
            page.tell("meanwhile", &meanwhile(who, doing, main.latency.is_some()));
        }
    }
    page.tell("who waits", &format!("most: {}", shares(&main.origins)));
    if !main.targets.is_empty() {
        page.tell("on whom", &format!("most: {}", shares(&main.targets)));
    }
    page.tell("to do", &advice.about(main));
    page.tell("how sure", &how_sure(main));
    for (at, other) in others.iter().enumerate() {
        let bounds = (other.nanoseconds, other.at_most);
        let content = format!(
            "{}, {}: {} ({}, {})",
            amount(bounds),
            percent(bounds, run),
            meaning(other.pattern),
            other.pattern,
            other.confidence.name()
        );
        page.tell(if at == 0 { "and" } else { "" }, &content);
    }
}

/// Waits of start-up and shutdown.
fn apart(page: &mut Page, analysis: &Analysis) {
    for (phase, whole) in
        [(Phase::StartUp, analysis.times().start_up), (Phase::Shutdown, analysis.times().shutdown)]
    {
        let of: Vec<&Entry> = analysis.entries().iter().filter(|it| it.phase == phase).collect();
        if of.is_empty() {
            continue;
        }
        let sum = |bound: fn(&Entry) -> u64| of.iter().map(|it| bound(it)).sum();
        let bounds = (sum(|it| it.nanoseconds), sum(|it| it.at_most));
        page.end();
        page.say(&format!("{}: waits take {} of {}", phase.name(), amount(bounds), time(whole)), 2);
        for it in of.iter().take(APART_LISTED) {
            let findings = analysis.findings().get(it.findings.clone()).unwrap_or_default();
            let Some(main) = findings.first() else { continue };
            let names: Vec<&str> = findings.iter().map(|it| it.pattern).collect();
            let bounds = (it.nanoseconds, it.at_most);
            let (place, names) = (call(&main.path), names.join(", "));
            page.item(&format!("{} in {place} ({names})", amount(bounds)));
        }
        let rest = of.len().saturating_sub(APART_LISTED) as u64;
        if rest > 0 {
            let rest = counted(rest, "call path", "call paths");
            page.item(&format!("and {rest} more in findings.json"));
        }
    }
}

/// Time that no wait explains, where it is enough to be a finding.
fn unexplained(page: &mut Page, analysis: &Analysis) {
    let large: Vec<_> = analysis.unexplained().iter().filter(|it| it.is_finding).collect();
    if large.is_empty() {
        return;
    }
    page.end();
    page.say(
        &format!(
            "unexplained: {} in calls that take longer than others of their class, and that no wait explains",
            time(large.iter().map(|it| it.nanoseconds).sum())
        ),
        2,
    );
    for it in large.iter().take(UNEXPLAINED_LISTED) {
        let mut text = format!("{} in {}", time(it.nanoseconds), call(&it.path));
        if it.too_few == it.nanoseconds {
            text.push_str("; too few calls to compare");
        } else if let Some(each) = it.transfer.checked_div(it.visits) {
            let _ = write!(text, "; such calls take {}", time(each));
        }
        if let Some((longest, who)) = &it.longest {
            let _ = write!(text, "; the longest takes {} more, at {who}", time(*longest));
        }
        let _ = write!(text, "; who: {}", shares(&it.origins));
        if !it.targets.is_empty() {
            let _ = write!(text, "; away meanwhile: {}", shares(&it.targets));
        }
        page.item(&visible(&text));
    }
    let rest = large.len().saturating_sub(UNEXPLAINED_LISTED) as u64;
    if rest > 0 {
        let rest = counted(rest, "call path", "call paths");
        page.item(&format!("and {rest} more in findings.json"));
    }
    for it in analysis.crowds() {
        let (node, processes, cores) = (visible(&it.node), it.processes, it.cores);
        page.item(&format!(
            "more processes than cores on {node}: {processes} processes share {cores} cores"
        ));
    }
}

/// Loops over calls that test.
fn polling(page: &mut Page, analysis: &Analysis) {
    let loops = analysis.polling();
    let Some(longest) = loops.first() else { return };
    page.end();
    let ended = match longest.targets.as_slice() {
        [] => String::new(),
        some => format!(", ended by {}", shares(some)),
    };
    page.say(
        &format!(
            "polling: {} test again and again, for {}; it counts as computing. Most: {}{ended}",
            counted(loops.iter().map(|it| it.calls).sum(), "call", "calls"),
            time(loops.iter().map(|it| it.nanoseconds).sum()),
            call(&longest.path)
        ),
        2,
    );
}

/// How many calls waited, how long on average, and where.
fn how_often(finding: &Finding, locations: u64) -> String {
    let calls = counted(finding.visits, "call", "calls");
    let waited = match finding.calls {
        all if all == finding.visits && all == 1 => "the only call waited".to_owned(),
        all if all == finding.visits => format!("all {calls} waited"),
        some => format!("{} of {calls} waited", grouped(some)),
    };
    let each = |sum: u64| sum / finding.calls.max(1);
    let mean = match finding.calls {
        0 | 1 => String::new(),
        _ => {
            let mean = amount((each(finding.nanoseconds), each(finding.at_most)));
            format!(", {mean} on average")
        }
    };
    format!(
        "{waited}{mean}; {} of {}",
        grouped(finding.locations),
        counted(locations, "location", "locations")
    )
}

/// A single wait.
fn instance(it: &Instance, is_bound: bool) -> String {
    let partner = it.partner.as_ref().map_or(String::new(), |who| format!(" for {}", visible(who)));
    format!(
        "{} waited {}{}{partner}, from {} on",
        visible(&it.process),
        if is_bound { "up to " } else { "" },
        time(it.nanoseconds),
        time(it.begin)
    )
}

/// How many kinds of calls that a partner made meanwhile are told.
const MEANWHILE_LISTED: usize = 3;

/// What the process that was waited for did meanwhile, and for waits for progress which of its calls served nobody.
fn meanwhile(who: &str, doing: &Meanwhile, of_progress: bool) -> String {
    let whole = doing.computing + doing.calls.iter().map(|it| it.nanoseconds).sum::<u64>();
    let is_much = |part: u64| part.saturating_mul(100) >= whole;
    let mut parts: Vec<(u64, String)> = Vec::new();
    if doing.computing > 0 && is_much(doing.computing) {
        parts.push((doing.computing, format!("computed for {}", time(doing.computing))));
    }
    for it in &doing.calls {
        let (one, several) = match it.serves {
            _ if !of_progress => ("", ""),
            Serves::Always => ("", ""),
            Serves::Maybe => (", which may serve nobody", ", which may serve nobody"),
            Serves::Never => (", which serves nobody", ", which serve nobody"),
            Serves::NotOnItself => {
                (" on itself, which serves nobody", " on itself, which serve nobody")
            }
        };
        if !is_much(it.nanoseconds) && one.is_empty() {
            continue;
        }
        let (call, took) = (call(std::slice::from_ref(&it.call)), time(it.nanoseconds));
        let text = match it.count {
            1 => format!("was in {call} for {took}{one}"),
            count => format!("made {} calls of {call}{several} ({took})", grouped(count)),
        };
        parts.push((it.nanoseconds, text));
    }
    // Sorting is stable: what took longest comes first.
    parts.sort_by_key(|part| std::cmp::Reverse(part.0));
    let parts: Vec<String> =
        parts.into_iter().take(1 + MEANWHILE_LISTED).map(|part| part.1).collect();
    format!("{} {}", visible(who), parts.join("; "))
}

/// How sure a finding is, and on what condition.
fn how_sure(finding: &Finding) -> String {
    let word = finding.confidence.name();
    match finding.latency {
        Some(0) => format!("{word}, if requests travel in no time: the archive does not say"),
        Some(latency) => format!("{word}, if requests travel at least {}", time(latency)),
        None => word.to_owned(),
    }
}

fn time(nanoseconds: u64) -> String {
    seconds(nanoseconds as f64 / 1e9)
}

/// A number of things.
pub(super) fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { several })
}

/// One time, or two bounds.
fn amount((least, most): (u64, u64)) -> String {
    match most > least {
        true => format!("{} to {}", time(least), time(most)),
        false => time(least),
    }
}

/// A share in percent, or two if the bounds differ in what is printed.
fn percent((least, most): (u64, u64), of: u64) -> String {
    let text = |part: u64| format!("{:.1}", 100.0 * part as f64 / of.max(1) as f64);
    let above_zero = most > 0;
    match (text(least), text(most)) {
        (least, most) if least == most && least == "0.0" && above_zero => "below 0.1 %".into(),
        (least, most) if least == most => format!("{least} %"),
        (least, most) => format!("{least} to {most} %"),
    }
}

/// A call path in one line.
fn path(path: &[Step]) -> String {
    path.iter().map(|step| visible(&step.region)).collect::<Vec<_>>().join(" / ")
}

/// The last call, and where it stands in the program.
pub(super) fn call(path: &[Step]) -> String {
    let Some(step) = path.last() else { return String::new() };
    match &step.site {
        Some(site) if !site.file.is_empty() => {
            let file = Path::new(&site.file).file_name().unwrap_or_default().to_string_lossy();
            let (region, function) = (visible(&step.region), visible(&site.function));
            let column = match (site.column, site.nth) {
                (0, None) => String::new(),
                (0, Some((nth, of))) => format!(" (call {nth} of {of} on this line)"),
                (column, _) => format!(":{column}"),
            };
            format!("{region} at {}:{}{column} in {function}", visible(&file), site.line)
        }
        Some(site) => format!("{} in {}", visible(&step.region), visible(&site.function)),
        None => visible(&step.region).into_owned(),
    }
}

fn shares(shares: &[Share]) -> String {
    let one =
        |it: &Share| format!("{} ({})", visible(&it.who), amount((it.nanoseconds, it.at_most)));
    shares.iter().take(3).map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{amount, percent};

    #[test]
    fn bounds_are_printed_where_they_differ() {
        assert_eq!(amount((2_000_000_000, 2_000_000_000)), "2.000 s");
        assert_eq!(amount((0, 2_000_000_000)), "0 s to 2.000 s");
        assert_eq!(percent((22, 580), 1000), "2.2 to 58.0 %");
        assert_eq!(percent((580, 580), 1000), "58.0 %");
        assert_eq!(percent((1, 1), 1_000_000), "below 0.1 %");
        assert_eq!(percent((0, 0), 1_000_000), "0.0 %");
        assert_eq!(percent((580_001, 580_002), 1_000_000), "58.0 %");
    }
}
