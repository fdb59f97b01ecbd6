//! Imports between the modules of a crate.
//!
//! Four rules. Circles: modules that import each other can only be understood together, so no circle may have more than
//! [`LARGEST`] files. Storeys: the folders of a crate that are listed in [`STOREYS`] import in one direction only, as
//! crates do. Apart: modules of a folder that is listed in [`APART`] do not import each other. Unnamed: files of a
//! folder that is listed in [`UNNAMED`] contain no word of a kind that belongs to a later folder.
//!
//! The reader follows `use` declarations and paths that begin with `crate`, `super`, `self` or, in the root of a crate, with
//! one of its modules. Imports of a name that a parent module re-exports count as imports of the parent, so modules that
//! import what the root re-exports from another are in a circle with the root. Code under `#[cfg(test)] mod tests` does
//! not count.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{SourceFile, without_tests};
use super::{Check, Problem};

/// Largest number of files that may import each other in a circle.
const LARGEST: usize = 3;

/// Crates whose folders have an order. A folder may import itself, the folders before it, and modules outside of all of
/// them.
const STOREYS: &[(&str, &[&str])] = &[(
    "dwell-analyze",
    &["engine", "protocol", "patterns", "causes", "output", "whatif", "iterations"],
)];

/// Folders whose modules do not know each other.
const APART: &[(&str, &str)] = &[("dwell-analyze", "patterns")];

/// Folders in which no variant of an enum is named. The engine books waits without knowing which there are.
const UNNAMED: &[(&str, &str, &str)] = &[("dwell-analyze", "engine", "Wait")];

/// The modules of a crate with their imports, by path from its root (`engine::shard`; the root is empty).
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Checks circles and storeys of all crates.
pub(crate) fn check(files: &[SourceFile]) -> Check {
    let mut crates: BTreeMap<&str, Vec<(String, &SourceFile)>> = BTreeMap::new();
    for file in files {
        if let Some((name, module)) = place(&file.path) {
            crates.entry(name).or_default().push((module, file));
        }
    }
    let mut problems = Vec::new();
    let mut count = 0;
    for (name, modules) in &crates {
        count += modules.len();
        let graph = graph(modules);
        let root = format!("crates/{name}/src");
        for circle in circles(&graph).into_iter().filter(|it| it.len() > LARGEST) {
            let message = format!(
                "{} modules import each other in a circle: {}",
                circle.len(),
                circle.join(", ")
            );
            problems.push(Problem::of(&root, message));
        }
        if let Some((_, storeys)) = STOREYS.iter().find(|it| it.0 == *name) {
            problems.extend(climbs(&graph, storeys).map(|it| Problem::of(&root, it)));
        }
        for (_, folder) in APART.iter().filter(|it| it.0 == *name) {
            problems.extend(neighbours(&graph, folder).map(|it| Problem::of(&root, it)));
        }
        for (_, folder, kind) in UNNAMED.iter().filter(|it| it.0 == *name) {
            for (module, file) in modules.iter().filter(|it| is_below(&it.0, folder)) {
                let text = file.text.as_deref().unwrap_or_default();
                problems.extend(variants(text, kind).map(|variant| {
                    let message = format!("`{module}` names `{kind}::{variant}`");
                    Problem::of(&file.path, message)
                }));
            }
        }
    }
    Check::done("imports between modules", count, "modules", problems)
}

/// Returns the crate of a source file and its module path, or `None` for files that are not part of a library or
/// program.
fn place(path: &str) -> Option<(&str, String)> {
    let (name, inside) = match path.strip_prefix("crates/") {
        Some(rest) => rest.split_once("/src/")?,
        None => ("xtask", path.strip_prefix("xtask/src/")?),
    };
    let inside = inside.strip_suffix(".rs")?;
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    let module =
        if matches!(inside, "lib" | "main") { String::new() } else { inside.replace('/', "::") };
    Some((name, module))
}

