//! Compares the tables of ARMCI and of Global Arrays with the archives and headers that are installed.
//!
//! Without them the tests say so and pass, unless `DWELL_REQUIRE_ARMCI=1`.

use std::path::Path;
use std::process::Command;

use dwell_model::layer::Layer;
use dwell_model::table::{CType, Table};
use dwell_model::{armci, ga};

use crate::header;
use crate::{needs, symbols};

fn is_there(path: &str) -> bool {
    let there = Path::new(path).exists();
    if !there {
        needs::missing("ARMCI", &format!("there is no {path}"));
    }
    there
}

/// Checks that a table covers the functions of a static library.
fn covers(
    table: &Table,
    archive: &str,
    prefixes: &[&str],
    reason: fn(&str) -> Option<&'static str>,
) {
    if !is_there(archive) || !needs::tools("SYMBOLS", &["nm"]) {
        return;
    }
    let all = symbols::functions(Path::new(archive));
    // Names in lower case are for Fortran, or internal to the library.
    let own = |name: &&String| {
        let small = name.starts_with(|first: char| first.is_ascii_lowercase());
        let library = small && table.layer == Layer::GlobalArrays && !name.ends_with('_');
        !library && prefixes.iter().any(|prefix| name.starts_with(prefix))
    };
    for name in all.iter().filter(own) {
        let hooked = table.find(name).is_some();
        assert!(hooked != reason(name).is_some(), "{name}: hooked {hooked}, {:?}", reason(name));
    }
    for row in table.rows {
        assert!(all.contains(row.name()), "{archive} has no {}", row.name());
    }
    eprintln!("{archive}: {} of {} are hooked", table.rows.len(), all.iter().filter(own).count());
}

#[test]
fn every_function_of_armci_is_hooked_or_listed() {
    let archive = "/usr/lib/x86_64-linux-gnu/libarmci-openmpi.a";
    let prefixes = ["ARMCI", "PARMCI", "armci_", "parmci_"];
    covers(&armci::TABLE, archive, &prefixes, armci::not_hooked);
}

#[test]
fn every_function_of_global_arrays_is_hooked_or_listed() {
    let archive = "/usr/lib/x86_64-linux-gnu/libga-openmpi.a";
    covers(&ga::TABLE, archive, &["GA_", "NGA_", "ga_", "nga_"], ga::not_hooked);
}

/// Checks that the signatures of a table agree with a header.
fn agrees(table: &Table, header: &str, include: &str, handles: &[&str]) {
    if !is_there(header) || !needs::tools("MPI", &["mpicc.openmpi"]) {
        return;
    }
    let folder = std::env::temp_dir().join(format!("dwell-header-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    let source = folder.join(format!("{}.c", table.layer.name()));
    std::fs::write(&source, include).expect("a temporary file can be written");
    let output = Command::new("mpicc.openmpi").args(["-E", "-P"]).arg(&source).output();
    let output = output.expect("the compiler is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Complex numbers are structures in these headers, which are passed in the same way.
    let text = String::from_utf8(output.stdout).expect("headers are text");
    let text = text.replace("DoubleComplex", "double _Complex");
    let text = text.replace("SingleComplex", "float _Complex").replace("armci_size_t", "long");
    let wanted = |name: &str| table.find(name).is_some();
    let found = header::prototypes(&text, handles, wanted).expect("headers are understood");
    for row in table.rows {
        // These take function pointers, which the parser of headers does not know, or are for Fortran.
        if row.name().ends_with("GA_Register_stack_memory") || row.name().ends_with('_') {
            continue;
        }
        let prototype = found.get(row.name());
        let prototype = prototype.unwrap_or_else(|| panic!("{header} has no {}", row.name()));
        let types: Vec<CType> = prototype.arguments.iter().map(|it| it.of.ctype).collect();
        let same = |(table, header): (&CType, &CType)| {
            table == header || *table == CType::Handle && *header == CType::Pointer
        };
        let fits = types.len() == row.arguments.types().len()
            && row.arguments.types().iter().zip(&types).all(same);
        assert!(fits, "{}: {:?} is {prototype}", row.name(), row.arguments);
        assert_eq!(row.returns, prototype.returns.ctype, "{}", row.name());
    }
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn signatures_are_those_of_the_headers() {
    let include = "#include <armci.h>\n#include <armcix.h>\n#include <message.h>\n";
    let handles = ["armcix_mutex_hdl_t", "MPI_Comm"];
    agrees(&armci::TABLE, "/usr/include/armci.h", include, &handles);
    agrees(&ga::TABLE, "/usr/include/ga.h", "#include <ga.h>\n", &[]);
}
