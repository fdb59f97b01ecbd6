//! The rules of cubelib's own parser for `anchor.xml`, which is a grammar of its own and not XML.
//!
//! | rule | |
//! |---|---|
//! | declaration | the first line is exactly `<?xml version="1.0" encoding="UTF-8"?>` |
//! | version | of `cube`: 4.0 to 4.5 |
//! | closing | only `attr`, `dim` and `parameter` close themselves |
//! | nothing else | no comments, no processing instructions, no document type |
//! | attributes | `name="value"`, one blank before, none around `=`; only `cubepl…` has values without quotes |
//! | entities | `&amp; &lt; &gt; &apos; &quot;` |
//! | order | of elements in each parent; at least one metric, region, call path, system tree node, and location in a group |
//!
//! A reader that takes nothing else is here, is held against documents by Score-P and Scalasca and
//! against wrong ones, and reads what we write.

use cubex::{Report, Rows};
use std::sync::Arc;

use crate::support::{Taste, random_report, real_reports};

type Checked<T = ()> = Result<T, String>;

/// A piece of the document.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Open(String, Vec<(String, String)>),
    /// A tag that closes itself.
    Empty(String, Vec<(String, String)>),
    Close(String),
    Text(String),
}

const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

fn tokens(document: &str) -> Checked<Vec<Token>> {
    let mut rest = document.strip_prefix(DECLARATION).ok_or("declaration")?;
    let mut tokens = Vec::new();
    while !rest.is_empty() {
        if let Some(tag) = rest.strip_prefix('<') {
            let end = end_of_tag(tag)?;
            tokens.push(token(&tag[..end])?);
            rest = &tag[end + 1..];
        } else {
            let end = rest.find('<').unwrap_or(rest.len());
            let text = &rest[..end];
            check_text(text)?;
            if !text.trim().is_empty() {
                tokens.push(Token::Text(text.to_owned()));
            }
            rest = &rest[end..];
        }
    }
    Ok(tokens)
}

/// Returns the position of the `>` that ends a tag; one in quotes does not.
fn end_of_tag(tag: &str) -> Checked<usize> {
    let mut quoted = false;
    for (at, character) in tag.char_indices() {
        match character {
            '"' => quoted = !quoted,
            '>' if !quoted => return Ok(at),
            '<' => return Err("a tag inside a tag".into()),
            _ => {}
        }
    }
    Err("a tag without an end".into())
}

fn token(tag: &str) -> Checked<Token> {
    if tag.starts_with(['!', '?']) {
        return Err(format!("neither comments nor instructions: {tag}"));
    }
    if let Some(name) = tag.strip_prefix('/') {
        return Ok(Token::Close(name.to_owned()));
    }
    // Score-P writes a blank before the slash of parameters.
    let (tag, empty) = match tag.strip_suffix('/') {
        Some(tag) => (tag.strip_suffix(' ').unwrap_or(tag), true),
        None => (tag, false),
    };
    let (name, mut rest) = tag.split_at(tag.find(' ').unwrap_or(tag.len()));
    let mut attributes = Vec::new();
    while let Some(attribute) = rest.strip_prefix(' ') {
        let (key, value) = attribute.split_once('=').ok_or(format!("no value: {tag}"))?;
        if key.is_empty() || key.contains(' ') {
            return Err(format!("blanks around `=`: {tag}"));
        }
        if let Some(value) = value.strip_prefix('"') {
            let (value, after) = value.split_once('"').ok_or("no end of a value")?;
            check_text(value)?;
            attributes.push((key.to_owned(), value.to_owned()));
            rest = after;
        } else if name.starts_with("cubepl") && !value.contains([' ', '"', '\'']) {
            attributes.push((key.to_owned(), value.to_owned()));
            rest = "";
        } else {
            return Err(format!("a value without quotes: {tag}"));
        }
    }
    if !rest.is_empty() {
        return Err(format!("something else in a tag: {tag}"));
    }
    match empty {
        true if ["attr", "dim", "parameter"].contains(&name) => {
            Ok(Token::Empty(name.to_owned(), attributes))
        }
        true => Err(format!("`{name}` must not close itself")),
        false => Ok(Token::Open(name.to_owned(), attributes)),
    }
}

