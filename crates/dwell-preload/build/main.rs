//! Writes a hook for every function of every table.
//!
//! Each row yields a stub in assembly under the name of the function, and the hook to which the stub jumps, with the
//! signature of the function. The stub stores the call site and jumps; with recording switched off it jumps to the real
//! function at once. The hook collects the arguments that the row points out, records the call and calls the real
//! function.

mod above;
mod hook;
mod mpi;

use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs, io};

use dwell_model::table::{Row, Table};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build");
    let folder = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let shmem = module("::dwell_model::shmem::TABLE", &dwell_model::shmem::TABLE, hook::of);
    fs::write(folder.join("shmem.rs"), shmem)?;
    let path = "::dwell_model::mpi::TABLE";
    let mpi = module(path, &dwell_model::mpi::TABLE, mpi::of);
    let mpi = mpi + &mpi::fortran(path, dwell_model::mpi::TABLE.rows);
    fs::write(folder.join("mpi.rs"), mpi)?;
    let caf = module("::dwell_model::caf::TABLE", &dwell_model::caf::TABLE, above::of);
    fs::write(folder.join("caf.rs"), caf)?;
    let ucx = module("::dwell_model::ucx::TABLE", &dwell_model::ucx::TABLE, above::of);
    fs::write(folder.join("ucx.rs"), ucx)?;
    let armci = above::linked("::dwell_model::armci::TABLE", &dwell_model::armci::TABLE);
    let ga = above::linked("::dwell_model::ga::TABLE", &dwell_model::ga::TABLE);
    fs::write(folder.join("link.rs"), armci + &ga)?;
    Ok(())
}

/// Returns the hooks of a table, and the array of their entries.
fn module(path: &str, table: &Table, code_of: fn(usize, &Row) -> String) -> String {
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
