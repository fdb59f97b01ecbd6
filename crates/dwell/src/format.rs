//! Formatting of numbers and texts for people.

pub(crate) use dwell_model::units::{bounds, bytes, grouped, number, percent, percents, seconds};

/// Writes ascending numbers as ranges, as many as `most` of them: `0 to 2, 5`.
pub(crate) fn ranges(numbers: &[u64], most: usize) -> String {
    let mut list: Vec<(u64, u64)> = Vec::new();
    for &number in numbers {
        match list.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => list.push((number, number)),
        }
    }
    let shown = list.iter().take(most).map(|&(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    if list.len() > most { shown + " and others" } else { shown }
}

/// Shortens a text to at most `width` characters. The beginning is left out, because the end of a call path tells more.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let keep = width.saturating_sub(1);
    std::iter::once('…').chain(text.chars().skip(length - keep)).collect()
}

/// Appends a paragraph, broken at blanks to the width of the terminal. The first line begins with `first` blanks, and all others
/// with `rest`.
pub(crate) fn paragraph(to: &mut String, width: usize, (first, rest): (usize, usize), text: &str) {
    let lines = wrap(text, width.saturating_sub(first.max(rest)).max(20));
    if lines.is_empty() {
        to.push('\n');
    }
    for (number, line) in lines.iter().enumerate() {
        let blanks = if number == 0 { first } else { rest };
        to.push_str(&" ".repeat(blanks));
        to.push_str(line);
        to.push('\n');
    }
}

/// Wraps a text to lines of at most `width` characters, between words, but not between a number and its unit.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let unit = word.trim_end_matches(|c: char| ".,;:)".contains(c));
        match words.last_mut() {
            Some(number)
                if ["ns", "µs", "us", "ms", "s", "%"].contains(&unit)
                    && number.trim_start_matches('(').starts_with(|c: char| c.is_ascii_digit()) =>
            {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for word in &words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{shorten, wrap};

    #[test]
    fn texts_are_broken_between_words() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(
            wrap("takes (1.5 ms), 65.6 % of it", 10),
            ["takes", "(1.5 ms),", "65.6 % of", "it"]
        );
        assert_eq!(wrap("  ", 8), [""; 0]);
        assert_eq!(wrap("unbreakable", 3), ["unbreakable"]);
    }

    #[test]
    fn long_texts_lose_their_beginning() {
        assert_eq!(shorten("main / solve / get", 18), "main / solve / get");
        assert_eq!(shorten("main / solve / get", 6), "…/ get");
    }
}
