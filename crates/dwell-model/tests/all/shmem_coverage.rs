//! Compares the table of OpenSHMEM with the library and the headers that are installed.
//!
//! Debian's OpenSHMEM is Open MPI's. Without it there is nothing to compare with: the tests then pass with a message,
//! unless `DWELL_REQUIRE_SHMEM=1` says that it must be there.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use dwell_model::operation::Operation;
use dwell_model::shmem::{self, NOT_HOOKED, TABLE};
use dwell_model::table::{Arg, Bytes, CType, Group, Operand, Row};

use crate::header::{self, Prototype};
use crate::needs;

const DIRECTORIES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64/openmpi/lib",
    "/usr/local/lib",
];

/// Families that Open MPI 4.1 lacks. Everything else must be there, or the table claims too much.
const NEWER: &[&str] = &[
    "put_signal",
    "ctx put_signal",
    "put_signal_nbi",
    "ctx put_signal_nbi",
    "malloc_with_hints",
    "pcontrol",
    "signal_fetch",
    "signal_wait_until",
    "teams",
    "wait_until, long",
];

fn is_newer(family: &str) -> bool {
    let name = family.strip_prefix("ctx ").unwrap_or(family);
    NEWER.contains(&family)
        || name.starts_with("team ")
        || name.ends_with(", exact widths")
        || (name.starts_with("atomic_") && name.ends_with("_nbi"))
        || name.starts_with("wait_until_")
        || name.starts_with("test_")
}

/// An installed library and its headers, parsed.
struct Installed {
    /// Every symbol that the library defines, with its type as `nm` prints it: `T` and `W` are functions.
    symbols: BTreeMap<String, char>,
    /// Prototypes that the headers declare for these names and their profiling twins.
    declared: BTreeMap<String, Prototype>,
    /// Version of the OpenSHMEM standard that the headers state.
    version: String,
}

static INSTALLED: LazyLock<Option<Installed>> = LazyLock::new(|| {
    let place = DIRECTORIES.iter().find_map(|directory| {
        let library = library_in(Path::new(directory))?;
        let include = Path::new(directory).join("openmpi/include");
        include.join("shmem.h").exists().then_some((library, include))
    });
    let Some((library, include)) = place else {
        needs::missing("SHMEM", &format!("there is no shmem.h in any of {DIRECTORIES:?}"));
        return None;
    };
    if !needs::tools("SYMBOLS", &["nm", "cc"]) {
        return None;
    }
    let symbols = symbols_of(&library);
    let (declared, version) = declared_in(&include, &symbols);
    Some(Installed { symbols, declared, version })
});

fn library_in(directory: &Path) -> Option<PathBuf> {
    let files = directory.read_dir().ok()?.flatten();
    let mut libraries: Vec<_> = files
        .map(|file| file.path())
        .filter(|path| path.to_string_lossy().contains("/liboshmem.so."))
        .collect();
    libraries.sort();
    libraries.pop()
}

fn symbols_of(library: &Path) -> BTreeMap<String, char> {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output();
    let output = output.expect("nm of the binutils is needed");
    assert!(output.status.success(), "nm {}: {output:?}", library.display());
    let text = String::from_utf8(output.stdout).expect("names are ASCII");
    let symbols = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let sort = words.next()?.chars().next()?;
        // A version may stand after the name.
        let name = words.next()?.split('@').next()?;
        Some((name.to_owned(), sort))
    });
    symbols.collect()
}

/// Parses the headers, and returns the prototypes of every function that the library has or should have, and the
/// version of the standard.
fn declared_in(
    include: &Path,
    symbols: &BTreeMap<String, char>,
) -> (BTreeMap<String, Prototype>, String) {
    let source = "#include <shmem.h>\n#include <shmemx.h>\n#include <pshmem.h>\n\
                  #include <pshmemx.h>\nversion SHMEM_MAJOR_VERSION SHMEM_MINOR_VERSION\n";
    let mut compiler = Command::new("cc")
        .args(["-E", "-P", "-x", "c", "-"])
        .arg("-I")
        .arg(include)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a C compiler is needed, for its preprocessor");
    let mut input = compiler.stdin.take().expect("it was asked for");
    input.write_all(source.as_bytes()).expect("it reads");
    drop(input);
    let output = compiler.wait_with_output().expect("it ends");
    assert!(output.status.success(), "cc -E failed");
    let text = String::from_utf8(output.stdout).expect("headers are ASCII");
    let version = text.lines().find_map(|line| line.trim().strip_prefix("version "));
    let wanted = |name: &str| symbols.contains_key(name) || name.starts_with("shmem");
    match header::prototypes(&text, &["shmem_ctx_t", "shmem_team_t"], wanted) {
        Ok(declared) => (declared, version.unwrap_or_default().to_owned()),
        Err(what) => panic!("{what}"),
    }
}

