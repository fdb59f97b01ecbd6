//! The behaviour of programs is unchanged.

use std::ffi::OsStr;
use std::process::Command;

use crate::lab::Lab;
use crate::needs;

/// Runs a program without and with Dwell and compares the output, line by line but in any order, because lines of
/// different PEs come in any order.
fn unchanged(lab: &Lab, pes: u32, command: &[&OsStr]) {
    let (plain, measured) = lab.both(pes, &[], command);
    let lines = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(lines(&plain.stdout), lines(&measured.stdout), "{measured:?}");
    assert_eq!(plain.code, measured.code, "{measured:?}");
    assert_eq!(plain.code, Some(0), "{plain:?}");
    let said: Vec<&str> = measured.stderr.lines().filter(|l| l.starts_with("dwell:")).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("Next: dwell analyze"), "{said:?}");
    lab.accepted_by_otf2_print(&lab.experiment());
}

#[test]
fn heat() {
    let Some(lab) = Lab::open() else { return };
    let heat = lab.compile("examples/heat/heat.c", &[]);
    unchanged(&lab, 2, &[heat.as_os_str(), OsStr::new("64"), OsStr::new("20")]);
    unchanged(&lab, 4, &[heat.as_os_str(), OsStr::new("64"), OsStr::new("20")]);
    lab.accepted_by_vite(&lab.experiment());
}

#[test]
fn fft2d() {
    let Some(lab) = Lab::open() else { return };
    let fft = lab.compile("examples/fft2d/fft2d.c", &[]);
    for way in ["get", "collect"] {
        unchanged(&lab, 2, &[fft.as_os_str(), OsStr::new(way), OsStr::new("64"), OsStr::new("3")]);
    }
}

#[test]
fn every_family_in_c() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/families.c", &[]);
    unchanged(&lab, 2, &[program.as_os_str()]);
    unchanged(&lab, 4, &[program.as_os_str()]);
}

#[test]
fn every_family_in_fortran() {
    let Some(lab) = Lab::open() else { return };
    if !needs::tools("FORTRAN", &["gfortran"]) {
        return;
    }
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/families.f90");
    let program = lab.path("families_f");
    let link = Command::new("oshcc").arg("--showme:link").output().unwrap();
    let link = String::from_utf8(link.stdout).unwrap();
    let output = Command::new("gfortran")
        .args(["-O2", "-g", "-J"])
        .arg(lab.path(""))
        .arg(source)
        .arg("-o")
        .arg(&program)
        .args(link.split_whitespace())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    unchanged(&lab, 2, &[program.as_os_str()]);
}

/// The runtime is loaded by `dlopen`. `DWELL_SHMEM4PY` names a Python that has shmem4py.
#[test]
fn python() {
    let Some(lab) = Lab::open() else { return };
    let Some(python) = std::env::var_os("DWELL_SHMEM4PY") else {
        return needs::missing("SHMEM4PY", "DWELL_SHMEM4PY names no Python");
    };
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/shmem4py_ring.py");
    unchanged(&lab, 2, &[python.as_os_str(), OsStr::new(program)]);
}
