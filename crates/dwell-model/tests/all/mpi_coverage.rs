//! Compares the table of MPI with the headers and libraries of MPI installations.
//!
//! The tests use `mpicc.openmpi`, `mpicc.mpich` and the compilers that `DWELL_MPICC` lists, separated by colons.
//! Without any of them the tests say so and pass, unless `DWELL_REQUIRE_MPI=1`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use dwell_model::mpi::{self, TABLE};
use dwell_model::table::{CType, Row};

use crate::header;
use crate::{needs, symbols};

/// Types of MPI that are handles.
const HANDLES: &[&str] = &[
    "MPI_Comm",
    "MPI_Datatype",
    "MPI_Errhandler",
    "MPI_File",
    "MPI_Group",
    "MPI_Info",
    "MPI_Message",
    "MPI_Op",
    "MPI_Request",
    "MPI_Session",
    "MPI_Win",
];

fn compilers() -> Vec<OsString> {
    let listed = std::env::var_os("DWELL_MPICC").unwrap_or_default();
    let listed = std::env::split_paths(&listed).map(OsString::from).filter(|it| !it.is_empty());
    let known = ["mpicc.openmpi", "mpicc.mpich"].map(OsString::from);
    let there = |compiler: &OsString| Command::new(compiler).arg("-v").output().is_ok();
    let found: Vec<_> = known.into_iter().filter(there).chain(listed).collect();
    if found.is_empty() {
        needs::missing("MPI", "there is no mpicc");
    }
    found
}

fn done(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("tools print text")
}

/// Returns the preprocessed `mpi.h` of a compiler.
fn header(compiler: &OsString, folder: &Path) -> String {
    let source = folder.join("header.c");
    fs::write(&source, "#include <mpi.h>\n").expect("a temporary file can be written");
    done(Command::new(compiler).args(["-E", "-P"]).arg(source).output().expect("it was there"))
}

/// Returns the functions that the library of this compiler exports under names of MPI.
fn exported(compiler: &OsString, folder: &Path) -> BTreeSet<String> {
    let (source, program) = (folder.join("main.c"), folder.join("main"));
    let text = "#include <mpi.h>\nint main(int c, char **v) { return MPI_Init(&c, &v); }\n";
    fs::write(&source, text).expect("a temporary file can be written");
    let mut compile = Command::new(compiler);
    done(compile.arg(source).arg("-o").arg(&program).output().expect("it was there"));
    let libraries = done(Command::new("ldd").arg(&program).output().expect("ldd is there"));
    let library = libraries.lines().find(|line| line.trim_start().starts_with("libmpi"));
    let path = library.and_then(|line| line.split_whitespace().nth(2)).expect("it links an MPI");
    let mut functions = symbols::functions(Path::new(path));
    functions.retain(|name| name.starts_with("MPI_") || name.starts_with("MPIX_"));
    functions
}

#[test]
fn every_function_is_hooked_or_listed() {
    for compiler in compilers() {
        let folder = tempfile();
        let exported = exported(&compiler, &folder);
        let known = |name: &&String| TABLE.find(name).is_some() || mpi::not_hooked(name).is_some();
        let unknown: Vec<_> = exported.iter().filter(|name| !known(name)).collect();
        let hooked = exported.iter().filter(|name| TABLE.find(name).is_some()).count();
        eprintln!("{compiler:?}: {hooked} of {} are hooked", exported.len());
        assert!(unknown.is_empty(), "{compiler:?} has {unknown:?}");
        assert!(hooked > 200, "{compiler:?}: only {hooked} functions were found");
        let _ = fs::remove_dir_all(folder);
    }
}

#[test]
fn every_signature_agrees_with_the_header() {
    for compiler in compilers() {
        let folder = tempfile();
        let text = header(&compiler, &folder);
        let wanted = |name: &str| TABLE.find(name).is_some();
        let found = header::prototypes(&text, HANDLES, wanted).expect("headers are understood");
        let mut wrong = Vec::new();
        for (name, prototype) in &found {
            let row = TABLE.find(name).expect("only those were wanted");
            let declared: Vec<_> = prototype.arguments.iter().map(|it| it.of.ctype).collect();
            if declared != types(row)
                || prototype.returns.ctype != row.returns
                || prototype.variadic != row.arguments.is_variadic()
            {
                wrong.push(format!("{name}: the header has {prototype}, the table {row:?}"));
            }
            wrong.extend(misplaced(row, prototype));
        }
        eprintln!("{compiler:?}: {} functions agree with the header", found.len());
        assert!(wrong.is_empty(), "{compiler:?}\n{}", wrong.join("\n"));
        assert!(found.len() > 200, "{compiler:?}: only {} were found", found.len());
        let _ = fs::remove_dir_all(folder);
    }
}

/// Returns the types of a row in the form that the parser of headers returns: a handle is a pointer there.
fn types(row: &Row) -> Vec<CType> {
    let plain = |of: &CType| if *of == CType::Handle { CType::Pointer } else { *of };
    row.arguments.types().iter().map(plain).collect()
}

/// Returns the arguments that a header calls by known names and that are not at the place the row says.
fn misplaced(row: &Row, prototype: &header::Prototype) -> Vec<String> {
    let places = row.places;
    let named = [
        (&["dest", "target_rank"][..], places.target, true),
        (&["root"], places.root, true),
        (&["source"], places.source, true),
        (&["sendtag", "tag"], places.tag, true),
        (&["recvtag"], places.receive_tag, false),
        (&["lock_type"], places.lock_kind, true),
        (&["win"], places.context.or(places.created).or(places.ended), true),
        (&["message"], places.message, true),
        (&["array_of_requests"], places.requests.map(|it| it.at), false),
    ];
    // Partitioned receives call their source a destination in one header.
    let swapped = row.name() == "MPI_Precv_init";
    let check = |(names, place, both): (&[&str], Option<_>, bool)| {
        let mut arguments = prototype.arguments.iter();
        // A tag that is text is none.
        let is = |it: &header::Argument| {
            names.contains(&it.name.as_str()) && (it.name != "tag" || it.of.ctype == CType::Int)
        };
        let at = arguments.position(is);
        let place = place.map(dwell_model::table::Arg::index);
        let unnamed = prototype.arguments.iter().any(|it| it.name.is_empty());
        let flush = row.name().starts_with("MPI_Win_");
        let wrong = match (at, place) {
            (Some(at), Some(place)) => at != place,
            (Some(_), None) => both,
            (None, _) => false,
        };
        let excused = swapped || unnamed || flush && names.contains(&"dest");
        (wrong && !excused)
            .then(|| format!("{}: {names:?} is at {at:?}, in the row {place:?}", row.name()))
    };
    named.into_iter().filter_map(check).collect()
}

/// Creates a directory that only one test uses.
fn tempfile() -> std::path::PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("dwell-mpi-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).expect("temporary folders can be made");
    folder
}
