//! Modules that are open, and what they say.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

use crate::debug::Debug;
use crate::demangle::{complete, demangle};
use crate::image::{Allowance, Image};
use crate::locate::{self, Proof};
use crate::symbols::Symbols;
use crate::{Frame, Module, Quality, Reason, ReturnOffset, Site};

/// Where debug information is looked for, and how much memory it may take.
#[derive(Debug, Clone)]
pub struct Options {
    directories: Vec<PathBuf>,
    memory: u64,
}

impl Default for Options {
    /// `/usr/lib/debug`, and 2 GiB.
    fn default() -> Self {
        Self { directories: vec!["/usr/lib/debug".into()], memory: 2 << 30 }
    }
}

impl Options {
    /// The [default](Self::default).
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks for debug files in a directory too, before those known so far.
    ///
    /// It may be laid out by build id like `/usr/lib/debug` or like the cache of a debuginfod client,
    /// or hold the files that debug links name.
    #[must_use]
    pub fn debug_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directories.insert(0, directory.into());
        self
    }

    /// How many bytes of files may be held at a time.
    ///
    /// Where a module does not fit beside the others, these are closed, and read again when they are
    /// asked for; one that does not fit at all is not read, and [said](Reason::TooLarge) to be too
    /// large. What has been parsed comes on top.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// A resolver with these options.
    #[must_use]
    pub fn resolver(self) -> Resolver {
        Resolver { options: self, modules: HashMap::new() }
    }
}

/// Turns return addresses into source frames, and keeps the modules they are in.
///
/// Files are looked at once: what changes on disk after a module was first asked for is not seen, as
/// long as the module is [held](Options::memory).
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

/// From which files a module is resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Status {
    /// The file with debug information: the module or a debug file for it.
    pub debug: Option<PathBuf>,
    /// Whether there is a symbol table.
    pub symbols: bool,
    /// Whether the files were held against the build id that was recorded.
    pub verified: bool,
    /// What was found and could not be used.
    pub problems: Vec<Reason>,
}

impl Resolver {
    /// A resolver with default [`Options`].
    #[must_use]
    pub fn new() -> Self {
        Options::new().resolver()
    }

    /// The source frames of a return address.
    pub fn resolve(&mut self, module: &Module, at: ReturnOffset) -> Site {
        let memory = self.options.memory;
        let site = self.open(module).resolve(at, memory);
        self.shrink(module);
        site
    }

    /// The source frames of many return addresses, in the order of the question.
    ///
    /// They are looked up by module, so that each is read once, however little memory there is, and
    /// an address that is asked for again costs a copy.
    pub fn resolve_all<'a>(
        &mut self,
        sites: impl IntoIterator<Item = (&'a Module, ReturnOffset)>,
    ) -> Vec<Site> {
        // By number, as comparing paths takes longer than looking up.
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

    /// From which files a module is resolved, and what is wrong with others.
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
        // Never made here, but then the borrow checker needs no second look at the map.
        let Self { options, modules } = self;
        let make = || Opened::new(module, options, options.memory);
        modules.entry(module.clone()).or_insert_with(make)
    }

    fn held(&self) -> u64 {
        self.modules.values().map(|opened| opened.bytes).sum()
    }

    /// Closes other modules if one has grown, by symbols or split debug information, beyond what is
    /// left.
    fn shrink(&mut self, in_use: &Module) {
        if self.held() > self.options.memory {
            self.modules.retain(|module, opened| module == in_use || opened.bytes == 0);
        }
    }
}

/// A module that was asked for, whether or not anything was found.
struct Opened {
    debug: Option<Debug>,
    debug_path: PathBuf,
    symbols: Option<Symbols>,
    /// Files that the symbol table will be made from when it is needed.
    images: Vec<Image>,
    /// Why sites are not exact.
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
            // Names are all there is to keep of the files.
            opened.bytes = opened.symbols().size();
        }
        opened
    }

    /// Whether more memory would have helped.
    fn is_cramped(&self) -> bool {
        self.status.problems.iter().any(|problem| matches!(problem, Reason::TooLarge { .. }))
    }

    /// The symbol table, which most modules with debug information never need.
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
                // The return address is behind the call, hence behind the beginning.
                let offset = at.0.saturating_sub(start);
                Site { frames, quality: Quality::Symbol { offset, reason } }
            }
            None => Site { frames: Vec::new(), quality: Quality::Module { reason } },
        }
    }

    /// Gives the outermost frame the name of its symbol, where debug information has none, or less.
    ///
    /// Compilers leave the mangled name out of functions that no other file can see, and what is left
    /// of a lambda is `operator()`.
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

/// The file of a module, if it is the one that was loaded.
fn own_file(module: &Module, allowance: &mut Allowance) -> Result<Image, Reason> {
    let mut after = *allowance;
    let image = Image::read(&module.path, &mut after)?;
    if let Some(id) = &module.build_id {
        Proof::BuildId(id).check(&image)?;
    }
    *allowance = after;
    Ok(image)
}
