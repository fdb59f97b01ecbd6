//! `dwell build` inside builds: Makefiles, and CMake with Makefiles and with Ninja.
//!
//! Needs the same as the tests of coarrays by source, and `make`, `cmake` and `ninja`.

use std::fs;
use std::path::Path;
use std::process::Command;

use dwell_model::layer::Layer;

use crate::caf::open;
use crate::coarray::{operations, succeeded};
use crate::lab::Lab;
use crate::mpi::Mpi;
use crate::needs;
use crate::trace::Trace;

/// A module, a program that uses it, and a file that it includes; one of them needs the preprocessor.
const FILES: &[(&str, &str)] = &[
    (
        "ring.F90",
        "#define NEXT(i) modulo(i, num_images()) + 1\n\
         module ring\n  implicit none\n  integer, save :: cell(4)[*]\ncontains\n  integer function neighbour()\n    \
         neighbour = NEXT(this_image())\n  end function\nend module\n",
    ),
    ("step.inc", "  sync all\n  value = cell(2)[neighbour()]\n"),
    (
        "main.f90",
        "program main\n  use ring\n  implicit none\n  integer :: value\n  cell = this_image()\n  include 'step.inc'\n  \
         cell(1)[neighbour()] = value\n  sync all\n  if (this_image() == 1) print *, value, cell(1)\nend program\n",
    ),
    (
        "Makefile",
        "FC = gfortran\nFFLAGS = -g -fcoarray=lib\nring_make: ring.o main.o\n\t$(FC) -o $@ $^ -lcaf_openmpi\n\
         %.o: %.F90\n\t$(FC) $(FFLAGS) -c $<\n%.o: %.f90\n\t$(FC) $(FFLAGS) -c $<\nmain.o: ring.o step.inc\n",
    ),
    (
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.18)\nproject(ring Fortran)\nadd_executable(ring_cmake main.f90 ring.F90)\n\
         target_compile_options(ring_cmake PRIVATE -g -fcoarray=lib)\ntarget_link_libraries(ring_cmake caf_openmpi)\n",
    ),
];

/// Runs a tool of a build, with the cache of Dwell inside the lab.
fn run(lab: &Lab, folder: &Path, words: &[&str]) -> String {
    let (program, arguments) = words.split_first().unwrap();
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env("XDG_CACHE_HOME", lab.path("cache"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    said + &succeeded(&output)
}

/// Checks that a program was built with calls: what it does is recorded by source as by preload.
fn is_instrumented(mpi: &Mpi, lab: &Lab, program: &Path) {
    let plain = mpi.run(lab, 3, &[program.as_os_str()]);
    assert_eq!(plain.code, Some(0), "{plain:?}");
    let run = mpi.measured(lab, 3, &[program.as_os_str()]);
    assert_eq!((run.code, &run.stdout), (Some(0), &plain.stdout), "{run:?}");
    let trace = Trace::read(&lab.experiment());
    let source = operations(&trace, Layer::Coarray);
    assert_eq!(source, operations(&trace, Layer::Caf));
    // Each image reads from one other image and writes to one.
    assert_eq!(source.len(), 6, "{source:?}");
}

fn write(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for (name, text) in FILES {
        fs::write(folder.join(name), text).unwrap();
    }
}

#[test]
fn a_makefile_with_dwell_in_front_of_the_compiler() {
    let Some((mpi, lab)) = open() else { return };
    let folder = lab.path("make");
    write(&folder);
    let compiler = format!("FC={} build -- gfortran", env!("CARGO_BIN_EXE_dwell"));
    let said = run(&lab, &folder, &["make", &compiler]);
    assert!(said.contains("main.f90: 4 statements with coarrays, 4 separated"), "{said}");
    is_instrumented(&mpi, &lab, &folder.join("ring_make"));
    // Nothing is compiled again, and everything after a change of what is included.
    let said = run(&lab, &folder, &["make", &compiler]);
    assert!(said.contains("up to date"), "{said}");
}

#[test]
fn cmake_with_makefiles_and_with_ninja() {
    let Some((mpi, lab)) = open() else { return };
    if !needs::tools("CAF", &["cmake", "ninja"]) {
        return;
    }
    let folder = lab.path("cmake");
    write(&folder);
    let launcher =
        format!("-DCMAKE_Fortran_COMPILER_LAUNCHER={};build;--", env!("CARGO_BIN_EXE_dwell"));
    for generator in ["Unix Makefiles", "Ninja"] {
        let build = generator.replace(' ', "");
        let configure = [
            "cmake",
            "-G",
            generator,
            "-B",
            &build,
            "-DCMAKE_Fortran_COMPILER=gfortran",
            &launcher,
        ];
        run(&lab, &folder, &configure);
        let said = run(&lab, &folder, &["cmake", "--build", &build]);
        assert!(said.contains("4 statements with coarrays, 4 separated"), "{generator}: {said}");
        is_instrumented(&mpi, &lab, &folder.join(&build).join("ring_cmake"));
        // The build knows what each object depends on: the sources, not their copies.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        fs::write(folder.join("ring.F90"), FILES[0].1.replace("cell(4)", "cell(5)")).unwrap();
        let said = run(&lab, &folder, &["cmake", "--build", &build]);
        assert!(said.contains("ring"), "{generator}: {said}");
        write(&folder);
    }
}
