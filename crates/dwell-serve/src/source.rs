//! The source around a call, where it is at hand.
//!
//! The file is named by the report, which may come from a stranger. So it is read only if its name is that
//! of a source file, and only some lines of it are shown.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use dwell_report::CnodeId;

use crate::run::Run;
use crate::types::Source;

/// Lines before and after the call.
const AROUND: u32 = 12;

/// Longer files are not read, nor longer lines shown.
const MOST_BYTES: u64 = 16 << 20;
const LONGEST_LINE: usize = 400;

#[rustfmt::skip]
const ENDINGS: &[&str] = &[
    "c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "C", "H", "inl", "cu", "cuh", "hip", "f", "F", "for",
    "f90", "F90", "f95", "F95", "f03", "F03", "f08", "F08", "f77", "rs", "py", "pyx", "upc", "chpl", "jl", "go",
];

/// The source around the call of a call path.
pub(crate) fn source(run: &Run, cnode: Option<CnodeId>) -> Source {
    let about = cnode.and_then(|it| run.query.meta().cnode(it));
    let (file, line) = about.map_or(("", None), |it| (it.file, it.line));
    let mut source = Source {
        file: file.to_owned(),
        line: line.unwrap_or(0),
        first: 0,
        lines: Vec::new(),
        missing: None,
    };
    let Some(line) = line.filter(|_| !file.is_empty()) else {
        let why = "the report does not say where it is called; compile with -g and analyse again";
        source.missing = Some(why.into());
        return source;
    };
    match read(run, file, line) {
        Ok((first, lines)) => (source.first, source.lines) = (first, lines),
        Err(why) => source.missing = Some(why),
    }
    source
}

/// Where a file may be: where it was when the program was compiled, beside the report, or here.
fn candidates(run: &Run, file: &Path) -> Vec<PathBuf> {
    let mut places = vec![file.to_owned()];
    let beside = run.path.parent().unwrap_or(Path::new("."));
    if let Some(name) = file.file_name() {
        places.push(beside.join(name));
        places.push(PathBuf::from(name));
    }
    if file.is_relative() {
        places.push(beside.join(file));
    }
    places
}

fn read(run: &Run, file: &str, line: u32) -> Result<(u32, Vec<String>), String> {
    let path = Path::new(file);
    let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    if !ENDINGS.contains(&ending) {
        return Err("the name of the file is not that of a source file".into());
    }
    let is_fit =
        |path: &PathBuf| fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() <= MOST_BYTES);
    let found = candidates(run, path).into_iter().find(is_fit);
    let found = found.ok_or("the file is not on this machine")?;
    let opened = fs::File::open(&found).map_err(|error| error.to_string())?;
    let first = line.saturating_sub(AROUND).max(1);
    let mut lines = Vec::new();
    let mut reader = BufReader::new(opened);
    let mut bytes = Vec::new();
    for number in 1..=line.saturating_add(AROUND) {
        bytes.clear();
        match reader.read_until(b'\n', &mut bytes) {
            Ok(0) => break,
            Ok(_) if number >= first => {
                let text = String::from_utf8_lossy(&bytes);
                lines.push(text.trim_end().chars().take(LONGEST_LINE).collect());
            }
            Ok(_) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    match lines.is_empty() {
        true => Err("the file is shorter now than when it was compiled".into()),
        false => Ok((first, lines)),
    }
}