fn check_text(text: &str) -> Checked {
    for part in text.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;", "apos;", "quot;"];
        if !known.iter().any(|entity| part.starts_with(entity)) {
            return Err(format!("an entity that is not predefined: &{part}"));
        }
    }
    match text.chars().find(|&c| c < ' ' && c != '\n' && c != '\t') {
        Some(c) => Err(format!("character {:#x}", c as u32)),
        None => Ok(()),
    }
}

/// Reads tokens according to cubelib's grammar.
struct Grammar {
    tokens: Vec<Token>,
    at: usize,
}

impl Grammar {
    fn name(&self) -> &str {
        match self.tokens.get(self.at) {
            Some(Token::Open(name, _) | Token::Empty(name, _)) => name,
            _ => "",
        }
    }

    /// Reads the opening tag of an element and returns its attributes.
    fn open(&mut self, name: &str) -> Checked<Vec<(String, String)>> {
        match self.tokens.get(self.at) {
            Some(Token::Open(found, attributes)) if found == name => {
                self.at += 1;
                Ok(attributes.clone())
            }
            other => Err(format!("`{name}` expected, found {other:?}")),
        }
    }

    fn close(&mut self, name: &str) -> Checked {
        match self.tokens.get(self.at) {
            Some(Token::Close(found)) if found == name => {
                self.at += 1;
                Ok(())
            }
            other => Err(format!("end of `{name}` expected, found {other:?}")),
        }
    }

    /// Reads an element that contains only text, and returns the text.
    fn text(&mut self, name: &str) -> Checked<String> {
        self.open(name)?;
        let mut text = String::new();
        if let Some(Token::Text(found)) = self.tokens.get(self.at) {
            text.clone_from(found);
            self.at += 1;
        }
        self.close(name)?;
        Ok(text)
    }

    /// Reads tags that close themselves, and returns their number.
    fn empties(&mut self, name: &str, keys: &[&str]) -> Checked<usize> {
        let mut count = 0;
        while let Some(Token::Empty(found, attributes)) = self.tokens.get(self.at)
            && found == name
        {
            let found: Vec<_> = attributes.iter().map(|(key, _)| key.as_str()).collect();
            if found != keys && (name != "dim" || found != keys[1..]) {
                return Err(format!("`{name}` with {found:?}"));
            }
            (count, self.at) = (count + 1, self.at + 1);
        }
        Ok(count)
    }

    fn attrs(&mut self) -> Checked<usize> {
        self.empties("attr", &["key", "value"])
    }

    /// Reads one or more elements of this name.
    fn some(&mut self, name: &str, one: impl Fn(&mut Self) -> Checked) -> Checked {
        one(self)?;
        while self.name() == name {
            one(self)?;
        }
        Ok(())
    }

    fn cube(&mut self) -> Checked {
        let attributes = self.open("cube")?;
        let versions = ["4.0", "4.1", "4.2", "4.3", "4.4", "4.5"];
        match attributes.as_slice() {
            [(key, value)] if key == "version" && versions.contains(&value.as_str()) => {}
            other => return Err(format!("version: {other:?}")),
        }
        self.attrs()?;
        if self.name() == "doc" {
            self.open("doc")?;
            self.open("mirrors")?;
            while self.name() == "murl" {
                self.text("murl")?;
            }
            self.close("mirrors")?;
            self.close("doc")?;
        }
        self.open("metrics")?;
        self.some("metric", Self::metric)?;
        self.close("metrics")?;
        self.open("program")?;
        self.some("region", Self::region)?;
        self.some("cnode", Self::cnode)?;
        self.close("program")?;
        self.open("system")?;
        self.some("systemtreenode", Self::node)?;
        if self.name() == "topologies" {
            self.topologies()?;
        }
        self.close("system")?;
        self.close("cube")?;
        if self.at == self.tokens.len() { Ok(()) } else { Err("something after the end".into()) }
    }

