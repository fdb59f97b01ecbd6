//! The book stays short enough to be read.
//!
//! What users have to read has bounds; pages that they look things up in, below *Reference* in the table of contents, do
//! not count. What the book leaves out is in files that it names.

use crate::lab::Lab;
use crate::pages;

/// Greatest number of words of all pages, and of pages.
const WORDS: usize = 30_000;
const PAGES: usize = 26;

/// Number of words above which a page has a picture.
const PLAIN: usize = 600;

/// Returns name and text of the pages that the table of contents has before its reference.
fn chapters() -> Vec<(String, String)> {
    let read = |name: &str| std::fs::read_to_string(pages::directory().join(name)).unwrap();
    let summary = read("SUMMARY.md");
    let (guide, _) = summary.split_once("# Reference").expect("there is a reference");
    let names = guide.lines().filter_map(|line| line.split_once("](")?.1.split(')').next());
    names.map(|name| (name.to_owned(), read(name))).collect()
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

#[test]
fn the_book_is_short() {
    let chapters = chapters();
    let sum: usize = chapters.iter().map(|it| words(&it.1)).sum();
    println!("{sum} words on {} pages", chapters.len());
    assert!(sum <= WORDS, "{sum} words");
    assert!(chapters.len() <= PAGES, "{} pages", chapters.len());
    assert!(sum > WORDS / 10, "only {sum} words were found");
}

#[test]
fn long_pages_have_pictures() {
    let is_plain = |text: &str| words(text) > PLAIN && !text.contains("![");
    let plain: Vec<String> =
        chapters().into_iter().filter(|it| is_plain(&it.1)).map(|it| it.0).collect();
    assert!(plain.is_empty(), "no picture on {}", plain.join(", "));
}

#[test]
fn pages_have_no_dates_in_their_sentences() {
    const MONTHS: &str =
        "January February March April May June July August September October November December";
    for (name, text) in chapters() {
        let outside: String = text.split("```").step_by(2).collect();
        let dates = MONTHS.split(' ').map(|month| format!("{month} 20"));
        let found: Vec<String> = dates.filter(|date| outside.contains(date)).collect();
        assert!(found.is_empty(), "{name}: {found:?} belongs into docs/performance");
    }
}

#[test]
fn files_that_the_book_names_exist() {
    let root = Lab::repository();
    let mut count = 0;
    for (name, text) in chapters() {
        for file in text.split('`').skip(1).step_by(2).filter(|it| it.starts_with("docs/")) {
            count += 1;
            assert!(root.join(file).exists(), "{name}: there is no {file}");
        }
    }
    assert!(count > 10, "only {count} files were found");
}
