//! Compares the sizes of C types with those of the C compiler.

use std::io::Write;
use std::process::{Command, Stdio};

use dwell_model::table::CType;

use crate::needs;

#[test]
fn sizes_are_the_compilers() {
    let mut source = String::from("#include <stddef.h>\n#include <stdint.h>\n");
    // As every mpi.h has them; what a handle is differs.
    source += "typedef intptr_t MPI_Aint;\ntypedef int64_t MPI_Offset, MPI_Count;\n";
    let known = |ctype: &&CType| ![CType::Void, CType::Handle].contains(ctype);
    for ctype in CType::ALL.iter().filter(known) {
        let (name, size) = (ctype.c_name(), ctype.size());
        source += &format!("_Static_assert(sizeof({name}) == {size}, \"{name}\");\n");
    }
    let compiler = Command::new("cc")
        .args(["-std=c11", "-fsyntax-only", "-x", "c", "-"])
        .stdin(Stdio::piped())
        .spawn();
    let Ok(mut compiler) = compiler else {
        return needs::missing("CC", "there is no cc");
    };
    let mut input = compiler.stdin.take().expect("it was asked for");
    input.write_all(source.as_bytes()).expect("it reads");
    drop(input);
    assert!(compiler.wait().expect("it ends").success(), "{source}");
}
