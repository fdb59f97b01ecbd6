//! Coarrays by source: programs that `dwell build` instrumented, compiled by gfortran and run on OpenCoarrays.
//!
//! The calls of OpenCoarrays are recorded at the same time, as another layer, so what was recorded by source is held
//! against what was recorded by preload in the same run.
//!
//! Needs the same as the tests of coarrays by preload, and `cc` and `ld`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dwell_model::layer::Layer;
use otf2::Event;
use otf2::id::RmaWinRef;

use crate::caf::open;
use crate::lab::Lab;
use crate::mpi::{Mpi, lines};
use crate::trace::Trace;
use crate::trial::{Program, Trials};

/// Runs `dwell build` in the folder of the lab.
fn dwell_compile(lab: &Lab, arguments: &[&str]) -> Output {
    let mut dwell = Command::new(env!("CARGO_BIN_EXE_dwell"));
    dwell.args(["build", "--"]).args(arguments).current_dir(lab.path(""));
    dwell.env("XDG_CACHE_HOME", lab.path("cache")).output().unwrap()
}

pub(crate) fn succeeded(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

/// Compiles a source as it is and instrumented. Returns both programs, and what `dwell build` said.
fn both(lab: &Lab, source: &Path, name: &str) -> (PathBuf, PathBuf, String) {
    let end = name.rsplit('.').next().unwrap();
    let copy = lab.path(name);
    fs::copy(source, &copy).unwrap();
    let base = name.replace('.', "_");
    let (plain, traced) = (lab.path(&base), lab.path(&format!("{base}_traced")));
    let mut gfortran = Command::new("gfortran");
    gfortran
        .args(["-g", "-O1", "-fcoarray=lib"])
        .arg(&copy)
        .arg("-o")
        .arg(&plain)
        .arg("-lcaf_openmpi");
    succeeded(&gfortran.output().unwrap());
    let object = format!("{base}.o");
    let said = succeeded(&dwell_compile(
        lab,
        &["gfortran", "-g", "-O1", "-fcoarray=lib", "-c", name, "-o", &object],
    ));
    let mut link = Command::new("gfortran");
    link.arg(lab.path(&object)).arg("-o").arg(&traced).arg("-lcaf_openmpi");
    succeeded(&link.output().unwrap());
    assert!(matches!(end, "f" | "f90"));
    (plain, traced, said)
}

/// Gets, puts and atomic operations of a layer, counted by process, kind and partner, with their bytes.
pub(crate) fn operations(
    trace: &Trace,
    layer: Layer,
) -> BTreeMap<(u64, &'static str, u32), (u64, u64)> {
    let definitions = &trace.definitions;
    let is_of = |win: RmaWinRef| {
        let win = definitions.rma_win(win).unwrap();
        definitions.string(win.name).unwrap().to_string().starts_with(layer.title())
    };
    let mut all = BTreeMap::new();
    for (location, process) in trace.locations() {
        let mut reader = trace.archive.events(location).unwrap();
        while let Some(record) = reader.next().unwrap() {
            let (win, what, remote, bytes) = match record.event {
                Event::RmaGet(it) => (it.win, "get", it.remote, it.bytes),
                Event::RmaPut(it) => (it.win, "put", it.remote, it.bytes),
                Event::RmaAtomic(it) => {
                    (it.win, "atomic", it.remote, it.bytes_sent + it.bytes_received)
                }
                _ => continue,
            };
            if is_of(win) {
                let sum: &mut (u64, u64) = all.entry((process, what, remote.0)).or_default();
                *sum = (sum.0 + 1, sum.1 + bytes);
            }
        }
    }
    all
}

/// Returns the number of images that a program needs.
fn images(name: &str) -> u32 {
    if name.starts_with("teams") { 4 } else { 2 }
}

/// Runs an instrumented program under Dwell, and compares what both layers recorded.
fn same_by_source_and_preload(mpi: &Mpi, lab: &Lab, name: &str, program: &Path, sizes: bool) {
    let run = mpi.measured(lab, images(name), &[program.as_os_str()]);
    assert_eq!(run.code, Some(0), "{name}: {run:?}");
    let trace = Trace::read(&lab.experiment());
    let (source, preload) = (operations(&trace, Layer::Coarray), operations(&trace, Layer::Caf));
    if sizes {
        assert_eq!(source, preload, "{name}");
    } else {
        let counts =
            |of: &BTreeMap<_, (u64, u64)>| -> Vec<u64> { of.values().map(|it| it.0).collect() };
        assert!(source.keys().eq(preload.keys()), "{name}: {source:?} {preload:?}");
        assert_eq!(counts(&source), counts(&preload), "{name}");
    }
    assert!(!source.is_empty(), "{name}");
    lab.accepted_by_otf2_print(&lab.experiment());
}

/// Programs with each construct: the same output without calls, with calls, and recorded; the same operations by source and
/// by preload.
#[test]
fn every_construct_does_the_same_and_is_recorded_alike() {
    constructs(|name| !name.ends_with("_fixed.f"));
}

/// The same in fixed form, whose calls the tests of `dwell-fortran` compare with those of the free form.
#[test]
#[ignore = "slow: cargo xtask proofs"]
fn every_construct_in_fixed_form_is_recorded_alike() {
    constructs(|name| name.ends_with("_fixed.f"));
}

fn constructs(wanted: impl Fn(&str) -> bool) {
    let Some((mpi, lab)) = open() else { return };
    let folder = Lab::repository().join("tests/programs/coarrays");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 12);
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let mut names = vec![name.clone()];
        if !matches!(&*name, "fixed.f" | "free.f90") {
            names.push(name.replace(".f90", "_fixed.f"));
        }
        for name in names.into_iter().filter(|it| wanted(it)) {
            let (plain, traced, said) = both(&lab, &file, &name);
            let plain = mpi.run(&lab, images(&name), &[plain.as_os_str()]);
            assert_eq!(plain.code, Some(0), "{name}: {plain:?}");
            let off = mpi.run(&lab, images(&name), &[traced.as_os_str()]);
            assert_eq!((off.code, lines(&off.stdout)), (Some(0), lines(&plain.stdout)), "{name}");
            assert!(said.contains(" 0 unchanged"), "{said}");
            // Only the other image knows how large a part of a part is.
            let sizes = !name.starts_with("components");
            same_by_source_and_preload(&mpi, &lab, &name, &traced, sizes);
        }
    }
}

