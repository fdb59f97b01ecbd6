//! The pages of the book and their fenced blocks.

use std::fs;
use std::path::PathBuf;

use crate::lab::Lab;

/// A page of the book.
#[derive(Debug)]
pub(crate) struct Page {
    /// Path of its file in the repository.
    pub(crate) name: String,
    /// Its whole text.
    pub(crate) text: String,
    /// Its fenced blocks, in order.
    pub(crate) blocks: Vec<Block>,
}

/// A fenced block of a page.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) kind: Kind,
    /// Line of its fence, counted from 1.
    pub(crate) line: usize,
    pub(crate) text: String,
    /// Commands of comments `<!-- $ COMMAND -->` right before it, which readers do not see.
    pub(crate) hidden: Vec<String>,
    /// Set if the block takes long: its page runs with `cargo xtask proofs`.
    pub(crate) is_slow: bool,
}

/// What a test does with a block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `console`: commands after `$ ` and what they print. With `norun` they are not run, for a reason that a comment
    /// `<!-- norun: REASON -->` before the block states.
    Console { is_run: bool, reason: Option<String> },
    /// `sh`: commands whose syntax and options are checked. With `run` they are run, and have to succeed.
    Shell { is_run: bool },
    /// Any other language.
    Other(String),
}

impl Kind {
    /// Returns `true` if the commands of the block are run.
    pub(crate) fn is_run(&self) -> bool {
        matches!(self, Self::Console { is_run: true, .. } | Self::Shell { is_run: true })
    }
}

impl Page {
    /// Returns `true` if a block of the page is run.
    pub(crate) fn is_run(&self) -> bool {
        self.blocks.iter().any(|it| it.kind.is_run())
    }

    /// Returns `true` if a block of the page takes long.
    pub(crate) fn is_slow(&self) -> bool {
        self.blocks.iter().any(|it| it.is_slow)
    }
}

/// Returns the directory of the book's sources.
pub(crate) fn directory() -> PathBuf {
    Lab::repository().join("docs/src")
}

/// Directories of pages whose commands are held against the program: the book, and what the repository keeps beside it.
const DIRECTORIES: &[&str] = &["docs/design", "docs/formats", "docs/performance", "docs/src"];

/// Reads the README and all pages of the [`DIRECTORIES`], in the order of their paths.
pub(crate) fn all() -> Vec<Page> {
    let root = Lab::repository();
    let mut names = vec!["README.md".to_owned()];
    for directory in DIRECTORIES {
        for entry in fs::read_dir(root.join(directory)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            names.extend(name.ends_with(".md").then(|| format!("{directory}/{name}")));
        }
    }
    names.sort();
    let page = |name: String| {
        let text = fs::read_to_string(root.join(&name)).unwrap();
        read(name, text)
    };
    names.into_iter().map(page).collect()
}

/// Reads a page from a text, for tests.
pub(crate) fn read_for_test(text: &str) -> Page {
    read("test.md".into(), text.into())
}

fn read(name: String, text: String) -> Page {
    let mut blocks = Vec::new();
    let mut hidden = Vec::new();
    let mut reason = None;
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let body: Vec<&str> =
                lines.by_ref().map(|it| it.1).take_while(|line| *line != "```").collect();
            let mut words = info.split(',');
            let kind = match words.next() {
                Some("console") => {
                    Kind::Console { is_run: !info.contains("norun"), reason: reason.take() }
                }
                Some("sh") => Kind::Shell { is_run: info.ends_with(",run") },
                _ => Kind::Other(info.to_owned()),
            };
            blocks.push(Block {
                kind,
                line: number + 1,
                text: body.join("\n"),
                hidden: std::mem::take(&mut hidden),
                is_slow: info.contains("slow"),
            });
        } else if let Some(comment) = line.strip_prefix("<!-- ") {
            let comment = comment.trim_end_matches("-->").trim();
            hidden.extend(comment.strip_prefix("$ ").map(str::to_owned));
            reason = comment.strip_prefix("norun: ").map(str::to_owned).or(reason);
        } else if !line.trim().is_empty() {
            reason = None;
        }
    }
    assert!(hidden.is_empty(), "{name}: hidden commands stand before no block");
    Page { name, text, blocks }
}

#[test]
fn blocks_and_comments_are_read() {
    let text = "# T\n\n<!-- norun: needs a browser -->\n\n```console,norun\n$ a\n```\n\n<!-- $ b -->\n```console,slow\n$ c\nout\n```\n```sh\nd\n```\n";
    let page = read("t.md".into(), text.into());
    let kinds: Vec<&Kind> = page.blocks.iter().map(|it| &it.kind).collect();
    let reason = Some("needs a browser".to_owned());
    assert_eq!(*kinds[0], Kind::Console { is_run: false, reason });
    assert_eq!(*kinds[1], Kind::Console { is_run: true, reason: None });
    assert_eq!(*kinds[2], Kind::Shell { is_run: false });
    assert_eq!(page.blocks[1].hidden, ["b"]);
    assert_eq!((page.blocks[1].line, page.blocks[1].text.as_str()), (10, "$ c\nout"));
    assert!(page.is_run() && page.is_slow());
}
