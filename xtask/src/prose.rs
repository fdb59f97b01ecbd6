//! Measures the doc comments of the project, so that prose can be held to figures.
//!
//! A doc comment is a run of `///` lines. It documents a public item if the next line of code starts with `pub`, or is a
//! variant of a public enum. The scanner reads text and not syntax trees, so it also sees the rows of macros, and the
//! same scanner can be run on other projects for comparison.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;

use crate::tidy::sources::{self, SourceFile};
use crate::tidy::{Check, Problem};
use crate::workspace::Workspace;

/// Words with which a sentence only names its subject, and leaves the reader to find out what it says about the
/// subject.
const VAGUE: &[&str] = &["What", "Who", "Whom", "Whose", "Whether", "How"];

/// Doc comments on public items with this many words or fewer are labels.
const LABEL: usize = 3;

/// The largest share of doc comments that may begin with one of [`VAGUE`].
const MOST_VAGUE: f64 = 0.05;

/// The smallest mean number of words of doc comments on public items.
const LEAST_MEAN: f64 = 19.5;

/// Options of `cargo xtask prose`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Print the vague doc comments and labels in files whose path begins with this
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = "")]
    list: Option<String>,
    /// Print this many doc comments, chosen at random
    #[arg(long, value_name = "COUNT")]
    sample: Option<usize>,
    /// Seed of the choice
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Measure the Rust files of another project instead of this one
    #[arg(long, value_name = "DIR")]
    of: Option<PathBuf>,
}

/// A doc comment and its place.
#[derive(Debug, PartialEq, Eq)]
struct Comment {
    path: String,
    line: usize,
    text: String,
    public: bool,
}

impl Comment {
    fn words(&self) -> usize {
        self.text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count()
    }

    fn is_vague(&self) -> bool {
        let first = self.text.split(|it: char| !it.is_alphanumeric()).next();
        first.is_some_and(|word| VAGUE.contains(&word))
    }

    fn is_label(&self) -> bool {
        self.public && self.words() <= LABEL
    }
}

/// Figures of the doc comments of one crate, or of all.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    comments: usize,
    words: usize,
    vague: usize,
    public: usize,
    public_words: usize,
    labels: usize,
}

impl Figures {
    fn add(&mut self, comment: &Comment) {
        self.comments += 1;
        self.words += comment.words();
        self.vague += usize::from(comment.is_vague());
        if comment.public {
            self.public += 1;
            self.public_words += comment.words();
            self.labels += usize::from(comment.is_label());
        }
    }

    fn vague_share(&self) -> f64 {
        self.vague as f64 / self.comments.max(1) as f64
    }

    fn public_mean(&self) -> f64 {
        self.public_words as f64 / self.public.max(1) as f64
    }

    fn row(&self, name: &str) -> String {
        let mean = self.words as f64 / self.comments.max(1) as f64;
        format!(
            "{name:24} {:8} {mean:6.1} {:7.1} % {:8} {:6.1} {:7}",
            self.comments,
            100.0 * self.vague_share(),
            self.public,
            self.public_mean(),
            self.labels
        )
    }
}

/// Measures all doc comments and prints the figures, and the comments that were asked for.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let root = options.of.as_ref().unwrap_or(&workspace.root);
    let comments = comments(&sources::tracked(root)?);
    let mut crates: BTreeMap<String, Figures> = BTreeMap::new();
    let mut all = Figures::default();
    for comment in &comments {
        crates.entry(crate_of(&comment.path)).or_default().add(comment);
        all.add(comment);
    }
    if let Some(under) = &options.list {
        let poor = |it: &&Comment| it.path.starts_with(under) && (it.is_vague() || it.is_label());
        comments.iter().filter(poor).for_each(print);
    }
    if let Some(count) = options.sample {
        choose(&comments, count, options.seed).into_iter().for_each(print);
    }
    println!(
        "{:24} {:>8} {:>6} {:>9} {:>8} {:>6} {:>7}",
        "", "comments", "words", "vague", "public", "words", "labels"
    );
    crates.iter().for_each(|(name, figures)| println!("{}", figures.row(name)));
    println!("{}", all.row("all"));
    missed(&all).iter().for_each(|it| println!("goal missed: {it}"));
    Ok(())
}

