//! Writes a hook for every function of every table.
//!
//! For each row: a stub in assembly under the function's name, and the hook it jumps to, with the
//! function's exact signature. The stub notes the call site and jumps; with recording switched off it
//! jumps to the real function at once. The hook says what this call is about, from the places in the
//! row, and calls the real function.

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

/// The hooks of a table, and the list of them all.
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