fn graph(modules: &[(String, &SourceFile)]) -> Graph {
    let names: BTreeSet<&str> = modules.iter().map(|(name, _)| name.as_str()).collect();
    let mut graph = Graph::new();
    for (module, file) in modules {
        let text = file.text.as_deref().unwrap_or_default();
        let text = without_tests(text);
        let mut anchors = vec!["crate", "super", "self"];
        if module.is_empty() {
            anchors.extend(names.iter().filter(|it| !it.is_empty() && !it.contains("::")));
        }
        let mut imports = BTreeSet::new();
        for path in paths(text, &anchors) {
            if let Some(target) = resolve(module, &path, &names)
                && target != *module
            {
                imports.insert(target);
            }
        }
        graph.insert(module.clone(), imports);
    }
    graph
}

/// Returns the longest prefix of an imported path that is a module of the crate.
fn resolve(module: &str, path: &[String], names: &BTreeSet<&str>) -> Option<String> {
    let mut base: Vec<&str> = module.split("::").filter(|it| !it.is_empty()).collect();
    let mut rest = path;
    while let Some((first, others)) = rest.split_first() {
        match first.as_str() {
            "crate" => base.clear(),
            "super" => drop(base.pop()),
            "self" => {}
            _ => break,
        }
        rest = others;
    }
    (0..=rest.len()).rev().find_map(|count| {
        let parts: Vec<&str> =
            base.iter().copied().chain(rest.iter().take(count).map(String::as_str)).collect();
        let name = parts.join("::");
        names.contains(name.as_str()).then_some(name)
    })
}

/// Returns every path in a file that begins with one of these words, with groups in braces expanded.
fn paths(text: &str, anchors: &[&str]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    // What a comment mentions is not imported.
    let code: String =
        text.lines().filter(|it| !it.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut from = 0;
    while let Some((at, word)) = next_anchor(&code, from, anchors) {
        from = at + word.len();
        let before = code[..at].chars().next_back();
        if before.is_some_and(|it| it.is_alphanumeric() || matches!(it, '_' | ':' | '$')) {
            continue;
        }
        // Within a module of this file, `super` is the module of the file.
        let anchor = if word == "super" && is_in_a_module(&code[..at]) { "self" } else { word };
        let mut prefix = vec![anchor.to_owned()];
        from = at + word.len() + take(&code[at + word.len()..], &mut prefix, &mut found);
    }
    found
}

/// Finds the first path after a position that begins with one of these words.
fn next_anchor<'a>(code: &str, from: usize, anchors: &[&'a str]) -> Option<(usize, &'a str)> {
    let of = |word: &&'a str| {
        let rest = code.get(from..)?;
        let at = rest.find(&format!("{word}::"))?;
        Some((from + at, *word))
    };
    anchors.iter().filter_map(of).min()
}

/// Returns `true` if code that follows is in a module whose braces are in this file, as rustfmt indents it.
fn is_in_a_module(before: &str) -> bool {
    let begins = |it: &&str| {
        let item = it.strip_prefix("pub(crate) ").or(it.strip_prefix("pub ")).unwrap_or(it);
        item.starts_with("mod ") && item.ends_with('{')
    };
    let mut outermost =
        before.lines().rev().filter(|it| it.starts_with(|it: char| !it.is_whitespace()));
    outermost.next().is_some_and(|it| begins(&it))
}

/// Parses `::a::{b, c::d}` after a prefix. Adds the paths and returns the number of bytes read.
fn take(code: &str, prefix: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> usize {
    let mut read = 0;
    let depth = prefix.len();
    loop {
        let rest = &code[read..];
        let Some(after) = rest.strip_prefix("::") else { break };
        if let Some(group) = after.strip_prefix('{') {
            let mut inside = read + 3;
            let mut length = 0;
            while let Some(next) = group.get(length..).and_then(|it| it.chars().next()) {
                match next {
                    '}' => {
                        inside += length + 1;
                        prefix.truncate(depth);
                        return inside;
                    }
                    it if it.is_alphanumeric() || it == '_' => {
                        let word = word(&group[length..]);
                        let mut longer = prefix.clone();
                        longer.push(word.to_owned());
                        length += word.len();
                        length += take(&group[length..], &mut longer, found);
                    }
                    it => length += it.len_utf8(),
                }
            }
            prefix.truncate(depth);
            return inside + length;
        }
        let name = word(after);
        if name.is_empty() {
            break;
        }
        prefix.push(name.to_owned());
        read += 2 + name.len();
    }
    found.push(prefix.clone());
    prefix.truncate(depth);
    read
}

fn word(text: &str) -> &str {
    let end = text.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(text.len());
    &text[..end]
}

/// Returns the sets of modules that import each other, by Tarjan's algorithm, without sets of one module.
fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let mut search = Search::new(graph);
    for module in graph.keys() {
        if !search.numbers.contains_key(module.as_str()) {
            search.visit(module);
        }
    }
    search.found
}

