//! The resolver: modules that are open, and the lookup of addresses in them.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

use crate::debug::Debug;
use crate::demangle::{complete, demangle};
use crate::image::{Allowance, Image};
use crate::locate::{self, Proof};
use crate::module::{Module, ReturnOffset};
use crate::site::{Frame, Quality, Reason, Site};
use crate::symbols::Symbols;

/// Settings of a [`Resolver`]: the directories in which it looks for debug files, and the memory that it may use.
#[derive(Debug, Clone)]
pub struct Options {
    directories: Vec<PathBuf>,
    memory: u64,
}

impl Default for Options {
    /// Looks in `/usr/lib/debug`, and allows 2 GiB of memory.
    fn default() -> Self {
        Self { directories: vec!["/usr/lib/debug".into()], memory: 2 << 30 }
    }
}

impl Options {
    /// Creates the [default](Self::default) settings: `/usr/lib/debug` as the only debug directory, and 2 GiB of
    /// memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a directory of debug files, which is searched before those added so far.
    ///
    /// The directory may be laid out by build id like `/usr/lib/debug` or like the cache of a debuginfod client, or
    /// hold the files that debug links name.
    #[must_use]
    pub fn debug_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directories.insert(0, directory.into());
        self
    }

    /// Limits the bytes of files that the resolver holds at a time.
    ///
    /// Where a module does not fit in addition to the others, these are closed, and read again when they are needed. A module
    /// that does not fit at all is not read, and the reason is [`Reason::TooLarge`]. What is parsed from the files
    /// comes on top.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Creates a resolver with these settings. It opens no file before the first lookup.
    #[must_use]
    pub fn resolver(self) -> Resolver {
        Resolver { options: self, modules: HashMap::new() }
    }
}

/// Turns return addresses into source frames, and keeps the modules that contain them open.
///
/// A file is read once: changes on disk after the first lookup in a module are not seen, as long as the module is
/// [held](Options::memory).
pub struct Resolver {
    options: Options,
    modules: HashMap<Module, Opened>,
}

impl Default for Resolver {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut modules: Vec<&Module> = self.modules.keys().collect();
        modules.sort();
        let Self { options, .. } = self;
        f.debug_struct("Resolver").field("options", options).field("modules", &modules).finish()
    }
}

/// The files from which a module is resolved, for messages that explain incomplete sites.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Status {
    /// The file with debug information: the module itself or a debug file for it. `None` if there is none that can be
    /// used.
    pub debug: Option<PathBuf>,
    /// `true` if the files contain a symbol table with at least one function.
    pub symbols: bool,
    /// `true` if the build id of the files was compared with the recorded one. Without a recorded build id any file at
    /// the path is believed.
    pub verified: bool,
    /// The files that were found and could not be used, each with the reason. An absent debug file is not a problem and
    /// not listed.
    pub problems: Vec<Reason>,
}

impl Resolver {
    /// Creates a resolver with default [`Options`].
    #[must_use]
    pub fn new() -> Self {
        Options::new().resolver()
    }

    /// Returns the source frames of a return address. It never fails: what cannot be found is missing in the site,
    /// whose [`Quality`] has the reason.
    pub fn resolve(&mut self, module: &Module, at: ReturnOffset) -> Site {
        let memory = self.options.memory;
        let site = self.open(module).resolve(at, memory);
        self.shrink(module);
        site
    }

