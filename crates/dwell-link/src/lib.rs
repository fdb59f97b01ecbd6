//! Hooks for runtimes that are linked statically into programs.
//!
//! A library that is preloaded sees calls that go from one library to another. ARMCI and Global Arrays are
//! archives: their functions become part of the program, and calls of them never leave it. So the hooks
//! must become part of the program as well. This crate writes them, in C, from the tables of
//! [`dwell_model`]: for each function `F` a `__wrap_F`, which the linker puts in the place of `F` when it is
//! told `--wrap=F`, and which calls `__real_F`.
//!
//! The C code has no state and decides nothing. It calls `libdwell.so`, where the recorder is, by weak
//! references: in a program that runs without `dwell run` these are null, and a hook is one comparison and a
//! jump. So a program that was linked with hooks need not be linked again to run without.
//!
//! ```
//! use dwell_link::{Runtime, source};
//!
//! let runtime = Runtime::all().find(|runtime| runtime.name() == "armci").ok_or("no such runtime")?;
//! let code = source(&runtime.tables(), |name| name == "ARMCI_Fence");
//! assert!(code.contains("void __wrap_ARMCI_Fence(int a0)"));
//! assert!(!code.contains("ARMCI_Put"));
//! # Ok::<(), &str>(())
//! ```

mod gasnet;

use std::collections::BTreeSet;
use std::fmt::Write;

use dwell_model::registry;
use dwell_model::table::{CType, Row, Table};
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol, SymbolKind};

pub use gasnet::header as gasnet_header;

/// Returns the C code that is merged into objects of instrumented Fortran: the procedures that inserted calls name. It
/// calls `libdwell.so` by weak references, and does nothing where the library is absent. It has to be compiled with the
/// `ISO_Fortran_binding.h` of the Fortran compiler, since compilers lay out descriptors differently.
pub const fn coarray_source() -> &'static str {
    include_str!("coarray.c")
}

/// A runtime whose functions are linked statically into programs, so that a preloaded library cannot see calls of them.
/// Its table says so.
#[derive(Clone, Copy, Debug)]
pub struct Runtime(&'static Table);

impl Runtime {
    /// Iterates over all runtimes that are linked statically, for looking one up by its name.
    pub fn all() -> impl Iterator<Item = Self> {
        registry::TABLES.into_iter().filter(|table| table.hooks.are_linked()).map(Self)
    }

    /// Returns the short name of the runtime, by which users select it, such as `armci`.
    pub const fn name(self) -> &'static str {
        self.0.layer.name()
    }

    /// Returns the tables of the functions that can have hooks: that of the runtime itself, then those of the runtimes
    /// that it uses.
    pub fn tables(self) -> Vec<&'static Table> {
        let below = self.0.below.iter().filter_map(|layer| registry::table(*layer));
        std::iter::once(self.0).chain(below).collect()
    }

    /// Returns the names of the archives that contain the runtime, without `lib` and `.a`. Each inner list has
    /// alternatives that differ in the MPI library that they use and define the same functions, so one of each list is
    /// enough. The first that exists should be taken.
    pub fn archives(self) -> Vec<&'static [&'static str]> {
        self.tables().into_iter().map(|table| table.archives).collect()
    }
}

/// Returns the names of all global functions that an archive of object files defines, weak ones included. Callers use it
/// to decide which functions of a table exist in the installed version of a runtime. Members that are no object files
/// are ignored.
///
/// # Errors
/// Fails if the bytes are no archive, or if the archive is damaged.
pub fn functions(archive: &[u8]) -> Result<BTreeSet<String>, object::Error> {
    let mut functions = BTreeSet::new();
    for member in ArchiveFile::parse(archive)?.members() {
        let Ok(file) = object::File::parse(member?.data(archive)?) else { continue };
        for symbol in file.symbols().filter(|it| it.is_definition() && it.is_global()) {
            if let (SymbolKind::Text, Ok(name)) = (symbol.kind(), symbol.name()) {
                functions.insert(name.to_owned());
            }
        }
    }
    Ok(functions)
}

/// Iterates over the table rows of functions that exist.
fn rows<'a>(
    tables: &'a [&'static Table],
    is_there: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = &'static Row> + 'a {
    tables.iter().flat_map(|table| table.rows).filter(move |row| is_there(row.name()))
}