struct Search<'a> {
    graph: &'a Graph,
    numbers: BTreeMap<&'a str, usize>,
    lowest: BTreeMap<&'a str, usize>,
    stack: Vec<&'a str>,
    found: Vec<Vec<String>>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph) -> Self {
        let (numbers, lowest) = (BTreeMap::new(), BTreeMap::new());
        Self { graph, numbers, lowest, stack: Vec::new(), found: Vec::new() }
    }

    fn visit(&mut self, module: &'a str) {
        let number = self.numbers.len();
        self.numbers.insert(module, number);
        let mut lowest = number;
        self.stack.push(module);
        for next in self.graph.get(module).into_iter().flatten() {
            let next = next.as_str();
            if !self.numbers.contains_key(next) {
                self.visit(next);
                lowest = lowest.min(self.lowest.get(next).copied().unwrap_or(number));
            } else if self.stack.contains(&next) {
                lowest = lowest.min(self.numbers.get(next).copied().unwrap_or(number));
            }
        }
        self.lowest.insert(module, lowest);
        if lowest == number {
            let at = self.stack.iter().position(|it| *it == module).unwrap_or(0);
            let mut circle: Vec<String> =
                self.stack.split_off(at).into_iter().map(str::to_owned).collect();
            circle.sort();
            if circle.len() > 1 {
                self.found.push(circle);
            }
        }
    }
}

/// Iterates over the imports of a folder from a folder that comes after it.
fn climbs<'a>(graph: &'a Graph, storeys: &'a [&str]) -> impl Iterator<Item = String> + 'a {
    let storey = |module: &str| {
        let folder = module.split("::").next().unwrap_or_default();
        storeys.iter().position(|it| *it == folder)
    };
    graph.iter().flat_map(move |(module, imports)| {
        imports.iter().filter_map(move |to| match (storey(module), storey(to)) {
            (Some(here), Some(there)) if there > here => {
                Some(format!("`{module}` imports `{to}`, of a folder above it"))
            }
            _ => None,
        })
    })
}

/// Returns `true` for the modules of a folder, without the folder itself.
fn is_below(module: &str, folder: &str) -> bool {
    module.strip_prefix(folder).is_some_and(|rest| rest.starts_with("::"))
}

/// Iterates over the imports between different modules of a folder. A module may have submodules of its own.
fn neighbours<'a>(graph: &'a Graph, folder: &'a str) -> impl Iterator<Item = String> + 'a {
    let room = move |module: &'a str| {
        is_below(module, folder).then(|| module.split("::").nth(1).unwrap_or_default())
    };
    graph.iter().flat_map(move |(module, imports)| {
        imports.iter().filter_map(move |to| match (room(module), room(to)) {
            (Some(here), Some(there)) if here != there => {
                Some(format!("`{module}` imports `{to}`, which it must not know"))
            }
            _ => None,
        })
    })
}