impl Installed {
    /// Returns the names that a program can call: exported, and either declared in a header or named as if they were
    /// public. Profiling twins are not among them, since only tools call them.
    fn callable(&self) -> BTreeSet<&str> {
        let public = |name: &&str| {
            let named = name.trim_start_matches('_').starts_with("shmem");
            let twin = name.strip_prefix('p').is_some_and(|rest| self.symbols.contains_key(rest));
            named || (self.declared.contains_key(*name) && !twin)
        };
        self.symbols.keys().map(String::as_str).filter(public).collect()
    }
}

#[test]
fn every_exported_function_is_in_the_table() {
    let Some(installed) = &*INSTALLED else { return };
    let callable = installed.callable();
    let known: BTreeSet<&str> = TABLE.rows.iter().map(Row::name).collect();
    let left_out: BTreeSet<&str> = NOT_HOOKED.iter().map(|(name, _)| *name).collect();
    let missing: Vec<_> = callable
        .iter()
        .filter(|name| !known.contains(*name) && !left_out.contains(*name))
        .collect();
    assert!(missing.is_empty(), "{} not in the table: {missing:#?}", missing.len());
    let hooked = callable.intersection(&known).count();
    eprintln!("{hooked} of {} functions are hooked", callable.len());
    assert!(hooked > 900, "only {hooked}: was this the right library?");
}

#[test]
fn what_is_left_out_has_a_reason() {
    for (name, reason) in NOT_HOOKED {
        assert!(TABLE.find(name).is_none(), "{name} is in the table");
        assert!(reason.len() > 20, "{name}: a reason says more");
    }
    let Some(installed) = &*INSTALLED else { return };
    for (name, reason) in NOT_HOOKED {
        let sort = installed.symbols.get(*name);
        let variable = sort.is_some_and(|sort| !"TW".contains(*sort));
        assert_eq!(variable, reason.contains("a variable"), "{name} is {sort:?}");
        let declared = installed.declared.contains_key(*name);
        assert!(!declared || !reason.contains("internal"), "{name} is in a header");
    }
}

#[test]
fn what_the_library_lacks_is_newer_than_it() {
    let Some(installed) = &*INSTALLED else { return };
    if installed.version != "1 4" {
        eprintln!("skipped: the list is that of OpenSHMEM 1.4, not {}", installed.version);
        return;
    }
    for family in shmem::families() {
        for row in family.rows {
            let there = installed.symbols.contains_key(row.name());
            assert_eq!(there, !is_newer(family.name), "{}, of {}", row.name(), family.name);
        }
    }
}

#[test]
fn every_row_agrees_with_the_headers() {
    let Some(installed) = &*INSTALLED else { return };
    let mut held = 0;
    let mut problems = Vec::new();
    for row in TABLE.rows {
        if !installed.symbols.contains_key(row.name()) {
            continue;
        }
        let Some(prototype) = installed.declared.get(row.name()) else {
            problems.push(format!("{}: exported, but in no header", row.name()));
            continue;
        };
        problems.extend(differences(row, prototype));
        // The twin that tools call must not differ; that would be the header's mistake.
        if let Some(twin) = installed.declared.get(&format!("p{}", row.name())) {
            problems.extend(differences(row, twin).map(|what| format!("p{what}")));
        }
        held += 1;
    }
    assert!(problems.is_empty(), "{} differences:\n{}", problems.len(), problems.join("\n"));
    assert!(held > 900, "only {held} functions were held against the headers");
    eprintln!("{held} functions agree with the headers");
}

/// Returns the differences between a row and a prototype, as texts.
fn differences(row: &Row, prototype: &Prototype) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    let declared: Vec<_> = prototype.arguments.iter().map(|argument| argument.of.ctype).collect();
    let signature = prototype.returns.ctype == row.returns
        && prototype.variadic == row.arguments.is_variadic()
        && declared == row.arguments.types();
    if !signature {
        found.push(format!("the header has {prototype}, the table {row:?}"));
    } else {
        found.extend(misplaced(row, prototype));
        found.extend(wrong_size(row, prototype));
    }
    let name = row.name();
    found.into_iter().map(move |what| format!("{name}: {what}"))
}

