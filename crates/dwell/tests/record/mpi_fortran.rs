//! MPI from Fortran, by each of its three interfaces: each call is recorded once, whichever way it enters the library.

use std::process::Command;

use crate::lab::Lab;
use crate::mpi::{Mpi, lines};
use crate::needs;
use crate::trace::{Trace, said};

#[test]
fn each_call_is_recorded_once() {
    for mpi in Mpi::chosen() {
        let Some(compiler) = mpi.fortran() else { continue };
        if !needs::tools("FORTRAN", &["gfortran"]) {
            return;
        }
        let lab = Lab::bare();
        for interface in ["MPIF_H", "USE_MPI", "USE_MPI_F08"] {
            let source =
                concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/mpi_fortran.F90");
            let program = lab.path(interface);
            let output = Command::new(&compiler)
                .args(["-g", "-w", "-fallow-argument-mismatch"])
                .arg(format!("-D{interface}"))
                .arg(source)
                .arg("-o")
                .arg(&program)
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let plain = mpi.run(&lab, 2, &[program.as_os_str()]);
            let measured = mpi.measured(&lab, 2, &[program.as_os_str()]);
            assert_eq!(plain.code, Some(0), "{mpi:?} {plain:?}");
            assert_eq!(lines(&plain.stdout), lines(&measured.stdout), "{mpi:?} {interface}");
            assert_eq!(plain.code, measured.code);
            lab.accepted_by_otf2_print(&lab.experiment());
            let (counted, told) = (Trace::read(&lab.experiment()).counts, said(&measured.stdout));
            assert_eq!(counted, told, "{mpi:?} {interface}");
        }
    }
}