/// Returns the linker options that put the hooks in the place of the functions, one `-Wl,--wrap=F` a line. `is_there`
/// selects the functions, by name; it must be the same as for [`source`](fn@source), because the linker fails on a
/// wrapped function without a hook.
pub fn options(tables: &[&'static Table], is_there: impl Fn(&str) -> bool) -> String {
    rows(tables, is_there).map(|row| format!("-Wl,--wrap={}\n", row.name())).collect()
}

/// Returns a C file with the hooks of all functions that `is_there` selects by name. The file needs only the standard
/// headers, and the program must be linked with the [`options`](fn@options) for the same functions.
pub fn source(tables: &[&'static Table], is_there: impl Fn(&str) -> bool) -> String {
    rows(tables, is_there).fold(HEAD.to_owned(), |code, row| code + &hook(row))
}

const HEAD: &str = "/* Made by Dwell: hooks for functions that are linked statically. They have no state. What is
   recorded is in libdwell.so; where that is not loaded these references are null, and the real functions
   are called at once. */

#include <stddef.h>
#include <stdint.h>

typedef uintptr_t word;

__attribute__((weak)) int dwell_link_begin(void *entry, const word *words, const void *site,
                                           const void *stack, word *state);
__attribute__((weak)) void dwell_link_end(void *entry, const word *words, word *state);

/* Room for what is known before a call and needed after it. */
#define STATE 16
/* Where on the stack the return address lies; on AArch64, where a function chooses that place, the stack pointer at its
   entry. */
#if defined(__aarch64__)
#define STACK __builtin_dwarf_cfa()
#else
#define STACK ((const char *)__builtin_frame_address(0) + sizeof(void *))
#endif
";

fn hook(row: &Row) -> String {
    let name = row.name();
    let types = row.arguments.types();
    let c = |of: CType| match of {
        // A handle is passed as one word, whatever its width in the library.
        CType::Handle => "void *",
        of => of.c_name(),
    };
    let list = |of: &dyn Fn(usize, CType) -> String| {
        types.iter().enumerate().map(|(at, ctype)| of(at, *ctype)).collect::<Vec<_>>().join(", ")
    };
    let or_void = |text: String| if text.is_empty() { "void".to_owned() } else { text };
    let declared = or_void(list(&|_, of| c(of).to_owned()));
    let named = or_void(list(&|at, of| format!("{} a{at}", c(of))));
    let given = list(&|at, _| format!("a{at}"));
    let words = list(&|at, of| match of {
        // The recorder does not need these.
        CType::Float | CType::Double | CType::ComplexFloat | CType::ComplexDouble => "0".into(),
        _ => format!("(word)a{at}"),
    });
    let words = if words.is_empty() { "0".to_owned() } else { words };
    let returns = c(row.returns);
    let (keep, give, back) = match row.returns {
        CType::Void => (String::new(), "", "return;"),
        _ => (format!("{returns} result = "), "\n    return result;", ""),
    };
    let mut code = String::new();
    let _ = write!(
        code,
        "
extern char dwell_entry_{name}[] __attribute__((weak));
{returns} __real_{name}({declared});
{returns} __wrap_{name}({named})
{{
    if (!dwell_entry_{name}) {{
        {direct}__real_{name}({given});{back}
    }}
    const word words[] = {{ {words} }};
    word state[STATE];
    int recorded = dwell_link_begin(dwell_entry_{name}, words, __builtin_return_address(0), STACK, state);
    {keep}__real_{name}({given});
    if (recorded)
        dwell_link_end(dwell_entry_{name}, words, state);{give}
}}
",
        direct = if row.returns == CType::Void { "" } else { "return " },
    );
    code
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn tables(name: &str) -> Vec<&'static Table> {
        Runtime::all().find(|runtime| runtime.name() == name).unwrap().tables()
    }

    #[test]
    fn tables_say_what_is_linked() {
        let all: Vec<_> = Runtime::all().map(|it| (it.name(), it.tables().len())).collect();
        assert_eq!(all, [("armci", 1), ("ga", 2)]);
        assert!(Runtime::all().flat_map(Runtime::archives).all(|names| names.len() == 3));
    }

    #[test]
    fn a_hook_passes_everything_on() {
        let code = source(&tables("armci"), |name| name == "ARMCI_PutValueDouble");
        assert!(code.contains("int __wrap_ARMCI_PutValueDouble(double a0, void * a1, int a2)"));
        assert!(code.contains("const word words[] = { 0, (word)a1, (word)a2 };"));
        assert!(code.contains("int result = __real_ARMCI_PutValueDouble(a0, a1, a2);"));
        let options = options(&tables("armci"), |name| name.starts_with("ARMCI_Free"));
        assert!(options.lines().any(|line| line == "-Wl,--wrap=ARMCI_Free_group"));
        assert_eq!(options.lines().count(), 4);
    }

    /// A compiler and an archiver make an archive with a symbol of each kind.
    #[test]
    fn functions_are_told_from_data() {
        let folder = tempfile::tempdir().unwrap();
        let run = |program: &str, arguments: &[&str]| {
            let status = Command::new(program).args(arguments).current_dir(&folder).status();
            assert!(status.is_ok_and(|it| it.success()), "{program} {arguments:?}");
        };
        let code = "int ARMCI_Put(void) { return 0; }\n\
                    __attribute__((weak)) int ARMCI_Get(void) { return 1; }\n\
                    int ARMCI_Acc = 3;\n\
                    int ARMCI_AccV;\n\
                    const char ARMCI_Fence[] = \"text\";\n\
                    __thread int ARMCI_AllFence;\n\
                    static int ARMCI_Rmw(void) { return 2; }\n\
                    extern int ARMCI_Lock(void);\n\
                    int (*ARMCI_Unlock)(void) = ARMCI_Lock;\n\
                    int (*other)(void) = ARMCI_Rmw;\n";
        std::fs::write(folder.path().join("armci.c"), code).unwrap();
        run("cc", &["-fcommon", "-c", "armci.c"]);
        run("ar", &["rc", "libarmci.a", "armci.o"]);
        let found = functions(&std::fs::read(folder.path().join("libarmci.a")).unwrap()).unwrap();
        assert_eq!(found, BTreeSet::from(["ARMCI_Get", "ARMCI_Put"].map(String::from)));
    }

    #[test]
    fn what_is_no_archive_is_said_so() {
        assert!(functions(b"something else").is_err());
    }
}
