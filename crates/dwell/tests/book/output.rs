//! Comparing what a command printed with what the book prints.
//!
//! Numbers differ between runs, and so does where lines are broken. So texts are compared word by word, and all
//! numbers, and all units of time and size, count as equal. `…` in the book stands for any words, and within a word for
//! any letters.

const UNITS: &[&str] = &["ns", "µs", "us", "ms", "s", "min", "h", "B", "KiB", "MiB", "GiB"];

/// Returns `true` if a printed text is what the book expects.
pub(crate) fn is_as(expected: &str, printed: &str) -> bool {
    let words = |text: &str| text.split_whitespace().map(word).collect::<Vec<String>>();
    let (expected, printed) = (words(expected), words(printed));
    matches(
        &expected,
        &printed,
        |it| it == "…",
        |expected, printed| {
            let letters = |text: &str| text.chars().collect::<Vec<char>>();
            matches(&letters(expected), &letters(printed), |it| *it == '…', PartialEq::eq)
        },
    )
}

/// Matches a text with a pattern in which some symbols stand for anything.
fn matches<T>(
    pattern: &[T],
    text: &[T],
    is_any: impl Fn(&T) -> bool,
    is_equal: impl Fn(&T, &T) -> bool,
) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut last: Option<(usize, usize)> = None;
    while place < text.len() {
        if at < pattern.len() && is_any(&pattern[at]) {
            last = Some((at, place));
            at += 1;
        } else if at < pattern.len() && is_equal(&pattern[at], &text[place]) {
            at += 1;
            place += 1;
        } else if let Some((any, from)) = last {
            // What stands for anything takes one more.
            last = Some((any, from + 1));
            (at, place) = (any + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(is_any)
}

/// Replaces the numbers of a word by `#`, and units by one.
fn word(text: &str) -> String {
    let bare = text.trim_end_matches([',', ';', '.', ')', ':']);
    if UNITS.contains(&bare) {
        return format!("unit{}", &text[bare.len()..]);
    }
    let mut made = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|it: char| it.is_ascii_digit()) {
        made.push_str(&rest[..start]);
        made.push('#');
        let number = rest[start..].trim_start_matches(|it: char| it.is_ascii_digit());
        rest = number;
        // A separator belongs to the number if a digit follows.
        while rest.starts_with([',', '.']) && rest[1..].starts_with(|it: char| it.is_ascii_digit())
        {
            rest = rest[1..].trim_start_matches(|it: char| it.is_ascii_digit());
        }
    }
    made + rest
}

#[test]
fn numbers_and_breaks_may_differ() {
    assert!(is_as("waits 1.2 ms, 43.9 % of\n  the run", "waits 980.1 us, 7 % of the run"));
    assert!(is_as("run-2026: 5,018 B", "run-1: 12 KiB"));
    assert!(!is_as("PE 0 waits", "PE 0 computes"));
    assert!(!is_as("a b", "a b c"));
    assert!(!is_as("a b c", "a b"));
}

#[test]
fn dots_stand_for_anything() {
    assert!(is_as("a\n…\nz", "a b c z"));
    assert!(is_as("a … z", "a z"));
    assert!(is_as("…", ""));
    assert!(is_as("/…/heat.c: x", "/home/me/heat.c: x"));
    assert!(is_as("… b … b", "a b b"));
    assert!(!is_as("a … z", "a b c"));
    assert!(!is_as("/…/heat.c", "/home/fft.c"));
}