    /// Returns the source frames of many return addresses, in the order of the input.
    ///
    /// The addresses are looked up module by module, so that each module is read once, however little memory there is.
    /// An address that occurs several times costs one lookup and copies.
    pub fn resolve_all<'a>(
        &mut self,
        sites: impl IntoIterator<Item = (&'a Module, ReturnOffset)>,
    ) -> Vec<Site> {
        // Modules get numbers, as comparing their paths takes longer than the lookups.
        let mut numbers = HashMap::new();
        let mut modules = Vec::new();
        let mut order: Vec<(usize, ReturnOffset, usize)> = Vec::new();
        for (place, (module, at)) in sites.into_iter().enumerate() {
            let number = *numbers.entry(module).or_insert_with(|| {
                modules.push(module);
                modules.len() - 1
            });
            order.push((number, at, place));
        }
        order.sort_unstable();

        let memory = self.options.memory;
        let mut found: Vec<(usize, Site)> = Vec::with_capacity(order.len());
        let groups = order.chunk_by(|(a, ..), (b, ..)| a == b);
        for (group, module) in groups.zip(modules) {
            let opened = self.open(module);
            let mut last: Option<(ReturnOffset, Site)> = None;
            for &(_, at, place) in group {
                let known = last.take().filter(|(seen, _)| *seen == at);
                let (_, site) = known.unwrap_or_else(|| (at, opened.resolve(at, memory)));
                found.push((place, site.clone()));
                last = Some((at, site));
            }
            self.shrink(module);
        }
        found.sort_unstable_by_key(|(place, _)| *place);
        found.into_iter().map(|(_, site)| site).collect()
    }

    /// Returns the files from which a module is resolved, and the problems with others. It opens the module if need be,
    /// and reads the symbol table.
    pub fn status(&mut self, module: &Module) -> Status {
        let opened = self.open(module);
        opened.symbols();
        let status = opened.status.clone();
        self.shrink(module);
        status
    }

    fn open(&mut self, module: &Module) -> &mut Opened {
        if !self.modules.contains_key(module) {
            let left = self.options.memory.saturating_sub(self.held());
            let mut opened = Opened::new(module, &self.options, left);
            if opened.is_cramped() && left < self.options.memory {
                self.modules.retain(|_, opened| opened.bytes == 0);
                opened = Opened::new(module, &self.options, self.options.memory);
            }
            return self.modules.entry(module.clone()).insert_entry(opened).into_mut();
        }
        // The entry always exists; this form satisfies the borrow checker without a second lookup.
        let Self { options, modules } = self;
        let make = || Opened::new(module, options, options.memory);
        modules.entry(module.clone()).or_insert_with(make)
    }

    fn held(&self) -> u64 {
        self.modules.values().map(|opened| opened.bytes).sum()
    }

    /// Closes other modules if this one has grown beyond the memory allowed, by its symbols or by split debug
    /// information.
    fn shrink(&mut self, in_use: &Module) {
        if self.held() > self.options.memory {
            self.modules.retain(|module, opened| module == in_use || opened.bytes == 0);
        }
    }
}

/// A module that was looked up, even if no file was found for it.
struct Opened {
    debug: Option<Debug>,
    debug_path: PathBuf,
    symbols: Option<Symbols>,
    /// Files that the symbol table is read from when it is first needed.
    images: Vec<Image>,
    /// The reason why sites of this module are not exact.
    lacking: Reason,
    status: Status,
    bytes: u64,
}

impl Opened {
    fn new(module: &Module, options: &Options, memory: u64) -> Self {
        let mut allowance = Allowance::new(memory);
        let mut problems = Vec::new();
        let image = own_file(module, &mut allowance);
        let mut lacking = image.as_ref().err().cloned();
        problems.extend(lacking.clone());
        let mut image = image.ok();

        let own_id = || image.as_ref().and_then(|image| image.build_id().ok().flatten());
        let id = module.build_id.clone().or_else(own_id);
        let source = match image.take_if(|image| image.has_debug_info()) {
            Some(image) => Some(image),
            None => {
                let directories = &options.directories;
                let of = (&module.path, image.as_ref(), id.as_ref());
                match locate::debug_file(of.0, of.1, of.2, directories, &mut allowance) {
                    Ok(found) => Some(found),
                    Err(reason) => {
                        if reason != Reason::Stripped {
                            problems.push(reason.clone());
                        }
                        lacking.get_or_insert(reason);
                        None
                    }
                }
            }
        };
        let mut debug = None;
        if let Some(source) = &source {
            match Debug::new(source, &module.path, &options.directories, &mut allowance) {
                Ok(mut found) => {
                    problems.extend(found.take_problems());
                    debug = Some(found);
                }
                Err(reason) => {
                    problems.push(reason.clone());
                    lacking = Some(reason);
                }
            }
        }
        let debug_path = source.as_ref().map(|source| source.path.clone()).unwrap_or_default();
        let status = Status {
            debug: debug.is_some().then(|| debug_path.clone()),
            symbols: false,
            verified: module.build_id.is_some() && (image.is_some() || source.is_some()),
            problems,
        };
        let mut opened = Self {
            images: source.into_iter().chain(image).collect(),
            debug,
            debug_path,
            symbols: None,
            lacking: lacking.unwrap_or(Reason::Uncovered),
            status,
            bytes: allowance.taken(),
        };
        if opened.debug.is_none() {
            // Only the symbol table of the files is kept.
            opened.bytes = opened.symbols().size();
        }
        opened
    }

