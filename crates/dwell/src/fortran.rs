//! Fortran sources and the files that they include, instrumented.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use dwell_fortran::declared::Declared;
use dwell_fortran::scan::{Form, scan};
use dwell_fortran::{Options, Report, apply, copy_name, instrument};

/// Sources with the files that they include. Names that any of them declares are known to all.
#[derive(Default)]
pub(crate) struct Sources {
    declared: Declared,
    folders: Vec<PathBuf>,
    /// Files that were read, by path.
    read: BTreeMap<PathBuf, Vec<u8>>,
}

/// An instrumented file.
pub(crate) struct Instrumented {
    pub(crate) text: Vec<u8>,
    pub(crate) report: Report,
    /// Cleared if the file is as it was.
    pub(crate) changed: bool,
    /// Files that it includes and that have calls, by the names with which they are included.
    copies: Vec<(String, Instrumented)>,
}

/// Files may include each other; this many levels are followed.
const LEVELS: usize = 16;

/// Largest source, in bytes. The sources of large codes are hundreds of times smaller.
const LONGEST: u64 = 256 << 20;

impl Sources {
    /// Makes an empty set. `folders` are those in which a compiler looks for included files, after that of the source.
    pub(crate) fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders, ..Self::default() }
    }

    /// Reads a source and the files that it includes, and notes the names that they declare.
    pub(crate) fn add(&mut self, path: &Path, form: Form) -> Result<()> {
        let bytes = dwell_files::read(path, LONGEST).with_context(|| path.display().to_string())?;
        self.learn(path, form, bytes, LEVELS);
        Ok(())
    }

    fn learn(&mut self, path: &Path, form: Form, bytes: Vec<u8>, levels: usize) {
        self.declared.learn(&bytes, form);
        // Output of a preprocessor says where its sources are.
        let sources = scan(&bytes, form, "").files;
        let folders = sources.iter().filter_map(|name| Path::new(name).parent());
        self.folders.extend(folders.filter(|it| !it.as_os_str().is_empty()).map(Path::to_owned));
        let report = instrument(&bytes, form, "", &Options::default()).report;
        self.read.insert(path.to_owned(), bytes);
        for name in report.includes {
            if let Some((found, bytes)) = self.included(path, &name).filter(|_| levels > 0)
                && !self.read.contains_key(&found)
            {
                self.learn(&found, form, bytes, levels - 1);
            }
        }
    }

    /// Finds a file that a source includes.
    fn included(&self, source: &Path, name: &str) -> Option<(PathBuf, Vec<u8>)> {
        let own = source.parent().map(Path::to_owned);
        let folders = own.into_iter().chain(self.folders.iter().cloned());
        folders
            .map(|folder| folder.join(name))
            .find_map(|path| Some((path.clone(), dwell_files::read(&path, LONGEST).ok()?)))
    }

    /// Instruments a source that was added. `shown` is its name in markers and messages. Statements on the lines
    /// `rejected` are left unchanged.
    pub(crate) fn instrument(
        &self,
        path: &Path,
        shown: &str,
        form: Form,
        rejected: &BTreeSet<u32>,
    ) -> Instrumented {
        let mut copies = BTreeMap::new();
        let mut it = self.file(path, shown, form, rejected, &mut copies, LEVELS);
        it.copies = copies.into_iter().filter_map(|(name, it)| Some((name, it?))).collect();
        for (_, copy) in &it.copies {
            it.report.seen += copy.report.seen;
            it.report.separated += copy.report.separated;
            it.report.single += copy.report.single;
            it.report.refused.extend(copy.report.refused.iter().cloned());
        }
        it
    }

    /// Instruments a file, and first those that it includes. `copies` has the instrumented ones by the names with which
    /// they are included; none for a file that stays as it is. Names that lead out of the folder of the source are left
    /// alone.
    fn file(
        &self,
        path: &Path,
        shown: &str,
        form: Form,
        rejected: &BTreeSet<u32>,
        copies: &mut BTreeMap<String, Option<Instrumented>>,
        levels: usize,
    ) -> Instrumented {
        let bytes = self.read.get(path).map(Vec::as_slice).unwrap_or_default();
        let mut options = Options {
            declared: self.declared.clone(),
            rejected: rejected.clone(),
            ..Options::default()
        };
        let names = instrument(bytes, form, shown, &options).report.includes;
        for name in names.into_iter().filter(|name| is_inside(name) && levels > 0) {
            if !copies.contains_key(&name)
                && let Some((found, _)) = self.included(path, &name)
            {
                copies.insert(name.clone(), None);
                let shown = found.display().to_string();
                let it = self.file(&found, &shown, form, &BTreeSet::new(), copies, levels - 1);
                copies.insert(name.clone(), Some(it).filter(|it| it.changed));
            }
            if matches!(copies.get(&name), Some(Some(_))) {
                options.included.insert(name);
            }
        }
        let it = instrument(bytes, form, shown, &options);
        let text = apply(bytes, &it.insertions);
        let changed = !it.insertions.is_empty();
        Instrumented { text, report: it.report, changed, copies: Vec::new() }
    }
}

impl Instrumented {
    /// Writes the file and the copies of those that it includes into a folder.
    pub(crate) fn write(&self, folder: &Path, name: &str) -> Result<()> {
        for (name, copy) in &self.copies {
            write(folder, &copy_name(name), &copy.text)?;
        }
        write(folder, name, &self.text)
    }
}

/// Returns `true` if a name leads to a file in the same folder or below it.
fn is_inside(name: &str) -> bool {
    Path::new(name)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Writes a file, with the folders that its name has.
pub(crate) fn write(folder: &Path, name: &str, text: &[u8]) -> Result<()> {
    let path = folder.join(name);
    let parent = path.parent().unwrap_or(folder);
    fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
    dwell_files::write(&path, text).with_context(|| path.display().to_string())
}
