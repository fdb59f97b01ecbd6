//! Whatever goes wrong in the recorder, the program continues, and one message says what happened.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::{Lab, Run};
use crate::needs;
use crate::trace::Trace;

/// Compiles the program with many modes that are difficult for a recorder.
fn faults(lab: &Lab) -> PathBuf {
    let source = |name: &str| format!("{}/../../tests/programs/{name}", env!("CARGO_MANIFEST_DIR"));
    let words = |what: &str| {
        let output = Command::new("oshcc").arg(what).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let compile = |arguments: &[&str]| {
        let output = Command::new("g++").args(["-O2", "-g"]).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let library = lab.path("libthrow.so");
    compile(&[
        "-shared",
        "-fPIC",
        "-o",
        library.to_str().unwrap(),
        &source("libthrow.cpp"),
        "-ldl",
    ]);
    let program = lab.path("faults");
    let (flags, link) = (words("--showme:compile"), words("--showme:link"));
    let source = source("faults.cpp");
    let search = format!("-L{}", lab.path("").display());
    let mut arguments = vec!["-pthread"];
    arguments.extend(flags.split_whitespace());
    arguments.extend(["-o", program.to_str().unwrap(), &source, &search, "-lthrow"]);
    arguments.extend(["-Wl,-rpath,$ORIGIN"]);
    arguments.extend(link.split_whitespace());
    compile(&arguments);
    program
}

/// Returns the messages of Dwell.
pub(crate) fn messages(run: &Run) -> Vec<&str> {
    run.stderr.lines().filter(|line| line.starts_with("dwell:")).collect()
}

/// Runs a mode of that program without and with Dwell.
fn mode(mode: &str) {
    let Some(lab) = Lab::open() else { return };
    let program = faults(&lab);
    let (plain, measured) = lab.both(2, &[], &[program.as_os_str(), OsStr::new(mode)]);
    assert_eq!(plain.code, Some(0), "{plain:?}");
    assert_eq!((plain.code, &plain.stdout), (measured.code, &measured.stdout), "{measured:?}");
    assert_eq!(messages(&measured).len(), 1, "{measured:?}");
    lab.accepted_by_otf2_print(&lab.experiment());
    let trace = Trace::read(&lab.experiment());
    let calls: u64 = trace.counts.values().map(|count| count.calls).sum();
    assert!(calls > 20, "{calls}");
    if mode == "threads" {
        // 200 threads in turn, 8 at a time: their locations are used again.
        let locations = trace.locations().len();
        assert!((2..=2 * 16).contains(&locations), "{locations} locations");
    }
}

#[test]
fn fork_and_exec() {
    mode("fork");
}

#[test]
fn threads_come_and_go() {
    mode("threads");
}

#[test]
fn signals_inside_hooks() {
    mode("signals");
}

#[test]
fn exceptions() {
    mode("exception");
}

#[test]
fn pthread_exit() {
    mode("pthread_exit");
}

#[test]
fn cancellation() {
    mode("cancel");
}

#[test]
fn longjmp() {
    mode("longjmp");
}

#[test]
fn hooks_inside_an_allocator() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/allocator.c", &[]);
    let (plain, measured) = lab.both(2, &[], &[program.as_os_str()]);
    assert_eq!((plain.code, &plain.stdout), (measured.code, &measured.stdout), "{measured:?}");
    lab.accepted_by_otf2_print(&lab.experiment());
}

/// Runs heat, which must not be affected, and returns its output with the messages of Dwell.
fn heat(lab: &Lab, wrapper: &[&OsStr], options: &[&str]) -> Run {
    let heat = lab.compile("examples/heat/heat.c", &[]);
    let [n, steps] = ["64", "6000"].map(OsStr::new);
    let program = [heat.as_os_str(), n, steps];
    let plain = lab.oshrun(2, &[], &program);
    let dwell = [OsStr::new(env!("CARGO_BIN_EXE_dwell")), OsStr::new("run")];
    let options: Vec<&OsStr> = options.iter().map(OsStr::new).collect();
    let command = [wrapper, &dwell, &options, &program].concat();
    let measured = lab.oshrun(2, &[], &command);
    assert_eq!((plain.code, &plain.stdout), (measured.code, &measured.stdout), "{measured:?}");
    measured
}

/// A file system of a megabyte, if this user may mount one.
pub(crate) struct Small(pub(crate) PathBuf);

impl Small {
    pub(crate) fn mount(lab: &Lab, size: &str) -> Option<Self> {
        let path = lab.path("small");
        fs::create_dir(&path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(&path)
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(path));
        }
        needs::missing("RIGHTS", "this user may not mount a file system");
        None
    }

    pub(crate) fn enlarge(&self, size: &str) {
        let option = format!("remount,size={size}");
        let status = Command::new("mount").args(["-o", &option]).arg(&self.0).status();
        assert!(status.unwrap().success());
    }

    /// Checks that an experiment has the calls that were recorded before the file system was full. `said` is the output
    /// of the run.
    pub(crate) fn holds_calls(&self, lab: &Lab, experiment: &Path, said: &str) {
        if said.contains("Next: dwell recover") {
            // There was not even space to complete the archive. That can be done when there is.
            self.enlarge("4m");
            let output = lab.dwell(&[OsStr::new("recover"), experiment.as_os_str()]);
            // One that has no space for its first chunk leaves nothing.
            assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
        }
        lab.accepted_by_otf2_print(experiment);
        let trace = Trace::read(experiment);
        assert!(trace.counts.values().map(|count| count.calls).sum::<u64>() > 1000);
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn disk_full_at_the_start() {
    let Some(lab) = Lab::open() else { return };
    let Some(disk) = Small::mount(&lab, "100k") else { return };
    let run = heat(&lab, &[], &["-o", disk.0.join("x").to_str().unwrap()]);
    let said = messages(&run).join("\n");
    assert!(said.contains("No space left on device"), "{said}");
}

#[test]
fn disk_full_in_the_midst() {
    let Some(lab) = Lab::open() else { return };
    let Some(disk) = Small::mount(&lab, "900k") else { return };
    let experiment = disk.0.join("x");
    let chunk = ["-o", experiment.to_str().unwrap(), "--set", "chunk-size=256K"];
    let run = heat(&lab, &[], &chunk);
    let said = messages(&run).join("\n");
    assert!(said.contains("No space left on device"), "{said}");
    disk.holds_calls(&lab, &experiment, &said);
}

/// Creates a directory with a path of this length, whose components are as long as file systems allow.
fn long_path(lab: &Lab, length: usize) -> PathBuf {
    let mut path = lab.path("long");
    while path.as_os_str().len() < length {
        let left = length - path.as_os_str().len();
        path.push("d".repeat(left.saturating_sub(1).clamp(1, 200)));
    }
    path
}

#[test]
fn long_paths() {
    let Some(lab) = Lab::open() else { return };
    let heat = lab.compile("examples/heat/heat.c", &[]);
    let measured = |experiment: &PathBuf, profile: &str| {
        let dwell = [env!("CARGO_BIN_EXE_dwell"), "run", profile, "-o"].map(OsStr::new);
        let [n, steps] = ["64", "50"].map(OsStr::new);
        let command = [&dwell[..], &[experiment.as_os_str(), heat.as_os_str(), n, steps]].concat();
        lab.oshrun(2, &[], &command)
    };
    // The system allows 4,095 bytes, and files in the directory have names too, the longest before they are complete.
    for length in [1_000, 1_630, 4_000] {
        let experiment = long_path(&lab, length);
        let run = measured(&experiment, "--profile=off");
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(messages(&run).join("\n").contains("Next: dwell analyze"), "{length}: {run:?}");
        assert!(experiment.join("traces/1.evt").exists(), "{length}: {run:?}");
    }
    let run = measured(&long_path(&lab, 1_700), "--profile=on");
    assert!(messages(&run).join("\n").contains("Next: dwell report"), "{run:?}");
    // The directory can be made, and files in it cannot.
    for length in [4_084, 4_200] {
        let run = measured(&long_path(&lab, length), "--profile=off");
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(messages(&run).join("\n").contains("File name too long"), "{length}: {run:?}");
    }
}

#[test]
fn budget() {
    let Some(lab) = Lab::open() else { return };
    let experiment = lab.experiment();
    let options = [
        "-o",
        experiment.to_str().unwrap(),
        "--set",
        "chunk-size=256K",
        "--max-size",
        "260K/process",
    ];
    let run = heat(&lab, &[], &options);
    let said = messages(&run).join("\n");
    assert!(said.contains("recording stopped early: the size given by --max-size"), "{said}");
    lab.accepted_by_otf2_print(&experiment);
    for pe in 0..2 {
        let size = fs::metadata(experiment.join(format!("traces/{pe}.evt"))).unwrap().len();
        assert!(size <= 260 * 1024, "{size}");
    }
    // What was lost and what was recorded is what was called.
    let lost = said.lines().find_map(|line| line.strip_suffix(" calls are lost"));
    let lost: u64 = lost.unwrap().trim_start_matches("dwell: ").parse().unwrap();
    let kept: u64 = Trace::read(&experiment).counts.values().map(|count| count.calls).sum();
    let whole = lab.path("whole");
    heat(&lab, &[], &["-o", whole.to_str().unwrap()]);
    let all: u64 = Trace::read(&whole).counts.values().map(|count| count.calls).sum();
    assert_eq!(lost + kept, all);
    let info = lab.dwell(&[OsStr::new("info"), experiment.as_os_str()]);
    let info = String::from_utf8_lossy(&info.stdout).into_owned();
    assert!(info.contains("DWELL::LOST") && info.contains(&format!("{lost} calls")), "{info}");
    let analysis =
        lab.dwell(&[OsStr::new("analyze"), OsStr::new("--full"), experiment.as_os_str()]);
    assert_eq!(analysis.status.code(), Some(0), "{analysis:?}");
    let analysis = String::from_utf8_lossy(&analysis.stdout).into_owned();
    assert!(analysis.contains("2 of 2 processes were cut off"), "{analysis}");
    assert!(analysis.contains(&format!("{lost} calls are lost: ")), "{analysis}");
}

#[test]
fn directory_that_cannot_be_made() {
    let Some(lab) = Lab::open() else { return };
    let file = lab.path("file");
    fs::write(&file, "").unwrap();
    let run = heat(&lab, &[], &["-o", file.join("x").to_str().unwrap()]);
    let said = messages(&run);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("nothing is recorded") && said[0].contains("file/x"), "{said:?}");
}

#[test]
fn directory_with_something_in_it() {
    let Some(lab) = Lab::open() else { return };
    let run = heat(&lab, &[], &["--next", "-o", "."]);
    let said = messages(&run);
    assert_eq!(said.len(), 1, "{said:?}");
    let beside = lab.path(".").canonicalize().unwrap();
    let beside = beside.with_file_name(format!("{}-2", beside.file_name().unwrap().display()));
    assert!(beside.join("traces.otf2").is_file(), "{said:?}");
    fs::remove_dir_all(beside).unwrap();
}

/// Writes a script that lowers a limit and then starts its arguments.
pub(crate) fn limited(lab: &Lab, limit: &str) -> PathBuf {
    let script = lab.path("limited.sh");
    fs::write(&script, format!("#!/bin/bash\nulimit {limit}\nexec \"$@\"\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    script
}

#[test]
fn few_descriptors() {
    let Some(lab) = Lab::open() else { return };
    let script = limited(&lab, "-n 64");
    let experiment = lab.experiment();
    let run = heat(&lab, &[script.as_os_str()], &["-o", experiment.to_str().unwrap()]);
    assert_eq!(messages(&run).len(), 1, "{run:?}");
    lab.accepted_by_otf2_print(&experiment);
}

#[test]
fn scripts_and_their_helpers() {
    let Some(lab) = Lab::open() else { return };
    let heat = lab.compile("examples/heat/heat.c", &[]);
    let script = lab.path("job.sh");
    let text =
        format!("#!/bin/bash\nls / > /dev/null\n{} 64 10 | tee /dev/null | cat\n", heat.display());
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let (plain, measured) = lab.both(2, &[], &[script.as_os_str()]);
    assert_eq!((plain.code, &plain.stdout), (measured.code, &measured.stdout), "{measured:?}");
    let said = messages(&measured);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("calls of 2 processes"), "{said:?}");
    let trace = Trace::read(&lab.experiment());
    assert_eq!(trace.locations().len(), 2);
}

/// Runs a program with `dwell run` and without a launcher.
pub(crate) fn alone(lab: &Lab, program: &[&OsStr]) -> Run {
    let output = lab.dwell(&[&[OsStr::new("run")], program].concat());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Run { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

#[test]
fn a_program_that_never_initialises() {
    let Some(lab) = Lab::open() else { return };
    let program = faults(&lab);
    let run = alone(&lab, &[program.as_os_str(), OsStr::new("never-init")]);
    assert_eq!(run.code, Some(3), "{run:?}");
    let said = messages(&run);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("no call of a known runtime was seen"), "{said:?}");
}

#[test]
fn a_static_program() {
    if !needs::tools("CC", &["cc"]) {
        return;
    }
    let lab = Lab::bare();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/hello_static.c");
    let program = lab.path("hello");
    let mut compiler = Command::new("cc");
    assert!(compiler.args(["-static", source, "-o"]).arg(&program).status().unwrap().success());
    let plain = Command::new(&program).output().unwrap();
    let run = alone(&lab, &[program.as_os_str()]);
    assert_eq!((run.code, run.stdout.as_bytes()), (plain.status.code(), &plain.stdout[..]));
    let said = messages(&run);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("linked statically"), "{said:?}");
}

#[test]
fn a_program_that_asks_whether_a_runtime_is_there() {
    if !needs::tools("CC", &["cc"]) {
        return;
    }
    let lab = Lab::bare();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/probe.c");
    let program = lab.path("probe");
    let compiled = Command::new("cc")
        .args(["-O2", "-fPIE", "-pie", source, "-ldl", "-o"])
        .arg(&program)
        .status()
        .unwrap();
    assert!(compiled.success());
    let run = alone(&lab, &[program.as_os_str(), OsStr::new("trust")]);
    assert_eq!(run.code, Some(0), "{run:?}");
    // The loader answers for the hook; whoever calls it nevertheless comes to no harm.
    assert!(run.stdout.contains("runtime: absent"), "{run:?}");
    assert!(run.stdout.contains("shmem_my_pe: -1"), "{run:?}");
}

#[test]
fn a_program_that_is_not_there() {
    let lab = Lab::bare();
    let run = alone(&lab, &[OsStr::new("./no-such-program")]);
    assert_eq!(run.code, Some(2));
    assert_eq!(run.stderr, "dwell: ./no-such-program: no such program\n");
}

/// The library needs no newer C library than the book says, and links no runtime.
#[test]
fn what_the_library_needs() {
    if !needs::tools("SYMBOLS", &["objdump"]) {
        return;
    }
    let lab = Lab::bare();
    let output = Command::new("objdump").arg("-T").arg(lab.library()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let newest = text
        .split_whitespace()
        .filter_map(|word| word.trim_matches(['(', ')']).strip_prefix("GLIBC_2."))
        .filter_map(|minor| minor.split('.').next()?.parse::<u32>().ok())
        .max();
    assert!(newest.is_some_and(|minor| minor <= 34), "GLIBC_2.{newest:?}");
    let output = Command::new("objdump").arg("-p").arg(lab.library()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let needed: Vec<&str> =
        text.lines().filter_map(|line| line.trim().strip_prefix("NEEDED")).map(str::trim).collect();
    // The last three are parts of glibc before 2.34, for which releases are built.
    let allowed = [
        "libc.so.6",
        "libgcc_s.so.1",
        "ld-linux-x86-64.so.2",
        "libm.so.6",
        "libdl.so.2",
        "libpthread.so.0",
        "librt.so.1",
    ];
    assert!(needed.iter().all(|name| allowed.contains(name)), "{needed:?}");
}
