//! Section about the functions in which the program computes, for a terminal.

use dwell_report::findings::words::within;
use dwell_report::findings::{FunctionTime, FunctionTimes};

use super::words::counted;
use crate::format::{bounds, percents, seconds};
use crate::page::Page;
use crate::terminal::visible;

/// Adds the functions with most processor time.
pub(super) fn section(page: &mut Page, functions: Option<&FunctionTimes>, top: usize) {
    let Some(functions) = functions.filter(|it| it.samples > 0) else { return };
    page.end();
    let samples = counted(functions.samples, "sample", "samples");
    let heading = format!("functions, by {samples} of {} on cores", seconds(functions.seconds));
    page.heading(&heading, 2);
    for it in functions.list.iter().take(top) {
        page.item(&visible(&line(it, functions.seconds)));
    }
}

/// Says how long a function takes, and where most.
fn line(it: &FunctionTime, all: f64) -> String {
    let (low, high) = ((it.seconds - it.margin_seconds).max(0.0), it.seconds + it.margin_seconds);
    let share = percents(low / all, high / all);
    let (process, most) = (within(&it.most_process), seconds(it.most_seconds));
    format!("{}, {share}, in {}; {process} most, with {most}", bounds(low, high), it.place())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_bounds_and_a_process() {
        let relax = FunctionTime {
            file: Some("src/tour.c".into()),
            function: "relax".into(),
            line: Some(27),
            margin_seconds: 0.2,
            most_process: "PE 2".into(),
            most_seconds: 1.31,
            samples: 210,
            seconds: 2.1,
            ..FunctionTime::default()
        };
        let functions = FunctionTimes { list: vec![relax], samples: 400, seconds: 4.0 };
        let mut page = Page::of_width(80);
        section(&mut page, Some(&functions), 5);
        let text = page.finish();
        assert!(text.contains("functions, by 400 samples of 4.00 s on cores"), "{text}");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("in relax at tour.c:27; PE 2 most, with 1.31 s"), "{text}");
        assert!(text.contains("1.90 to 2.30 s, 47.5 to 57.5 %"), "{text}");
        let mut page = Page::of_width(80);
        section(&mut page, Some(&FunctionTimes::default()), 5);
        section(&mut page, None, 5);
        assert_eq!(page.finish().trim(), "");
    }
}