    fn metric(&mut self) -> Checked {
        keys(&self.open("metric")?, &["id", "type"], &["viztype", "convertible", "cacheable"])?;
        for name in ["disp_name", "uniq_name", "dtype", "uom"] {
            self.text(name)?;
        }
        if self.name() == "val" {
            self.text("val")?;
        }
        self.text("url")?;
        self.text("descr")?;
        for name in ["cubepl", "cubeplinit", "cubeplaggr"] {
            while self.name() == name {
                self.text(name)?;
            }
        }
        self.attrs()?;
        while self.name() == "metric" {
            self.metric()?;
        }
        self.close("metric")
    }

    fn region(&mut self) -> Checked {
        // pyCubexR needs all of them.
        keys(&self.open("region")?, &["id", "mod", "begin", "end"], &[])?;
        for name in ["name", "mangled_name", "paradigm", "role", "url", "descr"] {
            self.text(name)?;
        }
        self.attrs()?;
        self.close("region")
    }

    fn cnode(&mut self) -> Checked {
        keys(&self.open("cnode")?, &["id", "calleeId"], &["line", "mod"])?;
        self.empties("parameter", &["partype", "parkey", "parvalue"])?;
        self.attrs()?;
        while self.name() == "cnode" {
            self.cnode()?;
        }
        self.close("cnode")
    }

    fn node(&mut self) -> Checked {
        keys(&self.open("systemtreenode")?, &["Id"], &[])?;
        self.text("name")?;
        self.text("class")?;
        if self.name() == "descr" {
            self.text("descr")?;
        }
        self.attrs()?;
        while self.name() == "locationgroup" {
            keys(&self.open("locationgroup")?, &["Id"], &[])?;
            self.ranked()?;
            self.some("location", |grammar| {
                keys(&grammar.open("location")?, &["Id"], &[])?;
                grammar.ranked()?;
                grammar.close("location")
            })?;
            self.close("locationgroup")?;
        }
        while self.name() == "systemtreenode" {
            self.node()?;
        }
        self.close("systemtreenode")
    }

    fn ranked(&mut self) -> Checked {
        self.text("name")?;
        self.text("rank")?.parse::<u32>().map_err(|error| error.to_string())?;
        self.text("type")?;
        self.attrs().map(drop)
    }

    fn topologies(&mut self) -> Checked {
        self.open("topologies")?;
        while self.name() == "cart" {
            let attributes = self.open("cart")?;
            keys(&attributes, &["ndims"], &["name"])?;
            let dimensions = self.empties("dim", &["name", "size", "periodic"])?;
            let promised = attributes.iter().find(|(key, _)| key == "ndims").map(|it| &it.1);
            if promised != Some(&dimensions.to_string()) {
                return Err(format!("{dimensions} dimensions, not {promised:?}"));
            }
            while self.name() == "coord" {
                let text = self.text("coord")?;
                if text.split(' ').filter(|word| word.parse::<u32>().is_ok()).count() != dimensions
                {
                    return Err(format!("coordinates {text}"));
                }
            }
            self.close("cart")?;
        }
        self.close("topologies")
    }
}

fn keys(attributes: &[(String, String)], needed: &[&str], allowed: &[&str]) -> Checked {
    let found: Vec<_> = attributes.iter().map(|(key, _)| key.as_str()).collect();
    let known = found.iter().all(|key| needed.contains(key) || allowed.contains(key));
    if known && needed.iter().all(|key| found.contains(key)) {
        Ok(())
    } else {
        Err(format!("attributes {found:?}, not {needed:?} and {allowed:?}"))
    }
}

