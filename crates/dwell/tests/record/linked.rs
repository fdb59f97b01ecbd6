//! Programs that are linked in a way that a preloaded library can disturb: with the shared runtime of
//! AddressSanitizer, which insists on being loaded first, and with musl, which cannot load a library that was
//! built for glibc. They run as they do without Dwell, and are recorded or told why not.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::faults::messages;
use crate::lab::{Lab, Run};
use crate::mpi::{Mpi, lines};
use crate::needs;
use crate::trace::Trace;

/// Runs `command` on two ranks without and with Dwell, with this `ASAN_OPTIONS`, and checks that only the line of Dwell
/// differs.
fn sanitized(mpi: &Mpi, lab: &Lab, options: &str, command: &[&OsStr]) -> (Run, Run) {
    let variable = OsString::from(format!("ASAN_OPTIONS={options}"));
    let before = [OsStr::new("env"), variable.as_os_str()];
    let plain = mpi.run(lab, 2, &[&before, command].concat());
    let measured = mpi.measured_with(lab, 2, &[&variable], command);
    assert_eq!(plain.code, measured.code, "{mpi:?}: {plain:?} {measured:?}");
    // Of a run in which one process fails, the launcher ends the others before or after they have printed.
    if plain.code == Some(0) {
        assert_eq!(lines(&plain.stdout), lines(&measured.stdout), "{mpi:?}: {measured:?}");
    }
    (plain, measured)
}

/// Returns the number of calls in the experiment of a lab.
fn calls(lab: &Lab) -> u64 {
    Trace::read(&lab.experiment()).counts.values().map(|count| count.calls).sum()
}

/// Writes a script that runs these commands.
fn script(lab: &Lab, commands: &str) -> PathBuf {
    let script = lab.path("job.sh");
    fs::write(&script, format!("#!/bin/sh\n{commands}\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    script
}

fn compile_sanitized(mpi: &Mpi, lab: &Lab) -> PathBuf {
    let program = mpi.compile(lab, "tests/programs/mpi_sanitized.c", &["-fsanitize=address"]);
    let needed = Command::new("readelf").arg("-d").arg(&program).output().unwrap();
    let needed = String::from_utf8(needed.stdout).unwrap();
    assert!(needed.contains("libasan.so"), "gcc links the shared runtime: {needed}");
    program
}

#[test]
fn a_program_with_address_sanitizer_is_recorded() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = compile_sanitized(&mpi, &lab);
        let (plain, measured) =
            sanitized(&mpi, &lab, "detect_leaks=0:exitcode=9", &[program.as_os_str()]);
        assert_eq!(plain.code, Some(0), "{plain:?}");
        assert_eq!(messages(&measured).len(), 1, "{measured:?}");
        assert!(calls(&lab) >= 8, "init, send and receive, barrier, finalise of two");
        lab.accepted_by_otf2_print(&lab.experiment());
    }
}

/// Options that are set already stay in force: the exit code is the one that they demand.
#[test]
fn address_sanitizer_still_finds_errors_in_a_measured_program() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = compile_sanitized(&mpi, &lab);
        let command = [program.as_os_str(), OsStr::new("overflow")];
        let (plain, measured) = sanitized(&mpi, &lab, "detect_leaks=0:exitcode=9", &command);
        assert_eq!(plain.code, Some(9), "{plain:?}");
        for run in [&plain, &measured] {
            assert!(run.stderr.contains("heap-buffer-overflow"), "{run:?}");
        }
    }
}

/// Leaks are reported at exit and change the exit code, so the recorder must not add any. MPICH leaks the same each
/// time; the leaks of Open MPI depend on the length of names that it creates.
#[test]
fn the_recorder_leaks_nothing_that_address_sanitizer_would_report() {
    let Some(mpi) = Mpi::named("mpicc.mpich") else { return };
    let lab = Lab::bare();
    let program = compile_sanitized(&mpi, &lab);
    let (plain, measured) = sanitized(&mpi, &lab, "exitcode=0", &[program.as_os_str()]);
    let leaks = |run: &Run| -> Vec<String> {
        let sums = run.stderr.lines().filter(|line| line.starts_with("SUMMARY: Addr"));
        sums.map(str::to_owned).collect()
    };
    assert_eq!(leaks(&plain).len(), 2, "both ranks report leaks of their library: {plain:?}");
    assert_eq!(leaks(&plain), leaks(&measured), "{}", measured.stderr);
}

