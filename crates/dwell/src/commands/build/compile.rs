//! `dwell build -- COMPILER`: instruments Fortran sources on their way into a compiler.
//!
//! The compiler gets copies of the sources under the same base names, so that objects keep their names, and its other
//! arguments as they are. The procedures that inserted calls name are merged into each object, so that it links like
//! any other. Commands that compile no source go to the compiler unchanged. So does a source that the compiler does not
//! accept with calls: the statements that it complains about are left unchanged first, and the whole source if that
//! does not help. A build that works without Dwell works with it.

mod arguments;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};

use anyhow::{Context, Result};
use dwell_fortran::Report;
use dwell_fortran::scan::Form;

use super::cache;
use super::link::{compile, compiler};
use super::sources::tell;
use crate::fortran::Sources;
use crate::terminal::say;
use arguments::{Arguments, Source};

/// Attempts to compile a source with fewer and fewer statements instrumented.
const ATTEMPTS: usize = 8;

/// Runs a command of a compiler with its sources instrumented. If `quiet` is set, only sources with statements that were
/// left unchanged are reported.
pub(super) fn run(command: &[OsString], quiet: bool) -> Result<ExitCode> {
    let arguments = Arguments::of(command);
    if !arguments.compiles() {
        return finish(&run_plain(command)?);
    }
    match instrumented(quiet, &arguments) {
        Ok(Outcome::Compiled(output)) => finish(&output),
        Ok(Outcome::Nothing) => finish(&run_plain(command)?),
        Ok(Outcome::Rejected) => {
            let output = run_plain(command)?;
            // An error of the program shows up here, where it is.
            if output.status.success() {
                say(
                    "dwell: compiled without calls of the recorder: the compiler accepts no version with them",
                );
            }
            finish(&output)
        }
        Err(error) => {
            say(format_args!("dwell: compiled without calls of the recorder: {error:#}"));
            finish(&run_plain(command)?)
        }
    }
}

/// What became of the attempts to compile instrumented copies.
enum Outcome {
    /// The compiler accepted them.
    Compiled(Output),
    /// There is nothing to instrument.
    Nothing,
    /// The compiler accepts no copy.
    Rejected,
}

/// A source on its way into the compiler.
struct Job<'a> {
    source: &'a Source,
    /// The source itself, or the output of the preprocessor.
    input: PathBuf,
    copy: PathBuf,
    sources: Sources,
    form: Form,
    rejected: BTreeSet<u32>,
    report: Report,
}

/// Compiles instrumented copies.
fn instrumented(quiet: bool, arguments: &Arguments) -> Result<Outcome> {
    let scratch = tempfile::Builder::new().prefix("dwell-compile").tempdir()?;
    let mut jobs = Vec::new();
    for source in &arguments.sources {
        let own = source.path.parent().unwrap_or(Path::new("")).to_owned();
        let folders = std::iter::once(own).chain(arguments.folders.iter().cloned());
        let mut sources = Sources::new(folders.collect());
        let input = preprocessed(arguments, source, scratch.path())?;
        let form = arguments.form.unwrap_or_else(|| Form::of_name(&input.to_string_lossy()));
        sources.add(&input, form)?;
        let name = input.file_name().context("a source has a name")?;
        let copy = scratch.path().join("copy").join(name);
        let (rejected, report) = (BTreeSet::new(), Report::default());
        jobs.push(Job { source, input, copy, sources, form, rejected, report });
    }
    for _ in 0..ATTEMPTS {
        let mut changed = false;
        for job in &mut jobs {
            changed |= job.write(scratch.path())?;
        }
        if !changed {
            return Ok(Outcome::Nothing);
        }
        let stubs = stubs()?;
        let output = compiled(arguments, &jobs, scratch.path(), &stubs)?;
        if output.status.success() {
            for job in &jobs {
                arguments.mend_dependencies(&job.copy, &job.source.path);
                if arguments.only_compiles {
                    merge(&arguments.object(job.source), &stubs, scratch.path())?;
                }
                if !quiet || !job.report.refused.is_empty() {
                    tell(&job.source.path.display().to_string(), &job.report);
                }
            }
            return Ok(Outcome::Compiled(output));
        }
        let complaints = complaints(&String::from_utf8_lossy(&output.stderr));
        let before: usize = jobs.iter().map(|job| job.rejected.len()).sum();
        for job in &mut jobs {
            job.rejected.extend(&complaints);
        }
        let after = jobs.iter().map(|job| job.rejected.len()).sum::<usize>();
        if before == after {
            break;
        }
    }
    Ok(Outcome::Rejected)
}

impl Job<'_> {
    /// Writes the instrumented copy and the files that it includes. Returns `true` if any has calls.
    fn write(&mut self, scratch: &Path) -> Result<bool> {
        let shown = self.source.path.display().to_string();
        let it = self.sources.instrument(&self.input, &shown, self.form, &self.rejected);
        let folder = self.copy.parent().unwrap_or(scratch);
        let name = self.copy.file_name().unwrap_or_default().to_string_lossy().into_owned();
        it.write(folder, &name)?;
        let changed = it.changed;
        self.report = it.report;
        Ok(changed)
    }
}