/// Modes of `caf_delays.F90` in which an image waits.
pub(crate) const MODES: [&str; 7] =
    ["sync_all", "sync_images", "event", "lock", "broadcast", "total", "get"];

/// Checks the waits of these modes at calls whose names begin with a prefix.
pub(crate) fn hold_delays(trials: &Trials, prefix: &str) {
    for (mode, wait, call) in [
        ("sync_all", "barrier_wait", "sync_all"),
        ("sync_images", "late_partner", "sync_images"),
        ("event", "late_signal", "event_wait"),
        ("lock", "lock_contention", "lock"),
        ("broadcast", "late_broadcast", "co_broadcast"),
        ("total", "nxn_wait", "co_sum"),
    ] {
        trials.find(mode, wait, &format!("{prefix}{call}"), "Image 1");
    }
    trials.at_once("get", "wait_for_progress", &format!("{prefix}get"));
}

/// Waits of known length are found at the statements of the source, as long as they were, and not without a delay.
#[test]
fn waits_are_found_at_statements() {
    let Some((mpi, lab)) = open() else { return };
    let path = delays(&lab);
    let run = |words: &[&OsStr]| mpi.measured(&lab, 2, &[&[path.as_os_str()], words].concat());
    let source = include_str!("../../../../tests/programs/caf_delays.F90");
    let program = Program { lab: &lab, source, waiter: "Image 2", run: &run };
    let trials = program.trials(&MODES);
    hold_delays(&trials, "coarray_");
}

/// An image that computes makes no progress for remote reads of others.
#[test]
fn a_remote_read_waits_for_progress() {
    let Some((mpi, lab)) = open() else { return };
    let mpi = mpi.with(&["-mca", "osc", "pt2pt"]);
    let path = delays(&lab);
    let run = |words: &[&OsStr]| mpi.measured(&lab, 2, &[&[path.as_os_str()], words].concat());
    let source = include_str!("../../../../tests/programs/caf_delays.F90");
    let program = Program { lab: &lab, source, waiter: "Image 2", run: &run };
    let trials = program.trials(&["get"]);
    trials.find("get", "wait_for_progress", "coarray_get", "Image 1");
}

/// Compiles and links the program with waits in one command.
fn delays(lab: &Lab) -> PathBuf {
    for name in ["caf_delays.F90", "caf_delays.c", "delays.h"] {
        fs::copy(Lab::repository().join("tests/programs").join(name), lab.path(name)).unwrap();
    }
    let arguments = [
        "gfortran",
        "-g",
        "-O1",
        "-fcoarray=lib",
        "-fno-inline",
        "-ffree-line-length-none",
        "caf_delays.F90",
        "caf_delays.c",
        "-o",
        "caf_delays",
        "-lcaf_openmpi",
    ];
    succeeded(&dwell_compile(lab, &arguments));
    lab.path("caf_delays")
}

/// A source that the compiler rejects with calls compiles all the same: statements that it complains about are left
/// unchanged, and an error of the program is reported as without Dwell.
#[test]
fn a_build_that_works_without_dwell_works_with_it() {
    let Some((_, lab)) = open() else { return };
    let source = "module m\n  type t\n    integer :: i\n  contains\n    procedure :: f\n  end type\ncontains\n  \
                  subroutine f(this)\n    class(t) :: this\n  end subroutine\nend module\nprogram p\n  use m\n  \
                  type(t), save :: x[*]\n  type(t) :: y\n  integer, save :: a[*]\n  sync all\n  y = x[1]\n  a = a[1]\n\
                  end program\n";
    fs::write(lab.path("p.f90"), source).unwrap();
    let output = dwell_compile(&lab, &["gfortran", "-fcoarray=lib", "-c", "p.f90"]);
    let text = succeeded(&output);
    assert!(text.contains("3 statements with coarrays, 2 separated"), "{text}");
    assert!(text.contains("p.f90:18: unchanged: the compiler does not accept"), "{text}");

    fs::write(lab.path("bad.f90"), "program p\ninteger :: a[*]\na = a[1] +\nend program\n")
        .unwrap();
    let plain = Command::new("gfortran")
        .args(["-fcoarray=lib", "-c", "bad.f90"])
        .current_dir(lab.path(""))
        .output();
    let (plain, output) =
        (plain.unwrap(), dwell_compile(&lab, &["gfortran", "-fcoarray=lib", "-c", "bad.f90"]));
    assert_eq!((output.status.code(), output.stderr), (plain.status.code(), plain.stderr));
}

