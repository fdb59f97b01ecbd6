//! Shows the source around a call, if the file is available.
//!
//! The report names the file, and may come from a stranger who wants to see files of the person who opens it, or have
//! them published with an export. So source is read from directories that this person allows and from nowhere else, no
//! link is followed below them, only regular files are opened, and the name must be that of a source file. An export has only
//! some lines of it.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Component, Path, PathBuf};

use dwell_files::Folder;
use dwell_report::CnodeId;

use crate::run::Run;
use crate::types::Source;

/// Number of lines that are shown before and after the call: by default, and if the whole file is wanted and is longer.
const AROUND: u32 = 12;
const MOST_AROUND: u32 = 2500;

/// The largest file that is read, in bytes, and the longest line that is shown, in characters.
const MOST_BYTES: u64 = 16 << 20;
const LONGEST_LINE: usize = 400;

#[rustfmt::skip]
const ENDINGS: &[&str] = &[
    "c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "C", "H", "inl", "cu", "cuh", "hip", "f", "F", "for",
    "f90", "F90", "f95", "F95", "f03", "F03", "f08", "F08", "f77", "rs", "py", "pyx", "upc", "chpl", "jl", "go",
];

/// Directories from which source may be shown.
#[derive(Debug, Default)]
pub(crate) struct Roots(Vec<Root>);

#[derive(Debug)]
struct Root {
    folder: Folder,
    /// Absolute paths of the directory: as it was named, and with links resolved.
    names: Vec<PathBuf>,
}

impl Root {
    fn open(path: &Path) -> io::Result<Self> {
        let folder = Folder::open(path)?;
        Ok(Self { folder, names: vec![std::path::absolute(path)?, fs::canonicalize(path)?] })
    }
}

impl Roots {
    /// Opens the directories of `--source-path`, from which source files may be shown. Fails if one of them cannot be
    /// opened.
    pub(crate) fn open(paths: &[PathBuf]) -> io::Result<Self> {
        let told = |path: &Path, error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        };
        let open = |path: &PathBuf| Root::open(path).map_err(|error| told(path, error));
        paths.iter().map(open).collect::<io::Result<_>>().map(Self)
    }

    /// Opens the directory of a report and, if it is an experiment directory, its parent. The archive could name the
    /// directory of the source, but a stranger who made it could name any directory.
    pub(crate) fn beside(directory: &Path) -> Self {
        let mut roots: Vec<Root> = Root::open(directory).into_iter().collect();
        if directory.join("traces.otf2").exists()
            && let Ok(real) = fs::canonicalize(directory)
            && let Some(parent) = real.parent()
        {
            roots.extend(Root::open(parent));
        }
        Self(roots)
    }

    /// Opens a source file, and returns it with its path.
    fn find(&self, path: &Path) -> Result<(File, PathBuf), String> {
        let mut refused = None;
        for root in &self.0 {
            for candidate in candidates(root, path) {
                let place = || root.folder.path().join(&candidate);
                match root.folder.read(&candidate) {
                    Ok(file) => match file.metadata() {
                        Ok(about) if about.len() <= MOST_BYTES => return Ok((file, place())),
                        _ => refused = Some("the file is too large".to_owned()),
                    },
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => refused = refused.or_else(|| Some(error.to_string())),
                }
            }
        }
        let nowhere = "the file is in none of the directories whose source may be shown; --source-path names others";
        Err(refused.unwrap_or_else(|| nowhere.to_owned()))
    }
}

/// Returns the paths below a directory at which a file may be: the path at which it was compiled, if that is inside, or
/// the last parts of it, since trees are moved and built elsewhere.
fn candidates(root: &Root, path: &Path) -> Vec<PathBuf> {
    let path = without_dots(path);
    let inside = root.names.iter().filter_map(|name| path.strip_prefix(name).ok());
    let mut places: Vec<PathBuf> = inside.map(Path::to_owned).collect();
    let mut parts: VecDeque<&OsStr> = path
        .components()
        .filter_map(|it| if let Component::Normal(part) = it { Some(part) } else { None })
        .collect();
    while !parts.is_empty() {
        let place = parts.iter().collect();
        if !places.contains(&place) {
            places.push(place);
        }
        parts.pop_front();
    }
    places
}

/// Removes `.` and `..` from a path. Since no link is followed below a directory, `..` always leads to the parent
/// there.
fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            other => clean.push(other),
        }
    }
    clean
}

/// A line of the program: where a call path is called, or what a function computes most in.
#[derive(Debug)]
pub(crate) struct Line<'r> {
    file: &'r str,
    line: Option<u32>,
}

