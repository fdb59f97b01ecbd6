//! `dwell build sources`: calls of the recorder in Fortran sources with coarrays.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use dwell_fortran::Report;
use dwell_fortran::scan::Form;

use crate::fortran::{Sources, write};
use crate::terminal::{say, visible};

/// Arguments of `dwell build sources`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Calls are inserted around remote reads and writes and around image control statements; every byte of the source \
    stays. Compile and link the files of DIR in place of the sources, with the C file that is written beside them:\n\n  \
    dwell build sources -o traced solver.f90 grid.f90\n  \
    ftn -c traced/grid.f90 traced/solver.f90 && cc -c traced/dwell_coarray.c\n  \
    ftn -o solver grid.o solver.o dwell_coarray.o\n\n\
    A program runs without Dwell as before. `dwell build -- COMPILER` does all of this inside a build. Programs that are \
    compiled by gfortran and linked with OpenCoarrays need neither: their calls are recorded as they are."
)]
pub(crate) struct Args {
    /// Fortran sources. Arrays that one of them declares are known in all.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Directory for the instrumented files; standard output by default, for a single file.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Directory in which included files are looked for, after that of the source. May be given several times.
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Take all files for this form, whatever their names.
    #[arg(long, value_name = "FORM", value_parser = ["fixed", "free"])]
    form: Option<String>,
}

/// Name of the file with the procedures that inserted calls name.
const PROCEDURES: &str = "dwell_coarray.c";

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.output.is_none() && args.files.len() > 1 {
        bail!("there are several files: give a directory for them with --output DIR");
    }
    let form = |path: &Path| match args.form.as_deref() {
        Some("fixed") => Form::Fixed,
        Some(_) => Form::Free,
        None => Form::of_name(&path.to_string_lossy()),
    };
    let mut sources = Sources::new(args.include.clone());
    for path in &args.files {
        sources.add(path, form(path))?;
    }
    for path in &args.files {
        let shown = path.display().to_string();
        let it = sources.instrument(path, &shown, form(path), &BTreeSet::new());
        match &args.output {
            None => io::stdout().lock().write_all(&it.text)?,
            Some(folder) => {
                let name = path.file_name().context("a file has a name")?;
                it.write(folder, &name.to_string_lossy())?;
            }
        }
        tell(&shown, &it.report);
    }
    if let Some(folder) = &args.output {
        write(folder, PROCEDURES, dwell_link::coarray_source().as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Says on standard error what was found in a source, and what was left unchanged.
pub(super) fn tell(name: &str, report: &Report) {
    let Report { seen, separated, single, refused, .. } = report;
    say(format_args!(
        "dwell: {}: {seen} statements with coarrays, {separated} separated, {single} with single calls, {} unchanged",
        visible(name),
        refused.len()
    ));
    for it in refused {
        say(format_args!("{}:{}: unchanged: {}", visible(&it.file), it.line, it.reason));
    }
}