    /// Returns `true` if more memory would have helped.
    fn is_cramped(&self) -> bool {
        self.status.problems.iter().any(|problem| matches!(problem, Reason::TooLarge { .. }))
    }

    /// Returns the symbol table, and reads it first if need be. Most modules with debug information never need it.
    fn symbols(&mut self) -> &Symbols {
        let images = &mut self.images;
        let bytes = &mut self.bytes;
        let status = &mut self.status;
        self.symbols.get_or_insert_with(|| {
            let symbols = Symbols::new(&*images);
            images.clear();
            status.symbols = !symbols.is_empty();
            *bytes += symbols.size();
            symbols
        })
    }

    fn resolve(&mut self, at: ReturnOffset, memory: u64) -> Site {
        let Some(call) = at.call() else {
            let quality = Quality::Module { reason: Reason::Uncovered };
            return Site { frames: Vec::new(), quality };
        };
        let mut reason = self.lacking.clone();
        let mut line = None;
        if let Some(debug) = &mut self.debug {
            let mut allowance = Allowance::new(memory.saturating_sub(self.bytes));
            let found = debug.find(call, &mut allowance);
            self.bytes += allowance.taken();
            self.status.problems.extend(debug.take_problems());
            match found {
                Ok(found) if found.functions => {
                    let frames = self.named(found.frames, found.bare, call);
                    return Site { frames, quality: Quality::Exact };
                }
                Ok(found) => {
                    line = found.frames.into_iter().next();
                    if line.is_some() {
                        reason = Reason::LinesOnly;
                    }
                }
                Err(error) => {
                    let path = self.debug_path.clone();
                    reason = Reason::Damaged { path, why: error.to_string() };
                }
            }
            if let Some(missing) = self.debug.as_ref().and_then(Debug::missing) {
                reason = Reason::SplitMissing { path: missing.to_owned() };
            }
        }
        if let Some(frame) = line {
            return Site {
                frames: self.named(vec![frame], false, call),
                quality: Quality::Line { reason },
            };
        }
        match self.symbols().find(call) {
            Some((name, start)) => {
                let function = demangle(&name, None);
                let linkage = (name != function).then_some(name);
                let frames = vec![Frame { function: Some(function), linkage, ..Frame::default() }];
                // The return address lies behind the call, so it is greater than the start of the function.
                let offset = at.0.saturating_sub(start);
                Site { frames, quality: Quality::Symbol { offset, reason } }
            }
            None => Site { frames: Vec::new(), quality: Quality::Module { reason } },
        }
    }

    /// Gives the outermost frame the name of its symbol, where debug information has no name or a shorter one.
    ///
    /// Compilers leave the mangled name out of functions that no other file can see, and a lambda is then called
    /// `operator()`.
    fn named(&mut self, mut frames: Vec<Frame>, bare: bool, call: u64) -> Vec<Frame> {
        if let Some(outermost) = frames.last_mut()
            && (outermost.function.is_none() || bare)
            && let Some((symbol, _)) = self.symbols().find(call)
        {
            let other = match &mut outermost.function {
                Some(name) => complete(name, &symbol),
                none => none.insert(demangle(&symbol, None)) != &symbol,
            };
            if other {
                outermost.linkage = Some(symbol);
            }
        }
        frames
    }
}

/// Reads the file of a module, and accepts it only if it has the recorded build id.
fn own_file(module: &Module, allowance: &mut Allowance) -> Result<Image, Reason> {
    let mut after = *allowance;
    let image = Image::read(&module.path, &mut after)?;
    if let Some(id) = &module.build_id {
        Proof::BuildId(id).check(&image)?;
    }
    *allowance = after;
    Ok(image)
}
