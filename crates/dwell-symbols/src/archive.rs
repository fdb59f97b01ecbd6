//! Resolves the call sites of a recorded archive: addresses become functions, files and lines.
//!
//! The recorder writes a call site as it knows it: a calling context whose region is called `heat+0x1234` and has an
//! [`Address`](dwell_model::archive::Address) as its description. [`resolve_archive`] replaces these regions, and
//! changes the file of global definitions alone:
//!
//! | definition | becomes |
//! |---|---|
//! | region of a site | one region for each function and file; it stays as it is if its function is not found, so that a later attempt can succeed |
//! | calling context | the same id, with the innermost function and a source code location |
//! | – | [`INLINED_INTO`], a property of the calling contexts whose call was inlined; where contexts have callers, also the regions of the functions that it was inlined into and the places in them |
//! | – | [`COLUMN`](dwell_model::archive::COLUMN), a property of the calling contexts that share a line of a function with others |
//! | – | [`THROUGH`](dwell_model::archive::THROUGH), a property of the calling contexts whose call was made by functions of a wrapper that were inlined there |
//! | string | the same id; new ones follow |
//! | others | the same |
//!
//! Events and mapping tables refer to contexts, not to regions of sites, so they stay valid.
//!
//! # Invariants
//!
//! * Ids of one kind run 0, 1, 2 … in the order of the file, if they did before. Regions that are still addresses come
//!   last, so that the next attempt finds the layout of the recorder again.
//! * An archive is either fully rewritten or untouched. New files are written in a directory inside it and put in place
//!   by renaming, the anchor first: a process that dies between the two leaves the addresses, and the next attempt does
//!   it all again.
//! * What was resolved stays: a second run changes no byte, unless more can be found.
//!
//! # Limits
//!
//! * A function of which only the symbol is known loses its address: debug information that turns up later adds nothing
//!   to it.
//! * The file of a region is that of the call: a function whose body includes another file is one region for each of
//!   them.
//! * Only calling contexts may use regions of sites. Other definitions are checked for it, events are not.
//! * Strings that only addresses used stay, as events may refer to strings too.

mod content;
mod files;
mod plan;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use dwell_model::wrappers::Wrappers;
use otf2::Archive;
use otf2::store::FileKind;

use crate::module::Module;
use crate::resolver::Options;
use crate::site::{Frame, Quality, Site};
use content::Content;
use plan::Plan;

pub use dwell_model::archive::INLINED_INTO;

/// Property of the archive with the wrappers that the user has listed.
const WRAPPERS: &str = "DWELL::CONFIG::WRAPPERS";

/// The outcome of [`resolve_archive`], in numbers of call sites. Sites that an earlier run resolved are not counted.
///
/// `sites` is the sum of `exact`, `line_only`, `symbol_only` and the sites of all entries of `unresolved`. It is 0 for
/// an archive that has no addresses left, which is then not written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Resolved {
    /// Number of addresses that the archive had: call sites, and functions of the program whose names were not known.
    pub sites: u64,
    /// Number of sites for which function, file, line and inlining were found.
    pub exact: u64,
    /// Number of sites for which function, file and line were found, but not whether the call was inlined.
    pub line_only: u64,
    /// Number of sites for which only the function was found, in the symbol table.
    pub symbol_only: u64,
    /// The reasons why the sites of [`Self::line_only`] and [`Self::symbol_only`] are incomplete, sorted by module.
    pub incomplete: Vec<Missing>,
    /// The sites that are still addresses, by module and reason. A later run can resolve them, for instance with
    /// another debug directory.
    pub unresolved: Vec<Missing>,
}

/// A number of call sites in one module that could not be resolved fully, all for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    /// Path of the program or library, as the recorder saw it.
    pub module: String,
    /// The reason, and what the user can do about it: the text of a [`Reason`](crate::Reason).
    pub reason: String,
    /// Number of call sites that the reason concerns.
    pub sites: u64,
}

/// The error of an archive that could not be resolved. The archive is as it was.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The archive cannot be read or written, or is damaged.
    Archive(otf2::Error),
    /// The operating system could not put a new file in place.
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The definitions are not laid out as the recorder lays them out, so regions could not be replaced safely.
    Layout {
        /// Path of the file with the definitions.
        path: PathBuf,
        /// The difference from the layout of the recorder.
        why: &'static str,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(error) => error.fmt(f),
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Layout { path, why } => {
                write!(f, "{}: {why}; call sites stay addresses", path.display())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Archive(error) => std::error::Error::source(error),
            Self::Io { error, .. } => Some(error),
            Self::Layout { .. } => None,
        }
    }
}

impl From<otf2::Error> for Error {
    fn from(error: otf2::Error) -> Self {
        Self::Archive(error)
    }
}

