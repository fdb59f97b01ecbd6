//! Links between the rendered pages of the book.
//!
//! What a reader clicks is checked, not the Markdown that it was made from: mdBook alone knows the names that it gives
//! to pages and headings.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Pages that repeat what others have.
const REPETITIONS: &[&str] = &["print.html", "404.html", "toc.html", "index.html"];

/// One page: where its links lead, and the places in it that links can lead to.
#[derive(Debug, Default)]
struct Page {
    links: BTreeSet<String>,
    places: BTreeSet<String>,
}

/// Checks the links and pictures of all pages in a directory, and returns their number.
pub(crate) fn check(directory: &Path) -> Result<usize> {
    let mut pages = BTreeMap::new();
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default().to_owned();
        if path.extension() == Some(OsStr::new("html")) && !REPETITIONS.contains(&name.as_str()) {
            pages.insert(name, page(&fs::read_to_string(&path)?));
        }
    }
    let mut count = 0;
    let mut broken = Vec::new();
    for (name, page) in &pages {
        for link in &page.links {
            count += 1;
            if let Some(problem) = problem(link, name, &pages, directory) {
                broken.push(format!("{name}: {link}: {problem}"));
            }
        }
    }
    if !broken.is_empty() {
        bail!("links of the book lead nowhere:\n{}", broken.join("\n"));
    }
    Ok(count)
}

/// Says what is wrong with a link, if anything.
fn problem(
    link: &str,
    from: &str,
    pages: &BTreeMap<String, Page>,
    directory: &Path,
) -> Option<&'static str> {
    let (file, place) = link.split_once('#').unwrap_or((link, ""));
    let file = if file.is_empty() { from } else { file.split('?').next().unwrap_or(file) };
    let path = PathBuf::from(file);
    if path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
        return Some("outside of the book");
    }
    if REPETITIONS.contains(&file) {
        return None;
    }
    match pages.get(file) {
        Some(page) if place.is_empty() || page.places.contains(place) => None,
        Some(_) => Some("no such heading"),
        None if directory.join(&path).is_file() => None,
        None => Some("no such file"),
    }
}

/// Reads the links and the places of a page.
fn page(html: &str) -> Page {
    let mut page = Page::default();
    // The menus and scripts around the text are the same on all pages and belong to mdBook.
    let text = html.split_once("<main>").and_then(|(_, rest)| rest.split_once("</main>"));
    let text = text.map_or(html, |(text, _)| text);
    for tag in text.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap_or_default();
        for name in ["href", "src"] {
            if let Some(link) = attribute(tag, name).filter(|link| !is_elsewhere(link)) {
                page.links.insert(link);
            }
        }
        page.places.extend(attribute(tag, "id"));
    }
    page
}

/// Returns `true` if a link leaves the book by naming a protocol.
fn is_elsewhere(link: &str) -> bool {
    ["http:", "https:", "mailto:", "data:"].iter().any(|it| link.starts_with(it))
}

/// Returns the value of an attribute of a tag.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    let value = rest.split('"').next()?;
    Some(value.replace("&amp;", "&").replace("%20", " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_places_are_read() {
        let html = r##"<a href="x.html">menu</a><main><h2 id="how"><a class="header" href="#how">How</a></h2>
            <img src="a.png" alt=""> <a href="https://example.org">far</a></main>"##;
        let page = page(html);
        assert_eq!(page.links.iter().collect::<Vec<_>>(), ["#how", "a.png"]);
        assert_eq!(page.places.iter().collect::<Vec<_>>(), ["how"]);
    }

    #[test]
    fn links_that_lead_nowhere_are_named() -> Result<()> {
        let directory = std::env::temp_dir().join(format!("dwell-links-{}", std::process::id()));
        fs::create_dir_all(&directory)?;
        let write = |name: &str, text: &str| fs::write(directory.join(name), text);
        write("a.html", r##"<h1 id="top"></h1><a href="b.html#there"></a><a href="p.png"></a>"##)?;
        write("b.html", r##"<h1 id="there"></h1><a href="a.html"></a><a href="#there"></a>"##)?;
        write("p.png", "")?;
        assert_eq!(check(&directory)?, 4);
        write("b.html", r##"<h1 id="else"></h1><a href="c.html"></a><a href="../x"></a>"##)?;
        let error = check(&directory).err().map(|it| it.to_string()).unwrap_or_default();
        for expected in [
            "a.html: b.html#there: no such heading",
            "b.html: c.html: no such file",
            "b.html: ../x: outside of the book",
        ] {
            assert!(error.contains(expected), "{error}");
        }
        fs::remove_dir_all(&directory)?;
        Ok(())
    }
}