/// Returns the arguments that Open MPI's headers call by known names and that are not at the place the row says.
///
/// The check works both ways: an argument of such a name must be in its place, and a place must have such a name.
fn misplaced(row: &Row, prototype: &Prototype) -> Vec<String> {
    let places = row.places;
    let mut named: Vec<(&[&str], Option<Arg>)> = Vec::new();
    named.push((&["ctx"], places.context.or(places.created)));
    named.push((&["PE_root"], places.root));
    named.push((&["lock"], places.lock));
    if row.operation.is_one_sided() {
        named.push((&["pe"], places.target));
        let remote: &[&str] = match row.operation {
            Operation::Put => &["target", "addr"],
            Operation::Get => &["source", "addr"],
            _ => &["target"],
        };
        named.push((remote, places.remote));
    }
    named.push((&["tst", "dst"], places.strides.map(|strides| strides.destination)));
    named.push((&["sst"], places.strides.map(|strides| strides.source)));
    let (count, size) = match places.bytes {
        Bytes::Counted { count, size: 1 } if row.operation == Operation::Allocate => {
            (None, Some(count))
        }
        Bytes::Counted { count, .. } if row.operation == Operation::Reallocate => {
            (None, Some(count))
        }
        Bytes::Counted { count, .. } if places.handle.is_some() => (None, Some(count)),
        Bytes::Counted { count, .. } => (Some(count), None),
        Bytes::Product { count, size } => (Some(count), Some(size)),
        _ => (None, None),
    };
    named.push((&["len", "nlong", "nelems", "nreduce", "count"], count));
    named.push((&["size"], size));
    let (start, stride, members) = match places.group {
        Group::ActiveSet { start, log_stride, size } => (Some(start), Some(log_stride), Some(size)),
        _ => (None, None, None),
    };
    named.push((&["PE_start"], start));
    named.push((&["logPE_stride"], stride));
    named.push((&["PE_size"], members));
    named.push((&["counter"], places.handle));
    if let Some(condition) = places.condition {
        named.push((&["addr"], Some(condition.address)));
        named.push((&["cmp"], condition.comparison));
        let operand = condition.operand.map(|operand| match operand {
            Operand::Value(at) | Operand::Array(at) => at,
        });
        named.push((&["value"], operand));
    }
    let check = |(names, place): (&[&str], Option<Arg>)| {
        let mut arguments = prototype.arguments.iter();
        let at = arguments.position(|argument| names.contains(&argument.name.as_str()));
        (at != place.map(Arg::index)).then(|| {
            format!("{names:?} is argument {at:?} of the header, and in the row {place:?}")
        })
    };
    named.into_iter().filter_map(check).collect()
}

/// Returns a text if the size of elements differs from the type that the header points to.
fn wrong_size(row: &Row, prototype: &Prototype) -> Option<String> {
    let size = match (row.places.bytes, row.places.condition) {
        (Bytes::Fixed(size) | Bytes::Counted { size, .. }, _) => size,
        (_, Some(condition)) => condition.size,
        _ => return None,
    };
    let first = prototype.arguments.iter().find(|argument| argument.of.ctype == CType::Pointer)?;
    // Handles have no type to point to, and the functions that count bits take any.
    let first = match first.of.pointee {
        None => prototype.arguments.get(1)?.of.pointee?,
        Some(pointee) => pointee,
    };
    let in_name = |bits: &str| {
        let name = row.name().trim_start_matches("shmem_ctx_").trim_start_matches("shmem_");
        name.trim_end_matches("_nbi").ends_with(bits)
    };
    let expected = match first {
        CType::Void => match ["128", "64", "32", "16", "8"].iter().find(|bits| in_name(bits)) {
            Some(bits) => bits.parse::<u8>().ok()? / 8,
            None => 1,
        },
        ctype => ctype.size(),
    };
    (size != expected).then(|| format!("elements of {size} bytes, by the header {expected}"))
}

#[test]
fn prototypes_are_understood() {
    let text = "typedef struct { int dummy; } * h;\n\
                extern int one(void) __attribute__((noreturn));\n\
                unsigned long long *two(h a, const unsigned char * b, long double c[], long int d);\n\
                static inline int four(int x) { return x; }\n\
                void three(double _Complex *, volatile short*v, uint16_t w, ...);";
    let found = header::prototypes(text, &["h"], |name| name != "four").expect("it is legal C");
    let types = |name: &str| -> (CType, Vec<CType>, Vec<Option<CType>>) {
        let of = |argument: &header::Argument| argument.of.ctype;
        let to = |argument: &header::Argument| argument.of.pointee;
        let prototype = &found[name];
        let arguments = &prototype.arguments;
        (
            prototype.returns.ctype,
            arguments.iter().map(of).collect(),
            arguments.iter().map(to).collect(),
        )
    };
    use CType::{ComplexDouble, Int, Long, LongDouble, Pointer, Short, Uint16, UnsignedChar, Void};
    assert_eq!(types("one"), (Int, vec![], vec![]));
    assert_eq!(
        types("two"),
        (
            Pointer,
            vec![Pointer, Pointer, Pointer, Long],
            vec![None, Some(UnsignedChar), Some(LongDouble), None]
        )
    );
    assert_eq!(
        types("three"),
        (Void, vec![Pointer, Pointer, Uint16], vec![Some(ComplexDouble), Some(Short), None])
    );
    assert!(found["three"].variadic);
    assert_eq!(found["two"].arguments[1].name, "b");
    assert!(header::prototypes("foo_t five(int);", &[], |_| true).is_err());
}
