//! Files that mention a layer of communication software.
//!
//! A runtime is described by its table and its hooks; everything else should know generic operations, and ask the layer
//! for its properties. So at most [`MOST`] files outside of a layer's own may mention it in code. Comments and tests do
//! not count, nor do synthetic traces, which tests are made of.

use super::sources::SourceFile;
use super::{Check, Problem};

/// Largest number of files outside of a layer's table and hooks that may mention it.
const MOST: usize = 4;

/// A layer: its name in the enum of layers, the module of its table, and its own files.
struct Layer {
    variant: &'static str,
    module: &'static str,
    /// Paths below `crates`, without `.rs`: a file, and everything in the folder of the same name.
    own: &'static [&'static str],
}

/// Every layer that has a table.
const LAYERS: &[Layer] = &[
    Layer {
        variant: "Shmem",
        module: "shmem",
        own: &["dwell-model/src/shmem", "dwell-preload/src/shmem"],
    },
    Layer {
        variant: "Mpi",
        module: "mpi",
        own: &[
            "dwell-model/src/mpi",
            "dwell-measure/src/mpi",
            "dwell-preload/src/mpi",
            "dwell-mpi/src",
        ],
    },
    Layer {
        variant: "Armci",
        module: "armci",
        own: &["dwell-model/src/armci", "dwell-preload/src/over_mpi/link"],
    },
    Layer {
        variant: "GlobalArrays",
        module: "ga",
        own: &["dwell-model/src/ga", "dwell-preload/src/over_mpi/link"],
    },
    Layer {
        variant: "Caf",
        module: "caf",
        own: &["dwell-model/src/caf", "dwell-preload/src/over_mpi/caf"],
    },
    Layer {
        variant: "Coarray",
        module: "coarray",
        own: &[
            "dwell-model/src/coarray",
            "dwell-preload/src/over_mpi/coarray",
            "dwell-fortran/src",
        ],
    },
    Layer {
        variant: "Gasnet",
        module: "gasnet",
        own: &["dwell-model/src/gasnet", "dwell-preload/src/gasnet", "dwell-link/src/gasnet"],
    },
    Layer { variant: "Ucx", module: "ucx", own: &["dwell-model/src/ucx"] },
    Layer {
        variant: "Omp",
        module: "omp",
        own: &["dwell-model/src/omp", "dwell-preload/src/omp", "dwell-preload/src/regions"],
    },
];

/// Checks how many files mention each layer.
pub(crate) fn check(files: &[SourceFile]) -> Check {
    let mut problems = Vec::new();
    for layer in LAYERS {
        let mentions: Vec<&str> = files
            .iter()
            .filter(|file| is_production(&file.path) && !layer.owns(&file.path))
            .filter(|file| layer.is_in(file.text.as_deref().unwrap_or_default()))
            .map(|file| file.path.as_str())
            .collect();
        if mentions.len() > MOST {
            let message = format!(
                "{} files outside of its table and hooks mention {}: {}",
                mentions.len(),
                layer.variant,
                mentions.join(", ")
            );
            problems.push(Problem::of("crates", message));
        }
    }
    Check::done("mentions of layers", LAYERS.len(), "layers", problems)
}

/// Returns `true` for code that is part of libraries, programs and build scripts.
fn is_production(path: &str) -> bool {
    let source = path.contains("/src/") || path.contains("/build/");
    let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
    path.starts_with("crates/")
        && !path.starts_with("crates/dwell-synth/")
        && path.ends_with(".rs")
        && source
        && !is_test
}

impl Layer {
    fn owns(&self, path: &str) -> bool {
        let path = path.trim_start_matches("crates/").trim_end_matches(".rs");
        self.own.iter().any(|own| {
            path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Returns `true` if the code of a file names the layer, its table or its short name.
    fn is_in(&self, text: &str) -> bool {
        let Self { variant, module, .. } = self;
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let names = [
            format!("Layer::{variant}"),
            format!("{module}::TABLE"),
            format!("{module}::find"),
            format!("{module}::NOT_HOOKED"),
            format!("dwell_model::{module}"),
            format!("\"{module}\""),
        ];
        lines.into_iter().any(|line| names.iter().any(|name| has_word(line, name)))
    }
}

/// Returns `true` if a line has a name that is not the part of a longer one.
fn has_word(line: &str, name: &str) -> bool {
    let part = |it: char| it.is_alphanumeric() || it == '_';
    line.match_indices(name).any(|(at, _)| {
        let before = line.get(..at).and_then(|it| it.chars().next_back());
        let after = line.get(at + name.len()..).and_then(|it| it.chars().next());
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), text: Some(text.to_owned()) }
    }

    #[test]
    fn mentions_outside_of_a_layers_own_files_are_counted() {
        let mention = "if layer == Layer::Caf {}";
        let mut files: Vec<_> =
            (0..4).map(|at| file(&format!("crates/x/src/m{at}.rs"), mention)).collect();
        files.push(file("crates/dwell-model/src/caf.rs", mention));
        files.push(file(
            "crates/x/src/own.rs",
            "// Layer::Caf\nLayer::Cafe;\n#[cfg(test)]\ncaf::TABLE",
        ));
        files.push(file("crates/x/tests/t.rs", mention));
        assert_eq!(check(&files).problems(), 0);
        files.push(file("crates/x/src/more.rs", "let row = caf::TABLE.find(name);"));
        assert_eq!(check(&files).problems(), 1);
    }
}