/// Replaces addresses of call sites by functions, files and lines, as far as they can be found.
///
/// `directory` is a directory that contains one archive, or the anchor file of an archive. The [module](self) says what
/// changes in it.
///
/// ```no_run
/// use std::path::Path;
///
/// use dwell_symbols::{Options, resolve_archive};
///
/// let resolved = resolve_archive(Path::new("dwell-heat-20261115"), &Options::new())?;
/// for missing in &resolved.unresolved {
///     println!("{} call sites in {}: {}", missing.sites, missing.module, missing.reason);
/// }
/// # Ok::<(), dwell_symbols::archive::Error>(())
/// ```
///
/// # Errors
/// If the archive is damaged, not laid out as the recorder lays it out, or cannot be written. The archive is unchanged
/// then. Modules that cannot be found are not an error.
pub fn resolve_archive(directory: &Path, options: &Options) -> Result<Resolved, Error> {
    let archive = Archive::open(directory)?;
    let mut content = Content::read(&archive)?;
    let mut sites = content.take_sites();
    let own = sites.len();
    sites.extend(content.functions());
    if sites.is_empty() {
        return Ok(Resolved::default());
    }
    let modules: Vec<Option<Module>> = sites.iter().map(content::SiteRegion::module).collect();
    let questions = modules.iter().zip(&sites).filter_map(|(module, site)| {
        let module = module.as_ref()?;
        Some((module, site.at))
    });
    let mut answers = options.clone().resolver().resolve_all(questions).into_iter();
    let more = archive.anchor().property(WRAPPERS).unwrap_or_default().to_owned();
    let wrappers = Wrappers::new(&more);
    let mut answers: Vec<Answer<'_>> = modules
        .iter()
        .map(|module| Answer::new(module.as_ref().and_then(|_| answers.next())))
        .collect();
    // Regions of functions are what they are; call sites belong to the user.
    answers.iter_mut().take(own).for_each(|answer| answer.leave_wrappers(wrappers));

    let resolved = summary(&sites, &answers);
    if answers.iter().filter_map(|it| it.site.as_ref()).any(is_resolved) {
        let layout =
            |why| Error::Layout { path: archive.store().describe(FileKind::GlobalDefs), why };
        let (sites, functions) = sites.split_at(own);
        let (sites, functions) =
            (sites.iter().zip(&answers), functions.iter().zip(answers.iter().skip(own)));
        let plan = Plan::new(content, sites, functions).map_err(layout)?;
        files::replace(&archive, |definitions| plan.write(&archive, definitions))?;
    }
    Ok(resolved)
}

/// What was found of an address.
struct Answer<'w> {
    site: Option<Site>,
    /// The wrapper whose inlined functions made the call.
    through: Option<&'w str>,
}

impl<'w> Answer<'w> {
    fn new(site: Option<Site>) -> Self {
        Self { site, through: None }
    }

    /// Drops the innermost frames that are functions of a wrapper, if any other frame is left.
    fn leave_wrappers(&mut self, wrappers: Wrappers<'w>) {
        let Some(Site { frames, .. }) = &mut self.site else { return };
        let wrapper = |frame: &Frame| {
            let symbol = frame.linkage.as_ref().or(frame.function.as_ref());
            let of_file = frame.file.as_ref().and_then(|file| wrappers.of_file(file));
            of_file.or_else(|| wrappers.of_symbol(symbol?))
        };
        let Some(through) = frames.first().and_then(wrapper) else { return };
        let is_users = |frame: &Frame| frame.function.is_some() && wrapper(frame).is_none();
        if let Some(first) = frames.iter().position(is_users) {
            frames.drain(..first);
            self.through = Some(through);
        }
    }
}

/// Returns `true` if the function is known, which is what a region needs.
fn is_resolved(site: &Site) -> bool {
    site.frames.first().is_some_and(|frame| frame.function.is_some())
}

fn summary(sites: &[content::SiteRegion], answers: &[Answer<'_>]) -> Resolved {
    let mut resolved = Resolved { sites: sites.len() as u64, ..Resolved::default() };
    let (mut incomplete, mut unresolved) = (BTreeMap::new(), BTreeMap::new());
    for (site, answer) in sites.iter().zip(answers) {
        let answer = &answer.site;
        let table = match answer {
            Some(answer) if is_resolved(answer) => {
                *match answer.quality {
                    Quality::Exact => &mut resolved.exact,
                    Quality::Line { .. } => &mut resolved.line_only,
                    Quality::Symbol { .. } | Quality::Module { .. } => &mut resolved.symbol_only,
                } += 1;
                &mut incomplete
            }
            _ => &mut unresolved,
        };
        let reason = match answer.as_ref().map(|answer| (answer.quality.reason(), answer)) {
            Some((Some(reason), _)) => reason.to_string(),
            Some((None, answer)) if is_resolved(answer) => continue,
            Some((None, _)) => "debug information has no name for the function".into(),
            None => "the build id in the archive cannot be read".into(),
        };
        *table.entry((site.path.clone(), reason)).or_insert(0) += 1;
    }
    let list = |table: BTreeMap<(String, String), u64>| {
        let entry = |((module, reason), sites)| Missing { module, reason, sites };
        table.into_iter().map(entry).collect()
    };
    (resolved.incomplete, resolved.unresolved) = (list(incomplete), list(unresolved));
    resolved
}
