//! Resolves return addresses to function, file and line, inlined functions included.
//!
//! A recorder inside a measured process notes where a call came from as cheaply as it can: the [`Module`] (program or
//! shared library), its [`BuildId`], and the return address less the load bias of the module. Afterwards, perhaps on
//! another machine, this crate finds the source that belongs to it.
//!
//! * [`Resolver`] opens modules when they are first needed and keeps them;
//! * [`Site`] is its answer: [frames](Frame), the innermost inlined function first, and a [`Quality`] that says where
//!   they come from and why there is no more;
//! * [`Options`] name the directories of debug files, and limit the memory.
//!
//! # Example
//!
//! ```
//! use dwell_symbols::{BuildId, Module, Options, Quality, Reason, ReturnOffset};
//!
//! let module = Module {
//!     path: "/opt/app/bin/solver".into(),
//!     build_id: Some("8a2fe9c1d0".parse::<BuildId>()?),
//! };
//! let mut resolver = Options::new().debug_directory("/opt/app/debug").resolver();
//! let site = resolver.resolve(&module, ReturnOffset(0x11d7));
//! for frame in &site.frames {
//!     println!("{frame}"); // exchange /src/solver/halo.c:117
//! }
//! match &site.quality {
//!     Quality::Exact => {}
//!     less => println!("{}: {}", module.path.display(), less.reason().unwrap_or(&Reason::Stripped)),
//! }
//! # assert!(matches!(site.quality, Quality::Module { reason: Reason::Gone { .. } }));
//! # Ok::<(), dwell_symbols::NotABuildId>(())
//! ```
//!
//! For many addresses, [`Resolver::resolve_all`] goes module by module, and [`resolve_archive`] resolves all call sites
//! of a recorded [archive].
//!
//! # Where it looks
//!
//! | information | place | quality |
//! |---|---|---|
//! | DWARF 2 to 5 | the module, compressed sections too | [`Quality::Exact`] |
//! | … of a debug file | `.build-id/xx/yy.debug` or `<build id>/debuginfo` in the [debug directories](Options::debug_directory); the name in `.gnu_debuglink` beside the module, in `.debug` there, or in a debug directory | the same |
//! | … that dwz shares | the file that `.gnu_debugaltlink` names, or by build id | the same |
//! | … that is split | `<module>.dwp`, or the `.dwo` file where the compiler put it | the same; without it [`Quality::Line`] |
//! | symbols | `.symtab`, then `.dynsym` | [`Quality::Symbol`]: function and offset |
//!
//! A debug file suffices where the module itself is gone or has been built again.
//!
//! **No address is resolved with wrong data.** A file whose build id is not the recorded one is not used; nor is a
//! debug file without the build id of its module or, where there is none, without the checksum of the link; nor a
//! `.dwo` file of another compilation. An address between the functions of a stripped library is not given to a
//! neighbour. A return address points behind the call, so the byte before it is looked up: a call that never returns
//! may be the last instruction of its function.
//!
//! # Names
//!
//! Rust (both manglings, without hash) and C++ are demangled, C is as it is. Fortran has the names of the source:
//! `halo::exchange` for a procedure of a module, `solver` for a main program. C++ functions that no other file can see
//! have no mangled name in debug information: the symbol table turns `operator()` into the name of the lambda, except
//! where it was inlined.
//!
//! # Damage
//!
//! Files may be truncated or overwritten: the answer then says less, with a [reason](Reason), and there is never a
//! panic. Sizes that a file claims are compared with the file and the [memory](Options::memory) allowed before anything
//! is allocated, entries nested too deeply are refused, and a name never becomes longer than 64 KiB. Files are read,
//! not mapped, because a module that is linked again while it is mapped ends the process with SIGBUS.
//!
//! # Speed
//!
//! A module is read once, and the debug information of a source file is parsed when the first address in it is looked
//! up. 100,000 addresses all over a program of 67 MB, 3.8 frames each, took GNU addr2line 5.8 times as long as
//! [`Resolver::resolve_all`], opening the file included: some 13 µs a site, and 8 µs where everything is parsed
//! already. That is the median of 7 rounds between 4.4 and 6.7 (2026-11-15, 2 cores of a shared and noisy Intel Xeon at
//! 2.5 GHz, binutils 2.40), measured by
//!
//! ```sh
//! cargo run --release -p dwell-symbols --example speed -- target/debug/dwell
//! ```
//!
//! # Limits
//!
//! * ELF on Unix. Byte order and word size are the file's own, but only x86-64 and AArch64 have been tested.
//! * No network: debuginfod is not asked, though its cache can be a debug directory. Compressed symbols in
//!   `.gnu_debugdata` are not read.
//! * The whole file of a module is in memory while it is open; [`Options::memory`] limits the sum of these, not what is
//!   parsed from them.
//! * Paths of sources are as the compiler wrote them: they need not exist on this machine.
//! * A tail call leaves no return address, so the function that made it does not appear.
//! * Names of flang and Intel Fortran are what they write into debug information.

#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

pub mod archive;
mod debug;
mod demangle;
mod image;
mod locate;
mod module;
mod resolver;
mod site;
mod symbols;

pub use archive::resolve_archive;
pub use module::{BuildId, Module, NotABuildId, ReturnOffset};
pub use resolver::{Options, Resolver, Status};
pub use site::{Frame, Quality, Reason, Site};
