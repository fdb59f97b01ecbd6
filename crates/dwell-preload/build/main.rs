//! Writes a hook for every function of every table.
//!
//! Each row yields a stub in assembly under the name of the function, and the hook to which the stub jumps, with the
//! signature of the function. The stub stores the call site and jumps; with recording switched off it jumps to the real
//! function at once. The hook collects the arguments that the row points out, records the call and calls the real
//! function.
//!
//! | module | contents |
//! |---|---|
//! | `emit` | the code of any hook, from its description |
//! | `typed` | descriptions for functions whose arguments have their types of C: OpenSHMEM |
//! | `words` | descriptions for functions whose arguments are words: MPI for C and Fortran, layers over MPI, UCX |

mod emit;
mod typed;
mod words;

use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs, io};

use dwell_model::table::{Row, Table};

/// Returns the code of the stub and the hook for a row, by its index in the table.
type CodeOf = fn(usize, &Row) -> String;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build");
    let folder = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let tables: [(&str, &Table, CodeOf); 4] = [
        ("shmem", &dwell_model::shmem::TABLE, typed::of),
        ("mpi", &dwell_model::mpi::TABLE, words::mpi),
        ("caf", &dwell_model::caf::TABLE, words::over_mpi),
        ("ucx", &dwell_model::ucx::TABLE, words::over_mpi),
    ];
    for (name, table, code_of) in tables {
        let code = module(&format!("::dwell_model::{name}::TABLE"), table, code_of);
        fs::write(folder.join(name).with_extension("rs"), code)?;
    }
    let fortran = words::fortran("::dwell_model::mpi::TABLE", &dwell_model::mpi::TABLE);
    fs::write(folder.join("fortran.rs"), fortran)?;
    let armci = words::linked("::dwell_model::armci::TABLE", &dwell_model::armci::TABLE, "ARMCI");
    let ga = words::linked("::dwell_model::ga::TABLE", &dwell_model::ga::TABLE, "REGIONS");
    fs::write(folder.join("link.rs"), armci + &ga)?;
    Ok(())
}

/// Returns the hooks of a table, and the array of their entries.
fn module(path: &str, table: &Table, code_of: CodeOf) -> String {
    let mut code = String::new();
    for (index, row) in table.rows.iter().enumerate() {
        code += &code_of(index, row);
    }
    let _ = writeln!(code, "/// Every function of the table, in its order.");
    let _ = writeln!(code, "pub(crate) static ENTRIES: [Entry; {}] = [", table.rows.len());
    for index in 0..table.rows.len() {
        let _ = writeln!(code, "    Entry::new(&{path}, {index}, hook_{index} as *mut ()),");
    }
    code + "];\n"
}