/// Returns the input of the instrumentation: the output of the preprocessor, if the source needs it and the compiler
/// writes it, otherwise the source itself.
fn preprocessed(arguments: &Arguments, source: &Source, scratch: &Path) -> Result<PathBuf> {
    if !source.is_preprocessed_first(arguments) {
        return Ok(source.path.clone());
    }
    let folder = scratch.join("preprocessed");
    fs::create_dir_all(&folder)?;
    let output = folder.join(source.lower_name());
    let mut command = Command::new(&arguments.compiler);
    command.args(arguments.for_preprocessor(source)).arg("-E").arg("-o").arg(&output);
    let done = command.stdin(Stdio::null()).output()?;
    let is_there = fs::metadata(&output).is_ok_and(|file| file.len() > 0);
    Ok(if done.status.success() && is_there { output } else { source.path.clone() })
}

/// Runs the compiler on the copies.
fn compiled(
    arguments: &Arguments,
    jobs: &[Job<'_>],
    scratch: &Path,
    stubs: &Path,
) -> Result<Output> {
    let mut command = Command::new(&arguments.compiler);
    let copies: Vec<(usize, &Path)> =
        jobs.iter().map(|job| (job.source.index, job.copy.as_path())).collect();
    let preprocessed = jobs.iter().any(|job| job.input != job.source.path);
    command.args(arguments.with_copies(&copies, preprocessed));
    command.arg(joined("-I", &scratch.join("copy")));
    for job in jobs {
        let parent = job.source.path.parent().filter(|it| !it.as_os_str().is_empty());
        let folder = parent.unwrap_or(Path::new("."));
        command.arg(joined("-I", folder));
        if arguments.is_gnu() {
            let map = format!(
                "-ffile-prefix-map={}={}",
                scratch.join("copy").display(),
                folder.display()
            );
            command.arg(map);
        }
    }
    if !arguments.only_compiles {
        command.arg(stubs);
    }
    command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {}", arguments.compiler.display()))
}

fn joined(flag: &str, path: &Path) -> OsString {
    let mut word = OsString::from(flag);
    word.push(path);
    word
}

/// Returns the numbers of the lines that a compiler complains about: `file:12:3` and `file(12)`.
fn complaints(text: &str) -> BTreeSet<u32> {
    let mut lines = BTreeSet::new();
    for line in text.lines() {
        let number = |rest: &str| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u32>().ok()
        };
        let colon = line.match_indices(':').find_map(|(at, _)| number(line.get(at + 1..)?));
        let bracket = line.match_indices('(').find_map(|(at, _)| number(line.get(at + 1..)?));
        lines.extend(colon.or(bracket));
    }
    lines
}

/// Compiles the procedures that inserted calls name, once for each compiler of C.
fn stubs() -> Result<PathBuf> {
    let compiler = compiler();
    let plain: String =
        compiler.chars().map(|it| if it.is_alphanumeric() { it } else { '_' }).collect();
    let name = format!("dwell-coarray-{plain}-{}", env!("CARGO_PKG_VERSION"));
    let (folder, code) = (cache()?, dwell_link::coarray_source());
    let object = folder.join(format!("{name}.o"));
    let known =
        fs::read_to_string(folder.join(format!("{name}.c"))).is_ok_and(|known| known == code);
    if !known || !object.is_file() {
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        compile(&compiler, &folder, &name, code)?;
    }
    Ok(object)
}

/// Merges the procedures into an object.
fn merge(object: &Path, stubs: &Path, scratch: &Path) -> Result<()> {
    let merged = scratch.join("merged.o");
    let output =
        Command::new("ld").arg("-r").arg("-o").arg(&merged).arg(object).arg(stubs).output();
    let output = output.context("cannot run ld")?;
    if !output.status.success() {
        anyhow::bail!(
            "ld -r cannot add to {}: {}",
            object.display(),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    fs::copy(&merged, object).with_context(|| object.display().to_string())?;
    Ok(())
}

/// Runs the command as it is.
fn run_plain(command: &[OsString]) -> Result<Output> {
    let (program, arguments) = command.split_first().context("no compiler is named")?;
    let status = Command::new(program)
        .args(arguments)
        .status()
        .with_context(|| format!("cannot run {}", OsStr::display(program)))?;
    Ok(Output { status, stdout: Vec::new(), stderr: Vec::new() })
}

/// Passes on what the compiler said, and its exit code.
fn finish(output: &Output) -> Result<ExitCode> {
    io::stdout().lock().write_all(&output.stdout)?;
    io::stderr().lock().write_all(&output.stderr)?;
    let code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}