/// Reads the doc comments of all Rust files.
fn comments(files: &[SourceFile]) -> Vec<Comment> {
    let rust = files.iter().filter(|file| file.is_rust());
    let texts = rust.filter_map(|file| Some((&file.path, file.text.as_deref()?)));
    texts.flat_map(|(path, text)| scan(path, text)).collect()
}

/// Returns a message for each goal that the figures miss.
fn missed(all: &Figures) -> Vec<String> {
    let mut missed = Vec::new();
    if all.vague_share() >= MOST_VAGUE {
        let (share, most) = (100.0 * all.vague_share(), 100.0 * MOST_VAGUE);
        missed.push(format!("{share:.1} % of doc comments begin vaguely, {most} % at most may"));
    }
    if all.labels > 0 {
        let labels = all.labels;
        missed.push(format!("{labels} doc comments on public items have {LABEL} words or fewer"));
    }
    if all.public_mean() < LEAST_MEAN {
        let mean = all.public_mean();
        missed
            .push(format!("public items have {mean:.1} words of documentation, not {LEAST_MEAN}"));
    }
    missed
}

/// Checks the goals over the whole project, for `cargo xtask tidy`.
pub(crate) fn check(files: &[SourceFile]) -> Check {
    let comments = comments(files);
    let mut all = Figures::default();
    comments.iter().for_each(|comment| all.add(comment));
    let hint = "`cargo xtask prose --list` shows where";
    let problem = |it: String| Problem::of(".", format!("{it}; {hint}"));
    let problems = missed(&all).into_iter().map(problem).collect();
    Check::done("prose", comments.len(), "doc comments", problems)
}

fn print(comment: &Comment) {
    let public = if comment.public { " (public)" } else { "" };
    println!("{}:{}{public}: {}", comment.path, comment.line, comment.text);
}

/// Returns the folder of the crate to which a file belongs.
fn crate_of(path: &str) -> String {
    let mut parts = path.split('/');
    match (parts.next(), parts.next()) {
        (Some("crates"), Some(name)) => name.to_owned(),
        (Some(first), Some(_)) => first.to_owned(),
        _ => ".".to_owned(),
    }
}

/// Returns the doc comments of a file.
fn scan(path: &str, text: &str) -> Vec<Comment> {
    let mut found = Vec::new();
    let mut open: Option<(usize, Vec<&str>)> = None;
    // Indentation of the public enum whose variants are being read.
    let mut in_enum: Option<usize> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        if let Some(doc) = code.strip_prefix("///") {
            open.get_or_insert((number, Vec::new())).1.push(doc.trim());
            continue;
        }
        if code.starts_with("#[") || code.starts_with("//") {
            continue;
        }
        if in_enum.is_some_and(|of| indent <= of && code.starts_with('}')) {
            in_enum = None;
        }
        let is_variant = in_enum.is_some_and(|of| indent == of + 4);
        if let Some((line, lines)) = open.take() {
            let public = code.starts_with("pub ") || is_variant;
            found.push(Comment { path: path.to_owned(), line, text: lines.join(" "), public });
        }
        if code.starts_with("pub enum ") && code.ends_with('{') {
            in_enum = Some(indent);
        }
    }
    found
}

/// Chooses comments at random; the same seed chooses the same ones.
fn choose(comments: &[Comment], count: usize, seed: u64) -> Vec<&Comment> {
    let mut left: Vec<&Comment> = comments.iter().collect();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut chosen = Vec::new();
    while chosen.len() < count && !left.is_empty() {
        chosen.push(left.swap_remove(random.usize(..left.len())));
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_belongs_to_the_code_that_follows() {
        let text = "/// Whether it is.\n#[inline]\npub fn is() {}\n\n/// Sends one message\n/// to a process.\nfn send() {}\n";
        let found = scan("a.rs", text);
        let seen: Vec<_> =
            found.iter().map(|it| (it.line, it.public, it.words(), it.is_vague())).collect();
        assert_eq!(seen, [(1, true, 3, true), (5, false, 6, false)]);
        assert!(found[0].is_label() && !found[1].is_label());
    }

    #[test]
    fn variants_of_public_enums_are_public() {
        let text = "pub enum A {\n    /// One.\n    B,\n}\nenum C {\n    /// Two.\n    D,\n}\n";
        let public: Vec<_> = scan("a.rs", text).iter().map(|it| it.public).collect();
        assert_eq!(public, [true, false]);
    }
}
