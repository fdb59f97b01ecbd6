//! Global Arrays from Fortran, linked with the hooks of `dwell build flags`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::armci::{GA, open, same_and_counted};
use crate::lab::Lab;
use crate::mpi::Mpi;
use crate::needs;

/// Compiles the program, with hooks or without.
fn compile(mpi: &Mpi, lab: &Lab, hooks: bool) -> Option<PathBuf> {
    let compiler = mpi.fortran().filter(|_| needs::tools("FORTRAN", &["gfortran"]))?;
    let program = lab.path(if hooks { "hooked" } else { "plain" });
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/ga_fortran.f90");
    let mut command = Command::new(compiler);
    command.args(["-cpp", "-fdefault-integer-8", "-fallow-argument-mismatch", "-g"]);
    command.arg("-I/usr/include").arg(source).arg("-o").arg(&program);
    if hooks {
        let folder = lab.path("hooks");
        let flags = ["build", "flags", "ga", "-o"].map(OsStr::new);
        let output = lab.dwell(&[&flags[..], &[folder.as_os_str()]].concat());
        assert!(output.status.success(), "{output:?}");
        command.arg(String::from_utf8(output.stdout).unwrap().trim());
    }
    let output = command.args(GA).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

#[test]
fn a_fortran_program_does_the_same_and_is_counted() {
    let Some((mpi, lab)) = open() else { return };
    let Some(plain) = compile(&mpi, &lab, false) else { return };
    let Some(hooked) = compile(&mpi, &lab, true) else { return };
    same_and_counted(&mpi, &lab, &plain, &hooked, &[]);
}