/// Files that a source includes are instrumented as well, and messages name the lines of the source.
#[test]
fn included_files_are_followed() {
    let Some((_, lab)) = open() else { return };
    fs::create_dir(lab.path("inc")).unwrap();
    fs::write(lab.path("inc/body.inc"), "      a = a[1]\n      sync all\n").unwrap();
    let source = "      program p\n      integer, save :: a[*]\n      sync all\n      include 'body.inc'\n      b = a\n      end\n";
    fs::write(lab.path("p.f"), source).unwrap();
    let text = succeeded(&dwell_compile(
        &lab,
        &["gfortran", "-Wconversion", "-Iinc", "-fcoarray=lib", "-c", "p.f"],
    ));
    assert!(text.contains("3 statements with coarrays, 3 separated"), "{text}");
    let wrong = source.replace("b = a", "b = 'text'");
    fs::write(lab.path("p.f"), wrong).unwrap();
    let output = dwell_compile(&lab, &["gfortran", "-Iinc", "-fcoarray=lib", "-c", "p.f"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("p.f:5:"), "{text}");
}

/// `dwell build sources` writes files that compile by hand, and the C file that they need.
#[test]
fn instrumented_files_are_compiled_by_hand() {
    let Some((mpi, lab)) = open() else { return };
    let source = Lab::repository().join("tests/programs/coarrays/assignments.f90");
    let folder = lab.path("traced");
    let words: [&OsStr; 5] = [
        "build".as_ref(),
        "sources".as_ref(),
        source.as_os_str(),
        "-o".as_ref(),
        folder.as_os_str(),
    ];
    succeeded(&lab.dwell(&words));
    let c = folder.join("dwell_coarray.c");
    let object: OsString = folder.join("dwell_coarray.o").into();
    succeeded(
        &Command::new("cc")
            .args(["-O2", "-fPIC", "-c"])
            .arg(c)
            .arg("-o")
            .arg(&object)
            .output()
            .unwrap(),
    );
    let mut gfortran = Command::new("gfortran");
    gfortran.arg("-fcoarray=lib").arg(folder.join("assignments.f90")).arg(object);
    let program = lab.path("assignments");
    succeeded(&gfortran.arg("-lcaf_openmpi").arg("-o").arg(&program).output().unwrap());
    same_by_source_and_preload(&mpi, &lab, "assignments", &program, true);
}

/// The halo benchmark of Co-Array Fortran with four ways to synchronise: what each image does follows from the source. On
/// a grid of two by two images, its neighbours are one image above or below and one beside it, and it reads n and 2n
/// elements from each, for n from 2 to 1,024.
#[test]
fn a_halo_is_recorded_as_its_source_says() {
    let Some((mpi, lab)) = open() else { return };
    let source = Lab::repository().join("examples/halo/halo.f90");
    let (_, program, said) = both(&lab, &source, "halo.f90");
    assert!(said.contains("12 statements with coarrays, 12 separated"), "{said}");
    let run = mpi.measured(&lab, 4, &[program.as_os_str(), OsStr::new("1")]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let trace = Trace::read(&lab.experiment());
    let (ways, rounds, sizes) = (4, 1, (1..=10).map(|power| 1_u64 << power));
    let exchanges = rounds * sizes.clone().count() as u64;
    let each = (2 * ways * exchanges, ways * rounds * sizes.map(|n| 3 * n * 8).sum::<u64>());
    let neighbours = |image: u64| [(image ^ 1) as u32, (image ^ 2) as u32];
    let expected: BTreeMap<_, _> = (0..4)
        .flat_map(|image| neighbours(image).map(|other| ((image, "get", other), each)))
        .collect();
    assert_eq!(operations(&trace, Layer::Coarray), expected);
    assert_eq!(operations(&trace, Layer::Caf), expected);
    for image in 0..4 {
        let calls = |name: &str| {
            trace.counts.get(&(image, format!("coarray_{name}"))).map_or(0, |it| it.calls)
        };
        assert_eq!(calls("get"), 4 * ways * exchanges);
        // One at the beginning, and one behind each way.
        assert_eq!(calls("sync_all"), 4 * exchanges + 1 + ways);
        assert_eq!(calls("sync_images"), 2 * 4 * exchanges);
        assert_eq!((calls("event_post"), calls("event_wait")), (8 * exchanges, 4 * exchanges));
        assert_eq!(calls("co_sum"), 1);
    }
}
