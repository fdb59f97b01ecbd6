//! The result of a lookup: frames, and how far they can be trusted.

use std::fmt;
use std::path::PathBuf;

use crate::module::BuildId;

/// The source of one return address, as far as it could be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The frames of the address: the innermost inlined function first, the function whose code it is last. Empty if
    /// only the module is known.
    pub frames: Vec<Frame>,
    /// The source of the frames: debug information, the symbol table, or nothing.
    pub quality: Quality,
}

/// A function, and the place in its source where the call is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// Name of the function, demangled. `None` if neither debug information nor a symbol has it.
    pub function: Option<String>,
    /// The mangled name that the linker sees, where it is known and differs from `function`.
    pub linkage: Option<String>,
    /// Path of the source file as the compiler was given it, joined with the directory that the compiler ran in.
    pub file: Option<String>,
    /// Line of the call, counted from 1. `None` if debug information has no line for the address.
    pub line: Option<u32>,
    /// Column of the call, counted from 1. `None` if the compiler did not write columns.
    pub column: Option<u32>,
}

/// The completeness of a site, from most to least. All but the first carry the reason why there is no more.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quality {
    /// Functions, inlining and lines come from debug information.
    Exact,
    /// File and line come from debug information, the function from the symbol table. Whether anything was inlined is
    /// not known.
    Line {
        /// The reason why functions are missing.
        reason: Reason,
    },
    /// The function comes from the symbol table; file and line are not known.
    Symbol {
        /// Distance in bytes from the beginning of the function to the return address.
        offset: u64,
        /// The reason why file and line are missing.
        reason: Reason,
    },
    /// Only the module is known; the site has no frames.
    Module {
        /// The reason why everything else is missing.
        reason: Reason,
    },
}

impl Quality {
    /// Returns the reason why the site is incomplete, or `None` if it is exact. Its text is fit for a message to the
    /// user.
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

/// The reason why a site or a module is not known exactly. Its text says what the user can do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The file has no debug information, and no debug file for it was found.
    Stripped,
    /// There is debug information, but none for this address. The source file of the address was compiled without `-g`,
    /// for instance.
    Uncovered,
    /// Debug information has lines for this address, but no functions, as with `-gline-tables-only` or assembly.
    LinesOnly,
    /// The file differs from the one that was measured, by its build id, so it was not used. Usually the program was
    /// built again.
    BuildId {
        /// Path of the file.
        path: PathBuf,
        /// The build id that the file has now, if any.
        found: Option<BuildId>,
    },
    /// The checksum of a debug file differs from the one that its program expects, so the debug file was not used.
    Checksum {
        /// Path of the debug file.
        path: PathBuf,
    },
    /// The file does not exist, or is not a regular file.
    Gone {
        /// The path at which it should be.
        path: PathBuf,
    },
    /// The operating system could not read the file, for instance because of its permissions.
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Text of the operating system's error.
        why: String,
    },
    /// The file exists but cannot be parsed: it is truncated, overwritten, or nested too deeply.
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Text of the parser's error.
        why: String,
    },
    /// The file needs more memory than [`Options::memory`](crate::Options::memory) allows, so it was not read.
    TooLarge {
        /// Path of the file.
        path: PathBuf,
    },
    /// Debug information is split (`-gsplit-dwarf`), and the part for this address was not found.
    SplitMissing {
        /// The path at which the compiler put it.
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
