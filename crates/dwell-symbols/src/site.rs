//! What becomes of an address: frames, and how far they can be trusted.

use std::fmt;
use std::path::PathBuf;

use crate::BuildId;

/// What is known of a return address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The innermost inlined function first, the function that has the code last. Empty if nothing
    /// but the module is known.
    pub frames: Vec<Frame>,
    /// Where the frames come from.
    pub quality: Quality,
}

/// A function, and where in its source the call is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// The name, demangled.
    pub function: Option<String>,
    /// The name that the linker sees, where it is known and another one.
    pub linkage: Option<String>,
    /// The source file as the compiler was given it, joined with the directory it ran in.
    pub file: Option<String>,
    /// The line, counted from 1.
    pub line: Option<u32>,
    /// The column, counted from 1, if the compiler wrote it.
    pub column: Option<u32>,
}

/// How much is known of a site, from most to least.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quality {
    /// Functions, inlining and lines come from debug information.
    Exact,
    /// File and line come from debug information, the function from the symbol table; whether
    /// anything was inlined is not known.
    Line {
        /// Why there is no more.
        reason: Reason,
    },
    /// The function comes from the symbol table; file and line are not known.
    Symbol {
        /// From the beginning of the function to the return address.
        offset: u64,
        /// Why there is no more.
        reason: Reason,
    },
    /// Nothing but the module is known.
    Module {
        /// Why there is no more.
        reason: Reason,
    },
}

impl Quality {
    /// Why there is no more, if there could be more.
    #[must_use]
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Exact => None,
            Self::Line { reason } | Self::Symbol { reason, .. } | Self::Module { reason } => {
                Some(reason)
            }
        }
    }
}

/// Why a site or a module is not known exactly. Its text says what can be done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// There is no debug information in the file, and no debug file for it was found.
    Stripped,
    /// There is debug information, but none for this address.
    Uncovered,
    /// Debug information has lines for this address, but no functions: `-gline-tables-only`, or
    /// assembly.
    LinesOnly,
    /// The file is another one than was measured. It was not used.
    BuildId {
        /// The file.
        path: PathBuf,
        /// The build id it has now.
        found: Option<BuildId>,
    },
    /// The checksum of a debug file is not the one its program asks for. It was not used.
    Checksum {
        /// The debug file.
        path: PathBuf,
    },
    /// The file is not there, or not a file.
    Gone {
        /// Where it should be.
        path: PathBuf,
    },
    /// The operating system could not read the file.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What it said.
        why: String,
    },
    /// The file makes no sense.
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The file needs more memory than [`Options::memory`](crate::Options::memory) allows.
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// Debug information is split (`-gsplit-dwarf`), and a part was not found.
    SplitMissing {
        /// Where the compiler put it.
        path: PathBuf,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stripped => f.write_str(
                "no debug information; compile with -g, install the package with debug symbols, \
                 or name a directory of debug files",
            ),
            Self::Uncovered => f.write_str("no debug information for this address"),
            Self::LinesOnly => f.write_str("debug information has lines only; compile with -g"),
            Self::BuildId { path, found: Some(found) } => {
                write!(f, "{}: another file than was measured, build id {found}", path.display())
            }
            Self::BuildId { path, found: None } => {
                write!(f, "{}: another file than was measured, without build id", path.display())
            }
            Self::Checksum { path } => {
                write!(f, "{}: the debug file of another program", path.display())
            }
            Self::Gone { path } => write!(f, "{}: no such file", path.display()),
            Self::Unreadable { path, why } => write!(f, "{}: {why}", path.display()),
            Self::Damaged { path, why } => write!(f, "{}: damaged: {why}", path.display()),
            Self::TooLarge { path } => {
                write!(f, "{}: larger than the memory allowed for symbols", path.display())
            }
            Self::SplitMissing { path } => write!(
                f,
                "{}: not found; split debug information is needed where the compiler put it, \
                 or packed by dwp beside the module",
                path.display()
            ),
        }
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.function.as_deref().unwrap_or("??"))?;
        if let Some(file) = &self.file {
            write!(f, " {file}")?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
        }
        Ok(())
    }
}
