//! Programs that start MPI late, from a library, with another tool, or never.

use std::ffi::OsStr;
use std::process::Command;

use crate::faults::{alone, messages};
use crate::lab::Lab;
use crate::mpi::{Mpi, lines};
use crate::needs;
use crate::trace::Trace;

#[test]
fn late_from_a_library_and_with_another_tool() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let folder = lab.path("");
        let tool = mpi.compile(&lab, "tests/programs/mpi_tool.c", &["-shared", "-fPIC"]);
        std::fs::rename(tool, lab.path("libmpi_tool.so")).unwrap();
        let search = format!("-L{}", folder.display());
        let options = [search.as_str(), "-lmpi_tool", "-Wl,-rpath,$ORIGIN"];
        let program = mpi.compile(&lab, "tests/programs/mpi_start.c", &options);
        let plain = mpi.run(&lab, 2, &[program.as_os_str()]);
        let measured = mpi.measured(&lab, 2, &[program.as_os_str()]);
        assert_eq!(plain.code, Some(0), "{mpi:?} {plain:?}");
        assert_eq!(measured.code, Some(0), "{mpi:?} {measured:?}");
        assert_eq!(lines(&plain.stdout), lines(&measured.stdout), "{mpi:?}");
        assert!(plain.stdout.contains("rank 0: 10 sends, 1 barriers, 1 of its own"), "{plain:?}");
        assert_eq!(messages(&measured).len(), 1, "{measured:?}");
        lab.accepted_by_otf2_print(&lab.experiment());
        let trace = Trace::read(&lab.experiment());
        let calls =
            |function: &str| trace.counts.get(&(0, function.into())).map_or(0, |it| it.calls);
        let counted = ["MPI_Init", "MPI_Send", "MPI_Barrier", "MPI_Finalize"].map(calls);
        assert_eq!(counted, [1, 10, 1, 1], "{mpi:?}: each once, whoever else looks");
        assert_eq!(calls("MPI_Allreduce"), 0, "{mpi:?}: the tool's own");

        let run = alone(&lab, &[program.as_os_str(), OsStr::new("never")]);
        assert_eq!(run.code, Some(3), "{mpi:?} {run:?}");
        let said = messages(&run);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("no call of a known runtime was seen"), "{said:?}");
    }
}

#[test]
fn a_program_that_asks_whether_mpi_is_there() {
    if !needs::tools("CC", &["cc"]) {
        return;
    }
    let lab = Lab::bare();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/mpi_probe.c");
    let program = lab.path("probe");
    for kind in [["-fPIE", "-pie"], ["-fno-pie", "-no-pie"]] {
        let mut compiler = Command::new("cc");
        compiler.args(kind).args(["-O2", source, "-o"]).arg(&program);
        assert!(compiler.status().unwrap().success());
        let run = alone(&lab, &[program.as_os_str()]);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert_eq!(run.stdout, "MPI: absent\nno MPI to ask\n", "{kind:?}");
    }
}
