//! Words and numbers that the text, the JSON and the advice of `dwell analyze` share.

use std::path::Path;

use dwell_analyze::{Share, Step};
use dwell_model::waits::Wait;
pub(super) use dwell_report::findings::words::counted;
use dwell_report::findings::words::through;

use crate::format::{bounds, percents, seconds};
use crate::terminal::visible;

/// Returns the explanation of a wait or of inefficient communication by its id. Tests check that every id has one.
pub(super) fn meaning(id: &str) -> &'static str {
    let wait = Wait::of_id(id).map(|wait| wait.about().meaning);
    wait.or_else(|| dwell_report::inefficient(id).map(|about| about.meaning)).unwrap_or_default()
}

/// Converts nanoseconds to seconds, for JSON.
pub(super) fn in_seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// Formats a time with its unit.
pub(super) fn time(nanoseconds: u64) -> String {
    seconds(in_seconds(nanoseconds))
}

/// Formats one time, or both bounds if they differ.
pub(super) fn amount((least, most): (u64, u64)) -> String {
    bounds(in_seconds(least), in_seconds(most))
}

/// Formats a share in percent, or two if the bounds differ as printed.
pub(super) fn percent((least, most): (u64, u64), of: u64) -> String {
    let share = |part: u64| part as f64 / of.max(1) as f64;
    percents(share(least), share(most))
}

/// Formats a call path in one line.
pub(super) fn path(path: &[Step]) -> String {
    path.iter().map(|step| visible(&step.region)).collect::<Vec<_>>().join(" / ")
}

/// Formats the last call of a path with its source position.
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
            let through = through(&visible(&site.through));
            format!("{region} at {}:{}{column} in {function}{through}", visible(&file), site.line)
        }
        Some(site) => {
            let through = through(&visible(&site.through));
            format!("{} in {}{through}", visible(&step.region), visible(&site.function))
        }
        None => visible(&step.region).into_owned(),
    }
}

pub(super) fn shares(shares: &[Share]) -> String {
    let one =
        |it: &Share| format!("{} ({})", visible(&it.who), amount((it.nanoseconds, it.at_most)));
    shares.iter().take(3).map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{amount, percent};

    #[test]
    fn bounds_are_printed_where_they_differ() {
        assert_eq!(amount((2_000_000_000, 2_000_000_000)), "2.00 s");
        assert_eq!(amount((0, 2_000_000_000)), "0 to 2.00 s");
        assert_eq!(percent((22, 580), 1000), "2.2 to 58.0 %");
        assert_eq!(percent((580, 580), 1000), "58.0 %");
        assert_eq!(percent((1, 1), 1_000_000), "below 0.1 %");
        assert_eq!(percent((0, 0), 1_000_000), "0.0 %");
        assert_eq!(percent((580_001, 580_002), 1_000_000), "58.0 %");
    }
}