fn check(document: &str) -> Checked {
    Grammar { tokens: tokens(document)?, at: 0 }.cube()
}

fn anchor(report: &Report) -> String {
    let bytes = report.read_member(report.member("anchor.xml").unwrap()).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn what_we_write_keeps_the_rules() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.cubex");
    for seed in 0..60 {
        random_report(&path, seed, Taste { pycubexr: false, dense_index: false });
        check(&anchor(&Report::open(&path).unwrap())).unwrap();
    }
    for other in real_reports() {
        let report = Report::open(other).unwrap();
        check(&anchor(&report)).expect("cubew wrote it, so cubelib reads it");
        let writer = cubex::ReportWriter::create(&path, Arc::clone(report.meta())).unwrap();
        writer.metric(cubex::MetricId(0), Rows::All).unwrap();
        writer.finish().unwrap();
        let ours = anchor(&Report::open(&path).unwrap());
        check(&ours).unwrap();
        // Element by element the same document.
        let theirs: Vec<_> = tokens(&anchor(&report)).unwrap();
        for (ours, theirs) in tokens(&ours).unwrap().iter().zip(&theirs) {
            assert_eq!(ours, theirs);
        }
        assert_eq!(tokens(&ours).unwrap().len(), theirs.len());
    }
}

#[test]
fn wrong_documents_are_known_as_such() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.cubex");
    random_report(&path, 3, Taste { pycubexr: true, dense_index: false });
    let good = anchor(&Report::open(&path).unwrap());
    check(&good).unwrap();
    let wrong = [
        ("encoding=\"UTF-8\"?>", "?>"),
        ("<cube version=\"4.4\">", "<cube version=\"4.6\">"),
        ("<cube version=\"4.4\">", "<cube version=\"4.4\"><!-- a comment -->"),
        ("<url></url>", "<url/>"),
        ("<metrics", "<metrics id = \"3\""),
        ("<class>machine</class>", ""),
        ("<rank>0</rank>", "<rank>-1</rank>"),
        ("<rank>0</rank>", "<rank>0</rank><rank>0</rank>"),
        ("<name>machine</name>", "<name>&#65;</name>"),
        ("</program>", "<region id=\"99\"></region></program>"),
        ("<program", "<program title='x'"),
        ("</cube>", "</cube><cube version=\"4.4\"></cube>"),
    ];
    for (from, to) in wrong {
        assert!(good.contains(from), "{from}");
        check(&good.replacen(from, to, 1)).expect_err(to);
    }
}

#[test]
fn what_cubelib_cannot_read_is_not_written() {
    use cubex::{Cnode, Group, Location, MetaBuilder, Metric, Region, ReportWriter, SystemNode};
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.cubex");
    let full = |leave_out: &str| {
        let mut b = MetaBuilder::new();
        if leave_out != "metric" {
            b.metric(None, Metric { uniq_name: "m", ..Metric::default() });
        }
        let region = b.region(Region::default());
        if leave_out != "call path" {
            b.cnode(None, Cnode { region, ..Cnode::default() });
        }
        let root = b.system_node(None, SystemNode::default());
        let below = b.system_node(Some(root), SystemNode::default());
        let groups = if leave_out == "order" { [below, root] } else { [root, below] };
        for node in groups {
            let group = b.group(node, Group::default());
            if leave_out != "location" {
                b.location(group, Location::default());
            }
        }
        if leave_out == "one location" {
            b.group(root, Group::default());
        }
        b.finish().unwrap()
    };
    ReportWriter::create(&path, full("nothing")).unwrap().finish().unwrap();
    for left_out in ["metric", "call path", "location", "one location", "order"] {
        let error = ReportWriter::create(&path, full(left_out)).unwrap_err();
        assert!(matches!(error.kind(), cubex::ErrorKind::Invalid(_)), "{left_out}: {error}");
    }
}