/// Iterates over the variants of an enum that a text names. Constants, which have no lower-case letters, are allowed.
fn variants<'a>(text: &'a str, kind: &'a str) -> impl Iterator<Item = &'a str> + 'a {
    let code = without_tests(text);
    let lines = code.lines().filter(|it| !it.trim_start().starts_with("//"));
    lines.flat_map(move |line| line.match_indices(kind).map(move |(at, _)| (line, at))).filter_map(
        move |(line, at)| {
            let before = line[..at].chars().next_back();
            let after = line[at + kind.len()..].strip_prefix("::")?;
            let name = word(after);
            let is_variant = name.starts_with(|it: char| it.is_uppercase())
                && name.contains(|it: char| it.is_lowercase());
            let is_whole = !before.is_some_and(|it| it.is_alphanumeric() || it == '_' || it == ':');
            (is_variant && is_whole).then_some(name)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_whose_modules_do_not_know_each_other() {
        let graph: Graph = [
            ("patterns::locks", vec!["engine::here", "patterns::progress::cases"]),
            ("patterns::progress::cases", vec!["patterns::progress::evidence"]),
            ("patterns", vec!["patterns::locks"]),
        ]
        .into_iter()
        .map(|(it, to)| (it.to_owned(), to.into_iter().map(str::to_owned).collect()))
        .collect();
        let found: Vec<String> = neighbours(&graph, "patterns").collect();
        assert_eq!(
            found,
            ["`patterns::locks` imports `patterns::progress::cases`, which it must not know"]
        );
    }

    #[test]
    fn variants_that_a_text_names() {
        let text = "let it = Wait::LateSender; // no\n// Wait::Other\nWait::ALL.len(); LockEvent::Wait(x);\n\
                    Quantity::Wait(wait); x::Wait::Other";
        assert_eq!(variants(text, "Wait").collect::<Vec<_>>(), ["LateSender"]);
    }

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), text: Some(text.to_owned()) }
    }

    fn of(files: &[SourceFile]) -> Graph {
        let modules: Vec<_> =
            files.iter().map(|file| (place(&file.path).unwrap().1, file)).collect();
        graph(&modules)
    }

    #[test]
    fn groups_and_relative_paths_are_followed() {
        let files = [
            file("crates/x/src/lib.rs", "mod a; mod b;"),
            file("crates/x/src/a.rs", "use crate::{b::{c::C, D}, e};\nfn f(_: super::e::E) {}"),
            file("crates/x/src/b/mod.rs", "mod c;\n// use crate::a;\nuse self::c::C;"),
            file(
                "crates/x/src/b/c.rs",
                "use super::D;\n#[cfg(test)]\nmod tests {\nuse crate::a;\n}",
            ),
            file("crates/x/src/e.rs", ""),
        ];
        let graph = of(&files);
        let imports = |of: &str| graph[of].iter().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(imports("a"), ["b", "b::c", "e"]);
        assert_eq!(imports("b"), ["b::c"]);
        assert_eq!(imports("b::c"), ["b"]);
        assert_eq!(circles(&graph), [["b", "b::c"]]);
    }

    #[test]
    fn the_root_imports_what_it_exports() {
        let files = [
            file(
                "crates/x/src/lib.rs",
                "mod a;\nmod b;\npub use a::A;\nmod within {\n    use super::A;\n}",
            ),
            file("crates/x/src/a.rs", ""),
            file("crates/x/src/b.rs", "use crate::A;\nmod within {\n    use super::B;\n}"),
        ];
        let graph = of(&files);
        assert_eq!(graph[""].iter().collect::<Vec<_>>(), ["a"]);
        assert_eq!(graph["b"].iter().collect::<Vec<_>>(), [""]);
    }

    #[test]
    fn a_large_circle_is_a_problem() {
        let files = ["a", "b", "c", "d"].map(|it| {
            let next = match it {
                "a" => "b",
                "b" => "c",
                "c" => "d",
                _ => "a",
            };
            file(&format!("crates/x/src/{it}.rs"), &format!("use crate::{next}::X;"))
        });
        assert_eq!(check(&files).problems(), 1);
        assert_eq!(check(&files[..3]).problems(), 0);
    }

    #[test]
    fn storeys_import_downwards_only() {
        let files = [
            file("crates/x/src/low/mod.rs", "use crate::high::A;"),
            file("crates/x/src/high/mod.rs", "use crate::low::B;"),
        ];
        let found: Vec<String> = climbs(&of(&files), &["low", "high"]).collect();
        assert_eq!(found, ["`low` imports `high`, of a folder above it"]);
    }

    #[test]
    fn the_engine_must_not_know_the_messages_between_patterns() {
        let root = "crates/dwell-analyze/src";
        let shard = file(&format!("{root}/engine/shard.rs"), "use crate::protocol::locks::Cut;");
        let locks = file(&format!("{root}/patterns/locks.rs"), "use crate::protocol::locks::Cut;");
        let protocol = file(&format!("{root}/protocol/locks.rs"), "use crate::engine::shard::X;");
        assert_eq!(check(&[shard, protocol]).problems(), 1);
        let protocol = file(&format!("{root}/protocol/locks.rs"), "use crate::engine::shard::X;");
        assert_eq!(check(&[locks, protocol]).problems(), 0);
    }
}
