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
//! | `words` | descriptions for functions whose arguments are words: MPI for C and Fortran, layers over MPI, regions |

mod emit;
mod typed;
mod words;

use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs, io};

use dwell_model::registry;
use dwell_model::table::{Hooks, Row, Table};

/// Returns the code of the stub and the hook for a row, by the path of its table and its index there.
type CodeOf = fn(&str, usize, &Row) -> String;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build");
    let folder = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let write = |name: &str, code: &str| fs::write(folder.join(name).with_extension("rs"), code);
    let mut of_regions = Vec::new();
    let (mut regions, mut linked, mut included) = (String::new(), String::new(), String::new());
    for table in registry::TABLES {
        // Each table is in a module of the name of its layer.
        let name = table.layer.name();
        let path = &format!("::dwell_model::{name}::TABLE");
        match table.hooks {
            Hooks::Typed => write(name, &module(path, table, typed::of))?,
            Hooks::Shaped => {
                let fortran = words::fortran(path, table);
                write(name, &(module(path, table, words::shaped) + &fortran))?;
            }
            Hooks::OverMpi => write(name, &module(path, table, words::over_mpi))?,
            Hooks::Regions => {
                let hooks = module(path, table, words::over_mpi);
                of_regions.push(format!("&{name}::ENTRIES"));
                regions += &format!("mod {name} {{\nregion_hooks!({name:?});\n{hooks}}}\n");
            }
            Hooks::LinkedOverMpi => linked += &words::linked(path, table, &name.to_uppercase()),
            Hooks::Included => included += &words::included(path, table),
            // Instrumented programs name rows by numbers, so nothing is generated.
            Hooks::Source => {}
            Hooks::LinkedRegions => linked += &words::linked(path, table, "REGIONS"),
        }
    }
    let (count, of_regions) = (of_regions.len(), of_regions.join(", "));
    let doc = "/// The entries of all tables.";
    let list = format!("pub(crate) static TABLES: [&[Entry]; {count}] = [{of_regions}];\n");
    regions += &format!("{doc}\n{list}");
    write("regions", &regions)?;
    write("included", &included)?;
    write("link", &linked)
}

/// Returns the hooks of a table, and the array of their entries.
fn module(path: &str, table: &Table, code_of: CodeOf) -> String {
    let mut code = String::new();
    for (index, row) in table.rows.iter().enumerate() {
        code += &code_of(path, index, row);
    }
    let _ = writeln!(code, "/// Every function of the table, in its order.");
    let _ = writeln!(code, "pub(crate) static ENTRIES: [Entry; {}] = [", table.rows.len());
    for index in 0..table.rows.len() {
        let _ = writeln!(code, "    Entry::new(&{path}, {index}, hook_{index} as *mut ()),");
    }
    code + "];\n"
}