impl<'r> Line<'r> {
    /// Returns the line in which the last call of a call path is made.
    pub(crate) fn of_call(run: &'r Run, cnode: Option<CnodeId>) -> Self {
        let about = cnode.and_then(|it| run.query.meta().cnode(it));
        let (file, line) = about.map_or(("", None), |it| (it.file, it.line));
        Self { file, line }
    }

    /// Returns the line of a function by its number in the list of the run.
    pub(crate) fn of_function(run: &'r Run, function: u32) -> Option<Self> {
        let functions = run.findings.as_ref()?.functions.as_ref()?;
        let it = functions.list.get(function as usize)?;
        Some(Self { file: it.file.as_deref().unwrap_or_default(), line: it.line })
    }

    /// Returns the line of a function that computes where others wait, by the id of the cause and the number of the
    /// function in it.
    pub(crate) fn of_cause(run: &'r Run, cause: &str, function: u32) -> Option<Self> {
        let cause = run.findings.as_ref()?.causes.iter().find(|it| it.id == cause)?;
        let computed = cause.sampled.as_ref()?.parts.get(function as usize)?;
        Some(Self { file: computed.file.as_deref().unwrap_or_default(), line: computed.line })
    }

    /// Returns the path of the file, if it may be shown.
    pub(crate) fn path(&self, run: &Run) -> Option<PathBuf> {
        self.line?;
        open(&run.roots, self.file).ok().map(|(_, path)| path)
    }
}

/// Returns one line of a source file, for a terminal, if it may be shown beside the report in this directory.
pub fn line(directory: &Path, file: &str, line: u32) -> Option<String> {
    let (first, lines, _) = read(&Roots::beside(directory), file, line, false).ok()?;
    lines.into_iter().nth(line.checked_sub(first)? as usize)
}

/// Returns the lines around a place, or the whole file as far as it is not too long. States the reason if there are none.
pub(crate) fn source(run: &Run, place: &Line<'_>, is_whole: bool) -> Source {
    let Line { file, line } = *place;
    let mut source = Source {
        file: file.to_owned(),
        line: line.unwrap_or(0),
        first: 0,
        lines: Vec::new(),
        count: 0,
        missing: None,
    };
    let Some(line) = line.filter(|_| !file.is_empty()) else {
        let why = "the report does not say where it is; compile with -g and analyse again";
        source.missing = Some(why.into());
        return source;
    };
    match read(&run.roots, file, line, is_whole) {
        Ok((first, lines, count)) => {
            (source.first, source.lines, source.count) = (first, lines, count);
        }
        Err(why) => source.missing = Some(why),
    }
    source
}

fn open(roots: &Roots, file: &str) -> Result<(File, PathBuf), String> {
    let path = Path::new(file);
    let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    if !ENDINGS.contains(&ending) {
        return Err("the name of the file is not that of a source file".into());
    }
    roots.find(path)
}

/// Reads lines of a file. Returns the number of the first, the lines, and the number of lines in the file if it was read to the
/// end.
fn read(
    roots: &Roots,
    file: &str,
    line: u32,
    is_whole: bool,
) -> Result<(u32, Vec<String>, u32), String> {
    let (opened, _) = open(roots, file)?;
    let around = if is_whole { MOST_AROUND } else { AROUND };
    let mut first = line.saturating_sub(around).max(1);
    let last = line.saturating_add(around);
    let mut lines: VecDeque<String> = VecDeque::new();
    let mut reader = BufReader::new(opened);
    let mut bytes = Vec::new();
    let mut count = 0;
    loop {
        bytes.clear();
        match reader.read_until(b'\n', &mut bytes) {
            Ok(0) => break,
            Ok(_) => count += 1,
            Err(error) => return Err(error.to_string()),
        }
        let is_kept = match is_whole {
            true => count <= last.max(2 * MOST_AROUND),
            false => (first..=last).contains(&count),
        };
        if is_kept {
            let text = String::from_utf8_lossy(&bytes);
            lines.push_back(text.trim_end().chars().take(LONGEST_LINE).collect());
        } else if count > last && !is_whole {
            return Ok((first, lines.into(), 0));
        }
    }
    if is_whole {
        // A short file is shown whole, of a long one only what is near the call.
        if count <= 2 * MOST_AROUND {
            first = 1;
        } else {
            lines.truncate(last as usize);
            lines.drain(..((first - 1) as usize).min(lines.len()));
        }
    }
    match lines.is_empty() {
        true => Err("the file is shorter now than when it was compiled".into()),
        false => Ok((first, lines.into(), if is_whole { count } else { 0 })),
    }
}
