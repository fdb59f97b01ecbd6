//! A run as one HTML file.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use dwell_report::format;
use dwell_serve::{Directory, Runs};

use super::Page;
use crate::commands::compare::history;
use crate::commands::view;
use crate::damage;
use crate::many;
use crate::output;
use crate::terminal::{line, visible};

/// Limit of the data before compression, unless the user says otherwise.
const MOST: u64 = 32 << 20;

pub(super) fn run(first: &Path, file_name: &Path, args: &Page) -> anyhow::Result<ExitCode> {
    let runs: Runs = if many::is_directory(first) {
        ensure!(
            args.compare.is_empty(),
            "--compare is for single runs, not for a directory of runs"
        );
        view::of_directory(first, &args.sources)?
    } else {
        let all = std::iter::once(first).chain(args.compare.iter().map(AsRef::as_ref));
        all.map(|path| view::open(path, &args.sources)).collect::<anyhow::Result<Vec<_>>>()?.into()
    };
    if let Some(directory) = runs.directory() {
        beside(file_name, directory)?;
    }
    let place = || output::cannot(file_name);
    let new = output::create(file_name)?;
    let mut file = BufWriter::new(new.file());
    let most = usize::try_from(args.max_size.unwrap_or(MOST)).unwrap_or(usize::MAX);
    let exported = dwell_serve::export(runs, most, &mut file).with_context(place)?;
    file.flush().with_context(place)?;
    let size = new.file().metadata().with_context(place)?.len();
    new.place().with_context(place)?;
    line!("{}: {}", file_name.display(), format::bytes(size as f64))?;
    if exported.left_out > 0 {
        line!(
            "{} of {} answers did not fit; increase --max-size to include them",
            format::grouped(exported.left_out as u64),
            format::grouped((exported.answers + exported.left_out) as u64)
        )?;
    }
    if !exported.sources.is_empty() {
        line!("included source files:")?;
    }
    for file in &exported.sources {
        line!("  {}", visible(&file.to_string_lossy()))?;
    }
    damage::report(&exported.damage);
    Ok(ExitCode::SUCCESS)
}

/// Writes the badge and the summary of a directory of runs, which have the name of the page but for its extension.
fn beside(page: &Path, directory: &Directory) -> anyhow::Result<()> {
    for (extension, text) in
        [("svg", history::badge(directory)), ("md", history::markdown(directory))]
    {
        let file = page.with_extension(extension);
        output::check(&file)?;
        dwell_files::write(&file, text).with_context(|| output::cannot(&file))?;
        line!("{}", file.display())?;
    }
    Ok(())
}