/// `dwell run` sees only a script, and starts it so that its children can be recorded.
#[test]
fn a_script_that_starts_a_program_with_address_sanitizer() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = compile_sanitized(&mpi, &lab);
        let script = script(&lab, &format!("{}\nexit $?", program.display()));
        let (plain, _) = sanitized(&mpi, &lab, "detect_leaks=0", &[script.as_os_str()]);
        assert_eq!(plain.code, Some(0), "{plain:?}");
        assert!(calls(&lab) >= 8);
    }
}

/// A wrapper that replaces or clears `LD_PRELOAD` and then becomes the program: it is recorded all the same.
#[test]
fn a_wrapper_that_replaces_the_preloaded_library_is_followed() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/mpi_ring.c", &[]);
        for wrapper in [&["env", "LD_PRELOAD=libm.so.6"][..], &["env", "-u", "LD_PRELOAD"]] {
            let wrapper: Vec<&OsStr> = wrapper.iter().map(OsStr::new).collect();
            let command = [&wrapper[..], &[program.as_os_str()]].concat();
            let plain = mpi.run(&lab, 2, &command);
            let measured = mpi.measured(&lab, 2, &command);
            assert_eq!(plain.code, Some(0), "{plain:?}");
            assert_eq!(plain.code, measured.code, "{measured:?}");
            assert_eq!(lines(&plain.stdout), lines(&measured.stdout), "{measured:?}");
            assert!(calls(&lab) >= 4, "{measured:?}");
        }
    }
}

/// Compiles a program for musl, if there is a compiler for it.
fn musl(lab: &Lab) -> Option<PathBuf> {
    if !needs::tools("MUSL", &["musl-gcc"]) {
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/hello_musl.c");
    let program = lab.path("hello_musl");
    let mut gcc = Command::new("musl-gcc");
    assert!(gcc.arg("-O2").arg(source).arg("-o").arg(&program).status().unwrap().success());
    Some(program)
}

/// Runs a command with `dwell run` and without, and checks that output and exit code are the same.
fn both_alone(lab: &Lab, command: &Path) -> Run {
    let plain = Command::new(command).output().unwrap();
    let run = crate::faults::alone(lab, &[command.as_os_str()]);
    assert_eq!(plain.status.code(), Some(3), "{plain:?}");
    assert_eq!(run.stdout.as_bytes(), plain.stdout, "{run:?}");
    assert_eq!(run.code, plain.status.code(), "{run:?}");
    run
}

#[test]
fn a_musl_program_runs_without_recording() {
    let lab = Lab::bare();
    let Some(program) = musl(&lab) else { return };
    let run = both_alone(&lab, &program);
    let said = messages(&run);
    assert_eq!(said.len(), 1, "{run:?}");
    assert!(said[0].contains("musl") && said[0].contains("not recorded"), "{said:?}");
    assert_eq!(run.stderr.lines().count(), 1, "nobody else complains: {run:?}");
    let doctor = lab.dwell(&[OsStr::new("doctor"), program.as_os_str()]);
    let text = String::from_utf8(doctor.stdout).unwrap();
    assert!(text.contains("uses the C library musl"), "{text}");
}

#[test]
fn a_script_that_starts_a_musl_program() {
    let lab = Lab::bare();
    let Some(program) = musl(&lab) else { return };
    let script = script(&lab, &format!("{}\nexit $?", program.display()));
    let run = both_alone(&lab, &script);
    let said = messages(&run);
    assert_eq!(run.stderr.lines().count(), said.len(), "nobody else complains: {run:?}");
}
